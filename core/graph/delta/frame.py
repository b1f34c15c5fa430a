"""Frames of deltas: a row per changed edge, its ends by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.errors import RequirementError
from suricate.graph.frames import Frame
from suricate.graph.naming import names_of
from suricate.intake.arrays import on_host
from suricate.intake.names import Names
from suricate.state.edge_table import WEIGHT

SHOWN = "inserted", "deleted", "replaced"  #: kinds of rows, in this order


def frame_of(delta: Any) -> Frame:
    """Return the frame of ``delta``; see ``Delta.to_pandas``."""
    named, version = delta.named
    names = named() if callable(named) else named
    if isinstance(names, Names) and names.version != version:
        raise RequirementError("the names are of a later change: make the frame of a delta before the next one")
    parts = [getattr(delta, kind) for kind in SHOWN]
    sizes = [len(part.src) for part in parts]
    src, dst = (_joined(parts, end) for end in ("src", "dst"))
    columns = (
        {"src": src, "dst": dst} if names is None else {"src": last_names(names, src), "dst": last_names(names, dst)}
    )
    columns["kind"] = np.repeat(np.array(SHOWN, object), sizes)
    kind = np.repeat(np.arange(len(SHOWN)), sizes)
    if delta.replaced_old is not None:
        weight = _joined(parts, "weight")
        old = np.concatenate((weight[kind != SHOWN.index("replaced")], on_host(delta.replaced_old)))
        columns["weight"] = np.ma.masked_array(weight, kind == SHOWN.index("deleted"))
        columns["old_weight"] = np.ma.masked_array(old, kind == SHOWN.index("inserted"))
    table = getattr(delta, "_table", None)
    if table is not None:
        for name in table.columns:
            if name != WEIGHT and name in columns:
                raise RequirementError(f"a frame of a delta has a column {name!r} of its own: rename that of the edges")
            if name != WEIGHT:
                columns[name] = np.concatenate([on_host(table.values(name, part.row)) for part in parts])
    return Frame(columns)


def last_names(names: Names, vertices: np.ndarray) -> np.ndarray:
    """Return the names of ``vertices``, of those that have left the last ones; None for those without."""
    column, left = names_of(names, vertices), np.flatnonzero(~names.has(vertices))
    if len(left):
        known = dict(zip(*(part.tolist() for part in names.forgotten()), strict=True))
        column[left] = [known.get(vertex) for vertex in vertices[left].tolist()]
    return column


def _joined(parts: Any, field: str) -> np.ndarray:
    """Return the arrays ``field`` of lists of edges as one, on the host."""
    return np.concatenate([on_host(getattr(part, field)) for part in parts])
