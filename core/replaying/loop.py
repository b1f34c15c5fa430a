"""CPU template: events one after the other, each applied to the stores and followed by a step of an algorithm.

``out`` and ``into`` are what the functions of the store take; ``into`` is only used if ``has_into``. ``graph`` is a
``suricate.plugins.step.Walked``.
"""

from __future__ import annotations

from suricate.base.types import NEW, REMOVED, REPLACED, UNCHANGED
from suricate.cpu.jit import inner, kernel
from suricate.plugins.step import DELETED, HEAVIER, INSERTED, LIGHTER
from suricate.replaying.bindings import (
    arc_weight,
    delete_edge,
    fetch,
    fetch_far,
    has_space,
    insert_edge,
    record,
    step,
)
from suricate.replaying.report import (
    ADDED,
    DELETE,
    FULL,
    INSERT,
    MOST,
    MOST_AT,
    OVER,
    REFUSED,
    TAKEN,
    WHY,
)

FAR, NEAR = 12, 6  #: events ahead at which the words of vertices, and the first slots of edges, are asked for


@inner
def insert(out, into, has_into, undirected, u, v, weights, before, i):
    """Insert an edge in all stores; return its status."""
    status = insert_edge(out, u, v, weights, before, i)
    if undirected:
        if u != v:
            insert_edge(out, v, u, weights, before, i)
    elif has_into:
        insert_edge(into, v, u, weights, before, i)
    return status


@inner
def delete(out, into, has_into, undirected, u, v, before, i):
    """Delete an edge in all stores; return its status."""
    status = delete_edge(out, u, v, before, i)
    if status != UNCHANGED:
        if undirected:
            if u != v:
                delete_edge(out, v, u, before, i)
        elif has_into:
            delete_edge(into, v, u, before, i)
    return status


@inner
def ask(out, into, has_into, undirected, src, dst, i):
    """Ask for the memory that later events will touch."""
    if i + FAR < len(src):
        fetch_far(out, src[i + FAR])
        if undirected:
            fetch_far(out, dst[i + FAR])
        elif has_into:
            fetch_far(into, dst[i + FAR])
    if i + NEAR < len(src):
        fetch(out, src[i + NEAR], dst[i + NEAR])
        if undirected:
            fetch(out, dst[i + NEAR], src[i + NEAR])
        elif has_into:
            fetch(into, dst[i + NEAR], src[i + NEAR])


@kernel
def run(
    out, into, has_into, graph, state, src, dst, kind, weight, old_weight, units, before, discarded, status, begin, end,
    at, records, recorded, changed, counts, report,
):  # fmt: skip
    """Make the events from ``begin`` to ``end`` of a piece; return where it ended.

    ``units`` and ``before`` are ``weight`` and ``old_weight``, the weights that events replaced or deleted, as the
    store takes them; ``discarded`` is as long. ``status`` says what each event did. ``report``: see above.
    """
    undirected = graph.undirected
    report[WHY] = OVER
    for i in range(begin, end):
        ask(out, into, has_into, undirected, src, dst, i)
        u, v = src[i], dst[i]
        work, moved, change = 0, 0, 0
        if kind[i] == INSERT:
            if not has_space(out, u, v, undirected) or (has_into and not has_space(into, v, u, False)):
                report[WHY] = FULL
                return i
            status[i] = insert(out, into, has_into, undirected, u, v, units, before, i)
            if status[i] == NEW:
                change = INSERTED
            elif status[i] == REPLACED:
                change = HEAVIER if arc_weight(weight, i) > arc_weight(old_weight, i) else LIGHTER
        elif kind[i] == DELETE:
            status[i] = delete(out, into, has_into, undirected, u, v, before, i)
            if status[i] == REMOVED:
                change = DELETED
        if change != 0:
            w = arc_weight(old_weight, i) if change == DELETED else arc_weight(weight, i)
            work, moved = step(graph, state, change, u, v, w, counts)
            if work < 0:
                if change == INSERTED:
                    delete(out, into, has_into, undirected, u, v, discarded, i)
                else:
                    insert(out, into, has_into, undirected, u, v, before, discarded, i)
                status[i] = UNCHANGED
                report[WHY] = REFUSED
                return i
            report[ADDED] += change == INSERTED
            report[TAKEN] += change == DELETED
            if work > report[MOST]:
                report[MOST], report[MOST_AT] = work, i
        if counts:
            changed[i] = moved
        if records:
            record(graph, state, at, recorded, i)
    return end
