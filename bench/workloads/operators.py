"""Workloads on single operators: a sum over out-neighbours, and a propagation to a fixed point.

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.

Edge functions get the source ``u``, the destination ``v`` and the weight ``w`` of an edge, then further arguments;
what a text does not mention is not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.bench.fixtures import Fixture
from suricate.bench.verify.edges import expect
from suricate.bench.workloads.base import FixtureTask
from suricate.operators import neighbor_reduce, propagate
from suricate.plugins.algorithm import ID_BYTES, OFFSET_BYTES, pull_bytes

FAR = np.iinfo(np.int32).max
LEVEL_BYTES = 4


def product(u, v, w, x):
    """Edge function: return the weight ``w`` times the value ``x[v]`` of the neighbour, a term of a matrix product."""
    return w * x[v]


def value(u, v, w, x):
    """Edge function: return the value ``x[v]`` of the neighbour."""
    return x[v]


def deeper(u, v, w, level):
    """Edge function: return the level that ``u`` offers to ``v``, one more than ``level[u]``."""
    return level[u] + 1


class Reduce(FixtureTask):
    """``neighbor_reduce``: for every vertex, the sum of its out-neighbours' values.

    ``function``: "sum", or "product": each value is multiplied by the weight of the edge; ``dtype``: of the values.
    """

    workload = "neighbor_reduce"
    does = "sums x[v] ('sum') or w * x[v] ('product') over the out-neighbours of every vertex"
    oracle = "SciPy matrix-vector product"

    def __init__(self, fixture: Fixture, function: str, dtype: str) -> None:
        super().__init__(fixture)
        self.function, self.dtype = function, np.dtype(dtype)
        self.label_row(f"{function} {dtype}")

    def setup(self) -> None:
        """Get the shared graph; draw a value per vertex."""
        data = self.fixture.data
        self.weighted = self.function == "product"
        self.graph = self.fixture.graph(weighted=self.weighted)
        self.items = len(data.model)
        self.values = self.fixture.rng("values").uniform(0.5, 1.5, data.num_vertices).astype(self.dtype)
        self.x = self.device.xp.asarray(self.values)
        self.out = self.device.xp.zeros(data.num_vertices, self.dtype)

    def warm(self) -> None:
        """Run the operator once; that changes nothing in the graph."""
        self.action(None)

    def action(self, prepared: Any) -> Any:
        """Return the sums over out-neighbours, one per vertex, on the device."""
        function = product if self.weighted else value
        return neighbor_reduce(self.graph, None, function, args=(self.x,), reduce="sum", out=self.out)

    def check(self, prepared: Any, result: Any) -> None:
        """Compare the sums ``result`` with a matrix-vector product of SciPy in float64."""
        data = self.fixture.data
        model = self.fixture.model(weighted=self.weighted)
        expected = model.csr(data.num_vertices, np.float64) @ self.values.astype(np.float64)
        tolerance = 64 * np.finfo(self.dtype).eps * max(1.0, np.log2(max(2, len(model))))
        close = np.allclose(self.device.to_numpy(result), expected, rtol=tolerance, atol=0)
        expect(close, "neighbor_reduce differs from scipy.sparse")

    def traffic(self) -> int:
        """Return the least bytes of a pass: ids, offsets and weights read once, vertex values read and written once."""
        data = self.fixture.data
        return pull_bytes(data.num_vertices, len(data.model), self.dtype.itemsize, 4 if self.weighted else 0)


class Propagate(FixtureTask):
    """Compute the level (number of hops) of each vertex from one source by one ``propagate``."""

    workload = "propagate"
    detail = "levels"
    does = "propagates levels from the source to a fixed point; clearing the level array is part of it"
    oracle = "NumPy: the fixed point, edge by edge"

    def setup(self) -> None:
        """Get the shared graph; allocate the array of levels."""
        self.graph = self.fixture.graph(weighted=False)
        self.items = len(self.fixture.data.model)
        self.level = self.device.xp.empty(self.fixture.data.num_vertices, np.int32)

    def action(self, prepared: Any) -> Any:
        """Reset the levels and propagate from the source; return the levels, ``int32[n]`` on the device."""
        self.level.fill(FAR)
        self.level[self.fixture.data.source] = 0
        propagate(self.graph, [self.fixture.data.source], deeper, out=self.level, args=(self.level,), reduce="min")
        return self.level

    def check(self, prepared: Any, result: Any) -> None:
        """Verify that each level is one more than the least level of the in-neighbours, and 0 at the source.

        Only the right levels satisfy this: from any reached vertex, going to an in-neighbour of least level, levels
        fall by one until they are 0, and only the source may have 0.
        """
        data, level = self.fixture.data, self.device.to_numpy(result)
        src, dst = data.model.src, data.model.dst
        offers = np.where(level[src] == FAR, FAR, level[src].astype(np.int64) + 1)
        expected = np.full(data.num_vertices, FAR, np.int64)
        np.minimum.at(expected, dst, offers)
        expected[data.source] = 0
        wrong = int(np.count_nonzero(level != expected))
        expect(
            wrong == 0, f"propagate: {wrong} of {data.num_vertices} levels are not those of the in-neighbours plus 1"
        )

    def traffic(self) -> int:
        """Return the least bytes moved: out-edges of reached vertices; each level cleared, read and written once."""
        reached = self.device.to_numpy(self.level) != FAR
        edges = int(np.count_nonzero(reached[self.fixture.data.model.src]))
        vertices = self.fixture.data.num_vertices
        return edges * ID_BYTES + int(reached.sum()) * OFFSET_BYTES + vertices * 3 * LEVEL_BYTES
