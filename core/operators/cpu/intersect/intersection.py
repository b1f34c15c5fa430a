"""``intersect`` on the CPU: the choice of a loop for a call, and the instances of templates over two cursors."""

from __future__ import annotations

import re
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from suricate.base.once import Once
from suricate.base.types import ArcList, StoreView
from suricate.cpu import threads
from suricate.edgefn import bounds
from suricate.graph import Graph
from suricate.kernels.generated import ROW, cursor_functions, load_module
from suricate.kernels.walking import LOOKUP_COST, loops_over, without_weights
from suricate.operators.binding import bind_intersection
from suricate.operators.call import Call, Stamps
from suricate.operators.cpu.instances import BINDINGS_IMPORT, IMPORTS, TEMPLATES
from suricate.operators.cpu.parallel import run_shared
from suricate.store import fallbacks

RIGHT = "right_"  #: prefix of the functions of the second cursor
CORNER_PARTS = 4  #: at most, since each has a sum per vertex
COUNT, LOOK_UPS = (Path(__file__).with_name(f"triangle_{name}.py") for name in ("count", "look_ups"))
PAIRED = 6  #: arcs per vertex up to which all pairs of neighbours are looked up in less time than rows are listed
NO_STATUS = np.empty(0, np.uint8)
_SLOT_LINE, _SLOTS = re.compile(r"^.*# slots\n", re.MULTILINE), re.compile(r", \*slots\((\w+), (\w+)\)")


def intersect(
    graph: Graph, call: Call, left: StoreView, right: StoreView, pairs: ArcList | None, out: np.ndarray | None,
    oriented: str | None, method: str,
) -> None:  # fmt: skip
    """Fill ``out`` with sums of the function over common neighbours: per pair, in total, or per vertex.

    ``method``: ``"auto"``, or how common neighbours are found: ``"hash"`` by look-ups, ``"bitmap"`` by marks.
    """
    if pairs is None and oriented is not None:
        _triangles(graph, call, left, out, by_degree=oriented == "degree")
        return
    total = pairs is None or out is None
    if pairs is None:
        _, edges = fallbacks.edges_of(left, graph.device)
        pairs = ArcList(edges.src, edges.dst, None, None, 0, len(edges.src))
    out = np.zeros(1, call.dtype) if out is None else out
    out[...] = 0
    module = _instance("intersect", graph, left, right, call)
    u, v = pairs.src[: pairs.size], pairs.dst[: pairs.size]
    status = NO_STATUS if pairs.status is None else pairs.status
    same, bits = left is right, len(u).bit_length()
    keys, smaller = np.empty(len(u), np.uint64), np.zeros(len(u), np.int64)
    listed = module.larger_sides(
        left.data, right.data, u, v, status, pairs.wanted, oriented is not None, same, bits, keys, smaller
    )
    keys = keys[:listed]
    keys.sort()
    marks = graph.workspace.state(Marks)
    marks.array = graph.workspace.array("intersect.marks", graph.num_vertices, np.uint32)
    longest = smaller.max(initial=0) + 1
    places, most = (longest, graph.num_vertices) if call.of_two else (1, 1)
    held = graph.workspace.array("intersect.held", most, np.int64)
    scratch = np.empty(longest, np.uint32), np.empty(places, np.int64), held
    module.intersect_pairs(
        (left.data, right.data, same), u, v, bits, keys, smaller, _search(left, right, method), marks.array,
        marks.steps(listed + 1), scratch, total, out, *_values(call),
    )  # fmt: skip


def _search(left: StoreView, right: StoreView, method: str) -> int:
    """Return the cost of a look-up, that of marking being 1: in the slower view, or as ``method`` forces it."""
    if method != "auto":
        return 0 if method == "hash" else LOOKUP_COST["linear"]
    return max(LOOKUP_COST[left.find], LOOKUP_COST[right.find])


class Marks(Stamps):
    """``array[x]`` is the number of the last adjacency of ``intersect.py`` that had neighbour ``x``; one per graph."""


def _triangles(graph: Graph, call: Call, view: StoreView, out: np.ndarray | None, *, by_degree: bool) -> None:
    n, workspace = view.num_vertices, graph.workspace
    out = np.empty(1, call.dtype) if out is None else out
    corners = len(out) != 1
    if not corners and _counts(graph, call) and _count_in_short_rows(view, graph.most_arcs, out):
        return
    module = _instance("intersect_oriented", graph, view, view, call)
    rank, order = (workspace.array(f"intersect.{name}", n, np.uint32) for name in ("rank", "order"))
    starts, lengths = (workspace.array(f"intersect.{name}", n, np.int64) for name in ("starts", "lengths"))
    module.rank_vertices(view.data, by_degree, workspace.array("intersect.counts", n + 2, np.int64), rank, order)
    rows = np.empty(module.list_starts(view.data, order, starts, lengths), np.uint32)  # not kept: as large as the graph
    module.orient(view.data, rank, order, starts, lengths, rows)
    parts = _parts(call, len(rows), CORNER_PARTS if corners else threads.MOST)
    marked = workspace.array("intersect.marked", parts * n, np.uint8).reshape(parts, n)
    given = order, starts, lengths, rows
    if corners:
        sums = workspace.array("intersect.sums", parts * n, call.dtype).reshape(parts, n)
        run_shared(
            call, _values(call), module.sum_corners, [(*given, marked[p], sums[p], p, parts) for p in range(parts)]
        )
        module.put_back(order, sums, out)
        return
    sums = np.empty((parts, 1), call.dtype)
    run_shared(
        call, _values(call), module.sum_triangles, [(*given, marked[p], sums[p], p, parts) for p in range(parts)]
    )
    out[0] = sums.sum(dtype=call.dtype)


def _counts(graph: Graph, call: Call) -> bool:
    """Return whether the function of ``call`` is the default one, which counts common neighbours."""
    return call.function is bind_intersection(graph, None, (), everything=True).function


def _count_in_short_rows(view: StoreView, most_arcs: int, out: np.ndarray) -> bool:
    """Write the number of triangles of ``view`` to ``out[0]``, unless a row is too long; return whether this worked."""
    n, data = view.num_vertices, without_weights(view)
    ranges = threads.ranges(n, threads.parts(n))
    if view.find == "hash" and most_arcs <= PAIRED * n:
        found = threads.run(loops_over(view, LOOK_UPS).look_up_triangles, [(data, *part) for part in ranges])
        out[0] = sum(found)
        return min(found, default=0) >= 0
    loops = loops_over(view, COUNT)
    if view.ascending and view.cursor == fallbacks.CONTIGUOUS:
        lists = data.begin, data.end, data.dst
    else:
        lists = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(most_arcs, np.uint32)
        arcs = threads.run(loops.sum_degrees, [(data, *part) for part in ranges[:-1]])
        firsts = accumulate(arcs, initial=0)
        ends = threads.run(
            loops.list_lower, [(data, at, *lists, *part) for at, part in zip(firsts, ranges, strict=True)]
        )
        if min(ends, default=0) < 0:
            return False
    found = threads.run(loops.count_triangles, [(*lists, *part) for part in ranges])
    out[0] = sum(found)
    return min(found, default=0) >= 0


def _parts(call: Call, edges: int, most: int) -> int:
    """Return the number of parts for a sum over all triangles, at most ``most``; each part needs memory of its own."""
    alone = call.function.by_hand or call.function.effects or bounds.CHECKED
    return 1 if alone else min(threads.limit(), threads.parts(edges), most)


# -- instances ---------------------------------------------------------------------------------------------------------

_instances = Once[tuple, ModuleType]()


def _values(call: Call) -> tuple[Any, ...]:
    return tuple(
        argument.numba_value(value) for argument, value in zip(call.function.arguments, call.values, strict=True)
    )


def _instance(template: str, graph: Graph, left: StoreView, right: StoreView, call: Call) -> ModuleType:
    """Return the module of ``template`` with the cursors of ``left`` and ``right`` and the function of ``call``."""
    walks_right = left is not right and right is graph.view("out")
    walks = tuple((view.cursor, view.weight_dtype is not None, view.owner_per) for view in (left, right))
    key = (template, walks, walks_right, call.function.key, call.dtype)
    return _instances.get(key) or _instances.make(
        key, lambda: load_module(template, _module_text(template, left, right, call, walks_right=walks_right))
    )


def _module_text(template: str, left: StoreView, right: StoreView, call: Call, *, walks_right: bool) -> str:
    """Return the text of an instance of ``template``: the functions of both cursors and of ``call``, then its text."""
    body = TEMPLATES[template].read_text()
    found = BINDINGS_IMPORT.search(body)
    assert found is not None, f"{template}.py imports no bindings"
    wanted = {name.strip() for name in (found["names"] or found["lines"]).split(",")} - {"", "cast", "slots", "value"}
    weighed = call.of_two
    wanted |= {"weight", f"{RIGHT}weight"} if weighed else set()
    if f"{RIGHT}neighbors" in wanted:
        wanted = wanted - {f"{RIGHT}neighbors"} | {f"{RIGHT}{name}" for name in ROW}
    second = {name for name in wanted if name.startswith(RIGHT)}
    asked = call.function.cursor_names
    parts = [cursor_functions(left, (wanted - second) | asked)]
    if weighed and right.weight_dtype is None:
        second.remove(f"{RIGHT}weight")
        parts.append(f"@inner\ndef {RIGHT}weight(h, slot):\n    return 1")
    if second:
        renamed = (f"{name.removeprefix(RIGHT)} as {name}" for name in sorted(second))
        parts.append(f"from {right.cursor} import {', '.join(renamed)}")
    assert call.dtype is not None
    function = _function_text(call)
    if asked and walks_right:
        function = re.sub(rf"\b({'|'.join(sorted(asked))})\(", rf"{RIGHT}\1(", function)
    parts += [function, f"cast = np.{call.dtype.name}"]
    start, end = found.span()
    body = body[:start] + "\n\n".join([IMPORTS, call.function.numba_imports, *parts]) + "\n" + body[end:]
    body = body if weighed else _SLOT_LINE.sub("", body)
    body = _SLOTS.sub(rf", weight(g, \1), {RIGHT}weight(h, \2)" if weighed else "", body)
    parameters = "".join(f", a{i}" for i in range(len(call.values)))
    return re.sub(r",\s*\*args\b", parameters, body)


def _function_text(call: Call) -> str:
    """Return source text of ``value(i, u, v, x, ...)``, which calls the user's function of ``call``."""
    decorator = "@njit" if call.function.by_hand else "@inner"
    own = f"{decorator}\n{call.function.numba_source('own_value')}"
    passed = ", ".join([*call.function.leading, *(f"a{i}" for i in range(len(call.values)))])
    weights = call.function.leading[-2:] if call.of_two else ()
    declared = ", ".join(["i, u, v, x", *weights, *(f"a{i}" for i in range(len(call.values)))])
    if call.function.result is None:
        body = f"    own_value({passed})\n    return 0"
    else:
        body = f"    return own_value({passed})"
    return f"{own}\n\n@inner\ndef value({declared}):\n{body}"
