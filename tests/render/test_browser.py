"""The report in a real browser: it works by mouse and by keyboard, on a desktop and on a phone, and asks no network.

Needs the extra `browser` and a Chromium; where one is missing these tests are skipped, and fail where REQUIRE_BROWSER
is set.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from literature_agent.artifacts import AbstractSection, Notice, Provenance, Quote
from literature_agent.ledger import Exclusion, Flow, FoundBy
from literature_agent.outputs import ExcludedWork, IntegrityReport, KeyTheme, LiteratureAggregationOutput
from literature_agent.registry import ArtifactRegistry
from literature_agent.render import render_answer_html, render_notebook_html, search_log_csv

from .conftest import STARTED, article, held

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Download, Page

pytestmark = pytest.mark.browser

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SERIOUS = ("serious", "critical")

Open = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open a report from its file; at the end the console must be empty and no network asked."""
    trouble: list[str] = []
    contexts = []

    def open_(output: LiteratureAggregationOutput | str, **options: Any) -> Page:
        file = tmp_path / "report.html"
        file.write_text(output if isinstance(output, str) else render_answer_html(output), encoding="utf-8")
        context = browser.new_context(**{"viewport": DESKTOP, "accept_downloads": True, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: None if _is_local(request.url) else trouble.append(request.url))
        page.goto(file.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert trouble == []


def _is_local(address: str) -> bool:
    return address.startswith(("file:", "data:", "blob:", "about:"))


@pytest.fixture
def rich(output: LiteratureAggregationOutput, registry: ArtifactRegistry) -> LiteratureAggregationOutput:
    """An answer with everything that a report can show: six works, two themes, gaps, failures, a left out work."""
    years = {5: 2015, 6: 2024}
    parts = (AbstractSection(label="AIM", text="To see."), AbstractSection(label="RESULT", text="It hurt badly."))
    quote = Quote(text="It hurt badly.", copy="x", section="abstract/RESULT", start=0, end=14, text_hash="0" * 32)
    more = tuple(
        held(
            registry,
            article(
                number,
                year=year,
                title=f"Another finding of {year}.",
                publication_types=("Review",),
                abstract_text="To see. It hurt badly.",
                abstract_sections=parts,
                correction_checked_at=STARTED,
                correction_status="concern" if number == 5 else "none",
                notices=(Notice(kind="concern_by", date="2024-05", text="Under review"),) if number == 5 else (),
                provenance=(Provenance(source="europepmc", request="GET", retrieved_at=STARTED),),
            ),
            relevance="Says more.",
            relevance_score=0.5,
            quotes=(quote,),
        )
        for number, year in years.items()
    )
    left_out = held(registry, article(7))
    return output.model_copy(
        update={
            "relevant_articles": (*output.relevant_articles, *more),
            "key_themes": (
                *output.key_themes,
                KeyTheme(name="Harm", description="Seen.", references=tuple(str(work.reference) for work in more)),
            ),
            "excluded": (ExcludedWork(reference=str(left_out.reference), reason="screened; not cited"),),
            "integrity": IntegrityReport(leaks_cut=1),
            "flow": Flow(
                identified=10,
                duplicates=0,
                unique=10,
                not_screened=4,
                screened=6,
                analysed=5,
                read=1,
                included=5,
                studies=5,
                excluded=(Exclusion(stage="screening", reason="screened; not cited", works=1),),
                found_by=(FoundBy(sources=("europepmc", "pubmed"), works=6), FoundBy(sources=("pubmed",), works=4)),
            ),
        }
    ).attach(registry)


def _shown(page: Page) -> list[int]:
    """The numbers of the articles on the page, in order."""
    numbers = page.eval_on_selector_all("article:not([hidden])", "cards => cards.map(card => Number(card.id.slice(1)))")
    assert isinstance(numbers, list)
    return numbers


def _select(page: Page, label: str, value: str) -> None:
    page.locator("#filter").get_by_label(label).select_option(value)


# Filter and order


def test_filters_narrow_the_list_and_say_how_many_are_left(open_page: Open, rich: LiteratureAggregationOutput) -> None:
    page = open_page(rich)
    assert _shown(page) == [1, 2, 3, 4, 5, 6]
    page.get_by_label("Words").fill("another of 2024.")
    assert len(_shown(page)) == 1
    assert page.locator("#shown").inner_text() == "1 of 6 shown"
    page.get_by_role("button", name="Reset").click()
    # `wait_for_function` evaluates text in the page again and again, which the page's policy forbids.
    page.locator("article:not([hidden])").nth(5).wait_for(state="attached")
    assert _shown(page) == [1, 2, 3, 4, 5, 6]
    filters: list[tuple[str, str, list[int]]] = [
        ("Study type", "Review", [4, 5]),
        ("Source", "Europe PMC", [4, 5]),
        ("Theme", "1", [2, 3]),
    ]
    for label, value, left in filters:
        _select(page, label, value)
        assert _shown(page) == left, label
        _select(page, label, "")
    page.get_by_label("From").fill("2022")
    assert _shown(page) == [5]
    page.get_by_label("From").fill("")
    page.get_by_label("To").fill("2015")
    assert _shown(page) == [4]
    page.get_by_label("To").fill("")
    page.get_by_label("no preprints").check()
    page.get_by_label("no retracted works").check()
    assert 1 not in _shown(page)
    assert len(_shown(page)) == 4
    page.get_by_label("Words").fill("nothing has this")
    assert _shown(page) == []
    assert page.get_by_text("No article matches the filter.").is_visible()


def test_the_list_can_be_put_in_another_order(open_page: Open, rich: LiteratureAggregationOutput) -> None:
    page = open_page(rich)
    for order, first in (("newest", 5), ("oldest", 4), ("score", 2), ("title", 4), ("number", 1)):
        _select(page, "Order", order)
        assert _shown(page)[0] == first, order


# Keyboard and pointer


def test_cards_open_by_keyboard(open_page: Open, rich: LiteratureAggregationOutput) -> None:
    page = open_page(rich)
    summary = page.locator("#a4 details.abstract summary")
    summary.focus()
    page.keyboard.press("Enter")
    mark = page.locator("#a4 mark")
    assert mark.is_visible()
    assert mark.inner_text() == "It hurt badly."
    page.keyboard.press("Space")
    assert not mark.is_visible()
    page.get_by_role("button", name="Open all abstracts").press("Enter")
    assert page.locator("details.abstract:not([open])").count() == 0
    page.get_by_role("button", name="Close all abstracts").press("Enter")
    assert page.locator("details.abstract[open]").count() == 0


def test_everything_can_be_reached_with_the_tabulator(open_page: Open, rich: LiteratureAggregationOutput) -> None:
    page = open_page(rich)
    page.evaluate(
        """() => {
            window.reached = new Set();
            document.addEventListener("focusin", (event) => reached.add(event.target.closest("[id]")?.id));
        }"""
    )
    for _ in range(160):
        page.keyboard.press("Tab")
    reached = set(page.evaluate("[...reached]"))
    assert {"theme", "summary", "filter", "a1", "a6", "chart-flow", "searches", "export"} <= reached


def test_a_reference_shows_its_article_by_pointer_and_by_keyboard(
    open_page: Open, rich: LiteratureAggregationOutput
) -> None:
    page = open_page(rich)
    hover = page.locator("#hover")
    page.locator("#summary a.ref").first.hover()
    assert "Synthetic finding number 2." in hover.inner_text()
    assert "Retracted" in hover.inner_text()
    # It stays while the pointer is on it, and goes by Escape.
    hover.hover()
    page.wait_for_timeout(300)
    assert hover.is_visible()
    page.keyboard.press("Escape")
    assert not hover.is_visible()
    page.mouse.move(0, 0)
    page.locator("#limits a.ref").focus()
    page.keyboard.press("Tab")
    assert hover.is_visible()
    assert page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "hover"
    page.keyboard.press("Enter")
    assert page.url.endswith("#a1")


def test_a_reference_leads_also_to_an_article_that_the_filter_hides(
    open_page: Open, rich: LiteratureAggregationOutput
) -> None:
    page = open_page(rich)
    _select(page, "Study type", "Review")
    assert 2 not in _shown(page)
    page.locator("#themes a.ref").first.click()
    page.locator("#a2").wait_for(state="visible")


# Copy and download


def _content(download: Download) -> str:
    return Path(download.path()).read_bytes().decode("utf-8")


def test_downloads_hold_what_the_filter_shows(open_page: Open, rich: LiteratureAggregationOutput) -> None:
    page = open_page(rich)
    _select(page, "Study type", "Review")
    _select(page, "Order", "newest")
    got = {}
    for name in ("BibTeX", "RIS", "CSL-JSON", "Plain text", "Search log, CSV", "Search log, JSON", "Flow diagram, SVG"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Download {name}").click()
        got[name] = (waiting.value.suggested_filename, _content(waiting.value))
    assert got["BibTeX"][0] == "references.bib"
    assert got["BibTeX"][1].count("@article{") == 2
    assert got["BibTeX"][1].index("2024") < got["BibTeX"][1].index("2015")
    assert got["RIS"][1].count("\nER  - \n") == 2
    assert [item["issued"]["date-parts"][0][0] for item in json.loads(got["CSL-JSON"][1])] == [2024, 2015]
    assert got["Plain text"][1].count("\n") == 2
    assert got["Search log, CSV"] == ("search-log.csv", search_log_csv(rich))
    assert len(list(csv.DictReader(io.StringIO(got["Search log, CSV"][1])))) == 3
    assert json.loads(got["Search log, JSON"][1])["flow"]["identified"] == 10
    assert got["Flow diagram, SVG"][1].startswith("<svg ")


def test_copying_says_that_it_is_done(open_page: Open, rich: LiteratureAggregationOutput) -> None:
    page = open_page(rich)
    page.get_by_role("button", name="Copy the BibTeX of article 1").click()
    page.locator("#said", has_text="Copied.").wait_for(state="attached")
    page.evaluate("document.body.append(Object.assign(document.createElement('textarea'), {id: 'paste'}))")
    page.locator("#paste").focus()
    page.keyboard.press("Control+V")
    assert page.locator("#paste").input_value().startswith("@article{lindqvist2021")


# For everybody


@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESKTOP), ("dark", PHONE)], ids=["light", "dark"])
def test_no_serious_barrier_is_found(
    open_page: Open, rich: LiteratureAggregationOutput, scheme: str, viewport: dict[str, int]
) -> None:
    """By axe-core, with everything opened."""
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(rich, color_scheme=scheme, viewport=viewport)
    page.eval_on_selector_all("details", "all => all.forEach(details => { details.open = true; })")
    page.locator("#summary a.ref").first.hover()
    found = Axe().run(page).response
    assert len(found["passes"]) > 20
    serious = [
        f"{v['id']}: {v['help']}: {[n['html'] for n in v['nodes']]}"
        for v in found["violations"]
        if v["impact"] in SERIOUS
    ]
    assert serious == []


def test_the_page_never_scrolls_sideways(open_page: Open, rich: LiteratureAggregationOutput) -> None:
    wide = {"source": "clinicaltrials", "interface": "ClinicalTrials.gov API v2 (studies)", "total": 12_345_678}
    line = rich.search_log[0].model_copy(update=wide)
    page = open_page(rich.model_copy(update={"search_log": (line, *rich.search_log)}))
    page.eval_on_selector_all("details", "all => all.forEach(details => { details.open = true; })")
    for width in (320, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.ariaLabel)"
    assert page.evaluate(cut) == [], "at a desk every table is seen whole"


def test_light_and_dark_follow_the_system_and_the_button(open_page: Open, rich: LiteratureAggregationOutput) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    page = open_page(rich, color_scheme="dark")
    dark = page.evaluate(background)
    page.get_by_role("button", name="Light colours").click()
    light = page.evaluate(background)
    assert light != dark
    assert page.get_by_role("button", name="Dark colours").is_visible()
    assert open_page(rich).evaluate(background) == light


def test_on_paper_the_abstracts_are_open_and_the_controls_gone(
    open_page: Open, rich: LiteratureAggregationOutput
) -> None:
    page = open_page(rich, color_scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#a4 mark").is_visible()
    for hidden in ("nav", "#filter", "#export"):
        assert not page.locator(hidden).is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.abstract[open]").count() == 0


def test_without_scripts_the_report_can_be_read(open_page: Open, rich: LiteratureAggregationOutput) -> None:
    page = open_page(rich, java_script_enabled=False)
    assert page.locator("article").count() == 6
    assert page.get_by_text("Without its script the report is complete").is_visible()
    for hidden in ("#filter", "#export", "#theme"):
        assert not page.locator(hidden).is_visible()
    page.locator("#a4 details.abstract summary").click()
    assert page.locator("#a4 mark").is_visible()


def test_markup_in_a_title_stays_text(open_page: Open, registry: ArtifactRegistry) -> None:
    title = "<script>alert(1)</script><img src=x onerror=alert(2)> </script>"
    work = held(registry, article(1, title=title), relevance=title)
    page = open_page(
        LiteratureAggregationOutput(
            run_id="r",
            question=title,
            summary=f"{title} {work.reference}",
            relevant_articles=(work,),
            status="complete",
            model="m",
            started_at=STARTED,
            duration_s=1,
        ).attach(registry)
    )
    assert page.locator("h1").inner_text() == title
    assert page.locator("#a1 h3 a").inner_text() == title
    page.locator("#summary a.ref").hover()
    assert page.locator("#hover .title").inner_text() == title
    assert page.locator("img").count() == 0


def test_in_a_notebook_the_report_works_and_keeps_to_itself(open_page: Open, rich: LiteratureAggregationOutput) -> None:
    page = open_page(f"<!doctype html><p id='own'>Mine</p>{render_notebook_html(rich)}{render_notebook_html(rich)}")
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    frame = page.frame_locator("iframe").first
    frame.get_by_label("Words").fill("another of 2024.")
    assert frame.locator("#shown").inner_text() == "1 of 6 shown"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == colour


def test_three_hundred_articles_are_no_burden(
    open_page: Open, registry: ArtifactRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    """How long it takes is printed, not judged: it says as much of the machine as of the page."""
    text = "A sentence of an abstract that is about as long as such sentences are in the papers of this field. " * 15
    works = tuple(
        held(registry, article(number, abstract_text=text, title=f"{text[:80]} {number}"), relevance=text[:120])
        for number in range(300)
    )
    answer = LiteratureAggregationOutput(
        run_id="r",
        question="Many?",
        summary=" ".join(f"So {work.reference}." for work in works),
        relevant_articles=works,
        status="complete",
        model="m",
        started_at=STARTED,
        duration_s=1,
    ).attach(registry)
    began = time.perf_counter()
    document = render_answer_html(answer)
    written = time.perf_counter()
    page = open_page(document)
    loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    page.get_by_label("Words").fill("field. 299")
    filtered = page.evaluate(
        """() => {
            const began = performance.now();
            document.getElementById("filter").dispatchEvent(new Event("input"));
            return performance.now() - began;
        }"""
    )
    assert _shown(page) == [300]
    with capsys.disabled():
        print(
            f"\n300 articles: {len(document) / 1e6:.1f} MB written in {written - began:.2f} s, "
            f"loaded in {loaded / 1000:.2f} s, filtered in {filtered:.0f} ms"
        )
