"""Square clustering: of the possible squares at a vertex, the share that exists. Computed from scratch after a change.

Zhang et al., *Clustering coefficient and community structure of bipartite networks* (2008), as NetworkX defines it: two
neighbours ``u`` and ``w`` of ``v`` have ``q`` common neighbours besides ``v`` and make ``q`` squares with it, of ``q +
(degree(u) - 1 - q - a) + (degree(w) - 1 - q - a)`` possible ones, ``a`` being 1 if they are neighbours. So all squares
at ``v`` follow from how many paths of two edges lead from ``v`` to each other vertex. On the CPU these paths are
counted in an array, vertex by vertex; on CUDA, and with ``kernels=False``, their ends are sorted, slice by slice. The
work is the sum of the squares of the degrees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.matrices import adjacency
from suricate.base.parameters import flag
from suricate.cpu import threads
from suricate.operators import intersect
from suricate.plugins.algorithm import ID_BYTES, Algorithm, Requirements

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph

SLICE = 1 << 24  #: paths of two edges that are sorted at a time, unless one vertex has more


class SquareClustering(Algorithm):
    """Square clustering of all vertices, ``float64[num_vertices]``; self-loops and weights are ignored, as in NetworkX.

    Args:
        kernels: False: by operators and sorting only, without the loop of this algorithm.

    Raises:
        ParameterError: ``kernels`` is neither True nor False.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2, 3], [1, 2, 3, 0], directed=False, device="cpu")
        >>> g.compute("square_clustering").tolist()
        [1.0, 1.0, 1.0, 1.0]
    """

    name = "square_clustering"
    uses_weights = False
    requires = Requirements(undirected=True)
    divided_kernels = True

    def __init__(self, kernels: bool = True) -> None:
        self.kernels = flag("kernels", kernels)
        self._found: Array = None
        self._paths: Array = None  # of two edges, int64[n]

    def compute(self, graph: Graph) -> None:
        """Count the squares of all vertices."""
        xp, n, edges = graph.device.xp, graph.num_vertices, graph.edges()
        proper = edges.src != edges.dst
        one, two = edges.src[proper], edges.dst[proper]
        src, dst = xp.concatenate((one, two)), xp.concatenate((two, one))
        targets = dst[xp.argsort(src)]
        degrees = xp.bincount(src, minlength=n)
        offsets = xp.concatenate((xp.zeros(1, np.int64), xp.cumsum(degrees)))
        paths = xp.bincount(src, degrees[dst], n).astype(np.int64)
        if self.kernels and not graph.device.is_cuda:
            squares, closed = _counted(offsets, targets, int(paths.sum()))
        else:
            closed = xp.empty(n, np.int64)
            intersect(graph, oriented="degree", out=closed)
            closed *= 2
            squares = _sorted(graph, offsets, targets, paths)
        self._found, self._paths = _shares(xp, degrees, paths, closed, squares), paths

    @property
    def result(self) -> ReturnedArray:
        """The square clustering of every vertex in a new array."""
        return self._found.copy()

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
        """Return the result by products of SciPy's matrix with slices of itself."""
        proper = src != dst
        simple = adjacency(src[proper], dst[proper], np.ones(int(proper.sum())), num_vertices)
        degrees = np.asarray(simple.sum(axis=1)).ravel()
        paths, found = simple @ degrees, np.zeros((2, len(degrees)))
        for begin, end in _slices(paths.astype(np.int64)):
            ways = simple[begin:end] @ simple
            rows = np.repeat(np.arange(begin, end), np.diff(ways.indptr))
            counts = np.where(ways.indices == rows, 0, ways.data)
            found[0] += np.bincount(rows, counts * (counts - 1) / 2, len(degrees))
            found[1][begin:end] = np.asarray(ways.multiply(simple[begin:end]).sum(axis=1)).ravel()
        return _shares(np, degrees, paths, found[1], found[0])

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes are moved at least: of each path of two edges its end, read twice, and a count."""
        return int(self._paths.sum()) * (2 * ID_BYTES + 4)


def _shares(xp: Any, degrees: Array, paths: Array, closed: Array, squares: Array) -> Array:
    """Return the squares of each vertex, divided by how many there might be; 0 where there might be none.

    ``paths`` are the sums of its neighbours' degrees, ``closed`` the ordered pairs of neighbours that are neighbours.
    """
    possible = (degrees - 1) * paths - degrees * (degrees - 1) - closed - squares
    return xp.where(possible > 0, squares / xp.maximum(possible, 1), 0.0)


def _counted(offsets: np.ndarray, targets: np.ndarray, work: int) -> tuple[np.ndarray, np.ndarray]:
    from suricate.algorithms.square_clustering.squares_cpu import count_squares

    n = len(offsets) - 1
    squares, closed = np.zeros(n, np.int64), np.zeros(n, np.int64)
    number = threads.parts(work)
    given = [(offsets, targets, np.zeros(n, np.uint32), squares, closed, *part) for part in threads.ranges(n, number)]
    threads.run(count_squares, given)
    return squares, closed


def _sorted(graph: Graph, offsets: Array, targets: Array, paths: Array) -> Array:
    """Return the squares of each vertex, from sorted ends of its paths of two edges."""
    xp, n = graph.device.xp, graph.num_vertices
    lengths, squares = xp.diff(offsets), xp.zeros(n, np.int64)
    for begin, end in _slices(graph.device.to_numpy(paths)):
        first, stop = int(offsets[begin]), int(offsets[end])
        middle = targets[first:stop]
        each = lengths[middle]
        total = int(each.sum())
        if not total:
            continue
        ends = xp.cumsum(each)
        arc = xp.searchsorted(ends, xp.arange(total), side="right")
        x = targets[xp.arange(total) - (ends - each)[arc] + offsets[middle][arc]]
        v = xp.searchsorted(offsets, xp.arange(first, stop), side="right")[arc] - 1
        keys = xp.sort((v << 32 | x.astype(np.int64))[x != v])
        starts = (
            xp.concatenate((xp.zeros(1, np.int64), xp.flatnonzero(keys[1:] != keys[:-1]) + 1)) if len(keys) else v[:0]
        )
        ways = xp.diff(xp.concatenate((starts, xp.asarray([len(keys)], np.int64))))
        squares += xp.bincount(keys[starts] >> 32, ways * (ways - 1) // 2, n).astype(np.int64)
    return squares


def _slices(paths: np.ndarray) -> list[tuple[int, int]]:
    """Return ranges of vertices that together have at most ``SLICE`` paths each, or are one vertex."""
    ends, begin, found = np.cumsum(paths), 0, []
    while begin < len(paths):
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + SLICE, side="right")))
        found.append((begin, end))
        begin = end
    return found


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this package, :class:`SquareClustering`, which registers it as a plugin."""
    return [SquareClustering]
