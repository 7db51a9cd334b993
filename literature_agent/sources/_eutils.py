"""What NCBI's E-utilities say when something is wrong, told apart by content: the status alone does not tell.

A fault may come as HTTP 200 with an `ERROR` member, as HTTP 400 that relays a gateway, as a trace of a C++ exception,
as a page of HTML, or as nothing but a prolog; a wrong key and a wrong identifier are both HTTP 400. PubMed and PMC
share all this because they share the host.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from lxml import etree

from literature_agent.errors import SourceError, source_error
from literature_agent.sources._text import one_line
from literature_agent.sources._xml import parse_xml
from literature_agent.transport.messages import Answer, Request, TransientAnswer

LONGEST_GET = 1_800
"""Characters of parameters up to which a GET is sent; NCBI answers 414 to a little more than 2,000 (K011)."""
MOST_IDS_IN_GET = 200
"""NCBI asks for POST above about 200 identifiers (NBK25499)."""

# An error body is short; what stands far inside a set of records is not looked at.
_SNIFFED = 20_000

_ERROR_ELEMENT = re.compile(r"<ERROR>(.*?)(?:</ERROR>|\Z)", re.S | re.I)
_KEY_REFUSED = re.compile(
    r"api[ _-]?key\b.{0,40}\b(?:invalid|not valid|wrong|unknown|expired)|invalid api[ _-]?key", re.I
)
_KEY_ECHO = re.compile(r"(api[_-]?key\W{1,4})[\w-]+|\b[0-9a-f]{32,40}\b", re.I)
_RATE = re.compile(r"rate limit|too many requests", re.I)
_ANY_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_NO_IDS = re.compile(r"ID list is empty|Supplied id parameter is empty", re.I)
_BROKEN = re.compile(
    r"proxy_stream|bad gateway|PubOne|C\+\+ Exception|CTxRawClient|TXCLIENT|address table is empty|error forwarding",
    re.I,
)
# Judged before `_PASSING`: PubMed words a refused offset as "Search Backend failed: ..." (K002).
_REFUSED = re.compile(
    r"retstart|out of range|cannot be larger|greater than number of records|invalid (?:db|value|parameter|query)|"
    r"empty term|term is empty|missing|not supported|unknown (?:db|database|parameter|value)|must be|should be",
    re.I,
)
_TIMEOUT = re.compile(r"time ?out|timed out", re.I)
_PASSING = re.compile(
    r"backend|temporar|unavailable|try again|maintenance|internal|service|exception|\bEOF\b|unable to obtain|"
    r"(?:failed|unable|cannot|can't|couldn't|could not) (?:to )?(?:connect|resolve|read|open|retrieve)",
    re.I,
)


def eutils_request(
    source: str,
    path: str,
    params: Sequence[tuple[str, str]],
    *,
    ids: int = 0,
    max_age_s: float | None = None,
) -> Request:
    """A request to the E-utilities: GET, or POST with a form where the parameters are long or the `ids` many (K011)."""
    length = sum(len(name) + 2 + _encoded_length(value) for name, value in params)
    # The servers behind ELink have been out of reach for hours while all others answered.
    part = "elink" if path == "elink.fcgi" else ""
    if length > LONGEST_GET or ids > MOST_IDS_IN_GET:
        return Request(source, "eutils", path, form=tuple(params), max_age_s=max_age_s, part=part)
    return Request(source, "eutils", path, params=tuple(params), max_age_s=max_age_s, part=part)


def _encoded_length(value: str) -> int:
    """Characters that `value` may take in an address at most."""
    if value.isascii():
        return 3 * len(value) - 2 * sum(map(str.isalnum, value))
    return sum(1 if char.isascii() and char.isalnum() else 3 * len(char.encode("utf-8", "replace")) for char in value)


def is_empty_id_list(answer: Answer) -> bool:
    """Whether EFetch says that none of the identifiers asked can be one (HTTP 400): an empty set, no error (K013)."""
    return len(answer.body) < 2_000 and _NO_IDS.search(_text(answer)) is not None


def read_json(answer: Answer, source: str, name: str) -> dict[str, Any]:
    """The JSON object `name` that E-utilities answered.

    Lenient about raw line breaks inside strings, which NCBI writes into its error texts.

    Raises:
        TransientAnswer: a passing fault, worth asking again.
        SourceError: `<source>_configuration` for a refused key, `<source>_invalid_input` with NCBI's own reason.
    """
    inner = _member(answer, source, name)
    if not isinstance(inner, dict):
        raise unusable(answer, source)
    return inner


def read_link_sets(answer: Answer, source: str) -> list[dict[str, Any]]:
    """The link sets that ELink answered as JSON.

    Raises:
        TransientAnswer, SourceError: as `read_json`; also for an error inside a set.
    """
    sets = _member(answer, source, "linksets")
    if not isinstance(sets, list):
        raise unusable(answer, source)
    for one in sets:
        if (message := _error_member(one)) is not None:
            raise fault(message, answer, source)
    return [one for one in sets if isinstance(one, dict)]


def linked_ids(sets: Sequence[dict[str, Any]], link_name: str, target: str) -> list[str]:
    """The identifiers of one link out of link sets, as written, each once: text, or objects where scores were asked."""
    found: list[str] = []
    for one in sets:
        for links in one.get("linksetdbs") or ():
            if not isinstance(links, dict) or links.get("linkname") != link_name or links.get("dbto", target) != target:
                continue
            for link in links.get("links") or ():
                found.append(str(link.get("id", "") if isinstance(link, dict) else link))
    return list(dict.fromkeys(found))


def _member(answer: Answer, source: str, name: str) -> object:
    data = _parse_json(answer.body)
    if not isinstance(data, dict):
        check_answer(answer, source)
        raise unusable(answer, source)
    inner = data.get(name)
    for member in (data, inner):
        message = _error_member(member)
        if message is not None:
            raise fault(message, answer, source)
    if answer.status != 200:
        raise unusable(answer, source)
    return inner


def read_xml(answer: Answer, source: str, *roots: str) -> etree._Element:
    """Root of the XML that E-utilities answered; it is one of `roots`, in no namespace.

    Raises:
        TransientAnswer: a passing fault, worth asking again: cut off, only a prolog, a page of HTML ...
        SourceError: as for `read_json`.
    """
    check_answer(answer, source)
    try:
        root = parse_xml(answer.body, source)
    except SourceError as broken:
        raise TransientAnswer(broken.message, kind="invalid_response") from None
    if root.tag not in roots:
        raise TransientAnswer(
            f"NCBI answered with the element {one_line(str(root.tag), 60)!r}, not {' or '.join(roots)}.",
            kind="invalid_response",
        )
    return root


def check_answer(answer: Answer, source: str) -> None:
    """Raise what an error answer says; return if none of the known error shapes is met.

    Raises:
        TransientAnswer, SourceError: as for `read_xml`.
    """
    if answer.looks_like_html() or not answer.body.strip():
        raise unusable(answer, source)
    head = _text(answer)
    if head.startswith(("{", "[")):
        message = _error_member(_parse_json(answer.body))
        raise fault(message, answer, source) if message is not None else unusable(answer, source)
    if (element := _ERROR_ELEMENT.search(head)) and element.group(1).strip():
        raise fault(element.group(1), answer, source)
    if answer.status != 200 or not head.startswith("<"):
        raise fault(head, answer, source, stated=answer.status == 400)


def fault(message: str, answer: Answer, source: str, *, stated: bool = True) -> TransientAnswer | SourceError:
    """The error that NCBI's own `message` stands for; its markup, and a key it may echo, are gone.

    `stated`: the message stood where errors stand, so words that are not known are a refusal too.
    """
    said = scrub(message)
    if _KEY_REFUSED.search(message):
        return source_error(
            source,
            "configuration",
            "NCBI refuses the API key of the setting NCBI_API_KEY.",
            recovery="Correct or unset NCBI_API_KEY (LITERATURE_AGENT_NCBI_API_KEY).",
        )
    if _RATE.search(message):
        return TransientAnswer("NCBI's rate limit is exceeded.", kind="rate_limited")
    broken = _BROKEN.search(message) is not None
    if _REFUSED.search(message) and not broken:
        return source_error(source, "invalid_input", f"NCBI refused the request: {said}")
    if _TIMEOUT.search(message):
        return TransientAnswer(f"NCBI could not answer: {said}", kind="timeout")
    if broken or _PASSING.search(message):
        return TransientAnswer(f"NCBI could not answer: {said}")
    if stated and answer.status in (200, 400):
        return source_error(source, "invalid_input", f"NCBI refused the request: {said}")
    return unusable(answer, source)


def unusable(answer: Answer, source: str) -> TransientAnswer | SourceError:
    """The error of an answer that says nothing: by its status, else a page or an empty body."""
    if answer.status in (401, 403):
        return source_error(source, "blocked", f"NCBI refuses this client (HTTP {answer.status}).")
    if answer.status in (413, 414):
        return source_error(source, "invalid_input", f"The request is too long (HTTP {answer.status}): split it.")
    if answer.status == 404:
        return source_error(source, "invalid_response", "NCBI has nothing at this address (HTTP 404).")
    if answer.looks_like_html():
        return TransientAnswer("NCBI answered with a web page instead of data.", kind="unreachable")
    if answer.status == 200:
        what = "an empty body" if not answer.body.strip() else "something that is not the data asked for"
        return TransientAnswer(f"NCBI answered with {what}.", kind="invalid_response")
    return source_error(source, "invalid_response", f"NCBI answered HTTP {answer.status}.")


def scrub(message: str) -> str:
    """NCBI's words on one line, without markup and without anything that looks like a key."""
    line = _ANY_TAG.sub(" ", one_line(message, 2_000))
    return one_line(_KEY_ECHO.sub(lambda echo: f"{echo[1] or ''}[hidden]", line))


def _text(answer: Answer) -> str:
    return answer.body[:_SNIFFED].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")


def _error_member(data: object) -> str | None:
    """Text of the member that says what went wrong, upper or lower case; None where there is none or it is empty."""
    if not isinstance(data, dict):
        return None
    message = data.get("ERROR") or data.get("error")
    return message if isinstance(message, str) and message.strip() else None


def _parse_json(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
