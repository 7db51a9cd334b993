"""The house holds: who may import whom, and that every source has the same shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from literature_agent.sources import SOURCES, Source

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "literature_agent"

# A module imports only from rooms before its own.
ROOMS = (
    *("errors", "ids", "settings", "prompts"),
    *("artifacts", "results"),
    *("registry", "ledger"),
    "outputs",
    "transport",
    "sources",
    *("federation", "views", "integrity", "render"),
    "custody",
    "agents",
    "api",
    *("telemetry", "sandbox", "testing", "durable", "mcp_server", "cli"),
)
DOORS = frozenset(("telemetry", "sandbox", "testing", "durable", "mcp_server", "cli"))
# The package's face: it names every room, loads none.
FACE = frozenset(("__init__", "__main__"))


class Import(NamedTuple):
    """`module` as imported by a file of `room`; `only_for_types` where it is not executed."""

    file: str
    room: str
    line: int
    module: str
    only_for_types: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def _room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports_of(file: Path) -> Iterator[Import]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        for module in modules:
            yield Import(
                str(file.relative_to(ROOT)), _room_of(file), getattr(node, "lineno", 0), module, id(node) in typing_only
            )


def _files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    found = [imported for file in _files() for imported in _imports_of(file)]
    assert len(found) > 200  # the walk really sees the package
    return found


def _own(imported: Import) -> list[str]:
    parts = imported.module.split(".")
    return parts[1:] if parts[0] == "literature_agent" else []


def test_every_module_lies_in_a_known_room() -> None:
    assert {_room_of(file) for file in _files()} <= {*ROOMS, *FACE}


def test_a_module_imports_only_from_rooms_before_its_own(imports: list[Import]) -> None:
    order = {room: number for number, room in enumerate(ROOMS)}
    wrong = [
        str(imported)
        for imported in imports
        if imported.room not in FACE
        and (parts := _own(imported))
        and parts[0] != imported.room
        and order.get(parts[0], len(ROOMS)) >= order[imported.room]
    ]
    assert wrong == []


def test_sources_share_corridors_and_never_import_each_other(imports: list[Import]) -> None:
    wrong = []
    for imported in imports:
        home, target = imported.file.split("/")[1:], _own(imported)
        if imported.room != "sources" or home[1] == "__init__.py" or target[:1] != ["sources"]:
            continue
        reached = target[1] if len(target) > 1 else ""
        if not reached.startswith("_") and (home[1].startswith("_") or reached != home[1]):
            wrong.append(str(imported))
    assert wrong == []


def test_pydantic_ai_is_imported_in_the_agents_and_the_doors_only(imports: list[Import]) -> None:
    wrong = [
        str(imported)
        for imported in imports
        if imported.module.split(".")[0] == "pydantic_ai"
        and imported.room not in {"agents", *DOORS}
        and not imported.only_for_types
    ]
    assert wrong == []


def test_only_the_transport_retries_and_waits(imports: list[Import]) -> None:
    """The sandbox may be slow on purpose; nothing else sleeps."""
    wrong = [str(i) for i in imports if i.module.split(".")[0] == "tenacity" and i.room != "transport"]
    for file in _files():
        if _room_of(file) in {"transport", *DOORS}:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"asyncio.sleep", "time.sleep", "sleep"}:
                wrong.append(f"{file.relative_to(ROOT)}:{node.lineno} sleeps")
    assert wrong == []


def test_only_settings_and_doors_read_the_environment() -> None:
    wrong = []
    for file in _files():
        if _room_of(file) in {"settings", *DOORS}:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute | ast.Name) and ast.unparse(node) in {"os.environ", "os.getenv"}:
                wrong.append(f"{file.relative_to(ROOT)}:{node.lineno} reads the environment")
    assert wrong == []


FOLDERS = sorted(
    path.name for path in (PACKAGE / "sources").iterdir() if path.is_dir() and not path.name.startswith("_")
)
# Reached through `read` alone: it has no search to register.
WITHOUT_SEARCH = {"pmc"}


def test_every_source_folder_is_registered() -> None:
    assert {*FOLDERS} - WITHOUT_SEARCH == {source.build.__module__.split(".")[2] for source in SOURCES}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_source_has_the_same_files(folder: str) -> None:
    """One folder, one tests folder with payloads."""
    wanted = [
        *(PACKAGE / "sources" / folder / f"{name}.py" for name in ("__init__", "client", "parse", "tools")),
        *(ROOT / "tests" / "sources" / folder / f"test_{name}.py" for name in ("requests", "parse", "tools")),
    ]
    assert [str(path.relative_to(ROOT)) for path in wanted if not path.is_file()] == []
    assert any((ROOT / "tests" / "payloads" / folder).iterdir())


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.name))
def test_every_registered_source_has_a_prompt_guide_and_a_line_in_the_readme(source: Source) -> None:
    assert (ROOT / "prompts" / "sources" / f"{source.guide}.md").is_file()
    assert source.leaves in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.name))
def test_the_tools_of_a_source_carry_the_names_it_registers(source: Source) -> None:
    folder = source.build.__module__.split(".")[2]  # bioRxiv and medRxiv share one, and its tools
    assert source.search_tool == f"search_{folder}"
    assert source.fetch_tool.startswith("fetch_")
    assert source.leaves.endswith(".")
