"""Files in parts: a folder, or a pattern with ``*``, that stands for the files in it, in natural order."""

from __future__ import annotations

import errno
import glob
import re
from collections.abc import Iterator
from pathlib import Path

from suricate.base.errors import FileFormatError
from suricate.io.formats import BY_SUFFIX, TABLE_FORMATS


def matching(path: Path, suffixes: tuple[str, ...] = ()) -> list[Path] | None:
    """Return the files that a folder or a pattern stands for, in natural order; None if ``path`` is neither.

    A folder, or one that the pattern matches, stands for its files, those in subfolders ``KEY=VALUE`` included, with
    one of the ``suffixes`` if there are any.
    """
    if path.is_dir():
        found = [path]
    elif glob.has_magic(str(path)) and not path.exists():
        found = [*map(Path, glob.glob(str(path), recursive=True))]
    else:
        return None
    inside = (file for each in found if each.is_dir() for file in files_in(each))
    kept = (file for file in inside if not suffixes or file.suffix.lower() in suffixes)
    return sorted({*kept, *(each for each in found if not each.is_dir())}, key=natural)


def parts_of(path: Path) -> list[Path] | None:
    """Return the Parquet or Arrow files that a folder or a pattern stands for; None if ``path`` is neither."""
    found = matching(path, _TABLE_SUFFIXES)
    if found is None:
        return None
    if not found and path.is_dir():
        reason = f"it is a directory, and none of its files is named {' or '.join(_TABLE_SUFFIXES)}"
        raise IsADirectoryError(errno.EISDIR, reason, str(path))
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file matches", str(path))
    formats = {BY_SUFFIX.get(file.suffix.lower()) for file in found}
    if len(formats) > 1 or not formats <= {*TABLE_FORMATS}:
        raise FileFormatError(path, None, "only parts in Parquet, or only ones in Arrow, are read as one file")
    return found


_TABLE_SUFFIXES = tuple(suffix for suffix, format in BY_SUFFIX.items() if format in TABLE_FORMATS)
_DIGITS = re.compile(r"(\d+)")


def natural(file: Path) -> tuple[list[int | str], str]:
    """Return the sort key of a file: its path split into texts and integers, alternately; then the path itself."""
    return [int(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(str(file)))], str(file)


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of its subfolders ``KEY=VALUE``, but no names that begin with ``.`` or ``_``."""
    for entry in folder.iterdir():
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_file():
            yield entry
        elif "=" in entry.name and entry.is_dir():
            yield from files_in(entry)
