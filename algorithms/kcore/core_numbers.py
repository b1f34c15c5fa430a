"""Core numbers of a graph, kept current: the largest k such that a vertex is in the k-core.

From scratch: on the CPU a linear-time peel by bins (Batagelj and Zaversnik, "An O(m) algorithm for cores decomposition
of networks", 2003), on CUDA a level-synchronous one in one launch (as ParK, Dasari et al., 2014).

Deletions: a vertex is lowered while fewer neighbours than its number says have at least that number; then its
neighbours of at most its old number are examined again. This is the local definition of core numbers (Montresor et al.,
2013): whatever the order, the numbers fall to the greatest that fit.

Insertions (after Zhang et al., "A fast order-based approach for core maintenance", 2017, for whole batches): the
vertices with the same number k, a *level*, are in an order in which at most k neighbours come after each vertex; all
neighbours on higher levels count among these. As long as that holds, no number can rise. A new edge adds one neighbour
after its earlier end. If a vertex then has more than k neighbours after it, it is a candidate; so is a later vertex
that would have more than k if the candidates before it rose. Candidates that cannot have more than k neighbours among
candidates and higher vertices are dropped, and become the last of their level in the order in which they are dropped.
The remaining ones rise by one, and become the first of the new level, in the order of a peel of themselves. Those that
this peel leaves still have too many neighbours after them, and are the next candidates.

On the CPU vertices first move back in the order, just far enough, which mostly leaves no candidates; on CUDA a round of
that costs more than it saves. If the work exceeds a share of the graph, all numbers are computed from scratch, which is
decided on the device.

Of a directed graph in- and out-edges count alike: the loops walk both.

Work of an update: the arcs of vertices that move, of candidates and of vertices that change, once per level by which
they change.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from suricate.algorithms.shared.both_directions import both_ways, view_of_both
from suricate.base.devices import Array, Device
from suricate.base.types import ArcList, PlacedArcs, StoreView
from suricate.kernels import (
    ARCS,
    NO_ARCS,
    ROUND_WORDS,
    ArcLaunch,
    assembled,
    constants,
    enum,
    loops_over,
    packed,
    packed_arcs,
    plain_arcs,
    program_over,
    resident_blocks,
    without_weights,
)
from suricate.plugins.step import Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from suricate.cuda.program import Program
    from suricate.graph import Graph

Arcs: TypeAlias = ArcList | PlacedArcs | None
HERE = Path(__file__).parent
PEEL, CHANGES, TEMPLATE = HERE / "core_numbers.cu", HERE / "core_changes.cu", HERE / "core_numbers_cpu.py"
EVENTS = HERE / "core_events_cpu.py"
LISTED = ("_support", "_place", "_later")  #: what lists of levels have of each vertex, in this order
BLOCK = 512  #: threads per block of the cooperative kernels
LAST_EPOCH = 1 << 31  #: of stamps and searches, which are 32 bits, when an update begins
PASSES = 8  #: rounds of moving back, and two more per number, before there are candidates, on the CPU
ORIGIN = 1 << 28  #: places begin here after a peel; those that rise come before, those that fall after
FEW = 1 << 15  #: most vertices of a graph whose updates never give up because they take long
SHARE = 4  #: larger ones are on the CPU if it visits more than one in ``SHARE`` arcs,
CUDA_SHARE = 4  #: and on CUDA if it serves more than one in ``CUDA_SHARE`` vertices


def prelude_of_both(view: StoreView) -> str:
    """Return :func:`prelude_of` for kernels that walk in- and out-edges."""
    return f'#include "both_ways.cuh"\n{prelude_of(view)}'


def prelude_of(view: StoreView) -> str:
    """Return the CUDA text between the cursor of ``view`` and the kernels: the struct of arc lists, and constants."""
    linear = f"#define FIND_IS_LINEAR {int(view.find == 'linear')}"
    return "\n".join(
        [
            ARCS.declaration,
            constants({"LAST_NUMBER": LAST_EPOCH, "ORIGIN": ORIGIN}),
            enum("", {"CORE_BLOCK": BLOCK}),
            linear,
        ]
    )


def programs(view: StoreView, *, both: bool = False) -> list[Program]:
    """Return the CUDA programs that read a graph through ``view``, ``both`` ways; CI compiles them without a GPU."""
    prelude = prelude_of_both if both else prelude_of
    return [assembled(view, source, prelude(view)) for source in (PEEL, CHANGES)]


class CoreNumbers:
    """The core numbers of one graph, which has in-edges if it is directed. No method waits for the device.

    Args:
        device: the graph's device.

    Attributes:
        core: ``uint32[num_vertices]``, the numbers.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        xp = device.xp
        self._entry: Array = xp.empty(0, np.uint64)  # on CUDA core and place are its lower and upper halves
        self._sums: Array = xp.empty(0, np.uint64)  # on CUDA, 0 between launches
        self.core: Array = xp.empty(0, np.uint32)
        self._place: Array = xp.empty(0, np.uint32)
        self._support: Array = xp.empty(0, np.uint32)
        self._later: Array = xp.empty(0, np.uint32)
        self._stamp: Array = xp.empty(0, np.uint32)
        self._mark: Array = xp.empty(0, np.uint32)
        self._kept: Array = xp.zeros(5, np.int64)  # see core_numbers_cpu.py and core_changes.cu
        self._listed: Any = None  # levels as lists, for single edges, while no batch has changed their order
        self._updates: tuple[Graph, Array, ArcLaunch, ArcLaunch] | None = None  # and what they were made for

    def compute(self, graph: Graph) -> None:
        """Compute all core numbers from scratch."""
        self._unlist()
        self.grow(graph.num_vertices)
        if not graph.num_vertices:
            return
        if self.device.is_cuda:
            blocks, arguments = self._launch_of(graph, (np.uint32(True), self._entry))
            _program(graph, PEEL)(graph.view("out")).kernel("peel")((blocks,), (BLOCK,), arguments)
        else:
            self._peel(graph)

    def update(self, graph: Graph, deleted: Arcs = None, inserted: Arcs = None) -> bool:
        """Update the numbers after arcs were deleted and inserted; ``graph`` holds the change already.

        Returns:
            False if they were computed from scratch; on CUDA, where the device decides that, always True.
        """
        n = graph.num_vertices
        self._unlist()
        self.grow(n)
        if self.device.is_cuda:
            maintain, peel = self._updates_of(graph)
            maintain.launch(deleted, inserted)
            peel.launch()
            return True
        if self._kept[:3].max() >= LAST_EPOCH:
            self._stamp[...] = self._mark[...] = self._kept[:2] = 0
            self._peel(graph)
            return False
        assert not isinstance(deleted, PlacedArcs)  # which lie on a device
        assert not isinstance(inserted, PlacedArcs)
        if graph.directed:
            deleted, inserted = both_ways(deleted or NO_ARCS), both_ways(inserted or NO_ARCS)
        view, gone, come = _walked(graph), plain_arcs(deleted or NO_ARCS), plain_arcs(inserted or NO_ARCS)
        queues, (listed, left) = self._scratch(graph, "queue0", "queue1"), self._scratch(graph, "listed", "left")
        loops, data = loops_over(view, TEMPLATE), without_weights(view)
        numbers, marks = (self.core, self._support, self._place, self._later), (self._stamp, self._mark, self._kept)
        work = int(self._kept[3]) if n <= FEW else int(self._kept[3]) // SHARE
        loops.tally(*come, *numbers, 1)
        loops.tally(*gone, *numbers, -1)
        loops.lower(data, gone, numbers, self._stamp, self._kept, queues[0])
        if loops.raise_all(data, come, numbers, left, marks, listed, work, *queues):
            return True
        self._peel(graph)
        return False

    def event_step(self, graph: Graph, answer: Callable[..., Any]) -> Step | str:
        """Return how ``suricate.replay`` updates the numbers edge by edge; a text, the reason, if it cannot.

        ``answer`` makes the algorithm's result of the recorded core numbers and the largest ones. After a batch the
        order of levels is made again, by a peel.
        """
        from suricate.algorithms.kcore.core_events_cpu import LEAST, MOST, State

        n, loops = graph.num_vertices, loops_over(graph.view(), EVENTS)
        if n >= LEAST:
            return "kcore has no step for so many vertices"
        if self._listed is None:
            self._peel(graph)
            node, held = np.zeros((n, 8), np.uint32), np.empty(n + 1, np.int64)
            first, last = np.empty((2, n + 1), np.uint32)
            for column, name in enumerate(LISTED):
                node[:, column] = getattr(self, name)
            heap, listed, queue = np.empty((3, n), np.uint32)
            self._listed = State(self.core, node, first, last, held, heap, listed, queue, np.zeros(2, np.int64))
            loops.list_levels(self._listed, self._scratch(graph, "queue1")[0])
            self._kept[2], self._kept[4] = MOST, LEAST
        return Step(loops, self._listed, _recorded, lambda recorded: answer(*recorded), weighted=False)

    def _unlist(self) -> None:
        """Go on with arrays, of which batches take each as a whole, after single edges."""
        if self._listed is not None:
            for column, name in enumerate(LISTED):
                setattr(self, name, self._listed.node[:, column].copy())
            self._listed = None

    def grow(self, num_vertices: int) -> None:
        """Add vertices without edges, up to ``num_vertices``."""
        before = len(self.core)
        if num_vertices <= before:
            return
        numbers = ("_entry", "_sums") if self.device.is_cuda else ("core", "_place")
        for name in (*numbers, "_support", "_later", "_stamp", "_mark"):
            held = getattr(self, name)
            grown = self.device.xp.zeros(num_vertices, held.dtype)
            grown[:before] = held
            setattr(self, name, grown)
        if self.device.is_cuda:
            self.core, self._place = (self._entry.view(np.uint32)[half::2] for half in range(2))

    def _peel(self, graph: Graph) -> None:
        view, n = _walked(graph), graph.num_vertices
        loops, loop = loops_over(view, TEMPLATE), 2 if graph.directed else 1  # entries of a self-loop
        bins = graph.workspace.array("cores.bins", loop * n + 1, np.int64)
        numbers = (self.core, self._support, self._place, self._later)
        scratch = self._scratch(graph, "queue0", "queue1")
        self._kept[3] = loops.peel(without_weights(view), loop, *numbers, *scratch, bins)
        self._kept[2], self._kept[4] = ORIGIN + n, ORIGIN

    def _scratch(self, graph: Graph, *names: str) -> tuple[Array, ...]:
        return tuple(graph.workspace.array(f"cores.{name}", graph.num_vertices, np.uint32) for name in names)

    def _launch_of(self, graph: Graph, own: tuple[Any, ...]) -> tuple[int, tuple[Any, ...]]:
        """Return the number of blocks and all arguments of one of the kernels ``peel`` and ``maintain``.

        ``own`` are the arguments that only this kernel takes. The view of ``graph`` and the number of vertices come
        before them, the arguments of both kernels after them.
        """
        workspace, n = graph.workspace, graph.num_vertices
        states = workspace.array("cores.states", 2 * ROUND_WORDS + 1, np.uint32)
        lists = self._scratch(graph, "rest", "buffer", "queue0", "queue1")
        both = (workspace.array("cores.left", n, np.int32), *lists, self._stamp, states, self._kept)
        return resident_blocks(self.device.index, BLOCK), (*map(packed, _views(graph)), np.uint32(n), *own, *both)

    def _updates_of(self, graph: Graph) -> tuple[ArcLaunch, ArcLaunch]:
        """Return launches of ``maintain`` and, behind it, ``peel`` for ``graph``: cached ones, unless invalid now."""
        views = _views(graph)
        held = self._updates
        if (
            held is None
            or held[0] is not graph
            or held[1] is not self._entry
            or not (held[2].walks(*views) and held[3].walks(*views))
        ):
            n, arcs = graph.num_vertices, packed_arcs(NO_ARCS)
            limit = np.uint32(LAST_EPOCH if n <= FEW else n // CUDA_SHARE)
            numbers = (self._support, self._later, self._mark, self._sums, *self._scratch(graph, "before"))
            blocks, arguments = self._launch_of(graph, (arcs, arcs, limit, *numbers, self._entry))
            lists, changes, whole = len(views) + 1, _program(graph, CHANGES), _program(graph, PEEL)
            maintain = ArcLaunch(changes, "maintain", (blocks, BLOCK), views, arguments, lists)
            blocks, arguments = self._launch_of(graph, (np.uint32(False), self._entry))
            peel = ArcLaunch(whole, "peel", (blocks, BLOCK), views, arguments, lists)
            held = self._updates = graph, self._entry, maintain, peel
        return held[2:]


def _recorded(events: int, vertices: int) -> tuple[Array, ...]:
    return np.empty((events, vertices), np.uint32), np.empty(events, np.int64)


def _program(graph: Graph, source: Path) -> Callable[[StoreView], Program]:
    """Return what returns the program of the file ``source`` for a view of ``graph``."""
    prelude, kind = (prelude_of_both, "both ways") if graph.directed else (prelude_of, "")
    return lambda view: program_over(view, source, prelude, kind)


def _views(graph: Graph) -> tuple[StoreView, ...]:
    """Return the views that kernels take."""
    return (graph.view("out"), graph.view("in")) if graph.directed else (graph.view("out"),)


def _walked(graph: Graph) -> StoreView:
    return view_of_both(graph) if graph.directed else graph.view("out")
