"""The backend ``blocked``: each adjacency in a chain of small blocks, after Marrow-Graph (see ``layout.py``).

Marrow-Graph: Neves, "Marrow-Graph: a library of dynamic graphs for GPUs" (thesis, NOVA, 2023), whose blocks follow
faimGraph: Winter, Mlakar, Zayer, Seidel, Steinberger, "faimGraph: High Performance Management of Fully-Dynamic Graphs
Under Tight Memory Constraints on the GPU", SC 2018.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from suricate.backends.blocked import check, ledger
from suricate.backends.blocked.kernels import BlockedKernels
from suricate.backends.blocked.layout import BLOCK_EDGES, CONSTANTS, COUNTERS, EDGES, FREE, USED, BlockedView
from suricate.backends.blocked.pool import COMPACT_BYTES, BlockedPool
from suricate.batch_store import BatchStore
from suricate.cuda.structs import constants
from suricate.devices import CPU, Array, Device
from suricate.errors import CapacityError, ParameterError
from suricate.primitives import out_of_memory
from suricate.primitives.located import LocatedBatch, Report
from suricate.types import EMPTY, StoreView

HEADER = Path(__file__).parent / "device" / "cursor.cuh"
CURSOR = "suricate.backends.blocked.cursor"


class BlockedStore(BatchStore[None, None]):
    """Chains of blocks. See :class:`suricate.store.Store` for the other arguments.

    Args:
        block_edges: edges per block, a power of two from 2 to 128; None: chosen by the mean of ``degree_hints`` or, if
            there are none, of the first batch where that is at least one edge per vertex, else 8.

    Raises:
        ParameterError: ``block_edges`` is none of these.
    """

    name: ClassVar[str] = "blocked"
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    num_counters: ClassVar[int] = COUNTERS
    knobs: ClassVar[dict[str, tuple]] = {"block_edges": (4, 16, 64)}

    pool: BlockedPool
    kernels: BlockedKernels

    def __init__(
        self,
        num_vertices: int,
        *,
        device: Device = CPU,
        weight_dtype: np.dtype | None = None,
        degree_hints: Array | None = None,
        memory_limit: int | None = None,
        block_edges: int | None = None,
    ) -> None:
        self._capacity = _checked_capacity(block_edges)
        if self._capacity is None and degree_hints is not None:
            self._capacity = ledger.capacity_for(ledger.expected_degree(device.to_numpy(degree_hints)))
        super().__init__(
            num_vertices,
            device=device,
            weight_dtype=weight_dtype,
            degree_hints=degree_hints,
            memory_limit=memory_limit,
        )

    def options(self) -> dict[str, Any]:
        """See :meth:`suricate.store.Store.options`; the capacity once it is chosen."""
        return {"block_edges": self._capacity}

    def make_pool(self) -> BlockedPool:
        """See :meth:`BatchStore.make_pool`."""
        shift = (self._capacity or ledger.DEFAULT).bit_length() - 1
        return BlockedPool(self.name, self.num_vertices, self.device, self.weight_dtype, self.memory_limit, shift)

    def make_kernels(self) -> BlockedKernels:
        """See :meth:`BatchStore.make_kernels`."""
        from suricate.backends.blocked import cpu

        return cpu

    # -- what BatchStore asks ------------------------------------------------------------------------------------------

    def counters_array(self) -> Array:
        """Return the counters (see ``layout.py``)."""
        return self.pool["counters"]

    def used(self) -> dict[str, int]:
        """See :meth:`BatchStore.used`."""
        counters = self.known()
        return {"blocks": int(counters[USED] - counters[FREE]), "edges": int(counters[EDGES])}

    def extents(self) -> dict[str, int]:
        """See :meth:`BatchStore.extents`."""
        return self.pool.copy_of(self.known())

    def locate(self, keys: Array, order: Array, guard: Array | None, kind: int) -> LocatedBatch:
        """See :meth:`BatchStore.locate`."""
        batch = self.new_batch(keys, order, guard)
        self.kernels.locate(self.pool.graph, batch, kind)
        return batch

    def reserve_edges(self, num_edges: int) -> None:
        """See :meth:`BatchStore.reserve_edges`."""
        self._choose_capacity(num_edges)
        known, degrees = self.known(), self.device.to_numpy(self.pool["degree"])
        taken = ledger.most_taken(ledger.slack(degrees, self.pool.shift), num_edges)
        self.pool.ensure(int(known[USED] - known[FREE]) + taken)

    def reserve_insertion(self, batch: LocatedBatch) -> None:
        """See :meth:`BatchStore.reserve_insertion`."""
        if not batch.most:
            return
        self._choose_capacity(batch.most)
        taken = self.kernels.need(self.pool.graph, batch)
        known = self.known()
        self.pool.ensure(int(known[USED] - known[FREE]) + taken)

    def apply_insertion(self, batch: LocatedBatch, reservation: None, weight: Array, report: Report) -> None:
        """See :meth:`BatchStore.apply_insertion`."""
        self.kernels.insert(self.pool.graph, batch, weight, report)

    def reserve_deletion(self, batch: LocatedBatch) -> None:
        """See :meth:`BatchStore.reserve_deletion`: every block has its place among the free ones."""

    def apply_deletion(self, batch: LocatedBatch, reservation: None, report: Report) -> None:
        """See :meth:`BatchStore.apply_deletion`."""
        self.kernels.delete(self.pool.graph, batch, report)

    def _choose_capacity(self, num_edges: int) -> None:
        """Choose the capacity of blocks before the first block, if it is still open: by this many edges to come."""
        if self._capacity is None:
            is_bulk = num_edges >= self.num_vertices > 0
            self._capacity = ledger.capacity_for(num_edges / self.num_vertices) if is_bulk else ledger.DEFAULT
            self.pool.shift = self._capacity.bit_length() - 1

    # -- the rest ------------------------------------------------------------------------------------------------------

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """See :meth:`suricate.store.Store.find`; sorted, so that a long chain is read once."""
        return self.find_sorted(src, dst)

    def degrees(self) -> Array:
        """See :meth:`suricate.store.Store.degrees`."""
        return self.pool["degree"].copy()

    @property
    def num_edges(self) -> int:
        """Exact number of edges; on CUDA reading it waits for the device."""
        return int(self.counters_array()[EDGES])

    def delete_vertices(self, vertices: Array) -> None:
        """See :meth:`suricate.store.Store.delete_vertices`."""
        if len(vertices):
            self.kernels.free_vertices(self.pool.graph, vertices)

    def resize(self, num_vertices: int) -> None:
        """See :meth:`suricate.store.Store.resize`; blocks stay where they are."""
        self.pool.resize_vertices(num_vertices)
        self.num_vertices = num_vertices

    def compact(self) -> None:
        """Put the blocks of each vertex one behind the other, where memory allows old and new ones side by side."""
        super().compact()
        with suppress(CapacityError), out_of_memory(self.name):
            self._repack()

    def _repack(self) -> None:
        xp, pool, shift = self.device.xp, self.pool, self.pool.shift
        pool.admit(COMPACT_BYTES * self.num_vertices + 8 * COUNTERS)
        ends = ((pool["degree"].astype(np.int64) + ((1 << shift) - 1)) >> shift).cumsum()
        blocks = int(ends[-1]) if len(ends) else 0
        head = xp.full(len(ends), EMPTY, np.uint32)
        has_edges = pool["degree"] > 0
        first = xp.zeros(len(ends), np.uint32)
        first[1:] = ends[:-1].astype(np.uint32)
        head[has_edges] = first[has_edges]
        counters = xp.array([blocks, self.num_edges, 0], np.int64)
        pool.admit(COMPACT_BYTES * self.num_vertices + 8 * COUNTERS)
        arrays = pool.new_blocks(blocks)
        fresh = pool.graph._replace(**arrays)
        self.kernels.repack(pool.graph, fresh, first)
        pool.attach({**arrays, "head": head, "counters": counters})
        self.known()

    def view(self) -> StoreView:
        """Return a view that walks chains, or all blocks in address order; adjacencies are in no order."""
        g, dtype = self.pool.graph, self.weight_dtype
        return StoreView(
            data=BlockedView(
                g.head, g.degree, g.link, g.owner, g.dst, g.weight if dtype is None else g.weight.view(dtype),
                g.counters, g.shift, len(g.link),
            ),
            cursor=CURSOR,
            header=HEADER,
            num_vertices=self.num_vertices,
            weight_dtype=dtype,
            declarations=constants(CONSTANTS),
            can_scan=True,
        )  # fmt: skip

    def check(self) -> None:
        """Verify every invariant of the layout on the CPU; raises ``CheckFailed``."""
        check.check(self.pool, self.num_vertices)


def _checked_capacity(block_edges: Any) -> int | None:
    """Return the option as a plain integer or None."""
    if block_edges is None:
        return None
    if isinstance(block_edges, (int, np.integer)) and not isinstance(block_edges, bool) and block_edges in BLOCK_EDGES:
        return int(block_edges)
    allowed = ", ".join(map(str, BLOCK_EDGES))
    raise ParameterError(f"blocked: block_edges must be {allowed} or None, got {block_edges!r}")
