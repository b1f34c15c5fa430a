"""What pulls, maps and their unions launch on CUDA, without a GPU: every kernel gets the arguments that it declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuda_samples import operators
from launches import array
from operator_launches import FakeGraph, call_of, launched

import suricate as su
from suricate.base.types import ArcList
from suricate.operators import binding, schemes
from suricate.operators.call import UNLIMITED, Start
from suricate.operators.cuda import driver
from suricate.operators.results import Layers, empty_layers
from suricate.state.frontier import Frontier

BACKENDS = ("csr_baseline", "hornet_like", "slabhash", "blocked", "gpma")


def read(u, v, w, x):
    return x[u] * w


def keep(v, value, x):
    x[v] = value
    return value > 3


def above(v, x):
    return x[v] > 3


def at(i, v, x):
    return x[v] > i


def relax(v, value, x):
    x[v] = value
    return 3


def read_first(u, v, w, x, y):
    return x[u] * w


def store_second(v, value, x, y):
    y[v] = value


def publish(v, x):
    x[v] = 0


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return launched(monkeypatch)


@pytest.fixture(params=BACKENDS)
def graph(request: pytest.FixtureRequest) -> su.Graph:
    return su.Graph(10_000, backend=request.param, device="cpu", in_edges=True, weight_dtype="float32")


def ids(fake: Any, count: int, *, known: bool = True, distinct: bool = True) -> Frontier:
    number = None if known else array(1, np.uint32)
    return Frontier._of(fake.device, array(count, np.uint32), number, num_vertices=fake.num_vertices, distinct=distinct)


@pytest.mark.parametrize("over", ["out", "in", "both"])
@pytest.mark.parametrize("scheme", ["auto", "vertex", "bucket", "scan", "updated"])
@pytest.mark.parametrize("size", [None, 3])
def test_values(graph: su.Graph, kernels: list[str], over: str, scheme: str, size: int | None) -> None:
    fake = FakeGraph(graph)
    whole = scheme in ("scan", "updated")
    if (whole and size) or (scheme == "updated" and over == "both") or (scheme == "scan" and not fake.view().can_scan):
        return
    call = call_of(fake, binding.bind_pull(graph, read, (np.zeros(10_000),), "sum", None, None, None))
    out = array(size or 10_000, np.float64)
    driver.neighbor_reduce(fake, call, None if size is None else array(size, np.uint32), out, over, scheme)
    assert 1 <= len(kernels) <= 2


@pytest.mark.parametrize("over", ["out", "in", "both"])
@pytest.mark.parametrize("stored", [False, True])
def test_epilogues(graph: su.Graph, kernels: list[str], over: str, stored: bool) -> None:
    fake = FakeGraph(graph)
    call = call_of(fake, binding.bind_pull(graph, read, (np.zeros(10_000),), "sum", None, None, keep))
    out = array(10_000, np.float64) if stored else None
    for vertices in (None, Start((ids(fake, 5, known=False),)), Start((ids(fake, 5),))):
        kernels.clear()
        frontier = driver.neighbor_reduce(fake, call, vertices, out, over, "auto")
        assert frontier.known_count is None
        assert len(kernels) <= (3 if over == "both" else 2)
    driver.neighbor_reduce(fake, call, Start((ids(fake, 5), ids(fake, 7))), out, over, "auto")
    assert kernels[-3] == "merge_vertices"


def test_epilogues_of_high_degrees_go_by_scan(graph: su.Graph, kernels: list[str]) -> None:
    fake = FakeGraph(graph)
    call = call_of(fake, binding.bind_pull(graph, read, (np.zeros(10_000),), "sum", None, None, keep))
    fake.most_arcs = schemes.SCAN_DEGREE * fake.num_vertices
    driver.neighbor_reduce(fake, call, None, None, "in", "auto")
    by_vertex = ["reduce_vertices", "reduce_heavy_vertices"]
    scans = schemes.scans_by_owner(fake.view())
    assert kernels == (["reduce_segments", "complete_vertices"] if scans else by_vertex)
    kernels.clear()
    driver.neighbor_reduce(fake, call, Start((ids(fake, 5),)), None, "in", "auto")
    assert kernels == by_vertex


def test_passes_over_more_vertices_than_the_cache_has_sums_of_scan_only_chains(
    graph: su.Graph, kernels: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeGraph(graph)
    monkeypatch.setattr(schemes, "SCAN_VERTICES", fake.num_vertices - 1)
    call = call_of(fake, binding.bind_pull(graph, read, (np.zeros(10_000),), "sum", None, None, keep))
    fake.most_arcs = schemes.SCAN_DEGREE * fake.num_vertices
    driver.neighbor_reduce(fake, call, None, None, "in", "auto")
    by_vertex = ["reduce_vertices", "reduce_heavy_vertices"]
    assert kernels == (["reduce_segments", "complete_vertices"] if fake.view().chained else by_vertex)


def test_maps(graph: su.Graph, kernels: list[str]) -> None:
    fake = FakeGraph(graph)
    call = call_of(fake, binding.bind_map(graph, above, (np.zeros(10_000),)))
    driver.vertex_map(fake, call, Start((ids(fake, 5, known=False),)))
    driver.vertex_map(fake, call, Start((ids(fake, 5, distinct=False),)))
    assert kernels == ["map_vertices", "merge_vertices", "map_vertices"]
    call = call_of(fake, binding.bind_map(graph, at, (np.zeros(10_000),)))
    driver.vertex_map(fake, call, Start((ids(fake, 5, distinct=False),)))
    assert kernels[3:] == ["map_vertices"]


def test_ends_of_arcs_are_merged(graph: su.Graph, kernels: list[str]) -> None:
    from suricate.operators.cuda.launches import merged

    fake = FakeGraph(graph)
    arcs = ArcList(array(4, np.uint32), array(4, np.uint32), None, array(4, np.uint8), 1, 4)
    frontier = merged(fake, Start((), (arcs, arcs._replace(status=None))))
    assert frontier.capacity == 16
    merged(fake, Start((ids(fake, 3),), (arcs, arcs)))
    assert kernels == ["merge_vertices"] * 3  # a launch merges two lists


@pytest.mark.parametrize("over", ["out", "in", "both"])
def test_effects(graph: su.Graph, kernels: list[str], over: str) -> None:
    fake = FakeGraph(graph)
    call = call_of(fake, binding.bind_effect(graph, operators.ADDS, (np.zeros(10_000), 1)))
    arcs = ArcList(array(4, np.uint32), array(4, np.uint32), None, array(4, np.uint8), 1, 4)
    driver.edge_map(fake, call, Start((), (arcs, arcs._replace(status=None, weight=array(4, np.float32)))), over)
    assert kernels == ["map_arcs"] * 2
    everything = {"map_segments"} if fake.view().can_scan else {"map_edges", "map_heavy_edges"}
    driver.edge_map(fake, call, Start((Frontier._of_all(fake.device, fake.num_vertices),)), over)
    assert set(kernels[2:]) == everything
    kernels.clear()
    driver.edge_map(fake, call, Start((ids(fake, 5, known=False),)), over)
    assert kernels == ["map_edges", "map_heavy_edges"]


@pytest.mark.parametrize("over", ["out", "in", "both"])
def test_layers(graph: su.Graph, kernels: list[str], over: str) -> None:
    fake = FakeGraph(graph)
    layers = Layers(fake.device, array(9, np.uint32), array(11, np.int64), array(1, np.int64), num_vertices=10_000)
    for then, out in ((keep, None), (keep, array(10_000, np.float32)), (None, array(10_000, np.float32))):
        bound = binding.bind_pull(graph, read, (np.zeros(10_000, np.float32),), "sum", None, np.float32, then)
        found = driver.neighbor_reduce(fake, call_of(fake, bound), layers.reversed, out, over, "auto")
        assert (found is None) == (then is None)
    assert kernels == ["reduce_layers"] * 3
    driver.neighbor_reduce(fake, call_of(fake, bound), empty_layers(fake.device, 10_000, 0), out, over, "auto")
    assert len(kernels) == 3


@pytest.mark.parametrize("then", [None, keep])
def test_modes_leave_hubs_to_a_second_launch(graph: su.Graph, kernels: list[str], then: Any) -> None:
    fake = FakeGraph(graph)
    call = call_of(fake, binding.bind_pull(graph, read, (np.zeros(10_000, np.float32),), "mode", None, None, then))
    vertices = None if then is None else Start((ids(fake, 5, known=False),))
    driver.neighbor_reduce(fake, call, vertices, None if then else array(10_000, np.float32), "out", "auto")
    assert kernels == ["reduce_vertices", "reduce_heavy_vertices"]


@pytest.mark.parametrize("over", ["out", "in", "both"])
@pytest.mark.parametrize("wake", ["out", "in", "both"])
def test_rounds(graph: su.Graph, kernels: list[str], over: str, wake: str) -> None:
    fake = FakeGraph(graph)
    call = call_of(fake, binding.bind_pull(graph, read, (np.zeros(10_000),), "sum", None, None, relax, publish))
    arcs = ArcList(array(4, np.uint32), array(4, np.uint32), None, array(4, np.uint8), 1, 4)
    driver.converge(fake, call, Start((ids(fake, 5),), (arcs,)), over, wake, 100, None)
    assert kernels == ["merge_vertices", "converge"]
    kernels.clear()
    both = call_of(fake, binding.bind_pull(graph, read_first, (np.zeros(10_000),) * 2, "sum", None, None, store_second))
    driver.converge(
        fake,
        both,
        Start((Frontier._of_all(fake.device, fake.num_vertices),)),
        over,
        None,
        100,
        None,
        UNLIMITED,
        ((0, 1),),
    )
    assert kernels == ["passes"]
