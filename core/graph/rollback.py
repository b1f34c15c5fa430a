"""Rollback of a change of a store, in parts where memory is short."""

from __future__ import annotations

import mmap
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import EdgeList
from suricate.intake.arrays import picked
from suricate.store import Store

Action = Callable[[Store, EdgeList], None]


_SPARE = 16 << 20  #: bytes of addresses, without memory behind them, that are held back for undoing
_spare: list[mmap.mmap] = []


@contextmanager
def memory_to_undo(error: BaseException) -> Iterator[None]:
    """Make a context for undoing what ended by ``error``, with the memory that this still held, and some more."""
    cause: BaseException | None = error
    seen = list[BaseException]()
    while cause is not None and cause not in seen:  # errors that threads pass on may go in circles
        traceback.clear_frames(cause.__traceback__)
        seen.append(cause)
        cause = cause.__cause__ or cause.__context__
    with suppress(IndexError):  # another thread may be undoing, too
        _spare.pop().close()
    try:
        yield
    finally:
        hold_spare()


def hold_spare() -> None:
    """Hold addresses back for the next time that something is undone, if there are so many."""
    if not _spare:
        with suppress(OSError):
            _spare.append(mmap.mmap(-1, _SPARE))


hold_spare()


def in_parts(store: Store, action: Action, edges: EdgeList, status: Array | None, wanted: int) -> None:
    """Call ``action(store, edges)`` for the edges of status ``wanted``, in halves and so on if memory is short."""
    size = len(edges.src)
    try:
        _call(store, action, edges, status, wanted)
    except MemoryError:
        if size > 1:
            for part in (slice(0, size // 2), slice(size // 2, size)):
                in_parts(store, action, picked(edges, part), None if status is None else status[part], wanted)
            return
        with beyond_limit(store):
            _call(store, action, edges, status, wanted)


def _call(store: Store, action: Action, edges: EdgeList, status: Array | None, wanted: int) -> None:
    xp = np if isinstance(status, np.ndarray) else store.device.xp
    arcs = edges if status is None else picked(edges, xp.flatnonzero(status == wanted))
    if len(arcs.src):
        action(store, arcs)


@contextmanager
def beyond_limit(store: Store) -> Iterator[None]:
    """Let a store hold old and new arrays while they grow, if the new ones alone are within its memory limit."""
    limit = store.memory_limit
    if limit is not None:
        store.memory_limit = limit + sum(allocated for _, allocated in store.memory().values())
    try:
        yield
    finally:
        store.memory_limit = limit


def insert_into(store: Store, edges: EdgeList) -> None:
    """Insert edges with their weights into a store: undoes a deletion."""
    store.insert(*edges)


def delete_from(store: Store, edges: EdgeList) -> None:
    """Delete edges from a store: undoes an insertion."""
    store.delete(edges.src, edges.dst)
