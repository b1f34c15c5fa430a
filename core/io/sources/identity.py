"""What was read of a source, tied to its content: checksums (CRC-32) of bytes or values up to a position.

A checksum goes on from the one before, so it depends on bytes and values only, not on how they are cut into chunks.
"""

from __future__ import annotations

import itertools
import os
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.files import is_special
from suricate.io.files import newlines
from suricate.io.sources.chunk_columns import as_array, part_of

RECENT = 100_000_000  #: nanoseconds in which two changes of a file may leave the same time

Sums = dict[str, int]  #: a checksum per column


class ChangedError(Exception):
    """What was read is not there any more; the text continues a sentence about the source."""


def state_of(path: Path) -> tuple[int, ...] | None:
    """Return numbers that change with the content of a file; None: it may change unseen, or is no regular file."""
    found = os.stat(path)
    if is_special(path) or time.time_ns() - found.st_ctime_ns < RECENT:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def without(chunks: Iterator[bytes], size: int, checksum: int | None) -> tuple[Iterator[bytes], int, int, bytes]:
    """Leave out the first ``size`` bytes; return the further chunks, checksum, newlines and last byte of these."""
    left, found, lines, last = size, 0, 0, b"\n"
    while left and (chunk := next(chunks, b"")):
        part = chunk[:left]
        found, lines, last, left = zlib.crc32(part, found), lines + newlines(part), part[-1:], left - len(part)
        if len(part) < len(chunk):
            chunks = itertools.chain([chunk[len(part) :]], chunks)
    if left:
        raise ChangedError(f"has {size - left} of the {size} bytes that were read")
    if checksum not in (None, found):
        raise ChangedError(f"has other bytes than the {size} that were read")
    return chunks, found, lines, last


def sums_of(chunk: Mapping[str, Any], before: Sums) -> Sums:
    """Return the checksums of rows with the checksums ``before`` and the rows of ``chunk`` behind them."""
    found = {name: zlib.crc32(_bytes_of(name, as_array(column)), before.get(name, 0)) for name, column in chunk.items()}
    return before | found


def _bytes_of(name: str, values: np.ndarray) -> Any:
    if values.dtype.kind in "OUS":
        return "\0".join([*map(str, values.tolist()), ""]).encode("utf-8", "surrogatepass")
    if values.dtype.kind in "iuf":  # a file with later rows may have a wider type
        values = values.astype(np.float64 if name == "weight" or values.dtype.kind == "f" else np.int64, copy=False)
    return np.ascontiguousarray(values).view(np.uint8)


def rows_behind(
    chunks: Iterable[Any], position: tuple[int, Sums] | None, *, checked: bool
) -> Iterator[tuple[tuple[int, Sums], Any]]:
    """Yield the rows behind ``position`` as (position behind the chunk, chunk); a mark counts as a row.

    A position is a number of rows and, if ``checked``, their checksums; ``ChangedError`` if those before it are others.
    """
    most, expected = position or (0, {})
    done, sums = 0, Sums()
    for chunk in chunks:
        columns = chunk if type(chunk) is dict or isinstance(chunk, Mapping) else {"mark": np.array([done])}
        rows = len(next(iter(columns.values())))
        before = min(max(most - done, 0), rows)
        if before:
            if checked:
                sums = sums_of({name: part_of(column, 0, before) for name, column in columns.items()}, sums)
            done += before
            if done == most and checked and sums != expected:
                raise ChangedError(f"has other rows than the {most} that were read")
            if before == rows:
                continue
            chunk = columns = {name: part_of(column, before) for name, column in columns.items()}
        if checked:
            sums = sums_of(columns, sums)
        done += rows - before
        yield (done, sums), chunk
    if done < most:
        raise ChangedError(f"has {done} of the {most} rows that were read")
