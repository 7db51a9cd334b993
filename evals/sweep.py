"""`python -m evals.sweep`: every recorded answer in `../shared/recorded` through the parser that would get it.

A table by service and kind: files, how many were read, how many gave the typed error that they are. Exit code 1 if an
answer was not read or an error was.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from evals.readers import read, readers_for
from literature_agent.transport.messages import Answer

RECORDED = Path(__file__).resolve().parent.parent.parent / "shared" / "recorded"
_TYPES = {".json": "application/json", ".html": "text/html", ".txt": "text/plain", ".xml": "text/xml"}
# Asked for as JSON only, or never asked for: of these a parser need make nothing but a typed error.
_OTHER_FORMS = (
    "bioc",
    "einfo",
    "epost",
    "databaselinks",
    "pmc-oa-cloud",
    "pmc-oa-error",
    "search-dc",
    "search-lite-xml",
)
_XML_OF_A_JSON_KIND = ("esearch", "elink", "esummary", "search-empty")
# An empty list of ids is EFetch's way to say "none of them" (K013), with whatever status.
_ANSWERS_THAT_LOOK_LIKE_ERRORS = {
    "eutils/transcribed-efetch-error-400-id-list-empty.xml",
    "eutils/efetch-error-empty-id.xml",
}


class Swept(NamedTuple):
    file: str
    service: str
    kind: str
    expected: str
    outcomes: dict[str, str]
    """By parser: `read`, or the typed error."""


def sweep(folder: Path) -> list[Swept]:
    """Every file that the folder's manifest names, in its order."""
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [_swept(folder, row) for row in rows]


def _swept(folder: Path, row: dict[str, str]) -> Swept:
    file, service, kind = row["file"], row["service"], row["kind"]
    path = folder / file
    answer = Answer(int(row["status"] or 200), path.read_bytes(), _TYPES.get(path.suffix, "text/xml"))
    outcomes = {}
    for name in readers_for(service, kind, file):
        outcome = read(name, answer)
        outcomes[name] = outcome.error or "read"
    return Swept(file, service, kind, _expected(file, kind), outcomes)


def _expected(file: str, kind: str) -> str:
    if file in _ANSWERS_THAT_LOOK_LIKE_ERRORS:
        return "read"
    if kind.startswith(("error", "html")):
        return "typed error"
    if kind.startswith(_OTHER_FORMS) or (kind.startswith(_XML_OF_A_JSON_KIND) and file.endswith(".xml")):
        return "other form"
    return "read"


def table(swept: list[Swept]) -> str:
    """Files by service and kind: how many were read, how many gave a typed error, and which."""
    lines = [f"{'service':<16}{'kind':<24}{'files':>5} {'read':>5} {'typed error':>12}  reasons"]
    for service, kind in sorted({(one.service, one.kind) for one in swept}):
        own = [one for one in swept if (one.service, one.kind) == (service, kind)]
        read_files = sum("read" in one.outcomes.values() for one in own)
        reasons = Counter(text for one in own for text in one.outcomes.values() if text != "read")
        said = ", ".join(reason for reason, _ in reasons.most_common(3)) if read_files < len(own) else ""
        lines.append(f"{service:<16}{kind:<24}{len(own):>5} {read_files:>5} {len(own) - read_files:>12}  {said}")
    lines.append(f"{len(swept)} files")
    return "\n".join(lines)


def misread(swept: list[Swept]) -> list[Swept]:
    """Answers that no parser read, and errors that one took for an answer."""
    return [
        one
        for one in swept
        if ("read" in one.outcomes.values()) != (one.expected == "read") and one.expected != "other form"
    ]


def main() -> int:
    if not (RECORDED / "MANIFEST.tsv").is_file():
        print("The folder of recorded answers, ../shared/recorded, is not here.", file=sys.stderr)
        return 2
    swept = sweep(RECORDED)
    print(table(swept))
    for one in misread(swept):
        print(f"{one.file}: {one.outcomes}, expected: {one.expected}", file=sys.stderr)
    return 1 if misread(swept) else 0


if __name__ == "__main__":
    sys.exit(main())
