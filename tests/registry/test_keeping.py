"""Keeping a registry: JSON, files, merging, copies, threads, several processes."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from literature_agent.artifacts import Author, PubMedArticle, RelatedRecord, TextSection
from literature_agent.errors import ConfigurationError
from literature_agent.registry import ArtifactRegistry, Reference, SQLiteStore, artifact_registry, stores
from literature_agent.results import FullText


def _filled(registry: ArtifactRegistry, make: Any) -> list[Reference]:
    references = [
        registry.hold(make.pubmed(90000001, abstract_text="First.")),
        registry.hold(make.europepmc("AGR1", "AGR", doi="10.5555/a")),
        registry.hold(make.detailed(90000001, doi="10.5555/a", abstract_text="Second.", volume="7")),
        registry.hold(make.preprint("10.1101/2031.01.01.990001", published_doi="10.5555/a")),
        registry.hold(make.trial()),
    ]
    read = FullText(artifact=make.pmc(), available=True, sections=(TextSection(heading="Methods", text="Done."),))
    references.append(registry.hold_full_text(read) or references[0])
    return references


def _same(one: ArtifactRegistry, two: ArtifactRegistry) -> None:
    assert list(one) == list(two)
    for reference in one:
        assert one.find(reference) == two.find(reference)
        assert one.copies(reference) == two.copies(reference)
        assert one.keys(reference) == two.keys(reference)
        assert one.strongest(reference) == two.strongest(reference)
        assert one.family(reference) == two.family(reference)
        assert one.texts(reference) == two.texts(reference)
        assert one.full_text(reference) == two.full_text(reference)
    assert one.notes() == two.notes()
    assert one.to_json() == two.to_json()


def test_a_registry_reads_back_the_same_from_json(registry: ArtifactRegistry, make: Any, tmp_path: Path) -> None:
    references = _filled(registry, make)
    document = registry.to_json()
    _same(registry, ArtifactRegistry.from_json(document))
    _same(registry, ArtifactRegistry.from_json(document.encode()))
    _same(registry, ArtifactRegistry.from_json(json.loads(document)))
    store = SQLiteStore(tmp_path / "other.db")
    again = ArtifactRegistry.from_json(document, store=store)
    _same(registry, again)
    # It goes on as the first one would.
    assert again.hold(make.pubmed(90000001)) == registry.canonical(references[0])
    store.close()


def test_a_saved_registry_is_loaded_the_same_and_readable_by_its_owner_only(
    registry: ArtifactRegistry, make: Any, tmp_path: Path
) -> None:
    _filled(registry, make)
    path = tmp_path / "registry.json"
    registry.save(path)
    registry.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir() if "registry.json" in file.name] == ["registry.json"]
    _same(registry, ArtifactRegistry.load(path))


def test_a_document_of_another_form_is_refused() -> None:
    for document in ('{"format": 2, "works": []}', "[]", "no JSON"):
        with pytest.raises(ValidationError):
            ArtifactRegistry.from_json(document)


def test_both_stores_give_the_same_references(make: Any, tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "registry.db")
    in_file, in_memory = ArtifactRegistry(store=store), ArtifactRegistry()
    assert _filled(in_file, make) == _filled(in_memory, make)
    _same(in_file, in_memory)
    store.close()


def test_merging_holds_everything_and_keeps_all_keys(registry: ArtifactRegistry, make: Any) -> None:
    other = ArtifactRegistry()
    references = _filled(other, make)
    mine = registry.hold(make.europepmc(90000001, pmid="90000001", doi="10.5555/a"))
    renamed = registry.merge(other)
    assert renamed[references[0]] == mine
    for reference in references:
        assert registry.canonical(reference) == renamed.get(other.canonical(reference) or reference)
        assert registry.keys(reference) >= other.keys(reference)
    assert registry.stored_text("pubmed:90000001", "abstract") == "Second."
    assert "First." in {text.text for text in registry.texts(mine)}
    assert registry.full_text(references[-1]) is not None
    before = registry.to_json()
    registry.merge(other)
    assert registry.to_json() == before
    assert set(registry.merge(registry)) == set(registry)


def test_merging_never_lets_a_key_mean_two_works(registry: ArtifactRegistry, make: Any) -> None:
    """A real collision: the key means another work in each registry."""
    first, second = "10.5555/19689708f81e", "10.5555/1263315d75de"
    mine = registry.hold(make.preprint(first))
    other = ArtifactRegistry()
    theirs = other.hold(make.preprint(second))
    assert mine == theirs
    renamed = registry.merge(other)
    assert renamed[theirs] == Reference.for_identity(f"doi:{second}", round=1)
    assert "means another work here" in " ".join(registry.notes(renamed[theirs]))
    found = registry.find(mine)
    assert found is not None
    assert found.doi == first


def test_keys_of_a_merged_registry_that_are_free_here_stay_valid(registry: ArtifactRegistry, make: Any) -> None:
    """There the second of two colliding works had the key of round 1; here it came first."""
    first, second = "10.5555/19689708f81e", "10.5555/1263315d75de"
    mine = registry.hold(make.preprint(second))
    other = ArtifactRegistry()
    theirs = [other.hold(make.preprint(doi)) for doi in (first, second)]
    renamed = registry.merge(other)
    assert theirs[1] != mine
    assert renamed[theirs[1]] == registry.canonical(theirs[1]) == mine
    again = ArtifactRegistry.from_json(registry.to_json())
    assert again.canonical(theirs[1]) == mine


def test_pickle_and_deep_copy_give_an_independent_registry_and_an_equal_one(make: Any) -> None:
    registry = ArtifactRegistry()
    _filled(registry, make)
    for other in (pickle.loads(pickle.dumps(registry)), copy.deepcopy(registry)):
        _same(registry, other)
        other.hold(make.pubmed(90000077))
        assert len(other) == len(registry) + 1


def test_a_registry_in_a_file_is_pickled_by_its_path(make: Any, tmp_path: Path) -> None:
    registry = ArtifactRegistry(store=SQLiteStore(tmp_path / "registry.db"))
    reference = registry.hold(make.pubmed())
    other = pickle.loads(pickle.dumps(registry))
    assert other.find(reference) == registry.find(reference)
    other.hold(make.pubmed(90000002))
    assert len(registry) == 2
    for each in (registry, other):
        assert isinstance(each.store, SQLiteStore)
        each.store.close()


def test_the_file_is_readable_by_its_owner_only(make: Any, tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "new" / "registry.db")
    ArtifactRegistry(store=store).hold(make.pubmed())
    modes = {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "new").iterdir()}
    assert modes == {0o600}
    store.close()


def test_what_is_held_is_there_for_the_next_opener(make: Any, tmp_path: Path) -> None:
    first = SQLiteStore(tmp_path / "registry.db")
    _filled(ArtifactRegistry(store=first), make)
    document = ArtifactRegistry(store=first).to_json()
    first.close()
    second = SQLiteStore(tmp_path / "registry.db")
    assert ArtifactRegistry(store=second).to_json() == document
    second.close()


def test_a_change_made_through_another_opener_is_seen(make: Any, tmp_path: Path) -> None:
    stores = [SQLiteStore(tmp_path / "registry.db") for _ in range(2)]
    one, two = (ArtifactRegistry(store=store) for store in stores)
    reference = one.hold(make.pubmed(90000001))
    assert two.find(reference) == one.find(reference)
    two.hold(make.pubmed(90000001, journal="Synthetic Journal"))
    found = one.find(reference)
    assert found is not None
    assert found.journal == "Synthetic Journal"
    for store in stores:
        store.close()


def test_a_failed_hold_in_a_batch_leaves_the_file_as_it_was(make: Any, tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "registry.db")
    registry = ArtifactRegistry(store=store)
    registry.hold(make.pubmed(90000001))
    before = registry.to_json()
    with pytest.raises(TypeError):
        registry.hold_all([make.pubmed(90000001, journal="X"), make.pubmed(90000002), None])  # type: ignore[list-item]
    assert registry.to_json() == before
    assert registry.hold(make.pubmed(90000002)) in registry
    store.close()


def test_a_file_that_is_no_registry_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "registry.db"
    path.write_text("not a database, but long enough to be read as one" * 50, encoding="utf-8")
    for unusable in (path, tmp_path, path / "below"):
        with pytest.raises(ConfigurationError, match=unusable.name):
            len(ArtifactRegistry(store=SQLiteStore(unusable)))


def test_a_save_that_fails_leaves_nothing_behind(make: Any, tmp_path: Path) -> None:
    registry = ArtifactRegistry()
    registry.hold(make.pubmed())
    (tmp_path / "registry.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        registry.save(tmp_path / "registry.json")
    assert [file.name for file in tmp_path.iterdir()] == ["registry.json"]


def test_more_works_than_are_kept_at_hand_are_found_all_the_same(
    registry: ArtifactRegistry, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifact_registry, "_CACHED_RECORDS", 2)
    monkeypatch.setattr(stores, "_CACHED_WORKS", 2)
    references = registry.hold_all(make.pubmed(90000000 + number) for number in range(5))
    for reference in references * 2:
        found = registry.find(reference)
        assert found is not None
        assert found.reference == str(reference)


def _hold_many(registry: ArtifactRegistry, make: Any, start: int) -> list[Reference]:
    link = (RelatedRecord(relation="trial", nct_id="NCT99000001"),)
    return [registry.hold(make.pubmed(90000000 + (start + number) % 60, related=link)) for number in range(60)]


def test_threads_hold_the_same_works_once(registry: ArtifactRegistry, make: Any) -> None:
    with ThreadPoolExecutor(8) as pool:
        held = list(pool.map(lambda start: _hold_many(registry, make, start), range(0, 60, 8)))
    assert len(registry) == 60
    assert len({reference for references in held for reference in references}) == 60
    assert all(registry.find(reference) is not None for reference in registry)
    assert len(registry.families(registry)) == 1


async def test_tasks_hold_the_same_works_once(registry: ArtifactRegistry, make: Any) -> None:
    async def hold(start: int) -> None:
        for number in range(20):
            registry.hold(make.pubmed(90000000 + (start + number) % 20))
            await asyncio.sleep(0)

    await asyncio.gather(*(hold(start) for start in range(5)))
    assert len(registry) == 20


_WORKER = """
import sys
from literature_agent.artifacts import PubMedArticle
from literature_agent.registry import ArtifactRegistry, SQLiteStore

registry = ArtifactRegistry(store=SQLiteStore(sys.argv[1]))
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 40):
    print(registry.hold(PubMedArticle(pmid=str(90000000 + number), doi=f"10.5555/{number}")).key)
registry.store.close()
"""


def test_processes_share_one_file(tmp_path: Path) -> None:
    """Three processes that hold overlapping works at once agree on every key."""
    path = tmp_path / "registry.db"
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(path), str(start)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for start in (0, 20, 40)
    ]
    keys = set()
    for worker in workers:
        out, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
        keys |= set(out.split())
    store = SQLiteStore(path)
    registry = ArtifactRegistry(store=store)
    assert len(registry) == 80
    assert {reference.key for reference in registry} == keys
    store.close()


_FORK = """
import os, sys
from literature_agent.artifacts import PubMedArticle
from literature_agent.registry import ArtifactRegistry, SQLiteStore

registry = ArtifactRegistry(store=SQLiteStore(sys.argv[1]))
registry.hold(PubMedArticle(pmid="90000001"))
child = os.fork()
if child == 0:
    registry.hold(PubMedArticle(pmid="90000002"))
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
registry.hold(PubMedArticle(pmid="90000003"))
print(len(registry))
registry.store.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_writes_to_the_same_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FORK, str(tmp_path / "registry.db")], capture_output=True, encoding="utf-8", timeout=60
    )
    assert (done.returncode, done.stdout.strip()) == (0, "3"), done.stderr


def test_a_work_that_stands_twice_in_a_document_is_one() -> None:
    registry = ArtifactRegistry()
    reference = registry.hold(PubMedArticle(title="A", pmid="90000001"))
    document = json.loads(registry.to_json())
    document["works"] *= 2
    read = ArtifactRegistry.from_json(document)
    assert list(read) == [reference]
    assert read.find(reference) == registry.find(reference)


def test_half_a_character_does_not_keep_a_registry_from_being_saved(tmp_path: Path) -> None:
    registry = ArtifactRegistry()
    author = Author(family="Nair\udc00", given="P")
    reference = registry.hold(PubMedArticle(title="a\ud800b", pmid="90000001", authors=(author,)))
    registry.save(tmp_path / "kept.json")
    read = ArtifactRegistry.load(tmp_path / "kept.json").find(reference)
    assert read is not None
    assert read.title == "a\ufffdb"
    assert read.authors[0].family == "Nair\ufffd"
    assert registry.hold(PubMedArticle(title="a\ud800b", pmid="90000001", authors=(author,))) == reference
    assert len(registry.copies(reference)) == 1
