"""The net change of many single events: one delta for the trackers that are not updated after each event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate.base.types import EdgeList
from suricate.graph.delta import Delta, Lists
from suricate.intake.arrays import bits
from suricate.replaying.report import INSERT

if TYPE_CHECKING:
    from suricate.graph import Graph


def net_delta(
    graph: Graph,
    edges: EdgeList,
    kind: np.ndarray,
    status: np.ndarray,
    before: np.ndarray,
) -> Delta:
    """Return the net change of events that were applied, on the CPU, as a delta.

    ``status``: of each event in the store; 0: it changed nothing. ``before``: the weight that it replaced or deleted.
    """
    places = np.flatnonzero(status)
    src, dst = edges.src[places], edges.dst[places]
    if not graph.directed:
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    keys = src.astype(np.uint64) << np.uint64(32) | dst
    order = np.argsort(keys, kind="stable")
    starts = np.ones(len(keys), bool)
    starts[1:] = keys[order][1:] != keys[order][:-1]
    first, last = order[starts], order[np.append(starts[1:], True)[: len(order)]]
    is_new = (kind[places] == INSERT) & (status[places] == 1)  # NEW
    was, now = ~is_new[first], (kind[places] == INSERT)[last]
    ends = src[first], dst[first]
    new = old = None
    differs = np.zeros(len(first), bool)
    if edges.weight is not None:
        new, old = edges.weight[places[last]], before[places[first]]
        differs = bits(new) != bits(old)
    delta = Delta(
        graph.device, graph.directed, graph.weight_dtype, (graph.num_vertices, graph.num_vertices),
        lock=graph.exclusive(),
    )  # fmt: skip
    delta.version = graph.version
    inserted, deleted, replaced = now & ~was, was & ~now, was & now & differs
    delta._lists = Lists(
        _picked(ends, new, inserted),
        _picked(ends, old, deleted),
        _picked(ends, new, replaced),
        None if old is None else old[replaced],
    )
    return delta


def _picked(ends: tuple[np.ndarray, np.ndarray], weight: np.ndarray | None, where: np.ndarray) -> EdgeList:
    return EdgeList(ends[0][where], ends[1][where], None if weight is None else weight[where])
