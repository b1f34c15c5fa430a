"""The class Graph: public methods and their docstrings; other modules do the work.

A graph owns one store, or two if in-edges are kept. ``options`` validates its options, and ``update`` changes the
stores. Views for kernels, trackers, and the lock that admits one thread at a time are kept here.
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np

from suricate.base import renamed
from suricate.base.devices import DeviceLike, ReturnedArray
from suricate.base.errors import ParameterError, RequirementError, UnknownNameError
from suricate.base.parameters import flag, shown
from suricate.base.progress import working
from suricate.base.types import Checks, EdgeList, SelfLoops, StoreView, WeightDType
from suricate.graph import edge_columns, inspection, interop, lookups, naming, snapshot
from suricate.graph.ahead import rehearse_updates
from suricate.graph.delta import Batch, Delta
from suricate.graph.delta.column_delta import shown_delta
from suricate.graph.delta.frame import frame_of
from suricate.graph.edge_columns.weighing import advance_weighed, with_weights
from suricate.graph.exchange import arrow, igraph, networkit, networkx, pyg
from suricate.graph.inspection import most_arcs, share_limit
from suricate.graph.interface import hints, html, making, running
from suricate.graph.interface.hints import PAIRS
from suricate.graph.liveness import deleted_vertices, live, live_arrays, live_vertices, most_deleted, num_live
from suricate.graph.options import GraphOptions, checked_count, choose_backend
from suricate.graph.stores import Division, demand_comm, divided
from suricate.graph.tracker import Kept, advance_all
from suricate.graph.update import Updater
from suricate.intake.arrays import picked
from suricate.intake.ingest import Ingest
from suricate.intake.names import Names
from suricate.state.edge_table import EdgeTable
from suricate.state.locks import Lock, capacity_error, graph_lock, on_graph_device
from suricate.state.objects import Objects
from suricate.state.workspace import Workspace
from suricate.store import Store

if TYPE_CHECKING:
    from suricate.comm.protocol import Comm
    from suricate.graph.interface.calls import Compute, Track

BULK = 1 << 20  #: edges of a batch that may take seconds


class Graph(hints.Hinted):
    """A dynamic graph on one device.

    Args:
        num_vertices: number of vertices; ids are 0 to ``num_vertices - 1``.
        backend: name of a storage backend, a ``Store`` class, or None for the default backend.
        device: ``"auto"`` (CUDA if there is a device), ``"cpu"``, ``"cuda"`` or ``"cuda:N"``.
        directed: whether ``(u, v)`` and ``(v, u)`` are different edges.
        weight_dtype: ``"float32"``, ``"float64"``, ``"int32"``, ``"uint32"``, or None for an unweighted graph.
        in_edges: whether a directed graph keeps in-edges too, in a second store (an undirected one always has them).
        self_loops: how inserted self-loops are treated: ``"allow"``; ``"drop"``: ignore them (on CUDA an insertion then
            waits for the device); ``"error"``: refuse the batch.
        checks: when invalid device arrays (batches, ids for operators) raise. ``"eager"``: in the call, which waits
            until the device has checked them or has finished. ``"deferred"``: in the next call that waits anyway
            (:meth:`synchronize`, at the latest). An invalid batch changes nothing in either case. Host arrays are
            checked in the call, and so is every batch for a backend without guarded kernels (``Store.guarded``).
        degree_hints, in_degree_hints: expected out- and in-degrees, ``int[num_vertices]``; hints, not limits.
        memory_limit: the most bytes that the graph may have allocated at any time, also as text (``"1.5GB"``,
            ``"512MiB"``), or None: edges, vertices, columns, and both copies of what grows. Not counted: names
            (``Names.memory_usage()``), texts in columns besides 8 bytes each, trackers, results, and the scratch memory
            of a call. Deletions are never refused, and to undo a change that failed it may allocate more for a moment.
        threads: maximum number of threads for loops on the CPU, 1 to 1024; None: ``SURICATE_THREADS``, else all cores.
        comm: communication with the processes among which the edges are divided (``suricate.parallel``); None: there is
            only this one. Else all processes make the same calls; a batch is the parts that they pass, in rank order.
        names: :attr:`names`: ``Names``, or the name of each vertex, in order; the graph has at least as many vertices.
        edge_columns: :attr:`edge_columns`: their dtypes by name (``str`` for texts), or ``(dtype, missing value)``; a
            ``weight_dtype`` becomes that of a column ``weight``.
        backend_options: passed to the backend.

    Ids are given as NumPy or CuPy arrays, lists, or anything with DLPack or the CUDA array interface, of any integer
    dtype. Arrays are returned on the graph's device. A call that fails leaves the graph as it was.

    Several threads may use a graph: its calls, operators and trackers included, run one after the other. On CUDA all
    work is queued in CuPy's current stream; a thread first waits for the work that another thread has queued. Within a
    thread use one stream, or call :meth:`synchronize` before you change streams.

    ``copy.copy``, ``copy.deepcopy`` and ``pickle`` make an independent graph of the same edges, version and options,
    without trackers; a pickled graph is loaded on the kind of device that it was on.

    Raises:
        ParameterError, UnknownNameError, DeviceError, DTypeError, VertexRangeError: an argument is invalid.
        CapacityError: there is not enough memory.

    Example:
        >>> g = su.Graph(4, weight_dtype="float32", device="cpu")
        >>> delta = g.insert_edges([0, 0, 1], [1, 2, 2], [1.0, 4.0, 2.0])
        >>> g.num_edges, g.neighbors(0).tolist()
        (3, [1, 2])
        >>> g.compute("sssp", source=0).distance.tolist()
        [0.0, 1.0, 3.0, inf]
    """

    def __init__(  # noqa: PLR0913 - what a user may choose, by keyword; GraphOptions holds it from here on
        self,
        num_vertices: int = 0,
        *,
        backend: str | type[Store] | None = None,
        device: DeviceLike = "auto",
        directed: bool = True,
        weight_dtype: WeightDType = None,
        in_edges: bool = False,
        self_loops: SelfLoops = "allow",
        checks: Checks = "eager",
        degree_hints: Any = None,
        in_degree_hints: Any = None,
        memory_limit: int | str | None = None,
        threads: int | None = None,
        names: Any = None,
        edge_columns: Any = None,
        comm: Comm | None = None,
        **backend_options: Any,
    ) -> None:
        demand_comm(comm)
        with nullcontext() if comm is None else comm.alike():
            chosen, place = choose_backend(backend, device if comm is None else comm.place(device))
            kinds = weight_dtype, in_edges, self_loops, checks, memory_limit, backend_options, threads
            options = GraphOptions(chosen, directed, *kinds, {} if edge_columns is None else edge_columns)  # type: ignore[arg-type]
            known = names if names is None or isinstance(names, Names) else Names.of(names)
            count = max(checked_count(num_vertices), 0 if known is None else known.num_ids)
        hints, make = (degree_hints, in_degree_hints), partial(options.make_stores, count, place)
        stores, partition = divided(self, comm, options, make, hints, count)
        self._assemble(options, stores, partition)
        self.names = known

    def _assemble(self, options: GraphOptions, stores: tuple[Store, ...], partition: Division | None = None) -> None:
        """Initialise this graph over ``stores`` of one device and size; ``partition``: None or how it is divided."""
        self.partition = partition  #: how edges are divided among processes, None in most graphs
        self._options, self._stores, self.device = options, stores, stores[0].device
        self._has_in_edges = len(stores) > 1 or not options.directed
        self.workspace = Workspace(self.device)  #: scratch arrays that operators keep between calls
        self._lock: Lock = graph_lock(self.device, options.threads, self)
        with self._lock:
            self.ingest = Ingest(self.device, options) if self.device.is_cuda else None  #: checks arrays on the device
        updater = partial(Updater, stores) if partition is None else partition.updater
        self._updater = updater(options, self.ingest, self._lock)
        self._views: dict[str, StoreView] = {}
        self._walked: Any = None  # None, or a function that makes what operators walk of the view of a store
        self._names: Any = None  # ``names``, or a function that makes them
        self._objects: Objects | None = None
        self._columns = self._updater.live.columns  #: of vertices
        kinds, table = options.edge_columns, EdgeTable if partition is None else partition.edge_table
        self.edge_table = table(self.device, kinds) if kinds else None  #: rows of edges, None without columns
        self._shown = with_weights(stores, self.edge_table)  # those that users see
        self.reserved: np.ndarray | None = None  #: vertices that parameters may name although they are not live
        self.weight_scale: float | None = None  #: by what stored weights are multiplied, if their window decays
        self.owner: object = None  #: what alone may change edges and vertices, as a window; None: everybody
        self._weighings: dict[str | None, Graph] = {}  # the graph as algorithms see it, by the column that they use
        self._kept: WeakValueDictionary[Hashable, Kept] = WeakValueDictionary()  # by algorithm and parameters
        share_limit(self, options.memory_limit)
        if partition is None and self._rehearses:
            rehearse_updates(self)

    # -- what it is ----------------------------------------------------------------------------------------------------

    # read many times in every call, without a call of Python
    num_vertices: int = property(  # type: ignore[assignment]
        attrgetter("_updater.num_vertices"), doc="Number of vertices, deleted ones included."
    )
    version: int = property(  # type: ignore[assignment]
        attrgetter("_updater.version"), doc="Grows by one with every call that may have changed the graph."
    )
    directed: bool = property(  # type: ignore[assignment]
        attrgetter("_options.directed"), doc="Whether ``(u, v)`` and ``(v, u)`` are different edges."
    )
    weight_dtype: np.dtype | None = property(  # type: ignore[assignment]
        attrgetter("_options.weight_dtype"), doc="Dtype of the weights, None for an unweighted graph."
    )

    @property
    @on_graph_device
    def num_edges(self) -> int:
        """Exact number of edges; an undirected one counts once. On CUDA reading it waits for the device."""
        self._updater.raise_found()
        return self._updater.count_edges()

    @property
    @on_graph_device
    def num_arcs(self) -> int:
        """Exact number of arcs: an undirected edge has two, its self-loop one. On CUDA reading it waits."""
        self._updater.raise_found()
        return self._updater.count_arcs()

    self_loops = property(lambda self: self._options.self_loops, doc="How self-loops are treated, see ``Graph``.")

    checks = property(lambda self: self._options.checks, doc="When invalid device batches raise, see ``Graph``.")

    has_in_edges: bool = property(  # type: ignore[assignment]
        attrgetter("_has_in_edges"), doc="Whether operators can walk in-edges."
    )

    most_arcs = property(most_arcs)
    live = property(live)
    live_arrays = property(live_arrays)
    num_live = property(num_live)
    names = property(naming.names, naming.set_names)
    objects = property(naming.objects, naming.set_objects)
    columns = property(naming.columns)
    edge_columns = property(edge_columns.edge_columns)
    walks_rows = False  #: whether weights are rows, as functions that take a ``row`` see the graph
    _events: Any = None  #: the view of events that this is, whose edges have a number; None: a graph
    _rehearses = True  #: whether what batches need is compiled ahead
    live_vertices = property(live_vertices)
    deleted_vertices = property(deleted_vertices)
    most_deleted = property(most_deleted)

    backend = property(lambda self: self._stores[0].name, doc="Name of the storage backend.")
    options = property(lambda self: self._options, doc="The options that the graph was made with, a ``GraphOptions``.")

    @renamed.keywords(direction="over=")
    def store(self, over: str = "out") -> Store:
        """Return the store of out- or in-edges (an undirected graph has one for both).

        Calls on a store itself are not serialised: use :meth:`exclusive` if several threads use the graph.

        Raises:
            RequirementError: ``"in"``, and the graph keeps no in-edges.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> g.store().num_edges
            2
        """
        if not isinstance(over, str) or over not in ("out", "in"):
            raise UnknownNameError(f"over={shown(over)}: use 'out' or 'in'")
        if over == "out" or not self.directed:
            return self._shown[0]
        if len(self._shown) == 1:
            raise RequirementError("the graph keeps no in-edges: build it with Graph(..., in_edges=True)")
        return self._shown[1]

    @renamed.keywords(direction="over=")
    def view(self, over: str = "out") -> StoreView:
        """Return the arrays of a store for kernels; valid until the graph changes.

        Raises:
            RequirementError: ``"in"``, and the graph keeps no in-edges.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> g.view().num_vertices
            3
        """
        view = self._views.get(over) if isinstance(over, str) else None
        return self._new_view(over) if view is None else view

    def _new_view(self, over: str) -> StoreView:
        try:  # as on_graph_device() does: every batch makes views anew
            with self._lock:
                if isinstance(over, str) and over == "in" and not self.directed:
                    return self._views.setdefault("in", self._views.get("out") or self.view("out"))
                is_known = isinstance(over, str) and over in ("out", "in")[: len(self._shown)]
                store = self._shown[over == "in"] if is_known else self.store(over)
                view = store.view()
                return self._views.setdefault(over, self._walked(view) if self._walked else view)
        except MemoryError as error:
            raise capacity_error(self.device, error) from error

    def capabilities(self) -> dict[str, str]:
        """Return ``{operation: "native" | "fallback"}`` of the graph's backend.

        Example:
            >>> su.Graph(2, device="cpu").capabilities()["insert"]
            'native'
        """
        return type(self._stores[0]).capabilities()

    def exclusive(self) -> Lock:
        """Return a context manager: inside it other threads wait for the graph, and its CUDA device is current.

        It is reentrant: the thread that holds it may enter it again, as every call on the graph does.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> with g.exclusive():
            ...     print(g.num_edges, g.degree(0))
            2 1
        """
        return self._lock

    def alike(self) -> AbstractContextManager[None]:
        """Return a context for checks of arguments; on a graph of several processes an error in it is raised on all."""
        return nullcontext() if self.partition is None else self.partition.comm.alike()

    @on_graph_device
    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        parts = [f"{self.num_vertices} vertices", f"{self._updater.count_edges()} edges", kind]
        parts.append("unweighted" if self.weight_dtype is None else f"{self.weight_dtype} weights")
        parts += ["in-edges"] if len(self._stores) > 1 else []
        return f"<Graph: {', '.join(parts)}; {self.backend} on {self.device}, version {self.version}>"

    _repr_html_ = html.of_graph
    __dir__ = hints.names_of

    # -- changes -------------------------------------------------------------------------------------------------------

    def insert_edges(self, src: Any, dst: Any = PAIRS, weight: Any = None) -> Delta:
        """Insert edges; an existing edge takes the new weight. Of duplicates in the batch the last weight wins.

        Args:
            src: ids, ``n``; or names that are texts: if the graph has names, those that are new, and vertices for them,
                are added by the same change.
            dst: likewise.
            weight: ``n`` numbers, or one for all; required on a weighted graph. A float dtype takes every number that
                stays finite, rounded to the nearest; an integer dtype takes whole numbers in its range. If edges have
                columns: ``{name: values}``; the edges get the missing value of other columns.

        Raises:
            VertexRangeError, DTypeError, WeightError, SelfLoopError, DeviceError: the batch is invalid.
            CapacityError: memory is short; the graph is unchanged. RequirementError: a window changes the graph.

        Example:
            >>> g = su.Graph(4, device="cpu")
            >>> delta = g.insert_edges([0, 1, 0], [1, 2, 1])
            >>> delta.num_inserted, g.num_edges
            (2, 2)
        """
        if dst is PAIRS:
            self._refuse(hints.pairs_refused("insert_edges"))
        if getattr(src, "size", 0) >= BULK:
            with working(f"inserting {src.size:,} edges"):
                return self._update(None, (src, dst, weight))
        return self._update(None, (src, dst, weight))

    def delete_edges(self, src: Any, dst: Any = PAIRS) -> Delta:
        """Delete edges, given as ids or names; those that are not stored are ignored.

        Raises as :meth:`insert_edges` does.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> g.delete_edges([0, 2], [1, 0]).num_deleted
            1
            >>> g.edges()
            EdgeList(src=array([1], dtype=uint32), dst=array([2], dtype=uint32), weight=None)
        """
        if dst is PAIRS:
            self._refuse(hints.pairs_refused("delete_edges"))
        return self._update((src, dst, None), None)

    def apply(self, batch: Batch) -> Delta:
        """Delete the edges of ``batch.delete``, then insert those of ``batch.insert``, as one change with one delta.

        An edge that is deleted and inserted again is listed as replaced if its weight differs, else not at all. Raises
        as :meth:`insert_edges` does.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> delta = g.apply(su.Batch(delete=([0], [1]), insert=([2, 1], [0, 2])))
            >>> delta.num_deleted, delta.num_inserted
            (1, 1)
        """
        if not isinstance(batch, Batch):
            kind = type(batch).__name__
            self._refuse(ParameterError(f"batch must be a Batch, got {kind}: use Batch(insert, delete)"))
        parts = (0, 0) if batch.delete is None or batch.insert is None else (1, 2)
        return self._update(batch.delete, batch.insert, parts)

    def _refuse(self, error: Exception) -> NoReturn:
        """Raise ``error``, which is about a batch; on a graph of several processes, raise it on all of them."""
        if self.partition is not None:
            self.partition.comm.together(error)
        raise error

    def _update(self, delete: Any, insert: Any, parts: tuple[int, int] = (0, 0), coming: Any = None, *,
                disjoint: bool = False, owner: object = None) -> Delta:  # fmt: skip
        if owner is not self.owner:
            self.demand_owner(owner)
        try:  # as on_graph_device() does, without a further call: small batches would feel it
            with self._lock:
                if self.partition is not None and coming is None:  # else it is the same on all processes
                    delete, insert = self.partition.joined_batch(delete, insert, parts)
                if self.edge_table is not None:
                    edge_columns.table_of(self).start()
                try:
                    if self.edge_table is not None and insert is not None:
                        insert = edge_columns.with_rows(self, insert)
                    if self._names is not None and coming is None:
                        delete, insert, coming = naming.as_edges(self, delete, insert, parts[1])
                    before, given = self._begin_change(), (delete, insert, parts)
                    delta = coming.apply(self._updater, *given) if coming else self._updater.apply(*given)
                    delta.is_disjoint = disjoint
                    if self.edge_table is not None:
                        self.edge_table.follow(delta)
                except BaseException as error:
                    if self.edge_table is not None:
                        self.edge_table.undo(error)
                    raise
                if self.partition is not None:
                    self.partition.even_out()
                return self._end_change(before, delta)
        except MemoryError as error:
            raise capacity_error(self.device, error) from error

    def _begin_change(self) -> int:
        """Return the version; drop the views, as even a call that fails may make a store move to other arrays."""
        self._views.clear()
        if self.partition is not None or self._weighings:
            self._drop_views()
        return self._updater.version

    def _drop_views(self) -> None:
        self._views.clear()
        if self.partition is not None:
            self.partition.forget_views()
        for seen in self._weighings.values():
            seen._views.clear()

    def _end_change(self, before: int, delta: Delta) -> Delta:
        """Bring trackers up to date after a change of the graph at version ``before``; return ``delta``."""
        if self._updater.version != before:
            delta.version = self._updater.version
        if self._objects is not None:
            self._objects.follow(delta)
        if self.edge_table is not None and self._updater.version != before:
            advance_weighed(self, delta, before)
        if self._kept and self._updater.version != before:
            advance_all(self._kept, delta, before)
        if self._names is not None:
            delta.named = naming.stamp(self._names)
        return delta if self.edge_table is None else shown_delta(delta, self.edge_table)

    @on_graph_device
    def insert_vertices(self, count: int = 1, *, recycle: bool = False) -> ReturnedArray:
        """Add ``count`` vertices without edges and return their ids, ``uint32[count]``.

        Args:
            count: number of vertices to add.
            recycle: first reuse deleted ids, in ascending order.

        Raises:
            VertexRangeError: there would be more vertices than ids.
            CapacityError: there is not enough memory.

        Example:
            >>> g = su.Graph(3, device="cpu")
            >>> g.insert_vertices(2).tolist(), g.num_vertices
            ([3, 4], 5)
        """
        self.demand_owner()
        if self.partition is not None:
            self.partition.comm.same({"count": count, "recycle": recycle})
        before = self._begin_change()
        count, recycle = checked_count(count, "count"), flag("recycle", recycle)
        ids, delta = self._updater.insert_vertices(count, recycle, partial(naming.forgetting, self))
        if recycle and self._objects is not None:
            self._objects.forget(self.device.to_numpy(ids))
        self._end_change(before, delta)
        return ids

    @on_graph_device
    def delete_vertices(self, ids: Any) -> Delta:
        """Delete vertices with all their edges, in both directions; the delta lists those edges.

        Results contain no deleted vertices, but their ids stay valid: a vertex is live again once an edge is inserted
        at it, or ``insert_vertices(recycle=True)`` reuses its id. Ids of deleted vertices are ignored. A directed
        graph without in-edges finds the edges that lead to the vertices by one pass over all edges. Waits for the
        device.

        Raises:
            VertexRangeError, DTypeError, ShapeError: the ids are invalid.

        Example:
            >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 0], device="cpu")
            >>> g.delete_vertices([1]).num_deleted
            2
            >>> g.live_vertices.tolist()
            [0, 2]
        """
        self.demand_owner()
        if self.partition is not None:
            self.partition.comm.same({"ids": ids})
        ids = naming.vertices_of(self, ids, "ids") if naming.are_texts(ids) else ids
        before = self._begin_change()
        with edge_columns.rows_changing(self) as ended:
            delta = self._updater.delete_vertices(ids)
            ended(delta)
        return self._end_change(before, delta)

    # -- questions -----------------------------------------------------------------------------------------------------

    has_edges = lookups.has_edges
    edge_weights = lookups.edge_weights
    degrees = lookups.degrees
    degree = lookups.degree
    neighbors = lookups.neighbors
    adjacency = lookups.adjacency
    __contains__ = lookups.contains

    @on_graph_device
    def edges(self) -> EdgeList:
        """Return a copy of all edges, ordered by source; undirected ones once, ``src <= dst``. Waits for the device.

        Example:
            >>> g = su.Graph.from_coo([1, 0], [2, 1], directed=False, device="cpu")
            >>> edges = g.edges()
            >>> edges.src.tolist(), edges.dst.tolist()
            ([0, 1], [1, 2])
        """
        self._updater.raise_found()
        return self._once(self._shown[0].edges())

    @on_graph_device
    def mark(self) -> None:
        """Start recording insertions for :meth:`updated` and ``scheme="updated"``; earlier ones are forgotten.

        Example:
            >>> g = su.Graph.from_coo([0], [1], num_vertices=4, device="cpu")
            >>> g.mark()
            >>> delta = g.insert_edges([1, 0], [2, 1])
            >>> g.updated().dst.tolist()
            [2]
        """
        self._drop_views()
        with self._updater.whole():
            for store in self._stores:
                store.mark()

    @on_graph_device
    def updated(self) -> EdgeList:
        """Return the edges inserted since :meth:`mark` and still stored; no mark: all edges. Waits for the device.

        An edge that was stored at the mark, deleted and inserted again may be missing.

        Example:
            >>> g = su.Graph(3, device="cpu")
            >>> g.mark()
            >>> delta = g.insert_edges([0, 1], [1, 2])
            >>> g.updated().src.tolist()
            [0, 1]
        """
        self._updater.raise_found()
        return self._once(self._shown[0].updated())

    def _once(self, arcs: EdgeList) -> EdgeList:
        arcs = lookups.scaled(self, arcs)
        return arcs if self.directed else picked(arcs, arcs.src <= arcs.dst)

    memory_usage = inspection.memory_usage
    check = inspection.check

    # -- upkeep --------------------------------------------------------------------------------------------------------

    demand_owner = inspection.demand_owner
    reserve = inspection.reserve
    compact = inspection.compact

    @on_graph_device
    def synchronize(self) -> None:
        """Wait for the device; raises the first error of a deferred check.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> print(g.synchronize())
            None
        """
        self.device.synchronize()
        self._updater.raise_found()

    wait_until_built = inspection.wait_until_built
    to = inspection.to

    def __copy__(self, memo: Any = None) -> Graph:
        return self.to(self.device)

    __deepcopy__ = __copy__

    __reduce__ = snapshot.reduced
    save, load = snapshot.save, classmethod(snapshot.load)

    # -- state of computations ----------------------------------------------------------------------------------------

    frontier = making.frontier
    words = making.words
    edge_set = making.edge_set
    scalar = making.scalar
    union_find = making.union_find
    forest = making.forest

    # -- algorithms ----------------------------------------------------------------------------------------------------

    if TYPE_CHECKING:
        track: Track
        compute: Compute
    else:
        track, compute = running.track, running.compute

    # -- exchange with other libraries (see ``interop``) ---------------------------------------------------------------

    from_coo = classmethod(interop.from_coo)
    from_csr = classmethod(interop.from_csr)
    from_scipy_sparse = classmethod(interop.from_scipy_sparse)
    from_networkx = classmethod(networkx.from_networkx)
    from_pandas_edgelist = classmethod(interop.from_pandas_edgelist)
    from_edge_index = classmethod(interop.from_edge_index)
    from_igraph = classmethod(igraph.from_igraph)
    from_networkit = classmethod(networkit.from_networkit)
    from_arrow = classmethod(arrow.from_arrow)
    from_polars = classmethod(arrow.from_polars)
    from_pyg = classmethod(pyg.from_pyg)

    to_coo, to_csr = edges, interop.to_csr
    to_scipy_sparse = interop.to_scipy_sparse
    to_networkx = networkx.to_networkx
    to_pandas_edgelist = interop.to_pandas_edgelist
    to_edge_index = interop.to_edge_index
    to_igraph = igraph.to_igraph
    to_networkit = networkit.to_networkit
    to_arrow, to_polars = arrow.to_arrow, arrow.to_polars
    to_pyg = pyg.to_pyg


Delta._framed = staticmethod(frame_of)
