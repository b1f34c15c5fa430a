"""What lists of Python hold that NumPy would convert in silence: mixed bools, masked entries, large integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.errors import DTypeError


def are_large(values: Any) -> bool:
    """Return whether ``values`` is a list of integers that ``uint64`` holds, and ``int64`` does not."""
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, (int, np.integer)) for value in values):
        return False
    return bool(values) and min(values) >= 0 and 1 << 63 <= max(values) < 1 << 64


def refuse_mixtures(values: list[Any] | tuple[Any, ...], argument: str) -> None:
    """Raise ``DTypeError`` if a nested list ``values`` mixes bools with other values or has masked arrays in it."""
    kinds = set(map(type, values))
    if len(kinds) > 1 and (bool in kinds or np.bool_ in kinds):
        raise DTypeError(f"{argument} mixes bools with other values: pass numbers only")
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
        raise DTypeError(f"{argument} has masked entries: leave them out, or set them")
    for part in values if list in kinds or tuple in kinds else ():
        if isinstance(part, (list, tuple)):
            refuse_mixtures(part, argument)
