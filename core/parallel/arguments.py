"""What users pass to operators, as the graph takes it that one rank walks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError
from suricate.state.frontier import Frontier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.operators.call import Call
    from suricate.parallel.partition import Partition

REDUCE = {"sum": "add", "min": "minimum", "max": "maximum", "or": "bitwise_or"}


def reduced(xp: Any, kind: str, one: Array, other: Array) -> Array:
    """Return what two ranks have, brought together."""
    return getattr(xp, REDUCE[kind])(one, other)


def with_local(part: Partition, args: Any, local: Graph) -> tuple[Any, ...]:
    """Return ``args`` with another graph in place of the divided one."""
    if not isinstance(args, tuple):
        raise ParameterError(f"args must be a tuple, not {type(args).__name__}: write args=(x,)")
    graph = part.graph
    return tuple(local if value is graph else value for value in args)


def takes_graph(part: Partition, args: Any) -> bool:
    """Return whether the graph is among the arguments."""
    graph = part.graph
    return isinstance(args, tuple) and any(value is graph for value in args)


def walked(part: Partition, args: Any) -> tuple[Graph, tuple[Any, ...]]:
    """Return the graph that a rank walks for the vertices that it owns, and the arguments with that graph.

    That is the graph of its own rows; if a function may ask the graph, one of all rows, which every rank gathers: it
    sees neighbours, whose rows another rank holds.
    """
    graph = part.whole() if takes_graph(part, args) else part.follow()
    return graph, with_local(part, args, graph)


def scheme_on(part: Partition, graph: Graph, scheme: str) -> str:
    """Return how to walk the rows that a rank owns in ``graph``.

    Raises:
        RequirementError: those inserted since the mark, in a graph of all rows, which has no mark.
    """
    if graph is part.local or scheme not in ("scan", "updated"):
        return scheme
    if scheme == "updated":
        raise RequirementError(
            "scheme 'updated' cannot be used where a function asks a graph of several processes: pass an EdgeList"
        )
    return "auto"


def frontier_of(graph: Graph, ids: Array) -> Frontier:
    """Return distinct ids as a frontier of a graph."""
    return Frontier(graph.device, ids, num_vertices=graph.num_vertices)


def vertices_in(graph: Graph, frontiers: Sequence[Frontier], others: Sequence[Array] = ()) -> Array:
    """Return the vertices of frontiers and of ``others``, ascending, each once, those that the graph has."""
    xp, parts = graph.device.xp, [*(one.vertices for one in frontiers), *others]
    ids = xp.unique(xp.concatenate(parts)) if parts else xp.empty(0, np.uint32)
    return ids[ids < graph.num_vertices].astype(np.uint32)


def written_by(call: Call, function: Any) -> list[Any]:
    """Return the arrays that a function of a call writes at its vertex."""
    return [] if function is None else [call.values[position] for position in sorted(function.writes)]
