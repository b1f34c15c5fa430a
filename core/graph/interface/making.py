"""State of computations, made by its graph: it is on the graph's device, and ids are those of its vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suricate.base.public import public
from suricate.state.edges.edge_set import EdgeSet
from suricate.state.frontier import Frontier
from suricate.state.locks import on_graph_device
from suricate.state.scalar import Scalar
from suricate.state.union_find import UnionFind
from suricate.state.words import Words, make_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suricate.graph import Graph
    from suricate.graph.interface.calls import Forest


def frontier(graph: Graph, vertices: Any = None, *, trusted: bool = False, distinct: bool = True) -> Frontier:
    """Return a set of vertices, from which operators start, ascending and each once.

    Args:
        vertices: one id, ids in any order (``int[k]``; repeats are allowed), a mask (``bool[num_vertices]``), or None
            for all vertices, deleted ones included.
        trusted: ``vertices`` is a valid id, or a valid ``uint32`` array on the graph's device: the frontier holds this
            array in its order; nothing is checked, and nothing waits.
        distinct: False: a trusted array may repeat ids, which operators then drop.

    Raises:
        VertexRangeError: an id is negative or not below ``num_vertices``.
        DTypeError, ShapeError, DeviceError: not integers, not one-dimensional, on another device.
    """
    return Frontier._of_graph(graph, vertices, trusted, distinct)


def words(graph: Graph, keys: Mapping[str, Any], payload: Mapping[str, Any] | None = None) -> Words:
    """Return one word per vertex, several numbers that are compared and replaced together; all at their largest value.

    Args:
        keys: dtype by name of the fields that are compared, the most significant first; at least one.
        payload: dtype by name of the fields that go with the keys; ties of the keys are broken by the smaller payload.

    Raises:
        ParameterError: fields that do not fit 128 bits, or bad names.
        DTypeError: a dtype that is not one of uint32, int32, float32, uint64, int64, float64.
    """
    return make_words(graph.num_vertices, keys, payload, device=graph.device)


def edge_set(graph: Graph, src: Any, dst: Any, values: Any = None) -> EdgeSet:
    """Return a set of ``n`` edges, which need not be in the graph, each with a number if ``values`` are given.

    Args:
        src: ``n`` ids.
        dst: ``n`` ids; in an undirected graph ``(u, v)`` and ``(v, u)`` are the same edge.
        values: ``n`` numbers of 32 or 64 bits, or None. For a repeated edge the last value counts.

    Raises:
        VertexRangeError: an id is negative or not below ``num_vertices``.
        DTypeError, ShapeError, DeviceError: the arrays are invalid.
    """
    return EdgeSet._of(graph, src, dst, values)


def scalar(graph: Graph, op: str = "sum", dtype: Any = "float64", value: float | None = None) -> Scalar:
    """Return a number on the device, into which functions of operators reduce.

    Args:
        op: ``"sum"``, ``"min"``, ``"max"``, or ``"or"`` (integers only).
        dtype: (u)int32, (u)int64, float32 or float64.
        value: the total before the first operator; default: the neutral value of ``op``.

    Raises:
        UnknownNameError, DTypeError, ParameterError: no such reduction; a dtype that does not go with it; a bad value.
    """
    return Scalar._of(op, dtype, graph.device, value)


@on_graph_device
def union_find(graph: Graph) -> UnionFind:
    """Return disjoint sets of the vertices; at first each vertex is its own set."""
    return UnionFind._of(graph.num_vertices, graph.device)


def forest(graph: Graph, words: Words, offer: Any, restart: Any, *, args: tuple[Any, ...] = (),
           uniform: bool = False) -> Forest:  # fmt: skip
    """Return the dependence forest of ``words`` of this graph: they are kept at their least fixpoint (``su.Forest``).

    Args:
        words: one per vertex; the last payload field is ``parent`` (uint32).
        offer: edge function ``(u, v, w, words, *args) -> tuple``: what ``u`` offers ``v``.
        restart: function ``(v, words, *args) -> tuple``: the initial word of a vertex.
        args: further arguments of both.
        uniform: an offer depends on ``u`` only, and offers of vertices with equal keys differ in the parent only.

    Raises:
        ParameterError: the words do not end with such a field.
    """
    made: Forest = public("Forest")._of(words, offer, restart, args=args, uniform=uniform)
    return made
