"""The h-index of a vertex beside an oracle by NumPy: hubs, every dtype, rounds, edges since a mark, and wrong calls."""

from __future__ import annotations

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.errors import DTypeError, UnknownNameError

DEGREES = [7000, 5000, 4097, 1500, 700, 300, 257, 256, 200, 129, 40, 9, 8, 5, 1]  # of vertices 0, 1, ...
N, FEW = 8000, len(DEGREES)

pytestmark = pytest.mark.compiled


def value_of(u, v, w, value):
    return value[v]


def value_for_then(u, v, w, value, found):
    return value[v]


def store(v, h, value, found):
    found[v] = h
    return h > 10


def hold(v, h, value, found):
    found[v] = h
    return 0


def hindex(values: np.ndarray) -> int:
    """Return the largest h such that at least h of the values are at least h."""
    falling = np.sort(values)[::-1]
    return sum(int(value) > place for place, value in enumerate(falling))


def hubs(device: su.devices.Device, backend: str) -> tuple[su.Graph, list[np.ndarray]]:
    """Return a graph with a vertex of each degree, and the neighbours of these."""
    rng = np.random.default_rng(7)
    rows = [rng.choice(N, degree, replace=False) for degree in DEGREES]
    graph = su.Graph(N, backend=backend, device=str(device))
    graph.insert_edges(np.repeat(np.arange(FEW), DEGREES), np.concatenate(rows))
    return graph, rows


@pytest.mark.parametrize("dtype", few(["int64", "int32", "uint32", "uint64"]))
def test_hindices_of_hubs(device: su.devices.Device, backend: str, dtype: str) -> None:
    graph, rows = hubs(device, backend)
    for largest in (2, 60, 2500, 9000):  # most values count; hardly any do; the h-index is in between
        value = np.random.default_rng(largest).integers(0, largest, N).astype(dtype)
        value[::11] = np.iinfo(dtype).max
        value[::7] = np.iinfo(dtype).min
        on_device, found = device.xp.asarray(value), device.xp.full(N, 77, dtype)
        wanted = [hindex(value[row]) for row in rows]
        values = su.neighbor_reduce(graph, None, value_of, args=(on_device,), reduce="hindex", dtype=dtype)
        assert device.to_numpy(values).tolist() == [*wanted, *[0] * (N - FEW)]
        args, ids = (on_device, found), [*range(FEW), N - 1]
        says = su.neighbor_reduce(graph, ids, value_for_then, args=args, reduce="hindex", then=store)
        assert device.to_numpy(found)[ids].tolist() == [*wanted, 0]
        assert sorted(says.vertices.tolist()) == [u for u in range(FEW) if wanted[u] > 10]
        found[:] = 77
        su.converge(
            graph, ids, value_for_then, args=args, reduce="hindex", then=hold, over="out", wake=None, max_steps=1,
            dtype=dtype,
        )  # fmt: skip
        assert device.to_numpy(found)[ids].tolist() == [*wanted, 0]


def lower(u, v, w, core, fresh):
    return 0 if u == v else min(core[u], core[v])


def take(v, h, core, fresh):
    fresh[v] = h
    return 2 if h < core[v] else 0


def publish(v, core, fresh):
    core[v] = fresh[v]


def test_rounds_end_at_core_numbers(device: su.devices.Device, backend: str) -> None:
    """Bounded by the own value in the function, as by Montresor et al., on a graph with hubs and self-loops."""
    from suricate.algorithms.kcore import KCore

    rng = np.random.default_rng(3)
    graph = su.Graph(6000, backend=backend, device=str(device), directed=False)
    ends = (rng.random((2, 20000)) ** 4 * 6000).astype(np.int64)
    graph.insert_edges(np.r_[ends[0], np.zeros(5000, np.int64)], np.r_[ends[1], np.arange(5000)])
    core = graph.degrees().astype(np.int64)
    done = su.converge(
        graph, None, lower, args=(core, device.xp.zeros_like(core)), reduce="hindex", then=take, commit=publish
    )
    arcs = (device.to_numpy(part) for part in su.arcs(graph)[:2])
    assert device.to_numpy(core).tolist() == KCore.reference(*arcs, None, 6000, False).core.tolist()
    assert done.converged


@pytest.mark.parametrize("reduce", ["hindex", "mode"])
def test_edges_since_a_mark(device: su.devices.Device, backend: str, reduce: str) -> None:
    """Scheme "updated" takes these edges only, also where values of a vertex have to be known at once."""
    graph = su.Graph(20, backend=backend, device=str(device))
    graph.insert_edges([0, 0, 0, 1], [1, 2, 3, 4])
    value = device.xp.asarray(np.array([0, 5, 5, 5, 2, 2, 3, 4] + [0] * 12))
    args = {"args": (value,), "reduce": reduce, "scheme": "updated"}
    none = 0 if reduce == "hindex" else 2**63 - 1
    assert device.to_numpy(su.neighbor_reduce(graph, None, value_of, **args))[:3].tolist() == (
        [3, 1, none] if reduce == "hindex" else [5, 2, none]
    )
    graph.mark()
    graph.insert_edges([0, 0, 0, 2], [4, 5, 6, 7])
    found = device.to_numpy(su.neighbor_reduce(graph, None, value_of, **args))
    assert found[:3].tolist() == ([2, none, 1] if reduce == "hindex" else [2, none, 4])


def test_wrong_calls(device: su.devices.Device) -> None:
    graph, x = su.Graph(4, device=str(device)), device.xp.zeros(4, np.float32)
    with pytest.raises(DTypeError, match="hindex"):
        su.neighbor_reduce(graph, None, value_of, args=(x,), reduce="hindex")
    with pytest.raises(DTypeError, match="hindex"):
        su.neighbor_reduce(graph, None, lambda u, v, w: v, reduce="hindex", dtype="float64")
    with pytest.raises(DTypeError, match="hindex"):
        su.neighbor_reduce(graph, None, lambda u, v, w: v, reduce="hindex", out=x)
    with pytest.raises(UnknownNameError, match="hindex"):
        su.advance(graph, [0], lambda u, v, w: v, out=device.xp.zeros(4, np.int64), reduce="hindex", args=())
