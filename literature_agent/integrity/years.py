"""Years in folded prose, and how names are written: what author-years and journal-years share."""

from __future__ import annotations

import re

# How far around a year its author or journal is sought, in characters. Bounded, so that the whole stays linear.
REACH = 110

UPPER = "A-Z" + "".join(chr(c) for c in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)) if chr(c).isupper())
CAPITALISED = rf"[{UPPER}][^\W\d_]{{1,40}}(?:['’-][^\W\d_]{{1,40}}){{0,3}}"
YEAR = re.compile(r"(?<![\d.,/:$€£-])\b(?:1[89]\d\d|20[0-3]\d)[a-f]?\b(?![\d/]|[.,:]\d|-\d|\s?(?:-|to)\s?\d|\s?%)")

# A number with what it measures or counts is a dose or a size, whatever stands before it.
MEASURED = re.compile(
    r"\s?-?(?:mg|g|kg|mcg|µg|μg|ng|pg|iu|u|units?|ml|l|dl|mmol|mol|kcal|kj|calories|cal|steps?|m|cm|mm|km|ms|hz|kpa|rpm|mhz|ci|gy"
    r"|patients?|participants?|people|persons?|subjects?|women|men|children|adults?|infants?|individuals?|volunteers?"
    r"|cases?|controls?|deaths?|births?|samples?|cells?|genes?|sites?|hospitals?|centres?|centers?|families|students"
    r"|pregnancies|records?|articles?|citations?|abstracts?|studies|euros?|dollars|usd|replicates|iterations|permutations"
    r"|bootstrap|person-years|years|hours|days|times)\b",
    re.I,
)
