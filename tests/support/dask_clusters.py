"""Clusters of Dask in tests: workers that are processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

SETTINGS = {"distributed.worker.multiprocessing-method": "forkserver", "distributed.nanny.pre-spawn-environ": {}}


@cache
def _start_server() -> None:
    """Start the process of which workers are forks: it loads their modules once, and has no loops compiled."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(["dask_worker_loads"])
    given = {"NUMBA_DISABLE_JIT": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent)}
    with mock.patch.dict(os.environ, given):
        forkserver.ensure_running()


@contextmanager
def cluster(workers: int, **given: Any) -> Iterator[Any]:
    """Return a client of so many workers, which run plain Python."""
    with dask.config.set(SETTINGS):
        _start_server()
        made = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50, **given
        )
        with made, distributed.Client(made) as client:
            yield client
