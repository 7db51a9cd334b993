"""What stands on the page of a report: facts of an answer as the template lays them out, text still to be escaped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from markupsafe import Markup, escape

from literature_agent.artifacts import CitationArtifact, ClinicalTrial, EuropePMCArticle, Quote, article_url, study_type
from literature_agent.ledger import FoundBy, SearchRecord
from literature_agent.outputs import LiteratureAggregationOutput, ResearchGap
from literature_agent.registry import Reference
from literature_agent.render._answer import BASIS, STATUS, checks, count, is_synthetic, synthetic_note
from literature_agent.render._bibliography import author_line, bibliography_entry, place_line, title_line
from literature_agent.render._numbering import Numbering, finder
from literature_agent.render._plain import full_stop, one_line, paper_line, paragraphs
from literature_agent.render.bibtex import render_bibtex
from literature_agent.render.csl import csl_items
from literature_agent.render.html.charts import Chart, chart_of_overlap, chart_of_themes, chart_of_years
from literature_agent.render.ris import render_ris
from literature_agent.render.search_log import (
    flow_of,
    flow_svg,
    flow_table,
    search_log_csv,
    search_log_json,
    search_log_markdown,
    source_label,
)
from literature_agent.views import full_text_open

_MARKS = {
    "retracted": "Retracted",
    "concern": "Expression of concern",
    "corrected": "Corrected",
    "reinstated": "Reinstated",
}
_NOTICES = {
    "retracted_by": "Retracted",
    "concern_by": "Expression of concern",
    "corrected_by": "Corrected",
    "reinstated_by": "Reinstated",
    "retraction_of": "Retraction of another work",
    "concern_about": "Expression of concern about another work",
    "correction_of": "Correction of another work",
}
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]+")


@dataclass(frozen=True)
class Badge:
    kind: str
    text: str


@dataclass(frozen=True)
class Passage:
    """A part of an abstract, or a quote: where it stands, and its words, marked or plain."""

    place: str
    text: str | Markup


@dataclass(frozen=True)
class Link:
    label: str
    url: str


@dataclass(frozen=True)
class Card:
    """One work."""

    number: int
    title: str
    url: str | None
    authors: str
    place: str
    year: int | None
    type: str
    badges: tuple[Badge, ...]
    listed: bool
    why: Markup
    score: float | None
    quotes: tuple[Passage, ...]
    abstract: tuple[Passage, ...]
    links: tuple[Link, ...]
    sources: tuple[str, ...]
    themes: tuple[int, ...]
    notices: tuple[str, ...]
    checked: str
    synthetic: bool


@dataclass(frozen=True)
class Theme:
    number: int
    name: Markup
    plain_name: str
    description: Markup
    articles: tuple[int, ...]


@dataclass(frozen=True)
class Gap:
    description: Markup
    basis: str
    kind: str
    references: Markup
    quotes: tuple[Passage, ...]
    searches: tuple[tuple[str, Row | None], ...]


@dataclass(frozen=True)
class Row:
    """A line of the search log."""

    record: SearchRecord
    source: str
    filters: str
    at: str


@dataclass(frozen=True)
class Page:
    """All of it. `data` is for the script of the page."""

    question: str
    status: str
    status_text: str
    facts: tuple[tuple[str, str], ...]
    synthetic: str
    summary: tuple[Markup, ...]
    limits: tuple[Markup, ...]
    cards: tuple[Card, ...]
    types: tuple[tuple[str, int], ...]
    sources: tuple[tuple[str, int], ...]
    themes: tuple[Theme, ...]
    gaps: tuple[Gap, ...]
    charts: tuple[Chart, ...]
    flow: Chart
    coverage: tuple[tuple[str, int, int, int, int, int], ...]
    log: tuple[Row, ...]
    left_out: tuple[tuple[str, tuple[str, ...]], ...]
    usage: tuple[tuple[str, str], ...]
    checks: tuple[str, ...]
    model: str
    run_id: str
    started: str
    data: dict[str, Any]


def page_of(output: LiteratureAggregationOutput) -> Page:
    """The page of an answer. Works have the numbers that they have in its other renderings."""
    return _Writer(output, Numbering(finder(output), form=_link)).page()


def _link(number: int) -> str:
    return f'<a class="ref" href="#a{number}" data-ref="{number}">[{number}]</a>'


@dataclass(frozen=True)
class _Writer:
    output: LiteratureAggregationOutput
    numbering: Numbering

    def page(self) -> Page:
        output = self.output
        summary = tuple(self._prose(part) for part in paragraphs(output.summary))
        themes = tuple(self._themes())
        gaps = tuple(map(self._gap, output.research_gaps))
        limits = tuple(_with_code(self._prose(limit)) for limit in output.limitations)
        cards = tuple(self._cards(themes))
        asked = sum(bool(source.asked) for source in output.coverage)
        return Page(
            question=paper_line(output.question),
            status=output.status,
            status_text=STATUS[output.status],
            facts=(
                ("articles listed", str(len(output.relevant_articles))),
                ("studies read whole (abstract or full text)", str(output.articles_analyzed)),
                ("search" if len(output.search_log) == 1 else "searches", str(len(output.search_log))),
                ("source asked" if asked == 1 else "sources asked", str(asked)),
                ("seconds", f"{output.duration_s:.1f}"),
            ),
            synthetic=synthetic_note(self.numbering.works),
            summary=summary,
            limits=limits,
            cards=cards,
            types=_tally(card.type for card in cards),
            sources=_tally(source for card in cards for source in card.sources),
            themes=themes,
            gaps=gaps,
            charts=tuple(self._charts(themes)),
            flow=Chart(
                "PRISMA 2020 flow diagram",
                flow_svg(output),
                ("stage", "n"),
                tuple(flow_table(flow_of(output))),
            ),
            coverage=tuple(
                (source_label(c.source), c.asked, c.answered, c.empty, c.failed, c.truncated) for c in output.coverage
            ),
            log=tuple(map(_row, output.search_log)),
            left_out=tuple(self._left_out()),
            usage=tuple(self._usage()),
            checks=tuple(checks(output, len(self.numbering.unknown))),
            model=paper_line(output.model),
            run_id=paper_line(output.run_id),
            started=_moment(output),
            data=self._data(cards),
        )

    def _prose(self, text: str) -> Markup:
        return Markup(self.numbering.prose(one_line(text), lambda part: str(escape(part))))

    # Articles

    def _cards(self, themes: Sequence[Theme]) -> Iterator[Card]:
        for article in self.output.relevant_articles:
            self.numbering.number(article)
        listed = {self.numbering.number(article): article for article in self.output.relevant_articles}
        # A reason may cite a work that stands nowhere else and so adds one to the list.
        why = {number: self._prose(article.relevance or "") for number, article in listed.items()}
        for number, work in enumerate(self.numbering.works, start=1):
            yield Card(
                number=number,
                title=title_line(work),
                url=next((link.url for link in _links(work)), None),
                authors=author_line(work),
                place=place_line(work),
                year=work.year,
                type=paper_line(study_type(work)),
                badges=tuple(_badges(work, self._is_open(work))),
                listed=number in listed,
                why=why.get(number, Markup()),
                score=work.relevance_score if number in listed else None,
                quotes=tuple(map(_quote, work.quotes)),
                abstract=_abstract(work),
                links=tuple(_links(work)),
                sources=tuple(dict.fromkeys(source_label(origin.source) for origin in work.provenance))
                or (source_label(work.source),),
                themes=tuple(theme.number for theme in themes if number in theme.articles),
                notices=tuple(_notices(work)),
                checked=work.correction_checked_at.strftime("%Y-%m-%d") if work.correction_checked_at else "",
                synthetic=is_synthetic(work),
            )

    def _is_open(self, work: CitationArtifact) -> bool | None:
        """Whether a full text can be read, by what any copy of the work says."""
        registry = self.output.registry
        said = registry.is_open(work.reference) if registry is not None and work.reference else None
        return full_text_open(work) if said is None else said

    # Themes and gaps

    def _themes(self) -> Iterator[Theme]:
        for number, theme in enumerate(self.output.key_themes, start=1):
            name, description = self._prose(theme.name), self._prose(theme.description)
            articles = [self.numbering.number(work) for work in map(self._find, theme.references) if work is not None]
            yield Theme(number, name, _plain(name), description, tuple(dict.fromkeys(articles)))

    def _find(self, written: str) -> CitationArtifact | None:
        reference = Reference.parse(written)
        return None if reference is None else self.numbering.find(reference)

    def _gap(self, gap: ResearchGap) -> Gap:
        logged = {record.search_id: _row(record) for record in self.output.search_log}
        return Gap(
            description=self._prose(gap.description),
            basis=BASIS[gap.basis],
            kind=gap.basis,
            references=Markup(self.numbering.markers(gap.references)),
            quotes=tuple(map(_quote, gap.quotes)),
            searches=tuple((paper_line(search_id), logged.get(search_id)) for search_id in gap.searches),
        )

    # Charts and tables

    def _charts(self, themes: Sequence[Theme]) -> Iterator[Chart]:
        works = self.numbering.works
        found = self.output.flow.found_by if self.output.flow else _found_by(works)
        charts = (
            chart_of_years([(work.year, paper_line(study_type(work))) for work in works]),
            chart_of_overlap(found, source_label),
            chart_of_themes([(theme.plain_name, theme.articles) for theme in themes]),
        )
        return (chart for chart in charts if chart is not None)

    def _left_out(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The works left out by reason, each as its entry where its record is still at hand."""
        by_reason: dict[str, list[str]] = {}
        for work in self.output.excluded:
            record = self._find(work.reference)
            entry = bibliography_entry(record) if record is not None else Markup(escape(one_line(work.reference)))
            by_reason.setdefault(work.reason, []).append(entry)
        for reason, entries in by_reason.items():
            yield f"{count(len(entries), 'work')}: {_plain(self._prose(full_stop(reason)))}", tuple(entries)

    def _usage(self) -> Iterator[tuple[str, str]]:
        usage = self.output.usage
        yield "Model", paper_line(self.output.model)
        yield "Requests to the model", f"{usage.requests:,}"
        yield "Tool calls", f"{usage.tool_calls:,}"
        yield "Tokens in", f"{usage.input_tokens:,}"
        yield "Tokens out", f"{usage.output_tokens:,}"
        yield "Cost", "price not known" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
        yield "Started", _moment(self.output)
        yield "Duration", f"{self.output.duration_s:.1f} s"
        yield "Run", paper_line(self.output.run_id)

    # The script's part

    def _data(self, cards: Sequence[Card]) -> dict[str, Any]:
        works = self.numbering.works
        return {
            "cards": [
                {
                    "n": card.number,
                    "title": card.title,
                    "authors": card.authors,
                    "place": card.place,
                    "year": card.year,
                    "type": card.type,
                    "badges": [badge.text for badge in card.badges],
                    "why": _plain(card.why),
                    "score": card.score,
                    "sources": card.sources,
                    "themes": card.themes,
                    "preprint": any(badge.kind == "preprint" for badge in card.badges),
                    "retracted": any(badge.kind == "retracted" for badge in card.badges),
                }
                for card in cards
            ],
            "citation": [bibliography_entry(work) for work in works],
            "bibtex": _records(render_bibtex(works)),
            "ris": _records(render_ris(works)),
            "csl": csl_items(works),
            "log": {
                "csv": search_log_csv(self.output),
                "md": search_log_markdown(self.output),
                "json": search_log_json(self.output),
            },
        }


def _records(file: str) -> list[str]:
    """The records of a bibliography file that parts them by empty lines."""
    return [record.strip("\n") + "\n" for record in file.split("\n\n") if record.strip()]


def _plain(prose: Markup) -> str:
    return prose.striptags()


def _moment(output: LiteratureAggregationOutput) -> str:
    started = output.started_at
    return (started.astimezone(UTC) if started.tzinfo else started).strftime("%Y-%m-%d %H:%M UTC")


def _tally(names: Iterator[str]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(names).most_common())


def _found_by(works: Sequence[CitationArtifact]) -> tuple[FoundBy, ...]:
    groups = Counter(tuple(sorted({origin.source for origin in work.provenance})) for work in works)
    return tuple(FoundBy(sources=sources, works=number) for sources, number in groups.items() if sources)


def _row(record: SearchRecord) -> Row:
    at = record.started_at
    return Row(
        record=record,
        source=source_label(record.source),
        filters="; ".join(f"{name}: {value}" for name, value in record.filters.items()),
        at=(at.astimezone(UTC) if at.tzinfo else at).strftime("%Y-%m-%d %H:%M:%S"),
    )


def _with_code(prose: Markup) -> Markup:
    """Words between backticks as code; `prose` is escaped already."""
    return Markup(re.sub(r"`([^`<>]+)`", r"<code>\1</code>", str(prose)))


def _badges(work: CitationArtifact, is_open: bool | None) -> Iterator[Badge]:
    yield Badge("type", paper_line(study_type(work)))
    if work.correction_status in _MARKS:
        yield Badge(work.correction_status, _MARKS[work.correction_status])
    if work.is_notice:
        yield Badge("notice", "Notice about another work")
    if work.is_preprint:
        yield Badge("preprint", "Preprint, not peer-reviewed")
    if is_open:
        yield Badge("open", "Full text open")
    elif getattr(work, "pmcid", None):
        yield Badge("copy", "Copy in PMC")
    if is_synthetic(work):
        yield Badge("synthetic", "Synthetic")


def _notices(work: CitationArtifact) -> Iterator[str]:
    for notice in work.notices:
        facts = [_NOTICES[notice.kind], notice.date or "", notice.text or ""]
        yield full_stop(": ".join(filter(None, [" ".join(filter(None, facts[:2])), paper_line(facts[2])])))


def _links(work: CitationArtifact) -> Iterator[Link]:
    """Where a person reads the work; only addresses of the web."""
    doi, pmid, pmcid = work.doi, getattr(work, "pmid", None), getattr(work, "pmcid", None)
    named = [
        ("DOI", article_url(doi=doi)),
        ("PubMed", article_url(pmid=pmid)),
        ("PMC", article_url(pmcid=pmcid)),
    ]
    if isinstance(work, ClinicalTrial):
        named.append(("ClinicalTrials.gov", article_url(nct_id=work.nct_id)))
    if isinstance(work, EuropePMCArticle):
        named.append(("Europe PMC", article_url(epmc=(work.epmc_source, work.epmc_id))))
    if work.url not in [url for _, url in named]:
        named.append(("Record", work.url))
    for label, url in named:
        if url and _WEB_ADDRESS.fullmatch(url) and url.isprintable():
            yield Link(label, url)


# --- quotes -----------------------------------------------------------------------------------------------------------


def _quote(quote: Quote) -> Passage:
    return Passage(paper_line(quote.section.replace("/", ", ")), paper_line(quote.text))


def _abstract(work: CitationArtifact) -> tuple[Passage, ...]:
    """The abstract, in its sections where it has any, with the words that are quoted from it marked."""
    quotes = [quote for quote in work.quotes if quote.section.split("/")[0] == "abstract"]
    parts = [(paper_line(part.label or ""), part.text) for part in work.abstract_sections]
    whole = [("", work.abstract_text or "")]
    # A quote may run over the border of two sections; then the abstract is shown as one text.
    in_parts = {number for _, text in parts for number in _spans(text, quotes)}
    in_whole = set(_spans(whole[0][1], quotes))
    shown = parts if parts and in_parts >= in_whole else whole
    return tuple(
        Passage(label, _marked(paper_line(text), list(_spans(text, quotes).values())))
        for label, text in shown
        if text.strip()
    )


def _spans(text: str, quotes: Sequence[Quote]) -> dict[int, tuple[int, int]]:
    """Where the quotes stand in `paper_line(text)`, by their place in `quotes`."""
    line, found = paper_line(text), {}
    for number, quote in enumerate(quotes):
        words = paper_line(quote.text)
        # The same words may stand in it twice; the offsets count in the stored text.
        is_here = paper_line(text[quote.start : quote.end]) == words
        at = line.find(words, max(0, len(paper_line(text[: quote.start])) - 1) if is_here else 0)
        if words and at >= 0:
            found[number] = (at, at + len(words))
    return found


def _marked(line: str, spans: list[tuple[int, int]]) -> Markup:
    pieces, at = Markup(), 0
    for start, end in sorted(spans):
        start = max(start, at)
        if end > start:
            pieces += escape(line[at:start]) + Markup("<mark>{}</mark>").format(line[start:end])
            at = end
    return pieces + escape(line[at:])
