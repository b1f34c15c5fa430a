"""Prepared launches over all vertices, for :class:`suricate.operators.repeated.Repeated`: few arguments are repacked.

An object belongs to one graph and is used under its lock. Nothing here waits for the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.cuda.kernel import PreparedKernel
from suricate.cuda.program import Program
from suricate.graph import Graph
from suricate.kernels.walking import walk_of
from suricate.operators import schemes
from suricate.operators.call import Call, Swap, Until
from suricate.operators.cuda.launches import NULL, blocks, full_grid, split_memory
from suricate.operators.cuda.loops.loop_memory import LoopMemory, Outcomes, propagated
from suricate.operators.cuda.programs import BLOCK, launch_values, program_of
from suricate.operators.cuda.pull.converge import (
    CONVERGE_BLOCK,
    RoundStates,
    blocks_of_passes,
    passes_program,
    walks_of,
)
from suricate.operators.results import Propagated

TURNS, OUTCOME_AT, AFTER = 5, 6, 7  #: places of arguments of ``passes`` behind ``max_steps``, see ``passes.cu``


class _PreparedCall:
    """A prepared kernel launch whose last arguments are those of a call's function."""

    def __init__(self, kernel: Any, shape: tuple[int, int], own: tuple[Any, ...], call: Call) -> None:
        self._kernel = PreparedKernel(kernel, *shape, (*own, *launch_values(call)))
        self.put = self._kernel.put
        given = enumerate(zip(call.function.arguments, call.values, strict=True), start=len(own))
        self._changing = [(place, *one) for place, one in given if one[0].kind not in ("array", "scalar")]
        self._is_new = True  # the first launch finds its arguments packed already

    def launch(self) -> None:
        if not self._is_new:
            for place, argument, value in self._changing:
                self.put(place, argument.packed(value))
        self._is_new = False
        self._kernel.launch()


def map_all(graph: Graph, call: Call) -> None:
    """Call the function of ``call`` for every vertex of ``graph``; its results are ignored."""
    program, grid, own = _map_of(graph, call)
    program.kernel("map_vertices")((grid,), (BLOCK,), (*own, *launch_values(call)))


def _map_of(graph: Graph, call: Call) -> tuple[Program, int, tuple[Any, ...]]:
    """Return program, number of blocks and first arguments of a launch of ``call`` on all vertices of ``graph``."""
    size = graph.num_vertices
    walk = walk_of(graph.view()) if call.function.needs_view else None
    program = program_of("vertex_map.cu", walk, call, HAS_POSITION=0, KEEPS=0)
    own = np.uint32(size), NULL, NULL, np.uint32(size), NULL, NULL
    return program, min(blocks(size, BLOCK), full_grid(graph.device)), own


class MapOfAll:
    """A prepared launch of a function for every vertex of a graph; the function's results are ignored."""

    def __init__(self, graph: Graph, call: Call) -> None:
        self._graph, self._size = graph, graph.num_vertices
        self._kind = walk_of(graph.view()).prelude if call.function.needs_view else None
        program, grid, own = _map_of(graph, call)
        self._launch = _PreparedCall(program.kernel("map_vertices"), (grid, BLOCK), own, call)

    def fits(self) -> bool:
        """Return whether the launch can still be used: number of vertices and kind of view are the same as before."""
        kind = walk_of(self._graph.view()).prelude if self._kind is not None else None
        return kind == self._kind and self._graph.num_vertices == self._size

    def run(self) -> None:
        """Launch the function for all vertices, without waiting for the device."""
        self._launch.launch()


class Passes:
    """A prepared loop of ``converge`` with ``swap``: all vertices pull in every round, and arrays swap in between."""

    def __init__(self, graph: Graph, call: Call, over: str, until: Until | None, swap: Swap) -> None:
        self._graph, self._over, self._size = graph, over, graph.num_vertices
        self._walks, self._scans = walks_of(graph, over), self._scans_now()
        program = passes_program(self._walks[0], call, over, until, swap, scans=self._scans)
        workspace = graph.workspace
        self._outcomes, self._rounds = workspace.state(Outcomes), workspace.state(RoundStates)
        self._memory = workspace.state(LoopMemory)
        views, bound = [walk.packed for walk in self._walks], self._walks[0].bound
        self._at = len(views) + 1
        self._given: tuple[Any, ...] = (None,) * 4
        own = (
            *views, bound, np.uint32(0), np.float64(0), self._memory.of(graph), *split_memory(graph), NULL, NULL, NULL,
        )  # fmt: skip
        grid = blocks_of_passes(graph.device, scans=self._scans)
        self._launch = _PreparedCall(program.kernel("passes"), (grid, CONVERGE_BLOCK), own, call)

    def _scans_now(self) -> bool:
        return self._over != "both" and schemes.passes_scan(self._graph, self._graph.view(self._over))

    def fits(self) -> bool:
        """Use the current views from now on; return whether the launch can still be used."""
        walks = walks_of(self._graph, self._over)
        for place, (walk, held) in enumerate(zip(walks, self._walks, strict=True)):
            if walk is not held:
                if walk.prelude != held.prelude:
                    return False
                self._launch.put(place, walk.packed)
        self._walks = walks
        return self._graph.num_vertices == self._size and self._scans_now() == self._scans

    def run(self, max_steps: int, bound: float, after: Propagated | None) -> Propagated:
        """Launch at most ``max_steps`` rounds; return the outcome, without waiting for the device.

        The loop ends when the total of its scalar is at most ``bound``. ``after``: the result of the loop that this one
        continues, or None.
        """
        outcome, turns, put = self._outcomes.take(), self._rounds.take(), self._launch.put
        given = self._memory.of(self._graph), split_memory(self._graph)[0], max_steps, bound
        if any(new is not old for new, old in zip(given, self._given, strict=True)):
            for place, value in enumerate((np.uint32(max_steps), np.float64(bound), *given[:2]), start=self._at):
                put(place, value)
            self._given = given
        put(self._at + TURNS, turns)
        put(self._at + OUTCOME_AT, outcome.address)
        put(self._at + AFTER, NULL if after is None else after.address)
        self._launch.launch()
        return propagated(self._graph, outcome)
