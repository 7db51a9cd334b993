"""The tools that can be exposed: name, title, description, schemas.

Inputs of the agent's tools are the agent's own, so that a model meets the same arguments everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from literature_agent.agents.schemas import flat_schema
from literature_agent.agents.toolset import build_toolset
from literature_agent.errors import InvalidInputError
from literature_agent.mcp_server.arguments import refusal, tidy
from literature_agent.mcp_server.policy import EXPOSABLE, Consumer
from literature_agent.mcp_server.raw_schemas import FETCH_INPUT, FETCH_OUTPUT, SEARCH_INPUT, SEARCH_OUTPUT
from literature_agent.mcp_server.replies import FACTS_SCHEMA, MOST_HITS
from literature_agent.mcp_server.twins import (
    CitationsTwin,
    ConversionsTwin,
    FetchTwin,
    MatchesTwin,
    MeshTwin,
    ReadTwin,
    RelatedTwin,
    RunTwin,
    SearchTwin,
    Twin,
    schema_of,
)
from literature_agent.outputs import AggregationRequest
from literature_agent.sources import SOURCES, Source

AGGREGATOR = "literature_aggregator"
START, STATUS, RESULT = "literature_start", "literature_status", "literature_result"
RENDER = "render_citations"
RAW_SEARCH, RAW_FETCH = "pubmed_europepmc_search", "pubmed_europepmc_fetch"

_COPY = "Results name papers by reference only: copy references exactly, and write no identifiers yourself. "
_PAGES = f"At most {MOST_HITS} hits come in one reply; `next_page` continues. "

_TITLES = {
    AGGREGATOR: "Answer from the literature",
    "search_pubmed": "Search PubMed",
    "fetch_pubmed": "Read PubMed records",
    "read_pmc_full_text": "Read an open full text",
    "search_europepmc": "Search Europe PMC",
    "fetch_europepmc": "Read Europe PMC records",
    "search_biorxiv": "Search bioRxiv and medRxiv",
    "fetch_biorxiv": "Read preprint records",
    "search_clinicaltrials": "Search ClinicalTrials.gov",
    "fetch_clinicaltrial": "Read registered trials",
    "find_related": "Find related works",
    "search_all": "Search all sources at once",
    "match_citations": "Check pasted citations",
    "convert_ids": "See which identifiers works have",
    "lookup_mesh": "Find MeSH headings",
    RENDER: "Print citations",
    START: "Start a literature run",
    STATUS: "Progress of a literature run",
    RESULT: "Answer of a literature run",
    RAW_SEARCH: "Search Europe PMC (identifiers)",
    RAW_FETCH: "Read a Europe PMC record (identifiers)",
}

_DESCRIPTIONS = {
    AGGREGATOR: (
        "Answers a biomedical question: plans searches, reads abstracts, and returns a summary with checked "
        "references, themes, research gaps and what could not be searched. Takes from seconds to minutes; if your "
        "calls are limited to a minute use literature_start. Not for looking up one known paper or for a list of "
        "hits: use search_pubmed. " + _COPY
    ),
    "search_pubmed": (
        'Searches PubMed, the index of peer-reviewed biomedicine, in PubMed\'s grammar (AND OR NOT, "phrases", '
        "truncation*, tags such as [ti] [tiab] [mesh] [au]). Gives title and the beginning of the abstract of each "
        "hit, how PubMed read the query, and what it ignored. "
        + _PAGES
        + "Whole abstracts: fetch_pubmed. Not for preprints "
        "(search_europepmc), registered trials (search_clinicaltrials), or a question that needs several searches "
        "(literature_aggregator). " + _COPY
    ),
    "fetch_pubmed": (
        "Reads whole PubMed records of references that a search has shown: full abstract, MeSH headings, linked works. "
        "At most 25 references a call. Takes references only, no PMIDs or DOIs: search for those first. Not for full "
        "texts: read_pmc_full_text. " + _COPY
    ),
    "read_pmc_full_text": (
        "Reads the open full text of one paper. Without `sections` (or with an empty list) it gives the outline; then "
        "ask for the headings you need, or tables by label. About 12,000 characters a call; open access only, with the "
        "reason where there is none. Takes a reference that a search has shown. Not for abstracts: fetch_pubmed. "
    ),
    "search_europepmc": (
        "Searches Europe PMC: PubMed's records, papers found only in PMC, and preprints in one index, full texts "
        "included (FIELD:term such as TITLE_ABS: or PUB_YEAR:[2020 TO 2026]). " + _PAGES + "Whole abstracts: "
        "fetch_europepmc. Not where PubMed's grammar or MeSH is wanted: search_pubmed. " + _COPY
    ),
    "fetch_europepmc": (
        "Reads whole Europe PMC records of references that a search has shown, preprints too. At most 25 references a "
        "call. Takes references only. Not for full texts: read_pmc_full_text. " + _COPY
    ),
    "search_biorxiv": (
        "Reads every preprint of a window of days on bioRxiv or medRxiv and keeps those with all words of the query: "
        "needs `query`, `date_from` and `date_to`, and is slow for long windows. "
        + _PAGES
        + "Not for preprints of any "
        "date: search_europepmc finds them by words. Preprints are not peer-reviewed. " + _COPY
    ),
    "fetch_biorxiv": (
        "Reads preprint records of references that a search has shown: whole abstract, versions, the published paper "
        "where there is one. Takes references only. Not for published papers: fetch_pubmed. " + _COPY
    ),
    "search_clinicaltrials": (
        "Searches registered trials on ClinicalTrials.gov by condition, intervention, status and phase. "
        + _PAGES
        + "Whole registrations: fetch_clinicaltrial. Not for published results: search_pubmed. "
        + _COPY
    ),
    "fetch_clinicaltrial": (
        "Reads registrations of trials that a search has shown: arms, outcomes, eligibility, posted results. Takes "
        "references only. Not for papers: fetch_pubmed. " + _COPY
    ),
    "find_related": (
        "Finds works related to one reference: similar, citing, cited, or linked (preprint, paper, notice, trial). "
        "Takes a reference that a search has shown. Not a search by words: search_pubmed. " + _COPY
    ),
    "search_all": (
        "Searches every enabled source at once and gives one merged, de-duplicated, scored list, with what each "
        f"source answered. No pages: at most {MOST_HITS} hits; for more search one source by itself (search_pubmed). "
        "Not for a query in one source's grammar. " + _COPY
    ),
    "match_citations": (
        "Checks up to 25 citations as they were pasted: each is matched, miscited (the wrong fields are named), "
        "unknown, or failed where a source did not answer. A matched or miscited work gets a reference. Not for "
        "finding papers on a topic: search_pubmed. " + _COPY
    ),
    "convert_ids": (
        "Says which identifiers works have: a record in PubMed, a copy in PMC, a DOI, and when an embargo ends. Takes "
        "references that a search has shown, at most 25. Not for whole records: fetch_pubmed. " + _COPY
    ),
    "lookup_mesh": (
        "Finds the MeSH heading of one concept, with synonyms, place in the tree and scope, to write better PubMed "
        "queries (heading[mesh]). Not for finding papers: search_pubmed. "
    ),
    RENDER: (
        "Prints a bibliography of references that were shown to you, or prose with references as numbered text, for "
        "the person behind this client. Styles: text, markdown, bibtex, ris, csl-json, nbib, csv, vancouver, ama, apa, "
        "nature. Give `references`, `text`, or both. Never write citations yourself: this tool does. Not for finding "
        "papers: search_pubmed. "
    ),
    START: (
        "Starts the work of literature_aggregator and returns at once with a run id, for clients that wait a minute at "
        "most. Ask literature_status for progress and literature_result for the answer. With the same `request_key` a "
        "repeated call starts nothing new. Not for quick look-ups: search_pubmed. "
    ),
    STATUS: (
        "Says how far a run started with literature_start has come. Ask every ten seconds or so. Not for the answer "
        "itself: literature_result. "
    ),
    RESULT: (
        "Gives the answer of a finished run, as literature_aggregator would; of a cancelled run what had been found. "
        "While it runs it says so: wait, then ask again. Starts nothing: literature_start does. " + _COPY
    ),
    RAW_SEARCH: (
        "Searches Europe PMC and gives hits with identifiers, authors and journal, for programs. `sources`: MED PMC "
        "PPR PAT AGR, the first three by default. Abstracts are cut at 400 characters: pubmed_europepmc_fetch "
        "gives them whole. `nextCursorMark` continues. Not for a model that cites: search_europepmc hands it "
        "references. "
    ),
    RAW_FETCH: (
        "Gives the complete Europe PMC record of one `source` and `epmcId`, copied from a hit of "
        "pubmed_europepmc_search, with the whole abstract. Not for searching, and not for references: fetch_europepmc. "
    ),
}

_REQUEST_KEY: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "description": "A key of your own for this request: asked again with it, nothing is done twice.",
}


class _RunId(BaseModel):
    run_id: str = Field(min_length=1, max_length=64, description="Run id that literature_start gave.")


class _Citations(BaseModel):
    references: list[str] | None = Field(
        None, max_length=100, description="References copied exactly from tool results."
    )
    text: str | None = Field(None, max_length=100_000, description="Prose with references, to be printed with numbers.")
    style: str = Field("text", max_length=100, description="Name of the style or format.")


@dataclass(frozen=True)
class Offer:
    """One tool, ready to be listed, and what reads its arguments."""

    tool: Tool
    validate: Callable[[dict[str, Any]], dict[str, Any]]
    request_key: bool = False

    @property
    def name(self) -> str:
        return self.tool.name

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments as the tool takes them.

        Raises:
            InvalidInputError: they are refused; the message names the argument.
        """
        tidied = tidy(arguments, self.tool.input_schema)
        key = tidied.pop("request_key", None) if self.request_key else None
        if key is not None and not (isinstance(key, str) and 1 <= len(key) <= 100):
            raise InvalidInputError("request_key is not a text of 1 to 100 characters.")
        try:
            read = self.validate(tidied)
        except ValidationError as refused:
            raise refusal(refused) from None
        return {**read, "request_key": key} if self.request_key else read

    def listed(self, consumer: Consumer) -> Tool:
        """The tool as this consumer sees it."""
        if consumer.identifiers != "raw" or self.name in (RAW_SEARCH, RAW_FETCH) or self.tool.output_schema is None:
            return self.tool
        schema = self.tool.output_schema
        with_records = {**schema, "properties": {**schema["properties"], "records": FACTS_SCHEMA}}
        return self.tool.model_copy(update={"output_schema": with_records})


def build_offers(sources: Sequence[Source], *, europepmc_enabled: bool = True) -> Mapping[str, Offer]:
    """Every tool that can be exposed with these sources, by name, in the order of `EXPOSABLE`.

    Where Europe PMC is switched off, the two tools of its contract are there all the same: they say so, as the contract
    has it.
    """
    names = tuple(source.name for source in sources)
    return _build_offers(names, with_contract="europepmc" in names or not europepmc_enabled)


@cache
def _build_offers(names: tuple[str, ...], *, with_contract: bool) -> Mapping[str, Offer]:
    # Schemas of results are slow to make, and the same for every server of a process.
    sources = [source for source in SOURCES if source.name in names]
    toolset = build_toolset(sources).wrapped
    assert hasattr(toolset, "tools")
    offers: dict[str, Offer] = {}
    for name, tool in toolset.tools.items():
        if name in EXPOSABLE:
            schema = tool.function_schema
            offers[name] = _offer(name, schema.json_schema, _twin_of(name), schema.validator.validate_python)
    request = flat_schema(AggregationRequest.model_json_schema(by_alias=False))
    request.pop("description", None)
    for name in (AGGREGATOR, START):
        with_key = {**request, "properties": {**request["properties"], "request_key": _REQUEST_KEY}}
        offers[name] = replace(_offer(name, with_key, RunTwin, _validator(AggregationRequest)), request_key=True)
    for name in (STATUS, RESULT):
        offers[name] = _offer(name, flat_schema(_RunId.model_json_schema()), RunTwin, _validator(_RunId))
    offers[RENDER] = _offer(RENDER, flat_schema(_Citations.model_json_schema()), CitationsTwin, _validator(_Citations))
    if with_contract:
        offers[RAW_SEARCH] = _raw_offer(RAW_SEARCH, SEARCH_INPUT, SEARCH_OUTPUT)
        offers[RAW_FETCH] = _raw_offer(RAW_FETCH, FETCH_INPUT, FETCH_OUTPUT)
    return {name: offers[name] for name in EXPOSABLE if name in offers}


_TWINS: Mapping[str, type[Twin]] = {
    "read_pmc_full_text": ReadTwin,
    "find_related": RelatedTwin,
    "match_citations": MatchesTwin,
    "convert_ids": ConversionsTwin,
    "lookup_mesh": MeshTwin,
}


def _twin_of(name: str) -> type[Twin]:
    if name.startswith("search_"):
        return SearchTwin
    return _TWINS.get(name, FetchTwin)


def _offer(
    name: str, schema: dict[str, Any], twin: type[Twin], validate: Callable[[dict[str, Any]], dict[str, Any]]
) -> Offer:
    return Offer(_tool(name, _without_empty_lists(schema), schema_of(twin)), validate)


def _raw_offer(name: str, input_schema: dict[str, Any], output_schema: dict[str, Any]) -> Offer:
    return Offer(_tool(name, input_schema, output_schema), lambda arguments: arguments)


def _tool(name: str, input_schema: dict[str, Any], output_schema: dict[str, Any]) -> Tool:
    return Tool(
        name=name,
        title=_TITLES[name],
        description=_DESCRIPTIONS[name].strip(),
        input_schema=input_schema,
        output_schema=output_schema,
        annotations=ToolAnnotations(
            title=_TITLES[name],
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=name != START,
            open_world_hint=name not in (RENDER, STATUS, RESULT),
        ),
    )


def _without_empty_lists(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema, saying that a list may not be empty where that is refused (K103)."""

    def mended(name: str, member: dict[str, Any]) -> dict[str, Any]:
        if name in ("sections", "searches"):
            return member
        if "anyOf" in member:
            return {**member, "anyOf": [mended(name, option) for option in member["anyOf"]]}
        return {"minItems": 1, **member} if member.get("type") == "array" else member

    return {**schema, "properties": {name: mended(name, member) for name, member in schema["properties"].items()}}


def _validator(model: type[BaseModel]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def validate(arguments: dict[str, Any]) -> dict[str, Any]:
        read = model.model_validate(arguments, by_name=True)
        return {name: getattr(read, name) for name in model.model_fields}

    return validate
