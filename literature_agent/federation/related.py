"""Works related to one: similar ones, those that cite it, those it cites, and those linked to it as the same study.

    similar      ELink
    cited_by     ELink, which knows citations from PMC only; where it fails or has none, Europe PMC
    references   ELink, which knows those of articles in PMC only; where it fails or has none, Europe PMC
    linked       the records of the work itself: preprint, paper, notices, trial, PMC copy

Each route tried is in the trail. "None" and "failed" are told apart: none beside a failure is `partial`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

from literature_agent.artifacts import (
    Artifact,
    BioRxivPreprint,
    CitationArtifact,
    ClinicalTrial,
    EuropePMCArticle,
    Notice,
    PubMedArticle,
    RelatedRecord,
)
from literature_agent.errors import InvalidInputError, SourceError, counted
from literature_agent.federation.ids import LONGEST_ID, Ids, ids_of_records
from literature_agent.ids import identify, is_preprint_server_doi, joining_doi, strip_doi_version
from literature_agent.registry import ArtifactRegistry, Reference
from literature_agent.results import ErrorInfo, FetchResult, RelatedKind, RelatedResult, SearchStatus, TrailStep
from literature_agent.sources import SOURCES, Source
from literature_agent.sources._text import quoted, require_number
from literature_agent.sources.europepmc.citations import CitationKind, listed
from literature_agent.sources.pubmed.elink import LinkKind, linked_pmids
from literature_agent.transport import Transport

MOST_RELATED = 200

ELINK = "pubmed_elink"
_LISTS: dict[str, CitationKind] = {"cited_by": "citations", "references": "references"}
_StepResult = Literal["found", "none", "failed", "not_tried"]


class Seed(NamedTuple):
    """The work that is started from, by all identifiers that are known of it."""

    ids: Ids
    nct_id: str | None = None
    server: str | None = None
    """`biorxiv` or `medrxiv`, where one of them has shown the work."""

    def names(self, artifact: CitationArtifact) -> bool:
        """Whether the record is one of the work itself."""
        return any(
            mine is not None and mine == theirs
            for mine, theirs in (
                (self.ids.pmid, getattr(artifact, "pmid", None)),
                (self.ids.pmcid, getattr(artifact, "pmcid", None)),
                (self.nct_id, getattr(artifact, "nct_id", None)),
                (self.ids.ppr, getattr(artifact, "epmc_id", None)),
                (self.ids.doi and joining_doi(self.ids.doi), artifact.doi and joining_doi(artifact.doi)),
            )
        )


def seed_of(text: str) -> Seed:
    """What `text` names: PMID, PMCID, DOI, preprint id (`PPR...`) or NCT number; bare digits are a PMID.

    Raises:
        InvalidInputError: it names no work; the message says what is taken.
    """
    known = identify(text) if isinstance(text, str) and len(text) <= LONGEST_ID and text.strip().isprintable() else None
    if known is not None and known.kind == "nct":
        return Seed(Ids(), known.value)
    if known is not None and known.kind == "doi":
        return Seed(Ids(doi=strip_doi_version(known.value)))
    if known is not None and known.kind in ("pmid", "pmcid", "ppr"):
        return Seed(Ids(**{known.kind: known.value}))
    raise InvalidInputError(
        f"{quoted(text)} is no identifier of a work.",
        recovery="Give one PMID (33301246), PMCID (PMC7759461), DOI (10.1056/NEJMoa2001017), PPR or NCT number.",
    )


def seed_of_records(records: Iterable[CitationArtifact]) -> Seed:
    """All identifiers that the records of one work carry."""
    held = list(records)
    ids = ids_of_records(held)
    if ids.doi:
        ids = Ids(ids.pmid, ids.pmcid, strip_doi_version(ids.doi), ids.ppr)
    return Seed(
        ids,
        next((record.nct_id for record in held if isinstance(record, ClinicalTrial)), None),
        next((record.server for record in held if isinstance(record, BioRxivPreprint)), None),
    )


async def find_related(
    transport: Transport,
    seed: str | Seed,
    kind: RelatedKind,
    *,
    max_results: int = 20,
    sources: Sequence[Source] | None = None,
) -> RelatedResult:
    """Works related to `seed`, with whole records, best or newest first.

    Args:
        seed: PMID, PMCID, DOI, preprint id or NCT number; or all that is known, as `Seed`.
        kind: `similar`, `cited_by`, `references`, or `linked` (preprint, paper, notices, trial).
        max_results: most works; `total` says how many there are.
        sources: who may be asked; None: every source that is switched on.

    Raises:
        InvalidInputError: no identifier of a work, an unknown kind, an impossible `max_results`.
        SourceError: every route failed.
    """
    if kind not in get_args(RelatedKind):
        raise InvalidInputError(
            f"{quoted(kind, 40)} is no kind of relation: use one of {', '.join(get_args(RelatedKind))}."
        )
    require_number(max_results, "max_results", MOST_RELATED, "request")
    start = seed_of(seed) if isinstance(seed, str) else seed
    on = SOURCES if sources is None else sources
    allowed = {source.name: source for source in on if source.enabled(transport.settings)}
    async with transport.job("eutils", "pubmed"):
        finder = _Finder(transport, start, kind, max_results, allowed)
        return await (finder.linked() if kind == "linked" else finder.listed())


class _Target(NamedTuple):
    """A record to be read: where it may be asked for, in order, and what it is to the seed."""

    asks: tuple[tuple[str, str], ...]
    """Name of a source and the identifier it takes."""
    relation: str = ""


class _Read(NamedTuple):
    artifacts: list[Artifact]
    relations: list[str]
    missing: int
    error: SourceError | None


@dataclass
class _Finder:
    """One look for related works, and what it has learned on the way."""

    transport: Transport
    seed: Seed
    kind: RelatedKind
    limit: int
    allowed: dict[str, Source]
    trail: list[TrailStep] = field(default_factory=list)
    errors: list[SourceError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def step(self, route: str, result: _StepResult, reason: str | None = None) -> None:
        self.trail.append(TrailStep(route=route, result=result, reason=reason))

    def failed(self, route: str, error: SourceError) -> None:
        self.errors.append(error)
        self.step(route, "failed", error.reason)

    def raise_if_nothing_answered(self) -> None:
        if any(step.result in ("found", "none") for step in self.trail):
            return
        if self.errors:
            raise self.errors[0]
        tried = "; ".join(f"{step.route}: {step.reason}" for step in self.trail) or "no source asked knows such works"
        raise InvalidInputError(
            f"{self.kind!r} of {self.seed.ids.main or self.seed.nct_id} cannot be looked for ({tried}).",
            recovery="Start from another work, or allow pubmed and europepmc among the sources.",
        )

    # --- similar, cited_by, references

    async def listed(self) -> RelatedResult:
        targets, total = await self._by_elink()
        if not targets and self.kind in _LISTS:
            targets, total = await self._by_europepmc(_LISTS[self.kind])
        self.raise_if_nothing_answered()
        read = await self._read(targets[: self.limit])
        if read.error is not None and not read.artifacts:
            raise read.error
        if targets and self.errors:
            # The list is there; that another route failed on the way to it costs nothing.
            self.warnings.append(f"{self.errors[0].message} The list comes from {self.trail[-1].route}.")
        error = read.error or (self.errors[0] if self.errors and not targets else None)
        status: SearchStatus = "partial" if error or read.missing else "ok" if read.artifacts else "empty"
        return RelatedResult(
            kind=self.kind,
            status=status,
            artifacts=tuple(read.artifacts),
            total=total,
            returned=len(read.artifacts),
            warnings=(*self.warnings, *_unread(read)),
            notice=self._why_none() if not targets and not self.errors else None,
            error=ErrorInfo.of(error) if error else None,
            trail=tuple(self.trail),
        )

    async def _by_elink(self) -> tuple[list[_Target], int]:
        if "pubmed" not in self.allowed:
            self.step(ELINK, "not_tried", "pubmed is not among the sources")
            return [], 0
        pmid = self.seed.ids.pmid or await self._pmid()
        if pmid is None:
            self.step(ELINK, "not_tried", "the work has no PMID that is known")
            return [], 0
        kind: LinkKind = self.kind if self.kind != "linked" else "similar"
        try:
            pmids = await linked_pmids(self.transport, pmid, kind)
        except SourceError as error:
            self.failed(ELINK, error)
            return [], 0
        self.step(ELINK, "found" if pmids else "none")
        return [self._pubmed_target(one) for one in pmids], len(pmids)

    async def _by_europepmc(self, kind: CitationKind) -> tuple[list[_Target], int]:
        route = f"europepmc_{kind}"
        if "europepmc" not in self.allowed:
            self.step(route, "not_tried", "europepmc is not among the sources")
            return [], 0
        named = await self._epmc_id()
        if named is None:
            self.step(route, "not_tried", "Europe PMC has no record of the work that is known")
            return [], 0
        try:
            listing = await listed(self.transport, kind, *named)
        except SourceError as error:
            self.failed(route, error)
            return [], 0
        own = {self.seed.ids.pmid, self.seed.ids.ppr, self.seed.ids.pmcid, named[1]}
        records = [one for one in listing.records if one.id_text not in own]
        self.step(route, "found" if records else "none")
        if kind == "citations":
            # Europe PMC lists the oldest first.
            records.sort(key=lambda one: -(one.year or 0))
        if listing.unmatched:
            verb = "has no record and is" if listing.unmatched == 1 else "have no record and are"
            self.warnings.append(f"{listing.unmatched} of the {listing.total:,} works {verb} left out.")
        if listing.total > len(listing.records) + listing.unmatched:
            which = "newest" if kind == "citations" else "first"
            self.warnings.append(f"Europe PMC lists {listing.total:,}; the {which} {len(listing.records):,} were read.")
        return [self._europepmc_target(one.id_text) for one in records], listing.total

    async def _pmid(self) -> str | None:
        """The PMID of a seed known by DOI or PMCID."""
        other = self.seed.ids.doi or self.seed.ids.pmcid
        record = await self._record("pubmed", other) if other else None
        if not isinstance(record, PubMedArticle):
            return None
        self.seed = self.seed._replace(ids=self.seed.ids.completed(pmid=record.pmid, pmcid=record.pmcid))
        return record.pmid

    async def _epmc_id(self) -> tuple[str, str] | None:
        """Source and number of the seed's record in Europe PMC."""
        ids = self.seed.ids
        if ids.pmid or ids.ppr:
            return ("MED", ids.pmid) if ids.pmid else ("PPR", ids.ppr or "")
        record = await self._record("europepmc", ids.main) if ids.main else None
        return (record.epmc_source, record.epmc_id) if isinstance(record, EuropePMCArticle) else None

    async def _record(self, source: str, asked: str) -> CitationArtifact | None:
        """The seed's record at one source, with a step of the trail."""
        route = f"{source}_record"
        try:
            found = await self.allowed[source].build(self.transport).fetch([asked])
            failure = next(iter(found.failed.values()), None)
        except SourceError as error:
            self.failed(route, error)
            return None
        if failure is not None and not found.artifacts:
            self.failed(route, failure.as_error())
            return None
        self.step(route, "found" if found.artifacts else "none")
        return found.artifacts[0] if found.artifacts else None

    def _why_none(self) -> str:
        lists = [step for step in self.trail if not step.route.endswith("_record")]
        if lists and all(step.result == "not_tried" for step in lists):
            return "; ".join(f"{step.route}: {step.reason}" for step in lists) + "."
        if not lists and all(step.result == "none" for step in self.trail):
            return "No source has a record of this work."
        known = {"cited_by": "as citing it", "references": "as cited by it", "similar": "as similar to it"}
        return f"No work is known {known.get(self.kind, 'as linked to it')}."

    # --- linked

    async def linked(self) -> RelatedResult:
        records = await self._own_records()
        papers = await self._papers_of_trial()
        self.raise_if_nothing_answered()
        related, notices = _links_of(records)
        linked = [target for one in related if (target := self._target(one)) is not None]
        linked += [target for notice in notices if (target := self._notice_target(notice)) is not None]
        targets = [target for target in linked if any(source in self.allowed for source, _ in target.asks)]
        if len(targets) < len(linked):
            left = len(linked) - len(targets)
            said = counted(left, "linked record")
            self.warnings.append(f"No source that may be asked takes an identifier of {said}.")
        read = await self._read(targets)
        artifacts, relations = self._distinct([*read.artifacts, *papers], [*read.relations, *["paper"] * len(papers)])
        error = read.error or (self.errors[0] if self.errors else None)
        found = artifacts or related or notices
        status: SearchStatus = "partial" if error or read.missing else "ok" if found else "empty"
        return RelatedResult(
            kind=self.kind,
            status=status,
            artifacts=tuple(artifacts[: self.limit]),
            relations=tuple(relations[: self.limit]),
            links=related,
            notices=notices,
            total=len(artifacts) + read.missing,
            returned=len(artifacts[: self.limit]),
            warnings=(*self.warnings, *_unread(read)),
            notice=None if found or self.errors else self._why_none(),
            error=ErrorInfo.of(error) if error else None,
            trail=tuple(self.trail),
        )

    async def _own_records(self) -> list[CitationArtifact]:
        """The records of the work itself, at every source that may have one."""
        ids = self.seed.ids
        asks: list[tuple[str, str]] = []
        if known := ids.pmid or ids.doi or ids.pmcid:
            asks.append(("pubmed", known))
        if ids:
            asks.append(("europepmc", ids.pmid or ids.ppr or ids.main))
        if ids.doi and (self.seed.server or is_preprint_server_doi(ids.doi)):
            # Both servers share their prefixes; the fetch of one asks the other where it has none.
            servers = [name for name in (self.seed.server, "biorxiv", "medrxiv") if name in self.allowed]
            asks += [(name, ids.doi) for name in servers[:1] if name]
        if self.seed.nct_id:
            asks.append(("clinicaltrials", self.seed.nct_id))
        asks = [(source, asked) for source, asked in asks if source in self.allowed]
        looks = [replace(self, trail=[], errors=[]) for _ in asks]
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(look._record(source, asked))
                for look, (source, asked) in zip(looks, asks, strict=True)
            ]
        # In the order asked, whoever answered first.
        for look in looks:
            self.trail += look.trail
            self.errors += look.errors
        return [record for task in tasks if (record := task.result()) is not None]

    async def _papers_of_trial(self) -> list[Artifact]:
        """The papers in PubMed that name the seed, a trial."""
        if self.seed.nct_id is None or "pubmed" not in self.allowed:
            return []
        route = "pubmed_search"
        try:
            found = (
                await self.allowed["pubmed"]
                .build(self.transport)
                .search(f"{self.seed.nct_id}[si]", max_results=self.limit)
            )
        except SourceError as error:
            self.failed(route, error)
            return []
        self.step(route, "found" if found.artifacts else "none")
        return list(found.artifacts)

    def _target(self, other: RelatedRecord) -> _Target | None:
        """Where to read a linked record; None for a copy of the work itself."""
        if other.relation == "pmc_copy":
            return None
        asks: list[tuple[str, str]] = []
        if other.nct_id:
            asks.append(("clinicaltrials", other.nct_id))
        if other.pmid:
            asks += self._pubmed_target(other.pmid).asks
        if other.doi:
            asks += [("europepmc", other.doi), ("pubmed", other.doi)]
        elif other.pmcid and not other.pmid:
            asks.append(("europepmc", other.pmcid))
        return _Target(tuple(asks), other.relation)

    def _notice_target(self, notice: Notice) -> _Target | None:
        known = identify(notice.reference_id) if notice.reference_id else None
        if known is None or known.kind not in ("pmid", "doi"):
            return None
        asks = self._pubmed_target(known.value).asks if known.kind == "pmid" else (("europepmc", known.value),)
        return _Target(asks, notice.kind)

    def _pubmed_target(self, pmid: str) -> _Target:
        return _Target((("pubmed", pmid), ("europepmc", pmid)))

    def _europepmc_target(self, id_text: str) -> _Target:
        known = identify(id_text)
        second = (("pubmed", id_text),) if known is not None and known.kind == "pmid" else ()
        return _Target((("europepmc", id_text), *second))

    def _distinct(self, artifacts: list[Artifact], relations: list[str]) -> tuple[list[Artifact], list[str]]:
        """Each work once, without the seed; the first of its records stands for it."""
        registry = ArtifactRegistry()
        kept: dict[Reference, tuple[Artifact, str]] = {}
        references = registry.hold_all(artifacts)
        for reference, artifact, relation in zip(references, artifacts, relations, strict=True):
            canonical = registry.canonical(reference) or reference
            if not self.seed.names(artifact):
                kept.setdefault(canonical, (artifact, relation))
        return [artifact for artifact, _ in kept.values()], [relation for _, relation in kept.values()]

    # --- records

    async def _read(self, targets: Sequence[_Target]) -> _Read:
        """The records of the targets, each from the first source that has it, without those of the seed itself."""
        found: dict[int, Artifact] = {}
        broken: dict[int, SourceError] = {}
        for attempt in range(max((len(target.asks) for target in targets), default=0)):
            waiting: dict[str, dict[str, list[int]]] = {}
            for place, target in enumerate(targets):
                asks = [(source, asked) for source, asked in target.asks if source in self.allowed]
                if place not in found and attempt < len(asks):
                    source, asked = asks[attempt]
                    waiting.setdefault(source, {}).setdefault(asked, []).append(place)
            for source, places in waiting.items():
                try:
                    result = await self.allowed[source].build(self.transport).fetch(list(places))
                except SourceError as failure:
                    broken |= {place: failure for at in places.values() for place in at}
                    continue
                for asked, at in places.items():
                    artifact = named_in(result, asked)
                    if artifact is not None:
                        found |= dict.fromkeys(at, artifact)
                    elif asked in result.failed:
                        broken |= dict.fromkeys(at, result.failed[asked].as_error())
        kept = [place for place in sorted(found) if not self.seed.names(found[place])]
        artifacts, relations = self._distinct(
            [found[place] for place in kept], [targets[place].relation for place in kept]
        )
        # What another source had after all is no failure.
        error = next((failure for place, failure in sorted(broken.items()) if place not in found), None)
        return _Read(artifacts, relations, len(targets) - len(found), error)


def named_in(result: FetchResult, asked: str) -> Artifact | None:
    """The record that carries the identifier asked for."""
    known = identify(asked)
    value = joining_doi(known.value) if known is not None and known.kind == "doi" else known and known.value
    for artifact in result.artifacts:
        dois = {joining_doi(doi) for doi in (artifact.doi or "", *artifact.alternate_dois)}
        others = {getattr(artifact, name, None) for name in ("pmid", "pmcid", "nct_id", "epmc_id")}
        if value in dois | others or asked.partition(":")[2] in others:
            return artifact
    return None


def _links_of(records: Sequence[CitationArtifact]) -> tuple[tuple[RelatedRecord, ...], tuple[Notice, ...]]:
    """What the records of one work link, put together as the registry does."""
    if not records:
        return (), ()
    registry = ArtifactRegistry()
    work = registry.find(registry.hold_all(records)[0])
    assert work is not None  # held above
    related = list(work.related)
    for record in records:
        published = record.published_doi if isinstance(record, BioRxivPreprint) else None
        if published and not any(other.doi == published for other in related):
            related.append(RelatedRecord(relation="published_as", doi=published))
    return tuple(related), work.notices


def _unread(read: _Read) -> tuple[str, ...]:
    if not read.missing:
        return ()
    said = counted(read.missing, "related record")
    return (f"{said} could not be read{': ' + read.error.message if read.error else '.'}",)
