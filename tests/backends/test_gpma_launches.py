"""The launches of ``gpma``, without a GPU: every kernel gets the arguments that it declares, and how many there are."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from launches import FakeArray, array, check_launch, fake_cupy

from suricate.backends.gpma import cpu, cuda
from suricate.backends.gpma.kernels import GpmaKernels
from suricate.backends.gpma.layout import CHANGES, COUNTERS, GRAPH, WORK, Graph
from suricate.cuda.program import Program
from suricate.primitives import bits_dtype
from suricate.primitives import cuda as shared
from suricate.primitives.located import ABSENT, LOCATED, LOOKUP, LocatedBatch, Report

STRUCTS = {"LocatedBatch": LOCATED, "Graph": GRAPH, "Changes": CHANGES}
VERTICES, LEAVES = 50, 40


@pytest.fixture(params=[None, "float32", "float64"])
def weight_dtype(request: pytest.FixtureRequest) -> np.dtype | None:
    return None if request.param is None else np.dtype(request.param)


@pytest.fixture(params=[100, 20_000], ids=["small", "large"])
def size(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels launched, whose arguments were checked."""
    names: list[str] = []

    def launch(code: Any, name: str, threads: int, *args: Any, block: int = 256) -> None:
        check_launch(code, name, args, STRUCTS)
        names.append(name)

    def kernel(code: Program, name: str) -> Any:
        assert code.cooperative
        return lambda grid, block, args: launch(code, name, grid[0] * block[0], *args)

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(Program, "kernel", kernel)
    monkeypatch.setattr(cuda, "_most_blocks", lambda device, bits: 1000)
    monkeypatch.setattr(FakeArray, "device", SimpleNamespace(id=0), raising=False)
    for module in (shared, cuda):
        monkeypatch.setattr(module, "launch", launch)
    return names


def graph_of(dtype: np.dtype | None, leaves: int = LEAVES, *, marked: bool = False) -> Graph:
    per_leaf = {"owner": np.uint32, "guards": np.uint32, "head": np.uint32, "count": np.uint8, "planned": np.uint32}
    return Graph(
        dst=array(32 * leaves, np.uint32), weight=bits(32 * leaves, dtype), guard=array(VERTICES + 1, np.int64),
        degree=array(VERTICES, np.uint32), counters=array(COUNTERS, np.int64), work=array(len(WORK.fields), np.uint32),
        fresh=array(leaves * marked, np.uint32), touched=array(leaves * marked, np.uint32), leaves=leaves,
        **{name: array(leaves, kind) for name, kind in per_leaf.items()},
    )  # fmt: skip


def bits(length: int, dtype: np.dtype | None) -> FakeArray:
    return array(0 if dtype is None else length, bits_dtype(dtype))


def batch_of(size: int) -> LocatedBatch:
    keys, order, kind, slot = (array(size, dtype) for dtype in (np.uint64, np.uint32, np.uint8, np.int64))
    return LocatedBatch(keys, order, kind, slot, size, rank=array(size, np.int32))


def test_updates(launched: list[str], weight_dtype: np.dtype | None, size: int) -> None:
    graph, batch, weight = graph_of(weight_dtype), batch_of(size), bits(size, weight_dtype)
    report = Report(array(size, np.uint8), bits(size, weight_dtype))
    ranked = ["rank_in_block"] if size <= shared.RANK_IN_BLOCK else ["flag"]
    cuda.locate(graph, batch, ABSENT)
    cuda.insert(graph, None, cuda.plan_insertion(graph, batch, in_place=True), batch, weight, report)
    assert launched == ["locate", *ranked, "update"]
    launched.clear()
    grown = graph_of(weight_dtype, 2 * LEAVES, marked=True)
    cuda.insert(graph, grown, cuda.plan_insertion(graph, batch, in_place=False), batch, weight, report)
    assert launched == ["take_entries", "spread_old", "spread_new", "describe_leaves"]
    launched.clear()
    cuda.delete(graph, cuda.plan_deletion(graph, batch), batch, report)
    assert launched == ["update"]
    launched.clear()
    ids = array(size, np.uint32)
    cuda.clear_edges(graph, ids, ids, array(1, np.uint32), report)
    cuda.clear_edges(graph, ids, ids, None, report)
    assert launched == ["clear_edges", "clear_edges"]


def test_everything_else(launched: list[str], weight_dtype: np.dtype | None) -> None:
    graph, ids = graph_of(weight_dtype, marked=True), array(70, np.uint32)
    cuda.locate(graph, batch_of(70), LOOKUP)
    cuda.find(graph, ids, ids, array(70, bool), bits(70, weight_dtype))
    cuda.rebuild(graph, graph_of(weight_dtype, 3 * LEAVES))
    cuda.append_guards(graph, 40, 35)
    cuda.drop_guards(graph, 30)
    cuda.clear_rows(graph, ids)
    cuda.list_touched(graph)
    moved = ["spread_old", "describe_leaves"]
    assert launched == ["locate", "find_edges", *moved, "append_guards", "drop_guards", "clear_rows", "list_touched"]


def test_memory_of_an_update(launched: list[str]) -> None:
    """The lists of a batch and the counts of the blocks lie in one array, aligned, and do not overlap."""
    graph, batch = graph_of(None), batch_of(333)
    memory, changes, sums, blocks = cuda.plan_insertion(graph, batch, in_place=True)
    begin = memory.data.ptr
    ends = [int(sums), *(int(changes[name]) for name in ("places", "items", "lists", "level")), begin + len(memory)]
    assert ends[0] == begin
    assert np.diff(ends).tolist() == [16 * blocks, 8 * 333, 4 * 333, 4 * 333, 333]
    assert int(changes["size"]) == 333


def test_a_module_for_each_device_has_the_functions_of_its_protocol() -> None:
    modules: tuple[ModuleType, ...] = (cpu, cuda)
    for name in (name for name in vars(GpmaKernels) if not name.startswith("_")):
        assert all(hasattr(module, name) for module in modules), name
