"""`ArtifactRegistry`: what was found, by reference."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic_core import PydanticSerializationError

from literature_agent import ids
from literature_agent.artifacts import (
    BioRxivPreprint,
    CitationArtifact,
    ClinicalTrial,
    EuropePMCArticle,
    PMCArticle,
    PubMedArticle,
    Record,
)
from literature_agent.registry.families import family_of, work_at
from literature_agent.registry.joining import abstract_copy, add_copy, compose, join_works
from literature_agent.registry.references import (
    FoundReference,
    Reference,
    find_references,
    key_of,
    read_reference,
    written_key,
)
from literature_agent.registry.stores import MemoryStore, Store
from literature_agent.registry.texts import StoredText, stored_texts
from literature_agent.registry.texts import text_hash as hash_of
from literature_agent.registry.works import Work, identities, new_work
from literature_agent.results import FullText

A = TypeVar("A", bound=CitationArtifact)
R = TypeVar("R", bound=Record)

_NOT_KEPT: Mapping[str, Any] = {"reference": None, "relevance": None, "relevance_score": None, "quotes": ()}
_KINDS = (PubMedArticle, PMCArticle, EuropePMCArticle, BioRxivPreprint, ClinicalTrial)
_CACHED_RECORDS = 4096
# Places of identity kinds in the order in which they are asked for the works that a record joins: a PMID outweighs a
# DOI, and both outweigh what is not named here.
_JOIN_ORDER = {"pmid": 0, "doi": 1, "pmcid": 2, "nct": 3}


class Resolved(NamedTuple):
    """A token in a text and what it means here; `reference` and `artifact` are None where it is unknown."""

    found: FoundReference
    reference: Reference | None
    artifact: CitationArtifact | None


class Linked(NamedTuple):
    """Another work of the same family."""

    relation: Literal["paper", "preprint", "trial", "notice"]
    """What the other work is."""
    reference: Reference


class _Saved(Record):
    format: Literal[1] = 1
    works: tuple[Work, ...]


class ArtifactRegistry:
    """All records that were found, joined into works; `len()` counts works, iteration gives their references in order
    of registration.

    A reference may be given as `Reference`, as its written form, or as a bare key; every key a work has is as good as
    another. Safe for threads; with `SQLiteStore` also for several processes. Held does not mean citeable: that is the
    ledger's matter.
    """

    def __init__(self, *, store: Store | None = None) -> None:
        self.store: Store = MemoryStore() if store is None else store
        self._records: dict[int, tuple[Work, CitationArtifact]] = {}

    # Holding

    def hold(self, artifact: CitationArtifact) -> Reference:
        """Keep a record and give the reference of its work. Holding the same record again changes nothing.

        Relevance, score and quotes are not kept; half a character (a lone surrogate) is kept as U+FFFD. Records with
        the same PMID, PMCID, NCT number or DOI (without version suffix) are copies of one work; a differing DOI forbids
        that, except for the same PMID.

        Raises:
            TypeError: the record is of none of the known kinds.
        """
        return self._hold(artifact, None)

    def hold_all(self, artifacts: Iterable[CitationArtifact]) -> tuple[Reference, ...]:
        """`hold` each in order, in one transaction."""
        with self.store.writing():
            return tuple(self._hold(artifact, None) for artifact in artifacts)

    def hold_full_text(self, full_text: FullText) -> Reference | None:
        """Keep the record and what was read of its text; None if it has no record."""
        if full_text.artifact is None:
            return None
        return self._hold(full_text.artifact, full_text if full_text.available else None)

    def held(self, artifact: A) -> A:
        """Hold a record and give it back as it came, with its reference set."""
        return artifact.model_copy(update={"reference": str(self.hold(artifact))})

    def work_of(self, artifact: CitationArtifact) -> Reference | None:
        """The reference of the work that `artifact` would join; None if it would be a new one. Nothing is held."""
        with self.store.reading():
            joined, _ = self._joined(artifact, identities(artifact))
            return joined[0].reference if joined else None

    def _hold(self, artifact: CitationArtifact, full_text: FullText | None) -> Reference:
        if not isinstance(artifact, _KINDS):
            raise TypeError(f"a registry holds records of the sources, not {type(artifact).__name__}")
        record = artifact = _writable(artifact)
        if any(getattr(artifact, name) != empty for name, empty in _NOT_KEPT.items()):
            record = artifact.model_copy(update=_NOT_KEPT)
        if full_text is not None:
            full_text = _writable(full_text.model_copy(update={"artifact": None}))
        with self.store.writing():
            names = identities(record)
            joined, notes = self._joined(record, names)
            if not joined:
                work = self._named(new_work(self.store.new_number(), record, full_text), names, notes)
                self._keep(work)
                return work.reference
            before = work = joined[0]
            for other in joined[1:]:
                work = join_works(work, other)
                self.store.drop(other.number)
            work = add_copy(work, record, full_text)
            work = self._named(work, names, notes)
            if work is not before and work != before:
                self._keep(work)
            return work.reference

    def _joined(self, record: CitationArtifact, names: tuple[str, ...]) -> tuple[list[Work], list[str]]:
        """The works that the record belongs to, in order of registration, and what is odd about that."""
        order = sorted(names, key=lambda name: _JOIN_ORDER.get(name.partition(":")[0], len(_JOIN_ORDER)))
        pmids = {name for name in names if name.startswith("pmid:")}
        dois = frozenset(name.removeprefix("doi:") for name in names if name.startswith("doi:"))
        joined: dict[int, Work] = {}
        notes = []
        refused = set()
        for name in order:
            number = self.store.owner(name)
            if number is None or number in joined or number in refused:
                continue
            work = self._work(number)
            same_pmid = pmids & work.pmids
            together = frozenset(doi for other in joined.values() for doi in other.dois)
            differs = _differ(dois, work.dois) or _differ(together, work.dois)
            if differs and not same_pmid:
                refused.add(number)
                notes.append(f"{name} is also that of {work.reference}, which has another DOI: kept apart")
                continue
            if _differ(dois, work.dois):
                notes.append(
                    f"{', '.join(sorted(same_pmid))}: {record.copy_id} gives another DOI, kept in alternate_dois"
                )
            joined[number] = work
            pmids |= work.pmids
        return [joined[number] for number in sorted(joined)], notes

    def _named(self, work: Work, names: Iterable[str], notes: Iterable[str]) -> Work:
        """`work` with a key for every identity that no other work has."""
        keys = dict(work.keys)
        said = dict.fromkeys((*work.notes, *notes))
        for name in names:
            if name in keys or self.store.owner(name) not in (None, work.number):
                continue
            for round in count():
                key = key_of(name, round=round)
                if self.store.owner(f"key:{key}") in (None, work.number):
                    break
                said[f"the key {key} of {name} is taken by another work: hash round {round + 1} is used"] = None
            keys[name] = key
        if work.key and len(keys) == len(work.keys) and len(said) == len(work.notes):
            return work
        return work.model_copy(
            update={"keys": keys, "key": work.key or next(iter(keys.values())), "notes": tuple(said)}
        )

    def _keep(self, work: Work) -> None:
        self.store.put(work)
        self.store.claim(
            (
                *work.keys,
                *(f"key:{key}" for key in work.all_keys),
                *(name for copy in work.copies if self.store.owner(name := f"copy:{copy.copy_id}") is None),
            ),
            work.number,
        )
        self.store.unlink(work.number)
        named = work.links
        self.store.link(named.versions | named.notices, work.number)

    # Finding

    def find(self, reference: Reference | str) -> CitationArtifact | None:
        """One record of the work: the best copy, completed from the others, `reference` set; None if unknown."""
        with self.store.reading():
            work = self._find_work(reference)
            return None if work is None else self._record(work)

    def copies(self, reference: Reference | str) -> tuple[CitationArtifact, ...]:
        """All copies of the work as their sources gave them, best first, `reference` set; empty if unknown."""
        with self.store.reading():
            work = self._find_work(reference)
            return () if work is None else work.named_copies

    def is_open(self, reference: Reference | str) -> bool | None:
        """Whether a full text of the work can be read, by what any of its copies says; None where none does."""
        with self.store.reading():
            work = self._find_work(reference)
            return None if work is None else work.is_open

    def find_by_identifier(self, kind: str, value: str) -> Reference | None:
        """The reference of the work with that `doi`, `pmid`, `pmcid`, `nct`, `ppr` or `source` (`source:id`)."""
        read: dict[str, Callable[[str], str | None]] = {
            "doi": ids.normalise_doi,
            "pmid": ids.normalise_pmid,
            "pmcid": ids.normalise_pmcid,
            "nct": ids.normalise_nct,
        }
        if kind in read:
            normal = read[kind](value)
            if normal is None:
                return None
            name = f"{kind}:{ids.joining_doi(normal) if kind == 'doi' else normal}"
        elif kind == "ppr":
            name = f"europepmc:PPR:{value.strip().upper()}"
        else:
            name = value
        with self.store.reading():
            number = self.store.owner(name)
            return None if number is None else self._work(number).reference

    def resolve(self, text: str) -> list[Resolved]:
        """Every reference token of a text, in order, with what it means here."""
        with self.store.reading():
            resolved = []
            for found in find_references(text):
                work = self._find_work(found.key) if found.check_ok else None
                known = None if work is None else work.reference
                resolved.append(Resolved(found, known, None if work is None else self._record(work)))
            return resolved

    def canonical(self, reference: Reference | str) -> Reference | None:
        """The reference under which the work was first held; None if unknown."""
        with self.store.reading():
            work = self._find_work(reference)
            return None if work is None else work.reference

    def canonicals(self, references: Iterable[str]) -> dict[str, str]:
        """`canonical`, as written, of each of the references that is known."""
        with self.store.reading():
            works = ((reference, self._find_work(reference)) for reference in references)
            return {reference: str(work.reference) for reference, work in works if work is not None}

    def strongest(self, reference: Reference | str) -> Reference | None:
        """The reference of the strongest identifier known by now, the same whatever was found first; None if
        unknown."""
        with self.store.reading():
            work = self._find_work(reference)
            return None if work is None else Reference(work.keys[work.strongest_identity])

    def keys(self, reference: Reference | str) -> frozenset[str]:
        """All keys that mean the work; empty if unknown."""
        with self.store.reading():
            work = self._find_work(reference)
            return frozenset() if work is None else frozenset(work.all_keys)

    def names(self, reference: Reference | str) -> tuple[str, ...]:
        """`keys` as written references, in alphabetical order; empty if unknown."""
        with self.store.reading():
            work = self._find_work(reference)
            return () if work is None else work.written

    def names_of(self, references: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """`names` of each of the references that is known."""
        with self.store.reading():
            works = ((reference, self._find_work(reference)) for reference in references)
            return {reference: work.written for reference, work in works if work is not None}

    def notes(self, reference: Reference | str | None = None) -> tuple[str, ...]:
        """What was odd when records were joined or named, of one work or of all."""
        with self.store.reading():
            if reference is None:
                return tuple(note for work in self._works() for note in work.notes)
            work = self._find_work(reference)
            return () if work is None else work.notes

    def artifacts(self) -> Iterator[CitationArtifact]:
        """`find` of every work, in order of registration."""
        return (artifact for reference in self if (artifact := self.find(reference)) is not None)

    def __len__(self) -> int:
        with self.store.reading():
            return self.store.count()

    def __bool__(self) -> bool:
        # An empty registry is still a registry: `registry or default` must not replace it.
        return True

    def __iter__(self) -> Iterator[Reference]:
        with self.store.reading():
            return iter([Reference(key) for key in self.store.work_keys()])

    def __contains__(self, reference: object) -> bool:
        return isinstance(reference, (Reference, str)) and self.canonical(reference) is not None

    # Families

    def family(self, reference: Reference | str) -> tuple[Reference, ...]:
        """The works of one study (preprint, paper, notices, trial), the published paper first; empty if unknown."""
        with self.store.reading():
            work = self._find_work(reference)
            if work is None:
                return ()
            return tuple(member.reference for member in family_of(work, self.store))

    def family_key(self, reference: Reference | str) -> str | None:
        """The key that stands for the family: works are counted once for each; None if unknown."""
        family = self.family(reference)
        return family[0].key if family else None

    def linked(self, reference: Reference | str) -> tuple[Linked, ...]:
        """The other works of the family, each with what it is; empty if unknown."""
        with self.store.reading():
            work = self._find_work(reference)
            if work is None:
                return ()
            return tuple(
                Linked(_what(other), other.reference)
                for other in family_of(work, self.store)
                if other.number != work.number
            )

    def families(self, references: Iterable[Reference | str]) -> tuple[tuple[Reference, ...], ...]:
        """The distinct families of the references, in order; unknown ones are left out."""
        found: dict[int, list[Work]] = {}
        known: set[int] = set()
        with self.store.reading():
            for reference in references:
                work = self._find_work(reference)
                if work is None or work.number in known:
                    continue
                family = family_of(work, self.store)
                found.setdefault(family[0].number, family)
                # A notice about several papers stands in each of their families, but counts with one.
                known.add(work.number)
                known.update(member.number for member in family if not member.is_notice)
        return tuple(tuple(member.reference for member in family) for family in found.values())

    # Texts

    def texts(self, reference: Reference | str) -> tuple[StoredText, ...]:
        """All stored texts of the work. The first of a section's name is the one that `find` shows."""
        with self.store.reading():
            work = self._find_work(reference)
            if work is None:
                return ()
            ranked = work.ranked
            named = [text for copy in ranked for text in stored_texts(copy, work.full_texts.get(copy.copy_id))]
            source = abstract_copy(ranked)
            shown = source.copy_id if source else None
            # Stable: the abstract that is shown comes before the abstracts of better ranked copies.
            named.sort(key=lambda text: text.section.startswith("abstract") and text.copy_id != shown)
            return (*named, *work.superseded)

    def stored_text(self, copy_id: str, section: str, text_hash: str | None = None) -> str | None:
        """The text of a section of a copy (`Quote.copy`, `Quote.section`); with a hash also an earlier state of it."""
        with self.store.reading():
            number = self.store.owner(f"copy:{copy_id}")
            if number is None:
                return None
            work = self._work(number)
            copy = next(copy for copy in work.copies if copy.copy_id == copy_id)
            candidates = [
                text.text
                for text in (*stored_texts(copy, work.full_texts.get(copy_id)), *work.superseded)
                if text.copy_id == copy_id and text.section == section
            ]
        return next((text for text in candidates if text_hash is None or hash_of(text) == text_hash), None)

    def full_text(self, reference: Reference | str) -> FullText | None:
        """What was read of the work's full text so far, `artifact` set; None if nothing."""
        with self.store.reading():
            work = self._find_work(reference)
            if work is None:
                return None
            for copy in work.ranked:
                if (held := work.full_texts.get(copy.copy_id)) is not None:
                    named = copy.model_copy(update={"reference": str(work.reference)})
                    return held.model_copy(update={"artifact": named})
            return None

    # Keeping

    def merge(self, other: ArtifactRegistry) -> dict[Reference, Reference]:
        """Hold all that `other` holds; its keys stay valid. Gives the reference here of each reference there."""
        if other is self:
            return {reference: reference for reference in self}
        with other.store.reading():
            theirs = list(other._works())
        renamed = {}
        with self.store.writing():
            for work in theirs:
                renamed[work.reference] = self._take(work)
        return renamed

    def _take(self, work: Work) -> Reference:
        """Hold a work of another registry."""
        references = [self._hold(copy, work.full_texts.get(copy.copy_id)) for copy in work.copies]
        return self._take_names(references[0], work)

    def _take_names(self, reference: Reference, other: Work) -> Reference:
        mine = self._find_work(reference)
        assert mine is not None
        aliases, notes = list(mine.aliases), list(mine.notes)
        for key in other.all_keys:
            owner = self.store.owner(f"key:{key}")
            if owner is None:
                aliases.append(key)
            elif owner != mine.number:
                notes.append(f"the key {key} of the merged registry means another work here")
        work = mine.model_copy(
            update={
                "aliases": tuple(aliases),
                "notes": tuple(dict.fromkeys((*notes, *other.notes))),
                "superseded": tuple(dict.fromkeys((*mine.superseded, *other.superseded))),
            }
        )
        if work != mine:
            self._keep(work)
        return work.reference

    def to_json(self) -> str:
        """Everything held, as one JSON document."""
        with self.store.reading():
            works = (work.model_copy(update={"number": at}) for at, work in enumerate(self._works(), 1))
            return _Saved(works=tuple(works)).model_dump_json(exclude_none=True)

    @classmethod
    def from_json(cls, document: str | bytes | Mapping[str, Any], *, store: Store | None = None) -> ArtifactRegistry:
        """The registry that `to_json` wrote, as text or already read, with the same references.

        A work that stands there twice, or is in the store already, is joined.

        Raises:
            ValueError: the document is not of that form.
        """
        registry = cls(store=store)
        if isinstance(document, (str, bytes)):
            saved = _Saved.model_validate_json(document)
        else:
            saved = _Saved.model_validate(document)
        with registry.store.writing():
            for work in saved.works:
                names = (*work.keys, *(f"key:{key}" for key in work.all_keys))
                if any(registry.store.owner(name) is not None for name in names):
                    registry._take(work)  # there already: two documents were put together, or the store held it
                else:
                    registry._keep(work.model_copy(update={"number": registry.store.new_number()}))
        return registry

    def save(self, path: str | Path) -> None:
        """Write `to_json` to a file that only its owner can read, whole or not at all."""
        path = Path(path)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(self.to_json())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | Path, *, store: Store | None = None) -> ArtifactRegistry:
        """The registry that `save` wrote."""
        return cls.from_json(Path(path).read_bytes(), store=store)

    # Inside

    def __getstate__(self) -> dict[str, Store]:
        return {"store": self.store}

    def __setstate__(self, state: dict[str, Store]) -> None:
        self.store = state["store"]
        self._records = {}

    def _works(self) -> Iterator[Work]:
        return (self._work(number) for number in self.store.numbers())

    def _work(self, number: int) -> Work:
        return work_at(number, self.store)

    def _find_work(self, reference: Reference | str) -> Work | None:
        if isinstance(reference, str) and (key := written_key(reference)) is not None:
            # As we write it: only a right key leads anywhere.
            number = self.store.owner(f"key:{key}")
            if number is not None:
                return self._work(number)
        read = reference if isinstance(reference, Reference) else read_reference(reference)
        if read is None:
            # A text with one reference in it is as good as the reference.
            found = list(find_references(str(reference)))
            read = found[0].reference if len(found) == 1 else None
        number = None if read is None else self.store.owner(f"key:{read.key}")
        return None if number is None else self._work(number)

    def _record(self, work: Work) -> CitationArtifact:
        cached = self._records.get(work.number)
        if cached is not None and cached[0] is work:
            return cached[1]
        record = compose(work)
        if len(self._records) >= _CACHED_RECORDS:
            self._records.clear()
        self._records[work.number] = (work, record)
        return record


def _writable(record: R) -> R:
    """`record` without lone surrogates, which no JSON text can hold."""
    try:
        record.__pydantic_serializer__.to_json(record)
    except PydanticSerializationError:
        return type(record).model_validate(_mended(record.model_dump()))
    return record


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_mended(name): _mended(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mended(inner) for inner in value]
    return value


def _what(work: Work) -> Literal["paper", "preprint", "trial", "notice"]:
    if work.is_notice:
        return "notice"
    if work.is_trial:
        return "trial"
    return "preprint" if work.is_preprint else "paper"


def _differ(left: frozenset[str], right: frozenset[str]) -> bool:
    return bool(left) and bool(right) and left.isdisjoint(right)
