"""Batches of edges of which every rank passes a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.base.types import EdgeList
from suricate.graph.naming import are_texts
from suricate.intake.arrays import PARTS, as_weights, checked_edges, same_length

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.parallel.comm import Comm

Given = tuple[Any, Any, Any]


def gathered(comm: Comm, graph: Graph, delete: Any, insert: Any, parts: tuple[int, int]) -> tuple[Any, Any]:
    """Return a batch of which every rank has passed a part (None: nothing): all parts, in rank order.

    Raises:
        Exception: on all ranks what is wrong with the part of the first one that is wrong.
    """
    mine: tuple[Any, Any] = None, None
    problem: Exception | None = None
    try:
        mine = _checked(graph, delete, parts[0], False), _checked(graph, insert, parts[1], True)
    except Exception as error:
        problem = error
    everybody = comm.together(problem, mine)
    deleted, inserted = ([one[k] for one in everybody if one[k] is not None] for k in (0, 1))
    return _joined(deleted, PARTS[parts[0]]), _joined(inserted, PARTS[parts[1]])


def _checked(graph: Graph, edges: Any, part: int, inserting: bool) -> Given | None:
    """Return the part of this rank as what can be gathered: valid ids, or names, and weights of the graph's dtype."""
    if edges is None or (edges[0] is None and edges[1] is None):
        return None
    src, dst, weight = edges
    updater = graph._updater
    if graph._names is None or not (are_texts(src) or are_texts(dst)):
        arrays = updater._arrays((src, dst, weight), part, inserting=inserting)
        return None if arrays is None else updater._checked(arrays, part, inserting=inserting)
    src, dst = _texts(src), _texts(dst)
    weight = as_weights(weight, graph.weight_dtype, f"{PARTS[part]}weight") if inserting else None
    if not same_length(src, dst, weight, PARTS[part]):
        return None
    if weight is not None:
        ends = np.zeros(len(src), np.int64)
        weight = checked_edges((ends, ends, weight), 1, graph.weight_dtype, prefix=PARTS[part]).weight
    return src, dst, weight


def _texts(column: Any) -> Any:
    return list(column) if isinstance(column, (list, tuple)) else np.asarray(column)


def _joined(parts: list[Given], prefix: str) -> Given | None:
    """Return the parts of all ranks as one batch."""
    if len(parts) < 2:
        return parts[0] if parts else None
    if len({isinstance(part, EdgeList) for part in parts}) > 1:
        raise ParameterError(f"{prefix}src and {prefix}dst must be names on all ranks, or ids on all")
    src, dst, weight = zip(*parts, strict=True)
    return _column(src), _column(dst), None if weight[0] is None else np.concatenate(weight)


def _column(columns: tuple[Any, ...]) -> Any:
    """Return one column of several, of ids or of names, which are lists or arrays."""
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    return [each for column in columns for each in column]
