"""How an answer shows itself where it stands last in a cell of a notebook."""

from __future__ import annotations

import pickle

from lxml import html

from literature_agent.api import aggregate
from literature_agent.render import render_answer_html, render_answer_markdown
from literature_agent.settings import Settings


async def test_an_answer_shows_its_report_until_it_is_pickled(settings: Settings) -> None:
    answer = await aggregate("Does metformin slow cognitive decline?", model="extractive", settings=settings)
    frame = html.fromstring(answer._repr_html_() or "")
    assert frame.get("srcdoc") == render_answer_html(answer)
    assert answer._repr_markdown_() == render_answer_markdown(answer)
    again = pickle.loads(pickle.dumps(answer))
    assert again == answer
    assert (again._repr_html_(), again._repr_markdown_()) == (None, None)


async def test_the_flow_of_a_run_agrees_with_its_log_and_its_articles(settings: Settings) -> None:
    answer = await aggregate("Does metformin slow cognitive decline?", model="extractive", settings=settings)
    flow = answer.flow
    assert flow is not None
    assert flow.identified == sum(record.retrieved for record in answer.search_log) > 0
    assert flow.duplicates == sum(record.duplicates for record in answer.search_log)
    assert flow.included == len(answer.relevant_articles) > 0
    assert flow.screened == flow.included + len(answer.excluded)
    assert flow.studies <= flow.included
