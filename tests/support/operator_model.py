"""What operators do, in plain Python: the model that both devices are compared with, on small random graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

import suricate as su
from suricate.base.devices import Device

N = 60
KINDS = {
    "directed": {"directed": True, "in_edges": True},
    "undirected": {"directed": False},
}
REDUCE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda old, new: old + new,
    "min": min,
    "max": max,
    "or": lambda old, new: old | new,
}


class Small(NamedTuple):
    """A small graph beside the list of its arcs, as (u, v, w)."""

    graph: su.Graph
    arcs: list[tuple[int, int, float]]

    @property
    def device(self) -> Device:
        return self.graph.device

    def array(self, values: Any) -> Any:
        return self.device.xp.array(values)  # a copy

    def host(self, array: Any) -> np.ndarray:
        return self.device.to_numpy(array)

    def members(self, frontier: su.Frontier) -> list[int]:
        found = self.host(frontier.vertices).tolist()
        assert len(set(found)) == len(found), "a vertex is there twice"
        return sorted(found)

    def seen(self, over: str) -> list[tuple[int, int, float]]:
        """Return the arcs as (owner, neighbour, w) over a direction: of each side, a self-loop once."""
        if over == "out" or not self.graph.directed:
            return self.arcs
        turned = [(v, u, w) for u, v, w in self.arcs]
        return turned if over == "in" else turned + [arc for arc in self.arcs if arc[0] != arc[1]]

    def offers(self, start: Iterable[int], over: str) -> Iterator[tuple[int, int, float]]:
        """Yield the arcs along which a push from these vertices offers."""
        inside = set(start)
        return (arc for arc in self.seen(over) if arc[0] in inside)


def small(
    backend: str, device: Device, kind: str = "directed", weight_dtype: str | None = None, seed: int = 0
) -> Small:
    """Return a random graph with self-loops, reciprocal arcs, a hub, isolated vertices, and holes in its storage."""
    rng = np.random.default_rng(0)
    graph = su.Graph(N, backend=backend, device=device, weight_dtype=weight_dtype, **KINDS[kind])
    src, dst = rng.integers(0, N - 4, (2, 150))
    src[:25], dst[25:35] = 3, src[25:35]
    src[40:60], dst[40:60] = dst[60:80], src[60:80]
    weight = None if weight_dtype is None else rng.integers(0, 6, len(src)).astype(weight_dtype)
    graph.insert_edges(src, dst, weight)
    graph.delete_edges(src[90:110], dst[90:110])
    graph.insert_edges(src[100:105], dst[100:105], None if weight is None else weight[100:105])
    found = su.arcs(graph)
    u, v = (device.to_numpy(part).tolist() for part in found[:2])
    w = [1] * len(u) if weight_dtype is None else device.to_numpy(found.weight).tolist()
    return Small(graph, list(zip(u, v, w, strict=True)))


def push(reduce: str, out: list, offers: Iterable[tuple[int, Any]]) -> set[int]:
    """Reduce (receiver, value) pairs into ``out``; return the vertices that they altered."""
    before = list(out)
    for v, value in offers:
        out[v] = REDUCE[reduce](out[v], value)
    return {v for v, value in enumerate(out) if value != before[v]}


def mode(values: Iterable[Any]) -> Any:
    """Return the most frequent value, of several the smallest; None of nothing."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value)) if counts else None
