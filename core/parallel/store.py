"""A store whose rows are divided among ranks: a backend's store holds those of the owner, and outcomes are gathered.

Batches are the same on every rank: each applies the rows that it owns, and statuses and old weights are combined in the
call, so that every rank has the outcome of the whole batch. There is one agreement per batch, after every rank has
reserved memory and before the first write: a rank that is out of memory has all of them raise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import CapacityError, CheckFailed, RequirementError
from suricate.base.types import NEW, REMOVED, REPLACED, Adjacency, EdgeList, Outcome, StoreView
from suricate.store import Store

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.parallel.partition import Partition


class PartitionedStore(Store):
    """The rows of this rank, in a store of any backend, and the questions about rows of others.

    Args:
        part: who owns what.
        local: an empty store, of all vertices.
    """

    def __init__(self, part: Partition, local: Store) -> None:
        self.part, self.local = part, local
        self.num_vertices, self.device, self.weight_dtype = local.num_vertices, local.device, local.weight_dtype
        self.memory_limit = local.memory_limit
        self.name = local.name  # type: ignore[misc]
        self._count, self._loops = 0, 0  # arcs and self-loops of all ranks

    def _mine(self, edges: EdgeList) -> tuple[Array, EdgeList]:
        at = np.flatnonzero((edges.src >= self.part.low) & (edges.src < self.part.high))
        return at, EdgeList(*(None if column is None else column[at] for column in edges))

    def _combined(self, at: Array, outcome: Outcome, size: int) -> Outcome:
        """Return the outcome of a whole batch, of whose edges those ``at`` are of this rank."""
        status = np.zeros(size, np.uint8)
        weight = None if self.weight_dtype is None else np.zeros(size, self.weight_dtype)
        comm = self.part.comm
        places = comm.allgatherv(at)
        for one, part in zip(places, comm.allgatherv(outcome.status), strict=True):
            status[one] = part
        if weight is not None and outcome.weight is not None:
            for one, part in zip(places, comm.allgatherv(outcome.weight), strict=True):
                weight[one] = part
        return Outcome(status, weight)

    # -- changes -------------------------------------------------------------------------------------------------------

    def reserve(self, num_edges: int) -> None:
        """Reserve on every rank, or raise on every rank."""
        self.part.together(_failure(lambda: self.local.reserve(num_edges)))

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Insert the rows of this rank; the outcome is that of the whole batch."""
        at, mine = self._mine(EdgeList(src, dst, weight))
        self.reserve(len(at))
        done: list[Outcome] = []
        problem = _failure(lambda: done.append(self.local.insert(*mine)))
        try:
            self.part.together(problem)
        except MemoryError:
            if done:
                self._undo(mine, done[0])
            raise
        whole = self._combined(at, done[0], len(src))
        self._note(src, dst, whole.status == NEW, 1)
        return whole

    def _undo(self, edges: EdgeList, outcome: Outcome) -> None:
        """Take back an insertion that another rank could not make."""
        new, old = outcome.status == NEW, outcome.status == REPLACED
        self.local.delete(edges.src[new], edges.dst[new])
        if outcome.weight is not None:
            self.local.insert(edges.src[old], edges.dst[old], outcome.weight[old])

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Delete the rows of this rank; the outcome is that of the whole batch."""
        at, mine = self._mine(EdgeList(src, dst))
        whole = self._combined(at, self.local.delete(mine.src, mine.dst), len(src))
        self._note(src, dst, whole.status == REMOVED, -1)
        return whole

    def _note(self, src: Array, dst: Array, changed: Array, sign: int) -> None:
        """Count arcs that came (1) or went (-1)."""
        self._count += sign * int(np.count_nonzero(changed))
        self._loops += sign * int(np.count_nonzero(changed & (src == dst)))

    def delete_vertices(self, vertices: Array) -> None:
        """Delete the rows of vertices."""
        self.local.delete_vertices(vertices)
        held = self.part.comm.allgather((self.local.num_edges, self.local.num_loops()))
        self._count, self._loops = (sum(each) for each in zip(*held, strict=True))

    def resize(self, num_vertices: int) -> None:
        """Resize on every rank, or raise on every rank."""
        before = self.local.num_vertices
        problem = _failure(lambda: self.local.resize(num_vertices))
        try:
            self.part.together(problem)
        except MemoryError:
            if self.local.num_vertices != before:
                self.local.resize(before)
            raise
        self.num_vertices = num_vertices
        self.part.resize(num_vertices)

    def take_rows(self, edges: EdgeList) -> None:
        """Hold exactly the rows of ``edges``, all edges of all ranks, that this rank owns by new bounds."""
        wanted = self._mine(edges)[1]
        held = self.local.edges()
        foreign = (held.src < self.part.low) | (held.src >= self.part.high)
        self.local.delete(held.src[foreign], held.dst[foreign])
        self.local.insert(*wanted)

    def compact(self) -> None:
        """Compact the local store."""
        self.local.compact()

    def mark(self) -> None:
        """Mark the local store."""
        self.local.mark()

    # -- questions -----------------------------------------------------------------------------------------------------

    @property
    def num_edges(self) -> int:
        """Number of arcs of all ranks; not collective."""
        return self._count

    def num_loops(self) -> int:
        """Return that of all ranks; not collective."""
        return self._loops

    @property
    def has_mark(self) -> bool:
        """Whether :meth:`mark` was called."""
        return self.local.has_mark

    def edges(self) -> EdgeList:
        """Gather all edges."""
        return self._gathered(self.local.edges())

    def updated(self) -> EdgeList:
        """Gather the edges inserted since the mark."""
        return self._gathered(self.local.updated())

    def _gathered(self, edges: EdgeList) -> EdgeList:
        comm = self.part.comm
        return EdgeList(*(None if part is None else np.concatenate(comm.allgatherv(part)) for part in edges))

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Ask the owners."""
        at, mine = self._mine(EdgeList(src, dst))
        found, weight = self.local.find(mine.src, mine.dst)
        whole = self._combined(at, Outcome(found.astype(np.uint8), weight), len(src))
        return whole.status.astype(bool), whole.weight

    def degrees(self) -> Array:
        """Gather the degrees."""
        own = self.local.degrees()[self.part.low : self.part.high]
        return np.concatenate(self.part.comm.allgatherv(own))

    def adjacency(self, vertices: Array) -> Adjacency:
        """Gather the rows of ``vertices``."""
        offsets, dst, weight = self.local.adjacency(vertices)
        comm, counts = self.part.comm, np.diff(offsets)
        parts = comm.allgatherv(counts)
        total = np.concatenate(([0], np.cumsum(np.sum(parts, axis=0)))).astype(np.int64)
        owner = np.searchsorted(self.part.bounds, vertices, side="right") - 1
        dst, weight = (
            None if column is None else self._placed(column, parts, total, owner) for column in (dst, weight)
        )
        assert dst is not None
        return Adjacency(total, dst, weight)

    def _placed(self, column: Array, counts: list[Array], offsets: Array, owner: Array) -> Array:
        """Gather a column of rows, and put each row where it belongs."""
        made = np.empty(int(offsets[-1]), column.dtype)
        for rank, (part, count) in enumerate(zip(self.part.comm.allgatherv(column), counts, strict=True)):
            mine = owner == rank
            made[np.repeat(offsets[:-1][mine], count[mine]) + _ranks_within(count[mine])] = part
        return made

    def view(self) -> StoreView:
        """Refuse: no rank holds all edges."""
        raise RequirementError(
            "this walks the storage of a graph whose edges are divided among processes: use operators, or kernels=False"
        )

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return that of the local store."""
        return self.local.memory()

    def copy_to(self, device: Device) -> Store:
        """Refuse: a copy would be divided as well."""
        raise RequirementError("a graph of several processes cannot be copied: save it, or gather its edges()")

    def options(self) -> dict[str, Any]:
        """Return those of the local store."""
        return self.local.options()

    def check(self) -> None:
        """Check the local store, and that it holds rows of this rank only."""
        self.local.check()
        degrees = self.local.degrees()
        outside = int(degrees[: self.part.low].sum()) + int(degrees[self.part.high :].sum())
        if outside:
            raise CheckFailed(f"rank {self.part.comm.rank} holds {outside} arcs of other ranks")


def _failure(work: Callable[[], Any]) -> MemoryError | None:
    """Do ``work``; return the error if memory did not suffice."""
    try:
        work()
    except MemoryError as error:
        return error if isinstance(error, CapacityError) else CapacityError(str(error))
    return None


def _ranks_within(counts: Array) -> Array:
    """Return 0, 1, ... for each of the given counts, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
