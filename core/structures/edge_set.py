"""The edge set: a few edges beside a graph, such as what a batch changed, as operators and edge functions take them.

It is a list of arcs that operators start from, and, built on the device when first needed, a hash table that functions
ask (``(u, x) in batch``) and rows by source that operators walk like those of a graph. Nothing of it has the size of
the graph, and making it waits for no device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.arrays import as_array, as_ids, both_arcs, checked_ids, on_device, picked, range_message, same_length
from suricate.devices import Array, Device
from suricate.errors import DeviceError, DTypeError, VertexRangeError
from suricate.types import ArcList, EdgeList, StoreView

if TYPE_CHECKING:
    from suricate.graph import Graph

VALUE_DTYPES = tuple(np.dtype(name) for name in ("int32", "uint32", "int64", "uint64", "float32", "float64"))


class EdgeSet:
    """A set of edges on a graph's device, each with a number if ``values`` are given.

    Args:
        graph: gives the device, the range of ids, and whether ``(u, v)`` and ``(v, u)`` are the same edge.
        src: ids, ``n``.
        dst: ids, ``n``.
        values: ``n`` numbers of 32 or 64 bits, or None. Of an edge that is given more than once the last one counts.

    Raises:
        VertexRangeError: an id is negative or not below ``graph.num_vertices``.
        DTypeError, ShapeError, DeviceError: arrays that cannot be used.
    """

    __slots__ = ("__weakref__", "_arcs", "device", "directed", "num_vertices")

    def __init__(self, graph: Graph, src: Any, dst: Any, values: Any = None) -> None:
        self.device: Device = graph.device
        self.directed: bool = graph.directed
        self.num_vertices: int = graph.num_vertices
        with graph.exclusive():
            self._arcs = self._given(_edge_list(graph, src, dst, values))

    @classmethod
    def of_arcs(cls, device: Device, num_vertices: int, arcs: ArcList, *, directed: bool) -> EdgeSet:
        """Return the set of valid arcs that lie on the device, each at most once; both arcs of an undirected edge."""
        made = cls.__new__(cls)
        made.device, made.directed, made.num_vertices, made._arcs = device, directed, num_vertices, arcs
        return made

    def _given(self, edges: EdgeList) -> ArcList:
        xp = self.device.xp
        arcs = edges if self.directed else both_arcs(xp, edges)
        return ArcList(*arcs, None, 0, len(arcs.src))

    @property
    def value_dtype(self) -> np.dtype | None:
        """Dtype of the values, None if there are none."""
        weight = self._arcs.weight
        return None if weight is None else weight.dtype

    @property
    def size(self) -> int:
        """Number of entries of :meth:`arcs`: no less than that of the arcs in the set."""
        return self._arcs.size

    def arcs(self) -> ArcList:
        """Return the arcs: both directions of an undirected edge, a self-loop once."""
        return self._arcs

    def edges(self) -> EdgeList:
        """Return the arcs that are in the set, in arrays of their own, in any order; waits for the device."""
        src, dst, weight, status, wanted, _ = self.arcs()
        xp = self.device.xp
        return picked(
            EdgeList(src, dst, weight), xp.arange(len(src)) if status is None else xp.flatnonzero(status == wanted)
        )

    def table(self) -> Any:
        """Return the hash table that functions ask."""
        raise NotImplementedError

    def view(self, direction: str = "out") -> StoreView:
        """Return the rows by source, as operators walk them."""
        raise NotImplementedError

    def __repr__(self) -> str:
        values = "" if self.value_dtype is None else f", {self.value_dtype} values"
        return f"<EdgeSet: at most {self.size} arcs{values}, {self.device}>"


def _edge_list(graph: Graph, src: Any, dst: Any, values: Any) -> EdgeList:
    """Return copies or views of valid arrays on the graph's device."""
    sources, targets = _ids(graph, src, "src"), _ids(graph, dst, "dst")
    if values is None:
        same_length(sources, targets)
        return EdgeList(sources, targets)
    values = as_array(values, "values")
    if values.dtype not in VALUE_DTYPES:
        raise DTypeError(f"values has dtype {values.dtype}: use one of {', '.join(map(str, VALUE_DTYPES))}")
    same_length(sources, targets, values)
    return EdgeList(sources, targets, _on(graph.device, values, "values"))


def _ids(graph: Graph, given: Any, name: str) -> Array:
    ids = as_ids(given, name)
    if isinstance(ids, np.ndarray):
        return _on(graph.device, checked_ids(ids, graph.num_vertices, name), name)
    ids = _on(graph.device, ids, name)
    if len(ids):
        low, high = graph.device.to_numpy(graph.device.xp.stack((ids.min(), ids.max())))
        if low < 0 or high >= graph.num_vertices:
            wrong = int(low if low < 0 else high)
            raise VertexRangeError(range_message(name, int((ids == wrong).argmax()), wrong, graph.num_vertices))
    return ids.astype(np.uint32, copy=False)


def _on(device: Device, array: Array, name: str) -> Array:
    if device.is_cuda:
        return on_device(array, device, name)
    if not isinstance(array, np.ndarray):
        raise DeviceError(f"{name} is on a CUDA device, the graph is on the CPU: pass a NumPy array")
    return np.ascontiguousarray(array)
