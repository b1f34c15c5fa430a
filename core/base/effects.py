"""Effects: how functions of operators change arrays, words and sets at any index, while other calls do the same.

>>> import suricate as su
>>> def count(u, v, w, in_degree):
...     su.atomic.add(in_degree, v, 1)

Functions of ``edge_map``, ``intersect`` and ``vertex_map``, ``then`` and ``commit`` have effects. They are translated;
in plain Python a call of these names raises. A function has one kind of effect on an array, and neither reads nor
writes that array otherwise, so that the order of effects does not matter: sums of integers, minima and maxima are
always the same, bit for bit. Sums of floats are taken in the order in which threads come, and differ in rounding from
run to run; with numbers of fixed point (integers) they do not.
"""

from __future__ import annotations

from typing import Any, NoReturn

from suricate.base.errors import EdgeFunctionError


def _refuse(name: str) -> NoReturn:
    raise EdgeFunctionError(
        f"{name} can only be called in functions of operators: of edge_map, intersect and vertex_map, then and commit"
    )


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
        """Atomically set ``array[index] = value`` if ``value`` is smaller; a NaN never is.

        ``array`` may also be the words of ``graph.words(keys, payload)``, and ``value`` a tuple with one number per
        field: the smaller tuple (keys, payload) stays, whole.
        """
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
    """Unite the sets that contain ``u`` and ``v`` in ``sets``, a :class:`suricate.UnionFind` among the arguments.

    Example:
        >>> g = su.Graph.from_coo([0, 2], [1, 3], device="cpu")
        >>> sets = g.union_find()
        >>> def join(u, v, w, sets):
        ...     su.unite(sets, u, v)
        >>> su.edge_map(g, None, join, args=(sets,))
        >>> sets.labels().tolist()
        [0, 0, 2, 2]
    """
    _refuse("su.unite")


#: function -> how the translation calls it
ATOMICS = {Atomic.add: "sum", Atomic.min: "min", Atomic.max: "max", Atomic.or_: "or"}


def is_effect(function: Any) -> bool:
    """Return whether ``function`` is ``su.unite`` or one of the methods of ``su.atomic``."""
    return function is unite or (type(function).__hash__ is not None and function in ATOMICS)
