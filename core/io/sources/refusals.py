"""Refused rows and events of a source (malformed, not valid or late): counted, and written to a file if wanted."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from suricate.base.errors import ParameterError
from suricate.base.files import as_path
from suricate.base.parameters import shown
from suricate.io.appending import cut_to, end_on_disk, write_rows

CHOICES = "drop", "skip", "raise", "ignore", "warn", "coerce"  #: words that are no file's name
HEADER = "time", "src", "dst", "weight", "kind", "reason"


class BadLine(NamedTuple):
    """A malformed line of a file: its number from 1, its text, and what is wrong with it."""

    number: int
    text: str
    reason: str


class Refusals:
    """Counts the rows or events that a source or window refuses, and writes them to a CSV file if the user wants it.

    The option ``label`` has the value ``"raise"`` (the caller raises errors), ``silent`` (count only) or a file's name.
    """

    def __init__(self, label: str, choice: Any, silent: str) -> None:
        is_text = isinstance(choice, str)
        self.raises, self.count = is_text and choice == "raise", 0
        self.path: Path | None = None  #: the file that refused rows are written to
        self.has_file = False  #: whether there is one, on whatever process
        self.found: list[Any] | None = None  #: where all ranks read: what :meth:`put` got on this one, to be handed on
        self.held: list[list[str]] = []  #: rows of malformed lines whose chunk has not been used
        if is_text and choice in ("raise", silent):
            return
        if not (is_text or isinstance(choice, os.PathLike)) or (is_text and choice in CHOICES):
            raise ParameterError(f"{label} must be 'raise', {silent!r} or the name of a file, got {shown(choice)}")
        self.path, self.has_file = as_path(choice), True

    def hold(self, path: Path, lines: Sequence[BadLine]) -> None:
        """Append the malformed ``lines`` of a chunk of the file ``path`` to ``held``, until the chunk is used."""
        self.held += [[""] * 5 + [f"{path}:{number}: {why}: {text}"] for number, text, why in lines]

    def put(self, number: int, rows: Sequence[Sequence[Any]]) -> None:
        """Add ``number`` to the count, and write the rows (with the columns of :data:`HEADER`) if there is a file."""
        if self.found is not None:
            self.found += rows
            return
        self.count += number
        if self.path is not None and rows:
            write_rows(self.path, HEADER, rows)

    def taken(self) -> list[Any]:
        """Return the rows that are to be handed on, once, where all ranks read."""
        found, self.found = self.found, []
        return found or []

    def add(self, number: int, rows: Sequence[Sequence[Any]]) -> None:
        """Do what :meth:`put` does with ``rows`` of all ranks."""
        self.found = None
        self.put(number, rows)
        self.found = []

    def save(self) -> tuple[int, str, tuple[int, int]]:
        """Flush the file to disk; return the count, the name of the file or ``""``, and where it ends."""
        return (self.count, "", (0, 0)) if self.path is None else (self.count, str(self.path), end_on_disk(self.path))

    def load(self, saved: Any) -> None:
        """Restore what :meth:`save` returned; cut the file, if it is the same, to where it ended then."""
        self.count, name, end = saved
        if self.path is not None and str(self.path) == name:  # another file gets what comes from now on
            cut_to(self.path, end)


def with_held(chunks: Iterable[Any], refusals: Sequence[Refusals]) -> Generator[tuple[Any, list[list[list[str]]]]]:
    """Yield each chunk with the rows of malformed lines met while reading it, a list for each of ``refusals``."""
    for chunk in chunks:
        held = []
        for each in refusals:
            held.append(each.held)
            each.held = []
        yield chunk, held
