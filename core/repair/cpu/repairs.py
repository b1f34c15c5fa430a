"""The dependence forest on the CPU: computing and repairing it (see ``suricate.repair.forest``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from suricate.base.once import Once
from suricate.base.types import ArcList, StoreView
from suricate.cpu import threads
from suricate.cpu.jit import EntryPoints
from suricate.edgefn.layout import HALF, Layout, keys_differ, numba_decoded
from suricate.graph import Graph
from suricate.kernels.generated import cursor_functions, load_module, offers
from suricate.kernels.walking import plain_view
from suricate.operators.call import Call, stamps_of
from suricate.operators.cpu.instances import ATOMICS, Traversal, expanded
from suricate.operators.cpu.measuring import MANY
from suricate.operators.cpu.parallel import cut
from suricate.operators.cpu.push.push_steps import SCAN, shared_from
from suricate.operators.cpu.sources import Listed
from suricate.operators.results import Propagated
from suricate.plugins.step import Step
from suricate.repair.cpu.event_step import Events
from suricate.repair.cpu.search import Near, Search
from suricate.repair.cpu.waiting import CHUNK, WINDOW, Waiting, chunks_for
from suricate.state.frontier import Frontier

HERE = Path(__file__).parent
_CURSOR = {"ahead", "copied", "degree", "neighbors", "weight"}
SHARED = ("forest_near", "forest_search")  #: templates of loops that run on several threads
NO_LIMIT = 2**62  #: of steps
QUEUES = ("operators.queue", "operators.buffer", "operators.invalid")  #: scratch arrays
_NO_WEIGHTS, _NO_STATUS = np.empty(0, np.int64), np.empty(0, np.uint8)

_modules = Once[tuple, ModuleType]()


Changes = tuple[ArcList | None, ArcList | None, ArcList | None]  #: deleted, replaced and inserted arcs


class Repairs:
    """The computations and repairs of one forest on one graph.

    Args:
        graph: the graph.
        call: the functions offer (``function``) and restart (``commit``), and their arguments.
        words: the words of the forest.
        violated: ``uint32[1]``, becomes 1 if the keys of an offer do not grow.
        uniform: whether a vertex offers the same word along all its edges.
    """

    def __init__(self, graph: Graph, call: Call, words: Any, violated: np.ndarray, uniform: bool) -> None:
        self.graph, self.call, self._words, self.violated, self.uniform = graph, call, words, violated, uniform
        self._arguments = call.function.arguments
        self.has_totals = any(argument.kind == "accumulator" for argument in self._arguments)
        self._stays = all(argument.kind in ("scalar", "array", "words") for argument in self._arguments)
        self._tree: np.ndarray | None = None  # the words that values belong to
        self.values: tuple[Any, ...] = ()
        self.sizes = -1, -1  # number of vertices, and ``moves`` of the workspace, that scratch belongs to
        self.scratch: tuple[Any, ...] = ()
        self.code = EntryPoints()  # of loops, to whose arguments one graph and one forest give the same types always
        self._modules: dict[tuple[str, str], ModuleType] = {}
        self._events = Events()

    def _bind(self) -> np.ndarray:
        """Return the array of the words, and set :attr:`values` to the users' arguments as compiled loops take them."""
        tree: np.ndarray = self._words.data
        if tree is not self._tree or not self._stays:
            given = zip(self._arguments, self.call.values, strict=True)
            self.values, self._tree = tuple(argument.numba_value(value) for argument, value in given), tree
        return tree

    def event_step(self, result: Callable[[Any], Any]) -> Step:
        """Return the forest's step for ``suricate.replay``; ``result`` converts words to the algorithm's result."""
        self._bind()
        module, weighted = self.module("forest_events", self.view("out")), self.call.function.reads_weight
        step = self._events.step(self.graph, module, self._words, self.violated, self.values, result)
        return step._replace(weighted=weighted)

    def run(self, roots: Frontier | None, changes: Changes, width: float | None) -> Propagated:
        """Compute the forest from ``roots``, or repair it after ``changes`` if ``roots`` is None.

        Returns the numbers of steps and of pushes. ``changes`` are three lists of arcs, or None each: the deleted, the
        replaced and the inserted ones; all None if there are roots. ``width``: if given, vertices push in the order of
        their first keys, in buckets of this width.
        """
        tree = self._bind()
        graph, workspace, n = self.graph, self.graph.workspace, self.graph.num_vertices
        if self.sizes != (n, workspace.moves):
            self.scratch = stamps_of(graph), *(workspace.array(name, n, np.uint32) for name in QUEUES)
            self.sizes = n, workspace.moves
        return _Repair(self, tree).run(roots, changes, width)

    def view(self, side: str) -> StoreView:
        """Return a view of the graph as the loops of this forest take it: without weights, if it reads none."""
        view = self.graph.view(side)
        return view if self.call.function.reads_weight and view.weight_dtype is not None else plain_view(view)

    def module(self, template: str, view: StoreView) -> ModuleType:
        """Return the loops of ``<template>.py``, compiled for the cursor of ``view`` and the forest's functions."""
        key = template, view.cursor
        made = self._modules.get(key)
        if made is None:
            made = self._modules[key] = _module_of(view, self.call, self.uniform, template)
        return made


class _Repair:
    """One computation or repair: its views, queues and stamps."""

    def __init__(self, of: Repairs, tree: np.ndarray) -> None:
        graph, call, view, n = of.graph, of.call, of.view("out"), of.sizes[0]
        self.module, self.code = of.module, of.code
        self.loops = of.module("forest_ordered", view)
        self.graph, self.call, self.uniform = graph, call, of.uniform
        self.is_float = call.layout.fields[0].dtype.kind == "f"
        self.g, self.n, self.has_back = view.data, n, graph.has_in_edges
        self.view, self.back = of.view, of.view("in").data if self.has_back else self.g
        self.tree, self.violated, self.values, self.has_totals = tree, of.violated, of.values, of.has_totals
        self.stamps, self.queue, self.buffer, self.invalid = of.scratch
        self.step = self.stamps.steps(2**31 - 1)

    def run(self, roots: Frontier | None, changes: Changes, width: float | None) -> Propagated:
        """Compute the forest from ``roots``, or repair it after ``changes`` if ``roots`` is None."""
        deleted, replaced, inserted = changes
        count = invalid = 0
        if deleted is not None:
            count = self._along(self.loops.suspect_children, deleted, 0, False)
        if replaced is not None:
            count = self._along(self.loops.suspect_children, replaced, count, True)
        if roots is not None:
            ranges = threads.ranges(self.n, 1 if self.has_totals else threads.parts(self.n))
            threads.run(self.loops.restart_all, [(self.tree, *part, *self.values) for part in ranges])
        if count:
            invalid, self.step = self._called(
                self.loops.invalidate, self.g, self.back, self.has_back, self.tree, self.stamps.array, self.step + 1,
                count, self.queue, self.buffer, self.invalid, self.violated, *self.values,
            )  # fmt: skip
        everything = (invalid > 0 and not self.has_back) or (roots is not None and roots.is_all)
        if everything:
            count = self.n
        elif roots is not None:
            count = len(roots)
            self.queue[:count] = roots.vertices
        else:
            count = self._offers(invalid, (replaced, inserted))
        if self.uniform and roots is not None and not everything and self._is_level(self.queue[:count]):
            steps, pushed = self._search(count)
        elif width is not None and not self.uniform:
            steps, pushed = self._in_order(everything, count, width)
        else:
            steps, pushed = self._in_steps(everything, count, by_level=self.uniform)
        self.stamps.give_back(self.step)
        return Propagated.of(steps, pushed, True)

    def _is_level(self, ids: np.ndarray) -> bool:
        """Return whether all vertices in ``ids`` have the same keys."""
        words = self.tree[ids]
        return not keys_differ(words[1:], words[:-1], self.call.layout).any()

    def _search(self, count: int) -> tuple[int, int]:
        """Push or pull from the first ``count`` of the queue until nothing changes; return steps and pushes."""
        module = self.module("forest_search", self.view("out"))
        number = 1 if self._shared_from() >= MANY else threads.limit()
        target = self.tree, self.queue, self.buffer, self.violated, self.values
        return Search(self.graph, self.view, module, *target, number).run(count)

    def _steps(self, everything: bool, count: int, most: int) -> tuple[int, int, int]:
        """Push for up to ``most`` steps; return the steps, the pushes, and the vertices in the queue."""
        steps, pushed, share = 0, 0, self._shared_from()
        while count and steps < most:
            made, more, count, self.step = self.loops.propagate(
                self.g, self.n, everything, count, most - steps, share, self.tree, self.stamps.array, self.step,
                self.queue, self.buffer, self.violated, *self.values,
            )  # fmt: skip
            steps, pushed, everything = steps + made, pushed + more, everything and not made
            if made % 2:
                self.queue, self.buffer = self.buffer, self.queue
            if count and steps < most:
                steps, pushed, count = steps + 1, pushed + count, self._shared_step(everything, count)
                everything = False
        return steps, pushed, count

    def _shared_from(self) -> int:
        """Return the number of edges above which several threads make a step; ``MANY`` if one makes all steps."""
        return int(MANY) if self.has_totals else shared_from(self.graph, self.call, self.tree)

    def _shared_step(self, everything: bool, count: int) -> int:
        """Push once by several threads; vertices whose keys changed become the queue; return their number."""
        view, stamps = self.view("out"), self.stamps.array
        parts = self.module("forest_near", view)
        queued = Listed(self.queue, everything, count)
        ranges = cut(self.graph, Traversal(view), "out", (self.g, self.g, self.n), queued)
        given = (self.tree, stamps, self.step, self.violated, *self.values)
        threads.run(parts.push, [(self.g, everything, self.queue, *part, *given) for part in ranges])
        ranges = threads.ranges(self.n, threads.parts(int(self.n * SCAN)))
        lasts = threads.run(parts.gather, [(*part, stamps, self.step, self.buffer) for part in ranges])
        self.queue, self.buffer, self.step = self.buffer, self.queue, self.step + 1
        return threads.compacted(self.queue, ranges, lasts)

    def _in_steps(self, everything: bool, count: int, *, by_level: bool) -> tuple[int, int]:
        """Push step by step until nothing changes; return the number of steps and of vertices that pushed.

        The first step starts from the first ``count`` of the queue, or from all vertices if ``everything``. With
        ``by_level`` a vertex of the queue waits for the step whose vertices have its first key.
        """
        steps, pushed, left = 0, 0, count
        if everything or not by_level:
            steps, pushed, left = self._steps(everything, count, 1 if by_level else NO_LIMIT)
        if left:
            *more, self.step = self._called(
                self.loops.propagate_by_level, self.g, self.invalid, left, self.tree, self.stamps.array, self.step,
                self.queue, self.buffer, self.violated, *self.values,
            )  # fmt: skip
            steps, pushed = steps + more[0], pushed + more[1]
        return steps, pushed

    def _called(self, kernel: Any, *arguments: Any) -> Any:
        """Call the compiled loop ``kernel`` with ``arguments``; return its result."""
        return (self.code.get(kernel) or self.code.look_up(kernel, kernel, arguments))(*arguments)

    def _along(self, kernel: Any, arcs: ArcList, count: int, *options: bool) -> int:
        """Call ``kernel`` for the list ``arcs``, unless it is empty; return the new length of the queue."""
        if not arcs.size:
            return count
        src, dst, weight, status, wanted, size = arcs
        weight = weight if self.call.function.reads_weight else None
        weight, status = _NO_WEIGHTS if weight is None else weight, _NO_STATUS if status is None else status
        listed = src, dst, weight, status, wanted, size
        given = (
            self.n, listed, *options, self.tree, self.stamps.array, self.step, self.queue, count, self.violated,
            *self.values,
        )  # fmt: skip
        key, code = (kernel, weight.dtype), kernel
        if src.strides == dst.strides == (4,) and status.strides == (1,) and weight.strides == (weight.itemsize,):
            code = self.code.get(key) or self.code.look_up(key, kernel, given)
        found: int = code(*given)  # a caller, or a store's outcome, may bring arrays with gaps or wider ids
        return found

    def _in_order(self, everything: bool, count: int, width: float) -> tuple[int, int]:
        """Push by buckets of ``width`` of the first key until nothing changes; return buckets or rounds, and pushes."""
        steps, pushed, left = self._steps(everything, count, 1 if everything else 0)
        share, waiting = self._shared_from(), self._waiting()
        width = width if self.is_float else max(1, round(width))
        while left:
            *more, left = self.loops.propagate_in_order(
                self.g, self.queue, left, self.tree, 1 / width, share, waiting, self.violated, *self.values
            )
            steps, pushed = steps + more[0], pushed + more[1]
            if left:
                *more, left = self._near().run(left, float(width), more[0], share)
                steps, pushed = steps + more[0], pushed + more[1]
        return steps, pushed

    def _waiting(self) -> Waiting:
        """Return arrays for the buckets of ``forest_ordered.py``, in scratch memory that the graph keeps."""
        array, chunks = self.graph.workspace.array, chunks_for(self.n)
        who, rest = array("operators.who", chunks * CHUNK, np.uint32), array("operators.rest", chunks, np.int64)
        lists = [array(f"operators.{name}", WINDOW + 1, np.int64) for name in ("firsts", "ends", "supply")]
        return Waiting(array("operators.where", self.n, np.uint8), who, rest, *lists)

    def _near(self) -> Near:
        view = self.view("out")
        module, self.step = self.module("forest_near", view), self.step + 2
        target = self.tree, self.stamps, self.step - 1, self.queue
        return Near(self.graph, view, module, *target, self.violated, self.values)

    def _offers(self, invalid: int, lists: tuple[ArcList | None, ...]) -> int:
        """Give invalid vertices their best offers, then make those along ``lists``; return the length of the queue."""
        count = 0
        if invalid:
            count = self._called(
                self.loops.pull_offers, self.back, self.tree, self.invalid, invalid, self.stamps.array, self.step,
                self.queue, count, self.violated, *self.values,
            )  # fmt: skip
        for arcs in lists:
            count = count if arcs is None else self._along(self.loops.push_offers, arcs, count)
        self.step += 1
        return count


def _module_of(view: StoreView, call: Call, uniform: bool, template: str) -> ModuleType:
    cursor = view.cursor, view.weight_dtype is not None, view.owner_per
    key = (template, *cursor, call.function.key, call.commit, call.layout, uniform)
    return _modules.get(key) or _modules.make(
        key, lambda: load_module(template, _module_text(view, call, uniform, template))
    )


def _shared_words(layout: Layout) -> tuple[str, str]:
    """Return two parts of a module's text, for words that several threads read and replace."""
    names = ("load_word", "exchange") if layout.bits == HALF else ("load_pair", "exchange_pair")
    return ATOMICS, "load_whole = {}\nexchange_whole = {}".format(*names)


def _module_text(view: StoreView, call: Call, uniform: bool, template: str) -> str:
    """Return the text of ``<template>.py`` with the cursor of ``view``, functions for words, and those of ``call``."""
    assert call.commit is not None
    weighted = view.weight_dtype is not None
    first = numba_decoded(call.layout.bits, call.layout.fields[0], "word")
    low = "word" if call.layout.bits == 64 else "word[0]"
    parts = [
        "import math\n\nimport numpy as np\nfrom numba import njit\n\nfrom suricate.cpu.jit import inner",
        *dict.fromkeys((call.function.numba_imports, call.commit.numba_imports)),
        cursor_functions(view, _CURSOR),
        call.layout.numba_source,
        f"@inner\ndef parent_of(word):\n    return np.uint32({low} & np.uint64(0xFFFFFFFF))",
        f"uniform = {uniform}\nboth = False\ncopies = {offers(view, 'copied')}",
        *(_shared_words(call.layout) if template in SHARED else ()),
        f"@inner\ndef first_key(word):\n    return {first}",
        f"@inner\ndef arc_weight(weights, i):\n    return {'weights[i]' if weighted else '1'}",
        *(
            f"{'@njit' if function.by_hand else '@inner'}\n{function.numba_source(name)}"
            for name, function in (("edge", call.function), ("commit", call.commit))
        ),
    ]
    body = expanded(HERE / f"{template}.py", set(), {})
    parameters = "".join(f", a{i}" for i in range(len(call.function.arguments)))
    return re.sub(r",\s*\*args\b", parameters, "\n\n".join([*parts, body]))
