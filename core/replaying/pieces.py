"""Pieces of events, each applied by one call of a compiled loop, if algorithm and store offer its functions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.types import EdgeList
from suricate.graph.interrupts import Uninterrupted
from suricate.graph.tracker import advance_all
from suricate.kernels.walking import loops_over, without_weights
from suricate.plugins.step import Step, Walked
from suricate.replaying.answers import Answers, DegreeResult, Work
from suricate.replaying.given_events import Events
from suricate.replaying.net import net_delta
from suricate.replaying.report import ADDED, FULL, INSERT, MOST, MOST_AT, REFUSED, TAKEN, WHY, Piece, Stores
from suricate.store import Store

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.tracker import Kept

PIECE = 1 << 16  #: events of a piece: the graph's lock and interrupts are served between two of them
VALUES = 1 << 22  #: values that a piece writes at most, where there are many vertices to answer at
DEGREES = Path(__file__).with_name("degree_loops.py")
NO_IDS, NO_WEIGHTS = np.empty(0, np.int64), np.empty(0, np.uint8)

COMES_BACK = "the event brings a deleted vertex back"
NEW_NAME = "the event adds a name"
NO_SINGLE = "backend {} has no single edges"
SHORT = "memory is short"
COLUMNS = "the edges have columns"
PARTED = "the graph is divided among processes"


class Prepared(NamedTuple):
    """The compiled ``loop`` and arguments of its ``run`` that depend on stores; valid until these get other arrays."""

    loop: Any
    graph: Walked
    stores: Stores
    unit: Any  #: the dtype of weights as the stores take them


class Pieces:
    """Applies events by compiled loops, a piece at a time, and writes the answer after each event to ``answers``."""

    def __init__(self, graph: Graph, events: Events, answers: Answers, work: Work) -> None:
        self.graph, self.events, self.answers, self.work = graph, events, answers, work
        width = 0 if answers.at is None else len(answers.at)
        self._size = min(PIECE, max(1, VALUES // max(1, width)))

    def run(self) -> str:
        """Apply the events of the next piece; return why the next event must be a single call, or ""."""
        graph, begin = self.graph, self.work.done
        with Uninterrupted(), graph.exclusive():
            end = min(begin + self._size, len(self.events))
            step = self._step()
            if isinstance(step, str):
                return step
            known = self.events.known_until(begin, end, graph.names, graph.num_vertices)
            end = self._live_until(begin, known)
            if end == begin:
                return NEW_NAME if known == begin else COMES_BACK
            return _Piece(self, step, begin, end).run()

    @property
    def kept(self) -> Kept | None:
        """The shared instance of the tracked algorithm; None if degrees are replayed."""
        tracker = self.answers.tracker
        return None if tracker is None else tracker._kept

    def _step(self) -> Step | str:
        """Bring the result up to date; return the algorithm's step per event, or why no compiled loop is possible."""
        store = self.graph.store()
        if self.graph.edge_table is not None or self.graph.partition is not None:
            return PARTED if self.graph.edge_table is None else COLUMNS
        if type(store).single is Store.single:
            return NO_SINGLE.format(store.name)
        kept = self.kept
        if kept is None:
            out = self.graph.store().view()
            return Step(
                loops_over(out, DEGREES), NO_IDS, lambda *shape: (np.empty(shape, np.uint32),),
                lambda recorded: DegreeResult(*recorded), weighted=False,
            )  # fmt: skip
        if kept.stale:
            kept.compute()
        return kept.algorithm.event_step(self.graph)

    def _live_until(self, begin: int, end: int) -> int:
        """Return the first event in ``begin`` to ``end`` (exclusive) that revives a deleted vertex, else ``end``."""
        live = self.graph._updater.live
        if not live.most_deleted:
            return end
        mask, events = live.arrays().mask, self.events
        part = slice(begin, end)
        comes_back = (events.kind[part] == INSERT) & ~(mask[events.src[part]] & mask[events.dst[part]])
        return begin + int(comes_back.argmax()) if comes_back.any() else end


class _Piece:
    """One piece: the events from ``begin`` to ``end`` (exclusive), applied under the lock of the graph."""

    def __init__(self, pieces: Pieces, step: Step, begin: int, end: int) -> None:
        self.pieces, self.step = pieces, step
        self.graph, self.events, self.answers = pieces.graph, pieces.events, pieces.answers
        self.begin, self.size, self.report = begin, end - begin, np.zeros(TAKEN + 1, np.int64)
        self.reads_weights = step.weighted and self.graph.weight_dtype is not None

    def run(self) -> str:
        """Apply the events; return why the next one must be a single call, or ""."""
        made, kept = 0, self.pieces.kept
        with self.graph._updater.whole():
            prepared = self._prepared(made)
            if isinstance(prepared, str):
                return prepared
            arrays = self._arrays(prepared.unit)
            if kept is not None:
                kept.distrust()
            walked = arrays if self.reads_weights else arrays._replace(weight=NO_WEIGHTS, old=NO_WEIGHTS)
            try:
                while True:
                    given = prepared.stores, prepared.graph, self.step.state, walked
                    reached: int = prepared.loop.run(*given, made, self.size, self.report)
                    moved, made = reached > made, reached
                    if self.report[WHY] != FULL or not moved:
                        return {FULL: SHORT, REFUSED: self.step.refusal}.get(int(self.report[WHY]), "")
                    self._end_singles()
                    again = self._prepared(made)
                    assert not isinstance(again, str)
                    prepared = again
            finally:
                self._finish(arrays, made)

    def _arrays(self, unit: Any) -> Piece:
        """Return the events of the piece, and new arrays for what the loop writes."""
        part, size, dtype = slice(self.begin, self.begin + self.size), self.size, self.graph.weight_dtype
        events, at, changed = self.events, self.answers.at, self.answers.changed
        old = np.empty(0 if dtype is None else size, dtype or np.uint8)
        weight = old if events.weight is None else events.weight[part]
        units, before, discarded = (
            each.view(unit) if len(old) else np.empty(0, unit) for each in (weight, old, np.empty_like(old))
        )
        recorded = self.step.recorded(*(0, 0) if at is None else (size, len(at)))
        return Piece(
            events.src[part], events.dst[part], events.kind[part], weight, old, units, before, discarded,
            np.zeros(size, np.uint8), at is not None, NO_IDS if at is None else at, recorded,
            NO_IDS if changed is None else changed[part],
        )  # fmt: skip

    def _prepared(self, made: int) -> Prepared | str:
        """Reserve memory for all events of the piece but the first ``made``, which have been applied."""
        from suricate.replaying.event_loops import loop_over

        graph, stores = self.graph, self.graph._stores
        graph._drop_views()
        rest = slice(self.begin + made, self.begin + self.size)
        count = int((self.events.kind[rest] == INSERT).sum()) << (not graph.directed)
        ample = count + 2  # the loop asks for the most that an event may need
        singles = [single for store in stores if (single := store.single(ample))]
        if len(singles) < len(stores):
            return NO_SINGLE.format(stores[0].name)
        walks = [view.data if self.reads_weights else without_weights(view) for view in (s.view() for s in stores)]
        loop = loop_over(singles[0].module, self.step.module.__name__, self.reads_weights)
        given = Stores(singles[0].arrays, singles[-1].arrays, len(singles) > 1, not graph.directed)
        walked = Walked(walks[0], walks[-1], graph.has_in_edges, not graph.directed)
        return Prepared(loop, walked, given, singles[0].unit)

    def _end_singles(self) -> None:
        """Report to the stores how many edges the loop has inserted and deleted since the last report."""
        added, taken = (int(count) for count in self.report[ADDED : TAKEN + 1])
        arcs = not self.graph.directed
        for store in self.graph._stores:
            store.end_single(added << arcs, taken << arcs)
        self.graph._updater._added += added << arcs
        self.report[ADDED : TAKEN + 1] = 0

    def _finish(self, arrays: Piece, made: int) -> None:
        """End the piece after ``made`` events: write their answers, and give the net delta to the other trackers."""
        self._end_singles()
        graph, updater, kept, work = self.graph, self.graph._updater, self.pieces.kept, self.pieces.work
        before = updater.version
        graph._drop_views()
        done, kind = slice(0, made), arrays.kind[:made]
        weight = None if graph.weight_dtype is None else arrays.weight[done]
        edges = EdgeList(arrays.src[done], arrays.dst[done], weight)
        if not graph.directed and not updater._had_loops:
            updater._had_loops = bool(((edges.src == edges.dst) & (kind == INSERT)).any())
        updater.version += made > 0
        if kept is not None:
            kept.followed(made > 0)
        if not made:
            return
        if self.answers.at is not None:
            self.answers.put_many(self.begin, self.step.answer(tuple(part[done] for part in arrays.recorded)))
        work.done, work.compiled = work.done + made, work.compiled + made
        if self.report[MOST] > work.most_work:
            work.most_work, work.most_work_at = int(self.report[MOST]), self.begin + int(self.report[MOST_AT])
        if any(other is not kept and other.trackers for other in graph._kept.values()):
            advance_all(graph._kept, net_delta(graph, edges, kind, arrays.status[done], arrays.old), before)
