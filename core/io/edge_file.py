"""``EdgeFile``: the edges of a file as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import CapacityError, FileFormatError, ParameterError
from suricate.base.types import EdgeList
from suricate.comm.protocol import Comm, SelfComm
from suricate.intake.arrays import both_arcs
from suricate.intake.names import Names
from suricate.io import files
from suricate.io.parts import parts_of
from suricate.state.column import dtype_of
from suricate.state.edge_table import WEIGHT

if TYPE_CHECKING:
    from suricate.graph import Graph


@dataclass(frozen=True, repr=False)
class EdgeFile:
    """The edges of a file, in the order of its lines, duplicates and self-loops included.

    Attributes:
        src, dst: uint32[n] ids below ``num_vertices``.
        weight: int32, uint32, float32 or float64 [n], or None if the file has none.
        time: int64[n], or None. Plain numbers are kept as they are (mostly seconds since 1970); ISO 8601 texts and
            timestamps become numbers of ``time_unit`` since 1970 (UTC).
        num_vertices: largest id + 1, or what the header declares.
        directed: whether the edges are arcs (True) or each stands for both directions (False); None: unknown.
        labels: the original id of every vertex if ids were mapped (``relabel``): int64 (uint64 if one needs it) or an
            object array of ``str``; else None.
        path, format: the file and the name of its format.
        time_unit: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``; None if the times of the file are plain numbers.
        table: the labels as ``Names``, if the reader made them so; else None.
        columns: attributes of edges by name, ``[n]``: numbers, bools, or texts in arrays of objects.
        comm: the communication of the processes that have read the file together; the arrays have the part of this one,
            a stretch of the edges, in the order of the processes. None: all edges are here.
    """

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray | None
    time: np.ndarray | None
    num_vertices: int
    directed: bool | None
    labels: np.ndarray | None
    path: Path
    format: str
    time_unit: str | None = None
    table: Names | None = None
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    comm: Comm | None = None

    def __len__(self) -> int:
        return len(self.src)

    def __repr__(self) -> str:
        weights = "unweighted" if self.weight is None else f"{self.weight.dtype} weights"
        times = "" if self.time is None else f", times in {self.time_unit or 'numbers'}"
        labels = "" if self.labels is None else ", labels"
        part = "" if self.comm is None else f" of rank {self.comm.rank} of {self.comm.size}"
        return (
            f"<EdgeFile {self.path}: {len(self)} edges{part}, {self.num_vertices} vertices, {weights}{times}{labels}>"
        )

    @property
    def edges(self) -> EdgeList:
        """The edges as an ``EdgeList`` (no copy)."""
        return EdgeList(self.src, self.dst, self.weight)

    @cached_property
    def names(self) -> Names | None:
        """The labels as ``Names``; None without labels."""
        return None if self.labels is None else self.table or Names.of(self.labels)

    @cached_property
    def sha256(self) -> str:
        """Hex SHA-256 of the uncompressed file, or of its parts in order; reads the file again, once."""
        return files.sha256(parts_of(self.path) or [self.path])

    def to_graph(self, *, combine: Any = None, **options: Any) -> Graph:
        """Return a new ``Graph`` with these edges; ``options`` are those of ``Graph``.

        By default ``num_vertices``, ``directed`` (True if unknown) and ``weight_dtype`` are those of the file;
        ``weight_dtype=None`` ignores the weights. In a directed graph an edge that stands for both directions becomes
        two arcs. ``columns`` become columns of edges. If ids were mapped, ``graph.names`` has the original ids.
        A file that was read with ``comm`` becomes a graph of its processes, all of which make the call.

        Args:
            combine: the weight of an edge that is in several lines: ``"last"``, ``"first"``, ``"sum"``, ``"count"``,
                ``"min"`` or ``"max"``; or rules by column, ``{"weight": "sum", "fee": "max"}``, where columns without
                one keep the last value. None: the last one, with a warning if others differ. Without direction
                ``(u, v)`` and ``(v, u)`` are one edge.
            options: of ``Graph``.

        Raises:
            WeightError: ``weight_dtype`` cannot hold the weights, or the file has none.
            CapacityError: there is not enough memory for the vertices; the message names the largest id.
            ParameterError, RequirementError: ``combine`` is no such rule, or needs weights.
        """
        from suricate.graph import Graph
        from suricate.graph.edge_columns.repeats import checked_rules, combined, insert_told
        from suricate.graph.exchange.parts import insert_parts, share_of
        from suricate.io.divided.meeting import by_pair

        rules, comm = checked_rules(combine), self.comm
        if comm is not None and options.setdefault("comm", comm) is not comm:
            raise ParameterError("comm: this is a part of a file, read with another comm: make the graph with that")
        weight: Any = None if options.get("weight_dtype", 0) is None else self.weight
        dtype = None if self.weight is None else self.weight.dtype
        if self.columns:
            weight = {**({} if weight is None else {WEIGHT: weight}), **self.columns}
        edges = EdgeList(self.src, self.dst, weight)
        if rules:
            directed = options.get("directed", self.directed) is not False and self.directed is not False
            every = SelfComm() if comm is None else comm
            edges = edges if comm is None else by_pair(comm, edges)
            matrix = self.format == "mtx"
            edges = combined(edges, rules, self.num_vertices, directed=directed, matrix=matrix, comm=every)
            dtype = np.dtype(np.uint32) if rules.get(WEIGHT) == "count" else dtype
        if isinstance(edges.weight, Mapping):
            kinds = {name: dtype_of(column) for name, column in edges.weight.items()}
            if WEIGHT in kinds:
                kinds[WEIGHT], dtype = options.pop("weight_dtype", dtype), None
            options["edge_columns"] = {**kinds, **(options.get("edge_columns") or {})}
        defaults = {"num_vertices": self.num_vertices, "directed": self.directed is not False, "weight_dtype": dtype}
        try:
            graph = Graph(**(defaults | options))
        except CapacityError as error:
            highest = max((int(ids.max()) for ids in (self.src, self.dst) if len(ids)), default=-1)
            if "num_vertices" in options or highest < 4 * len(self):
                raise
            advice = "read the file with relabel=True (--relabel), which maps any integers to 0..n-1"
            raise CapacityError(f"{error}; id {highest} makes it {highest + 1} vertices: {advice}") from error
        arcs = 2 if graph.directed and self.directed is False else 1
        if arcs == 2:
            edges = _both_arcs(edges)
        if graph.partition is None:
            insert_told(graph, edges, rules, arcs)
        else:
            every = graph.partition.comm
            insert_parts(graph, every, share_of(every, edges) if comm is None else edges)
        if self.labels is not None and "names" not in options:  # made when they are asked for
            graph._names = partial(Names.of, self.labels if self.table is None else self.table)
        return graph


def count_vertices(path: Path, labels: Sized | None, given: int | None, least: int) -> int:
    """Return the number of vertices: ``given``, or that of ``labels``, or ``least``, above all ids."""
    if labels is not None and given is not None and len(labels) > given:
        raise FileFormatError(path, None, f"{len(labels)} different ids, but num_vertices is {given}")
    if given is not None or labels is not None:
        return len(labels or ()) if given is None else given
    return least


def whole_dtype(weight: np.ndarray) -> np.dtype:
    """Return the dtype of whole weights: int32, else uint32, if they fit, else float64."""
    low, high = (weight.min(), weight.max()) if len(weight) else (0, 0)
    fits = (kind for kind in (np.int32, np.uint32) if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return np.dtype(next(fits, np.float64))


def _both_arcs(edges: EdgeList) -> EdgeList:
    """Return the arcs of undirected edges, whose weights may be columns by name."""
    src, dst, row = both_arcs(np, edges._replace(weight=np.arange(len(edges.src))))
    if isinstance(edges.weight, Mapping):
        return EdgeList(src, dst, {name: part[row] for name, part in edges.weight.items()})
    return EdgeList(src, dst, None if edges.weight is None else edges.weight[row])
