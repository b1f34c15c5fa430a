"""One job for every engine: who pays whom, divided among ranks. docs/engines.md says how each starts it."""

import sys
from pathlib import Path

import numpy as np

import suricate as su
from suricate.parallel import connect

PAYMENTS = np.random.default_rng(3).integers(0, 20, (90, 2)).astype(str)


def job(comm):
    """Return the accounts that this rank owns: how many each has paid, and its PageRank, by name."""
    graph = su.Graph(0, device="cpu", names=su.Names(), comm=comm)
    degrees, ranks = graph.track("degree"), graph.track("pagerank", tol=1e-14)
    for batch in np.split(PAYMENTS, 3):
        graph.insert_edges(*batch[comm.rank :: comm.size].T)
    return degrees.to_pandas(own=True).assign(rank=ranks.to_pandas(own=True)["value"])


if __name__ == "__main__":  # a process of MPI
    comm = connect()
    job(comm).to_csv(Path(sys.argv[1]) / f"accounts.{comm.rank}.csv")
