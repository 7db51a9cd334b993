"""Sentences of abstracts: where they stand, what they do, and whether they may be repeated outside the fence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from literature_agent.agents.evidence import Paper
from literature_agent.ids import find_identifiers
from literature_agent.integrity.sentences import sentence_spans
from literature_agent.views import MASKS

Role = Literal["background", "methods", "body", "conclusion", "administration"]

_LABEL = re.compile(r"^([A-Za-z][^:.!?]{1,58}): +(?=\S)")
_LABEL_WORDS = re.compile(
    r"^(?:aims?|background|conclusions?|context|data|design|discussion|findings?|funding|implications?|importance|"
    r"interpretation|interventions?|introduction|limitations?|main|materials?|measurements?|methods?|objectives?|"
    r"outcomes?|participants|patients|principal|purpose|rationale|registration|results?|setting|significance|study|"
    r"subjects|summary|trial)\b",
    re.I,
)
_ROLE_OF_LABEL: tuple[tuple[re.Pattern[str], Role], ...] = (
    (re.compile(r"registr|funding|ethic|disclosure|level of evidence", re.I), "administration"),
    (re.compile(r"conclu|interpretation|implication|discussion|relevance|summary", re.I), "conclusion"),
    (re.compile(r"result|finding", re.I), "body"),
    (re.compile(r"background|introduction|context|rationale|aim|objective|purpose|importance", re.I), "background"),
    (
        re.compile(r"method|design|setting|participant|patient|subject|measure|material|data|intervention", re.I),
        "methods",
    ),
)
_CONCLUDES = re.compile(
    r"^(?:in (?:conclusion|summary)|(?:we|the authors?) conclude|(?:our|these|the present|the) "
    r"(?:present )?(?:findings|results|data|study|evidence|meta-analysis|review|analys[ei]s|trial)\b|this (?:study|"
    r"review|trial|meta-analysis|work)|taken together|overall|therefore|thus|we found|collectively)",
    re.I,
)
_GAP = re.compile(
    r"\b(?:further|future|additional|larger|long(?:er)?[- ]term|more|prospective|randomi[sz]ed)\b[^.]{0,60}"
    r"\b(?:research|stud(?:y|ies)|trials?|investigations?|work|evidence|data)\b[^.]{0,60}"
    r"\b(?:needed|required|warranted|necessary|should|must|awaited|desirable)\b"
    r"|\b(?:need|needs|requires?|warrants?|deserves?|merits?)\b[^.]{0,30}\b(?:further|additional|more|future)\b"
    r"|\bremains? (?:\w+ )?(?:unclear|unknown|uncertain|controversial|unproven|unresolved|open|elusive|to be)\b"
    r"|\b(?:is|are) (?:still |currently |largely )?(?:unknown|unclear|uncertain|unproven|lacking|not known|needed)\b"
    r"|\b(?:unknown|unclear|uncertain) (?:whether|if|how|which)\b|\blittle is known\b"
    r"|\bno (?:randomi[sz]ed |clinical )?(?:evidence|trials?|stud(?:y|ies)|data) (?:exists?|has|have)\b"
    r"|\b(?:priorit|direction)\w+ for (?:future )?research\b|\bleaves? the question\b"
    r"|\bnever been (?:done|tested|studied)\b"
    r"|\btrials are (?:still )?needed\b|\bnext step\b|\bopen (?:issues?|questions?)\b",
    re.I,
)
# What prose must not hold: author and year, a journal's volume, marks of a reference list, addresses, imprints, and
# words to a reader of this text, which no finding needs.
_BARRED = re.compile(
    r"\bet al\b|«|»|\b(?:19|20)\d\d\b|\[\s*\d+(?:\s*[,–-]\s*\d+)*\s*\]|@|©|\bcopyright\b|\bdoi\b"
    r"|\ball rights reserved\b"
    r"|\b(?:PMID|PMCID|NCT|ISRCTN|PROSPERO|CRD)\b|\bclinicaltrials?\.gov\b|\bregist(?:ered|ration|ry number)\b"
    r"|\b(?:Elsevier|Wiley|Springer|Ltd|Inc)\b"
    r"|\byou(?:r|rs)?\b|\b(?:ignore|disregard|forget|override)\b[^.]{0,60}\b(?:instruction|prompt|above|previous|prior)"
    r"|\b(?:system|developer) (?:prompt|message)\b",
    re.I,
)
_SHORTEST = 40
_LONGEST = 420
_ELLIPSIS = re.compile(r"\.{3}|…")


@dataclass(frozen=True)
class Sentence:
    """A sentence as it stands in the shown abstract of a paper."""

    text: str
    role: Role
    concludes: bool
    """It stands among the conclusions, or says that it draws one."""
    names_gap: bool
    """Authors name something unknown. Not in an introduction: the paper itself may answer that."""

    @property
    def quotable(self) -> bool:
        """Whether it can be copied word for word: complete, and nothing in it is masked."""
        return (
            _SHORTEST <= len(self.text) <= _LONGEST
            and self.text[-1] in '.!)”"'
            and (self.text[0].isupper() or self.text[0].isdigit())
            and not any(mask in self.text for mask in MASKS)
            and not _ELLIPSIS.search(self.text)
            and "«" not in self.text
        )

    @property
    def repeatable(self) -> bool:
        """Whether it may also stand in prose: quotable, one sentence, and it names no work, person or journal."""
        return (
            self.quotable
            and not _BARRED.search(self.text)
            and not any(True for _ in find_identifiers(self.text))
            and len(sentence_spans(self.text)) == 1
        )


def sentences_of(paper: Paper) -> list[Sentence]:
    """Sentences of the abstract as far as it was shown, in order; a last one that was cut is left out."""
    sections = [(role, text) for line in paper.abstract.split("\n") for role, text in _section(line)]
    structured = any(role is not None for role, _ in sections)
    found = [(role, text[start:end]) for role, text in sections for start, end in sentence_spans(text)]
    sentences = []
    for number, (role, text) in enumerate(found):
        place = role or _role_by_place(number, len(found), structured=structured)
        concludes = place == "conclusion" or bool(_CONCLUDES.search(text))
        gap = place in ("conclusion", "body") and bool(_GAP.search(text))
        sentences.append(Sentence(text, place, concludes, gap))
    return sentences if paper.whole else [s for s in sentences if not s.text.endswith("…")]


def _section(line: str) -> Iterator[tuple[Role | None, str]]:
    label = _LABEL.match(line)
    if label is None or not (label.group(1).isupper() or _LABEL_WORDS.match(label.group(1))):
        yield None, line
        return
    name = label.group(1)
    role: Role = next((role for pattern, role in _ROLE_OF_LABEL if pattern.search(name)), "body")
    yield role, line[label.end() :]


def _role_by_place(number: int, of: int, *, structured: bool) -> Role:
    """In an abstract without labels: what opens it is background, what ends it is conclusion."""
    if structured:
        return "body"
    if number >= of - 2:
        return "conclusion"
    return "background" if number < of / 2 else "body"
