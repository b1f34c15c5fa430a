"""Files that rows are appended to, and that are cut to where they ended in a checkpoint."""

from __future__ import annotations

import csv
import os
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from suricate.base.errors import ParameterError
from suricate.base.files import is_special, sync

TAIL = 1 << 16  #: last bytes of a file by which another one of its name is recognised


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Any]) -> None:
    """Append rows to a CSV file, which gets the header if it is new."""
    is_new = not path.exists() or path.stat().st_size == 0
    with open(path, "a", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(header)
        writer.writerows(rows)


def end_on_disk(path: Path) -> tuple[int, int]:
    """Flush a file to disk; return its size and the CRC-32 of its last :data:`TAIL` bytes, 0 and 0 if it is special."""
    if is_special(path):
        return 0, 0
    try:
        size = sync(path)
    except FileNotFoundError:
        return 0, 0
    return size, _checksum(path, size)


def cut_to(path: Path, end: Sequence[int]) -> None:
    """Cut a file to its size at a checkpoint, ``end``; ``ParameterError`` if it has not the bytes that were there."""
    if is_special(path):
        return
    size, checksum = end
    found = path.stat().st_size if path.exists() else 0
    if found < size:
        reason = f"{path} has {found} bytes, {size} when the checkpoint was taken"
        raise ParameterError(f"checkpoint: {reason}: it was changed or removed since")
    if _checksum(path, size) != checksum:
        reason = f"{path} has other bytes before {size} than when the checkpoint was taken"
        raise ParameterError(f"checkpoint: {reason}: it was replaced or changed since")
    if path.exists():
        os.truncate(path, size)


def _checksum(path: Path, size: int) -> int:
    """Return the CRC-32 of the last bytes before ``size`` of a file."""
    if not size:
        return 0
    with open(path, "rb") as file:
        file.seek(max(size - TAIL, 0))
        return zlib.crc32(file.read(min(size, TAIL)))
