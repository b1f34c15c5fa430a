"""What API 1 promises to authors of plugins: names, a plugin written for it that works, warnings before a name goes."""

from __future__ import annotations

import ast
import hashlib
import re
import runpy
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import plugin_of_api_1
import pytest
from plugin_of_api_1.heaviest import Heaviest
from plugin_of_api_1.keys import KeyStore
from plugin_sites import python

import suricate as su
from suricate.base.notice import deprecated
from suricate.testing import OwnKernelsConformance, StoreConformance, Variant

CHECKOUT = Path(__file__).resolve().parents[3]
FROZEN = Path(plugin_of_api_1.__file__).parent
DIGEST = "d328544e26d1028a673601c72d3d5242fe4701911a66454f206824737e5b0352"
IMPORT = re.compile(r"^ *`*(from suricate\.[\w.]+ import (?:[\w, ]+|\([^)]+\)))", re.MULTILINE)
OF_AUTHORS = ("base", "cursors", "graph", "kernels", "plugins", "store", "testing")


def imported(text: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of what a Python source imports from rooms that authors of plugins use."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and re.match(rf"suricate\.({'|'.join(OF_AUTHORS)})\b", node.module or ""):
            yield from ((str(node.module), alias.name) for alias in node.names)


def read_by_authors() -> Iterator[str]:
    """Yield the sources that authors of plugins copy from: blocks of pages, the examples, and the frozen plugin."""
    for page in (*(CHECKOUT / "docs").glob("*.md"), *(CHECKOUT / "docs" / "tutorials").glob("*.md")):
        yield from re.findall(IMPORT, page.read_text())
    for folder in (CHECKOUT / "examples", FROZEN):
        yield from (file.read_text() for file in folder.rglob("*.py"))


def test_what_authors_are_shown_is_promised() -> None:
    promised = runpy.run_path(str(CHECKOUT / ".ci" / "surface.py"))["promised"]()
    used = {pair for text in read_by_authors() for pair in imported(text)}
    assert len(used) > 20
    assert sorted(f"{module}.{name}" for module, name in used if name not in promised.get(module, ())) == []


# -- a plugin that was written for API 1 -------------------------------------------------------------------------------


def test_the_old_plugin_is_as_it_was() -> None:
    files = sorted(file for file in FROZEN.iterdir() if file.suffix in (".py", ".cu", ".cuh"))
    found = hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()
    assert found == DIGEST, "it is frozen: what it needs stays, or warns for a release"


def test_the_old_plugin_loads_and_works(tmp_path: Path) -> None:
    """Or it warns: errors end the process, warnings of names that are going do not."""
    info = tmp_path / "plugin_of_api_1-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-of-api-1\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[suricate]\nold = plugin_of_api_1\n")
    code = """
import suricate as su, suricate.stream as st
from suricate import plugins
(old,) = [plugin for plugin in plugins.installed() if plugin.name == "old"]
assert old.error is None, old.error
assert len(old.hooks) == 5 and "greet" in plugins.commands() and plugins.API >= 1
graph = su.Graph(3, backend="keys-of-api-1", device="cpu", weight_dtype="float32")
tracker = graph.track("heaviest", factor=3)
graph.insert_edges([0, 0, 1], [1, 2, 2], [1, 5, 2])
graph.delete_edges([0], [2])
assert tracker.result.heaviest.tolist() == [3, 6, 0]
assert [w.events for w in st.Window(st.ring(6), size="2s", slide="1s", graph={"device": "cpu"})] == [1] * 6
log = su.Events(3, device="cpu")
log.append([1, 7], [0, 1], [1, 2])
assert su.newest_time(log) == 7
"""
    done = python(
        f"import warnings\nwarnings.simplefilter('error', UserWarning)\n{code}", tmp_path, NUMBA_DISABLE_JIT="1"
    )
    assert done.returncode == 0, done.stderr


class TestKeyStore(StoreConformance):
    backend = KeyStore
    weight_dtypes = ("float32",)
    memory_limited = False
    examples = 5
    cuda_marks = (pytest.mark.gpu, pytest.mark.slow)


@pytest.mark.plain
class TestHeaviest(OwnKernelsConformance):
    algorithm = Heaviest
    backends = (KeyStore,)
    weights = (1, 2, 3, 0)
    examples = 3
    cuda_marks = (pytest.mark.gpu, pytest.mark.slow)

    def variants(self) -> list[Variant]:
        return super().variants()[:1]

    def oracle(self, num_vertices: int, src, dst, weight, live, factor: float = 2.0, **params):
        rows = [weight[src == v].astype(np.float64) for v in range(num_vertices)]
        return (np.array([factor * row.max(initial=0) for row in rows]),)


# -- what goes, warns first --------------------------------------------------------------------------------------------


def test_a_name_that_goes_warns_at_the_line_that_uses_it() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        deprecated("graph.old()", "graph.new()", "0.4")
    assert [(each.category, Path(each.filename).name) for each in told] == [(DeprecationWarning, Path(__file__).name)]
    assert str(told[0].message) == "graph.old() is deprecated and will be gone in suricate 0.4: write graph.new()"


def test_no_name_is_kept_longer_than_was_said() -> None:
    now = tuple(map(int, su.__version__.split(".")[:2]))
    for layer in ("core", "backends", "algorithms", "bench"):
        for file in (CHECKOUT / layer).rglob("*.py"):
            for gone in re.findall(r'\bdeprecated\([^)]*"(\d+)\.(\d+)"\)', file.read_text()):
                assert now < tuple(map(int, gone)), f"{file}: what was to go in {'.'.join(gone)} is there"
