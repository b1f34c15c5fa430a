"""What ``peers.py`` times: the rows of this library and of others, on arrays that it keeps in files.

A library is a generator of rows. It gets the result of each row that it yields, or None for a row that is not wanted.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

import suricate as su
from suricate.cpu import threads
from suricate.errors import ConvergenceError
from suricate.generate import generators
from suricate.intake.arrays import sorted_distinct

BATCH = 1 << 20  #: arcs
BACKENDS = ("slabhash", "csr_baseline", "hornet_like", "gpma", "blocked")
ROWS = ("build", "query", "reduce", "bfs", "bfs_in", "insert", "pagerank", "strong", "components", "kcore", "triangles")
IN_EDGES = {"bfs_in", "pagerank", "strong"}
UNDIRECTED = {"components", "kcore", "triangles"}
STEPS, ALPHA = 10, 0.85  #: of PageRank


class Case:
    """The arrays of a test and what the answers must be; ``_folder`` holds one file for each."""

    def __init__(self, folder: Path, rows: Sequence[str]) -> None:
        self.undirected, self.in_edges = (not those.isdisjoint(rows) for those in (UNDIRECTED, IN_EDGES))
        for file in folder.glob("*.npy"):
            setattr(self, file.stem, np.load(file))
        self.n, self.source = (int(number) for number in self.sizes)

    def fresh(self) -> Iterator[np.ndarray]:
        """The batches of insertions, each of them once."""
        return iter(self.batches)

    def reduced(self, result: Any) -> bool:
        """Return whether these are the sums over the neighbours."""
        return np.allclose(result, self.sums)

    def found(self, result: Any) -> bool:
        """Return whether these are the answers to the queries."""
        return np.array_equal(np.asarray(result, dtype=bool), self.truth)

    def levelled(self, result: Any) -> bool:
        """Return whether these are the levels, -1 for what is not reached."""
        return np.array_equal(np.asarray(result), self.levels)

    def ordered(self, result: Any) -> bool:
        """Return whether these are the reached vertices, level after level."""
        levels = self.levels[np.asarray(result)]
        return len(levels) == (self.levels >= 0).sum() and levels[0] == 0 and bool((np.diff(levels) >= 0).all())

    def ranked(self, result: Any) -> bool:
        """Return whether these are the ranks."""
        return np.allclose(result, self.ranks, rtol=1e-6, atol=0)


class Row(NamedTuple):
    """Something that is timed. ``answer`` makes of its result True, or a number that all libraries must agree on."""

    name: str
    action: Callable[[], Any]
    answer: Callable[[Any], Any]
    note: str = ""


PYTHON = "written in Python"
Rows = Generator[Row, Any, None]


def make_case(scale: int, batches: int, folder: Path, rows: Sequence[str]) -> None:
    """Draw the arrays of a test, and compute the answers by NumPy and SciPy."""
    n, rng = 1 << scale, np.random.default_rng(0)
    arcs = generators.rmat(scale, 16, seed=1)
    keys = arcs.src.astype(np.int64) << scale | arcs.dst
    batch = min(BATCH, len(keys), n * n // 64)
    drawn = sorted_distinct(rng.integers(0, n * n, int((batches + 1) * batch * 1.3) + 99))
    place = np.minimum(np.searchsorted(keys, drawn), len(keys) - 1)
    absent = rng.permutation(drawn[keys[place] != drawn])[: (batches + 1) * batch].reshape(batches + 1, batch)
    fresh = np.stack((absent >> scale, absent & (n - 1)), axis=1).astype(np.uint32)
    order = rng.permutation(len(keys))
    src, dst = arcs.src[order], arcs.dst[order]
    mixed = rng.permutation(batch)
    queries = np.stack(
        [np.append(a[: batch // 2], b[batch // 2 :])[mixed] for a, b in zip((src, dst), fresh[-1], strict=True)]
    )
    degree = np.bincount(arcs.src, minlength=n)
    indptr = np.append(0, np.cumsum(degree))
    matrix = sparse.csr_array((np.ones(len(keys)), arcs.dst.astype(np.int32), indptr.astype(np.int32)), shape=(n, n))
    x, source = rng.random(n), int(degree.argmax())
    arrays = {
        "sizes": [n, source], "src": src, "dst": dst, "batches": fresh[:-1], "queries": queries, "x": x,
        "truth": mixed < batch // 2, "sums": matrix @ x, "levels": levels(matrix, source),
        "ranks": ranks(matrix) if "pagerank" in rows else [],
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def levels(matrix: Any, source: int) -> np.ndarray:
    """Return the distances from ``source``, -1 where it does not lead."""
    parents = csgraph.breadth_first_order(matrix, source)[1]
    found = np.full(len(parents), -1, np.int32)
    found[source], level = 0, 0
    while (found == level).any():
        level += 1
        found[(parents >= 0) & (found[np.maximum(parents, 0)] == level - 1) & (found < 0)] = level
    return found


def ranks(matrix: Any) -> np.ndarray:
    """Return PageRank's vector after some steps from the uniform one."""
    n, degree, transposed = matrix.shape[0], np.diff(matrix.indptr), matrix.T
    rank = np.full(n, 1 / n)
    for _ in range(STEPS):
        lost = rank[degree == 0].sum()
        rank = ALPHA * (transposed @ (rank / np.maximum(degree, 1))) + (ALPHA * lost + 1 - ALPHA) / n
    return rank


# -- the libraries -----------------------------------------------------------------------------------------------------


def value_of(u, v, w, x):
    """Return the value of the neighbour."""
    return x[v]


def of_suricate(backend: str, case: Case) -> Rows:
    """This library."""

    def build(**options: Any) -> su.Graph:
        graph = su.Graph(case.n, backend=backend, device="cpu", **options)
        graph.insert_edges(case.src, case.dst)
        return graph

    def insert() -> np.ndarray:
        batch = next(batches)
        graph.insert_edges(*batch)
        return batch

    batches = case.fresh()
    graph = yield Row("build", build, lambda graph: graph.num_edges == len(case.src))
    yield Row("query", lambda: graph.has_edges(*case.queries), case.found)
    yield Row("reduce", lambda: su.neighbor_reduce(graph, value_of, args=(case.x,)), case.reduced)
    yield Row("bfs", lambda: graph.compute("bfs", source=case.source).level, case.levelled)
    yield Row("insert", insert, lambda batch: graph.has_edges(*batch).all())
    if case.in_edges:
        graph = build(in_edges=True)
        yield Row("bfs_in", lambda: graph.compute("bfs", source=case.source).level, case.levelled)
        yield Row("pagerank", lambda: _ranks(graph), case.ranked)
        yield Row("strong", lambda: graph.compute("scc"), lambda result: result.num_components)
    if not case.undirected:
        return
    graph = build(directed=False)
    yield Row("components", lambda: graph.compute("wcc"), lambda found: found.num_components)
    yield Row("kcore", lambda: graph.compute("kcore").core, lambda core: int(core.sum()))
    yield Row("triangles", lambda: graph.compute("triangles"), lambda found: int(found.total))


def _ranks(graph: su.Graph) -> np.ndarray:
    """Return the ranks after ``STEPS`` steps, too few for this tolerance."""
    try:
        return graph.compute("pagerank", alpha=ALPHA, method="static", max_iter=STEPS, tol=1e-15)
    except ConvergenceError as error:
        return error.result


def of_scipy(case: Case) -> Rows:
    """SciPy: compressed rows of float64, since other types are converted in each product."""
    shape, columns = (case.n, case.n), (case.src.astype(np.int32), case.dst.astype(np.int32))

    def made(pairs: Sequence[np.ndarray]) -> Any:
        return sparse.coo_array((np.ones(len(pairs[0])), tuple(pairs)), shape=shape).tocsr()

    def insert() -> Any:
        batch = next(batches).astype(np.int32)
        return batch, matrix + made(batch)

    batches = case.fresh()
    matrix = yield Row("build", lambda: made(columns), lambda matrix: matrix.nnz == len(case.src))
    matrix.sort_indices()  # else queries copy and sort all of it
    queries = case.queries.astype(np.int32)
    yield Row("query", lambda: matrix[queries[0], queries[1]], lambda found: case.found(found != 0))
    yield Row("reduce", lambda: matrix @ case.x, case.reduced)
    yield Row("bfs", lambda: csgraph.breadth_first_order(matrix, case.source), lambda found: case.ordered(found[0]))
    yield Row("pagerank", lambda: ranks(matrix), case.ranked)
    yield Row("insert", insert, lambda found: (found[1][found[0][0], found[0][1]] != 0).all(), "a new matrix")
    for name, connection in (("strong", "strong"), ("components", "weak")):
        components = partial(csgraph.connected_components, matrix, directed=True, connection=connection)
        yield Row(name, components, lambda found: int(found[0]))


def of_graphblas(case: Case) -> Rows:
    """python-graphblas: matrices whose values are all alike and are not stored."""
    import graphblas as gb

    def made(pairs: Sequence[np.ndarray], values: Any = True) -> Any:
        return gb.Matrix.from_coo(*pairs, values, nrows=case.n, ncols=case.n)

    def query() -> np.ndarray:
        found = matrix.ewise_mult(made(queries, np.arange(len(case.truth))), gb.binary.second).new()
        answer = np.zeros(len(case.truth), bool)
        answer[found.to_coo(rows=False, columns=False)[2]] = True
        return answer

    def search(transposed: Any = None) -> Any:
        level, queue, step = gb.Vector(gb.dtypes.INT32, case.n), gb.Vector(bool, case.n), 0
        queue[case.source] = True
        while queue.nvals:
            level(queue.S)[:] << step
            step += 1
            pulls = transposed is not None and queue.nvals > case.n // 32
            further = transposed @ queue if pulls else queue @ matrix
            queue(~level.S, replace=True) << gb.semiring.any_pair(further)
        return level

    def walk() -> Any:
        part = gb.Vector.from_dense(ALPHA / np.maximum(np.bincount(case.src, minlength=case.n), 1))
        ends = matrix.reduce_rowwise(gb.monoid.any).new()
        rank = gb.Vector.from_scalar(1 / case.n, case.n)
        for _ in range(STEPS):
            lost = 1 - rank.dup(mask=ends.S).reduce().new().value
            share = rank.ewise_mult(part, gb.binary.times).new()
            rank = gb.Vector.from_scalar((ALPHA * lost + 1 - ALPHA) / case.n, case.n)
            rank(gb.binary.plus) << gb.semiring.plus_second(transposed @ share)
        return rank

    def insert() -> np.ndarray:
        batch = next(batches).astype(np.uint64)
        matrix(gb.binary.lor) << made(batch)
        return batch

    batches, queries = case.fresh(), case.queries.astype(np.uint64)
    arcs = case.src.astype(np.uint64), case.dst.astype(np.uint64)
    matrix = yield Row("build", lambda: made(arcs), lambda matrix: matrix.nvals == len(case.src))
    yield Row("query", query, case.found, "a product of two matrices")
    x = gb.Vector.from_dense(case.x)
    product = lambda: gb.semiring.plus_second(matrix @ x).new()  # noqa: E731
    yield Row("reduce", product, lambda found: case.reduced(found.to_dense(0.0)))
    yield Row("bfs", search, lambda found: case.levelled(found.to_dense(-1)), PYTHON)
    if case.in_edges:
        transposed = matrix.T.new()
        yield Row("bfs_in", lambda: search(transposed), lambda found: case.levelled(found.to_dense(-1)), PYTHON)
        yield Row("pagerank", walk, lambda found: case.ranked(found.to_dense(0.0)), PYTHON)
    yield Row(
        "insert", insert, lambda batch: matrix.ewise_mult(made(batch), gb.binary.pair).new().nvals == batch.shape[1]
    )
    if not case.undirected:
        return
    src, dst = undirected(case)
    rank = np.argsort(np.argsort(-np.bincount(np.append(src, dst), minlength=case.n))).astype(np.uint64)
    lower = made((np.maximum(rank[src], rank[dst]), np.minimum(rank[src], rank[dst])))

    def count() -> int:
        return gb.semiring.plus_pair(lower @ lower.T).new(mask=lower.S).reduce_scalar().new().value

    yield Row("triangles", count, int)


def of_networkit(case: Case) -> Rows:
    """NetworKit: rows in both directions; what is not an algorithm goes edge by edge."""
    import networkit as nk

    def made(pairs: Sequence[np.ndarray], directed: bool) -> Any:
        return nk.GraphFromCoo(pairs, n=case.n, directed=directed)

    def insert() -> np.ndarray:
        batch = next(batches).astype(np.uint64)
        graph.addEdges(tuple(batch))
        return batch

    def walk() -> Any:
        rank = nk.centrality.PageRank(graph, ALPHA, 1e-300, False, nk.centrality.SinkHandling.DistributeSinks)
        rank.maxIterations = STEPS
        return rank.run()

    def count(found: Any) -> int:
        degree = np.array([graph.degree(u) for u in range(case.n)])
        return round(float((np.array(found.scores()) * degree * (degree - 1)).sum()) / 6)

    batches, pairs = case.fresh(), [side.tolist() for side in case.queries]
    arcs = case.src.astype(np.uint64), case.dst.astype(np.uint64)
    graph = yield Row("build", lambda: made(arcs, True), lambda graph: graph.numberOfEdges() == len(case.src))
    yield Row("query", lambda: list(map(graph.hasEdge, *pairs)), case.found, PYTHON)
    search = partial(nk.distance.BFS, graph, case.source, False)
    yield Row("bfs", lambda: search().run(), lambda found: case.levelled(finite(found.getDistances())))
    yield Row("pagerank", walk, lambda found: case.ranked(found.scores()))
    strong = nk.components.StronglyConnectedComponents
    yield Row("strong", lambda: strong(graph).run(), lambda found: found.numberOfComponents())
    yield Row("insert", insert, lambda batch: all(map(graph.hasEdge, *batch[:, :999].tolist())))
    if not case.undirected:
        return
    graph = made(undirected(case), False)
    components, clustering = nk.components.ParallelConnectedComponents, nk.centrality.LocalClusteringCoefficient
    yield Row("components", lambda: components(graph).run(), lambda found: found.numberOfComponents())
    yield Row("kcore", lambda: nk.centrality.CoreDecomposition(graph).run(), lambda found: int(sum(found.scores())))
    yield Row("triangles", lambda: clustering(graph, True).run(), count)


def of_igraph(case: Case) -> Rows:
    """igraph: lists of edges that are indexed anew after every change."""
    import igraph

    def insert() -> np.ndarray:
        batch = next(batches)
        graph.add_edges(np.column_stack(batch).astype(np.int64))
        return batch

    batches, queries = case.fresh(), np.column_stack(case.queries).astype(np.int64)
    arcs = np.column_stack((case.src, case.dst)).astype(np.int64)
    build = partial(igraph.Graph, n=case.n, edges=arcs, directed=True)
    graph = yield Row("build", build, lambda graph: graph.ecount() == len(case.src))
    yield Row("query", lambda: graph.get_eids(queries, error=False), lambda found: case.found(np.array(found) >= 0))
    yield Row("bfs", lambda: graph.bfs(case.source), lambda found: case.ordered(found[0]))
    yield Row("strong", lambda: graph.connected_components("strong").membership, lambda found: max(found) + 1)
    yield Row("insert", insert, lambda batch: min(graph.get_eids(batch.T[:999].astype(np.int64), error=False)) >= 0)
    if not case.undirected:
        return
    graph = igraph.Graph(n=case.n, edges=np.column_stack(undirected(case)).astype(np.int64))
    yield Row("components", lambda: graph.connected_components().membership, lambda found: max(found) + 1)
    yield Row("kcore", graph.coreness, sum)


def undirected(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return every pair of different neighbours once."""
    low, high = np.minimum(case.src, case.dst).astype(np.int64), np.maximum(case.src, case.dst)
    keys = sorted_distinct((low * case.n + high)[low != high])
    return (keys // case.n).astype(np.uint64), (keys % case.n).astype(np.uint64)


def finite(distances: Any) -> np.ndarray:
    """Return NetworKit's distances, -1 instead of the largest number."""
    found = np.asarray(distances)
    return np.where(found < len(found), found, -1)


def of_machine(case: Case) -> Rows:
    """What the cores reach without a library."""
    source, target = np.ones(16 * case.n), np.empty(16 * case.n)
    index = np.random.default_rng(0).integers(0, case.n, 16 * case.n)

    def copy(begin: int, end: int) -> None:
        np.copyto(target[begin:end], source[begin:end])

    def gather(begin: int, end: int) -> None:
        np.take(source, index[begin:end], out=target[begin:end], mode="clip")

    yield Row("copy", lambda: threads.over(len(target), copy), lambda _: True)
    yield Row("gather", lambda: threads.over(len(target), gather), lambda _: True)


PEERS = {"scipy": of_scipy, "graphblas": of_graphblas, "networkit": of_networkit, "igraph": of_igraph}
#: what uses one thread
SINGLE = {"scipy": ROWS, "igraph": ROWS, "networkit": ("build", "query", "bfs", "insert", "strong")}


@contextmanager
def on_threads(library: str, number: int) -> Iterator[None]:
    """Let a library use so many threads meanwhile."""
    if library == "networkit":
        importlib.import_module("networkit").setNumberOfThreads(number)
    elif library == "graphblas":
        importlib.import_module("graphblas").ss.config["nthreads"] = number
    with threads.Limited(number):
        yield
