"""Reference rows: the same work by SciPy and others on the CPU, and a store that does nothing. They are not verified.

The store that does nothing shows what the driver and the graph cost themselves (the ``Dummy`` of the GFE driver).

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from suricate.base.devices import Array
from suricate.base.types import EdgeList, Outcome
from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Task
from suricate.bench.workloads.algorithms import Subject
from suricate.bench.workloads.operators import Propagate, Reduce
from suricate.graph import Graph
from suricate.plugins.algorithm import Algorithm
from suricate.store import Store

SCIPY, IGRAPH, NETWORKIT = "scipy", "igraph", "networkit"
LIBRARIES = SCIPY, IGRAPH, NETWORKIT
DUMMY = "dummy"


def libraries_of(kind: type[Algorithm]) -> list[str]:
    """Return the libraries besides SciPy that are installed and have the algorithm: it brings a method for each."""
    return [name for name in LIBRARIES[1:] if kind.has_peer(f"{name}_peer") and importlib.util.find_spec(name)]


class ScipyTask(Task):
    """Base of the tasks that SciPy does on the host, as a reference, whatever the device of the backends' rows."""

    backend = SCIPY

    def __init__(self, fixture: Fixture, detail: str = "") -> None:
        self.fixture, self.data, self.detail = fixture, fixture.data, detail

    def setup(self) -> None:
        """Build the adjacency matrix in CSR form."""
        self.items = len(self.data.model)
        self.matrix = self.data.model.csr(self.data.num_vertices)


class ScipyBuild(ScipyTask):
    """Convert the list of edges from COO to CSR form, with duplicates summed."""

    workload = "bulk build"

    def setup(self) -> None:
        """Set the number of edges, ``items``."""
        self.items = len(self.data.src)

    def action(self, prepared: Any) -> Any:
        """Return the CSR matrix of the input's edges."""
        n = self.data.num_vertices
        index = self.data.src.astype(np.int32), self.data.dst.astype(np.int32)
        return sparse.coo_array((np.ones(self.items, np.int8), index), shape=(n, n)).tocsr()


class Peer(ScipyTask):
    """Compute an algorithm by SciPy (its ``peer()``), with the same parameters as the backends' rows."""

    workload = "from scratch"

    def __init__(self, fixture: Fixture, algorithm: str) -> None:
        super().__init__(fixture)
        self.algorithm, self.subject = algorithm, Subject(fixture, algorithm)

    def setup(self) -> None:
        """Build the adjacency matrix in CSR form, weighted if the algorithm needs weights."""
        model = self.subject.model
        dtype = np.float32 if self.subject.weighted else np.int8
        self.items, self.matrix = len(model), model.csr(self.data.num_vertices, dtype)

    def action(self, prepared: Any) -> Any:
        """Return the result of the algorithm's ``peer()`` on the matrix."""
        return self.subject.kind.peer(self.matrix, **self.subject.params)


class LibraryPeer(Peer):
    """Compute an algorithm by igraph or NetworKit (its ``igraph_peer()``, ...) on a graph of theirs, made before."""

    def __init__(self, fixture: Fixture, algorithm: str, library: str) -> None:
        super().__init__(fixture, algorithm)
        self.backend = library

    def setup(self) -> None:
        """Make the library's graph, weighted if the algorithm needs weights."""
        model, n = self.subject.model, self.data.num_vertices
        kind: dict[str, Any] = {"directed": self.subject.directed, "device": "cpu"}
        graph = Graph.from_coo(model.src, model.dst, model.weight, num_vertices=n, **kind)
        self.items, self.graph = len(model), getattr(graph, f"to_{self.backend}")()

    def action(self, prepared: Any) -> Any:
        """Return the result of the algorithm's method for the library on the graph."""
        return getattr(self.subject.kind, f"{self.backend}_peer")(self.graph, **self.subject.params)


class ScipyLevels(ScipyTask):
    """Breadth-first search by SciPy, the reference row of ``propagate``."""

    workload = Propagate.workload

    def __init__(self, fixture: Fixture) -> None:
        super().__init__(fixture, Propagate.detail)

    def action(self, prepared: Any) -> Any:
        """Search from the source; return the vertices in breadth-first order, and their predecessors."""
        return csgraph.breadth_first_order(self.matrix, self.data.source)


class ScipyReduce(ScipyTask):
    """Matrix-vector product by SciPy, the reference row of ``neighbor_reduce``.

    ``function``: "product" multiplies by the weights of the edges, "sum" by 1; ``dtype``: of matrix and vector.
    """

    workload = Reduce.workload

    def __init__(self, fixture: Fixture, function: str, dtype: str) -> None:
        super().__init__(fixture, f"{function} {dtype}")
        self.dtype, self.weighted = np.dtype(dtype), function == "product"

    def setup(self) -> None:
        """Build the matrix and the vector in the dtype of the row."""
        model = self.fixture.model(weighted=self.weighted)
        self.items, self.matrix = len(model), model.csr(self.data.num_vertices, self.dtype)
        self.x = self.fixture.rng("values").uniform(0.5, 1.5, self.data.num_vertices).astype(self.dtype)

    def action(self, prepared: Any) -> Any:
        """Return the product of matrix and vector."""
        return self.matrix @ self.x


class DummyStore(Store):
    """A store that never has any edges: it ignores insertions."""

    name = DUMMY

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Insert nothing; return the outcome of a batch of as many edges, none of which changes the store.

        All arguments but the length of ``src`` are ignored.
        """
        return self._outcome(len(src))

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Delete nothing; return the outcome of a batch of as many edges, none of which changes the store.

        All arguments but the length of ``src`` are ignored.
        """
        return self._outcome(len(src))

    def edges(self) -> EdgeList:
        """Return an empty list of edges."""
        xp = self.device.xp
        weight = None if self.weight_dtype is None else xp.zeros(0, self.weight_dtype)
        return EdgeList(xp.zeros(0, np.uint32), xp.zeros(0, np.uint32), weight)

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Return "not found" for all edges ``src``, ``dst``: False for each, and 0 as weights (None: unweighted)."""
        xp = self.device.xp
        return xp.zeros(len(src), bool), None if self.weight_dtype is None else xp.zeros(len(src), self.weight_dtype)

    def degrees(self) -> Array:
        """Return the out-degrees: zeros, ``uint32[num_vertices]``."""
        return self.device.xp.zeros(self.num_vertices, np.uint32)

    def _outcome(self, size: int) -> Outcome:
        xp = self.device.xp
        weight = None if self.weight_dtype is None else xp.zeros(size, self.weight_dtype)
        return Outcome(xp.zeros(size, np.uint8), weight)
