"""Ctrl-C at every line, and memory that lacks at every allocation: graphs with columns are as before, or done."""

import signal
import threading
import time
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from forked import in_child
from injected import failures, lines, state

import suricate as su
from suricate import plugins

pytestmark = pytest.mark.plain

BACKENDS = sorted(plugins.backends())
PAIRS = np.array([(0, 1), (1, 2), (2, 3), (3, 1), (4, 0), (5, 2)]).T


def make(backend, device="cpu", **options):
    options = {"in_edges": True, "edge_columns": {"km": "float32", "road": (str, "?")}, **options}
    graph = su.Graph(6, backend=backend, device=device, **options)
    graph.columns["age"] = np.arange(6) + 10
    graph.columns.add("city", list("abcdef"), missing="?")
    graph.delete_vertices([5])
    graph.insert_edges(*PAIRS, {"km": np.arange(6) / 2, "road": list("uvwxyz")})
    graph.delete_edges([0], [1])
    return graph


CHANGES = {
    "insert": lambda graph: graph.insert_edges([0, 2, 2], [1, 3, 3], {"km": [7, 8, 9], "road": list("nno")}),
    "delete": lambda graph: graph.delete_edges([1, 4], [2, 0]),
    "both": lambda graph: graph.apply(su.Batch(insert=([5], [1], {"km": 1}), delete=([1], [2]))),
    "put": lambda graph: graph.edge_columns.put("km", [1, 4], [2, 0], 5),
    "vertices": lambda graph: graph.delete_vertices([1, 4]),
    "more": lambda graph: graph.insert_vertices(90),
    "recycle": lambda graph: (graph.delete_vertices([3]), graph.insert_vertices(9, recycle=True)),
    "compact": lambda graph: graph.compact(),
    "reserve": lambda graph: graph.reserve(500),
    "column": lambda graph: graph.columns.put("city", [0, 1], ["x", "y"]),
    "columns": lambda graph: graph.columns.__setitem__("age", np.arange(6)),
}
STEPS = {"recycle": 2}


def is_whole(graph, change, states):
    """Assert that ``graph`` is in one of ``states``, and goes on as a graph in that state does."""
    graph.check()
    assert state(graph) in states
    CHANGES[change](graph)
    graph.insert_edges([0, 1, 2], [3, 3, 0], {"km": [1, 2, 3], "road": list("abc")})
    graph.delete_vertices([3])
    graph.check()
    assert graph.edge_columns.at("km", [2], [0]).tolist() == [3]


def known_states(change, **options):
    graphs = [make(**options), make(**options)]
    CHANGES[change](graphs[1])
    found = [state(graph) for graph in graphs]
    if change == "recycle":
        graphs[0].delete_vertices([3])
        found.append(state(graphs[0]))
    return found


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("change", CHANGES)
def test_an_interrupt_at_any_line(backend, change, every):
    states, count = known_states(change, backend=backend), 0
    for graph, _ in lines(partial(make, backend), CHANGES[change], every):
        is_whole(graph, change, states)
        count += 1
    assert count > 2


def signalled(change, delay, states):
    """Change a graph while another thread sends Ctrl-C after ``delay`` seconds; it must be before or done."""
    graph, ended, started = make("slabhash"), threading.Event(), threading.Event()

    def send():
        started.wait()
        until = time.perf_counter() + delay
        while time.perf_counter() < until and not ended.is_set():
            pass
        if not ended.is_set():
            signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    with suppress(KeyboardInterrupt):
        try:
            started.set()
            CHANGES[change](graph)
        finally:
            ended.set()
    thread.join()
    is_whole(graph, change, states)


@pytest.mark.parametrize("change", ["insert", "vertices", "more"])
def test_signals_in_another_process(change):
    states, start = known_states(change, backend="slabhash"), time.perf_counter()
    CHANGES[change](make("slabhash"))
    took = time.perf_counter() - start
    for delay in np.linspace(0, took, 4):
        assert in_child(partial(signalled, change, delay, states)) in ("", "KeyboardInterrupt: ")  # behind the change


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("change", CHANGES)
def test_an_allocation_that_fails(backend, device, change):
    states, count = known_states(change, backend=backend, device=device.kind), 0
    for module in {np, device.xp}:
        for graph, failed in failures(partial(make, backend, device.kind), CHANGES[change], module):
            assert not failed or state(graph) == states[0] or change == "recycle"
            is_whole(graph, change, states)
            count += failed
    assert count or change in ("compact", "reserve", "column")
