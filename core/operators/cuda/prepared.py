"""Prepared calls on CUDA: their kernels have packed arguments, of which a call replaces only the few that differ.

There is a class per operator, for frontiers without repeats or all vertices. The graph may change between calls, but
not its number of vertices. The kernels are those of ``push``, ``pull`` and ``maps``; ``su.Repeated`` has calls over all
vertices. Nothing here waits for the device.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import StoreView
from suricate.cuda.kernel import PreparedKernel
from suricate.cuda.program import Program
from suricate.edgefn.compile import translations_of
from suricate.graph import Graph
from suricate.kernels.walking import walk_of
from suricate.operators import schemes
from suricate.operators.call import AT_ONCE, Call, Swap, Until, identity_of, stamps_of
from suricate.operators.checks import belongs
from suricate.operators.cuda.launches import (
    NULL,
    Counters,
    WideArray,
    blocks,
    fair_share,
    full_grid,
    heavy_arrays,
    split_list,
    split_memory,
)
from suricate.operators.cuda.loops.loop_memory import LoopMemory, Outcomes, propagated
from suricate.operators.cuda.maps.maps import EVERYWHERE
from suricate.operators.cuda.programs import BLOCK, WARPS, launch_values, program_of
from suricate.operators.cuda.pull.converge import (
    CONVERGE_BLOCK,
    RoundStates,
    blocks_of_passes,
    passes_program,
    walks_of,
)
from suricate.operators.cuda.pull.pull import TURNS, value_macros
from suricate.operators.prepared import MISSED
from suricate.operators.results import Propagated
from suricate.state.frontier import Frontier

Numbers = tuple[Any, ...]

ADDRESS, COUNT, LONG, INT = np.uint64(0), np.uint32(0), np.int64(0), np.int32(0)  #: what parameters are


def prepare(
    operator: str, graph: Graph, call: Call, fn: Any, out: Array | None, over: str, scheme: str
) -> Prepared | None:
    """Return the prepared call of ``operator`` on ``graph``; None if such calls cannot be prepared."""
    if (call.function.leading[0] == "i" and operator != "vertex_map") or call.reduce in AT_ONCE:
        return None
    if not graph.num_vertices:
        return None
    if over == "both" or scheme in ("bucket", "updated"):
        return None
    kinds = {"vertex_map": VertexMap, "edge_map": EdgeMap, "advance": Advance, "neighbor_reduce": NeighborReduce}
    return kinds[operator](graph, call, fn, out, over, scheme)


class Prepared:
    """A repeatable call of an operator, with its kernels; a subclass per operator launches them in :meth:`run`."""

    held: Any = None  #: weak references to the arrays of the call
    uses = 0  #: calls since it was prepared

    def __init__(self, graph: Graph, call: Call, fn: Any, out: Array | None, over: str, scheme: str) -> None:
        self.call, self.over, self.scheme = call._replace(values=(), given=()), over, scheme  # it keeps no array alive
        self.takes_position = call.function.leading[0] == "i"  # and serves repeats, too
        self.size, self.xp, self.device = graph.num_vertices, graph.device.xp, graph.device
        self.counters, self.full = graph.workspace.state(Counters), full_grid(graph.device)
        view = graph.view(over)
        self.walk, self._view = walk_of(view), weakref.ref(view)
        self._translations, self._moves = translations_of(fn, call.function), graph.workspace.moves
        self._values = [_address(one) for one in call.values]
        self._scalars = [i for i, one in enumerate(call.function.arguments) if one.kind == "scalar"]
        self._kernels: dict[str, tuple[PreparedKernel, Any, int]] = {}

    def serves(self, graph: Graph, fn: Any) -> bool:
        """Return whether this call can be used for ``fn``, with the same arrays, in the present state of ``graph``."""
        if self._translations.variant(fn) is not self.call.function or graph.num_vertices != self.size:
            return False
        view = graph.view(self.over)
        return graph.workspace.moves == self._moves and (view is self._view() or self._walks(view))

    def _walks(self, view: StoreView) -> bool:
        """Use ``view`` from now on and return True, unless the kernels were compiled for views of another kind."""
        walk = walk_of(view)
        if walk.prelude != self.walk.prelude:
            return False
        self.walk, self._view = walk, weakref.ref(view)
        if not isinstance(self, VertexMap):
            for kernel, *_ in self._kernels.values():
                kernel.put(0, walk.packed)
        return True

    def __call__(self, graph: Graph, frontier: Frontier | None, args: Numbers) -> Any:
        """Return the operator's result on ``frontier`` (None: all), or ``MISSED`` if nothing is launched.

        ``args`` are the arguments of the user's function; only numbers may differ from those of earlier calls.
        """
        self.uses += 1
        for i in self._scalars:
            if type(args[i]) is int and not -(2**63) <= args[i] < 2**63:
                return MISSED
        if frontier is not None:
            belongs(graph, frontier, "the frontier")
        if frontier is None or (frontier.is_all and frontier.capacity == self.size):
            return self.run(graph, None, (0, 0, self.size), self.size, args)
        most, known = frontier.at_most, frontier.known_count
        if not most or not (frontier.distinct or self.takes_position) or frontier.is_all or self.scheme == "scan":
            return MISSED
        counted = (0, known) if known is not None else (frontier.count_address, 0)
        return self.run(graph, frontier, (frontier.buffer.data.ptr, *counted), most, args)

    def run(self, graph: Graph, frontier: Frontier | None, listed: Numbers, most: int, args: Numbers) -> Any:
        """Launch the kernels, and return the operator's result.

        Args:
            graph: the graph.
            frontier: the vertices; None: all.
            listed: the same as ``(ids, address, count)``, see ``frontier_arguments``; ``ids`` is an address, 0 for all.
            most: an upper bound of the number of vertices.
            args: the arguments of the user's function.
        """
        raise NotImplementedError

    def launch(self, name: str, grid: int, first: Numbers, changing: Numbers, last: Numbers, args: Numbers) -> None:
        """Launch a kernel with the parameters ``first``, ``changing``, ``last``, and the function's arguments ``args``.

        Args:
            name: name of the kernel, a key of ``CHANGING``.
            grid: number of blocks.
            first: parameters that change only with the view, which are packed by ``_walks``.
            changing: parameters that differ from call to call, of the types in ``CHANGING``.
            last: parameters that never change.
            args: arguments of the user's function, of which only the numbers are packed again.
        """
        ready = self._kernels.get(name)
        if ready is None:
            kernel = PreparedKernel(
                self.program().kernel(name), grid, BLOCK, (*first, *CHANGING[name], *last, *self._values)
            )
            end = len(first) + len(changing)
            ready = self._kernels[name] = kernel, kernel.run_of(len(first), end), end + len(last)
        kernel, put, values = ready
        put(*changing)
        for i in self._scalars:
            kernel.put(values + i, args[i])
        kernel.launch(grid)

    def program(self) -> Program:
        """Return the CUDA program with the kernels of this operator."""
        raise NotImplementedError


class VertexMap(Prepared):
    """A prepared call of ``vertex_map``."""

    def run(self, graph: Graph, frontier: Frontier | None, listed: Numbers, most: int, args: Numbers) -> Frontier:
        """Launch the kernel ``map_vertices``; return the vertices for which the function is true, as a frontier."""
        kept, count = self.xp.ndarray(most, np.uint32), self.counters.count()
        grid = min(blocks(most, BLOCK), self.full)
        self.launch("map_vertices", grid, (self.walk.bound,), (*listed, kept.data.ptr, count.address), (), args)
        return Frontier._of(self.device, kept, count, num_vertices=self.size, distinct=not self.takes_position)

    def program(self) -> Program:
        """Return the CUDA program of ``vertex_map.cu``, which needs no cursor."""
        return program_of("vertex_map.cu", None, self.call, HAS_POSITION=int(self.takes_position), KEEPS=1)


class EdgeMap(Prepared):
    """A prepared call of ``edge_map`` over the edges of vertices."""

    def run(self, graph: Graph, frontier: Frontier | None, listed: Numbers, most: int, args: Numbers) -> bool:
        """Launch the function for the edges of ``frontier`` (None: all vertices); return True: the call was made."""
        walk, whole = self.walk, (self.walk.packed, self.walk.bound)
        if frontier is None and graph.view(self.over).can_scan:
            self.launch("map_segments", min(EVERYWHERE, self.full), whole, (), (np.int32(0),), args)
            return True
        splits, limit, (memory, total, held) = split_list(graph, (walk,))
        heavy = (_address(memory), total, held)
        self.launch("map_edges", min(most, self.full), whole, (*listed, limit, *heavy), (), args)
        if splits:
            self.launch("map_heavy_edges", self.full, whole[:1], heavy, (), args)
        return True

    def program(self) -> Program:
        """Return the CUDA program of ``edge_map.cu``."""
        return program_of("edge_map.cu", self.walk, self.call, OVER=f"OVER_{self.over.upper()}", HAS_POSITION=0)


class Advance(Prepared):
    """A prepared call of ``advance`` over ``"out"`` or ``"in"``."""

    def __init__(self, graph: Graph, call: Call, fn: Any, out: Array, over: str, scheme: str) -> None:
        self._stamps, self._out, self._wide = stamps_of(graph), out.data.ptr, graph.workspace.state(WideArray)
        self._heavy = [array.data.ptr for array in heavy_arrays(graph)]
        super().__init__(graph, call, fn, out, over, scheme)

    def run(self, graph: Graph, frontier: Frontier | None, listed: Numbers, most: int, args: Numbers) -> Frontier:
        """Push once from ``frontier`` (None: all vertices); return the vertices whose value changed, as a frontier."""
        whole, scheme = (self.walk.packed, self.walk.bound), self.scheme
        queue, count = self.xp.ndarray(self.size, np.uint32), self.counters.count()
        step = self._stamps.steps(1)
        target = self._out, self._stamps.array.data.ptr, step, queue.data.ptr, count.address
        start = Frontier._of_all(graph.device, graph.num_vertices) if frontier is None else frontier
        scheme = schemes.of_push(scheme, graph.view(self.over), start)
        if scheme == "scan":
            self.launch("push_segments", self.full, whole, target, (), args)
        else:
            self._wide.holds = None
            heavy = (*self._heavy, self.counters.total())
            if scheme == "bucket":
                self.launch("list_buckets", min(blocks(most, BLOCK), self.full), whole, (*listed, *heavy), (), args)
            else:
                few = np.uint32(schemes.FEW_VERTICES if scheme == "auto" else 0)
                changing = (*listed, *target, *heavy)
                self.launch("push_vertices", min(blocks(most, WARPS), self.full), whole, changing, (few,), args)
            self.launch("push_heavy_buckets", self.full, whole, (*target, *heavy, scheme == "bucket"), (), args)
        return Frontier._of(self.device, queue, count, num_vertices=self.size)

    def program(self) -> Program:
        """Return the CUDA program of ``advance.cu``."""
        return program_of("advance.cu", self.walk, self.call, self.call.dtype, SECOND_VIEW=0, PLAIN_WORD_LOADS=1)


class NeighborReduce(Prepared):
    """A prepared call of ``neighbor_reduce`` without ``then``: it fills ``out`` or, if that was None, a new array."""

    def __init__(self, graph: Graph, call: Call, fn: Any, out: Array | None, over: str, scheme: str) -> None:
        self._out = None if out is None else weakref.ref(out)
        assert call.dtype is not None
        self._identity = identity_of(call.reduce, call.dtype)
        super().__init__(graph, call, fn, out, over, scheme)

    def run(self, graph: Graph, frontier: Frontier | None, listed: Numbers, most: int, args: Numbers) -> Any:
        """Fill the array of results and return it; ``MISSED`` if only the device knows the number of vertices."""
        if frontier is not None and frontier.known_count is None:
            return MISSED
        out: Any = self.xp.ndarray(most, self.call.dtype) if self._out is None else self._out()
        if len(out) != most:
            return MISSED
        whole, scheme = (self.walk.packed, self.walk.bound), self._scheme(graph, frontier)
        if scheme == "scan":
            out.fill(self._identity)
            self.launch("reduce_segments", self.full, whole, (out.data.ptr,), (np.int32(0),), args)
            return out
        share = fair_share(self.device, most)
        splits, limit, (memory, total, held) = split_list(graph, (self.walk,), wanted=scheme == "auto")
        into = out.data.ptr, 0, 0, _address(memory), total, held
        grid = min(blocks(most, share), TURNS * self.full)
        self.launch("reduce_vertices", grid, whole, (*listed, share, limit, *into), (), args)
        if splits:
            self.launch("reduce_heavy_vertices", self.full, whole, into, (), args)
        return out

    def _scheme(self, graph: Graph, frontier: Frontier | None) -> str:
        return schemes.of_pull(self.scheme, graph, graph.view(self.over), everything=frontier is None)

    def program(self) -> Program:
        """Return the CUDA program of ``neighbor_reduce.cu``."""
        call = self.call
        return program_of("neighbor_reduce.cu", self.walk, call, call.dtype, **value_macros(call, self.over))


_LISTED, _TARGET = (ADDRESS, ADDRESS, COUNT), (ADDRESS, ADDRESS, COUNT, ADDRESS, ADDRESS)
_HEAVY, _SPLIT = (ADDRESS, ADDRESS, ADDRESS), (ADDRESS, ADDRESS, COUNT)
_INTO = (ADDRESS, ADDRESS, ADDRESS, *_SPLIT)
#: the types of the parameters that change with each call
CHANGING: dict[str, Numbers] = {
    "map_vertices": (*_LISTED, ADDRESS, ADDRESS),
    "map_segments": (),
    "map_edges": (ADDRESS, ADDRESS, LONG, COUNT, *_SPLIT),
    "map_heavy_edges": _SPLIT,
    "push_segments": _TARGET,
    "list_buckets": (*_LISTED, *_HEAVY),
    "push_vertices": (*_LISTED, *_TARGET, *_HEAVY),
    "push_heavy_buckets": (*_TARGET, *_HEAVY, INT),
    "reduce_segments": (ADDRESS,),
    "reduce_vertices": (ADDRESS, ADDRESS, LONG, COUNT, COUNT, *_INTO),
    "reduce_heavy_vertices": _INTO,
}


def _address(one: Any) -> Any:
    """Return the device address of the array ``one``; if ``one`` is a NumPy number instead, return it as it is."""
    return one if isinstance(one, np.generic) else np.uint64(one.data.ptr)


TURNS_AT, OUTCOME_AT, AFTER = 5, 6, 7  #: places of arguments of ``passes`` behind ``max_steps``, see ``passes.cu``


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
        """Launch at most ``max_steps`` rounds, until a total is at most ``bound``; does not wait for the device."""
        outcome, turns, put = self._outcomes.take(), self._rounds.take(), self._launch.put
        given = self._memory.of(self._graph), split_memory(self._graph)[0], max_steps, bound
        if any(new is not old for new, old in zip(given, self._given, strict=True)):
            for place, value in enumerate((np.uint32(max_steps), np.float64(bound), *given[:2]), start=self._at):
                put(place, value)
            self._given = given
        put(self._at + TURNS_AT, turns)
        put(self._at + OUTCOME_AT, outcome.address)
        put(self._at + AFTER, NULL if after is None else after.address)
        self._launch.launch()
        return propagated(self._graph, outcome)
