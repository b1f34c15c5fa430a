"""Prepared calls on the CPU, for ``su.Repeated``: checked, compiled and converted once, then a call of a loop each.

That pays where one thread does all the work; what several threads share goes the way of all other calls.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from suricate.cpu import threads
from suricate.cpu.jit import EntryPoints
from suricate.graph import Graph
from suricate.operators.call import UNLIMITED, Call, Start, Swap, Until
from suricate.operators.cpu.instances import Traversal, instance
from suricate.operators.cpu.maps.maps import vertex_map
from suricate.operators.cpu.pull.pull import converge, exchange_contents
from suricate.operators.cpu.sources import NO_VERTICES, walk_over
from suricate.operators.results import Propagated
from suricate.state.frontier import Frontier

PLAIN = {"accumulator", "array", "graph", "scalar", "words"}  #: kinds of arguments


class _Bound:
    """A call over all vertices of a graph whose number of vertices stays the same."""

    def __init__(self, graph: Graph, call: Call) -> None:
        self.graph, self.call, self.size = graph, call, graph.num_vertices
        self.everybody = Start((Frontier._of_all(graph.device, self.size),))
        self._code = EntryPoints()  # by loop, which is one of the cursor of a view
        self._loop: Any = None
        self._seen: Callable[[], Any] = lambda: self  # returns the view that the loop was taken for
        kinds = {argument.kind for argument in call.function.arguments}
        self._is_plain = kinds <= PLAIN and not call.function.by_hand
        self._values: list[Any] = [None] * len(call.values)
        self._changing = []
        for place, (argument, value) in enumerate(zip(call.function.arguments, call.values, strict=True)):
            if argument.kind in ("array", "scalar"):
                self._values[place] = argument.numba_value(value)
            else:
                take = value.arrays if argument.kind == "accumulator" else partial(argument.numba_value, value)
                self._changing.append((place, take))

    def fits(self) -> bool:
        """Return whether the call can still be made: the number of vertices is the same as before."""
        return self.graph.num_vertices == self.size

    def values(self) -> list[Any]:
        """Return the functions' arguments for a loop; scalars move on to their next total."""
        values = self._values
        for place, take in self._changing:
            before, values[place] = values[place], take()
            if type(values[place]) is not type(before):  # another view of the graph
                self._code.clear()
        return values

    def is_short(self, work: int) -> bool:
        """Return whether one thread does ``work`` units, with arguments whose types stay the same."""
        return self._is_plain and (work < 2 * threads.GRAIN or threads.parts(work) == 1)

    def called(self, loop: Any, given: tuple[Any, ...]) -> Any:
        """Call ``loop`` with the arguments ``given``, which always have the same types; return its result."""
        return (self._code.get(loop) or self._code.look_up(loop, loop, given))(*given)


class MapOfAll(_Bound):
    """A function that is called for every vertex of a graph; its results are ignored."""

    def __init__(self, graph: Graph, call: Call) -> None:
        super().__init__(graph, call)
        self._needs_view = call.function.needs_view

    def run(self) -> None:
        """Call the function."""
        size, graph = self.size, self.graph
        if not self.is_short(size):
            vertex_map(graph, self.call, self.everybody)
            return
        view = graph.view() if self._needs_view else None
        if self._seen() is not view:
            self._loop = instance("vertex_map", Traversal(view), self.call).vertex_map
            self._seen = weakref.ref(view) if view is not None else lambda: None
        kept = graph.workspace.array("operators.buffer", size, "uint32")
        self.called(self._loop, (size, NO_VERTICES, True, 0, size, kept, *self.values()))


class Passes(_Bound):
    """A loop of ``converge`` with ``swap``: all vertices pull in every round, and arrays swap in between."""

    def __init__(self, graph: Graph, call: Call, over: str, until: Until, swap: Swap) -> None:
        super().__init__(graph, call)
        self._over, self._scalar, self._swap = over, until.scalar, swap
        self._until = next((i for i, value in enumerate(call.values) if value is until.scalar), -1)

    def run(self, max_steps: int, bound: float, after: Propagated | None) -> Propagated:
        """Make at most ``max_steps`` rounds, until a total is at most ``bound``."""
        graph, call, over, swap = self.graph, self.call, self._over, self._swap
        if after is not None or self._until < 0 or not self.is_short(graph.most_arcs + self.size):
            until = Until(self._scalar, bound)
            return converge(graph, call, self.everybody, over, None, max_steps, until, UNLIMITED, swap, after)
        walk, g, h = walk_over(graph, over, call, swapped=over != "out")
        if self._seen() is not walk.view:
            self._loop = instance("passes", walk, call, loop=(swap, self._until)).passes
            self._seen = weakref.ref(walk.view)
        tables = NO_VERTICES, NO_VERTICES  # sums need none
        rounds = self.called(self._loop, ((g, h, self.size), max_steps, float(bound), tables, *self.values()))
        if rounds & 1:
            exchange_contents(call.values, swap, rounds)
        return Propagated.of(rounds, rounds * self.size, False)
