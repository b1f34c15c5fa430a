"""CPU template: events one after the other, each applied to the stores and followed by a step of an algorithm.

``stores``, ``piece`` and the entries of ``report`` are explained in ``suricate.replaying.report``; ``graph`` is a
``suricate.plugins.step.Walked``. A status is ``NEW``, ``REPLACED``, ``REMOVED`` or ``UNCHANGED``.
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
    FULL,
    INSERT,
    MOST,
    MOST_AT,
    NOTHING,
    OVER,
    REFUSED,
    TAKEN,
    WHY,
)

FAR, NEAR = 12, 6  #: events ahead at which the words of vertices, and the first slots of edges, are prefetched


@inner
def insert(stores, u, v, weights, before, i):
    """Insert the edge from ``u`` to ``v`` of event ``i`` in all ``stores``; return its status.

    Its weight is ``weights[i]``; ``before[i]`` gets the one that it replaces.
    """
    status = insert_edge(stores.out, u, v, weights, before, i)
    if stores.has_into or (stores.undirected and u != v):
        insert_edge(stores.into, v, u, weights, before, i)
    return status


@inner
def delete(stores, u, v, before, i):
    """Delete the edge from ``u`` to ``v`` of event ``i`` from all ``stores``; return its status.

    ``before[i]`` gets the weight that it had.
    """
    status = delete_edge(stores.out, u, v, before, i)
    if status != UNCHANGED and (stores.has_into or (stores.undirected and u != v)):
        delete_edge(stores.into, v, u, before, i)
    return status


@inner
def has_space_for(stores, u, v):
    """Return whether the edge from ``u`` to ``v`` can be inserted in all ``stores`` without more memory."""
    return has_space(stores.out, u, v, stores.undirected) and (
        not stores.has_into or has_space(stores.into, v, u, False)
    )


@inner
def apply(stores, piece, u, v, i, inserts, undoes):
    """Insert or delete the edge from ``u`` to ``v`` of event ``i``, or undo that; return its status."""
    weights = piece.before if undoes else piece.units
    before = piece.discarded if undoes else piece.before
    return insert(stores, u, v, weights, before, i) if inserts else delete(stores, u, v, before, i)


@inner
def ask(stores, src, dst, i):
    """Prefetch the memory that events ``FAR`` and ``NEAR`` places after event ``i`` will access.

    ``src`` and ``dst`` are the ends of the events, ``stores`` is a :class:`suricate.replaying.report.Stores`.
    """
    if i + FAR < len(src):
        fetch_far(stores.out, src[i + FAR])
        if stores.undirected or stores.has_into:
            fetch_far(stores.into, dst[i + FAR])
    if i + NEAR < len(src):
        fetch(stores.out, src[i + NEAR], dst[i + NEAR])
        if stores.undirected or stores.has_into:
            fetch(stores.into, dst[i + NEAR], src[i + NEAR])


@kernel
def run(stores, graph, state, piece, begin, end, report):
    """Apply the events ``begin`` to ``end`` (exclusive) of a ``piece``; return the index behind the last one applied.

    ``stores``, the ``state`` of the algorithm, the results in ``piece`` and ``report`` are changed in place;
    ``report[WHY]`` says why the loop ended.
    """
    weight, old = piece.weight, piece.old
    report[WHY], change, undoes, i = OVER, 0, False, begin
    while i < end:
        u, v, kind = piece.src[i], piece.dst[i], piece.kind[i]
        work, moved, inserts = 0, 0, kind == INSERT
        if undoes:  # one copy of the code below serves both, since compiling it takes the longest
            inserts = change != INSERTED
        else:
            ask(stores, piece.src, piece.dst, i)
        if inserts and not (undoes or has_space_for(stores, u, v)):
            report[WHY] = FULL
            return i
        change = 0
        if kind != NOTHING:
            piece.status[i] = apply(stores, piece, u, v, i, inserts, undoes)
            if undoes:
                piece.status[i] = UNCHANGED
                report[WHY] = REFUSED
                return i
            if inserts and piece.status[i] == NEW:
                change = INSERTED
            elif inserts and piece.status[i] == REPLACED:
                change = HEAVIER if arc_weight(weight, i) > arc_weight(old, i) else LIGHTER
            elif not inserts and piece.status[i] == REMOVED:
                change = DELETED
        if change != 0:
            w = arc_weight(old, i) if change == DELETED else arc_weight(weight, i)
            work, moved = step(graph, state, change, u, v, w, not piece.records)
            if work < 0:
                undoes = True
                continue
            report[ADDED] += change == INSERTED
            report[TAKEN] += change == DELETED
            if work > report[MOST]:
                report[MOST], report[MOST_AT] = work, i
        if piece.records:
            record(graph, state, piece.at, piece.recorded, i)
        else:
            piece.changed[i] = moved
        i += 1
    return end
