"""``gpma`` on CUDA: launches of kernels. A leaf is 32 slots, a guard the entry behind the edges of a vertex."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.backends.gpma.layout import CHANGES, CONSTANTS, GRAPH, TAKING, TOUCHED, UPDATE, WORK, Graph
from suricate.base.devices import Array, Device
from suricate.cuda.batch_memory import offsets_of
from suricate.cuda.launch import GridBarrier, StructKernel, address, multiprocessors
from suricate.cuda.program import Program
from suricate.cuda.structs import joined
from suricate.intake.batches import DeviceBatch
from suricate.intake.ingest import COPIES, UNVALIDATED, BatchKind, UnvalidatedBatch, sample_variants
from suricate.primitives import cuda as shared
from suricate.primitives.cuda import BLOCK, launch, packed, packed_batch, store_program, weight_bits
from suricate.primitives.located import LOOKUP, LocatedBatch, Report, Scratch
from suricate.store import Store, sorter

HERE = Path(__file__).parent / "device"
UPDATE_ARGUMENTS = joined(GRAPH.packer, UPDATE.packer)
TAKING_ARGUMENTS = joined(COPIES.packer, GRAPH.packer, TAKING.packer, UNVALIDATED)
WARP = 32
WARPS = BLOCK // WARP
WALKERS = 132 * 8 * BLOCK  #: threads of kernels that walk all leaves, or a list whose length only the device knows
MOST_FINDING = 1 << 16  #: blocks of a loop over queries
BARRIERS = 2  #: of the grid in an update that are counted on the host
CLEAR_BARRIERS = 1


@cache
def program(source: str, bits: int, variant: BatchKind | None = None, *, cooperative: bool = False) -> Program:
    """Return the program of the file ``source`` for weights of ``bits`` bits (0: unweighted).

    With ``variant`` its kernels take unvalidated batches of that kind; ``cooperative``: all blocks of a launch run at
    once.
    """
    numbers, structs = {**CONSTANTS, "THREADS": BLOCK}, (WORK, GRAPH, UPDATE, CHANGES, TAKING)
    defines = variant.defines() if variant else ()
    return store_program(HERE / source, bits, numbers, structs, cooperative=cooperative, defines=defines)


def programs(store: Store) -> list[Program]:
    """Return all programs that ``store`` launches."""
    dtype = store.weight_dtype
    bits, plain = weight_bits(dtype), sample_variants(None)
    own = [program("gpma.cu", bits), program("rebuild.cu", bits), program("update.cu", bits, cooperative=True)]
    mirrored = sample_variants("float32")[1]
    taking = [
        program("unvalidated.cu", bits, variant, cooperative=together)
        for variant in (plain[0], mirrored)
        for together in (False, True)
    ]
    return [*own, *taking, *sorter.programs(dtype)]


class CudaPlan(NamedTuple):
    """Scratch memory of an update: ``addresses`` of the arrays of the struct ``Update`` besides those of the batch.

    ``blocks`` is the number of blocks of its launch.
    """

    memory: Any  # keeps the addresses
    addresses: tuple[int, ...]
    blocks: int


class GpmaCuda:
    """The functions of :class:`GpmaKernels` for one store; the launch of an update in place also locates its batch.

    ``batch`` is a sorted batch, ``plan`` the result of :meth:`plan`. ``weight`` has the weights of the batch as bits,
    in the order before sorting, or is the address of these. Launches write status and old weight of each edge to
    ``report``.
    """

    def __init__(self, device: Device, weight_dtype: np.dtype | None) -> None:
        self._device, self._bits = device, weight_bits(weight_dtype)
        self._barrier, self._scratch = GridBarrier(device), Scratch(device)
        self._kernels: dict[Any, StructKernel] = {}
        self._resident: dict[StructKernel, int] = {}
        self._multiprocessors = multiprocessors(device)
        self._graph: Graph | None = None  # that of the last launch,
        self._words: tuple[int, ...] = ()  # the values of its struct,
        self._struct: Any = None  # and that struct

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int) -> None:
        """Fill in ``batch.kind`` and ``batch.slot``.

        Unless ``kind`` is ``LOOKUP``, write to ``batch.rank[i]`` how many of the entries up to i are of this kind.
        """
        self._launch("gpma.cu", "locate", len(batch), self._packed(graph), packed_batch(batch))
        if kind != LOOKUP:
            shared.rank(batch, kind)

    def find(self, graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
        """Look up edges (``src``, ``dst``): write ``found`` (bool[n]), and ``weight`` (bits) where they are stored."""
        m = len(src)
        self._launch("gpma.cu", "find_edges", m, self._packed(graph), np.uint32(m), src, dst, found, weight)

    def plan(self, graph: Graph, batch: LocatedBatch, *, deleting: bool, in_place: bool = True) -> CudaPlan:
        """Return scratch memory for :meth:`insert` or :meth:`delete`; of the arguments only ``len(batch)`` matters.

        The launch of the update finds out which segments it must rebalance.
        """
        size = len(batch)
        kernel = self._kernels.get("update")
        if kernel is None:
            code = program("update.cu", self._bits, cooperative=True)
            kernel = self._kernels["update"] = StructKernel(code, "update", UPDATE_ARGUMENTS.size)
        # What the grid does together is rare, but then it should be the whole device.
        blocks = min(self._most_blocks(kernel), max(self._multiprocessors, -(-size // WARPS)))
        addresses, memory = self._scratch(
            (size, blocks), lambda: offsets_of(8 * size, size, 8 * size, 4 * size, size, 4 * size, 16 * blocks)
        )
        return CudaPlan(memory, addresses, blocks)

    def insert(
        self, graph: Graph, new: Graph | None, plan: CudaPlan, batch: LocatedBatch, weight: Array | int, report: Report
    ) -> None:
        """Insert the absent entries of ``batch`` into ``graph``, replace weights, and write ``report``.

        If ``new`` is not None, all entries are merged into the arrays ``new`` instead, and the batch must be located.
        """
        if new is None:
            self._update(graph, plan, batch, weight, report, deleting=False)
            return
        m, located = len(batch), packed_batch(batch)
        _, _, places, items, *_ = plan.addresses
        changes = packed(CHANGES, places, items)
        given, status, old = (np.uint64(address(part)) for part in (weight, *report))
        data, target, before = self._packed(graph), self._packed(new), _entries_up_to(graph)  # allocates: first of all
        self._launch("rebuild.cu", "take_entries", m, data, located, changes, given, status, old)
        assert batch.rank is not None
        count = np.uint64(batch.rank.data.ptr + 4 * (m - 1))
        self._launch("rebuild.cu", "spread_old", WALKERS, data, target, before, changes, count)
        self._launch("rebuild.cu", "spread_new", min(WALKERS, m), data, target, before, located, changes, given)
        self._launch("rebuild.cu", "describe_leaves", WALKERS, data, target, before, count)

    def delete(self, graph: Graph, plan: CudaPlan, batch: LocatedBatch, report: Report) -> None:
        """Turn the present entries of ``batch`` into gaps, and write ``report``.

        Segments that are too empty then are rebalanced.
        """
        self._update(graph, plan, batch, 0, report, deleting=True)

    def _update(
        self, graph: Graph, plan: CudaPlan, batch: LocatedBatch, weight: Array | int, report: Report, *, deleting: bool
    ) -> None:
        kernel, (_, addresses, blocks) = self._kernels["update"], plan
        UPDATE_ARGUMENTS.pack_into(
            kernel.buffer, 0, *self._values(graph),
            batch.keys.data.ptr, batch.order.data.ptr, address(batch.guard), len(batch),
            address(weight), address(report.status), address(report.before), *addresses,
            self._barrier.address, self._barrier.expected(blocks, BARRIERS), deleting,
        )  # fmt: skip
        kernel.launch(blocks, BLOCK)

    def clear_edges(self, graph: Graph, src: Array, dst: Array, guard: Array | int | None, report: Report) -> None:
        """Turn the edges (``src``, ``dst``), in any order, into gaps, and write ``report``; duplicates count once.

        Nothing changes if ``guard`` (array, address or None) is not 0.
        """
        self._clear(graph, len(src), src, dst, *(np.uint64(address(part)) for part in (guard, *report)))

    def _clear(self, graph: Graph, size: int, *arguments: Any) -> None:
        self._launch("gpma.cu", "clear_edges", size, self._packed(graph), np.uint32(size), *arguments)

    def clear_batch(self, graph: Graph, batch: DeviceBatch) -> None:
        """Turn the edges of ``batch`` into gaps, by one launch.

        If ``batch.unchecked``, an unvalidated batch, is set, the launch first validates its edges and copies them to
        the arrays of ``batch``; then ``unchecked`` is set to None.
        """
        if batch.unchecked is None:
            src, dst, status, before = map(np.uint64, (batch.src, batch.dst, batch.status, batch.before))
            self._clear(graph, batch.size, src, dst, np.uint64(batch.guard), status, before)
            return
        kernel = self._taking_kernel("clear_unvalidated", batch.unchecked)
        blocks = min(self._most_blocks(kernel), -(-batch.size // BLOCK))
        TAKING_ARGUMENTS.pack_into(
            kernel.buffer, 0, batch.src, batch.dst, batch.weight, *self._values(graph), batch.status, batch.before,
            0, 0, self._barrier.address, self._barrier.expected(blocks, CLEAR_BARRIERS), *batch.unchecked.words,
        )  # fmt: skip
        kernel.launch(blocks, BLOCK)
        batch.unchecked = None

    def find_unvalidated(self, graph: Graph, batch: UnvalidatedBatch, found: Array, weight: Array) -> None:
        """Validate ``batch`` and look its edges up in one launch: write ``found`` (bool[n]) and ``weight`` (bits)."""
        kernel = self._taking_kernel("find_unvalidated", batch)
        answer = found.data.ptr, weight.data.ptr
        TAKING_ARGUMENTS.pack_into(kernel.buffer, 0, 0, 0, 0, *self._values(graph), 0, 0, *answer, 0, 0, *batch.words)
        kernel.launch(min(MOST_FINDING, -(-batch.size // BLOCK)), BLOCK)

    def _taking_kernel(self, name: str, batch: UnvalidatedBatch) -> StructKernel:
        variant = batch.variant
        kernel = self._kernels.get((name, variant))
        if kernel is None:
            code = program("unvalidated.cu", self._bits, variant, cooperative=name == "clear_unvalidated")
            kernel = self._kernels[name, variant] = StructKernel(code, name, TAKING_ARGUMENTS.size)
        return kernel

    def rebuild(self, graph: Graph, new: Graph) -> None:
        """Spread the entries of ``graph`` evenly over the arrays ``new``."""
        data, target, before = self._packed(graph), self._packed(new), _entries_up_to(graph)
        self._launch("rebuild.cu", "spread_old", WALKERS, data, target, before, packed(CHANGES, 0, 0), None)
        self._launch("rebuild.cu", "describe_leaves", WALKERS, data, target, before, None)

    def append_guards(self, graph: Graph, first: int, begin: int) -> None:
        """Put the guards of the vertices from ``first`` on into new leaves, from leaf ``begin`` on."""
        threads = WARP * (graph.leaves - begin)
        self._launch("gpma.cu", "append_guards", threads, self._packed(graph), np.int64(first), np.int64(begin))

    def drop_guards(self, graph: Graph, num_vertices: int) -> None:
        """Remove the guards of the vertices from ``num_vertices`` on, which have no edges."""
        threads = min(WALKERS, WARP * graph.leaves)
        self._launch("gpma.cu", "drop_guards", threads, self._packed(graph), np.int64(num_vertices))

    def clear_rows(self, graph: Graph, vertices: Array) -> None:
        """Turn all edges of the distinct ``vertices`` (uint32[k]) into gaps."""
        count = len(vertices)
        self._launch("gpma.cu", "clear_rows", WARP * count, self._packed(graph), np.uint32(count), vertices)

    def list_touched(self, graph: Graph) -> None:
        """List the leaves with edges inserted since the mark in ``graph.touched``, and set their counter."""
        graph.counters[TOUCHED] = 0
        self._launch("gpma.cu", "list_touched", graph.leaves, self._packed(graph))

    # -- inside --------------------------------------------------------------------------------------------------------

    def _launch(self, source: str, name: str, threads: int, *args: Any) -> None:
        launch(program(source, self._bits), name, threads, *args)

    def _most_blocks(self, kernel: StructKernel) -> int:
        """Return how many blocks of a cooperative kernel are resident at a time."""
        most = self._resident.get(kernel)
        if most is None:
            most = self._resident[kernel] = self._multiprocessors * kernel.resident(BLOCK)
        return most

    def _values(self, graph: Graph) -> tuple[int, ...]:
        """Return the values of the struct ``Graph``; the addresses of empty arrays are null pointers."""
        if graph is not self._graph:
            *arrays, leaves = graph
            self._words = *(part.data.ptr if len(part) else 0 for part in arrays), leaves, len(graph.degree)
            self._graph, self._struct = graph, packed(GRAPH, *self._words)
        return self._words

    def _packed(self, graph: Graph) -> Any:
        self._values(graph)
        return self._struct


def _entries_up_to(graph: Graph) -> Array:
    """Return int64[leaves]: the number of entries up to the end of each leaf."""
    return graph.count[: graph.leaves].cumsum(dtype=np.int64)
