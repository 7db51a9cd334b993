"""One field of prose: what is to be mended in it, and what is left of it when code has cut."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from literature_agent.integrity.claims import is_claim
from literature_agent.integrity.clauses import asides, carries, refers_back, without
from literature_agent.integrity.desk import Desk
from literature_agent.integrity.known import plain_words
from literature_agent.integrity.leaks import Leak
from literature_agent.integrity.quotations import quotations
from literature_agent.integrity.quotes import verify_quote
from literature_agent.integrity.reports import misreport
from literature_agent.integrity.sentences import sentence_spans
from literature_agent.integrity.standing import counted_twice, miscounts, silent_mark, superseded_by
from literature_agent.registry import cut_out, find_references, remove_references, replace_references

UNSUPPORTED = " [unsupported]"

# Marks that only code sets; it sets them again where they belong.
_MARKS = re.compile(
    r"\s?\[(?:unsupported|RETRACTED|CONCERN)\]|\s?\[(?:published|updated) as «artifact:link:cite~\w{10}»\]", re.I
)
# What only a tool result may hold, and what nobody can see.
_FENCE = re.compile(r"</?\s*papers?\b[^<>]{0,80}>?", re.I)
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
# Spelled so that no reader reads a work, and every reader sees that one was meant.
_BROKEN = "«artifact:link:cite~»"


# Between its signs a key may be set apart, or in letters of another width; what else stands there is no key.
_IN_SIGNS = re.compile(r"«(\s?artifact[^«»\n,;|/]{0,60})»")


def _bare(text: str) -> str:
    """`text` without the marks that only code sets, and with references as they are read."""
    return _IN_SIGNS.sub(_as_read, _MARKS.sub("", text))


def _as_read(written: re.Match[str]) -> str:
    plain = "".join(unicodedata.normalize("NFKC", written[1]).split())
    return f"«{plain}»" if plain.isascii() else _BROKEN


class Problem(NamedTuple):
    """One thing to mend: where, what stands there, what to do."""

    field: str
    text: str
    fix: str

    def __str__(self) -> str:
        return f"- {self.field}: {self.text!r}: {self.fix}"


@dataclass
class Tally:
    """What was cut, as it is counted."""

    unknown_references: int = 0
    leaks_replaced: int = 0
    leaks_cut: int = 0
    quotes_dropped: int = 0
    claims_unsupported: int = 0
    gaps_downgraded: int = 0
    versions_joined: int = 0


@dataclass(frozen=True)
class Prose:
    """A field of a draft: name, text, whether its sentences must carry references, and works cited beside it."""

    field: str
    text: str
    claims: bool = False
    beside: tuple[str, ...] = ()


# --- review -----------------------------------------------------------------------------------------------------------

_INSTEAD = {
    "author-year": "authors and years are put in by code: write the reference of the paper, or say it without a name.",
    "journal-year": "journals and years are put in by code: write the reference of the paper, or leave it out.",
    "marker": "numbers are put in by code: write the reference of the paper instead of a number.",
    "title": "titles are put in by code: write the reference and say in your own words what the paper shows.",
    "key": "no complete reference; copy one exactly from a tool result, with « and ».",
}
_UNSUPPORTED = "a claim without a reference: add the reference that supports it, or leave it out."
_REMOVE = "remove it: identifiers and addresses are never written, only references that a tool result has shown."


def review_prose(prose: Prose, desk: Desk) -> list[Problem]:
    """What is to be mended in one field, in the order of its text by kind."""
    name, text = prose.field, _bare(prose.text)
    problems = [p for found in find_references(text) if (p := review_reference(name, found.raw, desk)) is not None]
    leaks = desk.guard.find(text)
    for leak in leaks:
        fix = f"write the reference {leak.reference} instead." if leak.reference else _INSTEAD.get(leak.kind, _REMOVE)
        problems.append(Problem(name, leak.text[:160], fix))
    for start, end in _spans(text, leaks):
        sentence = text[start:end]
        cited = _shown_in(sentence, desk)
        for quote in _false_quotes(sentence, (*cited, *prose.beside), desk):
            problems.append(Problem(name, quote[:160], NOT_WORD_FOR_WORD))
        touched = any(leak.start < end and leak.end > start for leak in leaks) or any(find_references(sentence))
        if prose.claims and not touched and is_claim(sentence):
            problems.append(Problem(name, sentence[:160], _UNSUPPORTED))
        elif not touched and (untrue := _misreport(sentence, prose, desk)) is not None:
            problems.append(Problem(name, sentence[:160], untrue))
        for reference in cited:
            if (mark := silent_mark(reference, sentence, desk)) is not None:
                status = {"[RETRACTED]": "has been retracted", "[CONCERN]": "is under an expression of concern"}[mark]
                fix = f"{reference} {status}: say so in this sentence, or support it by another paper."
                problems.append(Problem(name, sentence[:160], fix))
            if (published := superseded_by(reference, cited, desk)) is not None:
                fix = f"{reference} is a preprint: cite its published version {published}, the preprint only beside it."
                problems.append(Problem(name, sentence[:160], fix))
        for earlier, later in counted_twice(sentence, cited, desk).items():
            problems.append(Problem(name, sentence[:160], one_study(earlier, later, desk)))
    return problems


def one_study(earlier: str, later: str, desk: Desk) -> str:
    """What to do where two versions of one study are cited as two."""
    what = desk.work(earlier)
    if what is not None and what.is_preprint:
        return f"{earlier} is a preprint of {later}, they are one study: cite {later}, or say so in the sentence."
    return f"{later} is a later version of {earlier}, they are one study: cite {later}, or say so in the sentence."


NOT_WORD_FOR_WORD = (
    "these words do not stand in the text you were shown of the papers cited here; copy them exactly, or leave the "
    "quote out."
)


def review_reference(name: str, raw: str, desk: Desk) -> Problem | None:
    """What is wrong with one written reference; None for one that this run has shown."""
    if desk.shown(raw) is not None:
        return None
    meant = desk.meant(raw)
    if meant is not None:
        return Problem(name, raw[:160], f"mistyped; the reference is {meant}.")
    return Problem(name, raw[:160], "unknown; cite only what you were shown.")


def _shown_in(sentence: str, desk: Desk) -> list[str]:
    """References of the sentence that this run has shown, each once."""
    found = (desk.shown(each.raw) for each in find_references(sentence))
    return list(dict.fromkeys(reference for reference in found if reference is not None))


def _false_quotes(sentence: str, references: Sequence[str], desk: Desk) -> Iterator[str]:
    """What stands in quotation marks and not in the shown text of the works cited with it."""
    for quoted in quotations(sentence):
        words = remove_references(quoted, {found.key for found in find_references(quoted)}).strip()
        if f" {' '.join(plain_words(words))} " in desk.guard.question:
            continue
        sections = [section for reference in references for section in desk.sections(reference)]
        if verify_quote(words.rstrip(".,;"), sections) is None:
            yield words


def _spans(text: str, leaks: Sequence[Leak]) -> list[tuple[int, int]]:
    """Sentences; those that one leak crosses are one."""
    spans: list[tuple[int, int]] = []
    position = 0
    for start, end in sentence_spans(text):
        while position < len(leaks) and leaks[position].end <= start:
            position += 1
        if spans and position < len(leaks) and leaks[position].start < spans[-1][1]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


# --- settle -----------------------------------------------------------------------------------------------------------


def _misreport(sentence: str, prose: Prose, desk: Desk) -> str | None:
    """What is untrue of the run; beside works, prose speaks of them: `Shows why the search for biomarkers failed`."""
    return None if prose.beside else misreport(sentence, desk)


def settle_prose(prose: Prose, desk: Desk, tally: Tally) -> str:
    """The field with everything cut that the checks refuse, each cut counted, and with the marks that code sets."""
    text = _bare(_FENCE.sub("", _UNSEEN.sub("", prose.text)))
    kept: list[str] = []
    at = 0
    is_cut = False
    for start, end in _spans(text, desk.guard.find(text)):
        gap_before, at = text[at:start], end
        sentence = _with_references(text[start:end], desk, tally)
        tally.unknown_references += sum(desk.shown(found.raw) is None for found in find_references(sentence))
        if is_cut and refers_back(sentence):
            continue
        settled = _settle_sentence(sentence, prose, desk, tally)
        is_cut = not settled
        if settled:
            kept += [gap_before if kept else "", settled]
    return _without_new_leaks("".join(kept).strip(), desk, tally)


def _without_new_leaks(text: str, desk: Desk, tally: Tally) -> str:
    """What cutting may have brought together is cut in its turn."""
    while leaks := desk.guard.find(text):
        spans = _spans(text, leaks)
        clean = [(a, b) for a, b in spans if not any(leak.start < b and leak.end > a for leak in leaks)]
        tally.leaks_cut += len(leaks)
        text = " ".join(text[a:b] for a, b in clean)
    return text


def _settle_sentence(sentence: str, prose: Prose, desk: Desk, tally: Tally) -> str:
    leaks = [leak for leak in desk.guard.find(sentence) if leak.kind != "key"]
    if leaks:
        tally.leaks_cut += len(leaks)
        sentence = without(sentence, leaks)
        if not sentence or (prose.claims and not _shown_in(sentence, desk) and is_claim(sentence)):
            return ""
    false = list(_false_quotes(sentence, (*_shown_in(sentence, desk), *prose.beside), desk))
    if false:
        tally.quotes_dropped += len(false)
        return ""
    sentence = _without_unknown(sentence, desk)
    if not sentence:
        return ""
    sentence = _each_study_once(sentence, desk, tally)
    cited = _shown_in(sentence, desk)
    if not cited and ((prose.claims and is_claim(sentence)) or _misreport(sentence, prose, desk)):
        tally.claims_unsupported += 1
        return sentence + UNSUPPORTED
    return _marked(sentence, cited, desk)


def _with_references(sentence: str, desk: Desk, tally: Tally) -> str:
    """Exact identifiers of shown works as references; what was meant as a reference and is none, as a broken one."""
    pieces: list[str] = []
    at = 0
    for leak in desk.guard.find(sentence):
        if leak.reference is None and leak.kind != "key":
            continue
        tally.leaks_replaced += leak.reference is not None
        pieces += [sentence[at : leak.start], desk.strongest(leak.reference) if leak.reference else _BROKEN]
        at = leak.end
    return "".join([*pieces, sentence[at:]])


# A reference has its own « and »: more of them are left of one that was written in another way.
_MORE_SIGNS = re.compile(r"(?:«\s?)?(«artifact:link:cite~[0-9A-Z]{10}»)(?:\s?»)*")
_REPEATED = re.compile(r"(«artifact:link:cite~[0-9A-Z]{10}»)(?:[\s,;]*[(\[]?\s*\1[)\]]?)+")


def _without_unknown(sentence: str, desk: Desk) -> str:
    """References in their final form, without those that this run has not shown, and without what brackets hold of
    those alone; empty where one was the subject, or where the words count more works than are left."""
    final: dict[str, str] = {}
    unknown: set[str] = set()
    found = list(find_references(sentence))
    for each in found:
        shown = desk.shown(each.raw)
        if shown is None:
            unknown.add(each.key)
        else:
            final[each.key] = desk.strongest(shown)
    if miscounts(sentence, unknown):
        return ""
    cuts = asides(sentence, [(each.start, each.end, each.key in unknown) for each in found])
    if cuts is None:
        return ""
    sentence = cut_out(sentence, [(start, end, "") for start, end in cuts])
    if any(each.key in unknown and _rests_on(sentence, each.start, each.end) for each in find_references(sentence)):
        return ""
    sentence = replace_references(sentence, final)
    if unknown:
        sentence = remove_references(sentence, unknown).strip()
    sentence = _REPEATED.sub(r"\1", _MORE_SIGNS.sub(r"\1", sentence))
    return sentence if re.search(r"\w", sentence) else ""


_TOKEN = "«artifact:link:cite~[0-9A-Z]{10}»"
_BEFORE_IT = re.compile(rf"(?:{_TOKEN}[\s,;]*(?:and\s)?)+$")
_BEHIND_IT = re.compile(rf"(?:[\s,;]*(?:and\s)?{_TOKEN})+")
# Where a mark of support stands: words before it, and the end of a clause or bracket behind it.
_WORDS_BEFORE = re.compile(r"\w\s*[(\[]?\s*$")
_CLAUSE_ENDS = re.compile(r"\s*(?:[)\].;,!?]|and\s|$)")
_WANTS_TWO = re.compile(r"\b(?:both|between|neither|either)\s*$", re.I)


def _each_study_once(sentence: str, desk: Desk, tally: Tally) -> str:
    """`sentence` without earlier versions of works that it cites; one on which the words rest is named as such."""
    for earlier, later in counted_twice(sentence, _shown_in(sentence, desk), desk).items():
        tally.versions_joined += 1
        found = [each for each in find_references(sentence) if desk.shown(each.raw) == desk.shown(earlier)]
        needed = any(_is_needed(sentence, each.start, each.end) for each in found)
        if needed or miscounts(sentence, {each.key for each in found}):
            work = desk.work(earlier)
            mark = f"[{'published' if work is None or work.is_preprint else 'updated'} as {desk.strongest(later)}]"
            token = desk.strongest(earlier)
            sentence = sentence.replace(token, f"{token} {mark}", 1)
        else:
            sentence = remove_references(sentence, {each.key for each in found}).strip()
    return sentence


def _is_needed(sentence: str, start: int, end: int) -> bool:
    """Whether words would hang in the air without the reference, alone or with those beside it."""
    left, right = _BEFORE_IT.search(sentence[:start]), _BEHIND_IT.match(sentence[end:])
    first, last = left.start() if left else start, end + right.end() if right else end
    if not _WORDS_BEFORE.search(sentence[:first]) or not _CLAUSE_ENDS.match(sentence[last:]):
        return True
    if left or right:
        return _WANTS_TWO.search(sentence[:first]) is not None
    return _rests_on(sentence, start, end)


# `(see `, and other works of the same list behind it.
_ASIDE = re.compile(
    r"[(\[]\s*(?:see|e\.g\.,?|cf\.|as in|from)?\s*(?:«[^«»]{1,40}»[\s,;]*(?:(?:and|or)\s+|&\s*)?){0,30}", re.I
)


def _rests_on(sentence: str, start: int, end: int) -> bool:
    """`carries`, for a token that may stand in brackets of its own."""
    opening = max(sentence.rfind("(", 0, start), sentence.rfind("[", 0, start))
    if opening < 0 or not _ASIDE.fullmatch(sentence, opening, start):
        return carries(sentence, start, end)
    return not re.search(r"[^\W_]", sentence[:opening]) and carries(sentence, opening, end)


def _marked(sentence: str, cited: Sequence[str], desk: Desk) -> str:
    """`sentence` with the marks that its references need."""
    for reference in cited:
        marks = [silent_mark(reference, sentence, desk) or ""]
        if (published := superseded_by(reference, cited, desk)) is not None:
            marks.append(f"[published as {published}]")
        token = desk.strongest(reference)
        if mark := " ".join(filter(None, marks)):
            sentence = sentence.replace(token, f"{token} {mark}")
    return sentence
