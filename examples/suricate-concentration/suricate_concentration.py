"""Concentration of the outgoing weight: does a vertex send to many neighbours alike, or nearly all to one?

The Herfindahl index of the out-edges of a vertex, ``sum(w * w) / sum(w) ** 2``: 1 where a single neighbour takes all,
``1 / k`` where ``k`` neighbours take the same. In a stream of payments a sudden rise is worth a look. On an unweighted
graph every edge weighs 1.

A batch only moves the vertices at whose out-edges it changed something, so that an update looks at these and no others.
The algorithm names no backend and no device: it is written in operators, and runs on every backend there is.
"""

from __future__ import annotations

import numpy as np

import suricate as su


def amount(u, v, w):
    """Return the weight of the edge."""
    return float(w)


def square(u, v, w):
    """Return the squared weight of the edge."""
    return float(w) * float(w)


class Concentration(su.Algorithm):
    """Herfindahl index of the out-edge weights, float64 per vertex; 0 where they sum to 0 or there are none."""

    name = "concentration"

    def compute(self, graph):
        """Look at all vertices."""
        self._values = self._index(graph, None)

    def update(self, graph, delta):
        """Look at the vertices with a changed out-edge."""
        xp = graph.device.xp
        fresh = xp.zeros(graph.num_vertices - len(self._values), np.float64)
        self._values = xp.concatenate([self._values, fresh])
        changed = [delta.arcs(kind).src for kind in ("inserted", "deleted", "replaced")]
        vertices = xp.unique(xp.concatenate(changed))
        self._values[vertices] = self._index(graph, vertices)

    @property
    def result(self):
        """The index of every vertex, in a new array."""
        return self._values.copy()

    @classmethod
    def reference(cls, src, dst, weight, num_vertices, directed, **params):
        """Sum up with NumPy; ``suricate bench --suite algorithms`` verifies by it what it times."""
        weight = np.ones(len(src)) if weight is None else weight.astype(np.float64)
        total, squares = (np.bincount(src, part, num_vertices) for part in (weight, weight * weight))
        return np.divide(squares, total * total, out=np.zeros(num_vertices), where=total != 0)

    def _index(self, graph, vertices):
        xp = graph.device.xp
        total = su.neighbor_reduce(graph, amount, reduce="sum", vertices=vertices, dtype="float64")
        squares = su.neighbor_reduce(graph, square, reduce="sum", vertices=vertices, dtype="float64")
        return xp.where(total == 0, 0.0, squares / xp.where(total == 0, 1.0, total * total))


@su.hookimpl
def suricate_algorithms():
    """Offer the algorithm; this module is named in the entry-point group ``suricate`` of pyproject.toml."""
    return [Concentration]
