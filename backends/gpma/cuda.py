"""``gpma`` on CUDA: launches of the kernels in ``gpma.cu``, ``update.cu`` and ``rebuild.cu``; see ``kernels.py``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.backends.gpma.layout import CHANGE_BYTES, CHANGES, CONSTANTS, GRAPH, TOUCHED, WORK, Graph
from suricate.cuda.program import Program
from suricate.cuda.structs import constants
from suricate.devices import Array
from suricate.primitives import cuda as shared
from suricate.primitives.cuda import BLOCK, bits_of, launch, packed, packed_batch, weight_bits
from suricate.primitives.located import LOOKUP, PRELUDE, LocatedBatch, Report
from suricate.store import Store

HERE = Path(__file__).parent
WARP = 32
WARPS = BLOCK // WARP
WALKERS = 132 * 8 * BLOCK  #: threads of kernels that walk all leaves, or a list whose length only the device knows
LEAST_BLOCKS = 132  #: of an update: what the whole grid does is rare, but then it should be the whole device


@cache
def _program(source: str, bits: int) -> Program:
    structs = "\n".join(['#include "bits.cuh"', *(struct.declaration for struct in (WORK, GRAPH, CHANGES))])
    prelude = f"{constants(CONSTANTS)}\n{PRELUDE}\n{structs}"
    defines = (("WEIGHT_BITS", bits),)
    return Program(
        HERE / "device" / source, prelude, defines=defines, include=(shared.HERE,), cooperative=source == "update.cu"
    )  # fmt: skip


def programs(store: Store) -> list[Program]:
    """Return all programs that ``store`` launches."""
    bits = weight_bits(store.weight_dtype)
    own = [_program(source, bits) for source in ("gpma.cu", "update.cu", "rebuild.cu")]
    return [*own, *shared.programs(store.weight_dtype)]


class CudaPlan(NamedTuple):
    """Memory for an update: what the changes need, the counts of the blocks, and how many blocks."""

    memory: Array  # keeps the two below
    changes: Any
    sums: np.uint64
    blocks: int


def _packed(graph: Graph) -> Any:
    """Return the struct of a graph; arrays that it does not have are null pointers."""
    *arrays, leaves = graph
    return packed(GRAPH, *(part if len(part) else None for part in arrays), leaves, len(graph.degree))


@cache
def _most_blocks(device: int, bits: int) -> int:
    """Return how many blocks of an update are resident at a time."""
    import cupy

    with cupy.cuda.Device(device) as current:
        number: int = current.attributes["MultiProcessorCount"]
        return number * _program("update.cu", bits).kernel("update").resident(BLOCK)


def locate(graph: Graph, batch: LocatedBatch, kind: int) -> None:
    """See :meth:`GpmaKernels.locate`."""
    launch(_program("gpma.cu", bits_of(graph.weight)), "locate", len(batch), _packed(graph), packed_batch(batch))
    if kind != LOOKUP:
        shared.rank(batch, kind)


def find(graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
    """See :meth:`GpmaKernels.find`."""
    m = len(src)
    code = _program("gpma.cu", bits_of(graph.weight))
    launch(code, "find_edges", m, _packed(graph), np.uint32(m), src, dst, found, weight)


def _plan(graph: Graph, batch: LocatedBatch) -> CudaPlan:
    import cupy

    m = len(batch)
    blocks = min(_most_blocks(graph.dst.device.id, bits_of(graph.weight)), max(LEAST_BLOCKS, -(-m // WARPS)))
    memory = cupy.empty(CHANGE_BYTES * m + 16 * blocks, np.uint8)
    sums = memory.data.ptr
    places = sums + 16 * blocks
    items, lists, level = places + 8 * m, places + 12 * m, places + 16 * m
    changes = packed(CHANGES, *map(int, (places, items, lists, level)), m)
    return CudaPlan(memory, changes, np.uint64(sums), blocks)


def plan_insertion(graph: Graph, batch: LocatedBatch, *, in_place: bool) -> CudaPlan:
    """See :meth:`GpmaKernels.plan_insertion`; which segments are rebalanced is found out by the update itself."""
    return _plan(graph, batch)


def plan_deletion(graph: Graph, batch: LocatedBatch) -> CudaPlan:
    """See :meth:`GpmaKernels.plan_deletion`."""
    return _plan(graph, batch)


def insert(graph: Graph, new: Graph | None, plan: CudaPlan, batch: LocatedBatch, weight: Array, report: Report) -> None:
    """See :meth:`GpmaKernels.insert`."""
    if new is None:
        _update(graph, plan, batch, True, weight, report)
        return
    code, data, target, m = _program("rebuild.cu", bits_of(weight)), _packed(graph), _packed(new), packed_batch(batch)
    launch(code, "take_entries", len(batch), data, m, plan.changes, weight, *report)
    assert batch.rank is not None
    count = np.uint64(batch.rank.data.ptr + 4 * (len(batch) - 1))
    before = _entries_up_to(graph)
    launch(code, "spread_old", WALKERS, data, target, before, plan.changes, count)
    launch(code, "spread_new", min(WALKERS, len(batch)), data, target, before, m, plan.changes, weight)
    launch(code, "describe_leaves", WALKERS, data, target, before, count)


def delete(graph: Graph, plan: CudaPlan, batch: LocatedBatch, report: Report) -> None:
    """See :meth:`GpmaKernels.delete`."""
    _update(graph, plan, batch, False, graph.weight[:0], report)


def _update(graph: Graph, plan: CudaPlan, batch: LocatedBatch, inserts: bool, weight: Array, report: Report) -> None:
    _program("update.cu", bits_of(graph.weight)).kernel("update")(
        (plan.blocks,), (BLOCK,),
        (_packed(graph), packed_batch(batch), plan.changes, plan.sums, np.uint32(inserts), weight, *report),
    )  # fmt: skip


def clear_edges(graph: Graph, src: Array, dst: Array, guard: Array | None, report: Report) -> None:
    """See :meth:`GpmaKernels.clear_edges`."""
    m = len(src)
    code = _program("gpma.cu", bits_of(graph.weight))
    launch(code, "clear_edges", m, _packed(graph), np.uint32(m), src, dst, guard, *report)


def rebuild(graph: Graph, new: Graph) -> None:
    """See :meth:`GpmaKernels.rebuild`."""
    code, data, target = _program("rebuild.cu", bits_of(graph.weight)), _packed(graph), _packed(new)
    before, nothing = _entries_up_to(graph), packed(CHANGES, 0, 0, 0, 0, 0)
    launch(code, "spread_old", WALKERS, data, target, before, nothing, None)
    launch(code, "describe_leaves", WALKERS, data, target, before, None)


def _entries_up_to(graph: Graph) -> Array:
    """Return the number of entries up to the end of each leaf."""
    return graph.count[: graph.leaves].cumsum(dtype=np.int64)


def append_guards(graph: Graph, first: int, begin: int) -> None:
    """See :meth:`GpmaKernels.append_guards`."""
    threads = WARP * (graph.leaves - begin)
    code = _program("gpma.cu", bits_of(graph.weight))
    launch(code, "append_guards", threads, _packed(graph), np.int64(first), np.int64(begin))


def drop_guards(graph: Graph, num_vertices: int) -> None:
    """See :meth:`GpmaKernels.drop_guards`."""
    code = _program("gpma.cu", bits_of(graph.weight))
    launch(code, "drop_guards", min(WALKERS, WARP * graph.leaves), _packed(graph), np.int64(num_vertices))


def clear_rows(graph: Graph, vertices: Array) -> None:
    """See :meth:`GpmaKernels.clear_rows`."""
    count = len(vertices)
    code = _program("gpma.cu", bits_of(graph.weight))
    launch(code, "clear_rows", WARP * count, _packed(graph), np.uint32(count), vertices)


def list_touched(graph: Graph) -> None:
    """See :meth:`GpmaKernels.list_touched`."""
    graph.counters[TOUCHED] = 0
    launch(_program("gpma.cu", bits_of(graph.weight)), "list_touched", graph.leaves, _packed(graph))
