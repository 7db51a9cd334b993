"""Queue depth, waiting time, questions and cost of batches."""

from __future__ import annotations

from opentelemetry import metrics


class BatchMeter:
    """Writes the figures of one queue; without a collector set up in the process they go nowhere.

    `literature_agent.queue.depth` (questions waiting or on their way), `literature_agent.queue.wait` (seconds from
    asked to begun), `literature_agent.questions` (ended, by `outcome`), `literature_agent.cost` (US dollars).
    """

    def __init__(self, queue: str) -> None:
        meter = metrics.get_meter("literature_agent")
        self._marks = {"queue": queue}
        self._depth = meter.create_gauge("literature_agent.queue.depth", unit="{question}")
        self._wait = meter.create_histogram("literature_agent.queue.wait", unit="s")
        self._questions = meter.create_counter("literature_agent.questions", unit="{question}")
        self._cost = meter.create_counter("literature_agent.cost", unit="USD")

    def depth(self, questions: int) -> None:
        """How many questions are waiting or on their way."""
        self._depth.set(questions, self._marks)

    def ended(self, outcome: str, waited_s: float | None, cost_usd: float | None) -> None:
        """A question ended: with the status of its answer, or `error`."""
        self._questions.add(1, {**self._marks, "outcome": outcome})
        if waited_s is not None:
            self._wait.record(max(0.0, waited_s), self._marks)
        if cost_usd:
            self._cost.add(cost_usd, self._marks)
