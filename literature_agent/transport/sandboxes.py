"""Which addresses have said that they are the sandbox, which needs no pace.

Only an address of this machine is believed: the sandbox listens on loopback and nowhere else, so a host out there that
says so is wrong or lies, and is asked as slowly as ever. What is known belongs to the process, so that one-shot calls
that follow each other need not learn it anew, and lasts until the address answers without saying so.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from urllib.parse import urlsplit

from literature_agent.transport.hosts import is_loopback

SANDBOX_HEADER = "x-literature-agent-sandbox"
"""Response header by which the sandbox says what it is."""


class Sandboxes:
    """The addresses that are known to be sandboxes, shared by threads and event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: frozenset[str] = frozenset()

    def heard(self, base_url: str, headers: Mapping[str, str]) -> None:
        """Take note of what an answer from `base_url` says of itself; `headers` have names in lower case."""
        says_so = SANDBOX_HEADER in headers
        if says_so != self.knows(base_url) and (not says_so or is_loopback(urlsplit(base_url).hostname or "")):
            with self._lock:
                self._known = self._known | {base_url} if says_so else self._known - {base_url}

    def knows(self, base_url: str) -> bool:
        """Whether the last answer from there said so."""
        return base_url in self._known


SANDBOXES_OF_THIS_PROCESS = Sandboxes()
"""Outlives each client, as the breakers do."""
