"""Sinks write results of slides: tables of columns, of which the first is the end of the window."""

from __future__ import annotations

import csv
import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError, ShapeError
from suricate.base.files import as_path, check_writable, in_errors, is_special, replacing
from suricate.base.parameters import shown
from suricate.intake.name_values import utf8_only
from suricate.intake.tables import column_names, with_nulls, without_empty
from suricate.io.appending import cut_to, end_on_disk
from suricate.io.sources.refusals import Refusals
from suricate.io.sources.source import Source

if TYPE_CHECKING:
    from suricate.stream.window import Window


BY_RANK = "by rank"  #: what a checkpoint has of a folder to which all ranks write


class Sink:
    """Takes tables (dicts of columns, or frames), and passes their columns to a function; base of other sinks.

    Args:
        job: whose slides the tables are of.
        call: called with the end of the window and the columns; by default nothing is done with them.

    Attributes:
        target: the name of its file or folder; empty for a function.
    """

    target = ""

    def __init__(self, job: Window, call: Callable[[Any, dict[str, np.ndarray]], Any] = lambda end, columns: None):
        self._job, self._call = job, call

    def write(self, table: Any) -> None:
        """Write a table of the current slide.

        Raises:
            RequirementError: no slide has closed; another job goes on from the checkpoints of this one.
            ShapeError: columns differ in length.
            ParameterError: ``table`` is not a table, or its columns differ from those of the table before.
            OSError: the disk is full, say; it names the file.
        """
        if self._job.current is None:
            raise RequirementError("there is nothing to write before the first slide")
        self._job._claim()
        with in_errors(self.target):
            self._put(self._job.current.end, columns_of_table(table))

    def _put(self, end: Any, columns: dict[str, np.ndarray]) -> None:
        self._call(end, columns)

    def save(self) -> Any:
        """Write everything to disk; return the state that a continued job passes to :func:`make_sink`."""

    def close(self) -> None:
        """Write everything and close the file."""


def columns_of_table(table: Any) -> dict[str, np.ndarray]:
    """Return the columns of a dict, a frame or an Arrow table, None or masked where null; scalars count as one row."""
    table = table.to_pydict() if hasattr(table, "to_pydict") else table
    names = column_names(table)
    if names is None:
        raise ParameterError(f"a sink takes a dict of columns or a frame, got {shown(table)}")
    columns = {str(name): without_empty(np.atleast_1d(with_nulls(table[name]))) for name in names}
    if len({len(column) for column in columns.values()}) > 1:
        raise ShapeError(f"columns differ in length: { {name: len(column) for name, column in columns.items()} }")
    return columns


class _File(Sink):
    """A text file: a new one, or cut to its size at the checkpoint (``saved``: what :meth:`save` returned there)."""

    def __init__(self, job: Window, path: Path, saved: Any) -> None:
        super().__init__(job)
        self.target, self._path = str(path), path
        self._names: list[str] | None = None if saved is None else saved[1]
        if saved is not None:
            cut_to(path, saved[0])
        mode = "w" if saved is None else "a"
        self._file: IO[str] = open(path, mode, newline="", encoding="utf-8", errors="surrogateescape")  # noqa: SIM115 - until the job closes it

    def save(self) -> tuple[tuple[int, int], list[str] | None]:
        """Return where the file ends, and the names of its columns, None before the first table."""
        return end_on_disk(self._path), self._names

    def close(self) -> None:
        with in_errors(self.target):  # what a full disk did not take is tried again
            self._file.close()

    def _same_columns(self, columns: dict[str, np.ndarray]) -> None:
        if self._names not in (None, [*columns]):
            raise ParameterError(f"the sink has columns {', '.join(self._names or [])}, the table {', '.join(columns)}")
        self._names = [*columns]


class _Csv(_File):
    def _put(self, end: Any, columns: dict[str, np.ndarray]) -> None:
        writer, begins = csv.writer(self._file), self._names is None
        self._same_columns(columns)
        if begins:
            writer.writerow(["end", *columns])
        writer.writerows([end, *row] for row in zip(*(column.tolist() for column in columns.values()), strict=True))
        self._file.flush()


class _JsonLines(_File):
    def _put(self, end: Any, columns: dict[str, np.ndarray]) -> None:
        self._same_columns(columns)
        shown_end = end if isinstance(end, int) else str(end)
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            json.dump({"end": shown_end, **dict(zip(columns, row, strict=True))}, self._file, default=str)
            self._file.write("\n")
        self._file.flush()


class _Parquet(Sink):
    """A folder with a Parquet file per table; ``saved``: the number of files at the checkpoint, or None."""

    def __init__(self, job: Window, folder: Path, saved: Any) -> None:
        from suricate.io.table_reading import load_pyarrow

        super().__init__(job)
        self._arrow, self._folder, self.target = load_pyarrow(), folder, str(folder)
        self._number: int = 0 if saved is None else saved
        folder.mkdir(parents=True, exist_ok=True)
        drop_parts(folder, self._number)

    def save(self) -> int:
        """Return the number of files."""
        return self._number

    def _put(self, end: Any, columns: dict[str, np.ndarray]) -> None:
        rows = len(next(iter(columns.values()), ()))
        with utf8_only():
            table = self._arrow.table({"end": np.full(rows, end), **columns})
        with replacing(part_name(self._folder, self._number)) as file:
            self._arrow.parquet.write_table(table, file)
        self._number += 1


class _PartsOfRanks(Sink):
    """A folder with a Parquet file per table and rank, with a share of its rows.

    ``saved``: what :meth:`save` returned at the checkpoint, or None: the folder is emptied. Parts of later slides are
    removed whatever rank has written them: it may be gone.
    """

    def __init__(self, job: Window, folder: Path, saved: Any) -> None:
        from suricate.io.table_reading import load_pyarrow

        super().__init__(job)
        self._arrow, self._folder, self.target = load_pyarrow(), folder, str(folder)
        self._slide, self._table = -1, 0  # that were written last
        folder.mkdir(parents=True, exist_ok=True)
        if not job._ranks.is_first:
            return
        for path in folder.glob("slide-*.parquet"):
            number = path.name.split("-")[1]
            if number.isdecimal() and int(number) > (0 if saved is None else job.slides):
                path.unlink()

    def save(self) -> str:
        """Return that there is a file for each rank."""
        return BY_RANK

    def _put(self, end: Any, columns: dict[str, np.ndarray]) -> None:
        slide, (rank, size) = self._job.slides, (self._job._ranks.rank, self._job._ranks.size)
        self._slide, self._table = slide, self._table + 1 if slide == self._slide else 0
        rows = len(next(iter(columns.values()), ()))
        begin, stop = rows * rank // size, rows * (rank + 1) // size
        with utf8_only():
            table = self._arrow.table({"end": np.full(rows, end), **columns})
        with replacing(self._folder / f"slide-{slide:08}-{self._table:02}-rank-{rank:04}.parquet") as file:
            self._arrow.parquet.write_table(table.slice(begin, stop - begin), file)


class Outputs:
    """Which files a job writes and reads: each has one owner, or one would overwrite what the other writes.

    Files of refused events may be one: rows are appended to them in one format.
    """

    def __init__(self, source: Source, checkpoint: Path | None, refusals: Iterable[Refusals]) -> None:
        self._source, self._owners = source, {} if checkpoint is None else {os.path.realpath(checkpoint): "checkpoint="}
        for path in {each.path for each in refusals if each.path is not None}:
            self.demand_free(path)
            check_writable(path)  # not when the first row is refused, which may be hours later
            self.add(path, "late= or on_error=")

    def demand_free(self, path: Path, *, parts: bool = False) -> None:
        """Raise ``ParameterError`` if the job reads ``path`` or writes it already; devices and pipes may be shared.

        ``parts``: it is a folder for Parquet parts.
        """
        if is_special(path) and not path.is_dir():
            return
        real = os.path.realpath(path)
        owner = self._owners.get(os.path.dirname(real) if path.suffix == ".npz" else real)
        if owner is None and self._source.reads(part_name(path, 0) if parts else path):
            owner = "the source, which reads it"
        if owner is not None:
            raise ParameterError(f"{path} belongs to {owner}: give each output a file of its own")

    def add(self, path: Path, owner: str) -> None:
        """Record the ``owner`` of ``path``, a text for messages."""
        self._owners[os.path.realpath(path)] = owner


def make_sink(target: Any, job: Window, saved: Mapping[str, Any] | None, *, by_rank: bool = False) -> Sink:
    """Return the sink for a ``target`` on this rank, see :func:`_sink`; others than the first write nothing.

    ``by_rank``: it is a folder to which all ranks write, each its share of the rows; collective.
    """
    if not by_rank:
        return _sink(target, job, saved, by_rank=False) if job._ranks.is_first else Sink(job)
    with job._ranks.alike():
        return _sink(target, job, saved, by_rank=True)


def _sink(target: Any, job: Window, saved: Mapping[str, Any] | None, *, by_rank: bool) -> Sink:
    """Return the sink for a file's name (``.csv``, ``.jsonl``), a folder, or a function of (end, columns).

    ``saved``: by target, what :meth:`Sink.save` returned at the checkpoint from which the job continues; None for a
    new job, which overwrites an existing target. A continued job raises ``ParameterError`` if the target has content
    but is not in ``saved``.
    """
    if callable(target) and not by_rank:
        return Sink(job, target)
    path = None if callable(target) else as_path(target)
    if path is None or (by_rank and path.suffix):
        raise ParameterError(f"a sink with by_rank=True is a folder for Parquet parts, got {shown(target)}")
    parts = _PartsOfRanks if by_rank else _Parquet
    kinds: dict[str, Callable[[Window, Path, Any], Sink]] = {".csv": _Csv, ".jsonl": _JsonLines, "": parts}
    if path.suffix not in kinds:
        raise ParameterError(f"a sink is a .csv or .jsonl file, a folder or a function, got {shown(target)}")
    job.outputs.demand_free(path, parts=not path.suffix)
    has_bytes = path.is_file() and not is_special(path) and path.stat().st_size > 0
    has_parts = part_name(path, 0).exists() or (not path.suffix and any(path.glob("slide-*.parquet")))
    if saved is not None and str(path) not in saved and (has_bytes or has_parts):
        known = ", ".join(saved) or "none"
        raise ParameterError(f"checkpoint: {path} is there, but no sink of the job that goes on (those are: {known})")
    found = (saved or {}).get(str(path))
    if found is not None and not path.suffix and (found == BY_RANK) != by_rank:
        raise ParameterError(
            f"checkpoint: {path} was written with by_rank={not by_rank}: give the same, or another folder"
        )
    job._claim()  # an earlier job over the same checkpoints writes no more rows
    sink = kinds[path.suffix](job, path, found)
    job.outputs.add(path, "another sink")
    return sink


def part_name(folder: Path, number: int) -> Path:
    """Return the path of the Parquet file with this number in a folder."""
    return folder / f"part-{number:06}.parquet"


def drop_parts(folder: Path, number: int) -> None:
    """Remove the files of a folder from ``number`` on; raises ``ParameterError`` if a file before these is missing."""
    for at in range(number):
        if not part_name(folder, at).is_file():
            raise ParameterError(f"checkpoint: {folder} lacks part {at}: it was changed or removed since")
    for at in itertools.count(number):
        path = part_name(folder, at)
        if not path.exists():
            return
        path.unlink()
