"""The names of events that wait, in a list for all chunks between two slides.

Events hold tokens: places in the lists of names. A list goes with the last event that has a token of it. The newest one
has a hash table, older ones take 8 bytes for each name, or a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from suricate.base.errors import CapacityError
from suricate.intake.name_values import TEXT, Values, fixed
from suricate.intake.names import Names
from suricate.io.sources.chunk_columns import Texts
from suricate.windows.events import Events

MOST = 1 << 32  #: tokens
_NONE = np.empty(0, np.uint32)


class Listed(NamedTuple):
    """Names in a list, whose places stand for them; read as ``Names`` are."""

    values: Values

    @property
    def num_ids(self) -> int:
        """The number of names."""
        return len(self.values)

    def values_of(self, places: np.ndarray) -> Values:
        """Return the names at ``places``."""
        return taken(self.values, places)


class WaitingNames:
    """Lists of names, and the tokens that stand for them; ``kind``: what names are, None before the first one."""

    def __init__(self, kind: str | None) -> None:
        self.kind = kind
        self._lists: dict[int, Values] = {}  # the names of each by its first token, but of the newest one
        self._held: dict[int, int] = {}  # by first token: how many tokens events have
        self._open: tuple[Names, int] | None = None  # the names of the newest list, and its first token
        self._next, self._expected = 0, 0  # the first token of the next list, and how many names it may have

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
            else:
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
        places = np.concatenate([_NONE, *(end for each in parts for end in each[1:3])])
        firsts, begins, gone = sorted(self._held), [0], 0
        for first in firsts:
            gap = first - gone - begins[-1]  # tokens that no list has
            if gap:
                places[places >= begins[-1]] -= np.uint32(gap)
            gone += gap
            begins.append(begins[-1] + self._span(first))
        is_used, number = np.zeros(begins[-1], bool), np.empty(begins[-1], np.uint32)
        is_used[places] = True
        used = np.flatnonzero(is_used)
        number[used] = np.arange(len(used))
        cuts = np.searchsorted(used, begins)
        listed = [Values(self.kind or "int64", np.zeros(int(self.kind == TEXT), np.int64))]
        for first, begin, (low, high) in zip(firsts, begins, pairwise(cuts.tolist()), strict=False):
            if low < high:
                listed.append(self._values(first, used[low:high] - begin))
        ends = iter(np.split(number[places], np.cumsum([len(end) for each in parts for end in each[1:3]])))
        found = [each._replace(src=next(ends), dst=next(ends)) for each in parts]
        return Listed(listed[-1] if len(listed) < 3 else concatenated(listed[1:])), found

    def _values(self, first: int, at: np.ndarray) -> Values:
        """Return the names at the positions ``at`` of the list with this ``first`` token."""
        if first in self._lists:
            return taken(self._lists[first], at)
        return self._names._values_of(fixed(at.astype(np.uint32)))


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
