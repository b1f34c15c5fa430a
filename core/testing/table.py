"""The reference that a store is compared with: a table of all edges in NumPy arrays, and its changes by batches.

Every operation is vectorised, so that batches of 100,000 edges are compared as quickly as they are drawn. Weights
are compared as bit patterns: ``0.0`` and ``-0.0`` differ, and so do two subnormal numbers. The *key* of an edge is
``src << 32 | dst``, uint64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.base.devices import Device
from suricate.base.types import NEW, REPLACED, EdgeList, edge_keys, ends_of


class Groups(NamedTuple):
    """The distinct edges of a batch.

    Attributes:
        keys: ``uint64[k]``, ascending.
        member: ``int64[n]``: for each edge of the batch, repeats included, its index in ``keys``.
        last: ``int64[k]``: the position in the batch where each edge occurs last.
    """

    keys: np.ndarray
    member: np.ndarray
    last: np.ndarray


def group(src: np.ndarray, dst: np.ndarray) -> Groups:
    """Return the distinct edges of a batch, ``src`` and ``dst``: ``uint32[n]``."""
    keys, member = np.unique(edge_keys(src, dst), return_inverse=True)
    last = np.zeros(len(keys), np.int64)
    np.maximum.at(last, member, np.arange(len(member)))
    return Groups(keys, member, last)


def bits(weight: np.ndarray) -> np.ndarray:
    """Return weights as unsigned integers of their size, without a copy."""
    return weight.view(f"u{weight.dtype.itemsize}")


class EdgeTable:
    """A set of edges with weights of ``weight_dtype``, or without (None).

    Attributes:
        keys: ``uint64[m]``, ``src << 32 | dst``, ascending, without repeats.
        weight: ``weight_dtype[m]`` or None.
    """

    def __init__(self, weight_dtype: np.dtype | None = None) -> None:
        self.keys = np.zeros(0, np.uint64)
        self.weight = None if weight_dtype is None else np.zeros(0, weight_dtype)

    def __len__(self) -> int:
        return len(self.keys)

    def copy(self) -> EdgeTable:
        """Return a new table with the same edges; the two share no arrays."""
        return self.select(np.arange(len(self.keys)))

    def select(self, which: np.ndarray) -> EdgeTable:
        """Return a new table of the edges that ``which`` selects: a mask, or ascending positions."""
        table = EdgeTable()
        table.keys = self.keys[which]
        table.weight = None if self.weight is None else self.weight[which]
        return table

    def edges(self) -> EdgeList:
        """Return all edges, ordered by source, then destination."""
        return EdgeList(*ends_of(self.keys), self.weight)

    def degrees(self, num_vertices: int) -> np.ndarray:
        """Return the out-degrees, ``int64[num_vertices]``."""
        return np.bincount((self.keys >> np.uint64(32)).astype(np.int64), minlength=num_vertices)

    def locate(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return each key's position, or where to insert it, int64[n], and which keys are in the table, bool[n]."""
        at = np.searchsorted(self.keys, keys)
        here = np.zeros(len(keys), bool)
        inside = at < len(self.keys)
        here[inside] = self.keys[at[inside]] == keys[inside]
        return at, here

    def contains(self, keys: np.ndarray) -> np.ndarray:
        """Return which of ``keys``, ``uint64[n]``, are in the table: ``bool[n]``."""
        return self.locate(keys)[1]

    def expected(self, batch: Groups, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the outcome that inserting a weighted batch must have.

        Returns:
            The status of every edge of the batch, ``uint8[n]``; the positions in it of those that replace a weight; and
            the weights that these had before.
        """
        assert self.weight is not None
        at, here = self.locate(batch.keys)
        status = np.zeros(len(batch.member), np.uint8)
        status[batch.last[~here]] = NEW
        at, last = at[here], batch.last[here]
        differ = bits(self.weight)[at] != bits(weight)[last]
        status[last[differ]] = REPLACED
        return status, last[differ], self.weight[at[differ]]

    def insert(self, batch: Groups, weight: np.ndarray | None) -> None:
        """Insert the edges of a batch in place; ``weight``: ``[n]``; the last duplicate of an edge gives its weight."""
        at, here = self.locate(batch.keys)
        keys = np.concatenate([self.keys, batch.keys[~here]])
        order = np.argsort(keys, kind="stable")
        self.keys = keys[order]
        if self.weight is not None and weight is not None:
            self.weight[at[here]] = weight[batch.last[here]]
            self.weight = np.concatenate([self.weight, weight[batch.last[~here]]])[order]

    def remove(self, keys: np.ndarray) -> np.ndarray:
        """Remove the edges with these ``keys`` in place; return those of ``keys`` that were stored."""
        at, here = self.locate(keys)
        kept = np.ones(len(self.keys), bool)
        kept[at[here]] = False
        self.keys = self.keys[kept]
        self.weight = None if self.weight is None else self.weight[kept]
        return keys[here]

    def of_sources(self, vertices: np.ndarray) -> np.ndarray:
        """Return the keys of the edges whose source is in ``vertices``."""
        return self.keys[np.isin(self.keys >> np.uint64(32), vertices)]

    def slices(self, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the adjacencies of ``vertices`` (``uint32[k]``, repeats allowed) in the table.

        They are offsets, ``int64[k + 1]``, and positions in ``keys``: those of ``vertices[i]`` from ``offsets[i]`` to
        ``offsets[i + 1]``.
        """
        first = np.searchsorted(self.keys, vertices.astype(np.uint64) << np.uint64(32))
        end = np.searchsorted(self.keys, (vertices.astype(np.uint64) + np.uint64(1)) << np.uint64(32))
        offsets = np.concatenate([[0], np.cumsum(end - first)]).astype(np.int64)
        owner = np.repeat(np.arange(len(vertices)), end - first)
        return offsets, np.arange(offsets[-1]) - offsets[owner] + first[owner]


def compare_edges(what: str, edges: EdgeList, wanted: EdgeTable, device: Device) -> None:
    """Raise ``AssertionError`` unless ``edges`` on ``device``, in any order, equal ``wanted``; ``what`` names them."""
    src, dst = device.to_numpy(edges.src), device.to_numpy(edges.dst)
    assert src.dtype == dst.dtype == np.uint32, f"{what}: ids are {src.dtype} and {dst.dtype}, not uint32"
    assert src.shape == dst.shape, f"{what}: {src.shape} sources, {dst.shape} destinations"
    keys = edge_keys(src, dst)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    if not np.array_equal(keys, wanted.keys):
        missing, extra = np.setdiff1d(wanted.keys, keys), np.setdiff1d(keys, wanted.keys)
        raise AssertionError(
            f"{what}: {len(keys)} edges instead of {len(wanted)};"
            f" {len(missing)} missing {some(missing)}, {len(extra)} superfluous {some(extra)}"
        )
    if wanted.weight is None:
        assert edges.weight is None, f"{what}: weights on an unweighted store"
        return
    assert edges.weight is not None, f"{what}: no weights"
    weight = device.to_numpy(edges.weight)
    assert weight.dtype == wanted.weight.dtype, f"{what}: weights are {weight.dtype}"
    assert weight.shape == src.shape, f"{what}: {weight.shape} weights for {src.shape} edges"
    agree(f"{what}: weight", keys, weight[order], wanted.weight)


def agree(what: str, keys: np.ndarray, got: np.ndarray, wanted: np.ndarray) -> None:
    """Raise ``AssertionError`` unless two arrays of one value per edge are equal bit for bit.

    The message says ``what`` differs, and names the first edge, by ``keys``, where ``got`` is not ``wanted``.
    """
    wrong = np.flatnonzero(bits(got) != bits(wanted))
    if len(wrong):
        first = wrong[0]
        raise AssertionError(
            f"{what} of edge {some(keys[wrong[:1]])} is {got[first]}, not {wanted[first]} ({len(wrong)} are wrong)"
        )


def some(keys: np.ndarray) -> str:
    """Return source and destination of the first five edges of ``keys`` as text."""
    src, dst = (part[:5].tolist() for part in ends_of(keys))
    return " ".join(map(str, zip(src, dst, strict=True))) + (" ..." if len(keys) > 5 else "")
