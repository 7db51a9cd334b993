"""Words of questions and abstracts: which carry meaning, how specific they look, and which spellings are one word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


STOP_WORDS = _listed(
    """
    a about above across after again against all almost along already also although always am among an and another any
    anything are as at be became because become been before being below between both but by came can cannot could did do
    does doing done down during each either else enough etc ever every few for from further give given gives had has
    have having he hence her here him his how however i if in indeed instead into is it its itself just know known least
    less let like likely made mainly make makes making many may me might more most mostly much must my near need needed
    needs neither never no nor not nothing now of off often on once one only onto or other others ought our out over own
    per perhaps please possible quite rather really regarding s same say see seem several shall she should show since so
    some something still such t tell than that the their them then there thereby therefore these they thing things this
    those through throughout thus to together too toward towards two under until up upon us using various very via was
    way we well were what when where whether which while who whom whose why will with within without would yes yet you
    your
    """
)
"""Words of grammar and of asking: never part of a query."""

WEAK_WORDS = _listed(
    """
    abolish abolishes accelerate accelerates access accuracy accurate added additional adequate adult adults advantage
    advantages adversely affect affected affecting affects aged alleviate alleviates alter altered altering alternative
    alters ameliorate ameliorates analysis appear appears application applied approach approaches appropriate article
    aspect aspects assess assessed assessing assessment associate associated association associations attempt attenuate
    attenuates available avoid based become becomes beneficial benefit benefits best better bias boost boosts care case
    cases cause caused causes causing caution certain change changed changes changing characteristic characteristics
    choice choices clear clinic clinical clinically combination common compare compared comparing comparison complete
    complex concern conditions consequence consequences consider consistent contribute contributes contribution control
    controlled correlate correlated correlates correlation cost costs course cure cured cures current currently data
    decrease decreased decreases decreasing delay delayed delays demonstrate desirable detect detected detecting
    detection determine determined determines develop developed development develops differ difference differences
    different difficult disadvantage discriminate discriminates distinguish distinguishes does drink early eat effect
    effective effectively effectiveness effects efficacy efficient elevate elevated elevates enhance enhanced enhances
    establish estimate evaluate evaluated evaluating evaluation evidence examine exist existing exists experience
    explain explained explains exposed extent fact factor factors fall falling falls feasibility feasible find finding
    findings first follow following frequency frequent full function functional future gain gains general given good
    great greater group groups guided halt halts happen happening happens harm harmful heal heals help helpful helps
    high higher human humans ideal identified identify identifying impact impacts implication implications importance
    important improve improved improvement improvements improves improving incidence include includes including increase
    increased increases increasing increasingly independent indicate indicated indicates indicator individual
    individuals induced infected inferior influence influenced influences inform initial investigation involve involved
    involvement involves involving issue issues justified keep kind kinds large late later lead leading leads left level
    levels light like limit limited limits link linked links literature long look lose lower lowered lowers main major
    management mean means measure measured measurement measurements measures mechanism mechanisms mediated medical
    method methods minimal mode model modern modified modifies modify move natural necessary negative new newly normal
    novel number observed obtain occur occurrence occurs optimal option options order outcome outcomes part particular
    patient patients people perform performance performed period person persons play played plays policy poor population
    populations positive potential practical practice predict predicted predicting prediction predictive predictor
    predictors predicts predispose predisposes prefer preferred presence present prevalence prevent prevented preventing
    prevention prevents problem problems process produce profile prognosis prognostic prolong prolongs promote promoted
    promotes protect protects prove provide provided provides public pure purpose quality question questions raise
    raised raises random range rate rates ratio reach real reality receive received recent recommended reduce reduced
    reduces reducing reduction reflect reflects relate related relates relation relations relationship relationships
    relevance relevant reliability reliable remain remains replace report reported reports require required requires
    research response result results reveal reverse reversed reverses review right rise rises rising risk risks role
    roles routine safe safely safety said sample score scores seen sensitive separate set setting settings severe
    severity short shorten shortens sign significance significant significantly signs similar single size slow slowed
    slows small special specific standard start state states status stop stopping strategies strategy strong studied
    studies study studying subject subjects successful sufficient suggest suggested suggests suitable
    summaries summarise summarize summary superior support
    systematic systematically taking target technique techniques test tested testing tests therapeutic therapies therapy
    think time times tolerate tolerated tool tools total toxic track treat treated treating treatment treatments trial
    trials trigger triggered triggers true try turn type types typical underestimate undergo undergoing understand
    understanding unit update use used useful usefulness user users uses usual utility valid validity valuable value
    values variation vary versus viable view vital vs wait want weak well whole wide widely work working works worse
    worsen worsened worsening worsens worth year years
    """
)
"""Words that stand in every second abstract: they split phrases and say little about the subject."""

BROAD_WORDS = _listed(
    """
    abdominal acid acute adolescent adolescents age asthma baby birth bladder blood body bone brain breast cancer
    cancers carcinoma cardiac cell cells cerebral child childhood children chronic community complication complications
    cancerous congenital coronary death deaths dental depression diabetes diabetic diagnosis diagnostic diet disability
    disease diseases disorder disorders doctors dose drug drugs elderly emergency family fetal fracture gene genes
    genetic health healthcare heart hepatic hip hospital hospitals imaging infant infants infection infections injuries
    injury intensive knee liver lung men mental morbidity mortality mother mothers nurses nursing older operation oral
    pain parents physician physicians plasma postoperative preoperative pregnancy prescription primary procedure
    procedures prostate protein pulmonary recurrence renal resection school screening secondary serum sex skin smoking
    social spinal students surgery surgical survival symptom symptoms syndrome syndromes tissue tumor tumors urinary
    vascular weight woman women work workers young
    """
)
"""Words of the subject that alone would find a million records."""

_TOKEN = re.compile(r"[^\W_]+(?:[-‐‑–'’.·/+][^\W_]+)*\+?")
PREFIXES = _listed(
    "anti auto bi bio co counter cross de extra hyper hypo infra inter intra macro micro mid mini multi neo non over"
    " para peri post pre pro pseudo re self semi sub super supra trans tri ultra un under x"
)

_MODIFIERS = _listed(
    "assisted associated based controlled deficient dependent derived enhanced free guided induced infected like"
    " mediated negative onset positive related resistant sensitive specific treated type"
)

# British to American spelling, in order.
_AMERICAN = tuple(
    (re.compile(british), american_)
    for british, american_ in (
        (r"aemi", "emi"),
        (r"haem", "hem"),
        (r"^oe(?=dem|soph|str)", "e"),
        (r"^foet", "fet"),
        (r"^faec", "fec"),
        (r"(^|ortho)paed", r"\1ped"),
        (r"^gynaec", "gynec"),
        (r"^anaesth", "anesth"),
        (r"^caes", "ces"),
        (r"rrhoea", "rrhea"),
        (r"pnoea", "pnea"),
        (r"coeliac", "celiac"),
        (r"(tum|behavi|lab|col|fav|hum)our", r"\1or"),
        (r"(anal|paral|hydrol|dial|catal)ys(?=e|ing)", r"\1yz"),
        (r"^(cen|li|me)tre(?=s?$)", r"\1ter"),
        (r"^fibre", "fiber"),
        (r"programme(?=s?$)", "program"),
        (r"sulph", "sulf"),
        (r"^(mod|lab|trav|counc)ell", r"\1el"),
        (r"^ageing$", "aging"),
    )
)
_BRITISH_IS = re.compile(r"([a-z]{4,})is(ations?|ing|ed|es?)$")
_ALWAYS_IS = _listed(
    "exerc superv comprom conc disgu enterpr expert franch improv merchand otherw parad prec prem prom"
    " surpr telev likew"
)

# Suffixes of one word family, longest first: `cognitive` and `cognition`, `randomized` and `randomization`.
_SUFFIXES = (
    "izations",
    "ization",
    "ational",
    "ional",
    "iveness",
    "fulness",
    "ations",
    "ically",
    "ation",
    "ments",
    "ities",
    "ively",
    "izing",
    "ized",
    "izes",
    "ment",
    "ness",
    "ions",
    "ally",
    "ical",
    "ance",
    "ence",
    "ally",
    "able",
    "ible",
    "ists",
    "ings",
    "ize",
    "ive",
    "ity",
    "ion",
    "ing",
    "ies",
    "ous",
    "ist",
    "est",
    "ers",
    "ors",
    "ics",
    "al",
    "ic",
    "ed",
    "er",
    "or",
    "ly",
    "es",
    "e",
    "y",
    "s",
)
_SHORTEST_STEM = 4


def word_tokens(text: str) -> Iterator[str]:
    """Words as written, compounds whole (`IL-6`, `Crohn's`), left to right."""
    for match in _TOKEN.finditer(text):
        yield match.group()


def bare(word: str) -> str:
    """Lower case, without a possessive ending."""
    return re.sub(r"['’]s?$", "", word.lower()).replace("’", "'")


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """What the forms of a word share: plural, British spelling and common endings are taken off."""
    plain = american(bare(word)).replace("-", "")
    if not plain.isalpha():
        return plain
    for suffix in _SUFFIXES:
        if plain.endswith(suffix) and len(plain) - len(suffix) >= _SHORTEST_STEM:
            return plain[: -len(suffix)]
    return plain


@lru_cache(maxsize=1024)
def stems(text: str) -> tuple[str, ...]:
    """Stems of the words that carry meaning, in order; the parts of compounds and the compound itself."""
    return tuple(found for group in stem_groups(text) for found in group)


def stem_groups(text: str) -> Iterator[tuple[str, ...]]:
    """The stems of each word that carries meaning: one, or that of a compound followed by those of its parts."""
    for token in word_tokens(text):
        word = bare(token)
        if word in STOP_WORDS:
            continue
        parts = [part for part in re.split(r"[-‐‑–/]", word) if part]
        if len(parts) > 1:
            yield (stem("".join(parts)), *(stem(part) for part in parts if len(part) > 2 and part not in STOP_WORDS))
        else:
            yield (stem(word),)


def american(word: str) -> str:
    """The American spelling of a lower-case word, or the word itself."""
    for pattern, replacement in _AMERICAN:
        word = pattern.sub(replacement, word)
    ending = _BRITISH_IS.fullmatch(word)
    if ending and ending[1] not in _ALWAYS_IS:
        word = f"{ending[1]}iz{ending[2]}"
    return word


_BRITISH = tuple(
    (re.compile(american_), british_)
    for american_, british_ in (
        (r"^hemo", "haemo"),
        (r"^hema", "haema"),
        (r"emi(?=a$|as$|c$)", "aemi"),
        (r"^edema", "oedema"),
        (r"^estro", "oestro"),
        (r"^esophag", "oesophag"),
        (r"^pediatr", "paediatr"),
        (r"^(tum|behavi)or", r"\1our"),
        (r"^anesth", "anaesth"),
        (r"rrhea", "rrhoea"),
        (r"^fetal$", "foetal"),
        (r"^fecal$", "faecal"),
    )
)
_ALWAYS_EMI = re.compile(r"(?:academ|polem|endem|epidem|pandem|chem|system|alchem)i")


def other_spelling(word: str) -> str | None:
    """The spelling of the other side of the Atlantic, or None where there is one spelling."""
    plain = bare(word)
    american_ = american(plain)
    if american_ != plain:
        return american_
    if _ALWAYS_EMI.search(plain):
        return None
    for pattern, replacement in _BRITISH:
        british = pattern.sub(replacement, plain)
        if british != plain:
            return british
    return None


def truncated(word: str) -> str | None:
    """The beginning that finds a word's relatives (`metform` for `metformin`), or None for a word too short."""
    plain = bare(word)
    if not plain.isalpha() or len(plain) < 6:
        return None
    family = stem(plain)
    if family == plain or not plain.startswith(family):
        family = plain[:-2]
    return family if len(family) >= 5 else plain[:5]


def closed_compound(word: str) -> str | None:
    """`postoperative` for `post-operative`; None where nobody closes the compound."""
    first, hyphen, rest = word.partition("-")
    return first + rest if hyphen and first.lower() in PREFIXES and rest.isalpha() else None


def split_compound(word: str) -> tuple[str, ...]:
    """`laparoscopic-assisted` as two words; `IL-6`, `post-operative` and `X-ray` stay one."""
    parts = re.split(r"[-‐‑–/]", word)
    if len(parts) == 1 or "" in parts:
        return (word,)
    if len(parts) == 2 and parts[1].lower() in _MODIFIERS:
        return tuple(parts)
    if len(parts) > 3 or any(len(part) < 4 or not part.isalpha() for part in parts):
        return (word,) if "/" not in word else tuple(parts)
    if parts[0].lower() in PREFIXES:
        return (word,)
    return tuple(parts)


_LOOKS_CLINICAL = re.compile(
    r"(?:itis|oma|omas|emia|osis|oses|opath(?:y|ic)|ectom(?:y|ies)|plast(?:y|ies)|otom(?:y|ies)|ostom(?:y|ies)|scop(?:y|ic)"
    r"|gram|graphy|ase|mab|nib|statin|pril|sartan|olol|azole|cillin|mycin|vir|gliptin|gliflozin|glutide|formin|amine"
    r"|idine|oxin|globin|kinase|plasia|trophy|uria|algia|lysis|genic|cyte|cytes|phage|virus|viral|toxin|protein"
    r"|peptide|receptor|steroid|feron|leukin)s?$"
)


def specificity(word: str) -> float:
    """How much a word narrows a search, by its looks alone: 0 (says nothing) to about 3 (a name, a code, a drug)."""
    plain = bare(word)
    if plain in STOP_WORDS:
        return 0.0
    if is_weak(plain):
        return 0.25
    if _ROMAN.fullmatch(word):
        return 0.3
    if american(plain) in BROAD_WORDS:
        return 0.9
    last = re.split(r"[-‐‑–]", plain)[-1]
    if last != plain and (is_weak(last) or american(last) in BROAD_WORDS):
        return 0.9  # a `low-dose`, `high-risk` or `long-term` anything
    score = 1.0 + min(len(plain), 14) / 14
    letters = re.sub(r"['’]s$", "", word)
    if any(c.isdigit() for c in letters):
        score += 0.5 if any(c.isalpha() for c in letters) else -1.2
    if sum(c.isupper() for c in letters) > 1:
        score += 0.9
    elif letters[:1].isupper():
        score += 0.5
    if _LOOKS_CLINICAL.search(plain):
        score += 0.4
    return max(score, 0.1)


def is_weak(word: str) -> bool:
    """Whether the word says little about the subject: a weak word or an adverb."""
    plain = bare(word)
    return plain in WEAK_WORDS or bool(_ADVERB.fullmatch(plain))


_ROMAN = re.compile(r"[IVX]{1,4}")
_ADVERB = re.compile(r"(?!famil|anom|assemb|monopo|butterf)[a-z]{4,}ly")


# Names for one thing that neither spelling nor ending connects. Words of patients beside words of the field.
_SAME = (
    ("older adults", "elderly", "aged"),
    ("older people", "elderly", "aged"),
    ("old age", "elderly", "aged"),
    ("heart attack", "myocardial infarction"),
    ("high blood pressure", "hypertension"),
    ("low blood pressure", "hypotension"),
    ("heart failure", "cardiac failure"),
    ("kidney failure", "renal failure"),
    ("kidney disease", "renal disease"),
    ("kidney", "renal"),
    ("kidneys", "renal"),
    ("liver", "hepatic"),
    ("high cholesterol", "hypercholesterolemia"),
    ("low blood sugar", "hypoglycemia"),
    ("blood sugar", "blood glucose"),
    ("stroke", "cerebrovascular"),
    ("weight loss", "weight reduction"),
    ("children", "child", "pediatric"),
    ("newborn", "neonate", "neonatal"),
    ("newborns", "neonates", "neonatal"),
    ("baby", "infant"),
    ("babies", "infants"),
    ("teenagers", "adolescents"),
    ("teenager", "adolescent"),
    ("pregnant", "pregnancy"),
    ("cancer", "neoplasm", "carcinoma", "tumor"),
    ("quitting smoking", "smoking cessation"),
    ("quit smoking", "smoking cessation"),
    ("flu", "influenza"),
    ("shingles", "herpes zoster"),
    ("hay fever", "allergic rhinitis"),
    ("miscarriage", "spontaneous abortion"),
    ("blood clot", "thrombosis"),
    ("blood clots", "thrombosis"),
    ("brain", "cerebral"),
    ("lung", "pulmonary"),
    ("belly", "abdominal"),
    ("covid", "COVID-19", "SARS-CoV-2"),
    ("covid-19", "SARS-CoV-2"),
    ("long covid", "post-acute COVID-19 syndrome", "post-COVID"),
    ("gut microbiome", "gut microbiota", "intestinal microbiota"),
    ("gut microbiota", "gut microbiome", "intestinal microbiota"),
    ("cognitive decline", "cognitive impairment", "dementia"),
    ("surgery", "surgical"),
    ("physiotherapy", "physical therapy"),
    ("physical activity", "exercise"),
)
_SYNONYMS = {names[0]: names[1:] for names in _SAME}


def synonyms(phrase: str) -> tuple[str, ...]:
    """Other names of the same thing, from a short list; empty for most phrases."""
    return _SYNONYMS.get(" ".join(bare(word) for word in phrase.split()), ())
