"""A child of fork never hangs on what another thread held, and knows a graph that was being changed."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import forked
import numpy as np
import pytest
from patience import PATIENCE
from suricate_tutorial import TutorialStore

import suricate as su
from suricate import plugins
from suricate.base import devices, forks, notice
from suricate.base.notice import NOTICE
from suricate.cpu import threads
from suricate.cpu.jit import global_compiler_lock
from suricate.errors import DeviceError, ForkError, SuricateError

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def in_child(function: Callable[[], object]) -> str:
    """Return what ``function`` raises in a child of fork: the exception as text, "" for none."""

    def raises() -> None:
        function()

    return forked.in_child(raises)


@contextmanager
def another_thread(enter: Callable[[threading.Event, threading.Event], None]) -> Iterator[None]:
    """Run ``enter(held, done)`` in another thread; inside, it has set ``held`` and waits for ``done``."""
    held, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=enter, args=(held, done))
    thread.start()
    try:
        assert held.wait(PATIENCE)
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("limit", [None, 2], ids=["any threads", "two threads"])
def test_a_graph_that_another_thread_uses(limit: int | None) -> None:
    graph = su.Graph(4, device="cpu", threads=limit, in_edges=True)
    graph.insert_edges([0, 1], [1, 2])
    tracker = graph.track("bfs", source=0)

    def hold(held: threading.Event, done: threading.Event) -> None:
        with graph.exclusive():
            held.set()
            done.wait()

    def use() -> None:
        assert graph.has_edges([0], [1]).all()
        assert tracker.result.level.tolist()[:3] == [0, 1, 2]
        graph.insert_edges([2], [3])
        assert tracker.result.level.tolist() == [0, 1, 2, 3]
        assert graph.num_edges == 3
        graph.check()

    with another_thread(hold):
        assert in_child(use) == ""
    use()


def test_a_graph_that_this_thread_holds() -> None:
    graph = su.Graph(4, device="cpu")
    with graph.exclusive():
        assert in_child(lambda: graph.insert_edges([0], [1]) and None) == ""
    assert graph.num_edges == 0


class Slow(TutorialStore):
    """A store that takes its time over an insertion."""

    name = "slow"
    pause: Callable[[], None] = staticmethod(lambda: None)

    def insert(self, src, dst, weight=None, guard=None):
        self.pause()
        return super().insert(src, dst, weight, guard=guard)


USES: dict[str, Callable[[su.Graph, su.Delta], object]] = {
    "insert": lambda graph, delta: graph.insert_edges([0], [1]),
    "ask": lambda graph, delta: graph.has_edges([0], [1]),
    "operator": lambda graph, delta: su.neighbor_reduce(graph, None, lambda u, v, w: 1, reduce="sum"),
    "track": lambda graph, delta: graph.track("bfs", source=0),
    "copy": lambda graph, delta: graph.to("cpu"),
    "text": lambda graph, delta: repr(graph),
}


def test_a_graph_that_another_thread_changes() -> None:
    graph, other = su.Graph(4, backend=Slow, device="cpu"), su.Graph(4, backend=Slow, device="cpu")
    delta = graph.insert_edges([2], [3])

    def change(held: threading.Event, done: threading.Event) -> None:
        graph.store().pause = lambda: (held.set(), done.wait())  # type: ignore[attr-defined]
        graph.insert_edges([0], [1])

    with another_thread(change):
        for name, use in USES.items():
            assert in_child(lambda use=use: use(graph, delta)).startswith(
                "ForkError: another thread was changing this graph"
            ), name
            assert in_child(lambda use=use: use(other, delta)) == ""
        assert in_child(lambda: delta.inserted.src.tolist() == [2] or 1 / 0) == ""
    assert issubclass(ForkError, SuricateError)
    assert graph.num_edges == 2


def test_locks_of_compilation_and_threads() -> None:
    from suricate.edgefn import compile as edgefn
    from suricate.kernels import generated, walking
    from suricate.operators.cpu import instances
    from suricate.operators.cpu.intersect import intersection as intersect
    from suricate.repair.cpu import repairs as forest

    locks = [
        generated._lock, edgefn._LOCK, forest._modules._lock, instances._instances._lock, intersect._instances._lock,
        walking._modules._lock, NOTICE._lock, threads._pool._lock,
    ]  # fmt: skip

    def hold(held: threading.Event, done: threading.Event) -> None:
        for lock in locks:
            lock.acquire()
        held.set()
        done.wait()
        for lock in locks:
            lock.release()

    def compile_something() -> None:
        graph = su.Graph(5, device="cpu")
        graph.insert_edges([0, 1], [1, 2])
        assert su.neighbor_reduce(graph, None, lambda u, v, w: 7, reduce="sum").tolist() == [7, 7, 0, 0, 0]
        work = np.zeros(4, np.int64)
        with threads.Limited(2):
            threads.run(lambda i: work.__setitem__(i, 1), [(i,) for i in range(4)])
        assert work.all()
        assert NOTICE._depth == 0

    with another_thread(hold):
        assert in_child(compile_something) == ""


def test_a_fork_waits_for_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "PATIENCE", 60)
    order = []

    def hold(held: threading.Event, done: threading.Event) -> None:
        with global_compiler_lock:
            held.set()
            threading.Event().wait(0.3)
            order.append("compiled")

    with another_thread(hold):
        assert in_child(lambda: global_compiler_lock.__enter__()) == ""
        order.append("forked")
    assert order == ["compiled", "forked"]


def test_plugins_that_another_thread_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "PATIENCE", 0.2)

    def hold(held: threading.Event, done: threading.Event) -> None:
        with plugins.manager._lock:
            plugins.manager._busy.append("one")
            held.set()
            done.wait()
            plugins.manager._busy.clear()

    with another_thread(hold):
        assert in_child(lambda: plugins.backend("slabhash")) == ""


def test_a_device_without_cupy_is_named_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SURICATE_QUIET", raising=False)
    monkeypatch.setattr(devices, "cuda_device_count", lambda: 1)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(notice, "_told", set())
    assert [devices.resolve_device("auto") for _ in range(2)] == [devices.CPU] * 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "device='auto' takes the CPU, since CuPy is not installed (pip install 'suricate[cuda13]'" in line
    monkeypatch.setenv("SURICATE_QUIET", "1")
    monkeypatch.setattr(notice, "_told", set())
    devices.resolve_device("auto")
    assert capsys.readouterr().err == ""


def test_cuda_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    def count() -> int:
        return 1

    count.cache_info = lambda: type("Info", (), {"currsize": 1})  # type: ignore[attr-defined]
    monkeypatch.setattr(devices, "cuda_device_count", count)

    def ask() -> None:
        monkeypatch.delenv("SURICATE_QUIET", raising=False)
        sys.stderr = written = io.StringIO()
        assert devices.resolve_device("auto") == devices.CPU
        assert "does not work in a child of fork, so device='auto' takes the CPU" in written.getvalue()
        with pytest.raises(DeviceError, match="spawn"):
            devices.resolve_device("cuda")

    assert in_child(ask) == ""
    assert not devices._forked
