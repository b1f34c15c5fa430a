"""Changing a graph's stores: validate a batch, apply it to one store or two, and report what changed.

A batch is applied as a whole or not at all. What can be validated on the host is validated before anything changes; a
batch on a CUDA device is validated there, in the stream (``suricate.intake.ingest``), and the kernels that change the
store do nothing if it is invalid. If a store fails, whatever the exception, what was done so far is undone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any

import numpy as np

from suricate.base.devices import Array, any_true
from suricate.base.errors import SuricateError, VertexRangeError
from suricate.base.types import MAX_VERTICES, Change, EdgeList, ValidEdges
from suricate.graph.delta import DeletedEdges, Delta, uploaded
from suricate.graph.interrupts import Uninterrupted
from suricate.graph.liveness import LiveVertices
from suricate.graph.options import GraphOptions
from suricate.graph.rollback import beyond_limit, insert_into, memory_to_undo
from suricate.graph.stores import Stores
from suricate.graph.vertices import Forgetting, Incident, incident_arcs, incident_edges, kept_with, member
from suricate.intake.arrays import (
    ARGUMENTS,
    PARTS,
    as_ids,
    as_weights,
    both_arcs,
    checked_edges,
    checked_ids,
    few_valid,
    joined,
    on_host,
    picked,
    same_length,
    sorted_distinct,
)
from suricate.intake.batches import DeviceBatch, HostBatch, fits_one_transfer, lies_on_host
from suricate.intake.ingest import Ingest
from suricate.state.locks import Lock
from suricate.store import Store

Given = tuple[Any, Any, Any]  # src, dst, weight of a batch, as the caller gave them


class Updater:
    """Applies batches to the stores of one graph, and answers questions about edges that come in batches.

    Args:
        stores: the store of out-edges (of both arcs of undirected edges), and that of in-edges if there is one.
        options: the options of the graph. ingest: validates device batches; None on the CPU.
        lock: held by the caller of every method here; a delta takes it when it is read.

    Attributes:
        num_vertices: number of vertices of the graph. live: which of them are live.
        version: grows by one with every call that may have changed the graph.

    In methods ``delete`` and ``insert`` are edges to be checked, ``removed`` and ``added`` valid ones; None: no edges.
    ``batches``: the deletion, then the insertion, or None. ``part``: an index of ``PARTS``, what messages call a batch.
    """

    def __init__(
        self,
        stores: tuple[Store, ...],
        options: GraphOptions,
        ingest: Ingest | None = None,
        lock: Lock | None = None,
    ) -> None:
        self.stores, self.options, self.ingest = stores, options, ingest
        self.out, self.into = stores[0], stores[1] if len(stores) > 1 else None
        self.device, self.num_vertices, self.version = self.out.device, self.out.num_vertices, 0
        self.live = LiveVertices(self.device, self.num_vertices)
        self.lock, self.changing = lock, Uninterrupted()
        self._eager = options.checks == "eager"
        self._symmetric = not options.directed
        self._all = Stores(stores, symmetric=self._symmetric)
        self._inserts_few = options.self_loops == "allow"  # see _few()
        self._had_loops = False  # whether a batch held a self-loop
        self._loops: tuple[int, int] = (-1, 0)  # version, number of self-loops then
        self.growths = 0  #: versions that :meth:`insert_vertices` made
        self._counted, self._added = 0, 0  # arcs at the last count, and those given to insertions since

    def inherit(self, version: int, deleted: np.ndarray, had_loops: bool) -> None:
        """Take over version, deleted ids (ascending) and :attr:`had_loops` of the graph that this one copies."""
        self.version, self._had_loops = version, had_loops
        self.live.inherit(deleted)
        self._counted, self._added = self.out.num_edges, 0

    def whole(self, *, live: bool = False) -> AbstractContextManager[Any]:
        """Return a context that delays Ctrl-C until a change is complete; on CUDA only if the ``live`` set changes."""
        return self.changing if live or not self.device.is_cuda else nullcontext()

    # -- batches of edges ----------------------------------------------------------------------------------------------

    def apply(self, delete: Given | None, insert: Given | None, parts: tuple[int, int] = (0, 0)) -> Delta:
        """Delete edges, then insert edges.

        Args:
            delete: ``(src, dst, None)`` as the caller gave them, or None.
            insert: ``(src, dst, weight)`` as the caller gave them, or None.
            parts: ``part`` of the deletion and of the insertion.

        Raises:
            VertexRangeError, DTypeError, ShapeError, WeightError, SelfLoopError, DeviceError: the batch is invalid.
            CapacityError: there is not enough memory. After this or any other error nothing has changed.
        """
        if self.ingest is not None:
            return self._apply_on_device(self.ingest, delete, insert, parts)
        few = self._few(delete, insert)
        removed, added = few or (
            None if delete is None else self._validated(delete, parts[0]),
            None if insert is None else self._validated(insert, parts[1], inserting=True),
        )
        return self._delta() if removed is None and added is None else self._change(removed, added)

    def _few(self, delete: Given | None, insert: Given | None) -> tuple[EdgeList | None, EdgeList | None] | None:
        """Return both halves of a batch on the CPU if they are known to be valid, or if a compiled loop finds them so.

        It takes small batches, of which it returns copies; else None.
        """
        if not self._inserts_few if insert is not None else delete is None:
            return None
        removed: Any = delete
        added: Any = insert
        dtype = self.options.stored_dtype
        if delete is not None and not (type(delete) is ValidEdges and len(delete.src)):
            removed = few_valid(delete, self.num_vertices)
        if insert is not None and not (type(insert) is ValidEdges and dtype is None and len(insert.src)):
            added = few_valid(insert, self.num_vertices, dtype)
        if (removed is None and delete is not None) or (added is None and insert is not None):
            return None
        if self._symmetric:
            self._had_loops = self._had_loops or (added is not None and True in (added.src == added.dst))
            removed = None if removed is None else both_arcs(np, removed)
            added = None if added is None else both_arcs(np, added)
        return removed, added

    def _change(
        self, removed: EdgeList | None, added: EdgeList | None, guard: Array | None = None,
        carry_out: Callable[[], tuple[Change | None, Change | None]] | None = None,
    ) -> Delta:  # fmt: skip
        """Apply valid edges; return the delta. ``carry_out`` applies host edges on CUDA, None: ``Stores.change``."""
        gone: Change | Callable[[], Change] | None
        new: Change | Callable[[], Change] | None
        revival = None
        if added is not None and self.live.most_deleted:
            revival = self.live.revival(added.src, added.dst)
        with self.changing if self.ingest is None or revival is not None else nullcontext():
            try:
                gone, new = self._all.change(removed, added, guard) if carry_out is None else carry_out()
            except MemoryError:
                self.raise_pending()  # if the batch is invalid as well, say that
                raise
            revived = None if revival is None else self.live.revive(revival, added, guard)
            try:
                if guard is not None and self._eager:
                    self.raise_pending()
            except KeyboardInterrupt:
                self.version += 1
                raise
            self.version += 1
            self._added += 0 if added is None else len(added.src)
        if carry_out is not None:
            gone, new = gone and partial(uploaded, self.device, gone), new and partial(uploaded, self.device, new)
        return self._delta(removed=gone, added=new, revived_vertices=revived)

    # -- batches of edges on CUDA --------------------------------------------------------------------------------------

    def _apply_on_device(
        self, ingest: Ingest, delete: Given | None, insert: Given | None, parts: tuple[int, int]
    ) -> Delta:
        if delete is None and insert is None:
            return self._delta()
        ingest.begin(self.num_vertices, self.version, self._eager)
        batches, paired = None, self.into is not None
        if insert is None or self.options.self_loops != "drop":
            batches = ingest.batches(delete, insert, parts, paired=paired)
        if batches is None:
            delete, insert = self._prepared(ingest, delete, insert, parts)
            if delete is None and insert is None:
                return self._delta()
            if all(part is None or lies_on_host(part) for part in (delete, insert)):
                delta = self._applied_on_host(delete, insert)
                if delta is not None:
                    return delta
            delete, insert = (ingest.upload(EdgeList(*part)) if part is not None and lies_on_host(part) else part
                              for part in (delete, insert))  # fmt: skip
            batches = ingest.batches(delete, insert, parts, paired=paired)
            assert batches is not None
        valid = self.options.self_loops != "error" and {type(delete), type(insert)} <= {ValidEdges, type(None)}
        return self._launched(ingest, [*batches], insert, valid=valid)

    def _prepared(
        self, ingest: Ingest, delete: Given | None, insert: Given | None, parts: tuple[int, int]
    ) -> tuple[Given | None, Given | None]:
        """Return both halves of a batch as arrays, host arrays validated; None in place of a half without edges."""
        removed = None if delete is None else self._arrays(delete, parts[0])
        if removed is not None and lies_on_host(removed):
            removed = self._checked(removed, parts[0])
        try:
            added = None if insert is None else self._arrays(insert, parts[1], inserting=True)
            if added is not None and lies_on_host(added):
                added = self._checked(added, parts[1], inserting=True)
            elif added is not None and self.options.self_loops == "drop":
                added = ingest.without_loops(added, parts[1])
        except (SuricateError, MemoryError):
            if removed is not None and not lies_on_host(removed):  # it may be invalid as well
                batch = ingest.batches(removed, None, parts, paired=False)
                assert batch is not None
                assert batch[0] is not None
                batch[0].check()
                ingest.raise_pending()
            raise
        return removed, added

    def _applied_on_host(self, removed: Any, added: Any) -> Delta | None:
        """Apply valid host edges as host batches; if a store declines, call :meth:`_applied_uploaded` instead."""
        batches = [None if part is None else HostBatch(part, symmetric=self._symmetric) for part in (removed, added)]
        if (steps := self._all.prepare(*batches)) is None:
            return self._applied_uploaded(removed, added)
        gone, new = (None if batch is None else batch.arcs for batch in batches)
        return self._change(gone, new, carry_out=partial(self._all.carry_out_on_host, steps, *batches))

    def _applied_uploaded(self, removed: EdgeList | None, added: EdgeList | None) -> Delta | None:
        """Upload and apply valid host edges, a large batch of one half; for any other batch only return None."""
        only = removed if added is None else added
        if only is None or (removed is not None and added is not None) or fits_one_transfer(only):
            return None
        assert self.ingest is not None
        edges = self.ingest.upload(only)
        if self._symmetric:
            edges = both_arcs(self.device.xp, edges)
        return self._change(edges, None) if added is None else self._change(None, edges)

    def _launched(self, ingest: Ingest, batches: list[DeviceBatch | None], insert: Any, *, valid: bool) -> Delta:
        """Launch kernels that validate and apply ``batches``; return the delta. ``valid``: no edge can be invalid."""
        try:
            steps = self._all.prepare(*batches)
        except MemoryError:  # steps need less memory, and report an invalid batch before running out
            steps = None
        if steps is None:
            return self._applied_in_steps(ingest, batches)
        revival = revived = None
        removed, added = batches
        if insert is not None and self.live.most_deleted:
            revival = self.live.revival(*insert[:2])
        try:
            if revival is None:
                self._all.carry_out(steps, removed, added)
            else:
                with self.whole(live=True):
                    self._all.carry_out(steps, removed, added)
                    assert added is not None
                    revived = self.live.revive(revival, added.change, ingest.guard)
            if self._eager:
                ingest.allocate_next()
            self._added += 0 if added is None else added.size
            delta = self._delta(
                removed=removed and removed.change, added=added and added.change, revived_vertices=revived
            )
            if self._eager:
                ingest.raise_pending(fused=True, valid=valid)
            self.version += 1
        except KeyboardInterrupt:
            self.version += 1  # the batch may have been launched; the end of a wait does not end it
            raise
        except MemoryError:
            self.raise_pending()  # if the batch is invalid as well, say that
            raise
        return delta

    def _applied_in_steps(self, ingest: Ingest, batches: list[DeviceBatch | None]) -> Delta:
        """Validate by separate launches, then delete and insert edges; empties the list ``batches`` to free memory."""
        unchecked = [None if batch is None else batch.unchecked for batch in batches]
        edges = [None if batch is None or batch.unchecked else batch.edges() for batch in batches]
        batches.clear()
        for place in (1, 0):
            if (batch := unchecked[place]) is not None:
                edges[place] = ingest.copied(batch)
        guard = ingest.guard if self.out.guarded else None
        if guard is None:
            ingest.raise_pending()
        return self._change(edges[0], edges[1], guard)

    # -- queries -------------------------------------------------------------------------------------------------------

    def find(self, src: Any, dst: Any) -> tuple[Array, Array | None]:
        """Return ``(found, weight)`` of edges: ``bool[n]``, and weights (unspecified where not found) or None."""
        ingest, edges, query = self.ingest, (src, dst, None), None
        if ingest is not None:
            ingest.begin(self.num_vertices, self.version)
            query = ingest.query(src, dst)
        if query is None:
            arrays = self._arrays(edges, 0)
            if arrays is None:
                empty, dtype = self.device.xp.empty, self.options.stored_dtype
                return empty(0, bool), None if dtype is None else empty(0, dtype)
            if lies_on_host(arrays):
                batch = self._checked(arrays, 0)
                assert batch is not None
                if ingest is None:
                    return self.out.find(batch.src, batch.dst)
                if (mirrored := self.out.query(batch)) is not None:
                    asarray, (found, weight) = self.device.xp.asarray, mirrored
                    return asarray(found), None if weight is None else asarray(weight)
                arrays = ingest.upload(batch)
            assert ingest is not None
            query = ingest.query(*arrays[:2])
        assert ingest is not None
        assert query is not None
        answer = self.out.query(query)
        if answer is None:
            copies = ingest.copied(query)
            answer = self.out.find(copies.src, copies.dst)
        if self._eager:
            ingest.raise_pending()
        return answer

    def raise_pending(self) -> None:
        """Wait for the device and raise the first error of a deferred check of a batch, if there is one."""
        if self.ingest is not None:
            self.ingest.raise_pending()

    def raise_found(self) -> None:
        """Wait; raise the first error of a deferred check of a batch, else of ids for operators, if there is one."""
        if self.ingest is not None:
            self.ingest.raise_pending()
            self.ingest.ids.raise_pending()
            self.live.refresh()

    def count_edges(self) -> int:
        """Return the number of edges, an undirected one once; waits for the device."""
        arcs = self.count_arcs()
        return (arcs + self._count_loops()) // 2 if self._symmetric else arcs

    def count_arcs(self) -> int:
        """Return the number of arcs in the store of out-edges; waits for the device."""
        self._counted, self._added = self.out.num_edges, 0
        return self._counted

    def most_arcs(self) -> int:
        """Return an upper bound of the number of arcs (an undirected edge is two), without a wait for a device."""
        if not self.device.is_cuda and self._added > self._counted // 8:
            self.count_arcs()
        return self._counted + self._added

    @property
    def had_loops(self) -> bool:
        """Whether any batch may have inserted self-loops; valid for undirected graphs only."""
        if self.ingest is not None and not self._had_loops:
            self.ingest.refresh()
            self._had_loops = self.ingest.has_loops
        return self._had_loops

    def _count_loops(self) -> int:
        if not self.had_loops:
            return 0
        if self._loops[0] != self.version:
            self._loops = self.version, self.out.num_loops()
        return self._loops[1]

    # -- vertices ------------------------------------------------------------------------------------------------------

    def insert_vertices(self, count: int, recycle: bool, forgetting: Forgetting) -> tuple[Array, Delta]:
        """Add vertices, with ``recycle`` the lowest deleted ids first; return ids (``uint32``) and delta, or raise."""
        xp, recycle = self.device.xp, recycle and self.live.most_deleted > 0
        if recycle:
            self.raise_pending()
        edit = self.live.recycling(count) if recycle else None
        revived = xp.empty(0, np.uint32) if edit is None else edit.at.astype(np.uint32)
        names = None if edit is None else forgetting(self.device.to_numpy(revived))
        before, after = self.num_vertices, self.num_vertices + count - len(revived)
        if after > MAX_VERTICES:
            raise VertexRangeError(f"{after} vertices are too many: there are {MAX_VERTICES} ids")
        ids = xp.concatenate((revived, xp.arange(before, after, dtype=np.uint32)))
        with self.whole(live=True), kept_with(names):
            self._resize(after)
            if edit is not None:
                self.live.apply(edit)
            self.version += count > 0
            self.growths += count > 0
        return ids, self._delta((before, after), revived_vertices=revived)

    def _resize(self, num_vertices: int) -> None:
        """Resize all stores to ``num_vertices``, or none."""
        if num_vertices == self.num_vertices:
            return
        self.live.reserve(num_vertices)
        self._all.resize(num_vertices)
        self.num_vertices = num_vertices
        self.live.resize(num_vertices)

    def undo_growth(self, num_vertices: int, error: BaseException) -> None:
        """Resize all stores back to ``num_vertices``; where memory is short they stay, and ``error`` gets a note."""
        try:
            with ExitStack() as limits:
                for store in self.stores:
                    limits.enter_context(beyond_limit(store))
                self._resize(num_vertices)
        except Exception as second:
            error.add_note(f"vertices without edges stay: {second!r}")

    def delete_vertices(self, ids: Any) -> Delta:
        """Delete vertices with their edges; vertices that were deleted before are ignored."""
        self.raise_pending()
        given = checked_ids(on_host(as_ids(ids, "ids")), self.num_vertices, "ids")
        distinct, directed = self.live.among(sorted_distinct(given.copy())), self.options.directed
        if not len(distinct):
            return self._delta()
        vertices = self.device.xp.asarray(distinct)
        arcs = incident_arcs(self.out, self.into, vertices, directed=directed)
        inside = member(self.device, self.num_vertices, vertices)
        edges = incident_edges(arcs, inside, self.device, directed=directed)
        deleted_edges = DeletedEdges(edges, joined(self.device.xp, *arcs))
        edit = self.live.deletion(distinct)
        with self.whole(live=True):
            try:
                self._cut(vertices, arcs, inside)
            except BaseException as error:
                with memory_to_undo(error):
                    for part in arcs:
                        self._all.in_each(error, insert_into, part)
                raise
            self.live.apply(edit)
            self.live.forget_values(edit)
            self.version += 1
        return self._delta(deleted=deleted_edges, deleted_vertices=vertices)

    def _cut(self, vertices: Array, arcs: Incident, inside: Array) -> None:
        """Delete the ``arcs`` of ``vertices``, whose mask is ``inside``, from all stores."""
        away, towards = arcs
        if len(towards.src):
            self.out.delete(towards.src, towards.dst)
        self.out.delete_vertices(vertices)
        if self.into is not None:
            outside = picked(away, ~inside[away.dst])
            if len(outside.src):
                self.into.delete(outside.dst, outside.src)
            self.into.delete_vertices(vertices)

    # -- validation ----------------------------------------------------------------------------------------------------

    def _arrays(self, edges: Given, part: int, *, inserting: bool = False) -> Given | None:
        """Convert a batch to arrays, all on the device or all on the host; return None if it is empty."""
        names, (src, dst, weight) = ARGUMENTS[part], edges
        src, dst = as_ids(src, names[0]), as_ids(dst, names[1])
        weight = as_weights(weight, self.options.stored_dtype, names[2]) if inserting else None
        if not same_length(src, dst, weight, PARTS[part]):
            return None
        if lies_on_host((src, dst, weight)):
            return src, dst, weight
        if self.ingest is None:
            return on_host(src), on_host(dst), weight if weight is None or weight.ndim == 0 else on_host(weight)
        return self.ingest.prepare(src, dst, weight, part)

    def _validated(self, edges: Given, part: int, *, inserting: bool = False) -> EdgeList | None:
        """Return validated arcs on the CPU for the store of out-edges (both of an undirected edge); None: no edges."""
        arrays = edges if type(edges) is ValidEdges else self._arrays(edges, part, inserting=inserting)
        batch = None if arrays is None else self._checked(arrays, part, inserting=inserting)
        return both_arcs(np, batch) if self._symmetric and batch is not None else batch

    def _checked(self, edges: Given, part: int, *, inserting: bool = False) -> EdgeList | None:
        """Return validated copies of host arrays, without self-loops that an insertion drops; None: no edge is left."""
        options = self.options
        refuse_loops = inserting and options.self_loops == "error"
        batch = checked_edges(
            edges, self.num_vertices, options.stored_dtype, refuse_loops=refuse_loops, prefix=PARTS[part]
        )
        drops = options.self_loops == "drop"
        if inserting and (self._symmetric or drops):
            loops = batch.src == batch.dst
            if any_true(loops):
                if drops:
                    batch = picked(batch, ~loops)
                else:
                    self._had_loops = True
        return batch if len(batch.src) else None

    def _wait_for_lists(self, keep_errors: bool) -> None:
        """Wait for a deferred batch whose delta is read; raise its error (``keep_errors``: a later call will)."""
        assert self.ingest is not None
        if keep_errors:
            self.ingest.refresh()
        else:
            self.ingest.raise_pending()

    def _delta(self, num_vertices: tuple[int, int] | None = None, **parts: Any) -> Delta:
        """Return the delta of a change; ``num_vertices``: before and after; ``parts``: arguments of :class:`Delta`."""
        options, size = self.options, self.num_vertices
        wait = None if self._eager or self.ingest is None else self._wait_for_lists
        sizes = num_vertices or (size, size)
        return Delta(self.device, options.directed, options.stored_dtype, sizes, wait=wait, lock=self.lock, **parts)
