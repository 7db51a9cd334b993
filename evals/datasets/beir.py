"""BEIR folders: `corpus.jsonl`, `queries.jsonl`, `qrels/*.tsv`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from pydantic_evals import Case

from evals.cases import About, Ask, Expected, ExpertAnswer
from evals.datasets import CaseSet, Loaded

# Documents that are no PubMed records get a number of the range kept for invented ones.
_FIRST_NUMBER = 96_000_000
_HIGHEST_GRADE = 3
_ANSWERS = ("yes", "no", "maybe")


def load(folder: Path, workspace: Path, *, hide_titles: bool = False) -> Loaded:
    """The judged queries as cases, asked of PubMed; the corpus rewritten, each document with a PMID.

    `expert_answer` in a query's metadata is what experts answer. Grades above 3 count as 3.
    """
    documents = list(_lines(folder / "corpus.jsonl"))
    numbers = {str(document["_id"]): _number(document, place) for place, document in enumerate(documents)}
    corpus = write_corpus(
        workspace, ({**line, "_id": numbers[str(line["_id"])]} for line in documents), hide_titles=hide_titles
    )
    judged: dict[str, dict[str, int]] = {}
    for file in sorted((folder / "qrels").glob("*.tsv")):
        for line in file.read_text(encoding="utf-8").splitlines():
            query, document, grade, *_ = (*line.split("\t"), "", "")
            if grade.strip().lstrip("-").isdecimal() and document in numbers:
                judged.setdefault(query, {})[numbers[document]] = min(_HIGHEST_GRADE, max(0, int(grade)))
    cases = [
        case(str(query["_id"]), str(query["text"]), judged[str(query["_id"])], _answer(query))
        for query in _lines(folder / "queries.jsonl")
        if judged.get(str(query["_id"]))
    ]
    return Loaded(CaseSet(name=folder.name, cases=cases), corpus, titles_note(hide_titles))


def case(
    name: str, question: str, relevant: dict[str, int], answer: str | None, subject: str = ""
) -> Case[Ask, Expected, About]:
    """A case over PubMed records alone: PubMed is the one source that has anything."""
    return Case(
        name=name,
        inputs=Ask(question=question, sources=("pubmed",)),
        expected_output=Expected(relevant=relevant, answer=cast(ExpertAnswer, answer) if answer in _ANSWERS else None),
        metadata=About(subject=subject),
    )


def titles_note(hide_titles: bool) -> str:
    """What is said of the corpus in reports."""
    return "hard: titles hidden" if hide_titles else "easy: titles shown"


def write_corpus(workspace: Path, documents: Iterable[dict[str, Any]], *, hide_titles: bool) -> str:
    """A folder with the documents as a BEIR corpus, without titles where they are to be hidden."""
    folder = workspace / "corpus"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for document in documents:
            file.write(json.dumps({**document, **({"title": ""} if hide_titles else {})}, ensure_ascii=False) + "\n")
    return str(folder)


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text(encoding="utf-8").split("\n"):
        if line.strip():
            yield json.loads(line)


def _number(document: dict[str, Any], place: int) -> str:
    details = document.get("metadata") or {}
    for candidate in (details.get("pmid"), details.get("pubmed_id"), document["_id"]):
        text = str(candidate or "")
        if text.isascii() and text.isdecimal() and len(text) <= 8:
            return str(int(text))
    return str(_FIRST_NUMBER + place)


def _answer(query: dict[str, Any]) -> str | None:
    answer = (query.get("metadata") or {}).get("expert_answer")
    return str(answer) if answer else None
