"""``Graph.track`` and ``Graph.compute``, whose documentation lists the installed algorithms with their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any

from suricate import plugins
from suricate.graph import naming
from suricate.graph.edge_columns.weighing import weighing
from suricate.graph.tracker import Tracker, make_algorithm, make_tracker
from suricate.state.locks import on_graph_device

if TYPE_CHECKING:
    from suricate.graph import Graph


class Listing:
    """A method of ``Graph`` whose docstring ends with the installed algorithms, listed when the docstring is read."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self._text = on_graph_device(function), inspect.cleandoc(function.__doc__ or "")
        self.__name__, self.__qualname__ = function.__name__, f"Graph.{function.__name__}"
        self.__signature__ = inspect.signature(function)

    def __call__(self, graph: Graph, /, *args: Any, **params: Any) -> Any:
        """Call the method on ``graph`` with these arguments."""
        return self._function(graph, *args, **params)

    def __get__(self, graph: Graph | None, owner: type | None = None) -> Any:
        return self if graph is None else MethodType(self, graph)

    __doc__ = property(lambda self: f"{self._text}\n\nAlgorithms:\n{listed()}")


def listed() -> str:
    """Return a line per installed algorithm: its name, its parameters with their defaults, what it computes."""
    lines = []
    for name, kind in sorted(plugins.algorithms().items()):
        known = inspect.signature(kind).parameters.values()
        parameters = ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in known)
        about = (inspect.getdoc(kind) or "").partition("\n")[0]
        lines += [f"    {name}({parameters})", f"        {about}"]
    return "\n".join(lines)


@Listing
def track(graph: Graph, algorithm: Any, **params: Any) -> Tracker[Any]:
    """Compute ``algorithm`` (a name or an ``Algorithm`` class) and keep its result current from here on.

    ``weight`` names the column of edges to use as weights; by default the column ``weight``, if there is one.

    The graph holds the tracker weakly: a dropped or closed tracker costs nothing more. Trackers of the same algorithm
    with equal parameters share all work and state; a later one computes nothing (see ``Tracker``).

    Raises:
        UnknownNameError: no algorithm of this name is installed.
        RequirementError: the graph lacks what the algorithm needs.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], num_vertices=5, device="cpu")
        >>> reach = g.track("bfs", source=0)
        >>> delta = g.insert_edges([2], [4])
        >>> reach.result.level.tolist()
        [0, 1, 2, -1, 3]
    """
    if graph.partition is None:
        return _tracked(graph, algorithm, params)
    with graph.partition.comm.asking({"algorithm": algorithm, **params}):
        return _tracked(graph, algorithm, params)


@Listing
def compute(graph: Graph, algorithm: Any, **params: Any) -> Any:
    """Return the result of ``algorithm`` from scratch, without keeping it. Raises as :meth:`track` does.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], num_vertices=4, device="cpu")
        >>> g.compute("bfs", source=0).parent.tolist()
        [0, 0, 1, -1]
    """
    graph._updater.raise_found()
    if graph.partition is None:
        return _computed(graph, algorithm, params)
    with graph.partition.comm.asking({"algorithm": algorithm, **params}):
        return _computed(graph, algorithm, params)


def _tracked(graph: Graph, algorithm: Any, params: dict[str, Any]) -> Tracker[Any]:
    seen, params = weighing(graph, algorithm, params)
    return make_tracker(graph, seen, algorithm, naming.as_parameters(graph, params))


def _computed(graph: Graph, algorithm: Any, params: dict[str, Any]) -> Any:
    seen, params = weighing(graph, algorithm, params)
    instance = make_algorithm(seen, algorithm, naming.as_parameters(graph, params))
    instance.compute(seen)
    instance.is_kept = False
    return instance.result
