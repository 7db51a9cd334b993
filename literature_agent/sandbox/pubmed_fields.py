"""The search fields of PubMed: what users write in brackets, and what each one looks into.

Names and abbreviations: PubMed's help page and EInfo's field list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["words", "value", "mesh", "author", "date", "id", "filter"]


@dataclass(frozen=True, slots=True)
class Field:
    """One field: the name PubMed prints, how it is compared, and the index columns or value fields behind it."""

    name: str
    kind: Kind
    places: tuple[str, ...]
    tags: tuple[str, ...]


ALL_FIELDS = Field("All Fields", "words", (), ("all", "all fields"))
MESH_TERMS = Field("MeSH Terms", "mesh", ("mesh",), ("mh", "mesh", "mesh terms"))
PUBLICATION_DATE = Field("Date - Publication", "date", ("published",), ("dp", "pdat", "publication date", "date"))
ENTRY_DATE = Field("Date - Entry", "date", ("entered",), ("edat", "entry date", "entrez date"))
MODIFICATION_DATE = Field("Date - Modification", "date", ("revised",), ("lr", "mdat", "modification date"))
CREATION_DATE = Field("Date - Create", "date", ("created",), ("crdt", "create date", "date - create"))
FILTER = Field("Filter", "filter", (), ("sb", "filt", "filter", "subset"))
PUBMED_ID = Field("UID", "id", ("pmid",), ("pmid", "uid"))

_TITLE_ABSTRACT = ("title", "abstract", "keywords")
_FIELDS = (
    ALL_FIELDS,
    Field("Title", "words", ("title",), ("ti", "titl", "title")),
    Field("Abstract", "words", ("abstract",), ("ab", "abstract")),
    Field("Title/Abstract", "words", _TITLE_ABSTRACT, ("tiab",)),
    Field(
        "Text Word",
        "words",
        (*_TITLE_ABSTRACT, "mesh", "types", "substances"),
        ("tw", "word", "text word", "text words"),
    ),
    Field("Other Term", "words", ("keywords",), ("ot", "otrm")),
    Field("Affiliation", "words", ("affiliations",), ("ad", "affl")),
    Field("Transliterated Title", "words", ("vernacular",), ("tt",)),
    Field("Supplementary Concept", "words", ("substances",), ("nm", "subs", "substance name")),
    Field("EC/RN Number", "value", ("registry",), ("rn", "ecno", "ec/rn number")),
    MESH_TERMS,
    Field("MeSH Major Topic", "mesh", ("majr",), ("majr", "mesh major topic")),
    Field("MeSH Subheading", "value", ("subheading",), ("sh", "subh", "mesh subheading", "mesh subheadings")),
    Field("Publication Type", "value", ("type",), ("pt", "ptyp")),
    Field("Language", "value", ("language",), ("la", "lang")),
    Field("Journal", "value", ("journal",), ("ta", "jour", "journal title abbreviation")),
    Field("ISSN", "value", ("issn",), ("is",)),
    Field("Volume", "value", ("volume",), ("vi", "vol")),
    Field("Issue", "value", ("issue",), ("ip", "iss")),
    Field("Pagination", "value", ("page",), ("pg", "page")),
    Field("Place of Publication", "value", ("country",), ("pl", "cnty")),
    Field("Author", "author", ("author",), ("au", "auth", "full", "fau", "full author name")),
    Field("Author - First", "author", ("first author",), ("1au", "faut", "first author", "first author name")),
    Field("Author - Last", "author", ("last author",), ("lastau", "laut", "last author", "last author name")),
    Field("Author - Corporate", "author", ("collective",), ("cn", "coln", "corporate author")),
    Field("Author - Identifier", "value", ("orcid",), ("auid",)),
    Field("Secondary Source ID", "value", ("databank",), ("si",)),
    Field("Grants and Funding", "value", ("grant",), ("gr", "grnt", "grant number")),
    FILTER,
    PUBMED_ID,
    Field("Article Identifier", "id", ("doi", "pii"), ("aid", "doi", "lid", "location id")),
    Field("PMC ID", "id", ("pmc",), ("pmc", "pmcid")),
    PUBLICATION_DATE,
    Field("Electronic Publication Date", "date", ("electronic",), ("depdat", "epdt", "epdat")),
    Field("Print Publication Date", "date", ("print",), ("ppdat", "ppdt")),
    ENTRY_DATE,
    CREATION_DATE,
    MODIFICATION_DATE,
    Field("Date - MeSH", "date", ("indexed",), ("mhda", "mesh date")),
    Field("Date - Completion", "date", ("completed",), ("dcom", "cdat", "completion date")),
)

_BY_TAG = {tag: field for field in _FIELDS for tag in (*field.tags, field.name.lower())}
_PROXIMITY = re.compile(r"^(?P<tag>.*?)\s*:\s*~\s*(?P<near>\d{1,4})$")


@dataclass(frozen=True, slots=True)
class Tag:
    """What stood in the brackets after a term."""

    field: Field
    explode: bool = True
    near: int | None = None


def field_named(name: str) -> Field | None:
    """The field of an abbreviation or a long name, in any case; None where PubMed has no such field."""
    return _BY_TAG.get(" ".join(name.lower().replace("_", " ").split()))


def read_tag(text: str) -> Tag | None:
    """The tag written as `text` (without its brackets), with `:noexp` or `:~N`; None for an unknown field."""
    near = None
    if found := _PROXIMITY.match(text):
        text, near = found["tag"], int(found["near"])
    explode = True
    head, colon, tail = text.partition(":")
    if colon and "".join(tail.lower().split()) in {"noexp", "noexplode"}:
        text, explode = head, False
    field = field_named(text.strip())
    return None if field is None else Tag(field, explode=explode, near=near)


LANGUAGES = {
    "chinese": "chi",
    "czech": "cze",
    "danish": "dan",
    "dutch": "dut",
    "english": "eng",
    "finnish": "fin",
    "french": "fre",
    "german": "ger",
    "greek": "gre",
    "hebrew": "heb",
    "hungarian": "hun",
    "italian": "ita",
    "japanese": "jpn",
    "korean": "kor",
    "norwegian": "nor",
    "persian": "per",
    "polish": "pol",
    "portuguese": "por",
    "romanian": "rum",
    "russian": "rus",
    "spanish": "spa",
    "swedish": "swe",
    "turkish": "tur",
    "ukrainian": "ukr",
}

_PHASES = (
    "clinical trial, phase i",
    "clinical trial, phase ii",
    "clinical trial, phase iii",
    "clinical trial, phase iv",
)
NARROWER_TYPES = {
    "clinical trial": (
        "adaptive clinical trial",
        *_PHASES,
        "controlled clinical trial",
        "equivalence trial",
        "pragmatic clinical trial",
        "randomized controlled trial",
    ),
    "controlled clinical trial": ("randomized controlled trial", "pragmatic clinical trial", "equivalence trial"),
    "practice guideline": (),
    "guideline": ("practice guideline",),
}

# Publication types that PubMed knows even where no record at hand has them: such a filter leaves nothing, and is
# not dropped as an unknown phrase.
KNOWN_TYPES = frozenset(
    {
        *NARROWER_TYPES,
        *NARROWER_TYPES["clinical trial"],
        "address",
        "autobiography",
        "biography",
        "books and documents",
        "case reports",
        "classical article",
        "clinical study",
        "clinical trial protocol",
        "clinical trial, veterinary",
        "comment",
        "comparative study",
        "congress",
        "consensus development conference",
        "corrected and republished article",
        "dataset",
        "editorial",
        "english abstract",
        "evaluation study",
        "expression of concern",
        "historical article",
        "interview",
        "introductory journal article",
        "journal article",
        "lecture",
        "letter",
        "meta-analysis",
        "multicenter study",
        "network meta-analysis",
        "news",
        "observational study",
        "patient education handout",
        "preprint",
        "published erratum",
        "research support, n.i.h., extramural",
        "research support, non-u.s. gov't",
        "research support, u.s. gov't, non-p.h.s.",
        "research support, u.s. gov't, p.h.s.",
        "retracted publication",
        "retraction notice",
        "retraction of publication",
        "review",
        "scoping review",
        "systematic review",
        "technical report",
        "twin study",
        "validation study",
        "video-audio media",
    }
)

# Filters that exist at PubMed and are worked out for each record of the corpus.
KNOWN_FILTERS = frozenset(
    {
        "all",
        "free full text",
        "full text",
        "hasabstract",
        "humans",
        "in process",
        "medline",
        "preprint",
        "publisher",
        "pubmed",
        "pubmed pmc",
        "pubmednotmedline",
        "systematic",
        *LANGUAGES,
    }
)

# PubMed's stop word list (PubMed help, "Stopwords").
_STOP_WORD_LIST = """
    a about again all almost also although always among an and another any are as at be because been before being
    between both but by can could did do does done due during each either enough especially etc for found from further
    had has have having here how however i if in into is it its itself just kg km made mainly make may mg might ml mm
    most mostly must nearly neither no nor not obtained of often on or our overall perhaps pmid quite rather really
    regarding seem seen several should show showed shown shows significantly since so some such than that the their
    theirs them then there therefore these they this those through thus to upon use used using various very was we were
    what when which while with within without would
"""
STOP_WORDS = frozenset(_STOP_WORD_LIST.split())
