"""Trees of sampled events on the CPU: the loops, which specify the kernels.

A draw is a function of its tree, place and position alone, never of what ran before it. The hash of a tree, its
``key``, is ``su.mixed(seed, root, at)``, or ``su.mixed(seed, id)``. The hash of a vertex to expand is a step of
SplitMix64 from ``key ^ (hop << 32 | vertex)``, where the hop of the root is 0; with ``hops="back"`` from ``key ^
number`` of the event that led there, and for the root from ``key ^ (2**64 - 1)``. Position ``j`` of it draws ``bits``,
a step of SplitMix64 from ``hash + j * STEP``, and with them a slot below ``n``: ``bits * n >> 64``.

Slots count the ``n`` eligible events of a vertex from the cut backwards: 0 is the newest. Without replacement ``k`` are
drawn by Floyd's method: position ``j`` draws below ``n - k + j + 1``, and takes ``n - k + j`` if that slot is taken.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from suricate.cpu import threads
from suricate.cpu.bitmap import lowest, without_lowest
from suricate.cpu.jit import inner, kernel
from suricate.cpu.prefetch import prefetch
from suricate.edgefn.runtime import mixed_bits, next_bits
from suricate.events.record import FIRST
from suricate.events.sampling.trees import Drawn, Plan, Trees
from suricate.store.fallbacks import parts_of

ZERO, ONE, HALF, LOW = (np.uint64(one) for one in (0, 1, 32, 2**32 - 1))
STEP = np.uint64(0x9E3779B97F4A7C15)
NO_EVENT = np.uint64(2**64 - 1)
WORD = 64  #: the most eligible events that are drawn from in one word
BLOCK = 32  #: trees whose events are read one after the other, so that loads overlap
UNIT = 16  #: work per vertex to expand, and per event drawn, in units of ``suricate.cpu.threads``


class Numbers(NamedTuple):
    """The log as loops read it: event ``n`` has ``time[n & mask]``; ``low`` are the low bits of ``first``."""

    time: Any  # int64[mask + 1]
    mask: Any
    first: Any
    next: Any
    low: Any  # uint32


class How(NamedTuple):
    """One hop: its number, how many events per vertex (negative: all), and which, as in ``Plan``."""

    hop: int
    fan: int
    recent: bool
    back: bool
    replace: bool
    through: bool


class Nodes(NamedTuple):
    """Nodes by hop and tree: those of tree ``b`` in hop ``h`` begin at ``starts[h, b]``, and end at the next start."""

    node: Any  # uint32
    batch: Any  # int64
    cut: Any  # uint32, of ``hops="back"``: events below this number, relative to the first, are eligible; else empty
    starts: Any  # int64[hops + 1, trees + 1]


class Edges(NamedTuple):
    """Sampled events by hop, tree, expanded node and number: ``int64`` each."""

    row: Any
    col: Any
    event: Any
    time: Any


def start_trees(
    record: Any, roots: Any, at: Any, ids: Any, span: int | None, through: bool, seed: int, expired: int
) -> tuple[Trees, np.ndarray]:
    """Return trees, and of which of them events have left: those before the time ``expired``; others are checked."""
    trees = Trees(roots, *(np.empty(len(roots), dtype) for dtype in (np.uint64, np.uint32, np.uint32)))
    has_left = np.empty(len(roots), np.bool_)
    times = at if ids is None else np.zeros(len(at), np.int64)
    given = roots if ids is None else ids
    limits = FIRST if span is None else span, through, seed, expired
    threads.over(len(roots), start, _numbers(record), given, times, at, limits, trees, has_left, unit=UNIT)
    return trees, has_left


def _numbers(record: Any) -> Numbers:
    first = record.first
    return Numbers(record.time, len(record.time) - 1, first, record.next, np.uint32(first & 0xFFFFFFFF))


def sample_trees(rows: Any, record: Any, trees: Trees, plan: Plan) -> Drawn:
    """Return nodes and edges of ``trees``, drawn as ``plan`` says from the events in ``rows`` of the log ``record``."""
    size, numbers = len(trees.root), _numbers(record)
    starts = np.zeros((len(plan.fan) + 1, size + 1), np.int64)
    starts[0] = np.arange(size + 1)
    nodes = Nodes(trees.root, np.arange(size), trees.cut, starts)
    edges = Edges(*(np.empty(0, np.int64) for _ in Edges._fields))
    edge_ends = [0]
    for hop, fan in enumerate(plan.fan):
        how = How(hop, fan, *plan[1:])
        asked, offsets = int(starts[hop, size] - starts[hop, 0]), np.empty(size + 1, np.int64)
        found = np.empty(asked, np.int64), np.empty(asked, np.int64)
        parts = threads.ranges(size, threads.parts(UNIT * asked))
        given = rows, numbers, trees, how, nodes, found, offsets
        counts = threads.run(count_events, [(*given, *part) for part in parts])
        end = edge_ends[-1]
        for (first, last), (count, _) in zip(parts, counts, strict=True):
            offsets[first:last] += end
            end += count
        offsets[size] = end
        capacity = int(starts[hop, size]) + end - edge_ends[-1]
        old = [*((each, capacity) for each in nodes[: 2 + plan.back]), *((each, end) for each in edges)]
        new = threads.run(_grown, old) if len(parts) > 1 else [_grown(*each) for each in old]
        nodes, edges = Nodes(*new[:-4], *nodes[len(new) - 4 :]), Edges(*new[-4:])
        _expand(rows, numbers, trees, how, nodes, found, edges, offsets, max(largest for _, largest in counts))
        edge_ends.append(end)
    node_ends = [0, *starts[1:, 0].tolist(), int(starts[-1, size])]
    for each in nodes[:2]:
        each.resize(node_ends[-1], refcheck=False)
    per_hop = ([after - before for before, after in pairwise(ends)] for ends in (node_ends, edge_ends))
    return Drawn(nodes.node, *edges, nodes.batch, *per_hop)


def _grown(array: np.ndarray, size: int) -> np.ndarray:
    """Return a copy of ``array`` with ``size`` entries, of which the further ones are not set."""
    grown = np.empty(size, array.dtype)
    grown[: len(array)] = array[:size]
    return grown


def _expand(
    rows: Any, numbers: Any, trees: Any, how: How, nodes: Nodes, found: Any, edges: Edges, offsets: Any, largest: int
) -> None:
    """Draw the events of a hop, and append the nodes that they lead to: at most ``largest`` in a tree, with the old."""
    starts, hop = nodes.starts, how.hop
    begin, parts = int(starts[hop, -1]), parts_of(UNIT * (offsets - offsets[0]))
    bits = 1 if how.back else int(2 * largest).bit_length()
    tables = [(np.zeros(1 << bits, np.uint64), np.empty(1 << bits, np.int64), np.uint64(64 - bits)) for _ in parts]
    given = rows, numbers, trees, how, nodes, found, edges, offsets
    counts = threads.run(expand, [(*given, table, *part) for table, part in zip(tables, parts, strict=True)])
    place, moved = begin, []
    for (first, last), count in zip(parts, counts, strict=True):
        written = begin + int(offsets[first] - offsets[0])  # as if nothing was merged in the parts before
        if gap := written - place:
            for each in nodes[:2]:
                each[place : place + count] = each[written : written + count]
            starts[hop + 1, first:last] -= gap
            moved.append((edges.row, written, gap, offsets[first], offsets[last]))
        place += count
    threads.run(close_gap, moved)
    starts[hop + 1, -1] = place


# -- loops -------------------------------------------------------------------------------------------------------------


@kernel
def start(numbers, names, times, at, limits, trees, has_left, begin, end):
    """Write ``trees[begin:end]`` and ``has_left``; hashes are made of ``names`` and ``times``, ``int64``, and the seed.

    ``limits`` are the span, or the oldest time if there is none, whether it is ``through``, the seed, and the time
    before which events have left.
    """
    span, through, seed, expired = limits
    for b in range(begin, end):
        trees.key[b] = np.uint64(mixed_bits(seed, np.int64(names[b]), times[b]))
        trees.cut[b], trees.low[b], since = number_at(numbers, at[b] + np.int64(through)), 0, at[b]
        if span > 0:
            since = max(at[b], FIRST + span) - span
            trees.low[b] = number_at(numbers, since)
        has_left[b] = since < expired


@inner
def number_at(numbers, time):
    """Return the number, relative, of the first event at ``time`` or later."""
    first, size, mask = np.uint64(numbers.first), np.uint64(numbers.next - numbers.first), np.uint64(numbers.mask)
    while size > ZERO:
        half = size >> ONE
        is_before = numbers.time[(first + half) & mask] < time
        first = first + half + ONE if is_before else first
        size = size - half - ONE if is_before else half
    return np.uint32(first - np.uint64(numbers.first))


@kernel
def count_events(rows, numbers, trees, how, nodes, found, offsets, begin, end):
    """Find the eligible events of the vertices that trees ``begin`` to ``end`` expand, and count those to draw.

    Returns how many that are in all, and the most nodes that a tree may then have.

    Args:
        rows, numbers, trees, how, nodes: see the classes.
        found: ``(stop, size)``, written: the slot after the last eligible event of each vertex, and how many there are.
        offsets: ``int64[trees + 1]``, written: how many events are drawn in the trees from ``begin`` on before each.
    """
    (stop, size), hop = found, how.hop
    base, total, largest = nodes.starts[hop, 0], 0, 1
    for block in range(begin, end, BLOCK):
        last = min(block + BLOCK, end)
        i, after_block = np.uint64(nodes.starts[hop, block]), np.uint64(nodes.starts[hop, last])
        at = i - np.uint64(base)
        while i < after_block:
            v = nodes.node[i]
            stop[at], size[at] = rows.end[v], rows.begin[v]
            prefetch(rows.number, max(rows.end[v] - 1, 0))
            i += ONE
            at += ONE
        for b in range(block, last):
            offsets[b] = total
            cut, low = trees.cut[b], trees.low[b]
            i, after_tree = np.uint64(nodes.starts[hop, b]), np.uint64(nodes.starts[hop, b + 1])
            at = i - np.uint64(base)
            while i < after_tree:
                if how.back:
                    cut = nodes.cut[i]
                first, after = size[at], stop[at]
                if after > first and np.uint32(rows.number[np.uint64(after - 1)] - numbers.low) >= cut:
                    after = first_from(rows.number, first, after - 1, numbers.low, cut)
                if low > 0:
                    first = first_from(rows.number, first, after, numbers.low, low)
                stop[at], size[at] = after, after - first
                total += drawn_of(after - first, how)
                i += ONE
                at += ONE
            nodes_before = 0
            for level in range(hop + 1):
                nodes_before += nodes.starts[level, b + 1] - nodes.starts[level, b]
            largest = max(largest, nodes_before + total - offsets[b])
    return total, largest


@inner
def drawn_of(size, how):
    """Return how many of ``size`` eligible events are drawn."""
    if how.fan < 0 or (how.fan > size and not how.replace):
        return size
    return how.fan if size > 0 else 0


@inner
def first_from(number, first, after, low, wanted):
    """Return the first slot from ``first`` to ``after`` whose number, relative to ``low``, is ``wanted`` or above."""
    size = after - first
    while size > 0:
        half = size >> 1
        is_below = np.uint32(number[np.uint64(first + half)] - low) < wanted
        first = first + half + 1 if is_below else first
        size = size - half - 1 if is_below else half
    return first


@kernel
def expand(rows, numbers, trees, how, nodes, found, edges, offsets, table, begin, end):
    """Draw the events of trees ``begin`` to ``end``, and append the nodes at their ends; return how many.

    Args:
        rows, numbers, trees, how, nodes, edges: see the classes. Nodes are written from where they begin if those of
            earlier trees were not merged.
        found: what :func:`count_events` found.
        offsets: ``int64[trees + 1]``: where the edges of each tree begin.
        table: ``(keys, places, shift)``: a hash table of the nodes of one tree after the other, ``uint64`` of zeros and
            ``int64``, of ``2**(64 - shift)`` entries.
    """
    start = nodes.starts[how.hop, len(trees.root)] + offsets[begin] - offsets[0]
    place, mask = start, np.uint64(numbers.mask)
    for block in range(begin, end, BLOCK):
        last = min(block + BLOCK, end)
        for b in range(block, last):
            draw_tree(b, trees, how, nodes, found, edges, np.uint64(offsets[b]))
        e, after = np.uint64(offsets[block]), np.uint64(offsets[last])
        while e < after:
            slot = np.uint64(edges.row[e])
            event = numbers.first + np.int64(np.uint32(rows.number[slot] - numbers.low))
            edges.event[e], edges.time[e] = event, numbers.time[np.uint64(event) & mask]
            edges.row[e] = rows.other[slot]
            e += ONE
        for b in range(block, last):
            nodes.starts[how.hop + 1, b] = place
            if how.back:
                place = append_all(b, numbers, how, nodes, edges, offsets, place)
            else:
                place = append_new(b, how, nodes, edges, offsets, table, place)
    return place - start


@inner
def draw_tree(b, trees, how, nodes, found, edges, place):
    """Write the slots of the events that tree ``b`` draws to ``edges.row[place:]``, and who draws them to ``col``."""
    (stop, sizes), hop = found, how.hop
    base = nodes.starts[hop, 0]
    for i in range(nodes.starts[hop, b], nodes.starts[hop, b + 1]):
        at = np.uint64(i - base)
        size, after = sizes[at], stop[at]
        count = drawn_of(size, how)
        if how.recent or (count == size and not how.replace):
            for j in range(count):
                edges.row[place + np.uint64(j)] = after - count + j
        else:
            if not how.back:
                way = np.uint64(hop) << HALF | np.uint64(nodes.node[np.uint64(i)])
            else:
                way = NO_EVENT if hop == 0 else np.uint64(edges.event[i - nodes.starts[1, 0]])
            draw(next_bits(trees.key[b] ^ way), size, count, how.replace, after, edges.row, place)
        for j in range(count):
            edges.col[place + np.uint64(j)] = i
        place += np.uint64(count)


@inner
def draw(bits, size, count, replace, stop, into, place):
    """Write ``count`` of the ``size`` slots before ``stop``, ascending, to ``into[place:]``; ``bits`` is the hash."""
    if size <= WORD and not replace:
        chosen, oldest = ZERO, np.uint64(size - 1)
        for j in range(size - count, size):  # bit 0 is the oldest event
            bit = ONE << (oldest - below(next_bits(bits), np.uint64(j + 1)))
            chosen |= ONE << (oldest - np.uint64(j)) if chosen & bit else bit
            bits += STEP
        for j in range(count):
            into[place + np.uint64(j)] = stop - size + np.int64(lowest(chosen))
            chosen = without_lowest(chosen)
        return
    for j in range(count):
        last = size - 1 if replace else size - count + j
        age = np.int64(below(next_bits(bits), np.uint64(last + 1)))
        bits += STEP
        at = place + np.uint64(j)
        while at > place and into[at - ONE] < age:  # the oldest comes first
            into[at] = into[at - ONE]
            at -= ONE
        if not replace and at > place and into[at - ONE] == age:  # `last` is older than all others: it comes first
            while at > place:
                into[at] = into[at - ONE]
                at -= ONE
            age = last
        into[at] = age
    for j in range(count):
        at = place + np.uint64(j)
        into[at] = stop - 1 - into[at]


@inner
def below(bits, size):
    """Return ``bits * size >> 64`` for ``uint64`` numbers, of which ``size`` has at most 32 bits."""
    return ((bits >> HALF) * size + ((bits & LOW) * size >> HALF)) >> HALF


@inner
def append_all(b, numbers, how, nodes, edges, offsets, place):
    """Append a node per edge of tree ``b``, with the cut before its event, from ``place`` on; return the end."""
    for e in range(offsets[b], offsets[b + 1]):
        nodes.node[place], nodes.batch[place] = edges.row[e], b
        if how.hop + 2 < len(nodes.starts):  # the last ones are not expanded
            nodes.cut[place] = cut_at(numbers, edges.event[e], how.through)
        edges.row[e] = place
        place += 1
    return place


@inner
def cut_at(numbers, event, through):
    """Return the number, relative, of the first event at the time of ``event``; with ``through`` of the first after."""
    time, mask, step = numbers.time, numbers.mask, 1
    now, inside = time[event & mask], event
    if through:
        while inside + step < numbers.next and time[(inside + step) & mask] == now:
            inside += step
            step *= 2
        outside = min(numbers.next, inside + step)
    else:
        while inside - step >= numbers.first and time[(inside - step) & mask] == now:
            inside -= step
            step *= 2
        outside = max(numbers.first - 1, inside - step)
    while abs(outside - inside) > 1:
        middle = (inside + outside) >> 1
        if time[middle & mask] == now:
            inside = middle
        else:
            outside = middle
    return np.uint32(max(inside, outside) - numbers.first)


@inner
def append_new(b, how, nodes, edges, offsets, table, place):
    """Append those ends of the edges of tree ``b`` that it did not have yet, from ``place`` on; return the end."""
    keys, places, shift = table
    stamp, mask = np.uint64(b + 1) << HALF, np.uint64(len(keys) - 1)
    for level in range(how.hop + 1):
        for i in range(nodes.starts[level, b], nodes.starts[level, b + 1]):
            key = stamp | np.uint64(nodes.node[np.uint64(i)])
            slot = look_up(keys, mask, shift, key)
            keys[slot], places[slot] = key, i
    e, after, new = np.uint64(offsets[b]), np.uint64(offsets[b + 1]), np.uint64(place)
    while e < after:
        v = np.uint32(edges.row[e])
        key = stamp | np.uint64(v)
        slot = look_up(keys, mask, shift, key)
        if keys[slot] != key:
            keys[slot], places[slot] = key, np.int64(new)
            nodes.node[new], nodes.batch[new] = v, b
            new += ONE
        edges.row[e] = places[slot]
        e += ONE
    return np.int64(new)


@kernel
def close_gap(row, written, gap, begin, end):
    """Lower those of ``row[begin:end]`` that are ``written`` or above by ``gap``."""
    for e in range(begin, end):
        row[e] -= gap if row[e] >= written else 0


@inner
def look_up(keys, mask, shift, key):
    """Return where ``key``, ``(tree + 1) << 32 | vertex``, is in ``keys``, or goes: entries of other trees are free."""
    slot = (key & LOW) * STEP >> shift
    while keys[slot] != key and keys[slot] >> HALF == key >> HALF:
        slot = (slot + ONE) & mask
    return slot
