"""Algorithms with one plausible fault each, the correct ones they are made of, and the tests of the kit that catch it.

``WRONG_ALGORITHMS`` maps each class to the names of one or two tests. Where there is one, no other wrong algorithm is
caught by that test alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

import suricate as su
from suricate.base.parameters import integer
from suricate.plugins.algorithm import Algorithm, Requirements

WRONG_ALGORITHMS: dict[type[Algorithm], tuple[str, ...]] = {}


def caught_by(*tests: str) -> Callable[[type[Algorithm]], type[Algorithm]]:
    """Register a wrong algorithm: every one of these tests must fail."""

    def register(cls: type[Algorithm]) -> type[Algorithm]:
        WRONG_ALGORITHMS[cls] = tests
        cls.__doc__ = cls.__base__.__doc__ if cls.__doc__ is None else cls.__doc__
        return cls

    return register


# -- correct algorithms ------------------------------------------------------------------------------------------------


class InDegree(Algorithm):
    """Number of arcs into each vertex."""

    name = "in_degree"
    requires: ClassVar[Requirements] = Requirements(weighted=False)

    def compute(self, graph):
        self._count = np.bincount(graph.store("out").edges().dst, minlength=graph.num_vertices)

    def update(self, graph, delta):
        self.grow(graph)
        np.add.at(self._count, delta.arcs("inserted").read().dst, 1)
        np.subtract.at(self._count, delta.arcs("deleted").read().dst, 1)

    def grow(self, graph):
        missing = graph.num_vertices - len(self._count)
        self._count = np.concatenate([self._count, np.zeros(missing, np.int64)])

    @property
    def result(self):
        return self._count.copy()

    @classmethod
    def reference(cls, src, dst, weight, num_vertices, directed, live=None, **params):
        return np.array([(dst == v).sum() for v in range(num_vertices)])


class InStrength(Algorithm):
    """Sum of the weights of the arcs into each vertex."""

    name = "in_strength"
    requires: ClassVar[Requirements] = Requirements(weighted=True)

    def compute(self, graph):
        _, dst, weight = graph.store("out").edges()
        self._sum = np.bincount(dst, weights=weight, minlength=graph.num_vertices)

    def update(self, graph, delta):
        self._sum = np.concatenate([self._sum, np.zeros(graph.num_vertices - len(self._sum))])
        for kind, sign in (("deleted", -1), ("replaced_old", -1), ("inserted", 1), ("replaced", 1)):
            _, dst, weight = self.changed(delta, kind)
            np.add.at(self._sum, dst, sign * weight.astype(np.float64))

    def changed(self, delta, kind):
        return delta.arcs(kind).read()

    @property
    def result(self):
        return self._sum.copy()

    @classmethod
    def reference(cls, src, dst, weight, num_vertices, directed, live=None, **params):
        return np.array([weight[dst == v].sum(dtype=np.float64) for v in range(num_vertices)])


class Levels(Algorithm):
    """Distances from a source, -1 where there is no path; searched again if a deleted arc led one level further."""

    name = "levels"
    requires: ClassVar[Requirements] = Requirements(weighted=False)

    def __init__(self, source: int = 0) -> None:
        self.source = integer("levels: source", source, low=0)

    def compute(self, graph):
        self._level = np.full(graph.num_vertices, -1)
        self._level[self.source] = 0
        self.search(graph)

    def search(self, graph):
        """Go on from the levels that are there; arcs may lead to vertices that are nearer now."""
        src, dst, _ = graph.store("out").edges()
        while True:
            offered = self._level[src] + 1
            nearer = (offered > 0) & ((self._level[dst] < 0) | (offered < self._level[dst]))
            if not nearer.any():
                return
            self._level[dst[nearer]] = np.iinfo(np.int64).max
            np.minimum.at(self._level, dst[nearer], offered[nearer])

    def update(self, graph, delta):
        self._level = np.concatenate([self._level, np.full(graph.num_vertices - len(self._level), -1)])
        src, dst, _ = delta.arcs("deleted").read()
        if self.is_broken(src, dst):
            self.compute(graph)
        else:
            self.search(graph)

    def is_broken(self, src, dst):
        """Return whether levels may depend on arcs."""
        return bool(((self._level[src] >= 0) & (self._level[dst] == self._level[src] + 1)).any())

    @property
    def result(self):
        return self._level.copy()

    @classmethod
    def reference(cls, src, dst, weight, num_vertices, directed, live=None, **params: Any):
        level, source = {params.get("source", 0): 0}, [params.get("source", 0)]
        for u in source:
            for v in dst[src == u].tolist():
                if v not in level:
                    level[v] = level[u] + 1
                    source.append(v)
        return np.array([level.get(v, -1) for v in range(num_vertices)])


class LiveShare(Algorithm):
    """One part of the live vertices at each of them, 0 at deleted ones."""

    name = "live_share"
    requires: ClassVar[Requirements] = Requirements(weighted=False)

    def compute(self, graph):
        self._live = graph.live

    def update(self, graph, delta):
        self._live = np.concatenate([self._live, np.ones(graph.num_vertices - len(self._live), bool)])
        self._live[delta.deleted_vertices] = False
        self._live[self.revived(delta)] = True

    def revived(self, delta):
        return delta.revived_vertices

    @property
    def result(self):
        return self._live / max(1, self._live.sum())

    @classmethod
    def reference(cls, src, dst, weight, num_vertices, directed, live, **params):
        return live / max(1, live.sum())


SOUND = (InDegree, InStrength, Levels, LiveShare)


# -- with one fault ----------------------------------------------------------------------------------------------------

EVERY = "test_every_change"


@caught_by(EVERY, "test_self_loops")
class NeverUpdates(InDegree):
    def update(self, graph, delta):
        self.grow(graph)


@caught_by(EVERY, "test_self_loops")
class ForgetsDeletions(InDegree):
    def update(self, graph, delta):
        self.grow(graph)
        np.add.at(self._count, delta.arcs("inserted").read().dst, 1)


@caught_by(EVERY, "test_deleted_vertices")
class ForgetsNewVertices(InDegree):
    def grow(self, graph):
        pass


@caught_by("test_mixed_batches", EVERY)
class ForgetsDeletionsOfMixedBatches(InDegree):
    def update(self, graph, delta):
        if not len(delta.arcs("inserted").read().src):
            return super().update(graph, delta)
        self.grow(graph)
        np.add.at(self._count, delta.arcs("inserted").read().dst, 1)


@caught_by("test_deleted_vertices", EVERY)
class ForgetsNeighboursOfDeletedVertices(InDegree):
    def update(self, graph, delta):
        if not len(delta.deleted_vertices):
            return super().update(graph, delta)
        self._count[delta.deleted_vertices] = 0


@caught_by("test_deleted_vertices", EVERY)
class LeavesRecycledVerticesOut(InDegree):
    def update(self, graph, delta):
        super().update(graph, delta)
        self._deleted = np.union1d(getattr(self, "_deleted", []), delta.deleted_vertices).astype(np.int64)
        if delta.num_vertices_after > delta.num_vertices_before:
            self._deleted_once = self._deleted
        self._count[getattr(self, "_deleted_once", [])] = 0


@caught_by("test_deleted_vertices", EVERY)
class CountsDeletedVertices(LiveShare):
    @property
    def result(self):
        return self._live / len(self._live)


@caught_by("test_deleted_vertices", EVERY)
class ForgetsVerticesThatGetEdges(LiveShare):
    def revived(self, delta):
        return delta.revived_vertices[: 0 if delta.num_inserted else None]


@caught_by("test_deleted_vertices", EVERY)
class ForgetsRecycledVertices(LiveShare):
    def revived(self, delta):
        return delta.revived_vertices[: None if delta.num_inserted else 0]


@caught_by("test_self_loops")
class LosesLoopsOfDeletedArcs(InDegree):
    def update(self, graph, delta):
        super().update(graph, delta)
        src, dst, _ = delta.arcs("deleted").read()
        if len(src) and (src == dst).all():
            np.add.at(self._count, dst, 1)


@caught_by("test_compute", "test_self_loops")
class CountsUndirectedEdgesOnce(InDegree):
    def compute(self, graph):
        self._count = np.bincount(graph.edges().dst, minlength=graph.num_vertices)


@caught_by("test_compute")
class ChangesTheGraph(InDegree):
    def compute(self, graph):
        graph.insert_vertices(1)
        super().compute(graph)


@caught_by("test_results_belong_to_the_caller")
class HandsOutItsState(InDegree):
    @property
    def result(self):
        return self._count


@caught_by("test_replaced_weights", EVERY)
class IgnoresReplacedWeights(InStrength):
    def changed(self, delta, kind):
        return delta.arcs("inserted" if kind == "replaced" else "deleted" if kind == "replaced_old" else kind).read()


@caught_by("test_replaced_weights")
class IgnoresReplacedWeightsOfMixedBatches(InStrength):
    def changed(self, delta, kind):
        arcs = delta.arcs(kind).read()
        mixed = kind.startswith("replaced") and len(delta.arcs("deleted").read().src) > 0
        return type(arcs)(*(part[:0] for part in arcs)) if mixed else arcs


@caught_by("test_self_loops", "test_deleted_vertices")
class DeletedLoopOfTheSourceResets(Levels):
    def update(self, graph, delta):
        super().update(graph, delta)
        src, dst, _ = delta.arcs("deleted").read()
        if ((src == self.source) & (dst == self.source)).any():
            self._level[:] = -1


@caught_by("test_deleted_vertices")
class KeepsWhatADeletedSourceReached(Levels):
    def is_broken(self, src, dst):
        return super().is_broken(src, dst) and not bool((src == self.source).all())


@caught_by("test_parameters")
class TakesAnySource(Levels):
    def __init__(self, source: int = 0) -> None:
        self.source = int(source)


@caught_by("test_requirements")
class AcceptsEveryGraph(InDegree):
    @classmethod
    def demand(cls, graph):
        pass


@caught_by("test_is_named")
class HasNoDescription(InDegree):
    __doc__ = ""


@caught_by("test_reference")
class ReferenceIsOffByOne(InDegree):
    @classmethod
    def reference(cls, src, dst, weight, num_vertices, directed, live=None, **params):
        return super().reference(src, dst, weight, num_vertices, directed) + 1


def mark(v, marked):
    marked[v] = 1


@caught_by("test_methods")
class CountsLoopsTwiceByOneMethod(InDegree):
    methods: ClassVar = {"method": ("count", "sort")}

    def __init__(self, method: str = "count") -> None:
        self.method = method

    def update(self, graph, delta):
        super().update(graph, delta)
        src, dst, _ = delta.arcs("inserted").read()
        self._count[dst[src == dst]] += self.method == "sort"


@caught_by("test_every_change")
class MarksInAnArrayThatDoesNotGrow(InDegree):
    def compute(self, graph):
        super().compute(graph)
        self._marked = np.zeros(graph.num_vertices, np.int64)

    def update(self, graph, delta):
        super().update(graph, delta)
        su.vertex_map(graph, (delta.edge_set("inserted"), delta.edge_set("deleted")), mark, args=(self._marked,))


@caught_by("test_other_weights")
class FailsOnUndirectedFloat32(InStrength):
    def compute(self, graph):
        if not graph.directed and graph.weight_dtype == np.float32:
            raise RuntimeError("no kernel for these weights")
        super().compute(graph)


@caught_by("test_mismatch")
class AcceptsEveryResult(InDegree):
    @classmethod
    def mismatch(cls, result, reference, **params):
        return None
