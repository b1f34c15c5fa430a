"""Changes of a divided graph: all ranks have the whole batch, and each applies the edges that it owns to its stores.

The ranks combine the status of every edge, so that each has the outcome of the whole batch. If one rank fails, mostly
for lack of memory, the change is undone on the others, and all raise; before a batch with deletions and insertions all
ranks pick their edges and reserve memory. A large batch for which a rank lacks the memory is applied in slices, which
need less memory each.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import module_of
from suricate.base.types import NEW, REMOVED, REPLACED, Change, EdgeList, Outcome, ValidEdges
from suricate.graph.rollback import beyond_limit, delete_from, in_parts, insert_into, memory_to_undo
from suricate.graph.stores import Stores
from suricate.graph.update import Given, Updater
from suricate.intake.arrays import both_arcs, picked
from suricate.placement.edge_columns import SMALL
from suricate.placement.results import DELETED, INSERTED, HostResults, Outcomes, Results, Tally
from suricate.placement.split import OwnEdges, Picking, own_at
from suricate.store import Store, checked_outcome
from suricate.store.slices import joined_outcomes, slices_of

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph.delta import Delta
    from suricate.placement.placement import Placement
    from suricate.placement.store import PartitionedStore


LEAST = 1 << 12  #: edges of a batch that may go by slices
SLICES = 1, 16, 256  #: numbers of slices, tried in turn while they take more memory than a rank has
ALL = (slice(None),)  #: the only slice


class GatheredEdges(ValidEdges):
    """Valid edges of all ranks, on the device; ``own``: how many this rank holds by source, and by destination."""

    own: tuple[int, int] | None = None


class Half:
    """The deletion, or the insertion, of a batch, and its application to the stores of this rank.

    ``edges`` are those of all ranks, with the sources and destinations of the first store. If they lie on a device, the
    constructor queues a count of the edges that this rank holds. ``by_host``: as of :class:`Batch`.

    Attributes:
        owners: for each store, who holds the edges, if ``by_host``; then :meth:`pick` also sets
        order: the places of the first store's edges, in the order of the ranks that hold them.
        own: for each store the edges that this rank holds, on its device; empty before :meth:`pick`.
    """

    def __init__(
        self, part: Placement, stores: Sequence[PartitionedStore], edges: EdgeList, *, deletion: bool, by_host: bool
    ) -> None:  # fmt: skip
        self.part, self.stores, self.edges, self.size, self.deletion = part, stores, edges, len(edges.src), deletion
        self.wanted, self.number = (REMOVED, DELETED) if deletion else (NEW, INSERTED)
        known: tuple[int, int] | None = getattr(edges, "own", None)
        both, owned = len(stores) > 1, part.ownership
        self.owners = [owned.owner(ends) for ends in edges[: 1 + both]] if by_host else []
        self._picking = None if by_host else Picking(stores[0].device, edges, owned, both=both, known=known)
        self.order: Array = None
        self.own: list[OwnEdges] = []
        self._done: list[list[tuple[Any, Outcome]]] = [[] for _ in stores]
        self.outcomes: list[Outcome] = []

    def pick(self) -> None:
        """Set :attr:`own` to the edges of the batch that this rank holds; waits until they are counted."""
        if self._picking is not None:
            self.own = self._picking.own(self.part.comm.wait)
            return
        comm, owner = self.part.comm, self.owners[0]
        self.order = owner.astype(np.uint16).argsort(kind="stable")  # a radix sort
        counts = np.bincount(owner, minlength=comm.size).tolist()
        begin = sum(counts[: comm.rank])
        at = [self.order[begin : begin + counts[comm.rank]]]
        if len(self.owners) > 1:
            at.append((self.owners[1] == comm.rank).nonzero()[0])
        self.own = own_at(self.edges, at, self.part.shown if self.stores[0].device.is_cuda else picked)

    def reserve(self) -> None:
        """Reserve memory in the stores of this rank for the insertion of its edges; call :meth:`pick` before."""
        for store, own in zip(self.stores, self.own, strict=True):
            store.local.plan(self.size)
            store.local.reserve(len(own.edges.src))

    def carry_out(self, number: int) -> None:
        """Apply the edges of this rank to its stores, in ``number`` slices."""
        for store, (edges, _), done in zip(self.stores, self.own, self._done, strict=True):
            for at in ALL if number == 1 else slices_of(edges, number, self.part.xp):
                done.append((at, self._change(store, edges if number == 1 else picked(edges, at))))
            self.outcomes.append(joined_outcomes(len(edges.src), done, self.part.xp))

    def _change(self, store: PartitionedStore, edges: EdgeList) -> Outcome:
        local = store.local
        if self.owners and local.device.is_cuda and store is self.stores[0] and local.weight_dtype is None:
            # for this call: a copy of the statuses to the host takes longer than to write them there
            local.new_outcome = self.part.shown.outcome  # type: ignore[method-assign]
        try:
            if self.deletion:
                outcome = local.delete(edges.src, edges.dst)
            else:
                local.plan(self.size)
                outcome = local.insert(*edges)
        finally:
            vars(local).pop("new_outcome", None)
        return checked_outcome(local, outcome, len(edges.src), deletion=self.deletion)

    def outcome(self, results: Outcomes) -> Outcome:
        """Return the outcome of all edges of the batch, from merged results; collective if edges have columns."""
        table, store, status = self.part.table, self.stores[0], results.status(self.number)
        if table is None:
            return Outcome(status, results.before(self.number))
        had = REMOVED if self.deletion else REPLACED
        for each in self.outcomes:
            table.leave(each.weight[each.status == had])  # type: ignore[index]
        at, rows = self.own[0].at, self.outcomes[0].weight
        assert at is not None
        assert rows is not None
        return Outcome(status, rows_of_batch(store, self.edges.src, at, rows, status == had))

    def undo(self, error: BaseException) -> bool:
        """Undo what was done to this rank's stores; return whether that worked. Failures become notes of ``error``."""
        whole = True
        for store, (edges, _), done in zip(self.stores, self.own, self._done, strict=True):
            for at, outcome in reversed(done):
                try:
                    self._roll_back(store, picked(edges, at), outcome)
                except Exception as second:
                    whole = False
                    error.add_note(f"undoing the change failed in a store as well: {second!r}")
            done.clear()
        self.outcomes = []
        return whole

    def _roll_back(self, store: PartitionedStore, edges: EdgeList, outcome: Outcome) -> None:
        old = edges._replace(weight=outcome.weight)
        if self.deletion:
            in_parts(store.local, insert_into, old, outcome.status, REMOVED)
            return
        in_parts(store.local, delete_from, edges, outcome.status, NEW)
        if old.weight is not None:
            in_parts(store.local, insert_into, old, outcome.status, REPLACED)


class Batch:
    """A batch, as this rank applies it: its halves (deletion, insertion), and their results on all ranks.

    Attributes:
        sliced: whether the batch may be applied in slices if memory is short: then a failed reservation is no error.
        sizes: of both halves. deletes_and_inserts: whether it has both.
        by_host: whether it lies on the host, on CUDA too, and is small: the ranks meet once when it is applied.
    """

    def __init__(
        self, part: Placement, stores: Sequence[PartitionedStore], removed: EdgeList | None, added: EdgeList | None
    ) -> None:
        self.part, self._stores, self._given = part, stores, (removed, added)
        self.sizes = [0 if removed is None else len(removed.src), 0 if added is None else len(added.src)]
        self.sliced, self.deletes_and_inserts = max(self.sizes) >= LEAST, removed is not None and added is not None
        edges = removed or added
        is_few = stores[0].device.is_cuda or sum(self.sizes) <= 2 * SMALL * part.comm.size
        self.by_host = is_few and edges is not None and isinstance(edges.src, np.ndarray)
        self.halves: list[Half] = []
        self.results: Outcomes
        self._held = 0  # arcs before it
        self._is_prepared = False

    def prepare(self) -> None:
        """Pick the edges of this rank and, if the change has several steps, reserve memory; a second call does nothing.

        Waits until the device has counted the edges, unless their number was given.
        """
        if self._is_prepared:
            return
        self.part.shown.begin()
        part, stores, (removed, added) = self.part, self._stores, self._given
        part.count_arcs()
        self._held = sum([store.held for store in part.stores]) if part.held is None else part.held[part.comm.rank]
        kind, dtype = HostResults if self.by_host else Results, stores[0].weight_dtype
        self.results = kind(part, self.sizes, None if part.table is not None else dtype)
        if removed is not None:
            self.halves.append(Half(part, stores, removed, deletion=True, by_host=self.by_host))
        if added is not None:
            self.halves.append(Half(part, stores, added, deletion=False, by_host=self.by_host))
        for half in self.halves:
            half.pick()
        if added is not None and (len(stores) > 1 or removed is not None):
            try:
                self.halves[-1].reserve()
            except MemoryError:
                if not self.sliced:
                    raise
        self._is_prepared = True

    def carry_out(self, number: int) -> list[int]:
        """Change all ranks' stores, in slices, or raise on all; return how many arcs each rank held before."""
        problem: Exception | None = None
        told = None
        try:
            self.prepare()
            for half in self.halves:
                half.carry_out(number)
            told = self.results.report(self.halves)
        except Exception as error:
            problem = error
        everybody = self.part.comm.together(problem, (self._held, told))  # while a device is busy with the stores
        held, told_by_all = zip(*everybody, strict=True)
        self.results.merge(told_by_all)
        return [*held]

    def give_back(self) -> None:
        """Have the stores give back what a batch that was refused had them reserve; collective.

        Then they reserve memory for this batch, if they have it. For a moment they may pass their memory limits.
        """
        owns = self.halves[-1].own if self.halves else []
        with self.part.comm.alike():
            for store, own in zip_longest(self._stores, owns):
                _compact(store.local)
                with beyond_limit(store.local), suppress(MemoryError):
                    store.local.reserve(0 if own is None else len(own.edges.src))
                try:
                    store.local.admit(0)
                except MemoryError:
                    _compact(store.local)

    def undo(self, error: BaseException) -> bool:
        """Undo what was done to this rank's stores; return whether that worked. Failures become notes of ``error``."""
        self.halves = self.halves if self._is_prepared else []
        self.part.shown.busy = True  # also if it was waited for before: what undoes the change reads it again
        with memory_to_undo(error):
            undone = [half.undo(error) for half in reversed(self.halves)]
        return all(undone)


def change(
    part: Placement, stores: Sequence[PartitionedStore], removed: EdgeList | None, added: EdgeList | None
) -> list[Outcome | None]:
    """Delete ``removed``, then insert ``added``, valid edges that are the same on all ranks; collective.

    ``stores``: one that takes the edges as they are and, to change both, the one of in-edges, which takes them turned.
    Returns the outcomes of the deletion and of the insertion, None for None. Raises on all ranks the exception of one
    of them; then nothing has changed.
    """
    batch = Batch(part, stores, removed, added)
    try:
        before = _carried_out(batch)
    except MemoryError:
        if not part.refused:
            part.refused = True
            raise
        batch.give_back()
        batch = Batch(part, stores, removed, added)
        before = _carried_out(batch)
        part.refused = False
    results = batch.results
    try:
        found = [half.outcome(results) for half in batch.halves]
    except BaseException as error:
        batch.undo(error)
        raise
    gone, come = batch.sizes
    part.note(Tally(results, stores, before, (gone * len(stores), come * len(stores))))
    return [None if removed is None else found[0], None if added is None else found[-1]]


def _compact(store: Store) -> None:
    """Compact a store, which needs memory for that, for a moment without a memory limit."""
    limit, store.memory_limit = store.memory_limit, None
    try:
        store.compact()
    finally:
        store.memory_limit = limit


def _carried_out(batch: Batch) -> list[int]:
    """Apply a batch, in slices if need be; return what :meth:`Batch.carry_out` does, or raise as :func:`change`."""
    comm = batch.part.comm
    if batch.deletes_and_inserts:  # to undo a deletion takes memory, which insertions may have taken
        with comm.alike():
            batch.prepare()
    for number in SLICES:
        try:
            return batch.carry_out(number)
        except BaseException as error:
            undone = batch.undo(error)
            if not (batch.sliced and isinstance(error, MemoryError)) or number == SLICES[-1]:
                raise
            if not all(everywhere := comm.allgather(undone)):  # edges that are lost must not be passed over
                error.add_note(f"undoing the change failed on rank {everywhere.index(False)}")
                raise
    raise AssertionError("the last number of slices returns or raises")


def rows_of_batch(
    store: PartitionedStore, src: Array, at: Array, own: Array, there: Array, call: str = ""
) -> Array:  # fmt: skip
    """Return, for each edge of a batch, its row in the table of this rank; collective.

    Edges of other ranks get new rows with copies of their values, called guests. For the store of in-edges only the
    rows of this rank's edges are returned, 0 for others. ``at``, ``own``: places and rows of this rank's edges;
    ``there``: which edges of the batch have rows; ``call``: see ``DividedTable.rows_of_all``.
    """
    part, xp = store.part, store.part.xp
    rows = xp.zeros(len(src), own.dtype)
    rows[at] = own
    if part.stores[0] is store:  # of the in-edges only a rollback reads rows, and each rank those that it holds
        assert part.table is not None
        places = xp.flatnonzero(there)
        owner = part.owner_of(src[places])
        counts = np.bincount(owner, minlength=part.comm.size).tolist() if xp is np else None
        for rank, found in enumerate(part.table.rows_of_all(rows[places[owner == part.comm.rank]], call, counts)):
            rows[places[owner == rank]] = found
    return rows


class DividedStores(Stores):
    """Changes the stores of a divided graph on all ranks, or none; ``symmetric``: batches have both arcs of edges."""

    def __init__(self, part: Placement, *, symmetric: bool) -> None:
        super().__init__(part.stores, symmetric=symmetric)
        self.part = part

    def change(
        self, removed: EdgeList | None, added: EdgeList | None, guard: Array | None = None
    ) -> tuple[Change | None, Change | None]:
        """Delete ``removed``, then insert ``added``, as :func:`change`; return both changes, None for None."""
        outcomes = change(self.part, self.part.stores, removed, added)
        gone, new = [
            None if edges is None or outcome is None else Change(EdgeList(*edges), outcome, self.symmetric)
            for edges, outcome in zip((removed, added), outcomes, strict=True)
        ]
        return gone, new


class DividedUpdater(Updater):
    """Applies batches to a divided graph; edges that are :class:`GatheredEdges` are not validated again."""

    def __init__(self, part: Placement, *given: Any) -> None:
        super().__init__(part.stores, *given)
        self._all = DividedStores(part, symmetric=self._symmetric)

    def apply(self, delete: Given | None, insert: Given | None, parts: tuple[int, int] = (0, 0)) -> Delta:
        """Delete the edges ``delete``, then insert ``insert``, each ``(src, dst, weight)`` or None; return the delta.

        ``parts``: what messages call the two, as indices of ``PARTS``.
        """
        self.count_arcs()  # before the batch, as all ranks do, so that the bound stays near
        if {type(delete), type(insert)} - {type(None)} != {GatheredEdges}:
            return super().apply(delete, insert, parts)
        gone, new = self._arcs(delete), self._arcs(insert)
        edges = gone or new
        by_host = self.device.is_cuda and edges is not None and isinstance(edges.src, np.ndarray)
        return self._change(gone, new, carry_out=partial(self._all.change, gone, new) if by_host else None)

    def undo_growth(self, num_vertices: int, error: BaseException) -> None:
        """Resize all stores back, as all ranks do after an exception; one that ends has nobody to do it with."""
        if isinstance(error, Exception):
            super().undo_growth(num_vertices, error)

    def _arcs(self, edges: Any) -> EdgeList | None:
        """Return a half of a batch as arcs for the store of out-edges, both of an undirected edge; None for None."""
        if edges is None or not self._symmetric:
            return edges
        arcs = GatheredEdges(*both_arcs(module_of(edges.src), edges))
        if edges.own is not None:  # the ends of an edge are the sources of its two arcs
            arcs.own = (sum(edges.own),) * 2
        return arcs

    def count_edges(self) -> int:
        """Return the number of edges, an undirected one once; not collective.

        The bound :meth:`most_arcs` stays as it is, since it must be the same on all ranks.
        """
        arcs = self.out.num_edges
        return (arcs + self._count_loops()) // 2 if self._symmetric else arcs

    def most_arcs(self) -> int:
        """Return an upper bound of the number of arcs, without waiting for a device; the same on all ranks."""
        return self._counted + self._added if self.device.is_cuda else self.out.num_edges

    @property
    def had_loops(self) -> bool:
        """Whether the graph holds self-loops, the same on all ranks."""
        return self.out.num_loops() > 0
