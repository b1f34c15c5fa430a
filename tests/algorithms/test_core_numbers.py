"""Core numbers: what is kept beside them, after every batch."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.algorithms.kcore.core_numbers import CoreNumbers

pytestmark = pytest.mark.compiled


def check_order(graph: su.Graph, numbers: CoreNumbers) -> None:
    """At most k neighbours come after a vertex of number k; that number and its support are what they say."""
    src, dst = (part.astype(np.int64) for part in su.arcs(graph)[:2])
    src, dst = src[src != dst], dst[src != dst]
    core, place = numbers.core.astype(np.int64), numbers._place
    supported = np.bincount(dst[core[src] >= core[dst]], minlength=len(core))
    np.testing.assert_array_equal(numbers._support, supported)
    after = (core[src] > core[dst]) | ((core[src] == core[dst]) & (place[src] >= place[dst]))
    later = np.bincount(dst[after], minlength=len(core))
    np.testing.assert_array_equal(numbers._later, later)
    assert (later <= core).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [7, 10])
def test_the_order_stays_valid(scale: int, seed: int) -> None:
    graph, n = su.Graph(1 << scale, backend="csr_baseline", device="cpu", directed=False), 1 << scale
    edges = su.generate.rmat(scale, 12, seed=seed)
    graph.insert_edges(edges.src, edges.dst)
    tracker, rng = graph.track("kcore"), np.random.default_rng(seed)
    tracker.algorithm.recompute_share_on_cpu = np.inf
    for count in (5, 50, 400, 5, 400, 50, 5, 50):
        at = rng.integers(0, len(edges.src), count)
        for batch in (
            su.Batch(insert=tuple(rng.integers(0, n, (2, count)))),
            su.Batch(delete=(edges.src[at], edges.dst[at])),
            su.Batch(insert=tuple(rng.integers(0, n, (2, count))), delete=(edges.src[at[::-1]], edges.dst[at])),
        ):
            graph.apply(batch)
            check_order(graph, tracker.algorithm._numbers)
            np.testing.assert_array_equal(tracker.result.core, graph.compute("kcore").core)
    assert tracker.updates.updated > 8


@pytest.mark.slow
def test_the_order_stays_valid_event_by_event() -> None:
    graph, rng = su.Graph(128, device="cpu", directed=False), np.random.default_rng(2)
    edges = su.generate.rmat(7, 12, seed=1)
    graph.insert_edges(edges.src, edges.dst)
    tracker = graph.track("kcore")
    for count in (1, 10, 500, 500):
        at = rng.integers(0, len(edges.src), count)
        su.replay(graph, (edges.src[at], edges.dst[at], rng.random(count) < 0.5), tracker)
        graph.insert_edges(*rng.integers(0, 128, (2, 1)))
        check_order(graph, tracker.algorithm._numbers)
