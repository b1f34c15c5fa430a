"""Communication of device arrays by NCCL, through CuPy; a second communication (MPI) starts it and has host values.

Collectives are queued in the current stream, and nothing waits for the device. Before each of them ranks compare calls
and sizes on the host, except where earlier exchanges imply them (``agreed``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np

from suricate.base.devices import Array, module_of
from suricate.base.errors import CommunicationError, DeviceError
from suricate.comm.messages import limit
from suricate.comm.protocol import Asking, Comm, call_site, is_on_device

BUS_ID = "PCI bus"
WORD = 4  #: bytes of the smallest integers that NCCL adds up
AT_ONCE = 0.01  #: seconds of a wait before the limit is looked up
FIRST = 1 << 24  #: bytes of the first exchange: as many as are sent over all channels


class NCCLComm(Comm):
    """Communication of a process that has a GPU for itself.

    Args:
        host: communication of the same ranks for host values.
        index: the CUDA device of this rank.

    Raises:
        DeviceError: on all ranks, if two of them have the same GPU.
    """

    name = "nccl"

    def __init__(self, host: Comm, index: int) -> None:
        import cupy
        from cupy.cuda import nccl

        os.environ.setdefault("NCCL_NVLS_ENABLE", "0")  # multicast in NVLink is not set up everywhere
        self.host, self.rank, self.size, self.index = host, host.rank, host.size, index
        self._nccl, self._cupy = nccl, cupy
        with host.alike():
            place = os.uname().nodename, cupy.cuda.runtime.deviceGetPCIBusId(index)
        places = host.allgather(place)
        for rank, other in enumerate(places):
            if other in places[:rank]:
                first = places.index(other)
                raise DeviceError(f"ranks {first} and {rank} have the same GPU, {BUS_ID} {other[1]} of {other[0]}")
        identity = host.agree(nccl.get_unique_id() if host.rank == 0 else None)
        cupy.cuda.Device(index).use()
        self._comm = nccl.NcclCommunicator(host.size, identity, host.rank)
        self._used: int = 0  # the stream of the last collective
        self._connect()
        host.watch_queue(self._marked)

    def gather(self, name: str, value: Any) -> list[Any]:
        """Return the ``value`` of every rank, in rank order: device arrays by NCCL, others by the host.

        ``name`` is the name of the collective.
        """
        if not is_on_device(value):
            return self.host.gather(name, value)
        forms = self._forms(name, value)
        parts = self._bytes_of_all(value, forms)
        return [part.view(dtype).reshape(shape) for part, (shape, dtype) in zip(parts, forms, strict=True)]

    def joined(self, array: Array) -> Array:
        """Return the ``array`` of all ranks, concatenated in rank order; they are received in one buffer."""
        if not is_on_device(array):
            return self.host.joined(array)
        forms = self._forms("joined", array)
        rows = sum(shape[0] for shape, _ in forms)
        return self._received(array, forms).view(array.dtype).reshape((rows, *array.shape[1:]))

    def joined_columns(self, columns: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
        """Concatenate columns of all ranks, see :meth:`Comm.joined_columns`, in one NCCL group.

        ``sizes``: the lengths on all ranks; that all pass the same is not checked.
        """
        if not is_on_device(columns[0]):
            return self.host.joined_columns(columns, sizes)
        ends = list(accumulate(sizes, initial=0))
        found = [module_of(column).empty(ends[-1], column.dtype) for column in columns]
        if ends[-1]:
            self._nccl.groupStart()
            for whole, own in zip(found, columns, strict=True):
                self._queue(whole.data.ptr, [end * whole.itemsize for end in ends], own)
            self._nccl.groupEnd()
        return found

    def exchange(self, parts: list[Array]) -> list[Array]:
        """Send ``parts[i]`` to rank ``i``; return what the ranks sent to this one, in order."""
        if not is_on_device(parts[0]):
            return self.host.exchange(parts)
        sizes = np.stack(self.host.gather(f"exchange of {parts[0].dtype} on devices", np.array([*map(len, parts)])))
        come, xp = sizes[:, self.rank].tolist(), module_of(parts[0])
        found = [xp.empty(size, parts[0].dtype) for size in come]
        found[self.rank][:] = parts[self.rank]
        others = [rank for rank in range(self.size) if rank != self.rank]
        sent, received = ([(rank, each[rank]) for rank in others if len(each[rank])] for each in (parts, found))
        if sent or received:
            nccl, stream = self._nccl, self._stream
            nccl.groupStart()
            for rank, part in sent:
                self._comm.send(part.data.ptr, part.nbytes, nccl.NCCL_UINT8, rank, stream)
            for rank, part in received:
                self._comm.recv(part.data.ptr, part.nbytes, nccl.NCCL_UINT8, rank, stream)
            nccl.groupEnd()
        return found

    def reduce(self, array: Array, op: str, *, agreed: bool = False) -> None:
        """Reduce ``array`` over all ranks by ``op``, in place, see :meth:`Comm.reduce`: integers by NCCL.

        A merge is the maximum byte by byte.
        """
        if not is_on_device(array):
            self.host.reduce(array, op)
            return
        nccl, at, kind = self._nccl, array.data.ptr, array.dtype
        can = op == "merge" or (op != "or" and kind.kind in "iu" and kind.itemsize >= WORD)
        if not can or not array.flags.c_contiguous:
            super().reduce(array, op)
            return
        if not agreed:
            self._forms(op, array)
        if array.nbytes and op == "merge":
            self._comm.allReduce(at, at, array.nbytes, nccl.NCCL_UINT8, nccl.NCCL_MAX, self._stream)
        elif array.nbytes:
            number, by = getattr(nccl, f"NCCL_{kind.name.upper()}"), getattr(nccl, f"NCCL_{op.upper()}")
            self._comm.allReduce(at, at, array.size, number, by, self._stream)

    def share(self, array: Array, bounds: Array, *, agreed: bool = False) -> None:
        """Copy each rank's range of ``array``, by ``bounds``, to all ranks, in place; see :meth:`Comm.share`."""
        if not is_on_device(array):
            self.host.share(array, bounds)
            return
        if not agreed:
            self._forms("share", array[:0])
        size = len(array)
        width = array.nbytes // max(size, 1)
        self._exchange(array.data.ptr, [min(end, size) * width for end in bounds.tolist()])

    def wait(self, is_done: Callable[[], bool]) -> None:
        """Poll ``is_done`` until it returns True; end the job if that takes longer than the time limit."""
        begin, most = time.monotonic(), AT_ONCE
        while not is_done():
            if time.monotonic() - begin > most and time.monotonic() - begin > (most := limit()):
                reason = f"a collective that was queued on the device at {call_site()} was not over within {most:g} s"
                self.abort(reason)
                raise CommunicationError(reason)

    def asking(self, values: Mapping[str, Any]) -> Asking:
        """Return a context that compares ``values`` on all ranks, by host collectives; see :meth:`Comm.asking`."""
        return self.host.asking(values)

    def place(self, device: Any) -> Any:
        """Return the GPU of this rank for ``device`` "cuda" or "auto", and any other ``device`` unchanged."""
        return f"cuda:{self.index}" if device in ("auto", "cuda") else device

    def busy(self, most: float | None = None, *, reads: bool = False) -> AbstractContextManager[None]:
        """Return a context for work of this rank alone, see :meth:`Comm.busy`."""
        return self.host.busy(most, reads=reads)

    def abort(self, reason: str) -> None:
        """End the job on all ranks; they raise ``CommunicationError`` with this reason."""
        self.host.abort(reason)

    @property
    def _stream(self) -> int:
        self._used = self._cupy.cuda.get_current_stream().ptr
        return self._used

    def _connect(self) -> None:
        """Use each kind of exchange: NCCL takes memory for it at first use, when there may be none left."""
        array, size = self._cupy.zeros(FIRST + 1, np.uint8), FIRST // self.size
        for more in (0, 1):  # of the last rank: equal parts go another way
            self._exchange(array.data.ptr, [*(size * rank for rank in range(self.size)), size * self.size + more])
        self.reduce(array[:FIRST].view(np.uint64), "sum", agreed=True)

    def _marked(self) -> Callable[[], bool]:
        """Record an event behind what is queued; return whether it has been reached, as :meth:`Comm.watch_queue`."""
        cuda = self._cupy.cuda
        with cuda.Device(self.index):
            event = cuda.Event(block=False, disable_timing=True)
            cuda.runtime.eventRecord(event.ptr, self._used)
        return lambda: bool(event.done)

    def _forms(self, name: str, array: Array) -> list[tuple[tuple[int, ...], str]]:
        """Return the shape and dtype of the array that each rank passes to the collective ``name``, in rank order."""
        return self.host.gather(f"{name} on devices", (array.shape, array.dtype.str))

    def _bytes_of_all(self, array: Array, forms: list[tuple[tuple[int, ...], str]]) -> list[Array]:
        ends = _ends(forms)
        received = self._received(array, forms)
        return [received[ends[rank] : ends[rank + 1]] for rank in range(self.size)]

    def _received(self, array: Array, forms: list[tuple[tuple[int, ...], str]]) -> Array:
        """Return the bytes of all ranks' arrays, concatenated; ``forms``: the shape and dtype of each rank's array."""
        ends = _ends(forms)
        received = module_of(array).empty(ends[-1], np.uint8)
        own = module_of(array).ascontiguousarray(array).reshape(-1).view(np.uint8)
        received[ends[self.rank] : ends[self.rank + 1]] = own
        self._exchange(received.data.ptr, ends)
        return received

    def _exchange(self, address: int, ends: Sequence[int]) -> None:
        """Copy each rank's bytes to all ranks; rank r has its bytes at ``address + ends[r]``, up to ``ends[r + 1]``."""
        if not ends[-1]:
            return
        size = ends[1]
        if [*ends] == [size * rank for rank in range(self.size + 1)]:  # one call, which needs no group
            self._comm.allGather(address + size * self.rank, address, size, self._nccl.NCCL_UINT8, self._stream)
            return
        self._nccl.groupStart()
        self._queue(address, ends)
        self._nccl.groupEnd()

    def _queue(self, address: int, ends: Sequence[int], given: Array | None = None) -> None:
        """Queue, in an NCCL group, copies of each rank's bytes to all ranks, at ``address + ends[r]`` for rank r."""
        nccl, comm, stream, sizes = self._nccl, self._comm, self._stream, [high - low for low, high in pairwise(ends)]
        place = address + ends[self.rank]
        own = place if given is None else module_of(given).ascontiguousarray(given).data.ptr
        if len(set(sizes)) == 1:
            comm.allGather(own, address, sizes[0], nccl.NCCL_UINT8, stream)
            return
        if own != place and sizes[self.rank]:
            runtime = self._cupy.cuda.runtime
            runtime.memcpyAsync(place, own, sizes[self.rank], runtime.memcpyDeviceToDevice, stream)
        for rank, size in enumerate(sizes):
            if rank == self.rank:
                continue
            if sizes[self.rank]:
                comm.send(own, sizes[self.rank], nccl.NCCL_UINT8, rank, stream)
            if size:
                comm.recv(address + ends[rank], size, nccl.NCCL_UINT8, rank, stream)


def _ends(forms: list[tuple[tuple[int, ...], str]]) -> list[int]:
    """Return ``size + 1`` offsets in bytes: where each rank's array, of the form ``forms[r]``, begins in one buffer."""
    return list(accumulate((prod(shape) * np.dtype(dtype).itemsize for shape, dtype in forms), initial=0))
