"""intersect with the weights, or the rows, of the edges to a common neighbour, against sums over dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.errors import EdgeFunctionError, RequirementError

N = 40


def both(u, v, x, a, b):
    return 2 * a + 3 * b + x


def placed(i, u, v, x, a, b, scale):
    return scale[i] * (a - b)


def product(u, v, x, a, b):
    return a * b + u


def by_row(u, v, x, row_a, row_b, km):
    return 2 * km[row_a] + 3 * km[row_b] + x


def at_x(u, v, x, a, b, found):
    su.atomic.add(found, x, a + b)


def counted(u, v, x, row_a, row_b, found):
    su.atomic.add(found, row_a, 1)


def edges():
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, N, (2, 260))
    hub = np.full(N, 7)
    return np.concatenate((src, hub)), np.concatenate((dst, np.arange(N))), rng.integers(1, 9, 260 + N)


def made(backend, device, directed, *, columns=False, dtype="int32"):
    src, dst, weight = edges()
    options = {"edge_columns": {"km": "float64", "weight": dtype}} if columns else {"weight_dtype": dtype}
    graph = su.Graph(N, backend=backend, device=device, directed=directed, **options)
    graph.insert_edges(src, dst, {"weight": weight, "km": weight / 2} if columns else weight)
    graph.delete_edges(src[::9], dst[::9])
    return graph


def dense(graph):
    found, arcs = np.zeros((N, N)), su.arcs(graph)
    src, dst, weight = (graph.device.to_numpy(part) for part in (arcs.src, arcs.dst, arcs.weight))
    found[src, dst] = weight
    return found


def pairs():
    u, v = np.random.default_rng(6).integers(0, N, (2, 90))
    return np.concatenate((u, [7, 7, 3])), np.concatenate((v, [7, 1, 7]))


def expected(left, right, fn):
    """The sum of ``fn(u, v, x, a, b)``, of arrays, over the common neighbours of each of ``pairs()``."""
    u, v = pairs()
    x = np.arange(N)
    common = (left[u] != 0) & (right[v] != 0)
    return np.where(common, fn(u[:, None], v[:, None], x, left[u], right[v]), 0).sum(axis=1)


def methods(graph):
    return ["auto", "bitmap", *(["hash"] if graph.view().find != "linear" else [])]


@pytest.mark.parametrize("columns", [False, True], ids=["weights", "columns"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_weights_of_pairs(backend, device, directed, columns):
    graph, (u, v) = made(backend, device, directed, columns=columns), pairs()
    matrix = dense(graph)
    for method in methods(graph):
        found = device.to_numpy(su.intersect(graph, None, u, v, both, method=method))
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, expected(matrix, matrix, both))
    scale = np.arange(len(u))
    found = su.intersect(graph, None, u, v, placed, args=(device.xp.asarray(scale),))
    np.testing.assert_array_equal(device.to_numpy(found), scale * expected(matrix, matrix, lambda u, v, x, a, b: a - b))
    if columns:
        found = su.intersect(graph, None, u, v, by_row, args=("km",))
        np.testing.assert_array_equal(
            device.to_numpy(found), expected(matrix, matrix, lambda u, v, x, a, b: a + 1.5 * b + x)
        )


@pytest.mark.slow
def test_weights_of_two_operands(backend, device):
    """Of other dtypes, or none, on either side; of a graph and a set, and of two graphs."""
    graph, (u, v) = made(backend, device, directed=True), pairs()
    few = tuple(part[::4] for part in edges())
    other = su.Graph(N, backend="csr_baseline", device=device, edge_columns={"weight": "float64"})
    other.insert_edges(*few[:2], few[2] / 4)
    plain = su.Graph(N, backend=backend, device=device)
    plain.insert_edges(*few[:2])
    for second in (graph.edge_set(*few[:2], few[2] / 4), other, plain):
        small = dense(other) if second is not plain else (dense(other) != 0).astype(float)
        for method in ("auto", "bitmap"):
            found = su.intersect(graph, second, u, v, both, method=method)
            np.testing.assert_array_equal(device.to_numpy(found), expected(dense(graph), small, both))
            found = su.intersect(second, graph, u, v, both, method=method)
            np.testing.assert_array_equal(device.to_numpy(found), expected(small, dense(graph), both))


@pytest.mark.parametrize("oriented", ["degree", "id"])
def test_weights_of_triangles(backend, device, oriented):
    graph = made(backend, device, directed=False)
    matrix = dense(graph)
    degree = (matrix != 0).sum(axis=1) if oriented == "degree" else np.zeros(N)
    order = np.lexsort((np.arange(N), degree))
    corners, total = np.zeros(N), 0
    for i, u in enumerate(order):
        for j in range(i + 1, N):
            v = order[j]
            for x in order[j + 1 :]:
                if matrix[u, v] and matrix[u, x] and matrix[v, x]:
                    value = matrix[u, x] * matrix[v, x] + u
                    total += value
                    corners[[u, v, x]] += value
    assert device.to_numpy(su.intersect(graph, fn=product, oriented=oriented)).tolist() == [total]
    found = su.intersect(graph, fn=product, oriented=oriented, out=device.xp.zeros(N))
    np.testing.assert_array_equal(device.to_numpy(found), corners)


def test_effects_and_every_arc(backend, device):
    graph = made(backend, device, directed=False)
    matrix, found = dense(graph), device.xp.zeros(N)
    assert su.intersect(graph, fn=at_x, args=(found,)) is None
    stored = matrix != 0
    wanted = sum(
        np.where(stored[u] & stored[v], matrix[u] + matrix[v], 0) for u, v in zip(*np.nonzero(matrix), strict=True)
    )
    np.testing.assert_array_equal(device.to_numpy(found), wanted)
    assert device.to_numpy(su.intersect(graph, fn=lambda u, v, x, a, b: a + b)).tolist() == [wanted.sum()]


def test_state_by_row(backend, device):
    """An array with an entry per row, whose number is public, counts the triangles of each edge."""
    graph = made(backend, device, directed=False, columns=True)
    found = device.xp.zeros(graph.edge_columns.capacity, np.int64)
    su.intersect(graph, fn=counted, args=(found,))
    listed, stored = graph.edges(), dense(graph) != 0
    src, dst, row = (device.to_numpy(part) for part in (listed.src, listed.dst, listed.row))
    paths = stored.astype(int) @ stored.astype(int)  # of each edge u-x the v next to both: arcs u-v, and x-v turned
    loops = src == dst
    np.testing.assert_array_equal(device.to_numpy(found)[row], np.where(loops, 1, 2) * paths[src, dst])
    before = graph.edge_columns.capacity
    graph.insert_edges(*np.divmod(np.arange(N * N), N))
    assert before < graph.edge_columns.capacity
    assert int(graph.edges().row.max()) < graph.edge_columns.capacity


def test_what_does_not_fit(device):
    graph, plain = made("slabhash", device, directed=False), su.Graph(3, device=device)
    with pytest.raises(RequirementError, match="row_a and row_b"):
        su.intersect(graph, fn=by_row, args=("km",))
    with pytest.raises(EdgeFunctionError, match="called with"):
        su.intersect(graph, fn=product, args=(1,))
    assert device.to_numpy(su.intersect(plain, None, [0], [1], both)).tolist() == [0]
    with pytest.raises(RequirementError, match="have no columns"):
        _ = graph.edge_columns.capacity
