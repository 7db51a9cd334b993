"""Keeps the key and the contact address out of everything that leaves this room."""

from __future__ import annotations

import logging
import re
from urllib.parse import quote, quote_plus

from literature_agent.settings import Settings

HIDDEN = "[hidden]"

# Shorter values than any real key would also hit ordinary words of a paper.
_SHORTEST_IN_BODY = 6

# httpcore writes response headers at DEBUG, and a server may echo the request's address in one of them.
_WIRE_LOGGERS = ("httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy", "httpcore.socks")


class Secrets(logging.Filter):
    """The secrets of one `Settings`, and how to remove them.

    NCBI echoes the key in its 429 and 400 bodies, and the ID converter echoes the address, so answers are cleaned
    before anything else sees them.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        values = [
            secret.get_secret_value().strip()
            for secret in (settings.ncbi_api_key, settings.email)
            if secret is not None
        ]
        spellings = {s for value in values for s in (value, quote(value, safe=""), quote_plus(value))}
        # Longest first, so that no part of a longer spelling is left standing.
        self._spellings = sorted(spellings, key=len, reverse=True)
        self._text = self._pattern(self._spellings)
        in_body = [s for s in self._spellings if len(s) >= _SHORTEST_IN_BODY]
        self._needles = [s.lower().encode() for s in in_body]
        text = self._pattern(in_body)
        self._bytes = None if text is None else re.compile(text.pattern.encode(), re.IGNORECASE)

    @staticmethod
    def _pattern(spellings: list[str]) -> re.Pattern[str] | None:
        return re.compile("|".join(map(re.escape, spellings)), re.IGNORECASE) if spellings else None

    def hide(self, text: str) -> str:
        """`text` without any of the secrets."""
        return text if self._text is None else self._text.sub(HIDDEN, text)

    def hide_bytes(self, body: bytes) -> bytes:
        """`body` without any of the secrets."""
        if self._bytes is None:
            return body
        low = body.lower()
        if not any(needle in low for needle in self._needles):
            return body
        return self._bytes.sub(HIDDEN.encode(), body)

    def filter(self, record: logging.LogRecord) -> bool:
        """Clean a log record in place; never drops one."""
        message = record.getMessage()
        clean = self.hide(message)
        if clean != message:
            record.msg, record.args = clean, None
        return True

    def guard_logs(self) -> None:
        """Clean what the HTTP library logs from now on, until `release_logs`."""
        if self._text is not None:
            for name in _WIRE_LOGGERS:
                logging.getLogger(name).addFilter(self)

    def release_logs(self) -> None:
        for name in _WIRE_LOGGERS:
            logging.getLogger(name).removeFilter(self)
