"""What a caller asks, what the model submits (draft), and what the caller gets.

The draft holds only references, search ids, quotes and prose; every bibliographic fact in the output is put there by
code, from records that this run has shown to the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypedDict, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationInfo, field_validator, model_validator
from pydantic_core import from_json

from literature_agent.artifacts import Artifact, Quote, Record
from literature_agent.errors import split_names
from literature_agent.ledger import Flow, SearchRecord, SourceCoverage
from literature_agent.registry import ArtifactRegistry

GapBasis = Literal["stated_in_literature", "null_search", "not_searched"]
OutputStatus = Literal["complete", "partial", "no_evidence", "failed"]

MAX_QUESTION_CHARACTERS = 20_000
LONGEST_RUN_S = 365 * 24 * 3600


class GivenSearch(Record):
    """A librarian's own search line: run first, unchanged, logged as given."""

    source: str
    query: str

    @field_validator("source", "query")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is empty: give the name of a source and a search line")
        return value


class AggregationRequest(Record):
    """One question with its limits.

    Dates are publication dates, `YYYY[-MM[-DD]]`; `since_entry_date` is the date of entry into the database.
    """

    question: Annotated[str, Field(examples=["Does metformin slow cognitive decline in older adults with diabetes?"])]
    sources: Annotated[
        tuple[str, ...] | None,
        Field(description="Any of pubmed, europepmc, biorxiv, medrxiv, clinicaltrials; those set up if absent"),
    ] = None
    date_from: str | None = None
    date_to: str | None = None
    since_entry_date: str | None = None
    languages: Annotated[tuple[str, ...] | None, Field(description="Such as eng")] = None
    publication_types: Annotated[tuple[str, ...] | None, Field(description="Such as Review")] = None
    max_articles: Annotated[int, Field(ge=1, le=100)] = 20
    searches: tuple[GivenSearch, ...] = ()

    @field_validator("sources", mode="before")
    @classmethod
    def _split_sources(cls, value: Any) -> Any:
        return split_names(value)

    @field_validator("date_from", "date_to", "since_entry_date", mode="before")
    @classmethod
    def _blank_date_is_absent(cls, value: Any) -> Any:
        return None if isinstance(value, str) and not value.strip() else value


class RequestLimits(TypedDict, total=False):
    """The members of `AggregationRequest` beside the question, as keywords; None: as if not given."""

    sources: Sequence[str] | str | None
    date_from: str | None
    date_to: str | None
    since_entry_date: str | None
    languages: Sequence[str] | None
    publication_types: Sequence[str] | None
    max_articles: int | None
    searches: Sequence[GivenSearch] | None


class Budget(Record):
    """Limits of one run; None means no limit of that kind. Reaching one is a normal ending (`partial`)."""

    max_requests: Annotated[int | None, Field(ge=1)] = 30
    """Requests to the model."""
    max_tool_calls: Annotated[int | None, Field(ge=0)] = 60
    """Calls of the tools that search and read; those that fail are calls too."""
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    """Tokens in and out together."""
    max_cost_usd: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None
    deadline_s: Annotated[float | None, Field(gt=0, le=LONGEST_RUN_S, allow_inf_nan=False)] = None
    """Wall time of the whole run, seconds; a year at most."""


# --- what the model submits -------------------------------------------------------------------------------------------


_BETWEEN = re.compile(r"\s*[,;\n]\s*|(?<=[»\]])\s*(?=[«\[])")


class Draft(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    left_out: ClassVar[dict[str, str]] = {}
    """What is meant by members that the schema asks for, where a model leaves them out: no answer is lost for them."""

    @model_validator(mode="before")
    @classmethod
    def _with_what_is_left_out(cls, value: Any) -> Any:
        if isinstance(value, str) and cls is DraftArticle:
            value = {"reference": value}
        if not isinstance(value, dict):
            return value
        return {**cls.left_out, **{name: given for name, given in value.items() if given is not None}}

    @field_validator("*", mode="before")
    @classmethod
    def _lists_in_other_forms(cls, value: Any, about: ValidationInfo) -> Any:
        """Models send null, one text, or a list as JSON text, where a list is wanted (K093, K102)."""
        field = cls.model_fields[about.field_name or ""]
        if field.default_factory is not list:
            return value
        if isinstance(value, str):
            with suppress(ValueError):
                value = from_json(value)
        if isinstance(value, str) and about.field_name in ("references", "searches", "quotes"):
            # Quotes are full of commas.
            value = [value] if about.field_name == "quotes" else _BETWEEN.split(value.strip())
        if about.field_name == "searches" and value is not None:
            # `3` for `s3`
            return [
                str(each) if isinstance(each, int) else each for each in (value if isinstance(value, list) else [value])
            ]
        return [] if value is None else value


class DraftArticle(Draft):
    left_out: ClassVar[dict[str, str]] = {"reason": ""}

    reference: Annotated[str, Field(description="Reference copied exactly from a tool result.")]
    reason: Annotated[str, Field(description="One sentence: why this article matters for the question.")]
    quotes: Annotated[
        list[str],
        Field(default_factory=list, description="Optional: up to 3 sentences copied word for word from its text."),
    ]


class DraftTheme(Draft):
    left_out: ClassVar[dict[str, str]] = {"description": ""}

    name: Annotated[str, Field(description="A few words.")]
    description: Annotated[str, Field(description="Two or three sentences, each with references.")]
    references: Annotated[list[str], Field(default_factory=list, description="References that carry this theme.")]


class DraftGap(Draft):
    left_out: ClassVar[dict[str, str]] = {"basis": "not_searched"}

    description: Annotated[str, Field(description="What is not known, in one or two sentences.")]
    basis: Annotated[
        GapBasis,
        Field(
            description="stated_in_literature: authors say so (give a quote); null_search: a search found nothing "
            "(give its id); not_searched: neither."
        ),
    ]
    references: Annotated[list[str], Field(default_factory=list, description="References whose authors name the gap.")]
    searches: Annotated[
        list[str], Field(default_factory=list, description="Ids (`s3`) of searches that found nothing.")
    ]
    quotes: Annotated[
        list[str], Field(default_factory=list, description="The words in which authors name the gap, copied exactly.")
    ]


class AggregationDraft(Draft):
    """The answer with its papers, themes and gaps; every reference copied from a tool result."""

    summary: Annotated[
        str, Field(description="The answer in prose; every sentence that claims something carries references.")
    ]
    relevant_articles: Annotated[list[DraftArticle], Field(default_factory=list, description="Best first.")]
    key_themes: Annotated[list[DraftTheme], Field(default_factory=list, description="Themes across articles.")]
    research_gaps: Annotated[list[DraftGap], Field(default_factory=list, description="What is not known.")]


# --- what the caller gets ---------------------------------------------------------------------------------------------


class KeyTheme(Record):
    name: str
    description: str
    references: tuple[str, ...] = ()


class ResearchGap(Record):
    description: str
    basis: GapBasis
    references: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()


class ExcludedWork(Record):
    """A work that the run saw and left out, and why (written by code)."""

    reference: str
    reason: str


class IntegrityReport(Record):
    """What the checks found and did. All zero is a clean run."""

    unknown_references: int = 0
    leaks_replaced: int = 0
    leaks_cut: int = 0
    quotes_dropped: int = 0
    claims_unsupported: int = 0
    gaps_downgraded: int = 0
    versions_joined: int = 0
    """References to an earlier version (preprint, paper since updated) that stood beside the later one as a study."""
    repair_rounds: int = 0


class RunUsage(Record):
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tool_calls: int = 0
    """As the budget counts them: those that failed are among them."""
    cost_usd: float | None = None
    """None where the price of the model is not known."""


Renderer: TypeAlias = Callable[["LiteratureAggregationOutput"], str]

_PRIVATE = ("_registry", "_html", "_markdown")


class LiteratureAggregationOutput(Record):
    """The answer. Prose is the model's, checked; everything else is written by code from what the run saw.

    Reads back equal from its JSON. The live registry is a private attribute: it is not serialised, and pickle and copy
    drop it.
    """

    run_id: str
    question: str
    summary: str
    """Prose with references; `render_text(output.summary, output)` makes them numbers and adds the bibliography."""
    relevant_articles: tuple[Artifact, ...] = ()
    """Best first, each of its class in `literature_agent.artifacts`, with the reason as `relevance` and `quotes`."""
    articles_analyzed: int = 0
    """Families of which the model was shown the whole abstract or full text; snippets count as screened."""
    key_themes: tuple[KeyTheme, ...] = ()
    research_gaps: tuple[ResearchGap, ...] = ()
    status: OutputStatus
    """`complete`: ended by itself, and every source asked answered. `partial`: ended early, or a source failed while
    another answered. `no_evidence`: all answered, and nothing was found. `failed`: no source answered."""
    limitations: tuple[str, ...] = ()
    """Sentences about what a reader must know: what was not asked, failed, was cut, is retracted ..."""
    coverage: tuple[SourceCoverage, ...] = ()
    search_log: tuple[SearchRecord, ...] = ()
    """Every search as it was sent, in order."""
    excluded: tuple[ExcludedWork, ...] = ()
    flow: Flow | None = None
    """How many works passed each stage of the run; None where nobody counted."""
    integrity: IntegrityReport = IntegrityReport()
    usage: RunUsage = RunUsage()
    model: str
    started_at: datetime
    duration_s: float

    _registry: ArtifactRegistry | None = PrivateAttr(default=None)
    _html: Renderer | None = PrivateAttr(default=None)
    _markdown: Renderer | None = PrivateAttr(default=None)

    @property
    def registry(self) -> ArtifactRegistry | None:
        """The live registry of the run, for following references; None after pickling, copying or reading back."""
        return self._registry

    def attach(
        self, registry: ArtifactRegistry, html: Renderer | None = None, markdown: Renderer | None = None
    ) -> Self:
        """This output with its live registry and the renderers that notebooks show it by."""
        self._registry = registry
        self._html = html
        self._markdown = markdown
        return self

    def _repr_html_(self) -> str | None:
        return self._html(self) if self._html is not None else None

    def _repr_markdown_(self) -> str | None:
        return self._markdown(self) if self._markdown is not None else None

    def __eq__(self, other: object) -> bool:
        # Without the private attributes: an answer read back from its JSON equals the live one.
        if not isinstance(other, LiteratureAggregationOutput):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        return {**state, "__pydantic_private__": dict.fromkeys(_PRIVATE)}

    def __copy__(self) -> Self:
        return _detached(super().__copy__())

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        bare = copy(self)
        return _detached(super(LiteratureAggregationOutput, bare).__deepcopy__(memo))


Output = TypeVar("Output", bound=LiteratureAggregationOutput)


def _detached(output: Output) -> Output:
    object.__setattr__(output, "__pydantic_private__", dict.fromkeys(_PRIVATE))
    return output
