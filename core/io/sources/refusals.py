"""What is not taken of a source: malformed rows, events that are not valid or late; counted, or written to a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from suricate.base.errors import ParameterError
from suricate.base.files import as_path
from suricate.base.parameters import shown
from suricate.io.appending import cut_to, size_on_disk, write_rows

CHOICES = "drop", "skip", "raise"  #: words that are no file's name
HEADER = "time", "src", "dst", "weight", "kind", "reason"


class BadLine(NamedTuple):
    """A malformed line of a file: its number from 1, its text, and what is wrong with it."""

    number: int
    text: str
    reason: str


class Refusals:
    """Where events go that are not taken: nowhere, to a CSV file, or they raise.

    Args:
        label: the parameter that says so. choice: ``"raise"``, ``silent``, or a file's name.
        silent: the word for nowhere.
    """

    def __init__(self, label: str, choice: Any, silent: str) -> None:
        self.raises, self.count, self._path = choice == "raise", 0, None
        self.held: list[list[str]] = []  #: rows of malformed lines whose chunk has not been used
        if choice in ("raise", silent):
            return
        if not isinstance(choice, str | os.PathLike) or choice in CHOICES:
            raise ParameterError(f"{label} must be 'raise', {silent!r} or the name of a file, got {shown(choice)}")
        self._path = as_path(choice)

    @property
    def writes(self) -> bool:
        """Whether there is a file."""
        return self._path is not None

    def mute(self) -> None:
        """Write no file."""
        self._path = None

    def hold(self, path: Path, lines: Sequence[BadLine]) -> None:
        """Take note of the malformed lines of a chunk, until it has been used."""
        self.held += [[""] * 5 + [f"{path}:{number}: {why}: {text}"] for number, text, why in lines]

    def put(self, number: int, rows: Sequence[Sequence[Any]]) -> None:
        """Count so many, and write their rows, of the columns of :data:`HEADER`, if there is a file."""
        self.count += number
        if self._path is not None and rows:
            write_rows(self._path, HEADER, rows)

    def save(self) -> tuple[int, str, int]:
        """Return the count, and the name and size of the file, which is on the disk."""
        return (self.count, "", 0) if self._path is None else (self.count, str(self._path), size_on_disk(self._path))

    def load(self, saved: Any) -> None:
        """Go on where :meth:`save` was called; raises ``ParameterError`` if the file is shorter than it was."""
        self.count, name, size = saved
        if self._path is not None and str(self._path) == name:  # another file gets what comes from now on
            cut_to(self._path, size)


def take_held(refusals: Sequence[Refusals]) -> list[list[list[str]]]:
    """Return the rows that are held, a list for each, and hold none any more."""
    found = [each.held for each in refusals]
    for each in refusals:
        each.held = []
    return found
