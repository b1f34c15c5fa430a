"""Graphs of two processes of MPI: the same answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from mpi_jobs import start
from test_parallel_operators import OPERATIONS

pytestmark = pytest.mark.plain  # its processes compile nothing
HERE = Path(__file__).parent
CASES = [*(f"operator {each.__name__}" for each in OPERATIONS), "columns change"]
FEW = "bfs directed", "wcc undirected", "pagerank directed", "triangles undirected", "spmv directed"
OTHERS = (  #: ranks that are threads run them in the quick tier, too
    "kcore undirected", "coloring undirected", "scc directed", "closeness directed", "sssp undirected",
    "directed_triangles directed", "random_walks directed",
)  # fmt: skip


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(
            [f"{case} {kind}" for kind in ("directed", "undirected") for case in CASES]
            + [f"algorithm {case}" for case in FEW]
            + ["reductions of arrays"],
            id="operators",
        ),
        pytest.param([f"algorithm {case}" for case in OTHERS], id="algorithms", marks=pytest.mark.slow),
    ],
)
def test_processes_of_mpi_have_the_answers_of_one(cases: list[str]) -> None:
    done = start(HERE / "mpi_job.py", *cases, limit=60)
    assert done.stdout.splitlines() == [f"{case}: as one process" for case in cases], done.stderr
    assert done.returncode == 0, done.stderr
