"""Citations checked against records, over the sandbox and against records made here."""

from __future__ import annotations

from typing import Any

import pytest

from literature_agent.artifacts import Author, DetailedArticle
from literature_agent.errors import InvalidInputError
from literature_agent.federation import Citation, match_citations
from literature_agent.federation.citations import MOST_CITATIONS, compare, is_meant
from literature_agent.results import CitationMatch
from literature_agent.sandbox import SandboxServer
from literature_agent.sources import europepmc, pubmed
from literature_agent.transport import Transport

# Of the packaged corpus: PMID 90000101.
TITLE = "Metformin to slow cognitive decline in older adults with type 2 diabetes"
SUBTITLE = "a 24-month double-blind randomised trial"
JOURNAL = "Synthetic Journal of Geriatric Medicine"
WHOLE = f"Lindqvist ÅM, Nair PR. {TITLE}: {SUBTITLE}. {JOURNAL}. 2021;48(3):201-12."
FIELDS = {
    "first_author": "Lindqvist",
    "title": TITLE,
    "journal": JOURNAL,
    "year": 2021,
    "volume": "48",
    "first_page": "201",
    "doi": "10.5555/synthetic.90000101",
}


async def match(wire: Transport, citation: str | Citation) -> CitationMatch:
    (found,) = await match_citations(wire, [citation])
    return found


def differing(found: CitationMatch) -> list[str]:
    return [one.field for one in found.differs]


# --- matched ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "citation",
    [
        WHOLE,
        f"{WHOLE} doi:10.5555/synthetic.90000101",
        f"Lindqvist, Å. M., & Nair, P. R. (2021). {TITLE}. {JOURNAL}, 48(3), 201–212.",
        f"Lindqvist ÅM. {TITLE}: a 24-month double-blind randomized trial. J Synth Geriatr Med 2021",
        "Lindqvist ÅM. Synth J Geriatr Med. 2021;48:201",
        f"Lindqvist (2021). {TITLE}.",
        "PMID: 90000101",
        "https://doi.org/10.5555/Synthetic.90000101",
    ],
)
async def test_a_true_citation_is_matched_and_the_pmid_is_all_digits(wire: Transport, citation: str) -> None:
    """K007."""
    found = await match(wire, citation)
    assert (found.status, found.pmid, found.differs) == ("matched", "90000101", ())
    assert isinstance(found.artifact, DetailedArticle)


async def test_as_many_come_back_as_went_in_in_order_by_the_callers_own_keys(wire: Transport) -> None:
    """K008: equal keys, and one citation that upstream answers with nothing."""
    second = {**FIELDS, "volume": "49", "title": None, "doi": None, "first_author": None, "year": None}
    found = await match_citations(
        wire,
        [
            Citation(key="a", **FIELDS),
            Citation.model_validate({"key": "a", **second}),
            Citation(key="b", pmid="90000103"),
        ],
    )
    assert [(one.key, one.status, one.pmid) for one in found] == [
        ("a", "matched", "90000101"),
        ("a", "unknown", None),
        ("b", "matched", "90000103"),
    ]


async def test_a_citation_of_a_paper_is_not_its_notice(wire: Transport, sandbox: SandboxServer) -> None:
    """K009: and the retracted paper is found as such."""
    paper = sandbox.corpus.by_pmid["90000701"]
    found = await match(wire, Citation(title=paper.title, year=2017))
    assert found.pmid == "90000701"
    assert found.artifact is not None
    assert found.artifact.correction_status == "retracted"
    assert not found.artifact.is_notice


async def test_a_preprint_outside_pubmed_is_matched_at_europe_pmc(wire: Transport, sandbox: SandboxServer) -> None:
    record = next(one for one in sandbox.corpus.europepmc.records if one["source"] == "PPR")
    found = await match(wire, f"https://doi.org/{record['doi']}")
    assert (found.status, found.pmid, found.doi) == ("matched", None, record["doi"].lower())


# --- miscited ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("journal", "Nature Medicine"),
        ("year", 2012),
        ("volume", "84"),
        ("first_page", "102"),
        ("first_author", "Okafor"),
        ("title", "A wholly different title about other things"),
        ("doi", "10.5555/synthetic.90000103"),
    ],
)
async def test_one_wrong_field_is_named_with_what_is_right(wire: Transport, field: str, wrong: str | int) -> None:
    """K081."""
    found = await match(wire, Citation.model_validate({**FIELDS, field: wrong}))
    assert (found.status, found.pmid, differing(found)) == ("miscited", "90000101", [field])
    assert found.differs[0].given == str(wrong)
    assert found.differs[0].found not in (None, str(wrong))


async def test_a_real_doi_with_a_wrong_journal_alone_is_miscited(wire: Transport) -> None:
    """K081."""
    found = await match(wire, Citation(doi="10.5555/synthetic.90000101", journal="Nature"))
    assert (found.status, differing(found)) == ("miscited", ["journal"])


async def test_a_slip_in_the_title_is_named(wire: Transport) -> None:
    found = await match(
        wire, Citation(title=f"{TITLE}: {SUBTITLE}".replace("slow", "show"), doi=FIELDS["doi"], year=2021)
    )
    assert (found.status, differing(found)) == ("miscited", ["title"])


# --- unknown ----------------------------------------------------------------------------------------------------------


async def test_an_invented_citation_is_unknown(wire: Transport) -> None:
    """K080."""
    found = await match(wire, "Author 2021 time travel psychology")
    assert (found.status, found.pmid, found.artifact) == ("unknown", None, None)


async def test_a_real_title_with_wrong_author_and_year_is_no_match(wire: Transport) -> None:
    """K080: title and author or year must agree."""
    found = await match(wire, f"Okafor N. {TITLE}: {SUBTITLE}. 1999")
    assert found.status == "unknown"


async def test_a_title_alone_matches_nothing(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.requests.clear()
    found = await match(wire, f"{TITLE}: {SUBTITLE}")
    assert (found.status, found.pmid) == ("unknown", None)
    assert "title alone" in str(found.note)
    assert not sandbox.requests


async def test_an_identifier_of_another_work_makes_no_match(wire: Transport) -> None:
    """K080: an identifier alone does not make an invented paper real."""
    found = await match(wire, "Doe J. Something else about mice. Cell. 2020;1:2. PMID: 90000101")
    assert (found.status, found.note) == ("unknown", "The identifier given belongs to another work.")


@pytest.mark.parametrize(
    "citation", ["", "  ", "???", "\x00", "PMID: 99999999", "10.5555/no.such.record", "x" * 100_000]
)
async def test_what_names_nothing_is_unknown_with_a_reason(wire: Transport, citation: str) -> None:
    found = await match(wire, citation)
    assert found.status == "unknown"
    assert found.note


async def test_an_ambiguous_place_is_said_to_be_so(transport: Transport, desk: Any) -> None:
    desk.answers("ecitmatch", "j|2021|48|201||lacit0x|AMBIGUOUS (3 citations)\n", kind="text/plain")
    found = await match(transport, Citation(journal="J Synth", volume="48", first_page="201", year=2021))
    assert (found.status, found.note) == ("unknown", "Journal, volume and page fit several works; add the title.")
    assert desk.count("ecitmatch") == 1


RECORD = (
    "<PubmedArticle><MedlineCitation><PMID>{0}</PMID><Article><Journal><JournalIssue><Volume>48</Volume><PubDate><Year>"
    "2021</Year></PubDate></JournalIssue><Title>J Synth</Title></Journal><ArticleTitle>{1}</ArticleTitle><Pagination>"
    "<MedlinePgn>201</MedlinePgn></Pagination><AuthorList><Author><LastName>Doe</LastName></Author></AuthorList>"
    "<PublicationTypeList><PublicationType>{2}</PublicationType></PublicationTypeList></Article></MedlineCitation>"
    "</PubmedArticle>"
)
HEADING = "Yearly highlights of widgets"


@pytest.mark.parametrize("is_paper_there", [True, False])
@pytest.mark.parametrize("title", [HEADING, f"Correction: {HEADING}"])
async def test_a_notice_that_stands_before_its_paper_is_not_taken_for_it(
    title: str, is_paper_there: bool, transport: Transport, desk: Any
) -> None:
    """K009."""
    notice, paper = RECORD.format(90000001, title, "Published Erratum"), RECORD.format(90000002, HEADING, "Review")
    desk.answers("esearch", '{"esearchresult":{"count":"2","idlist":["90000001","90000002"]}}')
    desk.answers("efetch", f"<PubmedArticleSet>{notice}{paper * is_paper_there}</PubmedArticleSet>", kind="text/xml")
    desk.answers("europepmc", '{"hitCount":0,"resultList":{"result":[]}}')
    found = await match(transport, f"Doe J. {HEADING}. 2021.")
    assert (found.status, found.pmid) == (("matched", "90000002") if is_paper_there else ("unknown", None))


@pytest.mark.parametrize("citation", ["Doe J. J Synth. 2021;48:201", "Doe J. Yearly highlights of widgets. 2021."])
async def test_of_several_works_that_fit_as_well_none_is_picked(citation: str, transport: Transport, desk: Any) -> None:
    """K073: a heading that recurs, or letters that begin on one page."""
    records = RECORD.format(90000001, HEADING, "Editorial") + RECORD.format(90000002, HEADING, "Editorial")
    desk.answers("ecitmatch", "j|2021|48|201||lacit0x|AMBIGUOUS 90000001,90000002\n", kind="text/plain")
    desk.answers("esearch", '{"esearchresult":{"count":"2","idlist":["90000001","90000002"]}}')
    desk.answers("efetch", f"<PubmedArticleSet>{records}</PubmedArticleSet>", kind="text/xml")
    desk.answers("europepmc", '{"hitCount":0,"resultList":{"result":[]}}')
    found = await match(transport, citation)
    assert (found.status, found.pmid) == ("unknown", None)
    assert "fit" in str(found.note)
    assert (await match(transport, f"{citation} PMID: 90000002")).pmid == "90000002"


# --- failures ---------------------------------------------------------------------------------------------------------


async def test_a_failing_source_makes_failed_and_never_unknown(wire: Transport, sandbox: SandboxServer) -> None:
    """K095."""
    sandbox.faults.set("all", "server_error")
    found = await match_citations(wire, [WHOLE, "PMID: 90000101", "Author 2021 time travel psychology"])
    assert [one.status for one in found] == ["failed"] * 3
    assert all(one.error is not None and one.error.retryable for one in found)


async def test_what_europe_pmc_still_answers_is_matched(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.faults.set("eutils", "html")
    found = await match(wire, f"{WHOLE} doi:10.5555/synthetic.90000101")
    assert (found.status, found.pmid) == ("matched", "90000101")


async def test_one_failing_utility_costs_no_citation_that_has_another_way(
    wire: Transport, sandbox: SandboxServer
) -> None:
    sandbox.faults.set("eutils", "server_error", path="ecitmatch")
    found = await match_citations(wire, [WHOLE, "Doe J. Synth J. 2020;1:2"])
    assert [one.status for one in found] == ["matched", "failed"]


async def test_only_the_sources_allowed_are_asked(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.requests.clear()
    await match_citations(wire, [WHOLE, "10.5555/no.such.record"], sources=[pubmed.SOURCE])
    assert all("/europepmc/" not in asked.path for asked in sandbox.requests)
    sandbox.requests.clear()
    (found,) = await match_citations(wire, [WHOLE], sources=[europepmc.SOURCE])
    assert found.status == "matched"
    assert all("/europepmc/" in asked.path for asked in sandbox.requests)


async def test_too_many_citations_are_refused(wire: Transport) -> None:
    with pytest.raises(InvalidInputError, match="10,000 citations are too many"):
        await match_citations(wire, ["x"] * 10_000)
    assert await match_citations(wire, []) == ()
    assert MOST_CITATIONS < 10_000


# --- comparing, without a network -------------------------------------------------------------------------------------


def record(**members: Any) -> DetailedArticle:
    fields = {
        "pmid": "90000001",
        "title": "Synthetic findings in older adults: Part I",
        "authors": (Author(family="van den Broek", initials="HJ"), Author(family="Doe", initials="J")),
        "first_author": "van den Broek HJ",
        "journal": "The New England journal of medicine",
        "journal_abbreviation": "N Engl J Med",
        "year": 2017,
        "published_online": "2016-12-30",
        "volume": "12",
        "pages": "0737-738",
    }
    return DetailedArticle.model_validate({**fields, **members})


@pytest.mark.parametrize(
    ("field", "given", "agrees"),
    [
        ("first_author", "Broek", True),
        ("first_author", "van den Broek HJ", True),
        ("first_author", "Doe", False),
        ("journal", "NEJM", True),
        ("journal", "New England Journal of Medicine", True),
        ("journal", "N. Engl. J. Med.", True),
        ("journal", "Lancet", False),
        ("journal", "N Engl J Surg", False),
        ("year", 2016, True),
        ("year", 2017, True),
        ("year", 2018, False),
        ("first_page", "737", True),
        ("first_page", "738", False),
        ("title", "SYNTHETIC FINDINGS in older adults. Part I.", True),
        ("title", "Synthetic findings in older adults: Part II", False),
        ("title", "Synthetic findings in older adults", False),
        ("title", "Synthetic findings", False),
    ],
)
def test_fields_agree_as_people_write_them(field: str, given: str | int, agrees: bool) -> None:
    compared = compare(Citation.model_validate({field: given}), record())
    assert (field in compared.agrees, [one.field for one in compared.differs]) == (agrees, [] if agrees else [field])


def test_part_one_is_not_part_two_even_with_the_same_author_and_year() -> None:
    """K072."""
    citation = Citation(title="Synthetic findings in older adults: Part II", first_author="Broek", year=2017)
    assert not is_meant(citation, compare(citation, record()))


@pytest.mark.parametrize("title", ["Editorial", "Hepatology Highlights"])
def test_a_recurring_heading_and_a_year_name_no_paper(title: str) -> None:
    """K073."""
    citation = Citation(title=title, year=2017)
    assert not is_meant(citation, compare(citation, record(title=title)))


def test_a_title_may_be_cut_at_its_subtitle() -> None:
    whole = record(title="Synthetic findings in older adults with rare conditions: a 24-month trial")
    assert "title" in compare(Citation(title="Synthetic findings in older adults with rare conditions"), whole).agrees


def test_a_group_and_a_correction_are_told_from_the_paper() -> None:
    group = record(authors=(Author(collective="SYNTH Study Group"),), first_author="SYNTH Study Group")
    assert "first_author" in compare(Citation(first_author="Synth Study Group"), group).agrees
    notice = record(title="Author Correction: Synthetic findings in older adults: Part I", is_notice=True)
    citation = Citation(title="Synthetic findings in older adults: Part I", year=2017)
    assert not is_meant(citation, compare(citation, notice))
    assert is_meant(
        citation.model_copy(update={"title": notice.title}),
        compare(citation.model_copy(update={"title": notice.title}), notice),
    )


def test_what_the_record_does_not_say_is_no_difference() -> None:
    bare = DetailedArticle(pmid="90000001", title="Synthetic findings in older adults", year=2017)
    citation = Citation(
        title=bare.title, year=2017, journal="J", volume="1", first_page="2", first_author="Doe", doi="10.5555/a"
    )
    assert compare(citation, bare).differs == ()
