"""``slabhash`` on CUDA: the launches. Nothing waits for the device unless it says so."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import cupy
import numpy as np
from cupy.cuda import alloc

from suricate.backends.slabhash import programs
from suricate.backends.slabhash.batches import MAX_BLOCKS, NO_SCRATCH, WARPS, BatchKernel, LaunchPlan, ScratchBuffer
from suricate.backends.slabhash.budget import Budget
from suricate.backends.slabhash.kernels import BucketPlan, GuardedBatch
from suricate.backends.slabhash.layout import FREED, LISTED, TAKEN, TOUCHED, Geometry, Slabs
from suricate.backends.slabhash.ledger import LOWER_HALF, Arrived, Reservation
from suricate.backends.slabhash.options import Options
from suricate.backends.slabhash.programs import BLOCK, DELETION, INSERTION, QUERY, SCRATCH, VIEW
from suricate.base.devices import Array, Device
from suricate.base.types import Outcome
from suricate.cuda.batch_memory import MOST_PLANS, offsets_of
from suricate.cuda.launch import StructKernel, address
from suricate.cuda.pinned import PinnedCounters
from suricate.cuda.structs import joined
from suricate.errors import CapacityError
from suricate.graph.interrupts import Uninterrupted
from suricate.intake.batches import DeviceBatch
from suricate.intake.ingest import UNVALIDATED, BatchKind, UnvalidatedBatch

FILL_THREADS = 1 << 18  # fill the device
CHAIN_LIMIT = 8  # slabs of a chain, at a load factor up to 1, beyond which an edge is deferred
SMALL = 1 << 15  # edges; scratch buffers of batches up to this size are cached,
CACHED_SHARE = 4  # and larger ones of at most this share of the pool
TRIM_LIST = 1 + 2048 * 5  # words of a List of trim.cu
NULL = np.uint64(0)


class CudaKernels:
    """The operations of a store on CuPy arrays; see :mod:`suricate.backends.slabhash.kernels`.

    ``budget`` is the store's budget, which scratch memory is counted in; ``shape`` the geometry of its slabs;
    ``weight_dtype`` the dtype of its weights, or None.
    """

    planning_bytes = 2 + 8 + 8  #: of the arrays of a plan, per vertex: code, number of heads and its running sum
    counting_bytes = 4  #: of the array of :meth:`count_batch` and :meth:`count_moves`, per slab or vertex that counts

    def __init__(
        self, device: Device, budget: Budget, shape: Geometry, weight_dtype: np.dtype | None, options: Options
    ) -> None:
        self._budget, self._shape, self._dtype, self._options = budget, shape, weight_dtype, options
        self._per_bucket = options.load_factor * shape.keys
        self._chain_limit = int(CHAIN_LIMIT * max(1.0, options.load_factor)) if options.hashing else programs.NO_LIMIT
        self._multiprocessors = cupy.cuda.Device(device.index).attributes["MultiProcessorCount"]
        self._view: tuple[np.void, bytes] | None = None
        self._kernels: dict[tuple[str, BatchKind | None], BatchKernel] = {}
        self._plans: dict[tuple[str, BatchKind | None, int], LaunchPlan] = {}
        # What insertions send (see insert.cu), each in the lower half of a word; above it the ticket of the batch.
        self._pinned = PinnedCounters(device, 3)
        self._ticket = 0  # of the last insertion
        self._trim_list = cupy.zeros(TRIM_LIST, np.uint32)  # of trim.cu
        self._cached = NO_SCRATCH

    @property
    def warps(self) -> int:
        """Number of resident warps of an insertion."""
        return programs.INSERT_BLOCKS * WARPS * self._multiprocessors

    def forget(self) -> None:
        """Drop the struct of the arrays and the scratch buffer from the cache, because the arrays are replaced."""
        self._view, self._cached = None, NO_SCRATCH
        self._budget.cached = 0

    # -- launching -----------------------------------------------------------------------------------------------------

    def _packed(self, slabs: Slabs) -> tuple[np.void, bytes]:
        """Return the struct of the arrays ``slabs``, as a NumPy scalar and as bytes; cached."""
        if self._view is None:
            view = VIEW.pack(slabs)
            self._view = (view, view.tobytes())
        return self._view

    def _launch(self, name: str, threads: int, *args: Any) -> None:
        """Launch the kernel ``name`` with ``args`` (None: a null pointer) over at most ``threads`` threads."""
        grid = max(1, min((threads + BLOCK - 1) // BLOCK, MAX_BLOCKS))
        program = programs.backend_programs(self._shape, self._options.edges_in_flight, None)[programs.KERNELS[name]]
        program.kernel(name)((grid,), (BLOCK,), tuple(NULL if arg is None else arg for arg in args))

    def _plan(self, slabs: Slabs, name: str, variant: BatchKind | None, edges: int) -> LaunchPlan:
        """Return the launch of kernel ``name`` ("insert", "erase" or "find") for a batch of ``edges`` edges; cached."""
        plan = self._plans.get((name, variant, edges))
        if plan is None:
            kernel = self._kernels.get((name, variant)) or self._batch_kernel(slabs, name, variant)
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            plan = self._plans[name, variant, edges] = LaunchPlan(kernel, *kernel.spread(edges))
        return plan

    def _batch_kernel(self, slabs: Slabs, name: str, variant: BatchKind | None) -> BatchKernel:
        source, batch = programs.BATCHES[name]
        program = programs.backend_programs(self._shape, self._options.edges_in_flight, variant)[source]
        prefix = len(self._packed(slabs)[1]) + (batch.base.size if batch.base else 0)
        packer = batch.own_packer if variant is None else joined(batch.own_packer, UNVALIDATED)
        kernel = StructKernel(program, name, prefix + packer.size)
        blocks = kernel.resident(BLOCK)
        resident = self._multiprocessors * (min(blocks, programs.INSERT_BLOCKS) if name == "insert" else blocks)
        result = BatchKernel(kernel, prefix, packer, self._shape.lanes, resident, cooperative=program.cooperative)
        self._kernels[name, variant] = result
        return result

    # -- counters ------------------------------------------------------------------------------------------------------

    def read_counters(self, slabs: Slabs) -> list[int]:
        """Return the counters of ``slabs`` after all queued work, as a list; waits for the device."""
        counters = slabs.counters.get().tolist()
        self._pinned.busy = False
        return counters

    def poll(self) -> Arrived | None:
        """Return the counters that arrived last, or None while only a part of them has arrived; never waits."""
        free, used, denied = self._pinned.words.tolist()
        ticket = free >> 32
        if used >> 32 != ticket or denied >> 32 != ticket:
            return None  # only a part of them is here
        if ticket == self._ticket:
            self._pinned.busy = False
        return Arrived(ticket, free & LOWER_HALF, used & LOWER_HALF, denied & LOWER_HALF)

    # -- scratch memory ------------------------------------------------------------------------------------------------

    def scratch_bytes(self, slabs: Slabs, edges: int) -> int:
        """Return the bytes of scratch memory that inserting ``edges`` edges takes at least, if none is cached."""
        return offsets_of(*self._scratch_sizes(slabs, edges, moves=False).values())[-1]

    def scratch(self, slabs: Slabs, edges: int) -> ScratchBuffer:
        """Return a scratch buffer for inserting ``edges`` edges: the cached one if it is large enough, else a new one.

        Batches share the cached buffer, as they run one after the other.
        """
        return self._cached if edges <= self._cached.edges else self._new_scratch(slabs, edges)

    def has_scratch(self, edges: int) -> bool:
        """Return whether scratch memory for inserting ``edges`` edges is cached."""
        return edges <= self._cached.edges

    def cache_scratch(self, slabs: Slabs, edges: int) -> None:
        """Allocate and cache scratch memory for batches of up to ``edges`` edges, unless it is large beside the pool.

        Do nothing either if as much is cached, or memory is lacking.
        """
        size = offsets_of(*self._scratch_sizes(slabs, edges).values())[-1]
        if edges > self._cached.edges and self._is_cached(slabs, edges, size):
            with suppress(CapacityError):
                self._new_scratch(slabs, edges)

    def _is_cached(self, slabs: Slabs, edges: int, size: int) -> bool:
        return edges <= SMALL or size * CACHED_SHARE <= slabs.pool.nbytes

    def _new_scratch(self, slabs: Slabs, edges: int) -> ScratchBuffer:
        rounded = 1 << (edges - 1).bit_length() if edges <= SMALL else edges
        sizes = self._scratch_sizes(slabs, rounded)
        if not self._budget.allows(offsets_of(*sizes.values())[-1]):
            rounded, sizes = edges, self._scratch_sizes(slabs, edges, moves=False)  # nothing is rehashed then
        *offsets, size = offsets_of(*sizes.values())
        is_cached = self._is_cached(slabs, rounded, size)
        if is_cached:
            self._cached, self._budget.cached = NO_SCRATCH, 0  # the smaller one goes first
        self._budget.admit(size)
        memory = self._budget.made(alloc, size)
        addresses = {
            name: memory.ptr + offset if length else 0
            for (name, length), offset in zip(sizes.items(), offsets, strict=True)
        }
        shared = SCRATCH.values(
            **addresses,
            pinned=self._pinned.address,
            per_bucket=self._per_bucket,
            table_size=sizes["table"] // 4,
            limit=self._chain_limit,
            most_moves=sizes["moves"] // programs.MOVE.size,
        )
        scratch = ScratchBuffer(rounded, size, memory, self._packed(slabs)[1] + SCRATCH.packer.pack(*shared))
        if is_cached:
            self._cached, self._budget.cached = scratch, size
        return scratch

    def _scratch_sizes(self, slabs: Slabs, edges: int, *, moves: bool = True) -> dict[str, int]:
        """Return the bytes of each scratch array for ``edges`` edges, by its name in the struct ``SCRATCH``.

        Without ``moves`` there is no memory for the list of buckets to move, and the insertion rehashes nothing.
        """
        hashing, capacity = self._options.hashing, slabs.capacity
        weighted = 4 if self._dtype is not None else 0
        queue = 4 * min(edges, len(slabs.buckets)) if hashing else 0
        # Buckets that may move: those of all vertices that can have outgrown them, but for the largest vertices.
        buckets = min(capacity, max(edges, SMALL) + capacity // 16) if hashing and moves else 0
        table = min(1 << 31, 1 << (2 * edges - 1).bit_length())  # at least twice the batch, up to 2**30 edges
        return {
            "existing": weighted * edges,
            "table": weighted * table,
            "place": weighted * edges,
            "queue": queue,
            "target": queue,
            "code": queue,
            "moves": programs.MOVE.size * buckets,
            "deferred": 4 * edges if hashing else 0,
        }

    # -- batches -------------------------------------------------------------------------------------------------------

    def insert(
        self, slabs: Slabs, batch: GuardedBatch, reservation: Reservation, outcome: Outcome, scratch: ScratchBuffer
    ) -> int:
        """Insert a validated batch into ``slabs`` by one launch, and write ``outcome``; return the size of the batch.

        ``reservation`` are the slabs set aside for it, ``scratch`` comes from :meth:`scratch`. Scratch memory that is
        not cached returns to CuPy's memory pool at once: its next user runs behind this launch on the stream.
        """
        edges = reservation.edges
        plan = self._plan(slabs, "insert", None, edges)
        words = INSERTION.values(
            src=batch.src.data.ptr, dst=batch.dst.data.ptr, weight=address(batch.weight), guard=address(batch.guard),
            status=outcome.status.data.ptr, before=address(outcome.weight), n=edges, quota=reservation.quota,
            ahead=reservation.ahead, ticket=reservation.ticket, share=plan.share,
        )  # fmt: skip
        self._ticket, self._pinned.busy = reservation.ticket, True
        plan.kernel.launch(scratch.prefix, plan.blocks, words)
        return edges

    def prepare_insertion(self, slabs: Slabs, batch: DeviceBatch) -> tuple[LaunchPlan, ScratchBuffer]:
        """Return the launch and the scratch buffer that :meth:`insert_batch` needs to insert ``batch`` in ``slabs``."""
        unchecked, edges, scratch = batch.unchecked, batch.size, self._cached
        plan = self._plan(slabs, "insert", None if unchecked is None else unchecked.variant, edges)
        return plan, scratch if edges <= scratch.edges else self._new_scratch(slabs, edges)

    def insert_batch(
        self, batch: DeviceBatch, prepared: tuple[LaunchPlan, ScratchBuffer], reservation: Reservation
    ) -> None:
        """Launch the insertion of ``batch``, which validates it as well if ``batch.unchecked`` is set.

        ``prepared`` is the result of :meth:`prepare_insertion`, ``reservation`` are the slabs set aside for the batch.
        """
        (plan, scratch), unchecked = prepared, batch.unchecked
        words = INSERTION.values(
            src=batch.src, dst=batch.dst, weight=batch.weight, guard=batch.guard if unchecked is None else 0,
            status=batch.status, before=batch.before, n=batch.size, quota=reservation.quota, ahead=reservation.ahead,
            ticket=reservation.ticket, share=plan.share,
        )  # fmt: skip
        self._ticket, self._pinned.busy = reservation.ticket, True
        plan.kernel.launch(scratch.prefix, plan.blocks, words if unchecked is None else words + unchecked.words)
        batch.unchecked, batch.done = None, True

    def delete(self, slabs: Slabs, batch: GuardedBatch, outcome: Outcome) -> None:
        """Delete the edges of a validated batch from ``slabs``, and write the status of each to ``outcome``."""
        edges = len(batch.src)
        plan = self._plan(slabs, "erase", None, edges)
        words = DELETION.values(
            src=batch.src.data.ptr, dst=batch.dst.data.ptr, guard=address(batch.guard),
            status=outcome.status.data.ptr, before=address(outcome.weight), n=edges, share=plan.share,
        )  # fmt: skip
        plan.kernel.launch(self._packed(slabs)[1], plan.blocks, words)

    def prepare_deletion(self, slabs: Slabs, batch: DeviceBatch) -> LaunchPlan:
        """Return the launch that :meth:`delete_batch` needs to delete ``batch`` from ``slabs``."""
        unchecked = batch.unchecked
        return self._plan(slabs, "erase", None if unchecked is None else unchecked.variant, batch.size)

    def delete_batch(self, slabs: Slabs, batch: DeviceBatch, prepared: LaunchPlan) -> None:
        """Launch the deletion of ``batch``, which validates it as well if ``batch.unchecked`` is set.

        ``prepared`` is the result of :meth:`prepare_deletion`.
        """
        plan, unchecked = prepared, batch.unchecked
        words = DELETION.values(
            src=batch.src, dst=batch.dst, guard=batch.guard if unchecked is None else 0, status=batch.status,
            before=batch.before, n=batch.size, share=plan.share,
        )  # fmt: skip
        words = words if unchecked is None else words + unchecked.words
        plan.kernel.launch(self._packed(slabs)[1], plan.blocks, words)
        batch.unchecked, batch.done = None, True

    def find(self, slabs: Slabs, src: Array, dst: Array, found: Array, weight: Array | None) -> None:
        """Look up edges (``src``, ``dst``): write ``found`` (bool[n]), and weights to ``weight`` (unless None)."""
        edges = len(src)
        plan = self._plan(slabs, "find", None, edges)
        words = QUERY.values(
            src=src.data.ptr, dst=dst.data.ptr, found=found.data.ptr, result=address(weight), n=edges, share=plan.share
        )
        plan.kernel.launch(self._packed(slabs)[1], plan.blocks, words)

    def find_unvalidated(self, slabs: Slabs, batch: UnvalidatedBatch, found: Array, weight: Array | None) -> None:
        """Validate ``batch`` and look it up like :meth:`find`, in one launch; invalid edges are not found."""
        edges, variant = batch.size, batch.variant
        plan = self._plan(slabs, "find", variant, edges)
        words = QUERY.values(src=0, dst=0, found=found.data.ptr, result=address(weight), n=edges, share=plan.share)
        plan.kernel.launch(self._packed(slabs)[1], plan.blocks, words + batch.words)

    def trim(self, slabs: Slabs, quota: int, begin: int, end: int) -> None:
        """Free slabs that deletions emptied, of vertices whose first head slabs are in ``[begin, end)``.

        Vertices without edges lose their storage, chains move to as few slabs as hold them, and vertices with too many
        buckets for their edges get fewer: to merge buckets takes new slabs, at most ``quota``. Of the three
        launches the second moves edges that can be found again only after the third, so an interrupt is held back
        until all three are queued.
        """
        view, part, listed = self._packed(slabs)[0], (np.int64(begin), np.int64(end)), self._trim_list
        limits = np.float64(self._per_bucket), np.uint32(quota)
        with Uninterrupted():
            self._launch("trim_vertices", end - begin, view, *limits, listed, *part)
            self._launch("trim_listed", FILL_THREADS, view, listed)
            self._launch("trim_chains", end - begin, view, listed, *part)

    # -- buckets for all vertices --------------------------------------------------------------------------------------

    def plan_buckets(self, expected: Array, growth: float) -> BucketPlan:
        """Plan the number of buckets of each vertex for ``growth`` times its ``expected`` degree (uint32); waits."""
        codes, heads = cupy.empty(n := len(expected), np.uint16), cupy.empty(n, np.int64)
        self._launch("plan_buckets", n, expected, np.int64(n), np.float64(self._per_bucket / growth),
            np.uint32(self._shape.keys / growth), np.int32(self._options.hashing), codes, heads,
        )  # fmt: skip
        ends = cupy.cumsum(heads)
        return BucketPlan(codes, heads, ends, int(ends[-1]) if n else 0)

    def write_tables(self, plan: BucketPlan, old: Array, vertex: Array, buckets: Array) -> None:
        """Write ``vertex`` and ``buckets`` of :class:`Slabs`, which are zeros, for the buckets of ``plan``.

        Degrees are copied from ``old``, the array ``vertex`` so far.
        """
        size = len(plan.codes)
        self._launch("write_tables", size, plan.codes, plan.heads, plan.ends, np.int64(size), old, vertex, buckets)

    def place_heads(self, plan: BucketPlan, slabs: Slabs) -> None:
        """Write to ``slabs`` the owners of the head slabs that ``plan`` provides, and their number as counter BUMP."""
        planned = len(plan.codes)
        self._launch("place_heads", planned, plan.heads, plan.ends, np.int64(planned), slabs.owner, slabs.counters)

    def count_sources(self, batch: GuardedBatch, counts: Array) -> None:
        """Add the number of edges of each source of ``batch`` to ``counts`` (uint32 per vertex) in place."""
        edges = len(batch.src)
        self._launch("count_sources", edges, batch.src, np.int64(edges), batch.guard, counts)

    def count_batch(self, slabs: Slabs, bump: int, batch: GuardedBatch, *, fresh: bool) -> int:
        """Return an upper bound of the slabs that inserting the batch needs; waits for the device.

        The head slabs have indices below ``bump``. ``fresh``: all head slabs are empty; the pool is not read then.
        """
        counts = cupy.zeros(bump + len(slabs.buckets), np.uint32)
        view, edges = VIEW.pack(slabs), len(batch.src)
        self._launch(
            "count_batch", edges, view, np.int64(bump), batch.src, batch.dst, np.int64(edges), batch.guard, counts
        )
        return self._sum_slabs(view, bump, counts, fresh=fresh)

    def count_moves(self, old: Slabs, plan: Slabs, heads: int) -> int:
        """Return an upper bound of the slabs, besides ``heads`` head slabs, that a move of all edges needs; waits.

        The edges move from the arrays ``old`` to ``plan``, of which only ``vertex`` and ``buckets`` are read.
        """
        counts, view = cupy.zeros(heads, np.uint32), VIEW.pack(plan)
        self._launch("count_moves", old.capacity * old.words, VIEW.pack(old), view, counts)
        return self._sum_slabs(view, heads, counts, fresh=True)

    def _sum_slabs(self, view: np.void, bump: int, counts: Array, *, fresh: bool) -> int:
        total = cupy.zeros(1, np.uint64)
        size = len(counts)
        self._launch("sum_slabs", size, view, np.int64(bump), counts, np.int64(size), np.int32(fresh), total)
        return int(total[0])

    def move_edges(self, old: Slabs, new: Slabs) -> None:
        """Copy all edges of the arrays ``old`` to the buckets, still empty, of the arrays ``new``."""
        self._launch("move_edges", old.capacity * old.words, VIEW.pack(old), VIEW.pack(new))

    # -- all storage ---------------------------------------------------------------------------------------------------

    def count_edges(self, slabs: Slabs) -> int:
        """Return the number of edges; waits for the device."""
        total, vertices = cupy.zeros(1, np.uint64), len(slabs.buckets)
        self._launch("sum_degrees", min(vertices, FILL_THREADS), slabs.vertex, np.int64(vertices), total)
        return int(total[0])

    def free_vertices(self, slabs: Slabs, vertices: Array) -> None:
        """Free all slabs of the distinct ``vertices`` (uint32[k])."""
        count, view, sections = len(vertices), self._packed(slabs)[0], cupy.empty(len(vertices), np.int64)
        self._launch("count_sections", count, view, vertices, np.int64(count), sections)
        ends = cupy.cumsum(sections)
        self._launch("free_sections", FILL_THREADS, view, vertices, ends, np.int64(count))
        self._launch("forget_vertices", count, view, vertices, np.int64(count))

    def list_free(self, slabs: Slabs, bump: int, found: Array) -> None:
        """Write the indices of the free slabs below ``bump`` (the counter BUMP) to ``found``.

        The counter LISTED is set to their number, TAKEN and FREED are set to 0.
        """
        for at in (LISTED, TAKEN, FREED):
            slabs.counters[at : at + 1].fill(0)  # a copy of zeros; assigning a number would compile a kernel of CuPy
        self._launch("list_free", bump, VIEW.pack(slabs), found, slabs.counters[LISTED : LISTED + 1])

    def gather(self, slabs: Slabs, vertices: Array, offsets: Array, dst: Array, weight: Array | None) -> None:
        """Copy the edges of each ``vertices[i]`` to ``dst[offsets[i]:]``, and weights to ``weight`` (unless None)."""
        count = len(vertices)
        split = max(1, min(256, 8192 // count))
        cursor = cupy.zeros(count, np.uint32)
        self._launch("gather", 32 * count * split, self._packed(slabs)[0], vertices, offsets, np.int64(count),
            np.int64(split), cursor, dst, weight,
        )  # fmt: skip

    def gather_all(self, slabs: Slabs, num_vertices: int, src: Array, dst: Array, weight: Array | None) -> None:
        """Copy all edges to ``src``, ``dst`` and ``weight`` (or None), with an entry per edge, ordered by source."""
        offsets, cursor = cupy.zeros(num_vertices + 1, np.int64), cupy.zeros(num_vertices, np.uint32)
        degrees = slabs.vertex[1 : 2 * num_vertices : 2].copy()
        cupy.cumsum(degrees, dtype=np.int64, out=offsets[1:])
        threads = slabs.capacity * self._shape.lanes
        self._launch("gather_all", threads, self._packed(slabs)[0], offsets, cursor, src, dst, weight)

    def gather_touched(self, slabs: Slabs, count: int, src: Array, dst: Array, weight: Array | None) -> int:
        """Copy the edges inserted since the mark, in ``count`` slabs, to ``src``, ``dst`` and ``weight`` (or None).

        Return the number of edges; waits for the device.
        """
        cursor = cupy.zeros(1, np.uint64)
        threads = count * self._shape.lanes
        self._launch("gather_touched", threads, self._packed(slabs)[0], cursor, src, dst, weight)
        return int(cursor[0])

    def forget_touched(self, slabs: Slabs) -> None:
        """Forget which edges were inserted since the mark, so that none counts as inserted."""
        self._launch("forget_touched", FILL_THREADS, self._packed(slabs)[0])
        slabs.counters[TOUCHED : TOUCHED + 1].fill(0)
