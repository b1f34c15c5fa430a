"""Conversion of a call as the user wrote it to a :class:`~suricate.operators.call.Call`.

Functions are compiled for the types of their arguments, arguments are checked, and types of values are chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.errors import (
    DeviceError,
    DTypeError,
    EdgeFunctionError,
    ParameterError,
    RequirementError,
    ShapeError,
)
from suricate.base.parameters import integer, named_dtype, one_of, shown
from suricate.base.types import EMPTY
from suricate.edgefn import EDGE, Argument, EdgeFunction, TypedFunction, argument_of, compile_function
from suricate.edgefn.layout import Layout
from suricate.edgefn.parameters import (
    COLUMN,
    COLUMNS,
    EVENT,
    EVENT_MASK,
    FIRST_EVENT,
    HIDDEN_NUMBER,
    OF_WIDTH,
    ROW,
    ROWS_OF_TWO,
    SCORES,
    WEIGHT_AND_ROW,
    WEIGHTS_OF_TWO,
    by_event,
    labels_to_keep,
    weights_by_row,
)
from suricate.graph import Graph
from suricate.graph.edge_columns.weighing import in_rows
from suricate.operators import checks
from suricate.operators.call import OUT_DTYPES, REDUCTIONS, Call, Start, Vote
from suricate.state.column_map import array_of

PUSHES = ("min", "max", "sum", "or", "argmin")  #: reductions of advance and propagate
PULLS = REDUCTIONS  #: of neighbor_reduce and converge
MOST_BEST = 1 << 20  #: labels per vertex
LABEL_DTYPES = ("uint32", "int64", "uint64")  #: in which EMPTY is a label


def one(u: int, v: int, x: int) -> int:
    """Return 1 for a common neighbour ``x`` of ``u`` and ``v``: the default function of ``intersect``, which counts."""
    return 1


def arguments_of(graph: Graph, args: Any, *, columns: bool = False) -> tuple[tuple[Argument, ...], tuple[Any, ...]]:
    """Return the types of the arguments ``args``, and their checked values; a string names a column of ``graph``.

    ``columns``: whether arrays may have columns.
    """
    if not isinstance(args, tuple):
        raise ParameterError(f"args must be a tuple, not {type(args).__name__}: write args=(x,)")
    arguments: list[Argument] = []
    values: list[Any] = []
    for value in args:
        if isinstance(value, str):
            if not graph.walks_rows and graph.edge_table is not None and value in graph.edge_table.columns:
                raise ParameterError(
                    f"args[{len(values)}]: {value!r} is a column of edges, which a function indexes by row: call its "
                    "third parameter row, or take (u, v, w, row, ...)"
                )
            value = array_of(graph, value) if graph._events is None else graph._events.column(value)
            argument = argument_of(value) if graph._events is None else by_event(value.dtype)
        else:
            argument = argument_of(value)
        if argument.kind == "scalar":
            value = argument.packed(value)
        elif argument.kind == "array":
            if argument.op == COLUMNS and not columns:
                raise ShapeError(
                    f"args[{len(values)}] has shape {value.shape}: only a pull takes columns, whose function names "
                    "them, fn(u, v, w, j, *args), and reads x[u, j]"
                )
            if not checks.lies_on(graph.device, value):
                raise checks.misplaced(graph.device, value, f"args[{len(values)}]")
        elif argument.kind == "graph":
            if value is not graph:
                raise ParameterError(f"args[{len(values)}] is another graph than the one that is walked")
        elif value.device != graph.device:
            raise DeviceError(f"args[{len(values)}] is on {value.device}, the graph on {graph.device}")
        arguments.append(argument)
        values.append(value)
    if graph._events is not None:
        arguments += [FIRST_EVENT, EVENT_MASK]
        values += [np.int64(graph._events.first), np.int64(graph._events.mask)]
    return tuple(arguments), tuple(values)


def typed(graph: Graph, fn: Any, arguments: tuple[Argument, ...], leading: tuple[str, ...], role: str) -> TypedFunction:
    """Return ``fn`` compiled for the types of ``arguments`` and for the weights of ``graph``.

    ``leading`` are the names of the parameters before these arguments, such as ``("u", "v", "w")``; ``role`` is the
    kind of function, ``"edge"``, ``"vertex"`` or ``"effect"``.
    """
    return compile_function(fn, arguments, weight_dtype=graph.weight_dtype, leading=leading, role=role)


def _names_of(fn: Any) -> tuple[str, ...]:
    """Return the names of the parameters of a function, (), if it is none."""
    if isinstance(fn, EdgeFunction):
        return tuple(fn._source.parameters())
    code = getattr(getattr(fn, "py_func", fn), "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount]


def with_position(fn: Any, leading: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of parameters ``leading``, with ``"i"`` in front if the first parameter of ``fn`` is ``i``."""
    return ("i", *leading) if _names_of(fn)[:1] == ("i",) else leading


def _taken_for_weight(fn: Any) -> str:
    """Return what an edge function takes in place of ``"w"``: this, ``ROW``, or ``WEIGHT_AND_ROW``."""
    names = _names_of(fn)
    names = names[1:] if names[:1] == ("i",) else names
    return ROW if names[2:3] == (ROW,) else WEIGHT_AND_ROW if names[3:4] == (ROW,) else "w"


def walked(graph: Graph, fn: Any, args: Any) -> tuple[Graph, Any]:
    """Return the graph with edge columns that an operator walks, and the arguments: with rows if ``fn`` takes a row."""
    if _taken_for_weight(fn) == "w":
        return graph, args
    seen = in_rows(graph)
    return seen, tuple(seen if value is graph else value for value in args) if isinstance(args, tuple) else args


def takes_column(fn: Any) -> bool:
    """Return whether an edge function takes a column ``j`` behind the weight, or behind the row."""
    names = _names_of(fn)
    return names[4 if names[3:4] == (ROW,) else 3 :][:1] == (COLUMN,)


def _edge_arguments(
    graph: Graph, fn: Any, args: Any, *, columns: bool = False
) -> tuple[tuple[str, ...], tuple[Argument, ...], tuple[Any, ...]]:
    """Return the leading parameters of an edge function, and the types and checked values of its arguments ``args``."""
    arguments, values = arguments_of(graph, args, columns=columns)
    more = (COLUMN,) if columns else ()
    if graph._events is not None:
        return (*EDGE[:2], EVENT, *more), arguments, values
    if not graph.walks_rows or (taken := _taken_for_weight(fn)) == "w":
        return (*EDGE, *more), arguments, values
    weights = None if graph.edge_table is None or taken == ROW else graph.edge_table.weights
    if weights is not None:
        arguments, values = (*arguments, weights_by_row(weights.dtype)), (*values, weights)
    return (*EDGE[:2], taken, *more), arguments, values


def number_of_columns(values: tuple[Any, ...], out: Any) -> int:
    """Return how many columns the arrays among ``values`` and ``out`` have.

    Raises:
        ShapeError: there is none, or they differ.
    """
    found = {value.shape[1] for value in (*values, out) if getattr(value, "ndim", 1) == 2}
    if len(found) != 1 or 0 in found:
        given = ", ".join(map(str, sorted(found))) or "no array with columns"
        raise ShapeError(
            f"a function of a column j needs arrays of shape (n, k), of one k above 0, in args or out, not: {given}"
        )
    return int(found.pop())


def bind(graph: Graph, fn: Any, args: tuple[Any, ...], reduce: str, leading: tuple[str, ...] = EDGE) -> Call:
    """Return the call that reduces the values of ``fn``, which must return one, by ``reduce``, without ``then``."""
    if leading == EDGE:
        leading, arguments, values = _edge_arguments(graph, fn, args)
    else:
        arguments, values = arguments_of(graph, args)
    return Call(_valued(fn, typed(graph, fn, arguments, leading, "edge")), values, reduce)


def _valued(fn: Any, function: TypedFunction) -> TypedFunction:
    if function.result is None:
        raise EdgeFunctionError(f"{getattr(fn, '__name__', fn)} returns no value: operators reduce what it returns")
    return function


def _words_function(
    graph: Graph, fn: Any, arguments: tuple[Argument, ...], leading: tuple[str, ...], layout: Layout
) -> TypedFunction:
    """Return ``fn`` compiled for the types of ``arguments``; it must return all fields of the words of ``layout``."""
    return compile_function(fn, arguments, weight_dtype=graph.weight_dtype, leading=leading, result_layout=layout)


def bind_push(graph: Graph, fn: Any, args: tuple[Any, ...], reduce: str, out: Any, then: Any) -> Call:
    """Return the call of a push of ``fn`` into ``out``, which must have one entry per vertex, compiled and checked."""
    one_of("reduce", reduce, PUSHES)
    layout, dtype = None, None
    if reduce == "argmin":
        checks.vertex_words(graph, out, "out")
        layout = out.layout
    else:
        checks.vertex_array(graph, out, "out")
        dtype = out.dtype
    leading, arguments, values = _edge_arguments(graph, fn, args)
    if layout is not None:
        function = _words_function(graph, fn, arguments, leading, layout)
    else:
        function = _valued(fn, typed(graph, fn, arguments, leading, "edge"))
        reducible(function.result, reduce, dtype)
    second = None if then is None else typed(graph, then, arguments, ("v", "step"), "vertex")
    if second is not None and second.effects:
        checks.effects_of_then(second, values, out, frozenset())
    call = Call(function, values, reduce, dtype, second, None, layout, (fn, args, then, None, None))
    return checks.own_arrays(graph, call)


def bind_pull(
    graph: Graph, fn: Any, args: tuple[Any, ...], reduce: str, out: Any, dtype: Any, then: Any, commit: Any = None,
    *, turn: Any = None, vote: tuple[Any, Any, Any, Any] = (None,) * 4,
) -> Call:  # fmt: skip
    """Return the call of a pull of ``fn`` with the arguments ``args``, whose values are reduced by ``reduce``.

    ``then`` and ``commit`` are the second and the third phase, ``turn`` says whose turn it is, or None; ``vote`` is
    ``(score, keep, labels, best)``, for ``reduce="vote"`` only. The dtype of the values is that of ``out``,
    else ``dtype``, else the one that ``fn`` returns, int64 for bools and integers of 32 bits or less. With
    ``reduce="argmin"`` the values are words as in ``out`` or, if that is None, as in ``dtype``.
    """
    one_of("reduce", reduce, PULLS)
    columns, of = takes_column(fn), 0
    leading, arguments, values = _edge_arguments(graph, fn, args, columns=columns)
    layout, taken, voting, reduced = None, None, None, ["value"]
    if columns:
        checks.of_columns(reduce, turn)
        of = number_of_columns(values, out)
        arguments, values = (*arguments, OF_WIDTH), (*values, of)
        reduced.append(COLUMN)
    if reduce == "vote":
        voting, arguments, values = _voting(graph, arguments, values, *vote)
        function = typed(graph, fn, arguments, leading, "vote")
        if voting.best and then is not None:
            raise RequirementError("best=k gives arrays of labels and scores: take then away")
        labels_out = out[0] if voting.best and isinstance(out, tuple) and len(out) == 2 else out
        taken, reduced = label_dtype(labels_out, dtype), ["label", "total"]
    elif any(one is not None for one in vote):
        raise RequirementError(f"score, keep, labels and best are for reduce='vote', not {reduce!r}")
    elif reduce == "argmin":
        layout = checks.layout_of_values(graph, out, dtype)
        function = _words_function(graph, fn, arguments, leading, layout)
    else:
        function = _valued(fn, typed(graph, fn, arguments, leading, "edge"))
        taken = value_dtype(Call(function, values, reduce), out, dtype)
    second, third, weight_dtype, given = None, None, graph.weight_dtype, layout or taken
    if voting is not None:
        given = function.result
        if vote[0] is not None:
            score = compile_function(
                vote[0], arguments, weight_dtype=weight_dtype, leading=("v", *reduced), value_dtype=given
            )
            voting = voting._replace(score=_valued(vote[0], score))
    if then is not None:
        second = compile_function(
            then, arguments, weight_dtype=weight_dtype, leading=("v", *reduced), role="vertex", value_dtype=given
        )
        if second.effects:
            scored = frozenset() if voting is None or voting.score is None else voting.score.reads
            checks.effects_of_then(second, values, out, function.reads | scored)
    if commit is not None:
        third = typed(graph, commit, arguments, ("v", COLUMN) if columns else ("v",), "vertex")
    asked = None if turn is None else (_valued(turn, typed(graph, turn, arguments, ("v", "step"), "edge")), turn)
    users = fn, args, then, commit, dtype
    call = Call(function, values, reduce, taken, second, third, layout, users, voting, asked, of)
    return checks.own_arrays(graph, call)


def _voting(
    graph: Graph,
    arguments: tuple[Argument, ...],
    values: tuple[Any, ...],
    score: Any,
    keep: Any,
    labels: Any,
    best: Any,
) -> tuple[Vote, tuple[Argument, ...], tuple[Any, ...]]:
    """Return what a vote needs, without its score, and the types and values of arguments, with what it adds to them."""
    most, place = integer("labels", graph.num_vertices if labels is None else labels, low=0, high=EMPTY), None
    if keep is not None:
        held = array_of(graph, keep) if isinstance(keep, str) else keep
        if not checks.lies_on(graph.device, held):
            raise checks.misplaced(graph.device, held, "keep")
        if held.dtype.kind not in "iu" or held.ndim != 1 or len(held) < graph.num_vertices:
            raise ShapeError(
                f"keep is {held.dtype}, of shape {held.shape}: pass integers, one per vertex of {graph.num_vertices}"
            )
        place = next((i for i, value in enumerate(values) if value is held), len(values))
        if place == len(values):
            argument_of(held)  # contiguous
            arguments, values = (*arguments, labels_to_keep(held.dtype)), (*values, held)
    arguments, values = (*arguments, HIDDEN_NUMBER), (*values, np.int64(most))
    wanted = 0 if best is None else integer("best", best, low=1, high=MOST_BEST)
    found = Vote(most, len(values) - 1, place, None, None, wanted, (score, keep))
    if wanted and graph.device.is_cuda:
        found, by_vertex = found._replace(before=len(values)), (labels_to_keep(np.dtype(np.uint32)), SCORES) * 2
        arguments, values = (*arguments, *by_vertex, HIDDEN_NUMBER), (*values, *[None] * 5)
    return found, arguments, values


def label_dtype(out: Array | None, dtype: Any) -> np.dtype:
    """Return the dtype of the labels of a vote: that of ``out``, else ``dtype``, else uint32."""
    wanted = named_dtype(dtype) if out is None and dtype is not None else getattr(out, "dtype", np.dtype(np.uint32))
    if wanted is None or wanted.name not in LABEL_DTYPES:
        raise DTypeError(f"labels of a vote are {', '.join(LABEL_DTYPES)}, not {wanted or shown(dtype)}")
    return wanted


def bind_map(graph: Graph, fn: Any, args: tuple[Any, ...]) -> Call:
    """Return the call of ``fn`` for vertices; a first parameter ``i`` gets the position of the vertex.

    A parameter ``j`` behind the vertex gets a column of the arguments that have some.
    """
    leading = with_position(fn, ("v",))
    columns, of = _names_of(fn)[len(leading) :][:1] == (COLUMN,), 0
    arguments, values = arguments_of(graph, args, columns=columns)
    if columns:
        of = number_of_columns(values, None)
        leading, arguments, values = (*leading, COLUMN), (*arguments, OF_WIDTH), (*values, of)
    call = Call(typed(graph, fn, arguments, leading, "vertex"), values, given=(fn, args), columns=of)
    return checks.own_arrays(graph, call)


def bind_effect(graph: Graph, fn: Any, args: tuple[Any, ...]) -> Call:
    """Return the call of ``fn`` for edges, for its effects; ``ParameterError`` if it has none."""
    leading, arguments, values = _edge_arguments(graph, fn, args)
    function = typed(graph, fn, arguments, with_position(fn, leading), "effect")
    counts = any(argument.kind == "accumulator" for argument in arguments)
    if not (function.effects or counts or function.by_hand):
        raise ParameterError(
            f"{getattr(fn, '__name__', 'the function')} has no effect, so edge_map would do nothing: use su.atomic, "
            "su.unite or Scalar.add, or an operator that returns values, as neighbor_reduce does"
        )
    return checks.own_arrays(graph, Call(function, values, given=(fn, args)))


def of_two_edges(fn: Any) -> tuple[str, ...]:
    """Return what a function of ``intersect`` takes behind ``x``: ``WEIGHTS_OF_TWO``, ``ROWS_OF_TWO``, or nothing."""
    names = _names_of(fn)
    taken = names[4:6] if names[:1] == ("i",) else names[3:5]
    return taken if taken in (WEIGHTS_OF_TWO, ROWS_OF_TWO) else ()


def with_rows(left: Any, right: Any, fn: Any, args: Any) -> tuple[Any, Any, Any]:
    """Return the operands of ``intersect`` and ``args``: graphs show rows as weights if ``fn`` takes rows."""
    if of_two_edges(fn) != ROWS_OF_TWO:
        return left, right, args
    if any(getattr(operand, "edge_table", None) is None for operand in (left, right)):
        raise RequirementError("row_a and row_b: an operand has no columns of edges: take the weights, a and b")
    if left.partition is not None or right.partition is not None:
        raise RequirementError("row_a and row_b: each process has rows of its own: take the weights, a and b")
    rows = in_rows(left)
    if isinstance(args, tuple):
        args = tuple(rows if value is left else value for value in args)
    return rows, in_rows(right), args


def bind_intersection(
    graph: Graph, fn: Any, args: tuple[Any, ...], *, everything: bool, dtypes: tuple[Any, Any] = (None, None)
) -> Call:
    """Return the call of ``fn`` for common neighbours of pairs, with the arguments ``args``.

    ``fn`` None: the function that counts common neighbours. A function with effects may return nothing.
    ``everything``: the pairs are all edges of the graph, so that ``fn`` must not take a position ``i``. ``dtypes``:
    those of the weights of both operands, for a function that takes ``a`` and ``b``.
    """
    checks.refuse_events(graph, "common neighbours are those of sets")
    fn = one if fn is None else fn
    leading = with_position(fn, ("u", "v", "x", *(taken := of_two_edges(fn))))
    if everything and leading[0] == "i":
        raise RequirementError("i is the position in u and v: pass them, or take the parameter i away")
    arguments, values = arguments_of(graph, args)
    left, right = dtypes if taken else (graph.weight_dtype, None)
    function = compile_function(fn, arguments, weight_dtype=left, leading=leading, role="effect", value_dtype=right)
    return checks.own_arrays(graph, Call(function, values, given=(fn, args)))


def position_of(call: Call, start: Start) -> None:
    """Raise if the function of ``call`` takes a position ``i`` but ``start`` is not one single list of ids or edges."""
    if call.function.leading[0] == "i" and len(start.frontiers) + len(start.arcs) != 1:
        raise RequirementError("i is a position in ids or edges: pass one of them, not a tuple")


# -- types of values ---------------------------------------------------------------------------------------------------


def reducible(result: Any, reduce: str, dtype: Any) -> None:
    """Raise ``DTypeError`` unless values of dtype ``result`` can be reduced by ``reduce`` into values of ``dtype``."""
    if result.kind == "f" and dtype.kind != "f":
        raise DTypeError(
            f"the edge function returns {result}, out has dtype {dtype}: use a float array, or return int(...)"
        )
    if reduce == "hindex" and "f" in (result.kind, dtype.kind):
        raise DTypeError(
            f"reduce='hindex' counts integers: the edge function returns {result}, and the values have dtype {dtype}"
        )
    if reduce == "or" and dtype.kind == "f":
        raise DTypeError(f"reduce='or' needs an integer array, out has dtype {dtype}")


def value_dtype(call: Call, out: Array | None, dtype: Any) -> np.dtype:
    """Return the dtype of the values of a pull: that of ``out``, else ``dtype``, else that of the function's result.

    A result of bools or of integers of at most 32 bits gives int64. Raises ``DTypeError`` if ``out`` and ``dtype``
    contradict each other, or ``call`` cannot reduce into the dtype. If ``out`` has a dtype for which there is no pull,
    the result is int64, and ``result_array`` of ``checks`` raises later.
    """
    wanted: Any = getattr(out, "dtype", None)
    if out is None:
        natural = call.result if call.result in OUT_DTYPES[2:] else np.dtype(np.int64)
        wanted = natural if dtype is None else _value_type(dtype)
    else:
        if dtype is not None and _value_type(dtype) != wanted:
            raise DTypeError(f"out has dtype {wanted}, but dtype={dtype!r} was asked for: give one of the two")
        if not isinstance(wanted, np.dtype) or wanted not in OUT_DTYPES:
            return np.dtype(np.int64)  # result_array() says what is wrong with it
    reducible(call.result, call.reduce, wanted)
    return wanted


def _value_type(dtype: Any) -> np.dtype:
    """Return ``dtype`` as a NumPy dtype; raise ``DTypeError`` unless values can be reduced in it."""
    wanted = named_dtype(dtype)
    if wanted is None or wanted not in OUT_DTYPES:
        raise DTypeError(f"dtype {shown(dtype)} cannot be reduced: use one of {', '.join(map(str, OUT_DTYPES))}")
    return wanted
