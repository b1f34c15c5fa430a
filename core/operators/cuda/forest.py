"""The dependence forest on CUDA: one launch computes or repairs it (see ``suricate.operators.forest``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.cuda.kernel import PreparedKernel
from suricate.cuda.program import Program, c_type
from suricate.devices import Array
from suricate.operators.call import Call
from suricate.operators.cuda.loops import (
    NO_ARCS,
    NO_VERTICES,
    LoopMemory,
    Outcomes,
    arc_values,
    loop_grid,
    packed_vertices,
    propagated,
)
from suricate.operators.cuda.programs import Walk, launch_values, program_of, walk_of
from suricate.operators.cuda.push_structs import ARCS, DENSE, DENSE_BLOCK, PROPAGATE_BLOCK
from suricate.operators.results import Propagated
from suricate.structures.frontier import Frontier
from suricate.types import ArcList, StoreView

if TYPE_CHECKING:
    from suricate.graph import Graph

# places of the arguments of ``repair``, in ``forest.cu``
VIEW, BACK, NUM_VERTICES, ROOTS, ANEW = range(5)
ARC_LISTS = 5, 6, 7
TREE, MEMORY, WIDTH, VIOLATED, OUTCOME_AT, PARAMS = range(8, 14)


def program(
    walk: Walk, call: Call, *, has_back: bool, ordered: bool, uniform: bool = False, threads: int = PROPAGATE_BLOCK
) -> Program:
    """Return the program for a view; ``call.commit`` gives the word that an invalid vertex starts anew with."""
    key = call.layout.fields[0]
    return program_of(
        "forest.cu", walk, call,
        IS_FOREST=1, PLAIN_WORD_LOADS=1, HAS_BACK=int(has_back), HAS_WINDOW=int(ordered), ORDER_T=c_type(key.dtype),
        HAS_PULL=int(has_back and uniform and not ordered), IS_UNIFORM=int(uniform), FIRST_KEY=f"word_{key.name}",
        restart_fn="commit_fn", PROPAGATE_BLOCK=threads,
    )  # fmt: skip


class Repairs:
    """The launches of one forest on one graph: what stays from one to the next is packed once.

    Args:
        graph: the graph.
        call: offer, restart (as ``commit``) and their arguments.
        words: those of the forest.
        violated: ``uint32[1]``.
        uniform: whether an offer depends on its maker alone.
        threads: of a block.
    """

    def __init__(
        self, graph: Graph, call: Call, words: Any, violated: Array, uniform: bool, threads: int = PROPAGATE_BLOCK
    ) -> None:
        self.graph, self._call, self._words, self._violated, self._uniform = graph, call, words, violated, uniform
        self._threads = threads
        self._dense: Repairs | None = None  # what computes from scratch on dense graphs
        self._outcomes, self._loop_memory = graph.workspace.state(Outcomes), graph.workspace.state(LoopMemory)
        self._key = call.layout.fields[0].dtype.type
        arguments = enumerate(zip(call.function.arguments, call.values, strict=True), start=PARAMS)
        self._changing = [(place, *one) for place, one in arguments if one[0].kind not in ("array", "scalar")]
        self._out: StoreView | None = None
        self._back: StoreView | None = None
        self._ordered = False
        self._kind: tuple[str, bool, bool] | None = None  # what the program depends on
        self._kernel: PreparedKernel
        self._memory: np.void | None = None
        self._roots: Frontier | None = None
        self._width: float | None = None

    def run(
        self,
        roots: Frontier | None,
        changes: tuple[ArcList | None, ArcList | None, ArcList | None],
        order: tuple[float, float] | None,
    ) -> Propagated:
        """Propagate from ``roots``, or repair after ``changes``, in ``order``: deleted, replaced, inserted arcs."""
        graph = self.graph
        if roots is None or graph.most_arcs <= DENSE * graph.num_vertices:
            return self._launch(roots, changes, order)
        if self._dense is None:
            self._dense = Repairs(graph, self._call, self._words, self._violated, self._uniform, DENSE_BLOCK)
        return self._dense._launch(roots, changes, order)

    def _launch(
        self,
        roots: Frontier | None,
        changes: tuple[ArcList | None, ArcList | None, ArcList | None],
        order: tuple[float, float] | None,
    ) -> Propagated:
        graph = self.graph
        out = graph.view("out")
        back = graph.view("in") if graph.has_in_edges else out
        memory, outcome = self._loop_memory.of(graph), self._outcomes.take()
        if out is not self._out or back is not self._back or self._ordered is (order is None):
            self._walk(out, back, order is not None)
        kernel = self._kernel
        if roots is not self._roots or roots is not None:
            kernel.put(ROOTS, packed_vertices(roots))
            kernel.put(ANEW, np.int32(roots is not None))
            self._roots = roots
        for place, arcs in zip(ARC_LISTS, changes, strict=True):
            kernel.put_struct(place, ARCS.packer, arc_values(arcs))
        kernel.put(TREE, self._words.data)
        if memory is not self._memory:
            kernel.put(MEMORY, memory)
            self._memory = memory
        if order is not None and order[1] != self._width:
            kernel.put(WIDTH, self._as_key(order[1]))
            self._width = order[1]
        kernel.put(OUTCOME_AT, outcome.address)
        for place, argument, value in self._changing:
            kernel.put(place, argument.packed(value))
        kernel.launch()
        return propagated(graph, outcome)

    def _as_key(self, value: float) -> Any:
        """Return ``value`` in the dtype of the first key, at most its greatest."""
        dtype = np.dtype(self._key)
        return self._key(value if dtype.kind == "f" else min(value, np.iinfo(dtype).max))

    def _walk(self, out: StoreView, back: StoreView, ordered: bool) -> None:
        """Walk these views from now on."""
        walk, back_walk, call = walk_of(out), walk_of(back), self._call
        kind = walk.prelude, self.graph.has_in_edges, ordered
        self._out, self._back, self._ordered = out, back, ordered
        if kind == self._kind:
            self._kernel.put(VIEW, walk.packed)
            self._kernel.put(BACK, back_walk.packed)
            self._kernel.put(NUM_VERTICES, walk.bound)
            return
        made = program(walk, call, has_back=kind[1], ordered=ordered, uniform=self._uniform, threads=self._threads)
        self._kind, self._memory, self._roots, self._width = kind, None, None, None
        arguments = (
            walk.packed, back_walk.packed, walk.bound, NO_VERTICES, np.int32(0), NO_ARCS, NO_ARCS, NO_ARCS,
            self._words.data, self._loop_memory.of(self.graph), self._key(0), self._violated, np.uint64(0),
            *launch_values(call),
        )  # fmt: skip
        (blocks,), (threads,) = loop_grid(self.graph.device, self._threads)
        self._kernel = PreparedKernel(made.kernel("repair"), blocks, threads, arguments)
