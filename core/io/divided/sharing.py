"""Edges that ranks hand to each other: what one rank has read, and edges in the order of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from suricate.base.errors import FileFormatError
from suricate.comm.protocol import Comm
from suricate.io.divided.meeting import routed
from suricate.io.edge_file import EdgeFile

SAMPLES = 256  #: times of each rank, by which the rows of all are divided into ranges of time


def _columns_of(file: EdgeFile) -> dict[Any, np.ndarray]:
    """Return the columns of a file by name, those of edges as ``(name,)``."""
    found: dict[Any, Any] = {name: getattr(file, name) for name in ("src", "dst", "weight", "time")}
    found |= {(name,): column for name, column in file.columns.items()}
    return {name: column for name, column in found.items() if column is not None}


def _with_columns(file: EdgeFile, columns: Mapping[Any, np.ndarray]) -> EdgeFile:
    """Return the file with other columns; see :func:`_columns_of`."""
    given: Any = {name: column for name, column in columns.items() if isinstance(name, str)}
    further: Any = {name[0]: column for name, column in columns.items() if not isinstance(name, str)}
    return replace(file, **given, columns=further)


def sent_on(comm: Comm, file: EdgeFile | None) -> EdgeFile:
    """Return a stretch of the edges of a ``file`` that the first rank has read; the others pass None."""
    if comm.size == 1 and file is not None:
        return file
    columns = {} if file is None else _columns_of(file)
    empty = None if file is None else _with_columns(file, {name: part[:0] for name, part in columns.items()})
    every: EdgeFile = comm.agree(empty)
    ends = [len(columns.get("src", ())) * rank // comm.size for rank in range(comm.size + 1)]
    parts = {name: routed(comm, columns.get(name, none), ends) for name, none in _columns_of(every).items()}
    return replace(_with_columns(every, parts), comm=comm)


def sorted_by_time(file: EdgeFile, comm: Comm) -> EdgeFile:
    """Return ``file`` with the edges of all ranks ordered by time; edges of equal time keep their order."""
    if file.time is None:
        raise FileFormatError(file.path, None, "there is no time column to sort by")
    file = _ordered(file)
    if comm.size == 1:
        return file
    times, columns = file.time, _columns_of(file)
    assert times is not None
    samples = times[np.linspace(0, max(len(times) - 1, 0), min(SAMPLES, len(times)), dtype=np.int64)]
    everybody = comm.allgather((samples, len(times)))
    found = np.concatenate([each for each, _ in everybody])
    weights = np.concatenate([np.full(len(each), count / max(len(each), 1)) for each, count in everybody])
    order = np.argsort(found, kind="stable")
    reached = np.cumsum(weights[order])
    at = np.searchsorted(reached, [reached[-1:].sum() * rank / comm.size for rank in range(1, comm.size)])
    bounds = found[order][np.minimum(at, max(len(found) - 1, 0))] if len(found) else found
    ends = [0, *np.searchsorted(times, bounds).tolist(), *[len(times)] * (comm.size - len(bounds))]
    return _ordered(_with_columns(file, {name: routed(comm, part, ends) for name, part in columns.items()}))


def _ordered(file: EdgeFile) -> EdgeFile:
    assert file.time is not None
    order = np.argsort(file.time, kind="stable")
    return _with_columns(file, {name: column[order] for name, column in _columns_of(file).items()})
