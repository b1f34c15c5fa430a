"""Shortest paths by weight from one source: distances, numbers of paths, and Brandes' credits for them.

Distances are float64: the least sums of weights along paths. An edge ``u -> v`` is on a shortest path if ``distance[u]
+ w == distance[v] > distance[u]``, the comparison that NetworkX makes. These edges form no cycle. The turn of a vertex
is the largest number of such edges on a path to it from the source: it has its final number of paths when all vertices
of earlier turns have passed on theirs. Numbers of paths are exact below 2^53; a source from which one is larger is
repeated with factors and powers of 2, turn by turn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.errors import RequirementError, WeightError
from suricate.operators import advance, neighbor_reduce, propagate, vertex_map

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph

EXACT = 2.0**53  #: integers below it are exact in float64


def nearer(u, v, w, distance):
    """Return ``distance[u] + w``, the distance over ``u`` that an edge offers to ``v``."""
    return distance[u] + float(w)


def later(u, v, w, turn, distance):
    """Return ``turn[u] + 1``, an offer to ``v``; 0 if the edge is on no shortest path, by ``w`` and ``distance``.

    The largest offer to ``v`` becomes ``turn[v]``.
    """
    is_tight = distance[v] == distance[u] + float(w) and distance[v] > distance[u]
    return turn[u] + 1 if is_tight else 0


def paths_over(u, v, w, paths, turn, distance):
    """Return ``paths[u]``, the number of shortest paths that reach ``v`` over ``u``; 0 if the edge is on none of them.

    Whether it is on one follows from its weight ``w`` and ``distance``; ``turn`` is not read.
    """
    is_tight = distance[v] == distance[u] + float(w) and distance[v] > distance[u]
    return paths[u] if is_tight else 0.0


def in_turn(v, step, paths, turn, distance):
    """Return whether ``turn[v]`` is this ``step``: then the number of paths to ``v`` is final, and ``v`` passes it on.

    ``paths`` and ``distance`` are not read.
    """
    return turn[v] == step


def credit_over(u, v, w, paths, turn, distance, credit):
    """Return the credit of ``u`` for the shortest paths that continue to ``v``; NaN if their number is not exact.

    ``paths`` are numbers of shortest paths; the credit is 0 if the edge is on no shortest path, by ``w`` and
    ``distance``. ``turn`` is not read.
    """
    if not (distance[v] == distance[u] + float(w) and distance[v] > distance[u]):
        return 0.0
    return paths[u] / paths[v] * (1 + credit[v]) if paths[v] < EXACT else math.nan


# Numbers of paths as part[v] * 2 ** power[v].


def power_over(u, v, w, part, power, distance):
    """Return ``power[u]``, the exponent of the number of paths to ``u``, or -inf if the edge is on no shortest path.

    Whether it is on one follows from its weight ``w`` and ``distance``. The largest exponent offered becomes
    ``power[v]``. ``part`` is not read.
    """
    is_tight = distance[v] == distance[u] + float(w) and distance[v] > distance[u]
    return power[u] if is_tight else -math.inf


def part_over(u, v, w, part, power, distance):
    """Return the number of shortest paths that reach ``v`` over ``u``, divided by ``2 ** power[v]``.

    The number is ``part[u] * 2 ** power[u]``, or 0 if the edge is on no shortest path, by ``w`` and ``distance``.
    """
    is_tight = distance[v] == distance[u] + float(w) and distance[v] > distance[u]
    return part[u] * math.exp2(power[u] - power[v]) if is_tight else 0.0


def rescale(v, part, power, last):
    """Divide ``part[v]``, in place, by 2 as often as its exponent has risen, from ``last[v]`` to ``power[v]``.

    So the number of paths, ``part[v] * 2 ** power[v]``, stays the same. Then ``last[v]`` is set to ``power[v]``.
    """
    part[v] = part[v] * math.exp2(last[v] - power[v])
    last[v] = power[v]


def normalise(v, part, power):
    """Scale the factor ``part[v]`` by a power of 2 into [1, 2), and add the exponent to ``power[v]``, both in place."""
    more = math.floor(math.log2(part[v]))
    part[v] = part[v] * math.exp2(-1.0 * more)
    power[v] = power[v] + more


def scaled_credit_over(u, v, w, part, power, distance, credit):
    """Return the credit of ``u`` for the shortest paths that continue to ``v``; 0 if the edge is on no shortest path.

    As :func:`credit_over`, but the number of shortest paths to a vertex is ``part[v] * 2 ** power[v]``, so that no
    number is too large, and none of the credits NaN. ``distance`` tells whether the edge is on a shortest path.
    """
    if not (distance[v] == distance[u] + float(w) and distance[v] > distance[u]):
        return 0.0
    return part[u] / part[v] * math.exp2(power[u] - power[v]) * (1 + credit[v])


def weight_of(u, v, w):
    """Return the weight ``w`` of an edge as a float."""
    return float(w)


def demand_weights(graph: Graph, label: str, *, positive: bool) -> None:
    """Raise unless all weights of ``graph`` are at least 0 (``positive``: above 0); ``label`` is for messages; waits.

    Raises:
        RequirementError: the graph has no weights.
        WeightError: a weight is too small.
    """
    if graph.weight_dtype is None:
        reason = "weighted=True needs edge weights: build the graph with Graph(..., weight_dtype='float32')"
        raise RequirementError(f"{label}: {reason}")
    if not graph.num_vertices:
        return
    least = float(neighbor_reduce(graph, None, weight_of, reduce="min", dtype=np.float64).min())
    if least < 0 or (positive and least == 0):
        allowed = "above 0" if positive else "of at least 0"
        raise WeightError(f"{label}: an edge has weight {least:g}: weighted=True needs weights {allowed}")


def distances(graph: Graph, source: int) -> Array:
    """Return the distance of every vertex from ``source``, ``float64[num_vertices]``, infinite without a path."""
    found = graph.device.xp.full(graph.num_vertices, math.inf)
    found[source] = 0
    propagate(graph, [source], nearer, out=found, args=(found,), reduce="min")
    return found


def credits(graph: Graph, source: int, *, overflows: bool) -> tuple[Array, Array, tuple[Array, Array | None]]:
    """Return the distance of every vertex from ``source``, and its credit for shortest paths (``float64[n]`` each).

    The third item are the numbers of these paths: factors and exponents of 2 with ``overflows``, else numbers and None.
    The credit of the source is NaN if a number of paths is not exact; with ``overflows`` factors and powers of 2,
    counted turn by turn, avoid that.
    """
    n, xp = graph.num_vertices, graph.device.xp
    distance, turn, credit = distances(graph, source), xp.zeros(n, np.uint32), xp.zeros(n)
    propagate(graph, [source], later, out=turn, args=(turn, distance), reduce="max")
    if overflows:
        return distance, credit, _credit_by_turns(graph, source, turn, distance, credit)
    paths = xp.zeros(n)
    paths[source] = 1
    state = (paths, turn, distance)
    found = propagate(graph, [source], paths_over, out=paths, args=state, reduce="sum", then=in_turn, layers=True)
    assert found.layers is not None
    neighbor_reduce(graph, found.layers.reversed, credit_over, args=(*state, credit), reduce="sum", out=credit)
    return distance, credit, (paths, None)


def _credit_by_turns(graph: Graph, source: int, turn: Array, distance: Array, credit: Array) -> tuple[Array, Array]:
    """Count the paths from ``source``, return them as factors and powers of 2, and write the credits to ``credit``.

    ``turn`` (``uint32[n]``) and ``distance`` (``float64[n]``) are those of the vertices. Waits once per turn.
    """
    xp, n, host = graph.device.xp, graph.num_vertices, graph.device.to_numpy(turn)
    reached = np.flatnonzero(np.isfinite(graph.device.to_numpy(distance)))
    order = reached[np.argsort(host[reached], kind="stable")]
    turns = [xp.asarray(each) for each in np.split(order, np.cumsum(np.bincount(host[order]))[:-1])]
    part, power = xp.zeros(n), xp.full(n, -math.inf)
    part[source], power[source] = 1, 0
    last, args = power.copy(), (part, power, distance)
    for above in (graph.frontier(each) for each in turns):
        vertex_map(graph, above, normalise, args=(part, power))
        risen = advance(graph, above, power_over, out=power, args=args, reduce="max")
        vertex_map(graph, risen, rescale, args=(part, power, last))
        advance(graph, above, part_over, out=part, args=args, reduce="sum")
    for each in reversed(turns):
        credit[each] = neighbor_reduce(graph, each, scaled_credit_over, args=(*args, credit), reduce="sum")
    return part, power


def reference_credits(arcs: tuple[np.ndarray, np.ndarray, np.ndarray], distance: np.ndarray, source: int) -> np.ndarray:
    """Return the credits for the paths from ``source``, ``float64[n]``, by plain loops over edges (for references).

    ``arcs`` are sources, destinations and weights; ``distance`` are the distances from ``source``.
    """
    src, dst, weight = arcs
    tight = np.isfinite(distance[src]) & (distance[src] + weight == distance[dst]) & (distance[dst] > distance[src])
    order = np.argsort(distance[src[tight]], kind="stable")
    edges = list(zip(src[tight][order].tolist(), dst[tight][order].tolist(), strict=True))
    paths: list[Any] = [0] * len(distance)  # of any size
    paths[source], credit = 1, np.zeros(len(distance))
    for u, v in edges:
        paths[v] += paths[u]
    for u, v in reversed(edges):
        credit[u] += paths[u] / paths[v] * (1 + credit[v])
    credit[source] = 0
    return credit
