"""The edges that a graph must have: a sorted array of 64-bit keys, made from the raw input.

The key of an edge is ``src << 32 | dst``. The array is one of NumPy, or of CuPy for graphs that are verified on a GPU;
``xp`` is the one of these two modules. Nothing here uses a store, an operator or an algorithm of suricate.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from suricate.base.types import edge_keys, ends_of
from suricate.bench import constants
from suricate.generate.edge_streams import mixed
from suricate.intake.arrays import sorted_distinct


class Mismatch(Exception):  # noqa: N818 - reads as what it is
    """Raised if a result differs from the oracle's; the message says where."""


def expect(holds: Any, what: str) -> None:
    """Raise :class:`Mismatch` with the message ``what`` unless ``holds``."""
    if not holds:
        raise Mismatch(what)


def _places(ascending: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return ``np.searchsorted(ascending, keys)``; ``keys`` are sorted first, which makes it ten times as fast."""
    order = np.argsort(keys)
    places = np.empty(len(keys), np.int64)
    places[order] = np.searchsorted(ascending, keys[order])
    return places


def among(keys: Any, ascending: Any, xp: Any = np, *, ordered: bool = False) -> Any:
    """Return which of ``keys`` are in the sorted array ``ascending``, bool[n]; much faster than ``np.isin``.

    Both are arrays of ``xp``; ``ordered``: the keys are ascending, too.
    """
    if not len(ascending):
        return xp.zeros(len(keys), bool)
    places = _places(ascending, keys) if xp is np and not ordered else xp.searchsorted(ascending, keys)
    return ascending[xp.minimum(places, len(ascending) - 1)] == keys


def slices(count: int, xp: Any) -> Iterator[slice]:
    """Yield slices that cover an array of length ``count``: short ones for NumPy (caches), long ones for CuPy."""
    size = 1 << 16 if xp is np else 1 << 24
    for begin in range(0, count, size):
        yield slice(begin, min(begin + size, count))


class KeySet:
    """A set of edges: ascending uint64 ``keys``, an array of ``xp``, NumPy or CuPy."""

    def __init__(self, keys: Any, xp: Any = np) -> None:
        self.keys, self.xp = keys, xp

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def digest(self) -> int:
        """The sum of the hashes of all keys, see the function :func:`digest`."""
        return digest(self.keys, self.xp)

    def contains(self, keys: Any, *, ordered: bool = False) -> Any:
        """Return which of ``keys`` are edges of the set, bool[n]; ``ordered``: they are ascending, which is faster."""
        return among(keys, self.keys, self.xp, ordered=ordered)


class EdgeModel(KeySet):
    """A set of distinct edges, made from lists that may repeat them: of repeated edges the last weight counts.

    ``keys``: uint64, ascending; ``weight``: in the same order, or None. An undirected edge is stored once, with ``src
    <= dst``, as ``Graph.edges`` lists it.
    """

    def __init__(
        self, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None = None, *, directed: bool = True
    ) -> None:
        self.directed = directed
        keys = edge_keys(src, dst) if directed else edge_keys(np.minimum(src, dst), np.maximum(src, dst))
        if weight is None:
            super().__init__(sorted_distinct(keys))
            self.weight = None
        else:
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            last = np.ones(len(keys), bool)
            np.not_equal(keys[1:], keys[:-1], out=last[:-1])
            super().__init__(keys[last])
            self.weight = weight[order[last]]
        #: answers, kept by ``suricate.bench.verify.results``; models that come of this one by batches have the same
        self.references: dict[Any, Any] = {}

    @cached_property
    def content(self) -> tuple[bool, int, int]:
        """An identity of the set, equal for equal sets: (directed, digest of keys, digest of weights).

        The digest of the weights also depends on the keys that they belong to; it is 0 if there are no weights.
        """
        weights = 0 if self.weight is None else digest(mixed(self.keys) ^ self.weight.view(np.uint32))
        return self.directed, self.digest, weights

    @property
    def src(self) -> np.ndarray:
        """The sources of the edges in the order of the keys, uint32."""
        return ends_of(self.keys)[0]

    @property
    def dst(self) -> np.ndarray:
        """The destinations of the edges in the order of the keys, uint32."""
        return ends_of(self.keys)[1]

    def plus(self, keys: np.ndarray) -> np.ndarray:
        """Return the set's keys and ``keys`` (ascending, distinct) together, ascending and distinct."""
        new = keys[~self.contains(keys)]
        return np.insert(self.keys, np.searchsorted(self.keys, new), new)

    def updated(
        self, deleted: np.ndarray, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None = None
    ) -> EdgeModel:
        """Return a new model: this one without the keys ``deleted``, and then with the edges of a batch inserted.

        The batch is ``src``, ``dst`` and ``weight``, which is None for a model without weights.
        """
        stays = ~among(self.keys, np.sort(deleted))
        old_src, old_dst = ends_of(self.keys[stays])
        weights = None if self.weight is None or weight is None else np.concatenate((self.weight[stays], weight))
        ends = np.concatenate((old_src, src)), np.concatenate((old_dst, dst))
        after = EdgeModel(*ends, weights, directed=self.directed)
        after.references = self.references
        return after

    def only(self, mask: np.ndarray) -> EdgeModel:
        """Return a new model of the edges for which ``mask``, one bool per key, is True."""
        weight = None if self.weight is None else self.weight[mask]
        return EdgeModel(*ends_of(self.keys[mask]), weight, directed=self.directed)

    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return sources, destinations and weights (or None) of all arcs, two for each undirected edge."""
        src, dst, weight = self.src, self.dst, self.weight
        if self.directed:
            return src, dst, weight
        twice = src != dst
        weights = None if weight is None else np.concatenate((weight, weight[twice]))
        return np.concatenate((src, dst[twice])), np.concatenate((dst, src[twice])), weights

    def weights_of(self, keys: np.ndarray) -> np.ndarray:
        """Return the weights of the edges ``keys``, in the order of ``keys``; all of them must be in the set."""
        assert self.weight is not None
        return self.weight[_places(self.keys, keys)]

    def csr(self, num_vertices: int, dtype: Any = np.int8) -> sparse.csr_array:
        """Return the adjacency matrix, of ``dtype``, with sources as rows; without weights all values are 1."""
        if not self.directed:
            return EdgeModel(*self.arcs()).csr(num_vertices, dtype)
        values = np.ones(len(self.keys), dtype) if self.weight is None else self.weight.astype(dtype)
        indptr = np.zeros(num_vertices + 1, np.int64)
        np.cumsum(np.bincount(self.src, minlength=num_vertices), out=indptr[1:])
        index = np.int32 if len(self.keys) < 2**31 else np.int64
        shape = (num_vertices, num_vertices)
        return sparse.csr_array((values, self.dst.astype(index), indptr.astype(index)), shape=shape)


class ExpectedChange:
    """The set of edges after a batch, stored as differences from a model: much cheaper than a new model.

    The keys ``deleted`` of the batch are removed first, then ``inserted`` are added. ``new``: keys that the model
    lacks; ``lost``: keys of the model that are gone; both ascending, in arrays like the model's. Weights are ignored.
    """

    def __init__(self, model: KeySet, deleted: Any, inserted: Any) -> None:
        self.model, xp = model, model.xp
        inserted, deleted = (sorted_distinct(keys, xp) if len(keys) else keys for keys in (inserted, deleted))
        self.new = inserted[~model.contains(inserted, ordered=True)]
        lost = deleted[model.contains(deleted, ordered=True)]
        self.lost = lost[~among(lost, inserted, xp, ordered=True)]

    def __len__(self) -> int:
        return len(self.model) + len(self.new) - len(self.lost)

    @cached_property
    def digest(self) -> int:
        """The sum of the hashes of the keys after the batch, see :func:`digest`."""
        xp = self.model.xp
        return (self.model.digest + digest(self.new, xp) - digest(self.lost, xp)) % 2**64

    @property
    def keys(self) -> Any:
        """The keys of all edges after the batch, ascending."""
        xp = self.model.xp
        keys = self.model.keys[~among(self.model.keys, self.lost, xp, ordered=True)]
        return sorted_distinct(xp.concatenate((keys, self.new)), xp)

    def contains(self, keys: Any) -> Any:
        """Return which of ``keys`` are edges after the batch, bool[n]."""
        xp = self.model.xp
        return self.model.contains(keys) & ~among(keys, self.lost, xp) | among(keys, self.new, xp)


def check_same_keys(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Raise :class:`Mismatch`, naming ``what``, unless ``found``, in any order, has the ``expected`` keys (sorted)."""
    expect(len(found) == len(expected), f"{what}: {len(found)} edges instead of {len(expected)}")
    expect(np.array_equal(np.sort(found), expected), f"{what}: the right number of edges, but other ones")


def check_content(graph: Any, model: EdgeModel | ExpectedChange, what: str = "content of the graph") -> None:
    """Raise :class:`Mismatch` unless the edges and weights of ``graph`` equal those of ``model``.

    Large models without weights are compared by :func:`check_digest`; an ``ExpectedChange`` is compared without
    weights. ``what`` names the content in messages.
    """
    weight = model.weight if isinstance(model, EdgeModel) else None
    if weight is None and len(model) > constants.CHECK_BY_REFERENCE:
        check_digest(graph, model, what)
        return
    host = graph.device.to_numpy
    edges = graph.edges()
    keys = edge_keys(host(edges.src), host(edges.dst))
    check_same_keys(keys, model.keys, what)
    expect(graph.num_edges == len(model), f"num_edges is {graph.num_edges} instead of {len(model)}")
    if weight is not None:
        expect(np.array_equal(host(edges.weight)[np.argsort(keys)], weight), "the weights of the graph differ")


def check_digest(graph: Any, model: KeySet | ExpectedChange, what: str = "content of the graph") -> None:
    """Raise :class:`Mismatch` unless ``graph`` has as many edges as ``model``, and the same sum of their hashes.

    The sum is computed on the device. Weights are not compared. ``what`` names the content in messages.
    """
    (src, dst, _), xp = graph.edges(), graph.device.xp
    expect(len(src) == len(model), f"{what}: {len(src)} edges instead of {len(model)}")
    found = sum(digest(edge_keys(src[part], dst[part]), xp) for part in slices(len(src), xp)) % 2**64
    expect(found == model.digest, f"{what}: the right number of edges, but other ones")
    expect(graph.num_edges == len(model), f"num_edges is {graph.num_edges} instead of {len(model)}")


def digest(keys: Any, xp: Any = np) -> int:
    """Return the sum of the hashes (SplitMix64) of ``keys`` modulo 2^64, which does not depend on their order."""
    return sum(int(mixed(keys[part]).sum(dtype=np.uint64)) for part in slices(len(keys), xp)) % 2**64
