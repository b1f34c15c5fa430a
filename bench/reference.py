"""Reference rows: the same work by SciPy on the CPU, and a store that does nothing. They are not verified.

SciPy's sums and searches are what the backends are verified against; the store that does nothing shows what the driver
and the graph cost themselves (the ``Dummy`` of the GFE driver).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from suricate.bench import constants
from suricate.bench.beds import Bed
from suricate.bench.oracle import pagerank
from suricate.bench.runner import Task
from suricate.devices import Array
from suricate.store import Store
from suricate.types import EdgeList, Outcome

SCIPY = "scipy"
DUMMY = "dummy"


class ScipyTask(Task):
    """A row of SciPy, on the host, whatever the device of the other rows."""

    backend = SCIPY

    def __init__(self, bed: Bed, detail: str = "") -> None:
        self.bed, self.data, self.detail = bed, bed.data, detail

    def setup(self) -> None:
        """Build the matrix."""
        self.items = len(self.data.model)
        self.matrix = self.data.model.csr(self.data.num_vertices)


class ScipyBuild(ScipyTask):
    """COO to CSR, duplicates summed."""

    workload = "bulk build"

    def setup(self) -> None:
        """Count the edges."""
        self.items = len(self.data.src)

    def action(self, state: Any) -> Any:
        """Build."""
        n = self.data.num_vertices
        index = self.data.src.astype(np.int32), self.data.dst.astype(np.int32)
        return sparse.coo_array((np.ones(self.items, np.int8), index), shape=(n, n)).tocsr()


class ScipyBFS(ScipyTask):
    """Breadth-first order and predecessors."""

    workload = "from scratch"
    algorithm: str | None = "bfs"

    def action(self, state: Any) -> Any:
        """Search."""
        return csgraph.breadth_first_order(self.matrix, self.data.source)


class ScipyPropagate(ScipyBFS):
    """The same, as the reference of the operator."""

    workload, algorithm = "propagate", None

    def __init__(self, bed: Bed) -> None:
        super().__init__(bed, "bfs levels")


class ScipyPageRank(ScipyTask):
    """Power iteration with the parameters of the backends' rows."""

    workload, algorithm = "from scratch", "pagerank"

    def action(self, state: Any) -> Any:
        """Iterate."""
        return pagerank(self.matrix, **constants.PAGERANK)  # type: ignore[arg-type]


class ScipyReduce(ScipyTask):
    """Matrix-vector product."""

    workload = "neighbor_reduce"

    def __init__(self, bed: Bed, function: str, dtype: str) -> None:
        super().__init__(bed, f"{function} {dtype}")
        self.dtype, self.weighted = np.dtype(dtype), function == "product"

    def setup(self) -> None:
        """Build the matrix in the dtype of the vector."""
        model = self.bed.model(weighted=self.weighted)
        self.items, self.matrix = len(model), model.csr(self.data.num_vertices, self.dtype)
        self.x = self.bed.rng("values").uniform(0.5, 1.5, self.data.num_vertices).astype(self.dtype)

    def action(self, state: Any) -> Any:
        """Multiply."""
        return self.matrix @ self.x


class DummyStore(Store):
    """A store that keeps nothing and finds nothing."""

    name = DUMMY

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Do nothing."""
        return self._outcome(len(src))

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Do nothing."""
        return self._outcome(len(src))

    def edges(self) -> EdgeList:
        """Return no edges."""
        xp = self.device.xp
        weight = None if self.weight_dtype is None else xp.zeros(0, self.weight_dtype)
        return EdgeList(xp.zeros(0, np.uint32), xp.zeros(0, np.uint32), weight)

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Find nothing."""
        xp = self.device.xp
        return xp.zeros(len(src), bool), None if self.weight_dtype is None else xp.zeros(len(src), self.weight_dtype)

    def degrees(self) -> Array:
        """Return zeros."""
        return self.device.xp.zeros(self.num_vertices, np.uint32)

    def _outcome(self, size: int) -> Outcome:
        xp = self.device.xp
        weight = None if self.weight_dtype is None else xp.zeros(size, self.weight_dtype)
        return Outcome(xp.zeros(size, np.uint8), weight)
