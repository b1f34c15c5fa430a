"""``slabhash`` on CUDA: launches, and learning the device's counters without waiting."""

from __future__ import annotations

import struct
import weakref
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np
from cupy.cuda import alloc

from suricate.backends.slabhash.layout import BUMP, TOUCHED, Slabs
from suricate.backends.slabhash.programs import DELETION, INSERT_BLOCKS, INSERTION, QUERY, SCRATCH, backend_programs
from suricate.cuda.ingest import UNVALIDATED, UnvalidatedBatch, Variant
from suricate.cuda.launch import StructKernel
from suricate.cuda.pinned import PinnedCounters
from suricate.cuda.program import Program
from suricate.cuda.structs import ViewStruct, view_struct
from suricate.devices import Array
from suricate.errors import CapacityError
from suricate.types import Change, EdgeList, Outcome

if TYPE_CHECKING:
    from suricate.backends.slabhash.store import Grant

BLOCK, WARPS, LANES = 256, 8, 32  # threads and warps of a block, lanes of a warp
MAX_BLOCKS = 1 << 20
FILL_THREADS = 1 << 18  # fill the device
CHUNK = 32  # slabs that a warp takes at a time, where there are more than its share of a large batch needs
CHUNK_FROM = 1 << 17  # edges of such a batch
SMALL_SHARE = 64  # a batch of at most this share of the pool's slabs is small: its lanes take one each for new vertices
IN_VAIN = CHUNK - 1 + LANES  # that a warp of a large batch may give back: the rest of a chunk, and one of each lane
NO_LIMIT = LOWER_HALF = 0xFFFFFFFF
HALF = 1 << 31
CHAIN_LIMIT = 8  # slabs of a chain, at a load factor up to 1, beyond which an edge waits for more buckets
SMALL = 1 << 15  # edges; scratch arrays of batches of up to so many are kept,
KEPT_SHARE = 4  # and larger ones of at most this share of the pool
ALIGNMENT = 256  # bytes
MOST_ASIDE = 1 << 20  # bytes allocated ahead of a batch
MOST_PLANS = 64  # kinds and sizes of batches that are remembered
BATCHES = {"insert": ("insert.cu", INSERTION), "erase": ("delete.cu", DELETION), "find": ("find.cu", QUERY)}
NULL = np.uint64(0)


def _addresses(*arrays: Array | None) -> tuple[int, ...]:
    return tuple(0 if array is None else array.data.ptr for array in arrays)


@lru_cache(MOST_PLANS)
def _offsets(*sizes: int) -> tuple[int, ...]:
    """Return the offsets of parts of these sizes, and that of the end."""
    return tuple(accumulate((size + ALIGNMENT - 1 & -ALIGNMENT for size in sizes), initial=0))


class Space(NamedTuple):
    """Memory for the copies and the outcome of an unvalidated batch, and the addresses in it.

    They are those of the copies of src, dst and weight, of the status, and of the old weights.
    """

    offsets: tuple[int, ...]
    memory: Any
    addresses: tuple[int, ...]


NO_SPACE = Space((0,), None, ())


def _space(offsets: tuple[int, ...], memory: Any) -> Space:
    start, (src, dst, weight, status, before, _) = memory.ptr, offsets
    return Space(offsets, memory, (start + src, start + dst, start + weight, start + status, start + before))


class Held(NamedTuple):
    """The copies and the outcome of an unvalidated batch; arrays are made of them only when they are asked for."""

    size: int
    mirrored: bool
    weight: np.dtype | None
    before: np.dtype | None
    space: Space

    def __call__(self) -> Change:
        """Return the arrays."""
        weight, before = self.weight, self.before
        edges = EdgeList(self._array(0, np.uint32), self._array(1, np.uint32), weight and self._array(2, weight))
        outcome = Outcome(self._array(3, np.uint8), before and self._array(4, before))
        return Change(edges, outcome, self.mirrored)

    def _array(self, part: int, dtype: Any) -> Array:
        return cupy.ndarray((self.size,), dtype, self.space.memory + self.space.offsets[part])


class BatchKernel:
    """The kernel of a batch operation.

    Its argument begins with ``prefix`` bytes that change seldom, the view and what batches have in common; behind them
    are, packed as ``words``, the operation's struct, and ``Unvalidated`` if it takes unvalidated batches. The device
    holds ``room`` blocks at a time; the grid has no more if all of it must be ``resident``.
    """

    def __init__(
        self, kernel: StructKernel, prefix: int, words: struct.Struct, lanes: int, room: int, *, resident: bool
    ) -> None:
        self._kernel, self._at, self._words = kernel, prefix, words
        self._tiles, self._rounds = LANES // lanes, lanes if lanes > 2 else 1  # of a warp, and those it takes at most
        self._filling = self._tiles * WARPS * room  # edges of which every tile of the device has one
        self._most_blocks = room if resident else MAX_BLOCKS

    def spread(self, edges: int) -> tuple[int, int]:
        """Return how many of so many edges a warp takes at a time, and how many blocks to launch.

        A warp takes as many edges as it has tiles while that keeps the device busy, up to one per lane for larger
        batches; see slabs.cuh.
        """
        tiles, filling = self._tiles, self._filling
        share = tiles if edges < filling else tiles * min(self._rounds, 1 + edges // filling)
        return share, min((edges - 1) // (share * WARPS) + 1, self._most_blocks)

    def launch(self, prefix: bytes, blocks: int, words: tuple[int, ...]) -> None:
        """Launch as many blocks."""
        kernel = self._kernel
        if kernel.prefix is not prefix:
            kernel.begin_with(prefix)
        self._words.pack_into(kernel.buffer, self._at, *words)
        kernel.launch(blocks, BLOCK)


@dataclass(slots=True, eq=False)  # what every call reads is no tuple: a slot is read in a third of the time
class Plan:
    """What batches of one kind and size have in common.

    A warp takes ``share`` edges at a time; ``offsets`` are those of a ``Space``, and that of its end.
    """

    kernel: BatchKernel
    share: int
    blocks: int
    offsets: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Scratch:
    """Memory for insertions of up to ``edges`` edges, ``size`` bytes.

    ``prefix`` is what the kernel's argument begins with: the view, and the struct ``Scratch`` of ``settle.cuh``.
    """

    edges: int
    size: int
    memory: Any
    prefix: bytes


NO_SCRATCH = Scratch(0, 0, None, b"")


def _table_size(edges: int) -> int:
    """Return the size of the hash table of duplicates: a power of two, at least twice the batch up to 2**30 edges."""
    return min(1 << 31, 1 << (2 * edges - 1).bit_length())


class CudaKernels:
    """The operations of a store on CuPy arrays; ``suricate.backends.slabhash.cpu.CpuKernels`` is the CPU twin.

    Nothing waits for the device but :meth:`count_slabs` and :meth:`gather_touched`.
    """

    def __init__(self, store: Any) -> None:
        self._store = weakref.ref(store)  # which holds this: in a cycle its memory would outlive it
        self._packed: tuple[np.void, bytes] | None = None
        self._programs: dict[Variant | None, dict[str, Program]] = {}
        self._kernels: dict[tuple[str, Variant | None], BatchKernel] = {}
        self._plans: dict[tuple[str, Variant | None, int], Plan] = {}
        # What insertions send (see insert.cu), each in the lower half of a word; above it the slabs granted until then.
        self._pinned = PinnedCounters(store.device, 3)
        self._kept_scratch = NO_SCRATCH
        self._aside = NO_SPACE  # for a batch to come
        self._granted = self._seen = 0  # slabs, to all insertions and to those whose counters are known, modulo 2**32
        self.behind = 0  #: insertions since counters were taken over

    @property
    def store(self) -> Any:
        """The store that these are the kernels of."""
        return self._store()

    # -- launching -----------------------------------------------------------------------------------------------------

    @cached_property
    def _struct(self) -> ViewStruct:
        return view_struct(self.store.slabs)

    @cached_property
    def _chain_limit(self) -> int:
        return int(CHAIN_LIMIT * max(1.0, self.store.load_factor)) if self.store.hashing else NO_LIMIT

    @cached_property
    def _multiprocessors(self) -> int:
        return cupy.cuda.Device().attributes["MultiProcessorCount"]

    def forget_arrays(self) -> None:
        """The store has other arrays now: forget what depends on them."""
        self._packed, self._kept_scratch, self._aside = None, NO_SCRATCH, NO_SPACE

    def _view(self) -> tuple[np.void, bytes]:
        """Return the struct of the store's arrays, as a scalar and as bytes."""
        if self._packed is None:
            view = self._struct.pack(self.store.slabs)
            self._packed = (view, view.tobytes())
        return self._packed

    def _program(self, source: str, variant: Variant | None = None) -> Program:
        programs = self._programs.get(variant)
        if programs is None:
            store = self.store
            programs = backend_programs(store.geometry, self._struct.declaration, store.edges_in_flight, variant)
            self._programs[variant] = programs
        return programs[source]

    def _launch(self, name: str, threads: int, *args: Any) -> None:
        """Launch a kernel of maintain.cu over ``threads`` threads at most; None is passed as a null pointer."""
        grid = max(1, min((threads + BLOCK - 1) // BLOCK, MAX_BLOCKS))
        kernel = self._program("maintain.cu").kernel(name)
        kernel((grid,), (BLOCK,), tuple(NULL if arg is None else arg for arg in args))

    def _plan(self, name: str, raw: UnvalidatedBatch | None, edges: int) -> Plan:
        """Return how a batch operation is launched for so many edges."""
        key = name, None if raw is None else raw.variant, edges
        return self._plans.get(key) or self._new_plan(*key)

    def _new_plan(self, name: str, variant: Variant | None, edges: int) -> Plan:
        kernel = self._kernels.get((name, variant)) or self._batch_kernel(name, variant)
        dtype = self.store.weight_dtype
        width = dtype.itemsize if dtype else 0
        offsets = _offsets(4 * edges, 4 * edges, (name == "insert") * width * edges, edges, width * edges)
        if len(self._plans) >= MOST_PLANS:
            self._plans.clear()
        plan = self._plans[name, variant, edges] = Plan(kernel, *kernel.spread(edges), offsets)
        return plan

    def _batch_kernel(self, name: str, variant: Variant | None) -> BatchKernel:
        source, words = BATCHES[name]
        program, lanes = self._program(source, variant), self.store.geometry.lanes
        prefix = len(self._view()[1]) + (SCRATCH.size if name == "insert" else 0)
        if variant is not None:
            words = struct.Struct(words.format + UNVALIDATED.format[1:])
        kernel = StructKernel(program, name, prefix + words.size)
        held = kernel.resident(BLOCK)
        room = self._multiprocessors * (min(held, INSERT_BLOCKS) if name == "insert" else held)
        result = BatchKernel(kernel, prefix, words, lanes, room, resident=program.cooperative)
        self._kernels[name, variant] = result
        return result

    def _tiles(self, count: int) -> int:
        """Return the threads for ``count`` tiles."""
        return count * self.store.geometry.lanes

    # -- counters ------------------------------------------------------------------------------------------------------

    def slabs_ahead(self, edges: int) -> tuple[int, int]:
        """Return how many slabs to keep in a batch for re-buckets, and for what may be taken in advance, in vain.

        In a small batch those edges take one slab each that find their vertex without storage. All but the first of a
        vertex do so in vain, but then share its slabs; so the batch takes at most one per edge, and what they fill.
        """
        in_advance, keys = 0, self.store.geometry.keys
        if edges >= CHUNK_FROM:
            in_advance = IN_VAIN * INSERT_BLOCKS * WARPS * self._multiprocessors
        elif edges * SMALL_SHARE <= self.store.slabs.capacity:
            in_advance = edges // keys + 1
        return 6 * edges // keys, in_advance

    def refresh(self) -> None:
        """Take over counters that have arrived, if any have. Never waits."""
        seen = self._seen
        if seen == self._granted:
            return
        room, used, wanted = self._pinned.words.tolist()
        arrived = room >> 32
        if not 0 < arrived - seen & LOWER_HALF < HALF or used >> 32 != arrived or wanted >> 32 != arrived:
            return  # nothing new, or only a part of it: next time
        self._seen, self.behind, self._pinned.busy = arrived, 0, arrived != self._granted
        self.store._set_room((room & LOWER_HALF) - self.pending, used & LOWER_HALF, wanted & LOWER_HALF)

    @property
    def pending(self) -> int:
        """Number of slabs granted to insertions whose counters have not been taken over."""
        return self._granted - self._seen & LOWER_HALF

    def forget_pending(self) -> None:
        """The store knows the counters, as they are behind all that was queued."""
        self._seen, self.behind, self._pinned.busy = self._granted, 0, False

    # -- batches -------------------------------------------------------------------------------------------------------

    def insert(
        self,
        src: Array,
        dst: Array,
        weight: Array | None,
        guard: Array | None,
        grant: Grant,
        status: Array,
        before: Array | None,
    ) -> None:
        """Insert a batch with the slabs that are granted to it."""
        addresses = _addresses(src, dst, weight, guard, status, before)
        self._insert(self._plan("insert", None, grant.edges), None, addresses, grant)

    def insert_unvalidated(self, batch: UnvalidatedBatch, grant: Grant) -> Held:
        """The same for a batch that nobody has checked."""
        edges = batch.size
        plan = self._plan("insert", batch, edges)
        space = self._take_space(plan.offsets)
        src, dst, weight, status, before = space.addresses
        self._insert(plan, batch, (src, dst, weight, 0, status, before), grant)
        self._lay_aside(batch, plan.offsets)
        dtype = self.store.weight_dtype
        return Held(edges, batch.variant.mirrored, dtype, dtype, space)

    def _take_space(self, offsets: tuple[int, ...]) -> Space:
        """Return space for the copies and the outcome of a batch."""
        space, self._aside = self._aside, NO_SPACE
        return space if space.offsets is offsets else _space(offsets, self._alloc(offsets[-1]))

    def _lay_aside(self, batch: UnvalidatedBatch, offsets: tuple[int, ...]) -> None:
        """Allocate space for another batch like this one, if it is small: now, while the device is at work."""
        if batch.waits and offsets[-1] <= MOST_ASIDE and self.store.memory_limit is None:
            try:  # suppress() would take half a microsecond
                self._aside = _space(offsets, alloc(offsets[-1]))
            except MemoryError:
                return

    def _alloc(self, size: int) -> Any:
        try:
            return alloc(size)
        except MemoryError as error:
            raise self.store.out_of_memory(error) from error

    def _insert(self, plan: Plan, raw: UnvalidatedBatch | None, addresses: tuple[int, ...], grant: Grant) -> None:
        store, edges = self.store, grant.edges
        scratch = self._scratch(edges)
        ahead, slabs = 0, grant.need + grant.quota
        # A small batch may take one slab per edge then: more than it was granted if it was counted what it needs.
        if grant.least < grant.ample <= store._room and (edges >= CHUNK_FROM or grant.need >= edges):
            ahead = CHUNK if edges >= CHUNK_FROM else 1
            slabs += grant.ample - grant.least
        self._granted = granted = self._granted + (slabs or 1) & LOWER_HALF  # another number with each insertion
        words = (*addresses, edges, grant.quota, ahead, granted, plan.share)
        if raw:
            words += raw.words
        self._pinned.busy = True
        plan.kernel.launch(scratch.prefix, plan.blocks, words)
        store._room -= slabs
        self.behind += 1

    def _scratch(self, edges: int) -> Scratch:
        """Return memory for the scratch arrays of an insertion; batches share it, as they run one after the other."""
        if edges <= self._kept_scratch.edges:
            return self._kept_scratch
        scratch = self._new_scratch(1 << (edges - 1).bit_length() if edges <= SMALL else edges)
        if self._may_keep(scratch.edges, scratch.size):
            self._kept_scratch = scratch
        return scratch

    def prepare(self, edges: int) -> None:
        """Allocate the scratch memory of batches of up to ``edges`` edges ahead of them, if it is such as is kept."""
        if edges and self._may_keep(edges, sum(self._scratch_sizes(edges))):
            with suppress(CapacityError):
                self._scratch(edges)

    def _may_keep(self, edges: int, size: int) -> bool:
        small = edges <= SMALL or size * KEPT_SHARE <= self.store.slabs.pool.nbytes
        return small and self.store.may_keep(size)

    @property
    def scratch_bytes(self) -> int:
        """Bytes that are kept between batches: scratch memory, and what is laid aside."""
        return self._kept_scratch.size + self._aside.offsets[-1]

    def _new_scratch(self, edges: int) -> Scratch:
        sizes = self._scratch_sizes(edges)
        *offsets, end = _offsets(*sizes)
        memory = self._alloc(end)
        addresses = [memory.ptr + offset if size else 0 for offset, size in zip(offsets, sizes, strict=True)]
        _, table, *_, moves, _ = sizes
        shared = SCRATCH.pack(
            *addresses, self._pinned.address, self.store.per_bucket, table // 4, self._chain_limit, moves // 8
        )
        return Scratch(edges, end, memory, self._view()[1] + shared)

    def _scratch_sizes(self, edges: int) -> tuple[int, ...]:
        """Return the bytes of the scratch arrays: those from ``met`` to ``late`` in ``settle.cuh``."""
        store = self.store
        weighted = 4 if store.weight_dtype is not None else 0
        queue = 4 * min(edges, len(store.slabs.buckets)) if store.hashing else 0
        # Buckets that may move: those of all vertices that can have outgrown them, but for the largest vertices.
        moves = 8 * min(store.slabs.capacity, max(edges, SMALL) + store.slabs.capacity // 16) if store.hashing else 0
        late = 4 * edges if store.hashing else 0
        return weighted * edges, weighted * _table_size(edges), weighted * edges, queue, queue, queue, moves, late

    def delete(self, src: Array, dst: Array, guard: Array | None, status: Array, before: Array | None) -> None:
        """Delete a batch."""
        edges = len(src)
        self._delete(self._plan("erase", None, edges), None, edges, _addresses(src, dst, guard, status, before))

    def delete_unvalidated(self, batch: UnvalidatedBatch) -> Held:
        """The same for a batch that nobody has checked."""
        edges = batch.size
        plan = self._plan("erase", batch, edges)
        space = self._take_space(plan.offsets)
        src, dst, _, status, before = space.addresses
        self._delete(plan, batch, edges, (src, dst, 0, status, before))
        self._lay_aside(batch, plan.offsets)
        return Held(edges, batch.variant.mirrored, None, self.store.weight_dtype, space)

    def _delete(self, plan: Plan, raw: UnvalidatedBatch | None, edges: int, addresses: tuple[int, ...]) -> None:
        words = (*addresses, edges, plan.share)
        if raw:
            words += raw.words
        plan.kernel.launch(self._view()[1], plan.blocks, words)

    def find(self, src: Array, dst: Array, found: Array, weight: Array | None) -> None:
        """Look a batch up."""
        self._find(None, src.data.ptr, dst.data.ptr, len(src), found, weight)

    def find_unvalidated(self, batch: UnvalidatedBatch, found: Array, weight: Array | None) -> None:
        """The same for a batch that nobody has checked."""
        self._find(batch, 0, 0, batch.size, found, weight)

    def _find(
        self, raw: UnvalidatedBatch | None, src: int, dst: int, edges: int, found: Array, weight: Array | None
    ) -> None:
        plan = self._plan("find", raw, edges)
        words: tuple[int, ...] = (src, dst, found.data.ptr, 0 if weight is None else weight.data.ptr, edges, plan.share)
        if raw:
            words += raw.words
        plan.kernel.launch(self._view()[1], plan.blocks, words)

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
