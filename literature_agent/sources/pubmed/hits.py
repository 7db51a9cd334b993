"""ESearch and ESpell answers to values: the identifiers found, and what PubMed says about how it read the query."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lxml import etree

from literature_agent.ids import normalise_pmid
from literature_agent.sources._text import clean_text, one_line
from literature_agent.sources._xml import child, text_of
from literature_agent.transport.messages import TransientAnswer


@dataclass(frozen=True)
class Hits:
    """One page of identifiers, in PubMed's order."""

    total: int
    pmids: tuple[str, ...]
    translation: str | None = None
    """The query as PubMed ran it."""
    warnings: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Words and phrases that PubMed has nothing for."""


# PubMed leaves these out of every search (PubMed help, "Stopwords").
_LEFT_OUT = """
    a about again all almost also although always among an and another any are as at be because been before being
    between both but by can could did do does done due during each either enough especially etc for found from
    further had has have having here how however i if in into is it its itself just kg km made mainly make may mg
    might ml mm most mostly must nearly neither no nor not obtained of often on or our overall perhaps pmid quite
    rather really regarding seem seen several should show showed shown shows significantly since so some such than
    that the their theirs them then there therefore these they this those through thus to upon use used using
    various very was we were what when which while with within without would
"""
_STOP_WORDS = frozenset(_LEFT_OUT.split())
# Values that PubMed rewrites as it likes: `hasabstract` becomes `fha[Filter]`, `eng[la]` becomes `english[Language]`.
_CODED = re.compile(
    r'(?:"[^"]*"|[^\s()"]+)\s*\[\s*(?:sb|subset|filter|filt|la|lang|language|dp|pdat|edat|crdt|lr|mhda)[^\[\]]*\]|\bhasabstract\b',
    re.I,
)
_TAG = re.compile(r"\[[^\[\]]*\]")
_WORD = re.compile(r"\w+")


def hits_of(found: dict[str, Any], *, query: str, limit: int, offset: int = 0) -> Hits:
    """What `esearchresult` says to `query`: at most `limit` identifiers, and what became of the query.

    Numbers come as strings; lists are absent where there is nothing to say.

    Raises:
        TransientAnswer: no count, or a count without the identifiers that belong to it.
    """
    total = _number(found.get("count"))
    if total is None:
        raise TransientAnswer("ESearch answered without a count.", kind="invalid_response")
    pmids = tuple(pmid for listed in found.get("idlist") or () if (pmid := normalise_pmid(str(listed))))
    if not pmids and min(limit, total - offset) > 0:
        raise TransientAnswer(f"ESearch counts {total} records but names none.", kind="invalid_response")
    translation = clean_text(str(found.get("querytranslation") or "")) or None
    warnings = dict.fromkeys(_warnings(found, total, query, translation))
    unknown = _listed(found, "errorlist", "phrasesnotfound")
    return Hits(total, pmids[:limit], translation, tuple(warnings), tuple(unknown))


def _number(value: object) -> int | None:
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _listed(found: dict[str, Any], group: str, name: str) -> list[str]:
    members = found.get(group)
    values = members.get(name) if isinstance(members, dict) else None
    if isinstance(values, str):
        values = [values]
    return [line for value in values or () if (line := one_line(str(value)))]


def _warnings(found: dict[str, Any], total: int, query: str, translation: str | None) -> Iterable[str]:
    broader = " The hits answer a broader question than the one asked." if total else ""
    fields = _listed(found, "errorlist", "fieldsnotfound")
    phrases = _listed(found, "errorlist", "phrasesnotfound")
    quoted = _listed(found, "warninglist", "quotedphrasesnotfound")
    ignored = _listed(found, "warninglist", "phrasesignored")
    for tag in fields:
        yield f"PubMed knows no field tag [{tag}] and searched without it.{broader}"
    for phrase in phrases:
        if _is_alternative(phrase, query):
            yield f"PubMed has nothing for {phrase!r} and left it out: the words joined to it with OR were searched."
        else:
            yield f"PubMed has nothing for {phrase!r} and left it out of the search.{broader}"
    if quoted:
        them, their = ("phrases", "their") if len(quoted) > 1 else ("phrase", "its")
        yield (
            f"PubMed does not know the quoted {them} {', '.join(quoted)}: "
            f"{their} words were searched one by one, or left out."
        )
    for phrase in ignored:
        yield f"PubMed ignored {phrase!r}."
    for message in _listed(found, "warninglist", "outputmessages"):
        if message.rstrip(".").lower() != "no items found":
            yield f"PubMed says: {message}"
    if total and translation:
        told = " ".join([*fields, *phrases, *quoted, *ignored])
        mapped = " ".join(str(one.get("from")) for one in found.get("translationset") or () if isinstance(one, dict))
        if lost := _lost_words(query, f"{translation} {mapped} {told}"):
            named = ", ".join(repr(word) for word in lost[:8])
            yield (
                f"Words of the query that are not in what PubMed searched: {named}. The hits may not answer it: "
                "compare the query with the interpreted one."
            )


def _is_alternative(phrase: str, query: str) -> bool:
    """Whether the phrase stands in the query after an OR, or first in its parentheses before one: PubMed reads from
    left to right, so only then nothing else hangs on it."""
    words = r"\s+".join(re.escape(word) for word in _TAG.sub(" ", phrase).strip("\"'* ").split())
    if not words:
        return False
    # A word of a longer phrase is none: what is left of the phrase was searched.
    term = rf'(?i:"{words}"|{words}\*?)\s*(?:\[[^\]]*\]\s*)?'
    return bool(
        re.search(rf"\bOR\s+{term}(?=$|\)|(?:OR|AND|NOT)\b)", query) or re.search(rf"(?:^|\()\s*{term}OR\b", query)
    )


def _lost_words(query: str, searched: str) -> list[str]:
    """Words of the query that stand nowhere in what was searched: a dropped term is not always reported (K005)."""
    bare = _TAG.sub(" ", _CODED.sub(" ", query))
    present = searched.lower()
    words = dict.fromkeys(word for word in _WORD.findall(bare) if len(word) > 2 and not word.isdigit())
    return [word for word in words if word.lower() not in _STOP_WORDS and word.lower() not in present]


def spelling_of(root: etree._Element) -> str | None:
    """ESpell's corrected query; None when it has nothing better. Its empty `ERROR` element means nothing."""
    corrected = text_of(child(root, "CorrectedQuery"))
    same = corrected.casefold() == text_of(child(root, "Query")).casefold()
    return None if same else corrected or None
