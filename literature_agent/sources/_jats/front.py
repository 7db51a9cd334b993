"""Front matter of JATS to the fields of a citation.

Written rules where the document leaves a choice:

- `published` is the issue date as printed: the print date, else that of the collection if it names a month, else the
  electronic date, else the year of the collection. Dates of release in PMC, of receipt and of revision are never used.
- The abstract is the first without `abstract-type` that has words; teasers, short, graphical, lay summaries are none.
- Authors are the contributors who are called so, or nothing else; editors, reviewers and members of a group are not.
- PMC names a correction only in links it adds, so the status is `unknown` where there are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree

from literature_agent.artifacts import (
    AbstractSection,
    Author,
    Notice,
    NoticeKind,
    RelatedRecord,
    Relation,
    first_author_of,
)
from literature_agent.ids import normalise_doi, normalise_nct, normalise_pmcid, normalise_pmid
from literature_agent.sources._jats.prose import Writer, line_of
from literature_agent.sources._text import clean_text, date_of_parts, printed_date
from literature_agent.sources._xml import child, children

Fields = dict[str, Any]

# Names under which PubMed lists what JATS calls otherwise; both are given.
_TYPES = {
    "abstract": ("Congress",),
    "article-commentary": ("Comment",),
    "brief-report": ("Journal Article",),
    "case-report": ("Case Reports",),
    "correction": ("Published Erratum",),
    "editorial": ("Editorial",),
    "expression-of-concern": ("Expression of Concern",),
    "letter": ("Letter",),
    "news": ("News",),
    "preprint": ("Preprint",),
    "reply": ("Comment", "Letter"),
    "research-article": ("Journal Article",),
    "retraction": ("Retraction of Publication",),
    "review-article": ("Review",),
    "systematic-review": ("Systematic Review",),
}
_NOTICE_TYPES = frozenset({"addendum", "correction", "expression-of-concern", "partial-retraction", "retraction"})
# Some deposits call a notice `research-article` or `other`; its title says what it is (K036).
_NOTICE_TITLE = re.compile(
    r"(?:author |publisher(?:['’]s)? |editorial )?(?:correction|corrigendum|erratum|retraction|expression of concern)"
    r"(?: notice| note| statement)?(?: to| for| on)?\s*[:–—]|"
    r"(?:retraction (?:notice|note)|erratum|corrigendum) (?:to|for)\b",
    re.I,
)
_RETRACTED_TITLE = re.compile(r"\W*(?:retracted|withdrawn)(?: article| paper)?\s*[:\])–—]", re.I)

_NOTICE_KINDS: dict[str, NoticeKind] = {
    "addended-article": "correction_of",
    "corrected-article": "correction_of",
    "correction-forward": "corrected_by",
    "retracted-article": "retraction_of",
    "partial-retraction": "correction_of",
    "retraction-forward": "retracted_by",
    "object-of-concern": "concern_about",
    "concern-forward": "concern_by",
    "object-of-concern-forward": "concern_by",
    "expression-of-concern": "concern_by",
    "expression-of-concern-forward": "concern_by",
}
_RELATIONS: dict[str, Relation] = {
    "preprint": "preprint",
    "published-article": "published_as",
    "updated-article": "update_of",
    "update": "updated_by",
}
_OWN_NOTICES = frozenset({"correction_of", "retraction_of", "concern_about"})

_OTHER_ABSTRACTS = """
    author-highlights author-summary editor executive-summary graphical graphical-abstract highlights key-message
    key-points lay-summary plain-language-summary precis short short-abstract significance summary synopsis teaser toc
    video video-abstract visual-abstract web-summary
"""
_NOT_THE_ABSTRACT = frozenset(_OTHER_ABSTRACTS.split())
# Some publishers set their note about additional files as the last part of the abstract.
_SUPPLEMENT = re.compile(r"(?:electronic )?supplementa(?:ry|l) (?:information|material)", re.I)
_NO_NOTES = frozenset({"fn", "xref"})
_ASIDE_IN_AFFILIATION = frozenset({"email", "fax", "fn", "institution-id", "label", "phone", "sup", "uri", "xref"})
_ASIDE_IN_COLLAB = frozenset({"address", "aff", "contrib-group", "email", "fn", "xref"})
_ORCID = re.compile(r"([0-9]{4})-?([0-9]{4})-?([0-9]{4})-?([0-9]{3}[0-9Xx])(?![0-9])")
_CONTACT_TAIL = re.compile(r"[\s,;.]*(?:e-?mails?|electronic address(?:es)?)\s*:?\s*[,;.]*\s*$", re.I)


def front_fields(article: etree._Element) -> Fields:
    """The fields of a citation that the front matter gives, ids included; absent ones are left out."""
    front = child(article, "front")
    meta = child(front, "article-meta")
    if meta is None:
        meta = child(article, "front-stub")
    fields: Fields = {"title": ""}
    _journal(child(front, "journal-meta"), fields)
    language = next((value for name, value in article.attrib.items() if str(name).endswith("}lang")), None)
    if language:
        fields["language"], fields["languages"] = str(language), (str(language),)
    if meta is not None:
        fields |= ids_of(meta)
        fields["title"] = _title(meta)
        authors = tuple(_authors(meta))
        fields["authors"], fields["first_author"] = authors, first_author_of(authors)
        _dates(meta, fields)
        _abstract(meta, fields, str(language or ""))
        fields["keywords"] = tuple(_keywords(meta, str(language or "")))
        fields["license"] = _license(meta)
    _nature(article, meta, fields)
    return fields


def ids_of(meta: etree._Element) -> dict[str, str]:
    """`pmcid`, `pmid` and `doi` of the article, from ids old (`pmc`: digits alone) and new (`pmcid`)."""
    found: dict[str, str] = {}
    for node in children(meta, "article-id"):
        kind, text = node.get("pub-id-type", ""), clean_text(node.text or "")
        if kind in ("pmcid", "pmc", "accession"):
            read = normalise_pmcid(text) or (normalise_pmcid(f"PMC{text}") if kind != "accession" else None)
            name = "pmcid"
        elif kind in ("pmid", "pubmed"):
            read, name = normalise_pmid(text), "pmid"
        elif kind == "doi":
            read, name = normalise_doi(text), "doi"
        else:
            continue
        if read:
            found.setdefault(name, read)
    return found


# --- journal, title ---------------------------------------------------------------------------------------------------


def _journal(meta: etree._Element | None, fields: Fields) -> None:
    titles = child(meta, "journal-title-group", "journal-title"), child(meta, "journal-title")
    fields["journal"] = next((text for node in titles if (text := line_of(node))), None)
    short = {node.get("journal-id-type"): line_of(node) for node in children(meta, "journal-id")}
    stated = child(meta, "journal-title-group", "abbrev-journal-title")
    fields["journal_abbreviation"] = short.get("iso-abbrev") or short.get("nlm-ta") or line_of(stated) or None


def _title(meta: etree._Element) -> str:
    group = child(meta, "title-group")
    title = line_of(child(group, "article-title"), skip=_NO_NOTES)
    for node in children(group, "subtitle"):
        if subtitle := line_of(node, skip=_NO_NOTES):
            title = f"{title} {subtitle}" if title.endswith((":", "?", "!", ".", "–", "—")) else f"{title}: {subtitle}"
    return title.strip()


# --- authors ----------------------------------------------------------------------------------------------------------


def _authors(meta: etree._Element) -> Iterator[Author]:
    shared = _affiliations(meta)
    said: set[str] = set()
    for group in children(meta, "contrib-group"):
        if re.search(r"editor|reviewer|translator", group.get("content-type", ""), re.I):
            continue
        addresses = shared | _affiliations(group)
        people = [contrib for contrib in children(group, "contrib") if _is_author(contrib)]
        # One address without a mark is everybody's.
        common = [text for name, text in _affiliations(group).items() if name.startswith("#")]
        marked = any(node.get("ref-type") == "aff" for contrib in people for node in contrib.iter("xref"))
        for contrib in people:
            fields = _person(contrib)
            fields["affiliations"] = tuple(
                dict.fromkeys(_own_affiliations(contrib, addresses) or (() if marked else common))
            )
            collectives = [line_of(node, skip=_ASIDE_IN_COLLAB) for node in _collabs(contrib)]
            if any(fields.get(name) for name in ("family", "given")):
                yield Author(**fields)
            elif collectives:
                said.add(collectives[0])
                yield Author(**{**fields, "collective": collectives.pop(0)})
            for name in collectives:
                if name and name not in said:
                    said.add(name)
                    yield Author(collective=name)


def _is_author(contrib: etree._Element) -> bool:
    kind = contrib.get("contrib-type", "").strip().lower()
    if not kind:
        return re.search(r"\b(?:editor|reviewer)\b", line_of(child(contrib, "role")), re.I) is None
    # "non-byline author": a member of a group that is the author.
    return "byline" not in kind and ("author" in kind or kind in ("collab", "group", "person"))


def _person(contrib: etree._Element) -> Fields:
    fields: Fields = {}
    holders = [contrib, *children(contrib, "name-alternatives")]
    names = [node for holder in holders for name in ("name", "string-name") for node in children(holder, name)]
    if names:
        name = names[0]
        for tag, field in (("surname", "family"), ("given-names", "given"), ("suffix", "suffix")):
            if text := line_of(child(name, tag)):
                fields[field] = text
        given = child(name, "given-names")
        if given is not None and (initials := clean_text(given.get("initials", ""))):
            fields["initials"] = initials
        if not fields and (whole := line_of(name)):
            fields["family"] = whole  # a name that is not taken apart stays in one piece (K029)
    for node in contrib.iter("contrib-id", "uri"):
        kind = node.get("contrib-id-type") or node.get("content-type") or ""
        if kind.lower() == "orcid" and (orcid := _ORCID.search(node.text or "")):
            fields.setdefault("orcid", "-".join(orcid.groups()).upper())
    return fields


def _collabs(contrib: etree._Element) -> Iterator[etree._Element]:
    for node in contrib:
        if node.tag in ("collab", "on-behalf-of"):
            yield node
        elif node.tag == "collab-alternatives":
            yield from list(children(node, "collab"))[:1]


def _affiliations(holder: etree._Element) -> dict[str, str]:
    """Texts of the addresses directly inside, by id; those without id under `#1`, `#2`, ..."""
    found: dict[str, str] = {}
    for node in holder:
        if node.tag == "aff-alternatives":
            text = next((text for aff in children(node, "aff") if (text := _affiliation(aff))), "")
            names = [node.get("id"), *(aff.get("id") for aff in children(node, "aff"))]
        elif node.tag == "aff":
            text, names = _affiliation(node), [node.get("id")]
        else:
            continue
        if text:
            known = [name for name in names if name]
            found |= dict.fromkeys(known, text)
            found[f"#{len(found)}"] = text
    return found


def _own_affiliations(contrib: etree._Element, addresses: dict[str, str]) -> list[str]:
    texts = [text for name, text in _affiliations(contrib).items() if name.startswith("#")]
    for node in contrib.iter("xref"):
        if node.get("ref-type") == "aff":
            texts += [addresses[name] for name in node.get("rid", "").split() if name in addresses]
    return texts


def _affiliation(aff: etree._Element) -> str:
    """One address on a line; parts that stand side by side are parted by commas."""
    writer = Writer(_ASIDE_IN_AFFILIATION)
    _address(aff, writer)
    text = re.sub(r"\s+(?=[,;.])|,(?=\s*[,;])", "", writer.line())
    return _CONTACT_TAIL.sub("", text).strip(" ,;")


def _address(node: etree._Element, writer: Writer) -> None:
    writer.say(node.text)
    for part in node:
        tag: object = part.tag
        if isinstance(tag, str) and tag not in _ASIDE_IN_AFFILIATION:
            if tag in ("institution-wrap", "institution", "addr-line", "city", "state", "country", "postal-code"):
                _address(part, writer)
                if part.getnext() is not None and not (part.tail and part.tail.strip()):
                    writer.say(", ")
            else:
                writer.node(part)
        writer.say(part.tail)


# --- dates ------------------------------------------------------------------------------------------------------------


def _dates(meta: etree._Element, fields: Fields) -> None:
    kept: dict[str, str] = {}
    for node in children(meta, "pub-date"):
        kind = node.get("pub-type") or node.get("date-type") or "pub"
        if kind in ("pub", "ppub", "epub", "epub-ppub"):
            form = node.get("publication-format", "")
            kind = {"epub": "online", "pub": "online" if form.startswith(("e", "online", "web")) else "print"}.get(
                kind, "print"
            )
        elif kind in ("collection", "ecollection"):
            kind = "collection"
        elif kind == "pmc-release":
            kind = "release"
        else:
            continue
        if date := _date(node):
            kept.setdefault(kind, date)
    collection = kept.get("collection")
    issued = collection if collection and len(collection) > 4 else None
    published = kept.get("print") or issued or kept.get("online") or collection
    fields["published"], fields["published_online"] = published, kept.get("online")
    fields["year"] = int(published[:4]) if published else None
    fields["released"] = kept.get("release")


def _date(node: etree._Element) -> str | None:
    parts = {str(part.tag): line_of(part) for part in node if isinstance(part.tag, str)}
    stated = date_of_parts(parts.get("year"), parts.get("month"), parts.get("day"))
    return stated or printed_date(node.get("iso-8601-date")) or printed_date(parts.get("string-date"))


# --- abstract, keywords, licence --------------------------------------------------------------------------------------


def _abstract(meta: etree._Element, fields: Fields, language: str) -> None:
    def rank(node: etree._Element) -> tuple[bool, bool]:
        spoken = next((str(value) for name, value in node.attrib.items() if str(name).endswith("}lang")), language)
        return node.get("abstract-type") is not None, bool(language) and spoken[:2].lower() != language[:2].lower()

    for node in sorted(children(meta, "abstract"), key=rank):
        if (node.get("abstract-type") or "").strip().lower() in _NOT_THE_ABSTRACT:
            continue
        sections = [part for part in _abstract_sections(node) if not _SUPPLEMENT.match(part.label or "")]
        if not sections:
            continue
        fields["abstract_text"] = "\n".join(f"{s.label}: {s.text}" if s.label else s.text for s in sections)
        if len(sections) > 1 or sections[0].label:
            fields["abstract_sections"] = tuple(sections)
        return


def _abstract_sections(node: etree._Element, label: str | None = None) -> Iterator[AbstractSection]:
    writer = Writer()
    for part in node:
        if part.tag == "sec":
            if text := writer.line():
                yield AbstractSection(label=label, text=text)
            head = line_of(child(part, "title")).rstrip(": ") or None
            yield from _abstract_sections(part, " - ".join(filter(None, (label, head))) or None)
        elif part.tag not in ("title", "label", "object-id"):
            writer.node(part)
            if label is None and part.tag == "p" and (text := writer.line()):
                yield AbstractSection(text=text)
    if text := writer.line():
        yield AbstractSection(label=label, text=text)


def _keywords(meta: etree._Element, language: str) -> list[str]:
    found: list[str] = []
    for group in children(meta, "kwd-group"):
        spoken = next((str(value) for name, value in group.attrib.items() if str(name).endswith("}lang")), language)
        if "abbr" in group.get("kwd-group-type", "").lower() or (
            language and spoken[:2].lower() != language[:2].lower()
        ):
            continue
        for node in group.iter("kwd", "compound-kwd"):
            if node.tag == "compound-kwd":
                text = ": ".join(filter(None, (line_of(part) for part in children(node, "compound-kwd-part"))))
            else:
                text = line_of(node)
            if text:
                found.append(text)
    return list(dict.fromkeys(found))


_CREATIVE_COMMONS = re.compile(
    r"creativecommons\.org/(?:licenses/(?P<name>[a-z]+(?:-[a-z]+)*)|(?P<zero>publicdomain/zero)|(?P<mark>publicdomain/mark))"
    r"/?(?P<version>\d\.\d)?",
    re.I,
)


def _license(meta: etree._Element) -> str | None:
    """Creative Commons by its short name (`CC BY-NC 4.0`), another licence by its address, else in its words."""
    addresses: list[str] = []
    words: list[str] = []
    for node in children(child(meta, "permissions"), "license"):
        for part in node.iter("license", "license_ref", "ext-link", "uri"):
            addresses += [str(value) for name, value in part.attrib.items() if str(name).endswith("href")]
            if part.tag == "license_ref" and part.text:
                addresses.append(part.text)
        words += [line_of(part) for part in node if part.tag in ("license-p", "p")]
    for address in addresses:
        if known := _CREATIVE_COMMONS.search(address):
            name = f"CC {known['name'].upper()}" if known["name"] else "CC0" if known["zero"] else "Public Domain Mark"
            return " ".join(filter(None, (name, known["version"])))
    stated = [clean_text(address) for address in addresses if address.strip().startswith(("http", "//"))]
    return next((text for text in (*stated[:1], *words) if text), None)


# --- what kind of record ----------------------------------------------------------------------------------------------


def _nature(article: etree._Element, meta: etree._Element | None, fields: Fields) -> None:
    """Type, links to notices and versions, correction status."""
    kind = article.get("article-type", "").strip().lower()
    fields["publication_types"] = (kind, *_TYPES.get(kind, ())) if kind else ()
    properties = {
        line_of(child(node, "meta-name")): line_of(child(node, "meta-value"))
        for node in children(child(meta, "custom-meta-group"), "custom-meta")
    }
    fields["is_preprint"] = kind == "preprint" or properties.get("pmc-prop-preprint") == "yes"
    fields["is_embargoed"] = properties.get("pmc-status-embargo") == "yes"
    notices, related = [], []
    for node in _links(article, meta):
        link = node.get("related-article-type", "").strip().lower()
        ids = _linked_ids(node)
        if link in _NOTICE_KINDS:
            text = line_of(node) or None
            reference = ids.get("pmid") or ids.get("doi")
            notices.append(Notice(kind=_NOTICE_KINDS[link], reference_id=reference, text=text or ids.get("pmcid")))
        elif link in _RELATIONS and ids:
            related.append(RelatedRecord(relation=_RELATIONS[link], **ids))
    for node in children(meta, "related-object"):
        if nct_id := normalise_nct(clean_text(node.get("document-id") or node.get("object-id") or line_of(node))):
            related.append(RelatedRecord(relation="trial", nct_id=nct_id))
    kinds = {notice.kind for notice in notices}
    fields["notices"], fields["related"] = tuple(dict.fromkeys(notices)), tuple(dict.fromkeys(related))
    title = fields["title"]
    fields["is_notice"] = bool(kind in _NOTICE_TYPES or kinds & _OWN_NOTICES or _NOTICE_TITLE.match(title))
    if not fields["is_notice"] and ("retracted_by" in kinds or _RETRACTED_TITLE.match(title)):
        fields["correction_status"] = "retracted"
    elif "concern_by" in kinds:
        fields["correction_status"] = "concern"
    elif "corrected_by" in kinds:
        fields["correction_status"] = "corrected"


def _links(article: etree._Element, meta: etree._Element | None) -> Iterator[etree._Element]:
    yield from children(meta, "related-article")
    # Older notices name the paper in a sentence of their body.
    body = child(article, "body")
    if body is not None:
        yield from body.iter("related-article")


def _linked_ids(node: etree._Element) -> dict[str, str]:
    kind = node.get("ext-link-type", "").lower()
    address = next((str(value) for name, value in node.attrib.items() if str(name).endswith("href")), "")
    address = clean_text(address)
    readings: Iterable[tuple[str, str | None]] = (
        ("pmid", normalise_pmid(address) if kind in ("pmid", "pubmed") or "pubmed" in address else None),
        ("doi", normalise_doi(address)),
        ("pmcid", normalise_pmcid(address) or (normalise_pmcid(f"PMC{address}") if kind in ("pmc", "pmcid") else None)),
    )
    return {name: value for name, value in readings if value}
