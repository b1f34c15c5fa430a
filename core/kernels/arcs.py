"""Arc lists as arguments of CUDA kernels and CPU loops outside the operators, and launches over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy as np

from suricate.base.types import ArcList, PlacedArcs, StoreView
from suricate.cuda.kernel import PreparedKernel
from suricate.cuda.launch import address
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct
from suricate.kernels.walking import packed

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


class ArcLaunch:
    """A repeated kernel launch over views of a graph and lists of arcs; its other arguments are packed only once.

    Use it under the lock of the graph, keep the arrays among the arguments alive, and make a new object if one of them
    is replaced.

    Args:
        program_of: returns the CUDA program for a view; it must return the same object for views with equal source
            text.
        name: name of the kernel.
        shape: numbers of blocks and of threads per block.
        views: the views, which are the first arguments of the kernel.
        arguments: all arguments of the kernel in its order, views and lists of arcs included, as structs and numbers.
        arcs: position of the first list of arcs among the arguments; the other lists follow it.
    """

    def __init__(
        self, program_of: Callable[[StoreView], Program], name: str, shape: tuple[int, int],
        views: Sequence[StoreView], arguments: tuple[Any, ...], arcs: int,
    ) -> None:  # fmt: skip
        self._program_of, self._program, self._views, self._arcs = program_of, program_of(views[0]), views, arcs
        self._kernel = PreparedKernel(self._program.kernel(name), *shape, arguments)

    def walks(self, *views: StoreView) -> bool:
        """Use ``views`` in later launches and return True, unless they need another program."""
        if all(map(is_, views, self._views)):
            return True
        if self._program_of(views[0]) is not self._program:
            return False
        for place, view in enumerate(views):
            self._kernel.put(place, packed(view))
        self._views = views
        return True

    def launch(self, *lists: ArcList | PlacedArcs | None) -> None:
        """Launch the kernel over ``lists`` of arcs (None: empty), as many as its arguments have; does not wait."""
        for place, arcs in enumerate(lists, start=self._arcs):
            self._kernel.put_struct(place, ARCS.packer, arc_values(arcs))
        self._kernel.launch()
