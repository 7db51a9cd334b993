"""Progress on stderr, and the served sandbox as a process."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import httpx
import pytest

from literature_agent.cli.screen import Screen, color_wanted
from literature_agent.custody import Event
from literature_agent.sandbox import SandboxServer


def test_without_a_terminal_only_the_notes_and_what_failed_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen().progress("A note.") as listen:
        listen(Event(kind="started", text="Model extractive"))
        listen(Event(kind="search_finished", text="PubMed: 3 of 3, 3 new"))
        listen(Event(kind="source_failed", text="PubMed failed: \x1b[31mno\nanswer"))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("] ")[2] or line for line in lines] == ["A note.", "PubMed failed: [31mno answer"]


def test_verbose_shows_each_event_as_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen(verbose=True).progress("A note.") as listen:
        listen(Event(kind="started", text="Searching [bold]x[/bold]\x1b[31m\nnow"))
        listen(Event(kind="finished", text="Finished"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "A note."
    assert [line.partition("] ")[2] for line in lines[1:]] == ["Searching [bold]x[/bold][31m now", "Finished"]


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen(quiet=True).progress("A note.") as listen:
        listen(Event(kind="finished", text="Finished"))
    assert capsys.readouterr().err == ""


def test_a_run_that_is_refused_at_once_shows_no_note(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen().progress("A note."):
        pass
    assert capsys.readouterr().err == ""


def _shown_live(*, color: bool) -> None:
    query = "\x1b[35m[bold]x[/bold] " * 20
    with Screen(color=color).progress("A note.") as listen:
        listen(Event(kind="started", text="Model m"))
        for name in ("PubMed", "Europe PMC", "ClinicalTrials.gov"):
            listen(Event(kind="search_started", text=f"{name}: {query}", source=name, search_id=name))
        listen(Event(kind="search_progress", text="day 3 of 30", source="PubMed", search_id="PubMed"))
        listen(
            Event(
                kind="search_finished",
                text="PubMed: 10 of 153, 8 new",
                source="PubMed",
                search_id="PubMed",
                status="ok",
                found=10,
                new=8,
            )
        )
        listen(
            Event(
                kind="source_failed",
                text="Europe PMC failed: no answer",
                source="x",
                search_id="Europe PMC",
                status="failed",
            )
        )
        listen(Event(kind="fetch_finished", text="PubMed: 4 records read", source="PubMed", found=4))


def _on_a_terminal(columns: int, *, color: bool = True, **environment: str) -> str:
    """What the live view writes to a terminal of that width, as it came."""
    import pty

    ours, theirs = pty.openpty()
    with (
        pytest.MonkeyPatch.context() as patch,
        os.fdopen(theirs, "w", encoding="utf-8") as terminal,
    ):
        patch.delenv("NO_COLOR", raising=False)
        for name, value in {"TERM": "xterm", "COLUMNS": str(columns), **environment}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stderr", terminal)
        _shown_live(color=color)
    shown = b""
    # On Linux, reading a terminal whose other end is closed fails when all is read.
    with contextlib.suppress(OSError):
        while part := os.read(ours, 65536):
            shown += part
    os.close(ours)
    return shown.decode()


def _screen_of(written: str) -> list[str]:
    """The lines that stay on the screen: what was wiped is gone, colours are left out."""
    lines: list[str] = [""]
    at = 0
    for piece in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|\r\n|\r|\n)", written):
        if piece in ("\n", "\r\n"):
            at += 1
            lines += [""] * (at + 1 - len(lines))
        elif piece == "\x1b[2K":
            lines[at] = ""
        elif up := re.fullmatch(r"\x1b\[(\d*)A", piece):
            at = max(0, at - int(up[1] or 1))
        elif not piece.startswith("\x1b") and piece != "\r":
            lines[at] += piece
    return [line.rstrip() for line in lines if line.strip()]


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_on_a_terminal_each_search_is_one_line_that_stays_when_it_has_ended() -> None:
    written = _on_a_terminal(80)
    lines = _screen_of(written)
    assert [line[:46].rstrip() for line in lines] == [
        "A note.",
        "· Model m",
        "✓ PubMed             10 of 153, 8 new  [35m[bo",
        "✗ Europe PMC         no answer",
        "· PubMed             4 records read",
    ]
    assert max(map(len, lines)) <= 80
    # While it ran, the search that had not ended stood below, with its progress.
    assert "day 3 of 30" in written
    assert "ClinicalTrials.gov" in written
    # Nothing in a query is a control code or markup, and no line wraps.
    assert "\x1b[35m" not in written
    assert "[bold]" in written


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_no_colour_is_sent_where_none_is_wanted() -> None:
    colours = r"\x1b\[[0-9;]*3[0-7][0-9;]*m"
    assert re.search(colours, _on_a_terminal(80))
    assert not re.search(colours, _on_a_terminal(80, color=False))


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_terminal_that_can_only_print_gets_plain_lines() -> None:
    written = _on_a_terminal(80, TERM="dumb")
    assert "\x1b" not in written
    assert written.count("\n") == 9


def test_colour_is_off_by_option_and_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert color_wanted(no_color=False)
    assert not color_wanted(no_color=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not color_wanted(no_color=False)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("as_json", [True, False])
def test_the_sandbox_serves_until_it_is_interrupted(as_json: bool) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "literature_agent", "sandbox", *(["--json"] if as_json else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert running.stdout is not None
    assert running.stderr is not None
    try:
        note = running.stderr.readline()
        assert note.startswith("Serving ")
        address = note.split(" at ")[1].split(";")[0]
        answer = httpx.get(f"{address}/entrez/eutils/esearch.fcgi?db=pubmed&term=metformin&retmode=json", timeout=30)
        assert int(answer.json()["esearchresult"]["count"]) > 0
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 0
    assert "Traceback" not in err
    if as_json:
        document = json.loads(out)
        assert document["settings"]["ncbi_base_url"] == f"{address}/entrez/eutils/"
        assert document["synthetic"] is True
    else:
        assert f"export LITERATURE_AGENT_NCBI_BASE_URL={address}/entrez/eutils/" in out.splitlines()


def test_a_port_in_use_is_said(server: SandboxServer) -> None:
    port = server.base_url.rsplit(":", 1)[1]
    done = subprocess.run(
        [sys.executable, "-m", "literature_agent", "sandbox", "--port", port],
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 2
    assert f"port {port}" in done.stderr
    assert "Traceback" not in done.stderr
