"""Names of vertices where all ranks read the source: each has tokens of its own, ids are those of one process.

A ``Names`` of the user is on all ranks (:class:`SharedNames`), else names are divided (:class:`SharesOfNames`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import numpy as np

from suricate.base.archives import prefixed, state_in
from suricate.base.types import EMPTY
from suricate.comm.protocol import Comm
from suricate.cpu.jit import kernel
from suricate.intake.name_values import Values
from suricate.intake.names import Names
from suricate.stream.all_ranks.divided_names import DividedChange, DividedNames
from suricate.stream.all_ranks.waiting_names import Listed, WaitingNames
from suricate.stream.window_names import VertexNames, vertex_names
from suricate.windows.events import Events, times_of


@kernel
def first_places(src, dst, lives, places):
    """Write for each token that has -1 in ``places`` where it first occurs in live events to it.

    A place is ``2 * i`` in ``src[i]``, one more in ``dst[i]``.
    """
    for i in range(len(src)):
        if lives[i] != 0:
            if places[src[i]] < 0:
                places[src[i]] = 2 * i
            if places[dst[i]] < 0:
                places[dst[i]] = 2 * i + 1


class SharedNames(VertexNames):
    """The names of a window's vertices, which are on all ranks, and the tokens of events that wait on this one.

    New names of a slide go to all ranks in one exchange, with the place of their first live event. All ranks give them
    ids in this order.
    """

    comm: Comm
    has_kinds = False  #: whether events of the slide have kinds on any rank

    def hear_kind(self, kind: str | None) -> None:
        """Take over of which kind the first names of the source are."""
        if self._tokens.dtype is None:
            self._set_kind(kind)

    def _of_all(self, states: list[dict[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
        return [each for one in self.comm.gather("names", states) for each in one]

    def _first_new(self, found: np.ndarray, events: Events, lives: np.ndarray, tokens: np.ndarray) -> tuple[Any, ...]:
        """Return where ``found``, the ids of ``tokens``, is EMPTY; time and position of the first events there."""
        new, places = np.flatnonzero(found == EMPTY), np.zeros(self._tokens.num_ids, np.int64)
        if len(new):
            places[tokens[new]] = -1
            first_places(events.src, events.dst, lives, places)
        places = places[tokens[new]]
        assert events.position is not None
        return new, times_of(events.time)[places >> 1], 2 * events.position[places >> 1] + (places & 1)

    def _given(self, tokens: np.ndarray, events: Events, lives: np.ndarray) -> np.ndarray:
        change = self._began()
        found = self.names._ids_of(self._tokens.values_of(tokens), adds=False)
        new, time, position = self._first_new(found, events, lives, tokens)
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


class SharesOfNames(SharedNames):
    """Names that are divided among the ranks, and names of events that wait on this one, which has asked for no id yet.

    Args:
        comm: the ranks.
        directed: whether edges have a direction.
    """

    names: DividedNames
    is_divided = True

    def __init__(self, comm: Comm, *, directed: bool) -> None:
        self.comm, self._waiting = comm, WaitingNames(None)
        super().__init__(DividedNames(comm), directed=directed)
        self._no_tokens = self._tokens

    # -- events that wait ----------------------------------------------------------------------------------------------

    def tokens(self, column: Any) -> np.ndarray:
        """Return tokens of a column of names, ``uint32[n]``."""
        return self._waiting.tokens(column)

    def chunk(self, rows: int) -> AbstractContextManager[None]:
        """Return a context for the names of a chunk with so many ``rows``."""
        return self._waiting.chunk(rows)

    @property
    def kind(self) -> str | None:
        """``"text"``, ``"int64"`` or ``"uint64"``; None before the first name."""
        return self._waiting.kind or self.names.dtype

    def _set_kind(self, kind: str | None) -> None:
        self._waiting = WaitingNames(kind)
        self.names.set_kind(kind)

    def hear_kind(self, kind: str | None) -> None:
        """Take over of which kind the first names of the source are."""
        self._waiting.kind = self._waiting.kind or kind
        self.names.set_kind(kind)

    def drop(self, events: Events) -> None:
        """Release the tokens of events that enter no slide."""
        self._waiting.drop(events)

    def shown(self, events: Events) -> tuple[list[Any], list[Any]]:
        """Return the names of the sources and of the destinations of events that hold tokens."""
        names, (found,) = self._waiting.joined([events])
        src, dst = (names.values_of(end).decoded().tolist() for end in (found.src, found.dst))
        return src, dst

    def save_events(self, parts: Sequence[Events]) -> tuple[Sequence[Events], dict[str, np.ndarray]]:
        """Return events that wait, and the names of their tokens."""
        listed, found = self._waiting.joined(parts)
        names = Names(self.kind)
        ids = names.intern(self._waiting.values_of(listed.tokens))
        found = [each._replace(src=ids[each.src], dst=ids[each.dst]) for each in found]
        return found, prefixed("tokens.", names.state())

    @property
    def memory(self) -> int:
        """Bytes of the names of this rank, and of the names of events that wait on it."""
        return sum(self.names.memory_usage().values()) + self._waiting.memory

    # -- slides --------------------------------------------------------------------------------------------------------

    def named(self, events: Events) -> tuple[Events, int, int]:
        """Replace tokens by ids of vertices, as ``VertexNames`` does; collective."""
        listed, (found,) = self._waiting.joined([events])
        self._tokens = cast(Names, listed)
        named = super().named(found) if self.has_kinds else self._named_all(found, listed)
        self._entered, self._tokens = events, self._no_tokens
        return named

    def _named_all(self, events: Events, listed: Listed) -> tuple[Events, int, int]:
        """Return what :meth:`named` does, of events all of which are live, and have all the names ``listed``."""
        lives, tokens = np.ones(events.number, np.uint8), np.arange(listed.num_ids, dtype=np.uint32)
        with self.names.exclusive():
            self._live, _ = self._resolved(tokens, tokens[:0], events, lives)
        return events._replace(src=self._live[events.src], dst=self._live[events.dst]), 0, 0

    def _resolved(
        self, live: np.ndarray, others: np.ndarray, events: Events, lives: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        change: Any = self._began()
        listed = cast(Listed, self._tokens)
        tokens = listed.tokens[live]
        found = self._waiting.ids(tokens, *self.names.by_id)
        new, time, position = self._first_new(found, events, lives, live)
        news, rest = listed.values_of(live[new]), listed.values_of(others)
        found[new], known = self.names.asked(change, news, time, position, rest)
        self._waiting.tell(change, tokens[new], found[new])
        return found, known if len(others) else None

    def _prepared(self, *, slides: bool = False) -> Any:
        return DividedChange(self.names, slides=slides)

    def _counts(self, ids: np.ndarray) -> np.ndarray:
        return self.names.counts_of(ids)

    # -- state ---------------------------------------------------------------------------------------------------------

    def save(self) -> dict[str, np.ndarray]:
        """Return what :meth:`load` needs: the names of this rank."""
        return {**prefixed("names.", self.names.share_state()), "reserved": self.reserved}

    def load(self, arrays: dict[str, np.ndarray], parts: Sequence[dict[str, np.ndarray]], *, divided: bool) -> None:
        """Restore names of any number of ranks; collective."""
        self.reserved, head = arrays["reserved"], state_in(arrays, "names.")
        self._set_kind(Names.restore(state_in(arrays, "tokens.")).dtype)
        states = [state_in(each, "names.") for each in parts if "names.ids" in each]
        self.names.load(head, states if divided or self.comm.rank == 0 else [])


def vertex_names_of_all(names: Names | bool | None, *, directed: bool, comm: Comm) -> VertexNames | None:
    """Return the names that the option ``names`` asks for where all ranks read; None if vertices have no names."""
    return (
        SharesOfNames(comm, directed=directed)
        if names is True
        else vertex_names(names, directed=directed, kind=SharedNames)
    )


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
