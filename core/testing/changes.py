"""Changes of a graph for the kit of algorithms: random ones, and scripts of changes that often reveal errors.

A script is a function that changes the graph of a :class:`Changer` step by step; it yields None after each change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import numpy as np

from suricate.base.types import EdgeList
from suricate.graph.delta import Batch

if TYPE_CHECKING:
    from suricate.graph import Graph

CHANGE_KINDS = ("insert", "delete", "mixed", "insert_vertices", "replace", "delete_vertices", "recycle", "nothing")


def change_lists(kinds: Sequence[str]) -> st.SearchStrategy[list[tuple[str, int, int]]]:
    """Return a hypothesis strategy that draws lists of 1 to 5 changes, ``(kind, size, seed)``.

    ``kind`` is one of ``kinds``, or "insert" or "delete". It and ``size`` (1, 3 or 20) are the arguments of
    :meth:`Changer.change`; ``seed`` is that of the :class:`Changer`.
    """
    kind = st.sampled_from([*kinds, "insert", "delete"])
    change = st.tuples(kind, st.sampled_from((1, 3, 20)), st.integers(0, 2**32 - 1))
    return st.lists(change, min_size=1, max_size=5)


Edges = tuple[np.ndarray, ...]  #: (src, dst), or (src, dst, weight) on a weighted graph


class Changer:
    """Changes a graph at random.

    Args:
        graph: the graph.
        weights: the values to draw weights from.
        seed: seed of everything that is drawn.
    """

    def __init__(self, graph: Graph, weights: Sequence[float], seed: int) -> None:
        self.graph, self.rng = graph, np.random.default_rng(seed)
        self.weights = None if graph.weight_dtype is None else np.array(weights).astype(graph.weight_dtype)

    def arcs(self) -> EdgeList:
        """Return the arcs of the graph in host arrays."""
        parts = self.graph.store("out").edges()
        return parts.each(self.graph.device.to_numpy)

    def weighted(self, src: np.ndarray, dst: np.ndarray) -> Edges:
        """Return ``(src, dst, random weights)`` if the graph has weights, else ``(src, dst)``."""
        return (src, dst) if self.weights is None else (src, dst, self.rng.choice(self.weights, len(src)))

    def draw(self, count: int) -> Edges:
        """Return ``count`` random edges to insert, with weights if the graph has weights."""
        src, dst = (self.rng.integers(0, self.graph.num_vertices, count) for _ in range(2))
        return self.weighted(src, dst)

    def some(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(src, dst)`` of ``count`` random edges of the graph, with repeats; empty if it has no edges."""
        src, dst, _ = self.arcs()
        at = self.rng.integers(0, len(src), count if len(src) else 0)
        return src[at], dst[at]

    def change(self, kind: str, count: int) -> None:
        """Make a change of ``kind``, one of ``CHANGE_KINDS``, of about ``count`` edges or vertices, in one call."""
        graph = self.graph
        if kind == "insert_vertices":
            graph.insert_vertices(count)
            return
        if kind == "recycle":
            graph.insert_vertices(min(count, 2), recycle=True)  # fewer than are deleted at a time
            return
        if kind == "delete_vertices":
            graph.delete_vertices(np.unique(self.rng.integers(0, graph.num_vertices, min(count, 3))))
            return
        insert = self.draw(count) if kind in ("insert", "mixed") else None
        if kind == "replace":
            insert = self.weighted(*self.some(count))
        delete = self.some(count) if kind in ("delete", "mixed") else None
        graph.apply(Batch(insert=insert, delete=delete))


# -- scripts: each yields after every change ---------------------------------------------------------------------------


def self_loops(changer: Changer) -> Iterator[None]:
    """Insert a self-loop at every vertex, then delete some at a time; yield after each change."""
    graph, every = changer.graph, np.arange(changer.graph.num_vertices)
    graph.insert_edges(*changer.weighted(every, every))
    yield
    graph.delete_edges(every[::2], every[::2])
    yield
    graph.apply(Batch(insert=changer.weighted(every[::2], every[::2]), delete=(every[1::2], every[1::2])))
    yield
    graph.delete_edges(every, every)
    yield


def deleted_vertices(changer: Changer, chosen: Sequence[int]) -> Iterator[None]:
    """Isolate, delete, revive and recycle the vertices ``chosen``, with self-loops; yield after each change."""
    graph, first = changer.graph, chosen[0]
    graph.insert_edges(*changer.weighted(np.array(chosen), np.array(chosen)))
    src, dst, _ = changer.arcs()
    away, towards = src == first, dst == first
    graph.delete_edges(src[away], dst[away])
    yield
    graph.delete_edges(src[towards & ~away], dst[towards & ~away])
    yield
    for vertex in chosen:
        graph.delete_vertices([vertex])
        yield
    graph.insert_edges(*changer.draw(6))
    yield
    graph.insert_edges(*changer.weighted(np.array(chosen), np.roll(np.arange(graph.num_vertices), 1)[chosen]))
    yield
    graph.delete_edges(np.array(chosen), np.roll(np.arange(graph.num_vertices), 1)[chosen])  # they stay live
    yield
    graph.delete_vertices([*chosen[1:], graph.num_vertices - 1])
    graph.insert_vertices(1, recycle=True)
    yield
    ids = graph.device.to_numpy(graph.insert_vertices(len(chosen) + 2, recycle=True)).astype(np.int64)
    yield
    graph.insert_edges(*changer.weighted(ids, np.full(len(ids), first)))
    graph.insert_edges(*changer.weighted(np.full(len(ids), first), ids))
    yield
    graph.delete_vertices(chosen)
    graph.insert_edges(*changer.weighted(*map(np.array, ([first], [chosen[-1]]))))
    graph.delete_vertices([first])
    yield


def mixed_batches(changer: Changer) -> Iterator[None]:
    """Apply batches that both delete and insert; yield after each.

    Some delete and insert the same edges, one deletes all edges of the graph, and one is empty.
    """
    graph = changer.graph
    src, dst = changer.some(12)
    new = changer.draw(12)
    graph.apply(Batch(insert=changer.weighted(src, dst), delete=(src, dst)))
    yield
    graph.apply(Batch(insert=new, delete=(np.concatenate([src, new[0]]), np.concatenate([dst, new[1]]))))
    yield
    src, dst, _ = changer.arcs()
    graph.apply(Batch(insert=changer.weighted(src[:6], dst[:6]), delete=new[:2]))
    yield
    graph.apply(Batch(insert=changer.draw(40), delete=(src, dst)))
    yield
    graph.apply(Batch(insert=changer.draw(0), delete=changer.some(0)))
    yield


def replaced_weights(changer: Changer) -> Iterator[None]:
    """Insert stored edges again with other weights or the same ones, and once delete others too; yield after each."""
    graph = changer.graph
    for count in (1, 15):
        graph.insert_edges(*changer.weighted(*changer.some(count)))
        yield
    src, dst, weight = changer.arcs()
    assert weight is not None
    graph.insert_edges(src, dst, weight)
    yield
    graph.insert_edges(src, dst, changer.rng.permutation(weight))
    yield
    half = len(src) // 2
    graph.apply(Batch(insert=changer.weighted(src[half:], dst[half:]), delete=(src[::3], dst[::3])))
    yield


Script = Callable[[Changer], Iterator[None]]
