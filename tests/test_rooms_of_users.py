"""The public rooms: found as attributes and as modules, showing their names only, without the libraries of extras."""

from __future__ import annotations

import importlib
import re
import runpy
from types import ModuleType

import pytest
from test_imports import CHECKOUT, loaded_by

import suricate as su

FOUND = ("errors", "generate", "io", "kernels", "networkx", "parallel", "plugins", "stream", "testing")
ROOMS = (*FOUND, "cursors", "replaying", "state", "store")
EXTRAS = (
    "confluent_kafka", "cupy", "hypothesis", "igraph", "lz4", "matplotlib", "mpi4py", "networkit", "networkx", "pandas",
    "polars", "pyarrow", "pytest", "redis", "torch", "torch_geometric", "zstandard",
)  # fmt: skip
WITHOUT_EXTRAS = f"""
import importlib.abc
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in {EXTRAS}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""
WALK = """
import inspect, pkgutil
import suricate as su
def fail(name):
    raise
names = [module.name for module in pkgutil.walk_packages(su.__path__, "suricate.", onerror=fail)]
assert "suricate.testing.stores" in names and "suricate.networkx.live" in names
for _, room in [("suricate", su), *inspect.getmembers(su, inspect.ismodule)]:
    assert [name for name, _ in inspect.getmembers(room)] == sorted(room.__all__)
    assert all(hasattr(room, name) for name in room.__all__)
"""
REFUSED = """
from suricate.errors import MissingLibraryError
from suricate.networkx import Graph
from suricate.testing import StoreConformance
def subclass():
    class Mine(StoreConformance):
        pass
for use in (lambda: Graph(), subclass, lambda: StoreConformance.backend, lambda: isinstance(3, Graph)):
    try:
        use()
    except MissingLibraryError as error:
        print(error)
"""


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_is_a_module_that_shows_its_names_only(name: str) -> None:
    room = importlib.import_module(f"suricate.{name}")
    assert dir(room) == sorted(room.__all__)
    assert not [word for word in room.__all__ if isinstance(getattr(room, word), ModuleType)]
    with pytest.raises(AttributeError, match=f"module 'suricate.{name}' has no attribute 'nothing'"):
        room.nothing  # noqa: B018


@pytest.mark.parametrize("name", FOUND)
def test_a_room_is_found_as_an_attribute(name: str) -> None:
    assert getattr(su, name) is importlib.import_module(f"suricate.{name}")
    assert name in dir(su)


def test_rooms_are_found_without_imports_of_their_own() -> None:
    loaded = loaded_by(f"import suricate as su; [getattr(su, name).__all__ for name in {FOUND}]")
    assert not loaded & {*EXTRAS, "numba"}


def test_everything_can_be_imported_without_numba_and_cupy() -> None:
    assert not loaded_by("from suricate import *\nGraph, stream, testing") & {"numba", *EXTRAS}


def test_rooms_can_be_walked_without_extras() -> None:
    assert not loaded_by(WITHOUT_EXTRAS + WALK) & {*EXTRAS}


def test_what_needs_an_extra_says_so_when_it_is_used() -> None:
    install = "[name for name in sys.modules if name == 'networkx']"
    loaded_by(
        f"{WITHOUT_EXTRAS}\nimport io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n"
        + re.sub("^", "    ", REFUSED, flags=re.MULTILINE)
        + "\nlines = out.getvalue().splitlines()\n"
        "graph = \"suricate.networkx.Graph needs networkx: pip install 'suricate[networkx]'\"\n"
        "assert lines[0] == lines[3] == graph, lines\n"
        "assert lines[1] == lines[2] and lines[1].endswith(\"pip install 'suricate[dev]'\"), lines\n"
        f"assert not {install}"
    )


def test_failing_assertions_of_kits_show_their_values() -> None:
    assert "@pytest_ar" in vars(importlib.import_module("suricate.testing.stores")), "pytest has not rewritten them"


@pytest.mark.parametrize(
    "statement",
    ["import suricate.generators", "from suricate import generators", "from suricate.generators import rmat"],
)
def test_an_old_room_names_the_new_one_where_it_is_imported(statement: str) -> None:
    with pytest.raises(ImportError, match=r"suricate\.generators is written suricate\.generate now"):
        exec(statement)


def test_an_old_room_names_the_new_one_where_it_is_read() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'generators'; it is written suricate\.generate now"):
        su.generators  # noqa: B018
    assert "generators" not in dir(su)
    assert not hasattr(su, "generators")


def test_the_public_surface_is_the_list_that_was_decided() -> None:
    made = runpy.run_path(str(CHECKOUT / ".ci" / "surface.py"))
    listed, found = (set(text.splitlines()) for text in (made["FILE"].read_text(), made["generated"]()))
    assert (sorted(found - listed), sorted(listed - found)) == ([], []), (
        "public names or signatures have changed (new and old lines): if that was decided, run python .ci/surface.py"
    )
