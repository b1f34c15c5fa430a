"""The building blocks on the CPU; the code is also the specification of ``primitives.cu`` and ``batch.cu``."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import NEW, REMOVED, REPLACED, UNCHANGED, EdgeList
from suricate.cpu import threads
from suricate.cpu.jit import EntryPoints, kernel
from suricate.primitives import sorting
from suricate.primitives.located import ABSENT, DUPLICATE, PRESENT, LocatedBatch, Report


def sort_batch(src: Array, dst: Array, bits: int) -> tuple[Array, Array]:
    """Sort the edges ``src[i] -> dst[i]``, whose ids have ``bits`` bits, by source, then destination."""
    sort = sorting.sort_batch if sorting.can_sort(len(src), bits) else sorting.sort_small
    return sort(src, dst, bits)


@kernel
def copy_ids(offsets, begin, target, old, new, owner, first, last):
    """Copy the ranges ``first`` to ``last`` (exclusive) of the array ``old`` to ``new``.

    Range i has ``offsets[i + 1] - offsets[i]`` entries; it begins at ``old[begin[i]]`` and goes to ``new[target[i]]``.
    If ``owner`` is not empty, its entries at the same positions as in ``new`` are set to i.
    """
    for i in range(first, last):
        length = offsets[i + 1] - offsets[i]
        read, write = begin[i], target[i]
        for k in range(length):
            new[write + k] = old[read + k]
        if len(owner):
            for k in range(length):
                owner[write + k] = i


def copy_segments(offsets: Array, begin: Array, target: Array, bound: int, old: EdgeList, new: EdgeList) -> None:
    """Copy ranges of slots from the arrays of ``old`` to those of ``new``, in several threads."""
    size = int(offsets[-1] - offsets[0])
    parts = threads.parts(size)
    cuts = np.searchsorted(offsets[1:-1], offsets[0] + size * np.arange(1, parts) // parts).tolist()
    ranges = list(pairwise([0, *cuts, len(begin)]))
    threads.run(copy_ids, [(offsets, begin, target, old.dst, new.dst, new.src, *part) for part in ranges])
    if old.weight is not None and new.weight is not None and len(new.weight):
        unsigned = f"u{old.weight.dtype.itemsize}"
        weights = old.weight.view(unsigned), new.weight.view(unsigned), new.src[:0]
        threads.run(copy_ids, [(offsets, begin, target, *weights, *part) for part in ranges])


@kernel
def _report_insertion(order, kind, slot, weight, batch_weight, status, before, usual, first, last):
    """Report the insertion of the entries ``first`` to ``last`` of a :class:`LocatedBatch`, and update weights."""
    for i in range(first, last):
        changed = NEW if kind[i] == ABSENT else UNCHANGED
        if kind[i] == PRESENT and len(weight):
            item, at = order[i], slot[i]
            before[item] = weight[at]
            if weight[at] != batch_weight[item]:
                weight[at] = batch_weight[item]
                changed = REPLACED
        if changed != usual:
            status[order[i]] = changed


@kernel
def _report_deletion(order, kind, slot, weight, status, before, first, last):
    for i in range(first, last):
        if kind[i] == PRESENT:
            status[order[i]] = REMOVED
            if len(weight):
                before[order[i]] = weight[slot[i]]


@kernel
def _answer(order, kind, slot, weight, found, result, first, last):
    following, at = last, -1
    while following < len(order) and kind[last - 1] == DUPLICATE:  # the last entry of its run comes later
        if kind[following] != DUPLICATE:
            at = slot[following] if kind[following] == PRESENT else -1
            break
        following += 1
    for i in range(last - 1, first - 1, -1):
        if kind[i] != DUPLICATE:
            at = slot[i] if kind[i] == PRESENT else -1
        found[order[i]] = at >= 0
        if at >= 0 and len(weight):
            result[order[i]] = weight[at]


def report_insertion(batch: LocatedBatch, weight: Array, batch_weight: Array, report: Report) -> None:
    """Write the outcome of inserting ``batch`` to ``report``, in the caller's order; replace stored weights in place.

    ``weight`` (by slot) and ``batch_weight`` (by position in the caller's batch) are bit patterns. ``report.status``
    must be 0 everywhere before the call.
    """
    usual = NEW if 2 * batch.most > len(batch) else UNCHANGED
    if usual:
        report.status.fill(usual)
    entries = (batch.order, batch.kind, batch.slot)
    threads.over(len(batch), _report_insertion, *entries, weight, batch_weight, *report, usual)


def report_deletion(batch: LocatedBatch, weight: Array, report: Report) -> None:
    """Write status (0 before) and old weight of each edge of a deletion to ``report``, in the caller's order."""
    threads.over(len(batch), _report_deletion, batch.order, batch.kind, batch.slot, weight, *report)


def answer(batch: LocatedBatch, weight: Array, found: Array, result: Array) -> None:
    """Write what the edge query ``batch`` finds, in the order of the caller: which edges are stored, and their weights.

    ``found`` gets bools; ``result`` gets weights, as the bit patterns that ``weight`` has by slot, unchanged for edges
    that are not stored. All duplicates of an edge get the same result.
    """
    threads.over(len(batch), _answer, batch.order, batch.kind, batch.slot, weight, found, result)


def source_ranges(keys: Array) -> list[slice]:
    """Return slices that divide ``keys``, ascending, for threads; all edges of a source are in one."""
    size, parts = len(keys), threads.parts(len(keys))
    if parts == 1:
        return [slice(0, size)]
    marks = size * np.arange(1, parts) // parts
    firsts = (keys[marks] >> np.uint64(32)) << np.uint64(32)  # of the sources there
    edges = [0, *np.searchsorted(keys, firsts).tolist(), size]
    return [slice(begin, end) for begin, end in pairwise(edges) if begin < end]


def rank(batch: LocatedBatch, kind: int) -> None:
    """Set ``batch.most`` to the number of entries whose kind is ``kind``; the CPU needs no rank of each entry."""
    batch.most = sum(threads.over(len(batch), count_kind, batch.kind, kind, unit=1 / 8))


def count_kind(kinds: Array, kind: int, begin: int, end: int) -> int:
    """Return how many entries of ``kinds[begin:end]`` equal ``kind``."""
    return int(np.count_nonzero(kinds[begin:end] == kind))


def in_order(src: Array, dst: Array, num_vertices: int) -> LocatedBatch:
    """Return the edges ``src[i] -> dst[i]`` (ids below ``num_vertices``) as a sorted batch that is not located yet."""
    keys, order = sort_batch(src, dst, max(1, (num_vertices - 1).bit_length()))
    return LocatedBatch(keys, order, np.empty(len(keys), np.uint8), np.empty(len(keys), np.int64), len(keys))


COPYING = EntryPoints()  #: of ``copy_valid``, by the dtype of ids


@kernel
def copy_valid(src, dst, num_vertices, copies):
    """Copy ``src``, then ``dst``, to ``copies``; return whether all ids are below ``num_vertices``."""
    largest = np.uint64(0)
    for i in range(len(src)):
        u, v = np.uint64(src[i]), np.uint64(dst[i])  # a negative id becomes a large one
        largest = max(largest, u, v)
        copies[i], copies[len(src) + i] = u, v
    return largest < np.uint64(num_vertices) or not len(src)
