"""Snapshots of logs: the live events in one file, for any device, and pickles, which are the same as bytes.

A snapshot is a NumPy ``.npz`` archive of ``header`` (JSON), ``time`` (int64), ``src`` and ``dst`` (uint32) of the
events kept, in order of their numbers, ``removed`` (int64, the numbers of removed ones among them), and the states
``columns.*`` and ``names.*``. The index is made again.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from suricate.base.archives import DAMAGE, as_member, one_line, prefixed, read_archive, state_in
from suricate.base.devices import CPU, Device
from suricate.base.errors import CapacityError, DeviceError, FileFormatError, SuricateError
from suricate.base.files import as_path, replacing
from suricate.intake.arrays import on_host
from suricate.intake.names import Names
from suricate.state.column import Column, dtype_of
from suricate.state.column_map import columns_of_state, state_of
from suricate.state.edge_table import Kind

if TYPE_CHECKING:
    from suricate.events import Events

FORMAT, HEADER, VERSION = "suricate events", "header", 1
NAMES, COLUMNS = "names.", "columns."  #: what the arrays of these states begin with
PICKLED = Path("<pickled log>")  #: stands for the file in messages


def save(log: Events, path: str | Path) -> None:
    """Write the log to ``path``, replacing an existing file only when complete. Waits for the device.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.

    Example:
        >>> log = su.Events(3, device="cpu")
        >>> numbers = log.append([10], [0], [1])
        >>> log.save("log.npz")
        >>> su.Events.load("log.npz", device="cpu").next
        1
    """
    with log._lock:
        arrays = _arrays(log)
    with replacing(path) as file:
        np.savez(file, **arrays)


def load(
    cls: type[Events], path: str | Path, *, device: str | Device = "auto", memory_limit: int | str | None = None
) -> Events:
    """Return the log of a snapshot, with the same numbers, on any device; ``memory_limit`` is that of ``Events``.

    Raises:
        FileFormatError: not a snapshot of a log, of a later version, truncated or damaged.
        CapacityError: there is not enough memory. OSError: the file cannot be read.

    Example:
        >>> log = su.Events(3, device="cpu")
        >>> numbers = log.append([10, 20], [0, 1], [1, 2])
        >>> log.save("log.npz")
        >>> len(su.Events.load("log.npz", device="cpu"))
        2
    """
    path = as_path(path)
    with open(path, "rb") as file:
        return _read(cls, file, path, device, memory_limit)


def reduced(log: Events) -> tuple[Any, ...]:
    """Return :func:`from_bytes` and its arguments, by which ``pickle`` rebuilds the log."""
    file = io.BytesIO()
    with log._lock:
        arrays = _arrays(log)
    try:
        np.savez(file, **arrays)
        return from_bytes, (type(log), log.device.kind, log._limit, file.getvalue())
    except (MemoryError, ValueError) as error:  # NumPy stumbles over the file that it could not write
        raise CapacityError(f"memory does not suffice to pickle the log: {one_line(error)}") from error


def from_bytes(cls: type[Events], device: str, memory_limit: int | None, data: bytes) -> Events:
    """Return the log with this snapshot as bytes, on a device of the same kind."""
    try:
        return _read(cls, io.BytesIO(data), PICKLED, device, memory_limit)
    except DeviceError as error:
        raise DeviceError(f"the log was pickled on {device}: {error}; use save() and load() instead") from None


def _arrays(log: Events) -> dict[str, Any]:
    """Return the arrays of a snapshot, all of them copies: the log may change while they are written."""
    record = log._record
    kept = {name: on_host(record.listed(ring, record.first, record.next)) for name, ring in record.rings().items()}
    alive, columns = kept.pop("alive", None), {}
    for name, kind in log._kinds.items():
        columns[name] = Column(CPU, len(kept["time"]), *kind)
        columns[name].fill(kept.pop(name))
    header = {
        "format": FORMAT, "version": VERSION, "num_vertices": log.num_vertices, "directed": log.directed,
        "over": log.over, "first": record.first, "newest": log._newest, "closed": log._closed, "expired": log._expired,
    }  # fmt: skip
    removed = np.empty(0, np.int64) if alive is None else record.first + np.flatnonzero(alive == 0)
    states = prefixed(COLUMNS, state_of(columns)) | ({} if log.names is None else prefixed(NAMES, log.names.state()))
    times_and_ends = {name: part.copy() for name, part in kept.items()}
    return {HEADER: as_member(header), **times_and_ends, "removed": removed, **states}


def _read(cls: type[Events], file: IO[bytes], path: Path, device: Any, memory_limit: Any) -> Events:
    try:
        version, fields, arrays = read_archive(file, HEADER, FORMAT)
        if version > VERSION:
            reason = f"the snapshot has format version {version}, this suricate reads up to {VERSION}"
            raise FileFormatError(path, None, reason)
        return _made(cls, fields, arrays, device, memory_limit)
    except (CapacityError, DeviceError, FileFormatError):
        raise
    except (*DAMAGE, SuricateError) as error:
        reason = f"this is no snapshot of a log, or a damaged one ({one_line(error)})"
        raise FileFormatError(path, None, reason) from error


def _made(
    cls: type[Events], fields: dict[str, Any], arrays: dict[str, np.ndarray], device: Any, memory_limit: Any
) -> Events:
    """Return the log of a snapshot; raises an exception of ``DAMAGE`` or of suricate if it is damaged."""
    time, src, dst, removed = (arrays[name] for name in ("time", "src", "dst", "removed"))
    columns = columns_of_state(state_in(arrays, COLUMNS), len(time))
    log = cls(
        fields["num_vertices"], device=device, directed=fields["directed"], over=fields["over"],
        columns={name: Kind(dtype_of(values), missing) for name, (values, missing) in columns.items()},
        memory_limit=memory_limit,
    )  # fmt: skip
    if type(fields["first"]) is not int or fields["first"] < 0 or len(time) != len(src):
        raise ValueError("the numbers of events do not fit")
    log._record.first = log._record.next = fields["first"]
    log.append(time, src, dst, {name: values for name, (values, _) in columns.items()})
    if len(time) and (time[1:] < time[:-1]).any():
        raise ValueError("times do not ascend")
    log.remove(removed)
    log._newest, log._closed, log._expired = (fields[name] for name in ("newest", "closed", "expired"))
    state = state_in(arrays, NAMES)
    log.names = Names.restore(state) if state else None
    return log
