"""A desk in place of the network: what the E-utilities would answer, and what they were asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from literature_agent.sources.pubmed.client import PubMedClient
from literature_agent.sources.pubmed.tools import PubMedTools
from literature_agent.transport import Transport
from tests.desks import KINDS, PAYLOADS, Reply, Sent, StillClock, bare_settings, sent_of


@dataclass
class Desk:
    """Answers each utility with what was prepared for it, in order; the last reply is given for ever. Else 404."""

    sent: list[Sent] = field(default_factory=list)
    replies: dict[str, list[Reply]] = field(default_factory=dict)

    def answers(self, utility: str, body: str | bytes, *, status: int = 200, kind: str = "text/xml") -> None:
        content = body.encode() if isinstance(body, str) else body
        self.replies.setdefault(utility, []).append(
            lambda _: httpx.Response(status, content=content, headers={"content-type": kind})
        )

    def answers_with(self, utility: str, payload: str, *, status: int = 200) -> None:
        path = PAYLOADS / "pubmed" / payload
        self.answers(utility, path.read_bytes(), status=status, kind=KINDS[path.suffix])

    def answers_by(self, utility: str, reply: Reply) -> None:
        self.replies.setdefault(utility, []).append(reply)

    def asked(self, utility: str) -> list[Sent]:
        return [one for one in self.sent if one.path == f"{utility}.fcgi"]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        sent = sent_of(request, "/entrez/eutils/")
        self.sent.append(sent)
        prepared = self.replies.get(sent.path.removesuffix(".fcgi"), [])
        if not prepared:
            return httpx.Response(404, content=b"nothing prepared", headers={"content-type": "text/plain"})
        reply = prepared.pop(0) if len(prepared) > 1 else prepared[0]
        return reply(sent)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def transport(desk: Desk) -> AsyncIterator[Transport]:
    settings = bare_settings(ncbi_api_key="synthetic-secret-key")
    async with Transport(settings, network=httpx.MockTransport(desk), clock=StillClock()) as opened:
        yield opened


@pytest.fixture
def tools(transport: Transport) -> PubMedTools:
    return PubMedTools(PubMedClient(transport))


@pytest.fixture
def payload() -> Callable[[str], bytes]:
    return lambda name: (PAYLOADS / "pubmed" / name).read_bytes()


@pytest.fixture
def records() -> Callable[[Sequence[str]], bytes]:
    """An EFetch answer with a small record for each PMID."""

    def build(pmids: Sequence[str]) -> bytes:
        articles = "".join(
            f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><Journal><JournalIssue><PubDate><Year>2020"
            f"</Year></PubDate></JournalIssue></Journal><ArticleTitle>Synthetic record {pmid}.</ArticleTitle></Article>"
            f"</MedlineCitation><PubmedData><ArticleIdList><ArticleId IdType='doi'>10.5555/Synthetic.{pmid}</ArticleId>"
            f"<ArticleId IdType='pmc'>PMC99{pmid[-5:]}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>"
            for pmid in pmids
        )
        return (
            '<?xml version="1.0" ?><!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" '
            f'"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd"><PubmedArticleSet>{articles}</PubmedArticleSet>'
        ).encode()

    return build


@pytest.fixture
def hits() -> Callable[..., str]:
    """An ESearch answer: `hits(["90000001"], count=115258)`."""

    def build(pmids: Sequence[str], *, count: int | None = None, **more: Any) -> str:
        result = {
            "count": str(len(pmids) if count is None else count),
            "retmax": str(len(pmids)),
            "retstart": "0",
            "idlist": list(pmids),
            "translationset": [],
            "querytranslation": "synthetic",
            **more,
        }
        return json.dumps({"header": {"type": "esearch", "version": "0.3"}, "esearchresult": result}) + "\n"

    return build


@pytest.fixture
def serves_all(desk: Desk, records: Callable[[Sequence[str]], bytes]) -> Desk:
    """A desk whose EFetch has every record asked for."""
    desk.answers_by(
        "efetch", lambda sent: httpx.Response(200, content=records(sent.ids), headers={"content-type": "text/xml"})
    )
    return desk
