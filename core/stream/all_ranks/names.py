"""Names of vertices where all ranks read the source: each has tokens of its own, ids are those of one process."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.types import EMPTY
from suricate.comm.protocol import Comm
from suricate.cpu.jit import kernel
from suricate.intake.name_values import Values
from suricate.intake.names import Names
from suricate.stream.window_names import VertexNames
from suricate.windows.events import Events, times_of


@kernel
def first_places(src, dst, lives, number, places):
    """Write where tokens first occur in live events to ``places``: ``2 * i`` in ``src[i]``, one more in ``dst[i]``.

    ``number`` by token: its index in ``places``, or -1 if it is not asked for. ``places`` is filled with -1 before.
    """
    for i in range(len(src)):
        if lives[i] != 0:
            if number[src[i]] >= 0 and places[number[src[i]]] < 0:
                places[number[src[i]]] = 2 * i
            if number[dst[i]] >= 0 and places[number[dst[i]]] < 0:
                places[number[dst[i]]] = 2 * i + 1


class SharedNames(VertexNames):
    """The names of a window's vertices, which are on all ranks, and the tokens of events that wait on this one.

    New names of a slide go to all ranks in one exchange, with the place of their first live event. All ranks give them
    ids in this order.
    """

    comm: Comm
    has_kinds = False  #: whether events of the slide have kinds on any rank

    def hear_kind(self, kind: str | None) -> None:
        """Take over of which kind the first names of the source are."""
        self._tokens = Names(kind) if self._tokens.dtype is None else self._tokens

    def _given(self, names: Values, events: Events, lives: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        change = self._began()
        found = self.names._ids_of(names, adds=False)
        new = np.flatnonzero(found == EMPTY)
        number, places = np.full(self._tokens.num_ids, -1), np.full(len(new), -1)
        number[tokens[new]] = np.arange(len(new))
        first_places(events.src, events.dst, lives, number, places)
        assert events.position is not None
        time, position = times_of(events.time)[places >> 1], 2 * events.position[places >> 1] + (places & 1)
        news = self._tokens.values_of(tokens[new]) if len(new) else None
        everybody = self.comm.gather("names", None if news is None else (news, time, position))
        given = [each for each in everybody if each is not None]
        if given:
            change.intern(in_order_of_events(given))
        if news is not None:
            found[new] = self.names._ids_of(news, adds=False)
        return found

    def _survivors(self, events: Events) -> tuple[np.ndarray, np.ndarray]:
        """Return what :meth:`VertexNames._survivors` does, of events some of whose pairs have events on other ranks."""
        if not self.has_kinds:
            return super()._survivors(events)
        assert events.position is not None
        used, ends = np.unique(np.concatenate((events.src, events.dst)), return_inverse=True)
        values = self._tokens.values_of(used.astype(np.uint32)) if len(used) else None
        everybody = self.comm.gather("kinds", (values, ends, times_of(events.time), events.position, events.kind))
        names, parts, sizes = Names(self.kind), list[Any](), list[int]()
        for found, places, time, position, kind in everybody:
            tokens = np.empty(0, np.uint32) if found is None else names.intern(found)[places]
            src, dst = tokens[: len(time)], tokens[len(time) :]
            parts.append((time, src, dst, kind, position))
            sizes.append(len(time))
        time, src, dst, kind, position = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((position, time))
        lives, misses = np.empty((2, len(time)), np.uint8)
        lives[order], misses[order] = super()._survivors(Events(time, src, dst, None, kind).taken(order))
        begin = sum(sizes[: self.comm.rank])
        own = slice(begin, begin + events.number)
        return lives[own], misses[own]


def in_order_of_events(given: list[tuple[Values, np.ndarray, np.ndarray]]) -> Values:
    """Return the different names of all ranks in the order of their first events.

    ``given``: names, times and positions of each rank.
    """
    names = Names(given[0][0].kind)
    ids = np.concatenate([names.intern(values) for values, *_ in given])
    times, positions = (np.concatenate([each[at] for each in given]) for at in (1, 2))
    ids = ids[np.lexsort((positions, times))]
    _, first = np.unique(ids, return_index=True)
    found: Values = names.values_of(ids[np.sort(first)])
    return found
