"""``hornet_like`` with adjacencies in no order on CUDA: launches of the kernels in ``hornet.cu``.

``batch`` is a sorted batch, ``weight`` has its weights as bits in the order before sorting; ``report`` receives status
and old weight of each of its edges; ``edges`` is an upper bound of the number of edges in ``graph``. A block of class k
has 2^k slots; a vertex *migrates* when its edges move to a block of another class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.backends.hornet_like.kernels import Plan
from suricate.backends.hornet_like.layout import CLASSES, CONSTANTS, GRAPH, MIGRATIONS, SORTED_CONSTANTS, UPDATE, Graph
from suricate.backends.hornet_like.ledger import move_parts, scan_parts
from suricate.base.devices import Array
from suricate.cuda.program import Program
from suricate.primitives import cuda as shared
from suricate.primitives.cuda import bits_of, launch, packed, packed_batch, rank, store_program, weight_bits
from suricate.primitives.located import CHANGING, LOOKUP, LocatedBatch, Report
from suricate.store import Store, sorter

FOLDER = Path(__file__).parent / "device"
LANES = CONSTANTS["LANES"]
WORKERS = 132 * 8 * 256  #: threads of the kernels that walk a list whose length only the device knows


@cache
def program(bits: int) -> Program:
    """Return the program of ``hornet.cu`` for weights of ``bits`` bits (0: unweighted)."""
    return store_program(FOLDER / "hornet.cu", bits, CONSTANTS, (GRAPH, MIGRATIONS))


@cache
def sorted_program(bits: int) -> Program:
    """Return the program of ``sorted.cu``, for ascending adjacencies, and weights of ``bits`` bits (0: unweighted)."""
    numbers, structs = {**CONSTANTS, **SORTED_CONSTANTS}, (GRAPH, CHANGING, UPDATE)
    return store_program(FOLDER / "sorted.cu", bits, numbers, structs, cooperative=True)


def programs(store: Store) -> list[Program]:
    """Return all programs that stores with the weights of ``store`` launch, with ascending adjacencies or without."""
    dtype = store.weight_dtype
    own = [program(weight_bits(dtype)), sorted_program(weight_bits(dtype))]
    return [*own, *sorter.programs(dtype)]


@dataclass(slots=True)
class CudaPlan(Plan):
    """Memory that the kernels of an update share: migrations, parts of long moves, and counts.

    ``counts`` has the number of parts of long moves, and then per class: blocks needed, stack heights, blocks taken,
    and the first new block. Kernels get addresses into it, since array views would take longer than a launch.
    """

    arrays: tuple[Array, ...]  # those of the struct, which has their addresses
    struct: Any  # Migrations
    parts: Array  # of long moves
    counts: Array  # int64[1 + 4 * CLASSES]
    holes: tuple[Array, ...] = ()  # of a deletion: pairs, their sums, holes, survivors
    unchecked: bool = False

    def need(self) -> np.ndarray:
        """Return how many blocks of each class the migrations take, int64[CLASSES]; waits for the device."""
        return self.counts[1 : 1 + CLASSES].get()

    def address(self, row: int) -> np.uint64:
        """Return the address of the counts per class in row ``row`` (0 to 3) of ``counts``."""
        return np.uint64(self.counts.data.ptr + 8 * (1 + row * CLASSES))


def locate(graph: Graph, batch: LocatedBatch, kind: int, edges: int) -> None:
    """Fill in ``batch.kind`` and ``batch.slot``.

    Unless ``kind`` is ``LOOKUP``, write to ``batch.rank[i]`` how many of the entries up to i are of this kind.
    """
    import cupy

    code, data, m = program(bits_of(graph.weight)), packed(GRAPH, *graph), packed_batch(batch)
    parts = cupy.empty(scan_parts(edges), np.uint64), cupy.zeros(1, np.uint64)
    launch(code, "locate_short", LANES * len(batch), data, m, *parts)
    launch(code, "locate_long", WORKERS, data, m, *parts)
    if kind != LOOKUP:
        rank(batch, kind)


def plan(graph: Graph, batch: LocatedBatch, edges: int, *, deleting: bool, may_shrink: bool = True) -> CudaPlan:
    """Launch the planning of a batch; return its plan, with memory for the rest of the update.

    Unless it ``may_shrink``, a deletion (``deleting``) leaves blocks with edges as large as they are.
    """
    import cupy

    size = len(batch)
    arrays = cupy.empty(size, np.uint8), cupy.empty(size, np.uint32), cupy.empty(size, np.int64)
    parts, counts = cupy.empty(move_parts(edges), np.uint64), cupy.zeros(1 + 4 * CLASSES, np.int64)
    holes = tuple(cupy.empty(size, np.int64) for _ in range(4 * deleting))
    planned = CudaPlan(arrays, packed(MIGRATIONS, *arrays), parts, counts, holes)
    launch(
        program(bits_of(graph.weight)), "plan", size, packed(GRAPH, *graph), packed_batch(batch), planned.struct,
        np.int64(-1 if deleting else 1), np.uint32(may_shrink), planned.address(0),
    )  # fmt: skip
    return planned


def insert(graph: Graph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> bool:
    """Insert the absent edges of a batch, replace weights of the present ones, and write ``report``.

    ``plan`` is the result of :func:`plan`. Return True: the kernels never refuse a batch.
    """
    assert isinstance(plan, CudaPlan)
    data, bits = packed(GRAPH, *graph), bits_of(graph.weight)
    if bits:
        shared.report_insertion(batch, graph.weight, weight, report)
    _migrate(graph, data, batch, plan, 1)
    launch(program(bits), "append", len(batch), data, packed_batch(batch), weight, report.status)
    return True


def delete(graph: Graph, batch: LocatedBatch, plan: Plan | None, report: Report) -> bool:
    """Delete the present edges of a batch, move vertices to other blocks as ``plan`` says, and write ``report``.

    Return True: the kernels never refuse a batch.
    """
    assert isinstance(plan, CudaPlan)
    code, data, size, m = program(bits_of(graph.weight)), packed(GRAPH, *graph), len(batch), packed_batch(batch)
    pairs, sums, holes, survivors = plan.holes
    launch(code, "mark_deleted", size, data, m, *report)
    launch(code, "pair_holes", size, data, m, pairs)
    pairs.cumsum(dtype=np.int64, out=sums)
    launch(code, "list_holes", size, data, m, sums, holes, survivors)
    launch(code, "fill_holes", size, data, m, sums, holes, survivors)
    _migrate(graph, data, batch, plan, -1)
    return True


def _migrate(graph: Graph, data: Any, batch: LocatedBatch, plan: CudaPlan, sign: int) -> None:
    """Carry ``plan`` out: hand out blocks, move the edges of vertices to them, and update the index of ``graph``."""
    code, size, m, sign_arg = program(bits_of(graph.weight)), len(batch), packed_batch(batch), np.int64(sign)
    need, tops, taken, carved = map(plan.address, range(4))
    moves = plan.parts, plan.counts  # which begin with the number of the parts
    launch(code, "hand_out", 1, data, m, sign_arg, need, tops, taken, carved, block=32)
    launch(code, "move_short", LANES * size, data, m, plan.struct, sign_arg, tops, taken, carved, *moves)
    launch(code, "move_long", WORKERS, data, m, plan.struct, sign_arg, *moves)
    launch(code, "commit", size, data, m, plan.struct, sign_arg)


def free_vertices(graph: Graph, vertices: Array) -> None:
    """Free the blocks of distinct ``vertices`` (uint32[k])."""
    count = len(vertices)
    launch(program(bits_of(graph.weight)), "free_vertices", count, packed(GRAPH, *graph), np.uint32(count), vertices)
