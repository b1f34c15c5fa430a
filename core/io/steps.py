"""Streams of events: files that list insertions, deletions and weight changes, step by step.

Two kinds are read, by their letters:

* ``I u v [t]`` and ``D u v [t]`` with ``# window NAME`` ahead of every step;
* ``+ u v [w]``, ``- u v`` and ``= u v w`` (new weight) with ``@ NAME VERTICES EDGES`` at the end of every step.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from suricate.base.errors import FileFormatError
from suricate.base.types import MAX_VERTICES, EdgeList, edge_keys
from suricate.io import files
from suricate.io.edge_file import whole_dtype
from suricate.io.formats import MOST_EDGES, Layout, Line, declared_count, lines_of
from suricate.io.parallel import parsed
from suricate.io.parsing.tokenizer import Tokenizer
from suricate.io.times import LOOKS_LIKE_TIME, looks_zoned

if TYPE_CHECKING:
    from suricate.graph.delta import Batch

INSERT, DELETE, REWEIGHT = (ord(letter) for letter in "+-=")  #: values of ``EventStep.op``

_INSERTION = re.compile(rb"^[ \t]*[I+][ \t].*", re.MULTILINE)
_WINDOW = re.compile(rb"^#[ \t]*window[ \t]+(\S+)[ \t\r]*(?:\n|\Z)", re.MULTILINE)
_SNAPSHOT = re.compile(rb"^@[ \t]+(\S+)[ \t]+(\d+)[ \t]+(\d+)[ \t\r]*(?:\n|\Z)", re.MULTILINE)


@dataclass(frozen=True)
class EventStep:
    """The events of one step. The arrays have all of them, in file order.

    :attr:`deletions`, :attr:`insertions`, :attr:`reweights` and :meth:`batch` have only the last event of each edge.

    Attributes:
        label: the name of the window or snapshot, ``""`` if it has none.
        op: uint8[n], :data:`INSERT`, :data:`DELETE` or :data:`REWEIGHT`.
        src, dst: uint32[n].
        weight: int32, uint32 or float64 [n] (0 for deletions), or None.
        time: int64[n], or None.
        num_vertices, num_edges: numbers that the file declares for the graph after the step, or None; only vertices
            with edges are counted.
    """

    label: str
    op: np.ndarray
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray | None = None
    time: np.ndarray | None = None
    num_vertices: int | None = None
    num_edges: int | None = None

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def _last(self) -> np.ndarray:
        """Return ``bool[n]``: whether each event is the last one of its edge in this step."""
        keys = edge_keys(self.src, self.dst)[::-1]
        last = np.zeros(len(keys), bool)
        last[len(keys) - 1 - np.unique(keys, return_index=True)[1]] = True
        return last

    def _select(self, ops: Sequence[int], weighted: bool) -> EdgeList:
        chosen = np.isin(self.op, ops) & self._last
        weight = self.weight[chosen] if weighted and self.weight is not None else None
        return EdgeList(self.src[chosen], self.dst[chosen], weight)

    @property
    def deletions(self) -> EdgeList:
        """The edges that the step deletes, without weights."""
        return self._select([DELETE], weighted=False)

    @property
    def insertions(self) -> EdgeList:
        """The edges that the step inserts, with their weights."""
        return self._select([INSERT], weighted=True)

    @property
    def reweights(self) -> EdgeList:
        """The edges whose weight the step replaces, with their new weights."""
        return self._select([REWEIGHT], weighted=True)

    def batch(self, *, weighted: bool = True) -> Batch:
        """Return the step as a ``Batch``, which changes a graph as its events one by one do.

        Of several events of an edge the last counts. If ``weighted`` and the step has weights, insertions have weights,
        and an edge with a new weight is among the insertions; else new weights are ignored.
        """
        from suricate.graph.delta import Batch

        weighted = weighted and self.weight is not None
        insert = self._select([INSERT, REWEIGHT] if weighted else [INSERT], weighted)
        return Batch(insert=insert, delete=self.deletions)


@dataclass(frozen=True)
class EventStream(Sequence[EventStep]):
    """The steps of a file of events.

    Attributes:
        steps: the steps, in order. num_vertices: largest id + 1 over all steps. path: the file.
    """

    steps: tuple[EventStep, ...]
    num_vertices: int
    path: Path

    @overload
    def __getitem__(self, index: int) -> EventStep: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[EventStep, ...]: ...
    def __getitem__(self, index: int | slice) -> EventStep | tuple[EventStep, ...]:
        return self.steps[index]

    def __len__(self) -> int:
        return len(self.steps)

    @cached_property
    def sha256(self) -> str:
        """Hex SHA-256 of the uncompressed file; reads the file again, once."""
        return files.sha256([self.path])

    def batches(self, *, weighted: bool = True) -> Iterator[Batch]:
        """Yield each step as a ``Batch`` of insertions and deletions; ``weighted``: with weights if they exist."""
        return (step.batch(weighted=weighted) for step in self.steps)


def read_events(path: str | os.PathLike[str], *, progress: files.Progress | None = None) -> EventStream:
    """Read a file of events, plain or compressed; ids are used as they are, counted from 0.

    Args:
        path: the file.
        progress: called with (bytes of the file consumed, bytes of the file) after every chunk.

    Raises:
        OSError: the file is missing or cannot be read.
        FileFormatError: the file is malformed, or ends inside a step; has the number of the line.
    """
    return steps_of(path, progress)


def steps_of(
    path: str | os.PathLike[str], progress: files.Progress | None = None, *, open_ended: bool = False
) -> EventStream:
    """Read a file of events as :func:`read_events` does; ``open_ended``: without a last step that may go on."""
    with files.ByteSource(path, progress, open_ended=open_ended) as source:
        chunks = source.chunks()
        head = b""
        for chunk in chunks:
            head += chunk
            if _INSERTION.search(chunk):
                break
        layout, marker = _layout(source.path, head)
        chunks, small = files.rest_of(chunks, head)
        reader = _StepReader(source.path, layout, marker)
        make = partial(Tokenizer, source.path, layout, small=small)
        tokenizers, lines = [make()], 0
        for chunk, pieces in parsed(source, itertools.chain([head], chunks), reader.parse, tokenizers, make, 0):
            reader.take(pieces)
            lines += files.newlines(chunk)
        return reader.finish(
            lines, plain_weights=all(tokenizer.plain_weights for tokenizer in tokenizers), open_ended=open_ended
        )


def _layout(path: Path, head: bytes) -> tuple[Layout, re.Pattern[bytes]]:
    """Return the layout of a file of events and the pattern of the lines that begin or end a step."""
    lines = (line for line in lines_of(head) if line.text and not line.text.startswith(b"#"))
    first = next(lines, Line(1, b"I", 0))
    if first.text[:1] not in b"ID+-=@":
        raise FileFormatError(path, first.number, "no event: a line must start with I or D, or with +, - or =")
    if first.text[:1] in b"ID":
        fields = ["src", "dst"] if len(first.text.split()) == 3 else ["src", "dst", "time"]
        time = first.text.split()[-1]
        iso = len(fields) == 3 and LOOKS_LIKE_TIME.fullmatch(time) is not None
        records = {"I": fields, "D": fields}
        return Layout("events", records, comments=b"#", time_ticks=int(not iso), zoned=looks_zoned(time)), _WINDOW
    insertion = _INSERTION.search(head)
    records = {"+": ["src", "dst"], "-": ["src", "dst"]}
    if insertion is None or len(insertion[0].split()) > 3:
        records = {"+": ["src", "dst", "weight"], "-": ["src", "dst"], "=": ["src", "dst", "weight"]}
    return Layout("events", records, comments=b"#"), _SNAPSHOT


Mark = tuple[str, int | None, int | None]  #: where a step begins or ends: its label, and the counts it declares
Columns = dict[str, np.ndarray]


class _StepReader:
    """Cuts chunks at the lines that begin or end a step, and collects the columns of each step."""

    def __init__(self, path: Path, layout: Layout, marker: re.Pattern[bytes]) -> None:
        self._path, self._marker = path, marker
        fields = {name for record in layout.records.values() for name in record}
        dtypes = {"op": np.uint8, "src": np.uint32, "dst": np.uint32, "weight": np.float64, "time": np.int64}
        self._dtypes = {name: dtype for name, dtype in dtypes.items() if name == "op" or name in fields}
        self._label, self._parts = "", self._empty()
        self._steps: list[EventStep] = []

    def _empty(self) -> dict[str, list[np.ndarray]]:
        return {name: [np.empty(0, dtype)] for name, dtype in self._dtypes.items()}

    def parse(self, tokenizer: Tokenizer, chunk: bytes, line: int) -> list[Columns | Mark]:
        """Return the columns and marks in ``chunk``, whole lines behind ``line`` lines of the file, in order."""
        found: list[Columns | Mark] = []
        at = 0
        for mark in self._marker.finditer(chunk):
            line = self._columns(tokenizer, chunk[at : mark.start()], line, found) + 1
            counts = zip(mark.groups()[1:], (("vertices", MAX_VERTICES), ("edges", MOST_EDGES)), strict=False)
            sizes = [declared_count(self._path, line, digits, *limit) for digits, limit in counts]
            vertices, edges = sizes or (None, None)
            found.append((mark[1].decode("utf-8", "replace"), vertices, edges))
            at = mark.end()
        self._columns(tokenizer, chunk[at:], line, found)
        return found

    def _columns(self, tokenizer: Tokenizer, piece: bytes, line: int, found: list[Any]) -> int:
        """Append the columns of the lines in ``piece`` to ``found``, if there are any; return the number of its end."""
        if piece:
            rows = tokenizer.parse(piece, line)
            found.append({name: getattr(rows, name).astype(dtype) for name, dtype in self._dtypes.items()})
        return line + files.newlines(piece)

    def take(self, pieces: list[Columns | Mark]) -> None:
        """Add ``pieces``, the result of :meth:`parse`: append columns, end a step at a mark."""
        for piece in pieces:
            if isinstance(piece, dict):
                for name, parts in self._parts.items():
                    parts.append(piece[name])
            elif self._marker is _WINDOW:
                self._close(self._label)
                self._label = piece[0]
            else:
                self._close(*piece)

    def _close(self, label: str, num_vertices: int | None = None, num_edges: int | None = None) -> None:
        columns = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        self._parts = self._empty()
        if not label and not len(columns["op"]):
            return  # nothing ahead of the first window
        op = columns["op"]
        op[op == ord("I")], op[op == ord("D")] = INSERT, DELETE
        if "weight" in columns:
            columns["weight"] = np.where(op == DELETE, 0.0, columns["weight"])
        self._steps.append(EventStep(label=label, **columns, num_vertices=num_vertices, num_edges=num_edges))

    def finish(self, lines: int, *, plain_weights: bool, open_ended: bool) -> EventStream:
        """Return the events read so far, from ``lines`` lines; ``open_ended``: without a last step that may go on."""
        rest = 0 if open_ended else sum(map(len, self._parts["op"]))
        if self._marker is _SNAPSHOT and self._steps and rest:
            reason = "the file ends inside a step: the last '@ NAME VERTICES EDGES' is missing"
            raise FileFormatError(self._path, lines, reason)
        if (self._marker is _WINDOW and not open_ended) or rest:
            self._close(self._label)
        steps = self._steps
        if weights := [step.weight for step in steps if step.weight is not None and len(step)] if plain_weights else []:
            dtype = whole_dtype(np.array([bound(weight) for weight in weights for bound in (np.min, np.max)]))
            given = [None if step.weight is None else step.weight.astype(dtype, copy=False) for step in steps]
            steps = [replace(step, weight=weight) for step, weight in zip(steps, given, strict=True)]
        highest = [max(int(step.src.max()), int(step.dst.max())) for step in steps if len(step)]
        return EventStream(tuple(steps), 1 + max(highest, default=-1), self._path)
