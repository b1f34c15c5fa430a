"""The insertions into a store since a mark."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.errors import CapacityError
from suricate.base.types import NEW, EdgeList, edge_keys
from suricate.intake.arrays import sorted_distinct
from suricate.primitives.counters import Counters
from suricate.store import Store
from suricate.store.array_manager import ArrayManager, first_that_fits


class InsertLog:
    """The keys of the edges inserted since a mark, in the array ``log`` of a store.

    An edge that is deleted and inserted again is logged again. When the array is full and has more keys than the store
    has edges, repeats and deleted edges are dropped. So the log has at most about as many keys as the store has edges.
    In the methods ``store`` is the store whose insertions are logged; it tells which edges are still stored.

    Args:
        pool: the manager of the store's arrays, among them ``log``.
        count: number of keys that the array has already; 0: the array is replaced by an empty one.
    """

    SCRATCH = 48  #: bytes per key while repeats are dropped

    def __init__(self, pool: ArrayManager[Any], count: int = 0) -> None:
        self._pool, self._device = pool, pool.device
        self._count = pool.device.xp.full(1, count, np.int64)
        self._seen = Counters(pool.device, 1)
        self._seen.read(self._count)
        if not count:
            pool.attach({"log": pool["log"][:0].copy()})  # frees that of the mark before

    def count(self) -> int:
        """Return the number of keys; on CUDA waits for the device."""
        return int(self._seen.read(self._count)[0])

    def reserve(self, most: int, store: Store) -> None:
        """Make sure that ``most`` more keys fit into the array; if it is full, drop repeats and deleted edges, or grow.

        Raises ``CapacityError`` if there is not enough memory; on CUDA it may wait for the device.
        """
        self._seen.poll()
        if int(self._seen.values[0] + self._seen.unseen[0]) + most <= len(self._pool["log"]):
            return
        if self.count() > store.num_edges:
            self._drop_repeats(store)
        held = self.count()
        ahead = 8 if self._device.is_cuda else 1  # so that the bound seldom has to be made exact, which waits
        first_that_fits(lambda more: self._pool.grow("log", held + more, held), ahead * most, most)

    def add(self, src: Array, dst: Array, status: Array) -> None:
        """Log the edges ``src[i]`` to ``dst[i]`` of a batch whose ``status[i]`` is ``NEW``."""
        if self._device.is_cuda:
            from suricate.primitives import cuda

            cuda.log_new(src, dst, status, self._count, self._pool["log"])
            self._seen.charge(len(src), 0)
            self._seen.post(self._count)
            return
        new = np.flatnonzero(status == NEW)
        held = int(self._count[0])
        self._pool["log"][held : held + len(new)] = edge_keys(src[new], dst[new])
        self._count[0] = held + len(new)
        self._seen.read(self._count)

    def compact(self, store: Store) -> None:
        """Drop repeats and deleted edges, and free unused memory as far as possible."""
        with suppress(CapacityError):
            self._drop_repeats(store)
            self._pool.resize("log", self.count(), self.count())

    def edges(self, store: Store) -> EdgeList:
        """Return the logged edges that are still in ``store``, ordered by source, with their present weights."""
        keys = sorted_distinct(self._pool["log"][: self.count()].copy(), self._device.xp)
        src, dst = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
        there = (src < store.num_vertices) & (dst < store.num_vertices)  # others went when the store shrank
        src, dst = src[there], dst[there]
        found, weight = store.find(src, dst)
        return EdgeList(src[found], dst[found], None if weight is None else weight[found])

    def _drop_repeats(self, store: Store) -> None:
        self._pool.admit(self.SCRATCH * self.count())
        edges = self.edges(store)
        kept = len(edges.src)
        self._pool["log"][:kept] = edge_keys(edges.src, edges.dst)
        self._count[0] = kept
        self._seen.read(self._count)
