"""``intersect`` on CUDA: launches, and programs that may walk two views. Nothing here waits for the device."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.base.once import Once
from suricate.base.types import EMPTY, ArcList, StoreView
from suricate.cuda.program import Program, c_type
from suricate.cuda.structs import Struct, enum
from suricate.edgefn import compile_function
from suricate.graph import Graph
from suricate.kernels.walking import Walk, walk_of
from suricate.operators.binding import one
from suricate.operators.call import Call
from suricate.operators.cuda.launches import NULL, Counters, blocks, full_grid
from suricate.operators.cuda.programs import BLOCK, COMMON, FOLDERS, PAIR_TILE, WARPS, call_text, launch_values
from suricate.state.scalar import Scalar

HERE = Path(__file__).parent

#: pairs in one launch of the method "bitmap": as many may have to be listed
MOST_STREAMED = 1 << 22
#: pairs in one launch of the method "hash"; those that are split are listed, at most this number
MOST_PROBED, MOST_SPLIT = 1 << 31, 1 << 18
#: where one operand has at most this many arcs, as a batch has, the method "hash" splits no pairs, which saves a launch
UNSPLIT = 1 << 16
#: a warp serves vertices of at most ``SMALL`` higher and ``MANY`` lower neighbours (see ``oriented.cu``); of others a
#: block serves ``PART`` lower ones, with a set of ``LARGE`` higher ones at a time
SMALL, MANY, PART, LARGE = 128, 512, 1024, 2048

PAIRS = Struct("Pairs", {
    "u": "const uint32_t*",
    "v": "const uint32_t*",
    "status": "const uint8_t*",  # null: all pairs count
    "begin": "long long",  # position of the first pair among those of the call
    "size": "long long",
    "wanted": "uint32_t",
    "once": "uint32_t",  # 1: pairs with u >= v do not count
})  # fmt: skip
PAIR_LIST = Struct("PairList", {
    "entry": "uint32_t*",  # as in struct HeavyList
    "base": "long long*",
    "total": "unsigned long long*",
    "capacity": "uint32_t",
})  # fmt: skip
PAIRS_DTYPE, PAIR_LIST_DTYPE = PAIRS.dtype, PAIR_LIST.dtype
NO_LIST: Any = np.zeros(1, PAIR_LIST_DTYPE)[0]  #: of capacity 0: nothing is listed


def intersect(
    graph: Graph, call: Call, left: StoreView, right: StoreView, pairs: ArcList | None, out: Array | None,
    oriented: str | None, method: str,
) -> None:  # fmt: skip
    """Fill ``out`` with sums of the function over common neighbours: per pair, in total, or per vertex."""
    if not left.num_vertices or (pairs is not None and not pairs.size):
        _nothing(call, out)
        return
    if out is None:
        out = graph.workspace.array("intersect.total", 1, call.dtype)
    if pairs is None and oriented is not None:
        _triangles(graph, call, left, out, by_id=oriented == "id")
        return
    total = pairs is None or len(out) != pairs.size
    if total and call.function.result is not None:
        out.fill(0)
    if pairs is None:
        pairs = _every_arc(graph, left)
    streams = method == "bitmap" or (method == "auto" and "linear" in (left.find, right.find))
    _pairs(graph, call, (left, right), pairs, out, once=oriented is not None, total=total, streams=streams)


def _pairs(
    graph: Graph, call: Call, views: tuple[StoreView, StoreView], pairs: ArcList, out: Array, *, once: bool,
    total: bool, streams: bool,
) -> None:  # fmt: skip
    """Launch the kernels of ``intersect`` for ``pairs``, in chunks.

    ``once``: without pairs ``u >= v``; ``total``: ``out[0]`` gets the sum of all; ``streams``: by bitmap, not by hash.
    """
    left, right = map(walk_of, views)
    name, most = ("stream", MOST_STREAMED) if streams else ("probe", MOST_PROBED)
    program = program_of("intersect_stream.cu" if streams else "intersect.cu", graph, views, call)
    served, capacity = WARPS if streams else BLOCK // PAIR_TILE, most if streams else MOST_SPLIT
    splits = streams or min(views[0].most_edges, views[1].most_edges) > UNSPLIT
    values, fill = launch_values(call), full_grid(graph.device)
    src, dst, status, wanted, size = pairs.src, pairs.dst, pairs.status, pairs.wanted, pairs.size
    addresses = src.data.ptr, dst.data.ptr, 0 if status is None else status.data.ptr
    for begin in range(0, size, most):
        count = min(size - begin, most)
        u, v, filtered = addresses[0] + 4 * begin, addresses[1] + 4 * begin, addresses[2] and addresses[2] + begin
        chunk: Any = np.array((u, v, filtered, begin, count, wanted, once), PAIRS_DTYPE)[()]
        listed = _pair_list(graph, min(capacity, count)) if splits else NO_LIST
        arguments = (
            left.packed, right.packed, np.uint32(graph.num_vertices), chunk, listed, np.int32(total),
            out if total or count == size else out[begin : begin + count], *values,
        )  # fmt: skip
        program.kernel(f"{name}_pairs")((min(blocks(count, served), fill),), (BLOCK,), arguments)
        if splits:
            program.kernel(f"{name}_parts")((fill,), (BLOCK,), arguments)


def _nothing(call: Call, out: Array | None) -> None:
    """Do a call without pairs: fill ``out`` with 0; the next total of each ``su.Scalar`` is its neutral value."""
    if out is not None:
        out.fill(0)
    for value in call.values:
        if isinstance(value, Scalar):
            value.skip()


def _pair_list(graph: Graph, capacity: int) -> np.void:
    """Return an empty list, a struct ``PairList``, to which kernels append up to ``capacity`` pairs to be split."""
    workspace, total = graph.workspace, graph.workspace.state(Counters).total()
    entry = workspace.array("intersect.entry", capacity, np.uint32)
    base = workspace.array("intersect.base", capacity, np.int64)
    made: Any = np.array((entry.data.ptr, base.data.ptr, total, capacity), PAIR_LIST_DTYPE)[()]
    return made


# -- rows --------------------------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Copied adjacencies (rows) of all vertices, see ``orient.cu``; a row begins at a multiple of four ids.

    Attributes:
        row: ``uint32[2 n]``: for each vertex the beginning of its row in ``ids``, divided by 4, and its length.
        ids: ``uint32``, the neighbours of all vertices.
        ends: ``uint32[n]``: where the space of each vertex ends in ``ids``, divided by 4.
        lower: ``uint32[n]``: how many neighbours of lower rank lie before that end, or None.
        sources: parallel to ``ids``: the source of each arc, ``EMPTY`` in unused entries; or None.
    """

    row: Array
    ids: Array
    ends: Array
    lower: Array | None
    sources: Array | None


def _rows(graph: Graph, view: StoreView, *, rank: Array | None, sources: bool = False) -> Rows:
    """Copy the adjacencies of ``view`` into the workspace, with the source of every arc if ``sources``.

    ``rank``, if not None, gets the degrees; neighbours of lower degree (ties by id) then lie behind those of higher.
    """
    walk, workspace, n = walk_of(view), graph.workspace, view.num_vertices
    program, grid = rows_program(walk), (full_grid(graph.device),)
    quads, ends = (workspace.array(f"intersect.{name}", n, np.uint32) for name in ("quads", "ends"))
    row = workspace.array("intersect.rows", 2 * n, np.uint32)
    lower = None if rank is None else workspace.array("intersect.lower", n, np.uint32)
    places = _most_arcs(graph, view) + 3 * n
    ids = workspace.array("intersect.ids", places, np.uint32)
    src = workspace.array("intersect.sources", places, np.uint32) if sources else None
    if src is not None:
        src.fill(EMPTY)
    ranks, second, given = (NULL if part is None else part for part in (rank, lower, src))
    program.kernel("measure_rows")(grid, (BLOCK,), (walk.packed, walk.bound, quads, ranks))
    graph.device.xp.cumsum(quads, dtype=np.uint32, out=ends)
    program.kernel("begin_rows")(grid, (BLOCK,), (walk.bound, quads, ends, row, second))
    arguments = (walk.packed, walk.bound, ranks, row, ids, given, ends, second)
    program.kernel("fill_rows")(grid, (BLOCK,), arguments)
    return Rows(row, ids, ends, lower, src)


def _most_arcs(graph: Graph, view: StoreView) -> int:
    """Return an upper bound of the number of arcs in ``view``, known on the host."""
    known: int | None = getattr(graph, "most_arcs", None)  # what stands for a graph of edge sets alone has none
    return view.most_edges if known is None or view is not graph.view() else known


def _every_arc(graph: Graph, view: StoreView) -> ArcList:
    """Return all arcs of ``view`` as pairs; entries without an arc have the source ``EMPTY``, which does not count."""
    rows = _rows(graph, view, rank=None, sources=True)
    return ArcList(rows.sources, rows.ids, None, None, 0, len(rows.ids))


def _triangles(graph: Graph, call: Call, view: StoreView, out: Array, *, by_id: bool) -> None:
    """Write the sum over triangles to ``out[0]``, or to all corners; ``by_id``: corners in the order of ids."""
    n, workspace = view.num_vertices, graph.workspace
    out.fill(0)
    rank = workspace.array("intersect.rank", n, np.uint32)
    row, ids, ends, lower, _ = _rows(graph, view, rank=rank)
    arcs = _most_arcs(graph, view)
    most = min(n, arcs // SMALL + arcs // MANY) + arcs // PART + 1
    part = workspace.array("intersect.parts", 2 * most, np.uint32)
    parts, taken, next_part = (workspace.state(Counters).count().address for _ in range(3))
    program = program_of("oriented.cu", graph, (view, view), call, corners=corners_of(call, len(out)), by_id=by_id)
    values, fill, rows = launch_values(call), full_grid(graph.device), (row, ids, ends, lower)
    arguments = (*rows, np.uint32(n), part, parts, taken, out, *values)
    program.kernel("sum_rows")((min(blocks(n, BLOCK), fill),), (BLOCK,), arguments)
    program.kernel("sum_parts")((fill,), (BLOCK,), (*rows, part, parts, next_part, out, *values))


def corners_of(call: Call, length: int) -> int:
    """Return what ``oriented.cu`` sums for ``call`` into an array of ``length`` entries.

    0: the total; 1: the number of triangles at each vertex; 2: the values of the function at each vertex.
    """
    if length == 1:
        return 0
    return 1 if call.function.numba_source("f") == _counted().numba_source("f") else 2


def _counted() -> Any:
    return compile_function(one, (), weight_dtype=None, leading=("u", "v", "x"))


# -- programs ----------------------------------------------------------------------------------------------------------

_programs = Once[tuple, Program]()


def program_of(
    template: str, graph: Graph, views: tuple[StoreView, StoreView], call: Call, *, corners: int = 0,
    by_id: bool = False,
) -> Program:  # fmt: skip
    """Return the CUDA program of ``template`` over two views with the function of ``call``; made once."""
    main = next((i for i in range(2) if views[i] is graph.view("out")), 0)
    walks = walk_of(views[0]), walk_of(views[1])
    key = (template, walks[0].prelude, walks[1].prelude, main, call.function.key, call.dtype, corners, by_id)
    return _programs.get(key) or _programs.make(
        key, lambda: pairs_program(template, walks, main, call, corners, by_id=by_id)
    )


def pairs_program(
    template: str, walks: tuple[Walk, Walk], main: int, call: Call, corners: int, *, by_id: bool = False
) -> Program:
    """Return a new program: ``walks[main]`` is the struct ``View``, the other ``OtherView``; as :func:`program_of`."""
    single = walks[0].header == walks[1].header
    names = ["View" if single or i == main else "OtherView" for i in range(2)]
    signature = call.function.signature
    macros: dict[str, Any] = {
        "POSITION": int(call.function.leading[0] == "i"),
        "RETURNS": int(call.function.result is not None),
        "CORNERS": corners,
        "BY_ID": int(by_id),
        "OF_TWO": int(call.of_two),
    }
    assert call.dtype is not None
    for name, dtype in (("LEFT_WEIGHT", signature.weight_dtype), ("RIGHT_WEIGHT", signature.value_dtype)):
        macros[f"{name}(g, s)"] = 1 if dtype is None else "weight(g, s)"
    lines = [COMMON, *(f"#define {name} {value}" for name, value in macros.items())]
    lines.append(f"typedef {c_type(call.dtype)} out_t;")
    if template == "oriented.cu":
        lines.append(enum("", {"SMALL": SMALL, "MANY": MANY, "PART": PART, "LARGE": LARGE}))
    if not single:
        lines.append(_renamed(walks[1 - main].prelude))
    lines += [
        walks[main].prelude, f"typedef {names[0]} LeftView;", f"typedef {names[1]} RightView;", PAIRS.declaration,
        PAIR_LIST.declaration, call_text(call),
    ]  # fmt: skip
    include = (*FOLDERS, walks[main].header.parent, walks[1 - main].header.parent)
    return Program(HERE / template, "\n".join(lines), include=include)


def _renamed(prelude: str) -> str:
    """Return the C++ text ``prelude`` of a view with ``View`` and ``weight_t`` renamed, and its macros undefined."""
    defined = [line.split()[1] for line in prelude.splitlines() if line.startswith("#define ")]
    guards = [name for name in defined if name.endswith("_DECLARED")]
    gone = ["View", "weight_t", "SCAN_LANES", *(name for name in defined if name not in guards)]
    return "\n".join(
        ["#define View OtherView", "#define weight_t other_weight_t", prelude, *(f"#undef {name}" for name in gone)]
    )


def rows_program(walk: Walk) -> Program:
    """Return the CUDA program that copies the rows of the view of ``walk`` into arrays; made once."""
    text = "\n".join([COMMON, walk.prelude, "typedef uint32_t out_t;", "#define REDUCE SUM"])
    include, key = (*FOLDERS, walk.header.parent), ("orient.cu", walk.prelude)
    return _programs.get(key) or _programs.make(key, lambda: Program(HERE / "orient.cu", text, include=include))
