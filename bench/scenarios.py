"""Graphs under test: freshly built, aged by churn, or nearly full.

A scenario is a graph in one of these conditions, and the set of edges that it must have. Repeats of a workload can
bloat the graph, and a rate would then depend on the number of repeats before it; a bloated graph is therefore rebuilt
between repeats (the workload 'churn' measures the cost of bloat). Nothing here is timed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.types import EdgeList, edge_keys, ends_of
from suricate.bench import constants
from suricate.bench.fixtures import Fixture, Housekeeper
from suricate.bench.verify.edges import EdgeModel, among, check_content
from suricate.plugins.algorithm import ID_BYTES


def scenario_of(fixture: Fixture, name: str) -> Scenario:
    """Return the scenario that the tasks of ``fixture`` share; ``name`` is one of :data:`SCENARIOS`."""
    if name not in fixture.cache:
        fixture.cache[name] = SCENARIOS[name](fixture)
    return fixture.cache[name]


class Scenario:
    """The scenario "fresh", a graph with all edges of the input, just built; also the base of the other scenarios.

    ``graph``: the current graph, which :meth:`tidy` and :meth:`rebuild` may replace; ``model``: the edges that it must
    have. Right before each timed call a few *warm calls* of the same operation run, on a batch that changes nothing.
    """

    def __init__(self, fixture: Fixture) -> None:
        self.fixture = fixture
        self.rebuild()
        if not fixture.silent:
            check_content(self.graph, self.model)

    def rebuild(self) -> None:
        """Free the present graph, and build a new one in this scenario's condition."""
        self.graph: Any = None  # the memory of the old one is free before there is a new one
        self.model = self.fixture.model()
        self.graph = self.fixture.empty_graph()
        self.graph.insert_edges(*self._edges())
        self.arrange()
        self.sizes = self.measure()
        self.housekeeper = Housekeeper(self.graph)

    def _edges(self) -> EdgeList:
        """Return the input's edges, uploaded to the device once, since each repeat may rebuild the graph."""
        if "edges" not in self.fixture.cache:
            self.fixture.cache["edges"] = self.fixture.all_edges()
        return self.fixture.cache["edges"]

    def arrange(self) -> None:
        """Bring the freshly built graph into this scenario's condition, in place; here, nothing needs to be done."""

    def warm_size(self, batch: int) -> int:
        """Return the number of edges in each warm call, if the timed call has ``batch`` edges."""
        return batch

    def _distinct(self, batch: int) -> int:
        """Return the number of distinct edges in a warm call: few, so that they evict little from the caches."""
        return max(1, min(self.warm_size(batch), constants.WARM_EDGES, len(self.model) // 64))

    def present(self, batch: int, without: np.ndarray | None = None) -> EdgeList:
        """Return a batch for warm calls: edges that the graph has, with their weights, in arrays on the device.

        It has :meth:`warm_size` edges, few of them distinct. ``batch``: size of the timed batch; ``without``: keys of
        edges to leave out.
        """
        at = self.fixture.rng("present").choice(len(self.model), self._distinct(batch), replace=False)
        if without is not None:
            at = at[~among(self.model.keys[at], np.sort(without))]
        return _edges_at(self.fixture, self.model, _repeated(at, self.warm_size(batch)))

    def absent(self, batch: int, without: np.ndarray | None = None) -> EdgeList:
        """Return a batch for warm calls: edges that the graph does not have, without weights, in arrays on the device.

        It has :meth:`warm_size` edges, few of them distinct. ``batch``: size of the timed batch; ``without``: keys of
        edges to leave out.
        """
        size = self._distinct(batch)
        keys = edge_keys(
            *self.fixture.rng("absent").integers(0, self.fixture.data.num_vertices, (2, 2 * size), np.uint32)
        )
        keys = keys[~self.model.contains(keys)][:size]
        if without is not None:
            keys = keys[~among(keys, np.sort(without))]
        return self.fixture.upload(*ends_of(_repeated(keys, self.warm_size(batch))))

    def reserve(self, batch: int) -> None:
        """Reserve memory for ``batch`` timed edges and the warm calls before them, so that no growth is timed."""
        self.graph.reserve(batch + constants.WARM_CALLS * self.warm_size(batch))

    def drifted(self) -> bool:
        """Return whether the graph has left its condition: here, whether repeats have bloated it."""
        return self.housekeeper.bloated()

    def tidy(self, batch: int) -> None:
        """Rebuild the graph if it has left its condition, and then reserve memory for ``batch`` edges."""
        if self.drifted():
            self.rebuild()
            self.reserve(batch)

    def facts(self) -> dict[str, Any]:
        """Return the bytes per edge, used and allocated, by name, as measured right after the graph was built."""
        return {} if self.fixture.silent else self.sizes

    def measure(self) -> dict[str, Any]:
        """Return the bytes per edge of the graph as it is now, by name."""
        return bytes_per_edge(self.graph)


class Aged(Scenario):
    """The scenario "aged": ten times in a row, a tenth of the edges was deleted and inserted again."""

    def arrange(self) -> None:
        """Delete nearly all edges of the fresh graph and insert them again, a tenth at a time (:func:`age`)."""
        age(self.fixture, self.graph)


class Full(Scenario):
    """The scenario "full": random edges were added until the largest part of the out-store was nearly full."""

    def arrange(self) -> None:
        """Insert random edges until the out-store is nearly full; before that, compact it if much of it is unused."""
        rng, model = self.fixture.rng("full"), self.model
        if fill_of(self.graph) < constants.FULL:
            self.graph.compact()
        parts: list[tuple[np.ndarray, ...]] = []
        left = int(constants.FULL_EXTRA * len(model))
        while left > 0 and fill_of(self.graph) < constants.FULL:
            size = min(left, max(1, self._step()))
            left -= size
            parts.append(self._add(rng, size))
        if parts:
            self.model = self._model_with(parts)
        self.reached = min(constants.FULL, fill_of(self.graph))

    def _model_with(self, parts: list[tuple[np.ndarray, ...]]) -> EdgeModel:
        """Return the set of the input's edges and those of ``parts``, tuples of sources, destinations and weights."""
        model, name = self.model, ("filled", *(len(part[0]) for part in parts))
        if name not in self.fixture.cache:
            src, dst, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            src, dst = np.concatenate((model.src, src)), np.concatenate((model.dst, dst))
            known = None if model.weight is None else np.concatenate((model.weight, weight))
            self.fixture.cache[name] = EdgeModel(src, dst, known)
        return self.fixture.cache[name]

    def warm_size(self, batch: int) -> int:
        """Return 1: warm calls must not make the store grow before the timed call."""
        return 1

    def reserve(self, batch: int) -> None:
        """Do nothing: this scenario measures batches that may not fit."""

    def _step(self) -> int:
        """Return the number of random edges to insert next, at least 1/256 of the present number.

        It is half of an estimate of how many edges are needed until the largest part of the store is nearly full.
        """
        used, allocated = largest_part(self.graph)
        missing = (constants.FULL * allocated - used) / max(1, used)
        edges = len(self.model)
        return int(max(missing * edges / 2, edges / 256))

    def _add(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, ...]:
        n = self.fixture.data.num_vertices
        src, dst = rng.integers(0, n, size, np.uint32), rng.integers(0, n, size, np.uint32)
        weight = rng.uniform(0.5, 1.5, size).astype(np.float32)
        self.graph.insert_edges(*self.fixture.upload(src, dst, weight if self.fixture.weighted else None))
        return src, dst, weight

    def drifted(self) -> bool:
        """Return whether the graph is bloated, or its store less full than right after it was built."""
        return super().drifted() or fill_of(self.graph) < self.reached

    def measure(self) -> dict[str, Any]:
        """Return the bytes per edge, and the used share of the store's largest part, by name."""
        return {**super().measure(), "fill": fill_of(self.graph)}


SCENARIOS: dict[str, type[Scenario]] = {"fresh": Scenario, "aged": Aged, "full": Full}


def age(fixture: Fixture, graph: Any) -> None:
    """Ten times in a row, delete another random tenth of the input's edges from ``graph`` and insert it again."""
    for edges in _tenths(fixture, weighted=graph.weight_dtype is not None):
        graph.delete_edges(edges.src, edges.dst)
        graph.insert_edges(*edges)


def _tenths(fixture: Fixture, *, weighted: bool) -> list[EdgeList]:
    """Return the ten batches, ``weighted`` or not, that :func:`age` deletes and inserts again, on the device.

    They are drawn once per fixture.
    """
    if ("tenths", weighted) not in fixture.cache:
        model, share = fixture.model(weighted=weighted), int(constants.AGE_SHARE * len(fixture.data.model))
        order = fixture.rng("aged").permutation(len(model))[: share * constants.AGE_ROUNDS]
        rounds = order.reshape(constants.AGE_ROUNDS, share)
        fixture.cache["tenths", weighted] = [_edges_at(fixture, model, at) for at in rounds]
    return fixture.cache["tenths", weighted]


def _repeated(entries: np.ndarray, size: int) -> np.ndarray:
    """Return the array ``entries``, repeated as a whole, with the length ``size``; an empty array stays empty."""
    return np.resize(entries, size if len(entries) else 0)


def _edges_at(fixture: Fixture, model: EdgeModel, at: np.ndarray) -> EdgeList:
    return fixture.upload(*ends_of(model.keys[at]), None if model.weight is None else model.weight[at])


def largest_part(graph: Any) -> tuple[int, int]:
    """Return ``(bytes used, bytes allocated)`` of the part of the out-store that has the most bytes allocated."""
    return max(graph.store("out").memory().values(), key=lambda part: part[1])


def fill_of(graph: Any) -> float:
    """Return used divided by allocated bytes, in the part of the out-store that has the most bytes allocated."""
    used, allocated = largest_part(graph)
    return used / allocated if allocated else 1.0


def bytes_per_edge(graph: Any) -> dict[str, Any]:
    """Return the bytes per edge that the out-store of ``graph`` uses and has allocated, by name.

    ``"utilisation"`` is the share of the used bytes that neighbour ids and weights take.
    """
    parts, edges = graph.store("out").memory().values(), max(1, graph.num_edges)
    used, allocated = (sum(part[k] for part in parts) / edges for k in (0, 1))
    payload = ID_BYTES + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize)
    return {
        "bytes_per_edge": used,
        "bytes_per_edge_allocated": allocated,
        "utilisation": payload / used if used else 0.0,
    }
