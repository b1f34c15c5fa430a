"""Reciprocity: how many out-edges of each vertex are answered by an edge in the other direction.

A count per vertex, with loops and kernels of its own, or with ``kernels=False`` by operators alone. A batch changes the
counts of the ends of its edges and no others, so that an update counts there again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import suricate as su
from suricate.base.parameters import flag
from suricate.kernels import (
    ARCS,
    assembled,
    loops_over,
    packed,
    packed_arcs,
    plain_arcs,
    program_over,
    resident_blocks,
    without_weights,
)

LOOPS, SOURCE = (Path(__file__).with_name(name) for name in ("loops.py", "kernels.cu"))
BLOCK = 256  #: threads


def is_answered(u, v, w, graph, count):
    """Return 1 if there is an edge in the other direction."""
    return 1 if (v, u) in graph else 0


def store(u, value, graph, count):
    """Keep the count of ``u``."""
    count[u] = value


def always(v):
    """Take every vertex."""
    return True


class Reciprocity(su.Algorithm):
    """Number of out-edges ``(u, v)`` of each vertex ``u`` for which ``(v, u)`` is an edge, uint32.

    Args:
        kernels: False: by operators alone.
    """

    name = "reciprocity"
    update_kind = "dynamic"

    def __init__(self, kernels=True):
        self.kernels = flag("kernels", kernels)

    def compute(self, graph):
        """Count at all vertices."""
        self._count = graph.device.xp.zeros(graph.num_vertices, np.uint32)
        if not self.kernels:
            self._count_by_operators(graph, None)
        elif graph.device.is_cuda:
            self._launch(graph, "count_all", np.uint32(graph.num_vertices))
        else:
            self._run(graph, "count_all", graph.num_vertices)

    def update(self, graph, delta):
        """Count at the ends of changed edges."""
        xp, missing = graph.device.xp, graph.num_vertices - len(self._count)
        if missing:
            self._count = xp.concatenate([self._count, xp.zeros(missing, np.uint32)])
        if not self.kernels:
            changed = delta.edge_set("inserted"), delta.edge_set("deleted")
            self._count_by_operators(graph, su.vertex_map(graph, changed, always))
            return
        for arcs in map(delta.arcs, ("inserted", "deleted")):
            if arcs.size and graph.device.is_cuda:
                self._launch(graph, "count_ends", packed_arcs(arcs))
            elif arcs.size:
                self._run(graph, "count_ends", *plain_arcs(arcs))

    @property
    def result(self):
        """The counts, in a new array."""
        return self._count.copy()

    @classmethod
    def programs(cls, view):
        """Return the CUDA program over a view, to be compiled without a GPU."""
        return [assembled(view, SOURCE, ARCS.declaration)]

    @classmethod
    def reference(cls, src, dst, weight, num_vertices, directed, **params):
        """Look every edge up among the reversed ones, with NumPy."""
        src, dst = (part.astype(np.uint64) for part in (src, dst))
        answered = np.isin(src * num_vertices + dst, dst * num_vertices + src)
        return np.bincount(src[answered].astype(np.int64), minlength=num_vertices).astype(np.uint32)

    def _count_by_operators(self, graph, vertices):
        """Count at some vertices, None: at all."""
        su.neighbor_reduce(graph, vertices, is_answered, args=(graph, self._count), reduce="sum", then=store)

    def _run(self, graph, loop, *args):
        """Call a loop over the cursor of the graph's backend."""
        view = graph.view("out")
        getattr(loops_over(view, LOOPS), loop)(without_weights(view), *args, self._count)

    def _launch(self, graph, kernel, *args):
        """Launch a kernel over the cursor of the graph's backend; nothing waits for it."""
        view, blocks = graph.view("out"), resident_blocks(graph.device.index, BLOCK, per_multiprocessor=2)
        program = program_over(view, SOURCE, lambda _: ARCS.declaration)
        program.kernel(kernel)((blocks,), (BLOCK,), (packed(view), *args, self._count))


@su.hookimpl
def suricate_algorithms():
    """Offer the algorithm; this module is named in the entry-point group ``suricate`` of pyproject.toml."""
    return [Reciprocity]
