"""The workloads as a pytest-benchmark suite.

    pytest tests/bench/test_benchmarks.py --benchmark-only [--benchmark-json FILE]

measures on ``SURICATE_BENCH_GRAPH`` (``rmat:16``), on a machine with a GPU on both devices (``-m gpu``: CUDA only).
Without ``--benchmark-only`` every workload runs once, on a tiny graph. Each is verified first.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from suricate.bench import constants, inputs
from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Task, timed
from suricate.bench.workloads import algorithms, builds, operations, operators

WORKLOADS: dict[str, Callable[[Fixture, int], Task]] = {
    "build": lambda fixture, batch: builds.Build(fixture),
    "insert": operations.Insert,
    "delete": operations.Delete,
    "query": operations.Query,
    "bfs": lambda fixture, batch: algorithms.FromScratch(fixture, "bfs"),
    "pagerank": lambda fixture, batch: algorithms.FromScratch(fixture, "pagerank"),
    "bfs-current": lambda fixture, batch: algorithms.KeptCurrent(fixture, "bfs", batch),
    "pagerank-current": lambda fixture, batch: algorithms.KeptCurrent(fixture, "pagerank", batch),
    "sum": lambda fixture, batch: operators.Reduce(fixture, "sum", "float32"),
    "product": lambda fixture, batch: operators.Reduce(fixture, "product", "float32"),
    "propagate": lambda fixture, batch: operators.Propagate(fixture),
}


@pytest.fixture(scope="module")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether this is a measurement and no smoke test."""
    return bool(request.config.getoption("benchmark_only"))


@pytest.fixture(scope="module")
def graph(full: bool) -> inputs.Input:
    return inputs.load(os.environ.get("SURICATE_BENCH_GRAPH", "rmat:16") if full else "rmat:6:4")


@pytest.mark.slow
@pytest.mark.parametrize("workload", WORKLOADS)
def test_workload(benchmark, workload, backend, device, graph, full):
    task = WORKLOADS[workload](Fixture(backend, graph, device, seed=constants.SEED), 2**14 if full else 2**5)
    task.setup()
    for _ in range(1 + constants.WARMUPS * full):
        prepared = task.prepare()
        _, result = timed(task, prepared)
        task.check(prepared, result)
        task.restore(prepared, result)
    last = []

    def setup():
        if last:
            task.restore(*last.pop())
        prepared = task.prepare()
        device.synchronize()
        return (prepared,), {}

    def action(prepared):
        last.append((prepared, task.action(prepared)))
        device.synchronize()

    benchmark.group = workload
    benchmark.disabled |= not full
    benchmark.pedantic(action, setup=setup, rounds=constants.MIN_REPEATS)
    task.restore(*last.pop())
    task.finish()
