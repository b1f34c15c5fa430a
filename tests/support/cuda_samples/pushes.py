"""Some programs of pushes over a view, to be compiled on a machine without a GPU.

The first functions are what these programs call. Parameters that a function does not mention are not used in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suricate.base.types import EMPTY, StoreView
from suricate.cuda.program import Program
from suricate.edgefn import EDGE, Argument, argument_of, compile_function
from suricate.edgefn.layout import Layout, layout_of
from suricate.kernels.walking import Walk
from suricate.operators.call import Call
from suricate.operators.cuda.programs import PROPAGATE_BLOCK, program_of

LOOP = {"PROPAGATE_BLOCK": PROPAGATE_BLOCK}
F32, F64, I32, U32, I64, U64 = (np.dtype(name) for name in ("f4", "f8", "i4", "u4", "i8", "u8"))


def plus(u, v, w, x, step):
    """Return ``x`` at the source ``u`` plus ``step``, in the dtype of ``x``."""
    return x[u] + step


def joins(v, step, x, limit):
    """Return whether vertex ``v`` joins the next frontier: ``x`` at ``v`` is above ``step + limit``."""
    return x[v] > step + limit


def farther(u, v, w, words):
    """Return the offer of ``u`` to ``v``: its distance in ``words`` plus the weight ``w``, and ``u`` as parent."""
    return words.distance[u] + w, u


def unreached(v, words):
    """Return distance and parent, the fields of the word of a vertex that no offer reaches: EMPTY both."""
    return EMPTY, EMPTY


def farther_by_hops(u, v, w, words):
    """Return the offer of ``u`` to ``v``: its distance in ``words`` plus ``w``, hops plus 1, and ``u`` as parent."""
    return words.distance[u] + w, words.hops[u] + 1, u


def unreached_by_hops(v, words):
    """Return distance, hops and parent, the fields of the word of a vertex that no offer reaches: EMPTY all."""
    return EMPTY, EMPTY, EMPTY


def programs(walk: Walk, view: StoreView) -> list[Program]:
    """Return some programs of ``advance.cu`` and ``propagate.cu`` over ``view``; ``walk`` is ``Walk(view)``."""
    by_hops = call_by_hops(view)
    return [
        *(_push(walk, view, "advance.cu", "min", dtype) for dtype in (F32, F64, I32, U32, I64, U64)),
        *(_push(walk, view, "advance.cu", "max", dtype) for dtype in (F32, F64)),
        *(_push(walk, view, "advance.cu", "sum", dtype, SECOND_VIEW=1) for dtype in (F64, I64)),
        *(_push(walk, view, "advance.cu", "or", dtype) for dtype in (I64, U32)),
        *(_push(walk, view, "propagate.cu", "min", dtype) for dtype in (I32, I64, F32)),
        _push(walk, view, "propagate.cu", "max", U64),
        _push(walk, view, "propagate.cu", "sum", F64, HAS_PULL=1),
        *(_by_layer(walk, view, dtype) for dtype in (F32, F64, I64)),
        _once(walk, view),
        program_of("advance.cu", walk, by_hops, SECOND_VIEW=0),
        program_of("propagate.cu", walk, by_hops, None, **LOOP),
        program_of("propagate.cu", walk, by_hops, None, HAS_PULL=1, **LOOP),
    ]


def call_by_distance(view: StoreView) -> Call:
    """Return the call of a push that offers words: a distance, of the weight dtype of ``view``, and a parent."""
    return _words_call(view, layout_of((("distance", _distance(view)),), (("parent", "uint32"),)), farther, unreached)


def call_by_hops(view: StoreView) -> Call:
    """Return the call of a push that offers words: a distance, of the weight dtype of ``view``, hops, and a parent."""
    words = layout_of((("distance", _distance(view)), ("hops", "uint32")), (("parent", "uint32"),))
    return _words_call(view, words, farther_by_hops, unreached_by_hops)


def _distance(view: StoreView) -> str:
    return "uint32" if view.weight_dtype is None else view.weight_dtype.name


def _push(walk: Walk, view: StoreView, template: str, reduce: str, dtype: np.dtype, **macros: int) -> Program:
    function = compile_function(plus, _arguments(dtype), weight_dtype=view.weight_dtype, leading=EDGE)
    macros = {"SECOND_VIEW": 0, **macros} if template == "advance.cu" else {**LOOP, **macros}
    return program_of(template, walk, Call(function, (), reduce, dtype), dtype, **macros)


def _by_layer(walk: Walk, view: StoreView, dtype: np.dtype) -> Program:
    """Return a program of a propagation that sums by layer, over out- and in-edges, with a function ``then``."""
    function = compile_function(plus, _arguments(dtype), weight_dtype=view.weight_dtype, leading=EDGE)
    then = compile_function(
        joins, _arguments(dtype), weight_dtype=view.weight_dtype, leading=("v", "step"), role="vertex"
    )
    call = Call(function, (), "sum", dtype, then)
    return program_of("propagate.cu", walk, call, dtype, OVER_BOTH_VIEWS=1, HAS_LAYERS=1, **LOOP)


def _once(walk: Walk, view: StoreView) -> Program:
    """Return a program of a propagation that may pull, with a function ``then``; ``walk`` is ``Walk(view)``."""
    function = compile_function(plus, _arguments(U32), weight_dtype=view.weight_dtype, leading=EDGE)
    then = compile_function(
        joins, _arguments(U32), weight_dtype=view.weight_dtype, leading=("v", "step"), role="vertex"
    )
    return program_of("propagate.cu", walk, Call(function, (), "min", U32, then), U32, HAS_PULL=1, **LOOP)


def _arguments(dtype: np.dtype) -> tuple[Argument, ...]:
    return argument_of(np.empty(0, dtype)), argument_of(1)


def _words_call(view: StoreView, words: Layout, offer: Callable[..., Any], restart: Callable[..., Any]) -> Call:
    arguments = (Argument("words", None, words),)

    def bound(fn: Callable[..., Any], leading: tuple[str, ...]) -> Any:
        return compile_function(fn, arguments, weight_dtype=view.weight_dtype, leading=leading, result_layout=words)

    return Call(bound(offer, EDGE), (), "argmin", None, None, bound(restart, ("v",)), words)
