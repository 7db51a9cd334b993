"""Inputs made from a tool's own schema: such as it allows, and such as break it.

`python -m evals.mcp --fuzz 2000` sends so many of each kind to every tool of a server over the sandbox. Every answer
must be a result that keeps the output schema, or a typed error; never a stack trace, never a broken connection. Of the
allowed inputs every second one is made of words that mean something there, so that what lies behind the first check is
reached.
"""

from __future__ import annotations

import json
import random
import string
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from jsonschema import Draft202012Validator
from mcp import Client, MCPError

from literature_agent.mcp_server import Consumer, LiteratureServer, Policy
from literature_agent.mcp_server.policy import EXPOSABLE, STDIO
from literature_agent.mcp_server.replies import MOST_BYTES, weight_of
from literature_agent.outputs import Budget
from literature_agent.settings import Settings

# Words that a fuzzer made of letters alone would hardly ever find.
_WORDS = (
    *(
        "metformin",
        "cognition",
        "(",
        ")",
        '"',
        "AND",
        "OR",
        "NOT",
        "[ti]",
        "[mesh]",
        "*",
        "2020",
        "2020-02-30",
        "2019-05",
    ),
    *("null", "None", "", " ", "[]", "{}", "[1,2]", "90000101", "10.5555/x", "PMC90000001", "NCT00000000", "s1", "*"),
    *("«artifact:link:cite~0000000000»", "«artifact:link:cite~K7QX2MDA4T»", "cite~", "<papers>", "</papers>", "${x}"),
    *(
        "\x00",
        "\x1b[31m",
        "\u202e",
        "é",
        "𝒳",
        "日本",
        "\n",
        "' OR 1=1 --",
        "../../etc/passwd",
        "https://x.example",
        "a" * 300,
    ),
    *("eng", "Review", "relevance", "pub_date", "CITED desc", "MED", "PPR", "core", "similar", "bibtex", "vancouver"),
)
_SENSIBLE: dict[str, tuple[Any, ...]] = {
    "query": ("metformin", "metformin AND cognition", '"older adults" OR statin', "vaccin*", "trial NOT children"),
    "question": ("Does metformin slow cognitive decline?", "Statins and memory: what is known?"),
    "date_from": ("2015", "2019-05", "2020-01-31"),
    "date_to": ("2021", "2024-12", "2026-01-01"),
    "since_entry_date": ("2018", "2021-03-04"),
    "languages": ("eng", "ger", "fre"),
    "publication_types": ("Review", "Randomized Controlled Trial", "Clinical Trial, Phase III"),
    "page": ("5", "10", "*"),
    "cursorMark": ("*",),
    "sort": ("relevance", "pub_date", "author", "date", "CITED desc", "p_pdate_d DESC, PUB_YEAR asc"),
    "category": ("neuroscience", "epidemiology"),
    "condition": ("diabetes", "dementia"),
    "intervention": ("metformin", "placebo"),
    "term": ("cognition", "older"),
    "citations": ("PMID: 90000101", "10.5555/synthetic.90000102", "Author 2021 time travel psychology"),
    "overall_status": ("COMPLETED", "RECRUITING"),
    "phases": ("PHASE2", "PHASE3"),
    "sections": ("Methods", "Results", "Table 1"),
    "source": ("pubmed", "europepmc"),
    "text": ("It helps {}, or not.", "{} and {}", "No reference at all."),
    "style": ("vancouver", "apa", "bibtex", "ris", "csl-json", "nbib", "csv", "markdown", "text"),
    "request_key": ("k-1", "k-2"),
}
"""Words that a tool can do something with, by the name of the argument; `{}` becomes a reference."""
_FINDERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_pubmed", {"query": "metformin", "max_results": 20}),
    ("search_europepmc", {"query": "metformin", "max_results": 20}),
    ("search_clinicaltrials", {"query": "metformin", "max_results": 20}),
    ("search_all", {"query": "metformin", "max_results": 40}),
)
"""Calls whose hits give references that exist."""
_RAW_FINDER = "pubmed_europepmc_search"
_STARTER = "literature_start"
Kind = Literal["allowed", "broken"]
_OTHER_THINGS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1e308,
    10**30,
    "",
    "x",
    [],
    {},
    [[]],
    [None],
    {"a": {"b": []}},
    "\ud800",
)


def allowed(schema: Mapping[str, Any], random_: random.Random) -> Any:
    """A value that the schema allows."""
    if "anyOf" in schema:
        return allowed(random_.choice(schema["anyOf"]), random_)
    if "enum" in schema:
        return random_.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        names = schema.get("properties", {})
        required = schema.get("required", ())
        return {name: allowed(names[name], random_) for name in names if name in required or random_.random() < 0.4}
    if kind == "array":
        least, most = schema.get("minItems", 0), min(schema.get("maxItems", 4), schema.get("minItems", 0) + 3)
        return [allowed(schema["items"], random_) for _ in range(random_.randint(least, max(least, most)))]
    if kind == "integer":
        return random_.randint(schema.get("minimum", 1), schema.get("maximum", 50))
    if kind == "number":
        return random_.uniform(schema.get("minimum", 0), schema.get("maximum", 50))
    if kind == "boolean":
        return random_.random() < 0.5
    if kind == "null":
        return None
    return _text(schema, random_)


def _text(schema: Mapping[str, Any], random_: random.Random) -> str:
    if "pattern" in schema:
        return "".join(random_.choices(string.ascii_letters + string.digits, k=random_.randint(1, 12)))
    text = " ".join(random_.choices(_WORDS, k=random_.randint(1, 4)))
    text = text[: schema.get("maxLength", 2_000)]
    return text if len(text) >= schema.get("minLength", 0) else "x"


@dataclass(frozen=True)
class Known:
    """What exists on the server that is tried."""

    references: Sequence[str] = ()
    runs: Sequence[str] = ()
    records: Sequence[tuple[str, str]] = ()
    """`source` and `epmcId` of records."""


def sensible(schema: Mapping[str, Any], random_: random.Random, known: Known) -> dict[str, Any]:
    """Arguments that the schema allows and that mean something: what is there, in the right places."""
    names, required = schema["properties"], schema.get("required", ())
    chosen = [name for name in names if name in required or random_.random() < 0.25]
    arguments: dict[str, Any] = {}
    for name in chosen:
        arguments[name] = _sensible(name, names[name], random_, known)
    if "epmcId" in arguments and known.records:
        arguments["source"], arguments["epmcId"] = random_.choice(known.records)
    return arguments


def _sensible(name: str, schema: Mapping[str, Any], random_: random.Random, known: Known) -> Any:
    options = [schema, *schema.get("anyOf", ())]
    is_list = any(option.get("type") == "array" for option in options)
    if name in ("reference", "references") and known.references:
        found = random_.choices(known.references, k=random_.randint(1, 5) if is_list else 1)
        return found if is_list else found[0]
    if name == "run_id" and known.runs:
        return random_.choice(known.runs)
    if name not in _SENSIBLE or any("enum" in option or "enum" in option.get("items", ()) for option in options):
        return allowed(schema, random_)
    if is_list:
        return random_.sample(_SENSIBLE[name], k=random_.randint(1, 2))
    text = random_.choice(_SENSIBLE[name])
    while "{}" in text:
        text = text.replace("{}", random_.choice(known.references or ("x",)), 1)
    return text


def broken(schema: Mapping[str, Any], random_: random.Random) -> dict[str, Any]:
    """Arguments that break the schema in one place or several."""
    keeps = Draft202012Validator(schema)
    while True:
        value = allowed(schema, random_)
        names = list(schema["properties"])
        for _ in range(random_.randint(1, 2)):
            what = random_.randrange(5)
            name = random_.choice(names)
            if what == 0:
                value[random_.choice(("model", "settings", "path", "__class__", "query ", "🧬"))] = "x"
            elif what == 1 and schema.get("required"):
                value.pop(random_.choice(schema["required"]), None)
            elif what == 2:
                value[name] = {"$ref": "#/", "deep": json.loads("[" * 50 + "]" * 50)}
            elif what == 3:
                value[name] = ["x"] * 500
            else:
                value[name] = random_.choice(_OTHER_THINGS)
        if not keeps.is_valid(value):
            return dict(value)


@dataclass
class Outcome:
    """What the calls to one tool gave."""

    tool: str
    inputs: Counter[Kind] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    """Status of the answers of calls that were carried out."""
    errors: Counter[str] = field(default_factory=Counter)
    """Typed errors by reason."""
    untyped: list[str] = field(default_factory=list)
    """Errors without a reason, mistakes of ours and broken calls: what was sent, and what came."""
    traces: list[str] = field(default_factory=list)
    """Stack traces in a reply."""
    oversized: list[str] = field(default_factory=list)
    """Replies above the limit."""

    @property
    def faults(self) -> list[str]:
        return [*self.untyped, *self.traces, *self.oversized]


def inputs(
    schema: Mapping[str, Any], count: int, seed: str, known: Known | None = None
) -> Iterator[tuple[Kind, dict[str, Any]]]:
    """`count` that are allowed, every second of them sensible, and as many that are not allowed."""
    random_ = random.Random(seed)
    for number in range(count):
        if number % 2:
            yield "allowed", sensible(schema, random_, known or Known())
        else:
            yield "allowed", dict(allowed(schema, random_))
    for _ in range(count):
        yield "broken", broken(schema, random_)


async def fuzz(
    settings: Settings,
    count: int,
    *,
    tools: Sequence[str] = EXPOSABLE,
    seed: str = "1",
    heard: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """`count` allowed and `count` broken inputs for each of `tools`, through the official client. `heard` is told of
    the state after each call."""
    consumer = Consumer(
        name=STDIO,
        tools=EXPOSABLE,
        identifiers="raw",
        # Runs as short as can be: what is tried is the door.
        budget=Budget(max_requests=1, max_tool_calls=0, deadline_s=20),
        runs_at_once=2,
    )
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        server = LiteratureServer(settings, Policy(consumer=(consumer,)), Path(folder))
        async with Client(server.build()) as client:
            known = await _known(client)
            for tool in (await client.list_tools()).tools:
                if tool.name not in tools:
                    continue
                outcome = Outcome(tool.name)
                for kind, arguments in inputs(tool.input_schema, count, f"{seed}-{tool.name}", known):
                    outcome.inputs[kind] += 1
                    await _try(client, arguments, outcome)
                    heard(outcome)
                outcomes.append(outcome)
    return outcomes


async def _known(client: Client) -> Known:
    """What calls of every kind have found."""
    references: list[str] = []
    for tool, arguments in _FINDERS:
        references += (await client.call_tool(tool, arguments)).structured_content["references"]
    started = await client.call_tool(_STARTER, {"question": "Does metformin slow cognitive decline?"})
    hits = (await client.call_tool(_RAW_FINDER, {"query": "metformin"})).structured_content["hits"]
    return Known(
        tuple(dict.fromkeys(references)),
        (started.structured_content["run_id"],),
        tuple((hit["source"], hit["epmcId"]) for hit in hits),
    )


async def _try(client: Client, arguments: dict[str, Any], outcome: Outcome) -> None:
    sent = ascii(arguments)[:300]
    try:
        result = await client.call_tool(outcome.tool, arguments)
    except MCPError as error:
        outcome.untyped.append(f"{sent}: protocol error {error.code} {error.message[:200]}")
        return
    except Exception as error:  # noqa: BLE001  # whatever else leaves the client is what is looked for
        outcome.untyped.append(f"{sent}: {type(error).__name__} {str(error)[:200]}")
        return
    written = result.model_dump_json(exclude_none=True)
    if "Traceback" in written or 'File "' in written:
        outcome.traces.append(f"{sent}: a stack trace in the reply")
    if (weight := weight_of(result)) > MOST_BYTES:
        outcome.oversized.append(f"{sent}: a reply of {weight:,} bytes")
    told = result.structured_content or {}
    if not result.is_error:
        outcome.answered[str(told.get("status", "ok"))] += 1
        return
    branch = told.get("error", {})
    reason = branch.get("reason") or branch.get("data", {}).get("reason")
    if not reason or reason == "internal_error":
        outcome.untyped.append(f"{sent}: {reason or 'an error without a reason'}")
    else:
        outcome.errors[reason] += 1
