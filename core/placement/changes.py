"""Changes of a divided graph: of a batch that all ranks know, each applies to its stores the edges that it owns.

What became of each edge is combined in the call, so that every rank has the outcome of the whole batch. What fails on
one rank, for want of memory above all, is undone on the others, and all of them raise; before a change of two stores
every rank has reserved memory for both. A large batch for which a rank has not the memory at once goes by slices, of
which each needs less beside what is stored.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.types import NEW, REMOVED, REPLACED, Change, EdgeList, Outcome, ValidEdges
from suricate.graph.rollback import delete_from, in_parts, insert_into
from suricate.graph.stores import Stores
from suricate.graph.update import Given, Updater
from suricate.intake.arrays import bits, both_arcs, picked
from suricate.placement.split import own_edges, report
from suricate.store import checked_outcome
from suricate.store.slices import joined_outcomes, slices_of

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph.delta import Delta
    from suricate.parallel.partition import Partition
    from suricate.placement.store import PartitionedStore


LEAST = 1 << 12  #: edges of a batch that may go by slices
SLICES = 1, 16, 256  #: in so many, if fewer take more memory than a rank has


class GatheredEdges(ValidEdges):
    """Valid edges of all ranks, in arrays on the device of the graph.

    Attributes:
        counts: how many of them this rank holds by source and by destination, if known.
    """

    counts: tuple[int, int] | None = None


class Half:
    """The deletion, or the insertion, of a batch on this rank.

    Args:
        part: how the graph is divided.
        stores: the store of out-edges, or both; each has the rows of this rank in ``local``.
        edges: the edges of all ranks, as the first store takes them.
        deletion: whether they are deleted.

    Attributes:
        status: ``uint8``, one per edge of the batch; after :meth:`report` those of this rank's edges are set.
        before: the weights before the batch, likewise; None if they are rows of a table.
    """

    def __init__(self, part: Partition, stores: Sequence[PartitionedStore], edges: EdgeList, *, deletion: bool) -> None:
        self.part, self.stores, self.edges, self.size, self.deletion = part, stores, edges, len(edges.src), deletion
        self.wanted = REMOVED if deletion else NEW
        xp, dtype = part.xp, stores[0].weight_dtype
        given: tuple[int, int] | None = getattr(edges, "counts", None)
        self.own = own_edges(xp, edges, part.low, part.high, given, both=len(stores) > 1)
        self.status = xp.zeros(self.size, np.uint8)
        self.before: Array | None = None if dtype is None or part.table is not None else xp.zeros(self.size, dtype)
        self._done: list[list[tuple[Any, Outcome]]] = [[] for _ in stores]
        self.outcomes: list[Outcome] = []

    def reserve(self) -> None:
        """Have the stores reserve memory for an insertion."""
        for store, own in zip(self.stores, self.own, strict=True):
            store.local.plan(self.size)
            store.local.reserve(len(own.edges.src))

    def carry_out(self, number: int) -> None:
        """Change the rows of this rank in ``number`` slices."""
        for store, (edges, _), done in zip(self.stores, self.own, self._done, strict=True):
            for at in slices_of(edges, number, self.part.xp):
                done.append((at, self._change(store, picked(edges, at))))
        self.outcomes = [
            joined_outcomes(len(own.edges.src), done, self.part.xp)
            for own, done in zip(self.own, self._done, strict=True)
        ]

    def _change(self, store: PartitionedStore, edges: EdgeList) -> Outcome:
        if self.deletion:
            outcome = store.local.delete(edges.src, edges.dst)
        else:
            store.local.plan(self.size)
            outcome = store.local.insert(*edges)
        return checked_outcome(store.local, outcome, len(edges.src), deletion=self.deletion)

    def report(self, counts: Array) -> None:
        """Write the statuses of this rank's edges to :attr:`status`, and add the numbers of changes to ``counts``.

        ``counts`` is ``uint64[stores, 2]``, as for ``split.report``.
        """
        for k, (own, outcome) in enumerate(zip(self.own, self.outcomes, strict=True)):
            whole = None if k else self.status
            report(self.part.xp, own, outcome.status, self.wanted, whole, counts[k], loops=k == 0)
        if self.before is not None:
            bits(self.before)[self.own[0].at] = bits(self.outcomes[0].weight)

    def merge(self) -> None:
        """Combine what became of the edges of all ranks; collective."""
        self.status = self.part.comm.merged(self.status)
        if self.before is not None:
            self.before = self.part.comm.merged(bits(self.before)).view(self.before.dtype)

    def outcome(self) -> Outcome:
        """Return what became of all edges; collective where they have columns."""
        table, store = self.part.table, self.stores[0]
        if table is None:
            return Outcome(self.status, self.before)
        had = REMOVED if self.deletion else REPLACED
        for each in self.outcomes:
            table.leave(each.weight[each.status == had])  # type: ignore[index]
        at, rows = self.own[0].at, self.outcomes[0].weight
        assert at is not None
        assert rows is not None
        return Outcome(self.status, rows_of_batch(store, self.edges.src, at, rows, self.status == had))

    def undo(self, error: BaseException) -> None:
        """Have the stores of this rank as they were; note on ``error`` what fails."""
        for store, (edges, _), done in zip(self.stores, self.own, self._done, strict=True):
            for at, outcome in reversed(done):
                try:
                    self._take_back(store, picked(edges, at), outcome)
                except Exception as second:
                    error.add_note(f"undoing the change failed in a store as well: {second!r}")
            done.clear()
        self.outcomes = []
        self.status.fill(0)
        if self.before is not None:
            bits(self.before).fill(0)

    def _take_back(self, store: PartitionedStore, edges: EdgeList, outcome: Outcome) -> None:
        old = edges._replace(weight=outcome.weight)
        if self.deletion:
            in_parts(store.local, insert_into, old, outcome.status, REMOVED)
            return
        in_parts(store.local, delete_from, edges, outcome.status, NEW)
        if old.weight is not None:
            in_parts(store.local, insert_into, old, outcome.status, REPLACED)


def change(
    part: Partition, stores: Sequence[PartitionedStore], removed: EdgeList | None, added: EdgeList | None
) -> list[Outcome | None]:
    """Delete, then insert valid edges, the same on all ranks; return the outcome of each half. Collective.

    Args:
        part: how the graph is divided.
        stores: the store that takes the edges as they are; and the other one, if it is changed as well.
        removed: edges to delete, on the device, or None.
        added: edges to insert, on the device, or None.

    Raises:
        Exception: on all ranks, the exception of one of them; nothing has changed.
    """
    halves: list[Half] = []
    sliced = max(len(edges.src) for edges in (removed, added) if edges is not None) >= LEAST
    part.held = None
    with part.comm.alike():
        held = [store.held for store in part.stores]
        for edges, deletion in ((removed, True), (added, False)):
            if edges is not None:
                halves.append(Half(part, stores, edges, deletion=deletion))
        if added is not None and (len(stores) > 1 or removed is not None):
            try:
                halves[-1].reserve()
            except MemoryError:
                if not sliced:
                    raise
    for number in SLICES:
        try:
            everybody = _carry_out(part, stores, halves, number, sum(held))
        except BaseException as error:
            _undo(halves, error)
            if not (sliced and isinstance(error, MemoryError)) or number == SLICES[-1]:
                raise
        else:
            break
    try:
        found = [half.outcome() for half in halves]
    except BaseException as error:
        _undo(halves, error)
        raise
    _note(part, stores, held, everybody)
    return [None if removed is None else found[0], None if added is None else found[-1]]


def _carry_out(
    part: Partition, stores: Sequence[PartitionedStore], halves: list[Half], number: int, held: int
) -> list[tuple[int, Any]]:
    """Change the stores of all ranks, and combine what became of the edges; or raise on all.

    Returns for each rank the arcs that it ``held`` before, and ``[stores, 2]``: how many arcs came (or went, if
    negative), and self-loops among them, the latter by the edges of the first store.
    """
    problem: Exception | None = None
    counts = part.xp.zeros((len(halves), len(stores), 2), np.uint64)
    try:
        for half in halves:
            half.carry_out(number)
        for half, each in zip(halves, counts, strict=True):
            half.report(each)
    except Exception as error:
        problem = error
    for half in halves:
        half.merge()
    signs = [-1 if half.deletion else 1 for half in halves]
    mine = np.tensordot(signs, stores[0].device.to_numpy(counts).astype(np.int64), 1)
    return part.comm.together(problem, (held, mine.tolist()))


def _undo(halves: list[Half], error: BaseException) -> None:
    traceback.clear_frames(error.__traceback__)  # undoing may need the memory that the failed call still holds
    for half in reversed(halves):
        half.undo(error)


def _note(
    part: Partition, stores: Sequence[PartitionedStore], held: list[int], everybody: list[tuple[int, Any]]
) -> None:
    """Count the arcs of all ranks; ``held`` are those that each store of this rank had, ``everybody``: as above."""
    changed = np.array([each for _, each in everybody])
    for k, store in enumerate(stores):
        store.note(int(changed[:, k, 0].sum()), int(changed[:, 0, 1].sum()))
        store.held = held[part.stores.index(store)] + int(changed[part.comm.rank, k, 0])
    part.held = [before + int(arcs) for (before, _), arcs in zip(everybody, changed[:, :, 0].sum(axis=1), strict=True)]


def rows_of_batch(
    store: PartitionedStore, src: Array, at: Array, own: Array, there: Array, call: str = ""
) -> Array:  # fmt: skip
    """Return, for each edge of a batch, its row in the table of this rank; collective.

    Args:
        store: the store that holds the edges.
        src: sources of the batch.
        at: positions of this rank's edges in the batch.
        own: their rows.
        there: which edges of the batch have a row, ``bool``.
        call: the call that needs them, see ``DividedTable.rows_of_all``.
    """
    part, xp = store.part, store.part.xp
    rows = xp.zeros(len(src), own.dtype)
    rows[at] = own
    if part.stores[0] is store:  # of the in-edges only a rollback reads rows, and each rank those that it holds
        assert part.table is not None
        places = xp.flatnonzero(there)
        owner = part.owner_of(src[places])
        for rank, found in enumerate(part.table.rows_of_all(rows[places[owner == part.comm.rank]], call)):
            rows[places[owner == rank]] = found
    return rows


class DividedStores(Stores):
    """Changes the stores of a divided graph; see :class:`suricate.graph.stores.Stores`."""

    def __init__(self, part: Partition, *, symmetric: bool) -> None:
        super().__init__(part.stores, symmetric=symmetric)
        self.part = part

    def change(
        self, removed: EdgeList | None, added: EdgeList | None, guard: Array | None = None
    ) -> tuple[Change | None, Change | None]:
        """Delete, then insert valid edges, the same on all ranks, given on the stores' device."""
        outcomes = change(self.part, self.part.stores, removed, added)
        gone, new = (
            None if edges is None or outcome is None else Change(EdgeList(*edges), outcome, self.symmetric)
            for edges, outcome in zip((removed, added), outcomes, strict=True)
        )
        return gone, new


class DividedUpdater(Updater):
    """Applies batches to a divided graph; what ranks have gathered is not checked again."""

    def __init__(self, part: Partition, *given: Any) -> None:
        super().__init__(part.stores, *given)
        self._all = DividedStores(part, symmetric=self._symmetric)

    def apply(self, delete: Given | None, insert: Given | None, parts: tuple[int, int] = (0, 0)) -> Delta:
        """See :meth:`suricate.graph.update.Updater.apply`."""
        batch = delete, insert
        if not any(isinstance(one, GatheredEdges) for one in batch) or not all(
            one is None or isinstance(one, GatheredEdges) for one in batch
        ):
            return super().apply(delete, insert, parts)
        return self._change(self._arcs(delete), self._arcs(insert))

    def _arcs(self, edges: Any) -> EdgeList | None:
        """Return gathered edges as the store of out-edges takes them."""
        if edges is None or not self._symmetric:
            return edges
        arcs = GatheredEdges(*both_arcs(self.device.xp, edges))
        arcs.counts = edges.counts
        return arcs

    @property
    def had_loops(self) -> bool:
        """Whether the graph holds self-loops, the same on all ranks."""
        return self.out.num_loops() > 0
