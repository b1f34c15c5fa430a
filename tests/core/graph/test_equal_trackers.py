"""Trackers of one graph with the same algorithm and parameters: one state and one update per batch, separate lives."""

from __future__ import annotations

import copy
import gc
import threading
import weakref

import numpy as np
import pytest

import suricate as su
from suricate.bench.verify.results import on_host
from suricate.errors import ParameterError
from suricate.graph.tracker import UpdateCounts, sharing_key
from suricate.testing import measure


class Degrees(su.Algorithm):
    """Out-degrees times ``scale``; its own array is its result, and ``fails`` makes the next call raise."""

    name = "scaled_degrees"

    def __init__(self, scale=1, *, offset=0.0, label="none", base=None):
        if scale == 0:
            raise ParameterError("scaled_degrees: scale is 0")
        self.scale, self.calls, self.fails = scale, 0, False

    def compute(self, graph):
        self.calls += 1
        if self.fails:
            self.fails = False
            raise RuntimeError("half done")
        degrees = graph.degrees().astype(np.int64) * self.scale
        if self.calls > 1 and len(self.state) == len(degrees):
            self.state[:] = degrees
        else:
            self.state = degrees

    @property
    def result(self):
        return self.state


@pytest.fixture
def graph(backend, device):
    graph = su.Graph(6, backend=backend, device=device)
    graph.insert_edges([0, 1, 1], [1, 2, 1])
    return graph


def listed(tracker):
    return tracker.graph.device.to_numpy(tracker.result).tolist()


def test_equal_trackers_share_one_update_per_batch(graph):
    first, second = graph.track(Degrees, scale=2), graph.track(Degrees, scale=2)
    assert first is not second
    assert first.algorithm is second.algorithm
    graph.insert_edges([3], [4])
    graph.delete_edges([1], [2])
    late = graph.track(Degrees, scale=np.int64(2), offset=0.0)
    assert late.algorithm.calls == 3
    assert first.updates == late.updates == UpdateCounts(computed=3)
    assert first.recomputations == {"it has no update of its own": 2}
    assert late.last[:2] == ("recomputed", "it has no update of its own")
    assert listed(first) == listed(second) == listed(late) == [2, 2, 0, 2, 0, 0]
    first.refresh()
    assert second.updates.computed == 4
    assert second.last[:2] == ("computed", "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"scale": 2}, {}),
        ({"scale": 1.0}, {}),
        ({"scale": True}, {}),
        ({"label": "1"}, {"label": "2"}),
        ({"base": 0}, {}),
    ],
)
def test_different_parameters_do_not_share(device, one, other):
    graph = su.Graph(3, device=device)
    first, second = graph.track(Degrees, **one), graph.track(Degrees, **other)
    assert first.algorithm is not second.algorithm


@pytest.mark.parametrize("value", [np.ones(3), [1, 2], {0: 1.0}, np.random.default_rng(1)])
def test_parameters_that_may_change_are_not_compared(device, value):
    graph = su.Graph(3, device=device)
    first, second = graph.track(Degrees, base=value), graph.track(Degrees, base=value)
    assert first.algorithm is not second.algorithm


def test_bad_parameters_are_refused_as_ever(device):
    graph = su.Graph(3, device=device)
    held = graph.track(Degrees)
    with pytest.raises(ParameterError, match="scale is 0"):
        graph.track(Degrees, scale=0)
    with pytest.raises(ParameterError, match="speed"):
        graph.track(Degrees, speed=1)
    assert held.algorithm.calls == 1


def test_defaults_are_filled_in():
    assert sharing_key(Degrees, {}) == sharing_key(Degrees, {"scale": np.int32(1), "base": None})
    assert sharing_key(Degrees, {}) != sharing_key(type("Other", (Degrees,), {}), {})


def test_one_of_two_is_dropped(graph):
    first, second = graph.track(Degrees), graph.track(Degrees)
    algorithm = weakref.ref(first.algorithm)
    del first
    gc.collect()
    graph.insert_edges([3], [4])
    assert second.updates.computed == 2
    assert listed(second) == [1, 2, 0, 1, 0, 0]
    del second
    gc.collect()
    assert algorithm() is None
    assert not graph._kept


def test_one_of_two_is_closed(graph):
    with graph.track(Degrees) as first:
        second = graph.track(Degrees)
        graph.insert_edges([3], [4])
    first.close()
    graph.insert_edges([4], [5])
    assert (first.closed, second.closed) == (True, False)
    assert (listed(first), first.version) == ([1, 2, 0, 1, 0, 0], 2)
    assert first.updates == UpdateCounts(computed=2)
    assert sum(first.recomputations.values()) == 1
    assert (listed(second), second.version) == ([1, 2, 0, 1, 1, 0], 3)
    first.refresh()  # on its own: it follows nobody
    assert listed(first) == listed(second)
    assert second.updates == UpdateCounts(computed=3)
    assert (sum(first.recomputations.values()), sum(second.recomputations.values())) == (1, 2)


def test_a_closed_tracker_is_not_joined(graph):
    first = graph.track(Degrees)
    first.close()
    graph.insert_edges([3], [4])
    second = graph.track(Degrees)
    graph.insert_edges([4], [5])
    assert listed(first) == [1, 2, 0, 0, 0, 0]
    assert listed(second) == [1, 2, 0, 1, 1, 0]


def test_an_error_makes_both_stale_and_one_computation_mends_both(graph):
    first, second, other = graph.track(Degrees), graph.track(Degrees), graph.track(Degrees, scale=3)
    first.algorithm.fails = True
    with pytest.raises(RuntimeError, match="half done"):
        graph.insert_edges([3], [4])
    assert (first.stale, second.stale, other.stale) == (True, True, False)
    assert listed(second) == [1, 2, 0, 1, 0, 0]
    assert not first.stale
    assert first.updates == UpdateCounts(computed=2, failed=1)
    first.algorithm.fails = True
    with pytest.raises(RuntimeError):
        graph.insert_edges([4], [5])
    first.close()  # stale: there is no result to keep
    third = graph.track(Degrees)  # computes, since what it shares is stale
    assert (second.stale, third.stale) == (False, False)
    assert listed(first) == listed(second) == listed(third) == [1, 2, 0, 1, 1, 0]


def test_a_first_computation_that_fails_leaves_nothing(device):
    graph = su.Graph(3, device=device)
    with pytest.raises(su.errors.VertexRangeError):
        graph.track("bfs", source=3)
    assert not graph._kept


def test_results_are_separate(graph):
    first, second = graph.track(Degrees), graph.track(Degrees)
    right = listed(second)
    result = first.result
    if isinstance(result, np.ndarray):
        assert not result.flags.writeable
    else:
        result[:] = 77
    assert listed(second) == right


def test_a_copy_of_the_graph_shares_nothing(graph):
    first, other = graph.track(Degrees), copy.copy(graph)
    second = other.track(Degrees)
    other.insert_edges([3], [4])
    assert first.algorithm is not second.algorithm
    assert listed(first) == [1, 2, 0, 0, 0, 0]
    assert listed(second) == [1, 2, 0, 1, 0, 0]


def test_threads_that_track_and_drop(device):
    graph, errors = su.Graph(8, device=device), []
    held = graph.track(Degrees)

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for _ in range(20):
                with graph.track(Degrees) as tracker:
                    graph.insert_edges(rng.integers(0, 8, 2), rng.integers(0, 8, 2))
                    assert len(tracker.result) == 8
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert listed(held) == device.to_numpy(graph.degrees()).tolist()
    assert held.updates.computed == 1 + sum(held.recomputations.values())


def arrays(tracker):
    result = on_host(tracker.result, tracker.graph.device)
    return [np.asarray(part).tolist() for part in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("name", ["bfs", "wcc"])
def test_shared_results_are_those_of_separate_graphs(device, name):
    rng = np.random.default_rng(7)
    graphs = [su.Graph(40, device=device, directed=False) for _ in range(3)]
    trackers = [graphs[0].track(name), graphs[0].track(name), *(graph.track(name) for graph in graphs[1:])]
    late = None
    for step in range(12):
        ends, gone = rng.integers(0, 40, (2, 12)), rng.integers(0, 40, (2, 40))
        for graph in graphs:
            graph.apply(su.Batch(insert=tuple(ends), delete=tuple(gone)))
        found = [arrays(tracker) for tracker in trackers]
        assert all(each == found[0] for each in found)
        if step == 5:
            late, trackers = trackers[0], [*trackers[1:], graphs[0].track(name)]
            late.close()
            kept = arrays(late)
    assert arrays(late) == kept
    assert trackers[-1].updates == trackers[0].updates  # it joined, and computed nothing of its own
    assert trackers[-1].updates.computed == 1 + sum(trackers[-1].recomputations.values())


def test_one_search_serves_equal_trackers(device):
    costs = []
    for count in (1, 3):
        graph = su.Graph(300, device=device)
        line = np.arange(299)
        graph.insert_edges(line, line + 1)
        trackers = [graph.track("bfs") for _ in range(count)]
        costs.append(measure(lambda graph=graph: graph.delete_edges([290], [291]), device).visited)
        assert all(arrays(tracker)[0][289:292] == [289, 290, -1] for tracker in trackers)
    assert costs[0] == costs[1] > 0
