"""Names of vertices in windows: a name has an id while one of its events is live.

Events that wait for their slide hold tokens: ids of names in a private map. When a slide closes, the names of its
events get ids of vertices, new names in the order (time, position) of their first live event, freed ids first; an id
that a slide frees is given out from the next slide on. Late, waiting and cancelled events and deletions create no name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from suricate.base.archives import prefixed, state_in
from suricate.base.errors import ParameterError
from suricate.base.parameters import shown
from suricate.base.types import EMPTY
from suricate.cpu.jit import kernel
from suricate.graph import Graph
from suricate.intake.arrays import on_host
from suricate.intake.name_table import NO_IDS, Prepared
from suricate.intake.name_values import NEXT_SLIDE, Values
from suricate.intake.names import Names
from suricate.io.sources.chunk_columns import Texts
from suricate.stream.all_ranks.divided_names import joined_states
from suricate.windows.events import Events
from suricate.windows.ring import Change

UNKNOWN, LISTED, UNSEEN = -1, -2, -3  #: in place of an id: no name; listed in this slide; not listed


@kernel
def cancel(pair, kind, head, before, lives, misses):
    """Find which insertions and sets of a slide are live at its end, and which deletions and sets found no older event.

    Arrays by event: ``pair`` (the number of its edge), ``kind`` (as in ``Events``); written: ``lives`` and ``misses``,
    1 for the events found, 0 for others. Scratch that the caller fills with -1: ``head`` by pair, ``before`` by event.
    """
    for i in range(len(pair)):
        newest = head[pair[i]]
        if kind[i] < 1:
            misses[i] = newest < 0
            while newest >= 0:
                lives[newest] = 0
                newest = before[newest]
                if kind[i] < 0:
                    break
        if kind[i] >= 0:
            lives[i], before[i] = 1, newest
            newest = i
        head[pair[i]] = newest


@kernel
def list_tokens(src, dst, lives, ids, listed):
    """Write each token of a slide's events once to ``listed``: first the tokens of live events, then the others.

    By event: ``src``, ``dst`` (tokens), ``lives`` (1: live). ``ids``, by token, changes from :data:`UNSEEN` to
    :data:`LISTED`. Returns the number of tokens of live events, and of all listed tokens.
    """
    counts = 0, 0
    for lists_live in (True, False):
        count = counts[1]
        for i in range(len(src)):
            if (lives[i] != 0) == lists_live:
                for token in (src[i], dst[i]):
                    if ids[token] == UNSEEN:
                        ids[token] = LISTED
                        listed[count] = token
                        count += 1
        counts = counts[1], count
    return counts


class VertexNames:
    """The names of a window's vertices, and the tokens of events that wait."""

    is_divided = False  #: whether each rank has a share of the names

    def __init__(self, names: Names, *, directed: bool) -> None:
        self.names, self._directed = names, directed
        self._tokens = _tokens(names.dtype)
        self._ids = np.full(1 << 10, UNSEEN, np.int64)  # by token, within a slide
        self._live = np.empty(0, np.int64)  # ids of the live events that came with the newest slide
        self.reserved = NO_IDS  #: ids of names that parameters of trackers have, held once more
        self._wanted: set[int] = set()  # those of this run
        self._change: Prepared | None = None  # of the names by the slide that closes, kept with that of the graph,
        self._entered: Events | None = None  # its events,
        self._reserved, self._fresh = NO_IDS, NO_IDS  # ids reserved after it, and those of them that it has to delete

    def tokens(self, column: Any) -> np.ndarray:
        """Return the tokens of a column of names, ``uint32[n]``, and raise the count of each by one per occurrence."""
        if isinstance(column, Texts):
            if self._tokens.dtype is None:
                self._tokens = _tokens("text")
            return self._tokens.intern_spans(column.data, column.spans, count=True)
        return self._tokens.add(column)

    def chunk(self, rows: int) -> AbstractContextManager[None]:
        """Return a context for the names of a chunk with so many ``rows``."""
        return nullcontext()

    @property
    def kind(self) -> str | None:
        """``"text"``, ``"int64"`` or ``"uint64"``; None before the first name."""
        return self._tokens.dtype or self.names.dtype

    def drop(self, events: Events) -> None:
        """Release the tokens of events that enter no slide."""
        self._tokens.release(np.concatenate((events.src, events.dst)))

    def shown(self, events: Events) -> tuple[list[Any], list[Any]]:
        """Return the names of the sources and of the destinations of events that hold tokens."""
        return self._tokens[events.src].tolist(), self._tokens[events.dst].tolist()

    def named(self, events: Events) -> tuple[Events, int, int]:
        """Replace the tokens of a closing slide's events by vertex ids; events at unknown names are left out.

        Returns:
            The events left; how many insertions and sets (new values) were left out, as later events removed them;
                how many deletions and sets that found no event were left out.
        """
        lives, misses = self._survivors(events)
        if self._tokens.num_ids > len(self._ids):
            self._ids = np.full(2 * self._tokens.num_ids, UNSEEN, np.int64)
        ids, listed = self._ids, np.empty(2 * events.number, np.uint32)
        count, number = list_tokens(events.src, events.dst, lives, ids, listed)
        others = listed[count:number]
        with self.names.exclusive():
            self._live, found = self._resolved(listed[:count], others, events, lives)
        ids[listed[:count]] = self._live
        if found is not None:
            ids[others] = np.where(found == EMPTY, UNKNOWN, found.astype(np.int64))
        src, dst = ids[events.src], ids[events.dst]
        ids[listed[:number]] = UNSEEN
        self._entered = events
        kept = events._replace(src=src.astype(np.uint32), dst=dst.astype(np.uint32))
        if found is None:
            return kept, 0, 0
        assert events.kind is not None
        known = (src >= 0) & (dst >= 0)
        cancelled, unmatched = np.count_nonzero(~known & (events.kind >= 0)), np.count_nonzero(misses[~known])
        return kept.taken(known), int(cancelled), int(unmatched)

    def _resolved(
        self, live: np.ndarray, others: np.ndarray, events: Events, lives: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the ids of the names of tokens: ``live``, of live events, and ``others``, None if there are none.

        New names of live events get one; those of others may be unknown.
        """
        found = self._given(live, events, lives)
        if not len(others):
            return found, None
        return found, self.names._ids_of(self._tokens.values_of(others), adds=False)

    def _given(self, tokens: np.ndarray, events: Events, lives: np.ndarray) -> np.ndarray:
        """Return the ids of the names of ``tokens``, all of live events, in order; new names get one."""
        return self._began().intern(self._tokens.values_of(tokens))

    def _survivors(self, events: Events) -> tuple[np.ndarray, np.ndarray]:
        """Return two ``uint8[n]``: which events are live at the slide's end; which deletions and sets found none."""
        if events.kind is None:
            return np.ones(events.number, np.uint8), np.zeros(events.number, np.uint8)
        first, second = events.src.astype(np.uint64), events.dst.astype(np.uint64)
        if not self._directed:
            first, second = np.minimum(first, second), np.maximum(first, second)
        pairs, pair = np.unique(first << np.uint64(32) | second, return_inverse=True)
        lives, misses = np.zeros((2, events.number), np.uint8)
        head, before = np.full(len(pairs), UNKNOWN), np.full(events.number, UNKNOWN)
        cancel(pair, events.kind, head, before, lives, misses)
        return lives, misses

    def _began(self) -> Prepared:
        """Begin the change of names by a slide, and return it."""
        self._change = self._prepared(slides=True)
        return self._change

    def _prepared(self, *, slides: bool = False) -> Prepared:
        """Return a change of the names, with which the next slide begins if ``slides``."""
        return Prepared(self.names, NEXT_SLIDE if slides else 0, slides=slides)

    def news(self) -> Values:
        """Return the names that get an id by the slide that :meth:`close_slide` closed last, in order of events."""
        with self.names.exclusive():
            assert self._change is not None
            self._change.ready()
            return self.names._values_of(self._live[self._change.added(self._live)])

    def follow(self, news: Values | None) -> None:
        """Begin the change of names by a slide that another process has found; ``news``: what it returned there."""
        with self.names.exclusive():
            change = self._began()
            if news is not None and len(news):
                change.intern(news)

    def close_slide(self, change: Change) -> np.ndarray:
        """Update the counts of names: up at both ends of new edges, down at gone ones; return ids that get free.

        That, and names that come and go, take effect with the change of the graph, in :meth:`closing`.
        """
        new, gone = ([on_host(part) for part in ends] for ends in (change.new, change.gone))
        up = np.concatenate([part if change.fresh is None else part[change.fresh] for part in new])
        assert self._change is not None
        with self.names.exclusive():
            free = self._change.recount(up, np.concatenate(gone), forgets=not self.names.keep)
        if self._entered is not None:
            self.drop(self._entered)
            self._tokens.next_slide()
            self._entered = None
        return free[:0] if self.names.keep else free

    @contextmanager
    def closing(self, graph: Graph) -> Iterator[Prepared]:
        """Make a context in which ``graph`` is changed by a slide: yields the change of names that goes with it."""
        with graph.exclusive(), self.names.exclusive():
            self._take_over()
            if self._change is None:
                self._change = self._prepared()
            self._change.ready()
            self._change.up, self._reserved, self._fresh = NO_IDS, self.reserved, NO_IDS
            yield self._change
            self._take_over()

    def _take_over(self) -> None:
        """Take over what was reserved with a change of the graph."""
        if self._change is not None and self._change.is_kept:
            self.reserved, self._change = self._reserved, None

    def reserve(self, values: Any) -> np.ndarray:
        """Return the ids of names and reserve them, even without live events; within :meth:`closing`."""
        assert self._change is not None
        ids = self._change.intern(values)
        new = np.setdiff1d(ids, self._reserved)
        self._fresh = np.concatenate((self._fresh, new[self._counts(new) == 0]))
        self._change.up = np.concatenate((self._change.up, new))
        self._reserved = np.concatenate((self._reserved, new))
        self._wanted.update(ids.tolist())
        return ids

    def idle(self) -> np.ndarray:
        """Return reserved ids without live events, whose vertices the graph has to delete; within :meth:`closing`."""
        if self.names.keep:
            return self._fresh
        assert self._change is not None
        if not len(self._reserved):
            return NO_IDS
        counts = self._counts(self._reserved) + np.isin(self._reserved, self._change.up)
        return self._reserved[counts == 1]

    def _counts(self, ids: np.ndarray) -> np.ndarray:
        """Return the counts of ids, those of a change that is made ahead included."""
        counts: np.ndarray = self.names._table.counts[ids]
        return counts

    def drop_unwanted(self) -> None:
        """After a restart: release reserved names that no tracker uses any more."""
        left = np.setdiff1d(self.reserved, [*self._wanted])
        self.names.release(left)
        self.reserved = np.setdiff1d(self.reserved, left)

    def save(self) -> dict[str, np.ndarray]:
        """Return what :meth:`load` needs, as arrays; of names that are divided those of this rank."""
        return {**prefixed("names.", self.names.state()), "reserved": self.reserved}

    def save_events(self, parts: Sequence[Events]) -> tuple[Sequence[Events], dict[str, np.ndarray]]:
        """Return events that wait, in several ``parts``, and the names of their tokens as arrays, for :meth:`adopt`."""
        return parts, prefixed("tokens.", self._tokens.state())

    def load(self, arrays: dict[str, np.ndarray], parts: Sequence[dict[str, np.ndarray]], *, divided: bool) -> None:
        """Restore names and reserved ids that :meth:`save` returned in ``arrays``; of tokens their kind only.

        ``parts``: if the names were ``divided``, what several ranks returned, ``arrays`` among them.
        """
        states = [state_in(each, "names.") for each in parts if "names.ids" in each] if divided else []
        self.reserved = arrays["reserved"]
        self.names = Names.restore(joined_states(self._of_all(states)) if divided else state_in(arrays, "names."))
        self._set_kind(Names.restore(state_in(arrays, "tokens.")).dtype)

    def _of_all(self, states: list[dict[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
        """Return the states of names that all ranks have read."""
        return states

    def _set_kind(self, kind: str | None) -> None:
        """Begin without tokens; names are of this kind."""
        self._tokens = _tokens(kind)

    def adopt(self, events: Events, tokens: dict[str, np.ndarray]) -> Events:
        """Return events that wait with tokens of this map in place of those by which they were saved."""
        saved = Names.restore(tokens)
        with self.chunk(events.number):
            src, dst = (self.tokens(saved.values_of(part)) for part in (events.src, events.dst))
        return events._replace(src=src, dst=dst)

    @property
    def num_ids(self) -> int:
        """The number of ids with the change by the slide that closes."""
        assert self._change is not None
        return self._change.num_ids

    @property
    def memory(self) -> int:
        """Bytes of the names of vertices, and of the names of events that wait."""
        return sum(sum(each.memory_usage().values()) for each in (self.names, self._tokens))


def _tokens(kind: str | None) -> Names:
    """Return a map for tokens, without names."""
    made = Names(kind)
    made.remembers = False
    return made


def vertex_names(
    names: Names | bool | None, *, directed: bool, kind: type[VertexNames] = VertexNames
) -> VertexNames | None:
    """Return the :class:`VertexNames` that the option ``names`` asks for; None if vertices have no names."""
    if names is None or names is False:
        return None
    if names is not True and not isinstance(names, Names):
        raise ParameterError(f"names must be True, a suricate.Names or None, got {shown(names)}")
    return kind(Names() if names is True else names, directed=directed)
