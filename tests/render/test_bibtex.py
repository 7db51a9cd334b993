"""BibTeX."""

from __future__ import annotations

from typing import Any

import pytest
from bibtexparser import middlewares
from bibtexparser.entrypoint import parse_string
from hypothesis import given
from hypothesis import strategies as st
from pylatexenc.latex2text import LatexNodes2Text

from literature_agent.artifacts import Author, BioRxivPreprint, ClinicalTrial, EuropePMCArticle, MeshHeading
from literature_agent.render.bibtex import bibtex_text, render_bibtex

from .conftest import article


def _authors(*authors: Author) -> str:
    written = render_bibtex([article(1, authors=authors)])
    return next(line for line in written.splitlines() if line.startswith("  author")).removeprefix("  author = ")


def test_an_article_is_written_whole() -> None:
    record = article(1, title="Final report.", published="2021-03-04", pages="201-12", issn="1234-5678", language="eng")
    assert render_bibtex([record]) == (
        "@article{lindqvist2021,\n"
        "  author = {Lindqvist, Å. M. and Nair, P. R.},\n"
        "  title = {{Final report}},\n"
        "  journal = {Synthetic Journal of Tests},\n"
        "  year = {2021},\n"
        "  month = mar,\n"
        "  volume = {48},\n"
        "  number = {3},\n"
        "  pages = {201--212},\n"
        "  doi = {10.5555/synthetic.1},\n"
        "  pmid = {90000001},\n"
        "  issn = {1234-5678},\n"
        "  language = {eng},\n"
        "  abstract = {Finding 1 stands here.},\n"
        "  note = {[SYNTHETIC - Made up for testing]},\n"
        "}\n"
    )


def test_nothing_gives_nothing() -> None:
    assert render_bibtex([]) == ""


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("A & B 50% $x #1 a_b", r"A \& B 50\% \$x \#1 a\_b"),
        ("~x ^2 \\n", r"\textasciitilde{}x \textasciicircum{}2 \textbackslash{}n"),
        ("B{2} {a{b}}", r"B\{2\} \{a\{b\}\}"),
        ("one { alone", r"one \{\vphantom{\}} alone"),
        ("} closed {", r"\vphantom{\{}\} closed \{\vphantom{\}}"),
        ("5'--3' a---b ``q''", "5'-{}-3' a-{}-{}-b `{}`q'{}'"),
        ("Ærø α-synuclein 中文", "Ærø α-synuclein 中文"),
    ],
)
def test_what_tex_reads_as_a_command_is_escaped(text: str, written: str) -> None:
    assert bibtex_text(text) == written


@given(st.text(st.sampled_from("\\{}&%$#_~^-'`<>,\"@= aB1é中"), max_size=40))
def test_any_title_is_read_back_and_never_ends_the_entry(title: str) -> None:
    text = " ".join(title.split())
    written = bibtex_text(text)
    assert written.count("{") == written.count("}")
    library = parse_string(f"@misc{{first,\n  title = {{{{{written}}}}},\n}}\n@misc{{second,\n  title = {{x}},\n}}\n")
    assert [entry.key for entry in library.entries] == ["first", "second"]
    typeset = LatexNodes2Text().latex_to_text(library.entries[0].fields_dict["title"].value)
    assert " ".join(typeset.replace("ˆ", "^").split()) == text


@pytest.mark.parametrize(
    ("author", "written"),
    [
        (Author(collective="KDIGO Working Group"), "{{KDIGO Working Group}}"),
        (Author(collective="Heart and Kidney Group, EX"), "{{Heart and Kidney Group, EX}}"),
        (Author(family="van der Berg", given="Jan"), "{van der Berg, Jan}"),
        (Author(family="Roe", initials="J", suffix="Jr."), "{Roe, Jr., J.}"),
        (Author(family="Villanueva y Ríos", given="C"), "{{Villanueva y Ríos}, C}"),
        (Author(family="de Souza e Silva", given="M"), "{{de Souza e Silva}, M}"),
        (Author(family="Plato"), "{Plato}"),
        (Author(family="Maria Silva"), "{{Maria Silva}}"),
        (Author(family="Roe, MD", given="J"), "{{Roe, MD}, J}"),
        (Author(family="Doe", given="Jane and John"), "{Doe, {Jane and John}}"),
        (Author(family="王", given="小明"), "{王, 小明}"),
        (Author(family="O'Neill", given="A_F"), r"{O'Neill, A\_F}"),
    ],
)
def test_names_are_written_so_that_bibtex_takes_them_apart_rightly(author: Author, written: str) -> None:
    """K126."""
    assert _authors(author) == written + ","


def test_persons_stay_plain_beside_a_group() -> None:
    """K126."""
    people = (Author(family="Doe", given="Jane"), Author(collective="KDIGO Working Group"), Author(family="Roe"))
    assert _authors(*people) == "{Doe, Jane and {KDIGO Working Group} and Roe},"


def test_a_keyword_with_a_comma_stays_one() -> None:
    """K124."""
    record = article(
        1,
        keywords=("Databases, Protein", "cohort_study"),
        mesh_headings=(MeshHeading(descriptor="Diabetes Mellitus, Type 2"),),
    )
    assert "keywords = {{Databases, Protein}, cohort\\_study, {Diabetes Mellitus, Type 2}}" in render_bibtex([record])


@pytest.mark.parametrize(
    ("record", "lines"),
    [
        (
            BioRxivPreprint(source="medrxiv", server="medrxiv", title="Early", doi="10.1101/x", year=2024, version=2),
            ("@misc{early2024,", "howpublished = {medRxiv}", "version = {2}", "{[PREPRINT - Not peer-reviewed]}"),
        ),
        (
            ClinicalTrial(nct_id="NCT01234567", title="A trial", sponsor="Nowhere", published="2020-01", year=2020),
            (
                "@misc{nowhere2020,",
                "author = {{Nowhere}}",
                "howpublished = {ClinicalTrials.gov}",
                "number = {NCT01234567}",
                "url = {https://clinicaltrials.gov/study/NCT01234567}",
            ),
        ),
        (
            EuropePMCArticle(
                epmc_id="1", epmc_source="MED", title="Part", publication_types=("Book Chapter",), journal="A Book"
            ),
            ("@incollection{partnd,", "booktitle = {A Book}"),
        ),
    ],
)
def test_preprints_trials_and_chapters_have_types_of_their_own(record: Any, lines: tuple[str, ...]) -> None:
    written = render_bibtex([record])
    for line in lines:
        assert line in written


def test_an_address_cannot_end_its_field() -> None:
    record = article(1, doi=None, url="https://example.org/a}b{c\\d%20e")
    written = render_bibtex([record])
    assert "url = {https://example.org/a%7Db%7Bc%5Cd%20e}" in written
    assert parse_string(written).failed_blocks == []


def test_an_entry_cannot_be_smuggled_in() -> None:
    record = article(1, title="x}},\n}\n@misc{evil, title={{y", journal="J}\n@misc{evil2,}")
    library = parse_string(render_bibtex([record]), append_middleware=[middlewares.SeparateCoAuthors()])
    assert [entry.key for entry in library.entries] == ["lindqvist2021"]
    assert library.failed_blocks == []
