"""The arguments of the compiled loop besides the graph, and the codes that it and the host exchange."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

NOTHING, INSERT, DELETE = 0, 1, 2  #: kinds of events; NOTHING: a self-loop that is dropped, or an edge at unknown names

#: places of the report: why the run ended, the most work of an event and which that was, edges inserted and deleted
WHY, MOST, MOST_AT, ADDED, TAKEN = range(5)
OVER, FULL, REFUSED = range(3)  #: why a run ended: the events are over, memory is short, the step refused an event


class Stores(NamedTuple):
    """The data of the stores for compiled functions: ``out`` of out-edges, ``into`` of in-edges.

    ``has_into``: there is a second store; if not, ``into`` is ``out``. ``undirected``: ``out`` has both arcs of each
    edge.
    """

    out: Any
    into: Any
    has_into: bool
    undirected: bool


class Piece(NamedTuple):
    """The events of a piece, and the arrays that the loop writes.

    Attributes:
        src, dst: ``uint32[n]``, the ends of the edges.
        kind: ``uint8[n]``: ``INSERT``, ``DELETE`` or ``NOTHING``.
        weight: the weight of each event; like the next four, of length 0 on an unweighted graph.
        old: written: the weight that each event replaced or deleted.
        units, before: views of ``weight`` and ``old`` in the dtype of which weights in the store consist.
        discarded: like ``before``, written when an event is undone, and never read.
        status: written: ``uint8[n]``, the status of each event.
        records: True: the answers at the vertices ``at`` (``int64[k]``) are written to ``recorded``; False: the number
            of vertices that each event changed is written to ``changed`` (``int64[n]``).
    """

    src: np.ndarray
    dst: np.ndarray
    kind: np.ndarray
    weight: np.ndarray
    old: np.ndarray
    units: np.ndarray
    before: np.ndarray
    discarded: np.ndarray
    status: np.ndarray
    records: bool
    at: np.ndarray
    recorded: tuple[np.ndarray, ...]
    changed: np.ndarray
