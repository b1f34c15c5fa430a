"""The stores of one graph: all are changed or none is. Code that changes edges need not know how many there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from suricate.base.devices import Array
from suricate.base.errors import ParameterError
from suricate.base.parameters import shown
from suricate.base.types import NEW, REMOVED, REPLACED, Change, EdgeList
from suricate.comm.protocol import Comm, SelfComm
from suricate.graph.rollback import Action, beyond_limit, delete_from, in_parts, insert_into, memory_to_undo
from suricate.intake.batches import DeviceBatch, HostBatch
from suricate.store import Store, checked_outcome, prepared_resize

Steps = list[Callable[[], Any]]  #: what carries a change out that stores have prepared, one step for each store


def _bytes_in(prepared: Any) -> int:
    """Return the bytes of the arrays in a prepared change, the arguments of a ``partial``."""
    if isinstance(prepared, partial):
        prepared = prepared.args
    if isinstance(prepared, Mapping):
        prepared = tuple(prepared.values())
    return sum(map(_bytes_in, prepared)) if isinstance(prepared, tuple) else getattr(prepared, "nbytes", 0)


class Stores:
    """Changes the stores of a graph, all or none; ``symmetric``: batches contain both arcs of every edge."""

    def __init__(self, stores: tuple[Store, ...], *, symmetric: bool) -> None:
        self.all, self.symmetric = stores, symmetric
        self.out, self.into = stores[0], stores[1] if len(stores) > 1 else None
        self.coming = 0  #: bytes that :meth:`resize` has allocated, and that are in no store yet
        self._applies = type(self.out).apply is not Store.apply

    def change(
        self, removed: EdgeList | None, added: EdgeList | None, guard: Array | None = None
    ) -> tuple[Change | None, Change | None]:
        """Delete ``removed``, then insert ``added`` (or None), valid edges on the stores' device.

        Returns the deletion and the insertion with their outcomes, None for None. If a store fails, no store is
        changed. ``guard``: ``uint32[1]`` on the device; if it is not zero, kernels change nothing. None: no guard.
        """
        out, into, symmetric = self.out, self.into, self.symmetric
        if removed is not None and added is not None and guard is None and not out.device.is_cuda:
            batches = HostBatch(removed), HostBatch(added)
            if steps := self.prepare(*batches):
                return self.carry_out_on_host(steps, *batches)
        if added is not None and (into is not None or removed is not None):
            for store, ends in zip(self.all, (added.src, added.dst), strict=False):
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

    def resize(self, num_vertices: int) -> None:
        """Change the number of vertices of all stores, or of none."""
        before, steps = self.out.num_vertices, list[Callable[[], None]]()
        try:
            for store in self.all:
                steps.append(prepared_resize(store, num_vertices))
                self.coming += _bytes_in(steps[-1])
        finally:
            self.coming = 0
        try:
            for step in steps:
                step()
        except BaseException as error:  # of a backend that does not prepare it
            for store in self.all:
                try:
                    if store.num_vertices != before:
                        with beyond_limit(store):
                            store.resize(before)
                except Exception as second:
                    error.add_note(f"undoing the change failed in a store as well: {second!r}")
            raise

    # -- changes that stores carry out in their own way ----------------------------------------------------------------

    def prepare(self, removed: Any, added: Any) -> Steps | None:
        """Return one function per store that makes a change; None if a store declines (``Store.apply``)."""
        if not self._applies:
            return None
        first = self.out.apply(removed, added)
        if first is None or self.into is None:
            return None if first is None else [first]
        second = self.into.apply(removed and removed.turned(), added and added.turned())
        return None if second is None else [first, second]

    def carry_out(self, steps: Steps, removed: DeviceBatch | None, added: DeviceBatch | None) -> None:
        """Apply a batch on the device by the ``steps`` of :meth:`prepare`; if one raises, no store is changed."""
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
        """Apply a batch on the host by ``steps`` of :meth:`prepare`, all or none; return the outcomes."""
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
        """Undo the deletion ``gone`` and the insertion ``new`` in all stores; failures become notes of ``error``.

        ``gone`` and ``new`` have the outcome of the store of out-edges. All of it is undone in the store of in-edges,
        too, even if that has changed only some of these edges: to undo what a store has not done has no effect.
        """
        with memory_to_undo(error):
            self._undo(gone, new, error)

    def _undo(self, gone: Change | None, new: Change | None, error: BaseException) -> None:
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
        """Call ``action(store, edges)`` in each direction for edges of status ``wanted``; add notes to ``error``."""
        for store, arcs in zip(self.all, (edges, EdgeList(edges.dst, edges.src, edges.weight)), strict=False):
            try:
                in_parts(store, action, arcs, status, wanted)
            except Exception as second:
                error.add_note(f"undoing the change failed in a store as well: {second!r}")


class Division(Protocol):
    """What a graph asks of what divides it: its communication, the stores, operators, batches and copies."""

    comm: Comm
    memory_limit: int | None
    stores: tuple[Store, ...]

    def __getattr__(self, name: str) -> Any: ...


#: what divides graphs: called with graph, comm, options, a function that makes the stores, hints, and count of vertices
DIVIDERS: list[Callable[..., Any]] = []


def demand_comm(comm: Any) -> None:
    """Raise ``ParameterError`` unless ``comm`` is a ``Comm`` or None."""
    if not (comm is None or isinstance(comm, Comm)):
        raise ParameterError(f"comm must be a Comm, which connect() or run() gives, got {shown(comm)}")


def divided(
    graph: Any, comm: Comm | None, options: Any, make: Callable[..., tuple[Store, ...]], hints: Any, count: int
) -> tuple[tuple[Store, ...], Division | None]:
    """Return the stores of a new ``graph``, made by ``make(count, hints)``, and its partition; None for one process."""
    if comm is None or isinstance(comm, SelfComm):
        return make(*hints), None
    division = DIVIDERS[-1](graph, comm, options, make, hints, count)
    return division.stores, division
