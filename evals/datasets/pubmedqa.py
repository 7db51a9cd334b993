"""PubMedQA files (`ori_pqal.json`): PMID to question, contexts, final decision. The corpus is their abstracts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evals.datasets import CaseSet, Loaded
from evals.datasets.beir import case, titles_note, write_corpus


def load(file: Path, workspace: Path, *, hide_titles: bool = False) -> Loaded:
    """Each entry as a case whose one relevant article is its own; titles are the questions themselves."""
    entries: Mapping[str, Mapping[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(entries, dict):
        raise ValueError("expected an object of PMIDs")
    corpus = write_corpus(workspace, (_document(*entry) for entry in entries.items()), hide_titles=hide_titles)
    cases = [
        case(f"q{pmid}", str(entry["QUESTION"]), {pmid: 1}, entry.get("final_decision"))
        for pmid, entry in entries.items()
    ]
    return Loaded(CaseSet(name=file.stem, cases=cases), corpus, titles_note(hide_titles))


def _document(pmid: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    texts = [str(text) for text in entry["CONTEXTS"]]
    labels = [str(label) for label in entry.get("LABELS") or ()] + [""] * len(texts)
    sections = [{"label": label, "text": text} for label, text in zip(labels, texts, strict=False)]
    if entry.get("LONG_ANSWER"):
        sections.append({"label": "CONCLUSIONS", "text": str(entry["LONG_ANSWER"])})
    return {
        "_id": pmid,
        "title": str(entry["QUESTION"]),
        "text": " ".join(section["text"] for section in sections),
        "metadata": {"year": entry.get("YEAR"), "mesh": entry.get("MESHES") or [], "sections": sections},
    }
