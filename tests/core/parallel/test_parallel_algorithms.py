"""Every algorithm on a graph of several ranks: after every change as on a graph of one process, and equal on all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.parallel import Comm, run
from suricate.plugins.algorithm import Algorithm

pytestmark = pytest.mark.plain
SIDE = 7
N = SIDE * SIDE + 1  #: a grid with a hub beside it
OF_HISTORY = ("coloring", "label_propagation")  #: valid, but another one than that of one process


def grid() -> np.ndarray:
    """Edges of a grid, both ways."""
    at = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    right, down = (np.stack((a.ravel(), b.ravel())) for a, b in ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:])))
    return np.concatenate((right, down, right[::-1], down[::-1]), axis=1)


def batches(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Edges to delete and to insert, in turn."""
    edges, hub = grid(), np.stack((np.full(9, N - 1), np.arange(0, N - 1, 6)))
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


def compare(kind: type[Algorithm], result: Any, single: Any, graph: su.Graph, params: dict[str, Any]) -> None:
    """A result is that of one process; where it depends on the history it is valid."""
    if kind.name in OF_HISTORY:
        src, dst, weight = (None if part is None else graph.device.to_numpy(part) for part in graph.store().edges())
        reference = kind.reference(src, dst, weight, graph.num_vertices, graph.directed, **params)
        assert kind.mismatch(graph.device.to_numpy(result), reference, **params) is None
        return
    for one, other in zip(parts_of(result), parts_of(single), strict=True):
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-9)
        else:
            np.testing.assert_array_equal(one, other)


def follow(
    comm: Comm, kind: type[Algorithm], params: dict[str, Any], *, directed: bool, device: str = "cpu"
) -> list[list[np.ndarray]]:
    """Change a graph of several ranks and one of one process, on the CPU, in step; return the results of the former."""
    options: dict[str, Any] = {"directed": directed, "in_edges": directed, "threads": 1}
    options["weight_dtype"] = "int32" if kind.requires.weighted is True else None
    divided, single = su.Graph(N, comm=comm, device=device, **options), su.Graph(N, device="cpu", **options)
    trackers = [graph.track(kind.name, **params) for graph in (divided, single)]
    found = []
    for number, (gone, new) in enumerate(batches(np.random.default_rng(3))):
        mine = [part(each, comm, uneven=number % 2 == 1) for each in (gone, new)]
        divided.apply(su.Batch(delete=su.EdgeList(*mine[0]), insert=su.EdgeList(*mine[1], *weights(mine[1], kind))))
        single.apply(su.Batch(delete=su.EdgeList(*gone), insert=su.EdgeList(*new, *weights(new, kind))))
        if number == 3 and "starts" not in params:
            for graph in (divided, single):
                graph.delete_vertices([N - 1, 10])
        result = trackers[0].result
        compare(kind, result, trackers[1].result, divided, params)
        found.append(parts_of(result))
    divided.check()
    return found


CASES = [
    pytest.param(name, directed, id=f"{name}-{'directed' if directed else 'undirected'}")
    for name, kind in su.plugins.algorithms().items()
    for directed in (True, False)
    if kind.requires.undirected in (None, not directed)
    if name != "eigenvector" or not directed  # no convergence on a directed grid
]


@pytest.mark.by_turns("name")
@pytest.mark.parametrize(("name", "directed"), CASES)
def test_results_are_those_of_one_process(name: str, directed: bool) -> None:
    kind = su.plugins.algorithm(name)
    params = kind.sample_params(N, 0)  # from a corner of the grid
    ranks = 2 + (len(name) + directed) % 2
    replicas = run(lambda comm: follow(comm, kind, params, directed=directed), ranks)
    for other in replicas[1:]:
        for one, two in zip(replicas[0], other, strict=True):
            assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(one, two, strict=True))


@pytest.mark.gpu
@pytest.mark.by_turns("name")
@pytest.mark.parametrize(("name", "directed"), CASES)
def test_results_on_cuda_are_those_of_one_process(name: str, directed: bool) -> None:
    kind = su.plugins.algorithm(name)
    replicas = run(lambda comm: follow(comm, kind, kind.sample_params(N, 0), directed=directed, device="cuda"), 2)
    for one, two in zip(*replicas, strict=True):
        assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(one, two, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize(("name", "directed"), CASES)
def test_results_of_other_numbers_of_ranks(name: str, directed: bool, ranks: int) -> None:
    kind = su.plugins.algorithm(name)
    run(lambda comm: follow(comm, kind, kind.sample_params(N, N - 2), directed=directed), ranks)
