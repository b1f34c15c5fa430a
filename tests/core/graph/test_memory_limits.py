"""One limit for stores, columns and the mask of live vertices: it is kept, and a refused call changes nothing."""

import copy

import numpy as np
import pytest
from injected import state

import suricate as su
from suricate import plugins
from suricate.errors import CapacityError

pytestmark = pytest.mark.plain
BACKENDS = sorted(plugins.backends())
OPTIONS = {"in_edges": True, "edge_columns": {"km": "float64", "road": str}}


def held(graph):
    return sum(allocated for _, allocated in graph.memory_usage().parts.values())


def drawn_change(seed):
    """A random change, a function of a graph."""
    draw = np.random.default_rng(seed)
    size, count = int(draw.integers(1, 60)), int(draw.integers(1, 400))
    columns = {"km": draw.random(size), "road": draw.choice(list("abc"), size).astype(object)}
    kinds = {
        "insert": lambda graph: graph.insert_edges(*draw.integers(0, graph.num_vertices, (2, size)), columns),
        "more": lambda graph: graph.insert_vertices(count),
        "reserve": lambda graph: graph.reserve(count),
        "column": lambda graph: graph.columns.add("age", 3, dtype="int64"),
        "vertices": lambda graph: graph.delete_vertices(draw.integers(0, graph.num_vertices, 3)),
        "delete": lambda graph: graph.delete_edges(*draw.integers(0, graph.num_vertices, (2, size))),
        "compact": lambda graph: graph.compact(),
        "copy": copy.copy,
    }
    kind = draw.choice(list(kinds), p=[0.3, 0.25, 0.05, 0.1, 0.05, 0.15, 0.05, 0.05])
    return kind, kinds[kind]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("backend", BACKENDS)
def test_random_limits(backend, device, seed):
    rng, refused = np.random.default_rng(seed), 0
    least = held(su.Graph(20, backend=backend, device=device, **OPTIONS))
    for _ in range(4):
        limit = int(least * rng.uniform(1.1, 3))
        graph = su.Graph(20, backend=backend, device=device, memory_limit=limit, **OPTIONS)
        graph.columns["age"], graph.columns["city"] = np.arange(20), ["?"] * 20
        for _ in range(25):
            before, (kind, change) = state(graph), drawn_change(rng.integers(1 << 30))
            try:
                change(graph)
            except CapacityError:
                refused += 1
                assert kind not in ("vertices", "delete", "compact")
                assert state(graph) == before
            assert held(graph) <= limit
            assert [len(store.degrees()) for store in graph._stores] == [graph.num_vertices] * 2
        graph.check()
    assert refused > 3


def test_what_columns_take_is_missing_elsewhere(device):
    graph = su.Graph(1000, device=device, backend="slabhash", memory_limit=60_000)
    for name in "abcdef":
        graph.columns.add(name, 0, dtype="int64")
    with pytest.raises(CapacityError, match="memory_limit is 60000"):
        graph.columns.add("g", 0, dtype="int64")
    with pytest.raises(CapacityError, match="memory_limit is 60000"):
        graph.insert_edges(*np.random.default_rng(0).integers(0, 1000, (2, 300)))
    while graph.columns:
        del graph.columns[next(iter(graph.columns))]
    graph.insert_edges(*np.random.default_rng(0).integers(0, 1000, (2, 300)))
    with pytest.raises(CapacityError, match="memory_limit is 9000"):
        su.Graph(500, device=device, memory_limit=9000, in_edges=True, edge_columns={"km": "float64"})
