"""filter against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su


def above(v, x, limit):
    return x[v] > limit


def even(v):
    return v % 2 == 0


@pytest.fixture
def graph(device):
    return su.Graph(5000, backend="csr_baseline", device=device)


def members(graph, frontier):
    found = graph.device.to_numpy(frontier.vertices)
    assert found.dtype == np.uint32
    return found


def test_all_vertices(graph):
    x = np.random.default_rng(0).random(5000)
    found = members(graph, su.filter(graph, None, above, args=(graph.device.xp.asarray(x), 0.3)))
    np.testing.assert_array_equal(np.sort(found), np.flatnonzero(x > 0.3))
    if not graph.device.is_cuda:
        np.testing.assert_array_equal(found, np.sort(found))


def test_a_frontier_whose_size_is_on_the_device(graph):
    x = np.random.default_rng(1).random(5000)
    values = graph.device.xp.asarray(x)
    some = su.filter(graph, None, above, args=(values, 0.3))
    found = members(graph, su.filter(graph, su.filter(graph, some, even), above, args=(values, 0.9)))
    wanted = np.flatnonzero(x > 0.9)
    np.testing.assert_array_equal(np.sort(found), wanted[wanted % 2 == 0])


def test_ids_and_numbers_as_predicates(graph):
    assert members(graph, su.filter(graph, [7, 4, 4, 1000], even)).tolist() in ([4, 1000], [1000, 4])
    assert members(graph, su.filter(graph, [4, 5], lambda v: v - 4)).tolist() == [5]
    assert len(su.filter(graph, [], even)) == 0
    assert len(su.filter(su.Graph(0, backend="csr_baseline", device=graph.device), None, even)) == 0
