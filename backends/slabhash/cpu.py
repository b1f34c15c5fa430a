"""``slabhash`` on the CPU: the loops of ``loops.py`` and ``maintain.py`` as the kernels of a store."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.backends.slabhash import loops, maintain
from suricate.backends.slabhash.budget import Budget
from suricate.backends.slabhash.kernels import Batch, BucketPlan
from suricate.backends.slabhash.layout import BUMP, Slabs
from suricate.backends.slabhash.ledger import Arrived, Reservation
from suricate.devices import Array
from suricate.types import EMPTY, Outcome

NO_WORDS = np.zeros(0, np.uint32)


class Scratch(NamedTuple):
    """Scratch memory for an insertion: see :func:`loops.insert_edges` and :func:`loops.merge_duplicates`."""

    existing: np.ndarray
    tables: np.ndarray
    size: int  # bytes


NO_SCRATCH = Scratch(NO_WORDS, NO_WORDS, 0)


def as_words(weight: Array | None) -> np.ndarray:
    """Return weights as words of 4 bytes."""
    return NO_WORDS if weight is None else weight.view(np.uint32)


def table_size(edges: int) -> int:
    """Return the size of a hash table of so many edges."""
    return 1 << (2 * edges).bit_length()


class CpuKernels:
    """The operations of a store on NumPy arrays; see :class:`suricate.backends.slabhash.kernels.Kernels`.

    Args:
        budget: of the store; scratch memory is accounted for there.
        weight_words: words of a weight; 0: the store has no weights.
        per_bucket: edges that a bucket is sized for.
        hashing: whether vertices are rehashed.
    """

    warps = 0

    def __init__(self, budget: Budget, weight_words: int, per_bucket: float, *, hashing: bool) -> None:
        self._budget = budget
        self._weight_words, self._per_bucket, self._hashing = weight_words, per_bucket, hashing
        self._ring = np.empty(loops.RING, np.int64)  # heads of the edges ahead
        self._rehashes = False  # whether a vertex has outgrown its buckets; before, a kernel without rehashing inserts
        budget.cached = self.cached_bytes

    @property
    def cached_bytes(self) -> int:
        """Bytes of scratch memory that is kept between batches."""
        return self._ring.nbytes

    def forget(self) -> None:
        """Nothing is kept that depends on the arrays."""

    def read_counters(self, slabs: Slabs) -> list[int]:
        """Return the counters."""
        return slabs.counters.tolist()

    def poll(self) -> Arrived | None:
        """Return None: nothing is under way."""
        return None

    # -- batches -------------------------------------------------------------------------------------------------------

    def scratch_bytes(self, slabs: Slabs, edges: int) -> int:
        """Return the bytes of :meth:`scratch`."""
        return 4 * (edges + 1) + 8 * table_size(edges) if self._weight_words else 0

    def scratch(self, slabs: Slabs, edges: int) -> Scratch:
        """Return scratch memory for an insertion; an unweighted store needs none."""
        if not self._weight_words:
            return NO_SCRATCH
        size = self.scratch_bytes(slabs, edges)
        self._budget.admit(size)
        existing, tables = np.empty(edges + 1, np.uint32), np.empty((2, table_size(edges)), np.uint32)
        existing[-1] = 0
        self._budget.borrow(size)
        return Scratch(existing, tables, size)

    def release(self, scratch: Scratch) -> None:
        """Note that scratch memory is given up."""
        self._budget.repay(scratch.size)

    def cache_scratch(self, slabs: Slabs, edges: int) -> None:
        """Nothing is kept between batches."""

    def insert(
        self, slabs: Slabs, batch: Batch, reservation: Reservation, outcome: Outcome, scratch: Scratch, start: int
    ) -> int:
        """Insert a batch from the edge ``start`` on; return how many edges are in."""
        src, dst, words, before = batch.src, batch.dst, as_words(batch.weight), as_words(outcome.weight)
        insert = loops.insert_and_rehash if self._rehashes else loops.insert_edges
        done = insert(
            slabs, src, dst, words, scratch.existing, start, reservation.quota, self._hashing, self._per_bucket,
            self._ring, outcome.status, before,
        )  # fmt: skip
        if done < len(src) and not self._rehashes:
            self._rehashes = True
            return self.insert(slabs, batch, reservation, outcome, scratch, done)
        if done == len(src) and self._weight_words and scratch.existing[-1]:
            existing = scratch.existing[: scratch.existing[-1]]
            table, last = scratch.tables[:, : table_size(len(existing))]
            table[:] = EMPTY
            loops.merge_duplicates(src, dst, words, self._weight_words, existing, table, last, outcome.status, before)
        return done

    def delete(self, slabs: Slabs, batch: Batch, outcome: Outcome) -> None:
        """Delete a batch."""
        loops.delete_edges(slabs, batch.src, batch.dst, self._ring, outcome.status, as_words(outcome.weight))

    def find(self, slabs: Slabs, src: Array, dst: Array, found: Array, weight: Array | None) -> None:
        """Look a batch up."""
        loops.find_edges(slabs, src, dst, self._ring, found, as_words(weight))

    # -- buckets for all vertices --------------------------------------------------------------------------------------

    def clear_tables(self, vertex: Array, buckets: Array) -> None:
        """Write the words and bucket codes of vertices without storage."""
        vertex[0::2], vertex[1::2], buckets[:] = EMPTY, 0, 1

    def planning_bytes(self, vertices: int) -> int:
        """Return the bytes of the codes of a plan."""
        return 2 * vertices

    def plan_buckets(self, expected: Array, growth: float) -> BucketPlan:
        """Plan buckets for ``growth`` times as many edges per vertex as ``expected`` (uint32)."""
        codes = np.empty(len(expected), np.uint16)
        total = maintain.plan_buckets(expected, self._per_bucket / growth, self._hashing, codes)
        return BucketPlan(codes, None, None, int(total))

    def write_tables(self, plan: BucketPlan, old: Array, vertex: Array, buckets: Array) -> None:
        """Fill the words and the bucket codes of all vertices as planned, with the degrees of the words ``old``."""
        maintain.write_tables(plan.codes, old, vertex, buckets)

    def place_heads(self, plan: BucketPlan, slabs: Slabs) -> None:
        """Write the owners of the planned heads, and the counter BUMP."""
        maintain.place_heads(plan.codes, slabs.owner)
        slabs.counters[BUMP] = plan.total

    def counting_bytes(self, slabs: Slabs, bump: int) -> int:
        """Return the bytes of temporary arrays that counting takes."""
        return bump + len(slabs.buckets)

    def count_sources(self, batch: Batch, counts: Array) -> None:
        """Add the edges per source to ``counts`` (uint32 per vertex)."""
        maintain.count_keys(batch.src, counts)

    def count_batch(self, slabs: Slabs, bump: int, batch: Batch, *, fresh: bool) -> int:
        """Return how many slabs inserting the batch needs at most."""
        left = np.zeros(bump + len(slabs.buckets), np.uint8)
        return int(maintain.count_slabs(slabs, bump, batch.src, batch.dst, self._ring, left, fresh))

    def count_moves(self, old: Slabs, plan: Slabs, heads: int) -> int:
        """Return how many slabs besides the ``heads`` moving all edges of ``old`` needs at most."""
        return int(maintain.count_moves(old, plan, np.zeros(heads, np.uint8)))

    def move_edges(self, old: Slabs, new: Slabs) -> None:
        """Copy all edges to the empty buckets of another pool."""
        maintain.move_edges(old, new)

    # -- all storage ---------------------------------------------------------------------------------------------------

    def count_edges(self, slabs: Slabs) -> int:
        """Return the number of edges."""
        return int(maintain.count_edges(slabs.vertex))

    def free_vertices(self, slabs: Slabs, vertices: Array) -> None:
        """Free the storage of distinct vertices."""
        maintain.free_vertices(slabs, vertices)

    def list_free(self, slabs: Slabs, bump: int, found: Array) -> None:
        """Fill ``found`` with the free slabs below ``bump``."""
        maintain.list_free(slabs, found)

    def gather(self, slabs: Slabs, vertices: Array, offsets: Array, dst: Array, weight: Array | None) -> None:
        """Write the edges of the i-th vertex from ``offsets[i]`` on."""
        maintain.gather(slabs, vertices, offsets, dst, as_words(weight))

    def gather_all(self, slabs: Slabs, num_vertices: int, src: Array, dst: Array, weight: Array | None) -> None:
        """Write all edges, ordered by source."""
        maintain.gather_all(slabs, num_vertices, src, dst, as_words(weight))

    def gather_touched(self, slabs: Slabs, count: int, src: Array, dst: Array, weight: Array | None) -> int:
        """Write the edges inserted since the mark; return their number."""
        return int(maintain.gather_touched(slabs, src, dst, as_words(weight)))

    def forget_touched(self, slabs: Slabs) -> None:
        """Forget which edges were inserted since the mark."""
        maintain.forget_touched(slabs)
