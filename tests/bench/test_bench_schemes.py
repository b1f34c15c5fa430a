"""The schemes of the operators, from every start, on right backends and with wrong results."""

import numpy as np
import pytest
from bench_cases import fixture_of

from suricate.base.types import edge_keys
from suricate.bench.runner import Limits, measure
from suricate.bench.workloads import schemes
from suricate.bench.workloads.schemes import Pull, Push, Start, scheme_tasks
from suricate.errors import RequirementError

QUICK = Limits(min_repeats=2, max_repeats=2, time_limit=1.0, warmups=1)
STARTS = [Start("whole"), Start("random", 16), Start("hubs", 4), Start("marked", 32)]


@pytest.mark.parametrize("kind", [Pull, Push])
def test_every_scheme_from_every_start(data, backend, device, kind):
    fixture, host = fixture_of(backend, data, device), device.to_numpy
    for start in STARTS:
        for scheme in schemes.SCHEMES.get(start.kind, schemes.FEW_SCHEMES):
            task = kind(fixture, scheme, start)
            found = measure(task, QUICK)
            name = f"{task.workload} {task.detail}"
            assert (name, found.reason) == (name, "") or found.status == "skip"
    edges = fixture.graph(weighted=False).edges()
    assert np.array_equal(np.sort(edge_keys(host(edges.src), host(edges.dst))), data.model.keys)


@pytest.mark.parametrize("start", STARTS)
def test_what_is_walked_is_what_is_counted(data, broken_backends, start):
    task = Pull(fixture_of("tutorial", data), "updated" if start.kind == "marked" else "auto", start)
    task.setup()
    drawn = task.prepare()
    src, _ = task.edges_of(drawn)
    assert task.items == len(src) > 0
    if start.kind == "whole":
        assert len(src) == 300
        assert task.traffic() > 300 * 4
    if start.kind == "hubs":
        assert data.out_degrees[drawn.vertices].min() >= np.sort(data.out_degrees)[-4]
    if start.kind == "random":
        assert len(np.unique(drawn.vertices)) == 16
        assert not np.array_equal(drawn.vertices, task.prepare().vertices)  # fresh
    if start.kind == "marked":
        assert task.graph.num_edges == 300 + len(drawn.new)
        assert not data.model.contains(drawn.new).any()


@pytest.mark.parametrize("kind", [Pull, Push])
@pytest.mark.parametrize("start", STARTS)
def test_a_wrong_result_is_noticed(data, broken_backends, kind, start):
    class Wrong(kind):
        def call(self, frontier, scheme, *, discarded=False):
            result = super().call(frontier, scheme, discarded=discarded)
            self.out[self.device.to_numpy(self.out).argmax() if kind is Pull else self.out.argmin()] -= 1
            return result

    task = Wrong(fixture_of("tutorial", data), "auto", start)
    assert measure(task, QUICK).status == "FAIL"


def test_a_frontier_that_lacks_a_vertex_is_noticed(data, broken_backends):
    class Short(Push):
        def call(self, frontier, scheme, *, discarded=False):
            changed = super().call(frontier, scheme, discarded=discarded)
            return type("Frontier", (), {"vertices": changed.vertices[1:]})()

    assert "other vertices" in measure(Short(fixture_of("tutorial", data), "auto", Start("whole")), QUICK).reason


def test_a_scheme_that_an_backend_cannot_do_is_left_out(data, broken_backends):
    class Refused(Pull):
        def call(self, frontier, scheme, *, discarded=False):
            raise RequirementError("this backend cannot scan")

    found = measure(Refused(fixture_of("tutorial", data), "scan", Start("whole")), QUICK)
    assert (found.status, found.reason) == ("skip", "this backend cannot scan")


def test_more_vertices_than_there_are(data, broken_backends):
    assert measure(Pull(fixture_of("tutorial", data), "auto", Start("random", 41)), QUICK).status == "skip"


def test_a_suite_has_all_rows(data):
    tasks = scheme_tasks(fixture_of("csr_baseline", data), fixture_of("csr_baseline", data))
    assert len(tasks) == len({(task.workload, task.detail) for task in tasks}) == 2 * (4 + 4 * 3 + 2 * 2)
    assert {task.scheme for task in tasks} == {"auto", "vertex", "bucket", "scan", "updated"}
