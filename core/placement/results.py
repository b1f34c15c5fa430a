"""The outcome of a batch on all ranks: each writes its part into one array, which a single collective combines.

On CUDA no call waits for the numbers of inserted and deleted arcs: they are copied to the host after the batch, and
read when needed, by the next batch at the latest. Of a batch on the host the outcomes go along with another meeting.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.comm.messages import bytes_of, of_bytes
from suricate.cuda.pinned import PinnedCounters
from suricate.intake.arrays import bits
from suricate.placement.split import report
from suricate.store import STATUS

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.placement.changes import Half
    from suricate.placement.placement import Placement
    from suricate.placement.store import PartitionedStore

DELETED, INSERTED = 0, 1  #: the halves of a batch
WORD = 8  #: bytes


class Results:
    """The outcome of a batch on all ranks, in one array of 64-bit words, which :meth:`merge` sums over the ranks.

    Each rank writes the words of its own edges, which stay 0 on all others. ``sizes``: the numbers of edges to delete
    and to insert; ``dtype``: of weights that the batch replaces or removes, or None.
    """

    def __init__(self, part: Placement, sizes: Sequence[int], dtype: np.dtype | None) -> None:
        self.part, self._sizes, self._dtype = part, sizes, dtype
        self._shape = part.comm.size, len(sizes), len(part.stores), 2
        self._counted = end = prod(self._shape)
        self._begins = list[tuple[int, int]]()  # in words: of weights, and of statuses
        width = 0 if dtype is None else dtype.itemsize
        for size in sizes:
            status = end + -(-size * width // WORD)
            self._begins.append((end, status))
            end = status + -(-size // WORD)
        self._words = part.xp.empty(end, np.uint64)

    def report(self, halves: Sequence[Half]) -> None:
        """Write the statuses of this rank's edges, and the numbers of changes."""
        if self.part.stores[0].device.is_cuda:
            self._words.data.memset_async(0, self._words.nbytes)
        else:
            self._words.fill(0)
        for half in halves:
            status, before = self.status(half.number), self.before(half.number)
            counts = self.counts[self.part.comm.rank, half.number]
            for k, (store, own, outcome) in enumerate(zip(half.stores, half.own, half.outcomes, strict=True)):
                whole, at = None if k else status, self.part.stores.index(store)
                report(self.part.xp, own, outcome.status, half.wanted, whole, counts[at], loops=k == 0)
            if before is not None:
                bits(before)[half.own[0].at] = bits(half.outcomes[0].weight)

    def merge(self, told: Any) -> None:
        """Replace the words by their sum over all ranks, so that each has the outcome of all edges; collective."""
        self._words = self.part.comm.merged(self._words, agreed=True)

    @property
    def counts(self) -> Array:
        """``uint64[ranks, halves, stores, 2]``: arcs that each rank deleted or inserted, and self-loops among them.

        Half 0 is the deletion, half 1 the insertion.
        """
        return self._words[: self._counted].reshape(self._shape)

    def status(self, half: int) -> Array:
        """Return the status of each edge of a half (0: the deletion, 1: the insertion), ``uint8[size]``; a view."""
        begin, size = self._begins[half][1], self._sizes[half]
        return self._words[begin:].view(np.uint8)[:size]

    def before(self, half: int) -> Array | None:
        """Return a view of the weights of a half's edges before the batch, ``dtype[size]``; None: no weights."""
        if self._dtype is None:
            return None
        begin, end = self._begins[half]
        return self._words[begin:end].view(self._dtype)[: self._sizes[half]]


class HostResults:
    """The outcome on all ranks of a batch on the host, with the methods of :class:`Results`; ``counts`` are ``int64``.

    Each rank tells the others what became of its own edges, so what is exchanged does not grow with the ranks.
    """

    def __init__(self, part: Placement, sizes: Sequence[int], dtype: np.dtype | None) -> None:
        self.part, self._dtypes = part, [STATUS] if dtype is None else [STATUS, dtype]
        self.counts = np.zeros((part.comm.size, len(sizes), len(part.stores), 2), np.int64)
        self._halves: Sequence[Half] = ()
        self._columns: dict[int, list[Array]] = {}  # by half: statuses and, of weighted graphs, weights before

    def report(self, halves: Sequence[Half]) -> list[tuple[bytes | None, ...]]:
        """Return what became of this rank's edges, which it tells the others; waits for the device."""
        self._halves = halves
        width, columns = len(self._dtypes), list[Any]()
        for half in halves:
            columns += half.outcomes[0][:width]
        columns = self.part.download(columns, self.part.shown)
        self.part.shown.release()
        return [bytes_of(columns[at : at + width]) for at in range(0, len(columns), width)]

    def merge(self, told: Sequence[list[tuple[bytes, ...]]]) -> None:
        """Set the outcome of all edges, and the numbers of changes, from what all ranks have ``told``."""
        stores, size = self.part.stores, self.part.comm.size
        for half, parts in zip(self._halves, zip(*told, strict=True), strict=True):
            wholes = self._columns[half.number] = list[Any]()
            for dtype, column in zip(self._dtypes, zip(*parts, strict=True), strict=True):
                wholes.append(np.empty(half.size, dtype))
                wholes[-1][half.order] = of_bytes(column, dtype)
            counts = self.counts[:, half.number]
            first = stores.index(half.stores[0])
            for rank, (statuses, *_) in enumerate(parts):
                counts[rank, first, 0] = statuses.count(half.wanted)
            src, dst, _ = half.edges
            for store, owner in zip(half.stores[1:], half.owners[1:], strict=True):
                counts[:, stores.index(store), 0] = np.bincount(owner[wholes[0] == half.wanted], minlength=size)
            if True in (loops := src == dst):  # counted as if all were of the first rank
                counts[0, first, 1] = np.count_nonzero(wholes[0][loops] == half.wanted)

    def status(self, half: int) -> Array:
        """Return the status of each edge of a half, ``uint8[size]``."""
        return self._columns[half][0]

    def before(self, half: int) -> Array | None:
        """Return the weights of a half's edges before the batch, ``dtype[size]``; None: no weights."""
        return self._columns[half][1] if len(self._dtypes) > 1 else None


Outcomes = Results | HostResults


class Tally:
    """The numbers of arcs that the last batch inserted and deleted on each rank, read from the device when needed.

    ``before``: arcs that each rank held before the batch. ``most``: upper bounds of the arcs deleted and inserted.
    ``counts``: of the results, where these are.
    """

    def __init__(
        self, results: Outcomes, stores: Sequence[PartitionedStore], before: list[int], most: tuple[int, int]
    ) -> None:
        self.before, self.most, self._stores = before, most, stores
        part, counts = results.part, results.counts
        self._shape = counts.shape
        self._arriving: PinnedCounters | None = None
        self.counts = counts
        if not isinstance(counts, np.ndarray):
            if part.arriving is None:
                part.arriving = PinnedCounters(part.stores[0].device, counts.size)
            part.arriving.copy_from(counts.reshape(-1))
            self._arriving = part.arriving

    def note(self, part: Placement) -> None:
        """Add the changes of the batch, for which this waits, to the stores' counts, and set ``part.held``."""
        counts = self.counts
        if self._arriving is not None:
            part.comm.wait(self._arriving.has_arrived)
            counts = self._arriving.array.reshape(self._shape)
        first, loops, changed = part.stores.index(self._stores[0]), 0, list[list[int]]()  # by rank and store
        for gone, come in counts.tolist():  # plain numbers: NumPy would take longer
            changed.append([new - old for (new, _), (old, _) in zip(come, gone, strict=True)])
            loops += come[first][1] - gone[first][1]
        for k, store in enumerate(part.stores):
            if store in self._stores:
                store.note(sum([each[k] for each in changed]), loops, changed[part.comm.rank][k])
        part.held = [before + sum(each) for before, each in zip(self.before, changed, strict=True)]

    def stays_below(self, share: float, few: int) -> bool:
        """Return whether each rank holds at most ``share`` times the mean of all, or all hold fewer than ``few`` arcs.

        Decided from upper and lower bounds, without waiting for the batch: True is certain, False is not.
        """
        (gone, come), total = self.most, sum(self.before)
        return total + come < few or max(self.before) + come <= share * (total - gone) / len(self.before)
