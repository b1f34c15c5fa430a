"""The arrays that loops of the CPU take, as named tuples."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

LOOPS = Path(__file__).with_name("loops_cpu.py")
MOVES, WHOLE, PARTS = 0, 1, 2  #: what follows moves: nothing, groups of communities, groups of their parts
SALT = 0x5BD1E995  #: between the keys of moves and of refinements


class Vertices(NamedTuple):
    """The vertices of a level.

    ``label`` is the community of each, ``strength`` the sum of the weights of its edges, those of self-loops twice;
    ``size``: how many vertices of the graph it stands for; ``own``: the label that it takes to be alone.
    """

    label: np.ndarray  # uint32
    strength: np.ndarray  # float64
    size: np.ndarray  # int64
    own: np.ndarray  # uint32


class Rule(NamedTuple):
    """What decides about a move.

    Weights are multiples of ``unit``, of which a weight of 1 has ``per_unit``. ``scale`` is the resolution divided by
    the sum of all strengths, in units: so products of two strengths neither overflow nor vanish. ``margin`` is what a
    move must gain at least, as a weight.
    """

    unit: float
    per_unit: float
    scale: float
    margin: float


class Scratch(NamedTuple):
    """Arrays for the loops; ``table``, ``marks``, ``place`` and ``seen`` are zero before and afterwards."""

    table: np.ndarray  # int64, by label
    place: np.ndarray  # int64, by label
    marks: np.ndarray  # uint8, by vertex, as all others
    seen: np.ndarray  # int64
    active: np.ndarray  # uint32
    order: np.ndarray  # uint32
    turns: np.ndarray  # uint32
    starts: np.ndarray  # int64, some more
    touched: np.ndarray  # int64
    movers: np.ndarray  # int64
    wanted: np.ndarray  # int64, twice and one more

    @classmethod
    def of(cls, n: int, classes: int) -> Scratch:
        """Return arrays for levels of at most ``n`` vertices, and a refinement in ``classes``."""
        zeros, ids, wide = np.zeros((3, n), np.int64), np.empty((3, n), np.uint32), np.empty((2, n), np.int64)
        return cls(
            zeros[0], zeros[1], np.zeros(n, np.uint8), zeros[2], ids[0], ids[1], ids[2],
            np.empty(max(n, classes) + 2, np.int64), wide[0], wide[1], np.empty(2 * n + 1, np.int64),
        )  # fmt: skip


class Levels(NamedTuple):
    """Arrays for the contractions of a graph of ``n`` vertices and ``m`` arcs: those of even levels, and of odd ones.

    Row ``a`` of a contraction is from ``begin[a]`` to ``end[a]``. ``group`` has the group of each vertex of the level,
    ``first`` that of each vertex of the graph; the others are of refinements, and of the members of groups.
    """

    label: np.ndarray  # uint32[2, n]
    own: np.ndarray  # uint32[2, n]
    strength: np.ndarray  # float64[2, n]
    size: np.ndarray  # int64[2, n]
    begin: np.ndarray  # int64[2, n + 1]
    end: np.ndarray  # int64[2, n]
    dst: np.ndarray  # uint32[2, m]
    weight: np.ndarray  # float64[2, m]
    first: np.ndarray  # uint32[n]
    group: np.ndarray  # uint32[n]
    sub: np.ndarray  # uint32[n]
    members: np.ndarray  # int64[n]
    heavy: np.ndarray  # float64[n]
    offsets: np.ndarray  # int64[n + 1]

    @classmethod
    def of(cls, n: int, m: int) -> Levels:
        """Return the arrays; pages of them that no level needs take no memory."""
        ids, long, real = np.empty((7, n), np.uint32), np.empty((5, n), np.int64), np.empty((3, n))
        return cls(
            ids[:2], ids[2:4], real[:2], long[:2], np.empty((2, n + 1), np.int64), long[2:4],
            np.empty((2, m), np.uint32), np.empty((2, m)), ids[4], ids[5], ids[6], long[4], real[2],
            np.empty(n + 1, np.int64),
        )  # fmt: skip
