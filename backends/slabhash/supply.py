"""Getting slabs: carries out what the ledger decides, with the arrays of the pool and the kernels of the device."""

from __future__ import annotations

from typing import Any, NamedTuple

from suricate.backends.slabhash import ledger as steps
from suricate.backends.slabhash.budget import Budget
from suricate.backends.slabhash.kernels import Batch, Kernels
from suricate.backends.slabhash.layout import DENIED
from suricate.backends.slabhash.ledger import Demand, Ledger, Steps
from suricate.backends.slabhash.pool import Pool
from suricate.backends.slabhash.rebuild import Sizing, rebuild
from suricate.errors import CapacityError


class Supply:
    """The slabs of one store: reads counters, sweeps, grows and rebuilds.

    Every method that may need memory raises ``CapacityError`` before anything has changed, but for what is optional.
    """

    def __init__(self, pool: Pool, ledger: Ledger, budget: Budget, kernels: Kernels) -> None:
        self._pool, self._ledger, self._budget, self._kernels = pool, ledger, budget, kernels
        self.read()

    def read(self) -> None:
        """Read the counters, waiting for the device."""
        slabs = self._pool.slabs
        self._ledger.record(self._kernels.read_counters(slabs), slabs.capacity)

    def poll(self) -> None:
        """Take over counters that have arrived, without waiting."""
        if self._ledger.pending:
            self._ledger.take_over(self._kernels.poll())

    def provide(self, batch: Batch) -> Demand:
        """Get the slabs for a batch, and leave memory for its scratch arrays."""
        edges, slabs = len(batch.src), self._pool.slabs
        self._drop_cache()
        scratch = self._kernels.scratch_bytes(slabs, max(edges, self._ledger.promised))
        if not self._budget.allows(scratch):
            scratch = self._kernels.scratch_bytes(slabs, edges)
        with self._budget.allocating(scratch):
            return self._run(self._ledger.provide(edges), batch)

    def provide_more(self, edges: int, need: int) -> tuple[int, int]:
        """Within a batch on the CPU: get slabs for rehashing; return those kept for the edges to go, and the quota."""
        try:
            return self._run(self._ledger.provide_more(edges, need))
        except Exception:  # rehashing is optional, and in the middle of a batch nothing may be raised
            return need, -1

    def reserve(self, edges: int) -> None:
        """Reserve slabs and scratch memory for any ``edges`` edges, at their worst."""
        ledger, kernels, slabs = self._ledger, self._kernels, self._pool.slabs
        self.poll()
        self._drop_cache()
        capacity = ledger.capacity + ledger.worst_case(edges) + ledger.allowance(edges)
        capacity += capacity // 16  # see Ledger.provide_for()
        with self._budget.allocating(kernels.scratch_bytes(slabs, edges) + kernels.counting_bytes(slabs, capacity)):
            self._run(ledger.provide_for(edges))
        ledger.promise(edges)
        kernels.cache_scratch(self._pool.slabs, edges)

    def provide_for(self, edges: int) -> None:
        """Get slabs for any ``edges`` single edges to come, without scratch memory."""
        self.read()
        self._drop_cache()
        self._run(self._ledger.provide_for(edges))

    def compact(self) -> None:
        """Give every vertex buckets for its degree, and cut the pool to what that takes."""
        stored, vertices = self._stored(), self._ledger.num_vertices
        self._kernels.forget()
        if stored:
            with self._budget.allocating(4 * vertices):
                self.rebuild(Sizing(self._pool.degrees(vertices), stored))
        else:
            self._pool.clear()
            self._ledger.rebuilt(0, 0, 0)
        self.read()

    def trim(self, edges: int) -> None:
        """Free slabs after the deletion of ``edges`` edges: as many as that pays for are looked at.

        On CUDA nothing waits, so what is free by now becomes known later.
        """
        ledger = self._ledger
        begin, end = ledger.trimming(edges)
        if begin >= end:
            return
        self._kernels.trim(self._pool.slabs, ledger.spend(end - begin), begin, end)
        if not ledger.warps:
            self.read()
            if ledger.is_scattered:
                self._sweep(ledger.freed + ledger.listed)

    def rebuild(self, sizing: Sizing) -> int:
        """Move all edges to a new pool; return the slabs that the batch of ``sizing`` may need."""
        self._kernels.forget()  # what it has cached would count while both pools are there
        return rebuild(self._pool, self._kernels, self._ledger, self._budget, sizing)

    def _drop_cache(self) -> None:
        """Have the kernels drop scratch memory before it is accounted for anew, where there is a limit."""
        if self._budget.limit is not None:
            self._kernels.forget()

    def _stored(self) -> int:
        """Return the number of edges; waits for the device."""
        return self._kernels.count_edges(self._pool.slabs)

    # -- the steps of the ledger ---------------------------------------------------------------------------------------

    def _run(self, plan: Steps, batch: Batch | None = None) -> Any:
        """Do what the ledger asks for until it has what it wants; return that."""
        answer: Any = None
        while True:
            try:
                step = plan.send(answer)
            except StopIteration as end:
                return end.value
            answer = self._do(step, batch)

    def _do(self, step: NamedTuple, batch: Batch | None) -> Any:
        """Do one step; return its answer."""
        match step:
            case steps.Read():
                self.read()
            case steps.ForgetDenied():
                self._pool.slabs.counters[DENIED : DENIED + 1].fill(0)
            case steps.CountEdges():
                return self._stored()
            case steps.CountBatch():
                assert batch is not None
                return self._count(batch)
            case steps.Sweep(length):
                self._sweep(length)
            case steps.Grow():
                return self._grow(step)
            case _:
                try:
                    return self._size(step, batch)
                except CapacityError:
                    return None
        return None

    def _count(self, batch: Batch) -> int:
        slabs, bump = self._pool.slabs, self._ledger.capacity - self._ledger.space
        with self._budget.allocating(self._kernels.counting_bytes(slabs, bump)):
            return self._kernels.count_batch(slabs, bump, batch, fresh=False)

    def _sweep(self, length: int) -> None:
        """List the free slabs for reuse, if there is memory for that."""
        self._kernels.forget()
        try:
            slabs = self._pool.with_free_list(length)
        except CapacityError:
            return
        self._kernels.list_free(slabs, self._ledger.capacity - self._ledger.space, slabs.free_list)
        self._pool.adopt(slabs)
        self.read()

    def _grow(self, step: steps.Grow) -> bool:
        capacity, free = self._pool.slabs.capacity, self._ledger.free
        self._kernels.forget()  # what it has cached would count while both pools are there
        try:
            try:
                slabs = self._pool.grown(capacity + max(0, step.wanted - free))
            except CapacityError:
                slabs = self._pool.grown(capacity + step.least - free)
        except CapacityError:
            if step.optional:
                return False
            raise
        self._pool.adopt(slabs)
        self._ledger.grown(slabs.capacity)
        return True

    def _size(self, step: NamedTuple, batch: Batch | None) -> int | bool:
        """Size all buckets anew; raises ``CapacityError`` before anything has changed."""
        vertices = self._ledger.num_vertices
        with self._budget.allocating(4 * vertices):
            expected = self._pool.degrees(vertices) if self._ledger.inserted else self._pool.no_degrees(vertices)
            if batch is not None and not isinstance(step, steps.Repack):
                self._kernels.count_sources(batch, expected)
            match step:
                case steps.Repack(spare):
                    self.rebuild(Sizing(expected, self._stored(), spare=spare))
                    self.read()
                    return True
                case steps.SizeForBatch(later):
                    stored = self._stored() if self._ledger.inserted else 0
                    return self.rebuild(Sizing(expected, stored, batch, later=later))
                case steps.SizeAhead(stored, spare, growth):
                    self.rebuild(Sizing(expected, stored, spare=spare, growth=growth))
                    return True
        raise TypeError(f"no step of the ledger: {step!r}")
