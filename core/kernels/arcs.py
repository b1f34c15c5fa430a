"""Conversion of arc lists to the arguments of CUDA kernels and CPU loops outside the operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.types import ArcList, PlacedArcs
from suricate.cuda.launch import address
from suricate.cuda.structs import Struct

ARCS = Struct(
    "Arcs",
    {"src": "const uint32_t*", "dst": "const uint32_t*", "weight": "const void*", "status": "const uint8_t*",
     "size": "long long", "wanted": "uint32_t"},
)  # fmt: skip
SIZE = 4  #: place of the size in ``Arcs``
NO_VALUES = (0, 0, 0, 0, 0, 0)  #: of ``Arcs``: none
NO_ARCS = ArcList(np.empty(0, np.uint32), np.empty(0, np.uint32), None, None, 0, 0)


def arc_values(arcs: ArcList | PlacedArcs | None) -> tuple[int, ...]:
    """Return the field values of the C++ struct ``Arcs`` for ``arcs``; all zeros for None or an empty list.

    Entry ``i`` counts if ``status`` is null or ``status[i] == wanted``; ``weight`` is null if the arcs have none.
    """
    if arcs is None or not arcs.size:
        return NO_VALUES
    if isinstance(arcs, PlacedArcs):
        return *arcs.addresses, arcs.size, arcs.wanted
    src, dst, weight, status, wanted, size = arcs
    return src.data.ptr, dst.data.ptr, address(weight), address(status), size, wanted


def packed_arcs(arcs: ArcList | PlacedArcs | None) -> np.void:
    """Return ``arcs`` as a value of the C++ struct ``Arcs``, to be passed to a kernel; None: no arcs."""
    return ARCS.packed(*arc_values(arcs))


def plain_arcs(arcs: ArcList | PlacedArcs) -> tuple[Any, ...]:
    """Return ``(src, dst, status, wanted, size)``, the fields of the :class:`ArcList` ``arcs``, for a CPU loop.

    If all arcs count, ``status`` is an empty array instead of None.
    """
    assert isinstance(arcs, ArcList)  # there are no others on the host
    status = np.empty(0, np.uint8) if arcs.status is None else arcs.status
    return arcs.src, arcs.dst, status, arcs.wanted, arcs.size
