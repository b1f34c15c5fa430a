"""Fixtures: one backend on one input and device, with the graphs that its tasks share, and seeded batches."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from suricate.base.devices import Device
from suricate.base.types import EdgeList, WeightDType, edge_keys, ends_of
from suricate.bench import constants
from suricate.bench.inputs import Input
from suricate.bench.runner import Skipped
from suricate.bench.verify.edges import EdgeModel, check_content
from suricate.store import Store

PAIRS = ("uniform", "sorted", "existing", "mixed", "hub")  #: kinds of batches, see :class:`Batches`


class Fixture:
    """A backend on an input and a device, with the graphs that several tasks share.

    Graphs are built and verified on first use, and exist until :meth:`reset`.

    Args:
        backend: name or class of the backend.
        data: the input.
        device: the device of all graphs.
        seed: for everything that :meth:`rng` draws.
        weighted: whether graphs have the input's weights (float32), unless an argument of a method decides otherwise.
        checks, options: passed to ``Graph``.
        hints: whether graphs get the exact degrees of the input as degree hints.
        label: a text that rows show about the fixture.
        silent: True for the store that does nothing, which is not verified.
    """

    def __init__(
        self,
        backend: str | type[Store],
        data: Input,
        device: Device,
        *,
        seed: int,
        weighted: bool = False,
        checks: str = "eager",
        silent: bool = False,
        hints: bool = False,
        options: dict[str, Any] | None = None,
        label: str = "",
    ) -> None:
        self.backend = backend if isinstance(backend, str) else backend.name
        self.data, self.device, self.seed = data, device, seed
        self.weighted, self.silent, self.hints, self.options = weighted, silent, hints, options or {}
        self.label = label
        traits = (
            "with hints" if hints else "",
            "weighted" if weighted else "",
            "" if checks == "eager" else f"{checks} checks",
        )
        self.traits = tuple(part for part in (*traits, label) if part)
        self.settings = {"backend": backend, "device": str(device), "checks": checks, **self.options}
        self.cache: dict[Any, Any] = {}  #: what else tasks share, until :meth:`reset`
        self._graphs: dict[tuple[bool, bool, bool], Any] = {}

    def empty_graph(
        self, *, weighted: bool | None = None, in_edges: bool = False, directed: bool = True, **settings: Any
    ) -> Any:
        """Return a new graph without edges; ``settings``: arguments of ``Graph`` that override the fixture's.

        ``weighted``: whether it has weights (None: as the fixture); ``in_edges``: whether a directed graph also stores
        its in-edges (an undirected one always has them).
        """
        from suricate.graph import Graph

        dtype: WeightDType = "float32" if self._is_weighted(weighted) else None
        in_edges = in_edges and directed
        options = {**(self._degree_hints(in_edges, directed) if self.hints else {}), **self.settings, **settings}
        return Graph(self.data.num_vertices, directed=directed, weight_dtype=dtype, in_edges=in_edges, **options)

    def _degree_hints(self, in_edges: bool, directed: bool) -> dict[str, Any]:
        """Return the exact degrees of the input, on the device, by the parameter of ``Graph`` that takes them.

        In-degrees are included if ``in_edges``; an undirected graph has one degree per vertex, of both directions.
        """
        degrees = {"degree_hints": self.data.out_degrees if directed else self.data.degrees}
        if in_edges:
            degrees["in_degree_hints"] = self.data.in_degrees
        for name, values in degrees.items():
            if (name, directed) not in self.cache:
                self.cache[name, directed] = self.device.xp.asarray(values)
        return {name: self.cache[name, directed] for name in degrees}

    def graph(self, *, weighted: bool | None = None, in_edges: bool = False, directed: bool = True) -> Any:
        """Return the shared graph with all edges of the input; it is built and verified at the first call.

        There is one for each combination of ``weighted`` (None: as the fixture), ``in_edges`` and ``directed``.
        """
        key = (self._is_weighted(weighted), in_edges, directed)
        if key not in self._graphs:
            graph = self.empty_graph(weighted=weighted, in_edges=in_edges, directed=directed)
            graph.insert_edges(*self.all_edges(weighted=weighted))
            if not self.silent:
                check_content(graph, self.model(weighted=weighted, directed=directed))
            self._graphs[key] = graph
        return self._graphs[key]

    def all_edges(self, *, weighted: bool | None = None) -> EdgeList:
        """Return the input's edges in arrays on the device, with weights if ``weighted`` (None: as the fixture)."""
        return self.upload(self.data.src, self.data.dst, self.data.weight if self._is_weighted(weighted) else None)

    def model(self, *, weighted: bool | None = None, directed: bool = True) -> EdgeModel:
        """Return the input's set of edges on the host, ``directed`` and ``weighted`` (None: as the fixture) or not."""
        return self.data.model_of(weighted=self._is_weighted(weighted), directed=directed)

    def shuffled(self, *, directed: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return sources and destinations of all distinct edges, uint32, in a random order that all backends share.

        Unless ``directed``, each undirected edge occurs once, with source <= destination.
        """
        name, cache = ("shuffled", self.seed, directed), self.data.cache
        if name not in cache:
            model = self.model(weighted=False, directed=directed)
            cache[name] = ends_of(self.rng("shuffled", directed).permutation(model.keys))
        return cache[name]

    def reset(self) -> None:
        """Drop all graphs and cached objects; the next task builds its own."""
        self._graphs.clear()
        self.cache.clear()

    def upload(self, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None = None) -> EdgeList:
        """Return host arrays ``src``, ``dst`` and ``weight`` (or None) as edges in arrays on the device."""
        asarray = self.device.xp.asarray
        return EdgeList(asarray(src), asarray(dst), None if weight is None else asarray(weight))

    def rng(self, *purpose: Any) -> np.random.Generator:
        """Return a random generator whose state depends only on the fixture's seed and on ``purpose``, any values."""
        return np.random.default_rng([self.seed, zlib.crc32(repr(purpose).encode())])

    def _is_weighted(self, weighted: bool | None) -> bool:
        return self.weighted if weighted is None else weighted


class HostBatch:
    """A batch on the host (uint32 ``src`` and ``dst``, ``weight`` or None) and, as ``edges``, on the device."""

    def __init__(
        self, fixture: Fixture, src: np.ndarray, dst: np.ndarray, rng: np.random.Generator, weighted: bool
    ) -> None:
        self.src, self.dst = src, dst
        self.weight = rng.uniform(0.5, 1.5, len(src)).astype(np.float32) if weighted else None
        self.edges: EdgeList = fixture.upload(src, dst, self.weight)

    @property
    def keys(self) -> np.ndarray:
        """The keys of the edges, ``src << 32 | dst``, uint64, in the order of the batch."""
        return edge_keys(self.src, self.dst)


class Batches:
    """Draws batches of ``size`` edges; the sequence depends on the fixture's seed, ``purpose`` and ``size``.

    Kinds of batches: "uniform" (pairs of random vertices), "sorted" (such pairs in the order of source, then
    destination), "existing" (distinct random edges of the input), "mixed" (half existing edges, half uniform pairs,
    in random order), "hub" (edges from the vertex of largest out-degree to distinct random vertices). For undirected
    graphs the ends of each pair are then ordered so that ``src <= dst``.
    """

    def __init__(
        self, fixture: Fixture, size: int, purpose: str, *, weighted: bool = False, directed: bool = True
    ) -> None:
        self.fixture, self.size, self.weighted, self.directed = fixture, size, weighted, directed
        self.rng = fixture.rng(purpose, size)

    def draw(self, kind: str) -> HostBatch:
        """Return a new batch of the given ``kind``: "uniform", "sorted", "existing", "mixed" or "hub".

        Raises ``Skipped`` if the graph has too few edges (existing, mixed) or vertices (hub) for it.
        """
        src, dst = getattr(self, f"_{kind}")(self.size)
        if not self.directed:
            src, dst = np.minimum(src, dst), np.maximum(src, dst)
        return HostBatch(self.fixture, src, dst, self.rng, self.weighted)

    def _mixed(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        known, other = self._existing(size // 2), self._uniform(size - size // 2)
        order = self.rng.permutation(size)
        return np.concatenate((known[0], other[0]))[order], np.concatenate((known[1], other[1]))[order]

    def _hub(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        data = self.fixture.data
        if size > data.num_vertices:
            raise Skipped(f"a batch of {size} edges of one vertex is more than there are vertices")
        dst = self.rng.choice(data.num_vertices, size, replace=False).astype(np.uint32)
        return np.full(size, data.hub, np.uint32), dst

    def _uniform(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        n = self.fixture.data.num_vertices
        return self.rng.integers(0, n, size, np.uint32), self.rng.integers(0, n, size, np.uint32)

    def _sorted(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        return ends_of(np.sort(edge_keys(*self._uniform(size))))

    def _existing(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        model = self.fixture.model(weighted=False, directed=self.directed)
        if size > len(model):
            raise Skipped(f"a batch of {size} existing edges is more than the graph's {len(model)}")
        begin = int(self.rng.integers(0, len(model) - size + 1))
        src, dst = self.fixture.shuffled(directed=self.directed)
        return src[begin : begin + size], dst[begin : begin + size]


class Housekeeper:
    """Compacts a graph between repeats when deleted edges have bloated it, so that all repeats see the same graph.

    Without it a rate would depend on the number of repeats before; the workload 'churn' measures the cost of bloat.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.limit = constants.MAX_GROWTH * graph.memory_usage().used

    def bloated(self) -> bool:
        """Return whether the graph uses more than ``MAX_GROWTH`` times the bytes that it used at the start."""
        return self.graph.memory_usage().used > self.limit

    def tidy(self, batch: int) -> None:
        """If the graph is bloated, compact it and reserve memory for the next ``batch`` edges."""
        if self.bloated():
            self.graph.compact()
            self.graph.reserve(batch)


def host_keys(device: Device, edges: EdgeList) -> np.ndarray:
    """Return the keys ``src << 32 | dst`` of edges on ``device``, uint64 on the host, in the order of the edges."""
    return edge_keys(device.to_numpy(edges.src), device.to_numpy(edges.dst))
