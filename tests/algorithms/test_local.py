"""Colourings and independent sets on every backend and device: the conformance kit, validity, families, locality."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.coloring import Coloring
from suricate.algorithms.independent_set import IndependentSet
from suricate.algorithms.shared import hash as _hash
from suricate.errors import ParameterError, RequirementError
from suricate.generate import rmat
from suricate.testing import AlgorithmConformance

NAMES = ("coloring", "independent_set")


class Valid(AlgorithmConformance):
    """The kit; every answer is also checked by the definition alone."""

    params = ({}, {"seed": 12345})
    examples = 1
    cuda_marks = (pytest.mark.gpu,)

    def judge(self, result: Any, graph: su.Graph, params: Any) -> None:
        super().judge(result, graph, params)
        (src, dst, _), host = self.changer(graph, 0).arcs(), graph.device.to_numpy
        if self.algorithm is Coloring:
            valid_coloring(host(result), src, dst)
            assert not host(result)[graph.deleted_vertices].any()
        else:
            valid_set(host(result), src, dst, host(graph.live))


class TestColoring(Valid):
    algorithm = Coloring
    reads_weights = False


class TestIndependentSet(Valid):
    algorithm = IndependentSet
    reads_weights = False
    params = ({}, {"seed": 12345}, {"nodes": [5]})


def valid_coloring(colour: np.ndarray, src: np.ndarray, dst: np.ndarray) -> None:
    """No edge joins vertices of one colour; no vertex has a larger colour than it has neighbours."""
    other = src != dst
    assert np.all(colour[src[other]] != colour[dst[other]])
    both = np.concatenate((src[other], dst[other])), np.concatenate((dst[other], src[other]))
    pairs = np.unique(np.stack(both), axis=1)
    assert np.all(colour <= np.bincount(pairs[0], minlength=len(colour)))


def valid_set(member: np.ndarray, src: np.ndarray, dst: np.ndarray, live: np.ndarray | None = None) -> None:
    """No edge joins two members; every live vertex that is none has one beside it."""
    assert member.dtype == bool
    other = src != dst
    src, dst = src[other], dst[other]
    assert not np.any(member[src] & member[dst])
    beside = np.zeros(len(member), bool)
    beside[dst[member[src]]] = beside[src[member[dst]]] = True
    np.testing.assert_array_equal(beside, ~member if live is None else live & ~member)
    assert live is None or not member[~live].any()


FAMILIES = {
    "path": nx.path_graph(400),
    "long grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 100)),
    "star": nx.star_graph(399),
    "complete": nx.complete_graph(150),
    "complete and a hub": nx.compose(nx.complete_graph(130), nx.star_graph(399)),
    "pieces": nx.disjoint_union_all([nx.cycle_graph(5), nx.complete_graph(7), nx.path_graph(9), nx.empty_graph(4)]),
    "dense": nx.gnp_random_graph(200, 0.7, seed=4),
}


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("family", FAMILIES)
def test_families_stay_valid_while_they_lose_and_regain_edges(
    device: su.devices.Device, backend: str, family: str
) -> None:
    edges = np.array(FAMILIES[family].edges).T
    graph = su.Graph(400, backend=backend, device=str(device), directed=False)
    graph.insert_edges(*edges)
    trackers = [graph.track("coloring"), graph.track("independent_set")]
    rng = np.random.default_rng(1)
    for _ in range(3):
        gone = edges[:, rng.permutation(edges.shape[1])[: max(1, edges.shape[1] // 5)]]
        for change in (su.Batch(delete=tuple(gone)), su.Batch(insert=tuple(gone[:, ::2]), delete=tuple(gone[:, ::3]))):
            graph.apply(change)
            src, dst, _ = (None if part is None else device.to_numpy(part) for part in su.arcs(graph))
            for tracker, check, kind in zip(
                trackers, (valid_coloring, valid_set), (Coloring, IndependentSet), strict=True
            ):
                found = device.to_numpy(tracker.result)
                check(found, src, dst)
                assert kind.mismatch(found, kind.reference(src, dst, None, 400, False)) is None
        graph.insert_edges(*gone)


def in_order(graph: nx.Graph, seed: int) -> list[int]:
    """The greedy colouring of the CPU: hubs by classes of degrees, then the others by ids from a start on."""
    n = len(graph)
    degree = {v: graph.degree(v) + graph.has_edge(v, v) for v in graph}
    start = _hash.key_of(seed) % n
    hubs = sorted((v for v in graph if degree[v] >= 64), key=lambda v: (-degree[v].bit_length(), v))
    colour: dict[int, int] = {}
    for v in [*hubs, *range(start, n), *range(start)]:
        taken = {colour.get(u) for u in graph[v]}
        colour.setdefault(v, next(c for c in range(n) if c not in taken))
    return [colour[v] for v in range(n)]


def speculated(graph: nx.Graph, seed: int) -> dict[int, int]:
    """The colouring from scratch in plain rounds, before colours that may be too large are repaired."""
    key, n = _hash.key_of(seed), len(graph)
    colour: dict[int, int] = {}
    window, tries = dict.fromkeys(graph, 0), dict.fromkeys(graph, 0)
    rank = {v: (-graph.degree(v).bit_length(), _hash.mixed(v, key)) for v in graph}
    bounds = [bound for bound in (2048, 512, 128, 32) if 128 * bound <= n]
    active: list[int] = []
    for bound in [*bounds, 0]:
        active += [v for v in graph if v not in colour and v not in active and graph.degree(v) >= bound]
        rounds = 0
        while active and (rounds < 3 or not bound):
            chosen: dict[int, int | None] = {}
            for v in active:
                same = [u for u in graph[v] if v in colour and colour.get(u) == colour[v]]
                if v in colour and not any(rank[u] < rank[v] for u in same):
                    continue
                taken = {colour.get(u) for u in graph[v]}
                free = [c for c in range(window[v], window[v] + 61) if c not in taken]
                if not free:
                    chosen[v], window[v] = None, window[v] + 61
                    continue
                rivals = 2 * graph.degree(v) / (2 + tries[v])
                widest = min(int((rivals / 2) ** 0.5 + rivals / 128), 60)
                place = _hash.mixed((v + tries[v] * 0x9E3779B9) & 0xFFFFFFFF, key) % (widest + 1)
                chosen[v] = next((c for c in free if c >= window[v] + place), free[0])
                tries[v] += 1
            colour = {v: c for v, c in {**colour, **chosen}.items() if c is not None}
            active, rounds = list(chosen), rounds + 1
    return colour


def several_classes_of_degrees() -> nx.Graph:
    """A graph so large that vertices of large degrees begin."""
    src, dst, _ = rmat(12, 6, self_loops=False)
    graph = nx.empty_graph(1 << 12)
    graph.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    return graph


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("family", ["path", "long grid", "star", "dense", "classes"])
def test_from_scratch_colours_are_those_of_a_plain_model(device: su.devices.Device, family: str, seed: int) -> None:
    other = FAMILIES[family] if family in FAMILIES else several_classes_of_degrees()
    graph = su.Graph(len(other), device=str(device), directed=False)
    graph.insert_edges(*np.array(other.edges).T)
    if not device.is_cuda:
        assert graph.compute("coloring", seed=seed).tolist() == in_order(other, seed)
        return
    expected = speculated(other, seed)
    for v, found in enumerate(graph.compute("coloring", seed=seed).tolist()):
        repaired = 0 < expected[v] >= other.degree(v)  # it may have found a smaller one
        assert found <= expected[v] if repaired else found == expected[v]


@pytest.mark.compiled
def test_colours_of_the_cpu_do_not_depend_on_threads_backends_and_directions(backend: str) -> None:
    other = several_classes_of_degrees()
    src, dst = np.array(other.edges).T
    graph = su.Graph(len(other), backend=backend, device="cpu", threads=3, in_edges=True)
    graph.insert_edges(src, dst)
    assert graph.compute("coloring").tolist() == in_order(other, 0)


@pytest.mark.compiled
def test_from_scratch_there_are_hardly_more_colours_than_in_a_greedy_colouring(device: su.devices.Device) -> None:
    src, dst, _ = rmat(11, self_loops=False)
    graph = su.Graph(1 << 11, device=str(device), directed=False)
    graph.insert_edges(device.xp.asarray(src), device.xp.asarray(dst))
    other = nx.Graph(zip(src.tolist(), dst.tolist(), strict=True))
    greedy = nx.greedy_color(other, strategy="random_sequential")
    assert int(graph.compute("coloring").max()) <= 1.1 * max(greedy.values())


@pytest.mark.compiled
@pytest.mark.parametrize("size", [10, 100, 300])
def test_colours_are_repaired_within_the_degrees(device: su.devices.Device, backend: str, size: int) -> None:
    graph = su.Graph(300, backend=backend, device=str(device), directed=False)
    tracker, rng = graph.track("coloring"), np.random.default_rng(size)
    for _ in range(6):  # becomes dense among the first vertices, and sparse again
        graph.insert_edges(*rng.integers(0, size, (2, 20 * size)))
        valid_coloring(device.to_numpy(tracker.result), *map(device.to_numpy, su.arcs(graph)[:2]))
    while graph.num_edges:
        src, dst = map(device.to_numpy, graph.edges()[:2])
        at = rng.permutation(len(src))[: 1 + len(src) // 2]
        graph.delete_edges(src[at], dst[at])
        valid_coloring(device.to_numpy(tracker.result), *map(device.to_numpy, su.arcs(graph)[:2]))
    assert not tracker.result.any()


@pytest.mark.compiled
def test_a_clique_needs_more_colours_than_a_window_has(device: su.devices.Device, backend: str) -> None:
    clique = nx.complete_graph(200)
    graph = su.Graph(200, backend=backend, device=str(device), directed=False)
    graph.insert_edges(*np.array(clique.edges).T)
    tracker = graph.track("coloring")
    assert sorted(tracker.result.tolist()) == list(range(200))
    graph.delete_vertices(range(0, 200, 2))
    assert sorted(tracker.result[1::2].tolist()) == list(range(100))
    assert not tracker.result[::2].any()


@pytest.mark.parametrize("name", NAMES)
def test_seeds_give_different_answers(device: su.devices.Device, name: str) -> None:
    graph = su.Graph(200, device=str(device), directed=False)
    graph.insert_edges(*np.array(nx.gnp_random_graph(200, 0.05, seed=1).edges).T)
    first, second, again = (device.to_numpy(graph.compute(name, seed=seed)) for seed in (1, 2, 1))
    assert np.any(first != second)
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("name", NAMES)
def test_impossible_parameters_and_graphs(name: str) -> None:
    with pytest.raises(ParameterError, match=f"{name}: seed must be an integer"):
        su.Graph(3, device="cpu", directed=False).compute(name, seed=1.5)
    with pytest.raises(RequirementError, match="build the graph with"):
        su.Graph(3, device="cpu").compute(name)


def test_hashes_are_permutations() -> None:
    ids = np.arange(1 << 16, dtype=np.uint64)
    for seed in (0, 1, -7, 10**30):
        key = np.uint64(_hash.key_of(seed))
        mixed = _hash.mixed(ids, key)
        assert len(np.unique(mixed)) == len(ids)
        assert mixed.max() < 2**32
        np.testing.assert_array_equal(_hash.unmixed(mixed, key), ids)
        assert [_hash.mixed(int(v), int(key)) for v in range(9)] == mixed[:9].tolist()
        shares = [np.mean(mixed >> np.uint64(bit) & np.uint64(1)) for bit in range(32)]
        assert 0.47 < min(shares) <= max(shares) < 0.53


@pytest.mark.parametrize("name", NAMES)
def test_traffic_is_one_look(name: str) -> None:
    graph = su.Graph(4, device="cpu", directed=False)
    graph.insert_edges([0, 1], [1, 2])
    tracker = graph.track(name)
    assert tracker.algorithm.traffic(graph) == graph.num_edges * 4 + 5 * 8 + 2 * 4 * 4
