"""The error shapes of the E-utilities, told apart by content."""

from __future__ import annotations

import pytest

from literature_agent.errors import SourceError
from literature_agent.sources._eutils import check_answer, eutils_request, is_empty_id_list, read_json, read_xml, scrub
from literature_agent.transport import Answer, TransientAnswer

KEY = "0123456789abcdef0123456789abcdef0123"


def answer(body: str, status: int = 200, kind: str = "text/xml") -> Answer:
    return Answer(status, body.encode(), kind)


def fault_of(given: Answer) -> Exception:
    with pytest.raises((TransientAnswer, SourceError)) as raised:
        read_xml(given, "pmc", "pmc-articleset")
    return raised.value


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (
            "<eFetchResult><ERROR>proxy_stream(): &lt;html&gt;502 Bad Gateway&lt;/html&gt;</ERROR></eFetchResult>",
            400,
        ),
        ("Failed to connect to PubOne service in proxy_stream()", 400),
        ("NCBI C++ Exception: Error: TXCLIENT(CException::eUnknown) parameter missing", 200),
        ('{"ERROR":"TXCLIENT .. EOF"}', 200),
        ('{"error":"error forwarding request","api-key":"203.0.113.7"}', 400),
        ("<eSearchResult><ERROR>Search Backend failed: address table is empty.</ERROR></eSearchResult>", 200),
        ("<eLinkResult><ERROR>Couldn't resolve #exLinkSrv2, the address table is empty.</ERROR></eLinkResult>", 200),
        ("<eSearchResult><ERROR>Unable to obtain query #1</ERROR></eSearchResult>", 200),
        ("<html><head><title>down_bethesda</title></head></html>", 200),
    ],
)
def test_backend_that_failed_is_unreachable_and_asked_again(body: str, status: int) -> None:
    """K014, K015, K016."""
    fault = fault_of(answer(body, status))
    assert isinstance(fault, TransientAnswer)
    assert fault.kind == "unreachable"
    assert "<" not in str(fault), "markup is stripped from the message"


@pytest.mark.parametrize("status", [200, 400])
def test_timeout_of_the_backend_is_a_timeout(status: int) -> None:
    fault = fault_of(answer("<eFetchResult><ERROR>Failed. Status: Timeout</ERROR></eFetchResult>", status))
    assert isinstance(fault, TransientAnswer)
    assert fault.kind == "timeout"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n",
        '<?xml version="1.0"?><!DOCTYPE pmc-articleset SYSTEM "x.dtd">',
        "<pmc-articleset><article>cut",
        "<somethingElse/>",
        "words that mean nothing",
        '{"header":{}}',
    ],
)
def test_answer_that_says_nothing_is_invalid_and_asked_again(body: str) -> None:
    """K015."""
    fault = fault_of(answer(body))
    assert isinstance(fault, TransientAnswer)
    assert fault.kind == "invalid_response"


def test_rate_limit_is_read_from_json_whatever_was_asked_for() -> None:
    fault = fault_of(answer('{"error":"API rate limit exceeded","api-key":"203.0.113.7","count":"4","limit":"3"}', 400))
    assert isinstance(fault, TransientAnswer)
    assert fault.kind == "rate_limited"
    assert "203" not in str(fault)


@pytest.mark.parametrize(
    "body",
    [
        f'{{"error":"API key invalid","api-key":"{KEY}",\n"type":"invalid","status":"unknown"}}',
        f"<eFetchResult><ERROR>API key not valid: {KEY}</ERROR></eFetchResult>",
    ],
)
def test_refused_key_is_a_configuration_error_without_the_key(body: str) -> None:
    """K022: no bad identifier, and nothing to repeat."""
    fault = fault_of(answer(body, 400))
    assert isinstance(fault, SourceError)
    assert (fault.reason, fault.retryable) == ("pmc_configuration", False)
    assert "NCBI_API_KEY" in fault.message
    assert KEY not in fault.message


@pytest.mark.parametrize(
    "said",
    [
        "Invalid db name specified: x",
        "Search Backend failed: position 15000 out of range",
        "Empty term and query_key - nothing todo",
        "Something that nobody has seen before",
    ],
)
def test_stated_error_is_a_refusal_with_the_reason_of_upstream(said: str) -> None:
    """K002, K003: in both dresses, never an empty answer."""
    dressed = (f"<eSearchResult><ERROR>{said}</ERROR></eSearchResult>", f'{{"esearchresult":{{"ERROR":"{said}"}}}}')
    for body in dressed:
        with pytest.raises(SourceError) as refused:
            read_json(answer(body), "pubmed", "esearchresult")
        assert refused.value.reason == "pubmed_invalid_input"
        assert said in refused.value.message


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, "pmc_blocked"), (403, "pmc_blocked"), (414, "pmc_invalid_input"), (404, "pmc_invalid_response")],
)
def test_page_of_html_with_a_telling_status_is_not_repeated(status: int, reason: str) -> None:
    fault = fault_of(answer("<html><body>Forbidden</body></html>", status, "text/html"))
    assert isinstance(fault, SourceError)
    assert fault.reason == reason


def test_unknown_words_with_status_400_are_a_refusal() -> None:
    fault = fault_of(answer("cannot process this id", 400, "text/plain"))
    assert isinstance(fault, SourceError)
    assert fault.reason == "pmc_invalid_input"


def test_empty_error_element_means_nothing() -> None:
    """ESpell always sends one."""
    root = read_xml(answer("<eSpellResult><CorrectedQuery/><ERROR/></eSpellResult>"), "pubmed", "eSpellResult")
    assert root.tag == "eSpellResult"
    check_answer(answer("<eSpellResult><ERROR></ERROR></eSpellResult>"), "pubmed")


def test_only_the_empty_id_list_is_an_empty_set() -> None:
    """K013."""
    assert is_empty_id_list(
        answer("<ERROR>ID list is empty! Possibly it has no correct IDs.</ERROR>", 400, "text/plain")
    )
    assert is_empty_id_list(answer("<eFetchResult><ERROR>Supplied id parameter is empty.</ERROR></eFetchResult>"))
    assert not is_empty_id_list(answer("<PubmedArticleSet></PubmedArticleSet>"))
    assert not is_empty_id_list(answer('{"error":"API key invalid"}', 400))


def test_json_with_raw_line_breaks_and_a_trailing_newline_is_read() -> None:
    """K002."""
    assert read_json(answer('\ufeff{"esearchresult":{"count":"1","x":"a\nb"}}\n'), "pubmed", "esearchresult") == {
        "count": "1",
        "x": "a\nb",
    }


@pytest.mark.parametrize("body", ["[]", "null", "{", '{"esearchresult": []}', "[" * 100_000])
def test_json_of_another_shape_is_a_passing_fault(body: str) -> None:
    with pytest.raises(TransientAnswer):
        read_json(answer(body, kind="application/json"), "pubmed", "esearchresult")


def test_words_of_upstream_are_shown_without_markup_or_key() -> None:
    assert scrub(f"<b>Bad</b> request api_key={KEY}&amp;db=x {KEY}") == "Bad request api_key=[hidden]&db=x [hidden]"


def test_requests_are_posted_where_an_address_would_be_too_long() -> None:
    """K011."""
    short = eutils_request("pmc", "efetch.fcgi", [("id", "1,2")], ids=2)
    assert (short.form, short.params, short.service) == (None, (("id", "1,2"),), "eutils")
    assert eutils_request("pmc", "efetch.fcgi", [("id", "1")], ids=201).form == (("id", "1"),)
    assert eutils_request("pmc", "efetch.fcgi", [("term", "a" * 1_900)]).params == ()
