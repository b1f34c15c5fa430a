"""The backend ``blocked``: each adjacency in a chain of small blocks, after Marrow-Graph (see ``layout.py``).

Marrow-Graph: Neves, "Marrow-Graph: a library of dynamic graphs for GPUs" (thesis, NOVA, 2023), whose blocks follow
faimGraph: Winter, Mlakar, Zayer, Seidel, Steinberger, "faimGraph: High Performance Management of Fully-Dynamic Graphs
Under Tight Memory Constraints on the GPU", SC 2018.

On CUDA small batches are applied to a *mirror*, a copy of the arrays on the host, and large ones on the device; each
side copies the other's changes before it is used (see ``host_copy.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import numpy as np

from suricate.backends.blocked import check, ledger
from suricate.backends.blocked.kernels import BlockedKernels, Plan
from suricate.backends.blocked.layout import BLOCK_EDGES, COUNTERS, EDGES, FREE, HOST, SMALL, STORE, USED, BlockedView
from suricate.backends.blocked.pool import COMPACT_BYTES, BlockedPool
from suricate.base.devices import CPU, Array, Device
from suricate.base.parameters import choice
from suricate.base.types import EdgeList, Outcome, StoreView
from suricate.cuda.structs import constants
from suricate.errors import CapacityError
from suricate.intake.arrays import on_host
from suricate.intake.batches import HostBatch
from suricate.primitives import out_of_memory
from suricate.primitives.located import LOOKUP, LocatedBatch, Report
from suricate.store import StoreArguments
from suricate.store.batch_store import BatchStore
from suricate.store.single import SingleEdges, reserve_some

if TYPE_CHECKING:
    from suricate.backends.blocked.host_copy import HostCopy
    from suricate.intake.batches import StoreBatch
    from suricate.intake.ingest import UnvalidatedBatch

HEADER = Path(__file__).parent / "device" / "cursor.cuh"
CURSOR = "suricate.backends.blocked.cursor"

AHEAD = 8  #: number of batches like the last one that must fit by the host's bounds, else it asks for the counters


class BlockedStore(BatchStore[Plan | None, None]):
    """Chains of blocks. See :class:`suricate.store.Store` for the other arguments.

    Args:
        block_edges: edges per block, a power of two from 2 to 128; None: chosen by the mean of ``degree_hints``;
            without hints by that of the first batch if it has at least one edge per vertex, else 8.
        batches_on: where batches are applied on CUDA: ``"host"``: to a copy on the host, from which the device is
            updated when it is needed next; ``"device"``; or ``"auto"``: small batches of host arrays on the host.

    Raises:
        ParameterError: an option is none of these.
    """

    name: ClassVar[str] = "blocked"
    num_counters: ClassVar[int] = COUNTERS
    edges_at: ClassVar[int] = EDGES
    reads_addresses = True
    knobs: ClassVar[dict[str, tuple]] = {"block_edges": (4, 16, 64), "batches_on": ("host", "device")}

    pool: BlockedPool
    kernels: BlockedKernels

    def __init__(
        self,
        num_vertices: int,
        *,
        block_edges: int | None = None,
        batches_on: str = "auto",
        **common: Unpack[StoreArguments],
    ) -> None:
        self._capacity: int | None = choice("blocked: block_edges", block_edges, (*BLOCK_EDGES, None))
        self._batches_on: str = choice("blocked: batches_on", batches_on, ("auto", "host", "device"))
        if self._capacity is None and (hints := common.get("degree_hints")) is not None:
            self._capacity = ledger.capacity_for(ledger.expected_degree(on_host(hints)))
        self._copy: tuple[HostCopy, BlockedStore] | None = None  # with the store on the host whose pool it is
        dtypes = (np.uint64, np.uint32, np.int64)
        self._small = tuple(np.empty(SMALL, dtype) for dtype in dtypes)
        self._waived = 0  # host batches that were applied on the device since the mirror was last current
        super().__init__(num_vertices, **common)

    def options(self) -> dict[str, Any]:
        """Return the backend options by name; ``block_edges`` is None until the capacity of blocks is chosen."""
        return {"block_edges": self._capacity, "batches_on": self._batches_on}

    def make_pool(self) -> BlockedPool:
        """Return the arrays of an empty store; raises ``CapacityError``."""
        shift = (self._capacity or ledger.DEFAULT).bit_length() - 1
        limit, rows = self.memory_limit, self.kept_rows
        return BlockedPool(self.name, self.num_vertices, self.device, self.weight_dtype, limit, shift, rows)

    def make_kernels(self) -> BlockedKernels:
        """Return the kernels on CUDA, or the loops on the CPU."""
        if self.device.is_cuda:
            from suricate.backends.blocked.cuda import BlockedCuda

            return BlockedCuda(self.device, self.weight_dtype)
        from suricate.backends.blocked import cpu

        return cpu

    # -- where a batch is applied --------------------------------------------------------------------------------------

    def _takes_host_batch(self, size: int) -> bool:
        """Return whether the mirror takes a host batch of ``size`` edges; if so, bring the mirror up to date."""
        where = self._batches_on
        if not self.device.is_cuda or where == "device":
            return False
        if where == "auto":
            ahead = STORE if self._copy is None else self._copy[0].ahead
            if size <= ledger.HOST_BATCH and ahead == HOST:
                return True
            behind = self.pool.allocated if ahead == STORE else 0  # bytes that the host would take over at most
            if size > ledger.HOST_BATCH or not ledger.pays_off(self._waived, behind):
                self._waived += size <= ledger.HOST_BATCH
                return False
        try:
            self._on_host(size)
        except MemoryError:
            if where == "host":
                raise
            return False
        return True

    def _on_host(self, size: int) -> BlockedStore:
        """Return the mirror, up to date, for a batch of ``size`` edges; waits if the device is the newer side."""
        if self._copy is None:
            self.plan(size)
            self._copy = self._new_copy()
        copy, store = self._copy
        copy.download()
        copy.ahead, self._waived = HOST, 0
        return store

    def _new_copy(self) -> tuple[HostCopy, BlockedStore]:
        from suricate.backends.blocked.host_copy import HostCopy
        from suricate.cuda.pinned import Staging

        extents = self.extents()
        self.pool.admit(sum(extents.get(group, 0) * self.pool.entry_bytes(group) for group in self.pool.layout))
        options = {**self.options(), "block_edges": 1 << self.pool.shift}
        options |= {"weight_dtype": self.weight_dtype, "rows": self.kept_rows}
        store = type(self)(self.num_vertices, device=CPU, **options)
        store.pool.copy_from(self.pool, {**extents, "log": 0})
        store.counters.read(store.counters_array())
        return HostCopy(store.pool, self.pool, self.kernels, Staging(self.device)), store

    def _on_device(self, *, changes: bool = False) -> None:
        """Copy the mirror's changes to the device, without waiting; ``changes``: make the device the newer side."""
        if self._copy is None:
            return
        copy = self._copy[0]
        if copy.ahead == HOST:
            self.known()
            copy.upload()
        if changes:
            copy.ahead = STORE

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Insert edges on the mirror or the device; return their outcome. See :meth:`suricate.store.Store.insert`."""
        if self._takes(src):
            return self._apply_on_host(src, dst, weight, guard, inserting=True)
        if (scratch := self._scratch(len(src))) is not None and not self.is_invalid(guard):
            outcome = self.new_outcome(len(src))
            given = src, dst, self.bits(weight)
            if self.kernels.small.insert(self.pool.graph, *given, *self._report(outcome), *scratch):
                return outcome
        self._on_device(changes=True)
        return super().insert(src, dst, weight, guard=guard)

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Delete edges on the mirror or the device; return their outcome. See :meth:`suricate.store.Store.delete`."""
        if self._takes(src):
            return self._apply_on_host(src, dst, None, guard, inserting=False)
        if (scratch := self._scratch(len(src))) is not None and not self.is_invalid(guard):
            outcome = self.new_outcome(len(src))
            if self.kernels.small.delete(self.pool.graph, src, dst, *self._report(outcome), *scratch):
                return outcome
        self._on_device(changes=True)
        return super().delete(src, dst, guard=guard)

    def apply(self, delete: StoreBatch | None, insert: StoreBatch | None) -> Callable[[], None] | None:
        """Prepare the batches ``delete`` and ``insert``; return the function that applies them, or None.

        Small host batches go to the mirror; before other batches are applied, the device copies the mirror's changes.
        None for large host batches, and for batches that are too large for the device's sorter or that
        ``batches_on="host"`` keeps from the device: the graph then calls :meth:`delete` and :meth:`insert`.
        """
        sizes = [batch.size for batch in (delete, insert) if batch is not None]
        if isinstance(delete, HostBatch) or isinstance(insert, HostBatch):
            return partial(self._apply_host_batches, delete, insert) if self._takes_host_batch(sum(sizes)) else None
        if not all(map(self._takes_here, sizes)):
            return None
        self._on_device(changes=True)
        return super().apply(delete, insert)

    def _apply_host_batches(self, delete: Any, insert: Any) -> None:
        if delete is not None:
            delete.outcome = self.delete(delete.arcs.src, delete.arcs.dst)
        if insert is not None:
            insert.outcome = self.insert(*insert.arcs)

    def _takes_here(self, size: int) -> bool:
        """Return whether the device applies unvalidated batches of ``size`` edges."""
        by_host, sorter = self._batches_on == "host", self.sorter
        return not by_host and sorter is not None and sorter.takes(size, self.num_vertices)

    def query(self, edges: UnvalidatedBatch | EdgeList) -> tuple[Array, Array | None] | None:
        """Look up a batch before it is validated; return found flags and weights; None if the graph must do that.

        A few host edges are looked up in the mirror, unless the device is newer. See :meth:`BatchStore.query`.
        """
        if isinstance(edges, EdgeList):
            if self._copy is None or len(edges.src) > SMALL or self._copy[0].ahead == STORE:
                return None
            return self._copy[1].find(edges.src, edges.dst)
        if not self._takes_here(edges.size):
            return None
        self._on_device()
        return super().query(edges)

    def single(self, num_edges: int) -> SingleEdges | None:
        """Return the arrays by which CPU loops change up to ``num_edges`` edges; None on CUDA or after :meth:`mark`.

        See :meth:`suricate.store.Store.single`.
        """
        if self.device.is_cuda or self.has_mark:
            return None
        reserve_some(self.reserve, num_edges)
        graph = self.pool.graph
        return SingleEdges("suricate.backends.blocked.single_loops", graph, graph.weight.dtype)

    def end_single(self, inserted: int, deleted: int) -> None:
        """Read the counters after a loop that inserted ``inserted`` and deleted ``deleted`` single edges."""
        self.known()

    def _scratch(self, size: int) -> tuple[np.ndarray, ...] | None:
        """Return arrays for keys, order and slots if one loop (``small.py``) can apply ``size`` edges, else None."""
        if self.device.is_cuda or not 0 < size <= SMALL or self.log is not None:
            return None
        return self._small

    def _takes(self, src: Array) -> bool:
        """Return whether the mirror takes a batch with sources ``src``; on the CPU there is none.

        On CUDA it takes host arrays, and with ``batches_on="host"`` all batches.
        """
        return self.device.is_cuda and (self._batches_on == "host" or not self._is_here(src))

    def _is_here(self, array: Array) -> bool:
        """Return whether an array lies on the store's device."""
        return isinstance(array, self.device.xp.ndarray)

    def _apply_on_host(
        self, src: Array, dst: Array, weight: Array | None, guard: Array | None, *, inserting: bool
    ) -> Outcome:
        """Insert (``inserting``) or delete a batch on the mirror; return its outcome where ``src`` is, host or device.

        Without memory for the mirror the device applies the batch; with ``batches_on="host"`` the error is raised.
        """
        device = self.device
        if guard is not None and int(guard[0]):
            return self.new_outcome(len(src))._replace(status=device.xp.zeros(len(src), np.uint8))
        batch = EdgeList(src, dst, weight).each(on_host)
        if inserting and self.log is not None:
            with out_of_memory(self.name):
                self.log.reserve(len(src), self)
        try:
            store = self._on_host(len(src))
            outcome = store.insert(*batch) if inserting else store.delete(*batch[:2])
        except MemoryError:
            if self._batches_on == "host":
                raise
            return self._apply_on_device(batch, inserting=inserting)
        if inserting and self.log is not None:
            self.log.add(*(device.xp.asarray(part) for part in (src, dst, outcome.status)))
        if not self._is_here(src):
            return outcome
        return outcome.each(device.xp.asarray)

    def _apply_on_device(self, batch: EdgeList, *, inserting: bool) -> Outcome:
        """Insert (``inserting``) or delete ``batch``, host arrays, on the device; return its outcome; waits."""
        self._drop_copy()
        arrays = batch.each(self.device.xp.asarray)
        outcome = super().insert(*arrays) if inserting else super().delete(*arrays[:2])
        return outcome.each(on_host)

    # -- what BatchStore asks ------------------------------------------------------------------------------------------

    def known(self) -> np.ndarray:
        """Return the exact counters; on CUDA waits for the device, unless the mirror is the newer side."""
        if self._copy is not None and self._copy[0].ahead == HOST:
            self.counters.take(self._copy[1].pool["counters"])
            return self.counters.values
        return super().known()

    def used(self) -> dict[str, int]:
        """Return how many blocks and edge slots are in use, by group of arrays; on CUDA waits."""
        counters = self.known()
        return {"blocks": int(counters[USED] - counters[FREE]), "edges": int(counters[EDGES])}

    def extents(self) -> dict[str, int]:
        """Return how many entries a copy needs, by group of arrays; see :meth:`BlockedPool.carved`; on CUDA waits."""
        return self.pool.carved(self.known())

    def locate(self, keys: Array, order: Array, guard: Array | int | None, kind: int) -> LocatedBatch:
        """Return the sorted batch, located; on CUDA only if ``kind`` is ``LOOKUP``. See :meth:`BatchStore.locate`."""
        if self.device.is_cuda and kind != LOOKUP:  # the launch that applies the batch locates it
            return LocatedBatch(keys, order, keys, keys, len(keys), guard=guard)
        batch = self.new_batch(keys, order, guard)
        self.kernels.locate(self.pool.graph, batch, kind, self.edge_bound())
        return batch

    def reserve_edges(self, num_edges: int) -> None:
        """Reserve blocks for any ``num_edges`` more edges; raises ``CapacityError``."""
        self.plan(num_edges)
        by_host = self.device.is_cuda and self._batches_on == "host"
        if not by_host:
            self._on_device()
            self.poll()
            if self._bound(num_edges) <= self.pool.blocks:
                return
        self._on_device()
        known = self.known()
        for more in () if by_host else self.amounts_to_reserve(num_edges)[:-1]:
            with suppress(CapacityError):
                self.pool.ensure(self._bound(more))
                return
        unused, degree = np.zeros(1 << self.pool.shift, np.int64), self.pool["degree"]
        for begin, end in self.pool.rows.within(0, self.num_vertices):
            unused += ledger.slack(self.device.to_numpy(degree[begin:end]), self.pool.shift)
        taken = ledger.most_taken(unused, num_edges)
        blocks = int(known[USED] - known[FREE]) + taken
        if by_host:
            self._on_host(num_edges).pool.ensure(blocks)
        self.pool.ensure(blocks)

    def reserve_insertion(self, batch: LocatedBatch) -> Plan | None:
        """Reserve blocks for an insertion; return its plan, None if no edge is new. See :class:`BatchStore`.

        On CUDA reserve as many as the host's upper bound says; wait for the exact number if memory is short for that,
        or the batch is a bulk load and the arrays are too short.
        """
        if not batch.most:
            return None
        self.plan(batch.most)
        plan = self.kernels.plan_insertion(self.pool.graph, batch, self.edge_bound())
        bulk = self.device.is_cuda and ledger.is_bulk(batch.most, self.edge_bound())
        if self.device.is_cuda and (not bulk or self._bound(batch.most) <= self.pool.blocks):
            with suppress(CapacityError):
                self.pool.ensure(self._bound(batch.most))
                return plan
        known = self.known()
        needed = int(known[USED] - known[FREE]) + plan.need()
        self.pool.ensure(needed, further=needed // 8 if bulk else 0)
        return plan

    def _bound(self, num_edges: int) -> int:
        """Return an upper bound of the blocks in use after ``num_edges`` more insertions, without waiting."""
        known, inserted = self.counters.values, int(self.counters.unseen[0]) + num_edges
        return int(known[USED] - known[FREE]) + ledger.take_bound(inserted, self.num_vertices, self.pool.shift)

    def is_behind(self, updates: int) -> bool:
        """Return whether to request exact counters: bounds are loose, or few more batches of ``updates`` edges fit."""
        inserted, deleted = self.counters.unseen.tolist()
        loose = 64 * (inserted + deleted) > self.edge_bound()
        return loose or not updates or self._bound(AHEAD * updates) > self.pool.blocks

    def apply_insertion(self, batch: LocatedBatch, reservation: Plan | None, weight: Array, report: Report) -> None:
        """Insert a sorted batch, and write ``report``; ``reservation`` is its plan, or None if no edge is new."""
        self.kernels.insert(self.pool.graph, batch, reservation, weight, report)

    def reserve_deletion(self, batch: LocatedBatch) -> None:
        """Do nothing: a deletion needs no memory, as the stack of free blocks has space for every block."""

    def apply_deletion(self, batch: LocatedBatch, reservation: None, report: Report) -> None:
        """Delete the present entries of a sorted batch, and write ``report``; ``reservation`` is always None."""
        self.kernels.delete(self.pool.graph, batch, report, self.edge_bound())

    def plan(self, num_edges: int) -> None:
        """Choose the capacity of blocks, unless it has been chosen, for a first batch of ``num_edges`` edges."""
        if self._capacity is None:
            is_bulk = num_edges >= self.num_vertices > 0
            self._capacity = ledger.capacity_for(num_edges / self.num_vertices) if is_bulk else ledger.DEFAULT
            self.pool.set_shift(self._capacity.bit_length() - 1)

    # -- the rest ------------------------------------------------------------------------------------------------------

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Return whether edges (``src``, ``dst``) are stored, bool[n], and their weights or None.

        Many edges are sorted, so that a long chain is read once. See :meth:`suricate.store.Store.find`.
        """
        if (scratch := self._scratch(len(src))) is not None:
            found, weight = self.new_answer(len(src))
            if self.kernels.small.find(self.pool.graph, src, dst, found, self.bits(weight), *scratch):
                return found, weight
        self._on_device()
        return self.find_sorted(src, dst)

    def degrees(self) -> Array:
        """Return a copy of the out-degrees, uint32[num_vertices]."""
        self._on_device()
        return self.pool["degree"].copy()

    def delete_vertices(self, vertices: Array) -> None:
        """Free the blocks of the distinct ``vertices`` (uint32[k])."""
        if len(vertices):
            self._on_device(changes=True)
            self.kernels.free_vertices(self.pool.graph, vertices)
            self.queued(0, 0)

    def resized_vertices(self, num_vertices: int) -> Mapping[str, Array]:
        """See :meth:`BatchStore.resized_vertices`."""
        self._on_device()
        return self.pool.resized_vertices(num_vertices)

    def take_vertices(self, num_vertices: int, arrays: Mapping[str, Array]) -> None:
        """Take ``arrays``, and resize the mirror, too; see :meth:`BatchStore.take_vertices`."""
        super().take_vertices(num_vertices, arrays)
        if self._copy is not None:
            try:
                self._copy[1].resize(num_vertices)
            except MemoryError:
                self._drop_copy()

    def compact(self) -> None:
        """Make the blocks of each vertex consecutive, if memory allows; drop the mirror. On CUDA waits."""
        self._on_device()
        self._drop_copy()
        super().compact()
        with suppress(CapacityError), out_of_memory(self.name):
            self._repack()
        self.known()

    def copy_to(self, device: Device) -> Self:
        """Return a copy of this store on ``device``, which has no mirror."""
        self._on_device()
        return super().copy_to(device)

    def keep_rows(self, rows: Array) -> None:
        """Keep the rows of vertices in ``rows`` only, and drop the mirror; see :meth:`BatchStore.keep_rows_of_pool`."""
        if self.kept_rows is None or not np.array_equal(self.kept_rows, rows):
            self._drop_copy()
        self.keep_rows_of_pool(rows)

    def _drop_copy(self) -> None:
        """Drop the mirror, after the device has copied its changes."""
        if self._copy is not None:
            self._on_device()
            self._copy = None
            self.pool.untrack()

    def _repack(self) -> None:
        pool, at = self.pool, 0
        vertices, first, blocks = self._repacked_vertices()
        counters = self.device.xp.array([blocks, self.num_edges, 0, 0, 0, 0])
        pool.admit(COMPACT_BYTES * len(first) + 8 * COUNTERS)
        arrays = pool.new_blocks(blocks)
        fresh = pool.graph._replace(**arrays, blocks=blocks)
        for begin, end in pool.rows.within(0, self.num_vertices):
            self.kernels.repack(pool.graph, fresh, begin, first[at : at + end - begin])
            at += end - begin
        pool.attach({**vertices, **arrays, "counters": counters})

    def _repacked_vertices(self) -> tuple[dict[str, Array], Array, int]:
        """Return arrays by vertex for repacked blocks, the first block of each kept row, and the number of blocks."""
        xp, pool, rest = self.device.xp, self.pool, (1 << self.pool.shift) - 1
        degree = pool.rows.picked(pool["degree"])
        pool.admit(COMPACT_BYTES * len(degree) + 8 * COUNTERS)
        ends = ((degree.astype(np.int64) + rest) >> pool.shift).cumsum()
        blocks = int(ends[-1]) if len(ends) else 0
        first, run = xp.zeros(len(ends), np.uint32), ends.astype(np.uint32)
        first[1:] = ends[:-1]
        run -= first
        vertices = pool.new("vertices", self.num_vertices)
        for name, values in (("degree", degree), ("run", run), ("head", xp.where(degree > 0, ~first, np.uint32(0)))):
            pool.rows.put(values, vertices[name])
        return vertices, first, blocks

    def view(self) -> StoreView:
        """Return a view that walks chains, or all blocks in address order; the device is brought up to date first."""
        self._on_device()
        g, dtype = self.pool.graph, self.weight_dtype
        return StoreView(
            data=BlockedView(
                g.head, g.degree, g.run, g.link, g.owner, g.dst, g.weight if dtype is None else g.weight.view(dtype),
                g.counters, g.shift, len(g.link),
            ),
            cursor=CURSOR,
            header=HEADER,
            num_vertices=self.num_vertices,
            weight_dtype=dtype,
            constants={"BLOCK_LANES": 1 if g.shift <= 2 else 4},
            declarations=constants({"USED": USED}),
            can_scan=True,
            chained=True,
        )  # fmt: skip

    def check(self) -> None:
        """Verify every invariant of the layout on the CPU; raises ``CheckFailed``."""
        if self._copy is not None:
            copy, store = self._copy
            store.check()
            check.check_copy(copy)
            self._on_device()
            if copy.ahead is None:
                check.check_equal(copy)
        check.check(self.pool, self.num_vertices)
