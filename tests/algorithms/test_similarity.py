"""Similarity of pairs and the most similar vertices, on every backend and device, against other libraries."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.similarity import BY_DEGREE, KINDS, Similarity
from suricate.errors import DTypeError, ParameterError, ShapeError, VertexRangeError
from suricate.testing import AlgorithmConformance

N = 24
PAIRS = tuple(np.random.default_rng(3).integers(0, N, (2, 90)))
OF_NETWORKX = {
    "jaccard": nx.jaccard_coefficient, "adamic_adar": nx.adamic_adar_index,
    "resource_allocation": nx.resource_allocation_index,
}  # fmt: skip


class TestSimilarity(AlgorithmConformance):
    algorithm = Similarity
    reads_weights = False
    params = tuple({"pairs": PAIRS, "kind": kind} for kind in KINDS)
    examples = 1
    num_vertices = N
    cuda_marks = (pytest.mark.gpu,)


class TestMostSimilar(AlgorithmConformance):
    algorithm = Similarity
    reads_weights = False
    params = (
        *({"kind": kind, "vertices": [3, 20, 3, 0], "best": 4} for kind in KINDS),
        {"best": 3, "neighbors": False},
    )  # fmt: skip
    examples = 1
    num_vertices = N
    cuda_marks = (pytest.mark.gpu,)


def made(n: int = N, m: int = 70, **options: Any) -> su.Graph:
    graph = su.Graph(n, device="cpu", directed=False, **options)
    graph.insert_edges(*np.random.default_rng(5).integers(0, n, (2, m)))
    return graph


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_networkx(kind: str) -> None:
    graph = made()
    assert graph.has_edges(np.arange(N), np.arange(N)).any(), "there is a self-loop"
    found = graph.compute("similarity", pairs=PAIRS, kind=kind)
    src, dst = (np.asarray(part) for part in su.arcs(graph)[:2])
    if kind in OF_NETWORKX:
        other = nx.Graph(list(zip(src.tolist(), dst.tolist(), strict=True)))
        other.add_nodes_from(range(N))
        apart = found.src != found.dst  # NetworkX divides by the logarithm of 1
        pairs = list(zip(found.src[apart].tolist(), found.dst[apart].tolist(), strict=True))
        wanted = [score for _, _, score in OF_NETWORKX[kind](other, pairs)]
        np.testing.assert_allclose(found.similarity[apart], wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_computes_only_pairs_that_may_have_changed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 600 pairs about a path, those near the change are computed again."""
    n = 600
    graph = su.Graph(n, device="cpu", directed=False)
    graph.insert_edges(np.arange(n - 1), np.arange(1, n))
    tracker, visited = graph.track("similarity", pairs=(np.arange(n - 2), np.arange(2, n)), kind=kind), []
    whole = Similarity._of
    monkeypatch.setattr(Similarity, "_of", lambda self, g, u, v: visited.append(len(u)) or whole(self, g, u, v))
    graph.insert_edges([100], [300])
    assert tracker.updates.updated == 1
    assert visited == [6 if kind in BY_DEGREE else 4]  # (98,100) (100,102) (298,300) (300,302), and (99,101) (299,301)
    worth = {"adamic_adar": 1 / np.log(3), "resource_allocation": 1 / 3, "jaccard": 1 / 3}
    assert tracker.at([99], [101]).similarity[0] == pytest.approx(worth.get(kind, 0.5))


def test_pairs_have_an_order_and_names_rows_and_changes() -> None:
    graph = made()
    tracker = graph.track("similarity", pairs=([5, 3, 5, 3], [2, 9, 2, 9]), kind="overlap")
    first = tracker.result
    assert (first.src.tolist(), first.dst.tolist()) == ([2, 3], [5, 9])
    assert first.of([9, 2, 7], [3, 5, 7]).tolist()[:2] == first.similarity[::-1].tolist()
    assert np.isnan(first.of([7], [7])[0])
    tracker.changed()
    graph.insert_edges([2, 5], [20, 20])
    changed = tracker.changed()
    assert (changed["src"].tolist(), changed["dst"].tolist()) == ([2], [5])
    graph.delete_vertices([9])
    assert np.isnan(tracker.result.similarity).tolist() == [False, True]
    assert len(graph.compute("similarity", pairs=([], [])).similarity) == 0


def test_vertices_have_names() -> None:
    graph = su.Graph.from_coo([0, 1, 2], [3, 3, 3], num_vertices=4, directed=False, device="cpu")
    graph.names = su.Names.of(["ann", "bob", "cid", "dan"])
    tracker = graph.track("similarity", pairs=(["bob", "dan"], ["ann", "ann"]))
    assert next(iter(tracker.top(1)))[1:] == ("ann", "bob", 1.0)
    best = graph.compute("similarity", vertices=["cid"], best=2)
    assert best.similar.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("pairs", "error"),
    [
        (([0, 1], [1]), ShapeError), (3, ParameterError), (([0.5], [1]), DTypeError), (([0], [N]), VertexRangeError),
        (([-1], [2]), VertexRangeError), (([0], [1], [2]), ParameterError), ([(0, 1), (2, 3)], ParameterError),
    ],
)  # fmt: skip
def test_what_does_not_fit(pairs: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="pairs"):
        made().compute("similarity", pairs=pairs)
    with pytest.raises(ParameterError, match="do not go with pairs"):
        made().compute("similarity", pairs=PAIRS, best=3)
    with pytest.raises(VertexRangeError, match="vertices"):
        made().compute("similarity", vertices=[N])
