"""The dependence forest on CUDA: one launch computes or repairs it (see ``suricate.repair.forest``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import ArcList, PlacedArcs, StoreView
from suricate.cuda.kernel import PreparedKernel
from suricate.cuda.program import Program, c_type
from suricate.edgefn import bounds
from suricate.graph import Graph
from suricate.kernels.arcs import ARCS, NO_VALUES, arc_values, packed_arcs
from suricate.kernels.walking import Walk, walk_of
from suricate.operators.call import Call
from suricate.operators.cuda.loops.loop_memory import (
    NO_VERTICES,
    LoopMemory,
    Outcomes,
    loop_grid,
    packed_vertices,
    propagated,
)
from suricate.operators.cuda.programs import DENSE, DENSE_BLOCK, PROPAGATE_BLOCK, launch_values, program_of
from suricate.operators.results import Propagated
from suricate.state.frontier import Frontier

SOURCE = Path(__file__).with_name("forest.cu")
# places of the arguments of ``repair``, in ``forest.cu``
VIEW, BACK, NUM_VERTICES, ROOTS = range(4)
ARC_LISTS = 4
TREE, MEMORY, WIDTH, VIOLATED, OUTCOME_AT, PARAMS = range(7, 13)
Changes = tuple[ArcList | PlacedArcs | None, ...]  # deleted, replaced, inserted


class Form(NamedTuple):
    """A variant of the program that computes or repairs a forest.

    Attributes:
        from_scratch: whether it computes a forest from scratch; False: it repairs one.
        has_back: whether there are in-edges.
        ordered: whether vertices push in the order of their keys.
        uniform: whether a vertex offers the same word along all its edges.
        threads: threads of a block.
    """

    from_scratch: bool
    has_back: bool
    ordered: bool
    uniform: bool = False
    threads: int = PROPAGATE_BLOCK


def program(walk: Walk, call: Call, form: Form) -> Program:
    """Return the program of the variant ``form`` for the functions of ``call`` and the kind of view of ``walk``."""
    key, (from_scratch, has_back, ordered, uniform, threads) = call.layout.fields[0], form
    return program_of(
        SOURCE, walk, call,
        IS_FOREST=1, PLAIN_WORD_LOADS=1, FROM_SCRATCH=int(from_scratch), HAS_BACK=int(has_back),
        HAS_WINDOW=int(ordered), FIRST_KEY_T=c_type(key.dtype), IS_UNIFORM=int(uniform),
        HAS_PULL=int(from_scratch and has_back and uniform and not ordered),
        FIRST_KEY=f"word_{key.name}", restart_fn="commit_fn", PROPAGATE_BLOCK=threads,
    )  # fmt: skip


class Repairs:
    """The computations and repairs of one forest on one graph.

    On dense graphs the kernel that computes a forest from scratch is launched with more threads per block.

    Args:
        graph: the graph.
        call: the functions offer (``function``) and restart (``commit``), and their arguments.
        words: the words of the forest.
        violated: ``uint32[1]``, becomes 1 if the keys of an offer do not grow.
        uniform: whether a vertex offers the same word along all its edges.
    """

    def __init__(self, graph: Graph, call: Call, words: Any, violated: Array, uniform: bool) -> None:
        self.graph, self._given, self._uniform = graph, (graph, call, words, violated), uniform
        self._repairs = _Launches(*self._given, self._form(from_scratch=False))
        self._prepared: tuple[str, bool] | None = None  # the view and order whose programs are being compiled
        self._computations: dict[int, _Launches] = {}  # by threads of a block

    def run(self, roots: Frontier | None, changes: Changes, width: float | None) -> Propagated:
        """Compute or repair the forest without a wait; the numbers of steps and pushes stay on the device."""
        if roots is None:
            return self._repairs.repair(changes, width)
        self._prepare(width is not None)
        graph = self.graph
        threads = DENSE_BLOCK if graph.most_arcs > DENSE * graph.num_vertices else PROPAGATE_BLOCK
        launches = self._computations.get(threads)
        if launches is None:
            form = self._form(from_scratch=True, threads=threads)
            launches = self._computations[threads] = _Launches(*self._given, form)
        return launches.compute(roots, width)

    def _form(self, *, from_scratch: bool, threads: int = PROPAGATE_BLOCK, ordered: bool = False) -> Form:
        return Form(from_scratch, self.graph.has_in_edges, ordered, self._uniform, threads)

    def _prepare(self, ordered: bool) -> None:
        """Start to compile, in other threads, all programs that a later computation or repair may need."""
        graph, call, *_ = self._given
        walk = walk_of(graph.view("out"))
        if self._prepared == (walk.prelude, ordered):
            return
        self._prepared = walk.prelude, ordered
        for from_scratch, threads in ((True, PROPAGATE_BLOCK), (False, PROPAGATE_BLOCK), (True, DENSE_BLOCK)):
            form = self._form(from_scratch=from_scratch, threads=threads, ordered=ordered)
            program(walk, call, form).prepare()


class _Launches:
    """The launches of one program, the variant ``form``; arguments that stay the same are packed once."""

    def __init__(self, graph: Graph, call: Call, words: Any, violated: Array, form: Form) -> None:
        self._graph, self._call, self._words, self._violated, self._form = graph, call, words, violated, form
        self._outcomes, self._loop_memory = graph.workspace.state(Outcomes), graph.workspace.state(LoopMemory)
        self._key = call.layout.fields[0].dtype.type
        arguments = enumerate(zip(call.function.arguments, call.values, strict=True), start=PARAMS)
        changing = [(place, *one) for place, one in arguments if one[0].kind not in ("array", "scalar")]
        self._trees = [] if bounds.CHECKED else [place for place, _, value in changing if value is words]
        self._changing = [one for one in changing if one[0] not in self._trees]
        self._out: StoreView | None = None
        self._back: StoreView | None = None
        self._ordered = False
        self._kind: tuple[str, bool, bool] | None = None  # what the program depends on
        self._kernel: PreparedKernel
        self._memory: np.void | None = None
        self._width: float | None = None
        self._arcs: list[tuple[int, ...]] = []
        self._tree: Array | None = None

    def compute(self, roots: Frontier, width: float | None) -> Propagated:
        """Compute the forest from ``roots``; ``width`` and the result are those of :meth:`Repairs.run`."""
        self._prepare(width)
        self._kernel.put(ROOTS, packed_vertices(roots))
        return self._launch()

    def repair(self, changes: Changes, width: float | None) -> Propagated:
        """Repair the forest after ``changes``; ``width`` and the result are those of :meth:`Repairs.run`."""
        self._prepare(width)
        for i, arcs in enumerate(changes):
            values = arc_values(arcs)
            if values != self._arcs[i]:
                self._kernel.put_struct(ARC_LISTS + i, ARCS.packer, values)
                self._arcs[i] = values
        return self._launch()

    def _prepare(self, width: float | None) -> None:
        """Pack those arguments that have changed since the last launch: views, scratch memory, the width of windows."""
        graph = self._graph
        out = graph.view("out")
        back = graph.view("in") if graph.has_in_edges else out
        if out is not self._out or back is not self._back or self._ordered is (width is None):
            self._walk(out, back, width is not None)
        memory = self._loop_memory.of(graph)
        if memory is not self._memory:
            self._kernel.put(MEMORY, memory)
            self._memory = memory
        if width is not None and width != self._width:
            self._kernel.put(WIDTH, self._as_key(width))
            self._width = width

    def _launch(self) -> Propagated:
        kernel, outcome, tree = self._kernel, self._outcomes.take(), self._words.data
        kernel.put(OUTCOME_AT, outcome.address)
        if tree is not self._tree:
            kernel.put(TREE, tree)
            for place in self._trees:
                kernel.put(place, tree)
            self._tree = tree
        for place, argument, value in self._changing:
            kernel.put(place, argument.packed(value))
        kernel.launch()
        return propagated(self._graph, outcome)

    def _as_key(self, value: float) -> Any:
        """Return ``value`` in the dtype of the first key; if it is too large, the greatest finite one of the dtype."""
        dtype = np.dtype(self._key)
        greatest = float(np.finfo(dtype).max) if dtype.kind == "f" else np.iinfo(dtype).max
        return self._key(min(value, greatest))

    def _walk(self, out: StoreView, back: StoreView, ordered: bool) -> None:
        """Use the views ``out``, of out-edges, and ``back``, of in-edges, from now on."""
        walk, back_walk, call = walk_of(out), walk_of(back), self._call
        kind = walk.prelude, self._graph.has_in_edges, ordered
        self._out, self._back, self._ordered = out, back, ordered
        if kind == self._kind:
            self._kernel.put(VIEW, walk.packed)
            self._kernel.put(BACK, back_walk.packed)
            self._kernel.put(NUM_VERTICES, walk.bound)
            return
        made = program(walk, call, self._form._replace(has_back=kind[1], ordered=ordered))
        self._kind, self._memory, self._width, self._tree = kind, None, None, None
        self._arcs = [NO_VALUES, NO_VALUES, NO_VALUES]
        arguments = (
            walk.packed, back_walk.packed, walk.bound, NO_VERTICES, *[packed_arcs(None)] * 3, self._words.data,
            self._loop_memory.of(self._graph), self._key(0), self._violated, np.uint64(0), *launch_values(call),
        )  # fmt: skip
        (blocks,), (threads,) = loop_grid(self._graph.device, self._form.threads)
        self._kernel = PreparedKernel(made.kernel("repair"), blocks, threads, arguments)
