"""Loader of the prompts: Markdown files that ship in the wheel as `literature_agent/_prompts`.

In a checkout and in an editable install they lie in `prompts/` beside the package.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from literature_agent.errors import ConfigurationError


@cache
def load_prompt(name: str) -> str:
    """Text of the prompt `name` (`literature_aggregator`, `sources/pubmed`), without trailing blanks.

    Raises:
        ConfigurationError: no such prompt is installed.
    """
    packaged = resources.files("literature_agent") / "_prompts" / f"{name}.md"
    beside = Path(__file__).resolve().parent.parent / "prompts" / f"{name}.md"
    for place in (packaged, beside):
        if place.is_file():
            return place.read_text(encoding="utf-8").strip()
    raise ConfigurationError(
        f"The prompt {name!r} is not installed.", recovery="Reinstall the package: its prompts are missing."
    )
