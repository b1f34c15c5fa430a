"""The edge set: a few edges beside a graph, such as what a batch changed, which operators and edge functions take.

It is an arc list, from which operators start. When first needed, a hash table is built on the device, in which edge
functions look up edges (``(u, x) in batch``), and rows by source, which operators walk like those of a graph. Its
memory depends on its own size only, not on that of the graph. Making it waits for no device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array, Device, resolve_device
from suricate.base.errors import CapacityError, DTypeError, RequirementError
from suricate.base.parameters import one_of
from suricate.base.protocols import GraphLike
from suricate.base.types import REMOVED, ArcList, Change, EdgeList, StoreView
from suricate.edgefn.parameters import OWNERS, Argument, Owner
from suricate.intake.arrays import as_array, both_arcs, picked, placed, placed_ids, same_length
from suricate.state.edges.edge_hash import EdgeTable
from suricate.state.locks import Lock, graph_lock
from suricate.state.made import MadeByGraph

OWNERS["edges"] = Owner(
    "suricate.state.edges.edge_look_ups", ("contains", "value_of"), "edge_hash.cuh", "suricate.state.edges.edge_hash"
)
MOST_ARCS = 1 << 30
EXTRA = 8  # slots that a table has besides
VALUE_DTYPES = tuple(np.dtype(name) for name in ("int32", "uint32", "int64", "uint64", "float32", "float64"))


class EdgeSet(metaclass=MadeByGraph):
    """A set of edges, made by ``graph.edge_set(...)`` and by deltas, each with a number if ``values`` are given.

    Args:
        graph: gives the device, the range of ids, and whether ``(u, v)`` and ``(v, u)`` are the same edge.
        src: ``n`` ids, the sources.
        dst: ``n`` ids, the destinations.
        values: ``n`` numbers of 32 or 64 bits, or None. For a repeated edge the last value counts.

    ``copy.copy``, ``copy.deepcopy`` and ``pickle`` give an independent set on the same device.

    Raises:
        VertexRangeError: an id is negative or not below ``graph.num_vertices``.
        DTypeError, ShapeError, DeviceError: the arrays are invalid.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 0], device="cpu")
        >>> chosen = g.edge_set([0, 2], [1, 0])
        >>> in_degree = np.zeros(3, np.int64)
        >>> def count(u, v, w, in_degree):
        ...     su.atomic.add(in_degree, v, 1)
        >>> su.edge_map(g, chosen, count, args=(in_degree,))
        >>> isinstance(chosen, su.EdgeSet), in_degree.tolist()
        (True, [1, 1, 0])
    """

    __slots__ = (
        "__weakref__",
        "_arcs",
        "_lock",
        "_most",
        "_repeats",
        "_table",
        "_view",
        "device",
        "directed",
        "num_vertices",
    )

    def __init__(self, graph: GraphLike, src: Any, dst: Any, values: Any = None) -> None:
        with graph.exclusive():
            edges = _edge_list(graph, src, dst, values)
            arcs = edges if graph.directed else both_arcs(graph.device.xp, edges)
            self._assemble(
                graph.device, graph.num_vertices, ArcList.of(arcs), graph.directed, len(edges.src), graph.exclusive()
            )
        self._repeats = True

    @classmethod
    def _of_arcs(
        cls, device: Device, num_vertices: int, arcs: ArcList, *, directed: bool, most: int, lock: Lock | None = None
    ) -> EdgeSet:
        """Return the set of the arcs in a list on the device; nothing is copied or checked.

        Args:
            device: device of the arrays.
            num_vertices: number of vertices; all ids are below it.
            arcs: the list. Each arc that counts occurs once; of an undirected edge both arcs do.
            directed: False if ``(u, v)`` and ``(v, u)`` are the same edge.
            most: an upper bound of the number of edges.
            lock: the graph's lock; None: the set makes its own one.
        """
        made = cls.__new__(cls)
        made._assemble(device, num_vertices, arcs, directed, most, lock)
        return made

    def _assemble(
        self, device: Device, num_vertices: int, arcs: ArcList, directed: bool, most: int, lock: Lock | None
    ) -> None:
        if arcs.size > MOST_ARCS:
            raise CapacityError(f"an edge set of {arcs.size} arcs is too large: there may be {MOST_ARCS}")
        self.device, self.num_vertices, self.directed = device, num_vertices, directed
        self._arcs, self._most, self._repeats = arcs, most, False
        self._lock = lock  # None: made when needed
        self._table: EdgeTable | None = None
        self._view: StoreView | None = None

    @property
    def value_dtype(self) -> np.dtype | None:
        """Dtype of the values, None if there are none."""
        weight = self._arcs.weight
        return None if weight is None else weight.dtype

    @property
    def edge_argument(self) -> Argument:
        """The type of this set as an argument of edge functions: ``(u, x) in batch``, ``batch.get(u, x, default)``."""
        return Argument("edges", self.value_dtype)

    @property
    def size(self) -> int:
        """Number of entries of :meth:`arcs`, an upper bound of the number of arcs."""
        return self._arcs.size

    def arcs(self) -> ArcList:
        """Return the arc list: both arcs of an undirected edge, a self-loop once, the last one of duplicate edges.

        Example:
            >>> pairs = su.Graph(3, directed=False, device="cpu").edge_set([0], [1])
            >>> pairs.arcs().size
            2
        """
        if self._repeats:
            self.table()
        return self._arcs

    def edges(self) -> EdgeList:
        """Return the edges in new arrays, in any order; undirected ones once, ``src <= dst``. Waits for the device.

        Example:
            >>> pairs = su.Graph(3, device="cpu").edge_set([2, 0, 0], [1, 1, 1])
            >>> pairs.edges().dst.tolist()
            [1, 1]
        """
        arcs = self.arcs().read()
        return arcs if self.directed else picked(arcs, arcs.src <= arcs.dst)

    def table(self) -> EdgeTable:
        """Return the hash table in which edge functions look up edges; built by one launch when first needed.

        Example:
            >>> pairs = su.Graph(3, device="cpu").edge_set([0, 1], [1, 2])
            >>> type(pairs.table()).__name__
            'EdgeTable'
        """
        if self._table is None:
            with self._exclusive():
                if self._table is None:  # no other thread has made it meanwhile
                    self._table = self._filled_table(_kernels(self.device).all_bits_set(self.device, self._table_words))
        return self._table

    @property
    def _table_words(self) -> int:
        """Memory for the hash table in words of 32 bits: two for the key and one for the entry of each slot."""
        return 3 * (7 * self._most // 4 + EXTRA)

    def _filled_table(self, words: Array) -> EdgeTable:
        """Build the hash table in the memory ``words``, ``uint32[]`` with all bits set, and return it.

        If there may be duplicates, this also adds a status to the arc list: 1 for the arcs that count, 0 for the
        duplicates of which a later one counts, and for the second arc of a self-loop.
        """
        from suricate.state.edges.edge_hash import EdgeTable

        src, dst, value, status, wanted, size = self._arcs
        kernels, capacity = _kernels(self.device), len(words) // 3
        absent = src[:0].view(np.uint8) if value is None else value
        table = EdgeTable(words[: 2 * capacity].view(np.uint64), words[2 * capacity :], absent, int(self.directed))
        mark = kernels.ones(self.device, size) if self._repeats else None
        if size:
            kernels.fill_table(self.device, table, src, dst, status, wanted, mark)
        if mark is not None:
            self._arcs = ArcList(src, dst, value, mark, 1, size)
            self._repeats = False  # behind all else: another thread may look here
        return table

    def view(self, over: str = "out") -> StoreView:
        """Return the rows by source, which operators walk like those of a graph; built when first needed.

        Raises:
            RequirementError: ``over`` is ``"in"`` and the edges are directed: a set has no rows by destination.

        Example:
            >>> pairs = su.Graph(3, device="cpu").edge_set([0, 1], [1, 2])
            >>> pairs.view().num_vertices
            3
        """
        if one_of("over", over, ("out", "in")) == "in" and self.directed:
            raise RequirementError("an edge set has no rows by destination: make one of the reversed edges")
        if self._view is None:
            with self._exclusive():
                if self._view is None:
                    self._view = self._rows_view()
        return self._view

    def _rows_view(self) -> StoreView:
        """Build the rows by source and return a view of them."""
        from suricate.state.edges.edge_rows import EdgeRows, rows_view

        kernels, size = _kernels(self.device), self.size
        slots, before = size + size // 2 + EXTRA, 0 if self._table is not None else self._table_words
        counted = 2 * slots + 2  # words of the sources, their rows and two counters
        words = kernels.all_bits_set(self.device, before + counted + size + min(size, self.num_vertices))
        if self._table is None:
            self._table = self._filled_table(words[:before])
        table, words = self._table, words[before:]
        src, dst, _, status, wanted, _ = self._arcs
        rows = words[counted:]
        if size:
            kernels.fill_rows(self.device, words, slots, rows, src, status, wanted)
        data = EdgeRows(
            source=words[:slots], row=words[slots : 2 * slots], rows=rows, src=src, dst=dst, weight=table.value,
            status=src[:0].view(np.uint8) if status is None else status, key=table.key, entry=table.entry,
            slots=slots, capacity=len(table.key), size=size, wanted=wanted, filtered=int(status is not None),
            directed=table.directed,
        )  # fmt: skip
        return rows_view(data, self.num_vertices, self.value_dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        arcs = self.arcs().read().each(self.device.to_numpy)
        return _restored, (str(self.device), self.num_vertices, arcs, self.directed)

    def _exclusive(self) -> Lock:
        if self._lock is None:
            self._lock = graph_lock(self.device)
        return self._lock

    def __repr__(self) -> str:
        values = "" if self.value_dtype is None else f", {self.value_dtype} values"
        return f"<EdgeSet: at most {self.size} arcs{values}, {self.device}>"


def _restored(device: str, num_vertices: int, edges: EdgeList, directed: bool) -> EdgeSet:
    """Return a set with copies of these arcs on ``device``, such as "cpu"; for copies and pickles."""
    place = resolve_device(device)
    with place.current():
        arcs = ArcList.of(edges.each(place.xp.array))
    return EdgeSet._of_arcs(place, num_vertices, arcs, directed=directed, most=arcs.size)


def net_change(device: Device, removed: Change, added: Change) -> None:
    """Change the statuses of a deletion ``removed`` and the insertion ``added`` after it to their net change, in place.

    An arc that was deleted and inserted again gets ``UNCHANGED`` in both; if its weight differs, ``added`` gets
    ``REPLACED`` instead. Two launches on CUDA; does not wait.
    """
    (src, dst, _), outcome, _ = removed
    if not len(src) or not len(added.edges.src):
        return
    gone = EdgeSet._of_arcs(
        device, 0, ArcList(src, dst, None, outcome.status, REMOVED, len(src)), directed=True, most=len(src)
    )
    edges, (status, old) = added.edges, added.outcome
    before = None if edges.weight is None else outcome.weight
    _kernels(device).net_change(
        device, gone.table(), (outcome.status, before), edges.src, edges.dst, status, edges.weight, old
    )


def _kernels(device: Device) -> Any:
    """Return the module for the device: ``edge_set_cuda`` or ``edge_set_cpu``, which have the same functions."""
    if device.is_cuda:
        from suricate.state.edges import edge_set_cuda

        return edge_set_cuda
    from suricate.state.edges import edge_set_cpu

    return edge_set_cpu


def _edge_list(graph: GraphLike, src: Any, dst: Any, values: Any) -> EdgeList:
    """Check ``src``, ``dst`` and ``values``, the arguments of a new set; return them on the graph's device."""
    ends = ((src, "src"), (dst, "dst"))
    sources, targets = (placed_ids(ids, graph.device, graph.num_vertices, name) for ids, name in ends)
    if values is None:
        same_length(sources, targets)
        return EdgeList(sources, targets)
    values = as_array(values, "values")
    if values.dtype not in VALUE_DTYPES:
        raise DTypeError(f"values has dtype {values.dtype}: use one of {', '.join(map(str, VALUE_DTYPES))}")
    same_length(sources, targets, values)
    return EdgeList(sources, targets, placed(values, graph.device, "values"))
