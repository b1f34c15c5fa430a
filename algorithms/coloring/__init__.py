"""A colouring kept current: neighbours have different colours, and there are at most as many as the largest degree + 1.

From scratch, on the CPU, one thread gives each vertex the first colour that no neighbour has (a greedy colouring, Welsh
and Powell, *An upper bound for the chromatic number of a graph*, 1967): first the vertices of at least ``HUB`` arcs, by
classes of degrees, the highest first, then all others in the order of their ids, which is that of memory, from an id on
that the seed gives. On R-MAT graphs of 2^14 to 2^18 vertices it takes a fifth of the time of the method below, which
visits each edge four to six times, and a tenth fewer colours. The colours do not depend on the number of threads.

On CUDA, and on graphs of several processes, vertices are coloured by speculation (Gebremedhin and Manne, *Scalable
parallel graph coloring algorithms*, 2000). In every round each undecided vertex takes a colour that no neighbour has,
and the next round examines it: a vertex keeps its colour unless a neighbour that comes first took the same: by degrees,
as powers of two, then hashes. The others try again, and only they examine their neighbours again. If all took their
first free colour, nearly all would collide: so each begins to look at a random place, among the more the larger its
degree, and the fewer the more often it tried. A pull sees a window of 61 colours, as bits of one integer; a vertex for
which all of them are taken goes on with the next window. On large graphs the vertices of the largest degrees begin:
classes of degrees, by powers of four, join the undecided vertices after three rounds each. On R-MAT graphs of 2^14 to
2^20 vertices this takes 25 to 36 rounds that visit each edge four to six times, and a tenth fewer colours than the
greedy colouring in random order. A colour that is larger than the vertex has neighbours, as a random place may cause,
is repaired like one after a change.

After a change, in rounds, only the ends of the changed edges examine all their neighbours. A vertex that has the colour
of an earlier neighbour, or finds a smaller free colour, takes the first free one. If two neighbours take the same
colour in one round, the later one tries again. No other vertex changes: the work is the sum of the ends' degrees. The
colours depend on the history, and the colour of a vertex never exceeds the number of its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.hash import key_of, mixed
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.shared.vertex_values import resized
from suricate.base.parameters import integer
from suricate.base.types import EMPTY
from suricate.graph.row_copies import copied_rows
from suricate.kernels import loops_over, without_weights
from suricate.operators import converge, vertex_map
from suricate.operators.ahead import compile_ahead
from suricate.plugins.algorithm import Algorithm, Requirements, pull_bytes

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

GREEDY = Path(__file__).parent / "greedy_cpu.py"
HUB = 64  #: arcs of the vertices that the greedy colouring begins with
STAY = 1  #: stay active in the next round
WINDOW = 61
ALL_TAKEN, MOVED, CLASH = (1 << WINDOW) - 1, 1 << WINDOW, 1 << (WINDOW + 1)
ORDER = 37  #: bits of a word from scratch that say which vertices come first; its colour lies above them
NONE = (1 << 63 - ORDER) - 1  #: no colour yet
FEWEST, CLASSES = 32, 4  #: the lowest bound of a class of degrees; the quotient of two
CLASS_ROUNDS = 3  #: after which the next class joins
GOLDEN, LOW = 0x9E3779B9, 0xFFFFFFFF  #: spreads the tries of a vertex over its random numbers


def seen(colour, window):
    """Return an integer with one bit set, bit ``colour - window``; 0 if ``colour`` is not in the window.

    The window are the ``WINDOW`` colours from ``window`` on.
    """
    return 1 << (colour - window) if window <= colour < window + WINDOW else 0


def exponent(number):
    """Return the position of the highest bit of ``number``, an integer from 1 to 2**53 - 1 or a power of two."""
    return (np.float64(number).view(np.int64) >> 52) - 1023


def first_free(taken):
    """Return the position of the lowest bit of ``taken`` that is not set."""
    return exponent(~taken & (taken + 1))


def unknown(v, degree, key):
    """Return the initial word of vertex ``v`` (int64), which has no colour yet; ``degree`` is its degree.

    The bits from ``ORDER`` on are the colour. The lower bits order the vertices by degree, then by a hash of ``v`` with
    ``key``: if two neighbours have the same colour, the one with the smaller word keeps it.
    """
    return NONE << ORDER | 31 - exponent(max(np.int64(degree), 1)) << 32 | mixed(v, key)


def undecided(v, word, tries, degree, key, bound):
    """Return whether the colour of ``v`` is not final, and its degree is at least ``bound``.

    It is not final if ``v`` has none, or ``tries[v]`` is above 0: its neighbours were not yet compared. ``word[v]``
    holds the colour, above bits that order the vertices (see :func:`unknown`). If it is 0, as at the start, it is set,
    in place, to the word without a colour, which depends on ``degree[v]`` and ``key``.
    """
    if word[v] == 0:
        word[v] = unknown(v, degree[v], key)
    return (word[v] >> ORDER == NONE or tries[v] > 0) and degree[v] >= bound


def taken_at(u, v, w, word, window, *others):
    """Return an integer with a bit for the colour of neighbour ``u``, and with the bit ``CLASH`` if ``v`` must change.

    The bit is the position of the colour in the window of ``v``, the ``WINDOW`` colours from ``window[v]`` on; there is
    none if the colour lies outside. ``v`` must give up its colour if ``u`` has the same one and ``word[u]`` is smaller
    than ``word[v]``: words hold the colour above bits that order the vertices. ``others`` are not read. The code has no
    branches: they took two thirds of the time on the CPU.
    """
    clash = word[u] >> ORDER == word[v] >> ORDER and word[u] < word[v]
    return seen(word[u] >> ORDER, window[v]) | (CLASH if clash else 0)


def rivals(degree, tries):
    """Return an estimate of how many of ``degree`` neighbours are still undecided after ``tries`` attempts."""
    return 2 * np.float64(degree) / (2 + np.float64(tries))


def widest(degree, tries):
    """Return how far from the beginning of its window a vertex may look for a free colour, at most ``WINDOW - 1``.

    The number grows with ``degree`` and falls with ``tries``. It is divided by powers of two only, which is exact, so
    that both devices round alike, with fused multiplications and without.
    """
    return min(int(np.sqrt(rivals(degree, tries) / 2) + rivals(degree, tries) / 128), WINDOW - 1)


def speculate(v, found, word, window, tries, chosen, following, key, degree):
    """Keep the colour of ``v`` (in ``word[v]``), take a random free one of its window, or go on to the next window.

    ``found`` has a bit for each colour in the window that a neighbour has, and the bit ``CLASH`` if a neighbour that
    comes first has the colour of ``v``, which ``v`` must then give up. Writes the colour to
    ``chosen[v]`` (``NONE``: none), the first colour of the window of the next round to ``following[v]``, and the number
    of attempts to ``tries[v]``; ``key`` and ``degree[v]`` decide where it looks first. Returns 0 if the colour is kept
    for good, else ``STAY``.
    """
    chosen[v] = word[v] >> ORDER
    following[v] = window[v]
    if chosen[v] != NONE and not found & CLASH:
        tries[v] = 0
        following[v] = 0
        return 0
    taken = found & ALL_TAKEN
    if taken == ALL_TAKEN:
        chosen[v] = NONE
        following[v] = window[v] + WINDOW
        return STAY
    place = mixed((v + tries[v] * GOLDEN) & LOW, key) % (widest(degree[v], tries[v]) + 1)
    skipped = taken | (1 << place) - 1
    chosen[v] = window[v] + first_free(taken if skipped == ALL_TAKEN else skipped)
    tries[v] = tries[v] + 1
    return STAY


def publish_try(v, word, window, tries, chosen, following, key, degree):
    """Copy ``chosen[v]`` to the colour bits of ``word[v]`` and ``following[v]`` to ``window[v]``, in place.

    The other parameters, which the functions of a round share, are not read.
    """
    word[v] = np.int64(chosen[v]) << ORDER | word[v] & (1 << ORDER) - 1
    window[v] = following[v]


def unpack(v, word, colour, degree):
    """Copy the colour bits of ``word[v]`` to ``colour[v]``.

    Return whether the colour may exceed the number of neighbours. Such a colour, above 0 and at least ``degree[v]``,
    must be examined again. (A self-loop counts in ``degree``, but not as a neighbour.)
    """
    colour[v] = word[v] >> ORDER
    return colour[v] > 0 and colour[v] >= degree[v]


def taken_by(u, v, w, colour, window, moved, chosen, following, key):
    """Return an integer with a bit for the colour of neighbour ``u``, and with the bits ``CLASH`` and ``MOVED``.

    It is 0 for a self-loop. The first bit is the position of the colour in the window of ``v``, the ``WINDOW``
    colours from ``window[v]`` on; there is none if it lies outside. ``CLASH``: ``u`` precedes ``v`` in the order of
    hashes with ``key``, and has the same colour. ``MOVED``: ``u`` has just changed its colour (``moved[u]``), and ``v``
    is beyond its first window. ``chosen`` and ``following``, which the round writes, are not read.
    """
    if u == v:
        return 0
    clash = colour[u] == colour[v] and mixed(u, key) < mixed(v, key)
    return seen(colour[u], window[v]) | (CLASH if clash else 0) | (MOVED if moved[u] and window[v] > 0 else 0)


def choose(v, found, colour, window, moved, chosen, following, key):
    """Keep the colour of ``v``, take the first free one of its window, or move on to another window in the next round.

    ``found`` has a bit for each colour in the window that a neighbour has; the bit ``CLASH`` if an earlier neighbour
    has the colour of ``v``; and ``MOVED`` if a neighbour has just changed its colour: then ``v`` begins with the first
    window again. Writes the colour to ``chosen[v]``, and the first colour of the window of the next round to
    ``following[v]``; ``moved`` and ``key`` are not read. Returns 0 if the colour is kept for good, else ``STAY``.
    """
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
    """Copy ``chosen[v]`` to ``colour[v]`` and ``following[v]`` to ``window[v]``, which the neighbours read.

    Sets ``moved[v]`` to 1 if the colour has changed, else to 0. ``key`` is not read.
    """
    moved[v] = 1 if chosen[v] != colour[v] else 0
    colour[v] = chosen[v]
    window[v] = following[v]


ROUNDS = ("colour", "window", "moved", "chosen", "following")  #: what rounds read and write, an array each


def bounds_of_classes(num_vertices: int) -> list[int]:
    """Return the smallest degree of each class of vertices, descending; small graphs have one class, from degree 0 on.

    No bound exceeds a 128th of ``num_vertices``: few vertices have a higher degree, and a class takes several
    rounds.
    """
    bounds = [0]
    while (bound := max(FEWEST, bounds[-1] * CLASSES)) * 128 <= num_vertices:
        bounds.append(bound)
    return bounds[::-1]


class Neighbours(NamedTuple):
    """All pairs of neighbours of a graph, for references.

    Attributes:
        u: ids, one end of each pair; every pair is listed in both orders, without repeats.
        v: ids, the other end of each pair.
        num_vertices: the number of vertices.
    """

    u: np.ndarray
    v: np.ndarray
    num_vertices: int


class Coloring(Algorithm):
    """Colours from 0 on, ``uint32[num_vertices]``; edges count in both directions, self-loops do not.

    A directed graph needs in-edges.

    Args:
        seed: determines the order of the vertices. Devices order them differently.

    Raises:
        ParameterError: ``seed`` is not an integer.
        RequirementError: a directed graph without in-edges.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 0], directed=False, device="cpu")
        >>> sorted(g.compute("coloring").tolist())
        [0, 1, 2]
    """

    name = "coloring"
    uses_weights = False
    requires = Requirements(in_edges=True)
    update_kind = "repair"

    def __init__(self, seed: int = 0) -> None:
        self.key = key_of(integer("coloring: seed", seed))
        self._state: tuple[Array, ...] = ()  # as ROUNDS says

    def compute(self, graph: Graph) -> None:
        """Colour all vertices, in an order on the CPU, else in rounds; those of large degrees first."""
        self._state = tuple(graph.device.xp.zeros((len(ROUNDS), graph.num_vertices), np.uint32))
        if graph.num_vertices == 0:
            return
        if graph.device.is_cuda or graph.partition is not None:
            with copied_rows(graph):
                self._speculate(graph)
        else:
            self._color_greedily(graph)

    def _color_greedily(self, graph: Graph) -> None:
        degree, view = graph.degrees().astype(np.int64), graph.view("out")
        loops, rows = loops_over(view, GREEDY), without_weights(view)
        reverse = rows
        if graph.directed:
            degree, reverse = degree + graph.degrees("in"), without_weights(graph.view("in"))
        hubs = np.flatnonzero(degree >= HUB)
        hubs = hubs[np.argsort(-np.frexp(degree[hubs])[1], kind="stable")].astype(np.uint32)
        none = int(degree.max()) + 1
        self._state[0].fill(none)
        mark = np.full(none + 1, EMPTY, np.uint32)
        start = self.key % graph.num_vertices
        loops.color(rows, reverse, graph.directed, hubs, start, none, self._state[0], mark)

    def _speculate(self, graph: Graph) -> None:
        word, degree = graph.device.xp.zeros(graph.num_vertices, np.int64), graph.degrees()
        if graph.directed:
            degree = graph.device.xp.maximum(degree, graph.degrees("in"))
        args = (word, *self._state[1:], self.key, degree)

        def color(active: Any, most: int | None) -> None:
            converge(
                graph, active, taken_at, args=args, reduce="or", over="both", then=speculate, commit=publish_try,
                wake=None, max_steps=most,
            )  # fmt: skip

        compile_ahead(graph, lambda: color(None, None), lambda: self._repair(graph, None))
        for bound in bounds_of_classes(graph.num_vertices):
            active = vertex_map(graph, None, undecided, args=(word, self._state[2], degree, self.key, bound))
            color(active, CLASS_ROUNDS if bound else None)
        self._repair(graph, vertex_map(graph, None, unpack, args=(word, self._state[0], degree)))

    def _repair(self, graph: Graph, vertices: Any) -> None:
        converge(
            graph, vertices, taken_by, args=(*self._state, self.key), reduce="or", over="both", then=choose,
            commit=publish, wake=None,
        )  # fmt: skip

    def update(self, graph: Graph, delta: Delta) -> None:
        """Recolour the ends of changed edges, where that is necessary or a smaller colour is free."""
        self._state = tuple(resized(graph.device.xp, array, graph.num_vertices, 0) for array in self._state)
        self._repair(graph, (delta.edge_set("inserted"), delta.edge_set("deleted")))

    def state(self) -> dict[str, Array]:
        """Return the arrays that rounds change, by name, ``uint32[num_vertices]``; ``colour`` has the colours.

        Updates continue from them, as new colours depend on earlier ones.
        """
        return dict(zip(ROUNDS, self._state, strict=True))

    def restore(self, graph: Graph, state: Mapping[str, Array]) -> None:
        """Continue from the arrays that :meth:`state` returned."""
        self._state = tuple(resized(graph.device.xp, state[name], graph.num_vertices, 0) for name in ROUNDS)

    @property
    def result(self) -> ReturnedArray:
        """The colour of every vertex in a new array."""
        return self._state[0].copy()

    def at(self, vertices: Array) -> Array:
        """Return the colours of ``vertices`` (ids, ``int64[k]``), in the same order."""
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
        """Return the pairs of neighbours, with which :meth:`mismatch` checks a colouring."""
        other = src != dst
        matrix = adjacency(src[other], dst[other], None, num_vertices)
        u, v = (matrix + matrix.T if directed else matrix).tocoo().coords
        return Neighbours(u, v, num_vertices)

    @classmethod
    def mismatch(cls, result: Any, reference: Any, **params: Any) -> str | None:
        """Return a text that says what is wrong with the colours ``result``, or None.

        Neighbours must have different colours, and the colour of a vertex must not exceed the number of its neighbours.
        ``reference`` are the pairs of neighbours, a :class:`Neighbours`; ``params`` are not read.
        """
        u, v, num_vertices = reference
        if result.shape != (num_vertices,):
            return f"result has shape {result.shape} instead of {(num_vertices,)}"
        alike = np.count_nonzero(result[u] == result[v])
        if alike:
            return f"{alike // 2} pairs of neighbours have the same colour"
        above = np.count_nonzero(result > np.bincount(u, minlength=num_vertices))
        return f"{above} vertices have a larger colour than they have neighbours" if above else None

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes one pull at every vertex moves at least."""
        return pull_bytes(graph.num_vertices, graph.num_edges, 4)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`Coloring`, which registers it as a plugin."""
    return [Coloring]
