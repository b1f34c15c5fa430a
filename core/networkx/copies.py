"""Functions of NetworkX that return another graph or a matrix: NetworkX runs them on the graph that was converted.

They serve graphs that are converted already, which NetworkX could not read; a call by priority never comes here.
"""

from __future__ import annotations

from typing import Any

from suricate.networkx.arguments import key
from suricate.networkx.converted import Converted
from suricate.networkx.functions import by_networkx, served

COPY = "made by NetworkX, of the copy that a conversion keeps"


def _copied(copy: Any) -> str | None:
    return None if copy else "the graph that is converted cannot be changed"


@served(note=COPY, cost="vertices", limits={"label_attribute": key})
def convert_node_labels_to_integers(
    G: Converted,
    first_label: int = 0,
    ordering: str = "default",
    label_attribute: Any = None,
) -> Any:
    """Return the graph with integers for nodes, numbered from ``first_label`` in an ``ordering`` of NetworkX.

    ``label_attribute``: attribute of nodes that gets the former node.
    """
    return by_networkx("convert_node_labels_to_integers", G, first_label, ordering, label_attribute)


@served(note=COPY, cost="vertices", limits={"copy": _copied})
def relabel_nodes(G: Converted, mapping: Any, copy: bool = True) -> Any:
    """Return the graph with the nodes that ``mapping``, a dict or a function, gives for its nodes."""
    return by_networkx("relabel_nodes", G, mapping, copy)


@served(note=COPY, cost="vertices", directed=True, limits={"copy": _copied})
def stochastic_graph(G: Converted, copy: bool = True, weight: Any = "weight") -> Any:
    """Return the graph with the attribute ``weight`` divided by its sum over the out-edges of each node."""
    return by_networkx("stochastic_graph", G, copy, weight)


@served(note=COPY, cost="vertices")
def compose(G: Converted, H: Any) -> Any:
    """Return the graph with the nodes and edges of both graphs, with the attributes of ``H`` where both have some."""
    return by_networkx("compose", G, H)


@served(note=COPY, cost="vertices")
def union(G: Converted, H: Any, rename: Any = ()) -> Any:
    """Return the graph with the nodes and edges of both, which share no node; ``rename``: prefixes of their nodes."""
    return by_networkx("union", G, H, rename)


@served(note=COPY, cost="vertices")
def disjoint_union(G: Converted, H: Any) -> Any:
    """Return the graph with the nodes and edges of both, numbered from 0."""
    return by_networkx("disjoint_union", G, H)


@served(note=COPY, cost="vertices")
def compose_all(graphs: list[Any]) -> Any:
    """Return the graph with the nodes and edges of all ``graphs``; of the attributes the last ones count."""
    return by_networkx("compose_all", graphs)


@served(note=COPY, cost="vertices")
def union_all(graphs: list[Any], rename: Any = ()) -> Any:
    """Return the graph with the nodes and edges of all ``graphs``, which share no node; ``rename``: their prefixes."""
    return by_networkx("union_all", graphs, rename)


@served(note=COPY, cost="vertices")
def disjoint_union_all(graphs: list[Any]) -> Any:
    """Return the graph with the nodes and edges of all ``graphs``, numbered from 0."""
    return by_networkx("disjoint_union_all", graphs)


@served(note=COPY, cost="vertices")
def adjacency_matrix(G: Converted, nodelist: Any = None, dtype: Any = None, weight: Any = "weight") -> Any:
    """Return the weights of edges as a sparse array of SciPy."""
    return by_networkx("adjacency_matrix", G, nodelist, dtype, weight)


@served(note=COPY, cost="vertices")
def to_scipy_sparse_array(
    G: Converted, nodelist: Any = None, dtype: Any = None, weight: Any = "weight", format: str = "csr"
) -> Any:
    """Return the weights of edges as a sparse array of SciPy."""
    return by_networkx("to_scipy_sparse_array", G, nodelist, dtype, weight, format)


@served(note=COPY, cost="vertices")
def to_numpy_array(
    G: Converted,
    nodelist: Any = None,
    dtype: Any = None,
    order: Any = None,
    multigraph_weight: Any = sum,
    weight: Any = "weight",
    nonedge: float = 0.0,
) -> Any:
    """Return the weights of edges as an array of NumPy; ``nonedge``: the value where there is no edge."""
    return by_networkx("to_numpy_array", G, nodelist, dtype, order, multigraph_weight, weight, nonedge)


@served(note=COPY, cost="vertices")
def google_matrix(
    G: Converted,
    alpha: float = 0.85,
    personalization: Any = None,
    nodelist: Any = None,
    weight: Any = "weight",
    dangling: Any = None,
) -> Any:
    """Return the matrix of the steps that PageRank makes, as an array of NumPy."""
    return by_networkx("google_matrix", G, alpha, personalization, nodelist, weight, dangling)
