"""The backend ``gpma``: all edges in one ordered array with gaps, after GPMA+ (see ``layout.py``).

Sha, Li, He, Tan, "Accelerating Dynamic Graph Analytics on GPUs", PVLDB 11(1), 2017. A batch is sorted and finds its
leaves, of 32 slots each; leaves that it overfills are rebalanced together with their neighbours, level by level, in the
smallest segment that is not too full. The array as a whole moves only when it grows or shrinks. The *guard* of a vertex
is the entry behind its edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, Unpack, cast

import numpy as np

from suricate.backends.gpma import check, ledger
from suricate.backends.gpma.kernels import GpmaKernels
from suricate.backends.gpma.layout import COUNTERS, EDGES, GUARDS, LEAF, TOUCHED, Graph
from suricate.backends.gpma.pool import GpmaPool, spanned
from suricate.base.devices import Array, Device
from suricate.base.parameters import choice
from suricate.base.types import EdgeList, Outcome, StoreView
from suricate.errors import CapacityError
from suricate.intake.batches import DeviceBatch
from suricate.primitives import out_of_memory
from suricate.primitives.located import ABSENT, LOOKUP, LocatedBatch, Report
from suricate.store import StoreArguments, fallbacks
from suricate.store.array_manager import first_that_fits
from suricate.store.batch_store import BatchStore
from suricate.store.own_rows import joined, without

if TYPE_CHECKING:
    from suricate.backends.gpma.cuda import GpmaCuda
    from suricate.intake.batches import StoreBatch
    from suricate.intake.ingest import UnvalidatedBatch

DELETION = ("lazy", "strict")


class Reservation(NamedTuple):
    """Memory and plan of a batch: ``new``, arrays for the changed graph (None: it stays in its arrays), and ``plan``.

    ``plan`` is the result of :meth:`GpmaKernels.plan`; ``batch`` is the sorted batch, which for an insertion into new
    arrays is located.
    """

    new: Graph | None
    batch: LocatedBatch
    plan: Any


class Appended(NamedTuple):
    """The first vertex whose guard was put at the end last, and the leaf of that guard; valid until guards move."""

    first: int
    leaf: int


class GpmaStore(BatchStore[Reservation | None, Reservation | None]):
    """A packed memory array. See :class:`suricate.store.Store` for the other arguments; ``degree_hints`` are ignored.

    Args:
        deletion: ``"lazy"``: deleted edges leave gaps, which later insertions fill, and nothing is moved.
            ``"strict"``: also rebalance segments that became too empty, and shrink the array.
    """

    name: ClassVar[str] = "gpma"
    num_counters: ClassVar[int] = COUNTERS
    edges_at: ClassVar[int] = EDGES
    reads_addresses = True
    knobs: ClassVar[dict[str, tuple]] = {"deletion": DELETION}

    pool: GpmaPool
    kernels: GpmaKernels

    def __init__(self, num_vertices: int, *, deletion: str = "lazy", **common: Unpack[StoreArguments]) -> None:
        self._strict = choice("gpma: deletion", deletion, DELETION) == "strict"
        super().__init__(num_vertices, **common)
        self._appended: Appended | None = None
        low, high = self._range(self.kept_rows)
        self._appending(low, low, high, self.num_vertices)()

    def options(self) -> dict[str, Any]:
        """Return the backend option as chosen: ``{"deletion": str}``."""
        return {"deletion": DELETION[self._strict]}

    def make_pool(self) -> GpmaPool:
        """Return the arrays of a store without vertices; raises ``CapacityError``."""
        return GpmaPool(self.name, self.device, self.weight_dtype, self.memory_limit, self.kept_rows)

    def make_kernels(self) -> GpmaKernels:
        """Return the kernels on CUDA, or the loops on the CPU."""
        if self.device.is_cuda:
            from suricate.backends.gpma.cuda import GpmaCuda

            return GpmaCuda(self.device, self.weight_dtype)
        from suricate.backends.gpma import cpu

        return cpu

    # -- what BatchStore asks ------------------------------------------------------------------------------------------

    def used(self) -> dict[str, int]:
        """Return how many entries of each group of arrays are in use: leaves, and slots with an edge or a guard."""
        return {**self.extents(), "slots": self.pool.high - self.pool.low + self.num_edges}

    def extents(self) -> dict[str, int]:
        """Return how many entries of each group of arrays a copy needs: those of the leaves in use."""
        leaves = self.pool.leaves
        return {"slots": LEAF * leaves, "leaves": leaves, "fresh": leaves if self.pool.marked else 0}

    def is_behind(self, updates: int) -> bool:
        """Return whether to request exact counters from CUDA (see :func:`ledger.is_behind`); ``updates``: not used."""
        return ledger.is_behind(self.pool.leaves, self._most_entries(), sum(self.counters.unseen.tolist()))

    def locate(self, keys: Array, order: Array, guard: Array | int | None, kind: int) -> LocatedBatch:
        """Return the sorted batch, located; on CUDA only if ``kind`` is ``LOOKUP``: updates locate their batches.

        The slot of an absent edge is the one behind the last edge below it. See :meth:`BatchStore.locate`.
        """
        if self.device.is_cuda and kind != LOOKUP:
            return LocatedBatch(keys, order, keys, keys, len(keys), guard=guard)
        return self._located(keys, order, guard, kind)

    def _located(self, keys: Array, order: Array, guard: Array | int | None, kind: int) -> LocatedBatch:
        batch = self.new_batch(keys, order, guard)
        self.kernels.locate(self.pool.graph, batch, kind)
        return batch

    def reserve_edges(self, num_edges: int) -> None:
        """Make the array large enough for ``num_edges`` more edges; raises ``CapacityError``."""
        self.poll()
        if self._holds(num_edges):
            return
        self.known()
        first_that_fits(self._hold, *self.amounts_to_reserve(num_edges))

    def _hold(self, num_edges: int) -> None:
        """Make the array grow unless it has space for ``num_edges`` further edges."""
        if not self._holds(num_edges):
            self._rebuild(ledger.reserved(self._most_entries() + num_edges, self.pool.leaves))

    def reserve_insertion(self, batch: LocatedBatch) -> Reservation | None:
        """Reserve memory for an insertion; return it with the plan, None if no edge is new.

        On CUDA wait for the exact numbers if by the host's bounds the array must grow. See
        :meth:`BatchStore.reserve_insertion`.
        """
        if not batch.most:
            return None
        graph = self.pool.graph
        if not self._holds(batch.most):
            self.known()
            if self.device.is_cuda and not self._holds(batch.most):
                located = self._located(batch.keys, batch.order, batch.guard, ABSENT)
                batch.most = located.most = located.count()
                batch = located
            if not self._holds(batch.most):
                new = self.pool.target(ledger.grown(self._most_entries() + batch.most))
                return Reservation(new, batch, self.kernels.plan(graph, batch, deleting=False, in_place=False))
        return Reservation(None, batch, self.kernels.plan(graph, batch, deleting=False))

    def apply_insertion(
        self, batch: LocatedBatch, reservation: Reservation | None, weight: Array, report: Report
    ) -> None:
        """Insert the absent edges of ``batch``, replace weights of the present ones, and write ``report``.

        ``reservation`` is the result of :meth:`reserve_insertion`, None if only weights change.
        """
        if reservation is None:
            self.report_insertion(batch, weight, report)
            return
        self._appended = None
        new, batch, plan = reservation
        self.kernels.insert(self.pool.graph, new, plan, batch, weight, report)
        if new is not None:
            self.pool.replace(new)

    def reserve_deletion(self, batch: LocatedBatch) -> Reservation | None:
        """Reserve memory for a strict deletion; return it with the plan, None if no edge of it is stored.

        The array shrinks if it is too empty and memory allows it. See :meth:`BatchStore.reserve_deletion`.
        """
        if not batch.most:
            return None
        entries = self._most_entries() - (0 if self.device.is_cuda else batch.most)
        new = None
        if ledger.too_empty(self.pool.leaves, entries):
            with suppress(CapacityError):
                new = self.pool.target(ledger.grown(entries))
        return Reservation(new, batch, self.kernels.plan(self.pool.graph, batch, deleting=True))

    def apply_deletion(self, batch: LocatedBatch, reservation: Reservation | None, report: Report) -> None:
        """Delete the present edges of ``batch``, a strict deletion, and write ``report``.

        ``reservation`` is the result of :meth:`reserve_deletion`, None if no edge of the batch is stored.
        """
        if reservation is None:
            self.report_deletion(batch, report)
            return
        self._appended = None
        self.kernels.delete(self.pool.graph, reservation.plan, batch, report)
        if reservation.new is not None:
            self._replace(reservation.new)

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Delete edges and return their outcome; see :meth:`suricate.store.Store.delete`.

        Unless deletion is strict, the batch is not sorted: its edges become gaps.
        """
        if self._strict:
            return super().delete(src, dst, guard=guard)
        with out_of_memory(self.name):
            outcome = self.new_outcome(len(src))
        if len(src) and not self.is_invalid(guard):
            self.kernels.clear_edges(self.pool.graph, src, dst, guard, self._report(outcome))
            self.queued(0, len(src))
        return outcome

    def apply(self, delete: StoreBatch | None, insert: StoreBatch | None) -> Callable[[], None] | None:
        """Prepare the batches ``delete`` and ``insert``; return the function that applies them, or None.

        A lazy deletion on CUDA is not sorted: it only leaves gaps. None for host batches, and if a batch that
        must be sorted is too large: the graph then calls :meth:`delete` and :meth:`insert`; see :class:`BatchStore`.
        """
        if self._strict or not isinstance(delete, DeviceBatch):
            return super().apply(delete, insert)
        if insert is None:
            return partial(self._clear, delete, ())
        if not isinstance(insert, DeviceBatch) or self.sorter is None:
            return None
        if not self.sorter.takes(insert.size, self.num_vertices):
            return None
        with out_of_memory(self.name):
            self.reserve(insert.size)
            return partial(self._clear, delete, [(insert, self._sorted_batch(insert))])

    def _clear(self, delete: DeviceBatch, later: Sequence[tuple[DeviceBatch, tuple[Array, Array, int, int]]]) -> None:
        """Apply the lazy deletion ``delete``, then plan and apply each insertion in ``later`` (one or none).

        An insertion is a pair: the batch, and what :meth:`BatchStore._sorted_batch` has returned for it, its sorted
        keys, their order in the batch, the address of its guard, and the kind of entries that change the graph.
        """
        cast("GpmaCuda", self.kernels).clear_batch(self.pool.graph, delete)
        self.queued(0, delete.size)
        delete.done = True
        for batch, located in later:
            with out_of_memory(self.name):
                planned = self._planned(*located)
            self._apply_batch(batch, planned)

    def query(self, edges: UnvalidatedBatch | EdgeList) -> tuple[Array, Array | None] | None:
        """Validate and look up an unvalidated batch in one launch; return found flags and weights.

        None is returned for an :class:`EdgeList`. See :meth:`BatchStore.query`.
        """
        if isinstance(edges, EdgeList):
            return None
        found, weight = self.new_answer(edges.size)
        cast("GpmaCuda", self.kernels).find_unvalidated(self.pool.graph, edges, found, self.bits(weight))
        return found, weight

    # -- the array -----------------------------------------------------------------------------------------------------

    def _most_entries(self) -> int:
        """Return an upper bound of the edges and guards, from the counters as last polled; exact on the CPU."""
        return self.pool.high - self.pool.low + self.edge_bound()

    def _holds(self, more: int) -> bool:
        return ledger.holds(self.pool.leaves, self._most_entries() + more)

    def _rebuild(self, leaves: list[int]) -> None:
        """Spread all entries over the first number of ``leaves`` that memory allows; raises ``CapacityError``."""
        self._replace(self.pool.target(leaves))

    def _replace(self, new: Graph) -> None:
        self._appended = None
        self.kernels.rebuild(self.pool.graph, new)
        self.pool.replace(new)

    def _range(self, rows: Array | None) -> tuple[int, int]:
        """Return the range of the vertices that get guards if ``rows`` are kept."""
        kept = np.array([[0, self.num_vertices]]) if rows is None else joined(rows)
        ends = kept[[0, -1], [0, 1]].tolist() if len(kept) else [0, 0]
        return min(ends[0], self.num_vertices), min(ends[1], self.num_vertices)

    def _appending(self, low: int, first: int, high: int, num_vertices: int) -> Callable[[], None]:
        """Prepare to put the guards of vertices ``[first, high)`` behind those of ``[low, first)``.

        The graph then has ``num_vertices`` vertices. Raises ``CapacityError``. If no guard has moved since vertices
        were last added, the last leaf of guards is filled up first.
        """
        leaf = self.pool.leaves
        if self._appended is not None:
            whole = (first - self._appended.first) // GUARDS
            first, leaf = self._appended.first + whole * GUARDS, self._appended.leaf + whole
        leaves = leaf + max(1, -(-(high - first) // GUARDS))
        self.pool.ensure_leaves(leaves)
        arrays = self.pool.resized_vertices(num_vertices)
        return partial(self._append, Appended(first, leaf), leaves, arrays, (low, high))

    def _append(self, appended: Appended, leaves: int, vertices: dict[str, Array], span: tuple[int, int]) -> None:
        self.pool.leaves = leaves
        self.pool.attach(vertices)
        self.pool.set_range(*span)
        self.num_vertices, self._appended = len(vertices["degree"]), appended
        self.kernels.append_guards(self.pool.graph, *appended)

    # -- the rest ------------------------------------------------------------------------------------------------------

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Return whether edges (``src``, ``dst``) are stored, bool[n], and their weights or None.

        An edge is searched for among the leaves of its row, then in one of them. See :meth:`suricate.store.Store.find`.
        """
        found, weight = self.new_answer(len(src))
        self.kernels.find(self.pool.graph, src, dst, found, self.bits(weight))
        return found, weight

    def degrees(self) -> Array:
        """Return a copy of the out-degrees, uint32[num_vertices]."""
        return self.pool["degree"].copy()

    def delete_vertices(self, vertices: Array) -> None:
        """Delete all out-edges of the distinct ``vertices`` (uint32[k]).

        They become gaps; with strict deletion they are deleted as a batch.
        """
        if self._strict:
            super().delete_vertices(vertices)
        elif len(vertices):
            self.kernels.clear_rows(self.pool.graph, vertices)
            self.counters.post(self.counters_array())

    def resize(self, num_vertices: int) -> None:
        """Change the number of vertices: guards are put behind all edges, or removed there."""
        self.resizing(num_vertices)()

    def resizing(self, num_vertices: int) -> Callable[[], None]:
        """Prepare :meth:`resize`, see :meth:`suricate.store.Store.resizing`."""
        if num_vertices > self.num_vertices and self.kept_rows is None:
            return self._appending(0, self.num_vertices, num_vertices, num_vertices)
        return partial(self._take_vertices, num_vertices, self.pool.resized_vertices(num_vertices))

    def _take_vertices(self, num_vertices: int, arrays: dict[str, Array]) -> None:
        self._drop_from(num_vertices)
        self.pool.attach(arrays)
        self.num_vertices = num_vertices

    def _drop_from(self, high: int) -> None:
        """Remove the guards of the vertices from ``high`` on, which have no edges."""
        pool, high = self.pool, max(high, self.pool.low)
        if high < pool.high:
            self.kernels.drop_guards(pool.graph, high)
            pool["guard"][high + (high > pool.low) : pool.high + 1] = 0
            pool.set_range(pool.low, high)
            self._appended = None

    def keep_rows(self, rows: Array) -> None:
        """Keep some rows, with guards from the first to the last; see :meth:`suricate.store.Store.keep_rows`."""
        if self.kept_rows is not None and np.array_equal(self.kept_rows, rows):
            return
        before = joined(np.array([[0, self.num_vertices]]) if self.kept_rows is None else self.kept_rows)
        with out_of_memory(self.name):
            self._span(np.concatenate((before, rows)))
            for begin, end in without(before.clip(0, self.num_vertices), joined(rows)).tolist():
                self.delete_vertices(self.device.xp.arange(begin, end, dtype=np.uint32))
        self.kept_rows = rows
        with suppress(CapacityError), out_of_memory(self.name):  # else rows that are empty keep their guards
            self._span(rows)

    def _span(self, rows: Array) -> None:
        """Have guards of the vertices from the first to the last of ``rows``; if memory lacks, nothing has changed.

        A range that begins elsewhere takes new arrays, into which all edges are inserted.
        """
        pool, before, (low, high) = self.pool, self.kept_rows, self._range(rows)
        if low < high and (low != pool.low or pool.low == pool.high):
            pool.admit_copy(rows, high - low, self.num_edges)
            self.kept_rows = rows
            try:
                other = cast("GpmaStore", super(BatchStore, self).copy_to(self.device))
            finally:
                self.kept_rows = before
            self.pool, self.counters, self._appended = other.pool, other.counters, None
            self.pool.besides = pool.besides
        elif high > pool.high:
            kept = pool.rows.kept
            pool.keep(spanned(rows))
            try:
                self._appending(low, pool.high, high, self.num_vertices)()
            except CapacityError:
                pool.keep(kept)
                raise
        else:
            self._drop_from(high)
            pool.keep(spanned(rows))

    def mark(self) -> None:
        """Start to record inserted edges for ``updated()``, and forget those recorded before."""
        with out_of_memory(self.name):
            self.pool.mark()

    @property
    def has_mark(self) -> bool:
        """Whether :meth:`mark` was called, so that insertions are recorded."""
        return self.pool.marked

    def updated(self) -> EdgeList:
        """Return the edges inserted since :meth:`mark` that are still there; without a mark, all edges."""
        return fallbacks.updated(self.view(), self.device) if self.pool.marked else self.edges()

    def compact(self) -> None:
        """Rebuild the array as full as it may be, if memory allows old and new arrays at once; waits for the device."""
        super().compact()
        self.known()
        with suppress(CapacityError), out_of_memory(self.name):
            self._rebuild([ledger.leaves_for(self._most_entries())])

    def copy_to(self, device: Device) -> Self:
        """Return a copy of this store on ``device``; the arrays are copied as they are."""
        other = super().copy_to(device)
        other._appended = self._appended
        return other

    def view(self) -> StoreView:
        """Return a view with ascending adjacencies; its segments are leaves, and each slot has its own owner."""
        from suricate.backends.gpma.cursor import GpmaView

        graph = self.pool.graph
        if self.pool.marked:
            self.kernels.list_touched(graph)
        weight = graph.weight if self.weight_dtype is None else graph.weight.view(self.weight_dtype)
        return StoreView(
            data=GpmaView(**{**graph._asdict(), "weight": weight}),
            cursor="suricate.backends.gpma.cursor",
            header=Path(__file__).parent / "device" / "cursor.cuh",
            num_vertices=self.num_vertices,
            weight_dtype=self.weight_dtype,
            constants={"TOUCHED": TOUCHED},
            can_scan=True,
            has_updated=True,
            ascending=True,
            find="sorted",
            owner_per="slot",
        )

    def check(self) -> None:
        """Verify every invariant of the layout on the CPU; raises ``CheckFailed``."""
        self.poll()
        check.check(self.pool, self.num_vertices, self._most_entries())
