"""Random walks: uniform or by weight, with restarts, of first and second order. Computed from scratch after a change.

In every step each walk follows an out-edge of its vertex, with a probability proportional to the edge's weight. The
random numbers are hashes of (seed, walk, step) and, where rates differ, of the neighbour; they depend on nothing else,
in particular not on the device, the backend or the order of storage. A uniform walk takes the i-th of the ascending
neighbours, from sorted copies of all rows or, for few walks, of those that walks come to, in constant time. A weighted
walk takes the neighbour that wins a race of exponential clocks, with the smallest ``-log(number) / weight`` (Efraimidis
and Spirakis, *Weighted random sampling with a reservoir*, 2006); the cost of its steps is the sum of the degrees of the
walks' vertices.

Walks of second order (Grover and Leskovec, *node2vec: scalable feature learning for networks*, 2016): the weight of the
edge back to the previous vertex is divided by ``p``, that of edges to vertices to which the previous vertex has no edge
by ``q``.

The same seed gives the same walks on both devices, up to ties within the rounding of logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import suricate as su
from suricate import hookimpl
from suricate.algorithms.shared.ascending_rows import AscendingRows
from suricate.algorithms.shared.hash import key_of, mixed64
from suricate.algorithms.shared.live import NamedVertices
from suricate.algorithms.shared.sums import Weighting
from suricate.base.parameters import integer, real
from suricate.base.types import EMPTY
from suricate.intake.arrays import as_ids, checked_ids
from suricate.operators import edge_map, vertex_map
from suricate.plugins.algorithm import ID_BYTES, OFFSET_BYTES, Algorithm

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph

NONE = 0xFFFFFFFFFFFFFFFF  #: what no neighbour offers: its lower half is EMPTY
LOW = 0xFFFFFFFF
LENGTH = 10
MOST = 2**31 - 1  #: steps, and walks from a vertex
MANY = 0.125  #: walks per vertex of the graph from which on all rows are copied at once
ARCS_PER_STEP = 1 << 22  #: of the graph on CUDA up to which they are, too: a wait in each step takes longer
MIDDLE, SHIFT = 2.0**500, 2.0**512  #: weights between 1 / MIDDLE and MIDDLE need not be scaled, others are by SHIFT
LARGEST = 1e100  #: of p and q, and the smallest is its reciprocal


def hashed(draw, v):
    """Return 64 random bits for neighbour ``v``: a hash of ``v`` and of ``draw``, the random bits of a walk's step."""
    return mixed64(draw ^ np.uint64(v))


def unit(bits):
    """Return a number above 0 and below 1 made of the upper 52 of 64 random ``bits``; of an array, an array."""
    return ((bits >> 12) + 0.5) * 2.0**-52


def factor_of(weight):
    """Return a power of 2: ``weight`` times this power lies in the middle of float64's range.

    Then the rate of a neighbour, this product divided by p or q, neither overflows nor vanishes.
    """
    return 1.0 if 1 / MIDDLE <= weight <= MIDDLE else SHIFT if weight < 1 else 1 / SHIFT


def exponent_of(weight):
    """Return the exponent by which :func:`bell` corrects a time whose rate was computed from a scaled ``weight``.

    It is 512 plus the exponent of the power of 2, ``factor_of(weight)``, with which the weight was multiplied; added to
    the exponent bits of the time, it makes times with different factors comparable.
    """
    return 512 if 1 / MIDDLE <= weight <= MIDDLE else 1024 if weight < 1 else 0


def ring(bits, rate):
    """Return the time at which an exponential clock of ``rate`` rings, drawn by 64 random ``bits``, as 32 bits.

    These are the upper 32 bits of the time as a float64, and have the same order as the times.
    """
    return np.uint64((-math.log(unit(bits)) / rate).view(np.uint64)) >> 32


def bell(bits, weight, divisor):
    """Return a random time drawn by 64 random ``bits``: exponential of rate ``weight / divisor``, as 32 bits.

    As integers the results have the same order as the times. So that the rate neither overflows nor vanishes, it is
    computed from the weight times a power of 2, which is corrected in the exponent of the time. That adds a constant to
    the exponent of every result: results may be compared with each other, but not with those of :func:`ring`.
    """
    return ring(bits, float(weight) * factor_of(float(weight)) / divisor) + np.uint64(exponent_of(float(weight)) << 20)


def by_weight(i, u, v, w, draw, best):
    """Offer ``v`` as next vertex of walk ``i``: a random time, shorter for larger weights; the earliest wins.

    ``draw[i]`` are random bits of the walk. ``best[i]`` (uint64), the best offer so far, has the time in its upper and
    the vertex in its lower half, and is lowered in place; edges of weight 0 or less make no offer.
    """
    if w > 0:
        su.atomic.min(best, i, bell(hashed(draw[i], v), w, 1.0) << 32 | np.uint64(v))


def of_second_order(i, u, v, w, draw, best, before, graph, p, q, weighted):
    """Offer ``v`` as next vertex of walk ``i``: a random time, by a rate that depends on ``w`` and the vertex before.

    The earliest offer wins: the time is in the upper half of ``best[i]``, the vertex in the lower half.

    Args:
        i: the number of the walk.
        u: the present vertex.
        v: the neighbour.
        w: the weight of the edge.
        draw: ``uint64[walks]``, random bits.
        best: ``uint64[walks]``, the best offers, lowered in place.
        before: ``uint32[walks]``, the vertices before, or ``EMPTY``.
        graph: the graph, to look up edges from ``before[i]``.
        p: divides the rate of going back to ``before[i]``.
        q: divides the rate of vertices that ``before[i]`` has no edge to.
        weighted: whether rates are proportional to weights.
    """
    divisor = 1.0
    if before[i] != EMPTY:
        if v == before[i]:
            divisor = p
        elif (before[i], v) not in graph:
            divisor = q
    if w > 0 or not weighted:
        su.atomic.min(best, i, bell(hashed(draw[i], v), w if weighted else 1, divisor) << 32 | np.uint64(v))


def follow(i, v, at, base, offsets, dst, step, restart):
    """Make a step of walk ``i``, which began at ``v``: to a random neighbour, or back to ``v``.

    Args:
        i: the number of the walk.
        v: its start.
        at: ``uint32[walks]``, the present vertices, changed in place; ``EMPTY`` after the end of a walk.
        base: ``uint64[walks]``, the random bits of each walk.
        offsets: ``int64[n + 1]``, where the row of each vertex begins in ``dst``.
        dst: the neighbours, row by row.
        step: the number of the step.
        restart: the probability of going back to the start.
    """
    if at[i] == EMPTY:
        return
    begin = offsets[at[i]]
    count = np.uint64(offsets[at[i] + 1] - begin)
    if restart > 0 and unit(mixed64(base[i] + np.uint64(2 * step + 1))) < restart:
        at[i] = v
    elif count > 0:
        at[i] = dst[begin + np.int64(count * (mixed64(base[i] + np.uint64(2 * step)) >> 32) >> 32)]
    else:
        at[i] = EMPTY


class RandomWalks(Algorithm):
    """Random walks along out-edges: their vertices, ``uint32[walks, length + 1]``.

    Walk ``i`` begins at ``starts[i // walks_per_vertex]``. Edges of weight 0 or less are never taken. Entries after a
    vertex without an edge to take are EMPTY.

    Args:
        length: number of steps.
        walks_per_vertex: walks from each start.
        starts: ids of vertices; None: all vertices; walks from deleted vertices are all EMPTY.
        restart: probability of going back to the start instead of a step, in [0, 1).
        p: divides the weight of the edge back to the previous vertex (node2vec's return parameter), from 1e-100 to
            1e100.
        q: divides the weights of edges to vertices to which the previous one has no edge (in-out parameter), from
            1e-100 to 1e100.
        weighted: True uses edge weights, False ignores them; None uses them if the graph has any.
        seed: of the random numbers.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range.
        DTypeError, ShapeError, VertexRangeError: ``starts`` are not ids of live vertices. If one is deleted later,
            reading a tracker's result raises until the vertex is live again.
        RequirementError: ``weighted=True`` on a graph without weights.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 0], device="cpu")
        >>> g.compute("random_walks", starts=[0, 1], length=4).tolist()
        [[0, 1, 2, 0, 1], [1, 2, 0, 1, 2]]
    """

    name = "random_walks"
    scale_free = True

    def __init__(
        self,
        length: int = LENGTH,
        walks_per_vertex: int = 1,
        starts: Any = None,
        restart: float = 0.0,
        p: float = 1.0,
        q: float = 1.0,
        weighted: bool | None = None,
        seed: int = 0,
    ) -> None:
        self.length = integer("random_walks: length", length, low=0, high=MOST)
        self.walks_per_vertex = integer("random_walks: walks_per_vertex", walks_per_vertex, low=1, high=MOST)
        self.starts = None if starts is None else host_ids(starts)
        self._named = None if self.starts is None else NamedVertices("random_walks: starts", self.starts)
        self.restart = real("random_walks: restart", restart, low=0, high=1)
        self.p = real("random_walks: p", p, low=1 / LARGEST, high=LARGEST, include_high=True)
        self.q = real("random_walks: q", q, low=1 / LARGEST, high=LARGEST, include_high=True)
        self.weighting = Weighting("random_walks", weighted)
        self.key = key_of(integer("random_walks: seed", seed))
        self._walks: Array = None  # uint32[length + 1, walks]

    def compute(self, graph: Graph) -> None:
        """Make all walks, one step of all at a time.

        Waits for the device if ``starts`` are given and there may be deleted vertices, to check that all are live. If
        the walks are uniform (without weights, p and q), it also waits to copy rows: once, or in every step if there
        are few walks.
        """
        self.weighting.demand(graph)
        xp = graph.device.xp
        at = starts = first_vertices(xp, self.starts, graph.num_vertices, self.walks_per_vertex)
        self._walks = xp.empty((self.length + 1, len(starts)), np.uint32)
        self._walks[0] = starts
        if self._named is not None:
            self._named.note(graph)
            self._named.demand()
        elif graph.most_deleted:
            self._walks[0] = xp.where(graph.live_arrays.mask[starts], starts, np.uint32(EMPTY))
        base = mixed64(xp.arange(len(starts), dtype=np.uint64) + np.uint64(self.key))
        if graph.partition is None and self._is_uniform(graph) and self._copies_all(graph, len(starts)):
            self._follow(graph, starts, base)
            return
        before, choose = xp.full(len(starts), EMPTY, np.uint32), self._choice(graph, len(starts))
        for step in range(self.length if len(starts) else 0):
            after = choose(at, mixed64(base + np.uint64(2 * step)), before)
            if self.restart:
                back = unit(mixed64(base + np.uint64(2 * step + 1))) < self.restart
                after = xp.where(back, starts, after)
                after = xp.where(self._walks[step] == EMPTY, np.uint32(EMPTY), after)
                before = xp.where(back, np.uint32(EMPTY), at)
            else:
                before = at
            self._walks[step + 1] = after
            at = xp.where(after == EMPTY, at, after)

    def _is_uniform(self, graph: Graph) -> bool:
        return self.p == 1 and self.q == 1 and not self.weighting.applies(graph)

    def _copies_all(self, graph: Graph, walks: int) -> bool:
        """Return whether to copy all rows at once for ``walks`` walks, instead of only the rows that walks reach.

        Copying only those makes CUDA wait in every step.
        """
        if self.length == 0 or walks >= MANY * graph.num_vertices:
            return self.length > 0
        return graph.device.is_cuda and graph.most_arcs <= self.length * ARCS_PER_STEP

    def _follow(self, graph: Graph, starts: Array, base: Array) -> None:
        """Make all steps of uniform walks, with copies of all rows in ascending order.

        ``starts``: the first vertex of each walk, ``uint32[walks]``; ``base``: random bits of each, ``uint64[walks]``.
        Writes the vertices after each step to ``_walks``.
        """
        rows = AscendingRows(graph, all_at_once=True)
        places = graph.frontier(starts, trusted=True, distinct=False)
        at = self._walks[0].copy()  # the same array in all calls, which makes them cheap for the host
        for step in range(self.length):
            vertex_map(graph, places, follow, args=(at, base, rows.offsets, rows.dst, step, self.restart))
            self._walks[step + 1] = at

    def _choice(self, graph: Graph, walks: int) -> Callable[[Array, Array, Array], Array]:
        """Return the function that chooses the next vertices of ``walks`` walks in ``graph``.

        It takes three arrays with an entry per walk: present vertices, random bits, and the vertices before them.
        """
        if self._is_uniform(graph):
            return partial(self._pick, graph, AscendingRows(graph, all_at_once=self._copies_all(graph, walks)))
        is_first_order = self.p == 1 and self.q == 1
        fn = by_weight if is_first_order else of_second_order
        more = () if is_first_order else (graph, self.p, self.q, self.weighting.applies(graph))
        return partial(self._race, graph, fn, more, graph.device.xp.empty(walks, np.uint64))

    def _race(
        self, graph: Graph, fn: Any, more: tuple[Any, ...], best: Array, at: Array, draw: Array, before: Array
    ) -> Array:
        """Return the next vertex of every walk, ``uint32[walks]``; ``EMPTY`` if it has no edge to take.

        Each neighbour of the walk's present vertex makes an offer by ``fn``, and the best offer wins.

        Args:
            graph: the graph.
            fn: the edge function that makes the offers.
            more: its arguments after ``before``; empty if it does not take ``before`` either.
            best: ``uint64[walks]``, scratch.
            at: ``uint32[walks]``, the present vertices.
            draw: ``uint64[walks]``, random bits.
            before: ``uint32[walks]``, the vertices before.
        """
        best.fill(NONE)
        places = graph.frontier(at, trusted=True, distinct=False)
        edge_map(graph, places, fn, args=(draw, best, *((before, *more) if more else ())))
        return (best & np.uint64(LOW)).astype(np.uint32)

    def _pick(self, graph: Graph, rows: AscendingRows, at: Array, draw: Array, before: Array) -> Array:
        """Return a neighbour of each of the vertices ``at``, selected from ``rows`` by the random bits ``draw``.

        On a divided graph it comes from the rank that has the row. ``before`` is not used.
        """
        after = rows.choose(at, draw)
        if graph.partition is None:
            return after
        wide = after.astype(np.uint64)
        graph.partition.comm.smallest(wide)
        return wide.astype(np.uint32)

    @property
    def result(self) -> ReturnedArray:
        """The walks in a new array."""
        return self._walks.T.copy()

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def reference(
        cls,
        src: np.ndarray,
        dst: np.ndarray,
        weight: np.ndarray | None,
        num_vertices: int,
        directed: bool,
        *,
        live: np.ndarray | None = None,
        **params: Any,
    ) -> np.ndarray:
        """Return the same walks, computed by NumPy from the same random bits."""
        asked = cls(**params)
        p, q = asked.p, asked.q
        order = np.lexsort((dst, src))
        src, dst = src[order].astype(np.int64), dst[order]
        by_weights = weight is not None and asked.weighting.asked is not False
        rates = weight[order].astype(np.float64) if by_weights and weight is not None else np.ones(len(src))
        begin = np.searchsorted(src, np.arange(num_vertices + 1))
        keys = src << 32 | dst
        first = first_vertices(np, asked.starts, num_vertices, asked.walks_per_vertex)
        base = mixed64(np.arange(len(first), dtype=np.uint64) + np.uint64(asked.key))
        walks, before = [first], np.full(len(first), EMPTY, np.uint32)
        at, alive = first, np.ones(len(first), bool) if live is None else live[first]
        walks[0] = np.where(alive, first, np.uint32(EMPTY))
        for step in range(asked.length):
            count = begin[at.astype(np.int64) + 1] - begin[at]
            walk = np.repeat(np.arange(len(at)), count)
            edge = np.repeat(begin[at] - np.cumsum(count) + count, count) + np.arange(count.sum())
            rate, divisor, last = rates[edge], np.ones(len(edge)), before[walk].astype(np.int64)
            bits = mixed64(mixed64(base + np.uint64(2 * step))[walk] ^ dst[edge].astype(np.uint64))
            if p != 1 or q != 1:
                known = np.isin(last << 32 | dst[edge], keys)
                factor = np.where(last == dst[edge], p, np.where(known, 1.0, q))
                divisor = np.where(last == EMPTY, 1.0, factor)
            bell_at = bells(bits, rate, divisor)
            offer = bell_at << 32 | dst[edge].astype(np.uint64)
            best = np.full(len(at), NONE, np.uint64)
            np.minimum.at(best, walk[rate > 0], offer[rate > 0])
            if not by_weights and p == q == 1:
                drawn = (mixed64(base + np.uint64(2 * step)) >> np.uint64(32)) * count.astype(np.uint64)
                some, place = np.flatnonzero(count), (drawn >> np.uint64(32)).astype(np.int64)
                best[some] = dst[begin[at[some].astype(np.int64)] + place[some]]
            after = (best & np.uint64(LOW)).astype(np.uint32)
            back = unit(mixed64(base + np.uint64(2 * step + 1))) < asked.restart
            after = np.where(alive, np.where(back, first, after), np.uint32(EMPTY))
            before = np.where(back, np.uint32(EMPTY), at)
            alive &= after != EMPTY
            at = np.where(after == EMPTY, at, after)
            walks.append(after)
        return np.stack(walks, axis=1)

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark: walks from half of all vertices, or a thousand, whatever ``centre``."""
        return {"starts": np.arange(min(num_vertices // 2 + 1, 1000))}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes are moved at least: the edges of all vertices that walks were at, and the walks."""
        visited = self._walks[:-1][self._walks[:-1] != EMPTY]
        edges = int(graph.degrees()[visited].sum())
        per_edge = ID_BYTES + self.weighting.bytes_per_edge(graph)
        return edges * per_edge + visited.size * (OFFSET_BYTES + ID_BYTES)


def bells(bits: np.ndarray, weight: np.ndarray, divisor: Any) -> np.ndarray:
    """Return a random time per entry, as :func:`bell` for arrays: exponential of rate ``weight / divisor``; ``uint64``.

    The times are 32 bits each, drawn by the 64 ``bits`` of the entry; ``divisor`` is a number or an array. Weights that
    are not positive give meaningless results.
    """
    small, large = weight < 1 / MIDDLE, weight > MIDDLE
    factor, exponent = np.select([small, large], [SHIFT, 1 / SHIFT], 1.0), np.select([small, large], [1024, 0], 512)
    with np.errstate(all="ignore"):
        time = -np.log(unit(bits)) / (weight * factor / divisor)
    return (time.view(np.uint64) >> np.uint64(32)) + (exponent.astype(np.uint64) << np.uint64(20))


def host_ids(starts: Any) -> np.ndarray:
    """Return a copy of the ids ``starts`` on the host; whether they are vertices of the graph is checked later."""
    ids = as_ids(starts, "random_walks: starts")
    return np.array(ids.get() if hasattr(ids, "get") else ids)


def first_vertices(xp: Any, starts: np.ndarray | None, num_vertices: int, walks_per_vertex: int) -> Array:
    """Return the vertex that each walk begins at, ``uint32[walks]``, as an array of ``xp``.

    Each of ``starts`` (None: all ``num_vertices`` vertices) occurs ``walks_per_vertex`` times in a row.
    """
    if starts is not None:
        return xp.repeat(xp.asarray(checked_ids(starts, num_vertices, "random_walks: starts")), walks_per_vertex)
    return xp.repeat(xp.arange(num_vertices, dtype=np.uint32), walks_per_vertex)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`RandomWalks`, which registers it as a plugin."""
    return [RandomWalks]
