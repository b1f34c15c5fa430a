"""Functions that the backend offers to NetworkX: ``served`` declares one, entry points list them (``info.GROUP``)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any

COSTS = {  #: what a function costs NetworkX, hence when it pays to convert a graph for it
    "vertices": "at most one pass over the vertices: converting a graph always takes longer",
    "local": "a search that ends early or from both ends, or about few nodes: NetworkX reads a part of the graph",
    "linear": "one pass over the edges: pays once the graph is converted",
    "iterations": "some passes over the edges: pays with many edges, or once the graph is converted",
    "heavy": "many passes over the edges: pays with some edges, or once the graph is converted",
}
FEWEST = {"iterations": 10_000, "heavy": 1_000}  #: edges from which a call pays that converts the graph; measured

Limit = Callable[[Any], str | None]  # a value of a parameter -> why it is not served, None if it is


@dataclass(eq=False)
class Served:
    """A function of NetworkX that answers from a :class:`~suricate.networkx.Converted` graph: see :func:`served`."""

    function: Callable[..., Any]
    algorithms: tuple[str, ...]
    cost: str
    directed: bool | None
    limits: Mapping[str, Limit]
    part: tuple[str, ...]
    note: str

    def __post_init__(self) -> None:
        update_wrapper(self, self.function)
        self.signature = inspect.signature(self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's result for arguments, of which the graph is a :class:`~suricate.networkx.Converted`."""
        return self.function(*args, **kwargs)

    def graph_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the graph among the positional arguments ``args`` and keyword arguments ``kwargs`` of a call."""
        return args[0] if args else next(iter(kwargs[name] for name in self.signature.parameters if name in kwargs))

    def cost_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Return the cost of a call with the arguments ``args`` and ``kwargs``, a key of ``COSTS``."""
        given = self.signature.bind_partial(*args, **kwargs).arguments
        return "local" if self.part and all(given.get(name) is not None for name in self.part) else self.cost

    def refusal(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """Return a sentence why a call with ``args`` and ``kwargs`` is not served; None if it is."""
        graph = self.graph_of(args, kwargs)
        if graph.is_multigraph():
            return "suricate keeps one edge between two nodes: it does not serve multigraphs"
        if self.directed is not None and graph.is_directed() != self.directed:
            kind = "directed" if self.directed else "undirected"
            return f"suricate serves {self.function.__name__} of {kind} graphs only"
        if self.limits and (len(args) > 1 or kwargs):
            bound = self.signature.bind_partial(*args, **kwargs).arguments
            for name, limit in self.limits.items():
                reason = limit(bound[name]) if name in bound else None
                if reason is not None:
                    return f"suricate does not serve {name}={bound[name]!r} in {self.function.__name__}: {reason}"
        return None


def served(
    *algorithms: str,
    cost: str,
    directed: bool | None = None,
    limits: Mapping[str, Limit] | None = None,
    part: tuple[str, ...] = (),
    note: str = "",
) -> Callable[[Callable[..., Any]], Served]:
    """Declare a function that serves the function of the same name in NetworkX.

    Its first argument is a :class:`~suricate.networkx.Converted` graph; its parameters, defaults and exceptions are
    NetworkX's. An entry point of the group ``suricate.networkx`` with NetworkX's name for it registers it.

    Args:
        algorithms: names of the algorithms that it uses, for the documentation.
        cost: one of ``COSTS``.
        directed: True: it serves directed graphs only, False: undirected ones only.
        limits: by parameter, a function that takes a value and returns a sentence that says why it is not served, or
            None.
        part: parameters; if all are given, NetworkX visits only a part of the graph: the cost is ``"local"``.
        note: how its answers differ from NetworkX's, for the documentation.
    """
    if cost not in COSTS:
        raise ValueError(f"cost must be one of {', '.join(COSTS)}, got {cost!r}")

    def declare(function: Callable[..., Any]) -> Served:
        return Served(function, algorithms, cost, directed, limits or {}, part, note)

    return declare


def named(weight: Any) -> str | None:
    """Return None, or if ``weight`` is a function the reason why weights that a function returns are not served."""
    return "weights that a function returns are not served" if callable(weight) else None


def absent(value: Any) -> str | None:
    """Return None if ``value`` is None, else the reason why the call is left to NetworkX."""
    return None if value is None else "only None is served"
