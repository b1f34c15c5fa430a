"""The sets of edges that content and answers are verified against."""

import numpy as np
import pytest

import suricate as su
from suricate.base.types import edge_keys, ends_of
from suricate.bench import constants
from suricate.bench.verify.edges import EdgeModel, ExpectedChange, Mismatch, among, check_content
from suricate.intake.arrays import sorted_distinct

N = 60


def random_model(seed, edges=150):
    return EdgeModel(*np.random.default_rng(seed).integers(0, N, (2, edges), np.uint32))


def test_model_is_a_set_where_the_last_weight_wins():
    src, dst = np.array([3, 1, 3, 1], np.uint32), np.array([0, 2, 0, 1], np.uint32)
    model = EdgeModel(src, dst, np.array([1.0, 2.0, 3.0, 4.0], np.float32))
    assert list(zip(model.src.tolist(), model.dst.tolist(), model.weight.tolist(), strict=True)) == [
        (1, 1, 4.0),
        (1, 2, 2.0),
        (3, 0, 3.0),
    ]
    asked = edge_keys(np.array([1, 1, 3], np.uint32), np.array([0, 2, 9], np.uint32))
    assert model.contains(asked).tolist() == [False, True, False]
    assert model.weights_of(asked[1:2]).tolist() == [2.0]


@pytest.mark.parametrize("size", [0, 1, 200])
def test_distinct_keys_are_ascending(size):
    keys = np.random.default_rng(size).integers(0, 50, size).astype(np.uint64) << np.uint64(40)
    assert sorted_distinct(keys.copy()).tolist() == sorted(set(keys.tolist()))
    some = keys[::3]
    assert among(keys, np.sort(some)).tolist() == [key in some.tolist() for key in keys.tolist()]


def test_edges_are_added_to_a_model():
    model = random_model(3)
    rng = np.random.default_rng(8)
    keys = np.unique(np.concatenate((model.keys[::7], edge_keys(*rng.integers(0, N, (2, 40), np.uint32)))))
    assert set(model.plus(keys).tolist()) == set(model.keys.tolist()) | set(keys.tolist())
    assert np.all(np.diff(model.plus(keys)) > 0)


def test_a_model_after_a_batch():
    src, dst, weight = np.array([0, 1, 2], np.uint32), np.array([1, 2, 3], np.uint32), np.float32([5, 6, 7])
    insert = np.array([1, 0, 0], np.uint32), np.array([2, 4, 4], np.uint32)
    model = EdgeModel(src, dst).updated(edge_keys(src[:2], dst[:2]), *insert)
    assert (model.src.tolist(), model.dst.tolist(), model.weight) == ([0, 1, 2], [4, 2, 3], None)
    weighted = EdgeModel(src, dst, weight).updated(edge_keys(src[:1], dst[:1]), *insert, np.float32([1, 2, 3]))
    assert (weighted.src.tolist(), weighted.dst.tolist()) == ([0, 1, 2], [4, 2, 3])
    assert weighted.weight.tolist() == [3, 1, 7]


def test_a_model_of_undirected_edges():
    src, dst, weight = np.array([2, 1, 0, 3], np.uint32), np.array([1, 2, 0, 0], np.uint32), np.float32([5, 6, 7, 8])
    model = EdgeModel(src, dst, weight, directed=False)
    assert list(zip(model.src.tolist(), model.dst.tolist(), model.weight.tolist(), strict=True)) == [
        (0, 0, 7), (0, 3, 8), (1, 2, 6)
    ]  # fmt: skip
    assert [part.tolist() for part in model.arcs()] == [[0, 0, 1, 3, 2], [0, 3, 2, 0, 1], [7, 8, 6, 8, 6]]
    assert np.array_equal(model.csr(4, np.float32).toarray(), model.csr(4, np.float32).toarray().T)
    after = model.updated(edge_keys(np.array([1]), np.array([2])), src[3:], dst[3:], np.float32([1]))
    assert (after.arcs()[0].tolist(), after.weight.tolist(), after.directed) == ([0, 0, 3], [7, 1], False)


def test_large_contents_are_compared_by_digest(monkeypatch):
    model = random_model(5)
    graph = su.Graph(N, backend="csr_baseline", device="cpu")
    graph.insert_edges(model.src, model.dst)
    keys = model.keys[3:9]
    for limit in (1 << 19, 1):
        monkeypatch.setattr(constants, "CHECK_BY_REFERENCE", limit)
        check_content(graph, model)
        check_content(graph, ExpectedChange(model.only(~among(model.keys, keys)), keys[:0], keys))
        with pytest.raises(Mismatch, match=r"after: .*other ones"):
            check_content(graph, EdgeModel(model.dst, model.src), "after")


def test_models_of_the_same_edges_share_answers():
    model = random_model(6)
    keys = model.keys[:5]
    src, dst = ends_of(keys)
    again = model.updated(keys, src, dst)
    assert again.content == model.content
    assert again.references is model.references
    fewer = model.updated(keys, src[1:], dst[1:])
    assert fewer.content != model.content
    weight = np.arange(len(model), dtype=np.float32)
    weighted = EdgeModel(model.src, model.dst, weight)
    assert len({model.content, weighted.content, EdgeModel(model.src, model.dst, weight[::-1].copy()).content}) == 3
