"""Examples of the commands: shown by `--help` and in the README, and run by the tests."""

from __future__ import annotations

# Not wider than a terminal of 80 columns when indented by two.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        'run --sandbox "Does metformin slow cognitive decline?"',
        'run "Statins for people over 75" --since 2015 --open',
        'run "Semaglutide and gastroparesis" --output run.json',
        "run - --searches lines.jsonl --search-log log.csv < q.txt",
        'run --sandbox "Metformin and memory" --record kept',
        "run --replay kept --format markdown",
        "run --sandbox --drift kept --json",
    ),
    "chat": (
        'chat --sandbox "Does metformin slow cognitive decline?"',
        "chat --from run.json < lines.txt",
    ),
    "search": (
        'search pubmed "metformin[ti] AND dementia[mh]" --since 2020',
        'search europepmc "metformin dementia" --jsonl > hits.jsonl',
    ),
    "fetch": (
        "fetch pubmed 90000101 10.5555/synthetic.90000102 --sandbox",
        "fetch europepmc MED:90000101 --json --sandbox",
    ),
    "read": (
        "read PMC90000101 --sandbox --outline",
        'read 90000101 --sandbox --sections "Methods;Results"',
    ),
    "cite": (
        "cite 90000101 90000102 --format bibtex --sandbox",
        "cite --from run.json --format vancouver",
    ),
    "sandbox": ("sandbox --port 8765",),
    "doctor": ("doctor --offline",),
}


def epilog(command: str) -> str | None:
    """The examples of a command as the end of its help; None where there are none."""
    if command not in EXAMPLES:
        return None
    # `\b` keeps the lines as they are.
    return "\b\nExamples:\n" + "\n".join(f"  literature-agent {example}" for example in EXAMPLES[command])


def listed() -> str:
    """All examples as the README lists them."""
    return "\n".join(f"literature-agent {example}" for examples in EXAMPLES.values() for example in examples)
