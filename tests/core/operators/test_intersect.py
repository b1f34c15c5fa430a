"""intersect against sparse matrix products."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
from operator_cases import DEGREES, make_case, random_edges

import suricate as su


def weighed(u, v, x, value):
    return value[x]


def order(u, v, x):
    return x - u + 2 * v


def adjacency(case, values=None):
    return sparse.csr_matrix(
        (np.ones(len(case.src)) if values is None else values, (case.src, case.dst)), (case.n,) * 2
    )


def pairs(case):
    """Random pairs, pairs of hubs, pairs with themselves, neighbours, and vertices without edges."""
    rng = np.random.default_rng(20)
    left = [rng.integers(0, case.n, 500), np.arange(len(DEGREES)).repeat(len(DEGREES)), case.src[::40], [case.n - 1, 0]]
    right = [
        rng.integers(0, case.n, 500),
        np.tile(np.arange(len(DEGREES)), len(DEGREES)),
        case.dst[::40],
        [0, case.n - 1],
    ]
    return np.concatenate(left), np.concatenate(right)


@pytest.mark.parametrize("weight_dtype", [None, "float32"])
def test_counts(backend, device, weight_dtype):
    case = make_case(backend, device, weight_dtype)
    left, right = pairs(case)
    a = adjacency(case)
    found = su.intersect(case.graph, None, left, right)
    assert found.dtype == np.int64
    expected = np.asarray(a[left].multiply(a[right]).sum(axis=1)).ravel()
    np.testing.assert_array_equal(case.host(found), expected)
    on_device = su.intersect(case.graph, None, case.array(left.astype(np.uint32)), case.array(right.astype(np.uint32)))
    np.testing.assert_array_equal(case.host(on_device), expected)


def test_sums_of_a_function(backend, device):
    case = make_case(backend, device)
    left, right = pairs(case)
    value = np.random.default_rng(21).random(case.n)
    a, b = adjacency(case), adjacency(case, value[case.dst])
    found = su.intersect(case.graph, None, left, right, weighed, args=(case.array(value),))
    assert found.dtype == np.float64
    np.testing.assert_allclose(case.host(found), np.asarray(a[left].multiply(b[right]).sum(axis=1)).ravel(), rtol=1e-12)
    ids = adjacency(case, case.dst)
    both = a[left].multiply(a[right]).sum(axis=1)
    expected = np.asarray(a[left].multiply(ids[right]).sum(axis=1)).ravel() + np.asarray(both).ravel() * (
        2 * right - left
    )
    np.testing.assert_array_equal(case.host(su.intersect(case.graph, None, left, right, order)), expected)


def test_triangles(backend, device):
    case = make_case(backend, device, directed=False)
    simple = adjacency(case)
    simple.setdiag(0)
    simple.eliminate_zeros()
    graph = su.Graph(case.n, backend=backend, device=device, directed=False)
    upper = sparse.triu(simple).tocoo()
    graph.insert_edges(upper.row, upper.col)
    found = su.intersect(graph, None, upper.row, upper.col)
    assert int(found.sum()) == round((simple @ simple).multiply(simple).sum() / 2)


def test_nothing(backend, device):
    graph = su.Graph(3, backend=backend, device=device)
    assert len(su.intersect(graph, None, [], [])) == 0
    assert device.to_numpy(su.intersect(graph, None, [0, 1], [1, 1])).tolist() == [0, 0]


def test_edges_lists_all_arcs(backend, device):
    case = make_case(backend, device, "int32", directed=False)
    src, dst, weight = (case.host(part) for part in su.arcs(case.graph))
    by = np.lexsort((dst, src))
    np.testing.assert_array_equal(src, np.sort(src))
    for found, expected in zip((src[by], dst[by], weight[by]), case[1:], strict=True):
        np.testing.assert_array_equal(found, expected)


def check_two_graphs(device, left, right):
    """Intersect graphs that are made with these options, either way round."""
    n, src, dst = random_edges()
    left, right = (su.Graph(n, device=device, **options) for options in (left, right))
    left.insert_edges(src, dst)
    right.insert_edges(src[::2], dst[::2])
    a, b = (sparse.csr_matrix((np.ones(len(v)), (u, v)), (n, n)) for u, v in ((src, dst), (src[::2], dst[::2])))
    u, v = src[::7], dst[::7]
    for first, second, rows in ((left, right, (a, b)), (right, left, (b, a))):
        expected = np.asarray(rows[0][u].multiply(rows[1][v]).sum(axis=1)).ravel()
        np.testing.assert_array_equal(device.to_numpy(su.intersect(first, second, u, v)), expected)
        assert int(su.intersect(first, second)[0]) == rows[0].multiply(rows[0] @ rows[1].T).sum()


def test_graphs_of_different_options(backend, device):
    """As stores choose them by their first batches, too."""
    knobs = su.plugins.backends()[backend].knobs
    if not knobs:
        pytest.skip("this backend has no options")
    name, values = next(iter(knobs.items()))
    check_two_graphs(device, *({"backend": backend, name: value} for value in (min(values), max(values))))


def test_graphs_of_different_backends(backend, device):
    known = sorted(su.plugins.backends())
    check_two_graphs(device, {"backend": backend}, {"backend": known[known.index(backend) - 1]})
