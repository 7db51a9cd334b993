"""Identifiers in the question are resolved by code and reach the model as references."""

from __future__ import annotations

import pytest

from literature_agent import LiteratureAggregationOutput, LiteratureAggregator, Settings, fetch, search
from literature_agent.agents.citations import pasted_citations
from literature_agent.agents.plan import plan_question
from literature_agent.artifacts import DetailedArticle, PubMedArticle
from literature_agent.sandbox import SandboxServer
from literature_agent.testing import Calls, Seen, scripted_model, submit


async def ask(settings: Settings, question: str) -> tuple[LiteratureAggregationOutput, str]:
    heard: list[str] = []

    def answer(seen: Seen) -> Calls:
        heard.append(seen.texts[0])
        if not seen.references:
            return submit("Nothing.")
        return submit(f"It is shown {seen.references[0]}.", [seen.references[0]])

    def search(seen: Seen) -> Calls:
        return [("search_pubmed", {"query": "metformin"})]

    model = scripted_model(search, answer)
    return await LiteratureAggregator(model, settings=settings).run(question), heard[0]


@pytest.mark.parametrize(
    "named", ["PMID 90000101", "doi:10.5555/synthetic.90000101", "https://pubmed.ncbi.nlm.nih.gov/90000101/"]
)
async def test_an_identifier_becomes_a_reference_with_its_record(settings: Settings, named: str) -> None:
    output, heard = await ask(settings, f"What does {named} say about cognition?")
    assert "90000101" not in heard
    assert "What does «artifact:link:cite~" in heard
    assert "Abstract (whole):" in heard
    assert getattr(output.relevant_articles[0], "pmid", None) == "90000101"
    assert output.question == f"What does {named} say about cognition?"
    assert output.articles_analyzed == 1


async def test_a_question_may_end_with_its_doi(settings: Settings) -> None:
    output, heard = await ask(settings, "What is shown in 10.5555/synthetic.90000101?")
    assert "What is shown in «artifact:link:cite~" in heard
    assert output.articles_analyzed == 1


async def test_what_can_not_be_resolved_is_named_in_limitations(settings: Settings) -> None:
    output, heard = await ask(settings, "Is PMID 12345678 about metformin?")
    assert "12345678" not in heard
    assert any("12345678 in the question was not resolved" in sentence for sentence in output.limitations)


@pytest.mark.parametrize(
    "question",
    [
        "PMID: 12345678",
        "10.5555/nowhere.1?",
        "What about PMID 99999999?",
        "Please summarise the findings of PMC9999999 and NCT99999999.",
        "Who is the author of PMID 99999999?",
    ],
)
async def test_a_question_that_only_names_what_nobody_has_is_answered_with_no_evidence(
    settings: Settings, sandbox: SandboxServer, question: str
) -> None:
    """Promise 4: that a source has no such record is an answer of it, no failure."""
    aggregator = LiteratureAggregator("extractive", settings=settings)
    output = await aggregator.run(question)
    assert (output.status, output.search_log) == ("no_evidence", ())
    assert output.summary.endswith("No search was made.")
    assert any("was not resolved: no source that was asked has it" in sentence for sentence in output.limitations)
    sandbox.faults.set("all", "server_error")
    assert (await aggregator.run(question)).status == "failed"


async def test_a_failing_source_at_the_door_is_said(settings: Settings, sandbox: SandboxServer) -> None:
    sandbox.faults.set("eutils", "server_error")
    output, _ = await ask(settings, "What does PMID 90000101 say?")
    assert any("90000101" in sentence and "failed" in sentence for sentence in output.limitations)


async def test_a_question_without_identifiers_is_passed_on_unchanged(settings: Settings) -> None:
    _, heard = await ask(settings, "Does metformin help in type 2 diabetes (HbA1c > 7.5%)?")
    assert "Does metformin help in type 2 diabetes (HbA1c > 7.5%)?" in heard
    assert "Already done" not in heard


PASTED = """Which of these show that metformin slows decline?

1. {right}
2. {wrong}
3. Stranger Q, Nobody P. A paper that was never written about zebrafish. J Synth Med. 2019;12(3):45-67.
"""


async def test_a_pasted_reference_list_is_checked_before_the_model_is_asked(
    settings: Settings, sandbox: SandboxServer
) -> None:
    """K080, K081: matched, miscited with the field that differs, unknown; never by title alone."""
    (paper,) = (await search("pubmed", "90000101[pmid]", settings=settings)).artifacts
    assert isinstance(paper, PubMedArticle)
    (paper,) = (await fetch("pubmed", [paper.pmid], settings=settings)).artifacts
    assert isinstance(paper, DetailedArticle)
    locator = f"{paper.volume}({paper.issue}):{paper.pages}"
    right = f"{paper.first_author}. {paper.title} {paper.journal}. {paper.year};{locator}."
    wrong = f"{paper.first_author}. {paper.title} {paper.journal}. {paper.year - 9 if paper.year else 0};{locator}."
    question = PASTED.format(right=right, wrong=wrong)
    assert len(pasted_citations(question)) == 3
    output, heard = await ask(settings, question)
    assert "Citations | 3 checked" in heard
    assert "Citation 1: matched: «artifact:link:cite~" in heard
    assert "Citation 2: miscited: «artifact:link:cite~" in heard
    assert "Citation 3: unknown" in heard
    asked = heard[: heard.index("</question>")]
    assert "\n[citation 1] «artifact:link:cite~" in asked
    assert str(paper.journal) not in asked
    assert "3. Stranger Q" in asked
    assert "Citation 2 in the question is miscited; the record differs in: year." in output.limitations
    assert any(sentence.startswith("Citation 3 in the question is unknown") for sentence in output.limitations)
    assert output.status == "complete"


@pytest.mark.parametrize(
    "line",
    [
        "Does a ratio of 10:20 in the year 2020 matter?",
        "In 2020 we gave 500 mg twice a day to 1200 people; was that too much for older adults with diabetes?",
        "Does metformin slow cognitive decline in older adults with type 2 diabetes?",
    ],
)
def test_a_question_is_no_citation(line: str) -> None:
    assert pasted_citations(line) == []


def test_a_pasted_citation_gives_no_search_words() -> None:
    citation = "Stranger Q, Nobody P. A paper about zebrafish. J Synth Med. 2019;12(3):45-67."
    assert plan_question(f"Does metformin slow cognitive decline?\n1. {citation}") == plan_question(
        "Does metformin slow cognitive decline?"
    )
