"""The launches of ``gpma``, without a GPU: every kernel gets the arguments that it declares, and how many there are."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulated_store import batches_of
from launches import FakeStructKernel, array, batch_of, bits, check_launch, fake_cupy, fake_device

from suricate.backends.gpma import cpu, cuda, ledger
from suricate.backends.gpma.cuda import TAKING_ARGUMENTS, UPDATE_ARGUMENTS
from suricate.backends.gpma.kernels import GpmaKernels
from suricate.backends.gpma.layout import CHANGES, COUNTERS, GRAPH, PAGE, UPDATE, WORK, Graph
from suricate.backends.gpma.store import GpmaStore
from suricate.intake.ingest import UnvalidatedBatch, the_variant
from suricate.primitives import cuda as shared
from suricate.primitives.located import ABSENT, LOCATED, LOOKUP, Report

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

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(FakeStructKernel, "launched", names)
    monkeypatch.setattr(FakeStructKernel, "blocks", [])
    monkeypatch.setattr(cuda, "StructKernel", FakeStructKernel)
    for module in (shared, cuda):
        monkeypatch.setattr(module, "launch", launch)
    return names


def graph_of(dtype: np.dtype | None, leaves: int = LEAVES, *, marked: bool = False) -> Graph:
    per_leaf = {"owner": np.uint32, "guards": np.uint32, "head": np.uint32, "count": np.uint8}
    return Graph(
        dst=array(32 * leaves, np.uint32), weight=bits(32 * leaves, dtype), guard=array(VERTICES + 1, np.int64),
        degree=array(VERTICES, np.uint32), counters=array(COUNTERS, np.int64), work=array(len(WORK.fields), np.uint32),
        fresh=array(leaves * marked, np.uint32), touched=array(leaves * marked, np.uint32), leaves=leaves,
        planned=array(-(-leaves // PAGE), np.uint32), **{name: array(leaves, kind) for name, kind in per_leaf.items()},
    )  # fmt: skip


def unvalidated(operation: str, size: int) -> UnvalidatedBatch:
    return UnvalidatedBatch(operation, the_variant("int64", "int32"), size, (0,) * 11, True)


def test_updates(launched: list[str], weight_dtype: np.dtype | None, size: int) -> None:
    """A sorted batch is one launch, whatever its size; more where the array grows."""
    kernels = cuda.GpmaCuda(fake_device(), weight_dtype)
    graph, batch, weight = graph_of(weight_dtype), batch_of(size), bits(size, weight_dtype)
    report = Report(array(size, np.uint8), bits(size, weight_dtype))
    plan = kernels.plan(graph, batch, deleting=False)
    kernels.insert(graph, None, plan, batch, weight, report)
    kernels.insert(graph, None, plan, batch, weight.data.ptr, Report(*(part.data.ptr for part in report)))
    kernels.delete(graph, kernels.plan(graph, batch, deleting=True), batch, report)
    assert launched == ["update"] * 3
    assert FakeStructKernel.blocks == [min(8, max(4, -(-size // 8)))] * 3
    assert kernels._barrier.arrived == 2 * sum(FakeStructKernel.blocks)
    launched.clear()
    kernels.locate(graph, batch, ABSENT)
    ranked = ["rank_in_block"] if size <= shared.RANK_IN_BLOCK else ["flag"]
    grown = graph_of(weight_dtype, 2 * LEAVES, marked=True)
    kernels.insert(graph, grown, plan, batch, weight, report)
    assert launched == ["locate", *ranked, "take_entries", "spread_old", "spread_new", "describe_leaves"]
    launched.clear()
    ids = array(size, np.uint32)
    kernels.clear_edges(graph, ids, ids, array(1, np.uint32), report)
    kernels.clear_edges(graph, ids, ids, None, report)
    assert launched == ["clear_edges", "clear_edges"]


def test_batches_that_nobody_has_checked(launched: list[str], weight_dtype: np.dtype | None, size: int) -> None:
    kernels, graph = cuda.GpmaCuda(fake_device(), weight_dtype), graph_of(weight_dtype)
    removed, _ = batches_of(fake_device(), unvalidated("delete", size), None, weight_dtype, paired=True)
    turned = removed.turned()
    kernels.clear_batch(graph, removed)
    assert removed.unchecked is None
    blocks = min(8, -(-size // 256))
    assert FakeStructKernel.blocks == [blocks]
    assert kernels._barrier.arrived == blocks
    kernels.find_unvalidated(graph, unvalidated("find", size), array(size, bool), bits(size, weight_dtype))
    kernels.clear_batch(graph, turned)
    assert launched == ["clear_unvalidated", "find_unvalidated", "clear_edges"]


def test_everything_else(launched: list[str], weight_dtype: np.dtype | None) -> None:
    kernels = cuda.GpmaCuda(fake_device(), weight_dtype)
    graph, ids = graph_of(weight_dtype, marked=True), array(70, np.uint32)
    kernels.locate(graph, batch_of(70), LOOKUP)
    kernels.find(graph, ids, ids, array(70, bool), bits(70, weight_dtype))
    kernels.rebuild(graph, graph_of(weight_dtype, 3 * LEAVES))
    kernels.append_guards(graph, 40, 35)
    kernels.drop_guards(graph, 30)
    kernels.clear_rows(graph, ids)
    kernels.list_touched(graph)
    moved = ["spread_old", "describe_leaves"]
    assert launched == ["locate", "find_edges", *moved, "append_guards", "drop_guards", "clear_rows", "list_touched"]


def test_memory_of_an_update(launched: list[str]) -> None:
    """The arrays of a batch, and what the blocks tell each other, lie in one block of memory and do not overlap."""
    memory, addresses, blocks = cuda.GpmaCuda(fake_device(), None).plan(graph_of(None), batch_of(333), deleting=True)
    sizes = [8 * 333, 333, 8 * 333, 4 * 333, 333, 4 * 333, 16 * blocks]
    ends = [begin + size for begin, size in zip(addresses, sizes, strict=True)]
    assert addresses[0] == memory.ptr
    assert all(end <= begin for end, begin in zip(ends, addresses[1:], strict=False))
    assert ends[-1] <= memory.ptr + memory.size


def test_structs_lie_behind_one_another_in_the_arguments() -> None:
    assert UPDATE_ARGUMENTS.size == GRAPH.size + UPDATE.size
    assert TAKING_ARGUMENTS.size % 8 == 0


def test_lazy_deletions_are_not_sorted(launched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a pair of stores the second one deletes the copies, in the other direction."""
    posted: list[int] = []
    batch, _ = batches_of(fake_device(), unvalidated("delete", 300), None, paired=True)
    for given in (batch, batch.turned()):
        store = object.__new__(GpmaStore)
        store._strict, store.device, store.name = False, fake_device(), "gpma"
        store.kernels = cuda.GpmaCuda(store.device, None)
        store.pool = SimpleNamespace(graph=graph_of(None))
        store.queued = lambda inserted, deleted: posted.append(deleted)
        carry_out = store.apply(given, None)
        assert carry_out is not None
        carry_out()
        assert given.done
    assert launched == ["clear_unvalidated", "clear_edges"]
    assert posted == [300, 300]


def test_when_the_counters_are_asked_for() -> None:
    leaves = ledger.leaves_for(100_000)
    assert not ledger.is_behind(leaves, 50_000, 10_000)
    assert ledger.is_behind(leaves, 50_000, 13_000)
    assert ledger.is_behind(leaves, 99_990, 100)


def test_a_module_for_each_device_has_the_functions_of_its_protocol() -> None:
    modules: tuple[ModuleType | type, ...] = (cpu, cuda.GpmaCuda)
    for name in (name for name in vars(GpmaKernels) if not name.startswith("_")):
        assert all(hasattr(module, name) for module in modules), name
