"""Pulls on the CPU that ask for what their edge functions read, some edges ahead."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.base.once import Once
from suricate.operators.cpu import instances

pytestmark = pytest.mark.compiled

N, M = 1 << 17, 1 << 19


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[ModuleType]:
    """Have arrays of any size count as large; return the modules that are made meanwhile."""
    modules: list[ModuleType] = []

    def noted(*args: Any) -> ModuleType:
        modules.append(load(*args))
        return modules[-1]

    load = instances.load_module
    monkeypatch.setattr(instances, "_instances", Once())
    monkeypatch.setattr(instances, "FAR", 0)
    monkeypatch.setattr(instances, "load_module", noted)
    return modules


@pytest.mark.slow
@pytest.mark.parametrize("over", ["out", "in", "both"])
@pytest.mark.parametrize("backend", few(["blocked", "csr_baseline", "gpma", "hornet_like", "slabhash"]))
def test_sums_are_right(made: list[ModuleType], backend: str, over: str) -> None:
    rng = np.random.default_rng(5)
    pairs = np.unique(rng.integers(0, N, M) * N + rng.integers(0, N, M))
    src, dst = pairs // N, pairs % N
    graph = su.Graph(N, backend=backend, device="cpu", in_edges=True, threads=1)
    graph.insert_edges(src, dst)
    x = rng.integers(0, 1000, N)

    def read(u, v, w, x):  # type: ignore[no-untyped-def]
        return x[v]

    def read_source(u, v, w, x):  # type: ignore[no-untyped-def]
        return x[u]

    found = su.neighbor_reduce(graph, None, read if over == "out" else read_source, args=(x,), reduce="sum", over=over)
    expected = np.zeros(N, np.int64)
    if over != "in":
        other = ~(src == dst) if over == "both" else slice(None)  # a self-loop counts once
        np.add.at(expected, src[other], x[dst[other]])
    if over != "out":
        np.add.at(expected, dst, x[src])
    assert np.array_equal(found, expected)
    (module,) = (one for one in made if hasattr(one, "asks_ahead"))
    asks = module.asks_ahead(graph.view("out" if over == "out" else "in").data, N, True, x)
    assert asks == (backend != "slabhash")


def test_a_range_of_vertices_is_asked_for_as_all_are(made: list[ModuleType]) -> None:
    graph = su.Graph(N, backend="csr_baseline", device="cpu")
    graph.insert_edges(np.arange(N), np.random.default_rng(3).permutation(N))
    x = np.random.default_rng(4).integers(0, 1000, N)

    def read(u, v, w, x):  # type: ignore[no-untyped-def]
        return x[v]

    every = su.neighbor_reduce(graph, None, read, args=(x,), reduce="sum")
    are_a_range = made[-1].are_a_range
    for vertices, is_range in (
        (np.arange(N // 4, N // 2), True),
        (np.arange(0, N, 4), False),
        (np.arange(N // 2, N // 4, -1), False),
        (np.arange(10), False),  # too few to look at a sample
    ):
        listed = vertices.astype(np.uint32)
        assert np.array_equal(su.neighbor_reduce(graph, listed, read, args=(x,), reduce="sum"), every[vertices])
        assert are_a_range(listed, False, 0, len(listed), N) == is_range
    assert are_a_range(listed, True, 0, N, N)


def test_near_neighbours_are_not_asked_for(made: list[ModuleType]) -> None:
    graph = su.Graph(N, backend="csr_baseline", device="cpu")
    graph.insert_edges(np.arange(N - 1), np.arange(1, N))
    x = np.ones(N)

    def read(u, v, w, x):  # type: ignore[no-untyped-def]
        return x[v]

    assert su.neighbor_reduce(graph, None, read, args=(x,), reduce="sum").sum() == N - 1
    assert not made[-1].asks_ahead(graph.view().data, N, True, x)


def test_what_is_read_at_the_neighbour_is_known() -> None:
    def read(u, v, w, a, b, c):  # type: ignore[no-untyped-def]
        return a[v] + b[u] + c[a[v]] + c[v]

    arguments = tuple(su.edgefn.argument_of(np.zeros(3, kind)) for kind in (np.int64, np.int64, np.int32))
    typed = su.edgefn.compile_function(read, arguments, weight_dtype=None)
    assert typed.indexed == {"v": (0, 2), "u": (1,)}
