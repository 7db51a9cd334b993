"""One exchange over the wire. The only module that imports httpx, so that the rest loads without it."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx
from opentelemetry import metrics, trace
from opentelemetry.instrumentation.utils import suppress_http_instrumentation

from literature_agent.errors import ConfigurationError, reason_of
from literature_agent.transport.messages import Answer, TransientAnswer
from literature_agent.transport.secrets import Secrets
from literature_agent.transport.spans import tracer

Hook = Callable[[], Awaitable[None]]

_LIMITS = httpx.Limits(max_connections=20, max_keepalive_connections=10, keepalive_expiry=15)

# What we offer and can bound: one layer of these grows a 64 kB read to some 64 MB at most, several layers without end.
_CODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})


class TooLarge(Exception):
    """The body is beyond the cap; the connection was closed."""


class BadCertificate(Exception):
    """The server's certificate is not trusted here."""


class NoAddress(Exception):
    """Path or parameters cannot be made into an address."""


class Untreatable(Exception):
    """The answer cannot be read, however often one asks."""


class DirectOrProxied(httpx.AsyncBaseTransport):
    """Real connections, through the proxies that the environment names (`HTTP_PROXY` ... `NO_PROXY`).

    httpx's own client logs each address in full and is therefore not used: the key is part of it (K118).
    """

    def __init__(self) -> None:
        self._proxies = getproxies()
        self._ways: dict[tuple[bool, str | None], httpx.AsyncHTTPTransport] = {}
        self._tls: ssl.SSLContext | None = None

    def _way(self, url: httpx.URL) -> httpx.AsyncHTTPTransport:
        proxy = self._proxies.get(url.scheme) or self._proxies.get("all") or None
        if proxy is not None and (proxy_bypass(url.netloc.decode("ascii")) or proxy_bypass(url.host)):
            proxy = None
        way = (proxy is None and url.scheme == "http", proxy)
        if way not in self._ways:
            self._ways[way] = self._build(*way)
        return self._ways[way]

    def _build(self, is_plain: bool, proxy: str | None) -> httpx.AsyncHTTPTransport:
        if is_plain:
            # Reading the certificates of the machine takes longer than a call to a server beside us. None is trusted.
            return httpx.AsyncHTTPTransport(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), limits=_LIMITS)
        if self._tls is None:
            try:
                self._tls = httpx.create_ssl_context()
            except (OSError, ssl.SSLError) as fault:
                raise ConfigurationError(
                    f"The certificates named by SSL_CERT_FILE or SSL_CERT_DIR cannot be read ({reason_of(fault)}).",
                    recovery="Correct or unset SSL_CERT_FILE and SSL_CERT_DIR.",
                ) from None
        if proxy is None:
            return httpx.AsyncHTTPTransport(verify=self._tls, limits=_LIMITS)
        refused = ""
        try:
            return httpx.AsyncHTTPTransport(
                verify=self._tls, limits=_LIMITS, proxy=proxy if "://" in proxy else f"http://{proxy}"
            )
        except ImportError:
            refused = "is a SOCKS proxy, which needs the package `socksio`"
        except (ValueError, httpx.InvalidURL):
            refused = "is not usable"
        # Not the address itself: it may hold a password.
        raise ConfigurationError(
            f"The proxy that the environment names {refused}.",
            recovery="Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or name the host in NO_PROXY.",
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._way(request.url).handle_async_request(request)

    async def aclose(self) -> None:
        ways, self._ways = list(self._ways.values()), {}
        for way in ways:
            await way.aclose()


def _request_counter() -> metrics.Counter:
    """Requests sent, by source and status of the answer (429: too many); 0 where none came."""
    return metrics.get_meter("literature_agent").create_counter("literature_agent.http.requests", unit="{request}")


@dataclass(frozen=True)
class Wire:
    """What every exchange of one transport has in common."""

    network: httpx.AsyncBaseTransport
    secrets: Secrets
    read_timeout: float
    """Longest wait for the next part of a body, seconds."""
    max_body: int
    """Cap of a decoded body, bytes."""
    requests: metrics.Counter = field(default_factory=_request_counter)

    @cached_property
    def timeout(self) -> dict[str, float | None]:
        return httpx.Timeout(self.read_timeout, connect=min(10.0, self.read_timeout)).as_dict()

    async def exchange(
        self,
        method: str,
        url: str,
        content: bytes | None,
        headers: Mapping[str, str],
        *,
        around_sending: tuple[Hook, Hook] | None,
        in_time: Callable[[], None],
        marks: Mapping[str, str | int],
    ) -> Answer:
        """Send one request and read its answer whole, cleaned of secrets, in a span that bears `marks`.

        The first hook of `around_sending` is awaited when the connection stands and the first byte is about to go out
        (setting one up takes longer than using one again), the second when the head of the request is out. `in_time`
        is called after each part of the body and raises when the deadline has passed.

        Raises:
            TransientAnswer: no connection, or it broke off.
            TooLarge, BadCertificate, NoAddress, Untreatable: as they say.
        """
        fault: Exception
        # Instrumentation of httpx would write the whole address, and with it the key, into spans of its own (K118).
        with (
            tracer().start_as_current_span(
                "http attempt",
                kind=trace.SpanKind.CLIENT,
                attributes={**marks, "http.request.method": method},
                record_exception=False,
                set_status_on_exception=False,
            ) as span,
            suppress_http_instrumentation(),
        ):
            try:
                answer = await self._exchange(method, url, content, headers, around_sending, in_time)
            except httpx.ConnectTimeout:
                fault = TransientAnswer("no connection in time")
            except httpx.TimeoutException:
                fault = TransientAnswer("no answer in time", kind="timeout")
            except httpx.ConnectError as refused:
                reason = self.secrets.hide(reason_of(refused))
                if "CERTIFICATE_VERIFY_FAILED" in str(refused):
                    fault = BadCertificate(reason)
                else:
                    fault = TransientAnswer(f"no connection ({reason})" if reason else "no connection")
            except httpx.ProxyError as refused:
                fault = TransientAnswer(f"the proxy refused ({self.secrets.hide(reason_of(refused))})")
            except httpx.TransportError:
                fault = TransientAnswer("the connection broke off")
            except httpx.InvalidURL:
                fault = NoAddress()
            except httpx.DecodingError:
                fault = TransientAnswer("the compressed body is damaged", kind="invalid_response")
            except BaseException as other:
                span.set_attribute("error.type", type(other).__name__)
                raise
            else:
                span.set_attributes(
                    {"http.response.status_code": answer.status, "http.response.body.size": len(answer.body)}
                )
                self.requests.add(1, {"source": marks.get("literature.source", ""), "status": answer.status})
                return answer
            self.requests.add(1, {"source": marks.get("literature.source", ""), "status": 0})
            span.set_attribute("error.type", str(fault) or type(fault).__name__)
            # Raised here and not above: the errors of httpx hold the request, and with it the key (K118).
            raise fault

    async def _exchange(
        self,
        method: str,
        url: str,
        content: bytes | None,
        headers: Mapping[str, str],
        around_sending: tuple[Hook, Hook] | None,
        in_time: Callable[[], None],
    ) -> Answer:
        # Reading is timed from part to part: a large article may take its time over a slow link (K044).
        extensions: dict[str, Any] = {"timeout": self.timeout}
        if around_sending is not None:
            before_sending, after_sending = around_sending

            async def trace(event: str, _: dict[str, Any]) -> None:
                if event == "http11.send_request_headers.started":
                    await before_sending()
                elif event == "http11.send_request_headers.complete":
                    await after_sending()

            extensions["trace"] = trace
        request = httpx.Request(method, url, headers=headers, content=content, extensions=extensions)
        response = await self.network.handle_async_request(request)
        try:
            coding = response.headers.get("content-encoding", "").strip().lower()
            if coding not in _CODINGS:
                raise Untreatable("the body is compressed in a way that was not offered")
            length = response.headers.get("content-length", "")
            if length.isascii() and length.isdigit() and int(length) > self.max_body:
                raise TooLarge
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > self.max_body:
                    raise TooLarge
                in_time()
        finally:
            await response.aclose()
        return Answer(
            status=response.status_code,
            body=self.secrets.hide_bytes(bytes(body)),
            content_type=self.secrets.hide(response.headers.get("content-type", "")),
            headers={name.lower(): self.secrets.hide(value) for name, value in response.headers.items()},
        )
