"""Stored texts: the words that quotes are checked against, each named by copy and section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from literature_agent.artifacts import CitationArtifact, ClinicalTrial, Figure, PMCArticle, Record, Table, TextSection
from literature_agent.results import FullText


class StoredText(Record):
    """The text of one section of one copy, exactly as stored."""

    copy_id: str
    section: str
    """`title`, `abstract`, `abstract/<label>`, the path of headings (`Methods/Statistics`), `table/<label>`,
    `figure/<label>`, or of a trial `official title`, `eligibility`, `outcomes`. A repeated name ends in ` (2)`."""
    text: str

    @property
    def text_hash(self) -> str:
        return text_hash(self.text)


def text_hash(text: str) -> str:
    """BLAKE2b-128 of the text, in hexadecimal."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def table_text(table: Table) -> str:
    """A table as lines: caption, header and rows with ` | ` between cells, footnotes."""
    lines = [table.caption or "", " | ".join(table.header), *(" | ".join(row) for row in table.rows), *table.footnotes]
    return "\n".join(line for line in lines if line)


def stored_texts(artifact: CitationArtifact, full_text: FullText | None = None) -> tuple[StoredText, ...]:
    """Every text of a record, title and abstract first, then the full text; sections without text are left out."""
    taken: Counter[str] = Counter()
    texts = []
    for name, text in _named(artifact, full_text):
        if not text:
            continue
        taken[name] += 1
        section = name if taken[name] == 1 else f"{name} ({taken[name]})"
        texts.append(StoredText(copy_id=artifact.copy_id, section=section, text=text))
    return tuple(texts)


def _named(artifact: CitationArtifact, full_text: FullText | None) -> Iterator[tuple[str, str | None]]:
    yield "title", artifact.title
    yield "abstract", artifact.abstract_text
    for number, part in enumerate(artifact.abstract_sections, 1):
        yield f"abstract/{part.label or part.category or number}", part.text
    if isinstance(artifact, ClinicalTrial):
        yield "official title", artifact.official_title
        yield "eligibility", artifact.eligibility.criteria if artifact.eligibility else None
        yield (
            "outcomes",
            "\n".join(
                " - ".join(part for part in (outcome.measure, outcome.description, outcome.time_frame) if part)
                for outcome in artifact.outcomes
            ),
        )
    sections: Iterable[TextSection] = ()
    tables: Iterable[Table] = ()
    figures: Iterable[Figure] = ()
    if full_text is not None:
        sections = (*full_text.sections, *full_text.back_sections)
        tables, figures = full_text.tables, full_text.figures
    elif isinstance(artifact, PMCArticle):
        sections, tables, figures = artifact.sections, artifact.tables, artifact.figures
    yield from _body(sections, "")
    for number, table in enumerate(tables, 1):
        yield f"table/{table.label or number}", table_text(table)
    for number, figure in enumerate(figures, 1):
        yield f"figure/{figure.label or number}", figure.caption


def _body(sections: Iterable[TextSection], above: str) -> Iterator[tuple[str, str]]:
    for number, section in enumerate(sections, 1):
        path = above + (section.heading or f"section {number}")
        yield path, section.text
        yield from _body(section.sections, path + "/")
