"""A backend: one ascending array of keys ``source << 32 | destination``, walked by a cursor of its own."""

from pathlib import Path
from typing import ClassVar

import numpy as np

from suricate.base.types import NEW, REMOVED, REPLACED, EdgeList, Outcome, StoreView, edge_keys
from suricate.errors import CapacityError, CheckFailed
from suricate.store import Store


class KeyStore(Store):
    """One ascending array of edge keys, in which at most ``most_edges`` fit (0: any number)."""

    name = "keys-of-api-1"
    devices = ("cpu", "cuda")
    priority = -10
    knobs: ClassVar = {"most_edges": (0, 1 << 30)}

    def __init__(self, num_vertices, *, most_edges=0, **options):
        super().__init__(num_vertices, **options)
        xp = self.device.xp
        self.most_edges = most_edges
        self._keys = xp.zeros(0, np.uint64)
        self._weights = None if self.weight_dtype is None else xp.zeros(0, self.weight_dtype)

    def options(self):
        """Return what the store was built with."""
        return {"most_edges": self.most_edges}

    def memory(self):
        """Return the bytes in use and allocated."""
        size = self._keys.nbytes + (0 if self._weights is None else self._weights.nbytes)
        parts = {"edges": (size, size)}
        if self.has_mark:
            parts["mark"] = super().memory()["mark"]
        return parts

    def insert(self, src, dst, weight=None, *, guard=None):
        """Merge a batch in; the last duplicate of an edge reports, and its weight wins."""
        xp = self.device.xp
        keys, last = self._last_of_each(src, dst)
        at, there = self._locate(keys)
        stored, new = last[there], last[~there]
        if self.most_edges and len(self._keys) + len(new) > self.most_edges:
            raise CapacityError(f"{self.name} has {self.most_edges} places")
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

    def delete(self, src, dst, *, guard=None):
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

    def edges(self):
        """Take the keys apart; they are ordered by source."""
        src, dst = (self._keys >> np.uint64(32)).astype(np.uint32), self._keys.astype(np.uint32)
        return EdgeList(src, dst, None if self._weights is None else self._weights.copy())

    def view(self):
        """Return the arrays, and the cursor that searches them."""
        from plugin_of_api_1.keys_cursor import KeyView

        weights = self.device.xp.zeros(0, np.uint8) if self._weights is None else self._weights
        return StoreView(
            data=KeyView(self._keys, weights, len(self._keys)),
            cursor="plugin_of_api_1.keys_cursor",
            header=Path(__file__).with_name("keys_cursor.cuh"),
            num_vertices=self.num_vertices,
            weight_dtype=self.weight_dtype,
            ascending=True,
            find="sorted",
        )

    def check(self):
        """Verify that the keys ascend."""
        super().check()
        keys = self.device.to_numpy(self._keys)
        if not np.all(keys[1:] > keys[:-1]):
            raise CheckFailed("the keys do not ascend")

    def _last_of_each(self, src, dst):
        xp, keys = self.device.xp, edge_keys(src, dst)
        order = xp.lexsort(xp.stack([xp.arange(len(keys)).astype(np.uint64), keys]))
        keys = keys[order]
        is_last = xp.concatenate([keys[1:] != keys[:-1], xp.ones(min(len(keys), 1), bool)])
        return keys[is_last], order[is_last]

    def _locate(self, keys):
        xp, at = self.device.xp, self.device.xp.searchsorted(self._keys, keys)
        there = xp.zeros(len(keys), bool)
        inside = at < len(self._keys)
        there[inside] = self._keys[at[inside]] == keys[inside]
        return at, there

    def _keep(self, keys, weights, which):
        keys, weights = keys[which], None if weights is None else weights[which]
        self._keys, self._weights = keys, weights
