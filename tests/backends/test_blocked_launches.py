"""The launches of ``blocked``, without a GPU: every kernel gets the arguments that it declares."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from launches import FakeStructKernel, array, batch_of, bits, check_launch, fake_cupy, fake_device

from suricate.backends.blocked import cpu, cuda
from suricate.backends.blocked.kernels import BlockedKernels
from suricate.backends.blocked.layout import COUNTERS, DELETES, GRAPH, INSERTS, PACKET, PLANS, SCANNED, Graph, Packet
from suricate.primitives import cuda as shared
from suricate.primitives.located import ABSENT, LOCATED, LOOKUP, PRESENT, Report

STRUCTS = {"LocatedBatch": LOCATED, "Graph": GRAPH, "Packet": PACKET}
VERTICES, BLOCKS, SHIFT = 50, 100, 3


@pytest.fixture(params=[None, "float32", "float64"])
def weight_dtype(request: pytest.FixtureRequest) -> np.dtype | None:
    return None if request.param is None else np.dtype(request.param)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels launched, whose arguments were checked."""
    names: list[str] = []

    def launch(code: Any, name: str, threads: int, *args: Any, block: int = 256) -> None:
        check_launch(code, name, args, STRUCTS)
        names.append(name)

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    for module in (cuda, shared):
        monkeypatch.setattr(module, "launch", launch)
    monkeypatch.setattr(cuda, "StructKernel", FakeStructKernel)
    monkeypatch.setattr(FakeStructKernel, "launched", names)
    return names


def graph_of(dtype: np.dtype | None, *, marks: bool = False) -> Graph:
    slots, tracked = BLOCKS << SHIFT, int(marks)
    return Graph(
        head=array(VERTICES, np.uint32), degree=array(VERTICES, np.uint32), run=array(VERTICES, np.uint32),
        link=array(BLOCKS, np.uint32),
        back=array(BLOCKS, np.uint32), owner=array(BLOCKS, np.uint32), free=array(BLOCKS, np.uint32),
        dst=array(slots, np.uint32), weight=bits(slots, dtype), counters=array(COUNTERS, np.int64),
        block_mark=array(tracked * BLOCKS, np.uint8), vertex_mark=array(tracked * VERTICES, np.uint8),
        block_list=array(0, np.uint32), vertex_list=array(0, np.uint32), shift=SHIFT, blocks=BLOCKS,
    )  # fmt: skip


def test_updates(launched: list[str], weight_dtype: np.dtype | None) -> None:
    """A batch is one launch, and one more if the host must know, whether chains are searched or the pool."""
    graph, batch = graph_of(weight_dtype), batch_of(100)
    report, kernels = (
        Report(array(100, np.uint8), bits(100, weight_dtype)),
        cuda.BlockedCuda(fake_device(), weight_dtype),
    )
    kernels.locate(graph, batch, ABSENT, 100 * SCANNED)
    plan = kernels.plan_insertion(graph, batch, 100 * SCANNED)
    assert plan.need() == 0
    kernels.insert(graph, batch, plan, bits(100, weight_dtype), report)
    kernels.locate(graph, batch, PRESENT, 100 * SCANNED + 1)
    kernels.delete(graph, batch, report, 100 * SCANNED + 1)
    assert launched == ["update_blocks"] * 3
    assert kernels._barrier.arrived == 8 * sum(cuda.BARRIERS[work] for work in (PLANS, INSERTS, DELETES))
    launched.clear()
    kernels.locate(graph, batch, LOOKUP, 100 * SCANNED)
    kernels.locate(graph, batch, LOOKUP, 100 * SCANNED + 1)
    kernels.free_vertices(graph, array(5, np.uint32))
    kernels.repack(graph, graph, 0, array(VERTICES, np.uint32))
    assert launched == ["update_blocks", "update_blocks", "free_vertices", "repack"]


def test_exchange_with_a_mirror(launched: list[str], weight_dtype: np.dtype | None) -> None:
    graph, slots = graph_of(weight_dtype, marks=True), 4 << SHIFT
    arrays = {name: array(4, np.uint32) for name in ("block", "link", "back", "owner")}
    arrays |= {name: array(9, np.uint32) for name in ("vertex", "head", "degree", "run")}
    packet = Packet(
        **arrays, dst=array(slots, np.uint32), weight=bits(slots, weight_dtype), free=array(2, np.uint32),
        counters=array(COUNTERS, np.int64), lowest=7,
    )  # fmt: skip
    kernels = cuda.BlockedCuda(fake_device(), weight_dtype)
    assert kernels.count_marked(graph) == (0, 0)
    kernels.list_marked(graph, packet)
    kernels.pack(graph, packet)
    kernels.unpack(graph, packet)
    assert launched == ["list_marked", "list_marked", "pack_marked", "unpack"]
    packed = cuda.packed_packet(packet)
    assert (packed["blocks"], packed["vertices"], packed["frees"], packed["lowest"]) == (4, 9, 2, 7)
    assert packed["dst"] == packet.dst.ctypes.data


def test_marks_that_are_not_kept_are_null_pointers() -> None:
    struct = cuda.packed_graph(graph_of(None))
    assert struct["block_mark"] == struct["vertex_mark"] == struct["weight"] == 0
    assert (struct["shift"], struct["blocks"]) == (SHIFT, BLOCKS)
    assert cuda.packed_graph(graph_of(None, marks=True))["block_mark"]


def test_a_module_for_each_device_has_the_functions_of_the_protocol() -> None:
    for name in (name for name in vars(BlockedKernels) if not name.startswith("_")):
        assert all(hasattr(module, name) for module in (cpu, cuda.BlockedCuda)), name
