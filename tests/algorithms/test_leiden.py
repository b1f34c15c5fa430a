"""Communities: the kits, parameters, bad input, what an update visits; planted faults that the kit must refuse."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms import leiden
from suricate.algorithms.leiden import Leiden, climb_cpu, levels, steps
from suricate.algorithms.leiden.arrays import MOVES, PARTS, WHOLE
from suricate.errors import ParameterError, RequirementError, WeightError
from suricate.testing import OwnKernelsConformance, QualityConformance

STREAM = Path(__file__).parents[2] / "examples" / "demo" / "mathoverflow.txt.xz"


def mathoverflow(count: int) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Return windows of the shipped stream, with its vertices numbered from 0."""
    with lzma.open(STREAM, "rt") as file:
        lines = [next(file) for _ in range(count)]
    events = np.array([line.split()[:2] for line in lines if line[0] != "#"], np.int64)
    ends = np.unique(events[events[:, 0] != events[:, 1]], return_inverse=True)[1].reshape(-1, 2)
    return ends[:, 0], ends[:, 1], len(ends) // 2, len(ends) // 100


def louvain_of(graph: Any) -> float:
    """Return the mean quality of three runs of NetworkX."""
    there = graph.to_networkx()
    found = [nx.community.louvain_communities(there, seed=seed, backend="networkx") for seed in range(3)]
    return float(np.mean([nx.community.modularity(there, one, backend="networkx") for one in found]))


class TestLeiden(OwnKernelsConformance):
    algorithm = Leiden
    params = ({}, {"refine": False, "seed": 3, "resolution": 1.7})
    num_vertices = 14
    examples = 1
    cuda_marks = (pytest.mark.gpu,)


@pytest.mark.compiled
class TestQuality(QualityConformance):
    algorithm = Leiden
    streams = (mathoverflow(6000),)

    def rival(self, graph: Any) -> float:
        return louvain_of(graph)


def test_the_limit_of_cycles_is_the_same_for_operators(monkeypatch: pytest.MonkeyPatch, device: Any) -> None:
    """With several iterations a level has few cycles of moves: by the loops, and by operators, on both devices."""
    monkeypatch.setattr(leiden, "CYCLES_OF_LEVEL", 1)
    rng = np.random.default_rng(6)
    src, dst = rng.integers(0, 60, (2, 200))
    labels = []
    for place, kernels in (("cpu", True), ("cpu", False), (device, True)):
        graph = su.Graph(60, device=place, directed=False)
        graph.insert_edges(src, dst)
        found = graph.compute("leiden", stable=False, kernels=kernels)
        labels.append(graph.device.to_numpy(found.label).tolist())
    assert labels[0] == labels[1] == labels[2]
    monkeypatch.setattr(leiden, "CYCLES_OF_LEVEL", 100)
    assert graph.compute("leiden", stable=False).label.tolist() != labels[0]


@pytest.mark.compiled
@pytest.mark.parametrize("params", [{}, {"refine": False, "levels": True}])
def test_rows_that_threads_merge_are_the_same(params: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels by several threads, which merge long rows between calls of the loop over all levels, are those of one."""
    rng = np.random.default_rng(8)
    src, dst = rng.integers(0, 4_000, (2, 50_000))
    dst = np.where(rng.random(50_000) < 0.6, src // 40 * 40 + dst % 40, dst)
    merged, found, depths = climb_cpu.merge, [], list[int]()
    monkeypatch.setattr(climb_cpu, "merge", lambda *args: depths.append(args[3]) or merged(*args))
    for number in (1, 3):
        depths.clear()
        graph = su.Graph(4_000, device="cpu", directed=False, threads=number)
        graph.insert_edges(src, dst)
        found.append(graph.compute("leiden", stable=False, **params))
        assert (1 in depths) == (number > 1 or "levels" in params)
    assert found[0].label.tolist() == found[1].label.tolist()
    assert found[0].quality == found[1].quality
    assert "levels" not in params or found[0].levels.tolist() == found[1].levels.tolist()


@pytest.mark.compiled
def test_levels_take_no_calls_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one core a computation calls one loop per iteration, however many levels there are, and one per last move."""
    calls, climb = [], climb_cpu.climb
    monkeypatch.setattr(climb_cpu, "climb", lambda *args: calls.append(args[9]) or climb(*args))
    graph = planted(device="cpu", threads=1)
    assert len(graph.compute("leiden", levels=True, max_iter=1, stable=False).levels) > 1
    calls.clear()
    graph.compute("leiden", max_iter=2, stable=False)
    assert calls == [PARTS] * 2
    calls.clear()
    graph.compute("leiden", refine=False)
    assert calls[0] == WHOLE
    assert {*calls[1:]} == {MOVES}


def test_weights_of_a_column(backend: str) -> None:
    """Weights that are in a column give the labels of weights that are stored with the edges, on every backend."""
    rng = np.random.default_rng(9)
    src, dst = np.unique(np.sort(rng.integers(0, 40, (300, 2)), axis=1), axis=0).T
    weight = rng.integers(1, 5, len(src)).astype("float64")
    stored = su.Graph(40, device="cpu", backend=backend, directed=False, weight_dtype="float64")
    stored.insert_edges(src, dst, weight)
    columns = su.Graph(40, device="cpu", backend=backend, directed=False, edge_columns={"weight": "float64"})
    columns.insert_edges(src, dst, {"weight": weight})
    results = [graph.compute("leiden", kernels=kernels) for graph in (stored, columns) for kernels in (True, False)]
    assert all(one.label.tolist() == results[0].label.tolist() for one in results)


# -- planted faults ----------------------------------------------------------------------------------------------------


class Faulty(QualityConformance):
    """The kit as it meets a faulty algorithm; its tests are called, not collected."""

    __test__ = False
    streams = (mathoverflow(6000),)

    def rival(self, graph: Any) -> float:
        return louvain_of(graph)


def refused(fault: type[Leiden], *tests: str, **params: Any) -> list[str]:
    """Return which of the kit's ``tests`` the algorithm ``fault`` with ``params`` fails."""
    kit = Faulty()
    kit.algorithm, kit.params = fault, params  # type: ignore[misc]
    found = []
    for test in tests:
        try:
            getattr(kit, test)()
        except AssertionError as error:
            found.append(str(error).split("\n")[0])
    return found


@pytest.mark.compiled
def test_an_update_that_only_moves_is_refused() -> None:
    (said,) = refused(Leiden, "test_quality_of_streams", pass_share=1e9)
    assert "below that from scratch" in said


@pytest.mark.slow
@pytest.mark.compiled
def test_merges_that_are_never_undone_are_refused() -> None:
    class Merging(Leiden):
        def _pass(self, graph: Any) -> bool:
            with self._found.copied():
                self._found.climb(False, 1)
                self._found.split()
            self._changed = 0.0
            return False

    assert "below that from scratch" in refused(Merging, "test_quality_of_streams")[0]


@pytest.mark.compiled
def test_one_class_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "CLASSES", 1)
    assert refused(Leiden, "test_quality_from_scratch", stable=False)


@pytest.mark.slow
@pytest.mark.compiled
def test_totals_that_depend_on_the_order_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(10**6))

    class Rounding(Leiden):
        def compute(self, graph: Any) -> None:
            super().compute(graph)
            noise = np.random.default_rng(next(calls)).normal(size=len(self._found.total)) * 1e-12
            self._found.total += noise * (self._found.count > 0)

    assert "is another one" in refused(Rounding, "test_same_answer_everywhere")[0]


@pytest.mark.slow
@pytest.mark.compiled
def test_keep_ignored_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = steps.converge

    def converge(*args: Any, **options: Any) -> Any:
        return loop(*args, **{**options, "keep": None} if "keep" in options else options)

    monkeypatch.setattr(steps, "converge", converge)
    monkeypatch.setattr(levels, "MARGIN", 0.0)
    assert "moved without gain" in refused(Leiden, "test_labels_stay", kernels=False)[0]


@pytest.mark.compiled
def test_an_update_that_computes_is_refused() -> None:
    class Computing(Leiden):
        def update(self, graph: Any, delta: Any) -> None:
            self.compute(graph)

    assert "computed from scratch" in refused(Computing, "test_quality_of_planted_communities")[0]


@pytest.mark.compiled
def test_labels_that_are_renumbered_are_refused() -> None:
    class Renumbering(Leiden):
        def update(self, graph: Any, delta: Any) -> None:
            super().update(graph, delta)
            _, label = np.unique(self._found.base.label, return_inverse=True)
            number = np.unique(label, return_index=True)[1][label]
            self._found.take(np.roll(np.unique(number), 1)[label].astype(np.uint32))

    assert "labels change" in refused(Renumbering, "test_quality_of_planted_communities")[0]


@pytest.mark.compiled
def test_a_wrong_quality_is_refused() -> None:
    class Boasting(Leiden):
        @property
        def result(self) -> Any:
            return super().result._replace(quality=super().result.quality + 1e-6)

    assert "quality is" in refused(Boasting, "test_quality_of_planted_communities")[0]


# -- turns, work -------------------------------------------------------------------------------------------------------


def planted(**options: Any) -> su.Graph:
    """Return a graph of 6 groups of 20 vertices."""
    rng = np.random.default_rng(7)
    src = rng.integers(0, 120, 900)
    dst = np.where(rng.random(900) < 0.8, src // 20 * 20 + rng.integers(0, 20, 900), rng.integers(0, 120, 900))
    graph = su.Graph(120, directed=False, **options)
    graph.insert_edges(src, dst)
    return graph


def test_a_vertex_reads_its_edges_once_per_cycle() -> None:
    """Vertices whose turn it is not read no edges: cycles with many classes read no more than with one."""
    graph = planted(device="cpu")
    read = []
    for classes in (1, 8, 64):
        found = levels.Communities(graph, 1.0, 5, True)
        with found.copied():
            found.weigh()
        found.move(found.base, None, classes, classes)
        read.append(found.arcs)
    assert max(read) <= graph.num_arcs


def test_an_update_reads_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small update contracts nothing, counts no self-loops, and reads a small part of the arcs."""
    graph = planted(device="cpu")
    assert graph.store().num_loops() > 0
    tracker = graph.track("leiden", pass_share=1.0)
    instance = tracker._kept.algorithm
    monkeypatch.setattr(levels.Communities, "climb", None)
    monkeypatch.setattr(type(graph.store()), "num_loops", None)
    before = instance._found.arcs
    graph.insert_edges([0, 40], [1, 41])
    assert instance._found.arcs - before < graph.num_arcs / 10
    assert tracker.updates.computed == 1


def test_parts_get_labels_and_the_largest_keeps_its_own(device: su.Device) -> None:
    """When bridges inside a community are deleted, the largest part keeps the label, the others get their own."""
    graph = su.Graph(9, device=device, directed=False)
    graph.insert_edges([0, 0, 1, 3, 3, 4, 2, 6, 7, 6], [1, 2, 2, 4, 5, 5, 3, 7, 8, 8])
    tracker = graph.track("leiden", resolution=0.0)
    assert tracker.result.label.tolist()[:6] == [tracker.result.label.tolist()[0]] * 6
    graph.insert_edges([5], [6])
    before = tracker.result.label.tolist()
    assert len(set(before)) == 1
    graph.delete_edges([2], [3])
    label = tracker.result.label.tolist()
    assert label[3:] == before[3:]
    assert label[:3] == [label[0]] * 3 != before[:3]


def test_labels_are_those_of_the_cpu(device: su.Device) -> None:
    """Labels are the same on both devices, and on the CPU by operators, also after changes and a pass."""
    graphs = planted(device=device), planted(device="cpu")
    trackers = [graph.track("leiden", seed=2, kernels=graph.device.is_cuda) for graph in graphs]
    by_kernels = graphs[1].track("leiden", seed=2)
    for start in (0, 30, 60):
        for graph in graphs:
            graph.insert_edges(np.arange(start, start + 20), np.arange(start + 40, start + 60))
            graph.delete_edges(np.arange(start, start + 20), np.arange(start + 1, start + 21))
        labels = [tracker.result.label.tolist() for tracker in (*trackers, by_kernels)]
        assert labels[0] == labels[1] == labels[2]
        assert trackers[0].result.quality == trackers[1].result.quality == by_kernels.result.quality


def test_communities_that_come_with_time(device: su.Device) -> None:
    """Where other communities take the place of those before, batch by batch, the quality stays that from scratch.

    Labels are the same on both devices, and by operators; deleted vertices keep out.
    """
    rng, count, n = np.random.default_rng(1), 1500, 240
    src, any_end = rng.integers(0, n - 1, (2, 2 * count))
    dst = np.where(np.arange(2 * count) < count, src // 20 * 20 + any_end % 20, (src % 12 + any_end // 12 * 12) % n)
    dst = np.where(rng.random(2 * count) < 0.8, dst, any_end) % (n - 1)
    graphs = [su.Graph(n, device=place, directed=False) for place in (device, "cpu")]
    for graph in graphs:
        graph.insert_edges(src[:count], dst[:count])
    trackers = [graph.track("leiden", kernels=graph.device.is_cuda) for graph in graphs]
    trackers.append(graphs[1].track("leiden"))
    assert all(tracker.result.num_communities > 1 for tracker in trackers)
    for graph in graphs:
        graph.delete_vertices([n - 1])
    gaps = []
    for at in range(0, count, 75):
        gone, new = slice(at, at + 75), slice(at + count, at + count + 75)
        for graph in graphs:
            graph.apply(su.Batch(delete=(src[gone], dst[gone]), insert=(src[new], dst[new])))
        results = [tracker.result for tracker in trackers]
        labels = [tracker.graph.device.to_numpy(tracker.result.label).tolist() for tracker in trackers]
        assert labels[0] == labels[1] == labels[2]
        assert results[0].quality == results[1].quality == results[2].quality
        right = np.mean([graphs[1].compute("leiden", seed=seed).quality for seed in range(5)])
        gaps.append(1 - results[2].quality / right)
    assert max(gaps) <= 0.03  # by passes from the present labels alone 0.1
    assert [tracker.updates.computed for tracker in trackers] == [1, 1, 1]


def test_communities_from_single_vertices_keep_their_labels(device: su.Device) -> None:
    """Of communities each gets the label of most of its members where it has most of them, others a free live one."""
    graph = su.Graph(9, device=device, directed=False)
    graph.insert_edges([0], [1])
    graph.delete_vertices([0])
    found, xp = levels.Communities(graph, 1.0, 5, True), graph.device.xp
    with found.copied():
        found.weigh()
    found.take(xp.asarray([0, 6, 6, 6, 6, 6, 7, 7, 4], xp.uint32))
    before = found.base.label.copy()
    found.take(xp.asarray([0, 2, 2, 2, 3, 3, 3, 1, 1], xp.uint32))
    found.name_after(before)
    assert graph.device.to_numpy(found.base.label).tolist() == [0, 6, 6, 6, 1, 1, 1, 4, 4]
    assert graph.device.to_numpy(found.count).tolist() == [0, 3, 0, 0, 2, 0, 3, 0, 0]


# -- parameters and input ----------------------------------------------------------------------------------------------


def test_resolution(device: su.Device) -> None:
    """A higher resolution gives more communities; the quality is NetworkX's modularity with that resolution."""
    graph = planted(device=device)
    there, counts = graph.to_networkx(), []
    for resolution in (0.2, 1.0, 3.0):
        found = graph.compute("leiden", resolution=resolution)
        label = graph.device.to_numpy(found.label)
        sets = [set(np.flatnonzero(label == one).tolist()) for one in np.unique(label)]
        right = nx.community.modularity(there, sets, resolution=resolution, backend="networkx")
        assert found.quality == pytest.approx(right, abs=1e-12)
        counts.append(found.num_communities)
    assert counts == sorted(counts)
    assert counts[0] < counts[2]


def test_levels(device: su.Device) -> None:
    """With ``levels`` the labels of all levels are in the result, each coarser than the one before, by quality."""
    graph = planted(device=device)
    found = graph.compute("leiden", levels=True, max_iter=1, stable=False)
    assert found.levels.shape[1] == 120
    assert [Leiden.quality(found._replace(label=one), graph) for one in found.levels] == sorted(
        Leiden.quality(found._replace(label=one), graph) for one in found.levels
    )
    assert graph.compute("leiden", max_iter=1, stable=False).label.tolist() == found.label.tolist()


def test_self_loops_and_no_edges(device: su.Device) -> None:
    """Self-loops count as in NetworkX; without edges each vertex is alone, and the quality 0."""
    empty = su.Graph(4, device=device, directed=False).compute("leiden")
    assert empty.label.tolist() == [0, 1, 2, 3]
    assert (empty.num_communities, empty.quality) == (4, 0.0)
    graph = su.Graph(4, device=device, directed=False, weight_dtype="float32")
    graph.insert_edges([0, 0, 2, 1], [1, 0, 3, 2], [2.0, 5.0, 1.5, 0.5])
    found = graph.compute("leiden")
    label = found.label.tolist()
    sets = [{v for v in range(4) if label[v] == one} for one in set(label)]
    assert found.quality == pytest.approx(nx.community.modularity(graph.to_networkx(), sets, backend="networkx"))


def test_bad_input(device: su.Device) -> None:
    """Negative weights, from scratch and in a batch, directed graphs and wrong parameters are refused."""
    graph = su.Graph(3, device=device, directed=False, weight_dtype="float32")
    graph.insert_edges([0, 1], [1, 2], [1.0, 2.0])
    tracker = graph.track("leiden")
    with pytest.raises(WeightError, match="negative"):
        graph.insert_edges([0], [2], [-1.0])
    with pytest.raises(WeightError, match="negative"):
        graph.compute("leiden")
    with pytest.raises(WeightError, match="negative"):
        tracker.result  # noqa: B018 - the error is what is read
    with pytest.raises(RequirementError, match="undirected"):
        su.Graph(3, device=device).compute("leiden")
    for wrong in ({"resolution": -1}, {"seed": 0.5}, {"max_iter": 0}, {"refine": 2}, {"pass_share": -0.1}):
        with pytest.raises((ParameterError, TypeError)):
            graph.compute("leiden", **wrong)


def test_a_tracker_continues_from_its_state(device: su.Device) -> None:
    """An algorithm that is restored has the same labels, and the same after further changes."""
    graph = planted(device=device)
    tracker = graph.track("leiden")
    graph.delete_edges([0, 1, 2], [3, 5, 7])
    other = Leiden()
    other.restore(graph, {name: part.copy() for name, part in tracker._kept.algorithm.state().items()})
    assert other.result.label.tolist() == tracker.result.label.tolist()
    delta = graph.insert_edges([3, 50, 90], [70, 10, 20])
    other.update(graph, delta)
    assert other._drift == tracker._kept.algorithm._drift == 5
    assert other.result.label.tolist() == tracker.result.label.tolist()
    assert other.result.quality == tracker.result.quality


@pytest.mark.plain
def test_a_heavy_edge_that_goes_again_leaves_no_trace() -> None:
    """Sums have a unit that is made for the largest weight: without it, they get a finer one."""
    graph = su.Graph(5, device="cpu", directed=False, weight_dtype="float64")
    graph.insert_edges([0, 1, 2, 3], [1, 2, 3, 4], [2, 1, 2, 1])
    tracker = graph.track("leiden")
    before = tracker.result
    for heavy in (1e12, 1e30):
        graph.insert_edges([3], [4], [heavy])
        assert tracker.result.quality == pytest.approx(0, abs=1e-9)
        graph.insert_edges([3], [4], [1])
        assert tracker.result.quality == before.quality
        assert np.array_equal(tracker.result.label, before.label)


@pytest.mark.plain
@pytest.mark.parametrize(("dtype", "weight"), [("float64", 1e300), ("float64", 1e-300), ("float32", 1e-40)])
def test_weights_whose_sums_would_be_inexact_are_refused(dtype: str, weight: float) -> None:
    graph = su.Graph(4, device="cpu", directed=False, weight_dtype=dtype)
    graph.insert_edges([0, 1, 2], [1, 2, 3], [weight] * 3)
    with pytest.raises(WeightError, match="the largest weight is"):
        graph.compute("leiden")
    graph.insert_edges([0, 1, 2], [1, 2, 3], [2, 1, 2])
    assert graph.compute("leiden").quality == pytest.approx(0.3)
