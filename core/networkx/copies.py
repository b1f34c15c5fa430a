"""Functions of NetworkX that return another graph: NetworkX itself runs them on the copy that a conversion has kept.

They serve graphs that are converted already, which NetworkX could not read; a call by priority never comes here.
"""

from __future__ import annotations

from typing import Any

import networkx as nx

from suricate.networkx.converted import Converted
from suricate.networkx.functions import key, served


def _by_networkx(name: str, graph: Converted, *args: Any) -> Any:
    with nx.config.backend_priority(algos=[], generators=[]):
        return getattr(nx, name)(graph.original(), *args)


def _copied(copy: Any) -> str | None:
    return None if copy else "the graph that is converted cannot be changed"


@served(cost="vertices", limits={"label_attribute": key})
def convert_node_labels_to_integers(
    G: Converted,
    first_label: int = 0,
    ordering: str = "default",
    label_attribute: Any = None,
) -> Any:
    """Return the graph with integers for nodes, numbered from ``first_label`` in an ``ordering`` of NetworkX.

    ``label_attribute``: attribute of nodes that gets the former node.
    """
    return _by_networkx("convert_node_labels_to_integers", G, first_label, ordering, label_attribute)


@served(cost="vertices", limits={"copy": _copied})
def relabel_nodes(G: Converted, mapping: Any, copy: bool = True) -> Any:
    """Return the graph with the nodes that ``mapping``, a dict or a function, gives for its nodes."""
    return _by_networkx("relabel_nodes", G, mapping, copy)


@served(cost="vertices", directed=True, limits={"copy": _copied})
def stochastic_graph(G: Converted, copy: bool = True, weight: Any = "weight") -> Any:
    """Return the graph with the attribute ``weight`` divided by its sum over the out-edges of each node."""
    return _by_networkx("stochastic_graph", G, copy, weight)
