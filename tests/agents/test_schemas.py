"""Every schema a model is sent, against the rules of the providers (K099, K100)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles.google import GoogleJsonSchemaTransformer
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer
from pydantic_ai.tools import ToolDefinition

from literature_agent import AggregationRequest, LiteratureAggregator, Settings
from literature_agent.agents.agent import instructions
from literature_agent.sources import select_sources
from literature_agent.testing import scripted_model, submit


async def definitions(settings: Settings) -> list[ToolDefinition]:
    """The tools of the agent, its output tool, and the tool that a parent gets, as they are sent."""
    sent: list[ToolDefinition] = []

    def look(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        sent.extend([*info.function_tools, *info.output_tools])
        return ModelResponse(parts=[TextPart("done")])

    aggregator = LiteratureAggregator(FunctionModel(look), settings=settings)
    await aggregator.run("What is known about metformin?")
    parent: Agent[None, str] = Agent(FunctionModel(look), deps_type=type(None), tools=[aggregator.as_tool()])
    await parent.run("Ask.")
    distinct = {definition.name: definition for definition in sent}
    assert {"search_pubmed", "fetch_pubmed", "submit_answer", "literature_aggregator"} <= set(distinct)
    return list(distinct.values())


def nodes(schema: Any, *, names: bool = False) -> Iterator[dict[str, Any]]:
    if isinstance(schema, list):
        for item in schema:
            yield from nodes(item)
    elif isinstance(schema, dict):
        if not names:
            yield schema
        for key, value in schema.items():
            if names or key not in ("default", "enum", "const", "required"):
                yield from nodes(value, names=key == "properties" and not names)


def depth(schema: Any) -> int:
    """Levels of objects inside objects."""
    if isinstance(schema, list):
        return max((depth(item) for item in schema), default=0)
    if not isinstance(schema, dict):
        return 0
    return (schema.get("type") == "object") + max((depth(value) for value in schema.values()), default=0)


async def test_schemas_are_flat_and_closed(settings: Settings) -> None:
    """K099, K100: no references, no free-form objects, no formats; nesting of at most two levels."""
    for definition in await definitions(settings):
        schema = definition.parameters_json_schema
        assert schema["type"] == "object", definition.name
        assert depth(schema) <= 3, definition.name
        for node in nodes(schema):
            assert not {"$ref", "$defs", "format", "patternProperties", "oneOf", "allOf", "not"} & set(node), node
            assert node.get("additionalProperties", False) is False
            if node.get("type") == "array":
                assert "items" in node


async def test_every_parameter_is_typed_and_described(settings: Settings) -> None:
    for definition in await definitions(settings):
        assert definition.description, definition.name
        for name, schema in definition.parameters_json_schema.get("properties", {}).items():
            assert "type" in schema or "anyOf" in schema or "enum" in schema, f"{definition.name}.{name}"


@pytest.mark.parametrize("transformer", [OpenAIJsonSchemaTransformer, GoogleJsonSchemaTransformer])
async def test_the_transformers_of_strict_providers_take_every_schema(settings: Settings, transformer: Any) -> None:
    for definition in await definitions(settings):
        walked = transformer(definition.parameters_json_schema, strict=True).walk()
        assert walked["type"] == "object"
        if transformer is OpenAIJsonSchemaTransformer:
            for node in nodes(walked):
                if node.get("type") == "object" and "properties" in node:
                    assert node["additionalProperties"] is False
                    assert set(node["required"]) == set(node["properties"])


# The words of JSON Schema that every one of them takes in the arguments of a tool. llama.cpp, to which Ollama hands
# schemas, makes a grammar of them and knows the fewest.
ALLOWED = frozenset(
    [
        "type",
        "description",
        "properties",
        "required",
        "items",
        "enum",
        "additionalProperties",
        "default",
        "examples",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
    ]
)
# These two are written anew by their transformer, which takes out what they do not allow.
TRANSFORMERS: dict[str, Any] = {"openai strict": OpenAIJsonSchemaTransformer, "gemini": GoogleJsonSchemaTransformer}
PROVIDERS = ("anthropic", "bedrock", "llama.cpp", "ollama", *TRANSFORMERS)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_every_schema_keeps_the_rules_of_the_provider(settings: Settings, provider: str) -> None:
    """K099, K100: known words only; one plain type a node; an object at the top; few members, not deep."""
    transformer = TRANSFORMERS.get(provider)
    for definition in await definitions(settings):
        schema = definition.parameters_json_schema
        if transformer is not None:
            schema = transformer(schema, strict=True).walk()
        assert schema["type"] == "object", definition.name
        assert len(json.dumps(schema)) < 4_000, definition.name
        for node in nodes(schema):
            assert set(node) <= ALLOWED, f"{definition.name}: {sorted(set(node) - ALLOWED)}"
            assert isinstance(node["type"], str)
            assert node["type"] in {"object", "array", "string", "integer", "number", "boolean"}
            assert set(node.get("required", ())) <= set(node.get("properties", ()))
            if provider == "openai strict" and node["type"] == "object":
                assert set(node["required"]) == set(node["properties"])
        if provider == "bedrock":
            assert 0 < len(definition.description or "") <= 10_000
        if provider == "anthropic":
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", definition.name)


async def test_what_need_not_be_given_is_not_offered_as_null_too_and_null_is_still_taken(settings: Settings) -> None:
    """Small models send null for what they leave out (K093)."""
    for definition in await definitions(settings):
        assert '"null"' not in json.dumps(definition.parameters_json_schema), definition.name
    nulls = {"query": "metformin", "page": None, "date_from": None, "publication_types": None}
    output = await LiteratureAggregator(scripted_model([("search_pubmed", nulls)], submit("x")), settings=settings).run(
        "What is known about metformin?"
    )
    assert [line.status for line in output.search_log] == ["ok"]


INSTRUCTIONS = Path(__file__).parent / "instructions.md"


def test_the_assembled_instructions_are_those_that_were_last_agreed_on(settings: Settings) -> None:
    """A changed prompt is seen in review: write the new text to `instructions.md` if the change is meant."""
    assembled = instructions(select_sources(None, settings))
    assert assembled == INSTRUCTIONS.read_text(encoding="utf-8").rstrip("\n")
    assert len(assembled) < 8_000


async def test_names_fit_every_provider(settings: Settings) -> None:
    """Letters, digits and underscores, at most 64 characters."""
    for definition in await definitions(settings):
        assert definition.name.isidentifier()
        assert len(definition.name) <= 64
        for name in definition.parameters_json_schema.get("properties", {}):
            assert name.isidentifier()


async def test_every_tool_takes_its_arguments_in_snake_case(settings: Settings) -> None:
    names = {
        definition.name: set(definition.parameters_json_schema["properties"])
        for definition in await definitions(settings)
    }
    assert all(name == name.lower() for taken in names.values() for name in taken)
    assert names["literature_aggregator"] == set(AggregationRequest.model_fields)
    # The European index is asked as its own callers ask it.
    assert names["search_europepmc"] >= {
        *("query", "max_results", "sources", "sort", "cursor_mark", "page_size", "result_type")
    }


@pytest.mark.parametrize(
    ("tool", "given", "filters"),
    [
        ("search_pubmed", {"publication_types": '["Review"]'}, {"publication_types": "Review"}),
        ("search_pubmed", {"languages": "eng, ger"}, {"languages": "eng, ger"}),
        ("search_pubmed", {"publication_types": "Clinical Trial, Phase III"}, None),
        ("search_europepmc", {"sources": "MED,PPR"}, {"sources": "MED, PPR"}),
        ("search_europepmc", {"publication_types": "review"}, {"publication_types": "review"}),
        ("search_clinicaltrials", {"overall_status": '["RECRUITING"]'}, {"overall_status": "RECRUITING"}),
    ],
)
async def test_a_list_sent_as_text_is_read(
    settings: Settings, tool: str, given: dict[str, Any], filters: dict[str, str] | None
) -> None:
    """K093, K102: models write one value, or a list as JSON, where a list is wanted."""
    model = scripted_model([(tool, {"query": "metformin", **given})], submit("Nothing was found."))
    (logged,) = (await LiteratureAggregator(model, settings=settings).run("Metformin?")).search_log
    wanted = given if filters is None else filters
    assert {name: logged.filters[name] for name in wanted} == wanted


async def test_instructions_and_tools_are_the_same_in_every_turn(settings: Settings) -> None:
    """Constant within a run, so that provider caches hold."""
    sent: list[tuple[str | None, list[str]]] = []

    def look(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        from pydantic_ai.messages import ToolCallPart

        sent.append((info.instructions, [repr(tool.parameters_json_schema) for tool in info.function_tools]))
        return ModelResponse(parts=[ToolCallPart("search_pubmed", {"query": f"metformin OR w{len(messages)}"})])

    await LiteratureAggregator(FunctionModel(look), settings=settings).run("What is known about metformin?")
    assert len(sent) > 3
    assert all(each == sent[0] for each in sent)
