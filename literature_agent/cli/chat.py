"""`chat`: a question and what follows from it, line by line, on one registry."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from literature_agent.cli import options
from literature_agent.cli.cite import read_run
from literature_agent.cli.corpus import open_settings
from literature_agent.cli.files import in_utf8, output_file
from literature_agent.cli.forms import LOG_SUFFIXES, SUFFIXES, Format, document_of, format_of, rendered, rendered_log
from literature_agent.cli.interrupt import cancel_on_interrupt
from literature_agent.cli.run import EXIT_CODES, NO_MODEL
from literature_agent.cli.screen import Screen, code_of, color_wanted
from literature_agent.errors import InvalidInputError, LiteratureError, counted, reason_of

if TYPE_CHECKING:
    from literature_agent.agents.aggregator import LiteratureAggregator
    from literature_agent.agents.ask import ArticleAnswer
    from literature_agent.artifacts import CitationArtifact
    from literature_agent.outputs import AggregationRequest, LiteratureAggregationOutput
    from literature_agent.settings import Settings

HELP = """\
  a question          asks it
  narrow since 2020   asks again with a limit: since, until, type, source,
                      language or articles, each with its value
  narrow to WORDS     asks again with these words added to the question
  widen               takes the last limit back; `widen since` takes that one
  ask 3 QUESTION      asks article 3 alone, from its text
  show                the answer again; `show 3`: the abstract of article 3
  export FILE         .md .html .txt .json .bib .ris .nbib .csl.json, or the
                      search log as .csv, its flow diagram as .svg
  quit                ends; so does the end of the input"""
_LONGEST_LINE = 80_000
_LIMITS = {
    "since": "date_from",
    "until": "date_to",
    "type": "publication_types",
    "language": "languages",
    "source": "sources",
    "articles": "max_articles",
}


def chat(
    question: Annotated[
        str | None, typer.Argument(show_default=False, help="The first question; without it the first line is.")
    ] = None,
    run_file: options.RunFile = None,
    model: options.ModelName = None,
    sources: options.SourceList = None,
    use_sandbox: options.UseSandbox = False,
    corpus: options.CorpusFolder = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Ask, then narrow, widen, ask one article, export.

    Reads a line at a time, from the terminal or a pipe; `help` lists what it understands. Everything found stays in one
    registry. With --json each line of input gives one JSON document on a line. The exit code is that of the first line
    that did not end well.
    """
    screen = Screen(json=json, lines=json, quiet=quiet, verbose=verbose, color=color_wanted(no_color))
    question = None if question is None else in_utf8(question)
    saved = None if run_file is None else read_run(run_file)
    with screen.logging(), open_settings(sandbox=use_sandbox, folder=corpus) as opened:
        import pydantic_ai

        from literature_agent.agents.aggregator import LiteratureAggregator

        # Its banner for developers has no place among the lines of this program.
        pydantic_ai.BANNER_ENABLED = False
        asked = options.read_list(sources)
        talk = _Talk(
            screen,
            opened.settings,
            model,
            asked,
            LiteratureAggregator(model, sources=asked, settings=opened.settings),
        )
        screen.note(opened.note)
        if model is None and opened.settings.model is None:
            screen.note(NO_MODEL)
        if saved is not None:
            talk.go_on(saved)
        code = 0
        for line in _lines(screen, question):
            if line.lower().lstrip("/") in ("quit", "exit"):
                break
            done = _done(screen, talk, line)
            code = code or done
    return code


def _done(screen: Screen, talk: _Talk, line: str) -> int:
    """Carry a line out and give its exit code; what it does wrong is said, and the talk goes on."""
    try:
        return talk.hear(line)
    except LiteratureError as error:
        screen.error(error)
        return code_of(error)


def _lines(screen: Screen, first: str | None) -> Iterator[str]:
    """Lines that say something, `first` before those of standard input."""
    if first is not None and first.strip():
        yield first.strip()
    if sys.stdin.isatty():
        screen.note("A question, or `help`.")
        with suppress(ImportError):
            import readline  # noqa: F401  # gives `input` its history and its arrow keys
        while True:
            try:
                line = input("> ")
            except (EOFError, KeyboardInterrupt):
                screen.note("")
                return
            if line.strip():
                yield line.strip()
    while raw := sys.stdin.buffer.readline(_LONGEST_LINE + 1):
        if len(raw) > _LONGEST_LINE:
            raise InvalidInputError(
                f"A line of the input is longer than {_LONGEST_LINE:,} bytes.", recovery="Ask in fewer words."
            )
        try:
            line = raw.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            raise InvalidInputError("A line of the input is not UTF-8 text.", recovery="Save it as UTF-8.") from None
        if line:
            yield line


@dataclass
class _Talk:
    """What has been asked and answered so far."""

    screen: Screen
    settings: Settings
    model: str | None
    sources: tuple[str, ...] | None
    aggregator: LiteratureAggregator
    answer: LiteratureAggregationOutput | None = None
    requests: list[AggregationRequest] = field(default_factory=list)
    """Each narrower or wider than the one before; the last is that of `answer`."""

    def go_on(self, saved: LiteratureAggregationOutput) -> None:
        """Take a saved run up. Its limits are not in it."""
        from literature_agent.outputs import AggregationRequest

        asked = tuple(source.source for source in saved.coverage) or self.sources
        self.requests = [AggregationRequest(question=saved.question, sources=self.sources or asked)]
        self.answer = saved
        self.screen.note(f"Going on from {saved.question!r}: {counted(len(saved.relevant_articles), 'article')}.")

    def hear(self, line: str) -> int:
        """Do what a line says. A line that is no command is a question."""
        word, _, rest = line.partition(" ")
        told, rest = word.lower().removeprefix("/"), rest.strip()
        commands: dict[str, tuple[str, Callable[[str], int]]] = {
            "help": (r"", self._help),
            "show": (r"(?:\[?\d+\]?|.*cite~.*)?", self._show),
            "ask": (r"(?:\[?\d+\]?|\S*cite~\S*)\s.+", self._ask),
            "narrow": (r".+", self._narrow),
            "widen": (rf"(?:{'|'.join(_LIMITS)})?(?:\s+\S+)?", self._widen),
            "export": (r"\S.*", self._export),
        }
        form, do = commands.get(told, ("", self._new))
        if told in commands and re.fullmatch(form, rest):
            return do(rest)
        if word.startswith("/") or (told in commands and not rest):
            raise InvalidInputError(f"{line[:80]!r} is not understood.", recovery="`help` lists what is.")
        return self._new(line)

    def _help(self, _: str) -> int:
        if self.screen.json:
            self.screen.document({"help": HELP.splitlines()})
        else:
            self.screen.result(HELP)
        return 0

    # Asking

    def _new(self, question: str) -> int:
        from literature_agent.agents.request import read_request

        return self._run([read_request(question, {"sources": self.sources})])

    def _narrow(self, rest: str) -> int:
        from literature_agent.agents.request import read_request

        now = self._now()
        name, _, value = rest.partition(" ")
        if name == "to" and value.strip():
            question = f"{now.question.rstrip(' ?.')} {value.strip()}?"
            return self._run([*self.requests, read_request(now, {"question": question})])
        return self._run([*self.requests, self._with_limit(now, name, value.strip())])

    def _widen(self, rest: str) -> int:
        now = self._now()
        name, _, value = rest.partition(" ")
        if name == "articles":
            return self._run([*self.requests, self._with_limit(now, name, value.strip())])
        if name:
            field_name = _LIMITS[name]
            if getattr(now, field_name) is None:
                raise InvalidInputError(f"There is no limit {name!r} to take back.", recovery="`widen` takes the last.")
            return self._run([*self.requests, now.model_copy(update={field_name: None})])
        if len(self.requests) < 2:
            raise InvalidInputError("Nothing was narrowed yet.", recovery="Ask a wider question.")
        return self._run(self.requests[:-1])

    def _with_limit(self, now: AggregationRequest, name: str, value: str) -> AggregationRequest:
        from literature_agent.agents.request import read_request

        if name not in _LIMITS or not value:
            raise InvalidInputError(
                f"{f'{name} {value}'.strip()[:80]!r} is no limit.",
                recovery=f"Write one of {', '.join(_LIMITS)} and its value, or `narrow to` and words.",
            )
        read: dict[str, Callable[[str], Any]] = {
            "type": lambda text: options.read_types([text]),
            "language": options.read_list,
            "source": options.read_list,
            "articles": _number,
        }
        given = {_LIMITS[name]: read.get(name, str)(value)}
        return read_request(now.question, {**now.model_dump(exclude={"question"}, exclude_none=True), **given})

    def _run(self, requests: list[AggregationRequest]) -> int:
        """Ask the last of `requests`, which take the place of those before when it has been answered."""
        before = self.answer
        with self.screen.progress() as listen, cancel_on_interrupt(self.screen) as token:
            answer = self.aggregator.run_sync(
                requests[-1],
                registry=None if before is None else before.registry,
                on_event=listen,
                cancellation_token=token,
            )
        follows = bool(self.requests) and self.requests[0] in requests
        self.requests, self.answer = requests, answer
        self._print(answer)
        if before is not None and follows:
            was, now = ({work.reference for work in one.relevant_articles} for one in (before, answer))
            self.screen.note(
                f"Against the answer before: {counted(len(now - was), 'article')} more, {len(was - now)} fewer."
            )
        return EXIT_CODES[answer.status]

    def _now(self) -> AggregationRequest:
        if not self.requests:
            raise InvalidInputError("There is no answer yet.", recovery="Ask a question first.")
        return self.requests[-1]

    # Looking

    def _ask(self, rest: str) -> int:
        from literature_agent.agents.ask import ask_article
        from literature_agent.agents.sync import run_in_own_loop

        which, _, question = rest.partition(" ")
        number, work = self._article(which)
        answer, registry = self.answer, self.answer.registry if self.answer is not None else None
        assert answer is not None  # `_article` has found a work in it
        assert registry is not None  # a run leaves its registry, and a saved one brings it
        found = run_in_own_loop(
            lambda: ask_article(
                question.strip(), work.reference or "", registry=registry, model=self.model, settings=self.settings
            )
        )
        if self.screen.json:
            self.screen.document(found.model_dump(mode="json"))
        else:
            self.screen.result(_told(found, number, self.screen.width))
        return 0

    def _show(self, which: str) -> int:
        if not which:
            self._now()
            if self.answer is not None:
                self._print(self.answer)
            return 0
        from literature_agent.render import render_fetch_text
        from literature_agent.results import FetchResult

        _, work = self._article(which)
        result = FetchResult(artifacts=(work,))
        if self.screen.json:
            self.screen.document(result.model_dump(mode="json"))
        else:
            self.screen.result(render_fetch_text(result, width=self.screen.width))
        return 0

    def _article(self, which: str) -> tuple[int, CitationArtifact]:
        """The work of a number in the answer, or of a reference that it holds, and its number."""
        from literature_agent.registry import read_reference
        from literature_agent.render.formats import numbered_works

        self._now()
        works = numbered_works(self.answer) if self.answer is not None else ()
        digits = which.strip("[]")
        reference = None if digits.isdecimal() else read_reference(which)
        for number, work in enumerate(works, start=1):
            if digits == str(number) or (reference is not None and work.reference == str(reference)):
                return number, work
        raise InvalidInputError(
            f"The answer has no article {which[:60]!r}.",
            recovery=f"Give a number from 1 to {len(works)}." if works else "It lists none.",
        )

    def _export(self, name: str) -> int:
        self._now()
        assert self.answer is not None  # asked before
        path = Path(name.strip("\"'")).expanduser()
        form = format_of(path)
        if form is None and path.suffix.lower() not in LOG_SUFFIXES:
            raise InvalidInputError(
                f"{name[:80]!r} has no ending that says its form.",
                recovery=f"End it in one of {', '.join([*SUFFIXES.values(), '.csv', '.svg'])}.",
            )
        file = output_file(path, self.answer.question, path.suffix)
        text = rendered_log(self.answer, file) if form is None else rendered(self.answer, form, 80)
        try:
            file.write_text(text, encoding="utf-8", newline="")
        except OSError as refused:
            raise InvalidInputError(
                f"{name[:80]!r} can't be written: {reason_of(refused)}.", recovery="Name another file."
            ) from None
        if self.screen.json:
            self.screen.document({"written": str(file)})
        self.screen.note(f"Written to {file}.")
        return 0

    def _print(self, answer: LiteratureAggregationOutput) -> None:
        if self.screen.json:
            self.screen.document(document_of(answer))
        else:
            self.screen.result(rendered(answer, Format.text, self.screen.width))


def _number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:6]) <= 100:
        raise InvalidInputError(f"{text[:40]!r} is no number of articles.", recovery="Give one from 1 to 100.")
    return int(text)


def _told(found: ArticleAnswer, number: int, width: int) -> str:
    """What an article says, with its quotes, as plain text."""
    from literature_agent.render import one_line, paper_line, wrapped

    label = f"[{number}]"
    lines = [*wrapped(f"{label} {paper_line(found.title)}", width, hanging="    "), ""]
    lines += wrapped(one_line(found.answer.replace(found.reference, label)), width)
    for quote in found.quotes:
        lines += wrapped(f"“{paper_line(quote.text)}” ({paper_line(quote.section)})", width, first="- ", hanging="  ")
    read = {"full_text": "its open full text", "abstract": "its abstract", "title": "its title alone"}[found.read]
    lines += ["", *wrapped(f"Read: {read}.", width)]
    for limit in found.limitations:
        lines += wrapped(one_line(limit), width)
    return "\n".join(lines) + "\n"
