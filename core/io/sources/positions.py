"""Positions of sources as JSON, for checkpoints; a source can continue at a position that it returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.base.parameters import shown


def as_json(position: Any) -> Any:
    """Return a position as a value of JSON that :func:`from_json` reads.

    Raises:
        ParameterError: it contains objects that have no form in JSON.
    """
    if isinstance(position, np.number | np.bool_ | np.str_):
        position = position.item()
    if isinstance(position, dict):
        return {"dict": [[as_json(name), as_json(value)] for name, value in position.items()]}
    if isinstance(position, tuple | list):
        return {"tuple" if isinstance(position, tuple) else "list": [*map(as_json, position)]}
    if position is None or isinstance(position, bool | int | float | str):
        return position
    parts = "numbers, texts, None, and tuples, lists and dicts of them"
    raise ParameterError(f"checkpoint: a position of a source must consist of {parts}, got {shown(position)}")


def from_json(saved: Any) -> Any:
    """Return the position that :func:`as_json` converted to ``saved``."""
    if not isinstance(saved, dict):
        return saved
    ((kind, parts),) = saved.items()
    found = [from_json(part) if kind != "dict" else tuple(map(from_json, part)) for part in parts]
    return found if kind == "list" else dict(found) if kind == "dict" else tuple(found)
