"""Ctrl-C leaves no change of a graph half done, and no tracker behind."""

from __future__ import annotations

import _thread
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import suricate as su
from suricate import plugins
from suricate.base.devices import CPU
from suricate.graph.interrupts import Uninterrupted
from suricate.graph.options import GraphOptions
from suricate.graph.update import Updater
from suricate.kernels import generated


@pytest.fixture(autouse=True)
def handler():
    """Ctrl-C as in an interactive session: what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_the_end():
    done = []

    def work():
        with Uninterrupted():
            with Uninterrupted():
                _thread.interrupt_main()
                done.append(1)
            done.append(2)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1, 2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_handler_is_given_what_was_interrupted():
    seen = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append((number, frame.f_code.co_filename)))
    with Uninterrupted():
        _thread.interrupt_main()
        assert not seen
    assert seen == [(signal.SIGINT, __file__)]


def test_other_threads_and_handlers_are_left_alone():
    seen = []

    def enter():
        with Uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    enter()
    assert seen == [signal.default_int_handler, signal.SIG_IGN]


def interrupting(function):
    """Return ``function``, with Ctrl-C before it."""

    def call(*args, **kwargs):
        _thread.interrupt_main()
        return function(*args, **kwargs)

    return call


CHANGES = {
    "insert": lambda graph: graph.insert_edges([5, 0], [0, 1], 3),
    "delete": lambda graph: graph.delete_edges([0, 5], [1, 2]),
    "apply": lambda graph: graph.apply(su.Batch(([5], [0], 1), ([0], [1]))),
    "delete_vertices": lambda graph: graph.delete_vertices([1, 3]),
    "resize": lambda graph: graph.insert_vertices(3),
}


@pytest.mark.parametrize("backend", sorted(plugins.backends()))
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_whole_and_trackers_follow(backend, change, monkeypatch):
    options = {"backend": backend, "device": "cpu", "weight_dtype": "int32", "in_edges": True}
    graph, expected = su.Graph(6, **options), su.Graph(6, **options)
    for each in (graph, expected):
        each.insert_edges([0, 1, 1, 3], [1, 2, 3, 4], [1, 2, 3, 4])
    trackers = [graph.track("wcc"), graph.track("spmv")]
    second = graph.store("in")
    for operation in ("insert", "delete", "delete_vertices", "resizing"):
        monkeypatch.setattr(second, operation, interrupting(getattr(second, operation)))
    with pytest.raises(KeyboardInterrupt):
        CHANGES[change](graph)
    CHANGES[change](expected)
    graph.check()
    assert graph.version == expected.version
    assert graph.num_vertices == expected.num_vertices
    for got, right in zip(graph.edges(), expected.edges(), strict=True):
        np.testing.assert_array_equal(got, right)
    assert [tracker.stale for tracker in trackers] == [True, True]
    assert trackers[0].result.label.tolist() == expected.compute("wcc").label.tolist()
    assert trackers[1].result.tolist() == expected.compute("spmv").tolist()
    assert [tracker.stale for tracker in trackers] == [False, False]


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "in-steps"])
def test_an_interrupt_comes_after_the_revival_of_vertices(device, monkeypatch, fused):
    graph = su.Graph(4, device=device, backend="slabhash" if fused else "gpma")
    graph.delete_vertices([2])
    live = graph._updater.live
    monkeypatch.setattr(live, "revive", interrupting(live.revive))
    edge = (device.xp.asarray([end], np.int64) for end in (0, 2))
    with pytest.raises(KeyboardInterrupt):
        graph.insert_edges(*edge)
    graph.check()
    assert (graph.num_live, graph.num_edges) == (4, 1)
    monkeypatch.setattr(live, "apply", interrupting(live.apply))
    with pytest.raises(KeyboardInterrupt):
        graph.delete_vertices([2])
    graph.check()
    assert (graph.num_live, graph.num_edges) == (3, 0)


class Interrupted(su.Algorithm):
    """Sees Ctrl-C in its updates."""

    name = "interrupted"

    def compute(self, graph):
        self.edges = graph.num_edges

    def update(self, graph, delta):
        raise KeyboardInterrupt

    result = property(lambda self: self.edges)


def test_trackers_that_an_interrupt_has_left_behind_are_computed_from_scratch():
    graph = su.Graph(4, device="cpu")
    trackers = [graph.track("wcc"), graph.track(Interrupted), graph.track("spmv")]
    with pytest.raises(KeyboardInterrupt):
        graph.insert_edges([0, 1], [1, 2])
    graph.insert_edges([2], [3])
    assert [tracker.stale for tracker in trackers] == [False, True, True]
    last = trackers.pop()
    last.close()
    assert last.result.tolist() == [1, 1, 1, 0]
    assert trackers[1].result == 3
    assert trackers[0].result.num_components == 1


@pytest.mark.parametrize("step", ["carry_out", "raise_pending"])
def test_a_batch_on_the_device_that_is_interrupted_counts_as_a_change(step):
    """It may have been launched, and the end of the wait for it does not end it."""
    options = GraphOptions(plugins.backend("slabhash"), True, None, False, "allow", "eager", None, {}, None)
    updater = Updater(options.make_stores(4, CPU, None, None), options)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    def nothing(*args, **kwargs):
        return None

    batch, names = SimpleNamespace(size=1, change=nothing), ("begin", "allocate_next", "raise_pending")
    ingest = dict.fromkeys(names, nothing) | {"batches": lambda *args, **options: (None, batch)}
    stores = {"prepare": lambda *args: [nothing], "carry_out": nothing}
    updater.ingest = SimpleNamespace(**{**ingest, step: interrupt})
    updater._all, ids = SimpleNamespace(**{**stores, step: interrupt}), np.zeros(1, np.uint32)
    with pytest.raises(KeyboardInterrupt):
        updater.apply(None, (ids, ids, None))
    assert updater.version == 1


def test_a_generated_module_is_there_as_a_whole_or_not_at_all(monkeypatch):
    monkeypatch.setattr(signal, "stop", True, raising=False)
    text = "import signal\n\nif signal.stop:\n    raise KeyboardInterrupt\nvalue = 5\n"
    with pytest.raises(KeyboardInterrupt):
        generated.load_module("halves", text)
    monkeypatch.setattr(signal, "stop", False, raising=False)
    assert generated.load_module("halves", text).value == 5
