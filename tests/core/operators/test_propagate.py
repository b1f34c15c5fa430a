"""propagate against SciPy: breadth-first levels and parents, shortest paths, labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
from operator_cases import DEGREES, ISOLATED, PATH, N, make_case
from scipy.sparse import csgraph

import suricate as su
from suricate.operators import call

FAR = np.iinfo(np.int64).max


def hop(u, v, w, level):
    return level[u] + 1


def hop_with_parent(u, v, w, key):
    return ((key[u] >> 32) + 1) << 32 | u


def relax(u, v, w, distance):
    return distance[u] + w


def label_of(u, v, w, label):
    return label[u]


def matrix(case):
    return sparse.csr_matrix((case.weight.astype(np.float64), (case.src, case.dst)), shape=(case.n, case.n))


def unweighted_levels(case, source):
    ones = sparse.csr_matrix((np.ones(len(case.src)), (case.src, case.dst)), shape=(case.n, case.n))
    return csgraph.shortest_path(ones, unweighted=True, indices=source)


@pytest.mark.parametrize("source", [0, 9, N - PATH - ISOLATED])
def test_levels(backend, device, source):
    case = make_case(backend, device)
    level = device.xp.full(case.n, 2**31 - 1, np.int32)
    level[source] = 0
    steps = su.propagate(case.graph, [source], hop, out=level, args=(level,), reduce="min")
    expected = unweighted_levels(case, source)
    found = case.host(level).astype(np.float64)
    found[found == 2**31 - 1] = np.inf
    np.testing.assert_array_equal(found, expected)
    assert steps.steps == expected[np.isfinite(expected)].max() + 1  # the last one finds nothing new


def test_the_case_has_what_the_kernels_treat_apart(device):
    case = make_case("csr_baseline", device)
    degrees = np.bincount(case.src, minlength=case.n)
    assert [degrees[vertex] for vertex in DEGREES] == list(DEGREES.values())
    assert (case.src == case.dst).any()
    assert (degrees + np.bincount(case.dst, minlength=case.n) == 0).sum() >= 50
    assert np.nanmax(np.where(np.isfinite(levels := unweighted_levels(case, 0)), levels, np.nan)) > PATH / 2


def test_levels_and_parents_in_one_word(backend, device):
    case = make_case(backend, device)
    key = device.xp.full(case.n, FAR, np.int64)
    key[0] = 0
    su.propagate(case.graph, [0], hop_with_parent, out=key, args=(key,), reduce="min")
    found = case.host(key)
    expected = unweighted_levels(case, 0)
    reached = found != FAR
    np.testing.assert_array_equal(reached, np.isfinite(expected))
    np.testing.assert_array_equal(found[reached] >> 32, expected[reached])
    for v in np.flatnonzero(reached & (np.arange(case.n) != 0))[::37]:
        before = case.src[case.dst == v]
        assert found[v] & 0xFFFFFFFF == before[expected[before] == expected[v] - 1].min()


@pytest.mark.parametrize("weight_dtype", ["int32", "uint32", "float32", "float64"])
def test_shortest_paths(backend, device, weight_dtype):
    case = make_case(backend, device, weight_dtype)
    distance = device.xp.full(case.n, np.inf)
    distance[2] = 0
    su.propagate(case.graph, [2], relax, out=distance, args=(distance,), reduce="min")
    np.testing.assert_array_equal(case.host(distance), csgraph.dijkstra(matrix(case), indices=2))


@pytest.mark.compiled
def test_largest_label_from_everywhere(backend, device):
    case = make_case(backend, device, directed=False)
    label = device.xp.arange(case.n, dtype=np.uint32)
    su.propagate(case.graph, None, label_of, out=label, args=(label,), reduce="max")
    _, component = csgraph.connected_components(matrix(case), directed=False)
    largest = np.zeros(case.n, np.int64)
    np.maximum.at(largest, component, np.arange(case.n))
    np.testing.assert_array_equal(case.host(label), largest[component])


def test_max_steps(backend, device):
    n = 600
    graph = su.Graph(n, backend=backend, device=device)
    graph.insert_edges(np.arange(n - 1), np.arange(1, n))
    for limit in (0, 1, 5, 599, 600, None):
        level = device.xp.full(n, n, np.int32)
        level[0] = 0
        steps = su.propagate(graph, [0], hop, out=level, args=(level,), reduce="min", max_steps=limit)
        reached = n - 1 if limit is None else min(limit, n - 1)
        assert steps.steps == (n if limit is None else min(limit, n))
        assert device.to_numpy(level).tolist() == [i if i <= reached else n for i in range(n)]


def test_nothing_to_do(backend, device):
    graph = su.Graph(3, backend=backend, device=device)
    level = device.xp.zeros(3, np.int32)
    assert su.propagate(graph, [], hop, out=level, args=(level,), reduce="min").steps == 0
    assert su.propagate(graph, None, hop, out=level, args=(level,), reduce="min").steps == 1
    assert (
        su.propagate(
            su.Graph(0, backend=backend, device=device), None, hop, out=level[:0], args=(level[:0],), reduce="min"
        ).steps
        == 0
    )


def test_starts_from_a_frontier_that_an_operator_returned(backend, device):
    case = make_case(backend, device)
    level = device.xp.full(case.n, 10**6, np.int32)
    level[0] = 0
    frontier = su.advance(case.graph, [0], hop, out=level, args=(level,), reduce="min")
    su.propagate(case.graph, frontier, hop, out=level, args=(level,), reduce="min")
    expected = unweighted_levels(case, 0)
    np.testing.assert_array_equal(case.host(level), np.where(np.isfinite(expected), expected, 10**6))


def test_numbers_of_steps_run_out(device, monkeypatch):
    """Stamps are cleared when their numbers are used up: results stay right, frontiers free of duplicates."""
    monkeypatch.setattr(call, "LAST_STEP", 40)
    graph = su.Graph(6, backend="csr_baseline", device=device)
    graph.insert_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 4])
    for _ in range(30):
        level = device.xp.full(6, 100, np.int32)
        level[0] = 0
        assert su.propagate(graph, [0], hop, out=level, args=(level,), reduce="min", max_steps=9).steps == 4
        assert device.to_numpy(level).tolist() == [0, 1, 1, 2, 3, 100]
        level[3] = 100
        assert device.to_numpy(
            su.advance(graph, [1, 2], hop, out=level, args=(level,), reduce="min").vertices
        ).tolist() == [3]
