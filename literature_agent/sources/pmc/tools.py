"""PMC as a tool: whole articles by PMCID. It has no search of its own here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from literature_agent.errors import refused
from literature_agent.ids import normalise_pmcid
from literature_agent.results import FetchResult
from literature_agent.sources._text import quoted
from literature_agent.sources.pmc.client import PMCClient
from literature_agent.sources.pmc.parse import NAME

MOST_IDS = 50
"""Articles of one call; each is a request of its own, and some are large."""


@dataclass(frozen=True)
class PMCTools:
    """The tool of PMC over one client."""

    client: PMCClient

    async def fetch_pmc(
        self,
        ids: Annotated[Sequence[str], Field(description="PMCIDs such as PMC3531190", max_length=MOST_IDS)],
    ) -> FetchResult:
        """Fetch whole PMC articles with sections, tables and figure captions. An article whose text PMC does not give comes as a citation without sections. Says which identifiers are unknown and which could not be read."""  # noqa: E501
        async with self.client.transport.job("eutils", NAME):
            return await self.client.fetch(read_pmcids(ids))

    fetch = fetch_pmc


def read_pmcids(ids: Sequence[str] | str) -> dict[str, str]:
    """Each identifier as given, with its written form.

    Raises:
        InvalidInputError: too many, or one that is no PMCID; bare digits are none (K021).
    """
    given = [ids] if isinstance(ids, str) else list(ids)
    if len(given) > MOST_IDS:
        raise refused(
            NAME,
            f"{len(given):,} identifiers are too many: fetch at most {MOST_IDS} articles at once.",
        )
    asked: dict[str, str] = {}
    for text in given:
        pmcid = normalise_pmcid(text)
        if pmcid is None:
            raise refused(
                NAME,
                f"{quoted(text)} is no PMCID: write PMC and the digits, such as PMC3531190.",
            )
        asked[text] = pmcid
    return asked
