"""Archives of arrays: ``.npz`` files, every member of which has a checksum; one member is JSON.

The state of each part of a saved object, a dict of arrays, is stored under names with a prefix for that part.
"""

from __future__ import annotations

import errno
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

#: what reading a damaged archive may raise
DAMAGE = (ValueError, LookupError, TypeError, ArithmeticError, EOFError, RuntimeError, MemoryError, struct.error,
          zipfile.BadZipFile, zlib.error)  # fmt: skip


def as_member(fields: Mapping[str, Any]) -> np.ndarray:
    """Return ``fields`` as the array that stores them in an archive: their JSON text, ``uint8[bytes]``."""
    return np.frombuffer(json.dumps(fields).encode(), np.uint8)


def read_archive(file: IO[bytes], member: str, format: str) -> tuple[int, dict[str, Any], dict[str, np.ndarray]]:
    """Read an archive; return its version, the other fields of its JSON member, and the arrays of all other members.

    ``member`` is the name of the JSON member; its field ``"format"`` must be ``format``.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not such an archive. A damaged one may also raise another exception of :data:`DAMAGE`.
    """
    try:
        if not zipfile.is_zipfile(file):  # NumPy would advise to unpickle it
            raise ValueError("it is no zip archive")
        file.seek(0)
        archive = np.load(file, allow_pickle=False)
        arrays = {name: archive[name] for name in archive.files}
    except OSError as error:
        if error.errno != errno.EINVAL:  # that is a position before the file
            raise
        raise ValueError(str(error)) from error
    fields = json.loads(bytes(arrays.pop(member)))
    if not isinstance(fields, dict):
        raise ValueError("its header is no dictionary")
    if fields.pop("format") != format:
        raise ValueError("of another format")
    version = fields.pop("version")
    if type(version) is not int or version < 1:
        raise ValueError(f"version is {str(version)[:60]!r}")
    return version, fields, arrays


def one_line(error: BaseException) -> str:
    """Return the message of ``error`` on one line, cut to 200 characters."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def prefixed(prefix: str, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of ``state`` with ``prefix`` put in front of each name, as an archive stores them."""
    return {prefix + name: part for name, part in state.items()}


def state_in(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with ``prefix``, with the prefix removed from the names."""
    return {name.removeprefix(prefix): part for name, part in arrays.items() if name.startswith(prefix)}
