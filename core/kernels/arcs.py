"""Arc lists as kernels and loops of one's own take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.types import ArcList, PlacedArcs
from suricate.cuda.structs import Struct

ARCS = Struct(
    "Arcs",
    {"src": "const uint32_t*", "dst": "const uint32_t*", "status": "const uint8_t*", "size": "long long",
     "wanted": "uint32_t", "unused": "uint32_t"},
)  # fmt: skip
SIZE = 3  #: place of the size in ``Arcs``
NO_ARCS = ArcList(np.empty(0, np.uint32), np.empty(0, np.uint32), None, None, 0, 0)


def arc_values(arcs: ArcList | PlacedArcs | None) -> tuple[int, ...]:
    """Return the values of the struct ``Arcs``; entry ``i`` counts if ``status`` is null or ``wanted`` there."""
    if arcs is None or not arcs.size:
        return 0, 0, 0, 0, 0, 0
    if isinstance(arcs, PlacedArcs):
        at, to, _, states = arcs.addresses
        return at, to, states, arcs.size, arcs.wanted, 0
    src, dst, _, status, wanted, size = arcs
    return src.data.ptr, dst.data.ptr, 0 if status is None else status.data.ptr, size, wanted, 0


def packed_arcs(arcs: ArcList) -> Any:
    """Return the struct ``Arcs`` of kernels."""
    return np.array(arc_values(arcs), ARCS.dtype)[()]


def plain_arcs(arcs: ArcList) -> tuple[Any, ...]:
    """Return the arguments of loops: src, dst, status (empty: all entries count), wanted, size."""
    status = np.empty(0, np.uint8) if arcs.status is None else arcs.status
    return arcs.src, arcs.dst, status, arcs.wanted, arcs.size
