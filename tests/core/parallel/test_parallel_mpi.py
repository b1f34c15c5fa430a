"""Graphs of two processes of MPI: the same answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from mpi_jobs import start
from test_parallel_operators import OPERATIONS

pytestmark = pytest.mark.interpreted  # its processes compile nothing
HERE = Path(__file__).parent
ALGORITHMS = (
    "bfs directed", "wcc undirected", "pagerank directed", "kcore undirected", "triangles undirected",
    "coloring undirected", "spmv directed", "scc directed", "closeness directed", "sssp undirected",
    "directed_triangles directed", "random_walks directed",
)  # fmt: skip


def test_processes_of_mpi_have_the_answers_of_one() -> None:
    done = start(HERE / "mpi_job.py", limit=60)
    cases = [*(f"operator {each.__name__}" for each in OPERATIONS), "columns change"]
    names = [f"{case} {kind}" for kind in ("directed", "undirected") for case in cases]
    wanted = [f"{name}: as one process" for name in [*names, *(f"algorithm {case}" for case in ALGORITHMS)]]
    assert done.stdout.splitlines() == wanted, done.stderr
    assert done.returncode == 0, done.stderr
