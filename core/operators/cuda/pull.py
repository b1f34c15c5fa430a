"""Pulls on CUDA: what ``neighbor_reduce`` and ``converge`` launch. Nothing here waits for the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.devices import Array
from suricate.operators import schemes
from suricate.operators.call import Call, Start, Until, identity_of
from suricate.operators.cuda.launches import NULL, blocks, fair_share, full_grid, not_yet, short_heavy_list
from suricate.operators.cuda.programs import BLOCK, program_of, walk_of
from suricate.operators.results import Layers, Propagated
from suricate.structures.frontier import Frontier
from suricate.types import EMPTY, StoreView

if TYPE_CHECKING:
    from suricate.graph import Graph


def neighbor_reduce(
    graph: Graph, call: Call, vertices: Array | Start | Layers | None, out: Any, over: str, scheme: str
) -> Frontier | None:
    """Fill ``out`` (see ``suricate.operators.neighbor_reduce``)."""
    not_yet(call.then is not None, "then")
    not_yet(over == "both", "over='both'")
    not_yet(call.reduce not in ("sum", "min", "max", "or"), f"reduce={call.reduce!r}")
    if isinstance(vertices, Start | Layers):
        raise NotImplementedError("layers are not there yet on CUDA")
    _reduce(graph, call, vertices, out, over, scheme)
    return None


def _reduce(graph: Graph, call: Call, vertices: Array | None, out: Array, over: str, scheme: str) -> None:
    """Launch a pull without further phases."""
    view = graph.view(over)
    if scheme == "updated":
        scheme, view = _updated_view(graph, over, view)
    scheme = schemes.of_pull(scheme, view, everything=vertices is None)
    if not len(out):
        return
    walk = walk_of(view)
    program = program_of("neighbor_reduce.cu", walk, call, out.dtype, over)
    bound, ids = walk.bound, NULL if vertices is None else vertices
    if scheme in ("auto", "vertex"):
        splits = scheme == "auto" and walk.num_vertices > schemes.HEAVY_DEGREE  # no degree exceeds that number
        heavy = short_heavy_list(graph) if splits else (NULL, NULL, NULL, np.uint32(0))
        share, limit = fair_share(graph.device, len(out)), schemes.HEAVY_DEGREE if splits else EMPTY
        sizes = (np.int64(len(out)), np.uint32(share), np.uint32(limit))
        arguments = (walk.packed, bound, ids, *sizes, out, *heavy, *call.values)
        program.kernel("reduce_vertices")((blocks(len(out), share),), (BLOCK,), arguments)
        if splits:
            arguments = (walk.packed, ids, out, *heavy, *call.values)
            program.kernel("reduce_heavy_buckets")((full_grid(graph.device),), (BLOCK,), arguments)
        return
    out.fill(identity_of(call.reduce, out.dtype))
    grid = (full_grid(graph.device),)
    if scheme in schemes.WHOLE_GRAPH:
        kernel = program.kernel("reduce_updated" if scheme == "updated" else "reduce_segments")
        kernel(grid, (BLOCK,), (walk.packed, bound, out, *call.values))
        return
    count, parts = np.int64(len(out)), graph.device.xp.empty(len(out), np.int64)
    program.kernel("count_buckets")(grid, (BLOCK,), (walk.packed, bound, ids, count, parts))
    program.kernel("reduce_buckets")(grid, (BLOCK,), (walk.packed, ids, count, parts.cumsum(), out, *call.values))


def converge(
    graph: Graph, call: Call, start: Start, over: str, wake: str, max_steps: int, until: Until | None
) -> Propagated:
    """Pull in rounds over an active set (see ``suricate.operators.converge``)."""
    raise NotImplementedError("converge is not there yet on CUDA")


def _updated_view(graph: Graph, over: str, view: StoreView) -> tuple[str, StoreView]:
    """Return the scheme and the view by which a pull meets exactly the edges inserted since the mark."""
    source = schemes.updated_source(graph, over, view)
    if source == schemes.ITERATOR:
        return "updated", view
    return "auto", schemes.inserted_view(graph, over) if source == schemes.LISTED else view
