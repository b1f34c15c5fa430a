"""A colouring kept current: neighbours have different colours, and there are at most as many as the largest degree + 1.

Vertices are ordered by a hash of their ids and the seed, and each has the smallest colour that no earlier neighbour
has: the greedy colouring in a random order (Jones and Plassmann, *A parallel graph coloring heuristic*, 1993). From
scratch, vertices are coloured in layers, each vertex after all its earlier neighbours. A pull sees a window of 61
colours, as bits of one integer; vertices for which all of them are taken are coloured with the next window: O(m) per
window.

After a change, in rounds, only the ends of the changed edges examine all their neighbours. A vertex that has the colour
of an earlier neighbour, or finds a smaller free colour, takes the first free one. If two neighbours take the same
colour in one round, the later one tries again. No other vertex changes: the work is the sum of the ends' degrees. The
colours depend on the history, and the colour of a vertex never exceeds the number of its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.hash import key_of, mixed
from suricate.algorithms.shared.vertex_values import resized
from suricate.base.parameters import integer
from suricate.graph.row_copies import copied_rows
from suricate.operators import converge, iterate, neighbor_reduce, propagate, vertex_map
from suricate.plugins.algorithm import Algorithm, Requirements, pull_bytes
from suricate.state.frontier import Frontier
from suricate.state.scalar import Scalar

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

STAY = 1  #: stay active in the next round
WINDOW = 61
ALL_TAKEN, MOVED, CLASH = (1 << WINDOW) - 1, 1 << WINDOW, 1 << (WINDOW + 1)
NONE = 0xFFFFFFFF  #: no colour yet


def seen(colour, window):
    """Return the bit of a colour in the window, 0 outside of it."""
    return 1 << (colour - window) if window <= colour < window + WINDOW else 0


def first_free(taken):
    """Return the position of the lowest bit that is not set, from the exponent of that power of two as a float."""
    return (np.float64(~taken & (taken + 1)).view(np.int64) >> 52) - 1023


def is_earlier(u, v, w, key):
    """Count an earlier neighbour."""
    return 1 if u != v and mixed(u, key) < mixed(v, key) else 0


def has_none(v, earlier):
    """Return whether ``v`` has no earlier neighbours."""
    return earlier[v] == 0


def goes_before(u, v, w, before, earlier, key):
    """Count ``u``, whose turn it is, for a later neighbour."""
    return 1 if u != v and mixed(u, key) < mixed(v, key) else 0


def is_next(v, step, before, earlier, key):
    """Return whether all earlier neighbours of ``v`` have had their turns."""
    return before[v] == earlier[v]


def taken_before(u, v, w, colour, window, left, key):
    """Return the bit of an earlier neighbour's colour, for vertices without a colour."""
    if colour[v] != NONE or u == v or mixed(u, key) >= mixed(v, key):
        return 0
    return seen(colour[u], window[0])


def take_turn(v, taken, colour, window, left, key):
    """Take the first free colour of the window; count vertices that need a higher one."""
    if colour[v] == NONE:
        if taken == ALL_TAKEN:
            left.add(1)
        else:
            colour[v] = window[0] + first_free(taken)


def move_on(v, window):
    """Go on to the next window."""
    window[v] = window[v] + WINDOW


def taken_by(u, v, w, colour, window, moved, chosen, following, key):
    """Return the bit of a neighbour's colour, and two flags.

    ``CLASH``: the neighbour is earlier and has the colour of ``v``. ``MOVED``, beyond the first window: it has just
    changed its colour.
    """
    if u == v:
        return 0
    clash = colour[u] == colour[v] and mixed(u, key) < mixed(v, key)
    return seen(colour[u], window[v]) | (CLASH if clash else 0) | (MOVED if moved[u] and window[v] > 0 else 0)


def choose(v, found, colour, window, moved, chosen, following, key):
    """Keep the colour, take the first free one of the window, or try another window in the next round."""
    chosen[v] = colour[v]
    following[v] = 0
    if found & MOVED:
        return STAY
    taken = found & ALL_TAKEN
    if taken == ALL_TAKEN:
        if not found & CLASH and colour[v] < window[v] + WINDOW:
            return 0
        following[v] = window[v] + WINDOW
        return STAY
    if not found & CLASH and colour[v] <= window[v] + first_free(taken):
        return 0
    chosen[v] = window[v] + first_free(taken)
    return STAY  # a neighbour may have taken the same colour; the next round also clears ``moved``


def publish(v, colour, window, moved, chosen, following, key):
    """Publish the chosen colour to the neighbours."""
    moved[v] = 1 if chosen[v] != colour[v] else 0
    colour[v] = chosen[v]
    window[v] = following[v]


ROUNDS = ("colour", "window", "moved", "chosen", "following")  #: what rounds read and write, an array each


class Neighbours(NamedTuple):
    """Pairs of neighbours."""

    u: np.ndarray
    v: np.ndarray
    num_vertices: int


class Coloring(Algorithm):
    """Colours from 0 on, ``uint32[num_vertices]``; edges count in both directions, self-loops do not.

    A directed graph needs in-edges.

    Args:
        seed: determines the order of the vertices.

    Raises:
        ParameterError: ``seed`` is not an integer.
        RequirementError: a directed graph without in-edges.
    """

    name = "coloring"
    uses_weights = False
    requires = Requirements(in_edges=True)
    update_kind = "repair"

    def __init__(self, seed: int = 0) -> None:
        self.key = key_of(integer("coloring: seed", seed))
        self._state: tuple[Array, ...] = ()  # as ROUNDS says

    def compute(self, graph: Graph) -> None:
        """Colour the vertices in layers, each vertex after its earlier neighbours, once per window of colours."""
        xp, n = graph.device.xp, graph.num_vertices
        colour = xp.full(n, NONE, np.uint32)
        self._state = (colour, *(xp.zeros(n, np.uint32) for _ in range(4)))
        if n > 0:
            with copied_rows(graph):
                self._take_turns(graph)

    def _take_turns(self, graph: Graph) -> None:
        xp, n, colour = graph.device.xp, graph.num_vertices, self._state[0]
        earlier = neighbor_reduce(graph, is_earlier, args=(self.key,), over="both", dtype="uint32")
        before, first = xp.zeros(n, np.uint32), vertex_map(graph, None, has_none, args=(earlier,))
        turns = propagate(
            graph, first, goes_before, before, args=(before, earlier, self.key), reduce="sum", over="both",
            then=is_next, layers=True,
        )  # fmt: skip
        window, left = xp.zeros(1, np.uint32), Scalar("sum", "int64", graph)
        only, arguments = Frontier.from_vertices(graph, [0]), (colour, window, left, self.key)

        def take_turns() -> None:
            neighbor_reduce(
                graph, taken_before, args=arguments, reduce="or", over="both", vertices=turns.layers, then=take_turn
            )
            vertex_map(graph, only, move_on, args=(window,))

        iterate(take_turns, until=left, max_steps=n)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Recolour the ends of changed edges."""
        self._state = tuple(resized(graph.device.xp, array, graph.num_vertices, 0) for array in self._state)
        converge(
            graph, (delta.edges("inserted"), delta.edges("deleted")), taken_by, args=(*self._state, self.key),
            reduce="or", over="both", then=choose, commit=publish,
        )  # fmt: skip

    def state(self) -> dict[str, Array]:
        """Return the arrays of the rounds: which colours vertices have depends on earlier ones."""
        return dict(zip(ROUNDS, self._state, strict=True))

    def restore(self, graph: Graph, state: Mapping[str, Array]) -> None:
        """Go on from the arrays of the rounds."""
        self._state = tuple(resized(graph.device.xp, state[name], graph.num_vertices, 0) for name in ROUNDS)

    @property
    def result(self) -> Array:
        """The colour of every vertex in a new array."""
        return self._state[0].copy()

    def at(self, vertices: Array) -> Array:
        """Return the colours of some vertices."""
        return self._state[0][vertices]

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
        **_: Any,
    ) -> Neighbours:
        """Return the data that every colouring is checked with: the pairs of neighbours, both ways, each once."""
        other = src != dst
        ends = np.stack((src[other], dst[other])).astype(np.int64)
        u, v = np.unique(np.concatenate((ends, ends[::-1]), axis=1), axis=1)
        return Neighbours(u, v, num_vertices)

    @classmethod
    def mismatch(cls, result: Any, reference: Any, **params: Any) -> str | None:
        """Neighbours must differ, and no vertex may have a larger colour than it has neighbours."""
        u, v, num_vertices = reference
        if result.shape != (num_vertices,):
            return f"result has shape {result.shape} instead of {(num_vertices,)}"
        alike = np.count_nonzero(result[u] == result[v])
        if alike:
            return f"{alike // 2} pairs of neighbours have the same colour"
        above = np.count_nonzero(result > np.bincount(u, minlength=num_vertices))
        return f"{above} vertices have a larger colour than they have neighbours" if above else None

    def traffic(self, graph: Graph) -> int:
        """Return the bytes of one pull at every vertex."""
        return pull_bytes(graph.num_vertices, graph.num_edges, 4)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Offer a colouring."""
    return [Coloring]
