"""The workloads as a pytest-benchmark suite.

    pytest tests/bench/test_benchmarks.py --benchmark-only [--benchmark-json FILE]

measures on ``SURICATE_BENCH_GRAPH`` (``rmat:16``), on a machine with a GPU on both devices (``-m gpu``: CUDA only).
Without ``--benchmark-only`` every workload runs once, on a tiny graph. Each is verified first.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from suricate.bench import builds, constants, inputs, operations, traversals
from suricate.bench.beds import Bed
from suricate.bench.runner import Task, timed

WORKLOADS: dict[str, Callable[[Bed, int], Task]] = {
    "build": lambda bed, batch: builds.Build(bed),
    "insert": operations.Insert,
    "delete": operations.Delete,
    "query": operations.Query,
    "bfs": lambda bed, batch: traversals.Scratch(bed, "bfs"),
    "pagerank": lambda bed, batch: traversals.Scratch(bed, "pagerank"),
    "bfs-current": lambda bed, batch: traversals.Current(bed, "bfs", batch),
    "pagerank-current": lambda bed, batch: traversals.Current(bed, "pagerank", batch),
    "sum": lambda bed, batch: traversals.Reduce(bed, "sum", "float32"),
    "product": lambda bed, batch: traversals.Reduce(bed, "product", "float32"),
    "propagate": lambda bed, batch: traversals.Propagate(bed),
}


@pytest.fixture(scope="module")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether this is a measurement and no smoke test."""
    return bool(request.config.getoption("benchmark_only"))


@pytest.fixture(scope="module")
def graph(full: bool) -> inputs.Input:
    return inputs.load(os.environ.get("SURICATE_BENCH_GRAPH", "rmat:16") if full else "rmat:6:4")


@pytest.mark.parametrize("workload", WORKLOADS)
def test_workload(benchmark, workload, backend, device, graph, full):
    task = WORKLOADS[workload](Bed(backend, graph, device, seed=constants.SEED), 2**14 if full else 2**5)
    task.setup()
    for _ in range(1 + constants.WARMUPS * full):
        state = task.prepare()
        _, result = timed(task, state)
        task.check(state, result)
        task.restore(state, result)
    last = []

    def setup():
        if last:
            task.restore(*last.pop())
        state = task.prepare()
        device.synchronize()
        return (state,), {}

    def action(state):
        last.append((state, task.action(state)))
        device.synchronize()

    benchmark.group = workload
    benchmark.disabled |= not full
    benchmark.pedantic(action, setup=setup, rounds=constants.MIN_REPEATS)
    task.restore(*last.pop())
    task.finish()
