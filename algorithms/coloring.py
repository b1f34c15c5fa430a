"""A colouring kept current: neighbours have different colours, and there are at most as many as the largest degree + 1.

Vertices are ordered by a hash of their ids and the seed, and each has the smallest colour that no earlier neighbour
has: the greedy colouring in a random order (Jones and Plassmann, *A parallel graph coloring heuristic*, 1993). In
rounds every vertex concerned looks at its earlier neighbours; one that takes another colour makes its neighbours look
again.

Of the neighbours' colours a look sees a window of 61, as bits of one integer: if all of them are taken it goes on with
the next window in the next round, and starts over if an earlier neighbour took another colour meanwhile.

After a change the ends of the changed edges look first, and the rounds reach as far as colours change. The colouring is
always the one that this seed gives on this graph, whatever happened before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import hookimpl
from suricate.algorithm import Algorithm, Requirements, pull_bytes
from suricate.algorithms._hash import key_of, mixed
from suricate.algorithms._vertex_values import resized
from suricate.operators import converge
from suricate.parameters import integer

if TYPE_CHECKING:
    from suricate.delta import Delta
    from suricate.devices import Array
    from suricate.graph import Graph

STAY, WAKE = 1, 2  #: look again; neighbours look again
WINDOW = 61
ALL_TAKEN, MOVED, WAITS = (1 << WINDOW) - 1, 1 << WINDOW, 1 << (WINDOW + 1)
NONE = 0xFFFFFFFF  #: no colour yet


def seen(colour, window):
    """Return the bit of a colour in the window, 0 outside of it."""
    return 1 << (colour - window) if window <= colour < window + WINDOW else 0


def taken_by(u, v, w, colour, window, moved, chosen, following, key):
    """Return the bit of an earlier neighbour's colour; beyond the first window also ask whether it has just changed."""
    if u == v or mixed(u, key) >= mixed(v, key):
        return 0
    if colour[u] == NONE:
        return WAITS
    return seen(colour[u], window[v]) | (MOVED if moved[u] and window[v] > 0 else 0)


def choose(v, taken, colour, window, moved, chosen, following, key):
    """Choose the first free colour of the window, or look at another window in the next round."""
    chosen[v] = colour[v]
    following[v] = 0
    if taken & WAITS:  # the neighbour will wake it
        return 0
    if taken & MOVED:
        return STAY
    if taken == ALL_TAKEN:
        following[v] = window[v] + WINDOW
        return STAY
    free = ~taken & (taken + 1)  # the lowest bit that is not set; then its position, by bisection
    at = 32 if free >> 32 else 0
    at = at + (16 if free >> (at + 16) else 0)
    at = at + (8 if free >> (at + 8) else 0)
    at = at + (4 if free >> (at + 4) else 0)
    at = at + (2 if free >> (at + 2) else 0)
    at = at + (1 if free >> (at + 1) else 0)
    chosen[v] = window[v] + at
    if window[v] + at == colour[v]:
        return 0
    return WAKE if colour[v] == NONE else WAKE + STAY  # it stays to take back that it has just changed


def publish(v, colour, window, moved, chosen, following, key):
    """Let the neighbours see what was chosen."""
    moved[v] = 1 if chosen[v] != colour[v] and colour[v] != NONE else 0
    colour[v] = chosen[v]
    window[v] = following[v]


class Coloring(Algorithm):
    """Colours from 0 on, ``uint32[num_vertices]``; edges count in both directions, self-loops do not.

    A directed graph needs in-edges.

    Args:
        seed: of the order of the vertices.

    Raises:
        ParameterError: ``seed`` is no integer.
        RequirementError: a directed graph without in-edges.
    """

    name = "coloring"
    requires = Requirements(in_edges=True)
    update_kind = "repair"

    def __init__(self, seed: int = 0) -> None:
        self.key = key_of(integer("coloring: seed", seed))
        self._state: tuple[Array, ...] = ()  # colour, window, moved, chosen, following

    def compute(self, graph: Graph) -> None:
        """Let every vertex look; those wait whose earlier neighbours have no colour yet."""
        xp, n = graph.device.xp, graph.num_vertices
        self._state = (xp.full(n, NONE, np.uint32), *(xp.zeros(n, np.uint32) for _ in range(4)))
        self._look(graph, None)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Let the ends of changed edges look."""
        self._state = tuple(resized(graph.device.xp, array, graph.num_vertices, 0) for array in self._state)
        self._look(graph, (delta.edges("inserted"), delta.edges("deleted")))

    def _look(self, graph: Graph, frontier: Any) -> None:
        converge(
            graph, frontier, taken_by, args=(*self._state, self.key), reduce="or", over="both", then=choose,
            commit=publish, wake="both",
        )  # fmt: skip

    @property
    def result(self) -> Array:
        """The colour of every vertex in a new array."""
        return self._state[0].copy()

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
        seed: int = 0,
        **_: Any,
    ) -> np.ndarray:
        """Colour the vertices one by one in the order of the hashes."""
        from scipy import sparse

        matrix = sparse.csr_array((np.ones(len(src), np.int8), (src, dst)), shape=(num_vertices, num_vertices))
        matrix = (matrix + matrix.T).tocsr()
        order = np.argsort(mixed(np.arange(num_vertices, dtype=np.uint64), np.uint64(key_of(seed))))
        neighbor, begin = matrix.indices.tolist(), matrix.indptr.tolist()
        colour = [-1] * num_vertices
        for v in order.tolist():
            taken = {colour[u] for u in neighbor[begin[v] : begin[v + 1]]}
            colour[v] = next(c for c in range(num_vertices) if c not in taken)
        return np.array(colour, np.int64)

    def traffic(self, graph: Graph) -> int:
        """Return the bytes of one look of every vertex."""
        return pull_bytes(graph.num_vertices, graph.num_edges, 4)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Offer a colouring."""
    return [Coloring]
