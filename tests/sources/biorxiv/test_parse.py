"""The bioRxiv API's answers to preprints: bytes in, artifacts out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent.artifacts import BioRxivPreprint
from literature_agent.errors import LiteratureError
from literature_agent.sources.biorxiv.highwire import Part, abstract_text, read_abstract, read_title
from literature_agent.sources.biorxiv.pages import KeptPage, KeptPages, Place
from literature_agent.sources.biorxiv.parse import Page, parse_details, preprint_of, whole_preprint_of
from literature_agent.transport import TransientAnswer
from tests import desks
from tests.desks import damaged_bytes, mutated_json

PAYLOADS = desks.PAYLOADS / "biorxiv"
Row = Callable[..., dict[str, Any]]
PageOf = Callable[..., dict[str, Any]]


def one(row: dict[str, Any]) -> BioRxivPreprint:
    """The record of one row."""
    return preprint_of(parse_details(json.dumps({"collection": [row]}).encode()).posts, "biorxiv")


# --- whole records ----------------------------------------------------------------------------------------------------


def test_a_row_is_read_whole(payload: Callable[[str], bytes]) -> None:
    """`NA` is nothing, markup and typesetting marks are gone, the journal version is a related record."""
    page = parse_details(payload("window-first-page.json"))
    assert (page.rows, page.total, page.category, page.unreadable) == (3, 5, "all", ())
    assert preprint_of(page.posts[:1], "biorxiv").model_dump(mode="json", exclude_defaults=True) == {
        "title": "Synthetic widgets shape the invented immunity of Danio ficta",
        "url": "https://doi.org/10.5555/2026.06.30.900001",
        "doi": "10.5555/2026.06.30.900001",
        "authors": [
            {"family": "de Muster", "initials": "EV"},
            {"family": "Ökçün", "initials": "G"},
            {"collective": "Synthetic Widget Consortium"},
            {"family": "Invento", "initials": "AB", "suffix": "Jr"},
        ],
        "first_author": "de Muster EV",
        "journal": "bioRxiv",
        "journal_abbreviation": "bioRxiv",
        "year": 2026,
        "published": "2026-07-01",
        "published_online": "2026-07-01",
        "abstract_text": "Background: Widgets are invented objects.\nMethods: We gave β-widgets to 12 fish (P<0.001).\n"
        "Results: Immunity rose by 5±1 %.\nNothing else changed.\nConclusions: This text is synthetic.",
        "abstract_sections": [
            {"label": "Background", "text": "Widgets are invented objects."},
            {"label": "Methods", "text": "We gave β-widgets to 12 fish (P<0.001)."},
            {"label": "Results", "text": "Immunity rose by 5±1 %.\nNothing else changed."},
            {"label": "Conclusions", "text": "This text is synthetic."},
        ],
        "publication_types": ["Preprint"],
        "related": [{"relation": "published_as", "doi": "10.5555/synthetic.journal.1"}],
        "server": "biorxiv",
        "version": 1,
        "versions": [1],
        "category": "immunology",
        "license": "cc by-nc-nd",
        "published_doi": "10.5555/synthetic.journal.1",
    }


def test_versions_are_one_record_with_the_newest_text(payload: Callable[[str], bytes]) -> None:
    """K061: 10 is newer than 2; what only an older row was told of the journal version stays."""
    preprint = whole_preprint_of(parse_details(payload("versions.json")), "medrxiv")
    assert (preprint.version, preprint.versions) == (10, (1, 2, 10))
    assert preprint.title == "Invented metformin cohort, revised"
    assert (preprint.published, preprint.abstract_text) == ("2020-09-14", "Latest abstract.")
    assert [author.family for author in preprint.authors] == ["Muster", "Ökçün"]
    assert preprint.published_doi == "10.5555/synthetic.journal.7"
    assert preprint.author_corresponding == "Gül Ökçün"
    assert preprint.funders == ("Invented Foundation (SYN-2)", "Nowhere Fund")
    assert preprint.jats_url is not None
    assert "2020/09/14" in preprint.jats_url
    assert (preprint.source, preprint.server, preprint.journal) == ("medrxiv", "medrxiv", "medRxiv")
    assert preprint.kind == "link:cite:biorxiv:full"


def test_numbers_are_read_by_name_whatever_their_form(payload: Callable[[str], bytes]) -> None:
    """K057: members in any order, numbers as numbers; no member `category`; the page size is not the total."""
    page = parse_details(payload("window-old-shape.json"))
    assert (page.rows, page.total, page.category) == (2, 2, None)
    assert [post.version for post in page.posts] == [1, 1]


_NO_NUMBERS: tuple[object, ...] = ("many", "-3", -3, None, True, [], {}, "1.5", float("nan"), "9" * 40)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("148231", 148231),
        (148231, 148231),
        (" 12 ", 12),
        ("1e+05", 100000),
        (1e5, 100000),
        ("1.5e3", 1500),
        *((wrong, None) for wrong in _NO_NUMBERS),
    ],
)
def test_a_total_in_any_form_is_a_number_or_unknown(written: object, read: int | None) -> None:
    """K057."""
    body = json.dumps({"messages": [{"status": "ok", "total": written}], "collection": []}).encode()
    assert parse_details(body).total == read


def test_dates_are_padded(payload: Callable[[str], bytes], row: Row) -> None:
    """K060: `2020-1-2` is compared and shown as a date, not as text."""
    posts = parse_details(payload("window-old-shape.json")).posts
    assert [post.date for post in posts] == ["2020-01-02", "2020-01-02"]
    june, july = (one(row(1, date=date)).published for date in ("2026-6-30", "2026-07-15"))
    assert june is not None
    assert july is not None
    assert june < july
    assert one(row(1, date="soon")).published is None


@pytest.mark.parametrize("doi", ["10.64898/2025.12.01.123456", "10.1101/2024.01.02.24300691", "10.1101/012345"])
def test_dois_of_both_registrants_are_read_without_their_version(doi: str, row: Row) -> None:
    """K059."""
    assert one(row(1, doi=f"{doi.upper()}v2")).doi == doi


def test_withdrawn_preprints_are_retracted_and_nothing_is_said_of_the_others(
    payload: Callable[[str], bytes], row: Row
) -> None:
    assert (
        preprint_of(parse_details(payload("window-last-page.json")).posts[1:], "biorxiv").correction_status
        == "retracted"
    )
    said = "This manuscript has been withdrawn by its authors."
    assert one(row(1, abstract=said)).correction_status == "retracted"
    assert one(row(1, type="withdrawn")).correction_status == "retracted"
    assert one(row(1, abstract="Fish withdrawn from the tank died.")).correction_status == "unknown"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("cc_by", "cc by"),
        ("cc_by_nc_nd", "cc by-nc-nd"),
        ("CC-BY-NC", "cc by-nc"),
        ("cc0", "cc0"),
        ("cc_no", "cc_no"),
        ("", None),
        ("NA", None),
    ],
)
def test_licences_are_written_as_europe_pmc_does(code: str, shown: str | None, row: Row) -> None:
    assert one(row(1, license=code)).license == shown


@pytest.mark.parametrize(
    ("listed", "names"),
    [
        ("Wang, Z.-X.; O'Regan, A.", [("Wang", None, "ZX"), ("O'Regan", None, "A")]),
        ("MacMullen,, L. E.", [("MacMullen", None, "LE")]),
        ("Doe, Jane Mary", [("Doe", "Jane Mary", "JM")]),
        ("VR, A.", [("VR", None, "A")]),
        ("Madonna", [("Madonna", None, None)]),
        ("Doe, J.;", [("Doe", None, "J")]),
        ("NA", []),
    ],
)
def test_author_names_are_taken_apart(listed: str, names: list[tuple[str, str | None, str | None]], row: Row) -> None:
    assert [(a.family, a.given, a.initials) for a in one(row(1, authors=listed)).authors] == names


def test_rows_without_doi_or_title_are_named_and_the_others_read(row: Row, page: PageOf) -> None:
    body = json.dumps(page([row(1), row(2, doi="NA"), row(3, title=""), "text", row(4)])).encode()
    read = parse_details(body)
    assert [post.title for post in read.posts] == ["Synthetic preprint 1", "Synthetic preprint 4"]
    assert (read.rows, len(read.unreadable)) == (5, 3)
    assert read.unreadable[0] == "row 2 has no DOI or title"


# --- answers that are none --------------------------------------------------------------------------------------------


def test_no_posts_found_is_an_answer(payload: Callable[[str], bytes]) -> None:
    """K056: without the member `collection`."""
    assert parse_details(payload("no-posts-found.json")) == Page()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  \n",
        b"Error : (2002) Connection refused",
        b"[]",
        b'"text"',
        b"null",
        b'{"messages":[{"status":"ok","total":"5"}]}',
        b'{"messages":[{"status":"funder value not found"}]}',
        b'{"messages":[],"collection":{}}',
        b'{"messages":[{"status":"ok"}],"collection":[{"doi"',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_an_outage_is_no_empty_window(body: bytes) -> None:
    """An empty body, a line of text or half an answer under status 200."""
    with pytest.raises(TransientAnswer):
        parse_details(body)


def test_a_raw_line_break_inside_a_text_is_survived(row: Row) -> None:
    body = json.dumps({"collection": [row(1, abstract="one@two")]}).replace("@", "\n").encode()
    assert preprint_of(parse_details(body).posts, "biorxiv").abstract_text == "one\ntwo"


# --- typesetting marks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        ("Plain text.", [(None, "Plain text.")]),
        ("", []),
        ("AimTo see. ResultsInsulin fell.", [("Aim", "To see."), ("Results", "Insulin fell.")]),
        ("Methods & FindingsThis was seen.", [("Methods & Findings", "This was seen.")]),
        ("Background and aimsWe looked.", [("Background and aims", "We looked.")]),
        ("Aim: the objective.\n\nMethods: done.", [("Aim", "the objective."), ("Methods", "done.")]),
        ("AO_SCPLOWBSTRACTC_SCPLOWO_ST_ABSBackgroundC_ST_ABSThe index.", [("Background", "The index.")]),
        ("Lead.\n\nO_ST_ABSWhat is knownC_ST_ABSMuch.", [(None, "Lead."), ("What is known", "Much.")]),
        ("O_LIOneC_LIO_LISCI twoC_LI", [(None, "One\nSCI two")]),
        ('End.\n\nGraphical Abstract\n\nO_FIG SRC="f.gif" ALT="Figure 1">\nView (47K)\nC_FIG', [(None, "End.")]),
        ("Methods were sound. Results of trials vary.", [(None, "Methods were sound. Results of trials vary.")]),
        ("The MethodsX journal. DataMed is a database.", [(None, "The MethodsX journal. DataMed is a database.")]),
        ("V483{Delta} and {beta}-cells, 5{+/-}1, 37{degrees}C", [(None, "V483Δ and β-cells, 5±1, 37°C")]),
        ("[~]13 and [&le;]10, BRAF [V600E], {not known}", [(None, "~13 and ≤10, BRAF [V600E], {not known}")]),
        ("P&lt;0.001 and <i>n</i> = 3", [(None, "P<0.001 and n = 3")]),
    ],
)
def test_marks_are_cleaned_where_they_can_be_nothing_else(raw: str, parts: list[tuple[str | None, str]]) -> None:
    assert list(read_abstract(raw)) == [Part(label, text) for label, text in parts]


def test_titles_are_one_line() -> None:
    assert read_title("The {alpha}4\n<i>allele</i> of O_SCPLOWAPOEC_SCPLOW") == "The α4 allele of APOE"


def test_an_unlabelled_abstract_has_no_sections(row: Row) -> None:
    preprint = one(row(1, abstract="First.\n\nSecond."))
    assert (preprint.abstract_text, preprint.abstract_sections) == ("First.\nSecond.", ())
    assert one(row(1, abstract="NA")).abstract_text is None
    assert abstract_text(()) is None


def test_the_text_of_every_section_stands_in_the_abstract(payload: Callable[[str], bytes]) -> None:
    preprint = preprint_of(parse_details(payload("window-first-page.json")).posts[:1], "biorxiv")
    assert preprint.abstract_text is not None
    assert all(part.text in preprint.abstract_text for part in preprint.abstract_sections)


# --- kept pages -------------------------------------------------------------------------------------------------------

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def kept(cursor: int, body: bytes) -> KeptPage:
    return KeptPage.of(parse_details(body), Place("biorxiv", "2026-07-01", "2026-07-03", None, cursor), NOW)


def test_a_kept_page_gives_back_what_was_read(payload: Callable[[str], bytes]) -> None:
    body = payload("window-first-page.json")
    page = kept(0, body)
    assert tuple(page.posts()) == parse_details(body).posts
    assert (page.rows, page.total, page.category) == (3, 5, "all")


def test_the_pages_longest_unused_go_first(payload: Callable[[str], bytes]) -> None:
    pages = [kept(cursor, payload("window-first-page.json")) for cursor in (0, 3, 6)]
    store = KeptPages(most_bytes=2 * len(pages[0].packed))
    store.put(pages[0])
    store.put(pages[1])
    assert store.get(pages[0].place) is pages[0]
    store.put(pages[2])
    assert [page.place in store for page in pages] == [True, False, True]
    store.put(pages[2])
    assert len(store) == 2


# --- anything at all --------------------------------------------------------------------------------------------------

_ANSWERS = [
    PAYLOADS / f"{name}.json" for name in ("window-first-page", "window-last-page", "window-old-shape", "versions")
]


def _parsed(body: bytes) -> None:
    with contextlib.suppress(LiteratureError, TransientAnswer):
        page = parse_details(body)
        assert tuple(kept(0, body).posts()) == page.posts
        for post in page.posts:
            preprint_of([post], "biorxiv").model_dump_json()
        if page.posts:
            whole_preprint_of(page, "medrxiv").model_dump_json()


@given(body=mutated_json(_ANSWERS))
def test_mutated_answers_raise_only_errors_of_ours(body: bytes) -> None:
    """Ours: any member replaced by anything, or removed."""
    _parsed(body)


@given(body=damaged_bytes(_ANSWERS))
def test_damaged_bytes_raise_only_errors_of_ours(body: bytes) -> None:
    """Ours: bytes cut out, put in, or broken off."""
    _parsed(body)


@given(text=st.text(alphabet=st.sampled_from("OC_LISTABFGSCPW{}[]~&;.:\n MethodsResultsAnd\x00"), max_size=120))
def test_any_marks_leave_text_that_can_be_kept(text: str) -> None:
    """Ours: no mark, however broken, ends in anything but parts of cleaned text."""
    for label, part in read_abstract(text):
        assert part == part.strip()
        assert "\x00" not in part
        assert label is None or label == label.strip()


# --- recorded answers -------------------------------------------------------------------------------------------------


def test_every_recorded_answer_is_read_without_loss(shared_dir: Path) -> None:
    paths = sorted((shared_dir / "recorded" / "biorxiv").glob("*.json"))
    assert len(paths) > 3
    for path in paths:
        page = parse_details(path.read_bytes())
        assert page.unreadable == (), path.name
        assert len(page.posts) == page.rows, path.name
        for post in page.posts:
            text = abstract_text(post.abstract) or ""
            assert text, post.doi
            assert post.date.startswith("20"), post.doi
            assert not any(mark in text for mark in ("O_LI", "C_LI", "_SCPLOW", "O_ST", "O_FIG", "{beta}", "{+/-}"))


def test_both_recordings_of_one_page_give_the_same_preprints(shared_dir: Path) -> None:
    """K057, K061: numbers as numbers and as text; 100 rows are 99 preprints."""
    folder = shared_dir / "recorded" / "biorxiv"
    old, new = (
        parse_details((folder / f"details-medrxiv-interval-2024-page0-{shape}-shape.json").read_bytes())
        for shape in ("old", "new")
    )
    assert (old.total, new.total) == (15523, 15523)
    assert [post._replace(kind="") for post in old.posts] == [post._replace(kind="") for post in new.posts]
    assert (len(old.posts), len({post.doi for post in old.posts})) == (100, 99)
