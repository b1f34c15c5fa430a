"""The conformance kits are strict: backends and algorithms with one fault each are caught, sound ones pass."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import Phase, settings
from tutorial_backend import TutorialStore

from suricate import plugins
from suricate.algorithm import Algorithm, Requirements
from suricate.errors import CapacityError
from suricate.testing import VARIANTS, AlgorithmConformance, StoreConformance, Variant
from suricate.types import UNCHANGED, Adjacency, EdgeList, Outcome, StoreView

PROFILE = os.environ.get("SURICATE_TEST_PROFILE", "ci")  # as in conftest.py
Faults = dict[str, tuple[type, str, tuple[Any, ...]]]
FAULTS: Faults = {}  # name -> (class, test of the kit that must fail, its arguments)


def fault(test: str, *arguments: Any) -> Callable[[type], type]:
    """Register a class that ``test`` must catch."""

    def register(cls: type) -> type:
        FAULTS[cls.__name__] = (cls, test, arguments)
        return cls

    return register


TOUR, RANDOM = "test_every_operation", "test_random_operations"


# -- backends with one fault -------------------------------------------------------------------------------------------


@fault(RANDOM, "cpu", None)
class ReportsEveryDuplicate(TutorialStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        before, _ = self.find(src, dst)
        super().insert(src, dst, weight)
        return Outcome((~before).astype(np.uint8))


@fault(TOUR, "cpu", "float32")
class FirstWeightWins(TutorialStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        status, old = super().insert(src[::-1], dst[::-1], None if weight is None else weight[::-1])
        return Outcome(status[::-1], None if old is None else old[::-1])


@fault(TOUR, "cpu", "int32")
class ForgetsTheOldWeight(TutorialStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        outcome = super().insert(src, dst, weight)
        return Outcome(outcome.status, np.zeros_like(weight))


@fault(TOUR, "cpu", None)
class DeletesOnlyOneOfABatch(TutorialStore):
    def delete(self, src, dst, *, guard=None):
        outcome = super().delete(src[:1], dst[:1])
        return Outcome(np.concatenate([outcome.status, np.zeros(len(src) - len(outcome.status), np.uint8)]))


@fault(TOUR, "cpu", None)
class IgnoresSelfLoops(TutorialStore):
    def edges(self):
        edges = super().edges()
        real = edges.src != edges.dst
        return EdgeList(edges.src[real], edges.dst[real])


@fault(TOUR, "cpu", None)
class OrdersByDestination(TutorialStore):
    def edges(self):
        edges = super().edges()
        order = np.argsort(edges.dst, kind="stable")
        return EdgeList(edges.src[order], edges.dst[order])

    def check(self):
        pass


@fault(TOUR, "cpu", None)
class DegreesOfTheWrongType(TutorialStore):
    def degrees(self):
        return super().degrees().astype(np.int64)


@fault(TOUR, "cpu", None)
class DegreesThatAreNoCopy(TutorialStore):
    kept = (0, None)

    def degrees(self):
        edges = len(self.edges().src)
        if self.kept[0] != edges:
            self.kept = edges, super().degrees()
        return super().degrees() if self.kept[1] is None else self.kept[1]


@fault(TOUR, "cpu", None)
class AdjacencyWithoutRepeats(TutorialStore):
    def adjacency(self, vertices):
        part = super().adjacency(np.unique(vertices))
        missing = len(vertices) + 1 - len(part.offsets)
        return Adjacency(np.concatenate([part.offsets, np.full(missing, part.offsets[-1])]), part.dst)


@fault(TOUR, "cpu", None)
class ForgetsTheMarkWhenCompacted(TutorialStore):
    def compact(self):
        self._marked = None


@fault(TOUR, "cpu", None)
class DeniesItsMark(TutorialStore):
    has_mark = False


@fault(TOUR, "cpu", None)
class ResizeLosesEdges(TutorialStore):
    def resize(self, num_vertices):
        super().resize(num_vertices)
        self._keep(self._keys, self._weights, np.arange(len(self._keys) // 2))


@fault(TOUR, "cpu", None)
class UsesMoreThanItHas(TutorialStore):
    def memory(self):
        return {"keys": (self._keys.nbytes + 1, self._keys.nbytes)}


@fault(TOUR, "cpu", None)
class CopySharesArrays(TutorialStore):
    def copy_to(self, device):
        return self


@fault(TOUR, "cpu", None)
class ViewMissesTheLastEdge(TutorialStore):
    def view(self):
        view = super().view()
        ends = view.data.end.copy()
        ends[ends == ends.max(initial=0)] = np.maximum(ends.max(initial=0) - 1, 0)
        return StoreView(view.data._replace(end=ends), view.cursor, view.header, view.num_vertices)


@fault(RANDOM, "cpu", None)
class WritesToItsInput(TutorialStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        outcome = super().insert(src, dst, weight)
        src.sort()
        return outcome


@fault("test_results_are_copies", "cpu", "float32")
class HandsOutItsArrays(TutorialStore):
    def edges(self):
        return super().edges()._replace(weight=self._weights)


@fault("test_guard", "cpu", None)
class PretendsToBeGuarded(TutorialStore):
    guarded = True


@fault("test_memory_limit", "cpu", None)
class IgnoresTheLimit(TutorialStore):
    pass


@fault("test_memory_limit", "cpu", None)
class ChangesBeforeItFails(TutorialStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        outcome = super().insert(src, dst, weight)
        if self.memory_limit is not None and self._keys.nbytes > self.memory_limit:
            raise CapacityError("too late")
        return outcome


@fault("test_reuses_memory", "cpu")
class NeverGivesMemoryBack(TutorialStore):
    taken = 0

    def memory(self):
        return {"keys": (0, self.taken)}

    def insert(self, src, dst, weight=None, *, guard=None):
        self.taken += src.nbytes
        return super().insert(src, dst, weight)


@fault("test_signature", "insert")
class OtherSignature(TutorialStore):
    def insert(self, src, dst, weights=None, *, guard=None):
        return super().insert(src, dst, weights)


@fault("test_constructor")
class NeedsAnOption(TutorialStore):
    def __init__(self, num_vertices, *, width, **options):
        super().__init__(num_vertices, **options)


@fault("test_capabilities")
class LiesAboutItself(TutorialStore):
    @classmethod
    def capabilities(cls):
        return {"insert": "native"}


# -- algorithms with one fault -----------------------------------------------------------------------------------------


class InDegree(Algorithm):
    """Number of arcs into each vertex."""

    name = "in_degree"
    requires: ClassVar[Requirements] = Requirements(weighted=False)

    def compute(self, graph):
        arcs = graph.store("out").edges()
        self._count = graph.device.xp.bincount(arcs.dst, minlength=graph.num_vertices)

    @property
    def result(self):
        return self._count


CHANGES = ("test_every_change", TutorialStore, "cpu", Variant(), {})


@fault("test_update", *CHANGES[1:])
class NeverUpdates(InDegree):
    def update(self, graph, delta):
        pass


@fault(*CHANGES)
class ForgetsDeletions(InDegree):
    def update(self, graph, delta):
        count = np.zeros(graph.num_vertices, np.int64)
        count[: len(self._count)] = self._count
        np.add.at(count, delta.arcs("inserted").dst, 1)
        self._count = count


@fault(*CHANGES)
class ForgetsNewVertices(InDegree):
    def update(self, graph, delta):
        np.add.at(self._count, delta.arcs("inserted").dst, 1)
        np.subtract.at(self._count, delta.arcs("deleted").dst, 1)


@fault("test_compute", TutorialStore, "cpu", Variant(directed=False), {})
class CountsUndirectedEdgesOnce(InDegree):
    def compute(self, graph):
        self._count = np.bincount(graph.edges().dst, minlength=graph.num_vertices)


@fault("test_compute", TutorialStore, "cpu", Variant(), {})
class ChangesTheGraph(InDegree):
    def compute(self, graph):
        super().compute(graph)
        graph.insert_vertices(0)
        graph.insert_edges([0], [0])


class InDegreeKit(AlgorithmConformance):
    algorithm = InDegree
    backends = (TutorialStore,)

    def oracle(self, num_vertices: int, src: Any, dst: Any, weight: Any, **params: Any) -> np.ndarray:
        return np.array([(dst == v).sum() for v in range(num_vertices)])


def kit_for(cls: type) -> Any:
    """An instance of the kit with ``cls`` under test."""
    if issubclass(cls, Algorithm):
        return type("Kit", (InDegreeKit,), {"algorithm": cls})()
    return type("Kit", (StoreConformance,), {"backend": cls, "examples": 25})()


# -- tests -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_shrinking() -> Iterator[None]:
    """Failures are expected here: nobody needs the shortest example."""
    settings.register_profile("no_shrinking", parent=settings.get_profile(PROFILE), phases=[Phase.generate])
    settings.load_profile("no_shrinking")
    yield
    settings.load_profile(PROFILE)


@pytest.mark.usefixtures("no_shrinking")
@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_caught(name: str) -> None:
    cls, test, arguments = FAULTS[name]
    crashes = (CapacityError, IndexError, ValueError)  # the faulty class broke before anything was compared
    with pytest.raises((AssertionError, *crashes)):
        getattr(kit_for(cls), test)(*arguments)


class TestSoundAlgorithm(InDegreeKit):
    pass


def test_the_kit_knows_the_requirements() -> None:
    kit = kit_for(InDegree)
    assert [variant for variant in VARIANTS if kit.lacks(variant) is None] == [
        variant for variant in VARIANTS if variant.weight_dtype is None
    ]


def test_an_algorithm_that_needs_nothing_fails_the_test_of_requirements() -> None:
    accepts_all = type("AcceptsAll", (InDegree,), {"demand": classmethod(lambda cls, graph: None)})
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        kit_for(accepts_all).test_requirements(Variant(weight_dtype="float32"))


def test_memory_limit_test_passes_with_a_sound_backend() -> None:
    class Limited(TutorialStore):
        def reserve(self, num_edges: int) -> None:
            if self.memory_limit is not None and 8 * (len(self._keys) + num_edges) > self.memory_limit:
                raise CapacityError(f"{num_edges} more edges do not fit in {self.memory_limit} bytes")

        def insert(self, src: Any, dst: Any, weight: Any = None, *, guard: Any = None) -> Outcome:
            self.reserve(len(src))
            return super().insert(src, dst, weight)

    kit_for(Limited).test_memory_limit("cpu", None)


def test_guard_test_passes_with_a_sound_backend() -> None:
    class Guarded(TutorialStore):
        guarded = True

        def insert(self, src: Any, dst: Any, weight: Any = None, *, guard: Any = None) -> Outcome:
            if guard is not None and guard[0]:
                return Outcome(np.full(len(src), UNCHANGED, np.uint8), weight)
            return super().insert(src, dst, weight)

        def delete(self, src: Any, dst: Any, *, guard: Any = None) -> Outcome:
            if guard is not None and guard[0]:
                return Outcome(np.full(len(src), UNCHANGED, np.uint8))
            return super().delete(src, dst)

    kit_for(Guarded).test_guard("cpu", None)


def test_every_built_in_backend_is_put_through_the_kit() -> None:
    """Some test module subclasses StoreConformance and names the backend."""
    kits = [
        text
        for text in (file.read_text() for file in Path(__file__).parents[2].rglob("test_*.py"))
        if re.search(r"^class Test\w+\((\w+, *)*StoreConformance\b", text, re.MULTILINE)
    ]
    built_in = {plugin.name for plugin in plugins.installed() if plugin.source == "suricate"}
    for name in built_in & set(plugins.backends()):
        assert any(name in text for text in kits), f"no conformance test for {name}"
