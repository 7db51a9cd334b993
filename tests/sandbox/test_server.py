"""The server itself: who may ask, what every answer carries, faults, limits, shutdown."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from literature_agent.errors import ConfigurationError, InvalidInputError
from literature_agent.sandbox import Asked, Corpus, Fault, SandboxServer

ESEARCH = "/entrez/eutils/esearch.fcgi?db=pubmed&term=metformin&retmode=json"
EFETCH = "/entrez/eutils/efetch.fcgi?db=pubmed&id=90001001"
EPMC = "/europepmc/webservices/rest/search?query=metformin&format=json"


def raw(server: SandboxServer, message: bytes) -> bytes:
    port = int(server.base_url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(message)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    return received


@pytest.mark.parametrize("path", [ESEARCH, EFETCH, EPMC, "/nowhere", "/_sandbox/"])
def test_every_answer_says_that_it_is_the_sandbox(client: httpx.Client, path: str) -> None:
    assert client.get(path).headers["X-Literature-Agent-Sandbox"] == "1"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1", ""])
def test_a_foreign_host_name_is_refused(client: httpx.Client, host: str) -> None:
    """Against web pages that re-point their own name at loopback."""
    assert client.get(ESEARCH, headers={"Host": host}).status_code == 403


def test_the_names_of_loopback_are_accepted(server: SandboxServer, client: httpx.Client) -> None:
    port = server.base_url.rpartition(":")[2]
    for name in ("127.0.0.1", "localhost", "[::1]", "LocalHost"):
        assert client.get(ESEARCH, headers={"Host": f"{name}:{port}"}).status_code == 200


def test_the_settings_point_every_service_here(server: SandboxServer) -> None:
    overrides = server.settings_overrides()
    assert set(overrides) == {
        "ncbi_base_url",
        "pmc_base_url",
        "europepmc_base_url",
        "biorxiv_base_url",
        "clinicaltrials_base_url",
    }
    assert all(url.startswith(server.base_url + "/") and url.endswith("/") for url in overrides.values())


def test_requests_are_remembered_with_their_posted_form(server: SandboxServer, client: httpx.Client) -> None:
    client.get(ESEARCH)
    client.post("/entrez/eutils/esearch.fcgi?db=pubmed", data={"term": "a b"})
    assert list(server.requests) == [
        Asked("GET", "/entrez/eutils/esearch.fcgi", "db=pubmed&term=metformin&retmode=json"),
        Asked("POST", "/entrez/eutils/esearch.fcgi", "db=pubmed&term=a+b"),
    ]


def test_one_connection_serves_many_requests(client: httpx.Client) -> None:
    streams = {id(client.get(ESEARCH).extensions["network_stream"].get_extra_info("socket")) for _ in range(5)}
    assert len(streams) == 1


def test_many_clients_at_once_get_the_same_answer(server: SandboxServer) -> None:
    def ask(number: int) -> tuple[int, str]:
        path = (ESEARCH, EFETCH, EPMC)[number % 3]
        reply = httpx.get(server.base_url + path, timeout=60, verify=False)
        return number % 3, reply.text

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, range(60)))
    assert len(set(answers)) == 3


def test_a_body_above_the_cap_is_refused_unread(server: SandboxServer) -> None:
    host = server.base_url.removeprefix("http://").encode()
    head = b"POST /entrez/eutils/esearch.fcgi HTTP/1.1\r\nHost: " + host
    assert b" 413 " in raw(server, head + b"\r\nContent-Length: 5000000\r\n\r\nterm=a")


def test_malformed_requests_do_not_stop_the_server(server: SandboxServer, client: httpx.Client) -> None:
    port = server.base_url.rpartition(":")[2].encode()
    head = b"Host: 127.0.0.1:" + port + b"\r\n"
    assert b" 411 " in raw(server, b"POST /x HTTP/1.1\r\n" + head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    assert b" 400 " in raw(server, b"POST /x HTTP/1.1\r\n" + head + b"Content-Length: -5\r\n\r\n")
    assert b" 501 " in raw(server, b"PATCH /x HTTP/1.1\r\n" + head + b"\r\n")
    raw(server, b"\x00\xff\r\n\r\n")
    odd = b"GET /entrez/eutils/esearch.fcgi?db=pubmed&retmode=json&term=%FF%00%ED%A0%80&a=%zz HTTP/1.1\r\n"
    assert b" 200 " in raw(server, odd + head + b"Connection: close\r\n\r\n")
    assert client.get(ESEARCH).status_code == 200


def test_nothing_is_printed(client: httpx.Client, capfd: pytest.CaptureFixture[str]) -> None:
    client.get(ESEARCH)
    client.get("/nowhere")
    assert capfd.readouterr() == ("", "")


# Faults


def test_a_rate_limit_answers_with_ncbi_json_and_retry_after(server: SandboxServer, client: httpx.Client) -> None:
    server.faults.set("eutils", "rate_limit", times=2)
    for _ in range(2):
        reply = client.get(EFETCH)
        assert (reply.status_code, reply.headers["Retry-After"]) == (429, "1")
        assert reply.json()["error"] == "API rate limit exceeded"
        assert (reply.json()["count"], reply.json()["limit"]) == ("4", "3")
    assert client.get(EFETCH).status_code == 200


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_error_has_the_asked_status(server: SandboxServer, client: httpx.Client, status: int) -> None:
    server.faults.set("europepmc", "server_error", status=status)
    assert client.get(EPMC).status_code == status
    assert client.get(ESEARCH).status_code == 200


def test_an_html_page_comes_with_200(server: SandboxServer, client: httpx.Client) -> None:
    server.faults.set("all", "html")
    for path in (ESEARCH, EPMC):
        reply = client.get(path)
        assert (reply.status_code, reply.headers["Content-Type"]) == (200, "text/html; charset=UTF-8")
        assert reply.text.startswith("<!DOCTYPE html>")


def test_empty_envelopes_are_those_of_each_service(server: SandboxServer, client: httpx.Client) -> None:
    server.faults.set("all", "empty_envelope")
    assert client.get(EPMC).text == '{"version":"6.9"}'
    prolog = client.get(EFETCH).text
    assert prolog.startswith("<?xml")
    assert "<PubmedArticleSet" not in prolog


def test_a_cut_body_ends_before_its_stated_length(server: SandboxServer, client: httpx.Client) -> None:
    server.faults.set("eutils", "cut", times=1)
    with pytest.raises(httpx.RemoteProtocolError):
        client.get(EFETCH)
    assert client.get(EFETCH).status_code == 200


def test_a_refused_connection_ends_without_an_answer(server: SandboxServer, client: httpx.Client) -> None:
    server.faults.set("eutils", "refuse", times=1)
    with pytest.raises(httpx.TransportError):
        client.get(EFETCH)
    assert client.get(EFETCH).status_code == 200


def test_a_slow_answer_is_late_and_whole(server: SandboxServer, client: httpx.Client) -> None:
    server.faults.set("eutils", "slow", times=1, seconds=0.2)
    started = time.perf_counter()
    assert client.get(ESEARCH).json()["esearchresult"]["count"] == "2"
    assert time.perf_counter() - started >= 0.2


def test_a_fault_can_be_kept_to_one_address(server: SandboxServer, client: httpx.Client) -> None:
    server.faults.set("eutils", "server_error", path="efetch")
    assert client.get(ESEARCH).status_code == 200
    assert client.get(EFETCH).status_code == 503


def test_faults_are_switched_over_http(server: SandboxServer, client: httpx.Client) -> None:
    reply = client.post("/_sandbox/faults", json={"service": "eutils", "fault": "html", "times": 2})
    assert reply.json() == client.get("/_sandbox/faults").json()
    assert client.get("/_sandbox/faults").json()["faults"] == [
        {"service": "eutils", "fault": "html", "times": 2, "status": 503, "seconds": 1.0, "path": ""}
    ]
    client.get(ESEARCH)
    assert server.faults.standing() == [Fault("eutils", "html", times=1)]
    assert client.delete("/_sandbox/faults").json() == {"faults": []}


def test_a_web_page_cannot_switch_faults(server: SandboxServer, client: httpx.Client) -> None:
    """A page can post forms and plain text across sites, but no JSON without asking first."""
    body = b'{"service": "all", "fault": "html"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert client.post("/_sandbox/faults", content=body, headers={"Content-Type": kind}).status_code == 415
    assert server.faults.standing() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"service": "arxiv", "fault": "html"},
        {"service": "all", "fault": "fire"},
        {"service": "all", "fault": "html", "times": 0},
        {"service": "all", "fault": "html", "times": "2"},
        {"service": "all", "fault": "server_error", "status": 200},
        {"service": "all", "fault": "slow", "seconds": -1},
        {"service": "all", "fault": "html", "colour": "red"},
        {"service": "all", "fault": "html", "path": 3},
        ["html"],
    ],
)
def test_a_fault_that_does_not_exist_is_refused(server: SandboxServer, client: httpx.Client, wrong: object) -> None:
    reply = client.post("/_sandbox/faults", json=wrong)
    assert reply.status_code == 400
    assert reply.json()["error"]
    with pytest.raises(InvalidInputError):
        server.faults.from_json(wrong)
    assert server.faults.standing() == []


def test_a_control_body_that_is_no_json_is_refused(client: httpx.Client) -> None:
    reply = client.post("/_sandbox/faults", content=b"{", headers={"Content-Type": "application/json"})
    assert (reply.status_code, reply.json()) == (400, {"error": "The body is no JSON."})


def test_clearing_one_service_leaves_the_others(server: SandboxServer) -> None:
    server.faults.set("eutils", "html")
    server.faults.set("europepmc", "cut")
    server.faults.clear("eutils")
    assert [fault.service for fault in server.faults.standing()] == ["europepmc"]


# Limits and life


def test_more_requests_than_the_limit_allows_are_answered_429(small_corpus: Corpus) -> None:
    took = 1.0
    while took >= 1:  # what comes later than that is no longer too much
        with SandboxServer(small_corpus, rate_limit={"eutils": 3}) as server, httpx.Client(timeout=60) as client:
            began = time.perf_counter()
            statuses = [client.get(server.base_url + EFETCH).status_code for _ in range(5)]
            took = time.perf_counter() - began
            assert client.get(server.base_url + EFETCH + "&api_key=other").status_code == 200
            assert client.get(server.base_url + EPMC).status_code == 200
    assert statuses == [200, 200, 200, 429, 429]


def test_closing_ends_open_connections_and_slow_answers(small_corpus: Corpus) -> None:
    before = set(threading.enumerate())
    server = SandboxServer(small_corpus).start()
    server.faults.set("eutils", "slow", seconds=60)
    with httpx.Client(base_url=server.base_url, timeout=60) as client, ThreadPoolExecutor(1) as pool:
        client.get(EPMC)
        waiting = pool.submit(lambda: httpx.get(server.base_url + ESEARCH, timeout=60))
        while not any(asked.path.endswith("esearch.fcgi") for asked in server.requests):
            threading.Event().wait(0.01)
        started = time.perf_counter()
        server.close()
        assert time.perf_counter() - started < 30
        assert waiting.exception(timeout=60) is None or isinstance(waiting.exception(), httpx.TransportError)
        with pytest.raises(httpx.TransportError):
            client.get(EPMC)
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("sandbox")]


def test_closing_twice_and_closing_unstarted_is_harmless(small_corpus: Corpus) -> None:
    server = SandboxServer(small_corpus)
    server.close()
    server.close()


def test_without_a_corpus_the_packaged_one_is_served() -> None:
    with SandboxServer() as server:
        about = httpx.get(f"{server.base_url}/_sandbox/", timeout=60).json()
    assert about["synthetic"] is True
    assert about["records"] == server.corpus.size


def test_a_long_address_is_refused_and_the_same_form_posted_is_not(client: httpx.Client) -> None:
    """K011."""
    sent = {"db": "pubmed", "term": "metformin OR " * 900 + "x", "retmode": "json"}
    assert client.get("/entrez/eutils/esearch.fcgi", params=sent).status_code == 414
    assert client.post("/entrez/eutils/esearch.fcgi", data=sent).json()["esearchresult"]["count"] == "2"


def test_methods_it_does_not_speak_are_marked_too(client: httpx.Client) -> None:
    reply = client.put(ESEARCH)
    assert (reply.status_code, reply.headers["X-Literature-Agent-Sandbox"]) == (501, "1")


def test_a_port_in_use_is_a_configuration_error(server: SandboxServer, small_corpus: Corpus) -> None:
    port = int(server.base_url.rpartition(":")[2])
    with pytest.raises(ConfigurationError, match=f"port {port} "):
        SandboxServer(small_corpus, port=port)


def test_serving_in_a_thread_of_the_callers_ends_with_close(small_corpus: Corpus) -> None:
    server = SandboxServer(small_corpus)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    assert httpx.get(server.base_url + ESEARCH, timeout=60).status_code == 200
    server.close()
    thread.join(60)
    assert not thread.is_alive()
