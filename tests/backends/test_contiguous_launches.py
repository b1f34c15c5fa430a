"""The launches of the contiguous backends, without a GPU: every kernel gets the arguments that it declares.

The launches of a batch are asserted, too: small batches are bound by their number.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from launches import FakeStructKernel, array, batch_of, bits, check_launch, fake_cupy, fake_device

from suricate.backends.csr_baseline import cuda as csr
from suricate.backends.csr_baseline.layout import Graph as CsrGraph
from suricate.backends.csr_baseline.layout import Rebuild
from suricate.backends.hornet_like import cuda as hornet
from suricate.backends.hornet_like import cuda_sorted
from suricate.backends.hornet_like.layout import CLASSES, COUNTERS, GRAPH, MIGRATIONS, PlacedGraph
from suricate.backends.hornet_like.layout import Graph as HornetGraph
from suricate.intake.ingest import UnvalidatedBatch, the_variant
from suricate.primitives import cuda
from suricate.primitives.located import ABSENT, LOCATED, LOOKUP, PRESENT, Report
from suricate.store import sorter

STRUCTS = {"LocatedBatch": LOCATED, "Graph": GRAPH, "Migrations": MIGRATIONS}
VERTICES, EDGES = 50, 1000


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
    for module in (cuda, hornet):
        monkeypatch.setattr(module, "launch", launch)
    for module in (csr, cuda_sorted, sorter):
        monkeypatch.setattr(module, "StructKernel", FakeStructKernel)
    monkeypatch.setattr(FakeStructKernel, "launched", names)
    return names


def report_of(size: int, dtype: np.dtype | None) -> Report:
    return Report(array(size, np.uint8), bits(size, dtype))


def ranked(size: int) -> list[str]:
    return ["rank_in_block"] if size <= cuda.RANK_IN_BLOCK else ["flag"]


def test_csr(launched: list[str], weight_dtype: np.dtype | None, size: int) -> None:
    """A batch is one launch, whatever its size."""
    graph, new = (
        CsrGraph(array(VERTICES + 1, np.int64), array(EDGES, np.uint32), bits(EDGES, weight_dtype)) for _ in range(2)
    )
    kernels = csr.CsrCuda(fake_device(), weight_dtype)
    batch, report, rebuild = batch_of(size), report_of(size, weight_dtype), Rebuild(new, EDGES)
    kernels.insert(graph, rebuild, batch, bits(size, weight_dtype), report)
    kernels.delete(graph, rebuild, batch, report)
    kernels.change(graph, rebuild, batch, size // 2, bits(size, weight_dtype), report)
    assert launched == ["merge_batch", "merge_batch", "merge_both"]
    assert kernels._barrier.arrived == 3 * 8 * csr.BARRIERS


def unvalidated(operation: str, size: int) -> UnvalidatedBatch:
    return UnvalidatedBatch(operation, the_variant("int64", "int32"), size, (0,) * 11, True)


@pytest.mark.parametrize(
    "most",
    [1, 1024, 1025, sorter.MOST_SMALL, sorter.MOST_SMALL + 1, sorter.MOST_BUCKETED + 1, sorter.MOST_LARGE + 1],
)
def test_a_batch_is_taken_and_sorted_by_one_launch(
    launched: list[str], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(FakeStructKernel, "blocks", [])
    made = sorter.Sorter(fake_device())
    keys, order = made.take(unvalidated("insert", most), (0, 0, 0), VERTICES)
    assert (len(keys), len(order)) == (most, most)
    if most > sorter.MOST_LARGE:
        assert launched == ["take_words", "unpack_words"]
        return
    ids = array(most, np.uint32)
    made.sort(ids, ids, VERTICES)
    taken, sorted_ = FakeStructKernel.blocks
    if most > sorter.MOST_BUCKETED:
        assert launched == ["take_digits", "sort_digits"]
        assert made._barrier.arrived == 2 * 8 * 2 * 2  # twelve bits of an edge
        return
    if most > sorter.MOST_SMALL:
        assert launched == ["take_buckets", "sort_buckets"]
        assert taken == sorted_ == 8
        assert made._barrier.arrived == 2 * 8 * sorter.BUCKET_BARRIERS
        return
    assert launched == ["take_sorted", "sort_tiles"]
    assert taken == sorted_ == (1 if most <= sorter.TILE else min(8, -(-most // 128)))
    assert made._barrier.arrived == (0 if taken == 1 else 2 * taken)


def test_queries_of_ascending_rows_are_one_launch(launched: list[str], weight_dtype: np.dtype | None) -> None:
    offsets = array(VERTICES + 1, np.int64)
    rows = offsets, offsets.data.ptr + 8, array(EDGES, np.uint32), bits(EDGES, weight_dtype)
    made = sorter.Sorter(fake_device())
    made.find(unvalidated("find", 5), rows, array(5, bool), bits(5, weight_dtype))
    assert launched == ["find_sorted"]


def test_words_of_more_than_64_bits_take_two_passes(launched: list[str]) -> None:
    """Only of huge batches they are declined: the graph then checks the batch before the store sorts it."""
    made = sorter.Sorter(fake_device())
    ids, vertices = array(20, np.uint32), (1 << 32) - 2
    made.sort(ids[:1], ids[:1], vertices)
    made.sort(ids, ids, vertices)
    assert launched == ["sort_tiles", "sort_buckets"]
    assert made._barrier.arrived == 4
    assert made.takes(8 * sorter.MOST_OF_BLOCK, vertices)
    assert not made.takes(8 * sorter.MOST_OF_BLOCK + 1, vertices)
    assert made.takes(sorter.MOST_LARGE + 1, 1 << 19)


def test_hornet(launched: list[str], weight_dtype: np.dtype | None, size: int) -> None:
    graph = HornetGraph(
        begin=array(VERTICES, np.int64), end=array(VERTICES, np.int64), klass=array(VERTICES, np.uint8),
        dst=array(EDGES, np.uint32), weight=bits(EDGES, weight_dtype), counters=array(COUNTERS, np.int64),
        stacks=array(10, np.uint32), stack_begin=array(CLASSES + 1, np.int64),
    )  # fmt: skip
    batch, report = batch_of(size), report_of(size, weight_dtype)
    moves = ["hand_out", "move_short", "move_long", "commit"]
    hornet.locate(graph, batch, ABSENT, EDGES)
    plan = hornet.plan(graph, batch, EDGES, deleting=False)
    assert plan.need().shape == (CLASSES,)
    hornet.insert(graph, batch, plan, bits(size, weight_dtype), report)
    reported = [] if weight_dtype is None else ["report_insertion"]
    assert launched == ["locate_short", "locate_long", *ranked(size), "plan", *reported, *moves, "append"]
    launched.clear()
    hornet.locate(graph, batch, PRESENT, EDGES)
    hornet.delete(graph, batch, hornet.plan(graph, batch, EDGES, deleting=True, may_shrink=False), report)
    holes = ["mark_deleted", "pair_holes", "list_holes", "fill_holes"]
    assert launched == ["locate_short", "locate_long", *ranked(size), "plan", *holes, *moves]
    launched.clear()
    hornet.locate(graph, batch, LOOKUP, EDGES)
    cuda.answer(batch, graph.weight, array(size, bool), bits(size, weight_dtype))
    hornet.free_vertices(graph, array(5, np.uint32))
    assert launched == ["locate_short", "locate_long", "answer", "free_vertices"]


def test_ascending_adjacencies(launched: list[str], weight_dtype: np.dtype | None, size: int) -> None:
    """A batch is one launch, whatever its size; one more if the host must know what it needs."""
    graph = PlacedGraph(
        begin=array(VERTICES, np.int64), end=array(VERTICES, np.int64), klass=array(VERTICES, np.uint8),
        dst=array(EDGES, np.uint32), weight=bits(EDGES, weight_dtype), counters=array(COUNTERS, np.int64),
        stacks=array(10, np.uint32), stack_begin=array(CLASSES + 1, np.int64),
    )  # fmt: skip
    kernels, batch, report = (
        cuda_sorted.HornetSorted(fake_device(), weight_dtype),
        batch_of(size),
        report_of(size, weight_dtype),
    )
    kernels.insert(graph, batch, kernels.plan(graph, batch, EDGES, deleting=False), bits(size, weight_dtype), report)
    plan = kernels.plan(graph, batch, 1 << 20, deleting=True, may_shrink=False)
    assert plan.need().shape == (CLASSES,)
    kernels.delete(graph, batch, plan, report)
    assert launched == ["update_sorted"] * 3
    assert kernels._barrier.arrived == 8 * (3 + 3 + 1)  # the deletion goes on behind its plan
    launched.clear()
    kernels.free_vertices(graph, array(5, np.uint32))
    assert launched == ["free_vertices"]


def test_building_blocks(launched: list[str], weight_dtype: np.dtype | None) -> None:
    batch, stored = batch_of(100), bits(EDGES, weight_dtype)
    cuda.report_insertion(batch, stored, bits(100, weight_dtype), report_of(100, weight_dtype))
    cuda.report_deletion(batch, stored, report_of(100, weight_dtype))
    ids = array(100, np.uint32)
    cuda.log_new(ids, ids, array(100, np.uint8), array(1, np.int64), array(500, np.uint64))
    assert launched == ["report_insertion", "report_deletion", "log_new"]


def test_rows_of_counts_are_where_the_kernels_look(launched: list[str]) -> None:
    plan = hornet.CudaPlan((), None, array(4, np.uint64), array(1 + 4 * CLASSES, np.int64))
    plan.counts[1 : 1 + CLASSES] = 7
    assert plan.need().tolist() == [7] * CLASSES
    assert int(plan.address(2)) - int(plan.address(0)) == 2 * 8 * CLASSES


def test_a_module_for_each_device_has_the_functions_of_its_protocol() -> None:
    from suricate.backends.csr_baseline import cpu as csr_cpu
    from suricate.backends.csr_baseline.kernels import CpuKernels, CsrKernels
    from suricate.backends.hornet_like.cpu import HornetCpu
    from suricate.backends.hornet_like.kernels import HornetKernels

    pairs: list[tuple[type, tuple[ModuleType | type, ...]]] = [
        (CsrKernels, (csr_cpu, csr.CsrCuda)),
        (CpuKernels, (csr_cpu,)),
        (HornetKernels, (HornetCpu, hornet, cuda_sorted.HornetSorted)),
    ]
    for protocol, modules in pairs:
        for name in (name for name in vars(protocol) if not name.startswith("_")):
            assert all(hasattr(module, name) for module in modules)
