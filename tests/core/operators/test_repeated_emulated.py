"""Operators that are called again with the same arrays: prepared launches on CUDA, the kernels run on the CPU."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from emulated import GXX, kernel
from launches import FakeArray, FakePrepared, fake_cupy
from operator_launches import FakeCuda, FakeGraph

import suricate as su
from suricate.cuda.program import Program
from suricate.operators import checks, schemes
from suricate.operators.cuda import launches
from suricate.operators.cuda import prepared as prepared_calls
from suricate.operators.cuda.loops import loop_memory
from suricate.operators.cuda.pull import converge
from suricate.operators.repeated import Repeated

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GXX is None, reason="g++ is not installed")]
N = 900


def count(v, graph, x, total):
    """Begin with the degree; what is returned is passed over."""
    x[v] = graph.degree(v)
    total.add(x[v])
    return True


def read(u, v, w, x, y, changed):
    return x[u]


def store(v, value, x, y, changed):
    y[v] = (x[v] + value) % 1000
    changed.add(1)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[FakePrepared]:
    """Return the kernels that are prepared."""
    made: list[FakePrepared] = []

    def prepare(*args: Any) -> FakePrepared:
        made.append(FakePrepared(*args))
        return made[-1]

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(Program, "kernel", kernel)
    monkeypatch.setattr(prepared_calls, "PreparedKernel", prepare)
    monkeypatch.setattr(checks, "lies_on", lambda device, array: True)
    monkeypatch.setattr(checks, "Device", FakeCuda)
    for module in (launches, converge, loop_memory):
        monkeypatch.setattr(module, "multiprocessors", lambda index: 1)
    return made


class Case:
    """A graph that changes, and arrays that take each other's place."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(4)
        self.graph = su.Graph(N, backend="slabhash", device="cpu", in_edges=True)
        src, dst = self.rng.integers(0, N, (2, 4000))
        dst[:700] = 5
        self.graph.insert_edges(src, dst)
        self.fake = FakeGraph(self.graph)
        self.fake.exclusive = nullcontext  # type: ignore[attr-defined]
        self.x, self.y = (np.zeros(N, np.int64).view(FakeArray) for _ in range(2))
        self.total, self.changed = su.Scalar._of("sum", "int64"), su.Scalar._of("sum", "int64")
        for scalar in (self.total, self.changed):
            scalar._slots, scalar.device = scalar._slots.view(FakeArray), self.fake.device  # type: ignore[assignment]
        self.again = Repeated(self.fake)  # type: ignore[arg-type]

    def check(self, rounds: int) -> None:
        """Change the graph, call both operators, and compare."""
        self.graph.insert_edges(*self.rng.integers(0, N, (2, 500)))
        self.fake._views.clear()
        self.again.vertex_map(count, args=(self.fake, self.x, self.total))
        args, swap = (self.x, self.y, self.changed), ((self.x, self.y),)
        stop = su.Stop(until=(self.changed, -1.0))
        done = self.again.passes(read, args=args, then=store, dtype=np.int64, max_steps=rounds, stop=stop, swap=swap)
        u, v = (np.asarray(part) for part in self.graph.edges()[:2])
        expected = np.bincount(u, minlength=N)
        assert self.total.total.tolist() == [expected.sum()]
        for _ in range(rounds):
            expected = (expected + np.bincount(v, expected[u], N).astype(int)) % 1000
        assert (done.steps, self.changed.total.tolist()) == (rounds, [N])
        assert self.x.tolist() == expected.tolist()


@pytest.mark.parametrize("scans", [True, False])
def test_launches_are_prepared_when_they_come_again(
    monkeypatch: pytest.MonkeyPatch, prepared: list[FakePrepared], scans: bool
) -> None:
    monkeypatch.setattr(schemes, "passes_scan", lambda graph, view: scans)
    case = Case()
    made = []
    for rounds in (2, 1, 3, 2, 1, 4, 2, 3):
        case.check(rounds)
        made.append(len(prepared))
    assert made == [0, 2, 2, 2, 2, 2, 2, 2]


def test_launches_are_prepared_anew_where_the_way_changes(
    monkeypatch: pytest.MonkeyPatch, prepared: list[FakePrepared]
) -> None:
    """Another way to pass, and other objects; a few arrays are held at a time."""
    case = Case()
    for scans, count_made in ((True, 2), (False, 3)):
        monkeypatch.setattr(schemes, "passes_scan", lambda graph, view, scans=scans: scans)
        for _ in range(4):
            case.check(2)
        assert len(prepared) == count_made
    for _ in range(20):
        case.x, case.y = case.x.copy(), case.y.copy()
        case.check(1)
    assert len(prepared) == 3
    assert len(case.again._made) <= 16
