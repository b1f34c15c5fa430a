"""``su.sample`` on every backend and device, against a sort of all neighbours by their hashes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.base.devices import Device
from suricate.errors import (
    DTypeError,
    ParameterError,
    RequirementError,
    ShapeError,
    UnknownNameError,
    VertexRangeError,
)
from suricate.operators import sampling

N = 40
ROOTS = [3, 7, 3, 0, 39, 12]
FIELDS = ("node", "row", "col", "batch")
BITS = (1 << 64) - 1


def made(device: Any = "cpu", backend: str | None = None, *, directed: bool = True, m: int = 300) -> su.Graph:
    graph = su.Graph(N, device=device, backend=backend, directed=directed, in_edges=directed, self_loops="allow")
    graph.insert_edges(*np.random.default_rng(2).integers(0, N, (2, m)))
    graph.delete_edges(*np.random.default_rng(4).integers(0, N, (2, m)))
    return graph


def step(x: int) -> int:
    """A step of SplitMix64."""
    x = (x + 0x9E3779B97F4A7C15) & BITS
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & BITS
    x = (x ^ x >> 27) * 0x94D049BB133111EB & BITS
    return x ^ x >> 31


def expected(graph: su.Graph, roots: Any, fan: Any, seed: int, over: str, ids: Any = None) -> list[list[int]]:
    """Node, row, col and batch, and the counts per hop, by loops over lists of neighbours."""
    near: list[list[int]] = [[] for _ in range(graph.num_vertices)]
    for u, v in zip(*(graph.device.to_numpy(part).tolist() for part in su.arcs(graph)[:2]), strict=True):
        near[u if over == "out" else v].append(v if over == "out" else u)
    node, batch, row, col = list(roots), list(range(len(roots))), [], []
    places = {(b, v): b for b, v in enumerate(roots)}
    ends, counts = [0, len(node)], []
    for hop, most in enumerate(fan):
        before = len(row)
        for at in range(ends[-2], ends[-1]):
            b, u = batch[at], node[at]
            bits = step(su.mixed(seed, roots[b] if ids is None else ids[b]) & BITS ^ (hop << 32 | u))
            for v in sorted(near[u], key=lambda v, bits=bits: step(bits ^ v))[:most]:
                if (b, v) not in places:
                    places[b, v] = len(node)
                    node.append(v)
                    batch.append(b)
                row.append(places[b, v])
                col.append(at)
        ends.append(len(node))
        counts.append(len(row) - before)
    return [node, row, col, batch, np.diff(ends).tolist(), counts]


def parts_of(sample: su.Sample, device: Device) -> list[list[int]]:
    """The fields of a sample as lists."""
    arrays = [device.to_numpy(getattr(sample, name)) for name in FIELDS]
    assert [str(array.dtype) for array in arrays] == ["uint32", "int64", "int64", "int64"]
    return [*(array.tolist() for array in arrays), sample.nodes_per_hop, sample.edges_per_hop]


@pytest.mark.parametrize("directed", [True, False])
def test_neighbors_have_the_smallest_hashes(
    backend: str, device: Device, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = made(device, backend, directed=directed)
    graph.delete_vertices([5])
    for over, fan in (("out", [3, 2]), ("in", [2, 2, 2]), ("in", [30])):
        assert parts_of(su.sample(graph, ROOTS, fan, over=over, seed=4), device) == expected(graph, ROOTS, fan, 4, over)
    ids = np.arange(6)
    given = expected(graph, ROOTS, [3, 2], 0, "in", ids.tolist())
    assert parts_of(su.sample(graph, np.array(ROOTS), [3, 2], ids=ids), device) == given
    monkeypatch.setattr(sampling, "SLICE", 20)  # rows in slices, and bounds on hashes that are too low
    monkeypatch.setattr(sampling, "MORE", -5)
    assert parts_of(su.sample(graph, np.array(ROOTS), [3, 2], ids=ids), device) == given


def test_arrays_of_rows_give_what_loops_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operations of CUDA, here by NumPy, with few neighbours below the bound, or all."""
    graph = made(m=900)
    roots = np.arange(N).repeat(3)
    loops = su.sample(graph, roots, [4, 3], ids=np.arange(len(roots)))
    monkeypatch.setattr(sampling, "_compared", sampling._sorted)
    for more in (-7, -4, 0, 1000):
        monkeypatch.setattr(sampling, "MORE", more)
        assert all(
            np.array_equal(getattr(loops, name), getattr(su.sample(graph, roots, [4, 3], ids=np.arange(120)), name))
            for name in FIELDS
        )


def test_draws_are_uniform() -> None:
    graph = su.Graph(31, device="cpu")
    graph.insert_edges([0] * 30, range(1, 31))
    draws = 400
    sample = su.sample(graph, [0] * draws, [6], over="out", ids=np.arange(draws))
    counts = np.bincount(sample.node[sample.row], minlength=31)[1:]
    mean = draws * 6 / 30
    score = ((counts - mean) ** 2).sum() / mean * 29 / 24
    assert abs(score - 29) < 4 * np.sqrt(2 * 29)
    smaller = su.sample(graph, [0], [4], over="out")
    larger = su.sample(graph, [0], [9], over="out")
    assert larger.node[larger.row][:4].tolist() == smaller.node[smaller.row].tolist()


def test_roots_and_nodes_by_name() -> None:
    graph = su.Graph(3, device="cpu", names=["a", "b", "c"])
    graph.insert_edges(["a", "b"], ["b", "c"])
    sample = su.sample(graph, ["a"], [1, 1], over="out")
    assert sample.node.tolist() == [0, 1, 2]
    assert sample.names.tolist() == ["a", "b", "c"]
    assert "1 trees, 3 nodes, 2 edges" in repr(sample)
    with pytest.raises(UnknownNameError):
        su.sample(graph, ["d"], [1], over="out")
    with pytest.raises(RequirementError, match="no events"):
        sample.column("fee")
    with pytest.raises(RequirementError, match="no names"):
        _ = su.sample(made(), [0], [1]).names


def test_bad_input_is_refused() -> None:
    graph = made()
    for error, given in (
        (ParameterError, {"fan": -1}),
        (ParameterError, {"fan": [0]}),
        (ParameterError, {"fan": [1025]}),
        (ParameterError, {"seed": 0.5}),
        (UnknownNameError, {"over": "both"}),
        (ShapeError, {"ids": [1, 2]}),
        (DTypeError, {"ids": [0.5]}),
        (VertexRangeError, {"vertices": [N]}),
    ):
        with pytest.raises(error):
            su.sample(graph, **{"vertices": [1], "fan": [3], **given})
    with pytest.raises(RequirementError, match="in_edges=True"):
        su.sample(su.Graph(3, device="cpu"), [0], [1])
    assert su.sample(graph, [], [3, 2]).nodes_per_hop == [0, 0, 0]
