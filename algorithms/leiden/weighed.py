"""Arcs in NumPy, with which communities are checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Weighed(NamedTuple):
    """The arcs of an undirected graph, two per edge, a self-loop one; ``live``: which vertices are.

    In the methods ``label`` has a community per vertex; those of deleted vertices do not count.
    """

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    live: np.ndarray

    def pieces(self, label: np.ndarray) -> int:
        """Return the number of connected pieces of all communities; a deleted vertex is one."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        n, same = len(label), label[self.src] == label[self.dst]
        matrix = coo_matrix((np.ones(np.count_nonzero(same)), (self.src[same], self.dst[same])), (n, n))
        return int(connected_components(matrix, directed=False)[0])

    def _sums(self, label: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return communities as numbers from 0, the strength of each vertex, and what arcs add: self-loops twice."""
        weight = self.weight * (1 + (self.src == self.dst))
        strength = np.bincount(self.src, weight, len(label))
        return np.unique(label, return_inverse=True)[1], strength, weight

    def modularity(self, label: np.ndarray, resolution: float) -> float:
        """Return the modularity, 0 without edges."""
        number, strength, weight = self._sums(label)
        whole = strength.sum()
        if whole == 0:
            return 0.0
        within = weight[number[self.src] == number[self.dst]].sum()
        return float(within / whole - resolution * np.sum((np.bincount(number, strength) / whole) ** 2))

    def best_gain(self, label: np.ndarray, resolution: float) -> float:
        """Return by how much the modularity grows at most if one vertex moves to another community, or is alone."""
        from scipy.sparse import coo_matrix

        number, strength, _ = self._sums(label)
        whole, total, n = strength.sum(), np.bincount(number, strength), len(label)
        if whole == 0:
            return 0.0
        arc = self.src != self.dst
        votes = coo_matrix((self.weight[arc], (self.src[arc], number[self.dst[arc]])), (n, len(total))).tocsr()
        votes.sum_duplicates()
        vertex = np.repeat(np.arange(n), np.diff(votes.indptr))
        is_own = votes.indices == number[vertex]
        inside = np.zeros(n)
        inside[vertex[is_own]] = votes.data[is_own]
        own = inside - resolution * strength / whole * (total[number] - strength)
        other = votes.data - resolution * strength[vertex] / whole * total[votes.indices]
        gains = np.concatenate(((other - own[vertex])[~is_own], -own[self.live]))  # the latter: alone
        return float(gains.max(initial=0.0)) * 2 / whole
