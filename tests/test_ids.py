"""The identifier grammar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent.ids import (
    find_identifiers,
    identify,
    is_preprint_server_doi,
    joining_doi,
    normalise_doi,
    normalise_nct,
    normalise_pmcid,
    normalise_pmid,
    strip_doi_version,
)


@pytest.mark.parametrize(
    "dressed",
    [
        "https://doi.org/10.1002/X",
        "http://dx.doi.org/10.1002/x",
        "doi:10.1002/x.",
        "DOI: 10.1002/x;",
        "10.1002/x,",
        "10.1002/x?",
        "10.1002/x?!)",
        "10.1002/x10.1002/x",
        "info:doi/10.1002/X",
        " 10.1002/x ",
        "https://doi.org/10.1002%2FX",
    ],
)
def test_a_doi_in_any_dress_is_bare_and_lower_case(dressed: str) -> None:
    """K075."""
    assert normalise_doi(dressed) == "10.1002/x"


@pytest.mark.parametrize(
    "doi",
    ["10.1016/s2213-2600(14)70019-0", "10.1002/(sici)1097-0142(19960401)77:7<1255::aid-cncr5>3.0.co;2-t", "10.1/x"[:0]],
)
def test_brackets_that_belong_to_a_doi_stay(doi: str) -> None:
    if doi:
        assert normalise_doi(doi) == doi


@pytest.mark.parametrize("page", ["https://www.medrxiv.org/content/", "biorxiv.org/content/"])
def test_the_address_of_a_preprint_names_its_doi(page: str) -> None:
    doi = normalise_doi(f"{page}10.1101/2020.01.01.20123456v2.full.pdf")
    assert doi is not None
    assert strip_doi_version(doi) == "10.1101/2020.01.01.20123456"
    assert normalise_doi("https://www.biorxiv.org/content/early/2020") is None


@pytest.mark.parametrize("text", ["", "10.1002", "10.1002/", "metformin", "11.1002/x", "see 10.1002/x and y"])
def test_what_is_no_doi_is_refused(text: str) -> None:
    assert normalise_doi(text) is None


@pytest.mark.parametrize(
    ("text", "pmid"),
    [("00123", "123"), ("PMID: 123", "123"), ("https://pubmed.ncbi.nlm.nih.gov/123/", "123"), ("MED:123", "123")],
)
def test_a_pmid_is_its_number(text: str, pmid: str) -> None:
    assert normalise_pmid(text) == pmid


@pytest.mark.parametrize("text", ["10.1000/12345", "PMC123, see 45", "0", "123456789", "12.5", "PMC123"])
def test_digits_are_never_cut_out_of_text_to_make_a_pmid(text: str) -> None:
    """K018."""
    assert normalise_pmid(text) is None


@pytest.mark.parametrize("text", ["PMC3531190", "pmc3531190", "PMCID: PMC3531190", "PMC3531190.2", " PMC03531190 "])
def test_a_pmcid_in_any_dress(text: str) -> None:
    assert normalise_pmcid(text) == "PMC3531190"


def test_bare_digits_are_no_pmcid() -> None:
    """K021."""
    assert normalise_pmcid("3531190") is None
    assert identify("1017419") == ("pmid", "1017419")


@pytest.mark.parametrize(
    ("text", "nct"),
    [("nct03722472", "NCT03722472"), (" NCT03722472 ", "NCT03722472"), ("NCT1234567", None), ("NCT00000000", None)],
)
def test_an_nct_number_has_eight_digits(text: str, nct: str | None) -> None:
    """K071."""
    assert normalise_nct(text) == nct


@pytest.mark.parametrize(
    ("doi", "bare"),
    [
        ("10.1101/2020.01.01.123456v2", "10.1101/2020.01.01.123456"),
        ("10.1101/2020.01.01.123456v1.full.pdf", "10.1101/2020.01.01.123456"),
        ("10.64898/2026.07.13.738249", "10.64898/2026.07.13.738249"),
        ("10.1101/gad.123v2", "10.1101/gad.123v2"),
        ("10.1002/hep.29805v2", "10.1002/hep.29805v2"),
    ],
)
def test_only_known_version_suffixes_are_stripped(doi: str, bare: str) -> None:
    assert strip_doi_version(doi) == joining_doi(doi) == bare


@pytest.mark.parametrize(
    ("doi", "base"),
    [
        ("10.21203/rs.3.rs-9900001/v2", "10.21203/rs.3.rs-9900001"),
        ("10.20944/preprints203101.0001.v1", "10.20944/preprints203101.0001"),
        ("10.21203/rs.2.9900001/v1", "10.21203/rs.2.9900001"),
        ("10.21203/rs.3.pex-990/v3", "10.21203/rs.3.pex-990"),
        ("10.12688/f1000research.7678.2", "10.12688/f1000research.7678"),
        ("10.12688/f1000research.2-66.v1", "10.12688/f1000research.2-66"),
        ("10.12688/wellcomeopenres.15555.10", "10.12688/wellcomeopenres.15555"),
        ("10.12688/gatesopenres.12345.1", "10.12688/gatesopenres.12345"),
        ("10.35241/emeraldopenres.13210.1", "10.35241/emeraldopenres.13210"),
        ("10.3310/nihropenres.13000.1", "10.3310/nihropenres.13000"),
        ("10.7554/elife.86789.3", "10.7554/elife.86789"),
        ("10.26434/chemrxiv-2021-ab1cd-v2", "10.26434/chemrxiv-2021-ab1cd"),
        ("10.26434/chemrxiv.12345678.v1", "10.26434/chemrxiv.12345678"),
        ("10.31234/osf.io/ab1cd_v2", "10.31234/osf.io/ab1cd"),
        ("10.22541/au.158766045.52117735/v1", "10.22541/au.158766045.52117735"),
        ("10.36227/techrxiv.12345678.v1", "10.36227/techrxiv.12345678"),
        ("10.7287/peerj.preprints.1234v2", "10.7287/peerj.preprints.1234"),
        ("10.48550/arxiv.2101.00001v2", "10.48550/arxiv.2101.00001"),
        ("10.20944/other.0001.v1", "10.20944/other.0001.v1"),
        ("10.12688/f1000research.7678", "10.12688/f1000research.7678"),
        ("10.12688/f1000research.2-66", "10.12688/f1000research.2-66"),
        ("10.12688/other-work.12.1", "10.12688/other-work.12.1"),
        ("10.7554/elife.86789.001", "10.7554/elife.86789.001"),
        ("10.7554/elife.86789.sa1", "10.7554/elife.86789.sa1"),
        ("10.26434/chemrxiv-2021-ab1cd", "10.26434/chemrxiv-2021-ab1cd"),
        ("10.2139/ssrn.1234567", "10.2139/ssrn.1234567"),
        ("10.1371/journal.pone.0000030", "10.1371/journal.pone.0000030"),
        ("10.1002/14651858.cd001234.pub2", "10.1002/14651858.cd001234.pub2"),
        ("10.1016/j.cell.2020.01.1", "10.1016/j.cell.2020.01.1"),
        ("10.48550/arxiv.2101.00001", "10.48550/arxiv.2101.00001"),
        ("10.5555/rs.3.rs-9900001/v2", "10.5555/rs.3.rs-9900001/v2"),
    ],
)
def test_a_version_that_belongs_to_the_address_is_left_out_for_joining_alone(doi: str, base: str) -> None:
    assert joining_doi(doi) == base
    assert strip_doi_version(doi) == doi


def test_both_preprint_prefixes_are_known() -> None:
    """K059."""
    assert is_preprint_server_doi("10.64898/2025.12.01.123456")
    assert is_preprint_server_doi("10.1101/123456")
    assert not is_preprint_server_doi("10.1101/gad.123")


def test_identifiers_are_found_in_prose_with_their_places() -> None:
    text = (
        "See (doi:10.1056/NEJMoa2001017). PMID: 123, PMC12345 and NCT01234567; ISRCTN12345678, arXiv:2101.00001v2, "
        "EudraCT number 2015-001234-12, https://example.org/a, https://doi.org/10.1002/x."
    )
    found = list(find_identifiers(text))
    assert [(each.kind, each.value) for each in found] == [
        ("doi", "10.1056/nejmoa2001017"),
        ("pmid", "123"),
        ("pmcid", "PMC12345"),
        ("nct", "NCT01234567"),
        ("isrctn", "ISRCTN12345678"),
        ("arxiv", "2101.00001v2"),
        ("eudract", "2015-001234-12"),
        ("url", "https://example.org/a"),
        ("doi", "10.1002/x"),
    ]
    assert text[found[0].start : found[0].end] == "doi:10.1056/NEJMoa2001017"


@pytest.mark.parametrize(
    "clean",
    [
        "TP53 R175H in 1,234 patients (p < 0.001; 95% CI 0.5-1.2) since 2015",
        "10.5 mg/kg and 10/12 mice, ratio 10.1/2",
        "the CheckMate 067 and KEYNOTE-189 trials",
        "IL-6, CD4+, PM2.5 and PMCs were counted in NCTC clone 929",
    ],
)
def test_ordinary_prose_holds_no_identifier(clean: str) -> None:
    assert list(find_identifiers(clean)) == []


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    for found in find_identifiers(text):
        assert 0 <= found.start < found.end <= len(text)
    identify(text)


@pytest.mark.parametrize("broken", ["10.5555/a\ud800b", "10.5555/a\x00b", "doi:10.5555/ab\x85c"])
def test_a_doi_with_a_lone_surrogate_or_a_control_character_is_none(broken: str) -> None:
    assert normalise_doi(broken) is None


@pytest.mark.parametrize(
    "spelled", ["10.5555/ABC.1", "10.5555/abc.1", "doi:10.5555/abc.1.", "10.5555/abc.110.5555/abc.1"]
)
def test_the_short_way_for_bare_dois_and_the_long_way_agree(spelled: str) -> None:
    assert normalise_doi(spelled) == "10.5555/abc.1"
