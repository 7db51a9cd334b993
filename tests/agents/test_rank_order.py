"""Ranking does not depend on the order in which Python keeps sets, which differs from process to process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from literature_agent.agents.evidence import Paper
from literature_agent.agents.rank import rank
from literature_agent.sources.pubmed.parse import parse_articles
from pathlib import Path
import sys

papers = [
    Paper(
        reference=article.pmid,
        title=article.title,
        abstract=article.abstract_text or "",
        year=article.year,
        headings=tuple(heading.descriptor for heading in article.mesh_headings),
    )
    for path in sorted(Path(sys.argv[1]).glob("[a-z]*.xml"))
    for article in parse_articles(path.read_bytes())
]
for question in (
    "Does metformin slow cognitive decline in older adults with type 2 diabetes?",
    "Is year of radical prostatectomy a predictor of outcome in prostate cancer?",
    "Does low-dose aspirin in early pregnancy prevent preterm pre-eclampsia in women at high risk?",
):
    for item in rank(question, papers):
        print(item.paper.reference, item.score.hex(), item.covered.hex(), item.bears)
"""


def ranked(seed: int, corpus: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(corpus)],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout


def test_scores_are_the_same_to_the_last_bit_whatever_the_hash_seed() -> None:
    corpus = Path(__file__).resolve().parents[2] / "literature_agent" / "sandbox" / "corpus"
    first = ranked(0, corpus)
    assert len(first.splitlines()) > 500
    assert ranked(1, corpus) == first
