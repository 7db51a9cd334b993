"""The Tasks extension of MCP (`io.modelcontextprotocol/tasks`, SEP-2663): shapes, and who has declared it.

A client that declares it with a call may get a handle instead of a result, and asks for the result later. The SDK has
the client's half only, so what a task looks like on the wire is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import CLIENT_CAPABILITIES_META_KEY, MISSING_REQUIRED_CLIENT_CAPABILITY, RequestParams, Result
from mcp_types.jsonrpc import HEADER_MISMATCH, METHOD_NOT_FOUND
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

EXTENSION = "io.modelcontextprotocol/tasks"
POLL_INTERVAL_MS = 2000

TaskStatus = Literal["working", "completed", "failed", "cancelled"]


class TaskParams(RequestParams):
    """Parameters of `tasks/get`, `tasks/cancel` and `tasks/update`; the answers of an update are not read, since no
    run asks its client for anything."""

    task_id: str = Field(alias="taskId")


class Task(Result):
    """A task as it stands. `result` is there when it is completed, `error` when it has failed."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    result_type: Literal["task", "complete"] = "complete"
    task_id: str
    status: TaskStatus
    status_message: str | None = None
    created_at: str
    last_updated_at: str
    ttl_ms: int | None
    poll_interval_ms: int = POLL_INTERVAL_MS
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """As it is sent. `ttlMs` is there also when it is null, which means for ever."""
        document = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {**document, "ttlMs": self.ttl_ms}


def declares_tasks(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client has declared the extension with this very request."""
    found: object = context.params
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    for name in ("_meta", CLIENT_CAPABILITIES_META_KEY, "extensions", EXTENSION):
        if not isinstance(found, Mapping) or name not in found:
            return False
        found = found[name]
    return True


def require_tasks(context: ServerRequestContext[Any, Any], params: TaskParams) -> None:
    """Let nobody ask for a task who could not be given one.

    Raises:
        MCPError: the protocol is too old, the extension not declared, or the header of the request (SEP-2243) names
            another task.
    """
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=context.method)
    if not declares_tasks(context):
        raise MCPError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message=f"Declare the extension {EXTENSION} with the request.",
            data={"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
        )
    named = None if context.request is None else context.request.headers.get(MCP_NAME_HEADER)
    if named is not None and decode_header_value(named) != params.task_id:
        raise MCPError(code=HEADER_MISMATCH, message=f"The header {MCP_NAME_HEADER} names another task.")
