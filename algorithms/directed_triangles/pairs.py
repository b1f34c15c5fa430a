"""Pairs of neighbours and the arcs between them, as the graph of neighbours of the package has them.

On CUDA by kernels of one small program: as many operations on arrays, each of which CuPy compiles when it is first
called, delayed the first computation by over ten seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import EdgeList
from suricate.cuda.program import Program
from suricate.graph import Graph
from suricate.intake.arrays import sorted_distinct
from suricate.kernels import resident_blocks

PROGRAM = Program(Path(__file__).with_suffix(".cu"))
BLOCK, BLOCKS = 256, 8  #: threads of a block, blocks per multiprocessor


def distinct_pairs(device: Device, src: Array, dst: Array) -> tuple[Array, Array]:
    """Return the distinct pairs of ends of arcs, without self-loops, sorted: smaller ids, larger ids, ``uint32[k]``."""
    if not device.is_cuda:
        proper = src != dst
        ends = src[proper].astype(np.uint64), dst[proper].astype(np.uint64)
        keys = sorted_distinct(np.minimum(*ends) << np.uint64(32) | np.maximum(*ends))
        return (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
    xp, size = device.xp, len(src)
    keys, is_first = xp.empty(size, np.uint64), xp.empty(size, np.int64)
    _launch(device, "key_arcs", size, src, dst, keys)
    keys.sort()
    _launch(device, "mark_pairs", size, keys, is_first)
    ends, count = _summed(is_first)
    low, high = (xp.empty(count, np.uint32) for _ in range(2))
    _launch(device, "list_pairs", size, keys, ends, low, high)
    return low, high


def held_arcs(graph: Graph, low: Array, high: Array) -> Array:
    """Return how many arcs ``graph`` has between ``low[i]`` and ``high[i]``, ``int64[k]``."""
    return both_held(graph.device, graph.has_edges(low, high), graph.has_edges(high, low))


def both_held(device: Device, ahead: Array, back: Array) -> Array:
    """Return ``int64[k]``: how many of ``ahead[i]`` and ``back[i]``, two bools, are set."""
    if not device.is_cuda:
        return ahead.astype(np.int64) + back
    arcs = device.xp.empty(len(ahead), np.int64)
    _launch(device, "count_held", len(ahead), ahead, back, arcs)
    return arcs


def more_arcs(device: Device, low: Array, high: Array, first: Array, second: Array) -> EdgeList:
    """Return the arcs of the graph of neighbours that pairs have by ``second``, and not by ``first``, both ways.

    Both are numbers of arcs (0 to 2) of each pair, ``int64[k]``.
    """
    if not device.is_cuda:
        chosen = [(first < least) & (second >= least) for least in (1, 2)]
        ends = [(2 * low[at], 2 * high[at]) for at in chosen]
        src = np.concatenate([part for pair in ends for part in pair])
        return EdgeList(src, np.concatenate([part + np.uint32(k) for k in (0, 1) for part in ends[k][::-1]]))
    xp, size = device.xp, len(low)
    more = xp.empty(size, np.int64)
    _launch(device, "count_more", size, first, second, more)
    ends, count = _summed(more)
    src, dst = (xp.empty(2 * count, np.uint32) for _ in range(2))
    _launch(device, "list_more", size, low, high, first, second, ends, src, dst)
    return EdgeList(src, dst)


def count_ends(
    device: Device, low: Array, high: Array, before: Array, after: Array, arcs: Array, mutual: Array
) -> None:
    """Update, in place, the numbers of arcs and of mutual neighbours per vertex, ``int64[n]``, for changed pairs.

    Pair ``i`` had ``before[i]`` arcs and has ``after[i]`` now.
    """
    if device.is_cuda:
        _launch(device, "count_ends", len(low), low, high, before, after, arcs, mutual)
        return
    for array, change in ((arcs, after - before), (mutual, (after == 2) * 1 - (before == 2) * 1)):
        for ends in (low, high):
            np.add.at(array, ends, change)


def _summed(numbers: Array) -> tuple[Array, int]:
    """Return the running sums of ``numbers``, and the last of them, 0 if there is none; waits for the device."""
    ends = numbers.cumsum()
    return ends, int(ends[-1]) if len(ends) else 0


def _launch(device: Device, name: str, size: int, *arguments: Any) -> None:
    if size:
        blocks = min(-(-size // BLOCK), resident_blocks(device.index, BLOCK, BLOCKS))
        PROGRAM.kernel(name)((blocks,), (BLOCK,), (*arguments, np.int64(size)))
