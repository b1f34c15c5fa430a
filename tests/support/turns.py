"""Parameters of which the quick tier runs a part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

PARAM = type(pytest.param())


def few(values: Iterable[Any], key: Callable[..., object] = lambda *_: None) -> list[Any]:
    """Return the values for ``parametrize``; only the first with each ``key`` is not ``slow``.

    For tests that compile something for each value. A tuple is the values of several parameters; ``key`` gets them.
    """
    seen: set[object] = set()
    found = []
    for value in values:
        each = value if isinstance(value, PARAM) else pytest.param(*(value if isinstance(value, tuple) else (value,)))
        marks = [*each.marks, *([pytest.mark.slow] if key(*each.values) in seen else [])]
        found.append(pytest.param(*each.values, marks=marks, id=each.id))
        seen.add(key(*each.values))
    return found
