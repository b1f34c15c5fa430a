"""The ranges of vertices that ranks own: where they are cut, and how rows move when ranges are cut again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.types import EdgeList
from suricate.intake.arrays import bits, by_owner, joined, on_host, picked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suricate.base.devices import Array
    from suricate.comm.protocol import Comm
    from suricate.placement.edge_columns import DividedTable
    from suricate.placement.ownership import Ownership
    from suricate.store import Store

BLOCK = 1 << 12  #: vertices whose weights are summed where they lie
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
    if any(one.any() for one in known):
        return cut(known, size)[0]
    return np.linspace(0, count, size + 1).astype(np.int64)


def cut(weights: Sequence[Array], size: int, comm: Comm | None = None) -> tuple[Array, int]:
    """Return bounds, ``int64[size + 1]``, of ``size`` ranges with about equal weights, and the largest weight of one.

    Range ``i`` is ``bounds[i]`` to ``bounds[i + 1]`` (exclusive). Weights are summed by blocks, where they lie; of the
    blocks in which ranges begin they are looked at one by one.

    ``weights``: integers by vertex, to be added up: those of all ranks of ``comm``, if given; collective then.
    """
    count = len(weights[0])
    sums = np.zeros(-(-count // BLOCK), np.int64)
    for weight in weights:
        whole = count // BLOCK
        sums[:whole] += on_host(weight[: whole * BLOCK].reshape(-1, BLOCK).sum(axis=1, dtype=np.int64))
        sums[whole:] += int(weight[whole * BLOCK :].sum(dtype=np.int64))
    if comm is not None:
        comm.reduce(sums, "sum")
    total = np.concatenate(([0], np.cumsum(sums)))
    wanted = total[-1] * np.arange(1, size) / size
    block = np.maximum(np.searchsorted(total, wanted, side="left") - 1, 0)
    inside = np.zeros((size - 1, 1 + BLOCK), np.int64)
    for row, begin in zip(inside, block * BLOCK, strict=True):
        for weight in weights:
            part = on_host(weight[begin : begin + BLOCK])
            row[1 : 1 + len(part)] += part
    if comm is not None:
        comm.reduce(inside, "sum")
    inside[:, 0], each = total[block], np.arange(size - 1)
    inside.cumsum(axis=1, out=inside)
    after = (inside < wanted[:, None]).sum(axis=1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(wanted - inside[each, before] <= inside[each, after] - wanted, before, after)
    ends = np.concatenate(([0], inside[each, nearest], total[-1:]))
    return np.concatenate(([0], block * BLOCK + nearest, [count])).astype(np.int64), int(np.diff(ends).max())


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
