"""Functions per vertex and per edge on a graph of several ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import operators
from suricate.base.errors import RequirementError
from suricate.base.types import ArcList
from suricate.comm.rounds import in_rounds
from suricate.parallel.arguments import (
    combine,
    demand_whole,
    effects,
    frontier_of,
    own_effects,
    uses_own,
    vertices_in,
    with_local,
    written_by,
)
from suricate.parallel.on_demand.asks import Asking, Columns, columns_of
from suricate.parallel.on_demand.rows import at_a_time, slices
from suricate.parallel.pulls import ends_of
from suricate.parallel.pushes import cut_out, share
from suricate.parallel.totals import Totals
from suricate.state.frontier import Frontier

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.operators.call import Call, Start
    from suricate.parallel.partition import Partition


def vertex_map(part: Partition, divided: Graph, call: Call, start: Start) -> Frontier:
    """Call a function per vertex of ``start``, as a driver does (see ``suricate.operators.call``).

    If the function reads the graph at its vertex only, each rank calls it for the vertices it owns, else for all.
    """
    graph = part.follow()
    if uses_own(part, call, at_vertex=True):
        _demand_own_vertices(divided, call)
        return _map_owned(part, call, start)
    if any(value is divided for value in call.values) and _asks_about_its_vertex(call):
        return _map_owned(part, call, start)
    totals = Totals(part, call.values)
    given = Asking(part, call).of(_places_of(part, call, start))
    with effects(part, call.function, call.values, given, alike=True) as args, totals.call(alike=True):
        kept = operators.vertex_map(graph, _alone(*start.frontiers, *start.arcs), call.given[0], args=args)
    totals.end()
    return kept


def _demand_own_vertices(divided: Graph, call: Call) -> None:
    """Raise if a function that uses arrays of its own vertices asks the graph about others, too."""
    if any(value is divided for value in call.values) and not _asks_about_its_vertex(call):
        raise RequirementError(
            "a function that uses an array of which each process keeps the entries of its own vertices asks the graph "
            "about its vertex only"
        )


def _alone(*parts: Any) -> Any:
    """Return ``parts``; if there is only one, return this, since calls that start from one can be prepared."""
    return parts[0] if len(parts) == 1 else parts


def _places_of(part: Partition, call: Call, start: Start) -> Iterator[Columns]:
    """Yield as columns the vertices ``v`` of a map and positions ``i``, if the function of ``call`` looks up edges."""
    if call.function.asks.edges:
        alone = len(start.frontiers) == 1 and not start.arcs
        ids = start.frontiers[0].vertices if alone else ends_of(part.local, start)
        yield {"v": ids.astype(np.int64), "i": part.xp.arange(len(ids))}


def _asks_about_its_vertex(call: Call) -> bool:
    """Return whether the function of ``call`` reads the graph only at the vertex that it is called for."""
    graphs = {position for position, argument in enumerate(call.function.arguments) if argument.kind == "graph"}
    elsewhere = call.function.elsewhere
    return call.function.leading[0] != "i" and elsewhere is not None and not graphs & elsewhere


def _map_owned(part: Partition, call: Call, start: Start) -> Frontier:
    """Call the function for the vertices of ``start`` that this rank owns, and copy what it writes to all ranks."""
    graph, totals, (fn, args) = part.local, Totals(part, call.values), call.given
    ids = None if start.is_all(graph.num_vertices) else ends_of(graph, start)
    mine = frontier_of(graph, part.own if ids is None else part.owned(ids))
    with effects(part, call.function, call.values, with_local(part, args)) as given, totals.call():
        kept = operators.vertex_map(graph, mine, fn, args=given)
    part.share_rows(ids, written_by(call, call.function))
    totals.end()
    return frontier_of(graph, part.joined(kept.vertices))


def edge_map(part: Partition, _: Graph, call: Call, start: Start, over: str) -> None:
    """Call a function for its effects on the arcs of this rank, as a driver does; then combine those of all ranks."""
    graph = part.follow()
    if call.function.by_hand:
        raise RequirementError("edge_map of a graph of several processes takes plain functions, whose effects it knows")
    demand_whole(part, call)
    asking, totals = Asking(part, call), Totals(part, call.values)
    asking.args, added = own_effects(part, call.function, call.values, asking.args)
    positions = call.function.leading[0] == "i"
    if positions:  # those of all arcs
        arcs = start.arcs if part.comm.rank == 0 else tuple(cut_out(each, 0, 0) for each in start.arcs)
    else:
        arcs = tuple(share(part, each) for each in start.arcs)

    def work(some: Any, given: tuple[Any, ...]) -> None:
        with totals.call():
            operators.edge_map(graph, some, call.given[0], args=given, over=over)

    if not asking.first.edges:
        work(_alone(*start.frontiers, *arcs), asking.of())
    else:
        pieces = _pieces(asking, start, arcs, over, positions=positions)

        def ask(piece: _Piece | None) -> tuple[Any, ...]:
            return asking.of(() if piece is None else _columns(asking, piece))

        in_rounds(part.comm, pieces, ask, lambda piece, given: work(piece.start, given))
    for at, kind in call.function.effects.items():
        combine(part, call.values[at], added.get(at), kind)
    totals.end()


class _Piece(NamedTuple):
    """A part of the edges that ``edge_map`` visits on this rank."""

    start: Any  #: the frontier or the arcs that the local operator takes
    over: str  #: the direction in which it walks a frontier
    ids: Array | None = None  #: vertices of this rank in the frontier; None for arcs
    places: Array | None = None  #: their positions in the whole frontier, if the function takes these


def _pieces(asking: Asking, start: Start, arcs: tuple[ArcList, ...], over: str, *, positions: bool) -> Iterator[_Piece]:
    """Yield the edges of this rank: its ``arcs``, and those of its vertices in the frontiers of ``start``, in slices.

    ``over``: in which direction edges of frontiers go. With ``positions`` there is one frontier, and each vertex keeps
    its position in it: vertices of other ranks are replaced by a vertex that has no edges here.
    """
    part, xp, graph = asking.part, asking.part.xp, asking.part.local
    for each in arcs:
        yield _Piece(each, over)
    if not start.frontiers:
        return
    if positions:
        at = start.frontiers[0].vertices
        places = xp.flatnonzero(part.owns(at))
        places = places[asking.together({"i": places, "u": at[places].astype(np.int64)})]
        ids = at[places]
    else:
        places, ids = None, part.owned(vertices_in(graph, start.frontiers))
    if positions and len(ids) == len(at):
        yield _Piece(start.frontiers[0], over, ids, places)
        return
    directions = {"both": ("out", "in")}.get(over, (over,)) if graph.directed else ("out",)
    lengths = sum(graph.store(one).degrees().astype(np.int64)[ids] for one in directions)
    for low, high in slices(lengths, at_a_time(part)):
        if places is None:
            yield _Piece(frontier_of(graph, ids[low:high]), over, ids[low:high])
            continue
        here = xp.full(len(at), part.ownership.stranger, np.uint32)  # has no edges here, if others own vertices
        here[places[low:high]] = ids[low:high]
        chosen = Frontier._of(graph.device, here, num_vertices=graph.num_vertices, distinct=False)
        yield _Piece(chosen, over, ids[low:high], places[low:high])


def _columns(asking: Asking, piece: _Piece) -> Iterator[Columns]:
    if piece.ids is not None:
        return asking.edges_of(piece.ids, piece.over, places=piece.places)
    return columns_of(piece.start, asking.part.xp.arange(piece.start.size))
