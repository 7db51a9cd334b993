"""Files that a command reads and writes."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from literature_agent.errors import InvalidInputError, reason_of

if TYPE_CHECKING:
    from literature_agent.outputs import GivenSearch

LONGEST_NAME = 60
_SEARCH_LINE = 'Write one JSON object a line: {"source": "pubmed", "query": "..."}.'


def name_for(question: str, suffix: str) -> str:
    """A short file name that every system takes, made from a question (K122): `does-metformin-slow.md`."""
    plain = unicodedata.normalize("NFKD", question).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return (words[:LONGEST_NAME].rstrip("-") or "answer") + suffix


def check_name(path: Path) -> None:
    """Refuse a path that the system can't look up, such as one with too long a name.

    Raises:
        InvalidInputError: as above; that there is no such file is no mistake.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    except OSError as refused:
        raise InvalidInputError(
            f"The file {str(path)[:80]!r} can't be written: {reason_of(refused)}.", recovery="Name another file."
        ) from None


def output_file(path: Path, question: str, suffix: str) -> Path:
    """The file to write: `path`, or in the folder `path` a file named after the question. Checked before any work.

    Raises:
        InvalidInputError: nothing can be written there.
    """
    check_name(path)
    file = path / name_for(question, suffix) if path.is_dir() else path
    if not file.parent.is_dir():
        raise InvalidInputError(
            f"The folder of the output file {str(file)!r} does not exist.", recovery="Make the folder first."
        )
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise InvalidInputError(f"The output file {str(file)!r} can't be written.", recovery="Name another file.")
    return file


def in_utf8(question: str | bytes) -> str:
    """A question as text. An argument keeps bytes of another encoding as half characters, which would be dropped later.

    Raises:
        InvalidInputError: it is no UTF-8.
    """
    try:
        return (question.encode("utf-8", "surrogateescape") if isinstance(question, str) else question).decode(
            "utf-8-sig"
        )
    except UnicodeError:
        raise InvalidInputError("The question is not UTF-8 text.", recovery="Write it in UTF-8.") from None


def read_searches(path: Path) -> tuple[GivenSearch, ...]:
    """The search lines of a JSONL file, each an object with `source` and `query`; empty lines are passed over.

    Raises:
        InvalidInputError: the file or a line can't be read; the message names the line.
    """
    from pydantic import ValidationError

    from literature_agent.outputs import GivenSearch

    try:
        # Not `splitlines`, which also parts lines at characters that may stand inside a JSON text.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as broken:
        raise InvalidInputError(
            f"The searches file {str(path)!r} can't be read: {reason_of(broken)}.", recovery="Name a text file."
        ) from None
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(GivenSearch.model_validate_json(line))
        except (ValueError, ValidationError):
            raise InvalidInputError(
                f"Line {number} of {str(path)!r} is no search.",
                recovery=_SEARCH_LINE,
            ) from None
    if not found:
        raise InvalidInputError(f"The searches file {str(path)!r} holds no search.", recovery=_SEARCH_LINE)
    return tuple(found)
