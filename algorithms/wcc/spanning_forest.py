"""Components on the CPU, kept current by a spanning forest (``spanning_forest_cpu.py``): batches and single edges."""

from __future__ import annotations

import weakref
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.kernels import NO_ARCS, loops_over, plain_arcs, without_weights
from suricate.plugins.step import Step, Walked

if TYPE_CHECKING:
    from collections.abc import Callable

    from suricate.base.types import ArcList, PlacedArcs
    from suricate.graph import Graph

LINE = 16  # words in a line of the cache
TEMPLATE = Path(__file__).with_name("spanning_forest_cpu.py")


class State(NamedTuple):
    """The arrays of the spanning forest and its loops, for at least as many vertices as the graph has.

    Attributes:
        node: ``uint32[n, 8]``, a row per vertex, in one cache line: its parent, ``EMPTY`` for roots; its component
            number; the mark of the last cut that visited it; the number of its arcs in both directions; the number of
            its tree edges; its first child, its next and its previous sibling.
        part: ``uint32[n, 4]``, a row per component number: its size, 0 if unused; a lower bound of its smallest vertex,
            if unused the next unused number; a member; whether it is listed in ``stale``.
        label: ``uint32[n]``, the smallest member of each vertex's component when labels were last read.
        changed: ``uint32[k]``, ``counts[7]`` vertices whose component number changed since then (or too many to list).
        stale: ``uint32[k]``, ``counts[8]`` numbers of components whose smallest vertex may have changed since then.
        lower, upper: ``uint32[n]``, the queues of the two sides of a cut; else scratch.
        counts: ``int64[9]``: the number of the last cut, the first unused component number, the number of components,
            work in arcs, the lengths of both queues, steps to ancestors since the trees were built, and the lengths of
            ``changed`` and ``stale``.
    """

    node: np.ndarray
    part: np.ndarray
    label: np.ndarray
    changed: np.ndarray
    stale: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    counts: np.ndarray


class SpanningForest:
    """A spanning forest of one graph, which keeps in-edges or is undirected.

    Trees become deeper as edges come and go. Once steps to ancestors have taken more work than rebuilding all trees
    would, the trees are rebuilt by breadth-first searches, which make them shallow.
    """

    capacity = 1 << 32  #: the number of vertices up to which it may grow

    def __init__(self, graph: Graph) -> None:
        self._state, self._size = _new_state(0), 0
        self._seen: Callable[[], Any] = lambda: None  # returns the view that the loops were taken for
        from suricate.cpu.jit import EntryPoints  # loads Numba

        self._loops, self._code = None, EntryPoints()  # type: tuple[Any, EntryPoints]
        self._grow(graph)
        self._build(graph)

    def step(self, graph: Graph, answer: Callable[..., Any]) -> Step:
        """Return the :class:`Step` of the forest: the loops by which ``suricate.replay`` updates it event by event.

        ``answer(label, count)`` makes the algorithm's result of what the loops have recorded: labels, ``uint32`` with a
        row per event and a column per recorded vertex, and numbers of components, ``int64`` with an entry per event.
        """
        self._grow(graph)
        if self._is_deep(graph):
            self._build(graph)
        self._walked(graph)
        return Step(self._loops, self._state, _recorded, partial(_answer, answer), weighted=False)

    def repair(
        self, graph: Graph, deleted: ArcList | PlacedArcs = NO_ARCS, inserted: ArcList | PlacedArcs = NO_ARCS
    ) -> None:
        """Repair the forest after arcs were deleted and inserted; ``graph`` holds the change, new vertices included."""
        self._grow(graph)
        if self._is_deep(graph):
            self._build(graph)
            return
        given = self._walked(graph), self._state, plain_arcs(inserted), plain_arcs(deleted)
        follow = code = self._loops.follow
        if not [part for part in (*given[2][:3], *given[3][:3]) if not part.flags.c_contiguous]:
            code = self._code.get(follow) or self._code.look_up(follow, follow, given)
        code(*given)  # a store's outcome may be an array with gaps

    def labels(self, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
        """Return new labels, the smallest member of each vertex's component (``uint32[n]``), and the component count.

        The count is ``int64[1]``, a view of the state. Only labels that may have changed since the last call are
        computed.
        """
        _trees().write_labels(self._state)
        return self._state.label[: self._size].copy(), self._state.counts[2:3]

    def labels_at(self, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels of ``vertices`` (ids), ``uint32[k]``, and the component count.

        A label is the smallest member of the vertex's component. The count is ``int64[1]``, a view of the state.
        """
        _trees().write_labels(self._state)
        return self._state.label[vertices], self._state.counts[2:3]

    def _is_deep(self, graph: Graph) -> bool:
        return bool(self._state.counts[6] > graph.num_vertices + graph.most_arcs)

    def _build(self, graph: Graph) -> None:
        walked = self._walked(graph)
        self._loops.build(walked, self._state, self._size)

    def _walked(self, graph: Graph) -> Walked:
        """Return what the loops walk; also set ``_loops`` to those for the cursor of ``graph``."""
        out, into = graph.view("out"), graph.view("in")
        if self._seen() is not out:
            self._seen, self._loops = weakref.ref(out), loops_over(out, TEMPLATE)
        return Walked(without_weights(out), without_weights(into), True, not graph.directed)

    def _grow(self, graph: Graph) -> None:
        """Add rows for new vertices of ``graph``, each a component of its own, and some for later growth."""
        before = len(self._state.node)
        if graph.num_vertices > before:
            grown = _new_state(max(graph.num_vertices, 9 * before // 8))
            for new, old in zip(grown, self._state, strict=True):
                new[: len(old)] = old
            self._state = grown
            _trees().grow(grown, before)
        self._state.counts[2] += graph.num_vertices - self._size
        self._size = graph.num_vertices


def _trees() -> Any:
    from suricate.algorithms.wcc import spanning_trees_cpu

    return spanning_trees_cpu


def _new_state(n: int) -> State:
    label, lower, upper = (np.empty(n, np.uint32) for _ in range(3))
    changed, stale = (np.empty(64 + n // 4, np.uint32) for _ in range(2))
    return State(_rows(n, 8), _rows(n, 4), label, changed, stale, lower, upper, np.zeros(9, np.int64))


def _rows(n: int, width: int) -> np.ndarray:
    """Return an empty ``uint32[n, width]``, aligned such that no row extends over two cache lines."""
    memory = np.empty(n * width + LINE, np.uint32)
    begin = -(memory.ctypes.data >> 2) % LINE
    return memory[begin : begin + n * width].reshape(n, width)


def _recorded(events: int, vertices: int) -> tuple[np.ndarray, ...]:
    return np.empty((events, vertices), np.uint32), np.empty(events, np.int64)


def _answer(result: Callable[..., Any], recorded: tuple[np.ndarray, ...]) -> Any:
    return result(*recorded)
