"""Messages of collectives: each rank sends one of fixed size, with the value if that is small; and the time limit."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.base.parameters import real, shown

MESSAGE = 256  #: bytes of a message
HEAD = 64  #: bytes of its head; the rest is for the value, or its beginning
INLINE = MESSAGE - HEAD
MOST_DIMENSIONS = 3
WAY = slice(0, 16)  #: a digest of the name, the call site, and the values of ``same_soon``
SIZE, DTYPE, SHAPE = slice(16, 24), slice(24, 32), slice(32, 56)  #: bytes of the value; of an array
DIMENSIONS = 56  #: number of those of an array, or that it is none
PICKLED = 255
ALIGNMENT = 16  #: bytes


def packed(name: str, site: str, value: Any, asked: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Return the message of a collective, ``uint8[MESSAGE]``, and the bytes of ``value`` that do not fit into it."""
    message = np.zeros(MESSAGE, np.uint8)
    message[WAY] = _digest_of_way(name, site, asked)
    message[DIMENSIONS] = PICKLED
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.ndim <= MOST_DIMENSIONS:
        message[DIMENSIONS] = value.ndim
        kind = value.dtype.str.encode()
        message[DTYPE][: len(kind)] = np.frombuffer(kind, np.uint8)
        message[SHAPE].view(np.int64)[: value.ndim] = value.shape
        body = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    else:
        body = np.frombuffer(pickle.dumps(value), np.uint8)
    message[SIZE].view(np.int64)[0] = len(body)
    if len(body) > INLINE:
        return message, body
    message[HEAD : HEAD + len(body)] = body
    return message, body[:0]


@lru_cache(maxsize=256)
def _digest_of_way(name: str, site: str, asked: str) -> np.ndarray:
    return np.frombuffer(hashlib.blake2b(f"{name} at {site}{asked}".encode(), digest_size=16).digest(), np.uint8)


def whole(messages: np.ndarray, exchange: Callable[[list[int]], list[np.ndarray]]) -> list[Any]:
    """Return the values of all ranks; ``exchange`` is a collective for the bytes of each rank that did not fit."""
    sizes = [int(message[SIZE].view(np.int64)[0]) for message in messages]
    left = [size if size > INLINE else 0 for size in sizes]
    bodies = exchange(left) if any(left) else []
    return [
        _value(message, bodies[rank] if left[rank] else message[HEAD : HEAD + sizes[rank]])
        for rank, message in enumerate(messages)
    ]


def _value(message: np.ndarray, body: np.ndarray) -> Any:
    dimensions = int(message[DIMENSIONS])
    if dimensions == PICKLED:
        return pickle.loads(body.tobytes())
    dtype = bytes(message[DTYPE]).rstrip(b"\0").decode()
    aligned = body if body.ctypes.data % ALIGNMENT == 0 and body.base is not message.base else body.copy()
    return aligned.view(dtype).reshape(message[SHAPE].view(np.int64)[:dimensions])


def limit() -> float:
    """Return how many seconds a rank waits for others; raises ``ParameterError`` if ``SURICATE_TIMEOUT`` is invalid."""
    return _seconds("SURICATE_TIMEOUT", "600")


def source_limit() -> float | None:
    """Return how many seconds a source may be quiet, None without a limit: ``SURICATE_SOURCE_TIMEOUT``."""
    return _seconds("SURICATE_SOURCE_TIMEOUT", "") if os.environ.get("SURICATE_SOURCE_TIMEOUT") else None


def _seconds(name: str, default: str) -> float:
    given = os.environ.get(name, default)
    try:
        return real(name, float(given), low=0, include_low=False)
    except ValueError as error:
        raise ParameterError(f"{name} must be a number of seconds above 0, got {shown(given)}") from error


def not_come(ranks: list[int], place: str) -> str:
    """Return the error message for ``ranks`` that did not come to the collective ``place`` within the time limit."""
    return (
        f"ranks {ranks} did not come to {place} within {limit():g} s "
        "(longer work of one rank goes inside `with comm.busy():`)"
    )


def ways_apart(ways: list[str]) -> str | None:
    """Return an error message if ``ways``, the name and call site of each rank's collective, differ, else None."""
    for rank, way in enumerate(ways):
        if way != ways[0]:
            return (
                f"the ranks have gone different ways: rank 0 calls {ways[0]}, rank {rank} calls {way}; "
                "all ranks make a collective call at the same line"
            )
    return None
