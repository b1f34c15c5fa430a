"""Steady-state updates on CUDA wait for the device never with ``checks="deferred"``, at most once with ``"eager"``."""

import gc

import numpy as np
import pytest

import suricate as su
from suricate.primitives.counters import Counters
from suricate.store import Store
from suricate.testing.syncs import captured, count_syncs

pytestmark = pytest.mark.gpu

VERTICES, BATCH = 2000, 3000


def batches(xp, count, weighted):
    """Return (src, dst, weight or None) on the device."""
    rng = np.random.default_rng(11)
    return [
        (*xp.asarray(rng.integers(0, VERTICES, (2, BATCH))), xp.asarray(rng.random(BATCH)) if weighted else None)
        for _ in range(count)
    ]


def settled_graph(backend, checks, weighted, **options):
    """Return a graph in its steady state: compiled, with memory reserved, and queries and updates behind it."""
    graph = su.Graph(
        VERTICES,
        backend=backend,
        device="cuda",
        checks=checks,
        weight_dtype="float64" if weighted else None,
        **options,
    )
    graph.reserve(40 * BATCH)
    for src, dst, weight in batches(graph.device.xp, 4, weighted):
        graph.insert_edges(src, dst, weight)
        graph.has_edges(src, dst)
        graph.delete_edges(src, dst)
    graph.synchronize()
    return graph


@pytest.mark.parametrize("options", [{}, {"in_edges": True}, {"directed": False}], ids=["out", "in", "undirected"])
@pytest.mark.parametrize("weighted", [False, True], ids=["set", "map"])
@pytest.mark.parametrize("operation", ["insert", "delete", "apply", "query"])
@pytest.mark.parametrize(("checks", "waits"), [("deferred", 0), ("eager", 1)])
@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_waits_of_a_call(backend, device, checks, waits, operation, weighted, options):
    graph = settled_graph(backend, checks, weighted, **options)
    (src, dst, weight), (src2, dst2, _) = batches(graph.device.xp, 2, weighted)
    batch = su.Batch(insert=su.EdgeList(src, dst, weight), delete=su.EdgeList(src2, dst2))
    action = {
        "insert": lambda: graph.insert_edges(src, dst, weight),
        "delete": lambda: graph.delete_edges(src, dst),
        "apply": lambda: graph.apply(batch),
        "query": lambda: graph.has_edges(src, dst),
    }[operation]
    action()
    graph.synchronize()
    counted = count_syncs(action).total
    # A kernel that checks and changes answers ahead of its end, mostly before the host gives up looking for that.
    answers = type(graph.store()).apply is not Store.apply and operation != "query"
    assert counted <= waits if answers else counted == waits


@pytest.mark.parametrize("operation", ["insert_edges", "delete_edges"])
def test_an_answer_spares_the_wait(operation, monkeypatch):
    """A fused kernel says itself that the batch is good; the host looks long enough on a busy machine."""
    monkeypatch.setattr("suricate.intake.ingest.POLLS", 10**8)
    graph = settled_graph("slabhash", "eager", weighted=False)
    (src, dst, _), *_ = batches(graph.device.xp, 1, weighted=False)
    assert count_syncs(lambda: getattr(graph, operation)(src, dst)).total == 0


def test_a_deferred_update_can_be_recorded():
    """Stream capture refuses every call that waits, also those that a counter might not know.

    The other backends send their counters to the host after every batch: CuPy does not let that be captured, though it
    does not wait.
    """
    graph = settled_graph("slabhash", "deferred", weighted=False)
    (src, dst, _), *_ = batches(graph.device.xp, 1, weighted=False)
    graph.insert_edges(src, dst)
    graph.delete_edges(src, dst)
    graph.synchronize()

    def update():
        graph.insert_edges(src, dst)
        graph.delete_edges(src[:100], dst[:100])

    captured(update, graph.device)
    distinct = {(int(u), int(v)) for u, v in zip(src.get(), dst.get(), strict=True)}
    gone = {(int(u), int(v)) for u, v in zip(src[:100].get(), dst[:100].get(), strict=True)}
    assert graph.num_edges == len(distinct - gone)
    graph.check()


def keep_busy(xp):
    """Have the device at work for some ten milliseconds."""
    large = xp.empty(1 << 26, np.uint8)
    for _ in range(400):
        large.fill(1)


def sent(xp):
    """Return whether arrays arrive on the device as they were; they go through host memory that is free now."""
    parts = [xp.asarray(np.full(size, 7)) for size in (64, 128, 256) for _ in range(50)]
    return all((part == 7).all() for part in parts)


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_a_graph_may_go_away_while_the_device_is_at_work(backend, device):
    """What its kernels send to the host then does not end up in memory that is somebody else's by now."""
    xp = device.xp
    src, dst, _ = batches(xp, 1, weighted=False)[0]
    graph = settled_graph(backend, "deferred", weighted=False)
    keep_busy(xp)
    graph.insert_edges(src, dst)
    del graph
    gc.collect()
    assert sent(xp)


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
@pytest.mark.parametrize("counters", [1, 80])
def test_so_may_counters(device, counters):
    xp = device.xp
    known, values = Counters(device, counters), xp.arange(counters)
    keep_busy(xp)
    known.post(values)
    del known
    assert sent(xp)
