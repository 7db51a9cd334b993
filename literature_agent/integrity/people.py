"""Authors of works that the run has got, where prose names them as authors, with or without a year."""

from __future__ import annotations

import re
from collections.abc import Iterator

from literature_agent.integrity.folding import TOKEN
from literature_agent.integrity.hits import Hit
from literature_agent.integrity.known import Known, Person, bare
from literature_agent.integrity.naming import (
    ALREADY,
    AND,
    INITIALS,
    NAME,
    SAID,
    STUDY,
    TELL,
    TITLE_OF_PERSON,
    is_word,
)
from literature_agent.integrity.vocabulary import NAMED_THINGS, NOT_NAMES, words
from literature_agent.integrity.years import MEASURED, SIGNS, UPPER

_SPACED_OUT = re.compile(r"(?<![^\W_])(?:[^\W\d_]\s){3,24}[^\W\d_](?![^\W_])")
_THEN_YEAR = re.compile(
    rf"(?:'s?)?(?:(?:,|\s(?:and|&))\s?{NAME})?(?:[\s,.;:(\[]{{1,3}}(?:[a-z-]{{1,14}}|[{UPPER}]\.?){{1}}){{0,3}}[\s,.;:(\['{TOKEN}/_|+~=*#@&^\\-]{{0,4}}"
    r"(?:1[89]\d\d|20[0-3]\d)(?![\d])"
)
_STRICTLY_THEN_YEAR = re.compile(
    rf"(?:'s)?(?:\s?{SIGNS}{{1,2}})?\s?[(\[]?(?:1[89]\d\d|20[0-3]\d)(?!\d)[a-f]?\s?[)\];,.]?"
)
_YEAR_THEN = re.compile(rf"(?<!\d)(?:1[89]\d\d|20[0-3]\d)(?:[)\],]?\s(?:[a-z-]{{1,14}}\s){{0,4}}|(?!,){SIGNS}{{1,2}})$")
_INITIALS_BEHIND = re.compile(rf",?\s((?:[{UPPER}]\.?\s?-?){{1,4}})(?![^\W\d_])")
_GIVEN_BEHIND = re.compile(r",\s([^\W\d_]+)")
_INITIALS_IN_FRONT = re.compile(rf"(?<![^\W_])((?:[{UPPER}]\.\s?-?){{1,4}})\s?$")
_SAID_BEHIND = re.compile(rf"(?:-led|-style)?\s(?:{SAID}|{STUDY})\b|'s?\s(?:\w+\s)?{STUDY}\b")
_TELLS_BEHIND = re.compile(
    rf"(?:\s?[(\[]?\s?{TOKEN}\s?[)\]]?)?,?\s(?:(?:\w{{2,12}}ly|also|first|later|then|has|have|had|further|again)\s){{0,2}}{TELL}"
)
_WITHIN_A_SENTENCE = re.compile(r"[a-z][,;:]?\s$")
_SAID_OR_ENDS = re.compile(rf"\s{ALREADY}{SAID}\b(?!\s(?:by|in|for|as|to|with|at|from)\b)|'s\s(?:own\s)?(?:{STUDY})\b")
_BY_END = re.compile(rf"\s?(?:[,.;:)]|{TOKEN}|$)")
_TOLD_MORE_BEHIND = re.compile(
    r"\s(?:(?:\w{2,12}ly|also|first|later|then|has|have|had)\s){0,2}(?:tested|tests|stated|states|claim(?:ed|s)|hypothesi[sz]e[ds]"
    r"|postulated|speculated|(?:dis)?agree[ds]?|disput(?:ed|es)|doubt(?:ed|s)|believe[ds]|put\sit|was\sthe\sfirst)\b"
)
# A reference stands behind the name as a year would: `Ferrante {r} found`, `Ferrante and Okafor ({r})`.
_CITED_BEHIND = re.compile(rf"(?:'s?)?(?:{AND}{NAME}{INITIALS}?){{0,3}}[\s,;:]{{0,3}}[(\[]?\s?{TOKEN}")
_TOLD_BEHIND = re.compile(rf"(?:\s?[(\[]?\s?{TOKEN}[)\]]?)?\s(?:has\s|have\s|also\s)?{SAID}\b")
# What bears a name is not who has it, and places have names, too.
_CALLED_AFTER = re.compile(
    r"(?:\sand\s[A-Z]\w+)?(?:'s?)?\s(?:\w+\s)?(?:scales?|scores?|tests?|ind(?:ex|ices)|criteri(?:a|on)|diseases?|syndromes?"
    r"|signs?|methods?|equations?|formulas?|lines?|types?|stages?|grades?|classifications?|procedures?|operations?|technique"
    r"|inventory|questionnaire|checklist|regions?|provinces?|districts?|county|city|state|hospitals?|universit(?:y|ies)"
    r"|institute|cells?|bod(?:y|ies)|reflex|phenomenon|effect|limits|fractures?|medium|stain(?:ing)?|ratios?)\b"
    r"|\s(?:[A-Z][\w-]+\s){0,2}(?:University|Hospital|Institute|Cent(?:er|re)|College|Street|County|Scale|Score|Test|Index)\b"
    r"|'s\s(?!(?:own\s)?(?:conclusions?|claims?|views?|arguments?|ideas?|opinions?|estimates?|figures?|numbers?|evidence|warnings?"
    r"|thesis|theory|interpretation|position|advice|answer|case|reading)\b)"
    r"|-[A-Z]|\sis\san?\s(?:town|city|village|region|province|river|place)\b"
)
# Right behind a name these say that it is the thing's own, whatever stands before it: `by Cox regression`.
_ITS_OWN_NAME = re.compile(
    r"(?:-[A-Z]\w+){0,2}\s(?:scales?|scores?|tests?|ind(?:ex|ices)|criteri(?:a|on)|diseases?|syndromes?|equations?|formulas?"
    r"|stages?|grades?|classifications?|procedures?|inventory|questionnaire|checklist|regressions?|hazards?|proportional"
    r"|plots?|corrections?|adjustments?|estimators?|statistics?|coefficients?|distributions?)\b"
)
# Names that stand before `model` and `analysis` as those of methods.
_METHODS = words(
    """
    akaike altman begg benjamini bland brier cox dersimonian egger gompertz harrell hartung hedges hochberg holm knapp
    laird rubin wald weibull welch youden
    """
)
_METHOD_BEHIND = re.compile(r"(?:-[A-Z]\w+){0,2}\s(?:models?|analys[ie]s|data)\b")
_PLACE_BEFORE = re.compile(
    r"(?<![aA]s )(?<!shown )(?<!reported )(?<!described )(?<!seen )(?<!found )\b(?:in|at|near|from|around)\s$|\w-$"
)
_BY_BEFORE = re.compile(r"\b(?:by|see|cf\.?|per|according\sto|in\sthe\swork\sof|led\sby)\s$", re.I)


def known_people(text: str, known: Known) -> Iterator[Hit]:
    """Authors of works that this run has got, where they are named as authors."""
    for match in _PERSON.finditer(text):
        spelled = match.group()
        for first, last in _parts(spelled):
            word = bare(spelled[first:last])
            people = known.people.get(word)
            if people is None:
                continue
            start, end = match.start() + first, match.start() + last
            before, behind = text[max(0, start - 60) : start], text[end : end + 90]
            if (
                hit := _as_author(word, spelled[first:last], people, before, behind, is_term=word in known.terms)
            ) is not None:
                yield Hit("author-year", start - hit[0], end + hit[1])
                break
    for match in _SPACED_OUT.finditer(text):
        word = bare(match.group().replace(" ", ""))
        if word in known.people and not is_word(word):
            yield Hit("author-year", match.start(), match.end())


_PERSON = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def _parts(spelled: str) -> Iterator[tuple[int, int]]:
    """The whole of a hyphenated word without its `'s`, its last part (`Luca-Ferrante`), its first (`Ferrante-led`)."""
    end = len(spelled) - (2 if spelled[-2:] in ("'s", "’s") else 0)
    yield 0, end
    if "-" in spelled:
        yield spelled.rindex("-") + 1, end
        if spelled[spelled.index("-") :] in ("-led", "-style", "-type", "-et"):
            yield 0, spelled.index("-")


def _as_author(
    word: str, spelled: str, people: list[Person], before: str, behind: str, *, is_term: bool
) -> tuple[int, int] | None:
    """How far to the left and right an author is named; None where the word is only a word."""
    capital = any(part[:1].isupper() for part in re.split(r"['’-]", spelled))
    common = is_word(word)
    then = (_STRICTLY_THEN_YEAR if common or not capital else _THEN_YEAR).match(behind)
    if then and not MEASURED.match(behind, then.end()) and (not common or (capital and word not in NOT_NAMES)):
        return 0, then.end()
    for person in people:
        # `van der Berg`
        first = person.family.removesuffix(word)
        if first and capital and bare(before).endswith(f" {first}") and not _CALLED_AFTER.match(behind):
            return len(first), 0
    given = re.search(r"([^\W\d_]+)\s$", before)
    if given and not common and any(person.given and bare(given.group(1)) == person.given for person in people):
        return len(given.group()), 0
    after = _GIVEN_BEHIND.match(behind)
    if after and capital and any(person.given and bare(after[1]) == person.given for person in people):
        return 0, after.end()
    if not capital:
        told = not common and not is_term and len(word) > 5 and _TOLD_BEHIND.match(behind)
        return (0, 0) if told else None
    if initials := _INITIALS_BEHIND.match(behind):
        written = bare(re.sub(r"\W", "", initials.group(1)))
        if any(person.initials and written == person.initials for person in people) and (
            len(written) > 1 or not common
        ):
            return 0, initials.end()
    if (letters := _INITIALS_IN_FRONT.search(before)) and any(
        person.initials and bare(re.sub(r"\W", "", letters.group(1))) == person.initials for person in people
    ):
        return len(letters.group()), 0
    if given and any(person.given and bare(given.group(1)) == person.given for person in people):
        return len(given.group()), 0
    # A common word is somebody where it does what only people do; who has no initials is a group.
    if common and word not in NOT_NAMES and any(person.initials for person in people):
        if _TELLS_BEHIND.match(behind):
            return 0, 0
        if _WITHIN_A_SENTENCE.search(before) and word not in NAMED_THINGS and _SAID_OR_ENDS.match(behind):
            return 0, 0
        if _BY_BEFORE.search(before) and _BY_END.match(behind):
            return 0, 0
    # `DAS28` is no author.
    if common or behind[:1].isdigit() or _ITS_OWN_NAME.match(behind):
        return None
    if word in _METHODS and _METHOD_BEHIND.match(behind):
        return None
    if year := _YEAR_THEN.search(before):
        return len(before) - year.start(), 0
    if TITLE_OF_PERSON.search(before) or _BY_BEFORE.search(before) or _SAID_BEHIND.match(behind):
        return 0, 0
    if _TOLD_MORE_BEHIND.match(behind):
        return 0, 0
    if _CITED_BEHIND.match(behind):
        return 0, 0
    if is_term or len(word) < 5 or _CALLED_AFTER.match(behind) or _PLACE_BEFORE.search(before):
        return None
    return 0, 0
