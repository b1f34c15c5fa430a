"""Arguments of operators on a divided graph, converted for the local graph that a rank walks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.intake.arrays import sorted_distinct
from suricate.parallel.unions import unite
from suricate.state.frontier import Frontier
from suricate.state.scalar import Scalar
from suricate.state.union_find import UnionFind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.operators.call import Call
    from suricate.parallel.partition import Partition

REDUCE = {"sum": "add", "min": "minimum", "max": "maximum", "or": "bitwise_or"}


def reduced(xp: Any, kind: str, one: Array, other: Array) -> Array:
    """Return the elementwise reduction of arrays ``one`` and ``other`` by ``kind``, an effect of :func:`combine`."""
    return getattr(xp, REDUCE[kind])(one, other)


def with_local(part: Partition, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return ``args`` in which this rank's graph replaces the divided graph."""
    graph = part.graph
    return tuple(part.local if value is graph else value for value in args)


def frontier_of(graph: Graph, ids: Array) -> Frontier:
    """Return ``ids``, which are distinct, as a frontier of ``graph``."""
    return Frontier._of(graph.device, ids, num_vertices=graph.num_vertices)


def vertices_in(graph: Graph, frontiers: Sequence[Frontier], others: Sequence[Array] = ()) -> Array:
    """Return the distinct vertices in ``frontiers`` and ``others``, ascending, without ids that ``graph`` lacks."""
    xp, parts = graph.device.xp, [*(one.vertices for one in frontiers), *others]
    ids = sorted_distinct(xp.concatenate(parts), xp) if parts else xp.empty(0, np.uint32)
    return ids[ids < graph.num_vertices].astype(np.uint32)


def written_by(call: Call, function: Any) -> list[Any]:
    """Return the arrays that ``function``, a function of ``call``, writes at the vertex it is called for."""
    return [] if function is None else [call.values[position] for position in sorted(function.writes)]


def own_effects(part: Partition, call: Call, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[int, Any]]:
    """Return ``args`` with arrays of zeros in place of those that effects add to, and what :func:`combine` needs.

    The second result is a dict by position of an argument: the array of zeros; of a union-find its roots now.
    """
    targets = {at: call.values[at] for at in call.function.effects}
    added = {
        at: part.xp.zeros_like(target)
        for at, target in targets.items()
        if call.function.effects[at] == "sum" and isinstance(target, part.xp.ndarray)
    }
    roots = {at: target.roots() for at, target in targets.items() if isinstance(target, UnionFind)}
    return tuple(added.get(at, value) for at, value in enumerate(args)), added | roots


def combine(part: Partition, target: Any, added: Any, kind: str) -> None:
    """Combine the effects of all ranks on ``target``, an argument of a call, in place and on every rank; collective.

    ``added``: the entry of :func:`own_effects` for it; None: ``target`` contains this rank's effects already. ``kind``:
    ``"sum"``, ``"min"``, ``"max"`` or ``"or"``. A scalar is not changed here, but by :class:`Totals`.
    """
    if isinstance(target, UnionFind):
        unite(part, target, added)
    elif not isinstance(target, Scalar):
        parts = part.comm.allgatherv(target if added is None else added)
        for each in parts:
            target[:] = reduced(part.xp, kind, target, each)
