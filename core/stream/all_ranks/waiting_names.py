"""The names of events that wait, chunk by chunk, without a hash table.

Events hold tokens: places in the lists of names. A list goes with the last event that has a token of it, so names that
wait take 8 bytes each, or a text, however many of them there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from suricate.base.errors import CapacityError
from suricate.intake.name_values import TEXT, Values, fixed
from suricate.intake.names import Names
from suricate.io.sources.chunk_columns import Texts
from suricate.windows.events import Events

MOST = 1 << 32  #: tokens


class Listed(NamedTuple):
    """Different names in a list, whose places stand for them; read as ``Names`` are."""

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
        self._lists: dict[int, Values] = {}  # the names of each by its first token
        self._held: dict[int, int] = {}  # by first token: how many tokens events have
        self._open: tuple[Names, int] | None = None  # the names of a chunk that is taken, and its first token
        self._next = 0

    @property
    def memory(self) -> int:
        """Bytes of the names."""
        return sum(values.numbers.nbytes + values.data.nbytes for values in self._lists.values())

    @contextmanager
    def chunk(self, rows: int) -> Iterator[None]:
        """Make a context for the names of a chunk with so many ``rows``: those of its events are in one list."""
        first = self._first_of(2 * rows)
        names = Names(self.kind)
        names._expect(rows)
        self._open, self._held[first] = (names, first), 0
        try:
            yield
        except BaseException:
            self._held[first] = 0  # no event of it is left
            raise
        finally:
            self._next = first + len(self._open[0])
            if self._held[first]:
                self.kind = self._open[0].dtype
                self._lists[first] = self._opened()
            else:
                del self._held[first]
            self._open = None

    def _opened(self) -> Values:
        """Return the names of the chunk that is taken."""
        assert self._open is not None
        names, _ = self._open
        return names._values_of(fixed(np.arange(len(names), dtype=np.uint32)))

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

    def _first_of(self, most: int) -> int:
        """Return the first of at ``most`` so many tokens that no event has."""
        if self._next + most > MOST:  # from the beginning, where lists have gone long ago
            self._next = 0
        end = self._next + most
        if any(self._next < first + len(values) and first < end for first, values in self._lists.items()):
            raise CapacityError(f"the names of more than {MOST} ends of events wait for their slide")
        return self._next

    def _lists_of(self, tokens: np.ndarray) -> tuple[list[int], np.ndarray]:
        """Return the first tokens of all lists, and by token the index of its list in these."""
        firsts = sorted(self._held)
        if len(firsts) == 1:
            return firsts, np.zeros(len(tokens), np.int64)
        return firsts, np.searchsorted(np.array(firsts, np.int64), tokens, side="right") - 1

    def drop(self, events: Events) -> None:
        """Take back the tokens of events."""
        firsts, index = self._lists_of(np.concatenate((events.src, events.dst)))
        for first, count in zip(firsts, np.bincount(index, minlength=len(firsts)).tolist(), strict=False):
            self._held[first] -= count
            if not self._held[first] and first in self._lists:
                del self._held[first], self._lists[first]

    def joined(self, parts: Sequence[Events]) -> tuple[Listed, list[Events]]:
        """Return the names of events, each once, and these events with places in this list in place of tokens."""
        tokens = np.concatenate([np.empty(0, np.uint32), *(end for each in parts for end in (each.src, each.dst))])
        (firsts, index), found = self._lists_of(tokens), np.empty(len(tokens), np.uint32)
        lists = np.flatnonzero(np.bincount(index, minlength=1)).tolist() if len(tokens) else []
        names, listed = Names(self.kind), Values(self.kind or "int64", np.zeros(int(self.kind == TEXT), np.int64))
        if len(lists) > 1:
            names._expect(len(tokens) // 2)
        for at in lists:
            first, mask = firsts[at], slice(None) if len(lists) == 1 else index == at
            values, places = self._lists.get(first) or self._opened(), tokens[mask] - np.uint32(first)
            is_used = np.zeros(len(values), bool)
            is_used[places] = True
            used, number = np.flatnonzero(is_used), np.empty(len(values), np.uint32)
            listed = taken(values, used)
            number[used] = np.arange(len(used)) if len(lists) == 1 else names.intern(listed)
            found[mask] = number[places]
        if len(lists) > 1:
            listed = names._values_of(fixed(np.arange(len(names), dtype=np.uint32)))
        ends = iter(np.split(found, np.cumsum([len(end) for each in parts for end in (each.src, each.dst)])))
        return Listed(listed), [each._replace(src=next(ends), dst=next(ends)) for each in parts]


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
