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

    Example:
        >>> g = su.Graph(5, device="cpu")
        >>> g.frontier([3, 1, 3]).vertices.tolist()
        [1, 3]
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

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [1, 2, 2], device="cpu")
        >>> best = g.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
        >>> reached = su.advance(g, [0], lambda u, v, w: (1, u), out=best, reduce="argmin")
        >>> best.parent.tolist()
        [4294967295, 0, 0]
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

    Example:
        >>> g = su.Graph(4, device="cpu")
        >>> pairs = g.edge_set([0, 1, 0], [1, 3, 1])
        >>> pairs.edges()
        EdgeList(src=array([1, 0], dtype=uint32), dst=array([3, 1], dtype=uint32), weight=None)
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

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> total = g.scalar("sum", "int64")
        >>> def count(u, v, w, total):
        ...     total.add(v)
        >>> su.edge_map(g, None, count, args=(total,))
        >>> total.read()
        3
    """
    return Scalar._of(op, dtype, graph.device, value)


@on_graph_device
def union_find(graph: Graph) -> UnionFind:
    """Return disjoint sets of the vertices; at first each vertex is its own set.

    Example:
        >>> g = su.Graph(4, directed=False, device="cpu")
        >>> groups = g.union_find()
        >>> groups.union([0, 3], [2, 1])
        >>> groups.labels().tolist()
        [0, 1, 0, 1]
    """
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

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [1, 2, 2], in_edges=True, device="cpu")
        >>> words = g.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
        >>> def offer(u, v, w, words):
        ...     return words.level[u] + 1, u
        >>> def restart(v, words):
        ...     if v == 0:
        ...         return 0, v
        ...     return su.EMPTY, su.EMPTY
        >>> tree = g.forest(words, offer, restart)
        >>> report = tree.compute(g, g.frontier([0]))
        >>> words.level.tolist()
        [0, 1, 1]
    """
    made: Forest = public("Forest")._of(words, offer, restart, args=args, uniform=uniform)
    return made
