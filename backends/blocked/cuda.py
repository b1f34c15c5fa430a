"""``blocked`` on CUDA: launches of the kernels in ``device``; see ``kernels.py``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.backends.blocked.kernels import Plan
from suricate.backends.blocked.layout import CONSTANTS, GRAPH, PACKET, SCANNED, Graph, Packet
from suricate.cuda.program import Program
from suricate.cuda.structs import constants
from suricate.devices import Array
from suricate.primitives import cuda as shared
from suricate.primitives.cuda import bits_of, launch, packed, packed_batch, rank, weight_bits
from suricate.primitives.located import LOOKUP, PRELUDE, LocatedBatch, Report
from suricate.store import Store
from suricate.types import EMPTY

HERE = Path(__file__).parent
LANES = CONSTANTS["LANES"]
WORKERS = 132 * 8 * 256  #: threads of loops over slots whose number only the device knows


@cache
def program(name: str, bits: int) -> Program:
    """Return the program of a source for weights of this many bits."""
    structs = "\n".join(['#include "bits.cuh"', GRAPH.declaration, PACKET.declaration])
    prelude = f"{constants(CONSTANTS)}\n{PRELUDE}\n{structs}"
    source = HERE / "device" / f"{name}.cu"
    return Program(source, prelude, defines=(("WEIGHT_BITS", bits),), include=(shared.HERE,))


def programs(store: Store) -> list[Program]:
    """Return all programs that ``store`` launches."""
    bits = weight_bits(store.weight_dtype)
    own = [program(name, bits) for name in ("insert", "delete", "blocks")]
    return [*own, *shared.programs(store.weight_dtype)]


@dataclass(slots=True)
class CudaPlan(Plan):
    """The blocks that an insertion takes.

    Attributes:
        ends: ``int32[m]``: inclusive sum of the blocks that are taken for each entry.
        tail: ``uint32[m]``: for the first entry of a vertex its last block so far.
    """

    ends: Array
    tail: Array

    def need(self) -> int:
        """See :meth:`Plan.need`."""
        return int(self.ends[-1])


def locate(graph: Graph, batch: LocatedBatch, kind: int, edges: int) -> None:
    """See :meth:`BlockedKernels.locate`: a batch that is large for the graph by one pass over the pool."""
    import cupy

    code, data, m = program("insert", bits_of(graph.weight)), packed_graph(graph), packed_batch(batch)
    size = len(batch)
    if SCANNED * size >= max(edges, len(graph.head)):
        first = cupy.empty(len(graph.head), np.uint32)
        first.fill(EMPTY)
        launch(code, "list_heads", size, m, first)
        launch(code, "locate_scan", WORKERS, data, m, first)
    else:
        launch(code, "locate", LANES * size, data, m)
    if kind != LOOKUP:
        rank(batch, kind)


def plan_insertion(graph: Graph, batch: LocatedBatch) -> CudaPlan:
    """See :meth:`BlockedKernels.plan_insertion`."""
    import cupy

    size = len(batch)
    plan = CudaPlan(cupy.empty(size, np.int32), cupy.empty(size, np.uint32))
    need = cupy.empty(size, np.int32)
    code = program("insert", bits_of(graph.weight))
    launch(code, "count_blocks", size, packed_graph(graph), packed_batch(batch), need, plan.tail)
    need.cumsum(dtype=np.int32, out=plan.ends)
    return plan


def insert(graph: Graph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> None:
    """See :meth:`BlockedKernels.insert`."""
    assert isinstance(plan, CudaPlan)
    bits = bits_of(graph.weight)
    if bits:
        shared.report_insertion(batch, graph.weight, weight, report)
    code, data, m, size = program("insert", bits), packed_graph(graph), packed_batch(batch), len(batch)
    threads = max(size, min(WORKERS, size << graph.shift))
    launch(code, "insert", threads, data, m, plan.ends, plan.tail, weight, report.status)
    launch(code, "commit_insert", size, data, m, plan.ends)


def delete(graph: Graph, batch: LocatedBatch, report: Report) -> None:
    """See :meth:`BlockedKernels.delete`."""
    import cupy

    code, data, size, m = program("delete", bits_of(graph.weight)), packed_graph(graph), len(batch), packed_batch(batch)
    tails = cupy.empty(size, np.uint32)
    last, pairs, sums, holes, survivors = (cupy.empty(size, np.int64) for _ in range(5))
    launch(code, "mark_deleted", size, data, m, *report)
    launch(code, "list_tails", size, data, m, tails)
    launch(code, "clear_tails", size, data, m, tails, last, pairs)
    launch(code, "pair_holes", size, data, m, pairs)
    pairs.cumsum(dtype=np.int64, out=sums)
    launch(code, "list_holes", size, m, pairs, sums, last, holes, survivors)
    launch(code, "fill_holes", size, data, m, sums, holes, survivors)
    launch(code, "commit_delete", size, data, m, tails)


def insert_small(graph: Graph, *batch: Array) -> bool:
    """See :meth:`BlockedKernels.insert_small`."""
    return False


delete_small = insert_small


def free_vertices(graph: Graph, vertices: Array) -> None:
    """See :meth:`BlockedKernels.free_vertices`."""
    code, count = program("blocks", bits_of(graph.weight)), len(vertices)
    launch(code, "free_vertices", 32 * count, packed_graph(graph), np.uint32(count), vertices)


def repack(graph: Graph, fresh: Graph, first: Array) -> None:
    """See :meth:`BlockedKernels.repack`."""
    code, count = program("blocks", bits_of(graph.weight)), len(first)
    launch(code, "repack", 32 * count, packed_graph(graph), packed_graph(fresh), np.int64(count), first)


def unpack(graph: Graph, packet: Packet) -> None:
    """See :meth:`BlockedKernels.unpack`; the packet may lie in pinned memory."""
    code, threads = program("blocks", bits_of(graph.weight)), max(256, len(packet.block) << graph.shift)
    launch(code, "unpack", min(WORKERS, threads), packed_graph(graph), packed_packet(packet))


def pack(graph: Graph, packet: Packet) -> None:
    """See :meth:`BlockedKernels.pack`."""
    code, threads = program("blocks", bits_of(graph.weight)), max(256, len(packet.block) << graph.shift)
    launch(code, "pack_marked", min(WORKERS, threads), packed_graph(graph), packed_packet(packet))


def count_marked(graph: Graph) -> tuple[int, int]:
    """See :meth:`BlockedKernels.count_marked`."""
    import cupy

    counts = cupy.zeros(2, np.uint64)
    _list_marked(graph, counts, None, None)
    blocks, vertices = counts.get().tolist()
    return blocks, vertices


def list_marked(graph: Graph, packet: Packet) -> None:
    """See :meth:`BlockedKernels.list_marked`."""
    import cupy

    _list_marked(graph, cupy.zeros(2, np.uint64), packet.block, packet.vertex)


def _list_marked(graph: Graph, counts: Array, block: Array | None, vertex: Array | None) -> None:
    code, vertices = program("blocks", bits_of(graph.weight)), np.int64(len(graph.head))
    launch(code, "list_marked", WORKERS, packed_graph(graph), vertices, counts, block, vertex)


def packed_graph(graph: Graph) -> Any:
    """Return the struct ``Graph``; marks that are not kept are null pointers."""
    return packed(GRAPH, *(part if isinstance(part, int) or len(part) else None for part in graph))


def packed_packet(packet: Packet) -> Any:
    """Return the struct ``Packet``: addresses of arrays on the device or in pinned memory."""
    sizes = len(packet.block), len(packet.vertex), len(packet.free), packet.lowest
    return np.array((*map(_address, packet[:-1]), *sizes), PACKET.dtype)[()]


def _address(array: Array) -> int:
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr
