"""Reading the text formats: chunks of lines to columns, ids to labels.

``options`` are those of ``suricate.read``; ``layout`` says what a line contains; ``source`` has the bytes of the file.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from suricate.base.errors import FileFormatError, ParameterError
from suricate.base.types import MAX_VERTICES
from suricate.io.edge_file import EdgeFile, count_vertices, whole_dtype
from suricate.io.encodings import BYTES
from suricate.io.files import ByteSource, rest_of
from suricate.io.formats import Layout, head_and_layout
from suricate.io.options import ReadOptions
from suricate.io.parallel import parsed
from suricate.io.parsing.codes import DECIMAL, LARGE, NEGATIVE
from suricate.io.parsing.fields import Fields, numbers_of, texts_at
from suricate.io.parsing.labels import DictLabels, TableLabels
from suricate.io.parsing.lines import Rows
from suricate.io.parsing.metis import LITTLE, read_rows
from suricate.io.parsing.tokenizer import Tokenizer
from suricate.io.times import demand_in_range, to_nanoseconds


class _Column:
    """An array of ``dtype`` that grows at its end."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._data, self._size = np.empty(0, dtype), 0

    def extend(self, values: np.ndarray) -> None:
        size = self._size + len(values)
        if size > len(self._data):
            self._data.resize(max(size, 2 * self._size), refcheck=False)
        self._data[self._size : size] = values
        self._size = size

    def finish(self) -> np.ndarray:
        """Shrink the array to its size in place and return it."""
        self._data.resize(self._size, refcheck=False)
        return self._data


class _Times(_Column):
    """A column of times: of ``unit``, ``"us"`` or ``"ns"``, or None for plain numbers."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(np.int64)
        self.unit = "us" if layout.iso_times else None

    def extend(self, values: np.ndarray) -> None:
        if self.unit is None:
            super().extend(values)
            return
        unit = np.datetime_data(values.dtype)[0]
        if unit == "ns" != self.unit:
            self._data[: self._size], self.unit = to_nanoseconds(self._data[: self._size]), unit
        ticks = values.view(np.int64)
        super().extend(ticks if unit == self.unit else to_nanoseconds(ticks))

    def checked(self, path: Path) -> np.ndarray:
        """Return what :meth:`finish` does; raise ``FileFormatError`` if a time does not fit into nanoseconds."""
        return demand_in_range(path, self.finish()) if self.unit == "ns" else self.finish()


class _Edges:
    """The edges read so far, as arrays that grow: ``weight`` and ``time`` only if the ``layout`` has them."""

    def __init__(self, layout: Layout) -> None:
        self.src, self.dst = _Column(np.uint32), _Column(np.uint32)
        self.weight = _Column(np.float64) if "weight" in layout.fields else None
        self.time = _Times(layout) if "time" in layout.fields else None
        self.columns: dict[str, list[np.ndarray]] = {}  # attributes, as texts, by chunk

    def extend(self, rows: Rows, src: np.ndarray, dst: np.ndarray) -> None:
        self.src.extend(src)
        self.dst.extend(dst)
        if self.weight is not None:
            self.weight.extend(rows.weight)
        if self.time is not None:
            self.time.extend(rows.time)


def read_text(source: ByteSource, format: str | None, options: ReadOptions) -> EdgeFile:
    """Return the edges of a text file; ``format`` None: it is detected."""
    chunks = source.chunks()
    head, layout = head_and_layout(source.path, chunks, format, options)
    chunks, small = rest_of(chunks, head)
    kind = DictLabels if small else TableLabels
    labels = kind(text=layout.text_ids, quotes=layout.delimiter is not None) if options.relabel else None
    fields = Fields(source.path, layout, options.further)
    if fields.places and (layout.format == "metis" or "" not in layout.records):
        raise ParameterError(f"edge_columns: format {layout.format!r} has no further columns")
    body = itertools.chain([head[layout.header_bytes :]], chunks)
    if layout.format == "metis":
        edges, marks = _metis(source, layout, body, options, little=small and len(head) <= LITTLE), 0
    else:
        edges, marks = _parse(source, layout, body, labels, options, fields, small=small)
    src, dst = edges.src.finish(), edges.dst.finish()
    if layout.format != "metis" and layout.num_edges not in (None, len(src)):
        reason = f"the header declares {layout.num_edges} edges, the file has {len(src)}"
        raise FileFormatError(source.path, layout.counts_line, reason)
    weight = None
    if edges.weight is not None:
        weight = _with_dtype(edges.weight.finish(), options.dtype, layout, not marks & DECIMAL)
    return EdgeFile(
        src=src,
        dst=dst,
        weight=weight,
        time=None if edges.time is None else edges.time.checked(source.path),
        num_vertices=count_vertices(source.path, src, dst, labels, options.num_vertices, layout.least_vertices),
        directed=layout.directed if options.directed is None else options.directed,
        labels=None if labels is None else original_ids(labels.labels(layout.first_id), marks, source.path, layout),
        table=labels.names if isinstance(labels, TableLabels) and layout.text_ids else None,
        path=source.path,
        format=layout.format,
        time_unit=None if edges.time is None else edges.time.unit,
        columns={name: _attribute(edges.columns.get(name, ())) for name in options.further},
    )


def _attribute(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the concatenation of arrays of texts: as numbers if all texts are numbers, else as an array of ``str``."""
    texts = np.concatenate([np.empty(0, object), *parts])
    numbers = numbers_of(texts)
    return texts if numbers is None else numbers


def _metis(source: ByteSource, layout: Layout, body: Iterator[bytes], options: ReadOptions, *, little: bool) -> _Edges:
    src, dst, weight = read_rows(source, layout, body, little=little, arcs=options.directed is True)
    most = _bounds(options.dtype)[1]
    if len(weight) and weight.max() > most:
        raise FileFormatError(source.path, None, f"weight {weight.max():.0f} is more than {most:.9g}")
    edges = _Edges(layout)
    edges.extend(Rows(src, dst, weight, src, src), src, dst)
    return edges


def _parse(
    source: ByteSource,
    layout: Layout,
    body: Iterator[bytes],
    labels: DictLabels | TableLabels | None,
    options: ReadOptions,
    fields: Fields,
    *,
    small: bool,
) -> tuple[_Edges, int]:
    """Return the edges in ``body``, the chunks behind the header, and the kinds of numbers found."""
    most = 2**64 if labels is not None else MAX_VERTICES if options.num_vertices is None else options.num_vertices
    declared, dtype = layout.num_vertices or (most, most), options.dtype
    make = partial(
        Tokenizer,
        source.path,
        layout,
        id_limits=(min(declared[0], most), min(declared[1], most - layout.dst_offset)),
        weight_bounds=_bounds(dtype),
        whole_weights=layout.whole_weights or (dtype is not None and dtype.kind in "iu"),
        small=small,
        encoding=options.encoding if layout.text_ids or fields.places else BYTES,
    )
    edges, tokenizers = _Edges(layout), [make()]
    for chunk, rows in parsed(source, body, Tokenizer.parse, tokenizers, make, layout.header_lines):
        for name, spans in fields.of(chunk, len(rows.src)).items():
            edges.columns.setdefault(name, []).append(texts_at(chunk, spans, quotes=layout.format == "csv"))
        if layout.dst_offset:
            rows = rows._replace(dst=rows.dst + np.uint64(layout.dst_offset))
        if labels is None:
            edges.extend(rows, rows.src, rows.dst)
        else:
            edges.extend(rows, *labels.intern(rows.src, rows.dst, chunk))
    return edges, functools.reduce(operator.or_, (tokenizer.marks for tokenizer in tokenizers))


def original_ids(labels: np.ndarray, marks: int, path: Path, layout: Layout) -> np.ndarray:
    """Return ids (uint64) with the signs that ``marks`` tells of: as int64 if some are negative, else unchanged."""
    if not marks & NEGATIVE:
        return labels
    if marks & LARGE:
        reason = f"it has ids below 0 and ids from 2**63 on: {layout.advice.texts} takes both"
        raise FileFormatError(path, None, reason)
    return labels.view(np.int64)


def _bounds(dtype: np.dtype | None) -> tuple[float, float]:
    """Return the least and largest number that a weight of ``dtype`` can be read from; None: those of float64."""
    if dtype is not None and dtype.kind in "iu":
        return float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    highest = float(np.finfo(np.float64).max)
    if dtype == np.float32:
        highest = float(np.nextafter(2.0**128 - 2.0**103, 0))  # what is rounded to the largest float32
    return -highest, highest


def _with_dtype(weight: np.ndarray, dtype: np.dtype | None, layout: Layout, plain: bool) -> np.ndarray:
    if dtype is None:
        is_whole = layout.whole_weights or (plain and layout.format != "mtx")
        dtype = whole_dtype(weight) if is_whole else np.dtype(np.float64)
    return weight.astype(dtype, copy=False)
