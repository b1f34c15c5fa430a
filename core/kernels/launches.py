"""A launch of a kernel of one's own after every batch, with what stays from one to the next packed once."""

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
    """A kernel launch over views of a graph and lists of arcs, whose other arguments are packed once.

    Use it under the lock of the graph, keep the arrays among the arguments alive, and make a new object if one is
    replaced.

    Args:
        program_of: returns the program for a view, the same object for views of one kind.
        name: name of the kernel.
        shape: numbers of blocks and of threads per block.
        views: the views whose structs are the first arguments.
        arguments: all arguments, as kernels of :func:`suricate.kernels.walking.program_over` take them.
        arcs: index of the first list of arcs among the arguments; the others follow it.
    """

    def __init__(
        self, program_of: Callable[[StoreView], Program], name: str, shape: tuple[int, int],
        views: Sequence[StoreView], arguments: tuple[Any, ...], arcs: int,
    ) -> None:  # fmt: skip
        self._program_of, self._program, self._views, self._arcs = program_of, program_of(views[0]), views, arcs
        self._kernel = PreparedKernel(self._program.kernel(name), *shape, arguments)

    def walks(self, *views: StoreView) -> bool:
        """Use the current views; return False if they are of another kind, for which a new ``ArcLaunch`` is needed."""
        if all(map(is_, views, self._views)):
            return True
        if self._program_of(views[0]) is not self._program:
            return False
        for place, view in enumerate(views):
            self._kernel.put(place, packed(view))
        self._views = views
        return True

    def launch(self, *lists: ArcList | PlacedArcs | None) -> None:
        """Launch with these lists of arcs; does not wait for the device."""
        for place, arcs in enumerate(lists, start=self._arcs):
            self._kernel.put_struct(place, ARCS.packer, arc_values(arcs))
        self._kernel.launch()
