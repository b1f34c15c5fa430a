"""Copies of rows in one array, for algorithms on the CPU that pass over all edges again and again.

Storage that updates quickly has gaps, or leads from block to block: a pass over all edges of a hash table takes twice
as long as one over plain rows. To copy the rows takes about as long as one such pass, so it pays from the third pass
on; in small graphs it does not pay for compiling the loops that copy. (On CUDA a pass is limited by random reads of
what neighbours have, and the copy does not pay.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suricate.base.devices import CPU
from suricate.cpu import threads
from suricate.store import fallbacks

if TYPE_CHECKING:
    from suricate.base.types import StoreView
    from suricate.graph import Graph

LEAST = 1 << 16  #: edges from which on rows are copied; all passes over fewer take some milliseconds


@contextmanager
def copied_rows(graph: Graph) -> Iterator[None]:
    """A context in which operators on the CPU walk copies of the rows; other threads wait for the graph.

    A view is copied when it is first walked, each row in its order in storage, so that results are the same to the
    last bit. A copy takes 4 bytes and a weight per arc, and 8 bytes per vertex; without the memory for it, or with
    fewer than :data:`LEAST` arcs, operators walk the storage. Avoid ``(u, x) in graph`` in functions: it scans the
    row.
    """
    graph = graph if graph.partition is None else graph.partition.follow()
    with graph.exclusive():
        if graph.device.is_cuda or graph.most_arcs < LEAST:
            yield
            return
        graph._views.clear()
        graph._walked = rows_of
        try:
            yield
        finally:
            graph._walked = None
            graph._views.clear()


def rows_of(view: StoreView, always: bool = False) -> StoreView:
    """Return a view over a copy of the rows of ``view``; ``view`` itself if they are contiguous, or memory is short.

    ``always``: copy them, or raise ``MemoryError``.
    """
    if not always and (view.owner_per != "segment" or not view.can_scan):
        return view
    # these import Numba, which CUDA does without otherwise
    from suricate.cursors import contiguous, row_loops
    from suricate.kernels.walking import loops_over

    try:
        lengths = fallbacks.degrees(view, CPU)
        offsets = np.zeros(view.num_vertices + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        dst = np.empty(offsets[-1], np.uint32)
        is_weighted = view.weight_dtype is not None
        weight = np.empty(offsets[-1] if is_weighted else 0, view.weight_dtype if is_weighted else np.uint8)
    except MemoryError:
        if always:
            raise
        return view
    copy_rows = loops_over(view, Path(row_loops.__file__)).copy_rows
    given = view.data, offsets, dst, weight
    threads.run(copy_rows, [(*given, *part) for part in fallbacks.parts_of(offsets)])
    return contiguous.contiguous_view(offsets[:-1], offsets[1:], dst, weight if is_weighted else None)
