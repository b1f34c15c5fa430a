"""Buckets for all vertices: a new pool, sized for the degrees that are expected, into which all edges move."""

from __future__ import annotations

from dataclasses import dataclass

from suricate.backends.slabhash.budget import Budget
from suricate.backends.slabhash.kernels import GuardedBatch, Kernels
from suricate.backends.slabhash.layout import Slabs
from suricate.backends.slabhash.ledger import BULK_LOAD, COUNTED_FROM, MIN_SLABS, SLACK, Ledger
from suricate.backends.slabhash.pool import VERTEX_BYTES, Pool, Tables
from suricate.base.devices import Array
from suricate.errors import CapacityError


@dataclass(frozen=True, slots=True, eq=False)
class Sizing:
    """The edges that buckets and slabs are sized for.

    Attributes:
        expected: degree per vertex, ``uint32[num_vertices]``.
        stored: number of edges in the store.
        batch: a batch that is about to be inserted, and is in ``expected``.
        unused: slabs to have free besides.
        later: edges to reserve slabs for besides.
        growth: buckets are sized for this many times the expected degrees.
    """

    expected: Array
    stored: int
    batch: GuardedBatch | None = None
    unused: int = 0
    later: int = 0
    growth: float = 1.0


def rebuild(pool: Pool, kernels: Kernels, ledger: Ledger, budget: Budget, sizing: Sizing) -> int:
    """Move all edges to a new pool; return the slabs that the batch may need.

    Raises ``CapacityError`` before anything has changed. Does not read the counters again: the ledger takes as many
    slabs for used as moving all edges can take.
    """
    old, keys = pool.slabs, ledger.keys
    with budget.allocating(kernels.planning_bytes(len(sizing.expected)) + VERTEX_BYTES * pool.vertices):
        plan = kernels.plan_buckets(sizing.expected, sizing.growth)
        tables = pool.blank_tables()
        kernels.write_tables(plan, old.vertex, *tables)
        unused = sizing.unused
        if sizing.later:
            unused += ledger.bound(sizing.later, plan.total + ledger.num_vertices) + ledger.allowance(sizing.later)
        overflow, slack = _overflow(pool, kernels, ledger, budget, sizing, plan.total, tables)
        size = plan.total + overflow + unused
        new = _new(pool, size, size + slack, tables)
        kernels.place_heads(plan, new)
    if sizing.stored:
        kernels.move_edges(old, new)
    pool.adopt(new)
    kernels.forget()
    need = new.capacity - plan.total - unused
    ledger.rebuilt(new.capacity, plan.total + min(need, sizing.stored // keys), sizing.stored)
    return min(need, ledger.free)


def _new(pool: Pool, least: int, wanted: int, tables: Tables) -> Slabs:
    marked = bool(pool.slabs.marked)
    try:
        return pool.new(pool.vertices, wanted, tables, marked=marked)
    except CapacityError:
        return pool.new(pool.vertices, least, tables, marked=marked)


def _overflow(
    pool: Pool, kernels: Kernels, ledger: Ledger, budget: Budget, sizing: Sizing, heads: int, tables: Tables
) -> tuple[int, int]:
    """Return how many slabs are needed behind the heads, and how many more would be good to have.

    They are counted, unless stored edges meet a batch, or it is no bulk load: then more will come. Those of a small
    batch are not, unless there is a limit: to compile the counting takes longer than the slabs are worth.
    """
    batch, stored = sizing.batch, sizing.stored
    coming = 0 if batch is None else len(batch.src)
    most = (stored + coming) // ledger.keys  # a bucket of c edges has at most c / keys more
    plan = pool.slabs._replace(vertex=tables[0], buckets=tables[1])
    size = kernels.counting_bytes(plan, heads)
    if stored and batch is None and sizing.growth == 1 and budget.allows(size):
        with budget.allocating(size):
            return kernels.count_moves(pool.slabs, plan, heads), 0
    if batch is None or stored:
        return most, 0
    is_counted = coming >= COUNTED_FROM or budget.limit is not None
    if is_counted and coming >= BULK_LOAD * ledger.num_vertices and budget.allows(size):
        with budget.allocating(size):
            most = kernels.count_batch(plan, heads, batch, fresh=True)
    return most, (heads + most) // SLACK + MIN_SLABS
