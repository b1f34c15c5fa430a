"""Functions per vertex and per edge, and intersections, on a graph of several ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import operators
from suricate.base.errors import RequirementError
from suricate.base.types import ArcList
from suricate.operators import binding, starts
from suricate.parallel.arguments import REDUCE, on_rows_of_all, scalars_of, takes_graph, with_local
from suricate.parallel.pulls import _ends, frontier_of, written_by
from suricate.parallel.pushes import _share
from suricate.state.frontier import Frontier
from suricate.state.scalar import Scalar
from suricate.state.union_find import UnionFind

if TYPE_CHECKING:
    from suricate.parallel.partition import Partition


def vertex_map(part: Partition, frontier: Any, fn: Any, *, args: Any = ()) -> Frontier:
    """Call a function per vertex, on every rank; where it asks the graph, on the rank of the owner."""
    graph = part.follow()
    given = with_local(part, args, graph)
    if not takes_graph(part, args):
        return operators.vertex_map(graph, frontier, fn, args=given)
    call = binding.bind_map(graph, fn, given)
    if call.function.leading[0] == "i":
        raise RequirementError("a function of positions cannot ask a graph of several processes")
    ids = None if frontier is None else _ends(starts.start_of(graph, frontier), graph.num_vertices)
    mine = np.arange(part.low, part.high, dtype=np.uint32) if ids is None else part.owned(ids)
    kept = operators.vertex_map(graph, frontier_of(graph, mine), fn, args=given)
    part.share_rows(ids, written_by(call, call.function))
    part.add_up(scalars_of(given))
    return frontier_of(graph, part.joined(kept.vertices))


@on_rows_of_all(operators.edge_map)
def edge_map(
    part: Partition, fn: Any, edges: Any = None, *, args: Any = (), over: str = "out", first: slice | None = None
) -> None:
    """Call a function for its effects on the arcs of this rank; then combine the effects of all ranks."""
    graph = part.follow()
    given = with_local(part, args, graph)
    call = binding.bind_effect(graph, fn, given)
    start = starts.start_of(graph, edges)
    if call.function.leading[0] == "i":  # positions are those of all arcs
        arcs = start.arcs if part.comm.rank == 0 else tuple(_none_of(each) for each in start.arcs)
    else:
        arcs = tuple(_share(part, each) for each in start.arcs)
    mine, added = list(given), dict[int, Any]()
    for at, kind in call.function.effects.items():
        if kind == "sum" and isinstance(given[at], np.ndarray):
            mine[at] = added[at] = np.zeros_like(given[at])
    walked = None if edges is None else (*start.frontiers, *arcs)
    operators.edge_map(graph, fn, walked[0] if walked and len(walked) == 1 else walked, args=tuple(mine), over=over,
                       first=first)  # fmt: skip
    for at, kind in call.function.effects.items():
        _combine(part, given[at], added.get(at), kind)
    part.add_up(scalars_of(given))


def _combine(part: Partition, target: Any, added: Any, kind: str) -> None:
    """Bring the effects of all ranks on one argument together."""
    if isinstance(target, UnionFind):
        parents = part.comm.allgatherv(target.labels())
        own = np.arange(target.num_elements, dtype=np.uint32)
        for parent in parents:
            moved = np.flatnonzero(parent != own)
            target.union(own[moved], parent[moved], trusted=True)
        target.flatten()
    elif not isinstance(target, Scalar):
        parts = part.comm.allgatherv(target if added is None else added)
        for each in parts:
            target[:] = REDUCE[kind](target, each)


def _none_of(arcs: ArcList) -> ArcList:
    """Return no arcs, in arrays of the same types."""
    return arcs._replace(
        src=arcs.src[:0], dst=arcs.dst[:0], weight=None if arcs.weight is None else arcs.weight[:0],
        status=None if arcs.status is None else arcs.status[:0], size=0,
    )  # fmt: skip
