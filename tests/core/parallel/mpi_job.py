"""What processes of MPI do in the tests, beside a graph of one process: the cases that the arguments name."""

from __future__ import annotations

import sys
import traceback
from functools import reduce
from itertools import product

import numpy as np
from test_parallel_algorithms import N, follow
from test_parallel_columns import follow_changes
from test_parallel_operators import OPERATIONS, made, plain

import suricate as su
from suricate.algorithms.bfs import BFS
from suricate.algorithms.sssp import SSSP
from suricate.comm import mpi
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


def reduce_arrays() -> None:
    """Integers by MPI, in pieces; floats, and small or strided arrays."""
    mpi.MOST = 4096
    folds = {"sum": np.add, "min": np.minimum, "max": np.maximum, "or": np.bitwise_or}
    for dtype, size in product(("uint8", "int32", "uint64", "float64"), (3, 3001)):
        given = np.random.default_rng(size).integers(0, 40, (comm.size, size)).astype(dtype)
        for op, step in product(folds, (1, 2)):
            if op == "or" and dtype == "float64":
                continue
            mine = np.repeat(given[comm.rank], step)[::step]
            comm.reduce(mine, op)
            assert (mine == reduce(folds[op], given)).all(), (dtype, size, op)


def run(name: str) -> None:
    """Run one case, on every rank; report it on the first."""
    what, which, kind = name.split()
    try:
        if what == "reductions":
            reduce_arrays()
        elif what == "columns":
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
