"""Reading full texts through the loop: outline, sections, tables, and the reason where there is none."""

from __future__ import annotations

import pytest

from literature_agent import LiteratureAggregationOutput, LiteratureAggregator, Settings
from literature_agent.testing import Calls, Seen, scripted_model, submit

OPEN = "90000101[pmid]"
NOT_OPEN = "90000103[pmid]"


async def read_with(
    settings: Settings, query: str, *sections: list[str]
) -> tuple[LiteratureAggregationOutput, list[str]]:
    heard: list[str] = []

    def reader(wanted: list[str]) -> object:
        def turn(seen: Seen) -> Calls:
            heard.append(seen.last)
            return [("read_pmc_full_text", {"reference": seen.references[0], "sections": wanted})]

        return turn

    def answer(seen: Seen) -> Calls:
        heard.append(seen.last)
        return submit(f"Shown {seen.references[0]}.", [seen.references[0]])

    model = scripted_model([("search_pubmed", {"query": query})], *(reader(w) for w in sections), answer)  # type: ignore[arg-type]  # turns made in a loop
    output = await LiteratureAggregator(model, settings=settings).run("What does it say?")
    return output, heard[1:]


async def test_a_short_full_text_comes_whole_at_once(settings: Settings) -> None:
    _, heard = await read_with(settings, OPEN, [])
    assert "outline" not in heard[0]
    assert "## Results" in heard[0]
    assert "## table/Table 1" in heard[0]


async def test_the_outline_of_a_long_one_comes_first_then_the_sections_asked_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("literature_agent.views.records.SHORT_FULL_TEXT", 500)
    output, heard = await read_with(settings, OPEN, [], ["methods"])
    assert "outline" in heard[0]
    assert "characters)" in heard[0]
    assert "## " not in heard[0]
    assert "## " in heard[1]
    assert len(heard[1]) > len(heard[0])
    assert output.articles_analyzed == 1


async def test_an_unknown_heading_is_named_with_the_way_to_the_outline(settings: Settings) -> None:
    _, heard = await read_with(settings, OPEN, ["Horoscope"])
    assert "There is no section 'Horoscope'" in heard[0]


async def test_where_no_full_text_can_be_read_the_reason_is_told(settings: Settings) -> None:
    _, heard = await read_with(settings, NOT_OPEN, [])
    assert heard[0].startswith("No full text of")
    assert heard[0].partition("\n")[0].endswith(": not_in_pmc")


async def test_a_quote_from_the_full_text_is_verified_with_its_section(settings: Settings) -> None:
    def quote(seen: Seen) -> Calls:
        body = seen.last.split("## ", 1)[1].split("\n", 2)[1]
        sentence = body.split(". ")[0]
        return [
            (
                "submit_answer",
                {
                    "summary": f"Shown {seen.references[0]}.",
                    "relevant_articles": [{"reference": seen.references[0], "reason": "x", "quotes": [sentence]}],
                },
            )
        ]

    def read(seen: Seen) -> Calls:
        return [("read_pmc_full_text", {"reference": seen.references[0], "sections": ["methods"]})]

    model = scripted_model([("search_pubmed", {"query": OPEN})], read, quote)
    output = await LiteratureAggregator(model, settings=settings).run("What does it say?")
    assert output.integrity.quotes_dropped == 0
    verified = output.relevant_articles[0].quotes[0]
    assert "method" in verified.section.lower()
    assert output.registry is not None
    stored = output.registry.stored_text(str(verified.copy), verified.section, verified.text_hash)
    assert stored is not None
    assert " ".join(stored[verified.start : verified.end].split()) == verified.text


async def test_words_of_a_section_that_was_not_shown_are_no_quote(settings: Settings) -> None:
    """Held is not shown: the whole text is held, one section was shown."""

    def forge(seen: Seen) -> Calls:
        return [("read_pmc_full_text", {"reference": seen.references[0], "sections": []})]

    def quote(seen: Seen) -> Calls:
        return [
            (
                "submit_answer",
                {
                    "summary": f"Shown {seen.references[0]}.",
                    "relevant_articles": [
                        {
                            "reference": seen.references[0],
                            "reason": "x",
                            "quotes": ["The quick brown fox jumps over the lazy dog"],
                        }
                    ],
                },
            )
        ]

    model = scripted_model([("search_pubmed", {"query": OPEN})], forge, quote)
    output = await LiteratureAggregator(model, settings=settings).run("What does it say?")
    assert output.integrity.quotes_dropped == 1
    assert output.relevant_articles[0].quotes == ()
