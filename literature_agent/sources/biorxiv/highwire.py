"""Titles and abstracts as bioRxiv's API writes them, with what its typesetting system (Highwire) left in them.

About a third of the records carry it: list and heading marks, names of symbols in braces, figures, and headings glued
to the first word of their paragraph. Only what can be nothing else is changed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from literature_agent.sources._text import clean_text


class Part(NamedTuple):
    """A part of an abstract: its heading where it has one, and its text."""

    label: str | None
    text: str


# A figure is written out with its file names between these marks.
_FLOAT = re.compile(r"(?:\bGraphical Abstract\s{0,4})?O_(FIG|TBL)\b.{0,4000}?C_\1", re.S)
_HEADING_MARKS = re.compile(r"O_ST_ABS(.{1,80}?)C_ST_ABS", re.S)
_INLINE_MARK = re.compile(r"[OC]_(?:SCPLOW|SCPCAP|INLINEFIG|ST_ABS|ST)")
_BLOCK_MARK = re.compile(r"[OC]_(?:LIST(?![A-Za-z])|LI|TEXTBOX|BOX|TD|TR|FIG|TBL)")
_BRACED = re.compile(r"\{([A-Za-z+/ -]{1,16})\}")
_BRACKETED = re.compile(r"\[(&(?:[a-z]{2,8}|#\d{1,5});|~|->|<-|=>)\]")
_GREEK_NAMES = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"),
    *("nu", "xi", "omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
)
GREEK = dict(zip(_GREEK_NAMES, "αβγδεζηθικλμνξοπρστυφχψω", strict=True))
"""Letter of each name."""
_SYMBOLS = {
    **GREEK,
    **{name.capitalize(): letter.upper() for name, letter in GREEK.items()},
    **{f"var{name}": GREEK[name] for name in ("epsilon", "theta", "phi", "rho", "pi", "kappa")},
    "varsigma": "ς",
    "+/-": "±",
    "-/+": "∓",
    "angstrom": "Å",
    "approx": "≈",
    "approximately": "≈",
    "bullet": "•",
    "degree": "°",
    "degrees": "°",
    "infty": "∞",
    "micro": "µ",
    "middle dot": "·",
    "ohm": "Ω",
    "partial": "∂",
    "permille": "‰",
    "prime": "′",
    "radical": "√",
    "sim": "∼",
    "square": "□",
    "times": "×",
}
# Words that also open product and database names (`DataMed`, `ImpactJ`) are not among them.
_NAME = (
    r"(?:Abstract|Aims?|Approach|Authors? Summary|Backgrounds?|Conclusions?|Context|Design|Discussion|Findings?|"
    r"Funding|Graphical Abstract|Hypothesis|Implementation|Implications|Importance|Interpretation|Interventions?|"
    r"Introduction|Key Points?|Limitations?|Main Outcomes?(?: Measures?)?|Materials?|Measurements?|Measures?|"
    r"Methodology|Methods?|Motivation|Objectives?|Outcomes?|Participants?|Patients?|Principal Findings?|Purpose|"
    r"Rationale|Relevance|Research Question|Results?|Settings?|Significance|Study Design|Study Objectives?|Summary|"
    r"Trial Registration)"
)
_HEADING = rf"{_NAME}(?:(?: ?/ ?|,? (?:and|&) |, )(?:{_NAME}|{_NAME.lower()}))*"
# A heading stands at the start of a paragraph or sentence and runs into a capital, a digit or a quote, or ends in a
# colon there. "Methods were" and "Data show" are sentences.
_GLUED = re.compile(rf"(?:(?<=\n)|(?<=[.!?)\]])|(?<=[.!?)\]] )|\A) ?({_HEADING})(?=[A-Z0-9\"“(])")
_WITH_COLON = re.compile(rf"(?:(?<=\n)|\A) ?({_HEADING}) ?: +(?=\S)")
_MARK = "\x00"


def read_title(raw: str) -> str:
    """The title on one line."""
    return clean_text(_symbols(_INLINE_MARK.sub("", raw)))


def read_abstract(raw: str) -> tuple[Part, ...]:
    """The parts of an abstract; paragraphs without a heading belong to the part before them."""
    text = _FLOAT.sub(" ", raw.replace(_MARK, ""))
    text = _HEADING_MARKS.sub(lambda found: f"\n{_MARK}{found[1]}{_MARK}", text)
    text = _symbols(_BLOCK_MARK.sub("\n", _INLINE_MARK.sub("", text)))
    text = _GLUED.sub(rf"\n{_MARK}\1{_MARK}", text)
    text = _WITH_COLON.sub(rf"\n{_MARK}\1{_MARK}", text)
    lead, *rest = text.split(_MARK)
    parts = [(None, lead), *zip(rest[::2], rest[1::2], strict=True)]
    return tuple(
        Part(_label(label), body)
        for label, paragraphs in parts
        if (body := "\n".join(line for line in map(clean_text, paragraphs.split("\n")) if line))
        and (label or body.lower() != "abstract")
    )


def abstract_text(parts: tuple[Part, ...]) -> str | None:
    """The parts as one text, each on lines of its own behind its heading."""
    return "\n".join(f"{part.label}: {part.text}" if part.label else part.text for part in parts) or None


def _label(raw: str | None) -> str | None:
    label = clean_text(raw or "").rstrip(" :.")
    return None if label.lower() in ("", "abstract") else label


def _symbols(text: str) -> str:
    text = _BRACED.sub(lambda found: _SYMBOLS.get(found[1], found[0]), text)
    return _BRACKETED.sub(r"\1", text)
