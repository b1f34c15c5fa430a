"""Arguments of operators on a divided graph, converted for the local graph that a rank walks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import RequirementError
from suricate.edgefn.layout import words_less
from suricate.intake.arrays import sorted_distinct
from suricate.parallel.unions import unite
from suricate.state.frontier import Frontier
from suricate.state.scalar import Scalar
from suricate.state.union_find import UnionFind
from suricate.state.words import Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suricate.base.devices import Array
    from suricate.edgefn import TypedFunction
    from suricate.graph import Graph
    from suricate.operators.call import Call
    from suricate.parallel.partition import Partition

ALL_HAVE = "all processes have whole (suricate.state.owned.whole)"
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


def uses_own(part: Partition, call: Call, out: Any = None, *, at_vertex: bool = False, over: str = "out") -> bool:
    """Return whether ``call`` uses arrays of which ranks keep their own entries; raise if it does elsewhere than there.

    ``at_vertex``: ``call.function`` is a function of vertices; else it is one of edges, in a pull ``over`` a direction
    or, with ``"out"``, any operator, and must not use them unless they are those of its vertex ``v``.
    """
    own = {at for at, value in enumerate(call.values) if part.is_own(value)}
    if part.is_own(out) or (call.vote is not None and call.vote.keep in own):
        raise RequirementError(f"out and keep of a graph of several processes are arrays that {ALL_HAVE}")
    used = False
    for name, function in ({"fn": call.function} | call.functions).items() if own else ():
        near = name in ("then", "commit") or (name == "fn" and (at_vertex or over != "out"))
        far = function.elsewhere if near else function.reads | function.writes
        if far is None or far & own or (function.leading[0] == "i" and own & (function.reads | function.writes)):
            at = min(own & (far or own) or own)
            raise RequirementError(
                f"args[{at}] is an array of which each process keeps the entries of its own vertices: {name} uses it "
                f"elsewhere than at a vertex v of the process: pass an array that {ALL_HAVE}"
            )
        used = used or bool(own & (function.reads | function.writes))
    return used


def demand_whole(part: Partition, call: Call, out: Any = None) -> None:
    """Raise if ``call``, of no pull and no map of vertices, uses arrays that no process has whole."""
    if uses_own(part, call, out):
        raise RequirementError(f"then of a push takes arrays that {ALL_HAVE}")


def written_by(call: Call, function: TypedFunction | None) -> list[Any]:
    """Return the arrays that ``function``, a function of ``call``, writes at the vertex it is called for."""
    return [] if function is None else [call.values[position] for position in sorted(function.stores)]


def own_effects(
    part: Partition, function: TypedFunction, values: tuple[Any, ...], args: tuple[Any, ...]
) -> tuple[tuple[Any, ...], dict[int, Any]]:
    """Return ``args`` with arrays of zeros in place of those that effects add to, and what :func:`combine` needs.

    ``values``: the arguments of ``function`` as users passed them. The second result is a dict by position of an
    argument: the array of zeros; of a union-find its roots now.
    """
    targets = {at: values[at] for at in function.effects}
    added = {
        at: part.xp.zeros_like(target)
        for at, target in targets.items()
        if function.effects[at] == "sum" and isinstance(target, part.xp.ndarray)
    }
    roots = {at: target.roots() for at, target in targets.items() if isinstance(target, UnionFind)}
    return tuple(added.get(at, value) for at, value in enumerate(args)), added | roots


def combine(part: Partition, target: Any, added: Any, kind: str) -> None:
    """Combine the effects of all ranks on ``target``, an argument of a call, in place and on every rank; collective.

    ``added``: the entry of :func:`own_effects` for it; None: ``target`` contains this rank's effects already. ``kind``:
    ``"sum"``, ``"min"``, ``"max"``, ``"or"`` or ``"argmin"``. A scalar is not changed here, but by :class:`Totals`.
    """
    if isinstance(target, UnionFind):
        unite(part, target, added)
    elif isinstance(target, Words):
        _keep_smallest(part, target.data)
    elif added is not None:
        part.comm.reduce(added, kind)
        target[:] = reduced(part.xp, kind, target, added)
    elif not isinstance(target, Scalar):
        part.comm.reduce(target, kind)


def _keep_smallest(part: Partition, data: Array) -> None:
    """Replace every word in ``data`` by the smallest of all ranks, on every rank; collective."""
    if data.ndim == 1:
        part.comm.smallest(data)
        return
    for each in part.comm.allgatherv(data.reshape(-1)):
        words = each.reshape(data.shape)
        better = words_less(words, data)
        data[better] = words[better]


@contextmanager
def effects(
    part: Partition, function: TypedFunction | None, values: tuple[Any, ...], args: tuple[Any, ...], *,
    alike: bool = False,
) -> Iterator[tuple[Any, ...]]:  # fmt: skip
    """Return a context for calls of ``function`` on this rank, with the arguments to call it with; collective.

    Effects are combined at the end. ``alike``: all ranks make the same calls, and have the same effects on arrays of
    their own; only sums of floats, which threads may add in another order, are those of rank 0.

    Args:
        part: how the graph is divided.
        function: the function with effects; None: there is none.
        values: the arguments of the operator.
        args: the same as the local operator takes them.
        alike: see above.
    """
    if function is None or not function.effects:
        yield args
        return
    if alike:
        sums = (at for at, kind in function.effects.items() if kind == "sum" and values[at].dtype.kind == "f")
        floats = {at: part.xp.zeros_like(values[at]) for at in sums}
        yield tuple(floats.get(at, value) for at, value in enumerate(args))
        for at, one in sorted(floats.items()):
            values[at][:] += part.comm.allgatherv(one if part.comm.rank == 0 else one[:0])[0]
        return
    given, added = own_effects(part, function, values, args)
    yield given
    for at, kind in function.effects.items():
        combine(part, values[at], added.get(at), kind)
