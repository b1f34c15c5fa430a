"""How a job of MPI ends that cannot go on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from mpi_jobs import STARTING, start

pytestmark = pytest.mark.interpreted  # its processes compile nothing
SCRIPT = Path(__file__).parent / "mpi_faults.py"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raises", "KeyError: 'mine'"), ("exits0", "rank 1 has ended while others are at together at "),
        ("stalls", "ranks [1] did not come to together at "),
        ("elsewhere", "the ranks have gone different ways: rank 0 calls together at"),
        pytest.param("exits1", "", marks=pytest.mark.slow),
        pytest.param("killed", "signal 9", marks=pytest.mark.slow),
        pytest.param("aborts", "rank 1: no more data", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_job_that_cannot_go_on_ends(fault: str, said: str) -> None:
    began = time.monotonic()
    done = start(SCRIPT, fault, limit=STARTING)
    assert done.returncode != 0
    assert "done" not in done.stdout
    assert said in done.stderr, done.stderr
    if fault in ("stalls", "elsewhere"):
        assert "mpi_faults.py:" in done.stderr
    assert time.monotonic() - began < STARTING


@pytest.mark.slow
def test_a_rank_that_compiles_is_waited_for() -> None:
    done = start(SCRIPT, "compiles", limit=8)
    assert (done.returncode, done.stdout.split()) == (0, ["done"] * 2), done.stderr
