"""Files that rows are appended to, and that are truncated to the size in a checkpoint."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from suricate.base.errors import ParameterError
from suricate.base.files import is_special, sync


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Any]) -> None:
    """Append rows to a CSV file, which gets the header if it is new."""
    is_new = not path.exists() or path.stat().st_size == 0
    with open(path, "a", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(header)
        writer.writerows(rows)


def size_on_disk(path: Path) -> int:
    """Flush a file to disk and return its size in bytes; 0 if it does not exist or is a device or pipe."""
    if is_special(path):
        return 0
    try:
        return sync(path)
    except FileNotFoundError:
        return 0


def cut_to(path: Path, size: int) -> None:
    """Truncate a file to ``size`` bytes, as it was at a checkpoint; raises ``ParameterError`` if it is shorter.

    Devices and pipes are not changed.
    """
    if is_special(path):
        return
    found = path.stat().st_size if path.exists() else 0
    if found < size:
        reason = f"{path} has {found} bytes, {size} when the checkpoint was taken"
        raise ParameterError(f"checkpoint: {reason}: it was changed or removed since")
    if path.exists():
        os.truncate(path, size)
