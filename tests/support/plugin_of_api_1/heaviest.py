"""The heaviest out-edge of each vertex, by operators, and by a loop and a kernel over the cursor of any backend."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

import suricate as su
from suricate.base.devices import Array
from suricate.base.html import result_html
from suricate.base.parameters import flag, real
from suricate.kernels import (
    ARCS,
    assembled,
    loops_over,
    packed,
    packed_arcs,
    plain_arcs,
    program_over,
    resident_blocks,
)

LOOPS, SOURCE = (Path(__file__).with_name(name) for name in ("loops.py", "kernels.cu"))
BLOCK = 128


def scaled(u, v, w, factor, heaviest):
    """Return the weight of an edge, scaled."""
    return float(w) * factor


def keep(u, value, factor, heaviest):
    """Keep the greatest one at ``u``."""
    heaviest[u] = value if value > 0 else 0.0


def always(v):
    """Take every vertex."""
    return True


class Heaviest(su.Algorithm):
    """The greatest weight among the out-edges of each vertex, times ``factor``; 0 where none is above 0.

    Args:
        factor: what weights are multiplied by.
        kernels: False: by operators alone.
    """

    name = "heaviest"
    update_kind = "dynamic"
    requires = su.Requirements(weighted=True)

    class Result(NamedTuple):
        """``heaviest``: ``float64[num_vertices]``."""

        heaviest: Array

        def _repr_html_(self):
            return result_html(self)

    def __init__(self, factor=2.0, kernels=True):
        self.factor = real("factor", factor, low=0, include_low=False)
        self.kernels = flag("kernels", kernels)

    def compute(self, graph):
        """Look at all vertices."""
        self._heaviest = graph.device.xp.zeros(graph.num_vertices)
        if not self.kernels:
            self._by_operators(graph, None)
        elif graph.device.is_cuda:
            self._launch(graph, "look_at_all", np.uint32(graph.num_vertices))
        else:
            self._run(graph, "look_at_all", graph.num_vertices)

    def update(self, graph, delta):
        """Look at the sources of changed edges."""
        xp, missing = graph.device.xp, graph.num_vertices - len(self._heaviest)
        if missing:
            self._heaviest = xp.concatenate([self._heaviest, xp.zeros(missing)])
        kinds = ("inserted", "deleted", "replaced")
        if not self.kernels:
            changed = tuple(delta.edge_set(kind) for kind in kinds)
            self._by_operators(graph, su.vertex_map(graph, changed, always))
            return
        for arcs in map(delta.arcs, kinds):
            if arcs.size and graph.device.is_cuda:
                self._launch(graph, "look_at_ends", packed_arcs(arcs))
            elif arcs.size:
                self._run(graph, "look_at_ends", *plain_arcs(arcs))

    @property
    def result(self):
        """The weights, in a new array."""
        return self.Result(self._heaviest.copy())

    @classmethod
    def programs(cls, view):
        """Return the CUDA program over a view."""
        return [assembled(view, SOURCE, ARCS.declaration)]

    @classmethod
    def reference(cls, src, dst, weight, num_vertices, directed, factor=2.0, **params):
        """Take the maximum with NumPy."""
        heaviest = np.zeros(num_vertices)
        np.maximum.at(heaviest, src, weight.astype(np.float64) * factor)
        return (heaviest,)

    def _by_operators(self, graph, vertices):
        args = (self.factor, self._heaviest)
        su.neighbor_reduce(graph, vertices, scaled, args=args, reduce="max", then=keep)

    def _run(self, graph, loop, *args):
        view = graph.view("out")
        getattr(loops_over(view, LOOPS), loop)(view.data, *args, self.factor, self._heaviest)

    def _launch(self, graph, kernel, *args):
        view, blocks = graph.view("out"), resident_blocks(graph.device.index, BLOCK)
        program = program_over(view, SOURCE, lambda _: ARCS.declaration)
        launched = (packed(view), *args, np.float64(self.factor), self._heaviest)
        program.kernel(kernel)((blocks,), (BLOCK,), launched)
