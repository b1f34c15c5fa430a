"""Ctrl-C at each line of a call in turn, and allocations that fail in turn."""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import suricate
from suricate.testing.failures import Allocations

ROOT = str(Path(suricate.__file__).parent)
TIMES = 3
LOOPS = ("loops", "_cpu", "cpu.py", "/cpu/", "/generated", "/cursors/")  #: compiled, if not in tests of plain Python


def _is_host_code(path: str) -> bool:
    return (path.startswith(ROOT) or "/backends/" in path) and not any(part in path for part in LOOPS)


def interrupted(call: Callable[[], Any], line: int) -> bool | None:
    """Run ``call`` with Ctrl-C before its ``line``-th line of host code of suricate.

    A line that runs again counts ``TIMES`` times at most. Returns whether the call ended by ``KeyboardInterrupt``; None
    if it has fewer lines.
    """
    seen, times = 0, Counter[Any]()

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal seen
        if event == "call" and not _is_host_code(frame.f_code.co_filename):
            return None
        if event == "line":
            place = frame.f_code, frame.f_lineno
            times[place] += 1
            seen += times[place] <= TIMES
            if seen == line and times[place] <= TIMES:
                signal.raise_signal(signal.SIGINT)
        return trace

    before, handler = sys.gettrace(), signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        signal.signal(signal.SIGINT, handler)
    return None if seen < line else False


def lines(make: Callable[[], Any], call: Callable[[Any], Any], every: int = 1) -> Iterator[tuple[Any, bool]]:
    """Yield ``(subject, interrupted)`` for every ``every``-th line of ``call(subject)``, each on a new ``make()``."""
    line = 1
    while True:
        subject = make()
        hit = interrupted(lambda subject=subject: call(subject), line)
        if hit is None:
            return
        yield subject, hit
        line += every


def failures(
    make: Callable[[], Any], call: Callable[[Any], Any], module: Any, every: int = 1
) -> Iterator[tuple[Any, bool]]:
    """Yield ``(subject, failed)`` with each allocation of ``call(subject)`` failing in turn, each on a new ``make()``.

    ``module``: NumPy or CuPy, whose arrays are counted.
    """
    at = 0
    while True:
        subject, allocations, failed = make(), Allocations(at), True
        with allocations.watched(module), suppress(MemoryError):
            call(subject)
            failed = False
        if allocations.count <= at:
            return
        yield subject, failed
        at += every


def state(graph):
    """All that a graph with columns holds, in plain Python."""
    src, dst, _ = graph.edges()
    pairs = [graph.device.to_numpy(ids) for ids in (src, dst)]
    edges = list(
        zip(
            *(ids.tolist() for ids in pairs),
            *(list(graph.edge_columns.at(name, *pairs)) for name in graph.edge_columns),
            strict=True,
        )
    )
    columns = [
        list(graph.device.to_numpy(graph.columns[name]) if name == "age" else graph.columns[name])
        for name in graph.columns
    ]
    assert {len(column) for column in columns} == {graph.num_vertices}
    return repr((graph.num_vertices, sorted(edges), columns, graph.deleted_vertices.tolist(), graph.degrees().tolist()))
