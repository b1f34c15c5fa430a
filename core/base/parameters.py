"""Checks of single parameters: each returns the value as a plain Python object, or raises ``ParameterError``.

``label`` is how the error names the parameter, for instance ``"walk: damping"``.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError, UnknownNameError

LONGEST = 60  #: characters of a value that a message shows


def shown(value: Any) -> str:
    """Return ``repr(value)`` for a message, on one line, shortened; works for huge integers and failing classes."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        kind = type(value).__name__
        return "a number of thousands of digits" if isinstance(value, int) else f"an object of type {kind}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def is_number(value: Any, kind: type = numbers.Real) -> bool:
    """Return whether ``value`` is a number of a ``kind``: neither a bool nor a ``timedelta64``, which NumPy counts."""
    return isinstance(value, kind) and not isinstance(value, (bool, np.bool_, np.timedelta64))


def integer(label: str, value: Any, *, low: int | None = None, high: int | None = None) -> int:
    """Return ``value`` as an int if it is an integer (no bool, no float) from ``low`` to ``high`` (None: no limit)."""
    try:
        number = None if isinstance(value, (bool, np.bool_, np.timedelta64)) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise ParameterError(f"{label} must be an integer, got {shown(value)}")
    if low is not None and number < low:
        raise ParameterError(f"{label} must be at least {low}, got {shown(value)}")
    if high is not None and number > high:
        raise ParameterError(f"{label} must be at most {high}, got {shown(value)}")
    return number


def real(
    label: str,
    value: Any,
    *,
    low: float,
    high: float = math.inf,
    include_low: bool = True,
    include_high: bool = False,
) -> float:
    """Return ``value`` as a float if it is a finite number (no bool) between ``low`` and ``high``, else raise."""
    if not is_number(value):
        raise ParameterError(f"{label} must be a number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    is_inside = low <= number <= high and (include_low or number > low) and (include_high or number < high)
    if not is_inside or math.isinf(number):
        opening, closing = "[" if include_low else "(", "]" if include_high else ")"
        raise ParameterError(f"{label} must be in {opening}{low:g}, {high:g}{closing}, got {shown(value)}")
    return number


def flag(label: str, value: Any) -> bool:
    """Return ``value`` as a bool; raises ``ParameterError``, which names ``label``, if it is anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{label} must be True or False, got {shown(value)}")
    return bool(value)


def one_of(label: str, value: Any, choices: Sequence[str]) -> str:
    """Return ``value`` if it is a text among ``choices``; ``label`` names it in the message."""
    if not isinstance(value, str) or value not in choices:
        raise UnknownNameError(f"{label}={shown(value)} is unknown: use one of {', '.join(map(repr, choices))}")
    return value


def choice(label: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return ``value`` if it is one of ``choices``: numbers, texts or None; a bool is not accepted as a number."""
    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) not in set(map(type, choices)) or plain not in choices:
        *others, last = map(repr, choices)
        raise ParameterError(f"{label} must be {', '.join(others)} or {last}, got {shown(value)}")
    return plain


def named_dtype(value: Any) -> np.dtype | None:
    """Return ``np.dtype(value)``; None if ``value`` is None or names no dtype."""
    try:
        return None if value is None else np.dtype(value)
    except Exception:  # NumPy parses text, and warns of old names
        return None


def dtype(label: str, value: Any, allowed: Sequence[str]) -> np.dtype:
    """Return the dtype that ``value`` names, one of ``allowed``."""
    found = named_dtype(value)
    if found is None or found.name not in allowed:
        raise ParameterError(f"{label} must be {' or '.join(allowed)}, got {shown(value)}")
    return found
