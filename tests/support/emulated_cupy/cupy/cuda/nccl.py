"""Stands for NCCL: ranks are threads of one process, and what they send is memory of the host.

Every call is noted in :data:`CALLS`. A call returns when it is done; sends and receives are done at the end of a group.
"""

from __future__ import annotations

import ctypes
import threading
from itertools import count
from typing import Any

import numpy as np

available = True
NCCL_UINT8, NCCL_INT32, NCCL_UINT32, NCCL_INT64, NCCL_UINT64, NCCL_SUM, NCCL_MAX, NCCL_MIN = 1, 2, 3, 4, 5, 0, 2, 3
DTYPES = {kind: np.dtype(name) for kind, name in enumerate(("uint8", "int32", "uint32", "int64", "uint64"), start=1)}
CALLS: list[tuple[Any, ...]] = []  #: rank, name, count, dtype, stream
_numbers, _jobs, _lock = count(), dict[Any, "_Job"](), threading.Lock()
_group = threading.local()


class _Job:
    def __init__(self, size: int) -> None:
        self.meeting = threading.Barrier(size)
        self.given: dict[Any, Any] = {}


def get_unique_id() -> tuple[int, ...]:
    """Return what tells a job from others."""
    return (next(_numbers),)


def groupStart() -> None:  # noqa: N802 - a name of NCCL
    """Begin a group."""
    _group.calls = []


def groupEnd() -> None:  # noqa: N802 - a name of NCCL
    """Exchange what was sent and received since the group began."""
    calls, _group.calls = _group.calls, None
    if not calls:  # but those that return when they are done
        return
    job = calls[0][0].job
    for comm, name, address, size, peer in calls:
        if name == "send":
            job.given.setdefault((comm.rank, peer), []).append((address, size))
    job.meeting.wait()
    for comm, name, address, size, peer in calls:
        if name == "recv":
            sent, number = job.given[peer, comm.rank].pop(0)
            assert number == size
            ctypes.memmove(address, sent, size)
    job.meeting.wait()
    job.given.clear()
    job.meeting.wait()


class NcclCommunicator:
    """One rank of a job."""

    def __init__(self, size: int, identity: tuple[int, ...], rank: int) -> None:
        with _lock:
            self.job = _jobs.setdefault(identity, _Job(size))
        self.rank, self.size = rank, size
        self.job.meeting.wait()  # all ranks start together

    def _all(self, address: int, size: int) -> list[bytes]:
        """Return what all ranks have at their addresses."""
        self.job.given[self.rank] = ctypes.string_at(address, size)
        self.job.meeting.wait()
        found = [self.job.given[rank] for rank in range(self.size)]
        self.job.meeting.wait()
        return found

    def allGather(self, sent: int, received: int, size: int, dtype: int, stream: int) -> None:  # noqa: N802
        """Gather as much from every rank."""
        CALLS.append((self.rank, "allGather", size, dtype, stream))
        parts = self._all(sent, size * DTYPES[dtype].itemsize)
        assert {len(part) for part in parts} == {size}
        whole = b"".join(parts)
        ctypes.memmove(received, whole, len(whole))

    def allReduce(  # noqa: N802
        self, sent: int, received: int, size: int, dtype: int, op: int, stream: int
    ) -> None:
        """Reduce numbers of all ranks to their sums, the largest or the smallest ones."""
        CALLS.append((self.rank, "allReduce", size, dtype, stream))
        kind, reduce = DTYPES[dtype], {NCCL_SUM: np.sum, NCCL_MAX: np.max, NCCL_MIN: np.min}[op]
        parts = self._all(sent, size * kind.itemsize)
        found = reduce([np.frombuffer(part, kind) for part in parts], axis=0)
        ctypes.memmove(received, found.tobytes(), found.nbytes)

    def send(self, address: int, size: int, dtype: int, peer: int, stream: int) -> None:
        """Note what goes to another rank."""
        CALLS.append((self.rank, "send", size, dtype, stream))
        _group.calls.append((self, "send", address, size * DTYPES[dtype].itemsize, peer))

    def recv(self, address: int, size: int, dtype: int, peer: int, stream: int) -> None:
        """Note what comes from another rank."""
        CALLS.append((self.rank, "recv", size, dtype, stream))
        _group.calls.append((self, "recv", address, size * DTYPES[dtype].itemsize, peer))
