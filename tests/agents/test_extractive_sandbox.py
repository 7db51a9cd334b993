"""The model `extractive` through the whole house: real tools and real HTTP over the sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from literature_agent import LiteratureAggregationOutput, LiteratureAggregator, Settings
from literature_agent.integrity.sentences import sentence_spans
from literature_agent.outputs import IntegrityReport
from literature_agent.sandbox import Corpus, SandboxServer

QUESTIONS = [
    "Does metformin slow cognitive decline in older adults with type 2 diabetes?",
    "Do GLP-1 receptor agonists help in heart failure with preserved ejection fraction?",
    "Does prehabilitation help frail people before colorectal cancer surgery?",
    "What relieves fatigue in long COVID?",
]


async def answer(question: str, settings: Settings) -> LiteratureAggregationOutput:
    return await LiteratureAggregator("extractive", settings=settings).run(question, sources=["pubmed", "europepmc"])


@pytest.mark.parametrize("question", QUESTIONS)
async def test_the_answer_passes_every_check_without_repair(question: str, settings: Settings) -> None:
    output = await answer(question, settings)
    assert output.status == "complete"
    assert output.model == "extractive"
    assert output.integrity == IntegrityReport()
    assert len(output.relevant_articles) >= 5
    assert output.key_themes
    assert output.research_gaps
    assert output.usage.cost_usd == 0
    assert any("language model" in sentence for sentence in output.limitations)


@pytest.mark.parametrize("question", QUESTIONS)
async def test_what_was_retracted_or_is_under_concern_is_never_relied_on(question: str, settings: Settings) -> None:
    output = await answer(question, settings)
    assert all(not article.is_notice for article in output.relevant_articles)
    doubtful = {a.reference: a for a in output.relevant_articles if a.correction_status in ("retracted", "concern")}
    assert all("supports nothing" in str(article.relevance) and not article.quotes for article in doubtful.values())
    listed = [article.reference for article in output.relevant_articles]
    assert listed[len(listed) - len(doubtful) :] == [*doubtful]
    registry = output.registry
    assert registry is not None
    for sentence in (output.summary[start:end] for start, end in sentence_spans(output.summary)):
        for resolved in registry.resolve(sentence):
            assert resolved.artifact is not None
            relied_on = resolved.artifact.correction_status not in ("retracted", "concern")
            assert relied_on or "supports nothing here" in sentence
    themes = {reference for theme in output.key_themes for reference in theme.references}
    assert not themes & doubtful.keys()


async def test_nothing_found_is_no_evidence(settings: Settings) -> None:
    """K079."""
    output = await answer("Do xylophones hypnotise quasars?", settings)
    assert output.status == "no_evidence"
    assert output.relevant_articles == ()


async def test_a_source_that_is_down_leaves_the_answer_to_the_other(sandbox: SandboxServer, settings: Settings) -> None:
    """K092, K095."""
    sandbox.faults.set("eutils", "server_error")
    output = await answer(QUESTIONS[0], settings)
    assert output.status == "partial"
    assert output.relevant_articles
    failed = [line for line in output.search_log if line.status == "failed"]
    assert [line.source for line in failed] == ["pubmed"]


@pytest.mark.parametrize(("hidden", "least"), [(False, 0.99), (True, 0.95)], ids=["easy", "hard"])
async def test_the_paper_behind_a_question_is_found(
    hidden: bool, least: float, shared_dir: Path, settings: Settings, tmp_path: Path
) -> None:
    """Known-item search by queries that come from the question; in the hard case the title is hidden."""
    source = folder = shared_dir / "corpora" / "pubmedqa-dev"
    if hidden:
        folder = tmp_path / "titles_hidden"
        folder.mkdir()
        without = [json.dumps({**paper, "title": ""}) for paper in json_lines(source / "corpus.jsonl")]
        (folder / "corpus.jsonl").write_text("\n".join(without), encoding="utf-8")
    asked = json_lines(source / "queries.jsonl")[::40]
    found = 0
    with SandboxServer(Corpus.from_folder(folder)) as server:
        here = settings.model_copy(update=server.settings_overrides())
        for query in asked:
            output = await LiteratureAggregator("extractive", settings=here).run(query["text"], sources=["pubmed"])
            listed = [getattr(article, "pmid", None) for article in output.relevant_articles[:10]]
            found += query["_id"].removeprefix("q") in listed
    assert found >= least * len(asked)


def json_lines(path: Path) -> list[dict[str, Any]]:
    # Not `splitlines`: a line separator inside a text ends no line of JSON.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.parametrize(
    "question",
    [
        "PMID 90000101",
        "10.5555/synthetic.90000101",
        "Summarise PMC90000101.",
        "Is this citation real: Lindqvist ÅM et al. Metformin to slow cognitive decline. "
        "Synthetic Journal of Geriatric Medicine 2021;48:201-212",
    ],
)
async def test_a_question_that_only_names_a_work_is_answered_on_its_subject(question: str, settings: Settings) -> None:
    output = await answer(question, settings)
    assert getattr(output.relevant_articles[0], "pmid", None) == "90000101"
    queries = [line.query for line in output.search_log]
    assert queries
    assert all("metform" in query.lower() for query in queries)
