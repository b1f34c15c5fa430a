"""``slabhash`` on the CPU: the loops of ``loops/`` as the kernels of a store."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from suricate.backends.slabhash import loops
from suricate.backends.slabhash.budget import Budget
from suricate.backends.slabhash.kernels import BucketPlan, GuardedBatch
from suricate.backends.slabhash.layout import BUMP, FREED, LISTED, TAKEN, Slabs
from suricate.backends.slabhash.ledger import Reservation
from suricate.backends.slabhash.loops import maintain, trim
from suricate.backends.slabhash.loops.duplicates import merge_duplicates
from suricate.backends.slabhash.loops.load import Load
from suricate.base.devices import Array
from suricate.base.types import EMPTY, Outcome
from suricate.cpu import threads
from suricate.cpu.jit import EntryPoints
from suricate.primitives.sorting import Grouped, can_sort, grouped

NO_WORDS = np.zeros(0, np.uint32)
AHEAD = 16  #: new slabs that a thread takes at a time; their owners share a cache line
COUNTING = 8  #: threads that count the edges of sources, each but the first in an array of its own


class InsertionScratch(NamedTuple):
    """Scratch memory for inserting n edges with weights.

    ``existing``, uint32[n + 1], gets the indices of edges that are stored already, and their number as the last entry;
    ``tables``, uint32[2, table_size(n)], are the two hash tables of :func:`merge_duplicates`.
    """

    existing: np.ndarray
    tables: np.ndarray
    size: int  # bytes


NO_SCRATCH = InsertionScratch(NO_WORDS, NO_WORDS, 0)


def as_words(weight: Array | None) -> np.ndarray:
    """Return a view of weights as 32-bit words; an empty array for None."""
    return NO_WORDS if weight is None else weight.view(np.uint32)


def table_size(edges: int) -> int:
    """Return the size of a hash table of duplicates among ``edges`` edges: a power of two above ``2 * edges``."""
    return 1 << (2 * edges).bit_length()


@dataclass(slots=True)
class Part:
    """A part of a batch: all edges of some vertices in their order, and arrays that loops write the outcome to.

    Attributes:
        src, dst, words: the edges, and their weights as 32-bit words.
        status, before: the status of each edge, and the words of the weight that it replaces or deletes.
        existing, tables: see :class:`InsertionScratch`.
        place: position of each edge in the batch; empty if the part is the whole batch, and writes to its outcome.
        ring: int64[RING], scratch of :func:`loops.fetch`.
        done: number of edges inserted so far.
    """

    src: np.ndarray
    dst: np.ndarray
    words: np.ndarray
    status: np.ndarray
    before: np.ndarray
    existing: np.ndarray
    tables: np.ndarray
    place: np.ndarray
    ring: np.ndarray
    done: int = 0

    @classmethod
    def of(cls, group: Grouped, begin: int, end: int, weight: np.ndarray, size: int) -> Part:
        """Return the part ``[begin, end)`` of a batch that ``group`` has sorted by vertex.

        ``weight`` are the 32-bit words of the batch's weights, ``size`` words each; empty if there are none.
        """
        src, dst, place = (array[begin:end] for array in group[:3])
        words = weight.reshape(-1, size)[place].reshape(-1) if len(weight) else NO_WORDS
        existing = np.empty(end - begin + 1 if len(words) else 0, np.uint32)
        existing[-1:] = 0
        tables = np.empty((2, table_size(len(existing)) if len(existing) else 0), np.uint32)
        status, before = np.zeros(end - begin, np.uint8), np.empty((end - begin) * size, np.uint32)
        return cls(src, dst, words, status, before, existing, tables, place, np.empty(loops.RING, np.int64))

    def finish(self, size: int, outcome: Outcome) -> None:
        """Correct the statuses of duplicates by :func:`merge_duplicates`, then :meth:`write` to ``outcome``.

        ``size`` is the number of words of a weight.
        """
        if len(self.existing) and self.existing[-1]:
            existing = self.existing[: self.existing[-1]]
            table, last = self.tables[:, : table_size(len(existing))]
            table[:] = EMPTY
            reports = existing, table, last, self.status, self.before
            merge_duplicates(self.src, self.dst, self.words, size, *reports)
        self.write(size, outcome)

    def write(self, size: int, outcome: Outcome) -> None:
        """Copy statuses and old weights (``size`` words each) to ``outcome``, unless the part is the whole batch."""
        if len(self.place):
            maintain.put_back(self.place, size, self.status, self.before, outcome.status, as_words(outcome.weight))


def _shares(slabs: Slabs, num_vertices: int) -> list[tuple[int, int, int]]:
    """Cut ``num_vertices`` vertices into ranges with about equally many edges; a small store is one range.

    Return a tuple for each range: its first vertex, its end, and the number of edges of the vertices before it.
    """
    if threads.parts(num_vertices + int(slabs.counters[BUMP]) * slabs.keys) == 1:
        return [(0, num_vertices, 0)]
    total = sum(threads.over(num_vertices, maintain.count_edges, slabs.vertex, unit=1 / 8))
    cuts = np.zeros((threads.parts(total + num_vertices), 2), np.int64)
    maintain.cut_evenly(slabs.vertex, num_vertices, total, cuts)
    ends = [*cuts[1:, 0].tolist(), num_vertices]
    return [(first, last, before) for (first, before), last in zip(cuts.tolist(), ends, strict=True)]


def _ranges(plan: BucketPlan, size: int) -> list[tuple[int, int, int]]:
    """Return the ranges of vertices of a plan as tuples (first, end, first head slab); the last ends at ``size``."""
    ranges = pairwise([*plan.ends[:-1].tolist(), size])
    return [(*part, head) for part, head in zip(ranges, plan.heads[:-1].tolist(), strict=True)]


class CpuKernels:
    """The operations of a store on NumPy arrays; see :mod:`suricate.backends.slabhash.kernels`.

    ``budget`` is the store's budget, which scratch memory is counted in. A weight has ``weight_words`` words of 32 bits
    (0: no weights), a slab ``keys`` key slots; a bucket is sized for ``per_bucket`` edges. Without ``hashing`` a vertex
    has one bucket, and none is rehashed.
    """

    warps = 0  #: resident warps of an insertion, of which there are none
    planning_bytes = 2  #: of the arrays of a plan, per vertex: the code
    counting_bytes = 1  #: of the array of :meth:`count_batch` and :meth:`count_moves`, per slab or vertex that counts

    def __init__(self, budget: Budget, weight_words: int, keys: int, per_bucket: float, *, hashing: bool) -> None:
        self._budget, self._keys = budget, keys
        self._weight_words, self._per_bucket, self._hashing = weight_words, per_bucket, hashing
        self.is_crowded = not hashing or per_bucket >= keys  # chains of more than a slab are as planned
        self._ring = np.empty(loops.RING, np.int64)  # heads of the edges ahead
        self._group: tuple[Array, Grouped] | None = None  # the sources of a batch that is counted, and all of it
        self._load: Load | None = None  # the batch that was counted, if it is the first of its store
        self._parts: list[Part] = []  # of the batch that is being inserted
        self._code = EntryPoints()  # of the loops that change small batches
        budget.cached = self._ring.nbytes

    def forget(self) -> None:
        """Do nothing: nothing cached depends on the arrays."""

    def read_counters(self, slabs: Slabs) -> list[int]:
        """Return the counters of ``slabs`` as a list; ``layout.py`` names their places."""
        return slabs.counters.tolist()

    # -- batches -------------------------------------------------------------------------------------------------------

    def scratch_bytes(self, slabs: Slabs, edges: int) -> int:
        """Return the bytes of the scratch memory that :meth:`scratch` returns for ``edges`` edges."""
        return 4 * (edges + 1) + 8 * table_size(edges) if self._weight_words else 0

    def scratch(self, slabs: Slabs, edges: int) -> InsertionScratch:
        """Return scratch memory for inserting ``edges`` edges; an unweighted store needs none."""
        if not self._weight_words:
            return NO_SCRATCH
        size = self.scratch_bytes(slabs, edges)
        self._budget.admit(size)
        existing, tables = np.empty(edges + 1, np.uint32), np.empty((2, table_size(edges)), np.uint32)
        existing[-1] = 0
        self._budget.borrow(size)
        return InsertionScratch(existing, tables, size)

    def release(self, scratch: InsertionScratch) -> None:
        """Tell the budget that ``scratch`` is freed."""
        self._budget.repay(scratch.size)

    def insert(
        self, slabs: Slabs, batch: GuardedBatch, reservation: Reservation, outcome: Outcome, scratch: InsertionScratch
    ) -> int:
        """Insert a batch into ``slabs``, and write ``outcome``; return the number of edges inserted.

        ``reservation`` are the slabs set aside for the batch, ``scratch`` comes from :meth:`scratch`. If a vertex must
        be rehashed and the reservation lacks slabs for that, edges are left: :meth:`insert_rest` inserts them.
        """
        load, self._load = self._load, None
        if load is not None and load.src is batch.src and load.vertex is slabs.vertex:
            load.place(slabs, as_words(batch.weight), outcome.status)
            return len(batch.src)
        self._parts = parts = self._cut(slabs, batch, outcome, scratch)
        space = slabs.capacity - int(slabs.counters[BUMP])
        ahead = len(parts) > 1 and space >= reservation.slabs + AHEAD * len(parts)
        return self.insert_rest(slabs, reservation.quota, outcome, AHEAD if ahead else 1)

    def insert_few(
        self, slabs: Slabs, src: Array, dst: Array, weight: Array | None, quota: int, outcome: Outcome,
        scratch: InsertionScratch | None,
    ) -> int:  # fmt: skip
        """Insert a small batch by one call of a loop; return how many of its edges were inserted.

        The loop stops at a vertex that must be rehashed if the ``quota`` slabs for that are used up;
        :meth:`insert_rest` inserts the edges that are left. ``outcome`` is written, ``scratch`` comes from
        :meth:`scratch` (None without weights).
        """
        insert = loops.insert_edges
        words = before = existing = tables = NO_WORDS
        if scratch is not None:
            words, before, existing, tables = as_words(weight), as_words(outcome.weight), *scratch[:2]
        status, ring, policy = outcome.status, self._ring, (quota, self._hashing, self._per_bucket)
        given = slabs, src, dst, words, existing, 0, 1, policy, ring, status, before
        done: int = (self._code.get(insert) or self._code.look_up(insert, insert, given))(*given)
        is_done = done == len(src)
        if is_done and (scratch is None or not existing[-1]):  # no edge was there already
            return done
        part = Part(src, dst, words, status, before, existing, tables, NO_WORDS, ring, done)
        if is_done:
            part.finish(self._weight_words, outcome)
        else:
            self._parts = [part]
        return done

    def insert_rest(self, slabs: Slabs, quota: int, outcome: Outcome, ahead: int = 1) -> int:
        """Insert the edges of the last batch that are left; return how many of the batch are inserted by now.

        These are not all if a vertex must be rehashed and the ``quota`` slabs for that (negative: no rehashing), which
        the parts of the batch share equally, are used up. ``outcome`` is written. A part takes ``ahead`` new slabs at a
        time.
        """
        left = [part for part in self._parts if part.done < len(part.src)]
        policy = (quota // len(left) if quota > 0 else quota, self._hashing, self._per_bucket)
        calls = [
            (slabs, part.src, part.dst, part.words, part.existing, part.done, ahead, policy, part.ring, part.status,
             part.before)
            for part in left
        ]  # fmt: skip
        for part, done in zip(left, threads.run(loops.insert_edges, calls), strict=True):
            part.done = done
        self._clamp(slabs)
        if all(part.done == len(part.src) for part in left):
            parts, self._parts = self._parts, []
            threads.run(Part.finish, [(part, self._weight_words, outcome) for part in parts])
            return sum(part.done for part in parts)
        return sum(part.done for part in self._parts)

    def _clamp(self, slabs: Slabs) -> None:
        """Lower the counter TAKEN to LISTED: threads may have counted more listed slabs as taken than there are."""
        slabs.counters[TAKEN] = min(slabs.counters[TAKEN], slabs.counters[LISTED])

    def _cut(self, slabs: Slabs, batch: GuardedBatch, outcome: Outcome, scratch: InsertionScratch) -> list[Part]:
        """Return the parts of a batch, each with all edges of its vertices; a small batch is one part.

        So is a batch for whose parts memory is lacking: its slabs are reserved by now, and nothing may fail any more. A
        single part writes to ``outcome`` itself and uses ``scratch``.
        """
        weight = as_words(batch.weight)
        with suppress(MemoryError):
            group = self._grouped(slabs, batch.src, batch.dst)
            self._group = None
            if group is not None:
                return [Part.of(group, begin, end, weight, self._weight_words) for begin, end in group.parts]
        report, memory = (outcome.status, as_words(outcome.weight)), (scratch.existing, scratch.tables)
        return [Part(batch.src, batch.dst, weight, *report, *memory, NO_WORDS, self._ring)]

    def _grouped(self, slabs: Slabs, src: Array, dst: Array) -> Grouped | None:
        """Return a large batch (``src``, ``dst``) grouped by ranges of sources; None for a small one.

        The last result is cached, and used again if ``src`` is the same array.
        """
        bits = self._sortable(slabs, src)
        if bits and (self._group is None or self._group[0] is not src):
            self._group = src, grouped(src, dst, bits)
        return self._group[1] if bits and self._group else None

    def _sortable(self, slabs: Slabs, src: Array) -> int:
        """Return the number of bits of a vertex id, or 0 if the batch with sources ``src`` is not to be sorted.

        It is sorted if it is large enough for sorting to pay, and there is no memory limit.
        """
        bits = max(1, (len(slabs.buckets) - 1).bit_length())
        return bits if self._budget.limit is None and can_sort(len(src), bits) else 0

    def _rings(self, parts: int) -> list[np.ndarray]:
        """Return an int64[RING] for each of ``parts`` parts, the scratch memory of :func:`loops.fetch`."""
        return [self._ring, *np.empty((parts - 1, loops.RING), np.int64)]

    def delete(self, slabs: Slabs, batch: GuardedBatch, outcome: Outcome) -> None:
        """Delete the edges of a batch, and write the status of each to ``outcome``."""
        parts = self._cut(slabs, batch, outcome, NO_SCRATCH)
        calls = [(slabs, part.src, part.dst, part.ring, part.status, part.before) for part in parts]
        threads.run(loops.delete_edges, calls)
        threads.run(Part.write, [(part, self._weight_words, outcome) for part in parts])

    def delete_few(self, slabs: Slabs, src: Array, dst: Array, outcome: Outcome) -> None:
        """Delete a small batch by one call of a loop, and write ``outcome``."""
        delete, before = loops.delete_edges, NO_WORDS if outcome.weight is None else as_words(outcome.weight)
        given = slabs, src, dst, self._ring, outcome.status, before
        (self._code.get(delete) or self._code.look_up(delete, delete, given))(*given)

    def find(self, slabs: Slabs, src: Array, dst: Array, found: Array, weight: Array | None) -> None:
        """Look up edges (``src``, ``dst``): write ``found`` (bool[n]), and weights to ``weight`` (unless None)."""
        ranges, words = threads.ranges(len(src), threads.parts(len(src))), as_words(weight)
        rings = self._rings(len(ranges))
        calls = [(slabs, src, dst, own, found, words, *part) for own, part in zip(rings, ranges, strict=True)]
        threads.run(loops.find_edges, calls)

    def trim(self, slabs: Slabs, quota: int, begin: int, end: int) -> None:
        """Free slabs that deletions emptied, of vertices whose first head slabs are in ``[begin, end)``.

        Vertices without edges lose their storage, chains move to as few slabs as hold them, and vertices with too many
        buckets for their edges get fewer: to merge buckets takes new slabs, at most ``quota``.
        """
        number = threads.parts(end - begin)
        parts = [(slabs, self._per_bucket, quota // number, begin + low, begin + high)
                 for low, high in threads.ranges(end - begin, number)]  # fmt: skip
        threads.run(trim.trim, parts)
        self._clamp(slabs)

    # -- buckets for all vertices --------------------------------------------------------------------------------------

    def plan_buckets(self, expected: Array, growth: float) -> BucketPlan:
        """Plan the number of buckets of each vertex for ``growth`` times its ``expected`` degree (uint32)."""
        codes, size = np.zeros(len(expected), np.uint16), len(expected)
        given = expected, self._per_bucket / growth, int(self._keys / growth), self._hashing, codes
        ranges = threads.ranges(size, threads.parts(size))
        heads = threads.run(maintain.plan_buckets, [(*given, *part) for part in ranges])
        return BucketPlan(codes, np.cumsum([0, *heads]), np.array([0, *(end for _, end in ranges)]), sum(heads))

    def write_tables(self, plan: BucketPlan, old: Array, vertex: Array, buckets: Array) -> None:
        """Write ``vertex`` and ``buckets`` of :class:`Slabs`, which are zeros, for the buckets of ``plan``.

        Degrees are copied from ``old``, the array ``vertex`` so far.
        """
        given = plan.codes, old, vertex, buckets
        threads.run(maintain.write_tables, [(*given, *part) for part in _ranges(plan, len(plan.codes))])

    def place_heads(self, plan: BucketPlan, slabs: Slabs) -> None:
        """Write to ``slabs`` the owners of the head slabs that ``plan`` provides, and their number as counter BUMP."""
        calls = [(plan.codes, slabs.owner, *part) for part in _ranges(plan, len(plan.codes))]
        threads.run(maintain.place_heads, calls)
        slabs.counters[BUMP] = plan.total

    def count_sources(self, batch: GuardedBatch, counts: Array) -> None:
        """Add the number of edges of each source of ``batch`` to ``counts`` (uint32 per vertex) in place.

        Several threads count a part of a large batch each, in arrays of their own.
        """
        src, size = batch.src, len(counts)
        number = min(threads.limit(), COUNTING, len(src) // (2 * size)) if self._budget.limit is None else 1
        others = np.zeros((max(0, number - 1), size), np.uint32)
        parts = [src[begin:end] for begin, end in threads.ranges(len(src), len(others) + 1)]
        threads.run(maintain.count_keys, list(zip(parts, (counts, *others), strict=True)))

        def add_up(begin: int, end: int) -> None:
            for other in others:
                counts[begin:end] += other[begin:end]

        threads.over(size, add_up, unit=1 / 8)

    def count_batch(self, slabs: Slabs, bump: int, batch: GuardedBatch, *, fresh: bool) -> int:
        """Return an upper bound of the slabs that inserting the batch needs.

        The head slabs have indices below ``bump``. ``fresh``: all head slabs are empty; the pool is not read then.
        """
        if fresh and (bits := self._sortable(slabs, batch.src)):
            self._load = Load.of(slabs, batch.src, batch.dst, bits)
            return self._load.count_slabs(slabs)
        left = np.zeros(bump + len(slabs.buckets), np.uint8)
        group = self._grouped(slabs, batch.src, batch.dst)
        parts = [(batch.src, batch.dst)]
        if group is not None:
            parts = [(group.src[begin:end], group.dst[begin:end]) for begin, end in group.parts]
        rings = self._rings(len(parts))
        calls = [(slabs, bump, *part, own, left, fresh) for own, part in zip(rings, parts, strict=True)]
        return sum(threads.run(maintain.count_slabs, calls))

    def count_moves(self, old: Slabs, plan: Slabs, heads: int) -> int:
        """Return an upper bound of the slabs, besides ``heads`` head slabs, that a move of all edges needs.

        The edges move from the arrays ``old`` to ``plan``, of which only ``vertex`` and ``buckets`` are read.
        """
        left = np.zeros(heads, np.uint8)
        calls = [(old, plan, left, first, last) for first, last, _ in _shares(old, len(old.buckets))]
        return sum(threads.run(maintain.count_moves, calls))

    def move_edges(self, old: Slabs, new: Slabs) -> None:
        """Copy all edges of the arrays ``old`` to the buckets, still empty, of the arrays ``new``."""
        calls = [(old, new, first, last) for first, last, _ in _shares(old, len(old.buckets))]
        threads.run(maintain.move_edges, calls)

    # -- all storage ---------------------------------------------------------------------------------------------------

    def count_edges(self, slabs: Slabs) -> int:
        """Return the number of edges."""
        return sum(threads.over(len(slabs.buckets), maintain.count_edges, slabs.vertex, unit=1 / 8))

    def free_vertices(self, slabs: Slabs, vertices: Array) -> None:
        """Free all slabs of the distinct ``vertices`` (uint32[k])."""
        maintain.free_vertices(slabs, vertices)

    def list_free(self, slabs: Slabs, bump: int, found: Array) -> None:
        """Write the indices of the free slabs below ``bump`` (the counter BUMP) to ``found``.

        The counter LISTED is set to their number, TAKEN and FREED are set to 0.
        """
        maintain.list_free(slabs, found)
        slabs.counters[LISTED], slabs.counters[TAKEN], slabs.counters[FREED] = len(found), 0, 0

    def gather(self, slabs: Slabs, vertices: Array, offsets: Array, dst: Array, weight: Array | None) -> None:
        """Copy the edges of each ``vertices[i]`` to ``dst[offsets[i]:]``, and weights to ``weight`` (unless None)."""
        size, number = len(vertices), threads.parts(len(dst) + len(vertices))
        cuts = np.searchsorted(offsets[:size], len(dst) * np.arange(1, number) // number).tolist() if number > 1 else []
        given = slabs, vertices, offsets, dst, as_words(weight)
        threads.run(maintain.gather, [(*given, *part) for part in pairwise([0, *cuts, size])])

    def gather_all(self, slabs: Slabs, num_vertices: int, src: Array, dst: Array, weight: Array | None) -> None:
        """Copy all edges to ``src``, ``dst`` and ``weight`` (or None), with an entry per edge, ordered by source."""
        given = slabs, src, dst, as_words(weight)
        threads.run(maintain.gather_all, [(*given, *share) for share in _shares(slabs, num_vertices)])

    def gather_touched(self, slabs: Slabs, count: int, src: Array, dst: Array, weight: Array | None) -> int:
        """Copy edges inserted since the mark to ``src``, ``dst`` and ``weight`` (or None); return their number.

        ``count`` is not used.
        """
        return int(maintain.gather_touched(slabs, src, dst, as_words(weight)))

    def forget_touched(self, slabs: Slabs) -> None:
        """Forget which edges were inserted since the mark, so that none counts as inserted."""
        maintain.forget_touched(slabs)
