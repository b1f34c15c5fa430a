"""``graph.columns``: attributes of vertices by name."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.errors import ParameterError, UnknownNameError, VertexRangeError
from suricate.base.parameters import shown
from suricate.base.protocols import GraphLike
from suricate.state.column import TEXT, Column, as_values, dtype_of, fitted
from suricate.state.edge_table import dtype_named


class Columns(MutableMapping[str, Any]):
    """The columns of a graph's vertices by name: numbers and bools on its device, texts (``str``) in host memory.

    Columns grow with the graph. A vertex that is new, deleted, recycled or revived has the value ``missing``. ``find``
    is ``suricate.graph.naming.vertices_of``, which finds the ids of vertices given by id or name.
    """

    def __init__(self, graph: GraphLike, find: Callable[[Any, Any, str], np.ndarray]) -> None:
        self._graph, self._find = graph, find  # the latter: ``naming.vertices_of``

    def add(self, name: str, values: Any = None, *, dtype: Any = None, missing: Any = None) -> None:
        """Add a column, or replace one.

        Args:
            name: its name.
            values: one per vertex, or one for all; None: all are missing. Values of deleted vertices are ignored.
            dtype: a dtype of NumPy, or ``str``; by default the dtype of the values.
            missing: the value of vertices without one; None: NaN, 0, False or ``""``.

        Raises:
            ParameterError: the name is not a text, or there are neither values nor a dtype.
            DTypeError: values are neither numbers nor bools nor texts, or the dtype cannot hold one.
            ShapeError: another number of values.
            CapacityError: there is not enough memory.
        """
        graph = self._graph
        if not isinstance(name, str) or not name:
            raise ParameterError(f"the name of a column is a text, got {shown(name)}")
        if values is None and dtype is None:
            raise ParameterError(f"column {name!r}: give values, or a dtype")
        if graph.edge_table is not None and name in graph.edge_table.columns:
            raise ParameterError(f"the edges have a column {name!r}: choose another name")
        with graph.exclusive():
            with graph.alike():
                given = None if values is None else as_values(values, name, graph.num_vertices)
                if given is not None and not given.size and missing is not None and not hasattr(values, "dtype"):
                    dtype = dtype_of(np.asarray(missing)) if dtype is None else dtype  # of values that have none
                kind = dtype_of(given) if dtype is None else dtype_named(dtype)
                graph._updater.live.admit(graph.num_vertices * kind.itemsize)
                column = Column(graph.device, graph.num_vertices, kind, missing)
                if given is not None:
                    column.fill(fitted(given, kind, name))
                    column.reset(graph.deleted_vertices)
            _demand_same(graph, name=name, values=given, dtype=str(kind), missing=column.missing)
            graph._columns[name] = column

    def put(self, name: str, vertices: Any, values: Any) -> None:
        """Set the values of ``vertices`` (ids or names) in a column to ``values``, one each or one for all.

        Raises:
            UnknownNameError: there is no such column, or no vertex of a name.
            VertexRangeError: an id is invalid, or the vertex is deleted.
            DTypeError, ShapeError: the column cannot hold the values, or their number differs from that of the
                vertices.
        """
        with self._graph.exclusive():
            with self._graph.alike():
                column = column_of(self._graph, name)
                ids = self._find(self._graph, vertices, "vertices")
                deleted = np.isin(ids, self._graph.deleted_vertices)
                if deleted.any():
                    at = int(deleted.argmax())
                    raise VertexRangeError(f"vertices[{at}]={ids[at]} is a deleted vertex")
                given = fitted(as_values(values, name, len(ids)), column.dtype, name)
            _demand_same(self._graph, name=name, vertices=ids, values=given)
            column.put(ids, given)

    def __getitem__(self, name: str) -> Array:
        """Return the values of a column, one per vertex; deleted vertices have the value ``missing``.

        NumPy arrays are read-only views, whose contents change with the graph; CuPy arrays are copies.

        Raises:
            UnknownNameError: there is no column of this name.
        """
        with self._graph.exclusive():
            array = column_of(self._graph, name).array
            if not isinstance(array, np.ndarray):
                return array.copy()
            view = array.view()
            view.flags.writeable = False
            return view

    def __setitem__(self, name: str, values: Any) -> None:
        """Set all values of a column as :meth:`add` does; an existing column keeps its dtype and its missing value."""
        if values is None:
            raise ParameterError(f"column {shown(name)} cannot be None: give values, or delete it")
        known = self._graph._columns.get(name) if isinstance(name, str) else None
        if known is None:
            self.add(name, values)
        else:
            self.add(name, values, dtype=known.dtype, missing=known.missing)

    def __delitem__(self, name: str) -> None:
        with self._graph.exclusive():
            column_of(self._graph, name)
            del self._graph._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._graph._columns))

    def __len__(self) -> int:
        return len(self._graph._columns)

    def __repr__(self) -> str:
        kinds = {name: "str" if part.dtype == TEXT else str(part.dtype) for name, part in self._graph._columns.items()}
        return f"<Columns: {', '.join(f'{name}: {kind}' for name, kind in kinds.items()) or 'none'}>"

    def missing(self, name: str) -> Any:
        """Return the value that a column has for vertices to which none was given.

        Raises:
            UnknownNameError: there is no column of this name.
        """
        return column_of(self._graph, name).missing


def _demand_same(graph: GraphLike, **values: Any) -> None:
    """Raise ``ParameterError`` unless all processes of a graph pass the same ``values``."""
    if graph.partition is not None:
        graph.partition.comm.same(values)


def column_of(graph: GraphLike, name: str) -> Column:
    """Return the column ``name`` of a graph's vertices; raises ``UnknownNameError`` if there is none of this name."""
    if not isinstance(name, str) or name not in graph._columns:
        known = ", ".join(graph._columns) or "none"
        raise UnknownNameError(f"the graph has no column {shown(name)}; it has: {known}")
    return graph._columns[name]


def array_of(graph: GraphLike, name: str) -> Array:
    """Return the array, not a copy, of a column of vertices (by vertex) or of edges (by row), for operators."""
    rows = graph.edge_table
    if rows is not None and name in rows.columns:
        return rows.array(name)
    return column_of(graph, name).demanded(name, graph.num_vertices)


# -- snapshots ---------------------------------------------------------------------------------------------------------


def state_of(columns: Mapping[str, Column]) -> dict[str, np.ndarray]:
    """Return the columns in the form in which snapshots store them: a dict of arrays without objects, empty if none.

    ``names`` has the names of the columns as JSON; ``<i>.values`` and ``<i>.missing`` belong to the i-th column. Texts
    are UTF-8 bytes one behind the other, the text for ``missing`` last; ``<i>.ends`` has the end of each.
    """
    state = {"names": np.frombuffer(json.dumps(list(columns)).encode(), np.uint8)} if columns else {}
    for index, column in enumerate(columns.values()):
        values = column.to_numpy()
        if column.dtype == TEXT:
            parts = [text.encode("utf-8", "surrogatepass") for text in (*values.tolist(), column.missing)]
            state[f"{index}.ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)
            values = np.frombuffer(b"".join(parts), np.uint8)
        else:
            state[f"{index}.missing"] = np.array(column.missing, column.dtype)
        state[f"{index}.values"] = values
    return state


def columns_of_state(state: dict[str, np.ndarray], size: int) -> dict[str, tuple[np.ndarray, Any]]:
    """Return {name: (values, missing)} of the columns in a result of :func:`state_of`; ``size``: number of vertices.

    Raises:
        ValueError, LookupError, TypeError: the data is damaged.
    """
    if not state:
        return {}
    names, found = json.loads(bytes(state["names"])), {}
    for index, name in enumerate(names):
        values = state[f"{index}.values"]
        if f"{index}.ends" in state:
            data, ends = values.tobytes(), [0, *state[f"{index}.ends"].tolist()]
            texts = np.empty(len(ends) - 1, object)
            texts[:] = [data[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(ends)]
            values, missing = texts[:-1], texts[-1]
        else:
            missing = state[f"{index}.missing"][()]
        if not isinstance(name, str) or values.shape != (size,) or values.dtype.kind not in "biufO":
            raise ValueError(f"column {index} does not fit the graph")
        found[name] = values, missing
    return found
