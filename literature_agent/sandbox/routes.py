"""Which address belongs to which service, and who answers it."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from literature_agent.sandbox.corpus_index import Corpus
from literature_agent.sandbox.europepmc_answers import EuropePmcAnswers
from literature_agent.sandbox.messages import Reply, Request, text_reply
from literature_agent.sandbox.pubmed_answers import DATABASES, PubMedAnswers, fetch_error, search_error

_EUTILS = "/entrez/eutils/"
_EUROPEPMC = "/europepmc/webservices/rest/"
_SERVICES = (
    ("eutils", _EUTILS),
    ("europepmc", _EUROPEPMC),
)


class Routes:
    """Sends each request to the service that its address names."""

    def __init__(self, corpus: Corpus, *, base_url: str, today: Callable[[], datetime.date]) -> None:
        self._pubmed = PubMedAnswers(corpus, today=today)
        self._europepmc = EuropePmcAnswers(corpus, address=base_url + _EUROPEPMC)

    def service(self, path: str) -> str | None:
        """The service an address belongs to, by its beginning."""
        return next((name for name, start in _SERVICES if path.startswith(start)), None)

    def reply(self, request: Request) -> Reply:
        if request.path.startswith(_EUTILS):
            return self._eutils(request, request.path.removeprefix(_EUTILS))
        return self._europe_pmc(request, request.path.removeprefix(_EUROPEPMC))

    def _eutils(self, request: Request, utility: str) -> Reply:
        database = request.get("db", "pubmed").lower()
        as_json = request.get("retmode").lower() == "json"
        if database not in DATABASES:
            message = f"Invalid db name specified: {request.get('db')}"
            if utility == "efetch.fcgi":
                return fetch_error(message, status=400)
            return search_error(message, as_json=as_json)
        answers: dict[tuple[str, str], Callable[[Request], Reply]] = {
            ("esearch.fcgi", "pubmed"): self._pubmed.search,
            ("efetch.fcgi", "pubmed"): self._pubmed.fetch,
            ("esummary.fcgi", "pubmed"): self._pubmed.summaries,
            ("espell.fcgi", "pubmed"): self._pubmed.spelling,
        }
        answer = answers.get((utility, database))
        return answer(request) if answer else _not_found()

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
