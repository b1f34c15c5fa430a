"""One lock per graph: calls from several threads on one graph run one after the other.

A thread waits while another one uses the graph. Taking a free lock costs well below a microsecond. On CUDA the lock
also makes the graph's device current. CuPy's current stream is a thread's own, so two threads may use different
streams; then the lock makes a thread wait for the work that another thread has queued.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from types import MethodType
from typing import Any, TypeVar
from weakref import WeakSet

from suricate.base.devices import Device, cuda_device_count, refuse_after_fork
from suricate.base.errors import CapacityError, ForkError, ParameterError, SuricateError
from suricate.base.forks import in_child, renewed
from suricate.cpu.threads import Limited
from suricate.cuda.launch import wait_for
from suricate.edgefn import bounds

Lock = AbstractContextManager[Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def graph_lock(device: Device, threads: int | None = None, graph: Any = None) -> Lock:
    """Return a new reentrant lock for a graph on ``device``, whose loops on the CPU use ``threads`` threads at most.

    ``threads`` None: no limit. In a child of ``fork`` the lock is free; if another thread was changing ``graph``,
    entering the lock raises ``ForkError`` there.
    """
    lock = renewed(threading.RLock(), None if graph is None else MethodType(_go_on_after_fork, graph))
    if device.is_cuda:
        return CudaLock(device, lock)
    return lock if threads is None else Limited(threads, lock)


class HalfChanged:
    """The lock, in a child of ``fork``, of a graph that another thread was changing: raises ``ForkError``."""

    def __enter__(self) -> None:
        raise ForkError(
            "another thread was changing this graph when this process was forked, so it is half changed here: "
            "build it again, or load it in the child; to fork safely, hold graph.exclusive() meanwhile"
        )

    def __exit__(self, *_: object) -> None:
        """Do nothing: ``__enter__`` always raises."""


def on_graph_device(function: Function) -> Function:
    """Decorate ``function(graph, ...)``: lock and device of the graph; ``MemoryError`` is ``CapacityError``."""
    return on_device_of("")(function)


def on_device_of(attribute: str) -> Callable[[Function], Function]:
    """Return a decorator of methods: they run under the lock of the graph in ``attribute`` of the object.

    It does all that :func:`on_graph_device` does. With ``attribute`` "" the object is the graph itself. What
    ``base.renamed`` puts into the list ``refusals`` of a method is called if it raises.
    """

    def decorate(function: Function) -> Function:
        refusals: list[Callable[..., None]] = []

        @wraps(function)
        def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
            graph = getattr(owner, attribute) if attribute else owner
            try:
                lock = graph.__dict__.get("_lock") or graph.exclusive()
            except AttributeError:
                raise ParameterError(f"graph must be a Graph, got {type(graph).__name__}") from None
            try:
                with lock:
                    result = function(owner, *args, **kwargs)
                    if bounds.CHECKED:
                        bounds.raise_pending(graph.device)
                    return result
            except MemoryError as error:
                raise capacity_error(graph.device, error) from error
            except Exception:
                for refuse in refusals:
                    refuse(function, (owner, *args), kwargs)
                raise

        call.refusals = refusals  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def capacity_error(device: Device, error: MemoryError) -> MemoryError:
    """Return ``error`` if suricate raised it, else a ``CapacityError`` of its message that names ``device``."""
    if isinstance(error, SuricateError):
        return error
    ours = CapacityError(f"memory does not suffice on {device}: {error}")
    for note in getattr(error, "__notes__", ()):
        ours.add_note(note)
    return ours


def _go_on_after_fork(graph: Any) -> None:
    """Make a graph usable in a child of ``fork``; if another thread was changing it, its lock refuses every call."""
    graph.workspace.clear()
    for kept in list(graph._kept.values()):
        kept.distrust()
    if graph._updater.changing.open:
        graph._lock = graph._updater.lock = HalfChanged()


class _Local(threading.local):
    """A thread's own ``token``: the object that a lock gave it when it entered after another thread, or None."""

    token: object = None


class CudaLock:
    """A reentrant lock; inside it the CUDA device is current, and work that other threads queued inside it has ended.

    If all threads use the default stream, they do not wait for each other's work. Otherwise, once a second thread has
    used the lock, each thread waits for its stream before it releases the lock, so that freed memory may be used in any
    stream. Two streams of one thread are not distinguished.

    Args:
        device: a CUDA device.
        lock: a reentrant lock of ``threading``; None: a new one.
    """

    __slots__ = (
        "__weakref__", "_acquire", "_contexts", "_current_stream", "_depth", "_device", "_entered", "_local",
        "_one_device", "_release", "_shared", "_stream", "_token",
    )  # fmt: skip

    def __init__(self, device: Device, lock: Any = None) -> None:
        self._device = device
        lock = lock or threading.RLock()
        _cuda_locks.add(self)
        self._acquire, self._release, self._depth = lock.acquire, lock.release, 0
        self._local = _Local()
        self._token = object()  # held by the thread that entered last (thread identifiers are reused)
        self._entered = self._shared = False  # whether any thread has entered, whether a second one has
        self._stream: int | None = None  # of the last to leave, once shared; None: unknown
        self._current_stream = device.xp.cuda.get_current_stream
        self._one_device = cuda_device_count() == 1
        self._contexts: list[AbstractContextManager[Any]] = []  # of the entries that are not left yet

    def __enter__(self) -> None:
        self._acquire()
        self._depth += 1
        if self._one_device and self._local.token is self._token:
            return
        try:
            self._enter_slowly()
        except BaseException:
            self._depth -= 1
            self._release()
            raise

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            if self._shared and self._depth == 1:
                self._leave_stream()
        finally:
            self._depth -= 1
            if not self._one_device:
                self._contexts.pop().__exit__(kind, error, traceback)
            self._release()

    def forget_thread(self) -> None:
        """Forget which thread entered last: the next entry then checks whether this is a child of ``fork``."""
        self._token = object()

    def _enter_slowly(self) -> None:
        refuse_after_fork()
        if not self._one_device:
            context = self._device.current()
            context.__enter__()
            self._contexts.append(context)
        if self._local.token is not self._token:
            try:
                self._change_thread()
            except BaseException:
                if not self._one_device:
                    self._contexts.pop().__exit__(None, None, None)
                raise

    def _change_thread(self) -> None:
        if self._entered:
            self._shared = True
            if self._stream != 0 or self._current_stream().ptr != 0:
                wait_for(self._device)
        self._entered = True
        self._local.token = self._token = object()

    def _leave_stream(self) -> None:
        stream = self._current_stream()
        self._stream = stream.ptr
        if self._stream != 0:
            stream.synchronize()


_cuda_locks: WeakSet[CudaLock] = WeakSet()


@in_child
def _forget_threads() -> None:
    for lock in list(_cuda_locks):
        lock.forget_thread()
