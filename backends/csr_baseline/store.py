"""The backend ``csr_baseline``: compressed sparse rows, merged into new arrays by every batch (see ``layout.py``).

On CUDA the exact number of edges lives on the device; the host knows an upper bound and allocates for that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack, cast

import numpy as np

from suricate.backends.csr_baseline import check, ledger
from suricate.backends.csr_baseline.kernels import CsrKernels
from suricate.backends.csr_baseline.layout import MOST_BOTH, Graph, Rebuild
from suricate.backends.csr_baseline.pool import CsrPool
from suricate.base.devices import CPU, Array, Device
from suricate.base.parameters import choice
from suricate.base.types import EdgeList, Outcome, StoreView
from suricate.errors import CapacityError
from suricate.intake.batches import DeviceBatch
from suricate.primitives import copy_segments, out_of_memory
from suricate.primitives.located import ABSENT, LocatedBatch, Report
from suricate.store import StoreArguments
from suricate.store.batch_store import BatchStore

if TYPE_CHECKING:
    from suricate.backends.csr_baseline.cuda import CsrCuda
    from suricate.backends.csr_baseline.kernels import CpuKernels
    from suricate.intake.batches import StoreBatch
    from suricate.store.sorter import Sorter


class CsrStore(BatchStore[Rebuild | None, Rebuild | None]):
    """Sorted CSR. See :class:`suricate.store.Store` for the arguments; ``degree_hints`` are ignored.

    A rebuild holds old and new arrays at once, so at most half of ``memory_limit`` is used between updates.

    Args:
        rebuild: ``"merge"``: every batch is merged on the device; ``"upload"``: on CUDA the graph is kept on the host,
            changed there, and uploaded after every batch, as programs over static graphs do (``memory`` does not
            include the copy on the host).

    Raises:
        ParameterError: another ``rebuild``.
    """

    name: ClassVar[str] = "csr_baseline"
    num_counters: ClassVar[int] = 1
    reads_addresses = True

    pool: CsrPool
    kernels: CsrKernels

    def __init__(self, num_vertices: int, *, rebuild: str = "merge", **common: Unpack[StoreArguments]) -> None:
        self.rebuild = choice("csr_baseline: rebuild", rebuild, ("merge", "upload"))
        super().__init__(num_vertices, **common)
        self._host: CsrStore | None = None
        if rebuild == "upload" and self.device.is_cuda:
            self._host = CsrStore(num_vertices, weight_dtype=self.weight_dtype)

    def options(self) -> dict[str, Any]:
        """Return the backend option as chosen: ``{"rebuild": str}``."""
        return {"rebuild": self.rebuild}

    def make_pool(self) -> CsrPool:
        """Return the arrays of an empty store; raises ``CapacityError``."""
        return CsrPool(self.name, self.num_vertices, self.device, self.weight_dtype, self.memory_limit)

    def make_kernels(self) -> CsrKernels:
        """Return the kernels on CUDA, or the loops on the CPU."""
        if self.device.is_cuda:
            from suricate.backends.csr_baseline.cuda import CsrCuda

            return CsrCuda(self.device, self.weight_dtype)
        from suricate.backends.csr_baseline import cpu

        return cpu

    # -- what BatchStore asks ------------------------------------------------------------------------------------------

    def counters_array(self) -> Array:
        """Return ``int64[1]``, a view of the last offset, which is the number of edges."""
        return self.pool["offsets"][-1:]

    def is_behind(self, updates: int) -> bool:
        """Return whether to request the exact number of edges (see :func:`ledger.is_behind`); ``updates``: not used."""
        return ledger.is_behind(int(self.counters.values[0]), int(self.counters.unseen[0]))

    def used(self) -> dict[str, int]:
        """Return how many edge slots are in use, by group of arrays; on CUDA waits."""
        return {"edges": self.num_edges, "reserve": 0}

    def locate(self, keys: Array, order: Array, guard: Array | int | None, kind: int) -> LocatedBatch:
        """Return the sorted batch, located on the CPU; on CUDA the merge will locate it. See :meth:`BatchStore.locate`.

        A slot is that of the first stored edge not below the entry, in the order of all edges.
        """
        if self.device.is_cuda:
            return LocatedBatch(keys, order, keys, keys, len(keys), guard=guard)
        batch = self.new_batch(keys, order, guard)
        cast("CpuKernels", self.kernels).locate(self.pool.graph, batch, kind)
        return batch

    def reserve_edges(self, num_edges: int) -> None:
        """Make the arrays long enough for ``num_edges`` more edges; raises ``CapacityError``.

        Updates then swap two pairs of arrays until they are full.
        """
        self.poll()
        if not self.pool.is_reserved(self.edge_bound() + num_edges):
            self.pool.reserve(self.num_edges, num_edges)

    def reserve_insertion(self, batch: LocatedBatch) -> Rebuild | None:
        """Reserve arrays for the graph after an insertion; return them, None if only weights change.

        On CUDA wait for the exact number of edges if the upper bounds do not fit into memory.
        """
        if not batch.most:
            return None
        bound = self.edge_bound()
        try:
            return Rebuild(self.pool.target(bound + batch.most), bound)
        except CapacityError:  # the bound counts duplicates and edges that are there; now the exact size matters
            bound = self.num_edges
            if self.device.is_cuda:
                batch.most = super().locate(batch.keys, batch.order, batch.guard, ABSENT).count()
            return Rebuild(self.pool.target(bound + batch.most), bound)

    def apply_insertion(self, batch: LocatedBatch, reservation: Rebuild | None, weight: Array, report: Report) -> None:
        """Merge a located batch into the new arrays ``reservation``, which become those of the store.

        ``reservation`` is None if only weights change: that is done in place.
        """
        self.kernels.insert(self.pool.graph, reservation, batch, weight, report)
        if reservation is not None:
            self.pool.replace(reservation.target)

    def reserve_deletion(self, batch: LocatedBatch) -> Rebuild | None:
        """Reserve arrays for the graph after a deletion and return them; None on the CPU, which deletes in place."""
        if not self.device.is_cuda:
            return None
        bound = self.edge_bound()
        return Rebuild(self.pool.target(bound, kept_back=True), bound)

    def apply_deletion(self, batch: LocatedBatch, reservation: Rebuild | None, report: Report) -> None:
        """Delete the present entries of a located batch, and write ``report``.

        On CUDA the arrays of ``reservation`` become the current ones.
        """
        self.kernels.delete(self.pool.graph, reservation, batch, report)
        if reservation is not None:
            self.pool.replace(reservation.target)

    # -- both kinds of changes at once, on CUDA ------------------------------------------------------------------------

    def apply(self, delete: StoreBatch | None, insert: StoreBatch | None) -> Callable[[], None] | None:
        """Prepare the batches ``delete`` and ``insert``; return the function that applies them, or None.

        A change of both kinds is one merge. None for host batches, with ``rebuild="upload"``, if a batch is too large,
        or if memory for both kinds is short: the graph then calls :meth:`delete` and :meth:`insert` instead. See
        :meth:`BatchStore.apply`.
        """
        if self._host is not None or self.sorter is None:
            return None
        if not isinstance(delete, DeviceBatch) or not isinstance(insert, DeviceBatch):
            return super().apply(delete, insert)
        if delete.size + insert.size > MOST_BOTH:
            return None
        with out_of_memory(self.name):
            rebuild = self._rebuild_for(insert.size)
            if rebuild is None:
                return None
            insert.check()
            delete.check()
            keys, order = self._sorted_both(self.sorter, delete, delete.size + insert.size)
        batch = LocatedBatch(keys, order, keys, keys, len(keys), guard=delete.guard)
        return partial(self._merge_both, rebuild, batch, delete, insert)

    def _sorted_both(self, sorter: Sorter, delete: DeviceBatch, size: int) -> tuple[Array, Array]:
        """Return sorted keys and their order for the ``size`` edges of a deletion and an insertion."""
        if sorter.is_sorted_here(size, self.num_vertices):
            return sorter.sort_at(size, delete.src, delete.dst, self.num_vertices, "both")
        src, dst = (delete.change.array(ids, np.uint32, size) for ids in (delete.src, delete.dst))
        return sorter.sort(src, dst, self.num_vertices)

    def _rebuild_for(self, inserts: int) -> Rebuild | None:
        """Return arrays for a rebuild that inserts up to ``inserts`` edges; None if memory is short for so many."""
        self.poll()
        bound = self.edge_bound()
        try:
            rebuild = Rebuild(self.pool.target(bound + inserts), bound)
        except CapacityError:
            return None
        if self.log is not None:
            self.log.reserve(inserts, self)
        return rebuild

    def _merge_both(self, rebuild: Rebuild, batch: LocatedBatch, delete: DeviceBatch, insert: DeviceBatch) -> None:
        """Merge a deletion and an insertion, sorted as one batch ``batch``, into ``rebuild.target``."""
        report = Report(delete.status, delete.before)
        cast("CsrCuda", self.kernels).change(self.pool.graph, rebuild, batch, delete.size, insert.weight, report)
        self.pool.replace(rebuild.target)
        self.queued(insert.size, delete.size)
        delete.done = insert.done = True
        if self.log is not None:
            src, dst, _ = insert.edges()
            self.log.add(src, dst, insert.outcome().status)

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Return whether edges (``src``, ``dst``) are stored, bool[n], and their weights or None; a binary search each.

        See :meth:`suricate.store.Store.find`.
        """
        if self.device.is_cuda:
            return super().find(src, dst)
        found, weight = self.new_answer(len(src))
        cast("CpuKernels", self.kernels).find(self.pool.graph, src, dst, found, self.bits(weight))
        return found, weight

    def rows(self) -> tuple[Array | int, ...]:
        """Return first slots, the address of last slots (exclusive), destinations, and weights as bits; CUDA only."""
        offsets, dst, weight = self.pool.graph
        return offsets, offsets.data.ptr + 8, dst, weight

    # -- batches applied on the host -----------------------------------------------------------------------------------

    def _change(self, edges: EdgeList, guard: Array | None, kind: int) -> Outcome:
        host = self._host
        if host is None:
            return super()._change(edges, guard, kind)
        xp, to_numpy, size = self.device.xp, self.device.to_numpy, len(edges.src)
        if guard is not None and to_numpy(guard)[0]:
            return Outcome(xp.zeros(size, np.uint8), self.weight_dtype and xp.zeros(size, self.weight_dtype))
        with out_of_memory(self.name):
            if self.log is not None and kind == ABSENT:
                self.log.reserve(size, self)
            target = self.pool.target(host.num_edges + (size if kind == ABSENT else 0))
            given = edges.each(to_numpy)
            changed = host._change(given, None, kind)
        self._upload(host, target)
        outcome = changed.each(xp.asarray)
        if self.log is not None and kind == ABSENT:
            self.log.add(edges.src, edges.dst, outcome.status)
        return outcome

    def _upload(self, host: CsrStore, target: Graph) -> None:
        """Copy the graph of the store ``host`` to ``target`` on the device, and make ``target`` the store's arrays."""
        count = host.num_edges
        for mine, theirs in zip(target, host.pool.graph, strict=True):
            length = len(theirs) if mine is target.offsets else min(count, len(theirs))
            mine[:length] = self.device.xp.asarray(theirs[:length])
        self.pool.replace(target)
        self.known()

    def copy_to(self, device: Device) -> Self:
        """Return a copy of this store on ``device``; with ``rebuild="upload"`` it has a copy on the host of its own."""
        other = super().copy_to(device)
        if other._host is not None:
            other._host = other.copy_to(CPU)
            other._host.memory_limit = None
        return other

    # -- the rest ------------------------------------------------------------------------------------------------------

    def edge_bound(self) -> int:
        """Return an upper bound of the number of edges; waits for the exact number if the bound is loose."""
        bound = ledger.edge_bound(int(self.counters.values[0]), int(self.counters.unseen[0]))
        return self.num_edges if bound is None else bound

    def delete_vertices(self, vertices: Array) -> None:
        """Delete all out-edges of the distinct ``vertices`` (uint32[k]) in one rebuild."""
        self.poll()
        if self._host is not None:
            target = self.pool.target(self._host.num_edges, kept_back=True)
            self._host.delete_vertices(self.device.to_numpy(vertices))
            self._upload(self._host, target)
            return
        xp, bound, old = self.device.xp, self.edge_bound(), self.pool.graph
        with out_of_memory(self.name):
            target = self.pool.target(bound, kept_back=True)
        degrees = old.offsets[1:] - old.offsets[:-1]
        degrees[vertices] = 0
        target.offsets[0] = 0
        xp.cumsum(degrees, out=target.offsets[1:])
        stored, kept = (EdgeList(part.dst[:0], part.dst, part.weight) for part in (old, target))
        copy_segments(self.device, target.offsets, old.offsets[:-1], target.offsets[:-1], bound, stored, kept)
        self.pool.replace(target)
        self.queued(0, 0)

    def resizing(self, num_vertices: int) -> Callable[[], None]:
        """Prepare :meth:`resize`, of the copy on the host, too; see :meth:`suricate.store.Store.resizing`."""
        resize = super().resizing(num_vertices)
        if self._host is None:
            return resize
        on_host = self._host.resizing(num_vertices)

        def both() -> None:
            resize()
            on_host()

        return both

    def resized_vertices(self, num_vertices: int) -> dict[str, Array]:
        """Return a copy of the offsets; see :meth:`BatchStore.resized_vertices`."""
        self.poll()
        return self.pool.resized_vertices(num_vertices, self.edge_bound())

    def compact(self) -> None:
        """Free the reserved arrays, and cut the current ones to the number of edges."""
        super().compact()
        self.pool.compact(self.num_edges)

    def view(self) -> StoreView:
        """Return a view with one range of slots per vertex, and ascending rows."""
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
        if self._host is not None:
            self._host.check()
            check.check_copy(self.pool, self._host.pool, self.num_edges)
