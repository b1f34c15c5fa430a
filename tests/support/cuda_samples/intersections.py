"""Some programs of ``intersect`` over a view and an edge set, to be compiled on a machine without a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.effects import atomic
from suricate.base.types import StoreView
from suricate.cuda.program import Program
from suricate.edgefn import argument_of, compile_function
from suricate.kernels.walking import Walk
from suricate.operators.binding import one
from suricate.operators.call import Call
from suricate.operators.cuda.intersect.intersect import pairs_program, rows_program
from suricate.state.edges.edge_set import EdgeSet
from suricate.state.scalar import Scalar


def programs(view: StoreView, edges: EdgeSet) -> list[Program]:
    """Return CUDA programs of ``intersect`` over ``view``, and over ``view`` and ``edges``, to be compiled."""
    walk, second = Walk(view), Walk(edges.view())

    def value(i, u, v, x, values, offset):
        return values[x] + offset + i

    def plain(u, v, x, values, offset):
        return values[x] * offset

    def effect(u, v, x, counts, total, batch):
        if (u, x) not in batch:
            atomic.add(counts, x, 1)
            total.add(1)

    def ends(u, v, x, a, b):
        return a * b

    def call(fn: Any, dtype: str, leading: tuple[str, ...], *arguments: Any, right: Any = None) -> Call:
        types, given = tuple(map(argument_of, arguments)), view.weight_dtype
        function = compile_function(fn, types, weight_dtype=given, leading=leading, role="effect", value_dtype=right)
        return Call(function, (), dtype=np.dtype(dtype))

    vertices, some = ("u", "v", "x"), np.empty(0, np.float64)
    count, floats = call(one, "int64", vertices), call(plain, "float64", vertices, some, 1.0)
    placed = call(value, "float64", ("i", *vertices), some, 1)
    effects = call(effect, "int64", vertices, np.empty(0, np.int64), Scalar._of("sum", "int64"), edges)
    made = [rows_program(walk)]
    made += [pairs_program("oriented.cu", (walk, walk), 0, count, corners) for corners in (0, 1)]
    made += [pairs_program("oriented.cu", (walk, walk), 0, floats, corners) for corners in (0, 2)]
    made.append(pairs_program("oriented.cu", (walk, walk), 0, effects, 0, by_id=True))
    of_two = [
        call(ends, "float64", (*vertices, "a", "b"), right=one_view.weight_dtype) for one_view in (view, edges.view())
    ]
    for template in ("intersect.cu", "intersect_stream.cu"):
        made.append(pairs_program(template, (walk, walk), 0, of_two[0], 0))
        made.append(pairs_program(template, (walk, second), 0, of_two[1], 0))
        made.append(pairs_program(template, (walk, walk), 0, count, 0))
        made.append(pairs_program(template, (walk, second), 0, placed, 0))
        made.append(pairs_program(template, (second, walk), 1, floats, 0))
        made += [
            pairs_program(template, walks, main, effects, 0) for walks, main in (((walk, walk), 0), ((second, walk), 1))
        ]
    return made
