"""The oracle against NetworkX and against wrong results, which it must notice."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from suricate.arrays import sorted_distinct
from suricate.bench import constants
from suricate.bench.oracle import EdgeModel, among, check_bfs, check_pagerank, keys_of, levels, pagerank
from suricate.bench.runner import Mismatch

N = 60


def random_graph(seed, edges=150):
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, N, (2, edges), np.uint32)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(N))
    graph.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    return EdgeModel(src, dst), graph


def test_model_is_a_set_where_the_last_weight_wins():
    src, dst = np.array([3, 1, 3, 1], np.uint32), np.array([0, 2, 0, 1], np.uint32)
    model = EdgeModel(src, dst, np.array([1.0, 2.0, 3.0, 4.0], np.float32))
    assert list(zip(model.src.tolist(), model.dst.tolist(), model.weight.tolist(), strict=True)) == [
        (1, 1, 4.0),
        (1, 2, 2.0),
        (3, 0, 3.0),
    ]
    asked = keys_of(np.array([1, 1, 3], np.uint32), np.array([0, 2, 9], np.uint32))
    assert model.contains(asked).tolist() == [False, True, False]
    assert model.weights_of(asked[1:2]).tolist() == [2.0]


@pytest.mark.parametrize("size", [0, 1, 200])
def test_distinct_keys_are_ascending(size):
    keys = np.random.default_rng(size).integers(0, 50, size).astype(np.uint64) << np.uint64(40)
    assert sorted_distinct(keys.copy()).tolist() == sorted(set(keys.tolist()))
    some = keys[::3]
    assert among(keys, np.sort(some)).tolist() == [key in some.tolist() for key in keys.tolist()]


def test_edges_are_added_to_a_model_and_taken_away():
    model, _ = random_graph(3)
    rng = np.random.default_rng(8)
    keys = np.unique(np.concatenate((model.keys[::7], keys_of(*rng.integers(0, N, (2, 40), np.uint32)))))
    assert set(model.plus(keys).tolist()) == set(model.keys.tolist()) | set(keys.tolist())
    assert set(model.minus(keys).tolist()) == set(model.keys.tolist()) - set(keys.tolist())
    for changed in (model.plus(keys), model.minus(keys)):
        assert np.all(changed[1:] > changed[:-1])


@pytest.mark.parametrize("seed", range(5))
def test_levels(seed):
    model, graph = random_graph(seed, edges=40 + 30 * seed)
    expected = np.full(N, -1)
    for vertex, level in nx.single_source_shortest_path_length(graph, 7).items():
        expected[vertex] = level
    assert levels(model.csr(N), 7).tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_pagerank(seed):
    model, graph = random_graph(seed)
    expected = nx.pagerank(graph, alpha=0.85, tol=1e-14, max_iter=1000)
    found = pagerank(model.csr(N), 0.85, 1e-14, 1000)
    assert np.abs(found - [expected[vertex] for vertex in range(N)]).sum() < 1e-10


def good_bfs(model, graph, source):
    level = levels(model.csr(N), source)
    parent = np.full(N, -1, np.int64)
    parent[source] = source
    for child in np.flatnonzero(level > 0):
        parent[child] = next(v for v in graph.predecessors(int(child)) if level[v] == level[child] - 1)
    return SimpleNamespace(level=level.astype(np.int32), parent=parent)


def test_a_right_bfs_passes_and_wrong_ones_do_not():
    model, graph = random_graph(1)
    result = good_bfs(model, graph, 7)
    check_bfs(result, model, N, 7, np.asarray)
    far = int(np.flatnonzero(result.level > 1)[0])
    same_level = np.flatnonzero(result.level == result.level[far] - 1)
    stranger = next(int(v) for v in same_level if not graph.has_edge(int(v), far))
    unreached = int(np.flatnonzero(result.level < 0)[0])
    for array, vertex, wrong in [
        ("level", far, result.level[far] + 1),
        ("level", unreached, 3),
        ("parent", far, -1),
        ("parent", far, N),
        ("parent", far, far),
        ("parent", far, stranger),
        ("parent", 7, -1),
        ("parent", unreached, 7),
    ]:
        broken = SimpleNamespace(level=result.level.copy(), parent=result.parent.copy())
        getattr(broken, array)[vertex] = wrong
        with pytest.raises(Mismatch):
            check_bfs(broken, model, N, 7, np.asarray)


def test_pagerank_outside_its_bound_is_noticed():
    model, _ = random_graph(2)
    exact = pagerank(model.csr(N), constants.PAGERANK["damping"], 1e-14, 1000)
    check_pagerank(exact, model, N, np.asarray)
    for wrong in (exact * 1.0001, np.roll(exact, 1), np.full(N, np.nan)):
        with pytest.raises(Mismatch):
            check_pagerank(wrong, model, N, np.asarray)
