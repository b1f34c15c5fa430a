"""Graphs whose weights are a column of the edges, for algorithms that have a parameter ``weight``.

Such a graph shares the stores of the real one, in which the weight of an edge is its row number. The view of a store
gets another cursor, whose ``weight`` reads the column at that row. So a batch costs no more, and each read of a weight
one more access of memory.
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
from suricate.base.errors import DTypeError, ParameterError, RequirementError
from suricate.base.types import REPLACED, UNCHANGED, WEIGHT_DTYPES, Adjacency, Change, EdgeList, Outcome, StoreView
from suricate.cursors import ALWAYS, OPTIONAL, OWNER, UPDATED
from suricate.graph.delta import Changes, DeletedEdges, Delta
from suricate.graph.row_copies import as_stored
from suricate.graph.tracker import Tracker, advance_all, make_tracker
from suricate.intake.arrays import bits
from suricate.plugins.algorithm import Algorithm
from suricate.state.attributes import TEXT
from suricate.state.edge_table import WEIGHT, EdgeTable

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.store import Store

CONVERTED = tuple(map(np.dtype, ("int8", "int16", "int64", "uint8", "uint16", "uint64")))  #: read as float64
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
        UnknownNameError, DTypeError, ParameterError: there is no such column, or its dtype cannot be that of weights;
            or the algorithm uses no weights.
    """
    if graph.edge_table is None and "weight" not in params:
        return graph, params
    is_class = isinstance(algorithm, type) and issubclass(algorithm, Algorithm)
    kind: type[Algorithm] = algorithm if is_class else plugins.algorithm(algorithm)
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
    if name is None and uses_weights and WEIGHT in graph.edge_table.columns:
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
    assert graph.edge_table is not None
    held = None if name is None else graph.edge_table.column(name).dtype
    if held is not None and held not in WEIGHT_DTYPES and held not in CONVERTED:
        raise DTypeError(f"weight={name!r}: the column has {'texts' if held == TEXT else f'dtype {held}'}, no weights")
    dtype = None if held is None else read_as(held)
    table = graph.edge_table
    seen = object.__new__(type(graph))
    vars(seen).update(vars(graph))
    values = partial(_values_of, table, name)
    seen._stores = tuple(_StoreByRow(store, values) for store in graph._stores)  # type: ignore[misc]
    seen._options = replace(graph._options, weight_dtype=dtype, edge_columns={})
    seen._views, seen._walked, seen._kept = {}, as_stored, WeakValueDictionary()
    seen.edge_table, seen._weighings = None, {}
    if graph.partition is not None:
        seen.partition = graph.partition.weighed(seen, name)
    return seen


def read_as(dtype: np.dtype) -> np.dtype:
    """Return the dtype that the values of a column of ``dtype`` have as weights."""
    return dtype if dtype in WEIGHT_DTYPES else np.dtype(np.float64)


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
        return Adjacency(offsets, dst, _weighed(EdgeList(dst, dst, rows), self._values()).weight)

    def edges(self) -> EdgeList:
        return _weighed(self._store.edges(), self._values())

    def updated(self) -> EdgeList:
        return _weighed(self._store.updated(), self._values())


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
    """Update the trackers that take columns of edges for weights, after the change ``delta`` of ``graph``.

    ``before``: the graph's version before the change. If some updates raise, the first error is raised at the end.
    """
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
    xp, halves = seen.device.xp, delta._net()
    made._changes = Changes(_half(xp, halves.removed, values), _half(xp, halves.added, values), halves.deleted)
    if halves.deleted is not None:
        made._changes = made._changes._replace(deleted=DeletedEdges(*(_weighed(one, values) for one in halves.deleted)))
    made._is_net = True
    return made


def _at(values: Array, rows: Array) -> Array:
    return bits(values)[rows].view(values.dtype).astype(read_as(values.dtype), copy=False)


def _weighed(edges: EdgeList, values: Array | None) -> EdgeList:
    return edges._replace(weight=None if values is None else _at(values, edges.weight))


def _half(xp: Any, change: Change | None, values: Array | None) -> Change | None:
    """Return ``change``, one half of a batch, with weights in place of row numbers; None for None.

    ``values``: the weight in each row; None: the result has no weights. Edges whose weight stays the same become
    ``UNCHANGED``. ``xp``: NumPy or CuPy, the module of the arrays.
    """
    if change is None:
        return None
    edges, (status, rows), mirrored = change
    replaced = status == REPLACED
    if values is None:
        status = xp.where(replaced, np.uint8(UNCHANGED), status)
        return Change(edges._replace(weight=None), Outcome(status), mirrored)
    weighed = edges if edges.weight is None else _weighed(edges, values)
    was = _at(values, xp.minimum(rows, np.uint32(len(values) - 1)))  # unspecified where nothing was there
    if weighed.weight is not None:
        same = replaced & (bits(weighed.weight) == bits(was))
        status = xp.where(same, np.uint8(UNCHANGED), status)
    return Change(weighed, Outcome(status, was), mirrored)
