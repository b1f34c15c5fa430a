"""The dependence forest against brute force: random changes, both kinds of restart, words of 64 and 128 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.base.types import EMPTY, ArcList
from suricate.errors import ParameterError, ShapeError
from suricate.operators.cpu.measuring import MANY
from suricate.repair.cpu import repairs, waiting
from suricate.repair.forest import Forest
from suricate.state.frontier import Frontier
from suricate.state.words import make_words

KINDS: list[dict[str, Any]] = [{}, {"in_edges": True}, {"directed": False}]


def farther(u, v, w, words, source):
    return words.distance[u] + w, u


def unreached(v, words, source):
    if v == source:
        return 0, v
    return EMPTY, EMPTY


def farther_by_hops(u, v, w, words, source):
    return words.distance[u] + w, words.hops[u] + 1, u


def unreached_by_hops(v, words, source):
    if v == source:
        return 0, 0, v
    return 2**62, EMPTY, EMPTY


def same_label(u, v, w, words):
    return words.label[u], words.depth[u] + 1, u


def own_label(v, words):
    return v, 0, v


def tree_of(graph: su.Graph, wide: bool) -> Forest:
    """Return a forest of distances from vertex 0."""
    if wide:
        words = graph.words(keys={"distance": "int64", "hops": "uint32"}, payload={"parent": "uint32"})
        return graph.forest(words, farther_by_hops, unreached_by_hops, args=(0,))
    words = graph.words(keys={"distance": "uint32"}, payload={"parent": "uint32"})
    return graph.forest(words, farther, unreached, args=(0,))


def arcs_of(graph: su.Graph) -> list[tuple[int, int, int]]:
    return list(zip(*(graph.device.to_numpy(part).tolist() for part in su.arcs(graph)), strict=True))


def expected(graph: su.Graph, roots: dict[int, tuple], offer: Any) -> dict[int, tuple]:
    """Return the least word of every vertex that is reached, by repeated sweeps over all arcs."""
    best = dict(roots)
    arcs, changed = arcs_of(graph), True
    while changed:
        changed = False
        for u, v, w in arcs:
            if u in best:
                word = offer(best[u], u, w)
                if v not in best or word < best[v]:
                    changed = changed or v not in best or word[:-1] != best[v][:-1]
                    best[v] = word
    for u, v, w in arcs:  # the smallest parent, now that the keys stand
        if u in best:
            best[v] = min(best[v], offer(best[u], u, w))
    return best


def verify(graph: su.Graph, forest: Forest, roots: dict[int, tuple], offer: Any) -> None:
    fields = [field.name for field in forest.words.layout.fields]
    columns = [graph.device.to_numpy(getattr(forest.words, name)).tolist() for name in fields]
    words = {v: word for v, word in enumerate(zip(*columns, strict=True)) if word[-1] != EMPTY}
    assert words == expected(graph, roots, offer)
    assert not int(forest.violated[0])


def by_distance(word: tuple, u: int, w: int) -> tuple:
    return (word[0] + w, u) if len(word) == 2 else (word[0] + w, word[1] + 1, u)


def root(graph: su.Graph) -> Frontier:
    return Frontier._of(graph.device, graph.device.xp.zeros(1, np.uint32))


def changed(graph: su.Graph, rng: np.random.Generator, size: int) -> su.Delta:
    """Delete some edges, insert some, and give others new weights."""
    n = graph.num_vertices
    arcs = np.array(arcs_of(graph)).reshape(-1, 3)
    gone = arcs[rng.permutation(len(arcs))[:size], :2]
    fresh = rng.integers(0, n, (2, size)), rng.integers(1, 9, size)
    heavier = arcs[rng.permutation(len(arcs))[: size // 2], :2]
    insert = (
        *np.concatenate([fresh[0], heavier.T], axis=1),
        np.concatenate([fresh[1], rng.integers(1, 9, len(heavier))]),
    )
    return graph.apply(su.Batch(insert=insert, delete=(gone[:, 0], gone[:, 1])))


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_random_changes(device: su.Device, backend: str, options: dict[str, Any], wide: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = (20, 60, 150)[seed]
    graph = su.Graph(n, backend=backend, device=str(device), weight_dtype="int32", **options)
    graph.insert_edges(*rng.integers(0, n, (2, 3 * n)), rng.integers(1, 9, 3 * n))
    forest = tree_of(graph, wide)
    roots = {0: (0, 0, 0) if wide else (0, 0)}
    forest.compute(graph, root(graph), 5)
    verify(graph, forest, roots, by_distance)
    for size in (1, n // 4, n, 2 * n):
        delta = changed(graph, rng, size)
        forest.repair(graph, *(delta.edge_set(kind) for kind in ("deleted", "inserted", "replaced")))
        verify(graph, forest, roots, by_distance)


@pytest.mark.parametrize("seed", range(3))
def test_roots_of_their_own(device: su.Device, backend: str, seed: int) -> None:
    """What loses its root becomes a root, as the components of an undirected graph need it."""
    rng = np.random.default_rng(seed)
    n = 60
    graph = su.Graph(n, backend=backend, device=str(device), directed=False, weight_dtype="int32")
    graph.insert_edges(*rng.integers(0, n, (2, 70)), np.ones(70, np.int32))
    words = graph.words(keys={"label": "uint32", "depth": "uint32"}, payload={"parent": "uint32"})
    forest = graph.forest(words, same_label, own_label)
    roots = {v: (v, 0, v) for v in range(n)}

    def offer(word: tuple, u: int, w: int) -> tuple:
        return word[0], word[1] + 1, u

    forest.compute(graph, graph.frontier())
    verify(graph, forest, roots, offer)
    for size in (3, 20, 40):
        delta = changed(graph, rng, size)
        forest.repair(graph, delta.edge_set("deleted"), delta.edge_set("inserted"))
        verify(graph, forest, roots, offer)


def test_hubs_that_lose_their_parent(device: su.Device, backend: str) -> None:
    n = 6000
    graph = su.Graph(n, backend=backend, device=str(device), directed=False, weight_dtype="int32")
    spokes = np.arange(3, n)
    hub = np.full(n - 3, 1)
    graph.insert_edges(np.concatenate([[0, 0, 2], hub]), np.concatenate([[1, 2, 1], spokes]), np.ones(n, np.int32))
    forest = tree_of(graph, wide=False)
    roots = {0: (0, 0)}
    forest.compute(graph, root(graph))
    for gone in ([0], [1]), ([2], [1]):
        delta = graph.delete_edges(*gone)
        forest.repair(graph, delta.edge_set("deleted"))
        verify(graph, forest, roots, by_distance)


def test_of_equal_parents_the_smallest_takes_over(device: su.Device, backend: str) -> None:
    """When parents are deleted one after the other, in whatever order the storage has those that are left."""
    few, many = np.arange(1, 9), np.arange(9, 40)
    src = np.concatenate([np.zeros(len(few), int), *(np.random.default_rng(v).permutation(few) for v in many)])
    dst = np.concatenate([few, np.repeat(many, len(few))])
    graph = su.Graph(40, backend=backend, device=str(device), in_edges=True, weight_dtype="int32")
    graph.insert_edges(src, dst, np.ones(len(src), np.int32))
    forest = tree_of(graph, wide=False)
    forest.compute(graph, root(graph))
    for parent in few[:-1]:
        delta = graph.delete_edges(np.full(len(many), parent), many)
        forest.repair(graph, delta.edge_set("deleted"))
        verify(graph, forest, {0: (0, 0)}, by_distance)


def test_offers_that_are_not_above_are_noted(device: su.Device, backend: str) -> None:
    graph = su.Graph(4, backend=backend, device=str(device), weight_dtype="int32")
    graph.insert_edges([0, 1], [1, 2], [1, 0])
    forest = tree_of(graph, wide=False)
    forest.compute(graph, root(graph))
    assert int(forest.violated[0])
    assert graph.device.to_numpy(forest.words.parent).tolist() == [0, 0, EMPTY, EMPTY]


def test_arcs_with_a_status(device: su.Device, backend: str) -> None:
    graph = su.Graph(4, backend=backend, device=str(device), weight_dtype="int32")
    forest = tree_of(graph, wide=False)
    forest.compute(graph, root(graph))
    graph.insert_edges([0, 1], [1, 2], [4, 4])
    xp = graph.device.xp
    src, dst = xp.array([0, 0, 1], np.uint32), xp.array([1, 3, 2], np.uint32)
    arcs = ArcList(src, dst, xp.array([4, 1, 4], np.int32), xp.array([1, 2, 1], np.uint8), 1, 3)
    forest.repair(graph, None, arcs)
    verify(graph, forest, {0: (0, 0)}, by_distance)


@pytest.mark.compiled
@pytest.mark.parametrize("form", [lambda ends: ends.repeat(2)[::2], lambda ends: ends.astype(np.int64)])
def test_arcs_on_the_cpu_may_lie_in_other_arrays_than_those_before(form: Any) -> None:
    graph = su.Graph(20, device="cpu", weight_dtype="int32")
    forest = tree_of(graph, wide=False)
    forest.compute(graph, root(graph))
    status, weight = np.resize(np.uint8([1, 1, 0]), 9), np.arange(1, 10, dtype=np.int32)
    for first, given in ((1, np.copy), (11, form)):
        src, dst = np.zeros(9, np.uint32), np.arange(first, first + 9, dtype=np.uint32)
        graph.insert_edges(*(part[status == 1] for part in (src, dst, weight)))
        arcs = (given(part).astype(part.dtype, copy=False) for part in (weight, status))
        forest.repair(graph, None, ArcList(given(src), given(dst), *arcs, 1, 9))
        verify(graph, forest, {0: (0, 0)}, by_distance)


def test_words_need_a_parent() -> None:
    words = make_words(3, keys={"level": "uint32", "parent": "uint32"})
    with pytest.raises(ParameterError, match="payload 'parent'"):
        su.Graph(3, device="cpu").forest(words, farther, unreached)


def test_words_that_lack_entries_are_refused() -> None:
    graph = su.Graph(4, device="cpu")
    forest = tree_of(graph, wide=False)
    graph.insert_vertices(9)
    for call in (lambda: forest.compute(graph, root(graph)), lambda: forest.repair(graph)):
        with pytest.raises(ShapeError, match=r"4 words, but there are 13 vertices: call words.resize"):
            call()


@pytest.mark.parametrize("uniform", [True, False])
def test_repairs_on_the_cpu_go_in_the_order_of_keys(uniform: bool) -> None:
    """Every shortcut of a path brings all behind it nearer; a vertex makes its offers about once, not once for each."""
    n = 2001
    graph = su.Graph(n, device="cpu", in_edges=True, weight_dtype="int32")
    graph.insert_edges(np.arange(n - 1), np.arange(1, n), np.ones(n - 1))
    words = graph.words(keys={"distance": "uint32"}, payload={"parent": "uint32"})
    forest = graph.forest(words, farther, unreached, args=(0,), uniform=uniform)
    forest.compute(graph, root(graph), 1)
    tails = np.arange(0, n - 10, 10)
    for change, kind in ((graph.insert_edges, "inserted"), (graph.delete_edges, "deleted")):
        weights = (np.ones(len(tails)),) if kind == "inserted" else ()
        delta = change(tails, tails + 9, *weights)
        repaired = forest.repair(graph, **{kind: delta.edge_set(kind)})
        assert n // 2 < repaired.touched <= 2 * n
        verify_distances(graph, forest)


def verify_distances(graph: su.Graph, forest: Forest) -> None:
    """Compare distances along a path with shortcuts, whose arcs all ascend."""
    best = np.full(graph.num_vertices, 2**32 - 1, np.int64)
    best[0] = 0
    for u, v, w in sorted(arcs_of(graph)):
        best[v] = min(best[v], best[u] + w)
    assert forest.words.distance.tolist() == best.tolist()


def falling(n: int, wide: bool) -> tuple[Forest, su.Graph, Frontier]:
    """Return a forest over a path of 60 vertices, from each of which all others are nearer than from those before."""
    path, others = np.arange(60), np.arange(60, n)
    src = np.concatenate([path[:-1], np.repeat(path, len(others))])
    weight = np.concatenate([np.ones(59), np.repeat(2000 - 30 * path, len(others))])
    graph = su.Graph(n, device="cpu", weight_dtype="int32")
    graph.insert_edges(src, np.concatenate([path[1:], np.tile(others, 60)]), weight.astype(np.int32))
    return tree_of(graph, wide), graph, root(graph)


@pytest.mark.compiled
@pytest.mark.parametrize("wide", [False, True])
def test_waiting_vertices_are_listed_again_when_chunks_run_out(wide: bool, monkeypatch: Any) -> None:
    n = 1500
    monkeypatch.setattr(repairs, "shared_from", lambda graph, call, out: int(MANY))
    forest, graph, roots = falling(n, wide)
    forest.compute(graph, roots)
    plain = forest.words.data.copy()
    crowded = forest.compute(graph, roots, 30)
    assert np.array_equal(forest.words.data, plain)
    assert not graph.workspace.array("operators.where", n, np.uint8).any()
    forest, graph, roots = falling(n, wide)  # with arrays of its own
    monkeypatch.setattr(repairs, "chunks_for", lambda n: 60 * waiting.chunks_for(n))
    roomy = forest.compute(graph, roots, 30)
    assert np.array_equal(forest.words.data, plain)
    assert crowded.steps < roomy.steps  # no bucket is emptied whose vertices have all moved on


@pytest.mark.parametrize("wide", [False, True])
def test_a_bucket_is_left_to_threads_after_any_of_its_vertices(wide: bool, monkeypatch: Any) -> None:
    """Also after the last one of a chunk: the chunks behind it are left, too."""
    leaves = np.arange(1, 201)
    graph = su.Graph(401, device="cpu", weight_dtype="int32")
    graph.insert_edges(np.concatenate([np.zeros(200, int), leaves]), np.arange(1, 401), 1)
    forest = tree_of(graph, wide)
    for share in range(256, 272):
        monkeypatch.setattr(repairs, "shared_from", lambda graph, call, out, share=share: share)
        forest.compute(graph, root(graph), 1000)
        assert forest.words.distance.tolist() == [0] + 200 * [1] + 200 * [2], share
        assert not graph.workspace.array("operators.where", 401, np.uint8).any()
