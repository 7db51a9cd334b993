"""The full-text ladder: one for every kind of identifier (K043), with a trail of the routes tried.

    identifiers   PMC's ID converter, else the record at Europe PMC, else at PubMed, else ELink
    text          EFetch from PMC, else fullTextXML from Europe PMC

A route that answers "none" (a 404 too) and a route that fails are told apart: if some failed and the others had
nothing, the reason is `temporarily_unavailable`, never that there is no text (K045); if all failed, that is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from literature_agent.artifacts import Artifact, EuropePMCArticle, Provenance
from literature_agent.errors import SourceError, refused, source_error
from literature_agent.federation.ids import Ids, ids_of, ids_of_records
from literature_agent.federation.sections import fitted, length_of, names_of
from literature_agent.ids import identify
from literature_agent.results import FetchResult, FullText, FullTextReason, TrailStep
from literature_agent.settings import Settings, load_settings
from literature_agent.sources._jats import JatsArticle, choose, parse_jats
from literature_agent.sources._text import quoted
from literature_agent.sources.europepmc.client import EuropePMCClient, full_text_request
from literature_agent.sources.pmc.client import PMCClient, why_without_text
from literature_agent.sources.pubmed.client import PubMedClient
from literature_agent.sources.pubmed.tools import PubMedTools
from literature_agent.transport import Transport, describe

if TYPE_CHECKING:
    from literature_agent.registry import ArtifactRegistry

# Routes, as the trail names them.
CONVERTER = "pmc_id_converter"
EUROPEPMC_RECORD = "europepmc_record"
PUBMED_RECORD = "pubmed_record"
LINKS = "pubmed_elink"
PMC_TEXT = "pmc_efetch"
EUROPEPMC_TEXT = "europepmc_fulltextxml"
_Result = Literal["found", "none", "failed", "not_tried"]
_TEXT_ROUTES = frozenset({PMC_TEXT, EUROPEPMC_TEXT})


async def read(
    transport: Transport,
    id: str | Ids,
    *,
    sections: Sequence[str] | str | None = None,
    max_characters: int | None = None,
) -> FullText:
    """The full text of the article that `id` names, or why there is none, with the routes tried.

    Args:
        id: PMID, PMCID, DOI or preprint id (`PPR...`); bare digits are a PMID. Or all that is known, as `Ids`.
        sections: headings wanted, of any level, without regard to case and numbering; a path (`Methods/Statistics`)
            names one of several. A section comes with those inside it. None: everything.
        max_characters: most characters of section text; what is cut or left out is in `warnings`.

    Raises:
        InvalidInputError: no identifier of an article, a bad budget, or no section of that name; the message lists
            those that exist.
        SourceError: every route failed (`pmc_...`).
    """
    wanted = names_of(sections)
    if max_characters is not None and max_characters < 1:
        raise refused("pmc", f"max_characters={max_characters!r} leaves nothing to read: give at least 1.")
    ids = ids_of(id) if isinstance(id, str) else id
    async with transport.job("eutils", "pmc"):
        full = await _Ladder(transport, ids).climb()
    return full if not full.available else fitted(full, wanted, max_characters)


async def read_once(
    id_or_reference: str,
    *,
    sections: Sequence[str] | str | None = None,
    max_characters: int | None = None,
    registry: ArtifactRegistry | None = None,
    settings: Settings | None = None,
) -> FullText:
    """`read` with a transport of its own. With a registry, a reference it holds is understood and the text is held.

    Raises:
        InvalidInputError, SourceError: as `read`.
    """
    used = settings if settings is not None else load_settings()
    ids = _named(id_or_reference, registry)
    async with Transport(used) as transport:
        full = await read(transport, ids, sections=sections, max_characters=max_characters)
    if registry is None or full.artifact is None:
        return full
    reference = registry.hold_full_text(full) if full.available else registry.hold(full.artifact)
    return full.model_copy(update={"artifact": full.artifact.model_copy(update={"reference": str(reference)})})


def _named(text: str, registry: ArtifactRegistry | None) -> Ids:
    from literature_agent.registry import read_reference

    # An identifier first: a PMCID of seven digits has the form of a bare key, and one in 32 passes its check.
    reference = read_reference(text) if isinstance(text, str) and identify(text) is None else None
    if reference is None:
        return ids_of(text)
    records = registry.copies(reference) if registry is not None else ()
    if not records:
        raise refused(
            "pmc",
            f"The reference {quoted(text)} is not held: it names nothing without the registry that issued it.",
            recovery="Give the registry of that run, or a PMID, PMCID or DOI.",
        )
    ids = ids_of_records(records)
    if not ids:
        raise refused("pmc", f"{records[0].title!r} has no PMID, PMCID or DOI, so no full text can be found.")
    return ids


# --- the ladder -------------------------------------------------------------------------------------------------------


class _Text(NamedTuple):
    article: JatsArticle
    provenance: Provenance


@dataclass
class _Ladder:
    """One climb: what is known so far, and the steps taken."""

    transport: Transport
    ids: Ids
    trail: list[TrailStep] = field(default_factory=list)
    errors: dict[str, SourceError] = field(default_factory=dict)
    """Route to the error by which it failed."""
    record: Artifact | None = None
    front: _Text | None = None
    """An article that came without its text."""
    why: FullTextReason | None = None
    """What the article itself says about its text."""
    is_embargoed: bool = False

    async def climb(self) -> FullText:
        await self._identify()
        text = await self._pmc_text() or await self._europepmc_text()
        if text is not None:
            return self._found(text)
        self._raise_if_all_failed()
        if self.front is None and self.record is None:
            await self._find_record()
        return FullText(artifact=self._citation(self.front), reason=self._reason(), trail=tuple(self.trail))

    # Identifiers

    async def _identify(self) -> None:
        """A PMCID or a preprint id, by as few questions as it takes."""
        if self.ids.pmcid:
            return
        await self._ask_converter()
        if self.ids.pmcid is None:
            await self._find_record()
        if self.ids.pmcid is None and self.ids.pmid and CONVERTER in self.errors:
            await self._ask_links(self.ids.pmid)

    async def _find_record(self) -> None:
        await self._ask_europepmc_record()
        if self.record is None:
            # PubMed's own key: what the converter says of a PMCID or DOI leads to the record.
            if self.ids.pmid is None and not self._asked(CONVERTER):
                await self._ask_converter()
            await self._ask_pubmed_record()

    async def _ask_converter(self) -> None:
        client = PMCClient(self.transport)
        if self.ids.pmid:
            answer, value = await client.convert("pmid", [self.ids.pmid]), self.ids.pmid
        elif self.ids.pmcid:
            answer, value = await client.convert("pmcid", [self.ids.pmcid]), self.ids.pmcid
        elif self.ids.doi:
            answer, value = await client.convert("doi", [self.ids.doi]), self.ids.doi
        else:
            return
        if value in answer.failed:
            self._failed(CONVERTER, answer.failed[value])
        elif value in answer.found:
            found = answer.found[value]
            self.ids = self.ids.completed(pmid=found.pmid, pmcid=found.pmcid, doi=found.doi)
            self.is_embargoed = found.embargoed_until is not None
            self._step(CONVERTER, "found")
        else:
            self._step(CONVERTER, "none", "not in PMC")

    async def _ask_europepmc_record(self) -> None:
        if self._asked(EUROPEPMC_RECORD):
            return
        if not self.transport.settings.europepmc_enabled:
            self._step(EUROPEPMC_RECORD, "not_tried", "disabled")
            return
        try:
            result = await EuropePMCClient(self.transport).fetch([self.ids.main])
        except SourceError as error:
            self._failed(EUROPEPMC_RECORD, error)
            return
        self._take_record(EUROPEPMC_RECORD, result)

    async def _ask_pubmed_record(self) -> None:
        if self._asked(PUBMED_RECORD):
            return
        asked = self.ids.pmid or self.ids.pmcid or self.ids.doi
        if asked is None:
            return
        try:
            result = await PubMedTools(PubMedClient(self.transport)).fetch([asked])
        except SourceError as error:
            self._failed(PUBMED_RECORD, error)
            return
        self._take_record(PUBMED_RECORD, result)

    def _take_record(self, route: str, result: FetchResult) -> None:
        if not result.artifacts:
            self._step(route, "none", "unknown there")
            return
        self.record = result.artifacts[0]
        found = ids_of_records([self.record])
        self.ids = self.ids.completed(pmid=found.pmid, pmcid=found.pmcid, doi=found.doi, ppr=found.ppr)
        self._step(route, "found")

    async def _ask_links(self, pmid: str) -> None:
        try:
            pmcid = await PMCClient(self.transport).linked_pmcid(pmid)
        except SourceError as error:
            self._failed(LINKS, error)
            return
        self.ids = self.ids.completed(pmcid=pmcid)
        self._step(LINKS, "found" if pmcid else "none", None if pmcid else "no full text linked")

    # Text

    async def _pmc_text(self) -> _Text | None:
        if self.ids.pmcid is None:
            self._step(PMC_TEXT, "not_tried", "no PMCID")
            return None
        try:
            fetched = await PMCClient(self.transport).article(self.ids.pmcid)
        except SourceError as error:
            self._failed(PMC_TEXT, error)
            return None
        if fetched.article is None:
            self._step(PMC_TEXT, "none", "not available")
            return None
        text = _Text(fetched.article, fetched.provenance)
        if fetched.reason is None:
            self._step(PMC_TEXT, "found")
            return text
        self.front, self.why = text, fetched.reason
        self._step(PMC_TEXT, "none", fetched.reason)
        return None

    async def _europepmc_text(self) -> _Text | None:
        wanted = self.ids.pmcid or self.ids.ppr
        if wanted is None:
            self._step(EUROPEPMC_TEXT, "not_tried", "no PMCID or preprint id")
            return None
        if not self.transport.settings.europepmc_enabled:
            self._step(EUROPEPMC_TEXT, "not_tried", "disabled")
            return None
        try:
            text = await self._europepmc_article(wanted)
        except SourceError as error:
            self._failed(EUROPEPMC_TEXT, error)
            return None
        if text is None:
            self._step(EUROPEPMC_TEXT, "none", "not there, or not open access")
            return None
        reason = why_without_text(text.article, text.provenance.retrieved_at.date().isoformat())
        if reason is None:
            self._step(EUROPEPMC_TEXT, "found")
            return text
        if self.front is None:
            self.front, self.why = text, reason
        self._step(EUROPEPMC_TEXT, "none", reason)
        return None

    async def _europepmc_article(self, wanted: str) -> _Text | None:
        answer, at, _ = await EuropePMCClient(self.transport).full_text_xml(wanted)
        if answer.xml is None:
            return None
        articles = parse_jats(answer.xml, "europepmc").articles
        if wanted == self.ids.pmcid:
            article = choose(articles, pmcid=wanted)
        else:
            # A preprint states no identifier of Europe PMC, and its DOI may be that of another version.
            article = articles[0] if len(articles) == 1 else None
        if article is None:
            raise source_error("europepmc", "invalid_response", f"Europe PMC answered with another text than {wanted}.")
        request = describe(full_text_request(wanted))
        return _Text(article, Provenance(source="europepmc", request=request, retrieved_at=at))

    # The outcome

    def _found(self, text: _Text) -> FullText:
        article = text.article
        return FullText(
            artifact=self._citation(text),
            sections=article.sections,
            back_sections=article.back_sections,
            tables=article.tables,
            figures=article.figures,
            cited_works=article.cited_works,
            characters_total=length_of((*article.sections, *article.back_sections)),
            available=True,
            trail=tuple(self.trail),
        )

    def _citation(self, text: _Text | None) -> Artifact | None:
        if text is not None and (pmcid := self.ids.pmcid or text.article.ids.get("pmcid")):
            return text.article.record([text.provenance], pmcid=pmcid, pmid=self.ids.pmid, doi=self.ids.doi)
        return self.record

    def _reason(self) -> FullTextReason:
        tried = self._tried()
        relevant = _TEXT_ROUTES & tried.keys() or tried.keys()
        if any(tried[route] == "failed" for route in relevant):
            return "temporarily_unavailable"
        if self.is_embargoed or self.why == "embargoed":
            return "embargoed"
        if self.why is not None:
            return self.why
        converted = tried.get(CONVERTER) == "found" or tried.get(LINKS) == "found"
        if self.record is None and not converted:
            # Who could not be asked may know it.
            return "temporarily_unavailable" if "failed" in tried.values() else "unknown_id"
        if self.ids.pmcid is None and self.ids.ppr is None:
            return "not_in_pmc"
        if isinstance(self.record, EuropePMCArticle) and self.record.is_open_access:
            return "not_in_pmc"
        return "not_open_access"

    def _raise_if_all_failed(self) -> None:
        """If text was asked for, the routes to text count; else those to identifiers."""
        tried = self._tried()
        if not tried:
            raise source_error("pmc", "disabled", f"{self.ids.main} is read at Europe PMC, which is switched off.")
        relevant = _TEXT_ROUTES & tried.keys() or tried.keys()
        if any(tried[route] != "failed" for route in relevant):
            return
        errors = {route: error for route, error in self.errors.items() if route in relevant}
        first = next(iter(errors.values()))
        kind = first.reason.partition("_")[2]
        said = " ".join(f"{route}: {error.message}" for route, error in errors.items())
        raise SourceError(
            f"No full text of {self.ids.main} could be read. {said}",
            # What was asked was checked before: a refusal here is the route's failure.
            reason=f"pmc_{'invalid_response' if kind == 'invalid_input' else kind}",
            retryable=any(error.retryable for error in errors.values()),
            recovery=first.recovery,
        ) from first

    def _tried(self) -> dict[str, _Result]:
        return {step.route: step.result for step in self.trail if step.result != "not_tried"}

    def _asked(self, route: str) -> bool:
        return any(step.route == route for step in self.trail)

    def _step(self, route: str, result: _Result, reason: str | None = None) -> None:
        self.trail.append(TrailStep(route=route, result=result, reason=reason))

    def _failed(self, route: str, error: SourceError) -> None:
        self.errors[route] = error
        self._step(route, "failed", error.reason)
