"""Communication by MPI, through mpi4py."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from suricate.base.devices import Array, cuda_device_count, resolve_device
from suricate.base.errors import CommunicationError
from suricate.base.notice import tell
from suricate.parallel.comm import Comm, call_site, is_array, module_of

MOST_BYTES = 1 << 28  #: that a rank sends at a time: counts of MPI have 31 bits
BY_HOST = (
    "suricate: arrays of CUDA devices go from process to process through the host; "
    "NCCL is faster: suricate.parallel.connect('nccl'), with a GPU per process (without this line: SURICATE_QUIET=1)"
)


class MPIComm(Comm):
    """Communication of a process of an MPI job.

    Names, call sites and lengths are compared before arrays are exchanged, so that ranks that went different ways are
    an error and do not exchange what does not belong together. MPI gets no memory of a device: arrays are copied to the
    host, and back.
    """

    def __init__(self) -> None:
        self.world = MPI.COMM_WORLD
        self.rank, self.size = self.world.Get_rank(), self.world.Get_size()
        self.library = MPI.Get_library_version().split("\n")[0].rstrip("\x00")
        self.number_on_host: int = self.world.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()

    def gather(self, name: str, value: Any) -> list[Any]:
        """Exchange a header, then arrays by their buffers."""
        if is_array(value) and not isinstance(value, np.ndarray):
            tell(BY_HOST)
            xp = module_of(value)
            return [xp.asarray(part) for part in self.gather(name, xp.asnumpy(value))]
        form = (value.shape, value.dtype.str) if is_array(value) else None
        headers = self.world.allgather((name, call_site(), form, None if form else value))
        for rank, other in enumerate(headers):
            if other[:2] != headers[0][:2]:
                first = headers[0]
                raise CommunicationError(
                    "the ranks have gone different ways: "
                    f"rank 0 calls {first[0]} at {first[1]}, rank {rank} calls {other[0]} at {other[1]}"
                )
        if not any(other[2] for other in headers):
            return [other[3] for other in headers]
        sent = np.ascontiguousarray(value).reshape(-1).view(np.uint8) if form else np.empty(0, np.uint8)
        sizes = [int(np.prod(form[0])) * np.dtype(form[1]).itemsize if form else 0 for _, _, form, _ in headers]
        return [
            part.view(other[2][1]).reshape(other[2][0]) if other[2] else other[3]
            for part, other in zip(self._received(sent, sizes), headers, strict=True)
        ]

    def _received(self, sent: Array, sizes: list[int]) -> list[Array]:
        """Return the bytes of all ranks."""
        parts = [np.empty(size, np.uint8) for size in sizes]
        for begin in range(0, max(sizes), MOST_BYTES):
            counts = [min(max(size - begin, 0), MOST_BYTES) for size in sizes]
            received = np.empty(sum(counts), np.uint8)
            self.world.Allgatherv(sent[begin : begin + MOST_BYTES], [received, counts])
            for part, piece in zip(parts, np.split(received, np.cumsum(counts)[:-1]), strict=True):
                part[begin : begin + len(piece)] = piece
        return parts

    @property
    def index(self) -> int:
        """The CUDA device of this rank: processes of one host take turns."""
        return self.number_on_host % max(1, cuda_device_count())

    def place(self, device: Any) -> Any:
        """Return the GPU of this rank, unless ``device`` is another one or the CPU."""
        if device not in ("auto", "cuda") or not resolve_device(device).is_cuda:
            return device
        return f"cuda:{self.index}"

    def abort(self, reason: str) -> None:
        """End all processes of the job."""
        self.world.Abort(1)
