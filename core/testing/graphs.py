"""A backend below a graph: deltas and queries, and batches that are validated and applied in one launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from suricate.base.errors import VertexRangeError
from suricate.base.types import EdgeList, edge_keys, ends_of
from suricate.testing.draws import draw_weights
from suricate.testing.table import EdgeTable, agree, bits, compare_edges, group

if TYPE_CHECKING:
    from suricate.graph import Graph

NUM_VERTICES = 300
BATCH_SIZES = (1, 7, 300, 1025, 1025)


class ModelledGraph:
    """A directed graph and a table of the edges it must have.

    Methods take host arrays; the graph is given copies of them on its device.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self.device, self.table = graph, graph.device, EdgeTable(graph.weight_dtype)

    def given(self, *parts: np.ndarray | None) -> list:
        """Return copies of host arrays on the device of the graph; None stays None."""
        return [None if part is None else self.device.xp.array(part) for part in parts]

    def insert(self, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None) -> None:
        """Insert a batch into graph and table; compare the delta with what changed in the table.

        Compared are ``inserted``, and in weighted graphs ``replaced`` and ``replaced_old``.
        """
        delta, before = self.graph.insert_edges(*self.given(src, dst, weight)), self.table.copy()
        self.table.insert(group(src, dst), weight)
        at, stored = before.locate(self.table.keys)
        compare_edges("delta.inserted", delta.inserted, self.table.select(~stored), self.device)
        if self.table.weight is None or before.weight is None:
            assert delta.num_replaced == 0, "delta.replaced lists edges of an unweighted graph"
            return
        old = before.weight[at[stored]]
        differ = bits(old) != bits(self.table.weight[stored])
        replaced = self.table.select(np.flatnonzero(stored)[differ])
        compare_edges("delta.replaced", delta.replaced, replaced, self.device)
        replaced.weight = old[differ]
        compare_edges("delta.replaced_old", delta.replaced._replace(weight=delta.replaced_old), replaced, self.device)

    def delete(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Delete a batch from graph and table; compare ``deleted`` of the delta with the edges that the table lost."""
        delta, before = self.graph.delete_edges(*self.given(src, dst)), self.table.copy()
        gone = self.table.remove(group(src, dst).keys)
        compare_edges("delta.deleted", delta.deleted, before.select(np.isin(before.keys, gone)), self.device)

    def refuse(self, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None) -> None:
        """Assert that inserting the batch, and deleting it, raise ``VertexRangeError`` when one id is out of range."""
        dst = dst.copy()
        dst[len(dst) // 2] = NUM_VERTICES
        with pytest.raises(VertexRangeError):
            self.graph.insert_edges(*self.given(src, dst, weight))
        with pytest.raises(VertexRangeError):
            self.graph.delete_edges(*self.given(dst, src))

    def verify(self, rng: np.random.Generator) -> None:
        """Compare the edges, and queries of all edges and of 50 random pairs, with the table."""
        compare_edges("edges", EdgeList(*self.graph.store("out").edges()), self.table, self.device)
        src, dst = (np.concatenate([part, rng.integers(0, NUM_VERTICES, 50)]) for part in ends_of(self.table.keys))
        keys = edge_keys(src.astype(np.uint32), dst.astype(np.uint32))
        at, stored = self.table.locate(keys)
        src, dst = self.given(src.astype(np.uint32), dst.astype(np.uint32))
        agree("has_edges()", keys, self.device.to_numpy(self.graph.has_edges(src, dst)), stored)
        if self.table.weight is not None:
            found = self.device.to_numpy(self.graph.edge_weights(src, dst, default=0))
            agree("edge_weights()", keys[stored], found[stored], self.table.weight[at[stored]])


def changes_of_a_graph(graph: Graph) -> None:
    """Assert that deltas and queries are right after batches on the device, and that bad batches change nothing."""
    model, rng = ModelledGraph(graph), np.random.default_rng(60)
    for size in BATCH_SIZES:
        src, dst = (rng.integers(0, NUM_VERTICES, size).astype(np.uint32) for _ in range(2))
        src[: size // 3] = 7
        weight = None if graph.weight_dtype is None else draw_weights(rng, size, graph.weight_dtype)
        model.insert(src, dst, weight)
        model.refuse(src, dst, weight)
        model.insert(src, dst, None if weight is None else weight[::-1].copy())
        model.verify(rng)
        model.delete(src[::3].copy(), dst[::3].copy())
        model.verify(rng)
    graph.check()
