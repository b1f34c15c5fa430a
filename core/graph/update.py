"""Changing a graph's stores: validate a batch, apply it to one store or two, and report what changed.

A batch is applied as a whole or not at all. What can be validated on the host is validated before anything changes; a
batch on a CUDA device is validated there, in the stream (see ``suricate.intake.ingest``), and the kernels that change
the store do nothing if it is invalid. If a store fails, whatever the exception, what was done so far is undone.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.errors import SuricateError, VertexRangeError
from suricate.base.types import MAX_VERTICES, Change, EdgeList
from suricate.graph.delta import DeletedEdges, Delta, uploaded
from suricate.graph.interrupts import Changing
from suricate.graph.liveness import LiveVertices
from suricate.graph.options import GraphOptions
from suricate.graph.rollback import insert_into
from suricate.graph.stores import Stores
from suricate.graph.vertices import Incident, incident_arcs, incident_edges, member
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
)
from suricate.intake.ingest import Ingest
from suricate.intake.upload import fits_one_transfer, lies_on_host
from suricate.state.locks import Lock
from suricate.store import Store

Given = tuple[Any, Any, Any]  # src, dst, weight of a batch, as the caller gave them


class Updater:
    """Applies batches to the stores of one graph, and answers questions about edges that come in batches.

    Args:
        stores: the store of out-edges (of both arcs of undirected edges), and that of in-edges if there is one.
        options: the options of the graph.
        ingest: validates device batches; None on the CPU.
        lock: held by the caller of every method here; a delta takes it when it is read.

    Attributes:
        num_vertices: number of vertices of the graph.
        version: grows by one with every call that may have changed the graph.
        live: which vertices are live.
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
        self.lock, self.changing = lock, 0
        self._eager = options.checks == "eager"
        self._symmetric = not options.directed
        self._all = Stores(stores, symmetric=self._symmetric)
        self._fuses_queries = ingest is not None and self.out.takes_unvalidated
        self._fuses = self._fuses_queries and (self.into is None or self.into.takes_unvalidated_pairs)
        self._inserts_few = options.self_loops == "allow"  # see _few()
        self._had_loops = False  # whether a batch held a self-loop
        self._loops: tuple[int, int] = (-1, 0)  # version, number of self-loops then
        self._counted, self._added = 0, 0  # arcs at the last count, and those given to insertions since

    def inherit(self, version: int, deleted: np.ndarray, had_loops: bool) -> None:
        """Go on from the version and the deleted ids (ascending) of the graph that this one is a copy of."""
        self.version, self._had_loops = version, had_loops
        self.live.inherit(deleted)
        self._counted, self._added = self.out.num_edges, 0

    def whole(self, *, live: bool = False) -> AbstractContextManager[Any]:
        """Return what goes around changes of the stores; ``live``: the live set changes with them."""
        return Changing(self) if live or not self.device.is_cuda else nullcontext()

    # -- batches of edges ----------------------------------------------------------------------------------------------

    def apply(self, delete: Given | None, insert: Given | None, parts: tuple[int, int] = (0, 0)) -> Delta:
        """Delete edges, then insert edges.

        Args:
            delete: ``(src, dst, None)`` as the caller gave them, or None.
            insert: ``(src, dst, weight)`` as the caller gave them, or None.
            parts: what each is called in messages, as an index of ``suricate.intake.arrays.PARTS``.

        Raises:
            VertexRangeError, DTypeError, ShapeError, WeightError, SelfLoopError, DeviceError: the batch is invalid.
            CapacityError: memory does not suffice. Whatever a store raises passes through. Nothing has changed then.
        """
        ingest, eager = self.ingest, self._eager
        if ingest is not None:
            ingest.begin(self.num_vertices, self.version, eager)
        elif (few := self._few(delete, insert)) is not None:
            return self._change(*few, None, stays=False)
        stays, revival = False, None
        try:
            if self._fuses and insert is not None and self.live.most_deleted:
                revival = self.live.revival(*insert[:2])
            changes, revived = self._launched(delete, insert, parts, revival) if self._fuses else (None, None)
            if changes is None:
                delete = None if delete is None else self._arrays(delete, parts[0])
                insert = None if insert is None else self._arrays(insert, parts[1], inserting=True)
                stays = self._stays_on_host(delete, insert)
                if self._fuses and not stays:
                    delete, insert = self._uploaded(delete, insert, parts)
                    changes, revived = self._launched(delete, insert, parts, revival)
            if changes:
                self._added += 0 if insert is None else insert[0].size << self._symmetric
                assert ingest is not None
                delta = self._delta(removed=changes[0], added=changes[1], revived_vertices=revived)
                if eager:
                    ingest.raise_pending(fused=True)
                self.version += 1
                return delta
        except KeyboardInterrupt:
            self.version += self._fuses  # the batch may have been launched; the end of a wait does not end it
            raise
        return self._apply_in_steps(delete, insert, parts, stays=stays)

    def _few(self, delete: Given | None, insert: Given | None) -> tuple[EdgeList | None, EdgeList | None] | None:
        """Return both parts of a small batch on the CPU, copied and validated in one pass; None if it is none such."""
        if self._symmetric or (not self._inserts_few if insert is not None else delete is None):
            return None
        removed = None if delete is None else few_valid(delete, self.num_vertices)
        added = None if insert is None else few_valid(insert, self.num_vertices, self.options.weight_dtype)
        is_few = (removed is not None or delete is None) and (added is not None or insert is None)
        return (removed, added) if is_few else None

    def _launched(self, delete: Given | None, insert: Given | None, parts: tuple[int, int], revival: Any) -> Any:
        """Return what :meth:`_fused_changes` returns, and what reads the revived vertices or None."""
        assert self.ingest is not None
        with self.whole(live=revival is not None):
            changes = self._fused_changes(delete, insert, parts)
            revives = revival is not None and changes and changes[1] is not None  # not an empty insertion
            return changes, self.live.revive(revival, changes[1], self.ingest.guard) if revives else None

    def _fused_changes(self, delete: Given | None, insert: Given | None, parts: tuple[int, int]) -> Any:
        """Have the stores validate and apply a batch; return both changes, or what ``Ingest.fused`` returns else."""
        ingest, out, into = self.ingest, self.out, self.into
        assert ingest is not None
        if delete is not None and insert is not None:
            steps = ingest.halves(out, delete, insert, into)
            return self._all.run(steps[0], steps[1], self.raise_pending) if steps else steps
        if insert is not None:
            change = ingest.fused(out, "insert", insert, into, parts[1])
            return change and (None, change)
        if delete is not None:
            change = ingest.fused(out, "delete", delete, into, parts[0])
            return change and (change, None)
        return None

    def _apply_in_steps(
        self, delete: Given | None, insert: Given | None, parts: tuple[int, int], *, stays: bool
    ) -> Delta:
        """Validate and copy both parts of a batch, which may stay on the host, then change the stores."""
        ingest = self.ingest
        try:
            removed = None if delete is None else self._validated(delete, parts[0], stays=stays)
            added = None if insert is None else self._validated(insert, parts[1], inserting=True, stays=stays)
        except (SuricateError, MemoryError):
            if ingest is not None and ingest.used:  # the deletion lies on the device, and may be invalid as well
                ingest.raise_pending()
            raise
        if removed is None and added is None:
            return self._delta()
        guard = None
        if ingest is not None and ingest.used:
            if self.out.guarded:
                guard = ingest.guard
            else:
                ingest.raise_pending()
        return self._change(removed, added, guard, stays=stays)

    def _change(self, removed: EdgeList | None, added: EdgeList | None, guard: Array | None, *, stays: bool) -> Delta:
        """Change the stores by validated edges."""
        gone: Change | Callable[[], Change] | None
        new: Change | Callable[[], Change] | None
        revival = None
        if added is not None and self.live.most_deleted:
            revival = self.live.revival(added.src, added.dst)
        with self.whole(live=revival is not None):
            try:
                gone, new = self._all.change(removed, added, guard, stays=stays)
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
        if stays:
            gone, new = gone and partial(uploaded, self.device, gone), new and partial(uploaded, self.device, new)
        return self._delta(removed=gone, added=new, revived_vertices=revived)

    def _uploaded(
        self, delete: Given | None, insert: Given | None, parts: tuple[int, int]
    ) -> tuple[Given | None, Given | None]:
        """Return a small batch of host arrays validated and on the device; other batches as they are."""
        ingest, drops = self.ingest, insert is not None and self.options.self_loops == "drop"
        assert ingest is not None
        if drops or not all(part is None or self._fits_one_transfer(part) for part in (delete, insert)):
            return delete, insert
        removed = None if delete is None else self._checked(delete, parts[0])
        added = None if insert is None else self._checked(insert, parts[1], inserting=True)
        return removed and ingest.upload(removed), added and ingest.upload(added)

    def _fits_one_transfer(self, edges: Given) -> bool:
        """Return whether a batch lies on the host and goes to the device in one transfer."""
        return lies_on_host(edges) and fits_one_transfer(len(edges[0]), self.options.weight_dtype)

    def _stays_on_host(self, delete: Given | None, insert: Given | None) -> bool:
        """Return whether all stores take both parts of a batch, which lie on the host, as they are."""
        if self.ingest is None:
            return False
        size = 0
        for part in (delete, insert):
            if part is not None:
                if not lies_on_host(part):
                    return False
                size += len(part[0]) << self._symmetric
        return size > 0 and self.out.takes_host_batch(size) and (self.into is None or self.into.takes_host_batch(size))

    # -- queries -------------------------------------------------------------------------------------------------------

    def find(self, src: Any, dst: Any) -> tuple[Array, Array | None]:
        """Return ``(found, weight)`` of edges: ``bool[n]``, and weights (unspecified where not found) or None.

        Raises:
            VertexRangeError, DTypeError, ShapeError, DeviceError: the ids cannot be used.
        """
        ingest, fuses, edges = self.ingest, self._fuses_queries, (src, dst, None)
        answer: Any = None
        if ingest is not None:
            ingest.begin(self.num_vertices, self.version)
            answer = ingest.fused(self.out, "find", edges) if fuses else None
        if answer is None:
            arrays = self._arrays(edges, 0)
            if arrays is None:
                empty, dtype = self.device.xp.empty, self.options.weight_dtype
                return empty(0, bool), None if dtype is None else empty(0, dtype)
            edges = arrays
            if ingest is not None and fuses:
                if self._fits_one_transfer(edges):
                    batch = self._checked(edges, 0)
                    if (mirrored := self.out.find_on_host(batch.src, batch.dst)) is not None:
                        found, weight = mirrored
                        xp = self.device.xp
                        return xp.asarray(found), None if weight is None else xp.asarray(weight)
                    edges = ingest.upload(batch)
                answer = ingest.fused(self.out, "find", edges)
        if answer is None or answer is False:
            query = self._validated(edges, 0, query=True)
            assert query is not None
            answer = self.out.find(query.src, query.dst)
        if ingest is not None and ingest.used and self._eager:
            ingest.raise_pending()
        return answer

    def raise_pending(self) -> None:
        """Wait for the device and raise the first error of a deferred check of a batch, if there is one."""
        if self.ingest is not None:
            self.ingest.raise_pending()

    def raise_found(self) -> None:
        """As :meth:`raise_pending`, and then the first error in ids that operators were given, if there is one."""
        if self.ingest is not None:
            self.ingest.raise_pending()
            self.ingest.ids.raise_pending()
            self.live.refresh()

    def count_edges(self) -> int:
        """Return the number of edges, an undirected one once; waits for the device."""
        arcs = self._count_arcs()
        return (arcs + self._count_loops()) // 2 if self._symmetric else arcs

    def _count_arcs(self) -> int:
        self._counted, self._added = self.out.num_edges, 0
        return self._counted

    def most_arcs(self) -> int:
        """Return an upper bound of the number of arcs (an undirected edge is two), without a wait for a device.

        It is the last count and what was inserted since; on the CPU they are counted anew when that has become much.
        """
        if not self.device.is_cuda and self._added > self._counted // 8:
            self._count_arcs()
        return self._counted + self._added

    @property
    def had_loops(self) -> bool:
        """Whether the graph may hold self-loops (known of undirected graphs)."""
        if self.ingest is not None and not self._had_loops:
            self.ingest.refresh()
            self._had_loops = self.ingest.has_loops
        return self._had_loops

    def _count_loops(self) -> int:
        if not self.had_loops:
            return 0
        if self._loops[0] != self.version:
            vertices = self.device.xp.arange(self.num_vertices, dtype=np.uint32)
            self._loops = self.version, int(self.out.find(vertices, vertices)[0].sum())
        return self._loops[1]

    # -- vertices ------------------------------------------------------------------------------------------------------

    def insert_vertices(self, count: int, *, recycle: bool) -> tuple[Array, Delta]:
        """Add vertices without edges; return their ids, ``uint32[count]``, and the delta.

        With ``recycle`` deleted ids are given out first, the lowest first.

        Raises:
            VertexRangeError: there would be more vertices than ids.
            CapacityError: memory does not suffice; nothing has changed.
        """
        xp, edit = self.device.xp, None
        if recycle and self.live.most_deleted:
            self.raise_pending()
            edit = self.live.recycling(count)
        revived = xp.empty(0, np.uint32) if edit is None else edit.at.astype(np.uint32)
        before, after = self.num_vertices, self.num_vertices + count - len(revived)
        if after > MAX_VERTICES:
            raise VertexRangeError(f"{after} vertices are too many: there are {MAX_VERTICES} ids")
        ids = xp.concatenate((revived, xp.arange(before, after, dtype=np.uint32)))
        with self.whole(live=True):
            self._resize(after)
            if edit is not None:
                self.live.apply(edit)
            self.version += count > 0
        return ids, self._delta((before, after), revived_vertices=revived)

    def _resize(self, num_vertices: int) -> None:
        """Give all stores so many vertices, or none."""
        before = self.num_vertices
        if num_vertices == before:
            return
        self.live.reserve(num_vertices)
        try:
            for store in self.stores:
                store.resize(num_vertices)
        except BaseException as error:
            for store in self.stores:
                try:
                    if store.num_vertices != before:
                        store.resize(before)
                except Exception as second:
                    error.add_note(f"undoing the change failed in a store as well: {second!r}")
            raise
        self.num_vertices = num_vertices
        self.live.resize(num_vertices)

    def delete_vertices(self, ids: Any) -> Delta:
        """Delete vertices with their edges, in both directions; those that are deleted already are passed over.

        Raises:
            VertexRangeError, DTypeError, ShapeError: ids that cannot be used.
        """
        self.raise_pending()
        given = checked_ids(on_host(as_ids(ids, "ids")), self.num_vertices, "ids")
        distinct = self.live.among(np.unique(given))
        if not len(distinct):
            return self._delta()
        directed, vertices = self.options.directed, self.device.xp.asarray(distinct)
        arcs = incident_arcs(self.out, self.into, vertices, directed=directed)
        inside = member(self.device, self.num_vertices, vertices)
        edges = incident_edges(arcs, inside, self.device, directed=directed)
        edit = self.live.deletion(distinct)
        with self.whole(live=True):
            try:
                self._cut(vertices, arcs, inside)
            except BaseException as error:
                traceback.clear_frames(error.__traceback__)
                for part in arcs:
                    self._all.in_each(error, insert_into, part)
                raise
            self.live.apply(edit)
            self.version += 1
        deleted_edges = DeletedEdges(edges, joined(self.device.xp, *arcs))
        return self._delta(deleted=deleted_edges, deleted_vertices=vertices)

    def _cut(self, vertices: Array, arcs: Incident, inside: Array) -> None:
        """Delete the arcs of ``vertices`` in all stores."""
        away, towards = arcs
        if len(towards.src):
            self.out.delete(towards.src, towards.dst)
        self.out.delete_vertices(vertices)
        if self.into is None:
            return
        outside = picked(away, ~inside[away.dst])
        if len(outside.src):
            self.into.delete(outside.dst, outside.src)
        self.into.delete_vertices(vertices)

    # -- validation ----------------------------------------------------------------------------------------------------

    def _arrays(self, edges: Given, part: int, *, inserting: bool = False) -> Given | None:
        """Return a batch as arrays of fitting dtypes and lengths, entries not yet validated; None if it is empty.

        On CUDA all of them are on the device then, or all on the host.
        """
        names, (src, dst, weight) = ARGUMENTS[part], edges
        src, dst = as_ids(src, names[0]), as_ids(dst, names[1])
        weight = as_weights(weight, self.options.weight_dtype, names[2]) if inserting else None
        if not same_length(src, dst, weight, PARTS[part]):
            return None
        if self.ingest is None or lies_on_host((src, dst, weight)):
            return src, dst, weight
        return self.ingest.prepare(src, dst, weight)

    def _validated(
        self, edges: Given, part: int, *, inserting: bool = False, query: bool = False, stays: bool = False
    ) -> EdgeList | None:
        """Return copies of a batch as the store of out-edges takes it; None if nothing is left of it.

        A host batch is validated here, and moved to the device unless it ``stays`` on the host. A device batch will be
        validated in the stream, ahead of what is queued next.
        """
        symmetric = self._symmetric and not query
        if self.ingest is not None and not lies_on_host(edges):
            return self._validated_on_device(self.ingest, edges, part, inserting, symmetric)
        drops, xp = self.options.self_loops == "drop", self.device.xp
        batch = self._checked(edges, part, inserting=inserting)
        if inserting and (symmetric or drops):
            loops = batch.src == batch.dst
            if loops.any():
                if drops:
                    batch = picked(batch, ~loops)
                else:
                    self._had_loops = True
        if not len(batch.src):
            return None
        if stays:
            xp = np
        elif self.ingest is not None:
            batch = EdgeList(*(None if column is None else xp.asarray(column) for column in batch))
        return both_arcs(xp, batch) if symmetric else batch

    def _checked(self, edges: Given, part: int, *, inserting: bool = False) -> EdgeList:
        """Return copies of a batch on the host, validated there."""
        options, (src, dst, weight) = self.options, edges
        if not lies_on_host(edges):
            src, dst, weight = (part if part is None or part.ndim == 0 else on_host(part) for part in edges)
        refuse_loops = inserting and options.self_loops == "error"
        return checked_edges(
            (src, dst, weight), self.num_vertices, options.weight_dtype, refuse_loops=refuse_loops, prefix=PARTS[part]
        )

    def _validated_on_device(
        self, ingest: Ingest, edges: Given, part: int, inserting: bool, symmetric: bool
    ) -> EdgeList | None:
        if not inserting or self.options.self_loops != "drop":
            return ingest.copy(*edges, part=part, mirrored=symmetric, loops=ingest.loops if inserting else 0)
        # How many edges stay must be known on the host before the store can be called, so this policy waits.
        batch = ingest.copy(*edges, part=part)
        ingest.raise_pending()
        batch = picked(batch, batch.src != batch.dst)
        if not len(batch.src):
            return None
        return both_arcs(self.device.xp, batch) if symmetric else batch

    def _wait_for_lists(self, keep_errors: bool) -> None:
        """Before a delta's lists are made of a deferred batch: wait, and raise pending errors or keep them."""
        assert self.ingest is not None
        if keep_errors:
            self.ingest.refresh()
        else:
            self.ingest.raise_pending()

    def _delta(self, num_vertices: tuple[int, int] | None = None, **parts: Any) -> Delta:
        """Return the delta of a change; ``parts`` are arguments of :class:`Delta`."""
        options, size = self.options, self.num_vertices
        wait = None if self._eager or self.ingest is None else self._wait_for_lists
        sizes = num_vertices or (size, size)
        return Delta(self.device, options.directed, options.weight_dtype, sizes, wait=wait, lock=self.lock, **parts)
