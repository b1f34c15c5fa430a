"""Operators on several threads: how the vertices of a call are cut into parts, and what each part is passed.

A part is a range of the vertices of a call; all parts have about equally many edges. The results are put together in
the order of the parts, so that they do not depend on the threads.
"""

from __future__ import annotations

import weakref
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Device
from suricate.base.types import StoreView
from suricate.cpu import threads
from suricate.cpu.atomics import WORDS_OF_128_BITS
from suricate.edgefn import bounds
from suricate.graph import Graph
from suricate.kernels.walking import data_without_weights, loops_over
from suricate.operators.call import Call
from suricate.operators.cpu.instances import Traversal
from suricate.operators.cpu.sources import NO_VERTICES, Listed

DEGREE = 128  #: edges that a vertex of a list is credited with before it is worth while to ask how many it has
BLOCKS = 64  #: per part: what the vertices are cut into to find ranges of equal work
FOLDS = {"sum": np.add, "min": np.minimum, "max": np.maximum, "or": np.bitwise_or}

Views = tuple[Any, Any, int]  #: the data of both views, the number of vertices
Values = tuple[Any, ...]
EDGE_COUNTS = Path(__file__).with_name("edge_counts.py")


class Cuts:
    """The last result of :func:`cut` for all vertices, by direction; one object per graph."""

    def __init__(self, device: Device) -> None:
        self._of: dict[str, tuple[weakref.ref[StoreView], tuple[int, int], list[threads.Range]]] = {}

    def ranges(self, over: str, walk: Traversal, views: Views, each: int) -> list[threads.Range]:
        """Return what :func:`cut` returns for all vertices: the last result if still valid, or a new one."""
        assert walk.view is not None
        made, key = self._of.get(over), (threads.limit(), each)
        if made is None or made[0]() is not walk.view or made[1] != key:
            everything = Listed(NO_VERTICES, True, views[2])
            made = self._of[over] = weakref.ref(walk.view), key, _cut(walk, views, everything, each)
        return made[2]


def is_for_one(call: Call) -> bool:
    """Return whether one thread has to call the functions of ``call``: written by hand, or as their effects need it."""
    return call.function.by_hand or effects_for_one(call)


def effects_for_one(call: Call) -> bool:
    """Return whether indices are checked, or effects go to words of 128 bits that cannot be exchanged at once."""
    return bounds.CHECKED or any(
        kind == "argmin" and not can_be_exchanged(call.values[position].data)
        for one in (call.function, call.then, call.commit)
        for position, kind in ((one and one.effects) or {}).items()
    )


def can_be_exchanged(data: np.ndarray) -> bool:
    """Return whether an entry or a row of ``data``, the words of a ``Words`` or other values, can be exchanged."""
    return data.ndim == 1 or (WORDS_OF_128_BITS and data.ctypes.data % 16 == 0)


def cut(
    graph: Graph,
    walk: Traversal,
    over: str,
    views: Views,
    vertices: Listed,
    *,
    each: int = threads.EACH,
) -> list[threads.Range]:
    """Cut ``vertices`` into ranges of positions with about equal work, for parallel parts; return the ranges.

    They are pairs ``(begin, end)``; there is a single one if the work is small.

    Args:
        walk, over: how, and over which direction, the edges are walked.
        views: the data of its views, and the number of vertices.
        vertices: the list of vertices to cut.
        each: the largest number of parts per thread.
    """
    few = vertices.size * DEGREE < threads.GRAIN or threads.limit() == 1 or bounds.CHECKED
    if few or threads.parts(graph.most_arcs + vertices.size) == 1:
        return [(0, vertices.size)]
    if vertices.everything and vertices.size == views[2]:
        return graph.workspace.state(Cuts).ranges(over, walk, views, each)
    return _cut(walk, views, vertices, each)


def counted(loop: str, walk: Traversal, views: Views | tuple[Any, Any], *given: Any) -> Any:
    """Return what a loop of ``edge_counts`` returns for the data ``views`` of a walk; ``given``: what follows them."""
    assert walk.view is not None
    g, h, *size = views
    plain = data_without_weights(walk.view, g)
    other = plain if h is g else data_without_weights(walk.view, h)
    return getattr(loops_over(walk.view, EDGE_COUNTS), loop)(plain, other, walk.both, *size, *given)


def _cut(walk: Traversal, views: Views, vertices: Listed, each: int) -> list[threads.Range]:
    size, most = vertices.size, threads.limit() * each
    block = max(1, size // (BLOCKS * most))
    work = np.empty(-(-size // block), np.int64)
    counted("measure", walk, views, *vertices, block, work)
    ends = np.cumsum(work)
    number = min(threads.parts(int(ends[-1])), most)
    if number == 1:
        return [(0, size)]
    marks = np.searchsorted(ends, ends[-1] * np.arange(1, number) // number) + 1
    edges = [0, *np.minimum(marks * block, size).tolist(), size]
    return [(begin, end) for begin, end in pairwise(edges) if begin < end]


def run_shared(call: Call, values: Values, function: Any, parts: list[tuple[Any, ...]]) -> list[Any]:
    """Call ``function(*part, *values)`` for each part, in threads, in order; scalars among ``values`` are reduced."""
    shares = Shares(call, values, len(parts))
    results = threads.run(function, [(*part, *own) for part, own in zip(parts, shares.of, strict=True)])
    shares.fold()
    return results


class Shares:
    """The functions' arguments by parallel part, ``of[p]``: the call's, but with a total of each scalar of its own."""

    def __init__(self, call: Call, values: Values, number: int) -> None:
        self._places = [i for i, one in enumerate(call.function.arguments) if one.kind == "accumulator"]
        self._folds = [FOLDS[str(call.function.arguments[i].op)] for i in self._places]
        self._values = values
        self.of = [self._own() for _ in range(number)] if self._places else [values] * number

    def _own(self) -> Values:
        own = list(self._values)
        for i, fold in zip(self._places, self._folds, strict=True):
            total, given = self._values[i]
            own[i] = total, np.zeros_like(given) if fold is np.add else given.copy()
        return tuple(own)

    def fold(self) -> None:
        """Reduce the totals of all parts into the totals of the call, in place."""
        for place, fold in zip(self._places, self._folds, strict=True):
            total = self._values[place][1]
            for share in self.of:
                total[0] = fold(total[0], share[place][1][0])
