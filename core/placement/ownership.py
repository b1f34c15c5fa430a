"""Who owns which vertices: what stores, windows, names and sinks of a graph of several processes ask.

What is loaded at once lies in one range of ids per rank, so that neighbours stay together. New ids go in blocks to the
rank that holds the fewest bytes when a block begins. The block of an id is given by its highest bits, as a number of
floating point has them: a block of ``BLOCKS * size`` or more in each doubling, so that none is longer than
``n / (BLOCKS * size)`` and a table of a few thousand entries tells the owner of any id.
"""

from __future__ import annotations

from functools import cached_property
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.devices import module_of

if TYPE_CHECKING:
    from suricate.base.devices import Array

BLOCKS = 64  #: blocks of new ids per rank, at least, when the number of vertices doubles
ARC_BYTES, VERTEX_BYTES = 12, 24  #: what an arc, and a vertex, takes of its owner's memory, roughly
FRACTION, BIAS = 52, 1023  #: bits behind the point of a ``float64``; what its exponent has added


class Moved(NamedTuple):
    """Vertices with a new owner: ``begin[i]`` to ``end[i]`` (exclusive) went from rank ``source[i]`` to ``target[i]``.

    Ascending and disjoint, ``int64[k]`` each, on the host.
    """

    begin: np.ndarray
    end: np.ndarray
    source: np.ndarray
    target: np.ndarray


class Ownership:
    """The owner of each vertex, as ``rank`` sees it; it never changes: a graph gets another one when ownership moves.

    Keep the one from before to ask the later one for the difference, :meth:`moved`.

    Args:
        rank: the rank that asks.
        bounds: ``int64[size + 1]``: rank ``r`` owns the vertices from ``bounds[r]`` on, below ``bounds[r + 1]``.
        blocks: ``uint16[k]``: the owners of the blocks from that of ``bounds[-1]`` on; empty: ranges are all there is.
        num_vertices: number of vertices; of the last block there are those below it.
    """

    def __init__(self, rank: int, bounds: np.ndarray, blocks: Any = (), num_vertices: int | None = None) -> None:
        self.rank, self.size, self.bounds = rank, len(bounds) - 1, bounds
        self.blocks = np.asarray(blocks, np.uint16)
        self.is_ranges = not len(self.blocks)  #: whether each rank owns one range of ids, in rank order
        self.base = int(bounds[-1])  #: the vertex after those in ranges
        self.num_vertices = self.base if num_vertices is None else num_vertices
        self.low, self.high = (int(bounds[rank + k]) for k in (0, 1))  #: this rank's range
        self.bits = (
            BLOCKS.bit_length() - 1 + (self.size - 1).bit_length()
        )  #: behind the highest bit of a block's number
        self._there: dict[str, Array] = {}

    @property
    def span(self) -> tuple[int, int]:
        """A range of vertices, begin and end (exclusive), in which all of this rank's are."""
        return (self.low, self.high) if self.is_ranges else (0, self.num_vertices)

    # -- questions -----------------------------------------------------------------------------------------------------

    def owner(self, ids: Array) -> Array:
        """Return the rank that owns each of ``ids``, integers below ``num_vertices``; ``int64[len(ids)]``."""
        xp = module_of(ids)
        if xp is np:
            found: Array = self._begins.searchsorted(ids, "right")
        else:
            found = xp.searchsorted(self.on(xp, "bounds"), ids, side="right") - 1
        if not self.is_ranges:
            later = xp.flatnonzero(ids >= self.base)
            found[later] = self._of_blocks(xp, ids[later])
        return found

    def owns(self, ids: Array) -> Array:
        """Return the mask of those of ``ids`` that this rank owns."""
        mine = (ids >= self.low) & (ids < self.high)
        if not self.is_ranges:
            xp = module_of(ids)
            later = xp.flatnonzero(ids >= self.base)
            mine[later] = self._of_blocks(xp, ids[later]) == self.rank
        return mine

    @cached_property
    def _begins(self) -> np.ndarray:
        """Where the ranges of the ranks but the first begin: of the dtype of ids, which are then looked up sooner."""
        return self.bounds[1:-1].astype(np.uint32)

    @cached_property
    def own(self) -> np.ndarray:
        """The vertices of this rank, ascending, ``uint32[k]``, on the host."""
        return _listed(self.ranges)

    @cached_property
    def stranger(self) -> int:
        """A vertex of another rank; 0 if there is none."""
        starts, owners = self.pieces
        others = starts[:-1][owners != self.rank]
        return int(others[0]) if len(others) else 0

    @cached_property
    def ranges(self) -> np.ndarray:
        """What this rank owns as ranges of ids, ascending: begin and end (exclusive) of each, ``int64[k, 2]``."""
        starts, owners = self.pieces
        mine = np.flatnonzero(owners == self.rank)
        return np.stack((starts[mine], starts[mine + 1]), axis=1)

    def moved(self, before: Ownership) -> Moved:
        """Return which vertices another rank owned by ``before``; those that are not in both are left out."""
        cuts = np.unique(np.concatenate((self.pieces[0], before.pieces[0])))
        cuts = cuts[cuts <= min(self.num_vertices, before.num_vertices)]
        source, target = (each.owner(cuts[:-1]) for each in (before, self))
        differ = source != target
        return Moved(cuts[:-1][differ], cuts[1:][differ], source[differ], target[differ])

    @cached_property
    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        """Where ranges of one owner begin, and the end of the last, ``int64[k + 1]``; their owners, ``int64[k]``."""
        starts, owners = self.bounds, np.arange(self.size)
        if not self.is_ranges:
            blocks = self._starts(len(self.blocks), self.num_vertices)
            starts, owners = np.concatenate((starts[:-1], blocks)), np.concatenate((owners, self.blocks))
        some = np.flatnonzero(starts[1:] > starts[:-1])
        begins = some[np.flatnonzero(np.diff(owners[some], prepend=-1))]
        return np.append(starts[begins], self.num_vertices), owners[begins].astype(np.int64)

    def in_rank_order(self, xp: Any) -> Array:
        """Return all vertices, those of rank 0 first, each rank's ascending; ``uint32[num_vertices]``, cached."""
        if "order" not in self._there:
            starts, owners = self.pieces
            at = np.argsort(owners, kind="stable")
            self._there["order"] = xp.asarray(_listed(np.stack((starts[at], starts[at + 1]), axis=1)))
        return self._there["order"]

    # -- other numbers of vertices -------------------------------------------------------------------------------------

    def resized(self, num_vertices: int, held: list[int]) -> Ownership:
        """Return the ownership of ``num_vertices``: without the last ones, or with new ones in blocks.

        ``held``: arcs of each rank. A graph without arcs has ranges of equal lengths, or in the proportions of before.
        """
        if num_vertices <= self.num_vertices:
            blocks = self.blocks[: max(0, self._number(num_vertices - 1) + 1)] if num_vertices > self.base else ()
            return Ownership(self.rank, np.minimum(self.bounds, num_vertices), blocks, num_vertices)
        if not sum(held) or not self.num_vertices:
            even = not self.is_ranges or not self.base
            parts = np.arange(self.size + 1) if even else self.bounds
            return Ownership(self.rank, parts * num_vertices // int(parts[-1]))
        starts = np.maximum(self._starts(self._number(num_vertices - 1) + 1, num_vertices), self.num_vertices)
        lightest, each = self._loads(held), VERTEX_BYTES + ARC_BYTES * sum(held) // self.num_vertices
        heapify(lightest)
        blocks = self.blocks.tolist()
        for size in np.diff(starts)[len(blocks) :].tolist():
            load, rank = lightest[0]
            blocks.append(rank)
            heapreplace(lightest, (load + each * size, rank))
        return Ownership(self.rank, self.bounds, blocks, num_vertices)

    def _loads(self, held: list[int]) -> list[tuple[int, int]]:
        """Return ``(bytes, rank)`` of each rank, of its vertices and of the ``held`` arcs of each."""
        starts, owners = self.pieces
        vertices = np.bincount(owners, np.diff(starts), minlength=self.size).astype(np.int64).tolist()
        return [(VERTEX_BYTES * vertices[rank] + ARC_BYTES * held[rank], rank) for rank in range(self.size)]

    # -- blocks --------------------------------------------------------------------------------------------------------

    @cached_property
    def _first(self) -> int:
        return int(np.float64(self.base).view(np.int64)) >> (FRACTION - self.bits)

    @property
    def first_of_blocks(self) -> int:
        """The number of the first block, as integers have it: the highest bit of ``base``, and the next ``bits``."""
        return self._first - (BIAS << self.bits)

    def _number(self, vertex: int) -> int:
        """Return the place in ``blocks`` of the block of ``vertex``."""
        return (int(np.float64(vertex).view(np.int64)) >> (FRACTION - self.bits)) - self._first

    def _starts(self, count: int, end: int) -> np.ndarray:
        """Return where ``count`` blocks begin, the first at ``base``, and then the ``end`` of the last."""
        numbers = (self._first + np.arange(count)) << (FRACTION - self.bits)
        starts = np.ceil(numbers.view(np.float64)).astype(np.int64)
        return np.append(np.maximum(starts, self.base), end)

    def _of_blocks(self, xp: Any, ids: Array) -> Array:
        numbers = (ids.astype(np.float64).view(np.int64) >> (FRACTION - self.bits)) - self._first
        return self.on(xp, "blocks")[numbers]

    def on(self, xp: Any, name: str) -> Array:
        """Return ``bounds`` or ``blocks``, by ``name``, in the memory of ``xp``, NumPy or CuPy."""
        if xp is np:
            return getattr(self, name)
        if name not in self._there:
            self._there[name] = xp.asarray(getattr(self, name))
        return self._there[name]


def _listed(ranges: np.ndarray) -> np.ndarray:
    """Return the ids in ranges, ``int64[k, 2]``, one range after the other, ``uint32``."""
    begins, lengths = ranges[:, 0], ranges[:, 1] - ranges[:, 0]
    before = np.cumsum(lengths) - lengths
    return (np.repeat(begins - before, lengths) + np.arange(lengths.sum())).astype(np.uint32)
