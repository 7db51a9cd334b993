"""TREC folders: topics, qrels, and PubMed XML as the corpus."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from evals.datasets import CaseSet, Loaded
from evals.datasets.beir import case

_TOP = re.compile(r"<top>(.*?)</top>", re.S | re.I)
_FIELD = re.compile(r"<(num|title|desc)>\s*(?:Number:|Topic:|Description:)?(.*?)(?=</?\w+>|\Z)", re.S | re.I)
_HIGHEST_GRADE = 3


def load(folder: Path) -> Loaded:
    """Judged topics as cases, asked of PubMed over the folder's XML.

    Topics are `topics*.xml` (`<topic number="1">` with the words in it or in its children), `topics*.tsv` (number, tab,
    words) or the old `<top><num>...<title>...` form in any `topics*` file. Qrels are `qrels*` lines of topic, round,
    PMID, grade.

    Raises:
        ValueError: topics or qrels are missing.
    """
    judged: dict[str, dict[str, int]] = {}
    for file in sorted(folder.glob("qrels*")):
        for line in file.read_text(encoding="utf-8").splitlines():
            parts = line.split()
            if len(parts) == 4 and parts[3].lstrip("-").isdecimal():
                judged.setdefault(parts[0], {})[parts[2]] = min(_HIGHEST_GRADE, max(0, int(parts[3])))
    topics = [topic for file in sorted(folder.glob("topics*")) for topic in _topics(file)]
    if not topics or not judged:
        raise ValueError("a TREC folder has topics* and qrels* files")
    cases = [case(number, words, judged[number], None) for number, words in topics if judged.get(number)]
    return Loaded(CaseSet(name=folder.name, cases=cases), str(folder))


def _topics(file: Path) -> Iterator[tuple[str, str]]:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".tsv":
        for line in text.splitlines():
            number, tab, words = line.partition("\t")
            if tab and words.strip():
                yield number.strip(), words.strip()
    elif _TOP.search(text):
        for top in _TOP.finditer(text):
            fields = {name.lower(): " ".join(words.split()) for name, words in _FIELD.findall(top[1])}
            yield fields["num"], fields.get("desc") or fields["title"]
    else:
        for topic in ET.fromstring(text).iter("topic"):
            yield topic.get("number") or "", " ".join(" ".join(topic.itertext()).split())
