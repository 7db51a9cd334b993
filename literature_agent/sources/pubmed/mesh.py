"""Looks terms up in MeSH, NLM's vocabulary, through the E-utilities (`db=mesh`: ESearch and ESummary)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from literature_agent.errors import refused
from literature_agent.results import MeshResult, MeshTerm
from literature_agent.sources._eutils import eutils_request, read_json
from literature_agent.sources._text import clean_text, quoted, require_number, require_query
from literature_agent.sources.pubmed.query import NAME
from literature_agent.transport import Answer, Request, TransientAnswer, Transport

MOST_TERMS = 50
LONGEST_TERM = 300

# Records looked at before they are ordered here: NCBI's order says nothing about which of them a term names.
_LOOKED_AT = 50
_UI = re.compile(r"[CDQ]\d{6,9}")
# Entrez numbers MeSH records by a prefix for the letter of the UI and its digits: 68003924 is D003924.
_LETTERS = {"67": "C", "68": "D", "81": "Q"}


def search_request(term: str) -> Request:
    """ESearch in MeSH, records whose heading or synonym the term is before all others."""
    params = [("db", "mesh"), ("term", term), ("retmode", "json"), ("retmax", str(_LOOKED_AT))]
    return eutils_request(NAME, "esearch.fcgi", params)


def summaries_request(uids: Sequence[str]) -> Request:
    """ESummary of MeSH records."""
    return eutils_request(NAME, "esummary.fcgi", [("db", "mesh"), ("id", ",".join(uids)), ("retmode", "json")])


def read_uids(answer: Answer) -> tuple[int, tuple[str, ...]]:
    """Count and Entrez numbers of an ESearch answer.

    Raises:
        TransientAnswer, SourceError: as the E-utilities' error shapes say; also a count without its numbers.
    """
    found = read_json(answer, NAME, "esearchresult")
    count = str(found.get("count", "")).strip()
    if not (count.isascii() and count.isdigit()):
        raise TransientAnswer("ESearch answered without a count.", kind="invalid_response")
    listed = found.get("idlist")
    uids = tuple(uid for one in (listed if isinstance(listed, list) else ()) if (uid := str(one).strip()).isdigit())
    if int(count) and not uids:
        raise TransientAnswer(f"ESearch counts {count} records but names none.", kind="invalid_response")
    return int(count), uids


def read_terms(answer: Answer, uids: Sequence[str]) -> tuple[MeshTerm, ...]:
    """The MeSH records of an ESummary answer, in the order asked; one without a heading is left out.

    Raises:
        TransientAnswer, SourceError: as the E-utilities' error shapes say.
    """
    result = read_json(answer, NAME, "result")
    records = [(uid, record) for uid in uids if isinstance(record := result.get(uid), dict)]
    if not records:
        raise TransientAnswer("ESummary answered without the records asked for.", kind="invalid_response")
    return tuple(term for uid, record in records if (term := _term(uid, record)) is not None)


async def lookup_mesh(transport: Transport, term: str, *, max_results: int = 10) -> MeshResult:
    """MeSH records that `term` names or occurs in: the one with that heading first, then those with that synonym.

    Raises:
        InvalidInputError: a blank or overlong term, or an impossible `max_results`.
        SourceError: NCBI gave no usable answer.
    """
    wanted = _checked(term)
    require_number(max_results, "max_results", MOST_TERMS, NAME)
    async with transport.job("eutils", NAME):
        total, uids = await transport.send(search_request(f'"{wanted}"[MeSH Terms]'), read_uids)
        wider, more = await transport.send(search_request(wanted), read_uids)
        uids = tuple(dict.fromkeys((*uids, *more)))
        if not uids:
            return MeshResult(term=wanted, status="empty")
        terms = await transport.send(summaries_request(uids), lambda answer: read_terms(answer, uids))
    folded = wanted.casefold()
    ranked = sorted(terms, key=lambda term: _rank(term, folded))
    return MeshResult(
        term=wanted,
        status="ok" if ranked else "empty",
        terms=tuple(ranked[:max_results]),
        total=max(total, wider, len(ranked)),
    )


def _checked(term: str) -> str:
    require_query(term, NAME)
    # Brackets, quotes and asterisks are ESearch's grammar; no heading has them.
    wanted = " ".join(re.sub(r'["\[\]*]', " ", clean_text(term)).split())
    if not wanted or len(wanted) > LONGEST_TERM:
        raise refused(NAME, f"{quoted(term)} is no term: write one concept, such as 'heart attack'.")
    return wanted


def _rank(term: MeshTerm, folded: str) -> tuple[int, int]:
    """Heading, synonym, heading that holds the term, rest; among equals descriptors before supplementary concepts."""
    heading = term.descriptor.casefold()
    if heading == folded:
        place = 0
    elif folded in (name.casefold() for name in term.entry_terms):
        place = 1
    else:
        place = 2 if folded in heading else 3
    return place, 0 if (term.ui or "").startswith("D") else 1


def _term(uid: str, record: dict[str, Any]) -> MeshTerm | None:
    names = list(dict.fromkeys(_texts(record.get("ds_meshterms"))))
    if not names:
        return None
    ui = str(record.get("ds_meshui") or "").strip().upper()
    letter = _LETTERS.get(uid[:2])
    links = record.get("ds_idxlinks")
    trees = [one.get("treenum") for one in links if isinstance(one, dict)] if isinstance(links, list) else []
    return MeshTerm(
        descriptor=names[0],
        ui=ui if _UI.fullmatch(ui) else f"{letter}{uid[2:]}" if letter and len(uid) == 8 else None,
        kind=clean_text(str(record.get("ds_recordtype") or "")) or None,
        scope_note=clean_text(str(record.get("ds_scopenote") or "")) or None,
        entry_terms=tuple(names[1:]),
        tree_numbers=tuple(dict.fromkeys(_texts(trees))),
    )


def _texts(values: object) -> list[str]:
    listed = [values] if isinstance(values, str) else values if isinstance(values, list) else []
    return [text for value in listed if isinstance(value, str) and (text := clean_text(value))]
