"""The server over HTTP: consumers apart, and everything that is not allowed refused."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
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
from literature_agent.mcp_server.policy import Jwt, hash_token
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings
from tests.mcp_server.conftest import TOKENS, HttpServer, all_tools, for_the_person, page_of


@asynccontextmanager
async def client_of(server: HttpServer, token: str, *, mode: str = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
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
async def test_a_cancelled_run_over_http_is_kept(http_server: HttpServer, sandbox: SandboxServer, mode: str) -> None:
    """K105."""
    sandbox.faults.set("all", "slow", seconds=60)
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
        async with asyncio.timeout(60):
            await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        run_id = next(line for line in said if line.startswith("Run ")).split()[1]
        for _ in range(1000):
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
        self.http = httpx.Client(timeout=60, trust_env=False)
        self.url = server.url
        self.host = server.url.split("/")[2]
        self.origin = f"http://{self.host}"

    def post(self, body: Any = INITIALIZE, *, token: str | None = None, **headers: str) -> httpx.Response:
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = json.dumps(body).encode() if isinstance(body, dict | list) else body
        return self.http.post(self.url, content=content, headers=sent)

    def spoken(self, request: bytes) -> bytes:
        """The answer to bytes that no client would send."""
        name, _, port = self.host.partition(":")
        with socket.create_connection((name, int(port)), timeout=10) as connection:
            connection.sendall(request)
            return connection.recv(65536)

    def session(self, token: str) -> str:
        opened = self.post(token=token)
        assert opened.status_code == 200
        return opened.headers["mcp-session-id"]


def _call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


_LIST = {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _read(uri: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 8, "method": "resources/read", "params": {"uri": uri}}


def _message(response: httpx.Response) -> dict[str, Any]:
    """The JSON-RPC message in a reply, plain or as an event."""
    text = response.text
    line = next((line for line in text.splitlines() if line.startswith("data: {")), None)
    found: dict[str, Any] = json.loads(line.removeprefix("data: ") if line else text)
    return found


def test_attempts_at_what_is_not_allowed_are_all_refused(http_server: HttpServer) -> None:
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
    status("two tokens in one header", trial.post(token=f"{small}, Bearer {good}"), 401)
    status("a token as basic credentials", trial.post(Authorization=f"Basic {good}"), 401)
    status("a token in the address", trial.http.post(f"{trial.url}?token={good}", json=INITIALIZE), 401)
    status("a token in a cookie", trial.post(Cookie=f"token={good}"), 401)
    status("an unsigned JSON web token", trial.post(token="eyJhbGciOiJub25lIn0.eyJzdWIiOiJvbmUifQ."), 401)
    status("a token of a megabyte", trial.post(token="a" * 20_000), 401, 431, 400)
    status("a stream without a token", trial.http.get(trial.url), 401)
    status("another address without a token", trial.http.get(trial.url.replace("/mcp", "/")), 401)
    status("another address", trial.http.get(trial.url.replace("/mcp", "/metrics"), headers=_bearer(good)), 404)
    status("a file by its path", trial.http.get(trial.url + "/..%2f..%2fetc/passwd", headers=_bearer(good)), 404)
    status("a foreign Origin", trial.post(token=good, Origin="https://evil.example"), 403)
    status(
        "a foreign Origin that asks first", trial.http.options(trial.url, headers={"Origin": "https://x.example"}), 403
    )
    status("Origin null", trial.post(token=good, Origin="null"), 403)
    status("an Origin that begins like ours", trial.post(token=good, Origin=f"{trial.origin}.evil.example"), 403)
    status("our Origin with another scheme", trial.post(token=good, Origin=f"https://{trial.host}"), 403)
    status("a rebound Host", trial.post(token=good, Host="evil.example"), 421)
    status("a Host that begins like ours", trial.post(token=good, Host="127.0.0.1.evil.example"), 421)
    status("our Host with another port", trial.post(token=good, Host="localhost:1"), 421)
    status("our Host with a dot behind it", trial.post(token=good, Host=trial.host.replace(":", ".:")), 421)
    status("a forwarded Host", trial.post(token=good, Host="evil.example", X_Forwarded_Host=trial.host), 421)
    status("a huge body", trial.post(b'{"x": "' + b"a" * 1_100_000 + b'"}', token=good), 413)
    status("a huge body in pieces", trial.post(iter([b"a" * 100_000] * 11), token=good), 413)
    status("a huge body without a token", trial.post(b"a" * 1_100_000), 401)
    status("deep nesting", trial.post(b"[" * 200_000, token=good), 400)
    status("many calls in one body", trial.post([_call("search_pubmed", {"query": "x"})] * 50, token=good), 400)
    status("a body that is no UTF-8", trial.post(json.dumps(INITIALIZE).encode("utf-16"), token=good), 400)
    status("a form from a web page", trial.post(token=good, Content_Type="text/plain"), 400)

    raw = {
        "no Host at all": (b"POST /mcp HTTP/1.0\r\n", b"421"),
        "two Hosts": (b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nHost: %s\r\n" % trial.host.encode(), b"400"),
        "another server in the request line": (
            b"POST http://evil.example/mcp HTTP/1.1\r\nHost: %s\r\n" % trial.host.encode(),
            b"404",
        ),
        "a web socket": (
            b"GET /mcp HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" % trial.host.encode(),
            b"40",
        ),
    }
    for what, (head, wanted) in raw.items():
        token = f"Authorization: Bearer {good}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}"
        refused[what] = trial.spoken(head + token.encode()).split(b" ")[1].startswith(wanted)

    mine = trial.session(small)
    theirs = trial.session(good)
    of_another = {**_bearer(small), "mcp-session-id": theirs, "Accept": "text/event-stream"}
    status(
        "another's session", trial.post(_call("search_pubmed", {"query": "x"}), token=small, mcp_session_id=theirs), 404
    )
    status("to listen to another's session", trial.http.get(trial.url, headers=of_another), 404)
    status("to end another's session", trial.http.delete(trial.url, headers=of_another), 404)
    going_on = trial.post(_LIST, token=good, mcp_session_id=theirs, mcp_protocol_version="2025-06-18")
    assert "search_all" in going_on.text
    status("a session that never was", trial.post(_call("x", {}), token=small, mcp_session_id="nosuch"), 404)
    trial.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, token=small, mcp_session_id=mine)

    def ask(body: dict[str, Any] | bytes) -> dict[str, Any]:
        return _message(trial.post(body, token=small, mcp_session_id=mine, mcp_protocol_version="2025-06-18"))

    for tool in (
        "literature_aggregator",
        "literature_start",
        "literature_result",
        "pubmed_europepmc_search",
        "../search_pubmed",
        "Search_pubmed",
        " search_pubmed",
        "search_pubmed\x00",
        "current_time",
        "lookup_mesh",
    ):
        refused[f"the unexposed tool {tool!r}"] = (
            "Unknown tool" in ask(_call(tool, {"question": "x"}))["error"]["message"]
        )
    twice = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search_pubmed",'
    twice += b'"name":"literature_aggregator","arguments":{"question":"x"}}}'
    refused["an unexposed tool behind an exposed one"] = "Unknown tool" in str(ask(twice))
    for method in (
        "sampling/createMessage",
        "roots/list",
        "tasks/list",
        "tasks/get",
        "tasks/result",
        "server/discover",
    ):
        refused[f"the method {method}"] = "error" in ask({"jsonrpc": "2.0", "id": 5, "method": method, "params": {}})
    for uri in (
        "citation://../../../etc/passwd",
        "citation://%00",
        "guide://../literature_aggregator",
        "guide://%2e%2e%2fparent",
        "literature://server/../x",
        "file:///etc/passwd",
        "http://169.254.169.254/latest/meta-data",
        "run://' OR 1=1 --",
        f"run://{'0' * 32}",
        "bibliography://0000000000,K7QX2MDA4T",
    ):
        refused[f"the resource {uri}"] = "Unknown resource" in ask(_read(uri))["error"]["message"]
    for option in ("model", "settings", "base_url", "path", "budget", "registry", "__class__", "api_key"):
        answer = ask(_call("search_pubmed", {"query": "x", option: "x"}))
        refused[f"the argument {option}"] = answer["result"]["isError"] and "no argument" in json.dumps(answer)
    for _ in range(2):
        assert not ask(_call("search_pubmed", {"query": "metformin"}))["result"]["isError"]
    spent = ask(_call("search_pubmed", {"query": "metformin"}))["result"]
    refused["a budget that is used up"] = spent["structuredContent"]["error"]["reason"] == "request_rate_limited"
    anew = trial.session(small)
    spent = _message(trial.post(_call("search_pubmed", {"query": "metformin"}), token=small, mcp_session_id=anew))
    refused["a budget that is used up, in a new session"] = "request_rate_limited" in str(spent)
    trial.http.close()

    assert [what for what, is_refused in refused.items() if not is_refused] == []
    assert len(refused) >= 80


def test_no_token_is_ever_written(http_server: HttpServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    trial = Trial(http_server)
    for token in (TOKENS["one"], "wrong-token-0123456789abcdefghijklmnop"):
        shown = trial.post(token=token).text + trial.post(b"no json", token=token).text
        assert token not in shown
        assert token not in caplog.text
    trial.http.close()
    for file in (http_server.server.folder or Path("nowhere")).rglob("*"):
        assert not file.is_file() or TOKENS["one"].encode() not in file.read_bytes()


async def test_one_consumer_cannot_use_up_the_sessions_of_all(settings: Settings, tmp_path: Path) -> None:
    """The SDK's own limit is for all consumers together."""
    policy = Policy(
        consumer=(
            all_tools("one", token_sha256=hash_token(TOKENS["one"]), sessions_at_once=3),
            all_tools("two", token_sha256=hash_token(TOKENS["two"])),
        )
    )
    with HttpServer(LiteratureServer(settings, policy, tmp_path)) as server:
        trial = Trial(server)
        sessions = [trial.session(TOKENS["one"]) for _ in range(3)]
        more = trial.post(token=TOKENS["one"])
        assert (more.status_code, more.json()) == (429, {"error": "too_many_sessions"})
        assert trial.post(_LIST, token=TOKENS["one"], mcp_session_id=sessions[0]).status_code == 200
        assert trial.session(TOKENS["two"])
        # Clients of the newest protocol have no sessions, and are served.
        async with client_of(server, TOKENS["one"]) as client:
            assert (await client.list_tools()).tools
        closed = {**_bearer(TOKENS["one"]), "mcp-session-id": sessions[0]}
        assert trial.http.delete(trial.url, headers=closed).status_code == 200
        assert trial.session(TOKENS["one"])
        trial.http.close()


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


def test_a_server_lets_in_by_json_web_token_whom_its_policy_names(settings: Settings, tmp_path: Path) -> None:
    import jwt
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "key.pem").write_bytes(public)
    checked = Jwt(
        issuer="https://id.example", audience="lit", public_key_file=tmp_path / "key.pem", algorithms=("ES256",)
    )
    policy = Policy(
        consumer=(Consumer(name="team", tools=("search_pubmed",), subject="team-7"),), http=Http(jwt=checked)
    )

    def signed(subject: str, *, lasts_s: float = 300) -> str:
        until = datetime.now(UTC) + timedelta(seconds=lasts_s)
        claims = {"iss": checked.issuer, "aud": "lit", "sub": subject, "exp": until}
        return jwt.encode(claims, key, algorithm="ES256")

    with HttpServer(LiteratureServer(settings, policy, tmp_path / "mcp")) as server:
        trial = Trial(server)
        session = trial.session(signed("team-7"))
        # Another token of the same subject may go on with its session.
        listed = _message(
            trial.post(_LIST, token=signed("team-7"), mcp_session_id=session, mcp_protocol_version="2025-06-18")
        )
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["search_pubmed"]
        for token in (signed("team-8"), signed("team"), signed("team-7", lasts_s=-5), signed("team-7")[:-4], "team-7"):
            assert trial.post(token=token).status_code == 401
        (tmp_path / "key.pem").unlink()
        assert trial.post(token=signed("team-7")).status_code == 401
        trial.http.close()
