"""Conversion of the vertices or edges that a user passes to an operator to :class:`~..call.Start`, with checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.errors import DTypeError, RequirementError, ShapeError, WeightError
from suricate.base.types import ArcList, EdgeList, same_dtype
from suricate.graph import Graph
from suricate.intake.arrays import as_array, as_ids, placed, placed_ids, same_length
from suricate.operators.call import Start
from suricate.operators.checks import belongs
from suricate.state.edges.edge_set import EdgeSet
from suricate.state.frontier import Frontier

_WITH_ROWS = "the function takes a row, which edges have that a graph or a delta lists, as graph.edges()"


def start_of(graph: Graph, given: Any, *, ends: bool = False) -> Start:
    """Return ``given`` as a :class:`Start`, checked: None (all), a frontier, ids, edges, or a tuple of these.

    ``ends``: edges stand for their ends, so that their weights and rows do not matter.
    """
    if isinstance(given, tuple) and not isinstance(given, EdgeList | ArcList) and not _is_ids(given):
        parts = [start_of(graph, part, ends=ends) for part in given]
        frontiers = tuple(frontier for part in parts for frontier in part.frontiers)
        whole = [frontier for frontier in frontiers if frontier.is_all and frontier.capacity == graph.num_vertices]
        arcs = tuple(arcs for part in parts for arcs in part.arcs)
        return Start(tuple(whole[:1]) if whole else frontiers, arcs)
    if isinstance(given, EdgeList):
        return Start((), (arc_list(graph, given, ends=ends),))
    if isinstance(given, ArcList):
        return Start((), (given if ends else _of_arcs(graph, given),))
    if isinstance(given, EdgeSet):
        return Start((), (_of_edge_set(graph, given, ends=ends),))
    return Start((frontier(graph, given),))


def vertices_of(graph: Graph, given: Any) -> Start:
    """Return ``given`` as a :class:`Start`, checked, as :func:`start_of` does, but refuse edges."""
    start = start_of(graph, given)
    if start.arcs:
        raise RequirementError("frontier takes vertices, not edges: pass a frontier, ids, or None for all")
    return start


def _is_ids(given: tuple[Any, ...]) -> bool:
    return len(given) > 0 and all(isinstance(one, int | np.integer) for one in given)


def _of_arcs(graph: Graph, arcs: ArcList) -> ArcList:
    if not graph.walks_rows:
        return arcs  # made by the library: its arrays are right
    if arcs.row is None:
        raise RequirementError(f"the arcs have no rows: {_WITH_ROWS}")
    return arcs._replace(weight=arcs.row)


def _of_edge_set(graph: Graph, edges: EdgeSet, *, ends: bool) -> ArcList:
    belongs(graph, edges, "the edge set")
    if ends:
        return edges.arcs()
    if graph.walks_rows:
        raise RequirementError(f"an edge set has no rows: {_WITH_ROWS}")
    if not same_dtype(edges.value_dtype, graph.weight_dtype):
        has, wants = ("no" if dtype is None else dtype for dtype in (edges.value_dtype, graph.weight_dtype))
        raise WeightError(f"the edge set has {has} values, but the graph has {wants} weights: give it such values")
    return edges.arcs()


# -- vertices ----------------------------------------------------------------------------------------------------------


def frontier(graph: Graph, given: Any) -> Frontier:
    """Return ``given`` (a frontier, ids, or None for all vertices) as a frontier of ``graph``; ids keep their order."""
    if given is None:
        return Frontier._of_all(graph.device, graph.num_vertices)
    if not isinstance(given, Frontier):
        ids = vertex_ids(graph, given, "frontier")
        return Frontier._of(graph.device, ids, num_vertices=graph.num_vertices, distinct=len(ids) < 2)
    belongs(graph, given, "the frontier")
    return given


def vertex_ids(graph: Graph, given: Any, label: str) -> Array:
    """Return ``given``, named ``label``, as ``uint32[k]`` on the graph's device, in the same order."""
    if isinstance(given, Frontier):
        return frontier(graph, given).vertices
    ids = as_ids(given, label)
    if graph.checks == "deferred" and not isinstance(ids, np.ndarray):
        return _noted(graph, placed(ids, graph.device, label), label)
    return placed_ids(ids, graph.device, graph.num_vertices, label)


def _noted(graph: Graph, ids: Array, label: str) -> Array:
    """Return ``ids``, an array on the device of ``graph``, as ``uint32[k]``, and check it without waiting."""
    assert graph.ingest is not None
    graph.ingest.ids.check(ids, label, graph.num_vertices, graph.version)
    return ids.astype(np.uint32, copy=False)


def pairs(graph: Graph, u: Any, v: Any) -> tuple[Array, Array]:
    """Return ``u`` and ``v``, ids of any form, as ``uint32[k]`` each; ``ShapeError`` if their lengths differ."""
    left, right = vertex_ids(graph, u, "u"), vertex_ids(graph, v, "v")
    if len(left) != len(right):
        raise ShapeError(f"u has {len(left)} entries and v has {len(right)}: pass one of each per pair")
    return left, right


# -- edges -------------------------------------------------------------------------------------------------------------


def arc_list(graph: Graph, edges: EdgeList, *, ends: bool = False) -> ArcList:
    """Return ``edges`` as contiguous, checked arrays on the graph's device, with weights if and only if it has some.

    ``ends``: without weights on any graph.
    """
    src, dst = (_edge_ids(graph, ids, label) for ids, label in ((edges.src, "edges.src"), (edges.dst, "edges.dst")))
    if ends:
        return ArcList(src, dst, None, None, 0, same_length(src, dst))
    if graph.walks_rows:
        if edges.row is None:
            raise RequirementError(f"the edges have no rows: {_WITH_ROWS}")
        edges = EdgeList(edges.src, edges.dst, edges.row)
    if graph.weight_dtype is None:
        if edges.weight is not None:
            raise WeightError("the edges have weights, but the graph is unweighted: pass EdgeList(src, dst)")
        return ArcList(src, dst, None, None, 0, same_length(src, dst))
    if edges.weight is None:
        raise WeightError(f"the edges have no weights, but the graph has {graph.weight_dtype} weights")
    weight = as_array(edges.weight, "edges.weight")
    if weight.dtype != graph.weight_dtype:
        raise DTypeError(f"edges.weight has dtype {weight.dtype}, the graph has {graph.weight_dtype} weights")
    return ArcList(src, dst, placed(weight, graph.device, "edges.weight"), None, 0, same_length(src, dst, weight))


def _edge_ids(graph: Graph, given: Any, label: str) -> Array:
    ids = as_ids(given, label)
    if isinstance(ids, np.ndarray):
        return vertex_ids(graph, ids, label)
    return _noted(graph, placed(ids, graph.device, label), label)
