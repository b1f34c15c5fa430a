"""Suites, batches and operations on a tiny graph: right backends pass, broken ones fail."""

import numpy as np
import pytest
from bench_cases import fixture_of

from suricate.base.devices import CPU, resolve_device
from suricate.base.types import edge_keys
from suricate.bench import inputs, suites
from suricate.bench.fixtures import PAIRS, Batches, Housekeeper
from suricate.bench.runner import Limits, Skipped, measure
from suricate.bench.workloads import builds, operations, vertices

QUICK = Limits(min_repeats=2, max_repeats=2, time_limit=1.0, warmups=0)


# -- batches -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PAIRS)
def test_batches(data, kind):
    batches = Batches(fixture_of("any", data), 32, "test", weighted=True)
    first, second = batches.draw(kind), batches.draw(kind)
    known = data.model.contains(first.keys)
    assert len(first.keys) == len(first.edges.weight) == 32
    assert not np.array_equal(first.keys, second.keys)  # fresh
    assert known.all() == (kind == "existing")
    if kind == "existing":
        assert len(np.unique(first.keys)) == 32
    assert np.array_equal(first.keys, np.sort(first.keys)) == (kind == "sorted")
    if kind == "mixed":
        assert known.sum() >= 16
    if kind == "hub":
        assert data.out_degrees[first.src[0]] == data.out_degrees.max()
        assert len(np.unique(first.src)) == 1
        assert len(np.unique(first.dst)) == 32
    again = Batches(fixture_of("other", data), 32, "test", weighted=True).draw(kind)
    assert np.array_equal(first.keys, again.keys)  # the same for every backend
    assert np.array_equal(first.weight, again.weight)


@pytest.mark.parametrize(("kind", "size"), [("existing", 10_000), ("hub", 41)])
def test_more_edges_than_there_are(data, kind, size):
    with pytest.raises(Skipped):
        Batches(fixture_of("any", data), size, "test").draw(kind)


# -- operations --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pairs", [None, "uniform", "existing", "mixed", "hub"])
@pytest.mark.parametrize("kind", operations.OPERATIONS)
def test_operations_verify_a_right_backend_and_leave_the_graph_as_it_was(data, broken_backends, kind, pairs, weighted):
    fixture = fixture_of("tutorial", data, weighted=weighted)
    for size in (8, 32):  # one is undone, after the other the graph is rebuilt
        found = measure(kind(fixture, size, pairs), QUICK)
        assert (found.status, found.reason) == ("ok", "")
        assert found.timing.repeats == 2
    edges = fixture.cache["fresh"].graph.edges()
    assert np.array_equal(np.sort(edge_keys(edges.src, edges.dst)), data.model.keys)


def test_operations_on_every_backend_and_device(data, backend, device):
    fixture = fixture_of(backend, data, device)
    tasks = [builds.Build(fixture), operations.Memory(fixture), *(kind(fixture, 32) for kind in operations.OPERATIONS)]
    tasks += [operations.Churn(fixture, 32)]
    for task in tasks:
        found = measure(task, QUICK)
        assert (task.workload, found.status, found.reason) == (task.workload, "ok", "")
    assert tasks[1].extra()["bytes_per_edge"] > 0


def test_the_limit_of_growth_stays_that_of_the_start(data, broken_backends):
    fixture = fixture_of("tutorial", data)
    first = operations.Insert(fixture, 32)
    first.setup()
    limit = first.subject.housekeeper.limit
    first.graph.insert_edges([0] * 40, range(40))
    second = operations.Delete(fixture, 32)
    second.setup()
    assert second.subject.housekeeper.limit == limit


def test_a_bloated_graph_is_compacted_between_repeats(data):
    class Bloated:
        used, log = 100, ()

        def memory_usage(self):
            return self

        def compact(self):
            self.used, self.log = 100, (*self.log, "compact")

        def reserve(self, size):
            self.log = (*self.log, size)

    graph = Bloated()
    keeper = Housekeeper(graph)
    for graph.used in (100, 109, 111, 109):
        keeper.tidy(32)
    assert graph.log == ("compact", 32)


@pytest.mark.parametrize(
    ("backend", "kind", "status"),
    [
        ("forgetful", builds.Build, "FAIL"),
        ("forgetful", builds.Growth, "FAIL"),
        ("forgetful", operations.Insert, "FAIL"),
        ("gullible", operations.Query, "FAIL"),
        ("raising", operations.Delete, "ERROR"),
        ("raising", operations.Query, "ok"),
    ],
)
def test_broken_backends_fail_and_have_no_time(data, broken_backends, backend, kind, status):
    fixture = fixture_of(backend, data)
    found = measure(kind(fixture) if kind is builds.Build else kind(fixture, 32), QUICK)
    assert found.status == status
    assert (found.timing is None) == (status != "ok")
    assert bool(found.reason) == (status != "ok")


def test_a_graph_that_is_wrong_only_after_the_timing_has_no_time_either(data, broken_backends):
    class Spoiling(operations.Query):
        def action(self, batch):
            found = super().action(batch)
            self.graph.delete_edges(self.fixture.data.src[:1], self.fixture.data.dst[:1])
            return found

    found = measure(Spoiling(fixture_of("tutorial", data), 32), QUICK)
    assert found.status == "FAIL"
    assert found.timing is None


def test_the_last_timed_batch_is_verified(data, broken_backends):
    class Slipping(operations.Insert):
        calls = 0

        def action(self, batch):
            self.calls += 1
            delta = super().action(batch)
            if self.calls == 3:  # of three: one verified, two timed
                self.graph.delete_edges(batch.edges.src[:1], batch.edges.dst[:1])
            return delta

    for size in (8, 32):
        found = measure(Slipping(fixture_of("tutorial", data), size, "existing"), QUICK)
        assert (found.status, found.timing) == ("FAIL", None)


def test_the_dummy_is_measured_but_not_verified(data):
    fixture = suites.Selection((), CPU).dummy_fixture(data)
    for kind in operations.OPERATIONS:
        task = kind(fixture, 32)
        assert measure(task, QUICK).timing is not None
        assert task.oracle is None
        assert task.backend == "dummy"


# -- suites ------------------------------------------------------------------------------------------------------------


def test_backends_of_a_selection():
    assert {"slabhash", "hornet_like", "csr_baseline"} <= set(suites.backend_names((), CPU))
    assert suites.backend_names(("csr_baseline",), resolve_device("cpu")) == ("csr_baseline",)


def test_the_demo_has_every_row(temporal_file):
    data = inputs.load(str(temporal_file))
    backends = ("slabhash", "hornet_like", "csr_baseline")
    tasks = suites.demo_tasks(suites.Selection(backends, CPU, batches=(32,)), data)
    rows = {(task.backend, task.workload, task.algorithm) for task in tasks}
    for backend in backends:
        for workload in ("bulk build", "insert", "delete", "query", "stream"):
            assert (backend, workload, None) in rows
        for algorithm in ("bfs", "pagerank"):
            assert (backend, "from scratch", algorithm) in rows
            assert (backend, "stream", algorithm) in rows


# -- vertices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", vertices.VERTEX_TASKS)
def test_vertices_on_every_backend_and_device(data, backend, device, kind):
    for weighted in (False, True):
        task = kind(fixture_of(backend, data, device, weighted=weighted), 8)
        found = measure(task, QUICK)
        assert (found.status, found.reason, task.items) == ("ok", "", 8)


@pytest.mark.parametrize("kind", vertices.VERTEX_TASKS)
def test_more_vertices_than_there_are(data, kind):
    assert measure(kind(fixture_of("slabhash", data), 10_000), QUICK).status == "skip"


def test_a_backend_that_forgets_edges_has_no_row_of_vertices(data, broken_backends):
    assert measure(vertices.DeleteVertices(fixture_of("forgetful", data), 8), QUICK).status == "FAIL"
