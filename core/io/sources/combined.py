"""Sources made of several sources: one after the other, or merged by time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.cpu.jit import kernel
from suricate.io.sources.chunk_columns import in_order, part_of
from suricate.io.sources.identity import Sums, sums_of
from suricate.io.sources.opening import as_source
from suricate.io.sources.refusals import Refusals
from suricate.io.sources.rows import NOTHING, WAITING
from suricate.io.sources.silence import Turns
from suricate.io.sources.source import Chunk, Source, _Mark
from suricate.io.sources.times import ticks_of


class Several(Source):
    """Base class of ``st.chain`` and ``st.merge``, which combine what ``st.source`` takes.

    ``on_error``: what happens to events that the window refuses; None: what the sources say, which must be the same.
    """

    def __init__(self, *sources: Any, on_error: Any = None) -> None:
        self._sources = [as_source(each) for each in sources]
        units, errors = ({str(getattr(each, name)) for each in self._sources} for name in ("time_unit", "on_error"))
        if len(units) > 1:
            known = ", ".join(sorted(units))
            raise ParameterError(
                f"the sources have times of different units: {known}; st.source(x, time_unit='s') says it"
            )
        if on_error is None and len(errors) > 1:
            raise ParameterError(f"the sources have on_error {', '.join(sorted(errors))}: on_error= says which holds")
        first = self._sources[0] if self._sources else Source()
        super().__init__(None, first.time_unit, None, first.on_error if on_error is None else on_error)
        self.resumes = all(source.resumes for source in self._sources)
        self.live = any(source.live for source in self._sources)
        self.endless = any(source.endless for source in self._sources)
        self.prefetch = min((source.prefetch for source in self._sources), default=0)

    def want(self, attributes: Sequence[str], **wanted: Any) -> None:
        """Call :meth:`Source.want` of all its sources, so that the first row of the first one counts for all."""
        super().want(attributes, **wanted)
        for source in self._sources:
            source.want(attributes, **wanted)

    @cached_property
    def refusals(self) -> Sequence[Refusals]:
        """Its own, for what a window refuses, and those of all sources in order."""
        own = Refusals("on_error", self.on_error, "skip")
        return [own, *(each for source in self._sources for each in source.refusals)]

    def demand_used(self, attributes: Iterable[str]) -> None:
        """Call :meth:`Source.demand_used` of all its sources."""
        for source in self._sources:
            source.demand_used(attributes)

    def reads(self, path: Path) -> bool:
        """Return whether one of its sources reads the file ``path``, or would if it were there."""
        return any(source.reads(path) for source in self._sources)

    def describe(self) -> str:
        """Return the name of the class with the descriptions of the sources it is made of."""
        return f"{type(self).__name__}({', '.join(source.describe() for source in self._sources)})"


class Chain(Several):
    """Sources read one after the other; the watermark of a window is not reset between them.

    Example:
        >>> both = st.chain({"src": [0], "dst": [1]}, {"src": [1], "dst": [2]})
        >>> [w.graph.num_edges for w in st.Window(both, size=2, slide=1, graph={"device": "cpu"})]
        [1, 2]
    """

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the chunks of each source in turn; a position has the positions of those that were begun."""
        ends = [None] if position is None else [*position]
        for at, source in enumerate(self._sources):
            ends += [None] * (at == len(ends))
            if at < len(ends) - 1 and source.is_untouched(ends[at]):
                continue
            for after, chunk in source.read(ends[at]):
                ends[at] = after
                yield tuple(ends), chunk

    def is_untouched(self, position: Any) -> bool:
        """Return whether all its sources say so."""
        ends = position or ()
        pairs = zip(self._sources, ends, strict=False)
        return len(ends) == len(self._sources) and all(source.is_untouched(end) for source, end in pairs)


class Merge(Several):
    """Two sources merged by time; of events with equal times, those of the first source come first.

    Example:
        >>> left, right = ({"time": time, "src": [0, 1], "dst": [1, 2]} for time in ([1, 4], [2, 3]))
        >>> [w.events for w in st.Window(st.merge(left, right), size="1", slide="1", graph={"device": "cpu"})]
        [1, 1, 1, 1]
    """

    def __init__(self, first: Any, second: Any, *, on_error: Any = None) -> None:
        super().__init__(first, second, on_error=on_error)

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield merged chunks, ``NOTHING`` while it waits for a source; a position has a triple per source, and a pair.

        A triple is the position where the current chunk of the source begins, and how many of its events were merged so
        far, with their checksums; the pair is how many were merged in all, and which sources were idle.
        """
        begin: Any = position or ((None, 0, {}), (None, 0, {}))
        heads = [_Head(source, at) for source, at in zip(self._sources, begin[:2], strict=True)]
        turns = Turns(self.silence, *(begin[2] if len(begin) > 2 else (0, ())))
        while has_events := turns.ask(heads):
            waits = [has for at, has in enumerate(has_events) if at not in turns.idle]
            chunk = WAITING if any(head.is_waiting for head in heads) else NOTHING
            if len(waits) == 2 and all(waits):
                chunk = _merged(heads[0], heads[1], turns.most)
            elif True in waits and None not in waits:
                at = next(at for at, has in enumerate(has_events) if has and at not in turns.idle)
                chunk = heads[at].use_first(turns.most)
            turns.rows += len(chunk["src"])
            yield (*(head.position for head in heads), (turns.rows, turns.idle)), chunk

    def is_untouched(self, position: Any) -> bool:
        """Return whether both sources say so, and all their events were merged."""
        ends = position or ()
        return bool(ends) and all(
            not used and source.is_untouched(end)
            for source, (end, used, _) in zip(self._sources, ends[:2], strict=True)
        )


@kernel
def merge_heads(a, b, order):
    """Merge the sorted times ``a`` and ``b`` until one of them is used up; return how many of each were used.

    ``order`` (int64) gets the merged order: index i for ``a[i]``, and ``len(a) + j`` for ``b[j]``.
    """
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            order[i + j] = i
            i += 1
        else:
            order[i + j] = len(a) + j
            j += 1
    return i, j


class _Head:
    """A source that is being merged: its current chunk, without the events that were merged already."""

    def __init__(self, source: Source, at: tuple[Any, int, Sums]) -> None:
        self._source, self._at, (self._begin, self._used, self._sums) = source, at, at
        self._chunks = source.read(self._begin)
        self._after, self.ticks, self.has_unit = self._begin, np.empty(0, np.int64), False
        self.is_waiting = False  # whether the source has no events, and does not say that it is silent
        self.rest: dict[str, Any] = {}
        self._skip, self._skipped, self._expected = self._used, Sums(), self._sums
        self._held: list[list[Any]] = []  # malformed lines of the chunk, by refusals of the source

    @property
    def position(self) -> tuple[Any, int, Sums]:
        return self._at if self._skip else (self._begin, self._used, self._sums)

    def fill(self) -> bool | None:
        """Read a chunk if this one is used up; return False at the end of the source, None if it is empty."""
        while len(self.ticks) == 0:
            found = next(self._chunks, None)
            if found is None:
                if self._skip:
                    raise self._changed(self._begin)
                return False
            self._begin = self._after
            self._after, chunk = found
            self.is_waiting = chunk is WAITING
            if isinstance(chunk, _Mark):
                raise ParameterError("merge: sources of steps cannot be merged")
            if not len(chunk["src"]):
                self._begin, self._used, self._sums = self._after, 0, Sums()
                return None
            ticks, self.has_unit = ticks_of(chunk["time"], self._source.time_unit)
            self.rest, self.ticks, self._used, self._sums = dict(chunk), ticks, 0, Sums()
            if self._skip:
                self._leave_out(min(self._skip, len(ticks)))
            if len(self.ticks):  # its malformed lines count when it has been used, as on going on it comes again
                self._held = [each.held for each in self._source.refusals]
                for each in self._source.refusals:
                    each.held = []
        return True

    def _leave_out(self, count: int) -> None:
        """Remove the first ``count`` events from a new chunk, merged before; ``ParameterError`` if they are others."""
        merged = {name: part_of(column, 0, count) for name, column in self.rest.items()}
        self._skipped, self._skip = sums_of(merged, self._skipped), self._skip - count
        if self._source.checked and not self._skip and self._skipped != self._expected:
            raise self._changed(self._after)
        self._remove(count)

    def _changed(self, position: Any) -> ParameterError:
        return ParameterError(f"checkpoint: {self._source.place(position)} has other rows than those merged so far")

    def _remove(self, count: int) -> None:
        if self._source.checked:
            self._sums = sums_of({name: part_of(column, 0, count) for name, column in self.rest.items()}, self._sums)
        self.rest = {name: part_of(column, count) for name, column in self.rest.items()}
        self.ticks, self._used = self.ticks[count:], self._used + count

    def use_first(self, most: int | None) -> Chunk:
        """Return the first ``most`` events of the chunk, None: all, and remove them: they were merged."""
        count = len(self.ticks) if most is None else min(most, len(self.ticks))
        found = {name: part_of(column, 0, count) for name, column in self.rest.items()}
        self.use(count)
        return found

    def use(self, count: int) -> None:
        """Remove the first ``count`` events from the chunk: they were merged."""
        self._remove(count)
        if len(self.ticks) == 0:
            self._begin, self._used, self._sums = self._after, 0, Sums()
            for each, lines in zip(self._source.refusals, self._held, strict=True):
                each.held += lines
            self._held = [[] for _ in self._held]


def _merged(first: _Head, second: _Head, most: int | None) -> Chunk:
    """Return the events of two chunks, merged by time until one of them is used up, at most ``most`` of them."""
    if first.has_unit != second.has_unit:
        raise ParameterError("merge: the times of one source have a unit, those of the other have none")
    a, b = first.ticks, second.ticks
    order = np.empty(len(a) + len(b), np.int64)
    used_a, used_b = merge_heads(a, b, order)
    if most is not None and most < used_a + used_b:
        used_a = int((order[:most] < len(a)).sum())
        used_b = most - used_a
    chunk = _interleaved(first.rest, second.rest, order[: used_a + used_b], len(a))
    first.use(used_a)
    second.use(used_b)
    return chunk


def _interleaved(first: Any, second: Any, order: np.ndarray, boundary: int) -> Chunk:
    names = first.keys() | second.keys()
    if first.keys() != second.keys():
        odd = ", ".join(first.keys() ^ second.keys())
        raise ParameterError(f"merge: only one of the sources has columns for {odd}")
    return {name: in_order((part_of(first[name], 0, boundary), second[name]), order) for name in names}
