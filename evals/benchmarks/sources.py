"""PubMed XML against other readers of the same file; memory and requests of long bioRxiv windows."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from lxml import etree

from evals.benchmarks.measure import Figure, show
from literature_agent.artifacts import DetailedArticle
from literature_agent.settings import load_settings
from literature_agent.sources import SOURCES
from literature_agent.sources.pubmed.parse import parse_articles
from literature_agent.transport import Transport

ROOT = Path(__file__).resolve().parent.parent.parent
_RECORDS = ("PubmedArticle", "PubmedBookArticle")
_PAGE = 30


def run(*, small: bool = False) -> list[Figure]:
    return show("sources", [*_parsing(200 if small else 3000), *_windows(*((300, 1200) if small else (1000, 20_000)))])


# --- PubMed XML -------------------------------------------------------------------------------------------------------


def pubmed_file(records: int) -> bytes:
    """A PubMed file of so many records: those recorded, else those of the packaged corpus, repeated in order."""
    recorded = ROOT.parent / "shared" / "recorded" / "eutils"
    folder = recorded if recorded.is_dir() else ROOT / "literature_agent" / "sandbox" / "corpus"
    found: list[bytes] = []
    for path in sorted(folder.glob("*.xml")):
        try:
            root = etree.fromstring(path.read_bytes().lstrip())
        except etree.XMLSyntaxError:
            continue
        found += [etree.tostring(node, encoding="UTF-8", with_tail=False) for node in root if node.tag in _RECORDS]
    head = (
        b'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, '
        b'1st January 2025//EN" "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">\n<PubmedArticleSet>\n'
    )
    declaration = b"<?xml version='1.0' encoding='UTF-8'?>\n"
    body = b"\n".join(found[number % len(found)].removeprefix(declaration) for number in range(records))
    return head + body + b"\n</PubmedArticleSet>\n"


def _parsing(records: int) -> list[Figure]:
    body = pubmed_file(records)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("warm", pubmed_file(50)), ("file", body)):
            Path(folder, f"{name}.xml").write_bytes(content)
            Path(folder, f"{name}.xml.gz").write_bytes(gzip.compress(content, compresslevel=0))
        seconds = dict.fromkeys(_READERS, float("inf"))
        # Of few records no goal is told, and most of the time would go into starting processes.
        rounds = [[*_READERS]] if records < 1000 else [[name] for name in _READERS] * 5
        for names in rounds:
            for name, told in zip(names, _own_process("parse", folder, *names).split(), strict=True):
                seconds[name] = min(seconds[name], float(told))
    articles = parse_articles(body)
    differing = compare(body, articles)
    return [
        Figure("records, each compared with the XML in ten fields", len(articles)),
        Figure("fields that differ from the XML", len(differing), "", 0),
        Figure("records a second, validated", records / seconds["ours"], "1/s"),
        Figure("against bare lxml", seconds["lxml"] / seconds["ours"], "x", 0.25, "at least"),
        Figure("against pubmed_parser", seconds["pubmed_parser"] / seconds["ours"], "x", 1.5, "at least"),
        Figure("against Biopython", seconds["Biopython"] / seconds["ours"], "x", 3, "at least"),
    ]


def _read_lxml(file: Path, body: bytes) -> None:
    etree.fromstring(body)  # and lets the tree go, as the others do with theirs


def _read_ours(file: Path, body: bytes) -> object:
    return parse_articles(body)


def _read_pubmed_parser(file: Path, body: bytes) -> object:
    import pubmed_parser

    options = {"year_info_only": False, "author_list": True, "reference_list": True}
    return list(pubmed_parser.parse_medline_xml(f"{file}.gz", **options))


def _read_biopython(file: Path, body: bytes) -> object:
    from Bio import Entrez

    return Entrez.read(io.BytesIO(body), validate=False)  # type: ignore[no-untyped-call]


_READERS: dict[str, Callable[[Path, bytes], object]] = {
    "lxml": _read_lxml,
    "ours": _read_ours,
    "pubmed_parser": _read_pubmed_parser,
    "Biopython": _read_biopython,
}


def _time_readers(folder: Path, names: Sequence[str]) -> list[float]:
    """CPU seconds of one reading of the file by each; to rely on, of one reader alone in a process of its own.

    What one reader leaves behind decides what the next one pays: after a large tree is freed, bare lxml was seen to
    need between 0.7 and 1.5 times its usual time. A small file is read by all first, so that each is measured with the
    same modules loaded (every pass of the garbage collector visits them) and none pays for its first call.
    """
    warm, file = folder / "warm.xml", folder / "file.xml"
    for read in _READERS.values():
        read(warm, warm.read_bytes())
    body, seconds = file.read_bytes(), list[float]()
    for name in names:
        began = time.process_time()
        kept = _READERS[name](file, body)
        seconds.append(time.process_time() - began)
        del kept
    return seconds


def _own_process(*arguments: str) -> str:
    """What this module, run with these arguments, prints."""
    command = [sys.executable, "-m", "evals.benchmarks.sources", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout


def compare(body: bytes, articles: Sequence[DetailedArticle]) -> list[str]:
    """Each field of the records that says something else than the XML, read here by XPath alone."""
    nodes = [node for node in etree.fromstring(body) if node.tag in _RECORDS]
    differing = [] if len(nodes) == len(articles) else [f"{len(nodes)} records, {len(articles)} read"]
    for node, article in zip(nodes, articles, strict=False):
        for field, (stated, read) in _fields(node, article).items():
            if stated != read:
                differing.append(f"{article.pmid} {field}: {stated!r}, read {read!r}")
    return differing


def _fields(node: etree._Element, article: DetailedArticle) -> dict[str, tuple[object, object]]:
    """Ten fields, each as the XML states it and as it was read, letters and digits only."""

    def stated(path: str) -> list[str]:
        found: Any = node.xpath(path)
        return [text for one in found if (text := _letters("".join(one.itertext())))]

    top = "MedlineCitation" if node.tag == "PubmedArticle" else "BookDocument"
    if top == "BookDocument":
        return {"pmid": ([article.pmid], stated("BookDocument/PMID"))}
    record = f"{top}/Article"
    title = stated(f"{record}/ArticleTitle")
    if title in ([], ["notavailable"]):
        title = stated(f"{record}/VernacularTitle") or title
    single: dict[str, tuple[list[str], str | None]] = {
        "pmid": (stated(f"{top}/PMID"), article.pmid),
        "title": (title, article.title),
        "journal": (stated(f"{record}/Journal/Title"), article.journal),
        "abbreviation": (
            stated(f"{record}/Journal/ISOAbbreviation") or stated(f"{top}/MedlineJournalInfo/MedlineTA"),
            article.journal_abbreviation,
        ),
        "issn": (stated(f"{record}/Journal/ISSN"), article.issn),
        "volume": (stated(f"{record}/Journal/JournalIssue/Volume"), article.volume),
        "issue": (stated(f"{record}/Journal/JournalIssue/Issue"), article.issue),
    }
    several: dict[str, tuple[list[str], Iterable[str | None]]] = {
        "authors": (
            stated(
                f"{record}/AuthorList/Author[not(@ValidYN='N')]/LastName"
                f" | {record}/AuthorList/Author[not(@ValidYN='N')]/CollectiveName"
            ),
            [author.family or author.collective for author in article.authors],
        ),
        "MeSH": (
            stated(f"{top}/MeshHeadingList/MeshHeading/DescriptorName"),
            [heading.descriptor for heading in article.mesh_headings],
        ),
        "types": (stated(f"{record}/PublicationTypeList/PublicationType"), article.publication_types),
    }
    pairs: dict[str, tuple[object, object]] = {
        name: (texts[:1], [_letters(read)] if read else []) for name, (texts, read) in single.items()
    }
    return pairs | {name: (texts, [_letters(one or "") for one in read]) for name, (texts, read) in several.items()}


def _letters(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFKC", text).casefold() if sign.isalnum())


# --- windows of bioRxiv -----------------------------------------------------------------------------------------------


def _windows(short: int, long: int) -> list[Figure]:
    peaks: dict[int, float] = {}
    first = second = 0
    for preprints in (short, long):
        with _stub(preprints) as (address, asked):
            told = json.loads(_own_process("window", address, str(preprints)))
            peaks[preprints] = told["peak_mb"]
            if told["looked_at"] < preprints:
                raise AssertionError(f"{told['looked_at']} of {preprints} preprints read")
            first, second = told["requests_before"], len(asked) - told["requests_before"]
    return [
        Figure(f"peak memory of a window of {short:,} preprints", peaks[short], "MB"),
        Figure(f"peak memory of a window of {long:,} preprints", peaks[long], "MB"),
        Figure("difference of the two", abs(peaks[long] - peaks[short]), "MB", 20),
        Figure(f"requests of a first query on {long:,} preprints", first),
        Figure("requests of a second query on the same window", second, "", 0),
    ]


@contextmanager
def _stub(preprints: int) -> Iterator[tuple[str, list[str]]]:
    """A server on loopback that has so many invented preprints in every window, in pages of 30."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path.startswith("/count"):
                body = str(len(asked)).encode()
            else:
                asked.append(self.path)
                body = _page(int(self.path.split("?")[0].rstrip("/").split("/")[-2]), preprints)
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _page(cursor: int, preprints: int) -> bytes:
    rows = [
        {
            "title": f"Synthetic preprint {number} on organoids",
            "authors": "; ".join(f"Family{number % 97 + place}, A." for place in range(8)),
            "author_corresponding": "A Family",
            "author_corresponding_institution": "Synthetic University",
            "doi": f"10.5555/2026.01.01.{number:06d}",
            "date": "2026-01-02",
            "version": "1",
            "type": "new results",
            "license": "cc_by",
            "category": "neuroscience",
            "jatsxml": "",
            "abstract": " ".join(f"word{(number * 31 + place * 7) % 5003}" for place in range(230)),
            "published": "NA",
            "server": "bioRxiv",
        }
        for number in range(cursor, min(cursor + _PAGE, preprints))
    ]
    if not rows:
        return b'{"messages": [{"status": "no posts found"}], "collection": []}'
    message = {"status": "ok", "category": "all", "cursor": cursor, "count": len(rows), "total": str(preprints)}
    return json.dumps({"messages": [message], "collection": rows}).encode()


async def _search_twice(address: str, preprints: int) -> dict[str, object]:
    """In a process of its own: a window read and filtered, asked again with other words, and what that needed."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(
            biorxiv_base_url=address,
            biorxiv_max_pages=preprints,
            cache="off",
            cache_dir=folder,
            pace="off",
            rate_limit_store="memory",
        )
        source = next(one for one in SOURCES if one.name == "biorxiv")
        window = {"date_from": "2026-01-01", "date_to": "2026-01-31"}
        async with Transport(settings) as transport:
            tools = source.build(transport)
            found = await tools.search("organoids", max_results=10, page=None, **window)
            async with httpx.AsyncClient(trust_env=False) as client:
                before = int((await client.get(f"{address}count")).text)
            await tools.search("word11 AND word25", max_results=10, page=None, **window)
    return {"peak_mb": _peak_mb(), "looked_at": found.total, "requests_before": before}


def _peak_mb() -> float:
    """Most memory that this program has held. `ru_maxrss` of Linux also counts the process that started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["parse", place, *readers]:
            print(*_time_readers(Path(place), readers))
        case ["window", address, preprints]:
            print(json.dumps(asyncio.run(_search_twice(address, int(preprints)))))
