"""Effects: what functions of ``edge_map`` and ``intersect`` may do to arrays and sets instead of returning a value.

>>> import suricate as su
>>> def count(u, v, w, in_degree):
...     su.atomic.add(in_degree, v, 1)

These names may only be used in such functions, which are translated; in plain Python a call of them raises. A function
has one kind of effect on an array, and does not read that array, so that the order of effects does not matter: integer
results are always the same, sums of floats differ in rounding.
"""

from __future__ import annotations

from typing import Any, NoReturn

from suricate.base.errors import EdgeFunctionError


def _refuse(name: str) -> NoReturn:
    raise EdgeFunctionError(f"{name} can only be called in a function given to edge_map or intersect")


class Atomic:
    """Atomic changes of one array element each, while calls for other edges may change the same element.

    The array has 32 or 64 bits per element; ``or_`` takes integers and bools. ``value`` is converted to the dtype of
    the array and wraps to its width; a float is refused for an array of integers.
    """

    @staticmethod
    def add(array: Any, index: Any, value: Any) -> None:
        """Atomically do ``array[index] += value``."""
        _refuse("su.atomic.add")

    @staticmethod
    def min(array: Any, index: Any, value: Any) -> None:
        """Atomically set ``array[index] = value`` if ``value`` is smaller; a NaN never is."""
        _refuse("su.atomic.min")

    @staticmethod
    def max(array: Any, index: Any, value: Any) -> None:
        """Atomically set ``array[index] = value`` if ``value`` is larger; a NaN never is."""
        _refuse("su.atomic.max")

    @staticmethod
    def or_(array: Any, index: Any, value: Any) -> None:
        """Atomically do ``array[index] |= value``."""
        _refuse("su.atomic.or_")


atomic = Atomic()


def unite(sets: Any, u: Any, v: Any) -> None:
    """Unite the sets that contain ``u`` and ``v`` in ``sets``, a :class:`suricate.UnionFind` among the arguments."""
    _refuse("su.unite")


#: function -> how the translation calls it
ATOMICS = {Atomic.add: "sum", Atomic.min: "min", Atomic.max: "max", Atomic.or_: "or"}


def is_effect(function: Any) -> bool:
    """Return whether ``function`` is ``su.unite`` or one of the methods of ``su.atomic``."""
    return function is unite or (type(function).__hash__ is not None and function in ATOMICS)
