"""Vertices that an independent set must contain: validity, neighbours among them, deletion, names."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.errors import ParameterError, VertexRangeError


def test_the_set_contains_the_nodes_and_is_maximal_as_in_networkx(device: su.devices.Device, backend: str) -> None:
    other = nx.gnp_random_graph(40, 0.15, seed=3)
    nodes = sorted(nx.maximal_independent_set(other, seed=1))[:4]
    graph = su.Graph(40, backend=backend, device=str(device), directed=False)
    graph.insert_edges(*zip(*other.edges, strict=True))
    tracker = graph.track("independent_set", nodes=nodes)
    lost = list(other.edges)[::3]
    for step in range(2):
        members = set(np.flatnonzero(device.to_numpy(tracker.result)).tolist())
        assert members >= set(nodes)
        assert sorted(nx.maximal_independent_set(other, sorted(members), seed=1)) == sorted(members)  # nothing to add
        np.testing.assert_array_equal(
            device.to_numpy(tracker.result), device.to_numpy(graph.compute("independent_set", nodes=nodes))
        )
        if step == 0:
            graph.delete_edges(*zip(*lost, strict=True))
            other.remove_edges_from(lost)


@pytest.mark.parametrize("options", [{"directed": False}, {"in_edges": True}], ids=str)
def test_neighbours_are_an_error_until_they_are_parted(options: dict[str, bool]) -> None:
    graph = su.Graph(6, device="cpu", **options)
    graph.insert_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 4])
    tracker = graph.track("independent_set", nodes=[4, 1, 0, 4])
    with pytest.raises(ParameterError, match="independent_set: nodes has 0 and 1, which are neighbours"):
        _ = tracker.result
    with pytest.raises(ParameterError, match="nodes has 0 and 1"):
        graph.compute("independent_set", nodes=[0, 1])
    graph.delete_edges([0], [1])
    assert tracker.result.tolist() == [True, True, False, False, True, True]  # the self-loop at 4 does not count
    graph.insert_edges([4], [1])
    with pytest.raises(ParameterError, match="nodes has 1 and 4"):
        _ = tracker.result
    graph.delete_vertices([4])
    with pytest.raises(VertexRangeError, match=r"independent_set: nodes\[0\] is 4: this vertex is deleted"):
        _ = tracker.result
    graph.insert_vertices(1, recycle=True)
    assert tracker.result.tolist() == [True, True, False, True, True, True]


def test_nodes_may_be_names() -> None:
    graph = su.Graph(0, device="cpu", directed=False, names=su.Names())
    graph.insert_edges(["a", "b", "c"], ["b", "c", "d"])
    assert graph.compute("independent_set", nodes={"b", "d"}).tolist() == [False, True, False, True]
