"""The settings of a command, with the sandbox behind them where it is asked for."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from literature_agent.sandbox import Corpus
    from literature_agent.settings import Settings


class Opened(NamedTuple):
    """Settings, and what a person should know of where they point (empty: to the real services)."""

    settings: Settings
    note: str
    papers: str
    """The option that chose the papers; empty for the real services."""


@contextmanager
def open_settings(*, sandbox: bool, folder: Path | None) -> Iterator[Opened]:
    """Settings from the environment; with `sandbox` or a corpus folder they point at a server that runs meanwhile.

    Raises:
        ConfigurationError: a setting is refused.
        InvalidInputError: the corpus folder is missing or holds no record.
    """
    from literature_agent.settings import load_settings

    if not sandbox and folder is None:
        yield Opened(load_settings(), "", "")
        return
    from literature_agent.sandbox import SandboxServer

    with open_corpus(folder) as corpus, SandboxServer(corpus) as server:
        what = "invented papers" if corpus.is_synthetic else f"the records in {str(folder)!r}"
        note = f"Sandbox: {corpus.size} records ({what}) served on this machine; the real services are not asked."
        # Each server has a port of its own, so what were stored of its answers could never serve again.
        settings = load_settings(**server.settings_overrides(), cache="off", pace="off")
        papers = "--sandbox" if folder is None else f"--corpus {shlex.quote(str(folder.resolve()))}"
        yield Opened(settings, note, papers)


@contextmanager
def open_corpus(folder: Path | None) -> Iterator[Corpus]:
    """The corpus of `folder`, or the packaged one."""
    from literature_agent.sandbox import Corpus

    corpus = Corpus.packaged() if folder is None else Corpus.from_folder(folder)
    try:
        yield corpus
    finally:
        corpus.close()
