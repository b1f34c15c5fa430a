"""Backends with one plausible fault each, and the tests of the public conformance kit that catch it.

``WRONG_BACKENDS`` maps each class to the names of one or two tests. Where there is one, no other wrong backend is
caught by that test alone, but for faults of ``apply()``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sound_backend import SoundStore

from suricate.base.types import NEW, REMOVED, REPLACED, Adjacency, EdgeList, Outcome, StoreView
from suricate.errors import CapacityError
from suricate.store import Store

WRONG_BACKENDS: dict[type[Store], tuple[str, ...]] = {}

TOUR, RANDOM, LARGE, SIZES = "test_every_operation", "test_random_operations", "test_large_batches", "test_batch_sizes"
LIMIT, OTHERS_AT_LIMIT, PEAK = "test_memory_limit", "test_operations_at_the_limit", "test_peak_is_below_the_limit"


def caught_by(*tests: str) -> Callable[[type[Store]], type[Store]]:
    """Register a wrong backend: every one of these tests must fail."""

    def register(cls: type[Store]) -> type[Store]:
        WRONG_BACKENDS[cls] = tests
        return cls

    return register


# -- ids, positions and sizes ------------------------------------------------------------------------------------------


@caught_by("test_ids_beyond_16_bits", LARGE)
class IdsIn16Bits(SoundStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        return super().insert(src, dst & np.uint32(0xFFFF), weight, guard=guard)


@caught_by(LARGE)
class PositionsInInt16(SoundStore):
    def _last_of_each(self, src, dst):
        keys, last = super()._last_of_each(src, dst)
        return keys, last.astype(np.int16)


@caught_by(SIZES, LARGE)
class FirstDuplicateWinsAbove1000(SoundStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        step = -1 if len(src) > 1000 else 1
        status, old = super().insert(src[::step], dst[::step], None if weight is None else weight[::step], guard=guard)
        return Outcome(status[::step], None if old is None else old[::step])


@caught_by(SIZES, LARGE)
class WrongOldWeightsAbove300(SoundStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        status, old = super().insert(src, dst, weight, guard=guard)
        return Outcome(status, old if old is None or len(src) <= 300 else weight.copy())


@caught_by("test_one_edge_at_a_time")
class DegreeClampedAt256(SoundStore):
    def degrees(self):
        degrees = super().degrees()
        degrees[degrees == 256] = 255
        return degrees


@caught_by("test_hub", "test_large_batches")
class FindStopsAfter1000Neighbours(SoundStore):
    def find(self, src, dst):
        found, weight = super().find(src, dst)
        first = np.searchsorted(self._keys, src.astype(np.uint64) << np.uint64(32))
        return found & (self._locate(src.astype(np.uint64) << np.uint64(32) | dst)[0] - first < 1000), weight


# -- weights -----------------------------------------------------------------------------------------------------------


class ComparesAs(SoundStore):
    """Compares the weights before and after by what :meth:`seen` makes of them."""

    def seen(self, weight):
        return weight

    def insert(self, src, dst, weight=None, *, guard=None):
        status, old = super().insert(src, dst, weight, guard=guard)
        if weight is not None:
            status[(status == REPLACED) & (self.seen(old) == self.seen(weight))] = 0
        return Outcome(status, old)


@caught_by(TOUR, "test_weights_bit_for_bit")
class MinusZeroEqualsZero(ComparesAs):
    pass


@caught_by(TOUR, "test_weights_bit_for_bit")
class ComparesTheUpperWordOnly(ComparesAs):
    def seen(self, weight):
        return weight.view(np.uint32)[1::2] if weight.itemsize == 8 else weight.view(np.uint32) >> np.uint32(16)


@caught_by(TOUR, "test_weights_bit_for_bit")
class ComparesTheLowerWordOnly(ComparesAs):
    def seen(self, weight):
        return weight.view(np.uint32)[::2] if weight.itemsize == 8 else weight.view(np.uint32) & np.uint32(0xFFFF)


@caught_by(TOUR, "test_weights_bit_for_bit")
class NeighboursAreEqual(ComparesAs):
    def seen(self, weight):
        return weight.view(f"u{weight.itemsize}") >> np.uint8(1)


@caught_by(TOUR, "test_weights_bit_for_bit")
class FlushesSubnormals(SoundStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        if weight is not None and weight.dtype.kind == "f":
            weight = np.where(np.abs(weight) < np.finfo(weight.dtype).tiny, weight.dtype.type(0), weight)
        return super().insert(src, dst, weight, guard=guard)


@caught_by(TOUR, SIZES)
class ForgetsTheOldWeight(SoundStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        outcome = super().insert(src, dst, weight, guard=guard)
        return outcome if weight is None else outcome._replace(weight=np.zeros_like(weight))


@caught_by(TOUR, SIZES)
class FindsWeightsOfOtherEdges(SoundStore):
    def find(self, src, dst):
        found, weight = super().find(src, dst)
        return found, None if weight is None else np.roll(weight, 1)


# -- statuses ----------------------------------------------------------------------------------------------------------


@caught_by(TOUR, SIZES)
class ReportsEveryDuplicate(SoundStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        stored, _ = self.find(src, dst)
        outcome = super().insert(src, dst, weight, guard=guard)
        outcome.status[~stored] = NEW
        return outcome


@caught_by(TOUR, SIZES)
class ReportsEveryDeletedDuplicate(SoundStore):
    def delete(self, src, dst, *, guard=None):
        stored, _ = self.find(src, dst)
        outcome = super().delete(src, dst, guard=guard)
        outcome.status[stored] = REMOVED
        return outcome


@caught_by(TOUR, RANDOM)
class DeletesOnlyOneOfABatch(SoundStore):
    def delete(self, src, dst, *, guard=None):
        outcome = self._nothing(len(src))
        for whole, part in zip(outcome, super().delete(src[:1], dst[:1], guard=guard), strict=True):
            if whole is not None:
                whole[:1] = part
        return outcome


@caught_by("test_guard")
class IgnoresTheGuard(SoundStore):
    def _held_back(self, guard):
        return False


# -- arrays of the caller ----------------------------------------------------------------------------------------------


@caught_by("test_outcomes_belong_to_the_caller", TOUR)
class ReusesItsOutcome(SoundStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        outcome = super().insert(src, dst, weight, guard=guard)
        if len(src) > len(getattr(self, "_outcome", ())):
            self._outcome = np.zeros(len(src), np.uint8)
        self._outcome[: len(src)] = outcome.status
        return outcome._replace(status=self._outcome[: len(src)])


@caught_by("test_results_are_copies", TOUR)
class HandsOutItsWeights(SoundStore):
    def edges(self):
        return super().edges()._replace(weight=self._weights)


@caught_by("test_results_are_copies", TOUR)
class HandsOutItsDegrees(SoundStore):
    def degrees(self):
        return self._degrees


@caught_by(TOUR, RANDOM)
class SortsItsInput(SoundStore):
    def delete(self, src, dst, *, guard=None):
        outcome = super().delete(src, dst, guard=guard)
        src.sort()
        return outcome


@caught_by("test_results_are_copies", RANDOM)
class KeepsItsInput(SoundStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        outcome = super().insert(src, dst, weight, guard=guard)
        if weight is not None and np.array_equal(self._keys, src.astype(np.uint64) << np.uint64(32) | dst):
            self._weights = weight
        return outcome


# -- questions ---------------------------------------------------------------------------------------------------------


@caught_by(TOUR, "test_ids_beyond_16_bits")
class OrdersByDestination(SoundStore):
    def edges(self):
        edges = super().edges()
        order = np.argsort(edges.dst, kind="stable")
        return EdgeList(*(None if part is None else part[order] for part in edges))

    def check(self):
        pass


@caught_by(TOUR, RANDOM)
class LosesSelfLoops(SoundStore):
    def edges(self):
        edges = super().edges()
        real = edges.src != edges.dst
        return EdgeList(*(None if part is None else part[real] for part in edges))


@caught_by(TOUR, RANDOM)
class DegreesOfTheWrongType(SoundStore):
    def degrees(self):
        return super().degrees().astype(np.int64)


@caught_by(TOUR, RANDOM)
class CountsTheBatch(SoundStore):
    count = 0

    def insert(self, src, dst, weight=None, *, guard=None):
        outcome = super().insert(src, dst, weight, guard=guard)
        self.count += int((outcome.status != 0).sum())
        return outcome

    @property
    def num_edges(self):
        return max(self.count, len(self._keys))


@caught_by(TOUR, RANDOM)
class AdjacencyWithoutRepeats(SoundStore):
    def adjacency(self, vertices):
        part = super().adjacency(np.unique(vertices))
        missing = len(vertices) + 1 - len(part.offsets)
        return Adjacency(np.concatenate([part.offsets, np.full(missing, part.offsets[-1])]), part.dst, part.weight)


@caught_by(TOUR, RANDOM)
class ViewMissesTheLastEdge(SoundStore):
    def view(self):
        view = super().view()
        ends = view.data.end.copy()
        ends[ends == ends.max(initial=0)] = np.maximum(ends.max(initial=0) - 1, 0)
        return dataclasses.replace(view, data=view.data._replace(end=ends))


# -- vertices, marks, copies -------------------------------------------------------------------------------------------


@caught_by(TOUR, "test_ids_beyond_16_bits")
class StaleDegreesOfDeletedVertices(SoundStore):
    def delete_vertices(self, vertices):
        degrees = self._degrees
        super().delete_vertices(vertices)
        self._degrees = degrees


@caught_by(TOUR, "test_ids_beyond_16_bits")
class ResizeLosesEdges(SoundStore):
    def resize(self, num_vertices):
        super().resize(num_vertices)
        self._keep(self._keys, self._weights, np.arange(len(self._keys) // 2))


@caught_by(TOUR, "test_ids_beyond_16_bits")
class ResizeLosesTheMark(SoundStore):
    def resize(self, num_vertices):
        super().resize(num_vertices)
        self._at_mark = None


@caught_by(TOUR, RANDOM)
class CompactLosesAnEdge(SoundStore):
    def compact(self):
        self._keep(self._keys, self._weights, np.arange(len(self._keys))[1:])


@caught_by(TOUR, RANDOM)
class DeniesItsMark(SoundStore):
    has_mark = False


@caught_by(TOUR, RANDOM)
class UpdatedListsDeletedEdges(SoundStore):
    def delete(self, src, dst, *, guard=None):
        self._before = self.updated()
        return super().delete(src, dst, guard=guard)

    def updated(self):
        edges = super().updated()
        before = getattr(self, "_before", edges)
        return before if self.has_mark and len(before.src) > len(edges.src) else edges


@caught_by(TOUR, RANDOM)
class CopySharesArrays(SoundStore):
    def _keep(self, keys, weights, which):
        degrees = self._degrees
        super()._keep(keys, weights, which)
        degrees[:] = self._degrees
        self._degrees = degrees

    def copy_to(self, device):
        other = super().copy_to(device)
        other._degrees = self._degrees
        return other


@caught_by(TOUR, OTHERS_AT_LIMIT)
class CopyLosesTheMark(SoundStore):
    def copy_to(self, device):
        other = super().copy_to(device)
        other._at_mark = None
        return other


@caught_by(OTHERS_AT_LIMIT, TOUR)
class CopyForgetsTheLimit(SoundStore):
    def copy_to(self, device):
        other = super().copy_to(device)
        other.memory_limit = None
        return other


# -- memory ------------------------------------------------------------------------------------------------------------


@caught_by("test_memory_is_what_is_held")
class HidesItsKeys(SoundStore):
    def memory(self):
        return {name: size for name, size in super().memory().items() if name != "keys"}


@caught_by(TOUR, RANDOM)
class UsesMoreThanItHas(SoundStore):
    def memory(self):
        return {name: (used + 1, allocated) for name, (used, allocated) in super().memory().items()}


@caught_by("test_reuses_memory", "test_memory_is_what_is_held")
class NeverGivesMemoryBack(SoundStore):
    most = 0

    def memory(self):
        self.most = max(self.most + 1, self._keys.nbytes)
        return {**super().memory(), "keys": (self._keys.nbytes, 2 * self.most)}


@caught_by("test_repeated_batches_after_mark")
class LogsEveryBatch(SoundStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        if self.has_mark:
            self._log = [*getattr(self, "_log", []), src.copy(), dst.copy()]
        return super().insert(src, dst, weight, guard=guard)

    def memory(self):
        size = sum(part.nbytes for part in getattr(self, "_log", []))
        return {**super().memory(), "log": (size, size)}


@caught_by(LIMIT, PEAK)
class IgnoresTheLimit(SoundStore):
    def _admit(self, edges, num_vertices):
        pass


@caught_by(PEAK)
class CountsOneCopyWhileGrowing(SoundStore):
    def _admit(self, edges, num_vertices):
        super()._admit(edges // 4, num_vertices)


@caught_by(LIMIT, OTHERS_AT_LIMIT)
class ChangesWeightsBeforeItFails(SoundStore):
    def insert(self, src, dst, weight=None, *, guard=None):
        try:
            return super().insert(src, dst, weight, guard=guard)
        except CapacityError:
            keys, last = self._last_of_each(src, dst)
            at, there = self._locate(keys)
            if weight is not None:
                self._weights[at[there]] = weight[last[there]]
            raise


@caught_by("test_reserve", OTHERS_AT_LIMIT)
class ReservesNothing(SoundStore):
    def reserve(self, num_edges):
        pass


@caught_by("test_reserve")
class ReservesTooLittle(SoundStore):
    def reserve(self, num_edges):
        super().reserve(num_edges - num_edges // 4)


@caught_by(OTHERS_AT_LIMIT)
class ResizesBeyondTheLimit(SoundStore):
    def resize(self, num_vertices):
        limit, self.memory_limit = self.memory_limit, None
        super().resize(num_vertices)
        self.memory_limit = limit


@caught_by("test_failing_allocations")
class AssignsBeforeItFails(SoundStore):
    def resize(self, num_vertices):
        self._degrees = np.concatenate([self._degrees, np.zeros(num_vertices - self.num_vertices, np.uint32)])
        np.empty(num_vertices)
        self.num_vertices = num_vertices


@caught_by("test_memory_goes_with_the_store")
class HoldsItself(SoundStore):
    def view(self):
        self._myself = self
        return super().view()


# -- the class ---------------------------------------------------------------------------------------------------------


@caught_by("test_is_named")
class HasNoName(SoundStore):
    name = ""


@caught_by("test_signature")
class OtherSignature(SoundStore):
    def insert(self, src, dst, weights=None, *, guard=None):
        return super().insert(src, dst, weights, guard=guard)


@caught_by("test_constructor", TOUR)
class NeedsAnOption(SoundStore):
    def __init__(self, num_vertices, *, width, **options):
        super().__init__(num_vertices, **options)


@caught_by("test_capabilities")
class LiesAboutItself(SoundStore):
    @classmethod
    def capabilities(cls):
        return {"insert": "native"}


@caught_by("test_cuda_sources_compile")
class HeaderThatDoesNotCompile(SoundStore):
    devices = ("cpu", "cuda")

    def view(self) -> StoreView:
        return dataclasses.replace(super().view(), header=Path(__file__))
