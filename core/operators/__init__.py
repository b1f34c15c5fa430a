"""Bulk operators over a graph, from which algorithms are built (after Ligra's edgeMap, and Gunrock and Meerkat).

=====================  =================================================================================================
``advance``            push once from a frontier: reduce a value per edge into ``out[v]`` of the receivers
``propagate``          push until nothing changes, in one call
``neighbor_reduce``    pull: one reduced value per vertex
``converge``           pull in rounds over an active set until it is empty (GraphLab's vertex programs), in one call
``vertex_map``         call a function per vertex; ``filter`` is another name of it
``edge_map``           call a function per edge, for its effects
``intersect``          visit the common neighbours of pairs
``iterate``            repeat calls of operators until a number on the device ends the loop
``arcs``               list all arcs
=====================  =================================================================================================

Operators are templates over the cursor of a backend (``suricate.cursors``) into which the user's functions are
compiled, on both devices; the operators balance the load. All arrays live on the graph's device. All arguments are
validated before anything changes. No operator waits for the device. Results stay on the device until they are read: the
size of a ``Frontier``, the numbers of a ``Propagated``.

An operator is called as ``(graph, frontier, fn, *, out=, args=(), reduce=, over=, then=, ...)``, with those of the
keywords that it has.

Functions
    An *edge function* is a plain function of ``(u, v, w, *args)`` (see ``suricate.edgefn``): the edge, its weight (the
    integer 1 on an unweighted graph; in its place or behind it a parameter ``row``, its row in the columns of edges;
    over events, see ``su.Events.between``, in its place ``event``, their number), and the arguments of the call. In
    pushes ``u`` is the vertex of the frontier and ``v`` the receiver; in pulls over ``"in"`` and ``"both"`` ``u`` is
    the neighbour and ``v`` the receiver, over ``"out"`` ``u`` receives and ``v`` is its neighbour. ``args`` are exactly
    what the function gets behind ``w``: an ``out`` that it reads is among them. An argument is a number or an array of
    any length.

Frontiers
    A frontier argument is None (every id, those of deleted vertices included, which have no edges), a ``Frontier``,
    ids, edges (``EdgeList``, ``EdgeSet``), or a tuple of them, which means their union. Duplicates are removed on the
    device. If edges are given, a push first applies its function to exactly these, whether the graph has them or not.

``over``
    The edges of a vertex to walk: ``"out"``, ``"in"``, or ``"both"``, in which every arc is seen from both ends, hence
    reciprocal arcs twice, a self-loop once. On an undirected graph all three are the same. ``"in"`` and ``"both"`` need
    in-edges.

Two phases
    A push with ``then`` has two phases, separated by a barrier: first all offers, then ``then`` once per vertex whose
    stored value an offer changed. ``then`` may write index ``v`` of arrays, may read other indices only of arrays that
    no ``then`` writes, and returns whether ``v`` joins the next frontier. It does not run for the initial frontier. In
    one call ``fn`` must not read an array that ``then`` writes, except ``out`` of a min or max push. Results therefore
    do not depend on the schedule: integers are equal bit for bit, sums of floats within rounding.

    Pulls have two phases as well: ``then(v, value, *args)`` runs once per vertex with its reduced value, and must not
    write an array that ``fn`` reads. ``converge`` has a third phase, ``commit``, which publishes what ``then`` wrote to
    another array. Reading a ``Scalar`` in a function gives the total of the previous operator that had it as an
    argument; additions go to the next total.

Errors
    Errors are raised in the call, before anything changes, and are the same on both devices: ``ShapeError``,
    ``DTypeError``, ``DeviceError``, ``VertexRangeError``, ``WeightError``, ``ParameterError`` and ``UnknownNameError``
    for arguments, ``RequirementError`` if the graph or backend lacks something, ``EdgeFunctionError`` with file and
    line of a function. Two are raised later. Ids on a CUDA device are checked there, by the kernel, on graphs with
    ``checks="deferred"``, and in an ``EdgeList`` on any graph: the operator skips ids that are out of range, and the
    next call of the graph that waits (``graph.synchronize()``) raises ``VertexRangeError`` with argument and position.
    ``CapacityError`` is raised if a vertex joins twice in a propagation with layers, on CUDA when a number of the
    ``Propagated`` is read. A CUDA device must support cooperative launches.

``advance`` and ``neighbor_reduce`` take a ``scheme``, which says how they iterate:

=============  ========================================================================================================
``"vertex"``   vertex by vertex, with a number of threads that depends on the degree (Meerkat's SlabIterator)
``"bucket"``   (vertex, bucket) pairs in equal parts, whatever the degrees (BucketIterator)
``"scan"``     the whole graph, its storage in address order; on backends that store the owner of each segment
``"updated"``  the whole graph, but only the edges inserted since ``graph.mark()`` that are still stored
               (UpdateIterator); all edges if there is no mark
``"auto"``     the fastest known scheme for the graph and frontier: one of the first three or a mixture of them
=============  ========================================================================================================

All schemes but ``"updated"`` give the same result, up to the rounding of sums; they differ on CUDA only, while the CPU
has one loop for them. ``"updated"`` visits only storage with new edges if the cursor of the backend has an iterator for
it. Otherwise the edges are listed first (``Store.updated``), which on CUDA waits for the device. No other scheme waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suricate.base.errors import ParameterError, RequirementError
from suricate.base.parameters import flag, one_of
from suricate.base.renamed import keywords
from suricate.base.types import EdgeList
from suricate.graph import Graph
from suricate.operators import binding, checks, prepared, rounds, starts
from suricate.operators.call import Stop, driver_of, driver_on
from suricate.operators.intersection import intersect
from suricate.operators.results import Best, Layers, Propagated
from suricate.operators.schemes import SCHEMES
from suricate.state.frontier import Frontier
from suricate.state.locks import on_graph_device

if TYPE_CHECKING:
    from collections.abc import Callable

    from suricate.edgefn import EdgeFunction

    Function = Callable[..., Any] | EdgeFunction

__all__ = [
    "Best", "Layers", "Propagated", "Stop", "advance", "arcs", "converge", "edge_map", "filter", "intersect", "iterate",
    "neighbor_reduce", "propagate", "vertex_map",
]  # fmt: skip

ORDER = "the frontier comes before the function, and the rest is named: operator(graph, frontier, fn, out=..., ...)"


@keywords(ORDER)
@on_graph_device
def advance(
    graph: Graph,
    frontier: Any,
    fn: Function,
    *,
    out: Any,
    args: tuple[Any, ...] = (),
    reduce: str,
    over: str = "out",
    then: Function | None = None,
    scheme: str = "auto",
) -> Frontier:
    """Push once: ``out[v] = reduce(out[v], fn(u, v, w, *args))`` for every edge ``u -> v`` with ``u`` in ``frontier``.

    Args:
        graph: the graph.
        frontier: None for all vertices, a ``Frontier``, ids, edges, or a tuple of them (see ``suricate.operators``).
        fn: the edge function. It may read ``out``, if that is in ``args``; its values may be of the same step.
        out: ``T[num_vertices]`` with T one of (u)int32, (u)int64, float32, float64; ``Words`` for ``"argmin"``.
        args: further arguments of ``fn`` and ``then``.
        reduce: ``"min"``, ``"max"``, ``"sum"``, ``"or"`` (integers only), or ``"argmin"``: ``fn`` returns a tuple of
            all fields of ``out``, and the smallest wins.
        over: ``"out"``, ``"in"`` or ``"both"``: along which edges of the frontier's vertices.
        then: ``then(v, step, *args) -> bool``, the second phase; ``step`` is 1.
        scheme: see ``suricate.operators``: ``"auto"``, ``"vertex"``, ``"bucket"``; with ``frontier=None`` also
            ``"scan"`` (on backends that can) and ``"updated"`` (only the edges inserted since ``graph.mark()``).

    Returns:
        The vertices whose ``out`` changed (``Words``: whose keys changed), with ``then`` only those for which it
        returned true; without duplicates, in any order.

    Raises:
        ShapeError, DTypeError, DeviceError, VertexRangeError, WeightError, ParameterError: an argument is invalid.
        UnknownNameError: there is no such reduction, direction or scheme.
        RequirementError: the backend or the frontier does not allow the scheme; the graph keeps no in-edges.
        EdgeFunctionError: a function cannot be translated.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [1, 2, 2], device="cpu")
        >>> received = np.zeros(3, np.int64)
        >>> reached = su.advance(g, None, lambda u, v, w: u + 1, out=received, reduce="sum")
        >>> received.tolist(), reached.vertices.tolist()
        ([0, 1, 3], [1, 2])
    """
    if graph.edge_table is not None:
        graph, args = binding.walked(graph, fn, args)
    key = None if then is not None else prepared.key_of(graph, "advance", fn, args, out, reduce, over, scheme)
    found = prepared.run(graph, key, fn, frontier, args)
    if found is not prepared.MISSED:
        return found
    one_of("scheme", scheme, SCHEMES)
    call = binding.bind_push(graph, fn, args, reduce, out, then)
    over = checks.push_direction(graph, over)
    start = starts.start_of(graph, frontier)
    if start.arcs:
        checks.scheme_of_edges(scheme)
    if scheme != "auto":
        checks.scheme_of_vertices(scheme, start.is_all(graph.num_vertices))
    if then is not None or over != "out":
        checks.plain_scheme(scheme, "then" if then is not None else f"over={over!r}")
    changed = driver_of(graph).advance(graph, call, start, out, over, scheme)
    prepared.keep(graph, key, fn, frontier, call, out, over, scheme)
    return changed


@keywords(ORDER)
@on_graph_device
def propagate(
    graph: Graph,
    frontier: Any,
    fn: Function,
    *,
    out: Any,
    args: tuple[Any, ...] = (),
    reduce: str,
    over: str = "out",
    then: Function | None = None,
    max_steps: int | None = None,
    layers: bool = False,
    once: bool | str = False,
) -> Propagated:
    """Repeat :func:`advance` from the vertices that joined the frontier, until there are none.

    Without ``then`` a vertex joins if its value in ``out`` changed. With ``then``, ``layers`` or ``reduce="sum"``
    all offers of a step are made before the next step begins, and a vertex offers once per step.
    If values can improve forever (a negative cycle), pass ``max_steps``. On CUDA this is one launch; an interrupt from
    the keyboard while a number of the ``Propagated`` is read ends it.

    Args:
        graph, frontier, fn, out, args, over: as for :func:`advance`. With ``reduce="sum"`` ``fn`` must not read
            ``out[v]``.
        reduce: ``"min"``, ``"max"``, ``"or"``, ``"argmin"`` or ``"sum"``. With ``"argmin"`` the keys must grow strictly
            along edges, or parents may form cycles: if weights may be zero use ``(distance, hops)``.
        then: ``then(v, step, *args) -> bool``: whether ``v``, whose value changed in this step, joins the next
            frontier; the first step is 1.
        max_steps: maximum number of steps, up to ``2**31 - 1``, which is also the default.
        layers: keep the vertices of each step, as ``Propagated.layers``; a vertex may then join only once.
        once: True promises that a value is final after the step that first changes it; ``"equal"`` promises in addition
            that all offers to a vertex in one step are equal (levels of a breadth-first search). If the graph has
            in-edges, steps with many vertices may then pull (on CUDA not over ``"both"`` or with layers).

    Returns:
        The number of steps, the number of vertices that pushed, the layers, and whether the frontier became empty.

    Raises:
        As :func:`advance`; ``ParameterError`` also for wrong ``max_steps`` or ``once``.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 3], device="cpu")
        >>> level = np.array([0, 9, 9, 9])
        >>> steps = su.propagate(g, [0], lambda u, v, w, level: level[u] + 1, out=level, args=(level,), reduce="min")
        >>> level.tolist()
        [0, 1, 2, 3]
    """
    if graph.edge_table is not None:
        graph, args = binding.walked(graph, fn, args)
    steps = checks.step_limit(max_steps)
    promise, keep = checks.once(once, reduce), flag("layers", layers)
    call = binding.bind_push(graph, fn, args, reduce, out, then)
    over = checks.push_direction(graph, over)
    start = starts.start_of(graph, frontier)
    return driver_of(graph).propagate(graph, call, start, out, over, steps, keep, promise)


@keywords(ORDER, vertices="frontier=")
@on_graph_device
def neighbor_reduce(  # noqa: PLR0913 - what a user may choose, by keyword
    graph: Graph,
    frontier: Any,
    fn: Function,
    *,
    out: Any = None,
    args: tuple[Any, ...] = (),
    reduce: str,
    over: str = "out",
    then: Function | None = None,
    dtype: Any = None,
    scheme: str = "auto",
    score: Function | None = None,
    keep: Any = None,
    labels: int | None = None,
    best: int | None = None,
) -> Any:
    """Pull: one value per vertex, the reduction of ``fn(u, v, w, *args)`` over its edges.

    If ``fn`` is a function of ``(u, v, w, j, *args)`` a vertex has k values: ``out`` and the arrays with columns among
    ``args`` have shape (n, k), and ``then(v, value, j, *args)`` is called for every column ``j``.

    Args:
        graph: the graph.
        frontier: the vertices to compute: None for all, ids or a ``Frontier`` (one value each, in this order); with
            ``then`` also a tuple of them (their union), or :class:`Layers`, which are processed one after the other:
            ``fn`` may then read results of earlier layers, written by ``then`` or to ``out``.
        fn: the edge function; it always sees the edge ``u -> v`` as it is stored, except over ``"both"``, where ``u``
            is the neighbour and ``v`` the vertex.
        out: array to fill, which must not overlap an argument; None makes one. It has one entry per vertex to compute;
            with ``then`` or layers it is None (values are not stored) or has one entry per vertex of the graph.
        args: further arguments of ``fn`` and ``then``.
        reduce: ``"sum"``, ``"min"``, ``"max"``, ``"or"``, ``"argmin"`` (the smallest tuple), ``"mode"``: the most
            frequent value, the smallest of several, ``"hindex"`` (integers only): the largest h such that at least h
            of the values are at least h, or ``"vote"``: ``fn`` returns ``(label, weight)``, and of the labels, whose
            weights are summed up, that with the best score wins. The ``"or"`` of a condition may stop at the first edge
            that satisfies it.
        over: ``"out"`` gives one value per source ``u``, ``"in"`` one per destination ``v``, ``"both"`` one per vertex
            ``v`` over its neighbours ``u`` on either side (these two need in-edges).
        then: ``then(v, value, *args) -> bool``, once per vertex to compute, with its value (``"argmin"``: with the
            fields as separate arguments; ``"vote"``: ``then(v, label, total, *args)``). It may write index ``v`` of
            arrays that ``fn`` does not read.
        dtype: type of the values if ``out`` is None; default: the type that ``fn`` returns, int64 for bools and for
            integers of 32 bits or less. For ``"argmin"`` a ``Words`` whose fields the values have; for ``"vote"``,
            whose values are labels, uint32 (the default), int64 or uint64.
        scheme: see ``suricate.operators``: ``"auto"``, ``"vertex"``, ``"bucket"``; with ``frontier=None`` also
            ``"scan"`` (on backends that can) and ``"updated"`` (only the edges inserted since ``graph.mark()``). On
            CUDA sums of floats may differ in rounding from run to run, except with ``"vertex"``.
        score: for ``"vote"``: ``score(v, label, total, *args)``, how good a label is for ``v``, taken as float64; None:
            the total. NaN never wins. ``total`` is int64 if weights are integers, exact up to 2**62. Floats are rounded
            to multiples of a power of two that the largest weight of the vertex and the number of its edges give, and
            added as integers: totals, float64, do not depend on any order.
        keep: for ``"vote"``: a label per vertex, an array of integers; it wins among those with the best score if it
            is one of them, else the smallest label does. A function may read the array if ``args`` has it, too.
        labels: for ``"vote"``: labels are below this number; None: the number of vertices. A label out of range, and a
            weight that is 0, NaN or infinite, is no vote.
        best: for ``"vote"``: the result has so many labels per vertex, with their scores, the best first, as a
            :class:`Best`; ``out`` is None or such a pair of arrays, and there is no ``then``. A vertex costs its edges,
            whatever ``best`` (on CUDA ``best`` times as much).

    Returns:
        ``out``; with ``then`` the frontier of the vertices for which it returned true. A vertex without edges gets 0
        for sums, ``"or"`` and ``"hindex"``, else the neutral value: the largest (``"min"``, ``"argmin"``, ``"mode"``)
        or smallest (``"max"``) integer of the type, or plus or minus infinity. If nobody votes the label is ``EMPTY``.

    Raises:
        As :func:`advance`.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [1, 2, 2], device="cpu")
        >>> price = np.array([5, 7, 2])
        >>> su.neighbor_reduce(g, None, lambda u, v, w, price: price[v], args=(price,), reduce="sum").tolist()
        [9, 2, 0]
    """
    if graph.edge_table is not None:
        graph, args = binding.walked(graph, fn, args)
    key = None
    if then is None and dtype is None and isinstance(reduce, str) and reduce != "vote":
        key = prepared.key_of(graph, "neighbor_reduce", fn, args, out, reduce, over, scheme)
    found = prepared.run(graph, key, fn, frontier, args)
    if found is not prepared.MISSED:
        return found
    one_of("scheme", scheme, SCHEMES)
    call = binding.bind_pull(graph, fn, args, reduce, out, dtype, then, vote=(score, keep, labels, best))
    over = checks.pull_direction(graph, over)
    driver = driver_of(graph)
    if call.columns:
        checks.scheme_of_columns(scheme, frontier)
    if isinstance(frontier, Layers) and best is not None:
        raise RequirementError("best is for vertices that are computed at once: pass no layers")
    if isinstance(frontier, Layers):
        checks.belongs(graph, frontier, "the set of layers")
        checks.scheme_of_vertices(scheme, False)
        stored = checks.stored(graph, call, out, aliased=True)
        result = driver.neighbor_reduce(graph, call, frontier, stored, over, scheme)
        return stored if result is None else result
    if then is not None:
        start = starts.vertices_of(graph, frontier)
        checks.scheme_of_vertices(scheme, frontier is None)
        checks.plain_scheme(scheme, "then")
        stored = checks.stored(graph, call, out)
        return driver.neighbor_reduce(graph, call, None if frontier is None else start, stored, over, scheme)
    chosen = None if frontier is None else starts.vertex_ids(graph, frontier, "frontier")
    checks.scheme_of_vertices(scheme, chosen is None)
    if over == "both":
        checks.plain_scheme(scheme, "over='both'")
    into = checks.result_array(graph, call, out, graph.num_vertices if chosen is None else len(chosen))
    driver.neighbor_reduce(graph, call, chosen, into, over, scheme)
    if not call.columns:
        prepared.keep(graph, key, fn, frontier, call, out, over, scheme)
    return into


@keywords(ORDER, until="stop=su.Stop(until=...)", most="stop=su.Stop(most=...)")
@on_graph_device
def converge(  # noqa: PLR0913 - what a user may choose, by keyword; one call for all rounds
    graph: Graph,
    frontier: Any,
    fn: Function,
    *,
    args: tuple[Any, ...] = (),
    reduce: str,
    over: str = "in",
    then: Function,
    commit: Function | None = None,
    wake: str | None = "out",
    dtype: Any = None,
    max_steps: int | None = None,
    stop: Stop | None = None,
    swap: Any = (),
    after: Propagated | None = None,
    score: Function | None = None,
    keep: Any = None,
    labels: int | None = None,
    turn: Function | None = None,
) -> Propagated:
    """Pull in rounds over an active set, until it is empty (the vertex programs of GraphLab, one call for all rounds).

    In each round every active vertex ``v`` reduces ``fn(u, v, w, *args)`` over its neighbours and runs ``then(v,
    value, *args)``, which returns an integer: bit 0 says that ``v`` stays active, bit 1 that its neighbours over
    ``wake`` become active. After a barrier ``commit(v, *args)`` runs for each vertex of the round; it publishes what
    ``then`` wrote to an array that ``fn`` does not read. After another barrier the next round begins. Both may have
    effects (``su.atomic``); what ``commit`` changes by them, the functions read in the next round.

    Args:
        graph, fn, args, over, dtype, score, keep, labels: as for :func:`neighbor_reduce`.
        frontier: the active vertices: None for all, a ``Frontier``, ids, edges (both ends of each; weights are not
            needed), or a tuple of them.
        reduce: as for :func:`neighbor_reduce`.
        then: the second phase, see above.
        commit: the third phase, or None.
        wake: ``"out"``, ``"in"`` or ``"both"``: along which edges of ``v`` others become active; None: none do.
        max_steps: maximum number of rounds.
        stop: a :class:`Stop`: what else ends the loop; or None.
        swap: pairs ``(a, b)`` of arrays in ``args``, with one entry per vertex or one in all, whose contents are
            swapped after every round, as in :func:`iterate`. All vertices are then active in all rounds, whatever
            ``then`` returns; ``frontier``, ``wake`` and ``commit`` must be None. No function may read at other
            vertices what ``then`` writes.
        after: with ``swap``, an earlier loop over the same graph: this one continues it if it was crowded, and does
            nothing otherwise. Its rounds count towards ``max_steps``. The host does not wait to find out.
        turn: ``turn(v, step, *args) -> bool``: whether ``v`` has its turn in this round; with neither ``swap`` nor
            ``until``. Rounds, counted by ``step`` from 0, then form *cycles*, whose active set stays the same: in each
            round those that had no turn yet are asked, and only those whose turn it is pull, run ``then`` and
            ``commit``. A cycle ends with the round in which the last vertex had its turn. Who stays or becomes active
            meanwhile is active in the next cycle. A round without any turn counts, too.

    Returns:
        The number of rounds, the number of vertices computed in all, whether the active set became empty, and whether
        ``Stop.most`` ended the loop.

    Raises:
        As :func:`advance`; ``ParameterError`` also for wrong ``max_steps``, ``stop`` or ``after``.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 0], in_edges=True, device="cpu")
        >>> best, fresh = np.array([3, 1, 2]), np.array([3, 1, 2])
        >>> def larger(v, value, best, fresh):
        ...     fresh[v] = max(value, best[v])
        ...     return 2 if value > best[v] else 0
        >>> def publish(v, best, fresh):
        ...     best[v] = fresh[v]
        >>> best_of = lambda u, v, w, best, fresh: best[u]
        >>> rounds = su.converge(g, None, best_of, args=(best, fresh), reduce="max", then=larger, commit=publish)
        >>> best.tolist(), rounds.steps
        ([3, 3, 3], 3)
    """
    if graph.edge_table is not None:
        graph, args = binding.walked(graph, fn, args)
    steps, (until, most) = checks.step_limit(max_steps), checks.stop_of(graph, stop)
    call = binding.bind_pull(
        graph, fn, args, reduce, None, dtype, then, commit, turn=turn, vote=(score, keep, labels, None)
    )
    over = checks.pull_direction(graph, over)
    wake = None if wake is None else checks.push_direction(graph, wake, "wake")
    start = starts.start_of(graph, frontier, ends=True)
    pairs = checks.places_of(graph, call, swap)
    if pairs and not (frontier is None and wake is None and commit is None):
        raise RequirementError("swap is for rounds over all vertices: pass frontier=None, wake=None and no commit")
    if turn is not None and (pairs or until is not None):
        raise RequirementError("turn is for rounds over an active set, until it is empty: pass no swap and no until")
    if pairs and over != "out":
        checks.apart(call)
    checks.effects_on_swapped(call, pairs)
    driver = driver_of(graph)
    checks.taken_over(graph, after, pairs)
    if call.columns and graph.device.is_cuda and graph.partition is None:
        return rounds.converge(graph, call, start, over, wake, steps, until, most, pairs, after)
    return driver.converge(graph, call, start, over, wake, steps, until, most, pairs, after)


@keywords(ORDER)
@on_graph_device
def vertex_map(graph: Graph, frontier: Any, fn: Function, *, args: tuple[Any, ...] = ()) -> Frontier:
    """Call ``fn(v, *args)`` for every vertex of ``frontier``; return those for which it returns true, as a frontier.

    Args:
        graph: the graph.
        frontier: None for all vertices, a ``Frontier``, ids, edges (both ends of each; weights are not needed), or a
            tuple of them.
        fn: may write index ``v`` of arrays, and may read other indices only of arrays that it does not write. It may
            have effects (``su.atomic``, ``su.unite``) on arrays that it neither writes nor reads. If its first
            parameter is named ``i`` it also gets the position in the ids; it is then called for duplicate ids too, and
            edges are refused.
        args: further arguments of ``fn``.

    Returns:
        The frontier, in the order of the argument on the CPU, in any order on CUDA, where its size is on the device.

    Raises:
        As :func:`advance`.

    Example:
        >>> g = su.Graph(5, device="cpu")
        >>> value = np.arange(5)
        >>> def halve(v, value):
        ...     value[v] = value[v] // 2
        ...     return value[v] > 0
        >>> su.vertex_map(g, None, halve, args=(value,)).vertices.tolist(), value.tolist()
        ([2, 3, 4], [0, 0, 1, 1, 2])
    """
    key = prepared.key_of(graph, "vertex_map", fn, args, None)
    found = prepared.run(graph, key, fn, frontier, args)
    if found is not prepared.MISSED:
        return found
    call = binding.bind_map(graph, fn, args)
    with_position = call.function.leading[0] == "i"
    start = starts.vertices_of(graph, frontier) if with_position else starts.start_of(graph, frontier, ends=True)
    binding.position_of(call, start)
    kept = driver_of(graph).vertex_map(graph, call, start)
    if not call.columns:
        prepared.keep(graph, key, fn, frontier, call, None, "out")
    return kept


filter = vertex_map


@keywords(ORDER, edges="frontier=")
@on_graph_device
def edge_map(graph: Graph, frontier: Any, fn: Function, *, args: tuple[Any, ...] = (), over: str = "out") -> None:
    """Call ``fn(u, v, w, *args)`` for its effects (``su.atomic``, ``su.unite``, ``Scalar.add``) on every edge.

    Args:
        graph: the graph.
        frontier: None for all edges, or edges (``EdgeList``, ``EdgeSet``), or vertices whose edges are meant (a
            ``Frontier``, ids), or a tuple of them.
        fn: returns nothing. Each array on which it has an effect takes one kind of effect and is not read. If its first
            parameter is named ``i`` it also gets the position in the edges or ids (with None: ``u``).
        args: further arguments of ``fn``.
        over: ``"out"``, ``"in"`` or ``"both"``: which edges of the vertices; ``u`` is the vertex, ``v`` its neighbour.

    Raises:
        As :func:`advance`; ``ParameterError`` if ``fn`` has no effect.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [1, 2, 2], device="cpu")
        >>> in_degree = np.zeros(3, np.int64)
        >>> def count(u, v, w, in_degree):
        ...     su.atomic.add(in_degree, v, 1)
        >>> su.edge_map(g, None, count, args=(in_degree,))
        >>> in_degree.tolist()
        [0, 1, 2]
    """
    if graph.edge_table is not None:
        graph, args = binding.walked(graph, fn, args)
    key = prepared.key_of(graph, "edge_map", fn, args, None, over)
    if prepared.run(graph, key, fn, frontier, args) is not prepared.MISSED:
        return
    call = binding.bind_effect(graph, fn, args)
    over = checks.push_direction(graph, over)
    start = starts.start_of(graph, frontier)
    binding.position_of(call, start)
    driver_of(graph).edge_map(graph, call, start, over)
    prepared.keep(graph, key, fn, frontier, call, None, over)


def iterate(
    body: Callable[[], Any],
    *,
    until: Any,
    max_steps: int,
    swap: Any = (),
) -> int:
    """Repeat the operators that ``body`` calls, until a number on the device ends the loop.

    On CUDA ``body`` runs once in Python: its launches are recorded and repeated. Reading a device value in ``body``
    raises; numbers keep the value of the recording (pass arrays of one entry if they must change).

    Args:
        body: calls operators; its result is not used.
        until: a ``Scalar`` that operators of the body add to: the loop ends after the round in which its total is 0,
            with ``(scalar, bound)`` at most ``bound``.
        max_steps: maximum number of rounds.
        swap: pairs ``(a, b)`` of arrays whose contents are exchanged after every round, the last included: what a round
            wrote to ``b`` is then in ``a``, and what it read is in ``b``.

    Returns:
        The number of rounds. This waits for the device.

    Raises:
        ParameterError, ShapeError, DTypeError: an argument is invalid.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 3], in_edges=True, device="cpu")
        >>> old, new, moved = np.array([5, 0, 0, 0]), np.zeros(4, int), g.scalar("sum", "int64")
        >>> def keep(v, value, old, new, moved):
        ...     new[v] = max(value, old[v])
        ...     moved.add(new[v] != old[v])
        >>> old_of = lambda u, v, w, old, new, moved: old[u]
        >>> call = {"args": (old, new, moved), "reduce": "max", "over": "in", "then": keep}
        >>> step = lambda: su.neighbor_reduce(g, None, old_of, **call)
        >>> su.iterate(step, until=moved, max_steps=9, swap=[(old, new)]), old.tolist()
        (4, [5, 5, 5, 5])
    """
    if not callable(body):
        raise ParameterError(f"body must be a function without parameters, got {type(body).__name__}")
    steps = checks.step_limit(max_steps)
    stop = checks.until_of(until)
    device = stop.scalar.device
    return driver_on(device).iterate(device, body, stop, steps, checks.swaps(device, swap))


@on_graph_device
def arcs(graph: Graph) -> EdgeList:
    """Return a copy of all arcs of ``graph``, ordered by source; an undirected edge gives two arcs.

    Example:
        >>> g = su.Graph.from_coo([0], [1], directed=False, device="cpu")
        >>> sorted(zip(su.arcs(g).src.tolist(), su.arcs(g).dst.tolist()))
        [(0, 1), (1, 0)]
    """
    return graph.store("out").edges() if graph._events is None else graph._events.arcs()
