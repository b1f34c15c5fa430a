"""Counting what an action costs."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.operators.results import Propagated
from suricate.testing.costs import measure


def hop(u, v, w, level):
    return level[u] + 1


def chain(device, length=20):
    graph = su.Graph(length, device=device)
    graph.insert_edges(np.arange(length - 1), np.arange(1, length))
    return graph


def test_vertices_are_counted(device):
    graph = chain(device)
    level = device.xp.full(20, 1000, np.int64)
    assert measure(lambda: Propagated.of(steps=3, touched=14, converged=True), device).visited == 14
    assert measure(lambda: su.advance(graph, [3, 4], hop, out=level, args=(level,), reduce="min"), device).visited == 2
    assert measure(lambda: su.neighbor_reduce(graph, None, hop, args=(level,), reduce="sum"), device).visited == 20
    assert measure(lambda: None, device).visited == 0


@pytest.mark.gpu
def test_waits_launches_and_memory_are_counted():
    graph = chain("cuda")
    src, dst = graph.device.xp.array([1, 2, 3]), graph.device.xp.array([5, 6, 7])
    graph.insert_edges(src, dst)
    costs = measure(lambda: graph.insert_edges(src, dst), graph.device)
    assert costs.launches == 1
    assert costs.waits.total() <= 1
    assert 0 < costs.allocated <= 4096
    waiting = measure(graph.synchronize, graph.device)
    assert (waiting.launches, waiting.waits.total() > 0) == (0, True)
    level = graph.device.xp.zeros(20, np.int64)
    su.neighbor_reduce(graph, None, hop, args=(level,), reduce="sum")
    assert (
        measure(lambda: su.neighbor_reduce(graph, None, hop, args=(level,), reduce="sum"), graph.device).launches >= 1
    )


def test_nothing_stays_replaced(device):
    from suricate.cuda.program import Program
    from suricate.operators.call import driver_on

    before = Program.kernel, Propagated.__init__, driver_on(device).advance
    with pytest.raises(ZeroDivisionError):
        measure(lambda: 1 / 0, device)
    assert before == (Program.kernel, Propagated.__init__, driver_on(device).advance)
