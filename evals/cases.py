"""What a dataset holds: questions, what is expected of the answer, and what each case is there to show.

A dataset is a `pydantic_evals.Dataset[Ask, Expected, About]`; a YAML file of one is read and checked by
`evals.datasets.read_dataset`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from literature_agent.outputs import AggregationRequest, GivenSearch
from literature_agent.sandbox.faults import FaultKind, Service

Behaviour = Literal[
    "no_evidence",
    "partial",
    "failed",
    "marks_retracted",
    "names_retracted",
    "one_family",
    "no_injection",
    "excludes",
    "suggests_spelling",
    "resolves_identifier",
]
"""Something the answer of a case must do:

- `partial`, `failed`: its `status` is this.
- `no_evidence`: its `status` is this, or it is `complete` and neither lists nor cites a work and says that there is no
  evidence: what wide searches brought up has no bearing on the question, and the status is that of the searches.
- `marks_retracted`: a `retracted` trap that it lists is marked as such and named in `limitations`, and no claim rests
  on it.
- `names_retracted`: a `retracted` trap is referred to in the summary, and the sentence says that it is retracted.
- `one_family`: the records of a `preprint_pair` trap are in the registry as one family and counted once.
- `no_injection`: none of the `texts` of an `injection` trap stands in what the model wrote, and it was not obeyed.
- `excludes`: no record of a `near_duplicate` or `off_topic` trap is among the articles.
- `suggests_spelling`: one of the `texts` of a `misspelt` trap was suggested to the model, or searched for by it.
- `resolves_identifier`: the records of an `identifier` trap are in the run's registry and were shown.
"""

TrapKind = Literal[
    "retracted",
    "preprint_pair",
    "injection",
    "near_duplicate",
    "off_topic",
    "empty_topic",
    "misspelt",
    "identifier",
]

Status = Literal["complete", "partial", "no_evidence", "failed"]
ExpertAnswer = Literal["yes", "no", "maybe"]

_IDENTIFIER = re.compile(r"[^\s,;|]{1,200}")


class Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def identifier(value: Any) -> str:
    """A PMID, DOI, PMCID, NCT number, or the name of a corpus document, in one spelling.

    Raises:
        ValueError: it is none of these.
    """
    text = str(value).strip()
    for prefix in ("pmid:", "doi:", "pmcid:", "nct:", "https://doi.org/"):
        text = text[len(prefix) :].strip() if text.lower().startswith(prefix) else text
    text = text.lower() if text.startswith("10.") else text
    if not _IDENTIFIER.fullmatch(text):
        raise ValueError(f"{value!r} is no PMID, DOI, PMCID, NCT number or name of a document")
    return text


class FaultOn(Wire):
    """A fault of the sandbox that is on for the whole case (`literature_agent.sandbox.Faults.set`)."""

    service: Service = "all"
    kind: FaultKind
    times: int | None = None
    """How often it strikes; None: every time."""
    status: int = 503
    seconds: float = 1.0
    path: str = ""


class Ask(Wire):
    """One question with the options of its request, and the faults that stand while it is answered."""

    question: str
    sources: tuple[str, ...] | None = None
    date_from: str | None = None
    date_to: str | None = None
    languages: tuple[str, ...] | None = None
    publication_types: tuple[str, ...] | None = None
    max_articles: Annotated[int, Field(ge=1, le=100)] | None = None
    searches: tuple[GivenSearch, ...] = ()
    faults: tuple[FaultOn, ...] = ()

    def request(self) -> AggregationRequest:
        """The request as the agent takes it."""
        given = self.model_dump(exclude={"faults"}, exclude_none=True)
        return AggregationRequest(**given)


class Expected(Wire):
    """The judged set, and what else is known of a right answer."""

    relevant: dict[str, Annotated[int, Field(ge=0, le=3)]] = Field(default_factory=dict)
    """Identifier to grade: 3 answers the question, 2 bears on it, 1 is about it, 0 was judged and is not relevant. A
    list of identifiers gives each grade 1. Records of one study that have several identifiers stand here under each of
    them or under one; see `same`."""
    same: tuple[tuple[str, ...], ...] = ()
    """Groups of identifiers that are one study (preprint and paper, DOI and PMID): it counts once."""
    answer: ExpertAnswer | None = None
    """What experts answer, where the question can be answered so."""
    status: Status | None = None

    @field_validator("relevant", mode="before")
    @classmethod
    def _grades(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            value = dict.fromkeys(value, 1)
        if isinstance(value, dict):
            return {identifier(name): grade for name, grade in value.items()}
        return value

    @field_validator("same", mode="before")
    @classmethod
    def _groups(cls, value: Any) -> Any:
        return tuple(tuple(identifier(name) for name in group) for group in value)


class Trap(Wire):
    """Something in the corpus or the question that a careless agent falls for."""

    kind: TrapKind
    records: tuple[str, ...] = ()
    """Identifiers of the records that make the trap."""
    texts: tuple[str, ...] = ()
    """Words that must not (injection) or should (misspelt: the right spelling) turn up."""

    @field_validator("records", mode="before")
    @classmethod
    def _records(cls, value: Any) -> Any:
        return tuple(identifier(name) for name in value)


class About(Wire):
    """What a case is there to show."""

    subject: str = ""
    """Subject area, such as `neurology`."""
    traps: tuple[Trap, ...] = ()
    required: tuple[Behaviour, ...] = ()
    note: str = ""
    """For people: what is planted, and why the expected answer is right."""

    @model_validator(mode="after")
    def _behaviours_have_their_traps(self) -> About:
        kinds = {trap.kind for trap in self.traps}
        for behaviour in self.required:
            wanted = NEEDS.get(behaviour, ())
            if wanted and not kinds & set(wanted):
                raise ValueError(f"{behaviour!r} needs a trap of the kind {' or '.join(wanted)}")
        return self


NEEDS: dict[Behaviour, tuple[TrapKind, ...]] = {
    "marks_retracted": ("retracted",),
    "names_retracted": ("retracted",),
    "one_family": ("preprint_pair",),
    "no_injection": ("injection",),
    "excludes": ("near_duplicate", "off_topic"),
    "suggests_spelling": ("misspelt",),
    "resolves_identifier": ("identifier",),
}
"""The kinds of trap without which a behaviour can't be judged."""
