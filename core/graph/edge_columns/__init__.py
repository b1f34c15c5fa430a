"""``graph.edge_columns``: attributes of edges by name, and batches that bring them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import CPU, Array
from suricate.base.errors import ParameterError, RequirementError
from suricate.base.types import EdgeList, edge_keys
from suricate.graph.naming import are_texts, known_edges
from suricate.graph.rollback import in_parts, insert_into
from suricate.intake.arrays import as_ids, on_host, picked, same_length, sorted_distinct
from suricate.state.column import TEXT, Column
from suricate.state.edge_table import WEIGHT, EdgeTable
from suricate.state.locks import on_device_of

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.delta import Delta
    from suricate.graph.update import Given
    from suricate.store import Store


SORTED = 1 << 14  #: edges of a batch from which on their rows are in the order of sources, as they will be read


class EdgeColumns(Mapping[str, Array]):
    """The columns of a graph's edges by name: numbers and bools on its device, texts (``str``) in host memory.

    An edge has a row in the columns, which lists of edges have as ``row``, and functions of operators that take a
    ``row``. The column ``weight`` has the weights.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @on_device_of("_graph")
    def __getitem__(self, name: str) -> Array:
        """Return a column, one value per edge, ordered by source and then by destination. Waits for the device.

        Raises:
            UnknownNameError: there is none of this name.
        """
        graph, table = self._graph, table_of(self._graph)
        table.column(name)
        edges = graph.edges()
        order = graph.device.xp.argsort(edge_keys(edges.src, edges.dst))
        return table.values(name, edges.row[order])  # type: ignore[index]

    @on_device_of("_graph")
    def at(self, name: str, src: Any, dst: Any) -> Array:
        """Return the values of ``n`` edges, given as ids or names; edges that are not stored have the missing value.

        Raises:
            UnknownNameError: there is no such column.
            VertexRangeError, DTypeError, ShapeError: the ids are invalid.
        """
        graph, table = self._graph, table_of(self._graph)
        column = table.column(name)
        src, dst, known = known_edges(graph, src, dst)
        found, rows = graph._updater.find(src, dst)
        assert rows is not None
        stored = on_host(found) if column.device.is_cuda != graph.device.is_cuda else found
        rows = on_host(rows) if column.device.is_cuda != graph.device.is_cuda else rows
        xp = column.device.xp
        values = xp.full(len(rows) if known is None else len(known), column.missing, column.dtype)
        places = xp.flatnonzero(stored)
        places = places if known is None else xp.asarray(np.flatnonzero(known))[places]
        values[places] = table.values(name, rows[stored])
        return values

    @on_device_of("_graph")
    def at_rows(self, name: str, rows: Any) -> Array:
        """Return the values at rows, which ``edges()`` and the lists of deltas have as ``row``.

        Rows are valid until ``compact``; those of deleted edges and ``replaced_old_row`` until the next change.

        Raises:
            UnknownNameError: there is no such column.
        """
        return table_of(self._graph).values(name, as_ids(rows, "rows"))

    @on_device_of("_graph")
    def put(self, name: str, src: Any, dst: Any, values: Any) -> None:
        """Set the values of ``n`` edges, given as ids or names, to one value each or one for all.

        Other columns are unchanged. Trackers see a change of weights.

        Raises:
            ParameterError: an edge is not stored.
            UnknownNameError: there is no such column.
            VertexRangeError, DTypeError, ShapeError: the ids or values are invalid.
            RequirementError: a window changes the graph.
        """
        graph, table = self._graph, table_of(self._graph)
        table.column(name)
        graph.demand_owner()
        with graph.alike():
            src, dst, known = known_edges(graph, src, dst)
            count = len(src) if known is None else len(known)
            given = table.checked({name: values}, count)
            _require_stored(True if known is None else known)
            src, dst = (graph.device.xp.asarray(as_ids(ids, label)) for ids, label in ((src, "src"), (dst, "dst")))
            same_length(src, dst)
        asked, own = ((src, dst), slice(None)) if graph.partition is None else graph.partition.parts_of(src, dst)
        found, rows = graph._updater.find(*asked)
        _require_stored(on_host(found))
        assert rows is not None
        kept = {other: table.values(other, rows[own]) for other in table.columns if other != name}
        graph._update(None, (src, dst, {**kept, **given}))

    def missing(self, name: str) -> Any:
        """Return the value of a column at edges that were given none; raises as ``edge_columns[name]`` does."""
        return table_of(self._graph).column(name).missing

    @property
    def capacity(self) -> int:
        """How many entries an array by row needs: all rows are below. Batches raise it, and ``compact`` may lower it.

        Raises:
            RequirementError: the edges have no columns.
        """
        return table_of(self._graph).capacity

    def __iter__(self) -> Iterator[str]:
        return iter(() if self._graph.edge_table is None else list(self._graph.edge_table.columns))

    def __contains__(self, name: object) -> bool:
        return self._graph.edge_table is not None and name in self._graph.edge_table.columns

    def __len__(self) -> int:
        return 0 if self._graph.edge_table is None else len(self._graph.edge_table.columns)

    def __repr__(self) -> str:
        kinds = {} if self._graph.edge_table is None else self._graph.edge_table.kinds
        parts = (f"{name}: {'str' if kind.dtype == TEXT else kind.dtype}" for name, kind in kinds.items())
        return f"<EdgeColumns: {', '.join(parts) or 'none'}>"


def edge_columns(graph: Graph) -> EdgeColumns:
    """Attributes of the edges by name, a mapping; see :class:`EdgeColumns`. ``Graph(edge_columns=...)`` makes them."""
    return EdgeColumns(graph)


def table_of(graph: Graph) -> EdgeTable:
    """Return the table with the columns of a graph's edges; raises ``RequirementError`` if there are no columns."""
    if graph.edge_table is None:
        raise RequirementError("the edges have no columns: Graph(..., edge_columns={'amount': 'float64'}) makes some")
    table = graph.edge_table
    if table.is_lost:
        table.recover(on_host(graph._stores[0].edges().weight))
    return table


def _require_stored(stored: Any) -> None:
    """Raise ``ParameterError`` unless ``stored``, a mask of edges on the host or one bool, is True everywhere."""
    if not np.all(stored):
        raise ParameterError(
            f"edge {int(np.argmin(stored))} is not stored: insert_edges() takes the columns of new edges"
        )


# -- batches -----------------------------------------------------------------------------------------------------------


@contextmanager
def rows_changing(graph: Graph) -> Iterator[Callable[[Delta], None]]:
    """A context for a change that brings no columns of edges; it gives a function to call with the delta."""
    if graph.edge_table is None:
        yield lambda delta: None
        return
    table = table_of(graph)
    table.start()
    try:
        yield table.follow
    except BaseException as error:
        table.undo(error)
        raise


def with_rows(graph: Graph, insert: Given) -> Given:
    """Write the columns of ``insert`` to new rows; return it with row numbers in their place, or raise, unchanged."""
    table, (src, dst, given) = graph.edge_table, insert
    assert table is not None
    with graph.alike():
        count = len(src) if are_texts(src) else len(as_ids(src, "src"))
        values = table.checked(given, count)
        rows = table.take(count)
        if count >= SORTED and isinstance(src, np.ndarray):
            rows = by_source(src, rows)
        table.write(rows, values)
    return src, dst, rows


def compact(graph: Graph) -> None:
    """Move all edges to the first rows of their columns, and free the others, as far as memory allows."""
    table, xp = table_of(graph), graph.device.xp
    stores = [getattr(store, "local", store) for store in graph._stores]  # the latter of this rank
    with suppress(MemoryError):
        table.read_deltas()
        held = [store.edges() for store in stores]
        rows = sorted_distinct(np.concatenate([on_host(edges.weight) for edges in held]))
        old, new = table.move(rows)
        moving = [picked(edges, xp.flatnonzero(xp.asarray(edges.weight) >= len(rows))) for edges in held]
        places = [xp.asarray(new)[xp.searchsorted(xp.asarray(old), edges.weight)] for edges in moving]
        done: list[tuple[Store, EdgeList]] = []
        try:
            for store, edges, weight in zip(stores, moving, places, strict=True):
                store.insert(edges.src, edges.dst, weight)
                done.append((store, edges))
        except BaseException:
            for store, edges in done:
                in_parts(store, insert_into, edges, None, 0)
            raise
        table.cut(len(rows))


def by_source(src: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return ``rows`` in another order, by which edges with close sources have close rows."""
    if src.dtype.kind not in "iu":
        return rows
    most = max(int(src.max()), 1)
    order = np.argsort((src >> max(most.bit_length() - 16, 0)).astype(np.uint16), kind="stable")  # by radix
    spread = np.empty_like(rows)
    spread[order] = np.sort(rows)
    return spread


def attributes_of(graph: Graph, edges: EdgeList, label: str = WEIGHT) -> dict[str, np.ndarray]:
    """Return the attributes of ``edges`` of ``graph`` by name, as NumPy arrays with one value per edge."""
    if edges.row is not None:
        columns = columns_by_edge(graph, edges.row)
        return {label if name == WEIGHT else name: column.array for name, column in columns.items()}
    return {} if edges.weight is None else {label: graph.device.to_numpy(edges.weight)}


def columns_by_edge(graph: Graph, rows: Array) -> dict[str, Column]:
    """Return copies of all columns on the host, by name, with one value for each of ``rows``, row numbers of edges."""
    found: dict[str, Column] = {}
    for name, column in {} if graph.edge_table is None else table_of(graph).columns.items():
        found[name] = Column(CPU, len(rows), column.dtype, column.missing)
        found[name].fill(column.device.to_numpy(table_of(graph).values(name, rows)))
    return found
