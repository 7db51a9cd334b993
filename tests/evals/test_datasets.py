"""Loaders: each form of dataset gives its cases and a corpus that the sandbox can serve."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.datasets import HERE, load, read_dataset, strangers
from evals.library import library_of
from evals.upstream import TODAY
from literature_agent.errors import InvalidInputError
from literature_agent.sandbox import Corpus
from literature_agent.sandbox.messages import Request
from literature_agent.sandbox.routes import Routes

DOCUMENTS = [
    {"_id": "90000901", "title": "Does tea help sleep?", "text": "Tea was given.\u2028It helped.", "metadata": {}},
    {"_id": "doc-2", "title": "Coffee", "text": "Coffee was given."},
]


def beir(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("\n".join(json.dumps(one) for one in DOCUMENTS), encoding="utf-8")
    queries = [
        {"_id": "q1", "text": "Does tea help sleep?", "metadata": {"expert_answer": "yes"}},
        {"_id": "q2", "text": "And coffee?"},
        {"_id": "q3", "text": "Nobody judged this."},
    ]
    (folder / "queries.jsonl").write_text("\n".join(json.dumps(one) for one in queries), encoding="utf-8")
    qrels = "query-id\tcorpus-id\tscore\nq1\t90000901\t1\nq2\tdoc-2\t5\nq2\t90000901\t0\n"
    (folder / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")
    return folder


def test_beir_gives_judged_queries_and_numbers_documents_without_pmid(tmp_path: Path) -> None:
    loaded = load(str(beir(tmp_path / "tea")), tmp_path / "work")
    first, second = loaded.cases.cases
    assert (first.inputs.question, first.inputs.sources) == ("Does tea help sleep?", ("pubmed",))
    assert first.expected_output is not None
    assert second.expected_output is not None
    assert (first.expected_output.relevant, first.expected_output.answer) == ({"90000901": 1}, "yes")
    assert second.expected_output.relevant == {"96000001": 3, "90000901": 0}
    library = library_of(loaded.corpus)
    assert library.find(["96000001"]) is not None
    assert library.find(["q1"]) is None
    corpus = Corpus.from_folder(Path(loaded.corpus))
    assert set(corpus.by_pmid) == {"90000901", "96000001"}
    corpus.close()


def test_hidden_titles_are_in_no_record(tmp_path: Path) -> None:
    loaded = load(str(beir(tmp_path / "tea")), tmp_path / "work", hide_titles=True)
    assert loaded.note == "hard: titles hidden"
    assert "sleep" not in (Path(loaded.corpus) / "corpus.jsonl").read_text(encoding="utf-8")


def test_pubmedqa_entries_are_cases_over_their_own_abstracts(tmp_path: Path) -> None:
    entry = {
        "QUESTION": "Does tea help sleep?",
        "CONTEXTS": ["Tea was given."],
        "LABELS": ["METHODS"],
        "LONG_ANSWER": "It helped.",
        "MESHES": ["Tea"],
        "YEAR": "2019",
        "final_decision": "yes",
    }
    file = tmp_path / "ori_pqal.json"
    file.write_text(json.dumps({"90000901": entry}), encoding="utf-8")
    loaded = load(str(file), tmp_path / "work")
    [case] = loaded.cases.cases
    assert case.expected_output is not None
    assert (case.name, case.expected_output.answer) == ("q90000901", "yes")
    work = library_of(loaded.corpus).find(["90000901"])
    assert work is not None
    assert any("It helped." in text for text in work.texts)


@pytest.mark.parametrize(
    ("name", "topics"),
    [
        ("topics.xml", '<topics><topic number="1"><disease>Tea</disease><gene>sleep</gene></topic></topics>'),
        ("topics.tsv", "1\tTea sleep\n"),
        ("topics.txt", "<top>\n<num> Number: 1\n<title> Topic: tea\n<desc> Description: Tea sleep\n</top>"),
    ],
)
def test_trec_topics_of_each_form_are_asked_over_the_xml(tmp_path: Path, name: str, topics: str) -> None:
    (tmp_path / name).write_text(topics, encoding="utf-8")
    (tmp_path / "qrels.txt").write_text("1 0 90000901 2\n1 0 90000902 0\n2 0 90000901 1\n", encoding="utf-8")
    [case] = load(str(tmp_path), tmp_path / "work").cases.cases
    assert (case.name, case.inputs.question) == ("1", "Tea sleep")
    assert case.expected_output is not None
    assert case.expected_output.relevant == {"90000901": 2, "90000902": 0}


def test_litqa_lines_name_their_papers_by_doi_or_address(tmp_path: Path) -> None:
    file = tmp_path / "litqa.jsonl"
    lines = [
        {"id": "one", "question": "Which?", "ideal": "this", "sources": ["https://doi.org/10.5555/Synthetic.90000101"]},
        {"question": "And?", "sources": "90000102"},
    ]
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    loaded = load(str(file), tmp_path / "work")
    named = {case.name: [*case.expected_output.relevant] for case in loaded.cases.cases if case.expected_output}
    assert named == {"one": ["10.5555/synthetic.90000101"], "line-2": ["90000102"]}
    assert loaded.corpus == "packaged"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            "a.yaml",
            "name: a\ncases: [{inputs: {question: q, sorces: [pubmed]}}]",
            r"dataset: cases\.0\.inputs\.sorces: nothing of that name is known\.",
        ),
        ("b.yaml", "cases:\n  - inputs: {question: Does it?, sources: [pubmed]}", "it is no YAML in line 2: expected"),
        ("b.json", '["no object"]', "can't be read as a dataset"),
        ("c.json", "[" * 100_000, "can't be read as a dataset"),
        ("c.txt", "words", "no known form"),
        ("d.jsonl", "", "holds no case"),
        ("e.jsonl", '{"question": "Does it?", "relevant": ["90000101"]}', "line 1 names no papers"),
    ],
)
def test_a_broken_dataset_is_refused_in_a_sentence(tmp_path: Path, name: str, content: str, told: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=told):
        load(str(tmp_path / name), tmp_path / "work")


def test_relevant_papers_that_the_corpus_does_not_hold_are_told(tmp_path: Path) -> None:
    """Judged by real PMIDs, the packaged corpus gives a recall of zero that says nothing."""
    file = tmp_path / "mine.yaml"
    wanted = '{relevant: {"90000101": 3, "1": 3, "2": 0, "10.5555/none": 1}, same: [["90000102", "10.5555/none"]]}'
    file.write_text(f"cases: [{{name: a, inputs: {{question: q}}, expected_output: {wanted}}}]", encoding="utf-8")
    assert strangers(load(str(file), tmp_path / "work")) == ["1"]


def test_every_identifier_of_topics_is_in_the_packaged_corpus() -> None:
    library = library_of("packaged")
    for case in read_dataset(HERE / "topics.yaml").cases:
        expected, about = case.expected_output, case.metadata
        assert expected is not None
        assert about is not None
        named = [*expected.relevant, *(name for trap in about.traps for name in trap.records)]
        missing = [name for name in named if library.find([name]) is None]
        assert missing == [], case.name


def test_the_sandbox_ands_untagged_words(shared_dir: Path, tmp_path: Path) -> None:
    """A question pasted whole as a query finds about a quarter of what it asks for; ORed it would find nearly all."""
    loaded = load(str(shared_dir / "corpora" / "pubmedqa-dev"), tmp_path / "work", hide_titles=True)
    corpus = Corpus.from_folder(Path(loaded.corpus))
    routes = Routes(corpus, base_url="http://127.0.0.1:9", today=lambda: TODAY)

    def found(term: str, wanted: str) -> bool:
        form = {"db": "pubmed", "term": term, "retmode": "json", "retmax": "10"}
        asked = Request("GET", "/entrez/eutils/esearch.fcgi", {name: (value,) for name, value in form.items()})
        return wanted in json.loads(routes.reply(asked).body)["esearchresult"]["idlist"]

    cases = loaded.cases.cases[::5]
    pasted = [found(case.inputs.question.rstrip("?"), case.name.removeprefix("q")) for case in cases if case.name]
    corpus.close()
    assert 0.1 < sum(pasted) / len(pasted) < 0.45
