"""Estimates of memory against what graphs take: with degrees within a tenth, by numbers within the range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cli_calls import call
from turns import few

import suricate as su
from suricate.errors import CapacityError, DTypeError, ParameterError, RequirementError, ShapeError, UnknownNameError
from suricate.graph.estimates import MemoryEstimate

N = 40_000  # more than are stored for an estimate


def edges_of(family: str) -> tuple[np.ndarray, np.ndarray]:
    if family == "rmat":
        found = su.generate.rmat(15, 6, seed=3)
    elif family == "uniform":
        found = su.generate.uniform(N, 5 * N, seed=3)
    elif family == "star":
        hub = np.arange(1, N)
        return np.zeros_like(hub), hub
    else:  # all that most vertices have is one edge
        hubs = np.repeat(np.arange(50), [33_000] * 5 + [2000] * 45)
        start = np.concatenate([[0], np.flatnonzero(np.diff(hubs)) + 1])
        dst = (np.arange(len(hubs)) - np.repeat(start, np.bincount(hubs)) + 100) % N
        return np.concatenate([hubs, np.arange(100, N)]), np.concatenate([dst, np.full(N - 100, 99)])
    return found.src, found.dst


@pytest.mark.parametrize("family", few(["rmat", "uniform", "star", "hubs"]))
def test_with_degrees_it_is_within_a_tenth(every_backend: str, family: str) -> None:
    src, dst = edges_of(family)
    kinds: list[dict[str, Any]] = [{}, {"in_edges": True, "weight_dtype": "float64"}, {"directed": False}]
    kinds += [{"directed": False, "weight_dtype": "float32"}] if family == "star" else []
    size = max(int(src.max()), int(dst.max())) + 1
    for options in kinds:
        weight = 1.0 if "weight_dtype" in options else None
        made: dict[str, Any] = {"device": "cpu", "backend": every_backend, **options}
        graph = su.Graph.from_coo(src, dst, weight, num_vertices=size, **made)
        ways = {"in_degrees": graph.degrees("in")} if "in_edges" in options else {}
        found = su.estimate_memory(degrees=graph.degrees(), backend=every_backend, **options, **ways)
        assert found.stores == pytest.approx(graph.memory_usage().allocated, rel=0.1)
        assert found.low == found.high == found.stores


@pytest.mark.parametrize("options", [{}, {"directed": False}, {"in_edges": True}], ids=str)
def test_with_numbers_it_is_a_range(options: dict[str, Any]) -> None:
    for family in ("rmat", "uniform"):
        src, dst = edges_of(family)
        graph = su.Graph.from_coo(src, dst, device="cpu", **options)
        for shape in (None, family):
            found = su.estimate_memory(graph.num_vertices, graph.num_edges, shape=shape, **options)
            assert found.low <= graph.memory_usage().allocated <= found.high
            assert found.high < (2 if shape is None else 1.3) * found.low


@pytest.mark.parametrize("options", [{}, {"in_edges": True}], ids=str)
def test_a_graph_grows_within_the_peak(every_backend: str, options: dict[str, bool]) -> None:
    src, dst = edges_of("uniform")
    degrees = np.bincount(src, minlength=N)
    peak = su.estimate_memory(degrees=degrees, backend=every_backend, **options).peak
    made: dict[str, Any] = {"device": "cpu", "backend": every_backend, **options}
    graph = su.Graph(N, memory_limit=round(1.1 * peak), **made)
    late = np.arange(len(src)) % 5 == 0
    graph.insert_edges(src[~late], dst[~late])
    graph.insert_edges(src[late], dst[late])
    assert graph.num_edges == len(src)
    with pytest.raises(CapacityError):
        su.Graph(N, memory_limit=peak // 3, **made).insert_edges(src, dst)


def test_sizes_are_written_with_three_digits() -> None:
    assert str(MemoryEstimate(1, 0, 1020 << 20, 1, 1)) == "1 bytes; while it grows 0.996 GiB"


def test_trackers_count() -> None:
    asked = {"num_vertices": 1 << 20, "num_edges": 1 << 23, "shape": "uniform"}
    none, one, two = (
        su.estimate_memory(**asked, track=track).trackers for track in ((), ["bfs"], {"bfs": {"source": 1}, "wcc": {}})
    )
    assert none == 0
    assert 8 << 20 <= one < two < 100 << 20  # a word of 8 bytes per vertex, and scratch arrays
    with pytest.raises(RequirementError, match="in-edges"):
        su.estimate_memory(1000, 1000, track=["scc"])


def test_a_large_graph_is_not_built() -> None:
    found = su.estimate_memory(1 << 31, 1 << 36)
    assert 4 << 36 < found.low < found.high < 40 << 36
    assert "GiB" in str(found)


@pytest.mark.parametrize("degrees", [[], [0], [0, 0, 3, 1]])
def test_small_graphs(degrees: list[int]) -> None:
    found = su.estimate_memory(degrees=np.array(degrees, np.int64))
    assert 0 < found.stores <= found.peak


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({}, ParameterError, "give degrees, or both num_vertices and num_edges"),
    ({"num_vertices": 3}, ParameterError, "both num_vertices and num_edges"),
    ({"num_vertices": 3, "degrees": [1]}, ParameterError, "not both"),
    ({"num_vertices": -1, "num_edges": 0}, ParameterError, "num_vertices must be at least 0"),
    ({"num_vertices": 2, "num_edges": 5}, ParameterError, "a graph of 2 vertices has at most 4 edges"),
    ({"num_vertices": 2, "num_edges": 1, "shape": "grid"}, UnknownNameError, "shape='grid' is unknown"),
    ({"num_vertices": 2, "num_edges": 1, "in_degrees": [1, 0]}, ParameterError, "in_degrees go with degrees"),
    ({"degrees": [1, -1]}, ShapeError, r"degrees\[1\] is -1"),
    ({"degrees": [0.5]}, DTypeError, "degrees"),
    ({"degrees": [1], "backend": "none"}, UnknownNameError, "none"),
    ({"degrees": [1], "weight_dtype": "float16"}, DTypeError, "weight_dtype"),
]


@pytest.mark.parametrize(("given", "error", "text"), WRONG, ids=str)
def test_what_is_refused(given: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        su.estimate_memory(**given)


def test_advice_shows_it() -> None:
    result = call("advise", "--vertices", 100_000, "--edges", 1_600_000, "--batch", 1000, "--device", "cpu")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1].startswith("memory of ")
    assert "MiB; while it grows" in result.stdout
