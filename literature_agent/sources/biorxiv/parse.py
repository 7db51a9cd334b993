"""Answers of the bioRxiv API (`/details`, JSON) to preprints: bytes in, records out.

Numbers come as text or number, and a failure may stand in a 200: an empty body, a line of text, a page of HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from literature_agent.artifacts import (
    Author,
    BioRxivPreprint,
    CorrectionStatus,
    DetailedPreprint,
    RelatedRecord,
    article_url,
    first_author_of,
)
from literature_agent.ids import normalise_doi, strip_doi_version
from literature_agent.sources._text import clean_text, one_line, printed_date, year_of
from literature_agent.sources.biorxiv.categories import LABELS, Server, folded_category
from literature_agent.sources.biorxiv.highwire import Part, abstract_text, read_abstract, read_title
from literature_agent.transport.messages import TransientAnswer


class Post(NamedTuple):
    """One version of one preprint, as posted: what a search needs of it."""

    doi: str
    """Without a version."""
    version: int
    date: str
    """`YYYY-MM-DD`, or empty."""
    title: str
    abstract: tuple[Part, ...]
    authors: str
    category: str
    license: str
    published: str
    """DOI of the journal version, or empty."""
    kind: str

    @property
    def age(self) -> tuple[int, str]:
        """Grows from version to version."""
        return self.version, self.date


@dataclass(frozen=True)
class Contact:
    """What only a whole record adds to a post."""

    author: str | None = None
    institution: str | None = None
    funders: tuple[str, ...] = ()
    jats_url: str | None = None


@dataclass(frozen=True)
class Page:
    """One answer: a page of a window, or all versions of one preprint."""

    posts: tuple[Post, ...] = ()
    contacts: tuple[Contact, ...] = ()
    """Of each post."""
    rows: int = 0
    """Rows received, readable or not; the cursor moves by them."""
    total: int | None = None
    """Versions in the window, as stated: may be more than there are (K056)."""
    category: str | None = None
    """The filter that was applied, `all` where none was; None where the answer does not say."""
    unreadable: tuple[str, ...] = ()


def parse_details(body: bytes) -> Page:
    """One answer of `/details`. "No posts found" is a page without posts.

    Raises:
        TransientAnswer: the body is empty, broken, or of another shape, as in outages of the service.
    """
    answer = _decoded(body)
    message = _message(answer)
    status = clean_text(str(message.get("status") or "")).lower()
    rows = answer.get("collection")
    if not isinstance(rows, list):
        if status.startswith(("no posts found", "no articles found")):
            rows = []
        else:
            said = one_line(status, 80) or "no status"
            raise TransientAnswer(f"the answer held no list of preprints ({said})", kind="invalid_response")
    posts: list[Post] = []
    contacts: list[Contact] = []
    unreadable: list[str] = []
    for number, row in enumerate(rows, 1):
        post = _post(row)
        if post is None:
            unreadable.append(f"row {number} has no DOI or title")
            continue
        posts.append(post)
        contacts.append(_contact(row))
    category = message.get("category")
    return Page(
        posts=tuple(posts),
        contacts=tuple(contacts),
        rows=len(rows),
        total=_count(message.get("total")),
        category=folded_category(category) if isinstance(category, str) else None,
        unreadable=tuple(unreadable),
    )


def _decoded(body: bytes) -> dict[str, Any]:
    if not body.strip():
        raise TransientAnswer("an empty answer came, as in outages", kind="invalid_response")
    try:
        answer = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        said = one_line(body[:200].decode("utf-8", "replace"), 80)
        raise TransientAnswer(f"no JSON came but {said!r}", kind="invalid_response") from None
    if not isinstance(answer, dict):
        raise TransientAnswer("JSON of another shape came", kind="invalid_response")
    return answer


def _message(answer: dict[str, Any]) -> dict[str, Any]:
    messages = answer.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else messages
    return first if isinstance(first, dict) else {}


_NUMBER = re.compile(r"\d{1,12}(?:\.0)?|\d(?:\.\d{1,9})?[eE]\+?\d{1,2}")


def _count(value: object) -> int | None:
    """A number that comes as number or text, also in scientific notation (K057); None if it is none."""
    text = str(value).strip() if isinstance(value, int | float | str) and not isinstance(value, bool) else ""
    return int(float(text)) if _NUMBER.fullmatch(text) else None


def _text(row: dict[str, Any], name: str) -> str:
    """A member as text; `NA` is how the API writes that there is none."""
    value = row.get(name)
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return "" if text.upper() == "NA" else text


def _post(row: object) -> Post | None:
    if not isinstance(row, dict):
        return None
    doi, title = normalise_doi(clean_text(_text(row, "doi"))), read_title(_text(row, "title"))
    if doi is None or not title:
        return None
    doi = strip_doi_version(doi)
    published = normalise_doi(clean_text(_text(row, "published")))
    return Post(
        doi=doi,
        version=_count(row.get("version")) or 0,
        date=printed_date(_text(row, "date")) or "",
        title=title,
        abstract=read_abstract(_text(row, "abstract")),
        authors=clean_text(_text(row, "authors")),
        category=clean_text(_text(row, "category")),
        license=clean_text(_text(row, "license")),
        published=published if published and published != doi else "",
        kind=clean_text(_text(row, "type")),
    )


def _contact(row: dict[str, Any]) -> Contact:
    address = _text(row, "jatsxml")
    return Contact(
        author=clean_text(_text(row, "author_corresponding")) or None,
        institution=clean_text(_text(row, "author_corresponding_institution")) or None,
        funders=_funders(row.get("funder")),
        jats_url=address if re.fullmatch(r"https?://[!-~]{1,400}", address) else None,
    )


def _funders(value: object) -> tuple[str, ...]:
    """`name (award)` of each; `NA` or a list of objects."""
    found: dict[str, None] = {}
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict):
            continue
        name, award = clean_text(_text(item, "name")), clean_text(_text(item, "award")).strip(" ;")
        if name or award:
            found[f"{name} ({award})" if name and award else name or award] = None
    return tuple(found)


# --- records ----------------------------------------------------------------------------------------------------------


def preprint_of(posts: Sequence[Post], server: Server) -> BioRxivPreprint:
    """The versions of one preprint as one record: the newest one, with all their numbers (K061)."""
    return BioRxivPreprint(**_fields(posts, server))


def whole_preprint_of(page: Page, server: Server) -> DetailedPreprint:
    """All versions of one preprint, as `/details/{server}/{doi}` lists them, as one record."""
    newest = max(range(len(page.posts)), key=lambda at: page.posts[at].age)
    contact = page.contacts[newest]
    return DetailedPreprint(
        **_fields(page.posts, server),
        author_corresponding=contact.author,
        author_corresponding_institution=contact.institution,
        funders=contact.funders,
        jats_url=contact.jats_url,
    )


def _fields(posts: Sequence[Post], server: Server) -> dict[str, Any]:
    newest = max(posts, key=lambda post: post.age)
    versions = tuple(sorted({post.version for post in posts if post.version}))
    # An older row may have been told of the journal version while the newest has not.
    published = newest.published or next((post.published for post in posts if post.published), "")
    authors = _authors(newest.authors)
    return {
        "title": newest.title,
        "url": article_url(doi=newest.doi),
        "doi": newest.doi,
        "authors": authors,
        "first_author": first_author_of(authors),
        "journal": LABELS[server],
        "journal_abbreviation": LABELS[server],
        "year": year_of(newest.date),
        "published": newest.date or None,
        "published_online": newest.date or None,
        "abstract_text": abstract_text(newest.abstract),
        "abstract_sections": tuple({"label": part.label, "text": part.text} for part in newest.abstract)
        if any(part.label for part in newest.abstract)
        else (),
        "source": server,
        "publication_types": ("Preprint",),
        "correction_status": _correction_status(newest),
        "related": (RelatedRecord(relation="published_as", doi=published),) if published else (),
        "server": server,
        "version": newest.version or None,
        "versions": versions,
        "category": newest.category or None,
        "license": _license(newest.license),
        "published_doi": published or None,
    }


_WITHDRAWN_TITLE = re.compile(r"\W*(?:withdrawn|retracted)\b", re.I)
_WITHDRAWN_TEXT = re.compile(
    r"\W*(?:withdrawal statement|(?:the|this) (?:authors?|manuscript|preprint|article|paper)s? (?:has|have) "
    r"(?:been )?withdrawn)",
    re.I,
)


def _correction_status(post: Post) -> CorrectionStatus:
    """A withdrawn preprint is a new version whose text says so; of corrections the servers say nothing."""
    text = post.abstract[0].text if post.abstract else ""
    withdrawn = post.kind.lower() == "withdrawn" or _WITHDRAWN_TITLE.match(post.title) or _WITHDRAWN_TEXT.match(text)
    return "retracted" if withdrawn else "unknown"


def _license(code: str) -> str | None:
    """`cc by-nc-nd`, as Europe PMC writes it, for `cc_by_nc_nd`; other codes as they come."""
    if match := re.fullmatch(r"cc[ _-]by((?:[ _-](?:nc|nd|sa)){0,2})", code, re.I):
        return "cc by" + re.sub("[ _]", "-", match[1].lower())
    return code or None


_GROUP = re.compile(
    r"\b(?:group|consorti(?:um|a)|collaborat\w+|investigators|network|team|study|initiative|project|committee)\b", re.I
)
_SUFFIX = re.compile(r",?\s+(Jr|Sr|II|III|IV)\.?$")
_INITIALS = re.compile(r"(?:[^\W\d_]\.?[\s-]*){1,6}")


def _authors(listed: str) -> tuple[Author, ...]:
    """`Doe, J. M.; Roe, R.`: family name, comma, initials or given names."""
    return tuple(_author(name) for part in listed.split(";") if (name := part.strip(" ,")))


def _author(name: str) -> Author:
    family, comma, given = (part.strip(" ,") or part for part in name.partition(","))
    if not comma:
        return Author(collective=name) if _GROUP.search(name) or " " in name else Author(family=name)
    suffix = _SUFFIX.search(f" {given}")
    if suffix:
        given = f" {given}"[: suffix.start()].strip()
    initials = "".join(part[0] for part in re.split(r"[\s.-]+", given) if part) or None
    is_name = bool(given) and not (_INITIALS.fullmatch(given) and ("." in given or given.isupper()))
    return Author(
        family=family or None,
        given=given if is_name else None,
        initials=initials,
        suffix=suffix.group(1) if suffix else None,
    )
