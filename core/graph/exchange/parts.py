"""Graphs of several processes from edges of which each has a part, or all: they go in by slices.

``comm``: the communication of the processes, each of which has a number, its rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.types import EdgeList
from suricate.graph.edge_columns.repeats import overruled, tell
from suricate.graph.naming import are_texts
from suricate.intake.arrays import as_array, as_ids, same_length
from suricate.intake.names import Names
from suricate.state.column import as_values, dtype_of

if TYPE_CHECKING:
    from suricate.comm.protocol import Comm
    from suricate.graph import Graph

SLICE = 1 << 26  #: edges of all processes that are inserted at a time, at most
SHARE, BYTES = 8, 32  #: with a limit of memory they take one in ``SHARE`` of its bytes, ``BYTES`` an edge


def from_parts(
    cls: type[Graph], edges: EdgeList, num_vertices: int | None, weight_dtype_of: Callable[[np.dtype], np.dtype],
    comm: Comm, **options: Any,
) -> Graph:  # fmt: skip
    """Return a graph of edges of which each process passes a part, possibly an empty one; collective.

    Args:
        cls: ``Graph``.
        edges: the part of this process: ids or names, and weights or columns; ``src`` and ``dst`` None: it is empty.
        num_vertices: None: one more than the largest id of all processes.
        weight_dtype_of: returns the dtype of the graph's weights for that of given weights; it is called for the first
            process that passes weights.
        comm: the communication.
        options: options of ``Graph``.
    """
    with comm.alike():
        edges = _checked(edges)
    named = are_texts(edges.src)
    columns = _agreed_columns(comm, edges)
    if columns:
        options["edge_columns"] = {**columns, **(options.get("edge_columns") or {})}
    own = 0 if named or not len(edges.src) else 1 + int(max(edges.src.max(), edges.dst.max()))
    dtype = None if edges.weight is None or columns else weight_dtype_of(edges.weight.dtype).name
    everybody = comm.allgather((own, named, dtype))
    dtypes = [found for *_, found in everybody if found is not None]
    if dtypes:
        options.setdefault("weight_dtype", dtypes[0])
    if any(names for _, names, _ in everybody) and options.get("names") is None:
        options["names"] = Names("text")
    most = max(largest for largest, *_ in everybody)
    graph = cls(most if num_vertices is None else num_vertices, comm=comm, **options)
    insert_parts(graph, comm, edges)
    return graph


def _checked(edges: EdgeList) -> EdgeList:
    """Return a part with arrays of ids or of texts; a part with ``src`` and ``dst`` None becomes empty arrays."""
    src, dst, weight = edges
    if src is None and dst is None:
        return EdgeList(np.empty(0, np.int64), np.empty(0, np.int64), None)
    if not (are_texts(src) and are_texts(dst)):
        src, dst = as_ids(src, "src"), as_ids(dst, "dst")
    else:
        src, dst = np.asarray(src, object), np.asarray(dst, object)
    if isinstance(weight, Mapping):
        same_length(src, dst, None, "")
        values = {name: as_values(given, name, len(src), "edges") for name, given in weight.items()}
        return EdgeList(src, dst, {name: np.broadcast_to(part, len(src)) for name, part in values.items()})
    weight = None if weight is None else as_array(weight, "weight")
    if weight is not None and weight.ndim == 0:
        weight = np.full(len(src), weight)
    same_length(src, dst, weight, "")
    return EdgeList(src, dst, weight)


def _agreed_columns(comm: Comm, edges: EdgeList) -> dict[str, np.dtype]:
    """Return the dtypes of the columns of edges that any process passes, from the first process that has the column."""
    given: dict[str, Any] = edges.weight if isinstance(edges.weight, dict) else {}
    found: dict[str, np.dtype] = {}
    for one in comm.allgather({name: dtype_of(part) for name, part in given.items()}):
        found = one | found
    return found


def insert_parts(graph: Graph, comm: Comm, edges: EdgeList) -> None:
    """Insert the ``edges`` of each process, slice by slice; of duplicates that of the last one wins; collective."""
    most, counts = edges_at_a_time(graph, comm), comm.allgather(len(edges.src))
    ordered = graph.options.stored_dtype is not None
    share = most if ordered else max(most // comm.size, 1)
    first = sum(counts[: comm.rank]) if ordered else 0
    lost = 0
    for begin in range(0, sum(counts) if ordered else max(counts), share):
        low, high = (min(max(end - first, 0), len(edges.src)) for end in (begin, begin + share))
        delta = graph.insert_edges(*(_slice(edges, low, high) if high > low else (None, None)))
        lost += overruled(graph, delta) if ordered else 0
    if comm.rank == 0:
        tell(lost, sum(counts))


def edges_at_a_time(graph: Graph, comm: Comm) -> int:
    """Return how many edges of all may be exchanged at a time: an eighth of the least memory limit; collective."""
    limits = [limit for limit in comm.allgather(graph.options.memory_limit) if limit is not None]
    return max(1, min([SLICE, *(limit // (SHARE * BYTES) for limit in limits)]))


def share_of(comm: Comm, edges: EdgeList) -> EdgeList:
    """Return this process's share of edges that all processes have: a slice, all of about equal length, by rank."""
    low, high = (len(edges.src) * (comm.rank + k) // comm.size for k in (0, 1))
    return _slice(edges, low, high)


def _slice(edges: EdgeList, low: int, high: int) -> EdgeList:
    weight: Any = edges.weight
    if isinstance(weight, dict):
        weight = {name: part[low:high] for name, part in weight.items()}
    elif weight is not None:
        weight = weight[low:high]
    return EdgeList(edges.src[low:high], edges.dst[low:high], weight)
