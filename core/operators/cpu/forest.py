"""The dependence forest on the CPU: computing and repairing it (see ``suricate.structures.forest``)."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.edgefn.layout import numba_decoded
from suricate.generated import cursor_functions, load_module
from suricate.operators.call import Call, stamps_of
from suricate.operators.results import Propagated
from suricate.structures.frontier import Frontier
from suricate.types import ArcList, StoreView

if TYPE_CHECKING:
    from suricate.graph import Graph

TEMPLATE = Path(__file__).parent / "templates" / "forest.py"
_BINDINGS = re.compile(r"^from suricate\.operators\.cpu\.templates\.forest_bindings import \([^)]+\)$", re.MULTILINE)
_CURSOR = {"begin", "buckets", "end", "first", "following", "key", "weight"}
_NO_WEIGHTS, _NO_STATUS = np.empty(0, np.int64), np.empty(0, np.uint8)

_modules: dict[tuple, ModuleType] = {}
_lock = threading.Lock()


def repair(
    graph: Graph,
    call: Call,
    words: Any,
    roots: Frontier | None,
    changes: tuple[ArcList | None, ArcList | None, ArcList | None],
    violated: np.ndarray,
    order: tuple[float, float] | None,
    uniform: bool,
) -> Propagated:
    """Propagate from ``roots``, or repair after ``changes``: deleted, replaced and inserted arcs."""
    return _Repair(graph, call, words.data, violated, uniform).run(roots, changes, order)


class _Repair:
    """One run: views, queues and stamps."""

    def __init__(self, graph: Graph, call: Call, tree: np.ndarray, violated: np.ndarray, uniform: bool) -> None:
        view, n = graph.view("out"), graph.num_vertices
        self.loops = _module_of(view, call, uniform)
        self.g, self.n, self.has_back = view.data, n, graph.has_in_edges
        self.back = graph.view("in").data if self.has_back else self.g
        self.tree, self.violated = tree, violated
        self.values = tuple(
            argument.numba_value(value) for argument, value in zip(call.function.arguments, call.values, strict=True)
        )
        self.stamps = stamps_of(graph)
        names = ("operators.queue", "operators.spare", "operators.invalid")
        self.queue, self.spare, self.invalid = (graph.workspace.array(name, n, np.uint32) for name in names)
        self.mark = graph.workspace.array("operators.waiting", n, np.uint32)
        self.step = self.stamps.steps(2**31 - 1)

    def run(
        self,
        roots: Frontier | None,
        changes: tuple[ArcList | None, ArcList | None, ArcList | None],
        order: tuple[float, float] | None,
    ) -> Propagated:
        deleted, replaced, inserted = changes
        count = self._suspects(deleted, 0, exists=False)
        count = self._suspects(replaced, count, exists=True)
        invalid = 0
        if roots is not None:
            self.loops.restart_all(self.n, self.tree, *self.values)
        if count:
            invalid, self.step = self.loops.invalidate(
                self.g, self.back, self.has_back, self.tree, self.stamps.array, self.step + 1, count, self.queue,
                self.spare, self.invalid, self.violated, *self.values,
            )  # fmt: skip
        everything = (invalid > 0 and not self.has_back) or (roots is not None and roots.is_all)
        if everything:
            count = self.n
        elif roots is not None:
            count = len(roots)
            self.queue[:count] = roots.vertices
        else:
            count = self._offers(invalid, (replaced, inserted))
        target = (self.tree, self.stamps.array, self.step, self.queue, self.spare)
        if order is None or everything:
            steps, pushed, self.step = self.loops.propagate(
                self.g, everything, count, *target, self.violated, *self.values
            )
        else:
            bound, delta = map(np.float64, order)
            steps, pushed, self.step = self.loops.propagate_in_order(
                self.g, count, *target, self.invalid, self.mark, bound, delta, self.violated, *self.values
            )
        self.stamps.give_back(self.step)
        return Propagated.of(steps, pushed, True)

    def _suspects(self, arcs: ArcList | None, count: int, *, exists: bool) -> int:
        if arcs is None or not arcs.size:
            return count
        return self.loops.suspect_children(
            self.n, *_numba_arcs(arcs), exists, self.tree, self.stamps.array, self.step, self.queue, count,
            self.violated, *self.values,
        )  # fmt: skip

    def _offers(self, invalid: int, lists: tuple[ArcList | None, ...]) -> int:
        """Let invalid vertices pull, and given arcs push; return how many vertices are queued."""
        count = 0
        if invalid:
            count = self.loops.pull_offers(
                self.back, self.tree, self.invalid, invalid, self.stamps.array, self.step, self.queue, count,
                self.violated, *self.values,
            )  # fmt: skip
        for arcs in lists:
            if arcs is not None and arcs.size:
                count = self.loops.push_offers(
                    self.n, *_numba_arcs(arcs), self.tree, self.stamps.array, self.step, self.queue, count,
                    self.violated, *self.values,
                )  # fmt: skip
        self.step += 1
        return count


def _numba_arcs(arcs: ArcList) -> tuple[Any, ...]:
    weight = _NO_WEIGHTS if arcs.weight is None else arcs.weight
    status = _NO_STATUS if arcs.status is None else arcs.status
    return arcs.src, arcs.dst, weight, status, arcs.wanted, arcs.size


def _module_of(view: StoreView, call: Call, uniform: bool) -> ModuleType:
    cursor = view.cursor, view.weight_dtype is not None, view.owner_per
    key = (*cursor, call.function.key, call.commit, call.layout, uniform)
    module = _modules.get(key)
    if module is None:
        with _lock:
            module = _modules.get(key)
            if module is None:
                module = _modules[key] = load_module("forest", _module_text(view, call, uniform), view.cursor)
    return module


def _module_text(view: StoreView, call: Call, uniform: bool) -> str:
    """Return the template with the cursor, the functions of words and those of the call in place of the bindings."""
    assert call.commit is not None
    weighted = view.weight_dtype is not None
    first = numba_decoded(call.layout.bits, call.layout.fields[0], "word")
    low = "word" if call.layout.bits == 64 else "word[0]"
    parts = [
        "import math\n\nimport numpy as np\nfrom numba import njit\n\nfrom suricate.jit import inner",
        *dict.fromkeys((call.function.numba_imports, call.commit.numba_imports)),
        cursor_functions(view, _CURSOR, absent_weight=1),
        call.layout.numba_source,
        f"@inner\ndef parent_of(word):\n    return np.uint32({low} & np.uint64(0xFFFFFFFF))",
        f"uniform = {uniform}",
        "farthest = np.float64(np.inf)",
        f"@inner\ndef first_key(word):\n    return np.float64({first})",
        f"@inner\ndef arc_weight(weights, i):\n    return {'weights[i]' if weighted else '1'}",
        *(
            f"{'@njit' if function.by_hand else '@inner'}\n{function.numba_source(name)}"
            for name, function in (("edge", call.function), ("commit", call.commit))
        ),
    ]
    body = TEMPLATE.read_text()
    found = _BINDINGS.search(body)
    assert found is not None
    parameters = "".join(f", a{i}" for i in range(len(call.function.arguments)))
    text = body[: found.start()] + "\n\n".join(parts) + body[found.end() :]
    return re.sub(r",\s*\*args\b", parameters, text)
