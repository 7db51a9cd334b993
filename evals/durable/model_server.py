"""A model on loopback that speaks the OpenAI protocol, answers by rule, and counts every request."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MARK = re.compile(r"\bprobe\d+\b")
"""The word that makes a question its own; the model searches for it and repeats it."""
_REFERENCE = re.compile("«artifact:link:cite~[0-9A-Z]{10}»")


@dataclass
class Served:
    """One request: whose it was, and when it came."""

    mark: str
    turn: int
    came: float


@dataclass
class ModelServer:
    """Running server. A question is known by its mark; a turn by the replies of the model before it."""

    delay_s: float = 0.0
    served: list[Served] = field(default_factory=list)
    before_answer: Callable[[Served], None] | None = None
    address: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The completion for a request."""
        messages = body["messages"]
        asked = "\n".join(_text(message) for message in messages if message["role"] == "user")
        mark = MARK.search(asked)
        one = Served(
            "?" if mark is None else mark.group(), sum(m["role"] == "assistant" for m in messages), time.time()
        )
        with self._lock:
            self.served.append(one)
        if self.before_answer is not None:
            self.before_answer(one)
        if self.delay_s:
            time.sleep(self.delay_s)
        names = {tool["function"]["name"] for tool in body.get("tools", ())}
        message = _as_parent(one, messages) if "literature_aggregator" in names else _as_child(one, messages, names)
        message |= {"role": "assistant", "refusal": None}
        return {
            "id": f"reply-{one.mark}-{one.turn}",
            "object": "chat.completion",
            "created": int(one.came),
            "model": "loopback",
            "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}
            ],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
        }


def _as_parent(one: Served, messages: list[dict[str, Any]]) -> dict[str, Any]:
    if one.turn == 0:
        number = int(one.mark.removeprefix("probe"))
        return _calls(
            one,
            [
                ("literature_aggregator", {"question": f"Does probe{number + n} help in metformin use?"})
                for n in range(1, 5)
            ],
        )
    told = {m["tool_call_id"]: _text(m) for m in messages if m["role"] == "tool"}
    # What each child said, by the call it answers: the trial looks whether it is about its own question.
    said = {call: (MARK.findall(text) or ["none"])[0] for call, text in told.items()}
    return {"content": json.dumps({"mark": one.mark, "children": said})}


def _as_child(one: Served, messages: list[dict[str, Any]], names: set[str]) -> dict[str, Any]:
    if one.turn == 0:
        query = f"metformin OR {one.mark}"
        return _calls(
            one,
            [
                (name, {"query": query, "max_results": 3})
                for name in ("search_pubmed", "search_europepmc")
                if name in names
            ],
        )
    tools = [_text(m) for m in messages if m["role"] == "tool"]
    shown = list(dict.fromkeys(_REFERENCE.findall("\n".join(tools))))
    if one.turn == 1 and shown and "fetch_pubmed" in names:
        return _calls(one, [("fetch_pubmed", {"references": shown[:1]})])
    cited = shown[:3]
    summary = f"On {one.mark}: metformin was studied {cited[0]}." if cited else f"On {one.mark}: nothing was found."
    draft = {
        "summary": summary,
        "relevant_articles": [{"reference": each, "reason": f"It bears on {one.mark}."} for each in cited],
    }
    return _calls(one, [("submit_answer", draft)])


def _calls(one: Served, calls: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    return {
        "content": None,
        "tool_calls": [
            {
                "id": f"call-{one.mark}-{one.turn}-{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(calls)
        ],
    }


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


@contextmanager
def model_server(delay_s: float = 0.0) -> Iterator[ModelServer]:
    """A server that runs while this lasts."""
    model = ModelServer(delay_s)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Else the body waits 40 ms behind the headers, and the model is as much slower than it says.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                reply = json.dumps(model.answer(body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)
            except (BrokenPipeError, ConnectionResetError):
                # The worker that asked was killed.
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            return

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            return

    server = Server(("127.0.0.1", 0), Handler)
    model.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
