"""The most frequent value of a vertex: of hubs, which CUDA counts in tables of several passes, and of few values."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from turns import few

import suricate as su

pytestmark = pytest.mark.compiled

DEGREES = {0: 7000, 1: 3000, 2: 1500, 3: 700, 4: 400, 5: 40, 6: 1}
N = 8000


def value_of(u, v, w, value):
    return value[v]


def store(v, mode, value, modes):
    modes[v] = mode
    return mode > 10


def value_for_then(u, v, w, value, modes):
    return value[v]


def hold(v, mode, value, modes):
    modes[v] = mode
    return 0


def mode(values: np.ndarray) -> Any:
    """The most frequent value that is a number, of several the smallest."""
    found, count = np.unique(values[values == values], return_counts=True)
    return found[count.argmax()]


@pytest.mark.parametrize("distinct", few([2, 3, 300, N]))
@pytest.mark.parametrize("dtype", few(["int64", "uint32", "float64", "float32"]))
def test_modes_of_hubs(device: su.devices.Device, backend: str, dtype: str, distinct: int) -> None:
    rng = np.random.default_rng(distinct)
    neighbours = {u: rng.choice(N, degree, replace=False) for u, degree in DEGREES.items()}
    graph = su.Graph(N, backend=backend, device=str(device))
    graph.insert_edges(np.repeat([*DEGREES], [*DEGREES.values()]), np.concatenate([neighbours[u] for u in DEGREES]))
    value = rng.integers(0, distinct, N).astype(dtype)
    value[neighbours[2][:400]] = -1 if dtype == "int64" else 4294967295 if dtype == "uint32" else -0.5
    if dtype.startswith("float"):
        value[rng.permutation(N)[:2000]] = np.nan
        value[rng.permutation(N)[:100]] = -0.0
    on_device = device.xp.asarray(value)
    wanted = [mode(value[neighbours[u]]) for u in DEGREES if u < 6]
    found = device.to_numpy(su.neighbor_reduce(graph, range(6), value_of, args=(on_device,), reduce="mode"))
    np.testing.assert_array_equal(found, np.array(wanted, np.float64 if dtype.startswith("f") else np.int64))
    modes = device.xp.zeros(N, dtype)
    says = su.neighbor_reduce(
        graph, [0, 1, 2, 3, 4, 5], value_for_then, args=(on_device, modes), reduce="mode", then=store
    )
    np.testing.assert_array_equal(device.to_numpy(modes)[:6], np.array(wanted, dtype))
    assert sorted(says.vertices.tolist()) == [u for u in range(6) if wanted[u] > 10]
    modes[:] = 0
    su.converge(
        graph,
        range(6),
        value_for_then,
        args=(on_device, modes),
        reduce="mode",
        then=hold,
        over="out",
        wake=None,
        max_steps=1,
    )
    np.testing.assert_array_equal(device.to_numpy(modes)[:6], np.array(wanted, dtype))


@pytest.mark.parametrize("degree", [200, 2100, pytest.param(5000, marks=pytest.mark.slow)])
def test_values_whose_hashes_are_equal(device: su.devices.Device, degree: int) -> None:
    """They fill a table on CUDA, whose hash is the upper half of a product; then a warp counts them without one."""
    inverse = pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    values = np.array([((7 << 32) + i) * inverse % (1 << 64) for i in range(degree + 1)], np.uint64).view(np.int64)
    values[degree // 2] = values[degree // 3]
    graph = su.Graph(degree + 1, device=str(device))
    graph.insert_edges(np.zeros(degree, int), np.arange(1, degree + 1))
    value, modes = device.xp.asarray(values), device.xp.zeros(degree + 1, np.int64)
    assert int(su.neighbor_reduce(graph, None, value_of, args=(value,), reduce="mode")[0]) == values[degree // 3]
    su.converge(
        graph, [0], value_for_then, args=(value, modes), reduce="mode", then=hold, over="out", wake=None, max_steps=1
    )
    assert int(modes[0]) == values[degree // 3]


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_modes_of_few(device: su.devices.Device, backend: str, dtype: str) -> None:
    """Every sequence of up to five of four values, of which the largest is also what vertices without edges get."""
    neutral = np.inf if dtype == "float32" else np.iinfo(np.int64).max
    choices = [-3, 0, 5, neutral]
    rows = [row for length in range(6) for row in product(range(4), repeat=length)]
    first = 20  # vertex 4 i + k has value k and is the i-th neighbour
    src = np.repeat(np.arange(len(rows)) + first, [len(row) for row in rows])
    graph = su.Graph(first + len(rows), backend=backend, device=str(device))
    graph.insert_edges(src, [4 * i + k for row in rows for i, k in enumerate(row)])
    value = device.xp.asarray(np.array(choices * 5 + [9] * len(rows), dtype))
    found = device.to_numpy(su.neighbor_reduce(graph, None, value_of, args=(value,), reduce="mode"))
    wanted = [mode(np.array([choices[k] for k in row], dtype)) if row else neutral for row in rows]
    np.testing.assert_array_equal(found[first:], np.array(wanted, dtype))
