"""The backend ``hornet_like``: each adjacency in one block of power-of-two capacity, after Hornet (see ``layout.py``).

Hornet: Busato, Green, Bombieri, Bader, "Hornet: An Efficient Data Structure for Dynamic Sparse Graphs and Matrices on
GPUs", HPEC 2018.
"""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar

from suricate.backends.hornet_like import check, ledger
from suricate.backends.hornet_like.kernels import HornetKernels, Plan
from suricate.backends.hornet_like.layout import BLOCKS, COUNTERS, EDGES, FREE, GROW, USED
from suricate.backends.hornet_like.pool import HornetPool
from suricate.batch_store import BatchStore
from suricate.devices import Array
from suricate.errors import CapacityError
from suricate.primitives import out_of_memory
from suricate.primitives.located import LocatedBatch, Report
from suricate.types import StoreView


class HornetStore(BatchStore[Plan | None, Plan | None]):
    """Power-of-two blocks. See :class:`suricate.store.Store` for the arguments.

    ``degree_hints`` are ignored: a block is carved when the first edges of its vertex arrive, in the size they need.
    """

    name: ClassVar[str] = "hornet_like"
    num_counters: ClassVar[int] = COUNTERS

    pool: HornetPool
    kernels: HornetKernels

    def make_pool(self) -> HornetPool:
        """See :meth:`BatchStore.make_pool`."""
        return HornetPool(self.name, self.num_vertices, self.device, self.weight_dtype, self.memory_limit)

    def make_kernels(self) -> HornetKernels:
        """See :meth:`BatchStore.make_kernels`."""
        if self.device.is_cuda:
            from suricate.backends.hornet_like import cuda

            return cuda
        from suricate.backends.hornet_like import cpu

        return cpu

    # -- what BatchStore asks ------------------------------------------------------------------------------------------

    def counters_array(self) -> Array:
        """Return the counters (see ``layout.py``)."""
        return self.pool["counters"]

    def used(self) -> dict[str, int]:
        """See :meth:`BatchStore.used`."""
        counters = self.known()
        return {"blocks": int(counters[EDGES]), "free stacks": int(counters[FREE:GROW].sum())}

    def extents(self) -> dict[str, int]:
        """See :meth:`BatchStore.extents`: all carved slots."""
        return {"blocks": int(self.known()[USED])}

    def locate(self, keys: Array, order: Array, guard: Array | None, kind: int) -> LocatedBatch:
        """See :meth:`BatchStore.locate`."""
        batch = self.new_batch(keys, order, guard)
        self.kernels.locate(self.pool.graph, batch, kind, self._edge_bound())
        return batch

    def reserve_edges(self, num_edges: int) -> None:
        """See :meth:`BatchStore.reserve_edges`."""
        known = self.counters.values
        if self.device.is_cuda:
            self.poll()
            if self.pool.holds(ledger.worst_demand(known, self.counters.unseen, num_edges, 0, self.num_vertices)):
                return
        known = self.known()
        begin, end, klass = (self.device.to_numpy(self.pool[name]) for name in ("begin", "end", "klass"))
        grow = ledger.pressure(end - begin, klass, GROW)
        self.pool.ensure(ledger.reserve_demand(known, grow, num_edges, self.num_vertices))

    def reserve_insertion(self, batch: LocatedBatch) -> Plan | None:
        """See :meth:`BatchStore.reserve_insertion`; returns the plan of the migrations."""
        if not batch.most:
            return None
        plan = self.kernels.plan_insertion(self.pool.graph, batch, self._edge_bound())
        self._reserve(plan, batch.most, 0)
        return plan

    def apply_insertion(self, batch: LocatedBatch, reservation: Plan | None, weight: Array, report: Report) -> None:
        """See :meth:`BatchStore.apply_insertion`."""
        self.kernels.insert(self.pool.graph, batch, reservation, weight, report)

    def reserve_deletion(self, batch: LocatedBatch) -> Plan | None:
        """See :meth:`BatchStore.reserve_deletion`; without memory to migrate down, blocks stay as large as they are."""
        if not batch.most:
            return None
        graph, edges = self.pool.graph, self._edge_bound()
        plan = self.kernels.plan_deletion(graph, batch, edges, may_shrink=True)
        try:
            self._reserve(plan, 0, batch.most)
        except CapacityError:
            plan = self.kernels.plan_deletion(graph, batch, edges, may_shrink=False)
            self.pool.fit_all_blocks(self.known()[BLOCKS:FREE])
            self.pool.tight = False
        return plan

    def apply_deletion(self, batch: LocatedBatch, reservation: Plan | None, report: Report) -> None:
        """See :meth:`BatchStore.apply_deletion`."""
        self.kernels.delete(self.pool.graph, batch, reservation, report)

    def _reserve(self, plan: Plan, inserted: int, deleted: int) -> None:
        """Reserve for a planned batch: by the host's bounds or, if memory is short, by what is really needed."""
        if self.device.is_cuda:
            try:
                known, unseen = self.counters.values, self.counters.unseen
                self.pool.ensure(ledger.worst_demand(known, unseen, inserted, deleted, self.num_vertices))
                return
            except CapacityError:
                pass
        self.pool.ensure(ledger.exact_demand(self.known(), plan.need(), inserted + deleted, self.num_vertices))

    def _edge_bound(self) -> int:
        """Return an upper bound of the number of edges, from the counters as last polled."""
        return int(self.counters.values[EDGES] + self.counters.unseen[0])

    # -- the rest ------------------------------------------------------------------------------------------------------

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """See :meth:`suricate.store.Store.find`; sorted, so that a long adjacency is read once."""
        return self.find_sorted(src, dst)

    @property
    def num_edges(self) -> int:
        """Exact number of edges; on CUDA reading it waits for the device."""
        return int(self.counters_array()[EDGES])

    def delete_vertices(self, vertices: Array) -> None:
        """See :meth:`suricate.store.Store.delete_vertices`; no edge is touched."""
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
        self.queued(0, count)

    def resize(self, num_vertices: int) -> None:
        """See :meth:`suricate.store.Store.resize`; copies the index, not the edges."""
        self.pool.resize_vertices(num_vertices)
        self.num_vertices = num_vertices

    def compact(self) -> None:
        """Repack, where memory allows old and new blocks side by side; waits for the device."""
        super().compact()
        with suppress(CapacityError), out_of_memory(self.name):
            self.pool.compact()
        self.known()

    def view(self) -> StoreView:
        """Return a contiguous view; adjacencies are in no order."""
        from suricate.cursors.contiguous import contiguous_view

        begin, end, _, dst, weight, *_ = self.pool.graph
        return contiguous_view(begin, end, dst, None if self.weight_dtype is None else weight.view(self.weight_dtype))

    def check(self) -> None:
        """Verify every invariant of the layout on the CPU; raises ``CheckFailed``."""
        check.check(self.pool, self.num_vertices, self.counters)
