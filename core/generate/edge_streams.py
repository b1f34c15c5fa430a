"""Streams of random edges that are drawn in pieces, on either device, and any piece again: for graphs beyond the host.

Edge number i of a stream depends on its seed and on i alone, through hashes in 64-bit integers (a counter-based
generator: Salmon, Moraes, Dror and Shaw, 2011). So it is the same, bit for bit, in NumPy and CuPy and however the
stream is cut, nothing has to be kept to check a graph against it, and no host has to hold it.

>>> from suricate.generate.edge_streams import UniformStream
>>> stream = UniformStream(scale=20, seed=1)
>>> edges = stream.piece(10**9, 10**9 + 4)
>>> stream.numbers(edges.src, edges.dst).tolist()
[1000000000, 1000000001, 1000000002, 1000000003]
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from suricate.base.parameters import integer
from suricate.base.types import EdgeList

GOLDEN = 0x9E3779B97F4A7C15  #: the step of SplitMix64
GRAPH500 = (0.57, 0.19, 0.19, 0.05)  #: probabilities of the quarters of the matrix, at every level of R-MAT
LEVELS = 5  #: levels of R-MAT that one random number decides
ROUNDS = 4  #: of a permutation


def mixed(x: Any) -> Any:
    """Return a 64-bit hash of each ``uint64`` in ``x``, NumPy or CuPy: SplitMix64 (Steele, Lea and Flood, 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Permutation:
    """A pseudo-random permutation of the integers below ``2**bits``, applied to ``uint64`` arrays.

    Another ``seed``, or another text ``purpose``, gives another permutation. Each of ``ROUNDS`` rounds is an exclusive
    or, a multiplication by an odd number, and a shift of the upper half onto the lower one.
    """

    def __init__(self, bits: int, seed: int, purpose: str) -> None:
        self._mask, self._shift = np.uint64((1 << bits) - 1), np.uint64((bits + 1) // 2)
        words = [word_of(seed, f"{purpose} {number}") & int(self._mask) for number in range(2 * ROUNDS)]
        self._rounds = [
            (np.uint64(flipped), np.uint64(factor | 1), np.uint64(pow(factor | 1, -1, 1 << bits)))
            for flipped, factor in zip(words[::2], words[1::2], strict=True)
        ]

    def __call__(self, x: Any) -> Any:
        """Return the image of each number in ``x``, ``uint64``."""
        for flipped, factor, _ in self._rounds:
            x = ((x ^ flipped) * factor) & self._mask
            x = x ^ (x >> self._shift)
        return x

    def inverse(self, x: Any) -> Any:
        """Return the numbers, ``uint64``, that the permutation maps to ``x``."""
        for flipped, _, inverse in reversed(self._rounds):
            x = x ^ (x >> self._shift)
            x = ((x * inverse) & self._mask) ^ flipped
        return x


class EdgeStream(ABC):
    """A stream of ``length`` random edges between ``num_vertices`` vertices; ``distinct``: no edge occurs twice.

    Args:
        scale: binary logarithm of the number of vertices, 1 to 31.
        seed: of the random numbers, at least 0.

    Raises:
        ParameterError: an argument is of the wrong type or out of range.
    """

    distinct: ClassVar[bool] = False
    length: int

    def __init__(self, scale: int, seed: int = 0) -> None:
        self.scale = integer("edge stream: scale", scale, low=1, high=31)
        self.seed = integer("edge stream: seed", seed, low=0)
        self.num_vertices = 1 << self.scale

    def piece(self, begin: int, end: int, xp: Any = np) -> EdgeList:
        """Return the edges ``begin`` to ``end`` (exclusive) of the stream, in arrays of ``xp`` (NumPy or CuPy).

        Raises:
            ParameterError: the stream is shorter.
        """
        begin = integer("edge stream: begin", begin, low=0, high=self.length)
        end = integer("edge stream: end", end, low=begin, high=self.length)
        return self.at(xp.arange(begin, end, dtype=np.uint64), xp)

    @abstractmethod
    def at(self, number: Any, xp: Any = np) -> EdgeList:
        """Return the edges of the given numbers, ``uint64`` below ``length``, in arrays of ``xp``."""


class UniformStream(EdgeStream):
    """Every pair of ``2**scale`` vertices once, self-loops included, in random order."""

    distinct = True

    def __init__(self, scale: int, seed: int = 0) -> None:
        super().__init__(scale, seed)
        self.length = 1 << (2 * self.scale)
        self._pairs = Permutation(2 * self.scale, self.seed, "uniform")

    def at(self, number: Any, xp: Any = np) -> EdgeList:
        """Return the edges of the given numbers, as :meth:`EdgeStream.at` does."""
        pair = self._pairs(number)
        return EdgeList((pair >> np.uint64(self.scale)).astype(np.uint32), self._low(pair).astype(np.uint32))

    def numbers(self, src: Any, dst: Any) -> Any:
        """Return the number, ``uint64``, of each edge ``(src[i], dst[i])`` in the stream: the inverse of :meth:`at`."""
        return self._pairs.inverse(src.astype(np.uint64) << np.uint64(self.scale) | dst.astype(np.uint64))

    def _low(self, pair: Any) -> Any:
        return pair & np.uint64(self.num_vertices - 1)


class RMATStream(EdgeStream):
    """Arcs of an R-MAT graph with the parameters of Graph500 and permuted vertex ids; arcs may occur repeatedly."""

    length = 1 << 62  # has no end in practice

    def __init__(self, scale: int, seed: int = 0) -> None:
        super().__init__(scale, seed)
        self._steps = [LEVELS] * (self.scale // LEVELS) + ([self.scale % LEVELS] if self.scale % LEVELS else [])
        self._keys = [np.uint64(word_of(self.seed, f"level {number}")) for number in range(len(self._steps))]
        self._tables = {levels: LevelTable(levels, GRAPH500) for levels in set(self._steps)}
        self._ids = Permutation(self.scale, self.seed, "ids")

    def at(self, number: Any, xp: Any = np) -> EdgeList:
        """Return the edges of the given numbers, as :meth:`EdgeStream.at` does."""
        src, dst = (xp.zeros(len(number), np.uint64) for _ in range(2))
        counter = number * np.uint64(GOLDEN)
        for levels, key in zip(self._steps, self._keys, strict=True):
            row, column = self._tables[levels].draw(mixed(counter + key), xp)
            src, dst = src << np.uint64(levels) | row, dst << np.uint64(levels) | column
        return EdgeList(self._ids(src).astype(np.uint32), self._ids(dst).astype(np.uint32))


class GridStream(EdgeStream):
    """A road-like grid of ``2**scale`` vertices, both arcs of every edge once, by strides over the whole grid.

    Vertex ``y * width + x`` is joined to its neighbours; ``width`` is the height, or twice it if ``scale`` is odd.
    ``seed`` changes nothing.
    """

    distinct = True

    def __init__(self, scale: int, seed: int = 0) -> None:
        super().__init__(scale, seed)
        self.width = 1 << (self.scale + 1) // 2
        self._along = self.num_vertices - self.num_vertices // self.width  # edges along rows
        self.length = 2 * (self._along + self.num_vertices - self.width)
        most = min(self.length, 1 << 30) * 0.618  # so that no product passes 64 bits
        self._stride = next(step for step in range(int(most) | 1, 0, -2) if math.gcd(step, self.length) == 1)

    def at(self, number: Any, xp: Any = np) -> EdgeList:
        """Return the edges of the given numbers, as :meth:`EdgeStream.at` does."""
        number = number * np.uint64(self._stride) % np.uint64(self.length)
        edge, is_back = number >> np.uint64(1), (number & np.uint64(1)).astype(bool)
        is_along = edge < np.uint64(self._along)
        first = xp.where(is_along, edge + edge // np.uint64(self.width - 1), edge - np.uint64(self._along))
        second = first + xp.where(is_along, np.uint64(1), np.uint64(self.width))
        src, dst = xp.where(is_back, second, first), xp.where(is_back, first, second)
        return EdgeList(src.astype(np.uint32), dst.astype(np.uint32))


class LevelTable:
    """Draws several levels of the recursion of R-MAT at once, out of ``4**levels`` outcomes, by Walker's alias method.

    Each level adds a bit to the row (source) and to the column (destination). ``quarters`` has the probabilities of
    the upper left, upper right, lower left and lower right quarter of the matrix, at every level.
    """

    def __init__(self, levels: int, quarters: tuple[float, ...]) -> None:
        outcomes = np.arange(4**levels)
        probability = np.ones(len(outcomes))
        row, column = np.zeros(len(outcomes), np.uint32), np.zeros(len(outcomes), np.uint32)
        for level in range(levels):
            quarter = outcomes >> (2 * level) & 3
            probability *= np.asarray(quarters)[quarter]
            row |= (quarter >> 1 << level).astype(np.uint32)
            column |= ((quarter & 1) << level).astype(np.uint32)
        self._bits = np.uint64(64 - 2 * levels)
        threshold, alias = _alias_table(probability)
        whole = (threshold * 2.0 ** (64 - 2 * levels)).astype(np.uint64)
        self._arrays = whole, alias, row, column

    def draw(self, random: Any, xp: Any = np) -> tuple[Any, Any]:
        """Return the ``levels`` bits of the row and of the column, ``uint32``, that each number of ``random`` draws.

        ``random`` is an ``xp`` array of uniform ``uint64``. The upper bits of a number choose an entry of the alias
        table, the others one of the two outcomes of that entry.
        """
        threshold, alias, row, column = (xp.asarray(array) for array in self._arrays)
        place = (random >> self._bits).astype(np.int64)
        rest = random & ((np.uint64(1) << self._bits) - np.uint64(1))
        outcome = xp.where(rest < threshold[place], place, alias[place])
        return row[outcome], column[outcome]


def _alias_table(probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Walker's table: outcome k, drawn uniformly, stays k with probability threshold[k], else it is alias[k]."""
    share = probability * (len(probability) / probability.sum())
    threshold, alias = np.ones(len(share)), np.arange(len(share))
    small, large = list(np.flatnonzero(share < 1)), list(np.flatnonzero(share >= 1))
    while small and large:
        low, high = small.pop(), large[-1]
        threshold[low], alias[low] = share[low], high
        share[high] -= 1 - share[low]
        if share[high] < 1:
            small.append(large.pop())
    return threshold, alias


def word_of(seed: int, purpose: str) -> int:
    """Return a 64-bit hash of ``seed`` and ``purpose``."""
    return int.from_bytes(hashlib.sha256(f"{seed} {purpose}".encode()).digest()[:8], "little")
