"""Messages of collectives: each rank sends one, with the value if that is small; and the time limit."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from struct import Struct
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.base.parameters import real, shown

MESSAGE = 256  #: bytes of a message, or more: see ``Lengths``
HEAD = 64  #: bytes of its head; the rest is for the value, or its beginning
INLINE = MESSAGE - HEAD
MOST, MOST_OF_ALL = 1 << 13, 1 << 16  #: bytes of a message, and of those of all ranks, unless ``MESSAGE`` each is more
LATELY = 16  #: collectives
#: a head: a digest of the name, the call site, and the values of ``same_soon``; the bytes of the value; if that is an
#: array of up to three dimensions, its dtype, shape and number of dimensions, else ``PICKLED``
FIELDS = Struct("=16sq8s3qB7x")
MOST_DIMENSIONS = 3
PICKLED = 255
ALIGNMENT = 16  #: bytes
NOTHING = np.empty(0, np.uint8)

Head = tuple[Any, ...]
#: of a head; such functions and ``map`` in place of loops, as small batches feel each call of Python in a meeting
WAY, SIZE = itemgetter(0), itemgetter(1)


class Lengths:
    """How long the messages of the next collective are, the same on all ranks.

    They hold the values of the last ones, whichever these were, so that these take one exchange, not two.
    """

    def __init__(self, ranks: int) -> None:
        self.length = MESSAGE  #: bytes of the next messages
        self._most = max(MESSAGE, min(MOST, MOST_OF_ALL // ranks))
        self._lately = deque([MESSAGE], LATELY)

    def note(self, heads: Sequence[Head]) -> None:
        """Set the length after a collective with messages that begin with ``heads``."""
        needed = HEAD + max(map(SIZE, heads))
        self._lately.append(needed if needed <= self._most else MESSAGE)
        self.length = min(self._most, 1 << (max(MESSAGE, *self._lately) - 1).bit_length())


def packed(
    name: str, site: str, value: Any, asked: str = "", length: int = MESSAGE
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the message of a collective, ``uint8[length]``, and the bytes of ``value`` that do not fit into it."""
    form: Head = b"", 0, 0, 0, PICKLED
    body: Any
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.ndim <= MOST_DIMENSIONS:
        form = value.dtype.str.encode(), *(*value.shape, 0, 0, 0)[:MOST_DIMENSIONS], value.ndim
        body = np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
    else:
        body = pickle.dumps(value)
    message, size = np.empty(length, np.uint8), len(body)
    there = message.data  # which takes bytes sooner than the array
    FIELDS.pack_into(there, 0, _digest_of_way(name, site, asked), size, *form)
    if size > length - HEAD:
        return message, np.frombuffer(body, np.uint8)
    there[HEAD : HEAD + size] = body
    return message, NOTHING


@lru_cache(maxsize=256)
def _digest_of_way(name: str, site: str, asked: str) -> bytes:
    return hashlib.blake2b(f"{name} at {site}{asked}".encode(), digest_size=16).digest()


def heads_of(messages: Any) -> tuple[list[Head], bool]:
    """Return what the messages of all ranks begin with, and whether ranks are at other collectives than others."""
    heads = [*map(FIELDS.unpack_from, messages)]
    return heads, len({*map(WAY, heads)}) > 1


def whole(messages: Any, heads: Sequence[Head], exchange: Callable[[list[int]], list[np.ndarray]]) -> list[Any]:
    """Return the values of all ranks; ``exchange`` is a collective for the bytes of each rank that did not fit."""
    most = len(messages[0]) - HEAD
    if max(map(SIZE, heads)) <= most:
        return [*map(_value, heads, messages)]
    left = [size if size > most else 0 for _, size, *_ in heads]
    bodies = exchange(left)
    return [_value(head, bodies[at], 0) if left[at] else _value(head, messages[at]) for at, head in enumerate(heads)]


def _value(head: Head, there: np.ndarray, begin: int = HEAD) -> Any:
    """Return the value whose bytes lie in ``there`` from ``begin`` on; an array is a copy."""
    body = there[begin : begin + head[1]]
    if head[-1] == PICKLED:
        return pickle.loads(body.data)
    *_, dtype, rows, columns, layers, dimensions = head
    aligned = body if begin == 0 and body.ctypes.data % ALIGNMENT == 0 else body.copy()
    return aligned.view(dtype.rstrip(b"\0").decode()).reshape((rows, columns, layers)[:dimensions])


def bytes_of(columns: Sequence[np.ndarray | None]) -> tuple[bytes | None, ...]:
    """Return the bytes of a few small arrays, None for None; as a value to pass on they cost less than arrays."""
    return tuple([None if column is None else column.tobytes() for column in columns])


def of_bytes(parts: Sequence[bytes], dtype: Any) -> np.ndarray:
    """Return the concatenation of arrays of ``dtype``, of each of which ``parts`` has the bytes."""
    return np.frombuffer(bytearray().join(parts), dtype)  # which may be changed


def limit() -> float:
    """Return how many seconds a rank waits for others; raises ``ParameterError`` if ``SURICATE_TIMEOUT`` is invalid."""
    return _seconds("SURICATE_TIMEOUT", os.environ.get("SURICATE_TIMEOUT", "600"))


def source_limit() -> float | None:
    """Return how many seconds a source may be quiet, None without a limit: ``SURICATE_SOURCE_TIMEOUT``."""
    given = os.environ.get("SURICATE_SOURCE_TIMEOUT")
    return _seconds("SURICATE_SOURCE_TIMEOUT", given) if given else None


@lru_cache(maxsize=8)  # ranks ask at every meeting
def _seconds(name: str, given: str) -> float:
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
