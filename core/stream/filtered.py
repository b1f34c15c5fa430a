"""A filter of chunks before the window: what it leaves out enters no window, and still moves the watermark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError, ShapeError
from suricate.base.parameters import shown
from suricate.intake.arrays import is_cuda_array, on_host
from suricate.io.sources.chunk_columns import as_array
from suricate.io.sources.opening import as_source
from suricate.io.sources.source import Source, _Mark

LEFT_OUT = 3  #: in place of the kind of an event that the window does not get
KEPT = "kept"  #: the column, ``bool[n]``, of a chunk that says which events the window gets


class Where(Source):
    """The source given, with some of its events only; give it to the window, ``chain`` and ``merge`` go inside.

    >>> import suricate.stream as st
    >>> events = {"time": [1, 2, 3, 4], "src": [0, 1, 2, 0], "dst": [1, 2, 0, 1], "weight": [5, 90, 70, 6]}
    >>> large = st.where(st.source(events), lambda chunk: chunk["weight"] > 50)
    >>> [(w.end, w.events) for w in st.Window(large, size="2", slide="2", graph={"device": "cpu"})]
    [(4, 2), (6, 0)]

    Positions are those of the source, so checkpoints work as with it; the filter itself is not in them. Events left out
    move the watermark, and late ones are counted; windows of counts and steps do not see them.

    Args:
        source: what ``st.Window`` takes.
        fn: called with each chunk, a mapping of its columns (``time``, ``src``, ``dst``, ``weight``, ``kind`` and the
            attributes of the window) as arrays; returns ``bool[n]``, which events to keep.

    Raises:
        ParameterError: ``fn`` cannot be called. ShapeError: while iterating, it does not return one bool per event.
    """

    def __init__(self, source: Any, fn: Callable[[Mapping[str, Any]], Any]) -> None:
        if not callable(fn):
            raise ParameterError(f"where: fn must be a function of a chunk, got {shown(fn)}")
        self._source = inner = as_source(source)
        self._fn, self.time_unit, self.resumes, self.prefetch = fn, inner.time_unit, inner.resumes, inner.prefetch
        self.live, self.endless = inner.live, inner.endless
        self.want, self.reads, self.place = inner.want, inner.reads, inner.place  # type: ignore[method-assign]
        self.demand_used, self.is_untouched = inner.demand_used, inner.is_untouched  # type: ignore[method-assign]
        self.on_error, self.refusals, self.describe = inner.on_error, inner.refusals, inner.describe  # type: ignore[method-assign]

    def read(self, position: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yield positions and chunks of the source; each chunk with rows gets a column more, :data:`KEPT`."""
        for after, chunk in self._source.read(position):
            if isinstance(chunk, _Mark) or not len(chunk["src"]):
                yield after, chunk
                continue
            arrays = {name: on_host(part) if is_cuda_array(part) else as_array(part) for name, part in chunk.items()}
            kept = np.asarray(self._fn(arrays))
            if kept.dtype != bool or kept.shape != (len(chunk["src"]),):
                found = f"{kept.dtype} of shape {kept.shape}"
                raise ShapeError(f"where: fn must return a bool for each of {len(chunk['src'])} events, got {found}")
            yield after, {**chunk, KEPT: kept}
