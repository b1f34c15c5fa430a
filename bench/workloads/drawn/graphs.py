"""Large graphs that are drawn in pieces: built in batches, and verified by a sample of vertices.

There is no copy of a graph to verify it against. Instead all edges from or to the sampled vertices, which are drawn a
second time, must be exactly those of the graph. A vertex is in the sample if its hash is a multiple of a fixed number;
of graphs of up to 2^24 edges all vertices are.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from suricate.base.devices import Device
from suricate.base.types import EdgeList, edge_keys
from suricate.bench import constants
from suricate.bench.drawn import DrawnInput
from suricate.bench.fixtures import Fixture, HostBatch
from suricate.bench.runner import Skipped
from suricate.bench.scenarios import bytes_per_edge
from suricate.bench.verify.edges import expect
from suricate.cuda.compiler import POOL
from suricate.errors import CapacityError
from suricate.generate.edge_streams import mixed
from suricate.graph import Graph
from suricate.intake.arrays import sorted_distinct


class Sample:
    """A sample of the vertices of a drawn graph, and all edges from or to them, drawn a second time.

    ``vertices``: their ids, ascending; ``out_keys`` and ``in_keys``: the keys of the edges that leave them and that
    enter them, distinct and ascending. All arrays are on the device, ``xp`` is their module.
    """

    def __init__(self, data: DrawnInput, xp: Any) -> None:
        self.data, self.xp = data, xp
        self.stride = np.uint64(max(1, data.num_edges // constants.SAMPLE_EDGES))
        begins = range(0, data.num_vertices, constants.PIECE)
        self.vertices = xp.concatenate([self._vertices(begin) for begin in begins])
        leaving, reaching = [], []
        for src, dst, _ in data.pieces(0, data.num_edges, xp):
            keys = edge_keys(src, dst)
            leaving.append(keys[self.has(src)])
            reaching.append(keys[self.has(dst)])
        self.out_keys, self.in_keys = (sorted_distinct(xp.concatenate(parts), xp) for parts in (leaving, reaching))

    def has(self, ids: Any) -> Any:
        """Return which of the vertices ``ids`` are in the sample, ``bool[n]``."""
        return mixed(ids.astype(np.uint64)) % self.stride == 0

    def _vertices(self, begin: int) -> Any:
        ids = self.xp.arange(begin, min(begin + constants.PIECE, self.data.num_vertices), dtype=np.uint32)
        return ids[self.has(ids)]

    def after(self, gone: Any, new: Any) -> Any:
        """Return the expected keys of the edges that leave sampled vertices after a batch, ascending.

        ``gone``: the keys that the batch deletes; ``new``: those that it inserts. Both may be unsorted, repeated, and
        of vertices that are not in the sample.
        """
        xp, keys = self.xp, self.out_keys
        if len(gone):
            keys = keys[~_among(keys, xp.sort(gone), xp)]
        here = new[self.has(new >> np.uint64(32))]
        return sorted_distinct(xp.concatenate((keys, here)), xp) if len(here) else keys

    def check(self, graph: Any, keys: Any) -> None:
        """Verify the edges that leave sampled vertices in ``graph``, and that its degrees sum to the number of edges.

        ``keys``: the expected keys of those edges, ascending.
        """
        found = self.keys_in(graph)
        expect(len(found) == len(keys), f"{len(found)} edges leave sampled vertices instead of {len(keys)}")
        expect((found == keys).all(), "the right number of edges leaves sampled vertices, but other ones")
        degrees = int(graph.degrees().sum(dtype=np.uint64))
        expect(degrees == graph.num_edges, f"the degrees sum to {degrees}, num_edges is {graph.num_edges}")

    def check_answers(self, asked: EdgeList, found: Any, keys: Any) -> None:
        """Verify the answers ``found`` (``bool[n]``) to queries of the pairs ``asked`` whose sources are in the sample.

        ``keys``: the keys of all edges that leave sampled vertices, ascending.
        """
        here = self.has(asked.src)
        right = _among(edge_keys(asked.src, asked.dst)[here], keys, self.xp)
        expect((found[here] == right).all(), "an answer about a sampled vertex is wrong")

    def keys_in(self, graph: Any) -> Any:
        """Return the keys of the edges that leave sampled vertices in ``graph``, ascending."""
        xp, found = self.xp, graph.adjacency(self.vertices)
        owner = xp.searchsorted(found.offsets, xp.arange(len(found.dst)), side="right") - 1
        return xp.sort(edge_keys(self.vertices[owner], found.dst))

    def sums_into(self, x: Any) -> Any:
        """Return for each sampled vertex the sum over its in-neighbours ``u`` of ``x[u]``, float64."""
        src, dst = _ends(self.in_keys)
        return self._sums(dst, x[src])

    def _sums(self, ids: Any, values: Any) -> Any:
        place = self.xp.searchsorted(self.vertices, ids.astype(np.uint32))
        return self.xp.bincount(place, weights=values.astype(np.float64), minlength=len(self.vertices))


def _ends(keys: Any) -> tuple[Any, Any]:
    return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _among(keys: Any, ascending: Any, xp: Any) -> Any:
    """Return which of ``keys`` are in the sorted array ``ascending``, ``bool[n]``; both are arrays of ``xp``."""
    if not len(ascending):
        return xp.zeros(len(keys), bool)
    return ascending[xp.minimum(xp.searchsorted(ascending, keys), len(ascending) - 1)] == keys


def sample_of(fixture: Fixture) -> Sample:
    """Return the sample of the fixture's graph, which is drawn at the first call and shared by all tasks."""
    if Sample not in fixture.cache:
        fixture.cache[Sample] = Sample(DrawnInput.of(fixture), fixture.device.xp)
    return fixture.cache[Sample]


def existing_edges(fixture: Fixture, rng: np.random.Generator, size: int) -> HostBatch:
    """Return a batch of ``size`` random edges of the fixture's drawn graph, possibly repeated."""
    data = DrawnInput.of(fixture)
    numbers = rng.integers(0, data.num_edges, size).astype(np.uint64)
    return HostBatch(fixture, *data.stream.at(numbers)[:2], rng, False)


class LargeGraph:
    """The graph of a drawn input, built in batches; ``seconds`` has the time of each batch.

    Memory for all edges is reserved first, except with degree hints, which determine how much memory the graph has.

    Raises:
        Skipped: there is not enough memory.
    """

    def __init__(self, fixture: Fixture, *, in_edges: bool = False) -> None:
        try:
            self._build(fixture, in_edges)
        except CapacityError as error:
            raise Skipped(f"it does not fit: {error}") from error

    def _build(self, fixture: Fixture, in_edges: bool) -> None:
        data, device = DrawnInput.of(fixture), fixture.device
        size = max(1, min(constants.LARGE_BATCH, data.num_edges // constants.GROWTH_BATCHES))
        self.graph: Any = fixture.empty_graph(weighted=False, in_edges=in_edges)
        self.reserved = not fixture.hints and self._reserve(data.num_edges)
        self.seconds: list[float] = []
        self._compile(fixture, min(size, data.num_vertices))
        for begin in range(0, data.num_edges, size):
            self._insert(data.edges(begin, min(begin + size, data.num_edges), device.xp), device)
        self.sizes = bytes_per_edge(self.graph)

    def _reserve(self, num_edges: int) -> bool:
        """Reserve memory for ``num_edges`` edges; return False if there is too little: then the graph grows instead."""
        try:
            self.graph.reserve(num_edges)
        except CapacityError:
            return False
        return True

    def _compile(self, fixture: Fixture, size: int) -> None:
        """Insert ``size`` edges into a temporary graph: all programs are then compiled before the first timed batch."""
        ids = fixture.device.xp.arange(size, dtype=np.uint32)
        Graph(size, **fixture.settings).insert_edges(ids, ids)

    def _insert(self, edges: EdgeList, device: Device) -> None:
        POOL.wait()  # for final builds
        device.synchronize()
        start = time.perf_counter()
        self.graph.insert_edges(*edges[:2])
        device.synchronize()
        self.seconds.append(time.perf_counter() - start)

    @classmethod
    def of(cls, fixture: Fixture) -> LargeGraph:
        """Return the graph that the tasks of ``fixture`` share; it is built at the first call."""
        if cls not in fixture.cache:
            fixture.cache[cls] = cls(fixture)
        return fixture.cache[cls]
