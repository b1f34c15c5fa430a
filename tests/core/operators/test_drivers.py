"""What runs operators (a device's driver, or how a graph is divided) has functions of the same parameters."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from suricate.operators.cpu import driver as cpu
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
