"""The search log for PRISMA-S, and the flow diagram of PRISMA 2020: numbers that add up."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from lxml import etree

from literature_agent.artifacts import PubMedArticle
from literature_agent.ledger import Exclusion, Flow, Ledger, SearchRecord
from literature_agent.outputs import ExcludedWork, LiteratureAggregationOutput
from literature_agent.registry import ArtifactRegistry, Reference
from literature_agent.render import flow_svg, search_log_csv, search_log_json, search_log_markdown
from literature_agent.render.search_log import COLUMNS, flow_of
from literature_agent.results import SearchResult

from .conftest import STARTED

FLOW = Flow(
    identified=10,
    duplicates=0,
    otherwise=1,
    unique=11,
    not_screened=2,
    screened=9,
    analysed=5,
    read=1,
    included=4,
    included_unread=1,
    studies=3,
    excluded=(
        Exclusion(stage="screening", reason="screened by title and snippet; not cited", works=2),
        Exclusion(stage="screening", reason="retracted", works=1),
        Exclusion(stage="reading", reason="abstract or full text read; not cited", works=2),
    ),
)


def _rows(output: LiteratureAggregationOutput) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(search_log_csv(output), newline="")))


def _texts(svg: str) -> list[str]:
    root = etree.fromstring(svg.encode())
    return ["".join(map(str, element.itertext())) for element in root.iter("{http://www.w3.org/2000/svg}text")]


def _drawn(svg: str) -> str:
    """All words of the drawing."""
    return " ".join(_texts(svg)).replace("\N{NO-BREAK SPACE}", " ")


def _boxes(svg: str) -> list[int]:
    """The numbers of its boxes, from the top."""
    return [int(n) for n in re.findall(r"\(n = (\d+)\)", _drawn(svg))]


def test_the_log_as_markdown(output: LiteratureAggregationOutput) -> None:
    assert search_log_markdown(output.model_copy(update={"flow": FLOW})) == snapshot("""\
# Search log: Does it work?

Run run-1, 2026-03-02 09:30:00 UTC.

| search | source | interface | query | understood as | filters | date and time (UTC) | status | reason | hits | retrieved | new | duplicates | origin |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |
| s1 | pubmed | NCBI E-utilities | `it AND works` |  |  | 2026-03-02 09:30:00 | ok |  | 153 | 10 | 10 | 0 | planned |
| s2 | pubmed | NCBI E-utilities | `it AND children` |  |  | 2026-03-02 09:30:00 | empty |  | 0 | 0 | 0 | 0 | given |
| s3 | europepmc |  | `it AND works` |  | date\\_from=2015 | 2026-03-02 09:30:00 | failed | europepmc\\_timeout |  | 0 | 0 | 0 | planned |

## Flow of works

| stage | n |
| --- | ---: |
| records identified by searching | 10 |
| duplicate records removed | 0 |
| works that came by identifier or link | 1 |
| unique works | 11 |
| works not looked at | 2 |
| works screened by title and snippet | 9 |
| excluded at screening: screened by title and snippet; not cited | 2 |
| excluded at screening: retracted | 1 |
| works analysed (whole abstract or full text) | 5 |
| works read in full | 1 |
| excluded after reading: abstract or full text read; not cited | 2 |
| works included | 4 |
| works included by title and snippet alone | 1 |
| studies included (works of one study counted once) | 3 |
""")  # noqa: E501


def test_the_log_as_csv_has_a_row_for_each_search(output: LiteratureAggregationOutput) -> None:
    assert search_log_csv(output) == snapshot("""\
search,source,interface,query,understood_as,filters,started,status,reason,total,retrieved,new,duplicates,origin\r
s1,pubmed,NCBI E-utilities,it AND works,,,2026-03-02 09:30:00,ok,,153,10,10,0,planned\r
s2,pubmed,NCBI E-utilities,it AND children,,,2026-03-02 09:30:00,empty,,0,0,0,0,given\r
s3,europepmc,,it AND works,,date_from=2015,2026-03-02 09:30:00,failed,europepmc_timeout,,0,0,0,planned\r
""")
    assert tuple(_rows(output)[0]) == COLUMNS


def test_the_log_as_json_keeps_names_and_types(output: LiteratureAggregationOutput) -> None:
    document = json.loads(json.dumps(search_log_json(output.model_copy(update={"flow": FLOW}))))
    assert [SearchRecord.model_validate(record) for record in document["searches"]] == list(output.search_log)
    assert Flow.model_validate(document["flow"]) == FLOW
    assert document["coverage"][1]["failed"] == 1


@pytest.mark.parametrize("sign", [*"=+-@", "＝", "\t=", "\r\n="])
def test_no_query_is_run_as_a_formula(output: LiteratureAggregationOutput, sign: str) -> None:
    """A librarian opens the log in a spreadsheet; a query may begin with a minus sign."""
    record = output.search_log[0].model_copy(update={"query": f'{sign}cmd|"x"!A1', "filters": {"a": "=1"}})
    (row,) = _rows(output.model_copy(update={"search_log": (record,)}))
    assert row["query"] == f"""'{sign.strip()}cmd|"x"!A1"""
    assert row["filters"] == "a==1"


def test_a_query_stays_text_in_every_form(output: LiteratureAggregationOutput) -> None:
    nasty = 'a | b `c` <script>x</script> \x1b[31m\nnew "line"'
    record = output.search_log[0].model_copy(update={"query": nasty, "source": "<b>"})
    spoilt = output.model_copy(update={"search_log": (record,)})
    line = next(line for line in search_log_markdown(spoilt).splitlines() if line.startswith("| s1 "))
    assert line.count(" | ") == len(COLUMNS) - 1
    assert r"a \| b \`c\` \<script\>x\</script\> \[31m new" in line
    plain = output.model_copy(update={"search_log": (record.model_copy(update={"query": "(a*[tiab] OR <b>)"}),)})
    assert "| `(a*[tiab] OR <b>)` |" in search_log_markdown(plain)
    assert _rows(spoilt)[0]["query"] == 'a | b `c` <script>x</script> [31m new "line"'
    assert "<b>: 10" in _texts(flow_svg(spoilt))


def test_the_flow_diagram_shows_every_stage(output: LiteratureAggregationOutput) -> None:
    svg = flow_svg(output.model_copy(update={"flow": FLOW}))
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in _texts(svg)] == snapshot(
        [
            "Records identified by searching",
            "(n = 10)",
            "PubMed: 10",
            "Europe PMC: 0 (1 search failed)",
            "by identifier or link: 1 work",
            "Removed before screening",
            "duplicate records: 0",
            "works not looked at: 2",
            "Works screened by title and snippet",
            "(n = 9)",
            "Works excluded (n = 3)",
            "screened by title and snippet; not",
            "cited: 2",
            "retracted: 1",
            "Works analysed: whole abstract or full",
            "text (n = 5)",
            "full text read: 1",
            "Works excluded (n = 2)",
            "abstract or full text read; not cited: 2",
            "Works included in the answer (n = 4)",
            "of 3 studies",
            "by title and snippet alone: 1",
            "Identification",
            "Screening",
            "Included",
        ]
    )
    root = etree.fromstring(svg.encode())
    assert root.get("role") == "img"
    assert root[0].text == "PRISMA 2020 flow diagram"
    # A file of its own: no style sheet, no script, nothing from elsewhere.
    assert not re.search(r"<style|<script|href|url\(|var\(", svg)


def test_an_answer_without_a_counted_flow_is_drawn_from_its_log(output: LiteratureAggregationOutput) -> None:
    left_out = ExcludedWork(reference=str(Reference.for_identity("pmid:90000009")), reason="retracted")
    flow = flow_of(output.model_copy(update={"excluded": (left_out,)}))
    assert flow == Flow(
        identified=10,
        duplicates=0,
        otherwise=0,
        unique=10,
        not_screened=6,
        screened=4,
        analysed=None,
        read=None,
        included=3,
        studies=3,
        excluded=(Exclusion(stage="screening", reason="retracted", works=1),),
    )
    assert not any("analysed" in text for text in _texts(flow_svg(output)))


def test_a_run_without_a_search_says_so(output: LiteratureAggregationOutput) -> None:
    empty = output.model_copy(update={"search_log": (), "relevant_articles": (), "flow": Ledger("run").flow(())})
    assert "No search was made." in search_log_markdown(empty)
    assert _rows(empty) == []
    assert _boxes(flow_svg(empty)) == [0, 0, 0, 0]


PAPERS = [PubMedArticle(pmid=str(90000000 + number), title=f"Paper {number}") for number in range(7)]


@given(
    searches=st.lists(
        st.tuples(st.sampled_from(("pubmed", "europepmc", "biorxiv")), st.lists(st.integers(0, 6), max_size=5)),
        max_size=6,
    ),
    fetched=st.lists(st.integers(0, 6), max_size=3),
    shown=st.dictionaries(st.integers(0, 6), st.sampled_from(("title", "abstract", "Methods"))),
    share=st.integers(0, 7),
)
def test_the_numbers_add_up_in_every_form(
    searches: list[tuple[str, list[int]]], fetched: list[int], shown: dict[int, str], share: int
) -> None:
    """Over ledgers of every shape: what a reader adds up in table, file and diagram is what the run did."""
    registry = ArtifactRegistry()
    references = registry.hold_all(PAPERS)
    ledger = Ledger("run", registry)
    for number, (source, hits) in enumerate(searches):
        result = SearchResult(status="ok" if hits else "empty", total=len(hits) + 3, returned=len(hits))
        ledger.close_search(
            f"c{number}",
            source=source,
            query="q",
            started_at=STARTED,
            result=result,
            references=[references[h] for h in hits],
        )
    ledger.record_fetch("f", 9, source="pubmed", asked=3, references=[references[number] for number in fetched])
    for number, section in shown.items():
        ledger.show(references[number], "x", section, 9, 9)
    kept = sorted(shown)[:share]
    excluded = [ExcludedWork(reference=str(references[n]), reason=f"reason {n % 2}") for n in sorted(shown)[share:]]
    values: dict[str, Any] = {
        "run_id": "run",
        "question": "q",
        "summary": "s",
        "status": "complete",
        "model": "m",
        "started_at": STARTED,
        "duration_s": 1.0,
        "relevant_articles": tuple(PAPERS[n].model_copy(update={"reference": str(references[n])}) for n in kept),
        "excluded": tuple(excluded),
        "search_log": ledger.search_log(),
        "coverage": ledger.coverage(),
        "flow": ledger.flow([references[n] for n in kept], {work.reference: work.reason for work in excluded}),
    }
    answer = LiteratureAggregationOutput(**values)

    rows = _rows(answer)
    for row in rows:
        assert int(row["retrieved"]) == int(row["new"]) + int(row["duplicates"]) <= int(row["total"])
    boxes = _boxes(flow_svg(answer))
    assert boxes[0] == sum(int(row["retrieved"]) for row in rows) == search_log_json(answer)["flow"]["identified"]
    assert boxes[-1] == len(answer.relevant_articles)
    flow = flow_of(answer)
    assert sum(exclusion.works for exclusion in flow.excluded) == len(answer.excluded)
    assert flow.screened == len(answer.relevant_articles) + len(answer.excluded)
    drawn = _drawn(flow_svg(answer))
    by_source = [int(n) for n in re.findall(r"(?:PubMed|Europe PMC|bioRxiv|biorxiv): (\d+)", drawn)]
    assert sum(by_source) == boxes[0]
    duplicates = int(re.findall(r"duplicate records: (\d+)", drawn)[0])
    not_looked_at = sum(map(int, re.findall(r"not looked at: (\d+)", drawn)))
    otherwise = sum(map(int, re.findall(r"link: (\d+)", drawn)))
    screened = int(re.findall(r"Works screened by title and snippet \(n = (\d+)\)", drawn)[0])
    assert screened == boxes[0] - duplicates + otherwise - not_looked_at
    assert screened == sum(int(n) for n in re.findall(r"Works excluded \(n = (\d+)\)", drawn)) + boxes[-1]
    # And the same from the fall-back, which has the answer alone.
    bare = flow_of(answer.model_copy(update={"flow": None}))
    assert (bare.identified, bare.duplicates, bare.screened, bare.included) == (
        flow.identified,
        flow.duplicates,
        flow.screened,
        flow.included,
    )
