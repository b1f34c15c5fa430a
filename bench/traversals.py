"""Workloads on the algorithms: from scratch, kept current, streams, and the operators they are made of."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from suricate.bench import constants
from suricate.bench.beds import Batches, Bed, HostBatch, Housekeeper
from suricate.bench.operations import BedTask
from suricate.bench.oracle import EdgeModel, check_bfs, check_content, check_pagerank, ends_of, expect, levels
from suricate.bench.runner import Mismatch, Skipped

ORACLES = {
    "bfs": "SciPy levels, parents by definition",
    "pagerank": "SciPy push iteration, L1 bound",
}
ID, OFFSET, LEVEL = 4, 8, 4  #: bytes of a vertex id, an edge offset, a level


def parameters(algorithm: str, source: int) -> dict[str, Any]:
    """Return the parameters an algorithm is run with."""
    return {"source": source} if algorithm == "bfs" else dict(constants.PAGERANK)


def check_result(algorithm: str, result: Any, model: EdgeModel, bed: Bed) -> None:
    """Verify the result of ``algorithm`` on the edges of ``model``."""
    n, host = bed.data.num_vertices, bed.device.to_numpy
    if algorithm == "bfs":
        check_bfs(result, model, n, bed.data.source, host)
    else:
        check_pagerank(result, model, n, host)


def gather_traffic(num_vertices: int, num_edges: int, value_bytes: int) -> int:
    """Return the bytes of one pull: ids and offsets once, every vertex value read and written once."""
    return num_edges * ID + (num_vertices + 1) * OFFSET + 2 * num_vertices * value_bytes


class AlgorithmTask(BedTask):
    """A task of an algorithm, on a graph with in-edges."""

    def __init__(self, bed: Bed, algorithm: str, batch: int | None = None) -> None:
        super().__init__(bed, batch)
        self.algorithm = algorithm
        self.params = parameters(algorithm, bed.data.source)
        if bed.silent:
            raise ValueError("a store that does nothing has no algorithms")
        self.oracle = ORACLES[algorithm]

    def new_algorithm(self) -> Any:
        """Return an instance of the algorithm, not yet computed."""
        from suricate.plugins import algorithm

        assert self.algorithm is not None
        return algorithm(self.algorithm)(**self.params)

    def check_on(self, result: Any, model: EdgeModel) -> None:
        """Verify a result."""
        assert self.algorithm is not None
        check_result(self.algorithm, result, model, self.bed)


class Scratch(AlgorithmTask):
    """An algorithm from scratch."""

    workload = "from scratch"
    does = "computes the algorithm on the whole graph"

    def setup(self) -> None:
        """Get the shared graph."""
        self.graph = self.bed.graph(weighted=False, in_edges=True)
        self.items = len(self.bed.data.model)

    def prepare(self) -> Any:
        """Make a new instance of the algorithm."""
        self.instance = self.new_algorithm()
        return self.instance

    def action(self, instance: Any) -> Any:
        """Compute."""
        instance.compute(self.graph)
        return instance.result

    def check(self, instance: Any, result: Any) -> None:
        """Verify the result."""
        self.check_on(result, self.bed.data.model)

    def traffic(self) -> int:
        """BFS: the out-edges of what it reaches, a level read and written; PageRank: one pull per iteration."""
        data = self.bed.data
        if self.algorithm == "pagerank":
            iterations = self.instance.iterations
            return iterations * gather_traffic(data.num_vertices, len(data.model), np.dtype(np.float64).itemsize)
        reached = self.device.to_numpy(self.instance.result.level) >= 0
        edges = int(np.count_nonzero(reached[data.model.src]))
        return edges * ID + int(reached.sum()) * (OFFSET + 2 * LEVEL)

    def extra(self) -> dict[str, Any]:
        """Return the number of iterations, where there are any."""
        iterations = getattr(self.instance, "iterations", None)
        return {} if iterations is None else {"iterations": iterations}


class Current(AlgorithmTask):
    """An algorithm kept current: a batch of insertions and deletions, end to end with the tracker on."""

    workload = "kept current"
    does = (
        "applies a fresh batch (80 % uniform insertions, 20 % deletions) with a tracker on; then, untimed, its inverse"
    )

    def setup(self) -> None:
        """Build a graph of its own and track."""
        assert self.batch is not None
        assert self.algorithm is not None
        self.items = self.batch
        self.graph = self.load()
        self.tracker = self.graph.track(self.algorithm, **self.params)
        self.inserts = Batches(self.bed, self.batch - self.deletions, "current inserts")
        self.deletes = Batches(self.bed, self.deletions, "current deletes")
        self.housekeeper = Housekeeper(self.graph)

    @property
    def deletions(self) -> int:
        """Deletions per batch."""
        return int((self.batch or 0) * constants.DELETE_SHARE)

    def load(self) -> Any:
        """Return a graph with all edges of the input."""
        graph = self.bed.empty_graph(weighted=False, in_edges=True)
        graph.insert_edges(*self.bed.all_edges(weighted=False))
        return graph

    def prepare(self) -> tuple[HostBatch, HostBatch]:
        """Draw a batch: what to insert, what to delete."""
        return self.inserts.draw("uniform"), self.deletes.draw("existing")

    def action(self, state: tuple[HostBatch, HostBatch]) -> Any:
        """Apply; deletions come first."""
        from suricate.delta import Batch

        insert, delete = state
        return self.graph.apply(Batch(insert=insert.edges, delete=delete.edges))

    def check(self, state: tuple[HostBatch, HostBatch], delta: Any) -> None:
        """Verify the content and the tracked result after the batch."""
        insert, delete = state
        kept = self.bed.data.model.minus(delete.keys)
        model = EdgeModel(*ends_of(np.concatenate((kept, insert.keys))))
        check_content(self.graph, model)
        self.check_on(self.tracked(), model)

    def tracked(self) -> Any:
        """Return the result that is kept current."""
        return self.tracker.result

    def restore(self, state: tuple[HostBatch, HostBatch], delta: Any) -> None:
        """Apply the inverse."""
        self.graph.apply(self.inverse(state))
        self.housekeeper.tidy(self.items)

    def inverse(self, state: tuple[HostBatch, HostBatch]) -> Any:
        """Return the batch that brings back the input's edges."""
        from suricate.delta import Batch

        insert, delete = state
        new = ~self.bed.data.model.contains(insert.keys)
        return Batch(insert=delete.edges, delete=self.bed.upload(insert.src[new], insert.dst[new]))

    def finish(self) -> None:
        """Verify content and result once more."""
        check_content(self.graph, self.bed.data.model)
        self.check_on(self.tracked(), self.bed.data.model)


class Repair(Current):
    """The same batches, the algorithm's update alone: the stored graph is already updated."""

    workload = "update alone"
    does = "brings the algorithm's result up to date with a fresh batch (as 'kept current') that is already stored"

    def setup(self) -> None:
        """Build a graph of its own; nothing is tracked."""
        assert self.batch is not None
        self.items = self.batch
        self.graph = self.load()
        self.instance = self.new_algorithm()
        self.instance.compute(self.graph)
        self.inserts = Batches(self.bed, self.batch - self.deletions, "current inserts")
        self.deletes = Batches(self.bed, self.deletions, "current deletes")
        self.housekeeper = Housekeeper(self.graph)

    def prepare(self) -> Any:
        """Draw a batch and apply it."""
        state = super().prepare()
        self.delta = super().action(state)
        len(self.delta)  # have its lists made here
        return state

    def action(self, state: Any) -> Any:
        """Update the result."""
        self.instance.update(self.graph, self.delta)

    def tracked(self) -> Any:
        """Return the result."""
        return self.instance.result

    def restore(self, state: Any, result: Any) -> None:
        """Apply the inverse and update."""
        self.instance.update(self.graph, self.graph.apply(self.inverse(state)))
        self.housekeeper.tidy(self.items)


class Stream(BedTask):
    """A temporal graph in the order of time: most of it loaded, the rest in consecutive batches, end to end.

    One repeat is one batch; when the stream is over, the graph is built anew (untimed) and the stream starts again.
    """

    workload = "stream"
    does = "inserts the next batch of a temporal graph (after the first 90 %), with the tracker, if any, on"
    window: ClassVar[bool] = False

    def __init__(self, bed: Bed, algorithm: str | None = None, batches: int = constants.STREAM_BATCHES) -> None:
        super().__init__(bed)
        self.algorithm, self.count = algorithm, batches
        self.loaded = int(len(bed.data.src) * constants.STREAM_LOADED)
        rest = len(bed.data.src) - self.loaded
        self.batch = max(1, rest // batches)
        self.items = self.batch
        self.verified_repeats = rest // self.batch
        self.at, self.graph, self.tracker = self.verified_repeats, None, None
        if algorithm:
            self.say("kept current")
            self.oracle = f"{BedTask.oracle}; {ORACLES[algorithm]}"

    def setup(self) -> None:
        """Check that the input has an order of time."""
        if not self.bed.data.temporal:
            raise Skipped("the graph has no time stamps")
        if not self.batch or not self.verified_repeats:
            raise Skipped("the graph is too small for a stream")

    def prepare(self) -> tuple[Any, Any]:
        """Cut the next batch; start again at the end of the stream."""
        if self.at == self.verified_repeats:
            self._restart()
        assert self.batch is not None
        begin, end = self._bounds()
        self.at += 1
        data = self.bed.data
        insert = self.bed.upload(data.src[end : end + self.batch], data.dst[end : end + self.batch])
        if not self.window:
            return insert, None
        leaving = EdgeModel(data.src[begin : begin + self.batch], data.dst[begin : begin + self.batch])
        staying = EdgeModel(data.src[begin + self.batch : end], data.dst[begin + self.batch : end])
        gone = leaving.keys[~staying.contains(leaving.keys)]
        return insert, self.bed.upload(*ends_of(gone))

    def action(self, state: tuple[Any, Any]) -> Any:
        """Apply the batch."""
        from suricate.delta import Batch

        insert, delete = state
        return self.graph.apply(Batch(insert=insert, delete=delete))  # type: ignore[attr-defined]

    def check(self, state: Any, delta: Any) -> None:
        """Verify content and result; on large graphs only at the end of the stream."""
        if len(self.bed.data.src) <= constants.CHECK_EACH_BATCH or self.at == self.verified_repeats:
            self.finish()

    def finish(self) -> None:
        """Verify against the raw events up to here."""
        if self.bed.silent:
            return
        begin, end = self._bounds()
        model = EdgeModel(self.bed.data.src[begin:end], self.bed.data.dst[begin:end])
        check_content(self.graph, model)
        if self.algorithm:
            check_result(self.algorithm, self.tracker.result, model, self.bed)  # type: ignore[attr-defined]

    def _bounds(self) -> tuple[int, int]:
        """Return which events are stored now."""
        step = self.at * (self.batch or 0)
        return (step if self.window else 0), self.loaded + step

    def _restart(self) -> None:
        self.at = 0
        data = self.bed.data
        self.graph = self.bed.empty_graph(weighted=False, in_edges=self.algorithm is not None)
        edges = self.bed.upload(data.src[: self.loaded], data.dst[: self.loaded])
        self.graph.insert_edges(edges.src, edges.dst)  # type: ignore[attr-defined]
        if self.algorithm:
            params = parameters(self.algorithm, data.source)
            self.tracker = self.graph.track(self.algorithm, **params)  # type: ignore[attr-defined]


class Window(Stream):
    """The same with a sliding window: what is too old leaves."""

    workload = "sliding window"
    does = "as 'stream'; besides, deletes the edges whose last event leaves the window (90 % of the events)"
    window = True


# -- operators ---------------------------------------------------------------------------------------------------------


def product(u, v, w, x):
    """Return the term of a matrix-vector product."""
    return w * x[v]


def value(u, v, w, x):
    """Return the neighbour's value."""
    return x[v]


def deeper(u, v, w, level):
    """Return the level of ``v`` if ``u`` discovers it."""
    return level[u] + 1


class Reduce(BedTask):
    """``neighbor_reduce``: a sum over out-neighbours, of a vertex array or of its product with the weights."""

    workload = "neighbor_reduce"
    does = "sums x[v] ('sum') or w * x[v] ('product') over the out-neighbours of every vertex"
    oracle = "SciPy matrix-vector product"

    def __init__(self, bed: Bed, function: str, dtype: str) -> None:
        super().__init__(bed)
        self.function, self.dtype = function, np.dtype(dtype)
        self.say(f"{function} {dtype}")

    def setup(self) -> None:
        """Get the graph, draw the vertex array."""
        data = self.bed.data
        self.weighted = self.function == "product"
        self.graph = self.bed.graph(weighted=self.weighted)
        self.items = len(data.model)
        self.values = self.bed.rng("values").uniform(0.5, 1.5, data.num_vertices).astype(self.dtype)
        self.x = self.device.xp.asarray(self.values)
        self.out = self.device.xp.zeros(data.num_vertices, self.dtype)

    def warm(self) -> None:
        """Reduce: the result is the same every time."""
        self.action(None)

    def action(self, state: Any) -> Any:
        """Reduce."""
        from suricate.operators import neighbor_reduce

        return neighbor_reduce(
            self.graph, product if self.weighted else value, args=(self.x,), reduce="sum", out=self.out
        )

    def check(self, state: Any, result: Any) -> None:
        """Compare with SciPy's product in float64."""
        data = self.bed.data
        model = self.bed.model(weighted=self.weighted)
        expected = model.csr(data.num_vertices, np.float64) @ self.values.astype(np.float64)
        tolerance = 64 * np.finfo(self.dtype).eps * max(1.0, np.log2(max(2, len(model))))
        close = np.allclose(self.device.to_numpy(result), expected, rtol=tolerance, atol=0)
        expect(close, "neighbor_reduce differs from scipy.sparse")

    def traffic(self) -> int:
        """Ids, offsets and weights once, every vertex value read and written once."""
        data = self.bed.data
        weights = len(data.model) * 4 if self.weighted else 0
        return gather_traffic(data.num_vertices, len(data.model), self.dtype.itemsize) + weights


class Propagate(BedTask):
    """Breadth-first search as one ``propagate``: levels only."""

    workload = "propagate"
    detail = "bfs levels"
    does = "propagates levels from the source to a fixed point; clearing the level array is part of it"
    oracle = ORACLES["bfs"]

    def setup(self) -> None:
        """Get the graph."""
        self.graph = self.bed.graph(weighted=False)
        self.items = len(self.bed.data.model)
        self.level = self.device.xp.empty(self.bed.data.num_vertices, np.int32)
        self.far = np.iinfo(np.int32).max

    def action(self, state: Any) -> Any:
        """Search."""
        from suricate.operators import propagate

        self.level.fill(self.far)
        self.level[self.bed.data.source] = 0
        propagate(self.graph, [self.bed.data.source], deeper, self.level, reduce="min")
        return self.level

    def check(self, state: Any, level: Any) -> None:
        """Compare every level."""
        data = self.bed.data
        found = self.device.to_numpy(level)
        expected = levels(data.model.csr(data.num_vertices), data.source)
        wrong = int(np.count_nonzero(np.where(found == self.far, -1, found) != expected))
        if wrong:
            raise Mismatch(f"propagate: {wrong} of {data.num_vertices} levels differ from scipy.sparse.csgraph")

    def traffic(self) -> int:
        """The out-edges of what is reached; a level cleared, read and written per vertex."""
        reached = self.device.to_numpy(self.level) != self.far
        edges = int(np.count_nonzero(reached[self.bed.data.model.src]))
        return edges * ID + int(reached.sum()) * OFFSET + self.bed.data.num_vertices * 3 * LEVEL
