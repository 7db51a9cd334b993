"""The facts that every citation format writes: pages, names, dates, kinds, keys."""

from __future__ import annotations

from typing import Any

import pytest

from literature_agent.artifacts import (
    Author,
    BioRxivPreprint,
    CitationArtifact,
    ClinicalTrial,
    EuropePMCArticle,
    PMCArticle,
)
from literature_agent.render._citation import Name, Pages, citation_keys, citation_of, dotted, read_pages
from literature_agent.sources.pubmed.parse import parse_articles

from .conftest import article

BOOKS = b"""<PubmedArticleSet><PubmedBookArticle><BookDocument><PMID>90000530</PMID><Book><BookTitle>SyntheticReviews
</BookTitle><PubDate><Year>1993</Year></PubDate></Book><ArticleTitle>Synthetic Disorder</ArticleTitle>
<PublicationType>Review</PublicationType></BookDocument></PubmedBookArticle><PubmedBookArticle><BookDocument>
<PMID>90000531</PMID><Book><BookTitle>A whole synthetic book</BookTitle><PubDate><Year>2011</Year></PubDate></Book>
</BookDocument></PubmedBookArticle></PubmedArticleSet>"""


@pytest.mark.parametrize(
    ("printed", "first", "last"),
    [
        ("737-8", "737", "738"),
        ("1639-41", "1639", "1641"),
        ("e123", "e123", ""),
        ("201-212", "201", "212"),
        ("201–12", "201", "212"),
        ("99-101", "99", "101"),
        ("12-123", "12", "123"),
        ("S12-5", "S12", "S15"),
        ("S12-S15", "S12", "S15"),
        ("e100-e110", "e100", "e110"),
        ("255-64.e7", "255", "264.e7"),
        ("12.e1-12.e5", "12.e1", "12.e5"),
        ("OF01-4", "OF01", "OF04"),
        ("iii-iv", "iii", "iv"),
        ("45-45", "45", ""),
        ("100 - 9", "100", "109"),
        ("7", "7", ""),
        ("", "", ""),
        # What is no range stays in one piece: article numbers with a hyphen, lists, ranges that run backwards.
        ("12-0034", "12-0034", ""),
        ("99-2", "99-2", ""),
        ("S1360-1385(25)00164-5", "S1360-1385(25)00164-5", ""),
        ("1563-5; author reply 1565-6", "1563-1565; author reply 1565-1566", ""),
        ("12-5, 20", "12-15, 20", ""),
        ("1-2-3", "1-2-3", ""),
    ],
)
def test_pages_are_written_out(printed: str, first: str, last: str) -> None:
    """K123."""
    assert read_pages(printed) == Pages(first, last)


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("Final report.", "Final report"),
        ("Final report", "Final report"),
        ("Does it work?", "Does it work?"),
        ("Host-pathogen interaction 5.0.", "Host-pathogen interaction 5.0"),
        ("Care in the U.S.", "Care in the U.S."),
        ("And then...", "And then..."),
        ("[Translated title].", "[Translated title]"),
        ("A &amp; B <i>x</i>", "A & B x"),
        ("Response with P<0.001 &lt; placebo", "Response with P<0.001 < placebo"),
        ("Two\nlines\x1b[31m\u202e", "Two lines[31m"),
    ],
)
def test_a_title_is_plain_and_has_no_full_stop(title: str, written: str) -> None:
    """K123, K125."""
    assert citation_of(article(1, title=title)).title == written


@pytest.mark.parametrize(
    ("initials", "written"),
    [("ÅM", "Å. M."), ("J", "J."), ("J-P", "J.-P."), ("J.P.", "J. P."), ("ThM", "Th. M."), ("小明", "小明"), ("", "")],
)
def test_initials_get_their_points(initials: str, written: str) -> None:
    assert dotted(initials) == written


@pytest.mark.parametrize(
    ("author", "name"),
    [
        (
            Author(family="van der Berg", given="Jan Pieter", initials="JP"),
            Name(family="van der Berg", given="Jan Pieter", initials="JP"),
        ),
        (Author(family="Roe", initials="J", suffix="Jr."), Name("Roe", "J.", "J", "Jr.")),
        (Author(family="Doe", given="Jean-Luc"), Name("Doe", "Jean-Luc", "JL")),
        (Author(collective="KDIGO Working Group"), Name(group="KDIGO Working Group")),
        (Author(family="Plato"), Name(family="Plato")),
        (Author(given="Madonna"), Name(family="Madonna")),
        (
            Author(family="Smith &amp; Sons", given="A", orcid="0000-0001"),
            Name("Smith & Sons", "A", "A", orcid="0000-0001"),
        ),
    ],
)
def test_a_person_keeps_the_parts_of_the_name_and_a_group_is_none(author: Author, name: Name) -> None:
    """K126."""
    assert citation_of(article(1, authors=(author,))).names == (name,)


def test_nobody_is_invented_as_an_author() -> None:
    assert citation_of(article(1, authors=(Author(), Author(suffix="Jr")))).names == ()
    assert citation_of(article(1, authors=(), first_author="Doe J")).names == (Name(group="Doe J"),)


@pytest.mark.parametrize(
    ("values", "issued", "online"),
    [
        ({"published": "2021-03-04", "year": 2021}, (2021, 3, 4), ()),
        ({"published": "2021-03", "year": 2021, "published_online": "2020-12-30"}, (2021, 3), (2020, 12, 30)),
        ({"published": None, "year": 2020, "published_online": "2020-12-30"}, (2020, 12, 30), (2020, 12, 30)),
        ({"published": "2021", "year": None}, (2021,), ()),
        ({"published": "2020-12", "year": 2021}, (2021,), ()),
        ({"published": None, "year": 2019}, (2019,), ()),
        ({"published": None, "year": None}, (), ()),
    ],
)
def test_the_year_is_the_records_and_no_part_of_a_date_is_made_up(
    values: dict[str, Any], issued: tuple[int, ...], online: tuple[int, ...]
) -> None:
    citation = citation_of(article(1, **values))
    assert (citation.issued, citation.online) == (issued, online)


def test_books_and_chapters_of_pubmed_are_told_from_articles() -> None:
    chapter, book = (citation_of(record) for record in parse_articles(BOOKS))
    assert (chapter.kind, chapter.title, chapter.container) == ("chapter", "Synthetic Disorder", "SyntheticReviews")
    assert (book.kind, book.title, book.container) == ("book", "A whole synthetic book", "")
    assert citation_of(article(1)).kind == "article"


@pytest.mark.parametrize(
    ("record", "kind", "container"),
    [
        (BioRxivPreprint(source="medrxiv", server="medrxiv", title="Early"), "preprint", "medRxiv"),
        (
            EuropePMCArticle(epmc_id="PPR1", epmc_source="PPR", is_preprint=True, journal="Research Square"),
            "preprint",
            "Research Square",
        ),
        (ClinicalTrial(nct_id="NCT90000001", title="A trial"), "trial", "ClinicalTrials.gov"),
        (PMCArticle(pmcid="PMC90000001", title="Only there"), "article", ""),
        (
            EuropePMCArticle(epmc_id="1", epmc_source="MED", publication_types=("Book Chapter",), journal="A Book"),
            "chapter",
            "A Book",
        ),
        (article(1, journal=None, journal_abbreviation="Synth J Tests"), "article", "Synth J Tests"),
    ],
)
def test_every_kind_of_record_is_known(record: CitationArtifact, kind: str, container: str) -> None:
    citation = citation_of(record)
    assert (citation.kind, citation.container) == (kind, container)


def test_an_address_that_is_no_web_address_is_not_written() -> None:
    assert citation_of(article(1, doi=None, url="javascript:alert(1)")).url == ""
    assert citation_of(ClinicalTrial(nct_id="NCT90000001")).url == "https://clinicaltrials.gov/study/NCT90000001"


def test_keys_are_unique_and_the_same_each_time() -> None:
    names = [
        Author(family="Doe", initials="J"),
        Author(family="DOE", initials="K"),
        Author(family="Ødegård-Lunde", initials="T"),
        Author(collective="KDIGO Working Group"),
        Author(family="王", given="小明"),
    ]
    citations = [citation_of(article(number, authors=(name,), year=2026)) for number, name in enumerate(names)]
    citations.append(citation_of(article(9, authors=(), year=None, title="第一")))
    keys = citation_keys(citations)
    assert keys == ("doe2026a", "doe2026b", "degardlunde2026", "kdigo2026", "synthetic2026", "worknd")
    assert citation_keys(citations) == keys


def test_many_works_of_one_author_and_year_keep_keys_apart() -> None:
    keys = citation_keys([citation_of(article(number)) for number in range(1, 801)])
    assert len(set(keys)) == 800
    assert keys[:2] == ("lindqvist2021a", "lindqvist2021b")
    assert keys[25:28] == ("lindqvist2021z", "lindqvist2021aa", "lindqvist2021ab")
