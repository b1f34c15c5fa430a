"""Edges as they must be: a sorted NumPy array of 64-bit keys, made from the raw input.

Nothing here uses a store, an operator or an algorithm of suricate.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from suricate.arrays import sorted_distinct


class Mismatch(Exception):  # noqa: N818 - reads as what it is
    """A result differs from the oracle's."""


def expect(holds: Any, what: str) -> None:
    """Raise :class:`Mismatch` saying ``what`` is wrong unless ``holds``."""
    if not holds:
        raise Mismatch(what)


def keys_of(src: Any, dst: Any) -> Any:
    """Return ``src << 32 | dst`` as uint64 (NumPy or CuPy)."""
    return src.astype(np.uint64) << np.uint64(32) | dst.astype(np.uint64)


def ends_of(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and destinations (uint32) of edge keys."""
    return (keys >> np.uint64(32)).astype(np.uint32), (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _places(ascending: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return ``np.searchsorted(ascending, keys)``, ten times faster for keys in random order: it searches in order."""
    order = np.argsort(keys)
    places = np.empty(len(keys), np.int64)
    places[order] = np.searchsorted(ascending, keys[order])
    return places


def among(keys: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Return which of ``keys`` are in ``ascending``, bool[n]; many times as fast as ``np.isin``."""
    if not len(ascending):
        return np.zeros(len(keys), bool)
    return ascending[np.minimum(_places(ascending, keys), len(ascending) - 1)] == keys


class EdgeModel:
    """A set of edges: ascending uint64 ``keys``, and ``weight`` in the same order or None; the last weight wins.

    An undirected edge is kept once, as ``Graph.edges`` lists it: ``src <= dst``.
    """

    def __init__(
        self, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None = None, *, directed: bool = True
    ) -> None:
        self.directed = directed
        keys = keys_of(src, dst) if directed else keys_of(np.minimum(src, dst), np.maximum(src, dst))
        if weight is None:
            self.keys, self.weight = sorted_distinct(keys), None
        else:
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            last = np.ones(len(keys), bool)
            np.not_equal(keys[1:], keys[:-1], out=last[:-1])
            self.keys, self.weight = keys[last], weight[order[last]]
        self.references: dict[Any, Any] = {}  #: answers on these edges, kept by ``suricate.bench.verify.results``

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def digest(self) -> int:
        """The digest of the keys, see :func:`digest`."""
        return digest(self.keys)

    @property
    def src(self) -> np.ndarray:
        """Sources, uint32."""
        return ends_of(self.keys)[0]

    @property
    def dst(self) -> np.ndarray:
        """Destinations, uint32."""
        return ends_of(self.keys)[1]

    def contains(self, keys: np.ndarray) -> np.ndarray:
        """Return which of ``keys`` are edges, bool[n]."""
        return among(keys, self.keys)

    def plus(self, keys: np.ndarray) -> np.ndarray:
        """Return the keys of the edges and of ``keys`` (ascending, distinct), ascending and distinct."""
        new = keys[~self.contains(keys)]
        return np.insert(self.keys, np.searchsorted(self.keys, new), new)

    def minus(self, keys: np.ndarray) -> np.ndarray:
        """Return the keys of the edges without ``keys`` (distinct), ascending."""
        return np.delete(self.keys, _places(self.keys, keys[self.contains(keys)]))

    def updated(
        self, deleted: np.ndarray, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None = None
    ) -> EdgeModel:
        """Return the model after a batch: first the keys ``deleted`` go, then the edges are inserted."""
        stays = ~among(self.keys, np.sort(deleted))
        old_src, old_dst = ends_of(self.keys[stays])
        weights = None if self.weight is None or weight is None else np.concatenate((self.weight[stays], weight))
        ends = np.concatenate((old_src, src)), np.concatenate((old_dst, dst))
        return EdgeModel(*ends, weights, directed=self.directed)

    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return sources, destinations and weights of all arcs: of an undirected edge both directions."""
        src, dst, weight = self.src, self.dst, self.weight
        if self.directed:
            return src, dst, weight
        twice = src != dst
        weights = None if weight is None else np.concatenate((weight, weight[twice]))
        return np.concatenate((src, dst[twice])), np.concatenate((dst, src[twice])), weights

    def weights_of(self, keys: np.ndarray) -> np.ndarray:
        """Return the weights of ``keys``, all of which must be edges."""
        assert self.weight is not None
        return self.weight[_places(self.keys, keys)]

    def csr(self, num_vertices: int, dtype: Any = np.int8) -> sparse.csr_array:
        """Return the adjacency matrix, row = source; without weights all values are 1."""
        if not self.directed:
            return EdgeModel(*self.arcs()).csr(num_vertices, dtype)
        values = np.ones(len(self.keys), dtype) if self.weight is None else self.weight.astype(dtype)
        indptr = np.zeros(num_vertices + 1, np.int64)
        np.cumsum(np.bincount(self.src, minlength=num_vertices), out=indptr[1:])
        index = np.int32 if len(self.keys) < 2**31 else np.int64
        shape = (num_vertices, num_vertices)
        return sparse.csr_array((values, self.dst.astype(index), indptr.astype(index)), shape=shape)


class Change:
    """The set of edges that a batch leaves, told by its differences from a model: many times cheaper than a new model.

    Deletions come first. ``new`` and ``lost`` are ascending keys. Weights are left out.
    """

    def __init__(self, model: EdgeModel, deleted: np.ndarray, inserted: np.ndarray) -> None:
        self.model = model
        inserted, deleted = sorted_distinct(inserted), sorted_distinct(deleted)
        self.new = inserted[~model.contains(inserted)]
        self.lost = deleted[model.contains(deleted) & ~among(deleted, inserted)]

    def __len__(self) -> int:
        return len(self.model) + len(self.new) - len(self.lost)

    @cached_property
    def digest(self) -> int:
        """The digest of all keys, see :func:`digest`."""
        return (self.model.digest + digest(self.new) - digest(self.lost)) % 2**64

    def contains(self, keys: np.ndarray) -> np.ndarray:
        """Return which of ``keys`` are edges, bool[n]."""
        return self.model.contains(keys) & ~among(keys, self.lost) | among(keys, self.new)


def check_same_keys(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Compare a set of edge keys, in any order, with the ``expected`` ones in ascending order."""
    expect(len(found) == len(expected), f"{what}: {len(found)} edges instead of {len(expected)}")
    expect(np.array_equal(np.sort(found), expected), f"{what}: the right number of edges, but other ones")


def check_content(graph: Any, model: EdgeModel) -> None:
    """Compare all edges (and weights) of ``graph`` with the model."""
    host = graph.device.to_numpy
    edges = graph.edges()
    keys = keys_of(host(edges.src), host(edges.dst))
    check_same_keys(keys, model.keys, "content of the graph")
    expect(graph.num_edges == len(model), f"num_edges is {graph.num_edges} instead of {len(model)}")
    if model.weight is not None:
        expect(np.array_equal(host(edges.weight)[np.argsort(keys)], model.weight), "the weights of the graph differ")


def check_digest(graph: Any, model: EdgeModel | Change) -> None:
    """Compare the edges of a large graph with the model by their number and the sum of a hash of each, on the device.

    Weights are not compared.
    """
    edges = graph.edges()
    expect(len(edges.src) == len(model), f"content of the graph: {len(edges.src)} edges instead of {len(model)}")
    expect(digest(keys_of(edges.src, edges.dst)) == model.digest, "the right number of edges, but other ones")
    expect(graph.num_edges == len(model), f"num_edges is {graph.num_edges} instead of {len(model)}")


def digest(keys: Any) -> int:
    """Return the sum of the hashes of keys modulo 2^64, whatever their order (NumPy or CuPy; mixed as splitmix64)."""
    mixed = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((mixed ^ (mixed >> np.uint64(31))).sum(dtype=np.uint64))
