"""``gpma`` on the CPU: the functions of :class:`GpmaKernels`; the loops are in ``loops.py``.

A *leaf* is 32 slots, some of them gaps; the *guard* of a vertex is the entry behind its edges. ``batch`` is a sorted
batch, ``weight`` has its weights as bits in the order before sorting; ``report`` receives status and old weight of each
of its edges. Threads share the work by ranges of entries or leaves.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from suricate.backends.gpma import loops
from suricate.backends.gpma.layout import EDGES, GUARDS, LEAF, LEAF_BITS, MOVED, TOUCHED, Graph
from suricate.base.devices import Array
from suricate.cpu import threads
from suricate.cpu.threads import Range
from suricate.primitives.cpu import answer, count_kind, in_order, report_deletion, report_insertion, source_ranges
from suricate.primitives.located import ABSENT, LOOKUP, PRESENT, LocatedBatch, Report
from suricate.primitives.sorting import LARGE


class Plan(NamedTuple):
    """The changes of a batch, and the segments to rebalance, in order and disjoint.

    Attributes:
        entries: indices of the batch's entries that change the graph.
        places: the slots of these entries.
        begins, levels: per segment the first leaf, and the level l: it has 2^l leaves. Only those in ``parts`` count.
        parts: ranges of indices into ``begins`` and ``levels``.
    """

    entries: np.ndarray
    places: np.ndarray
    begins: np.ndarray
    levels: np.ndarray
    parts: tuple[Range, ...] = ()


NOTHING = Plan(np.empty(0, np.uint32), np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint8))
NO_KEYS, NO_ORDER = np.empty(0, np.uint64), np.empty(0, np.uint32)


def locate(graph: Graph, batch: LocatedBatch, kind: int) -> None:
    """Fill in ``batch.kind`` and ``batch.slot``, and set ``batch.most`` to how many are of the given ``kind``.

    The slot of an absent edge is the one behind the last edge below it.
    """
    batch.most = sum(threads.over(len(batch), loops.locate, graph, batch.keys, batch.kind, batch.slot, kind))


def find(graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
    """Look up edges (``src``, ``dst``): write ``found`` (bool[n]), and ``weight`` (bits) where they are stored.

    Many edges are sorted, so that the graph is read in order.
    """
    if len(src) < LARGE:
        threads.over(len(src), loops.find_edges, graph, src, dst, found, weight)
        return
    batch = in_order(src, dst, len(graph.degree))
    locate(graph, batch, LOOKUP)
    answer(batch, graph.weight, found, weight)


def _planned(graph: Graph, plan: Plan, *, inserts: bool) -> Plan:
    """Return ``plan`` with the segments to rebalance, before an insertion (``inserts``) or after a deletion.

    Threads find segments for a part of the changes each; of overlapping segments only the largest is in the plan.
    """
    _, places, begins, levels, _ = plan
    parts = threads.ranges(len(places), threads.parts(len(places)))
    lasts = threads.run(loops.plan, [(graph, places, inserts, begins, levels, *part) for part in parts])
    kept: list[Range] = []
    for (first, _), last in zip(parts, lasts, strict=True):
        while kept and first < last:
            before, end = kept[-1]
            begin, level = int(begins[end - 1]), int(levels[end - 1])
            if begins[first] >= begin + (1 << level):
                break
            if levels[first] <= level:  # the first ones lie in the last one before
                first += int(np.searchsorted(begins[first:last], np.uint32(begin + (1 << level))))
            else:  # the first one holds the last ones before
                end = before + int(np.searchsorted(begins[before:end], begins[first]))
                kept[-1:] = [(before, end)] if before < end else []
        if first < last:
            kept.append((first, last))
    return plan._replace(parts=tuple(kept))


def _merge(graph: Graph, plan: Plan, *new: np.ndarray) -> None:
    moved = threads.run(loops.merge, [(graph, plan.begins, plan.levels, *new, *part) for part in plan.parts])
    graph.counters[MOVED] += sum(moved)


def _rebuild(graph: Graph, new: Graph, places: np.ndarray, *entries: np.ndarray) -> None:
    """Merge the entries of ``graph`` and new ones into the arrays ``new``, by ranges of their leaves.

    ``places`` are the slots of the new entries in ``graph``; ``entries`` are the next arguments of
    :func:`loops.rebuild`: their indices in the batch, and its keys, order and weights. Running counts of old leaves
    tell each range where it begins to read.
    """
    old = threads.ranges(graph.leaves, threads.parts(LEAF * graph.leaves))
    held = threads.run(loops.count_entries, [(graph.count, *part) for part in old])
    starts = np.array([begin for begin, _ in old])
    before = np.array([*accumulate(held[:-1], initial=0)]) + np.searchsorted(places, starts << LEAF_BITS)
    total = sum(held) + len(places)
    number = threads.parts(total) if total >= new.leaves else 1  # parts do not know what comes behind empty leaves
    calls = []
    for first, last in threads.ranges(new.leaves, number):
        at = int(np.searchsorted(before, total * first // new.leaves, side="right")) - 1
        calls.append((graph, new, int(starts[at]), int(before[at]), total, places, *entries, first, last))
    threads.run(loops.rebuild, calls)
    graph.counters[MOVED] += sum(held)


def _count(graph: Graph, batch: LocatedBatch, plan: Plan, by: int) -> None:
    """Add ``by`` (1 or -1), for each change in ``plan``, to the degree of its source and to the counter of edges."""
    entries, parts = plan.entries, source_ranges(batch.keys)
    cuts = [len(entries)]
    if len(parts) > 1:
        cuts = np.searchsorted(entries, np.array([part.stop for part in parts], np.uint32)).tolist()
    threads.run(loops.count_changes, [(graph, entries, batch.keys, by, *part) for part in pairwise([0, *cuts])])
    graph.counters[EDGES] += by * len(entries)


def _clear(graph: Graph, batch: LocatedBatch, plan: Plan) -> None:
    """Turn the slots of the changes in ``plan`` into gaps, and update degrees and the counter of edges."""
    places, size, parts = plan.places, len(plan.places), threads.parts(len(plan.places))
    leaves = places[size * np.arange(1, parts) // parts] >> LEAF_BITS
    cuts = np.searchsorted(places, leaves << LEAF_BITS).tolist() if parts > 1 else []
    threads.run(loops.clear, [(graph, places, *part) for part in pairwise([0, *cuts, size])])
    _count(graph, batch, plan, -1)


def plan(graph: Graph, batch: LocatedBatch, *, deleting: bool, in_place: bool = True) -> Plan:
    """Return the plan for :func:`insert`, or if ``deleting`` for :func:`delete`, of a located batch.

    Only an insertion ``in_place`` gets the segments to rebalance; those of a deletion are found when its edges are
    gone.
    """
    size, kind = batch.most, PRESENT if deleting else ABSENT
    entries, places = np.empty(size, np.uint32), np.empty(size, np.int64)
    parts = threads.ranges(len(batch), threads.parts(len(batch)))
    counts = threads.run(count_kind, [(batch.kind, kind, *part) for part in parts[:-1]])
    given, listed = (batch.kind, batch.slot, kind, entries, places), accumulate(counts, initial=0)
    threads.run(loops.list_changes, [(*given, before, *part) for before, part in zip(listed, parts, strict=True)])
    result = Plan(entries, places, np.empty(size, np.uint32), np.empty(size, np.uint8))
    return _planned(graph, result, inserts=True) if in_place and not deleting else result


def insert(graph: Graph, new: Graph | None, plan: Plan, batch: LocatedBatch, weight: Array, report: Report) -> None:
    """Insert the absent entries of a batch, replace weights, and write ``report``.

    The entries go to ``graph`` in place, or, with all entries of ``graph``, to the arrays ``new``. ``plan`` is the
    result of :func:`plan`.
    """
    report_insertion(batch, graph.weight, weight, report)
    given = plan.places, plan.entries, batch.keys, batch.order, weight
    if new is None:
        _merge(graph, plan, *given)
    else:
        _rebuild(graph, new, *given)
    _count(graph, batch, plan, 1)


def delete(graph: Graph, plan: Plan, batch: LocatedBatch, report: Report) -> None:
    """Turn the present entries of a batch into gaps, rebalance segments that are too empty then, and write ``report``.

    ``plan`` is the result of :func:`plan`; ``graph`` is changed in place.
    """
    report_deletion(batch, graph.weight, report)
    _clear(graph, batch, plan)
    none = NOTHING.places, NOTHING.entries, NO_KEYS, NO_ORDER, graph.weight[:0]
    _merge(graph, _planned(graph, plan, inserts=False), *none)


def clear_edges(graph: Graph, src: Array, dst: Array, guard: Array | None, report: Report) -> None:
    """Turn the edges (``src``, ``dst``), in any order, into gaps, and write ``report``; duplicates count once.

    ``guard`` is not used: the store has checked it. Many edges are sorted first.
    """
    if len(src) >= LARGE:
        with suppress(MemoryError):  # then one by one: a deletion is never refused
            batch = in_order(src, dst, len(graph.degree))
            locate(graph, batch, PRESENT)
            changes = plan(graph, batch, deleting=True)
            report_deletion(batch, graph.weight, report)
            _clear(graph, batch, changes)
            return
    loops.clear_edges(graph, src, dst, *report)


def rebuild(graph: Graph, new: Graph) -> None:
    """Spread the entries of ``graph`` evenly over the arrays ``new``."""
    _rebuild(graph, new, NOTHING.places, NOTHING.entries, NO_KEYS, NO_ORDER, graph.weight[:0])


def append_guards(graph: Graph, first: int, begin: int) -> None:
    """Put the guards of the vertices from ``first`` on into the leaves from ``begin`` on, ``GUARDS`` in each."""
    count = graph.leaves - begin

    def append(low: int, high: int) -> None:
        loops.append_guards(graph, first + low * GUARDS, begin + low, begin + high)

    threads.over(count, append, unit=LEAF)


drop_guards, clear_rows = loops.drop_guards, loops.clear_rows


def list_touched(graph: Graph) -> None:
    """List the leaves with edges inserted since the mark in ``graph.touched``, and their number in the counters."""
    ranges = threads.ranges(graph.leaves, threads.parts(graph.leaves))
    lasts = threads.run(loops.list_touched, [(graph, *part) for part in ranges])
    graph.counters[TOUCHED] = threads.compacted(graph.touched, ranges, lasts)
