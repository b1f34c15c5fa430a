"""Communication by MPI, through mpi4py."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from suricate.base.errors import CommunicationError
from suricate.parallel.comm import Comm, call_site


class MPIComm(Comm):
    """Communication of a process of an MPI job.

    Names, call sites and lengths are compared before arrays are exchanged, so that ranks that went different ways are
    an error and do not exchange what does not belong together.
    """

    def __init__(self) -> None:
        self.world = MPI.COMM_WORLD
        self.rank, self.size = self.world.Get_rank(), self.world.Get_size()
        self.library = MPI.Get_library_version().split("\n")[0].rstrip("\x00")

    def gather(self, name: str, value: Any) -> list[Any]:
        """Exchange a header, then arrays by their buffers."""
        is_array = isinstance(value, np.ndarray)
        header = (name, call_site(), (value.shape, value.dtype.str) if is_array else None, None if is_array else value)
        headers = self.world.allgather(header)
        for rank, other in enumerate(headers):
            if other[:2] != headers[0][:2]:
                first = headers[0]
                raise CommunicationError(
                    "the ranks have gone different ways: "
                    f"rank 0 calls {first[0]} at {first[1]}, rank {rank} calls {other[0]} at {other[1]}"
                )
        if not any(other[2] for other in headers):
            return [other[3] for other in headers]
        sent = np.ascontiguousarray(value).view(np.uint8).reshape(-1) if is_array else np.empty(0, np.uint8)
        sizes = [int(np.prod(form[0])) * np.dtype(form[1]).itemsize if form else 0 for _, _, form, _ in headers]
        received = np.empty(sum(sizes), np.uint8)
        self.world.Allgatherv(sent, [received, sizes])
        parts = np.split(received, np.cumsum(sizes)[:-1])
        return [
            part.view(other[2][1]).reshape(other[2][0]) if other[2] else other[3]
            for part, other in zip(parts, headers, strict=True)
        ]

    def abort(self, reason: str) -> None:
        """End all processes of the job."""
        self.world.Abort(1)
