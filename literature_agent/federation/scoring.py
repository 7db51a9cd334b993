"""How a federated search orders what several sources found: four parts, each from 0 to 1, and their weighted sum.

- rank: the best place that any source gave the record; place 1 is 1, place 11 is a half.
- study type: how much evidence a study of this type can carry.
- prior: peer review, registration, and what became of the paper since.
- recency: halves every ten years.
"""

from __future__ import annotations

from typing import NamedTuple

from literature_agent.artifacts import CitationArtifact, ClinicalTrial, study_type

WEIGHTS = {"rank": 0.40, "study type": 0.25, "prior": 0.20, "recency": 0.15}

_HALF_PLACE = 10
_HALF_LIFE_YEARS = 10
_UNDATED = 0.25

REVIEWED, UNREVIEWED, REGISTERED = 0.9, 0.75, 0.8
_STATUS_PRIOR = {"retracted": 0.05, "concern": 0.4}
_NOTICE_PRIOR = 0.1

# The order follows the levels of evidence that guideline groups use; the steps between them are ours.
_EVIDENCE = {
    "Meta-Analysis": 1.0,
    "Systematic Review": 1.0,
    "Practice Guideline": 0.95,
    "Guideline": 0.95,
    "Randomized Controlled Trial": 0.9,
    "Clinical Trial, Phase III": 0.85,
    "Controlled Clinical Trial": 0.8,
    "Clinical Trial, Phase II": 0.75,
    "Clinical Trial": 0.7,
    "Clinical Trial, Phase I": 0.65,
    "Multicenter Study": 0.65,
    "Observational Study": 0.65,
    "Comparative Study": 0.6,
    "Registered trial": 0.6,
    "Review": 0.55,
    "Clinical Trial Protocol": 0.45,
    "Case Reports": 0.35,
    "Editorial": 0.2,
    "Letter": 0.2,
    "Comment": 0.15,
    "Notice": 0.0,
}
_OTHER_EVIDENCE = 0.5


class Place(NamedTuple):
    """Where one source listed a record, counted from 1."""

    source: str
    place: int


class Part(NamedTuple):
    """One part of a score: its value and what it was read from."""

    name: str
    value: float
    why: str


class Score(NamedTuple):
    """The weighted sum of the parts, and the parts."""

    value: float
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """`score 0.83: rank 1.00 (pubmed 1, europepmc 4), study type 0.90 (Randomized Controlled Trial), ...`."""
        return f"score {self.value:.2f}: " + ", ".join(f"{p.name} {p.value:.2f} ({p.why})" for p in self.parts)


def score(artifact: CitationArtifact, places: tuple[Place, ...], *, year: int) -> Score:
    """The score of a record that sources listed at `places`, in the calendar year `year`."""
    best = min(place for _, place in places)
    kind = study_type(artifact)
    prior, why = _prior(artifact)
    age = None if artifact.year is None else max(0, year - artifact.year)
    parts = (
        Part("rank", 1 / (1 + (best - 1) / _HALF_PLACE), ", ".join(f"{source} {place}" for source, place in places)),
        Part("study type", _EVIDENCE.get(kind, _OTHER_EVIDENCE), kind),
        Part("prior", prior, why),
        Part(
            "recency",
            _UNDATED if age is None else 0.5 ** (age / _HALF_LIFE_YEARS),
            "no year" if artifact.year is None else str(artifact.year),
        ),
    )
    return Score(round(sum(WEIGHTS[part.name] * part.value for part in parts), 3), parts)


def formula() -> str:
    """The sum in words: `0.40 rank + 0.25 study type + ...`."""
    return " + ".join(f"{weight:.2f} {name}" for name, weight in WEIGHTS.items())


def _prior(artifact: CitationArtifact) -> tuple[float, str]:
    if artifact.is_notice:
        return _NOTICE_PRIOR, "notice"
    if artifact.correction_status in _STATUS_PRIOR:
        return _STATUS_PRIOR[artifact.correction_status], artifact.correction_status
    if isinstance(artifact, ClinicalTrial):
        return REGISTERED, "registered"
    return (UNREVIEWED, "preprint") if artifact.is_preprint else (REVIEWED, "published")
