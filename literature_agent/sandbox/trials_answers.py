"""ClinicalTrials.gov's API v2 over the trials of a corpus."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from literature_agent.sandbox.corpus_index import Corpus
from literature_agent.sandbox.europepmc_query import parse_europepmc
from literature_agent.sandbox.messages import Reply, Request, json_reply, text_reply
from literature_agent.sandbox.syntax import EVERYTHING, Chain, Group, Node, Operator, Span, Term
from literature_agent.sandbox.text_index import Entry, TextIndex

Study = Mapping[str, Any]

_NCT = re.compile(r"^NCT0*[1-9]\d{0,7}$", re.IGNORECASE)
_LARGEST_PAGE = 1000
_DEEPEST = 100
_TOKEN_MARK = b"page:"
_COLUMNS = {
    "titles": 6.0,
    "conditions": 4.0,
    "interventions": 4.0,
    "outcomes": 1.0,
    "sponsors": 1.0,
    "locations": 0.5,
    "ids": 1.0,
    "everything": 0.5,
}
# Each query parameter, the columns it searches and the name it has in error messages.
_QUERIES: dict[str, tuple[tuple[str, ...] | None, str]] = {
    "query.cond": (("conditions", "titles"), "Conditions or disease"),
    "query.intr": (("interventions", "titles"), "Intervention / treatment"),
    "query.term": (None, "Other terms"),
    "query.titles": (("titles",), "Title / acronym"),
    "query.outc": (("outcomes",), "Outcome measure"),
    "query.spons": (("sponsors",), "Sponsor / collaborator"),
    "query.lead": (("sponsors",), "Lead sponsor"),
    "query.locn": (("locations",), "Location terms"),
    "query.id": (("ids",), "Study IDs"),
}
STATUSES = frozenset(
    {
        "ACTIVE_NOT_RECRUITING",
        "APPROVED_FOR_MARKETING",
        "AVAILABLE",
        "COMPLETED",
        "ENROLLING_BY_INVITATION",
        "NOT_YET_RECRUITING",
        "NO_LONGER_AVAILABLE",
        "RECRUITING",
        "SUSPENDED",
        "TEMPORARILY_NOT_AVAILABLE",
        "TERMINATED",
        "UNKNOWN",
        "WITHDRAWN",
        "WITHHELD",
    }
)
_DATES = {
    "CompletionDate": "completionDateStruct",
    "LastUpdatePostDate": "lastUpdatePostDateStruct",
    "PrimaryCompletionDate": "primaryCompletionDateStruct",
    "ResultsFirstPostDate": "resultsFirstPostDateStruct",
    "StartDate": "startDateStruct",
    "StudyFirstPostDate": "studyFirstPostDateStruct",
}
_WORD_AREAS = {
    "BriefTitle": ("titles",),
    "Condition": ("conditions",),
    "ConditionSearch": ("conditions", "titles"),
    "InterventionName": ("interventions",),
    "InterventionOtherName": ("interventions",),
    "InterventionSearch": ("interventions", "titles"),
    "LeadSponsorName": ("sponsors",),
    "OfficialTitle": ("titles",),
}
_VALUE_AREAS = frozenset({"NCTId", "OverallStatus", "Phase", "StudyType"})
_OPERATORS: dict[str, Operator] = {"AND": "AND", "OR": "OR", "NOT": "NOT"}
_ADVANCED = re.compile(
    r"\s*(?:AREA\[(?P<area>\w+)\]\s*(?:RANGE\[\s*(?P<low>[^,\]]*),\s*(?P<high>[^\]]*)\]|(?P<word>\"[^\"]*\"|[^\s()\"]+)"
    r"|(?P<group>\())|(?P<operator>AND|OR|NOT)\b|(?P<open>\()|(?P<close>\))|(?P<plain>\"[^\"]*\"|[^\s()\"]+|\"))"
)


class RefusedQuery(Exception):
    """A request that the registry answers with HTTP 400 and this text."""


class TrialAnswers:
    def __init__(self, corpus: Corpus) -> None:
        self._studies = tuple(corpus.trials.values())
        self._by_number = corpus.trials
        self._index = TextIndex(tuple(_COLUMNS), tuple(_COLUMNS.values()), (_entry(s) for s in self._studies))

    def close(self) -> None:
        self._index.close()

    def study(self, number: str) -> Reply:
        """`GET /studies/{nctId}`."""
        if not _NCT.match(number):
            return text_reply(f"NCT number {number} has incorrect format", status=400)
        study = self._by_number.get(f"NCT{int(number[3:]):08d}")
        return json_reply(study) if study else text_reply(f"NCT number {number.upper()} not found", status=404)

    def search(self, request: Request) -> Reply:
        """`GET /studies`: the total on the first page only, a token where more follow."""
        try:
            entries, ranking = self._matching(request)
        except RefusedQuery as refusal:
            return text_reply(str(refusal), status=400)
        start = _page_start(request.get("pageToken"))
        if start is None:
            return text_reply("Parameter `pageToken` has incorrect format", status=400)
        size = min(request.number("pageSize", 10), _LARGEST_PAGE)
        ordered = self._ordered(entries, ranking, request.get("sort"))
        page = ordered[start : start + size]
        answer: dict[str, Any] = {}
        if request.get("countTotal").lower() == "true" and not request.get("pageToken"):
            answer["totalCount"] = len(ordered)
        answer["studies"] = [self._studies[entry] for entry in page]
        if size and start + size < len(ordered):
            answer["nextPageToken"] = base64.urlsafe_b64encode(_TOKEN_MARK + str(start + size).encode()).decode()
        return json_reply(answer)

    def _matching(self, request: Request) -> tuple[set[int], list[str]]:
        entries = self._index.everything()
        ranking: list[str] = []
        for parameter, (columns, label) in _QUERIES.items():
            if text := request.get(parameter):
                found, expressions = self._queried(text, columns, label)
                entries &= found
                ranking += expressions
        statuses = _separated(request.get("filter.overallStatus"))
        for status in statuses:
            if status not in STATUSES:
                raise RefusedQuery(f"Invalid value in parameter `overallStatus`: `{status}`")
        if statuses:
            entries &= set().union(*(self._index.with_value("OverallStatus", status) for status in statuses))
        numbers = _separated(request.get("filter.ids"))
        for number in numbers:
            if not _NCT.match(number):
                raise RefusedQuery(f"Parameter `filter.ids` has incorrect format: `{number}`")
        if numbers:
            entries &= set().union(*(self._index.with_value("NCTId", number) for number in numbers))
        if advanced := request.get("filter.advanced"):
            tree = parse_advanced(advanced)
            entries &= self._in_areas(tree) if tree is not None else entries
        return entries, ranking

    def _queried(self, text: str, columns: tuple[str, ...] | None, label: str) -> tuple[set[int], list[str]]:
        for bracket in "[]":
            if bracket in text:
                raise RefusedQuery(
                    f"Error parsing query in {label}: mismatched input '{bracket}' expecting {{<EOF>, Term}}"
                )
        if text.count("(") > text.count(")"):
            raise RefusedQuery(f"Error parsing query in {label}: missing ')' at '<EOF>'")
        if text.count("(") < text.count(")"):
            raise RefusedQuery(f"Error parsing query in {label}: extraneous input ')' expecting <EOF>")
        tree = parse_europepmc(text).tree
        return self._evaluate(tree, columns) if tree is not None else (set(), [])

    def _evaluate(self, node: Node, columns: tuple[str, ...] | None) -> tuple[set[int], list[str]]:
        if isinstance(node, Span):
            return set(), []
        if isinstance(node, Chain):
            entries, ranking = self._evaluate(node.parts[0][1], columns)
            for operator, part in node.parts[1:]:
                found, expressions = self._evaluate(part, columns)
                entries = _combined(operator, entries, found)
                ranking += expressions if operator != "NOT" else []
            return entries, ranking
        if node == EVERYTHING:
            return self._index.everything(), []
        text, prefix = node.text.rstrip("*"), node.text.endswith("*")
        expression = self._index.expression(text, columns, prefix=prefix)
        return self._index.matching(text, columns, prefix=prefix), [expression] if expression else []

    def _ordered(self, entries: set[int], ranking: Sequence[str], sort: str) -> list[int]:
        scores = self._index.scores(ranking)
        ordered = sorted(entries, key=lambda entry: (-scores.get(entry, 0.0), entry))
        field, _, direction = sort.partition("|")[0].partition(",")[0].partition(":")
        if field in _DATES:
            ordered.sort(key=lambda entry: _date(self._studies[entry], field), reverse=direction != "asc")
        return ordered

    # filter.advanced

    def _in_areas(self, node: Node) -> set[int]:
        if isinstance(node, Chain):
            entries = self._in_areas(node.parts[0][1])
            for operator, part in node.parts[1:]:
                entries = _combined(operator, entries, self._in_areas(part))
            return entries
        if isinstance(node, Span):
            return self._dated(node.field, node.low, node.high)
        if node == EVERYTHING:
            return self._index.everything()
        if node.field in _DATES:
            return self._dated(node.field, node.text, node.text)
        if node.field in _VALUE_AREAS:
            return self._index.with_value(node.field, node.text)
        return self._index.matching(node.text, _WORD_AREAS[node.field] if node.field else None)

    def _dated(self, area: str, low: str, high: str) -> set[int]:
        first = 0 if low in {"MIN", ""} else _day(low, last=False)
        final = 99_991_231 if high in {"MAX", ""} else _day(high, last=True)
        return self._index.between(area, first, final)


def parse_advanced(text: str) -> Node | None:
    """Read `AREA[Phase]PHASE3 AND AREA[StartDate]RANGE[2020-01-01,MAX]`, with parentheses.

    Raises:
        RefusedQuery: unbalanced parentheses, an unknown area, or a range over something that is no date.
    """
    groups = [Group()]
    at = 0
    while at < len(text.rstrip()):
        found = _ADVANCED.match(text, at)
        if not found:
            raise RefusedQuery(f"Error parsing query in advanced filter: mismatched input '{text[at : at + 1]}'")
        at = found.end()
        area = _known_area(found["area"]) if found["area"] else groups[-1].name
        if found["operator"]:
            groups[-1].operator(_OPERATORS[found["operator"]])
        elif found["open"] or found["group"]:
            if len(groups) > _DEEPEST:
                raise RefusedQuery("Error parsing query in advanced filter: too many nested parentheses")
            groups.append(Group(area))
        elif found["close"]:
            if len(groups) == 1:
                raise RefusedQuery("Error parsing query in advanced filter: extraneous input ')' expecting <EOF>")
            inner = groups.pop().closed()
            if inner is not None:
                groups[-1].operand(inner)
        elif found["low"] is not None:
            if area not in _DATES:
                raise RefusedQuery(f"Error parsing query in advanced filter: RANGE is not supported for `{area}`")
            groups[-1].operand(Span(area, found["low"].strip(), found["high"].strip()))
        else:
            groups[-1].operand(Term((found["word"] or found["plain"]).strip('"'), area))
    if len(groups) > 1:
        raise RefusedQuery("Error parsing query in advanced filter: missing ')' at '<EOF>'")
    return groups[0].closed()


def _known_area(name: str) -> str:
    if name not in _DATES and name not in _WORD_AREAS and name not in _VALUE_AREAS:
        raise RefusedQuery(f"Error parsing query in advanced filter: Unknown area name: `{name}`")
    return name


def _combined(operator: str, left: set[int], right: set[int]) -> set[int]:
    if operator == "OR":
        return left | right
    return left - right if operator == "NOT" else left & right


def _separated(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[|,]", text) if part.strip()]


def _page_start(token: str) -> int | None:
    if not token:
        return 0
    try:
        mark, _, number = base64.b64decode(token, altchars=b"-_", validate=True).partition(_TOKEN_MARK)
    except (binascii.Error, ValueError):
        return None
    return int(number) if not mark and number.isdigit() and len(number) < 10 else None


def _entry(study: Study) -> Entry:
    protocol = study["protocolSection"]
    identification, design = _module(protocol, "identificationModule"), _module(protocol, "designModule")
    arms, outcomes = _module(protocol, "armsInterventionsModule"), _module(protocol, "outcomesModule")
    sponsors = _module(protocol, "sponsorCollaboratorsModule")
    conditions = _module(protocol, "conditionsModule")
    titles = [identification.get(key) for key in ("briefTitle", "officialTitle", "acronym")]
    return Entry(
        texts={
            "titles": _joined_words(titles),
            "conditions": _joined_words([conditions.get("conditions"), conditions.get("keywords")]),
            "interventions": _joined_words(
                [[item.get("name"), item.get("otherNames")] for item in _dicts(arms.get("interventions"))]
            ),
            "outcomes": _joined_words(
                item.get("measure")
                for key in ("primaryOutcomes", "secondaryOutcomes")
                for item in _dicts(outcomes.get(key))
            ),
            "sponsors": _joined_words([sponsors]),
            "locations": _joined_words(_dicts(_module(protocol, "contactsLocationsModule").get("locations"))),
            "ids": _joined_words([identification.get("nctId"), identification.get("orgStudyIdInfo")]),
            "everything": _joined_words([protocol]),
        },
        values={
            "NCTId": (str(identification.get("nctId")),),
            "OverallStatus": (str(_module(protocol, "statusModule").get("overallStatus")),),
            "Phase": [str(phase) for phase in design.get("phases") or ()],
            "StudyType": (str(design.get("studyType")),),
        },
        days={area: tuple(day for day in (_day(_date(study, area), last=False),) if day) for area in _DATES},
    )


def _module(protocol: Study, name: str) -> Mapping[str, Any]:
    module = protocol.get(name)
    return module if isinstance(module, Mapping) else {}


def _dicts(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _joined_words(values: Iterable[Any]) -> str:
    return " . ".join(_words(values))


def _words(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _words(list(value.values()))
    elif isinstance(value, Iterable):
        for item in value:
            yield from _words(item)


def _date(study: Study, area: str) -> str:
    struct = _module(study["protocolSection"], "statusModule").get(_DATES[area])
    return str(struct.get("date") or "") if isinstance(struct, Mapping) else ""


def _day(text: str, *, last: bool) -> int:
    """`YYYYMMDD` of a date that may lack its day or month, at the start or the end of what it leaves open."""
    parts = [int(part) for part in text.split("-")] if re.fullmatch(r"\d{4}(-\d{1,2}){0,2}", text) else []
    if not parts:
        return 0
    year, month, day = (*parts, *([12, 31] if last else [1, 1])[len(parts) - 1 :])
    return year * 10_000 + month * 100 + day
