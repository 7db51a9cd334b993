"""Identifiers of the field: read them leniently, write them in one form, find them in prose.

Written forms: DOI bare and lower case, PMID digits without leading zeros, PMCID `PMC123`, NCT number `NCT01234567`,
Europe PMC preprint `PPR123`, Bookshelf `NBK123`. Nothing here guesses: a digit string is a PMID only where a PMID is
expected, and digits are never cut out of free text (K018, K021).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple, cast
from urllib.parse import unquote

IdentifierKind = Literal["doi", "pmid", "pmcid", "nct", "ppr", "nbk", "isrctn", "eudract", "arxiv", "url"]


class Identifier(NamedTuple):
    """One identifier in its written form."""

    kind: IdentifierKind
    value: str


class FoundIdentifier(NamedTuple):
    """An identifier inside a text: `text[start:end]` spells it."""

    kind: IdentifierKind
    value: str
    start: int
    end: int


# Registrant 4-9 digits with optional sub-registrants (DOI Handbook 2.2), bounded so that text of nothing but numbers is
# read in linear time; the suffix may hold any printable character,
# so no control and no lone surrogate, which broken JSON brings.
_DOI = re.compile(r"10\.\d{4,9}(?:\.\d+){0,8}/[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
# What nearly every source sends: nothing to undress, to decode or to trim; a second DOI behind it is looked for apart.
_BARE_DOI = re.compile(r"10\.[0-9]{4,9}/[!-$&-~]*[0-9A-Za-z]")
_DOI_DRESS = re.compile(
    r"^(?:(?:https?://)?(?:(?:dx\.)?doi\.org/|(?:www\.)?(?:bio|med)rxiv\.org/content/(?=10\.))|info:doi/|doi\s*[:=]?\s*)+",
    re.I,
)
_PREPRINT_DOI = re.compile(r"^10\.(?:1101|64898)/(?:\d{4}\.\d{2}\.\d{2}\.)?\d{6,8}(?P<version>v\d+)?$", re.I)
_VERSION_TAIL = re.compile(
    r"(?P<base>/(?:\d{4}\.\d{2}\.\d{2}\.)?\d{6,8})(?:v\d+)?(?:\.(?:full|abstract))?(?:\.pdf)?$", re.I
)
# Each pattern asks for the whole form that its publisher gives, so that no number which belongs to a DOI is taken off.
_RESOLVING_VERSION = re.compile(
    r"""
    (?P<base>
        10\.21203/rs\.\d\.(?:[a-z]+-)?\d+(?=/v)                      # Research Square, Protocol Exchange
      | 10\.20944/preprints\d{6}\.\d{4,6}(?=\.v)                     # Preprints.org
      | 10\.(?:12688|35241)/[a-z0-9]+\.(?:\d+|\d+-\d+(?=\.v))(?=\.)  # F1000Research, Wellcome, Gates, HRB Open ...
      | 10\.3310/nihropenres\.\d+(?=\.)
      | 10\.7554/elife\.\d{5,6}(?=\.[1-9]$)                          # eLife: reviewed preprints; figures end in .001
      | 10\.26434/chemrxiv(?:-\d{4}-[a-z0-9]{4,6}(?=-v)|\.\d+(?=\.v))
      | 10\.\d{5}/osf\.io/[a-z0-9]{5}(?=_v)                          # PsyArXiv and other servers of OSF
      | 10\.22541/(?:au|essoar)\.\d+\.\d+(?=/v)                      # Authorea
      | 10\.36227/techrxiv\.[\d.]+(?=[/.]v)
      | 10\.7287/peerj\.preprints\.\d+(?=v)
      | 10\.48550/arxiv\.(?:\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(?=v)
    )
    [-_/.]?v?\d{1,2}
    """,
    re.X,
)
_DOI_ENCODED = re.compile(r"10\.\d{4,9}(?:\.\d+){0,8}%2f", re.I)
_PMID = re.compile(r"(?:https?://(?:www\.)?pubmed\.ncbi\.nlm\.nih\.gov/|pmid\s*[:=]?\s*|med:)?0*([1-9]\d{0,7})/?", re.I)
_PMCID = re.compile(
    r"(?:https?://(?:www\.ncbi\.nlm\.nih\.gov/pmc|pmc\.ncbi\.nlm\.nih\.gov)/articles/|pmcid\s*[:=]?\s*|pmc:)?"
    r"PMC0*([1-9]\d{0,9})(?:\.\d+)?/?",
    re.I,
)
_NCT = re.compile(r"(?:https?://(?:www\.)?clinicaltrials\.gov/(?:study|ct2/show)/)?NCT(\d{8})/?", re.I)
_CLOSERS = {")": "(", "]": "[", "}": "{", ">": "<"}


def _plain(text: str) -> str:
    return text.strip() if text.isascii() else unicodedata.normalize("NFKC", text).strip()


def _trim_prose(doi: str) -> str:
    """Drop what prose adds at the end: punctuation, and closing brackets that nothing opened."""
    surplus = {closing: doi.count(closing) - doi.count(opening) for closing, opening in _CLOSERS.items()}
    end = len(doi)
    while end:
        last = doi[end - 1]
        if surplus.get(last, 0) > 0:
            surplus[last] -= 1
        elif last not in ".,;:?!'\"*”’»":
            break
        end -= 1
    return doi[:end]


def normalise_doi(text: str) -> str | None:
    """The bare lower-case DOI that `text` spells, or None.

    Takes resolver addresses, `doi:` prefixes, trailing punctuation and a DOI written twice in a row (K075).
    Known preprint version suffixes stay; see `strip_doi_version`.
    """
    if text.find("10.", 3) < 0 and _BARE_DOI.fullmatch(text):
        return text.lower()
    bare = _DOI_DRESS.sub("", _plain(text))
    if _DOI_ENCODED.match(bare):
        bare = unquote(bare)
    if not _DOI.fullmatch(bare):
        return None
    bare = _trim_prose(bare).lower()
    half, rest = bare[: len(bare) // 2], bare[len(bare) // 2 :]
    if half == rest and _DOI.fullmatch(half):
        bare = half
    return bare if _DOI.fullmatch(bare) else None


def strip_doi_version(doi: str) -> str:
    """The DOI without a bioRxiv/medRxiv version suffix (`v2`, `v1.full.pdf`); other DOIs unchanged."""
    if not doi.startswith(("10.1101/", "10.64898/")):
        return doi
    return _VERSION_TAIL.sub(lambda m: m.group("base"), doi)


def joining_doi(doi: str) -> str:
    """The DOI under which versions of one preprint or article are one work: without the suffix of `strip_doi_version`,
    of Research Square (`/v1`), Preprints.org (`.v1`), F1000Research and its like (`.1`), eLife (`.1`) and others.

    There the DOI with its version is registered, often alone, so it is asked for and shown as it is.
    """
    match = _RESOLVING_VERSION.fullmatch(doi)
    return match["base"] if match else strip_doi_version(doi)


def is_preprint_server_doi(doi: str) -> bool:
    """Whether the DOI has the form that bioRxiv and medRxiv give (10.1101 or, since 2026, 10.64898)."""
    return _PREPRINT_DOI.match(doi) is not None


def normalise_pmid(text: str) -> str | None:
    """Digits of a PMID without leading zeros (`PMID: 00123` gives `123`), or None."""
    match = _PMID.fullmatch(_plain(text))
    return match.group(1) if match else None


def normalise_pmcid(text: str) -> str | None:
    """`PMC123` from any case, resolver address or version suffix; bare digits are no PMCID (K021)."""
    match = _PMCID.fullmatch(_plain(text))
    return f"PMC{match.group(1)}" if match else None


def normalise_nct(text: str) -> str | None:
    """`NCT` and eight digits from any case (K071), or None; never NCT00000000."""
    match = _NCT.fullmatch(_plain(text))
    return f"NCT{match.group(1)}" if match and match.group(1) != "00000000" else None


def identify(text: str) -> Identifier | None:
    """What `text`, taken whole, is; bare digits are read as a PMID. None if it is no identifier of a record."""
    if (pmcid := normalise_pmcid(text)) is not None:
        return Identifier("pmcid", pmcid)
    if (nct := normalise_nct(text)) is not None:
        return Identifier("nct", nct)
    if (doi := normalise_doi(text)) is not None:
        return Identifier("doi", doi)
    plain = _plain(text).upper()
    if match := re.fullmatch(r"(?:PPR:)?(PPR\d+)", plain):
        return Identifier("ppr", match.group(1))
    if match := re.fullmatch(r"(?:NBK:)?(NBK\d+)", plain):
        return Identifier("nbk", match.group(1))
    if (pmid := normalise_pmid(text)) is not None:
        return Identifier("pmid", pmid)
    return None


_PROSE = re.compile(
    r"""
    (?=[1adehinpw])(?:  # the first letters of all there is: nowhere else are the ways tried one by one
    (?P<doi>(?:https?://(?:dx\.)?doi\.org/|doi\s*[:=]?\s*)?\b10\.\d{4,9}(?:\.\d+){0,8}/[^\s"“”«»|]+)
  | (?P<pmcid>(?:\bpmcid\s*[:=]?\s*)?\bPMC\s?\d{2,10}(?:\.\d+)?\b)
  | (?P<nct>\bNCT\s?-?\d{8}\b)
  | (?P<isrctn>\bISRCTN\s?\d{8}\b)
  | (?P<eudract>\bEudraCT\W{0,3}(?:number\W{0,3})?\d{4}-\d{6}-\d{2}\b)
  | (?P<pmid>\b(?:PMIDs?|PubMed\ ID)\W{0,3}\d{1,8}\b|\bpubmed\.ncbi\.nlm\.nih\.gov/\d{1,8}\b/?)
  | (?P<arxiv>\barXiv\s*:\s*(?:\d{4}\.\d{4,5}(?:v\d+)?|[a-z.-]+/\d{7}))
  | (?P<ppr>\bPPR\d{4,}\b)
  | (?P<nbk>\bNBK\d{3,}\b)
  | (?P<url>\bhttps?://[^\s"“”«»<>|]+|\bwww\.[^\s"“”«»<>|]+)
    )
    """,
    re.X | re.I,
)


# What text must hold for `_PROSE` to find anything: most abstracts hold nothing of it, and are passed over quickly.
_LITERAL = ("pmid", "pubmed", "http", "www.", "eudract", "arxiv")
_NUMBERED = ("10.", "pmc", "nct", "rctn", "ppr", "nbk")
_NUMBER = re.compile(r"10\.\d{4}|(?:pmc|nct|rctn|ppr|nbk)\s?-?\d")


def _may_hold_identifiers(text: str) -> bool:
    # As `re.IGNORECASE` reads letters: the dotless i is an i.
    folded = text.lower() if text.isascii() else text.casefold().replace("ı", "i")
    for word in _LITERAL:
        if word in folded:
            return True
    for word in _NUMBERED:
        if word in folded:
            return _NUMBER.search(folded) is not None
    return False


def find_identifiers(text: str) -> Iterator[FoundIdentifier]:
    """Identifiers spelled in prose, left to right, in one linear pass. Offsets are into `text` as given."""
    if not _may_hold_identifiers(text):
        return
    for match in _PROSE.finditer(text):
        # Every group of the pattern is named after a kind.
        kind = cast("IdentifierKind", match.lastgroup)
        start, raw = match.start(), match.group()
        if kind == "doi":
            raw = _trim_prose(raw)
            value = normalise_doi(raw)
            if value is None:
                continue
            yield FoundIdentifier("doi", value, start, start + len(raw))
        elif kind == "url":
            raw = raw.rstrip(".,;:?!)]}'\"")
            known = identify(raw)
            named = known or Identifier("url", raw)
            yield FoundIdentifier(named.kind, named.value, start, start + len(raw))
        elif kind == "pmid":
            yield FoundIdentifier("pmid", re.sub(r"\D", "", raw).lstrip("0") or "0", start, start + len(raw))
        elif kind == "pmcid":
            number = re.search(r"PMC\s?0*(\d+)", raw, re.I)
            assert number is not None
            yield FoundIdentifier("pmcid", f"PMC{number.group(1)}", start, match.end())
        elif kind in ("nct", "isrctn"):
            yield FoundIdentifier(kind, kind.upper() + re.sub(r"\D", "", raw), start, match.end())
        elif kind == "eudract":
            yield FoundIdentifier("eudract", raw[-14:], start, match.end())
        elif kind == "arxiv":
            yield FoundIdentifier("arxiv", raw.split(":", 1)[1].strip().lower(), start, match.end())
        elif kind in ("ppr", "nbk"):
            yield FoundIdentifier(kind, raw.upper(), start, match.end())
