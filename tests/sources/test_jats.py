"""The reader of JATS: every root, document order, tables, what is the article's own and what is not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from literature_agent.artifacts import TextSection
from literature_agent.errors import SourceError
from literature_agent.sources._jats import JatsArticle, choose, parse_jats, walk

PAYLOADS = Path(__file__).resolve().parent.parent / "payloads" / "pmc"


def from_file(name: str) -> JatsArticle:
    return parse_jats((PAYLOADS / name).read_bytes(), "pmc").articles[0]


def article(
    body: str = "", *, front: str = "", back: str = "", more: str = "", kind: str = "research-article"
) -> JatsArticle:
    """A synthetic article around the XML given; `front` stands inside `article-meta`."""
    document = (
        f'<article article-type="{kind}" xmlns:xlink="x" xmlns:mml="m"><front><article-meta>'
        f'<article-id pub-id-type="pmcid">PMC90000300</article-id>{front}</article-meta></front>'
        f"<body>{body}</body><back>{back}</back>{more}</article>"
    )
    return parse_jats(document.encode(), "pmc").articles[0]


def text(body: str) -> str:
    """Text of a body without headings."""
    (section,) = article(body).sections
    return section.text


def outline(sections: Iterable[TextSection]) -> list[tuple[int, str, str]]:
    return [(section.level, section.heading, section.text) for _, section in walk(tuple(sections))]


@pytest.fixture(scope="module")
def whole() -> JatsArticle:
    return from_file("article-2026.xml")


# --- the whole of one article -----------------------------------------------------------------------------------------


def test_front_matter_becomes_a_citation(whole: JatsArticle) -> None:
    """New ids (`pmcid`); the editor, the reviewer and the members of the group are no authors; dates by the rule."""
    record = whole.record().model_dump(mode="json", exclude_defaults=True)
    assert record == snapshot(
        {
            "title": "Bright light and sleep in H2O workers: a synthetic trial",
            "url": "https://doi.org/10.5555/synthetic.sleep.301",
            "doi": "10.5555/synthetic.sleep.301",
            "authors": [
                {
                    "family": "van der Berg",
                    "given": "Anna Maria",
                    "initials": "AM",
                    "suffix": "Jr",
                    "orcid": "0000-0002-1825-0097",
                    "affiliations": ["Institute of Dusk, Leeds, UK", "Department of Dawn, Kyoto, Japan"],
                },
                {"family": "Ōe", "affiliations": ["Department of Dawn, Kyoto, Japan"]},
                {"collective": "Sleep Light Group"},
            ],
            "first_author": "van der Berg AM Jr",
            "journal": "Synthetic Journal of Sleep",
            "journal_abbreviation": "Synth. J. Sleep",
            "year": 2026,
            "published": "2026-02-05",
            "published_online": "2026-02-05",
            "abstract_text": """\
Background: Sleep is short.
Results: It grew by 1.5 h (P < 0.001). No harm was seen.\
""",
            "abstract_sections": [
                {"label": "Background", "text": "Sleep is short."},
                {"label": "Results", "text": "It grew by 1.5 h (P < 0.001). No harm was seen."},
            ],
            "publication_types": ["research-article", "Journal Article"],
            "keywords": ["light", "sleep length"],
            "language": "en",
            "languages": ["en"],
            "related": [{"relation": "trial", "nct_id": "NCT90000301"}],
            "pmcid": "PMC90000301",
            "pmid": "90000301",
            "license": "CC BY-NC 4.0",
        }
    )


def test_body_keeps_document_order_levels_and_every_kind_of_block(whole: JatsArticle) -> None:
    """K038, K039, K023, K024: nothing lost, nothing glued, nothing twice."""
    assert outline(whole.sections) == snapshot(
        [
            (1, "", "An opening without a heading."),
            (
                1,
                "Introduction",
                "Light shifts the clock¹,² and more[1],[2]. The lamp gave 10⁴ lx on 2 m² of wall; CO2 was low.",
            ),
            (2, "1.1 Aims", "To test it."),
            (2, "", "After the aims a word more."),
            (1, "Materials and Methods", ""),
            (
                2,
                "Participants",
                """\
Groups are shown in Table 1. No group differed.
1. Adults
2. Awake at x² o'clock
SL: sleep length\
""",
            ),
            (
                2,
                "Statistics",
                """\
We fitted (1) y = a + b by least squares.
Box 1 Summary.
Inside the box
Boxed words.
Sleep is good.
Anon
line one
line two\
""",
            ),
            (1, "Results", "Sleep grew."),
            (1, "Supporting information", "S1 File Raw data."),
        ]
    )


def test_back_matter_has_its_own_sections_and_those_the_front_holds(whole: JatsArticle) -> None:
    assert outline(whole.back_sections) == snapshot(
        [
            (1, "Acknowledgements", "We thank the night."),
            (1, "Data", "None are real."),
            (1, "Competing interests", "None declared."),
            (1, "Appendix A", "More numbers."),
            (1, "Funding", "Paid by the Lamp Fund."),
            (1, "Data availability", "All data are invented."),
            (1, "Author notes", "AB planned the study."),
        ]
    )


def test_tables_are_cells_and_figures_are_captions_also_afloat(whole: JatsArticle) -> None:
    """Spans repeated, header rows joined, footnotes apart; an image of a table has no rows; no table of a reviewer."""
    assert [table.model_dump(exclude_defaults=True) for table in whole.tables] == snapshot(
        [
            {
                "label": "Table 1",
                "caption": "Groups at baseline.",
                "header": ("Measure", "Group / Light", "Group / Dark"),
                "rows": (("Age, years", "41 (3)", "42 (4)"), ("Sleep, h", "6.1", "6.1"), ("Sleep, h", "6.0", "6.2a")),
                "footnotes": ("a By diary.", "Mean (SD)."),
            },
            {"label": "Table 2", "caption": "An image."},
        ]
    )
    assert [(figure.label, figure.caption) for figure in whole.figures] == snapshot(
        [("Figure 2", "Growth. By week."), ("Figure 1", "The lamp.")]
    )


def test_cited_works_are_printed_with_their_identifiers(whole: JatsArticle) -> None:
    """K034: numbers that look like numbers stay text; ids of any rendering count, the printed form is shown."""
    assert [work.model_dump(exclude_none=True) for work in whole.cited_works] == snapshot(
        [
            {
                "citation": "Smith J, Lee K, et al. Clocks. Synth J Sleep. 2012;3(0012):4002.e26-9.",
                "pmid": "90000302",
                "doi": "10.5555/a.1",
            },
            {"citation": "Ray S, Beam L. Lamps. 1999.", "doi": "10.5555/b.2", "pmcid": "PMC90000303"},
        ]
    )


def test_words_of_reviewers_are_nowhere(whole: JatsArticle) -> None:
    assert "reviewer" not in repr((whole.sections, whole.back_sections, whole.tables, whole.cited_works)).lower()


def test_an_article_without_a_body_does_not_borrow_that_of_its_review() -> None:
    document = b"<article><front/><response><body><p>An answer.</p></body></response></article>"
    (found,) = parse_jats(document, "pmc").articles
    assert (found.has_body, found.sections) == (False, ())


# --- roots and namespaces ---------------------------------------------------------------------------------------------


def test_an_oai_envelope_with_namespaces_and_old_ids_reads_as_any_other() -> None:
    """K035, K042: namespaced, no processing-meta, a processing instruction before and in the front, id type `pmc`."""
    old = from_file("article-old-oai.xml")
    record = old.record()
    assert (record.pmcid, record.pmid, record.title) == ("PMC90000310", "90000310", "A letter")
    assert (record.journal, record.published, record.year) == ("Synthetic Letters", "2001-06", 2001)
    assert record.authors[0].display == "Ito K"


def test_paragraphs_directly_in_the_body_stay_before_the_section_that_follows() -> None:
    """K038: A, B, then Supp."""
    assert outline(from_file("article-old-oai.xml").sections) == [(1, "", "First.\nSecond."), (1, "Supp", "Third.")]


def test_a_bare_article_and_front_matter_alone_are_read() -> None:
    meta = b'<article-meta><article-id pub-id-type="doi">10.5555/X</article-id></article-meta>'
    alone = parse_jats(b"<article><front>" + meta + b"</front></article>", "pmc").articles[0]
    assert (alone.ids, alone.has_body, alone.sections) == ({"doi": "10.5555/x"}, False, ())


def test_the_article_is_chosen_by_its_id_not_by_its_place() -> None:
    """Never another paper's text under the asked id."""
    found = parse_jats((PAYLOADS / "two-articles.xml").read_bytes(), "pmc")
    second = choose(found.articles, "PMC90000321")
    assert second is not None
    assert second.sections[0].text == "Text of the second."
    assert choose(found.articles, "PMC90000322") is None
    assert found.unavailable == {"PMC90000399": "The following PMCID is not available: 90000399"}


def test_a_sole_article_that_states_no_id_asked_is_taken() -> None:
    alone = parse_jats(b"<article><front/><body><p>x</p></body></article>", "pmc").articles
    assert choose(alone, "PMC90000301") is alone[0]


@pytest.mark.parametrize("name", ["not-available.xml", "not-available-old.xml"])
def test_an_unavailable_id_is_named_in_both_forms_of_the_answer(name: str) -> None:
    found = parse_jats((PAYLOADS / name).read_bytes(), "pmc")
    assert found.articles == ()
    assert list(found.unavailable) == ["PMC90000399"]


def test_an_oai_error_leaves_nothing_to_read() -> None:
    body = b'<OAI-PMH xmlns="http://x/"><error code="idDoesNotExist">No such record</error></OAI-PMH>'
    assert parse_jats(body, "pmc").unavailable == {"": "No such record"}


@pytest.mark.parametrize("body", [b"<html><body>x</body></html>", b"<feed xmlns='a'/>", b"<article><body>", b"{}", b""])
def test_a_document_with_nothing_known_is_an_error_not_an_empty_list(body: bytes) -> None:
    """K035."""
    with pytest.raises(SourceError) as caught:
        parse_jats(body, "europepmc")
    assert caught.value.reason == "europepmc_invalid_response"


def test_a_document_type_that_defines_entities_is_refused() -> None:
    """K032."""
    with pytest.raises(SourceError):
        parse_jats(b'<!DOCTYPE article [<!ENTITY a "aaaa">]><article><body><p>&a;</p></body></article>', "pmc")


# --- text -------------------------------------------------------------------------------------------------------------


def test_text_after_a_section_stands_after_it() -> None:
    """K038, deeper: between and after sections too."""
    body = "<sec><title>A</title><p>1</p><sec><title>B</title><p>2</p></sec><p>3</p></sec><p>4</p><sec><p>5</p></sec>"
    assert outline(article(body).sections) == [
        (1, "A", "1"),
        (2, "B", "2"),
        (2, "", "3"),
        (1, "", "4"),
        (1, "", "5"),
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>a<sup><xref ref-type='bibr'>1</xref></sup><sup><xref ref-type='bibr'>2</xref></sup> b</p>", "a¹,² b"),
        ("<p>a<sup><xref ref-type='bibr'>1</xref>,<xref ref-type='bibr'>2</xref></sup></p>", "a¹,²"),
        ("<p>a<sup><xref ref-type='bibr'>1</xref>–<xref ref-type='bibr'>3</xref></sup></p>", "a¹–³"),
        ("<p>a <xref ref-type='bibr'>1</xref> <xref ref-type='bibr'>2</xref></p>", "a 1,2"),
        ("<p>a<sup>1</sup><sup>2</sup></p>", "a¹,²"),
        ("<p><xref ref-type='bibr'>Ito 2001</xref><xref ref-type='bibr'>Lee 2003</xref></p>", "Ito 2001, Lee 2003"),
        ("<p><xref ref-type='bibr'>1</xref>; <xref ref-type='bibr'>2</xref></p>", "1; 2"),
        ("<p><xref ref-type='bibr'>1</xref>-<xref ref-type='bibr' rid='x'/><xref ref-type='bibr'>3</xref></p>", "1-3"),
        ("<p>Fig. <xref ref-type='fig'>1</xref> <xref ref-type='fig'>2</xref></p>", "Fig. 1 2"),
    ],
)
def test_adjacent_citations_are_parted_by_a_comma(body: str, expected: str) -> None:
    assert text(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>1.73 m<sup>2</sup> of body, 10<sup>-5</sup></p>", "1.73 m² of body, 10⁻⁵"),
        ("<p>CO<sub>2</sub>, CD8<sup>+</sup></p>", "CO2, CD8+"),
        ("<p>P &lt;0.001 &amp; c.1022T&gt;C</p>", "P <0.001 & c.1022T>C"),
        ("<p>a<!-- no --><?x y?>b &#x3b2;</p>", "ab β"),
        ("<p>x <named-content>y</named-content><break/>z</p>", "x y z"),
        ("<p>a<fn><p>A note.</p></fn> b</p><p>c</p>", "a b\nA note.\nc"),
        ("<p>see <table-wrap><table><tr><td>1</td></tr></table></table-wrap>.</p>", "see."),
        ("<p>see <fig><caption><p>cap</p></caption></fig>here</p>", "see here"),
        ("<list><list-item><label>(i)</label><p>a</p><p>b</p></list-item></list>", "(i) a\nb"),
        ("<list><list-item><disp-formula><label>(2)</label><tex-math>b</tex-math></disp-formula></list-item></list>",
         "- (2) b"),
        ("<list list-type='alpha-lower'>" + "<list-item><p>x</p></list-item>" * 2 + "</list>", "a. x\nb. x"),
        ("<list list-type='roman-upper'>" + "<list-item><p>x</p></list-item>" * 2 + "</list>", "I. x\nII. x"),
        ("<list list-type='simple'><list-item><p>a</p></list-item></list>", "a"),
        ("<list><list-item><p>a</p><list><list-item><p>b</p></list-item></list></list-item></list>", "- a\n- b"),
        ("<p>before <list><list-item><p>a</p></list-item></list> after</p>", "before\n- a\nafter"),
        ("<verse-group><verse-line>a</verse-line><verse-line>b</verse-line></verse-group>", "a\nb"),
        ("<boxed-text><caption><title>Box 1</title><p>Summary.</p></caption></boxed-text>", "Box 1 Summary."),
        ("<boxed-text><label>Box 2</label><caption><p>S.</p></caption><p>x</p></boxed-text>", "Box 2 S.\nx"),
    ],
)  # fmt: skip
def test_inline_and_block_elements_keep_their_place(body: str, expected: str) -> None:
    """K023, K024, K038, K039."""
    assert text(body) == expected


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"<tex-math>\documentclass{a}\begin{document}$$\alpha^2$$\end{document}</tex-math>", r"\alpha^2"),
        ("<mml:math><mml:mfrac><mml:mi>a</mml:mi><mml:mi>b</mml:mi></mml:mfrac></mml:math>", "a/b"),
        (
            r"<alternatives><tex-math>\begin{document}a\end{document}</tex-math><mml:math><mml:mi>b</mml:mi></mml:math>"
            "</alternatives>",
            "b",
        ),
        (
            "<alternatives><inline-graphic/><textual-form>c</textual-form><textual-form>d</textual-form></alternatives>",
            "c",
        ),
        (
            "<mml:math><mml:munderover><mml:mo>∑</mml:mo><mml:mi>i</mml:mi><mml:mi>n</mml:mi></mml:munderover></mml:math>",
            "∑_i^n",
        ),
        ("<mml:math><mml:mfenced open='['><mml:mi>a</mml:mi><mml:mi>b</mml:mi></mml:mfenced></mml:math>", "[a, b)"),
    ],
)  # fmt: skip
def test_a_formula_comes_once_as_a_line(formula: str, expected: str) -> None:
    assert text(f"<p>x <inline-formula>{formula}</inline-formula> y</p>") == f"x {expected} y"


def test_a_body_of_one_scanned_block_is_text() -> None:
    assert text("<preformat>A page\n\n of  old words</preformat>") == "A page\nof old words"


def test_hidden_marks_do_not_reach_the_text() -> None:
    assert text("<p>a\u00adb\u202ec</p>") == "abc"


# --- tables -----------------------------------------------------------------------------------------------------------


def table(inside: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    (found,) = article(f"<sec><table-wrap>{inside}</table-wrap></sec>").tables
    return found.header, found.rows


def test_rows_of_heading_cells_are_the_header_where_there_is_no_thead() -> None:
    header, rows = table("<table><tr><th>A</th><th>B</th></tr><tr><th>x</th><td>1</td></tr></table>")
    assert (header, rows) == (("A", "B"), (("x", "1"),))


def test_a_table_without_heading_cells_has_no_header() -> None:
    assert table("<table><tbody><tr><td>a</td><td>b</td></tr></tbody></table>") == ((), (("a", "b"),))


def test_a_line_across_the_table_does_not_widen_it() -> None:
    header, rows = table(
        "<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td colspan='9'>All</td></tr>"
        "<tr><td>1</td><td>2</td></tr><tr><td/><td/></tr></tbody></table>"
    )
    assert (header, rows) == (("A", "B"), (("All", "All"), ("1", "2")))


def test_rowspans_beyond_the_group_and_nonsense_spans_do_no_harm() -> None:
    header, rows = table(
        "<table><tbody><tr><td rowspan='0'>a</td><td colspan='x'>b</td></tr><tr><td>c</td></tr></tbody>"
        "<tbody><tr><td>d</td><td colspan='999999'>e</td></tr></tbody></table>"
    )
    assert (header, rows) == ((), (("a", "b"), ("a", "c"), ("d", "e")))


def test_a_cals_table_is_read_like_any_other() -> None:
    header, rows = table(
        "<oasis-table><tgroup cols='3'><colspec colname='c1'/><colspec colname='c2'/><colspec colname='c3'/>"
        "<spanspec spanname='s' namest='c2' nameend='c3'/>"
        "<thead><row><entry morerows='1'>A</entry><entry namest='c2' nameend='c3'>B</entry></row>"
        "<row><entry colname='c2'>b1</entry><entry colname='c3'>b2</entry></row></thead>"
        "<tbody><row><entry>x</entry><entry spanname='s'>y</entry></row>"
        "<row><entry colname='c3'>z</entry></row></tbody></tgroup></oasis-table>"
    )
    assert (header, rows) == (("A", "B / b1", "B / b2"), (("x", "y", "y"), ("", "", "z")))


def test_of_alternatives_the_table_is_taken_not_its_image() -> None:
    assert table("<alternatives><graphic/><table><tr><td>1</td></tr></table></alternatives>") == ((), (("1",),))


def test_blocks_in_a_cell_are_parted() -> None:
    assert table("<table><tr><td><p>a</p><p>b</p></td><td>c<break/>d</td></tr></table>")[1] == (("a b", "c d"),)


@pytest.mark.parametrize("tag", ["table-wrap", "sec"])
def test_a_note_in_a_cell_is_a_footnote_of_the_table(tag: str) -> None:
    cells = (
        "<table><tr><th>A<fn><label>a</label><p>Of 9.</p></fn></th></tr>"
        "<tr><td>5<fn><p>Lost.</p></fn></td></tr></table>"
    )
    foot = "<table-wrap-foot><fn><p>Below.</p></fn></table-wrap-foot>" if tag == "table-wrap" else ""
    (found,) = article(f"<{tag}>{cells}{foot}</{tag}>").tables
    assert (found.header, found.rows) == (("A",), (("5",),))
    assert found.footnotes == ("a Of 9.", "Lost.", *(["Below."] if foot else []))


def test_a_table_in_a_cell_is_a_table_of_its_own() -> None:
    inner = "<array><tr><td>2</td><td>3</td></tr></array>"
    body = f"<table-wrap><table><tr><td>1 {inner}</td></tr></table></table-wrap>"
    assert [found.rows for found in article(body).tables] == [(("1",),), (("2", "3"),)]


def test_two_parts_of_one_table_are_one_table_if_they_have_the_same_columns() -> None:
    parts = "<table><thead><tr><th>A</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>"
    assert table(parts + parts) == (("A",), (("1",), ("1",)))


# --- front matter -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dates", "published", "online", "year"),
    [
        ('<pub-date pub-type="epub"><year>2016</year><month>9</month><day>15</day></pub-date>'
         '<pub-date pub-type="ppub"><year>2017</year><month>Nov</month></pub-date>', "2017-11", "2016-09-15", 2017),
        ('<pub-date pub-type="collection"><year>2020</year></pub-date>'
         '<pub-date pub-type="epub"><day>9</day><month>03</month><year>2021</year></pub-date>',
         "2021-03-09", "2021-03-09", 2021),
        ('<pub-date date-type="collection"><month>6</month><year>2021</year></pub-date>'
         '<pub-date date-type="pub" publication-format="electronic"><day>29</day><month>5</month><year>2021</year>'
         "</pub-date>",
         "2021-06", "2021-05-29", 2021),
        ('<pub-date pub-type="ppub"><season>Winter</season><year>2016</year></pub-date>', "2016", None, 2016),
        ('<pub-date pub-type="pmc-release"><year>2024</year></pub-date><history><date><year>2019</year></date>'
         "</history>", None, None, None),
        ('<pub-date pub-type="epub" iso-8601-date="2023-07-28"/>', "2023-07-28", "2023-07-28", 2023),
        ('<pub-date pub-type="ppub"><string-date>June 2015</string-date></pub-date>', "2015-06", None, 2015),
    ],
)  # fmt: skip
def test_dates_follow_the_written_rule(dates: str, published: str | None, online: str | None, year: int | None) -> None:
    """K027, K028."""
    record = article(front=dates).record()
    assert (record.published, record.published_online, record.year) == (published, online, year)


def test_a_name_that_is_not_taken_apart_stays_in_one_piece() -> None:
    """K029."""
    front = (
        "<contrib-group><contrib contrib-type='author'><string-name>Plato of Athens</string-name></contrib>"
        "<contrib><name-alternatives><name><surname>王</surname></name><name><surname>Wang</surname></name>"
        "</name-alternatives><on-behalf-of>the Club</on-behalf-of></contrib>"
        "<contrib><name><surname>Ed</surname></name><role>Academic Editor</role></contrib>"
        "<contrib contrib-type='non-byline author'><name><surname>Member</surname></name></contrib>"
        "<contrib contrib-type='guest-editor'><name><surname>Guest</surname></name></contrib>"
        "<contrib contrib-type='author'><anonymous/></contrib></contrib-group>"
    )
    authors = article(front=front).record().authors
    assert [(a.family, a.given, a.collective) for a in authors] == [
        ("Plato of Athens", None, None),
        ("王", None, None),
        (None, None, "the Club"),
    ]


def test_one_address_without_a_mark_is_everybodys() -> None:
    front = (
        "<contrib-group><contrib><name><surname>A</surname></name></contrib><contrib><name><surname>B</surname></name>"
        "</contrib><aff><institution>X</institution><country>Y</country></aff></contrib-group>"
    )
    assert [a.affiliations for a in article(front=front).record().authors] == [("X, Y",), ("X, Y",)]


def test_paragraphs_of_an_abstract_are_parts_without_label() -> None:
    record = article(front="<abstract><p>One.</p><p>Two.</p></abstract>").record()
    assert record.abstract_text == "One.\nTwo."
    assert [(part.label, part.text) for part in record.abstract_sections] == [(None, "One."), (None, "Two.")]


def test_an_abstract_of_another_kind_is_taken_only_if_it_is_one() -> None:
    assert article(front="<abstract abstract-type='graphical'><p>x</p></abstract>").record().abstract_text is None
    assert article(front="<abstract abstract-type='structured'><p>x</p></abstract>").record().abstract_text == "x"
    both = "<abstract xml:lang='fr'><p>fr</p></abstract><abstract><p>en</p></abstract>"
    body = f'<article xml:lang="en"><front><article-meta>{both}</article-meta></front></article>'
    assert parse_jats(body.encode(), "pmc").articles[0].record(pmcid="PMC1").abstract_text == "en"


@pytest.mark.parametrize(
    ("inside", "license"),
    [
        ('<license xlink:href="http://creativecommons.org/licenses/by-nc-nd/3.0/"/>', "CC BY-NC-ND 3.0"),
        ("<license><license_ref>https://creativecommons.org/publicdomain/zero/1.0/</license_ref></license>", "CC0 1.0"),
        ('<license><license-p>See <ext-link xlink:href="https://creativecommons.org/licenses/by/4.0/">here</ext-link>'
         "</license-p></license>", "CC BY 4.0"),
        ('<license xlink:href="https://publisher.example/tdm"><license-p>Words.</license-p></license>',
         "https://publisher.example/tdm"),
        ("<license><license-p>For text mining only.</license-p></license>", "For text mining only."),
        ("<copyright-year>2020</copyright-year>", None),
    ],
)  # fmt: skip
def test_licences_are_named_alike(inside: str, license: str | None) -> None:
    assert article(front=f"<permissions>{inside}</permissions>").record().license == license


@pytest.mark.parametrize(
    ("kind", "title", "link", "is_notice", "status", "notices"),
    [
        ("correction", "Correction to: X", ("corrected-article", "doi", "10.5555/X"), True, "unknown",
         [("correction_of", "10.5555/x")]),
        ("retraction", "Retraction: X", ("retracted-article", "pubmed", "90000001"), True, "unknown",
         [("retraction_of", "90000001")]),
        ("research-article", "Retraction: X", None, True, "unknown", []),
        ("research-article", "Retraction of the gum after surgery", None, False, "unknown", []),
        ("research-article", "X", ("retraction-forward", "doi", "10.5555/R"), False, "retracted",
         [("retracted_by", "10.5555/r")]),
        ("research-article", "RETRACTED: X", None, False, "retracted", []),
        ("research-article", "X", ("correction-forward", "pmc", "90000002"), False, "corrected",
         [("corrected_by", None)]),
        ("expression-of-concern", "X", ("object-of-concern", "doi", "10.5555/C"), True, "unknown",
         [("concern_about", "10.5555/c")]),
        ("research-article", "X", ("companion", "doi", "10.5555/D"), False, "unknown", []),
    ],
)  # fmt: skip
def test_a_notice_is_told_from_the_paper_it_is_about(
    kind: str,
    title: str,
    link: tuple[str, str, str] | None,
    is_notice: bool,
    status: str,
    notices: list[tuple[str, str | None]],
) -> None:
    """K036: the paper is flagged, and the notice is typed as one, never the other way round."""
    related = (
        f'<related-article related-article-type="{link[0]}" ext-link-type="{link[1]}" xlink:href="{link[2]}"/>'
        if link
        else ""
    )
    front = f"<title-group><article-title>{title}</article-title></title-group>{related}"
    record = article(front=front, kind=kind).record()
    assert (record.is_notice, record.correction_status) == (is_notice, status)
    assert [(notice.kind, notice.reference_id) for notice in record.notices] == notices


def test_preprints_say_so_and_name_their_kin() -> None:
    front = '<related-article related-article-type="preprint" ext-link-type="doi" xlink:href="10.5555/Pre"/>'
    paper = article(front=front).record()
    assert [(other.relation, other.doi) for other in paper.related] == [("preprint", "10.5555/pre")]
    assert article(kind="preprint").record().is_preprint


def test_type_of_article_comes_as_written_and_in_the_words_of_pubmed() -> None:
    assert article(kind="review-article").record().publication_types == ("review-article", "Review")


def test_reference_lists_deep_in_the_body_count_and_are_no_text() -> None:
    body = "<sec><title>A</title><p>x</p><ref-list><ref><note><p>See the web.</p></note></ref></ref-list></sec>"
    found = article(body)
    assert [work.citation for work in found.cited_works] == ["See the web."]
    assert outline(found.sections) == [(1, "A", "x")]


def test_dirty_identifiers_of_cited_works_are_left_out() -> None:
    refs = (
        '<ref-list><ref><mixed-citation>A. <pub-id pub-id-type="pmid">NOT_FOUND</pub-id>'
        '<pub-id pub-id-type="doi">10.5555/ok</pub-id><ext-link xlink:href="https://pubmed.ncbi.nlm.nih.gov/90000009/"/>'
        "</mixed-citation></ref></ref-list>"
    )
    (work,) = article(back=refs).cited_works
    assert work.model_dump() == {"citation": "A.", "pmid": "90000009", "doi": "10.5555/ok", "pmcid": None}


def test_a_record_needs_a_pmcid_from_the_article_or_from_the_asker() -> None:
    bare = parse_jats(b"<article><front/></article>", "pmc").articles[0]
    assert bare.record(pmcid="PMC90000301", doi="10.5555/a").doi == "10.5555/a"
    with pytest.raises(ValueError, match="PMCID"):
        bare.record()


# --- recorded answers -------------------------------------------------------------------------------------------------


def test_every_recorded_article_is_read_without_loss(shared_dir: Path) -> None:
    """Whole words of every paragraph of the body stand in its text: nothing is lost on the way."""
    files = sorted((shared_dir / "recorded" / "pmc").glob("*[0-9].*ml")) + sorted(
        (shared_dir / "recorded" / "europepmc").glob("fulltextxml-*.xml")
    )
    read = 0
    for file in files:
        if "oa-cloud" in file.name:
            continue
        for found in parse_jats(file.read_bytes(), "pmc").articles:
            read += 1
            joined = "\n".join(section.text for _, section in walk(found.sections))
            body = found.element.find("body")
            for paragraph in () if body is None else body.iterfind(".//sec/p"):
                first = (paragraph.text or "").split()[:6]
                assert " ".join(first) in joined, (file.name, first)
            assert "documentclass" not in joined
            assert len(found.tables) == sum(1 for _ in found.element.iterfind("body//table-wrap")) + sum(
                1 for _ in found.element.iterfind("floats-group//table-wrap")
            )
    assert read == 21


def test_a_large_article_is_read_whole(shared_dir: Path) -> None:
    body = (shared_dir / "recorded" / "europepmc" / "fulltextxml-PMC12311175.xml").read_bytes()
    found = parse_jats(body, "europepmc").articles[0]
    assert len(found.cited_works) == 640
    assert sum(len(section.text) for _, section in walk(found.sections)) > 150_000
    assert (len(found.tables), len(found.figures)) == (7, 9)
