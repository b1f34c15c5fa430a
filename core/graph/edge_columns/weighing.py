"""Weights of graphs whose edges have columns: a column, read through the row that the stores have as weight.

The view of a store gets another cursor, whose ``weight`` reads the column at that row. So a batch costs no more, and
each read of a weight one more access of memory. Algorithms that name a column by their parameter ``weight``, and edge
functions that take a row, get another graph over the same stores.
"""

from __future__ import annotations

import importlib
import inspect
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from suricate import plugins
from suricate.base.devices import Array
from suricate.base.errors import ParameterError, RequirementError
from suricate.base.types import (
    REPLACED,
    UNCHANGED,
    Adjacency,
    Change,
    EdgeList,
    Outcome,
    StoreView,
)
from suricate.cursors import ALWAYS, OPTIONAL, OWNER, UPDATED
from suricate.graph.delta import Changes, DeletedEdges, Delta
from suricate.graph.tracker import Tracker, advance_all, make_tracker
from suricate.intake.arrays import bits
from suricate.plugins.algorithm import Algorithm
from suricate.state.edge_table import ROW, WEIGHT, EdgeTable, read_as, weighed, weights_at

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.store import Store

ROWS = ""  #: in place of the name of a column: weights are rows
_CURSOR = """from collections import namedtuple
import numpy as np
from suricate.cpu.jit import inner
from {cursor} import {names}
from {cursor} import weight as row_of

Data = namedtuple("Data", {fields}, module=__name__)

@inner
def weight(g, i):
    return {convert}(g.by_row[row_of(g, i)])
"""


def weighing(graph: Graph, algorithm: Any, params: dict[str, Any]) -> tuple[Graph, dict[str, Any]]:
    """Return the graph weighted by the column that the parameter ``weight`` names, and the other parameters.

    Raises:
        RequirementError: the edges have no columns.
        RequirementError: weights are scaled, and the algorithm is not ``scale_free``.
        UnknownNameError, DTypeError, ParameterError: there is no such column, or its dtype cannot be that of weights;
            or the algorithm uses no weights.
    """
    if graph.edge_table is None and "weight" not in params and graph.weight_scale is None:
        return graph, params
    is_class = isinstance(algorithm, type) and issubclass(algorithm, Algorithm)
    kind: type[Algorithm] = algorithm if is_class else plugins.algorithm(algorithm)
    if graph.weight_scale is not None:
        kind.demand_scale_free(params)
    if "weight" in inspect.signature(kind).parameters:
        name: Any = None
    else:
        params = dict(params)
        name = params.pop("weight", None)
    uses_weights = kind.uses_weights or bool(params.get("weighted"))
    if name is not None and not uses_weights:
        may = "weighted" in inspect.signature(kind).parameters
        reason = "uses weights with weighted=True only: pass that, too, or" if may else "uses no weights:"
        raise ParameterError(f"{kind.name} {reason} leave weight={name!r} out")
    if graph.edge_table is None:
        if name is not None:
            raise RequirementError(f"weight={name!r}: the edges have no columns, see Graph(edge_columns=...)")
        return graph, params
    if name is not None:
        graph.edge_table.column(name)  # no name of one stands for the rows
    if name is None and WEIGHT in graph.edge_table.columns and kind.requires.weighted is not False:
        name = WEIGHT
    seen = graph._weighings.get(name)
    if seen is None:
        seen = graph._weighings[name] = seen_by(graph, name)
    return seen, params


def track_from(graph: Graph, algorithm: Any, params: dict[str, Any], state: dict[str, np.ndarray]) -> Tracker:
    """Track like ``Graph.track``, but continue from ``state``, host arrays that ``Algorithm.state`` returned."""
    with graph.exclusive():
        seen, params = weighing(graph, algorithm, params)
        placed = {name: graph.device.xp.asarray(part) for name, part in state.items()}
        return make_tracker(graph, seen, algorithm, params, placed)


def seen_by(graph: Graph, name: str | None) -> Graph:
    """Return a graph over the same stores with the column ``name`` of the edges as weights; None: unweighted."""
    table = graph.edge_table
    assert table is not None
    dtype = None if name is None else read_as(table.column(name).dtype, name)
    seen = _twin_of(graph, dtype)
    seen._stores = seen._shown = stores_by_row(graph._stores, table, name)
    seen.edge_table = None
    if graph.partition is not None:
        seen.partition = graph.partition.weighed(seen, name)
    return seen


def in_rows(graph: Graph) -> Graph:
    """Return a graph over the same stores whose weights are the rows of the edges, for functions that take a row."""
    if graph.walks_rows or graph.edge_table is None:
        return graph
    seen = graph._weighings.get(ROWS)
    if seen is None:
        seen = graph._weighings[ROWS] = _twin_of(graph, ROW)
        seen._shown, seen.edge_table, seen.walks_rows = graph._stores, graph.edge_table, True
        if graph.partition is not None:
            seen.partition = graph.partition.weighed(seen, ROWS)
    return seen


def _twin_of(graph: Graph, weight_dtype: np.dtype | None) -> Graph:
    """Return another graph over the stores of ``graph``, which is to have weights of this dtype."""
    seen = object.__new__(type(graph))
    vars(seen).update(vars(graph))
    seen._options = replace(graph._options, weight_dtype=weight_dtype, edge_columns={})
    seen._views, seen._walked, seen._kept, seen._weighings = {}, None, WeakValueDictionary(), {}
    return seen


def stores_by_row(stores: tuple[Store, ...], table: EdgeTable, name: str | None) -> tuple[Store, ...]:
    """Return read-only stores over ``stores`` with the column ``name`` as weights; None: without weights."""
    return tuple(_StoreByRow(store, partial(_values_of, table, name)) for store in stores)  # type: ignore[misc]


def with_weights(stores: tuple[Store, ...], table: EdgeTable | None) -> tuple[Store, ...]:
    """Return the stores of a graph as users see them, with weights, not rows of ``table``; None: there are no rows."""
    return stores if table is None else stores_by_row(stores, table, WEIGHT if WEIGHT in table.columns else None)


def _values_of(table: EdgeTable, name: str | None) -> Array | None:
    return None if name is None else table.array(name)


class _StoreByRow:
    """A read-only store whose weights are the values of a column at the stored row numbers."""

    def __init__(self, store: Store, values: Callable[[], Array | None]) -> None:
        self._store, self._values = store, values

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @property
    def weight_dtype(self) -> np.dtype | None:
        values = self._values()
        return None if values is None else read_as(values.dtype)

    def view(self) -> StoreView:
        return by_row(self._store.view(), self._values())

    def adjacency(self, vertices: Array) -> Adjacency:
        offsets, dst, rows = self._store.adjacency(vertices)
        assert rows is not None
        return Adjacency(offsets, dst, weights_at(self._values(), rows)).in_rows(rows)

    def edges(self) -> EdgeList:
        return weighed(self._values(), self._store.edges())

    def updated(self) -> EdgeList:
        return weighed(self._values(), self._store.updated())

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        found, rows = self._store.find(src, dst)
        assert rows is not None
        return found, weights_at(self._values(), rows)


def by_row(view: StoreView, values: Array | None) -> StoreView:
    """Return a view whose weights are ``values[row]``, where row is the weight stored; None: without weights."""
    if values is None:
        return replace(view, weight_dtype=None)
    data, cursor = view.data, view.cursor
    kind: Any = type(data)
    made: Any = None
    if isinstance(values, np.ndarray):
        module = _cursor_by_row(cursor, kind, read_as(values.dtype).name)
        cursor, made = module.__name__, module.Data
    else:
        made = _data_by_row(kind)
    return replace(view, data=made(*data, values), cursor=cursor, weight_dtype=read_as(values.dtype), by_row=True)


@cache
def _data_by_row(kind: Any) -> Any:
    return namedtuple("Data", (*kind._fields, "by_row"))


@cache
def _cursor_by_row(cursor: str, kind: Any, dtype: str) -> Any:
    from suricate.kernels.generated import load_module  # imports Numba's side, which CUDA does without otherwise

    offered = vars(importlib.import_module(cursor))
    names = [name for name in (*ALWAYS, *UPDATED, *OWNER.values(), *OPTIONAL) if name in offered]
    fields, convert = [*kind._fields, "by_row"], f"np.{dtype}"
    text = _CURSOR.format(cursor=cursor, names=", ".join(names), fields=fields, convert=convert)
    return load_module("cursor_by_row", text)


# -- changes -----------------------------------------------------------------------------------------------------------


def advance_weighed(graph: Graph, delta: Delta, before: int) -> None:
    """Update the trackers that weigh edges by columns after ``delta``; the first error is raised at the end."""
    errors = []
    for seen in graph._weighings.values():
        if not seen._kept:
            continue
        try:
            advance_all(seen._kept, weighed_delta(seen, delta), before)
        except Exception as error:  # the trackers of other columns are updated first
            errors.append(error)
    if errors:
        raise errors[0]


def weighed_delta(seen: Graph, delta: Delta) -> Delta:
    """Return ``delta`` with the weights of the graph ``seen`` in place of row numbers; does not wait for the device."""
    values = seen._stores[0]._values()  # type: ignore[attr-defined]
    made = Delta(
        seen.device, seen.directed, seen.weight_dtype, (delta.num_vertices_before, delta.num_vertices_after),
        deleted_vertices=delta._deleted_vertices, revived_vertices=delta._revived_vertices, wait=delta._wait,
        lock=delta._lock,
    )  # fmt: skip
    assert delta._lists is None, "what was read has no halves"
    xp, (removed, added, deleted) = seen.device.xp, delta._net()
    if deleted is not None:
        deleted = DeletedEdges(*(weighed(values, one) for one in deleted))
    made._changes = Changes(_half(xp, removed, values), _half(xp, added, values), deleted)
    made._is_net, made.version = True, delta.version
    return made


def _half(xp: Any, change: Change | None, values: Array | None) -> Change | None:
    """Return ``change``, one half of a batch, with weights in place of row numbers; None for None."""
    if change is None:
        return None
    edges, (status, rows), mirrored = change
    replaced = status == REPLACED
    if values is None:
        status = xp.where(replaced, np.uint8(UNCHANGED), status)
        return Change(edges._replace(weight=None), Outcome(status), mirrored)
    was = weights_at(values, rows)  # unspecified where nothing was there
    now = None if edges.weight is None else weights_at(values, edges.weight)
    if now is not None:
        status = xp.where(replaced & (bits(now) == bits(was)), np.uint8(UNCHANGED), status)
    return Change(edges._replace(weight=now), Outcome(status, was), mirrored)
