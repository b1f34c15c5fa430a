"""Trackers: never stale, never recomputed for nothing, gone when dropped, sound after an error."""

from __future__ import annotations

import gc
import weakref
from collections import Counter

import numpy as np
import pytest

import suricate as su
from suricate.cuda.compiler import LOCAL
from suricate.errors import CapacityError, ParameterError, RequirementError, UnknownNameError, VertexRangeError
from suricate.graph.tracker import UpdateCounts


class Degrees(su.Algorithm):
    """Out-degrees, kept current by the delta alone; ``fail``, a list, has an entry per update that is to raise."""

    name = "degrees"

    def __init__(self, *, scale=1, fail=()):
        self.scale, self.fail = scale, fail
        self.counts, self.vertices = Counter(), 0

    def compute(self, graph):
        self.vertices = graph.num_vertices
        self.counts = Counter(dict(enumerate(graph.device.to_numpy(graph.degrees()).tolist())))

    def update(self, graph, delta):
        self.vertices = delta.num_vertices_after
        self.counts.update(graph.device.to_numpy(delta.arcs("inserted").read().src).tolist())
        if self.fail:
            self.fail.pop()
            raise RuntimeError("half done")
        self.counts.subtract(graph.device.to_numpy(delta.arcs("deleted").read().src).tolist())

    @property
    def result(self):
        return [self.counts[v] * self.scale for v in range(self.vertices)]


class NeedsWeights(Degrees):
    name = "needs_weights"
    requires = su.Requirements(weighted=True)


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request, backend, device):
    graph = su.Graph(6, backend=backend, device=device, directed=request.param)
    graph.insert_edges([0, 1, 1], [1, 2, 1])
    return graph


def degrees(graph):
    return graph.device.to_numpy(graph.degrees()).tolist()


def test_the_result_follows_every_kind_of_change(graph):
    tracker = graph.track(Degrees)
    changes = (
        lambda: graph.insert_edges([3, 4, 4], [4, 5, 4]),
        lambda: graph.delete_edges([0, 4], [1, 4]),
        lambda: graph.apply(su.Batch(insert=([0, 1], [1, 3]), delete=([0, 1], [1, 2]))),
        lambda: graph.insert_vertices(2),
        lambda: graph.delete_vertices([4, 1]),
    )
    for change in changes:
        change()
        assert tracker.result == degrees(graph)
        assert tracker.version == graph.version
    assert tracker.updates == UpdateCounts(computed=1, updated=5)


def test_nothing_is_done_for_what_did_not_change(graph):
    tracker = graph.track(Degrees)
    graph.insert_edges([0, 1], [1, 2])  # there already
    graph.delete_edges([5], [4])  # not there
    graph.insert_edges([], [])
    unknown = 2 if graph.device.is_cuda else 0  # only the device knows that these changed nothing
    assert tracker.updates == UpdateCounts(computed=1, updated=unknown, skipped=2 - unknown)
    assert tracker.version == graph.version == 3
    assert tracker.result == degrees(graph)


def test_parameters_and_attributes(graph):
    tracker = graph.track(Degrees, scale=10)
    assert tracker.result == [10 * degree for degree in degrees(graph)]
    assert (tracker.name, tracker.graph) == ("degrees", graph)
    assert isinstance(tracker.algorithm, Degrees)
    assert "degrees, current, version 1" in repr(tracker)
    assert graph.compute(Degrees, scale=10) == tracker.result
    with pytest.raises(TypeError, match="speed"):
        graph.track(Degrees, speed=1)


def test_memory_that_runs_out_in_an_update_is_told_from_a_batch_that_did_not_fit(graph):
    class Large(Degrees):
        def update(self, graph, delta):
            raise MemoryError("a terabyte")

    tracker = graph.track(Large)
    with pytest.raises(CapacityError, match="a terabyte") as caught:
        graph.insert_edges([3], [4])
    assert "the graph holds the change" in caught.value.__notes__[0]
    assert tracker.stale


def test_an_update_that_changes_the_graph_leaves_no_tracker_behind(graph):
    class Closing(Degrees):
        def update(self, graph, delta):
            graph.insert_edges([5], [0])

    trackers = [graph.track(Degrees), graph.track(Closing), graph.track(Degrees, scale=2)]
    graph.insert_edges([2], [3])
    assert [tracker.result for tracker in trackers[:2]] == [degrees(graph)] * 2
    assert trackers[2].result == [2 * degree for degree in degrees(graph)]


def test_an_error_leaves_the_change_and_a_result_that_recovers(graph):
    failing, other = graph.track(Degrees, fail=[1]), graph.track(Degrees)
    with pytest.raises(RuntimeError, match="half done") as caught:
        graph.insert_edges([3], [4])
    assert "tracker 'degrees'" in caught.value.__notes__[0]
    assert graph.version == 2
    assert graph.device.to_numpy(graph.has_edges([3], [4])).all()
    assert other.result == degrees(graph)
    assert (failing.stale, failing.version) == (True, 1)
    graph.insert_edges([2], [5])  # a stale tracker waits until it is asked
    assert failing.updates == UpdateCounts(computed=1, failed=1)
    assert failing.result == degrees(graph)
    assert (failing.stale, failing.version) == (False, 3)
    assert failing.updates == UpdateCounts(computed=2, failed=1)
    graph.insert_edges([2], [4])
    assert failing.result == degrees(graph)
    assert failing.updates.updated == 1


class Halves(su.Algorithm):
    """Two arrays that grow one after the other, the first of which tells whether they are long enough."""

    name = "halves"
    lacks = False

    def __init__(self):
        self.one, self.other = np.zeros(0), np.zeros(0)

    def compute(self, graph):
        if len(self.one) < graph.num_vertices:
            self.one = np.zeros(graph.num_vertices)
            if Halves.lacks:
                raise MemoryError
            self.other = np.zeros(graph.num_vertices)
        self.other[:] = graph.num_edges

    def update(self, graph, delta):
        self.compute(graph)

    @property
    def result(self):
        return self.other


def test_what_failed_half_way_is_computed_by_another_instance(graph, monkeypatch):
    tracker = graph.track(Halves)
    monkeypatch.setattr(Halves, "lacks", True)
    with pytest.raises(MemoryError):
        graph.insert_vertices(4)
    with pytest.raises(MemoryError):
        _ = tracker.result
    graph.check()
    monkeypatch.undo()
    assert tracker.result.tolist() == [3] * 10


def test_a_dropped_tracker_costs_nothing(graph):
    tracker = graph.track(Degrees)
    algorithm = weakref.ref(tracker.algorithm)
    del tracker
    gc.collect()
    assert algorithm() is None
    graph.insert_edges([3], [4])
    assert not graph._kept


def test_a_closed_tracker_keeps_its_last_result(graph):
    with graph.track(Degrees) as tracker:
        before = tracker.result
    graph.insert_edges([3], [4])
    assert tracker.closed
    assert tracker.result == before
    assert tracker.updates == UpdateCounts(computed=1)
    assert "closed" in repr(tracker)


def test_a_refresh_computes_from_scratch(graph):
    tracker = graph.track(Degrees)
    tracker.algorithm.counts.clear()
    tracker.refresh()
    assert tracker.result == degrees(graph)
    assert tracker.updates.computed == 2


def test_a_bad_batch_leaves_trackers_alone(graph):
    tracker = graph.track(Degrees)
    before = tracker.result
    with pytest.raises(VertexRangeError):
        graph.insert_edges([3], [99])
    assert (tracker.result, tracker.version) == (before, graph.version)


def test_unknown_names_and_missing_requirements(graph):
    with pytest.raises(UnknownNameError, match=r"'nonsense'.*pagerank"):
        graph.track("nonsense")
    with pytest.raises(RequirementError, match="weight_dtype='float32'"):
        graph.track(NeedsWeights)
    with pytest.raises(RequirementError, match="needs_weights"):
        graph.compute(NeedsWeights)
    assert not graph._kept


class DeviceDegrees(su.Algorithm):
    """Out-degrees, kept current from the edge sets of the delta; asks the host for nothing."""

    name = "device_degrees"

    def compute(self, graph):
        self.state = graph.degrees().astype(np.int64)

    def update(self, graph, delta):
        add = graph.device.xp.add.at
        for kind, step in (("inserted", 1), ("deleted", -1)):
            arcs = delta.edge_set(kind).arcs()
            if arcs.size:
                counts = 1 if arcs.status is None else (arcs.status == arcs.wanted)
                add(self.state, arcs.src.astype(np.int64), step * graph.device.xp.asarray(counts, np.int64))

    @property
    def result(self):
        return self.state


def test_an_algorithm_may_follow_the_edge_sets_of_a_delta(graph):
    tracker = graph.track(DeviceDegrees)
    xp = graph.device.xp
    graph.insert_edges(xp.array([3, 4, 4, 4, 2]), xp.array([4, 5, 4, 4, 2]))
    graph.delete_edges(xp.array([0, 4, 4]), xp.array([1, 4, 4]))
    graph.apply(su.Batch(insert=([0, 1, 2], [1, 3, 2]), delete=([0, 1, 2], [1, 2, 2])))
    graph.delete_vertices([4])
    assert graph.device.to_numpy(tracker.result).tolist() == degrees(graph)


@pytest.mark.gpu
def test_a_deferred_graph_stays_deferred_with_trackers():
    import cupy

    graph = su.Graph(4, device="cuda", checks="deferred")
    tracker = graph.track(DeviceDegrees)
    graph.insert_edges(cupy.array([1, 2]), cupy.array([9, 1]))
    graph.apply(su.Batch(insert=(cupy.array([1]), cupy.array([2])), delete=(cupy.array([1]), cupy.array([9]))))
    assert tracker.result.tolist() == degrees(graph) == [0] * 4
    graph.insert_edges(cupy.array([1]), cupy.array([2]))
    with pytest.raises(VertexRangeError, match="given at version 0"):
        graph.synchronize()
    assert not tracker.stale
    assert tracker.result.tolist() == degrees(graph) == [0, 1, 0, 0]


@pytest.mark.gpu
def test_an_algorithm_that_reads_lists_is_not_blamed_for_a_deferred_batch():
    import cupy

    graph = su.Graph(4, device="cuda", checks="deferred")
    tracker = graph.track(Degrees)
    graph.insert_edges(cupy.array([1, 2]), cupy.array([9, 1]))
    graph.insert_edges(cupy.array([3]), cupy.array([2]))
    assert (tracker.updates.failed, tracker.stale) == (0, False)
    with pytest.raises(VertexRangeError, match="given at version 0"):
        graph.synchronize()
    assert tracker.result == degrees(graph) == [0, 0, 0, 1]


class Everything(su.Algorithm):
    """Keeps arrays in every kind of container, and hands its own out."""

    name = "everything"

    def compute(self, graph):
        self.state = graph.device.xp.zeros(graph.num_vertices)
        self.parts = su.EdgeList(self.state, self.state + 1)

    @property
    def result(self):
        return {"array": self.state, "named": self.parts, "list": [self.state, 3], "text": "unchanged"}


def write(array):
    """Change an array that may be read-only."""
    try:
        array[:] = 77
    except ValueError:
        assert isinstance(array, np.ndarray)
        assert not array.flags.writeable


def test_changing_a_result_changes_nothing_else(device):
    graph = su.Graph(4, device=device)
    tracker = graph.track(Everything)
    result = tracker.result
    assert isinstance(result["named"], su.EdgeList)
    for array in (result["array"], *result["named"][:2], result["list"][0]):
        write(array)
    result["list"].append(4)
    assert device.to_numpy(tracker.algorithm.state).tolist() == [0] * 4
    assert device.to_numpy(tracker.result["named"].dst).tolist() == [1] * 4
    assert (len(tracker.result["list"]), tracker.result["text"]) == (2, "unchanged")


@pytest.mark.parametrize("algorithm", ["bfs", "pagerank"])
def test_results_of_the_built_in_algorithms_are_protected(device, algorithm):
    graph = su.Graph(6, device=device, in_edges=True)
    graph.insert_edges([0, 1, 2, 3], [1, 2, 3, 4])
    tracker = graph.track(algorithm)
    arrays = tracker.result if isinstance(tracker.result, tuple) else (tracker.result,)
    before = [device.to_numpy(array).copy() for array in arrays if hasattr(array, "dtype")]
    for array in arrays:
        if hasattr(array, "dtype") and array.ndim:
            write(array)
    again = tracker.result if isinstance(tracker.result, tuple) else (tracker.result,)
    after = [device.to_numpy(array) for array in again if hasattr(array, "dtype")]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    graph.insert_edges([4], [5])
    assert not tracker.stale


class Sometimes(Degrees):
    """Degrees that are computed from scratch after batches of more than one edge, in one of two ways."""

    name = "sometimes"

    def __init__(self, *, way="compute"):
        super().__init__()
        self.way = way

    def update(self, graph, delta):
        if len(delta.arcs("inserted").read().src) <= 1:
            super().update(graph, delta)
        elif self.way == "compute":
            self.compute(graph)
        else:
            self.recomputes(self.way)
            Degrees.compute.__wrapped__(self, graph)


@pytest.mark.parametrize(
    ("way", "reason"), [("compute", "its update calls compute()"), ("more than one edge", "more than one edge")]
)
def test_computations_within_updates_are_counted_as_such(way, reason):
    graph = su.Graph(6, device="cpu")
    tracker = graph.track(Sometimes, way=way)
    assert tracker.last == ("computed", "", False)
    graph.insert_edges([0], [1])
    assert (tracker.updates, tracker.last) == (UpdateCounts(computed=1, updated=1), ("updated", "", False))
    graph.insert_edges([1, 2], [3, 4])
    assert (tracker.updates, tracker.last) == (UpdateCounts(computed=2, updated=1), ("recomputed", reason, False))
    graph.insert_edges([1, 2], [3, 4])
    assert (tracker.updates.skipped, tracker.last) == (1, ("skipped", "", False))
    graph.insert_edges([5], [0])
    assert tracker.recomputations == {reason: 1}
    tracker.recomputations.clear()
    assert tracker.recomputations == {reason: 1}
    assert tracker.updates == UpdateCounts(computed=2, updated=2, skipped=1)
    assert tracker.result == degrees(graph)


def test_the_last_advance_tells_of_quick_builds():
    """As on CUDA where launches, counted per thread, take builds that better ones replace later."""

    class Launches(Degrees):
        quick = 1

        def compute(self, graph):
            LOCAL.quick_launches += self.quick
            super().compute(graph)

        def update(self, graph, delta):
            LOCAL.quick_launches += self.quick
            super().update(graph, delta)

    graph = su.Graph(6, device="cpu")
    tracker = graph.track(Launches)
    assert tracker.last == ("computed", "", True)
    graph.insert_edges([0], [1])
    assert tracker.last == ("updated", "", True)
    tracker.algorithm.quick = 0
    graph.insert_edges([1], [2])
    assert tracker.last == ("updated", "", False)
    assert graph.wait_until_built()
    assert graph.wait_until_built(0)
    with pytest.raises(ParameterError, match="timeout must be"):
        graph.wait_until_built(-1)
