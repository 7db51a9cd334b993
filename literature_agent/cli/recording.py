"""`run --record`, `--replay` and `--drift`: their folders, and what has changed upstream as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from literature_agent.cli.forms import DOCTOR, failed_as
from literature_agent.errors import InvalidInputError, LiteratureError, counted, source_error

if TYPE_CHECKING:
    from literature_agent.agents.drift import Drift, SearchDrift
    from literature_agent.artifacts import CitationArtifact
    from literature_agent.transport import Recording

OFFLINE = "nothing leaves this machine, and nothing is asked."

_SAID = {"none": "no notice", "concern": "expression of concern", "unknown": "unknown"}


def open_recording(
    question: str | None, record: Path | None, replay: Path | None, drift: Path | None, beside: Mapping[str, bool]
) -> Recording | None:
    """Where a run is recorded to, or what is replayed or asked again. `beside`: what is given of the options that
    have no place beside --drift.

    Raises:
        InvalidInputError: options contradict each other, or the folder is not fit.
    """
    from literature_agent.transport import Player, Recorder

    given = [name for name, folder in (("--record", record), ("--replay", replay), ("--drift", drift)) if folder]
    if len(given) > 1:
        raise InvalidInputError(f"{given[0]} and {given[1]} contradict each other.", recovery="Give one of them.")
    if question is None and replay is None and drift is None:
        raise InvalidInputError("Missing argument 'question'.", recovery="See `literature-agent run --help`.")
    refused = [name for name, is_given in beside.items() if is_given]
    if drift is not None and refused:
        raise InvalidInputError(
            f"--drift makes recorded searches again and prints what has changed, so {refused[0]} has nothing to do.",
            recovery=f"Leave {refused[0]} out; --json gives the changes as JSON.",
        )
    if record is not None:
        return Recorder(record)
    folder = replay if replay is not None else drift
    return None if folder is None else Player(folder)


def recorded_question(recording: Recording | None) -> str:
    """The question of a recording that is given again.

    Raises:
        InvalidInputError: it is broken.
    """
    from literature_agent.agents.recording import recorded_run
    from literature_agent.transport import Player

    return recorded_run(recording).request.question if isinstance(recording, Player) else ""


def recorded_note(recording: Recording | None) -> str:
    """What to say of a recording that has been made."""
    from literature_agent.transport import Recorder

    if not isinstance(recording, Recorder):
        return ""
    return recording.problem or f"Recorded in {recording.folder}."


def drift_text(drift: Drift, width: int) -> str:
    """The changes, worst first, then each search then and now."""
    from literature_agent.render import one_line, wrapped

    lines = [*wrapped(one_line(drift.question), width), ""]
    then, now = (f"{moment:%Y-%m-%d %H:%M}" for moment in (drift.recorded_at, drift.checked_at))
    lines += wrapped(f"Recorded {then}, asked again {now} UTC.", width)
    lines += wrapped(_summary(drift), width)
    changed = {change.work.reference: f"{_SAID.get(change.then, change.then)} then" for change in drift.newly_retracted}
    other = {
        change.work.reference: f"{_SAID.get(change.then, change.then)} then, {_SAID.get(change.now, change.now)} now"
        for change in drift.otherwise_corrected
    }
    parts: tuple[tuple[str, Iterable[CitationArtifact], dict[str | None, str]], ...] = (
        ("Newly retracted", [change.work for change in drift.newly_retracted], changed),
        ("Otherwise corrected", [change.work for change in drift.otherwise_corrected], other),
        ("Gone: no source has the record any more", drift.gone, {}),
        ("New", drift.new, {}),
        ("Still there, but no longer among the hits", drift.not_listed, {}),
        ("Not checked: a source or a search was not answered", drift.not_checked, {}),
    )
    for heading, works, said in parts:
        listed = [_work(work, said.get(work.reference, ""), width) for work in works]
        if listed:
            lines += ["", heading, *(line for entry in listed for line in entry)]
    lines += ["", "Searches, then and now"]
    for search in drift.searches:
        told = f"{search.source}: {one_line(search.query)}: {_then_and_now(search)}"
        lines += wrapped(told, width, first="- ", hanging="  ")
    return "\n".join(lines) + "\n"


def nothing_known(drift: Drift) -> LiteratureError:
    """That no search could be made again, as an error."""
    kind = failed_as((search.source, search.reason_now) for search in drift.searches)
    return source_error(
        "request", kind, "No search was answered, so nothing is known of what has changed.", recovery=DOCTOR
    )


def _summary(drift: Drift) -> str:
    counts = (
        (len(drift.newly_retracted), "newly retracted"),
        (len(drift.otherwise_corrected), "otherwise corrected"),
        (len(drift.gone), "gone"),
        (len(drift.new), "new"),
        (len(drift.not_listed), "no longer among the hits"),
        (len(drift.not_checked), "not checked"),
    )
    told = [f"{count} {what}" for count, what in counts if count]
    works = f"{counted(drift.works_then, 'work')} then"
    if drift.works_now is None:
        works += "; what is found now is not known, no search was answered"
    else:
        works += f", {'' if drift.is_complete else 'at least '}{drift.works_now} now"
    return f"{works}: {', '.join(told) or 'nothing has changed'}."


def _work(work: CitationArtifact, said: str, width: int) -> list[str]:
    from literature_agent.render import bibliography_entry, wrapped

    return wrapped(bibliography_entry(work) + (f" ({said})" if said else ""), width, first="- ", hanging="  ")


def _then_and_now(search: SearchDrift) -> str:
    def hits(status: str | None, total: int | None) -> str:
        if status is None:
            return "not made"
        if status == "failed":
            return "failed"
        return f"{'?' if total is None else total} hits" + (" (cut short)" if status == "partial" else "")

    then, now = hits(search.status_then, search.total_then), hits(search.status_now, search.total_now)
    why = f" ({search.reason_now})" if search.reason_now else ""
    return f"{now}, as then{why}" if then == now else f"{then} then, {now} now{why}"
