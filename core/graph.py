"""The graph: what a user holds. It owns one store, or two when in-edges are kept, and adds to them
direction, the weights and self-loop policies, the checks of all input, versions, deltas and trackers.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from suricate.arrays import (
    ARGUMENTS,
    LOOPS,
    PARTS,
    as_ids,
    as_weights,
    checked_ids,
    checked_weights,
    loop_message,
    mirrored,
    on_host,
    same_length,
)
from suricate.delta import Batch, Delta
from suricate.devices import Array, Device, cuda_device_count, resolve_device
from suricate.errors import (
    DeviceError,
    DTypeError,
    RequirementError,
    SelfLoopError,
    ShapeError,
    UnknownNameError,
    VertexRangeError,
    WeightError,
    require,
)
from suricate.store import Store
from suricate.types import (
    MAX_VERTICES,
    NEW,
    REMOVED,
    REPLACED,
    WEIGHT_DTYPES,
    Adjacency,
    Change,
    EdgeList,
    StoreView,
    edge_keys,
)

if TYPE_CHECKING:
    from suricate.cuda.ingest import Ingest
    from suricate.structures.workspace import Workspace
    from suricate.tracker import Tracker

CHECKS = ("eager", "deferred")

Function = TypeVar("Function", bound=Callable[..., Any])
Given = tuple[Any, Any, Any]  # src, dst, weight of a batch, not yet checked


class MemoryUsage(NamedTuple):
    """Memory of a graph: ``parts`` is ``{"out.<part>": (bytes used, bytes allocated)}``; the rest are sums over it."""

    parts: dict[str, tuple[int, int]]
    used: int
    allocated: int
    bytes_per_edge: float


def _switch(device: Device) -> Any:
    """Return ``cupy.cuda``, to make ``device`` the current one; None on the CPU, and where there is no other device."""
    return device.xp.cuda if device.is_cuda and cuda_device_count() > 1 else None


def on_graph_device(function: Function) -> Function:
    """Run ``function(graph, ...)``, a method or an operator, with the CUDA device of the graph current."""

    @wraps(function)
    def call(graph: Graph, *args: Any, **kwargs: Any) -> Any:
        cuda = graph._cuda
        if cuda is None or cuda.runtime.getDevice() == graph.device.index:
            return function(graph, *args, **kwargs)
        with graph.current_device():
            return function(graph, *args, **kwargs)

    return call  # type: ignore[return-value]


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
        in_degree_hints: the same for in-degrees.
        memory_limit: upper bound in bytes on what each store may allocate, or None.
        backend_options: passed to the backend.

    Ids are given as NumPy or CuPy arrays, lists, or anything with DLPack or the CUDA array interface, of any integer
    dtype. Arrays are returned on the graph's device. A call that fails leaves the graph as it was. On CUDA all work is
    queued in CuPy's current stream: keep to one stream, or call :meth:`synchronize` before going on in another.

    Raises:
        UnknownNameError, DeviceError, DTypeError, VertexRangeError: an argument that cannot be used.
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
        memory_limit: int | None = None,
        **backend_options: Any,
    ) -> None:
        num_vertices = _vertex_count(num_vertices)
        dtype = _weight_dtype(weight_dtype)
        _one_of("self_loops", self_loops, tuple(LOOPS))
        _one_of("checks", checks, CHECKS)
        chosen, place = _backend_and_device(backend, device)
        self.device, self._cuda = place, _switch(place)
        self._set(num_vertices, directed=directed, weight_dtype=dtype, self_loops=self_loops, checks=checks)
        out_hints = _hints(degree_hints, num_vertices, "degree_hints")
        in_hints = _hints(in_degree_hints, num_vertices, "in_degree_hints")
        self._out = self._make_store(chosen, out_hints, memory_limit, backend_options)
        self._in: Store | None = None
        if in_edges and directed:
            self._in = self._make_store(chosen, in_hints, memory_limit, backend_options)
        self._fuses = self._ingest is not None and self._in is None and self._out.takes_unvalidated

    def _set(
        self, num_vertices: int, *, directed: bool, weight_dtype: np.dtype | None, self_loops: str, checks: str
    ) -> None:
        self._num_vertices, self._version = num_vertices, 0
        self.directed, self.weight_dtype = bool(directed), weight_dtype
        self.self_loops, self.checks = self_loops, checks
        self._views: dict[str, StoreView] = {}
        self._trackers: list[weakref.ref[Tracker]] = []
        self._deleted = np.empty(0, np.uint32)  # ids that insert_vertices may give out again, ascending
        self._had_loops = False
        self._loops_at: tuple[int, int] = (-1, 0)  # version, number of self-loops then
        self._workspace: Workspace | None = None
        self._ingest = self._make_ingest()

    @on_graph_device
    def _make_store(self, backend: type[Store], hints: Any, limit: int | None, options: dict[str, Any]) -> Store:
        if hints is not None:
            hints = self.device.xp.asarray(hints) if self.device.is_cuda else on_host(hints)
        return backend(
            self._num_vertices,
            device=self.device,
            weight_dtype=self.weight_dtype,
            degree_hints=hints,
            memory_limit=limit,
            **options,
        )

    @on_graph_device
    def _make_ingest(self) -> Ingest | None:
        if not self.device.is_cuda:
            return None
        from suricate.cuda.ingest import Ingest

        return Ingest(
            self.device,
            self.weight_dtype,
            directed=self.directed,
            self_loops=self.self_loops,
            deferred=self.checks == "deferred",
        )

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def num_vertices(self) -> int:
        """Number of vertices, deleted ones included."""
        return self._num_vertices

    @property
    def num_edges(self) -> int:
        """Exact number of edges; an undirected one counts once. On CUDA reading it waits for the device."""
        self._settle()
        return self._count_edges()

    @property
    def version(self) -> int:
        """Grows by one with every call that may have changed the graph."""
        return self._version

    @property
    def has_in_edges(self) -> bool:
        """Whether in-edges can be walked."""
        return self._in is not None or not self.directed

    @property
    def deleted_vertices(self) -> np.ndarray:
        """Ids that were deleted and not given out again, ascending, ``uint32``, on the host."""
        return self._deleted.copy()

    @property
    def backend(self) -> str:
        """Name of the storage backend."""
        return self._out.name

    @property
    def workspace(self) -> Workspace:
        """Scratch arrays that operators keep between calls."""
        if self._workspace is None:
            from suricate.structures.workspace import Workspace

            self._workspace = Workspace(self.device)
        return self._workspace

    def store(self, direction: str = "out") -> Store:
        """Return the store of out- or in-edges (an undirected graph has one for both)."""
        return self._store(direction)

    def view(self, direction: str = "out") -> StoreView:
        """Return the arrays of a store for kernels; valid until the graph changes.

        Raises:
            RequirementError: ``"in"``, and the graph keeps no in-edges.
        """
        view = self._views.get(direction)
        return self._new_view(direction) if view is None else view

    @on_graph_device
    def _new_view(self, direction: str) -> StoreView:
        mirrored = direction == "in" and not self.directed
        view = self._views[direction] = self.view("out") if mirrored else self._store(direction).view()
        return view

    def capabilities(self) -> dict[str, str]:
        """Return ``{operation: "native" | "fallback"}`` of the graph's backend."""
        return type(self._out).capabilities()

    def __repr__(self) -> str:
        parts = [f"{self._num_vertices} vertices", f"{self._count_edges()} edges"]
        parts.append("directed" if self.directed else "undirected")
        parts.append("unweighted" if self.weight_dtype is None else f"{self.weight_dtype} weights")
        parts += ["in-edges"] if self._in is not None else []
        return f"<Graph: {', '.join(parts)}; {self.backend} on {self.device}, version {self._version}>"

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
        if batch.delete is None or batch.insert is None:
            return self._update(batch.delete, batch.insert)
        return self._update(batch.delete, batch.insert, parts=(1, 2))

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
        count = _vertex_count(count, "count")
        old = self._recyclable()[:count] if recycle else self._deleted[:0]
        before, after = self._num_vertices, self._num_vertices + count - len(old)
        if after > MAX_VERTICES:
            raise VertexRangeError(f"{after} vertices are too many: there are {MAX_VERTICES} ids")
        ids = self.device.xp.asarray(np.concatenate((old, np.arange(before, after, dtype=np.uint32))))
        if not count:
            return ids
        if after > before:
            for store in self._stores():
                store.resize(after)
        self._num_vertices = after
        self._deleted = np.setdiff1d(self._deleted, old, assume_unique=True)
        self._changed(self._delta((before, after)))
        return ids

    @on_graph_device
    def delete_vertices(self, ids: Any) -> Delta:
        """Delete vertices with all their edges, in both directions; the delta lists those edges.

        The ids stay valid, as vertices without edges, until ``insert_vertices(recycle=True)`` gives them out again. A
        directed graph without in-edges finds the edges that lead to them by one pass over all edges. Waits.

        Raises:
            VertexRangeError, DTypeError, ShapeError: ids that cannot be used.
        """
        self._settle()
        host = np.unique(checked_ids(on_host(as_ids(ids, "ids")), self._num_vertices, "ids"))
        same = (self._num_vertices, self._num_vertices)
        if not len(host):
            return self._delta(same)
        vertices = self.device.xp.asarray(host)
        away, towards = self._incident(vertices)
        try:
            self._cut(vertices, away, towards)
        except MemoryError:
            self._put_back(_join(self.device.xp, away, towards))
            raise
        self._deleted = np.union1d(self._deleted, host)
        deleted = self._deleted_edges(away, towards, vertices)
        return self._changed(self._delta(same, deleted=deleted, deleted_vertices=vertices))

    # -- questions -----------------------------------------------------------------------------------------------------

    @on_graph_device
    def has_edges(self, src: Any, dst: Any) -> Array:
        """Return ``bool[n]``: which of the edges are there. Raises as :meth:`insert_edges` does."""
        return self._find(src, dst)[0]

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
        if self.weight_dtype.kind == "f":  # NaN and infinities may stand for absent edges
            absent = self.weight_dtype.type(np.nan if default is None else default)
        else:
            absent = as_weights(0 if default is None else default, self.weight_dtype, "default")
        found, weight = self._find(src, dst)
        return self.device.xp.where(found, weight, absent)

    @on_graph_device
    def degrees(self, direction: str = "out") -> Array:
        """Return ``uint32[num_vertices]``, a copy: out- or in-degrees. A self-loop counts once.

        Raises:
            RequirementError: ``"in"``, and the graph keeps no in-edges.
        """
        return self._store(direction).degrees()

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
        self._settle()
        store = self._store(direction)
        ids = checked_ids(on_host(as_ids(vertices, "vertices")), self._num_vertices, "vertices")
        return store.adjacency(self.device.xp.asarray(ids))

    @on_graph_device
    def edges(self) -> EdgeList:
        """Return all edges, ordered by source, in arrays of their own; undirected ones once, ``src <= dst``. Waits."""
        self._settle()
        return self._once(self._out.edges())

    @on_graph_device
    def mark(self) -> None:
        """Start to remember insertions, for :meth:`updated` and operators of that scheme; forgets those before."""
        for store in self._stores():
            store.mark()
        self._views.clear()

    @on_graph_device
    def updated(self) -> EdgeList:
        """Return the edges inserted since :meth:`mark` that are still there; all edges without a mark. Waits.

        An edge that was there at the mark, was deleted and came back may be left out.
        """
        self._settle()
        return self._once(self._out.updated())

    @on_graph_device
    def memory_usage(self) -> MemoryUsage:
        """Return bytes used and allocated, by part and in all, and bytes allocated per edge. Waits."""
        self._settle()
        names = ("out", "in")
        parts = {
            f"{names[i]}.{part}": size
            for i, store in enumerate(self._stores())
            for part, size in store.memory().items()
        }
        used, allocated = (sum(size[k] for size in parts.values()) for k in (0, 1))
        edges = self._count_edges()
        return MemoryUsage(parts, used, allocated, allocated / edges if edges else float("nan"))

    @on_graph_device
    def check(self) -> None:
        """Verify every invariant on the CPU: of each store, and between them.

        Raises:
            CheckFailed: naming the invariant that does not hold.
        """
        self._settle()
        for store in self._stores():
            require(store.num_vertices == self._num_vertices, "stores and graph have the same number of vertices")
            store.check()
        arcs = _sorted(self._host(self._out.edges()))
        if not self.directed:
            _same_edges(arcs, _sorted(EdgeList(arcs.dst, arcs.src, arcs.weight)), "both arcs of an edge are stored")
        if self._in is not None:
            dst, src, weight = self._host(self._in.edges())
            _same_edges(arcs, _sorted(EdgeList(src, dst, weight)), "in-edges are the out-edges turned round")
        if self.self_loops != "allow":
            require(not (arcs.src == arcs.dst).any(), f"there are no self-loops (self_loops={self.self_loops!r})")

    # -- upkeep --------------------------------------------------------------------------------------------------------

    @on_graph_device
    def reserve(self, num_edges: int) -> None:
        """Make sure that inserting any ``num_edges`` edges will not run out of memory; raises ``CapacityError`` now."""
        for store in self._stores():
            store.reserve(num_edges if self.directed else 2 * num_edges)
        self._views.clear()

    @on_graph_device
    def compact(self) -> None:
        """Flush tombstones and repack; the edges and the version stay as they are. Waits."""
        self._settle()
        for store in self._stores():
            store.compact()
        self._views.clear()

    @on_graph_device
    def synchronize(self) -> None:
        """Wait for the device; raises the first error of a deferred check."""
        self.device.synchronize()
        self._settle()

    @on_graph_device
    def to(self, device: str | Device) -> Graph:
        """Return a copy of this graph on ``device``, of the same backend and version, without trackers. Waits."""
        self._settle()
        other = object.__new__(type(self))
        place = resolve_device(device)
        other.device, other._cuda = place, _switch(place)
        other._set(
            self._num_vertices,
            directed=self.directed,
            weight_dtype=self.weight_dtype,
            self_loops=self.self_loops,
            checks=self.checks,
        )
        other._version, other._deleted, other._had_loops = self._version, self._deleted, self._saw_loops()
        other._out = self._out.copy_to(place)
        other._in = None if self._in is None else self._in.copy_to(place)
        other._fuses = other._ingest is not None and other._in is None and other._out.takes_unvalidated
        return other

    def save(self, path: str | Path) -> None:
        """Write a snapshot to ``path``, replacing a file there at once and as a whole (see ``suricate.snapshot``)."""
        from suricate.snapshot import save

        save(self, path)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: str | Device = "auto",
        backend: str | type[Store] | None = None,
        checks: str = "eager",
        memory_limit: int | None = None,
        **backend_options: Any,
    ) -> Graph:
        """Return the graph of a snapshot, on any device and backend (None: the one that wrote it, with its options).

        Raises:
            FileFormatError: the file is no snapshot, or is damaged.
        """
        from suricate.snapshot import load

        return load(
            cls, path, device=device, backend=backend, checks=checks, memory_limit=memory_limit, **backend_options
        )

    def current_device(self) -> AbstractContextManager[Any]:
        """Return a context manager inside which the graph's CUDA device is current (on the CPU it does nothing)."""
        return self.device.current()

    # -- algorithms ----------------------------------------------------------------------------------------------------

    def track(self, algorithm: Any, **params: Any) -> Tracker:
        """Compute ``algorithm`` (a name or an ``Algorithm`` class) and keep its result current from here on.

        The graph holds the tracker weakly: one that is dropped or closed costs nothing more. While there are trackers
        every change waits for the device, since its delta is read.

        Raises:
            UnknownNameError: no algorithm of this name is installed.
            RequirementError: the graph lacks what the algorithm needs.
        """
        from suricate.tracker import Tracker

        tracker = Tracker(self, algorithm, params)
        self._trackers.append(weakref.ref(tracker))
        return tracker

    @on_graph_device
    def compute(self, algorithm: Any, **params: Any) -> Any:
        """Return the result of ``algorithm`` from scratch, without keeping it. Raises as :meth:`track` does."""
        from suricate.tracker import make_algorithm

        self._settle()
        instance = make_algorithm(self, algorithm, params)
        instance.compute(self)
        return instance.result

    def restore_deleted(self, ids: Any) -> None:
        """Take ``ids`` as deleted (for readers of snapshots): ``insert_vertices(recycle=True)`` may give them out."""
        self._deleted = np.unique(checked_ids(on_host(as_ids(ids, "ids")), self._num_vertices, "ids"))

    # -- exchange with other libraries (see ``suricate.interop``) ------------------------------------------------------

    @classmethod
    def from_coo(
        cls, src: Any, dst: Any, weight: Any = None, *, num_vertices: int | None = None, **options: Any
    ) -> Graph:
        """Return a graph of the edges ``(src[i], dst[i], weight[i])``; see ``suricate.interop.from_coo``."""
        return _interop().from_coo(cls, src, dst, weight, num_vertices=num_vertices, **options)

    @classmethod
    def from_csr(cls, offsets: Any, dst: Any, weight: Any = None, **options: Any) -> Graph:
        """Return a graph of compressed rows; see ``suricate.interop.from_csr``."""
        return _interop().from_csr(cls, offsets, dst, weight, **options)

    @classmethod
    def from_scipy_sparse(cls, matrix: Any, **options: Any) -> Graph:
        """Return a graph with an edge for every stored entry; see ``suricate.interop.from_scipy_sparse``."""
        return _interop().from_scipy_sparse(cls, matrix, **options)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str | None = None, **options: Any) -> Graph:
        """Return a copy of a NetworkX graph; see ``suricate.interop.from_networkx``."""
        return _interop().from_networkx(cls, graph, weight=weight, **options)

    @classmethod
    def from_pandas_edgelist(
        cls, frame: Any, source: str = "source", target: str = "target", weight: str | None = None, **options: Any
    ) -> Graph:
        """Return a graph of the rows of a data frame; see ``suricate.interop.from_pandas_edgelist``."""
        return _interop().from_pandas_edgelist(cls, frame, source, target, weight, **options)

    @classmethod
    def from_edge_index(cls, edge_index: Any, num_vertices: int, weight: Any = None, **options: Any) -> Graph:
        """Return a graph of a PyTorch Geometric ``edge_index``; see ``suricate.interop.from_edge_index``."""
        return _interop().from_edge_index(cls, edge_index, num_vertices, weight, **options)

    def to_coo(self) -> EdgeList:
        """Return all edges, an undirected one once; the same as :meth:`edges`."""
        return self.edges()

    def to_csr(self) -> Adjacency:
        """Return compressed rows (both directions of undirected edges), on the graph's device."""
        return _interop().to_csr(self)

    def to_scipy_sparse(self) -> Any:
        """Return a ``scipy.sparse.csr_array``: the weights, or ones (float64)."""
        return _interop().to_scipy_sparse(self)

    def to_networkx(self) -> Any:
        """Return a ``networkx.Graph`` or ``DiGraph`` with the vertex ids as nodes."""
        return _interop().to_networkx(self)

    def to_pandas_edgelist(self, source: str = "source", target: str = "target", weight: str = "weight") -> Any:
        """Return a ``pandas.DataFrame`` with one row per edge."""
        return _interop().to_pandas_edgelist(self, source, target, weight)

    def to_edge_index(self) -> tuple[Array, Array | None]:
        """Return ``(int64[2, arcs], weights or None)`` as PyTorch Geometric has it (both directions if undirected)."""
        return _interop().to_edge_index(self)

    # -- inside: a batch, from the caller's arrays to the stores -------------------------------------------------------

    def _update(self, delete: Given | None, insert: Given | None, parts: tuple[int, int] = (0, 0)) -> Delta:
        cuda, ingest, eager = self._cuda, self._ingest, self.checks == "eager" or bool(self._trackers)
        # What on_graph_device() does, without the further call: every small batch would feel that.
        if cuda is not None and cuda.runtime.getDevice() != self.device.index:
            with self.current_device():
                return self._update(delete, insert, parts)
        if ingest is not None:
            ingest.begin(self._num_vertices, self._version, eager)
        change = self._fused_change(delete, insert)
        if change is None:
            delete = None if delete is None else self._arrays(delete, parts[0])
            insert = None if insert is None else self._arrays(insert, parts[1], inserting=True)
            change = self._fused_change(delete, insert)
        if change is None or change is False:
            return self._update_checked(delete, insert, parts, eager)
        self._views.clear()
        same = (self._num_vertices, self._num_vertices)
        delta = self._delta(same, change) if insert is None else self._delta(same, None, change)
        if eager and ingest is not None:
            ingest.settle(answered=True)
        return self._changed(delta)

    def _fused_change(self, delete: Given | None, insert: Given | None) -> Any:
        """Validate and apply a batch in one launch; see ``Ingest.fused`` for what is returned."""
        if not self._fuses:
            return None
        assert self._ingest is not None
        if delete is None:
            return None if insert is None else self._ingest.fused(self._out, "insert", insert)
        return self._ingest.fused(self._out, "delete", delete) if insert is None else None

    def _update_checked(self, delete: Given | None, insert: Given | None, parts: tuple[int, int], eager: bool) -> Delta:
        """Check and copy both halves of a batch, then change the stores."""
        ingest = self._ingest
        removed = None if delete is None else self._take(delete, parts[0])
        added = None if insert is None else self._take(insert, parts[1], inserting=True)
        same = (self._num_vertices, self._num_vertices)
        if removed is None and added is None:
            return self._delta(same)
        guard = None
        if ingest is not None and ingest.used:
            if self._out.guarded:
                guard = ingest.guard
            else:
                ingest.settle()
        try:
            gone, new = self._mutate(removed, added, guard)
        except MemoryError:
            self._settle()  # if the batch is bad as well, say that
            raise
        if guard is not None and eager:
            self._settle()
        return self._changed(self._delta(same, removed=gone, added=new))

    def _arrays(self, edges: Given, part: int, *, inserting: bool = False) -> Given | None:
        """Return a batch as arrays of fitting dtypes and lengths, entries not yet checked; None if it is empty.

        On CUDA all of them are on the device then, or all on the host.
        """
        names, (src, dst, weight) = ARGUMENTS[part], edges
        src, dst = as_ids(src, names[0]), as_ids(dst, names[1])
        weight = as_weights(weight, self.weight_dtype, names[2]) if inserting else None
        if not same_length(src, dst, weight, PARTS[part]):
            return None
        if self._ingest is None or _on_host((src, dst, weight)):
            return src, dst, weight
        return self._ingest.place(src, dst, weight)

    def _take(self, edges: Given, part: int, *, inserting: bool = False, query: bool = False) -> EdgeList | None:
        """Return checked copies of a batch as the out-store takes them, None if nothing is left of it."""
        prefix, (src, dst, weight) = PARTS[part], edges
        mirror = not self.directed and not query
        if self._ingest is not None and not _on_host(edges):
            return self._take_on_device(edges, part, inserting=inserting, mirror=mirror)
        src = checked_ids(on_host(src), self._num_vertices, f"{prefix}src")
        dst = checked_ids(on_host(dst), self._num_vertices, f"{prefix}dst")
        if weight is not None:
            dtype = self.weight_dtype
            assert dtype is not None
            many = bool(weight.ndim)
            weight = checked_weights(on_host(weight), dtype, f"{prefix}weight") if many else np.full(len(src), weight)
        if inserting and (self.self_loops != "allow" or mirror):
            src, dst, weight = self._heed_loops(EdgeList(src, dst, weight), prefix)
            if not len(src):
                return None
        xp = self.device.xp
        if self._ingest is not None:
            src, dst, weight = xp.asarray(src), xp.asarray(dst), None if weight is None else xp.asarray(weight)
        return EdgeList(*mirrored(xp, src, dst, weight)) if mirror else EdgeList(src, dst, weight)

    def _heed_loops(self, edges: EdgeList, prefix: str) -> EdgeList:
        """Apply the self-loop policy to a host batch."""
        loops = edges.src == edges.dst
        if not loops.any():
            return edges
        if self.self_loops == "error":
            at = int(np.argmax(loops))
            raise SelfLoopError(loop_message(prefix, at, int(edges.src[at])))
        if self.self_loops == "drop":
            return _take_where(edges, ~loops)
        self._had_loops = True
        return edges

    def _take_on_device(self, edges: Given, part: int, *, inserting: bool, mirror: bool) -> EdgeList | None:
        ingest = self._ingest
        assert ingest is not None
        if not inserting or self.self_loops != "drop":
            return ingest.take(*edges, part=part, mirrored=mirror, loops=ingest.loops if inserting else 0)
        # How many edges stay must be known on the host before the store can be called, so this policy waits.
        taken = ingest.take(*edges, part=part)
        ingest.settle()
        taken = _take_where(taken, taken.src != taken.dst)
        if not len(taken.src):
            return None
        return EdgeList(*mirrored(self.device.xp, *taken)) if mirror else taken

    def _mutate(
        self, removed: EdgeList | None, added: EdgeList | None, guard: Array | None
    ) -> tuple[Change | None, Change | None]:
        """Delete, then insert, in both stores; all of it or nothing."""
        out, inn, mirror = self._out, self._in, not self.directed
        self._views.clear()  # even a batch that fails may make a store grow, into other arrays
        if added is not None and (inn is not None or removed is not None):
            for store in self._stores():
                store.reserve(len(added.src))
        gone = new = None
        try:
            if removed is not None:
                gone = Change(removed, out.delete(removed.src, removed.dst, guard=guard), mirror)
                if inn is not None:
                    inn.delete(removed.dst, removed.src, guard=guard)
            if added is not None:
                new = Change(added, out.insert(*added, guard=guard), mirror)
                if inn is not None:
                    inn.insert(added.dst, added.src, added.weight, guard=guard)
        except MemoryError:
            self._undo(gone, new)
            raise
        return gone, new

    def _undo(self, gone: Change | None, new: Change | None) -> None:
        """Take back what :meth:`_mutate` did before a store ran out of memory."""
        xp = self.device.xp
        if new is not None:  # then only the insertion of in-edges failed
            (edges, (status, old), _) = new
            fresh = _take_at(edges, xp.flatnonzero(status == NEW))
            self._out.delete(fresh.src, fresh.dst)
            if old is not None:
                at = xp.flatnonzero(status == REPLACED)
                self._out.insert(edges.src[at], edges.dst[at], old[at])
        if gone is not None:
            (edges, (status, old), _) = gone
            self._put_back(_take_at(edges._replace(weight=old), xp.flatnonzero(status == REMOVED)))

    def _cut(self, vertices: Array, away: EdgeList, towards: EdgeList) -> None:
        """Delete the arcs of ``vertices`` in both stores."""
        if len(towards.src):
            self._out.delete(towards.src, towards.dst)
        self._out.delete_vertices(vertices)
        if self._in is None:
            return
        outside = _take_where(away, ~self._member(vertices)[away.dst])
        if len(outside.src):
            self._in.delete(outside.dst, outside.src)
        self._in.delete_vertices(vertices)

    def _put_back(self, arcs: EdgeList) -> None:
        self._out.insert(*arcs)
        if self._in is not None:
            self._in.insert(arcs.dst, arcs.src, arcs.weight)

    def _delta(
        self,
        num_vertices: tuple[int, int],
        removed: Change | Callable[[], Change] | None = None,
        added: Change | Callable[[], Change] | None = None,
        deleted: EdgeList | None = None,
        deleted_vertices: Array | None = None,
    ) -> Delta:
        wait = self._settle if self.checks == "deferred" and self._ingest is not None else None
        return Delta(
            self.device,
            self.directed,
            self.weight_dtype,
            num_vertices,
            removed,
            added,
            deleted,
            deleted_vertices,
            wait,
        )

    def _changed(self, delta: Delta) -> Delta:
        """Step the version and bring the trackers up to date."""
        self._version += 1
        self._views.clear()
        if self._trackers:
            from suricate.tracker import advance_all

            self._trackers = advance_all(self._trackers, delta)
        return delta

    @on_graph_device
    def _settle(self) -> None:
        if self._ingest is not None:
            self._ingest.settle()

    # -- inside: questions ---------------------------------------------------------------------------------------------

    def _find(self, src: Any, dst: Any) -> tuple[Array, Array | None]:
        ingest = self._ingest
        if ingest is not None:
            ingest.begin(self._num_vertices, self._version)
        fuses = ingest is not None and self._out.takes_unvalidated
        edges: Given = (src, dst, None)
        answer = None if ingest is None or not fuses else ingest.fused(self._out, "find", edges)
        if answer is None:
            arrays = self._arrays(edges, 0)
            if arrays is None:
                empty = self.device.xp.empty
                return empty(0, bool), None if self.weight_dtype is None else empty(0, self.weight_dtype)
            edges = arrays
            answer = None if ingest is None or not fuses else ingest.fused(self._out, "find", edges)
        if answer is None or answer is False:
            taken = self._take(edges, 0, query=True)
            assert taken is not None
            answer = self._out.find(taken.src, taken.dst)
        if ingest is not None and ingest.used and self.checks == "eager":
            ingest.settle()
        return answer

    def _stores(self) -> tuple[Store, ...]:
        return (self._out,) if self._in is None else (self._out, self._in)

    def _store(self, direction: str) -> Store:
        if direction == "out" or (direction == "in" and not self.directed):
            return self._out
        if direction != "in":
            raise UnknownNameError(f"unknown direction {direction!r}: use 'out' or 'in'")
        if self._in is None:
            raise RequirementError("the graph keeps no in-edges: build it with Graph(..., in_edges=True)")
        return self._in

    def _once(self, arcs: EdgeList) -> EdgeList:
        return arcs if self.directed else _take_where(arcs, arcs.src <= arcs.dst)

    @on_graph_device
    def _count_edges(self) -> int:
        arcs = self._out.num_edges
        return arcs if self.directed else (arcs + self._count_loops()) // 2

    def _count_loops(self) -> int:
        if not self._saw_loops():
            return 0
        if self._loops_at[0] != self._version:
            vertices = self.device.xp.arange(self._num_vertices, dtype=np.uint32)
            self._loops_at = self._version, int(self._out.find(vertices, vertices)[0].sum())
        return self._loops_at[1]

    def _saw_loops(self) -> bool:
        if self._ingest is not None and not self._had_loops:
            self._ingest.look()
            self._had_loops = self._ingest.has_loops
        return self._had_loops

    def _member(self, vertices: Array) -> Array:
        member = self.device.xp.zeros(self._num_vertices, bool)
        member[vertices] = True
        return member

    def _incident(self, vertices: Array) -> tuple[EdgeList, EdgeList]:
        """Return the arcs that leave ``vertices``, and those that lead to them from other vertices."""
        member = self._member(vertices)
        away = self._arcs_of(self._out, vertices)
        if not self.directed:
            towards = EdgeList(away.dst, away.src, away.weight)
        elif self._in is not None:
            dst, src, weight = self._arcs_of(self._in, vertices)
            towards = EdgeList(src, dst, weight)
        else:
            towards = self._out.edges()
            towards = _take_where(towards, member[towards.dst])
        return away, _take_where(towards, ~member[towards.src])

    def _arcs_of(self, store: Store, vertices: Array) -> EdgeList:
        xp = self.device.xp
        offsets, dst, weight = store.adjacency(vertices)
        owner = xp.searchsorted(offsets, xp.arange(len(dst)), side="right") - 1
        return EdgeList(vertices[owner], dst, weight)

    def _deleted_edges(self, away: EdgeList, towards: EdgeList, vertices: Array) -> EdgeList:
        xp = self.device.xp
        if self.directed:
            return _join(xp, away, towards)
        once = ~self._member(vertices)[away.dst] | (away.src <= away.dst)
        src, dst, weight = _take_where(away, once)
        return EdgeList(xp.minimum(src, dst), xp.maximum(src, dst), weight)

    def _recyclable(self) -> np.ndarray:
        ids = self._deleted
        if not len(ids):
            return ids
        self._settle()
        vertices = self.device.xp.asarray(ids)
        busy = self._out.degrees()[vertices] > 0
        if self._in is not None:
            busy |= self._in.degrees()[vertices] > 0
        elif self.directed:
            busy |= self._member(self._out.edges().dst)[vertices]
        return ids[~self.device.to_numpy(busy)]

    def _host(self, arcs: EdgeList) -> EdgeList:
        return EdgeList(*(None if part is None else self.device.to_numpy(part) for part in arcs))


def _interop() -> Any:
    from suricate import interop

    return interop


def _on_host(edges: Given) -> bool:
    src, dst, weight = edges
    if not isinstance(src, np.ndarray) or not isinstance(dst, np.ndarray):
        return False
    return weight is None or isinstance(weight, (np.ndarray, np.generic))


def _take_at(edges: EdgeList, at: Array) -> EdgeList:
    return EdgeList(edges.src[at], edges.dst[at], None if edges.weight is None else edges.weight[at])


def _sorted(arcs: EdgeList) -> EdgeList:
    return _take_at(arcs, np.argsort(edge_keys(arcs.src, arcs.dst)))


def _take_where(edges: EdgeList, mask: Array) -> EdgeList:
    """Return the edges where ``mask`` holds; on CUDA this waits."""
    return _take_at(edges, mask)


def _join(xp: Any, one: EdgeList, other: EdgeList) -> EdgeList:
    return EdgeList(*(None if a is None else xp.concatenate((a, b)) for a, b in zip(one, other, strict=True)))


def _same_edges(one: EdgeList, other: EdgeList, invariant: str) -> None:
    for a, b in zip(one, other, strict=True):
        require(a is b or np.array_equal(a, b), invariant)


def _one_of(argument: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UnknownNameError(f"{argument}={value!r} is unknown: use one of {', '.join(map(repr, choices))}")


def _vertex_count(count: Any, argument: str = "num_vertices") -> int:
    try:
        number = operator.index(count)
    except TypeError:
        raise DTypeError(f"{argument} is {count!r}: pass an integer") from None
    if not 0 <= number <= MAX_VERTICES:
        raise VertexRangeError(f"{argument} is {number}: it must be 0 to {MAX_VERTICES}")
    return number


def _weight_dtype(weight_dtype: Any) -> np.dtype | None:
    if weight_dtype is None:
        return None
    names = ", ".join(dtype.name for dtype in WEIGHT_DTYPES)
    try:
        dtype = np.dtype(weight_dtype)
    except TypeError:
        raise DTypeError(f"weight_dtype {weight_dtype!r} is no dtype: use None or one of {names}") from None
    if dtype not in WEIGHT_DTYPES:
        raise DTypeError(f"weight_dtype {dtype} is not supported: use None or one of {names}")
    return dtype


def _hints(hints: Any, num_vertices: int, argument: str) -> Any:
    if hints is None:
        return None
    array = as_ids(hints, argument)
    if len(array) != num_vertices:
        raise ShapeError(f"{argument} has {len(array)} entries for {num_vertices} vertices: pass one per vertex")
    return array


def _backend_and_device(backend: str | type[Store] | None, device: str | Device) -> tuple[type[Store], Device]:
    from suricate import plugins

    place = resolve_device(device)
    if backend is None:
        chosen = plugins.default_backend(place)
    elif isinstance(backend, type) and issubclass(backend, Store):
        chosen = backend
    else:
        chosen = plugins.backend(backend)
    if place.kind not in chosen.devices:
        if device != "auto":
            raise DeviceError(f"backend {chosen.name!r} runs on {', '.join(chosen.devices)}, not on {place}")
        place = resolve_device(chosen.devices[0])
    return chosen, place
