"""What prose says of the run itself, held against the ledger: a source that failed, or one that had nothing."""

from __future__ import annotations

import re

from literature_agent.integrity.desk import Desk
from literature_agent.integrity.gaps import says_absent

_FAILED = re.compile(
    r"\b(?:pubmed|medline|europe\s?pmc|biorxiv|medrxiv|clinicaltrials(?:\.gov)?|sources?|databases?|registr(?:y|ies)"
    r"|search(?:es)?|quer(?:y|ies))\b(?:(?!\b(?:texts?|abstracts?|data|records?|papers?)\b)[^.;:]){0,40}?\b"
    r"(?:failed(?!\sto\s(?!answer|respond|load|run))"
    r"|could\snot\sbe\s(?:reached|asked|searched|queried|accessed)|(?:did|does)\snot\s(?:answer(?!\s(?:this|that|the|our)\s)|respond(?!\sto\s))|timed\sout"
    r"|(?:was|were)\s(?:unreachable|unavailable|down|offline))\b",
    re.I,
)
_NONE_FAILED = re.compile(r"\b(?:no|none|neither|never)\b", re.I)


def misreport(sentence: str, desk: Desk) -> str | None:
    """What is untrue of the run in a sentence that only speaks of it; None where the ledger says the same, or knows of
    no search."""
    failed = _FAILED.search(sentence)
    if failed and not _NONE_FAILED.search(sentence[: failed.end()]):
        coverage = desk.ledger.coverage()
        was_cut = desk.ledger.failures() or any(each.failed or each.truncated for each in coverage)
        return None if was_cut or not coverage else "no source failed in this run: leave it out."
    if says_absent(sentence):
        letters = re.sub(r"[^a-z]", "", sentence.lower())
        for source in desk.ledger.coverage():
            if source.failed and source.failed == source.asked and source.source in letters:
                return f"{source.source} failed, which says nothing about what it holds: say that it failed."
    return None
