"""Stores whose CUDA kernels run on the CPU, each with a dict that says what is in it; and batches for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from emulated import EmulatedDevice, EmulatedSorter

from suricate.base.devices import CPU
from suricate.base.types import NEW, REMOVED, REPLACED, UNCHANGED, EdgeList
from suricate.cuda.batch_memory import batch_offsets
from suricate.intake.batches import device_batches
from suricate.intake.ingest import FIRST_PART, STATUS, UnvalidatedBatch, the_variant
from suricate.store.batch_store import BatchStore


def unchecked(
    operation: str, src: np.ndarray, dst: np.ndarray, num_vertices: int, *, mirrored: bool
) -> tuple[UnvalidatedBatch, list[np.ndarray]]:
    """Return a batch as the graph gives it to its store, and what it points to: the status and the answer first."""
    kept = [np.zeros(3 * STATUS.size, np.uint8), np.zeros(2, np.uint64), src.astype(np.int64), dst.astype(np.int32)]
    status, notes, *ids = (part.ctypes.data for part in kept)
    words = (*ids, 0, status, notes, len(src), num_vertices, 0, 0, 1, FIRST_PART)
    variant = the_variant("int64", "int32", None, None, mirrored, 0)
    return UnvalidatedBatch(operation, variant, len(src) << mirrored, words, True), kept


def batches_of(
    device: Any, removed: UnvalidatedBatch | None, added: UnvalidatedBatch | None, dtype: np.dtype | None = None,
    *, paired: bool = False,
) -> Any:  # fmt: skip
    """Return the batches for a store of a deletion and an insertion, with memory for the outcomes."""
    sizes = (0 if half is None else half.size for half in (removed, added))
    offsets = batch_offsets(*sizes, 0 if dtype is None else dtype.itemsize, int(paired))
    memory, guard = device.xp.cuda.alloc(offsets[-1]), next(half.guard for half in (removed, added) if half is not None)
    return device_batches(removed, added, dtype, memory, offsets, guard, lambda *_: None, paired=paired)


class Twin:
    """Changes both, and compares what the store reports and holds."""

    def __init__(self, kind: type[BatchStore], num_vertices: int, weight_dtype: str | None, **options: Any) -> None:
        self.dtype = None if weight_dtype is None else np.dtype(weight_dtype)
        self.device: Any = EmulatedDevice()
        self.store: Any = kind(num_vertices, device=self.device, weight_dtype=self.dtype, **options)
        self.store.sorter = EmulatedSorter(self.device)
        self.model: dict[tuple[int, int], Any] = {}

    def weights(self, size: int, rng: np.random.Generator) -> np.ndarray | None:
        """Return weights, of which many are equal."""
        return None if self.dtype is None else rng.integers(1, 4, size).astype(self.dtype)

    def insert(self, src: np.ndarray, dst: np.ndarray, rng: np.random.Generator) -> None:
        """Insert edges of random weights."""
        weight = self.weights(len(src), rng)
        outcome = self.store.insert(*map(self.device.put, (src, dst, weight)))
        self._expect_inserted(EdgeList(src, dst, weight), outcome)
        self.compare()

    def delete(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Delete edges."""
        self._expect_removed(EdgeList(src, dst), self.store.delete(*map(self.device.put, (src, dst))))
        self.compare()

    def keep(self, rows: list[list[int]], rng: np.random.Generator) -> None:
        """Keep rows, and insert edges there; edges of other rows go, and nothing is found there."""
        self.store.keep_rows(np.array(rows))
        kept = {u for low, high in rows for u in range(low, high)}
        self.model = {edge: weight for edge, weight in self.model.items() if edge[0] in kept}
        self.compare()
        n = self.store.num_vertices
        self.insert(rng.choice(np.array([*kept], np.uint32), 500), rng.integers(0, n, 500).astype(np.uint32), rng)
        every = np.repeat(np.arange(n, dtype=np.uint32), 3), rng.integers(0, n, 3 * n).astype(np.uint32)
        store = self.store.copy_to(CPU) if self.store.name == "hornet_like" else self.store  # which asks its cursor
        found, _ = store.find(*map(self.device.put, every))
        pairs = zip(*(ids.tolist() for ids in every), strict=True)
        assert np.asarray(found).tolist() == [edge in self.model for edge in pairs]

    def refuse(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Delete and insert edges as batches that were found invalid."""
        src, dst, guard = map(self.device.put, (src, dst, np.ones(1, np.uint32)))
        weight = None if self.dtype is None else self.device.put(np.zeros(len(src), self.dtype))
        for outcome in (self.store.delete(src, dst, guard=guard), self.store.insert(src, dst, weight, guard=guard)):
            assert not np.asarray(outcome.status).any()
        self.compare()

    def change(self, removed: EdgeList, added: EdgeList) -> None:
        """Delete edges and insert others at once, checked by a launch ahead of this."""
        guard, variant = np.zeros(4, np.uint64), the_variant("int64", "int64")
        halves = [
            UnvalidatedBatch(name, variant, len(edges.src), (0, 0, 0, guard.ctypes.data, *(0,) * 7), False)
            for name, edges in (("delete", removed), ("insert", added))
        ]
        gone, new = batches_of(self.device, *halves, self.dtype)
        for batch, edges in ((gone, removed), (new, added)):
            for held, given in zip(batch.edges(), edges, strict=True):
                if held is not None:
                    held[:] = given
            batch.unchecked = None
        self.store.apply(gone, new)()
        assert gone.done
        assert new.done
        self._expect_removed(removed, gone.outcome())
        self._expect_inserted(added, new.outcome())
        self.compare()

    def _expect_inserted(self, edges: EdgeList, outcome: Any) -> None:
        src, dst, weight = edges
        expected, old = np.full(len(src), UNCHANGED), {}
        for (u, v), i in {edge: i for i, edge in enumerate(zip(src.tolist(), dst.tolist(), strict=True))}.items():
            now = None if weight is None else weight[i]
            if (u, v) not in self.model:
                expected[i] = NEW
            else:
                old[i] = self.model[u, v]
                if old[i] != now:
                    expected[i] = REPLACED
            self.model[u, v] = now
        status, before = outcome
        assert np.array_equal(status, expected)
        replaced = np.flatnonzero(expected == REPLACED)
        assert self.dtype is None or before[replaced].tolist() == [old[i] for i in replaced]

    def _expect_removed(self, edges: EdgeList, outcome: Any) -> None:
        status, before = outcome
        pairs = list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
        removed = np.flatnonzero(np.asarray(status) == REMOVED)
        assert sorted(pairs[i] for i in removed) == sorted(set(pairs) & self.model.keys())
        for i in removed:
            weight = self.model.pop(pairs[i])
            assert self.dtype is None or before[i] == weight

    def compare(self) -> None:
        """Compare the edges, and verify the invariants of the layout."""
        copy = self.store.copy_to(CPU)
        copy.check()
        src, dst, weight = copy.edges()
        held = {} if weight is None else dict(zip(zip(src.tolist(), dst.tolist(), strict=True), weight, strict=True))
        assert sorted(zip(src.tolist(), dst.tolist(), strict=True)) == sorted(self.model)
        assert weight is None or held == self.model
