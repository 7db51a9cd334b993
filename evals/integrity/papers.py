"""The corpus as the judge reads it: straight from the files, by no code of the package."""

from __future__ import annotations

import html
import json
import re
import shutil
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

HOSTILE = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Paper:
    """One record of the corpus, with everything that must not reach prose."""

    pmid: str = ""
    doi: str = ""
    pmcid: str = ""
    nct: str = ""
    title: str = ""
    family: str = ""
    year: str = ""
    journal: str = ""
    text: str = ""
    """Title and abstract, folded as `plain` folds."""


def build_corpus(packaged: Path, folder: Path) -> None:
    """The packaged corpus and the hostile papers in one folder."""
    for file in (*packaged.iterdir(), *HOSTILE.glob("*.xml")):
        if file.suffix in (".xml", ".json"):
            shutil.copy(file, folder / file.name)


def read_papers(folder: Path) -> list[Paper]:
    """Every record of the folder's files."""
    found: list[Paper] = []
    for file in sorted(folder.iterdir()):
        if file.suffix == ".xml":
            root = ET.fromstring(file.read_bytes())
            found += [_pubmed(article) for article in root.iter("PubmedArticle")]
            found += [_book(article) for article in root.iter("PubmedBookArticle")]
            if root.tag in ("article", "pmc-articleset"):
                found += [_jats(article) for article in ([root] if root.tag == "article" else root.iter("article"))]
        elif file.suffix == ".json":
            found += _json(json.loads(file.read_text(encoding="utf-8")))
    return found


def plain(text: str) -> str:
    """For comparing words: no markup, one form of each character, single blanks, no unseen characters."""
    bare = re.sub(r"</?[a-zA-Z][^<>]{0,60}>", "", text)
    return " ".join(unicodedata.normalize("NFKC", bare).translate(_FORMS).split())


class _Forms(dict[int, str]):
    """One form of each character, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        unseen = unicodedata.category(c) == "Cf"
        form = "" if unseen else "'" if c in '‘’“”"′″`´' else "-" if c in "‐‑‒–—−" else c
        return self.setdefault(code, form)


_FORMS = _Forms()


_CYRILLIC = str.maketrans("АВЕКМНОРСТХ", "ABEKMHOPCTX")


def squeezed(text: str) -> str:
    """The letters and digits of `text` alone, whatever was put between them."""
    shown = plain(unquote(html.unescape(text.replace("\\", "")))).translate(_CYRILLIC)
    return "".join(c for c in shown.casefold() if c.isalnum())


def _words(node: ET.Element | None) -> str:
    return "" if node is None else "".join(node.itertext())


def _pubmed(article: ET.Element) -> Paper:
    ids = {
        one.get("IdType", ""): (one.text or "").strip() for one in article.findall("PubmedData/ArticleIdList/ArticleId")
    }
    doi = next((e.text or "" for e in article.iter("ELocationID") if e.get("EIdType") == "doi"), ids.get("doi", ""))
    year = _words(article.find(".//JournalIssue/PubDate/Year"))
    family = _words(article.find(".//AuthorList/Author/LastName"))
    parts = [_words(article.find(".//ArticleTitle")), *_abstract(article)]
    return Paper(
        pmid=_words(article.find("MedlineCitation/PMID")).strip(),
        doi=doi.strip().lower(),
        pmcid=ids.get("pmc", ""),
        title=plain(parts[0]),
        family=family.strip(),
        year=year.strip(),
        journal=_words(article.find(".//Journal/Title")).strip(),
        text=plain(" ".join(parts)),
    )


def _abstract(article: ET.Element) -> Iterator[str]:
    for part in article.findall(".//Abstract/AbstractText"):
        label = part.get("Label")
        # PubMed prints labels in capitals, Europe PMC does not.
        yield from (f"{label}: {_words(part)}", f"{label.capitalize()}: {_words(part)}") if label else (_words(part),)


def _book(article: ET.Element) -> Paper:
    title = _words(article.find(".//ArticleTitle")) or _words(article.find(".//BookTitle"))
    return Paper(
        pmid=_words(article.find("BookDocument/PMID")).strip(),
        title=plain(title),
        family=_words(article.find(".//BookDocument/AuthorList/Author/LastName")).strip(),
        year=_words(article.find(".//Book/PubDate/Year")).strip(),
        text=plain(" ".join([title, *_abstract(article)])),
    )


def _jats(article: ET.Element) -> Paper:
    ids = {one.get("pub-id-type", ""): (one.text or "").strip() for one in article.findall(".//front//article-id")}
    pmcid = ids.get("pmcid") or ids.get("pmc") or ""
    return Paper(
        pmid=ids.get("pmid", ""),
        doi=ids.get("doi", "").lower(),
        pmcid=pmcid if pmcid.startswith("PMC") or not pmcid else f"PMC{pmcid}",
        title=plain(_words(article.find(".//front//article-title"))),
        text=plain(" ".join(article.itertext())),
    )


def _json(value: object) -> Iterator[Paper]:
    """Records of Europe PMC, bioRxiv and ClinicalTrials.gov, wherever they stand in the document."""
    if isinstance(value, list):
        for each in value:
            yield from _json(each)
    elif isinstance(value, dict):
        if "protocolSection" in value:
            number = str(value["protocolSection"].get("identificationModule", {}).get("nctId", ""))
            yield Paper(nct=number, text=plain(json.dumps(value, ensure_ascii=False)))
        elif "doi" in value or "pmid" in value or "abstractText" in value:
            authors = value.get("authorList", {})
            first = (authors.get("author") or [{}])[0] if isinstance(authors, dict) else {}
            yield Paper(
                pmid=str(value.get("pmid") or ""),
                doi=str(value.get("doi") or "").lower(),
                pmcid=str(value.get("pmcid") or ""),
                title=plain(str(value.get("title") or "")),
                family=str(first.get("lastName") or ""),
                year=str(value.get("pubYear") or ""),
                text=plain(f"{value.get('title') or ''} {value.get('abstractText') or value.get('abstract') or ''}"),
            )
        else:
            for each in value.values():
                yield from _json(each)
