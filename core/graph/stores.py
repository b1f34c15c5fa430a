"""The stores of one graph: both are changed, or neither."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from suricate.base.devices import Array
from suricate.base.types import NEW, REMOVED, REPLACED, Change, EdgeList
from suricate.graph.rollback import Action, delete_from, in_parts, insert_into
from suricate.store import Store, checked_outcome

if TYPE_CHECKING:
    from suricate.cuda.batch_memory import LazyChange


class Stores:
    """Changes the stores of a graph.

    Args:
        stores: the store of out-edges (of both arcs of undirected edges), and that of in-edges if there is one.
        symmetric: whether batches hold both arcs of every edge.
    """

    def __init__(self, stores: tuple[Store, ...], *, symmetric: bool) -> None:
        self.all, self.symmetric = stores, symmetric
        self.out, self.into = stores[0], stores[1] if len(stores) > 1 else None

    def change(
        self, removed: EdgeList | None, added: EdgeList | None, guard: Array | None, *, stays: bool
    ) -> tuple[Change | None, Change | None]:
        """Delete, then insert, in all stores; all of it or nothing."""
        out, into, symmetric = self.out, self.into, self.symmetric
        if removed is not None and added is not None and (changed := self._at_once(removed, added, guard)):
            return changed
        if added is not None and (into is not None or removed is not None):
            for store in self.all:
                store.reserve(len(added.src))
        gone = new = None
        try:
            if removed is not None:
                outcome = out.delete(removed.src, removed.dst, guard=guard)
                gone = Change(
                    removed, checked_outcome(out, outcome, len(removed.src), deletion=True, on_host=stays), symmetric
                )
                if into is not None:
                    into.delete(removed.dst, removed.src, guard=guard)
            if added is not None:
                outcome = out.insert(*added, guard=guard)
                new = Change(added, checked_outcome(out, outcome, len(added.src), on_host=stays), symmetric)
                if into is not None:
                    into.insert(added.dst, added.src, added.weight, guard=guard)
        except BaseException as error:
            self.undo(gone, new, error)
            raise
        return gone, new

    def _at_once(self, removed: EdgeList, added: EdgeList, guard: Array | None) -> tuple[Change, Change] | None:
        """Do both halves of a batch at once, in all stores or none; None if the store of out-edges declines."""
        out, into, symmetric = self.out, self.into, self.symmetric
        if not out.changes_at_once():
            return None
        if into is not None:
            for store in self.all:
                store.reserve(len(added.src))
        if (outcomes := out.change(removed, added, guard=guard)) is None:
            return None
        gone = Change(removed, checked_outcome(out, outcomes[0], len(removed.src), deletion=True), symmetric)
        new = Change(added, checked_outcome(out, outcomes[1], len(added.src)), symmetric)
        try:
            turned = [EdgeList(part.dst, part.src, part.weight) for part in (removed, added)]
            if into is not None and into.change(*turned, guard=guard) is None:
                into.delete(removed.dst, removed.src, guard=guard)
                into.insert(*turned[1], guard=guard)
        except BaseException as error:
            self.undo(gone, new, error)
            raise
        return gone, new

    def run(
        self, delete: Callable[[], LazyChange], insert: Callable[[], LazyChange], failed: Callable[[], None]
    ) -> tuple[LazyChange, LazyChange]:
        """Run the two steps of ``Store.halves``; both or none is done. ``failed`` is called if memory runs out."""
        gone = None
        try:
            gone = delete()
            return gone, insert()
        except BaseException as error:
            self.undo(None if gone is None else gone(), None, error)
            if isinstance(error, MemoryError):
                failed()
            raise

    def undo(self, gone: Change | None, new: Change | None, error: BaseException) -> None:
        """Take back what was done in either store before one failed.

        Only the outcome of the store of out-edges is known. Each step leaves a store that does not hold the change as
        it is, so that all steps are safe for the other store, however far that came.
        """
        traceback.clear_frames(error.__traceback__)  # undoing may need the memory that the failed call still holds
        if new is not None:
            (edges, (status, old), _) = new
            self.in_each(error, delete_from, edges, status, NEW)
            if old is not None:
                self.in_each(error, insert_into, edges._replace(weight=old), status, REPLACED)
        if gone is not None:
            (edges, (status, old), _) = gone
            self.in_each(error, insert_into, edges._replace(weight=old), status, REMOVED)

    def in_each(
        self, error: BaseException, action: Action, edges: EdgeList, status: Array | None = None, wanted: int = 0
    ) -> None:
        """Do ``action`` in each store with the edges whose status is ``wanted``, or all; note failures on ``error``."""
        for store, arcs in zip(self.all, (edges, EdgeList(edges.dst, edges.src, edges.weight)), strict=False):
            try:
                in_parts(store, action, arcs, status, wanted)
            except Exception as second:
                error.add_note(f"undoing the change failed in a store as well: {second!r}")
