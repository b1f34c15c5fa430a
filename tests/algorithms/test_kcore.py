"""Core numbers on every backend and device: the conformance kit, NetworkX, families, and the return to scratch."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.kcore import KCore, core_numbers
from suricate.graph.tracker import Tracker
from suricate.testing import OwnKernelsConformance

Edges = tuple[np.ndarray, np.ndarray]


class TestKCore(OwnKernelsConformance):
    algorithm = KCore
    reads_weights = False
    examples = 3
    cuda_marks = (pytest.mark.gpu,)


def judge(tracker: Tracker) -> None:
    """Compare with the plain peel."""
    graph = tracker.graph
    src, dst = (graph.device.to_numpy(part) for part in su.arcs(graph)[:2])
    right = KCore.reference(src, dst, None, graph.num_vertices, False)
    core, degeneracy = tracker.result
    assert graph.device.to_numpy(core).tolist() == right.core.tolist()
    assert degeneracy == right.degeneracy


def clique(ids: np.ndarray) -> Edges:
    first, second = np.triu_indices(len(ids), 1)
    return ids[first], ids[second]


def grid(rows: int, columns: int) -> Edges:
    ids = np.arange(rows * columns).reshape(rows, columns)
    return (
        np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()]),
        np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()]),
    )


FAMILIES = {
    "path": (np.arange(99), np.arange(1, 100)),
    "cycle": (np.arange(100), (np.arange(100) + 1) % 100),
    "star": (np.zeros(99, np.int64), np.arange(1, 100)),
    "clique": clique(np.arange(14)),
    "cliques": tuple(np.hstack([clique(np.arange(7 * i, 7 * i + 9)) for i in range(8)])),
    "grid": grid(10, 10),
    "loops": (np.arange(50) // 2, np.arange(50) // 2 + np.arange(50) % 2),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_reference_agrees_with_networkx(seed: int) -> None:
    graph = nx.gnm_random_graph(60, 60 + 90 * seed, seed=seed)
    arcs = np.array([*graph.edges, *((v, u) for u, v in graph.edges)]).T
    right = nx.core_number(graph)
    assert KCore.reference(*arcs, None, 60, False).core.tolist() == [right[v] for v in range(60)]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_edge_goes_and_comes_back(device: su.devices.Device, backend: str, family: str) -> None:
    src, dst = FAMILIES[family]
    graph = su.Graph(100, backend=backend, device=str(device), directed=False)
    graph.insert_edges(src, dst)
    tracker = graph.track("kcore")
    order = np.random.default_rng(1).permutation(len(src))
    size = 1 + len(src) // 12
    for at in range(0, len(src), size):
        graph.delete_edges(src[order[at : at + size]], dst[order[at : at + size]])
        judge(tracker)
    for at in range(0, len(src), 2 * size):
        graph.insert_edges(src[order[at : at + 2 * size]], dst[order[at : at + 2 * size]])
        judge(tracker)
    graph.apply(su.Batch(insert=(src, dst), delete=(src, dst)))
    judge(tracker)


def test_a_batch_raises_and_lowers_by_many_levels(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(60, backend=backend, device=str(device), directed=False)
    graph.insert_edges(*clique(np.arange(20)))
    tracker = graph.track("kcore")
    graph.insert_edges(*clique(np.arange(15, 50)))
    judge(tracker)
    graph.apply(su.Batch(insert=clique(np.arange(40, 60)), delete=clique(np.arange(18, 45))))
    judge(tracker)
    graph.delete_vertices([41, 3, 46])
    judge(tracker)


def test_families_by_operators(device: su.devices.Device, backend: str) -> None:
    for src, dst in FAMILIES.values():
        graph = su.Graph(100, backend=backend, device=str(device), directed=False)
        graph.insert_edges(src, dst)
        tracker = graph.track("kcore", kernels=False)
        for some in np.array_split(np.random.default_rng(2).permutation(len(src)), 4):
            graph.delete_edges(src[some], dst[some])
            judge(tracker)
        for some in np.array_split(np.arange(len(src)), 3):
            graph.insert_edges(src[some], dst[some])
            judge(tracker)


def test_levels_by_operators(device: su.devices.Device, backend: str) -> None:
    """Numbers rise and fall by many levels at once, while other vertices of the batch do not."""
    graph = su.Graph(300, backend=backend, device=str(device), directed=False)
    rng = np.random.default_rng(5)
    graph.insert_edges(*(rng.random((2, 1500)) ** 3 * 300).astype(np.int64))
    tracker = graph.track("kcore", kernels=False)
    for size in (20, 8, 35):
        ids = rng.choice(300, size, replace=False)
        graph.insert_edges(*clique(ids))
        judge(tracker)
        graph.apply(su.Batch(insert=clique(rng.choice(300, size, replace=False)), delete=clique(ids)))
        judge(tracker)


@pytest.mark.parametrize("few", [1 << 15, 0], ids=["repaired", "from scratch"])
def test_random_streams(device: su.devices.Device, backend: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_numbers, "FEW", few)
    monkeypatch.setattr(core_numbers, "SHARE", 100)
    monkeypatch.setattr(core_numbers, "CUDA_SHARE", 100)
    graph = su.Graph(1000, backend=backend, device=str(device), directed=False)
    rng = np.random.default_rng(11)

    def draw(count: int) -> np.ndarray:
        return (rng.random((2, count)) ** 3 * graph.num_vertices).astype(np.int64)

    graph.insert_edges(*draw(6000))
    tracker = graph.track("kcore")
    for step in range(10):
        src, dst = (device.to_numpy(part) for part in su.arcs(graph)[:2])
        at = rng.integers(0, len(src), 300)
        graph.apply(su.Batch(insert=tuple(draw((200, 1500)[step % 2])), delete=(src[at], dst[at])))
        if step % 4 == 1:
            graph.insert_vertices(50)
        judge(tracker)


def test_marks_start_anew_before_their_numbers_run_out(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(30, backend=backend, device=str(device), directed=False)
    tracker = graph.track("kcore")
    graph.insert_edges(*clique(np.arange(10)))
    tracker.algorithm._numbers._kept[...] = (1 << 31) + 5
    graph.insert_edges(*clique(np.arange(5, 20)))
    judge(tracker)
    assert int(tracker.algorithm._numbers._kept[1]) < 1000


def test_traffic_counts_edges_and_vertices() -> None:
    graph = su.Graph(10, device="cpu", directed=False)
    graph.insert_edges([0, 1], [1, 1])
    algorithm = KCore()
    algorithm.compute(graph)
    assert algorithm.traffic(graph) == 3 * 8 + 10 * 16
