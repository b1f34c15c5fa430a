"""The CUDA programs of the operators: a kernel template, a backend's cursor and an edge function.

Assembling a program needs no CuPy and no GPU (see :func:`programs`).
"""

from __future__ import annotations

import threading
import weakref
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from suricate.cuda.program import Program, c_type
from suricate.cuda.structs import Struct, enum, view_prelude, view_struct
from suricate.edgefn import argument_of, compile_function
from suricate.operators.call import REDUCTIONS, Call
from suricate.types import StoreView

HERE = Path(__file__).parent

BLOCK = 256  #: threads per block, in all kernels but propagate
WARPS = BLOCK // 32
PAIR_TILE = 8  #: threads per pair in intersect_pairs
PROPAGATE_BLOCK = 512  #: one block per multiprocessor: a barrier gets dearer with every block
STATE_WORDS = 16  #: of 32 bits: the memory of a propagation's struct ``State``
PROGRESS = Struct("Progress", {"arrived": "uint32_t", "level": "uint32_t"})  #: what ``State`` begins with

#: what the kernels and the launches agree on, in C++
COMMON = "\n".join(
    [
        enum("", {name.upper(): number for number, name in enumerate(REDUCTIONS)}),
        enum("", {"BLOCK": BLOCK, "PROPAGATE_BLOCK": PROPAGATE_BLOCK, "PAIR_TILE": PAIR_TILE}),
        enum("", {"STATE_WORDS": STATE_WORDS}),
        PROGRESS.declaration,
    ]
)


class Walk:
    """What launches need of a view: worked out once per view."""

    def __init__(self, view: StoreView) -> None:
        self.num_vertices = view.num_vertices
        self.bound = np.uint32(view.num_vertices)  # as kernels take it
        self.header = view.header
        self.prelude = view_prelude(view)
        self._view = weakref.ref(view)

    @cached_property
    def packed(self) -> np.void:
        """The struct ``View`` of the kernels."""
        view = self._view()
        assert view is not None
        return view_struct(view.data).pack(view.data)


_walks: dict[int, tuple[weakref.ref[StoreView], Walk]] = {}


def walk_of(view: StoreView) -> Walk:
    """Return what launches need of ``view``, worked out once."""
    key = id(view)
    held = _walks.get(key)
    if held is not None and held[0]() is view:
        return held[1]
    walk = Walk(view)
    _walks[key] = weakref.ref(view, lambda _: _walks.pop(key, None)), walk
    return walk


def call_text(call: Call) -> str:
    """Return the C++ of a call: the macros of its reduction and arguments, and its functions.

    The prelude of the view, if there is one, comes before it. What the macros are for: ``operators.cuh``.
    """
    macros = {"REDUCE": call.reduce.upper(), **call.function.macros}
    defines = [f"#define {name} {value}" for name, value in macros.items()]
    return "\n".join([*defines, call.function.cuda_source("edge_fn")])


def launch_values(call: Call) -> tuple[Any, ...]:
    """Return what kernels are passed for ``PARAMS``; to be called once per operator, for all of its launches."""
    return tuple(argument.packed(value) for argument, value in zip(call.function.arguments, call.values, strict=True))


_programs: dict[tuple, Program] = {}
_lock = threading.Lock()  # of adding to _programs: one program is compiled once, whichever threads ask


def program_of(template: str, walk: Walk | None, call: Call, dtype: np.dtype, over: str = "out") -> Program:
    """Return :func:`_program`, made once."""
    key = (template, walk and walk.prelude, call.function.key, call.reduce, dtype, over)
    program = _programs.get(key)
    if program is None:
        with _lock:
            program = _programs.get(key) or _programs.setdefault(key, _program(template, walk, call, dtype, over))
    return program


def _program(template: str, walk: Walk | None, call: Call, dtype: np.dtype, over: str = "out") -> Program:
    """Return a template over the cursor of ``walk`` (None: it walks nothing), with an edge function and a reduction."""
    lines = [COMMON, f"#define OVER_IN {int(over == 'in')}", f"typedef {c_type(dtype)} out_t;"]
    if walk is not None:
        lines.append(walk.prelude)
    lines.append(call_text(call))
    include = (HERE,) if walk is None else (HERE, walk.header.parent)
    return Program(HERE / template, "\n".join(lines), include=include, cooperative=template == "propagate.cu")


def programs(view: StoreView) -> list[Program]:
    """Return one program or more of every template over ``view``, to be compiled without a GPU."""
    walk = Walk(view)
    f32, f64, i32, u32, i64, u64 = (np.dtype(name) for name in ("f4", "f8", "i4", "u4", "i8", "u8"))

    def sample(
        template: str,
        fn: Any,
        reduce: str,
        dtype: np.dtype,
        over: str = "out",
        leading: tuple[str, ...] = ("u", "v", "w"),
    ) -> Program:
        arguments = (argument_of(np.empty(0, dtype)), argument_of(1))
        function = compile_function(fn, arguments, weight_dtype=view.weight_dtype, leading=leading)
        return _program(template, walk if template != "filter.cu" else None, Call(function, (), reduce), dtype, over)

    def scaled(u, v, w, x, factor):
        return w * x[v] * factor

    def plus(u, v, w, x, step):
        return x[u] + step

    def above(v, x, limit):
        return x[v] > limit

    floats = [
        sample("neighbor_reduce.cu", scaled, "sum", f64),
        sample("neighbor_reduce.cu", scaled, "max", f64, over="in"),
    ]
    if view.weight_dtype != f64:
        floats.append(sample("neighbor_reduce.cu", scaled, "sum", f32 if view.weight_dtype in (None, f32) else f64))
    return [
        *floats,
        *(
            sample("neighbor_reduce.cu", plus, reduce, dtype)
            for reduce, dtype in (("min", i32), ("sum", i64), ("max", u64))
        ),
        *(sample("advance.cu", plus, "min", dtype) for dtype in (f32, f64, i32, u32, i64, u64)),
        *(sample("advance.cu", plus, reduce, dtype) for reduce, dtype in (("max", f32), ("max", f64), ("sum", f64))),
        *(sample("advance.cu", plus, reduce, dtype) for reduce, dtype in (("sum", i64), ("or", i64), ("or", u32))),
        *(sample("propagate.cu", plus, "min", dtype) for dtype in (i32, i64, f32)),
        sample("propagate.cu", plus, "max", u64),
        sample("filter.cu", above, "sum", i64, leading=("v",)),
    ]
