"""The operations that a store needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement.

Methods take arrays and plain numbers, and hold neither the store nor its arrays: what they keep between calls depends
on the arrays only until :meth:`Kernels.forget`. Nothing waits for a CUDA device unless it says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from suricate.backends.slabhash.layout import Slabs
from suricate.backends.slabhash.ledger import Arrived, Reservation
from suricate.base.devices import Array
from suricate.base.types import Outcome

if TYPE_CHECKING:
    from suricate.intake.batches import DeviceBatch
    from suricate.intake.ingest import UnvalidatedBatch


class GuardedBatch(NamedTuple):
    """A validated batch: ``uint32[n]`` ids, weights or None, and a guard (see :meth:`suricate.store.Store.insert`)."""

    src: Array
    dst: Array
    weight: Array | None
    guard: Array | None


class BucketPlan(NamedTuple):
    """How many buckets each vertex gets.

    Attributes:
        codes: ``uint16[num_vertices]``: the number of buckets, see ``cursor.decode``.
        heads, ends: what the kernels that made the plan need to carry it out; None if they need nothing.
        total: number of first slabs of all buckets.
    """

    codes: Array
    heads: Array | None
    ends: Array | None
    total: int


class Kernels(Protocol):
    """The operations of a store on the arrays of one device."""

    @property
    def warps(self) -> int:
        """Resident warps of an insertion on CUDA; 0 on the CPU."""

    @property
    def cached_bytes(self) -> int:
        """Bytes of scratch memory that is kept between batches."""

    def forget(self) -> None:
        """Forget what depends on the arrays: they were replaced."""

    def read_counters(self, slabs: Slabs) -> list[int]:
        """Return the counters as they are behind all that was queued; waits for the device."""

    def poll(self) -> Arrived | None:
        """Return the counters that have arrived last, if any; never waits."""

    def scratch_bytes(self, slabs: Slabs, edges: int) -> int:
        """Return the bytes of scratch memory that an insertion takes at least, if nothing is cached."""

    def scratch(self, slabs: Slabs, edges: int) -> Any:
        """Return scratch memory for an insertion, accounted for in the budget; give it to :meth:`insert`, then back."""

    def release(self, scratch: Any) -> None:
        """Give back the scratch memory that :meth:`scratch` returned."""

    def cache_scratch(self, slabs: Slabs, edges: int) -> None:
        """Allocate scratch memory for insertions of up to ``edges`` edges, if such memory is kept between batches."""

    def insert(
        self, slabs: Slabs, batch: GuardedBatch, reservation: Reservation, outcome: Outcome, scratch: Any, start: int
    ) -> int:
        """Insert the edges of a batch from index ``start`` on, and write ``outcome``; return the index reached.

        On the CPU that may be short of the end: a vertex must be rehashed, for which the reservation lacks slabs.
        """

    def delete(self, slabs: Slabs, batch: GuardedBatch, outcome: Outcome) -> None:
        """Delete the edges of a batch, and write the status of each to ``outcome``."""

    def find(self, slabs: Slabs, src: Array, dst: Array, found: Array, weight: Array | None) -> None:
        """Write to ``found`` (bool[n]) which edges are stored, and their weights to ``weight``, if given."""

    def trim(self, slabs: Slabs, quota: int, begin: int, end: int) -> None:
        """Free slabs that deletions have emptied, of the vertices whose first head slabs are from ``begin`` to ``end``.

        At most ``quota`` slabs are taken for that.
        """

    def clear_tables(self, vertex: Array, buckets: Array) -> None:
        """Write the words and bucket codes of vertices without storage."""

    def planning_bytes(self, vertices: int) -> int:
        """Return the bytes of temporary arrays that :meth:`plan_buckets` takes."""

    def plan_buckets(self, expected: Array, growth: float) -> BucketPlan:
        """Plan buckets for ``growth`` times as many edges per vertex as ``expected`` (uint32); waits for the device."""

    def write_tables(self, plan: BucketPlan, old: Array, vertex: Array, buckets: Array) -> None:
        """Fill the words and the bucket codes of all vertices as planned, with the degrees of the words ``old``."""

    def place_heads(self, plan: BucketPlan, slabs: Slabs) -> None:
        """Write the owners of the planned heads, and the counter BUMP."""

    def counting_bytes(self, slabs: Slabs, bump: int) -> int:
        """Return the bytes of temporary arrays that :meth:`count_batch` and :meth:`count_moves` take."""

    def count_sources(self, batch: GuardedBatch, counts: Array) -> None:
        """Add the edges per source to ``counts`` (uint32 per vertex)."""

    def count_batch(self, slabs: Slabs, bump: int, batch: GuardedBatch, *, fresh: bool) -> int:
        """Return an upper bound of the slabs that an insertion of the batch needs; waits for the device.

        ``bump`` is the counter BUMP. With ``fresh`` all head slabs below it are empty, and the pool is not read.
        """

    def count_moves(self, old: Slabs, plan: Slabs, heads: int) -> int:
        """Return an upper bound of the slabs, besides ``heads``, needed to move all edges of ``old``; waits.

        Of ``plan`` only the words and bucket codes of the vertices are read.
        """

    def move_edges(self, old: Slabs, new: Slabs) -> None:
        """Copy all edges to the empty buckets of another pool."""

    def count_edges(self, slabs: Slabs) -> int:
        """Return the number of edges; waits for the device."""

    def free_vertices(self, slabs: Slabs, vertices: Array) -> None:
        """Free the storage of distinct vertices."""

    def list_free(self, slabs: Slabs, bump: int, found: Array) -> None:
        """Fill ``found`` with the free slabs below ``bump``, as many as it has elements, and start their counters."""

    def gather(self, slabs: Slabs, vertices: Array, offsets: Array, dst: Array, weight: Array | None) -> None:
        """Write the edges of the i-th vertex from ``offsets[i]`` on."""

    def gather_all(self, slabs: Slabs, num_vertices: int, src: Array, dst: Array, weight: Array | None) -> None:
        """Write all edges to arrays of their number, ordered by source; ``weight`` may be None."""

    def gather_touched(self, slabs: Slabs, count: int, src: Array, dst: Array, weight: Array | None) -> int:
        """Write the edges inserted since the mark, from ``count`` slabs; return their number (waits for it)."""

    def forget_touched(self, slabs: Slabs) -> None:
        """Forget which edges were inserted since the mark."""


class FusedKernels(Kernels, Protocol):
    """Kernels of a CUDA device, which also check a batch in the launch that applies it."""

    def has_scratch(self, edges: int) -> bool:
        """Return whether the scratch memory of such a batch is cached."""

    def prepare_insertion(self, slabs: Slabs, batch: DeviceBatch) -> Any:
        """Return what :meth:`insert_batch` needs; raises ``CapacityError``."""

    def insert_batch(self, batch: DeviceBatch, prepared: Any, reservation: Reservation) -> None:
        """Insert a batch; the launch validates it if ``batch.unchecked`` is set."""

    def prepare_deletion(self, slabs: Slabs, batch: DeviceBatch) -> Any:
        """Return what :meth:`delete_batch` needs."""

    def delete_batch(self, slabs: Slabs, batch: DeviceBatch, prepared: Any) -> None:
        """Delete a batch; the launch validates it if ``batch.unchecked`` is set."""

    def find_unvalidated(self, slabs: Slabs, batch: UnvalidatedBatch, found: Array, weight: Array | None) -> None:
        """Check a batch and look it up; invalid edges are not found."""
