"""Years in folded prose, and how names are written: what author-years and journal-years share."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

# How far around a year its author or journal is sought, in characters. Bounded, so that the whole stays linear.
REACH = 110

UPPER = "A-Z" + "".join(chr(c) for c in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)) if chr(c).isupper())
CAPITALISED = rf"(?:[ODLN]['’](?=[{UPPER}]))?[{UPPER}][^\W\d_]{{1,40}}(?:['’-][^\W\d_]{{1,40}}){{0,3}}"

# A number with what it measures or counts is a dose or a size, whatever stands before it.
MEASURED = re.compile(
    r"\s?-?(?:mg|g|kg|mcg|µg|μg|ng|pg|iu|u|units?|ml|l|dl|mmol|mol|kcal|kj|calories|cal|steps?|m|cm|mm|km|ms|hz|kpa|rpm|mhz|ci|gy"
    r"|patients?|participants?|people|persons?|subjects?|women|men|children|adults?|infants?|individuals?|volunteers?"
    r"|cases?|controls?|deaths?|births?|samples?|cells?|genes?|sites?|hospitals?|centres?|centers?|families|students"
    r"|pregnancies|records?|articles?|citations?|abstracts?|studies|euros?|dollars|usd|replicates|iterations|permutations"
    r"|bootstrap|person-years|years|months|weeks|hours|days|minutes|min|seconds|times|points|beds|words)\b",
    re.I,
)

SIGNS = r"[-,.;:/|+~=*#@&'^\\_]"
"""What can join a name and its year into one word."""

_DIGITS = r"(?:1[89]\d\d|20[0-3]\d)"
_PLAIN = re.compile(rf"(?<![\d.,/:$€£-])\b{_DIGITS}[a-f]?\b(?![\d/]|[.,:]\d|-\d|\s?(?:-|to)\s?\d|\s?%)")
# `2020/Smith`, `2020_Smith`
_BEFORE_A_NAME = re.compile(rf"(?<![\w.,/:$€£-]){_DIGITS}(?=[/_][{UPPER}])")
_ANY = re.compile(rf"(?<!\d){_DIGITS}(?!\d)")
# `Smith-2020`, `Smith_2020a`, `smith2020cognitive`: the letters behind it belong to the key of a citation manager.
_JOINT = re.compile(rf"(?<=[^\W\d_])(?:\s?{SIGNS}{{1,2}}\s?)?$")
_RANGE = re.compile(rf"(?<![\w.,/:$€£-]){_DIGITS}(?=[-/]\d\d(?:\d\d)?(?![\w/-]))")
_BEHIND_JOINED = re.compile(r"(?!s(?![^\W_]))[a-z]{0,24}(?![^\W_]|[.,:/-]\d|\s?%)")

# `2 0 2 0`, `2O20`, `’20`, `MMXX`, `twenty twenty`. Four letters at least, and no virus: short Roman years are drugs.
_DISGUISED = re.compile(
    r"(?<![\d.,])(?<!\d\s)[12]\s[089]\s\d\s\d(?!\s?\d)"
    r"|(?<![^\W_])[12](?=\d{0,2}[OoIl])[\dOoIl]{3}(?![^\W_])"
    r"|(?<!\d)'(?P<short>\d\d)(?![^\W_]|['\"])"
    r"|(?<![^\W_])(?!MCMV|MCMI\b)M(?:DCCC|CM|M)(?=[XLVIC])(?:X[LC]|L?X{0,3})(?:I[XV]|V?I{0,3})(?<=[MDCLXVI]{4})(?![^\W_])"
    r"|\b(?:(?i:twenty|nineteen|eighteen)(?i:[\s-](?:hundred(?:\sand)?[\s-])?(?:oh[\s-](?:one|two|three|four|five|six|seven|eight|nine)"
    r"|(?:ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen)"
    r"|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[\s-](?:one|two|three|four|five|six|seven|eight|nine))?))"
    r"|(?i:two\sthousand(?:\sand)?[\s-](?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|(?:twenty|thirty)(?:[\s-](?:one|two|three|four|five|six|seven|eight|nine))?)))\b"
)  # fmt: skip
_LETTERS_AS_DIGITS = str.maketrans("OoIl", "0011")


class Year(NamedTuple):
    """`text[start:end]` is read as a year.

    How it is written: `plain`, set off by blanks or brackets; `joined` to the word before by a sign; `glued` to it;
    `disguised`, in words, Roman or spaced digits, or two digits behind an apostrophe; `range`, as the first of two.
    """

    start: int
    end: int
    how: Literal["plain", "joined", "glued", "disguised", "range"]


def years_in(text: str) -> list[Year]:
    """The years of `text`; those that count or measure are left out."""
    years: list[Year] = []
    for match in _ANY.finditer(text):
        at = match.start()
        if (plain := _PLAIN.match(text, at) or _BEFORE_A_NAME.match(text, at)) is not None:
            years.append(Year(at, plain.end(), "plain"))
        elif _RANGE.match(text, at) is not None:
            years.append(Year(at, match.end(), "range"))
        elif (joint := _JOINT.search(text, max(0, at - 5), at)) and (behind := _BEHIND_JOINED.match(text, match.end())):
            years.append(Year(at, behind.end(), "joined" if joint.group() else "glued"))
    for match in _DISGUISED.finditer(text):
        digits = match.group().translate(_LETTERS_AS_DIGITS).replace(" ", "")
        if not digits.isdigit() or _ANY.fullmatch(digits):
            years.append(Year(match.start(), match.end(), "disguised"))
    return [year for year in years if not MEASURED.match(text, year.end)]
