"""The launches of a search by several ranks on CUDA, which computes the levels of a dependence forest from scratch.

A rank has the edges of its own vertices, in both directions. All ranks have the whole frontier, as a bitmap. In a level
that pulls, each rank's unvisited vertices look for their smallest neighbour in the frontier; in one that pushes, each
rank makes the offers of its own vertices in the frontier, and ranks exchange them (``suricate.parallel.search``). Only
the owner of a vertex has its exact word; the other ranks have one with the same keys. Levels of small frontiers use
lists in place of bitmaps (``by_list``). The last levels are computed by every rank alone, from the few remaining arcs,
which ranks exchange before.

Three buffers rotate: one of the frontier, one of the level that is being computed, and one of the level after it, which
is cleared. Each holds a bitmap, counts that ranks add up, and counts of the rank's own. Arrays of offers or arcs that
ranks exchange, ``uint8[]``, have a section per rank, which that rank writes.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.cuda.launch import multiprocessors
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct, enum
from suricate.graph import Graph
from suricate.kernels.walking import Walk, walk_of
from suricate.operators.call import Call
from suricate.operators.cuda.loops.loop_memory import LoopMemory, Outcomes, packed_vertices, propagated
from suricate.operators.cuda.programs import PROPAGATE_BLOCK, launch_values, program_of
from suricate.operators.results import Propagated
from suricate.repair.cuda import by_list
from suricate.repair.cuda.by_list import Counts
from suricate.state.frontier import Frontier

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
BUFFERS, BITS = 3, 64
KERNELS = (
    "begin_level", "pull_level", "pull_rest", "list_own", "push_level", "push_rest", "pack_offers", "take_offers",
    "list_arcs", "list_rest", "take_arcs", "pack_parents", "take_parents", *by_list.KERNELS,
)  # fmt: skip
FEW_BLOCKS = ("offer_listed", "take_listed", "take_arcs")  #: a block per multiprocessor
FEW_ARCS_BLOCK = 1024  #: threads of the only block of ``finish_search``
ID = 4  #: bytes


def program(walk: Walk, call: Call) -> Program:
    """Return the program of a search for the functions of ``call`` and the kind of view of ``walk``."""
    found = program_of(
        SOURCE, walk, call, IS_FOREST=1, PLAIN_WORD_LOADS=1, IS_UNIFORM=1, restart_fn="commit_fn",
        PROPAGATE_BLOCK=PROPAGATE_BLOCK,
    )  # fmt: skip
    return _with_structs(found)


@cache
def _with_structs(program: Program) -> Program:
    places = enum("", {**SHARED, **OF_RANK, **OWN, "SECTION_HEAD": by_list.HEAD, "FEW_ARCS_BLOCK": FEW_ARCS_BLOCK})
    text = "\n".join((program.prelude, LEVEL.declaration, OFFERS.declaration, places, by_list.DECLARATIONS))
    return replace(program, prelude=text, cooperative=False)


@cache
def _grids(program: Program, device: Device) -> dict[str, tuple[int]]:
    """Return by name the grid, ``(number of blocks,)``, of each kernel of a program on ``device``."""
    each = multiprocessors(device)
    resident = {name: max(1, program.kernel(name).resident(PROPAGATE_BLOCK)) for name in KERNELS}
    return {name: (each * (1 if name in FEW_BLOCKS else number),) for name, number in resident.items()}


class Levels:
    """The launches of one forest on the graph of a rank; :meth:`of` makes a copy for each search.

    Args:
        graph: the graph with the arcs of this rank.
        walks: data for launches over its views of out-edges and of in-edges.
        call: the functions offer (``function``) and restart (``commit``).
        share: the rank, the number of ranks, the first vertex of this rank and the one after its last.
        places: how many offers a rank may make in a level by lists.
    """

    _graph: Graph
    _words: Any
    _memory: np.void
    _values: tuple[Any, ...]

    def __init__(
        self, graph: Graph, walks: tuple[Walk, Walk], call: Call, share: tuple[int, int, int, int], places: int
    ) -> None:
        self.rank, ranks, low, high = share
        rank, n = self.rank, graph.num_vertices
        self._views = walks[0].packed, walks[1].packed
        self._kernels = program(walks[0], call)
        self._grids = _grids(self._kernels, graph.device)
        self._outcomes = graph.workspace.state(Outcomes)
        bits, self._sent = -(-n // BITS), SHARED["BY_RANK"] + OF_RANK["PER_RANK"] * ranks
        width = bits + self._sent + len(OWN)
        self._all = graph.workspace.array("search.levels", BUFFERS * width + bits + by_list.STATE_SIZE, np.uint64)
        self._width, self._state = width, self._all[-by_list.STATE_SIZE :]
        self._bits, self._word, self._ranks = bits, call.layout.bits // 8, ranks
        *data, visited = (self._all.data.ptr + 8 * width * number for number in range(BUFFERS + 1))
        sizes = n, low, high, rank, ranks, 2 * bits, self._sent, 2 * width
        fixed = visited, *sizes, int(graph.directed)
        turns = [[data[(number + k) % BUFFERS] for k in (-1, 0, 1)] for number in range(BUFFERS)]
        self._structs = [LEVEL.packed(*turn, *fixed) for turn in turns]
        self._number = 0
        self._parents = graph.workspace.array("search.parents", n, np.uint32)
        self._progress = graph.workspace.state(by_list.Progress)
        self._first = 0  # of the levels that go by lists: their number
        size = by_list.section_bytes(places, self._word)
        whole = graph.workspace.array("search.sections", 2 * ranks * size, np.uint8)
        self._sections = [whole[: ranks * size], whole[ranks * size :]]
        self._lists = by_list.packed_lists(self._state, self._progress, self._sections, size, places)
        self.section_bounds = np.arange(ranks + 1) * size

    def of(self, graph: Graph, call: Call, words: Any) -> Levels:
        """Return a copy of this object for one search on ``graph``."""
        found = copy.copy(self)
        found._graph, found._words = graph, words
        found._memory, found._values = graph.workspace.state(LoopMemory).of(graph), launch_values(call)
        return found

    # -- exchanged -----------------------------------------------------------------------------------------------------

    @property
    def exchanged(self) -> Array:
        """``uint64[]``: the bitmap of the vertices that the level has reached, then counts; ranks add these arrays."""
        begin = self._number % BUFFERS * self._width
        found: Array = self._all[begin : begin + self._bits + self._sent]
        return found

    @property
    def counts(self) -> Array:
        """The part of :attr:`exchanged` after the bitmap: the counts that :meth:`counted` names."""
        return self.exchanged[self._bits :]

    @property
    def sections(self) -> Array:
        """``uint8[]``: the offers of the current level by lists, a section per rank, which ranks exchange."""
        return self._sections[self._progress.number % 2]

    @property
    def parents(self) -> Array:
        """``uint32[num_vertices]``: parents by vertex; :meth:`pack_parents` writes those of this rank's vertices.

        :meth:`take_parents` needs the parents of all vertices; ranks exchange them before.
        """
        return self._parents

    @staticmethod
    def counted(counts: Array) -> Counts:
        """Return ``counts``, a copy of :attr:`counts` on the host, as a :class:`Counts`."""
        numbers = counts.tolist()
        by_rank = numbers[SHARED["BY_RANK"] :: OF_RANK["PER_RANK"]]
        return Counts(numbers[0], numbers[1], numbers[2] != 0, by_rank)

    def section(self, capacity: int) -> int:
        """Return the size in bytes of a rank's section that holds up to ``capacity`` offers."""
        return by_list.section_bytes(capacity, self._word)

    @staticmethod
    def arc_section(capacity: int) -> int:
        """Return the size in bytes of a rank's section that holds up to ``capacity`` arcs."""
        return by_list.section_bytes(capacity, ID)

    # -- levels by lists -----------------------------------------------------------------------------------------------

    def start(self, roots: Frontier) -> None:
        """Give all vertices their initial words, and list ``roots`` as the frontier; the next levels use lists."""
        self._number = 0
        self._all.data.memset_async(0, self._all.nbytes)
        self._go_by_lists("start_search", packed_vertices(roots), self._tree, *self._values)

    def list_frontier(self) -> None:
        """Make a list of the frontier, of which the last level by bitmaps made a bitmap; the next levels use lists."""
        self._state.data.memset_async(0, self._state.nbytes)
        self._go_by_lists("list_frontier")

    def _go_by_lists(self, name: str, *arguments: Any) -> None:
        self._first = self._progress.number + 1
        self._progress.busy = True
        self._launch(name, *self._views, self._level, self._lists[self._first % 2], self._memory, *arguments)

    def offer(self) -> None:
        """Begin a level by lists: write the offers of this rank's vertices in the frontier to the rank's section."""
        self._progress.number += 1
        given = self._structs[0], self._lists[self._progress.number % 2], self._memory, self._tree
        self._launch("offer_listed", self._views[0], *given, *self._values)

    def take(self) -> None:
        """End a level by lists: apply the offers of all ranks in :attr:`sections` to the words."""
        number = self._progress.number
        given = self._structs[0], self._lists[number % 2], self._memory, self._tree
        self._launch("take_listed", *self._views, *given, np.uint64(number))

    def has_come(self, ago: int) -> bool:
        """Return whether the level ``ago`` before the last queued one was reported (or is no level by lists)."""
        number = self._progress.number - ago
        return number < self._first or self._progress.has_come(number)

    def has_stopped(self, ago: int) -> bool:
        """Return whether the search by lists stopped at the level ``ago`` before the last, which :meth:`has_come`."""
        number = self._progress.number - ago
        return number >= self._first and self._progress.stopped_at(number)

    def stopped(self, ago: int) -> by_list.Stopped:
        """Return how the levels by lists ended, ``ago`` levels before the last, where :meth:`has_stopped` was true."""
        self._progress.busy = False
        return self._progress.stopped(self._first, self._progress.number - ago, self._ranks)

    def spread(self, ago: int) -> None:
        """Write the list at which levels stopped, ``ago`` before the last, to a bitmap; then call :meth:`begin`."""
        self._number += 1
        lists = self._lists[(self._progress.number - ago) % 2]
        self._launch("spread_list", self._level, lists, self._memory, self._tree)

    # -- levels by bits ------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a level by bitmaps: vertices that the last level reached become the frontier and count as visited."""
        self._number += 1
        self._launch("begin_level", self._level, self._tree)

    def pull(self) -> None:
        """Compute the level by pulling: each unvisited vertex of this rank looks for a parent in the frontier."""
        for name in ("pull_level", "pull_rest"):
            self._launch(name, *self._views, self._level, self._memory, self._tree, *self._values)

    def push(self, offers: Array, capacity: int) -> None:
        """Make the offers of this rank's frontier; those to other ranks go to its section of ``offers``."""
        self._launch("list_own", self._level, self._memory)
        for name in ("push_level", "push_rest"):
            self._launch(name, self._views[0], self._level, self._memory, self._tree, *self._values)
        self._launch("pack_offers", self._level, self._memory, self._tree, self._packed(offers, capacity))

    def take_offers(self, offers: Array, capacity: int) -> None:
        """Apply the offers of all ranks, in sections of ``capacity``: vertices of this rank take smaller words."""
        self._launch("take_offers", *self._views, self._level, self._tree, self._packed(offers, capacity))

    # -- few arcs ------------------------------------------------------------------------------------------------------

    def list_arcs(self, arcs: Array, capacity: int) -> None:
        """Write the arcs into this rank's unvisited vertices to its section of ``arcs``."""
        given = self._packed_arcs(arcs, capacity)
        arcs[self.rank * len(arcs) // self._ranks :].data.memset_async(0, by_list.HEAD)
        self._launch("list_arcs", self._views[1], self._level, self._memory, self._tree, given)
        self._launch("list_rest", self._views[1], self._level, self._memory, given)

    def finish(self, arcs: Array, capacity: int, violated: Array, steps: int, pushed: int) -> Propagated:
        """Compute all remaining levels from ``arcs``, the sections of all ranks; return the result of the search."""
        level, outcome = (self._level, self._memory, self._tree), self._outcomes.take()
        self._launch("take_arcs", *level, self._packed_arcs(arcs, capacity), violated, *self._values)
        numbers = np.uint64(steps), np.uint64(pushed)
        given = *level, violated, outcome.address, *numbers, *self._values
        self._kernels.kernel("finish_search")((1,), (FEW_ARCS_BLOCK,), given)
        return propagated(self._graph, outcome)

    # -- the end -------------------------------------------------------------------------------------------------------

    def pack_parents(self) -> None:
        """Write the parents of this rank's vertices to :attr:`parents`."""
        self._launch("pack_parents", self._level, self._tree, self._parents)

    def take_parents(self) -> None:
        """Write the parents in :attr:`parents` to the words of other ranks' vertices, whose keys are right already."""
        self._launch("take_parents", self._level, self._tree, self._parents)

    @property
    def _tree(self) -> Array:
        tree: Array = self._words.data
        return tree

    @property
    def _level(self) -> np.void:
        return self._structs[self._number % BUFFERS]

    def _packed(self, offers: Array, capacity: int) -> np.void:
        return OFFERS.packed(offers.data.ptr, self.section(capacity), capacity)

    def _packed_arcs(self, arcs: Array, capacity: int) -> np.void:
        return OFFERS.packed(arcs.data.ptr, self.arc_section(capacity), capacity)

    def _launch(self, name: str, *arguments: Any) -> None:
        self._kernels.kernel(name)(self._grids[name], (PROPAGATE_BLOCK,), arguments)


class Kept:
    """Caches the :class:`Levels` of the last search on a graph, for searches on the same views."""

    def __init__(self, device: Device) -> None:
        self._levels: Levels | None = None
        self._key: tuple[Any, ...] = ()  # what it was made of

    def levels(self, graph: Graph, call: Call, words: Any, share: tuple[int, int, int, int], places: int) -> Levels:
        """Return the launches of a search on ``graph`` that writes to ``words``."""
        out = walk_of(graph.view("out"))
        back = walk_of(graph.view("in")) if graph.directed else out
        made_of = out, back, call.function, call.commit, call.layout, graph.num_vertices, *share, places
        if self._levels is None or self._key != (*made_of, graph.workspace.moves):
            self._levels = Levels(graph, (out, back), call, share, places)
            self._key = *made_of, graph.workspace.moves
        return self._levels.of(graph, call, words)
