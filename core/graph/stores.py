"""The stores of one graph: both are changed, or neither. No other code knows how many there are when edges change."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from suricate.base.devices import Array
from suricate.base.types import NEW, REMOVED, REPLACED, Change, EdgeList
from suricate.graph.rollback import Action, delete_from, in_parts, insert_into
from suricate.intake.batches import DeviceBatch, HostBatch
from suricate.store import Store, checked_outcome

Steps = list[Callable[[], Any]]  #: what carries a change out that stores have prepared, one step for each store


class Stores:
    """Changes the stores of a graph, all of them or none.

    Args:
        stores: the store of out-edges (of both arcs of undirected edges), and that of in-edges if there is one.
        symmetric: whether batches contain both arcs of every edge.
    """

    def __init__(self, stores: tuple[Store, ...], *, symmetric: bool) -> None:
        self.all, self.symmetric = stores, symmetric
        self.out, self.into = stores[0], stores[1] if len(stores) > 1 else None
        self._applies = type(self.out).apply is not Store.apply

    def change(
        self, removed: EdgeList | None, added: EdgeList | None, guard: Array | None = None
    ) -> tuple[Change | None, Change | None]:
        """Delete ``removed``, then insert ``added``, valid edges on the stores' device; return both changes, or None.

        If a store fails, no store is changed.
        """
        out, into, symmetric = self.out, self.into, self.symmetric
        if removed is not None and added is not None and guard is None and not out.device.is_cuda:
            batches = HostBatch(removed), HostBatch(added)
            if steps := self.prepare(*batches):
                return self.carry_out_on_host(steps, *batches)
        if added is not None and (into is not None or removed is not None):
            for store, ends in zip(self.all, (added.src, added.dst), strict=False):
                store.plan(len(ends))
                store.reserve_for(ends)
        gone = new = None
        try:
            if removed is not None:
                outcome = out.delete(removed.src, removed.dst, guard=guard)
                gone = Change(removed, checked_outcome(out, outcome, len(removed.src), deletion=True), symmetric)
                if into is not None:
                    into.delete(removed.dst, removed.src, guard=guard)
            if added is not None:
                outcome = out.insert(*added, guard=guard)
                new = Change(added, checked_outcome(out, outcome, len(added.src)), symmetric)
                if into is not None:
                    into.insert(added.dst, added.src, added.weight, guard=guard)
        except BaseException as error:
            self.undo(gone, new, error)
            raise
        return gone, new

    # -- changes that stores carry out in their own way ----------------------------------------------------------------

    def prepare(self, removed: Any, added: Any) -> Steps | None:
        """Have all stores prepare a change (``Store.apply``) without making it.

        Each of ``removed`` and ``added`` is a ``DeviceBatch``, a ``HostBatch`` or None. Returns the functions that
        make the change, or None if a store declines.
        """
        if not self._applies:
            return None
        first = self.out.apply(removed, added)
        if first is None or self.into is None:
            return None if first is None else [first]
        second = self.into.apply(removed and removed.turned(), added and added.turned())
        return None if second is None else [first, second]

    def carry_out(self, steps: Steps, removed: DeviceBatch | None, added: DeviceBatch | None) -> None:
        """Call ``steps``, the result of :meth:`prepare`, which change all stores or, if one raises, none."""
        try:
            for step in steps:
                step()
        except BaseException as error:
            gone, new = (
                None if batch is None or not batch.done else batch.change() for batch in (removed, added)
            )  # fmt: skip
            self.undo(gone, new, error)
            raise

    def carry_out_on_host(
        self, steps: Steps, removed: HostBatch | None, added: HostBatch | None
    ) -> tuple[Change | None, Change | None]:
        """Call ``steps``, which :meth:`prepare` returned for these batches on the host, and return both changes.

        All stores are changed or, if one raises, none. Outcomes are NumPy arrays.
        """
        if added is not None and (self.into is not None or removed is not None):
            for store in self.all:
                store.reserve(added.size)
        try:
            for step in steps:
                step()
            return self._host_change(removed, deletion=True), self._host_change(added)
        except BaseException as error:
            gone, new = (
                None if batch is None or batch.outcome is None else Change(batch.arcs, batch.outcome, False)
                for batch in (removed, added)
            )
            self.undo(gone, new, error)
            raise

    def _host_change(self, batch: HostBatch | None, *, deletion: bool = False) -> Change | None:
        if batch is None:
            return None
        outcome = checked_outcome(self.out, batch.outcome, batch.size, deletion=deletion, on_host=True)
        return Change(batch.arcs, outcome, self.symmetric)

    # -- undoing -------------------------------------------------------------------------------------------------------

    def undo(self, gone: Change | None, new: Change | None, error: BaseException) -> None:
        """Undo the deletion ``gone`` and the insertion ``new`` in both stores; failures become notes of ``error``.

        Only the outcome of the store of out-edges is known. How far the other one came does not matter: to undo what a
        store does not hold has no effect.
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
        """Apply ``action`` in each store to edges of status ``wanted``, or to all; ``error`` gets failures as notes."""
        for store, arcs in zip(self.all, (edges, EdgeList(edges.dst, edges.src, edges.weight)), strict=False):
            try:
                in_parts(store, action, arcs, status, wanted)
            except Exception as second:
                error.add_note(f"undoing the change failed in a store as well: {second!r}")
