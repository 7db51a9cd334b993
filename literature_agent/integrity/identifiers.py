"""Identifiers and addresses in folded prose: as they are written, and as they are written to get by.

Spelled exactly, an identifier has a value; spaced out, spelled in words or cut, it has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, cast

from literature_agent.ids import find_identifiers
from literature_agent.integrity.folding import TOKEN
from literature_agent.integrity.hits import Hit, LeakKind
from literature_agent.integrity.known import Known
from literature_agent.integrity.vocabulary import words
from literature_agent.registry import find_references
from literature_agent.registry.references import is_key, normalise_key

_DOT = r"(?:\s?\^?(?:\.|\[\.\]|\(\.\)|\{\.\}|[\[({]?\s?\b(?:dot|point)\b\s?[\])}]?)\s?\^?)"
_SLASH = r"(?:\s?(?:[/\\|]|[\[({]/[\])}]|[\[({]?\s?\bslash\b\s?[\])}]?)\s?)"
_DOMAINS = "com|org|net|gov|edu|int|info|io|eu|ac\\.uk|co\\.uk|nhs\\.uk|gov\\.uk|org\\.uk"
_COUNTRIES = "de|fr|nl|ch|au|ca|jp|cn|in|br|se|no|dk|fi|it|es|at|be|pl|uk|us|me|ly|gl"


class _Loose(NamedTuple):
    kind: LeakKind
    cues: tuple[str, ...]
    """Without any of these, in lower case, the pattern matches nowhere: long texts are searched for these first."""
    pattern: re.Pattern[str]


def _is(kind: LeakKind, cues: str, pattern: str, flags: int = re.I) -> _Loose:
    return _Loose(kind, tuple(cues.split("|")), re.compile(pattern, re.X | flags))


def _spelled(label: str) -> str:
    """The letters of a label, together or set apart: `PMID`, `P M I D`, `P.M.I.D.`"""
    return r"[\s.-]?".join(label)


# What may stand between a label and its number: signs, and words for "number". NFKC has made `No` of the numero sign,
# so that such a word may stand glued to the digits.
_WORD_OF_NUMBER = (
    r"(?:is|was|no|nos|nr|nro|num|number|numbers|numero|n|n\.?[°o]|id|ids|ui|identifier|record|entry|accession|article"
    r"|code|registration|registered|registry|register|preprint|paper|study|trial)(?![^\W\d_])"
)
_TO = rf"\s?(?:[^\w\s]|_){{0,3}}\s?(?:{_WORD_OF_NUMBER}\s?(?:[^\w\s]|_){{0,3}}\s?){{0,3}}"
_DIGIT_IN_WORDS = r"(?:zero|oh|nought|one|two|three|four|five|six|seven|eight|nine|double|triple)"


def _number(least: int, most: int) -> str:
    """So many digits: together or set apart, with letters that look like digits among them, or in words."""
    lookalikes = max(least, 4) - 1
    return (
        rf"(?:\d(?:(?:[\s.,_^-]|\)\s?\()?\d){{{least - 1},{most - 1}}}(?!\d)"
        rf"|(?=[OIl\s]{{0,3}}(?:\d[OIl\s]{{0,4}}){{3}})[\dOIl](?:\s?[\dOIl]){{{lookalikes},{most - 1}}}(?![^\W_])"
        rf"|(?:{_DIGIT_IN_WORDS}\b[\s,.-]{{0,2}}){{4,16}})"
    )


# Beside what `ids` finds as written exactly. White space in these patterns means nothing.
_LOOSE = (
    # A label with anything behind it that holds a digit; a resolver however spelled; a number with blanks, or in words.
    _is(
        "doi",
        "doi|d.o.i|digital object",
        rf"""\b(?:{_spelled("doi")}|digital\sobject\sidentifier)\b\.?\s?(?:[:=\#]|(?:is|no|nr|n|number)(?![^\W\d_])[\s.:]?)
            \s?(?=\S{{0,60}}\d)[^\s\"<>|]+""",
    ),
    _is("doi", "doi", rf"\b(?:dx{_DOT})?doi{_DOT}org\b(?:{_SLASH}\S{{0,200}})?"),
    _is(
        "doi",
        "10|1 0|1o|lo|i0|ten",
        rf"(?<![\w.,])(?:[1lI]\s?[0O]|ten){_DOT}(?:\d\s?){{4,9}}(?:\.\d+){{0,5}}{_SLASH}[^\s\"<>|]+",
    ),
    _is("doi", "10,", r"(?<![\w.,])10,\d{4,9}/(?=[a-z])[^\s\"<>|]+"),
    _is("doi", "ten ", r"\bten\s(?:dot|point)\s(?:\w{1,20}\s){1,9}?slash\b\s?\S*"),
    # Publishers' own numbers, which are most of a DOI.
    _is("doi", "s0|s1|s2|s3|s4|s5|s6|s7|s8|s9", r"\bS\d{4}-?\d{3}[\dX]\(?\d{2}\)?\d{5}-?[\dX]\b", 0),
    _is("doi", "nejm|s4", r"\bNEJM[a-z]{1,5}\d{6,8}\b | \bs4\d{4}-\d{3}-\d{4,5}-[\dxyz]\b", 0),
    _is(
        "doi",
        "journal.p|jama|science.|bmj.|jco.|.1|.20|annurev",
        r"""\bjournal\.p[a-z]{3}\.\d{7}\b | \bjama[a-z]{0,20}\.20\d\d\.\d{3,6}\b | \bscience\.[a-z]{2,3}\d{4}\b
            | \bbmj\.[a-z]\d{3,5}\b | \b[a-z]\.[a-z]{2,12}\.20\d\d\.\d\d\.\d{3}\b | \bJCO\.(?:20)?\d\d\.\d\d\.\d{4,5}\b
            | \b[a-z]{3,14}\.\d{3,5}-\d\d\.20\d\d\b | \b[a-z]{6,24}\.1\d\d\.\d{6}\b""",
    ),
    _is("doi", "20", r"\b20\d\d\.[01]\d\.[0-3]\d\.\d{6,8}(?:v\d+)?\b"),
    _is("pmid", "pm|p m|p.m|p-m", rf"(?<![^\W_]){_spelled('pmid')}s?{_TO}{_number(1, 10)}"),
    _is(
        "pmid",
        "med",
        r"""\b(?:PubMed|MEDLINE|MED)(?![^\W_]) [\s:/\#.(\[=_-]{1,4}
            (?:(?:ID|UI|identifier|record|entry|number|accession|article|no|nr|n)(?![^\W\d_])[\s:\#.=_-]{0,3}){0,2}
            (?:PMID[\s:]{0,2})? \d{5,9}(?!\d)""",
    ),
    _is(
        "pmid",
        "pubmed",
        rf"\bPubMed[\s_-]?(?:ID|UI|identifier|record|entry|number|accession|article)(?![^\W\d_]){_TO}\d{{1,9}}\b",
    ),
    _is(
        "pmcid",
        "pmc|p m|pm c|p.m|p-m|central",
        rf"""(?:(?<![A-Za-z]){_spelled("pmc")}(?:[\s.-]?{_spelled("id")})?|\bPubMed\sCentral){_TO}(?:PMC\s?)?
            {_number(5, 10)}""",
    ),
    _is("pmcid", "pmcid", r"\bPMCID\b\W{0,3}\w{0,3}?\d+\b"),
    _is(
        "nct",
        "ct|c t|c.t|c-t",
        rf"(?<![A-Za-z0-9]){_spelled('nct')}(?:[\s.-]?{_spelled('id')})?{_TO}{_number(6, 10)}",
    ),
    _is("nct", "trials", rf"\bclinical\s?trials(?:[\s.]?gov)?{_TO}(?:NCT{_TO})?{_number(8, 8)}"),
    _is("nct", "trials", r"(?<![\w.,/+-])0\d{7}(?![\w/-]|[.,]\d)(?=[^.;]{0,60}\bclinical\s?trials)"),
    _is("nct", "trials", r"(?<=trials)[\s.]?gov\b[^.;\d]{0,60}?\b0\d{7}(?![\w/-]|[.,]\d)"),
    _is("nct", "trial|study", r"\b(?:trial|study)\s(?:is\s)?(?:numbered|number|no\.?|\#)\s?0\d{7}(?![\w/-]|[.,]\d)"),
    _is("isrctn", "sr|s r|s.r|s-r", rf"(?<![A-Za-z0-9]){_spelled('isrctn')}{_TO}{_number(6, 10)}"),
    _is("eudract", "eu", rf"\b(?:EudraCT|EUCTR|EU[\s-]CT){_TO}\d{{4}}[-\s]?\d{{6}}[-\s]?\d{{2}}(?!\d)"),
    _is("eudract", "-", r"(?<![\d-])(?:19|20)\d\d-\d{6}-\d{2}(?:-\d\d|-[A-Z]{2})?(?![\d-])"),
    _is(
        "arxiv",
        "arxiv",
        rf"""(?<![^\W_])arxiv{_TO}
            (?:\d{{4}}[\s._-]\d{{4,5}}(?:v\d+)?(?!\d) | [a-z-]{{2,20}}(?:\.[a-z]{{2}})?/\d{{7}})""",
    ),
    _is("arxiv", "v", r"(?<![\d.])\d{4}\.\d{4,5}v\d{1,2}\b"),
    _is("ppr", "ppr", rf"(?<![^\W_])PPR{_TO}(?:PPR\s?)?\d{{4,}}"),
    _is("nbk", "nbk", rf"(?<![^\W_])NBK{_TO}\d{{3,}}"),
    _is("nbk", "bookshelf", rf"\bBookshelf{_TO}(?:NBK{_TO})?\d{{4,}}"),
    _is(
        "registry",
        "drks|ctr|umin|jrct|kct|ctri|rbr|ntr|jprn-|crd|isbn|issn|irct|prospero|japic|rpcec|inplasy|u1111|nl",
        rf"""(?<![^\W_])(?:(?:ChiCTR(?:-[A-Z]{{2,4}})?|DRKS|ACTRN|ANZCTR|UMIN(?:-CTR)?|jRCTs?|KCT|IRCT|PACTR|TCTR|SLCTR|RPCEC
              |JapicCTI|INPLASY){_TO}\d(?:[\s/_-]?\d){{5,15}}(?!\d)\w{{0,4}}
            | U1111-\d{{4}}-\d{{4}} | NL-?OMON\d{{4,6}}
            | (?:(?<=trial\s)|(?<=register\s)|(?<=registry\s)|(?<=number\s))NL\d{{4,5}}
            | (?:CRD|PROSPERO){_TO}(?:CRD{_TO})?\d(?:[\s_-]?\d){{7,11}}(?!\d)
            | CTRI{_TO}\d{{4}}[/\s_-]\d{{2,3}}[/\s_-]\d{{4,6}} | RBR(?![^\W\d_])[\s:_-]{{1,2}}(?=\w{{0,6}}\d)\w{{6,7}}
            | NTR\s?(?:[^\w\s]|_)?\s?(?:n[or]s?(?![^\W\d_])\.?\s?)?(?!(?:19|20)\d\d\b)\d{{4}} | JPRN-\w+
            | IS[BS]N\W{{0,3}}[\dX][\d\ X-]{{7,16}})\b""",
    ),
    _is(
        "registry",
        "wos|-s2.0|cid|corpus|openalex|orcid|rxiv",
        rf"""\bWOS{_TO}\d{{12,15}}\b | \b2-s2\.0-\d{{9,12}}\b | \bS2CID{_TO}\d{{5,10}}\b
            | \bCorpus\s?ID{_TO}\d{{5,10}}\b | \bOpenAlex{_TO}W?\d{{6,11}}\b
            | \bORCID{_TO}\d{{4}}-\d{{4}}-\d{{4}}-\d{{3}}[\dX]\b | \b(?:bio|med)Rxiv{_TO}\d{{6}}\b""",
    ),
    # Of persons: ORCID gives out these blocks of the ISNI.
    _is("registry", "000", r"(?<![\w-])000[09][\s-]?000\d[\s-]?\d{4}[\s-]?\d{3}[\dX](?![\w-])"),
    _is("url", "http|hxxp|ftp", r"\bh(?:tt|xx)ps?\s?[\[({]?\s?:\s?[\])}]?\s?/\s?/\s?\S+ | \bftp://\S+"),
    _is("url", "[.]|(.)", rf"\b[\w-]{{2,40}}(?:\[\.\]|\(\.\))(?:[\w-]{{2,40}}(?:\[\.\]|\(\.\)))?(?:{_DOMAINS})\b"),
    _is("url", "www", r"\bwww\s?\.\s?[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}(?:/\S*)?"),
    _is("url", "/", rf"(?<![\w.@-])(?:[A-Z0-9-]{{1,63}}\.){{1,6}}(?:{_DOMAINS}|{_COUNTRIES})(?::\d+)?/[^\s\"<>|]*"),
    _is("url", "@", r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Z0-9-]{1,63}\.){1,6}[A-Z]{2,24}\b"),
    _is(
        "url",
        ".",
        rf"(?<![\w.@-])(?!(?:clinical)?trials\.gov\b)(?:[A-Z][A-Z0-9-]{{1,62}}\.){{1,6}}(?:{_DOMAINS})\b(?!\.?\w)",
    ),
    _is("url", "dot", r"\b[\w-]{2,40}\s?[\[({]?\s?\bdot\b\s?[\])}]?\s?(?:com|org|net|gov|edu)\b"),
)
# "aged 10. 1056/2000 patients": a full stop, and a fraction behind it.
_FRACTION = re.compile(r"10\.?\s?[\d\s.]*/\s?\d{1,6}[^\w\s]*", re.I)

# A list goes on behind its first number: `PMIDs 123456, 234567 and 345678`.
_NEXT_NUMBER = re.compile(
    r"\s?(?:,|;|/|&|\band\b|\bor\b)\s?(?:\b(?:and|or)\s)?(?:PMIDs?\W{0,3})?(\d{5,8})\b(?![.,]?\d)", re.I
)

_DIGITS = re.compile(r"(?<!\d)(?<!\d[.,])[1-9]\d{6,7}(?!\d|[.,]\d)")
_LONG_NUMBER = re.compile(r"(?<![\w.,/+*^$€£#~<>=-])[1-9]\d{6,7}(?![\w/^+-]|[.,]\d|\s?[%°])")
# What is counted stands behind its number: "1234567 adult participants". Behind these words it does not.
_NOT_COUNTED = words(
    """
    and or in is was as has does did this that which who also with for from by shows finds reports suggests supports
    concludes confirms demonstrates describes found showed reported these those its the
    """
)
_COUNTED = words(
    """
    people persons participants patients adults women men children infants individuals subjects volunteers cases deaths
    controls births pregnancies residents inhabitants citizens users veterans members beneficiaries students households
    families records registrations admissions visits prescriptions procedures operations tests samples scans images
    doses cells reads variants genomes snps sequences nucleotides cfu iu units events hours days years person-years
    patient-years counts copies bases molecules particles colonies pixels voxels per euros dollars pounds usd eur
    tweets posts messages sheep mice rats animals
    """
)
_DIGITS_APART = re.compile(r"(?<![^\W_])\d(?:[\s,.'_/-]{0,2}\d){5,}(?![^\W_])")
_CATALOGUE = re.compile(r"\b(?:catalog(?:ue)?|cat|lot|batch|serial)\W{0,3}(?:(?:no|number)\W{0,3})?$", re.I)
_NEXT_WORD = re.compile(r"\s([A-Za-z-]+)")

_UNBROKEN = re.compile(r"[^\s\"<>|/]{8,200}")
_BARE_KEY = re.compile(r"(?<![\w~-])[0-9A-HJKMNP-TV-Z]{10}(?![\w-])")
# Grown together with the word before it, so that no reader takes it for a reference.
_GLUED_KEY = re.compile(r"(?<=[^\W_])cite\s?~\s?[0-9A-Z]{1,24}", re.I)
# Folding has made `"` of « and ».
_GARBLED = re.compile(
    rf'"\s?artifact\s?:[^"{TOKEN}\n]{{0,60}}"|'
    r'[«"<\[(]?\s?\bartifact\s?:\s?(?:link\b)?\s?:?\s?(?:cite\b)?[\s:~-]{0,3}[0-9A-Z]{0,24}\s?[»">\])]?',
    re.I,
)


def identifiers_in(text: str, known: Known) -> Iterator[Hit]:
    """Identifiers, addresses and broken references in folded `text`, in no order; they may overlap."""
    listed: set[int] = set()
    for found in find_identifiers(text):
        # No number of PMC is so short: "PMC 12 patients".
        if found.kind == "pmcid" and " " in text[found.start : found.end] and len(found.value) < 8:
            continue
        # Every kind of identifier is a kind of leak.
        yield Hit(cast("LeakKind", found.kind), found.start, found.end, found.value)
        if found.kind == "pmid":
            yield from _listed(text, found.end, listed)
    low = text.lower()
    for kind, cues, pattern in _LOOSE:
        for match in pattern.finditer(text) if _holds(low, cues) else ():
            raw = _trimmed(match.group())
            if TOKEN in raw:
                raw = raw[: raw.index(TOKEN)]
            if not raw or (kind == "doi" and _FRACTION.fullmatch(raw)):
                continue
            yield Hit(kind, match.start(), match.start() + len(raw))
            if kind == "pmid":
                yield from _listed(text, match.start() + len(raw), listed)
    yield from _unlabelled(text, known.pmids)
    yield from _set_apart(text, known.pmids)
    yield from _endings(text, known.doi_endings)
    yield from _broken_references(text)


def _holds(low: str, cues: tuple[str, ...]) -> bool:
    # A loop of its own: a generator for each pattern and text costs more than the looking.
    for cue in cues:  # noqa: SIM110
        if cue in low:
            return True
    return False


def _trimmed(raw: str) -> str:
    """Without what prose puts behind: punctuation, and closing brackets that nothing opened."""
    surplus = {closing: raw.count(closing) - raw.count(opening) for opening, closing in ("()", "[]", "{}", "<>")}
    end = len(raw)
    while end:
        last = raw[end - 1]
        if surplus.get(last, 0) > 0:
            surplus[last] -= 1
        elif last not in ".,;:!?'\"*":
            break
        end -= 1
    return raw[:end]


def _listed(text: str, at: int, listed: set[int]) -> Iterator[Hit]:
    """The numbers behind a PMID that ends at `at`; what is in `listed` was followed from another one."""
    while (match := _NEXT_NUMBER.match(text, at)) is not None and match.end() not in listed:
        listed.add(match.end())
        yield Hit("pmid", match.start(1), match.end(1), match.group(1))
        at = match.end()


def _unlabelled(text: str, held: frozenset[str]) -> Iterator[Hit]:
    """Numbers of seven or eight digits that count nothing, and those of the run's works in any company: PMIDs without
    a label."""
    for match in _DIGITS.finditer(text) if held else ():
        if match.group() in held:
            yield Hit("pmid", match.start(), match.end())
    for match in _LONG_NUMBER.finditer(text):
        if match.group() in held or not _counts(text, match):
            yield Hit("pmid", match.start(), match.end())


def _set_apart(text: str, held: frozenset[str]) -> Iterator[Hit]:
    """PMIDs of the run's works with blanks or signs between their digits: `90,000,104`."""
    lengths = {len(pmid) for pmid in held if len(pmid) >= 6}
    for match in _DIGITS_APART.finditer(text) if lengths else ():
        at = [match.start() + i for i, sign in enumerate(match.group()) if sign.isdigit()]
        digits = "".join(text[i] for i in at)
        for length in lengths:
            for first in range(len(digits) - length + 1):
                start, end = at[first], at[first + length - 1] + 1
                whole = first == 0 or at[first - 1] + 1 < start
                whole = whole and (end == match.end() or not text[end].isdigit())
                if whole and end - start > length and digits[first : first + length] in held:
                    yield Hit("pmid", start, end)


def _endings(text: str, endings: frozenset[str]) -> Iterator[Hit]:
    """What stands behind the slash in the DOI of a work, without what stands before it."""
    for match in _UNBROKEN.finditer(text) if endings else ():
        raw = _trimmed(match.group())
        if raw.casefold() in endings:
            yield Hit("doi", match.start(), match.start() + len(raw))


def _counts(text: str, number: re.Match[str]) -> bool:
    before = text[max(0, number.start() - 6) : number.start()]
    if _CATALOGUE.search(text, max(0, number.start() - 30), number.start()):
        return True
    if number.group().endswith("0000") or re.search(r"\b[nN]\s?(?:=|of)\s?$", before):
        return True
    at = number.end()
    for _ in range(4):
        following = _NEXT_WORD.match(text, at)
        if following is None or following.group(1).lower() in _NOT_COUNTED:
            return False
        word = following.group(1).lower()
        if word in _COUNTED:
            return True
        at = following.end()
    return False


def _broken_references(text: str) -> Iterator[Hit]:
    """What is left of references that no reader reads: a bare key, a label with blanks, one in other letters."""
    for match in _BARE_KEY.finditer(text):
        key = normalise_key(match.group())
        if is_key(key) and not key.isdigit():
            yield Hit("key", match.start(), match.end(), key)
    for match in _GARBLED.finditer(text):
        yield Hit("key", match.start(), match.end())
    for match in _GLUED_KEY.finditer(text):
        yield Hit("key", match.start(), match.end())
    # Folding has turned all well-spelled tokens into one character each; these came to light by it.
    for found in find_references(text):
        yield Hit("key", found.start, found.end, found.key if found.check_ok else None)
