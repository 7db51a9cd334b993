"""How authors are written in prose, and which capitalised words can be a family name."""

from __future__ import annotations

import re

from literature_agent.integrity.known import Known, bare, name_words
from literature_agent.integrity.vocabulary import (
    COMMON_WORD_JOURNALS,
    JOURNALS,
    NAMED_THINGS,
    NOT_NAMES,
    SURNAMES,
    WORD_NAMES,
)
from literature_agent.integrity.years import CAPITALISED, UPPER

_PARTICLES = (
    r"(?:(?:van|von|der|den|de|del|della|di|da|dos|do|du|la|le|ter|ten|el|al|bin|ben|ibn|zu|zum|af|av|st\.?|graf)"
    r"[\s'-]){0,3}"
)
NAME = rf"(?:(?:(?<![^\W_])(?i:{_PARTICLES}))?{CAPITALISED})"
INITIALS = rf"(?:,?\s?(?:[{UPPER}]\.?[\s-]?){{1,3}}(?![^\W\d_]))"
AND = r"(?:,\s?(?:and\s|&\s?)?|\s?[&/]\s?|\s(?:and|et|und|y|e|with)\s)"
NAMES = rf"{NAME}{INITIALS}?(?:{AND}{NAME}{INITIALS}?){{0,4}}"

STUDY = (
    r"(?:trial|study|studies|paper|article|report|review|cohort|meta-analysis|analysis|survey|experiment|work|publication"
    r"|data|findings?|results?|group|team|lab|laboratory|model|hypothesis|protocol)"
)
SAID = (
    r"(?:found|finds?|show(?:ed|s|n)?|report(?:ed|s)?|demonstrat(?:ed|es?)|conclud(?:ed|es?)|suggest(?:ed|s)?|observ(?:ed|es?)"
    r"|describ(?:ed|es?)|stud(?:ied|ies)|not(?:ed|es?)|argu(?:ed|es?)|propos(?:ed|es?)|compar(?:ed|es?)|investigat(?:ed|es?)"
    r"|examin(?:ed|es?)|evaluat(?:ed|es?)|review(?:ed|s)?|confirm(?:ed|s)?|estimat(?:ed|es?)|publish(?:ed|es)?|wrote|writes?"
    r"|randomi[sz]ed|enrolled|recruited|did|saw|detected|identified)"
)
ALREADY = r"(?:(?:had|has|have|first|also|already|later|then)\s){0,2}"
# What only people do. Without an object it may be said of what they did it to: `Nausea reported by patients`.
TELL = (
    r"(?:report(?:ed|s)|conclud(?:ed|es)|argu(?:ed|es)|claim(?:ed|s)|wrote|writes|not(?:ed|es)|stat(?:ed|es)|assert(?:ed|s)"
    r"|hypothesi[sz]e[ds]|postulate[ds]|speculate[ds]|propos(?:ed|es)|describ(?:ed|es)|observ(?:ed|es)|believe[ds]|caution(?:ed|s))"
    r"\s(?:that|a|an|the|no|this|these|it|similar|significant)\b"
)
TITLE_OF_PERSON = re.compile(r"\b(?:Dr|Prof|Professor)\.?\s(?:[A-Z]\.\s?){0,2}$")

JOINTS = re.compile(AND)


def are_names(names: str, *, each: bool = False) -> bool:
    """Whether the listed capitalised words can be authors: the last of them, or each of their words."""
    parts = [part for part in JOINTS.split(names) if part and not re.fullmatch(rf"(?:[{UPPER}]\.?[\s-]?){{1,3}}", part)]
    return bool(parts) and all(is_name(part) for part in (parts if each or len(parts) > 1 else parts[-1:]))


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


def is_name(name: str) -> bool:
    """Whether capitalised words can be a family name: no place, date, institution, common word or acronym."""
    found = [match.group() for match in name_words(_TRAILING_INITIALS.sub("", name))]
    if not found:
        return False
    last = found[-1]
    low = bare(last)
    if last.isupper():
        return len(low) > 4 and low in SURNAMES
    if not may_be_family(low) or any(len(part) > 3 and part in NOT_NAMES for part in low.split("-")):
        return False
    if re.match(rf"[{UPPER}]{{2}}", last):
        return False
    # An inner capital makes a trial or a product of a word, except behind the prefixes of names.
    return re.search(r"[a-z][A-Z]", re.sub(r"^(?:Mc|Mac|O'|D'|De|Di|Du|La|Le|Fitz|Van|Von)(?=[A-Z])", "", last)) is None


def may_be_family(low: str) -> bool:
    """Whether a bare word is none of the words that are no family name."""
    if low in NOT_NAMES or low in NAMED_THINGS or low in COMMON_WORD_JOURNALS or low in JOURNALS:
        return False
    return low in SURNAMES or _NOUN.search(low) is None


def is_surname(name: str, known: Known, *, least: int = 5) -> bool:
    """Whether the run, or everybody, knows a word, or the last part of it, as a family name and as nothing else."""
    low = bare(name)
    for part in (low, low.rpartition("-")[2]):
        if (
            len(part) < least
            or (part in WORD_NAMES and not name[0].isupper())
            or part in NOT_NAMES
            or part in NAMED_THINGS
        ):
            continue
        if part in SURNAMES or (part in known.people and part not in WORD_NAMES):
            return True
    return False


def has_surname(names: str) -> bool:
    """Whether one of the listed words is a frequent family name."""
    return any(bare(part) in SURNAMES for part in re.split(r"[\s/&,-]+", names))


def is_word(word: str) -> bool:
    """Whether a bare word is a word of the language, or the name of a thing, beside being a name."""
    return word in NOT_NAMES or word in NAMED_THINGS or word in WORD_NAMES
