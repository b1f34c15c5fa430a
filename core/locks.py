"""One lock per graph: calls from several threads on one graph run one after the other.

A thread that finds the graph busy waits. Taking a free lock costs well below a microsecond. On CUDA the lock also makes
the graph's device current, and lets a thread wait for the work that another thread has queued: CuPy's current stream is
a thread's own, so the two may use different streams.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any

from suricate.cuda.launch import wait_for
from suricate.devices import Device, cuda_device_count

Lock = AbstractContextManager[Any]


def graph_lock(device: Device) -> Lock:
    """Return a new reentrant lock for a graph on ``device``."""
    return CudaLock(device) if device.is_cuda else threading.RLock()


class _Local(threading.local):
    """A thread's own: the token that it got when it last entered a lock."""

    token: object = None


class CudaLock:
    """A reentrant lock; inside it the CUDA device is current, and what other threads queued under it is done.

    Two streams of one thread are not told apart: a thread that changes its current stream synchronises first.
    """

    __slots__ = ("_acquire", "_contexts", "_device", "_local", "_one_device", "_release", "_token")

    def __init__(self, device: Device) -> None:
        self._device = device
        lock = threading.RLock()
        self._acquire, self._release = lock.acquire, lock.release
        self._local, self._token = _Local(), object()  # equal in the thread that entered last: identifiers are reused
        self._one_device = cuda_device_count() == 1
        self._contexts: list[AbstractContextManager[Any]] = []  # of the entries that are not left yet

    def __enter__(self) -> None:
        self._acquire()
        if self._one_device and self._local.token is self._token:
            return
        try:
            self._enter_slowly()
        except BaseException:
            self._release()
            raise

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if not self._one_device:
            self._contexts.pop().__exit__(kind, error, traceback)
        self._release()

    def _enter_slowly(self) -> None:
        if self._local.token is not self._token:
            wait_for(self._device)
            self._local.token = self._token = object()
        if not self._one_device:
            context = self._device.current()
            context.__enter__()
            self._contexts.append(context)
