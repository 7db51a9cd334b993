"""Any OpenAI-compatible endpoint by base URL: a small server on loopback speaks that wire protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from literature_agent import LiteratureAggregationOutput, LiteratureAggregator, Settings

QUESTION = "Does metformin slow cognitive decline in older adults with diabetes?"
Reply = dict[str, Any] | Callable[[dict[str, Any]], dict[str, Any]]


def calls(*tools: tuple[str, Any], finish: str = "tool_calls", text: str | None = None) -> dict[str, Any]:
    """A chat completion with tool calls; arguments that are text go out as they are."""
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "by-hand",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {
                    "role": "assistant",
                    "content": text,
                    "tool_calls": [
                        {
                            "id": f"call_{number}",
                            "type": "function",
                            "function": {
                                "name": name,
                                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                            },
                        }
                        for number, (name, arguments) in enumerate(tools)
                    ]
                    or None,
                },
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def streamed(body: dict[str, Any]) -> bytes:
    """The completion as server-sent events, arguments in pieces."""
    choice = body["choices"][0]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": choice["message"]["content"]}]
    for index, call in enumerate(choice["message"]["tool_calls"] or ()):
        function = call["function"]
        deltas.append({"tool_calls": [{"index": index, **call, "function": {**function, "arguments": ""}}]})
        written = function["arguments"]
        for at in range(0, len(written), 7):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": written[at : at + 7]}}]})
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "by-hand"}
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    chunks.append({**head, "choices": [], "usage": body["usage"]})
    lines = [*(json.dumps(chunk) for chunk in chunks), "[DONE]"]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def reference_in(request: dict[str, Any]) -> str:
    text = "\n".join(str(message.get("content")) for message in request["messages"] if message["role"] == "tool")
    return text[text.index("«") : text.index("»") + 1]


def search(request: dict[str, Any]) -> dict[str, Any]:
    return calls(("search_pubmed", {"query": "metformin"}))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    reference = reference_in(request)
    return calls(
        (
            "submit_answer",
            {"summary": f"Shown {reference}.", "relevant_articles": [{"reference": reference, "reason": "It bears."}]},
        )
    )


class Endpoint(ThreadingHTTPServer):
    """Answers the n-th request with the n-th reply; the last one repeats."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: list[Reply] = []
        self.asked: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(request)
        reply = self.server.replies[min(len(self.server.asked), len(self.server.replies)) - 1]
        body = reply(request) if callable(reply) else reply
        status = body.pop("status", 200) if "status" in body else 200
        streams = bool(request.get("stream")) and status == 200
        data = streamed(body) if streams else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "text/event-stream" if streams else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def model_at(endpoint: Endpoint) -> Model:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{endpoint.server_port}/v1", api_key="none", max_retries=0)
    return OpenAIChatModel("by-hand", provider=OpenAIProvider(openai_client=client))


async def run(endpoint: Endpoint, settings: Settings, *replies: Reply) -> LiteratureAggregationOutput:
    endpoint.replies = list(replies)
    return await LiteratureAggregator(model_at(endpoint), settings=settings).run(QUESTION)


async def test_a_run_over_the_wire(endpoint: Endpoint, settings: Settings) -> None:
    output = await run(endpoint, settings, search, answer)
    assert output.status == "complete"
    assert output.model == "openai:by-hand"
    assert output.usage.input_tokens == 200
    assert len(output.relevant_articles) == 1
    sent = endpoint.asked[0]
    assert {tool["function"]["name"] for tool in sent["tools"]} >= {"search_pubmed", "submit_answer"}


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_provider_that_fails_in_mid_run_leaves_a_partial_answer(
    endpoint: Endpoint, settings: Settings, status: int
) -> None:
    output = await run(endpoint, settings, search, {"status": status, "error": {"message": "busy"}})
    assert output.status == "partial"
    assert output.relevant_articles != ()
    assert any(str(status) in sentence for sentence in output.limitations)


async def test_a_provider_that_is_down_from_the_start_is_a_failed_run(endpoint: Endpoint, settings: Settings) -> None:
    output = await run(endpoint, settings, {"status": 500, "error": {"message": "down"}})
    assert output.status == "failed"
    assert output.relevant_articles == ()


async def test_arguments_cut_by_the_output_limit_are_named_as_such(endpoint: Endpoint, settings: Settings) -> None:
    """K088: the model is told that its output was cut, and may try again."""
    cut = calls(("submit_answer", '{"summary": "abc'), finish="length")
    output = await run(endpoint, settings, search, cut, answer)
    told = json.dumps(endpoint.asked[2]["messages"])
    assert "cut by your output limit" in told
    assert output.status == "complete"


async def test_output_that_is_cut_for_ever_ends_with_its_reason(endpoint: Endpoint, settings: Settings) -> None:
    """K088: a distinct reason, not n blind retries."""
    output = await run(endpoint, settings, search, calls(("submit_answer", '{"summary": "abc'), finish="length"))
    assert output.status == "partial"
    assert len(endpoint.asked) == 3
    assert any("cut" in sentence for sentence in output.limitations)


async def test_thinking_tags_reach_neither_queries_nor_output(endpoint: Endpoint, settings: Settings) -> None:
    """K096."""

    def thinking(request: dict[str, Any]) -> dict[str, Any]:
        return calls(("search_pubmed", {"query": "<think>which one?</think>metformin"}), text="<think>hm</think>")

    def thoughtful(request: dict[str, Any]) -> dict[str, Any]:
        reference = reference_in(request)
        return calls(
            (
                "submit_answer",
                {
                    "summary": f"<think>I could lie.</think>Shown {reference}.",
                    "relevant_articles": [{"reference": reference, "reason": "<thinking>x</thinking>It bears."}],
                },
            )
        )

    output = await run(endpoint, settings, thinking, thoughtful)
    assert "<think" not in output.model_dump_json()
    assert "I could lie" not in output.model_dump_json()
    assert output.search_log[0].query == "metformin"
    assert output.relevant_articles[0].relevance == "It bears."


@pytest.mark.parametrize("depth", [400, 100_000])
async def test_arguments_nested_without_end_are_refused_and_end_no_run(
    endpoint: Endpoint, settings: Settings, depth: int
) -> None:
    deep = "[" * depth + "]" * depth
    as_list = calls(("fetch_pubmed", f'{{"references": {deep}}}'))
    as_text = calls(("fetch_pubmed", {"references": deep}))
    output = await run(endpoint, settings, search, as_list, as_text, answer)
    assert output.status == "complete"
    assert len(endpoint.asked) == 4
    answered = [message for message in endpoint.asked[-1]["messages"] if message["role"] == "tool"]
    assert len(str(answered[-1]["content"])) < 1_000


async def test_a_small_model_that_mangles_every_second_call_still_ends_well(
    endpoint: Endpoint, settings: Settings
) -> None:
    bad_name = calls(("search_pubmedd", {"query": "x"}))
    bad_json = calls(("search_pubmed", '{"query": '))
    bad_type = calls(("search_pubmed", {"query": "metformin", "max_results": "many"}))
    output = await run(endpoint, settings, bad_name, search, bad_json, search, bad_type, answer)
    assert output.status == "complete"
    assert len(output.relevant_articles) == 1


async def test_plain_text_instead_of_a_call_is_asked_again(endpoint: Endpoint, settings: Settings) -> None:
    plain = calls(text="I think metformin helps.", finish="stop")
    output = await run(endpoint, settings, search, plain, answer)
    assert output.status == "complete"


async def stream_from_a_parent(endpoint: Endpoint, settings: Settings, *replies: Reply) -> tuple[str, list[bool]]:
    """Output of a parent on this endpoint that streams, and which requests asked for a stream. The sub-agent uses the
    parent's model."""
    endpoint.replies = list(replies)
    parent: Agent[None, str] = Agent(
        model_at(endpoint), deps_type=type(None), toolsets=[LiteratureAggregator(settings=settings).as_toolset()]
    )

    async def listen(_: Any, events: Any) -> None:
        async for _event in events:
            pass

    result = await parent.run("Ask.", event_stream_handler=listen)
    return result.output, [bool(request.get("stream")) for request in endpoint.asked]


ASK: Reply = calls(("literature_aggregator", {"question": QUESTION}))


def heard(request: dict[str, Any]) -> dict[str, Any]:
    return calls(text=str(request["messages"][-1]["content"]), finish="stop")


async def test_a_parent_may_stream_while_the_sub_agent_is_never_asked_to(
    endpoint: Endpoint, settings: Settings
) -> None:
    output, streams = await stream_from_a_parent(endpoint, settings, ASK, search, answer, heard)
    assert output.startswith("Status: complete")
    assert streams == [True, False, False, True]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"status": 429, "error": {"message": "busy"}}, "429"),
        (calls(("submit_answer", '{"summary": "abc'), finish="length"), "cut"),
    ],
)
async def test_what_goes_wrong_below_a_streaming_parent_is_a_partial_answer_for_it(
    endpoint: Endpoint, settings: Settings, reply: dict[str, Any], said: str
) -> None:
    def then(request: dict[str, Any]) -> dict[str, Any]:
        return heard(request) if request.get("stream") else dict(reply)

    output, _ = await stream_from_a_parent(endpoint, settings, ASK, search, then)
    assert output.startswith("Status: partial")
    assert said in output


async def test_what_a_provider_raises_below_a_parent_that_streams_its_output_is_a_partial_answer(
    settings: Settings,
) -> None:
    """The sub-agent asks for no stream, so that one guard around its requests is enough."""

    def asked(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ZeroDivisionError("the key is sk-synthetic")

    async def streamed_parent(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if len(messages) == 1:
            yield {0: DeltaToolCall("literature_aggregator", json.dumps({"question": QUESTION}))}
        else:
            yield str(getattr(messages[-1].parts[0], "content", None))

    model = FunctionModel(asked, stream_function=streamed_parent)
    parent = Agent(model, toolsets=[LiteratureAggregator(settings=settings).as_toolset()])
    async with parent.run_stream("Ask.") as stream:
        output = await stream.get_output()
    assert "The model did not finish: its provider failed (ZeroDivisionError)." in output
    assert "sk-synthetic" not in output
