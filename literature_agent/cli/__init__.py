"""The command line: `literature-agent`."""

from literature_agent.cli.app import main

__all__ = ["main"]
