"""A correct backend that brings what the tutorial's leaves to fallbacks: guard, limit, marks, degrees, copies, apply().

The wrong backends are this one with one fault each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from suricate_tutorial import TutorialStore

from suricate.base.devices import Array, Device
from suricate.base.types import EdgeList, Outcome
from suricate.errors import CapacityError
from suricate.intake.batches import HostBatch, StoreBatch
from suricate.intake.ingest import UnvalidatedBatch

EDGE_BYTES = 80  #: most that an insertion holds per edge of the store and the batch
VERTEX_BYTES = 24  #: and per vertex


class SoundStore(TutorialStore):
    """One ascending array of edge keys, the degrees, and the keys that were there at the mark. CPU only."""

    name = "sound"
    devices = ("cpu",)
    guarded = True

    def __init__(self, num_vertices: int, **options: Any) -> None:
        super().__init__(num_vertices, **options)
        self._at_mark: np.ndarray | None = None
        self._admit(0, num_vertices)
        self._degrees = np.zeros(num_vertices, np.uint32)

    def _admit(self, edges: int, num_vertices: int) -> None:
        """Raise ``CapacityError`` if a store of this size may exceed the limit while a batch goes in."""
        marked = 0 if self._at_mark is None else self._at_mark.nbytes
        size = EDGE_BYTES * edges + VERTEX_BYTES * num_vertices + marked
        if self.memory_limit is not None and size > self.memory_limit:
            raise CapacityError(f"{edges} edges do not fit in {self.memory_limit} bytes")

    def _held_back(self, guard: Array | None) -> bool:
        return guard is not None and bool(guard[0])

    def _nothing(self, size: int) -> Outcome:
        return Outcome(np.zeros(size, np.uint8), None if self._weights is None else np.zeros(size, self.weight_dtype))

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        if self._held_back(guard):
            return self._nothing(len(src))
        self._admit(len(self._keys) + len(src), self.num_vertices)
        return super().insert(src, dst, weight)

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        return self._nothing(len(src)) if self._held_back(guard) else super().delete(src, dst)

    def apply(self, delete: StoreBatch | None, insert: StoreBatch | None) -> Callable[[], None] | None:
        if not all(batch is None or isinstance(batch, HostBatch) for batch in (delete, insert)):
            return None
        if insert is not None:
            self.reserve(insert.size)
        return partial(self._carry_out, delete, insert)

    def _carry_out(self, delete: Any, insert: Any) -> None:
        if delete is not None:
            delete.outcome = self.delete(*delete.arcs[:2])
        if insert is not None:
            insert.outcome = self.insert(*insert.arcs)

    def query(self, edges: UnvalidatedBatch | EdgeList) -> tuple[Array, Array | None] | None:
        return self.find(edges.src, edges.dst) if isinstance(edges, EdgeList) else None

    def _keep(self, keys: Array, weights: Array | None, which: Array) -> None:
        sources = (keys[which] >> np.uint64(32)).astype(np.int64)
        degrees = np.bincount(sources, minlength=self.num_vertices).astype(np.uint32)
        super()._keep(keys, weights, which)
        self._degrees = degrees

    def degrees(self) -> Array:
        return self._degrees.copy()

    def resize(self, num_vertices: int) -> None:
        self._admit(len(self._keys), num_vertices)
        degrees, kept = np.zeros(num_vertices, np.uint32), min(num_vertices, self.num_vertices)
        degrees[:kept] = self._degrees[:kept]
        self._degrees, self.num_vertices = degrees, num_vertices

    def reserve(self, num_edges: int) -> None:
        self._admit(len(self._keys) + num_edges, self.num_vertices)

    def mark(self) -> None:
        self._admit(len(self._keys), self.num_vertices)
        self._at_mark = self._keys.copy()

    @property
    def has_mark(self) -> bool:
        return self._at_mark is not None

    def updated(self) -> EdgeList:
        edges = self.edges()
        if self._at_mark is None:
            return edges
        inserted = ~np.isin(self._keys, self._at_mark)
        return EdgeList(*(None if part is None else part[inserted] for part in edges))

    def memory(self) -> dict[str, tuple[int, int]]:
        held = {"keys": self._keys, "weights": self._weights, "degrees": self._degrees, "mark": self._at_mark}
        return {name: (part.nbytes, part.nbytes) for name, part in held.items() if part is not None}

    def copy_to(self, device: Device) -> SoundStore:
        other = type(self)(
            self.num_vertices, device=device, weight_dtype=self.weight_dtype, memory_limit=self.memory_limit
        )
        other._keys, other._degrees = self._keys.copy(), self._degrees.copy()
        other._weights = None if self._weights is None else self._weights.copy()
        other._at_mark = None if self._at_mark is None else self._at_mark.copy()
        return other
