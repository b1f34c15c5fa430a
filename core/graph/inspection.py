"""Looking into a graph's stores, how much memory they use and whether they are consistent, and their upkeep."""

from __future__ import annotations

import time
import weakref
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from suricate.base.devices import DeviceLike, resolve_device
from suricate.base.errors import CapacityError, RequirementError, require
from suricate.base.parameters import integer, real
from suricate.base.types import EdgeList, edge_keys
from suricate.cuda import compiler
from suricate.graph.ahead import REHEARSALS
from suricate.graph.edge_columns import compact as compact_rows
from suricate.graph.edge_columns import table_of
from suricate.graph.naming import check as check_names
from suricate.graph.options import GraphOptions
from suricate.intake.arrays import bits, picked
from suricate.intake.names import Names
from suricate.state.locks import on_graph_device
from suricate.store import Store

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.liveness import LiveVertices
    from suricate.state.edge_table import EdgeTable


class MemoryUsage(NamedTuple):
    """Memory of a graph: ``parts`` is ``{"out.<part>": (bytes used, bytes allocated)}``; other fields are sums over it.

    The part ``live`` is the mask of live vertices, once a vertex was deleted; ``columns`` and ``edge_columns`` are
    those of vertices and of edges (texts without their own bytes). ``workspace``, which no part includes, is the bytes
    of the scratch arrays that operators keep between calls.
    """

    parts: dict[str, tuple[int, int]]
    used: int
    allocated: int
    bytes_per_edge: float
    workspace: int = 0


@on_graph_device
def memory_usage(graph: Graph) -> MemoryUsage:
    """Return bytes used and allocated, by part and in all, and bytes allocated per edge. Waits for the device.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> usage = g.memory_usage()
        >>> usage.used <= usage.allocated, usage._fields
        (True, ('parts', 'used', 'allocated', 'bytes_per_edge', 'workspace'))
    """
    graph._updater.raise_found()
    parts = parts_of(graph)
    used, allocated = (sum(size[k] for size in parts.values()) for k in (0, 1))
    num_edges, workspace = graph._updater.count_edges(), sum(graph.workspace.memory().values())
    return MemoryUsage(parts, used, allocated, allocated / num_edges if num_edges else float("nan"), workspace)


def bytes_of(graph: Graph) -> int:
    """Return the bytes that a graph has allocated."""
    return sum(allocated for _, allocated in parts_of(graph).values())


def parts_of(graph: Graph) -> dict[str, tuple[int, int]]:
    """Return ``MemoryUsage.parts``, bytes used and allocated by part; unlike ``memory_usage`` this counts no edges."""
    updater = graph._updater
    parts = {
        f"{name}.{part}": size
        for name, store in zip(("out", "in"), updater.stores, strict=False)
        for part, size in store.memory().items()
    }
    if any(updater.live.memory()):
        parts["live"] = updater.live.memory()
    columns = sum(column.nbytes for column in graph._columns.values())
    for label, size in (("columns", columns), ("edge_columns", graph.edge_table.nbytes if graph.edge_table else 0)):
        if size:
            parts[label] = size, size
    return parts


def wait_until_built(graph: Graph, timeout: float | None = None) -> bool:
    """Wait until launches take the final builds of all kernels that were called or prepared so far.

    On CUDA a kernel that is new to this machine first gets a quick build, which may be many times slower (see
    ``Tracker.last``): whoever measures waits for the final one. On the CPU there is nothing to wait for.

    Args:
        timeout: seconds to wait at most; None: no limit.

    Returns:
        Whether all of them are there.

    Raises:
        ParameterError: ``timeout`` is negative or no number.

    Example:
        >>> su.Graph(3, device="cpu").wait_until_built()
        True
    """
    limit = None if timeout is None else real("timeout", timeout, low=0)
    if not graph.device.is_cuda:
        return True
    end = None if limit is None else time.monotonic() + limit
    REHEARSALS.wait(limit)
    return compiler.POOL.wait(None if end is None else max(0.0, end - time.monotonic())) and not compiler.UNFINISHED


def share_limit(graph: Graph, limit: int | None) -> None:
    """Have all parts of ``graph`` share ``limit`` bytes; raises ``CapacityError`` if they take more now."""
    if limit is None:
        return
    there = weakref.ref(graph)
    for number, store in enumerate(_stores(graph)):
        store.share_limit(partial(_held, there, number))
    graph._updater.live.arrays()  # the mask, which a deletion would make beyond the limit otherwise
    graph._updater.live.admit = admit = partial(_admit, there, limit)
    if graph.edge_table is not None:
        graph.edge_table.admit = admit
    admit(0)


def _stores(graph: Graph) -> list[Store]:
    return [getattr(store, "local", store) for store in graph._stores]  # the latter of this rank


def _held(there: weakref.ref[Graph], but: int | None = None) -> int:
    """Return the bytes of all parts of a graph, except of its store number ``but``; does not wait."""
    graph = there()
    if graph is None:
        return 0
    live, table = graph._updater.live, graph.edge_table
    held = live.memory()[1] + graph._updater._all.coming + (0 if table is None else table.nbytes)
    held += sum(column.nbytes for column in live.columns.values())
    return held + sum(store.bytes_held() for number, store in enumerate(_stores(graph)) if number != but)


def _admit(there: weakref.ref[Graph], limit: int, size: int) -> None:
    wanted = _held(there) + size
    if wanted > limit:
        raise CapacityError(f"the graph needs {wanted} bytes, memory_limit is {limit}")


@on_graph_device
def check(graph: Graph) -> None:
    """Verify every invariant on the CPU, of each store and between them; raises ``CheckFailed``.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> print(g.check())
        None
    """
    graph._updater.raise_found()
    check_stores(graph._stores, graph._options, graph._updater.live, graph.edge_table)
    for column in graph._columns.values():
        column.check(graph.num_vertices, graph.deleted_vertices)
    check_names(graph)
    if graph.edge_table is not None:
        table_of(graph).check(graph.device.to_numpy(graph.edges().row))


def demand_owner(graph: Graph, owner: object = None) -> None:
    """Raise ``RequirementError`` if ``owner``, which is about to change the graph, is not its :attr:`Graph.owner`."""
    if owner is not graph.owner:
        refusal = getattr(graph.owner, "refusal", "")
        raise RequirementError(
            refusal or "the window changes this graph, by the events of its source: change a copy, copy.copy(graph)"
        )


@on_graph_device
def reserve(graph: Graph, num_edges: int) -> None:
    """Reserve memory, so that inserting any ``num_edges`` edges will not run out of it.

    Raises:
        CapacityError: there is not enough memory. One of two stores may keep what it has reserved, see :func:`compact`.
        ParameterError: ``num_edges`` is not an integer, or negative.

    Example:
        >>> g = su.Graph(1000, device="cpu")
        >>> g.reserve(50_000)
        >>> g.num_edges
        0
    """
    if graph.partition is not None:
        graph.partition.comm.same({"num_edges": num_edges})
    num_edges = integer("num_edges", num_edges, low=0)
    graph._drop_views()
    with graph._updater.whole(live=True):
        for store in graph._stores:
            store.reserve(num_edges if graph.directed else 2 * num_edges)


@on_graph_device
def compact(graph: Graph) -> None:
    """Remove tombstones, and repack the storage and the columns; edges and version do not change. Waits for the device.

    What memory does not suffice for is left as it is. Rows of edge columns get other numbers.

    Example:
        >>> g = su.Graph.from_coo(np.zeros(999, int), np.arange(1, 1000), device="cpu")
        >>> delta = g.delete_edges(np.zeros(997, int), np.arange(1, 998))
        >>> g.compact()
        >>> g.num_edges, sorted(g.neighbors(0).tolist())
        (2, [998, 999])
    """
    graph._updater.raise_found()
    graph._drop_views()
    with graph._updater.whole(live=True):
        for store in graph._stores:
            store.compact()
        if graph.edge_table is not None:
            compact_rows(graph)
        for column in graph._columns.values():
            with suppress(MemoryError):
                column.compact()


@on_graph_device
def to(graph: Graph, device: DeviceLike) -> Graph:
    """Return a copy of ``graph`` on ``device`` with its backend and version, without trackers; waits for the device.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> copy = g.to("cpu")
        >>> delta = copy.insert_edges([2], [0])
        >>> g.num_edges, copy.num_edges
        (2, 3)
    """
    graph._updater.raise_found()
    place = resolve_device(device if graph.partition is None else graph.partition.comm.place(device))
    other, partition = object.__new__(type(graph)), None
    with place.current():
        if graph.partition is None:
            stores = tuple(store.copy_to(place) for store in graph._stores)
        else:
            stores, partition = graph.partition.copy_to(other, place)
    other._assemble(graph._options, stores, partition)
    if graph.weight_scale is not None:  # a copy has weights like any other graph
        other.insert_edges(*graph.edges().each(graph.device.to_numpy))
    updater = graph._updater
    other._updater.inherit(updater.version, updater.live.deleted_ids(), updater.had_loops)
    other._objects = None if graph._objects is None else graph._objects.copy()
    other._names = graph._names.copy() if isinstance(graph._names, Names) else graph._names
    other._columns.update({name: column.copy_to(place) for name, column in graph._columns.items()})
    if other.edge_table is not None:
        table_of(graph).copy_to(other.edge_table)
    return other


def most_arcs(graph: Graph) -> int:
    """An upper bound of the number of arcs (an undirected edge is two), known without waiting for the device."""
    counted = graph._updater.most_arcs()
    if graph.partition is not None:
        return counted
    return min(counted, (graph._views.get("out") or graph._new_view("out")).most_edges)


def check_stores(
    stores: tuple[Store, ...], options: GraphOptions, live: LiveVertices, table: EdgeTable | None = None
) -> None:
    """Verify every invariant of stores, live set and ``table`` (or None), on the CPU; else raise ``CheckFailed``."""
    live.check()
    for store in stores:
        require(store.num_vertices == live.num_vertices, "stores and graph have the same number of vertices")
        store.check()
    arcs = _sorted(_host_edges(stores[0], table))
    ends = np.concatenate((arcs.src, arcs.dst))
    require(not np.isin(live.deleted_ids(), ends).any(), "deleted vertices have no edges")
    if not options.directed:
        _require_same(arcs, _sorted(_turned(arcs)), "both arcs of an edge are stored")
    if len(stores) > 1:
        _require_same(arcs, _sorted(_turned(_host_edges(stores[1], table))), "in-edges are the out-edges turned round")
    if options.self_loops != "allow":
        require(not (arcs.src == arcs.dst).any(), f"there are no self-loops (self_loops={options.self_loops!r})")


def _host_edges(store: Store, table: EdgeTable | None) -> EdgeList:
    """Return the edges of a store on the host; with columns, ``table.compared(rows)`` takes the place of weights."""
    edges = store.edges().each(store.device.to_numpy)
    return edges if table is None or edges.weight is None else edges._replace(weight=table.compared(edges.weight))


def _turned(arcs: EdgeList) -> EdgeList:
    return EdgeList(arcs.dst, arcs.src, arcs.weight)


def _sorted(arcs: EdgeList) -> EdgeList:
    return picked(arcs, np.argsort(edge_keys(arcs.src, arcs.dst)))


def _require_same(one: EdgeList, other: EdgeList, invariant: str) -> None:
    """Raise ``CheckFailed``, naming ``invariant``, unless ``one`` equals ``other``, in order, weights bit for bit."""
    for a, b in zip(one, other, strict=True):
        require(a is b or np.array_equal(bits(a), bits(b)), invariant)
