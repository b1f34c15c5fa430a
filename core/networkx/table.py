"""Dictionaries that decode an array when they are read as a whole; looking up one node decodes its value only."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np


class Column(Protocol):
    """Protocol of the objects from which a table gets its values, by vertex."""

    def at(self, vertex: int) -> Any:
        """Return the value of one vertex."""

    def of(self, vertices: np.ndarray) -> Iterable[Any]:
        """Return the values of the vertex ids ``vertices``, ``int64[k]``."""


class Values(NamedTuple):
    """A column of numbers: ``array[num_vertices]`` on the host, whose elements are read as numbers of Python."""

    array: np.ndarray

    def at(self, vertex: int) -> Any:
        """Return the value of one vertex as a number of Python."""
        return self.array[vertex].item()

    def of(self, vertices: np.ndarray) -> Iterable[Any]:
        """Return the values of the vertex ids ``vertices`` as numbers of Python."""
        return self.array[vertices].tolist()


class Shares(NamedTuple):
    """A column of numbers, of which NetworkX gives those that are zero as integers."""

    array: np.ndarray

    def at(self, vertex: int) -> Any:
        """Return the value of one vertex."""
        return self.array[vertex].item() or 0

    def of(self, vertices: np.ndarray) -> list[Any]:
        """Return the values of the vertex ids ``vertices``."""
        return [value or 0 for value in self.array[vertices].tolist()]


class Rows(NamedTuple):
    """The data from which a table by node is decoded: nodes, their vertices, and a column of values."""

    nodes: Sequence[Hashable]  #: by vertex; more may be appended later
    numbers: Mapping[Hashable, int]  #: the vertex of each node
    column: Column
    vertices: np.ndarray  #: ``int64[k]``, those in the table, in its order
    held: np.ndarray | None  #: ``bool[num_vertices]``, which are in it; None: all

    def value(self, node: Hashable) -> Any:
        """Return the value of ``node``; raises ``KeyError`` if it is not in the table."""
        if not self.holds(node):
            raise KeyError(node)
        return self.column.at(self.numbers[node])

    def holds(self, node: Any) -> bool:
        """Return whether a node is in the table."""
        vertex = self.numbers.get(node, -1)
        if self.held is None:
            return 0 <= vertex < len(self.vertices)
        return 0 <= vertex < len(self.held) and bool(self.held[vertex])

    def decoded(self) -> dict[Any, Any]:
        """Return the whole table as a plain dictionary."""
        names = [self.nodes[vertex] for vertex in self.vertices.tolist()]
        return dict(zip(names, self.column.of(self.vertices), strict=True))


class Decoded(dict):
    """A dictionary that was a :class:`Table`; copies and pickles are plain dictionaries."""

    __slots__ = ("__weakref__", "_rows")
    _rows: Any

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (dict(self),)


class Table(Decoded):
    """A dictionary by node that is decoded from an array when it is read as a whole; then it is a :class:`Decoded`.

    ``table[node]``, ``get``, ``in`` and ``len`` decode nothing. The first entry is always there, so that C code that
    checks whether a dictionary is empty works.
    """

    __slots__ = ()

    # A method may be bound before the table is decoded, and called afterwards: ``max(table, key=table.get)``.

    def __getitem__(self, node: Any) -> Any:  # no __missing__: with one, pandas takes it for a dict with defaults
        rows = self._rows
        return dict.__getitem__(self, node) if rows is None else rows.value(node)

    def __contains__(self, node: object) -> bool:
        rows = self._rows
        return dict.__contains__(self, node) if rows is None else rows.holds(node)

    def get(self, node: Any, default: Any = None) -> Any:
        """Return the value of ``node``, else ``default``."""
        rows = self._rows
        if rows is None:
            return dict.get(self, node, default)
        return rows.value(node) if rows.holds(node) else default

    def __len__(self) -> int:
        rows = self._rows
        return dict.__len__(self) if rows is None else len(rows.vertices)


def table(rows: Rows) -> dict[Any, Any]:
    """Return a dictionary by node of ``rows``, which is decoded when it is read."""
    if not len(rows.vertices):
        return {}
    made = Table()
    first = int(rows.vertices[0])
    dict.__setitem__(made, rows.nodes[first], rows.column.at(first))
    made._rows = rows
    return made


def decode(found: Any) -> None:
    """Decode ``found`` if it is a :class:`Table`: afterwards it is a :class:`Decoded`."""
    if type(found) is not Table:
        return
    rows = found._rows
    if rows is not None:
        dict.update(found, rows.decoded())
    found.__class__ = Decoded  # type: ignore[assignment]
    found._rows = None


def _whole(name: str) -> Callable[..., Any]:
    """Return a method that decodes a table, and tables among its arguments, then calls the method ``name`` of dict."""
    plain = getattr(dict, name)

    def method(self: Table, *args: Any, **kwargs: Any) -> Any:
        for each in (self, *args):
            decode(each)
        return plain(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, plain.__doc__
    return method


for _name in (
    "__delitem__", "__eq__", "__ior__", "__iter__", "__ne__", "__or__", "__repr__", "__reversed__", "__ror__",
    "__setitem__", "__sizeof__", "clear", "copy", "items", "keys", "pop", "popitem", "setdefault", "update", "values",
):  # fmt: skip
    setattr(Table, _name, _whole(_name))
