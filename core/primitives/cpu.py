"""The building blocks on the CPU: readable as the specification of ``primitives.cu``."""

from __future__ import annotations

import numpy as np
from numba import njit

from suricate.devices import Array
from suricate.jit import inner, kernel
from suricate.primitives.located import ABSENT, DUPLICATE, PRESENT, LocatedBatch, Report
from suricate.types import NEW, REMOVED, REPLACED, EdgeList

DIGIT = 11  #: bits per pass of the radix sort: the counters of one pass fit the first-level cache


@inner
def bit_length(value):
    """Return the number of bits of a non-negative integer."""
    bits = 0
    while value >> bits:
        bits += 1
    return bits


@njit(cache=True, nogil=True)
def radix_sort(words, low, high):
    """Return ``words`` (uint64[n]) sorted by bits ``[low, high)``, stable; ``words`` is overwritten."""
    passes = (high - low + DIGIT - 1) // DIGIT
    width = (high - low + passes - 1) // passes
    spare = np.empty_like(words)
    place = np.empty(1 << width, np.int64)
    mask = np.uint64((1 << width) - 1)
    for p in range(passes):
        shift = np.uint64(low + p * width)
        if low + (p + 1) * width > high:  # the last digit may be narrower: bits above ``high`` do not count
            mask = np.uint64((1 << (high - low - p * width)) - 1)
        place[:] = 0
        for word in words:
            place[(word >> shift) & mask] += 1
        total = 0
        for digit in range(len(place)):
            total, place[digit] = total + place[digit], total
        for word in words:
            digit = (word >> shift) & mask
            spare[place[digit]] = word
            place[digit] += 1
        words, spare = spare, words
    return words


@njit(cache=True, nogil=True)
def sort_batch(src, dst, bits):
    """Return ``(keys, order)`` of the edges; ids have ``bits`` bits. One sort where ids and index fit one word."""
    n = len(src)
    keys, order = np.empty(n, np.uint64), np.empty(n, np.uint32)
    low = bit_length(n)
    words = np.empty(n, np.uint64)
    lowest = np.uint64((1 << low) - 1)
    one_word = 2 * bits + low <= 64
    if one_word:
        for i in range(n):
            key = (np.uint64(src[i]) << np.uint64(bits)) | np.uint64(dst[i])
            words[i] = (key << np.uint64(low)) | np.uint64(i)
        words = radix_sort(words, low, low + 2 * bits)
    else:
        for i in range(n):
            words[i] = (np.uint64(dst[i]) << np.uint64(low)) | np.uint64(i)
        by_dst = radix_sort(words, low, low + bits)
        words = np.empty(n, np.uint64)
        for i in range(n):
            at = by_dst[i] & lowest
            words[i] = (np.uint64(src[at]) << np.uint64(low)) | at
        words = radix_sort(words, low, low + bits)
    for i in range(n):
        at = words[i] & lowest
        order[i] = at
        if one_word:
            key = words[i] >> np.uint64(low)
            keys[i] = ((key >> np.uint64(bits)) << np.uint64(32)) | (key & np.uint64((1 << bits) - 1))
        else:
            keys[i] = (np.uint64(src[at]) << np.uint64(32)) | np.uint64(dst[at])
    return keys, order


@kernel
def copy_ids(offsets, begin, target, old, new, owner):
    """Copy the ranges of ``old`` to ``new``; write the number of the range to ``owner`` unless that is empty."""
    for i in range(len(begin)):
        length = offsets[i + 1] - offsets[i]
        read, write = begin[i], target[i]
        for k in range(length):
            new[write + k] = old[read + k]
        if len(owner):
            for k in range(length):
                owner[write + k] = i


def copy_segments(offsets: Array, begin: Array, target: Array, bound: int, old: EdgeList, new: EdgeList) -> None:
    """See :func:`suricate.primitives.copy_segments`."""
    copy_ids(offsets, begin, target, old.dst, new.dst, new.src)
    if old.weight is not None and new.weight is not None and len(new.weight):
        unsigned = f"u{old.weight.dtype.itemsize}"
        copy_ids(offsets, begin, target, old.weight.view(unsigned), new.weight.view(unsigned), new.src[:0])


@kernel
def _report_insertion(order, kind, slot, weight, batch_weight, status, before):
    for i in range(len(order)):
        item = order[i]
        if kind[i] == ABSENT:
            status[item] = NEW
        elif kind[i] == PRESENT and len(weight):
            at = slot[i]
            before[item] = weight[at]
            if weight[at] != batch_weight[item]:
                weight[at] = batch_weight[item]
                status[item] = REPLACED


@kernel
def _report_deletion(order, kind, slot, weight, status, before):
    for i in range(len(order)):
        if kind[i] == PRESENT:
            status[order[i]] = REMOVED
            if len(weight):
                before[order[i]] = weight[slot[i]]


@kernel
def _answer(order, kind, slot, weight, found, result):
    at = -1
    for i in range(len(order) - 1, -1, -1):
        if kind[i] != DUPLICATE:
            at = slot[i] if kind[i] == PRESENT else -1
        found[order[i]] = at >= 0
        if at >= 0 and len(weight):
            result[order[i]] = weight[at]


def report_insertion(batch: LocatedBatch, weight: Array, batch_weight: Array, report: Report) -> None:
    """Report the edges of an insertion in the caller's order, and give the stored ones their new weights.

    ``weight`` (per slot) and ``batch_weight`` (per edge of the batch) are bit patterns; the statuses are zero before.
    """
    _report_insertion(batch.order, batch.kind, batch.slot, weight, batch_weight, *report)


def report_deletion(batch: LocatedBatch, weight: Array, report: Report) -> None:
    """Report the edges of a deletion in the caller's order; see :func:`report_insertion`."""
    _report_deletion(batch.order, batch.kind, batch.slot, weight, *report)


def answer(batch: LocatedBatch, weight: Array, found: Array, result: Array) -> None:
    """Answer located queries in the caller's order; all duplicates of an edge get the answer of the last."""
    _answer(batch.order, batch.kind, batch.slot, weight, found, result)


def rank(batch: LocatedBatch, kind: int) -> None:
    """Count the entries of a kind."""
    batch.most = int(np.count_nonzero(batch.kind == kind))
