"""intersect over every arc, over oriented edges (triangles), over edge sets, and by each method; against SciPy."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sparse
from operator_cases import make_case
from turns import few

import suricate as su
from suricate.errors import ParameterError, RequirementError, ShapeError, UnknownNameError
from suricate.operators.cpu.intersect.triangle_count import SHORT

pytestmark = pytest.mark.compiled


def product(u, v, x, value):
    return value[u] + 3 * value[v] + 5 * value[x]


def position(i, u, v, x):
    return 1000 * i + x


def adjacency(n, src, dst):
    return sparse.csr_array((np.ones(len(src), np.int64), (src, dst)), shape=(n, n))


def methods(graph):
    return ["auto", "bitmap", *(["hash"] if graph.view().find != "linear" else [])]


def ends(case, pairs):
    """Return the ends of an arc list on the host, and which of its entries count."""
    src, dst = case.host(pairs.src), case.host(pairs.dst)
    return src, dst, np.ones(len(src), bool) if pairs.status is None else case.host(pairs.status) == pairs.wanted


def triangles_of(n, src, dst):
    """Return the number of triangles at every vertex."""
    graph = nx.Graph(zip(src.tolist(), dst.tolist(), strict=True))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    found = nx.triangles(graph)
    return np.array([found.get(v, 0) for v in range(n)])


@pytest.mark.parametrize("directed", [True, False])
def test_every_arc(backend, device, directed):
    case = make_case(backend, device, directed=directed)
    a = adjacency(case.n, case.src, case.dst)
    expected = int((a @ a.T).multiply(a).sum())  # of the arc (u, v): heads that both lead to
    for method in [m for m in methods(case.graph) if m != "hash"]:
        found = su.intersect(case.graph, method=method)
        assert case.host(found).tolist() == [expected]


def one_each(u, v, x):
    return 1


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("hub", [False, True])
def test_triangles_are_counted_in_short_rows_and_in_others(backend, hub, parts, monkeypatch):
    """Without a hub rows are short; on the CPU, by rows in order and, where edges are hashed, by look-ups."""
    counting = "suricate.operators.cpu.intersect.intersection"
    monkeypatch.setattr(f"{counting}.threads.parts", lambda work: parts)
    n, rng = 90, np.random.default_rng(8)
    graph = su.Graph(n, backend=backend, device="cpu", directed=False)
    graph.insert_edges(*rng.integers(0, n, (2, 700)))
    graph.delete_edges(*rng.integers(0, n, (2, 700)))  # gaps
    graph.insert_edges(np.arange(5), np.arange(5))
    if hub:
        graph.insert_edges(np.full(80, 40), np.arange(80))
    assert (graph.degrees().max() > SHORT) == hub
    right = triangles_of(n, *su.arcs(graph)[:2]).sum() // 3
    assert right > 50
    for oriented in ("id", "degree"):
        for arcs_per_vertex in (1 << 32, 0):
            monkeypatch.setattr(f"{counting}.PAIRED", arcs_per_vertex)
            assert su.intersect(graph, oriented=oriented).tolist() == [right]
        assert su.intersect(graph, fn=one_each, oriented=oriented).tolist() == [right]


@pytest.mark.parametrize("unsplit", [0, 1 << 30])
def test_methods_agree_on_pairs(backend, device, unsplit, monkeypatch):
    """Also where pairs are split on CUDA, and where they are not."""
    monkeypatch.setattr("suricate.operators.cuda.intersect.intersect.UNSPLIT", unsplit)
    case = make_case(backend, device)
    a = adjacency(case.n, case.src, case.dst)
    rng = np.random.default_rng(3)
    left = np.concatenate([rng.integers(0, case.n, 300), rng.integers(0, 12, 200)])
    right = np.concatenate([rng.integers(0, case.n, 300), rng.integers(0, 12, 200)])
    both = a[left].multiply(a[right])
    weights = np.arange(case.n)
    for method in methods(case.graph):
        found = su.intersect(case.graph, u=left, v=right, method=method)
        np.testing.assert_array_equal(case.host(found), both.sum(axis=1))
        found = su.intersect(case.graph, u=left, v=right, fn=position, method=method)
        np.testing.assert_array_equal(case.host(found), both @ weights + both.sum(axis=1) * 1000 * np.arange(len(left)))


@pytest.mark.parametrize("oriented", ["degree", "id"])
def test_triangles_once(backend, device, oriented):
    case = make_case(backend, device, directed=False)
    corners = triangles_of(case.n, case.src, case.dst)
    found = su.intersect(case.graph, oriented=oriented)
    assert case.host(found).tolist() == [corners.sum() // 3]
    out = case.graph.device.xp.empty(case.n, np.int64)
    assert su.intersect(case.graph, oriented=oriented, out=out) is out
    np.testing.assert_array_equal(case.host(out), corners)


def test_oriented_calls_in_ascending_order(backend, device):
    """On a complete graph with ids as ranks, u < v < x."""
    n = 9
    graph = su.Graph(n, backend=backend, device=device, directed=False)
    src, dst = np.triu_indices(n, 0)  # self-loops too
    graph.insert_edges(src, dst)
    value = np.arange(n, dtype=np.int64) ** 2
    expected = [
        (value[u] + 3 * value[v] + 5 * value[x], (u, v, x))
        for u in range(n) for v in range(u + 1, n) for x in range(v + 1, n)
    ]  # fmt: skip
    args = (graph.device.xp.asarray(value),)
    found = su.intersect(graph, fn=product, args=args, oriented="id")
    assert device.to_numpy(found).tolist() == [sum(one for one, _ in expected)]
    corners = np.zeros(n, np.int64)
    for one, at in expected:
        corners[list(at)] += one
    out = graph.device.xp.empty(n, np.int64)
    su.intersect(graph, fn=product, args=args, oriented="id", out=out)
    np.testing.assert_array_equal(device.to_numpy(out), corners)


@pytest.mark.parametrize("n", [3, 5, 40, 150, 2100])
def test_complete_graphs(backend, device, n):
    """Rows of every class of length."""
    graph = su.Graph(n + 2, backend=backend, device=device, directed=False)
    graph.insert_edges(*np.triu_indices(n, 1))
    assert device.to_numpy(su.intersect(graph, oriented="degree")).tolist() == [n * (n - 1) * (n - 2) // 6]
    out = graph.device.xp.empty(n + 2, np.int32)
    su.intersect(graph, oriented="degree", out=out)
    assert device.to_numpy(out).tolist() == [(n - 1) * (n - 2) // 2] * n + [0, 0]


def test_stars_and_empty_graphs(backend, device):
    graph = su.Graph(3000, backend=backend, device=device, directed=False)
    assert device.to_numpy(su.intersect(graph, oriented="degree")).tolist() == [0]
    assert device.to_numpy(su.intersect(graph)).tolist() == [0]
    graph.insert_edges(np.zeros(2999, int), np.arange(1, 3000))
    assert device.to_numpy(su.intersect(graph, oriented="degree")).tolist() == [0]
    assert device.to_numpy(su.intersect(graph, oriented="id")).tolist() == [0]
    graph.insert_edges([7, 8], [8, 9])
    assert device.to_numpy(su.intersect(graph, oriented="degree")).tolist() == [2]


def test_repeated_calls_reuse_their_memory(backend, device):
    """Rows and marks of an earlier call, of another shape, do not count."""
    graph = su.Graph(64, backend=backend, device=device, directed=False)
    for size in (30, 64, 12, 50):
        graph.delete_edges(*np.triu_indices(64, 1))
        graph.insert_edges(*np.triu_indices(size, 1))
        assert device.to_numpy(su.intersect(graph, oriented="degree")).tolist() == [size * (size - 1) * (size - 2) // 6]
        found = su.intersect(graph, u=[0, 1], v=[1, size - 1], method="bitmap")
        assert device.to_numpy(found).tolist() == [size - 2] * 2


@pytest.mark.slow
@pytest.mark.parametrize("directed", few([True, False]))
def test_edge_sets(backend, device, directed):
    """Graph x batch, batch x graph, batch x batch, over pairs that are a batch."""
    case = make_case(backend, device, directed=directed)
    rng = np.random.default_rng(9)
    src = np.concatenate([rng.integers(0, 300, 500), np.zeros(100, int), rng.integers(0, case.n, 100)])
    dst = np.concatenate([rng.integers(0, 300, 500), rng.integers(0, case.n, 100), np.ones(100, int)])
    keys = np.unique(src * case.n + dst if directed else np.minimum(src, dst) * case.n + np.maximum(src, dst))
    src, dst = keys // case.n, keys % case.n
    batch = case.graph.edge_set(src, dst)
    arcs = [case.host(part) for part in batch.arcs().read()[:2]]
    a, b = adjacency(case.n, case.src, case.dst), adjacency(case.n, *arcs)
    u, v = arcs
    for left, right, first, second in (
        (case.graph, None, a, a),
        (case.graph, batch, a, b),
        (batch, case.graph, b, a),
        (batch, batch, b, b),
    ):
        expected = first[u].multiply(second[v]).sum(axis=1)
        found = su.intersect(left, right, u=u, v=v)
        np.testing.assert_array_equal(case.host(found), expected)
        everything = su.intersect(left, right, batch, fn=position)
        pairs = batch.arcs()
        src, dst, counted = ends(case, pairs)
        both = first[src].multiply(second[dst])
        expected = (both @ np.arange(case.n) + both.sum(axis=1) * 1000 * np.arange(len(src))) * counted
        np.testing.assert_array_equal(case.host(everything), expected)
    once = su.intersect(case.graph, None, batch, oriented="id")
    src, dst, counted = ends(case, batch.arcs())
    expected = np.where((src < dst) & counted, a[src].multiply(a[dst]).sum(axis=1), 0)
    np.testing.assert_array_equal(case.host(once), expected)


def test_what_is_refused(backend, device):
    graph = su.Graph(5, backend=backend, device=device)
    undirected = su.Graph(5, backend=backend, device=device, directed=False)
    batch = graph.edge_set([0], [1])
    with pytest.raises(UnknownNameError, match="method"):
        su.intersect(graph, method="merge")
    with pytest.raises(UnknownNameError, match="oriented"):
        su.intersect(undirected, oriented="up")
    with pytest.raises(RequirementError, match="directed=False"):
        su.intersect(graph, oriented="id")
    with pytest.raises(RequirementError, match="no right"):
        su.intersect(undirected, batch, oriented="id")
    with pytest.raises(RequirementError, match="may be 'id'"):
        su.intersect(undirected, None, [0], [1], oriented="id")
    with pytest.raises(RequirementError, match="'bitmap' with oriented"):
        su.intersect(undirected, oriented="id", method="hash")
    with pytest.raises(ParameterError, match="both u and v"):
        su.intersect(graph, u=[0])
    with pytest.raises(ParameterError, match="pass no v"):
        su.intersect(graph, u=batch, v=[0])
    with pytest.raises(ParameterError, match="must be a Graph"):
        su.intersect(batch, [1])
    with pytest.raises(RequirementError, match="i is the position"):
        su.intersect(graph, fn=position)
    with pytest.raises(ShapeError, match="one total"):
        su.intersect(graph, out=device.xp.zeros(2, np.int64))
    with pytest.raises(ShapeError, match="2 pairs"):
        su.intersect(graph, u=[0, 1], v=[1, 2], out=device.xp.zeros(3, np.int64))
    if graph.view().find == "linear":
        with pytest.raises(RequirementError, match="linear search"):
            su.intersect(graph, u=[0], v=[1], method="hash")
