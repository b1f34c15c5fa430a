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
        codes: ``uint16[num_vertices]``: the number of buckets, encoded, see ``cursor.decode``.
        heads, ends: what the kernels that made the plan need to carry it out; None if they need nothing.
        total: number of head slabs, one per bucket; a vertex without expected edges has none.
    """

    codes: Array
    heads: Array | None
    ends: Array | None
    total: int


class Kernels(Protocol):
    """The operations of a store on the arrays of one device."""

    @property
    def warps(self) -> int:
        """Number of resident warps of an insertion on CUDA; 0 on the CPU."""

    @property
    def cached_bytes(self) -> int:
        """Size in bytes of the scratch memory that is cached between batches."""

    def forget(self) -> None:
        """Forget what is cached about the arrays, because they are replaced."""

    def read_counters(self, slabs: Slabs) -> list[int]:
        """Return the counters of ``slabs`` after all queued work, as a list (see ``layout.py``); waits for a device."""

    def poll(self) -> Arrived | None:
        """Return the counters that have arrived last, or None if there are none; never waits."""

    def scratch_bytes(self, slabs: Slabs, edges: int) -> int:
        """Return the least bytes of scratch memory that inserting ``edges`` edges takes if nothing is cached."""

    def scratch(self, slabs: Slabs, edges: int) -> Any:
        """Return scratch memory for inserting ``edges`` edges into ``slabs``, accounted for in the budget.

        The caller passes it to :meth:`insert`, then to :meth:`release`.
        """

    def release(self, scratch: Any) -> None:
        """Give back the scratch memory ``scratch`` that :meth:`scratch` returned."""

    def cache_scratch(self, slabs: Slabs, edges: int) -> None:
        """Allocate scratch memory for insertions of up to ``edges`` edges, if such memory is cached between batches."""

    def insert(
        self, slabs: Slabs, batch: GuardedBatch, reservation: Reservation, outcome: Outcome, scratch: Any, start: int
    ) -> int:
        """Insert the edges of a batch into ``slabs`` from index ``start`` on; return the index reached.

        ``reservation`` are the slabs set aside for the batch, ``outcome`` is written, ``scratch`` comes from
        :meth:`scratch`. On the CPU the index may be short of the end: a vertex must be rehashed, for which the
        reservation lacks slabs.
        """

    def delete(self, slabs: Slabs, batch: GuardedBatch, outcome: Outcome) -> None:
        """Delete the edges of a batch, and write the status of each to ``outcome``."""

    def find(self, slabs: Slabs, src: Array, dst: Array, found: Array, weight: Array | None) -> None:
        """Look up edges (``src``, ``dst``): write ``found`` (bool[n]), and weights to ``weight`` (unless None)."""

    def trim(self, slabs: Slabs, quota: int, begin: int, end: int) -> None:
        """Free slabs that deletions have emptied, of the vertices whose first head slabs are from ``begin`` to ``end``.

        At most ``quota`` slabs are taken for that.
        """

    def clear_tables(self, vertex: Array, buckets: Array) -> None:
        """Fill ``vertex`` and ``buckets`` (see ``Slabs``) with the entries of vertices without storage."""

    def planning_bytes(self, vertices: int) -> int:
        """Return the bytes of temporary arrays that :meth:`plan_buckets` takes for this number of vertices."""

    def plan_buckets(self, expected: Array, growth: float) -> BucketPlan:
        """Return a plan of buckets for ``growth`` times as many edges per vertex as ``expected`` (uint32); may wait."""

    def write_tables(self, plan: BucketPlan, old: Array, vertex: Array, buckets: Array) -> None:
        """Fill ``vertex`` and ``buckets`` (see ``Slabs``) as ``plan`` says, with the degrees of the old ``vertex``.

        ``old`` is that old array.
        """

    def place_heads(self, plan: BucketPlan, slabs: Slabs) -> None:
        """Write to ``slabs`` the owners of the head slabs that ``plan`` provides, and their number as counter BUMP."""

    def counting_bytes(self, slabs: Slabs, bump: int) -> int:
        """Return the bytes of temporary arrays that :meth:`count_batch` and :meth:`count_moves` take.

        ``bump`` is the number of slabs, or of planned head slabs, that chains can begin at.
        """

    def count_sources(self, batch: GuardedBatch, counts: Array) -> None:
        """Add the number of edges of each source of ``batch`` to ``counts`` (uint32 per vertex) in place."""

    def count_batch(self, slabs: Slabs, bump: int, batch: GuardedBatch, *, fresh: bool) -> int:
        """Return an upper bound of the slabs that an insertion of the batch needs; waits for the device.

        ``bump`` is the counter BUMP. With ``fresh`` all head slabs below it are empty, and the pool is not read.
        """

    def count_moves(self, old: Slabs, plan: Slabs, heads: int) -> int:
        """Return an upper bound of the slabs, besides ``heads``, needed to move all edges of ``old``; waits on CUDA.

        Of ``plan``, the new layout, only ``vertex`` and ``buckets`` are read; ``heads`` is the number of its head
        slabs.
        """

    def move_edges(self, old: Slabs, new: Slabs) -> None:
        """Copy all edges of the arrays ``old`` to the buckets, still empty, of the arrays ``new``."""

    def count_edges(self, slabs: Slabs) -> int:
        """Return the number of edges; waits for the device."""

    def free_vertices(self, slabs: Slabs, vertices: Array) -> None:
        """Free all slabs of the distinct ``vertices`` (uint32[k])."""

    def list_free(self, slabs: Slabs, bump: int, found: Array) -> None:
        """Fill ``found`` with the free slabs below ``bump``, as many as it has elements; reset their counters."""

    def gather(self, slabs: Slabs, vertices: Array, offsets: Array, dst: Array, weight: Array | None) -> None:
        """Copy the edges of ``vertices`` to ``dst`` and ``weight`` (or None): the i-th from ``offsets[i]`` on."""

    def gather_all(self, slabs: Slabs, num_vertices: int, src: Array, dst: Array, weight: Array | None) -> None:
        """Copy all edges to ``src``, ``dst`` and ``weight`` (or None), with an entry per edge, ordered by source."""

    def gather_touched(self, slabs: Slabs, count: int, src: Array, dst: Array, weight: Array | None) -> int:
        """Copy the edges inserted since the mark to ``src``, ``dst`` and ``weight`` (or None); return their number.

        ``count`` is the number of slabs that they are in. Waits for the device.
        """

    def forget_touched(self, slabs: Slabs) -> None:
        """Forget which edges were inserted since the mark."""


class FusedKernels(Kernels, Protocol):
    """The operations on a CUDA device, which include launches that validate a batch and apply it."""

    def has_scratch(self, edges: int) -> bool:
        """Return whether scratch memory for inserting ``edges`` edges is cached."""

    def prepare_insertion(self, slabs: Slabs, batch: DeviceBatch) -> Any:
        """Return the launch and scratch memory for :meth:`insert_batch` of ``batch``; raises ``CapacityError``."""

    def insert_batch(self, batch: DeviceBatch, prepared: Any, reservation: Reservation) -> None:
        """Launch the insertion of ``batch``; the launch validates it if ``batch.unchecked`` is set.

        ``prepared`` is what :meth:`prepare_insertion` returned, ``reservation`` the slabs set aside for the batch.
        """

    def prepare_deletion(self, slabs: Slabs, batch: DeviceBatch) -> Any:
        """Return the launch with which :meth:`delete_batch` deletes ``batch``."""

    def delete_batch(self, slabs: Slabs, batch: DeviceBatch, prepared: Any) -> None:
        """Launch the deletion of ``batch``; the launch validates it if ``batch.unchecked`` is set.

        ``prepared`` is what :meth:`prepare_deletion` returned.
        """

    def find_unvalidated(self, slabs: Slabs, batch: UnvalidatedBatch, found: Array, weight: Array | None) -> None:
        """Validate and look up ``batch`` in one launch: write ``found`` (bool[n]) and, if given, ``weight``.

        Invalid edges are not found.
        """
