"""Pushes until no vertex changes on CUDA: ``propagate``, and ``advance`` with ``then``, which is its first step.

Each is one cooperative launch (``propagate.cu``). The packed launch is kept per graph, so that a later call with the
same functions and types only replaces the arguments that differ. Nothing here waits for the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import ArcList
from suricate.cuda.kernel import PreparedKernel
from suricate.cuda.program import Program
from suricate.graph import Graph
from suricate.kernels.arcs import ARCS, NO_VALUES, arc_values, packed_arcs
from suricate.kernels.walking import Walk, walk_of
from suricate.operators.call import Call, Start
from suricate.operators.cuda.launches import NULL, Counters, distinct_vertices
from suricate.operators.cuda.loops.loop_memory import (
    NO_VERTICES,
    LoopMemory,
    Outcome,
    Outcomes,
    loop_grid,
    propagated,
    vertices_values,
)
from suricate.operators.cuda.programs import PROPAGATE_BLOCK, VERTICES, array_of, launch_values, program_of
from suricate.operators.results import Layers, Propagated, empty_layers
from suricate.state.frontier import Frontier

VIEWS = {"out": ("out",), "in": ("in",), "both": ("out", "in")}  #: whose edges a push walks
BOTH_WAYS = {"out": ("out", "in"), "in": ("in", "out")}  #: those, and whose edges a step walks that pulls
ARC_LISTS = 3  #: of one launch of a loop
MOST = 32  #: launches that are kept per graph
#: places of the parameters of ``propagate``
VIEW, OTHER, NUM_VERTICES, FROM, FIRST_ARCS, OUT, MEMORY, MAX_STEPS, ONCE = 0, 1, 2, 3, 4, 7, 8, 9, 10
LAYERS, OUTCOME_AT = 11, 15

_Target = tuple[Array, tuple[Any, ...]]  # what is reduced into, and the values of the functions' arguments


def advance_in_two_phases(graph: Graph, call: Call, start: Start, out: Any, over: str) -> Frontier:
    """Push once from ``start`` into ``out``, in place, then run ``then`` for the vertices that changed."""
    queue, count = graph.device.xp.empty(graph.num_vertices, np.uint32), graph.workspace.state(Counters).count()
    memory = graph.workspace.state(LoopMemory).with_frontier(graph, queue)
    _launch(graph, call, start, out, over, memory, 1, "", None, count.address)
    return Frontier._of(graph.device, queue, count, num_vertices=graph.num_vertices)


def propagate(
    graph: Graph,
    call: Call,
    start: Start,
    out: Any,
    over: str,
    max_steps: int,
    layers: bool,
    once: str,
) -> Propagated:
    """Push from ``start`` until no vertex joins the frontier, or for ``max_steps`` steps; return the outcome.

    If there are ``layers``, and a vertex joins twice, ``CapacityError`` is raised when a number of the outcome is read.
    """
    if not start.at_most or max_steps == 0:
        none = empty_layers(graph.device, graph.num_vertices, 0) if layers else None
        return Propagated.of(0, 0, not start.at_most, layers=none)
    kept = empty_layers(graph.device, graph.num_vertices, graph.num_vertices) if layers else None
    memory = graph.workspace.state(LoopMemory).of(graph)
    outcome = _launch(graph, call, start, out, over, memory, max_steps, once, kept, NULL)
    return propagated(graph, outcome, kept)


def program(
    graph: Graph, call: Call, start: Start, out: Any, over: str, max_steps: int, layers: bool, once: str
) -> Program:
    """Return the program that :func:`propagate`, with the same arguments, launches."""
    walks, pulls = _walks(graph, over, once, has_layers=layers)
    return _program(walks[0], call, has_layers=layers, both=over == "both", pulls=pulls)


def _program(walk: Walk, call: Call, *, has_layers: bool, both: bool, pulls: bool) -> Program:
    return program_of(
        "propagate.cu", walk, call, call.dtype,
        PLAIN_WORD_LOADS=1, OVER_BOTH_VIEWS=int(both), HAS_LAYERS=int(has_layers),
        HAS_PULL=int(pulls), PROPAGATE_BLOCK=PROPAGATE_BLOCK,
    )  # fmt: skip


def _walks(graph: Graph, over: str, once: str, *, has_layers: bool) -> tuple[list[Walk], bool]:
    """Return the walks of the views that a call reads, and whether its steps may pull."""
    pulls = bool(once) and over != "both" and not has_layers and graph.has_in_edges
    return [walk_of(graph.view(direction)) for direction in (BOTH_WAYS if pulls else VIEWS)[over]], pulls


def _launch(
    graph: Graph,
    call: Call,
    start: Start,
    out: Any,
    over: str,
    memory: np.void,
    max_steps: int,
    once: str,
    layers: Layers | None,
    left_count: np.uint64,
) -> Outcome:
    """Launch all steps of a propagation; return its outcome, which is on the device."""
    frontier, arcs = distinct_vertices(graph, start), [one for one in start.arcs if one.size]
    walks, pulls = _walks(graph, over, once, has_layers=layers is not None)
    target = array_of(out), launch_values(call)
    made, both = graph.workspace.state(_Loops), over == "both"
    types = call.function, call.then, call.reduce, call.dtype, call.layout
    key = *types, walks[0].prelude, layers is None, both, pulls
    loop = made.get(key)
    if loop is None:
        if len(made) >= MOST:
            made.clear()
        loop = made[key] = _Loop(graph, walks, call, target, layers, both=both, pulls=pulls)
    loop.start(walks, frontier, _few(graph, arcs))
    loop.go_on(memory, max_steps, once, layers)
    outcome = graph.workspace.state(Outcomes).take()
    loop.launch(target, outcome, left_count)
    return outcome


class _Loops(dict[tuple[Any, ...], "_Loop"]):
    """The packed launches of ``propagate.cu`` for one graph, by their functions, types and kind of view."""

    def __init__(self, device: Device) -> None:
        super().__init__()


class _Loop:
    """A packed launch of ``propagate.cu``; its methods replace the arguments that differ from call to call."""

    def __init__(
        self,
        graph: Graph,
        walks: list[Walk],
        call: Call,
        target: _Target,
        layers: Layers | None,
        *,
        both: bool,
        pulls: bool,
    ) -> None:
        program = _program(walks[0], call, has_layers=layers is not None, both=both, pulls=pulls)
        self._walks = walks
        self._arcs: list[tuple[int, ...]] = [NO_VALUES] * ARC_LISTS
        self._memory, self._steps = graph.workspace.state(LoopMemory).of(graph), (0, 0)
        out, values = target
        arguments = (
            walks[0].packed, walks[-1].packed, walks[0].bound, NO_VERTICES, *[packed_arcs(None)] * ARC_LISTS, out,
            self._memory, np.uint32(0), np.int32(0), *_by_layer(layers), NULL, NULL, *values,
        )  # fmt: skip
        (blocks,), (threads,) = loop_grid(graph.device)
        self._kernel = PreparedKernel(program.kernel("propagate"), blocks, threads, arguments)

    def start(self, walks: list[Walk], frontier: Frontier | None, arcs: list[ArcList]) -> None:
        """Set the arguments for the views and for ``frontier`` and ``arcs``, from which the first step pushes."""
        kernel = self._kernel
        if walks != self._walks:
            kernel.put(VIEW, walks[0].packed)
            kernel.put(OTHER, walks[-1].packed)
            kernel.put(NUM_VERTICES, walks[0].bound)
            self._walks = walks
        kernel.put_struct(FROM, VERTICES.packer, vertices_values(frontier))
        for i in range(ARC_LISTS):
            values = arc_values(arcs[i]) if i < len(arcs) else NO_VALUES
            if values != self._arcs[i]:
                kernel.put_struct(FIRST_ARCS + i, ARCS.packer, values)
                self._arcs[i] = values

    def go_on(self, memory: np.void, max_steps: int, once: str, layers: Layers | None) -> None:
        """Set the other arguments of the launch; those that have not changed are not packed again."""
        kernel, steps = self._kernel, (max_steps, int(once == "equal"))
        if memory is not self._memory:
            kernel.put(MEMORY, memory)
            self._memory = memory
        if steps != self._steps:
            kernel.put(MAX_STEPS, np.uint32(steps[0]))
            kernel.put(ONCE, np.int32(steps[1]))
            self._steps = steps
        if layers is not None:
            self._put(LAYERS, _by_layer(layers))

    def launch(self, target: _Target, outcome: Outcome, left_count: np.uint64) -> None:
        """Launch the loop."""
        out, values = target
        self._put(OUTCOME_AT, (outcome.address, left_count, *values))
        self._kernel.put(OUT, out)
        self._kernel.launch()

    def _put(self, first: int, values: tuple[Any, ...]) -> None:
        for place, value in enumerate(values, start=first):
            self._kernel.put(place, value)


def _by_layer(layers: Layers | None) -> tuple[Any, ...]:
    """Return ``layers`` as four kernel arguments: vertices, offsets, capacity, and the ``count`` of layers."""
    if layers is None:
        return NULL, NULL, np.int64(0), NULL
    return layers.vertices, layers.offsets, np.int64(len(layers.vertices)), layers.count


def _few(graph: Graph, arcs: list[ArcList]) -> list[ArcList]:
    """Return ``arcs`` as at most ``ARC_LISTS`` lists; if there are more, the last ones are copied into one list."""
    rest = arcs[ARC_LISTS - 1 :]
    if len(rest) < 2:
        return arcs
    xp = graph.device.xp
    src = xp.concatenate([one.src[: one.size] for one in rest])
    dst = xp.concatenate([one.dst[: one.size] for one in rest])
    weights = [one.weight[: one.size] for one in rest if one.weight is not None]
    counts = [
        xp.ones(one.size, bool) if one.status is None else one.status[: one.size] == np.uint8(one.wanted)
        for one in rest
    ]
    joined = ArcList(
        src, dst, xp.concatenate(weights) if weights else None, xp.concatenate(counts).view(np.uint8), 1, len(src)
    )
    return [*arcs[: ARC_LISTS - 1], joined]
