"""`python -m evals run | compare | list`."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from evals.datasets import known, load, strangers
from evals.harness import Plan, check_folder, run
from evals.models import RECORDED, model_of
from evals.numbers import dollars, positive, seconds
from evals.page import write_comparison, write_page
from evals.pairwise import PairedReport, PairJudge, compare_pairwise
from evals.report import Moved, Report, compare, missed, read_report, read_thresholds
from evals.terminal import print_comparison, print_preferences, print_report
from literature_agent import Budget
from literature_agent.errors import InvalidInputError, LiteratureError, counted, reason_of, told
from literature_agent.settings import load_settings
from literature_agent.sources import select_sources

_FAILED, _USAGE = 1, 2
ADVERSARIAL = "adversarial"
"""The dataset of hostile runs, which are made while they run."""
_LIES = 300
_ASKED = (
    "limit", "repeat", "hard", "sources", "seed", "deadline", "max_cost", "timeout", "replay", "judge", "judge_repeats",
    "rubric",
)  # fmt: skip
"""Options that change what a report says."""


def run_main(arguments: Sequence[str]) -> int:
    """`run`: 0; 1 where a threshold is missed, an evaluator raised or cases failed (`--fail-on`); 2 for usage."""
    chosen = _run_parser().parse_args(arguments)
    if chosen.dataset == ADVERSARIAL:
        return _lying_model(chosen)
    console = Console()
    try:
        thresholds = read_thresholds(chosen.fail_under)
        budget = Budget(
            **{
                name: value
                for name, value in (("deadline_s", chosen.deadline), ("max_cost_usd", chosen.max_cost))
                if value is not None
            }
        )
        models = chosen.model or [RECORDED if chosen.replay else "extractive"]
        if chosen.record and len(models) > 1:
            raise InvalidInputError("A recording is of one model.", recovery="Give one --model with --record.")
        # What can't be used ends the run before its first case.
        for named in (*models, *([chosen.judge] if chosen.judge else ())):
            if not (named == RECORDED and chosen.replay):
                model_of(named)
        sources = tuple(chosen.sources.split(",")) if chosen.sources else None
        select_sources(sources, load_settings())
        code = 0
        for model in models:
            out = _folder(chosen, model, several=len(models) > 1)
            asked = _asked(chosen, model)
            check_folder(out, asked)
            out.mkdir(parents=True, exist_ok=True)
            loaded = load(chosen.dataset, out, hide_titles=chosen.hard, sources=sources)
            if foreign := strangers(loaded):
                print(
                    f"{counted(len(foreign), 'relevant paper')} of the dataset not in its corpus ({loaded.corpus}), "
                    f"such as {foreign[0]!r}: no answer can list what is not there.",
                    file=sys.stderr,
                )
            plan = Plan(
                loaded=loaded,
                out=out,
                model=model,
                repeat=chosen.repeat,
                limit=chosen.limit,
                concurrency=chosen.concurrency,
                seed=chosen.seed,
                budget=budget,
                timeout_s=chosen.timeout,
                evaluators=_evaluators(chosen),
                record=chosen.record,
                replay=chosen.replay,
                show=not chosen.quiet,
                asked=asked,
            )
            report = asyncio.run(run(plan))
            print_report(report, console)
            console.print(f"{out / 'report.json'}, {write_page(report, out)}", highlight=False, soft_wrap=True)
            code = max(code, _verdict(report, thresholds, chosen.fail_on, console))
        return code
    except LiteratureError as refused:
        print(told(refused), file=sys.stderr)
        return _USAGE
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130


def _lying_model(chosen: argparse.Namespace) -> int:
    """The trial of `python -m evals integrity`; model, corpus and judge are its own."""
    from evals.integrity.trial import run_trial

    own = {"dataset", "limit", "seed", "concurrency", "quiet"}
    parser = _run_parser()
    refused = [name for name, value in vars(chosen).items() if name not in own and value != parser.get_default(name)]
    if refused:
        option = f"--{refused[0].replace('_', '-')}"
        print(f"The lying model brings its own model, corpus and judge: it takes no {option}.", file=sys.stderr)
        return _USAGE
    report = run_trial(chosen.limit or _LIES, seed=chosen.seed, jobs=min(chosen.concurrency, os.cpu_count() or 1))
    print("\n".join(report.lines()))
    return 0 if report.passed else _FAILED


def compare_main(arguments: Sequence[str]) -> int:
    """`compare A B`: 0; 1 where the runs can't be compared, pairs could not be judged, or something got worse with
    `--fail-on-worse`."""
    parser = argparse.ArgumentParser(prog="python -m evals compare", description="Two runs, paired by case.")
    parser.add_argument("before", type=Path, metavar="A", help="folder of a run")
    parser.add_argument("after", type=Path, metavar="B", help="folder of a run")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write a page (HTML)")
    parser.add_argument("--judge", metavar="MODEL", help="also let a model say which answer of each case is better")
    parser.add_argument(
        "--judge-repeats", type=positive, default=1, metavar="N", help="judgements of each pair in each order (1)"
    )
    parser.add_argument("--rubric", type=Path, metavar="FILE", help="for the judge (evals/evaluators/rubric_pair.md)")
    parser.add_argument("--fail-on-worse", action="store_true", help="exit 1 if any metric but time got worse")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.out is not None and not chosen.out.parent.is_dir():
            raise InvalidInputError(f"The folder of {str(chosen.out)!r} does not exist.", recovery="Make it first.")
        before, after = read_report(chosen.before), read_report(chosen.after)
        moved = compare(before, after)
        judged = _judged(chosen, before, after) if chosen.judge else None
    except LiteratureError as refused:
        print(told(refused), file=sys.stderr)
        return _FAILED if refused.message.startswith("Not comparable") else _USAGE
    console = Console()
    print_comparison(before, after, moved, console)
    if judged is not None:
        print_preferences(judged, console)
    if chosen.out is not None:
        chosen.out.write_text(write_comparison(before, after, moved, judged), encoding="utf-8")
        console.print(str(chosen.out), highlight=False, soft_wrap=True)
    if judged is not None and judged.failed:
        return _FAILED
    return _FAILED if chosen.fail_on_worse and any(_is_worse(one) for one in moved) else 0


def _is_worse(moved: Moved) -> bool:
    """Time is left out: it moves with the machine, not with prompt, model or code alone."""
    return moved.verdict == "worse" and moved.metric.unit != "s"


def _judged(chosen: argparse.Namespace, before: Report, after: Report) -> PairedReport:
    judge = PairJudge(model=chosen.judge, repeats=chosen.judge_repeats, rubric=_rubric(chosen))
    folders = [path if path.is_dir() else path.parent for path in (chosen.before, chosen.after)]
    return asyncio.run(compare_pairwise(judge, (folders[0], before), (folders[1], after)))


def _rubric(chosen: argparse.Namespace) -> str:
    """The rubric of the file that was named; empty: the judge's own."""
    if chosen.rubric is None:
        return ""
    try:
        text: str = chosen.rubric.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as broken:
        raise InvalidInputError(
            f"The rubric {str(chosen.rubric)!r} can't be read: {reason_of(broken)}.", recovery="Name a text file."
        ) from None
    if not text.strip():
        raise InvalidInputError(
            f"The rubric {str(chosen.rubric)!r} is empty.", recovery="Write what the judge is to look at."
        )
    return text


def list_main(arguments: Sequence[str]) -> int:
    """`list`: the datasets that can be named, and the metrics."""
    from evals.evaluators import METRICS

    argparse.ArgumentParser(prog="python -m evals list", description="Datasets and metrics.").parse_args(arguments)
    for name, path in known().items():
        print(f"{name:24} {path}")
    print(f"{ADVERSARIAL:24} the lying model of `python -m evals integrity`, {_LIES} runs or --limit N")
    print()
    for metric in METRICS:
        print(f"{metric.name:28} {metric.label}")
    return 0


def _verdict(report: Report, thresholds: dict[str, float], fail_on: str, console: Console) -> int:
    wrong = missed(report, thresholds)
    failed = report.failed
    if (fail_on == "any" and failed) or (fail_on == "all" and failed == len(report.cases)):
        wrong.append(f"{failed} of {len(report.cases)} cases failed")
    broken = sum(bool(case.evaluator_errors) for case in report.cases)
    if broken:
        wrong.append(f"an evaluator raised on {broken} cases")
    for sentence in wrong:
        console.print(f"[red]{sentence}[/red]", highlight=False)
    return _FAILED if wrong else 0


def _folder(chosen: argparse.Namespace, model: str, *, several: bool) -> Path:
    named = re.sub(r"[^\w.-]+", "-", f"{Path(chosen.dataset).stem}{'-hard' if chosen.hard else ''}--{model}")
    out: Path = Path("eval-runs") / named if chosen.out is None else chosen.out
    return out / named if several and chosen.out is not None else out


def _asked(chosen: argparse.Namespace, model: str) -> dict[str, str]:
    """What makes the report of a run another one, by option; that without a name is the dataset."""
    default, dataset = _run_parser().get_default, Path(chosen.dataset)
    given = {name: value for name in _ASKED if (value := getattr(chosen, name)) != default(name)}
    texts = {name: str(value.resolve() if isinstance(value, Path) else value) for name, value in given.items()}
    return {
        "": str(dataset.resolve()) if dataset.exists() else chosen.dataset,
        "model": model,
        **{name.replace("_", "-"): "" if value == "True" else value for name, value in texts.items()},
    }


def _evaluators(chosen: argparse.Namespace) -> list[Any]:
    from evals.evaluators import standard

    found: list[Any] = standard()
    if chosen.judge:
        from evals.evaluators.judge import Judge

        found.append(Judge(model=chosen.judge, repeats=chosen.judge_repeats, rubric=_rubric(chosen)))
    return found


def _run_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m evals run", description="Measure the agent on a dataset, over a frozen upstream."
    )
    parser.add_argument("dataset", help="a name that `list` shows, a YAML file, or a folder (BEIR, TREC)")
    parser.add_argument("--model", action="append", help="as pydantic-ai writes it; may be repeated (extractive)")
    parser.add_argument("--repeat", type=positive, default=1, metavar="N", help="answers to each question (1)")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N cases")
    parser.add_argument("--concurrency", type=positive, default=4, metavar="N", help="cases at once (4)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="for report and transcripts (eval-runs/...)")
    parser.add_argument("--sources", metavar="A,B", help="whom to ask; default: as the dataset says")
    titles = parser.add_mutually_exclusive_group()
    titles.add_argument("--hard", action="store_true", help="hide the titles of the corpus")
    titles.add_argument("--easy", action="store_true", help="show them (the default)")
    parser.add_argument("--fail-under", action="append", default=[], metavar="METRIC=X", help="threshold; repeatable")
    parser.add_argument(
        "--fail-on", choices=("all", "any", "none"), default="all", help="failed cases that make the exit code 1 (all)"
    )
    recording = parser.add_mutually_exclusive_group()
    recording.add_argument("--record", type=Path, metavar="DIR", help="also keep what services and model answered")
    recording.add_argument(
        "--replay",
        type=Path,
        metavar="DIR",
        help="recordings in place of the sandbox, no network; with --model only what services answered is taken",
    )
    parser.add_argument(
        "--timeout", type=seconds, default=600.0, metavar="S", help="a case fails after S seconds (600)"
    )
    parser.add_argument("--deadline", type=seconds, metavar="S", help="the agent's own deadline for each answer")
    parser.add_argument("--max-cost", type=dollars, metavar="USD", help="the agent's own limit for each answer")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (0)")
    parser.add_argument("--judge", metavar="MODEL", help="also let a model judge")
    parser.add_argument("--judge-repeats", type=positive, default=2, metavar="N", help="judgements of each answer (2)")
    parser.add_argument("--rubric", type=Path, metavar="FILE", help="for the judge (evals/evaluators/rubric.md)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser
