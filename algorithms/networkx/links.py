"""Scores of pairs of nodes by their common neighbours, by which missing links are predicted.

The functions have the parameters and results of NetworkX's functions of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np

from suricate.networkx.converted import Converted
from suricate.networkx.functions import served

Pairs = Iterable[tuple[Any, Any]]

AT_A_TIME = 1 << 20  #: pairs without an edge, where none are named


def _scored(graph: Converted, kind: str, ebunch: Pairs | None) -> Iterator[tuple[Any, Any, float]]:
    """Return an iterator over ``(u, v, score)`` for the pairs ``ebunch``, or for all without an edge if it is None."""
    if ebunch is None:
        pairs = _apart(graph)
    else:
        given = [(u, v) for u, v in ebunch]
        for node in (node for pair in given for node in pair):
            if node not in graph:
                raise nx.NodeNotFound(f"Node {node} not in G.")
        pairs = iter(given)
    return _in_pieces(graph, kind, pairs)


def _apart(graph: Converted) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of nodes without an edge, each once, in NetworkX's order, which is that of sets."""
    near: dict[Any, set[Any]] = {node: set() for node in graph}
    arcs = graph.arcs()
    for u, v in zip(graph.nodes_of(arcs.src), graph.nodes_of(arcs.dst), strict=True):
        near[u].add(v)
    nodes = set(graph)
    while nodes:
        u = nodes.pop()
        for v in nodes - near[u]:
            yield u, v


def _in_pieces(graph: Converted, kind: str, pairs: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any, float]]:
    while some := list(islice(pairs, AT_A_TIME)):
        src, dst = (np.array([graph.index[node] for node in ends], np.int64) for ends in zip(*some, strict=True))
        found = graph.answer("similarity", keep=False, pairs=(src, dst), kind=kind)
        for (u, v), score in zip(some, found.of(src, dst).tolist(), strict=True):
            if score == np.inf:
                raise ZeroDivisionError("float division by zero")  # by the logarithm of 1
            yield u, v, score


@served("similarity", cost="heavy", directed=False, part=("ebunch",))
def jaccard_coefficient(G: Converted, ebunch: Pairs | None = None) -> Iterator[tuple[Any, Any, float]]:
    """Return an iterator over pairs of nodes and the share of common neighbours in all neighbours of both."""
    return _scored(G, "jaccard", ebunch)


@served("similarity", cost="heavy", directed=False, part=("ebunch",))
def adamic_adar_index(G: Converted, ebunch: Pairs | None = None) -> Iterator[tuple[Any, Any, float]]:
    """Return an iterator over pairs of nodes and the sum of ``1 / log(degree)`` of their common neighbours."""
    return _scored(G, "adamic_adar", ebunch)


@served("similarity", cost="heavy", directed=False, part=("ebunch",))
def resource_allocation_index(G: Converted, ebunch: Pairs | None = None) -> Iterator[tuple[Any, Any, float]]:
    """Return an iterator over pairs of nodes and the sum of ``1 / degree`` of their common neighbours."""
    return _scored(G, "resource_allocation", ebunch)
