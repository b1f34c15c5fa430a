"""Edges that are given several times: rules by which their weights become one, and a word where some are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import total
from suricate.base.errors import ParameterError, RequirementError, ShapeError
from suricate.base.notice import caution
from suricate.base.parameters import shown
from suricate.base.types import REPLACED, UNCHANGED, EdgeList, edge_keys
from suricate.comm.protocol import Comm, SelfComm
from suricate.intake.arrays import checked_edges, checked_weights, on_host, picked, same_length
from suricate.state.edge_table import WEIGHT

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

RULES = ("last", "first", "sum", "count", "min", "max")
KEEPING = ("last", "first")  #: rules that any value can have
EXTREMES = {"min": np.minimum, "max": np.maximum}


def checked_rules(combine: Any) -> dict[str, str]:
    """Return ``combine`` as rules by column: a single rule is that of the weights; raises ``ParameterError``."""
    rules = dict(combine) if isinstance(combine, Mapping) else {} if combine is None else {WEIGHT: combine}
    for name, rule in rules.items():
        if not isinstance(rule, str) or rule not in RULES:
            what = f"combine[{name!r}]" if isinstance(combine, Mapping) else "combine"
            raise ParameterError(f"{what} must be one of {', '.join(RULES)}, got {shown(rule)}")
    return rules


def combined(
    edges: EdgeList, rules: Mapping[str, str], num_vertices: int, *, directed: bool = True, matrix: bool = False,
    comm: Comm | None = None,
) -> EdgeList:  # fmt: skip
    """Return each edge once, in host arrays, with its weights combined into one.

    Args:
        edges: ids, and weights: an array, a number for all, None, or columns of such by name.
        rules: by column, of which ``weight`` is the weights; other columns keep the last value. A rule ``"count"`` of
            a column that is not given makes one.
        num_vertices: ids are below.
        directed: if False, ``(u, v)`` and ``(v, u)`` are one edge.
        matrix: the edges are the entries of a matrix; if it is symmetric, an undirected edge is one entry.
        comm: every process passes all entries of some pairs of vertices.

    Raises:
        RequirementError: a rule needs weights or a column. ParameterError: texts under a rule for numbers.
        VertexRangeError, ShapeError, WeightError: the edges are invalid.
    """
    src, dst = (on_host(ids) for ids in edges[:2])
    same_length(src, dst)
    src, dst, _ = checked_edges((src, dst, None), num_vertices)
    given: Any = edges.weight
    by_name = isinstance(given, Mapping)
    columns: dict[str, Any] = given if by_name else {} if given is None else {WEIGHT: given}
    columns = {name: _values(part, name, len(src)) for name, part in columns.items()}
    if not directed:
        if matrix:
            src, dst, columns = _one_triangle(src, dst, columns, comm or SelfComm())
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    keys = edge_keys(src, dst)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    ends = np.append(begins[1:], len(keys))[: len(begins)]
    found: dict[str, Any] = {}
    for name in {**columns, **rules}:
        rule = rules.get(name, "last")
        if rule == "count":
            found[name] = (ends - begins).astype(np.uint32)
        elif name in columns:
            found[name] = _combined(columns[name][order], begins, ends, rule, name)
        elif rule not in KEEPING or name != WEIGHT:
            what = "weights" if name == WEIGHT else f"a column {name!r}"
            known = (
                f"there are {', '.join(columns)}: combine={{{next(iter(columns))!r}: {rule!r}}}"
                if columns
                else "there are none"
            )
            raise RequirementError(f"combine={rule!r} needs {what}; {known}")
    first = order[begins]
    weight: Any = found if by_name or found.keys() - {WEIGHT} else found.get(WEIGHT)
    return EdgeList(src[first], dst[first], weight)


def _values(values: Any, name: str, count: int) -> np.ndarray:
    """Return weights or a column ``name`` as a host array of ``count`` entries; weights must be finite."""
    array = np.asarray(on_host(values))
    if array.ndim == 0:
        array = np.broadcast_to(array, count)
    if array.shape != (count,):
        raise ShapeError(f"{name} has shape {array.shape} for {count} edges: pass one per edge, or one for all")
    if name == WEIGHT and array.dtype.kind == "f":
        return checked_weights(array, np.promote_types(array.dtype, np.float32))
    return array


def _combined(values: np.ndarray, begins: np.ndarray, ends: np.ndarray, rule: str, name: str) -> np.ndarray:
    """Return a value for each group ``values[begins[i]:ends[i]]``; ``name``: what messages call the values."""
    if rule in KEEPING or not len(begins):
        return values[begins if rule == "first" else ends - 1]
    if values.dtype.kind not in "biuf":
        raise ParameterError(
            f"combine[{name!r}] is {rule!r}, but {name!r} has no numbers: use one of last, first, count"
        )
    if rule in EXTREMES:
        return EXTREMES[rule].reduceat(values, begins)
    if values.dtype.kind == "f":
        return np.add.reduceat(values.astype(np.float64), begins)
    exact = float(np.abs(values.astype(np.float64)).sum()) < 2.0**63
    return np.add.reduceat(values.astype(np.int64 if exact else np.float64), begins)


def _one_triangle(
    src: np.ndarray, dst: np.ndarray, columns: dict[str, Any], comm: Comm
) -> tuple[Any, Any, dict[str, Any]]:
    """Return the entries on and above the diagonal if those below are the same, else all; ``columns``: of entries."""
    below, above = np.flatnonzero(src > dst), np.flatnonzero(src < dst)
    keys = edge_keys(dst[below], src[below]), edge_keys(src[above], dst[above])
    below, above = (at[np.argsort(key, kind="stable")] for at, key in zip((below, above), keys, strict=True))
    is_same = np.array_equal(np.sort(keys[0]), np.sort(keys[1])) and all(
        np.array_equal(part[below], part[above]) for part in columns.values()
    )
    if not all(comm.allgather(is_same)):
        return src, dst, columns
    kept = src <= dst
    return src[kept], dst[kept], {name: part[kept] for name, part in columns.items()}


# -- a word where weights differ ---------------------------------------------------------------------------------------


def insert_told(graph: Graph, edges: EdgeList, rules: Mapping[str, str], arcs: int = 1) -> None:
    """Insert edges; without ``rules`` warn if one is repeated with other weights; ``arcs``: how many each edge is."""
    delta = graph.insert_edges(*edges)
    if edges.weight is not None and not rules:
        tell(overruled(graph, delta) // arcs, len(edges.src) // arcs)


def tell(count: int, given: int) -> None:
    """Warn that ``count`` of ``given`` edges have another weight than the last one of the same edge; nothing for 0."""
    if count:
        caution(
            f"{count} of {given} edges repeat an edge with another weight or attribute; the last of each edge is kept. "
            "combine= (--combine) says which: last, first, sum, count, min or max"
        )


def overruled(graph: Graph, delta: Delta) -> int:
    """Return how many edges of the insertion ``delta``, the last change, have other weights or columns than stored."""
    _, change, _ = delta._net()
    if change is None:
        return 0
    edges: Any = change.edges
    outcome: Any = change.outcome
    xp, status, count = graph.device.xp, outcome.status, 0
    repeated = picked(edges, xp.flatnonzero(status == UNCHANGED))
    if len(repeated.src):
        found, kept = graph._updater.find(repeated.src, repeated.dst)
        count += total(found & _differ(graph, repeated.weight, kept))
    replaced = xp.flatnonzero(status == REPLACED)
    if len(replaced):
        count += total(_differ(graph, edges.weight[replaced], outcome.weight[replaced]))
    return count // (2 if change.mirrored else 1)


def _differ(graph: Graph, one: Any, other: Any) -> Any:
    """Return where weights differ: ``one`` and ``other`` are those of the store, rows if the edges have columns."""
    if graph.edge_table is None:
        return one != other
    xp = graph.device.xp
    differ = xp.zeros(len(one), bool)
    for name in graph.edge_table.columns:
        a, b = (graph.edge_table.values(name, rows) for rows in (one, other))
        differ |= xp.asarray((a != b) & ((a == a) | (b == b)))
    return differ
