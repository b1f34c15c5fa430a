"""The ranges of vertices that ranks own: where they are cut, and how rows move when ranges are cut again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.types import EdgeList
from suricate.intake.arrays import bits, by_owner, joined, picked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suricate.base.devices import Array
    from suricate.comm.protocol import Comm
    from suricate.placement.edge_columns import DividedTable
    from suricate.placement.ownership import Ownership
    from suricate.store import Store

SLICE = 1 << 22  #: arcs that a rank sends at a time when ranges are cut again
BYTES = 64  #: of an arc that a rank has got, with the tables over it
SHARE = 8  #: what a rank gets at a time takes at most ``memory_limit / SHARE`` bytes


def arcs_within(memory_limit: int | None, most: int) -> int:
    """Return how many arcs, at most ``most``, a rank with this memory limit may get at a time."""
    return most if memory_limit is None else max(1, min(most, memory_limit // (SHARE * BYTES)))


def first_bounds(count: int, size: int, hints: Sequence[Array | None]) -> Array:
    """Return bounds, ``int64[size + 1]``, of ranges of ``count`` vertices with equal sums of degrees, or equal lengths.

    ``hints``: expected out-degrees and in-degrees, by vertex; each may be None. Lengths are equal if both are.
    """
    known = [one.astype(np.int64).clip(0) for one in hints if one is not None and len(one) == count]
    weight = sum(known, np.zeros(count, np.int64))
    return cut(weight, size) if weight.any() else np.linspace(0, count, size + 1).astype(np.int64)


def cut(weight: Array, size: int) -> Array:
    """Return bounds, ``int64[size + 1]``, of ``size`` ranges of vertices with about equal sums of ``weight``.

    ``weight``: a number per vertex. Range ``i`` is ``bounds[i]`` to ``bounds[i + 1]`` (exclusive).
    """
    total = np.concatenate(([0], np.cumsum(weight)))
    wanted = total[-1] * np.arange(1, size) / size
    after = np.searchsorted(total, wanted, side="left")
    before = np.maximum(after - 1, 0)
    nearest = np.where(wanted - total[before] <= total[after] - wanted, before, after)
    return np.concatenate(([0], nearest, [len(weight)])).astype(np.int64)


def heaviest(weight: Array, bounds: Array) -> int:
    """Return the largest sum of ``weight``, a number per vertex, over one of the ranges that ``bounds`` cut."""
    total = np.concatenate(([0], np.cumsum(weight)))
    return int(np.diff(total[bounds]).max())


def move_rows(
    stores: tuple[Store, ...],
    comm: Comm,
    before: Ownership,
    ownership: Ownership,
    table: DividedTable | None,
    most: int,
) -> bool:
    """Move all rows to their owners by a new ``ownership``, up to ``most`` arcs of a rank at a time; collective.

    Returns False if a rank lacks the memory, and raises on all ranks another exception of a store; then everything is
    as it was, by the ownership ``before``.
    """
    done: list[Move] = []
    both = np.concatenate((before.ranges, ownership.ranges))
    try:
        for store in stores:
            with comm.alike():
                store.keep_rows(both)
        for move in [Move(store, comm, ownership, table, most) for store in stores]:
            done.append(move)
            move.make()
    except Exception as error:
        for move in done:
            move.undo()
        for store in stores:
            store.keep_rows(before.ranges)
        if not isinstance(error, MemoryError):
            raise
        return False
    for store in stores:
        store.keep_rows(ownership.ranges)
    return True


class Move:
    """The move of rows of one store to their new owners.

    The constructor exchanges the rows among the ranks; :meth:`make` changes the store. Edges inserted since
    ``Store.mark`` are still new after the move; rows that merely moved are not.

    Args:
        store: the store of this rank.
        comm: the communication.
        ownership: who will own which vertices.
        table: the columns of the edges, or None.
        most: how many arcs each rank sends at a time, at most ``SLICE``.

    Raises:
        CapacityError: on all ranks, if one lacks the memory.
    """

    def __init__(self, store: Store, comm: Comm, ownership: Ownership, table: DividedTable | None, most: int) -> None:
        self.store, self.comm, self.inserted, self.deleted, self.ownership = store, comm, False, False, ownership
        self.table, self.most = table, min(SLICE, most)
        if table is not None:
            table.is_stale = True
        with comm.alike():
            held = store.edges()
            updated = store.updated() if store.has_mark else picked(held, slice(0))
        self.leaving = picked(held, ~ownership.owns(held.src))
        self.arriving, self.updated = self._routed(self.leaving), self._routed(updated)
        with comm.alike():
            store.reserve(len(self.arriving.src))

    def make(self) -> None:
        """Insert the rows received, and delete those sent."""
        with self.comm.alike():
            self.store.insert(*self.arriving)
            self.inserted = True
        with self.comm.alike():
            self.store.delete(*self.leaving[:2])
            self.deleted = True
            if self.store.has_mark:
                self.store.delete(*self.updated[:2])
                self.store.mark()
                self.store.insert(*self.updated)

    def undo(self) -> None:
        """Restore the rows from before the move."""
        if self.deleted:
            self.store.insert(*self.leaving)
        if self.inserted:
            self.store.delete(*self.arriving[:2])

    def _routed(self, edges: EdgeList) -> EdgeList:
        """Send ``edges`` to the ranks that are to own them, slice by slice; return those received. Collective."""
        slices = range(0, max(self.comm.allgather(len(edges.src))), self.most)
        come = [self._sent(picked(edges, slice(begin, begin + self.most))) for begin in slices]
        return joined(self.store.device.xp, picked(edges, slice(0)), *come)

    def _sent(self, edges: EdgeList) -> EdgeList:
        """Send ``edges`` to the ranks that are to own them; return those received, in rank order. Collective."""
        xp = self.store.device.xp
        order, spans = by_owner(self.ownership.owner(edges.src), self.comm.size)
        src, dst, weight = picked(edges, order)

        def routed(column: Array, exchange: Any) -> Array:
            return xp.concatenate(exchange([column[low:high] for low, high in spans]))

        src, dst = routed(src, self.comm.exchange), routed(dst, self.comm.exchange)
        if weight is None:
            return EdgeList(src, dst, None)
        if self.table is not None:
            return EdgeList(src, dst, routed(weight, self.table.routed))
        return EdgeList(src, dst, routed(bits(weight), self.comm.exchange).view(weight.dtype))
