"""Test beds: one engine on one input and device, with the graphs that its tasks share, and seeded batches."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from suricate.bench import constants
from suricate.bench.inputs import Input
from suricate.bench.oracle import EdgeModel, check_content, keys_of
from suricate.bench.runner import Skipped
from suricate.devices import Device
from suricate.store import EdgeList, Store


class Bed:
    """An engine (its name or class) on an input and a device.

    Graphs are built and verified on first use, and kept until :meth:`reset`.
    ``weighted`` says whether graphs carry the input's weights (float32) where a task does not decide that itself;
    ``checks`` and ``options`` are passed on to ``Graph``. ``silent`` marks the store that does nothing, which is not
    verified.
    """

    def __init__(
        self,
        engine: str | type[Store],
        data: Input,
        device: Device,
        *,
        seed: int,
        weighted: bool = False,
        checks: str = "eager",
        silent: bool = False,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.engine = engine if isinstance(engine, str) else engine.name
        self.data, self.device, self.seed = data, device, seed
        self.weighted, self.silent = weighted, silent
        self.settings = {"backend": engine, "device": str(device), "checks": checks, **(options or {})}
        self._graphs: dict[tuple[bool, bool], Any] = {}
        self._keepers: dict[int, Housekeeper] = {}

    def empty_graph(self, *, weighted: bool | None = None, in_edges: bool = False) -> Any:
        """Return a new graph without edges."""
        from suricate.graph import Graph

        dtype = "float32" if self._is_weighted(weighted) else None
        return Graph(self.data.num_vertices, weight_dtype=dtype, in_edges=in_edges, **self.settings)

    def graph(self, *, weighted: bool | None = None, in_edges: bool = False) -> Any:
        """Return the shared graph with all edges of the input, verified."""
        weighted = self._is_weighted(weighted)
        key = (weighted, in_edges)
        if key not in self._graphs:
            graph = self.empty_graph(weighted=weighted, in_edges=in_edges)
            graph.insert_edges(*self.all_edges(weighted=weighted))
            if not self.silent:
                check_content(graph, self.model(weighted=weighted))
            self._graphs[key] = graph
            self._keepers[id(graph)] = Housekeeper(graph)
        return self._graphs[key]

    def keeper_of(self, graph: Any) -> Housekeeper:
        """Return the housekeeper of a shared graph; it knows the size at the start, whatever was done since."""
        return self._keepers[id(graph)]

    def all_edges(self, *, weighted: bool | None = None) -> EdgeList:
        """Return the edges of the input in arrays on the device."""
        return self.upload(self.data.src, self.data.dst, self.data.weight if self._is_weighted(weighted) else None)

    def model(self, *, weighted: bool | None = None) -> EdgeModel:
        """Return the set of edges of the input."""
        return self.data.weighted_model if self._is_weighted(weighted) else self.data.model

    def reset(self) -> None:
        """Forget the graphs; the next task builds its own."""
        self._graphs.clear()
        self._keepers.clear()

    def upload(self, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None = None) -> EdgeList:
        """Return edges in arrays on the device."""
        asarray = self.device.xp.asarray
        return EdgeList(asarray(src), asarray(dst), None if weight is None else asarray(weight))

    def rng(self, *purpose: Any) -> np.random.Generator:
        """Return a generator that is the same for every engine."""
        return np.random.default_rng([self.seed, zlib.crc32(repr(purpose).encode())])

    def _is_weighted(self, weighted: bool | None) -> bool:
        return self.weighted if weighted is None else weighted


class HostBatch:
    """A batch on the host (uint32 ``src`` and ``dst``, ``weight`` or None) and, as ``edges``, on the device."""

    def __init__(self, bed: Bed, src: np.ndarray, dst: np.ndarray, rng: np.random.Generator, weighted: bool) -> None:
        self.src, self.dst = src, dst
        self.weight = rng.uniform(0.5, 1.5, len(src)).astype(np.float32) if weighted else None
        self.edges: EdgeList = bed.upload(src, dst, self.weight)

    @property
    def keys(self) -> np.ndarray:
        """The edges as keys."""
        return keys_of(self.src, self.dst)


class Batches:
    """Fresh batches of ``size`` edges: uniform pairs, existing edges (distinct, uniformly chosen), or half of each."""

    def __init__(self, bed: Bed, size: int, purpose: str, *, weighted: bool = False) -> None:
        self.bed, self.size, self.weighted = bed, size, weighted
        self.rng = bed.rng(purpose, size)
        self._shuffled: tuple[np.ndarray, np.ndarray] | None = None

    def draw(self, kind: str) -> HostBatch:
        """Return a batch of ``kind`` ``"uniform"``, ``"existing"`` or ``"mixed"``."""
        if kind == "mixed":
            known, other = self._existing(self.size // 2), self._uniform(self.size - self.size // 2)
            order = self.rng.permutation(self.size)
            src, dst = (np.concatenate(parts)[order] for parts in zip(known, other, strict=True))
        else:
            src, dst = self._uniform(self.size) if kind == "uniform" else self._existing(self.size)
        return HostBatch(self.bed, src, dst, self.rng, self.weighted)

    def _uniform(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        n = self.bed.data.num_vertices
        return self.rng.integers(0, n, size, np.uint32), self.rng.integers(0, n, size, np.uint32)

    def _existing(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        model = self.bed.data.model
        if size > len(model):
            raise Skipped(f"a batch of {size} existing edges is more than the graph's {len(model)}")
        if self._shuffled is None:
            order = self.rng.permutation(len(model))
            self._shuffled = model.src[order], model.dst[order]
        begin = int(self.rng.integers(0, len(model) - size + 1))
        src, dst = self._shuffled
        return src[begin : begin + size], dst[begin : begin + size]


class Housekeeper:
    """Compacts a graph between repeats when deleted edges have bloated it, so that all repeats meet the same state.

    Without, a rate would depend on the number of repeats before; what bloat costs is measured by the workload 'churn'.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.limit = constants.MAX_GROWTH * graph.memory_usage().used

    def tidy(self, batch: int) -> None:
        """Compact if necessary, with room for the next ``batch`` edges."""
        if self.graph.memory_usage().used > self.limit:
            self.graph.compact()
            self.graph.reserve(batch)


def host_keys(device: Device, edges: EdgeList) -> np.ndarray:
    """Return the keys of edges on ``device``."""
    return keys_of(device.to_numpy(edges.src), device.to_numpy(edges.dst))
