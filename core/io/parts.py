"""Files in parts: a folder, or a pattern with ``*``, that stands for the Parquet or Arrow files in it, in order."""

from __future__ import annotations

import errno
import glob
import os
import re
from pathlib import Path

from suricate.errors import FileFormatError
from suricate.io.formats import BY_SUFFIX, TABLE_FORMATS


def parts_of(path: Path) -> list[Path] | None:
    """Return the files that a folder or a pattern stands for, in natural order; None if ``path`` is neither.

    In a folder these are the files with the extension of a table, those of its folders included; hidden files and those
    that start with ``_`` (marks of Spark) are left out.

    Raises:
        OSError: there are none.
        FileFormatError: a file that a pattern matches is no table, or they are of several formats.
    """
    if path.is_dir():
        inside = (found for found in path.rglob("*") if found.is_file() and not _is_hidden(found.relative_to(path)))
        found = [file for file in inside if file.suffix.lower() in _TABLE_SUFFIXES]
        if not found:
            reason = f"{os.strerror(errno.EISDIR)}, and none of its files is named {' or '.join(_TABLE_SUFFIXES)}"
            raise IsADirectoryError(errno.EISDIR, reason, str(path))
    elif glob.has_magic(str(path)) and not path.exists():
        found = [Path(name) for name in glob.glob(str(path), recursive=True)]
        if not found:
            raise FileNotFoundError(errno.ENOENT, "no file matches", str(path))
    else:
        return None
    formats = {BY_SUFFIX.get(file.suffix.lower()) for file in found}
    if len(formats) > 1 or not formats <= {*TABLE_FORMATS}:
        raise FileFormatError(path, None, "only parts in Parquet, or only ones in Arrow, are read as one file")
    return sorted(found, key=lambda file: [int(part) if part.isdigit() else part for part in _DIGITS.split(str(file))])


_TABLE_SUFFIXES = tuple(suffix for suffix, format in BY_SUFFIX.items() if format in TABLE_FORMATS)
_DIGITS = re.compile(r"(\d+)")


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)
