"""``intersect`` on CUDA. Nothing here waits for the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate.devices import Array
from suricate.operators.call import Call
from suricate.operators.cuda.launches import blocks, not_yet
from suricate.operators.cuda.programs import BLOCK, PAIR_TILE, program_of, walk_of
from suricate.types import StoreView

if TYPE_CHECKING:
    from suricate.graph import Graph


def intersect(
    graph: Graph,
    call: Call,
    left: StoreView,
    right: StoreView,
    pairs: tuple[Array, Array] | None,
    out: Array,
    oriented: str | None,
    method: str,
) -> None:
    """Fill ``out`` with one sum per pair, or with the total over all arcs of ``left``."""
    not_yet(left is not right, "intersect of two graphs")
    not_yet(method not in ("auto", "hash"), f"method={method!r}")
    not_yet(call.function.leading[0] == "i", "the parameter i")
    if pairs is None:
        raise NotImplementedError("intersect of every arc is not there yet on CUDA")
    if not len(out):
        return
    walk = walk_of(left)
    arguments = (walk.packed, walk.bound, *pairs, np.int64(len(out)), out, *call.values)
    kernel = program_of("intersect.cu", walk, call, out.dtype).kernel("intersect_pairs")
    kernel((blocks(len(out), BLOCK // PAIR_TILE),), (BLOCK,), arguments)
