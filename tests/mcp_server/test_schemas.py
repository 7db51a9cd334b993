"""The schemas that clients have seen: a change is a line in `schema_changes.md`, or it is a mistake.

`UPDATE_SCHEMAS=1 pytest tests/mcp_server/test_schemas.py` writes the snapshot anew; the line that it
then asks for is written by hand.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from literature_agent.mcp_server.offers import build_offers
from literature_agent.mcp_server.policy import EXPOSABLE
from literature_agent.sources import SOURCES

FOLDER = Path(__file__).parent
SNAPSHOT, CHANGES = FOLDER / "schemas.json", FOLDER / "schema_changes.md"


def _schemas() -> dict[str, Any]:
    return {
        name: offer.tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        for name, offer in build_offers(SOURCES).items()
    }


def test_the_schemas_are_those_of_the_snapshot() -> None:
    written = json.dumps(_schemas(), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_SCHEMAS"):
        SNAPSHOT.write_text(written, encoding="utf-8")
    assert json.loads(SNAPSHOT.read_text(encoding="utf-8")) == _schemas(), (
        "a schema has changed: see the docstring of this file"
    )


def test_the_newest_line_of_the_changelog_is_about_this_snapshot() -> None:
    digest = hashlib.sha256(SNAPSHOT.read_bytes()).hexdigest()[:12]
    lines = [line for line in CHANGES.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert lines[-1].startswith(f"| `{digest}` |"), f"write a line for `{digest}` that says what a client now sees"


@pytest.mark.parametrize("name", EXPOSABLE)
def test_every_exposable_tool_is_there(name: str) -> None:
    assert name in build_offers(SOURCES)
