"""The launches of algorithms with kernels of their own, without a GPU: kernels get the arguments that they declare."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from launches import FakePrepared, array, check_launch

import suricate as su
from suricate.algorithms.kcore import core_numbers
from suricate.algorithms.kcore.core_numbers import CoreNumbers
from suricate.algorithms.triangles import triangle_changes
from suricate.algorithms.triangles.triangle_changes import MEMORY_STRUCT, TriangleChanges
from suricate.algorithms.wcc import afforest, component_forest
from suricate.algorithms.wcc.component_forest import ComponentForest
from suricate.base.types import ArcList, StoreView
from suricate.cuda.program import Program
from suricate.cuda.structs import view_struct
from suricate.kernels import arcs as launches_of_arcs
from suricate.kernels.arcs import ARCS
from suricate.state import union_find
from suricate.state.union_find import UnionFind

pytestmark = pytest.mark.compiled

VERTICES = 50
STRUCTS: dict[str, Any] = {"Layout": component_forest.LAYOUT, "Arcs": ARCS, "Memory": MEMORY_STRUCT}


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels launched, whose arguments were checked."""
    names: list[str] = []

    def kernel(program: Program, name: str) -> Any:
        def launch(grid: tuple[int, ...], block: tuple[int, ...], args: tuple) -> None:
            assert grid[0] > 0
            check_launch(program, name, args, STRUCTS)
            names.append(name)

        launch.resident = lambda threads: 3  # type: ignore[attr-defined]
        return launch

    def packed(view: StoreView) -> np.void:
        struct = view_struct(view.data).dtype
        STRUCTS["View"] = STRUCTS["OneWay"] = SimpleNamespace(size=struct.itemsize)
        return np.zeros(1, struct)[0]

    monkeypatch.setattr(Program, "kernel", kernel)
    for module in (launches_of_arcs, triangle_changes):
        monkeypatch.setattr(module, "PreparedKernel", FakePrepared)
    for module in (component_forest, afforest, core_numbers, triangle_changes):
        monkeypatch.setattr(module, "packed", packed)
        monkeypatch.setattr(module, "resident_blocks", lambda *args: 132)
    monkeypatch.setattr(launches_of_arcs, "packed", packed)
    return names


def graph_of(backend: str, *, directed: bool) -> Any:
    """A graph whose arrays only look as if they were on a CUDA device."""
    real = su.Graph(VERTICES, backend=backend, device="cpu", directed=directed, in_edges=directed)
    xp = SimpleNamespace(empty=array, zeros=array)
    states: dict[Any, Any] = {}
    workspace = SimpleNamespace(
        array=lambda name, size, dtype: array(size, dtype),
        state=lambda kind: states.setdefault(kind, kind(None)),
    )
    return SimpleNamespace(
        num_vertices=VERTICES, directed=directed, has_in_edges=True, view=real.view, workspace=workspace,
        device=SimpleNamespace(is_cuda=True, index=0, xp=xp), partition=None,
    )  # fmt: skip


def arcs_of(size: int, *, filtered: bool) -> ArcList:
    status = array(size, np.uint8) if filtered else None
    return ArcList(array(size, np.uint32), array(size, np.uint32), None, status, 1, size)


@pytest.mark.parametrize("directed", [True, False])
def test_components(launched: list[str], backend_name: str, directed: bool) -> None:
    graph = graph_of(backend_name, directed=directed)
    afforest.connect(graph, SimpleNamespace(parent=array(VERTICES, np.uint32)))  # type: ignore[arg-type]
    forest = ComponentForest(graph.device)
    forest.build(graph, array(VERTICES, np.uint32), array(1, np.uint32))
    forest.build(graph, array(VERTICES, np.uint32))
    forest.repair(graph, arcs_of(7, filtered=True))
    forest.repair(graph, inserted=arcs_of(7, filtered=False))
    graph.view.__self__.insert_edges([0], [1])  # new views
    forest.repair(graph, arcs_of(7, filtered=True))
    graph.num_vertices += 9
    forest.repair(graph, arcs_of(7, filtered=True))
    forest.labels(graph)
    labels = ["count_roots", "find_smallest", "write_labels"]
    assert launched == ["connect", "build", "build", *["repair"] * 3, "make_roots", "repair", *labels]


@pytest.mark.parametrize("directed", [False, True])
def test_core_numbers(launched: list[str], backend_name: str, directed: bool) -> None:
    graph = graph_of(backend_name, directed=directed)
    numbers = CoreNumbers(graph.device)
    numbers.compute(graph)
    numbers.update(graph, arcs_of(7, filtered=True), arcs_of(3, filtered=False))
    graph.view.__self__.insert_edges([0], [1])  # new views
    numbers.update(graph, inserted=arcs_of(3, filtered=False))
    numbers.grow(VERTICES + 9)
    numbers.update(graph, arcs_of(7, filtered=True))
    assert launched == ["peel", *["maintain", "peel"] * 3]


def test_triangles(launched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of("slabhash", directed=False)
    counts, degrees = array(VERTICES, np.int64), array(VERTICES, np.int64)
    changes = TriangleChanges(graph, counts, degrees)
    changes.apply(arcs_of(8, filtered=True), arcs_of(4, filtered=True))
    changes.apply(arcs_of(8, filtered=True), arcs_of(4, filtered=True))
    graph.view.__self__.insert_edges([0], [1])  # new views
    changes.apply(arcs_of(0, filtered=False), arcs_of(6, filtered=False))
    assert launched == ["change_triangles"] * 3
    assert changes.counts_in(graph, counts, degrees)
    assert not changes.counts_in(graph, counts.copy(), degrees)


@pytest.mark.parametrize(("gone", "come"), [(0, 1), (1, 0), (2, 2), (7, 0), (0, 9), (1001, 13)])
def test_the_memory_of_changed_triangles(launched: list[str], gone: int, come: int) -> None:
    """Nothing overlaps, numbers of eight bytes are aligned, and tables keep a free place."""
    graph = graph_of("csr_baseline", directed=False)
    changes = TriangleChanges(graph, array(VERTICES, np.int64), array(VERTICES, np.int64))
    changes.apply(arcs_of(gone, filtered=True), arcs_of(come, filtered=True))
    memory = changes._kernel.arguments[triangle_changes.MEMORY]
    held = changes._words
    assert held is not None
    end = held.data.ptr + held.nbytes
    pairs, rows = int(memory["pairs"]), gone + min(gone, VERTICES)
    lengths = {
        "counter": 16, "heavy": 8, "gone_key": 8 * memory["gone_capacity"], "come_key": 8 * memory["come_capacity"],
        "source": 4 * memory["slots"], "row": 4 * memory["slots"], "next_set": 4 * memory["set_words"],
        "heavy_base": 8 * pairs, "rows": 4 * rows, "pair": 4 * pairs, "heavy_pair": 4 * pairs,
    }  # fmt: skip
    for name, after in zip(lengths, [*lengths][1:], strict=False):
        assert memory[after] >= memory[name] + lengths[name]
    assert memory["heavy_pair"] + lengths["heavy_pair"] <= end
    assert all(memory[name] % 8 == 0 for name in ("heavy", "gone_key", "come_key", "heavy_base"))
    assert memory["gone_capacity"] > gone // 2 or not gone
    assert memory["come_capacity"] > come // 2 or not come
    assert memory["slots"] > gone or not gone
    assert pairs >= gone // 2 + come // 2
    assert memory["next_set"] - memory["counter"] == 4 * memory["set_words"]
    changes.apply(arcs_of(gone, filtered=True), arcs_of(come, filtered=True))
    turned = changes._kernel.arguments[triangle_changes.MEMORY]
    assert (turned["counter"], turned["next_set"]) == (memory["next_set"], memory["counter"])


def test_union_find(launched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(union_find, "resolve_device", lambda device: device)
    sets = UnionFind._of(VERTICES, graph_of("csr_baseline", directed=True).device)
    sets.union_arcs(arcs_of(7, filtered=True))
    sets.union_arcs(arcs_of(7, filtered=False))
    ids = array(5, np.uint32)
    sets.union(ids, ids, trusted=True)
    sets.connected(ids, ids, trusted=True)
    sets.detach(ids, trusted=True)
    sets.labels()
    sets.flatten()
    sets.reset()
    unions = ["unite_pairs"] * 3
    assert launched == [
        "make_singletons", *unions, "same_component", "detach", "compress", "compress", "make_singletons"
    ]  # fmt: skip


@pytest.fixture(params=["slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"])
def backend_name(request: pytest.FixtureRequest) -> str:
    return request.param
