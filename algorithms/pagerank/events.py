"""PageRank event by event, and batch by batch: the state of the loops of ``rank_events_cpu.py``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.graph.row_copies import copied_rows
from suricate.kernels import loops_over
from suricate.plugins.step import Step

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

EVENTS = Path(__file__).with_name("rank_events_cpu.py")
REFUSAL = "the weights of a vertex have no usable sum"
MOST_SCALE = 1e6  #: the sum of ranks that are followed batch by batch changes with the graph; others start anew


def limit_of(tol: float, frontier_tol: float, alpha: float, directed: bool) -> float:
    """Return the norm of the residual by which ranks of the sum 1 are within the bound of whole passes.

    On a directed graph half of it: the sum of the ranks may be wrong by as much as they are.
    """
    return (tol + frontier_tol) * alpha / (1 + directed)


def event_state(
    graph: Graph, shares: tuple[Any, ...], alpha: float, usable: tuple[float, float], weighted: bool
) -> Any:
    """Return the state of the loops, with the residual of the ranks of ``graph``.

    Args:
        graph: a graph on the CPU.
        shares: shares, inverse weights, jumps and their stride.
        alpha: the probability of following an edge.
        usable: the least and the largest usable sum of out-weights.
        weighted: whether arcs have weights.
    """
    from suricate.algorithms.pagerank.rank_events_cpu import State

    n, view = graph.num_vertices, graph.view()
    share, inv, jumps, spread = shares
    numbers = np.array([0, 0, 0, 0, 0, alpha, graph.most_arcs, *usable, 0], np.float64)
    state = State(share, inv, jumps, spread, np.zeros(n), np.empty(n, np.uint32), numbers, weighted)
    loops_over(view, EVENTS).start(view.data, state)
    return state


def step_of(graph: Graph, state: Any, limit: float) -> Step:
    """Return the step that works on ``state``; the residual of ranks of the sum 1 may have the norm ``limit``."""
    from suricate.algorithms.pagerank.rank_events_cpu import LIMIT, TOTAL

    state.numbers[LIMIT] = limit * state.numbers[TOTAL]
    return Step(loops_over(graph.view(), EVENTS), state, _recorded, lambda found: found[0], REFUSAL)


def fitted(state: Any, num_vertices: int, jumps: np.ndarray, spread: int) -> Any:
    """Return the state for other live vertices, to which jumps are alike; those that come have no rank yet.

    The weight of the jumps becomes such that those to vertices that stay are the same, and so are their residuals.
    """
    from suricate.algorithms.pagerank.rank_events_cpu import KAPPA

    known = len(state.share)
    share, residual, inv = np.zeros(num_vertices), np.zeros(num_vertices), np.full(num_vertices, -1.0)
    share[:known], residual[:known], inv[:known] = state.share, state.residual, state.inv
    kappa = state.numbers[KAPPA]
    residual[:known] -= kappa * state.jumps
    state.numbers[KAPPA] = kappa = kappa * state.jumps.max() / jumps.max()
    residual += kappa * jumps
    listed = np.empty(num_vertices, np.uint32)
    return state._replace(share=share, inv=inv, jumps=jumps, spread=spread, residual=residual, listed=listed)


def pushed(graph: Graph, state: Any, arcs: tuple[np.ndarray, ...], limit: float) -> int:
    """Follow a batch, and push residuals until their norm is at most ``limit`` for ranks of the sum 1.

    Args:
        graph: the graph, which holds the changes.
        state: changed in place.
        arcs: sources, destinations, and by how much their weights rose.
        limit: the norm.

    Returns:
        How many passes over all arcs visit as many arcs; -1: use another method, as the norm is still larger, or the
        arcs of a vertex have no usable weight.
    """
    from suricate.algorithms.pagerank.rank_events_cpu import ARCS, LIMIT, NORM, TOTAL, WORK

    numbers = state.numbers
    numbers[ARCS], numbers[LIMIT] = graph.most_arcs, limit * numbers[TOTAL]
    if not 1 / MOST_SCALE < numbers[TOTAL] < MOST_SCALE:
        return -1
    with copied_rows(graph):
        view = graph.view()
        done = loops_over(view, EVENTS).follow_all(view.data, state, *arcs, np.empty(len(arcs[0])))
    return -1 if done < 0 or not numbers[NORM] <= numbers[LIMIT] else math.ceil(numbers[WORK] / max(numbers[ARCS], 1))


def changed_arcs(delta: Delta, *, weighted: bool) -> tuple[np.ndarray, ...]:
    """Return sources and destinations of the arcs of ``delta``, ``uint32[k]``, and by how much their weights rose."""
    kinds = {"deleted": -1.0, "inserted": 1.0} | ({"replaced_old": -1.0, "replaced": 1.0} if weighted else {})
    parts = []
    for kind, sign in kinds.items():
        found = delta.arcs(kind)
        at = slice(found.size) if found.status is None else found.status[: found.size] == found.wanted
        src, dst = found.src[: found.size][at], found.dst[: found.size][at]
        weight = None if found.weight is None or not weighted else found.weight[: found.size][at]
        by = np.full(len(src), sign) if weight is None else sign * weight
        parts.append((src, dst, by))
    src, dst, by = zip(*parts, strict=True)
    return np.concatenate(src), np.concatenate(dst), np.concatenate(by, dtype=np.float64)


def kappa_of(state: Any) -> float:
    """Return the weight of the jumps for which ``state`` has ranks."""
    from suricate.algorithms.pagerank.rank_events_cpu import KAPPA

    return float(state.numbers[KAPPA])


def _recorded(events: int, vertices: int) -> tuple[np.ndarray, ...]:
    return (np.empty((events, vertices)),)
