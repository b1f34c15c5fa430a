"""Ranks that are threads: what they exchange, and that ranks which go different ways are an error, not a wait."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import suricate as su
from suricate.errors import CommunicationError, ParameterError
from suricate.parallel import Comm, SelfComm, connect, run


def test_values_and_arrays_come_back_in_rank_order() -> None:
    def job(comm: Comm) -> None:
        assert comm.allgather(comm.rank) == [0, 1, 2]
        parts = comm.allgatherv(np.arange(comm.rank))
        assert [part.tolist() for part in parts] == [[], [0], [0, 1]]
        parts[2][0] = 7  # a copy
        assert comm.allgatherv(parts[2])[comm.rank].tolist() == [7, 1]
        assert comm.agree(comm.rank + 5) == 5
        comm.barrier()

    run(job, 3)


def test_results_are_in_rank_order() -> None:
    assert run(lambda comm: comm.rank * 10, 4) == [0, 10, 20, 30]


def test_an_array_may_change_once_it_was_sent() -> None:
    def job(comm: Comm) -> int:
        total = 0
        for number in range(200):
            sent = np.full(3, number)
            got = comm.allgatherv(sent)
            sent[:] = -1
            total += sum(int(part.sum()) for part in got)
        return total

    assert run(job, 3) == [9 * 199 * 100] * 3


def test_ranks_that_call_different_things_are_told_both_lines() -> None:
    def job(comm: Comm) -> None:
        if comm.rank == 1:
            comm.barrier()
        else:
            comm.allgather(1)

    with pytest.raises(
        CommunicationError, match=r"rank 0 calls allgather at .*test_parallel_comm.*rank 1 calls barrier"
    ):
        run(job, 3)


def test_a_rank_that_ends_while_others_wait() -> None:
    with pytest.raises(CommunicationError, match="rank 1 has ended while others are at barrier"):
        run(lambda comm: None if comm.rank == 1 else comm.barrier(), 3)


def test_what_a_rank_raised_is_raised() -> None:
    def job(comm: Comm) -> None:
        if comm.rank == 2:
            raise KeyError("mine")
        comm.barrier()

    with pytest.raises(KeyError, match="mine"):
        run(job, 3)


def test_a_rank_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURICATE_TIMEOUT", "0.2")
    released = threading.Event()

    def job(comm: Comm) -> None:
        try:
            if comm.rank == 0:
                released.wait(5)
            comm.barrier()
        finally:
            released.set()

    with pytest.raises(CommunicationError, match=r"ranks \[0\] did not come to barrier at .* within 0.2 s"):
        run(job, 2)


def test_abort_ends_those_that_wait() -> None:
    def job(comm: Comm) -> None:
        if comm.rank == 0:
            comm.abort("no more data")
        comm.barrier()

    with pytest.raises(CommunicationError, match="no more data"):
        run(job, 2)


@pytest.mark.parametrize("ranks", [0, 65, "2"])
def test_wrong_numbers_of_ranks(ranks: object) -> None:
    with pytest.raises(ParameterError, match="ranks"):
        run(lambda comm: None, ranks)  # type: ignore[arg-type]


def test_alone_a_graph_is_an_ordinary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)
    assert su.Graph(3, device="cpu", comm=SelfComm()).partition is None
    assert SelfComm().allgather("x") == ["x"]


def test_the_number_of_processes_that_a_launcher_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_NTASKS", "2")
    with pytest.raises((CommunicationError, ImportError), match="2 processes"):
        connect()


JOB = Path(__file__).with_name("mpi_job.py")


@pytest.mark.slow
def test_processes_of_mpi() -> None:
    pytest.importorskip("mpi4py")
    launcher = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("no mpiexec")
    command = [launcher, "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "-m", "mpi4py", str(JOB)]
    plain = dict(os.environ, NUMBA_DISABLE_JIT="1")
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False, env=plain)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("all as one process") == 2
