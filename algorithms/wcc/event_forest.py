"""Components after single edges on the CPU: the step of ``suricate.replay``; see ``event_forest_cpu.py``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.kernels.walking import loops_over, without_weights
from suricate.plugins.step import DELETED, INSERTED, Step, Walked

if TYPE_CHECKING:
    from collections.abc import Callable

    from suricate.graph import Graph
    from suricate.graph.delta import Delta

TEMPLATE = Path(__file__).with_name("event_forest_cpu.py")


class State(NamedTuple):
    """The spanning forest, and what its loops need.

    Attributes:
        parent: ``uint32[n]``, ``EMPTY`` for roots.
        component: ``uint32[n]``, the number of the component.
        size, smallest: ``uint32[n]``, by number: its size, and a lower bound of its smallest vertex.
        free: ``uint32[n]``, the numbers that no component has, ``counts[1]`` of them.
        lower, upper: ``uint32[n]``, queues.
        mark: ``int64[n]``: in which cut, and on which side of it, a vertex was last met.
        counts: ``int64[7]``: the number of the cut, of free numbers and of components, work, lengths of the queues,
            steps to ancestors since the trees were built.
    """

    parent: np.ndarray
    component: np.ndarray
    size: np.ndarray
    smallest: np.ndarray
    free: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    mark: np.ndarray
    counts: np.ndarray


class EventForest:
    """A spanning forest of one graph, which keeps in-edges or is undirected."""

    def __init__(self, graph: Graph) -> None:
        self._state = _new_state(graph.num_vertices)
        self._build(graph)

    def step(self, graph: Graph, answer: Callable[..., Any]) -> Step:
        """Return the step of :func:`suricate.replay`; ``answer(label, count)`` makes the result.

        Trees become deep as edges come and go. Once the climbs to ancestors have taken more work than to find all trees
        again by breadth-first searches, which makes them as shallow as can be, that is done.
        """
        self._grow(graph)
        if self._state.counts[6] > graph.num_vertices + graph.most_arcs:
            self._build(graph)
        return Step(self._loops(graph), self._state, _recorded, partial(_answer, answer))

    def follow(self, graph: Graph, delta: Delta) -> bool:
        """Follow a change of at most one edge; return False, with nothing done, if there are more."""
        if delta.num_inserted + delta.num_deleted > 1 or len(delta.deleted_vertices):
            return False
        self._grow(graph)
        for change, edges in ((INSERTED, delta.inserted), (DELETED, delta.deleted)):
            if len(edges.src):
                self._loops(graph).follow(self._walked(graph), self._state, change, edges.src[0], edges.dst[0])
        return True

    def labels(self, graph: Graph) -> tuple[np.ndarray, int]:
        """Return the smallest member of each vertex's component, ``uint32[n]``, and the number of components."""
        label = np.empty(len(self._state.parent), np.uint32)
        self._loops(graph).write_labels(self._state, label)
        return label, int(self._state.counts[2])

    def _build(self, graph: Graph) -> None:
        self._loops(graph).build(self._walked(graph), self._state)

    def _loops(self, graph: Graph) -> ModuleType:
        return loops_over(graph.view("out"), TEMPLATE)

    def _walked(self, graph: Graph) -> Walked:
        out, into = without_weights(graph.view("out")), without_weights(graph.view("in"))
        return Walked(out, into, True, not graph.directed)

    def _grow(self, graph: Graph) -> None:
        """Add the vertices that the graph has got."""
        before = len(self._state.parent)
        if graph.num_vertices > before:
            grown = _new_state(graph.num_vertices)
            for new, old in zip(grown, self._state, strict=True):
                new[: len(old)] = old
            self._state = grown
            self._loops(graph).grow(grown, before)


def _new_state(n: int) -> State:
    whole = {name: np.empty(n, np.uint32) for name in State._fields[:7]}
    return State(**whole, mark=np.zeros(n, np.int64), counts=np.zeros(7, np.int64))


def _recorded(events: int, vertices: int) -> tuple[np.ndarray, ...]:
    return np.empty((events, vertices), np.uint32), np.empty(events, np.int64)


def _answer(result: Callable[..., Any], recorded: tuple[np.ndarray, ...]) -> Any:
    return result(*recorded)
