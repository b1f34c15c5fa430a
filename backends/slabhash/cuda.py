"""``slabhash`` on CUDA: launches, and learning the device's counters without waiting."""

from __future__ import annotations

import struct
import sys
from collections import deque
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import cupy
import cupyx
import numpy as np
from cupy.cuda import alloc

from suricate.backends.slabhash.layout import BUMP, NUM_COUNTERS, TOUCHED, WANTED, Slabs
from suricate.backends.slabhash.programs import DELETION, INSERTION, QUERY, engine_programs
from suricate.batch import Change
from suricate.cuda import Program, StructKernel, ViewStruct, view_struct, wait_for
from suricate.cuda.ingest import RAW, RawBatch, Variant
from suricate.devices import Array
from suricate.store import EdgeList, Outcome

BLOCK = 256
MAX_BLOCKS = 1 << 20
FILL_THREADS = 1 << 18  # fill the device
CHUNK = 32  # slabs that a warp takes at a time, where there are more than its share of a large batch needs
CHUNK_FROM = 1 << 17  # edges of such a batch
MOST_IN_ADVANCE = 1 << 17  # what all warps of a device take in advance then, roughly
NO_LIMIT = LOWER_HALF = 0xFFFFFFFF
CHAIN_LIMIT = 8  # slabs of a chain, at a load factor up to 1, beyond which an edge waits for more buckets
SMALL = 1 << 15  # edges; the scratch arrays of smaller batches are kept
ALIGNMENT = 256  # bytes
MAX_PLANS = 64
NULL = np.uint64(0)


@lru_cache(maxsize=64)
def _offsets(*sizes: int) -> tuple[int, ...]:
    """Return the offsets of parts of these sizes, and that of the end."""
    return tuple(accumulate(((size + ALIGNMENT - 1) & -ALIGNMENT for size in sizes), initial=0))


class Held:
    """The copies and the outcome of a raw batch; arrays are made of them only when they are asked for.

    ``addresses`` are those of the copies of src, dst and weight, of the status, and of the old weights.
    """

    __slots__ = ("_dtypes", "_memory", "_mirrored", "_size", "addresses")

    def __init__(self, batch: RawBatch, weight: np.dtype | None, before: np.dtype | None) -> None:
        size = batch.size
        self._size, self._mirrored, self._dtypes = size, batch.variant.mirrored, (weight, before)
        words = 4 * size
        *offsets, end = _offsets(
            words, words, size * weight.itemsize if weight else 0, size, size * before.itemsize if before else 0
        )
        self._memory = alloc(end)
        start = self._memory.ptr
        self.addresses = [start + offset for offset in offsets]

    def __call__(self) -> Change:
        """Return the arrays."""
        weight, before = self._dtypes
        edges = EdgeList(self._array(0, np.uint32), self._array(1, np.uint32), weight and self._array(2, weight))
        outcome = Outcome(self._array(3, np.uint8), before and self._array(4, before))
        return Change(edges, outcome, self._mirrored)

    def _array(self, part: int, dtype: Any) -> Array:
        start = self._memory + (self.addresses[part] - self._memory.ptr)
        return cupy.ndarray((self._size,), dtype, start)


class Plan(NamedTuple):
    """How to insert a batch of a certain size, while the arrays of the store stay the same; see ``settle.cuh``."""

    kernel: StructKernel
    at: int
    share: int
    blocks: int
    limit: int
    table: int
    most_moves: int


def _table_size(edges: int) -> int:
    """Return the size of the hash table of duplicates: a power of two, at least twice the batch up to 2**30 edges."""
    return min(1 << 31, 1 << (2 * edges - 1).bit_length())


class CudaKernels:
    """The operations of a store on CuPy arrays; ``suricate.backends.slabhash.cpu.CpuKernels`` is the CPU twin.

    Nothing waits for the device but :meth:`count_slabs` and :meth:`gather_touched`.
    """

    def __init__(self, store: Any) -> None:
        self.store, self._device = store, store.device
        self._packed: tuple[int, np.void, bytes] | None = None
        self._programs: dict[Variant | None, dict[str, Program]] = {}
        self._kernels: dict[tuple[Variant | None, str], StructKernel] = {}
        # uint64[16] in host memory: the counters as insertions send them, each in the lower half of a word, with the
        # number of the insertion above it. A memoryview gives plain ints, at once and a whole word at a time.
        pinned = cupyx.empty_pinned(NUM_COUNTERS, np.uint64)
        pinned[:] = 0
        self._mirror_address, self._mirror = pinned.ctypes.data, memoryview(pinned)
        self._plans: dict[tuple[Variant | None, int], Plan] = {}
        self._small_scratch: tuple[Any, list[int]] | None = None
        self._batches = 0  # insertions so far
        self._spent: deque[tuple[int, int]] = deque()  # of insertions not seen yet: number, slabs granted

    def __del__(self) -> None:
        batches = getattr(self, "_batches", 0)  # 0 also if the constructor failed
        if batches and self._mirror[0] >> 32 != batches & LOWER_HALF and not sys.is_finalizing():
            wait_for(self._device)  # an insertion is about to write to the host memory that goes away now

    # -- launching -----------------------------------------------------------------------------------------------------

    @cached_property
    def _struct(self) -> ViewStruct:
        return view_struct(self.store.slabs)

    @cached_property
    def _multiprocessors(self) -> int:
        return cupy.cuda.Device().attributes["MultiProcessorCount"]

    def _view(self) -> tuple[np.void, bytes]:
        """Return the struct of the store's arrays, packed once per change of the arrays, as a scalar and as bytes."""
        if self._packed is None or self._packed[0] != self.store.slabs_version:
            view = self._struct.pack(self.store.slabs)
            self._packed = (self.store.slabs_version, view, view.tobytes())
            self._plans.clear()
            self._small_scratch = None
        return self._packed[1:]

    def _program(self, source: str, variant: Variant | None = None) -> Program:
        programs = self._programs.get(variant)
        if programs is None:
            store = self.store
            programs = engine_programs(store.geometry, self._struct.declaration, store.edges_in_flight, variant)
            self._programs[variant] = programs
        return programs[source]

    def _launch(self, name: str, threads: int, *args: Any) -> None:
        """Launch a kernel of maintain.cu over ``threads`` threads at most; None is passed as a null pointer."""
        grid = max(1, min((threads + BLOCK - 1) // BLOCK, MAX_BLOCKS))
        kernel = self._program("maintain.cu").kernel(name)
        kernel((grid,), (BLOCK,), tuple(NULL if arg is None else arg for arg in args))

    def _ready(self, name: str, variant: Variant | None, batch: struct.Struct) -> tuple[StructKernel, int]:
        """Return the kernel of a batch operation with the view in its buffer, and where what follows goes."""
        kernel = self._kernels.get((variant, name))
        view = self._view()[1]
        if kernel is None:
            source = {"insert": "insert.cu", "erase": "delete.cu", "find": "find.cu"}[name]
            size = len(view) + batch.size + (0 if variant is None else RAW.size)
            kernel = StructKernel(self._program(source, variant), name, size)
            self._kernels[variant, name] = kernel
        kernel.begin_with(view)
        return kernel, len(view)

    def _tiles(self, count: int) -> int:
        """Return the threads for ``count`` tiles."""
        return count * self.store.geometry.lanes

    def _spread(self, kernel: StructKernel, edges: int, *, resident: bool) -> tuple[int, int]:
        """Return how many edges a warp takes at a time, and how many blocks to launch for a batch.

        As many as it has tiles while that keeps the device busy, up to one per lane for larger batches; see slabs.cuh.
        """
        lanes, room = self.store.geometry.lanes, self._multiprocessors * kernel.resident(BLOCK)
        tiles, warps = 32 // lanes, BLOCK // 32
        share = tiles * (min(lanes, 1 + edges // (tiles * warps * room)) if lanes > 2 else 1)
        blocks = -(-edges // (share * warps))
        return share, min(blocks, room if resident else MAX_BLOCKS)

    # -- counters ------------------------------------------------------------------------------------------------------

    def spend(self, slabs: int) -> None:
        """Note that up to ``slabs`` may be taken by the insertion that is being launched."""
        self.store._room -= slabs
        self._spent.append((self._batches, slabs))

    @property
    def wants(self) -> bool:
        """Whether a re-bucket has lacked slabs, as far as is known."""
        return self._mirror[WANTED] & LOWER_HALF != 0

    def slabs_ahead(self, edges: int) -> int:
        """Return how many slabs to keep for re-buckets in a batch, and for what warps take in advance."""
        return 6 * edges // self.store.geometry.keys + (MOST_IN_ADVANCE if edges >= CHUNK_FROM else 0)

    def refresh(self) -> bool:
        """Take over counters that have arrived; return whether there were any. Never waits."""
        spent = self._spent
        if not spent or self._mirror[0] >> 32 < spent[0][0]:
            return False
        words = self._mirror.tolist()
        number = words[0] >> 32
        if any(word >> 32 != number for word in words):  # some of another insertion: next time
            return False
        while spent and spent[0][0] <= number:
            spent.popleft()
        self.store._set_room([word & LOWER_HALF for word in words])
        self.store._room -= sum(slabs for _, slabs in spent)
        return True

    def forget_spent(self) -> None:
        """The store has read the counters itself, waiting for all that was queued."""
        self._spent.clear()
        self._mirror[WANTED] &= ~LOWER_HALF

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
        addresses = [0 if part is None else part.data.ptr for part in (src, dst, weight, guard, status, before)]
        self._insert(None, len(src), addresses, need, quota)

    def insert_raw(self, batch: RawBatch, need: int, quota: int) -> Held:
        """The same for a batch that nobody has checked."""
        dtype = self.store.weight_dtype
        held = self._hold(batch, dtype)
        src, dst, weight, status, before = held.addresses
        self._insert(batch, batch.size, [src, dst, weight, batch.guard, status, before], need, quota)
        return held

    def _hold(self, batch: RawBatch, weight: np.dtype | None) -> Held:
        try:
            return Held(batch, weight, self.store.weight_dtype)
        except MemoryError as error:
            raise self.store.out_of_memory(error) from error

    def _insert(self, raw: RawBatch | None, edges: int, addresses: list[int], need: int, quota: int) -> None:
        store = self.store
        plan = self._plan_of(None if raw is None else raw.variant, edges)
        kernel, at = plan.kernel, plan.at
        memory, scratch = self._scratch(edges)
        chunk, waste = 1, (CHUNK - 1) * plan.blocks * BLOCK // 32
        if edges >= CHUNK_FROM and store._room >= need + quota + waste:
            chunk = CHUNK
            need += waste
        if raw is not None:
            raw.pack_into(kernel.buffer, at, *addresses[:3])
            at += RAW.size
        self._batches += 1
        INSERTION.pack_into(
            kernel.buffer, at, *addresses, *scratch, self._mirror_address, edges, quota,
            store.per_bucket, plan.table, chunk, plan.limit, self._batches & LOWER_HALF, plan.share,
            plan.most_moves,
        )  # fmt: skip
        kernel.launch(plan.blocks, BLOCK)
        del memory  # what is allocated from here on is used behind this kernel
        self.spend(need + quota)

    def _plan_of(self, variant: Variant | None, edges: int) -> Plan:
        """Return how to insert batches of a size; worked out once while the arrays of the store stay the same."""
        store, (_, view) = self.store, self._view()
        plan = self._plans.get((variant, edges))
        if plan is not None:
            plan.kernel.begin_with(view)
            return plan
        kernel, at = self._ready("insert", variant, INSERTION)
        share, blocks = self._spread(kernel, edges, resident=True)
        limit = int(CHAIN_LIMIT * max(1.0, store.load_factor)) if store.hashing else NO_LIMIT
        table = _table_size(edges) if store.weight_dtype is not None else 0
        plan = Plan(kernel, at, share, blocks, limit, table, self._most_moves(edges))
        if len(self._plans) == MAX_PLANS:
            self._plans.clear()
        self._plans[variant, edges] = plan
        return plan

    def _scratch(self, edges: int) -> tuple[Any, list[int]]:
        """Return memory for the scratch arrays of an insertion, and their addresses, 0 for those that are not used.

        All small batches share one: kernels use it one after the other.
        """
        if edges > SMALL:
            return self._new_scratch(edges)
        if self._small_scratch is None:
            self._small_scratch = self._new_scratch(SMALL)
        return self._small_scratch

    def _most_moves(self, edges: int) -> int:
        """Return how many buckets a batch may move: all, or those of all but the largest vertices."""
        capacity = self.store.slabs.capacity
        return capacity if edges > SMALL else min(capacity, SMALL + capacity // 16)

    def _new_scratch(self, edges: int) -> tuple[Any, list[int]]:
        store = self.store
        weighted, hashing = store.weight_dtype is not None, store.hashing
        queue = min(edges, len(store.slabs.buckets)) if hashing else 0
        sizes = (
            4 * edges if weighted else 0, 4 * _table_size(edges) if weighted else 0, 4 * edges if weighted else 0,
            4 * queue, 4 * queue, 4 * queue,
            8 * self._most_moves(edges) if hashing else 0, 4 * edges if hashing else 0,
        )  # fmt: skip
        *offsets, end = _offsets(*sizes)
        try:
            memory = alloc(end)
        except MemoryError as error:
            raise store.out_of_memory(error) from error
        return memory, [memory.ptr + offset if size else 0 for offset, size in zip(offsets, sizes, strict=True)]

    def delete(self, src: Array, dst: Array, guard: Array | None, status: Array, before: Array | None) -> None:
        """Delete a batch."""
        kernel, at = self._ready("erase", None, DELETION)
        addresses = (0 if part is None else part.data.ptr for part in (src, dst, guard, status, before))
        share, blocks = self._spread(kernel, len(src), resident=False)
        DELETION.pack_into(kernel.buffer, at, *addresses, len(src), share)
        kernel.launch(blocks, BLOCK)

    def delete_raw(self, batch: RawBatch) -> Held:
        """The same for a batch that nobody has checked."""
        held = self._hold(batch, None)
        src, dst, _, status, before = held.addresses
        kernel, at = self._ready("erase", batch.variant, DELETION)
        batch.pack_into(kernel.buffer, at, src, dst)
        share, blocks = self._spread(kernel, batch.size, resident=True)
        DELETION.pack_into(kernel.buffer, at + RAW.size, src, dst, batch.guard, status, before, batch.size, share)
        kernel.launch(blocks, BLOCK)
        return held

    def find(self, src: Array, dst: Array, found: Array, weight: Array | None) -> None:
        """Look a batch up."""
        self._find(None, src.data.ptr, dst.data.ptr, len(src), found, weight)

    def find_raw(self, batch: RawBatch, found: Array, weight: Array | None) -> None:
        """The same for a batch that nobody has checked."""
        self._find(batch, 0, 0, batch.size, found, weight)

    def _find(self, raw: RawBatch | None, src: int, dst: int, edges: int, found: Array, weight: Array | None) -> None:
        kernel, at = self._ready("find", None if raw is None else raw.variant, QUERY)
        if raw is not None:
            raw.pack_into(kernel.buffer, at)
            at += RAW.size
        share, blocks = self._spread(kernel, edges, resident=False)
        result = 0 if weight is None else weight.data.ptr
        QUERY.pack_into(kernel.buffer, at, src, dst, found.data.ptr, result, edges, share)
        kernel.launch(blocks, BLOCK)

    # -- maintenance ---------------------------------------------------------------------------------------------------

    def count_sources(self, src: Array, guard: Array | None, counts: Array) -> None:
        """Add the edges per source to ``counts`` (uint32 per vertex)."""
        self._launch("count_sources", len(src), src, np.int64(len(src)), guard, counts)

    def plan(self, expected: Array, room: float) -> tuple[Array, Array]:
        """Return encoded (uint16) and plain (int64, 0 without edges) bucket counts per vertex.

        They are for ``room`` times as many edges as ``expected`` (uint32).
        """
        n, store = len(expected), self.store
        codes, heads = cupy.empty(n, np.uint16), cupy.empty(n, np.int64)
        self._launch("plan_buckets", n, expected, np.int64(n), np.float64(store.per_bucket / room),
            np.int32(store.hashing), codes, heads,
        )  # fmt: skip
        return codes, heads

    def write_tables(self, codes: Array, heads: Array, ends: Array, old: Array, vertex: Array, buckets: Array) -> None:
        """Fill the words and the bucket codes of all vertices as planned, with the degrees of the words ``old``."""
        planned, size = np.int64(len(heads)), np.int64(len(buckets))
        self._launch("write_tables", len(buckets), codes, heads, ends, planned, size, old, vertex, buckets)

    def place_heads(self, owner: Array, heads: Array, ends: Array, total: int) -> None:
        """Write the owners of the first ``total`` slabs; ``ends`` are the running sums of ``heads``."""
        self._launch("place_heads", len(heads), heads, ends, np.int64(len(heads)), owner)

    def count_slabs(self, slabs: Slabs, bump: int, src: Array, dst: Array, guard: Array | None, fresh: bool) -> int:
        """Return how many slabs inserting the batch needs at most; waits for the device."""
        size = bump + len(slabs.buckets)
        counts, total = cupy.zeros(size, np.uint32), cupy.zeros(1, np.uint64)
        view, end = self._struct.pack(slabs), np.int64(bump)
        self._launch("count_edges", len(src), view, end, src, dst, np.int64(len(src)), guard, counts
        )  # fmt: skip
        self._launch("sum_slabs", size, view, end, counts, np.int64(size), np.int32(fresh), total
        )  # fmt: skip
        return int(total[0])

    def move_edges(self, old: Slabs, new: Slabs) -> None:
        """Copy all edges to empty buckets in another pool."""
        self._launch("move_edges", old.capacity * old.words, self._struct.pack(old), self._struct.pack(new))

    def forget_touched(self) -> None:
        """Forget what was inserted since the mark."""
        self._launch("forget_touched", FILL_THREADS, self._view()[0])
        self.store.slabs.counters[TOUCHED] = 0

    def free_vertices(self, vertices: Array) -> None:
        """Free the storage of distinct vertices."""
        count, view = len(vertices), self._view()[0]
        sections = cupy.empty(count, np.int64)
        self._launch("count_sections", count, view, vertices, np.int64(count), sections)
        ends = cupy.cumsum(sections)
        self._launch("free_sections", FILL_THREADS, view, vertices, ends, np.int64(count))
        self._launch("forget_vertices", count, view, vertices, np.int64(count))

    def list_free(self, found: Array) -> None:
        """Fill ``found`` with the free slabs below the bump counter; it has room for exactly them."""
        cursor = cupy.zeros(1, np.uint32)
        self._launch("list_free", int(self.store._counters[BUMP]), self._view()[0], found, cursor)

    def gather(self, vertices: Array, offsets: Array, dst: Array, weight: Array | None) -> None:
        """Write the edges of the i-th vertex from ``offsets[i]`` on."""
        count = len(vertices)
        parts = max(1, min(256, 8192 // count))
        cursor = cupy.zeros(count, np.uint32)
        self._launch("gather", 32 * count * parts, self._view()[0], vertices, offsets, np.int64(count),
            np.int64(parts), cursor, dst, weight,
        )  # fmt: skip

    def gather_all(self, offsets: Array, src: Array, dst: Array, weight: Array | None) -> None:
        """Write all edges; those of vertex v from ``offsets[v]`` on."""
        cursor = cupy.zeros(self.store.num_vertices, np.uint32)
        threads = self._tiles(self.store.slabs.capacity)
        self._launch("gather_all", threads, self._view()[0], offsets, cursor, src, dst, weight)

    def gather_touched(self, count: int, src: Array, dst: Array, weight: Array | None) -> int:
        """Write the edges inserted since the mark, from ``count`` slabs; return their number (waits for it)."""
        cursor = cupy.zeros(1, np.uint64)
        self._launch("gather_touched", self._tiles(count), self._view()[0], cursor, src, dst, weight)
        return int(cursor[0])
