"""Is the outgoing weight concentrated: does a vertex send to many neighbours alike, or nearly all to one?

The Herfindahl index of the out-edges of a vertex, ``sum(w * w) / sum(w) ** 2``: 1 where a single neighbour takes all,
``1 / k`` where ``k`` neighbours take the same. In a stream of payments a sudden rise is worth a look. On an unweighted
graph every edge weighs 1.

A batch only moves the vertices at whose out-edges it changed something, so that an update looks at the ends of changed
edges and at no others. It takes them as they lie on the device, and waits for nothing. The algorithm names no backend
and no device: it is written in operators, and runs on every backend there is.
"""

from __future__ import annotations

import numpy as np

import suricate as su


def amount(u, v, w, total, index):
    """Return the weight of the edge."""
    return float(w)


def square(u, v, w, total, index):
    """Return the squared weight of the edge."""
    return float(w) * float(w)


def keep_total(v, value, total, index):
    """Keep the sum of the weights of a vertex; nobody else has to look."""
    total[v] = value
    return 0


def keep_index(v, value, total, index):
    """Keep the index, which the sum of the squares completes."""
    index[v] = value / (total[v] * total[v]) if total[v] != 0 else 0.0
    return 0


class Concentration(su.Algorithm):
    """Herfindahl index of the out-edge weights, float64 per vertex; 0 where they sum to 0 or there are none."""

    name = "concentration"
    update_kind = "dynamic"

    def compute(self, graph):
        """Look at all vertices."""
        self._total, self._index = (graph.device.xp.zeros(graph.num_vertices) for _ in range(2))
        self._look(graph, None)

    def update(self, graph, delta):
        """Look at the ends of changed edges."""
        self._grow(graph)
        self._look(graph, tuple(delta.edge_set(kind) for kind in ("inserted", "deleted", "replaced")))

    @property
    def result(self):
        """The index of every vertex, in a new array."""
        return self._index.copy()

    @classmethod
    def reference(cls, src, dst, weight, num_vertices, directed, **params):
        """Sum up with NumPy; ``suricate bench --suite algorithms`` verifies by it what it times."""
        weight = np.ones(len(src)) if weight is None else weight.astype(np.float64)
        total, squares = (np.bincount(src, part, num_vertices) for part in (weight, weight * weight))
        return np.divide(squares, total * total, out=np.zeros(num_vertices), where=total != 0)

    def _look(self, graph, vertices):
        """Compute the index of some vertices, or of all: one round over their out-edges for each of the two sums."""
        for fn, then in ((amount, keep_total), (square, keep_index)):
            args = (self._total, self._index)
            su.converge(graph, vertices, fn, args=args, reduce="sum", over="out", then=then, max_steps=1)

    def _grow(self, graph):
        """Add zeros for vertices that the batch added."""
        xp, missing = graph.device.xp, graph.num_vertices - len(self._total)
        if missing:
            self._total, self._index = (xp.concatenate([x, xp.zeros(missing)]) for x in (self._total, self._index))


@su.hookimpl
def suricate_algorithms():
    """Offer the algorithm; this module is named in the entry-point group ``suricate`` of pyproject.toml."""
    return [Concentration]
