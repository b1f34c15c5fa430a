"""The store protocol: what a storage backend implements.

A *store* holds one directed out-adjacency on one device. Three methods are required (:meth:`Store.insert`,
:meth:`Store.delete`, :meth:`Store.edges`); every other method has a generic implementation in
``suricate.store.fallbacks``, derived from the cursor of :meth:`Store.view`. :meth:`Store.capabilities` says which
methods a backend implements itself. ``suricate.store.batch_store`` is a base class for backends that work on sorted
batches. The graph passes validated, contiguous arrays on the store's device: ``src`` and ``dst`` are ``uint32[n]``,
``weight`` is ``weight_dtype[n]`` (or None on an unweighted store).

The following holds for every method:

- **Ids and positions.** Vertices are ids in ``[0, num_vertices)``, and ``num_vertices`` is at most
  :data:`~suricate.base.types.MAX_VERTICES`: the two top ids are the sentinels ``EMPTY`` and ``TOMBSTONE``. A store may
  hold more than 2^31 edges, so positions take 64 bits.
- **Weights** are stored, compared and returned bit for bit: replacing ``0.0`` by ``-0.0``, or one subnormal number by
  another, counts as a replacement.
- **Results** (outcomes, edges, adjacencies, degrees) belong to the caller: no later call writes to them.
- **Memory.** ``memory_limit`` bounds what the store has allocated at any time: its arrays, both copies while they grow
  or move, and the log of insertions since :meth:`Store.mark`. In addition, a call may take scratch memory proportional
  to its batch (64 bytes per edge on the CPU, results included), which is freed when it returns. A call that would
  need more raises ``CapacityError`` before it has changed anything; so do ``reserve``, ``resize``, ``mark`` and
  ``copy_to``, whose copy has the same limit. A deletion is never refused, and ``compact`` does what memory allows.
  ``memory_limit`` may be set at any time: to undo a failed change, a graph raises it where edges do not fit again.
- **Copies.** ``copy_to`` keeps the mark, ``memory_limit`` and the backend's options.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict

import numpy as np

from suricate.base.devices import CPU, Array, Device, total
from suricate.base.errors import BackendError, CapacityError, DeviceError
from suricate.base.parameters import dtype as checked_dtype
from suricate.base.parameters import integer
from suricate.base.public import listing, on_use
from suricate.base.types import (
    MAX_VERTICES,
    NEW,
    REMOVED,
    REPLACED,
    WEIGHT_DTYPES,
    Adjacency,
    EdgeList,
    Outcome,
    StoreView,
    edge_keys,
)
from suricate.intake.arrays import move
from suricate.store import fallbacks
from suricate.store.single import SingleEdges

if TYPE_CHECKING:
    from suricate.intake.batches import StoreBatch
    from suricate.intake.ingest import UnvalidatedBatch
    from suricate.store.batch_store import BatchStore

__all__ = ["BatchStore", "SingleEdges", "Store", "StoreArguments"]
__dir__ = listing(__all__)
if not TYPE_CHECKING:
    __getattr__ = on_use(__name__, {"BatchStore": "suricate.store.batch_store"})

WEIGHTS = tuple(dtype.name for dtype in WEIGHT_DTYPES)


class StoreArguments(TypedDict, total=False):
    """The keyword arguments that every store takes, and that backends pass to :class:`Store`, which explains them."""

    device: Device
    weight_dtype: np.dtype | None
    degree_hints: Array | None
    memory_limit: int | None
    rows: Array | None


class Store(ABC):
    """Base class of all backends: the protocol, with fallbacks for everything that is not required.

    Args:
        num_vertices: number of vertices, at most :data:`MAX_VERTICES`.
        device: device of the arrays.
        weight_dtype: one of :data:`WEIGHT_DTYPES`, or None for an unweighted store.
        degree_hints: expected out-degree per vertex (``int[num_vertices]``, host or device), or None. Only a hint.
        memory_limit: upper bound in bytes of what the store has allocated at any time (see the module), or None.
        rows: the vertices whose rows the store keeps, see :meth:`keep_rows`; None: all. Given to backends that
            override that only.

    Backend options are further keyword arguments of the subclass.

    Raises:
        ParameterError: an argument of the wrong type or out of range.
        CapacityError: not even an empty store fits into ``memory_limit``.

    Example:
        >>> store = su.Graph.from_coo([0, 1], [1, 2], device="cpu").store()
        >>> isinstance(store, su.Store), store.name, store.num_edges
        (True, 'slabhash', 2)
    """

    name: ClassVar[str]
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")
    #: whether :meth:`insert` and :meth:`delete` honour ``guard``; if False, the graph checks every batch eagerly
    guarded: ClassVar[bool] = False
    #: of the backends that run on a device, the one of highest priority is the default
    priority: ClassVar[int] = 0
    #: the attribute, if any, that counts the bytes of the store and has their bound as ``limit``
    limited: ClassVar[str] = ""
    besides: Callable[[], int] = int  # what else counts against ``memory_limit``: 0 bytes
    #: backend options worth measuring: ``{option: values}``. ``suricate bench --suite sweep`` varies the first two
    #: together and the others one at a time around the defaults; it takes an option named ``*_bytes`` for the width of
    #: the backend's storage units
    knobs: ClassVar[dict[str, tuple]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        """Give a subclass, a backend, a signature that names the arguments of :class:`StoreArguments`.

        They replace ``**common`` in the signature of its ``__init__``. ``options``: keywords of the class statement,
        passed on to ``object``.
        """
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__signature__ = _written_out(inspect.signature(cls.__init__))  # type: ignore[attr-defined]

    def __init__(
        self,
        num_vertices: int,
        *,
        device: Device = CPU,
        weight_dtype: np.dtype | None = None,
        degree_hints: Array | None = None,
        memory_limit: int | None = None,
        rows: Array | None = None,
    ) -> None:
        label, self.kept_rows = self.name, rows
        self.num_vertices = integer(f"{label}: num_vertices", num_vertices, low=0, high=MAX_VERTICES)
        self.device = device
        self.weight_dtype = (
            None if weight_dtype is None else checked_dtype(f"{label}: weight_dtype", weight_dtype, WEIGHTS)
        )
        self.memory_limit = None if memory_limit is None else integer(f"{label}: memory_limit", memory_limit, low=0)
        self._marked: Array | None = None  # keys of the edges at the mark, of the generic mark()

    # -- required ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Insert edges with set semantics; return per edge ``NEW``, ``REPLACED`` or ``UNCHANGED``.

        An existing edge takes the new weight (``REPLACED`` if any bit differs, else ``UNCHANGED``). If the batch
        contains an edge several times, the weight of the LAST duplicate wins, and at most one of them reports a
        change: on a weighted store the last one, on an unweighted store any.

        Memory is reserved before anything is written: after ``CapacityError`` nothing has changed. ``guard``, if
        given, is a device ``uint32[1]``: if it is not zero when the kernels run, they change nothing and report
        ``UNCHANGED``. In the steady state the host does not wait for the device. The store only reads the arrays of
        the batch, which are contiguous, and keeps no reference to them.

        Example:
            >>> store = su.Graph(3, device="cpu").store()
            >>> outcome = store.insert(np.array([0, 0], np.uint32), np.array([1, 1], np.uint32))
            >>> sorted(outcome.status.tolist()), store.num_edges
            ([0, 1], 1)
        """

    @abstractmethod
    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Delete edges; return per edge ``REMOVED``, or ``UNCHANGED`` if it is not stored.

        If the batch contains a stored edge several times, only one of these entries reports ``REMOVED``. ``guard`` is
        that of :meth:`insert`.

        Example:
            >>> store = su.Graph.from_coo([0, 1], [1, 2], device="cpu").store()
            >>> outcome = store.delete(np.array([0, 2], np.uint32), np.array([1, 0], np.uint32))
            >>> outcome.status.tolist(), store.num_edges
            ([1, 0], 1)
        """

    @abstractmethod
    def edges(self) -> EdgeList:
        """Return a copy of all edges, ordered by source (any order within a source).

        Example:
            >>> store = su.Graph.from_coo([0, 1], [1, 2], device="cpu").store()
            >>> store.edges().dst.tolist()
            [1, 2]
        """

    # -- optional: changes as a whole, and queries, of edges that need not be checked or uploaded first ----------------

    def apply(self, delete: StoreBatch | None, insert: StoreBatch | None) -> Callable[[], Any] | None:
        """Prepare to delete edges and then insert edges, as one change; return a function that makes the change.

        The graph calls this first, for every change on CUDA and for changes of both kinds on the CPU. If the result is
        None, the graph validates and uploads the edges itself, and calls :meth:`delete` and :meth:`insert`.

        No edge changes in this call: it reserves memory, and may launch kernels that validate and sort the edges. The
        graph calls the returned function at most once, before any other method of the store. Between the two calls it
        may prepare another store, so that all stores of a graph have memory before any of them changes.

        Args:
            delete: the edges to delete, or None.
            insert: the edges to insert, or None; of the same class as ``delete``. Each is one of

                - :class:`~suricate.intake.batches.DeviceBatch`, on CUDA: addresses of the edges, and of the arrays to
                  which the store writes the outcome. If ``unchecked`` is set, the store must have the edges validated:
                  by its own launch, as ``ingest.cuh`` specifies, which saves small batches a launch, or by ``check()``;
                  the insertion first. If an edge of either batch is invalid, the guard keeps later launches from
                  changing anything. In a change of both kinds, each array holds the deletion, then the insertion. In
                  the steady state nothing waits for the device.
                - :class:`~suricate.intake.batches.HostBatch`: valid NumPy arrays. A store on CUDA that keeps a copy of
                  its arrays on the host may apply small batches there; it updates the device when a view, or anything
                  else on the device, is next needed. The graph has reserved memory before it changes two stores or
                  makes a change of both kinds.

        Returns:
            A function without arguments, or None. It records that it has applied a ``DeviceBatch`` by setting
            ``done`` (a queued launch writes the outcome), a ``HostBatch`` by setting ``outcome``. If it raises, the
            graph undoes the batches that were applied.

        Raises:
            CapacityError: there is not enough memory. On CUDA the graph then tries :meth:`delete` and :meth:`insert`.

        Example:
            >>> store = su.Graph.from_coo([0], [1], backend="csr_baseline", device="cpu").store()
            >>> store.apply(None, None) is None
            True
        """
        return None

    def query(self, edges: UnvalidatedBatch | EdgeList) -> tuple[Array, Array | None] | None:
        """Look up edges as :meth:`find` does; return None if the graph must validate them and call :meth:`find`.

        Args:
            edges: unvalidated device arrays, whose edges are validated in the launch that looks them up (invalid
                ones are not found); or valid NumPy arrays: a store on CUDA that has a copy of its edges on the host may
                answer from it, in NumPy arrays.
        """
        return None

    # -- for backends: arrays of results -------------------------------------------------------------------------------

    def new_outcome(self, size: int) -> Outcome:
        """Return a new outcome of ``size`` edges for a backend to fill: ``UNCHANGED`` on the CPU, undefined on CUDA.

        Example:
            >>> su.Graph(3, device="cpu").store().new_outcome(2).status.tolist()
            [0, 0]
        """
        return Outcome(*self._results(size, np.uint8))

    def new_answer(self, size: int) -> tuple[Array, Array | None]:
        """Return new arrays for the answer to ``size`` lookups: found (bool), and weights or None; zero on the CPU.

        Example:
            >>> found, weight = su.Graph(3, device="cpu").store().new_answer(2)
            >>> found.tolist(), weight
            ([False, False], None)
        """
        return self._results(size, bool)

    def _results(self, size: int, kind: type) -> tuple[Array, Array | None]:
        fresh, dtype = self.device.xp.empty if self.device.is_cuda else np.zeros, self.weight_dtype
        return fresh(size, kind), None if dtype is None else fresh(size, dtype)

    def is_invalid(self, guard: Array | None) -> bool:
        """Return whether ``guard``, if any, says that the batch is invalid; always False on CUDA: kernels read it.

        Example:
            >>> store = su.Graph(3, device="cpu").store()
            >>> store.is_invalid(None), store.is_invalid(np.array([1]))
            (False, True)
        """
        return guard is not None and not self.device.is_cuda and bool(guard[0])

    # -- optional: single edges in a compiled loop ---------------------------------------------------------------------

    def single(self, num_edges: int) -> SingleEdges | None:
        """Return how a compiled loop on the CPU changes single edges (``suricate.store.single``); None if it cannot.

        Reserves memory for ``num_edges`` insertions, or as many as possible. The result is valid until another method
        changes the store; call :meth:`end_single` before that.

        Example:
            >>> store = su.Graph(3, device="cpu").store()
            >>> steps = store.single(10)
            >>> steps is None or type(steps).__name__
            'SingleEdges'
        """
        return None

    def end_single(self, inserted: int, deleted: int) -> None:  # noqa: B027 - doing nothing is the default
        """Update the numbers of edges that the host keeps, after a loop inserted and deleted this many single edges.

        Example:
            >>> store = su.Graph(3, device="cpu").store()
            >>> steps = store.single(2)
            >>> store.end_single(0, 0)
            >>> store.num_edges
            0
        """

    # -- optional: generic implementations derived from the cursor -----------------------------------------------------

    def view(self) -> StoreView:
        """Return the arrays by which kernels walk the edges, with their cursor; valid until the store changes.

        For a backend without a cursor, the view is a sorted copy of :meth:`edges`, made by every call.

        Example:
            >>> view = su.Graph.from_coo([0, 1], [1, 2], device="cpu").store().view()
            >>> view.num_vertices, view.weight_dtype
            (3, None)
        """
        return fallbacks.snapshot(self.edges(), self.num_vertices, self.device)

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Look up edges; return ``(found, weight)``: ``bool[n]``, and their weights, or None on an unweighted store.

        The weights of edges that are not found are unspecified.

        Example:
            >>> store = su.Graph.from_coo([0, 1], [1, 2], [0.5, 2.0], device="cpu").store()
            >>> found, weight = store.find(np.array([1, 2], np.uint32), np.array([2, 0], np.uint32))
            >>> found.tolist(), weight[0].item()
            ([True, False], 2.0)
        """
        return fallbacks.find(self.view(), self.device, src, dst)

    def degrees(self) -> Array:
        """Return the exact out-degrees, ``uint32[num_vertices]``.

        Example:
            >>> store = su.Graph.from_coo([0, 0, 1], [1, 2, 2], device="cpu").store()
            >>> store.degrees().tolist()
            [2, 1, 0]
        """
        return fallbacks.degrees(self.view(), self.device)

    @property
    def num_edges(self) -> int:
        """Exact number of edges; on CUDA reading it waits for the device."""
        return total(self.degrees())

    def num_loops(self) -> int:
        """Return the number of self-loops; on CUDA this waits for the device.

        Example:
            >>> su.Graph.from_coo([0, 1], [0, 2], device="cpu").store().num_loops()
            1
        """
        vertices = self.device.xp.arange(self.num_vertices, dtype=np.uint32)
        return total(self.find(vertices, vertices)[0])

    def adjacency(self, vertices: Array) -> Adjacency:
        """Return the out-edges of ``vertices`` (uint32[k], repeats allowed), one adjacency behind the other.

        Example:
            >>> store = su.Graph.from_coo([0, 0, 2], [1, 2, 0], device="cpu").store()
            >>> store.adjacency(np.array([2, 1], np.uint32)).offsets.tolist()
            [0, 1, 1]
        """
        return fallbacks.adjacency(self.view(), self.device, vertices)

    def delete_vertices(self, vertices: Array) -> None:
        """Delete the out-edges of the distinct ``vertices`` (uint32[k]) and free their storage; in-edges stay.

        Example:
            >>> store = su.Graph.from_coo([0, 0, 1], [1, 2, 2], device="cpu").store()
            >>> store.delete_vertices(np.array([0], np.uint32))
            >>> store.num_edges
            1
        """
        _, edges = fallbacks.edges_of(self.view(), self.device, vertices)
        self.delete(edges.src, edges.dst)

    def resize(self, num_vertices: int) -> None:
        """Grow to ``num_vertices``, without copying edges; new vertices have no edges.

        Also shrinks, if the removed vertices have no edges.

        Example:
            >>> store = su.Graph(3, device="cpu").store()
            >>> store.resize(5)
            >>> store.num_vertices
            5
        """
        self.num_vertices = num_vertices

    def resizing(self, num_vertices: int) -> Callable[[], None]:
        """Return a function that makes :meth:`resize`; the next change is made by it, or it is dropped.

        A graph with two stores calls this for both before it resizes one. A backend that overrides it allocates all
        memory here, raising ``CapacityError``, so that the function cannot fail; by default that is ``resize`` itself.

        Example:
            >>> store = su.Graph(3, device="cpu").store()
            >>> grow = store.resizing(5)
            >>> grow()
            >>> store.num_vertices
            5
        """
        return partial(self.resize, num_vertices)

    def keep_rows(self, rows: Array) -> None:  # noqa: B027 - to keep all rows is the fallback
        """Keep the rows of vertices in ``rows`` only: ``int64[k, 2]`` on the host, begin and end of ranges, ascending.

        Other rows have no edges, and get none before they are kept; a backend that overrides this gives them no
        memory. A graph of several processes keeps the rows of the vertices that its process owns. Raises
        ``CapacityError``, with nothing changed, only if rows come that were not kept.

        Example:
            >>> store = su.Graph(3, device="cpu").store()
            >>> store.keep_rows(np.array([[0, 2]]))
            >>> store.degrees().tolist()
            [0, 0, 0]
        """

    def mark(self) -> None:
        """Set the mark: from now on insertions are recorded for :meth:`updated`; records from before are dropped.

        Example:
            >>> store = su.Graph(3, device="cpu").store()
            >>> store.mark()
            >>> outcome = store.insert(np.array([0], np.uint32), np.array([1], np.uint32))
            >>> store.has_mark, store.updated().dst.tolist()
            (True, [1])
        """
        edges = self.edges()
        self.admit(8 * len(edges.src))
        self._marked = edge_keys(edges.src, edges.dst)

    @property
    def has_mark(self) -> bool:
        """Whether :meth:`mark` was called. A backend that overrides :meth:`mark` must override this property too."""
        return self._marked is not None

    def updated(self) -> EdgeList:
        """Return the edges inserted since :meth:`mark` that are still stored, in any order; without a mark all edges.

        An edge that was stored at the mark, deleted and inserted again may be missing. A backend that overrides
        :meth:`mark` must have a cursor with an updated-edges iterator, or override this method.

        Example:
            >>> store = su.Graph.from_coo([0, 1], [1, 2], device="cpu").store()
            >>> store.updated().dst.tolist()
            [1, 2]
        """
        if not self.has_mark:
            return self.edges()
        if self._marked is None:
            return fallbacks.updated(self.view(), self.device)
        return fallbacks.inserted_since(self.edges(), self._marked, self.device.xp)

    def plan(self, num_edges: int) -> None:  # noqa: B027 - nothing to choose is the fallback
        """Choose the backend options that the user left open, if nothing is stored yet, for about ``num_edges`` edges.

        ``num_edges`` includes duplicates. A store calls this at its first batch; the graph calls it earlier if it
        reserves memory first. On a graph of several processes each passes the total for all, since a row is as
        long as on one process.

        Example:
            >>> store = su.Graph(3, device="cpu").store()
            >>> store.plan(100)
            >>> store.num_edges
            0
        """

    def reserve(self, num_edges: int) -> None:  # noqa: B027 - doing nothing is the fallback
        """Reserve memory for inserting any ``num_edges`` edges; raises ``CapacityError`` if that is impossible.

        Example:
            >>> store = su.Graph(3, device="cpu").store()
            >>> store.reserve(1000)
            >>> store.num_edges
            0
        """

    def reserve_for(self, src: Array) -> None:
        """:meth:`plan`, and reserve memory for inserting an edge per entry of ``src``; raises ``CapacityError``.

        Example:
            >>> store = su.Graph(3, device="cpu").store()
            >>> store.reserve_for(np.array([0, 0, 1], np.uint32))
            >>> store.num_edges
            0
        """
        self.plan(len(src))
        self.reserve(len(src))

    def compact(self) -> None:  # noqa: B027 - doing nothing is the fallback
        """Remove tombstones and repack the storage into less memory; the edges do not change.

        Example:
            >>> store = su.Graph.from_coo([0, 1], [1, 2], device="cpu").store()
            >>> store.compact()
            >>> store.num_edges
            2
        """

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return ``{part: (bytes used, bytes allocated)}`` of all arrays that the store holds.

        Example:
            >>> store = su.Graph.from_coo([0, 1], [1, 2], backend="csr_baseline", device="cpu").store()
            >>> sorted(store.memory())
            ['edges', 'offsets', 'reserve']
        """
        edges = sum(part.nbytes for part in self.edges() if part is not None)
        marked = {} if self._marked is None else {"mark": (self._marked.nbytes, self._marked.nbytes)}
        return {"edges": (edges, edges), **marked}

    @property
    def memory_limit(self) -> int | None:
        """Upper bound in bytes of what the store has allocated at any time, or None."""
        return self._memory_limit

    @memory_limit.setter
    def memory_limit(self, limit: int | None) -> None:
        self._memory_limit = limit
        if hasattr(self, self.limited):  # else it is about to be made, or there is none
            getattr(self, self.limited).limit = limit

    def share_limit(self, besides: Callable[[], int]) -> None:
        """Count what ``besides()`` returns, the bytes of the rest of a graph, against ``memory_limit`` from now on.

        Example:
            >>> store = su.Graph(3, memory_limit="1MB", device="cpu").store()
            >>> store.share_limit(lambda: 4000)
            >>> store.memory_limit
            1000000
        """
        self.besides = besides
        if hasattr(self, self.limited):
            getattr(self, self.limited).besides = besides

    def bytes_held(self) -> int:
        """Return the bytes that are allocated, or kept for deletions; backends do not wait for the device.

        Example:
            >>> store = su.Graph.from_coo([0, 1], [1, 2], device="cpu").store()
            >>> store.bytes_held() >= sum(used for used, _ in store.memory().values())
            True
        """
        return sum(allocated for _, allocated in self.memory().values())

    def admit(self, size: int) -> None:
        """Raise ``CapacityError`` if ``size`` more bytes would exceed ``memory_limit``.

        It adds up :meth:`memory`, so what that reads must be there: a constructor makes empty arrays first.

        Example:
            >>> store = su.Graph(3, memory_limit="1MB", device="cpu").store()
            >>> store.admit(1000)
            >>> store.memory_limit
            1000000
        """
        try:
            if self.memory_limit is None:
                return
            wanted = self.bytes_held() + self.besides() + size
        except AttributeError as error:
            problem = f"{type(self).__name__}: admit() was called before memory() can answer ({error})"
            cure = "in __init__ call super().__init__() and make empty arrays before the first admit()"
            raise AttributeError(f"{problem}: {cure}") from error
        if wanted > self.memory_limit:
            raise CapacityError(f"{self.name} needs {wanted} bytes, memory_limit is {self.memory_limit}")

    def copy_to(self, device: Device) -> Store:
        """Return a copy of this store on ``device``; the fallback inserts the edges into an empty store.

        Example:
            >>> store = su.Graph.from_coo([0, 1], [1, 2], device="cpu").store()
            >>> store.copy_to(su.Device("cpu")).num_edges
            2
        """
        other = self.empty_on(device)
        edges = self.edges()
        if not self.has_mark:
            other.insert(*_moved(edges, self.device, device))
            return other
        inserted = self.updated()
        keys = edge_keys(inserted.src, inserted.dst)
        other.insert(*_moved(fallbacks.inserted_since(edges, keys, self.device.xp), self.device, device))
        other.mark()
        other.insert(*_moved(inserted, self.device, device))
        return other

    def empty_on(self, device: Device) -> Self:
        """Return an empty store on ``device`` with the vertices, weights, memory limit and options of this one.

        Example:
            >>> store = su.Graph.from_coo([0, 1], [1, 2], device="cpu").store()
            >>> other = store.empty_on(su.Device("cpu"))
            >>> other.num_vertices, other.num_edges
            (3, 0)
        """
        if device.kind not in self.devices:
            raise DeviceError(f"backend {self.name!r} runs on {', '.join(self.devices)}, not on {device}")
        return type(self)(
            self.num_vertices,
            device=device,
            weight_dtype=self.weight_dtype,
            memory_limit=self.memory_limit,
            **({} if self.kept_rows is None else {"rows": self.kept_rows}),
            **self.options(),
        )

    def options(self) -> dict[str, Any]:
        """Return the backend options of this store as keyword arguments for the constructor.

        Example:
            >>> sorted(su.Graph(3, device="cpu").store().options())
            ['hashing', 'in_flight', 'load_factor', 'reference', 'slab_bytes']
        """
        return {}

    def check(self) -> None:
        """Verify every structural invariant on the CPU; the fallback checks the edges and degrees.

        Raises:
            CheckFailed: naming the invariant that does not hold.

        Example:
            >>> store = su.Graph.from_coo([0, 1], [1, 2], device="cpu").store()
            >>> print(store.check())
            None
        """
        fallbacks.check_edges(self.edges(), self.degrees(), self.device)

    # -- which is which ------------------------------------------------------------------------------------------------

    @classmethod
    def capabilities(cls) -> dict[str, str]:
        """Return ``{operation: "native" | "fallback"}`` for every operation of the protocol.

        Example:
            >>> su.Graph(2, device="cpu").store().capabilities()["delete"]
            'native'
        """
        return {op: "native" if getattr(cls, op) is not getattr(Store, op) else "fallback" for op in OPERATIONS}


def _written_out(constructor: inspect.Signature) -> inspect.Signature:
    """Return the signature of a backend class, from that of its ``__init__``, the ``constructor``."""
    parameters: list[inspect.Parameter] = []
    for parameter in list(constructor.parameters.values())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD and StoreArguments.__name__ in str(parameter.annotation):
            every = inspect.signature(Store.__init__).parameters
            parameters += [every[name] for name in StoreArguments.__annotations__]
        else:
            parameters.append(parameter)
    return constructor.replace(parameters=parameters)


OPERATIONS = (
    "insert", "delete", "edges", "find", "degrees", "delete_vertices", "resize", "adjacency", "mark", "updated", "view",
    "reserve", "compact", "memory", "copy_to", "check",
)  # fmt: skip


def prepared_resize(store: Store, num_vertices: int) -> Callable[[], None]:
    """Return ``store.resizing(num_vertices)``, or ``resize`` itself if a subclass overrides only that."""
    kind = next(each for each in type(store).__mro__ if {"resize", "resizing"} & vars(each).keys())
    return store.resizing(num_vertices) if "resizing" in vars(kind) else partial(store.resize, num_vertices)


STATUS = np.dtype(np.uint8)  #: of the statuses of an outcome


def checked_outcome(
    store: Store, outcome: Outcome | None, count: int, *, deletion: bool = False, on_host: bool = False
) -> Outcome:
    """Return the ``outcome`` of ``store`` for a batch of ``count`` edges, checked against the protocol.

    ``deletion``: whether it is the outcome of a deletion, which has other statuses. ``on_host``: whether its arrays are
    NumPy's, on CUDA too. The values of statuses on the device are not checked, as that would wait.

    Raises:
        BackendError: no outcome, or one with arrays of the wrong length, dtype or device, or unknown statuses.
    """
    if not isinstance(outcome, tuple) or len(outcome) != 2:
        got = type(outcome).__name__
        raise BackendError(f"backend {store.name!r} returned {got} instead of an Outcome (status, weight)")
    status, weight = outcome
    ndarray = np.ndarray if on_host else store.device.xp.ndarray
    if not isinstance(status, ndarray) or status.dtype != STATUS or status.shape != (count,):
        raise _unlike(store, status, "status", count, STATUS)
    if store.weight_dtype is not None:
        if not isinstance(weight, ndarray) or weight.dtype != store.weight_dtype or weight.shape != (count,):
            raise _unlike(store, weight, "weight", count, store.weight_dtype)
    elif weight is not None:
        raise BackendError(f"backend {store.name!r} reported weights, and the store has none")
    if count and ndarray is np.ndarray:
        largest = int(status[status.argmax()])  # sooner than status.max()
        if largest > (REMOVED if deletion else max(NEW, REPLACED)):
            raise BackendError(f"backend {store.name!r} reported status {largest}, which does not exist")
    return outcome


def _unlike(store: Store, array: Any, name: str, count: int, dtype: np.dtype) -> BackendError:
    got = f"{array.dtype}{array.shape}" if hasattr(array, "dtype") else type(array).__name__
    wanted = f"{dtype}({count},) on {store.device}"
    return BackendError(f"backend {store.name!r} reported {name} as {got} instead of {wanted}")


def _moved(edges: EdgeList, source: Device, target: Device) -> EdgeList:
    return edges.each(lambda part: move(part, source, target))
