"""The triangles that a batch takes away and brings, counted at their corners, in one launch on CUDA.

That is what ``suricate.algorithms.triangles`` says with operators, which it does on the CPU and on backends that find
edges by a linear search. Here the tables of the changed edges, the rows of the deleted ones and the walks are phases of
one kernel, in memory of the graph's workspace that is kept from batch to batch.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.cuda.kernel import PreparedKernel
from suricate.cuda.structs import Struct, enum
from suricate.devices import Array
from suricate.structures.arcs import ARCS, NO_ARCS, arc_values, packed_arcs
from suricate.structures.walking import assembled, packed, program_over, resident_blocks
from suricate.types import ArcList, StoreView

if TYPE_CHECKING:
    from suricate.cuda.program import Program
    from suricate.graph import Graph

SOURCE = Path(__file__).with_suffix(".cu")
BLOCK, BLOCKS = 256, 4  #: threads of a block, blocks of a multiprocessor, if it holds so many
FREEDOM, SPARE = 3, 8  #: slots of a table per entry, and besides: a warp waits for the longest of its searches
COUNTERS = 4  #: of which the kernel uses three
VIEW, GONE, COME, MEMORY, TRIANGLES, DEGREES = range(6)  # places of the arguments

MEMORY_STRUCT = Struct("Memory", {  # what comes before ``heavy_base`` has all bits set at first
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
    "gone_capacity": "uint32_t",
    "come_capacity": "uint32_t",
    "slots": "uint32_t",
    "pairs": "uint32_t",
})  # fmt: skip


@cache
def prelude() -> str:
    """Return what the kernel needs besides what the view says."""
    from suricate.structures.edge_table import DECLARATIONS  # and Numba with it

    sizes = enum("", {"CHANGE_BLOCK": BLOCK, "CHANGE_BLOCKS": BLOCKS})
    return "\n".join([DECLARATIONS, ARCS.declaration, MEMORY_STRUCT.declaration, sizes])


def programs(view: StoreView) -> list[Program]:
    """Return the CUDA program, to be compiled without a GPU."""
    return [] if view.find == "linear" else [assembled(view, SOURCE, prelude())]


class TriangleChanges:
    """The launches that keep counts of one undirected graph on CUDA current. Nothing waits for the device.

    Args:
        graph: the graph; its backend finds edges by hash or by binary search.
        triangles: ``int64[num_vertices]``, the triangles at each vertex.
        degrees: ``int64[num_vertices]``, self-loops left out.
    """

    def __init__(self, graph: Graph, triangles: Array, degrees: Array) -> None:
        self._counts = triangles, degrees
        self._program: Program | None = None
        self._kernel: PreparedKernel
        self._view: StoreView | None = None
        self._sizes = -1, -1
        self._words: Array | None = None  # those of the workspace that ``Memory`` points to
        self._set = 0  # bytes of them that have all bits set at first
        self.graph = graph

    def counts_in(self, graph: Graph, triangles: Array, degrees: Array) -> bool:
        """Return whether these are the graph and the arrays that it was made for."""
        return self.graph is graph and self._counts[0] is triangles and self._counts[1] is degrees

    def apply(self, gone: ArcList, come: ArcList) -> None:
        """Count what has changed with arcs that were deleted and inserted; the graph holds the change already.

        Both arcs of an edge are listed, each at most once; self-loops are passed over.
        """
        view = self.graph.view()
        if view is not self._view:
            self._walk(view)
        kernel = self._kernel
        kernel.put_struct(GONE, ARCS.packer, arc_values(gone))
        kernel.put_struct(COME, ARCS.packer, arc_values(come))
        if (gone.size, come.size) != self._sizes:
            self._take_memory(gone.size, come.size)
        words = self._words
        assert words is not None
        words.data.memset_async(0xFF, self._set)
        kernel.launch()

    def _walk(self, view: StoreView) -> None:
        """Walk this view from now on."""
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
        """Point the kernel to memory for so many arcs."""
        pairs, slots = (gone + come) // 2, FREEDOM * gone + SPARE if gone else 0
        gone_capacity, come_capacity = (FREEDOM * (arcs // 2) + SPARE if arcs else 0 for arcs in (gone, come))
        rows = gone + min(gone, self.graph.num_vertices)
        lengths = {  # in words; numbers of 8 bytes lie at multiples of 8 bytes
            "counter": COUNTERS, "heavy": 2, "gone_key": 2 * gone_capacity, "come_key": 2 * come_capacity,
            "source": slots, "row": slots, "heavy_base": 2 * pairs, "rows": rows, "pair": pairs, "heavy_pair": pairs,
        }  # fmt: skip
        words = self.graph.workspace.array("triangles.changes", sum(lengths.values()), np.uint32)
        addresses, place = {}, words.data.ptr
        for name, length in lengths.items():
            addresses[name] = place
            place += 4 * length
        addresses |= {"gone_capacity": gone_capacity, "come_capacity": come_capacity, "slots": slots, "pairs": pairs}
        self._kernel.put_struct(MEMORY, MEMORY_STRUCT.packer, tuple(addresses[name] for name in MEMORY_STRUCT.fields))
        self._set = addresses["heavy_base"] - words.data.ptr
        self._words, self._sizes = words, (gone, come)
