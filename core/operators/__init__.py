"""Bulk operators over a graph: what an algorithm is written in (after Meerkat's iterators and Gunrock's operators).

``advance`` and ``propagate`` push along out-edges, ``neighbor_reduce`` pulls, ``filter`` picks vertices, ``intersect``
compares adjacencies, ``edges`` lists everything. They are templates over the cursor of a backend (``suricate.cursors``)
into which the user's edge function is compiled, on both devices; balancing the load is their job, not the author's.

An *edge function* is a plain function of ``(u, v, w, *args)`` (see ``suricate.edgefn``): the edge ``u -> v`` as it is
stored, its weight (the integer 1 on an unweighted graph), and the arguments of the call. An argument is a number, an
array with at least one entry per vertex, or an array of a single entry (a number that stays on the device).

All arrays live on the graph's device. Everything is validated before anything changes.

``advance`` and ``neighbor_reduce`` take a ``scheme``, the way in which they iterate:

=============  ========================================================================================================
``"vertex"``   vertex by vertex, each served by as many threads as its degree wants (Meerkat's SlabIterator)
``"bucket"``   (vertex, bucket) pairs in equal parts, whatever the degrees (BucketIterator)
``"scan"``     the whole graph, its storage in address order; on backends that know the owner of their storage
``"updated"``  the whole graph, but only the edges inserted since ``graph.mark()`` that are still there
               (UpdateIterator): all edges, before the first mark
``"auto"``     the fastest that is known for the graph and frontier, of the first three or of mixtures of them
=============  ========================================================================================================

All but ``"updated"`` give the same result, up to the rounding of sums; they matter on CUDA, while the CPU has one loop
for them. ``"updated"`` visits only the storage that was inserted into, where the cursor of the backend has an iterator
for that; elsewhere the edges are listed first (``Store.updated``), and on CUDA this waits for the device. No other
scheme waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suricate.devices import Array
from suricate.errors import RequirementError
from suricate.graph import on_graph_device
from suricate.operators import checks
from suricate.operators.call import driver_of
from suricate.operators.schemes import SCHEMES
from suricate.structures.frontier import Frontier
from suricate.types import EdgeList

if TYPE_CHECKING:
    from collections.abc import Callable

    from suricate.edgefn import EdgeFunction
    from suricate.graph import Graph

    Function = Callable[..., Any] | EdgeFunction

__all__ = ["advance", "edges", "filter", "intersect", "neighbor_reduce", "propagate"]


@on_graph_device
def advance(
    graph: Graph,
    frontier: Any,
    fn: Function,
    out: Array,
    *,
    args: tuple[Any, ...] | None = None,
    reduce: str = "min",
    scheme: str = "auto",
) -> Frontier:
    """Push once: ``out[v] = reduce(out[v], fn(u, v, w, *args))`` for every edge ``u -> v`` with ``u`` in ``frontier``.

    Args:
        graph: the graph.
        frontier: a ``Frontier``, ids of vertices (array or list), None for all vertices, or an ``EdgeList``: then
            ``fn`` is applied to exactly these edges, whether the graph holds them or not.
        fn: the edge function. It may read ``out``, and may then see values of the same step.
        out: ``T[num_vertices]`` with T one of (u)int32, (u)int64, float32, float64.
        args: further arguments of ``fn``; None means ``(out,)``.
        reduce: ``"min"``, ``"max"``, ``"sum"``, or ``"or"`` (integers only).
        scheme: see ``suricate.operators``: ``"auto"``, ``"vertex"``, ``"bucket"``; with ``frontier=None`` also
            ``"scan"`` (on backends that can) and ``"updated"`` (only the edges inserted since ``graph.mark()``).

    Returns:
        The vertices whose ``out`` changed, without duplicates, in any order. On CUDA their number stays on the device:
        the call does not wait (except with ``"updated"``, see there).

    Raises:
        ShapeError, DTypeError, DeviceError, VertexRangeError, WeightError: an argument does not fit.
        UnknownNameError: there is no such reduction or scheme.
        RequirementError: the backend or the frontier does not allow the scheme.
        EdgeFunctionError: ``fn`` cannot be translated.
    """
    checks.name("reduce", reduce, ("min", "max", "sum", "or"))
    checks.name("scheme", scheme, SCHEMES)
    checks.vertex_array(graph, out, "out")
    call = checks.bind(graph, fn, (out,) if args is None else args, reduce)
    checks.reducible(call, out.dtype)
    start = checks.edges_or_frontier(graph, frontier)
    driver = driver_of(graph)
    if isinstance(start, EdgeList):
        checks.scheme_of_edges(scheme)
        return driver.advance_edges(graph, call, start, out)
    checks.scheme_of_vertices(scheme, start.is_all and start.capacity == graph.num_vertices, "frontier")
    return driver.advance(graph, call, start, out, scheme)


@on_graph_device
def propagate(
    graph: Graph,
    frontier: Any,
    fn: Function,
    out: Array,
    *,
    args: tuple[Any, ...] | None = None,
    reduce: str = "min",
    max_steps: int | None = None,
) -> int:
    """Repeat :func:`advance` from the vertices that changed, until none changes; return the number of steps.

    The arguments are those of :func:`advance`. ``reduce`` is ``"min"`` or ``"max"``, so that the order of updates does
    not matter for the result; a function whose values never stop improving (a negative cycle) needs ``max_steps``.
    ``max_steps`` is at most ``2**31 - 1``, which is also the default.

    On CUDA this is one launch for all steps and one host read at the end.

    Raises:
        As :func:`advance`; ``RequirementError`` also for other reductions, ``ParameterError`` unless ``max_steps`` is
        an integer of at least 0.
    """
    checks.name("reduce", reduce, ("min", "max", "sum", "or"))
    if reduce not in ("min", "max"):
        raise RequirementError(f"propagate needs a monotone reduction, 'min' or 'max': {reduce!r} has no fixed point")
    steps = checks.step_limit(max_steps)
    checks.vertex_array(graph, out, "out")
    call = checks.bind(graph, fn, (out,) if args is None else args, reduce)
    checks.reducible(call, out.dtype)
    return driver_of(graph).propagate(graph, call, checks.frontier(graph, frontier), out, steps)


@on_graph_device
def neighbor_reduce(
    graph: Graph,
    fn: Function,
    *,
    args: tuple[Any, ...] = (),
    reduce: str = "sum",
    over: str = "out",
    vertices: Any = None,
    out: Array | None = None,
    dtype: Any = None,
    scheme: str = "auto",
) -> Array:
    """Pull: one value per vertex, the reduction of ``fn(u, v, w, *args)`` over its edges.

    Args:
        graph: the graph.
        fn: the edge function; it always sees the edge ``u -> v`` as it is stored.
        args: further arguments of ``fn``.
        reduce: ``"sum"``, ``"min"`` or ``"max"``.
        over: ``"out"`` gives one value per source ``u``, ``"in"`` one per destination ``v`` (needs in-edges).
        vertices: the vertices to compute (``Frontier``, ids; one value each, in this order), None for all.
        out: array to fill, ``T[len(vertices)]``, whose memory no argument shares; None makes one.
        dtype: type of the values if ``out`` is None; default: the type that ``fn`` returns, int64 for integers.
        scheme: see ``suricate.operators``: ``"auto"``, ``"vertex"``, ``"bucket"``; with ``vertices=None`` also
            ``"scan"`` (on backends that can) and ``"updated"`` (only the edges inserted since ``graph.mark()``). On
            CUDA sums of floats may differ in rounding from run to run, except with ``"vertex"``.

    Returns:
        ``out``. A vertex without edges has 0 for a sum, else the neutral value: the largest (``min``) or smallest
        (``max``) integer of the type, or plus or minus infinity.

    Raises:
        As :func:`advance`; ``RequirementError`` also without in-edges.
    """
    checks.name("reduce", reduce, ("sum", "min", "max"))
    checks.name("scheme", scheme, SCHEMES)
    checks.name("over", over, ("out", "in"))
    chosen = None if vertices is None else checks.vertex_ids(graph, vertices, "vertices")
    checks.scheme_of_vertices(scheme, chosen is None, "vertices")
    call = checks.bind(graph, fn, args, reduce)
    length = graph.num_vertices if chosen is None else len(chosen)
    out = checks.result_array(graph, call, out, dtype, length)
    driver_of(graph).neighbor_reduce(graph, call, chosen, out, over, scheme)
    return out


@on_graph_device
def filter(graph: Graph, frontier: Any, predicate: Function, *, args: tuple[Any, ...] = ()) -> Frontier:
    """Return the vertices ``v`` of ``frontier`` (None: all) for which ``predicate(v, *args)`` is true.

    In ascending order of a sorted frontier on the CPU, in any order on CUDA, where the number stays on the device.

    Raises:
        As :func:`advance`.
    """
    call = checks.bind(graph, predicate, args, "sum", leading=("v",))
    return driver_of(graph).select(graph, call, checks.frontier(graph, frontier))


@on_graph_device
def intersect(graph: Graph, u: Any, v: Any, fn: Function | None = None, *, args: tuple[Any, ...] = ()) -> Array:
    """Return, for each pair ``(u[i], v[i])``, the number of their common out-neighbours.

    With ``fn``, the sum of ``fn(u, v, x, *args)`` over the common out-neighbours ``x`` (int64 if it returns integers,
    else its type). The smaller adjacency is walked and looked up in the other one.

    Args:
        graph: the graph.
        u, v: ids, of equal length.
        fn: a function of ``(u, v, x, *args)``, or None to count.
        args: further arguments of ``fn``.

    Raises:
        As :func:`advance`.
    """
    left, right = checks.pairs(graph, u, v)
    call = checks.bind(graph, checks.one if fn is None else fn, args, "sum", leading=("u", "v", "x"))
    out = checks.result_array(graph, call, None, None, len(left))
    driver_of(graph).intersect(graph, call, left, right, out)
    return out


@on_graph_device
def edges(graph: Graph) -> EdgeList:
    """Return all arcs of ``graph``, ordered by source, in arrays of their own; an undirected edge gives two arcs."""
    return graph.store("out").edges()
