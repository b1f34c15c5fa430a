"""The states that operations meet a graph in: as it was built, aged by churn, or nearly full.

A stage is a graph in its state and the edges that it holds. So that all repeats meet the same state, it is made anew
between them when they have bloated the graph (without, a rate would depend on the number of repeats before; what bloat
costs is measured by the workload 'churn'). Nothing here is timed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.bench import constants
from suricate.bench.beds import Bed, Housekeeper
from suricate.bench.oracle import EdgeModel, among, check_content, ends_of, keys_of
from suricate.types import EdgeList

ID = 4  #: bytes of a vertex id


def stage_of(bed: Bed, state: str) -> Stage:
    """Return the stage that the tasks of ``bed`` share; ``state`` is one of :data:`STATES`."""
    if state not in bed.kept:
        bed.kept[state] = STATES[state](bed)
    return bed.kept[state]


class Stage:
    """All edges of the input, as they were built.

    ``graph`` may be another one after :meth:`tidy` and :meth:`renew`; ``model`` is what it holds.
    """

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.renew()
        if not bed.silent:
            check_content(self.graph, self.model)

    def renew(self) -> None:
        """Build the graph and bring it into its state."""
        self.graph: Any = None  # the memory of the old one is free before there is a new one
        self.model = self.bed.model()
        self.graph = self.bed.empty_graph()
        self.graph.insert_edges(*self._edges())
        self.settle()
        self.sizes = self.measure()
        self.keeper = Housekeeper(self.graph)

    def _edges(self) -> EdgeList:
        """Return the input's edges; they stay on the device, since a state may be made anew for each repeat."""
        if "edges" not in self.bed.kept:
            self.bed.kept["edges"] = self.bed.all_edges()
        return self.bed.kept["edges"]

    def settle(self) -> None:
        """Bring the graph, as it was built, into its state."""

    def warm_size(self, batch: int) -> int:
        """Return how many edges a call has that goes ahead of one with ``batch`` edges."""
        return batch

    def _distinct(self, batch: int) -> int:
        """Return how many of them are distinct: few enough to leave the caches of a large graph as they are."""
        return max(1, min(self.warm_size(batch), constants.WARM_EDGES, len(self.model) // 64))

    def present(self, batch: int, without: np.ndarray | None = None) -> EdgeList:
        """Return edges of the graph, with their weights, for a call ahead of one with ``batch`` edges.

        The keys ``without`` are left out.
        """
        at = self.bed.rng("present").choice(len(self.model), self._distinct(batch), replace=False)
        if without is not None:
            at = at[~among(self.model.keys[at], np.sort(without))]
        return _taken(self.bed, self.model, _repeated(at, self.warm_size(batch)))

    def absent(self, batch: int, without: np.ndarray | None = None) -> EdgeList:
        """Return edges that are not in the graph, for a call ahead of one with ``batch`` edges.

        The keys ``without`` are left out.
        """
        size = self._distinct(batch)
        keys = keys_of(*self.bed.rng("absent").integers(0, self.bed.data.num_vertices, (2, 2 * size), np.uint32))
        keys = keys[~self.model.contains(keys)][:size]
        if without is not None:
            keys = keys[~among(keys, np.sort(without))]
        return self.bed.upload(*ends_of(_repeated(keys, self.warm_size(batch))))

    def make_room(self, batch: int) -> None:
        """Allocate what a batch, and the calls ahead of it, can need: that a store grows once is not measured."""
        self.graph.reserve(batch + constants.WARM_CALLS * self.warm_size(batch))

    def drifted(self) -> bool:
        """Return whether repeats have bloated the graph."""
        return self.keeper.bloated()

    def tidy(self, batch: int) -> None:
        """Have the next repeat, of ``batch`` edges, meet the same state; nothing is ever compacted for that."""
        if self.drifted():
            self.renew()
            self.make_room(batch)

    def facts(self) -> dict[str, Any]:
        """Return what the state costs, before room was made for batches: bytes per edge used and allocated."""
        return {} if self.bed.silent else self.sizes

    def measure(self) -> dict[str, Any]:
        """Return what the graph takes now."""
        return bytes_per_edge(self.graph)


class Aged(Stage):
    """Rounds of churn went over it."""

    def settle(self) -> None:
        """Delete and insert again."""
        age(self.bed, self.graph)


class Full(Stage):
    """Random edges were added until the largest part of the store is nearly full."""

    def settle(self) -> None:
        """Add edges; where there is a lot of room, compact first."""
        rng, model = self.bed.rng("full"), self.model
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
        """Return the input's edges with those of ``parts``; the same sizes mean the same edges."""
        model, name = self.model, ("filled", *(len(part[0]) for part in parts))
        if name not in self.bed.kept:
            src, dst, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            src, dst = np.concatenate((model.src, src)), np.concatenate((model.dst, dst))
            known = None if model.weight is None else np.concatenate((model.weight, weight))
            self.bed.kept[name] = EdgeModel(src, dst, known)
        return self.bed.kept[name]

    def warm_size(self, batch: int) -> int:
        """Return 1: nothing may make the store grow ahead of the call that is timed."""
        return 1

    def make_room(self, batch: int) -> None:
        """Do not: whether the batch still fits is what is measured."""

    def _step(self) -> int:
        """Return how many edges to add at once: half of what is missing, so that an estimate cannot go far wrong."""
        used, allocated = largest_part(self.graph)
        missing = (constants.FULL * allocated - used) / max(1, used)
        edges = len(self.model)
        return int(max(missing * edges / 2, edges / 256))

    def _add(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, ...]:
        n = self.bed.data.num_vertices
        src, dst = rng.integers(0, n, size, np.uint32), rng.integers(0, n, size, np.uint32)
        weight = rng.uniform(0.5, 1.5, size).astype(np.float32)
        self.graph.insert_edges(*self.bed.upload(src, dst, weight if self.bed.weighted else None))
        return src, dst, weight

    def drifted(self) -> bool:
        """Return whether the store has grown, or is less full."""
        return super().drifted() or fill_of(self.graph) < self.reached

    def measure(self) -> dict[str, Any]:
        """Return the bytes per edge, and how full the largest part is."""
        return {**super().measure(), "fill": fill_of(self.graph)}


STATES: dict[str, type[Stage]] = {"fresh": Stage, "aged": Aged, "full": Full}


def age(bed: Bed, graph: Any) -> None:
    """Delete a tenth of the input's edges and insert it again, ten times, each time another one, drawn at random."""
    for edges in _tenths(bed, weighted=graph.weight_dtype is not None):
        graph.delete_edges(edges.src, edges.dst)
        graph.insert_edges(*edges)


def _tenths(bed: Bed, *, weighted: bool) -> list[EdgeList]:
    """Return the edges of each round; they stay on the device."""
    if ("tenths", weighted) not in bed.kept:
        model, share = bed.model(weighted=weighted), int(constants.AGE_SHARE * len(bed.data.model))
        order = bed.rng("aged").permutation(len(model))[: share * constants.AGE_ROUNDS]
        rounds = order.reshape(constants.AGE_ROUNDS, share)
        bed.kept["tenths", weighted] = [_taken(bed, model, at) for at in rounds]
    return bed.kept["tenths", weighted]


def _repeated(entries: np.ndarray, size: int) -> np.ndarray:
    """Return ``size`` entries, the same ones again and again; none if there are none."""
    return np.resize(entries, size if len(entries) else 0)


def _taken(bed: Bed, model: EdgeModel, at: np.ndarray) -> EdgeList:
    return bed.upload(*ends_of(model.keys[at]), None if model.weight is None else model.weight[at])


def largest_part(graph: Any) -> tuple[int, int]:
    """Return the bytes used and allocated of that part of the out-store which has the most allocated."""
    return max(graph.store("out").memory().values(), key=lambda part: part[1])


def fill_of(graph: Any) -> float:
    """Return the used share of the largest part of the out-store."""
    used, allocated = largest_part(graph)
    return used / allocated if allocated else 1.0


def bytes_per_edge(graph: Any) -> dict[str, Any]:
    """Return what a graph uses and has allocated for its out-edges, and the share of it that ids and weights take."""
    parts, edges = graph.store("out").memory().values(), max(1, graph.num_edges)
    used, allocated = (sum(part[k] for part in parts) / edges for k in (0, 1))
    payload = ID + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize)
    return {
        "bytes_per_edge": used,
        "bytes_per_edge_allocated": allocated,
        "utilisation": payload / used if used else 0.0,
    }
