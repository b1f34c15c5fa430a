"""``neighbor_reduce`` over layers on CUDA: one cooperative launch for all of them. Nothing waits for the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.cuda.launch import multiprocessors
from suricate.cuda.program import Program
from suricate.graph import Graph
from suricate.kernels.walking import Walk, walk_of
from suricate.operators.call import Call
from suricate.operators.cuda.launches import NULL, Counters
from suricate.operators.cuda.loops.loop_memory import LoopMemory
from suricate.operators.cuda.programs import launch_values, program_of, skip_scalars
from suricate.operators.results import Layers
from suricate.state.frontier import Frontier

LAYERS_BLOCK = 512  #: threads of a block
LAYERS_BLOCKS = 2  #: blocks per multiprocessor: all of them are resident


def reduce_layers(graph: Graph, call: Call, layers: Layers, out: Any, over: str) -> Frontier | None:
    """Pull for the vertices of each layer, one layer after the other, and fill ``out`` or pass the values to ``then``.

    ``over`` is the direction of the edges. Returns the vertices for which ``then`` is true; None without ``then``.
    """
    walks = [walk_of(graph.view(one)) for one in (("in", "out") if over == "both" else (over,))]
    xp = graph.device.xp
    queue = xp.empty(len(layers.vertices) if call.then is not None else 0, np.uint32)
    count = graph.workspace.state(Counters).count()
    if len(layers.vertices):
        arguments = (
            *(walk.packed for walk in walks), walks[0].bound, layers.vertices, layers.offsets, layers.count,
            np.int32(layers.backwards), NULL if out is None else out, queue if len(queue) else NULL, count.address,
            graph.workspace.state(LoopMemory).of(graph), *launch_values(call),
        )  # fmt: skip
        grid = (LAYERS_BLOCKS * multiprocessors(graph.device),)
        layers_program(walks[0], call, over).kernel("reduce_layers")(grid, (LAYERS_BLOCK,), arguments)
    else:
        skip_scalars(call)
    return None if call.then is None else Frontier._of(graph.device, queue, count, num_vertices=graph.num_vertices)


def layers_program(walk: Walk, call: Call, over: str) -> Program:
    """Return the CUDA program of a pull by layers for ``call`` over the direction ``over``; made once."""
    return program_of(
        "layers.cu", walk, call, call.dtype,
        OVER=f"OVER_{over.upper()}", LAYERS_BLOCK=LAYERS_BLOCK, LAYERS_BLOCKS=LAYERS_BLOCKS,
    )  # fmt: skip
