"""Functions per vertex and per edge, and intersections, on a graph of several ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import operators
from suricate.base.errors import RequirementError
from suricate.base.types import ArcList
from suricate.operators import binding, starts
from suricate.parallel.arguments import frontier_of, reduced, takes_graph, walked, with_local, written_by
from suricate.parallel.pulls import ends_of
from suricate.parallel.pushes import share
from suricate.parallel.totals import Totals
from suricate.state.frontier import Frontier
from suricate.state.scalar import Scalar
from suricate.state.union_find import UnionFind

if TYPE_CHECKING:
    from suricate.operators.call import Call
    from suricate.parallel.partition import Partition


def vertex_map(part: Partition, frontier: Any, fn: Any, *, args: Any = ()) -> Frontier:
    """Call a function per vertex, on every rank; where it asks the graph about its vertex, on that of the owner."""
    graph = part.follow()
    given = with_local(part, args, graph)
    if takes_graph(part, args):
        call = binding.bind_map(graph, fn, given)
        if _asks_about_its_vertex(call):
            return _map_owned(part, call, frontier, fn, given)
        graph, given = walked(part, args)
    totals = Totals(part, given)
    with totals.call(alike=True):
        kept = operators.vertex_map(graph, frontier, fn, args=given)
    totals.end()
    return kept


def _asks_about_its_vertex(call: Call) -> bool:
    """Return whether a function asks the graph only about the vertex that it is called for."""
    graphs = {position for position, argument in enumerate(call.function.arguments) if argument.kind == "graph"}
    elsewhere = call.function.elsewhere
    return call.function.leading[0] != "i" and elsewhere is not None and not graphs & elsewhere


def _map_owned(part: Partition, call: Call, frontier: Any, fn: Any, args: tuple[Any, ...]) -> Frontier:
    """Call a function for the vertices that this rank owns, and share what it writes."""
    graph, totals = part.local, Totals(part, args)
    ids = None if frontier is None else ends_of(graph, starts.start_of(graph, frontier))
    mine = frontier_of(graph, part.own if ids is None else part.owned(ids))
    with totals.call():
        kept = operators.vertex_map(graph, mine, fn, args=args)
    part.share_rows(ids, written_by(call, call.function))
    totals.end()
    return frontier_of(graph, part.joined(kept.vertices))


def edge_map(
    part: Partition, fn: Any, edges: Any = None, *, args: Any = (), over: str = "out", first: slice | None = None
) -> None:
    """Call a function for its effects on the arcs of this rank; then combine the effects of all ranks."""
    graph, given = walked(part, args)
    call = binding.bind_effect(graph, fn, given)
    if call.function.by_hand:
        raise RequirementError("edge_map of a graph of several processes takes plain functions, whose effects it knows")
    totals = Totals(part, given)
    if graph is not part.local:
        with totals.call(alike=True):
            operators.edge_map(graph, fn, edges, args=given, over=over, first=first)
        _agree(part, call)
    else:
        _map_own_edges(part, fn, edges, call, given, totals, over=over, first=first)
    totals.end()


def _map_own_edges(
    part: Partition, fn: Any, edges: Any, call: Call, given: tuple[Any, ...], totals: Totals, *, over: str,
    first: slice | None,
) -> None:  # fmt: skip
    start = starts.start_of(part.local, edges)
    if call.function.leading[0] == "i":  # positions are those of all arcs
        arcs = start.arcs if part.comm.rank == 0 else tuple(_none_of(each) for each in start.arcs)
    else:
        arcs = tuple(share(part, each) for each in start.arcs)
    mine, added = list(given), dict[int, Any]()
    for at, kind in call.function.effects.items():
        if kind == "sum" and isinstance(call.values[at], part.xp.ndarray):
            mine[at] = added[at] = part.xp.zeros_like(call.values[at])
    chosen = (*start.frontiers, *arcs)
    with totals.call():
        operators.edge_map(
            part.local, fn, chosen[0] if len(chosen) == 1 else chosen, args=tuple(mine), over=over, first=first
        )
    for at, kind in call.function.effects.items():
        _combine(part, call.values[at], added.get(at), kind)


def intersect(
    part: Partition, left: Any, right: Any = None, *, u: Any, v: Any, fn: Any, args: Any, method: str,
    oriented: str | None, out: Any,
) -> Any:  # fmt: skip
    """Intersect on every rank alike, with graphs of all edges in place of divided ones."""
    places = {id(one): one.partition.whole() for one in (left, right) if getattr(one, "partition", None) is not None}
    left, right = (places.get(id(one), one) for one in (left, right))
    if isinstance(args, tuple):
        args = tuple(places.get(id(value), value) for value in args)
    totals = Totals(part, args)
    with totals.call(alike=True):
        found = operators.intersect(left, right, u, v, fn, args=args, method=method, oriented=oriented, out=out)
    if fn is not None:
        graph = next(one for one in places.values() if one is left or one is right)
        _agree(part, binding.bind_intersection(graph, fn, args, everything=u is None and v is None))
    if found is not None:
        part.agree_on(found)
    totals.end()
    return found


def _agree(part: Partition, call: Call) -> None:
    """Have all ranks agree on the effects that all of them had alike."""
    for position in sorted(call.function.effects):
        if isinstance(call.values[position], part.xp.ndarray):
            part.agree_on(call.values[position])


def _combine(part: Partition, target: Any, added: Any, kind: str) -> None:
    """Bring the effects of all ranks on one argument together."""
    if isinstance(target, UnionFind):
        parents = part.comm.allgatherv(target.labels())
        own = part.xp.arange(target.num_elements, dtype=np.uint32)
        for parent in parents:
            moved = part.xp.flatnonzero(parent != own)
            target.union(own[moved], parent[moved], trusted=True)
        target.flatten()
    elif not isinstance(target, Scalar):
        parts = part.comm.allgatherv(target if added is None else added)
        for each in parts:
            target[:] = reduced(part.xp, kind, target, each)


def _none_of(arcs: ArcList) -> ArcList:
    """Return no arcs, in arrays of the same types."""
    return arcs._replace(
        src=arcs.src[:0], dst=arcs.dst[:0], weight=None if arcs.weight is None else arcs.weight[:0],
        status=None if arcs.status is None else arcs.status[:0], size=0,
    )  # fmt: skip
