"""The graph: what a user holds. Methods and docstrings; the work is done elsewhere.

A graph owns one store, or two when in-edges are kept. ``suricate.options`` validates what it is made with,
``suricate.update`` validates batches and changes the stores, ``suricate.vertices`` knows deleted ids. Here they are
joined with the views for kernels, the trackers, and the lock that lets one thread in at a time.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from suricate import interop, snapshot
from suricate.arrays import as_ids, as_weights, bits, checked_ids, on_host, picked
from suricate.cuda.ingest import Ingest
from suricate.delta import Batch, Delta
from suricate.devices import Array, Device, resolve_device
from suricate.errors import (
    CapacityError,
    ParameterError,
    RequirementError,
    ShapeError,
    SuricateError,
    UnknownNameError,
    WeightError,
    require,
)
from suricate.locks import Lock, graph_lock
from suricate.options import GraphOptions, checked_count, checked_hints, choose_backend
from suricate.parameters import integer
from suricate.store import Store
from suricate.structures.workspace import Workspace
from suricate.tracker import Tracker, advance_all, make_algorithm
from suricate.types import Adjacency, EdgeList, StoreView, edge_keys
from suricate.update import Given, Updater
from suricate.vertices import DeletedIds

Function = TypeVar("Function", bound=Callable[..., Any])


class MemoryUsage(NamedTuple):
    """Memory of a graph: ``parts`` is ``{"out.<part>": (bytes used, bytes allocated)}``; the rest are sums over it."""

    parts: dict[str, tuple[int, int]]
    used: int
    allocated: int
    bytes_per_edge: float


def on_graph_device(function: Function) -> Function:
    """Run ``function(graph, ...)``, a method or an operator, alone on the graph and with its CUDA device current.

    Other threads wait at the graph's lock meanwhile. A ``MemoryError`` becomes a ``CapacityError``.
    """

    @wraps(function)
    def call(graph: Graph, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(graph, Graph):
            raise ParameterError(f"graph must be a Graph, got {type(graph).__name__}")
        try:
            with graph._lock:
                return function(graph, *args, **kwargs)
        except MemoryError as error:
            raise _capacity_error(graph, error) from error

    return call  # type: ignore[return-value]


def _capacity_error(graph: Graph, error: MemoryError) -> MemoryError:
    """Return ``error`` if it is one of ours already, else a ``CapacityError`` in its place."""
    if isinstance(error, SuricateError):
        return error
    return CapacityError(f"memory does not suffice on {graph.device}: {error}")


class Graph:
    """A dynamic graph on one device.

    Args:
        num_vertices: number of vertices; ids are below it.
        backend: name of a storage backend, a ``Store`` class, or None for the default backend.
        device: ``"auto"`` (CUDA where there is one), ``"cpu"``, ``"cuda"`` or ``"cuda:N"``.
        directed: whether ``(u, v)`` and ``(v, u)`` are different edges.
        weight_dtype: ``"float32"``, ``"float64"``, ``"int32"``, ``"uint32"``, or None for an unweighted graph.
        in_edges: whether a directed graph keeps in-edges too, in a second store (an undirected one always has them).
        self_loops: what an inserted self-loop does: ``"allow"``, ``"drop"`` (it is left out; on CUDA an insertion then
            waits for the device), or ``"error"`` (the batch is refused).
        checks: when a bad batch that lies on the device raises: ``"eager"``, in the call itself, which then waits until
            the device has checked it, or is through with it; or ``"deferred"``, at the next call that waits anyway
            (:meth:`synchronize`, at the latest). A bad batch changes nothing either way. Host arrays are always
            checked at once, and so is every batch for a backend whose kernels cannot be held back (``Store.guarded``).
        degree_hints: expected out-degree per vertex, ``int[num_vertices]``, or None; only a hint.
        in_degree_hints: the same for in-degrees, where they are kept in a second store.
        memory_limit: upper bound on what each store may allocate, or None: bytes, or text such as ``"1.5GB"`` (of 1000)
            or ``"512MiB"`` (of 1024).
        backend_options: passed to the backend.

    Ids are given as NumPy or CuPy arrays, lists, or anything with DLPack or the CUDA array interface, of any integer
    dtype. Arrays are returned on the graph's device. A call that fails leaves the graph as it was.

    Several threads may use a graph: its calls, operators and trackers included, run one after the other. On CUDA all
    work is queued in CuPy's current stream, and a thread first waits for what another one has queued. Within a thread
    keep to one stream, or call :meth:`synchronize` before going on in another.

    ``copy.copy``, ``copy.deepcopy`` and ``pickle`` make an independent graph of the same edges, version and options,
    without trackers; a pickled graph is loaded on the kind of device that it was on.

    Raises:
        ParameterError, UnknownNameError, DeviceError, DTypeError, ShapeError, VertexRangeError: an argument that cannot
            be used.
        CapacityError: memory does not suffice.
    """

    def __init__(
        self,
        num_vertices: int = 0,
        *,
        backend: str | type[Store] | None = None,
        device: str | Device = "auto",
        directed: bool = True,
        weight_dtype: Any = None,
        in_edges: bool = False,
        self_loops: str = "allow",
        checks: str = "eager",
        degree_hints: Any = None,
        in_degree_hints: Any = None,
        memory_limit: int | str | None = None,
        **backend_options: Any,
    ) -> None:
        chosen, place = choose_backend(backend, device)
        options = GraphOptions(
            chosen,
            directed=directed,
            weight_dtype=weight_dtype,
            in_edges=in_edges,
            self_loops=self_loops,
            checks=checks,
            memory_limit=memory_limit,  # type: ignore[arg-type]
            backend_options=backend_options,
        )
        count = checked_count(num_vertices)
        hints = [checked_hints(degree_hints, count, "degree_hints")]
        in_hints = checked_hints(in_degree_hints, count, "in_degree_hints")
        if options.in_edges:
            hints.append(in_hints)
        elif in_hints is not None:
            raise ParameterError("in_degree_hints are for a directed graph with in_edges=True")
        with place.current():
            stores = tuple(options.make_store(count, place, each) for each in hints)
        self._assemble(options, stores)

    def _assemble(
        self,
        options: GraphOptions,
        stores: tuple[Store, ...],
        *,
        version: int = 0,
        had_loops: bool = False,
        deleted: np.ndarray | None = None,
    ) -> None:
        """Make this the graph of ``stores``, which have the same device and number of vertices."""
        self._options, self._stores = options, stores
        self.device = stores[0].device
        self._lock: Lock = graph_lock(self.device)
        with self._lock:
            ingest = Ingest(self.device, options) if self.device.is_cuda else None
        self._updater = Updater(stores, options, ingest, self._lock, version=version, had_loops=had_loops)
        self._deleted = DeletedIds(deleted)
        self._views: dict[str, StoreView] = {}
        self._trackers: list[weakref.ref[Tracker]] = []
        self._workspace = Workspace(self.device)

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def num_vertices(self) -> int:
        """Number of vertices, deleted ones included."""
        return self._updater.num_vertices

    @property
    @on_graph_device
    def num_edges(self) -> int:
        """Exact number of edges; an undirected one counts once. On CUDA reading it waits for the device."""
        self._updater.raise_pending()
        return self._updater.count_edges()

    @property
    def version(self) -> int:
        """Grows by one with every call that may have changed the graph."""
        return self._updater.version

    @property
    def directed(self) -> bool:
        """Whether ``(u, v)`` and ``(v, u)`` are different edges."""
        return self._options.directed

    @property
    def weight_dtype(self) -> np.dtype | None:
        """Dtype of the weights, None for an unweighted graph."""
        return self._options.weight_dtype

    @property
    def self_loops(self) -> str:
        """What an inserted self-loop does: ``"allow"``, ``"drop"`` or ``"error"``."""
        return self._options.self_loops

    @property
    def checks(self) -> str:
        """When an invalid device batch raises: ``"eager"`` or ``"deferred"``."""
        return self._options.checks

    @property
    def has_in_edges(self) -> bool:
        """Whether in-edges can be walked."""
        return len(self._stores) > 1 or not self.directed

    @property
    def deleted_vertices(self) -> np.ndarray:
        """Ids that were deleted and not given out again, ascending, ``uint32``, on the host; a copy."""
        return self._deleted.ids.copy()

    @property
    def backend(self) -> str:
        """Name of the storage backend."""
        return self._stores[0].name

    @property
    def options(self) -> GraphOptions:
        """What the graph was made with."""
        return self._options

    @property
    def workspace(self) -> Workspace:
        """Scratch arrays that operators keep between calls."""
        return self._workspace

    def store(self, direction: str = "out") -> Store:
        """Return the store of out- or in-edges (an undirected graph has one for both).

        Calls on a store itself are not serialised: use :meth:`exclusive` where several threads use the graph.

        Raises:
            RequirementError: ``"in"``, and the graph keeps no in-edges.
        """
        if direction == "out" or (direction == "in" and not self.directed):
            return self._stores[0]
        if direction != "in":
            raise UnknownNameError(f"unknown direction {direction!r}: use 'out' or 'in'")
        if len(self._stores) == 1:
            raise RequirementError("the graph keeps no in-edges: build it with Graph(..., in_edges=True)")
        return self._stores[1]

    def view(self, direction: str = "out") -> StoreView:
        """Return the arrays of a store for kernels; valid until the graph changes.

        Raises:
            RequirementError: ``"in"``, and the graph keeps no in-edges.
        """
        view = self._views.get(direction)
        return self._new_view(direction) if view is None else view

    @on_graph_device
    def _new_view(self, direction: str) -> StoreView:
        symmetric = direction == "in" and not self.directed
        view = self._views[direction] = self.view("out") if symmetric else self.store(direction).view()
        return view

    def capabilities(self) -> dict[str, str]:
        """Return ``{operation: "native" | "fallback"}`` of the graph's backend."""
        return type(self._stores[0]).capabilities()

    def exclusive(self) -> Lock:
        """Return a context manager: inside it other threads wait for the graph, and its CUDA device is current.

        It may be entered again by the same thread; every call on the graph does so.
        """
        return self._lock

    @on_graph_device
    def __repr__(self) -> str:
        parts = [f"{self.num_vertices} vertices", f"{self._updater.count_edges()} edges"]
        parts.append("directed" if self.directed else "undirected")
        parts.append("unweighted" if self.weight_dtype is None else f"{self.weight_dtype} weights")
        parts += ["in-edges"] if len(self._stores) > 1 else []
        return f"<Graph: {', '.join(parts)}; {self.backend} on {self.device}, version {self.version}>"

    # -- changes -------------------------------------------------------------------------------------------------------

    def insert_edges(self, src: Any, dst: Any, weight: Any = None) -> Delta:
        """Insert edges; one that is there takes the new weight. Of duplicates in the batch the last weight wins.

        Args:
            src: ids, ``n``.
            dst: ids, ``n``.
            weight: ``n`` numbers, or one for all; required on a weighted graph. A float dtype takes every number that
                stays finite, rounded to the nearest; an integer dtype takes whole numbers in its range.

        Raises:
            VertexRangeError, DTypeError, ShapeError, WeightError, SelfLoopError, DeviceError: the batch is bad.
            CapacityError: memory does not suffice.
        """
        return self._update(None, (src, dst, weight))

    def delete_edges(self, src: Any, dst: Any) -> Delta:
        """Delete edges; those that are not there are passed over. Raises as :meth:`insert_edges` does."""
        return self._update((src, dst, None), None)

    def apply(self, batch: Batch) -> Delta:
        """Delete the edges of ``batch.delete``, then insert those of ``batch.insert``: one step, one delta.

        The delta is net: an edge that is deleted and inserted again is listed as replaced if its weight differs, else
        not at all. Raises as :meth:`insert_edges` does.
        """
        if not isinstance(batch, Batch):
            raise ParameterError(
                f"batch must be a Batch, got {type(batch).__name__}: use Batch(insert=..., delete=...)"
            )
        if batch.delete is None or batch.insert is None:
            return self._update(batch.delete, batch.insert)
        return self._update(batch.delete, batch.insert, parts=(1, 2))

    def _update(self, delete: Given | None, insert: Given | None, parts: tuple[int, int] = (0, 0)) -> Delta:
        try:  # as on_graph_device() does, without a further call: small batches would feel it
            with self._lock:
                self._views.clear()  # even a batch that fails may make a store grow, into other arrays
                updater = self._updater
                before = updater.version
                delta = updater.apply(delete, insert, parts, wait=bool(self._trackers))
                if self._trackers and updater.version != before:
                    self._trackers = advance_all(self._trackers, delta)
                return delta
        except MemoryError as error:
            raise _capacity_error(self, error) from error

    def _advance_trackers(self, delta: Delta) -> None:
        self._views.clear()
        if self._trackers:
            self._trackers = advance_all(self._trackers, delta)

    @on_graph_device
    def insert_vertices(self, count: int = 1, *, recycle: bool = False) -> Array:
        """Add ``count`` vertices without edges and return their ids, ``uint32[count]``.

        Args:
            count: how many.
            recycle: give out deleted ids first, the lowest first (those that have no edges now; on a directed graph
                without in-edges finding out takes one pass over all edges).

        Raises:
            VertexRangeError: there would be more vertices than ids.
            CapacityError: memory does not suffice.
        """
        count, updater = checked_count(count, "count"), self._updater
        old = self._deleted.ids[:0]
        if recycle and len(self._deleted.ids):
            updater.raise_pending()
            old = self._deleted.unused(*self._both_stores(), directed=self.directed)[:count]
        before, after = updater.add_vertices(count - len(old))
        ids = self.device.xp.asarray(np.concatenate((old, np.arange(before, after, dtype=np.uint32))))
        if count:
            self._deleted.remove(old)
            self._advance_trackers(updater.added_vertices((before, after)))
        return ids

    def _both_stores(self) -> tuple[Store, Store | None]:
        return self._stores[0], self._stores[1] if len(self._stores) > 1 else None

    @on_graph_device
    def delete_vertices(self, ids: Any) -> Delta:
        """Delete vertices with all their edges, in both directions; the delta lists those edges.

        The ids stay valid, as vertices without edges, until ``insert_vertices(recycle=True)`` gives them out again. A
        directed graph without in-edges finds the edges that lead to them by one pass over all edges. Waits.

        Raises:
            VertexRangeError, DTypeError, ShapeError: ids that cannot be used.
        """
        self._views.clear()
        delta, distinct = self._updater.delete_vertices(ids)
        if len(distinct):
            self._deleted.add(distinct)
            self._advance_trackers(delta)
        return delta

    # -- questions -----------------------------------------------------------------------------------------------------

    @on_graph_device
    def has_edges(self, src: Any, dst: Any) -> Array:
        """Return ``bool[n]``: which of the edges are there. Raises as :meth:`insert_edges` does."""
        return self._updater.find(src, dst)[0]

    @on_graph_device
    def edge_weights(self, src: Any, dst: Any, default: float | None = None) -> Array:
        """Return ``weight_dtype[n]``: the weights of the edges, ``default`` where there is no such edge.

        Args:
            src: ids, ``n``.
            dst: ids, ``n``.
            default: NaN on float weights and 0 on integer weights if None.

        Raises:
            WeightError: the graph is unweighted, or cannot hold ``default``.
            VertexRangeError, DTypeError, ShapeError, DeviceError: ids that cannot be used.
        """
        if self.weight_dtype is None:
            raise WeightError("the graph has no weights: build it with Graph(..., weight_dtype='float32')")
        absent = _absent(default, self.weight_dtype)
        found, weight = self._updater.find(src, dst)
        assert weight is not None
        xp, dtype = self.device.xp, self.weight_dtype
        return xp.where(found, bits(weight), bits(absent.reshape(1))[0]).view(dtype)

    @on_graph_device
    def degrees(self, direction: str = "out") -> Array:
        """Return ``uint32[num_vertices]``, a copy: out- or in-degrees. A self-loop counts once.

        Raises:
            RequirementError: ``"in"``, and the graph keeps no in-edges.
        """
        return self.store(direction).degrees()

    @on_graph_device
    def neighbors(self, vertex: int, direction: str = "out") -> Array:
        """Return the ids of the vertices that edges of ``vertex`` lead to (``"in"``: come from), in no given order."""
        return self.adjacency([vertex], direction).dst

    @on_graph_device
    def adjacency(self, vertices: Any, direction: str = "out") -> Adjacency:
        """Return the edges of ``k`` vertices, compact: the i-th has ``dst[offsets[i]:offsets[i + 1]]``. Waits.

        Raises:
            RequirementError: ``"in"``, and the graph keeps no in-edges.
            VertexRangeError, DTypeError, ShapeError: ids that cannot be used.
        """
        self._updater.raise_pending()
        store = self.store(direction)
        ids = checked_ids(on_host(as_ids(vertices, "vertices")), self.num_vertices, "vertices")
        return store.adjacency(self.device.xp.asarray(ids))

    @on_graph_device
    def edges(self) -> EdgeList:
        """Return all edges, ordered by source, in arrays of their own; undirected ones once, ``src <= dst``. Waits."""
        self._updater.raise_pending()
        return self._once(self._stores[0].edges())

    @on_graph_device
    def mark(self) -> None:
        """Start to remember insertions, for :meth:`updated` and operators of that scheme; forgets those before."""
        for store in self._stores:
            store.mark()
        self._views.clear()

    @on_graph_device
    def updated(self) -> EdgeList:
        """Return the edges inserted since :meth:`mark` that are still there; all edges without a mark. Waits.

        An edge that was there at the mark, was deleted and came back may be left out.
        """
        self._updater.raise_pending()
        return self._once(self._stores[0].updated())

    def _once(self, arcs: EdgeList) -> EdgeList:
        return arcs if self.directed else picked(arcs, arcs.src <= arcs.dst)

    @on_graph_device
    def memory_usage(self) -> MemoryUsage:
        """Return bytes used and allocated, by part and in all, and bytes allocated per edge. Waits."""
        self._updater.raise_pending()
        names = ("out", "in")
        parts = {
            f"{names[i]}.{part}": size for i, store in enumerate(self._stores) for part, size in store.memory().items()
        }
        used, allocated = (sum(size[k] for size in parts.values()) for k in (0, 1))
        edges = self._updater.count_edges()
        return MemoryUsage(parts, used, allocated, allocated / edges if edges else float("nan"))

    @on_graph_device
    def check(self) -> None:
        """Verify every invariant on the CPU: of each store, and between them.

        Raises:
            CheckFailed: naming the invariant that does not hold.
        """
        self._updater.raise_pending()
        for store in self._stores:
            require(store.num_vertices == self.num_vertices, "stores and graph have the same number of vertices")
            store.check()
        arcs = _sorted(self._host(self._stores[0].edges()))
        if not self.directed:
            _same_edges(arcs, _sorted(EdgeList(arcs.dst, arcs.src, arcs.weight)), "both arcs of an edge are stored")
        if len(self._stores) > 1:
            dst, src, weight = self._host(self._stores[1].edges())
            _same_edges(arcs, _sorted(EdgeList(src, dst, weight)), "in-edges are the out-edges turned round")
        if self.self_loops != "allow":
            require(not (arcs.src == arcs.dst).any(), f"there are no self-loops (self_loops={self.self_loops!r})")

    def _host(self, arcs: EdgeList) -> EdgeList:
        return EdgeList(*(None if part is None else self.device.to_numpy(part) for part in arcs))

    # -- upkeep --------------------------------------------------------------------------------------------------------

    @on_graph_device
    def reserve(self, num_edges: int) -> None:
        """Make sure that inserting any ``num_edges`` edges will not run out of memory.

        Raises:
            CapacityError: memory does not suffice.
            ParameterError: no integer, or negative.
        """
        num_edges = integer("num_edges", num_edges, low=0)
        for store in self._stores:
            store.reserve(num_edges if self.directed else 2 * num_edges)
        self._views.clear()

    @on_graph_device
    def compact(self) -> None:
        """Flush tombstones and repack; the edges and the version stay as they are. Waits."""
        self._updater.raise_pending()
        for store in self._stores:
            store.compact()
        self._views.clear()

    @on_graph_device
    def synchronize(self) -> None:
        """Wait for the device; raises the first error of a deferred check."""
        self.device.synchronize()
        self._updater.raise_pending()

    @on_graph_device
    def to(self, device: str | Device) -> Graph:
        """Return a copy of this graph on ``device``, of the same backend and version, without trackers. Waits."""
        self._updater.raise_pending()
        place = resolve_device(device)
        with place.current():
            stores = tuple(store.copy_to(place) for store in self._stores)
        other = object.__new__(type(self))
        updater = self._updater
        deleted = self._deleted.ids.copy()
        other._assemble(self._options, stores, version=updater.version, had_loops=updater.had_loops, deleted=deleted)
        return other

    def __copy__(self) -> Graph:
        return self.to(self.device)

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self.to(self.device)

    def __reduce__(self) -> tuple[Any, ...]:
        options = self._options
        return snapshot.from_bytes, (
            type(self),
            snapshot.to_bytes(self),
            options.backend,
            self.device.kind,
            options.checks,
            options.memory_limit,
        )

    def save(self, path: str | Path) -> None:
        """Write a snapshot to ``path``, replacing a file there at once and as a whole (see ``suricate.snapshot``)."""
        snapshot.save(self, path)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: str | Device = "auto",
        backend: str | type[Store] | None = None,
        checks: str = "eager",
        memory_limit: int | str | None = None,
        **backend_options: Any,
    ) -> Graph:
        """Return the graph of a snapshot, on any device and backend (None: the one that wrote it, with its options).

        Raises:
            FileFormatError: the file is no snapshot, or is damaged.
        """
        return snapshot.load(
            cls, path, device=device, backend=backend, checks=checks, memory_limit=memory_limit, **backend_options
        )

    # -- algorithms ----------------------------------------------------------------------------------------------------

    @on_graph_device
    def track(self, algorithm: Any, **params: Any) -> Tracker:
        """Compute ``algorithm`` (a name or an ``Algorithm`` class) and keep its result current from here on.

        The graph holds the tracker weakly: one that is dropped or closed costs nothing more. While there are trackers
        every change waits for the device, since its delta is read.

        Raises:
            UnknownNameError: no algorithm of this name is installed.
            RequirementError: the graph lacks what the algorithm needs.
        """
        tracker = Tracker(self, algorithm, params)
        self._trackers.append(weakref.ref(tracker))
        return tracker

    @on_graph_device
    def compute(self, algorithm: Any, **params: Any) -> Any:
        """Return the result of ``algorithm`` from scratch, without keeping it. Raises as :meth:`track` does."""
        self._updater.raise_pending()
        instance = make_algorithm(self, algorithm, params)
        instance.compute(self)
        return instance.result

    def _restore(self, version: int, deleted: np.ndarray) -> None:
        """Take over the version and the deleted ids of a snapshot."""
        self._updater.version = version
        self._deleted = DeletedIds(np.unique(deleted))

    # -- exchange with other libraries (see ``suricate.interop``) ------------------------------------------------------

    @classmethod
    def from_coo(
        cls, src: Any, dst: Any, weight: Any = None, *, num_vertices: int | None = None, **options: Any
    ) -> Graph:
        """Return a graph of the edges ``(src[i], dst[i], weight[i])``; see ``suricate.interop.from_coo``."""
        return interop.from_coo(cls, src, dst, weight, num_vertices=num_vertices, **options)

    @classmethod
    def from_csr(cls, offsets: Any, dst: Any, weight: Any = None, **options: Any) -> Graph:
        """Return a graph of compressed rows; see ``suricate.interop.from_csr``."""
        return interop.from_csr(cls, offsets, dst, weight, **options)

    @classmethod
    def from_scipy_sparse(cls, matrix: Any, **options: Any) -> Graph:
        """Return a graph with an edge for every stored entry; see ``suricate.interop.from_scipy_sparse``."""
        return interop.from_scipy_sparse(cls, matrix, **options)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str | None = None, **options: Any) -> Graph:
        """Return a copy of a NetworkX graph; see ``suricate.interop.from_networkx``."""
        return interop.from_networkx(cls, graph, weight=weight, **options)

    @classmethod
    def from_pandas_edgelist(
        cls, frame: Any, source: str = "source", target: str = "target", weight: str | None = None, **options: Any
    ) -> Graph:
        """Return a graph of the rows of a data frame; see ``suricate.interop.from_pandas_edgelist``."""
        return interop.from_pandas_edgelist(cls, frame, source, target, weight, **options)

    @classmethod
    def from_edge_index(cls, edge_index: Any, num_vertices: int, weight: Any = None, **options: Any) -> Graph:
        """Return a graph of a PyTorch Geometric ``edge_index``; see ``suricate.interop.from_edge_index``."""
        return interop.from_edge_index(cls, edge_index, num_vertices, weight, **options)

    def to_coo(self) -> EdgeList:
        """Return all edges, an undirected one once; the same as :meth:`edges`."""
        return self.edges()

    def to_csr(self) -> Adjacency:
        """Return compressed rows (both directions of undirected edges), on the graph's device."""
        return interop.to_csr(self)

    def to_scipy_sparse(self) -> Any:
        """Return a ``scipy.sparse.csr_array``: the weights, or ones (float64)."""
        return interop.to_scipy_sparse(self)

    def to_networkx(self) -> Any:
        """Return a ``networkx.Graph`` or ``DiGraph`` with the vertex ids as nodes."""
        return interop.to_networkx(self)

    def to_pandas_edgelist(self, source: str = "source", target: str = "target", weight: str = "weight") -> Any:
        """Return a ``pandas.DataFrame`` with one row per edge."""
        return interop.to_pandas_edgelist(self, source, target, weight)

    def to_edge_index(self) -> tuple[Array, Array | None]:
        """Return ``(int64[2, arcs], weights or None)`` as PyTorch Geometric has it (both directions if undirected)."""
        return interop.to_edge_index(self)


def _absent(default: Any, dtype: np.dtype) -> np.ndarray:
    """Return what stands for the weight of an edge that is not there, ``dtype`` without dimensions.

    Raises:
        WeightError: ``dtype`` cannot hold it; NaN and infinities are held by floats.
        ShapeError, DTypeError: it is not one number.
    """
    if default is None:
        default = np.nan if dtype.kind == "f" else 0
    if np.ndim(default):
        raise ShapeError("default is not a single number")
    if dtype.kind == "f" and isinstance(default, (float, np.floating)) and not np.isfinite(default):
        return np.asarray(default, dtype)
    return np.asarray(as_weights(default, dtype, "default"), dtype)


def _sorted(arcs: EdgeList) -> EdgeList:
    return picked(arcs, np.argsort(edge_keys(arcs.src, arcs.dst)))


def _same_edges(one: EdgeList, other: EdgeList, invariant: str) -> None:
    """Compare lists of edges, weights bit for bit."""
    for a, b in zip(one, other, strict=True):
        require(a is b or np.array_equal(bits(a), bits(b)), invariant)
