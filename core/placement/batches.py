"""Batches of edges of which every rank passes a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, SuricateError
from suricate.base.types import EdgeList
from suricate.graph.naming import are_texts
from suricate.intake.arrays import PARTS, as_weights, checked_edges, same_length
from suricate.intake.batches import lies_on_host
from suricate.placement.changes import GatheredEdges
from suricate.placement.edge_columns import GivenColumns, with_places
from suricate.state.edge_table import ROW

if TYPE_CHECKING:
    from suricate.comm.protocol import Comm
    from suricate.graph import Graph
    from suricate.intake.ingest import Ingest

Given = tuple[Any, Any, Any]
#: what the part of a rank is, its edges, and how many of them each rank holds, see ``PartCounts.of``
Facts = tuple[str | None, int, list[int]]
IDS, NAMES = "ids", "names"


def joined_batch(comm: Comm, graph: Graph, delete: Any, insert: Any, parts: tuple[int, int]) -> list[Given | None]:
    """Concatenate the parts of a batch that the ranks passed, in rank order; collective.

    ``parts``: what messages call the edges to delete and to insert, as indices of ``PARTS``. Returns both, the same on
    all ranks; None: no rank passed any. Raises on all ranks the error of the first rank whose part is invalid.
    """
    mine: tuple[Given | None, Given | None] = None, None
    columns: GivenColumns | None = None
    problem: Exception | None = None
    facts: list[Facts] = [(None, 0, [])] * 2
    try:
        if graph.ingest is not None:
            graph.ingest.begin(graph.num_vertices, graph.version, eager=True)
        if graph.edge_table is not None and insert is not None:
            insert, columns = with_places(graph.edge_table, insert, parts[1])
        mine = _checked(graph, delete, parts[0], False), _checked(graph, insert, parts[1], True)
        if columns is not None:
            columns.at(np.empty(0, ROW) if mine[1] is None else mine[1][2])
        facts = _facts(graph, mine)
    except Exception as error:
        problem = _first_problem(graph, error)
    names: list[str] = [] if columns is None else list(columns.values)
    try:
        everybody = comm.together(problem, (facts, names))
    except BaseException:
        _first_problem(graph, None)  # it is not for a later call
        raise
    found = [
        _joined(comm, graph, mine[k], [one[k] for one, _ in everybody], PARTS[parts[k]], inserting=k == 1)
        for k in (0, 1)
    ]
    if graph.edge_table is not None and found[1] is not None:
        given = columns or GivenColumns(graph.edge_table, None, 0)
        count = 0 if mine[1] is None else len(mine[1][0])
        values = given.joined(comm, set().union(*(names for _, names in everybody)), count)
        found[1] = (*found[1][:2], values)
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
    """Return, for the deletion and the insertion that this rank passes, kind, size and numbers of edges per owner.

    The kind is ``"ids"``, ``"names"`` or None (no edges); edges are counted on CUDA only, else the list is empty. On
    CUDA waits for the launches that check and count the parts; raises the errors that they found.
    """
    kinds = [None if part is None else IDS if isinstance(part, EdgeList) else NAMES for part in parts]
    sizes, counts = [0 if part is None else len(part[0]) for part in parts], list[list[int]]([[], []])
    if graph.ingest is not None and graph.partition is not None:
        counted = graph.partition.count_parts([part if isinstance(part, EdgeList) else None for part in parts])
        counts = [counted.of(half) if size else [] for half, size in enumerate(sizes)]
        graph.ingest.refresh(wait=not any(sizes))  # the counts have come behind the checks
        graph.ingest.raise_pending()
    return list(zip(kinds, sizes, counts, strict=True))


def _checked(graph: Graph, edges: Any, part: int, inserting: bool) -> Given | None:
    """Return this rank's part in the form that ranks exchange: valid ids, or names; weights of the graph's dtype."""
    if edges is None or (edges[0] is None and edges[1] is None):
        return None
    src, dst, weight = edges
    updater = graph._updater
    if graph._names is None or not (are_texts(src) or are_texts(dst)):
        arrays = updater._arrays((src, dst, weight), part, inserting=inserting)
        if arrays is None:
            return None
        if graph.ingest is not None and not lies_on_host(arrays):
            return _checked_on_device(graph.ingest, arrays, part, inserting, graph.self_loops)
        checked = updater._checked(arrays, part, inserting=inserting)
        return checked if graph.ingest is None or checked is None else graph.ingest.upload(checked)
    src, dst = _texts(src), _texts(dst)
    weight = as_weights(weight, graph.options.stored_dtype, f"{PARTS[part]}weight") if inserting else None
    if not same_length(src, dst, weight, PARTS[part]):
        return None
    if weight is not None:
        ends = np.zeros(len(src), np.int64)
        weight = checked_edges((ends, ends, weight), 1, graph.options.stored_dtype, prefix=PARTS[part]).weight
    return src, dst, weight


def _checked_on_device(ingest: Ingest, edges: Given, part: int, inserting: bool, self_loops: str) -> Given | None:
    """Return validated copies of ``edges`` on the device; None if dropping self-loops leaves no edge."""
    if inserting and self_loops == "drop":
        return ingest.without_loops(edges, part)
    return ingest.checked(edges, part, inserting=inserting, loops=ingest.loops if inserting else 0, wait=False)


def _texts(column: Any) -> Any:
    return list(column) if isinstance(column, (list, tuple)) else np.asarray(column)


def _joined(
    comm: Comm, graph: Graph, part: Given | None, facts: list[Facts], prefix: str, *, inserting: bool
) -> Given | None:
    """Return the parts of all ranks, with these ``facts``, as one batch, None if all are empty; collective."""
    kinds = {kind for kind, _, _ in facts} - {None}
    if len(kinds) > 1:
        raise ParameterError(f"{prefix}src and {prefix}dst must be names on all ranks, or ids on all")
    if kinds == {NAMES}:
        src, dst, weight = zip(*(one for one in comm.gather("names", part) if one is not None), strict=True)
        return _column(src), _column(dst), None if weight[0] is None else np.concatenate(weight)
    if not kinds:
        return None
    empty, dtype = graph.device.xp.empty, graph.options.stored_dtype if inserting else None
    ids = np.uint32
    columns = part or (empty(0, ids), empty(0, ids), None if dtype is None else empty(0, dtype))
    whole = comm.joined_columns([one for one in columns if one is not None], [size for _, size, _ in facts])
    edges = GatheredEdges(*whole)
    if graph.ingest is not None:
        counts = [of_ends for _, _, of_ends in facts if of_ends]
        by_source, by_destination = (sum(each[at] for each in counts) for at in (comm.rank, comm.size + comm.rank))
        edges.own = by_source, by_destination
    return edges


def _column(columns: tuple[Any, ...]) -> Any:
    """Return the names that several ranks passed, a list or an array each, as one column."""
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    return [each for column in columns for each in column]
