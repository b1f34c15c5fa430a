"""``intersect``: the common neighbours of pairs of vertices, of every edge, or every triangle once.

Adjacencies are compared as a backend stores them, sorted or not. If an edge query takes constant time or a binary
search, each neighbour in the smaller adjacency of a pair is looked up in the larger one. Otherwise, or if many pairs
share it, the larger adjacency is read once for all pairs that contain it. Triangles are counted over rows of neighbours
of higher rank (the forward algorithm: Schank and Wagner, 2005), which are copied into the workspace; with ranks by
degree no such row is longer than the square root of twice the edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.errors import DeviceError, ParameterError, RequirementError, ShapeError, VertexRangeError
from suricate.base.parameters import one_of
from suricate.base.types import ArcList, EdgeList, StoreView
from suricate.edgefn import EdgeFunction
from suricate.edgefn.derived import adding_at_corners
from suricate.graph import Graph
from suricate.intake.arrays import picked
from suricate.operators import binding, checks, starts
from suricate.operators.call import Call, driver_of
from suricate.state.edges.edge_set import EdgeSet
from suricate.state.locks import Lock, graph_lock, on_graph_device
from suricate.state.workspace import Workspace
from suricate.store import fallbacks

SHARED = (fallbacks.CONTIGUOUS, "suricate.state.edges.edge_rows")  #: cursors that go with any other in a program
METHODS = ("auto", "hash", "bitmap")
ORIENTATIONS = ("degree", "id")


def intersect(
    left: Any,
    right: Any = None,
    u: Any = None,
    v: Any = None,
    fn: Callable[..., Any] | EdgeFunction | None = None,
    *,
    args: tuple[Any, ...] = (),
    method: str = "auto",
    oriented: str | None = None,
    out: Array | None = None,
) -> Array | None:
    """For each pair count the common neighbours ``x``: ``u[i] -> x`` in ``left`` and ``v[i] -> x`` in ``right``.

    With ``fn``, the sum of ``fn(u, v, x, *args)`` over these ``x`` (int64 if it returns integers, else its type). A
    function ``fn(u, v, x, a, b, *args)`` gets the weights of the edges from ``u`` and from ``v`` to ``x``, 1 if there
    are none; one of ``(u, v, x, row_a, row_b, *args)`` their rows in the columns of edges.

    Args:
        left: a ``Graph`` or an ``EdgeSet``.
        right: the same, on the same device, with as many vertices; None: ``left``. On CUDA one of two graphs is copied
            at each call if their backends or backend options differ, including options that a backend chose itself.
        u: ids; or an ``EdgeSet`` or ``EdgeList``, whose arcs are the pairs (``v`` is None then); or None: every arc of
            ``left`` is a pair, straight from storage.
        v: ids, as many as ``u``.
        fn: a function of ``(u, v, x, *args)``, or None to count. It may have effects, and may then return nothing. If
            its first parameter is named ``i`` it gets the position of the pair in ``u``; weights and rows are taken
            by these names, too.
        args: further arguments of ``fn``.
        method: ``"hash"``: look the neighbours in the smaller adjacency up in the other one (not on backends that find
            edges by a linear search). ``"bitmap"``: mark the neighbours in one adjacency (on CUDA: put them into a set
            in shared memory) and walk the other one. ``"auto"``: by backend, degrees and number of pairs.
        oriented: with ``u=None``, on an undirected graph: ``fn`` is called once per triangle, with ``u``, ``v`` and
            ``x`` in ascending order of ``"degree"`` (ties by id) or of ``"id"``; self-loops belong to no triangle.
            With arcs as ``u``, ``"id"``: arcs with ``u >= v`` are ignored, so that an edge in both directions counts
            once. With weights or rows and ``u=None`` the arcs are copied first, and CUDA waits.
        out: array to fill; None makes one. With ``oriented`` and ``u=None`` it may have one entry per vertex: each
            triangle's value is then added at its three corners.

    Returns:
        ``out``: one value per pair, 0 for ignored pairs; with ``u=None`` one entry, the total, or one per vertex. None
        if ``fn`` returns nothing. On CUDA the call does not wait.

    Raises:
        ParameterError, ShapeError, DTypeError, DeviceError, VertexRangeError: an argument does not fit.
        UnknownNameError: there is no such method or orientation.
        RequirementError: the backend does not allow the method, or ``oriented`` does not fit the graph or the pairs.
        EdgeFunctionError: ``fn`` cannot be translated.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1, 1], [1, 2, 2, 3], directed=False, device="cpu")
        >>> su.intersect(g, u=[0, 0], v=[1, 3]).tolist()
        [1, 1]
    """
    _graph_of(left, right)
    left, right, args = binding.with_rows(left, left if right is None else right, fn, args)
    return _intersect(_graph_of(left, right), left, right, (u, v), fn, args, method, oriented, out)


@on_graph_device
def _intersect(
    graph: Graph, left: Any, right: Any, pair: tuple[Any, Any], fn: Any, args: Any, method: str,
    oriented: str | None, out: Array | None,
) -> Array | None:  # fmt: skip
    one_of("method", method, METHODS)
    views = views_of(graph, left, right)
    pairs = pairs_of(graph, *pair)
    check_orientation(graph, oriented, pair[0], left is right, method)
    check_method(method, views)
    dtypes = views[0].weight_dtype, views[1].weight_dtype
    call = binding.bind_intersection(graph, fn, args, everything=pairs is None, dtypes=dtypes)
    call, out = target_of(graph, call, out, pairs, oriented)
    operands = walked_together(graph, views, reads_weights=call.of_two) if graph.partition is None else (left, right)
    if call.of_two and pairs is None and oriented is not None and graph.partition is None:
        _triangles(graph, call, views[0], out, method, by_degree=oriented == "degree")
    else:
        driver_of(graph).intersect(graph, call, *operands, pairs, out, oriented, method)
    return out


def _triangles(graph: Graph, call: Call, view: StoreView, out: Array | None, method: str, *, by_degree: bool) -> None:
    """Sum over triangles a function that takes weights or rows: over the arcs to higher vertices, copied, as pairs."""
    edges = fallbacks.edges_of(view, graph.device)[1]
    degrees = fallbacks.degrees(view, graph.device) if by_degree else None
    edges = picked(edges, ascends(edges.src, edges.dst, degrees))
    rows, sums = fallbacks.snapshot(edges, view.num_vertices, graph.device), None
    if out is not None and len(out) == 1:
        sums = graph.workspace.array("intersect.by_pair", len(edges.src), call.dtype)
    elif out is not None:
        call, out[:] = adding_to(graph, call, out), 0
    driver_of(graph).intersect(graph, call, rows, rows, ArcList.of(edges), sums, None, method)
    if sums is not None and out is not None:
        out[:] = sums.sum(dtype=out.dtype)


def ascends(src: Array, dst: Array, degrees: Array | None) -> Array:
    """Return which arcs lead to a vertex of higher degree, ties by id; of higher id if ``degrees`` is None."""
    if degrees is None:
        return src < dst
    one, two = degrees[src], degrees[dst]
    return (one < two) | ((one == two) & (src < dst))


def adding_to(graph: Graph, call: Call, out: Array) -> Call:
    """Return the call that adds what the function of ``call`` returns to ``out`` at the corners of a triangle."""
    (fn, args), function = call.given, call.function
    fn = adding_at_corners(fn, len(function.leading) - 3 + len(args))
    dtypes = function.signature.weight_dtype, function.signature.value_dtype
    made = binding.bind_intersection(graph, fn, (*args, out), everything=True, dtypes=dtypes)
    return made._replace(dtype=call.dtype)


class EdgeSetScope:
    """The owner of scratch memory, in place of the graph, if both operands are edge sets; one memory per device."""

    checks, weight_dtype, partition, _events = "eager", None, None, None
    _shared: ClassVar[dict[Device, tuple[Workspace, Lock]]] = {}

    def __init__(self, edges: EdgeSet) -> None:
        self.device, self.num_vertices, self.directed = edges.device, edges.num_vertices, edges.directed
        if edges.device not in self._shared:
            self._shared.setdefault(edges.device, (Workspace(edges.device), graph_lock(edges.device)))
        self.workspace, self._lock = self._shared[edges.device]
        self.view = edges.view

    def exclusive(self) -> Lock:
        """Return the lock of the workspace."""
        return self._lock


def _graph_of(left: Any, right: Any) -> Any:
    """Return that one of the operands ``left`` and ``right`` (None: the same as ``left``) that is a graph."""
    for given, label in ((left, "left"), (left if right is None else right, "right")):
        if not isinstance(given, EdgeSet) and not hasattr(given, "exclusive"):
            kind = type(given).__name__
            raise ParameterError(f"{label} must be a Graph or an EdgeSet, got {kind}: pass ids as u=..., v=...")
    return next((given for given in (left, right) if hasattr(given, "exclusive")), None) or EdgeSetScope(left)


def views_of(graph: Graph, left: Any, right: Any) -> tuple[StoreView, StoreView]:
    """Return the views of both operands of ``intersect``; raises unless sizes and devices fit."""
    if left.num_vertices != right.num_vertices:
        raise VertexRangeError(f"left has {left.num_vertices} vertices, right has {right.num_vertices}: use one range")
    return _view_of(graph, left), _view_of(graph, right)


def _view_of(graph: Graph, given: Any) -> StoreView:
    if given.device != graph.device:
        raise DeviceError(f"left is on {given.device}, right on {graph.device}: use one device")
    partition = getattr(given, "partition", None)
    return (given if partition is None else partition.follow()).view()


def pairs_of(graph: Graph, u: Any, v: Any) -> ArcList | None:
    """Return the pairs ``(u[i], v[i])`` as an arc list on the graph's device.

    ``u`` may also be an ``EdgeSet`` or ``EdgeList`` whose arcs are the pairs; ``v`` is None then. If both are None,
    None is returned: every arc of the left operand is a pair.
    """
    if u is None and v is None:
        return None
    if isinstance(u, EdgeSet | EdgeList):
        if v is not None:
            raise ParameterError("u holds both ends of its edges: pass no v with it")
        if isinstance(u, EdgeList):
            src, dst = starts.pairs(graph, u.src, u.dst)
            return ArcList(src, dst, None, None, 0, len(src))
        if u.device != graph.device:
            raise DeviceError(f"the edge set is on {u.device}, the graph on {graph.device}")
        if u.num_vertices > graph.num_vertices:
            raise VertexRangeError(
                f"the edge set is one of {u.num_vertices} vertices, the graph has {graph.num_vertices}"
            )
        return u.arcs()
    if u is None or v is None:
        raise ParameterError("pass both u and v, or neither of them")
    left, right = starts.pairs(graph, u, v)
    return ArcList(left, right, None, None, 0, len(left))


def check_orientation(graph: Graph, oriented: Any, u: Any, same: bool, method: str) -> None:
    """Raise ``RequirementError`` or ``UnknownNameError`` if ``oriented`` does not fit the other parameters."""
    if oriented is None:
        return
    one_of("oriented", oriented, ORIENTATIONS)
    if u is not None:
        if oriented == "degree" or not isinstance(u, EdgeSet | EdgeList):
            raise RequirementError("with pairs, oriented may be 'id', for an EdgeSet or EdgeList as u: pass None")
        return
    if not same:
        raise RequirementError("oriented counts the triangles of one graph: pass no right with it")
    if graph.directed:
        raise RequirementError("oriented needs an undirected graph: build it with Graph(..., directed=False)")
    if method == "hash":
        raise RequirementError("triangles are counted with marks: use method 'auto' or 'bitmap' with oriented")


def check_method(method: str, views: tuple[StoreView, StoreView]) -> None:
    """Raise ``RequirementError`` if ``method`` is ``"hash"`` and one of ``views`` finds edges by a linear search."""
    if method == "hash" and any(view.find == "linear" for view in views):
        raise RequirementError("method 'hash': this backend finds edges by a linear search; use 'auto' or 'bitmap'")


def walked_together(
    graph: Graph, views: tuple[StoreView, StoreView], *, reads_weights: bool = False
) -> tuple[StoreView, StoreView]:
    """Return ``views``, those of both operands; on CUDA one is replaced by a copy unless a program can contain both.

    A program includes a header once, with one set of constants, and headers of two backends may define the same names.
    """
    left, right = views
    first = right is graph.view()
    other = left if first else right
    if left.header == right.header:
        fit = left.constants == right.constants
        fit &= not reads_weights or (left.weight_dtype, left.by_row) == (right.weight_dtype, right.by_row)
    else:
        fit = any(view.cursor in SHARED for view in views) and not other.by_row
    if fit or not graph.device.is_cuda:
        return views
    copied = _copied(graph, other, reads_weights=reads_weights)
    return (copied, right) if first else (left, copied)


def _copied(graph: Graph, view: StoreView, *, reads_weights: bool) -> StoreView:
    edges = fallbacks.edges_of(view, graph.device)[1]
    if reads_weights and view.cursor != SHARED[1]:  # whose header is no backend's, so that it may have other weights
        arcs = ArcList.of(edges)
        return EdgeSet._of_arcs(graph.device, view.num_vertices, arcs, directed=True, most=arcs.size).view()
    weight = edges.weight if reads_weights else None
    return fallbacks.snapshot(EdgeList(edges.src, edges.dst, weight), view.num_vertices, graph.device)


def target_of(
    graph: Graph, call: Call, out: Array | None, pairs: ArcList | None, oriented: str | None
) -> tuple[Call, Array | None]:
    """Return ``call`` with the dtype of its values, and the array to fill: ``out``, checked, a new one, or None."""
    if call.function.result is None:
        if out is not None:
            raise ParameterError("the function returns nothing: pass no out, or return a number")
        return call._replace(dtype=np.dtype(np.int64)), None
    length = 1 if pairs is None else pairs.size
    if pairs is None and oriented is not None and out is not None and getattr(out, "size", 1) != 1:
        length = graph.num_vertices
    call = call._replace(dtype=binding.value_dtype(call, out, None))
    if out is not None and getattr(out, "size", length) != length:
        wanted = f"{length} pairs" if pairs is not None else "one total"
        raise ShapeError(f"out has {out.size} entries, but there are {wanted}")
    return call, checks.result_array(graph, call, out, length)
