"""The literature sources: one folder each, equal in shape, none knowing another.

A source knows how to ask (`client.py`), how to read an answer (`parse.py`) and how to offer both as tools (`tools.py`).
It knows no registry, ledger or reference. What the rest of the house must know of it stands in its registration.
"""

from __future__ import annotations

from collections.abc import Sequence

from literature_agent.errors import InvalidInputError, expect_texts, meant, source_error, split_names
from literature_agent.settings import Settings
from literature_agent.sources import biorxiv, clinicaltrials, europepmc, pubmed
from literature_agent.sources._registration import Source, SourceTools

__all__ = ["ALL", "SOURCES", "Source", "SourceTools", "find_source", "select_sources", "sources_of_all"]

SOURCES: tuple[Source, ...] = (
    pubmed.SOURCE,
    europepmc.SOURCE,
    biorxiv.BIORXIV,
    biorxiv.MEDRXIV,
    clinicaltrials.SOURCE,
)
"""All sources, in the order in which they are asked, held and listed."""

ALL = "all"
"""Name under which a search asks every source at once."""


def find_source(name: str, settings: Settings, *, is_search: bool = False) -> Source:
    """The source called `name`; for a search the message of an error names `all` too.

    Raises:
        InvalidInputError: there is none; the message lists them.
        SourceError: it is switched off (`<source>_disabled`).
    """
    wanted = name.strip().lower() if isinstance(name, str) else name
    for source in SOURCES:
        if source.name == wanted:
            if not source.enabled(settings):
                raise source_error(source.name, "disabled", f"{source.label} is switched off in the settings.")
            return source
    names = [source.name for source in SOURCES]
    if wanted == ALL:
        raise InvalidInputError(
            f"`{ALL}` is no source by itself: it asks every one at once, in a search alone.",
            recovery=f"Name the source: {', '.join(names)}.",
        )
    raise InvalidInputError(
        f"Unknown source {name!r}.{meant(str(wanted), names)}",
        recovery=f"Use one of: {', '.join(names)}" + (f"; or `{ALL}`, which asks them all." if is_search else "."),
    )


def select_sources(names: Sequence[str] | str | None, settings: Settings) -> tuple[Source, ...]:
    """The sources called `names`, in registration order; None: the enabled ones of the settings.

    `names` is a list, or one text with commas between the names.

    Raises:
        InvalidInputError: a name is unknown, or none is left.
    """
    if names is None:
        chosen = {find_source(name, settings).name for name in settings.sources if _is_enabled(name, settings)}
    else:
        expect_texts("sources", names, "list of names of sources")
        chosen = {find_source(name, settings).name for name in split_names(names)}
    if not chosen:
        raise InvalidInputError(
            "No source to ask.", recovery=f"Name at least one of: {', '.join(source.name for source in SOURCES)}."
        )
    return tuple(source for source in SOURCES if source.name in chosen)


def sources_of_all(settings: Settings) -> tuple[Source, ...]:
    """Whom a search of `all` asks: the sources of the setting SOURCES if it is set, else every one that is on.

    Raises:
        InvalidInputError: the setting names an unknown source, or none is left.
    """
    if "sources" in settings.model_fields_set:
        return select_sources(None, settings)
    return tuple(source for source in SOURCES if source.enabled(settings))


def _is_enabled(name: str, settings: Settings) -> bool:
    return all(source.enabled(settings) for source in SOURCES if source.name == name.strip().lower())
