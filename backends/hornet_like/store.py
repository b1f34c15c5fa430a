"""The backend ``hornet_like``: each adjacency in one block of power-of-two capacity, after Hornet (see ``layout.py``).

Hornet: Busato, Green, Bombieri, Bader, "Hornet: An Efficient Data Structure for Dynamic Sparse Graphs and Matrices on
GPUs", HPEC 2018. Blocks are *carved* from a pool; free ones lie on a stack per class, by size. The *allowance* is a
number of further updates for which the host's bounds show that pool and stacks suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from suricate.backends.hornet_like import check, ledger
from suricate.backends.hornet_like.kernels import HornetKernels, Plan
from suricate.backends.hornet_like.layout import BLOCKS, COUNTERS, EDGES, FREE, GROW, USED
from suricate.backends.hornet_like.pool import HornetPool
from suricate.base.devices import Array
from suricate.base.parameters import flag
from suricate.base.types import StoreView
from suricate.errors import CapacityError
from suricate.intake.batches import DeviceBatch
from suricate.primitives import out_of_memory
from suricate.primitives.located import LocatedBatch, Report
from suricate.store import StoreArguments, fallbacks
from suricate.store.batch_store import BatchStore

if TYPE_CHECKING:
    from suricate.intake.batches import StoreBatch

AHEAD = 16  #: number of batches like one that needs the host's bounds that these should cover, or at least
FEW_AHEAD = 2  #: this number: both halves of one,
MANY = 1 << 20  #: unless they have more edges than this, and more than are stored


class HornetStore(BatchStore[Plan | None, Plan | None]):
    """Power-of-two blocks. See :class:`suricate.store.Store` for the arguments.

    ``degree_hints`` are ignored: a vertex gets its first block, of the size needed, with its first edges.

    Args:
        sorted_adjacencies: keep every adjacency ascending, so that queries and intersections need not scan.
    """

    name: ClassVar[str] = "hornet_like"
    num_counters: ClassVar[int] = COUNTERS
    edges_at: ClassVar[int] = EDGES
    knobs: ClassVar[dict[str, tuple]] = {"sorted_adjacencies": (True, False)}

    pool: HornetPool
    kernels: HornetKernels
    keep_rows = BatchStore.keep_rows_of_pool

    def __init__(self, num_vertices: int, *, sorted_adjacencies: bool = True, **common: Unpack[StoreArguments]) -> None:
        self.ascending = flag("hornet_like: sorted_adjacencies", sorted_adjacencies)
        self.reads_addresses = self.ascending
        self._allowance = 0  # edges that may be inserted or deleted before the host's bounds are worked out again
        self._uncovered, self._tried = 1 << 62, -1  # a batch whose bound did not fit, by the counters that arrived then
        self._since_post = 0
        self._stack_allowance = 0  # the same, of free blocks alone
        self._may_refuse = self.ascending  # whether the kernel that applies a batch may refuse it
        super().__init__(num_vertices, **common)

    def options(self) -> dict[str, Any]:
        """Return the backend option as chosen: ``{"sorted_adjacencies": bool}``."""
        return {"sorted_adjacencies": self.ascending}

    def make_pool(self) -> HornetPool:
        """Return the arrays of an empty store; raises ``CapacityError``."""
        limit = self.memory_limit
        return HornetPool(self.name, self.num_vertices, self.device, self.weight_dtype, limit, self.kept_rows)

    def make_kernels(self) -> HornetKernels:
        """Return the kernels on CUDA for ascending or unordered rows, or the loops on the CPU."""
        if not self.device.is_cuda:
            from suricate.backends.hornet_like.cpu import HornetCpu

            return HornetCpu(ascending=self.ascending)
        if self.ascending:
            from suricate.backends.hornet_like.cuda_sorted import HornetSorted

            return HornetSorted(self.device, self.weight_dtype)
        from suricate.backends.hornet_like import cuda

        return cuda

    # -- what BatchStore asks ------------------------------------------------------------------------------------------

    def used(self) -> dict[str, int]:
        """Return how many edge slots and entries of stacks are in use, by group of arrays; on CUDA waits."""
        counters = self.known()
        return {"blocks": int(counters[EDGES]), "free stacks": int(counters[FREE:GROW].sum())}

    def extents(self) -> dict[str, int]:
        """Return ``{"blocks": n}``: a copy needs as many slots in the arrays of this group as are carved."""
        return {"blocks": int(self.known()[USED])}

    def locate(self, keys: Array, order: Array, guard: Array | int | None, kind: int) -> LocatedBatch:
        """Return the sorted batch, located; with ascending rows on CUDA not located: the update does that itself.

        See :meth:`BatchStore.locate`.
        """
        if self.ascending and self.device.is_cuda:
            return LocatedBatch(keys, order, keys, keys, len(keys), guard=guard)
        batch = self.new_batch(keys, order, guard)
        self.kernels.locate(self.pool.graph, batch, kind, self.edge_bound())
        return batch

    def reserve_edges(self, num_edges: int) -> None:
        """Make pool and stacks large enough for any ``num_edges`` more edges; raises ``CapacityError``."""
        if self.device.is_cuda:
            if 2 * num_edges <= self._allowance:
                return
            self.poll()
            if self._work_out(0, 0, self._aheads(num_edges)):
                return
        known = self.known()
        *ahead, needed = self.amounts_to_reserve(num_edges)
        demands = [ledger.worst_demand(known, np.array([more, more]), more, more, self.num_vertices) for more in ahead]
        held = self.pool.ensure(*demands, ledger.reserve_demand(known, needed, self.num_vertices))
        self._allowance = self._stack_allowance = 2 * ahead[held] if held < len(ahead) else 0
        if self.device.is_cuda and not self._allowance:
            self._work_out(0, 0, self._aheads(num_edges)[1:])

    def reserve_insertion(self, batch: LocatedBatch) -> Plan | None:
        """Reserve memory for an insertion; return its plan, None if no edge is new. See :class:`BatchStore`."""
        if not batch.most:
            return None
        plan = self.kernels.plan(self.pool.graph, batch, self.edge_bound(), deleting=False)
        self._reserve(plan, batch.most, 0)
        return plan

    def apply_insertion(self, batch: LocatedBatch, reservation: Plan | None, weight: Array, report: Report) -> None:
        """Apply an insertion; if the kernel refuses it, as the pool is too small, grow the pool and launch it again.

        ``reservation`` is its plan. See :meth:`BatchStore.apply_insertion`.
        """
        if not self.kernels.insert(self.pool.graph, batch, reservation, weight, report):
            with out_of_memory(self.name):
                self._grow_for(reservation, batch.most)
            self.kernels.insert(self.pool.graph, batch, reservation, weight, report)

    def reserve_deletion(self, batch: LocatedBatch) -> Plan | None:
        """Reserve memory for a deletion; return its plan, None if no edge of it is stored. See :class:`BatchStore`.

        Without memory to move vertices to smaller blocks, blocks stay as large as they are.
        """
        if not batch.most:
            return None
        plan = self.kernels.plan(self.pool.graph, batch, self.edge_bound(), deleting=True)
        try:
            self._reserve(plan, 0, batch.most)
        except CapacityError:
            plan = self._stay(batch)
        return plan

    def _stay(self, batch: LocatedBatch) -> Plan:
        """Return the plan of a deletion that leaves blocks as large as they are, for lack of memory."""
        plan = self.kernels.plan(self.pool.graph, batch, self.edge_bound(), deleting=True, may_shrink=False)
        self.pool.fit_all_blocks(self.known()[BLOCKS:FREE])
        self.pool.tight = False
        return plan

    def apply_deletion(self, batch: LocatedBatch, reservation: Plan | None, report: Report) -> None:
        """Apply a deletion; if the kernel refuses it, grow the pool or leave blocks as they are, and launch it again.

        ``reservation`` is its plan. See :meth:`BatchStore.apply_deletion`.
        """
        if self.kernels.delete(self.pool.graph, batch, reservation, report):
            return
        try:
            self._grow_for(reservation, batch.most)
        except CapacityError:
            reservation = self._stay(batch)
        self.kernels.delete(self.pool.graph, batch, reservation, report)

    def _reserve(self, plan: Plan, inserted: int, deleted: int) -> None:
        """Reserve memory for a planned batch of ``inserted`` and ``deleted`` edges, unless bounds show that it fits.

        On CUDA only the stacks grow: ``plan.unchecked`` is set, so that the kernel refuses the batch if the pool is too
        small. Where kernels may not refuse a batch, the host waits for the exact numbers, and the pool grows, too.
        """
        updates = inserted + deleted
        if self.device.is_cuda:
            if self._covers(inserted, deleted):
                return
            if self._may_refuse:
                self._ensure_stacks(updates)
                plan.unchecked = True
                return
        self._grow_for(plan, updates)

    def _grow_for(self, plan: Plan | None, updates: int) -> None:
        """Reserve the memory that a batch of ``updates`` edges needs by its plan, which must not be None.

        Kernels then need not check it: ``plan.unchecked`` becomes False. On CUDA waits for the device.
        """
        assert plan is not None
        self.pool.ensure(ledger.exact_demand(self.known(), plan.need(), updates, self.num_vertices))
        plan.unchecked, self._stack_allowance = False, 0

    def _covers(self, inserted: int, deleted: int) -> bool:
        """Return whether the host's bounds show that pool and stacks suffice for ``inserted`` and ``deleted`` edges.

        The edges are first taken from the allowance. After a batch for which the bounds left no new allowance, a batch
        of as many edges or more returns False at once until newer counters arrive.
        """
        updates = inserted + deleted
        if updates <= self._allowance:
            self._allowance -= updates
            self._stack_allowance -= updates
            return True
        self._allowance = 0
        if updates >= self._uncovered and self.counters.arrivals == self._tried:
            return False
        covered = self._work_out(inserted, deleted, (*self._aheads(updates), 0))
        if not self._allowance:
            self._uncovered, self._tried = updates, self.counters.arrivals
        return covered

    def _work_out(self, inserted: int, deleted: int, aheads: tuple[int, ...]) -> bool:
        """Return whether pool and stacks suffice, by the host's bounds, for a batch and one of ``aheads`` more updates.

        The batch has ``inserted`` and ``deleted`` edges. The first number in ``aheads`` that fits becomes the
        allowance.
        """
        known, unseen = self.counters.values, self.counters.unseen
        for ahead in aheads:
            demand = ledger.worst_demand(known, unseen + ahead, inserted, deleted, self.num_vertices)
            if demand.slots <= len(self.pool["dst"]):
                try:
                    self.pool.ensure_stacks(demand.blocks)
                except CapacityError:
                    continue
                self._allowance = self._stack_allowance = ahead
                return True
        return False

    def _aheads(self, updates: int) -> tuple[int, ...]:
        """Return the allowances to try, the largest first: multiples of ``updates``, the size of a batch.

        The result is empty for a bulk load: if the largest exceeds both the number of edges and ``MANY``.
        """
        most = max(self.edge_bound(), MANY)
        return tuple([times * updates for times in (AHEAD, FEW_AHEAD) if AHEAD * updates <= most])

    def _ensure_stacks(self, updates: int) -> None:
        """Make the stacks long enough for the blocks that ``updates`` edges, and if possible later ones, may free."""
        if updates <= self._stack_allowance:
            self._stack_allowance -= updates
            return
        known, unseen = self.counters.values, self.counters.unseen
        for ahead in (*self._aheads(updates), 0):
            try:
                self.pool.ensure_stacks(ledger.stack_bounds(known, unseen + ahead, updates, self.num_vertices))
            except CapacityError:
                if not ahead:
                    raise
            else:
                self._stack_allowance = ahead
                return

    def _forget_bounds(self) -> None:
        """Set the allowances of pool and stacks to zero.

        The bounds that they follow from hold no longer after other changes than insertions and deletions of edges.
        """
        self._allowance = self._stack_allowance = 0
        self._uncovered = 1 << 62

    def is_behind(self, updates: int) -> bool:
        """Return whether to request exact counters behind a batch of ``updates`` edges on CUDA.

        They are requested before the allowance is used up.
        """
        self._since_post += updates
        if self._allowance >= AHEAD // 4 * updates or self._since_post <= min(self.edge_bound() // 64, 8 * updates):
            return False
        self._since_post = 0
        return True

    def apply(self, delete: StoreBatch | None, insert: StoreBatch | None) -> Callable[[], None] | None:
        """Prepare the batches ``delete`` and ``insert``; return the function that applies them, or None.

        From the first batch on that also goes to a second store, kernels must not refuse a batch: memory is reserved
        in both stores before either changes. See :meth:`BatchStore.apply`, also for when None is returned.
        """
        for batch in (delete, insert):
            if isinstance(batch, DeviceBatch) and not batch.alone:
                self._may_refuse = False
        return super().apply(delete, insert)

    # -- the rest ------------------------------------------------------------------------------------------------------

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Return whether edges (``src``, ``dst``) are stored, bool[n], and their weights or None.

        Ascending rows are searched; otherwise the edges are sorted, so that a long row is read once.
        """
        return fallbacks.find(self.view(), self.device, src, dst) if self.ascending else self.find_sorted(src, dst)

    def rows(self) -> tuple[Array | int, ...] | None:
        """Return the arrays of ascending rows (begin, end, destinations, weights as bits); None if no rows ascend."""
        begin, end, _, dst, weight, *_ = self.pool.graph
        return (begin, end, dst, weight) if self.ascending else None

    def delete_vertices(self, vertices: Array) -> None:
        """Free the blocks of the distinct ``vertices`` (uint32[k]); no edge is read or moved."""
        count = len(vertices)
        if not count:
            return
        self.poll()
        known, unseen = self.counters.values, self.counters.unseen
        with out_of_memory(self.name):
            try:
                self.pool.ensure_stacks(ledger.stack_bounds(known, unseen, count, self.num_vertices))
            except CapacityError:
                self.pool.fit_all_blocks(self.known()[BLOCKS:FREE])
        self.kernels.free_vertices(self.pool.graph, vertices)
        self._forget_bounds()
        self.queued(0, count)

    def resized_vertices(self, num_vertices: int) -> Mapping[str, Array]:
        """Return a copy of the index; see :meth:`BatchStore.resized_vertices`."""
        return self.pool.resized_vertices(num_vertices)

    def take_vertices(self, num_vertices: int, arrays: Mapping[str, Array]) -> None:
        """Make ``arrays`` the index; see :meth:`BatchStore.take_vertices`."""
        self._forget_bounds()
        super().take_vertices(num_vertices, arrays)

    def compact(self) -> None:
        """Make every block as small as its degree allows, if memory holds old and new blocks at once; waits on CUDA."""
        super().compact()
        self._forget_bounds()
        with suppress(CapacityError), out_of_memory(self.name):
            self.pool.compact()
        self.known()

    def view(self) -> StoreView:
        """Return a view with one range of slots per vertex; rows are ascending, or in no order."""
        from suricate.cursors.contiguous import contiguous_view

        begin, end, _, dst, weight, *_ = self.pool.graph
        weights = None if self.weight_dtype is None else weight.view(self.weight_dtype)
        return contiguous_view(begin, end, dst, weights, ascending=self.ascending)

    def check(self) -> None:
        """Verify every invariant of the layout on the CPU; raises ``CheckFailed``."""
        check.check(self.pool, self.num_vertices, self.counters, ascending=self.ascending)
