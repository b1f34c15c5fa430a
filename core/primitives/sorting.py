"""Sorting a batch on the CPU: a large one is first distributed over buckets by the high bits of its sources.

A *sort word* (uint64) holds the low bits of the source, the destination, and the position in the batch. The first pass
distributes the words over buckets that fit into a core's cache; then each bucket is sorted by a radix sort. Threads
share the passes by ranges of the batch, then of the buckets.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from suricate.cpu import threads
from suricate.cpu.jit import allocating_kernel, inner, kernel

LARGE = 1 << 15  #: edges from which this is faster than a radix sort of the whole batch
TOP = 10  #: bits by which words are distributed at most: 2**TOP places are written to at a time
BUCKET = 13  #: about as many words go to a bucket, as a power of two
DIGIT = 11  #: bits per pass of the sort of a bucket at most
FEW = 24  #: so few words are sorted by insertion


def top_bits(size: int, bits: int) -> int:
    """Return how many of the high bits of a source select its bucket, in a batch of ``size`` edges."""
    return min(bits, TOP, max(1, (size >> BUCKET).bit_length()))


def can_sort(size: int, bits: int) -> bool:
    """Return whether ``size`` edges with ids of ``bits`` bits fit sort words of 64 bits, and ``size >= LARGE``."""
    return size >= LARGE and 2 * bits - top_bits(size, bits) + (size - 1).bit_length() <= 64


class Buckets(NamedTuple):
    """The sort words of a batch, ``uint64[m]``, in buckets by the high bits of the source.

    Bucket 0 is ``words[:ends[0]]``, bucket ``i > 0`` is ``words[ends[i - 1]:ends[i]]``, each in the order of the batch.
    From high to low, a word has the ``shift`` low bits of the source, ``bits`` bits of destination and ``low`` bits of
    position.
    """

    ends: np.ndarray
    shift: int
    bits: int
    low: int
    words: np.ndarray


def distributed(src: np.ndarray, dst: np.ndarray, bits: int) -> Buckets:
    """Return the edges ``src[i] -> dst[i]``, whose ids have ``bits`` bits, distributed over buckets."""
    size, top = len(src), top_bits(len(src), bits)
    shift, low, buckets = bits - top, (size - 1).bit_length(), 1 << top
    parts = threads.ranges(size, min(threads.parts(size), threads.limit()))
    counts = np.zeros((len(parts), buckets), np.int64)
    threads.run(_count_top, [(src, *part, shift, own) for part, own in zip(parts, counts, strict=True)])
    ends = np.cumsum(counts.T).reshape(buckets, len(parts))  # of each bucket, where what a part has of it ends
    places, words = np.ascontiguousarray(ends.T) - counts, np.empty(size, np.uint64)
    form = shift, bits, low
    threads.run(_distribute, [(src, dst, *part, *form, own, words) for part, own in zip(parts, places, strict=True)])
    return Buckets(np.ascontiguousarray(ends[:, -1]), *form, words)


def shares(buckets: Buckets) -> list[threads.Range]:
    """Return ranges ``(first, last)`` of buckets, ``last`` exclusive, that have about equally many edges."""
    size, count = len(buckets.words), len(buckets.ends)
    parts = threads.parts(size)
    edges = [0, *np.searchsorted(buckets.ends, size * np.arange(1, parts) // parts).tolist(), count]
    return list(pairwise(edges))


def sort_batch(src: np.ndarray, dst: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort the edges ``src[i] -> dst[i]``, whose ids have ``bits`` bits, by source, then destination, in threads.

    Returns ``keys`` and ``order`` as in :class:`suricate.primitives.SortedBatch`. :func:`can_sort` must be true.
    """
    buckets = distributed(src, dst, bits)
    keys, order = np.empty(len(src), np.uint64), np.empty(len(src), np.uint32)
    parts = shares(buckets)
    scratch = np.zeros((len(parts), 2, 1 << DIGIT), np.uint32)
    threads.run(_sort_buckets, [(*ab, *buckets, keys, order, own) for ab, own in zip(parts, scratch, strict=True)])
    return keys, order


class Grouped(NamedTuple):
    """A batch divided into groups by source, so that all edges of a source are in one group.

    Edge i is ``src[i] -> dst[i]``, at position ``place[i]`` of the batch (``uint32[m]`` each). ``parts`` are the
    groups, as ranges of i; edges of one source keep the order of the batch.
    """

    src: np.ndarray
    dst: np.ndarray
    place: np.ndarray
    parts: list[threads.Range]


def grouped(src: np.ndarray, dst: np.ndarray, bits: int) -> Grouped:
    """Return the edges ``src[i] -> dst[i]``, whose ids have ``bits`` bits, in groups by source, for several threads."""
    buckets = distributed(src, dst, bits)
    us, vs, places = (np.empty(len(src), np.uint32) for _ in range(3))
    ranges = shares(buckets)
    threads.run(_unpack, [(*ab, *buckets, us, vs, places) for ab in ranges])
    ends = [0, *(int(buckets.ends[last - 1]) if last else 0 for _, last in ranges)]
    return Grouped(us, vs, places, [(begin, end) for begin, end in pairwise(ends) if begin < end])


@kernel
def _unpack(first, last, ends, shift, bits, low, words, src, dst, place):
    """Write the edges of buckets ``first`` to ``last`` (:class:`Buckets`) to ``src``, ``dst`` and ``place``."""
    lowest = (np.uint64(1) << np.uint64(low)) - np.uint64(1)
    ids = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for bucket in range(first, last):
        above = np.uint64(bucket) << np.uint64(shift)
        for i in range(ends[bucket - 1] if bucket else np.int64(0), ends[bucket]):
            key = words[i] >> np.uint64(low)
            src[i], dst[i], place[i] = above | (key >> np.uint64(bits)), key & ids, words[i] & lowest


@kernel
def _count_top(src, begin, end, shift, counts):
    """For each ``u`` in ``src[begin:end]``, add 1 to ``counts[u >> shift]``, the size of its bucket."""
    for i in range(begin, end):
        counts[src[i] >> shift] += 1


@kernel
def _distribute(src, dst, begin, end, shift, bits, low, places, words):
    """Write the sort words of edges ``begin`` to ``end`` to their buckets; ``places[b]``, the next place, advances."""
    mask = (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
    for i in range(begin, end):
        u = src[i]
        bucket = u >> shift
        word = ((np.uint64(u) & mask) << np.uint64(bits)) | np.uint64(dst[i])
        words[places[bucket]] = (word << np.uint64(low)) | np.uint64(i)
        places[bucket] += 1


@kernel
def _sort_buckets(first, last, ends, shift, bits, low, words, keys, order, counts):
    """Sort buckets ``first`` to ``last``; ``keys`` is a buffer meanwhile, ``words`` lost, ``counts`` zero again."""
    lowest = (np.uint64(1) << np.uint64(low)) - np.uint64(1)
    ids = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for bucket in range(first, last):
        begin, end = ends[bucket - 1] if bucket else np.int64(0), ends[bucket]
        in_keys = _sort_words(words, keys, begin, end, low, low + shift + bits, counts)
        above = np.uint64(bucket) << np.uint64(32 + shift)
        for i in range(begin, end):
            word = keys[i] if in_keys else words[i]
            order[i] = word & lowest
            key = word >> np.uint64(low)
            keys[i] = above | ((key >> np.uint64(bits)) << np.uint64(32)) | (key & ids)


@allocating_kernel
def sort_small(src, dst, bits):
    """Sort the edges ``src[i] -> dst[i]``, whose ids have ``bits`` bits, by source, then destination, in one thread.

    Returns ``keys`` and ``order`` as in :class:`suricate.primitives.SortedBatch`. If source, destination and position
    fit into 64 bits together, such words are sorted once; otherwise there is one sort by destination and one by source.
    """
    n, low = len(src), 0
    while n >> low:
        low += 1
    words, keys, order = np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(n, np.uint32)
    counts = np.zeros((2, 1 << DIGIT if n > FEW else 0), np.uint32)
    if 2 * bits + low <= 64:
        _distribute(src, dst, 0, n, bits, bits, low, np.zeros(1, np.int64), words)
        _sort_buckets(0, 1, np.full(1, n), bits, bits, low, words, keys, order, counts)
        return keys, order
    lowest = (np.uint64(1) << np.uint64(low)) - np.uint64(1)
    for i in range(n):
        words[i] = (np.uint64(dst[i]) << np.uint64(low)) | np.uint64(i)
    if _sort_words(words, keys, 0, n, low, low + bits, counts):
        words, keys = keys, words
    for i in range(n):
        at = words[i] & lowest
        words[i] = (np.uint64(src[at]) << np.uint64(low)) | at
    if _sort_words(words, keys, 0, n, low, low + bits, counts):
        words, keys = keys, words
    for i in range(n):
        at = words[i] & lowest
        order[i], keys[i] = at, (np.uint64(src[at]) << np.uint64(32)) | np.uint64(dst[at])
    return keys, order


@inner
def _sort_words(words, buffer, begin, end, low, high, counts):
    """Sort ``words[begin:end]`` by bits ``[low, high)``; return whether the result is in ``buffer``."""
    if end - begin <= FEW:
        _insertion_sort(words, begin, end)
        return False
    return _radix_sort(words, buffer, begin, end, low, high, counts)


@inner
def _insertion_sort(words, begin, end):
    """Sort ``words[begin:end]`` in place, by insertion."""
    for i in range(begin + 1, end):
        word, at = words[i], i
        while at > begin and words[at - 1] > word:
            words[at] = words[at - 1]
            at -= 1
        words[at] = word


@inner
def _radix_sort(words, buffer, begin, end, low, high, counts):
    """Sort ``words[begin:end]`` by bits ``[low, high)``; return whether the result is in ``buffer``, not in ``words``.

    No word has bits from ``high`` on. ``counts`` (uint32[2, 2**DIGIT]) is scratch memory, zero before and after.
    """
    width = 4
    while width < DIGIT and (1 << width) < end - begin:
        width += 1
    passes = (high - low + width - 1) // width
    width = (high - low + passes - 1) // passes
    mask, shift = (np.uint64(1) << np.uint64(width)) - np.uint64(1), np.uint64(low)
    own, after = counts[0], counts[1]
    for i in range(np.uint64(begin), np.uint64(end)):
        own[(words[i] >> shift) & mask] += np.uint32(1)
    in_spare = False
    for _ in range(passes):
        if in_spare:
            _radix_pass(buffer, words, begin, end, shift, np.uint64(width), mask, own, after)
        else:
            _radix_pass(words, buffer, begin, end, shift, np.uint64(width), mask, own, after)
        in_spare = not in_spare
        own, after = after, own
        shift += np.uint64(width)
    counts[:, : mask + 1] = 0
    return in_spare


@inner
def _radix_pass(words, buffer, begin, end, shift, width, mask, own, after):
    """Move ``words[begin:end]`` to ``buffer[begin:end]``, sorted by one digit; the pass is stable.

    Args:
        shift, width, mask: the digit of a word is ``words[i] >> shift & mask``, where ``mask`` has ``width`` one bits.
        own: number of words per value of this digit; overwritten.
        after: written: number of words per value of the next digit.
    """
    total = np.uint32(begin)
    for digit in range(mask + np.uint64(1)):
        total, own[digit], after[digit] = total + own[digit], total, 0
    for i in range(np.uint64(begin), np.uint64(end)):
        rest = words[i] >> shift
        digit = rest & mask
        at = own[digit]
        buffer[at] = words[i]
        own[digit] = at + np.uint32(1)
        after[(rest >> width) & mask] += np.uint32(1)
