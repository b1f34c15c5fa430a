"""Graphs of two processes of MPI: the same answers, and how a job ends that cannot go on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_parallel_operators import OPERATIONS

pytestmark = pytest.mark.interpreted  # its processes compile nothing
HERE = Path(__file__).parent
STARTING = 120  #: seconds that a job may take to start and to end, on a busy machine; a rank that stalls takes 600
ALGORITHMS = (
    "bfs directed", "wcc undirected", "pagerank directed", "kcore undirected", "triangles undirected",
    "coloring undirected", "spmv directed", "scc directed", "closeness directed", "sssp undirected",
    "directed_triangles directed", "random_walks directed",
)  # fmt: skip


def start(script: str, *args: str, ranks: int = 2, limit: float = 600) -> subprocess.CompletedProcess[str]:
    """Run a script in processes of MPI."""
    pytest.importorskip("mpi4py", exc_type=ImportError)
    launcher = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("no mpiexec")
    command = [launcher, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    command += [sys.executable, "-m", "mpi4py", str(HERE / script), *args]
    plain = dict(os.environ, NUMBA_DISABLE_JIT="1", SURICATE_TIMEOUT=str(limit))
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=300, check=False, env=plain
    )


def test_processes_of_mpi_have_the_answers_of_one() -> None:
    done = start("mpi_job.py", limit=60)
    names = [f"operator {each.__name__} {kind}" for kind in ("directed", "undirected") for each in OPERATIONS]
    wanted = [f"{name}: as one process" for name in [*names, *(f"algorithm {case}" for case in ALGORITHMS)]]
    assert done.stdout.splitlines() == wanted, done.stderr
    assert done.returncode == 0, done.stderr


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
    done = start("mpi_faults.py", fault, limit=STARTING)
    assert done.returncode != 0
    assert "done" not in done.stdout
    assert said in done.stderr, done.stderr
    if fault in ("stalls", "elsewhere"):
        assert "mpi_faults.py:" in done.stderr
    assert time.monotonic() - began < STARTING


@pytest.mark.slow
def test_a_rank_that_compiles_is_waited_for() -> None:
    done = start("mpi_faults.py", "compiles", limit=8)
    assert (done.returncode, done.stdout.split()) == (0, ["done"] * 2), done.stderr
