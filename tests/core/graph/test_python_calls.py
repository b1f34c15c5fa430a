"""How many Python calls a change of one edge makes, on the CPU: small batches are as fast as these are few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.bench.workloads.short import files_of_calls

pytestmark = pytest.mark.compiled

#: options of a graph, tracked algorithms, and the most calls of an insertion and of a deletion
CASES: dict[str, tuple[dict[str, Any], tuple[str, ...], int, int]] = {
    "plain": ({}, (), 24, 24),
    "weights": ({"weight_dtype": "float32"}, (), 43, 25),
    "in-edges": ({"in_edges": True}, (), 34, 29),
    "bfs": ({}, ("bfs",), 74, 74),
    "bfs with in-edges": ({"in_edges": True}, ("bfs",), 90, 85),
    "wcc with in-edges": ({"in_edges": True}, ("wcc",), 73, 74),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_change_of_one_edge_makes_few_calls(case: str) -> None:
    options, algorithms, *most = CASES[case]
    graph = su.Graph(num_vertices=1_000, device="cpu", **options)
    weight = [np.ones(1, np.float32)] if graph.weight_dtype else []
    graph.insert_edges(np.arange(1_000), np.arange(1_000) // 2, *[np.ones(1_000, np.float32)] * len(weight))
    trackers = [graph.track(name) for name in algorithms]
    edge = np.array([3]), np.array([40])
    for _ in range(3):  # compiles what it calls, and builds what trackers need for deletions
        graph.insert_edges(*edge, *weight)
        graph.delete_edges(*edge)
    inserting = files_of_calls(lambda: graph.insert_edges(*edge, *weight))
    assert graph.has_edges(*edge).all()
    deleting = files_of_calls(lambda: graph.delete_edges(*edge))
    assert not graph.has_edges(*edge).any()
    assert all(tracker.last.kind == "updated" for tracker in trackers)
    assert len(inserting) <= most[0]
    assert len(deleting) <= most[1]
