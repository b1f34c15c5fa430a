"""Payments in a Dask DataFrame as a stream, whose window is divided among ranks; docs/engines.md explains it.

``python windows.py`` runs it on a cluster of two workers.
"""

import numpy as np
import pandas as pd

import suricate.stream as st

NUMBERS = np.random.default_rng(3).integers(0, (20, 20, 100), (900, 3))
PAYMENTS = pd.DataFrame(
    {
        "payer": NUMBERS[:, 0].astype(str),
        "payee": NUMBERS[:, 1].astype(str),
        "eur": NUMBERS[:, 2],
        "time": pd.date_range("2026-01-01", periods=900, freq="37min"),
    }
)
COLUMNS = {"src": "payer", "dst": "payee", "weight": "eur"}


def job(comm, data):
    """Return for each day its end and its payments, and of the last week the groups of accounts and the largest one."""
    payments = st.source(data, columns=COLUMNS)
    window = st.Window(
        payments, size="7d", slide="1d", names=True, combine="sum", graph={"device": "cpu", "comm": comm}, readers="all"
    )
    groups, degrees = window.track("wcc"), window.track("degree")
    return [(str(w.end), w.events, groups.result.num_components, degrees.top(1)["name"][0]) for w in window]


if __name__ == "__main__":
    from dask.dataframe import from_pandas
    from distributed import Client, LocalCluster

    from suricate.engines import dask

    with LocalCluster(n_workers=2, threads_per_worker=1) as cluster, Client(cluster) as client:
        first, *_ = dask.run(client, job, from_pandas(PAYMENTS, npartitions=6, sort=False))
        for line in first:
            print(*line)
