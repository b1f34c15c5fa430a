"""An update follows the change: few waits and launches, little memory, and as many vertices on a larger graph."""

from __future__ import annotations

import inspect
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from counting_backend import counting_store
from turns import few

import suricate as su
from suricate.bench.workloads.short import files_of_calls
from suricate.errors import UnknownNameError
from suricate.testing.costs import Costs, measure
from suricate.testing.syncs import captured

pytestmark = pytest.mark.compiled

BATCH = 1000
SCALES = {"cuda": (18, 20), "cpu": (12, 14)}
LARGER = {"df": (17, 19), "dfp": (17, 19)}  # on the CPU: of smaller graphs a batch touches a 16th, and then all
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {  # name -> algorithm, parameters, graph
    "bfs": ("bfs", {}, {"in_edges": True}),
    "sssp": ("sssp", {}, {"in_edges": True, "weight_dtype": "float32"}),
    "wcc": ("wcc", {}, {"directed": False}),
    "triangles": ("triangles", {"method": "dynamic"}, {"directed": False}),
    "kcore": ("kcore", {}, {"directed": False}),
    "df": ("pagerank", {"method": "df", "tol": 1e-3}, {"in_edges": True}),  # at 1e-5 a batch really changes most ranks
    "dfp": ("pagerank", {"method": "dfp", "tol": 1e-3}, {"in_edges": True}),
    "spmv": ("spmv", {}, {"in_edges": True}),
    "coloring": ("coloring", {}, {"directed": False}),
    "independent_set": ("independent_set", {}, {"directed": False}),
    "label_propagation": ("label_propagation", {}, {"directed": False}),
}
ON_CPU = {
    "msf": ("msf", {}, {"directed": False, "weight_dtype": "float32"})
}  # waits on CUDA, and passes over all vertices
COUNTED = ("wcc", "triangles", "kcore", "msf")  # loops of structures of their own do most of the work of these
NUMBERS = (4, 5, 6)  # of batches that are measured
OPERATIONS = ("insert", "delete", "apply")


@cache
def edges_of(scale: int) -> su.EdgeList:
    """An R-MAT graph of eight edges per vertex."""
    return su.generate.rmat(scale, 8, seed=1)


def params_of(case: str) -> dict[str, Any]:
    """Return the parameters of a case; skip it if its algorithm is not installed, or lacks one of them."""
    name, params, _ = (CASES | ON_CPU)[case]
    try:
        algorithm = su.plugins.algorithm(name)
    except UnknownNameError:
        pytest.skip(f"algorithm {name} is not installed")
    unknown = params.keys() - inspect.signature(algorithm).parameters.keys()
    if unknown:
        pytest.skip(f"{name} has no parameter {', '.join(unknown)}")
    if algorithm.update_kind == "recompute":
        pytest.skip(f"{name} recomputes")
    return params


class TrackedGraph:
    """A tracked R-MAT graph, and batches of random edges for it."""

    def __init__(self, case: str, scale: int, device: str, checks: str, **more: Any) -> None:
        name, _, options = (CASES | ON_CPU)[case]
        edges = edges_of(scale)
        rng = np.random.default_rng(2)
        self.graph = su.Graph(1 << scale, device=device, checks=checks, **options, **more)
        self.weighted = self.graph.weight_dtype is not None
        weight = rng.integers(1, 64, len(edges.src)).astype(np.float32)
        self.graph.insert_edges(*self.on_device(edges.src, edges.dst, weight))
        self.graph.reserve(64 * BATCH)  # a store that grows waits, whichever batch it is that makes it grow
        params = params_of(case)
        if name in ("bfs", "sssp"):
            params = {**params, "source": int(np.bincount(edges.src).argmax())}
        self.tracker = self.graph.track(name, **params)
        self.batches = [self.on_device(*rng.integers(0, 1 << scale, (2, BATCH)), weight[:BATCH]) for _ in range(8)]
        for number in range(4):
            self.change("insert", number)
            self.change("delete", number)
        self.change("insert", 0)
        for number in range(1, 4):
            self.change("apply", number)
        self.graph.synchronize()

    def on_device(self, *arrays: Any) -> tuple[Any, ...]:
        return tuple(map(self.graph.device.xp.asarray, arrays[: 3 if self.weighted else 2]))

    def change(self, operation: str, number: int) -> None:
        """Insert a batch, delete it, or insert it and delete the one before it."""
        batch = self.batches[number]
        if operation == "insert":
            self.graph.insert_edges(*batch)
        elif operation == "delete":
            self.graph.delete_edges(*batch[:2])
        else:
            self.graph.apply(su.Batch(insert=batch, delete=self.batches[number - 1][:2]))

    def costs(self, operation: str, number: int) -> Costs:
        """Return what a change costs."""
        return measure(partial(self.change, operation, number), self.graph.device)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("checks", ["eager", "deferred"])
@pytest.mark.parametrize("scale", SCALES["cuda"])
@pytest.mark.gpu
def test_an_update_waits_once_at_most_in_twelve_launches_and_64_bytes_per_edge(
    case: str, checks: str, scale: int
) -> None:
    params_of(case)
    tracked = TrackedGraph(case, scale, "cuda", checks)
    for operation, number in (("insert", 4), ("delete", 4), ("apply", 6)):
        tracked.change(operation, number)  # memory for the outcome of a batch like this one is taken ahead
        costs = tracked.costs(operation, number + 1)
        tracked.graph.synchronize()
        edges = BATCH * (2 if operation == "apply" else 1)
        assert costs.waits.total() <= (checks == "eager"), (operation, costs.waits)
        assert costs.launches <= 12, (operation, costs.kernels)
        assert costs.allocated <= 64 * edges, (operation, costs)
    assert not tracked.tracker.stale


@pytest.mark.parametrize("case", CASES)
@pytest.mark.gpu
def test_a_deferred_update_can_be_recorded(case: str) -> None:
    """While a stream is recorded the CUDA runtime refuses whatever waits."""
    params_of(case)
    tracked = TrackedGraph(case, 18, "cuda", "deferred")
    for operation in OPERATIONS[:2]:
        captured(partial(tracked.change, operation, 5), tracked.graph.device)


@pytest.mark.parametrize(("tracked", "most"), [([], 25), (["wcc"], 49), (["bfs"], 75)])
def test_a_small_insertion_makes_few_calls_of_python(tracked: list[str], most: int) -> None:
    graph = su.Graph(1 << 12, backend="slabhash", device="cpu")
    graph.insert_edges(*edges_of(12)[:2])
    trackers = [graph.track(name) for name in tracked]
    ends = np.arange(10), np.arange(10, 20)
    graph.insert_edges(*ends)
    assert len(files_of_calls(lambda: graph.insert_edges(*ends[::-1]))) <= most
    assert not any(tracker.stale for tracker in trackers)


@pytest.mark.parametrize("case", few(CASES))
def test_a_graph_four_times_as_large_has_at_most_twice_as_many_vertices_visited(case: str, device: su.Device) -> None:
    params_of(case)
    scales = SCALES["cuda"] if device.is_cuda else LARGER.get(case, SCALES["cpu"])
    graphs = [TrackedGraph(case, scale, str(device), "eager") for scale in scales]
    for operation in OPERATIONS:
        small, large = (sum(each.costs(operation, k).visited for k in NUMBERS) for each in graphs)
        assert large <= 2 * small + len(NUMBERS) * BATCH, (operation, small, large)  # few are visited by chance


@pytest.mark.slow
@pytest.mark.parametrize("case", COUNTED)
def test_structures_visit_at_most_twice_as_many_vertices_of_a_graph_four_times_as_large(case: str) -> None:
    store, visits = counting_store(), {}
    for scale in SCALES["cpu"]:
        tracked = TrackedGraph(case, scale, "cpu", "eager", backend=store, threads=1)
        for operation in OPERATIONS:
            before = int(store.visits[0])
            for number in NUMBERS:
                tracked.change(operation, number)
            visits[operation, scale] = int(store.visits[0]) - before
    for operation in OPERATIONS:
        small, large = (visits[operation, scale] for scale in SCALES["cpu"])
        assert large <= 2 * small + len(NUMBERS) * BATCH, (operation, small, large)
    assert all(visits["delete", scale] for scale in SCALES["cpu"]), visits  # components join without a look at edges
