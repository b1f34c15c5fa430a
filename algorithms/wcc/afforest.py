"""Connected components of a whole graph in a union-find: Afforest (Sutton, Ben-Nun and Barak, 2018).

First every vertex is united with two of its neighbours, on CUDA in two rounds, and the sets are flattened. By then one
set usually holds most vertices; a sample tells which. The arcs of its members are not read, as an arc that leaves the
set is seen from its other end; thereby most arcs of the graph are skipped. On CUDA the second round, too, skips the
vertices in the largest set after the first round. This needs both directions: on a directed graph without in-edges
every arc is read.

On a graph of several processes each process does so with the vertices that it owns. On CUDA, if in-edges are known, the
vertices near a hub are found first (``divided.py``), which often suffices. The processes unite their sets before they
determine the largest one, so that all skip the same set.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suricate.algorithms.wcc import divided
from suricate.base.devices import Array
from suricate.cpu import threads
from suricate.kernels import (
    ROUND_WORDS,
    assembled,
    enum,
    loops_over,
    packed,
    program_over,
    resident_blocks,
    without_weights,
)
from suricate.state.union_find import UnionFind

if TYPE_CHECKING:
    from suricate.base.types import StoreView
    from suricate.cuda.program import Program
    from suricate.graph import Graph

KERNELS, LOOPS = (Path(__file__).with_name(f"afforest{end}") for end in (".cu", "_cpu.py"))
BLOCK, BLOCKS_PER_SM = 512, 3
SAMPLED = 2  #: neighbours that every vertex is united with; with one the largest set is too small
SAMPLES = 256  #: vertices from whose sets the largest one is estimated
SAMPLING, REST = 1, 2  #: phases: the first neighbours of every vertex; then all of those outside of the largest set
NEAR_HUB = 4  #: the phase ahead of both, on CUDA: the vertices near a hub
HUB_WORDS, HUB_BITS = 12, 4  #: words in front of the bits of that phase, and bits per vertex
PRELUDE = enum(
    "",
    {
        "CONNECT_BLOCK": BLOCK, "SAMPLED": SAMPLED, "SAMPLES": SAMPLES, "SAMPLING": SAMPLING, "REST": REST,
        "NEAR_HUB": NEAR_HUB, "HUB_WORDS": HUB_WORDS,
    },
)  # fmt: skip


def programs(view: StoreView) -> list[Program]:
    """Return the CUDA programs that read a graph through ``view``; CI compiles them without a GPU."""
    return [assembled(view, KERNELS, PRELUDE)]


def connect(graph: Graph, sets: UnionFind) -> Array:
    """Unite the ends of all edges of ``graph`` in ``sets``, where each vertex is its own set, and flatten ``sets``.

    Does not wait for the device, except on a graph divided among processes: each process unites along the rows that it
    holds, in two phases, and after each of them the processes merge their sets.

    Returns:
        ``uint32[1]`` on the device, overwritten by the next call: a member of what is most likely the largest set.
    """
    part = graph.partition
    if part is None:
        return _run(graph, sets.parent, NEAR_HUB | SAMPLING | REST, 0, graph.num_vertices)
    if graph.device.is_cuda and graph.has_in_edges and graph.num_vertices and part.ownership.is_ranges:
        found = divided.connect(graph, sets)
        if found is not None:
            return found
    local = part.follow()
    for phase in (SAMPLING, REST):
        roots = sets.roots()
        found = _run(local, sets.parent, phase, *part.ownership.span)
        part.unite(sets, roots)
    return found


def _run(graph: Graph, parent: Array, phases: int, low: int, high: int) -> Array:
    """Unite vertices with their neighbours in the union-find array ``parent``, in place.

    Handles the rows of the vertices from ``low`` on, below ``high``. ``phases`` are ``SAMPLING``, ``REST`` or both;
    without ``SAMPLING`` ``parent`` must be flat. Returns ``uint32[1]``: a member of what is most likely the largest
    set.
    """
    n, g, device = graph.num_vertices, graph.view("out"), graph.device
    skips = graph.has_in_edges
    h = graph.view("in") if skips else g
    both = graph.directed and skips
    if not n:
        return device.xp.empty(1, np.uint32)
    if not device.is_cuda:
        return _run_on_host(graph, g, h, parent, phases, both=both, skips=skips)
    phases = phases if skips else phases & ~NEAR_HUB
    words = -(-n // 32) if phases & NEAR_HUB else 0
    state = graph.workspace.array("connect.state", ROUND_WORDS + HUB_WORDS + HUB_BITS * words, np.uint32)
    state.data.memset_async(0, 4 * (ROUND_WORDS + HUB_WORDS + words))
    found = graph.workspace.array("connect.largest", 1, np.uint32)
    numbers = (np.int32(both), np.int32(skips), np.uint32(n), np.uint32(low), np.uint32(high), np.int32(phases))
    blocks = resident_blocks(device.index, BLOCK, BLOCKS_PER_SM)
    kernel = program_over(g, KERNELS, lambda _: PRELUDE).kernel("connect")
    kernel((blocks,), (BLOCK,), (packed(g), packed(h), *numbers, parent, found, state))
    return found


def _run_on_host(
    graph: Graph, out: StoreView, into: StoreView, parent: np.ndarray, phases: int, *, both: bool, skips: bool
) -> np.ndarray:
    n, loops = graph.num_vertices, loops_over(out, LOOPS)
    g, h = without_weights(out), without_weights(into)
    alone = threads.limit() == 1
    if phases & SAMPLING:
        threads.over(n, loops.unite_some, g, parent, SAMPLED, alone)
        threads.over(n, loops.flatten, parent)
    votes = graph.workspace.array("connect.votes", n, np.uint32)
    largest = np.uint32(loops.most_frequent(parent, np.empty(min(SAMPLES, n), np.uint32), votes))
    if phases & REST:
        unit = 1 + graph.most_arcs / n
        threads.over(n, loops.unite_rest, g, h, both, skips, parent, largest, alone, unit=unit)
        threads.over(n, loops.flatten, parent)
    return np.array([largest], np.uint32)
