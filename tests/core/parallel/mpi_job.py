"""What processes of MPI do in the tests, beside a graph of one process: the cases that the arguments name."""

from __future__ import annotations

import sys
import traceback

from test_parallel_algorithms import N, follow
from test_parallel_columns import follow_changes
from test_parallel_operators import OPERATIONS, made, plain

import suricate as su
from suricate.algorithms.bfs import BFS
from suricate.algorithms.sssp import SSSP
from suricate.parallel import connect

for search in (BFS, SSSP):
    search.recompute_share = 1e9  # so that small graphs are repaired, too
comm = connect()
assert comm.size > 1


def operate(number: int, *, directed: bool) -> None:
    expected, found = (
        [plain(value) for value in OPERATIONS[number](made(given, directed=directed))] for given in (None, comm)
    )
    assert found == expected, f"{found} is not {expected}"


def run(name: str) -> None:
    """Run one case, on every rank; report it on the first."""
    what, which, kind = name.split()
    try:
        if what == "columns":
            follow_changes(comm, batches=2, directed=kind == "directed", in_edges=kind == "directed")
        elif what == "operator":
            operate([each.__name__ for each in OPERATIONS].index(which), directed=kind == "directed")
        else:
            algorithm = su.plugins.algorithm(which)
            params = algorithm.sample_params(N, 0) | ({"p": 0.5, "q": 2.0} if which == "random_walks" else {})
            follow(comm, algorithm, params, directed=kind == "directed")
        problem = ""
    except AssertionError:
        problem = traceback.format_exc()
    problems = comm.allgather(problem)
    if comm.rank == 0:
        print(f"{name}: {'as one process' if not any(problems) else problems}", flush=True)


for case in sys.argv[1:]:
    run(case)
