"""The ledger: the only origin of counts, coverage and search log."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from literature_agent.artifacts import PubMedArticle, RelatedRecord
from literature_agent.errors import source_error
from literature_agent.ledger import Exclusion, Flow, FoundBy, Ledger, SearchRecord, SourceCoverage
from literature_agent.registry import ArtifactRegistry, Reference
from literature_agent.results import ErrorInfo, SearchResult

AT = datetime(2031, 1, 2, tzinfo=UTC)
WORKS = [Reference.for_identity(f"pmid:{90000000 + number}") for number in range(8)]
A, B, C = WORKS[:3]


def _search(ledger: Ledger, call_id: str, *hits: Reference, source: str = "pubmed", **options: Any) -> SearchRecord:
    status = options.pop("status", "ok" if hits else "empty")
    error = options.pop("error", None)
    result = SearchResult(status=status, total=len(hits), returned=len(hits)) if status != "failed" else None
    return ledger.close_search(
        call_id, source=source, query="q", started_at=AT, result=result, error=error, references=hits, **options
    )


# Searches


def test_a_search_is_logged_with_all_its_fields() -> None:
    ledger = Ledger("run")
    assert ledger.open_search("call-1", turn=2, index=1) == "s1"
    result = SearchResult(
        status="partial",
        query_sent="(metformin) AND (SRC:MED)",
        query_interpreted="metformin[All]",
        applied_filters={"date_from": "2015"},
        total=120,
        error=ErrorInfo(reason="europepmc_timeout", message="Page 2 was not read."),
    )
    record = ledger.close_search(
        "call-1",
        source="europepmc",
        interface="Europe PMC REST",
        query="metformin",
        started_at=AT,
        result=result,
        references=[A, str(B), A],
        origin="given",
    )
    assert record == SearchRecord(
        search_id="s1",
        source="europepmc",
        interface="Europe PMC REST",
        query="metformin",
        query_interpreted="metformin[All]",
        filters={"date_from": "2015"},
        started_at=AT,
        status="partial",
        total=120,
        retrieved=3,
        new=2,
        duplicates=1,
        origin="given",
        reason="europepmc_timeout",
    )
    assert ledger.search_log() == (record,)
    assert ledger.search("s1") == record
    assert ledger.search("s2") is None


def test_the_fields_of_the_log_and_of_coverage_are_those_of_the_contract() -> None:
    """Wire names."""
    assert " ".join(SearchRecord.model_fields) == (
        "search_id source interface query query_interpreted filters started_at status total retrieved new "
        "duplicates origin reason"
    )
    assert " ".join(SourceCoverage.model_fields) == "source asked answered empty failed truncated"


def test_a_failed_search_has_no_result_and_says_why() -> None:
    ledger = Ledger("run")
    record = _search(ledger, "c", status="failed", error=source_error("pubmed", "rate_limited", "Busy."))
    assert (record.status, record.total, record.retrieved, record.reason) == ("failed", None, 0, "pubmed_rate_limited")


def test_recording_a_call_again_changes_nothing() -> None:
    """A resumed run passes its recorded results through custody once more."""
    ledger = Ledger("run")
    first = _search(ledger, "c1", A)
    ledger.record_fetch("c2", 1, source="pubmed", asked=1, references=[B])
    ledger.show(A, "pubmed:90000000", "title", 5, 5)
    before = ledger.to_json()
    assert _search(ledger, "c1", A, B, C) == first
    entry = ledger.record_fetch("c2", 1, source="pubmed", asked=9, references=[C])
    ledger.show(A, "pubmed:90000000", "title", 5, 5)
    assert entry.asked == 1
    assert ledger.open_search("c1") == "s1"
    assert ledger.to_json() == before


def test_ids_follow_the_order_of_opening_and_the_log_the_order_of_calls() -> None:
    """Whatever answers first: order of arrival never shows."""

    def run(order: list[int]) -> Ledger:
        ledger = Ledger("run")
        for index in range(3):
            ledger.open_search(f"c{index}", turn=1, index=index)
        for index in order:
            _search(ledger, f"c{index}", A, WORKS[index])
        return ledger

    one, two = run([0, 1, 2]), run([2, 0, 1])
    assert one.search_log() == two.search_log()
    assert [(record.search_id, record.new) for record in two.search_log()] == [("s1", 1), ("s2", 1), ("s3", 1)]


def test_a_later_turn_stands_after_an_earlier_one_whatever_its_place() -> None:
    ledger = Ledger("run")
    ledger.open_search("late", turn=2, index=0)
    ledger.open_search("early", turn=1, index=5)
    for call in ("late", "early"):
        _search(ledger, call, A)
    assert [(record.search_id, record.new) for record in ledger.search_log()] == [("s2", 1), ("s1", 0)]


def test_one_call_that_asks_several_sources_has_a_record_for_each() -> None:
    """Design: one search record, own id, for each source asked."""
    ledger = Ledger("run")
    ids = [ledger.open_search("all", 1, 0, part=part) for part in range(3)]
    _search(ledger, "all", A, B, source="pubmed", part=0)
    _search(ledger, "all", B, C, source="europepmc", part=1)
    _search(ledger, "all", source="biorxiv", part=2, status="failed", error=source_error("biorxiv", "timeout", "Slow."))
    assert ids == ["s1", "s2", "s3"]
    assert [(record.source, record.new, record.duplicates) for record in ledger.search_log()] == [
        ("pubmed", 2, 0),
        ("europepmc", 1, 1),
        ("biorxiv", 0, 0),
    ]


def test_works_got_by_fetch_or_read_are_not_new_in_a_later_search() -> None:
    ledger = Ledger("run")
    ledger.record_fetch("c1", 1, 0, source="pubmed", asked=1, references=[A])
    ledger.record_read("c2", 1, 1, source="pmc", references=[B])
    ledger.open_search("c3", 2, 0)
    record = _search(ledger, "c3", A, B, C)
    assert (record.new, record.duplicates) == (1, 2)


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.sampled_from(WORKS), max_size=6)), max_size=8))
def test_retrieved_is_new_plus_duplicates_and_new_adds_up_to_the_works_found(
    searches: list[tuple[int, list[Reference]]],
) -> None:
    ledger = Ledger("run")
    for number, (turn, hits) in enumerate(searches):
        ledger.open_search(f"c{number}", turn, number)
        _search(ledger, f"c{number}", *hits)
    log = ledger.search_log()
    assert all(record.retrieved == record.new + record.duplicates for record in log)
    assert all(record.new >= 0 and record.duplicates >= 0 for record in log)
    assert sum(record.retrieved for record in log) == sum(len(hits) for _, hits in searches)
    assert sum(record.new for record in log) == len({hit for _, hits in searches for hit in hits})
    assert ledger.counts().found == sum(record.new for record in log)
    (coverage,) = ledger.coverage() or (SourceCoverage(source="pubmed"),)
    assert coverage.asked == len(searches) == coverage.answered + coverage.failed


def test_works_that_turn_out_to_be_one_are_counted_as_one() -> None:
    registry = ArtifactRegistry()
    by_pmid = registry.hold(PubMedArticle(pmid="90000001"))
    by_doi = registry.hold(PubMedArticle(pmid="90000002", doi="10.5555/a"))
    ledger = Ledger("run", registry)
    _search(ledger, "c1", by_pmid)
    _search(ledger, "c2", by_doi)
    assert [record.new for record in ledger.search_log()] == [1, 1]
    registry.hold(PubMedArticle(pmid="90000001", doi="10.5555/a"))
    assert [(record.new, record.duplicates) for record in ledger.search_log()] == [(1, 0), (0, 1)]


def test_calls_made_by_code_have_their_own_ids() -> None:
    ledger = Ledger("run")
    assert [ledger.next_call_id(door) for door in ("given", "door", "given")] == ["given-1", "door-1", "given-2"]


# Coverage and failures


def test_empty_failed_cut_short_and_not_asked_are_four_different_things() -> None:
    """Promise 4 (K095): a busy source is not an empty one."""
    ledger = Ledger("run")
    _search(ledger, "c1", source="pubmed", status="failed", error=source_error("pubmed", "rate_limited", "Busy."))
    _search(ledger, "c2", source="europepmc")
    _search(ledger, "c3", A, source="europepmc")
    _search(ledger, "c4", A, source="biorxiv", status="partial")
    assert ledger.coverage(["clinicaltrials", "pubmed"]) == (
        SourceCoverage(source="clinicaltrials"),
        SourceCoverage(source="pubmed", asked=1, failed=1),
        SourceCoverage(source="europepmc", asked=2, answered=2, empty=1),
        SourceCoverage(source="biorxiv", asked=1, answered=1, truncated=1),
    )
    assert [each.source for each in ledger.coverage()] == ["pubmed", "europepmc", "biorxiv"]
    assert ledger.counts().failed_sources == ("pubmed",)


def test_a_source_that_answers_again_is_no_longer_failing() -> None:
    ledger = Ledger("run")
    _search(ledger, "c1", status="failed", error=source_error("pubmed", "timeout", "Slow."))
    _search(ledger, "c2", A)
    assert ledger.counts().failed_sources == ()


def test_failures_name_every_call_that_got_an_error() -> None:
    ledger = Ledger("run")
    _search(ledger, "c1", A)
    _search(ledger, "c2", status="failed", error=source_error("pubmed", "timeout", "Slow."))
    ledger.record_fetch("c3", 3, source="europepmc", asked=2, error=source_error("europepmc", "blocked", "No."))
    ledger.record_read("c4", 4, source="pmc", error=ErrorInfo(reason="pmc_unreachable", message="Gone."))
    assert [(each.source, each.reason, each.message, each.call_id, each.search_id) for each in ledger.failures()] == [
        ("pubmed", "pubmed_timeout", "Slow.", "c2", "s2"),
        ("europepmc", "europepmc_blocked", "No.", "c3", None),
        ("pmc", "pmc_unreachable", "Gone.", "c4", None),
    ]


# Shown


def test_held_is_not_shown() -> None:
    """Promise 1: only what this run has shown may be cited."""
    ledger = Ledger("run")
    _search(ledger, "c1", A, B)
    ledger.show(A, "pubmed:90000000", "title", 5, 5)
    assert (ledger.is_shown(A), ledger.is_shown(str(A)), ledger.is_shown(A.key)) == (True, True, True)
    assert not ledger.is_shown(B)
    assert not ledger.is_shown("no reference")
    assert ledger.shown_references() == (str(A),)
    assert ledger.shown_keys() == {A.key}


def test_a_reference_of_one_run_is_unknown_in_another_though_they_share_a_registry() -> None:
    """K083."""
    registry = ArtifactRegistry()
    one, two = Ledger("one", registry), Ledger("two", registry)
    for ledger, pmid in ((one, "90000001"), (two, "90000002")):
        ledger.show(registry.hold(PubMedArticle(pmid=pmid, title="T")), f"pubmed:{pmid}", "title", 1, 1)
    first, second = registry
    assert (one.is_shown(first), one.is_shown(second)) == (True, False)
    assert (two.is_shown(first), two.is_shown(second)) == (False, True)


def test_a_work_stays_shown_when_it_is_joined_to_an_earlier_one() -> None:
    registry = ArtifactRegistry()
    earlier = registry.hold(PubMedArticle(pmid="90000001"))
    shown = registry.hold(PubMedArticle(pmid="90000002", doi="10.5555/a", abstract_text="Text."))
    ledger = Ledger("run", registry)
    ledger.show(shown, "pubmed:90000002", "abstract", 5, 5)
    registry.hold(PubMedArticle(pmid="90000001", doi="10.5555/a"))
    canonical = registry.canonical(shown)
    assert canonical == earlier
    assert ledger.is_shown(earlier)
    assert ledger.level(earlier) == "abstract"
    assert [text.copy_id for text in ledger.shown_texts(earlier)] == ["pubmed:90000002"]


@pytest.mark.parametrize(
    ("section", "end", "length", "level"),
    [
        ("title", 20, 20, "snippet"),
        ("abstract", 400, 900, "snippet"),
        ("abstract", 900, 900, "abstract"),
        ("abstract", 0, 0, "snippet"),
        ("abstract/RESULTS", 90, 90, "snippet"),
        ("eligibility", 90, 90, "snippet"),
        ("Methods/Statistics", 50, 90, "full_text"),
        ("table/Table 1", 50, 50, "full_text"),
    ],
)
def test_the_level_of_what_was_shown_is_told_by_the_section(section: str, end: int, length: int, level: str) -> None:
    """Design: snippets count as screened, a whole abstract or full text as analysed."""
    ledger = Ledger("run")
    ledger.show(A, "pubmed:90000000", section, end, length)
    assert ledger.level(A) == level
    assert ledger.count_analyzed() == (level != "snippet")


def test_a_level_that_is_said_stands() -> None:
    ledger = Ledger("run")
    ledger.show(A, "pubmed:90000000", "abstract/RESULTS", 9, 9, level="abstract")
    assert ledger.level(A) == "abstract"
    assert ledger.level(B) is None


def test_an_abstract_shown_in_two_parts_is_shown_whole() -> None:
    ledger = Ledger("run")
    ledger.show(A, "pubmed:90000000", "abstract", 900, 900, start=400)
    assert ledger.level(A) == "snippet"
    ledger.show(A, "pubmed:90000000", "abstract", 400, 900)
    assert ledger.level(A) == "abstract"
    (shown,) = ledger.shown_texts(A)
    assert (shown.start, shown.end) == (0, 900)


def test_stretches_that_do_not_touch_stay_apart() -> None:
    ledger = Ledger("run")
    for start, end in ((500, 600), (0, 100), (90, 200)):
        ledger.show(A, "pmc:PMC9900001", "Methods", end, 900, start=start)
    ledger.show(A, "pubmed:90000000", "title", 9, 9, text_hash="0")
    assert [(text.section, text.start, text.end) for text in ledger.shown_texts(A)] == [
        ("Methods", 0, 200),
        ("Methods", 500, 600),
        ("title", 0, 9),
    ]
    assert ledger.shown_texts(B) == ()


def test_articles_analysed_are_families_and_not_works() -> None:
    registry = ArtifactRegistry()
    link = (RelatedRecord(relation="trial", nct_id="NCT99000001"),)
    references = [
        registry.hold(PubMedArticle(pmid=str(90000000 + number), related=link if number < 2 else ()))
        for number in range(4)
    ]
    ledger = Ledger("run", registry)
    for reference in references:
        ledger.show(reference, "x", "title", 9, 9)
    for reference in references[:3]:
        ledger.show(reference, "x", "abstract", 90, 90)
    ledger.show(references[0], "x", "Methods", 9, 9)
    assert ledger.count_analyzed() == ledger.counts().analyzed == 2
    assert Ledger.from_json(ledger.to_json()).count_analyzed(registry) == 2


# Flow


def test_the_flow_counts_works_from_search_to_answer() -> None:
    d, e, f = WORKS[3:6]
    ledger = Ledger("run")
    _search(ledger, "c1", A, B, C, d)
    _search(ledger, "c2", B, e, source="europepmc")
    ledger.record_fetch("c3", 2, source="pubmed", asked=1, references=[f])
    for work in (A, B, C, d, f):
        ledger.show(work, "x", "title", 9, 9)
    ledger.show(A, "x", "abstract", 90, 90)
    ledger.show(B, "x", "abstract", 90, 90)
    ledger.show(A, "x", "Methods", 9, 9)
    assert ledger.flow([A, d], {str(B): "read; not cited"}) == Flow(
        identified=6,
        duplicates=1,
        otherwise=1,
        unique=6,
        not_screened=1,
        screened=5,
        analysed=2,
        read=1,
        included=2,
        included_unread=1,
        studies=2,
        excluded=(
            Exclusion(stage="reading", reason="read; not cited", works=1),
            Exclusion(stage="screening", reason="no reason recorded", works=2),
        ),
        found_by=(
            FoundBy(sources=("pubmed",), works=3),
            FoundBy(sources=("europepmc", "pubmed"), works=1),
            FoundBy(sources=("europepmc",), works=1),
        ),
    )


def test_a_work_is_one_in_the_flow_by_whichever_of_its_keys_it_was_got_shown_and_included() -> None:
    registry = ArtifactRegistry()
    by_pmid = registry.hold(PubMedArticle(pmid="90000000"))
    by_doi = registry.hold(PubMedArticle(pmid="90000001", doi="10.5555/a"))
    registry.hold(PubMedArticle(pmid="90000000", doi="10.5555/a"))
    ledger = Ledger("run", registry)
    _search(ledger, "c1", by_pmid)
    _search(ledger, "c2", by_doi, source="europepmc")
    ledger.show(by_pmid, "x", "abstract", 90, 90)
    ledger.show(by_doi, "y", "title", 9, 9)
    flow = ledger.flow([registry.strongest(by_doi) or by_doi])
    works = len({registry.canonical(by_pmid), registry.canonical(by_doi)})
    assert (flow.unique, flow.screened, flow.included) == (works, works, 1)


@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(("search", "failed", "fetch", "read")),
            st.sampled_from(("pubmed", "europepmc", "biorxiv")),
            st.lists(st.sampled_from(WORKS), max_size=5),
            st.integers(0, 3),
        ),
        max_size=8,
    ),
    shown=st.lists(st.tuples(st.sampled_from(WORKS), st.sampled_from(("title", "abstract", "Methods")), st.booleans())),
    included=st.lists(st.sampled_from(WORKS), unique=True),
    explained=st.lists(st.sampled_from(WORKS)),
)
def test_the_numbers_of_the_flow_add_up(
    calls: list[tuple[str, str, list[Reference], int]],
    shown: list[tuple[Reference, str, bool]],
    included: list[Reference],
    explained: list[Reference],
) -> None:
    ledger = Ledger("run")
    for number, (kind, source, works, turn) in enumerate(calls):
        call = f"c{number}"
        if kind in ("search", "failed"):
            ledger.open_search(call, turn)
            got = works if kind == "search" else []
            _search(ledger, call, *got, source=source, **({"status": "failed"} if kind == "failed" else {}))
        elif kind == "fetch":
            ledger.record_fetch(call, turn, source=source, asked=len(works), references=works)
        else:
            ledger.record_read(call, turn, source=source, references=works[:1])
    for work, section, whole in shown:
        ledger.show(work, "x", section, 90 if whole else 9, 90)
    flow = ledger.flow(included, dict.fromkeys(map(str, explained), "explained"))
    log = ledger.search_log()

    assert flow.identified == sum(record.retrieved for record in log)
    assert flow.identified - flow.duplicates == sum(record.new for record in log)
    assert flow.unique == flow.identified - flow.duplicates + flow.otherwise
    assert flow.screened == flow.unique - flow.not_screened
    left_out = {stage: sum(e.works for e in flow.excluded if e.stage == stage) for stage in ("screening", "reading")}
    assert flow.analysed is not None
    assert flow.read is not None
    assert flow.screened == left_out["screening"] + flow.analysed + flow.included_unread
    assert flow.analysed == left_out["reading"] + flow.included - flow.included_unread
    assert flow.screened == flow.included + sum(left_out.values())
    assert flow.read <= flow.analysed
    assert flow.included == flow.studies == len(included)
    assert sum(found.works for found in flow.found_by) == len(
        {w for kind, _, ws, _ in calls if kind == "search" for w in ws}
    )
    assert min(value for value in flow.model_dump().values() if isinstance(value, int)) >= 0


def test_cited_works_are_kept_in_order() -> None:
    ledger = Ledger("run")
    ledger.cite([B, str(A), B])
    assert ledger.cited_references() == (str(B), str(A))


def test_what_is_no_reference_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'nonsense' is no reference"):
        Ledger("run").cite(["nonsense"])


# Keeping


def _filled() -> Ledger:
    ledger = Ledger("run")
    ledger.open_search("c0", 1, 0)
    _search(ledger, "c1", A, B)
    _search(ledger, "c2", status="failed", error=source_error("pubmed", "timeout", "Slow."))
    ledger.record_fetch("c3", 2, source="pubmed", asked=2, references=[A])
    ledger.record_read("c4", 3, source="pmc", references=[C])
    ledger.show(A, "pubmed:90000000", "abstract", 90, 90)
    ledger.show(C, "pmc:PMC9900001", "Methods", 9, 90, start=3)
    ledger.cite([A])
    ledger.next_call_id("given")
    return ledger


def test_a_ledger_reads_back_the_same_and_goes_on_alike() -> None:
    ledger = _filled()
    document = ledger.to_json()
    copies = [
        Ledger.from_json(document),
        Ledger.from_json(json.loads(document)),
        pickle.loads(pickle.dumps(ledger)),
        copy.deepcopy(ledger),
    ]
    for other in copies:
        assert other.to_json() == document
        assert other.entries == ledger.entries
        assert other.search_log() == ledger.search_log()
        assert other.failures() == ledger.failures()
        assert other.shown_texts(A) == ledger.shown_texts(A)
        assert other.cited_references() == ledger.cited_references()
        assert other.next_call_id("given") == "given-2"
        assert other.open_search("c0") == "s1"
        assert other.open_search("new") == "s4"


def test_a_document_of_another_form_is_refused() -> None:
    with pytest.raises(ValidationError):
        Ledger.from_json('{"format": 2}')


def test_threads_write_every_entry_once() -> None:
    ledger = Ledger("run")

    def write(worker: int) -> None:
        for number in range(40):
            _search(ledger, f"c{number}", WORKS[number % 8])
            ledger.show(WORKS[number % 8], "x", "title", worker, 9)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    log = ledger.search_log()
    assert len(log) == 40
    assert {record.search_id for record in log} == {f"s{number}" for number in range(1, 41)}
    assert sum(record.new for record in log) == 8
