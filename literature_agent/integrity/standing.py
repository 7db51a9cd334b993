"""Works that may not stand as silent support: retracted, under concern, or a preprint whose paper was shown.

After the last repair code writes the mark beside the reference: `«...» [RETRACTED]`, `«...» [CONCERN]`, `«...»
[published as «...»]`. Nothing is cut for it: the reader loses nothing, and no such reference is silent.

Two versions of one study never stand as two: beside the later version the earlier one is cut, unless the sentence says
that they are one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from literature_agent.integrity.desk import Desk
from literature_agent.registry import find_references

# Sentences are read with one character for each reference.
_REFERENCE = "\ufffc"
_ONE = r"(?:paper|article|study|trial|report|work|publication|preprint|analysis|review|manuscript|letter|record)"
_MANY = (
    r"(?:papers|articles|studies|trials|reports|publications|preprints|analyses|reviews|manuscripts|letters|records)"
)
_PAPER = rf"(?:{_ONE}|{_MANY})"
_AUX = (
    r"(?:is|are|was|were|be|been|being|has|have|had|since|later|subsequently|now|meanwhile|then|also|both|all|already|but|and"
    r"|\w+ly)"
)
_THIS = rf"(?:{_REFERENCE}|\b{_PAPER}|\b(?:it|this|these|those|they|both|one|all))"
_ELSE = (
    r"(?:which|who|whom|whose|where|that|patients?|participants?|subjects?|adults?|children|pupils|women|men|people|consent|drugs?"
    r"|treatment|lids?|eyelids?)"
)
# What patients, drugs and eyelids are, papers are only where they are named.
_SAYS = {
    "retracted": re.compile(
        rf"\[RETRACTED\]|\((?:since\s|now\s|later\s)?retracted\b|^\W*retracted\s?(?:[:(—–-]|{_REFERENCE})"
        rf"|{_THIS}(?:[\s,)(\]]{{1,3}}(?:which|that))?[\s,)(\]]{{1,3}}(?:{_AUX}\s){{0,4}}(?:retracted|withdrawn)\b"
        rf"|\b{_PAPER}\s(?:of|on|in|from|with|by|about|for|published)\s(?:(?!{_ELSE}\b)[\w-]+\s){{1,12}}?(?:{_AUX}\s){{1,4}}"
        r"(?:retracted|withdrawn)\b"
        rf"|\b(?:but|and|before|until|which|that)\s(?:it\s)?(?:{_AUX}\s){{1,4}}retracted\b"
        rf"|(?<![\w-])(?:retracted|withdrawn)\s(?:(?!(?:from|by|after|because|due|in|for|on|at|of)\b)\w+\s){{0,3}}?{_PAPER}\b"
        rf"|(?<![\w-])retracted\s{_REFERENCE}"
        rf"|\b(?:journal|publisher|editors?|authors?)\s(?:have\s|has\s|had\s|\w+ly\s|later\s)?(?:retract(?:ed|s)?|withdrew|withdraws?)\s"
        rf"(?:it|them|both|{_REFERENCE}|(?:the|this|that|their|its|one)\s(?:\w+\s){{0,2}}?{_PAPER})"
        rf"|\bretraction\s(?:notice|of\s(?:{_REFERENCE}|(?:the|this|that|its|one|a)\s(?:\w+\s){{0,2}}?{_PAPER}))",
        re.I,
    ),
    "concern": re.compile(
        rf"\[CONCERN\]|\bexpressions?\sof\s(?:editorial\s)?concern\b|\bunder\s(?:an?\s)?(?:editorial\s)?(?:expression\sof\s)?concern\b"
        rf"|\beditors?(?:'|’)?s?\s(?:have\s)?(?:\w+\s){{0,3}}concerns?\b|(?<![\w-])retracted\s{_PAPER}",
        re.I,
    ),
}  # fmt: skip
# "has not been retracted", "if it had been", "wrongly": says the opposite, or leaves it open. A mark more does no harm.
_DENIES = re.compile(
    r"(?:\b(?:not|never|nobody|none|without|no\slonger|nor|no|wrongly|unjustly|falsely|almost|nearly|if|unless|whether|should"
    r"|would|wanted?|wish(?:ed)?|calls?|demands?|requests?|unlike|rather\sthan|instead\sof)\b|n't|\bnon-|\bunretract)"
    rf"[\w\s,'{_REFERENCE}-]{{0,40}}?(?:retract|withdraw|concern)|\bunretract",
    re.I,
)
_OF_SEVERAL = re.compile(
    rf"\b(?:retracted|withdrawn)\s(?:\w+\s){{0,3}}?{_MANY}\b|(?:{_MANY}|\b(?:both|all|these|they)\b|{_REFERENCE}\s?(?:and|,)\s?{_REFERENCE})"
    rf"[\s\w,{_REFERENCE}]{{0,40}}?\b(?:were|are|have)\s(?:{_AUX}\s){{0,3}}(?:retracted|withdrawn)\b|\bconcerns?\b",
    re.I,
)  # fmt: skip
_MARK = {"retracted": "[RETRACTED]", "concern": "[CONCERN]"}


def silent_mark(reference: str, sentence: str, desk: Desk) -> str | None:
    """The mark that `reference` needs in `sentence`, because its work is retracted or under concern and the sentence
    does not say so; None if it needs none. Of several such works each must be said to be so, or all together."""
    work = desk.work(reference)
    says = _SAYS.get(work.correction_status) if work is not None else None
    if work is None or says is None:
        return None
    read, places = _read(sentence, desk)
    if sum(status in _SAYS for _, status in places.values()) > 1 and not _OF_SEVERAL.search(read):
        read = _around(read, places[reference][0]) if reference in places else read
    return None if says.search(read) and not _DENIES.search(read) else _MARK[work.correction_status]


def _read(sentence: str, desk: Desk) -> tuple[str, dict[str, tuple[int, str]]]:
    """`sentence` with one character for each reference; where the shown ones stand in it, and their standing."""
    parts: list[str] = []
    places: dict[str, tuple[int, str]] = {}
    at = length = 0
    for found in find_references(sentence):
        parts += [sentence[at : found.start], _REFERENCE]
        length += found.start - at + 1
        at = found.end
        if (shown := desk.shown(found.raw)) is not None and (work := desk.work(shown)) is not None:
            places.setdefault(shown, (length - 1, work.correction_status))
    return "".join([*parts, sentence[at:]]), places


def _around(read: str, at: int) -> str:
    """What stands around a reference, up to the references beside it; those that follow on each other are one."""
    start, end = at, at + 1
    while (left := re.search(rf"{_REFERENCE}[\s,;]*$", read[:start])) is not None:
        start = left.start()
    while (right := re.match(rf"[\s,;]*{_REFERENCE}", read[end:])) is not None:
        end += right.end()
    before = read.rfind(_REFERENCE, 0, start) + 1
    behind = read.find(_REFERENCE, end)
    return read[before : behind if behind >= 0 else len(read)]


def superseded_by(reference: str, cited: Iterable[str], desk: Desk) -> str | None:
    """The published version of a preprint that is not among the works `cited` with it; None if it is, or if there is
    none."""
    published = desk.published_version(reference)
    return None if published is None or published in map(desk.strongest, cited) else published


# A sentence that says that one is the other, and one that counts them as two.
_SAYS_ONE = re.compile(
    rf"\b(?:its|whose|their)\s(?:[\w-]+\s){{0,3}}?(?:pre-?prints?|versions?|papers?|publications?|articles?|updates?)\b"
    rf"|\bpre-?prints?\s(?:versions?\s)?of\b|\bpublished\s(?:\w+\s)?(?:as|versions?|form|in\sfull)\b"
    rf"|\b(?:later|since|then|subsequently|now|meanwhile|finally|afterwards)\s(?:been\s)?published\b"
    rf"|\b(?:first|originally|initially|earlier|previously|also|available|posted|appeared|shared|released|both)\s(?:\w+\s){{0,3}}?"
    rf"(?:as|in)\s(?:an?\s)?pre-?print\b"
    rf"|[(\[]\s?(?:(?:also|see|and|as|an?|the|its|earlier|first|posted|with)\s){{0,3}}pre-?print(?:ed)?:?,?\s?(?:as\s)?{_REFERENCE}"
    rf"|{_REFERENCE}\s?[(\[]\s?(?:(?:an?|the|its|earlier|as)\s){{0,2}}pre-?print\b"
    rf"|\bsame\s(?:\w+\s){{0,2}}?{_ONE}\b|\brepublish|\bupdat(?:e|es|ed|ing)\b"
    r"|\b(?:earlier|later|previous|older|newer|new|first|second|revised)\sversions?\b",
    re.I,
)
_SAYS_SEVERAL = re.compile(r"\b(?:independent|independently|separate|separately|unrelated|distinct)\b", re.I)
_COUNTS_SEVERAL = re.compile(
    rf"\b(?:two|2|both|several|multiple)\s(?:[\w-]+\s){{0,3}}?(?:{_MANY}|cohorts|groups|teams|experiments)\b", re.I
)
_VERSIONS_NAMED = 2

_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_COUNTS = re.compile(
    rf"\b({'|'.join(_NUMBERS)}|[2-9]|10|both|several|multiple|numerous|various|a\snumber\sof)\s(?:(?:of\s)?(?:the|these|those)\s)?"
    rf"(?:[\w-]+\s){{0,3}}?(?:{_MANY}|meta-analyses|cohorts|teams)\b",
    re.I,
)
_CLAUSE = re.compile(r";(?!\s*[«<\[(])|,\s(?=(?:whereas|while|although|though|but|yet)\b)", re.I)


def miscounts(sentence: str, gone: Collection[str]) -> bool:
    """Whether a clause of the sentence counts the works that it cites (`two trials agree «a», «b»`) and fewer than it
    says, but some, are left of them without those whose keys are `gone`."""
    at = 0
    for end in [*(match.start() for match in _CLAUSE.finditer(sentence)), len(sentence)]:
        clause, at = sentence[at:end], end
        cited = {found.key for found in find_references(clause)}
        left = len(cited.difference(gone))
        numbers = (match[1].lower() for match in _COUNTS.finditer(clause))
        counts = (int(word) if word.isdigit() else _NUMBERS.get(word, 2) for word in numbers)
        if any(0 < left < count <= len(cited) for count in counts):
            return True
    return False


def counted_twice(sentence: str, cited: Iterable[str], desk: Desk) -> dict[str, str]:
    """The works `cited` whose later version is cited with them, each with that version, where the sentence does not say
    that they are one study."""
    listed = list(cited)
    if len(listed) < _VERSIONS_NAMED:
        return {}
    earlier = {each: later for each in listed if (later := desk.later_version(each, listed)) is not None}
    if not earlier:
        return {}
    read, _ = _read(sentence, desk)
    several = _SAYS_SEVERAL.search(read) or (len(listed) == _VERSIONS_NAMED and _COUNTS_SEVERAL.search(read))
    return earlier if several or not _SAYS_ONE.search(read) else {}
