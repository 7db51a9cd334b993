"""The server over HTTP: consumers apart, and everything that is not allowed refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from literature_agent.mcp_server import Consumer, Http, LiteratureServer, Policy
from literature_agent.mcp_server.http import Door, subject_of
from literature_agent.mcp_server.policy import Jwt
from literature_agent.settings import Settings
from tests.mcp_server.conftest import TOKENS, HttpServer, all_tools, for_the_person, page_of


@asynccontextmanager
async def client_of(server: HttpServer, token: str, *, mode: str = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_lists_calls_reads_and_hears_of_progress(http_server: HttpServer, mode: str) -> None:
    heard: list[str] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async with client_of(http_server, TOKENS["one"], mode=mode) as client:
        assert "search_pubmed" in {tool.name for tool in (await client.list_tools()).tools}
        found = await client.call_tool("search_pubmed", {"query": "metformin"}, progress_callback=listen)
        (reference, *_) = found.structured_content["references"]
        assert "10.5555" in for_the_person(found)
        record = await client.read_resource(f"citation://{reference[-11:-1]}")
        assert json.loads(page_of(record))["pmid"]
        assert (await client.list_prompts()).prompts
        answer = await client.call_tool("literature_aggregator", {"question": "metformin?"}, progress_callback=listen)
        assert answer.structured_content["status"] == "complete"
    assert any(line.startswith("Run ") for line in heard)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_cancelled_run_over_http_is_kept(http_server: HttpServer, mode: str) -> None:
    """K105."""
    said: list[str] = []
    started = asyncio.Event()

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        said.append(message or "")
        if said[-1].startswith("Run "):
            started.set()

    async with client_of(http_server, TOKENS["one"], mode=mode) as client:
        call = asyncio.create_task(
            client.call_tool("literature_aggregator", {"question": "cancelled metformin?"}, progress_callback=listen)
        )
        async with asyncio.timeout(20):
            await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        run_id = next(line for line in said if line.startswith("Run ")).split()[1]
        for _ in range(200):
            state = await client.call_tool("literature_status", {"run_id": run_id})
            if state.structured_content["status"] != "running":
                break
            await asyncio.sleep(0.02)
        assert state.structured_content["status"] == "cancelled"


async def test_tenants_never_see_each_other_s_references_and_not_yours_is_not_there(http_server: HttpServer) -> None:
    """Word for word the same answer."""
    async with client_of(http_server, TOKENS["one"]) as one, client_of(http_server, TOKENS["two"]) as two:
        found = await one.call_tool("search_pubmed", {"query": "statin OR aspirin OR vaccine", "max_results": 1})
        (theirs,) = found.structured_content["references"]
        run = await one.call_tool("literature_start", {"question": "metformin?"})
        run_id = run.structured_content["run_id"]
        nobodys = "«artifact:link:cite~0000000000»"
        for tool, arguments in (
            ("fetch_pubmed", {"references": ["{}"]}),
            ("read_pmc_full_text", {"reference": "{}"}),
            ("render_citations", {"references": ["{}"]}),
            ("render_citations", {"text": "as {} says"}),
        ):
            answers = []
            for reference in (theirs, nobodys):
                asked = json.loads(json.dumps(arguments).replace("{}", reference))
                answer = await two.call_tool(tool, asked)
                answers.append(answer.model_dump_json().replace(reference, "X"))
            assert answers[0] == answers[1], tool
        for kind, there, nowhere in (("citation", theirs[-11:-1], "0000000000"), ("run", run_id, "0" * 32)):
            said = []
            for name in (there, nowhere):
                with pytest.raises(Exception) as refused:  # the message is what is compared
                    await two.read_resource(f"{kind}://{name}")
                said.append(str(refused.value).replace(name, "X"))
            assert said[0] == said[1]
        for tool in ("literature_status", "literature_result"):
            told = [(await two.call_tool(tool, {"run_id": name})).model_dump_json() for name in (run_id, "0" * 32)]
            assert told[0] == told[1]
        assert all("citation://" not in resource.uri for resource in (await two.list_resources()).resources)


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


class Trial:
    """One HTTP client for the attempts; `post` gives the status."""

    def __init__(self, server: HttpServer) -> None:
        self.http = httpx.Client(timeout=30, trust_env=False)
        self.url = server.url

    def post(self, body: Any = INITIALIZE, *, token: str | None = None, **headers: str) -> httpx.Response:
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.http.post(self.url, content=content, headers=sent)

    def session(self, token: str) -> str:
        opened = self.post(token=token)
        assert opened.status_code == 200
        return opened.headers["mcp-session-id"]


def _call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def _read(uri: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 8, "method": "resources/read", "params": {"uri": uri}}


def _message(response: httpx.Response) -> dict[str, Any]:
    """The JSON-RPC message in a reply, plain or as an event."""
    text = response.text
    line = next((line for line in text.splitlines() if line.startswith("data: {")), None)
    found: dict[str, Any] = json.loads(line.removeprefix("data: ") if line else text)
    return found


def test_thirty_attempts_at_what_is_not_allowed_are_all_refused(http_server: HttpServer) -> None:
    """The policy trial: each line says who tries what, and how it is refused."""
    trial = Trial(http_server)
    good, small = TOKENS["one"], TOKENS["small"]
    refused: dict[str, bool] = {}

    def status(what: str, response: httpx.Response, *wanted: int) -> None:
        refused[what] = response.status_code in wanted
        assert "Traceback" not in response.text

    status("no token", trial.post(), 401)
    status("an empty token", trial.post(Authorization="Bearer"), 401)
    status("a wrong token", trial.post(token="x" * 43), 401)
    status("a token in another case", trial.post(token=good.upper()), 401)
    status("the beginning of a token", trial.post(token=good[:-1]), 401)
    status("a token with something behind it", trial.post(token=good + "x"), 401)
    status("the hash of a token", trial.post(token=http_server.server.policy.consumers[0].token_sha256[0]), 401)
    status("the name of a consumer as token", trial.post(token="one"), 401)
    status("a token as basic credentials", trial.post(Authorization=f"Basic {good}"), 401)
    status("a token in the address", trial.http.post(f"{trial.url}?token={good}", json=INITIALIZE), 401)
    status("a token in a cookie", trial.post(Cookie=f"token={good}"), 401)
    status("an unsigned JSON web token", trial.post(token="eyJhbGciOiJub25lIn0.eyJzdWIiOiJvbmUifQ."), 401)
    status("a token of a megabyte", trial.post(token="a" * 20_000), 401, 431, 400)
    status("a foreign Origin", trial.post(token=good, Origin="https://evil.example"), 403)
    status("Origin null", trial.post(token=good, Origin="null"), 403)
    status("a rebound Host", trial.post(token=good, Host="evil.example"), 421)
    status("a Host that begins like ours", trial.post(token=good, Host="127.0.0.1.evil.example"), 421)
    status("our Host with another port", trial.post(token=good, Host="localhost:1"), 421)
    status("a huge body", trial.post(b'{"x": "' + b"a" * 1_100_000 + b'"}', token=good), 413)
    status("a huge body without a token", trial.post(b"a" * 1_100_000), 401)
    status("deep nesting", trial.post(b"[" * 200_000, token=good), 400)

    mine = trial.session(small)
    theirs = trial.session(good)
    status(
        "another's session", trial.post(_call("search_pubmed", {"query": "x"}), token=small, mcp_session_id=theirs), 404
    )
    status("a session that never was", trial.post(_call("x", {}), token=small, mcp_session_id="nosuch"), 404)
    trial.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, token=small, mcp_session_id=mine)

    def ask(body: dict[str, Any]) -> dict[str, Any]:
        return _message(trial.post(body, token=small, mcp_session_id=mine, mcp_protocol_version="2025-06-18"))

    for tool in ("literature_aggregator", "literature_start", "pubmed_europepmc_search", "../search_pubmed"):
        refused[f"the unexposed tool {tool}"] = (
            "Unknown tool" in ask(_call(tool, {"question": "x"}))["error"]["message"]
        )
    for uri in (
        "citation://../../../etc/passwd",
        "guide://../literature_aggregator",
        "guide://%2e%2e%2fparent",
        "file:///etc/passwd",
        "run://' OR 1=1 --",
    ):
        refused[f"the resource {uri}"] = "Unknown resource" in ask(_read(uri))["error"]["message"]
    for option in ("model", "settings", "base_url"):
        answer = ask(_call("search_pubmed", {"query": "x", option: "x"}))
        refused[f"the argument {option}"] = answer["result"]["isError"] and "no argument" in json.dumps(answer)
    for _ in range(2):
        assert not ask(_call("search_pubmed", {"query": "metformin"}))["result"]["isError"]
    spent = ask(_call("search_pubmed", {"query": "metformin"}))["result"]
    refused["a budget that is used up"] = spent["structuredContent"]["error"]["reason"] == "request_rate_limited"
    trial.http.close()

    assert [what for what, is_refused in refused.items() if not is_refused] == []
    assert len(refused) >= 30


def test_nobody_is_let_in_without_a_policy(settings: Settings, tmp_path: Path) -> None:
    with HttpServer(LiteratureServer(settings, Policy(), tmp_path)) as server:
        trial = Trial(server)
        assert [trial.post(token=token).status_code for token in (None, *TOKENS.values())] == [401] * 4
        trial.http.close()


async def test_requests_above_the_rate_are_refused_until_a_minute_has_passed() -> None:
    moment = 0.0
    reached: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["literature_agent.consumer"])

    consumer = all_tools("one", token_sha256=("0" * 64,), requests_per_minute=2)
    door = Door(app, Policy(consumer=(consumer,)), frozenset({"h"}), frozenset(), clock=lambda: moment)
    assert [door._in_rate(consumer) for _ in range(3)] == [True, True, False]
    moment = 60.0
    assert door._in_rate(consumer)


def test_a_json_web_token_names_a_consumer_only_when_all_of_it_is_right(tmp_path: Path) -> None:
    import jwt
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, other = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    file = tmp_path / "key.pem"
    file.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    checked = Jwt(issuer="https://id.example", audience="literature", public_key_file=file, algorithms=("ES256",))
    now = datetime.now(UTC)
    right = {"iss": checked.issuer, "aud": "literature", "sub": "team", "exp": now + timedelta(minutes=5)}

    def signed(signer: Any = key, **changed: Any) -> str:
        claims = {name: value for name, value in {**right, **changed}.items() if value is not None}
        return jwt.encode(claims, signer, algorithm="ES256")

    assert subject_of(signed(), checked) == "team"
    for wrong in (
        signed(other),
        signed(iss="https://evil.example"),
        signed(aud="other"),
        signed(exp=now - timedelta(minutes=5)),
        signed(exp=None),
        signed(sub=None),
        jwt.encode(right, "x" * 32, algorithm="HS256"),
        jwt.encode(right, file.read_text(encoding="utf-8")[:40].encode(), algorithm="HS256"),
        jwt.encode(right, "", algorithm="none"),
        "no.token",
    ):
        assert subject_of(wrong, checked) is None
    consumer = Consumer(name="team", tools=("search_pubmed",), subject="team")
    policy = Policy(consumer=(consumer,), http=Http(jwt=checked))
    assert policy.of_subject("team") == consumer
    assert policy.of_subject("other") is None
