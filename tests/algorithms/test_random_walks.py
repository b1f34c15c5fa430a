"""Random walks on every backend and device: replayed by NumPy, transition frequencies, parameters."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.algorithms import random_walks
from suricate.algorithms.random_walks import RandomWalks
from suricate.algorithms.shared import ascending_rows
from suricate.base.types import EMPTY
from suricate.errors import DTypeError, ParameterError, RequirementError, ShapeError, VertexRangeError
from suricate.testing import AlgorithmConformance

LIKELY = 1e-4  #: least probability of frequencies such as those found


class TestRandomWalks(AlgorithmConformance):
    algorithm = RandomWalks
    params = (
        {},
        {"walks_per_vertex": 3, "restart": 0.2, "seed": 7, "length": 6},
        {"p": 0.25, "q": 3.0, "starts": [5, 0, 5, 29], "weighted": False},
    )
    weights = (0, 1, 2, 7)
    examples = 1
    cuda_marks = (pytest.mark.gpu,)


def follows_edges(graph: su.Graph, walks: np.ndarray, starts: np.ndarray, restart: bool) -> None:
    """Every step goes along an edge (or back to the start); a walk ends where there is no edge, and not before."""
    src, dst, _ = su.arcs(graph)
    known = set(zip(src.tolist(), dst.tolist(), strict=True))
    ends = set(range(graph.num_vertices)) - set(src.tolist())
    for start, walk in zip(starts.tolist(), walks.tolist(), strict=True):
        assert walk[0] == start
        for u, v in itertools.pairwise(walk):
            if u == EMPTY or v == EMPTY:
                assert v == EMPTY
                assert u == EMPTY or u in ends
            else:
                assert (u, v) in known or (restart and v == start)


@pytest.mark.parametrize("restart", [0.0, 0.4])
def test_walks_follow_edges(restart: float) -> None:
    graph = su.Graph(40, device="cpu")
    graph.insert_edges(*np.random.default_rng(3).integers(0, 40, (2, 60)))
    walks = graph.compute("random_walks", length=12, walks_per_vertex=2, restart=restart)
    assert walks.shape == (80, 13)
    assert walks.dtype == np.uint32
    follows_edges(graph, walks, np.repeat(np.arange(40), 2), restart > 0)


@pytest.mark.compiled
@pytest.mark.parametrize("weight_dtype", [None, "float32", "int32"])
def test_frequencies_of_transitions(device: su.devices.Device, backend: str, weight_dtype: str | None) -> None:
    from scipy import stats  # late: it takes a second, and every worker imports this file

    graph = su.Graph(8, backend=backend, device=str(device), weight_dtype=weight_dtype)
    weight = None if weight_dtype is None else [1, 2, 3, 4, 10, 0, 5]
    graph.insert_edges([0] * 7, range(1, 8), weight)
    graph.insert_edges(range(1, 8), [0] * 7, None if weight_dtype is None else [1] * 7)
    walks = device.to_numpy(graph.compute("random_walks", starts=[0], walks_per_vertex=8000, length=3))
    share = np.ones(7) / 7 if weight is None else np.array(weight) / sum(weight)
    for step in (1, 3):
        found = np.bincount(walks[:, step], minlength=8)[1:]
        assert np.all(found[share == 0] == 0)
        assert stats.chisquare(found[share > 0], 8000 * share[share > 0]).pvalue > LIKELY
    pairs = np.zeros((7, 7))  # steps do not depend on each other
    np.add.at(pairs, (walks[:, 1] - 1, walks[:, 3] - 1), 1)
    pairs = pairs[share > 0][:, share > 0]
    assert stats.chi2_contingency(pairs).pvalue > LIKELY


@pytest.mark.compiled
@pytest.mark.parametrize("scale", [5e-324, 2.0**-1000, 1e-45, 2.0**900, 1.0])
@pytest.mark.parametrize("second_order", [False, True])
def test_frequencies_with_weights_of_any_scale(device: su.devices.Device, scale: float, second_order: bool) -> None:
    graph = su.Graph(6, device=str(device), weight_dtype="float64", in_edges=True)
    # beside a vertex with usual weights one whose weights are far from these, and one with both
    weights = np.array([1.0, 2, 1]), np.array([1.0, 2, 1]) * scale, np.array([scale, 2 * scale, 2.0**1000])
    for v, weight in enumerate(weights):
        graph.insert_edges([v] * 3, [3, 4, 5], weight)
    for v, weight in enumerate(weights):
        params = {"p": 1e100, "q": 1.0} if second_order else {}
        walks = graph.compute("random_walks", length=1, walks_per_vertex=20_000, starts=[v], seed=2, **params)
        found = np.bincount(device.to_numpy(walks)[:, 1], minlength=6)[3:] / 20_000
        np.testing.assert_allclose(found, (weight / weight.max()) / (weight / weight.max()).sum(), atol=0.015)


def test_frequencies_of_restarts(device: su.devices.Device) -> None:
    from scipy import stats  # late

    graph = su.Graph(50, device=str(device))
    graph.insert_edges(range(49), range(1, 50))
    walks = device.to_numpy(graph.compute("random_walks", starts=[0], walks_per_vertex=5000, length=2, restart=0.3))
    found = np.bincount(walks[:, 1], minlength=2)
    assert stats.chisquare(found[:2], [1500, 3500]).pvalue > LIKELY
    assert found[2:].sum() == 0


def test_frequencies_of_second_order(device: su.devices.Device, backend: str) -> None:
    from scipy import stats  # late

    # from 0 to 1, and on from 1: back to 0, to 2 which 0 leads to, to 3 and 4 which it does not
    graph = su.Graph(5, backend=backend, device=str(device))
    graph.insert_edges([0, 0, 1, 1, 1, 1, 2], [1, 2, 0, 2, 3, 4, 1])
    walks = device.to_numpy(graph.compute("random_walks", starts=[0], walks_per_vertex=9000, length=2, p=0.5, q=4.0))
    on = walks[walks[:, 1] == 1, 2]
    rate = np.array([1 / 0.5, 1, 1 / 4, 1 / 4])
    assert stats.chisquare(np.bincount(on, minlength=5)[[0, 2, 3, 4]], len(on) * rate / rate.sum()).pvalue > LIKELY


def test_walks_depend_on_seed_walk_and_step_alone(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(30, backend=backend, device=str(device))
    src, dst = np.random.default_rng(5).integers(0, 30, (2, 300))
    graph.insert_edges(src, dst)
    few, many, other = (
        device.to_numpy(graph.compute("random_walks", length=length, seed=seed))
        for length, seed in ((5, 1), (9, 1), (9, 2))
    )
    np.testing.assert_array_equal(few, many[:, :6])
    assert np.mean(many[:, 1:] != other[:, 1:]) > 0.5
    again = su.Graph(30, device="cpu")
    again.insert_edges(src[::-1].copy(), dst[::-1].copy())
    np.testing.assert_array_equal(again.compute("random_walks", length=9, seed=1), many)


def test_few_walks_are_as_they_are_among_many(
    device: su.devices.Device, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_walks, "ARCS_PER_STEP", 0)  # copies the rows that walks come to, on CUDA, too
    graph = su.Graph(100, backend=backend, device=str(device))
    graph.insert_edges(*np.random.default_rng(7).integers(0, 99, (2, 300)))
    few, many = (
        device.to_numpy(graph.compute("random_walks", starts=range(size), length=7, restart=0.2)) for size in (4, 99)
    )
    np.testing.assert_array_equal(few, many[:4])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"length": -1}, ParameterError, "length must be at least 0"),
        ({"walks_per_vertex": 0}, ParameterError, "walks_per_vertex must be at least 1"),
        ({"restart": 1}, ParameterError, r"restart must be in \[0, 1\)"),
        ({"p": 0}, ParameterError, r"p must be in \[1e-100, 1e\+100\]"),
        ({"q": -1}, ParameterError, r"q must be in \[1e-100, 1e\+100\]"),
        ({"seed": 0.5}, ParameterError, "seed must be an integer"),
        ({"weighted": 3}, ParameterError, "weighted must be True or False"),
        ({"weighted": True}, RequirementError, "weighted=True needs edge weights"),
        ({"starts": [0, 3]}, VertexRangeError, r"starts\[1\]"),
        ({"starts": [-1]}, VertexRangeError, r"starts\[0\]"),
        ({"starts": [0.5]}, DTypeError, "starts has dtype"),
        ({"starts": [[0]]}, ShapeError, "starts has shape"),
    ],
    ids=str,
)
def test_impossible_parameters(params: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"random_walks: {message}"):
        su.Graph(3, device="cpu").compute("random_walks", **params)


def test_no_vertices_no_steps(device: su.devices.Device) -> None:
    assert su.Graph(0, device=str(device)).compute("random_walks").shape == (0, 11)
    assert su.Graph(2, device=str(device)).compute("random_walks", length=0).tolist() == [[0], [1]]
    assert su.Graph(2, device=str(device)).compute("random_walks", starts=[]).shape == (0, 11)


def test_traffic_counts_the_edges_of_visited_vertices() -> None:
    graph = su.Graph(4, device="cpu", weight_dtype="float32")
    graph.insert_edges([0, 1, 2, 2], [1, 2, 0, 3], [1, 1, 1, 0])
    algorithm = RandomWalks(length=2, starts=[0])
    algorithm.compute(graph)
    assert algorithm.traffic(graph) == 2 * 8 + 2 * 12  # one edge of each of two vertices


@pytest.mark.parametrize(("all_at_once", "at_a_time"), [(False, 40), (True, 40), (True, 200)])
def test_rows_are_copied_ascending_in_slices(
    device: su.devices.Device, backend: str, all_at_once: bool, at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ascending_rows, "AT_A_TIME", at_a_time)
    graph = su.Graph(30, backend=backend, device=str(device))
    src, dst = np.random.default_rng(8).integers(0, 29, (2, 200))
    graph.insert_edges(src, dst)
    rows, xp = ascending_rows.AscendingRows(graph, all_at_once=all_at_once), device.xp
    known = [sorted(set(dst[src == u].tolist())) for u in range(30)]
    assert max(map(len, known)) < 40 < sum(map(len, known))
    for vertices in ([3, 3, 5], [29, 5, 0], list(range(30)) * 50):
        bits = np.random.default_rng(len(vertices)).integers(0, 1 << 64, len(vertices), np.uint64)
        found = device.to_numpy(rows.choose(xp.asarray(vertices, np.uint32), xp.asarray(bits)))
        wanted = [
            known[u][int(b >> 32) * len(known[u]) >> 32] if known[u] else EMPTY
            for u, b in zip(vertices, bits.tolist(), strict=True)
        ]
        assert found.tolist() == wanted
