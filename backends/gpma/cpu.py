"""``gpma`` on the CPU: see ``kernels.py``; the loops are in ``loops.py``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.backends.gpma import loops
from suricate.backends.gpma.layout import Graph
from suricate.devices import Array
from suricate.primitives.cpu import rank, report_deletion, report_insertion
from suricate.primitives.located import ABSENT, LOOKUP, PRESENT, LocatedBatch, Report


class Plan(NamedTuple):
    """The entries that change the graph, their slots, and the segments to rebalance (``segments`` of them)."""

    entries: np.ndarray
    places: np.ndarray
    begins: np.ndarray
    levels: np.ndarray
    segments: int


NOTHING = Plan(np.empty(0, np.uint32), np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint8), 0)
NO_KEYS, NO_ORDER = np.empty(0, np.uint64), np.empty(0, np.uint32)


def locate(graph: Graph, batch: LocatedBatch, kind: int) -> None:
    """See :meth:`GpmaKernels.locate`."""
    loops.locate(graph, batch.keys, batch.kind, batch.slot, kind)
    if kind != LOOKUP:
        rank(batch, kind)


def find(graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
    """See :meth:`GpmaKernels.find`."""
    loops.find_edges(graph, src, dst, found, weight)


def _changes(batch: LocatedBatch, kind: int) -> Plan:
    size = batch.most
    entries, places = np.empty(size, np.uint32), np.empty(size, np.int64)
    plan = Plan(entries, places, np.empty(size, np.uint32), np.empty(size, np.uint8), 0)
    loops.list_changes(batch.kind, batch.slot, kind, plan.entries, plan.places)
    return plan


def plan_insertion(graph: Graph, batch: LocatedBatch, *, in_place: bool) -> Plan:
    """See :meth:`GpmaKernels.plan_insertion`."""
    plan = _changes(batch, ABSENT)
    if not in_place:
        return plan
    return plan._replace(segments=loops.plan(graph, plan.places, True, plan.begins, plan.levels))


def plan_deletion(graph: Graph, batch: LocatedBatch) -> Plan:
    """See :meth:`GpmaKernels.plan_deletion`; which segments are too empty is found out once the edges are gone."""
    return _changes(batch, PRESENT)


def insert(graph: Graph, new: Graph | None, plan: Plan, batch: LocatedBatch, weight: Array, report: Report) -> None:
    """See :meth:`GpmaKernels.insert`."""
    report_insertion(batch, graph.weight, weight, report)
    entries, places, begins, levels, segments = plan
    if new is None:
        loops.merge(
            graph, begins[:segments], levels[:segments], places, entries, batch.keys, batch.order, weight
        )  # fmt: skip
    else:
        loops.rebuild(graph, new, places, entries, batch.keys, batch.order, weight)
    loops.count_inserted(graph, entries, batch.keys)


def delete(graph: Graph, plan: Plan, batch: LocatedBatch, report: Report) -> None:
    """See :meth:`GpmaKernels.delete`."""
    report_deletion(batch, graph.weight, report)
    entries, places, begins, levels, _ = plan
    loops.clear(graph, batch.keys, entries, places)
    segments = loops.plan(graph, places, False, begins, levels)
    none = places[:0], entries[:0], NO_KEYS, NO_ORDER, graph.weight[:0]
    loops.merge(graph, begins[:segments], levels[:segments], *none)


def clear_edges(graph: Graph, src: Array, dst: Array, guard: Array | None, report: Report) -> None:
    """See :meth:`GpmaKernels.clear_edges`; the store looks at the guard."""
    loops.clear_edges(graph, src, dst, *report)


def rebuild(graph: Graph, new: Graph) -> None:
    """See :meth:`GpmaKernels.rebuild`."""
    loops.rebuild(graph, new, NOTHING.places, NOTHING.entries, NO_KEYS, NO_ORDER, graph.weight[:0])


def append_guards(graph: Graph, first: int, begin: int) -> None:
    """See :meth:`GpmaKernels.append_guards`."""
    loops.append_guards(graph, first, begin)


def drop_guards(graph: Graph, num_vertices: int) -> None:
    """See :meth:`GpmaKernels.drop_guards`."""
    loops.drop_guards(graph, num_vertices)


def clear_rows(graph: Graph, vertices: Array) -> None:
    """See :meth:`GpmaKernels.clear_rows`."""
    loops.clear_rows(graph, vertices)


def list_touched(graph: Graph) -> None:
    """See :meth:`GpmaKernels.list_touched`."""
    loops.list_touched(graph)
