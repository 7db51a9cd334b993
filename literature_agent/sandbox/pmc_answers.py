"""PMC over the full texts of a corpus: EFetch, the id converter and OAI-PMH."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from lxml import etree

from literature_agent.sandbox.corpus_index import Corpus
from literature_agent.sandbox.jats_records import serialised
from literature_agent.sandbox.messages import Reply, Request, json_reply, xml_reply, xml_text_reply
from literature_agent.sandbox.pubmed_answers import add, fetch_error, numbers

_ARTICLE_SET = (
    '<?xml version="1.0" ?><!DOCTYPE pmc-articleset PUBLIC "-//NLM//DTD ARTICLE SET 2.0//EN"'
    ' "https://dtd.nlm.nih.gov/ncbi/pmc/articleset/nlm-articleset-2.0.dtd"><pmc-articleset>'
)
_NO_IDS_ERROR = "ID list is empty! Possibly it has no correct IDs."
_OAI = "http://www.openarchives.org/OAI/2.0/"
_OAI_NAME = re.compile(r"^oai:pubmedcentral\.nih\.gov:(\d+)$")
_MOST_CONVERTED = 200
_PATTERNS = {
    "pmid": re.compile(r"^\d{1,8}$"),
    "pmcid": re.compile(r"^PMC\d+(\.\d+)?$", re.IGNORECASE),
    "doi": re.compile(r"^10\.\d{4,9}/\S+$"),
}


class PmcAnswers:
    def __init__(self, corpus: Corpus, *, today: Callable[[], datetime.date]) -> None:
        self._corpus = corpus
        self._today = today

    @cached_property
    def _by_kind(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The row of each article in PMC, by every identifier it has."""
        kinds: dict[str, dict[str, dict[str, Any]]] = {"pmid": {}, "pmcid": {}, "doi": {}}
        for record in self._corpus.europepmc.records:
            if not record.get("pmcid"):
                continue
            ids = {kind: str(record.get(kind) or "") for kind in kinds}
            row = {kind: int(value) if kind == "pmid" else value for kind, value in ids.items() if value}
            for kind, value in ids.items():
                if value:
                    kinds[kind].setdefault(value.lower(), row)
        return kinds

    def fetch(self, request: Request) -> Reply:
        """EFetch with `db=pmc`: JATS articles; an unknown number gives a lower-case `error` in its place."""
        if not request.listed("id"):
            return fetch_error("Supplied id parameter is empty.")
        ids = numbers(value.upper().removeprefix("PMC") for value in request.listed("id"))
        if not ids:
            return fetch_error(_NO_IDS_ERROR, status=400)
        parts = []
        for number in dict.fromkeys(ids):
            article = self._corpus.articles.get(f"PMC{number}")
            if article is None:
                parts.append(f'<error id="{number}">The following PMCID is not available: {number}</error>')
            else:
                parts.append(etree.tostring(article, encoding="unicode", with_tail=False))
        return xml_text_reply(_ARTICLE_SET + "".join(parts) + "</pmc-articleset>")

    def convert(self, request: Request) -> Reply:
        """The id converter. One malformed id spoils the batch; what is not in PMC is an error in its own row."""
        kind = request.get("idtype", "pmid").lower() or "pmid"
        ids = request.listed("ids")
        pattern = _PATTERNS.get(kind)
        if pattern is None:
            return _refused("invalid_idtype", f"Invalid idtype: {kind}")
        if not ids or len(ids) > _MOST_CONVERTED:
            return _refused("invalid_ids", f"Between 1 and {_MOST_CONVERTED} ids are needed.")
        if any(not pattern.match(value) for value in ids):
            return _refused(f"invalid_{kind}s", f"Some of the ids are no valid {kind}s.")
        records = []
        for value in ids:
            found = self._by_kind[kind].get(str(int(value)) if kind == "pmid" else value.lower().partition(".v")[0])
            if found:
                records.append({**found, "requested-id": value})
                continue
            asked: dict[str, Any] = {kind: int(value) if kind == "pmid" else value, "requested-id": value}
            records.append(asked | {"status": "error", "errmsg": "Identifier not found in PMC"})
        echo = {"format": "json", "idtype": kind, "ids": ",".join(ids)}
        warnings = [f"query param `{name}` is missing." for name in ("email", "tool") if not request.get(name)]
        request_echo: dict[str, Any] = {"warnings": warnings} if warnings else {}
        request_echo |= echo | {"ids": ids, "echo": urlencode(echo), "versions": "no", "showaiid": "no"}
        return json_reply(
            {
                "status": "ok",
                "response-date": f"{self._today().isoformat()} 00:00:00",
                "request": request_echo,
                "records": records,
            }
        )

    def harvest(self, request: Request) -> Reply:
        """OAI-PMH `GetRecord` with the prefix `pmc`; errors come with HTTP 200, as OAI wants."""
        name = _OAI_NAME.match(request.get("identifier"))
        article = self._corpus.articles.get(f"PMC{int(name[1])}") if name else None
        # Parsed and not built: the stubs of lxml know no default namespace.
        root = etree.fromstring(f'<OAI-PMH xmlns="{_OAI}"/>')
        add(root, f"{{{_OAI}}}responseDate", f"{self._today().isoformat()}T00:00:00Z")
        add(root, f"{{{_OAI}}}request", "")
        problem = None
        if request.get("verb") != "GetRecord":
            problem = ("badVerb", "The sandbox answers GetRecord only.")
        elif request.get("metadataPrefix") != "pmc":
            problem = ("cannotDisseminateFormat", "The sandbox gives the prefix pmc only.")
        elif article is None:
            problem = ("idDoesNotExist", "No such record.")
        if problem or article is None:
            code, message = problem or ("", "")
            add(root, f"{{{_OAI}}}error", message).set("code", code)
            return xml_reply(root)
        record = etree.SubElement(etree.SubElement(root, f"{{{_OAI}}}GetRecord"), f"{{{_OAI}}}record")
        add(etree.SubElement(record, f"{{{_OAI}}}header"), f"{{{_OAI}}}identifier", request.get("identifier"))
        metadata = etree.SubElement(record, f"{{{_OAI}}}metadata")
        metadata.append(etree.fromstring(serialised(article)))
        return xml_reply(root)


def _refused(code: str, message: str) -> Reply:
    errors = [{"message": message, "code": code}]
    return json_reply({"status": "error", "http_status": "400", "errors": errors}, status=400)
