"""Loops over the events of a window: a list of live events per pair, and what changes in a slide.

Events lie in a ring in the order (time, position); the live events of a pair are linked, the oldest first. Pairs have
numbers, found through a hash table of lines of 64 bytes, of which one instruction compares all eight tags: most lookups
read one line, and have no branch that is hard to predict. All that a loop needs of a pair lies in one row of 64 bytes.
A deletion removes the newest live event of its pair, a set removes all; a removed event stays in the ring until its
time has passed.

``key`` is ``src << 32 | dst`` (``uint64``), ``slide`` the number of the slide; event number ``at`` is at place ``at &
mask`` of the ring; ``sums``: a sum is kept per pair. ``state`` is ``int64[8]``: the numbers of the oldest event in the
ring and of the next to enter; how many numbers pairs have had, how many of these are free, and how many pairs were
touched; how many deletions and sets found no event, and how many events they removed; 1 + the number of a pair whose
sum overflowed, or 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cpu.prefetch import prefetch
from suricate.cpu.vector import choose, match8, trailing_zeros

FREE = np.uint32(0xFFFFFFFF)  #: the tag of a free place of the table
LINE, TAGS = (
    16,
    8,
)  #: words of a line of the table, and how many of these are tags: the numbers of pairs are behind them
LAST, FIRST, SUM, COUNT, MIN, MAX = range(6)  #: how the live events of a pair make its weight
COMBINE = {"last": LAST, "first": FIRST, "sum": SUM, "count": COUNT, "min": MIN, "max": MAX}
FRONT, BACK, PAIRS, FREED, TOUCHED, UNMATCHED, TAKEN, OVERFLOW = range(8)  #: fields of the state
KEY, HEAD, TAIL, LIVE, TOTAL, HELD, SLIDE = range(
    7
)  #: fields of a pair: HELD: the graph has it; SLIDE: that touched it
SMALLEST, LARGEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SHIFT, _LOW, _LARGEST_TAG = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFE)
_ID = 0xFFFFFFFF
_AHEAD = 32  # events ahead at which the table is prefetched; their pairs at half of that


class Kept(NamedTuple):
    """The ring of live events: arrays of ``2**k`` entries; event number ``i`` is at place ``i % 2**k``.

    The live events of a pair form a list: ``before`` and ``after`` have, at the place of an event, the numbers of the
    next older and newer one, or -1.
    """

    time: np.ndarray  #: int64
    pair: np.ndarray  #: uint32
    alive: np.ndarray  #: uint8: no deletion or set took it
    before: np.ndarray  #: int64, the next older and
    after: np.ndarray  #: the next newer live event of the pair, or -1
    entered: np.ndarray  #: int64, the number of the slide; empty unless floats are summed
    weight: np.ndarray  #: int64 or float64; empty without weights


class Pairs(NamedTuple):
    """The pairs by number, the hash table that finds the number of a pair, and the ``free`` numbers, which no pair has.

    ``row`` has for each pair what loops need: its key, the oldest and the newest live event, how many there are, the
    sum of their weights, whether the graph has the pair, and the last slide that touched it.
    """

    row: np.ndarray  #: int64[n, 8]
    held: np.ndarray  #: the weight that the graph has, as ``Kept.weight``
    table: np.ndarray  #: uint32, lines: a power of two of them
    free: np.ndarray  #: uint32
    touched: np.ndarray  #: uint32, numbers of pairs that may change in this slide


@inner
def tag_of(key):
    """Return a hash of a key, below :data:`FREE`; its lowest bits are the line of the table searched first for it."""
    mixed = (key ^ (key >> _SHIFT)) * _GOLDEN
    return np.uint32(min((mixed ^ (mixed >> _SHIFT)) & _LOW, _LARGEST_TAG))


@inner
def line_of(table, tag):
    """Return the number of the first line of ``table`` that is searched for ``tag``."""
    return np.int64(tag) & (len(table) // LINE - 1)


@inner
def free_in(table, line):
    """Return a mask of the free places of a line of ``table``: bit i for place i."""
    return match8(table, line * LINE, FREE)


@inner
def find_pair(pairs, key):
    """Return the place of ``key`` in the table ``pairs.table``, or the free place where it would go.

    The search begins in the line of its tag, and continues in the next line while a line is full.
    """
    table, tag = pairs.table, tag_of(key)
    line = line_of(table, tag)
    while True:
        alike = match8(table, line * LINE, tag)
        while alike:
            at = line * LINE + trailing_zeros(alike)
            if np.uint64(pairs.row[np.int64(table[at + TAGS]), KEY]) == key:
                return at
            alike &= alike - 1
        free = free_in(table, line)
        if free:
            return line * LINE + trailing_zeros(free)
        line = (line + 1) & (len(table) // LINE - 1)


@inner
def put(table, at, tag, pair):
    """Write the number of a pair, and the tag of its key, to a place of the hash table."""
    table[at], table[at + TAGS] = tag, pair


@inner
def movable(table, line, hole):
    """Return the place of an entry in ``line`` that may move to the line ``hole``; -1 if there is none.

    It may if the search for it begins at ``hole`` or at a line before, so that the search passes ``hole``.
    """
    mask = len(table) // LINE - 1
    for at in range(line * LINE, line * LINE + TAGS):
        if table[at] != FREE and (line - line_of(table, table[at])) & mask >= (line - hole) & mask:
            return np.int64(at)
    return np.int64(-1)


@inner
def remove_place(table, at):
    """Empty place ``at`` of the hash ``table``; if its line was full, move up entries from the lines behind.

    Probing therefore needs no tombstones.
    """
    mask, line = len(table) // LINE - 1, at // LINE
    was_full = free_in(table, line) == 0
    table[at] = FREE
    while was_full:
        line = (line + 1) & mask
        was_full = free_in(table, line) == 0
        other = movable(table, line, at // LINE)
        if other >= 0:
            put(table, at, table[other], table[other + TAGS])
            table[other] = FREE
            at = other


@inner
def touch(pairs, pair, slide, state):
    """Add ``pair`` to ``pairs.touched``, the pairs that may change in this ``slide``, unless it is there.

    ``state[TOUCHED]`` is their number.
    """
    if pairs.row[pair, SLIDE] != slide:
        pairs.row[pair, SLIDE] = slide
        pairs.touched[state[TOUCHED]] = pair
        state[TOUCHED] += 1


@inner
def unlink(kept, pairs, pair, at, mask):
    """Remove event ``at`` from the list of the live events of ``pair``; ``mask``: size of the ring less 1."""
    left, right = kept.before[at & mask], kept.after[at & mask]
    if left >= 0:
        kept.after[left & mask] = right
    else:
        pairs.row[pair, HEAD] = right
    if right >= 0:
        kept.before[right & mask] = left
    else:
        pairs.row[pair, TAIL] = left
    pairs.row[pair, LIVE] -= 1


@inner
def overflows(total, number):
    """Return whether ``total + number`` overflows int64; checked beforehand, as the compiler assumes no overflow."""
    return total > LARGEST - number if number > 0 else total < SMALLEST - number


@inner
def add_whole(pairs, pair, number, state):
    """Add the integer ``number`` to the sum of ``pair``; an overflow of int64 is recorded in ``state[OVERFLOW]``."""
    total = pairs.row[pair, TOTAL]
    if overflows(total, number):
        state[OVERFLOW] = pair + 1
    pairs.row[pair, TOTAL] = total + number


@inner
def pair_for(pairs, key, state):
    """Return the number of the pair with this ``key``; a new pair gets a free number and an entry in the table."""
    at = find_pair(pairs, key)
    if pairs.table[at] != FREE:
        return np.int64(pairs.table[at + TAGS])
    if state[FREED] > 0:
        state[FREED] -= 1
        pair = np.int64(pairs.free[state[FREED]])
    else:
        pair = state[PAIRS]
        state[PAIRS] += 1
    put(pairs.table, at, tag_of(key), pair)
    row = pairs.row[pair]
    row[KEY], row[HEAD], row[TAIL], row[LIVE] = np.int64(key), -1, -1, 0
    row[TOTAL], row[HELD], row[SLIDE] = 0, 0, -1
    return pair


@inner
def look_ahead(pairs, keys, i):
    """Prefetch what the events after ``keys[i]`` need: lines of the table, then the rows of the pairs found there.

    The line is that of the event ``_AHEAD`` places ahead, the row that of the event half as far ahead.
    """
    table = pairs.table
    if i + _AHEAD < len(keys):
        prefetch(table, line_of(table, tag_of(keys[i + _AHEAD])) * LINE)
    if i + _AHEAD // 2 < len(keys):
        tag = tag_of(keys[i + _AHEAD // 2])
        line = line_of(table, tag)
        alike = match8(table, line * LINE, tag)
        pair = np.int64(table[line * LINE + TAGS + trailing_zeros(alike | 1 << (TAGS - 1))])
        prefetch(pairs.row, choose(alike != 0, pair, np.int64(0)) * 8)


@kernel
def expire(kept, pairs, cutoff, slide, sums, state):
    """Remove the events with times below ``cutoff`` from the front of the ring; return how many of them were live.

    ``kept``, ``pairs`` and ``state`` are changed in place; pairs that lose a live event are added to ``pairs.touched``.
    """
    left, mask = 0, len(kept.time) - 1
    while state[FRONT] < state[BACK] and kept.time[state[FRONT] & mask] < cutoff:
        at = state[FRONT] & mask
        ahead = (at + _AHEAD) & mask
        if kept.pair[ahead] < state[PAIRS]:
            prefetch(pairs.row, np.int64(kept.pair[ahead]) * 8)
        if kept.alive[at] != 0:
            pair = np.int64(kept.pair[at])
            unlink(kept, pairs, pair, state[FRONT], mask)
            if sums:
                add_whole(pairs, pair, -np.int64(kept.weight[at]), state)
            touch(pairs, pair, slide, state)
            left += 1
        state[FRONT] += 1
    return left


@kernel
def ends_between(kept, pairs, first, src, dst):
    """Write the ends of the events from number ``first`` on, 0 for removed ones."""
    mask = len(kept.time) - 1
    for i in range(len(src)):
        at, ahead = (first + i) & mask, kept.pair[(first + i + _AHEAD) & mask]
        if ahead < len(pairs.row):
            prefetch(pairs.row, np.int64(ahead) * 8)
        key = pairs.row[np.int64(kept.pair[at]), KEY] if kept.alive[at] != 0 else 0
        src[i], dst[i] = key >> 32 & _ID, key & _ID


@inner
def take_newest(kept, pairs, key, everything, slide, sums, state):
    """Remove the newest live event of the pair with this ``key``, or all of them if ``everything`` is true.

    ``kept``, ``pairs`` and ``state`` are changed in place: ``state[TAKEN]`` counts events removed, ``state[UNMATCHED]``
    calls that found none.
    """
    mask, place = len(kept.time) - 1, find_pair(pairs, key)
    pair = np.int64(pairs.table[place + TAGS])
    if pairs.table[place] == FREE or pairs.row[pair, LIVE] == 0:
        state[UNMATCHED] += 1
        return
    while pairs.row[pair, LIVE] > 0:
        at = pairs.row[pair, TAIL]
        unlink(kept, pairs, pair, at, mask)
        kept.alive[at & mask] = 0
        state[TAKEN] += 1
        if sums:
            add_whole(pairs, pair, -np.int64(kept.weight[at & mask]), state)
        if not everything:
            break
    touch(pairs, pair, slide, state)


@kernel
def enter(kept, pairs, time, first, keys, weight, kind, slide, sums, state):
    """Apply the events of a ``slide`` in order: insertions enter the ring, deletions and sets remove live events.

    Args:
        kept, pairs, state: the ring; changed in place.
        time, first: times (int64); if ``time`` is empty, event i has the time ``first + i``.
        keys, weight: of the events; ``weight`` is empty without weights.
        kind: 1: insertion, 0: set, -1: deletion; empty: all are insertions.
        sums: whether a sum is kept per pair.
    """
    mask = len(kept.time) - 1
    for i in range(len(keys)):
        look_ahead(pairs, keys, i)
        what = 1 if len(kind) == 0 else kind[i]
        if what < 1:
            take_newest(kept, pairs, keys[i], what == 0, slide, sums, state)
        if what < 0:
            continue
        pair = pair_for(pairs, keys[i], state)
        at, here, tail = state[BACK], state[BACK] & mask, pairs.row[pair, TAIL]
        kept.time[here], kept.pair[here], kept.alive[here] = time[i] if len(time) > 0 else first + i, pair, 1
        kept.before[here], kept.after[here] = tail, -1
        if tail >= 0:
            kept.after[tail & mask] = at
        else:
            pairs.row[pair, HEAD] = at
        pairs.row[pair, TAIL] = at
        pairs.row[pair, LIVE] += 1
        if len(weight) > 0:
            kept.weight[here] = weight[i]
        if len(kept.entered) > 0:
            kept.entered[here] = slide
        if sums:
            add_whole(pairs, pair, np.int64(weight[i]), state)
        touch(pairs, pair, slide, state)
        state[BACK] += 1


@inner
def sum_by_slides(kept, values, at, mask):
    """Return the sum, a float, of ``values`` of event number ``at`` and of the newer live events of its pair.

    Values that entered in one slide are summed first, then these sums in order; nothing is subtracted. ``mask``: size
    of the ring less 1.
    """
    total, part, slide = 0.0, 0.0, kept.entered[at & mask]
    while at >= 0:
        if kept.entered[at & mask] != slide:
            total, part, slide = total + part, 0.0, kept.entered[at & mask]
        part += values[at & mask]
        at = kept.after[at & mask]
    return total + part


@inner
def extreme(kept, values, at, mask, least):
    """Return the least of ``values`` (the largest unless ``least``) of event ``at`` and the newer ones of its pair.

    ``mask``: size of the ring less 1.
    """
    best = values[at & mask]
    while at >= 0:
        value = values[at & mask]
        if value != best and (value < best) == least:
            best = value
        at = kept.after[at & mask]
    return best


@inner
def value_of(kept, values, row, combine, kind):
    """Return the values of a pair's live events combined into one, as a number of the NumPy type ``kind``.

    ``values``: by place in the ring. ``row``: the row of the pair, which has live events. ``combine``: a value of
    :data:`COMBINE`; with ``SUM`` the values are floats.
    """
    mask = len(kept.time) - 1
    if combine == COUNT:
        return kind(row[LIVE])
    if combine == LAST:
        return kind(values[row[TAIL] & mask])
    if combine == FIRST:
        return kind(values[row[HEAD] & mask])
    if combine == SUM:
        return kind(sum_by_slides(kept, values, row[HEAD], mask))
    return kind(extreme(kept, values, row[HEAD], mask, combine == MIN))


@kernel
def net_change(kept, pairs, combine, sums, state, gone, new, value, fresh, number):
    """List the pairs that left the graph in this slide, and those that are new or have another weight.

    Only the pairs in ``pairs.touched`` are compared. Pairs without live events are removed from the table.

    Args:
        kept, pairs, state: the ring, see :class:`Kept` and :class:`Pairs`; changed in place.
        combine: the rule that combines the weights of a pair's live events, a value of ``COMBINE``.
        sums: whether sums of weights are kept per pair, and read.
        gone: ``uint32[2, k]``, written: sources and destinations of pairs that left.
        new: likewise: those of pairs that are new or have another weight.
        value: written: the weights of the ``new`` pairs; empty if edges have none.
        fresh: uint8, written: 1: a new pair; 0: another weight; 2: at most the attributes differ.
        number: written: the numbers of the ``new`` pairs; if it is empty, pairs of which only attributes may differ are
            not listed.

    Returns:
        The number of gone and of new pairs, and the largest id of the new pairs, -1 if there are none.
    """
    lost, gained, top, weighted, lists_all = 0, 0, np.int64(-1), len(value) > 0, len(number) > 0
    for i in range(state[TOUCHED]):
        if i + _AHEAD < state[TOUCHED]:
            prefetch(pairs.row, np.int64(pairs.touched[i + _AHEAD]) * 8)
        if i + _AHEAD // 2 < state[TOUCHED]:
            soon = pairs.row[np.int64(pairs.touched[i + _AHEAD // 2])]
            if soon[LIVE] == 0:
                prefetch(pairs.table, line_of(pairs.table, tag_of(np.uint64(soon[KEY]))) * LINE)
        pair = np.int64(pairs.touched[i])
        row = pairs.row[pair]
        if row[LIVE] == 0:
            if row[HELD] != 0:
                gone[0, lost], gone[1, lost] = row[KEY] >> 32 & _ID, row[KEY] & _ID
                lost += 1
            remove_place(pairs.table, find_pair(pairs, np.uint64(row[KEY])))
            pairs.free[state[FREED]] = pair
            state[FREED] += 1
            continue
        same = row[HELD] != 0
        if weighted:
            kind = value.dtype.type
            now = kind(row[TOTAL]) if sums else value_of(kept, kept.weight, row, combine, kind)
            same = row[HELD] != 0 and now == pairs.held[pair]
        if same and not lists_all:
            continue
        if weighted:
            value[gained] = pairs.held[pair] = now
        if lists_all:
            number[gained] = pair
        src, dst = row[KEY] >> 32 & _ID, row[KEY] & _ID
        new[0, gained], new[1, gained], fresh[gained] = src, dst, 2 if same else row[HELD] == 0
        top = max(top, src, dst)
        gained += 1
        row[HELD] = 1
    state[TOUCHED] = 0
    return lost, gained, top


@kernel
def fill_table(pairs, number):
    """Put the pairs below ``number`` that have live events into the empty hash table ``pairs.table``."""
    for pair in range(number):
        if pairs.row[pair, LIVE] > 0:
            key = np.uint64(pairs.row[pair, KEY])
            put(pairs.table, find_pair(pairs, key), tag_of(key), pair)


@kernel
def skip_taken(kept, state):
    """Move the front of the ring (``state[FRONT]``) past events that are not ``alive``, to the oldest live event."""
    while state[FRONT] < state[BACK] and kept.alive[state[FRONT] & (len(kept.time) - 1)] == 0:
        state[FRONT] += 1
