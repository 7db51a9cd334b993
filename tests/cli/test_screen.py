"""Progress on stderr, and the served sandbox as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import httpx
import pytest

from literature_agent.cli.screen import Screen, color_wanted
from literature_agent.custody import Event
from literature_agent.sandbox import SandboxServer


def test_without_a_terminal_each_event_is_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen().progress("A note.") as listen:
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


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_on_a_terminal_progress_is_live_and_text_stays_text() -> None:
    import pty

    code = (
        "from literature_agent.custody import Event\n"
        "from literature_agent.cli.screen import Screen\n"
        "with Screen().progress('A note.') as listen:\n"
        "    listen(Event(kind='started', text='[bold]x[/bold] \\x1b[35m'))\n"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True, env=environment, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "A note." in shown
    assert "[bold]x[/bold] [35m" in shown
    assert "\x1b[35m" not in shown


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
        timeout=60,
    )
    assert done.returncode == 2
    assert f"port {port}" in done.stderr
    assert "Traceback" not in done.stderr
