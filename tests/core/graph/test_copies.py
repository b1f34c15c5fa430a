"""Copies: ``copy``, ``deepcopy`` and ``pickle`` give independent graphs; deltas too; trackers and algorithms refuse."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import suricate as su
from suricate.errors import DeviceError, ParameterError, SelfLoopError
from suricate.graph.snapshot import from_bytes, to_bytes

KINDS = {
    "directed": {},
    "in-edges": {"in_edges": True, "weight_dtype": "int32", "self_loops": "error"},
    "undirected": {"directed": False, "weight_dtype": "float64"},
}
WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda graph: pickle.loads(pickle.dumps(graph)),
    "to": lambda graph: graph.to(graph.device),
}


def listed(graph):
    parts = [graph.device.to_numpy(part).tolist() for part in graph.edges() if part is not None]
    return sorted(zip(*parts, strict=True))


def state(graph):
    return (listed(graph), graph.num_vertices, graph.version, graph.deleted_vertices.tolist(), graph.has_in_edges,
            graph.backend, graph.device, graph.options.checks, graph.options.memory_limit)  # fmt: skip


@pytest.mark.plain
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_is_independent(backend, device, kind, way):
    rng = np.random.default_rng(4)
    graph = su.Graph(40, backend=backend, device=device, memory_limit="64MB", checks="deferred", **KINDS[kind])
    weight = None if graph.weight_dtype is None else 3
    src = rng.integers(0, 40, 300)
    graph.insert_edges(src, (src + rng.integers(1, 40, 300)) % 40, weight)
    graph.delete_vertices([3, 7])
    tracker = graph.track("bfs", source=0)
    before, counts = state(graph), tracker.updates.updated + tracker.updates.computed

    other = WAYS[way](graph)
    assert state(other) == before
    other.insert_edges([0, 1, 3], [3, 5, 4], weight)
    other.delete_edges([int(src[0])], [int(src[0] + 1) % 40])
    other.delete_vertices([9])
    other.insert_vertices(2, recycle=True)
    other.compact()
    other.check()
    graph.check()
    assert state(graph) == before
    assert tracker.updates.updated + tracker.updates.computed == counts

    changed = state(other)
    graph.insert_edges([5], [6], weight)
    graph.delete_vertices([1, 2])
    assert state(other) == changed
    other.check()
    if kind == "in-edges":
        with pytest.raises(SelfLoopError):
            other.insert_edges([1], [1], 2)


def test_deepcopy_of_what_holds_a_graph(backend, device):
    graph = su.Graph(4, backend=backend, device=device)
    holder = {"graph": graph, "again": graph}
    other = copy.deepcopy(holder)
    assert other["graph"] is other["again"] is not graph


class SubGraph(su.Graph):
    """A subclass in a module of its own."""


@pytest.mark.parametrize("way", WAYS)
def test_subclasses_stay_what_they_are(device, way):
    assert type(WAYS[way](SubGraph(3, device=device))) is SubGraph


def test_backend_options_are_kept(device):
    graph = su.Graph(30, backend="slabhash", device=device, slab_bytes=64, load_factor=1.5, hashing=True)
    for way in WAYS.values():
        assert way(graph).store().options() == graph.store().options()


def test_a_graph_of_an_absent_device(monkeypatch):
    graph = su.Graph(3, device="cpu")
    data = to_bytes(graph)
    monkeypatch.setattr("suricate.base.devices.cuda_device_count", lambda: 0)
    with pytest.raises(DeviceError, match=r"the graph was pickled on cuda: .*; use save\(\) and load\(\) instead"):
        from_bytes(su.Graph, graph.options, "cuda", data)


@pytest.mark.parametrize("way", ["copy", "deepcopy", "pickle"])
def test_trackers_and_algorithms_are_not_copied(device, way):
    tracker = su.Graph(3, device=device).track("bfs", source=0)
    with pytest.raises(ParameterError, match="cannot be copied or pickled"):
        WAYS[way](tracker)
    with pytest.raises(ParameterError, match="copy its result"):
        WAYS[way](tracker.algorithm)


@pytest.mark.parametrize("way", ["copy", "deepcopy", "pickle"])
def test_deltas_are_copied_as_their_lists(backend, device, way):
    graph = su.Graph(5, backend=backend, device=device, weight_dtype="float32", in_edges=True)
    graph.insert_edges([0, 1, 2], [1, 2, 3], [1, -0.0, 3])
    delta = graph.apply(su.Batch(insert=([1, 4], [2, 4], [0.0, 9]), delete=([0], [1])))
    other = WAYS[way](delta)
    graph.insert_edges([3], [4], 7)
    assert repr(other) == repr(delta) == "Delta(inserted=1, deleted=1, replaced=1)"
    for kind in ("inserted", "deleted", "replaced", "replaced_old"):
        for mine, theirs in zip(delta.arcs(kind).read(), other.arcs(kind).read(), strict=True):
            assert device.to_numpy(mine).tobytes() == device.to_numpy(theirs).tobytes()
    deleted = WAYS[way](graph.delete_vertices([4, 2]))
    assert device.to_numpy(deleted.deleted_vertices).tolist() == [2, 4]
