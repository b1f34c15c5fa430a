"""``blocked`` on CUDA: launches of the kernels in the folder ``device``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.backends.blocked import layout
from suricate.backends.blocked.kernels import Plan
from suricate.backends.blocked.layout import GRAPH, PACKET, SCANNED, UPDATE, UPDATE_BLOCK, Graph, Packet, pieces
from suricate.base.devices import Array, Device
from suricate.cuda.batch_memory import offsets_of
from suricate.cuda.launch import GridBarrier, StructKernel, address, multiprocessors
from suricate.cuda.program import Program
from suricate.cuda.structs import joined
from suricate.primitives.cuda import launch, packed, store_program, weight_bits
from suricate.primitives.located import LOCATED, LOOKUP, LocatedBatch, Report, Scratch
from suricate.store import Store, sorter

HERE = Path(__file__).parent
BARRIERS = (2, 6, 8, 9)  #: of the grid in the launch of a batch, by what it does: ``LOCATES`` to ``DELETES``
ARGUMENTS = joined(GRAPH.packer, LOCATED.packer, UPDATE.packer)
WORKERS = 132 * 8 * 256  #: threads of loops over slots whose number only the device knows


@cache
def program(name: str, bits: int) -> Program:
    """Return the program of the source ``device/<name>.cu`` for weights of ``bits`` bits (0: unweighted)."""
    source, structs = HERE / "device" / f"{name}.cu", (GRAPH, PACKET, UPDATE)
    return store_program(source, bits, layout.CONSTANTS, structs, cooperative=name == "update")


def programs(store: Store) -> list[Program]:
    """Return all programs that ``store`` launches."""
    bits = weight_bits(store.weight_dtype)
    own = [program(name, bits) for name in ("update", "blocks")]
    return [*own, *sorter.programs(store.weight_dtype)]


@dataclass(slots=True)
class CudaPlan(Plan):
    """An insertion whose blocks are not counted yet; only :meth:`need` launches a kernel that counts them."""

    kernels: BlockedCuda
    graph: Graph
    batch: LocatedBatch
    edges: int

    def need(self) -> int:
        """Return how many blocks the insertion takes; launches a kernel and waits."""
        return self.kernels.planned(self)


class BlockedCuda:
    """The functions of :class:`BlockedKernels` for one store; one launch of ``update.cu`` locates and applies a batch.

    ``batch`` is a sorted batch; ``edges`` is an upper bound of the number of edges in ``graph``. ``weight`` has the
    weights of the batch as bits, in the order before sorting, or is the address of these. The launch writes status and
    old weight of each edge to ``report``.
    """

    small = None

    def __init__(self, device: Device, weight_dtype: np.dtype | None) -> None:
        self._device, self._bits = device, weight_bits(weight_dtype)
        self._barrier, self._scratch = GridBarrier(device), Scratch(device)
        self._kernel: StructKernel | None = None
        self._blocks = 0
        self._status = device.xp.empty(0, np.uint8)
        self._nothing = Report(self._status, self._status)

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int, edges: int) -> None:
        """Fill in ``batch.kind`` and ``batch.slot`` (-1: not stored) if ``kind`` is ``LOOKUP``; else do nothing."""
        if kind == LOOKUP:
            self._launch(layout.LOCATES, graph, batch, self._status, self._nothing, edges)

    def plan_insertion(self, graph: Graph, batch: LocatedBatch, edges: int) -> CudaPlan:
        """Return a plan for :meth:`insert`; nothing is launched."""
        return CudaPlan(self, graph, batch, edges)

    def planned(self, plan: CudaPlan) -> int:
        """Return how many blocks the insertion ``plan`` takes; launches a kernel and waits for the device."""
        memory, place = self._launch(layout.PLANS, plan.graph, plan.batch, self._status, self._nothing, plan.edges)
        ends = self._device.xp.ndarray((len(plan.batch),), np.int32, memory + place)
        return int(ends[-1])

    def insert(self, graph: Graph, batch: LocatedBatch, plan: Plan | None, weight: Array | int, report: Report) -> None:
        """Launch the insertion of a batch; ``plan`` is the result of :meth:`plan_insertion`."""
        assert isinstance(plan, CudaPlan)
        self._launch(layout.INSERTS, graph, batch, weight, report, plan.edges)

    def delete(self, graph: Graph, batch: LocatedBatch, report: Report, edges: int) -> None:
        """Launch the deletion of a batch."""
        self._launch(layout.DELETES, graph, batch, report.before, report, edges)

    def _launch(
        self, work: int, graph: Graph, batch: LocatedBatch, weight: Array | int, report: Report, edges: int
    ) -> tuple[Any, int]:
        """Launch ``update.cu`` for a batch; return the scratch memory, and where the sums of blocks taken are in it.

        ``work`` is what the launch does: ``LOCATES``, ``PLANS``, ``INSERTS`` or ``DELETES``. The sums are int32, one
        per entry, at this offset in bytes.
        """
        kernel, size, vertices = self._kernel, len(batch), len(graph.head)
        if kernel is None:
            kernel = self._kernel = StructKernel(program("update", self._bits), "update_blocks", ARGUMENTS.size)
            self._blocks = multiprocessors(self._device) * kernel.resident(UPDATE_BLOCK)
        scanned = vertices if is_scanned(size, edges, vertices) else 0
        found = 4 * scanned or 16 * pieces(size, graph.blocks, graph.shift)
        (kind, slot, rank, ends, *scratch, places), memory = self._scratch(
            (size, found),
            lambda: offsets_of(
                size, 8 * size, 4 * size, 4 * size, 4 * size, *(8 * size,) * 5, 16 * self._blocks, found
            ),
        )
        if work == layout.LOCATES:
            kind, slot = batch.kind.data.ptr, batch.slot.data.ptr
        ARGUMENTS.pack_into(
            kernel.buffer, 0, *map(array_address, graph),
            batch.keys.data.ptr, batch.order.data.ptr, kind, slot, rank, address(batch.guard), size,
            rank, ends, *scratch, 0 if scanned else places, places if scanned else 0, scanned,
            address(weight), address(report.status), address(report.before),
            self._barrier.address, self._barrier.expected(self._blocks, BARRIERS[work]), work,
        )  # fmt: skip
        kernel.launch(self._blocks, UPDATE_BLOCK)
        return memory, ends - memory.ptr

    def free_vertices(self, graph: Graph, vertices: Array) -> None:
        """Free the chains of distinct ``vertices`` (uint32[k])."""
        count = len(vertices)
        self._launch_blocks("free_vertices", 32 * count, packed_graph(graph), np.uint32(count), vertices)

    def repack(self, graph: Graph, fresh: Graph, vertex: int, first: Array) -> None:
        """Copy the chains of vertices from ``vertex`` on into consecutive blocks, from ``first`` (uint32[k]) on."""
        count = len(first)
        graphs = packed_graph(graph), packed_graph(fresh)
        self._launch_blocks("repack", 32 * count, *graphs, np.int64(vertex), np.int64(count), first)

    def unpack(self, graph: Graph, packet: Packet) -> None:
        """Copy the blocks and vertices in ``packet``, which may lie in pinned memory, to their places in ``graph``."""
        threads = max(256, len(packet.block) << graph.shift)
        self._launch_blocks("unpack", min(WORKERS, threads), packed_graph(graph), packed_packet(packet))

    def pack(self, graph: Graph, packet: Packet) -> None:
        """Copy the blocks and vertices that ``packet`` lists from ``graph`` into it, and clear their flags there."""
        threads = max(256, len(packet.block) << graph.shift)
        self._launch_blocks("pack_marked", min(WORKERS, threads), packed_graph(graph), packed_packet(packet))

    def count_marked(self, graph: Graph) -> tuple[int, int]:
        """Return how many blocks and how many vertices are flagged as changed; waits for the device."""
        blocks, vertices = self._list_marked(graph, None, None).get().tolist()
        return blocks, vertices

    def list_marked(self, graph: Graph, packet: Packet) -> None:
        """Write the ids of all flagged blocks to ``packet.block``, and of all flagged vertices to ``packet.vertex``."""
        self._list_marked(graph, packet.block, packet.vertex)

    def _list_marked(self, graph: Graph, block: Array | None, vertex: Array | None) -> Array:
        """List the flagged blocks in ``block`` and the flagged vertices in ``vertex``; None: only count them."""
        counts, vertices = self._device.xp.zeros(2, np.uint64), np.int64(len(graph.head))
        self._launch_blocks("list_marked", WORKERS, packed_graph(graph), vertices, counts, block, vertex)
        return counts

    def _launch_blocks(self, name: str, threads: int, *args: Any) -> None:
        launch(program("blocks", self._bits), name, threads, *args)


def is_scanned(size: int, edges: int, vertices: int) -> bool:
    """Return whether a batch of ``size`` edges is located by one pass over all blocks: it is large for the graph.

    The graph has up to ``edges`` edges, and ``vertices`` vertices.
    """
    return SCANNED * size >= max(edges, vertices)


def packed_graph(graph: Graph) -> Any:
    """Return the struct ``Graph`` of the kernels; arrays of length 0 become null pointers."""
    return packed(GRAPH, *map(array_address, graph))


def array_address(part: Array | int) -> int:
    """Return a number as it is; for an array its address, 0 if it is empty."""
    return part if isinstance(part, int) else part.data.ptr if len(part) else 0


def packed_packet(packet: Packet) -> Any:
    """Return the struct ``Packet`` of the kernels: addresses of arrays on the device or in pinned memory, and sizes."""
    sizes = len(packet.block), len(packet.vertex), len(packet.free), packet.lowest
    places = (part.ctypes.data if isinstance(part, np.ndarray) else part.data.ptr for part in packet[:-1])
    return np.array((*places, *sizes), PACKET.dtype)[()]
