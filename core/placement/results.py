"""The outcome of a batch on all ranks: each writes its part into one array, which a single collective combines.

On CUDA no call waits for the numbers of inserted and deleted arcs: they are copied to the host after the batch, and
read when needed, by the next batch at the latest.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from suricate.cuda.pinned import PinnedCounters

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.placement.placement import Placement
    from suricate.placement.store import PartitionedStore

DELETED, INSERTED = 0, 1  #: the halves of a batch
WORD = 8  #: bytes


class Results:
    """The outcome of a batch on all ranks, in one array of 64-bit words, which :meth:`merge` sums over the ranks.

    Call :meth:`clear` first; then each rank writes the words of its own edges, which stay 0 on all others. ``sizes``:
    the numbers of edges to delete and to insert; ``dtype``: of weights that the batch replaces or removes, or None.
    """

    def __init__(self, part: Placement, sizes: Sequence[int | None], dtype: np.dtype | None) -> None:
        self.part, self._sizes, self._dtype = part, sizes, dtype
        self._shape = part.comm.size, len(sizes), len(part.stores), 2
        self._counted = end = prod(self._shape)
        self._begins = list[tuple[int, int]]()  # in words: of weights, and of statuses
        width = 0 if dtype is None else dtype.itemsize
        for size in sizes:
            status = end + -(-(size or 0) * width // WORD)
            self._begins.append((end, status))
            end = status + -(-(size or 0) // WORD)
        self._words = part.xp.empty(end, np.uint64)

    def clear(self) -> None:
        """Set all words to 0."""
        if self.part.stores[0].device.is_cuda:
            self._words.data.memset_async(0, self._words.nbytes)
        else:
            self._words.fill(0)

    def merge(self) -> None:
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
        begin, size = self._begins[half][1], self._sizes[half] or 0
        return self._words[begin:].view(np.uint8)[:size]

    def before(self, half: int) -> Array | None:
        """Return a view of the weights of a half's edges before the batch, ``dtype[size]``; None: no weights."""
        if self._dtype is None:
            return None
        begin, end = self._begins[half]
        return self._words[begin:end].view(self._dtype)[: self._sizes[half] or 0]


class Tally:
    """The numbers of arcs that the last batch inserted and deleted on each rank, read from the device when needed.

    ``before``: arcs that each rank held before the batch. ``most``: upper bounds of the arcs deleted and inserted.
    """

    def __init__(
        self, results: Results, stores: Sequence[PartitionedStore], before: list[int], most: tuple[int, int]
    ) -> None:
        self.before, self.most, self._stores = before, most, stores
        part, counts = results.part, results.counts
        self._shape = counts.shape
        self._arriving: PinnedCounters | None = None
        self._counts = counts
        if part.stores[0].device.is_cuda:
            if part.arriving is None:
                part.arriving = PinnedCounters(part.stores[0].device, counts.size)
            part.arriving.copy_from(counts.reshape(-1))
            self._arriving = part.arriving

    def note(self, part: Placement) -> None:
        """Add the changes of the batch, for which this waits, to the stores' counts, and set ``part.held``."""
        counts = self._counts
        if self._arriving is not None:
            part.comm.wait(self._arriving.has_arrived)
            counts = self._arriving.array.reshape(self._shape)
        first, arcs, loops = part.stores.index(self._stores[0]), list[list[int]](), 0
        for of_rank in counts.tolist():  # plain numbers: NumPy would take longer
            gone, come = of_rank[DELETED], of_rank[INSERTED]
            arcs.append([new[0] - old[0] for new, old in zip(come, gone, strict=True)])
            loops += come[first][1] - gone[first][1]
        for k, store in enumerate(part.stores):
            if store in self._stores:
                store.note(sum(each[k] for each in arcs), loops, arcs[part.comm.rank][k])
        part.held = [before + sum(more) for before, more in zip(self.before, arcs, strict=True)]

    def stays_below(self, share: float, few: int) -> bool:
        """Return whether each rank holds at most ``share`` times the mean of all, or all hold fewer than ``few`` arcs.

        Decided from upper and lower bounds, without waiting for the batch: True is certain, False is not.
        """
        (gone, come), total = self.most, sum(self.before)
        return total + come < few or max(self.before) + come <= share * (total - gone) / len(self.before)
