"""A store beside the dictionary of edges that it must equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.cursors import has_updated_iterator
from suricate.devices import Array, Device
from suricate.store import Store
from suricate.testing.draws import Edge, draw_ids, draw_weights
from suricate.testing.walks import walk_updated, walk_view
from suricate.types import NEW, REMOVED, REPLACED, UNCHANGED, EdgeList, Outcome


class ModelledStore:
    """A store beside the dictionary that it must equal; every method does one operation on both and compares."""

    def __init__(self, store: Store, *, walks: bool) -> None:
        self.store, self.device, self.walks = store, store.device, walks
        self.edges: dict[Edge, Any] = {}
        self.at_mark: set[Edge] | None = None
        self.deleted_since_mark: set[Edge] = set()

    def to_device(self, array: np.ndarray) -> Array:
        """Return a copy of ``array`` on the device of the store."""
        return self.device.xp.array(array)

    def insert(self, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None) -> None:
        """Insert a batch and compare the status, and the weight before, of every edge."""
        batch = [None if part is None else self.to_device(part) for part in (src, dst, weight)]
        outcome = self.host(self.store.insert(*batch), len(src))
        for part, before in zip(batch, (src, dst, weight), strict=True):
            if part is not None and before is not None:
                assert np.array_equal(self.device.to_numpy(part), before), "insert() wrote to its input"
                part[:] = 0  # the store must not keep the array
        for edge, at in positions(src, dst).items():
            status, last = outcome.status[at], at[-1]
            there = edge in self.edges
            if weight is None:
                assert (status == NEW).sum() == (not there), f"{edge}: {status}, in the store before: {there}"
                assert (status != UNCHANGED).sum() == (not there), f"{edge}: {status}"
            else:
                assert not status[:-1].any(), f"{edge}: only the last duplicate may report, got {status}"
                changed = REPLACED if there and self.edges[edge] != weight[last] else UNCHANGED
                assert status[-1] == (changed if there else NEW), f"{edge}: {status}, before: {self.edges.get(edge)}"
                if status[-1] == REPLACED:
                    assert outcome.weight is not None
                    assert outcome.weight[last] == self.edges[edge], f"{edge}: wrong weight before the batch"
            self.edges[edge] = None if weight is None else weight[last]

    def delete(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Delete a batch and compare the status, and the weight before, of every edge."""
        outcome = self.host(self.store.delete(self.to_device(src), self.to_device(dst)), len(src))
        for edge, at in positions(src, dst).items():
            status = outcome.status[at]
            assert (status == REMOVED).sum() == (edge in self.edges), f"{edge}: {status}"
            assert (status != UNCHANGED).sum() == (edge in self.edges), f"{edge}: {status}"
            if edge in self.edges and outcome.weight is not None:
                assert outcome.weight[at[status == REMOVED]][0] == self.edges[edge], f"{edge}: wrong weight before"
            self.forget(edge)

    def delete_vertices(self, vertices: np.ndarray) -> None:
        """Free the out-edges of distinct vertices."""
        self.store.delete_vertices(self.to_device(vertices))
        for edge in [edge for edge in self.edges if edge[0] in set(vertices.tolist())]:
            self.forget(edge)

    def forget(self, edge: Edge) -> None:
        """Remove an edge from the dictionary."""
        if self.edges.pop(edge, self) is not self:
            self.deleted_since_mark.add(edge)

    def resize(self, num_vertices: int) -> None:
        """Grow the store."""
        self.store.resize(num_vertices)
        assert self.store.num_vertices == num_vertices

    def mark(self) -> None:
        """Start to remember insertions."""
        self.store.mark()
        self.at_mark, self.deleted_since_mark = set(self.edges), set()

    def host(self, outcome: Outcome, count: int) -> Outcome:
        """Return ``outcome`` in NumPy arrays, of the right dtypes and length."""
        status = self.device.to_numpy(outcome.status)
        assert status.dtype == np.uint8
        assert status.shape == (count,)
        if self.store.weight_dtype is None:
            assert outcome.weight is None
            return Outcome(status)
        assert outcome.weight is not None
        weight = self.device.to_numpy(outcome.weight)
        assert weight.dtype == self.store.weight_dtype
        assert weight.shape == (count,)
        return Outcome(status, weight)

    def compare(self, edges: EdgeList, wanted: dict[Edge, Any], what: str) -> None:
        """Compare edges of the store, in any order, with those of a dictionary."""
        src, dst = self.device.to_numpy(edges.src), self.device.to_numpy(edges.dst)
        assert src.dtype == dst.dtype == np.uint32, what
        assert src.shape == dst.shape == (len(wanted),), f"{what}: {len(src)} edges instead of {len(wanted)}"
        found = set(zip(src.tolist(), dst.tolist(), strict=True))
        assert found == set(wanted), f"{what}: missing {set(wanted) - found}, superfluous {found - set(wanted)}"
        if self.store.weight_dtype is None:
            assert edges.weight is None, what
            return
        assert edges.weight is not None, what
        weight = self.device.to_numpy(edges.weight)
        assert weight.dtype == self.store.weight_dtype, what
        expected = [wanted[edge] for edge in zip(src.tolist(), dst.tolist(), strict=True)]
        assert np.array_equal(weight, np.array(expected, weight.dtype)), f"{what}: wrong weights"

    def verify(self, rng: np.random.Generator) -> None:
        """Compare everything that the store can be asked with the dictionary."""
        store, n = self.store, self.store.num_vertices
        store.check()
        edges = store.edges()
        self.compare(edges, self.edges, "edges()")
        src = self.device.to_numpy(edges.src)
        assert (src[:-1] <= src[1:]).all(), "edges() is not ordered by source"
        sources = np.array([u for u, _ in self.edges], np.int64)
        scrap = store.degrees()
        scrap += 1
        degrees = self.device.to_numpy(store.degrees())
        assert degrees.dtype == np.uint32
        assert np.array_equal(degrees, np.bincount(sources, minlength=n)), "degrees(), or it is no copy"
        assert store.num_edges == len(self.edges)
        self.verify_find(rng)
        self.verify_adjacency(rng)
        self.verify_updated()
        self.verify_view(rng)
        for part, (used, allocated) in store.memory().items():
            assert 0 <= used <= allocated, f"memory(): {part} uses {used} of {allocated} bytes"

    def sample(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs, about half of them edges (uint32)."""
        n, there = self.store.num_vertices, list(self.edges)
        chosen = [there[i] for i in rng.integers(0, len(there), 20)] if there else []
        pairs = np.array(chosen, np.uint32).reshape(-1, 2)
        pairs = np.concatenate([pairs, rng.integers(0, n, (20, 2)).astype(np.uint32)]) if n else pairs
        return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])

    def verify_find(self, rng: np.random.Generator) -> None:
        """Compare find() on edges and others, and on nothing."""
        src, dst = self.sample(rng)
        for size in (len(src), 0):
            found, weight = self.store.find(self.to_device(src[:size]), self.to_device(dst[:size]))
            found = self.device.to_numpy(found)
            assert found.dtype == bool
            pairs = list(zip(src[:size].tolist(), dst[:size].tolist(), strict=True))
            assert found.tolist() == [pair in self.edges for pair in pairs], "find()"
            assert (weight is None) == (self.store.weight_dtype is None)
            if weight is not None:
                weight = self.device.to_numpy(weight)
                assert weight.dtype == self.store.weight_dtype
                wanted = [self.edges[pair] for pair in pairs if pair in self.edges]
                assert np.array_equal(weight[found], np.array(wanted, weight.dtype)), "find(): wrong weights"

    def verify_adjacency(self, rng: np.random.Generator) -> None:
        """Compare adjacency() of vertices with repeats, and of none."""
        n = self.store.num_vertices
        vertices = rng.integers(0, n, 12 if n else 0).astype(np.uint32)
        vertices = np.concatenate([vertices, vertices[:3]])
        for some in (vertices, vertices[:0]):
            part = self.store.adjacency(self.to_device(some))
            offsets = self.device.to_numpy(part.offsets)
            assert offsets.dtype == np.int64
            assert offsets.shape == (len(some) + 1,)
            assert offsets[0] == 0
            assert offsets[-1] == len(part.dst)
            for i, u in enumerate(some.tolist()):
                lo, hi = int(offsets[i]), int(offsets[i + 1])
                owner = self.device.xp.full(hi - lo, u, np.uint32)
                weight = None if part.weight is None else part.weight[lo:hi]
                wanted = {edge: value for edge, value in self.edges.items() if edge[0] == u}
                self.compare(EdgeList(owner, part.dst[lo:hi], weight), wanted, f"adjacency() of {u}")

    def verify_updated(self) -> None:
        """Compare updated(), and what the updated-edges iterator of the cursor meets, if there is one."""
        assert self.store.has_mark == (self.at_mark is not None), f"has_mark is {self.store.has_mark}"
        self.compare_updated(self.store.updated(), "updated()")
        if self.walks and self.store.has_mark and has_updated_iterator((view := self.store.view()).cursor):
            self.compare_updated(walk_updated(view, len(self.edges)), "the walk of updated edges")

    def compare_updated(self, updated: EdgeList, what: str) -> None:
        """Compare inserted edges: one that was there at the mark and came back may be among them or not."""
        pairs = zip(self.device.to_numpy(updated.src).tolist(), self.device.to_numpy(updated.dst).tolist(), strict=True)
        optional = (self.at_mark or set()) & self.deleted_since_mark & set(pairs)
        wanted = {edge: w for edge, w in self.edges.items() if edge not in (self.at_mark or ()) or edge in optional}
        self.compare(updated, wanted, what)

    def verify_view(self, rng: np.random.Generator) -> None:
        """Walk the view of a CPU store through its cursor functions."""
        view = self.store.view()
        assert view.num_vertices == self.store.num_vertices
        assert view.weight_dtype == self.store.weight_dtype
        assert view.header.is_file(), f"{view.header} is missing"
        if not self.walks:
            return
        src, dst = self.sample(rng)
        absent = np.array([pair not in self.edges for pair in zip(src.tolist(), dst.tolist(), strict=True)], bool)
        edges, degrees = walk_view(view, len(self.edges), (src[absent], dst[absent]))
        self.compare(edges, self.edges, "the walk of the view")
        sources = np.array([u for u, _ in self.edges], np.int64)
        assert np.array_equal(degrees, np.bincount(sources, minlength=view.num_vertices)), "degree() of the cursor"

    def verify_copy(self, device: Device, rng: np.random.Generator) -> None:
        """Copy the store to ``device``; the copy is equal and independent."""
        copy = ModelledStore(self.store.copy_to(device), walks=self.walks and not device.is_cuda)
        assert copy.store.device == device
        assert copy.store.options() == self.store.options()
        copy.edges = dict(self.edges)
        copy.store.mark()
        copy.at_mark = set(copy.edges)
        copy.verify(rng)
        copy.delete_vertices(np.arange(copy.store.num_vertices, dtype=np.uint32))
        copy.verify(rng)

    def step(self, operation: str, size: int, spread: int, stride: int, seed: int) -> None:
        """Do one random operation of the given size, and verify."""
        rng, n = np.random.default_rng(seed), self.store.num_vertices
        src, dst = draw_ids(rng, size, n, spread, 1), draw_ids(rng, size, n, 1000, stride)
        dtype = self.store.weight_dtype
        if operation == "insert":
            self.insert(src, dst, None if dtype is None else draw_weights(rng, len(src), dtype))
        elif operation == "delete":
            there = np.array(list(self.edges), np.uint32).reshape(-1, 2)
            there = there[rng.random(len(there)) < rng.random()]
            src, dst = np.concatenate([src, there[:, 0]]), np.concatenate([dst, there[:, 1]])
            self.delete(src, dst)
        elif operation == "delete_vertices":
            self.delete_vertices(np.unique(src))
        elif operation == "resize":
            self.resize(n + size)
        elif operation == "mark":
            self.mark()
        elif operation == "reserve":
            self.store.reserve(size)
        elif operation == "compact":
            self.store.compact()
        elif operation == "copy":
            self.verify_copy(self.device, rng)
        self.verify(rng)


def positions(src: np.ndarray, dst: np.ndarray) -> dict[Edge, np.ndarray]:
    """Return where each edge of a batch occurs, ascending."""
    where: dict[Edge, list[int]] = {}
    for i, edge in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        where.setdefault(edge, []).append(i)
    return {edge: np.array(at) for edge, at in where.items()}
