"""Authors named in folded prose: with a year, with `et al.`, where authors stand, or as those of works of the run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from literature_agent.integrity.folding import TOKEN
from literature_agent.integrity.hits import Hit
from literature_agent.integrity.known import Known, bare
from literature_agent.integrity.naming import (
    ALREADY,
    JOINTS,
    NAME,
    NAMES,
    SAID,
    STUDY,
    TELL,
    are_names,
    has_surname,
    is_name,
    is_surname,
    is_word,
    may_be_family,
)
from literature_agent.integrity.people import known_people
from literature_agent.integrity.vocabulary import (
    LONG_PLACES,
    NOT_NAMES,
    PLACES,
    SURNAMES,
    SURNAMES_CJK,
    WORD_NAMES,
    words,
)
from literature_agent.integrity.years import CAPITALISED, REACH, SIGNS, UPPER, Year

_NAMES_BEFORE = re.compile(rf"(?P<names>{NAMES})(?P<joint>\s?(?:[^\w\s]|_){{0,3}}\s?[^\w\s]{{0,2}}\s?)$")
_BY_BEFORE_YEAR = re.compile(rf"\bby\s(?:(?:Dr|Prof|Professor)\.?\s)?(?P<names>{NAMES}),?\s(?:back\s)?in\s$")
_POSSESSIVE_BEFORE = re.compile(rf"(?P<names>{NAME})'s?\s?\(?$")
# `Smith (in press, 2024)`: what stands between name and year says nothing of either.
_STATE_OF_PAPER = re.compile(
    r"(?:in\spress|in\spreparation|forthcoming|submitted|accepted|unpublished(?:\sdata)?|preprint|personal\scommunication"
    r"|\bcirca|\bca?\.|\b(?:the\s)?year|\bdated|(?:\bfirst\s)?\b(?:published|posted|e-?pub|online)(?:\s(?:online|ahead\sof\sprint))?(?:\sin)?),?\s?$",
    re.I,
)
_LAST_WORD = re.compile(r"([^\W\d_][^\W\d_'’.-]*)(?:['’]s?)?[\W_]{0,6}$")

_NAMED_STUDY_AFTER = re.compile(rf"\s(?P<names>(?:{NAME}\s)?{NAME})\s{STUDY}\b")
_STUDY_OF = re.compile(rf"(?P<names>{NAMES})\s(?P<study>{STUDY})\s?(?:\s(?:of|from|in|published\sin)\s|[(\[])$")
# `Case report of 2022` opens a sentence and names nobody, although there are people called Case.
_KINDS_OF_PAPER = frozenset(
    ("case", "historical", "retracted", "withdrawn", "corrected", "original", "short", "brief", "technical", "interim")
)
# Trials and cohorts have names, too; these are called after authors.
_CALLED_AFTER_AUTHORS = frozenset(("paper", "article", "report", "publication", "group", "team", "lab", "laboratory"))
# `Smith's work from 2020`, `the work of Smith from 2020`.
_OWN_STUDY_OF = re.compile(
    rf"(?P<names>{NAME})'s?\s(?:[a-z-]{{1,16}}\s){{0,2}}{STUDY}\s?(?:\s(?:of|from|in|published\sin)\s|[(\[])$"
    rf"|\b{STUDY}\s(?:of|by)\s(?P<by>{NAMES}),?\s(?:of|from|in|published\sin)\s$"
)
_STUDY_THEN_SAID = re.compile(rf"\s{STUDY},\s(?P<names>{NAMES})\s(?:\w+ly\s|also\s)?{SAID}\b")
_BRACKETED_AFTER = re.compile(rf"\s?[(\[](?P<names>{NAMES})[)\],;]")
_JOINED_AFTER = re.compile(rf"(?!,){SIGNS}{{1,2}}(?P<names>{NAMES})(?![^\W_])")
_FROM_AFTER = re.compile(rf"\s{STUDY}\sfrom\s(?P<names>{NAMES})")
_BY_AFTER = re.compile(rf"[,)\]]?\s(?:[a-z-]{{1,20}}\s){{0,4}}by\s(?:(?:Dr|Prof|Professor)\.?\s)?(?P<names>{NAMES})")
_SAID_AFTER = re.compile(rf",?\s(?P<names>(?:{NAME}\s)?{NAME})\s{ALREADY}{SAID}\b")
# `Smith first showed it in 2020`, `as Smith put it in 2020`: only of names that everybody has.
_SAID_IN = re.compile(
    rf"(?P<name>{CAPITALISED}),?\s(?:[a-z]{{2,12}}\s){{0,2}}?(?:{SAID}|put|writing|states?|stated|claim(?:s|ed)?)\b"
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
_NAMES_AT_END = re.compile(rf"(?P<names>{NAMES})[,\s]*$")
_YEAR_BEHIND = re.compile(r"[\s,.;]{0,3}[(\[]?\s?(?:1[89]\d\d|20[0-3]\d)[a-f]?\s?[)\]]?")
_CYRILLIC_ET_AL = re.compile(
    r",?\s(?:и\sсоавт|и\sдр|та\sін|καὶ?\sσυν|κ\.\s?[αά])\b\.?|\s(?:وآخرون|وزملاؤه|ועמיתיו)", re.I
)
# `smith20`: two digits, behind a name that everybody has or that the run knows.
_SHORT_KEY = re.compile(r"(?<![^\W_])(?P<name>[^\W\d_]{5,20})\d\d[a-z]?(?![^\W_]|-\d)")


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
        if is_surname(match["name"], known):
            yield Hit("author-year", match.start(), match.end())
    yield from _in_full(text, known)
    yield from _family_name_alone(text, known)
    if known.people:
        yield from known_people(text, known)


# Names of nobody in particular are authors where they are written in full before what authors do.
_THEN_SAID = rf"(?:\s?[(\[]?\s?{TOKEN}\s?[)\]]?)?,?\s(?:\w+ly\s|also\s|first\s|has\s|have\s)?(?:{SAID})\b"
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
        if is_name(match["name"]):
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
        if certain and all(is_told(part) or is_name(part) for part in parts):
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
    rf"|(?<=\b(?i:whereas)\s))(?P<said>{CAPITALISED})(?:\s?[(\[]?\s?{TOKEN}\s?[)\]]?)?\s{ALREADY}{_TELLS}\b"
    rf"|\b(?i:according\sto)\s(?P<by>{CAPITALISED})(?=\s?(?:[,.;:()]|{TOKEN}|$))"
    rf"|(?<![^\W_])(?P<of>{CAPITALISED})'s\s(?:(?:own|recent|early|earlier|later|large|small)\s)?"
    r"(?:trials?|study|studies|papers?|articles?|reports?|reviews?|meta-analysis|group|team|lab|data|findings?|results?)\b"
    rf"|(?<=[a-z]\s)\[(?P<in>{CAPITALISED})\](?=\s?[.,;:]|$)"
)
_NOT_ALONE = words("holm islam medina robin sun vega")
_NOBODY_KNOWN = re.compile(
    rf"(?:^|(?<=[.;:!?,]\s)|(?<=\b(?i:as)\s)|(?<=\b(?i:and|but)\s)|(?<=\bthat\s)|(?<=\b(?i:while)\s)|(?<=\b(?i:whereas)\s))"
    rf"(?P<name>{CAPITALISED})(?:\s?[(\[]?\s?{TOKEN}\s?[)\]]?)?\s{ALREADY}{TELL}"
)
# What may stand there and is nobody: numbers of works, and bodies that no article stands before.
_NOBODY = words(
    """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred none half much anyone
    anybody everyone everybody nobody somebody someone third quarter majority research literature staff
    management faculty leadership industry government parliament congress senate court police army navy family
    media press commentary correspondence society fewer youth abbott abbvie alnylam amgen
    apple astellas bayer biogen biontech boehringer celgene curevac eisai genentech gilead incyte interpol janssen
    lilly lundbeck medsafe merck moderna novavax novo otsuka pfizer regeneron roche sandoz sanofi servier
    sinovac swissmedic takeda teva vertex viatris
    """
)


def _family_name_alone(text: str, known: Known) -> Iterator[Hit]:
    """`Smith reported`, `according to Smith`, `Smith's trial`, `[Smith]`; and `Okonkwo argued that`, where no text of
    the run holds the word."""
    for match in _NOBODY_KNOWN.finditer(text):
        low = bare(match["name"])
        parts = match["name"].split("-")
        # `Twenty-two reported`, `Dapa-CKD reported`
        if not _NOBODY.isdisjoint(map(bare, parts)) or any(part.isupper() for part in parts):
            continue
        if is_name(match["name"]) and (low in SURNAMES or not low.endswith(("s", "ly"))):
            written = re.compile(rf"(?<![^\W_])(?:{low}|{re.escape(match['name'])})(?![^\W_])", re.I)
            if not any(written.search(each) for each in known.texts):
                yield Hit("author-year", match.start(), match.end("name"))
    for match in _ALONE.finditer(text):
        name = next(name for name in match.groups() if name is not None)
        low = bare(name)
        if low in SURNAMES and low not in _NOT_ALONE and not is_word(low) and not name.isupper():
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
    if is_surname(name, known, least=2 if name[0].isupper() and not name.isupper() else 4):
        return True
    alone = text[max(0, start - 1) : start] in ("(", "[", "{", "@") or text[max(0, start - 2) : start] in ("; ", ", ")
    alone = alone and text[year.end : year.end + 1] in (")", "]", "}", ";", ",")
    if name[0].isupper():
        if bare(name) in WORD_NAMES and not alone:
            return False
        return is_name(name) and not _is_part_of_a_name(text[max(0, start - 40) : start])
    low = bare(name)
    # `smith2020cognitive`
    if not joint and year.end - year.start > 6 and len(low) > 3 and may_be_family(low):
        return True
    # In lower case, any word: within brackets of its own, and grown together as words are not.
    if not (found["at"] or alone) or joint not in ("", "_", ":"):
        return False
    return not (len(low) < 4 or not may_be_family(low) or low in WORD_NAMES)


_STRAIN = re.compile(r"(?<![^\W_])[A-D]/(?:[\w-]{1,20}/){0,2}$")


def _others(text: str) -> Iterator[Hit]:
    for match in _ET_AL.finditer(text):
        window = max(0, match.start() - REACH)
        names = _NAMES_AT_END.search(text, window, match.start())
        start = names.start() if names else _start_of_word(text, match.start())
        behind = _YEAR_BEHIND.match(text, match.end())
        yield Hit("author-year", start, behind.end() if behind else match.end())
    for match in _AND_OTHERS.finditer(text):
        names = _NAMES_AT_END.search(text, max(0, match.start() - REACH), match.start())
        if names and are_names(names["names"]):
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
    """`Smith (2020)`, `Smith and Jones, 2020`, `Smith J. 2020`, `Smith's 2020 trial`, `a paper by Smith from 2020`."""
    offset = max(0, year.start - REACH)
    window = _STATE_OF_PAPER.sub("", text[offset : year.start])
    # Searches from the end of a window cost most: only where the window ends as their patterns do.
    leads = window.endswith(("of ", "from ", "in ", "(", "["))
    if leads and (start := _told_before(window, known)) is not None:
        yield Hit("author-year", offset + start, year.end)
        return
    if year.how == "range":
        listed = _NAMES_BEFORE.search(window)
        if listed and any(is_surname(part, known, least=3) for part in JOINTS.split(listed["names"]) if part):
            yield Hit("author-year", offset + listed.start("names"), year.end)
        return
    study = _STUDY_OF.search(window) if leads else None
    if study and bare(study["names"]) in _KINDS_OF_PAPER:
        return
    if study and are_names(study["names"]) and (has_surname(study["names"]) or study["study"] in _CALLED_AFTER_AUTHORS):
        yield Hit("author-year", offset + study.start("names"), year.end)
        return
    yield from _named_right_before(text, year, window, offset)


def _told_before(window: str, known: Known) -> int | None:
    """Where a name begins whose year ends the sentence: `Smith's work from 2020`, `Smith put it in 2020`, `told by
    Smith in 2020`."""
    own = _OWN_STUDY_OF.search(window)
    if own and are_names(own["names"] or own["by"]):
        return own.start()
    if not window.endswith("in "):
        return None
    near = max(0, len(window) - 90)
    said = _SAID_IN.search(window[near:])
    if said and is_surname(said["name"] or said["alone"], known, least=3):
        return near + said.start()
    told = _BY_BEFORE_YEAR.search(window)
    return told.start("names") if told and are_names(told["names"]) else None


def _named_right_before(text: str, year: Year, window: str, offset: int) -> Iterator[Hit]:
    """Names with nothing but signs between them and the year; `window` is the text before it, from `offset` on."""
    last = _LAST_WORD.search(window[-50:])
    if last is None or not last.group(1)[0].isupper():
        return
    if possessive := _POSSESSIVE_BEFORE.search(window):
        if is_name(possessive["names"]) and re.match(
            rf"\)?\s(?:[a-z-]+\s){{0,2}}{STUDY}\b", text[year.end : year.end + 50]
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
    several = bool(JOINTS.search(names))
    if not are_names(names, each=not several):
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
_ENDS = re.compile(rf"\s?(?:[,.;:)\]]|$)|\s{SAID}\b|\s{STUDY}\b")


def _named_after(text: str, year: Year) -> Iterator[Hit]:
    """`the 2020 Smith trial`, `a 2020 study by Smith`, `in 2020, Smith reported`."""
    window = text[year.end : year.end + REACH]
    for pattern in (_NAMED_STUDY_AFTER, _BY_AFTER, _SAID_AFTER, _STUDY_THEN_SAID, _BRACKETED_AFTER):
        found = pattern.match(window)
        if found and are_names(found["names"]):
            yield Hit("author-year", year.start, year.end + found.end("names"))
            return
    found = _FROM_AFTER.match(window)
    if found and has_surname(found["names"]):
        yield Hit("author-year", year.start, year.end + found.end("names"))
    found = _JOINED_AFTER.match(window)
    if found and are_names(found["names"]):
        told = re.match(rf"\s(?:{STUDY}|{SAID})\b", window[found.end() :]) is not None
        alone = told or (
            text[max(0, year.start - 1) : year.start] in ("(", "[") and window[found.end() : found.end() + 1] in ")],;"
        )
        if alone or has_surname(found["names"]):
            yield Hit("author-year", year.start, year.end + found.end())


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
