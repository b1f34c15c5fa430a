"""The launches of a divided search on CUDA: levels of a dependence forest that is computed from scratch.

A rank has the rows of its own vertices, in both directions. All ranks have the frontier, a bit per vertex. In a level
that pulls each rank's vertices that were not visited look for the smallest neighbour in the frontier; in one that
pushes each rank's part of the frontier makes its offers, and ranks exchange those (``suricate.parallel.search``).
Only the owner has the word of a vertex; for those that others reach a rank has one of the same keys.

Three buffers take turns: of the frontier, of the level that is being computed, and of the one after, which is cleared.
Each holds bits, counts that ranks add up, and counts of the rank's own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.cuda.launch import multiprocessors
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct, enum
from suricate.kernels.walking import Walk, walk_of
from suricate.operators.call import Call
from suricate.operators.cuda.loops.loops import LoopMemory, packed_vertices
from suricate.operators.cuda.programs import launch_values, program_of
from suricate.operators.cuda.push_structs import PROPAGATE_BLOCK
from suricate.state.frontier import Frontier

if TYPE_CHECKING:
    from suricate.graph import Graph

SOURCE = Path(__file__).with_name("levels.cu")
LEVEL = Struct(
    "Level",
    {
        "frontier": "const uint32_t*", "next": "uint32_t*", "cleared": "uint32_t*", "visited": "uint32_t*",
        "num_vertices": "uint32_t", "low": "uint32_t", "high": "uint32_t", "rank": "uint32_t", "ranks": "uint32_t",
        "counts": "uint32_t", "sent": "uint32_t", "size": "uint32_t", "directed": "uint32_t",
    },
)  # fmt: skip
OFFERS = Struct("Offers", {"data": "uint8_t*", "size": "unsigned long long", "capacity": "unsigned long long"})
SHARED = {"VERTICES": 0, "IN_ARCS": 1, "VIOLATED": 2, "BY_RANK": 3}  #: counts of 64 bits that are sent
OF_RANK = {"OUT_ARCS": 0, "LOW_PART": 1, "HIGH_PART": 2, "PER_RANK": 3}
OWN = {"HEAVY": 0, "LISTED_OWN": 1, "CHANGED": 2}  #: those behind them
HEAD, ALIGNMENT = 16, 16  #: bytes
BUFFERS, BITS = 3, 64
KERNELS = (
    "start_search", "begin_level", "pull_level", "pull_rest", "push_level", "push_rest", "pack_offers", "take_offers",
)  # fmt: skip


def program(walk: Walk, call: Call) -> Program:
    """Return the program for a view; ``call.commit`` gives the word that a vertex starts with."""
    found = program_of(
        SOURCE, walk, call, IS_FOREST=1, PLAIN_WORD_LOADS=1, IS_UNIFORM=1, restart_fn="commit_fn",
        PROPAGATE_BLOCK=PROPAGATE_BLOCK,
    )  # fmt: skip
    return _with_structs(found)


@cache
def _with_structs(program: Program) -> Program:
    places = enum("", {**SHARED, **OF_RANK, **OWN, "SECTION_HEAD": HEAD})
    text = "\n".join((program.prelude, LEVEL.declaration, OFFERS.declaration, places))
    return replace(program, prelude=text, cooperative=False)


class Counts(NamedTuple):
    """What all ranks have reached in a level."""

    vertices: int
    in_arcs: int  #: those that lead to them
    violated: bool
    out_arcs: list[int]  #: of what each rank reached


class Levels:
    """The launches of one forest on the graph of a rank.

    Args:
        graph: the graph, of the arcs of this rank.
        call: offer, restart (as ``commit``) and their arguments.
        words: those of the forest.
        rank: of the caller.
        ranks: their number.
        low: the first vertex of this rank.
        high: the one after the last.
    """

    def __init__(self, graph: Graph, call: Call, words: Any, rank: int, ranks: int, low: int, high: int) -> None:
        self._graph, self._words, n = graph, words, graph.num_vertices
        out = walk_of(graph.view("out"))
        back = walk_of(graph.view("in")) if graph.directed else out
        self._views = out.packed, back.packed
        self._kernels = program(out, call)
        self._memory, self._values = graph.workspace.state(LoopMemory).of(graph), launch_values(call)
        bits, self._sent = -(-n // BITS), SHARED["BY_RANK"] + OF_RANK["PER_RANK"] * ranks
        width = bits + self._sent + len(OWN)
        self._all = graph.workspace.array("search.levels", BUFFERS * width + bits, np.uint64)
        self._buffers = [self._all[i * width : (i + 1) * width] for i in range(BUFFERS)]
        self._visited, self._bits, self._word = self._all[BUFFERS * width :], bits, call.layout.bits // 8
        self._fixed = n, low, high, rank, ranks, 2 * bits, self._sent, 2 * width, int(graph.directed)
        self._number = 0
        self._grids = {name: self._grid_of(name) for name in KERNELS}

    def _grid_of(self, name: str) -> int:
        kernel = self._kernels.kernel(name)
        return multiprocessors(self._graph.device) * max(1, kernel.resident(PROPAGATE_BLOCK))

    # -- exchanged -----------------------------------------------------------------------------------------------------

    @property
    def exchanged(self) -> Array:
        """``uint64[]``: what the level has reached, bits and counts, of which ranks exchange the sums."""
        return self._buffers[self._number % BUFFERS][: self._bits + self._sent]

    @property
    def counts(self) -> Array:
        """The counts at the end of :attr:`exchanged`."""
        return self.exchanged[self._bits :]

    @staticmethod
    def counted(counts: Array) -> Counts:
        """Return :attr:`counts`, on the host, by name."""
        numbers = counts.tolist()
        by_rank = numbers[SHARED["BY_RANK"] :: OF_RANK["PER_RANK"]]
        return Counts(numbers[0], numbers[1], numbers[2] != 0, by_rank)

    def section(self, capacity: int) -> int:
        """Return the bytes of a rank's offers to at most ``capacity`` vertices."""
        return HEAD + -(-capacity * (self._word + 4) // ALIGNMENT) * ALIGNMENT

    # -- launches ------------------------------------------------------------------------------------------------------

    def start(self, roots: Frontier) -> None:
        """Have all words restart; the roots are the first level."""
        self._number = 0
        self._all.data.memset_async(0, self._all.nbytes)
        self._launch("start_search", *self._views, self._level(), packed_vertices(roots), self._tree, *self._values)

    def pull(self) -> None:
        """Compute the next level by pulling."""
        self._begin(pushes=False)
        for name in ("pull_level", "pull_rest"):
            self._launch(name, *self._views, self._level(), self._memory, self._tree, *self._values)

    def push(self, offers: Array, capacity: int) -> None:
        """Push from this rank's part of the frontier: its section of ``offers`` has what it offers."""
        self._begin(pushes=True)
        for name in ("push_level", "push_rest"):
            self._launch(name, self._views[0], self._level(), self._memory, self._tree, *self._values)
        self._launch("pack_offers", self._level(), self._memory, self._tree, self._packed(offers, capacity))

    def take(self, offers: Array, capacity: int) -> None:
        """Take the offers of all ranks."""
        self._launch("take_offers", *self._views, self._level(), self._tree, self._packed(offers, capacity))

    def _begin(self, *, pushes: bool) -> None:
        self._number += 1
        self._launch("begin_level", self._level(), self._memory, self._tree, np.int32(pushes))

    @property
    def _tree(self) -> Array:
        tree: Array = self._words.data
        return tree

    def _packed(self, offers: Array, capacity: int) -> np.void:
        return OFFERS.packed(offers.data.ptr, self.section(capacity), capacity)

    def _level(self) -> np.void:
        turn = [self._buffers[(self._number + k) % BUFFERS].data.ptr for k in (-1, 0, 1)]
        return LEVEL.packed(*turn, self._visited.data.ptr, *self._fixed)

    def _launch(self, name: str, *arguments: Any) -> None:
        self._kernels.kernel(name)((self._grids[name],), (PROPAGATE_BLOCK,), arguments)
