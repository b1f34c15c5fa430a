"""The inputs of calls on the CPU in the form that loops take: views, lists of vertices, arcs, arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.types import ArcList
from suricate.operators.call import Call, Stamps, Start
from suricate.operators.cpu import loops
from suricate.operators.cpu.instances import Traversal
from suricate.state.frontier import Frontier

if TYPE_CHECKING:
    from suricate.graph import Graph

NO_VERTICES = np.empty(0, np.uint32)
NO_STATUS = np.empty(0, np.uint8)


def numba_values(call: Call) -> tuple[Any, ...]:
    """Return the arguments of a call as Numba loops take them; call it once per operator."""
    return tuple([argument.numba_value(value) for argument, value in zip(call.function.arguments, call.values)])  # noqa: B905


def walk_over(graph: Graph, over: str, *, swapped: bool = False) -> tuple[Traversal, Any, Any]:
    """Return how to walk over a direction, and the data of two views, which differ for ``"both"`` only.

    ``swapped``: whether the function sees an edge from the neighbour to the owner of the row, as a pull over in-edges
    does.
    """
    view = graph.view("out" if over == "out" else "in")
    other = graph.view("out") if over == "both" else view
    return Traversal(view, over == "both", swapped), view.data, other.data


class Listed(NamedTuple):
    """Vertices as loops take them: ``size`` ids, or all below ``size`` if ``everything``."""

    ids: np.ndarray
    everything: bool
    size: int


def listed(frontier: Frontier) -> Listed:
    """Return the vertices of ``frontier`` as loops take them; if it is all vertices, without a list of ids."""
    if frontier.is_all:
        return Listed(NO_VERTICES, True, len(frontier))
    return Listed(frontier.buffer, False, len(frontier))


def union_of(graph: Graph, start: Start, stamps: Stamps, queue: np.ndarray, *, ends: bool = False) -> Listed:
    """Return the vertices of ``start``, each once; several frontiers are merged into ``queue``.

    With ``ends`` both ends of the arcs of ``start`` are included. ``queue`` is ``uint32[num_vertices]``; ``stamps``
    gives a new stamp.
    """
    if len(start.frontiers) == 1 and start.frontiers[0].distinct and not (ends and start.arcs):
        return listed(start.frontiers[0])
    step, count, n = stamps.steps(1), 0, graph.num_vertices
    for frontier in start.frontiers:
        if frontier.is_all:
            count = loops.collect_below(n, len(frontier), stamps.array, step, queue, count)
        else:
            count = loops.collect(n, frontier.buffer, len(frontier), stamps.array, step, queue, count)
    for arcs in start.arcs if ends else ():
        src, dst, _, status, wanted, size = arcs_of(arcs)
        count = loops.collect_ends(n, src, dst, status, wanted, size, stamps.array, step, queue, count)
    return Listed(queue, False, count)


def arcs_of(arcs: ArcList) -> tuple[Any, ...]:
    """Return ``src, dst, weight, status, wanted, size`` of a list of arcs, as loops take them.

    Without weights ``src`` takes their place, without a status an empty array.
    """
    src, dst, weight, status, wanted, size = arcs
    return src, dst, src if weight is None else weight, NO_STATUS if status is None else status, wanted, size


def frontier_of(graph: Graph, vertices: np.ndarray, count: int) -> Frontier:
    """Return the first ``count`` of ``vertices``, copied, as a frontier."""
    return Frontier(graph.device, vertices[:count].copy(), num_vertices=graph.num_vertices)
