"""The commands and the one place where errors become messages and exit codes.

Exit codes: 0 done (also when nothing was found), 1 failed, 2 usage or configuration, 3 partial.
"""

from __future__ import annotations

import atexit
import gc
import itertools
import re
import sys
import traceback
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from literature_agent.cli.batch import batch
from literature_agent.cli.chat import chat
from literature_agent.cli.cite import cite
from literature_agent.cli.doctor import doctor
from literature_agent.cli.durable_runs import resume, runs
from literature_agent.cli.examples import epilog
from literature_agent.cli.lookup import fetch, search
from literature_agent.cli.mcp import mcp
from literature_agent.cli.reading import read
from literature_agent.cli.run import run
from literature_agent.cli.screen import FAILED, USAGE, Screen, code_of
from literature_agent.cli.serve import sandbox
from literature_agent.errors import InvalidInputError, LiteratureError, in_words, meant

PROGRAM = "literature-agent"

_INTERRUPTED = 130  # what typer returns for Ctrl-C

app = typer.Typer(
    help="Answer biomedical questions from the literature, with citations that are always real.",
    epilog="Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 partial.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (run, chat, batch, resume, runs, search, fetch, read, cite, mcp, sandbox, doctor):
    app.command(epilog=epilog(command.__name__))(command)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{PROGRAM} {version('literature-agent')}")
        raise typer.Exit


@app.callback()
def common(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@cache
def _command() -> Any:
    """Built once, for callers that give more than one line."""
    return get_command(app)


def main(argv: list[str] | None = None) -> int:
    """Run the command line and give its exit code. Expected errors end in one sentence, never in a traceback."""
    if argv is None:
        # This is the whole program. At its end Python would look for garbage among all that was loaded, which takes as
        # long as many a command.
        atexit.register(gc.freeze)
    arguments = list(sys.argv[1:] if argv is None else argv)
    screen = Screen(json=_wants_json(arguments), lines="--jsonl" in arguments)
    try:
        code = _command()(args=arguments, prog_name=PROGRAM, standalone_mode=False)
    except TyperException as refused:
        return _usage_error(screen, refused, arguments)
    except LiteratureError as error:
        screen.error(error)
        return code_of(error)
    except typer.Abort:
        code = _INTERRUPTED
    except SystemExit as end:  # typer's ending when the reader of stdout has gone
        return end.code if isinstance(end.code, int) else FAILED
    except Exception as bug:  # noqa: BLE001  # the last door: a bug is shown as one, and JSON mode still gets its document
        traceback.print_exc()
        if screen.json:
            screen.error(LiteratureError(f"Bug: {type(bug).__name__}.", reason="internal_error", recovery="Report it."))
        return FAILED
    if code == _INTERRUPTED:
        screen.error(LiteratureError("Interrupted.", reason="request_interrupted", retryable=True))
        return FAILED
    return code if isinstance(code, int) else 0


def _wants_json(arguments: list[str]) -> bool:
    """Whether the caller reads JSON; asked before parsing, since a usage error must be JSON too (K120)."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    formats = [value for option, value in itertools.pairwise(options) if option == "--format"]
    return not {"--json", "--jsonl", "--format=json"}.isdisjoint(options) or "json" in formats


def _usage_error(screen: Screen, refused: TyperException, arguments: list[str]) -> int:
    message = " ".join(refused.format_message().split())
    if not screen.json and message.startswith("Usage:"):
        # No command given: the message is the whole help.
        sys.stderr.write(refused.format_message() + "\n")
        return USAGE
    verb = arguments[0] if arguments and arguments[0] in _command().commands else ""
    message = "No command given." if message.startswith("Usage:") else _refusal(message, verb)
    screen.error(InvalidInputError(message, recovery=_next_step(message, verb)))
    return USAGE


def _refusal(message: str, verb: str) -> str:
    """Why the line is refused, as a sentence, with what was meant instead of what the parser guesses."""
    commands = _command().commands
    if wrong := re.match(r"No such option: (\S+)", message):
        known = (commands[verb] if verb else _command()).params
        options = [option for parameter in known for option in parameter.opts if option.startswith("--")]
        return f"{wrong[0]}.{meant(wrong[1], options)}"
    if wrong := re.match(r"No such command '(.*?)'\.", message):
        return f"{wrong[0]}{meant(wrong[1], commands)}"
    for pattern, said in _IN_WORDS:
        message = re.sub(pattern, said, message)
    message = in_words(message)
    message = message if message.endswith((".", "?", "!")) else f"{message}."
    choice = re.search(r"'([^']*)' is not one of (.*)", message)
    return message + (meant(choice[1], re.findall(r"'([^']+)'", choice[2])) if choice else "")


# How the parser says what is wrong with a line, and how a person does.
_IN_WORDS = (
    (r"requires an argument", "needs a value"),
    (r"Got unexpected extra argument\(s\) \((.*)\)$", r"Too many arguments: \1"),
)
_IN_QUOTES = {"run": "question", "chat": "question", "search": "query"}
"""What a shell takes apart."""
_AFTER_SOURCE = {"search": "QUERY", "fetch": "ID"}


def _next_step(message: str, verb: str) -> str:
    from literature_agent.sources import SOURCES

    surplus = message.partition("Too many arguments: ")[2].rstrip(".")
    names = {each.strip(",") for each in surplus.lower().split()}
    if names and verb in ("run", "chat") and names <= {source.name for source in SOURCES}:
        return "Join the names of sources by commas: --sources A,B."
    if surplus and verb in _IN_QUOTES and not surplus.startswith("-"):
        return f"Put the {_IN_QUOTES[verb]} in quotes, or see `{PROGRAM} {verb} --help`."
    if verb in _AFTER_SOURCE and message.startswith("No such option: --source"):
        part = "; a part of Europe PMC is named in the query, as SRC:PPR" if verb == "search" else ""
        return f"The source is the first word after `{verb}`{part}."
    if verb in _AFTER_SOURCE and message.startswith("Missing argument"):
        return f"Write `{PROGRAM} {verb} SOURCE {_AFTER_SOURCE[verb]}`, with a source such as pubmed."
    return f"See `{PROGRAM} {verb} --help`." if verb else f"See `{PROGRAM} --help`."
