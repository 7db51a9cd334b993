"""Text that JSON can spell and nothing can write: lone surrogates and NUL, in every string of every JSON payload."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evals.readers import READERS, read
from literature_agent.transport.messages import Answer

PAYLOADS = Path(__file__).resolve().parent.parent / "payloads"
STARTS = {
    "biorxiv": ("biorxiv",),
    "clinicaltrials": ("trial",),
    "europepmc": ("europepmc search", "europepmc article"),
    "pmc": ("id converter", "elink"),
    "pubmed": ("esearch", "mesh"),
}


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in members:
        yield from _places(part, (*path, name))
    if path and not isinstance(value, dict | list):
        yield path


@pytest.mark.parametrize("source", sorted(STARTS))
@pytest.mark.parametrize("unwritable", ["\ud800", "\x00"])
def test_records_with_unwritable_text_are_cleaned_or_refused(source: str, unwritable: str) -> None:
    readers = [name for name in READERS if name.startswith(STARTS[source])]
    tried = 0
    for path in sorted((PAYLOADS / source).glob("*.json")):
        try:
            document = json.loads(path.read_bytes(), strict=False)
        except ValueError:
            continue
        for place in list(_places(document)):
            holder = document
            for step in place[:-1]:
                holder = holder[step]
            before = holder[place[-1]]
            holder[place[-1]] = f"{before}{unwritable}"
            for name in readers:
                read(name, Answer(200, json.dumps(document).encode(), "application/json"))
                tried += 1
            holder[place[-1]] = before
    assert tried > 10
