"""Pulls on CUDA: the launches of ``neighbor_reduce``. Nothing here waits for the device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import EMPTY, StoreView
from suricate.cuda.launch import multiprocessors
from suricate.cuda.program import Program
from suricate.graph import Graph
from suricate.kernels.walking import Walk, walk_of
from suricate.operators import schemes
from suricate.operators.call import AT_ONCE, Call, Start, identity_of
from suricate.operators.cuda.launches import (
    NULL,
    Counters,
    blocks,
    fair_share,
    frontier_arguments,
    full_grid,
    merged,
    split_list,
    wide_array,
)
from suricate.operators.cuda.loops.loop_memory import LoopMemory
from suricate.operators.cuda.loops.recording import fill
from suricate.operators.cuda.programs import BLOCK, WARPS, launch_values, program_of, skip_scalars
from suricate.operators.cuda.pull import columns
from suricate.operators.results import Layers
from suricate.state.frontier import Frontier
from suricate.state.words import Words

TURNS = 4  #: a pull of many vertices has this times the blocks that fill the device: they balance, and are few


def neighbor_reduce(
    graph: Graph, call: Call, vertices: Array | Start | Layers | None, out: Any, over: str, scheme: str
) -> Frontier | None:
    """Fill ``out`` with reduced values or pass them to ``then``; return the vertices for which ``then`` is true."""
    if call.vote is not None and call.vote.best:
        assert vertices is None or not isinstance(vertices, Start | Layers)
        _best_labels(graph, call, vertices, out, over, scheme)
        return None
    if isinstance(vertices, Layers):
        return reduce_layers(graph, call, vertices, out, over)
    if call.reduce in AT_ONCE and scheme not in ("vertex", "updated"):
        scheme = "auto"  # what buckets give cannot be combined
    if _is_empty(graph, vertices):
        skip_scalars(call)
        nobody = Frontier._of(graph.device, graph.device.xp.empty(0, np.uint32), num_vertices=graph.num_vertices)
        return nobody if call.then is not None else None
    if call.columns:
        return columns.neighbor_reduce(graph, call, vertices, out, over)
    pull = _Pull.of(graph, call, out, over)
    if isinstance(vertices, Start) or call.then is not None:
        assert vertices is None or isinstance(vertices, Start)
        return _reduce_then(pull, vertices, scheme)
    _reduce(pull, vertices, over, scheme)
    return None


def _best_labels(graph: Graph, call: Call, vertices: Array | None, out: Any, over: str, scheme: str) -> None:
    """Fill ``out``, the best labels and their scores, a column by each launch."""
    vote, (labels, scores), n, xp = call.vote, out, graph.num_vertices, graph.device.xp
    assert vote is not None
    assert vote.before is not None
    if not n:
        labels.fill(EMPTY)
        scores.fill(-np.inf)
        return
    array, rows = graph.workspace.array, slice(None) if vertices is None else xp.minimum(vertices, np.uint32(n - 1))
    noted = [(array(f"operators.label{i}", n, "uint32"), array(f"operators.score{i}", n, "float64")) for i in (0, 1)]
    for number in range(vote.best):
        given = (*noted[number % 2], *noted[1 - number % 2], np.int64(number))
        one = call._replace(values=(*call.values[: vote.before], *given), vote=vote._replace(best=0))
        column = xp.empty(len(labels), labels.dtype)
        neighbor_reduce(graph, one, vertices, column, over, scheme)
        labels[:, number] = column
        scores[:, number] = xp.where(column == EMPTY, -np.inf, noted[1 - number % 2][1][rows])


def _is_empty(graph: Graph, vertices: Array | Start | None) -> bool:
    """Return whether the host knows that there are no ``vertices`` (None: all of ``graph``) to compute."""
    if isinstance(vertices, Start):
        return not vertices.at_most
    return not (graph.num_vertices if vertices is None else len(vertices))


class _Pull(NamedTuple):
    """What all launches of one pull use: its program, views, functions and arguments."""

    graph: Graph
    program: Program
    walks: tuple[Walk, ...]  #: of the views that are walked: one, or two over ``"both"``
    view: StoreView  #: the first of them
    reduce: str
    dtype: np.dtype | None  #: of the values; None: words
    out: Any  #: the array to fill, or None
    call: Call
    values: tuple[Any, ...]  #: the arguments of the functions

    @classmethod
    def of(cls, graph: Graph, call: Call, out: Any, over: str, view: StoreView | None = None) -> _Pull:
        """Return the pull of ``call`` into ``out`` over the direction ``over``."""
        views = [graph.view(one) for one in (("in", "out") if over == "both" else (over,))] if view is None else [view]
        walks = tuple(map(walk_of, views))
        program = program_of("neighbor_reduce.cu", walks[0], call, call.dtype, **value_macros(call, over))
        array = out.data if isinstance(out, Words) else out
        return cls(graph, program, walks, views[0], call.reduce, call.dtype, array, call, launch_values(call))

    @property
    def packed(self) -> tuple[Any, ...]:
        """The views as structs, to be passed to kernels."""
        return tuple(walk.packed for walk in self.walks)

    def launch(self, kernel: str, grid: int, *arguments: Any, views: tuple[Any, ...] | None = None) -> None:
        """Launch ``kernel`` with ``grid`` blocks."""
        given = (*(self.packed if views is None else views), *arguments, *self.values)
        self.program.kernel(kernel)((grid,), (BLOCK,), given)


def value_macros(call: Call, over: str) -> dict[str, Any]:
    """Return the C++ macros of a pull: the direction ``over`` of the edges, and whether ``call`` reduces words."""
    return {"OVER": f"OVER_{over.upper()}", **({} if call.layout is None else {"WORD_VALUES": 1})}


def _scheme(pull: _Pull, scheme: str, *, everything: bool) -> str:
    """Return the scheme that the pull uses if the user passes ``scheme``, for all vertices if ``everything`` is set."""
    found = schemes.of_pull(scheme, pull.graph, pull.view, everything=everything)
    by_parts = pull.dtype is not None and pull.reduce not in AT_ONCE
    return found if by_parts or found == "vertex" else "auto"


# -- values ------------------------------------------------------------------------------------------------------------


def _reduce(pull: _Pull, vertices: Array | None, over: str, scheme: str) -> None:
    """Launch a pull that fills ``pull.out``: an entry per vertex, or per id in ``vertices`` if not None."""
    if scheme == "updated":
        scheme, pull = _updated(pull, over)
    scheme = _scheme(pull, scheme, everything=vertices is None)
    out, walk = pull.out, pull.walks[0]
    ids, size = NULL if vertices is None else vertices, np.int64(len(out))
    if scheme in ("auto", "vertex"):
        share = fair_share(pull.graph.device, len(out))
        _by_vertex(pull, (ids, NULL, size), share, len(out), (NULL, NULL), split=scheme == "auto")
        return
    fill(out, identity_of(pull.reduce, out.dtype), pull.call)
    if scheme in schemes.WHOLE_GRAPH:
        _scan(pull, "reduce_updated" if scheme == "updated" else "reduce_segments", out)
        return
    grid, parts = full_grid(pull.graph.device), pull.graph.device.xp.empty(len(out), np.int64)
    pull.program.kernel("count_buckets")((grid,), (BLOCK,), (*pull.packed, walk.bound, ids, size, parts))
    pull.launch("reduce_buckets", grid, ids, size, parts.cumsum(), out)


def _by_vertex(
    pull: _Pull, listed: tuple[Any, ...], share: int, most: int, queue: tuple[Any, np.uint64], *, split: bool
) -> None:
    """Launch a pull vertex by vertex; if ``split`` is set, heavy vertices are split among blocks in a second launch.

    ``share``: vertices of a block, 0: not known; ``queue``: where those with ``then`` go, and their count, or nulls.
    """
    bound, out = pull.walks[0].bound, NULL if pull.out is None else pull.out
    grid = min(blocks(most, share or WARPS), (TURNS if share else 1) * full_grid(pull.graph.device))
    splits, limit, heavy = split_list(pull.graph, pull.walks, wanted=split)
    pull.launch("reduce_vertices", grid, bound, *listed, np.uint32(share), limit, out, *queue, *heavy)
    if splits:
        pull.launch("reduce_heavy_vertices", full_grid(pull.graph.device), bound, out, *queue, *heavy)


def _scan(pull: _Pull, kernel: str, sums: Array) -> None:
    """For each view of ``pull`` launch ``kernel``, which scans its storage and reduces into ``sums[v]`` by vertex."""
    for other, walk in enumerate(pull.walks):
        views = (walk.packed,)
        pull.launch(kernel, full_grid(pull.graph.device), walk.bound, sums, np.int32(other), views=views)


def _updated(pull: _Pull, over: str) -> tuple[str, _Pull]:
    """Return scheme and pull for the edges inserted since the mark: by an iterator, else over a copy of them."""
    source = schemes.updated_source(pull.graph, over, pull.view)
    if source == schemes.ITERATOR and pull.reduce not in AT_ONCE:
        return "updated", pull
    if source != schemes.EVERYTHING:
        inserted = schemes.inserted_view(pull.graph, over)
        walk = Walk(inserted)
        program = program_of("neighbor_reduce.cu", walk, pull.call, pull.dtype, **value_macros(pull.call, over))
        return "auto", pull._replace(program=program, walks=(walk,), view=inserted)
    return "auto", pull


# -- epilogues ---------------------------------------------------------------------------------------------------------


def _reduce_then(pull: _Pull, vertices: Start | None, scheme: str) -> Frontier:
    """Launch a pull for ``vertices`` (None: all) that passes values to ``then``; return those for which it is true."""
    graph, device = pull.graph, pull.graph.device
    bound = pull.walks[0].num_vertices
    frontier = Frontier._of_all(graph.device, graph.num_vertices) if vertices is None else merged(graph, vertices)
    queue = device.xp.empty(min(frontier.at_most, bound), np.uint32)
    count = graph.workspace.state(Counters).count()
    found = Frontier._of(device, queue, count, num_vertices=graph.num_vertices)
    rows = (0, int(bound)) if vertices is None else frontier.rows
    by_scan = _scheme(pull, scheme, everything=rows is not None) == "scan"  # raises where the backend cannot scan
    if rows and by_scan and (scheme == "scan" or schemes.passes_scan(graph, pull.view, rows[1] - rows[0])):
        _scan_then(pull, rows, (queue, count.address))
        return found
    ids, number, size = frontier_arguments(frontier)
    known = frontier.known_count
    share = 0 if known is None else fair_share(device, known)
    listed = ids, number, np.int64(size)
    _by_vertex(pull, listed, share, frontier.at_most, (queue, count.address), split=scheme != "vertex")
    return found


def _scan_then(pull: _Pull, rows: tuple[int, int], queue: tuple[Array, np.uint64]) -> None:
    """Scan the storage, then run ``then`` for ``rows[0]`` to ``rows[1] - 1``; no other vertex may have edges."""
    graph = pull.graph
    assert pull.dtype is not None
    if pull.out is not None:
        sums = pull.out
        fill(sums, identity_of(pull.reduce, pull.dtype), pull.call)
    else:
        sums = wide_array(graph, (pull.dtype, pull.reduce), pull.dtype, identity_of(pull.reduce, pull.dtype))
    _scan(pull, "reduce_segments", sums)
    grid = min(blocks(rows[1] - rows[0], BLOCK), full_grid(graph.device))
    out, range_of = NULL if pull.out is None else pull.out, map(np.uint32, rows)
    pull.launch("complete_vertices", grid, *range_of, sums, out, *queue, views=())


LAYERS_BLOCK = 512  #: threads of a block
LAYERS_BLOCKS = 2  #: blocks per multiprocessor: all of them are resident


def reduce_layers(graph: Graph, call: Call, layers: Layers, out: Any, over: str) -> Frontier | None:
    """Pull layer by layer; return the vertices for which ``then`` is true, None without ``then``."""
    walks = [walk_of(graph.view(one)) for one in (("in", "out") if over == "both" else (over,))]
    xp = graph.device.xp
    queue = xp.empty(len(layers.vertices) if call.then is not None else 0, np.uint32)
    count = graph.workspace.state(Counters).count()
    if len(layers.vertices):
        arguments = (
            *(walk.packed for walk in walks), walks[0].bound, layers.vertices, layers.offsets, layers.count,
            np.int32(layers.backwards), NULL if out is None else out, queue if len(queue) else NULL, count.address,
            graph.workspace.state(LoopMemory).of(graph), *launch_values(call),
        )  # fmt: skip
        grid = (LAYERS_BLOCKS * multiprocessors(graph.device),)
        layers_program(walks[0], call, over).kernel("reduce_layers")(grid, (LAYERS_BLOCK,), arguments)
    else:
        skip_scalars(call)
    return None if call.then is None else Frontier._of(graph.device, queue, count, num_vertices=graph.num_vertices)


def layers_program(walk: Walk, call: Call, over: str) -> Program:
    """Return the CUDA program of a pull by layers for ``call`` over the direction ``over``; made once."""
    return program_of(
        "layers.cu", walk, call, call.dtype,
        OVER=f"OVER_{over.upper()}", LAYERS_BLOCK=LAYERS_BLOCK, LAYERS_BLOCKS=LAYERS_BLOCKS,
    )  # fmt: skip
