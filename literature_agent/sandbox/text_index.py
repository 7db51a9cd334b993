"""A small in-memory search index over SQLite FTS5: words with BM25, exact values, dates."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from literature_agent.sandbox.syntax import plain, tokens

# A long OR list adds nothing to a ranking and SQLite bounds the size of an expression.
_RANKED_EXPRESSIONS = 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One record as the index takes it: words by column, whole values by field, days (`YYYYMMDD`) by field."""

    texts: Mapping[str, str]
    values: Mapping[str, Iterable[str]] = field(default_factory=dict)
    days: Mapping[str, Iterable[int]] = field(default_factory=dict)


class TextIndex:
    """Entries searchable by word, phrase, prefix, whole value and date range; numbered from 0 in the order given.

    Every question returns a set of entry numbers. Safe to share between threads.
    """

    def __init__(self, columns: Sequence[str], weights: Sequence[float], entries: Iterable[Entry]) -> None:
        self.columns = tuple(columns)
        self._weights = tuple(weights)
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._close = weakref.finalize(self, self._db.close)
        # Python's own tables: they fill in a third of the time that SQLite takes for rows and an index on them.
        self._facts: dict[str, dict[str, list[int]]] = {}
        self._days: dict[str, list[tuple[int, int]]] = {}
        self.size = self._fill(entries)
        self._vocabulary: dict[str, int] | None = None

    def close(self) -> None:
        self._close()

    def matching(
        self, text: str, columns: Sequence[str] | None = None, *, prefix: bool = False, near: int | None = None
    ) -> set[int]:
        """Entries holding the words of `text` as a phrase (`near`: all of them within that many words)."""
        expression = self.expression(text, columns, prefix=prefix, near=near)
        if expression is None:
            return set()
        return {row - 1 for (row,) in self._ask("SELECT rowid FROM words WHERE words MATCH ?", (expression,))}

    def expression(
        self, text: str, columns: Sequence[str] | None = None, *, prefix: bool = False, near: int | None = None
    ) -> str | None:
        """The FTS5 expression for `matching`; None where the text holds no word."""
        words = tokens(text)
        if not words:
            return None
        if near is not None and len(words) > 1:
            quoted = " ".join(f'"{word}"' for word in words)
            body = f"NEAR({quoted}, {near})"
        else:
            body = '"' + " ".join(words) + '"' + (" *" if prefix else "")
        return f"{{{' '.join(columns)}}} : {body}" if columns else body

    def with_value(self, name: str, value: str, *, prefix: bool = False) -> set[int]:
        """Entries whose field `name` holds `value` (compared by `plain`), or a value that begins with it."""
        key = plain(value)
        if prefix:
            return self.with_prefix(name, key)
        return set(self._facts.get(name, {}).get(key, ()))

    def with_prefix(self, name: str, beginning: str) -> set[int]:
        """Entries with a value that begins with exactly this text, already in its `plain` spelling."""
        if not beginning.strip():
            return set()
        known = self._facts.get(name, {})
        return {entry for value, entries in known.items() if value.startswith(beginning) for entry in entries}

    def values(self, name: str) -> Set[str]:
        """All distinct values of the field, in their `plain` spelling."""
        return self._facts.get(name, {}).keys()

    def between(self, name: str, low: int, high: int) -> set[int]:
        """Entries with a day of this field within the bounds, both included."""
        return {entry for day, entry in self._days.get(name, ()) if low <= day <= high}

    def everything(self) -> set[int]:
        return set(range(self.size))

    def scores(self, expressions: Sequence[str]) -> dict[int, float]:
        """BM25 of every entry that any of the expressions matches; higher is better."""
        unique = list(dict.fromkeys(expressions))[:_RANKED_EXPRESSIONS]
        if not unique:
            return {}
        weights = ", ".join(str(weight) for weight in self._weights)
        sql = f"SELECT rowid, bm25(words, {weights}) FROM words WHERE words MATCH ?"
        match = " OR ".join(f"({expression})" for expression in unique)
        return {row - 1: -score for row, score in self._ask(sql, (match,))}

    @property
    def vocabulary(self) -> dict[str, int]:
        """Every indexed word with the number of entries that hold it."""
        if self._vocabulary is None:
            self._vocabulary = dict(self._ask("SELECT term, doc FROM vocabulary", ()))
        return self._vocabulary

    def _ask(self, sql: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(sql, parameters).fetchall()

    def _fill(self, entries: Iterable[Entry]) -> int:
        columns = ", ".join(self.columns)
        marks = ", ".join("?" for _ in range(len(self.columns) + 1))
        words: list[tuple[Any, ...]] = []
        for number, entry in enumerate(entries):
            words.append((number + 1, *(entry.texts.get(column, "") for column in self.columns)))
            for name, values in entry.values.items():
                known = self._facts.setdefault(name, {})
                for key in {plain(value) for value in values if value}:
                    if key:
                        known.setdefault(key, []).append(number)
            for name, stamps in entry.days.items():
                self._days.setdefault(name, []).extend((day, number) for day in set(stamps))
        # Nothing is ever rolled back, and nobody reads the texts out again: FTS5 need not keep them.
        self._db.execute("PRAGMA journal_mode = OFF")
        with self._db:
            self._db.execute(f"CREATE VIRTUAL TABLE words USING fts5({columns}, content='')")
            self._db.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)")
            self._db.executemany(f"INSERT INTO words (rowid, {columns}) VALUES ({marks})", words)
        return len(words)
