"""Files in parts: a folder, or a pattern with ``*``, that stands for the files in it, in natural order."""

from __future__ import annotations

import errno
import glob
import re
from collections.abc import Iterator
from pathlib import Path

from suricate.base.errors import FileFormatError
from suricate.io.formats import BY_SUFFIX, TABLE_FORMATS


def parts_of(path: Path) -> list[Path] | None:
    """Return the files that a folder or a pattern stands for, in natural order; None if ``path`` is neither.

    A folder, or one that the pattern matches, stands for its files with an extension of Parquet or Arrow, those in
    subfolders ``KEY=VALUE`` included. There, names that start with ``.`` or ``_`` are left out.
    """
    if path.is_dir():
        found = _tables_in(path)
        if not found:
            reason = f"it is a directory, and none of its files is named {' or '.join(_TABLE_SUFFIXES)}"
            raise IsADirectoryError(errno.EISDIR, reason, str(path))
    elif glob.has_magic(str(path)) and not path.exists():
        names = map(Path, glob.glob(str(path), recursive=True))
        found = list({file for name in names for file in (_tables_in(name) if name.is_dir() else [name])})
        if not found:
            raise FileNotFoundError(errno.ENOENT, "no file matches", str(path))
    else:
        return None
    formats = {BY_SUFFIX.get(file.suffix.lower()) for file in found}
    if len(formats) > 1 or not formats <= {*TABLE_FORMATS}:
        raise FileFormatError(path, None, "only parts in Parquet, or only ones in Arrow, are read as one file")
    return sorted(found, key=natural)


_TABLE_SUFFIXES = tuple(suffix for suffix, format in BY_SUFFIX.items() if format in TABLE_FORMATS)
_DIGITS = re.compile(r"(\d+)")


def natural(file: Path) -> tuple[list[int | str], str]:
    """Return the sort key of a file: its path split into texts and integers, alternately; then the path itself."""
    return [int(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(str(file)))], str(file)


def _tables_in(folder: Path) -> list[Path]:
    """Return the Parquet and Arrow files of a folder and its subfolders ``KEY=VALUE``, by extension, unordered."""
    return [file for file in files_in(folder) if file.suffix.lower() in _TABLE_SUFFIXES]


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of its subfolders ``KEY=VALUE`` (partitions of Spark and Hive), however deep.

    Names that begin with ``.`` or ``_`` are left out.
    """
    for entry in folder.iterdir():
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_file():
            yield entry
        elif "=" in entry.name and entry.is_dir():
            yield from files_in(entry)
