"""Reading the text formats: chunks of lines to columns, ids to labels.

``options`` are those of ``suricate.read``; ``layout`` says what a line contains; ``source`` has the bytes of the file.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from suricate.base.errors import FileFormatError, ParameterError
from suricate.base.types import MAX_VERTICES
from suricate.comm.protocol import Comm, SelfComm
from suricate.io.divided.meeting import Together, joined_names
from suricate.io.edge_file import EdgeFile, count_vertices, whole_dtype
from suricate.io.encodings import BYTES
from suricate.io.files import ByteSource, rest_of
from suricate.io.formats import Layout, head_and_layout
from suricate.io.options import ReadOptions
from suricate.io.parallel import parsed
from suricate.io.parsing.codes import DECIMAL, LARGE, NEGATIVE
from suricate.io.parsing.fields import Fields, floats_of, numbers_of, texts_at
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
        if unit == "ns":
            self.refine()
        ticks = values.view(np.int64)
        super().extend(ticks if unit == self.unit else to_nanoseconds(ticks))

    def refine(self) -> None:
        """Make microseconds, if times are such, nanoseconds."""
        if self.unit == "us":
            self._data[: self._size], self.unit = to_nanoseconds(self._data[: self._size]), "ns"

    def checked(self, path: Path, rows_before: int) -> np.ndarray:
        """Return what :meth:`finish` does; raise ``FileFormatError`` if a time does not fit into nanoseconds."""
        return demand_in_range(path, self.finish(), rows_before) if self.unit == "ns" else self.finish()


class Begun(NamedTuple):
    """A text file whose first lines were read: these lines, how lines are built, and what comes behind them."""

    source: ByteSource
    head: bytes
    layout: Layout
    chunks: Iterator[bytes]
    small: bool

    @property
    def body(self) -> Iterator[bytes]:
        """The chunks behind the header."""
        return itertools.chain([self.head[self.layout.header_bytes :]], self.chunks)


class Found(NamedTuple):
    """What decides how the columns of a whole file are made, as found in a stretch of it."""

    rows: int
    num_ids: int  #: one more than the largest id; 0 if there are labels
    marks: int  #: kinds of numbers, see ``codes``
    weights: list[float]  #: the least and the largest, if there are any
    fine: bool  #: whether a time needs nanoseconds
    kinds: dict[str, int]  #: of attributes by name: places in ``KINDS``


KINDS = ("int64", "float64", "text")  #: of attributes: the first one that holds all values


def begin_text(source: ByteSource, format: str | None, options: ReadOptions) -> Begun:
    """Begin to read a text file; ``format`` None: it is detected."""
    chunks = source.chunks()
    head, layout = head_and_layout(source.path, chunks, format, options)
    return Begun(source, head, layout, *rest_of(chunks, head))


def read_text(begun: Begun, options: ReadOptions) -> EdgeFile:
    """Return the edges of a text file."""
    edges = Edges(begun.source.path, begun.layout, options, small=begun.small)
    if begun.layout.format == "metis":
        edges.take_metis(begun)
    else:
        edges.read(begun.source, begun.body, begun.layout.header_lines)
    return edges.file([edges.found()], SelfComm())


class Edges:
    """The edges of a text file, or of a stretch of one: columns that grow, and then the file that they make."""

    def __init__(self, path: Path, layout: Layout, options: ReadOptions, *, small: bool) -> None:
        self._path, self._layout, self._options, self._small, self._marks = path, layout, options, small, 0
        self._src, self._dst = _Column(np.uint32), _Column(np.uint32)
        self._weight = _Column(np.float64) if "weight" in layout.fields else None
        self._time = _Times(layout) if "time" in layout.fields else None
        self._texts: dict[str, list[np.ndarray]] = {name: [np.empty(0, object)] for name in options.further}
        kind = DictLabels if small else TableLabels
        self._labels = kind(text=layout.text_ids, quotes=layout.delimiter is not None) if options.relabel else None
        self._fields = Fields(path, layout, options.further)
        if self._fields.places and (layout.format == "metis" or "" not in layout.records):
            raise ParameterError(f"edge_columns: format {layout.format!r} has no further columns")

    def _extend(self, rows: Rows, src: np.ndarray, dst: np.ndarray) -> None:
        self._src.extend(src)
        self._dst.extend(dst)
        if self._weight is not None:
            self._weight.extend(rows.weight)
        if self._time is not None:
            self._time.extend(rows.time)

    def take_metis(self, begun: Begun) -> None:
        """Read a METIS file."""
        little = begun.small and len(begun.head) <= LITTLE
        arcs = self._options.directed is True
        src, dst, weight = read_rows(begun.source, begun.layout, begun.body, little=little, arcs=arcs)
        most = _bounds(self._options.dtype)[1]
        if len(weight) and weight.max() > most:
            raise FileFormatError(self._path, None, f"weight {weight.max():.0f} is more than {most:.9g}")
        self._extend(Rows(src, dst, weight, src, src), src, dst)

    def read(self, source: ByteSource, body: Iterator[bytes], lines: int) -> None:
        """Read the lines in ``body``, chunks of ``source``, behind ``lines`` lines."""
        layout, options, labels = self._layout, self._options, self._labels
        most = 2**64 if labels is not None else MAX_VERTICES if options.num_vertices is None else options.num_vertices
        declared, dtype = layout.num_vertices or (most, most), options.dtype
        make = partial(
            Tokenizer,
            self._path,
            layout,
            id_limits=(min(declared[0], most), min(declared[1], most - layout.dst_offset)),
            weight_bounds=_bounds(dtype),
            whole_weights=layout.whole_weights or (dtype is not None and dtype.kind in "iu"),
            small=self._small,
            encoding=options.encoding if layout.text_ids or self._fields.places else BYTES,
        )
        tokenizers = [make()]
        for chunk, rows in parsed(source, body, Tokenizer.parse, tokenizers, make, lines):
            for name, spans in self._fields.of(chunk, len(rows.src)).items():
                self._texts[name].append(texts_at(chunk, spans, quotes=layout.format == "csv"))
            if layout.dst_offset:
                rows = rows._replace(dst=rows.dst + np.uint64(layout.dst_offset))
            ends = (rows.src, rows.dst) if labels is None else labels.intern(rows.src, rows.dst, chunk)
            self._extend(rows, *ends)
        self._marks = functools.reduce(operator.or_, (tokenizer.marks for tokenizer in tokenizers))

    def found(self) -> Found:
        """Return what was found; nothing is read after it."""
        self._ends = self._src.finish(), self._dst.finish()
        self._weights = np.empty(0) if self._weight is None else self._weight.finish()
        self._further = {name: np.concatenate(parts) for name, parts in self._texts.items()}
        self._numbers = {name: numbers_of(texts) for name, texts in self._further.items()}
        kinds = {name: KINDS.index("text" if made is None else made.dtype.name) for name, made in self._numbers.items()}
        rows = len(self._ends[0])
        num_ids = 1 + max(int(ids.max()) for ids in self._ends) if rows and self._labels is None else 0
        weights = [self._weights.min(), self._weights.max()] if len(self._weights) else []
        fine = self._time is not None and self._time.unit == "ns"
        return Found(rows, num_ids, self._marks, weights, fine, kinds)

    def file(self, every: list[Found], comm: Comm) -> EdgeFile:
        """Return the file, with the edges of this rank; ``every``: what the ranks of ``comm`` have found."""
        path, layout, options = self._path, self._layout, self._options
        marks, rows = functools.reduce(operator.or_, (each.marks for each in every)), [each.rows for each in every]
        if layout.format != "metis" and layout.num_edges not in (None, sum(rows)):
            reason = f"the header declares {layout.num_edges} edges, the file has {sum(rows)}"
            raise FileFormatError(path, layout.counts_line, reason)
        (src, dst), labels, weight, time = self._ends, self._labels, None, None
        if self._weight is not None:
            bounds = np.array([weight for each in every for weight in each.weights])
            weight = self._weights.astype(_weight_dtype(bounds, options.dtype, layout, not marks & DECIMAL), copy=False)
        with Together(comm):
            if self._time is not None:
                if any(each.fine for each in every):
                    self._time.refine()
                time = self._time.checked(path, sum(rows[: comm.rank]))
        if isinstance(labels, TableLabels):
            labels.names, src, dst = joined_names(comm, labels.names, src, dst)
        least = max(layout.least_vertices, *(each.num_ids for each in every))
        kinds = {name: KINDS[max(each.kinds[name] for each in every)] for name in self._further}
        return EdgeFile(
            src=src,
            dst=dst,
            weight=weight,
            time=time,
            num_vertices=count_vertices(path, labels, options.num_vertices, least),
            directed=layout.directed if options.directed is None else options.directed,
            labels=None if labels is None else original_ids(labels.labels(layout.first_id), marks, path, layout),
            table=labels.names if isinstance(labels, TableLabels) and layout.text_ids else None,
            path=path,
            format=layout.format,
            time_unit=None if self._time is None else self._time.unit,
            columns={name: self._attribute(name, kind) for name, kind in kinds.items()},
        )

    def _attribute(self, name: str, kind: str) -> np.ndarray:
        """Return a column of edges: as numbers if all texts of the file are numbers, else as an array of ``str``."""
        numbers = self._numbers[name]
        if kind == "text" or numbers is None:
            return self._further[name]
        return numbers if numbers.dtype.name == kind else floats_of(self._further[name])


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


def _weight_dtype(bounds: np.ndarray, dtype: np.dtype | None, layout: Layout, plain: bool) -> np.dtype:
    """Return the dtype of weights from the least to the largest in ``bounds``; ``plain``: none has a point."""
    if dtype is not None:
        return dtype
    is_whole = layout.whole_weights or (plain and layout.format != "mtx")
    return whole_dtype(bounds) if is_whole else np.dtype(np.float64)
