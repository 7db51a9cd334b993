"""A run that is killed, not asked to stop: what it had finished is kept, and the same command runs only the rest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from evals.command import run_main
from evals.report import read_report

from .test_harness import dataset

CASES = 30


def test_after_a_kill_the_same_command_runs_only_the_rest(tmp_path: Path) -> None:
    file = dataset(tmp_path / "d", *(f"metformin dose {number}" for number in range(CASES)))
    out = tmp_path / "out"
    options = [str(file), "--model", "pasted", "--sources", "pubmed", "--out", str(out), "--quiet"]
    command = [sys.executable, "-m", "evals", "run", *options, "--concurrency", "2"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        kept: dict[Path, bytes] = {}
        until = time.monotonic() + 120
        while len(kept) < 3 and time.monotonic() < until:
            kept = {path: path.read_bytes() for path in (out / "cases").glob("*.json")}
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.wait(timeout=30)
        assert 3 <= len(kept) < CASES
        assert not (out / "report.json").exists()
        # Its workers end by themselves when nobody is left to ask them.
        while time.monotonic() < until:
            try:
                os.killpg(running.pid, 0)
            except ProcessLookupError:
                break
            time.sleep(0.05)
        else:
            raise AssertionError("workers outlived the run that had started them")
    finally:
        if running.poll() is None:
            running.kill()
    kept = {path: path.read_bytes() for path in (out / "cases").glob("*.json")}
    assert run_main([*options, "--concurrency", "1"]) == 0
    report = read_report(out)
    assert (report.resumed, len(report.cases), report.failed) == (len(kept), CASES, 0)
    assert {path: path.read_bytes() for path in kept} == kept
    assert json.loads((out / "run.json").read_text(encoding="utf-8"))["finished"] is True
