"""Every code block of the README, cut into what one runner takes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

SHELLS = ("bash", "sh", "console")
# How a line for a shell begins, and who runs it.
PROGRAMS = {
    "python3 -m venv ": "installation",
    "literature-agent ": "commands",
    "python -m evals ": "evaluation",
    "claude mcp add ": "client command",
}
SERVERS = ("mcpServers", "servers", "context_servers", "mcp_servers")
"""Where the configuration files of MCP clients hold what they start."""


class Part(NamedTuple):
    """A block; of a block for a shell, lines that follow each other and have one runner."""

    kind: str
    """Names the runner. What has none is told in words that no runner has."""
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"README.md:{self.line}"


def blocks(markdown: str) -> list[Token]:
    """All code blocks, fenced or indented, in their order."""
    return [token for token in MarkdownIt().parse(markdown) if token.type in ("fence", "code_block")]


def parts(markdown: str) -> list[Part]:
    """Of all blocks."""
    found: list[Part] = []
    for block in blocks(markdown):
        assert block.map is not None
        # The text of a fenced block begins below its fence, counted from 1.
        found += _parts(block.info.strip(), block.map[0] + 2, block.content)
    return found


def _parts(language: str, line: int, text: str) -> Iterator[Part]:
    if language not in SHELLS:
        yield Part(_kind(language, text), line, text)
        return
    begun: Part | None = None
    for number, written in enumerate(text.splitlines(), line):
        kind = next((kind for start, kind in PROGRAMS.items() if written.startswith(start)), f"line {written!r}")
        if begun is not None and begun.kind == kind:
            begun = begun._replace(text=begun.text + written + "\n")
            continue
        if begun is not None:
            yield begun
        begun = Part(kind, number, written + "\n")
    if begun is not None:
        yield begun


def _kind(language: str, text: str) -> str:
    if language == "python":
        return "snippet"
    if language in ("json", "toml"):
        document = configuration(text)
        if any(name in document for name in SERVERS):
            return "client configuration"
        if "consumer" in document:
            return "policy"
    if language == "yaml" and "\ncases:\n" in text:
        return "dataset"
    return f"block of {language or 'no language'!r}"


def configuration(text: str) -> dict[str, object]:
    """A block of JSON or TOML, read."""
    read: dict[str, object] = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    return read


PARTS = parts(README)
