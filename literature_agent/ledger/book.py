"""The book of one run.

Entries are frozen, one for each call and source asked, and stand in the order of turn and call, whatever answered
first. Recording a call again changes nothing, so that a resumed run may pass its recorded results through once more.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from literature_agent.errors import LiteratureError
from literature_agent.ledger.records import (
    Counts,
    Exclusion,
    Failure,
    Flow,
    FoundBy,
    LedgerEntry,
    Level,
    Opened,
    Origin,
    Saved,
    SearchRecord,
    ShownText,
    SourceCoverage,
)
from literature_agent.registry import ArtifactRegistry, Reference, read_reference
from literature_agent.results import ErrorInfo, SearchResult, SearchStatus

_LEVELS: tuple[Level, ...] = ("snippet", "abstract", "full_text")

# Sections of a record itself; every other section belongs to its full text.
_RECORD_SECTIONS = frozenset({"title", "abstract", "official title", "eligibility", "outcomes"})


class Ledger:
    """The book of one run. Given the run's registry, it knows a work by any of its keys. Safe for threads."""

    def __init__(self, run_id: str, registry: ArtifactRegistry | None = None) -> None:
        self.run_id = run_id
        self._registry = registry
        self._lock = threading.RLock()
        self._opened: dict[tuple[str, int], Opened] = {}
        self._entries: dict[tuple[str, int, str], LedgerEntry] = {}
        self._ordered: tuple[LedgerEntry, ...] | None = ()
        self.changes = 0
        """Rises with everything that is written."""
        self._by_code: dict[str, int] = {}
        self._seen: set[str] = set()
        self._shown: dict[str, list[ShownText]] = {}
        self._levels: dict[str, Level] = {}
        self._cited: dict[str, None] = {}

    # Asking

    def next_call_id(self, door: Literal["given", "door"]) -> str:
        """An id for a call made by code: `given-1`, `door-1`, ..."""
        with self._lock:
            number = self._by_code[door] = self._by_code.get(door, 0) + 1
            return f"{door}-{number}"

    def open_search(self, call_id: str, turn: int = 0, index: int = 0, *, part: int = 0) -> str:
        """Reserve the search id of one source asked by a call. Open before the first await, in order of call, and ids
        follow that order; opening again gives the same id."""
        with self._lock:
            slot = (call_id, part)
            if slot not in self._opened:
                self._opened[slot] = Opened(
                    call_id=call_id, part=part, turn=turn, index=index, order=len(self._opened) + 1
                )
            return self._opened[slot].search_id

    def close_search(
        self,
        call_id: str,
        *,
        source: str,
        query: str,
        started_at: datetime,
        interface: str = "",
        result: SearchResult | None = None,
        error: LiteratureError | ErrorInfo | None = None,
        references: Iterable[Reference | str] = (),
        filters: Mapping[str, str] | None = None,
        origin: Origin = "planned",
        part: int = 0,
    ) -> SearchRecord:
        """Write what a search got: `references` of the works of its hits, one for each hit. Without `result` it failed.

        An unopened search is opened with turn 0. Closing again gives the first record.
        """
        self.open_search(call_id, part=part)
        info = _info(error) or (result.error if result else None)
        with self._lock:
            opened = self._opened[call_id, part]
            hits = tuple(self._name(reference) for reference in references)
            record = SearchRecord(
                search_id=opened.search_id,
                source=source,
                interface=interface,
                query=query,
                query_interpreted=result.query_interpreted if result else None,
                filters=dict(filters) if filters is not None else dict(result.applied_filters if result else {}),
                started_at=started_at,
                status=result.status if result else "failed",
                total=result.total if result else None,
                retrieved=len(hits),
                origin=origin,
                reason=info.reason if info else None,
            )
            self._write(
                LedgerEntry(
                    kind="search",
                    call_id=call_id,
                    part=part,
                    turn=opened.turn,
                    index=opened.index,
                    opened=opened.order,
                    source=source,
                    references=hits,
                    error=info,
                    search=record,
                    warnings=result.warnings if result else (),
                    notice=result.notice if result else None,
                )
            )
        closed = self.search(opened.search_id)
        assert closed is not None
        return closed

    def record_fetch(
        self,
        call_id: str,
        turn: int = 0,
        index: int = 0,
        *,
        source: str,
        asked: int,
        references: Iterable[Reference | str] = (),
        error: LiteratureError | ErrorInfo | None = None,
        part: int = 0,
    ) -> LedgerEntry:
        """Write that `asked` records were asked for by identifier, and which works came. Again: the first entry."""
        return self._record("fetch", call_id, turn, index, source, asked, references, error, part)

    def record_read(
        self,
        call_id: str,
        turn: int = 0,
        index: int = 0,
        *,
        source: str,
        references: Iterable[Reference | str] = (),
        error: LiteratureError | ErrorInfo | None = None,
        part: int = 0,
    ) -> LedgerEntry:
        """Write that a full text was asked for; `references` is empty where there is none. Again: the first entry."""
        return self._record("read", call_id, turn, index, source, 1, references, error, part)

    def _record(
        self,
        kind: Literal["fetch", "read"],
        call_id: str,
        turn: int,
        index: int,
        source: str,
        asked: int,
        references: Iterable[Reference | str],
        error: LiteratureError | ErrorInfo | None,
        part: int,
    ) -> LedgerEntry:
        return self._write(
            LedgerEntry(
                kind=kind,
                call_id=call_id,
                part=part,
                turn=turn,
                index=index,
                source=source,
                asked=asked,
                references=tuple(self._name(reference) for reference in references),
                error=_info(error),
            )
        )

    def _write(self, entry: LedgerEntry) -> LedgerEntry:
        with self._lock:
            written = self._entries.setdefault((entry.call_id, entry.part, entry.kind), entry)
            self._ordered = None
            self.changes += 1
            self._seen.update(written.references)
            return written

    # Showing

    def show(
        self,
        reference: Reference | str,
        copy_id: str,
        section: str,
        end: int,
        length: int,
        *,
        start: int = 0,
        text_hash: str | None = None,
        level: Level | None = None,
    ) -> None:
        """Write that the model was shown `[start:end]` of a stored text of `length` characters.

        Without `level` it is told by the section: the whole of `abstract` is an abstract, part of it or the title a
        snippet, a section of the body full text.
        """
        name = self._name(reference)
        part = ShownText(
            reference=name,
            copy_id=copy_id,
            section=section,
            start=start,
            end=end,
            length=length,
            text_hash=text_hash,
            level=level or _level(section, start, end, length),
        )
        with self._lock:
            shown = self._shown.setdefault(name, [])
            if part not in shown:
                self._append(shown, part)

    def cite(self, references: Iterable[Reference | str]) -> None:
        """Write which works the answer cites."""
        with self._lock:
            self._cited.update(dict.fromkeys(self._name(reference) for reference in references))

    def is_shown(self, reference: Reference | str) -> bool:
        """Whether this run has shown anything of the work: only then may it be cited."""
        return str(reference) in self._shown or any(name in self._shown for name in self._names(reference))

    def shown_references(self) -> tuple[str, ...]:
        """Works shown, in order of first showing, under the key they were shown by."""
        with self._lock:
            return tuple(self._shown)

    def shown_keys(self) -> frozenset[str]:
        """Keys of the works shown."""
        with self._lock:
            return frozenset(_key(name) for name in self._shown)

    def shown_texts(self, reference: Reference | str) -> tuple[ShownText, ...]:
        """What was shown of a work, overlapping stretches of a text joined."""
        with self._lock:
            parts = [part for name in self._names(reference) for part in self._shown.get(name, ())]
        joined: list[ShownText] = []
        for part in sorted(parts, key=lambda part: part.start):
            for at, known in enumerate(joined):
                same = (known.copy_id, known.section, known.length, known.text_hash)
                if same == (part.copy_id, part.section, part.length, part.text_hash) and part.start <= known.end:
                    joined[at] = known.model_copy(
                        update={"end": max(known.end, part.end), "level": max(known.level, part.level, key=_depth)}
                    )
                    break
            else:
                joined.append(part)
        order = {(part.copy_id, part.section): place for place, part in reversed(list(enumerate(parts)))}
        return tuple(sorted(joined, key=lambda part: (order[part.copy_id, part.section], part.start)))

    def level(self, reference: Reference | str) -> Level | None:
        """The most that was shown of a work; None if nothing."""
        return self._level_under(self._names(reference))

    def levels(self) -> dict[str, Level | None]:
        """`level` of each of `shown_references`."""
        shown = self.shown_references()
        names = self._registry.names_of(shown) if self._registry is not None else {}
        return {name: self._level_under(names.get(name, (name,))) for name in shown}

    def _level_under(self, names: Iterable[str]) -> Level | None:
        with self._lock:
            names = [name for name in names if name in self._levels]
            deepest = max((self._levels[name] for name in names), key=_depth, default=None)
            if deepest != "snippet":
                return deepest
            abstract = [part for name in names for part in self._shown[name] if part.section == "abstract"]
        # Stretches that are snippets each can be the whole abstract together.
        if sum(part.end - part.start for part in abstract) >= min((part.length for part in abstract), default=1):
            joined = [part for part in self.shown_texts(names[0]) if part.section == "abstract" and part.start == 0]
            return "abstract" if any(part.end >= part.length > 0 for part in joined) else deepest
        return deepest

    def _append(self, shown: list[ShownText], part: ShownText) -> None:
        shown.append(part)
        known = self._levels.get(part.reference, part.level)
        self._levels[part.reference] = max(known, part.level, key=_depth)
        self.changes += 1

    def has_shown(self, reference: Reference | str, section: str) -> bool:
        """Whether anything of that section of the work was shown, of whichever copy."""
        with self._lock:
            if any(part.section == section for part in self._shown.get(str(reference), ())):
                return True
            return any(part.section == section for name in self._names(reference) for part in self._shown.get(name, ()))

    # Counting

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All entries, ordered by turn, call, and place in the call."""
        with self._lock:
            if self._ordered is None:
                self._ordered = tuple(
                    sorted(
                        self._entries.values(), key=lambda entry: (entry.turn, entry.index, entry.opened, entry.part)
                    )
                )
            return self._ordered

    def search_log(self) -> tuple[SearchRecord, ...]:
        """The searches in order. A hit is new when this run had not got its work before, by search, fetch or read."""
        return tuple(self._log())

    def _log(self) -> Iterator[SearchRecord]:
        entries = self.entries
        works = self._works(reference for entry in entries for reference in entry.references)
        seen: set[str] = set()
        for entry in entries:
            before = len(seen)
            seen.update(works[reference] for reference in entry.references)
            if entry.search is not None:
                new = len(seen) - before
                yield entry.search.model_copy(update={"new": new, "duplicates": entry.search.retrieved - new})

    def search(self, search_id: str) -> SearchRecord | None:
        """The search of that id, if it has ended."""
        return next((record for record in self._log() if record.search_id == search_id), None)

    def search_of_call(self, call_id: str) -> SearchRecord | None:
        """The first search that a call made, if it has ended."""
        return next((entry.search for entry in self.entries if entry.call_id == call_id and entry.search), None)

    def coverage(self, sources: Iterable[str] = ()) -> tuple[SourceCoverage, ...]:
        """How the searches of each source ended: first `sources`, asked or not, then others in order of asking."""
        statuses: dict[str, list[SearchStatus]] = {source: [] for source in sources}
        for entry in self.entries:
            if entry.search is not None:
                statuses.setdefault(entry.search.source, []).append(entry.search.status)
        return tuple(
            SourceCoverage(
                source=source,
                asked=len(ended),
                answered=len(ended) - ended.count("failed"),
                empty=ended.count("empty"),
                failed=ended.count("failed"),
                truncated=ended.count("partial"),
            )
            for source, ended in statuses.items()
        )

    def failures(self) -> tuple[Failure, ...]:
        """Every call that ended in an error, also one that got a part, in order."""
        return tuple(
            Failure(
                entry.source,
                entry.error.reason,
                entry.error.message,
                entry.call_id,
                entry.search.search_id if entry.search else None,
            )
            for entry in self.entries
            if entry.error is not None
        )

    def cited_references(self) -> tuple[str, ...]:
        """Works that the answer cites, in order."""
        with self._lock:
            return tuple(self._cited)

    def count_analyzed(self, registry: ArtifactRegistry | None = None) -> int:
        """Families of which the whole abstract or full text was shown."""
        analyzed = (name for name, level in self.levels().items() if level in ("abstract", "full_text"))
        return self._families(analyzed, registry)

    def counts(self) -> Counts:
        """The numbers of a status line."""
        last = {entry.search.source: entry.search.status for entry in self.entries if entry.search is not None}
        return Counts(
            found=self._families(dict.fromkeys(name for entry in self.entries for name in entry.references), None),
            analyzed=self.count_analyzed(),
            failed_sources=tuple(source for source, status in last.items() if status == "failed"),
        )

    def flow(self, included: Iterable[Reference | str], reasons: Mapping[str, str] | None = None) -> Flow:
        """How many works passed each stage, up to the `included` ones; `reasons` says of others why they are not.

        Raises:
            ValueError: something in `included` or `reasons` is no reference.
        """
        log, entries = self.search_log(), self.entries
        listed = [self._name(reference) for reference in included]
        reasons = {self._name(reference): reason for reference, reason in (reasons or {}).items()}
        levels = self.levels()
        got_references = (reference for entry in entries for reference in entry.references)
        works = self._works((*got_references, *listed, *reasons, *levels))
        kept = dict.fromkeys(works[name] for name in listed)
        why = {works[name]: reason for name, reason in reasons.items()}
        deepest: dict[str, Level] = {}
        for name, level in levels.items():
            if level is not None:
                work = works[name]
                deepest[work] = max(level, deepest.get(work, level), key=_depth)
        screened = {**deepest, **kept}
        sources: dict[str, dict[str, None]] = {}
        for entry in entries:
            if entry.search is not None:
                for reference in entry.references:
                    sources.setdefault(works[reference], {})[entry.source] = None
        got = {works[reference] for entry in entries for reference in entry.references} | screened.keys()
        analysed = {work for work, level in deepest.items() if level != "snippet"}
        excluded = Counter(
            ("reading" if work in analysed else "screening", why.get(work, "no reason recorded"))
            for work in screened
            if work not in kept
        )
        by_search = sum(record.new for record in log)
        return Flow(
            identified=sum(record.retrieved for record in log),
            duplicates=sum(record.duplicates for record in log),
            otherwise=len(got) - by_search,
            unique=len(got),
            not_screened=len(got) - len(screened),
            screened=len(screened),
            analysed=len(analysed),
            read=sum(level == "full_text" for level in deepest.values()),
            included=len(kept),
            included_unread=len(kept.keys() - analysed),
            studies=self._families(kept, None),
            excluded=tuple(Exclusion(stage=stage, reason=reason, works=n) for (stage, reason), n in excluded.items()),
            found_by=tuple(
                FoundBy(sources=names, works=n)
                for names, n in Counter(tuple(sorted(given)) for given in sources.values()).items()
            ),
        )

    def _families(self, references: Iterable[str], registry: ArtifactRegistry | None) -> int:
        held = registry or self._registry
        return len(set(references)) if held is None else len(held.families(references))

    # Keeping

    def to_json(self) -> str:
        """The whole ledger as one JSON document."""
        with self._lock:
            return Saved(
                run_id=self.run_id,
                opened=tuple(self._opened.values()),
                calls_by_code=dict(self._by_code),
                entries=self.entries,
                shown=tuple(part for parts in self._shown.values() for part in parts),
                cited=tuple(self._cited),
            ).model_dump_json()

    @classmethod
    def from_json(cls, document: str | bytes | Mapping[str, Any], registry: ArtifactRegistry | None = None) -> Ledger:
        """The ledger that `to_json` wrote, as text or already read.

        Raises:
            ValueError: the document is not of that form.
        """
        if isinstance(document, (str, bytes)):
            saved = Saved.model_validate_json(document)
        else:
            saved = Saved.model_validate(document)
        ledger = cls(saved.run_id, registry)
        ledger._opened = {(opened.call_id, opened.part): opened for opened in saved.opened}
        ledger._by_code = dict(saved.calls_by_code)
        for entry in saved.entries:
            ledger._write(entry)
        for shown in saved.shown:
            ledger._append(ledger._shown.setdefault(shown.reference, []), shown)
        ledger.cite(saved.cited)
        return ledger

    def __reduce__(self) -> tuple[Any, ...]:
        return Ledger.from_json, (self.to_json(), self._registry)

    # Inside

    def _name(self, reference: Reference | str) -> str:
        """The written form of a reference."""
        read = reference if isinstance(reference, Reference) else read_reference(reference)
        if read is None:
            raise ValueError(f"{reference!r} is no reference")
        return str(read)

    def _names(self, reference: Reference | str) -> Sequence[str]:
        """The written forms under which the work may stand here, the given one first."""
        read = reference if isinstance(reference, Reference) else read_reference(reference)
        if read is None:
            return ()
        own = str(read)
        names = self._registry.names(read) if self._registry is not None else ()
        return [own, *(name for name in names if name != own)]

    def _works(self, references: Iterable[str]) -> dict[str, str]:
        """One name for all references of the same work, of each reference."""
        names = dict.fromkeys(references)
        known = self._registry.canonicals(names) if self._registry is not None else {}
        return {name: known.get(name, name) for name in names}


def _key(reference: str) -> str:
    return reference[-11:-1]


def _info(error: LiteratureError | ErrorInfo | None) -> ErrorInfo | None:
    return ErrorInfo.of(error) if isinstance(error, LiteratureError) else error


def _depth(level: Level) -> int:
    return _LEVELS.index(level)


def _level(section: str, start: int, end: int, length: int) -> Level:
    if section in _RECORD_SECTIONS or section.startswith("abstract/"):
        return "abstract" if section == "abstract" and start == 0 and end >= length > 0 else "snippet"
    return "full_text"
