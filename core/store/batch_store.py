"""Base of backends that work on sorted batches.

:class:`BatchStore` does what all such backends do alike, on both devices: it sorts a batch, calls the backend to locate
its entries, to reserve memory and to apply it, and logs insertions since the mark. A backend defines:

- its arrays (an :class:`~suricate.store.array_manager.ArrayManager`);
- how entries are located: by the ``find`` of its cursor, unless it overrides :meth:`BatchStore.locate`;
- ``reserve_insertion`` and ``reserve_deletion``, which reserve the memory that a change needs at most, and may fail;
- ``apply_insertion`` and ``apply_deletion``, which make the change and must not fail.

The other methods of the protocol are the generic ones, derived from the cursor of its view.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar, Unpack

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.errors import CapacityError
from suricate.base.types import NEW, EdgeList, Outcome, edge_keys
from suricate.intake.arrays import sorted_distinct
from suricate.intake.batches import DeviceBatch, HostBatch, StoreBatch
from suricate.intake.ingest import UnvalidatedBatch
from suricate.primitives import bits_dtype, of_device, out_of_memory, sort_batch
from suricate.primitives.counters import Counters
from suricate.primitives.located import ABSENT, LOOKUP, PRESENT, BatchKernels, LocatedBatch, Report
from suricate.store import Store, StoreArguments, fallbacks
from suricate.store.array_manager import ArrayManager, first_that_fits
from suricate.store.own_rows import joined, without
from suricate.store.sorter import Sorter

Insertion = TypeVar("Insertion")  #: what a backend reserves for an insertion
Deletion = TypeVar("Deletion")  #: what it reserves for a deletion

SMALL_BATCH = 1 << 14  #: edges of a batch for which memory is reserved several times over on CUDA,
BATCHES_AHEAD = 4  #: for this number of such batches


class BatchStore(Store, Generic[Insertion, Deletion]):
    """Base of backends that work on sorted batches; see :class:`suricate.store.Store` for the arguments.

    The backend's arrays include one called ``weight``, indexed by the slots of the view's cursor, and one of counters,
    such as the number of edges; on CUDA ``counters`` has what the host knows of them. A *report* has the arrays, by
    edge in the caller's order, to which a change writes statuses and old weights.
    """

    guarded: ClassVar[bool] = True
    limited: ClassVar[str] = "pool"
    num_counters: ClassVar[int]  #: length of :meth:`counters_array`
    edges_at: ClassVar[int] = 0  #: which of them is the number of edges
    reads_addresses: bool = False  #: whether kernels take weights and reports as addresses, which saves making arrays

    def __init__(self, num_vertices: int, **common: Unpack[StoreArguments]) -> None:
        super().__init__(num_vertices, **common)
        device = self.device
        self.pool: ArrayManager[Any] = self.make_pool()
        self.kernels: object = self.make_kernels()
        self.counters = Counters(device, self.num_counters)
        self.log: InsertLog | None = None
        self.sorter = _sorter(device)
        self._shared: BatchKernels = of_device(device)
        self._bits_dtype = bits_dtype(self.weight_dtype)
        self._no_weights = device.xp.empty(0, np.uint8)

    # -- what a backend brings -----------------------------------------------------------------------------------------

    @abstractmethod
    def make_pool(self) -> ArrayManager[Any]:
        """Return the manager with the arrays of an empty store; raises ``CapacityError``."""

    def make_kernels(self) -> object:
        """Return an object with the backend's loops or kernels for its device, or None."""
        return None

    def counters_array(self) -> Array:
        """Return the current array of counters, ``int64[num_counters]``; allocates nothing."""
        return self.pool["counters"]

    @abstractmethod
    def used(self) -> dict[str, int]:
        """Return how many entries of each group of arrays are in use; groups not named are in use as a whole."""

    def extents(self) -> dict[str, int]:
        """Return how many entries of each group of arrays a copy of the store needs; all of groups not named."""
        return self.used()

    def locate(self, keys: Array, order: Array, guard: Array | int | None, kind: int) -> LocatedBatch:
        """Return the sorted batch with kind and slot of each entry, and counts of the entries that change the graph.

        Args:
            keys: ``uint64[m]``, ``src << 32 | dst``, ascending.
            order: ``uint32[m]``: the position of each entry in the batch before sorting.
            guard: the array, or its address; None for a valid batch.
            kind: kind of the entries that change the graph: ``ABSENT`` for an insertion, ``PRESENT`` for a deletion,
                ``LOOKUP`` (none) for a query.
        """
        batch = self.new_batch(keys, order, guard)
        fallbacks.locate(self.view(), self.device, batch)
        if kind != LOOKUP:
            self._shared.rank(batch, kind)
        return batch

    @abstractmethod
    def reserve_edges(self, num_edges: int) -> None:
        """Make the arrays large enough for any ``num_edges`` more edges; raises ``CapacityError``."""

    @abstractmethod
    def reserve_insertion(self, batch: LocatedBatch) -> Insertion:
        """Reserve memory for an insertion; return a reservation for :meth:`apply_insertion`.

        Raises ``CapacityError`` if there is not enough memory; then nothing has changed.
        """

    @abstractmethod
    def apply_insertion(self, batch: LocatedBatch, reservation: Insertion, weight: Any, report: Report) -> None:
        """Insert the ``ABSENT`` entries, replace the weights of the ``PRESENT`` ones, and write ``report``.

        ``weight`` has the bit patterns of the weights, in the order of the batch before sorting (``uint8[0]`` if
        unweighted), or is their address. ``reservation`` is the result of :meth:`reserve_insertion`. A backend may call
        :meth:`report_insertion`, which replaces weights and writes the report.
        """

    @abstractmethod
    def reserve_deletion(self, batch: LocatedBatch) -> Deletion:
        """Reserve memory for a deletion; return a reservation for :meth:`apply_deletion`.

        It must not fail at the memory limit: insertions leave enough memory for it.
        """

    @abstractmethod
    def apply_deletion(self, batch: LocatedBatch, reservation: Deletion, report: Report) -> None:
        """Delete the ``PRESENT`` entries and write ``report``, for instance by :meth:`report_deletion`."""

    # -- updates and queries -------------------------------------------------------------------------------------------

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Insert edges, see :meth:`suricate.store.Store.insert`; of duplicates the last one reports a change."""
        return self._change(EdgeList(src, dst, weight), guard, ABSENT)

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Delete edges, see :meth:`suricate.store.Store.delete`; of duplicates the last one reports a change."""
        return self._change(EdgeList(src, dst), guard, PRESENT)

    def apply(self, delete: StoreBatch | None, insert: StoreBatch | None) -> Callable[[], None] | None:
        """Prepare a change by batches on the device; return a function that makes it, or None if that is impossible.

        Both batches are sorted (a launch also validates and copies an unvalidated batch), and memory for the first one
        is reserved. The function deletes and inserts, see :meth:`suricate.store.Store.apply`.
        """
        if self.sorter is None or (delete is None and insert is None):
            return None
        batches: list[DeviceBatch] = []
        for batch in (delete, insert):
            if isinstance(batch, HostBatch) or (batch and not self.sorter.takes(batch.size, self.num_vertices)):
                return None
            batches += [batch] if batch else []
        with out_of_memory(self.name):
            if len(batches) > 1:
                self.reserve(batches[-1].size)
            located = [self._sorted_batch(batch) for batch in reversed(batches)][::-1]
            first = self._planned(*located[0])
        return partial(self._apply_batches, batches, first, located[1:])

    def _sorted_batch(self, batch: DeviceBatch) -> tuple[Array, Array, int, int]:
        """Sort a batch, validate and copy it if need be; return its keys, order, guard address and kind."""
        assert self.sorter is not None
        kind = ABSENT if batch.operation == "insert" else PRESENT
        if batch.unchecked is not None:
            copies = batch.src, batch.dst, batch.weight
            keys, order = self.sorter.take(batch.unchecked, copies, self.num_vertices)
            batch.unchecked = None
        elif self.sorter.is_sorted_here(batch.size, self.num_vertices):
            keys, order = self.sorter.sort_at(batch.size, batch.src, batch.dst, self.num_vertices, batch.operation)
        else:
            src, dst, _ = batch.edges()
            keys, order = self.sorter.sort(src, dst, self.num_vertices)
        return keys, order, batch.guard, kind

    def _apply_batches(
        self, batches: list[DeviceBatch], planned: tuple[LocatedBatch, Any], later: list[tuple[Array, Array, int, int]]
    ) -> None:
        """Apply the first batch, whose located batch and reservation are ``planned``; locate and apply the others."""
        self._apply_batch(batches[0], planned)
        for batch, located in zip(batches[1:], later, strict=True):
            with out_of_memory(self.name):
                planned = self._planned(*located)
            self._apply_batch(batch, planned)

    def _apply_batch(self, batch: DeviceBatch, planned: tuple[LocatedBatch, Any]) -> None:
        """Apply a batch, whose located batch and reservation are ``planned``, and set ``batch.done``."""
        kind = ABSENT if batch.operation == "insert" else PRESENT
        if self.log is None and self.reads_addresses:
            self._carry_out(planned, batch.weight, Report(batch.status, batch.before), kind)
        else:
            self._apply(planned, batch.edges(), batch.outcome(), kind)
        batch.done = True

    def query(self, edges: UnvalidatedBatch | EdgeList) -> tuple[Array, Array | None] | None:
        """Look up an unvalidated batch, see :meth:`suricate.store.Store.query`; None if the graph must validate it.

        Edges are found by binary search in the rows of :meth:`rows`; if that returns None, the batch is sorted and
        located.
        """
        if self.sorter is None or isinstance(edges, EdgeList) or not self.sorter.takes(edges.size, self.num_vertices):
            return None
        found, weight = self.new_answer(edges.size)
        rows = self.rows()
        if rows is not None:
            self.sorter.find(edges, rows, found, self.bits(weight))
            return found, weight
        with out_of_memory(self.name):
            self.poll()
            copies = self.device.xp.empty((2, edges.size), np.uint32)
            addresses = copies.data.ptr, copies.data.ptr + 4 * edges.size, 0
            keys, order = self.sorter.take(edges, addresses, self.num_vertices)
            located = self.locate(keys, order, None, LOOKUP)
        self._shared.answer(located, self.pool["weight"], found, self.bits(weight))
        return found, weight

    def rows(self) -> tuple[Array | int, ...] | None:
        """Return sorted rows as (begin, end, dst, weight bits), arrays or addresses; None if the layout has none.

        The row of vertex ``u`` is at the slots ``begin[u]`` to ``end[u]`` (int64, exclusive); destinations ascend.
        ``dst`` and weight bits are indexed by slot.
        """
        return None

    def find_sorted(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Look up edges and return ``(found, weight)`` as :meth:`suricate.store.Store.find` does."""
        found, weight = self.new_answer(len(src))
        if len(src):
            self.poll()
            batch = self.locate(*self._sorted(src, dst), None, LOOKUP)
            self._shared.answer(batch, self.pool["weight"], found, self.bits(weight))
        return found, weight

    def amounts_to_reserve(self, num_edges: int) -> tuple[int, ...]:
        """Return numbers of edges to try with :meth:`reserve_edges` for a batch of ``num_edges``, the largest first.

        On CUDA every call of :meth:`reserve_edges` waits for exact counters, so small batches reserve memory for later
        ones as well.
        """
        ahead = self.device.is_cuda and num_edges <= SMALL_BATCH
        return (BATCHES_AHEAD * num_edges, num_edges) if ahead else (num_edges,)

    def report_insertion(self, batch: LocatedBatch, weight: Array, report: Report) -> None:
        """Replace the weights of ``PRESENT`` entries, and write statuses and old weights of all entries to ``report``.

        For backends whose own kernels of insertion do neither. ``weight`` has the bit patterns of the new weights, in
        the order of the batch before sorting.
        """
        self._shared.report_insertion(batch, self.pool["weight"], weight, report)

    def report_deletion(self, batch: LocatedBatch, report: Report) -> None:
        """Write statuses and old weights to ``report``, for backends whose own kernels of deletion do not."""
        self._shared.report_deletion(batch, self.pool["weight"], report)

    def queued(self, inserted: int, deleted: int) -> None:
        """Record that kernels were queued that insert at most ``inserted`` and delete at most ``deleted`` edges.

        On CUDA it may queue a copy of the counters to the host, see :meth:`is_behind`. No effect on the CPU.
        """
        if self.device.is_cuda:
            self.counters.charge(inserted, deleted)
            if self.is_behind(inserted + deleted):
                self.counters.post(self.counters_array())

    def is_behind(self, updates: int) -> bool:
        """Return whether to copy the counters to the host after a batch of ``updates`` edges on CUDA; here always."""
        return True

    def poll(self) -> None:
        """Update :attr:`counters`, on CUDA from the last copy that has reached the host; never waits."""
        if self.device.is_cuda:
            self.counters.poll()
        else:
            self.counters.read(self.counters_array())

    def known(self) -> np.ndarray:
        """Return the exact counters, ``int64[num_counters]`` on the host; on CUDA waits for the device."""
        return self.counters.read(self.counters_array())

    @property
    def num_edges(self) -> int:
        """Exact number of edges; on CUDA reading it waits for the device."""
        return int(self.known()[self.edges_at])

    def edge_bound(self) -> int:
        """Return an upper bound of the number of edges, from the counters as last polled; exact on the CPU."""
        return int(self.counters.values[self.edges_at] + self.counters.unseen[0])

    def edges(self) -> EdgeList:
        """Return a copy of all edges, ordered by source; on CUDA waits for the device."""
        return fallbacks.edges_of(self.view(), self.device)[1]

    # -- inside --------------------------------------------------------------------------------------------------------

    def new_batch(self, keys: Array, order: Array, guard: Array | int | None) -> LocatedBatch:
        """Return a located batch with these keys, order and guard, with all else uninitialised."""
        xp, size = self.device.xp, len(keys)
        rank = xp.empty(size, np.int32) if self.device.is_cuda else None
        return LocatedBatch(keys, order, xp.empty(size, np.uint8), xp.empty(size, np.int64), size, rank, guard)

    def bits(self, weight: Array | None) -> Array:
        """Return weights as bit patterns (no copy); ``uint8[0]`` for None."""
        return self._no_weights if weight is None else weight.view(self._bits_dtype)

    def _change(self, edges: EdgeList, guard: Array | None, kind: int) -> Outcome:
        """Insert (``kind`` is ``ABSENT``) or delete (``PRESENT``) edges; return the outcome, one entry per edge."""
        with out_of_memory(self.name):
            outcome = self.new_outcome(len(edges.src))
            if not len(edges.src) or self.is_invalid(guard):
                return outcome
            planned = self._planned(*self._sorted(edges.src, edges.dst), guard, kind)
        self._apply(planned, edges, outcome, kind)
        return outcome

    def _planned(self, keys: Array, order: Array, guard: Array | int | None, kind: int) -> tuple[LocatedBatch, Any]:
        """Locate a sorted batch and reserve memory for it; return the located batch and the reservation."""
        self.poll()
        batch = self.locate(keys, order, guard, kind)
        if kind == PRESENT:
            return batch, self.reserve_deletion(batch)
        if self.log is not None:
            self.log.reserve(batch.most, self)
        return batch, self.reserve_insertion(batch)

    def _apply(self, planned: tuple[LocatedBatch, Any], edges: EdgeList, outcome: Outcome, kind: int) -> None:
        """Apply the located batch and reservation ``planned``, write ``outcome``, and log new edges behind a mark."""
        self._carry_out(planned, self.bits(edges.weight), self._report(outcome), kind)
        if kind == ABSENT and self.log is not None:
            self.log.add(edges.src, edges.dst, outcome.status)

    def _report(self, outcome: Outcome) -> Report:
        return Report(outcome.status, self.bits(outcome.weight))

    def _carry_out(self, planned: tuple[LocatedBatch, Any], weight: Array | int, report: Report, kind: int) -> None:
        """Apply the located batch and reservation ``planned``, and write ``report``."""
        batch, reservation = planned
        if kind == PRESENT:
            self.apply_deletion(batch, reservation, report)
            self.queued(0, batch.most)
        else:
            self.apply_insertion(batch, reservation, weight, report)
            self.queued(batch.most, 0)

    def _sorted(self, src: Array, dst: Array) -> tuple[Array, Array]:
        """Sort a batch; return its keys (``src << 32 | dst``), ascending, and the position of each in the batch."""
        if self.sorter is not None:
            return self.sorter.sort(src, dst, self.num_vertices)
        return sort_batch(self.device, src, dst, self.num_vertices)

    # -- memory, marks, copies -----------------------------------------------------------------------------------------

    def admit(self, size: int) -> None:
        """Raise ``CapacityError`` if ``size`` more bytes would exceed the memory limit."""
        self.pool.admit(size)

    def bytes_held(self) -> int:
        """Return the bytes that count against the memory limit; does not wait."""
        return self.pool.held

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return ``{part: (bytes used, bytes allocated)}`` of all arrays; on CUDA waits for the device."""
        if self.log is not None:
            return self.pool.memory({**self.used(), "log": self.log.count()})
        parts = self.pool.memory(self.used())
        del parts["log"]
        return parts

    def reserve(self, num_edges: int) -> None:
        """Reserve memory for inserting any ``num_edges`` edges; on CUDA waits if there may be too little memory."""
        with out_of_memory(self.name):
            if self.log is not None:
                self.log.reserve(num_edges, self)
            self.reserve_edges(num_edges)

    def compact(self) -> None:
        """Compact the log of insertions; backends extend it, see :meth:`suricate.store.Store.compact`."""
        if self.log is not None:
            self.log.compact(self)

    def resize(self, num_vertices: int) -> None:
        """Change the number of vertices; edges are not copied."""
        self.resizing(num_vertices)()

    def resizing(self, num_vertices: int) -> Callable[[], None]:
        """Prepare :meth:`resize`, see :meth:`suricate.store.Store.resizing`."""
        return partial(self.take_vertices, num_vertices, self.resized_vertices(num_vertices))

    def resized_vertices(self, num_vertices: int) -> Mapping[str, Array]:
        """Return copies of the arrays by vertex with ``num_vertices`` entries; raises ``CapacityError``; here none."""
        return {}

    def take_vertices(self, num_vertices: int, arrays: Mapping[str, Array]) -> None:
        """Make ``arrays``, which :meth:`resized_vertices` returned, those of the store; must not fail."""
        self.pool.attach(arrays)
        self.num_vertices = num_vertices

    def keep_rows_of_pool(self, rows: Array) -> None:
        """Keep some rows: what backends with ``pool.by_row`` set :meth:`suricate.store.Store.keep_rows` to."""
        if self.kept_rows is not None and np.array_equal(self.kept_rows, rows):
            return
        before = self.pool.rows.kept.clip(0, self.num_vertices)
        self.pool.keep(np.concatenate((before, rows)))  # before any edge goes
        with out_of_memory(self.name):
            for begin, end in without(before, joined(rows)).tolist():
                self.delete_vertices(self.device.xp.arange(begin, end, dtype=np.uint32))
        self.pool.keep(rows)
        self.kept_rows = rows

    def mark(self) -> None:
        """Set the mark: log insertions from now on, in an empty log."""
        self.log = InsertLog(self.pool)

    @property
    def has_mark(self) -> bool:
        """Whether :meth:`mark` was called, so that insertions are logged."""
        return self.log is not None

    def updated(self) -> EdgeList:
        """Return the edges inserted since :meth:`mark` that are still stored, from the log; all without a mark."""
        return self.edges() if self.log is None else self.log.edges(self)

    def copy_to(self, device: Device) -> Self:
        """Return a copy of this store on ``device``, by copies of its arrays."""
        other = self.empty_on(device)
        logged = 0 if self.log is None else self.log.count()
        other.pool.copy_from(self.pool, {**self.extents(), "log": logged})
        other.counters.read(other.counters_array())
        if self.log is not None:
            other.log = InsertLog(other.pool, logged)
        return other


def _sorter(device: Device) -> Sorter | None:
    """Return a new :class:`Sorter` for a CUDA device; None on the CPU."""
    if not device.is_cuda:
        return None
    from suricate.store.sorter import Sorter

    return Sorter(device)


class InsertLog:
    """The keys of the edges inserted since a mark, in the array ``log`` of a store.

    An edge that is deleted and inserted again is logged again. When the array is full and has more keys than the store
    has edges, repeats and deleted edges are dropped. So the log has at most about as many keys as the store has edges.
    In the methods ``store`` is the store whose insertions are logged; it tells which edges are still stored.

    Args:
        pool: the manager of the store's arrays, among them ``log``.
        count: number of keys that the array has already; 0: the array is replaced by an empty one.
    """

    SCRATCH = 48  #: bytes per key while repeats are dropped

    def __init__(self, pool: ArrayManager[Any], count: int = 0) -> None:
        self._pool, self._device = pool, pool.device
        self._count = pool.device.xp.full(1, count, np.int64)
        self._seen = Counters(pool.device, 1)
        self._seen.read(self._count)
        if not count:
            pool.attach({"log": pool["log"][:0].copy()})  # frees that of the mark before

    def count(self) -> int:
        """Return the number of keys; on CUDA waits for the device."""
        return int(self._seen.read(self._count)[0])

    def reserve(self, most: int, store: Store) -> None:
        """Make room for ``most`` more keys, or raise ``CapacityError``; on CUDA it may wait for the device."""
        self._seen.poll()
        if int(self._seen.values[0] + self._seen.unseen[0]) + most <= len(self._pool["log"]):
            return
        if self.count() > store.num_edges:
            self._drop_repeats(store)
        held = self.count()
        ahead = 8 if self._device.is_cuda else 1  # so that the bound seldom has to be made exact, which waits
        first_that_fits(lambda more: self._pool.grow("log", held + more), ahead * most, most)

    def add(self, src: Array, dst: Array, status: Array) -> None:
        """Log the edges ``src[i]`` to ``dst[i]`` of a batch whose ``status[i]`` is ``NEW``."""
        if self._device.is_cuda:
            from suricate.primitives import cuda

            cuda.log_new(src, dst, status, self._count, self._pool["log"])
            self._seen.charge(len(src), 0)
            self._seen.post(self._count)
            return
        new = np.flatnonzero(status == NEW)
        held = int(self._count[0])
        self._pool["log"][held : held + len(new)] = edge_keys(src[new], dst[new])
        self._count[0] = held + len(new)
        self._seen.read(self._count)

    def compact(self, store: Store) -> None:
        """Drop repeats and deleted edges, and free unused memory as far as possible."""
        with suppress(CapacityError):
            self._drop_repeats(store)
            self._pool.resize("log", self.count(), self.count())

    def edges(self, store: Store) -> EdgeList:
        """Return the logged edges that are still in ``store``, ordered by source, with their present weights."""
        keys = sorted_distinct(self._pool["log"][: self.count()].copy(), self._device.xp)
        src, dst = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
        there = (src < store.num_vertices) & (dst < store.num_vertices)  # others went when the store shrank
        src, dst = src[there], dst[there]
        found, weight = store.find(src, dst)
        return EdgeList(src[found], dst[found], None if weight is None else weight[found])

    def _drop_repeats(self, store: Store) -> None:
        self._pool.admit(self.SCRATCH * self.count())
        edges = self.edges(store)
        kept = len(edges.src)
        self._pool["log"][:kept] = edge_keys(edges.src, edges.dst)
        self._count[0] = kept
        self._seen.read(self._count)
