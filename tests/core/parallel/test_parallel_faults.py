"""Ranks that are killed at random collectives of builds, updates, searches and snapshots; others go on."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from fault_job import Mortal, follow
from mpi_jobs import start

from suricate.parallel import Comm, run

pytestmark = pytest.mark.plain


class Killed(BaseException):
    """What a rank that is killed raises where ranks are threads."""


def die() -> None:
    raise Killed


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return follow(tmp_path_factory.mktemp("single") / "graph.npz")


def collectives(path: Path, ranks: int) -> tuple[int, list[int]]:
    """Return how many there are, and the numbers of those within snapshots."""

    def job(comm: Comm) -> tuple[int, list[int]]:
        mortal = Mortal(comm)
        follow(path, comm, mortal)
        return mortal.count, mortal.within

    return run(job, ranks)[0]  # type: ignore[no-any-return]


def places(folder: Path, ranks: int, number: int, seed: int) -> list[tuple[int, int]]:
    """Return ranks that die, and the collectives at which they do, a third of them within snapshots."""
    count, within = collectives(folder / f"whole-{ranks}.npz", ranks)
    draw = random.Random(seed)
    chosen = [draw.choice(within) for _ in range(number // 3)]
    chosen += [draw.randint(1, count) for _ in range(number - len(chosen))]
    return [(draw.randrange(ranks), at) for at in chosen]


@pytest.mark.parametrize(("ranks", "others"), [(2, 3), (3, 1), (3, 2)])
@pytest.mark.parametrize("number", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_threads_that_end(ranks: int, others: int, number: int, expected: Any, tmp_path: Path) -> None:
    for turn, (victim, at) in enumerate(places(tmp_path, ranks, number, seed=ranks + others)):
        path = tmp_path / f"{turn}.npz"

        def job(comm: Comm) -> None:
            follow(path, comm, Mortal(comm, at if comm.rank == victim else 0, die))  # noqa: B023 - called in here

        with pytest.raises(Killed):
            run(job, ranks)
        for found in run(lambda comm: follow(path, comm), others):  # noqa: B023
            assert found == expected, f"rank {victim} of {ranks} died at {at}"


def check_killed(path: Path, ranks: int, victim: int, at: int, expected: Any) -> float:
    """Kill a process; go on with one, and with two threads. Return the seconds until the job had ended."""
    began = time.monotonic()
    done = start(Path(__file__).parent / "fault_job.py", str(path), str(victim), str(at), ranks=ranks, limit=10)
    took = time.monotonic() - began
    assert done.returncode != 0, (victim, at)
    assert run(lambda comm: follow(path, comm), 2) == [expected] * 2, (victim, at)
    assert follow(path) == expected
    return took


@pytest.mark.slow
@pytest.mark.parametrize(("victim", "at"), [(0, 30), (1, -3), (0, -4)])
def test_processes_that_are_killed(victim: int, at: int, expected: Any, tmp_path: Path) -> None:
    """At a collective, in the middle of a part, in the middle of the file that names the parts."""
    check_killed(tmp_path / "graph.npz", 2, victim, at, expected)


@pytest.mark.soak
def test_fifty_processes_that_are_killed(expected: Any, tmp_path: Path) -> None:
    jobs = [(2, *place) for place in places(tmp_path, 2, 24, seed=7)] + [(2, 1, -write) for write in (1, 2, 3)]
    jobs += [(3, *place) for place in places(tmp_path, 3, 20, seed=8)] + [(3, 2, -write) for write in (1, 2, 3)]
    took = [check_killed(tmp_path / f"{turn}.npz", *job, expected) for turn, job in enumerate(jobs)]
    print(f"{len(took)} jobs ended {max(took):.1f} s after their start or sooner")
