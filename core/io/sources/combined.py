"""Sources made of several sources: one after the other, or merged by time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError
from suricate.io.sources.chunk_columns import in_order, part_of
from suricate.io.sources.lanes import START, Head, InLanes, MergeLanes, demand_alike, merged
from suricate.io.sources.opening import as_source
from suricate.io.sources.refusals import Refusals
from suricate.io.sources.rows import NOTHING, WAITING
from suricate.io.sources.silence import Turns
from suricate.io.sources.source import Chunk, Source, _Mark


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


class Merge(Several, InLanes):
    """Sources merged by time; of events with equal times, those of the first source come first.

    Example:
        >>> left, right = ({"time": time, "src": [0, 1], "dst": [1, 2]} for time in ([1, 4], [2, 3]))
        >>> [w.events for w in st.Window(st.merge(left, right), size="1", slide="1", graph={"device": "cpu"})]
        [1, 1, 1, 1]
    """

    def __init__(self, first: Any, second: Any, *others: Any, on_error: Any = None) -> None:
        super().__init__(first, second, *others, on_error=on_error)

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield merged chunks, ``NOTHING`` while it waits for a source; a position has a triple per source, and a pair.

        A triple is the position where the current chunk of the source begins, and how many of its events were merged so
        far, with their checksums; the pair is how many were merged in all, and which sources were idle.
        """
        *begin, (count, idle) = position or (*(START for _ in self._sources), (0, ()))
        heads = [Head(source, at) for source, at in zip(self._sources, begin, strict=True)]
        turns = Turns(self.silence, count, idle)
        while has_events := turns.ask(heads):
            waits = [at for at, has in enumerate(has_events) if at not in turns.idle and has is not False]
            chunk = WAITING if any(head.is_waiting for head in heads) else NOTHING
            if waits and all(has_events[at] for at in waits):
                chunk = _merged([heads[at] for at in waits], turns.most)
            turns.rows += len(chunk["src"])
            yield (*(head.position for head in heads), (turns.rows, turns.idle)), chunk

    def is_untouched(self, position: Any) -> bool:
        """Return whether all sources say so, and all their events were merged."""
        return bool(position) and all(
            not used and source.is_untouched(end)
            for source, (end, used, _) in zip(self._sources, position[:-1], strict=True)
        )

    def _lanes(self, rank: int, size: int, position: Any, ahead: Any, most: int) -> MergeLanes:
        """Return the sources that ``rank`` reads."""
        return MergeLanes(self._sources, self.first, rank, size, position, ahead, most)

    def _demand_divided(self, *, idle: bool) -> None:
        """Raise ``RequirementError`` if a source does not wait for all its own, which other ranks could not repeat."""
        if idle and any(map(_has_lanes, self._sources)):
            reason = (
                "sources of st.merge that are merged of others, or topics, are waited for: give all to one st.merge"
            )
            raise RequirementError(f"readers='all' with idle=: {reason}")


def _has_lanes(source: Any) -> bool:
    """Return whether a source, or one that it is made of, can have several lanes."""
    inner = [*getattr(source, "_sources", ()), getattr(source, "_source", None)]
    return (isinstance(source, InLanes) and not source._is_single) or any(
        _has_lanes(each) for each in inner if isinstance(each, Source)
    )


def _merged(heads: Sequence[Head], most: int | None) -> Chunk:
    """Return the first events of several sources, merged by time until a chunk is used up, at most ``most`` of them."""
    chunks = [head.chunks[0] for head in heads]
    demand_alike(chunks)
    if len(heads) == 1:
        count = len(chunks[0].ticks) if most is None else min(most, len(chunks[0].ticks))
        chunk, counts = {name: part_of(column, 0, count) for name, column in chunks[0].rest.items()}, [count]
    else:
        owner, _ = merged([each.ticks for each in chunks], most)
        counts, order = np.bincount(owner, minlength=len(heads)).tolist(), np.empty(len(owner), np.int64)
        order[np.argsort(owner, kind="stable")] = np.arange(len(owner))
        pairs = [*zip(chunks, counts, strict=True)]
        chunk = {name: in_order([part_of(one.rest[name], 0, count) for one, count in pairs], order)
                 for name in chunks[0].rest}  # fmt: skip
    for head, count in zip(heads, counts, strict=True):
        if count:
            head.use(count)
    return chunk
