"""Files that a job appends to, whose size a checkpoint has: rows of events that were refused, results, parts."""

from __future__ import annotations

import csv
import itertools
import os
from pathlib import Path
from typing import Any

from suricate.base.errors import ParameterError
from suricate.base.files import is_special, sync


def write_rows(path: Path, rows: Any) -> None:
    """Append rows to a CSV file, which gets a header if it is new."""
    is_new = not path.exists() or path.stat().st_size == 0
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(("time", "src", "dst", "weight", "kind", "reason"))
        writer.writerows(rows)


def size_on_disk(path: Path) -> int:
    """Return the bytes of a file, all of them on the disk; 0 if there is none, or it is a device or pipe."""
    if is_special(path):
        return 0
    try:
        return sync(path)
    except FileNotFoundError:
        return 0


def cut_to(path: Path, size: int) -> None:
    """Cut a file to the bytes it had when a checkpoint was taken; raises ``ParameterError`` if it has fewer.

    Devices and pipes stay as they are.
    """
    if is_special(path):
        return
    found = path.stat().st_size if path.exists() else 0
    if found < size:
        reason = f"{path} has {found} bytes, {size} when the checkpoint was taken"
        raise ParameterError(f"checkpoint: {reason}: it was changed or removed since")
    if path.exists():
        os.truncate(path, size)


def has_content(path: Path) -> bool:
    """Return whether a file has bytes, or a folder parts."""
    return part_name(path, 0).exists() or (path.is_file() and not is_special(path) and path.stat().st_size > 0)


def part_name(folder: Path, number: int) -> Path:
    """Return the name of a part of a folder."""
    return folder / f"part-{number:06}.parquet"


def drop_parts(folder: Path, number: int) -> None:
    """Remove the parts of a folder from ``number`` on; raises ``ParameterError`` if an earlier one is missing."""
    for at in range(number):
        if not part_name(folder, at).is_file():
            raise ParameterError(f"checkpoint: {folder} lacks part {at}: it was changed or removed since")
    for at in itertools.count(number):
        path = part_name(folder, at)
        if not path.exists():
            return
        path.unlink()
