"""A colouring kept current: neighbours have different colours, and there are at most as many as the largest degree + 1.

From scratch vertices are coloured by speculation (Gebremedhin and Manne, *Scalable parallel graph coloring algorithms*,
2000), those of the largest degrees first: one class of degrees after the other, by powers of four. In every round each
vertex of the class without a colour takes one that no neighbour has. If neighbours took the same in one round, the
earlier one by a hash of ids and seed keeps it, and the others try again. If all took their first free colour, nearly
all would collide: so each begins to look at a random place below 0.7 times the root of its degree, closer to 0 with
every try. A pull sees a window of 61 colours, as bits of one integer; a vertex for which all of them are taken goes on
with the next window. On R-MAT graphs
this takes about a tenth fewer colours than the greedy colouring in random order, whose chains of vertices that wait for
each other are long, and four to eight passes over the edges. A colour that is larger than the vertex has neighbours, as
a random place may cause, is repaired like one after a change.

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
from suricate.operators import converge, vertex_map
from suricate.plugins.algorithm import Algorithm, Requirements, pull_bytes
from suricate.state.frontier import Frontier

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

STAY = 1  #: stay active in the next round
WINDOW = 61
ALL_TAKEN, MOVED, CLASH = (1 << WINDOW) - 1, 1 << WINDOW, 1 << (WINDOW + 1)
NONE = 0xFFFFFFFF  #: no colour yet
CLASSES = 4  #: quotient of the bounds of two classes of degrees
PATIENCE = 8  #: tries after which the first free colour is looked for half as far away
GOLDEN = 0x9E3779B9  #: spreads the tries of a vertex over its random numbers


def seen(colour, window):
    """Return the bit of a colour in the window, 0 outside of it."""
    return 1 << (colour - window) if window <= colour < window + WINDOW else 0


def first_free(taken):
    """Return the position of the lowest bit that is not set, from the exponent of that power of two as a float."""
    return (np.float64(~taken & (taken + 1)).view(np.int64) >> 52) - 1023


def in_class(v, colour, degree, bound):
    """Return whether ``v`` has no colour, and its degree is at least the bound of the class."""
    return colour[v] == NONE and degree[v] >= bound[0]


def next_class(v, bound):
    """Lower the bound to that of the next class."""
    bound[v] = bound[v] // CLASSES


def taken_at(u, v, w, colour, window, tries, chosen, following, key, degree):
    """Return the bit of a neighbour's colour, and ``CLASH`` if the neighbour is earlier and has the colour of ``v``."""
    if u == v or colour[u] == NONE:
        return 0
    clash = colour[u] == colour[v] and mixed(u, key) < mixed(v, key)
    return seen(colour[u], window[v]) | (CLASH if clash else 0)


def speculate(v, found, colour, window, tries, chosen, following, key, degree):
    """Keep the colour, take a free one of the window at random, or try the next window in the next round."""
    chosen[v] = colour[v]
    following[v] = window[v]
    if colour[v] != NONE and not found & CLASH:
        tries[v] = 0
        following[v] = 0
        return 0
    taken = found & ALL_TAKEN
    if taken == ALL_TAKEN:
        chosen[v] = NONE
        following[v] = window[v] + WINDOW
        return STAY
    widest = min(int(0.7 * np.sqrt(np.float64(degree[v]))), WINDOW - 1) * PATIENCE // (PATIENCE + tries[v])
    skipped = taken | (1 << mixed((v + tries[v] * GOLDEN) & NONE, key) % (widest + 1)) - 1
    chosen[v] = window[v] + first_free(taken if skipped == ALL_TAKEN else skipped)
    tries[v] = tries[v] + 1
    return STAY


def publish_try(v, colour, window, tries, chosen, following, key, degree):
    """Publish the chosen colour to the neighbours."""
    colour[v] = chosen[v]
    window[v] = following[v]


def is_large(v, colour, degree):
    """Return whether the colour may be larger than the number of neighbours; a self-loop is none."""
    return colour[v] > 0 and colour[v] >= degree[v]


def taken_by(u, v, w, colour, window, moved, chosen, following, key):
    """Return the bit of neighbour ``u``'s colour if it is among the colours from ``window[v]`` on, and two flags.

    ``CLASH``: ``u`` precedes ``v`` in the order of hashes with ``key``, and has the same colour. ``MOVED`` (beyond the
    first window): ``moved[u]``, it has just changed its colour. ``chosen`` and ``following``, what the round writes,
    are not read.
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
        """Colour the vertices in rounds, those of large degrees first."""
        xp, n = graph.device.xp, graph.num_vertices
        self._state = (xp.full(n, NONE, np.uint32), *(xp.zeros(n, np.uint32) for _ in range(4)))
        if n > 0:
            with copied_rows(graph):
                self._speculate(graph)

    def _speculate(self, graph: Graph) -> None:
        xp, colour = graph.device.xp, self._state[0]
        degree = graph.degrees()
        if graph.directed:
            degree = xp.maximum(degree, graph.degrees("in"))
        classes = max(
            graph.num_vertices.bit_length() // 2 - 3, 0
        )  # above them few vertices have even that many neighbours
        bound, only = xp.full(1, 2 * CLASSES**classes, np.int64), Frontier.from_vertices(graph, [0])
        for _ in range(classes + 2):
            active = vertex_map(graph, None, in_class, args=(colour, degree, bound))
            converge(
                graph, active, taken_at, args=(*self._state, self.key, degree), reduce="or", over="both",
                then=speculate, commit=publish_try, wake=None,
            )  # fmt: skip
            vertex_map(graph, only, next_class, args=(bound,))
        self._repair(graph, vertex_map(graph, None, is_large, args=(colour, degree)))

    def _repair(self, graph: Graph, vertices: Any) -> None:
        converge(
            graph, vertices, taken_by, args=(*self._state, self.key), reduce="or", over="both", then=choose,
            commit=publish, wake=None,
        )  # fmt: skip

    def update(self, graph: Graph, delta: Delta) -> None:
        """Recolour the ends of changed edges."""
        self._state = tuple(resized(graph.device.xp, array, graph.num_vertices, 0) for array in self._state)
        self._repair(graph, (delta.edges("inserted"), delta.edges("deleted")))

    def state(self) -> dict[str, Array]:
        """Return the arrays of the rounds: which colours vertices have depends on earlier ones."""
        return dict(zip(ROUNDS, self._state, strict=True))

    def restore(self, graph: Graph, state: Mapping[str, Array]) -> None:
        """Go on from the arrays of the rounds."""
        self._state = tuple(resized(graph.device.xp, state[name], graph.num_vertices, 0) for name in ROUNDS)

    @property
    def result(self) -> ReturnedArray:
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
