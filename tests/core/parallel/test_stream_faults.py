"""Streams whose ranks are killed at random collectives: while they read, name, slide, update, or write checkpoints."""

from __future__ import annotations

import random
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dask_clusters import cluster
from mpi_jobs import start
from stream_fault_job import MortalAnywhere, files_of, follow, kill, written

from suricate.engines import dask as engine
from suricate.errors import CommunicationError
from suricate.parallel import Comm, run

pytestmark = pytest.mark.plain


class Killed(BaseException):
    """What a rank that is killed raises where ranks are threads."""


def die() -> None:
    raise Killed


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("events") / "in")


def alone(events: Path, out: Path, *, merged: bool = False) -> Any:
    return follow(events, out, merged=merged), files_of(out)


@pytest.fixture(scope="module")
def expected(events: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one process says that nobody kills, and the files that it writes."""
    return alone(events, tmp_path_factory.mktemp("single") / "groups.csv")


def places(
    events: Path, folder: Path, ranks: int, number: int, seed: int, *, merged: bool = False
) -> list[tuple[int, int, int]]:
    """Return (number of ranks, the one that dies, at which collective), spread over the whole job."""

    def job(comm: Comm) -> int:
        mortal = MortalAnywhere(comm)
        follow(events, folder / f"whole-{ranks}.csv", comm, merged=merged)
        return mortal.count

    count, draw = min(run(job, ranks)), random.Random(seed)
    steps = [round(1 + (at + draw.random()) * (count - 2) / number) for at in range(number)]
    return [(ranks, draw.randrange(ranks), at) for at in steps]


def goes_on(events: Path, out: Path, others: int, expected: Any, told: Any, *, merged: bool = False) -> None:
    """Go on with so many threads, or one process; the answers and files are those of the job that nobody killed."""
    found = run(lambda comm: follow(events, out, comm if others > 1 else None, merged=merged), others)
    for last, *counts in found:
        assert last in ([], expected[0][0]), told  # killed behind the last slide, none comes
        assert counts == expected[0][1:], told
    assert files_of(out) == expected[1], told


@pytest.mark.parametrize(("ranks", "others"), [(3, 2), (2, 1)])
@pytest.mark.parametrize(
    ("number", "merged"),
    [
        (3, False),
        (3, True),
        pytest.param(12, False, marks=pytest.mark.slow),
        pytest.param(12, True, marks=pytest.mark.slow),
    ],
)
def test_threads_that_end(
    ranks: int, others: int, number: int, merged: bool, events: Path, expected: Any, tmp_path: Path
) -> None:
    whole = alone(events, tmp_path / "single.csv", merged=True) if merged else expected
    for turn, (_, victim, at) in enumerate(places(events, tmp_path, ranks, number, seed=ranks, merged=merged)):
        out = tmp_path / f"{turn}.csv"

        def job(comm: Comm) -> None:
            MortalAnywhere(comm, at if comm.rank == victim else 0, die)  # noqa: B023 - called in here
            follow(events, out, comm, merged=merged)  # noqa: B023

        with pytest.raises(Killed):
            run(job, ranks)
        goes_on(events, out, others, whole, (victim, at), merged=merged)


def check_killed(events: Path, out: Path, ranks: int, victim: int, at: int, expected: Any) -> float:
    """Kill a process of MPI; go on with other numbers of ranks. Return the seconds until the job had ended."""
    script, began = Path(__file__).parent / "stream_fault_job.py", time.monotonic()
    done = start(script, str(events), str(out), str(victim), str(at), ranks=ranks, limit=10)
    took = time.monotonic() - began
    assert done.returncode != 0, (victim, at)
    goes_on(events, out, 1 + at % 3, expected, (victim, at))
    return took


@pytest.mark.slow
def test_a_process_that_is_killed(events: Path, expected: Any, tmp_path: Path) -> None:
    check_killed(events, tmp_path / "groups.csv", 2, 1, 150, expected)


@pytest.mark.soak
def test_twenty_processes_that_are_killed(events: Path, expected: Any, tmp_path: Path) -> None:
    jobs = [*places(events, tmp_path, 2, 10, seed=7), *places(events, tmp_path, 3, 10, seed=8)]
    took = [check_killed(events, tmp_path / f"{turn}.csv", *job, expected) for turn, job in enumerate(jobs)]
    print(f"{len(took)} jobs ended {max(took):.1f} s after their start or sooner")


def dies_on_dask(comm: Comm, events: Path, out: Path, victim: int, at: int) -> None:
    MortalAnywhere(comm, at if comm.rank == victim else 0, kill)
    follow(events, out, comm)


@pytest.mark.soak
def test_workers_of_dask_that_are_killed(events: Path, expected: Any, tmp_path: Path) -> None:
    with cluster(2) as client:
        for turn, (ranks, victim, at) in enumerate(places(events, tmp_path, 2, 4, seed=9)):
            out = tmp_path / f"{turn}.csv"
            job = partial(dies_on_dask, events=events, out=out, victim=victim, at=at)
            with pytest.raises(CommunicationError, match=f"rank {victim} on .* is gone"):
                engine.run(client, job, ranks=ranks)
            client.wait_for_workers(2)
            goes_on(events, out, 1 + at % 3, expected, (victim, at))
            print(f"rank {victim} died at {at}, and others went on")
