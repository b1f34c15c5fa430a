"""The forest of components on CUDA: components kept exact under deletions, with a bound on what is touched.

On the CPU a spanning forest is faster, which takes one edge after the other (``spanning_forest.py``).

Every vertex holds a word (class of its root, root, distance from it); two vertices are connected if their words name
one root. A vertex that is no root is *supported* by any neighbour of the same root that is nearer to it, so an arc may
go without any further change as long as another neighbour supports its head. That is the idea of KickStarter's trimmed
approximations (Vora et al., 2017) for a forest in which any nearer neighbour may be the parent.

- Deleted arcs: vertices that may have lost their support are suspects; a suspect without support is cut off, and what
  it may have supported is suspect in the next round. Then all that was cut off takes offers of its neighbours; what
  still has no root becomes roots, which join each other.
- Inserted arcs that join two components: the better root (class, then scrambled id) takes over the other's tree. The
  class is best for the largest component there was when the forest was made, else by the degree of the root, so that
  mostly the smaller tree is renamed.

Distances are sums of lengths that depend on the vertex, 1 to 16, not numbers of arcs: with equal lengths a grid has
lines of vertices with one possible supporter each, a thousand long, and a deletion on one would cut off the rest of it
in as many rounds. Ids are scrambled so that roots that join each other do so in logarithmically many changes each.

It is not the forest of ``suricate.repair.forest``: there a word is the least that is offered, a suspect needs the
same offer from another neighbour, and the smaller label wins; here any nearer neighbour is enough, and mostly the
larger tree wins (``docs/decisions/forest-of-components.md``).

Work of an update: the arcs of suspects, of what is cut off, and of the trees that are renamed. One launch.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.algorithms.wcc import component_words as words
from suricate.base.devices import Array, Device
from suricate.base.types import ArcList, PlacedArcs, StoreView
from suricate.cuda.program import Program
from suricate.kernels import (
    ARCS,
    NO_ARCS,
    ROUND_WORDS,
    ArcLaunch,
    Struct,
    assembled,
    enum,
    packed,
    packed_arcs,
    program_over,
    resident_blocks,
)

if TYPE_CHECKING:
    from suricate.graph import Graph

HERE = Path(__file__).parent
SOURCE = HERE / "component_forest.cu"
BLOCK = 512  #: threads per block of the cooperative kernels
PLAIN_BLOCK = 256
NULL = np.uint64(0)
ARC_LISTS = 4  # place of the deleted arcs among the arguments of the kernel ``repair``; the inserted ones follow

LAYOUT = Struct(
    "Layout",
    {"root_shift": "int", "root_bits": "int", "length_mask": "long long", "last_rank": "long long",
     "unmix": "uint64_t", "limit": "uint64_t"},
)  # fmt: skip
PRELUDE = "\n".join(
    [
        LAYOUT.declaration,
        ARCS.declaration,
        enum("", {"FOREST_BLOCK": BLOCK, "MIX": words.MIX}),
        f"constexpr int64_t UNREACHED = {words.UNREACHED}ll;",
    ]
)
LABELS = Program(HERE / "component_labels.cu", PRELUDE)


def programs(view: StoreView) -> list[Program]:
    """Return the CUDA programs that read a graph through ``view``; CI compiles them without a GPU."""
    return [LABELS, assembled(view, SOURCE, PRELUDE)]


class ComponentForest:
    """The forest of components of one graph. No method waits for the device.

    Args:
        device: the graph's device.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        xp = device.xp
        self._layout = words.layout_for(0)
        self._word: Array = xp.empty(0, np.int64)
        self._parent: Array = xp.empty(0, np.uint32)
        self._stamp: Array = xp.empty(0, np.uint32)
        self._kept: Array = xp.zeros(2, np.int64)  # epoch of the stamps, greatest distance
        self._components: Array = xp.zeros(1, np.uint64)
        self._repairs: tuple[Graph, Array, ArcLaunch] | None = None  # and what it was made for

    def build(self, graph: Graph, label: Array, largest: Array | None = None) -> None:
        """Build the forest from scratch.

        Args:
            graph: the graph; a directed one has in-edges.
            label: ``uint32[num_vertices]``: for each vertex a member of its component, the same for all of its
                vertices.
            largest: ``uint32[1]``, a vertex of the largest component, or None if that is not known.
        """
        xp, n = self.device.xp, graph.num_vertices
        self._layout = words.layout_for(n)
        self._word, self._parent = xp.empty(n, np.int64), xp.empty(n, np.uint32)
        self._stamp = xp.zeros(n, np.uint32)
        self._kept[...] = 0
        if not n:
            return
        best = xp.empty(n, np.int64)
        found = NULL if largest is None else largest
        self._launch(graph, "build", (label, found, best, self._word, self._parent, self._packed_layout))

    def repair(
        self, graph: Graph, deleted: ArcList | PlacedArcs = NO_ARCS, inserted: ArcList | PlacedArcs = NO_ARCS
    ) -> None:
        """Update the forest after arcs were deleted and inserted; ``graph`` holds the change already.

        An undirected edge is two arcs, a self-loop one.
        """
        self._grow(graph.num_vertices)
        launch = self._repairs_of(graph)
        _clear(self._state_of(graph))
        launch.launch(deleted, inserted)

    def _grow(self, num_vertices: int) -> None:
        """Add vertices, up to ``num_vertices``, each as a root; the caller passes their edges as inserted arcs."""
        before = len(self._word)
        if num_vertices <= before:
            return
        xp = self.device.xp
        grown = xp.empty(num_vertices, np.int64), xp.empty(num_vertices, np.uint32), xp.zeros(num_vertices, np.uint32)
        for new, old in zip(grown, (self._word, self._parent, self._stamp), strict=True):
            new[:before] = old
        self._word, self._parent, self._stamp = grown
        arguments = (self._word, self._parent, np.uint32(before), np.uint32(num_vertices), self._packed_layout)
        self._plain("make_roots", num_vertices - before, arguments)

    @property
    def capacity(self) -> int:
        """The largest number of vertices that its words can name; a graph with more needs a new forest."""
        return min(1 << self._layout.root_bits, 0xFFFFFFFF)

    def labels(self, graph: Graph) -> tuple[Array, Array]:
        """Return the smallest member of each vertex's component, and the number of components.

        Returns:
            ``uint32[num_vertices]``, a new array, and ``uint64[1]`` on the device, overwritten by the next call.
        """
        n = len(self._word)
        label = self.device.xp.empty(n, np.uint32)
        smallest = graph.workspace.array("components.detached", n, np.uint32)
        self._components.data.memset_async(0, self._components.nbytes)
        if n:
            size, layout = np.uint32(n), self._packed_layout
            self._plain("count_roots", n, (self._word, smallest, size, layout, self._components))
            self._plain("find_smallest", n, (self._word, smallest, size, layout))
            self._plain("write_labels", n, (self._word, smallest, label, size, layout))
        return label, self._components

    # -- launches ------------------------------------------------------------------------------------------------------

    @property
    def _packed_layout(self) -> Any:
        return _packed(self._layout)

    def _queues(self, graph: Graph) -> tuple[Array, Array]:
        workspace, n = graph.workspace, graph.num_vertices
        return workspace.array("components.queue0", n, np.uint32), workspace.array("components.queue1", n, np.uint32)

    @staticmethod
    def _state_of(graph: Graph) -> Array:
        return graph.workspace.array("components.state", ROUND_WORDS, np.uint32)

    def _launch(self, graph: Graph, kernel: str, own: tuple) -> None:
        """Launch the cooperative ``kernel`` with the arguments that :meth:`_launch_of` returns for ``own``."""
        program, blocks, arguments = self._launch_of(graph, kernel, own)
        _clear(arguments[-2])
        program.kernel(kernel)((blocks,), (BLOCK,), arguments)

    def _launch_of(self, graph: Graph, kernel: str, own: tuple) -> tuple[Program, int, tuple]:
        """Return the program, the number of blocks and all arguments of the cooperative ``kernel``.

        The arguments are the views of ``graph``, then ``own``, the arguments that only this kernel takes, then those
        that all kernels take: queues, stamps and state.
        """
        g, h, both = _views(graph)
        walk = (packed(g), packed(h), np.int32(both), np.uint32(graph.num_vertices))
        blocks = resident_blocks(self.device.index, BLOCK, 2 if kernel == "build" else 1)
        return _program(g), blocks, (*walk, *own, *self._queues(graph), self._stamp, self._state_of(graph), self._kept)

    def _repairs_of(self, graph: Graph) -> ArcLaunch:
        """Return the launch of the kernel ``repair`` for ``graph``: the cached one, unless it has become invalid.

        It is invalid for another graph, and after an array that it refers to was replaced by another one.
        """
        held, views = self._repairs, _views(graph)[:2]
        if held is None or held[0] is not graph or held[1] is not self._word or not held[2].walks(*views):
            detached = graph.workspace.array("components.detached", graph.num_vertices, np.uint32)
            arcs = packed_arcs(NO_ARCS)
            own = (arcs, arcs, self._word, self._parent, self._packed_layout, detached)
            _, blocks, arguments = self._launch_of(graph, "repair", own)
            launch = ArcLaunch(_program, "repair", (blocks, BLOCK), views, arguments, ARC_LISTS)
            held = self._repairs = graph, self._word, launch
        return held[2]

    def _plain(self, kernel: str, size: int, arguments: tuple) -> None:
        blocks = min(-(-size // PLAIN_BLOCK), resident_blocks(self.device.index, PLAIN_BLOCK, 8))
        LABELS.kernel(kernel)((blocks,), (PLAIN_BLOCK,), arguments)


def _clear(array: Array) -> None:
    array.data.memset_async(0, array.nbytes)


def _program(view: StoreView) -> Program:
    return program_over(view, SOURCE, lambda _: PRELUDE)


def _views(graph: Graph) -> tuple[StoreView, StoreView, bool]:
    """Return the views of out-edges and of in-edges, and whether these differ: the graph is directed."""
    return graph.view("out"), graph.view("in"), graph.directed


@cache
def _packed(layout: words.Layout) -> Any:
    """Return ``layout`` as a value of the C++ struct ``Layout``, to be passed to kernels."""
    return np.array(tuple(layout), LAYOUT.dtype)[()]
