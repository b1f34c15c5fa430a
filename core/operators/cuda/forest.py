"""The dependence forest on CUDA: one launch computes or repairs it (see ``suricate.structures.forest``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.cuda.program import Program, c_type
from suricate.devices import Array
from suricate.operators.call import Call
from suricate.operators.cuda.loops import LoopMemory, Outcomes, loop_grid, packed_arcs, packed_vertices, propagated
from suricate.operators.cuda.programs import Walk, launch_values, program_of, walk_of
from suricate.operators.results import Propagated
from suricate.structures.frontier import Frontier
from suricate.types import ArcList

if TYPE_CHECKING:
    from suricate.graph import Graph


def program(walk: Walk, call: Call, *, has_back: bool, ordered: bool, uniform: bool = False) -> Program:
    """Return the program for a view; ``call.commit`` gives the word that an invalid vertex starts anew with."""
    key = call.layout.fields[0]
    return program_of(
        "forest.cu", walk, call,
        IS_FOREST=1, PLAIN_WORD_LOADS=1, HAS_BACK=int(has_back), HAS_ORDER=int(ordered), ORDER_T=c_type(key.dtype),
        HAS_PULL=int(has_back and uniform), IS_UNIFORM=int(uniform), FIRST_KEY=f"word_{key.name}",
        restart_fn="commit_fn",
    )  # fmt: skip


def repair(
    graph: Graph,
    call: Call,
    words: Any,
    roots: Frontier | None,
    changes: tuple[ArcList | None, ArcList | None, ArcList | None],
    violated: Array,
    order: tuple[float, float] | None,
    uniform: bool,
) -> Propagated:
    """Propagate from ``roots``, or repair after ``changes``, in ``order``: deleted, replaced and inserted arcs."""
    walk = walk_of(graph.view("out"))
    back = walk_of(graph.view("in")) if graph.has_in_edges else walk
    made = program(walk, call, has_back=graph.has_in_edges, ordered=order is not None, uniform=uniform)
    outcome = graph.workspace.state(Outcomes).take()
    key = call.layout.fields[0].dtype.type
    bound, delta = (key(0), key(0)) if order is None else map(key, order)
    arguments = (
        walk.packed, back.packed, np.uint32(graph.num_vertices), packed_vertices(roots),
        np.int32(roots is not None), *map(packed_arcs, changes),
        words.data, graph.workspace.state(LoopMemory).of(graph), bound, delta, violated, outcome, *launch_values(call),
    )  # fmt: skip
    made.kernel("repair")(*loop_grid(graph.device), arguments)
    return propagated(graph, outcome)
