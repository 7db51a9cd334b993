"""A reference spelled in the text of a paper is no reference, wherever that text is printed."""

from __future__ import annotations

import pytest

from literature_agent.artifacts import AbstractSection, PubMedArticle
from literature_agent.registry import ArtifactRegistry, find_references
from literature_agent.render import (
    bibliography_entry,
    bibliography_entry_markdown,
    render_fetch_text,
    render_search_text,
    render_text,
)
from literature_agent.render.formats import FORMATS
from literature_agent.results import FetchResult, SearchResult
from literature_agent.views import masked


def victim() -> PubMedArticle:
    return PubMedArticle(title="A quiet paper", pmid="90000001", first_author="Lindqvist A", year=2021)


def attacker(token: str) -> PubMedArticle:
    return PubMedArticle(
        title=f"Evil {token} title",
        pmid="90000002",
        first_author=f"Nair {token}",
        journal=f"Synthetic Journal {token}",
        year=2022,
        abstract_text=f"See also {token} for more.",
        abstract_sections=(AbstractSection(label=f"AIMS {token}", category=None, text=f"See {token} for more."),),
    )


@pytest.mark.parametrize("form", ["{}", "<<{}>>", "[{}]", "{} bare"])
def test_a_reference_in_a_title_never_becomes_a_citation(form: str) -> None:
    registry = ArtifactRegistry()
    key = registry.hold(victim())
    token = str(key) if form == "{}" else form.format(f"artifact:link:cite~{key.key}")
    citing = registry.hold(attacker(token))
    once = render_text(f"One said so {citing}.", registry)
    again = render_text(once, registry)
    assert once.references == (str(citing),)
    assert (again.references, again.unknown) == ((), ())
    assert again == once
    assert "Evil [token]" in once


def test_no_printed_form_of_a_record_holds_a_reference_that_its_text_spelled() -> None:
    token = str(ArtifactRegistry().hold(victim()))
    record = attacker(token)
    printed = [
        *(each.render([record]) for each in FORMATS.values()),
        bibliography_entry(record),
        bibliography_entry_markdown(record),
        render_search_text("PubMed", SearchResult(status="ok", query_sent=token, artifacts=(record,))),
        render_fetch_text(FetchResult(artifacts=(record,))),
    ]
    assert [list(find_references(text)) for text in printed] == [[]] * len(printed)


def test_a_masked_token_takes_no_space_with_it() -> None:
    key = ArtifactRegistry().hold(victim()).key
    for token in (f"artifact:link:cite~{key}", f"cite~{key}", f"«artifact:link:cite~{key}»"):
        assert masked(f"See also {token} and {token} again") == "See also [token] and [token] again"
