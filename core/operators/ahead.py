"""Programs that calls of operators will need, compiled beside each other before the first of the calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suricate.graph import Graph
from suricate.operators.call import driver_of


def compile_ahead(graph: Graph, *calls: Callable[[], Any], repeated: bool = False) -> None:
    """Start to compile what ``calls`` launch, beside each other and beside the caller; does not wait, launches nothing.

    A program of the larger operators takes up to seconds, one after the other where each is compiled when it is called.

    Args:
        graph: the graph; without CUDA, or divided among processes, nothing is done.
        calls: functions that call ``propagate`` or ``converge`` on ``graph``, and no other operator, with arguments of
            the same types and options as the later calls.
        repeated: whether the calls will be made in the body of ``iterate``.
    """
    if graph.device.is_cuda and graph.partition is None:
        driver_of(graph).compile_ahead(calls, repeated=repeated)
