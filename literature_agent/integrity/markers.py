"""Numbered markers in folded prose, and keys of citation managers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from literature_agent.integrity.hits import Hit
from literature_agent.integrity.known import bare
from literature_agent.integrity.vocabulary import words
from literature_agent.integrity.years import MEASURED

_NUMBERS = r"\d{1,3}(?:\s?(?:[,;-]|and|to)\s?\d{1,3}){0,30}"
_BRACKET = re.compile(
    rf"(?P<glued>(?<=\w))?\[\s?(?:(?i:refs?|references?|citations?|cit|cite|see|sources?|papers?|docs?|documents?|articles?|abstracts?|snippets?|hits?|passages?|chunks?|contexts?|no|nos|nr|n[°o])[.:]?\s?|\#|\^)?(?P<numbers>{_NUMBERS})(?:,\s?pp?\.\s?\d{{1,4}}(?:-\d{{1,4}})?)?\s?(?:†[^\]]{{0,40}})?\]\^?(?![^\W\d_]|\()"
)
_ROUND = re.compile(rf"(?<=[^\W\d_])\s?\((?P<numbers>{_NUMBERS})\)(?=\s?(?:[.;:]|,\s[a-z]|$))")
_RAISED = re.compile(r"\^\{?\[?(?P<numbers>\d{1,3}(?:\s?[,-]\s?\^?\d{1,3}){0,30})\]?\}?\^?(?!\d|\.\d|/)")
_BEFORE_RAISED = re.compile(r"(?:([^\W\d_]{4,})\s?|[.,;)\]\"'])$")
_GLUED_NUMBER = re.compile(r"(?<=[a-z][a-z][a-z][a-z])[.]\d{1,3}(?:[,-]\d{1,3}){0,20}(?=\s+[A-Z]|\s*$)")
_KEYED = re.compile(
    r"\\?\bcite[a-z]{0,12}\s?\{[^{}]{0,200}\}|\[\^[\w-]{1,20}\]|\[@[\w:;@\s.-]{1,80}\]|\(\s?(?:see\s)?(?:refs?|references?|citations?|sources?)\.?\s?\d[\d\s,-]{0,20}\)"
    r"|\brefs?\.\s?\[?\d{1,3}\b|\b(?:see|in|from|per|as|by)\s(?:reference|citation|source|ref)s?\s\[?\d{1,3}\b(?!\s?%|\.\d)|\[\s?\d{1,3}(?::\d{1,3})?\s?†[^\[\]]{0,60}\]?",
    re.I,
)
# `[iii]` behind a word that ends there; the alpha style of BibTeX, which residues of proteins resemble.
_LETTERED = re.compile(
    r"(?<=[a-z)])\s?\[(?:i{1,3}|iv|vi{0,3}|ix|x{1,2})\](?=\s?[.,;:]|$)"
    r"|\[(?!(?:Ala|Arg|Asn|Asp|Cys|Gln|Glu|Gly|His|Ile|Leu|Lys|Met|Phe|Pro|Ser|Thr|Trp|Tyr|Val|Sar|Nle|Aib|Orn)\d)[A-Z][a-z]{2}\d\d[a-z]?\]"
    r"|\[[A-Z][A-Za-z]{1,3}\+\d\d[a-z]?\]"
)
# `<3>`, and what was in a circle or raised in brackets.
_ANGLED = re.compile(rf"(?<=[^\W\d_])\s?<{_NUMBERS}>(?=\s?(?:[.;:,)]|$))")
_CIRCLED = re.compile(r"(?:(?<=[^\W\d_])|(?<=[.,;)\]\"']))\s?(?:\^\(\d{1,2}\)\s?[,-]?\s?){1,9}(?=\s?(?:[.;:]|$))")
_BRACED = re.compile(r"(?<=[^\W\d_])\s?\{\d{1,3}(?:\s?[,-]\s?\d{1,3}){0,20}\}(?=\s?(?:[.;:,]|$))")
_INTERVAL = re.compile(
    r"(?:\b(?:[ft]|ci|cri|intervals?|range|ranges|ranging|iqr|interquartile|quartiles?|median|mean|sd|se|sem|scores?|aged?|between|from|scale"
    r"|n|interquartile\srange|percentiles?|min|max|limits?)|[=±<>])\W{0,3}$",
    re.I,
)
_NUMBER_BEFORE = re.compile(r"\d\s?$")
_NO_MARKER_BEFORE = words(
    """
    ci range iqr interval median mean sd se score scores grade stage group groups phase type table figure fig age aged
    year years month months week weeks day days visit arm cohort class level step item items option options equation in
    of to or and n total score scale domain question part section chapter box category categories tier model
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand
    """
)
_NO_RAISED_BEFORE = words(
    "metre metres meter meters inch inches foot feet square cubic omega kappa beta gamma delta epsilon sigma lambda"
    " alpha theta spin mass area volume"
)


# `74% [66; 81]`: what was measured, and its interval behind it.
_ESTIMATE = re.compile(r"(?<![\d.,-])(\d{1,3}(?:\.\d+)?)\s?(?:%|[^\W\d_]{1,5})?\s?$")
_BOUNDS = re.compile(r"(\d{1,3})\s?(?:[,;-]|to)\s?(\d{1,3})")


def _is_interval(numbers: str, before: str, behind: str) -> bool:
    """Whether two numbers in brackets are the bounds of a number before them, or of what is measured behind."""
    bounds = _BOUNDS.fullmatch(numbers)
    if bounds is None:
        return False
    low, high = int(bounds[1]), int(bounds[2])
    if low >= high:
        return False
    estimate = _ESTIMATE.search(before)
    is_range = "-" in numbers and MEASURED.match(behind) is not None
    return is_range or (estimate is not None and low < float(estimate[1]) < high)


def markers(text: str) -> Iterator[Hit]:
    """Numbered markers of a reference list that this answer does not have, and keys of citation managers."""
    for match in _BRACKET.finditer(text):
        before = text[max(0, match.start() - 40) : match.start()]
        plain = re.fullmatch(r"\d{1,3}", match["numbers"]) is not None
        # Lists of references begin at 1.
        if _INTERVAL.search(before) or re.search(r"(?<!\d)0", match["numbers"]):
            continue
        if _is_interval(match["numbers"], before, text[match.end() : match.end() + 20]):
            continue
        if _NUMBER_BEFORE.search(before) and not (
            plain and re.match(r"\s?[.;,:)]|\s?$", text[match.end() : match.end() + 2])
        ):
            continue
        yield Hit("marker", match.start(), match.end())
    for match in _ROUND.finditer(text):
        word = re.search(r"([^\W\d_]+)\s?$", text[max(0, match.start() - 30) : match.start() + 1])
        # One or two letters are a group, a stage or a unit.
        # A range alone is one of scores, weeks, or years.
        if (
            word is None
            or len(word.group(1)) < 3
            or bare(word.group(1)) in _NO_MARKER_BEFORE
            or re.fullmatch(r"[^,;]*-[^,;]*", match["numbers"])
        ):
            continue
        yield Hit("marker", match.start(), match.end())
    for match in _RAISED.finditer(text):
        raised = _BEFORE_RAISED.search(text[max(0, match.start() - 30) : match.start()])
        # A list begins at 1, and what is equal to something is a square.
        if re.search(r"(?<!\d)0", match["numbers"]) or re.match(r"\s?[=<>]", text[match.end() : match.end() + 2]):
            continue
        if raised and bare(raised.group(1) or "") not in _NO_RAISED_BEFORE:
            yield Hit("marker", match.start(), match.end())
    for match in _GLUED_NUMBER.finditer(text):
        yield Hit("marker", match.start() + 1, match.end())
    for pattern in (_KEYED, _LETTERED, _BRACED, _ANGLED, _CIRCLED):
        for match in pattern.finditer(text):
            yield Hit("marker", match.start(), match.end())
