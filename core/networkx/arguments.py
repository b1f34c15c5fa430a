"""Which values of parameters are served: limits that functions declare, and what goes without saying."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

Limit = Callable[[Any], str | None]  # a value of a parameter -> why it is not served, None if it is


def named(weight: Any) -> str | None:
    """Return None, or if ``weight`` is a function the reason why weights that a function returns are not served."""
    return "weights that a function returns are not served" if callable(weight) else key(weight)


def absent(value: Any) -> str | None:
    """Return None if ``value`` is None, else the reason why the call is left to NetworkX."""
    return None if value is None else "only None is served"


def key(value: Any) -> str | None:
    """Return None if ``value`` may be a node or the name of an attribute, else the reason why it may not."""
    try:
        hash(value)
    except TypeError as error:
        return str(error)
    return None


def number(value: Any) -> str | None:
    """Return None if ``value`` is None or a number, else the reason why the call is left to NetworkX."""
    is_one = isinstance(value, (int, float, np.integer, np.floating)) and value == value
    return None if value is None or is_one else "it is no number"


def whole(value: Any) -> str | None:
    """Return None if ``value`` is an integer of 64 bits, else the reason why the call is left to NetworkX."""
    return None if isinstance(value, (int, np.integer)) and abs(int(value)) < 2**63 else "it is no integer of 64 bits"


def by_node(value: Any) -> str | None:
    """Return None if ``value`` is None or has a finite number for each of its nodes, else the reason to refuse it."""
    if value is None:
        return None
    if not isinstance(value, dict):
        return "it is no dict"
    strange = [each for each in value.values() if each is None or number(each) or not np.isfinite(each)]
    return f"it has the value {strange[0]!r}" if strange else None


def held(value: Any) -> str | None:
    """Return None, or if ``value`` can be read only once the reason why it is left to NetworkX."""
    return "an iterator cannot be read again, if the call is refused later" if isinstance(value, Iterator) else None


#: checks that need no mention in the documentation, by parameter: before a conversion, and when the function is called
AT_ONCE: Mapping[str, Limit] = {
    **dict.fromkeys(("weight", "distance"), key), **dict.fromkeys(("sources", "nbunch", "v"), held),
}  # fmt: skip
USUAL: Mapping[str, Limit] = {
    **dict.fromkeys(("source", "target", "n", "u", "distance"), key), "max_iter": whole,
    **dict.fromkeys(("cutoff", "depth_limit", "k", "tol", "alpha"), number),
    **dict.fromkeys(("nstart", "personalization", "dangling", "core_number"), by_node),
}  # fmt: skip
