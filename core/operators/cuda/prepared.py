"""Prepared calls on CUDA: their kernels have packed arguments, of which a call replaces only the few that differ.

There is a class per operator, for frontiers without repeats or all vertices. The graph may change between calls, but
not its number of vertices. The kernels are those of ``push``, ``pull`` and ``maps``. Nothing here waits for the device.
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
from suricate.operators.call import AT_ONCE, Call, identity_of, stamps_of
from suricate.operators.checks import belongs
from suricate.operators.cuda.launches import (
    Counters,
    WideArray,
    blocks,
    fair_share,
    full_grid,
    heavy_arrays,
    split_list,
)
from suricate.operators.cuda.maps.maps import EVERYWHERE
from suricate.operators.cuda.programs import BLOCK, WARPS, program_of
from suricate.operators.cuda.pull.pull import TURNS, value_macros
from suricate.operators.prepared import MISSED
from suricate.state.frontier import Frontier

Numbers = tuple[Any, ...]

ADDRESS, COUNT, LONG, INT = np.uint64(0), np.uint32(0), np.int64(0), np.int32(0)  #: what parameters are


def prepare(
    operator: str, graph: Graph, call: Call, fn: Any, out: Array | None, over: str, scheme: str
) -> Prepared | None:
    """Return the prepared call of ``operator`` on ``graph``; None if such calls cannot be prepared.

    ``fn`` is the user's function, ``call`` the call made from it; ``out``, ``over`` and ``scheme`` are the parameters
    of the operator.
    """
    if (call.function.leading[0] == "i" and operator != "vertex_map") or call.reduce in AT_ONCE:
        return None
    if not graph.num_vertices:
        return None
    if over == "both" or scheme in ("bucket", "updated"):
        return None
    kinds = {"vertex_map": VertexMap, "edge_map": EdgeMap, "advance": Advance, "neighbor_reduce": NeighborReduce}
    return kinds[operator](graph, call, fn, out, over, scheme)


class Prepared:
    """Base class of the prepared calls of operators: a subclass per operator launches its kernels in :meth:`run`.

    This class checks whether the call can still be used, and keeps its kernels, each compiled at its first launch.
    """

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
        """Make the call on ``frontier`` (None: all vertices) and return the operator's result.

        If that is not possible, nothing is launched and ``MISSED`` is returned. ``args`` are the arguments of the
        user's function; only numbers among them may differ from those of earlier calls.
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
