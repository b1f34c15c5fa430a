"""Clusters of Dask in tests: workers that are processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

distributed = pytest.importorskip("distributed")


@contextmanager
def cluster(workers: int, **given: Any) -> Iterator[Any]:
    """Return a client of so many workers, which run plain Python."""
    env = {"NUMBA_DISABLE_JIT": "1", "SURICATE_TIMEOUT": os.environ.get("SURICATE_TIMEOUT", "600")}
    import dask

    with dask.config.set({"distributed.nanny.pre-spawn-environ": env | {"OMP_NUM_THREADS": "1"}}):
        made = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50, **given
        )
    with made, distributed.Client(made) as client:
        yield client


def pid(dask_worker: Any) -> int:
    return os.getpid()


def suspended(*pids: int) -> None:
    """End processes as a machine that fails does."""
    for each in pids:
        with suppress(ProcessLookupError):
            os.kill(each, 9)
