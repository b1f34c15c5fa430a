"""Bulk builds and growth: what order the edges come in, and what hints the backend gets."""

import numpy as np
import pytest
from bench_cases import fixture_of

from suricate.base.devices import CPU
from suricate.base.types import edge_keys
from suricate.bench import constants, inputs, suites
from suricate.bench.runner import Limits, measure
from suricate.bench.workloads import builds

QUICK = Limits(min_repeats=2, max_repeats=2, time_limit=1.0, warmups=0)


def test_orders(data):
    fixture = fixture_of("any", data, weighted=True)
    given, ordered, shuffled = (builds.ordered(fixture, order) for order in builds.ORDERS)
    assert given[0] is data.src
    keys = [edge_keys(*edges[:2]) for edges in (given, ordered, shuffled)]
    assert np.array_equal(np.sort(keys[0]), keys[1])
    assert np.array_equal(np.sort(keys[2]), keys[1])
    assert not np.array_equal(keys[2], keys[0])
    at = np.argsort(keys[2])
    assert np.array_equal(shuffled[2][at], ordered[2])  # weights go with their edges
    assert builds.ordered(fixture_of("any", data), "sorted")[2] is None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", builds.ORDERS)
def test_builds_of_repeated_edges_are_verified_in_every_order(broken_backends, order, weighted):
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 9, (2, 200), np.uint32)
    repeated = inputs.Input("repeated", 9, src, dst, rng.random(200).astype(np.float32), False, "")
    task = builds.Build(fixture_of("tutorial", repeated, weighted=weighted), order)
    found = measure(task, QUICK)
    assert (found.status, found.reason) == ("ok", "")
    assert task.items == 200
    assert task.extra()["bytes_per_edge"] == 8 + 4 * weighted


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("backend", ["csr_baseline", "tutorial"])
def test_growth(data, broken_backends, backend, weighted):
    task = builds.Growth(fixture_of(backend, data, weighted=weighted), 64)
    found = measure(task, QUICK)
    assert (found.status, found.reason) == ("ok", "")
    extra = task.extra()
    assert extra["batches"] == -(-300 // 64)
    assert 0 < extra["median_batch_s"] <= extra["slowest_batch_s"] <= found.timing.maximum + found.first
    assert task.items == 300


def test_growth_needs_a_batch(data, broken_backends):
    assert measure(builds.Growth(fixture_of("tutorial", data), 301), QUICK).status == "skip"


def test_hints_are_the_exact_degrees(data, broken_backends, monkeypatch):
    from suricate import graph

    given = []
    monkeypatch.setattr(graph, "Graph", lambda *_, **kwargs: given.append(kwargs))
    fixture_of("tutorial", data).empty_graph()
    fixture_of("tutorial", data, hints=True).empty_graph(in_edges=True)
    assert not {"degree_hints", "in_degree_hints"} & set(given[0])
    assert np.array_equal(given[1]["degree_hints"], np.bincount(data.model.src, minlength=40))
    assert np.array_equal(given[1]["in_degree_hints"], np.bincount(data.model.dst, minlength=40))


def test_rows_say_whether_there_were_hints(data):
    selection = suites.Selection(("csr_baseline",), CPU, batches=(32,), hints=True, dummy=False)
    tasks = suites.bench_tasks("operations", selection, data)
    built = [task.detail for task in tasks if task.workload == "bulk build" and task.backend == "csr_baseline"]
    assert built == [
        "", "sorted edges", "shuffled edges", "with hints", "sorted edges, with hints", "shuffled edges, with hints"
    ]  # fmt: skip
    assert all(task.hints == ("with hints" in task.detail) for task in tasks)
    assert not any(task.hints for task in tasks if task.workload == "growth")
    assert all(task.hints for task in tasks if task.workload in ("insert", "delete", "query", "churn", "memory"))


@pytest.mark.parametrize(("edges", "size"), [(2**24, 2**20), (2**20 + 5, 2**17), (100, 8), (3, 1)])
def test_growth_takes_enough_batches(edges, size):
    model = np.zeros(edges, np.uint32)
    sized = inputs.Input("sized", 1, model, model, model.astype(np.float32), False, "")
    assert suites.Selection((), CPU).growth_sizes(sized) == (size,)
    assert suites.Selection((), CPU, updates=(7,)).growth_sizes(sized) == (7,)
    assert constants.GROWTH_BATCH == 2**20
