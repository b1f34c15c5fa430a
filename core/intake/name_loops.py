"""The hash table from names to vertices: open addressing without tombstones, in Numba.

A table is a tuple of arrays (``suricate.intake.name_table.Table``). ``slots`` is ``uint64[n, 2]``: a slot is empty,
(0, 0), or holds ``hash << 32 | id``, whose hash is never 0, and the *word* of the name: an integer itself, for a text
``place << 24 | length`` of its bytes in ``heap`` (uint8). By id: ``words``, ``counts`` (-1: no name), ``since`` (the
slide in which it was given out). ``free`` and ``freed`` are bitmaps of the ids to be given out next, and from the next
slide on. ``head`` has counters, see ``name_values``, and ``kept`` what they were after the last change that was kept.

A loop runs to its end whatever interrupts Python. So the names that :func:`resolve` adds, and the counts that
:func:`recount` changes, are a pending change until :func:`keep` keeps or :func:`undo` undoes it, in one loop: ``head``
tells that there is one, and differs from ``kept`` by the ids that are its names. Their bits in ``free`` stay set.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu.jit import inner, kernel
from suricate.cpu.prefetch import prefetch
from suricate.cpu.vector import load_word, trailing_zeros
from suricate.intake.name_values import (
    AT_ONCE,
    COUNTED,
    DEAD,
    FIRST_FREE,
    KIND,
    LONGEST,
    NEXT_SLIDE,
    NUM_FREE,
    NUM_FREED,
    NUM_IDS,
    NUM_NAMES,
    PENDING,
    SERIAL,
    SLIDE,
    TIMES,
    USED,
)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SPREAD = np.uint32(0x9E3779B1)
_NONE = np.uint32(EMPTY)
_SHIFT, _LENGTH = np.uint64(32), np.uint64(0xFFFFFFFF)
WIDTH = LONGEST.bit_length()  #: bits of the length of a text, below its place
_WIDTH, _LONGEST, _ONE = np.uint64(WIDTH), np.uint64(LONGEST), np.uint64(1)
_AHEAD = 16  # names ahead at which their slots are prefetched


@inner
def mix(key):
    """Return a 64-bit hash of the 64-bit ``key``, which mixes its bits."""
    key = (key ^ (key >> np.uint64(30))) * _GOLDEN
    return key ^ (key >> np.uint64(29))


@inner
def word_at(data, at, length):
    """Return the first ``min(length, 8)`` bytes of ``data[at:]`` as a uint64 (the first byte is the lowest)."""
    if at + 8 <= len(data):
        word = load_word(data, at)
        return word if length >= 8 else word & ((_ONE << np.uint64(8 * length)) - _ONE)
    word = np.uint64(0)
    for byte in range(min(length, 8)):
        word |= np.uint64(data[at + byte]) << np.uint64(8 * byte)
    return word


@inner
def same_text(data, at, heap, place, length):
    """Return whether ``data[at : at + length]`` and ``heap[place : place + length]`` are equal."""
    while length > 0:
        if word_at(data, at, length) != word_at(heap, place, length):
            return False
        at, place, length = at + 8, place + 8, length - 8
    return True


@inner
def text_code(data, at, length):
    """Return the hash (uint32, not 0) of the text in ``data[at : at + length]``."""
    code = np.uint64(length) * _GOLDEN
    while length > 0:
        code = (code ^ word_at(data, at, length)) * _GOLDEN
        code ^= code >> _SHIFT
        at, length = at + 8, length - 8
    return np.uint32(mix(code) >> _SHIFT) | np.uint32(1)


@inner
def number_code(number):
    """Return the hash (uint32, not 0) of an integer (uint64)."""
    return np.uint32(mix(mix(number)) >> _SHIFT) | np.uint32(1)


@inner
def slot_of(code, shift):
    """Return the slot where the search for hash ``code`` begins, in a table of ``2 ** (32 - shift)`` slots."""
    return np.int64(np.uint32(code * _SPREAD)) >> shift  # Numba would multiply in 64 bits


@inner
def _shift_of(slots):
    return 32 - trailing_zeros(np.int64(len(slots)))


@inner
def _next_set(bits, at, end):
    """Return the first set bit of ``bits`` from ``at`` on, or ``end`` if none is below it."""
    while at < end:
        word = bits[at >> 6] >> np.uint64(at & 63)
        if word != 0:
            return min(at + trailing_zeros(np.int64(word)), end)
        at = (at | 63) + 1
    return end


@kernel
def hash_names(keys, data, text, codes):
    """Write the hash of each key to ``codes``: an integer or, with ``text``, ``start << 32 | length`` in ``data``."""
    for index in range(len(keys)):
        key = keys[index]
        codes[index] = text_code(data, np.int64(key >> _SHIFT), np.int64(key & _LENGTH)) if text else number_code(key)


@inner
def _next_id(free, head):
    """Return the lowest free id, or if there is none the next new id; updates ``head``, in place."""
    if head[NUM_FREE] == 0:
        head[NUM_IDS] += 1
        return head[NUM_IDS] - 1
    at = _next_set(free, head[FIRST_FREE], 64 * len(free))
    head[FIRST_FREE], head[NUM_FREE] = at + 1, head[NUM_FREE] - 1
    return at


@inner
def _begin(head):
    """Begin a change that is pending, unless one is."""
    if head[PENDING] == 0:
        head[SERIAL] += 1
        head[PENDING], head[COUNTED] = head[SERIAL], 0


@kernel
def resolve(keys, data, kind, codes, begin, ids, adds, table):
    """Map the names ``keys[begin:]`` to ids; return the position reached, less than ``len(keys)`` if an array is full.

    Args:
        keys: uint64: integers, or places of texts in ``data`` (``start << 32 | length``).
        data: uint8: the bytes of the texts.
        kind: what names are, an index of ``KINDS``; 0: texts.
        codes: uint32: the hash of each key.
        begin: the position of the first key to map.
        ids: uint32: receives the id of each key.
        adds: whether unknown names are added, by a pending change, until an array is full; else their id is EMPTY.
        table: the arrays of the table, changed in place if names are added.
    """
    slots, words, heap, counts, _since, free, _freed, head, _kept = table
    text, shift = kind == 0, _shift_of(slots)
    last, total, most = len(slots) - 1, len(keys), len(slots) // 2
    flat = slots.reshape(-1)
    for index in range(begin, total):
        if index + _AHEAD < total:
            prefetch(flat, 2 * slot_of(codes[index + _AHEAD], shift))
            if text:
                near = slot_of(codes[index + _AHEAD // 2], shift)
                if slots[near, 0] != 0:
                    prefetch(heap, np.int64(slots[near, 1] >> _WIDTH))
        key, code = keys[index], codes[index]
        start, length = np.int64(key >> _SHIFT), np.int64(key & _LENGTH)
        slot = slot_of(code, shift)
        while slots[slot, 0] != 0:
            if np.uint32(slots[slot, 0] >> _SHIFT) == code:
                word = slots[slot, 1]
                if not text and word == key:
                    break
                fits = text and np.int64(word & _LONGEST) == length
                if fits and same_text(data, start, heap, np.int64(word >> _WIDTH), length):
                    break
            slot = (slot + 1) & last
        if slots[slot, 0] == 0:
            if not adds:
                ids[index] = _NONE
                continue
            full = head[NUM_IDS] == len(words) and head[NUM_FREE] == 0
            if full or head[NUM_NAMES] >= most or (text and head[USED] + length > len(heap)):
                return index
            _begin(head)
            word = key
            if text:
                place = head[USED]
                for at in range(length):  # a slice assignment takes a second to compile
                    heap[place + at] = data[start + at]
                word = (np.uint64(place) << _WIDTH) | np.uint64(length)
                head[USED] += length
            vertex = _next_id(free, head)
            slots[slot, 0] = (np.uint64(code) << _SHIFT) | np.uint64(vertex)
            slots[slot, 1] = words[vertex] = word
            counts[vertex], head[KIND] = 0, kind
            head[NUM_NAMES] += 1
        ids[index] = np.uint32(slots[slot, 0] & _LENGTH)
    return total


@kernel
def recount(up, down, zeros, table):
    """Add one to the count of each id in ``up``, then subtract one for each in ``down``, by a pending change.

    Return the number of ids in ``down`` whose count reached 0, which are written to ``zeros``. If a count would become
    negative, all counts stay as they were, and ``-1 - index`` is returned, where ``index`` is the position of that id.
    """
    counts, head, found = table[3], table[7], 0
    _add(up, len(up), 1, counts)
    for index in range(len(down)):
        vertex = np.int64(down[index])
        if counts[vertex] <= 0:
            _add(down, index, 1, counts)
            _add(up, len(up), -1, counts)
            return -1 - index
        counts[vertex] -= 1
        if counts[vertex] == 0:
            zeros[found] = down[index]
            found += 1
    _begin(head)
    head[COUNTED] = 1
    return found


@inner
def _add(ids, number, step, counts):
    """Add ``step`` to ``counts[id]`` for each occurrence of an id in ``ids[:number]``."""
    for index in range(number):
        counts[np.int64(ids[index])] += step


@kernel
def keep(up, gone, when, slides, table):
    """Keep the pending change, if there is one; raise counts, forget names and begin the next slide with it.

    Args:
        up: uint32: add one to the count of each of these ids.
        gone: uint32: forget the names of these ids, ascending, all of which have one.
        when: when these ids are free: RESERVED, NEXT_SLIDE or AT_ONCE.
        slides: 1 to begin the next slide, else 0.
        table: the arrays of the table, changed in place.
    """
    counts, since, free, freed, head, kept = table[3], table[4], table[5], table[6], table[7], table[8]
    at = _next_set(free, kept[FIRST_FREE], head[FIRST_FREE])
    while at < head[FIRST_FREE]:
        since[at] = head[SLIDE]
        free[at >> 6] &= ~(_ONE << np.uint64(at & 63))
        at = _next_set(free, at + 1, head[FIRST_FREE])
    for vertex in range(kept[NUM_IDS], head[NUM_IDS]):
        since[vertex] = head[SLIDE] if counts[vertex] >= 0 else 0
    _add(up, len(up), 1, counts)
    for index in range(len(gone)):
        _remove(np.int64(gone[index]), table)
        if when == NEXT_SLIDE:
            _set(freed, np.int64(gone[index]))
            head[NUM_FREED] += 1
    if when == AT_ONCE:
        number = len(gone)
        while number > 0 and np.int64(gone[number - 1]) == head[NUM_IDS] - 1:  # at the end: they never were
            head[NUM_IDS], number = head[NUM_IDS] - 1, number - 1
        for index in range(number):
            _free(np.int64(gone[index]), free, head)
    if len(gone):
        head[TIMES] += 1
    if slides:
        head[SLIDE] += 1
        at = _next_set(freed, 0, head[NUM_IDS]) if head[NUM_FREED] > 0 else head[NUM_IDS]
        while at < head[NUM_IDS]:
            freed[at >> 6] &= ~(_ONE << np.uint64(at & 63))
            _free(at, free, head)
            at = _next_set(freed, at + 1, head[NUM_IDS])
        head[NUM_FREED] = 0
    head[PENDING] = 0
    for index in range(len(head)):
        kept[index] = head[index]


@kernel
def undo(up, down, table):
    """Undo the pending change and its recount: forget added names, free their ids, restore all counts."""
    counts, free, head, kept = table[3], table[5], table[7], table[8]
    if head[COUNTED] != 0:
        _add(down, len(down), 1, counts)
        _add(up, len(up), -1, counts)
    at = _next_set(free, kept[FIRST_FREE], head[FIRST_FREE])
    while at < head[FIRST_FREE]:
        _remove(at, table)
        at = _next_set(free, at + 1, head[FIRST_FREE])
    for vertex in range(kept[NUM_IDS], head[NUM_IDS]):
        if counts[vertex] >= 0:
            _remove(vertex, table)
    head[NUM_IDS], head[NUM_FREE], head[FIRST_FREE] = kept[NUM_IDS], kept[NUM_FREE], kept[FIRST_FREE]
    head[KIND], head[PENDING] = kept[KIND], 0


@inner
def _set(bits, at):
    bits[at >> 6] |= _ONE << np.uint64(at & 63)


@inner
def _free(vertex, free, head):
    """Make an id free."""
    _set(free, vertex)
    head[FIRST_FREE] = min(vertex, head[FIRST_FREE]) if head[NUM_FREE] else vertex
    head[NUM_FREE] += 1


@inner
def _remove(vertex, table):
    """Remove the name of an id from the hash table; later entries move up to close the gap."""
    slots, words, heap, counts, head = table[0], table[1], table[2], table[3], table[7]
    last, shift, text = len(slots) - 1, _shift_of(slots), head[KIND] == 0
    hole = slot_of(_code_of(words[vertex], heap, text), shift)
    while np.int64(slots[hole, 0] & _LENGTH) != vertex or slots[hole, 0] == 0:
        hole = (hole + 1) & last
    probe = (hole + 1) & last
    while slots[probe, 0] != 0:
        home = slot_of(np.uint32(slots[probe, 0] >> _SHIFT), shift)
        if ((probe - home) & last) >= ((probe - hole) & last):
            slots[hole, 0], slots[hole, 1] = slots[probe, 0], slots[probe, 1]
            hole = probe
        probe = (probe + 1) & last
    slots[hole, 0], counts[vertex] = 0, -1
    head[NUM_NAMES] -= 1
    if text:
        head[DEAD] += np.int64(words[vertex] & _LONGEST)


@kernel
def rehash(old, slots):
    """Copy the entries of the hash table ``old`` to the empty ``slots``."""
    last, shift = len(slots) - 1, _shift_of(slots)
    for entry in range(len(old)):
        if old[entry, 0] != 0:
            slot = slot_of(np.uint32(old[entry, 0] >> _SHIFT), shift)
            while slots[slot, 0] != 0:
                slot = (slot + 1) & last
            slots[slot, 0], slots[slot, 1] = old[entry, 0], old[entry, 1]


@kernel
def enter(ids, text, slots, words, heap):
    """Insert the names of ``ids``, which are all different and absent, into the hash table ``slots``, in place.

    Args:
        ids: uint32.
        text: whether names are texts.
        words: uint64 per id: the integer, or place and length of the text in ``heap``.
    """
    last, shift = len(slots) - 1, _shift_of(slots)
    for index in range(len(ids)):
        vertex = np.int64(ids[index])
        code = _code_of(words[vertex], heap, text)
        slot = slot_of(code, shift)
        while slots[slot, 0] != 0:
            slot = (slot + 1) & last
        slots[slot, 0], slots[slot, 1] = (np.uint64(code) << _SHIFT) | np.uint64(vertex), words[vertex]


@inner
def _code_of(word, heap, text):
    return text_code(heap, np.int64(word >> _WIDTH), np.int64(word & _LONGEST)) if text else number_code(word)


@kernel
def compact(slots, words, counts, heap, into):
    """Copy all texts from ``heap`` to ``into``, in the order of ids, without gaps; return the number of bytes written.

    The places of the texts in ``slots`` and ``words`` are changed in place to those in ``into``; ``counts`` of ids
    without a name are negative.
    """
    used = np.int64(0)
    for vertex in range(len(words)):
        if counts[vertex] >= 0:
            place, length = np.int64(words[vertex] >> _WIDTH), np.int64(words[vertex] & _LONGEST)
            for at in range(length):
                into[used + at] = heap[place + at]
            words[vertex] = (np.uint64(used) << _WIDTH) | np.uint64(length)
            used += length
    for slot in range(len(slots)):
        if slots[slot, 0] != 0:
            slots[slot, 1] = words[np.int64(slots[slot, 0] & _LENGTH)]
    return used


@kernel
def copy_texts(ids, words, heap, offsets, into):
    """Copy the text of ``ids[i]`` from ``heap`` to ``into[offsets[i] : offsets[i + 1]]``, for every i.

    ``words[id]`` (uint64) has the place of a text in ``heap`` above the lowest 24 bits, which are its length in bytes;
    ``offsets`` has one entry more than ``ids``, and its differences are these lengths.
    """
    for index in range(len(ids)):
        place, start = np.int64(words[np.int64(ids[index])] >> _WIDTH), offsets[index]
        for at in range(offsets[index + 1] - start):
            into[start + at] = heap[place + at]
