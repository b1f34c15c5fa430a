"""What functions of intersect may do besides returning a number: effects, scalars, questions about edges."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
from operator_cases import make_case

import suricate as su
from suricate.errors import ParameterError


def at_each(u, v, x, found):
    su.atomic.add(found, u, 1)
    su.atomic.add(found, v, 1)
    su.atomic.add(found, x, 1)


def highest(i, u, v, x, best):
    su.atomic.max(best, i, x)
    return x


def counted(u, v, x, total):
    total.add(x)


def outside(u, v, x, batch):
    return 1 if (u, x) not in batch and (v, x) not in batch else 0


def reciprocal(u, v, x, graph):
    return 1000 * graph.degree(x) + (1 if (x, u) in graph else 0)


def adjacency(n, src, dst):
    return sparse.csr_array((np.ones(len(src), np.int64), (src, dst)), shape=(n, n))


def some_pairs(case):
    rng = np.random.default_rng(8)
    left = np.concatenate([rng.integers(0, case.n, 300), np.repeat(np.arange(12), 12)])
    return left, np.concatenate([rng.integers(0, case.n, 300), np.tile(np.arange(12), 12)])


def methods(graph):
    return ["auto", "bitmap", *(["hash"] if graph.view().find != "linear" else [])]


def test_a_function_that_returns_nothing(backend, device):
    case = make_case(backend, device)
    left, right = some_pairs(case)
    a = adjacency(case.n, case.src, case.dst)
    both = a[left].multiply(a[right]).tocsr()
    sums = np.asarray(both.sum(axis=1)).ravel()
    expected = np.bincount(left, sums, case.n) + np.bincount(right, sums, case.n) + np.asarray(both.sum(axis=0)).ravel()
    for method in methods(case.graph):
        found = case.graph.device.xp.zeros(case.n, np.int64)
        assert su.intersect(case.graph, u=left, v=right, fn=at_each, args=(found,), method=method) is None
        np.testing.assert_array_equal(case.host(found), expected)
    with pytest.raises(ParameterError, match="returns nothing"):
        su.intersect(case.graph, u=left, v=right, fn=at_each, args=(found,), out=found)


@pytest.mark.parametrize("oriented", ["degree", None])
def test_effects_of_every_arc_and_triangle(backend, device, oriented):
    case = make_case(backend, device, directed=False)
    xp = case.graph.device.xp
    found, right = xp.zeros(case.n, np.int64), xp.zeros(case.n, np.int64)
    assert su.intersect(case.graph, fn=at_each, args=(found,), oriented=oriented) is None
    if oriented is not None:
        su.intersect(case.graph, oriented=oriented, out=right)
        np.testing.assert_array_equal(case.host(found), case.host(right))
    else:
        assert int(found.sum()) == 3 * int(su.intersect(case.graph)[0])


def test_a_number_and_an_effect(backend, device):
    case = make_case(backend, device)
    left, right = some_pairs(case)
    a = adjacency(case.n, case.src, case.dst)
    both = a[left].multiply(a[right]).tocsr()
    best = case.graph.device.xp.zeros(len(left), np.uint32)
    found = su.intersect(case.graph, u=left, v=right, fn=highest, args=(best,))
    np.testing.assert_array_equal(case.host(found), both @ np.arange(case.n))
    expected = [row.indices.max(initial=0) for row in (both[[i]] for i in range(len(left)))]
    np.testing.assert_array_equal(case.host(best), expected)


def test_scalars(backend, device):
    case = make_case(backend, device, directed=False)
    left, right = some_pairs(case)
    a = adjacency(case.n, case.src, case.dst)
    expected = (a[left].multiply(a[right]) @ np.arange(case.n)).sum()
    for method in methods(case.graph):
        total = su.Scalar._of("sum", "int64", device=device)
        su.intersect(case.graph, u=left, v=right, fn=counted, args=(total,), method=method)
        assert total.read() == expected
        su.intersect(case.graph, u=[], v=[], fn=counted, args=(total,), method=method)
        assert total.read() == 0
    once = su.Scalar._of("sum", "int64", device=device)
    su.intersect(case.graph, fn=counted, args=(once,), oriented="id")
    triangles = case.graph.device.xp.empty(case.n, np.int64)
    su.intersect(case.graph, oriented="id", out=triangles)
    assert 0 < once.read() < int((triangles * case.graph.device.xp.arange(case.n)).sum())


@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_questions_to_graphs_and_edge_sets(backend, device, side):
    case = make_case(backend, device)
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 40, 800), rng.integers(0, 600, 800)
    batch = case.graph.edge_set(src, dst)
    a = adjacency(case.n, case.src, case.dst)
    b = adjacency(case.n, src, dst)
    b.data[:] = 1
    left, right = some_pairs(case)
    first, second = (b if side == "right" else a), (b if side == "left" else a)
    operands = [batch if matrix is b else case.graph for matrix in (first, second)]
    both = first[left].multiply(second[right]).tocoo()
    u, v, x = left[both.row], right[both.row], both.col
    known = (b[u, x] == 0) & (b[v, x] == 0)
    found = su.intersect(*operands, u=left, v=right, fn=outside, args=(batch,))
    np.testing.assert_array_equal(case.host(found), np.bincount(both.row, known, len(left)))
    asked = 1000 * np.bincount(case.src, minlength=case.n)[x] + (a[x, u] != 0)
    found = su.intersect(*operands, u=left, v=right, fn=reciprocal, args=(case.graph,))
    np.testing.assert_array_equal(case.host(found), np.bincount(both.row, asked, len(left)))
