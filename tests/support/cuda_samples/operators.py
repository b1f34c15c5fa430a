"""Some programs of every operator over a view, to be compiled on a machine without a GPU.

The first functions are what these programs call. Parameters that a function does not mention are not used in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cuda_samples import pushes
from suricate.base.types import StoreView
from suricate.cuda.program import Program
from suricate.edgefn import EdgeFunction, argument_of, compile_function
from suricate.edgefn.layout import layout_of
from suricate.edgefn.parameters import HIDDEN_NUMBER, OF_WIDTH, SCORES, labels_to_keep
from suricate.kernels.walking import Walk
from suricate.operators.call import Call, Until, Vote
from suricate.operators.cuda.loops.recording import rounds_program
from suricate.operators.cuda.programs import MERGE, program_of
from suricate.operators.cuda.pull.columns import columns_program
from suricate.operators.cuda.pull.converge import converge_program, passes_program
from suricate.operators.cuda.pull.pull import layers_program, value_macros
from suricate.state.scalar import Scalar

F32, F64, I32, U32, I64, U64 = (np.dtype(name) for name in ("f4", "f8", "i4", "u4", "i8", "u8"))

# -- functions; they take an array and a number ------------------------------------------------------------------------


def scaled(u, v, w, x, factor):
    """Return a float: the weight ``w`` times ``x`` at the destination ``v`` times ``factor``."""
    return w * x[v] * factor


def plus(u, v, w, x, step):
    """Return ``x`` at the source ``u`` plus ``step``, in the dtype of ``x``."""
    return x[u] + step


def above(v, x, limit):
    """Return whether ``x`` at vertex ``v`` is above ``limit``."""
    return x[v] > limit


def at(i, v, x, limit):
    """Return whether ``x[v]`` is above ``i + limit``, where ``i`` is the position of ``v`` in the frontier."""
    return x[v] > i + limit


def grew(v, value, x, factor):
    """Store the reduced ``value`` of vertex ``v`` in ``x`` in place; return whether it is above ``factor``."""
    x[v] = value
    return value > factor


def column(u, v, w, j, x, y):
    """Return ``x`` at the source ``u`` times the weight, in column ``j``."""
    return x[u, j] * w


def stored(v, value, j, x, y):
    """Store the reduced ``value`` of column ``j`` of vertex ``v`` in ``y``; return whether it is positive."""
    y[v, j] = value
    return value > 0


def cleared(v, j, x, y):
    """Store 0 in column ``j`` of vertex ``v`` in ``y``."""
    y[v, j] = 0


def nearest(u, v, w, x, factor):
    """Return the two fields of a word: the distance ``x[u] + w * factor``, and ``u``."""
    return x[u] + w * factor, u


def nearest_hops(u, v, w, x, factor):
    """Return the three fields of a word: the distance ``x[u] + w * factor``, ``v`` and ``u``."""
    return x[u] + w * factor, v, u


def from_source(u, v, w, x, factor, total):
    """Return ``x`` at the source ``u`` times the weight ``w``."""
    return w * x[u]


def relax(v, value, x, factor, total):
    """Add the reduced ``value`` to the scalar ``total``; return 3 (active, wake neighbours) if it is above ``factor``.

    Else return 0.
    """
    total.add(value)
    return 3 if value > factor else 0


def publish(v, x, factor, total):
    """Set ``x`` at vertex ``v`` to ``factor`` in place."""
    x[v] = factor


def votes(u, v, w, x, factor, total, keep):
    """Vote for the label ``keep[u]``, with the weight of the edge, and count that."""
    total.add(1)
    return keep[u], w


def votes_of_floats(u, v, w, x, factor, total, keep):
    """Vote for the label ``keep[u]``, with a weight that is no integer."""
    return keep[u], w * x[u]


def worth(v, label, sum, x, factor, total, keep):
    """Return how good ``label`` is for ``v``."""
    return sum - factor * x[label]


def elected(v, label, sum, x, factor, total, keep):
    """Stay active, and wake neighbours, if the label is not the one to keep."""
    return 3 if label != keep[v] else 0


def takes_turn(v, step, x, factor, total, *others):
    """Return whether ``x[v]`` is at most ``step``."""
    return x[v] <= step


def adds(i, u, v, w, x, factor):
    """Add ``factor`` and ``i``, the position of the edge, to ``x[v]`` in place."""
    x[v] += factor + i


ADDS = EdgeFunction(cuda="atomicAdd(x + v, double(factor + i));", numba=adds)


# -- programs ----------------------------------------------------------------------------------------------------------


def call_of(
    fn: Callable[..., Any] | EdgeFunction,
    dtype: np.dtype,
    leading: tuple[str, ...],
    weight_dtype: np.dtype | None,
    *,
    reduce: str = "sum",
    then: Callable[..., Any] | None = None,
    role: str = "edge",
) -> Call:
    """Return the call of an operator with ``fn``, whose arguments are an empty array of ``dtype`` and the number 1.

    Args:
        fn: the edge or vertex function.
        dtype: type of the array and of the reduced value.
        leading: names of the parameters of ``fn`` before the arguments.
        weight_dtype: type of the weights; None: unweighted.
        reduce: how values are reduced, "sum" for instance.
        then: the function called with every reduced value.
        role: the role of ``fn``: "edge" or "effect".
    """
    arguments = (argument_of(np.empty(0, dtype)), argument_of(1))
    function = compile_function(fn, arguments, weight_dtype=weight_dtype, leading=leading, role=role)
    epilogue = then and compile_function(
        then, arguments, weight_dtype=weight_dtype, leading=("v", "value"), role="vertex", value_dtype=dtype
    )
    return Call(function, (), reduce, dtype, epilogue)


def programs(view: StoreView) -> list[Program]:
    """Return one CUDA program or more of every operator's template over ``view``, to be compiled without a GPU."""
    walk = Walk(view)
    return [
        MERGE,
        rounds_program(F64),
        *_maps(walk, view),
        *_pulls(walk, view),
        *_columns(walk, view),
        *_rounds(walk, view),
        *_votes(walk, view),
        *pushes.programs(walk, view),
    ]


def _maps(walk: Walk, view: StoreView) -> list[Program]:
    chosen = call_of(above, I64, ("v",), None)
    placed = call_of(at, I64, ("i", "v"), None)
    effect = call_of(ADDS, F64, ("i", "u", "v", "w"), view.weight_dtype, role="effect")
    return [
        program_of("vertex_map.cu", None, chosen, HAS_POSITION=0, KEEPS=1),
        program_of("vertex_map.cu", None, placed, HAS_POSITION=1, KEEPS=1),
        program_of("vertex_map.cu", None, chosen, HAS_POSITION=0, KEEPS=0),
        program_of("edge_map.cu", walk, effect, OVER="OVER_OUT", HAS_POSITION=1),
        program_of("edge_map.cu", walk, effect, OVER="OVER_BOTH", HAS_POSITION=1),
    ]


def _words(walk: Walk, view: StoreView, fn: Any, keys: tuple[str, ...]) -> Program:
    layout = layout_of(tuple((f"key{i}", dtype) for i, dtype in enumerate(keys)), (("parent", "uint32"),))
    arguments = (argument_of(np.empty(0)), argument_of(1.0))
    function = compile_function(fn, arguments, weight_dtype=view.weight_dtype, result_layout=layout)
    call = Call(function, (), "argmin", layout=layout)
    return program_of("neighbor_reduce.cu", walk, call, **value_macros(call, "in"))


def _rounds(walk: Walk, view: StoreView) -> list[Program]:
    total = Scalar._of("sum", "float64")
    arguments = (argument_of(np.empty(0)), argument_of(1.0), argument_of(total))
    types: dict[str, Any] = {"weight_dtype": view.weight_dtype}
    function = compile_function(from_source, arguments, **types)
    then = compile_function(relax, arguments, leading=("v", "value"), role="vertex", value_dtype=F64, **types)
    commit = compile_function(publish, arguments, leading=("v",), role="vertex", **types)
    call = Call(function, (None, None, total), "sum", F64, then, commit)
    hindex = call_of(plus, I64, ("u", "v", "w"), view.weight_dtype, reduce="hindex", then=grew)
    pair = call._replace(values=(np.empty(2), None, total), commit=None)
    return [
        passes_program(walk, pair, "in", Until(total, 0.5), ((0, 0),), scans=True),
        passes_program(walk, pair, "both", None, ((0, 0),), scans=False),
        converge_program(walk, call, "in", "out", Until(total, 0.5), symmetric=True, scans=True),
        converge_program(walk, call._replace(commit=None), "both", "both", None, symmetric=True, scans=False),
        converge_program(walk, call, "in", "in", None, symmetric=False, scans=False),
        converge_program(walk, call, "in", None, Until(total, 0.5), symmetric=False, scans=True),
        converge_program(walk, call, "both", None, None, symmetric=False, scans=False),
        converge_program(walk, call._replace(reduce="mode"), "both", "both", None, symmetric=True, scans=False),
        converge_program(walk, hindex, "out", "out", None, symmetric=True, scans=False),
    ]


def _columns(walk: Walk, view: StoreView) -> list[Program]:
    arguments, width = (argument_of(np.empty((2, 2))),) * 2, (None, None, 5)
    types: dict[str, Any] = {"weight_dtype": view.weight_dtype}
    function = compile_function(column, (*arguments, OF_WIDTH), leading=("u", "v", "w", "j"), **types)
    leading = ("v", "value", "j")
    then = compile_function(stored, (*arguments, OF_WIDTH), leading=leading, role="vertex", value_dtype=F64, **types)
    clear = compile_function(cleared, (*arguments, OF_WIDTH), leading=("v", "j"), role="vertex", **types)
    call, few = Call(function, width, "sum", F64, columns=40), Call(function, width, "max", F64, then, columns=5)
    every = Call(clear, width, columns=5)
    return [
        columns_program(walk, call, "out"),
        columns_program(walk, few, "both"),
        program_of("vertex_map.cu", None, every, HAS_POSITION=0, KEEPS=1),
    ]


def _votes(walk: Walk, view: StoreView) -> list[Program]:
    total, keep = Scalar._of("sum", "float64"), argument_of(np.empty(0, U32))
    sums = (argument_of(np.empty(0)), argument_of(1.0), argument_of(total))
    arguments, types = (*sums, keep, HIDDEN_NUMBER), {"weight_dtype": view.weight_dtype}
    reduced: dict[str, Any] = {"leading": ("v", "label", "total"), **types}
    calls = []
    for fn, dtype in ((votes, U32), (votes_of_floats, I64)):
        function = compile_function(fn, arguments, role="vote", **types)
        score = compile_function(worth, arguments, value_dtype=function.result, **reduced)
        then = compile_function(elected, arguments, value_dtype=function.result, role="vertex", **reduced)
        calls.append(Call(function, (None, None, total), "vote", dtype, then, vote=Vote(0, 4, 3, score=score)))
    (whole, floats), step = calls, {"leading": ("v", "step"), **types}
    turns = floats._replace(turn=(compile_function(takes_turn, arguments, **step), None))
    share = compile_function(from_source, sums, **types)
    then = compile_function(relax, sums, leading=("v", "value"), role="vertex", value_dtype=F64, **types)
    by_turns = Call(
        share, (None, None, total), "sum", F64, then, turn=(compile_function(takes_turn, sums, **step), None)
    )
    plain = floats._replace(vote=Vote(0, 4))
    noted = (labels_to_keep(U32), SCORES) * 2
    function = compile_function(votes, (*arguments, *noted, HIDDEN_NUMBER), role="vote", **types)
    best = Call(function, (None, None, total), "vote", U32, vote=Vote(0, 4, 3, before=5))
    return [
        program_of("neighbor_reduce.cu", walk, best, U32, **value_macros(best, "out")),
        program_of("neighbor_reduce.cu", walk, whole._replace(then=None), U32, **value_macros(whole, "in")),
        program_of("neighbor_reduce.cu", walk, plain, I64, **value_macros(floats, "both")),
        layers_program(walk, floats, "out"),
        converge_program(walk, whole, "both", "both", Until(total, 0.5), symmetric=True, scans=False),
        converge_program(walk, turns, "in", "out", None, symmetric=True, scans=True),
        converge_program(walk, by_turns, "in", None, None, symmetric=False, scans=True),
    ]


def _pulls(walk: Walk, view: StoreView) -> list[Program]:
    def pull(fn: Any, reduce: str, dtype: np.dtype, over: str = "out", then: Any = None) -> Program:
        call = call_of(fn, dtype, ("u", "v", "w"), view.weight_dtype, reduce=reduce, then=then)
        return program_of("neighbor_reduce.cu", walk, call, dtype, **value_macros(call, over))

    shared = call_of(scaled, F64, ("u", "v", "w"), view.weight_dtype, then=grew)
    return [
        layers_program(walk, shared, "both"),
        layers_program(walk, shared._replace(then=None), "out"),
        _words(walk, view, nearest, ("float32",)),
        _words(walk, view, nearest_hops, ("float64", "uint32")),
        pull(scaled, "sum", F64),
        pull(scaled, "max", F64, "in"),
        pull(scaled, "sum", F64, "in", grew),
        pull(plus, "or", U32, "both", grew),
        pull(plus, "mode", I64, "both", grew),
        pull(plus, "hindex", U32, "both", grew),
        *(pull(plus, reduce, dtype) for reduce, dtype in (("min", I32), ("sum", I64), ("max", U64))),
        *([] if view.weight_dtype in (None, F64) else [pull(scaled, "sum", F32)]),
    ]
