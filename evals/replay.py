"""`python -m evals replay [--runs N]`: recorded runs are replayed without a network to the same bytes.

Runs differ in question, sources, limits, model and in what goes wrong at the services. Each is recorded against the
sandbox; then the sandbox is closed, every connection is refused, and each recording is replayed. Afterwards one
recording is held against a corpus in which a paper was added, one removed and one retracted.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pydantic import SecretStr
from pydantic_ai import CancellationToken
from pydantic_ai.models import Model

from evals.numbers import positive
from literature_agent.agents.drift import Drift, find_drift
from literature_agent.api import aggregate_sync
from literature_agent.outputs import AggregationRequest, Budget, LiteratureAggregationOutput
from literature_agent.render import answer_document
from literature_agent.render.formats import numbered_works, render_bibliography
from literature_agent.sandbox import Corpus, SandboxServer
from literature_agent.settings import Settings, load_settings
from literature_agent.testing import Seen, scripted_model, submit
from literature_agent.transport import Player, Recorder

KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f00a08"
EMAIL = "somebody@example.org"

QUESTIONS = (
    "Does metformin slow cognitive decline in older adults with diabetes?",
    "Do GLP-1 receptor agonists help in heart failure with preserved ejection fraction?",
    "Does the gut microbiome drive Parkinson disease?",
    "What helps against fatigue in long COVID?",
    "Is prehabilitation worthwhile before surgery for colorectal cancer?",
    "How safe is gene therapy for sickle cell disease, and what did NCT90000001 find?",
)


def _reader() -> Model:
    """A scripted model that searches two sources at once, reads whole records and a full text, and asks the time."""

    def read(seen: Seen) -> Sequence[tuple[str, Mapping[str, Any]]]:
        return [
            ("fetch_pubmed", {"references": seen.references[:3]}),
            ("read_pmc_full_text", {"reference": seen.references[0]}),
            ("find_related", {"reference": seen.references[0], "relation": "similar"}),
        ]

    searches: Sequence[tuple[str, Mapping[str, Any]]] = [
        ("search_pubmed", {"query": "metformin", "max_results": 5}),
        ("search_europepmc", {"query": "metformin AND cognition"}),
        ("search_pubmed", {"query": "metformin AND dementia"}),
        ("current_time", {}),
    ]
    return scripted_model(
        searches,
        read,
        [("search_all", {"query": "metformin cognition", "max_results": 6})],
        lambda seen: submit(f"Metformin was studied {seen.references[0]}.", seen.references[:2]),
        name="reader",
    )


@dataclass(frozen=True)
class Case:
    """One run, and what goes wrong at the services meanwhile."""

    request: AggregationRequest
    budget: Budget = field(default_factory=Budget)
    scripted: bool = False
    faults: tuple[tuple[str, str, int | None], ...] = ()
    """Service, fault, how often (None: always)."""


_VARIANTS: tuple[Mapping[str, Any], ...] = (
    {},
    {"sources": ("pubmed", "europepmc"), "date_from": "2015"},
    {"scripted": True, "sources": ("pubmed", "europepmc")},
    {"sources": ("pubmed", "clinicaltrials"), "faults": (("eutils", "rate_limit", 2),)},
    {"faults": (("europepmc", "server_error", None),)},
    {"budget": Budget(deadline_s=120.0, max_requests=6), "max_articles": 5},
    {"scripted": True, "faults": (("europepmc", "html", None), ("eutils", "cut", 1))},
    {"searches": ({"source": "pubmed", "query": "metformin AND nosuchword"},), "sources": ("pubmed",)},
    {"budget": Budget(max_tool_calls=2), "languages": ("eng",)},
    {"sources": ("pubmed",), "faults": (("eutils", "server_error", None),)},
)


def cases(count: int) -> list[Case]:
    """`count` runs, no two alike."""
    found = []
    for number in range(count):
        variant = dict(_VARIANTS[number % len(_VARIANTS)])
        own = {name: variant.pop(name) for name in ("budget", "scripted", "faults") if name in variant}
        question = QUESTIONS[(number + number // len(_VARIANTS)) % len(QUESTIONS)]
        found.append(Case(AggregationRequest(question=question, **variant), **own))
    return found


def record(case: Case, folder: Path, server: SandboxServer) -> LiteratureAggregationOutput:
    """The answer of a run that is recorded in `folder`."""
    server.faults.clear()
    for service, fault, times in case.faults:
        server.faults.set(service, fault, times=times, seconds=0.01)
    try:
        return aggregate_sync(
            case.request,
            model=_reader() if case.scripted else "extractive",
            budget=case.budget,
            settings=_settings(server),
            recording=Recorder(folder),
        )
    finally:
        server.faults.clear()


def _settings(server: SandboxServer) -> Settings:
    return load_settings(
        **server.settings_overrides(),
        ncbi_api_key=SecretStr(KEY),
        email=SecretStr(EMAIL),
        breaker="off",
        rate_limit_store="memory",
        retry_attempts=2,
        retry_max_wait_s=0.05,
    )


@contextmanager
def network_refused() -> Iterator[list[str]]:
    """Refuses every connection and every look-up of a name; gives the list of those tried."""
    tried: list[str] = []

    def refuse(*arguments: Any, **_: Any) -> Any:
        tried.append(repr(arguments[1:]))
        raise OSError("the network is refused")

    with (
        patch.object(socket.socket, "connect", refuse),
        patch.object(socket.socket, "connect_ex", refuse),
        patch.object(socket, "getaddrinfo", refuse),
    ):
        yield tried


PARTS = ("search log", "references", "quotes", "whole answer")


def parts(output: LiteratureAggregationOutput) -> dict[str, bytes]:
    """What must be the same again, as bytes."""
    works = numbered_works(output)
    quotes = [quote for work in output.relevant_articles for quote in work.quotes]
    quotes += [quote for gap in output.research_gaps for quote in gap.quotes]
    log = "\n".join(line.model_dump_json() for line in output.search_log)
    references = "\n".join((*(work.model_dump_json() for work in works), render_bibliography(works, "bibtex")))
    return {
        "search log": log.encode(),
        "references": references.encode(),
        "quotes": "\n".join(quote.model_dump_json() for quote in quotes).encode(),
        "whole answer": repr(answer_document(output)).encode(),
    }


@dataclass
class Report:
    """How the replays went."""

    runs: int = 0
    same: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    statuses: dict[str, int] = field(default_factory=dict)
    exchanges: int = 0
    tried: int = 0
    leaks: list[str] = field(default_factory=list)
    open_files: list[str] = field(default_factory=list)
    drift: Drift | None = None

    @property
    def passed(self) -> bool:
        return (
            all(self.same[part] == self.runs for part in PARTS)
            and not (self.tried or self.leaks or self.open_files)
            and self.drift is not None
            and drift_is_named(self.drift)
        )

    def lines(self) -> list[str]:
        ended = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        drift = self.drift
        return [
            f"{self.runs} runs recorded ({ended}), {self.exchanges} exchanges",
            *(f"  {part + ', the same bytes:':<36}{self.same[part]} of {self.runs}" for part in PARTS),
            f"  {'connections tried in the replays:':<36}{self.tried}",
            f"  {'files with the key or the address:':<36}{len(self.leaks)}",
            f"  {'files others could read:':<36}{len(self.open_files)}",
            *(
                ()
                if drift is None
                else (
                    "one paper added, one removed, one retracted since; named by drift:",
                    f"  new {_titles(drift.new)}; gone {_titles(drift.gone)}; "
                    f"newly retracted {_titles(tuple(change.work for change in drift.newly_retracted))}",
                )
            ),
        ]


def _titles(works: Sequence[Any]) -> str:
    return ", ".join(repr(work.title) for work in works) or "none"


def run_trial(count: int, folder: Path) -> Report:
    """Record `count` runs into folders below `folder`, replay them offline, and look at what changed."""
    report = Report(runs=count)
    recorded: list[tuple[Path, dict[str, bytes]]] = []
    with SandboxServer() as server:
        for number, case in enumerate(cases(count)):
            place = folder / f"run-{number}"
            output = record(case, place, server)
            report.statuses[output.status] = report.statuses.get(output.status, 0) + 1
            recorded.append((place, parts(output)))
    for place, _ in recorded:
        for file in place.iterdir():
            body = file.read_bytes()
            report.exchanges += file.name != "run.json"
            if KEY.encode() in body or EMAIL.encode() in body or EMAIL.replace("@", "%40").encode() in body:
                report.leaks.append(str(file))
            if stat.S_IMODE(file.stat().st_mode) != 0o600 or stat.S_IMODE(place.stat().st_mode) != 0o700:
                report.open_files.append(str(file))
    with network_refused() as tried:
        for place, before in recorded:
            after = parts(replay(place))
            for part in PARTS:
                report.same[part] += before[part] == after[part]
    report.tried = len(tried)
    record_before(folder / "drift")
    report.drift = drift_after(folder / "drift")
    return report


def replay(place: Path) -> LiteratureAggregationOutput:
    """The recorded run again, with the settings of somebody who has set nothing."""
    player = Player(place)
    about: Any = player.about
    return aggregate_sync(about["request"]["question"], settings=load_settings(), recording=player)


# --- drift ------------------------------------------------------------------------------------------------------------

_RECORD = """<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{pmid}</PMID>
<Article PubModel="Print"><Journal><JournalIssue CitedMedium="Print"><PubDate><Year>2021</Year></PubDate></JournalIssue>
<Title>Synthetic Journal of Replay</Title></Journal><ArticleTitle>{title}</ArticleTitle>
<Abstract><AbstractText>Torpine lowered the wug count by a third in a trial of {pmid} wugs.</AbstractText></Abstract>
<Language>eng</Language><PublicationTypeList><PublicationType UI="D016428">Journal Article</PublicationType>{mark}
</PublicationTypeList></Article></MedlineCitation><PubmedData><ArticleIdList>
<ArticleId IdType="pubmed">{pmid}</ArticleId><ArticleId IdType="doi">10.5555/replay.{pmid}</ArticleId>
</ArticleIdList></PubmedData></PubmedArticle>
"""
_RETRACTED = '<PublicationType UI="D016441">Retracted Publication</PublicationType>'
STAYS, IS_RETRACTED, GOES, COMES = 90008001, 90008002, 90008003, 90008004
_TITLES = {
    STAYS: "Torpine in wugs that stays.",
    IS_RETRACTED: "Torpine in wugs that is withdrawn.",
    GOES: "Torpine in wugs that vanishes.",
    COMES: "Torpine in wugs that is new.",
}


def write_corpus(folder: Path, pmids: Sequence[int], retracted: Sequence[int] = ()) -> Path:
    """A folder of PubMed records."""
    folder.mkdir(parents=True)
    records = (_RECORD.format(pmid=p, title=_TITLES[p], mark=_RETRACTED if p in retracted else "") for p in pmids)
    text = f'<?xml version="1.0"?><PubmedArticleSet>{"".join(records)}</PubmedArticleSet>'
    (folder / "papers.xml").write_text(text, encoding="utf-8")
    return folder


def record_before(folder: Path) -> None:
    """Record a run on papers of which one will be retracted and one will go, and make those that will be there then."""
    before = write_corpus(folder / "before", (STAYS, IS_RETRACTED, GOES))
    write_corpus(folder / "after", (STAYS, IS_RETRACTED, COMES), retracted=(IS_RETRACTED,))
    with SandboxServer(Corpus.from_folder(before)) as server:
        case = Case(AggregationRequest(question="Does torpine lower the wug count?", sources=("pubmed",)))
        record(case, folder / "recording", server)


def drift_after(
    folder: Path, *, fault: str | None = None, path: str = "", token: CancellationToken | None = None
) -> Drift:
    """What drift says of that recording once its upstream has changed; with `fault` PubMed fails by then, or only what
    has `path` in its address."""
    with SandboxServer(Corpus.from_folder(folder / "after")) as server:
        if fault is not None:
            server.faults.set("eutils", fault, path=path)
        return asyncio.run(find_drift(folder / "recording", settings=_settings(server), cancellation_token=token))


def drift_is_named(drift: Drift) -> bool:
    """Whether the three changes, and no others, are named."""
    found = [
        [getattr(work, "pmid", None) for work in works]
        for works in (drift.new, drift.gone, [change.work for change in drift.newly_retracted])
    ]
    others = (drift.not_listed, drift.otherwise_corrected, drift.not_checked)
    return found == [[str(COMES)], [str(GOES)], [str(IS_RETRACTED)]] and not any(others) and drift.is_complete


def main(arguments: Sequence[str]) -> int:
    """Print how the replays fare; 0 if all are the same and the changes are named."""
    parser = argparse.ArgumentParser(prog="python -m evals replay", description="Trial of recordings.")
    parser.add_argument("--runs", type=positive, default=20, metavar="N", help="runs to record (20)")
    chosen = parser.parse_args(arguments)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="evals-replay-") as folder:
        report = run_trial(chosen.runs, Path(folder))
    print("\n".join(report.lines()))
    print(f"{time.perf_counter() - started:.0f} s")
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
