"""A store beside the table of edges that it must equal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import NEW, REMOVED, UNCHANGED, EdgeList, Outcome, edge_keys, ends_of, same_dtype
from suricate.cursors import missing_functions
from suricate.intake.batches import DeviceBatch, StoreBatch
from suricate.store import Store
from suricate.testing.draws import draw_ids, draw_weights
from suricate.testing.table import EdgeTable, Groups, agree, bits, compare_edges, group
from suricate.testing.walks import walk_updated, walk_view


class ModelledStore:
    """A store and a table that it must equal; every method does one operation on both and compares.

    Arrays that the store returns must not change in its next operation. Then the kit overwrites them, which must not
    change the store: results belong to the caller. Methods take host arrays.

    Args:
        store: an empty store; it may be of any backend and on any device.
        walks: whether to walk the store's view through the Numba functions of its cursor (CPU only).
    """

    def __init__(self, store: Store, *, walks: bool = False) -> None:
        self.store, self.device, self.walks = store, store.device, walks
        self.table = EdgeTable(store.weight_dtype)
        self.at_mark: np.ndarray | None = None  #: keys of the edges that were there at the mark
        self.deleted_since_mark = np.zeros(0, np.uint64)
        self.kinds: dict[str, Any] | None = None  #: of the arrays of views: dtype and number of dimensions, by field
        self.calling: Callable[[], AbstractContextManager[None]] = nullcontext  #: around every change of the store
        self._results: list[tuple[str, Array, np.ndarray]] = []
        self._copy: ModelledStore | None = None

    def to_device(self, array: np.ndarray) -> Array:
        """Return a copy of ``array`` on the device of the store."""
        return self.device.xp.array(array)

    # -- operations ----------------------------------------------------------------------------------------------------

    def insert(self, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None) -> None:
        """Insert edges (ids ``uint32[n]``); compare the statuses and old weights returned with the table."""
        given = [None if part is None else self.to_device(part) for part in (src, dst, weight)]
        with self.calling():
            changed = self.store.insert(*given)
        outcome = self.taken("insert()", changed, len(src))
        self._compare_input("insert()", given, (src, dst, weight))
        self._expect_inserted(outcome, src, dst, weight)

    def _expect_inserted(self, outcome: Outcome, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None) -> None:
        batch = group(src, dst)
        if weight is None:
            self._compare_counts("insert()", batch, outcome.status, NEW, ~self.table.contains(batch.keys))
        else:
            keys = batch.keys[batch.member]
            status, replaced, before = self.table.expected(batch, weight)
            agree("insert(): status", keys, outcome.status, status)
            assert outcome.weight is not None
            agree("insert(): weight before the batch", keys[replaced], outcome.weight[replaced], before)
        self.table.insert(batch, weight)

    def delete(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Delete edges (ids ``uint32[n]``); compare the statuses and old weights returned with the table."""
        given = [self.to_device(part) for part in (src, dst)]
        with self.calling():
            changed = self.store.delete(*given)
        outcome = self.taken("delete()", changed, len(src))
        self._compare_input("delete()", given, (src, dst))
        self._expect_removed(outcome, src, dst)

    def _expect_removed(self, outcome: Outcome, src: np.ndarray, dst: np.ndarray) -> None:
        batch = group(src, dst)
        at, here = self.table.locate(batch.keys)
        self._compare_counts("delete()", batch, outcome.status, REMOVED, here)
        if outcome.weight is not None and self.table.weight is not None:
            removed = np.flatnonzero(outcome.status == REMOVED)
            before = self.table.weight[at[batch.member[removed]]]
            agree("delete(): weight before the batch", batch.keys[batch.member][removed],
                  outcome.weight[removed], before)  # fmt: skip
        self._removed(batch.keys)

    def expect(self, batch: StoreBatch | None, edges: EdgeList | None, *, deletion: bool = False) -> None:
        """Compare the outcome of one batch of ``Store.apply`` with the table, and apply it to the table.

        Args:
            batch: the batch as the store got it, on the device or the host; None: nothing to compare.
            edges: the edges of the batch on the host; None: the batch is invalid and must change nothing.
            deletion: whether the batch deletes ``edges`` or inserts them.
        """
        if batch is None:
            return
        is_said = batch.done if isinstance(batch, DeviceBatch) else batch.outcome is not None
        assert is_said, "apply() does not say what it has carried out"
        changed: Any = batch.outcome() if isinstance(batch, DeviceBatch) else batch.outcome
        outcome = self._on_host(changed, batch.size)
        if edges is None:
            assert not outcome.status.any(), "apply() changes a store by an invalid batch"
        elif deletion:
            self._expect_removed(outcome, edges.src, edges.dst)
        else:
            self._expect_inserted(outcome, *edges)

    def delete_vertices(self, vertices: np.ndarray) -> None:
        """Delete the out-edges of ``vertices`` (``uint32[k]``, distinct) from the store and the table."""
        given = self.to_device(vertices)
        with self.calling():
            self.store.delete_vertices(given)
        self.forget_results()
        self._removed(self.table.of_sources(vertices))

    def _removed(self, keys: np.ndarray) -> None:
        gone = self.table.remove(keys)
        if self.at_mark is not None:
            self.deleted_since_mark = np.union1d(self.deleted_since_mark, gone)

    def resize(self, num_vertices: int) -> None:
        """Call ``resize(num_vertices)`` of the store, which sets its number of vertices."""
        with self.calling():
            self.store.resize(num_vertices)
        self.forget_results()
        assert self.store.num_vertices == num_vertices, "resize() did not change num_vertices"

    def mark(self) -> None:
        """Call ``mark()`` of the store, and record which edges the table has at the mark."""
        with self.calling():
            self.store.mark()
        self.forget_results()
        self.at_mark, self.deleted_since_mark = self.table.keys.copy(), np.zeros(0, np.uint64)

    def reserve(self, num_edges: int) -> None:
        """Call ``reserve(num_edges)`` of the store; the table does not change."""
        with self.calling():
            self.store.reserve(num_edges)
        self.forget_results()

    def compact(self) -> None:
        """Call ``compact()`` of the store; the table does not change."""
        with self.calling():
            self.store.compact()
        self.forget_results()

    def copy_to(self, device: Device) -> ModelledStore:
        """Return a copy of the store on ``device`` with a copy of the table; compare the settings of both stores."""
        with self.calling():
            store = self.store.copy_to(device)
        copy = ModelledStore(store, walks=self.walks and not device.is_cuda)
        assert copy.store is not self.store, "copy_to() returned the store itself"
        for name in ("num_vertices", "weight_dtype", "memory_limit"):
            got, wanted = getattr(copy.store, name), getattr(self.store, name)
            assert got == wanted, f"copy_to(): {name} is {got}, it was {wanted}"
        assert copy.store.device == device, f"copy_to({device}) returned a store on {copy.store.device}"
        assert copy.store.options() == self.store.options(), "copy_to() changed the options"
        copy.table, copy.at_mark = self.table.copy(), self.at_mark
        copy.deleted_since_mark = self.deleted_since_mark
        return copy

    # -- what is compared ----------------------------------------------------------------------------------------------

    def taken(self, what: str, outcome: Outcome, count: int) -> Outcome:
        """Return a copy of ``outcome``, of ``count`` edges, in NumPy arrays; ``what`` names the call in messages.

        The arrays themselves are passed to :meth:`keep`.
        """
        self.forget_results()
        self.keep(what, outcome)
        return self._on_host(outcome, count, what)

    def _on_host(self, outcome: Outcome, count: int, what: str = "apply()") -> Outcome:
        status = self._to_numpy(outcome.status)
        assert status.dtype == np.uint8, f"{what}: status is {status.dtype}, not uint8"
        assert status.shape == (count,), f"{what}: status has shape {status.shape} for {count} edges"
        if self.store.weight_dtype is None:
            assert outcome.weight is None, f"{what}: weights on an unweighted store"
            return Outcome(status.copy())
        assert outcome.weight is not None, f"{what}: no weights"
        weight = self._to_numpy(outcome.weight)
        assert weight.dtype == self.store.weight_dtype, f"{what}: weights are {weight.dtype}"
        assert weight.shape == (count,), f"{what}: weights have shape {weight.shape} for {count} edges"
        return Outcome(status.copy(), weight.copy())

    def _to_numpy(self, array: Array) -> np.ndarray:
        return array if isinstance(array, np.ndarray) else self.device.to_numpy(array)

    def keep(self, what: str, parts: tuple[Array | None, ...]) -> None:
        """Remember arrays that the store returned, and copies of them, for :meth:`forget_results`.

        ``what`` names the call that returned ``parts`` in messages.
        """
        for part in parts:
            if part is not None:
                self._results.append((what, part, self.device.to_numpy(part).copy()))

    def forget_results(self) -> None:
        """Assert that arrays given to :meth:`keep` have not changed; then overwrite them in place and forget them."""
        for what, part, before in self._results:
            same = np.array_equal(bits(self.device.to_numpy(part)), bits(before))
            assert same, f"a later call changed arrays that {what} had returned"
            part[:] = 1
        self._results = []

    def _compare_input(self, what: str, given: list[Any], wanted: tuple[np.ndarray | None, ...]) -> None:
        for part, before in zip(given, wanted, strict=True):
            if part is not None and before is not None:
                assert np.array_equal(self.device.to_numpy(part), before), f"{what} wrote to its input"
                part[:] = 0  # the store must not keep the array

    def _compare_counts(self, what: str, batch: Groups, status: np.ndarray, report: int, changed: np.ndarray) -> None:
        """Assert that of the places of an edge in the batch exactly one reports a change if there was one, else none.

        Args:
            what: the call, for messages.
            batch: the distinct edges of the batch.
            status: ``uint8[n]``, the statuses that the store reported.
            report: the status of a changed edge.
            changed: ``bool[k]``, which distinct edges the batch changes.
        """
        for kind, mask in ((f"reports of status {report}", status == report), ("changes", status != UNCHANGED)):
            counts = np.bincount(batch.member[mask], minlength=len(batch.keys))
            agree(f"{what}: number of {kind}", batch.keys, counts, changed.astype(np.int64))

    def compare(self, what: str, edges: EdgeList, wanted: EdgeTable) -> None:
        """Compare ``edges`` on the store's device, in any order, with ``wanted``; ``what``: the call, for messages."""
        compare_edges(what, edges, wanted, self.device)

    def verify(self, rng: np.random.Generator) -> None:
        """Compare the answers to all queries with the table; ``rng`` draws which edges and vertices to query."""
        store = self.store
        store.check()
        edges = store.edges()
        self.compare("edges()", edges, self.table)
        self.keep("edges()", edges)
        src = self.device.to_numpy(edges.src)
        assert (src[:-1] <= src[1:]).all(), "edges() is not ordered by source"
        self.verify_degrees()
        self.verify_find(rng)
        self.verify_adjacency(rng)
        self.verify_updated()
        self.verify_view(rng)
        for part, (used, allocated) in store.memory().items():
            assert 0 <= used <= allocated, f"memory(): {part} uses {used} of {allocated} bytes"

    def verify_degrees(self) -> None:
        """Compare degrees() and num_edges of the store with the table."""
        degrees = self.store.degrees()
        self.keep("degrees()", (degrees,))
        host = self.device.to_numpy(degrees)
        assert host.dtype == np.uint32, f"degrees() is {host.dtype}, not uint32"
        assert host.shape == (self.store.num_vertices,), f"degrees() has shape {host.shape}"
        wrong = np.flatnonzero(host != self.table.degrees(self.store.num_vertices))
        assert not len(wrong), f"degrees(): wrong at {len(wrong)} vertices, {wrong[:5].tolist()} among them"
        count = self.store.num_edges
        assert count == len(self.table), f"num_edges is {count}, there are {len(self.table)} edges"

    def sample(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(src, dst)``, uint32: all edges and as many random pairs (at least 20), in random order."""
        n, count = self.store.num_vertices, max(20, len(self.table))
        others = rng.integers(0, n, (2, count if n else 0)).astype(np.uint32) if n else np.zeros((2, 0), np.uint32)
        pairs = np.concatenate([np.stack(ends_of(self.table.keys)), others], axis=1)
        pairs = pairs[:, rng.permutation(pairs.shape[1])]
        return pairs[0], pairs[1]

    def verify_find(self, rng: np.random.Generator) -> None:
        """Compare ``find()`` with the table: for all edges and some other pairs, shuffled, and for no edges."""
        src, dst = self.sample(rng)
        for size in (len(src), 0):
            found, weight = self.store.find(self.to_device(src[:size]), self.to_device(dst[:size]))
            self.keep("find()", (found, weight))
            found, keys = self.device.to_numpy(found), edge_keys(src[:size], dst[:size])
            assert found.dtype == bool, f"find() returned {found.dtype}, not bool"
            at, here = self.table.locate(keys)
            agree("find()", keys, found, here)
            assert (weight is None) == (self.store.weight_dtype is None), "find(): weights exactly on a weighted store"
            if weight is not None and self.table.weight is not None:
                weight = self.device.to_numpy(weight)
                assert weight.dtype == self.store.weight_dtype, f"find(): weights are {weight.dtype}"
                agree("find(): weight", keys[here], weight[here], self.table.weight[at[here]])

    def verify_adjacency(self, rng: np.random.Generator) -> None:
        """Compare ``adjacency()`` with the table: of random vertices, some of them twice, and of an empty array."""
        n = self.store.num_vertices
        vertices = rng.integers(0, n, 12 if n else 0).astype(np.uint32)
        vertices = np.concatenate([vertices, np.unique(self.table.keys >> np.uint64(32))[-9:], vertices[:3]])
        for some_of in (vertices.astype(np.uint32), vertices[:0].astype(np.uint32)):
            self.compare_adjacency(some_of)

    def compare_adjacency(self, vertices: np.ndarray) -> None:
        """Compare adjacency() of ``vertices`` (``uint32[k]``, repeats allowed) with the table."""
        part = self.store.adjacency(self.to_device(vertices))
        self.keep("adjacency()", part)
        offsets = self.device.to_numpy(part.offsets)
        wanted, at = self.table.slices(vertices)
        assert offsets.dtype == np.int64, f"adjacency(): offsets are {offsets.dtype}, not int64"
        assert np.array_equal(offsets, wanted), f"adjacency(): offsets of {vertices[:5].tolist()} ... are wrong"
        # a repeated vertex has its adjacency twice: the position in ``vertices`` takes the place of the source
        owner = np.repeat(np.arange(len(vertices)), np.diff(wanted)).astype(np.uint32)
        table = EdgeTable()
        table.keys = edge_keys(owner, ends_of(self.table.keys)[1][at])
        table.weight = None if self.table.weight is None else self.table.weight[at]
        self.compare("adjacency()", EdgeList(self.to_device(owner), part.dst, part.weight), table)

    def verify_updated(self) -> None:
        """Compare ``updated()``, and the edges that the cursor yields as inserted since the mark, with the table."""
        assert self.store.has_mark == (self.at_mark is not None), f"has_mark is {self.store.has_mark}"
        updated = self.store.updated()
        self.compare_updated("updated()", updated)
        self.keep("updated()", updated)
        if self.walks and self.store.has_mark and (view := self.store.view()).has_updated:
            self.compare_updated("the walk of updated edges", walk_updated(view, len(self.table)))

    def compare_updated(self, what: str, updated: EdgeList) -> None:
        """Compare ``updated``, the edges inserted since the mark, with the table; ``what``: the call, for messages.

        Without a mark all edges count. One that was stored at the mark, deleted and inserted again is optional.
        """
        if self.at_mark is None:
            self.compare(what, updated, self.table)
            return
        listed = edge_keys(self.device.to_numpy(updated.src), self.device.to_numpy(updated.dst))
        optional = np.intersect1d(self.at_mark, self.deleted_since_mark)
        left_out = np.setdiff1d(self.at_mark, np.intersect1d(optional, listed))
        self.compare(what, updated, self.table.select(~np.isin(self.table.keys, left_out)))

    def verify_view(self, rng: np.random.Generator) -> None:
        """Check sizes, arrays and cursor of the view; if ``walks``, compare the edges that the cursor yields."""
        view = self.store.view()
        arrays = {name: part for name, part in view.data._asdict().items() if isinstance(part, self.device.xp.ndarray)}
        for name, part in arrays.items():
            assert part.flags.c_contiguous, f"the array {name} of the view is not contiguous"
        kinds = {name: (part.dtype, part.ndim) for name, part in arrays.items()}
        self.kinds = self.kinds or kinds
        assert kinds == self.kinds, f"the arrays of the view are {kinds}, those of an earlier one {self.kinds}"
        assert view.num_vertices == self.store.num_vertices, f"the view has {view.num_vertices} vertices"
        assert same_dtype(view.weight_dtype, self.store.weight_dtype), f"the view has weights of {view.weight_dtype}"
        assert view.header.is_file(), f"{view.header} is missing"
        missing = missing_functions(view)
        assert not missing, f"{view.cursor} lacks {', '.join(missing)}"
        if not self.walks:
            return
        src, dst = self.sample(rng)
        absent = ~self.table.contains(edge_keys(src, dst))
        edges, degrees = walk_view(view, len(self.table), (src[absent], dst[absent]))
        self.compare("the walk of the view", edges, self.table)
        wanted = self.table.degrees(view.num_vertices)
        assert np.array_equal(degrees, wanted), "degree() of the cursor is wrong"

    def verify_copy(self, device: Device, rng: np.random.Generator) -> ModelledStore:
        """Copy the store to ``device``, verify the copy, change it, and verify that the store has not changed.

        Returns the copy; it must not change when the store does.
        """
        copy = self.copy_to(device)
        copy.verify(rng)
        n, dtype = copy.store.num_vertices, copy.store.weight_dtype
        copy.delete_vertices(np.arange(0, n, 2, dtype=np.uint32))
        src, dst = draw_ids(rng, 40, n, 1000, 1), draw_ids(rng, 40, n, 1000, 1)
        copy.insert(src, dst, None if dtype is None else draw_weights(rng, len(src), dtype))
        copy.verify(rng)
        return copy

    # -- random operations ---------------------------------------------------------------------------------------------

    def step(self, operation: str, size: int, spread: int, stride: int, seed: int) -> None:
        """Do one random operation on the store, and verify.

        Args:
            operation: "insert", "delete", "delete_vertices", "resize", "mark", "reserve", "compact" or "copy".
            size: how many ids are drawn, or vertices are added, or edges are reserved.
            spread: how many distinct sources there may be.
            stride: the distance between possible destinations.
            seed: seed of all that is drawn.
        """
        rng, n = np.random.default_rng(seed), self.store.num_vertices
        src, dst = draw_ids(rng, size, n, spread, 1), draw_ids(rng, size, n, 1000, stride)
        dtype = self.store.weight_dtype
        if operation == "insert":
            self.insert(src, dst, None if dtype is None else draw_weights(rng, len(src), dtype))
        elif operation == "delete":
            there = self.table.keys[rng.random(len(self.table)) < rng.random()]
            src, dst = (np.concatenate(pair) for pair in zip((src, dst), ends_of(there), strict=True))
            self.delete(src, dst)
        elif operation == "delete_vertices":
            self.delete_vertices(np.unique(src))
        elif operation == "resize":
            self.resize(n + size)
        elif operation == "mark":
            self.mark()
        elif operation == "reserve":
            self.reserve(size)
        elif operation == "compact":
            self.compact()
        self.verify(rng)
        if self._copy is not None:  # made by the step before
            self._copy.verify(rng)
        self._copy = self.verify_copy(self.device, rng) if operation == "copy" else None
