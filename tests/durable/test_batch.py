"""A batch: every question has its row or its reason, and the same command goes on where it was."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from literature_agent.durable.batch import Batch, BatchLimits, DeadLetter, letters_file, write_letters
from literature_agent.durable.book import open_book
from literature_agent.durable.tables import BatchQuestion, Results, read_questions
from literature_agent.durable.worker import working
from literature_agent.errors import InvalidInputError, LiteratureError
from literature_agent.outputs import AggregationRequest, Budget
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings
from tests.durable.conftest import Measured, short_reply

ROW = {"run_id": "r", "status": "complete", "question": "Q?", "summary": "S, «x»\nT", "articles": ["a", "b"]}

AT_ONCE = BatchLimits(retry_delay_s=0)


def run_batch(
    settings: Settings,
    questions: Path,
    out: Path,
    reply: Callable[[list[ModelMessage], AgentInfo], ModelResponse] = short_reply,
    limits: BatchLimits = AT_ONCE,
    stop: threading.Event | None = None,
) -> Batch:
    with (
        open_book(settings) as book,
        working(settings, "q", concurrency=4, models={"short": FunctionModel(reply)}, poll_s=0.05),
    ):
        read = read_questions(questions, Budget())
        batch = Batch(book.client, "b", "q", read, Results(out), "short", limits)
        batch.run(stop or threading.Event(), every_s=0.05)
    write_letters(letters_file(out), list(batch.dead.values()))
    return batch


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_question_has_one_row_and_only_failures_are_asked_again(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    settings, questions, out = at(None), tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    questions.write_text(
        '{"id": "a", "question": "Metformin in dementia?"}\n'
        '{"id": "b", "question": "Statins and breakage?"}\n'
        '{"id": "c", "question": "Aspirin in dementia?", "sources": ["pubmed"], "max_requests": 4, "priority": 2}\n',
        encoding="utf-8",
    )
    broken, asked = threading.Event(), []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        text = str(messages[0])
        asked.append("b" if "breakage" in text else "other")
        if "breakage" in text and not broken.is_set():
            raise ZeroDivisionError("by zero")
        return short_reply(messages, info)

    first = run_batch(settings, questions, out, reply, BatchLimits(retries=1, retry_delay_s=0))
    assert sorted(row["id"] for row in lines(out)) == ["a", "c"]
    assert all(row["answer"]["relevant_articles"] for row in lines(out))
    assert (first.progress.done, first.progress.failed, asked.count("b")) == (2, 1, 2)
    [letter] = lines(letters_file(out))
    assert letter["id"] == "b"
    assert letter["attempts"] == 2
    assert "its provider failed (ZeroDivisionError)" in letter["error"]["message"]
    # The file of dead letters is a file of questions.
    assert [question.key for question in read_questions(letters_file(out), Budget())] == ["b"]

    # Attempts of earlier calls do not count against the retries of this one.
    run_batch(settings, questions, out, reply, BatchLimits(retries=1, retry_delay_s=0))
    assert asked.count("b") == 4

    broken.set()
    before = asked.count("other")
    again = run_batch(settings, questions, out, reply)
    assert sorted(row["id"] for row in lines(out)) == ["a", "b", "c"]
    assert again.progress.before == 2
    assert asked.count("other") == before
    assert not letters_file(out).exists()


def test_a_failing_model_is_a_partial_answer_and_not_a_dead_letter(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            raise ModelHTTPError(503, "short")
        return short_reply(messages, info)

    questions, out = tmp_path / "q.csv", tmp_path / "out.jsonl"
    questions.write_text("id,question\r\na,Metformin in dementia?\r\n", encoding="utf-8")
    for _ in range(2):  # the second call finds the row in the file
        ended = run_batch(at(None), questions, out, reply).progress
        assert (ended.done, ended.partial, ended.failed) == (1, 1, 0)
        assert ended.sentence() == "1 of 1 answered (1 only in part)"
    [row] = lines(out)
    assert row["status"] == "partial"
    assert row["articles"]


def test_no_question_gets_the_answer_of_another_that_had_its_id(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    settings, questions, out = at(None), tmp_path / "q.jsonl", tmp_path / "out.csv"
    line = '{{"id": "a", "question": "{}", "sources": ["pubmed"], "date_from": "{}"}}'
    questions.write_text(line.format("=Metformin?", "2001"), encoding="utf-8")
    run_batch(settings, questions, out)
    run_batch(settings, questions, out)  # the same question is known again, however the file spells it
    questions.write_text(line.format("Statins?", "2001"), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"another question with the id 'a': .*Metformin") as refused:
        run_batch(settings, questions, out)
    assert "another id" in refused.value.recovery
    # Without the file, the database still has the answer to the first question.
    out.unlink()
    assert run_batch(settings, questions, out).progress.done == 1
    assert Results(out).rows["a"].question == "Statins?"
    out.unlink()
    asked: list[str] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(str(messages[0]))
        return short_reply(messages, info)

    run_batch(settings, questions, out, reply)
    assert not asked  # the same question, whose answer is recorded
    out.unlink()
    questions.write_text(line.format("Statins?", "2011"), encoding="utf-8")
    run_batch(settings, questions, out, reply)
    assert asked


def test_a_batch_without_money_asks_nothing_and_says_so(at: Callable[[str | None], Settings], tmp_path: Path) -> None:
    questions, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    questions.write_text('{"id": "a", "question": "Metformin?", "max_cost_usd": 2}\n', encoding="utf-8")
    with open_book(at(None)) as book:
        read = read_questions(questions, Budget())
        batch = Batch(book.client, "b", "q", read, Results(out), "short", BatchLimits(max_cost_usd=1.0))
        batch.run(threading.Event(), every_s=0.01)
    assert batch.dead["a"].error.reason == "durable_budget"
    assert "batch's budget of 1 US dollars" in batch.dead["a"].error.message


def paid_reply(dollars: str | None) -> Callable[[list[ModelMessage], AgentInfo], ModelResponse]:
    """Each of the two requests of a question costs that much."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        cost = None if dollars is None else Decimal(dollars)
        return replace(short_reply(messages, info), usage=RequestUsage(input_tokens=10, output_tokens=1, cost=cost))

    return reply


def test_the_budget_is_that_of_the_whole_batch_and_what_is_done_is_measured(
    at: Callable[[str | None], Settings], tmp_path: Path, measured: Measured, sandbox: SandboxServer
) -> None:
    settings, questions, out = at(None), tmp_path / "q.jsonl", tmp_path / "out.csv"
    rows = [{"id": name, "question": f"Metformin, {name}?", "sources": ["pubmed"]} for name in "abc"]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    sandbox.faults.set("eutils", "rate_limit", times=1, seconds=0)

    first = run_batch(settings, questions, out, paid_reply("0.01"), BatchLimits(max_cost_usd=0.05))
    # Two cents each: the third could cost more than is left.
    assert Results(out).keys == {"a", "b"}
    assert list(first.dead) == ["c"]
    assert first.progress.cost_usd == pytest.approx(0.04)
    assert measured.points("literature_agent.questions") == {("complete", "q"): 2}
    assert measured.points("literature_agent.cost") == {("q",): pytest.approx(0.04)}
    assert measured.points("literature_agent.queue.depth") == {("q",): 0}
    [seconds] = measured.points("literature_agent.queue.wait").values()
    # By the clock of SQLite, in whole seconds.
    assert 0 <= seconds < 60
    assert measured.points("literature_agent.http.requests") == {("pubmed", 429): 1, ("pubmed", 200): 4}

    # The same command has only what the first one left of the budget.
    again = run_batch(settings, questions, out, paid_reply("0.01"), BatchLimits(max_cost_usd=0.05))
    assert (again.progress.before, list(again.dead)) == (2, ["c"])
    run_batch(settings, questions, out, paid_reply("0.01"), BatchLimits(max_cost_usd=0.1))
    assert Results(out).keys == {"a", "b", "c"}


def test_a_budget_that_can_not_be_kept_ends_the_batch_after_one_question(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    questions, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    questions.write_text('{"id": "a", "question": "One?"}\n{"id": "b", "question": "Two?"}\n', encoding="utf-8")
    batch = run_batch(at(None), questions, out, paid_reply(None), BatchLimits(max_cost_usd=5))
    assert [row["id"] for row in lines(out)] == ["a"]
    assert "price of the model is not known" in batch.dead["b"].error.message


def test_what_has_priority_is_asked_before_what_waits_longer(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    asked: list[str] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            asked.append(str(messages[0].parts[-1]))
        return short_reply(messages, info)

    settings, batches = at(None), list[Batch]()
    with open_book(settings) as book:
        for name, priority in (("patient", 5), ("urgent", 1), ("idle", 9)):
            file = tmp_path / f"{name}.jsonl"
            row = {"id": "a", "question": f"{name}?", "sources": ["pubmed"], "priority": priority}
            file.write_text(json.dumps(row), encoding="utf-8")
            results = Results(tmp_path / f"{name}.csv")
            batch = Batch(book.client, name, "q", read_questions(file, Budget()), results, "short")
            batch._open()
            batch._ask()
            batches.append(batch)
        with working(settings, "q", concurrency=1, models={"short": FunctionModel(reply)}, poll_s=0.05):
            for batch in batches:
                batch.run(threading.Event(), every_s=0.05)
    order = [name for text in asked for name in ("patient", "urgent", "idle") if name in text]
    assert order == ["urgent", "patient", "idle"]


def test_results_that_can_not_be_written_are_kept_in_the_database(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    asked = list[list[ModelMessage]]()

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(messages)
        out.mkdir(exist_ok=True)
        return short_reply(messages, info)

    questions, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    questions.write_text('{"id": "a", "question": "One?", "sources": ["pubmed"]}\n', encoding="utf-8")
    with pytest.raises(LiteratureError, match="The results can't be written: Is a directory") as refused:
        run_batch(at(None), questions, out, reply)
    assert "every answer is kept in the database" in refused.value.recovery
    out.rmdir()
    run_batch(at(None), questions, out, reply)
    assert [row["id"] for row in lines(out)] == ["a"]
    assert len(asked) == 2


def test_dead_letters_that_can_not_be_written_are_said_in_words(tmp_path: Path) -> None:
    question = BatchQuestion(key="a", request=AggregationRequest(question="Why?"), budget=Budget())
    for letters in ([], [DeadLetter(question, LiteratureError("x", reason="y"), 1)]):
        with pytest.raises(LiteratureError, match="without an answer can't be written: Is a directory"):
            write_letters(tmp_path, letters)


def test_a_disk_that_is_full_in_the_middle_of_a_row_costs_that_row_only(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    Results(out).add([{**ROW, "id": "a"}])
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (out.stat().st_size + 10, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            Results(out).add([{**ROW, "id": "b"}])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        lines(out)
    results = Results(out)
    assert results.keys == {"a"}
    results.add([{**ROW, "id": "b"}])
    assert [row["id"] for row in lines(out)] == ["a", "b"]


def test_a_parquet_file_is_not_written_anew_for_each_row(tmp_path: Path) -> None:
    from pyarrow import parquet

    out = tmp_path / "out.parquet"
    results, written = Results(out), set[int]()
    for number in range(60):
        results.add([{**ROW, "id": str(number), "cost_usd": None if number % 2 else 0.5, "answer": {"x": "y" * 1000}}])
        written.add(out.stat().st_mtime_ns)
    assert len(written) < 30
    results.flush()
    table = parquet.read_table(out).to_pylist()
    assert [row["id"] for row in table] == [str(number) for number in range(60)]
    assert table[0]["answer"] == json.dumps({"x": "y" * 1000})
    assert Results(out).rows["0"] == ("Q?", "r", "complete", 0.5)
    assert Results(out).rows["1"] == ("Q?", "r", "complete", None)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_row_is_written_once_and_a_row_cut_by_a_crash_is_taken_away(ending: str, tmp_path: Path) -> None:
    out = tmp_path / f"out.{ending}"
    Results(out).add([{**ROW, "id": "a"}, {**ROW, "id": "b"}])
    if ending != "parquet":
        with out.open("ab") as file:
            file.write(b'{"id": "c", "sum' if ending == "jsonl" else b'c,r,complete,"Q?')
    again = Results(out)
    assert again.keys == {"a", "b"}
    again.add([{**ROW, "id": "b"}, {**ROW, "id": "c"}, {**ROW, "id": "c"}])
    assert Results(out).keys == {"a", "b", "c"}
    if ending == "jsonl":
        assert [row["id"] for row in lines(out)] == ["a", "b", "c"]
    elif ending == "csv":
        with out.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["id"] for row in rows] == ["a", "b", "c"]
        assert rows[2]["summary"] == "S, «x» T"
    else:
        from pyarrow import parquet

        assert parquet.read_table(out).column("id").to_pylist() == ["a", "b", "c"]


def test_a_line_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    """`str.splitlines` ends a line at U+2028 and others, which JSON allows inside a text."""
    questions, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    questions.write_text('{"question": "one\u2028two\u0085three"}\n', encoding="utf-8")
    assert len(read_questions(questions, Budget())) == 1
    Results(out).add([{**ROW, "id": "a", "summary": "one\u2028two\u0085three"}])
    assert Results(out).keys == {"a"}


def test_no_cell_of_a_csv_is_run_as_a_formula_and_its_ids_are_read_back(tmp_path: Path) -> None:
    out, ids = tmp_path / "out.csv", ["=1+1", "+1", "-1", "@a", "'=1", "plain", "'quoted"]
    texts = ["=cmd", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "＝1"]
    Results(out).add([{**ROW, "id": key} for key in ids])
    Results(out).add([{**ROW, "id": f"t{n}", "question": text, "summary": text} for n, text in enumerate(texts)])
    assert Results(out).keys == {*ids, *(f"t{n}" for n in range(len(texts)))}
    with out.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@", "＝", "\t", "\r", "\n"))]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no question"),
        ("not json\n", "Line 1 is no JSON object"),
        ("[" * 100_000 + "\n", "Line 1 is no JSON object"),
        ('{"id": "a"}\n', "Row 1 has no `question`"),
        ('{"question": "  "}\n', "Row 1: The question is empty"),
        ('{"question": "q", "colour": 1}\n', "Row 1 has an unknown column 'colour'"),
        ('{"question": "q", "max_requests": 0}\n', "Row 1: max_requests"),
        ('{"question": "q", "date_from": "soon"}\n', "Row 1:"),
        ('{"question": "q", "priority": 0}\n', "Row 1: priority"),
        ('{"question": "q", "id": "a\\nb"}\n', "Row 1: its `id` is no line of text"),
        ('{"question": "q", "id": ""}\n', "Row 1: its `id` is no line of text"),
        ('{"question": "q", "id": [1]}\n', "Row 1: its `id` is no line of text"),
        ('{"question": "q"}\n{"question": "q"}\n', "stands twice"),
    ],
)
def test_a_bad_row_is_refused_by_its_number_before_anything_is_asked(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=said):
        read_questions(file, Budget())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.jsonl", "my notes\n"),
        ("notes.jsonl", "my notes"),
        ("notes.jsonl", "[1]\n"),
        ("notes.jsonl", "[" * 100_000 + "\n"),
        ("questions.jsonl", '{"id": "a", "question": "Why?"}\n'),
        ("questions.jsonl", '{"id": "a", "question": "Why?"}'),
        ("questions.csv", "id,question\r\na,Why?\r\n"),
        ("questions.csv", "id,question\na,Why?\n"),
        ("questions.csv", "id,question\r\n"),
    ],
)
def test_a_file_that_holds_no_results_is_not_overwritten(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(InvalidInputError, match="holds no results of a batch"):
        Results(file)
    assert file.read_bytes() == text.encode()


@pytest.mark.parametrize(("name", "text"), [("out.jsonl", '{"id": "a", "run_id": "r", "sum'), ("out.csv", "id,run_i")])
def test_a_file_that_was_cut_in_its_first_row_is_begun_anew(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    Results(file).add([{**ROW, "id": "a"}])
    assert Results(file).keys == {"a"}
