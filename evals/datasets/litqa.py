"""LitQA-like files: JSON lines of a question and the papers that answer it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pydantic_evals import Case

from evals.cases import About, Ask, Expected
from evals.datasets import CaseSet, Loaded

_DOI = re.compile(r"10\.\d{4,9}/[^\s?#]+")


def load(file: Path) -> Loaded:
    """Each line as a case: `question`, `sources` or `doi` (DOIs, their addresses, or PMIDs), `ideal` as a note.

    The corpus is a folder `corpus` beside the file, else the packaged one.
    """
    cases: list[Case[Ask, Expected, About]] = []
    for place, text in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        if not text.strip():
            continue
        line = json.loads(text)
        if not {"sources", "doi", "dois"} & set(line):
            raise ValueError(f"line {place} names no papers: give their DOIs or PMIDs in `sources`")
        given = line.get("sources") or line.get("doi") or line.get("dois") or []
        named = [str(one) for one in (given if isinstance(given, list) else [given])]
        found = [match[0] if (match := _DOI.search(one)) else one.removeprefix("pmid:") for one in named]
        cases.append(
            Case(
                name=str(line.get("id") or f"line-{place}"),
                inputs=Ask(question=str(line["question"])),
                expected_output=Expected.model_validate({"relevant": found}),
                metadata=About(note=f"ideal: {line['ideal']}" if line.get("ideal") else ""),
            )
        )
    beside = file.parent / "corpus"
    return Loaded(CaseSet(name=file.stem, cases=cases), str(beside) if beside.is_dir() else "packaged")
