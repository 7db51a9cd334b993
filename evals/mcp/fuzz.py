"""Inputs made from a tool's own schema: such as it allows, and such as break it.

`python -m evals.mcp --fuzz 2000` sends so many of each kind to every tool of a server over the sandbox. Every answer
must be a result that keeps the output schema, or a typed error; never a stack trace, never a broken connection.
"""

from __future__ import annotations

import json
import random
import string
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, MCPError

from literature_agent.mcp_server import Consumer, LiteratureServer, Policy
from literature_agent.mcp_server.policy import EXPOSABLE, STDIO
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
_FINDER = "search_pubmed"
"""The tool whose hits give references that exist."""
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


def broken(schema: Mapping[str, Any], random_: random.Random) -> dict[str, Any]:
    """Arguments that break the schema in one place or several."""
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
    return dict(value)


@dataclass
class Outcome:
    """What the calls to one tool gave."""

    tool: str
    calls: Counter[str] = field(default_factory=Counter)
    """`ok`, or the reason of the error."""
    faults: list[str] = field(default_factory=list)
    """Answers that must not be: what was sent, and what was wrong."""


def inputs(
    schema: Mapping[str, Any], count: int, seed: str, references: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """`count` that are allowed, half of them with some of `references` where the schema has a place for them, and as
    many that are not."""
    random_ = random.Random(seed)
    for number in range(count):
        arguments = dict(allowed(schema, random_))
        if references and number % 2:
            if "reference" in arguments:
                arguments["reference"] = random_.choice(references)
            if "references" in schema["properties"]:
                arguments["references"] = random_.choices(references, k=random_.randint(1, 5))
        yield arguments
    for _ in range(count):
        yield broken(schema, random_)


async def fuzz(settings: Settings, count: int, *, tools: Sequence[str] = EXPOSABLE, seed: str = "1") -> list[Outcome]:
    """`count` allowed and `count` broken inputs for each of `tools`, through the official client."""
    consumer = Consumer(
        name=STDIO,
        tools=tuple({*tools, _FINDER}),
        identifiers="raw",
        # Runs as short as can be: what is tried is the door.
        budget=Budget(max_requests=1, max_tool_calls=0, deadline_s=20),
        runs_at_once=2,
    )
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        server = LiteratureServer(settings, Policy(consumer=(consumer,)), Path(folder))
        async with Client(server.build()) as client:
            found = await client.call_tool(_FINDER, {"query": "metformin", "max_results": 20})
            references = found.structured_content["references"]
            for tool in (await client.list_tools()).tools:
                if tool.name not in tools:
                    continue
                outcome = Outcome(tool.name)
                for arguments in inputs(tool.input_schema, count, f"{seed}-{tool.name}", references):
                    await _try(client, arguments, outcome)
                outcomes.append(outcome)
    return outcomes


async def _try(client: Client, arguments: dict[str, Any], outcome: Outcome) -> None:
    sent = ascii(arguments)[:300]
    try:
        result = await client.call_tool(outcome.tool, arguments)
    except MCPError as error:
        outcome.calls[f"protocol {error.code}"] += 1
        outcome.faults.append(f"{sent}: protocol error {error.message[:200]}")
        return
    except Exception as error:  # noqa: BLE001  # whatever else leaves the client is what is looked for
        outcome.calls[type(error).__name__] += 1
        outcome.faults.append(f"{sent}: {type(error).__name__} {str(error)[:200]}")
        return
    written = result.model_dump_json(exclude_none=True)
    if "Traceback" in written or 'File "' in written:
        outcome.faults.append(f"{sent}: a stack trace in the reply")
    if len(written.encode()) > 60_000:
        outcome.faults.append(f"{sent}: a reply of {len(written):,} characters")
    if not result.is_error:
        outcome.calls["ok"] += 1
        return
    branch = (result.structured_content or {}).get("error", {})
    reason = branch.get("reason") or branch.get("data", {}).get("reason")
    outcome.calls[str(reason)] += 1
    if not reason or reason == "internal_error":
        outcome.faults.append(f"{sent}: {reason or 'an error without a reason'}")
