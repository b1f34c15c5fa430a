"""Small insertions on the CPU: a hub that grows edge by edge, a pool that fills, both stores; errors change nothing."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.backends.slabhash import supply
from suricate.errors import CapacityError, VertexRangeError, WeightError

N = 700


@pytest.mark.parametrize("in_edges", [False, True])
@pytest.mark.parametrize("hashing", [True, False])
def test_a_hub_grows_edge_by_edge(in_edges: bool, hashing: bool) -> None:
    graph = su.Graph(N, backend="slabhash", device="cpu", in_edges=in_edges, hashing=hashing)
    rng, expected = np.random.default_rng(3), set[tuple[int, int]]()
    for _ in range(900):
        size = int(rng.integers(1, 4))
        src, dst = np.where(rng.random(size) < 0.7, 5, rng.integers(0, N, size)), rng.integers(0, N, size)
        new = set(zip(src.tolist(), dst.tolist(), strict=True)) - expected
        assert graph.insert_edges(src, dst).num_inserted == len(new)
        expected |= new
        if rng.random() < 0.1:
            gone = np.array(sorted(expected))[rng.random(len(expected)) < 0.05]
            assert graph.delete_edges(gone[:, 0].copy(), gone[:, 1].copy()).num_deleted == len(gone)
            expected -= {(int(u), int(v)) for u, v in gone}
    graph.check()
    edges = graph.edges()
    assert set(zip(edges.src.tolist(), edges.dst.tolist(), strict=True)) == expected
    assert graph.num_edges == len(expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_last_weight_of_repeated_edges_wins(dtype: str) -> None:
    graph = su.Graph(N, backend="slabhash", device="cpu", weight_dtype=dtype, in_edges=True)
    rng, expected = np.random.default_rng(5), dict[tuple[int, int], float]()
    for _ in range(300):
        size = int(rng.integers(1, 12))
        src, dst = np.where(rng.random(size) < 0.5, 5, rng.integers(0, N, size)), rng.integers(0, 40, size)
        weight = rng.integers(0, 3, size).astype(dtype)
        new = dict(zip(zip(src.tolist(), dst.tolist(), strict=True), weight.tolist(), strict=True))
        delta = graph.insert_edges(src, dst, weight)
        assert delta.num_inserted == len(new.keys() - expected.keys())
        changed = {edge: expected[edge] for edge in new if edge in expected and expected[edge] != new[edge]}
        assert delta.replaced_old is not None
        replaced = zip(delta.replaced.src.tolist(), delta.replaced.dst.tolist(), strict=True)
        assert dict(zip(replaced, delta.replaced_old.tolist(), strict=True)) == changed
        expected |= new
    graph.check()
    edges = graph.edges()
    stored = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    assert dict(zip(stored, edges.weight.tolist(), strict=True)) == expected
    with pytest.raises(WeightError, match=r"weight\[1\] is nan"):
        graph.insert_edges(np.array([0, 1]), np.array([1, 2]), np.array([1, np.nan], dtype))


def test_a_refused_batch_changes_nothing_and_an_empty_one_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = su.Graph(4, backend="slabhash", device="cpu", in_edges=True)
    graph.insert_edges(np.array([0, 1]), np.array([1, 2]))
    version = graph.version
    with pytest.raises(VertexRangeError, match=r"dst\[1\] is 9"):
        graph.insert_edges(np.array([1, 2]), np.array([3, 9]))
    graph.apply(su.Batch())
    graph.insert_edges(np.array([], int), np.array([], int))
    assert (graph.version, graph.num_edges) == (version, 2)

    def fail(*args: object) -> None:
        raise MemoryError

    monkeypatch.setattr(supply.np, "zeros", fail)
    with pytest.raises(CapacityError):
        graph.insert_edges(np.array([3]), np.array([0]))
    monkeypatch.undo()
    assert (graph.version, graph.num_edges) == (version, 2)
    graph.check()
