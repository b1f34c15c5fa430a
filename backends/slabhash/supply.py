"""The slabs of a store and its changes, for which slabs are reserved: one object knows how many are free.

It carries out what the ledger decides, with the arrays of the pool and the kernels of the device.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.backends.slabhash import ledger as numbers
from suricate.backends.slabhash.budget import Budget
from suricate.backends.slabhash.kernels import GuardedBatch
from suricate.backends.slabhash.layout import DENIED
from suricate.backends.slabhash.ledger import POLL_AFTER, Demand, Ledger
from suricate.backends.slabhash.pool import Pool, Tables
from suricate.base.devices import Array
from suricate.base.types import Outcome
from suricate.errors import CapacityError
from suricate.store.array_manager import first_that_fits

if TYPE_CHECKING:
    from suricate.intake.batches import DeviceBatch

PIECE = 1 << 20  #: bytes by which a pool grows that stays where it is


@dataclass(frozen=True, slots=True, eq=False)
class Sizing:
    """The edges that buckets and slabs are sized for.

    Attributes:
        expected: degree per vertex, ``uint32[num_vertices]``, including the edges of ``batch``.
        stored: number of edges in the store.
        batch: the batch that is about to be inserted, or None.
        unused: number of slabs that should remain free.
        later: number of further edges to reserve slabs for.
        growth: buckets are sized for this many times the expected degrees.
    """

    expected: Array
    stored: int
    batch: GuardedBatch | None = None
    unused: int = 0
    later: int = 0
    growth: float = 1.0


class Supply:
    """Applies batches to a store; before that, gets slabs by reading counters, trimming, growing or rebuilding.

    It changes the arrays of ``pool`` within ``budget``; nothing else changes ``ledger``; ``kernels``: of the device.
    Every method that may need memory raises ``CapacityError`` before anything has changed, except for optional growth.
    """

    def __init__(self, pool: Pool, ledger: Ledger, budget: Budget, kernels: Any) -> None:
        self._pool, self.ledger, self._budget, self._kernels = pool, ledger, budget, kernels
        self.read()

    # -- changes -------------------------------------------------------------------------------------------------------

    def insert(self, batch: GuardedBatch, outcome: Outcome) -> None:
        """Insert a batch, which is not empty, and write ``outcome``; first get the slabs that the batch can need."""
        self.poll()
        ledger, kernels, edges = self.ledger, self._kernels, len(batch.src)
        demand = ledger.usual_demand(edges) if ledger.warps else ledger.demand(edges)
        demand = demand or self._provide(batch)
        scratch = self._budget.made(kernels.scratch, self._pool.slabs, edges)
        reservation = ledger.reserve(demand)
        done = kernels.insert(self._pool.slabs, batch, reservation, outcome, scratch)
        if not ledger.warps:
            self._insert_rest(done, edges, reservation.kept, outcome)
            kernels.release(scratch)
            self.read()
        ledger.queued(edges)
        if demand.sized and 2 * self.count_edges() < ledger.inserted:
            with suppress(Exception):  # most were duplicates, as events that repeat an edge: optional, the batch is in
                self.compact()

    def insert_few(self, src: Array, dst: Array, weight: Array | None) -> Outcome | None:
        """Insert a small batch on the CPU by few Python calls; return its outcome, or None if too few slabs are free.

        With None nothing has changed. ``src``, ``dst`` and ``weight`` (or None) are the edges.
        """
        edges, ledger = len(src), self.ledger
        quota = ledger.quota_of_few(edges)
        if quota < 0:
            return None
        slabs, kernels, before, scratch = self._pool.slabs, self._kernels, None, None
        try:
            status = np.zeros(edges, np.uint8)
            if weight is not None:
                before, scratch = np.empty(edges, weight.dtype), kernels.scratch(slabs, edges)
        except MemoryError as error:
            self._budget.fail(error)
        outcome = Outcome(status, before)
        done = kernels.insert_few(slabs, src, dst, weight, quota, outcome, scratch)
        if done < edges:
            self._insert_rest(kernels.insert_rest(slabs, quota, outcome), edges, edges, outcome)
            slabs = self._pool.slabs
        if scratch is not None:
            kernels.release(scratch)
        ledger.record(slabs.counters.tolist(), slabs.capacity, edges)
        return outcome

    def _insert_rest(self, done: int, edges: int, kept: int, outcome: Outcome) -> None:
        """Insert the edges that are left of a batch on the CPU, of whose ``edges`` edges ``done`` are inserted already.

        Edges are left if a vertex has outgrown its buckets. First more slabs are got for rehashing; if that fails,
        vertices keep their buckets. ``kept`` slabs suffice for the edges left without rehashing. ``outcome`` is
        written.
        """
        while done < edges:
            kept, quota = min(kept, edges - done), -1
            with suppress(Exception):  # rehashing is optional, and in the middle of a batch nothing may be raised
                kept, quota = self.ledger.provide_more(edges - done, kept, self)
            done = self._kernels.insert_rest(self._pool.slabs, quota, outcome)

    def delete(self, batch: GuardedBatch, outcome: Outcome) -> None:
        """Delete the edges of a batch, write ``outcome``, and free slabs where deletions left many unused."""
        self._kernels.delete(self._pool.slabs, batch, outcome)
        self.changed(0, len(batch.src))

    def delete_few(self, src: Array, dst: Array, weight_dtype: np.dtype | None) -> Outcome:
        """Delete a small batch on the CPU by few Python calls; return its outcome."""
        edges = len(src)
        try:
            status, before = np.zeros(edges, np.uint8), None if weight_dtype is None else np.zeros(edges, weight_dtype)
        except MemoryError as error:
            self._budget.fail(error)
        outcome = Outcome(status, before)
        self._kernels.delete_few(self._pool.slabs, src, dst, outcome)
        begin, end = self.ledger.trimming(edges)
        if begin < end:
            self._trim(begin, end)
        return outcome

    def changed(self, inserted: int, deleted: int) -> None:
        """Record how many edges were ``inserted`` and ``deleted``; free slabs after a deletion."""
        if inserted:
            self.ledger.queued(inserted)
        if deleted:
            begin, end = self.ledger.trimming(deleted)
            if begin < end:
                self._trim(begin, end)

    def free_vertices(self, vertices: Array) -> None:
        """Free all slabs of the distinct ``vertices`` (uint32[k])."""
        self.ledger.has_deleted = True
        self._kernels.free_vertices(self._pool.slabs, vertices)
        if not self.ledger.warps:
            self.read()

    def prepare(self, delete: DeviceBatch | None, insert: DeviceBatch | None) -> Callable[[], None] | None:
        """On CUDA prepare a change by ``delete`` and ``insert`` (each may be None); return the function to make it.

        Return None if too few slabs are free for the worst case of the insertion. If there are both, a separate launch
        validates the insertion before that of the deletion.
        """
        kernels, slabs = self._kernels, self._pool.slabs
        demand = insertion = None
        if insert is not None:
            demand = self._usual_demand(insert)
            if demand is None:
                return None
            if delete is not None:
                insert.check()
            insertion = kernels.prepare_insertion(slabs, insert)
        deletion = None if delete is None else kernels.prepare_deletion(slabs, delete)
        return partial(self._launch, delete, deletion, insert, insertion, demand)

    def _launch(self, delete: Any, deletion: Any, insert: Any, insertion: Any, demand: Demand | None) -> None:
        ledger, kernels = self.ledger, self._kernels
        if delete is not None:
            kernels.delete_batch(self._pool.slabs, delete, deletion)
        if demand is not None:
            kernels.insert_batch(insert, insertion, ledger.reserve(demand))
            ledger.queued(demand.edges)
            if ledger.free < demand.ample or ledger.behind >= POLL_AFTER:
                self.poll()  # now, while the device is busy with this batch, see what those before it have left
        if delete is not None:
            self.changed(0, delete.size)

    def _usual_demand(self, batch: DeviceBatch) -> Demand | None:
        """Return the result of :meth:`Ledger.usual_demand` for ``batch``, if need be after taking over newer counters.

        Counters are read, waiting for the device, only if ``batch.waits``: the host then waits anyway.
        """
        ledger, edges = self.ledger, batch.size
        demand = ledger.usual_demand(edges)
        if demand is None or ledger.free < demand.ample:
            self.poll()
            demand = ledger.usual_demand(edges)
            if demand is None and batch.waits and ledger.pending:
                self.read()
                demand = ledger.usual_demand(edges)
        return demand

    def with_vertices(self, num_vertices: int) -> Tables | None:
        """Return tables with entries for ``num_vertices`` vertices; None: the present ones have them."""
        allocated = self._pool.vertices
        if num_vertices <= allocated:
            return None
        self._kernels.forget()
        ample = max(num_vertices, allocated + allocated // 4)
        return first_that_fits(self._pool.with_vertices, ample, num_vertices)

    def resize(self, num_vertices: int, tables: Tables | None) -> None:
        """Change the number of vertices; take new ``tables``. The caller has freed the slabs of removed ones."""
        if tables is not None:
            self._pool.adopt(self._pool.slabs._replace(vertex=tables[0], buckets=tables[1]))
        self.ledger.num_vertices = num_vertices

    # -- counters, and more slabs --------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read the counters into the ledger, waiting for the device."""
        slabs = self._pool.slabs
        self.ledger.record(self._kernels.read_counters(slabs), slabs.capacity)

    def poll(self) -> None:
        """Take over counters that have arrived into the ledger, without waiting; on the CPU there are none."""
        ledger = self.ledger
        if ledger.pending and ledger.warps:
            ledger.take_over(self._kernels.poll())

    def _provide(self, batch: GuardedBatch) -> Demand:
        """Get the slabs for a batch, leaving memory for its scratch arrays; return its demand."""
        edges, slabs = len(batch.src), self._pool.slabs
        self._drop_cache()
        scratch = self._kernels.scratch_bytes(slabs, max(edges, self.ledger.promised))
        if not self._budget.allows(scratch):
            scratch = self._kernels.scratch_bytes(slabs, edges)
        with self._budget.allocating(scratch):
            return self.ledger.provide(edges, batch, self)

    def reserve(self, edges: int) -> None:
        """Reserve slabs and scratch memory for the worst case of any ``edges`` edges."""
        ledger, kernels, slabs = self.ledger, self._kernels, self._pool.slabs
        self.poll()
        if ledger.warps and kernels.has_scratch(edges) and ledger.usual_demand(edges) is not None:
            ledger.promise(edges)  # rehashing gets what is left, as in other batches
            return
        self._drop_cache()
        capacity = ledger.capacity + ledger.worst_case(edges) + ledger.allowance(edges)
        capacity += capacity // 16  # see Ledger.provide_for()
        counting = kernels.counting_bytes * (capacity + self._pool.counted)
        with self._budget.allocating(kernels.scratch_bytes(slabs, edges) + counting):
            ledger.provide_for(edges, self)
        ledger.promise(edges)
        if ledger.warps:
            kernels.cache_scratch(self._pool.slabs, edges)

    def provide_for(self, edges: int) -> None:
        """Get slabs for any ``edges`` single edges to come, without scratch memory."""
        self.read()
        self._drop_cache()
        self.ledger.provide_for(edges, self)

    def compact(self) -> None:
        """Give every vertex buckets for its degree, and move all edges to a pool of just the slabs that this takes."""
        stored, vertices = self.count_edges(), self.ledger.num_vertices
        self._kernels.forget()
        if stored:
            with self._budget.allocating(4 * self._pool.counted):
                self.rebuild(Sizing(self._pool.degrees(vertices), stored))
        else:
            self._pool.clear()
            self.ledger.rebuilt(0, 0, 0)
        self.read()

    def _trim(self, begin: int, end: int) -> None:
        """Free empty slabs from ``begin`` to ``end`` (exclusive), a range of :meth:`Ledger.trimming`.

        On CUDA nothing waits; the ledger learns the number of free slabs from the counters of a later batch.
        """
        ledger = self.ledger
        self._kernels.trim(self._pool.slabs, ledger.spend(end - begin), begin, end)
        if not ledger.warps:
            self.read()
            if ledger.may_be_loose:
                with suppress(CapacityError):  # a deletion needs no memory
                    self._fit()
            if ledger.is_scattered:
                self.sweep(ledger.freed + ledger.listed)

    def _fit(self) -> None:
        """Move all edges to a pool that fits them and those promised, if the present one is much larger."""
        ledger, kernels, vertices = self.ledger, self._kernels, self.ledger.num_vertices
        stored = self.count_edges()
        with self._budget.allocating(4 * self._pool.counted):
            degrees = self._pool.degrees(vertices)
            with self._budget.allocating(kernels.planning_bytes * self._pool.counted):
                heads = kernels.plan_buckets(degrees, 1.0).total
            if ledger.is_loose(heads, stored, crowded=kernels.is_crowded):
                self.rebuild(Sizing(degrees, stored, later=ledger.promised))
                self.read()

    def rebuild(self, sizing: Sizing) -> int:
        """Size the buckets of all vertices, and move all edges there; return how many slabs ``sizing.batch`` may need.

        Raises ``CapacityError`` before anything has changed. Counters are not read: the ledger counts as many slabs as
        used as the edges can need at most.
        """
        pool, kernels, ledger, budget = self._pool, self._kernels, self.ledger, self._budget
        old, marked = pool.slabs, bool(pool.slabs.marked)
        kernels.forget()  # what it has cached would count while both pools are there
        with budget.allocating(kernels.planning_bytes * pool.counted + pool.table_bytes()):
            plan = kernels.plan_buckets(sizing.expected, sizing.growth)
            tables = pool.blank_tables()
            kernels.write_tables(plan, old.vertex, *tables)
            unused = sizing.unused
            if sizing.later:
                unused += ledger.bound(sizing.later, plan.total + ledger.num_vertices) + ledger.allowance(sizing.later)
            overflow, slack = self._overflow(sizing, plan.total, tables)
            size = plan.total + overflow + unused
            new = first_that_fits(lambda n: pool.new(pool.vertices, n, tables, marked=marked), size + slack, size)
            kernels.place_heads(plan, new)
        if sizing.stored:
            kernels.move_edges(old, new)
        pool.adopt(new)
        kernels.forget()
        need = new.capacity - plan.total - unused
        ledger.rebuilt(new.capacity, plan.total + min(need, sizing.stored // ledger.keys), sizing.stored)
        return min(need, ledger.free)

    def _overflow(self, sizing: Sizing, heads: int, tables: Tables) -> tuple[int, int]:
        """Return the number of slabs needed besides the heads, and how many more to reserve if memory allows it.

        ``heads`` is the number of head slabs planned, ``tables`` the planned ``vertex`` and ``buckets``. Stored edges
        are counted if there is no batch and no growth; the edges of a batch if it is a bulk load of an empty store. A
        small bulk load is not counted without a memory limit: compiling the loop that counts takes longer than the
        slabs are worth. Edges that are not counted get an upper bound.
        """
        kernels, ledger, budget, batch, stored = self._kernels, self.ledger, self._budget, sizing.batch, sizing.stored
        coming = 0 if batch is None else len(batch.src)
        most = (stored + coming) // ledger.keys  # a bucket of c edges has at most c / keys more
        plan = self._pool.slabs._replace(vertex=tables[0], buckets=tables[1])
        size = kernels.counting_bytes * (heads + self._pool.counted)
        if stored and batch is None and sizing.growth == 1 and budget.allows(size):
            with budget.allocating(size):
                return kernels.count_moves(self._pool.slabs, plan, heads), 0
        if batch is None or stored:
            return most, 0
        is_counted = coming >= numbers.COUNTED_FROM or budget.limit is not None
        if is_counted and coming >= numbers.BULK_LOAD * ledger.num_vertices and budget.allows(size):
            with budget.allocating(size):
                most = kernels.count_batch(plan, heads, batch, fresh=True)
        return most, (heads + most) // numbers.SLACK + numbers.MIN_SLABS

    def _drop_cache(self) -> None:
        """If there is a memory limit, free the cached scratch memory.

        The caller borrows the bytes of the scratch memory of a batch next: with a cache they would count twice.
        """
        if self._budget.limit is not None:
            self._kernels.forget()

    # -- the steps of the ledger, which they tell of a new pool; without memory nothing changes ------------------------

    def forget_denied(self) -> None:
        """Set the counter of denied slabs to zero."""
        self._pool.slabs.counters[DENIED : DENIED + 1].fill(0)

    def count_edges(self) -> int:
        """Return the number of edges in the store; waits for the device."""
        return self._kernels.count_edges(self._pool.slabs)

    def count_batch(self, batch: GuardedBatch) -> int:
        """Return an upper bound of the slabs that inserting ``batch`` needs; waits for the device."""
        pool, bump = self._pool, self.ledger.capacity - self.ledger.space
        with self._budget.allocating(self._kernels.counting_bytes * (bump + pool.counted)):
            return self._kernels.count_batch(pool.slabs, bump, batch, fresh=False)

    def size_for_batch(self, batch: GuardedBatch, later: int) -> int | None:
        """Move all edges to buckets sized for the store with ``batch``; slabs for ``later`` more edges stay free.

        Return the number of slabs that the batch needs, or None if memory is lacking.
        """
        count = self.count_edges if self.ledger.inserted else int
        return self._size(lambda: Sizing(self._expected(batch), count(), batch, later=later))

    def size_ahead(self, batch: GuardedBatch, stored: int, unused: int, growth: float) -> bool:
        """Move all ``stored`` edges to buckets sized for ``growth`` times the edges of the store with ``batch``.

        ``unused`` slabs stay free. Return whether memory sufficed.
        """
        return self._size(lambda: Sizing(self._expected(batch), stored, unused=unused, growth=growth)) is not None

    def repack(self, unused: int) -> bool:
        """Move all edges to a new pool with ``unused`` free slabs; return whether memory sufficed."""
        degrees = partial(self._pool.degrees, self.ledger.num_vertices)
        # The stored edges are counted, as this can occur within the first batch, too.
        if self._size(lambda: Sizing(degrees(), self.count_edges(), unused=unused)) is None:
            return False
        self.read()
        return True

    def _expected(self, batch: GuardedBatch) -> Array:
        """Return the degree of each vertex plus its edges in ``batch``, with duplicates: uint32[num_vertices]."""
        ledger, pool = self.ledger, self._pool
        expected = (pool.degrees if ledger.inserted else pool.no_degrees)(ledger.num_vertices)
        self._kernels.count_sources(batch, expected)
        return expected

    def _size(self, sizing: Callable[[], Sizing]) -> int | None:
        """Return the result of :meth:`rebuild` for ``sizing()``; None, with nothing changed, if memory is lacking."""
        try:
            with self._budget.allocating(4 * self._pool.counted):
                return self.rebuild(sizing())
        except CapacityError:
            return None

    def sweep(self, length: int) -> None:
        """Write the free slabs to a new list of ``length`` entries, for reuse; do nothing if memory is lacking."""
        self._kernels.forget()
        try:
            slabs = self._pool.with_free_list(length)
        except CapacityError:
            return
        self._kernels.list_free(slabs, self.ledger.capacity - self.ledger.space, slabs.free_list)
        self._pool.adopt(slabs)
        self.read()

    def grow(self, least: int, wanted: int, *, optional: bool) -> bool:
        """Grow the pool until ``wanted`` slabs are free, or at least ``least``; return whether it grew.

        A pool that stays where it is grows by a piece at a time, which costs no call of an update much; on CUDA by a
        sixteenth, since each piece takes calls of the driver.
        If memory is lacking and growth is not ``optional``, all slabs are trimmed; ``CapacityError`` is raised if fewer
        than ``least`` are free then.
        """
        capacity, free = self._pool.slabs.capacity, self.ledger.free
        if self._pool.grows_in_place(capacity + least - free):
            piece = capacity // 16 if self.ledger.warps else PIECE // self._pool.slab_bytes
            wanted = min(wanted, least + piece)
        self._kernels.forget()  # what it has cached would count while both pools are there
        try:
            slabs = first_that_fits(self._pool.grown, capacity + max(0, wanted - free), capacity + least - free)
        except CapacityError:
            if not (optional or self._trim_all(least)):
                raise
            return False
        self._pool.adopt(slabs)
        self.ledger.grown(slabs.capacity)
        return True

    def grows_in_place(self, slabs: int) -> bool:
        """Return whether the pool can grow by ``slabs`` slabs without being copied."""
        return self._pool.grows_in_place(self._pool.slabs.capacity + slabs)

    def _trim_all(self, least: int) -> bool:
        """Trim the whole pool, unless no edge was deleted since the buckets of all vertices were last sized.

        Return whether ``least`` slabs are free afterwards.
        """
        ledger = self.ledger
        if ledger.has_deleted:
            self._kernels.trim(self._pool.slabs, 0, 0, ledger.capacity - ledger.space)
            self.read()
            if ledger.free < least:
                self.sweep(ledger.freed + ledger.listed)
        return ledger.free >= least
