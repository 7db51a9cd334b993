"""Registry and guard at size: works held, references resolved, text scanned; and that twice the work takes twice the
time."""

from __future__ import annotations

import random
from collections.abc import Callable

from evals.benchmarks.measure import Figure, best, show
from literature_agent.artifacts import Author, PubMedArticle
from literature_agent.integrity.known import Known
from literature_agent.integrity.leaks import Guard
from literature_agent.registry import ArtifactRegistry, find_references

_ROUNDS = 2
LINEAR = 2.6
"""Twice the work may take so many times the time: two, and the noise of a shared machine."""


def works(number: int) -> list[PubMedArticle]:
    """Invented records, each with two identifiers, two authors and a journal of its own."""
    return [
        PubMedArticle(
            pmid=str(90_000_000 + place),
            doi=f"10.5555/bench.{place}",
            title=f"Synthetic trial number {place} of compound {place % 977} in condition {place % 383}",
            authors=(Author(family=f"Fam{place % 5000}", initials="A"), Author(family="Other", initials="B")),
            journal=f"Synthetic Journal of Benchmarks {place % 300}",
            year=2000 + place % 25,
            abstract_text="Invented. " * 10,
        )
        for place in range(number)
    ]


def run(*, small: bool = False) -> list[Figure]:
    held, resolved, characters = (2_000, 20_000, 50_000) if small else (100_000, 1_000_000, 1_000_000)
    # Texts first: a pass of the garbage collector over a hundred thousand works would be charged to them.
    pairs = {**_texts(characters), **_works(held, resolved)}
    figures = []
    for name, (seconds, amount, unit) in pairs.items():
        figures.append(Figure(name, amount / seconds["whole"], unit))
        figures.append(Figure(f"{name}: time against half of it", seconds["whole"] / seconds["half"], "x", LINEAR))
    return show("registry", figures)


_Pairs = dict[str, tuple[dict[str, float], float, str]]
"""By name: seconds of half the work and of the whole, how much the whole is, its unit."""


def _works(held: int, resolved: int) -> _Pairs:
    records = works(held)
    registry = ArtifactRegistry()
    references = [str(reference) for reference in registry.hold_all(records)]
    assert len(registry) == held

    def add(number: int) -> Callable[[], object]:
        return lambda: [own.hold(record) for own in (ArtifactRegistry(),) for record in records[:number]]

    texts = [" and ".join(references[at : at + 100]) for at in range(0, held, 100)]

    def resolve(number: int) -> Callable[[], object]:
        def work() -> int:
            known = 0
            for place in range(number // 100):
                known += sum(one.reference is not None for one in registry.resolve(texts[place % len(texts)]))
            if known != number:
                raise AssertionError(f"{known} of {number} references resolved")
            return known

        return work

    resolve(held)()  # works of which the record has been put together are not put together again
    return {
        f"hold {held:,} works": (best({"half": add(held // 2), "whole": add(held)}, _ROUNDS), held, "works/s"),
        f"resolve {resolved:,} references": (
            best({"half": resolve(resolved // 2), "whole": resolve(resolved)}, 1),
            resolved,
            "refs/s",
        ),
    }


def _texts(characters: int) -> _Pairs:
    records = works(1000)
    references = [str(reference) for reference in ArtifactRegistry().hold_all(records)]
    prose = _prose(characters, references)
    guard = Guard.of(lambda kind, value: None, Known.of(records[:200]), "Does compound 5 help in condition 7?")
    assert len(list(find_references(" ".join(references[:100])))) == 100

    def tokens_in(text: str) -> Callable[[], object]:
        return lambda: sum(1 for _ in find_references(text))

    def leaks_in(text: str) -> Callable[[], object]:
        return lambda: guard.find(text)

    half = prose[: len(prose) // 2]
    return {
        f"find references in {characters:,} characters": (
            best({"half": tokens_in(half), "whole": tokens_in(prose)}, _ROUNDS),
            characters / 1e6,
            "MB/s",
        ),
        f"find leaks in {characters:,} characters": (
            best({"half": leaks_in(half), "whole": leaks_in(prose)}, _ROUNDS),
            characters / 1e6,
            "MB/s",
        ),
    }


def _prose(characters: int, references: list[str]) -> str:
    """Sentences as a model writes them: mostly clean, some with a reference, some with what must not stand there."""
    chance = random.Random(4)
    leaks = (
        "as Fam12 et al. (2012) reported",
        "see doi:10.5555/bench.7",
        "(PMID 90000005)",
        "in Synthetic Journal of Benchmarks 7, 2003",
    )
    pieces: list[str] = []
    size = 0
    while size < characters:
        piece = f"The effect was {chance.random():.3f} (95% CI 0.4-0.9) in {chance.randrange(10, 900)} patients"
        draw = chance.random()
        if draw < 0.3:
            piece += f" {chance.choice(references)}"
        elif draw < 0.4:
            piece += f" {chance.choice(leaks)}"
        pieces.append(piece + ". ")
        size += len(pieces[-1])
    return "".join(pieces)[:characters]
