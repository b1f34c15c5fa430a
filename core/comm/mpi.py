"""Communication by MPI, through mpi4py.

A collective is an all-gather of messages of one length (see ``messages``), which contain small values, and a second
one for the bytes of larger values: so ranks that call different collectives never exchange mismatched data. Both are
non-blocking and polled, so that the job ends if a rank has ended, or does not come within the time limit (``watch``).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any

import numpy as np
from mpi4py import MPI

from suricate.base.devices import Array, cuda_device_count, module_of, resolve_device
from suricate.base.notice import tell
from suricate.comm.asked import AskingComm, apart
from suricate.comm.interrupted import meeting
from suricate.comm.messages import Lengths, heads_of, packed, whole
from suricate.comm.protocol import SMALL, call_site, is_on_device
from suricate.comm.watch import Watch

BY_HOST = (
    "suricate: arrays of CUDA devices go from process to process through the host; "
    "NCCL is faster: connect('nccl'), with a GPU per process (without this line: SURICATE_QUIET=1)"
)
OPERATIONS = {"sum": MPI.SUM, "min": MPI.MIN, "max": MPI.MAX, "or": MPI.BOR, "merge": MPI.BOR}
MOST = 1 << 30  #: bytes of all ranks at a time: MPI counts them in 31 bits


def found() -> tuple[int, str]:
    """Return the number of processes of the MPI job, and the name of the MPI library."""
    return MPI.COMM_WORLD.Get_size(), MPI.Get_library_version().split("\n")[0].rstrip("\x00")


class MPIComm(AskingComm):
    """Communication of a process of an MPI job.

    MPI gets no memory of a device: arrays are copied to the host before, and back afterwards.
    """

    name = "mpi"

    def __init__(self) -> None:
        self.world = MPI.COMM_WORLD.Dup()
        self.rank, self.size = self.world.Get_rank(), self.world.Get_size()
        self.number_on_host: int = self.world.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()
        self._watch, self._lengths = Watch(MPI.COMM_WORLD.Dup()), Lengths(self.size)

    @meeting
    def gather(self, name: str, value: Any) -> list[Any]:
        """Return the ``value`` of every rank, in rank order; ``name`` is the name of the collective.

        This exchanges a message per rank, as long as :class:`Lengths` says, then the bytes that do not fit into it.
        """
        if is_on_device(value):
            tell(BY_HOST)
            xp = module_of(value)
            return [xp.asarray(part) for part in self.gather(name, xp.asnumpy(value))]
        site, asked = call_site(), self.take_asked()
        mine, rest = packed(name, site, value, "" if asked is None else asked.digest, self._lengths.length)
        messages = np.empty((self.size, len(mine)), np.uint8)
        self._watch.come(name, site)
        self._complete(self.world.Iallgather(mine, messages))
        heads, are_apart = heads_of(messages)
        if are_apart:
            way = pickle.dumps((f"{name} at {site}", None if asked is None else asked.texts))
            said = [pickle.loads(one.tobytes()) for one in self._exchange(np.frombuffer(way, np.uint8), None)]
            error = apart([way for way, _ in said], [texts for _, texts in said])
            assert error is not None
            raise error
        self._lengths.note(heads)
        return whole(messages, heads, lambda sizes: self._exchange(rest, sizes))

    @meeting
    def exchange(self, parts: list[Array]) -> list[Array]:
        """Send ``parts[i]`` to process ``i``; return what the processes sent to this one, in order."""
        if not isinstance(parts[0], np.ndarray):
            tell(BY_HOST)
            xp = module_of(parts[0])
            return [xp.asarray(part) for part in self.exchange([xp.asnumpy(part) for part in parts])]
        dtype, sizes = parts[0].dtype, np.array([part.nbytes for part in parts])
        sizes_of_all = np.stack(self.gather(f"exchange of {dtype}", sizes))
        come = sizes_of_all[:, self.rank]
        received = np.empty(int(come.sum()), np.uint8)
        sent = np.concatenate(parts).view(np.uint8)
        self._complete(self.world.Ialltoallv([sent, sizes.tolist()], [received, come.tolist()]))
        return [one.view(dtype) for one in np.split(received, np.cumsum(come)[:-1])]

    @meeting
    def reduce(self, array: Array, op: str, *, agreed: bool = False) -> None:
        """Reduce ``array`` over all ranks by ``op``, in place, see :meth:`Comm.reduce`: integers by MPI."""
        if not isinstance(array, np.ndarray):
            tell(BY_HOST)
            host = module_of(array).asnumpy(array)
            self.reduce(host, op)
            array[...] = module_of(array).asarray(host)
            return
        if array.nbytes <= SMALL or array.dtype.kind not in "iu":
            super().reduce(array, op)
            return
        self.gather(f"{op} of {array.size} {array.dtype}", None)
        flat, most = np.ascontiguousarray(array).reshape(-1), MOST // array.itemsize
        for low in range(0, len(flat), most):
            self._complete(self.world.Iallreduce(MPI.IN_PLACE, flat[low : low + most], OPERATIONS[op]))
        if not array.flags.c_contiguous:
            array[...] = flat.reshape(array.shape)

    def _complete(self, request: MPI.Request) -> None:
        self.under_way = True
        self._watch.wait(request)
        self.under_way = False

    def _exchange(self, sent: np.ndarray, sizes: list[int] | None) -> list[np.ndarray]:
        """Return the bytes ``sent`` by every rank; ``sizes``: how many by each (None: exchange these numbers first)."""
        if sizes is None:
            asked = np.empty(self.size, np.int64)
            self._complete(self.world.Iallgather(np.array([len(sent)], np.int64), asked))
            sizes = asked.tolist()
        if sum(sizes) > MOST:
            return self._exchange_pieces(sent, sizes)
        received = np.empty(sum(sizes), np.uint8)
        self._complete(self.world.Iallgatherv(sent, [received, sizes]))
        return [received[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]

    def _exchange_pieces(self, sent: np.ndarray, sizes: list[int]) -> list[np.ndarray]:
        received, most = [np.empty(size, np.uint8) for size in sizes], MOST // self.size
        for low in range(0, max(sizes), most):
            pieces = [part[low : low + most] for part in received]
            for piece, part in zip(pieces, self._exchange(sent[low : low + most], [*map(len, pieces)]), strict=True):
                piece[:] = part
        return received

    @property
    def index(self) -> int:
        """The CUDA device of this rank; the processes of a host get its devices in turn."""
        return self.number_on_host % max(1, cuda_device_count())

    def place(self, device: Any) -> Any:
        """Return the GPU of this rank for ``device`` "cuda" or "auto", and any other ``device`` unchanged."""
        if device not in ("auto", "cuda") or not resolve_device(device).is_cuda:
            return device
        return f"cuda:{self.index}"

    def busy(self, most: float | None = None, *, reads: bool = False) -> AbstractContextManager[None]:
        """Return a context for work of this rank alone, see :meth:`Comm.busy`."""
        return self._watch.busy.span(most, reads=reads)

    def watch_queue(self, mark: Callable[[], Callable[[], bool]]) -> None:
        """Have the job end if a collective queued on a device waits for a process that has ended."""
        self._watch.mark_queue = mark

    def abort(self, reason: str) -> None:
        """Print ``reason``, and end all processes of the job."""
        self._watch.abort(reason)
