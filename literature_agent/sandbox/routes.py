"""Which address belongs to which service, and who answers it."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from literature_agent.sandbox.biorxiv_answers import BiorxivAnswers
from literature_agent.sandbox.corpus_index import Corpus
from literature_agent.sandbox.europepmc_answers import EuropePmcAnswers
from literature_agent.sandbox.links_answers import LinkAnswers, MeshAnswers
from literature_agent.sandbox.messages import Reply, Request, json_reply, text_reply
from literature_agent.sandbox.pmc_answers import PmcAnswers
from literature_agent.sandbox.pubmed_answers import DATABASES, PubMedAnswers, fetch_error, search_error
from literature_agent.sandbox.trials_answers import TrialAnswers

_EUTILS = "/entrez/eutils/"
_PMC = "/pmc/"
_EUROPEPMC = "/europepmc/webservices/rest/"
_BIORXIV = "/biorxiv/"
_TRIALS = "/api/v2/"
_SERVICES = (
    ("eutils", _EUTILS),
    ("pmc", _PMC),
    ("europepmc", _EUROPEPMC),
    ("biorxiv", _BIORXIV),
    ("clinicaltrials", _TRIALS),
)


class Routes:
    """Sends each request to the service that its address names."""

    def __init__(self, corpus: Corpus, *, base_url: str, today: Callable[[], datetime.date]) -> None:
        pubmed, links, mesh = PubMedAnswers(corpus, today=today), LinkAnswers(corpus), MeshAnswers(corpus)
        self._pmc = PmcAnswers(corpus, today=today)
        self._europepmc = EuropePmcAnswers(corpus, address=base_url + _EUROPEPMC)
        self._biorxiv = BiorxivAnswers(corpus, today=today)
        self._trials = TrialAnswers(corpus)
        self._utilities: dict[tuple[str, str], Callable[[Request], Reply]] = {
            ("esearch.fcgi", "pubmed"): pubmed.search,
            ("esearch.fcgi", "mesh"): mesh.search,
            ("efetch.fcgi", "pubmed"): pubmed.fetch,
            ("efetch.fcgi", "pmc"): self._pmc.fetch,
            ("esummary.fcgi", "pubmed"): pubmed.summaries,
            ("esummary.fcgi", "mesh"): mesh.summaries,
            ("espell.fcgi", "pubmed"): pubmed.spelling,
            ("elink.fcgi", "pubmed"): links.links,
            ("elink.fcgi", "pmc"): links.links,
            ("ecitmatch.cgi", "pubmed"): links.match_citations,
        }

    def service(self, path: str) -> str | None:
        """The service an address belongs to, by its beginning."""
        return next((name for name, start in _SERVICES if path.startswith(start)), None)

    def reply(self, request: Request) -> Reply:
        path = request.path
        if path.startswith(_EUTILS):
            return self._eutils(request, path.removeprefix(_EUTILS))
        if path.startswith(_PMC):
            return self._pmc_tools(request, path.removeprefix(_PMC))
        if path.startswith(_BIORXIV):
            head, _, rest = path.removeprefix(_BIORXIV).partition("/")
            return self._biorxiv.details(request, rest) if head == "details" else _not_found()
        if path.startswith(_TRIALS):
            return self._clinical_trials(request, path.removeprefix(_TRIALS))
        return self._europe_pmc(request, path.removeprefix(_EUROPEPMC))

    def close(self) -> None:
        self._trials.close()

    def _eutils(self, request: Request, utility: str) -> Reply:
        database = request.get("db", "pubmed").lower()
        if database not in DATABASES:
            message = f"Invalid db name specified: {request.get('db')}"
            if utility == "efetch.fcgi":
                return fetch_error(message, status=400)
            return search_error(message, as_json=request.get("retmode").lower() == "json")
        answer = self._utilities.get((utility, database))
        return answer(request) if answer else _not_found()

    def _pmc_tools(self, request: Request, path: str) -> Reply:
        if path.strip("/") == "tools/idconv/api/v1/articles":
            return self._pmc.convert(request)
        if path.strip("/") == "api/oai/v1/mh":
            return self._pmc.harvest(request)
        return _not_found()

    def _clinical_trials(self, request: Request, path: str) -> Reply:
        match path.strip("/").split("/"):
            case ["studies"]:
                return self._trials.search(request)
            case ["studies", number]:
                return self._trials.study(number)
            case ["version"]:
                return json_reply({"apiVersion": "2.0.5", "dataTimestamp": "2026-01-01T00:00:00"})
        return _not_found()

    def _europe_pmc(self, request: Request, path: str) -> Reply:
        match path.strip("/").split("/"):
            case ["search" | "searchPOST"]:
                return self._europepmc.search(request)
            case ["article", source, number]:
                return self._europepmc.article(request, source, number)
            case [source, number, "citations"]:
                return self._europepmc.citations(request, source, number)
            case [source, number, "references"]:
                return self._europepmc.references(request, source, number)
            case [number, "fullTextXML"]:
                return self._europepmc.full_text(number)
        return _not_found()


def _not_found() -> Reply:
    return text_reply("Not found\n", status=404)
