"""The rooms of core: folders in an order, each of which imports only those above it: see core/README.md."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest
from test_imports import CHECKOUT, MODULES, files, imports

from suricate import errors
from suricate.base import errors as base_errors

CORE = CHECKOUT / "core"
README = (CORE / "README.md").read_text()
ROWS = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", README, re.MULTILINE)
ROOMS = [name for name, _ in ROWS if "." not in name]
BUDGETS = {
    folders: int(lines.replace(",", ""))
    for lines, folders in re.findall(r"^\| ([\d,]+) \| .+: ([\w ]+) \|$", README, re.MULTILINE)
}  #: lines by folders
SINGLE = {name: reason for name, reason in ROWS if "." in name}  #: modules of core for one algorithm, and why
TOOLS = ("io", "generate", "testing", "cli")  #: rooms that nothing of the framework stands on
MOST_FILES = 20  #: side by side
INCLUDE = re.compile(r'"(\w+\.cuh)"')
SOURCES = [source for layer in ("core", "algorithms") for source in (CHECKOUT / layer).rglob("*.cu*")]
HEADERS = {source.name: source for source in SOURCES if CORE in source.parents and source.suffix == ".cuh"}


def room_of(name: str) -> str | None:
    """The room of a module, None if it is not in core or in its root."""
    parts = name.split(".")
    return parts[1] if parts[0] == "suricate" and len(parts) > 1 and parts[1] in ROOMS else None


def is_below(room: str, other: str | None) -> bool:
    """Whether ``other`` stands below ``room`` in the list."""
    return other is not None and ROOMS.index(other) > ROOMS.index(room)


def named_modules(file: Path) -> set[str]:
    """The modules that a source names in strings, to import them or to write their imports."""
    strings = (
        node.value
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "``" not in node.value
    )
    return {name for text in strings for name in re.findall(r"suricate(?:\.\w+)+", text)}


def test_every_folder_is_a_room() -> None:
    folders = {file.parent.name for file in CORE.glob("*/__init__.py")}
    assert folders <= set(ROOMS)
    assert len(ROOMS) == len(set(ROOMS))
    assert {file.name for file in CORE.glob("*.py")} == {"__init__.py", "__main__.py", "errors.py"}


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_above_it(room: str) -> None:
    """For type checkers too, so that no files of several rooms form a circle."""
    for file in sorted((CORE / room).rglob("*.py")):
        wrong = {name for name in imports(file, types=True) | named_modules(file) if is_below(room, room_of(name))}
        assert not wrong, f"{file} of {room} imports {wrong}"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_includes_only_headers_of_rooms_above_it(room: str) -> None:
    for file in sorted((CORE / room).rglob("*.*")):
        if file.suffix in (".cu", ".cuh", ".py"):
            for name in INCLUDE.findall(file.read_text()):
                owner = HEADERS[name].relative_to(CORE).parts[0] if name in HEADERS else None
                assert not is_below(room, owner), f"{file} of {room} includes {name} of {owner}"


def test_rooms_to_come_are_not_there_yet() -> None:
    for room, line in ROWS:
        assert line.startswith("to come: ") == ("." not in room and not (CORE / room).exists()), room


def test_all_exceptions_have_their_public_name() -> None:
    defined = {
        name for name, value in vars(base_errors).items() if getattr(value, "__module__", "") == base_errors.__name__
    }
    assert set(errors.__all__) == {name for name in defined if not name.startswith("_")}


def test_the_package_itself_is_for_tools() -> None:
    """Rooms import modules, not the names of the package, which import everything."""
    for room in ROOMS[: ROOMS.index("io")]:
        for file in (CORE / room).rglob("*.py"):
            assert "suricate" not in imports(file), file


def test_folders_have_few_files_side_by_side() -> None:
    layers = (CORE.parent / layer for layer in ("core", "backends", "algorithms", "bench"))
    for folder in {file.parent for layer in layers for file in layer.rglob("*.py")}:
        held = [file for file in folder.iterdir() if file.suffix in (".py", ".cu", ".cuh")]
        assert len(held) <= MOST_FILES, f"{folder} holds {len(held)} files: a room as large as that has folders inside"


def test_headers_have_names_of_their_own() -> None:
    """An include names a header without its folder."""
    names = [source.name for source in CORE.rglob("*.cuh")]
    assert sorted(set(names)) == sorted(names)


# -- budgets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folders", BUDGETS)
def test_rooms_keep_within_their_budget(folders: str) -> None:
    paths = [CORE / name if name in ROOMS else CHECKOUT / name for name in folders.split()]
    sources = [file for path in paths for file in path.rglob("*.*") if file.suffix in (".py", ".cu", ".cuh")]
    lines = sum(len(file.read_text().splitlines()) for file in sources)
    assert lines <= BUDGETS[folders], f"{folders}: {lines} lines; delete some, or say in core/README.md and why"


def test_every_room_has_one_budget() -> None:
    named = sorted(name for folders in BUDGETS for name in folders.split())
    assert named == sorted([*ROOMS, "backends", "algorithms", "bench"])


# -- one algorithm alone -----------------------------------------------------------------------------------------------


def algorithm_of(name: str) -> str | None:
    """The algorithm that a module belongs to; helpers of several count as one each."""
    parts = name.split(".")
    return parts[2] if parts[:2] == ["suricate", "algorithms"] and len(parts) > 2 else None


@pytest.mark.slow
def test_core_holds_nothing_for_one_algorithm_alone() -> None:
    users = defaultdict(set)
    for name, file in MODULES.items():
        for used in imports(file) - {name}:
            users[used].add(algorithm_of(name))
    alone = {name for name in MODULES if room_of(name) and len(users[name]) == 1 and None not in users[name]}
    assert alone == SINGLE.keys(), "list it in core/README.md with a reason, or move it to its algorithm"


def test_core_holds_no_header_for_one_algorithm_alone() -> None:
    users = defaultdict(set)
    for source in (*SOURCES, *(file for layer in ("core", "backends", "algorithms") for file in files(layer))):
        layer, owner, *_ = source.relative_to(CHECKOUT).parts
        for name in INCLUDE.findall(source.read_text()):
            users[name].add(owner if layer == "algorithms" else None)
    for name in HEADERS:
        assert len(users[name]) != 1 or None in users[name], f"{name} serves {users[name]} alone"
