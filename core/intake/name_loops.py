"""The hash table from names to vertices: open addressing without tombstones, in Numba.

The table is ``uint64[slots, 2]``. A slot is empty, (0, 0), or holds ``hash << 32 | id``, whose hash is never 0, and the
*word* of the name: an integer itself, for a text ``place << 24 | length`` of its bytes in ``heap`` (uint8). ``words``
has the word of every id. ``free`` is a bitmap of the ids to be given out next. ``head``: counters, see ``name_values``.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu.jit import inner, kernel
from suricate.cpu.prefetch import prefetch
from suricate.cpu.vector import load_word, trailing_zeros
from suricate.intake.name_values import DEAD, FIRST_FREE, LONGEST, NUM_FREE, NUM_IDS, NUM_NAMES, SLIDE, USED

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SPREAD = np.uint32(0x9E3779B1)
_NONE = np.uint32(EMPTY)
_SHIFT, _LENGTH = np.uint64(32), np.uint64(0xFFFFFFFF)
_WIDTH, _LONGEST, _ONE = np.uint64(24), np.uint64(LONGEST), np.uint64(1)
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


@kernel
def hash_names(keys, data, text, codes):
    """Write the hash of each of ``keys`` (uint64) to ``codes`` (uint32).

    If ``text``, a key is ``start << 32 | length`` of a text in the bytes ``data``, else it is an integer.
    """
    for index in range(len(keys)):
        key = keys[index]
        codes[index] = text_code(data, np.int64(key >> _SHIFT), np.int64(key & _LENGTH)) if text else number_code(key)


@inner
def _next_id(free, head):
    """Return the lowest free id and clear its bit in ``free``, in place; if none is free, the next new id.

    ``head`` has the counters of ids, which are updated in place.
    """
    if head[NUM_FREE] == 0:
        head[NUM_IDS] += 1
        return head[NUM_IDS] - 1
    at = head[FIRST_FREE]
    while free[at] == 0:
        at += 1
    bit = trailing_zeros(np.int64(free[at]))
    free[at] &= free[at] - _ONE
    head[FIRST_FREE], head[NUM_FREE] = at, head[NUM_FREE] - 1
    return 64 * at + bit


@kernel
def resolve(keys, data, text, codes, begin, ids, adds, state):
    """Map the names ``keys[begin:]`` to ids; return the position reached, less than ``len(keys)`` if an array is full.

    Args:
        keys: uint64: integers, or with ``text`` places of texts in ``data`` (``start << 32 | length``).
        data: uint8: the bytes of the texts.
        text: whether names are texts.
        codes: uint32: the hash of each key.
        begin: the position of the first key to map.
        ids: uint32: receives the id of each key.
        adds: whether unknown names are added, until an array is full; else their id is EMPTY.
        state: the hash table, 32 minus log2 of its size, words, texts, counts and slides by id, the bitmap of free
            ids, and the counters; changed in place if names are added.
    """
    table, shift, words, heap, counts, since, free, head = state
    last, total, most = len(table) - 1, len(keys), len(table) // 2
    flat = table.reshape(-1)
    for index in range(begin, total):
        if index + _AHEAD < total:
            prefetch(flat, 2 * slot_of(codes[index + _AHEAD], shift))
            if text:
                near = slot_of(codes[index + _AHEAD // 2], shift)
                if table[near, 0] != 0:
                    prefetch(heap, np.int64(table[near, 1] >> _WIDTH))
        key, code = keys[index], codes[index]
        start, length = np.int64(key >> _SHIFT), np.int64(key & _LENGTH)
        slot = slot_of(code, shift)
        while table[slot, 0] != 0:
            if np.uint32(table[slot, 0] >> _SHIFT) == code:
                word = table[slot, 1]
                if not text and word == key:
                    break
                fits = text and np.int64(word & _LONGEST) == length
                if fits and same_text(data, start, heap, np.int64(word >> _WIDTH), length):
                    break
            slot = (slot + 1) & last
        if table[slot, 0] == 0:
            if not adds:
                ids[index] = _NONE
                continue
            full = head[NUM_IDS] == len(words) and head[NUM_FREE] == 0
            if full or head[NUM_NAMES] >= most or (text and head[USED] + length > len(heap)):
                return index
            word = key
            if text:
                place = head[USED]
                for at in range(length):  # a slice assignment takes a second to compile
                    heap[place + at] = data[start + at]
                word = (np.uint64(place) << _WIDTH) | np.uint64(length)
                head[USED] += length
            vertex = _next_id(free, head)
            table[slot, 0] = (np.uint64(code) << _SHIFT) | np.uint64(vertex)
            table[slot, 1] = words[vertex] = word
            counts[vertex], since[vertex] = 0, head[SLIDE]
            head[NUM_NAMES] += 1
        ids[index] = np.uint32(table[slot, 0] & _LENGTH)
    return total


@kernel
def rehash(old, table, shift):
    """Copy the entries of the hash table ``old`` to the empty ``table``; ``shift``: 32 minus log2 of its slots."""
    last = len(table) - 1
    for entry in range(len(old)):
        if old[entry, 0] != 0:
            slot = slot_of(np.uint32(old[entry, 0] >> _SHIFT), shift)
            while table[slot, 0] != 0:
                slot = (slot + 1) & last
            table[slot, 0], table[slot, 1] = old[entry, 0], old[entry, 1]


@kernel
def enter(words, ids, heap, text, table, shift):
    """Insert the names of ``ids``, which are all different and absent, into the hash table ``table``, in place.

    Args:
        words: uint64 per id: the integer, or place and length of the text in ``heap``.
        text: whether names are texts.
        shift: 32 minus log2 of the slots of the table.
    """
    last = len(table) - 1
    for index in range(len(ids)):
        vertex = np.int64(ids[index])
        code = _code_of(words[vertex], heap, text)
        slot = slot_of(code, shift)
        while table[slot, 0] != 0:
            slot = (slot + 1) & last
        table[slot, 0], table[slot, 1] = (np.uint64(code) << _SHIFT) | np.uint64(vertex), words[vertex]


@inner
def _code_of(word, heap, text):
    return text_code(heap, np.int64(word >> _WIDTH), np.int64(word & _LONGEST)) if text else number_code(word)


@kernel
def erase(ids, words, heap, text, table, shift, counts, head):
    """Remove the names of ``ids``, all of which have one, from the hash table; later entries move up to close the gaps.

    Args:
        words: uint64 per id: the integer, or place and length of the text in ``heap``.
        text: whether names are texts.
        shift: 32 minus log2 of the slots of ``table``.
        counts: the counts by id, set to -1 for ``ids``.
        head: the counters: the number of names, and of bytes in ``heap`` that no name uses any more, are updated.
    """
    last = len(table) - 1
    for index in range(len(ids)):
        vertex = np.int64(ids[index])
        hole = slot_of(_code_of(words[vertex], heap, text), shift)
        while np.int64(table[hole, 0] & _LENGTH) != vertex or table[hole, 0] == 0:
            hole = (hole + 1) & last
        probe = (hole + 1) & last
        while table[probe, 0] != 0:
            home = slot_of(np.uint32(table[probe, 0] >> _SHIFT), shift)
            if ((probe - home) & last) >= ((probe - hole) & last):
                table[hole, 0], table[hole, 1] = table[probe, 0], table[probe, 1]
                hole = probe
            probe = (probe + 1) & last
        table[hole, 0] = 0
        counts[vertex] = -1
        if text:
            head[DEAD] += np.int64(words[vertex] & _LONGEST)
    head[NUM_NAMES] -= len(ids)


@kernel
def count_up(ids, counts):
    """Add one to ``counts[id]`` for each occurrence of an id in ``ids``."""
    for index in range(len(ids)):
        counts[np.int64(ids[index])] += 1


@kernel
def count_down(ids, counts, zeros):
    """Subtract one from ``counts[id]`` for each occurrence of an id in ``ids``; write ids that reach 0 to ``zeros``.

    Return the number of ids written. If a count would become negative, all counts stay as they were, and
    ``-1 - index`` is returned, where ``index`` is the position of that id.
    """
    found = 0
    for index in range(len(ids)):
        vertex = np.int64(ids[index])
        if counts[vertex] <= 0:
            for before in range(index):
                counts[np.int64(ids[before])] += 1
            return -1 - index
        counts[vertex] -= 1
        if counts[vertex] == 0:
            zeros[found] = ids[index]
            found += 1
    return found


@kernel
def compact(words, named, heap, into):
    """Copy the texts of the ids ``named`` from ``heap`` to ``into`` without gaps; return the number of bytes written.

    ``words[id]``, the place and length of a text in the heap, is changed in place to its place in ``into``.
    """
    used = np.int64(0)
    for index in range(len(named)):
        vertex = np.int64(named[index])
        place, length = np.int64(words[vertex] >> _WIDTH), np.int64(words[vertex] & _LONGEST)
        for at in range(length):
            into[used + at] = heap[place + at]
        words[vertex] = (np.uint64(used) << _WIDTH) | np.uint64(length)
        used += length
    return used


@kernel
def repoint(table, words):
    """Copy ``words[id]`` to the entry of every id in the hash table, in place, after :func:`compact` has changed it."""
    for slot in range(len(table)):
        if table[slot, 0] != 0:
            table[slot, 1] = words[np.int64(table[slot, 0] & _LENGTH)]


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
