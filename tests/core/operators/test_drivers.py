"""What runs operators (a device's driver, or how a graph is divided) has functions of the same parameters."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.operators.binding import bind_pull
from suricate.operators.cpu import driver as cpu
from suricate.operators.cpu.instances import instance
from suricate.operators.cpu.sources import numba_values, walk_over
from suricate.operators.cuda import driver as cuda
from suricate.parallel.partition import Partition

OPERATORS = ("advance", "propagate", "neighbor_reduce", "converge", "vertex_map", "edge_map", "intersect")


def parameters(function: Any, skipped: int) -> list[str]:
    """Names of the parameters behind the graph: those ``skipped`` stand before it."""
    return list(inspect.signature(function).parameters)[skipped + 1 :]


@pytest.mark.parametrize("operator", OPERATORS)
def test_drivers_take_the_same(operator: str) -> None:
    expected = parameters(getattr(cpu, operator), 0)
    assert expected[0] == "call"
    assert parameters(getattr(cuda, operator), 0) == expected
    assert parameters(getattr(Partition, operator), 1) == expected


def degrees(u, v, w, graph):
    return 1


def strengths(u, v, w, graph):
    return w


@pytest.mark.plain
@pytest.mark.parametrize("backend", ["slabhash", "csr_baseline", "blocked"])
@pytest.mark.parametrize(("function", "kinds"), [(degrees, 1), (strengths, 4)])
def test_loops_differ_by_weights_only_where_a_function_reads_them(backend, function, kinds):
    found = set()
    for dtype in (None, "float32", "float64", "int32"):
        graph = su.Graph(4, backend=backend, device="cpu", weight_dtype=dtype)
        graph.insert_edges([0, 1], [1, 2], None if dtype is None else np.ones(2, dtype))
        call = bind_pull(graph, function, (graph,), "sum", np.zeros(4), None, None)
        walk, g, h = walk_over(graph, "out", call)
        types = [getattr(part, "dtype", type(part)) for part in (*g, *h, *numba_values(call)[0])]
        found.add((instance("neighbor_reduce", walk, call), *map(str, types)))
        assert su.neighbor_reduce(graph, None, function, args=(graph,), reduce="sum").tolist() == [1, 1, 0, 0]
    assert len(found) == kinds
