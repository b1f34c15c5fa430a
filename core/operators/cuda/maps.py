"""Functions per vertex and per edge on CUDA, and the repetition of recorded launches. Nothing waits but ``iterate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.devices import Array, Device
from suricate.operators.call import Call, Start, Until
from suricate.operators.cuda.launches import Counters, blocks, frontier_arguments, full_grid, nobody, not_yet
from suricate.operators.cuda.programs import BLOCK, program_of
from suricate.structures.frontier import Frontier

if TYPE_CHECKING:
    from suricate.graph import Graph


def vertex_map(graph: Graph, call: Call, start: Start) -> Frontier:
    """Return the vertices of ``start`` for which the function is true."""
    not_yet(len(start.frontiers) != 1, "a union of frontiers")
    not_yet(call.function.leading[0] == "i", "the parameter i")
    frontier = start.frontiers[0]
    if not frontier.distinct:
        frontier = Frontier.from_vertices(graph, frontier.vertices)
    size = frontier.at_most
    if not size:
        return nobody(graph)
    kept = graph.device.xp.empty(size, np.uint32)
    count, _ = graph.workspace.state(Counters).take()
    grid = (min(blocks(size, BLOCK), full_grid(graph.device)),)
    arguments = (np.uint32(graph.num_vertices), *frontier_arguments(frontier), kept, count, *call.values)
    program = program_of("filter.cu", None, call, np.dtype(np.int32))
    program.kernel("select_vertices")(grid, (BLOCK,), arguments)
    return Frontier(graph.device, kept, count, num_vertices=graph.num_vertices)


def edge_map(graph: Graph, call: Call, start: Start, over: str, first: tuple[int, int] | None) -> None:
    """Call a function for its effects on every edge of ``start``."""
    raise NotImplementedError("edge_map is not there yet on CUDA")


def iterate(
    device: Device, body: Callable[[], Any], until: Until, max_steps: int, swap: tuple[tuple[Array, Array], ...]
) -> int:
    """Repeat what ``body`` launches until the scalar ``until`` is zero after a round; return the number of rounds."""
    raise NotImplementedError("iterate is not there yet on CUDA")
