"""Insertions of edges by name that are refused, lack memory or are interrupted: all is as before, or all is done."""

from contextlib import nullcontext
from functools import partial
from threading import Thread
from unittest import mock

import numpy as np
import pytest
from injected import failures, lines

import suricate as su
from suricate.base.errors import CheckFailed
from suricate.errors import CapacityError, RequirementError, VertexRangeError
from suricate.parallel import run

RNG = np.random.default_rng(3)
OLD, NEW = [f"p{k}" for k in range(60)], [f"q{k}" for k in RNG.integers(0, 200, 300)]
ENDS = [f"p{k}" for k in RNG.integers(0, 60, 300)]


def made(backend, device="cpu", **options):
    """Return a graph with free ids of names, vertices without names, columns and trackers."""
    graph = su.Graph(names=OLD, device=device, backend=backend, in_edges=True, weight_dtype="float32", **options)
    graph.insert_edges(OLD[:40], OLD[20:], np.arange(40))
    graph.columns["age"] = np.arange(60)
    graph.delete_vertices(OLD[:5])
    graph.insert_vertices(5, recycle=True)
    graph.insert_vertices(3)
    graph.delete_vertices([61])
    return graph


CALLS = {
    "insert": lambda graph: graph.insert_edges(NEW, ENDS, 2),
    "apply": lambda graph: graph.apply(su.Batch(insert=(NEW, ENDS, 1), delete=(OLD[20:40], OLD[40:]))),
    "recycle": lambda graph: graph.insert_vertices(2, recycle=True),
}


def view(graph):
    """Return all that a graph tells."""
    src, dst, weight = (graph.device.to_numpy(part) for part in graph.edges())
    names, order = graph.names, np.lexsort((dst, src))
    edges = [part[order].tolist() for part in (src, dst, weight)]
    state = {name: part.tolist() for name, part in names.state().items()}
    about = graph.num_vertices, graph.version, len(names), names.num_ids, graph.deleted_vertices.tolist()
    return about, edges, graph.columns["age"].tolist(), state


@pytest.mark.compiled
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "early", [partial(lines, every=4), partial(failures, module=np)], ids=["interrupts", "allocations"]
)
def test_a_named_change_that_ends_early_is_whole(backend, early, call):
    graph = made(backend)
    before = view(graph)
    CALLS[call](graph)
    after = view(graph)

    def tracked():
        graph = made(backend)
        return graph, graph.track("wcc")

    for (graph, tracker), failed in early(tracked, lambda made: CALLS[call](made[0])):
        graph.check()
        now = view(graph)
        assert now in ((before, after) if failed else (after,))
        assert tracker.result.label.tolist() == graph.compute("wcc").label.tolist()
        if now == before:
            CALLS[call](graph)
            assert view(graph) == after


@pytest.mark.slow
@pytest.mark.parametrize("call", ["insert", "apply"])
def test_a_named_change_beyond_the_limit_changes_nothing(every_backend, device, call):
    refused = 0
    for limit in range(2000, 200_000, 1000):
        try:
            graph = made(every_backend, device, memory_limit=limit)
        except CapacityError:
            continue
        before, tracker = view(graph), graph.track("wcc")
        try:
            CALLS[call](graph)
        except CapacityError:
            refused += 1
            graph.check()
            assert view(graph) == before
            assert len(tracker.result.label) == graph.num_vertices
        else:
            break
    graph.check()
    assert refused or device.is_cuda
    assert set(graph.names) == {*OLD[5:], *NEW, *ENDS}


def test_invalid_edges_beside_new_names_change_nothing(backend, device):
    graph = made(backend, device)
    before, xp = view(graph), device.xp
    for wrong in ([99], xp.asarray([63])):  # 63 is to be the id of a new name
        with pytest.raises(VertexRangeError, match="delete"):
            graph.apply(su.Batch(insert=(["new"], ["p9"], 1), delete=([0], wrong)))
        assert view(graph) == before
    with pytest.raises(su.errors.WeightError):
        graph.insert_edges(["new"], ["p9"], np.nan)
    assert view(graph) == before
    delta = graph.insert_edges(["new"], ["p9"], 1)
    assert (delta.num_vertices_before, graph.num_vertices, delta.num_inserted) == (63, 64, 1)
    assert graph.names.find("new") == 63
    graph.check()


def test_names_ahead_of_the_vertices_are_seen(tmp_path):
    graph = su.Graph(names=["a", "b"], device="cpu")
    graph.check()
    graph.names.intern(["c"])
    with pytest.raises(CheckFailed, match="names"):
        graph.check()
    with pytest.raises(RequirementError, match="3 ids"):
        graph.save(tmp_path / "g.npz")
    graph.insert_vertices()
    graph.save(tmp_path / "g.npz")
    loaded = su.Graph.load(tmp_path / "g.npz", device="cpu")
    loaded.check()
    assert list(loaded.names) == ["a", "b", "c"]


def test_another_thread_finds_no_name_before_its_vertex():
    """While the graph changes, threads that ask for names wait."""
    graph, seen = su.Graph(names=["a"], device="cpu"), []
    asks = Thread(target=lambda: seen.append(graph.names.find("b")))

    def apply(*args, real=graph._updater.apply):
        asks.start()
        assert len(graph.names) == 1
        return real(*args)

    with mock.patch.object(graph._updater, "apply", apply):
        graph.insert_edges(["b"], ["a"])
    asks.join()
    assert seen == [1]


def test_one_process_that_lacks_memory_refuses_for_all():
    def job(comm):
        graph = su.Graph(names=["a"], device="cpu", comm=comm)
        grow = mock.patch.object(graph.names, "_resolve", side_effect=MemoryError)
        with grow if comm.rank else nullcontext(), pytest.raises((CapacityError, MemoryError)):
            graph.insert_edges(["b"], ["a"])
        assert (graph.num_vertices, len(graph.names), graph.version) == (1, 1, 0)
        graph.insert_edges(["c"] if comm.rank else ["b"], ["a"])
        graph.check()
        return list(graph.names)

    assert run(job, 2) == [["a", "b", "c"]] * 2
