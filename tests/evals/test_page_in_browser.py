"""The page of a run in a real browser: figures, cases and transcripts are there, and it asks no network."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evals.cases import Ask
from evals.harness import Plan, run
from evals.outcome import Outcome
from evals.page import write_comparison, write_page
from evals.report import compare

from .test_harness import Answers, ten

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

LEGIBLE = "[...document.querySelectorAll('svg text')].every(text => text.getBoundingClientRect().height >= 9)"


def test_a_page_shows_figures_cases_and_transcripts_offline(browser: Browser, good: Outcome, tmp_path: Path) -> None:
    reports = []
    for name, raising in (("a", (1, 2, 3, 4)), ("b", ())):
        (tmp_path / name).mkdir()
        loaded = ten(count=5)
        loaded.cases.cases[2].inputs = Ask(question=f"Question 2 of {'one-very-long-word' * 5}?")
        made = run(Plan(loaded=loaded, out=tmp_path / name), Answers(good, raising=raising))
        # Playwright's own loop runs in this thread.
        with ThreadPoolExecutor(1) as other:
            reports.append(other.submit(asyncio.run, made).result())
    write_page(reports[0], tmp_path / "a")
    diff = tmp_path / "diff.html"
    diff.write_text(write_comparison(reports[0], reports[1], compare(reports[0], reports[1])), encoding="utf-8")

    trouble: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(10_000)
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: trouble.append(request.url) if request.url.startswith("http") else None)
    page.goto((tmp_path / "a" / "report.html").as_uri())

    assert page.locator("svg rect.bar").count() >= 12
    assert page.locator("svg circle.dot").count() == 5
    assert page.locator("svg circle.dot.failed").count() == 4
    assert page.locator("details.case").count() == 5

    page.locator('circle[data-go="case-0"]').press("Enter")
    first = page.locator('details.case[data-case="case-0"]')
    first.locator(".said.call").first.wait_for()
    shown = first.locator(".transcript").inner_text()
    assert "search_pubmed" in shown
    assert "submit_answer" in shown

    page.get_by_label("Show").select_option("failed")
    assert page.locator("details.case:visible").count() == 4
    assert "4 of 5 shown" in page.locator("#count").inner_text()
    page.get_by_label("Show").select_option("all")
    page.get_by_label("Words").fill("Question 2")
    assert page.locator("details.case:visible").count() == 1

    page.set_viewport_size({"width": 390, "height": 844})
    page.locator('details.case[data-case="case-2"] summary').click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(LEGIBLE)

    page.goto(diff.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(LEGIBLE)
    assert page.locator("svg circle.dot.better").count() >= 5
    assert page.get_by_role("heading", name="Cases that moved most").is_visible()
    page.close()
    assert trouble == []
