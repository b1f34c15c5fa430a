"""A kernel launch that is repeated after every batch: only the arguments that change are packed again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from suricate.base.types import ArcList, PlacedArcs, StoreView
from suricate.cuda.kernel import PreparedKernel
from suricate.cuda.program import Program
from suricate.kernels.arcs import ARCS, arc_values
from suricate.kernels.walking import packed


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
        """Launch the kernel over ``lists`` of arcs (None: an empty list), without waiting for the device.

        There must be as many lists as among the arguments.
        """
        for place, arcs in enumerate(lists, start=self._arcs):
            self._kernel.put_struct(place, ARCS.packer, arc_values(arcs))
        self._kernel.launch()
