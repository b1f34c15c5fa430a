"""Does a call wait for the device? Two answers, for CUDA: a count and a proof.

:func:`count_syncs` replaces, for the duration of a call, the functions through which Python code reads device memory or
waits (arrays read to the host, streams, events, and the copying and synchronising functions of the runtime) and counts
the outermost calls. It cannot see a wait inside compiled code that is reached in none of these ways. :func:`captured`
can: while a stream is being captured into a graph, the CUDA runtime itself refuses every call that would wait for it.

>>> count_syncs(lambda: graph.insert_edges(src, dst))          # doctest: +SKIP
Syncs(calls={'ndarray.get': 1})
>>> captured(lambda: graph.insert_edges(src, dst), device)     # doctest: +SKIP
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from suricate.base.devices import Device

READS = ("get", "item", "tolist", "__int__", "__float__", "__bool__", "__complex__")  #: methods of cupy.ndarray
RUNTIME_WAITS = ("deviceSynchronize", "streamSynchronize", "eventSynchronize", "memcpy", "memcpy2D")
RUNTIME_COPIES = ("memcpyAsync", "memcpy2DAsync")  #: these only count when they copy to the host


@dataclass
class Syncs:
    """Numbers of calls that waited for the device, by name; calls inside such a call are not counted."""

    calls: Counter[str] = field(default_factory=Counter)
    depth: int = field(default=0, repr=False)

    @property
    def total(self) -> int:
        """The number of calls that waited for the device."""
        return self.calls.total()


def count_syncs(action: Callable[[], Any]) -> Syncs:
    """Run ``action``; return the counts of calls that made the host wait for a CUDA device. Needs CuPy."""
    syncs = Syncs()
    with ExitStack() as stack:
        for owner, name, waits in _waiting_functions():
            stack.enter_context(_counting(owner, name, waits, syncs))
        action()
    return syncs


def captured(action: Callable[[], Any], device: Device) -> Any:
    """Run ``action`` under stream capture, then execute on the device what it queued; return the action's result.

    The device work is done once, after the capture. Anything that ``action`` compiles or allocates at first use must
    be compiled or allocated before.

    Raises:
        RuntimeError: ``action`` makes the host wait for the device.
    """
    cupy = device.xp
    device.synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        try:
            result = action()
        except BaseException:
            _abandon(cupy, stream)
            raise
        recorded = stream.end_capture()
        recorded.launch(stream)
        stream.synchronize()
    return result


def _abandon(cupy: Any, stream: Any) -> None:
    """End the capture of ``stream``, which a forbidden call has made invalid; ignore the error that this raises."""
    try:
        stream.end_capture()
    except cupy.cuda.runtime.CUDARuntimeError:
        return


def _waiting_functions() -> Iterator[tuple[Any, str, Callable[..., bool]]]:
    """Yield ``(owner, name, waits)`` for each function ``owner.name`` that may wait for the device."""
    import cupy

    for name in READS:
        yield cupy.ndarray, name, _on_device
    for owner in (cupy.cuda.Stream, cupy.cuda.ExternalStream, cupy.cuda.Event):
        yield owner, "synchronize", _always
    runtime = cupy.cuda.runtime
    for name in RUNTIME_WAITS:
        yield runtime, name, _always
    for name in RUNTIME_COPIES:
        yield runtime, name, functools.partial(_to_host, runtime.memcpyDeviceToHost)


def _always(*args: Any, **kwargs: Any) -> bool:
    return True


def _on_device(array: Any, *args: Any, **kwargs: Any) -> bool:
    """Return whether a method that reads ``array`` waits for the device: not if it is empty or ``blocking=False``."""
    return array.nbytes > 0 and kwargs.get("blocking", True)


def _to_host(kind: int, *args: Any, **kwargs: Any) -> bool:
    return kind in args or kwargs.get("kind") == kind


@contextmanager
def _counting(owner: Any, name: str, waits: Callable[..., bool], syncs: Syncs) -> Iterator[None]:
    original = getattr(owner, name, None)
    if original is None:  # not in this version of CuPy
        yield
        return
    own = name in vars(owner)

    @functools.wraps(original)
    def counted(*args: Any, **kwargs: Any) -> Any:
        if syncs.depth == 0 and waits(*args, **kwargs):
            syncs.calls[f"{getattr(owner, '__name__', owner).rpartition('.')[2]}.{name}"] += 1
        syncs.depth += 1
        try:
            return original(*args, **kwargs)
        finally:
            syncs.depth -= 1

    setattr(owner, name, counted)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)
