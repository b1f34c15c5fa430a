"""Graphs from and to ``Data`` of PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError, ShapeError
from suricate.graph.exchange import Parts, both_arcs, graph_of, parts_of, refuse_attributes
from suricate.graph.interop import ends_of_index
from suricate.intake.arrays import as_array, on_host
from suricate.intake.tables import library
from suricate.state.edge_table import WEIGHT
from suricate.state.locks import on_graph_device

if TYPE_CHECKING:
    from suricate.graph import Graph

INDEX, COUNT, EDGE_WEIGHT, NAME = "edge_index", "num_nodes", "edge_weight", "name"


def from_pyg(cls: type[Graph], data: Any, *, exclude: Collection[str] = (), **options: Any) -> Graph:
    """Return the graph of a ``torch_geometric.data.Data``, or of anything with its attributes.

    ``edge_weight`` becomes the weights, ``name`` (a list of texts) :attr:`Graph.names`. Other attributes with one
    number per node become columns, those with one per edge columns of edges.

    Args:
        cls: ``Graph``.
        data: ``edge_index`` is ``[2, edges]``, ``num_nodes`` the number of nodes; without parallel edges.
        exclude: attributes to leave out, such as a matrix of features.
        options: options of ``Graph``; ``directed`` is True by default. With False, ``edge_index`` may have an edge in
            both directions, with equal attributes. ``combine``, as for :func:`from_coo`, allows parallel edges.

    Raises:
        ParameterError: ``data`` is not a ``Data``, or there are parallel edges.
        ShapeError: an attribute has more than one number per node or edge, or belongs to neither: exclude it.
    """
    if not hasattr(data, INDEX) or not hasattr(data, COUNT):
        raise ParameterError(f"data must be a Data of PyTorch Geometric, got {type(data).__name__}")
    if data.edge_index is None:
        raise ParameterError("data has no edge_index: of a graph without edges it is of shape [2, 0]")
    index = ends_of_index(np.asarray(on_host(as_array(data.edge_index, INDEX))))
    size, count = int(data.num_nodes), index.shape[1]
    names: list[Any] | None = None
    vertices: dict[str, Any] = {}
    edges: dict[str, Any] = {}
    for name in _attributes(data):
        if name in exclude or getattr(data, name) is None:
            continue
        value = getattr(data, name)
        if name == NAME and isinstance(value, list):
            names = value
            continue
        listed = isinstance(value, list)
        array = np.asarray(value, object) if listed else np.asarray(on_host(as_array(value, name)))
        column = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
        belongs = _owner(name, column.shape, size, count)
        (edges if belongs == "edge" else vertices)[WEIGHT if name == EDGE_WEIGHT else name] = column
    if options.get("directed") is False and options.get("combine") is None:
        index, edges = _once(index, edges)
    parts = Parts(size, index[0], index[1], options.get("directed") is not False, edges, vertices, names)
    return graph_of(cls, parts, options, matrix=True)


def _attributes(data: Any) -> list[str]:
    """Return the names of the attributes of ``data``, except ``edge_index`` and ``num_nodes``."""
    keys = data.keys() if callable(getattr(data, "keys", None)) else getattr(data, "keys", vars(data))
    return [name for name in keys if name not in (INDEX, COUNT)]


def _owner(name: str, shape: tuple[int, ...], nodes: int, edges: int) -> str:
    """Return ``"node"`` or ``"edge"``: what an attribute of this shape belongs to; if both fit, its name decides."""
    fits = [owner for owner, count in (("node", nodes), ("edge", edges)) if shape == (count,)]
    if not fits:
        reason = f"{name} has shape {shape}: a column holds one number per node ({nodes}) or edge ({edges})"
        raise ShapeError(f"{reason}: leave it out with exclude=[{name!r}]")
    return ("edge" if "edge" in name else "node") if len(fits) == 2 else fits[0]


def _once(index: np.ndarray, edges: dict[str, Any]) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the ends and attributes of each undirected edge once; ``index`` may have both directions of an edge."""
    low, high = np.minimum(*index), np.maximum(*index)
    order = np.lexsort((index[0], high, low))
    same = np.zeros(len(order), bool)
    same[1:] = (low[order][1:] == low[order][:-1]) & (high[order][1:] == high[order][:-1])
    same[1:] &= index[0][order][1:] != index[0][order][:-1]  # the same arc twice is no edge in both directions
    for name, values in edges.items():
        if not np.array_equal(values[order][same], values[order][np.flatnonzero(same) - 1]):
            raise ParameterError(
                f"{name} differs between the two directions of an edge: build a directed graph, or choose by combine="
            )
    kept = order[~same]
    return index[:, kept], {name: values[kept] for name, values in edges.items()}


@on_graph_device
def to_pyg(graph: Graph) -> Any:
    """Return a ``torch_geometric.data.Data`` whose nodes have the same numbers; an undirected edge becomes two arcs.

    Weights become ``edge_weight``, columns attributes, names the list ``name``. Deleted vertices become nodes without
    edges, so that the numbers of the others stay the same.

    Raises:
        MissingLibraryError: PyTorch Geometric is not installed.
        RequirementError: a column has a name that ``Data`` uses itself.
    """
    torch, geometric, parts = library("torch", "pyg"), library("torch_geometric.data", "pyg"), parts_of(graph)
    refuse_attributes("PyTorch Geometric", parts, (INDEX, COUNT, EDGE_WEIGHT, NAME))
    if parts.vertices.keys() & parts.edges.keys():
        raise RequirementError("to PyTorch Geometric: vertices and edges have columns of one name: rename one")
    src, dst, edges = parts.src.astype(np.int64), parts.dst.astype(np.int64), parts.edges
    if not parts.directed:
        src, dst, edges = both_arcs(src, dst, edges)
    columns = {EDGE_WEIGHT if name == WEIGHT else name: values for name, values in edges.items()} | parts.vertices
    values = {
        name: column.tolist() if column.dtype == object else torch.as_tensor(column) for name, column in columns.items()
    }
    if parts.names is not None:
        values[NAME] = parts.names
    made = geometric.Data(edge_index=torch.as_tensor(np.stack([src, dst])), num_nodes=parts.num_vertices)
    for name, value in values.items():
        setattr(made, name, value)
    return made
