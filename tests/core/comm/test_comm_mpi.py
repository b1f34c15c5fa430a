"""How a job of MPI ends that cannot go on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpi_jobs import start

pytestmark = pytest.mark.plain  # its processes compile nothing
SCRIPT = Path(__file__).parent / "mpi_faults.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raises", "KeyError: 'mine'"), ("stalls", "ranks [1] did not come to together at "),
        ("hangs", "ranks [1] did not come to the next collective within 3 s"),
        ("asks", "source is 0 on rank 0 and 1 on rank 1: pass the same on all ranks"),
        pytest.param("exits0", "rank 1 has ended while others are at together at ", marks=pytest.mark.slow),
        pytest.param(
            "elsewhere", "the ranks have gone different ways: rank 0 calls together at", marks=pytest.mark.slow
        ),
        pytest.param("quiet", "rank 1 got nothing from its source within 1.5 s", marks=pytest.mark.slow),
        pytest.param("exits1", "", marks=pytest.mark.slow),
        pytest.param("killed", "signal 9", marks=pytest.mark.slow),
        pytest.param("aborts", "rank 1: no more data", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_job_that_cannot_go_on_ends(fault: str, said: str) -> None:
    done = start(SCRIPT, fault)
    assert done.returncode != 0
    assert "done" not in done.stdout
    assert said in done.stderr, done.stderr
    if fault in ("stalls", "elsewhere"):
        assert "mpi_faults.py:" in done.stderr


def test_many_ranks_send_no_more_bytes_at_a_time_than_mpi_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = pytest.importorskip("suricate.comm.mpi", exc_type=ImportError)
    monkeypatch.setattr(mpi, "MOST", 96)
    comm, at_once = object.__new__(mpi.MPIComm), []
    comm.size, sizes = 16, [*range(0, 24, 2), 30, 0, 1, 6]

    def gather(sent: np.ndarray, into: list[Any]) -> None:
        received, counts = into
        assert len(sent) == counts[12]
        at_once.append(sum(counts))
        received[:] = np.repeat(np.arange(16, dtype=np.uint8), counts)

    comm.world, comm._watch = SimpleNamespace(Iallgatherv=gather), SimpleNamespace(wait=lambda request: None)
    found = comm._exchange(np.zeros(30, np.uint8), sizes)
    assert [part.tolist() for part in found] == [[rank] * size for rank, size in enumerate(sizes)]
    assert max(at_once) <= 96 < sum(at_once) == sum(sizes)


@pytest.mark.slow
@pytest.mark.parametrize("work", ["compiles", "busy"])
def test_a_rank_that_is_busy_is_waited_for(work: str) -> None:
    done = start(SCRIPT, work)
    assert (done.returncode, done.stdout.split()) == (0, ["done"] * 2), done.stderr
