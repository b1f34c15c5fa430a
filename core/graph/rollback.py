"""Rollback of a change of a store, in parts where memory is short."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import EdgeList
from suricate.intake.arrays import picked
from suricate.store import Store

Action = Callable[[Store, EdgeList], None]


def in_parts(store: Store, action: Action, edges: EdgeList, status: Array | None, wanted: int) -> None:
    """Call ``action(store, edges)`` for the edges whose status is ``wanted`` (``status`` None: all).

    If a call lacks memory, it is repeated with each half of the edges, and so on.
    """
    size = len(edges.src)
    try:
        xp = np if isinstance(status, np.ndarray) else store.device.xp
        arcs = edges if status is None else picked(edges, xp.flatnonzero(status == wanted))
        if len(arcs.src):
            action(store, arcs)
    except MemoryError:
        if size <= 1:
            raise
    else:
        return
    for part in (slice(0, size // 2), slice(size // 2, size)):
        in_parts(store, action, picked(edges, part), None if status is None else status[part], wanted)


def insert_into(store: Store, edges: EdgeList) -> None:
    """Insert edges with their weights into a store: undoes a deletion."""
    store.insert(*edges)


def delete_from(store: Store, edges: EdgeList) -> None:
    """Delete edges from a store: undoes an insertion."""
    store.delete(edges.src, edges.dst)
