"""``suricate new``: packages that suricate finds, whose tests pass, and nothing written where something is wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from patience import PATIENCE

import suricate as su
from suricate import plugins
from suricate.cli import cli
from suricate.cli.new import EXAMPLES, examples

pytestmark = pytest.mark.plain
KINDS = sorted(EXAMPLES)
NAME = "far_reach"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(kind: str, name: str = NAME, *options: str) -> str:
    """Make a package; return what is printed."""
    done = CliRunner().invoke(cli, ["new", kind, name, *options])
    assert done.exit_code == 0, done.output
    return done.output


def in_package(package: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python in the folder of a package, as if that were installed."""
    kept = "SURICATE_CACHE_DIR"
    environ = {key: value for key, value in os.environ.items() if key == kept or not key.startswith("SURICATE_")}
    environ |= {"PYTHONPATH": str(package), "CUDA_VISIBLE_DEVICES": ""}
    command = (sys.executable, "-m", *command)
    return subprocess.run(command, cwd=package, env=environ, capture_output=True, text=True, timeout=PATIENCE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_has_the_name_that_was_given_and_no_other(folder: Path, kind: str) -> None:
    told = make(kind)
    package = folder / "suricate-far-reach"
    files = {file.name: file.read_text() for file in package.iterdir()}
    assert set(files) == {"README.md", "pyproject.toml", "suricate_far_reach.py", "test_suricate_far_reach.py"}
    assert all(name in told for name in files)
    for name, text in files.items():
        assert EXAMPLES[kind] not in text.lower(), name
        assert not re.search(r"\]\((?!\w+:)", text), f"{name} links to a page that is not there"
    project = tomllib.loads(files["pyproject.toml"])
    assert project["project"]["name"] == package.name
    assert project["project"]["entry-points"]["suricate"] == {NAME: "suricate_far_reach"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_package_brings_works(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    make(kind, NAME, "--folder", "here")
    monkeypatch.syspath_prepend(str(folder / "here"))
    monkeypatch.delitem(sys.modules, "suricate_far_reach", raising=False)
    module = __import__("suricate_far_reach")
    plugins.register(module)
    try:
        backend = NAME if kind == "backend" else None
        graph = su.Graph(5, backend=backend, device="cpu", weight_dtype="float32")
        tracker = graph.track(NAME if kind == "algorithm" else "degree")
        graph.insert_edges([0, 0, 1], [1, 2, 2], [1, 3, 2])
        graph.delete_edges([1], [2])
        assert (graph.backend == NAME) == (kind == "backend")
        right = [0.625, 0, 0, 0, 0] if kind == "algorithm" else [2, 0, 0, 0, 0]
        assert np.asarray(tracker.result).tolist() == right
    finally:
        plugins.unregister("suricate_far_reach")


def test_quick_tests_of_a_package_are_on_one_backend(folder: Path) -> None:
    make("algorithm")
    done = in_package(folder / "suricate-far-reach", "pytest", "-q", "--collect-only", "--tier=quick")
    assert done.returncode == 0, done.stdout + done.stderr
    names = [line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line]
    assert {name.partition("[")[0] for name in names} >= {"test_compute", "test_update", "test_deleted_vertices"}
    assert {name.partition("[")[2].split("-")[0] for name in names if name.startswith("test_update")} == {"slabhash"}
    assert 20 < len(names) < 100


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_package_passes_its_kit_at_once(folder: Path, kind: str) -> None:
    make(kind)
    done = in_package(folder / "suricate-far-reach", "pytest", "-q", "-p", "no:cacheprovider", "--tier=quick")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["algorithm", "bfs"], "there is an algorithm 'bfs' already"),
        (["backend", "slabhash"], "there is a backend 'slabhash' already"),
        (["algorithm", "My-Ranks"], "NAME must be of small letters"),
        (["algorithm", "class"], "no keyword"),
        (["algorithm", "__x"], "NAME must be"),
        (["command", "x"], "'command' is not one of"),
        (["backend", "taken"], "suricate-taken exists already"),
        (["backend", "other", "--folder", "suricate-taken"], "suricate-taken exists already"),
    ],
    ids=" ".join,
)
def test_refusals_write_nothing(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "suricate-taken").mkdir()
    done = CliRunner().invoke(cli, ["new", *arguments])
    assert done.exit_code == 2
    assert message in done.output
    assert [file.name for file in folder.iterdir()] == ["suricate-taken"]
    assert not list((folder / "suricate-taken").iterdir())


def test_the_examples_are_here() -> None:
    assert {f"suricate-{name}" for name in EXAMPLES.values()} <= {file.name for file in examples().iterdir()}
