"""Arc lists as the kernels and the loops of structures take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.cuda.structs import Struct
from suricate.types import ArcList

ARCS = Struct(
    "Arcs",
    {"src": "const uint32_t*", "dst": "const uint32_t*", "status": "const uint8_t*", "size": "long long",
     "wanted": "uint32_t", "unused": "uint32_t"},
)  # fmt: skip
NO_ARCS = ArcList(np.empty(0, np.uint32), np.empty(0, np.uint32), None, None, 0, 0)


def packed_arcs(arcs: ArcList) -> Any:
    """Return the struct ``Arcs`` of kernels; entry ``i`` counts if ``status`` is null or ``wanted`` there."""
    status = 0 if arcs.status is None or not arcs.size else arcs.status.data.ptr
    src, dst = (arcs.src.data.ptr, arcs.dst.data.ptr) if arcs.size else (0, 0)
    return np.array((src, dst, status, arcs.size, arcs.wanted, 0), ARCS.dtype)[()]


def plain_arcs(arcs: ArcList) -> tuple[Any, ...]:
    """Return the arguments of loops: src, dst, status (empty: all entries count), wanted, size."""
    status = np.empty(0, np.uint8) if arcs.status is None else arcs.status
    return arcs.src, arcs.dst, status, arcs.wanted, arcs.size
