"""What the site is made of, without building it: neighbours, the versions beside each other, pictures, sources."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from suricate import operators, plugins

CHECKOUT = Path(__file__).resolve().parent.parent
OWN = ("see_also", "versions", "tiles", "sources", "reference")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """What imports a module of the site; those that need Sphinx are left out where it is not installed."""
    for folder in ("docs/_ext", ".ci"):
        monkeypatch.syspath_prepend(str(CHECKOUT / folder))

    def imported(name: str) -> ModuleType:
        if name != "see_also":
            pytest.importorskip("sphinx")
        return importlib.import_module(name)

    yield imported
    for name in OWN:
        sys.modules.pop(name, None)


def test_neighbours_exist(load) -> None:
    see_also = load("see_also")
    for name, others in see_also.NEIGHBOURS.items():
        assert others, name
        for each in (name, *others):
            if each.startswith("@"):
                assert plugins.algorithm(each[1:]).name == each[1:]
            else:
                pkgutil.resolve_name(see_also.path(each))


def test_algorithms_operators_and_changes_of_graphs_have_neighbours(load) -> None:
    named = load("see_also").NEIGHBOURS
    own = [kind for kind in plugins.algorithms().values() if kind.__module__.startswith("suricate.algorithms.")]
    assert [kind.name for kind in own if f"@{kind.name}" not in named] == []
    assert [name for name in operators.__all__ if name[0].islower() and name not in named] == []
    assert {"Graph.insert_edges", "Graph.delete_edges", "Graph.apply", "Graph.track", "Graph.compute"} <= named.keys()


def test_one_sided_neighbours(load) -> None:
    named = load("see_also").NEIGHBOURS
    assert "replay" in named["Graph.track"]
    assert "Tracker.changed" not in named["Graph.apply"]
    assert load("see_also").see_also("suricate.Graph.save").count("py:obj") == 3


def test_versions_lie_beside_each_other(load, tmp_path: Path) -> None:
    for folder in ("0.2", "0.10", "0.9", "_cache"):
        (tmp_path / folder / "docs").mkdir(parents=True)
        (tmp_path / folder / "docs" / "index.html").write_text("")
    (tmp_path / "0.10" / "docs" / "new.html").write_text("")
    load("versions").write(tmp_path, "docs/index.html")
    assert 'url=0.10/docs/index.html"' in (tmp_path / "index.html").read_text()
    assert [each["version"] for each in json.loads((tmp_path / "versions.json").read_text())] == ["0.10", "0.9", "0.2"]
    assert re.findall(r'href="([^"]+)"', (tmp_path / "versions.html").read_text())[-1] == "0.2/docs/index.html"
    script = (tmp_path / "versions.js").read_text()
    known = json.loads(re.search(r"suricateVersions = (.*);$", script, re.MULTILINE)[1])
    assert known[0] == {"version": "0.10", "start": "docs/index.html", "pages": ["docs/index.html", "docs/new.html"]}
    if node := shutil.which("node"):
        subprocess.run([node, "--check", str(tmp_path / "versions.js")], check=True)


def test_the_gallery_has_eight_notebooks_with_pictures(load) -> None:
    tiles = load("tiles")
    pages = re.findall(
        r"^\| \[.*\]\(tutorials/([\w-]+)\.md\)", (CHECKOUT / "docs/gallery.md").read_text(), re.MULTILINE
    )
    assert len(pages) == 8
    assert sorted(pages) == sorted(tiles.PICTURES) == sorted(page.stem for page in CHECKOUT.glob("docs/tutorials/*.md"))
    for picture in tiles.PICTURES.values():
        assert picture.__doc__
        assert 'class="accent"' in picture()
        numbers = [float(number) for number in re.findall(r'(?:cx|x)="([\d.]+)"', picture())]
        assert all(0 <= number <= tiles.WIDTH for number in numbers)


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("Graph.insert_edges", ".Graph"),  # of a base class
        ("Graph.num_edges", "Graph"),  # a property
        ("Graph.from_coo", "from_coo"),  # a class method
        ("advance", "advance"),
        ("Tracker", "Tracker"),
    ],
)
def test_sources_are_found_where_names_are_defined(load, name: str, there: str) -> None:
    module, found = load("sources").place("suricate", name)
    assert module.startswith("suricate.")
    assert found.rpartition(".")[2] == name.rpartition(".")[2]
    assert pkgutil.resolve_name(f"{module}:{found}") is not None
    assert there.strip(".") in f"{module}.{found}"


def test_what_has_no_source_has_no_link(load) -> None:
    assert load("sources").place("suricate", "EMPTY") is None


def test_names_came_with_the_oldest_kept_list_that_has_them(
    load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reference = load("reference")
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "surface-0.2.txt").write_text("suricate.Graph(n)\nsuricate.Graph.track(name)\n")
    (tmp_path / ".ci" / "surface-0.10.txt").write_text("suricate.Graph(n)\nsuricate.replay(graph)\n")
    monkeypatch.setattr(reference, "CHECKOUT", tmp_path)
    assert reference.released() == {"suricate.Graph": "0.2", "suricate.Graph.track": "0.2", "suricate.replay": "0.10"}
    monkeypatch.setattr(reference, "RELEASED", {"suricate.Graph": "0.2"})
    monkeypatch.setattr(reference, "VERSION", "0.3")
    assert "versionadded:: 0.2" in reference.entry("autoclass", "suricate.Graph")
    assert "versionadded:: 0.3" in reference.entry("autofunction", "suricate.replay")
    assert "versionadded:: 0.3" in reference.entry("automethod", "suricate.Graph.track", margin="   ")
