"""Whole answers for people: terminal text, Markdown, JSON."""

from __future__ import annotations

import json
import re

import pytest
from inline_snapshot import snapshot

from literature_agent.artifacts import ClinicalTrial, PubMedArticle
from literature_agent.outputs import (
    ExcludedWork,
    IntegrityReport,
    KeyTheme,
    LiteratureAggregationOutput,
    OutputStatus,
)
from literature_agent.registry import ArtifactRegistry
from literature_agent.render import answer_document, render_answer_markdown, render_answer_text

from .conftest import article, held


def test_the_text_of_an_answer(output: LiteratureAggregationOutput) -> None:
    assert render_answer_text(output) == snapshot("""\
Does it work?
=============

Status: PARTIAL. The run ended early or a source failed: see Limits.
3 articles listed; 2 studies read whole (abstract or full text); 3 searches in 2
  sources; 1.2 s.
Model: extractive. Run: run-1.
All 4 papers listed are SYNTHETIC: made up for testing, no evidence of anything.

Summary
-------

It works [1]. Others agree [2], [1].

Not in all.

Articles
--------

[1] Lindqvist ÅM, Nair PR. Synthetic finding number 2. [RETRACTED] Synthetic
    Journal of Tests. 2021;48(3):201-12. doi:10.5555/synthetic.2 PMID: 90000002
    Study type: Randomized Controlled Trial
    Why: Retracted since.
    Quote (abstract): “Finding 2 stands here.”

[2] Lindqvist ÅM, Nair PR. Synthetic finding number 1. Synthetic Journal of
    Tests. 2021;48(3):201-12. doi:10.5555/synthetic.1 PMID: 90000001
    Study type: Randomized Controlled Trial
    Why: The largest trial.

[3] Lindqvist ÅM, Nair PR. Synthetic finding number 4. Synthetic Journal of
    Tests. 2021;48(3):201-12. doi:10.5555/synthetic.4 PMID: 90000004
    Study type: Randomized Controlled Trial

[4] Lindqvist ÅM, Nair PR. Synthetic finding number 3.
    [PREPRINT - Not peer-reviewed] medRxiv. 2021;48(3):201-12.
    doi:10.5555/synthetic.3 PMID: 90000003
    Study type: Randomized Controlled Trial
    Why: Adds nothing new.

Themes
------

- Effect
  Seen in one trial [2].
  Articles: [2] [3]

Research gaps
-------------

- Nothing on children.
  Basis: a search found nothing
  Search s2: pubmed: it AND children

- Long-term effect.
  Basis: stated by authors [1]
  Quote (abstract): “Finding 2 stands here.”

Coverage
--------

source     asked  answered  empty  failed  cut short
pubmed         2         2      1       0          0
europepmc      1         0      0       1          0

Searches
--------

s1 pubmed: it AND works
   ok; 153 found; 10 taken; 10 new

s2 pubmed: it AND children
   empty; 0 found; 0 taken; 0 new; given by the caller

s3 europepmc: it AND works
   failed (europepmc_timeout); unknown total; 0 taken; 0 new
   Filters: date_from=2015

Limits
------

- europepmc failed: no answer.
- [1] has been retracted.
""")


def test_the_markdown_of_an_answer(output: LiteratureAggregationOutput) -> None:
    assert render_answer_markdown(output) == snapshot("""\
# Does it work?

Status: PARTIAL. The run ended early or a source failed: see Limits.  \n\
3 articles listed; 2 studies read whole (abstract or full text); 3 searches in 2 sources; 1.2 s.  \n\
Model: extractive. Run: run-1.  \n\
All 4 papers listed are SYNTHETIC: made up for testing, no evidence of anything.

## Summary

It works [1]. Others agree [2], [1].

Not in all.

## Articles

- **[1]** Lindqvist ÅM, Nair PR. Synthetic finding number 2. [RETRACTED] Synthetic Journal of Tests. 2021;48(3):201-12. [doi:10.5555/synthetic.2](<https://doi.org/10.5555/synthetic.2>) [PMID: 90000002](<https://pubmed.ncbi.nlm.nih.gov/90000002/>)  \n\
  Study type: Randomized Controlled Trial  \n\
  Why: Retracted since.  \n\
  Quote (abstract): “Finding 2 stands here.”

- **[2]** Lindqvist ÅM, Nair PR. Synthetic finding number 1. Synthetic Journal of Tests. 2021;48(3):201-12. [doi:10.5555/synthetic.1](<https://doi.org/10.5555/synthetic.1>) [PMID: 90000001](<https://pubmed.ncbi.nlm.nih.gov/90000001/>)  \n\
  Study type: Randomized Controlled Trial  \n\
  Why: The largest trial.

- **[3]** Lindqvist ÅM, Nair PR. Synthetic finding number 4. Synthetic Journal of Tests. 2021;48(3):201-12. [doi:10.5555/synthetic.4](<https://doi.org/10.5555/synthetic.4>) [PMID: 90000004](<https://pubmed.ncbi.nlm.nih.gov/90000004/>)  \n\
  Study type: Randomized Controlled Trial

- **[4]** Lindqvist ÅM, Nair PR. Synthetic finding number 3. [PREPRINT - Not peer-reviewed] medRxiv. 2021;48(3):201-12. [doi:10.5555/synthetic.3](<https://doi.org/10.5555/synthetic.3>) [PMID: 90000003](<https://pubmed.ncbi.nlm.nih.gov/90000003/>)  \n\
  Study type: Randomized Controlled Trial  \n\
  Why: Adds nothing new.

## Themes

- Effect  \n\
  Seen in one trial [2].  \n\
  Articles: [2] [3]

## Research gaps

- Nothing on children.  \n\
  Basis: a search found nothing  \n\
  Search s2: pubmed: it AND children

- Long-term effect.  \n\
  Basis: stated by authors [1]  \n\
  Quote (abstract): “Finding 2 stands here.”

## Coverage

| source | asked | answered | empty | failed | cut short |
| --- | ---: | ---: | ---: | ---: | ---: |
| pubmed | 2 | 2 | 1 | 0 | 0 |
| europepmc | 1 | 0 | 0 | 1 | 0 |

## Searches

- **s1** pubmed: it AND works  \n\
  ok; 153 found; 10 taken; 10 new

- **s2** pubmed: it AND children  \n\
  empty; 0 found; 0 taken; 0 new; given by the caller

- **s3** europepmc: it AND works  \n\
  failed (europepmc\\_timeout); unknown total; 0 taken; 0 new  \n\
  Filters: date\\_from=2015

## Limits

- europepmc failed: no answer.
- [1] has been retracted.
""")  # noqa: E501  # each entry is one line


def test_text_fits_its_width_and_breaks_no_mark_or_identifier(output: LiteratureAggregationOutput) -> None:
    for width in (60, 80):
        text = render_answer_text(output, width=width)
        assert max(map(len, text.splitlines())) <= width
        for whole in ("[PREPRINT - Not peer-reviewed]", "PMID: 90000003", "doi:10.5555/synthetic.3"):
            assert whole in text


def test_every_marker_of_an_answer_has_one_article_and_the_reverse(output: LiteratureAggregationOutput) -> None:
    """K082."""
    for text in (render_answer_text(output), render_answer_markdown(output)):
        markers = {int(number) for number in re.findall(r"\[(\d+)\]", text)}
        entries = [int(n) for n in re.findall(r"^(?:- \*\*)?\[(\d+)\](?:\*\*)? Lindqvist", text, re.M)]
        assert entries == [1, 2, 3, 4]
        assert markers == set(entries)


def test_the_same_answer_is_always_printed_the_same(output: LiteratureAggregationOutput) -> None:
    assert render_answer_text(output) == render_answer_text(output)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("complete", "every source asked answered"),
        ("partial", "ended early or a source failed"),
        ("no_evidence", "nothing was found"),
        ("failed", "No source answered: this says nothing about the evidence"),
    ],
)
def test_the_four_endings_are_told_apart(output: LiteratureAggregationOutput, status: OutputStatus, said: str) -> None:
    """K095: nothing found, failed and cut short are different things."""
    ended = output.model_copy(update={"status": status}).attach(ArtifactRegistry())
    assert said in render_answer_text(ended, width=200)
    assert said in render_answer_markdown(ended)


def test_an_answer_without_evidence_lists_no_article() -> None:
    """K079."""
    bare = LiteratureAggregationOutput.model_validate(
        {
            "run_id": "r",
            "question": "Anything?",
            "summary": "No evidence was found.",
            "status": "no_evidence",
            "model": "extractive",
            "started_at": "2026-03-02T09:30:00Z",
            "duration_s": 0.5,
        }
    )
    text = render_answer_text(bare)
    assert "Articles" not in text
    assert "SYNTHETIC" not in text
    assert "0 articles listed" in text


def test_it_is_said_how_many_papers_are_synthetic(
    output: LiteratureAggregationOutput, registry: ArtifactRegistry
) -> None:
    assert "All 4 papers listed are SYNTHETIC" in render_answer_text(output)
    real = held(registry, article(5, pmid="12345", doi="10.1234/real", url=None))
    mixed = output.model_copy(update={"relevant_articles": (*output.relevant_articles, real)}).attach(registry)
    assert "4 of the 5 papers listed are SYNTHETIC" in render_answer_text(mixed)
    alone = output.model_copy(
        update={
            "summary": "Yes.",
            "relevant_articles": (real,),
            "key_themes": (),
            "research_gaps": (),
            "limitations": (),
        }
    ).attach(registry)
    assert "SYNTHETIC" not in render_answer_text(alone)


@pytest.mark.parametrize(
    "made_up",
    [
        PubMedArticle(pmid="90000000"),
        PubMedArticle(pmid="1", alternate_dois=("10.5555/x",)),
        ClinicalTrial(nct_id="NCT90000001"),
    ],
)
def test_synthetic_records_are_known_by_any_identifier(
    output: LiteratureAggregationOutput, registry: ArtifactRegistry, made_up: PubMedArticle
) -> None:
    alone = output.model_copy(
        update={
            "summary": f"Yes {registry.hold(made_up)}.",
            "relevant_articles": (),
            "key_themes": (),
            "research_gaps": (),
            "limitations": (),
        }
    ).attach(registry)
    assert "The one paper listed is SYNTHETIC" in render_answer_text(alone)


def test_checks_and_left_out_works_are_counted(output: LiteratureAggregationOutput) -> None:
    reference = output.relevant_articles[0].reference or ""
    checked = output.model_copy(
        update={
            "integrity": IntegrityReport(unknown_references=2, quotes_dropped=1, repair_rounds=1),
            "excluded": (
                ExcludedWork(reference=reference, reason="screened, not cited"),
                ExcludedWork(reference=reference, reason="screened, not cited"),
                ExcludedWork(reference=reference, reason="retracted"),
            ),
            "summary": "Claim «artifact:link:cite~0000000001».",
        }
    ).attach(output.registry or ArtifactRegistry())
    text = render_answer_text(checked)
    assert "- 2 unknown references cut." in text
    assert "- 1 quote dropped that stands in no text." in text
    assert "- 1 round of repair." in text
    assert "- 2 works: screened, not cited." in text
    assert "- 1 work: retracted." in text
    assert "Claim [unknown reference]." in text
    assert "- 1 reference without a record here." in text


def test_nothing_from_outside_can_control_a_terminal_or_become_markup(
    output: LiteratureAggregationOutput, registry: ArtifactRegistry
) -> None:
    evil = "\x1b[2J<img src=x onerror=y> [click](http://h) **b** \u202e"
    theme = KeyTheme(name=evil, description=evil)
    hostile = output.model_copy(
        update={
            "question": evil,
            "summary": f"# {evil}\n\n1. {evil}\n\n- {evil}",
            "key_themes": (theme,),
            "limitations": (evil,),
            "model": evil,
            "excluded": (ExcludedWork(reference="x", reason=evil),),
            "relevant_articles": (held(registry, article(6, title=evil), relevance=evil),),
        }
    ).attach(registry)
    text, page = render_answer_text(hostile), render_answer_markdown(hostile)
    for form in (text, page):
        assert all(line.isprintable() for line in form.splitlines())
    # In Markdown nothing of it is left unescaped.
    assert "<img" not in page.replace(r"\<", "")
    assert "[click](" not in page.replace(r"\[", "").replace(r"\]", "")
    assert "**b**" not in page.replace(r"\*", "")
    summary = page.split("## Summary\n\n")[1].split("\n\n")
    assert summary[0].startswith(r"\# ")
    assert summary[1].startswith(r"1\. ")
    assert summary[2].startswith(r"\- ")


def test_a_marker_cannot_be_turned_into_a_link(output: LiteratureAggregationOutput) -> None:
    reference = output.relevant_articles[0].reference
    turned = output.model_copy(update={"summary": f"{reference}(http://h) and\n\n{reference}: http://h"}).attach(
        output.registry or ArtifactRegistry()
    )
    page = render_answer_markdown(turned)
    assert r"[1]\(http://h) and" in page
    assert r"[1]\: http://h" in page


def test_the_json_document_rebuilds_output_and_registry(output: LiteratureAggregationOutput) -> None:
    document = json.loads(json.dumps(answer_document(output)))
    registry = ArtifactRegistry.from_json(json.dumps(document.pop("registry")))
    back = LiteratureAggregationOutput.model_validate(document)
    assert back == output
    assert render_answer_text(back.attach(registry)) == render_answer_text(output)
    assert len(registry) == 4


def test_the_json_document_of_an_answer_without_registry_says_so(output: LiteratureAggregationOutput) -> None:
    back = LiteratureAggregationOutput.model_validate_json(output.model_dump_json())
    assert answer_document(back)["registry"] is None
