"""Operators on one thread and on several give the same answers, whatever the backend."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from operator_cases import make_case

import suricate as su
from suricate import threads
from suricate.devices import CPU
from suricate.plugins import backends

COUNTS = (1, 2, 3)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "GRAIN", 64)


@pytest.fixture(params=["slabhash", "hornet_like", "csr_baseline"])
def name(request) -> str:
    assert "cpu" in backends()[request.param].devices
    return request.param


def counted(make) -> Iterator:
    """Yield ``make()`` with each number of threads; with several, they must have been used."""
    for count in COUNTS:
        before = threads.shared
        with threads.Limited(count):
            yield make()
        assert (threads.shared > before) == (count > 1)


def same(make) -> None:
    """Check that ``make()``, which returns a list of arrays, gives the same bits with each number of threads."""
    first, *others = counted(make)
    for other in others:
        for a, b in zip(first, other, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b), strict=True)


def product(u, v, w, x):
    return x[v] * w


def distance(u, v, w, x):
    return x[u] + 1


@pytest.mark.parametrize("over", ["out", "in", "both"])
@pytest.mark.parametrize("reduce", ["sum", "min", "max"])
def test_neighbor_reduce(name, over, reduce):
    graph = make_case(name, CPU, "float32", in_edges=True).graph
    x = np.random.default_rng(0).random(graph.num_vertices)
    ids = np.random.default_rng(1).integers(0, graph.num_vertices, 900)
    same(lambda: [su.neighbor_reduce(graph, product, args=(x,), reduce=reduce, over=over, vertices=chosen)
                  for chosen in (None, ids)])  # fmt: skip


def test_second_phase_of_a_pull(name):
    graph = make_case(name, CPU, "int32").graph
    n = graph.num_vertices

    def run():
        total, y = su.Scalar("sum", "int64"), np.zeros(n, np.int64)

        def then(v, value, x, y, total):
            y[v] = 2 * value
            total.add(value)
            return value % 3 == 0

        def of(u, v, w, x, y, total):
            return x[v] * w

        x = np.arange(n)
        joined = su.neighbor_reduce(graph, of, args=(x, y, total), reduce="sum", then=then)
        return [joined.vertices, y, total.read()]

    same(run)


def test_few_vertices_stay_on_one_thread(monkeypatch):
    monkeypatch.setattr(threads, "GRAIN", 1 << 15)
    graph = make_case("csr_baseline", CPU).graph
    before = threads.shared
    with threads.Limited(3):
        su.neighbor_reduce(graph, product, args=(np.ones(graph.num_vertices),), reduce="sum")
    assert threads.shared == before
