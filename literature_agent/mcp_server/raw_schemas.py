"""Arguments and replies of `pubmed_europepmc_search` and `pubmed_europepmc_fetch`, as JSON schemas."""

from __future__ import annotations

from typing import Any, get_args

from literature_agent.sources.europepmc.query import DEFAULT_SOURCES, EuropePMCSource

SNIPPET = 400
"""Characters of an abstract that a hit shows."""
SOURCES = list(get_args(EuropePMCSource))
"""Parts of Europe PMC."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: dict[str, Any] = {"type": "string"}
_ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "code": {"type": "integer", "description": "JSON-RPC error code."},
        "message": _TEXT,
        "data": {
            "type": "object",
            "properties": {
                "reason": {"type": "string", "description": "europepmc_unreachable, europepmc_invalid_input ..."},
                "retryable": {"type": "boolean"},
                "recovery": {
                    "type": "object",
                    "properties": {"hint": _TEXT},
                    "required": ["hint"],
                    "additionalProperties": False,
                },
            },
            "required": ["reason", "retryable", "recovery"],
            "additionalProperties": False,
        },
    },
    "required": ["code", "message", "data"],
    "additionalProperties": False,
}
_RECORD_MEMBERS: dict[str, Any] = {
    "title": _TEXT,
    "journal": _TEXT,
    "authors": _TEXT,
    "year": {"type": "integer"},
    "doi": {"type": "string", "description": "As Europe PMC writes it."},
    "pmid": _TEXT,
    "pmcId": _TEXT,
    "source": _TEXT,
    "epmcId": _TEXT,
}

SEARCH_INPUT: dict[str, Any] = {
    "$schema": _DIALECT,
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "description": "Query in Europe PMC's grammar."},
        "sources": {
            "type": "array",
            "items": {"type": "string", "enum": SOURCES},
            "minItems": 1,
            "default": list(DEFAULT_SOURCES),
            "description": "MED PubMed, PMC, PPR preprints, PAT patents, AGR Agricola.",
        },
        "sort": {
            "type": "string",
            "description": "Relevance if absent, else `FIELD asc|desc`, several parted by commas: P_PDATE_D CITED "
            "AUTH_FIRST PUB_YEAR.",
        },
        "pageSize": {"type": "integer", "minimum": 1, "maximum": 100, "default": 25},
        "cursorMark": {"type": "string", "default": "*", "description": "`nextCursorMark` of the page before."},
        "resultType": {
            "type": "string",
            "enum": ["core", "lite"],
            "default": "core",
            "description": "core has abstracts, lite has none.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}
SEARCH_OUTPUT: dict[str, Any] = {
    "$schema": _DIALECT,
    "type": "object",
    "properties": {
        "hits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    **_RECORD_MEMBERS,
                    "abstractSnippet": {"type": "string", "description": f"First {SNIPPET} characters, … when cut."},
                    "abstractTruncated": {"type": "boolean"},
                },
                "required": ["source", "epmcId"],
                "additionalProperties": False,
            },
        },
        "query": {"type": "string", "description": "As sent, with its filters."},
        "searchUrl": _TEXT,
        "cursorMark": _TEXT,
        "totalCount": {"type": "integer"},
        "appliedSources": {"type": "array", "items": {"type": "string"}},
        "nextCursorMark": {"type": "string", "description": "Absent on the last page."},
        "notice": _TEXT,
        "error": _ERROR_SCHEMA,
    },
    "anyOf": [
        {"required": ["hits", "query", "searchUrl", "cursorMark", "totalCount", "appliedSources"]},
        {"required": ["error"]},
    ],
    "additionalProperties": False,
}
FETCH_INPUT: dict[str, Any] = {
    "$schema": _DIALECT,
    "type": "object",
    "properties": {
        "source": {"type": "string", "enum": SOURCES, "description": "`source` of the hit."},
        "epmcId": {
            "type": "string",
            "minLength": 1,
            "maxLength": 64,
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$",
            "description": "`epmcId` of the hit.",
        },
    },
    "required": ["source", "epmcId"],
    "additionalProperties": False,
}
FETCH_OUTPUT: dict[str, Any] = {
    "$schema": _DIALECT,
    "type": "object",
    "properties": {
        "record": {
            "type": "object",
            "description": "The complete record.",
            "properties": {
                **_RECORD_MEMBERS,
                "abstract": {"type": "string", "description": "Whole."},
                "published": _TEXT,
                "publicationTypes": {"type": "array", "items": _TEXT},
                "keywords": {"type": "array", "items": _TEXT},
                "meshHeadings": {"type": "array", "items": _TEXT},
                "language": _TEXT,
                "isOpenAccess": {"type": "boolean"},
                "citedByCount": {"type": "integer"},
                "correctionStatus": _TEXT,
                "epmcUrl": _TEXT,
            },
            "required": ["source", "epmcId"],
            "additionalProperties": False,
        },
        "notice": _TEXT,
        "error": _ERROR_SCHEMA,
    },
    "anyOf": [{"required": ["record"]}, {"required": ["error"]}],
    "additionalProperties": False,
}
