"""Authors named in folded prose: with a year, with `et al.`, or as the authors of shown works."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from literature_agent.integrity.folding import TOKEN
from literature_agent.integrity.hits import Hit
from literature_agent.integrity.known import Known, Person, bare, name_words
from literature_agent.integrity.vocabulary import (
    COMMON_WORD_JOURNALS,
    EPONYMS,
    JOURNALS,
    LONG_PLACES,
    NOT_NAMES,
    PLACES,
    SURNAMES,
    SURNAMES_CJK,
    WORD_NAMES,
    words,
)
from literature_agent.integrity.years import CAPITALISED, MEASURED, REACH, SIGNS, UPPER, Year

_PARTICLES = (
    r"(?:(?:van|von|der|den|de|del|della|di|da|dos|do|du|la|le|ter|ten|el|al|bin|ben|ibn|zu|zum|af|av|st\.?|graf)"
    r"[\s'-]){0,3}"
)
_NAME = rf"(?:(?:(?<![^\W_])(?i:{_PARTICLES}))?{CAPITALISED})"
_INITIALS = rf"(?:,?\s?(?:[{UPPER}]\.?[\s-]?){{1,3}}(?![^\W\d_]))"
_AND = r"(?:,\s?(?:and\s|&\s?)?|\s?[&/]\s?|\s(?:and|et|und|y|e|with)\s)"
_NAMES = rf"{_NAME}{_INITIALS}?(?:{_AND}{_NAME}{_INITIALS}?){{0,4}}"

_NAMES_BEFORE = re.compile(rf"(?P<names>{_NAMES})(?P<joint>\s?(?:[^\w\s]|_){{0,3}}\s?[^\w\s]{{0,2}}\s?)$")
_BY_BEFORE_YEAR = re.compile(rf"\bby\s(?:(?:Dr|Prof|Professor)\.?\s)?(?P<names>{_NAMES}),?\s(?:back\s)?in\s$")
_POSSESSIVE_BEFORE = re.compile(rf"(?P<names>{_NAME})'s?\s?\(?$")
# `Smith (in press, 2024)`: what stands between name and year says nothing of either.
_STATE_OF_PAPER = re.compile(
    r"(?:in\spress|in\spreparation|forthcoming|submitted|accepted|unpublished(?:\sdata)?|preprint|personal\scommunication"
    r"|\bcirca|\bca?\.|\b(?:the\s)?year|\bdated|(?:\bfirst\s)?\b(?:published|posted|e-?pub|online)(?:\s(?:online|ahead\sof\sprint))?(?:\sin)?),?\s?$",
    re.I,
)
_LAST_WORD = re.compile(r"([^\W\d_][^\W\d_'’.-]*)(?:['’]s?)?[\W_]{0,6}$")

_STUDY = (
    r"(?:trial|study|studies|paper|article|report|review|cohort|meta-analysis|analysis|survey|experiment|work|publication"
    r"|data|findings?|results?|group|team|lab|laboratory|model|hypothesis|protocol)"
)
_SAID = (
    r"(?:found|finds?|show(?:ed|s|n)?|report(?:ed|s)?|demonstrat(?:ed|es?)|conclud(?:ed|es?)|suggest(?:ed|s)?|observ(?:ed|es?)"
    r"|describ(?:ed|es?)|stud(?:ied|ies)|not(?:ed|es?)|argu(?:ed|es?)|propos(?:ed|es?)|compar(?:ed|es?)|investigat(?:ed|es?)"
    r"|examin(?:ed|es?)|evaluat(?:ed|es?)|review(?:ed|s)?|confirm(?:ed|s)?|estimat(?:ed|es?)|publish(?:ed|es)?|wrote|writes?"
    r"|randomi[sz]ed|enrolled|recruited|did|saw|detected|identified)"
)
_NAMED_STUDY_AFTER = re.compile(rf"\s(?P<names>(?:{_NAME}\s)?{_NAME})\s{_STUDY}\b")
_STUDY_OF = re.compile(rf"(?P<names>{_NAMES})\s(?P<study>{_STUDY})\s?(?:\s(?:of|from|in|published\sin)\s|[(\[])$")
# `Case report of 2022` opens a sentence and names nobody, although there are people called Case.
_KINDS_OF_PAPER = frozenset(
    ("case", "historical", "retracted", "withdrawn", "corrected", "original", "short", "brief", "technical", "interim")
)
# `Smith's work from 2020`, `the work of Smith from 2020`.
_OWN_STUDY_OF = re.compile(
    rf"(?P<names>{_NAME})'s?\s(?:[a-z-]{{1,16}}\s){{0,2}}{_STUDY}\s?(?:\s(?:of|from|in|published\sin)\s|[(\[])$"
    rf"|\b{_STUDY}\s(?:of|by)\s(?P<by>{_NAMES}),?\s(?:of|from|in|published\sin)\s$"
)
_STUDY_THEN_SAID = re.compile(rf"\s{_STUDY},\s(?P<names>{_NAMES})\s(?:\w+ly\s|also\s)?{_SAID}\b")
_BRACKETED_AFTER = re.compile(rf"\s?[(\[](?P<names>{_NAMES})[)\],;]")
_JOINED_AFTER = re.compile(rf"(?!,){SIGNS}{{1,2}}(?P<names>{_NAMES})(?![^\W_])")
_FROM_AFTER = re.compile(rf"\s{_STUDY}\sfrom\s(?P<names>{_NAMES})")
_BY_AFTER = re.compile(rf"[,)\]]?\s(?:[a-z-]{{1,20}}\s){{0,4}}by\s(?:(?:Dr|Prof|Professor)\.?\s)?(?P<names>{_NAMES})")
_ALREADY = r"(?:(?:had|has|have|first|also|already|later|then)\s){0,2}"
_SAID_AFTER = re.compile(rf",?\s(?P<names>(?:{_NAME}\s)?{_NAME})\s{_ALREADY}{_SAID}\b")
# `Smith first showed it in 2020`, `as Smith put it in 2020`: only of names that everybody has.
_SAID_IN = re.compile(
    rf"(?P<name>{CAPITALISED}),?\s(?:[a-z]{{2,12}}\s){{0,2}}?(?:{_SAID}|put|writing|states?|stated|claim(?:s|ed)?)\b"
    r"[^.;:()]{0,40}\bin\s$"
    rf"|(?P<alone>{CAPITALISED}),?\sin\s$"
)

_ET_AL = re.compile(
    r"\b(?:et|(?<=\s)and)\.?[\s_-]?(?:al(?:ii|iae|ia)?|coll)(?![^\W\d_])\.?|&\s?al\b\.?|(?<=_)etal(?![^\W\d_])|(?<=[A-Za-z])\s?等",
    re.I,
)
_YEAR_NEAR = r"(?:1[89]\d\d|20[0-3]\d)"
# In the tongues whose answers name authors so; what may also be another word needs its year.
_AND_OTHERS = re.compile(
    r"\s(?:and|&|with|plus)\s(?:(?:his|her|their|the)\s)?(?:colleagues?|team|co-?workers?|co-?authors?|associates|collaborators"
    r"|co-?investigators)\b"
    r"|\s(?:und\s(?:Mitarbeiter(?:innen)?|Mitarb\.?|Kolleg(?:en|innen)|Koautoren)|u\.\s?Mitarb\.?"
    r"|[ey]\s(?:colleghi|collaboratori|colaboradores|colegas|cols?)\b\.?|et\s(?:coll[eè]gues|collaborateurs)"
    r"|i\s(?:wsp|współpracownicy)\b\.?|a\s(?:kol|spol)\b\.?|ve\s(?:ark|arkadaşları|diğerleri)\b\.?|och\s(?:medarbetare|kollegor)"
    r"|og\s(?:kolleger|medarbejdere|medarbeidere)|en\scollega'?s|dan\srekan|ja\s(?:kollegat|työtoverit)|és\s(?:mtsai|munkatársai)"
    r"|v[aà]\scộng\ssự)(?![^\W_])\.?"
    rf"|\s(?:and\sothers|&\sco\b\.?|u\.\s?a\.|e\.\s?a\.|m\.\s?fl\.|med\sfler|dkk\b\.?|y\sotros|e\saltri|e\soutros|et\sautres|und\sandere)"
    rf"(?=[\s,]?\s?[(\[]?{_YEAR_NEAR}(?!\s\w))|\s&\sco\b\.?(?!\s(?:were|are|was)\b)",
    re.I,
)
# Names that begin with no capital, with "and others" or a family name that everybody has.
_CJK = re.compile(
    rf"(?:[㐀-鿿々]{{1,4}}\s?(?:ら|他|氏|等人|们|們|和同事|及其同事)|(?:{SURNAMES_CJK})(?:\s?(?:等|らは|らが|らの|らによ|등|외))?|[가-힣]{{1,4}}\s?(?:등|외))"
    rf"\s?(?:,|\s)?[(\[]?\s?{_YEAR_NEAR}(?!\d)\s?年?[)\]]?"
)
_CYRILLIC = re.compile(
    rf"(?<![^\W_])[А-ЯЁІЇЄ][а-яёіїє]{{1,30}}(?<=ов|ев|ёв|ин|ын|ко|юк|ук|ян|ий|зе|ва|на|ая|ли)(?:\s[А-ЯЁ]\.\s?[А-ЯЁ]?\.?)?(?:\s(?:и|і|та)\s[А-ЯЁІЇЄ][а-яёіїє]{{1,30}})?,?\s?[(\[]?{_YEAR_NEAR}(?=[)\]])"
)
_NAMES_AT_END = re.compile(rf"(?P<names>{_NAMES})[,\s]*$")
_YEAR_BEHIND = re.compile(r"[\s,.;]{0,3}[(\[]?\s?(?:1[89]\d\d|20[0-3]\d)[a-f]?\s?[)\]]?")
_TITLE_OF_PERSON = re.compile(r"\b(?:Dr|Prof|Professor)\.?\s(?:[A-Z]\.\s?){0,2}$")
_CYRILLIC_ET_AL = re.compile(
    r",?\s(?:и\sсоавт|и\sдр|та\sін|καὶ?\sσυν|κ\.\s?[αά])\b\.?|\s(?:وآخرون|وزملاؤه|ועמיתיו)", re.I
)
# `smith20`: two digits, behind a name that everybody has or that the run knows.
_SHORT_KEY = re.compile(r"(?<![^\W_])(?P<name>[^\W\d_]{5,20})\d\d[a-z]?(?![^\W_]|-\d)")
_SPACED_OUT = re.compile(r"(?<![^\W_])(?:[^\W\d_]\s){3,24}[^\W\d_](?![^\W_])")


_LONG_PLACES = re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(map(re.escape, LONG_PLACES)))})(?![^\W_])")


def author_years(text: str, known: Known, years: Iterable[Year]) -> Iterator[Hit]:
    """Authors with one of the `years`, or named as authors, left to right within each pattern; hits may overlap."""
    # In lower case, names of several words that are places name nobody; the text keeps its length.
    text = _LONG_PLACES.sub(lambda place: place.group().lower(), text)
    yield from _others(text)
    for year in years:
        key = _KEY_BEFORE.search(text, max(0, year.start - 60), year.start) if year.how in ("joined", "glued") else None
        if key is not None:
            if _is_key(text, key, year, known):
                yield Hit("author-year", key.start(), year.end)
            continue
        yield from _named_before(text, year, known)
        yield from _named_after(text, year)
    for match in _SHORT_KEY.finditer(text):
        if _is_surname(match["name"], known):
            yield Hit("author-year", match.start(), match.end())
    yield from _in_full(text, known)
    yield from _family_name_alone(text, known)
    if known.people:
        yield from _known_people(text, known)


# Names of nobody in particular are authors where they are written in full before what authors do.
_THEN_SAID = rf"(?:\s?[(\[]?\s?{TOKEN}\s?[)\]]?)?,?\s(?:\w+ly\s|also\s|first\s|has\s|have\s)?(?:{_SAID})\b"
_INITIALS_NAME_SAID = re.compile(rf"(?<![^\W_])(?:[{UPPER}]\.[\s-]?){{1,3}}(?P<name>{CAPITALISED})(?={_THEN_SAID})")
_NAME_INITIALS_SAID = re.compile(
    rf"(?<![^\W_])(?P<name>{CAPITALISED}),?\s(?:[{UPPER}]\.?-?\s?){{1,3}}(?<=[{UPPER}.])(?={_THEN_SAID})"
)
_LIST_SAID = re.compile(
    rf"(?<![^\W_]){CAPITALISED}(?:,\s{CAPITALISED}){{0,4}},?\s(?:and|&)\s{CAPITALISED}(?={_THEN_SAID})"
)
_GIVEN_NAME_SAID = re.compile(
    rf"(?<![^\W_])(?P<given>[{UPPER}][a-z]{{2,12}})\s(?:[{UPPER}]\.\s)?(?P<name>{CAPITALISED})(?={_THEN_SAID})"
)
_TITLED = re.compile(
    rf"(?<![^\W_])(?:Dr|Prof|Professor|Doctor)\.?\s(?:(?:[{UPPER}]\.\s?){{1,3}})?(?:{CAPITALISED}\s)?(?P<name>{CAPITALISED})(?={_THEN_SAID})"
)


def _in_full(text: str, known: Known) -> Iterator[Hit]:
    """`J. Smith reported`, `Smith J reported`, `Smith, Jones and Brown reported`, `Professor John Smith reported`."""

    def is_told(name: str) -> bool:
        low = bare(name)
        return low not in NOT_NAMES and (low in SURNAMES or low in known.people)

    for match in _TITLED.finditer(text):
        if _is_name(match["name"]):
            yield Hit("author-year", match.start(), match.end())
    for pattern in (_INITIALS_NAME_SAID, _NAME_INITIALS_SAID):
        for match in pattern.finditer(text):
            if is_told(match["name"]):
                yield Hit("author-year", match.start(), match.end())
    for match in _LIST_SAID.finditer(text):
        parts = [part for part in re.split(r",?\s(?:and\s|&\s)?", match.group()) if part]
        if len(set(parts)) < len(parts):
            continue  # Johnson & Johnson
        certain = sum(is_told(part) and bare(part) not in WORD_NAMES for part in parts)
        if certain and all(is_told(part) or _is_name(part) for part in parts):
            yield Hit("author-year", match.start(), match.end())
    for match in _GIVEN_NAME_SAID.finditer(text):
        given = bare(match["given"])
        if given in NOT_NAMES or given in _OPENING or given in _HEADS or bare(match["name"]) in WORD_NAMES:
            continue
        if is_told(match["name"]):
            yield Hit("author-year", match.start(), match.end())


# A family name that everybody has and that is no other word, where only an author can stand.
_TELLS = (
    r"(?:reported|reports|found|finds|show(?:ed|s)|demonstrat(?:ed|es)|conclud(?:ed|es)|suggest(?:ed|s)|observ(?:ed|es)"
    r"|describ(?:ed|es)|argu(?:ed|es)|propos(?:ed|es)|noted|claim(?:ed|s)|wrote|confirmed)"
)
_ALONE = re.compile(
    rf"(?:^|(?<=[.;:!?,]\s)|(?<=[(\[])|(?<=\b(?i:as|or)\s)|(?<=\b(?i:and|but)\s)|(?<=\bthat\s)|(?<=\b(?i:while)\s)"
    rf"|(?<=\b(?i:whereas)\s))(?P<said>{CAPITALISED})(?:\s?[(\[]?\s?{TOKEN}\s?[)\]]?)?\s{_ALREADY}{_TELLS}\b"
    rf"|\b(?i:according\sto)\s(?P<by>{CAPITALISED})(?=\s?(?:[,.;:()]|{TOKEN}|$))"
    rf"|(?<![^\W_])(?P<of>{CAPITALISED})'s\s(?:(?:own|recent|early|earlier|later|large|small)\s)?"
    r"(?:trials?|study|studies|papers?|articles?|reports?|reviews?|meta-analysis|group|team|lab|data|findings?|results?)\b"
    rf"|(?<=[a-z]\s)\[(?P<in>{CAPITALISED})\](?=\s?[.,;:]|$)"
)
_NOT_ALONE = words("holm islam medina robin sun vega")
# What only people do. Without an object it may be said of what they did it to: `Nausea reported by patients`.
_TELL = (
    r"(?:report(?:ed|s)|conclud(?:ed|es)|argu(?:ed|es)|claim(?:ed|s)|wrote|writes|not(?:ed|es)|stat(?:ed|es)|assert(?:ed|s)"
    r"|hypothesi[sz]e[ds]|postulate[ds]|speculate[ds]|propos(?:ed|es)|describ(?:ed|es)|observ(?:ed|es)|believe[ds]|caution(?:ed|s))"
    r"\s(?:that|a|an|the|no|this|these|it|similar|significant)\b"
)
_NOBODY_KNOWN = re.compile(
    rf"(?:^|(?<=[.;:!?,]\s)|(?<=\b(?i:as)\s)|(?<=\b(?i:and|but)\s)|(?<=\bthat\s)|(?<=\b(?i:while)\s)|(?<=\b(?i:whereas)\s))"
    rf"(?P<name>{CAPITALISED})(?:\s?[(\[]?\s?{TOKEN}\s?[)\]]?)?\s{_ALREADY}{_TELL}"
)
_BODIES = words("research staff management everybody everyone nobody somebody someone pfizer moderna merck bayer roche")


def _family_name_alone(text: str, known: Known) -> Iterator[Hit]:
    """`Smith reported`, `according to Smith`, `Smith's trial`, `[Smith]`; and `Okonkwo argued that`, where no text of
    the run holds the word."""
    for match in _NOBODY_KNOWN.finditer(text):
        low = bare(match["name"])
        if _is_name(match["name"]) and low not in _BODIES and (low in SURNAMES or low[-1] != "s"):
            written = re.compile(rf"(?<![^\W_]){low}(?![^\W_])", re.I)
            if not any(written.search(each) for each in known.texts):
                yield Hit("author-year", match.start(), match.end("name"))
    for match in _ALONE.finditer(text):
        name = next(name for name in match.groups() if name is not None)
        low = bare(name)
        if low in SURNAMES and low not in _NOT_ALONE and not _is_word(low) and not name.isupper():
            yield Hit("author-year", match.start(), match.end())


_KEY_BEFORE = re.compile(
    rf"(?P<at>@)?(?<![^\W_])(?P<name>(?:[odOD]['’])?[^\W\d_]{{2,40}}(?:['’-][^\W\d_]{{2,40}}){{0,3}})(?P<etal>_?et_?al)?(?P<joint>(?:\s?{SIGNS}{{1,2}}\s?)?)$"
)
# Names of variants, probes, tools and data sets grow together with numbers, too.
_GLUED_TO_NUMBERS = words(
    """
    ala arg asn asp cys gln glu gly his ile leu lys met phe pro ser thr trp tyr val ter sec
    mir let rs cg loc chr exp gse gsm srr hsa ver version data cohort icd dsm covid sars ncov gold tnm figo nhanes gbd
    hits semeval casp mimic mesh umls snomed wave round year fy ad ca to from since until by in of and or the a an pre
    post mid early late circa
    """
)


def _is_key(text: str, found: re.Match[str], year: Year, known: Known) -> bool:
    """Whether a word is an author's name grown together with the year: `smith2020`, `[Okafor_2019]`."""
    name, joint, start = found["name"], found["joint"], found.start()
    # Strains of viruses have a place before their year: A/Darwin/2021.
    if bare(name) in _GLUED_TO_NUMBERS or _STRAIN.search(text, max(0, start - 50), start):
        return False
    if _is_surname(name, known, least=2 if name[0].isupper() and not name.isupper() else 4):
        return True
    alone = text[max(0, start - 1) : start] in ("(", "[", "{", "@") or text[max(0, start - 2) : start] in ("; ", ", ")
    alone = alone and text[year.end : year.end + 1] in (")", "]", "}", ";", ",")
    if name[0].isupper():
        if bare(name) in WORD_NAMES and not alone:
            return False
        return _is_name(name) and not _is_part_of_a_name(text[max(0, start - 40) : start])
    low = bare(name)
    # `smith2020cognitive`
    if not joint and year.end - year.start > 6 and len(low) > 3 and _may_be_family(low):
        return True
    # In lower case, any word: within brackets of its own, and grown together as words are not.
    if not (found["at"] or alone) or joint not in ("", "_", ":"):
        return False
    return not (len(low) < 4 or not _may_be_family(low) or low in WORD_NAMES)


_STRAIN = re.compile(r"(?<![^\W_])[A-D]/(?:[\w-]{1,20}/){0,2}$")


def _is_surname(name: str, known: Known, *, least: int = 5) -> bool:
    """Whether the run, or everybody, knows a word, or the last part of it, as a family name and as nothing else."""
    low = bare(name)
    for part in (low, low.rpartition("-")[2]):
        if len(part) < least or (part in WORD_NAMES and not name[0].isupper()) or part in NOT_NAMES or part in EPONYMS:
            continue
        if part in SURNAMES or (part in known.people and part not in WORD_NAMES):
            return True
    return False


def _others(text: str) -> Iterator[Hit]:
    for match in _ET_AL.finditer(text):
        window = max(0, match.start() - REACH)
        names = _NAMES_AT_END.search(text, window, match.start())
        start = names.start() if names else _start_of_word(text, match.start())
        behind = _YEAR_BEHIND.match(text, match.end())
        yield Hit("author-year", start, behind.end() if behind else match.end())
    for match in _AND_OTHERS.finditer(text):
        names = _NAMES_AT_END.search(text, max(0, match.start() - REACH), match.start())
        if names and _are_names(names["names"]):
            behind = _YEAR_BEHIND.match(text, match.end())
            yield Hit("author-year", names.start(), behind.end() if behind else match.end())
    if text.isascii():
        return
    for match in _CYRILLIC_ET_AL.finditer(text):
        behind = _YEAR_BEHIND.match(text, match.end())
        yield Hit("author-year", _start_of_word(text, match.start()), behind.end() if behind else match.end())
    for pattern in (_CJK, _CYRILLIC):
        for match in pattern.finditer(text):
            yield Hit("author-year", match.start(), match.end())


def _start_of_word(text: str, at: int) -> int:
    before = text[max(0, at - 40) : at].rstrip()
    return max(0, at - 40) + before.rfind(" ") + 1 if before else at


def _named_before(text: str, year: Year, known: Known) -> Iterator[Hit]:
    """`Smith (2020)`, `Smith and Jones, 2020`, `Smith J. 2020`, `Smith's 2020 trial`."""
    offset = max(0, year.start - REACH)
    window = _STATE_OF_PAPER.sub("", text[offset : year.start])
    # Searches from the end of a window cost most: only where the window ends as their patterns do.
    leads = window.endswith(("of ", "from ", "in ", "(", "["))
    own = _OWN_STUDY_OF.search(window) if leads else None
    if own and _are_names(own["names"] or own["by"]):
        yield Hit("author-year", offset + own.start(), year.end)
        return
    said = _SAID_IN.search(window[-90:]) if window.endswith("in ") else None
    if said and _is_surname(said["name"] or said["alone"], known, least=3):
        yield Hit("author-year", year.start - len(window[-90:]) + said.start(), year.end)
        return
    told = _BY_BEFORE_YEAR.search(window) if window.endswith("in ") else None
    if told and _are_names(told["names"]):
        yield Hit("author-year", offset + told.start("names"), year.end)
        return
    if year.how == "range":
        listed = _NAMES_BEFORE.search(window)
        if listed and any(_is_surname(part, known, least=3) for part in _JOINTS.split(listed["names"]) if part):
            yield Hit("author-year", offset + listed.start("names"), year.end)
        return
    study = _STUDY_OF.search(window) if leads else None
    if study and bare(study["names"]) in _KINDS_OF_PAPER:
        return
    if study and _are_names(study["names"]):
        # Trials and cohorts have names, too; papers are called after authors.
        surname = any(bare(part) in SURNAMES for part in re.split(r"[\s/&,-]+", study["names"]))
        if surname or study["study"] in (
            "paper",
            "article",
            "report",
            "publication",
            "group",
            "team",
            "lab",
            "laboratory",
        ):
            yield Hit("author-year", offset + study.start("names"), year.end)
            return
    last = _LAST_WORD.search(window[-50:])
    if last is None or not last.group(1)[0].isupper():
        return
    if possessive := _POSSESSIVE_BEFORE.search(window):
        if _is_name(possessive["names"]) and re.match(
            rf"\)?\s(?:[a-z-]+\s){{0,2}}{_STUDY}\b", text[year.end : year.end + 50]
        ):
            yield Hit("author-year", offset + possessive.start(), year.end)
        return
    found = _NAMES_BEFORE.search(window)
    if found is None:
        return
    names, joint = found["names"], found["joint"]
    opened = re.search(r"[(\[{<]", joint) is not None
    if opened and not re.match(r"\s?[)\]};,:>]", text[year.end : year.end + 2]):
        return
    several = bool(_JOINTS.search(names))
    if not _are_names(names, each=not several):
        return
    before = window[: found.start()]
    if not several and _is_part_of_a_name(before):
        return
    standard = None if several or opened else _OF_A_STANDARD.match(text, year.end)
    if standard and (standard["strict"] or bare(names) not in SURNAMES):
        return
    # "Brown 2011 fat": words that are names, too, need a sign that the year ends something.
    if not several and not joint.strip() and bare(names) in WORD_NAMES and not _ENDS.match(text, year.end):
        return
    yield Hit(
        "author-year",
        offset + found.start(),
        year.end + (1 if opened and text[year.end : year.end + 1] in ")]" else 0),
    )


# `the McDonald 2017 criteria`: what is named after somebody is no citation of him.
_OF_A_STANDARD = re.compile(
    r"\s(?:[a-z-]{1,16}\s)?(?:(?P<strict>criteri(?:a|on)|classifications?|staging|grad(?:es?|ing)|stages?|schemes?|nomenclature)"
    r"|definitions?|consensus|scores?|scales?|standards?|systems?|declaration|budget|agenda|strategy|programmes?|guidelines?"
    r"|recommendations?|categories)\b"
)
_ENDS = re.compile(rf"\s?(?:[,.;:)\]]|$)|\s{_SAID}\b|\s{_STUDY}\b")


def _named_after(text: str, year: Year) -> Iterator[Hit]:
    """`the 2020 Smith trial`, `a 2020 study by Smith`, `in 2020, Smith reported`."""
    window = text[year.end : year.end + REACH]
    for pattern in (_NAMED_STUDY_AFTER, _BY_AFTER, _SAID_AFTER, _STUDY_THEN_SAID, _BRACKETED_AFTER):
        found = pattern.match(window)
        if found and _are_names(found["names"]):
            yield Hit("author-year", year.start, year.end + found.end("names"))
            return
    found = _FROM_AFTER.match(window)
    if found and any(bare(part) in SURNAMES for part in re.split(r"[\s/&,-]+", found["names"])):
        yield Hit("author-year", year.start, year.end + found.end("names"))
    found = _JOINED_AFTER.match(window)
    if found and _are_names(found["names"]):
        told = re.match(rf"\s(?:{_STUDY}|{_SAID})\b", window[found.end() :]) is not None
        alone = told or (
            text[max(0, year.start - 1) : year.start] in ("(", "[") and window[found.end() : found.end() + 1] in ")],;"
        )
        if alone or any(bare(part) in SURNAMES for part in re.split(r"[\s/&,-]+", found["names"])):
            yield Hit("author-year", year.start, year.end + found.end())


_JOINTS = re.compile(_AND)


def _are_names(names: str, *, each: bool = False) -> bool:
    """Whether the listed capitalised words can be authors: the last of them, or each of their words."""
    parts = [
        part for part in _JOINTS.split(names) if part and not re.fullmatch(rf"(?:[{UPPER}]\.?[\s-]?){{1,3}}", part)
    ]
    return bool(parts) and all(_is_name(part) for part in (parts if each or len(parts) > 1 else parts[-1:]))


_TRAILING_INITIALS = re.compile(rf"(?:,?\s(?:[{UPPER}]\.?[\s-]?){{1,3}})+$")
_NOUN = re.compile(
    r"(?:tions?|sions?|ments?|ness|ities|ity|isms?|ologies|ology|itis|emia|aemia|osis|oses|omas?|therapy|therapies|graphy|grams?"
    r"|scopy|ectomy|plasty|mab|nib|statins?|pril|sartan|olol|gliptin|gliflozin|glutide|formin|cillin|mycin|azole|parib|lukast"
    r"|triptan|setron|ships?|hoods?|ances?|ences?|ings|ically|ively"
    # Endings of the international names of drugs that family names do not have.
    r"|xaban|ivir|avir|ovir|mectin|ethasone|nisone|nisolone|imibe|renone|arone|bitril|oxetine|traline|cycline|quiline|quine"
    r"|niazid|fampicin|sunate|gravir|platin|taxel|oxifen|trozole|lutamide|dronate|floxacin|oxacin|thromycin|penem|bactam|vudine|citabine"
    r"|morphine|norphine|rphanol|oxone|thadone|oxycodone|fentanil|entanyl|prost|prostol|tocin|inersen|parvovec|caftor|xyurea"
    r"|dipine|azine|azepam|azolam|barbital|caine|flurane|peridone|apine|triptyline|azepine|gabalin|racetam|stigmine|glitazone"
    r"|fenac|profen|coxib|asib|ciclib|zomib|limus|onide|meterol|tropium|semide|thiazide|lactone|vaptan|fibrate|siran|trombopag"
    r"|poetin|grastim|fungin|pristone|estradiol|gesterone|relix|relin|tropin|chicine|tidine|atadine|kinumab|kinra|ercept)$"
)


def _is_name(name: str) -> bool:
    """Whether capitalised words can be a family name: no place, date, institution, common word or acronym."""
    found = [match.group() for match in name_words(_TRAILING_INITIALS.sub("", name))]
    if not found:
        return False
    last = found[-1]
    low = bare(last)
    if last.isupper():
        return len(low) > 4 and low in SURNAMES
    if not _may_be_family(low) or any(len(part) > 3 and part in NOT_NAMES for part in low.split("-")):
        return False
    if re.match(rf"[{UPPER}]{{2}}", last):
        return False
    # An inner capital makes a trial or a product of a word, except behind the prefixes of names.
    return re.search(r"[a-z][A-Z]", re.sub(r"^(?:Mc|Mac|O'|D'|De|Di|Du|La|Le|Fitz|Van|Von)(?=[A-Z])", "", last)) is None


def _may_be_family(low: str) -> bool:
    """Whether a bare word is none of the words that are no family name."""
    if low in NOT_NAMES or low in EPONYMS or low in COMMON_WORD_JOURNALS or low in JOURNALS:
        return False
    return low in SURNAMES or _NOUN.search(low) is None


def _is_part_of_a_name(before: str) -> bool:
    """Whether the capitalised word behind `before` ends a longer proper name: `Los Angeles`, `World Health Report`."""
    words_before = re.search(r"((?:[^\W\d_][\w'’-]*\s(?:of\s|for\s|the\s)?){1,4})$", before)
    if words_before is None:
        return False
    run = words_before.group(1).split()
    if not run[-1][0].isupper():
        return (
            run[-1] in ("of", "for", "the") and len(run) > 1 and run[-2][0].isupper() and bare(run[-2]) not in _OPENING
        )
    return (run[-1].isupper() and len(run[-1]) > 1) or bare(run[-1]) in PLACES | _HEADS


_HEADS = words("hurricane cyclone typhoon operation world united new saint san los las cape lake mount fort")
# Words that open a sentence and say nothing of the name behind them.
_OPENING = words(
    """
    the a an in on at by of to from for with since until till during before after between among as and or but when while
    where whereas although though both also then thus hence however
    """
)


# --- people of shown works --------------------------------------------------------------------------------------------

_THEN_YEAR = re.compile(
    rf"(?:'s?)?(?:(?:,|\s(?:and|&))\s?{_NAME})?(?:[\s,.;:(\[]{{1,3}}(?:[a-z-]{{1,14}}|[{UPPER}]\.?){{1}}){{0,3}}[\s,.;:(\['{TOKEN}/_|+~=*#@&^\\-]{{0,4}}"
    r"(?:1[89]\d\d|20[0-3]\d)(?![\d])"
)
_STRICTLY_THEN_YEAR = re.compile(
    rf"(?:'s)?(?:\s?{SIGNS}{{1,2}})?\s?[(\[]?(?:1[89]\d\d|20[0-3]\d)(?!\d)[a-f]?\s?[)\];,.]?"
)
_YEAR_THEN = re.compile(rf"(?<!\d)(?:1[89]\d\d|20[0-3]\d)(?:[)\],]?\s(?:[a-z-]{{1,14}}\s){{0,4}}|(?!,){SIGNS}{{1,2}})$")
_INITIALS_BEHIND = re.compile(rf",?\s((?:[{UPPER}]\.?\s?-?){{1,4}})(?![^\W\d_])")
_INITIALS_IN_FRONT = re.compile(rf"(?<![^\W_])((?:[{UPPER}]\.\s?-?){{1,4}})\s?$")
_SAID_BEHIND = re.compile(rf"(?:-led|-style)?\s(?:{_SAID}|{_STUDY})\b|'s?\s(?:\w+\s)?{_STUDY}\b")
_TELLS_BEHIND = re.compile(
    rf"(?:\s?[(\[]?\s?{TOKEN}\s?[)\]]?)?,?\s(?:(?:\w{{2,12}}ly|also|first|later|then|has|have|had|further|again)\s){{0,2}}{_TELL}"
)
_WITHIN_A_SENTENCE = re.compile(r"[a-z][,;:]?\s$")
_SAID_OR_ENDS = re.compile(
    rf"\s{_ALREADY}{_SAID}\b(?!\s(?:by|in|for|as|to|with|at|from)\b)|'s\s(?:own\s)?(?:{_STUDY})\b"
)
_BY_END = re.compile(rf"\s?(?:[,.;:)]|{TOKEN}|$)")
_TOLD_MORE_BEHIND = re.compile(
    r"\s(?:(?:\w{2,12}ly|also|first|later|then|has|have|had)\s){0,2}(?:tested|tests|stated|states|claim(?:ed|s)|hypothesi[sz]e[ds]"
    r"|postulated|speculated|(?:dis)?agree[ds]?|disput(?:ed|es)|doubt(?:ed|s)|believe[ds]|put\sit|was\sthe\sfirst)\b"
)
# A reference stands behind the name as a year would: `Ferrante {r} found`, `Ferrante and Okafor ({r})`.
_CITED_BEHIND = re.compile(rf"(?:'s?)?(?:{_AND}{_NAME}{_INITIALS}?){{0,3}}[\s,;:]{{0,3}}[(\[]?\s?{TOKEN}")
_TOLD_BEHIND = re.compile(rf"(?:\s?[(\[]?\s?{TOKEN}[)\]]?)?\s(?:has\s|have\s|also\s)?{_SAID}\b")
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
    r"(?<!shown )(?<!reported )(?<!described )(?<!seen )(?<!found )\b(?:in|at|near|from|around)\s$|\w-$"
)
_BY_BEFORE = re.compile(r"\b(?:by|see|cf\.?|per|according\sto|in\sthe\swork\sof|led\sby)\s$", re.I)


def _known_people(text: str, known: Known) -> Iterator[Hit]:
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
        if word in known.people and not _is_word(word):
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


def _is_word(word: str) -> bool:
    return word in NOT_NAMES or word in EPONYMS or word in WORD_NAMES


def _as_author(
    word: str, spelled: str, people: list[Person], before: str, behind: str, *, is_term: bool
) -> tuple[int, int] | None:
    """How far to the left and right an author is named; None where the word is only a word."""
    capital = any(part[:1].isupper() for part in re.split(r"['’-]", spelled))
    common = _is_word(word)
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
        if _WITHIN_A_SENTENCE.search(before) and word not in EPONYMS and _SAID_OR_ENDS.match(behind):
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
    if _TITLE_OF_PERSON.search(before) or _BY_BEFORE.search(before) or _SAID_BEHIND.match(behind):
        return 0, 0
    if _TOLD_MORE_BEHIND.match(behind):
        return 0, 0
    if _CITED_BEHIND.match(behind):
        return 0, 0
    if is_term or len(word) < 5 or _CALLED_AFTER.match(behind) or _PLACE_BEFORE.search(before):
        return None
    return 0, 0
