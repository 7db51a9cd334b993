"""What an answer says to people, as a document that each form lays out in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from literature_agent.artifacts import CitationArtifact, Quote, study_type
from literature_agent.ids import normalise_nct
from literature_agent.ledger import SearchRecord
from literature_agent.outputs import LiteratureAggregationOutput, ResearchGap
from literature_agent.render._numbering import Numbering, finder
from literature_agent.render._plain import full_stop, one_line, paper_line, paragraphs

# Prefix that the DOI Foundation keeps for examples; no PMID or NCT number is that high yet.
SYNTHETIC_DOI_PREFIX = "10.5555/"
SYNTHETIC_FROM = 90_000_000

STATUS = {
    "complete": "complete. The run ended by itself and every source asked answered.",
    "partial": "PARTIAL. The run ended early or a source failed: see Limits.",
    "no_evidence": "no evidence. Every source asked answered, and nothing was found.",
    "failed": "FAILED. No source answered: this says nothing about the evidence.",
}
BASIS = {
    "stated_in_literature": "stated by authors",
    "null_search": "a search found nothing",
    "not_searched": "not searched for",
}


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Item:
    """One entry of a list: its label (`[1]`, `s3`, or empty) and its lines, the first the main one."""

    label: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """A small table; every row has as many cells as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block: TypeAlias = Paragraph | Item | Grid


@dataclass(frozen=True)
class Section:
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """An answer to lay out. All its text is printable, and escaped as the form needs it."""

    title: str
    head: tuple[str, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Form:
    """How one form of document writes what comes from outside."""

    escape: Callable[[str], str]
    entry: Callable[[CitationArtifact], str]


def is_synthetic(artifact: CitationArtifact) -> bool:
    """Whether the record was made up for tests: DOI under 10.5555, PMID or NCT number from 90000000."""
    if any(doi.startswith(SYNTHETIC_DOI_PREFIX) for doi in (artifact.doi or "", *artifact.alternate_dois)):
        return True
    nct = normalise_nct(getattr(artifact, "nct_id", None) or "")
    numbers = (getattr(artifact, "pmid", None) or "", (nct or "").removeprefix("NCT"))
    return any(number.isdigit() and int(number) >= SYNTHETIC_FROM for number in numbers)


def document(output: LiteratureAggregationOutput, form: Form) -> Document:
    """The whole answer. Works are numbered in order of first use: summary, themes, gaps, then the article list."""
    return _Writer(output, form, Numbering(finder(output))).document()


@dataclass(frozen=True)
class _Writer:
    output: LiteratureAggregationOutput
    form: Form
    numbering: Numbering

    def document(self) -> Document:
        output = self.output
        summary = [Paragraph(self._prose(part)) for part in paragraphs(output.summary)]
        themes = list(self._themes())
        gaps = [self._gap(gap) for gap in output.research_gaps]
        limits = [Item("", (self._prose(limit),)) for limit in output.limitations]
        articles = list(self._articles())
        sections = (
            Section("Summary", tuple(summary)),
            Section("Articles", tuple(articles)),
            Section("Themes", tuple(themes)),
            Section("Research gaps", tuple(gaps)),
            Section("Coverage", tuple(self._coverage())),
            Section("Searches", tuple(map(self._search, output.search_log))),
            Section("Limits", tuple(limits)),
            Section("Left out", tuple(self._left_out())),
            Section("Checks", tuple(self._checks())),
        )
        return Document(
            title=self._text(output.question),
            head=tuple(self._head()),
            sections=tuple(section for section in sections if section.blocks),
        )

    def _text(self, text: str) -> str:
        return self.form.escape(paper_line(text))

    def _prose(self, text: str) -> str:
        return self.numbering.prose(one_line(text), self.form.escape)

    def _head(self) -> Iterator[str]:
        output = self.output
        yield f"Status: {STATUS[output.status]}"
        asked = sum(bool(source.asked) for source in output.coverage)
        facts = [
            f"{count(len(output.relevant_articles), 'article')} listed",
            f"{count(output.articles_analyzed, 'study', 'studies')} read whole (abstract or full text)",
            f"{count(len(output.search_log), 'search', 'searches')} in {count(asked, 'source')}",
            f"{output.duration_s:.1f} s",
        ]
        if output.usage.cost_usd:
            facts.append(f"{output.usage.cost_usd:.4f} USD")
        yield "; ".join(facts) + "."
        yield f"Model: {self._text(output.model)}. Run: {self._text(output.run_id)}."
        if note := synthetic_note(self.numbering.works):
            yield note

    def _articles(self) -> Iterator[Block]:
        for article in self.output.relevant_articles:
            self.numbering.number(article)
        reasons = {
            self.numbering.number(article): self._prose(article.relevance)
            for article in self.output.relevant_articles
            if article.relevance
        }
        for number, work in enumerate(self.numbering.works, start=1):
            lines = [self.form.entry(work), f"Study type: {self._text(study_type(work))}"]
            if number in reasons:
                lines.append(f"Why: {reasons[number]}")
            yield Item(f"[{number}]", (*lines, *self._quotes(work.quotes)))

    def _quotes(self, quotes: Sequence[Quote]) -> Iterator[str]:
        for quote in quotes:
            yield f"Quote ({self._text(quote.section)}): “{self._text(quote.text)}”"

    def _themes(self) -> Iterator[Item]:
        for theme in self.output.key_themes:
            markers = self.numbering.markers(theme.references)
            lines = [self._prose(theme.name), self._prose(theme.description), markers and f"Articles: {markers}"]
            yield Item("", tuple(line for line in lines if line))

    def _gap(self, gap: ResearchGap) -> Item:
        description = self._prose(gap.description)
        logged = {record.search_id: record for record in self.output.search_log}
        basis = [f"Basis: {BASIS[gap.basis]}", self.numbering.markers(gap.references)]
        lines = [description, " ".join(part for part in basis if part)]
        for search_id in gap.searches:
            record = logged.get(search_id)
            lines.append(f"Search {self._text(search_id)}" + (f": {self._asked(record)}" if record else ""))
        return Item("", (*lines, *self._quotes(gap.quotes)))

    def _coverage(self) -> Iterator[Block]:
        header = ("source", "asked", "answered", "empty", "failed", "cut short")
        rows = tuple(
            (self._text(c.source), *map(str, (c.asked, c.answered, c.empty, c.failed, c.truncated)))
            for c in self.output.coverage
        )
        if rows:
            yield Grid(header, rows)

    def _asked(self, record: SearchRecord) -> str:
        return f"{self._text(record.source)}: {self._text(record.query)}"

    def _search(self, record: SearchRecord) -> Item:
        total = "unknown total" if record.total is None else f"{record.total} found"
        status = f"{record.status} ({record.reason})" if record.reason else record.status
        facts = [status, total, f"{record.retrieved} taken", f"{record.new} new"]
        if record.origin == "given":
            facts.append("given by the caller")
        lines = [self._asked(record), self._text("; ".join(facts))]
        if record.filters:
            lines.append("Filters: " + self._text("; ".join(f"{k}={v}" for k, v in record.filters.items())))
        return Item(self._text(record.search_id), tuple(lines))

    def _left_out(self) -> Iterator[Item]:
        counts: dict[str, int] = {}
        for work in self.output.excluded:
            counts[work.reason] = counts.get(work.reason, 0) + 1
        for reason, works in counts.items():
            yield Item("", (f"{count(works, 'work')}: {self._prose(full_stop(reason))}",))

    def _checks(self) -> Iterator[Item]:
        for sentence in checks(self.output, len(self.numbering.unknown)):
            yield Item("", (sentence,))


def synthetic_note(works: Sequence[CitationArtifact]) -> str:
    """How many of the works listed are made up for testing; empty where none is."""
    made_up, listed = sum(map(is_synthetic, works)), len(works)
    if not made_up:
        return ""
    which = f"All {listed} papers listed" if made_up == listed else f"{made_up} of the {listed} papers listed"
    subject = "The one paper listed is" if listed == 1 else f"{which} are"
    return f"{subject} SYNTHETIC: made up for testing, no evidence of anything."


def checks(output: LiteratureAggregationOutput, unknown: int) -> Iterator[str]:
    """What the checks found and did, a sentence for each; `unknown` references had no record when rendered."""
    found = output.integrity
    named = (
        (found.unknown_references, "unknown reference cut", "unknown references cut"),
        (found.leaks_replaced, "identifier in prose replaced", "identifiers in prose replaced"),
        (found.leaks_cut, "identifier in prose cut", "identifiers in prose cut"),
        (found.quotes_dropped, "quote dropped that stands in no text", "quotes dropped that stand in no text"),
        (found.claims_unsupported, "claim without support", "claims without support"),
        (found.gaps_downgraded, "gap downgraded", "gaps downgraded"),
        (found.versions_joined, "version joined with its study", "versions joined with their studies"),
        (found.repair_rounds, "round of repair", "rounds of repair"),
        (unknown, "reference without a record here", "references without a record here"),
    )
    for number, one, many in named:
        if number:
            yield count(number, one, many) + "."


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 article`, `3 articles`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
