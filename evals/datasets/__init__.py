"""Datasets by name or path: `topics.yaml` here, BEIR folders, PubMedQA, TREC, LitQA-like files."""

from __future__ import annotations

from pathlib import Path

from pydantic_evals import Dataset

from evals.cases import About, Ask, Expected

HERE = Path(__file__).parent

CaseSet = Dataset[Ask, Expected, About]


def read_dataset(file: Path) -> CaseSet:
    """The cases of a YAML or JSON file.

    Raises:
        ValueError: the file is not of the form of `evals.cases`; the message names the place.
    """
    return CaseSet.from_file(file)
