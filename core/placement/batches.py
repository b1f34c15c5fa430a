"""Batches of edges of which every rank passes a part.

In one meeting ranks exchange what is wrong with their parts, sizes and, of small parts, the edges. If all parts are
small, the whole batch lies on the host, on CUDA too; else the columns are gathered where the graph is.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, SuricateError
from suricate.base.types import EdgeList
from suricate.comm.messages import bytes_of, of_bytes
from suricate.graph.naming import are_texts
from suricate.intake.arrays import PARTS, as_weights, checked_edges, same_length
from suricate.intake.batches import lies_on_host
from suricate.placement.changes import SMALL, GatheredEdges
from suricate.placement.edge_columns import GivenColumns, with_places
from suricate.state.edge_table import ROW

if TYPE_CHECKING:
    from suricate.comm.protocol import Comm
    from suricate.graph import Graph

Given = tuple[Any, Any, Any]
#: what the part of a rank is, its edges, how many of them each rank holds (``PartCounts.of``), and a small part itself:
#: names, or the bytes of ids and weights, which go from rank to rank in a tenth of the time of arrays
Facts = tuple[str | None, int, list[int], Given | tuple[bytes | None, ...] | None]
IDS, NAMES = "ids", "names"
KIND, TOLD = itemgetter(0), itemgetter(3)  #: of facts


def joined_batch(comm: Comm, graph: Graph, delete: Any, insert: Any, parts: tuple[int, int]) -> list[Given | None]:
    """Concatenate the parts of a batch that the ranks passed, in rank order; collective.

    ``parts``: what messages call the edges to delete and to insert, as indices of ``PARTS``. Returns both, the same on
    all ranks; None: no rank passed any. Raises on all ranks the error of the first rank whose part is invalid.
    """
    mine: tuple[Given | None, Given | None] = None, None
    columns: GivenColumns | None = None
    problem: Exception | None = None
    facts: list[Facts] = [(None, 0, [], None)] * 2
    try:
        if graph.ingest is not None:
            graph.ingest.begin(graph.num_vertices, graph.version, eager=True)
        if graph.edge_table is not None and insert is not None:
            insert, columns = with_places(graph.edge_table, insert, parts[1])
        mine = delete and _checked(graph, delete, parts[0], False), insert and _checked(graph, insert, parts[1], True)
        if columns is not None:
            columns.at(np.empty(0, ROW) if mine[1] is None else mine[1][2])
        facts = _facts(graph, mine)
    except Exception as error:
        problem = _first_problem(graph, error)
    given: Any = {} if columns is None else columns.values
    if graph.ingest is not None or (facts[1][1] and facts[1][3] is None):
        given = list(given)  # the names only
    try:
        everybody = comm.together(problem, (facts, given))
    except BaseException:
        _first_problem(graph, None)  # it is not for a later call
        raise
    facts_of_all, given_of_all = zip(*everybody, strict=True)
    halves, small, found = [*zip(*facts_of_all, strict=True)], True, list[Any]()
    for half in halves:
        for _, size, _, part in half:
            small = small and (part is not None or not size)
    for k, half in enumerate(halves):
        prefix, is_given = PARTS[parts[k]], any(map(KIND, half))
        found.append(_joined(comm, graph, mine[k], half, prefix, inserting=k == 1, small=small) if is_given else None)
    if graph.edge_table is not None and found[1] is not None:
        own, sizes = columns or GivenColumns(graph.edge_table, None, 0), [size for _, size, *_ in halves[1]]
        found[1] = (*found[1][:2], own.joined(comm, given_of_all, sizes, small=small and graph.ingest is None))
    return found


def _first_problem(graph: Graph, error: Exception | None) -> Exception | None:
    """Return the pending error of edges that a launch has checked, if there is one, else ``error``."""
    try:
        if graph.ingest is not None:
            graph.ingest.raise_pending()
    except SuricateError as first:
        return first
    return error


def _facts(graph: Graph, parts: tuple[Given | None, Given | None]) -> list[Facts]:
    """Return, for the deletion and the insertion that this rank passes, what others get to know of them.

    The kind is ``"ids"``, ``"names"`` or None (no edges); edges are counted if they lie on a device, else the list is
    empty. Then waits for the launches that check and count them; raises the errors that they found.
    """
    facts, there = list[Facts](), list[Any]()
    for part in parts:
        kind = None if part is None else IDS if isinstance(part, EdgeList) else NAMES
        size, is_here = (0, True) if part is None else (len(part[0]), kind == NAMES or isinstance(part[0], np.ndarray))
        told = part if kind == NAMES else bytes_of(part) if part is not None and is_here and size <= SMALL else None
        facts.append((kind, size, [], told))
        there.append(None if is_here else part)
    if graph.ingest is None or graph.partition is None or there == [None, None]:
        return facts
    counted = graph.partition.count_parts(there)
    graph.ingest.refresh(wait=False)  # the counts have come behind the checks
    graph.ingest.raise_pending()
    return [
        (kind, size, [] if there[half] is None else counted.of(half), sent)
        for half, (kind, size, _, sent) in enumerate(facts)
    ]


def _checked(graph: Graph, edges: Any, part: int, inserting: bool) -> Given | None:
    """Return this rank's part in the form that ranks exchange: valid ids, or names; weights of the graph's dtype."""
    if edges is None or (edges[0] is None and edges[1] is None):
        return None
    (src, dst, weight), updater, ingest = edges, graph._updater, graph.ingest
    if graph._names is None or not (are_texts(src) or are_texts(dst)):
        most, drops = SMALL if graph.edge_table is None else -1, inserting and updater.options.self_loops == "drop"
        assert graph.partition is not None
        options: Any = {"most": most, "memory": graph.partition.download.next_part, "inserting": inserting}
        brought = None if ingest is None else ingest.brought(edges, part, **options)
        if brought is not None and not drops:
            return brought
        arrays = brought or updater._arrays((src, dst, weight), part, inserting=inserting)
        if arrays is None:
            return None
        if ingest is not None and not lies_on_host(arrays):
            if len(arrays[0]) > most and drops:
                return ingest.without_loops(arrays, part)
            if len(arrays[0]) > most:
                return ingest.checked(arrays, part, inserting=inserting, loops=inserting * ingest.loops, wait=False)
            arrays = ingest.brought(arrays, part, **options)
        assert arrays is not None
        checked = updater._checked(arrays, part, inserting=inserting)
        return checked if ingest is None or len(arrays[0]) <= most or checked is None else ingest.upload(checked)
    src, dst = _texts(src), _texts(dst)
    weight = as_weights(weight, graph.options.stored_dtype, f"{PARTS[part]}weight") if inserting else None
    if not same_length(src, dst, weight, PARTS[part]):
        return None
    if weight is not None:
        ends = np.zeros(len(src), np.int64)
        weight = checked_edges((ends, ends, weight), 1, graph.options.stored_dtype, prefix=PARTS[part]).weight
    return src, dst, weight


def _texts(column: Any) -> Any:
    return list(column) if isinstance(column, (list, tuple)) else np.asarray(column)


def _joined(
    comm: Comm, graph: Graph, part: Given | None, facts: Sequence[Facts], prefix: str, *, inserting: bool, small: bool
) -> Given:
    """Return the parts of all ranks, with these ``facts``, as one batch; not all are empty.

    ``small``: all ranks know the parts of all; else this is collective.
    """
    kinds = {*map(KIND, facts)} - {None}
    if len(kinds) > 1:
        raise ParameterError(f"{prefix}src and {prefix}dst must be names on all ranks, or ids on all")
    if kinds == {NAMES}:
        src, dst, weight = zip(*filter(None, map(TOLD, facts)), strict=True)
        return _column(src), _column(dst), None if weight[0] is None else np.concatenate(weight)
    ids: Any = np.uint32
    dtype = graph._updater.options.stored_dtype if inserting else None
    if small:
        src, dst, weight = zip(*filter(None, map(TOLD, facts)), strict=True)
        return GatheredEdges(of_bytes(src, ids), of_bytes(dst, ids), None if dtype is None else of_bytes(weight, dtype))
    if graph.ingest is not None and part is not None and lies_on_host(part):
        part = graph.ingest.upload(EdgeList(*part))
    empty = graph.device.xp.empty
    columns = part or (empty(0, ids), empty(0, ids), None if dtype is None else empty(0, dtype))
    whole = comm.joined_columns([one for one in columns if one is not None], [size for _, size, *_ in facts])
    edges = GatheredEdges(*whole)
    if graph.ingest is not None and all(of_ends or not size for _, size, of_ends, _ in facts):
        counts = [of_ends for _, _, of_ends, _ in facts if of_ends]
        by_source, by_destination = (sum(each[at] for each in counts) for at in (comm.rank, comm.size + comm.rank))
        edges.own = by_source, by_destination
    return edges


def _column(columns: tuple[Any, ...]) -> Any:
    """Return the names that several ranks passed, a list or an array each, as one column."""
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    return [each for column in columns for each in column]
