"""A store whose rows are divided among ranks: a backend's store holds those of the owner, and outcomes are gathered.

Batches are the same on every rank: each applies the rows that it owns, and statuses and old weights are combined in the
call, so that every rank has the outcome of the whole batch. What fails on one rank, for want of memory above all, is
undone on the others, and all of them raise; before a change of two stores every rank has reserved memory for both. A
large batch for which a rank has not the memory at once goes by slices, of which each needs less beside what is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import CheckFailed, RequirementError
from suricate.base.types import NEW, REMOVED, REPLACED, Adjacency, EdgeList, Outcome, StoreView
from suricate.intake.arrays import bits, picked
from suricate.store import Store
from suricate.store.slices import joined_outcomes, slices_of

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.parallel.partition import Partition


LEAST = 1 << 12  #: edges of a batch that may go by slices
SLICES = 1, 16, 256  #: in so many, if fewer take more memory than a rank has


class PartitionedStore(Store):
    """The rows of this rank, in a store of any backend; questions about other rows are sent to their owners.

    Args:
        part: how the graph is divided.
        local: an empty store with all vertices.
    """

    def __init__(self, part: Partition, local: Store) -> None:
        self.part, self.local = part, local
        self.num_vertices, self.device, self.weight_dtype = local.num_vertices, local.device, local.weight_dtype
        self.memory_limit = local.memory_limit
        self.name = local.name  # type: ignore[misc]
        self._count, self._loops = 0, 0  # arcs and self-loops of all ranks

    def _mine(self, edges: EdgeList) -> tuple[Array, EdgeList]:
        """Return the edges of this rank, and their places among ``edges``."""
        at = self.part.xp.flatnonzero((edges.src >= self.part.low) & (edges.src < self.part.high))
        return at, picked(edges, at)

    def _combined(self, src: Array, at: Array, outcome: Outcome, had: int, call: str = "") -> Outcome:
        """Return the outcome of a batch; this rank has that of the edges at the places ``at``.

        Edges of status ``had`` were there with a weight. ``call`` is what asks, see ``DividedTable.rows_of_all``.
        """
        part, size = self.part, len(src)
        status = self._merged(size, at, outcome.status)
        if self.weight_dtype is None or outcome.weight is None:
            return Outcome(status, None)
        if part.table is None:
            return Outcome(status, self._merged(size, at, bits(outcome.weight)).view(self.weight_dtype))
        rows = self._spread(size, at, outcome.weight)
        if part.stores[0] is self:  # of the in-edges only a rollback reads rows, and each rank those that it holds
            there = part.xp.flatnonzero(status == had)
            owner = part.owner_of(src[there])
            for rank, found in enumerate(part.table.rows_of_all(rows[there[owner == part.comm.rank]], call)):
                rows[there[owner == rank]] = found
        return Outcome(status, rows)

    def _spread(self, size: int, at: Array, values: Array) -> Array:
        whole = self.part.xp.zeros(size, values.dtype)
        whole[at] = values
        return whole

    def _merged(self, size: int, at: Array, values: Array) -> Array:
        return self.part.comm.merged(self._spread(size, at, values))

    def _weights_of_all(self, weight: Array, call: str) -> list[Array]:
        """Return the weights that each rank has; of edges with columns the rows that they have here."""
        table = self.part.table
        return self.part.comm.allgatherv(weight) if table is None else table.rows_of_all(weight, call)

    # -- changes -------------------------------------------------------------------------------------------------------

    def plan(self, num_edges: int) -> None:
        """Choose the layout for the number of edges of all ranks, see ``Store.plan``."""
        self.local.plan(num_edges)

    def reserve(self, num_edges: int) -> None:
        """Reserve on every rank, or raise on every rank."""
        with self.part.comm.alike():
            self.local.reserve(num_edges)

    def reserve_for(self, src: Array) -> None:
        """Reserve memory on every rank for the edges that it owns, or raise on every rank.

        For a large batch lack of memory is no error here: the batch is then applied in slices.
        """
        try:
            with self.part.comm.alike():
                self.local.reserve(len(self.part.owned(src)))
        except MemoryError:
            if len(src) < LEAST:
                raise

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Insert the rows of this rank; the outcome is that of the whole batch."""
        at, mine = self._mine(EdgeList(src, dst, weight))

        def some(edges: EdgeList) -> Outcome:
            self.local.plan(len(src))
            return self.local.insert(*edges)

        outcome = self._all_or_none(mine, some, self._take_out, sliced=len(src) >= LEAST)
        whole = self._outcome(src, at, outcome, REPLACED, lambda: self._take_out(mine, outcome))
        self._note(src, dst, whole.status == NEW, 1)
        return whole

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Delete the rows of this rank; the outcome is that of the whole batch."""
        at, mine = self._mine(EdgeList(src, dst))
        outcome = self._all_or_none(
            mine, lambda edges: self.local.delete(*edges[:2]), self._put_back, sliced=len(src) >= LEAST
        )
        whole = self._outcome(src, at, outcome, REMOVED, lambda: self._put_back(mine, outcome))
        self._note(src, dst, whole.status == REMOVED, -1)
        return whole

    def _all_or_none(
        self, edges: EdgeList, change: Callable[[EdgeList], Outcome], undo: Callable[[EdgeList, Outcome], None],
        *, sliced: bool,
    ) -> Outcome:  # fmt: skip
        """Change the rows of this rank, at once or, if a rank lacks the memory, by slices; all ranks do, or none."""
        for number in SLICES:
            done: list[tuple[Any, Outcome]] = []
            try:
                for at in slices_of(edges, number, self.part.xp):
                    with self.part.comm.alike():
                        done.append((at, change(picked(edges, at))))
                return joined_outcomes(len(edges.src), done, self.part.xp)
            except Exception as error:
                for at, outcome in reversed(done):
                    undo(picked(edges, at), outcome)
                if not (sliced and isinstance(error, MemoryError)) or number == SLICES[-1]:
                    raise
        raise AssertionError

    def _outcome(self, src: Array, at: Array, outcome: Outcome, had: int, undo: Callable[[], None]) -> Outcome:
        """Return the outcome of a change on all ranks; without memory for it, undo the change."""
        if self.part.table is not None:
            self.part.table.leave(outcome.weight[outcome.status == had])  # type: ignore[index]
        try:
            return self._combined(src, at, outcome, had)
        except Exception:
            undo()
            raise

    def _take_out(self, edges: EdgeList, outcome: Outcome) -> None:
        """Undo an insertion."""
        new, old = outcome.status == NEW, outcome.status == REPLACED
        self.local.delete(edges.src[new], edges.dst[new])
        if outcome.weight is not None:
            self.local.insert(edges.src[old], edges.dst[old], outcome.weight[old])

    def _put_back(self, edges: EdgeList, outcome: Outcome) -> None:
        """Undo a deletion."""
        gone = outcome.status == REMOVED
        self.local.insert(edges.src[gone], edges.dst[gone], None if outcome.weight is None else outcome.weight[gone])

    def _note(self, src: Array, dst: Array, changed: Array, sign: int) -> None:
        """Count arcs that came (1) or went (-1)."""
        count = self.part.xp.count_nonzero
        self._count += sign * int(count(changed))
        self._loops += sign * int(count(changed & (src == dst)))

    def delete_vertices(self, vertices: Array) -> None:
        """Delete the rows of vertices."""
        if self.part.table is not None:
            self.part.table.leave(self.local.adjacency(vertices).weight)
            self.part.table.keep_answers()
        with self.part.comm.alike():
            self.local.delete_vertices(vertices)
        held = self.part.comm.allgather((self.local.num_edges, self.local.num_loops()))
        self._count, self._loops = (sum(each) for each in zip(*held, strict=True))

    def resize(self, num_vertices: int) -> None:
        """Resize on every rank, or raise on every rank."""
        before = self.local.num_vertices
        try:
            with self.part.comm.alike():
                self.local.resize(num_vertices)
        except Exception:
            if self.local.num_vertices != before:
                self.local.resize(before)
            raise
        self.num_vertices = num_vertices
        self.part.resize(num_vertices)

    def compact(self) -> None:
        """Compact the local store."""
        with self.part.comm.alike():
            self.local.compact()

    def mark(self) -> None:
        """Mark the local store."""
        with self.part.comm.alike():
            self.local.mark()

    # -- questions -----------------------------------------------------------------------------------------------------

    @property
    def num_edges(self) -> int:
        """Number of arcs of all ranks; not collective."""
        return self._count

    def num_loops(self) -> int:
        """Return the number of self-loops of all ranks; not collective."""
        return self._loops

    @property
    def has_mark(self) -> bool:
        """Whether :meth:`mark` was called."""
        return self.local.has_mark

    def edges(self) -> EdgeList:
        """Gather all edges."""
        return self._gathered(self.local.edges(), "edges")

    def updated(self) -> EdgeList:
        """Gather the edges inserted since the mark."""
        return self._gathered(self.local.updated(), "updated")

    def _gathered(self, edges: EdgeList, call: str) -> EdgeList:
        if self.part.table is None or edges.weight is None:
            return edges.each(self.part.comm.joined)
        weight = self.part.xp.concatenate(self._weights_of_all(edges.weight, f"{call} {id(self)}"))
        return EdgeList(self.part.comm.joined(edges.src), self.part.comm.joined(edges.dst), weight)

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Look edges up at their owners."""
        self.part.comm.same({"src": src, "dst": dst})
        at, mine = self._mine(EdgeList(src, dst))
        found, weight = self.local.find(mine.src, mine.dst)
        whole = self._combined(src, at, Outcome(found.astype(np.uint8), weight), 1, "find")
        return whole.status.astype(bool), whole.weight

    def degrees(self) -> Array:
        """Gather the degrees."""
        own = self.local.degrees()[self.part.low : self.part.high]
        return self.part.comm.joined(own)

    def adjacency(self, vertices: Array) -> Adjacency:
        """Gather the rows of ``vertices``."""
        self.part.comm.same({"vertices": vertices})
        offsets, dst, weight = self.local.adjacency(vertices)
        xp, parts = self.part.xp, self.part.comm.allgatherv(offsets[1:] - offsets[:-1])
        total = xp.zeros(len(vertices) + 1, np.int64)
        total[1:] = xp.cumsum(sum(parts))
        owner = self.part.owner_of(vertices)
        dst = self._placed(self.part.comm.allgatherv(dst), parts, total, owner)
        if weight is not None:
            weight = self._placed(self._weights_of_all(weight, f"adjacency {id(self)}"), parts, total, owner)
        return Adjacency(total, dst, weight)

    def _placed(self, columns: list[Array], counts: list[Array], offsets: Array, owner: Array) -> Array:
        """Return a column of the rows of each rank, each row where it belongs."""
        made = self.part.xp.empty(int(offsets[-1]), columns[0].dtype)
        for rank, (part, count) in enumerate(zip(columns, counts, strict=True)):
            mine = owner == rank
            made[_places(self.part.xp, offsets[:-1][mine], count[mine])] = part
        return made

    def view(self) -> StoreView:
        """Raise: no rank holds all edges."""
        raise RequirementError(
            "this walks the storage of a graph whose edges are divided among processes: use operators, or kernels=False"
        )

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return the memory of the local store."""
        return self.local.memory()

    def copy_to(self, device: Device) -> Store:
        """Raise: the partition copies its stores."""
        raise RequirementError("the store of one process cannot be copied: copy the graph")

    def of_copy(self, part: Partition, local: Store) -> PartitionedStore:
        """Return the store of a copy of the graph with its own partition, over a copy of the local store."""
        other = PartitionedStore(part, local)
        other._count, other._loops = self._count, self._loops
        return other

    def options(self) -> dict[str, Any]:
        """Return the options of the local store."""
        return self.local.options()

    def check(self) -> None:
        """Check the local store, and that it holds rows of this rank only."""
        with self.part.comm.alike():
            self.local.check()
            degrees = self.local.degrees()
            outside = int(degrees[: self.part.low].sum()) + int(degrees[self.part.high :].sum())
            if outside:
                raise CheckFailed(f"rank {self.part.comm.rank} holds {outside} arcs of other ranks")


def _places(xp: Any, starts: Array, counts: Array) -> Array:
    """Return ``counts`` places from each of ``starts`` on, one after the other."""
    ends = xp.cumsum(counts)
    at = xp.arange(int(ends[-1]) if len(ends) else 0)
    row = xp.searchsorted(ends, at, side="right")
    return at + (starts - ends + counts)[row]
