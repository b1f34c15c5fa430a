"""Workloads on algorithms with many right answers: quality and time of computations with one seed after the other.

The argument of ``action`` is the seed of the repeat, those of ``check`` and ``restore`` are that and what it returned.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from suricate.base.types import edge_keys, ends_of
from suricate.bench.fixtures import Fixture
from suricate.bench.peers import libraries_of
from suricate.bench.verify.edges import EdgeModel
from suricate.bench.workloads.algorithms import Subject
from suricate.bench.workloads.base import FixtureTask
from suricate.bench.workloads.references import USUAL, Asked
from suricate.graph import Graph

SEEDS = 10  #: least repeats
COUNTS = "counts as weights"


def counted(fixture: Fixture, *, directed: bool, **_: Any) -> tuple[Graph, EdgeModel]:
    """Return a graph whose edges weigh how often they are in the list of the input, and the set of its edges."""
    src, dst = fixture.data.src, fixture.data.dst
    ends = (src, dst) if directed else (np.minimum(src, dst), np.maximum(src, dst))
    keys, times = np.unique(edge_keys(*ends), return_counts=True)
    model = EdgeModel(*ends_of(keys), times.astype(np.float32), directed=directed)
    graph = fixture.empty_graph(weighted=True, in_edges=True, directed=directed)
    graph.insert_edges(*fixture.upload(model.src, model.dst, model.weight))
    return graph, model


class Quality(FixtureTask):
    """Compute a variant of an algorithm from scratch, with another seed in each repeat."""

    workload = "quality"
    does = "computes a variant of the algorithm on the whole graph, with another seed in each repeat; mean quality"
    least_repeats = SEEDS

    def __init__(self, fixture: Fixture, algorithm: str, variant: str, counts: bool) -> None:
        super().__init__(fixture)
        self.algorithm, self.subject, self.counts = algorithm, Subject(fixture, algorithm, variant), counts
        self.oracle = self.subject.oracle
        self.label_row(variant, COUNTS if counts else "")

    def setup(self) -> None:
        """Get the shared graph, of the form that the algorithm needs, or make one weighted by ``counts``."""
        self.subject.demand()
        if self.counts:
            self.graph, self.model = counted(self.fixture, **self.subject.form)
        else:
            self.graph, self.model = self.fixture.graph(in_edges=True, **self.subject.form), self.subject.model
        self.items, self.found, self.seed = len(self.model), list[float](), -1

    def prepare(self) -> int:
        """Return the next seed."""
        self.seed += 1
        return self.seed

    def action(self, seed: int) -> Any:
        """Return the result of the computation."""
        return self.graph.compute(self.subject.kind, **{**self.subject.params, "seed": seed})

    def check(self, seed: int, result: Any) -> None:
        """Verify the result."""
        self.subject.check(result, self.model)

    def restore(self, seed: int, result: Any) -> None:
        """Note the quality of the result, of every repeat."""
        self.found.append(self.subject.kind.quality(result, self.graph, **self.subject.params))

    def extra(self) -> dict[str, Any]:
        """Return the mean quality, and the lowest one."""
        return {"quality": float(np.mean(self.found)), "lowest": min(self.found)} if self.found else {}


class QualityPeer(Quality):
    """The same by another library, whose answer is labels of vertices."""

    def __init__(self, fixture: Fixture, algorithm: str, library: str, counts: bool) -> None:
        super().__init__(fixture, algorithm, next(iter(Subject(fixture, algorithm).kind.variants())), counts)
        self.backend, self.oracle, self.asked = library, None, Asked(self.subject, library)
        self.label_row(COUNTS if counts else "")

    def setup(self) -> None:
        """Make the library's graph."""
        super().setup()
        self.asked.build(self.model, self.fixture.data.num_vertices)

    def action(self, seed: int) -> Any:
        """Return the labels that the library finds."""
        return self.asked.compute(seed=seed)

    def check(self, seed: int, result: Any) -> None:
        """Do nothing: many answers are right, and their quality is noted."""

    def restore(self, seed: int, result: Any) -> None:
        """Note the quality of the labels, of every repeat."""
        labels = self.graph.device.xp.asarray(result)
        super().restore(seed, SimpleNamespace(**{self.subject.kind.groups: labels}))


def tasks_of(fixture: Fixture, algorithm: str, *, peers: bool) -> list[Quality]:
    """Return a task for each variant of the algorithm, or (``peers``) for each library that has it.

    On temporal graphs there is another one with the number of events of a pair as its weight.
    """
    kind = Subject(fixture, algorithm).kind
    if kind.quality_within is None:
        return []
    counts = (False, True) if fixture.data.temporal and kind.uses_weights else (False,)
    if peers:
        names = libraries_of(kind, USUAL, labels=True)
        return [QualityPeer(fixture, algorithm, name, each) for each in counts for name in names]
    return [Quality(fixture, algorithm, variant, each) for each in counts for variant in kind.variants()]
