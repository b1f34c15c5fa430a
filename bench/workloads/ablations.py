"""Workloads of the suite on ablations: algorithms in a few operators, by each iteration scheme (Meerkat's section 6).

The algorithms here are as short as they can be, so that times differ by the scheme only; the installed algorithms
choose a scheme themselves. Ranks are pulled over all in-edges; shortest paths push from the vertices that changed; each
triangle is counted by either method of intersection; components are kept current after insertions from all edges, from
those since a mark, or from those of the batch.

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.

Edge functions get the source ``u``, the destination ``v`` and the weight ``w`` of an edge, then further arguments;
what a text does not mention is not used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from suricate.base.effects import unite
from suricate.base.types import ends_of
from suricate.bench import constants
from suricate.bench.fixtures import Batches, Fixture, HostBatch, Housekeeper
from suricate.bench.runner import Skipped
from suricate.bench.verify.edges import EdgeModel, digest, expect
from suricate.bench.workloads.base import FixtureTask
from suricate.errors import RequirementError
from suricate.operators import advance, edge_map, intersect, neighbor_reduce
from suricate.operators.closed_triples import closed_triples
from suricate.state.frontier import Frontier

ALPHA = 0.85


def share(u, v, w, x):
    """Edge function: return ``x[u]``, the rank of the in-neighbour ``u`` divided by its degree."""
    return x[u]


def longer(u, v, w, distance):
    """Edge function: return the length of the path to ``v`` by way of ``u``, ``distance[u]`` plus the weight ``w``."""
    return distance[u] + w


def closed(u, v, x):
    """For ``intersect``: return 1 if ``u``, ``v`` and their common neighbour ``x`` are all different, else 0."""
    return 1 if u != v and x != u and x != v else 0


def join(u, v, w, sets):
    """Edge function: unite the sets of ``u`` and ``v`` in the union-find structure ``sets``, in place."""
    unite(sets, u, v)


class Ablation(FixtureTask):
    """Base of the workloads: run one algorithm by ``scheme``, one of the texts in the class's ``schemes``."""

    schemes: tuple[str, ...] = ()
    limit = constants.ABLATION_LIMIT

    def __init__(self, fixture: Fixture, scheme: str, batch: int | None = None) -> None:
        super().__init__(fixture, batch)
        self.scheme = scheme
        self.label_row(scheme)

    def action(self, prepared: Any) -> Any:
        """Return the result of :meth:`run`; raise ``Skipped`` if the backend does not allow the scheme."""
        try:
            return self.run(prepared)
        except RequirementError as error:
            raise Skipped(str(error)) from error

    def right(self, make: Callable[[], Any], *names: Any) -> Any:
        """Return the expected result; ``make()`` computes it once per input, workload and ``names``.

        ``names``: values that tell several expected results of one workload apart, such as a digest of the batch.
        """
        cache, name = self.fixture.data.cache, (self.workload, *names)
        if name not in cache:
            cache[name] = make()
        return cache[name]

    def run(self, prepared: Any) -> Any:
        """Run the algorithm and return its result; raise ``RequirementError`` if the backend refuses the scheme."""
        raise NotImplementedError


class RankByScheme(Ablation):
    """Ranks: ten steps of a power iteration with random jumps, pulled over the in-edges."""

    workload = "ranks by scheme"
    does = "makes ten steps of a power iteration by neighbor_reduce over the in-edges, by one scheme"
    oracle = "SciPy matrix-vector products"
    schemes = ("auto", "vertex", "bucket", "scan")

    def setup(self) -> None:
        """Get the shared graph with in-edges; allocate the arrays of degrees and of sums."""
        xp, n = self.device.xp, self.fixture.data.num_vertices
        self.graph = self.fixture.graph(weighted=False, in_edges=True)
        self.items = constants.RANK_STEPS * len(self.fixture.data.model)
        self.divisor = xp.maximum(self.graph.degrees(), np.uint32(1))
        self.sums = xp.zeros(n)

    def run(self, prepared: None) -> Any:
        """Make the steps, starting from equal ranks; return the ranks, ``float64[n]`` on the device."""
        n, rank = len(self.sums), self.device.xp.full(len(self.sums), 1 / len(self.sums))
        for _ in range(constants.RANK_STEPS):
            spread = rank / self.divisor
            neighbor_reduce(
                self.graph, None, share, args=(spread,), reduce="sum", over="in", out=self.sums, scheme=self.scheme
            )
            rank = ALPHA * self.sums + (1 - ALPHA * self.sums.sum()) / n
        return rank

    def check(self, prepared: None, rank: Any) -> None:
        """Compare the ranks with those that SciPy computes."""
        right = self.right(self._by_scipy)
        expect(np.allclose(self.device.to_numpy(rank), right, rtol=1e-9, atol=0), "the ranks differ")

    def _by_scipy(self) -> np.ndarray:
        """Return the ranks after the same steps with SciPy, ``float64[n]``."""
        matrix = self.fixture.model(weighted=False).csr(len(self.sums), np.float64)
        divisor, right = np.maximum(np.diff(matrix.indptr), 1), np.full(len(self.sums), 1 / len(self.sums))
        for _ in range(constants.RANK_STEPS):
            sums = matrix.T @ (right / divisor)
            right = ALPHA * sums + (1 - ALPHA * sums.sum()) / len(sums)
        return right


class PathsByScheme(Ablation):
    """Shortest paths from one source: rounds of relaxations of the edges of vertices whose distance changed."""

    workload = "shortest paths by scheme"
    does = "advances from the source, and again from what changed, until nothing does, by one scheme"
    oracle = "Dijkstra's algorithm of SciPy"
    schemes = ("auto", "vertex", "bucket")

    def setup(self) -> None:
        """Get the shared weighted graph."""
        self.graph, self.items = self.fixture.graph(weighted=True), len(self.fixture.data.model)

    def prepare(self) -> Frontier:
        """Set the distances to 0 at the source and infinity elsewhere; return the frontier of the source alone."""
        source = self.fixture.data.source
        self.distance = self.device.xp.full(self.fixture.data.num_vertices, np.inf, np.float32)
        self.distance[source] = 0
        return self.graph.frontier([source])

    def run(self, frontier: Frontier) -> None:
        """Advance from ``frontier``, then from the vertices that changed, until no distance falls."""
        while len(frontier):
            frontier = advance(
                self.graph, frontier, longer, out=self.distance, args=(self.distance,), reduce="min", scheme=self.scheme
            )

    def check(self, frontier: Frontier, result: None) -> None:
        """Compare the distances with those of Dijkstra's algorithm."""
        model, source, n = self.fixture.model(weighted=True), self.fixture.data.source, len(self.distance)
        right = self.right(lambda: csgraph.dijkstra(model.csr(n, np.float64), indices=source))
        expect(np.allclose(self.device.to_numpy(self.distance), right, rtol=1e-4), "the distances differ")


class TrianglesByMethod(Ablation):
    """Count the common neighbours of the two ends of every arc of an undirected graph: each triangle six times."""

    workload = "triangle count by method"
    does = "counts the common neighbours of both ends of every arc, by one method of intersect"
    oracle = "look-ups among marks"
    schemes = ("auto", "hash", "bitmap")

    def setup(self) -> None:
        """Get the shared undirected graph."""
        self.model = self.fixture.model(weighted=False, directed=False)
        self.graph, self.items = self.fixture.graph(weighted=False, directed=False), len(self.model)

    def run(self, prepared: None) -> Any:
        """Return the result of ``intersect``, a tuple whose first item is the number of common neighbours."""
        return intersect(self.graph, fn=closed, method=self.scheme)

    def check(self, prepared: None, found: Any) -> None:
        """Compare the number, ``found[0]``, with that of the oracle."""
        n, model, total = self.fixture.data.num_vertices, self.model, int(found[0])
        right = 2 * int(self.right(lambda: closed_triples(model.src, model.dst, n)).sum())
        expect(total == right, f"{total} pairs of an arc and a triangle at it instead of {right}")


class ComponentsByEdges(Ablation):
    """Update components after insertions: unite the ends of all edges, of those since the mark, or of the batch."""

    workload = "incremental components"
    does = "unites the ends of all edges, of those inserted since a mark, or of the batch, in the sets from before it"
    oracle = "connected components of SciPy"
    schemes: tuple[str, ...] = ("all edges", "updated edges", "the batch")

    def setup(self) -> None:
        """Build a graph and find its components by unions; every repeat starts from these."""
        assert self.batch is not None
        self.items, self.model = self.batch, self.fixture.data.model
        if self.batch > len(self.model):
            raise Skipped(f"the batch has more edges than the graph ({len(self.model)})")
        self.graph = self.fixture.empty_graph(weighted=False)
        self.graph.insert_edges(*self.fixture.all_edges(weighted=False))
        self.sets = self.graph.union_find()
        edge_map(self.graph, None, join, args=(self.sets,))
        self.start = self.sets.parent.copy()
        self.batches, self.housekeeper = Batches(self.fixture, self.batch, self.workload), Housekeeper(self.graph)

    def prepare(self) -> HostBatch:
        """Set the mark, insert a batch and return it; reset the sets to the components before the batch."""
        self.graph.mark()
        batch = self.batches.draw("uniform")
        self.delta = self.graph.insert_edges(*batch.edges)
        self.sets.parent[:] = self.start
        return batch

    def run(self, batch: HostBatch) -> None:
        """Unite, in the union-find structure ``sets`` in place, the two ends of each edge that the scheme visits.

        These are all edges of the graph, those inserted since the mark, or those of ``batch``.
        """
        edges = {"all edges": lambda: None, "updated edges": self.graph.updated, "the batch": lambda: batch.edges}
        edge_map(self.graph, edges[self.scheme](), join, args=(self.sets,))

    def check(self, batch: HostBatch, result: None) -> None:
        """Compare the smallest vertex of each component with SciPy's result, on the edges after the batch."""
        found, right = (
            self.device.to_numpy(self.sets.labels()),
            self.right(lambda: self._by_scipy(batch), digest(batch.keys)),
        )
        expect(np.array_equal(found, right), "incremental components: the components differ")

    def _by_scipy(self, batch: HostBatch) -> np.ndarray:
        """Return for each vertex the smallest vertex of its component after ``batch``, ``int64[n]``."""
        n = self.fixture.data.num_vertices
        after = EdgeModel(
            *(np.concatenate(ends) for ends in ((self.model.src, batch.src), (self.model.dst, batch.dst)))
        )
        _, component = csgraph.connected_components(after.csr(n), directed=True, connection="weak")
        smallest = np.full(n, n, np.int64)
        np.minimum.at(smallest, component, np.arange(n))
        return smallest[component]

    def restore(self, batch: HostBatch, result: None) -> None:
        """Delete the edges that were new in the batch."""
        self.graph.delete_edges(*self.delta.inserted[:2])
        self.housekeeper.tidy(self.items)


class NewDegrees(ComponentsByEdges):
    """Count the out-edges of every vertex after insertions: all of them, or those since the mark."""

    workload = "degrees by scheme"
    does = "counts the out-edges of every vertex by neighbor_reduce: all, or those inserted since a mark"
    oracle = "NumPy counts over the raw edges"
    schemes = ("auto", "updated")

    def run(self, batch: HostBatch) -> Any:
        """Return the number of out-edges that the scheme visits at each vertex."""
        return neighbor_reduce(self.graph, None, lambda u, v, w: 1, reduce="sum", scheme=self.scheme)

    def check(self, batch: HostBatch, found: Any) -> None:
        """Compare the numbers ``found`` with counts over the raw edges."""
        new = np.unique(batch.keys[~self.model.contains(batch.keys)])
        right = np.bincount(ends_of(new if self.scheme == "updated" else self.model.plus(new))[0], minlength=len(found))
        expect(np.array_equal(self.device.to_numpy(found), right), "degrees by scheme: the numbers differ")


ABLATIONS = (RankByScheme, PathsByScheme, TrianglesByMethod)
