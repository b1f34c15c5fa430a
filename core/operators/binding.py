"""Conversion of a call as the user wrote it to a :class:`~suricate.operators.call.Call`.

Functions are compiled for the types of their arguments, arguments are checked, and types of values are chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.errors import DeviceError, DTypeError, EdgeFunctionError, ParameterError, RequirementError
from suricate.base.parameters import named_dtype, one_of, shown
from suricate.edgefn import EDGE, Argument, EdgeFunction, TypedFunction, argument_of, compile_function
from suricate.edgefn.layout import Layout
from suricate.edgefn.parameters import ROW, WEIGHT_AND_ROW, weights_by_row
from suricate.graph import Graph
from suricate.graph.edge_columns.weighing import in_rows
from suricate.operators import checks
from suricate.operators.call import OUT_DTYPES, Call, Start
from suricate.state.column_map import array_of

PUSHES = ("min", "max", "sum", "or", "argmin")  #: reductions of advance and propagate
PULLS = ("sum", "min", "max", "or", "argmin", "mode", "hindex")  #: reductions of neighbor_reduce and converge


def one(u: int, v: int, x: int) -> int:
    """Return 1 for a common neighbour ``x`` of ``u`` and ``v``: the default function of ``intersect``, which counts."""
    return 1


def arguments_of(graph: Graph, args: Any) -> tuple[tuple[Argument, ...], tuple[Any, ...]]:
    """Return the types of the arguments ``args``, and their checked values; a string names a column of ``graph``."""
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
            value = array_of(graph, value)
        argument = argument_of(value)
        if argument.kind == "scalar":
            value = argument.packed(value)
        elif argument.kind == "array":
            if not checks.lies_on(graph.device, value):
                raise checks.misplaced(graph.device, value, f"args[{len(values)}]")
        elif argument.kind == "graph":
            if value is not graph:
                raise ParameterError(f"args[{len(values)}] is another graph than the one that is walked")
        elif value.device != graph.device:
            raise DeviceError(f"args[{len(values)}] is on {value.device}, the graph on {graph.device}")
        arguments.append(argument)
        values.append(value)
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


def _edge_arguments(graph: Graph, fn: Any, args: Any) -> tuple[tuple[str, ...], tuple[Argument, ...], tuple[Any, ...]]:
    """Return the leading parameters of an edge function, and the types and checked values of its arguments ``args``."""
    arguments, values = arguments_of(graph, args)
    if not graph.walks_rows or (taken := _taken_for_weight(fn)) == "w":
        return EDGE, arguments, values
    weights = None if graph.edge_table is None or taken == ROW else graph.edge_table.weights
    if weights is not None:
        arguments, values = (*arguments, weights_by_row(weights.dtype)), (*values, weights)
    return (*EDGE[:2], taken), arguments, values


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
    return Call(function, values, reduce, dtype, second, None, layout, (fn, args, then, None, None))


def bind_pull(
    graph: Graph, fn: Any, args: tuple[Any, ...], reduce: str, out: Any, dtype: Any, then: Any, commit: Any = None
) -> Call:
    """Return the call of a pull of ``fn`` with the arguments ``args``, whose values are reduced by ``reduce``.

    ``then`` and ``commit`` are the second and the third phase, or None. The dtype of the values is that of ``out``,
    else ``dtype``, else the one that ``fn`` returns, int64 for bools and integers of 32 bits or less. With
    ``reduce="argmin"`` the values are words as in ``out`` or, if that is None, as in ``dtype``.
    """
    one_of("reduce", reduce, PULLS)
    leading, arguments, values = _edge_arguments(graph, fn, args)
    layout, taken = None, None
    if reduce == "argmin":
        layout = checks.layout_of_values(graph, out, dtype)
        function = _words_function(graph, fn, arguments, leading, layout)
    else:
        function = _valued(fn, typed(graph, fn, arguments, leading, "edge"))
        taken = value_dtype(Call(function, values, reduce), out, dtype)
    second, third, weight_dtype = None, None, graph.weight_dtype
    if then is not None:
        second = compile_function(
            then, arguments, weight_dtype=weight_dtype, leading=("v", "value"), role="vertex",
            value_dtype=layout or taken,
        )  # fmt: skip
    if commit is not None:
        third = typed(graph, commit, arguments, ("v",), "vertex")
    return Call(function, values, reduce, taken, second, third, layout, (fn, args, then, commit, dtype))


def bind_map(graph: Graph, fn: Any, args: tuple[Any, ...]) -> Call:
    """Return the call of ``fn`` for vertices; a first parameter ``i`` gets the position of the vertex."""
    arguments, values = arguments_of(graph, args)
    return Call(typed(graph, fn, arguments, with_position(fn, ("v",)), "vertex"), values, given=(fn, args))


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
    return Call(function, values, given=(fn, args))


def bind_intersection(graph: Graph, fn: Any, args: tuple[Any, ...], *, everything: bool) -> Call:
    """Return the call of ``fn`` for common neighbours of pairs, with the arguments ``args``.

    ``fn`` None: the function that counts common neighbours. A function with effects may return nothing.
    ``everything``: the pairs are all edges of the graph, so that ``fn`` must not take a position ``i``.
    """
    fn = one if fn is None else fn
    leading = with_position(fn, ("u", "v", "x"))
    if everything and leading[0] == "i":
        raise RequirementError("i is the position in u and v: pass them, or take the parameter i away")
    arguments, values = arguments_of(graph, args)
    return Call(typed(graph, fn, arguments, leading, "effect"), values, given=(fn, args))


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
