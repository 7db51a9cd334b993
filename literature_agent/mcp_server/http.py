"""The server over streamable HTTP: who is asking, from where, how much and how often, before anything is read.

Order: Host and Origin, bearer token, rate, sessions, body; then the SDK. A request without a known token is answered
401, and its body is not read.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from literature_agent.errors import ConfigurationError, reason_of
from literature_agent.mcp_server.policy import Consumer, Jwt, Policy
from literature_agent.mcp_server.server import SCOPE_KEY, SESSION_HEADER, LiteratureServer
from literature_agent.transport.hosts import is_loopback

PATH = "/mcp"
SESSION_IDLE_S = 30 * 60.0
"""After so long without a request a session is closed."""

logger = logging.getLogger("literature_agent.mcp_server")


def hosts_of(host: str, port: int, policy: Policy) -> tuple[list[str], list[str]]:
    """Host and Origin headers that are taken: of the loopback address with this port, and those of the policy."""
    names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")] if is_loopback(host) else []
    return [*names, *policy.http.allowed_hosts], [*(f"http://{name}" for name in names), *policy.http.allowed_origins]


@dataclass
class Door:
    """ASGI middleware in front of the SDK's application."""

    app: ASGIApp
    policy: Policy
    hosts: frozenset[str]
    origins: frozenset[str]
    clock: Callable[[], float] = time.monotonic
    _recent: dict[str, deque[float]] = field(default_factory=dict, init=False)
    _sessions: dict[str, dict[str, float]] = field(default_factory=dict, init=False)
    """By consumer: its open sessions, and when each was last used."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(headers)
        if refused is not None:
            await refused(scope, receive, send)
            return
        consumer = self._consumer(headers)
        if consumer is None:
            await _unauthorized()(scope, receive, send)
            return
        refusal = None if self._in_rate(consumer) else "rate_limited"
        if refusal is None and not self._has_room(consumer, headers):
            refusal = "too_many_sessions"
        if refusal is not None:
            response = JSONResponse({"error": refusal}, status_code=429, headers={"Retry-After": "10"})
            await response(scope, receive, send)
            return
        scope[SCOPE_KEY] = consumer.name
        # The SDK binds a session to whoever opened it.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=consumer.name, scopes=[]))
        await self.app(scope, receive, self._watching(consumer, scope["method"], headers, send))

    def _refused(self, headers: Headers) -> Response | None:
        if headers.get("host", "").lower() not in self.hosts:
            return Response("This server does not answer to that host.", status_code=421)
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self.origins:
            return Response("Requests from that origin are refused.", status_code=403)
        return None

    def _consumer(self, headers: Headers) -> Consumer | None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or len(token) > 16_384:
            return None
        consumer = self.policy.of_token(token)
        if consumer is None and self.policy.http.jwt is not None:
            subject = subject_of(token, self.policy.http.jwt)
            consumer = self.policy.of_subject(subject) if subject is not None else None
        return consumer

    def _in_rate(self, consumer: Consumer) -> bool:
        now = self.clock()
        recent = self._recent.setdefault(consumer.name, deque())
        while recent and now - recent[0] >= 60.0:
            recent.popleft()
        if len(recent) >= consumer.requests_per_minute:
            return False
        recent.append(now)
        return True

    def _has_room(self, consumer: Consumer, headers: Headers) -> bool:
        """Whether a request that may open a session may do so: the SDK's limit is for all consumers together, and one
        of them must not use it up."""
        now, sessions = self.clock(), self._sessions.setdefault(consumer.name, {})
        session = headers.get(SESSION_HEADER)
        if session in sessions:
            sessions[session] = now
        for known, used in list(sessions.items()):
            if now - used > SESSION_IDLE_S:
                del sessions[known]
        is_modern = headers.get(MCP_PROTOCOL_VERSION_HEADER) in MODERN_PROTOCOL_VERSIONS
        return session is not None or is_modern or len(sessions) < consumer.sessions_at_once

    def _watching(self, consumer: Consumer, method: str, headers: Headers, send: Send) -> Send:
        """`send`, taking note of the sessions that are opened and closed."""
        sessions = self._sessions.setdefault(consumer.name, {})

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                named = headers.get(SESSION_HEADER)
                if named is None and (opened := Headers(raw=message["headers"]).get(SESSION_HEADER)):
                    sessions[opened] = self.clock()
                elif named is not None and method == "DELETE":
                    sessions.pop(named, None)
            await send(message)

        return watched


def subject_of(token: str, jwt: Jwt) -> str | None:
    """The subject of a JSON web token that is signed, unexpired, from this issuer and for this audience; else None."""
    from jwt import PyJWTError, decode

    try:
        claims: dict[str, Any] = decode(
            token,
            jwt.public_key_file.read_text(encoding="utf-8"),
            algorithms=list(jwt.algorithms),
            audience=jwt.audience,
            issuer=jwt.issuer,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
    except (PyJWTError, ValueError, OSError):
        return None
    subject = claims.get("sub")
    return subject if isinstance(subject, str) else None


def _unauthorized() -> Response:
    return JSONResponse(
        {"error": "invalid_token", "error_description": "A bearer token of this server's policy is needed."},
        status_code=401,
        headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
    )


def build_app(server: LiteratureServer, *, host: str, port: int) -> ASGIApp:
    """The ASGI application, for a server that listens at `host` and `port`."""
    hosts, origins = hosts_of(host, port, server.policy)
    app = server.build().streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=server.policy.http.max_body_bytes,
        session_idle_timeout=SESSION_IDLE_S,
        # Both are checked by the door, before the token.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Door(app, server.policy, frozenset(h.lower() for h in hosts), frozenset(o.lower() for o in origins))


async def serve_http(
    server: LiteratureServer, *, host: str, port: int, ready: Callable[[str], None], stop: asyncio.Event | None = None
) -> None:
    """Serve until interrupted, or until `stop` is set; `ready` hears the address when it is open.

    Raises:
        ConfigurationError: the port can't be opened.
    """
    import uvicorn

    for consumer in server.policy.consumers:
        if server.policy.http.jwt is not None and consumer.subject is not None:
            _require_key(server.policy.http.jwt)
    listener = _listener(host, port)
    bound = listener.getsockname()[1]
    config = uvicorn.Config(
        build_app(server, host=host, port=bound),
        # Nothing on stdout, and no address or header in a log.
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=5,
    )
    running = uvicorn.Server(config)
    shown = f"[{host}]" if ":" in host else host
    serving = asyncio.create_task(running.serve(sockets=[listener]))
    # The socket listens already: whoever connects now is answered when the server has started.
    ready(f"http://{shown}:{bound}{PATH}")
    try:
        if stop is not None:
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            running.should_exit = True
        await serving
    finally:
        listener.close()


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(512)
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigurationError(
            f"The MCP server cannot open port {port} on {host}: {reason_of(error)}.",
            recovery="Choose another port, or 0 for any; the host is an address of this machine.",
        ) from error
    return listener


def _require_key(jwt: Jwt) -> None:
    if not jwt.public_key_file.is_file():
        raise ConfigurationError(
            f"The key file {str(jwt.public_key_file)!r} of the policy is missing.",
            recovery="Correct `public_key_file`.",
        )
