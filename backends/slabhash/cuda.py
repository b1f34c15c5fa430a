"""``slabhash`` on CUDA: launches, and reading the device's counters without waiting."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from suricate.backends.slabhash.layout import BUMP, NUM_COUNTERS, Geometry, Slabs, macros
from suricate.cuda import Program, ViewStruct, view_struct
from suricate.devices import Array

HERE = Path(__file__).parent
BLOCK = 256
MAX_BLOCKS = 1 << 20
INSERT_BLOCKS = 6  # per multiprocessor, of a large batch
CHUNK = 8  # slabs that a warp then takes at a time
SETTLE_BLOCKS = 2  # per multiprocessor, all resident: see its launch bounds
NULL = np.uint64(0)
NO_LIMIT = np.uint32(0xFFFFFFFF)
CHAIN_LIMIT = 64  # slabs of a chain, at a load factor up to 1, beyond which an edge waits for more buckets
DEFER_FROM = 1 << 15  # edges of a batch from which on that is done: below, a chain cannot grow long enough to matter
KEPT_SCRATCH = 1 << 20  # bytes of scratch memory that are kept from batch to batch
PART = 16  # buckets that a tile moves, as in settle.cu
POST_EVERY = 8  # batches, so that the host learns in time that re-buckets lack room
SOURCES = ("insert.cu", "delete.cu", "find.cu", "maintain.cu", "settle.cu")


def engine_programs(shape: Geometry, struct: ViewStruct) -> dict[str, Program]:
    """Return the programs of the engine by source file."""
    defines = tuple(macros(shape).items())
    return {
        name: Program(HERE / name, struct.declaration, defines, cooperative=name == "settle.cu") for name in SOURCES
    }


def programs(store: Any) -> list[Program]:
    """Return all programs for a store of this layout (of either device); needs no CuPy."""
    return list(engine_programs(store.geometry, view_struct(store.slabs)).values())


class CudaKernels:
    """The operations of a store on CuPy arrays; ``suricate.backends.slabhash.cpu.CpuKernels`` is the CPU twin.

    Nothing waits for the device but :meth:`count_slabs` and :meth:`gather_touched`.
    """

    def __init__(self, store: Any) -> None:
        self.store = store
        self._packed: tuple[Slabs, np.void] | None = None
        self._compiled: dict[str, Any] = {}
        self._scratch: dict[str, Array] = {}
        self._in_flight = False
        self._batches = 0
        self._unseen = 0  # slabs granted since the copy of the counters that is in flight (or last arrived)
        self._pinned: Any = None
        self._event: Any = None

    # -- launching -----------------------------------------------------------------------------------------------------

    @cached_property
    def _struct(self) -> ViewStruct:
        return view_struct(self.store.slabs)

    @cached_property
    def _programs(self) -> dict[str, Program]:
        return engine_programs(self.store.geometry, self._struct)

    @cached_property
    def _multiprocessors(self) -> int:
        import cupy

        return cupy.cuda.Device().attributes["MultiProcessorCount"]

    def _view(self) -> np.void:
        """Return the struct of the store's arrays, packed once per change of the arrays."""
        slabs = self.store.slabs
        if self._packed is None or self._packed[0] is not slabs:
            self._packed = (slabs, self._struct.pack(slabs))
        return self._packed[1]

    def _launch(self, source: str, name: str, threads: int, *args: Any) -> None:
        """Launch a kernel over ``threads`` threads at most; None is passed as a null pointer."""
        grid = max(1, min((threads + BLOCK - 1) // BLOCK, MAX_BLOCKS))
        kernel = self._compiled.get(name)
        if kernel is None:
            kernel = self._compiled[name] = self._programs[source].kernel(name)
        kernel((grid,), (BLOCK,), tuple(NULL if arg is None else arg for arg in args))

    def _tiles(self, count: int) -> int:
        """Return the threads for ``count`` tiles."""
        return count * self.store.geometry.lanes

    def _array(self, name: str, size: int, dtype: Any = np.uint32) -> Array:
        """Return scratch memory, contents undefined; small arrays are kept for the next batch."""
        import cupy

        kept = self._scratch.get(name)
        if kept is not None and len(kept) >= size:
            return kept
        array = cupy.empty(max(1, size), dtype)
        if array.nbytes <= KEPT_SCRATCH:
            self._scratch[name] = array
        return array

    # -- counters ------------------------------------------------------------------------------------------------------

    def spend(self, slabs: int) -> None:
        """Note that up to ``slabs`` may be taken by what is queued."""
        self.store._room -= slabs
        self._unseen += slabs

    def report(self, slabs: int, edges: int) -> None:
        """After a batch that may have taken ``slabs``: now and then have the counters sent over."""
        self._batches += 1
        if edges >= DEFER_FROM or self.store._room < 4 * slabs or self._batches % POST_EVERY == 0:
            self._post()

    def _post(self) -> None:
        import cupy
        import cupyx

        if self._in_flight:
            return
        if self._pinned is None:
            self._pinned = cupyx.empty_pinned(NUM_COUNTERS, np.uint32)
            self._event = cupy.cuda.Event(disable_timing=True)
        self.store.slabs.counters.get(out=self._pinned, blocking=False)
        self._event.record()
        self._unseen, self._in_flight = 0, True

    def refresh(self) -> bool:
        """Take over counters that have arrived; return whether there were any. Never waits."""
        if not self._in_flight or not self._event.done:
            return False
        self._in_flight = False
        self.store._set_room(self._pinned.astype(np.int64))
        self.store._room -= self._unseen
        return True

    def forget_refresh(self) -> None:
        """The store has read the counters itself, waiting for all that was queued."""
        self._in_flight, self._unseen = False, 0

    # -- batches -------------------------------------------------------------------------------------------------------

    def insert(
        self,
        src: Array,
        dst: Array,
        weight: Array | None,
        guard: Array | None,
        need: int,
        quota: int,
        status: Array,
        before: Array | None,
    ) -> None:
        """Insert a batch that ``need`` slabs suffice for; re-buckets may use ``quota`` more."""
        import cupy

        store, edges, n = self.store, len(src), np.int64(len(src))
        slabs, hashing = store.slabs, store.hashing
        queue_size = min(edges, store.num_vertices)
        table = place = queue = pending = target = code = parts = None
        with store.reserving():
            if weight is not None:
                table, place = self._table(edges), self._array("place", edges)
            if hashing:
                queue, target, code = (self._array(name, queue_size) for name in ("queue", "target", "code"))
                parts = self._array("parts", 5 * (queue_size + slabs.capacity // PART + 1))
                pending = cupy.zeros(store.num_vertices, np.uint32) if edges >= DEFER_FROM else None
        view = self._view()
        if table is not None:
            mask = np.uint32((1 << (2 * edges - 1).bit_length()) - 1)
            self._launch("insert.cu", "claim_last", edges, src, dst, n, guard, table, mask, place)
        limit = NO_LIMIT if pending is None else np.uint32(CHAIN_LIMIT * max(1.0, store.load_factor))
        per_bucket = np.float64(store.per_bucket)
        threads, chunk = self._tiles(edges), 1
        most = INSERT_BLOCKS * BLOCK * self._multiprocessors
        waste = (CHUNK - 1) * most // 32
        if threads > most and store._room >= need + quota + waste:
            threads, chunk = most, CHUNK
            self.spend(waste)
        self._launch(
            "insert.cu", "insert", threads, view, src, dst, weight, n, guard, table, place, queue, pending,
            limit, np.float32(per_bucket), np.uint32(chunk), status, before,
        )  # fmt: skip
        if hashing or table is not None:
            resident = SETTLE_BLOCKS * self._multiprocessors * BLOCK
            self._launch(
                "settle.cu", "settle", resident, view, src, dst, weight, n, guard, table, place, queue,
                target, code, parts, pending, np.uint64(quota), per_bucket, status, before,
            )  # fmt: skip

    def _table(self, edges: int) -> Array:
        """Return the table of last duplicates, all EMPTY (kernels leave it so); at least twice the batch."""
        import cupy

        size = 1 << (2 * edges - 1).bit_length()
        table = self._scratch.get("table")
        if table is None or len(table) < size:
            table = cupy.full(size, 0xFFFFFFFF, np.uint32)
            self._scratch["table"] = table
        return table

    def delete(self, src: Array, dst: Array, guard: Array | None, status: Array, before: Array | None) -> None:
        """Delete a batch."""
        threads = self._tiles(len(src))
        self._launch("delete.cu", "erase", threads, self._view(), src, dst, np.int64(len(src)), guard, status, before)

    def find(self, src: Array, dst: Array, found: Array, weight: Array | None) -> None:
        """Look a batch up."""
        threads = self._tiles((len(src) + 1) // 2)
        self._launch("find.cu", "find", threads, self._view(), src, dst, np.int64(len(src)), found, weight)

    # -- maintenance ---------------------------------------------------------------------------------------------------

    def count_sources(self, src: Array, guard: Array | None, counts: Array) -> None:
        """Add the edges per source to ``counts`` (uint32 per vertex)."""
        self._launch("maintain.cu", "count_sources", len(src), src, np.int64(len(src)), guard, counts)

    def plan(self, expected: Array) -> tuple[Array, Array]:
        """Return encoded (uint16) and plain (int64, 0 without edges) bucket counts for degrees (uint32 per vertex)."""
        import cupy

        n, store = len(expected), self.store
        codes, heads = cupy.empty(n, np.uint16), cupy.empty(n, np.int64)
        self._launch(
            "maintain.cu", "plan_buckets", n, expected, np.int64(n), np.float64(store.per_bucket),
            np.int32(store.hashing), codes, heads,
        )  # fmt: skip
        return codes, heads

    def place_heads(self, owner: Array, heads: Array, ends: Array, total: int) -> None:
        """Write the owners of the first ``total`` slabs; ``ends`` are the running sums of ``heads``."""
        self._launch("maintain.cu", "place_heads", len(heads), heads, ends, np.int64(len(heads)), owner)

    def count_slabs(self, slabs: Slabs, bump: int, src: Array, dst: Array, guard: Array | None, fresh: bool) -> int:
        """Return how many slabs inserting the batch needs at most; waits for the device."""
        import cupy

        size = bump + len(slabs.first_slab)
        counts, total = cupy.zeros(size, np.uint32), cupy.zeros(1, np.uint64)
        view, end = self._struct.pack(slabs), np.int64(bump)
        self._launch(
            "maintain.cu", "count_edges", len(src), view, end, src, dst, np.int64(len(src)), guard, counts
        )  # fmt: skip
        self._launch(
            "maintain.cu", "sum_slabs", size, view, end, counts, np.int64(size), np.int32(fresh), total
        )  # fmt: skip
        return int(total[0])

    def move_edges(self, old: Slabs, new: Slabs) -> None:
        """Copy all edges to empty buckets in another pool."""
        views = self._struct.pack(old), self._struct.pack(new)
        for fresh in range(1 + (old.epoch > 0)):  # those inserted since the mark go behind the rest
            self._launch("maintain.cu", "move_edges", self._tiles(old.capacity), *views, np.int32(fresh))

    def free_vertices(self, vertices: Array) -> None:
        """Free the storage of distinct vertices."""
        count = len(vertices)
        self._launch("maintain.cu", "free_vertices", 32 * count, self._view(), vertices, np.int64(count))

    def list_free(self, found: Array) -> None:
        """Fill ``found`` with the free slabs below the bump counter; it has room for exactly them."""
        import cupy

        cursor = cupy.zeros(1, np.uint32)
        self._launch("maintain.cu", "list_free", int(self.store._counters[BUMP]), self._view(), found, cursor)

    def gather(self, vertices: Array, offsets: Array, dst: Array, weight: Array | None) -> None:
        """Write the edges of the i-th vertex from ``offsets[i]`` on."""
        import cupy

        count = len(vertices)
        parts = max(1, min(256, 8192 // count))
        cursor = cupy.zeros(count, np.uint32)
        self._launch(
            "maintain.cu", "gather", 32 * count * parts, self._view(), vertices, offsets, np.int64(count),
            np.int64(parts), cursor, dst, weight,
        )  # fmt: skip

    def gather_all(self, offsets: Array, src: Array, dst: Array, weight: Array | None) -> None:
        """Write all edges; those of vertex v from ``offsets[v]`` on."""
        import cupy

        cursor = cupy.zeros(self.store.num_vertices, np.uint32)
        threads = self._tiles(self.store.slabs.capacity)
        self._launch("maintain.cu", "gather_all", threads, self._view(), offsets, cursor, src, dst, weight)

    def gather_touched(self, count: int, src: Array, dst: Array, weight: Array | None) -> int:
        """Write the edges inserted since the mark, from ``count`` slabs; return their number (waits for it)."""
        import cupy

        cursor = cupy.zeros(1, np.uint64)
        self._launch("maintain.cu", "gather_touched", self._tiles(count), self._view(), cursor, src, dst, weight)
        return int(cursor[0])
