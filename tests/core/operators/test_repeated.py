"""Operators over all vertices that are called again with the same arrays: on the CPU, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.bench.workloads.short import files_of_calls
from suricate.cpu import threads

N = 60


def degree_of(v, graph, x, total):
    x[v] = graph.degree(v)
    total.add(x[v])


def of_source(u, v, w, x, y, changed, before):
    return x[u]


def add_up(v, value, x, y, changed, before):
    """Store the sum; ``before`` gets the total of the last round, which is read at one vertex."""
    y[v] = (x[v] + value) % 1000
    if v == 0:
        before[v] = changed.value
    changed.add(y[v])


class Case:
    """A graph that changes, and arrays that take each other's place."""

    def __init__(self, backend_class, over_threads: int | None = None) -> None:
        self.rng = np.random.default_rng(4)
        self.graph = su.Graph(N, backend=backend_class, device="cpu", in_edges=True, threads=over_threads)
        self.again = su.Repeated(self.graph)
        self.x, self.y, self.before = (np.zeros(N, np.int64) for _ in range(3))
        self.total, self.changed = self.graph.scalar("sum", "int64"), self.graph.scalar("sum", "int64")

    def passes(self, rounds: int, bound: float = -1.0) -> su.Propagated:
        return self.again.passes(
            of_source, args=(self.x, self.y, self.changed, self.before), then=add_up, dtype=np.int64,
            max_steps=rounds, stop=su.Stop(until=(self.changed, bound)), swap=((self.x, self.y),),
        )  # fmt: skip

    def check(self, rounds: int, bound: float = -1.0) -> None:
        """Change the graph, call both operators, and compare."""
        self.graph.insert_edges(*self.rng.integers(0, N, (2, 40)))
        self.again.vertex_map(degree_of, args=(self.graph, self.x, self.total))
        last = self.changed.read()
        done = self.passes(rounds, bound)
        u, v = (np.asarray(part) for part in self.graph.edges()[:2])
        values, totals = [np.bincount(u, minlength=N)], [last]
        assert self.total.read() == values[0].sum()
        while len(totals) <= rounds and not (len(totals) > 1 and totals[-1] <= bound):
            values.append((values[-1] + np.bincount(v, values[-1][u], N).astype(int)) % 1000)
            totals.append(int(values[-1].sum()))
        assert done.steps == len(totals) - 1
        assert self.x.tolist() == values[-1].tolist()
        assert self.changed.read() == (totals[-1] if rounds else 0)
        if rounds:
            assert self.before[0] == totals[-2]
            assert self.y.tolist() == values[-2].tolist()


def test_calls_that_come_again_do_the_same(backend_class) -> None:
    case = Case(backend_class)
    for rounds in (2, 1, 3, 0, 2):
        case.check(rounds)
    case.check(9, 2e4)
    case.graph.delete_edges(*case.graph.edges()[:2])
    case.check(4)


def test_more_vertices_and_other_arrays_are_noticed(backend_class) -> None:
    case = Case(backend_class)
    case.check(2)
    case.x, case.y = case.x.copy(), case.y.copy()
    case.check(3)
    case.graph.insert_vertices(5)
    case.x, case.y = np.zeros(N + 5, np.int64), np.zeros(N + 5, np.int64)
    case.again.vertex_map(degree_of, args=(case.graph, case.x, case.total))
    assert case.passes(1).steps == 1
    assert case.x[N:].tolist() == [0] * 5


def test_a_bound_may_be_a_whole_number_at_first_and_then_none(backend_class) -> None:
    case = Case(backend_class)
    case.graph.insert_edges([0], [1])
    assert case.passes(2, 0).steps == 1
    assert case.passes(3, float("inf")).steps == 1


def test_long_calls_are_shared_by_threads(backend_class, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "GRAIN", 16)
    case = Case(backend_class, over_threads=2)
    for rounds in (2, 3):
        case.check(rounds)


@pytest.mark.compiled
def test_a_call_that_comes_again_makes_few_calls_of_python() -> None:
    case = Case("slabhash")
    case.check(2)
    case.passes(2)
    assert len(files_of_calls(lambda: case.passes(7))) <= 27
    args = case.graph, case.x, case.total
    assert len(files_of_calls(lambda: case.again.vertex_map(degree_of, args=args))) <= 20
