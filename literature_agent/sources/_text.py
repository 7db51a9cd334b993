"""Text and dates as the sources write them, made fit to show; what callers write (queries, dates, numbers), checked.

Cleaning removes markup and what cannot be seen, and changes nothing else: `P<0.001` and `c.1022T>C` survive.
"""

from __future__ import annotations

import html
import re
from calendar import monthrange
from html.entities import html5

from pydantic_core import from_json

from literature_agent.errors import refused

LONGEST_QUERY = 20_000
"""Characters of a query; the longest published search strategies stay well below."""

# --- text -------------------------------------------------------------------------------------------------------------

# Only names that the sources use as markup, with well-formed attributes: `a<b and c>d` is no tag.
_TAG = re.compile(
    r"<(?P<close>/?)(?:(?:jats|mml|m|xlink):)?"
    r"(?P<name>a|abbr|b|big|blockquote|bold|br|center|code|dd|del|div|dl|dt|em|ext-link|font|h[1-6]|hr|i|img|ins|inf|"
    r"inline-formula|inline-graphic|italic|label|li|list|list-item|math|mfrac|mi|mn|mo|monospace|mover|mrow|msqrt|"
    r"mstyle|msub|msubsup|msup|mspace|mtext|munder|named-content|ol|overline|p|pre|sc|sec|section|semantics|small|"
    r"span|strike|strong|styled-content|sub|sup|table|tbody|td|th|thead|title|tr|tt|u|ul|underline|uri|xref)"
    r"(?:\s+[\w:.-]+(?:\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))?)*?\s*/?>",
    re.I,
)
_SPACED = re.compile(
    r"blockquote|br|center|dd|div|dl|dt|h[1-6]|hr|label|li|list|list-item|ol|p|pre|sec|section|table|tbody|td|th|thead|"
    r"title|tr|ul",
    re.I,
)
_ATTRIBUTE_WITHOUT_VALUE = re.compile(r"\s[\w:.-]+(?=\s|/?>)(?!\s*=)")
_SUPERSCRIPT = re.compile(r"<(?:jats:)?sup(?:\s[^<>]*)?>([^<>]{1,12})</(?:jats:)?sup\s*>", re.I)
# A semicolon is required: without it `AT&Tlt` or `S&notch` would change.
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
# Soft hyphen, zero-width and bidirectional controls, C0/C1 controls that are no white space, lone surrogates, and the
# invisible "tag" letters in which hidden instructions travel. The joiners U+200C/D belong to scripts and stay.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_RAISED = str.maketrans("0123456789+-−–=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾")


def superscript(text: str) -> str:
    """How raised `text` is written in a line: numbers with their signs as Unicode superscripts, other text as it is.

    `10⁻⁵` and `m²` keep their meaning; `CD8+` and a raised `n` stay searchable. Lowered text is never changed (`CO2`).
    """
    bare = text.strip()
    if bare and any("0" <= c <= "9" for c in bare) and all(c in "0123456789+-−–" for c in bare):
        return bare.translate(_RAISED)
    return text


def clean_text(text: str) -> str:
    """`text` on one line, without markup and unseen characters, entities decoded once (also double-escaped ones: K031).

    Superscripts are written as `superscript` does.
    """
    if "<" in text:
        text = _strip_tags(text)
    if "&" in text:
        text = _ENTITY.sub(_decode, text)
        if "<" in text:
            text = _strip_tags(text)
    # Most strings of a record: printable, so without controls and any white space but U+0020.
    if text.isprintable():
        return " ".join(text.split()) if "  " in text else text.strip()
    return " ".join(_UNSEEN.sub("", text).split())


def one_line(text: str | None, limit: int = 300) -> str:
    """`text` from outside, fit for a sentence of ours: cleaned, at most `limit` characters, `…` where cut."""
    line = clean_text(text or "")
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def quoted(value: object, limit: int = 60) -> str:
    """A caller's value in quotes for a sentence of ours, at most `limit` characters.

    What cannot be seen is written out (`'900\\x00101'`), so that the sentence shows what is wrong with it.
    """
    text = str(value)
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def _decode(match: re.Match[str]) -> str:
    entity = match.group()
    # `html.unescape` reads `&notch;` as `&not` + `ch;`: names are looked up whole.
    return html.unescape(entity) if entity[1] == "#" else html5.get(entity[1:], entity)


def _strip_tags(text: str) -> str:
    text = _SUPERSCRIPT.sub(lambda match: superscript(match.group(1)), text)
    return _TAG.sub(_drop_tag, text)


def _drop_tag(match: re.Match[str]) -> str:
    # `<b and c>` has words where a tag has attributes: only a name alone or name="value" pairs make a tag.
    if _ATTRIBUTE_WITHOUT_VALUE.search(match.group()):
        return match.group()
    return " " if _SPACED.fullmatch(match["name"]) else ""


# --- dates ------------------------------------------------------------------------------------------------------------

_PARTIAL = re.compile(r"([0-9]{4})(?:[-/]([0-9]{1,2})(?:[-/]([0-9]{1,2}))?)?")
_YEAR = re.compile(r"(?<![0-9])(1[5-9][0-9]{2}|2[01][0-9]{2})(?![0-9])")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME = re.compile(
    r"\b(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b\.?",
    re.I,
)
_DAY = re.compile(r"[\s,]+([0-9]{1,2})(?![0-9])")
# Directly before the year only: "Mar Biol. 2001" is a journal.
_MONTH_BEFORE_YEAR = re.compile(
    rf"(?:(?<![0-9])(?P<before>[0-9]{{1,2}})\.?\s+)?(?P<month>{_MONTH_NAME.pattern})\s*(?:(?P<after>[0-9]{{1,2}})\s*)?,?\s*$",
    re.I,
)


# PubMed has publication types with a comma in their name: `Clinical Trial, Phase III`.
BETWEEN_ENTRIES = re.compile(r",(?!\s*Phase\b)", re.I)


def as_list(value: object) -> object:
    """The list that a model sent as one text: as JSON, or with commas between (K093, K102). All else as it is."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("["):
        # A reference may itself be written in square brackets.
        listed = json_list(text)
        return [text] if listed is None else listed
    return [entry.strip() for entry in BETWEEN_ENTRIES.split(text) if entry.strip()]


def json_list(text: str) -> list[object] | None:
    """The list of texts that `text` holds as JSON."""
    try:
        read = from_json(text)
    except ValueError:
        return None
    # What is nested is no list of texts, and a complaint about it could be too deep to be written.
    return read if isinstance(read, list) and not any(isinstance(each, list | dict) for each in read) else None


def parse_partial_date(text: str, *, name: str = "date", source: str = "request") -> str:
    """`YYYY[-MM[-DD]]` from a caller's date (`/` is read as `-`), checked against the calendar.

    Raises:
        InvalidInputError: names the value, what is wrong with it and the form wanted.
    """
    match = _PARTIAL.fullmatch(text.strip())
    if match is None:
        raise refused(source, f"{name}={quoted(text)} is no date: write YYYY, YYYY-MM or YYYY-MM-DD.")
    year, month, day = (int(part) if part else None for part in match.groups())
    assert year is not None
    if year < 1000:
        raise refused(source, f"{name}={text!r} has no plausible year: write YYYY, YYYY-MM or YYYY-MM-DD.")
    if (month is not None and not 1 <= month <= 12) or (
        day is not None and not 1 <= day <= monthrange(year, month or 1)[1]
    ):
        raise refused(
            source, f"{name}={text!r} is not in the calendar: write YYYY-MM-DD with a month and day that exist."
        )
    return "-".join(part for part in (f"{year:04d}", month and f"{month:02d}", day and f"{day:02d}") if part)


def date_bounds(
    date_from: str | None, date_to: str | None, *, source: str = "request"
) -> tuple[str | None, str | None]:
    """Both ends of a date range, checked; a blank end is open (None). The precision given is kept.

    Raises:
        InvalidInputError: a date is malformed or not in the calendar, or the range is reversed.
    """
    start = parse_partial_date(date_from, name="date_from", source=source) if date_from and date_from.strip() else None
    end = parse_partial_date(date_to, name="date_to", source=source) if date_to and date_to.strip() else None
    if start and end and first_day(start) > last_day(end):
        raise refused(source, f"date_from={date_from!r} is later than date_to={date_to!r}: exchange them.")
    return start, end


def first_day(partial: str) -> str:
    """First day, `YYYY-MM-DD`, of a checked partial date."""
    return partial + "-01-01"[len(partial) - 10 :] if len(partial) < 10 else partial


def last_day(partial: str) -> str:
    """Last day, `YYYY-MM-DD`, of a checked partial date."""
    if len(partial) == 4:
        return f"{partial}-12-31"
    if len(partial) == 7:
        return f"{partial}-{monthrange(int(partial[:4]), int(partial[5:]))[1]:02d}"
    return partial


def year_of(text: str | None) -> int | None:
    """First plausible four-digit year (1500-2199) anywhere in `text` (K027)."""
    match = _YEAR.search(text or "")
    return int(match.group(1)) if match else None


def month_of(text: str | None) -> int | None:
    """Month that `text` is or begins with: `Jun`, `June`, `06` or `6`; a season or nonsense gives None."""
    bare = (text or "").strip()
    if bare.isascii() and bare.isdigit():
        return int(bare) if 1 <= int(bare) <= 12 else None
    match = _MONTH_NAME.match(bare)
    return _MONTHS.index(match.group(1)[:3].lower()) + 1 if match else None


def date_of_parts(year: str | None, month: str | None = None, day: str | None = None) -> str | None:
    """`YYYY[-MM[-DD]]` from parts as printed; a part that is no month or day of the calendar is left out."""
    number = year_of(year)
    if number is None:
        return None
    month_number = month_of(month)
    if month_number is None:
        return f"{number}"
    bare = (day or "").strip()
    if bare.isascii() and bare.isdigit() and 1 <= int(bare) <= monthrange(number, month_number)[1]:
        return f"{number}-{month_number:02d}-{int(bare):02d}"
    return f"{number}-{month_number:02d}"


def printed_date(text: str | None) -> str | None:
    """`YYYY[-MM[-DD]]` from a date in words: the first day named (`1998 Dec-1999 Jan` gives `1998-12`).

    Never guesses a part that is not there (K010): a season gives the year alone.
    """
    bare = (text or "").strip()
    if iso := _PARTIAL.match(bare):
        parts = date_of_parts(*iso.groups())
        if iso.group(2) or iso.end() == len(bare):
            return parts
    year = _YEAR.search(bare)
    if year is None:
        return None
    following = _YEAR.search(bare, year.end())
    own = bare[year.end() : following.start() if following else len(bare)]
    if month := _MONTH_NAME.search(own):
        day = _DAY.match(own, month.end())
        return date_of_parts(year.group(1), month.group(1), day.group(1) if day else None)
    if before := _MONTH_BEFORE_YEAR.search(bare[: year.start()]):
        return date_of_parts(year.group(1), before["month"], before["after"] or before["before"])
    return year.group(1)


# --- numbers ----------------------------------------------------------------------------------------------------------


def require_number(value: int, name: str, most: int, source: str) -> int:
    """`value` if it is a whole number from 1 to `most`.

    Raises:
        InvalidInputError: names the value and the bounds.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise refused(source, f"{name}={value!r} is out of bounds: give a whole number from 1 to {most:,}.")
    return value


# --- queries ----------------------------------------------------------------------------------------------------------

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def require_query(query: str, source: str) -> str:
    """The query, untouched, if it can be sent.

    Raises:
        InvalidInputError: blank (also when only zero-width characters stand in it), control characters, too long.
    """
    if not clean_text(query).strip("\u200c\u200d\u2800\u3164 "):
        raise refused(source, f"The query {quoted(query, 40)} is blank: write at least one search term.")
    if found := _CONTROL.search(query):
        where = f"U+{ord(found.group()):04X}, character {found.start() + 1}"
        raise refused(source, f"The query holds a control character ({where}): remove it.")
    if len(query) > LONGEST_QUERY:
        raise refused(
            source,
            f"The query has {len(query):,} characters, at most {LONGEST_QUERY:,} are sent: split it into searches.",
        )
    return query
