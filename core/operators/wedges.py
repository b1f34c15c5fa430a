"""``wedges``: of the vertices two edges away from a vertex those with the best scores.

The wedges ``u - v - x`` of the asked vertices are listed, slice by slice, as rows of a graph for the time of the call:
that of ``u`` has an arc to ``x`` for each, whose weight is ``v``. A vote over these rows does the rest
(``reduce="vote"`` with ``best``): totals are exact, and hubs are handled, as there. On a divided graph a process lists
the wedges of vertices that it owns, and requests the rows of their neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import operators
from suricate.base.errors import ParameterError, RequirementError, ShapeError
from suricate.base.parameters import integer, one_of
from suricate.base.types import EMPTY, Direction, StoreView
from suricate.comm.rounds import in_rounds
from suricate.cpu import threads
from suricate.edgefn.derived import over_wedges
from suricate.edgefn.source import plain_function
from suricate.graph import Graph
from suricate.intake.arrays import sorted_distinct
from suricate.operators import checks, starts
from suricate.operators.binding import MOST_BEST
from suricate.operators.results import Best
from suricate.state.column_map import array_of
from suricate.state.locks import on_graph_device
from suricate.store import fallbacks
from suricate.store.rows import RowsStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from suricate.base.devices import Array

SLICE = {"cpu": 1 << 22, "cuda": 1 << 24}  #: wedges that are listed at a time, unless one vertex has more


class Piece(NamedTuple):
    """Some of the asked vertices ``u``, their places, and their rows: ``v[offsets[i] : offsets[i + 1]]``."""

    u: Array
    place: Array
    offsets: Array
    v: Array


@on_graph_device
def wedges(
    graph: Graph,
    ids: Any,
    fn: Callable[..., Any],
    score: Callable[..., Any] | None = None,
    *,
    best: int,
    args: tuple[Any, ...] = (),
    skip: str | None = "neighbors",
    over: tuple[Direction, Direction] = ("out", "in"),
) -> Best:
    """Sum ``fn(u, v, x, *args)`` over the wedges ``u - v - x`` of a vertex ``u`` to each ``x``; return the best ``x``.

    A wedge to ``u`` itself is left out before ``fn`` is called. One over a self-loop has ``v == u`` or ``v == x``.
    The work is the number of wedges, which are listed in memory, some millions at a time.

    Args:
        graph: the graph.
        ids: the vertices ``u``: ids, of which repeated ones give repeated rows, a ``Frontier``, or None for all.
        fn: how much a wedge counts. 0, NaN and infinity do not; an ``x`` with no wedge that counts is not in the
            result. Sums are made as by ``neighbor_reduce`` with ``reduce="vote"``: in integers, independent of order.
        score: ``score(u, x, total, *args)``, how good ``x`` is for ``u``; None: the total. NaN: not at all. Of equal
            ones the smaller id comes first.
        best: how many ``x`` to return for each ``u``, at least 1.
        args: further arguments of ``fn`` and ``score``.
        skip: ``"neighbors"``: leave out those ``x`` that are in the row of ``u``; None: none but ``u``.
        over: along which edges: ``("out", "in")`` leads to the other in-neighbours of out-neighbours. ``"in"`` needs
            in-edges; on an undirected graph all are the same, and ``"both"`` is for such graphs only.

    Returns:
        ``(labels, scores)``: ``uint32`` and ``float64`` of shape ``(rows, best)``, best first; ``EMPTY`` and minus
        infinity where there are fewer.

    Raises:
        ParameterError, ShapeError, DTypeError, DeviceError, VertexRangeError: an argument is invalid.
        UnknownNameError: there is no such direction or ``skip``.
        RequirementError: the graph is a view of events, keeps no in-edges, or is directed and ``over`` has ``"both"``.
        EdgeFunctionError: a function cannot be translated.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2, 2], [3, 3, 3, 4], in_edges=True, device="cpu")
        >>> found = su.wedges(g, [0], lambda u, v, x: 1, best=2)
        >>> found.labels.tolist(), found.scores.tolist()
        ([[1, 2]], [[1.0, 1.0]])
    """
    checks.refuse_events(graph, "wedges are of two edges")
    most = int(integer("best", best, low=1, high=MOST_BEST))
    if skip is not None:
        one_of("skip", skip, ("neighbors",))
    if not isinstance(over, (tuple, list)) or len(over) != 2:
        raise ShapeError(f"over is a pair of directions, such as ('out', 'in'), not {over!r}")
    for each in over:
        one_of("over", each, checks.DIRECTIONS)
        if each == "both" and graph.directed:
            undirected = "Graph.from_coo(g.edges().src, g.edges().dst, directed=False)"
            raise RequirementError(f"wedges over 'both' are for undirected graphs: make one, as {undirected}")
        graph.store("in" if each == "in" else "out")
    ways: Any = tuple("in" if each == "in" else "out" for each in over)
    if not isinstance(args, tuple):
        raise ParameterError("args must be a tuple of the functions' further arguments")
    every = graph.frontier(None).vertices if ids is None else ids
    asked = starts.vertex_ids(graph, every, "ids")
    given = tuple(array_of(graph, value) if isinstance(value, str) else value for value in args)
    functions = over_wedges(plain_function(fn), None if score is None else plain_function(score), len(args))
    return _Wedges(graph, functions, given, most, skip is not None, ways).of(asked)


class _Wedges:
    """One call of :func:`wedges`."""

    def __init__(
        self,
        graph: Graph,
        functions: Any,
        args: tuple[Any, ...],
        best: int,
        skips: bool,
        over: tuple[Direction, Direction],
    ) -> None:
        self.graph, self.functions, self.args, self.best, self.skips = graph, functions, args, best, skips
        self.part, self.xp, self.over = graph.partition, graph.device.xp, over
        local = graph if self.part is None else self.part.follow()
        self.near, self.near_lengths = local.store(over[0]), graph.degrees(over[0])
        self.far, self.far_lengths = local.store(over[1]), graph.degrees(over[1]).astype(np.int64)
        self.rows = None if self.part is None else self.part.rows(over[1])

    def of(self, ids: Array) -> Best:
        """Return the best for each of ``ids``; of a divided graph on all processes."""
        places = self.xp.arange(len(ids))
        if self.part is None:
            found = self._empty(len(ids))
            for piece in self._pieces(ids, places):
                self._use(found, piece, self._fetch(piece))
            return found
        comm, owner = self.part.comm, self.part.owner_of(ids)
        mine, whole = self.xp.flatnonzero(owner == comm.rank), self._empty(len(ids))
        found = self._empty(len(mine))
        pieces = self._pieces(ids[mine], self.xp.arange(len(mine)))
        in_rounds(comm, pieces, self._fetch, partial(self._use, found))
        for into, own in zip(whole, found, strict=True):
            for rank, each in enumerate(comm.allgatherv(own)):
                into[owner == rank] = each
        return whole

    def _empty(self, rows: int) -> Best:
        shape = rows, self.best
        return Best(self.xp.full(shape, EMPTY, np.uint32), self.xp.full(shape, -np.inf))

    def _pieces(self, ids: Array, places: Array) -> Iterator[Piece]:
        """Yield parts of the vertices ``ids``: of so many neighbours, and then of so many wedges, or one vertex."""
        size = SLICE[self.graph.device.kind]
        for first, last in fallbacks.slices_of(self.near_lengths[ids], size):
            offsets, v, _ = self.near.adjacency(ids[first:last])
            ends = self.xp.concatenate((self.xp.zeros(1, np.int64), self.xp.cumsum(self.far_lengths[v])))
            for begin, end in fallbacks.slices_of(self.xp.diff(ends[offsets]), size):
                part = offsets[begin : end + 1]
                some = slice(first + begin, first + end)
                yield Piece(ids[some], places[some], part - part[0], v[int(part[0]) : int(part[-1])])

    def _fetch(self, piece: Piece | None) -> tuple[Array, Array, Array]:
        """Return the distinct ``v`` of a piece, ascending, and their rows: offsets and ``x``; collective."""
        xp = self.xp
        middle = xp.empty(0, np.uint32) if piece is None else sorted_distinct(piece.v.copy(), xp)
        offsets = xp.zeros(len(middle) + 1, np.int64)
        xp.cumsum(self.far_lengths[middle], out=offsets[1:])
        return middle, offsets, self.far.adjacency(middle)[1] if self.rows is None else self.rows.of_any(middle)

    def _use(self, found: Best, piece: Piece, fetched: tuple[Array, Array, Array]) -> None:
        """Write the best of the vertices of ``piece`` to ``found``."""
        listed = _listed_on_device if self.graph.device.is_cuda else _listed
        begin, end, x, v = listed(self.graph, piece, fetched, self.skips)
        rows, longest = len(piece.u), int((end - begin).max()) if len(end) else 0
        if not longest:
            return
        # a vertex of a simple graph has no more arcs than vertices in each direction, by which scratch memory is made
        more = self.xp.zeros(max((longest + 1) // 2 - rows, 0), np.int64)
        begin, end = self.xp.concatenate((begin, more)), self.xp.concatenate((end, more))
        made = _graph_of(self.graph, begin, end, x, v)
        fn, score = self.functions
        labels, scores = operators.neighbor_reduce(
            made, self.xp.arange(rows, dtype=np.uint32), fn, args=(*self.args, piece.u), reduce="vote", score=score,
            best=self.best, labels=self.graph.num_vertices,
        )  # fmt: skip
        found.labels[piece.place], found.scores[piece.place] = labels, scores


def _graph_of(graph: Graph, begin: Array, end: Array, x: Array, v: Array) -> Graph:
    """Return a graph of arcs to ``x`` with weights ``v``: those of vertex ``i`` from ``begin[i]`` to ``end[i]``."""
    from suricate.cursors.contiguous import contiguous_view

    made = Graph(0, weight_dtype="uint32", device=graph.device, threads=graph.options.threads)
    make: Any = partial(made.options.make_stores, len(begin), graph.device)
    rows: StoreView = contiguous_view(begin, end, x, v)
    made._assemble(made.options, (RowsStore(rows, graph.device, make),))  # type: ignore[arg-type]
    made._updater.count_arcs()
    return made


Listed = tuple[
    Any, Any, Any, Any
]  #: begin and end of each row, ``int64``, and of each wedge ``x`` and ``v``, ``uint32``


def _listed(graph: Graph, piece: Piece, fetched: tuple[Any, Any, Any], skips: bool) -> Listed:
    """List the wedges of ``piece`` on the CPU, row by row; without those to neighbours if ``skips`` is set."""
    from suricate.operators.cpu.wedges import list_wedges

    middle, offsets, far = fetched
    at = np.searchsorted(middle, piece.v)
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(offsets[at + 1] - offsets[at])))[piece.offsets]
    ends += np.arange(len(ends))  # a place more per row, to which the last step may write
    x, v = (graph.workspace.array(f"wedges.{name}", int(ends[-1]), np.uint32) for name in "xv")
    end, ranges = np.empty(len(piece.u), np.int64), fallbacks.parts_of(ends)
    marks = np.zeros((len(ranges), graph.num_vertices if skips else 0), np.uint32)
    given = piece.u, piece.offsets, piece.v, at, (offsets, far), ends, (x, v, end)
    threads.run(list_wedges, [(*given, own, *part) for own, part in zip(marks, ranges, strict=True)])
    return ends[:-1].copy(), end, x, v


def _listed_on_device(graph: Graph, piece: Piece, fetched: tuple[Any, Any, Any], skips: bool) -> Listed:
    """List the wedges of ``piece`` by operations on arrays, row by row; without neighbours if ``skips`` is set."""
    xp, (middle, offsets, far) = graph.device.xp, fetched
    at = xp.searchsorted(middle, piece.v)
    ends = xp.cumsum(offsets[at + 1] - offsets[at])
    total = int(ends[-1]) if len(ends) else 0
    wedge = xp.arange(total)
    arc = xp.searchsorted(ends, wedge, side="right")
    x = far[wedge - (ends - (offsets[at + 1] - offsets[at]))[arc] + offsets[at][arc]]
    row = xp.searchsorted(piece.offsets[1:], xp.arange(len(piece.v)), side="right")
    kept = x != piece.u[row][arc]
    if skips:
        keys = xp.sort(row << 32 | piece.v.astype(np.int64))
        wanted = row[arc] << 32 | x.astype(np.int64)
        kept &= keys[xp.minimum(xp.searchsorted(keys, wanted), max(len(keys) - 1, 0))] != wanted
    count = xp.concatenate((xp.zeros(1, np.int64), xp.cumsum(kept.astype(np.int64))))
    ends = xp.concatenate((xp.zeros(1, np.int64), ends))[piece.offsets]
    bounds = count[ends]
    return bounds[:-1].copy(), bounds[1:].copy(), x[kept], piece.v[arc][kept]
