"""Where a redirect leads: on within the host, never away from it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, urljoin, urlsplit, urlunsplit

from literature_agent.errors import source_error
from literature_agent.transport.hosts import CREDENTIAL_NAMES
from literature_agent.transport.messages import Request

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5


@dataclass(frozen=True)
class Step:
    """What goes out next, before credentials: the request itself, or where a redirect sent it."""

    method: str
    address: str
    params: tuple[tuple[str, str], ...]
    form: tuple[tuple[str, str], ...] | None


def followed(request: Request, step: Step, status: int, location: str) -> Step:
    """Where a redirect leads, without the credentials that the server may have echoed in it.

    Raises:
        SourceError: it leads off the host.
    """
    old = urlsplit(step.address)
    try:
        new = urlsplit(urljoin(step.address, location))
        upgrade = (old.scheme, new.scheme) == ("http", "https") and new.hostname == old.hostname
        allowed = (upgrade or _place(new) == _place(old)) and "@" not in new.netloc
        where = new.hostname or "an unreadable address"
    except ValueError:
        allowed, where = False, "an unreadable address"
    if not allowed:
        raise source_error(
            request.source,
            "invalid_response",
            f"{old.netloc} redirects {request.path} to {where}; only redirects within the host are followed.",
            recovery="Check the base URL in the settings, and whether the network asks for a login first.",
        )
    query = parse_qsl(new.query, keep_blank_values=True)
    see_other = status == 303
    return Step(
        "GET" if see_other else step.method,
        urlunsplit((new.scheme, new.netloc, new.path, "", "")),
        tuple(pair for pair in query if pair[0] not in CREDENTIAL_NAMES),
        None if see_other else step.form,
    )


def _place(address: SplitResult) -> tuple[str, str | None, int | None]:
    return address.scheme, address.hostname, address.port or {"http": 80, "https": 443}.get(address.scheme)
