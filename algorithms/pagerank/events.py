"""PageRank event by event: the state of the loops of ``rank_events_cpu.py``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.kernels import loops_over
from suricate.plugins.step import Step

if TYPE_CHECKING:
    from suricate.graph import Graph

EVENTS = Path(__file__).with_name("rank_events_cpu.py")
REFUSAL = "the weights of a vertex have no usable sum"


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
    residual, pushed = np.zeros((2, n))
    numbers = np.array([0, 0, 0, 0, 0, alpha, graph.most_arcs, *usable, 0], np.float64)
    state = State(share, inv, jumps, spread, residual, pushed, np.empty(n, np.uint32), numbers, weighted)
    loops_over(view, EVENTS).start(view.data, state)
    return state


def step_of(graph: Graph, state: Any, limit: float) -> Step:
    """Return the step that works on ``state``; the residual of ranks of the sum 1 may have the norm ``limit``."""
    from suricate.algorithms.pagerank.rank_events_cpu import LIMIT, TOTAL

    state.numbers[LIMIT] = limit * state.numbers[TOTAL]
    return Step(loops_over(graph.view(), EVENTS), state, _recorded, lambda found: found[0], REFUSAL)


def kappa_of(state: Any) -> float:
    """Return the weight of the jumps for which ``state`` has ranks."""
    from suricate.algorithms.pagerank.rank_events_cpu import KAPPA

    return float(state.numbers[KAPPA])


def _recorded(events: int, vertices: int) -> tuple[np.ndarray, ...]:
    return (np.empty((events, vertices)),)
