"""Label propagation on every backend and device: valid, replayed by NumPy, LDBC's variant, parameters."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms import label_propagation
from suricate.algorithms.label_propagation import APART, LONG, PERIODS, ROUNDS, ArcTable, LabelPropagation, modes
from suricate.algorithms.shared.hash import key_of, mixed, unmixed
from suricate.errors import ParameterError, RequirementError
from suricate.testing import AlgorithmConformance, ReplayedConformance, Snapshot

ODD, STEP = 0x9E3779B9, 0x9E3779B97F4A7C15
PATIENCE = 8
LOW = np.uint64(2**32 - 1)


class Labels:
    """The state of a replay."""

    def __init__(self, seed: int) -> None:
        self.key = np.uint64(key_of(seed))
        self.rank, self.wanted = np.empty(0, np.uint64), np.empty(0, np.uint64)
        self.cut = False  # whether rounds ended by their limit since all vertices were active

    def grow(self, size: int) -> None:
        new = np.arange(len(self.rank), size, dtype=np.uint64)
        self.rank = np.concatenate((self.rank, mixed(new, self.key)))
        self.wanted = np.concatenate((self.wanted, np.zeros(len(new), np.uint64)))

    def rename(self, deleted: np.ndarray, live: np.ndarray) -> None:
        """Communities named by deleted vertices go by their first member that is no label, else by any such vertex."""
        label, ids = unmixed(self.rank, self.key), np.flatnonzero(live)
        label[deleted] = deleted
        names = sorted(set(label[ids].tolist()) - set(ids.tolist()))
        free = sorted(set(ids.tolist()) - set(label[ids].tolist()))
        members = {name: [v for v in free if label[v] == name] for name in names}
        rest = iter(sorted(set(free) - {found[0] for found in members.values() if found}))
        new = {name: members[name][0] if members[name] else next(rest) for name in names}
        label[ids] = [new.get(name, name) for name in label[ids].tolist()]
        self.rank = mixed(label, self.key)

    def take_turns(self, arcs: ArcTable, most: int) -> int:
        """Rounds in which vertices take turns, up to 3/4 of ``most``; return how many there may have been."""
        label, left = np.arange(len(self.rank), dtype=np.uint64), most * 3 // 4
        for number in range(APART + PERIODS):
            apart = number < APART
            rounds = min(left, 1 if apart else LONG if number == APART else ROUNDS)
            bits = (6, 3, 3)[number] if apart else 1
            key = np.uint64((int(self.key) + STEP * (number + 1)) & (2**63 - 1))
            self.one_period(label, arcs, key, bits, rounds << bits, apart=apart)
            left -= rounds
        self.rank = mixed(label, self.key)
        return most * 3 // 4 - left

    @staticmethod
    def one_period(label: np.ndarray, arcs: ArcTable, key: np.uint64, bits: int, limit: int, *, apart: bool) -> None:
        """Sub-rounds with one order of labels, or one per vertex; who changes wakes neighbours for the next round."""
        ids, last = np.arange(len(label), dtype=np.uint64), np.uint64(2**bits - 1)
        of = mixed(ids, key) if apart else np.zeros_like(ids)
        waiting, woken = np.ones(len(ids), bool), np.zeros(len(ids), bool)
        for step in range(limit):
            turn = mixed((ids + np.uint64(ODD * (1 + (step >> bits)))) & LOW, key) & last
            now = waiting & (turn == np.uint64(step) & last)
            vote = arcs._replace(neighbour=np.arange(len(arcs.vertex)))
            place = mixed(label[arcs.neighbour] ^ of[arcs.vertex], key)
            best = modes(vote, place, np.full(len(ids), 2**33, np.uint64))
            new = np.where(best < 2**33, unmixed(best & LOW, key) ^ of, label)
            changed = now & (new != label)
            label[changed] = new[changed]
            woken[arcs.vertex[changed[arcs.neighbour]]] = True
            waiting &= ~now
            if not waiting.any():
                waiting, woken = woken, np.zeros(len(ids), bool)
                if not waiting.any():
                    return

    def look(self, active: np.ndarray, arcs: ArcTable, max_iter: int) -> None:
        """Rounds: a vertex takes the most frequent label of its neighbours, unless it has to wait: see the module."""
        own = mixed(np.arange(len(self.rank), dtype=np.uint64), self.key)
        for _ in range(max_iter if len(active) else 0):
            wishes = modes(arcs, self.rank, own, kept=self.rank)
            lonely = np.isin(active, arcs.vertex, invert=True)
            differs = wishes[active] != self.rank[active]
            asks = active[differs & ~lonely]
            self.wanted[asks] += np.uint64(1)
            coin = mixed((asks.astype(np.uint64) + np.uint64(ODD) * self.wanted[asks]) & np.uint64(2**32 - 1), self.key)
            later = (wishes[asks] > self.rank[asks]) & (self.wanted[asks] & np.uint64(1) == 1)
            waits = asks[later | ((self.wanted[asks] > np.uint64(PATIENCE)) & (coin & np.uint64(3) == 0))]
            takes = np.setdiff1d(asks, waits)
            alone = active[lonely]
            self.rank[takes], self.rank[alone] = wishes[takes], own[alone]
            active = np.union1d(waits, arcs.neighbour[np.isin(arcs.vertex, takes)])
            if not len(active):
                break
        self.cut |= len(active) > 0


class TestLabelPropagation(ReplayedConformance):
    algorithm = LabelPropagation
    reads_weights = False
    params = ({"max_iter": 1000}, {"max_iter": 1000, "seed": 5}, {"max_iter": 9})
    examples = 1
    cuda_marks = (pytest.mark.gpu,)

    directed = True

    def build(self, backend: Any, device_kind: str, variant: Any) -> su.Graph:
        self.directed = variant.directed
        return super().build(backend, device_kind, variant)

    def arcs_of(self, at: Snapshot) -> ArcTable:
        found = LabelPropagation.reference(at.src, at.dst, None, at.num_vertices, self.directed)
        assert isinstance(found, ArcTable)
        return found

    def begin(self, first: Snapshot, *, max_iter: int = 100, seed: int = 0) -> Labels:
        state = Labels(seed)
        state.grow(first.num_vertices)
        every, arcs = np.arange(first.num_vertices), self.arcs_of(first)
        state.look(every, arcs, max_iter - state.take_turns(arcs, max_iter))
        return state

    def follow_on(
        self, state: Labels, before: Snapshot, after: Snapshot, *, max_iter: int = 100, seed: int = 0
    ) -> Labels:
        state.grow(after.num_vertices)
        gone = np.flatnonzero(before.live & ~after.live[: before.num_vertices])
        if len(gone):
            state.rename(gone, after.live)
        arcs = self.arcs_of(after)
        state.look(after.changed(before), arcs, max_iter)
        if state.cut:  # reading the result makes rounds from all vertices
            state.cut = False
            state.look(np.arange(after.num_vertices), arcs, max_iter)
        return state

    def answer(self, state: Labels, **params: Any) -> np.ndarray:
        return unmixed(state.rank, state.key).astype(np.uint32)


class TestSynchronousLabelPropagation(AlgorithmConformance):
    algorithm = LabelPropagation
    reads_weights = False
    params = ({"synchronous": True, "max_iter": 7},)
    examples = 1
    cuda_marks = (pytest.mark.gpu,)


def undirected(device: Any, backend: str, other: Any) -> su.Graph:
    graph = su.Graph(len(other), backend=backend, device=str(device), directed=False)
    graph.insert_edges(*np.array(other.edges).T)
    return graph


def test_cliques_are_communities(device: su.devices.Device, backend: str) -> None:
    cliques = nx.disjoint_union_all([nx.complete_graph(size) for size in (5, 9, 30)])
    graph = undirected(device, backend, cliques)
    for seed in range(5):
        label = device.to_numpy(graph.compute("label_propagation", seed=seed))
        assert [len(set(part.tolist())) for part in np.split(label, [5, 14])] == [1, 1, 1]
        assert len(set(label.tolist())) == 3
        assert set(label[:5]) <= set(range(5))


@pytest.mark.parametrize("other", [nx.path_graph(300), nx.star_graph(299), nx.complete_bipartite_graph(40, 60)])
def test_neighbours_do_not_exchange_labels_for_ever(device: su.devices.Device, backend: str, other: Any) -> None:
    tracker = undirected(device, backend, other).track("label_propagation", max_iter=500)
    assert tracker.algorithm.converged
    assert 1 <= tracker.algorithm.iterations < 500
    arcs = su.arcs(tracker.graph)
    reference = LabelPropagation.reference(*map(device.to_numpy, arcs[:2]), None, len(other), False)
    assert LabelPropagation.mismatch(device.to_numpy(tracker.result), reference) is None


def unstable(tracker: su.Tracker) -> str | None:
    """What is wrong with the labels of an undirected graph, by the definition alone."""
    graph = tracker.graph
    src, dst = map(graph.device.to_numpy, su.arcs(graph)[:2])
    label = graph.device.to_numpy(tracker.result)
    votes = np.zeros((graph.num_vertices, graph.num_vertices), int)
    np.add.at(votes, (src, label[dst]), 1)
    own = votes[np.arange(len(label)), label]
    wrong = np.flatnonzero((own < votes.max(1)) & votes.any(1))
    return f"labels of {wrong.tolist()}" if len(wrong) else None


@pytest.mark.parametrize("size", [4, 6, 1000])
def test_labels_among_the_most_frequent_stay(device: su.devices.Device, size: int) -> None:
    """An even cycle, on which labels move while vertices take turns, and then stay."""
    graph = su.Graph(size, device=str(device), directed=False)
    graph.insert_edges(np.arange(size), (np.arange(size) + 1) % size)
    tracker = graph.track("label_propagation")
    assert unstable(tracker) is None
    assert tracker.algorithm.converged
    assert tracker.algorithm.iterations < 90
    loops = su.Graph(3, device=str(device), directed=False)
    loops.insert_edges([0, 0, 1, 2], [0, 1, 1, 2])  # each label is as frequent as the other at 0 and 1
    assert loops.compute("label_propagation").tolist() in ([0, 0, 2], [1, 1, 2])


def test_stable_is_said_of_all_labels_or_none(device: su.devices.Device) -> None:
    n = 700
    graph = su.Graph(n + 4, device=str(device), directed=False)
    graph.insert_edges(np.arange(n - 1), np.arange(1, n))
    tracker = graph.track("label_propagation", max_iter=3)
    assert not tracker.algorithm.converged
    graph.insert_edges([n], [n + 1])  # elsewhere
    assert not tracker.algorithm.converged
    rounds = 0
    while unstable(tracker) is not None:
        assert not tracker.algorithm.converged
        before = device.to_numpy(tracker.result).copy()
        np.testing.assert_array_equal(device.to_numpy(tracker.result), before)  # only a batch changes what is read
        change = graph.insert_edges if rounds % 2 else graph.delete_edges
        change([n], [n + 1])
        rounds += 1
        assert rounds < 60
    graph.insert_edges([n + 2], [n + 3])
    assert tracker.result[n + 2] == tracker.result[n + 3]
    assert unstable(tracker) is None
    assert tracker.algorithm.converged


def test_a_vertex_without_neighbours_has_its_own_label(device: su.devices.Device, backend: str) -> None:
    graph = undirected(device, backend, nx.complete_graph(8))
    tracker = graph.track("label_propagation")
    graph.delete_vertices([3, 4])
    assert tracker.result[3:5].tolist() == [3, 4]
    graph.insert_vertices(2)
    assert tracker.result[8:].tolist() == [8, 9]


def test_labels_are_ids_of_live_vertices(device: su.devices.Device) -> None:
    """What names a community may be deleted, come back as a stranger, and leave no member that could name it."""
    graph = su.Graph(9, device=str(device), directed=False)
    clique = np.array([(u, v) for u in range(4) for v in range(u)]).T
    graph.insert_edges(*np.concatenate((clique, clique + 4), axis=1))
    tracker = graph.track("label_propagation")
    names = device.to_numpy(tracker.result)[[0, 4]]
    graph.delete_vertices(names)
    label = device.to_numpy(tracker.result).copy()
    rest = np.setdiff1d(np.arange(9), names)
    assert set(label[rest].tolist()) <= set(rest.tolist())
    assert label[names].tolist() == names.tolist()
    assert sorted(np.unique(label[rest], return_counts=True)[1].tolist()) == [1, 3, 3]
    graph.insert_vertices(2, recycle=True)
    np.testing.assert_array_equal(device.to_numpy(tracker.result), label)
    assert unstable(tracker) is None


def test_too_few_rounds_are_noted(device: su.devices.Device) -> None:
    graph = su.Graph(300, device=str(device), directed=False)
    graph.insert_edges(range(299), range(1, 300))
    algorithm = LabelPropagation(max_iter=1)
    algorithm.compute(graph)
    assert (algorithm.iterations, algorithm.converged) == (1, False)


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "least"), [("grid", 0.71), ("ring", 0.798), ("points", 0.82), ("groups", 0.472)])
def test_communities_are_as_good_as_those_of_one_vertex_after_the_other(
    device: su.devices.Device, name: str, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least mean of igraph is that over 10 seeds, and the operators find what the loop of the CPU finds."""
    other = {
        "grid": lambda: nx.grid_2d_graph(48, 48),
        "ring": lambda: nx.connected_watts_strogatz_graph(2000, 6, 0.05, seed=1),
        "points": lambda: nx.random_geometric_graph(2000, 0.04, seed=1),
        "groups": lambda: nx.planted_partition_graph(40, 40, 0.18, 0.0045, seed=1),
    }[name]()
    other = nx.convert_node_labels_to_integers(other)
    order = np.random.default_rng(1).permutation(len(other)).tolist()
    other = nx.relabel_nodes(other, dict(enumerate(order)))
    graph, found = undirected(device, "slabhash", other), []
    for seed in range(10, 16):
        label = device.to_numpy(graph.compute("label_propagation", max_iter=1000, seed=seed))
        parts = [set(np.flatnonzero(label == each).tolist()) for each in np.unique(label)]
        found.append(nx.community.modularity(other, parts))
    assert min(found) > 0.4
    assert np.mean(found) >= least
    monkeypatch.setattr(label_propagation, "by_loops", lambda graph: False)
    np.testing.assert_array_equal(device.to_numpy(graph.compute("label_propagation", max_iter=1000, seed=seed)), label)


def hubs(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of edges, some of them self-loops; a few vertices have many neighbours, some none."""
    count = int(size * rng.choice([0.5, 1, 2, 5, 12]))
    return (rng.random(count) ** rng.choice([1, 4]) * size).astype(np.uint32), rng.integers(0, size, count)


@pytest.mark.parametrize("seed", range(12))
def test_the_loop_of_the_cpu_leaves_out_only_visits_that_change_nothing(
    backend: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds, in as many rounds, the labels of the operators, which visit all active vertices."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, (12, 100, 3000)[seed % 3]))
    graph, most = su.Graph(size, backend=backend, device="cpu", directed=False), int(rng.choice([2, 5, 9, 20, 1000]))
    graph.insert_edges(*hubs(rng, size))

    def found() -> tuple[list[int], int, bool]:
        algorithm = LabelPropagation(max_iter=most, seed=seed)
        algorithm.compute(graph)
        return algorithm.result.tolist(), algorithm.iterations, algorithm.converged

    labels = found()
    monkeypatch.setattr(label_propagation, "by_loops", lambda graph: False)
    assert labels == found()


def test_a_vertex_ahead_is_not_visited() -> None:
    """What was written to its label behind the loop's back stays, though a visit would take it back."""
    graph = su.Graph(3000, device="cpu", directed=False)
    graph.insert_edges(*np.array(nx.disjoint_union_all([nx.complete_graph(20)] * 150).edges).T)
    loop, label = label_propagation.TurnLoop(graph), np.arange(3000, dtype=np.uint32)
    for number in range(3):
        loop.take_turns(label, label_propagation.Order(key_of(number), 0, 1, True), 6)
    assert len(np.unique(label)) == 150
    label[30] = label[70]
    loop.take_turns(label, label_propagation.Order(key_of(3), 0, 1, True), 6)
    assert np.flatnonzero(label != np.repeat(label[::20], 20)).tolist() == [30]
    assert loop.end(label, 1).tolist() == [0]


def test_seeds_give_different_communities(device: su.devices.Device) -> None:
    graph = su.Graph(200, device=str(device), directed=False)
    graph.insert_edges(range(199), range(1, 200))
    first, second, again = (device.to_numpy(graph.compute("label_propagation", seed=seed)) for seed in (1, 2, 1))
    assert np.any(first != second)
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"max_iter": 1.5}, "max_iter must be an integer"),
        ({"seed": "x"}, "seed must be an integer"),
        ({"synchronous": 1}, "synchronous must be True or False"),
    ],
    ids=str,
)
def test_impossible_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^label_propagation: {message}"):
        su.Graph(3, device="cpu", directed=False).compute("label_propagation", **params)
    with pytest.raises(RequirementError, match="in-edges: build"):
        su.Graph(3, device="cpu").compute("label_propagation")


def test_mismatches_are_noticed() -> None:
    graph = su.Graph(30, device="cpu", directed=False)
    graph.insert_edges(*np.random.default_rng(1).integers(0, 30, (2, 90)))
    arcs = su.arcs(graph)
    for params in ({}, {"synchronous": True, "max_iter": 3}):
        right = graph.compute("label_propagation", **params)
        reference = LabelPropagation.reference(*arcs, 30, False, **params)
        assert LabelPropagation.mismatch(right, reference, **params) is None
        right[4] = (right[4] + 1) % 30
        assert LabelPropagation.mismatch(right, reference, **params) is not None
        assert LabelPropagation.mismatch(right[:-1], reference, **params) is not None
