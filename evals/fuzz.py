"""`python -m evals.fuzz [--seconds 600]`: every parser under mutated answers; only typed errors may come out.

Seeds are the recorded answers in `../shared/recorded`, else the package's own corpus and the payloads of the tests.
The run is repeatable from its seed; an input that breaks a parser is written to `--keep` and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evals.numbers import seconds
from evals.readers import READERS, read, readers_for
from literature_agent.transport.messages import Answer

ROOT = Path(__file__).resolve().parent.parent
LARGEST_SEED = 200_000
"""Bytes; a larger answer costs inputs and shows nothing that a smaller one does not."""
_SUFFIXES = (".xml", ".json", ".nxml", ".html", ".txt")
_STATUSES = (200,) * 60 + (204, 400, 403, 404, 414, 422)
_TYPES = ("text/xml", "application/json", "") * 10 + ("text/html",)
_NASTY = (
    *(b"", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"&", b"&amp;lt;", b"&#0;", b"&#xD800;", b"&nbsp;", b"<", b"]]>"),
    *(b"<sup>", b"</", b"<!--", b"<![CDATA[", b"<?xml", b'<!DOCTYPE a [<!ENTITY b "c">]>', b"<math><msup/></math>"),
    *(b"null", b"true", b"[]", b"{}", b'""', b"-1", b"0", b"1e999", b"NaN", b"9" * 400, b"[[" * 200, b'{"a":' * 200),
    *(b"\\ud800", b"\\u0000", b"2024-02-31", b"0000", b"99999999999999999999", b"10.1000/", b"PMC", b"NCT00000000"),
    *("\u202e\u200b\u00ad".encode(), "٣٣".encode(), "２０２４".encode(), "\U000e0041".encode(), b"|" * 20, b"\r\n"),
)


@dataclass(frozen=True)
class Seed:
    """One answer to mutate, and the parsers that would get it."""

    name: str
    body: bytes
    readers: tuple[str, ...]


@dataclass
class Tally:
    """What came of a run."""

    inputs: Counter[str] = field(default_factory=Counter)
    """By parser."""
    read: Counter[str] = field(default_factory=Counter)
    """Inputs that were read in spite of the mutation."""
    broken: list[tuple[str, str, bytes, str]] = field(default_factory=list)
    """Parser, seed, input and traceback of each untyped exception."""
    slowest_s: float = 0.0
    slowest: str = ""

    @property
    def total(self) -> int:
        return self.inputs.total()


def seeds() -> list[Seed]:
    """The recorded answers where they are, else what the checkout holds."""
    recorded = ROOT.parent / "shared" / "recorded"
    if (recorded / "MANIFEST.tsv").is_file():
        rows = (line.split("\t") for line in (recorded / "MANIFEST.tsv").read_text(encoding="utf-8").splitlines()[1:])
        known = [(recorded / row[0], readers_for(row[1], row[2], row[0])) for row in rows]
    else:
        known = [(path, _guessed(path)) for path in packaged_files()]
    found = [Seed(path.name, path.read_bytes(), names) for path, names in known if path.suffix in _SUFFIXES]
    return [seed for seed in found if len(seed.body) <= LARGEST_SEED]


def packaged_files() -> list[Path]:
    """Invented answers and records that come with the checkout."""
    folders = (ROOT / "literature_agent" / "sandbox" / "corpus", ROOT / "tests" / "payloads")
    return sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in _SUFFIXES)


def _guessed(path: Path) -> tuple[str, ...]:
    """Parsers of the service that the path names."""
    part = f"{path.parent.name}/{path.stem}".lower()
    words = {"pubmed": ("pubmed", "esearch", "espell"), "pmc": ("jats", "id ", "elink"), "europepmc": ("europepmc",)}
    words |= {"biorxiv": ("biorxiv",), "trial": ("trial",)}
    starts = next((own for word, own in words.items() if word in part), ("pubmed", "jats"))
    return tuple(name for name in READERS if name.startswith(starts))


def mutated(body: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """`body` with one to six changes: bytes, cuts, doubled and moved pieces, nasty pieces, pieces of other answers."""
    changed = bytearray(body)
    # Every second input stays well formed, so that what lies behind the first check is reached.
    kinds = (7, 8) if chance.random() < 0.5 else range(9)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(changed) + 1)
        end = min(len(changed), at + int(2 ** chance.uniform(0, 11)))
        kind = chance.choice(kinds)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del changed[at:end]
        elif kind == 2:
            changed[at:at] = changed[at:end]
        elif kind == 3:
            changed[at:at] = chance.choice(_NASTY)
        elif kind == 4:
            changed[at:end] = chance.choice(_NASTY)
        elif kind == 5 and chance.random() < 0.2:
            del changed[at:]
        elif kind == 6:
            other = chance.choice(others)
            begin = chance.randrange(len(other) + 1)
            changed[at:end] = other[begin : begin + end - at]
        elif kind == 7:
            _exchange_value(changed, chance)
        elif kind == 8:
            _exchange_element(changed, chance)
    return bytes(changed)


def _exchange_value(body: bytearray, chance: random.Random) -> None:
    """Another value for a JSON member or for the text between two tags: the document stays well formed."""
    start = body.find(b":", chance.randrange(len(body) + 1))
    mark = body.find(b">", chance.randrange(len(body) + 1))
    if start >= 0 and body.lstrip().startswith((b"{", b"[")):
        ends = [place for sign in (b",", b"}", b"]") if (place := body.find(sign, start)) > 0]
        if ends:
            body[start + 1 : min(ends)] = chance.choice(
                (b"null", b"[]", b"{}", b"true", b"-1", b'""', b"1e400", b'"x"')
            )
    elif mark >= 0 and (close := body.find(b"<", mark)) > mark:
        body[mark + 1 : close] = chance.choice((b"", b" ", b"0", b"-1", b"&#8205;", b"x" * 5000, b"2024-13-45"))


def _exchange_element(body: bytearray, chance: random.Random) -> None:
    """The name of one tag in place of all its likes."""
    start = body.find(b"<", chance.randrange(len(body) + 1))
    end = start + 1
    while 0 < end < len(body) and (body[end : end + 1].isalnum() or body[end] in b"-:"):
        end += 1
    name = bytes(body[start + 1 : end])
    if start >= 0 and name:
        new = chance.choice((b"sup", b"math", b"p", b"article", b"PMID", b"Year", name + b"x"))
        for mark in (b"<", b"</"):
            body[:] = body.replace(mark + name, mark + new)


def run(seconds: float, *, seed: int = 1, most_broken: int = 20) -> Tally:
    """Mutate and read for so many seconds of wall time."""
    chance = random.Random(seed)
    known = seeds()
    bodies = [one.body for one in known]
    tally = Tally()
    end = time.monotonic() + seconds
    while time.monotonic() < end and len(tally.broken) < most_broken:
        origin = chance.choice(known)
        # A small answer is drawn as often as a large one, and one in eight goes to a parser of something else.
        name = chance.choice(origin.readers if chance.random() < 0.875 else tuple(READERS))
        body = mutated(origin.body, chance, bodies)
        answer = Answer(chance.choice(_STATUSES), body, chance.choice(_TYPES))
        began = time.process_time()
        try:
            outcome = read(name, answer)
        except Exception:  # noqa: BLE001  # any exception but the typed ones is what is looked for
            tally.broken.append((name, origin.name, body, traceback.format_exc()))
        else:
            tally.read[name] += outcome.error is None
        tally.inputs[name] += 1
        took = time.process_time() - began
        if took > tally.slowest_s:
            tally.slowest_s, tally.slowest = took, f"{name}, from {origin.name}"
    return tally


def table(tally: Tally) -> str:
    lines = [f"{'parser':<34}{'inputs':>9}{'read':>9}{'untyped':>9}"]
    for name in READERS:
        bugs = sum(one[0] == name for one in tally.broken)
        lines.append(f"{name:<34}{tally.inputs[name]:>9,}{tally.read[name]:>9,}{bugs:>9,}")
    lines.append(f"{'all':<34}{tally.total:>9,}{tally.read.total():>9,}{len(tally.broken):>9,}")
    lines.append(f"slowest input: {tally.slowest_s:.2f} s ({tally.slowest})")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.fuzz", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=seconds, default=600, help="how long (600)")
    parser.add_argument("--seed", type=int, default=1, help="of the random choices (1)")
    parser.add_argument("--keep", type=Path, default=None, help="folder for inputs that break a parser")
    options = parser.parse_args(argv)
    tally = run(options.seconds, seed=options.seed)
    print(table(tally))
    for number, (name, origin, body, trace) in enumerate(tally.broken):
        print(f"\n{name}, mutated from {origin}:\n{trace}", file=sys.stderr)
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{number}-{name.replace(' ', '-')}").write_bytes(body)
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
