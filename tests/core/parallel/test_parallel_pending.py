"""The number that ends rounds is read behind the launch of the next one: the same answers, and no wait in between."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.parallel import Comm, pending, run
from suricate.parallel.pulls import Rounds

pytestmark = pytest.mark.gpu
N = 12


def before_it(u, v, w, x, y, s, factor, pace, next_pace):
    return x[u]


def moved(v, value, x, y, s, factor, pace, next_pace):
    z = factor * value + (1 - factor) * y[v] / 8  # also of what the round before the last has left
    s.add(abs(z - x[v]))
    y[v] = z
    if v == 0:
        next_pace[v] = pace[v] + 1


def rounds(comm: Comm | None, factor: float, device: str = "cuda", **options: Any) -> list[Any]:
    """On a path. With factor 1 every round changes one vertex by 1, until suddenly none is left; else changes fall."""
    graph = su.Graph(N, device=device, in_edges=True, comm=comm)
    graph.insert_edges(*((np.arange(N - 1), np.arange(1, N)) if comm is None or comm.rank == 0 else (None, None)))
    xp, s = graph.device.xp, graph.scalar("sum", "float64")
    x, y, pace, next_pace = xp.ones(N), xp.zeros(N), xp.zeros(1), xp.zeros(1)
    done = su.converge(
        graph, None, before_it, args=(x, y, s, factor, pace, next_pace), reduce="sum", over="in", then=moved, wake=None,
        swap=[(x, y), (pace, next_pace)], stop=su.Stop(until=(s, 0.01)), **options,
    )  # fmt: skip
    return [done.steps, *(graph.device.to_numpy(one).tolist() for one in (x, y, pace, next_pace)), s.read()]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What rank 0 does: rounds, reads, and rounds that are undone."""
    seen: list[str] = []

    def noting(kind: type, method: str, word: str) -> None:
        done = getattr(kind, method)

        def call(self: Any, *args: Any) -> Any:
            if threading.current_thread().name == "rank 0":
                seen.append(word)
            return done(self, *args)

        monkeypatch.setattr(kind, method, call)

    noting(Rounds, "_pull", "round")
    noting(Rounds, "_undo", "undone")
    noting(pending.PendingNumber, "ends_loop", "read")
    return seen


@pytest.mark.parametrize(("factor", "max_steps"), [(1.0, 30), (0.5, 30), (1.0, 7), (1.0, N), (1.0, 1)])
def test_answers_are_those_of_one_process(factor: float, max_steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(lambda comm: rounds(comm, factor, max_steps=max_steps), 3)
    assert found == [rounds(None, factor, "cpu", max_steps=max_steps)] * 3
    monkeypatch.setattr(pending, "SAFE", math.inf)
    assert found == run(lambda comm: rounds(comm, factor, max_steps=max_steps), 3)


def test_a_round_is_launched_before_the_number_of_the_last_is_read(log: list[str]) -> None:
    """But for the first two, from which more are expected; after the last one a round is undone."""
    steps = run(lambda comm: rounds(comm, 1.0), 2)[0][0]
    assert steps == N + 1
    assert log == ["round", "read"] * 2 + ["round"] + ["round", "read"] * (N - 1) + ["undone"]


def test_where_numbers_fall_evenly_no_round_is_made_in_vain(log: list[str]) -> None:
    steps = run(lambda comm: rounds(comm, 0.5), 2)[0][0]
    assert log.count("round") == steps
    assert "undone" not in log


def test_pagerank_waits_once_in_a_pass_and_mostly_for_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    from nccl_ranks import by_nccl, cupy, gpus_of_threads

    gpus_of_threads(monkeypatch)
    seen: list[tuple[bool, int]] = []
    number = pending.PendingNumber
    ends_loop = number.ends_loop

    def noting(self: Any) -> bool:
        if threading.current_thread().name == "rank 0":
            seen.append((self.unread, cupy.memory.COUNTS["waits"]))
        return ends_loop(self)

    def job(host: Comm) -> None:
        graph = su.Graph(300, device="cuda", in_edges=True, comm=by_nccl(host))
        graph.insert_edges(*(np.random.default_rng(1).integers(0, 300, (2, 2000)) if host.rank == 0 else (None, None)))
        graph.compute("pagerank", tol=1e-9)

    monkeypatch.setattr(number, "ends_loop", noting)
    run(job, 2)
    unread, waits = zip(*seen, strict=True)
    assert sum(unread) > 3 * len(seen) / 4
    assert waits[-1] - waits[0] <= 2 * len(seen)  # of both ranks
