"""The triangles that a batch takes away and brings, counted at their corners: on CUDA in one launch.

``suricate.algorithms.triangles`` has the method; ``suricate.algorithms.triangles.by_operators`` does the same by
operators. On CUDA one kernel makes tables of the changed edges and rows of the deleted ones, and then visits the
triangles; its memory is kept in the graph's workspace from batch to batch. On the CPU all changed edges of one kind at
a hub use the same marks of its neighbours, or look these up.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import ArcList, PlacedArcs, StoreView
from suricate.cuda.kernel import PreparedKernel
from suricate.kernels import (
    ARCS,
    NO_ARCS,
    Struct,
    arc_values,
    assembled,
    enum,
    loops_over,
    packed,
    packed_arcs,
    plain_arcs,
    program_over,
    resident_blocks,
    without_weights,
)
from suricate.kernels.arcs import SIZE
from suricate.kernels.walking import LOOKUP_COST
from suricate.state.edges.edge_hash import DECLARATIONS

if TYPE_CHECKING:
    from suricate.cuda.program import Program
    from suricate.graph import Graph

SOURCE = Path(__file__).with_suffix(".cu")
TEMPLATE = Path(__file__).with_name("triangle_changes_cpu.py")
BLOCK, BLOCKS = 256, 4  #: threads of a block, blocks of a multiprocessor at most
FREEDOM, EXTRA = 3, 8  #: slots of a table per entry, and besides: a warp waits for the longest of its searches
COUNTERS = 4  #: of which the kernel uses three
VIEW, GONE, COME, MEMORY, TRIANGLES, DEGREES = range(6)  # places of the arguments

MEMORY_STRUCT = Struct("Memory", {  # what comes before ``heavy_base`` has all bits set at first, ``set_words`` of them
    "counter": "uint32_t*",  # [4], see the kernel
    "heavy": "unsigned long long*",  # [1]: packed number of heavy pairs and of their buckets, less one
    "gone_key": "unsigned long long*",  # [gone_capacity]: table of the deleted edges, as in struct EdgeTable
    "come_key": "unsigned long long*",  # [come_capacity]: the same of the new ones
    "source": "uint32_t*",  # [slots]: sources of deleted arcs
    "row": "uint32_t*",  # [slots]: their number, less one, then where the row of the source begins in ``rows``
    "heavy_base": "long long*",  # [pairs]: of each heavy pair, the buckets of those before it
    "rows": "uint32_t*",  # a word per deleted arc and one per source
    "pair": "uint32_t*",  # [pairs]: numbers of arcs u < v of few neighbours, deleted ones before new ones
    "heavy_pair": "uint32_t*",  # [pairs]
    "next_set": "uint32_t*",  # [set_words]: the same of the next launch, which this one sets
    "set_words": "uint32_t",
    "gone_capacity": "uint32_t",
    "come_capacity": "uint32_t",
    "slots": "uint32_t",
    "pairs": "uint32_t",
})  # fmt: skip


@cache
def prelude() -> str:
    """Return the CUDA text that the program has between the view's cursor and the kernel: structs and constants."""
    sizes = enum("", {"CHANGE_BLOCK": BLOCK, "CHANGE_BLOCKS": BLOCKS})
    return "\n".join([DECLARATIONS, ARCS.declaration, MEMORY_STRUCT.declaration, sizes])


def programs(view: StoreView) -> list[Program]:
    """Return a list with the CUDA program that reads a graph through ``view``; CI compiles it without a GPU.

    The list is empty if ``view`` finds edges by linear search.
    """
    return [] if view.find == "linear" else [assembled(view, SOURCE, prelude())]


class _Holder:
    """State of a workspace: ``holds`` is the :class:`TriangleChanges` that prepared its memory last, or None."""

    def __init__(self, device: Device) -> None:
        self.holds: TriangleChanges | None = None


class TriangleChanges:
    """Updates the counts of one undirected graph on CUDA, in one launch per batch. Nothing waits for the device.

    Args:
        graph: the graph; its backend finds edges by hash or by binary search.
        triangles: ``int64[num_vertices]``, the triangles at each vertex; launches change it in place.
        degrees: ``int64[num_vertices]``, without self-loops; launches change it in place.
    """

    def __init__(self, graph: Graph, triangles: Array, degrees: Array) -> None:
        self._counts = triangles, degrees
        self._program: Program | None = None
        self._kernel: PreparedKernel
        self._view: StoreView | None = None
        self._sizes = -1, -1
        self._words: Array | None = None  # those of the workspace that ``Memory`` points to
        self._turns: list[tuple[int, ...]] = []  # the values of ``Memory`` in the next launch, and the one after it
        self._holder = graph.workspace.state(_Holder)
        self.graph = graph

    def counts_in(self, graph: Graph, triangles: Array, degrees: Array) -> bool:
        """Return whether this object updates the counts of ``graph`` in these arrays, not in copies of them."""
        return self.graph is graph and self._counts[0] is triangles and self._counts[1] is degrees

    def apply(self, gone: ArcList | PlacedArcs | None, come: ArcList | PlacedArcs | None) -> None:
        """Update the counts after the arcs ``gone`` were deleted and ``come`` inserted.

        The graph holds the change already. None stands for no arcs. Both arcs of an edge are listed, each at most once;
        self-loops are ignored.
        """
        view = self.graph.view()
        if view is not self._view:
            self._walk(view)
        kernel = self._kernel
        lost, new = arc_values(gone), arc_values(come)
        kernel.put_struct(GONE, ARCS.packer, lost)
        kernel.put_struct(COME, ARCS.packer, new)
        sizes = lost[SIZE], new[SIZE]
        if sizes != self._sizes or self._holder.holds is not self:
            self._take_memory(*sizes)
        kernel.put_struct(MEMORY, MEMORY_STRUCT.packer, self._turns[0])
        kernel.launch()
        self._turns.reverse()

    def _walk(self, view: StoreView) -> None:
        """Prepare the kernel to read the edges of the graph through ``view`` from now on."""
        program = program_over(view, SOURCE, lambda _: prelude())
        if program is self._program:
            self._kernel.put(VIEW, packed(view))
        else:
            none: Any = np.zeros(1, MEMORY_STRUCT.dtype)[0]
            arguments = (packed(view), packed_arcs(NO_ARCS), packed_arcs(NO_ARCS), none, *self._counts)
            kernel = program.kernel("change_triangles")
            blocks = resident_blocks(self.graph.device.index, BLOCK, min(BLOCKS, kernel.resident(BLOCK)))
            self._kernel = PreparedKernel(kernel, blocks, BLOCK, arguments)
            self._program, self._sizes = program, (-1, -1)
        self._view = view

    def _take_memory(self, gone: int, come: int) -> None:
        """Prepare memory for launches with ``gone`` deleted and ``come`` inserted arcs.

        There are two sets of arrays: each launch uses one, and initialises the other one for the next launch.
        """
        pairs, slots = (gone + come) // 2, FREEDOM * gone + EXTRA if gone else 0
        gone_capacity, come_capacity = (FREEDOM * (arcs // 2) + EXTRA if arcs else 0 for arcs in (gone, come))
        rows = gone + min(gone, self.graph.num_vertices)
        lengths = {  # in words; numbers of 8 bytes lie at multiples of 8 bytes
            "counter": COUNTERS, "heavy": 2, "gone_key": 2 * gone_capacity, "come_key": 2 * come_capacity,
            "source": slots, "row": slots,
        }  # fmt: skip
        others = {"heavy_base": 2 * pairs, "rows": rows, "pair": pairs, "heavy_pair": pairs}
        half = sum(lengths.values())
        words = self.graph.workspace.array("triangles.changes", 2 * half + sum(others.values()), np.uint32)
        words.data.memset_async(0xFF, 8 * half)
        numbers = {"set_words": half, "gone_capacity": gone_capacity, "come_capacity": come_capacity, "slots": slots,
                   "pairs": pairs}  # fmt: skip
        start = words.data.ptr
        shared = _placed(others, start + 8 * half) | numbers
        self._turns.clear()
        for own, following in ((start, start + 4 * half), (start + 4 * half, start)):
            values = _placed(lengths, own) | shared | {"next_set": following}
            self._turns.append(tuple(values[name] for name in MEMORY_STRUCT.fields))
        self._words, self._sizes, self._holder.holds = words, (gone, come), self


def _placed(lengths: dict[str, int], start: int) -> dict[str, int]:
    """Return the addresses of arrays, by name, that lie one after the other from the address ``start`` on.

    ``lengths`` are in words of 32 bits, addresses in bytes.
    """
    return dict(zip(lengths, accumulate((4 * length for length in lengths.values()), initial=start), strict=False))


def change_on_host(graph: Graph, triangles: Array, degrees: Array, gone: ArcList, come: ArcList) -> None:
    """Update the counts in place after arcs were deleted and inserted; the graph, on the CPU, holds the change already.

    Both arcs of an edge are listed, each at most once; self-loops are ignored.

    Args:
        graph: an undirected graph.
        triangles: ``int64[num_vertices]``, the triangles at each vertex.
        degrees: ``int64[num_vertices]``, without self-loops.
        gone: deleted arcs.
        come: new arcs.
    """
    view, workspace = graph.view(), graph.workspace
    loops, data = loops_over(view, TEMPLATE), without_weights(view)

    def listed(arcs: ArcList, change: int) -> np.ndarray:
        keys = np.empty(arcs.size, np.uint64)
        keys = keys[: loops.list_arcs(*plain_arcs(arcs), change, keys, degrees)]
        keys.sort()
        return keys

    lost, new = listed(gone, -1), listed(come, 1)
    marks, shared = (
        workspace.array(f"triangles.{name}", graph.num_vertices, dtype)
        for name, dtype in (("marks", np.uint8), ("shared", np.uint32))
    )
    kept, held = workspace.array("triangles.kept", 1, np.int64), np.empty(gone.size + come.size, np.uint8)
    search = LOOKUP_COST[view.find]
    for arcs, others, present, change in ((lost, new, False, -1), (new, lost[:0], True, 1)):
        if len(arcs):
            loops.count_changes(
                data, arcs, others, present, search, change, marks, kept, shared, held, degrees, triangles
            )
