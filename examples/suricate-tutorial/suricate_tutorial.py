"""A complete backend in less than a hundred lines, which docs/plugins.md explains.

All edges lie in one ascending array of 64-bit keys, ``source << 32 | destination``, with the weights beside it. A batch
is sorted and merged in, so an update costs O(edges), and everything that the protocol offers besides the three methods
below comes from its fallbacks. It is written against ``device.xp`` (NumPy or CuPy), and so runs on both devices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import NEW, REMOVED, REPLACED, EdgeList, Outcome, edge_keys
from suricate.plugins import hookimpl
from suricate.store import Store


class TutorialStore(Store):
    """One ascending array of edge keys."""

    name = "tutorial"

    def __init__(self, num_vertices: int, **options: Any) -> None:
        super().__init__(num_vertices, **options)
        xp = self.device.xp
        self._keys = xp.zeros(0, np.uint64)
        self._weights = None if self.weight_dtype is None else xp.zeros(0, self.weight_dtype)

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Merge a batch in; the last duplicate of an edge reports, and its weight wins."""
        xp = self.device.xp
        keys, last = self._last_of_each(src, dst)
        at, there = self._locate(keys)
        stored, new = last[there], last[~there]
        status = xp.zeros(len(src), np.uint8)
        status[new] = NEW
        old, weights = None, self._weights
        if weight is not None:
            old = xp.zeros_like(weight)
            old[stored] = weights[at[there]]
            before, after = (part[stored].view(f"u{part.itemsize}") for part in (old, weight))
            status[stored[before != after]] = REPLACED
            weights = xp.concatenate([weights, weight[new]])
            weights[at[there]] = weight[stored]
        keys = xp.concatenate([self._keys, keys[~there]])
        self._keep(keys, weights, xp.argsort(keys))
        return Outcome(status, old)

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Take a batch out; the last duplicate of an edge reports."""
        xp = self.device.xp
        keys, last = self._last_of_each(src, dst)
        at, there = self._locate(keys)
        status = xp.zeros(len(src), np.uint8)
        status[last[there]] = REMOVED
        old = None
        if self._weights is not None:
            old = xp.zeros(len(src), self.weight_dtype)
            old[last[there]] = self._weights[at[there]]
        stays = xp.ones(len(self._keys), bool)
        stays[at[there]] = False
        self._keep(self._keys, self._weights, stays)
        return Outcome(status, old)

    def edges(self) -> EdgeList:
        """Take the keys apart; they are ascending, so the edges are ordered by source."""
        src, dst = (self._keys >> np.uint64(32)).astype(np.uint32), self._keys.astype(np.uint32)
        return EdgeList(src, dst, None if self._weights is None else self._weights.copy())

    def _last_of_each(self, src: Array, dst: Array) -> tuple[Array, Array]:
        """Return the distinct keys of a batch, ascending, and the position of the last duplicate of each."""
        xp, keys = self.device.xp, edge_keys(src, dst)
        order = xp.lexsort(xp.stack([xp.arange(len(keys)).astype(np.uint64), keys]))
        keys = keys[order]
        is_last = xp.concatenate([keys[1:] != keys[:-1], xp.ones(min(len(keys), 1), bool)])
        return keys[is_last], order[is_last]

    def _locate(self, keys: Array) -> tuple[Array, Array]:
        """Return where each key is, or would be, and whether it is there."""
        xp, at = self.device.xp, self.device.xp.searchsorted(self._keys, keys)
        there = xp.zeros(len(keys), bool)
        inside = at < len(self._keys)
        there[inside] = self._keys[at[inside]] == keys[inside]
        return at, there

    def _keep(self, keys: Array, weights: Array | None, which: Array) -> None:
        """Store the edges under a mask or at positions; all that can fail is done before anything is assigned."""
        keys, weights = keys[which], None if weights is None else weights[which]
        self._keys, self._weights = keys, weights


@hookimpl
def suricate_backends() -> list[type[Store]]:
    """Return the backend."""
    return [TutorialStore]
