"""``csr_baseline`` on the CPU: the functions of :class:`CsrKernels`; the loops are in ``loops.py``.

``batch`` is a sorted batch, ``weight`` has its weights as bits in the order before sorting; ``report`` receives status
and old weight of each of its edges.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np

from suricate.backends.csr_baseline import loops
from suricate.backends.csr_baseline.layout import Graph, Rebuild
from suricate.base.devices import Array
from suricate.cpu import threads
from suricate.primitives.cpu import answer, count_kind, in_order, report_deletion, report_insertion
from suricate.primitives.located import ABSENT, LOOKUP, PRESENT, LocatedBatch, Report
from suricate.primitives.sorting import can_sort
from suricate.store.locating import locate_ascending


def locate(graph: Graph, batch: LocatedBatch, kind: int) -> None:
    """Fill in ``batch.kind`` and ``batch.slot``, and set ``batch.most`` to how many are of the given ``kind``.

    The slot is that of the first stored edge not below the entry.
    """
    given = (graph.offsets[:-1], graph.offsets[1:], graph.dst, batch.keys, batch.kind, batch.slot, kind)
    batch.most = sum(threads.over(len(batch), locate_ascending, *given))


def insert(graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, weight: Array, report: Report) -> None:
    """Merge ``graph`` and the absent entries of a batch into ``rebuild.target``, replace weights, and write ``report``.

    ``rebuild`` is None if only weights change.
    """
    report_insertion(batch, graph.weight, weight, report)
    if rebuild is not None:
        given = (graph, rebuild.target, batch.keys, batch.order, batch.kind, batch.slot, weight)
        threads.run(loops.merge, [(*given, part) for part in _parts(graph, batch, ABSENT)])


def delete(graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, report: Report) -> None:
    """Delete the present entries of a batch from ``graph`` in place, and write ``report``; ``rebuild`` is not used."""
    report_deletion(batch, graph.weight, report)
    if not batch.most:
        return
    parts = _parts(graph, batch, PRESENT)
    left = threads.run(loops.remove, [(graph, batch.keys, batch.kind, batch.slot, part) for part in parts])
    for (_, _, begin, _, removed, *_), count in zip(parts, left, strict=True):
        for array in (graph.dst, graph.weight) if removed else ():
            array[begin - removed : begin - removed + count] = array[begin : begin + count]


def find(graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
    """Look up edges (``src``, ``dst``): write ``found`` (bool[n]), and ``weight`` (bits) where they are stored.

    Many edges are sorted, so that the graph is read in order.
    """
    if not can_sort(len(src), (len(graph.offsets) - 1).bit_length()):
        threads.over(len(src), loops.find_edges, *graph, src, dst, found, weight)
        return
    batch = in_order(src, dst, len(graph.offsets) - 1)
    locate(graph, batch, LOOKUP)
    answer(batch, graph.weight, found, weight)


def _parts(graph: Graph, batch: LocatedBatch, kind: int) -> list[tuple[int, ...]]:
    """Return parts of equal work for :func:`loops.merge` and :func:`loops.remove`; ends are exclusive.

    A part is the tuple (first entry of the batch, last, first slot of the graph, last, changes before, first vertex,
    last). Changes are entries of ``kind``.
    """
    count, edges = len(batch), int(graph.offsets[-1])
    parts = threads.parts(count + edges)
    if parts == 1:
        return [(0, count, 0, edges, 0, 0, len(graph.offsets))]
    places = (count + edges) * np.arange(1, parts) // parts
    cuts = np.empty(parts - 1, np.int64)
    loops.cut_merge(batch.slot, places, cuts)
    ends = places - cuts
    last = np.maximum(cuts - 1, 0)  # of a part; the slot that it deletes may be one further
    ends += (cuts > 0) & (batch.kind[last] == PRESENT) & (batch.slot[last] == ends)
    entries, slots = [0, *cuts.tolist(), count], [0, *ends.tolist(), edges]
    changes = threads.run(count_kind, [(batch.kind, kind, *part) for part in pairwise(entries)])
    vertices = [0, *(int(batch.keys[cut - 1] >> 32) + 1 if cut else 0 for cut in entries[1:-1]), len(graph.offsets)]
    ranges = zip(pairwise(entries), pairwise(slots), [0, *accumulate(changes[:-1])], pairwise(vertices), strict=True)
    return [(*entry, *slot, before, *vertex) for entry, slot, before, vertex in ranges]
