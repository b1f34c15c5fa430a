"""The backend ``csr_baseline``: compressed sparse rows, merged into new arrays by every batch (see ``layout.py``).

On CUDA the exact number of edges lives on the device; the host knows an upper bound and allocates for that.
"""

from __future__ import annotations

from typing import ClassVar

from suricate.backends.csr_baseline import check, ledger
from suricate.backends.csr_baseline.kernels import CsrKernels
from suricate.backends.csr_baseline.layout import Rebuild
from suricate.backends.csr_baseline.pool import CsrPool
from suricate.batch_store import BatchStore
from suricate.devices import Array
from suricate.errors import CapacityError
from suricate.primitives import copy_segments, out_of_memory
from suricate.primitives.located import LocatedBatch, Report
from suricate.types import EdgeList, StoreView


class CsrStore(BatchStore[Rebuild | None, Rebuild | None]):
    """Sorted CSR. See :class:`suricate.store.Store` for the arguments; ``degree_hints`` are of no use here.

    A rebuild holds old and new arrays at once, so at most half of ``memory_limit`` is used between updates.
    """

    name: ClassVar[str] = "csr_baseline"
    num_counters: ClassVar[int] = 1

    pool: CsrPool
    kernels: CsrKernels

    def make_pool(self) -> CsrPool:
        """See :meth:`BatchStore.make_pool`."""
        return CsrPool(self.name, self.num_vertices, self.device, self.weight_dtype, self.memory_limit)

    def make_kernels(self) -> CsrKernels:
        """See :meth:`BatchStore.make_kernels`."""
        if self.device.is_cuda:
            from suricate.backends.csr_baseline import cuda

            return cuda
        from suricate.backends.csr_baseline import cpu

        return cpu

    # -- what BatchStore asks ------------------------------------------------------------------------------------------

    def counters_array(self) -> Array:
        """Return the number of edges."""
        return self.pool["offsets"][-1:]

    def used(self) -> dict[str, int]:
        """See :meth:`BatchStore.used`."""
        return {"edges": self.num_edges, "spare": 0}

    def locate(self, keys: Array, order: Array, guard: Array | None, kind: int) -> LocatedBatch:
        """See :meth:`BatchStore.locate`; slots are places in the order of all edges."""
        batch = self.new_batch(keys, order, guard)
        self.kernels.locate(self.pool.graph, batch, kind)
        return batch

    def reserve_edges(self, num_edges: int) -> None:
        """See :meth:`BatchStore.reserve_edges`; updates then swap two pairs of arrays until they are full."""
        self.poll()
        if not self.pool.is_reserved(self.edge_bound() + num_edges):
            self.pool.reserve(self.num_edges, num_edges)

    def reserve_insertion(self, batch: LocatedBatch) -> Rebuild | None:
        """See :meth:`BatchStore.reserve_insertion`; on CUDA waits if the bounds do not fit into memory."""
        if not batch.most:
            return None
        bound = self.edge_bound()
        try:
            return Rebuild(self.pool.target(bound + batch.most), bound)
        except CapacityError:  # the bound counts duplicates and edges that are there; now the exact size matters
            bound, batch.most = self.num_edges, batch.count()
            return Rebuild(self.pool.target(bound + batch.most), bound)

    def apply_insertion(self, batch: LocatedBatch, reservation: Rebuild | None, weight: Array, report: Report) -> None:
        """See :meth:`BatchStore.apply_insertion`."""
        self.kernels.insert(self.pool.graph, reservation, batch, weight, report)
        if reservation is not None:
            self.pool.replace(reservation.target)

    def reserve_deletion(self, batch: LocatedBatch) -> Rebuild | None:
        """See :meth:`BatchStore.reserve_deletion`."""
        if self.kernels.DELETES_IN_PLACE:
            return None
        bound = self.edge_bound()
        return Rebuild(self.pool.target(bound), bound)

    def apply_deletion(self, batch: LocatedBatch, reservation: Rebuild | None, report: Report) -> None:
        """See :meth:`BatchStore.apply_deletion`."""
        self.kernels.delete(self.pool.graph, reservation, batch, report)
        if reservation is not None:
            self.pool.replace(reservation.target)

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """See :meth:`suricate.store.Store.find`; a binary search per edge."""
        found, weight = self.new_answer(len(src))
        self.kernels.find(self.pool.graph, src, dst, found, self.bits(weight))
        return found, weight

    # -- the rest ------------------------------------------------------------------------------------------------------

    @property
    def num_edges(self) -> int:
        """Exact number of edges; on CUDA reading it waits for the device."""
        return int(self.known()[0])

    def edge_bound(self) -> int:
        """Return an upper bound of the number of edges, exact on the CPU, as last polled; waits if it is loose."""
        bound = ledger.edge_bound(int(self.counters.values[0]), int(self.counters.unseen[0]))
        return self.num_edges if bound is None else bound

    def delete_vertices(self, vertices: Array) -> None:
        """See :meth:`suricate.store.Store.delete_vertices`; one rebuild."""
        self.poll()
        xp, bound, old = self.device.xp, self.edge_bound(), self.pool.graph
        with out_of_memory(self.name):
            target = self.pool.target(bound)
        degrees = old.offsets[1:] - old.offsets[:-1]
        degrees[vertices] = 0
        target.offsets[0] = 0
        xp.cumsum(degrees, out=target.offsets[1:])
        stored, kept = (EdgeList(part.dst[:0], part.dst, part.weight) for part in (old, target))
        copy_segments(self.device, target.offsets, old.offsets[:-1], target.offsets[:-1], bound, stored, kept)
        self.pool.replace(target)
        self.queued(0, 0)

    def resize(self, num_vertices: int) -> None:
        """See :meth:`suricate.store.Store.resize`; copies the offsets."""
        self.poll()
        self.pool.resize_vertices(num_vertices, self.edge_bound())
        self.num_vertices = num_vertices

    def compact(self) -> None:
        """Give back what was reserved and cut the arrays to the number of edges."""
        super().compact()
        self.pool.compact(self.num_edges)

    def view(self) -> StoreView:
        """Return a contiguous view with ascending adjacencies."""
        from suricate.cursors.contiguous import contiguous_view

        offsets, dst, weight = self.pool.graph
        return contiguous_view(
            offsets[:-1], offsets[1:], dst, None if self.weight_dtype is None else weight.view(self.weight_dtype),
            ascending=True,
        )  # fmt: skip

    def check(self) -> None:
        """Verify every invariant of the layout on the CPU; raises ``CheckFailed``."""
        self.poll()
        check.check(self.pool, self.num_vertices, self.edge_bound())
