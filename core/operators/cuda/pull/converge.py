"""``converge`` on CUDA: one cooperative launch for all rounds. Nothing here waits for the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Device
from suricate.base.errors import ParameterError
from suricate.base.types import EMPTY
from suricate.cuda.launch import address, multiprocessors
from suricate.cuda.program import Program, c_type
from suricate.graph import Graph
from suricate.kernels.walking import Walk, walk_of
from suricate.operators import schemes
from suricate.operators.call import AT_ONCE, UNLIMITED, Call, Start, Swap, Until
from suricate.operators.cuda.launches import NULL, merged, split_memory
from suricate.operators.cuda.loops.loop_memory import LoopMemory, Outcomes, packed_vertices, propagated
from suricate.operators.cuda.programs import TABLE_UNIT, VOTE_TABLES, launch_values, program_of
from suricate.operators.cuda.pull.pull import value_macros
from suricate.operators.results import Propagated

CONVERGE_BLOCK = 512  #: threads of a block
#: blocks per multiprocessor, all of them resident: a barrier gets dearer with every block
CONVERGE_BLOCKS, SCAN_BLOCKS = 2, 3  #: the latter where rounds pass over the storage
FEWEST_UNITS, MOST_UNITS = 32, 1 << 17  #: of :class:`VoteTables`
PASS_BLOCKS = 3  #: of rounds over all vertices by "vertex"
SYMMETRIC = (("in", "out"), ("out", "in"), ("both", "both"))  #: directions of pulling and waking that see the same arcs
ROUND_WORDS = 20  #: of 64 bits: the memory of a struct ``Rounds`` (``converge.cu``)


def converge(
    graph: Graph, call: Call, start: Start, over: str, wake: str | None, max_steps: int, until: Until | None,
    most: int = UNLIMITED, swap: Swap = (), after: Propagated | None = None,
) -> Propagated:  # fmt: skip
    """Pull in rounds over an active set (see ``suricate.operators.call``); return the outcome."""
    if swap:
        return _passes(graph, call, over, max_steps, until, swap, NULL if after is None else after.address)
    pulled = walks_of(graph, over)
    active = walks_of(graph, wake or over, "out", "in")
    made, scans = _made_for(graph, call, start, over, wake, until)
    frontier = merged(graph, start)
    workspace, (heavy, capacity) = graph.workspace, split_memory(graph)
    outcome, rounds = workspace.state(Outcomes).take(), workspace.state(RoundStates).take()
    views = (walk.packed for walk in (*pulled, *active))
    arguments = (
        *views, pulled[0].bound, np.uint64(graph.most_arcs), packed_vertices(frontier), np.uint32(max_steps),
        np.uint64(most), np.float64(0 if until is None else until.bound), workspace.state(LoopMemory).of(graph), heavy,
        capacity, rounds, outcome.address, *_tables(graph, call), *launch_values(call),
    )  # fmt: skip
    grid = (_blocks(scans=scans) * multiprocessors(graph.device),)
    made.kernel("converge")(grid, (CONVERGE_BLOCK,), arguments)
    return propagated(graph, outcome)


def program(
    graph: Graph, call: Call, start: Start, over: str, wake: str | None, max_steps: int, until: Until | None,
    most: int = UNLIMITED, swap: Swap = (), after: Propagated | None = None,
) -> Program:  # fmt: skip
    """Return the program that :func:`converge`, with the same arguments and without ``swap``, launches."""
    return _made_for(graph, call, start, over, wake, until)[0]


def _made_for(
    graph: Graph, call: Call, start: Start, over: str, wake: str | None, until: Until | None
) -> tuple[Program, bool]:
    """Return the program of a call, and whether its rounds of many vertices scan the storage."""
    symmetric = wake is not None and (not graph.directed or (over, wake) in SYMMETRIC)
    may_scan = over != "both" and call.vote is None
    scans = (wake is not None or _is_of_all(start)) and may_scan and schemes.passes_scan(graph, graph.view(over))
    walk = walks_of(graph, over)[0]
    return converge_program(walk, call, over, wake, until, symmetric=symmetric, scans=scans), scans


def _passes(
    graph: Graph, call: Call, over: str, max_steps: int, until: Until | None, swap: Swap, after: np.uint64
) -> Propagated:
    """Launch a loop in which all vertices are always active, behind the outcome at ``after``; return its outcome."""
    pulled = walks_of(graph, over)
    scans = over != "both" and schemes.passes_scan(graph, graph.view(over))
    program = passes_program(pulled[0], call, over, until, swap, scans=scans)
    workspace, (heavy, capacity) = graph.workspace, split_memory(graph)
    outcome, turns = workspace.state(Outcomes).take(), workspace.state(RoundStates).take()
    arguments = (
        *(walk.packed for walk in pulled), pulled[0].bound, np.uint32(max_steps),
        np.float64(0 if until is None else until.bound), workspace.state(LoopMemory).of(graph), heavy, capacity,
        turns, outcome.address, after, *launch_values(call),
    )  # fmt: skip
    grid = (blocks_of_passes(graph.device, scans=scans),)
    program.kernel("passes")(grid, (CONVERGE_BLOCK,), arguments)
    return propagated(graph, outcome)


def _is_of_all(start: Start) -> bool:
    """Return whether ``start`` has all vertices, so that scanning the storage may pay in the first round."""
    return any(frontier.is_all for frontier in start.frontiers)


def _blocks(*, scans: bool) -> int:
    return SCAN_BLOCKS if scans else CONVERGE_BLOCKS


def blocks_of_passes(device: Device, *, scans: bool) -> int:
    """Return the number of blocks of a loop in which all vertices are active; ``scans``: it scans the storage."""
    return (SCAN_BLOCKS if scans else PASS_BLOCKS) * multiprocessors(device)


def walks_of(graph: Graph, over: str, first: str = "in", second: str = "out") -> list[Walk]:
    """Return the walk of the view ``over``; for ``"both"`` the walks of the views ``first`` and ``second``."""
    return [walk_of(graph.view(one)) for one in ((first, second) if over == "both" else (over,))]


def converge_program(
    walk: Walk, call: Call, over: str, wake: str | None, until: Until | None, *, symmetric: bool, scans: bool
) -> Program:
    """Return the CUDA program of ``converge`` for ``call``; equal programs are made once.

    Args:
        walk: the walk of a view, which gives the cursor.
        over: the direction over which vertices pull.
        wake: the direction over which they activate neighbours, or None.
        until: the condition that ends the loop, or None.
        symmetric: whether vertices activate those that pull from them, and no others.
        scans: whether rounds of many vertices scan the storage.
    """
    name = None if until is None else _name_of(call, until.scalar)
    functions = call.function, *call.functions.items(), call.vote and call.vote[1:4]
    key = (walk.prelude, functions, call.dtype, call.reduce, call.layout, over, wake, name, symmetric, scans)
    program = _programs.get(key)
    if program is None:
        macros = {"CONVERGE_BLOCKS": _blocks(scans=scans), "PASSES_SCAN": int(scans)}
        program = _programs[key] = _made(walk, call, over, wake, name, macros, symmetric=symmetric)
    return program


def passes_program(walk: Walk, call: Call, over: str, until: Until | None, swap: Swap, *, scans: bool) -> Program:
    """Return the CUDA program of ``converge`` with ``swap`` for ``call``; equal programs are made once."""
    name = None if until is None else _name_of(call, until.scalar)
    pairs = tuple((a, b, len(call.values[a]) == 1 < walk.num_vertices) for a, b in swap)
    functions = call.function, *call.functions.items(), call.vote and call.vote[1:4]
    key = (walk.prelude, functions, call.dtype, call.reduce, call.layout, over, name, scans, pairs)
    program = _programs.get(key)
    if program is None:
        program = _programs[key] = program_of(
            "passes.cu", walk, call, call.dtype, **value_macros(call, over), CONVERGE_BLOCK=CONVERGE_BLOCK,
            CONVERGE_BLOCKS=SCAN_BLOCKS if scans else PASS_BLOCKS, PASSES_SCAN=int(scans), ROUND_WORDS=ROUND_WORDS,
            SWAP_NAMES=" ".join(f"exchange_names(a{a}, a{b});" for a, b in swap),
            EXCHANGE=" ".join(f"exchange(a{a}, a{b}, {1 if one else 'num_vertices'});" for a, b, one in pairs),
            **_totals_of_passes(call, name),
        )  # fmt: skip
    return program


def _totals_of_passes(call: Call, until: str | None) -> dict[str, str]:
    """Return the C++ macros by which a round adds to the scalars (``su.Scalar``) of ``call`` and reads their totals."""
    found = [f"a{i}" for i, argument in enumerate(call.function.arguments) if argument.kind == "accumulator"]
    return {
        "ROUND_FINISH": " ".join(f"{name}.flush(slot_of({name}_slots, round));" for name in found),
        "ROUND_READ": " ".join(f"read_total({name}, {name}_slots, round, first_thread);" for name in found),
        "LOOP_FINISH": " ".join(f"leave_total({name}, {name}_slots);" for name in found),
        "UNTIL": "false" if until is None else f"!(double({until}.value) > bound)",
    }


_programs: dict[tuple[Any, ...], Program] = {}


def _made(
    walk: Walk, call: Call, over: str, wake: str | None, until: str | None, macros: dict[str, int], *, symmetric: bool
) -> Program:
    """Return a new program of ``converge.cu`` for ``call`` and the view of ``walk``."""
    has_bits = symmetric and call.dtype is not None and call.reduce not in AT_ONCE and call.turn is None
    return program_of(
        "converge.cu", walk, call, call.dtype, **value_macros(call, over), HAS_WAKE=int(wake is not None),
        WAKE_BOTH=int((wake or over) == "both"), SYMMETRIC=int(has_bits), CONVERGE_BLOCK=CONVERGE_BLOCK,
        ROUND_WORDS=ROUND_WORDS, UNLIMITED=f"{UNLIMITED}ull", HAS_TABLES=int(_has_tables(call)),
        **macros, **_totals(call, until),
    )  # fmt: skip


def _has_tables(call: Call) -> bool:
    """Return whether votes of heavy vertices add up in device memory: totals of floats need a scale for a vertex."""
    return call.vote is not None and call.result.kind == "i"


def _tables(graph: Graph, call: Call) -> tuple[Any, ...]:
    return (graph.workspace.state(VoteTables).of(graph),) if _has_tables(call) else ()


class VoteTables:
    """Memory for the hash tables of heavy vertices, see ``vote_tables.cuh``; kernels leave it as it was.

    There are places for some of the vertices of a large graph: where they take turns no more are needed at a time.
    """

    def __init__(self, device: Device) -> None:
        self._xp, self._units = device.xp, 0

    def of(self, graph: Graph) -> np.void:
        """Return the struct ``VOTE_TABLES`` of the memory for ``graph``: keys are EMPTY, sums 0."""
        units = min(max(FEWEST_UNITS, graph.most_arcs // (4 * TABLE_UNIT)), MOST_UNITS)
        if units > self._units:
            self._units, places = units, units * TABLE_UNIT
            self._key, self._sum = self._xp.full(places, EMPTY, np.uint32), self._xp.zeros(places, np.uint64)
            self._packed = VOTE_TABLES.packed(address(self._key), address(self._sum), units)
        return self._packed


def _totals(call: Call, until: str | None) -> dict[str, str]:
    """Return the C++ macros by which a round adds to the scalars (``su.Scalar``) of ``call`` and reads their totals.

    They are for ``converge.cu``. A launch gets two slots of each scalar: ``write``, for its total, and ``clear``, which
    it clears for the next launch. Even rounds add to ``write``, odd ones to ``clear``; at the end the last total is in
    ``write``. ``until``: the name of the argument whose total ends the loop, or None.
    """
    numbered = enumerate(call.function.arguments)
    found = [(f"a{i}", argument) for i, argument in numbered if argument.kind == "accumulator"]
    if not found:
        return {"ROUND_FINISH": "", "ROUND_READ": "", "LOOP_FINISH": "", "UNTIL": "false"}
    finish, read, end = [], [], []
    for name, argument in found:
        even, odd = f"{name}_slots.write", f"{name}_slots.clear"
        neutral = f"neutral<FOLD_{str(argument.op).upper()}, {c_type(argument.dtype)}>()"
        finish.append(f"{name}.flush(round & 1 ? {odd} : {even});")
        read.append(f"{name}.value = seen(alone, *(round & 1 ? {even} : {odd}));")
        read.append(f"if (first_thread) *(round & 1 ? {odd} : {even}) = {neutral};")
        end.append(f"*{even} = {name}.value; *{odd} = {neutral};")
    return {
        "ROUND_FINISH": " ".join(finish),
        "ROUND_READ": f"if (round > 0) {{ {' '.join(read)} }}",
        "LOOP_FINISH": f"if (round > 0) {{ grid_barrier(state, expected); if (first_thread) {{ {' '.join(end)} }} }}",
        "UNTIL": "false" if until is None else f"!(double({until}.value) > bound)",
    }


def _name_of(call: Call, scalar: Any) -> str:
    """Return the name that the argument ``scalar`` of ``call`` has in kernels; raise if it is no argument."""
    for i, value in enumerate(call.values):
        if value is scalar:
            return f"a{i}"
    raise ParameterError("until takes a Scalar that the functions add to: pass it in args, too")


class RoundStates:
    """A supply of zeroed device memory for the state of loops, ``ROUND_WORDS`` numbers for each launch."""

    SIZE = 256

    def __init__(self, device: Device) -> None:
        self._device = device
        self._next = self.SIZE

    def take(self) -> np.uint64:
        """Return the address of an unused ``uint64[ROUND_WORDS]`` of zeros."""
        if self._next == self.SIZE:
            self._all = self._device.xp.zeros((self.SIZE, ROUND_WORDS), np.uint64)
            self._next, self._start = 0, self._all.data.ptr
        self._next += 1
        return np.uint64(self._start + (self._next - 1) * ROUND_WORDS * 8)
