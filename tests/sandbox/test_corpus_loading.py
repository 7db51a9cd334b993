"""What `Corpus` reads from a folder, and what it passes over."""

from __future__ import annotations

import ast
import gc
import json
from pathlib import Path

import httpx
import pytest
from lxml import etree

import literature_agent.sandbox
from literature_agent.errors import InvalidInputError
from literature_agent.sandbox import Corpus, SandboxServer
from literature_agent.sandbox.pubmed_records import Paper


def pubmed_set(*records: str) -> str:
    return f"<PubmedArticleSet>{''.join(records)}</PubmedArticleSet>"


def pubmed_record(pmid: str, title: str, abstract: str = "") -> str:
    text = f"<Abstract><AbstractText>{abstract}</AbstractText></Abstract>" if abstract else ""
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><ArticleTitle>{title}</ArticleTitle>{text}"
        "</Article></MedlineCitation></PubmedArticle>"
    )


def test_every_kind_of_record_is_read_and_everything_else_passed_over(small_corpus: Corpus) -> None:
    assert sorted(small_corpus.by_pmid) == [
        "90001001",
        "90001002",
        "90001003",
        "90001004",
        "90001005",
        "90001006",
        "95000002",
    ]
    assert sorted(small_corpus.articles) == ["PMC90001001", "PMC90001050"]
    assert sorted(small_corpus.trials) == ["NCT90000001", "NCT90000002"]
    assert len(small_corpus.preprints) == 3


def test_size_counts_publications_and_trials_once(small_corpus: Corpus) -> None:
    """7 papers, 1 full text without PMID, 2 records of Europe PMC's own, 2 bioRxiv preprints, 2 trials."""
    assert small_corpus.size == 14


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="nowhere' does not exist"):
        Corpus.from_folder(tmp_path / "nowhere")


def test_a_folder_without_a_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "other.json").write_text('{"id": 5, "source": [], "title": 1}', encoding="utf-8")
    (tmp_path / "page.xml").write_text("<html/>", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="holds no record"):
        Corpus.from_folder(tmp_path)


def test_the_fuller_of_two_records_stays(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(pubmed_set(pubmed_record("7", "Short", "Few words.")), encoding="utf-8")
    (tmp_path / "b.xml").write_text(pubmed_set(pubmed_record("7", "None")), encoding="utf-8")
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    (folder / "c.xml").write_text(pubmed_set(pubmed_record("7", "Long", "Many more words.")), encoding="utf-8")
    corpus = Corpus.from_folder(tmp_path)
    assert [paper.title for paper in corpus.papers] == ["Long"]


def test_entities_of_a_file_are_not_followed(tmp_path: Path) -> None:
    """K032: a corpus folder may come from anywhere."""
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden", encoding="utf-8")
    folder = tmp_path / "corpus"
    folder.mkdir()
    doctype = f'<!DOCTYPE PubmedArticleSet [<!ENTITY leak SYSTEM "{secret.as_uri()}">]>'
    (folder / "x.xml").write_text(doctype + pubmed_set(pubmed_record("8", "A &leak; title")), encoding="utf-8")
    corpus = Corpus.from_folder(folder)
    assert "hidden" not in corpus.by_pmid["8"].title
    assert "hidden" not in corpus.by_pmid["8"].xml()


def test_a_beir_line_becomes_a_whole_pubmed_record(small_corpus: Corpus) -> None:
    with SandboxServer(small_corpus) as server:
        reply = httpx.get(
            f"{server.base_url}/entrez/eutils/efetch.fcgi", params={"db": "pubmed", "id": "90001006"}, timeout=60
        )
    record = etree.fromstring(reply.content)[0]
    article = record.find("MedlineCitation/Article")
    assert article is not None
    assert article.findtext("ArticleTitle") == "Does yoghurt help synthetic cats?"
    assert [(s.get("Label"), s.get("NlmCategory"), s.text) for s in article.iterfind("Abstract/AbstractText")] == [
        ("METHODS", "METHODS", "Cats ate yoghurt."),
        ("CONCLUSION", "CONCLUSIONS", "They purred."),
    ]
    assert article.findtext("Journal/JournalIssue/PubDate/Year") == "2018"
    headings = record.iterfind("MedlineCitation/MeshHeadingList/MeshHeading/DescriptorName")
    assert [heading.text for heading in headings] == ["Cats", "Yogurt"]


def test_headings_without_number_are_found_in_mesh(small_corpus: Corpus) -> None:
    with SandboxServer(small_corpus) as server:
        eutils = f"{server.base_url}/entrez/eutils/"
        sent = {"db": "mesh", "term": "yogurt", "retmode": "json"}
        [number] = httpx.get(eutils + "esearch.fcgi", params=sent, timeout=60).json()["esearchresult"]["idlist"]
        sent = {"db": "mesh", "id": number, "retmode": "json"}
        described = httpx.get(eutils + "esummary.fcgi", params=sent, timeout=60).json()["result"][number]
    assert described["ds_meshterms"] == ["Yogurt"]


def test_a_beir_document_without_pmid_gets_an_invented_one_and_keeps_its_name(small_corpus: Corpus) -> None:
    assert small_corpus.by_pmid["95000002"].pii == "SYN-7"


def test_questions_beside_a_beir_corpus_are_no_records(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "5", "title": "T", "text": "x"}\nnot json\n[1]\n', encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "6", "text": "Why?"}\n', encoding="utf-8")
    (tmp_path / ".hidden.jsonl").write_text('{"_id": "7", "title": "T", "text": "x"}\n', encoding="utf-8")
    assert sorted(Corpus.from_folder(tmp_path).by_pmid) == ["5"]


def test_a_full_text_alone_can_be_found(tmp_path: Path) -> None:
    article = (
        "<article><front><article-meta><article-id pub-id-type='pmid'>123</article-id>"
        "<article-id pub-id-type='pmcid'>PMC77</article-id><title-group><article-title>Alone &amp; open"
        "</article-title></title-group></article-meta></front><body><p>x</p></body></article>"
    )
    (tmp_path / "a.nxml").write_text(f"<pmc-articleset>{article}</pmc-articleset>", encoding="utf-8")
    corpus = Corpus.from_folder(tmp_path)
    assert (corpus.by_pmid["123"].title, corpus.by_pmid["123"].pmcid) == ("Alone & open", "PMC77")
    assert corpus.size == 1


def test_a_preprint_of_europe_pmc_replaces_its_pubmed_copy_there(tmp_path: Path) -> None:
    record = pubmed_record("9", "A preprint").replace(
        "</Article>",
        "<ELocationID EIdType='doi'>10.5555/P</ELocationID>"
        "<PublicationTypeList><PublicationType>Preprint</PublicationType></PublicationTypeList></Article>",
    )
    (tmp_path / "a.xml").write_text(pubmed_set(record), encoding="utf-8")
    assert ("MED", "9") in Corpus.from_folder(tmp_path).europepmc.by_id
    native = {"id": "PPR1", "source": "PPR", "title": "A preprint", "doi": "10.5555/p"}
    (tmp_path / "b.json").write_text(json.dumps({"resultList": {"result": native}}), encoding="utf-8")
    corpus = Corpus.from_folder(tmp_path)
    assert list(corpus.europepmc.by_id) == [("PPR", "PPR1")]
    assert "9" in corpus.by_pmid


def test_invented_records_are_known_by_their_identifiers(tmp_path: Path, small_corpus: Corpus) -> None:
    (tmp_path / "a.xml").write_text(pubmed_set(pubmed_record("90000001", "Invented")), encoding="utf-8")
    assert Corpus.from_folder(tmp_path).is_synthetic
    (tmp_path / "b.xml").write_text(pubmed_set(pubmed_record("31978945", "Real")), encoding="utf-8")
    assert not Corpus.from_folder(tmp_path).is_synthetic


def test_the_packaged_corpus_is_synthetic_and_holds_three_hundred_records() -> None:
    corpus = Corpus.packaged()
    assert corpus.is_synthetic
    assert len(corpus.papers) >= 300
    assert corpus.size > len(corpus.papers)
    corpus.close()


def test_a_corpus_left_to_the_garbage_collector_warns_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(pubmed_set(pubmed_record("1", "One")), encoding="utf-8")
    Corpus.from_folder(tmp_path)
    gc.collect()


def test_all_recorded_answers_load(shared_dir: Path) -> None:
    corpus = Corpus.from_folder(shared_dir / "recorded")
    assert {"27797938", "31978945", "20301577", "12742516"} <= corpus.by_pmid.keys()
    assert {("PPR", "PPR1019257"), ("MED", "27797938")} <= corpus.europepmc.by_id.keys()
    assert {"PMC8118396", "PMC10500000", "PMC3299399"} <= corpus.articles.keys()
    assert len(corpus.trials) > 10
    assert len(corpus.preprints) > 50
    assert not corpus.is_synthetic
    corpus.close()


def test_known_items_are_found_by_their_titles_in_a_real_corpus(shared_dir: Path) -> None:
    corpus = Corpus.from_folder(shared_dir / "corpora" / "pubmedqa-dev")
    assert corpus.size == 500
    queries = [
        json.loads(line)
        for line in (shared_dir / "corpora" / "pubmedqa-dev" / "queries.jsonl").read_text("utf-8").splitlines()
    ]
    found = 0
    with SandboxServer(corpus) as server, httpx.Client(base_url=server.base_url, timeout=60) as client:
        for query in queries[:100]:
            sent = {"db": "pubmed", "term": query["text"], "retmode": "json", "retmax": "5"}
            result = client.get("/entrez/eutils/esearch.fcgi", params=sent).json()["esearchresult"]
            found += query["_id"].removeprefix("q") in result["idlist"]
    assert found == 100
    corpus.close()


def test_a_full_text_may_be_named_by_its_file_only(tmp_path: Path) -> None:
    article = "<article><front><article-meta/></front><body><p>x</p></body></article>"
    (tmp_path / "PMC88.nxml").write_text(article, encoding="utf-8")
    corpus = Corpus.from_folder(tmp_path)
    assert list(corpus.europepmc.by_id) == [("PMC", "PMC88")]
    assert corpus.size == 1


def test_odd_values_in_a_record_do_not_stop_the_rest(tmp_path: Path) -> None:
    odd = {"id": "PPR5", "source": "PPR", "title": 5, "journalInfo": "x", "authorList": [], "citedByCount": "many"}
    odd |= {"pubYear": None, "bookOrReportDetails": ["y"], "meshHeadingList": {"meshHeading": "z"}}
    (tmp_path / "a.json").write_text(json.dumps([odd, 7, None, "x"]), encoding="utf-8")
    for name in ("b.json", "c.jsonl"):
        (tmp_path / name).write_text("[" * 100_000)
    corpus = Corpus.from_folder(tmp_path)
    with SandboxServer(corpus) as server:
        sent = {"query": "SRC:PPR", "format": "json", "sort": "CITED desc"}
        reply = httpx.get(f"{server.base_url}/europepmc/webservices/rest/search", params=sent, timeout=60)
    assert reply.json()["hitCount"] == 1
    corpus.close()


def test_a_beir_document_may_carry_authors_and_identifiers(tmp_path: Path) -> None:
    line = {
        "_id": "doc-1",
        "title": "Title \x0b with a control character",
        "text": "Text.",
        "metadata": {"pubmed_id": "321", "doi": "10.5555/X", "authors": ["Jane-Ann B Doe", "Plato"], "journal": "J"},
    }
    (tmp_path / "corpus.jsonl").write_text(json.dumps(line), encoding="utf-8")
    corpus = Corpus.from_folder(tmp_path)
    article = etree.fromstring(corpus.by_pmid["321"].xml())
    names = [[part.text for part in author] for author in article.iterfind("MedlineCitation/Article/AuthorList/Author")]
    assert names == [["Doe", "Jane-Ann B", "JAB"], ["Plato"]]
    assert article.findtext("MedlineCitation/Article/ELocationID") == "10.5555/X"
    assert article.findtext("MedlineCitation/Article/Journal/Title") == "J"
    ids = {node.get("IdType"): node.text for node in article.iterfind("PubmedData/ArticleIdList/ArticleId")}
    assert ids == {"pubmed": "321", "doi": "10.5555/X", "pii": "doc-1"}


def test_the_written_xml_of_a_document_says_what_its_index_says(tmp_path: Path, shared_dir: Path) -> None:
    """A record made from a BEIR line reads the same when its own XML is loaded as a corpus."""
    made = Corpus.from_folder(shared_dir / "corpora" / "pubmedqa-dev")
    records = "".join(paper.xml() for paper in made.papers[:50])
    (tmp_path / "a.xml").write_text(pubmed_set(records), encoding="utf-8")
    read = Corpus.from_folder(tmp_path)
    for paper in read.papers:
        twin = made.by_pmid[paper.pmid]
        ours = {name: getattr(paper, name) for name in Paper.__slots__ if name not in {"xml"}}
        assert ours == {name: getattr(twin, name) for name in ours}


def test_poor_records_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    book = "<Book><BookTitle>Whole book</BookTitle></Book>"
    chapter = f"<PubmedBookArticle><BookDocument><PMID>11</PMID>{book}</BookDocument></PubmedBookArticle>"
    nobody = "<PubmedArticle><MedlineCitation><PMID>x</PMID><Article/></MedlineCitation></PubmedArticle>"
    empty = "<PubmedBookArticle/><PubmedArticle/>"
    odd = pubmed_record("12", "").replace(
        "<Article>",
        "<MeshHeadingList><MeshHeading/></MeshHeadingList><Article><Journal><JournalIssue><PubDate><MedlineDate>"
        "no year</MedlineDate></PubDate></JournalIssue></Journal>",
    )
    (tmp_path / "a.xml").write_text(pubmed_set(chapter, nobody, empty, odd), encoding="utf-8")
    corpus = Corpus.from_folder(tmp_path)
    assert {pmid: paper.title for pmid, paper in corpus.by_pmid.items()} == {"11": "Whole book", "12": ""}
    assert corpus.by_pmid["12"].published is None
    corpus.europepmc.index.close()


def test_the_sandbox_shares_no_code_with_the_clients_it_serves() -> None:
    """A parser that served its own answers would never show its faults."""
    folder = Path(literature_agent.sandbox.__file__).parent
    for module in folder.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("literature_agent"):
                assert node.module == "literature_agent.errors" or str(node.module).startswith(
                    "literature_agent.sandbox"
                ), f"{module.name} imports {node.module}"
