"""Every algorithm on a graph of several ranks: after every change as on a graph of one process, and equal on all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.parallel import Comm, run
from suricate.plugins.algorithm import Algorithm

pytestmark = pytest.mark.plain
SIDE = 5
N = SIDE * SIDE + 1  #: a grid with a hub beside it
OF_HISTORY = ("coloring", "label_propagation")  #: valid, but another one than that of one process


def grid() -> np.ndarray:
    """Edges of a grid, both ways."""
    at = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    right, down = (np.stack((a.ravel(), b.ravel())) for a, b in ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:])))
    return np.concatenate((right, down, right[::-1], down[::-1]), axis=1)


def batches(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Edges to delete and to insert, in turn."""
    edges, others = grid(), np.arange(0, N - 1, 4)
    hub = np.stack((np.full(len(others), N - 1), others))
    few = rng.integers(0, N, (2, 12))
    return [(edges[:, :0], edges), (edges[:, ::11], hub), (hub[:, :3], few), (edges[:, 5:60:7], few[::-1]), (few, hub)]


def part(edges: np.ndarray, comm: Comm, *, uneven: bool) -> np.ndarray:
    """What a rank passes: equal parts, or everything by the last rank."""
    size = edges.shape[1]
    if uneven:
        return edges if comm.rank == comm.size - 1 else edges[:, :0]
    return edges[:, size * comm.rank // comm.size : size * (comm.rank + 1) // comm.size]


def weights(edges: np.ndarray, kind: type[Algorithm]) -> tuple[Any, ...]:
    return (((edges[0] * 7 + edges[1]) % 5 + 1).astype(np.int32),) if kind.requires.weighted is True else ()


def parts_of(result: Any) -> list[np.ndarray]:
    """A result as arrays on the host."""
    parts = result if isinstance(result, tuple) else [result]
    return [each.get() if hasattr(each, "get") else np.asarray(each) for each in parts]


def compare(
    kind: type[Algorithm], result: Any, single: list[np.ndarray], graph: su.Graph, params: dict[str, Any]
) -> None:
    """A result is that of one process; where it depends on the history it is valid."""
    if kind.name in OF_HISTORY:
        src, dst, weight = (None if part is None else graph.device.to_numpy(part) for part in graph.store().edges())
        reference = kind.reference(src, dst, weight, graph.num_vertices, graph.directed, **params)
        assert kind.mismatch(graph.device.to_numpy(result), reference, **params) is None
        return
    for one, other in zip(parts_of(result), single, strict=True):
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-9)
        else:
            np.testing.assert_array_equal(one, other)


def results_on(
    graph: su.Graph, kind: type[Algorithm], params: dict[str, Any], comm: Comm | None = None
) -> Iterator[Any]:
    """Change a graph, by the parts of a rank or by all; yield the result after each change."""
    tracker = graph.track(kind.name, **params)
    for number, both in enumerate(batches(np.random.default_rng(3))):
        gone, new = both if comm is None else [part(each, comm, uneven=number % 2 == 1) for each in both]
        graph.apply(su.Batch(delete=su.EdgeList(*gone), insert=su.EdgeList(*new, *weights(new, kind))))
        if number == 3 and "starts" not in params:
            graph.delete_vertices(sorted({N - 1, 10} - {*params.get("sources", ())}))
        yield tracker.result


def options_for(kind: type[Algorithm], directed: bool) -> dict[str, Any]:
    weight_dtype = "int32" if kind.requires.weighted is True else None
    return {"directed": directed, "in_edges": directed, "threads": 1, "weight_dtype": weight_dtype}


def of_one(kind: type[Algorithm], params: dict[str, Any], *, directed: bool) -> list[list[np.ndarray]]:
    """Return the results on a graph of one process, on the CPU."""
    graph = su.Graph(N, device="cpu", **options_for(kind, directed))
    return [[each.copy() for each in parts_of(result)] for result in results_on(graph, kind, params)]


def follow(
    comm: Comm, kind: type[Algorithm], params: dict[str, Any], *, directed: bool, device: str = "cpu",
    right: list[list[np.ndarray]] | None = None,
) -> list[list[np.ndarray]]:  # fmt: skip
    """Return the results on a graph of several ranks, compared with those of one process: ``right``, if known."""
    graph = su.Graph(N, comm=comm, device=device, **options_for(kind, directed))
    right, found = right or of_one(kind, params, directed=directed), []
    for result, single in zip(results_on(graph, kind, params, comm), right, strict=True):
        compare(kind, result, single, graph, params)
        found.append(parts_of(result))
    graph.check()
    return found


CASES = [
    pytest.param(name, directed, id=f"{name}-{'directed' if directed else 'undirected'}")
    for name, kind in su.plugins.algorithms().items()
    for directed in (True, False)
    if kind.requires.undirected in (None, not directed)
    if name != "eigenvector" or not directed  # no convergence on a directed grid
]


@pytest.mark.parametrize(("name", "directed"), few(CASES, lambda name, _: name))
def test_results_are_those_of_one_process(name: str, directed: bool) -> None:
    kind = su.plugins.algorithm(name)
    params = kind.sample_params(N, 0)  # from a corner of the grid
    ranks = 2 + (len(name) + directed) % 2
    right = of_one(kind, params, directed=directed)
    replicas = run(lambda comm: follow(comm, kind, params, directed=directed, right=right), ranks)
    for other in replicas[1:]:
        for one, two in zip(replicas[0], other, strict=True):
            assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(one, two, strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "directed"), few(CASES, lambda name, _: name))
def test_results_on_cuda_are_those_of_one_process(name: str, directed: bool) -> None:
    kind = su.plugins.algorithm(name)
    params = kind.sample_params(N, 0)
    right = of_one(kind, params, directed=directed)
    replicas = run(lambda comm: follow(comm, kind, params, directed=directed, device="cuda", right=right), 2)
    for one, two in zip(*replicas, strict=True):
        assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(one, two, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize(("name", "directed"), CASES)
def test_results_of_other_numbers_of_ranks(name: str, directed: bool, ranks: int) -> None:
    kind = su.plugins.algorithm(name)
    run(lambda comm: follow(comm, kind, kind.sample_params(N, N - 2), directed=directed), ranks)
