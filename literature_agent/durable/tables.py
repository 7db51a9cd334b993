"""Questions in, results out: JSONL, CSV and Parquet."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from literature_agent.agents.request import read_request
from literature_agent.errors import ConfigurationError, InvalidInputError, in_words, reason_of
from literature_agent.outputs import AggregationRequest, Budget
from literature_agent.render import one_line, spreadsheet_cell

KINDS = (".jsonl", ".csv", ".parquet")
_LISTS = ("sources", "languages", "publication_types")


class BatchQuestion(BaseModel):
    """One question of a batch."""

    model_config = ConfigDict(frozen=True)

    key: str
    """The id the file gives it, else a hash of the question: the same when the file is read again."""
    request: AggregationRequest
    budget: Budget
    priority: int = Field(default=1, ge=1, le=1_000_000)
    """1 is asked first."""


def check_kind(path: Path, what: str) -> str:
    """The ending of a file of questions or results.

    Raises:
        InvalidInputError: it is none that can be read and written.
        ConfigurationError: Parquet without pyarrow.
    """
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InvalidInputError(f"{what} {str(path)!r} is of no known kind.", recovery=f"End it in {', '.join(KINDS)}.")
    if kind == ".parquet":
        try:
            import pyarrow  # noqa: F401  # only whether it is there
        except ImportError:
            raise ConfigurationError(
                "Parquet needs pyarrow, which is not installed.",
                recovery="Install the extra: pip install 'literature-agent[parquet]'.",
            ) from None
    return kind


def read_questions(path: Path, budget: Budget) -> list[BatchQuestion]:
    """The questions of a file; each row has `question`, and may have `id`, `priority`, and the members of
    `AggregationRequest` and `Budget`.

    Args:
        path: JSONL, CSV (lists parted by semicolons) or Parquet.
        budget: of a question that brings none.

    Raises:
        InvalidInputError: the file or a row is refused; the sentence names the row.
    """
    kind = check_kind(path, "The file of questions")
    try:
        rows = list(_rows(path, kind))
    except OSError as refused:
        raise InvalidInputError(
            f"The file of questions {str(path)!r} can't be read: {reason_of(refused)}.", recovery="Name another file."
        ) from None
    except UnicodeDecodeError:
        raise InvalidInputError(
            f"The file of questions {str(path)!r} is not UTF-8 text.", recovery="Save it as UTF-8."
        ) from None
    if not rows:
        raise InvalidInputError(f"The file of questions {str(path)!r} holds no question.", recovery="Give one a row.")
    questions = [_question(row, number, budget) for number, row in rows]
    twice = [key for key, times in Counter(question.key for question in questions).items() if times > 1]
    if twice:
        raise InvalidInputError(
            f"The id {twice[0]!r} stands twice in {str(path)!r}.", recovery="Give every question an `id` of its own."
        )
    return questions


def _rows(path: Path, kind: str) -> Iterable[tuple[int, dict[str, Any]]]:
    if kind == ".parquet":
        from pyarrow import parquet

        table = parquet.read_table(path)
        for number, row in enumerate(table.to_pylist(), 1):
            yield number, {name: value for name, value in row.items() if value is not None}
    elif kind == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), 2):
                given: dict[str, Any] = {name: value for name, value in row.items() if name and value}
                for name in _LISTS:
                    if name in given:
                        given[name] = [part.strip() for part in given[name].split(";") if part.strip()]
                yield number, given
    else:
        # Not `splitlines`, which also parts lines at characters that may stand inside a JSON text.
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
            if not line.strip():
                continue
            try:
                read = from_json(line)
            except ValueError:
                read = None
            if not isinstance(read, dict):
                raise InvalidInputError(
                    f"Line {number} is no JSON object.", recovery='Write one object a line: {"question": "..."}.'
                )
            yield number, read


def _question(row: Mapping[str, Any], number: int, budget: Budget) -> BatchQuestion:
    known = {"id", "question", "priority", *AggregationRequest.model_fields, *Budget.model_fields}
    # A file of dead letters can be given as it is.
    given = {name: value for name, value in row.items() if name not in ("error", "attempts", "run_id", "status")}
    unknown = sorted(set(given) - known)
    if unknown:
        raise InvalidInputError(
            f"Row {number} has an unknown column {unknown[0]!r}.", recovery=f"Use {', '.join(sorted(known))}."
        )
    own = {name: given.pop(name) for name in Budget.model_fields if name in given}
    key, priority = given.pop("id", None), given.pop("priority", 1)
    if key is not None and (isinstance(key, list | dict | bool) or str(key) != one_line(str(key)) or not str(key)):
        raise InvalidInputError(f"Row {number}: its `id` is no line of text.", recovery="Give a short name or number.")
    question = given.pop("question", None)
    if not isinstance(question, str):
        raise InvalidInputError(f"Row {number} has no `question`.", recovery="Give one question a row.")
    try:
        request = read_request(question, given)
        text = request.model_dump_json(exclude_defaults=True)
        return BatchQuestion(
            key=str(key) if key is not None else hashlib.blake2b(text.encode(), digest_size=6).hexdigest(),
            request=request,
            budget=Budget(**{**budget.model_dump(), **own}),
            priority=priority,
        )
    except ValidationError as refused:
        first = refused.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise InvalidInputError(f"Row {number}: {name}: {in_words(first['msg'])}.") from None
    except InvalidInputError as refused:
        raise InvalidInputError(f"Row {number}: {refused.message}", recovery=refused.recovery) from None


_REST = 20.0
"""A Parquet file is left alone for so many times as long as it took to write."""
_PARQUET = {"cost_usd": "float64", "requests": "int64"}


class Row(NamedTuple):
    """What is known of an answer that is in the file."""

    question: str
    run_id: str
    status: str
    cost_usd: float | None
    """None where no price was known."""


class Results:
    """The file of results: one row for each answered question, never two.

    JSONL and CSV grow as answers come, and a row cut by a crash is taken away. A Parquet file can only be
    written whole: that is done now and then, and by `flush`.
    """

    COLUMNS = ("id", "run_id", "status", "question", "summary", "articles", "cost_usd", "requests", "answer")
    _header = ",".join(COLUMNS) + "\r\n"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kind = check_kind(path, "The file of results")
        self._kept: list[dict[str, Any]] = []
        """Rows that are not in the Parquet file yet."""
        self._wrote_at = self._write_took_s = 0.0
        if not path.parent.is_dir():
            raise InvalidInputError(f"The folder of {str(path)!r} does not exist.", recovery="Make the folder first.")
        try:
            self._rows = self._read()
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            raise InvalidInputError(
                f"{str(path)!r} exists and holds no results of a batch.", recovery="Give another --out."
            ) from None

    @property
    def rows(self) -> Mapping[str, Row]:
        """What is known of each row, by the id of its question."""
        return self._rows

    @property
    def keys(self) -> frozenset[str]:
        """Ids of the questions that have their row."""
        return frozenset(self._rows)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows of `COLUMNS`; one whose id is there already is left out.

        Raises:
            OSError: the file can't be written.
        """
        new = [dict(row) for row in rows if row["id"] not in self._rows]
        new = list({row["id"]: row for row in new}.values())
        if not new:
            return
        if self._kind == ".parquet":
            self._kept += [{name: _cell(row.get(name)) for name in self.COLUMNS} for row in new]
            if time.monotonic() - self._wrote_at >= _REST * self._write_took_s:
                self.flush()
        else:
            text = "".join(self._line(row) for row in new)
            with self._path.open("a", encoding="utf-8", newline="") as file:
                if self._kind == ".csv" and file.tell() == 0:
                    text = self._header + text
                file.write(text)
                file.flush()
        self._rows.update((row["id"], _row(row)) for row in new)

    def flush(self) -> None:
        """Write what is not in the file yet.

        Raises:
            OSError: the file can't be written.
        """
        if self._kept:
            began = time.monotonic()
            self._write_parquet()
            self._wrote_at = time.monotonic()
            self._write_took_s = self._wrote_at - began

    def _read(self) -> dict[str, Row]:
        if not self._path.exists():
            return {}
        if self._kind == ".parquet":
            from pyarrow import parquet

            known = parquet.read_table(
                self._path, columns=["id", "question", "run_id", "status", "cost_usd"]
            ).to_pylist()
            return {row["id"]: _row(row) for row in known}
        ending = "\r\n" if self._kind == ".csv" else "\n"
        whole = self._path.read_bytes()
        text = whole.decode("utf-8", "ignore")
        kept = text[: text.rfind(ending) + len(ending)] if ending in text else ""
        # What is cut off below is to be a row of ours, and not somebody's file.
        if self._kind == ".csv":
            is_ours = kept.startswith(self._header) if kept else self._header.startswith(text)
        else:
            is_ours = kept != "" or text == "" or '"run_id"' in text
        if not is_ours:
            raise ValueError
        if self._kind == ".csv" and kept:
            rows = list(csv.DictReader(io.StringIO(kept, newline="")))
            if rows and None in rows[-1].values():
                kept = kept[: kept.rstrip("\r\n").rfind(ending) + len(ending)]
                rows = rows[:-1]
            found = {_read_id(row["id"]): _row(row) for row in rows}
        else:
            found = {row["id"]: _row(row) for line in kept.split("\n") if line and (row := json.loads(line))}
        if len(kept.encode()) != len(whole):
            self._path.write_bytes(kept.encode())
        return found

    def _line(self, row: Mapping[str, Any]) -> str:
        if self._kind == ".jsonl":
            return json.dumps(row, ensure_ascii=False) + "\n"
        out = io.StringIO(newline="")
        # Whole answers have no place in a table; `answer` holds them in the other forms.
        cells = {name: _cell(row.get(name)) for name in self.COLUMNS if name != "answer"}
        shown = {name: spreadsheet_cell(cell) if isinstance(cell, str) else cell for name, cell in cells.items()}
        shown["id"] = _written_id(str(row["id"]))
        csv.writer(out).writerow([shown.get(name) for name in self.COLUMNS])
        return out.getvalue()

    def _write_parquet(self) -> None:
        import pyarrow
        from pyarrow import parquet

        schema = pyarrow.schema([(name, _PARQUET.get(name, "string")) for name in self.COLUMNS])
        part = self._path.with_name(f".{self._path.name}.part")
        with parquet.ParquetWriter(part, schema) as writer:
            if self._path.exists():
                with parquet.ParquetFile(self._path) as before:
                    # Group by group: whole answers of thousands of questions fill the memory.
                    for group in range(before.num_row_groups):
                        writer.write_table(before.read_row_group(group).cast(schema))
            writer.write_table(pyarrow.Table.from_pylist(self._kept, schema))
        part.replace(self._path)
        self._kept.clear()


def _written_id(key: str) -> str:
    """The id as a cell that no spreadsheet runs as a formula, and that `_read_id` reads back."""
    bare = key.lstrip("'")
    return key if bare == spreadsheet_cell(bare) else f"'{key}"


def _read_id(cell: str) -> str:
    bare = cell.lstrip("'")
    return cell if bare == spreadsheet_cell(bare) else cell[1:]


def _row(row: Mapping[str, Any]) -> Row:
    cost = row.get("cost_usd")
    return Row(row["question"], row["run_id"], row["status"], None if cost is None or cost == "" else float(cost))


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return "; ".join(str(each) for each in value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
