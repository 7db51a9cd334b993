"""Works that may not stand as silent support: retracted, under concern, or a preprint whose paper was shown.

After the last repair code writes the mark beside the reference: `«...» [RETRACTED]`, `«...» [CONCERN]`, `«...»
[published as «...»]`. Nothing is cut for it: the reader loses nothing, and no such reference is silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from literature_agent.integrity.desk import Desk

_PAPER = r"(?:paper|article|study|trial|report|work|publication|preprint|analysis|review|manuscript|letter|record)s?"
_WAS = r"(?:is|are|was|were|been|being|since|later|subsequently|now|meanwhile|then|formally|also|but|and)"
_SAYS = {
    "retracted": re.compile(
        rf"\[RETRACTED\]|\(retracted\b|\b{_WAS}\s(?:\w+ly\s|also\s|since\s|later\s|now\s)?(?:retracted|withdrawn)\b"
        rf"|\b(?:retracted|withdrawn)\s(?:\w+\s){{0,3}}?{_PAPER}\b|\b{_PAPER}\s(?:\w+\s){{0,2}}?(?:retracted|withdrawn)\b"
        rf"|\bretraction\s(?:notice|of\s(?:the|this|that|its|one|a)\s(?:\w+\s){{0,2}}?{_PAPER})|^\W*retracted\b",
        re.I,
    ),
    "concern": re.compile(
        rf"\[CONCERN\]|\bexpressions?\sof\s(?:editorial\s)?concern\b|\bunder\s(?:an?\s)?(?:editorial\s)?(?:expression\sof\s)?concern\b"
        rf"|\beditors?(?:'|’)?s?\s(?:have\s)?(?:\w+\s){{0,3}}concerns?\b|\bretracted\s{_PAPER}",
        re.I,
    ),
}  # fmt: skip
# "has not been retracted", "never withdrawn": says the opposite.
_DENIES = re.compile(r"\b(?:not|never|n't|without|no\slonger|nor)\b[\w\s]{0,20}\b(?:retract|withdrawn|concern)", re.I)
_MARK = {"retracted": "[RETRACTED]", "concern": "[CONCERN]"}


def silent_mark(reference: str, sentence: str, desk: Desk) -> str | None:
    """The mark that `reference` needs in `sentence`, because its work is retracted or under concern and the sentence
    does not say so; None if it needs none."""
    work = desk.work(reference)
    says = _SAYS.get(work.correction_status) if work is not None else None
    if work is None or says is None or (says.search(sentence) and not _DENIES.search(sentence)):
        return None
    return _MARK[work.correction_status]


def superseded_by(reference: str, cited: Iterable[str], desk: Desk) -> str | None:
    """The published version of a preprint that is not among the works `cited` with it; None if it is, or if there is
    none."""
    published = desk.published_version(reference)
    return None if published is None or published in map(desk.strongest, cited) else published
