"""What is written is read back equal, by readers nobody here wrote, over every record there is.

What a reader must find is taken from the records themselves, not from the code under test. Four rules of writing are
told to it: no full stop at the end of a title, pages written out (K123), initials with points where a record has no
given names, and `[token]` where an abstract spells a reference.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import rispy
from bibtexparser import middlewares
from bibtexparser.entrypoint import parse_string
from bibtexparser.model import Entry
from Bio import Medline
from citeproc.source.json import CiteProcJSON
from pylatexenc.latex2text import LatexNodes2Text

from literature_agent.artifacts import Author, BioRxivPreprint, CitationArtifact, ClinicalTrial
from literature_agent.registry import mask_references
from literature_agent.render._citation import SYNTHETIC_MARK
from literature_agent.render.bibtex import render_bibtex
from literature_agent.render.csl import render_csl_json
from literature_agent.render.nbib import render_nbib
from literature_agent.render.ris import render_ris
from literature_agent.views import marks

from .records import packaged_records, recorded_records

Fields = dict[str, Any]


@pytest.fixture(scope="module", params=["packaged", "recorded"])
def records(request: pytest.FixtureRequest) -> Sequence[CitationArtifact]:
    if request.param == "packaged":
        found = packaged_records()
        assert {record.kind for record in found} >= {"link:cite:pubmed:full", "link:cite:pmc", "link:cite:trial"}
        assert len(found) >= 100
        return found
    shared: Path = request.getfixturevalue("shared_dir")
    found = recorded_records(shared / "recorded")
    assert len(found) > 600
    return found


# --- what a reader must find ------------------------------------------------------------------------------------------


def _folded(text: object) -> str:
    return " ".join(str(text or "").split())


def _title(record: CitationArtifact) -> str:
    title = _folded(record.title)
    return title if title.endswith(("..", "U.S.")) else title.removesuffix(".")


def _people(record: CitationArtifact) -> list[tuple[str, str, str]]:
    """Family, given names or initials, suffix; a group has the first only."""
    if isinstance(record, ClinicalTrial):
        return [(_folded(record.sponsor), "", "")] if record.sponsor else []
    return [_person(author) for author in record.authors if author.collective or author.family]


def _person(author: Author) -> tuple[str, str, str]:
    if author.collective:
        return _folded(author.collective), "", ""
    return _folded(author.family), _bare(author.given or author.initials or ""), _folded(author.suffix)


def _bare(given: str) -> str:
    """The letters of given names or initials, whatever stands between them."""
    return re.sub(r"[.\s-]", "", given)


def _pages(record: CitationArtifact) -> tuple[str, str]:
    """First and last page, written out; what is no range, or several, in one piece."""
    printed = _folded(getattr(record, "pages", None))
    if (ends := _ends(printed)) is not None:
        return ends if ends[0] != ends[1] else (ends[0], "")
    pieces = re.split(r"([;,]? )", printed)
    return "".join("-".join(_ends(piece) or (piece,)) for piece in pieces), ""


def _ends(printed: str) -> tuple[str, str] | None:
    match = re.fullmatch(r"([A-Za-z]*)(\d+)-([A-Za-z]*)(\d+)", printed)
    if match is None:
        return None
    prefix, first, own, last = match.groups()
    return prefix + first, f"{own or prefix}{first[: max(0, len(first) - len(last))]}{last}"


def _subjects(record: CitationArtifact) -> list[str]:
    words = [*record.keywords, *(heading.descriptor for heading in getattr(record, "mesh_headings", ()))]
    return list({word.casefold(): _folded(word) for word in reversed(words)}.values())


def _note(record: CitationArtifact) -> str:
    invented = re.match(r"10\.5555/", record.doi or "") or re.search(
        r"^(?:NCT)?9\d{7}$", getattr(record, "pmid", None) or getattr(record, "nct_id", None) or ""
    )
    return " ".join(part for part in (marks(record), SYNTHETIC_MARK if invented else "") if part)


def _container(record: CitationArtifact) -> str:
    if isinstance(record, ClinicalTrial):
        return "ClinicalTrials.gov"
    if isinstance(record, BioRxivPreprint) and not record.journal:
        return {"biorxiv": "bioRxiv", "medrxiv": "medRxiv"}[record.server]
    return _folded(record.journal or record.journal_abbreviation)


def _field(record: CitationArtifact, name: str) -> str:
    return _folded(getattr(record, name, None))


def _wanted(record: CitationArtifact) -> Fields:
    first, last = _pages(record)
    return {
        "title": _title(record),
        "people": _people(record),
        "container": _container(record),
        "year": _field(record, "year"),
        "volume": _field(record, "volume"),
        "issue": _field(record, "issue"),
        "pages": (first, last),
        "doi": _field(record, "doi"),
        "pmid": _field(record, "pmid"),
        "pmcid": _field(record, "pmcid"),
        "nct": _field(record, "nct_id"),
        "issn": _field(record, "issn"),
        "language": _field(record, "language"),
        "abstract": mask_references(_field(record, "abstract_text")),
        "subjects": sorted(_subjects(record)),
        "note": _note(record),
    }


def _compare(
    records: Sequence[CitationArtifact], read: Sequence[Fields], *, but: Callable[[Fields], Fields] = dict
) -> None:
    assert len(read) == len(records)
    differing = [
        (record.copy_id, name, found.get(name), wanted)
        for record, found in zip(records, read, strict=True)
        for name, wanted in but(_wanted(record)).items()
        if found.get(name) != wanted
    ]
    assert differing[:20] == []


def _without(*names: str) -> Callable[[Fields], Fields]:
    return lambda wanted: {name: value for name, value in wanted.items() if name not in names}


# --- RIS --------------------------------------------------------------------------------------------------------------


def test_ris_is_read_back_equal_by_rispy(records: Sequence[CitationArtifact]) -> None:
    entries = rispy.loads(render_ris(records))
    _compare(records, [_from_ris(entry) for entry in entries], but=_in_ris)
    assert {entry["type_of_reference"] for entry in entries} <= {"JOUR", "UNPB", "ELEC", "CHAP", "BOOK"}
    assert not any("unknown_tag" in entry for entry in entries)
    assert len({entry["id"] for entry in entries}) == len(entries)


def _from_ris(entry: Fields) -> Fields:
    number = entry.get("accession_number", "")
    trial = number.startswith("NCT")
    return {
        "title": entry.get("title", ""),
        "people": [_bare(name) for name in entry.get("authors", ())],
        "container": entry.get("secondary_title") or entry.get("publisher", ""),
        "year": entry.get("year", ""),
        "volume": entry.get("volume", ""),
        "issue": entry.get("number", ""),
        "pages": (entry.get("start_page", ""), entry.get("end_page", "")),
        "doi": entry.get("doi", ""),
        "pmid": "" if trial else number,
        "pmcid": entry.get("custom2", ""),
        "nct": number if trial else "",
        "issn": entry.get("issn", ""),
        "language": entry.get("language", ""),
        "abstract": entry.get("abstract", ""),
        "subjects": sorted(entry.get("keywords", ())),
        "note": " ".join(entry.get("notes", ())),
    }


def _in_ris(wanted: Fields) -> Fields:
    """A name is one text there: a group's may hold a comma too."""
    return {**wanted, "people": [_bare(", ".join(part for part in person if part)) for person in wanted["people"]]}


# --- BibTeX -----------------------------------------------------------------------------------------------------------


def test_bibtex_is_read_back_equal_by_bibtexparser(records: Sequence[CitationArtifact]) -> None:
    written = render_bibtex(records)
    library = parse_string(written, append_middleware=[middlewares.SeparateCoAuthors(), middlewares.SplitNameParts()])
    assert library.failed_blocks == []
    _compare(records, [_from_bibtex(entry) for entry in library.entries])
    assert {entry.entry_type for entry in library.entries} <= {"article", "misc", "incollection", "book"}


def _from_bibtex(entry: Entry) -> Fields:
    fields = entry.fields_dict

    def text(name: str) -> str:
        return _typeset(fields[name].value) if name in fields else ""

    number = text("number")
    trial = number.startswith("NCT")
    first, _, last = (fields["pages"].value if "pages" in fields else "").partition("--")
    return {
        "title": text("title"),
        "people": [
            (_typeset(" ".join((*name.von, *name.last))), _bare(_typeset(" ".join(name.first))), " ".join(name.jr))
            for name in (fields["author"].value if "author" in fields else ())
        ],
        "container": text("journal") or text("booktitle") or text("howpublished"),
        "year": text("year"),
        "volume": text("volume"),
        "issue": "" if trial else number,
        "pages": (_typeset(first), _typeset(last)),
        "doi": fields["doi"].value if "doi" in fields else "",
        "pmid": text("pmid"),
        "pmcid": text("pmcid"),
        "nct": number if trial else "",
        "issn": text("issn"),
        "language": text("language"),
        "abstract": text("abstract"),
        "subjects": sorted(map(_typeset, _outside_braces(fields["keywords"].value if "keywords" in fields else ""))),
        "note": text("note"),
    }


_LATEX = LatexNodes2Text()


def _typeset(latex: str) -> str:
    if not re.search(r"[\\{}$%~&#^_]|--|``|''", latex):
        return latex
    # U+02C6 is how this reader spells the circumflex that stands alone.
    return str(_LATEX.latex_to_text(latex)).replace("\N{MODIFIER LETTER CIRCUMFLEX ACCENT}", "^")


def _outside_braces(value: str) -> list[str]:
    """The parts of `value` between commas that stand in no braces."""
    parts, depth = [""], 0
    for character in value:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


# --- CSL-JSON ---------------------------------------------------------------------------------------------------------


def test_csl_json_is_read_back_equal_by_citeproc(records: Sequence[CitationArtifact]) -> None:
    """Fields that CSL does not know are warnings there, and so errors here."""
    written = json.loads(render_csl_json(records))
    source = CiteProcJSON(written)
    assert len(source) == len(records)
    read = [_from_csl(source[item["id"]]) for item in written]
    _compare(records, read, but=_without("language"))
    for item in written:
        assert re.fullmatch(r"[a-z]{2,3}", item.get("language", "en"))


def _from_csl(item: Any) -> Fields:
    def text(name: str) -> str:
        return str(item.get(name, ""))

    first, _, last = text("page").partition("-")
    if not re.fullmatch(r"[\w.]+-[\w.]+", text("page")):
        first, last = text("page"), ""
    return {
        "title": text("title"),
        "people": [
            (name.get("literal") or name.family, _bare(name.get("given", "")), name.get("suffix", ""))
            for name in item.get("author", ())
        ],
        "container": text("container_title") or text("publisher"),
        "year": str(item.issued.year) if "issued" in item else "",
        "volume": text("volume"),
        "issue": text("issue"),
        "pages": (first, last),
        "doi": text("DOI"),
        "pmid": text("PMID"),
        "pmcid": text("PMCID"),
        "nct": text("number"),
        "issn": text("ISSN"),
        "abstract": text("abstract"),
        "subjects": sorted(part for part in text("keyword").split("; ") if part),
        "note": text("note"),
    }


# --- NBIB -------------------------------------------------------------------------------------------------------------


def test_nbib_is_read_back_equal_by_biopython(records: Sequence[CitationArtifact]) -> None:
    read = list(Medline.parse(io.StringIO(render_nbib(records))))  # type: ignore[no-untyped-call]  # it has no types
    in_pubmed_first = sorted(records, key=lambda record: not getattr(record, "pmid", None))
    _compare(in_pubmed_first, [_from_nbib(entry) for entry in read], but=_in_medline)


def _from_nbib(entry: Fields) -> Fields:
    first, _, last = entry.get("PG", "").partition("-")
    if not re.fullmatch(r"[\w.]+-[\w.]+", entry.get("PG", "")):
        first, last = entry.get("PG", ""), ""
    doi = next((each.removesuffix(" [doi]") for each in entry.get("AID", ()) if each.endswith(" [doi]")), "")
    own = [number.removeprefix("ClinicalTrials.gov/") for number in entry.get("SI", ())]
    headings = [heading.lstrip("*").split("/")[0] for heading in entry.get("MH", ())]
    subjects = {word.casefold(): word for word in reversed([*entry.get("OT", ()), *headings])}
    return {
        "title": entry.get("TI", ""),
        "people": _from_nbib_names(entry),
        "container": entry.get("JT", ""),
        "year": entry.get("DP", "")[:4],
        "volume": entry.get("VI", ""),
        "issue": entry.get("IP", ""),
        "pages": (first, last),
        "doi": doi,
        "pmid": entry.get("PMID", ""),
        "pmcid": entry.get("PMC", ""),
        "nct": own[0] if own and entry.get("JT") == "ClinicalTrials.gov" else "",
        "issn": entry.get("IS", "").removesuffix(" (Undetermined)"),
        "language": " ".join(entry.get("LA", ())),
        "abstract": entry.get("AB", ""),
        "subjects": sorted(subjects.values()),
        "note": " ".join(entry.get("GN", ())),
    }


def _from_nbib_names(entry: Fields) -> list[tuple[str, str, str]]:
    persons = [(*name.split(", ", 1), "")[:2] for name in entry.get("FAU", ())]
    return sorted(
        [(family, _bare(given), "") for family, given in persons] + [(n, "", "") for n in entry.get("CN", ())]
    )


def _in_medline(wanted: Fields) -> Fields:
    """Persons and groups are lists of their own there, and a suffix follows the given names."""
    people = sorted((family, _bare(given + suffix), "") for family, given, suffix in wanted["people"])
    return {**wanted, "people": people}
