"""The plain types that a store and its callers exchange: edge lists, outcomes, views, sentinels and statuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from suricate.base.devices import Array, ReturnedArray

EMPTY = 0xFFFFFFFF  #: in an array of ids: no vertex; in storage: a slot that never held an edge
TOMBSTONE = 0xFFFFFFFE  #: a slot whose edge was deleted
MAX_VERTICES = TOMBSTONE  #: ids are below this
#: advice in errors about ids that are far from those of the vertices
NUMBERING = "ids number the vertices from 0; su.Names().intern(ids) maps any integers to such ids"

UNCHANGED, NEW, REPLACED = 0, 1, 2  #: status of an edge of an insertion batch
REMOVED = 1  #: status of an edge of a deletion batch (``UNCHANGED``: it was not there)
DELETE, SET, INSERT = -1, 0, 1  #: kinds of events of a stream

WEIGHT_DTYPES = tuple(np.dtype(name) for name in ("float32", "float64", "int32", "uint32"))


WeightDType: TypeAlias = (  #: what stands for the dtype of weights
    Literal["float32", "float64", "int32", "uint32"] | np.dtype[Any] | type[np.number[Any]] | None
)


def same_dtype(one: np.dtype | None, other: np.dtype | None) -> bool:
    """Return whether two dtypes are the same; None, for no weights, is none (NumPy takes it for float64 in ``==``)."""
    return (one is None) == (other is None) and one == other


Direction: TypeAlias = Literal["out", "in"]  #: of edges, as seen from a vertex
SelfLoops: TypeAlias = Literal["allow", "drop", "error"]  #: what becomes of self-loops that are inserted
Checks: TypeAlias = Literal["eager", "deferred"]  #: when invalid device arrays raise


class EdgeList(NamedTuple):
    """Edges as parallel arrays: ``src`` and ``dst`` are ``uint32[n]``, ``weight`` is ``weight_dtype[n]`` or None.

    Example:
        >>> edges = su.EdgeList(np.array([0, 1]), np.array([1, 2]), np.array([0.5, 2.0]))
        >>> edges.src.tolist(), edges.weight.tolist()
        ([0, 1], [0.5, 2.0])
    """

    src: ReturnedArray
    dst: ReturnedArray
    weight: ReturnedArray | None = None

    @property
    def row(self) -> ReturnedArray | None:
        """The row of each edge in the columns of its graph, ``uint32[n]``; None if edges have no columns."""
        return None

    def each(self, function: Callable[[Array], Array]) -> EdgeList:
        """Return the edges with ``function`` of each array; None stays None.

        Example:
            >>> edges = su.EdgeList(np.array([0, 1]), np.array([1, 2]))
            >>> edges.each(lambda part: part + 1).dst.tolist()
            [2, 3]
        """
        made = EdgeList(function(self.src), function(self.dst), None if self.weight is None else function(self.weight))
        return made if self.row is None else made.in_rows(function(self.row))

    def in_rows(self, row: Array | None) -> EdgeList:
        """Return these edges with the numbers of their rows as :attr:`row`; None: these edges themselves.

        Example:
            >>> edges = su.EdgeList(np.array([1, 0]), np.array([2, 1]))
            >>> edges.in_rows(np.array([7, 8])).row.tolist()
            [7, 8]
        """
        if row is None:
            return self
        made = ColumnEdges(*self)
        made.row = row
        return made


class ColumnEdges(EdgeList):
    """Edges of a graph with columns of edges; :attr:`row` says where their values are."""

    row: ReturnedArray | None = None

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, row={self.row!r})"


class ValidEdges(EdgeList):
    """Edges that have already been validated for a graph, in contiguous arrays that must not be changed."""

    __slots__ = ()


class ArcList(NamedTuple):
    """Arcs in arrays on a device. Entry ``i`` counts if ``status`` is None or ``status[i] == wanted``.

    Attributes:
        src: ``uint32[size]``.
        dst: ``uint32[size]``.
        weight: one number per entry, or None. Unspecified for entries that do not count.
        status: ``uint8[size]``, or None if all entries count.
        wanted: the status of the entries that count.
        size: number of entries, known on the host.
    """

    src: Array
    dst: Array
    weight: Array | None
    status: Array | None
    wanted: int
    size: int

    @property
    def row(self) -> Array | None:
        """The row of each arc in the columns of edges, ``uint32[size]``; None if edges have no columns."""
        return None

    @classmethod
    def of(cls, edges: EdgeList) -> ArcList:
        """Return all entries of ``edges`` as arcs; nothing is copied."""
        made = (ArcList if edges.row is None else ColumnArcs)(*edges, None, 0, len(edges.src))
        if isinstance(made, ColumnArcs):
            made.row = edges.row
        return made

    def read(self) -> EdgeList:
        """Return the arcs that count, in new arrays; waits for the device."""
        src, dst, weight, status, wanted, _ = self
        with nullcontext() if isinstance(src, np.ndarray) else src.device:  # the arrays', whichever is current
            if status is None:
                return EdgeList(src, dst, weight).in_rows(self.row).each(lambda part: part.copy())
            counts = status == wanted  # bits are taken, as CuPy's arithmetic treats subnormal floats as zero
            return EdgeList(src, dst, weight).each(lambda part: part.view(f"u{part.itemsize}")[counts].view(part.dtype))


class ColumnArcs(ArcList):
    """Arcs of a graph with columns of edges, all of which count; :attr:`row` says where their values are."""

    row: Array | None = None


class PlacedArcs:
    """An :class:`ArcList` on a CUDA device, given by addresses for kernel launches: there are no array objects.

    Attributes:
        addresses: device addresses of ``src``, ``dst``, ``weight`` and ``status``; 0 for None.
        wanted: the status of the entries that count, as in :class:`ArcList`.
        size: number of entries.
    """

    __slots__ = ("_make", "addresses", "size", "wanted")

    def __init__(self, addresses: tuple[int, int, int, int], wanted: int, size: int, make: Callable[[], Any]) -> None:
        self.addresses, self.wanted, self.size = addresses, wanted, size
        self._make = make  # also keeps the memory


class Outcome(NamedTuple):
    """The result of a batch: ``status``, ``uint8[n]``, says what became of each input edge.

    ``weight`` is None on an unweighted store, else ``weight_dtype[n]``: the weight *before* the batch for edges whose
    ``status`` is ``REPLACED`` or ``REMOVED``, unspecified for others.
    """

    status: Array
    weight: Array | None = None

    def each(self, function: Callable[[Array], Array]) -> Outcome:
        """Return an ``Outcome`` of ``function(status)`` and, if there are weights, ``function(weight)``."""
        return Outcome(function(self.status), None if self.weight is None else function(self.weight))


class Adjacency(NamedTuple):
    """Out-edges of ``k`` vertices: the i-th has ``dst[offsets[i]:offsets[i + 1]]``; ``offsets`` is ``int64[k + 1]``.

    ``weight`` is parallel to ``dst``, or None.
    """

    offsets: ReturnedArray
    dst: ReturnedArray
    weight: ReturnedArray | None = None

    @property
    def row(self) -> ReturnedArray | None:
        """The row of each edge in the columns of its graph, as of :class:`EdgeList`."""
        return None

    def in_rows(self, row: Array | None) -> Adjacency:
        """Return this with the numbers of the edges' rows as :attr:`row`; None: this itself."""
        if row is None:
            return self
        made = ColumnAdjacency(*self)
        made.row = row
        return made


class ColumnAdjacency(Adjacency):
    """An :class:`Adjacency` of a graph with columns of edges."""

    row: ReturnedArray | None = None


@dataclass(frozen=True)
class StoreView:
    """The plain arrays of a store, passed to kernels; valid until the store changes.

    Attributes:
        data: a NamedTuple *instance* of arrays and ints whose class is defined at the top level of a module. Its arrays
            are contiguous, and the dtype of each is always the same. Numba takes it unchanged; for CUDA it becomes a
            struct ``View`` with the same field names (array -> pointer, int -> ``long long``).
        cursor: name of the module that holds the Numba cursor functions (see ``suricate.cursors``).
        header: the ``.cuh`` file with the same functions for CUDA.
        constants: integers that the header sees as macros (slab width, for instance).
        weight_dtype: dtype of the weights, None if there are none.
        num_vertices: number of vertices.
        declarations: C++ text that precedes the header: enums and constants generated from the Python side.

    Capabilities of the cursor besides walking one vertex (see ``suricate.cursors``), by which operators choose kernels:

    Attributes:
        can_scan: whether the header can walk all segments in address order.
        has_updated: whether the cursor can walk the edges inserted since ``Store.mark()``.
        ascending: whether the cursor walks every adjacency in ascending order of destination.
        find: cost of an edge query: expected constant, a binary search, or a scan of the adjacency.
        owner_per: whether all edges of a segment have one source (``"segment"``) or each its own (``"slot"``).
        chained: whether the segments of a vertex are linked, so that walking the vertex reads them one after the other,
            while a scan reads them in parallel.
        by_row: whether weights lie in a separate array ``data.by_row``, indexed by a uint32 number per edge. ``weight``
            of the cursor module then returns the weight, that of the header the number.
    """

    data: Any
    cursor: str
    header: Path
    num_vertices: int
    weight_dtype: np.dtype | None = None
    constants: Mapping[str, int] = field(default_factory=dict)
    can_scan: bool = False
    has_updated: bool = False
    ascending: bool = False
    find: Literal["hash", "sorted", "linear"] = "linear"
    owner_per: Literal["segment", "slot"] = "segment"
    chained: bool = False
    declarations: str = ""
    by_row: bool = False

    @cached_property
    def most_edges(self) -> int:
        """An upper bound of the number of edges, known on the host: the length of the longest array of the view."""
        return max((len(part) for part in self.data if hasattr(part, "dtype")), default=0)


class Change(NamedTuple):
    """The edges that a batch inserted, or those it deleted: ``edges``, as passed to the store, and their ``outcome``.

    If ``mirrored`` is set, the edges are undirected and each is listed twice, as its two symmetric arcs.
    """

    edges: EdgeList
    outcome: Outcome
    mirrored: bool


def ends_of(keys: Array) -> tuple[Array, Array]:
    """Return sources and destinations of edge keys ``src << 32 | dst`` (``uint64[n]``), as ``uint32[n]`` each."""
    return (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)


def edge_keys(src: Array, dst: Array) -> Array:
    """Return ``src << 32 | dst`` per edge, ``uint64[n]``: their order is that of source, then destination."""
    return (src.astype(np.uint64) << np.uint64(32)) | dst.astype(np.uint64)
