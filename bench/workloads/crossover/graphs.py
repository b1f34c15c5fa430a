"""What the cells of one graph of the crossover map share: its edges on the device, batches, answers, the current graph.

All of it is made and stored on the device: batches are drawn, answers compared and edges verified by NumPy on the CPU
and by the same functions of CuPy on CUDA. A large graph needs no copies between host and device for that.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

import numpy as np

from suricate.base.devices import Device
from suricate.base.types import EdgeList, edge_keys, ends_of
from suricate.bench import constants
from suricate.bench.drawn import DrawnInput
from suricate.bench.fixtures import Fixture, Housekeeper
from suricate.bench.verify.edges import ExpectedChange, KeySet, among, slices
from suricate.errors import CapacityError
from suricate.generate.edge_streams import GOLDEN, mixed, word_of
from suricate.graph.delta import Batch
from suricate.intake.arrays import sorted_distinct


class Edges(NamedTuple):
    """A list ``edges`` in arrays on the device, with or without weights; from it :attr:`keys` are computed."""

    edges: EdgeList

    @property
    def keys(self) -> Any:
        """The keys of the edges, ``src << 32 | dst``, uint64 on the device, in the order of ``edges``."""
        return edge_keys(*self.edges[:2])


class Drawn(NamedTuple):
    """A batch: edges to insert, edges to delete, and pairs to query (or None).

    ``place``: the size of the batch and its number among the batches of that size, which identify it.
    """

    insert: Edges
    delete: Edges
    asked: Edges | None
    place: tuple[int, int]


class DeviceInput:
    """The edges of an input on the device, weighted or not and directed or not, and what the cells on it share.

    One object exists at a time (``current``). Random results depend only on the seed and an argument, the text
    ``purpose``.

    Attributes:
        model: the set of edges.
        shuffled: the keys of ``model`` in random order.
        weight: the weights in the order of ``shuffled``, or None.
        answers: results that are the same for all backends, by name.
        graph: the graph of the current cells, or None.
    """

    current: ClassVar[DeviceInput | None] = None

    def __init__(self, fixture: Fixture, *, weighted: bool, directed: bool) -> None:
        self.data, self.device, self.seed = fixture.data, fixture.device, fixture.seed
        self.weighted, self.directed = weighted, directed
        xp = self.device.xp
        self.model = KeySet(sorted_distinct(self._keys(), xp), xp)
        order = xp.argsort(mixed(self.model.keys))
        self.shuffled = self.model.keys[order]
        self.weight: Any = None
        if weighted:
            self.weight = xp.asarray(self.data.model_of(weighted=True, directed=directed).weight)[order]
        self.answers: dict[Any, Any] = {}
        self.graph: SharedGraph | None = None

    @classmethod
    def of(cls, fixture: Fixture, *, weighted: bool, directed: bool) -> DeviceInput:
        """Return the edges of a fixture's input on its device, ``weighted`` and ``directed`` or not.

        It is the current object if that fits; otherwise the current one is freed, and a new one replaces it.
        """
        now, form = cls.current, (fixture.device, fixture.seed, weighted, directed)
        if now is None or now.data is not fixture.data or form != (now.device, now.seed, now.weighted, now.directed):
            now = cls.current = None
            collect(fixture.device)
            now = cls.current = cls(fixture, weighted=weighted, directed=directed)
        return now

    def clear(self) -> None:
        """Drop the graph of the current cells, and free its memory."""
        self.graph = None
        collect(self.device)

    def fill(self, graph: Any) -> None:
        """Insert all edges into ``graph``, in several calls if there are many."""
        size = constants.FILL_BATCH
        if len(self.model) > size:
            with suppress(CapacityError):  # then it grows
                graph.reserve(len(self.model))
        for begin in range(0, len(self.model), size):
            part = slice(begin, begin + size)
            graph.insert_edges(*ends_of(self.shuffled[part]), None if self.weight is None else self.weight[part])

    def change(self, batch: Drawn) -> ExpectedChange:
        """Return the set of edges expected after ``batch``; for the first batch of each size all cells share it."""
        if batch.place[1]:
            return ExpectedChange(self.model, batch.delete.keys, batch.insert.keys)
        return self.shared(batch.place, lambda: ExpectedChange(self.model, batch.delete.keys, batch.insert.keys))

    def shared(self, name: Any, make: Any) -> Any:
        """Return the object ``name`` that all backends share; at the first call, ``make()`` makes it."""
        if name not in self.answers:
            self.answers[name] = make()
        return self.answers[name]

    def after(self, change: ExpectedChange) -> EdgeList:
        """Return the edges after ``change``, without weights: first those that remain, then new ones, both shuffled."""
        xp, new = self.device.xp, change.new
        stay = self.shuffled[~among(self.shuffled, change.lost, xp)]
        return EdgeList(*ends_of(xp.concatenate((stay, new[xp.argsort(mixed(new))])) if len(new) else stay))

    @property
    def values(self) -> Any:
        """A random value in [0.5, 1.5) per vertex, float32[n]: the vector of the product."""
        return self.shared("values", lambda: _number(self.random("values", self.data.num_vertices)))

    def product(self, change: ExpectedChange) -> Any:
        """Return the expected product after ``change``: per vertex the sum of its out-neighbours' values, float64."""
        before = self.shared("product", lambda: self._sums(self.model.keys))
        return before + self._sums(change.new) - self._sums(change.lost)

    def _sums(self, keys: Any) -> Any:
        """Return for each vertex the sum of the values at the destinations of its edges among ``keys``, float64[n]."""
        xp, n = self.device.xp, self.data.num_vertices
        total = xp.zeros(n)
        for begin in range(0, len(keys), constants.FILL_BATCH):
            src, dst = ends_of(keys[begin : begin + constants.FILL_BATCH])
            total += xp.bincount(src.astype(np.int64), weights=self.values[dst].astype(np.float64), minlength=n)
        return total

    def random(self, purpose: str, count: int) -> Any:
        """Return ``count`` random uint64 numbers, always the same for one seed and ``purpose``, a text."""
        xp, word = self.device.xp, np.uint64(word_of(self.seed, purpose))
        found = xp.empty(count, np.uint64)
        for part in slices(count, xp):
            found[part] = mixed(xp.arange(part.start, part.stop, dtype=np.uint64) * np.uint64(GOLDEN) + word)
        return found

    def pairs(self, purpose: str, count: int) -> EdgeList:
        """Return ``count`` uniform pairs of vertices, ``weighted`` as the object is; if undirected, ``src <= dst``."""
        xp, n = self.device.xp, np.uint64(self.data.num_vertices)
        random, (src, dst) = self.random(purpose, count), (xp.empty(count, np.uint32) for _ in range(2))
        for part in slices(count, xp):
            src[part] = ((random[part] >> np.uint64(32)) * n >> np.uint64(32)).astype(np.uint32)
            dst[part] = ((random[part] & np.uint64(0xFFFFFFFF)) * n >> np.uint64(32)).astype(np.uint32)
        if not self.directed:
            src, dst = xp.minimum(src, dst), xp.maximum(src, dst)
        return EdgeList(src, dst, _number(mixed(random)) if self.weighted else None)

    def existing(self, purpose: str, count: int) -> EdgeList:
        """Return ``count`` random edges of the input without weights; they are distinct unless it has fewer."""
        begin = word_of(self.seed, purpose) % max(1, len(self.shuffled))
        places = self.device.xp.arange(begin, begin + count) % max(1, len(self.shuffled))
        return EdgeList(*ends_of(self.shuffled[places]))

    def _keys(self) -> Any:
        """Return the keys of the input's edges in their original order, repeats included, uint64 on the device."""
        xp, data = self.device.xp, self.data
        if not isinstance(data, DrawnInput):
            return self._key(xp.asarray(data.src), xp.asarray(data.dst))
        keys, at = xp.empty(data.num_edges, np.uint64), 0
        for src, dst, _ in data.pieces(0, data.num_edges, xp):
            keys[at : at + len(src)] = self._key(src, dst)
            at += len(src)
        return keys

    def _key(self, src: Any, dst: Any) -> Any:
        xp = self.device.xp
        return edge_keys(src, dst) if self.directed else edge_keys(xp.minimum(src, dst), xp.maximum(src, dst))


def _number(random: Any) -> Any:
    """Return float32 numbers in [0.5, 1.5), made from the random uint64 numbers ``random``."""
    return (random >> np.uint64(40)).astype(np.float32) * np.float32(2**-24) + np.float32(0.5)


def collect(device: Device) -> None:
    """Collect Python's garbage, and return the unused memory of CuPy's pool to the device.

    The remaining objects are frozen (``gc.freeze``), so that collections before later timings are fast.
    """
    gc.collect()
    gc.freeze()
    if device.is_cuda:
        device.xp.get_default_memory_pool().free_all_blocks()


class Batches:
    """A sequence of batches of ``size`` edges, the same for every backend and use.

    Each deletes ``deletions`` edges of the input, and inserts uniform pairs, ``size - deletions`` of them.
    """

    def __init__(self, placed: DeviceInput, size: int, deletions: int) -> None:
        self.placed, self.size, self.deletions, self.number = placed, size, deletions, 0

    def draw(self, *, asks: bool = False) -> Drawn:
        """Return the next batch; with ``asks`` it has ``size`` pairs to query, about half of which are edges."""
        placed, name = self.placed, f"batch {self.size} {self.number}"
        insert = placed.pairs(f"{name} insert", self.size - self.deletions)
        delete = placed.existing(f"{name} delete", self.deletions)
        asked = Edges(self._questions(f"{name} asked")) if asks else None
        drawn = Drawn(Edges(insert), Edges(delete), asked, (self.size, self.number))
        self.number += 1
        return drawn

    def _questions(self, name: str) -> EdgeList:
        """Return ``size`` pairs, each with equal chances an edge of the input or a uniform pair.

        ``name``: a text on which the random choices depend.
        """
        placed, where = self.placed, self.placed.device.xp.where
        known, other = placed.existing(name, self.size), placed.pairs(name, self.size)
        coin = (placed.random(f"{name} coin", self.size) & np.uint64(1)).astype(bool)
        return EdgeList(where(coin, known.src, other.src), where(coin, known.dst, other.dst))


class SharedGraph:
    """A graph with an input's edges, shared by the cells of one use and backend; ``tracker``: its tracker or None."""

    def __init__(self, placed: DeviceInput, fixture: Fixture, use: str, in_edges: bool) -> None:
        self.fixture, self.use = fixture, use
        self.tracker: Any = None
        self.graph = fixture.empty_graph(weighted=placed.weighted, directed=placed.directed, in_edges=in_edges)
        placed.fill(self.graph)
        self.housekeeper = Housekeeper(self.graph)


def inverse(delta: Any, xp: Any) -> Batch:
    """Return the batch that undoes the change ``delta``, weights included, in arrays of ``xp``."""
    gone, other = delta.deleted, delta.replaced
    if gone.weight is None:
        return Batch(insert=gone, delete=delta.inserted[:2])
    parts = zip(gone, other._replace(weight=delta.replaced_old), strict=True)
    return Batch(insert=EdgeList(*(xp.concatenate(pair) for pair in parts)), delete=delta.inserted[:2])
