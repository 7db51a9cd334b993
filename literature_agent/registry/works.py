"""Works: all copies of one publication, what identifies them, and what they are linked to."""

from __future__ import annotations

from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from typing import NamedTuple, Self, TypeVar

from pydantic import Field

from literature_agent import ids
from literature_agent.artifacts import (
    Artifact,
    BioRxivPreprint,
    CitationArtifact,
    ClinicalTrial,
    EuropePMCArticle,
    PMCArticle,
    PubMedArticle,
    Record,
)
from literature_agent.registry.references import Reference
from literature_agent.registry.texts import StoredText
from literature_agent.results import FullText

_T = TypeVar("_T")


class Work(Record):
    """What a registry keeps of one publication. A change makes a new value."""

    number: int
    """Order of registration."""
    key: str
    """The key under which the work was first held: the canonical one."""
    keys: dict[str, str] = Field(default_factory=dict)
    """Identity (`doi:...`, `pmid:...`) to key."""
    aliases: tuple[str, ...] = ()
    """Further valid keys, of no identity known here."""
    copies: tuple[Artifact, ...] = ()
    full_texts: dict[str, FullText] = Field(default_factory=dict)
    """Copy id to what was read of the full text."""
    superseded: tuple[StoredText, ...] = ()
    """Texts that a later record of the same copy replaced: quotes from them stay true."""
    notes: tuple[str, ...] = ()

    def __copy__(self) -> Self:
        # `model_copy` makes a changed work of the copy: what was derived from the old fields must not come along.
        copied = super().__copy__()
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied

    @cached_property
    def reference(self) -> Reference:
        return Reference(self.key)

    @cached_property
    def all_keys(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.key, *self.keys.values(), *self.aliases)))

    @cached_property
    def written(self) -> tuple[str, ...]:
        """All keys in their written form, in alphabetical order."""
        return tuple(sorted(str(Reference(key)) for key in self.all_keys))

    @cached_property
    def ranked(self) -> tuple[CitationArtifact, ...]:
        """The copies as `find` prefers them: full before plain, then PubMed, Europe PMC, PMC, preprint server,
        registry."""
        return self.copies if len(self.copies) == 1 else tuple(sorted(self.copies, key=_rank))

    @cached_property
    def named_copies(self) -> tuple[CitationArtifact, ...]:
        """`ranked`, with `reference` set."""
        return tuple(copy.model_copy(update={"reference": str(self.reference)}) for copy in self.ranked)

    @property
    def is_notice(self) -> bool:
        # Not `any`: a source that gives a notice the paper's identifiers must not turn the paper into one.
        return self.ranked[0].is_notice

    @cached_property
    def is_preprint(self) -> bool:
        return any(copy.is_preprint for copy in self.copies)

    @cached_property
    def is_trial(self) -> bool:
        return any(isinstance(copy, ClinicalTrial) for copy in self.copies)

    @cached_property
    def is_open(self) -> bool | None:
        """Whether a full text can be read: of the copies PMC and Europe PMC say so, and what was read says it best."""
        if self.full_texts or any(isinstance(copy, PMCArticle) for copy in self.copies):
            return True
        said = [copy.is_open_access for copy in self.copies if isinstance(copy, EuropePMCArticle)]
        return next((is_open for is_open in said if is_open is not None), None)

    @cached_property
    def links(self) -> Links:
        """The evidence in the copies."""
        return _links(self)

    @cached_property
    def strongest_identity(self) -> str:
        """DOI, PMID, PMCID, NCT, else the source's own; of several, the first source's."""
        return _strongest_identity(self)

    @property
    def dois(self) -> frozenset[str]:
        return frozenset(doi for copy in self.copies for doi in dois_of(copy))

    @property
    def pmids(self) -> frozenset[str]:
        return frozenset(identity for identity in self.keys if identity.startswith("pmid:"))


def dois_of(artifact: CitationArtifact) -> tuple[str, ...]:
    """The DOI and the alternate ones, without version suffix."""
    if not artifact.alternate_dois:
        doi = _joining_doi(artifact.doi) if artifact.doi else None
        return (doi,) if doi else ()
    read = (_joining_doi(doi) for doi in (artifact.doi or "", *artifact.alternate_dois))
    return tuple(dict.fromkeys(doi for doi in read if doi))


# A record is asked for its DOI some ten times while it is held and shown.
@lru_cache(maxsize=4096)
def _joining_doi(text: str) -> str | None:
    doi = ids.normalise_doi(text)
    return ids.joining_doi(doi) if doi else None


def identities(artifact: CitationArtifact) -> tuple[str, ...]:
    """What identifies the record, strongest first; never empty, never title or year (K072-K074, K076)."""
    pmid, pmcid = getattr(artifact, "pmid", None), getattr(artifact, "pmcid", None)
    if isinstance(artifact, EuropePMCArticle):
        pmid = pmid or (artifact.epmc_id if artifact.epmc_source == "MED" else None)
        pmcid = pmcid or (artifact.epmc_id if artifact.epmc_source == "PMC" else None)
    nct = artifact.nct_id if isinstance(artifact, ClinicalTrial) else None
    dois = dois_of(artifact)
    main = dois[:1] if artifact.doi else ()
    found = [f"doi:{doi}" for doi in main]
    if pmid and (pmid := ids.normalise_pmid(pmid)):
        found.append(f"pmid:{pmid}")
    if pmcid and (pmcid := ids.normalise_pmcid(pmcid)):
        found.append(f"pmcid:{pmcid}")
    if nct and (nct := ids.normalise_nct(nct)):
        found.append(f"nct:{nct}")
    if isinstance(artifact, BioRxivPreprint) and not main:
        # Such a record's copy id is its title, which identifies nothing.
        content = artifact.model_dump_json(exclude={"provenance", "correction_checked_at"})
        found.append(f"{artifact.source}:{blake2b(content.encode(), digest_size=16).hexdigest()}")
    else:
        found.append(artifact.copy_id)
    found += [f"doi:{doi}" for doi in dois if doi not in main]
    return tuple(dict.fromkeys(found))


class Links(NamedTuple):
    """Identities of other records that a work names."""

    versions: frozenset[str]
    """Preprint, paper, update, trial."""
    notices: frozenset[str]
    """Notices about the work, or what the work is a notice about."""


def _links(work: Work) -> Links:
    # A record that names several trials (pooled analysis, review) is a study of its own: its trial links don't count.
    versions: set[str] = set()
    trials: set[str] = set()
    notices: set[str] = set()
    for copy in work.copies:
        for other in copy.related:
            # Registries infer papers of a trial from any mention of its number, meta-analyses included.
            if other.certainty == "inferred" and (other.relation == "trial" or isinstance(copy, ClinicalTrial)):
                continue
            named = _named(doi=other.doi, pmid=other.pmid, pmcid=other.pmcid, nct_id=other.nct_id)
            (trials if other.relation == "trial" else versions).update(named)
        for notice in copy.notices:
            if notice.reference_id and (known := ids.identify(notice.reference_id)):
                notices |= _named(**{"nct_id" if known.kind == "nct" else known.kind: known.value})
        if isinstance(copy, BioRxivPreprint) and copy.published_doi:
            versions |= _named(doi=copy.published_doi)
    if len(trials) == 1:
        versions |= trials
    own = set(work.keys)
    return Links(frozenset(versions - own), frozenset(notices - own))


def _named(
    *, doi: str | None = None, pmid: str | None = None, pmcid: str | None = None, nct_id: str | None = None, **_: str
) -> set[str]:
    read = {
        "doi": ids.normalise_doi(doi) if doi else None,
        "pmid": ids.normalise_pmid(pmid) if pmid else None,
        "pmcid": ids.normalise_pmcid(pmcid) if pmcid else None,
        "nct": ids.normalise_nct(nct_id) if nct_id else None,
    }
    if read["doi"]:
        read["doi"] = ids.joining_doi(read["doi"])
    return {f"{kind}:{value}" for kind, value in read.items() if value}


_SOURCE_ORDER = (PubMedArticle, EuropePMCArticle, PMCArticle, BioRxivPreprint, ClinicalTrial)


def _source_rank(copy: CitationArtifact) -> tuple[int, str]:
    return _place(type(copy)), copy.copy_id


@cache
def _place(kind: type[CitationArtifact]) -> int:
    return next((at for at, source in enumerate(_SOURCE_ORDER) if issubclass(kind, source)), len(_SOURCE_ORDER))


def _rank(copy: CitationArtifact) -> tuple[bool, int, str]:
    return not copy.kind.endswith(":full"), *_source_rank(copy)


def _strongest_identity(work: Work) -> str:
    ranked = (identity for copy in sorted(work.copies, key=_source_rank) for identity in identities(copy))
    known = []
    for identity in ranked:
        if identity in work.keys:
            # The strongest kind of the first source: nothing that follows can be stronger.
            if identity.startswith("doi:"):
                return identity
            known.append(identity)
    for kind in ("pmid:", "pmcid:", "nct:"):
        if of_kind := next((identity for identity in known if identity.startswith(kind)), None):
            return of_kind
    return known[0]


def new_work(number: int, record: CitationArtifact, full_text: FullText | None = None) -> Work:
    """A work of one record, still without key."""
    # Not checked anew: that would take longer than all the rest.
    return Work.model_construct(
        number=number,
        key="",
        keys={},
        aliases=(),
        copies=(record,),  # type: ignore[arg-type]  # `hold` takes the kinds of the union only
        full_texts={} if full_text is None else {record.copy_id: full_text},
        superseded=(),
        notes=(),
    )
