"""The names of events that wait, in a list for many slides, and which ids they had.

Events hold tokens: places in the lists of names. The newest list has a hash table, and remembers the ids that its names
got, so that a name is looked up once, and its owner asked once. When it has many more names than a slide, another one
begins; older ones take 8 bytes for each name, or a text, and go with the last event that has a token of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from suricate.base.errors import CapacityError
from suricate.base.types import EMPTY
from suricate.cpu.jit import kernel
from suricate.intake.arrays import by_owner
from suricate.intake.name_values import TEXT, Values, as_values, fixed
from suricate.intake.names import Names
from suricate.io.sources.chunk_columns import Texts
from suricate.windows.events import Events

MOST = 1 << 32  #: tokens
FEW, SLIDES = 1 << 12, 8  #: a list ends with more names than these, and than so many slides like the newest have
SOME = 8  #: and if of so many names of a slide not one was known, as then to remember them takes room for nothing
_NONE, _LOW = np.empty(0, np.uint32), 0xFFFFFFFF


@kernel
def list_used(tokens, number, used):
    """Replace each of ``tokens`` by its place in ``used``, where each is written once; return how many these are.

    Scratch: ``number`` by token, filled with EMPTY.
    """
    count = 0
    for i in range(len(tokens)):
        token = tokens[i]
        if number[token] == EMPTY:
            number[token] = count
            used[count] = token
            count += 1
        tokens[i] = number[token]
    return count


@kernel
def look_up(tokens, first, notes, named, since, found):
    """Write the id that is noted for each of ``tokens`` to ``found``, where that is; return for how many.

    ``notes``: by token from ``first`` on the id, and in the upper half one more than the version in which it got this
    name; 0: none. By id: ``named``, whether it has a name, and ``since`` when, as one given out again has another.
    """
    count = 0
    for i in range(len(tokens)):
        place = np.int64(tokens[i]) - first
        if 0 <= place < len(notes) and notes[place] != 0:
            vertex = notes[place] & _LOW
            if named[vertex] and since[vertex] == (notes[place] >> 32) - 1:
                found[i] = vertex
                count += 1
    return count


class Listed(NamedTuple):
    """Names of events that wait, whose places in ``tokens`` stand for them; read as ``Names`` are."""

    waiting: WaitingNames
    tokens: np.ndarray

    @property
    def num_ids(self) -> int:
        """The number of names."""
        return len(self.tokens)

    def values_of(self, places: np.ndarray) -> Values:
        """Return the names at ``places``."""
        return self.waiting.values_of(self.tokens[places])


class WaitingNames:
    """Lists of names, and the tokens that stand for them; ``kind``: what names are, None before the first one."""

    def __init__(self, kind: str | None) -> None:
        self.kind = kind
        self._lists: dict[int, Values] = {}  # the names of each by its first token, but of the newest one
        self._held: dict[int, int] = {}  # by first token: how many tokens events have
        self._open: tuple[Names, int] | None = None  # the names of the newest list, and its first token
        self._next, self._expected = 0, 0  # the first token of the next list, and how many names it may have
        self._has_notes = False  # whether ids are noted for names of the newest list
        self._told: tuple[Any, np.ndarray, np.ndarray] | None = None  # a change of names, tokens, and their ids with it

    @property
    def memory(self) -> int:
        """Bytes of the names."""
        newest = 0 if self._open is None else sum(self._open[0].memory_usage().values())
        return newest + sum(values.numbers.nbytes + values.data.nbytes for values in self._lists.values())

    @contextmanager
    def chunk(self, rows: int) -> Iterator[None]:
        """Make a context for the names of a chunk with so many ``rows``: those of its events are in one list."""
        first = self._begin(2 * rows)
        before = self._held[first]
        try:
            yield
        except BaseException:
            self._held[first] = before  # no event of it is left
            raise
        finally:
            if self._held[first]:
                self.kind = self._names.dtype
            elif self.kind is None:
                self.close()

    @property
    def _names(self) -> Names:
        assert self._open is not None
        return self._open[0]

    def _begin(self, most: int) -> int:
        """Have a list with room for ``most`` more names, whose tokens no event has; return its first token."""
        if self._open is not None and self._open[1] + len(self._names) + most > MOST:
            self.close()
        if self._open is None:
            first = self._next if self._next + most <= MOST else 0  # lists from the beginning have gone long ago
            self._open, self._held[first] = (Names(self.kind), first), 0
            self._names._expect(max(self._expected, most // 2))
        names, first = self._open
        end = first + len(names) + most
        if any(first < other + len(values) and other < end for other, values in self._lists.items()):
            self.close()
            raise CapacityError(f"the names of more than {MOST} ends of events wait for their slide")
        return first

    def close(self) -> None:
        """Put the names of chunks that follow into a list of their own."""
        if self._open is not None:
            names, first = self._open
            if self._held[first]:
                self._lists[first] = names._values_of(fixed(np.arange(len(names), dtype=np.uint32)))
            else:
                del self._held[first]
            self._next, self._expected, self._open = first + len(names), len(names), None
            self._has_notes, self._told = False, None

    def tokens(self, column: Any) -> np.ndarray:
        """Return tokens of a column of a chunk, ``uint32[n]``, for :meth:`drop`; errors: as of ``Names.intern``."""
        assert self._open is not None
        names, first = self._open
        if isinstance(column, Texts) and names.dtype is None:
            names = Names("text")
            self._open = names, first
        places = names.intern_spans(column.data, column.spans) if isinstance(column, Texts) else names.intern(column)
        self._held[first] += len(places)
        found: np.ndarray = places + np.uint32(first)
        return found

    def _span(self, first: int) -> int:
        """Return how many names the list with this ``first`` token has."""
        return len(self._lists[first]) if first in self._lists else len(self._names)

    def drop(self, events: Events) -> None:
        """Take back the tokens of events."""
        tokens, left = np.concatenate((events.src, events.dst)), 0
        for first in sorted(self._held, reverse=True):
            count = int(np.count_nonzero(tokens >= first)) - left
            left += count
            self._held[first] -= count
            if not self._held[first] and first in self._lists:
                del self._held[first], self._lists[first]

    def joined(self, parts: Sequence[Events]) -> tuple[Listed, list[Events]]:
        """Return the names of events and, with places in this list in place of tokens, the events.

        A name is in the list once for each list of names that waits.
        """
        tokens = np.concatenate([_NONE, *(end for each in parts for end in each[1:3])])
        firsts, ends = sorted(self._held), [0]
        gaps = np.zeros(len(firsts), np.int64)  # tokens that no list has, up to each
        for at, first in enumerate(firsts):
            gaps[at] = first - ends[-1]
            ends.append(ends[-1] + self._span(first))
        gap = gaps[:1] if len(firsts) < 2 else gaps[np.searchsorted(firsts, tokens, "right") - 1]
        if len(tokens):
            tokens -= gap.astype(np.uint32)
        used = np.empty(min(len(tokens), ends[-1]), np.uint32)
        used = used[: list_used(tokens, np.full(ends[-1], EMPTY, np.uint32), used)]
        split = iter(np.split(tokens, np.cumsum([len(end) for each in parts for end in each[1:3]])))
        found = [each._replace(src=next(split), dst=next(split)) for each in parts]
        if len(used):
            used += (gap if len(firsts) < 2 else gaps[np.searchsorted(ends[1:], used, "right")]).astype(np.uint32)
        return Listed(self, used), found

    def values_of(self, tokens: np.ndarray) -> Values:
        """Return the names of ``tokens``."""
        firsts = sorted(self._held)
        if not len(tokens):
            return as_values([], self.kind or "int64")
        if len(firsts) == 1:
            return self._values(firsts[0], tokens - np.uint32(firsts[0]))
        order, spans = by_owner(np.searchsorted(firsts, tokens, "right") - 1, len(firsts))
        found = [self._values(first, tokens[order[slice(*span)]] - np.uint32(first))
                 for first, span in zip(firsts, spans, strict=True) if span[0] < span[1]]  # fmt: skip
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return taken(concatenated(found), back)

    def _values(self, first: int, at: np.ndarray) -> Values:
        """Return the names at the places ``at`` of the list with this ``first`` token."""
        return taken(self._lists[first], at) if first in self._lists else self._names._values_of(fixed(at))

    # -- ids -----------------------------------------------------------------------------------------------------------

    def ids(self, tokens: np.ndarray, named: np.ndarray, since: np.ndarray) -> np.ndarray:
        """Return the ids of the names of a slide, of each its token, as far as they are remembered, EMPTY for others.

        ``named``, ``since``: by id, see :func:`look_up`. Closes a list that is too long for the slide, or of no use.
        """
        found = np.full(len(tokens), EMPTY, np.uint32)
        if self._open is None:
            return found
        self._note(since)
        (names, first), known = self._open, 0
        if self._has_notes:
            known = look_up(tokens, first, names._table.since, named, since, found)
        is_useless = self._has_notes and SOME * known < len(tokens)
        if len(names) > FEW and (len(names) > SLIDES * len(tokens) or is_useless):
            self.close()
        return found

    def tell(self, change: Any, tokens: np.ndarray, ids: np.ndarray) -> None:
        """Say which ids the names of ``tokens`` have once ``change`` is kept."""
        self._told = change, tokens, ids

    def _note(self, since: np.ndarray) -> None:
        """Note the ids that were told last, if their change was kept: where the list, which has no slides, has 0."""
        (names, first), told, self._told = self._open, self._told, None  # type: ignore[misc]
        if told is not None and told[0].is_kept:
            _, tokens, ids = told
            is_here = (tokens >= first) & (tokens < first + len(names))
            ids = ids[is_here].astype(np.int64)
            names._table.since[tokens[is_here] - np.uint32(first)] = (since[ids].astype(np.int64) + 1) << 32 | ids
            self._has_notes |= len(ids) > 0


def taken(values: Values, at: np.ndarray) -> Values:
    """Return the names at the positions ``at``."""
    if values.kind != TEXT:
        return Values(values.kind, values.numbers[at])
    from suricate.intake.name_loops import WIDTH, copy_texts  # imports Numba

    starts, ends = values.numbers[:-1][at], values.numbers[1:][at]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(ends - starts, dtype=np.int64)))
    words, found = (starts << WIDTH | ends - starts).view(np.uint64), np.empty(int(offsets[-1]), np.uint8)
    copy_texts(fixed(np.arange(len(starts), dtype=np.uint32)), words, values.data, offsets, found)
    return Values(TEXT, offsets, found)


def concatenated(values: Sequence[Values]) -> Values:
    """Return names of one kind, one after the other."""
    if values[0].kind != TEXT:
        return Values(values[0].kind, np.concatenate([each.numbers for each in values]))
    lengths = np.concatenate([np.diff(each.numbers) for each in values])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))
    return Values(TEXT, offsets, np.concatenate([each.data[each.numbers[0] : each.numbers[-1]] for each in values]))
