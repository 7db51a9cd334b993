"""Which sentences claim something: all but those that only speak of the search, its coverage, or missing evidence.

The exceptions are a closed list of forms over classes of words; a word of no class can stand only in the topic of a
form. A sentence of several clauses is an exception only if each clause is one.
"""

from __future__ import annotations

import re

from literature_agent.registry import find_references

# A sentence that only reports on the search is short.
_LONGEST = 420

_CLAUSES = re.compile(
    r"\s*;\s*|:\s+|\s+[—–]\s+|,\s+(?:and|but|so|yet|while|whereas|although|though|because|since|which|nor|or|as)\s+(?:that\s+)?"
    r"|\s+(?:but|whereas|although|though|because|while|yet)\s+"
    r"|\s+and\s+(?=(?:it|they|there|both|none|neither|no|nothing|all|only|full|what|this|that|these)\b)"
    r"|,?\s+(?:therefore|thus|hence|however|nevertheless)\s+|\s+so\s+(?=(?:this|it|that|there|nothing|no)\b)",
    re.I,
)  # fmt: skip
_LEAD_IN = re.compile(
    r"^(?:(?:however|moreover|furthermore|in addition|additionally|overall|in short|in summary|in conclusion|finally"
    r"|thus|therefore|so|and|but|yet|unfortunately|notably|importantly|at present|currently|to date|so far|until now"
    r"|within these limits|although|though|on this question|for this question|in this run|in these searches|here"
    r"|as a result|while|because|since|as|also|after this|then|note that|please note that|in total|of these"
    r"|in the (?:sources|databases) searched|despite (?:this|these searches)),?\s+)+",
    re.I,
)

# Where a word fits several classes, the first one listed is taken.
_CLASSES = {
    # What searches.
    "S": (
        "search searches query queries source sources database databases pubmed medline biorxiv medrxiv "
        "clinicaltrials.gov europepmc pmc registry registries run embase searching budget deadline"
    ),
    # What is put together from it.
    "R": ("answer summary overview selection synthesis report list theme section question conclusion log"),
    # What is found.
    "N": (
        "paper papers article articles study studies trial trials review reviews meta-analysis meta-analyses "
        "preprint preprints abstract abstracts text texts publication publications evidence data research "
        "information registration registrations guideline guidelines comparison comparisons follow-up "
        "experiment experiments series analysis analyses cohort cohorts proof"
    ),
    "L": (
        "literature hit hits match matches result results record records work works snippet snippets title "
        "titles citation citations answers pages page sentences reports entries"
    ),
    # That there is none, or not enough.
    "X": ("no none nothing neither nor little few not never cannot hardly scarcely seldom rarely scant"),
    "A": (
        "lacking missing absent scarce sparse limited unavailable insufficient inadequate needed required "
        "warranted awaited wanting thin unknown unclear uncertain untested unstudied unexplored understudied "
        "unexamined unaddressed unresolved undetermined unanswered lack paucity shortage absence necessary "
        "non-existent nonexistent desirable open incomplete"
    ),
    # What is done with what is found, and what a search does.
    "V": (
        "found find finds returned return returns retrieved retrieve identified identify located locate gave "
        "give gives yielded yield produced brought turned lists hold holds held contain contains contained "
        "cover covers covered include includes included screened read reads considered searched available "
        "shown seen selected fetched opened obtained accessed excluded left omitted cut truncated used "
        "indexed unread known cited summarised summarized listed published met reviewed"
    ),
    "Y": (
        "asked answered fail failed fails restricted reached reach empty unreachable responded respond timed "
        "ended stopped made done ran sent broadened narrowed repeated refined combined planned logged based "
        "rests rest draws relies drawn taken put complete partial offline blocked refused went came performed "
        "conducted speaks says say tells finished"
    ),
    "T": (
        "tested compared examined addressed evaluated assessed investigated studied measured explored "
        "followed trialled researched targeted focused looked test compare examine address addresses "
        "established"
    ),
    "B": (
        "is are was were be been being has have had could can may might did do does will would remain remains "
        "seem seems appear appears exist exists"
    ),
    # What records are like, where that is no finding.
    "K": (
        "unpublished new newer recent older relevant eligible direct indirect head-to-head randomised "
        "randomized controlled clinical observational prospective retrospective case-control cross-sectional "
        "comparative human animal preclinical long-term short-term large larger small high-quality good "
        "reliable robust convincing sufficient adequate additional supporting conclusive definitive "
        "independent peer-reviewed registered ongoing completed primary secondary systematic narrative "
        "matching different further single whole full full-text indexed original specific adult paediatric "
        "pediatric placebo-controlled double-blind multicentre multicenter empirical scientific such usable "
        "retracted english-language english comparable well-designed unique dedicated individual other more "
        "long-run real-world blinded high low quality case non-randomised non-randomized first firm clear "
        "solid longer longest better future narrowest narrow wider broader broad"
    ),
    "D": (
        "the a an these those its their our some several many most all any each every half both one two three "
        "four five six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty thirty forty fifty "
        "hundred hundreds thousands dozens another enough either zero around least than fewer ones"
    ),
    "P": (
        "of on in for about with from between to that which who whose whether how if by at since into among "
        "during before after under within regarding concerning addressing comparing testing related relevant "
        "relating beyond via through as what when where why bearing specifically per over across without "
        "against examining evaluating using until towards"
    ),
    "G": (
        "only also very still currently largely rather too extremely yet mostly mainly just almost nearly "
        "exactly therefore even then so far here ever together alone solely entirely again now publicly "
        "freely back down out because early short up directly"
    ),
    "U": ("it they this we i there them itself you others"),
    "C": ("and or"),
}
_CLASS_OF = {word: name for name, listed in reversed(_CLASSES.items()) for word in listed.split()}
# Words by which a topic stops being one and becomes a finding.
_FINDING = re.compile(
    r"(?:show|suggest|indicat|demonstrat|confirm|prov(?:e|es|ed|ing)$|improv|reduc(?:e|es|ed|ing)$|increas(?:e|es|ed|ing)$|decreas|lower(?:s|ed|ing)$"
    r"|rais(?:e|es|ed)$|prevent(?:s|ed)$|slow(?:s|ed)$|worsen|caus(?:e|es|ed)$|associated|correlat|benefi|harm|effective|superior|inferior|safe$"
    r"|works?ed|work(?:s|ed)$|better|worse|support(?:s|ed|ing)$|reveal|report(?:s|ed|ing)$|conclud|significant|percent|%|protect(?:s|ed)$|differ(?:s|ed)?$|conflict|disagree|agree|var(?:y|ies|ied)$|point|last(?:s|ed)$"
    r"|best$|cur(?:e|es|ed|ing|ative)$|halv|doubl|heal(?:s|ed|ing)$|kill|sav(?:e|es|ed|ing)$|promis|powerful|potent|success|efficacious"
    r"|favou?r(?:s|ed|able)$|miracl|eliminat|eradicat|revers(?:e|es|ed|ing)$|restor|boost|extend(?:s|ed)$|prolong|shorten|reliev"
    r"|outperform|surpass|dangerous|stops$|helps$|help(?:ed|ful)$|treats$)"
)

_RECORDS = "[DGK#]*(?:PD[DGK#]*)?[NL](?:[CDGK#]*[NL])*"
_TOPIC = "(?:[PTV].*)?"
_PLAIN_TOPIC = "(?:[PTK][^F]*)?"
_SEARCHER = "(?:[DGXKAN#]*S(?:[CPDGKSUXY#]|W(?!F))*|U|[DX#]+(?:P[DS#]*S)?|[DK#]+(?=V))"
_FORMS = tuple(
    re.compile(form)
    for form in (
        # The searches found twelve trials of X; PubMed has no match for Y; we found nothing.
        f"{_SEARCHER}[BGX]*(?:YC)?[BVY][GX]*(?:{_RECORDS}|X[DGK]*[NL]?|X[GK]*){_PLAIN_TOPIC}(?:B+[VYK]G*)?",
        # The search covered PubMed only; both searches failed; Europe PMC could not be reached.
        f"{_SEARCHER}[GX]*B[BGX]*[VYA][GVY]*{_PLAIN_TOPIC}",
        # (We searched PubMed) but found no trial of X.
        f"VX[DGK]*[NL](?:[CDGK]*[NL])*{_PLAIN_TOPIC}",
        f"{_SEARCHER}[BGX]*Y[GVYA]*{_PLAIN_TOPIC}",
        f"{_SEARCHER}[BGX]*V[GV]*[DG]*S[CDGS]*{_PLAIN_TOPIC}",
        # This summary is based on three abstracts.
        f"[DUG]*[RU][BGX]*[VY][GXVY]*(?:P[DG]*)?(?:{_RECORDS}|[DG]*S|X)(?:[CPG][^F]*)?[GX]*(?:{_RECORDS})?",
        # Twelve trials were found; only abstracts were read; no full text was open.
        f"G*{_RECORDS}{_PLAIN_TOPIC}V?[BGX]+[VA][GVX]*(?:D?[PTK][^F#]*)?(?:C[D#]+B+V)?",
        # There is no evidence that ...
        f"[UG]*B[GB]*(?:[XA]|D*A)[DGKAP]*[NL](?:[CDGK]*[NL])*{_TOPIC}",
        # No trial of X in Y was found; nothing has been published on Z.
        f"[DG]*X[DGK]*(?:[NL](?:[CXDGK]*[NL])*)?{_TOPIC}B[GBX]*[VTAY](?:[PTVG][^N#]*)?",
        f"[DG]*X[DGK]*[NL](?:[CDGK]*[NL])*{_TOPIC}B",
        # No trials in children.
        "[DG]*X[DGK]*[NL](?:[CDGK]*[NL])*(?:[PTK][^FBV]*)?",
        # No study has compared X with Y.
        "[DG]*X[DGKPV]*N(?:C[DGK]*N)*V?[BGV]*T[^F]*",
        # Long-term data are lacking; evidence on X in Y is limited.
        f"[DGKWU]{{0,9}}[NL](?:[CDGKW]*[NL])*{_TOPIC}B[GBDP]*A(?:[PT][^F]*)?",
        # It is unknown whether ...; whether ... remains unclear.
        "[UG]*B[GB]*(?:A|XG*V)(?:[PG].*)?",
        "P.*B[GBD]*(?:A|X[GB]*[VT])(?:[PT][^F]*)?",
        # X has not been tested in Y; X remains unstudied.
        "[^F]*BX[GB]*[GP]*T(?:P[^F]*)?",
        "[^F]*B[G]*A(?:P[^F]*)?",
        # This says nothing about the literature; the question remains open; no answer could be put together.
        f"[DUGP]*[RUNSL]+[BGX]*[VYW]X{_TOPIC}",
        f"[DU]*R[BGXDK]*[AVY]{_PLAIN_TOPIC}",
        "X[DGK]*R[PBGX]*[VYBA].{0,12}",
        "X[VG]*FDR",
        # See the search log.
        "E[DS]*R",
        # Two sources did not answer; the papers found do not allow a conclusion.
        f"{_SEARCHER}[BG]*XG*R",
        "[^F]*BX[WY][DK]*R",
    )
)  # fmt: skip
_WORD = re.compile(r"[^\W_]+(?:[.'’-][^\W_]+)*%?|%")
# A short heading, the sign of a list, and a label in bold before a colon.
_LABEL = re.compile(
    r"^\s*(?:(?:#{1,6}\s[^\n]{1,40}|\*\*[^\n*]{1,40}\*\*:?)\n\s*)?(?:(?:[-*•–>]|\d{1,2}[.)])\s+)*"
    r"(?:(?:\*\*|__)[^*_.]{1,40}?(?::(?:\*\*|__)|(?:\*\*|__):)\s*)?"
)
_MARK = re.compile(r"\s*\[unsupported\]", re.I)
_RUN = re.compile(r"(?<=\bwas )run\b|(?<=\bwere )run\b|(?<=\bbeen )run\b")
# "not unclear", "unknown to nobody", "no trial in which it did not": two negations make a claim.
_TWICE_NEGATED = re.compile(
    r"\b(?:not|never|hardly|scarcely|nobody|no longer|n't)\s(?:\w+\s)?(?:lacking|absent|missing|in doubt"
    r"|un(?:known|clear|certain|tested|studied|explored|resolved|answered|likely))\b"
    r"|\bun(?:known|clear|certain)\s(?:to|by|for|in)\s(?:nobody|none|no\b|few\b|hardly)"
    r"|\b(?:no|none|neither|nothing|nobody|not)\b.*\b(?:(?:did|does|do|has|had|was|were|is|are)\snot|never|cannot|n't"
    r"|den(?:y|ies|ied)|contradict\w*|disput\w*|refut\w*|disprov\w*)\b",
    re.I,
)
# `metformin, the best drug for it, ...`
_APPOSITION = re.compile(r",\s(?:the|a|an|our)\s[^,;:.]{3,80},")
_ASIDE = re.compile(r"\(([^()]*)\)")
_LONGEST_ASIDE = 8
"""Words; what is longer, within brackets or before a colon, says something."""
_QUOTED = re.compile(r"[“\"]\S[^”\"]*\s")


def is_claim(sentence: str) -> bool:
    """Whether the sentence says something that a work must support."""
    whole = _without_references(sentence)
    label = _LABEL.match(whole)
    bare = whole[label.end() :] if label else whole
    if len(bare) > _LONGEST or _QUOTED.search(bare) or _APPOSITION.search(bare):
        return True
    # What stands beside the sentence, in brackets or as a label, must say nothing of its own.
    if any(_says_something(aside) for aside in (label.group() if label else "", *_ASIDE.findall(bare))):
        return True
    clauses = [clause for part in _CLAUSES.split(bare) if (clause := _classes(part))]
    if any(_TWICE_NEGATED.search(part) for part in _CLAUSES.split(bare)):
        return True
    return not clauses or not all(any(form.fullmatch(clause) for form in _FORMS) for clause in clauses)


def _says_something(aside: str) -> bool:
    classes = _classes(aside)
    return "F" in classes or len(classes) > _LONGEST_ASIDE


def _without_references(sentence: str) -> str:
    pieces, at = [], 0
    for found in find_references(sentence):
        pieces.append(sentence[at : found.start])
        at = found.end
    return _MARK.sub("", " ".join([*pieces, sentence[at:]])).strip()


def _classes(clause: str) -> str:
    """One letter for each word of a clause; brackets are left out."""
    plain = _LEAD_IN.sub("", _ASIDE.sub(" ", clause).strip(" ,.!?\"'"))
    plain = _RUN.sub("made", plain.lower().replace("europe pmc", "europepmc").replace("full text", "text"))
    return "".join(_class_of(word) for word in _WORD.findall(plain))


def _class_of(word: str) -> str:
    if (known := _CLASS_OF.get(word)) is not None:
        return known
    if word == "see":
        return "E"
    if _FINDING.match(word) or word.endswith("%"):
        return "F"
    return "#" if word[0].isdigit() else "W"
