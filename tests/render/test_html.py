"""The report: one file that needs nothing else and in which text stays text."""

from __future__ import annotations

import base64
import itertools
import json
import re
from hashlib import sha256
from typing import Any

import pytest
from lxml import html

from literature_agent.artifacts import AbstractSection, ClinicalTrial, Notice, Provenance, PubMedArticle, Quote
from literature_agent.ledger import FoundBy
from literature_agent.outputs import (
    ExcludedWork,
    IntegrityReport,
    KeyTheme,
    LiteratureAggregationOutput,
    OutputStatus,
    ResearchGap,
    RunUsage,
)
from literature_agent.registry import ArtifactRegistry
from literature_agent.render import (
    render_answer_html,
    render_answer_markdown,
    render_answer_text,
    render_notebook_html,
)
from literature_agent.render.html.charts import Chart, chart_of_overlap, chart_of_themes, chart_of_years

from .conftest import STARTED, article, held

NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp; </style><!-- ]]> {{ 7*7 }} \x1b[31m\u202e"


def _page(output: LiteratureAggregationOutput) -> html.HtmlElement:
    return html.document_fromstring(render_answer_html(output))


def _text(element: html.HtmlElement) -> str:
    """Its words, with a blank between elements but none before a full stop or comma."""
    return re.sub(r" (?=[.,])", "", " ".join(" ".join(map(str, element.itertext())).split()))


def _one(page: html.HtmlElement, selector: str) -> html.HtmlElement:
    (found,) = page.xpath(selector)
    assert isinstance(found, html.HtmlElement)
    return found


def _card(page: html.HtmlElement, number: int) -> html.HtmlElement:
    return _one(page, f"//article[@id='a{number}']")


def _data(page: html.HtmlElement) -> dict[str, Any]:
    data = json.loads(_one(page, "//script[@id='data']").text_content())
    assert isinstance(data, dict)
    return data


# One file


def test_the_file_needs_nothing_else(output: LiteratureAggregationOutput) -> None:
    page = _page(output)
    assert page.xpath("//@src | //@srcset | //@action | //@background | //@poster") == []
    assert [link.get("href") for link in page.xpath("//link")] == ["data:,"]
    assert (
        page.xpath("//iframe | //object | //embed | //base | //*[local-name()='use'] | //*[local-name()='image']") == []
    )
    style = _one(page, "//style").text_content()
    assert not re.search(r"@import|url\(|expression", style)
    for link in page.xpath("//a"):
        href = link.get("href")
        if not href.startswith("#"):
            assert re.match(r"https?://", href)
            assert link.get("rel") == "noopener noreferrer"


def test_its_policy_admits_its_own_style_and_script_and_nothing_else(output: LiteratureAggregationOutput) -> None:
    page = _page(output)
    policy = _one(page, "//meta[@http-equiv='Content-Security-Policy']").get("content") or ""
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    (script,) = (script for script in page.xpath("//script") if not script.get("type"))
    for name, element in (("style-src", _one(page, "//style")), ("script-src", script)):
        digest = base64.b64encode(sha256(element.text_content().encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    # What the policy would refuse is not there.
    assert page.xpath("//@style") == []
    assert [name for element in page.iter() for name in element.keys() if name.startswith("on")] == []  # noqa: SIM118


def test_every_link_within_the_page_leads_somewhere(output: LiteratureAggregationOutput) -> None:
    page = _page(output)
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))
    inner = [href.removeprefix("#") for href in page.xpath("//a/@href") if href.startswith("#")]
    assert len(inner) > 10
    assert set(inner) <= set(ids)
    named = " ".join(page.xpath("//@aria-labelledby | //@aria-describedby")).split()
    assert set(named) <= set(ids)


def test_headings_tables_and_drawings_are_fit_for_a_screen_reader(output: LiteratureAggregationOutput) -> None:
    page = _page(output)
    assert page.get("lang") == "en"
    levels = [int(heading.tag[1]) for heading in page.xpath("//h1 | //h2 | //h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    for table in page.xpath("//table"):
        assert table.xpath("caption")
        assert {header.get("scope") for header in table.xpath(".//th")} <= {"col", "row"}
    for drawing in page.xpath("//*[local-name()='svg']"):
        assert drawing.get("role") == "img"
        assert [child.tag for child in drawing[:2]] == ["title", "desc"]


# What it says


def test_question_status_limits_and_banners_stand_on_top(output: LiteratureAggregationOutput) -> None:
    page = _page(output)
    assert _text(_one(page, "//h1")) == "Does it work?"
    top = _text(_one(page, "//header"))
    assert "Partial The run ended early or a source failed: see Limits." in top
    assert "All 4 papers listed are SYNTHETIC" in top
    assert "Not medical advice." in top
    assert _text(_one(page, "//main/section[1]")) == (
        "Limits of this answer europepmc failed: no answer. [1] has been retracted."
    )


def test_works_have_the_numbers_of_the_text(output: LiteratureAggregationOutput) -> None:
    page = _page(output)
    assert _text(_one(page, "//section[@id='summary']")) == "Summary It works [1]. Others agree [2], [1]. Not in all."
    text = render_answer_text(output)
    for number in range(1, 5):
        title = _text(_one(_card(page, number), ".//h3")).removeprefix(f"Article {number}: ")
        assert re.search(rf"\[{number}\] .*{re.escape(title)}", text)
    assert [link.get("href") for link in page.xpath("//section[@id='summary']//a")] == ["#a1", "#a2", "#a1"]


def test_a_card_says_what_the_record_says(output: LiteratureAggregationOutput) -> None:
    first = _text(_card(_page(output), 1))
    for fact in (
        "Synthetic finding number 2.",
        "Lindqvist ÅM, Nair PR",
        "Synthetic Journal of Tests. 2021;48(3):201-12",
        "Randomized Controlled Trial",
        "Retracted",
        "Synthetic",
        "Retracted since.",
        "Finding 2 stands here.",
        "Word for word from: abstract",
    ):
        assert fact in first
    page = _page(output)
    links = {link.text: link.get("href") for link in _card(page, 1).xpath(".//*[@class='links']/a")}
    assert links == {
        "DOI": "https://doi.org/10.5555/synthetic.2",
        "PubMed": "https://pubmed.ncbi.nlm.nih.gov/90000002/",
    }
    assert "Preprint, not peer-reviewed" in _text(_card(page, 4))
    assert "relevance 1.00" in _text(_card(page, 2))
    assert "Cited in the text; not among the articles listed." in _text(_card(page, 3))


def test_a_gap_shows_its_basis_and_the_search_that_found_nothing(output: LiteratureAggregationOutput) -> None:
    page = _page(output)
    null, stated = (_text(panel) for panel in page.xpath("//section[@id='gaps']/div"))
    assert null == (
        "Nothing on children. Basis: a search found nothing Search s2 in PubMed: it AND children found nothing"
    )
    assert "Basis: stated by authors [1]" in stated
    assert "Finding 2 stands here." in stated
    assert page.xpath("//section[@id='gaps']//a[@href='#search-s2']")


def test_coverage_and_searches_are_tables(output: LiteratureAggregationOutput) -> None:
    page = _page(output)
    rows = [[_text(cell) for cell in row] for row in page.xpath("//section[@id='coverage']//tbody/tr")]
    assert rows == [["PubMed", "2", "2", "1", "0", "0"], ["Europe PMC", "1", "0", "0", "1", "0"]]
    log = {row.get("id"): _text(row) for row in page.xpath("//section[@id='searches']//tbody/tr")}
    assert log["search-s1"].endswith("planned by the model, 2026-03-02 09:30:00 answered 153 10 10 0")
    assert "given by the caller" in log["search-s2"]
    assert "found nothing 0 0 0 0" in log["search-s2"]
    assert "Filters: date_from: 2015" in log["search-s3"]
    assert "failed europepmc_timeout unknown 0 0 0" in log["search-s3"]


def test_usage_checks_and_what_was_left_out_are_said(
    output: LiteratureAggregationOutput, registry: ArtifactRegistry
) -> None:
    left_out = held(registry, article(7))
    page = _page(
        output.model_copy(
            update={
                "usage": RunUsage(requests=3, input_tokens=12_345, output_tokens=67, tool_calls=4, cost_usd=0.0123),
                "integrity": IntegrityReport(leaks_cut=2),
                "excluded": (ExcludedWork(reference=str(left_out.reference), reason="retracted"),),
            }
        ).attach(registry)
    )
    usage = _text(_one(page, "//section[@id='usage']"))
    for fact in ("12,345", "0.0123 USD", "2 identifiers in prose cut."):
        assert fact in usage
    left = _text(_one(page, "//section[@id='left-out']"))
    assert "1 work: retracted." in left
    assert "Synthetic finding number 7." in left


@pytest.mark.parametrize(
    ("status", "said"),
    [("complete", "Complete"), ("no_evidence", "No evidence"), ("failed", "Failed"), ("partial", "Partial")],
)
def test_an_answer_without_articles_is_a_whole_page_too(status: OutputStatus, said: str) -> None:
    empty = LiteratureAggregationOutput(
        run_id="r", question="Anything?", summary="", status=status, model="m", started_at=STARTED, duration_s=0
    )
    page = _page(empty)
    assert _text(_one(page, "//p[contains(@class, 'status')]/strong")) == said
    assert "SYNTHETIC" not in _text(page)
    assert not page.xpath("//article")
    assert page.xpath("//section[@id='flow']")


def test_real_papers_carry_no_banner_of_synthetic_ones(registry: ArtifactRegistry) -> None:
    real = registry.held(PubMedArticle(pmid="123", doi="10.1000/x", title="A title"))
    page = _page(_answer(real, registry))
    assert "ynthetic" not in _text(_one(page, "//header")) + _text(_one(page, "//main"))
    assert not page.xpath("//*[contains(@class, 'synthetic')]")


def _answer(work: Any, registry: ArtifactRegistry, **values: Any) -> LiteratureAggregationOutput:
    given: dict[str, Any] = {
        "run_id": "r",
        "question": "q",
        "summary": f"So {work.reference}.",
        "relevant_articles": (work,),
        "status": "complete",
        "model": "m",
        "started_at": STARTED,
        "duration_s": 1,
        **values,
    }
    return LiteratureAggregationOutput(**given).attach(registry)


# Quotes in the abstract


def _quoted(registry: ArtifactRegistry, words: tuple[str, ...], section: str, **values: Any) -> list[str]:
    """The marked words of a card whose abstract is quoted."""
    work = held(registry, article(1, **values))
    stored = work.abstract_text or ""
    quotes = tuple(
        Quote(
            text=" ".join(part.split()),
            copy=work.copy_id,
            section=section,
            start=max(0, stored.rfind(part)),
            end=max(0, stored.rfind(part)) + len(part),
            text_hash="0" * 32,
        )
        for part in words
    )
    card = _card(_page(_answer(work.model_copy(update={"quotes": quotes}), registry)), 1)
    assert [_text(quote) for quote in card.xpath(".//blockquote")] == [quote.text for quote in quotes]
    return [mark.text_content() for mark in card.xpath(".//details//mark")]


def test_quotes_are_marked_in_the_abstract(registry: ArtifactRegistry) -> None:
    text = "It helped. It hurt.\n\nIt <i>helped</i>  & more. It helped."
    assert _quoted(registry, ("It hurt.", "It <i>helped</i>  & more."), "abstract", abstract_text=text) == [
        "It hurt.",
        "It <i>helped</i> & more.",
    ]


def test_words_that_stand_twice_are_marked_where_the_quote_has_them(registry: ArtifactRegistry) -> None:
    work = article(1, abstract_text="It helped. It hurt. It helped.")
    assert _quoted(registry, ("It helped.",), "abstract", abstract_text=work.abstract_text) == ["It helped."]
    card = _card(
        _page(
            _answer(
                held(
                    registry,
                    work,
                    quotes=(
                        Quote(text="It helped.", copy="x", section="abstract", start=20, end=30, text_hash="0" * 32),
                    ),
                ),
                registry,
            )
        ),
        1,
    )
    (mark,) = card.xpath(".//details//mark")
    assert mark.getprevious() is None
    assert mark.getparent().text == "It helped. It hurt. "


def test_quotes_are_marked_in_labelled_sections(registry: ArtifactRegistry) -> None:
    parts = (AbstractSection(label="AIM", text="To see."), AbstractSection(label="RESULT", text="It hurt. A lot."))
    values = {"abstract_sections": parts, "abstract_text": "To see. It hurt. A lot."}
    assert _quoted(registry, ("It hurt.",), "abstract/RESULT", **values) == ["It hurt."]


def test_a_quote_over_two_sections_is_marked_in_the_whole_text(registry: ArtifactRegistry) -> None:
    parts = (AbstractSection(label="AIM", text="To see."), AbstractSection(label="RESULT", text="It hurt."))
    values = {"abstract_sections": parts, "abstract_text": "To see. It hurt."}
    assert _quoted(registry, ("see. It hurt.",), "abstract", **values) == ["see. It hurt."]


def test_quotes_that_overlap_are_marked_once(registry: ArtifactRegistry) -> None:
    text = "One two three four."
    assert _quoted(registry, ("One two three", "two three four."), "abstract", abstract_text=text) == [
        "One two three",
        " four.",
    ]


def test_a_quote_from_elsewhere_marks_nothing(registry: ArtifactRegistry) -> None:
    assert _quoted(registry, ("Finding 1",), "Methods/Statistics") == []


# Text stays text


def _spoilt(registry: ArtifactRegistry) -> LiteratureAggregationOutput:
    """An answer with markup wherever text comes from outside."""
    quote = Quote(text=NASTY, copy="x", section=NASTY, start=0, end=1, text_hash="0" * 32)
    work = held(
        registry,
        article(
            1,
            title=NASTY,
            journal=NASTY,
            volume=NASTY,
            abstract_sections=(AbstractSection(label=NASTY, text=NASTY),),
            abstract_text=NASTY,
            publication_types=(NASTY,),
            notices=(Notice(kind="retracted_by", date=NASTY, text=NASTY),),
            provenance=(Provenance(source=NASTY, request=NASTY, retrieved_at=STARTED),),
            url="javascript:alert(3)",
            first_author=NASTY,
            keywords=(NASTY,),
        ),
        relevance=NASTY,
        quotes=(quote,),
    )
    answer = _answer(work, registry)
    record = {
        "search_id": "s1",
        "source": NASTY,
        "interface": NASTY,
        "query": NASTY,
        "query_interpreted": NASTY,
        "filters": {NASTY: NASTY},
        "started_at": STARTED,
        "status": "failed",
        "reason": NASTY,
    }
    return LiteratureAggregationOutput.model_validate(
        {
            **answer.model_dump(),
            "question": NASTY,
            "summary": f"{NASTY} {work.reference}",
            "key_themes": [KeyTheme(name=NASTY, description=NASTY, references=(str(work.reference),))],
            "research_gaps": [
                ResearchGap(description=NASTY, basis="null_search", searches=("s1", NASTY), quotes=(quote,))
            ],
            "limitations": [NASTY],
            "search_log": [record],
            "coverage": [{"source": NASTY}],
            "excluded": [ExcludedWork(reference=NASTY, reason=NASTY)],
            "model": NASTY,
            "run_id": NASTY,
        }
    )


def test_no_text_becomes_markup(registry: ArtifactRegistry) -> None:
    written = render_answer_html(_spoilt(registry))
    page = html.document_fromstring(written)
    assert page.xpath("count(//script)") == 2
    assert page.xpath("//img") == []
    assert page.xpath("//comment()") == []
    assert page.xpath("//a[starts-with(@href, 'javascript')]") == []
    assert [name for element in page.iter() for name in element.keys() if str(name).startswith("on")] == []  # noqa: SIM118
    assert "{{ 7*7 }}" in _text(_one(page, "//h1"))
    assert "\x1b" not in written
    assert "\u202e" not in written
    title = _text(_one(_card(page, 1), ".//h3"))
    assert title.startswith("Article 1: <script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp; </style><!-- ]]>")


def test_the_data_of_the_script_cannot_end_its_element(registry: ArtifactRegistry) -> None:
    written = render_answer_html(_spoilt(registry))
    raw = written.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    assert not set("<>&") & set(raw)
    data = json.loads(raw)
    assert data["cards"][0]["title"].startswith("<script>alert(1)</script>")
    assert data["log"]["json"]["searches"][0]["query"] == NASTY


def test_a_record_without_any_fact_has_a_card(registry: ArtifactRegistry) -> None:
    trial = registry.held(ClinicalTrial(nct_id="NCT99000001"))
    card = _card(_page(_answer(trial, registry)), 1)
    assert "[No title]" in _text(card)
    assert card.xpath(".//a[@href='https://clinicaltrials.gov/study/NCT99000001']")
    assert not card.xpath(".//details")


def test_notices_are_shown_with_their_date(registry: ArtifactRegistry) -> None:
    notice = Notice(kind="concern_by", reference_id="90000050", date="2024-05", text="Data under review")
    work = held(registry, article(1, correction_status="concern", notices=(notice,)))
    card = _text(_card(_page(_answer(work, registry)), 1))
    assert "Expression of concern 2024-05: Data under review." in card


# The script's data


def test_the_exports_hold_one_record_for_each_work_in_the_order_of_their_numbers(
    output: LiteratureAggregationOutput,
) -> None:
    data = _data(_page(output))
    titles = [card["title"] for card in data["cards"]]
    assert [card["n"] for card in data["cards"]] == [1, 2, 3, 4]
    for kind in ("bibtex", "ris", "csl", "citation"):
        assert len(data[kind]) == len(titles)
        for title, record in zip(titles, data[kind], strict=True):
            assert title.rstrip(".") in json.dumps(record)
    assert all(re.match(r"@(article|misc)\{", record) for record in data["bibtex"])
    assert all(record.endswith("\nER  - \n") for record in data["ris"])
    assert data["log"]["csv"].count("\r\n") == 4


# Charts


def _sums(chart: Chart | None) -> list[list[str]]:
    assert chart is not None
    assert all(len(row) == len(chart.header) for row in chart.rows)
    html.fromstring(chart.svg)
    return [list(row) for row in chart.rows]


def test_years_are_counted_by_study_type() -> None:
    works = [(2019, "Review"), *[(2021, "Article")] * 3, (2021, "Review"), (None, "Article")]
    chart = chart_of_years(works)
    assert chart is not None
    assert chart.header == ("year", "Article", "Review", "all")
    assert _sums(chart) == [["2019", "0", "1", "1"], ["2021", "3", "1", "4"], ["unknown", "", "", "1"]]
    assert chart_of_years([(None, "Article")]) is None


def test_rare_study_types_are_put_together() -> None:
    chart = chart_of_years([(2020, f"Type {number}") for number in range(9)])
    assert chart is not None
    assert chart.header[-2:] == ("Other types", "all")
    assert _sums(chart) == [["2020", *["1"] * 6, "3", "9"]]


def test_an_old_paper_does_not_squeeze_the_others() -> None:
    chart = chart_of_years([(1890, "Article"), (2020, "Article"), (2021, "Article")])
    assert chart is not None
    assert ">1890<" in chart.svg
    assert ">1891<" not in chart.svg
    many = chart_of_years([(2020, "Article")] * 700)
    assert many is not None
    assert ">700<" in many.svg


def test_the_overlap_names_the_sources_of_each_group() -> None:
    found = (
        FoundBy(sources=("b",), works=1),
        FoundBy(sources=("a", "b"), works=5),
        FoundBy(sources=("a",), works=0),
    )
    assert _sums(chart_of_overlap(found, str.upper)) == [["A and B", "5"], ["B only", "1"]]
    assert chart_of_overlap((), str) is None


def test_the_matrix_has_a_dot_for_each_article_of_a_theme() -> None:
    chart = chart_of_themes([("One", (1, 3)), ("Two " * 30, ()), ("Three", (3,))])
    assert _sums(chart) == [["One", "1, 3"], [("Two " * 30).strip(), ""], ["Three", "3"]]
    assert chart is not None
    assert chart.svg.count("<circle") == 3
    assert chart_of_themes([("One", ())]) is None


# Notebooks


def test_a_notebook_shows_the_report_in_a_frame_of_its_own(output: LiteratureAggregationOutput) -> None:
    registry = output.registry
    assert registry is not None
    assert output._repr_html_() is None
    shown = output.attach(registry, html=render_notebook_html, markdown=render_answer_markdown)
    frame = html.fromstring(shown._repr_html_() or "")
    assert frame.tag == "iframe"
    assert frame.get("srcdoc") == render_answer_html(output)
    assert "allow-same-origin" not in (frame.get("sandbox") or "")
    assert shown._repr_markdown_() == render_answer_markdown(output)
