"""Reference rows: the same work by SciPy and others on the CPU, and a store that does nothing.

Answers of algorithms are verified, and timed by turns with those of a backend if the user names a library (``bench
--against``); the other rows are not. The store that does nothing shows what the driver and the graph cost themselves
(the ``Dummy`` of the GFE driver).

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from suricate.base.devices import Array
from suricate.base.types import EdgeList, Outcome
from suricate.bench import peers
from suricate.bench.fixtures import Fixture
from suricate.bench.logs.turns import ByTurns
from suricate.bench.runner import Task
from suricate.bench.verify.edges import EdgeModel, Mismatch
from suricate.bench.verify.results import reference_of
from suricate.bench.workloads.algorithms import FromScratch, Subject
from suricate.bench.workloads.operators import Propagate, Reduce
from suricate.store import Store

SCIPY, IGRAPH, NETWORKIT = "scipy", "igraph", "networkit"
USUAL = SCIPY, IGRAPH, NETWORKIT  #: libraries that have rows where nobody names one
LIBRARIES = tuple(peers.MODULES)
DUMMY = "dummy"


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


class Asked:
    """An algorithm as a library computes it: its graph of an input, made before the clock runs, and its answer."""

    def __init__(self, subject: Subject, library: str) -> None:
        self.subject, self.library = subject, library
        self.answer: peers.Answer = peers.library(library).ANSWERS[subject.kind.name]

    def build(self, model: EdgeModel, num_vertices: int) -> None:
        """Make the library's graph."""
        self.model, self.num_vertices = model, num_vertices
        self.graph = peers.build(self.library, self.answer, model, num_vertices)

    def compute(self, **params: Any) -> Any:
        """Return what the library computes; ``params``: further ones."""
        return self.answer.compute(self.graph, **{**self.subject.params, **params})

    def check(self, found: Any) -> None:
        """Raise ``Mismatch``, which names the library, unless ``found`` agrees with the algorithm's reference."""
        right = reference_of(self.subject.kind, self.subject.params, self.model, self.num_vertices)
        try:
            peers.check(self.subject.kind, self.answer, found, right, self.subject.params)
        except Mismatch as wrong:
            raise Mismatch(f"{self.library}: {wrong}") from None


class Peer(Task):
    """Compute an algorithm by another library, with the same parameters as the backends' rows."""

    workload = FromScratch.workload

    def __init__(self, fixture: Fixture, algorithm: str, library: str) -> None:
        self.fixture, self.backend, self.algorithm = fixture, library, algorithm
        self.subject = Subject(fixture, algorithm)
        self.asked, self.oracle = Asked(self.subject, library), self.subject.oracle

    def setup(self) -> None:
        """Make the library's graph, weighted and directed as the algorithm needs."""
        self.subject.demand()
        self.items = len(self.subject.model)
        self.asked.build(self.subject.model, self.fixture.data.num_vertices)

    def action(self, prepared: Any) -> Any:
        """Return the library's answer."""
        return self.asked.compute()

    def check(self, prepared: Any, result: Any) -> None:
        """Compare the answer with the algorithm's reference."""
        self.asked.check(result)


class Against(ByTurns):
    """Compute an algorithm by a backend from scratch, by turns with another library on the same edges."""

    workload = FromScratch.workload
    does = "computes the algorithm on the whole graph; before or after it, by turns, another library does"

    def __init__(
        self, fixture: Fixture, algorithm: str, library: str, *, processor_time: bool = False, weighted: bool = False
    ) -> None:
        super().__init__(fixture)
        self.algorithm, self.subject = algorithm, Subject(fixture, algorithm, weighted=weighted)
        self.asked, self.oracle, self.wall = Asked(self.subject, library), self.subject.oracle, not processor_time
        self.library = library
        self.label_row(*["with weights"] * weighted, f"against {library}")

    def setup(self) -> None:
        """Get the shared graph, and make the library's."""
        self.subject.demand()
        self.start()
        self.graph = self.fixture.graph(in_edges=True, **self.subject.form)
        self.items = len(self.subject.model)
        self.asked.build(self.subject.model, self.fixture.data.num_vertices)

    def draw(self) -> Any:
        """Return a new instance of the algorithm."""
        return self.subject.new()

    def ours(self, given: Any) -> Any:
        """Compute it on the graph."""
        given.compute(self.graph)
        return given.result

    def other(self, given: Any) -> Any:
        """Compute it by the library."""
        self.there = self.asked.compute()

    def check(self, given: Any, result: Any) -> None:
        """Compare both answers with the algorithm's reference."""
        self.subject.check(result, self.subject.model)
        self.asked.check(self.there)

    def extra(self) -> dict[str, Any]:
        """Return the library, and the seconds of both."""
        return {"against": self.library, **self.compared()}


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
