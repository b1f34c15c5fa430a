"""What two processes of MPI do in the tests: all algorithms, beside a graph of one process."""

from __future__ import annotations

from test_parallel_algorithms import CASES, N, follow

import suricate as su
from suricate.parallel import connect

comm = connect()
assert comm.size == 2
for name, directed in (case.values for case in CASES):
    kind = su.plugins.algorithm(name)
    follow(comm, kind, kind.sample_params(N, 0), directed=directed)
print("all as one process", flush=True)
