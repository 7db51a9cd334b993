"""`mcp`: the aggregator and the tools for MCP clients."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from literature_agent.cli import options
from literature_agent.cli.corpus import open_settings
from literature_agent.cli.screen import Screen, color_wanted
from literature_agent.errors import ConfigurationError, InvalidInputError

if TYPE_CHECKING:
    from literature_agent.mcp_server.policy import Policy

TOKEN = "LITERATURE_AGENT_MCP_TOKEN"
HOST, PORT = "127.0.0.1", 8848


class Identifiers(StrEnum):
    references = "references"
    raw = "raw"


class BibliographyForm(StrEnum):
    inline = "inline"
    link = "link"


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP instead of standard input and output.")] = False,
    host: Annotated[str | None, typer.Option(help=f"Address to listen at, with --http ({HOST}).")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help=f"Port, with --http; 0 takes a free one ({PORT}).")
    ] = None,
    policy: Annotated[Path | None, typer.Option(metavar="FILE", help="Who may call what, as TOML.")] = None,
    tools: Annotated[
        str | None, typer.Option(metavar="A,B", help="Tools to expose without a policy file, instead of the default.")
    ] = None,
    identifiers: Annotated[
        Identifiers, typer.Option(help="What a client's model sees, without a policy file: references, or raw.")
    ] = Identifiers.references,
    bibliography: Annotated[
        BibliographyForm,
        typer.Option(help="How replies carry the person's bibliography, without a policy file: inline, or a link."),
    ] = BibliographyForm.inline,
    make_token: Annotated[
        bool, typer.Option("--new-token", help="Print a new bearer token and its hash for a policy, and exit.")
    ] = False,
    use_sandbox: options.UseSandbox = False,
    corpus: options.CorpusFolder = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Serve the aggregator and the tools to MCP clients.

    Offered by default are literature_aggregator, search_pubmed and read_pmc_full_text.

    On standard input and output until the client closes it; with --http until Ctrl-C. Over HTTP nobody is let in
    without a policy, unless it listens on the loopback address and LITERATURE_AGENT_MCP_TOKEN holds a token.
    """
    try:
        import mcp as _  # noqa: F401  # the extra is asked for before anything is opened
    except ImportError:
        raise ConfigurationError(
            "The MCP server needs a package that is not installed.",
            recovery="Install the extra: pip install 'literature-agent[mcp]'.",
        ) from None
    from literature_agent.mcp_server.policy import new_token

    if not http and (host is not None or port is not None):
        raise InvalidInputError("--host and --port are of a server over HTTP.", recovery="Give --http too.")
    host, port = host or HOST, PORT if port is None else port

    screen = Screen(quiet=quiet, verbose=verbose, color=color_wanted(no_color))
    if make_token:
        token, hashed = new_token()
        screen.result(f'token:  {token}\npolicy: token_sha256 = ["{hashed}"]')
        return 0
    from literature_agent.mcp_server.stdio import claimed_stdout

    # From here on stdout belongs to the protocol.
    with claimed_stdout() as wire, screen.logging(), open_settings(sandbox=use_sandbox, folder=corpus) as opened:
        import asyncio

        from literature_agent.mcp_server.server import LiteratureServer

        chosen = _policy(http, host, policy, options.read_list(tools), identifiers, bibliography)
        folder = None if use_sandbox or corpus is not None else opened.settings.cache_dir / "mcp"
        server = LiteratureServer(opened.settings, chosen, folder)
        screen.note(opened.note)
        if opened.settings.model is None:
            screen.note(
                "No model is set: `extractive` answers, which is not a language model (LITERATURE_AGENT_MODEL)."
            )
        try:
            if http:
                from literature_agent.mcp_server.http import serve_http

                if not chosen.consumers:
                    screen.note(f"Nobody is let in: give --policy, or a token in {TOKEN} on the loopback address.")
                asyncio.run(
                    serve_http(server, host=host, port=port, ready=lambda at: screen.note(f"Serving MCP at {at}"))
                )
            else:
                from literature_agent.mcp_server.stdio import serve_stdio

                asyncio.run(serve_stdio(server, wire))
        except KeyboardInterrupt:
            screen.note("Stopped.")
    return 0


def _policy(
    http: bool,
    host: str,
    file: Path | None,
    tools: tuple[str, ...] | None,
    identifiers: Identifiers,
    bibliography: BibliographyForm,
) -> Policy:
    """The policy of the file, or the one that the flags make.

    Raises:
        ConfigurationError: flags and file contradict each other, or one of them is refused.
    """
    from literature_agent.mcp_server.policy import STDIO, Policy, loopback_policy, read_policy, stdio_policy
    from literature_agent.settings import from_environment
    from literature_agent.transport.hosts import is_loopback

    if file is not None:
        if tools is not None or identifiers is Identifiers.raw or bibliography is BibliographyForm.link:
            raise ConfigurationError(
                "--policy says who may call what: --tools, --identifiers and --bibliography are not taken beside it.",
                recovery="Write them into the policy file.",
            )
        read = read_policy(file)
        if not http and read.named(STDIO) is None:
            raise ConfigurationError(
                f"The policy has no consumer called {STDIO!r}.", recovery=f'Add one: [[consumer]] name = "{STDIO}".'
            )
        return read
    token = from_environment(TOKEN)
    if not http:
        return stdio_policy(tools=tools, identifiers=identifiers.value, bibliography=bibliography.value)
    if token and is_loopback(host):
        return loopback_policy(token, tools=tools, identifiers=identifiers.value, bibliography=bibliography.value)
    return Policy()
