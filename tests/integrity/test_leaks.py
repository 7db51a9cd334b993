"""The leak guard: what a model may not write, and what it may."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest

from evals.integrity.labelled import read_labelled, read_real, score_leaks
from literature_agent.artifacts import Author
from literature_agent.integrity import leaks
from literature_agent.integrity.known import Known
from literature_agent.integrity.leaks import Guard
from tests.integrity.conftest import World, paper

NOBODY = Guard.of(lambda kind, value: None, Known(), "")


def test_the_labelled_sentences_are_told_apart() -> None:
    score = score_leaks()
    assert score.false_alarms == ()
    assert score.missed == ()
    labels = [sentence.label for sentence in read_labelled("leaks.tsv")]
    assert len(labels) >= 300
    assert 0.4 < labels.count("clean") / len(labels) < 0.6


@pytest.mark.parametrize("kind", sorted({s.label for s in read_labelled("leaks.tsv")} - {"clean"}))
def test_without_one_kind_the_labelled_sentences_are_not_all_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The set can fail: each kind of the guard is needed for it."""
    monkeypatch.setattr(leaks, "KINDS", leaks.KINDS - {kind})
    assert kind in {sentence.label for sentence in score_leaks().missed}


@pytest.mark.parametrize("written", ["doi:{doi}", "https://doi.org/{doi}", "{doi}", "PMID: {pmid}", "PMID {pmid}"])
def test_an_exact_identifier_of_a_shown_work_has_its_reference(written: str, world: World) -> None:
    shown = paper(1)
    reference = world.show(shown)
    (leak,) = world.desk.guard.find(f"Seen in {written.format(doi=shown.doi, pmid=shown.pmid)}.")
    assert leak.reference == reference


@pytest.mark.parametrize(
    "written", ["Ferrante et al. (2021)", "Synth J Sleep 2021", "[12]", "PMID 90 000 501", "90000501", "desk.90000501"]
)
def test_what_is_no_exact_identifier_is_never_replaced(written: str, world: World) -> None:
    """A guess would be a false attribution."""
    world.show(paper(1))
    found = world.desk.guard.find(f"Seen before in {written}, it was said.")
    assert found
    assert [leak.reference for leak in found] == [None] * len(found)


def test_an_identifier_of_a_work_that_is_held_and_not_shown_has_no_reference(world: World) -> None:
    held = paper(1)
    world.hold(held)
    (leak,) = world.desk.guard.find(f"Seen in PMID {held.pmid}.")
    assert leak.reference is None


@pytest.mark.parametrize(
    "written",
    ["Ferrante found", "by Ferrante", "Ferrante LM", "Luca Ferrante", "Ferrante's trial", "Young (2021)", "Ada Young"],
)
def test_authors_of_the_runs_own_works_are_known_by_name(written: str, world: World) -> None:
    world.show(paper(1))
    assert [leak.kind for leak in world.desk.guard.find(f"It is said that {written} as much.")] == ["author-year"]
    assert NOBODY.find(f"It is said that {written} as much.") == [] or "(2021)" in written


SUBJECTS = (
    "{} reported a benefit.", "Later {} confirmed this.", "{} doubts that it works.", "{} claims that it works.",
    "{} disagrees.", "{} tested it in mice.", "{} was the first to test it.", "As {} showed, it works.",
    "It works, according to {}.", "{}'s trial found no effect.", "{} et al. found it.", "In 2021, {} found it.",
)  # fmt: skip


@pytest.mark.parametrize("said", SUBJECTS)
@pytest.mark.parametrize(
    ("family", "written"),
    [
        ("Okonkwo", "Okonkwo"),
        ("Ng", "Ng"),
        ("van der Berg", "van der Berg"),
        ("Łukasiewicz", "Lukasiewicz"),
        ("Sørensen", "Sorensen"),
        ("Müller", "Mueller"),
        ("O'Brien", "O’Brien"),
        ("García-López", "Garcia-Lopez"),
    ],
)
def test_a_held_author_is_known_wherever_he_stands_as_the_subject(
    family: str, written: str, said: str, world: World
) -> None:
    """Names that stand in no list: the run knows the authors of its own works, however they are spelled."""
    world.show(paper(1, authors=(Author(family=family, given="Ada", initials="AB"),)))
    assert [leak.kind for leak in world.desk.guard.find(said.format(written))] == ["author-year"]


@pytest.mark.parametrize(
    ("said", "leaks"),
    [
        ("Brown reported a benefit.", 1),
        ("Later Brown found it.", 1),
        ("It works, according to Brown.", 1),
        ("Brown reported by growers is better.", 0),
        ("Rice growing by Brown farmers found uses.", 0),
        ("The Brown Group reported a benefit.", 0),
    ],
)
def test_a_held_author_called_by_a_common_word_is_one_where_only_people_stand(
    said: str, leaks: int, world: World
) -> None:
    world.show(paper(1, authors=(Author(family="Brown", given="Tom", initials="T"),)))
    assert len(world.desk.guard.find(said)) == leaks


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("It works PubMed编号90000501.", "pmid"),
        ("It works $90000501$.", "pmid"),
        ("As in Ferrante, Luca, it works.", "author-year"),
        ("It was published in synthetic journal of sleep in 2021.", "journal-year"),
    ],
)
def test_what_the_run_knows_of_its_works_is_found_in_any_company(said: str, kind: str, world: World) -> None:
    world.show(paper(1))
    assert [leak.kind for leak in world.desk.guard.find(said)] == [kind]


def test_an_author_is_no_leak_as_a_word_of_the_question_or_of_a_paper(world: World) -> None:
    world.show(paper(1))
    said = "It is thought that Ferrante warns of harm."
    assert [leak.text for leak in world.desk.guard.find(said)] == ["Ferrante"]
    world.question = "What does Ferrante warn of?"
    assert world.desk.guard.find(said) == []
    world.question = "Does it harm?"
    world.show(paper(2, title="Synthetic notes on the Ferrante sign"))
    assert world.desk.guard.find("It is thought that Ferrante signs tell harm.") == []
    assert world.desk.guard.find(said) == []


def test_a_word_of_a_text_is_nobody_with_accents_too(world: World) -> None:
    said = "Réseau noted that it helps, and Reseau reported a benefit."
    assert [leak.text for leak in world.desk.guard.find(said)] == ["Réseau", "Reseau"]
    world.show(paper(1, abstract_text="The registry Réseau holds ten cases."))
    assert [leak.text for leak in world.desk.guard.find(said)] == ["Reseau"]


def test_numbers_of_the_runs_own_works_are_known_with_signs_between_their_digits(world: World) -> None:
    world.show(paper(1))
    for written in ("90,000,501", "9 0 0 0 0 5 0 1", "90 000 501", "90'000'501"):
        assert [leak.kind for leak in world.desk.guard.find(f"Seen in {written} before.")] == ["pmid"]
        assert NOBODY.find(f"Seen in {written} before.") == []


@pytest.mark.parametrize(
    "echoed", ["Smith et al. (2020)", "Smith (2020)", "the 2020 Smith trial", "NEJM 2020", "the 2020 trial of the NEJM"]
)
def test_what_the_question_names_may_be_echoed(echoed: str) -> None:
    asked = "What did Smith et al. find in 2020 in the NEJM trial?"
    assert Guard.of(lambda kind, value: None, Known(), asked).find(f"In {echoed} it was said.") == []
    assert NOBODY.find(f"In {echoed} it was said.") != []


def test_a_title_that_the_question_holds_may_be_echoed(world: World) -> None:
    shown = paper(1)
    world.show(shown)
    assert [leak.kind for leak in world.desk.guard.find(f"The paper {shown.title} says so.")] == ["title"]
    world.question = f"What does {shown.title} say?"
    assert world.desk.guard.find(f"The paper {shown.title} says so.") == []


def test_exact_identifiers_are_found_though_the_question_names_them() -> None:
    guard = Guard.of(lambda kind, value: None, Known(), "What does PMID 90000001 say?")
    assert [leak.kind for leak in guard.find("PMID 90000001 says nothing.")] == ["pmid"]


def test_leaks_neither_overlap_nor_leave_the_text() -> None:
    text = "See https://doi.org/10.5555/x1, PMID 90000001 (Smith et al., 2020) and NEJM 2020;383:1-9 [3]."
    found = NOBODY.find(text)
    assert [leak.text for leak in found] == [text[leak.start : leak.end] for leak in found]
    assert all(left.end <= right.start for left, right in pairwise(found))
    assert {leak.kind for leak in found} == {"doi", "pmid", "author-year", "journal-year", "marker"}


@pytest.mark.parametrize(
    "piece",
    [
        "Metformin reduced decline by 12% (95% CI 3-20) in 2020. ",
        "Smith et al. (2020) and NEJM 2023; ",
        "10.1234.",
        "10.1234/)",
        "S0140-",
        "doi:",
        "a¹",
        "AAAA",
        "Aa-Aa-",
        "((((",
        "&amp;",
        "PMID 90000001, 90000002, ",
        "Smith-2020 ",
        "'20 ",
        "F e r r a n t e ",
        "№",
        "ChiCTR no no no ",
        "A 2018 paper in the Synthetic Journal of ",
        "2018 Journal of ",
        "9 0 0 0 ",
        "Smith, Jones and ",
        "山田ら",
    ],
)
def test_twice_the_text_takes_about_twice_the_time(piece: str) -> None:
    """Linear: eight times the text in far less than the 64 times that a quadratic pass would take."""

    def took(characters: int) -> float:
        text = piece * (characters // len(piece))
        started = time.thread_time()
        NOBODY.find(text)
        return time.thread_time() - started

    took(1_000)
    short = min(took(2_000) for _ in range(3))
    assert min(took(16_000) for _ in range(3)) < 25 * short + 0.05


def test_real_abstracts_give_no_false_alarm(shared_dir: Path) -> None:
    """Every alarm in the corpus of real abstracts was read and judged: a registration, or a citation in the text."""
    sentences, alarms = read_real(shared_dir / "corpora/pubmedqa-dev/corpus.jsonl")
    assert sentences > 6_000
    assert {alarm.verdict for alarm in alarms} == {"registration", "citation"}


NUMBER_SIGNS = (
    "№",
    "no.",
    "no",
    "No ",
    "#",
    "nr",
    "nr. ",
    "n°",
    "n.º ",
    ":No",
    " number ",
    "= ",
    "_",
    " ID №",
    "﹟",
    "\u200bno\u00ad.",
)


@pytest.mark.parametrize("sign", NUMBER_SIGNS)
@pytest.mark.parametrize(
    ("label", "number", "kind"),
    [
        ("PMID", "33301246", "pmid"),
        ("PMC", "7759461", "pmcid"),
        ("NCT", "04295616", "nct"),
        ("ISRCTN", "12345678", "isrctn"),
        ("EudraCT", "2015-001234-56", "eudract"),
        ("arXiv", "2005.14165", "arxiv"),
        ("DOI", "10.1056/NEJMoa2034577", "doi"),
        ("PPR", "345678", "ppr"),
        ("NBK", "430685", "nbk"),
        ("ChiCTR", "2000029308", "registry"),
        ("CRD", "42020181234", "registry"),
        ("ACTRN", "12620000445976", "registry"),
        ("DRKS", "00021214", "registry"),
        ("UMIN", "000012345", "registry"),
        ("KCT", "0004978", "registry"),
        ("ClinicalTrials.gov", "04295616", "nct"),
    ],
)
def test_a_label_and_its_number_are_one_whatever_sign_joins_them(label: str, sign: str, number: str, kind: str) -> None:
    """NFKC makes `No` of the numero sign, which then stands glued to the digits."""
    assert kind in {leak.kind for leak in NOBODY.find(f"The record {label}{sign}{number} shows a slower decline.")}


@pytest.mark.parametrize(
    "written",
    [
        "P.M.I.D. 33301246",
        "p-m-i-d 33301246",
        "PMID ³³³⁰¹²⁴⁶",
        "PMID ⑶⑶⑶⓪⑴⑵⑷⑹",
        "PMID 3_3_3_0_1_2_4_6",
        "PMID 333O1246",
        "PMID three three three zero one two four six",
        "PMID 33,301,246",
        "N.C.T. 04295616",
        "NCTO4295616",
        "NCT O429 5616",
        "PMC 7,759,461",
        "P.M.C.I.D. 7759461",
        "PMC seven-seven-five-nine-four-six-one",
        "clinical trials gov identifier 04295616",
        "digital object identifier 10.1056/NEJMoa2034577",
    ],
)
def test_a_label_may_be_spaced_out_and_its_digits_may_be_disguised(written: str) -> None:
    assert NOBODY.find(f"The record {written} shows a slower decline.") != []


@pytest.mark.parametrize(
    "joint", ["-", "–", "—", "/", "_", ":", ",", ";", ".", "·", "|", "+", "~", "", " - ", "__", "^", "=", "@"]
)
@pytest.mark.parametrize(
    "around", ["Decline was slower ({}).", "Decline was slower [{}; {}].", "In {} decline was slower."]
)
def test_author_and_year_are_one_whatever_joins_them(joint: str, around: str) -> None:
    for name in ("Smith", "Okafor", "Garcia-Lopez", "O'Brien", "Müller & Schmidt", "van der Berg"):
        text = around.replace("{}", f"{name}{joint}2020")
        assert {leak.kind for leak in NOBODY.find(text)} & {"author-year", "marker"}, text


@pytest.mark.parametrize(
    "written",
    [
        "(smith2020)",
        "[Smith2020cognitive]",
        "[SMITH2020]",
        "@smith2020",
        "(okafor_2019)",
        "smith-2020-cognitive",
        "Smith_etal_2020",
        "Smith-Jones_2020a",
        "smith20",
        "[okafor19]",
    ],
)
def test_keys_of_citation_managers_are_authors_with_their_year(written: str) -> None:
    assert NOBODY.find(f"Decline was slower {written}.") != []


@pytest.mark.parametrize(
    "written",
    [
        "Smith ( 2 0 2 0 )",
        "Smith 2 0 2 0",
        "Smith (MMXX)",
        "Smith (2O20)",
        "Smith (twenty twenty)",
        "Smith, two thousand and nineteen,",
        "Wang & Li ’20",
        "Smith '20",
        "Smith’20",
        "Smith (c. 2020)",
        "Smith (published 2020)",
        "Smith & al. 2020",
        "Smith/Jones 2020",
        "Smith/Jones/2020",
        "2020-Smith",
        "(2020/Okafor)",
        "2020_Smith",
        "the Smith paper of 2020",
        "the Smith/Jones paper of 2020",
        "Rossi e colleghi (2014)",
        "García y cols. (2014)",
        "Silva e colaboradores (2014)",
        "Dupont et collègues (2014)",
        "Kowalski i wsp. (2014)",
        "Novák a kol. 2014",
        "Müller u. a. (2014)",
        "Müller und Kollegen (2014)",
        "Yılmaz ve ark. (2014)",
        "Hansen m.fl. (2014)",
        "Smith and others (2014)",
        "山田ら（2019）",
        "山田他（2019）",
        "王等（2020）",
        "王等人（2020）",
        "김 등 (2021)",
        "Петров (2018)",
        "Петров и др. (2018)",
    ],
)
def test_a_year_may_be_disguised_and_et_al_is_said_in_many_tongues(written: str) -> None:
    assert [leak.kind for leak in NOBODY.find(f"As {written} says, decline was slower.")] == ["author-year"]


@pytest.mark.parametrize(
    "written",
    [
        "Ferrante-2021 found",
        "ferrante:2021 found",
        "ferrante2021 found",
        "Luca-Ferrante-2021 found",
        "Ferrante (MMXXI) found",
        "Ferrante, twenty twenty-one, found",
        "F e r r a n t e found",
        "Ferrante & co.",
        "Young_2021 found",
        "FERRANTE/2021 found",
        "2021-Ferrante found",
        "the Ferrante-led trial found",
    ],
)
def test_authors_of_the_runs_own_works_are_known_however_joined(written: str, world: World) -> None:
    world.show(paper(1))
    assert {leak.kind for leak in world.desk.guard.find(f"It is said that {written} as much.")} == {"author-year"}


@pytest.mark.parametrize(
    "written",
    [
        "NEJM-2023",
        "The Lancet/2020",
        "JAMA_2019",
        "NEJM’23",
        "Nature Medicine:2022",
        "Lancet2020",
        "NEJM'23",
        "N Engl J Med-2020",
    ],
)
def test_journal_and_year_are_one_whatever_joins_them(written: str) -> None:
    assert [leak.kind for leak in NOBODY.find(f"{written} had the final word.")] == ["journal-year"]


@pytest.mark.parametrize(
    "clean",
    [
        "COVID-2019 was rare.",
        "Case report of 2022 whose title covers malaria.",
        "Journal article of 2021, clinical trial of 2020, observational study of 2019 and preprint of 2018 agree.",
        "Historical article of 2011 and comparative study (2012) agree; Randomised trial of 2013 too.",
        "Retracted publication of 2019 on this question.",
        "The SARS-CoV-2-2020 wave was short.",
        "ICD-2019 codes were used.",
        "Omicron-2022 infections were mild.",
        "KEYNOTE-189 and CheckMate-227 agree.",
        "GOLD 2023 groups were used.",
        "WHO-2020 criteria were used.",
        "Pre-2020 and post-2020 cohorts differ.",
        "The 2019-2020 season was mild.",
        "Horizon 2020 and Horizon-2020 paid for it.",
        "Agenda-2030 goals were named.",
        "Between May-2019 and June-2020 admissions fell (March-2020).",
        "In Italy-2020 telehealth grew (Italy-2020).",
        "Winter/2020 was mild (Winter/2020).",
        "Vaccines against H1N1-2009 worked (H1N1-2009).",
        "A/Darwin/9/2021, A/Darwin/2021 and A/swine/Iowa/2020 were the strains.",
        "Zika-2016 and Ebola-2014 outbreaks overlap.",
        "NHANES-2013 and GBD-2021 agree (GBD-2021).",
        "Ensembl-2020 annotated the transcripts (Ensembl-2020).",
        "miR-2020, mir2020 and rs2020 were altered (mir2020; rs2020).",
        "The GEO set (GSE2034) and the drug (AZD2014) were used.",
        "Metformin-2000 and placebo were given.",
        "The McDonald 2017 criteria and the Bosniak 2019 classification were used.",
        "Consort 2010, Prisma 2020 and Banff 2019 were followed.",
        "The young-2021 cohort slept less.",
        "Mesalazine (MMX) and murine MCMV were studied.",
        "Murine cytomegalovirus (MCMV) was studied.",
        "The class of '20 slept less.",
        "PubMed, no. 12 of the list, was searched.",
        "Form №3 was used by nurses in ward №12.",
        "Roughly two thousand twenty women took part.",
        "See the table; Medicare-2020 claims were used.",
    ],
)
def test_what_only_looks_joined_is_no_alarm(clean: str) -> None:
    assert NOBODY.find(clean) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Cox", "Using a Cox model, the hazard was estimated."),
        ("Cox", "By Cox regression, grade was a predictor."),
        ("Egger", "According to the Egger test, small trials were missing."),
        ("Tanner", "According to Tanner criteria, puberty had begun."),
        ("Bland", "By Bland-Altman analysis, the devices agreed."),
        ("Whipple", "By Whipple procedure, 40 patients were treated in 2015."),
    ],
)
def test_what_bears_an_authors_name_is_not_the_author(name: str, said: str, world: World) -> None:
    world.show(paper(1, authors=(Author(family=name, given="Ada", initials="A"),)))
    assert world.desk.guard.find(said) == []
    for leak in (f"As {name} found, it helps.", f"It helps, according to {name}.", f"{name} reported tests in cells."):
        assert [each.kind for each in world.desk.guard.find(leak)] == ["author-year"]


PLACES = (
    "Burkina Faso|Costa Rica|Côte d'Ivoire|El Salvador|Sierra Leone|Türkiye|Gaza|Kampala|Kilifi|"
    "Addis Ababa|Dar es Salaam|Accra|Cape Town|KwaZulu-Natal|Trinidad and Tobago|Viet Nam|Kuala Lumpur|"
    "Kerala|Tamil Nadu|Punjab|Hubei|Guangdong|Hokkaido|Hisayama|Porto Alegre|Pelotas|Recife|Medellín|"
    "Puerto Rico|Colorado|Rhode Island|Detroit|St. Louis|British Columbia|Nova Scotia|Victoria|Bristol|"
    "Cardiff|Leipzig|Heidelberg|Tuscany|Sardinia|Padua|Seville|Porto|Ghent|Leuven|Malmö|Uppsala|Tromsø|"
    "Kuopio|Kraków|Łódź|Zagreb|Belgrade|Crete|Tel Aviv"
)


@pytest.mark.parametrize("place", PLACES.split("|"))
def test_a_place_with_a_year_is_no_author(place: str) -> None:
    for said in (
        f"In {place} (2014-2016), cases rose.",
        f"In {place} (2015), rates fell.",
        f"Adults in {place}, 2015, had more falls.",
        f"A survey in {place} 2015 found less dementia.",
        f"The 2015 {place} study found less dementia.",
        f"In 2018, {place} reported fewer deaths.",
    ):
        assert NOBODY.find(said) == []


def test_who_has_a_word_of_a_places_name_is_still_an_author() -> None:
    for leak in ("Leone (2015) found less.", "In 2018, Salvador reported fewer deaths.", "Louis et al. (2015) agree."):
        assert [each.kind for each in NOBODY.find(leak)] == ["author-year"]


NO_NAMES = (
    "Remdesivir|Tamoxifen|Ivermectin|Dexamethasone|Bedaquiline|Dolutegravir|Cisplatin|Methadone|"
    "Nusinersen|Zinc|Melatonin|Ozempic|Wegovy|Leqembi|Aduhelm|Dengvaxia|Paxlovid|Fitbit|Facebook|Biogen|"
    "Gilead|Roche|Merck|Mayo Clinic|Johns Hopkins|Karolinska|World Bank|Biobank|Betula|Shigella|"
    "Mycobacterium|Wolbachia|Toxoplasma|Akkermansia|Lyme|Duchenne|Fabry|Rett|Prader-Willi|Guillain-Barré|Li-Fraumeni|"
    "Ehlers-Danlos|Sjögren|Tourette|Hajj|Lockdown"
)


@pytest.mark.parametrize("name", NO_NAMES.split("|"))
def test_a_drug_a_firm_a_germ_or_a_disease_with_a_year_is_no_author(name: str) -> None:
    for said in (
        f"{name} (2015) was studied.",
        f"The {name} 2015 data were pooled.",
        f"In 2018, {name} showed benefit.",
        f"The 2015 {name} trial was stopped.",
    ):
        assert NOBODY.find(said) == []


@pytest.mark.parametrize(
    "name", ["Thomas", "Clement", "Petersen", "Larsen", "Okafor", "Hunt", "Nguyen", "Washington-Reed"]
)
def test_a_family_name_that_ends_as_a_noun_does_is_still_an_author(name: str) -> None:
    for leak in (f"{name} (2015) agrees.", f"In 2018, {name} showed benefit.", f"The 2015 {name} trial was stopped."):
        assert [each.kind for each in NOBODY.find(leak)] == ["author-year"]
