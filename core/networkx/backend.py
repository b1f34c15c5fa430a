"""The object that NetworkX dispatches to; its functions are those of the entry points (see ``info``)."""

from __future__ import annotations

import warnings
from typing import Any

import networkx as nx

from suricate.networkx.converted import Converted
from suricate.networkx.functions import COSTS, FEWEST, Served, refusal
from suricate.networkx.info import offered
from suricate.networkx.live import current, is_live

_failed: set[str] = set()  # values of entry points


def convert_from_nx(
    graph: Any, edge_attrs: Any = None, node_attrs: Any = None, preserve_edge_attrs: Any = False,
    preserve_node_attrs: Any = False, name: str | None = None, **_: Any,
) -> Converted:  # fmt: skip
    """Return ``graph`` converted for the function ``name``; NetworkX's dispatcher calls it, and names the parameters.

    Raises:
        NotImplementedError: it is a multigraph, or its weights cannot be used; the message says why.
    """
    wanted, device = edge_attrs or {}, nx.config.backends.suricate.device
    keep = bool(preserve_edge_attrs or preserve_node_attrs or node_attrs or name in ("reverse", "stochastic_graph"))
    try:
        if graph.is_multigraph():
            raise NotImplementedError("suricate keeps one edge between two nodes: it does not serve multigraphs")
        if is_live(graph) and (not wanted or wanted == {graph.live_weight: 1}):
            live = current(graph, device)
            if live is not None:
                return live
        return Converted.of(graph, wanted, device=device, keep=keep)
    except NotImplementedError:
        raise
    except Exception as error:
        raise refusal(name or "a call", error, Exception) from error


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """Return ``result``, or if it is a converted graph one of NetworkX; the function ``name`` does not matter."""
    return result.to_networkx() if isinstance(result, Converted) else result


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return True if the call ``name(*args, **kwargs)`` of NetworkX is served, else a sentence that says why not."""
    function = _function(name)
    if function is None:
        return f"suricate has no function {name}"
    try:
        return function.refusal(args, kwargs) or True
    except (AttributeError, TypeError) as error:  # it is no graph
        return str(error)


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return True if ``name(*args, **kwargs)`` is likely faster than by NetworkX, else a sentence that says why not."""
    function: Any = _function(name)
    try:
        graph, cost = function.graph_of(args, kwargs), function.cost_of(args, kwargs)
    except TypeError as error:
        return str(error)
    if cost in ("vertices", "local"):
        return f"this is {COSTS[cost]}"
    if is_live(graph) or is_converted(graph):
        return True
    if cost not in FEWEST:
        return f"the graph is not converted yet, and this is {COSTS[cost]}"
    return graph.number_of_edges() >= FEWEST[cost] or f"with fewer than {FEWEST[cost]} edges NetworkX is faster"


def is_converted(graph: Any) -> bool:
    """Return whether NetworkX's cache of conversions, which is stored with ``graph``, has one for this backend."""
    cache = getattr(graph, "__networkx_cache__", None) or {}
    kept = cache.get("backends", {}).get(Converted.__networkx_backend__, {})
    return any(isinstance(found, Converted) for found in kept.values())


def _function(name: str) -> Served | None:
    found = globals().get(name)
    return found if isinstance(found, Served) else _loaded(name)


def _loaded(name: str) -> Served | None:
    point = offered().get(name)
    if point is None:
        return None
    if point.value in _failed:
        return None
    try:
        found = point.load()
        if not isinstance(found, Served):
            raise TypeError("it is no function that served() declares")
    except Exception as error:
        _failed.add(point.value)
        line = f"the function {name} of suricate's backend cannot be loaded from {point.value}: {error}"
        warnings.warn(line, RuntimeWarning, stacklevel=2)
        return None
    globals()[name] = found
    return found


def __getattr__(name: str) -> Any:
    if name.startswith("__") or (found := _loaded(name)) is None:
        raise AttributeError(f"the backend suricate of NetworkX has no function {name!r}")
    return found
