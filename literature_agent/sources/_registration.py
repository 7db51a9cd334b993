"""What a source tells the rest of the house about itself."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from literature_agent.results import FetchResult, SearchResult
from literature_agent.settings import Settings
from literature_agent.transport import Transport


class SourceTools(Protocol):
    """The two moves every source can make. Own filters are keyword arguments named in `Source.filters`."""

    @property
    def search(self) -> Callable[..., Coroutine[Any, Any, SearchResult]]:
        """`search(query, *, max_results=10, page=None, **filters)`; each source spells out its own filters."""
        ...

    @property
    def fetch(self) -> Callable[[Sequence[str]], Coroutine[Any, Any, FetchResult]]: ...


@dataclass(frozen=True)
class Source:
    """Registration of one source."""

    name: str
    """Name a caller uses; also the prefix of error reasons."""
    label: str
    """Name a person reads: `PubMed`."""
    interface: str
    """Interface as PRISMA-S asks for it: `NCBI E-utilities (ESearch, EFetch)`."""
    search_tool: str
    """Name of the agent's search tool; it is also a method of the object that `build` gives."""
    fetch_tool: str
    guide: str
    """Name of the prompt guide under `prompts/sources/`."""
    fetches: tuple[str, ...]
    """Identifier kinds its fetch takes, its own first: `pmid`, `pmcid`, `doi`, `nct`, `epmc` (`SRC:id`)."""
    filters: frozenset[str]
    """Names of the filters its search takes beyond `query`, `max_results` and `page`."""
    build: Callable[[Transport], SourceTools]
    """The tools of this source over one transport."""
    tools: type[Any]
    """Class of what `build` gives: its method named by `search_tool` carries the schema that a model sees."""
    enabled: Callable[[Settings], bool]
    leaves: str
    """What leaves the machine and to whom, in one sentence for `doctor` and the README."""
    holds: str = "records of papers: full abstract, MeSH headings, linked works"
    """What a whole record is, for the description of the fetch tool."""
    needs_window: bool = False
    """Its search reads a window of days: it needs both `date_from` and `date_to`."""
    takes: Callable[[Mapping[str, Any]], bool] = lambda arguments: True
    """Whether a call with these arguments is meant for this source, where several share the names of their tools."""
    probe: Mapping[str, str] = field(default_factory=dict)
    """Filters of the small search that shows whether the source answers."""
