"""`cite`: identifiers and references of a saved run as a bibliography."""

from __future__ import annotations

import json as jsonlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from literature_agent.cli import options
from literature_agent.cli.corpus import open_settings
from literature_agent.cli.screen import PARTIAL, Screen, color_wanted
from literature_agent.errors import InvalidInputError, SourceError, reason_of, source_error, told

if TYPE_CHECKING:
    from literature_agent.artifacts import CitationArtifact
    from literature_agent.outputs import LiteratureAggregationOutput
    from literature_agent.registry import ArtifactRegistry, Reference
    from literature_agent.results import ErrorInfo
    from literature_agent.settings import Settings


_FETCHED_AS = {"ppr": "epmc"}
_EPMC = re.compile(r"[A-Za-z]{3}:\S+")


def cite(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...",
            help="PMID, PMCID, DOI, NCT number, SRC:id; with --from also references of the run (none: all it cites).",
        ),
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="F",
            help="text, markdown, bibtex, ris, csl-json, nbib, csv, vancouver, ama, apa, nature, or another CSL style.",
        ),
    ] = "text",
    run_file: options.RunFile = None,
    use_sandbox: options.UseSandbox = False,
    corpus: options.CorpusFolder = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Print a bibliography, one entry for each work.

    The entries stand in the order asked. What can't be cited is named on stderr, with exit code 3 where the rest could.
    """
    from literature_agent.render.formats import find_format, numbered_works

    screen = Screen(json=json, quiet=quiet, verbose=verbose, color=color_wanted(no_color))
    form = find_format(format)
    run = None if run_file is None else read_run(run_file)
    if not ids and run is None:
        raise InvalidInputError("Nothing to cite.", recovery="Give identifiers, or --from with a saved run.")
    if ids:
        desk = _Desk(run)
        asked = desk.read(ids)
        with screen.logging():
            if any(not desk.holds(each) for each in asked):
                with open_settings(sandbox=use_sandbox, folder=corpus) as opened:
                    screen.note(opened.note)
                    desk.fetch(asked, opened.settings)
        listed = desk.listed(asked)
    else:
        assert run is not None
        works = numbered_works(run)
        listed = _Listed(works, {str(work.reference): number for number, work in enumerate(works, start=1)})
        screen.note("" if works else "The run cites nothing.")
    text = form.render(listed.works)
    if json:
        screen.document(
            {
                "format": format,
                "bibliography": text,
                "numbers": listed.numbers,
                "not_found": listed.not_found,
                "failed": {name: error.model_dump(mode="json") for name, error in listed.failed.items()},
            }
        )
    else:
        screen.result(text)
        for name in listed.not_found:
            screen.trouble(f"Not found: {name}")
        for name, error in listed.failed.items():
            screen.trouble(f"Failed: {name}: {told(error)}")
    return PARTIAL if listed.not_found or listed.failed else 0


class _Asked(NamedTuple):
    """One thing to cite: what the caller wrote, and the reference or identifier that it is."""

    text: str
    reference: Reference | None
    kind: str
    value: str

    @property
    def fetched_as(self) -> str:
        """The kind of identifier, as sources name those that they take."""
        return _FETCHED_AS.get(self.kind, self.kind)


@dataclass(frozen=True)
class _Listed:
    """The works of a bibliography, number 1 first, and what became of each thing asked."""

    works: Sequence[CitationArtifact]
    numbers: dict[str, int] = field(default_factory=dict)
    not_found: list[str] = field(default_factory=list)
    failed: dict[str, ErrorInfo] = field(default_factory=dict)


def read_run(path: Path) -> LiteratureAggregationOutput:
    """The answer in a file that `run --json` wrote, with its registry.

    Raises:
        InvalidInputError: the file can't be read or is no such answer.
    """
    from literature_agent.outputs import LiteratureAggregationOutput
    from literature_agent.registry import ArtifactRegistry

    try:
        document = jsonlib.loads(path.read_text(encoding="utf-8-sig"))
        held = document.pop("registry")
        document.pop("error", None)
        registry = ArtifactRegistry() if held is None else ArtifactRegistry.from_json(held)
        return LiteratureAggregationOutput.model_validate(document).attach(registry)
    except OSError as broken:
        why = reason_of(broken)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        why = "it holds no saved run"
    raise InvalidInputError(
        f"The run {str(path)!r} can't be read: {why}.",
        recovery="Give a file that `run --json` or `run --output` wrote.",
    )


class _Desk:
    """What can be cited: the works of a run and what is fetched beside them."""

    def __init__(self, run: LiteratureAggregationOutput | None) -> None:
        from literature_agent.registry import ArtifactRegistry
        from literature_agent.render._numbering import Numbering, finder

        registry = run.registry if run is not None else None
        self.registry: ArtifactRegistry = ArtifactRegistry() if registry is None else registry
        self.find = finder(self.registry if run is None else run)
        self.numbering = Numbering(self.find)
        self.failed: dict[str, ErrorInfo] = {}
        self.of_run = run is not None

    def read(self, texts: Sequence[str]) -> list[_Asked]:
        """What each of `texts` is; what is none is in `failed`.

        Raises:
            InvalidInputError: none of them is anything that can be cited.
        """
        asked: list[_Asked] = []
        refusals: dict[str, InvalidInputError] = {}
        for text in texts:
            try:
                asked.append(self._read(text))
            except InvalidInputError as refusal:
                refusals[text] = refusal
        self._refuse(refusals, alone=not asked)
        return asked

    def _refuse(self, refusals: Mapping[str, InvalidInputError], *, alone: bool) -> None:
        """Keep why some can't be cited; with nothing else to cite that is an error."""
        from literature_agent.results import ErrorInfo

        if refusals and alone:
            raise next(iter(refusals.values()))
        self.failed |= {text: ErrorInfo.of(refusal) for text, refusal in refusals.items()}

    def _read(self, text: str) -> _Asked:
        from literature_agent.ids import identify
        from literature_agent.registry import Reference, near

        known = identify(text)
        if known is not None:
            return _Asked(text, None, known.kind, known.value)
        reference = Reference.parse(text)
        if reference is not None:
            if self.of_run:
                return _Asked(text, reference, "reference", str(reference))
            raise InvalidInputError(
                f"{text!r} is a reference, which names a work only within its run.",
                recovery="Give the saved run with --from RUN.json, or an identifier.",
            )
        if _EPMC.fullmatch(text.strip()):
            return _Asked(text, None, "epmc", text.strip())
        meant = near(text, self.registry)
        raise InvalidInputError(
            f"{text!r} is neither an identifier nor a reference.",
            recovery=f"Did you mean {meant}?" if meant else "Give a PMID, PMCID, DOI, NCT number or SRC:id.",
        )

    def holds(self, asked: _Asked) -> bool:
        # A reference is the run's matter: no source knows it.
        return asked.reference is not None or self._reference(asked) is not None

    def _reference(self, asked: _Asked) -> Reference | None:
        if asked.reference is not None:
            return asked.reference
        if asked.kind == "epmc":
            source, _, name = asked.value.partition(":")
            return self.registry.find_by_identifier("source", f"europepmc:{source.upper()}:{name}")
        return self.registry.find_by_identifier(asked.kind, asked.value)

    def fetch(self, asked: Sequence[_Asked], settings: Settings) -> None:
        """Hold the records of what was asked, each from the first source that takes its kind and knows it."""
        from literature_agent.sources import SOURCES

        takers = [source for source in SOURCES if source.enabled(settings)]
        wanted = [each for each in asked if not self.holds(each)]
        refusals = {
            each.text: InvalidInputError(
                f"No source that is switched on gives records by an identifier like {each.text!r}.",
                recovery="Give the DOI or PMID of the work.",
            )
            for each in wanted
            if not any(each.fetched_as in source.fetches for source in takers)
        }
        self._refuse(refusals, alone=all(each.text in refusals for each in asked))
        for source in takers:
            ids = [each.text for each in wanted if each.fetched_as in source.fetches and not self.holds(each)]
            self._fetch_from(source.name, list(dict.fromkeys(ids)), settings)

    def _fetch_from(self, source: str, ids: list[str], settings: Settings) -> None:
        from literature_agent.api import fetch_sync
        from literature_agent.results import ErrorInfo

        if not ids:
            return
        try:
            failed = fetch_sync(source, ids, registry=self.registry, settings=settings).failed
            # What is no identifier of this source may be one of another.
            self.failed |= {text: why for text, why in failed.items() if why.reason != f"{source}_invalid_input"}
        except InvalidInputError:
            # One of them is not of this source (a preprint server and another's DOI), which then refuses all.
            for each in ids if len(ids) > 1 else ():
                self._fetch_from(source, [each], settings)
        except SourceError as error:
            self.failed |= dict.fromkeys(ids, ErrorInfo.of(error))

    def listed(self, asked: Sequence[_Asked]) -> _Listed:
        """The bibliography of what was asked.

        Raises:
            SourceError: nothing of it can be cited.
        """
        numbers: dict[str, int] = {}
        missing: list[str] = []
        for each in asked:
            reference = self._reference(each)
            work = None if reference is None else self.find(reference)
            if work is None:
                missing.append(each.text)
            else:
                numbers[each.text] = self.numbering.number(work)
        if not numbers:
            raise self._nothing(missing)
        named = {each.text for each in asked} - set(missing)
        failed = {text: error for text, error in self.failed.items() if text not in named}
        missing = [text for text in dict.fromkeys(missing) if text not in failed]
        return _Listed(self.numbering.works, numbers, missing, failed)

    def _nothing(self, missing: Sequence[str]) -> SourceError:
        for why in (self.failed[text] for text in missing if text in self.failed):
            return why.as_error()
        return source_error("request", "not_found", f"Nothing found to cite: {', '.join(missing)}.")
