"""Passes of ``neighbor_reduce`` and ``converge`` over the storage of a backend: the CUDA kernels, run on the CPU."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from emulated import GXX, kernel
from launches import FakeArray, array, fake_cupy
from operator_launches import FakeGraph, call_of

import suricate as su
from suricate.cuda.program import Program
from suricate.operators import binding, schemes
from suricate.operators.call import UNLIMITED, Start, Until
from suricate.operators.cuda import driver, launches
from suricate.operators.cuda.loops import loop_memory
from suricate.operators.cuda.pull import converge
from suricate.state.frontier import Frontier

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GXX is None, reason="g++ is not installed")]


def read(u, v, w, x):
    return x[u] * w


def label(u, v, w, x):
    return x[u]


def by_label(u, v, w, x, y, pace, next_pace, changed, seen):
    return x[u]


def lower(v, value, x):
    if value < x[v]:
        x[v] = value
        return 2
    return 0


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(Program, "kernel", kernel)
    for module in (launches, converge, loop_memory):
        monkeypatch.setattr(module, "multiprocessors", lambda index: 1)
    monkeypatch.setattr("suricate.operators.cuda.pull.pull.full_grid", lambda device: 3)


@pytest.mark.parametrize(
    ("backend", "options", "over"),
    [
        ("slabhash", {}, "out"),
        ("slabhash", {"slab_bytes": 32}, "both"),
        ("slabhash", {"slab_bytes": 16}, "in"),
        ("slabhash", {"slab_bytes": 64}, "out"),
        ("blocked", {"block_edges": 4}, "in"),
        ("gpma", {}, "both"),
    ],
)
def test_scans(backend: str, options: dict[str, Any], over: str) -> None:
    """A heavy vertex, free storage, deleted edges, and loops, which count once over both."""
    rng, n = np.random.default_rng(3), 700
    graph = su.Graph(n, backend=backend, device="cpu", in_edges=True, weight_dtype="float32", **options)
    src, dst = rng.integers(0, n, (2, 4000))
    src[:900], dst[3000:3100] = 5, src[3000:3100]
    graph.insert_edges(src, dst, rng.integers(1, 5, 4000).astype(np.float32))
    graph.delete_edges(src[::3], dst[::3])
    fake, x, out = FakeGraph(graph), rng.integers(0, 9, n).astype(np.float64), array(n, np.float64)
    call = call_of(fake, binding.bind_pull(graph, read, (x,), "sum", None, None, None))
    driver.neighbor_reduce(fake, call, None, out, over, "scan")
    edges = graph.edges()
    u, v, w = (np.asarray(part) for part in edges[:3])
    expected = np.zeros(n)
    if over == "out":
        np.add.at(expected, u, x[u] * w)
    else:
        np.add.at(expected, v, x[u] * w)
    if over == "both":
        np.add.at(expected, u[u != v], (x[v] * w)[u != v])
    assert out.tolist() == expected.tolist()


@pytest.mark.parametrize("directed", [False, True])
def test_rounds(monkeypatch: pytest.MonkeyPatch, directed: bool) -> None:
    """The least label that reaches a vertex: all lower theirs at first, and few at last."""
    monkeypatch.setattr(schemes, "passes_scan", lambda graph, view, rows=None: True)
    rng, n = np.random.default_rng(3), 900
    graph = su.Graph(n, backend="slabhash", device="cpu", directed=directed, in_edges=directed, slab_bytes=32)
    src, dst = rng.integers(0, n, (2, 1000))
    src[:80] = 5
    graph.insert_edges(src, dst)
    graph.delete_edges(src[::4], dst[::4])
    labels = rng.permutation(n)
    fake, x = FakeGraph(graph), labels.copy()
    call = call_of(fake, binding.bind_pull(graph, label, (x,), "min", None, None, lower))
    ids = np.arange(n, dtype=np.uint32).view(FakeArray)
    everybody = Frontier._of(fake.device, ids, None, num_vertices=n, distinct=True)
    driver.converge(fake, call, Start((everybody,)), "in", "out", n, None)
    u, v = (np.asarray(part) for part in graph.edges()[:2])
    if not directed:
        u, v = np.append(u, v), np.append(v, u)
    expected, before = labels.copy(), None
    while before is None or not np.array_equal(expected, before):
        before = expected.copy()
        np.minimum.at(expected, v, before[u])
    assert x.tolist() == expected.tolist()


def least(v, value, x, y, pace, next_pace, changed, seen):
    """Take what the neighbours have; what is read elsewhere comes from the pass before."""
    y[v] = x[v] + value % 7 + pace[0]
    changed.add(value)
    seen.add(seen.value + 1 if v == 0 else 0)
    if v == 0:
        next_pace[v] = pace[v] + 1


@pytest.mark.parametrize(("backend", "scans"), [("slabhash", True), ("slabhash", False), ("csr_baseline", False)])
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_passes(monkeypatch: pytest.MonkeyPatch, backend: str, scans: bool, rounds: int) -> None:
    """Arrays are exchanged between passes over all vertices, a heavy one included; totals are those of a pass."""
    monkeypatch.setattr(schemes, "passes_scan", lambda graph, view, rows=None: scans)
    rng, n = np.random.default_rng(4), 1200
    graph = su.Graph(n, backend=backend, device="cpu", in_edges=True)
    src, dst = rng.integers(0, n, (2, 5000))
    dst[:1400] = 5
    src[:1200] = np.arange(n)
    graph.insert_edges(src, dst)
    fake = FakeGraph(graph)
    x, y, pace = rng.integers(0, 9, n), np.zeros(n, np.int64), np.array([3])
    arrays = [part.view(FakeArray) for part in (x.copy(), y, pace.copy(), np.zeros(1, np.int64))]
    totals = [su.Scalar._of("sum", "int64"), su.Scalar._of("sum", "int64")]
    for total in totals:
        total._slots = total._slots.view(FakeArray)
    values = (*arrays, *totals)
    plain = (*(np.asarray(part) for part in arrays), *totals)
    call = binding.bind_pull(graph, by_label, plain, "sum", None, None, least)._replace(values=values)
    u, v = (np.asarray(part) for part in graph.edges()[:2])
    sums = []
    for _ in range(rounds):
        value = np.zeros(n, np.int64)
        np.add.at(value, v, x[u])
        x, pace = x + value % 7 + pace, pace + 1
        sums.append(value.sum())
    until = Until(totals[0], -1.0)
    everybody = Start((Frontier._of_all(fake.device, n),))
    done = driver.converge(fake, call, everybody, "in", None, rounds, until, UNLIMITED, ((0, 1), (2, 3)))
    assert (done.steps, done.touched, done.converged) == (rounds, rounds * n, False)
    assert arrays[0].tolist() == x.tolist()
    assert arrays[2].tolist() == pace.tolist()
    assert [total.total.tolist() for total in totals] == [[sums[-1]], [rounds]]
    assert totals[0]._slots[(totals[0].turn + 1) % 3] == 0
