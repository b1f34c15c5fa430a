"""Every algorithm that comes along on families of graphs in which one or another would fail, against its reference."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate import plugins
from suricate.cpu.plain import PLAIN
from suricate.errors import VertexRangeError
from suricate.plugins.algorithm import Algorithm

Edges = tuple[np.ndarray, np.ndarray]

SHIPPED = {plugin.name for plugin in plugins.installed() if plugin.source == "suricate"}
BUILT_IN = sorted(SHIPPED & {*plugins.algorithms()})
PARAMS: dict[str, dict[str, Any]] = {  # beyond the sample parameters: what converges on all of these graphs
    "katz": {"alpha": 0.002},
    "eigenvector": {"max_iter": 20_000, "tol": 1e-4},
    "hits": {"max_iter": 20_000, "tol": 1e-6},
    "betweenness": {"k": 3},
    "closeness": {"k": 5},
    "random_walks": {"starts": [0, 1, 2], "length": 5},
    "label_propagation": {"max_iter": 2000},
}
FROM_ALL = {"betweenness", "closeness", "edge_betweenness"}  #: search from all vertices, or their references do
#: thousands of iterations on some of these graphs, in loops that both share
LONG = {"eigenvector": pytest.mark.compiled, "hits": pytest.mark.slow}
BACKENDS = sorted(SHIPPED & {*plugins.backends()}, key=lambda name: (-plugins.backend(name).priority, name))
N = 80 if PLAIN else 200


def path() -> Edges:
    return np.arange(N - 1), np.arange(1, N)


def grid() -> Edges:
    at = np.arange(4 * (N // 4)).reshape(4, -1)
    return np.concatenate((at[:, :-1].ravel(), at[:-1].ravel())), np.concatenate((at[:, 1:].ravel(), at[1:].ravel()))


def star() -> Edges:
    return np.zeros(N - 1, np.int64), np.arange(1, N)


def complete() -> Edges:
    src, dst = np.nonzero(~np.eye(N // 5, dtype=bool))
    return src, dst


def pieces() -> Edges:
    rng = np.random.default_rng(3)
    at = 20 * np.repeat(np.arange(N // 25), 25)
    src, dst = rng.integers(0, 20, (2, len(at)))
    return src + at, dst + at


def loops() -> Edges:
    rng = np.random.default_rng(4)
    every = np.arange(N)
    return np.concatenate((every, rng.integers(0, N, N))), np.concatenate((every, rng.integers(0, N, N)))


def hubs() -> Edges:
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, N, (2, 2 * N))
    src[: N // 2], dst[N // 2 : N] = 7, 11
    return src, dst


FAMILIES = (path, grid, star, complete, pieces, loops, hubs)


def backend_at(number: int) -> str:
    """Every other time the default backend, in between each of the others by turns: each compiles all that it runs."""
    return BACKENDS[1 + number // 2 % (len(BACKENDS) - 1) if number % 2 else 0]


def changes(graph: su.Graph, edges: Edges, weights: Any) -> Iterator[None]:
    """Change a graph; yield after each change."""
    src, dst = edges
    graph.apply(su.Batch(insert=weights(src[::3], dst[::3]), delete=(src[::2], dst[::2])))
    yield
    graph.apply(su.Batch(insert=weights(src, dst), delete=(src, dst)))  # deleted and inserted again
    yield
    graph.delete_edges([], [])
    graph.insert_edges(*weights(src[:0], dst[:0]))
    yield
    tree = np.unique(dst, return_index=True)[1]  # an edge to every vertex that has one
    graph.delete_edges(src[tree], dst[tree])
    yield
    graph.delete_vertices([0, int(dst[0])])
    yield
    recycled = graph.device.to_numpy(graph.insert_vertices(4, recycle=True)).astype(np.int64)
    graph.insert_edges(*weights(recycled, np.array([1, 2, 3, 5])))
    graph.insert_edges(*weights(src, dst))
    yield
    graph.delete_edges(*graph.edges()[:2])
    yield


def options_of(algorithm: type[Algorithm], *, directed: bool, weighted: bool) -> dict[str, Any]:
    """How to build a graph for an algorithm; skips the test if it takes no such graph."""
    needs = algorithm.requires
    if needs.weighted is (not weighted) or (needs.undirected is False and not directed):
        pytest.skip(f"{algorithm.name} takes no such graph")
    directed = directed and needs.undirected is not True
    return {"directed": directed, "in_edges": directed, "weight_dtype": "float32" if weighted else None}


def params_of(algorithm: type[Algorithm], num_vertices: int) -> dict[str, Any]:
    """The parameters to test an algorithm with."""
    return {**algorithm.sample_params(num_vertices, 0), **PARAMS.get(algorithm.name, {})}


def check(tracker: su.Tracker, params: dict[str, Any]) -> None:
    """Compare a result with the reference; without the vertices that a parameter names there is none."""
    graph, kind = tracker.graph, type(tracker.algorithm)
    host = graph.device.to_numpy
    named = [params[name] for name in ("source", "starts", "sources") if name in params]
    if not all(host(graph.live)[one].all() for one in named):
        with pytest.raises(VertexRangeError, match=r"is \d+: this vertex is deleted"):
            _ = tracker.result
        return
    arcs = (None if part is None else host(part) for part in graph.store("out").edges())
    live = {"live": host(graph.live)} if "live" in inspect.signature(kind.reference).parameters else {}
    right = kind.reference(*arcs, graph.num_vertices, graph.directed, **params, **live)
    result = tracker.result
    several = result if isinstance(result, tuple) else (result,)
    parts = [host(part) if hasattr(part, "dtype") else part for part in several]
    found = type(result)._make(parts) if hasattr(result, "_fields") else parts[0]
    assert kind.mismatch(found, right, **params) is None


@pytest.mark.parametrize(
    ("family", "weighted", "backend"),
    few(
        [(each, False, backend_at(number)) for number, each in enumerate(FAMILIES)]
        + [(each, True, BACKENDS[0]) for each in FAMILIES],
        lambda family, *_: family,
    ),
)
@pytest.mark.parametrize("name", [pytest.param(name, marks=LONG.get(name, ())) for name in BUILT_IN])
def test_families(device: su.devices.Device, name: str, family: Any, weighted: bool, backend: str) -> None:
    algorithm, rng = plugins.algorithm(name), np.random.default_rng(6)
    options = options_of(algorithm, directed=not weighted, weighted=weighted)
    graph = su.Graph(N, backend=backend, device=str(device), **options)

    def with_weights(src: Any, dst: Any) -> tuple[Any, ...]:
        return (src, dst, rng.choice([0, 0, 1, 2], len(src)).astype(np.float32)) if weighted else (src, dst)

    edges = family()
    graph.insert_edges(*with_weights(*edges))
    params = params_of(algorithm, N)
    tracker = graph.track(name, **params)
    check(tracker, params)
    for _ in changes(graph, edges, with_weights):
        check(tracker, params)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*BUILT_IN} - FROM_ALL - {"eigenvector", "hits"}))
def test_a_million_vertices(device: su.devices.Device, name: str) -> None:
    n, algorithm = 1 << 20, plugins.algorithm(name)
    graph = su.Graph(n, device=str(device), **options_of(algorithm, directed=True, weighted=False))
    rng = np.random.default_rng(7)
    src = np.concatenate((np.arange(0, n - 1000), rng.integers(0, 1000, 2000)))
    dst = np.concatenate((np.arange(0, n - 1000) // 2, rng.integers(0, n, 2000)))  # a tree, and a few long edges
    graph.insert_edges(src, dst)
    params = params_of(algorithm, n)
    tracker = graph.track(name, **params)
    check(tracker, params)
    graph.apply(su.Batch(insert=tuple(rng.integers(0, n, (2, 100))), delete=(src[-100:], dst[-100:])))
    check(tracker, params)
