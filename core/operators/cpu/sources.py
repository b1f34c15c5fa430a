"""The inputs of a call on the CPU, converted to what compiled loops take: views, vertices, arcs and arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suricate.base.types import ArcList, StoreView
from suricate.graph import Graph
from suricate.kernels.walking import plain_view
from suricate.operators.call import Call, Stamps, Start
from suricate.operators.cpu import collecting
from suricate.operators.cpu.instances import Traversal
from suricate.state.frontier import Frontier

NO_VERTICES = np.empty(0, np.uint32)
NO_STATUS = np.empty(0, np.uint8)


def numba_values(call: Call) -> tuple[Any, ...]:
    """Return the functions' arguments for Numba loops; each call moves scalars on to their next total."""
    return tuple([argument.numba_value(value) for argument, value in zip(call.function.arguments, call.values)])  # noqa: B905


def seen(view: StoreView, call: Call) -> StoreView:
    """Return ``view`` as the loops of ``call`` take it: without weights, if its edge function reads none."""
    return view if call.function.reads_weight and view.weight_dtype is not None else plain_view(view)


def walk_over(graph: Graph, over: str, call: Call, *, swapped: bool = False) -> tuple[Traversal, Any, Any]:
    """Return ``(walk, g, h)`` for a walk of ``graph`` over ``over``: a :class:`Traversal`, and the data of two views.

    ``g`` is the view ``over``, and ``h`` the same; if ``over`` is ``"both"``, ``g`` has the in-edges and ``h`` the
    out-edges. ``swapped`` says that the edge function gets the neighbour as ``u``, as in a pull over in-edges.
    """
    view = seen(graph.view("out" if over == "out" else "in"), call)
    other = seen(graph.view("out"), call) if over == "both" else view
    return Traversal(view, over == "both", swapped), view.data, other.data


class Listed(NamedTuple):
    """A set of vertices as loops take it: the first ``size`` of ``ids``; if ``everything``, all ids below ``size``."""

    ids: np.ndarray
    everything: bool
    size: int


def listed(frontier: Frontier) -> Listed:
    """Return ``frontier`` as :class:`Listed`, without copying its ids."""
    if frontier.is_all:
        return Listed(NO_VERTICES, True, len(frontier))
    return Listed(frontier.buffer, False, len(frontier))


def union_of(graph: Graph, start: Start, stamps: Stamps, queue: np.ndarray, *, ends: bool = False) -> Listed:
    """Return the vertices of the frontiers of ``start``, each once.

    If ``ends`` is set, both ends of the arcs of ``start`` are included. A single frontier without repeats is returned
    without copying its ids; otherwise the vertices are written to ``queue``, ``uint32[num_vertices]``, and stamped in
    ``stamps``, by which duplicates are found.
    """
    if len(start.frontiers) == 1 and start.frontiers[0].distinct and not (ends and start.arcs):
        return listed(start.frontiers[0])
    step, count, n = stamps.steps(1), 0, graph.num_vertices
    for frontier in start.frontiers:
        if frontier.is_all:
            count = collecting.collect_below(n, len(frontier), stamps.array, step, queue, count)
        else:
            count = collecting.collect(n, frontier.buffer, len(frontier), stamps.array, step, queue, count)
    for arcs in start.arcs if ends else ():
        src, dst, _, status, wanted, size = arcs
        status = NO_STATUS if status is None else status
        count = collecting.collect_ends(n, src, dst, status, wanted, size, stamps.array, step, queue, count)
    return Listed(queue, False, count)


def arcs_of(arcs: ArcList, call: Call) -> tuple[Any, ...]:
    """Return ``(src, dst, weight, status, wanted, size)`` of ``arcs`` for a loop, with arrays in place of None.

    If the edge function of ``call`` reads no weights, ``weight`` is another array.
    """
    src, dst, weight, status, wanted, size = arcs
    weight = weight if call.function.reads_weight else None
    return src, dst, src if weight is None else weight, NO_STATUS if status is None else status, wanted, size


def frontier_of(graph: Graph, vertices: np.ndarray, count: int) -> Frontier:
    """Return the first ``count`` entries of ``vertices`` as a frontier of ``graph``; they are copied."""
    return Frontier._of(graph.device, vertices[:count].copy(), num_vertices=graph.num_vertices)
