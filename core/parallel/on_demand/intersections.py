"""Intersections on a graph of several ranks.

A pair is with the rank that holds the longer of its two rows, which gets the shorter one; if one rank holds both,
nothing is sent. If only the rank of the first row knows a pair (an arc of a directed graph), it gets the second row.
All triangles are found from rows of the neighbours that are higher by degree or id, as on one process.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.types import ArcList, EdgeList, StoreView, edge_keys
from suricate.comm.rounds import in_rounds
from suricate.edgefn.derived.asks import Asks
from suricate.intake.arrays import bits, on_host, picked, sorted_distinct
from suricate.operators import binding
from suricate.operators import intersection as alone
from suricate.operators.call import driver_of
from suricate.parallel.arguments import combine, demand_whole, own_effects
from suricate.parallel.on_demand.asks import Asking
from suricate.parallel.on_demand.rows import Rows, at_a_time, ends_of_keys, known, slices
from suricate.parallel.totals import Totals
from suricate.state.edges.edge_set import EdgeSet
from suricate.store import fallbacks

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.operators.call import Call
    from suricate.parallel.partition import Partition


def intersect(
    part: Partition, graph: Graph, call: Call, left: Any, right: Any, pairs: ArcList | None, out: Any,
    oriented: str | None, method: str,
) -> None:  # fmt: skip
    """Intersect the rows of every pair on one rank, as a driver does (see ``suricate.operators.call``)."""
    local = part.follow()
    demand_whole(part, call, out)
    with part.comm.alike():  # that copies, or does not, by what stores of this rank have chosen
        views = alone.walked_together(local, alone.views_of(local, left, right), reads_weights=call.of_two)
    corners = pairs is None and oriented is not None and out is not None and len(out) != 1
    if corners:
        call, out[:] = alone.adding_to(graph, call, out), 0
    run = Run(part, call, method, [Side(one, view) for one, view in zip((left, right), views, strict=True)])
    if pairs is not None:
        run.pairs = pairs if oriented is None else _ascending(pairs)
    elif oriented is None:
        run.every_arc(left, right)
    else:
        run.oriented_arcs(by_degree=oriented == "degree")
    if out is not None and not corners:
        run.sums = part.xp.zeros(run.pairs.size, call.dtype)
    run.everything()
    if run.sums is not None and pairs is not None:
        out[:] = part.comm.merged(bits(run.sums)).view(out.dtype)
    elif run.sums is not None:
        out[:] = sum(part.comm.allgatherv(run.sums.sum(dtype=out.dtype).reshape(1)))


def _is_divided(one: Any) -> bool:
    return getattr(one, "partition", None) is not None


def _ascending(pairs: ArcList) -> ArcList:
    """Return ``pairs`` with new statuses: only pairs that were wanted before and have ``u < v`` are wanted."""
    u, v, _, status, wanted, size = pairs
    counts = u[:size] < v[:size]
    counts = counts if status is None else counts & (status[:size] == wanted)
    return ArcList(u, v, None, counts.astype(np.uint8), 1, size)


class Side:
    """One operand of an intersection, a divided graph or an edge set, and the rows (``view``) that this rank has."""

    def __init__(self, given: Any, view: StoreView) -> None:
        self.graph, self.view = given, view
        self.rows = given.partition.rows() if _is_divided(given) else None

    def has(self, ids: Array) -> Any:
        """Return whether this rank has the row of each of ``ids``: a mask, or True if all ranks have all rows."""
        return True if self.rows is None else self.rows.part.owns(ids)


class Piece(NamedTuple):
    """Some pairs, and the rows of other ranks that they need."""

    pairs: Array  #: their indices
    ids: Array  #: the vertices whose rows are needed, ascending
    begin: int  #: of the arcs of each row to fetch
    most: int  #: arcs of each row to fetch, from ``begin`` on


class Run:
    """One call of ``intersect``.

    Attributes:
        pairs: the pairs that this rank knows, not only those that it handles.
        sums: a sum per pair, or None if the function returns nothing.
    """

    pairs: ArcList
    sums: Array | None = None

    def __init__(self, part: Partition, call: Call, method: str, sides: list[Side]) -> None:
        self.part, self.call, self.method, self.sides = part, call, method, sides
        self.asking, self.totals, self.all_know = Asking(part, call), Totals(part, call.values), True
        self.asking.args, self.added = own_effects(part, call.function, call.values, self.asking.args)
        self.asked = [at for at, side in enumerate(sides) if side.graph is part.graph]
        ends, edges = {"uv"[at] for at in self.asked}, self.asking.first.edges
        self.others = Asks(tuple(pair for pair in edges if pair[0].op != "parameter" or pair[0].value not in ends))

    def every_arc(self, left: Any, right: Any) -> None:
        """Use each arc of ``left`` as a pair; if ``right is left``, undirected, the owners of both ends know a pair."""
        if not _is_divided(left):
            self.pairs = left.arcs() if isinstance(left, EdgeSet) else _listed(*left.edges()[:2])
            return
        src, dst, _ = left.partition.local.store().edges()
        self.all_know = left is right and not left.directed
        if self.all_know:
            xp, other = self.part.xp, ~self.part.owns(dst)
            src, dst = xp.concatenate((src, dst[other])), xp.concatenate((dst, src[other]))
        self.pairs = _listed(src, dst)

    def oriented_arcs(self, *, by_degree: bool) -> None:
        """Use the arcs from lower to higher vertices, ``by_degree`` or by id, as pairs, and only these arcs as rows."""
        part, xp, device = self.part, self.part.xp, self.part.local.device
        edges = part.local.store().edges()
        src, dst, _ = edges
        up = alone.ascends(src, dst, part.degrees() if by_degree else None)
        down = ~up & (src != dst) & ~part.owns(dst)
        higher = picked(edges, up) if self.call.of_two else EdgeList(src[up], dst[up])
        view = fallbacks.snapshot(higher, part.local.num_vertices, device)
        lengths = fallbacks.degrees(view, device)
        part.share(lengths)
        for side in self.sides:
            side.view, side.rows = view, Rows(part, view, lengths)
        self.pairs = _listed(xp.concatenate((src[up], dst[down])), xp.concatenate((dst[up], src[down])))

    def everything(self) -> None:
        """Intersect the pairs assigned to this rank, beginning with those of which it has the rows of both ends."""
        u, v, _, status, wanted, size = self.pairs
        self.ends = u[:size], v[:size]
        (left, right), xp = self.sides, self.part.xp
        counts = xp.ones(size, bool) if status is None else status[:size] == wanted
        has_left, has_right = counts & left.has(self.ends[0]), counts & right.has(self.ends[1])
        self._rounds(None, has_left & has_right)
        if left.rows is not None and right.rows is not None:
            longer = left.rows.lengths[self.ends[0]] >= right.rows.lengths[self.ends[1]] if self.all_know else True
            self._rounds(1, has_left & ~has_right & longer)
            if self.all_know:
                self._rounds(0, has_right & ~has_left & ~longer)
        for at, kind in self.call.function.effects.items():
            combine(self.part, self.call.values[at], self.added.get(at), kind)
        self.totals.end()

    def _rounds(self, far: int | None, chosen: Array) -> None:
        """Intersect the pairs in the mask ``chosen``; their rows of operand ``far`` (None: none) are on other ranks."""
        pieces = self._pieces(far, self.part.xp.flatnonzero(chosen))
        in_rounds(self.part.comm, pieces, partial(self._ask, far), partial(self._use, far))

    def _pieces(self, far: int | None, chosen: Array) -> Iterator[Piece]:
        xp, most = self.part.xp, at_a_time(self.part)
        if far is None:
            if len(chosen):
                yield Piece(chosen, xp.empty(0, np.uint32), 0, most)
            return
        ids, rows = self.ends[far][chosen], self.sides[far].rows
        assert rows is not None
        chosen = chosen[xp.argsort(ids, kind="stable")]
        ids, first = xp.unique(self.ends[far][chosen], return_index=True)
        lengths, first = on_host(rows.lengths[ids]), [*on_host(first).tolist(), len(chosen)]
        for low, high in slices(lengths, most):
            length, pairs = int(lengths[low]), chosen[first[low] : first[high]]
            if length <= most or self.asking.first.edges:  # what a function asks of a row may be in any part of it
                yield Piece(pairs, ids[low:high], 0, max(length, most))
                continue
            for begin in range(0, length, most):
                yield Piece(pairs, ids[low:high], begin, most)

    def _ask(self, far: int | None, piece: Piece | None) -> tuple[EdgeList, EdgeList]:
        """Return rows of other ranks, and arcs, that ``piece`` (None: only answer) needs; collective."""
        xp = self.part.xp
        none = xp.empty(0, np.uint32)
        rows = asked = EdgeList(none, none)
        if far is not None:
            source, (_, ids, begin, most) = self.sides[far].rows, piece or Piece(none, none, 0, 1)
            assert source is not None
            counts = xp.minimum(source.lengths[ids].astype(np.int64) - begin, most)
            at = xp.searchsorted(xp.cumsum(counts), xp.arange(int(counts.sum())), side="right")
            rows = EdgeList(ids[at], *source.fetch(ids, begin, most, weights=self.call.of_two))
        if self.others.edges:
            asked = EdgeList(*known(self.part, self._questions(far, piece, rows)))
        return rows, asked

    def _questions(self, far: int | None, piece: Piece | None, rows: EdgeList) -> Iterator[Array]:
        """Yield keys of edges that the function may look up, for each pair of ``piece`` and each vertex in a row of it.

        That row is of operand ``far``, 0 or 1, and in ``rows``, which other ranks sent; ``far`` None: this rank has it.
        ``piece`` None: yield nothing.
        """
        if piece is None:
            return
        device, xp = self.part.local.device, self.part.xp
        at = far if far is not None else self.asked[0] if self.asked else 0
        view = self.sides[at].view if far is None else fallbacks.snapshot(rows, self.part.local.num_vertices, device)
        ids = self.ends[at][piece.pairs]
        for low, high in slices(fallbacks.degrees(view, device, ids), at_a_time(self.part)):
            offsets, edges = fallbacks.edges_of(view, device, ids[low:high])
            place = piece.pairs[low:high][xp.searchsorted(offsets, xp.arange(len(edges.src)), side="right") - 1]
            ends = (*(one[place] for one in self.ends), edges.dst, place)
            columns = {name: values.astype(np.int64) for name, values in zip("uvxi", ends, strict=True)}
            yield from self.asking.keys(columns, self.others)

    def _use(self, far: int | None, piece: Piece, found: tuple[EdgeList, EdgeList]) -> None:
        """Intersect the pairs of a piece and add to ``sums``; ``found``: what :meth:`_ask` returned."""
        graph, views, (rows, _) = self.part.local, [side.view for side in self.sides], found
        if far is not None:
            arcs = ArcList.of(rows)
            views[far] = EdgeSet._of_arcs(graph.device, graph.num_vertices, arcs, directed=True, most=arcs.size).view()
        args = self.asking.args
        if self.asking.places:
            args = self.asking.with_answers(*self._answers(piece, found))
        dtypes = views[0].weight_dtype, views[1].weight_dtype
        call = binding.bind_intersection(graph, self.call.given[0], args, everything=False, dtypes=dtypes)
        call = call._replace(dtype=self.call.dtype)
        places, (u, v) = piece.pairs, self.ends
        by_position = call.function.leading[0] == "i"  # among all pairs
        if by_position:
            chosen = self.part.xp.zeros(self.pairs.size, np.uint8)
            chosen[places] = 1
            pairs = ArcList(u, v, None, chosen, 1, len(chosen))
        else:
            pairs = _listed(u[places], v[places])
        sums = None if self.sums is None else self.part.xp.zeros(pairs.size, call.dtype)
        with self.totals.call():
            driver_of(graph).intersect(graph, call, *views, pairs, sums, None, self.method)
        if self.sums is not None and sums is not None:
            self.sums[places] += sums[places] if by_position else sums

    def _answers(self, piece: Piece, found: tuple[EdgeList, EdgeList]) -> tuple[Array, Array]:
        """Return ``(src, dst)`` of the arcs in which the function's look-ups for ``piece`` search, ascending."""
        if not self.asking.first.edges:
            return found[1].src, found[1].dst
        part, xp = self.part, self.part.xp
        keys = [edge_keys(one.src, one.dst) for one in found]
        for at in self.asked:
            rows = self.sides[at].rows
            assert rows is not None
            own = part.owned(sorted_distinct(self.ends[at][piece.pairs], xp))
            edges = fallbacks.edges_of(rows.view, part.local.device, own)[1]
            keys.append(edge_keys(edges.src, edges.dst))
        return ends_of_keys(sorted_distinct(xp.concatenate(keys), xp))


def _listed(src: Array, dst: Array) -> ArcList:
    return ArcList(src, dst, None, None, 0, len(src))
