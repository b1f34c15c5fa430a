"""Live vertices: which vertices are live after deletions, insertions at deleted ids, refused and undone batches."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import suricate as su
from suricate.errors import CheckFailed, SelfLoopError, VertexRangeError
from suricate.testing import measure

DEFAULT = "slabhash"
N = 7
vertices = st.lists(st.integers(0, N - 1), max_size=3)
edges = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)), max_size=4)
actions = st.one_of(
    st.tuples(st.just("insert"), edges),
    st.tuples(st.just("bad insert"), edges),
    st.tuples(st.just("delete"), edges),
    st.tuples(st.just("delete_vertices"), vertices),
    st.tuples(st.just("insert_vertices"), st.integers(0, 2)),
    st.tuples(st.just("copy"), st.sampled_from(("copy", "pickle"))),
)


def arrays_of(graph, pairs, *, on_device=True):
    columns = np.array(pairs, np.int64).reshape(-1, 2).T
    return tuple(map(graph.device.xp.asarray, columns)) if on_device else tuple(columns)


def deleted_in(graph):
    return set(graph.deleted_vertices.tolist())


@pytest.mark.parametrize("on_device", [False, True], ids=["host-arrays", "device-arrays"])
@pytest.mark.parametrize("checks", ["eager", "deferred"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(todo=st.lists(actions, min_size=2, max_size=8))
def test_the_live_set_follows_a_set_of_ids(device, checks, on_device, todo):
    """Deltas are compared at the end, so that the host does not wait for the device in between."""
    graph, dead, size = su.Graph(N, device=device, checks=checks, in_edges=True), set(), N
    graph.delete_vertices([1, 4, 6])
    dead |= {1, 4, 6}
    expected = []
    for action, given_ in todo:
        if action == "insert":
            delta = graph.insert_edges(*arrays_of(graph, given_, on_device=on_device))
            revived = dead & {end for pair in given_ for end in pair}
            dead -= revived
            expected.append((delta, set(), revived))
        elif action == "bad insert":
            try:
                delta = graph.insert_edges(*arrays_of(graph, [*given_, (0, 99)], on_device=on_device))
                graph.synchronize()
            except VertexRangeError:
                continue
            raise AssertionError("an id out of range was taken")
        elif action == "delete":
            expected.append((graph.delete_edges(*arrays_of(graph, given_, on_device=on_device)), set(), set()))
        elif action == "delete_vertices":
            expected.append((graph.delete_vertices(given_), set(given_) - dead, set()))
            dead |= set(given_)
        elif action == "insert_vertices":
            ids = graph.device.to_numpy(graph.insert_vertices(given_, recycle=True)).tolist()
            recycled = sorted(dead)[:given_]
            assert ids == recycled + list(range(size, size + given_ - len(recycled)))
            dead, size = dead - set(recycled), size + given_ - len(recycled)
        else:
            graph = copy.copy(graph) if given_ == "copy" else pickle.loads(pickle.dumps(graph))
    host = device.to_numpy
    for delta, deleted, revived in expected:
        assert (set(host(delta.deleted_vertices).tolist()), set(host(delta.revived_vertices).tolist())) == (
            deleted,
            revived,
        )
    assert graph.num_live == size - len(dead)
    assert deleted_in(graph) == dead
    assert graph.most_deleted == len(dead)
    graph.check()


@pytest.mark.parametrize("on_device", [False, True], ids=["host-arrays", "device-arrays"])
@pytest.mark.parametrize("kind", [{}, {"in_edges": True}, {"directed": False}], ids=["out", "in", "undirected"])
def test_every_backend_revives_the_ends_of_edges(backend, device, kind, on_device):
    arrays = partial(arrays_of, on_device=on_device)
    graph = su.Graph(5, backend=backend, device=device, **kind)
    live = graph.live_arrays
    graph.insert_edges(*arrays(graph, [(0, 1), (1, 2), (2, 3)]))
    graph.delete_vertices([1, 2, 4])
    assert deleted_in(graph) == {1, 2, 4}
    delta = graph.apply(su.Batch(insert=arrays(graph, [(0, 2), (2, 2)]), delete=arrays(graph, [(0, 1), (3, 3)])))
    assert device.to_numpy(delta.revived_vertices).tolist() == [2]
    other = graph.insert_edges(*arrays(graph, [(4, 0)]))
    assert device.to_numpy(live.count).tolist() == [4]
    graph.delete_edges(*arrays(graph, [(0, 2), (2, 2), (4, 0)]))
    assert deleted_in(graph) == {1}
    assert graph.num_live == 4
    assert device.to_numpy(other.revived_vertices).tolist() == [4]
    graph.check()


def test_without_deleted_vertices_no_array_is_made(device):
    graph = su.Graph(4, device=device)
    delta = graph.insert_edges(*arrays_of(graph, [(0, 1), (3, 3)]))
    graph.insert_vertices(3, recycle=True)
    live = graph._updater.live
    assert live._buffer is None is live._count
    assert (graph.most_deleted, graph.num_live) == (0, 7)
    assert not delta.live_may_differ
    assert device.to_numpy(graph.live_vertices).tolist() == list(range(7))
    assert device.to_numpy(graph.live).tolist() == [True] * 7


def test_the_arrays_for_kernels_follow_growth_and_changes(device):
    graph = su.Graph(3, device=device)
    count = graph.live_arrays.count
    for size in (4, 70, 71, 500):
        graph.insert_vertices(size - graph.num_vertices)
        graph.delete_vertices([size - 1])
        assert graph.live_arrays.count is count
        assert device.to_numpy(count).tolist() == [size - graph.most_deleted]
        graph.check()
    assert deleted_in(graph) == {3, 69, 70, 499}
    live = graph.live  # a copy
    live[:] = False
    assert graph.num_live == 496
    graph.check()


def test_what_the_graph_was_copied_from_stays(device, tmp_path):
    graph = su.Graph(6, device=device, directed=False)
    graph.insert_edges([0, 1], [1, 2])
    graph.delete_vertices([1, 5])
    graph.save(tmp_path / "graph")
    for other in (graph.to(device), graph.to("cpu"), su.Graph.load(tmp_path / "graph", device=device)):
        assert deleted_in(other) == {1, 5}
        other.insert_edges([5], [0])
        assert deleted_in(other) == {1}
        other.check()
    assert deleted_in(graph) == {1, 5}


def test_a_self_loop_that_is_refused_or_dropped_revives_nothing(device):
    for policy in ("drop", "error"):
        graph = su.Graph(3, device=device, self_loops=policy)
        graph.delete_vertices([1, 2])
        if policy == "drop":
            graph.insert_edges(*arrays_of(graph, [(1, 1)]))
        else:
            with pytest.raises(SelfLoopError):
                graph.insert_edges(*arrays_of(graph, [(1, 1), (0, 2)]))
        assert deleted_in(graph) == {1, 2}
        graph.check()


class Fails(su.plugins.backend(DEFAULT)):
    """The second of two stores fails once, after it has done what ``fails`` names."""

    name, fails, calls = "fails", "", 0

    def apply(self, delete, insert):
        return None

    def insert(self, src, dst, weight=None, *, guard=None):
        outcome = super().insert(src, dst, weight, guard=guard)
        self._fail("insert")
        return outcome

    def resizing(self, num_vertices):
        resize = super().resizing(num_vertices)
        self._fail("resize")
        return resize

    def _fail(self, operation):
        Fails.calls += Fails.fails == operation
        if Fails.calls == 2:
            Fails.fails, Fails.calls = "", 0
            raise MemoryError("as asked for")


def test_what_is_undone_revives_nothing(device):
    graph = su.Graph(4, backend=Fails, device=device, in_edges=True)
    graph.delete_vertices([2, 3])
    for operation, call in (
        ("insert", lambda: graph.insert_edges(*arrays_of(graph, [(0, 2)]))),
        ("resize", lambda: graph.insert_vertices(3, recycle=True)),
    ):
        Fails.fails = operation
        with pytest.raises(MemoryError):
            call()
        assert (Fails.fails, deleted_in(graph), graph.num_vertices, graph.num_live) == ("", {2, 3}, 4, 2)
        graph.check()


def test_check_finds_a_deleted_vertex_with_edges():
    graph = su.Graph(3, device="cpu")
    graph.delete_vertices([2])
    graph.store("out").insert(np.array([0], np.uint32), np.array([2], np.uint32))
    with pytest.raises(CheckFailed, match="deleted vertices have no edges"):
        graph.check()


def test_deltas_list_what_was_deleted_and_revived(device):
    graph = su.Graph(5, device=device)
    assert graph.delete_vertices([3, 1, 3]).deleted_vertices.tolist() == [1, 3]
    version = graph.version
    again = graph.delete_vertices([1])
    assert (again.is_empty, again.is_known_empty, graph.version) == (True, True, version)
    delta = graph.delete_vertices([1, 0])
    assert (delta.deleted_vertices.tolist(), len(delta)) == ([0], 1)
    delta = graph.insert_edges(*arrays_of(graph, [(1, 2)]))
    assert delta.live_may_differ
    assert (repr(delta), len(delta)) == ("Delta(inserted=1, deleted=0, replaced=0, revived_vertices=1)", 2)
    other = pickle.loads(pickle.dumps(delta))
    assert other.revived_vertices.tolist() == [1]
    assert (other.live_may_differ, graph.num_live) == (True, 3)


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_an_insertion_takes_one_more_launch_only_while_vertices_may_be_deleted_and_no_wait(device):
    graph = su.Graph(N, device=device, checks="deferred", directed=False)
    batch = arrays_of(graph, [(0, 1), (4, 5)])
    launches = {}
    for deleted in ([], [6]):
        graph.delete_vertices(deleted)
        for _ in range(2):  # the first one compiles
            graph.delete_edges(*batch)
            costs = measure(lambda: graph.insert_edges(*batch), device)
        launches[len(deleted)] = costs.launches
        assert not costs.waits
    assert launches[1] == launches[0] + 1
    trackers = [graph.track(name) for name in ("bfs", "wcc", "independent_set", "kcore", "coloring")]
    graph.delete_vertices([6])
    graph.insert_edges(*batch)
    other = arrays_of(graph, [(6, 2)])
    assert not measure(lambda: graph.insert_edges(*other), device).waits
    assert [tracker.stale for tracker in trackers] == [False] * 5
    assert graph.num_live == N


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_the_bound_falls_without_a_wait_of_the_graph(device):
    graph = su.Graph(N, device=device, checks="deferred")
    graph.delete_vertices([2, 3])
    for edge, bound in (((0, 2), 2), ((0, 1), 1), ((3, 1), 1), ((1, 0), 0)):
        graph.insert_edges(*arrays_of(graph, [edge]))
        assert graph.most_deleted == bound
        device.synchronize()  # the device is done, which the graph does not know yet
        if edge == (0, 1):
            graph.insert_vertices(3)
    assert graph.num_live == N + 3
    graph.check()
