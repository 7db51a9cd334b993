"""Datasets by name or path.

- a YAML file of `evals.cases` (`topics`, here), over the packaged corpus or what its line `# corpus: ...`
  names: a folder, or `recording` for cases that are asked of recorded services alone (`run --replay`);
- a BEIR folder (`corpus.jsonl`, `queries.jsonl`, `qrels/*.tsv`);
- a PubMedQA file (PMID to question, contexts, final decision);
- a TREC folder (`topics*`, `qrels*`, PubMed XML);
- a LitQA-like file (JSON lines of `question` and `sources`: DOIs or PMIDs of the papers that answer it).

Each gives its cases and the folder of the corpus they are asked over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml  # type: ignore[import-untyped]  # it ships no types
from pydantic import ValidationError
from pydantic_evals import Dataset

from evals.cases import About, Ask, Expected
from evals.library import library_of
from evals.upstream import PACKAGED, RECORDING
from literature_agent.errors import InvalidInputError, in_words, reason_of

HERE = Path(__file__).parent
CHECKOUT = HERE.parent.parent

CaseSet = Dataset[Ask, Expected, About]

_CORPUS_LINE = re.compile(r"^# corpus: (\S+)\s*$", re.M | re.I)


class Loaded(NamedTuple):
    """A dataset ready to run."""

    cases: CaseSet
    corpus: str
    """`packaged`, a folder, or `recording`: whatever is replayed."""
    note: str = ""
    """What was done to it, such as titles hidden."""


def read_dataset(file: Path) -> CaseSet:
    """The cases of a YAML or JSON file.

    Raises:
        ValueError: the file is not of the form of `evals.cases`; the message names the place.
    """
    try:
        return CaseSet.from_file(file)
    except yaml.MarkedYAMLError as broken:
        at = f" in line {broken.problem_mark.line + 1}" if broken.problem_mark is not None else ""
        raise ValueError(f"it is no YAML{at}: {broken.problem}") from None
    except ValueError as broken:
        if not isinstance(broken.__cause__, ValidationError):
            raise
        first = broken.__cause__.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc'])) or 'the file'}: {in_words(first['msg'])}") from None


def strangers(loaded: Loaded) -> list[str]:
    """Relevant identifiers of the cases that the corpus does not hold: no answer can list them."""
    if loaded.corpus == RECORDING:
        return []
    library = library_of(loaded.corpus)
    return [name for name, versions in _relevant(loaded.cases) if library.find(versions) is None]


def _relevant(cases: CaseSet) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each relevant identifier with those of the same study."""
    for case in cases.cases:
        if (wanted := case.expected_output) is not None:
            for name in (name for name, grade in wanted.relevant.items() if grade):
                yield name, next((group for group in wanted.same if name in group), (name,))


def known() -> dict[str, Path]:
    """Datasets that can be named: those of this folder, and those in `corpora` of a folder `shared` beside."""
    files = {file.stem: file for file in sorted(HERE.glob("*.yaml"))}
    corpora = CHECKOUT.parent / "shared" / "corpora"
    folders = sorted(corpora.iterdir()) if corpora.is_dir() else []
    return {**files, **{folder.name: folder for folder in folders if (folder / "corpus.jsonl").is_file()}}


def load(name: str, workspace: Path, *, hide_titles: bool = False, sources: tuple[str, ...] | None = None) -> Loaded:
    """The dataset of that name or path. A corpus that has to be rewritten goes into `workspace`.

    Args:
        name: one of `known`, or a path.
        workspace: a folder that may be written to.
        hide_titles: the hard form: titles are left out of the corpus.
        sources: whom each case asks, where it does not say so itself.

    Raises:
        InvalidInputError: there is no such dataset, it has no case, or it is of no known form.
    """
    from evals.datasets import beir, litqa, pubmedqa, trec

    path = known().get(name, Path(name))
    if not path.exists():
        raise InvalidInputError(
            f"There is no dataset {name!r}.", recovery=f"Name a path, or one of: {', '.join(known())}."
        )
    try:
        if path.suffix in (".yaml", ".yml"):
            loaded = _file(path)
        elif path.is_dir() and (path / "corpus.jsonl").is_file():
            loaded = beir.load(path, workspace, hide_titles=hide_titles)
        elif path.is_dir():
            loaded = trec.load(path)
        elif path.suffix == ".jsonl":
            loaded = litqa.load(path)
        elif path.suffix == ".json":
            loaded = pubmedqa.load(path, workspace, hide_titles=hide_titles)
        else:
            raise InvalidInputError(
                f"{str(path)!r} is of no known form.",
                recovery="Give a YAML file, a folder of BEIR or TREC, a .json file of PubMedQA or a .jsonl file.",
            )
    except OSError as refused:
        at = Path(refused.filename or path).name
        raise InvalidInputError(
            f"{str(path)!r} can't be read as a dataset: {at}: {reason_of(refused)}.", recovery="See `evals/datasets`."
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError) as broken:
        form = "evals/cases.py" if path.suffix in (".yaml", ".yml") else "evals/datasets"
        raise InvalidInputError(
            f"{str(path)!r} can't be read as a dataset: {reason_of(broken)}.", recovery=f"Its form is in `{form}`."
        ) from broken
    if hide_titles and not loaded.note:
        raise InvalidInputError(f"Titles of {name!r} can't be hidden: its corpus is not rewritten.")
    if not loaded.cases.cases:
        raise InvalidInputError(f"{str(path)!r} holds no case.")
    if sources is not None:
        for case in loaded.cases.cases:
            case.inputs = case.inputs.model_copy(update={"sources": sources})
    return loaded


def _file(path: Path) -> Loaded:
    named = _CORPUS_LINE.search(path.read_text(encoding="utf-8"))
    corpus = named[1] if named else PACKAGED
    folder = corpus if corpus in (PACKAGED, RECORDING) else str((path.parent / corpus).resolve())
    return Loaded(read_dataset(path), folder)
