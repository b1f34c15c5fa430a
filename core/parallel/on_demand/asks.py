"""Functions that look up edges: before a call a rank requests from the owners all edges that they may look up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import RequirementError
from suricate.edgefn.derived.asks import Asks, value_of
from suricate.intake.arrays import sorted_distinct
from suricate.parallel.arguments import with_local
from suricate.parallel.on_demand.rows import at_a_time, keys_of, known, slices
from suricate.state.edges.answers import Answers
from suricate.store import fallbacks

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.base.types import ArcList
    from suricate.edgefn.tree import Node
    from suricate.operators.call import Call, Swap
    from suricate.parallel.partition import Partition

Columns = dict[str, Any]  #: values of leading parameters, int64


class Asking:
    """Prepares the arguments of a call whose functions look up edges of a divided graph.

    Before each run the arcs that may be looked up are requested from their owners; those that exist replace the graph.
    The edges of a run are *columns*: dicts of ``int64`` arrays by leading parameter (``u``, ``v``, ``i``).

    Args:
        part: how the graph is divided.
        call: the call, bound to the divided graph.
        out: the array that a push writes while its function runs, or None.

    Raises:
        RequirementError: it is not known before the call which edges a function looks up.
    """

    def __init__(self, part: Partition, call: Call, out: Any = None) -> None:
        self.part, self.call, self.args = part, call, with_local(part, call.given[1])
        self.places = [at for at, value in enumerate(self.args) if value is part.local]
        later = [one.asks for one in call.functions.values()]
        self.first, self.later = call.function.asks, Asks(sum((one.edges for one in later), ()))
        if not self.places:
            return
        if call.function.by_hand:
            raise RequirementError("an EdgeFunction cannot ask a graph of several processes: pass a plain function")
        moving = [end for pair in self.first.edges for end in pair if self._reads(end, out)]
        if moving or any(one.unknown for one in (self.first, *later)):
            raise RequirementError(
                "a graph of several processes is asked before the functions of a call run: a and b of (a, b) in graph "
                "must be vertices, arguments, elements of arrays that nothing writes meanwhile, or sums and the like"
            )
        asks_degrees = any(one.degrees for one in (self.first, *later))
        self._degrees = part.degrees() if asks_degrees else part.xp.empty(0, np.uint32)

    def _reads(self, node: Node, out: Any) -> bool:
        arrays = (self.call.values[one.value.position] for one in node.nodes() if one.op in ("load", "word"))
        return out is not None and any(array is out for array in arrays)

    def of(self, edges: Iterable[Columns] = (), vertices: Array | None = None) -> tuple[Any, ...]:
        """Return the arguments for a run over ``edges``, in which ``then`` or ``commit`` visits ``vertices``, if given.

        Collective if a function looks up edges.
        """
        if not self.places:
            return self.args
        none, found = self.part.xp.empty(0, np.uint32), None
        if self.first.edges or self.later.edges:
            found = known(self.part, self._questions(edges, vertices))
        return self.with_answers(*(found or (none, none)))

    def of_pull(self, ids: Array, over: str) -> tuple[Any, ...]:
        """Return the arguments for a pull of ``ids``, vertices of this rank, over their edges in direction ``over``."""
        return self.of(self.edges_of(ids, over, u="u" if over == "out" else "v"), ids)

    def with_answers(self, src: Array, dst: Array) -> tuple[Any, ...]:
        """Return ``args`` with, in place of the graph, the arcs ``src`` to ``dst`` that exist, and degrees."""
        answers = Answers(self.part.local.device, src, dst, self._degrees)
        return tuple(answers if at in self.places else value for at, value in enumerate(self.args))

    def edges_of(self, ids: Array, over: str, *, u: str = "u", places: Array | None = None) -> Iterator[Columns]:
        """Yield the edges of ``ids``, vertices of this rank, as columns, in slices.

        ``u``: the parameter that stands for the vertex, ``"u"`` or ``"v"``; the other one is the neighbour. ``places``:
        the position of each vertex, if the function takes one, for the column ``i``.
        """
        graph = self.part.local
        v = "v" if u == "u" else "u"
        for direction in {"both": ("out", "in")}.get(over, (over,)) if graph.directed else ("out",):
            view = graph.store(direction).view()
            for begin, end in slices(fallbacks.degrees(view, graph.device, ids), at_a_time(self.part)):
                offsets, edges = fallbacks.edges_of(view, graph.device, ids[begin:end])
                columns = {u: edges.src.astype(np.int64), v: edges.dst.astype(np.int64)}
                if places is not None:
                    at = self.part.xp.arange(len(edges.src))
                    columns["i"] = places[begin:end][self.part.xp.searchsorted(offsets, at, side="right") - 1]
                yield columns

    def together(self, columns: Columns) -> Array:
        """Return an index (array or slice) that orders ``columns`` so that look-ups of the same rows are adjacent."""
        keys = [end for end, _ in self.first.edges if _parameters(end) <= columns.keys()]
        if not keys:
            return slice(None)
        return self.part.xp.argsort(value_of(keys[0], columns, self.call.values, self.part.xp), kind="stable")

    def exchange(self, pairs: Swap) -> None:
        """Swap the arguments at each pair of positions in ``pairs``, as ``swap`` of an operator does between rounds."""
        args, values = list(self.args), list(self.call.values)
        for a, b in pairs:
            args[a], args[b], values[a], values[b] = args[b], args[a], values[b], values[a]
        self.args, self.call = tuple(args), self.call._replace(values=tuple(values))

    def _questions(self, edges: Iterable[Columns], vertices: Array | None) -> Iterator[Array]:
        """Yield, in slices, keys of the edges that functions may look up at ``edges`` and, later, at ``vertices``."""
        if self.first.edges:
            for columns in edges:
                yield from self.keys(columns, self.first)
        if self.later.edges and vertices is not None and len(vertices):
            yield from self.keys({"v": vertices.astype(np.int64)}, self.later)

    def keys(self, columns: Columns, asks: Asks) -> Iterator[Array]:
        """Yield the keys of the edges that ``asks`` looks up for ``columns``, in slices, ascending and distinct."""
        count, xp, most = len(next(iter(columns.values()))), self.part.xp, at_a_time(self.part)
        step = max(1, most // len(asks.edges))
        for begin in range(0, count, step):
            some = {name: column[begin : begin + step] for name, column in columns.items()}
            ends = [tuple(value_of(end, some, self.call.values, xp) for end in pair) for pair in asks.edges]
            n = self.part.local.num_vertices
            yield sorted_distinct(xp.concatenate([keys_of(src, dst, n, xp) for src, dst in ends]), xp)


def _parameters(node: Node) -> set[str]:
    """Return the names of the leading parameters (such as ``u``) that occur in the expression ``node``."""
    return {one.value for one in node.nodes() if one.op == "parameter" and not one.value.startswith("a")}


def columns_of(arcs: ArcList, places: Array | None = None) -> Iterator[Columns]:
    """Yield the ends of ``arcs`` as columns ``u`` and ``v``, with ``places`` as ``i``; nothing if there are no arcs."""
    src, dst = (ids[: arcs.size].astype(np.int64) for ids in (arcs.src, arcs.dst))
    if arcs.size:
        yield {"u": src, "v": dst} | ({} if places is None else {"i": places})
