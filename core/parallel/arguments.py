"""What users pass to operators, as the local graph takes it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.state.scalar import Scalar

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.parallel.partition import Partition


Operator = Callable[..., Any]
REDUCE = {"sum": np.add, "min": np.minimum, "max": np.maximum, "or": np.bitwise_or}  #: what brings ranks together


def with_local(part: Partition, args: Any, local: Graph) -> tuple[Any, ...]:
    """Return ``args`` with another graph in place of the divided one."""
    if not isinstance(args, tuple):
        raise ParameterError(f"args must be a tuple, not {type(args).__name__}: write args=(x,)")
    graph = part.graph
    return tuple(local if value is graph else value for value in args)


def takes_graph(part: Partition, args: Any) -> bool:
    """Return whether the graph is among the arguments."""
    graph = part.graph
    return isinstance(args, tuple) and any(value is graph for value in args)


def on_rows_of_all(operator: Operator) -> Callable[[Operator], Operator]:
    """Have an operator whose function asks the graph run on a graph of all edges, which every rank gathers.

    The function sees neighbours, whose rows another rank holds. All ranks then do the same work.
    """

    def decorate(divided: Operator) -> Operator:
        @wraps(divided)
        def run(part: Partition, *given: Any, **options: Any) -> Any:
            args = options.get("args")
            if not takes_graph(part, args):
                return divided(part, *given, **options)
            whole = part.whole()
            return operator(whole, *given, **options | {"args": with_local(part, args, whole)})

        return run

    return decorate


def scalars_of(args: tuple[Any, ...]) -> list[Scalar]:
    """Return the scalars among the arguments, each once."""
    return list({id(value): value for value in args if isinstance(value, Scalar)}.values())
