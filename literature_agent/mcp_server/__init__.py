"""The MCP server: the aggregator and the tools for any MCP client, over custody.

Built on the official SDK (`mcp`), its low-level server: schemas, content blocks with an audience, typed twins and error
branches go out exactly as made here, cancelling a request cancels its task, and it needs sixteen packages fewer than
FastMCP 4, which is itself a layer over this SDK. The extra `mcp` installs it.
"""

from literature_agent.mcp_server.policy import Consumer, Http, Policy, read_policy, stdio_policy
from literature_agent.mcp_server.server import LiteratureServer

__all__ = ["Consumer", "Http", "LiteratureServer", "Policy", "read_policy", "stdio_policy"]
