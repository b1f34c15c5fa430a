"""Functions of NetworkX that return another graph or a matrix: NetworkX runs them on the graph that was converted.

They serve graphs that are converted already, which NetworkX could not read; a call by priority never comes here. Entry
points say which functions are offered: any one that NetworkX dispatches can be.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from networkx.utils.backends import _registered_algorithms

from suricate.networkx.arguments import key
from suricate.networkx.functions import Served, by_networkx, served

COPY = "made by NetworkX, of the copy that a conversion keeps"


def _copied(copy: Any) -> str | None:
    return None if copy else "the graph that is converted cannot be changed"


_DIFFER: dict[str, dict[str, Any]] = {  #: arguments of ``served`` that differ from those of the others
    "convert_node_labels_to_integers": {"limits": {"label_attribute": key}},
    "relabel_nodes": {"limits": {"copy": _copied}},
    "reverse": {"limits": {"copy": _copied}, "directed": True},
    "stochastic_graph": {"limits": {"copy": _copied}, "directed": True},
}


def __getattr__(name: str) -> Served:
    theirs = _registered_algorithms.get(name)
    if theirs is None:
        raise AttributeError(f"NetworkX has no function {name!r}")

    @wraps(theirs.orig_func)  # so it has the parameters of the version that is installed
    def function(*args: Any, **kwargs: Any) -> Any:
        return by_networkx(name, *args, **kwargs)

    return served(note=COPY, cost="vertices", **_DIFFER.get(name, {}))(function)
