"""``read``: a graph file, plain or compressed, as arrays of edges."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from suricate.errors import FileFormatError
from suricate.io import files
from suricate.io.formats import Columns, Layout, has_body, make_layout
from suricate.types import MAX_VERTICES, WEIGHT_DTYPES, EdgeList

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.io.interning import NumberLabels, TextLabels
    from suricate.io.tokenizer import Rows


@dataclass(frozen=True)
class EdgeFile:
    """The edges of a file, in the order of its lines, duplicates and self-loops included.

    Attributes:
        src, dst: uint32[n] ids below ``num_vertices``.
        weight: int32, uint32, float32 or float64 [n], or None if the file has none.
        time: int64[n], in the unit of the file (mostly seconds since 1970), or None.
        num_vertices: largest id + 1, or what the header declares.
        directed: whether the edges are arcs (True) or each stands for both directions (False); None: unknown.
        labels: the original id of every vertex where ids were mapped (``relabel``): int64 (uint64 if one needs it) or
            an object array of ``str``; else None.
        path, format: where it came from and the name of its format.
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

    def __len__(self) -> int:
        return len(self.src)

    @property
    def edges(self) -> EdgeList:
        """The edges as an ``EdgeList`` (no copy)."""
        return EdgeList(self.src, self.dst, self.weight)

    @cached_property
    def sha256(self) -> str:
        """Hex SHA-256 of the uncompressed file; reads the file again, once."""
        return files.sha256(self.path)

    def to_graph(self, **options: Any) -> Graph:
        """Return a new ``Graph`` with these edges; ``options`` are those of ``Graph``.

        Unless given, ``num_vertices``, ``directed`` (True where the file does not say) and ``weight_dtype`` are those
        of the file; ``weight_dtype=None`` leaves the weights out.
        """
        from suricate.graph import Graph

        dtype = None if self.weight is None else self.weight.dtype
        defaults = {"num_vertices": self.num_vertices, "directed": self.directed is not False, "weight_dtype": dtype}
        graph = Graph(**(defaults | options))
        weight = None
        if self.weight is not None and graph.weight_dtype is not None:
            weight = self.weight.astype(graph.weight_dtype, copy=False)
        graph.insert_edges(self.src, self.dst, weight)
        return graph


class _Column:
    """An array that grows at its end."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._data, self._size = np.empty(0, dtype), 0

    def extend(self, values: np.ndarray) -> None:
        size = self._size + len(values)
        if size > len(self._data):
            self._data.resize(max(size, 2 * self._size), refcheck=False)
        self._data[self._size : size] = values
        self._size = size

    def finish(self) -> np.ndarray:
        """Return the array and give the spare room back."""
        self._data.resize(self._size, refcheck=False)
        return self._data


class _Edges:
    """Collects the columns that a layout has."""

    def __init__(self, layout: Layout) -> None:
        self.src, self.dst = _Column(np.uint32), _Column(np.uint32)
        self.weight = _Column(np.float64) if "weight" in layout.fields else None
        self.time = _Column(np.int64) if "time" in layout.fields else None

    def extend(self, rows: Rows, src: np.ndarray, dst: np.ndarray) -> None:
        self.src.extend(src)
        self.dst.extend(dst)
        if self.weight is not None:
            self.weight.extend(rows.weight)
        if self.time is not None:
            self.time.extend(rows.time)


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    relabel: bool | Literal["text"] = False,
    columns: Columns | None = None,
    delimiter: str | None = None,
    first_id: int | None = None,
    num_vertices: int | None = None,
    weight_dtype: DTypeLike | None = None,
    directed: bool | None = None,
    sort_by_time: bool = False,
    progress: files.Progress | None = None,
) -> EdgeFile:
    """Read a graph file: SNAP text, Matrix Market, DIMACS ``.gr``, temporal text or CSV; plain, gzip, xz or bzip2.

    Ids are used as they are, counted from 0 (``.mtx`` and ``.gr`` count from 1 and are shifted). An empty file is an
    edge list without edges and vertices. Memory beyond the result is bounded, whatever the size of the file.

    Args:
        path: the file.
        format: one of :data:`FORMATS`; None: by the extension, else by the first lines.
        relabel: map ids to 0..n-1 in the order of their first appearance (source before destination) and keep them in
            ``labels``: any numbers of 64 bits, or, if the first line has other ids, texts. ``"text"``: always texts.
        columns: which column holds ``"src"``, ``"dst"``, ``"weight"``, ``"time"``: its name in a CSV header or its
            position from 0. Other columns are skipped.
        delimiter: what separates the columns of CSV; None: by the first line.
        first_id: id of vertex 0 in text and CSV files (default 0).
        num_vertices: number of vertices, where the file does not declare it; every id must be below.
        weight_dtype: int32, uint32, float32 or float64. None: int32 (or uint32) if all weights are integers that fit,
            else float64; a ``real`` .mtx file is float64.
        directed: what the result's ``directed`` says; None: the hint of the file.
        sort_by_time: order the edges by time; those of equal time keep their order.
        progress: called with (bytes of the file consumed, bytes of the file) after every chunk.

    Raises:
        OSError: the file is missing or cannot be read.
        FileFormatError: the file is malformed; has the number of the line.
        UnknownNameError: there is no such format or column.
    """
    dtype = None if weight_dtype is None else np.dtype(weight_dtype)
    if dtype is not None and dtype not in WEIGHT_DTYPES:
        raise TypeError(f"weight_dtype is one of {', '.join(map(str, WEIGHT_DTYPES))}, not {dtype}")
    text_ids = {False: False, True: None, "text": True}[relabel]
    with files.ByteSource(path, progress) as source:
        chunks = source.chunks()
        head = _head(chunks)
        layout = make_layout(
            source.path, head, format, columns=columns, delimiter=delimiter, first_id=first_id, text_ids=text_ids
        )
        labels = _labels(layout) if relabel else None
        body = itertools.chain([head[layout.header_bytes :]], chunks)
        edges, plain_weights = _parse(source.path, layout, body, labels, num_vertices, dtype)
    if labels is not None and num_vertices is not None and len(labels) > num_vertices:
        raise FileFormatError(source.path, None, f"{len(labels)} different ids, but num_vertices is {num_vertices}")
    src, dst = edges.src.finish(), edges.dst.finish()
    if layout.num_edges not in (None, len(src)):
        reason = f"the header declares {layout.num_edges} edges, the file has {len(src)}"
        raise FileFormatError(source.path, layout.counts_line, reason)
    weight = None if edges.weight is None else _with_dtype(edges.weight.finish(), dtype, layout, plain_weights)
    time = None if edges.time is None else edges.time.finish()
    if sort_by_time:
        if time is None:
            raise FileFormatError(source.path, None, "there is no time column to sort by")
        order = np.argsort(time, kind="stable")
        src, dst, time = src[order], dst[order], time[order]
        weight = None if weight is None else weight[order]
    return EdgeFile(
        src=src,
        dst=dst,
        weight=weight,
        time=time,
        num_vertices=_count_vertices(src, dst, layout, labels, num_vertices),
        directed=layout.directed if directed is None else directed,
        labels=None if labels is None else labels.labels(layout.first_id),
        path=source.path,
        format=layout.format,
    )


def _head(chunks: Iterator[bytes]) -> bytes:
    """Return the first chunks, up to one with a line that is no comment."""
    head = next(chunks, b"")
    while not has_body(head):
        more = next(chunks, b"")
        if not more:
            break
        head += more
    return head


def _labels(layout: Layout) -> NumberLabels | TextLabels:
    from suricate.io.interning import NumberLabels, TextLabels

    return TextLabels(quotes=layout.delimiter is not None) if layout.text_ids else NumberLabels()


def _parse(
    path: Path,
    layout: Layout,
    body: Iterator[bytes],
    labels: NumberLabels | TextLabels | None,
    num_vertices: int | None,
    dtype: np.dtype | None,
) -> tuple[_Edges, bool]:
    from suricate.io.tokenizer import Tokenizer

    most = 2**64 if labels is not None else MAX_VERTICES if num_vertices is None else num_vertices
    declared = layout.num_vertices or (most, most)
    tokenizer = Tokenizer(
        path,
        layout,
        id_limits=(min(declared[0], most), min(declared[1], most)),
        weight_bounds=_bounds(dtype),
        whole_weights=layout.whole_weights or (dtype is not None and dtype.kind in "iu"),
    )
    edges, lines = _Edges(layout), layout.header_lines
    for chunk in body:
        rows = tokenizer.parse(chunk, lines)
        lines += chunk.count(b"\n")
        if labels is None:
            edges.extend(rows, rows.src, rows.dst)
        else:
            edges.extend(rows, *labels.intern(rows.src, rows.dst, chunk))
    return edges, tokenizer.plain_weights


def _bounds(dtype: np.dtype | None) -> tuple[float, float]:
    """Return the least and largest number that a weight dtype can take."""
    if dtype is not None and dtype.kind in "iu":
        return float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    highest = float(np.finfo(np.float64).max)
    if dtype == np.float32:
        highest = float(np.nextafter(2.0**128 - 2.0**103, 0))  # what is rounded to the largest float32
    return -highest, highest


def _with_dtype(weight: np.ndarray, dtype: np.dtype | None, layout: Layout, plain: bool) -> np.ndarray:
    if dtype is None:
        dtype = np.dtype(np.float64)
        low, high = (weight.min(), weight.max()) if len(weight) else (0, 0)
        if layout.whole_weights or (plain and layout.format != "mtx"):
            fitting = (
                kind for kind in (np.int32, np.uint32) if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max
            )
            dtype = np.dtype(next(fitting, np.float64))
    return weight.astype(dtype, copy=False)


def _count_vertices(
    src: np.ndarray,
    dst: np.ndarray,
    layout: Layout,
    labels: NumberLabels | TextLabels | None,
    num_vertices: int | None,
) -> int:
    if num_vertices is not None:
        return num_vertices
    if labels is not None:
        return len(labels)
    return max(layout.least_vertices, 1 + int(max(src.max(), dst.max())) if len(src) else 0)
