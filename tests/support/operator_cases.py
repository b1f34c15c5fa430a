"""A graph that reaches every branch of the operators, and plain NumPy answers to compare with.

Its large numbers are for the thresholds of kernels; loops in plain Python have none, and get a fifth of the graph.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import suricate as su
from suricate.base.devices import Device
from suricate.cpu.plain import PLAIN

N, EDGES = (1200, 2400) if PLAIN else (6000, 12000)  # vertices, and edges between all but the first
HUBS = {0: 1000, 1: 500} if PLAIN else {0: 5000, 1: 2500}  # vertices and their out-degrees; 1 is an in-hub as well
IN_HUB = 900 if PLAIN else 4500  # its in-degree
DEGREES = {  # around every threshold of the kernels
    **HUBS, 2: 250 if PLAIN else 1500, 3: 300, 4: 100, 5: 65, 6: 64, 7: 9, 8: 8, 9: 1,
}  # fmt: skip
PATH = 80 if PLAIN else 400  # vertices in a chain at the end: many levels with tiny frontiers
ISOLATED = 50


def late_hubs(first: int, hubs: int, leaves: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the arcs of a star at vertex 0; the last two of its ``first`` leaves reach hubs, side by side.

    Those have ``leaves`` more in-neighbours each, which only they reach, and the first five of these at once.
    """
    star, hub = 1 + np.arange(first), 1 + first + np.arange(hubs)
    leaf = 1 + first + hubs + np.arange(hubs * leaves).reshape(hubs, leaves)
    src = [np.zeros(first, int), np.repeat(star[-2:], hubs), leaf.ravel(), np.repeat(hub, 5)]
    dst = [star, np.tile(hub, 2), np.repeat(hub, leaves), leaf[:, :5].ravel()]
    return np.concatenate(src), np.concatenate(dst)


class Case(NamedTuple):
    """A graph and its edges as NumPy arrays, ordered by source; ``weight`` is 1 everywhere if it is unweighted."""

    graph: su.Graph
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray

    @property
    def n(self) -> int:
        return self.graph.num_vertices

    def host(self, array) -> np.ndarray:
        return self.graph.device.to_numpy(array)

    def array(self, values):
        return self.graph.device.xp.asarray(values)


def random_edges(seed: int = 0) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the number of vertices and edges with hubs, self-loops, a long chain, and vertices without edges."""
    rng = np.random.default_rng(seed)
    n = N
    busy = n - PATH - ISOLATED
    src, dst = [rng.integers(len(DEGREES), busy, EDGES)], [rng.integers(0, busy, EDGES)]
    for vertex, degree in DEGREES.items():
        src.append(np.full(degree, vertex))
        dst.append(rng.choice(busy, degree, replace=False))
    src.append(np.arange(busy - IN_HUB, busy))
    dst.append(np.ones(IN_HUB, np.int64))
    chain = np.concatenate(([len(DEGREES)], np.arange(busy, busy + PATH)))
    loops = rng.integers(len(DEGREES), busy, 40)
    src += [chain[:-1], loops]
    dst += [chain[1:], loops]
    keys = np.unique(np.concatenate(src) * n + np.concatenate(dst))
    return n, keys // n, keys % n


def make_case(
    backend: str, device: Device, weight_dtype: str | None = None, *, directed: bool = True, in_edges: bool = False
) -> Case:
    """Return the case of :func:`random_edges` on a backend; edges were deleted and put back, so storage has holes."""
    n, src, dst = random_edges()
    rng = np.random.default_rng(1)
    weight = None
    if weight_dtype is not None:
        weight = (rng.integers(1, 64, len(src)) / (4 if weight_dtype.startswith("f") else 1)).astype(weight_dtype)
    if not directed:
        low, high = np.minimum(src, dst), np.maximum(src, dst)
        _, once = np.unique(low * n + high, return_index=True)
        src, dst, weight = low[once], high[once], None if weight is None else weight[once]
    graph = su.Graph(n, backend=backend, device=device, weight_dtype=weight_dtype, directed=directed, in_edges=in_edges)
    graph.insert_edges(src, dst, weight)
    gone = rng.permutation(np.flatnonzero((src > len(DEGREES)) & (src < n - PATH - ISOLATED)))[: len(src) // 4]
    back = gone[: len(gone) // 2]
    graph.delete_edges(src[gone], dst[gone])
    graph.insert_edges(src[back], dst[back], None if weight is None else weight[back])
    kept = np.ones(len(src), bool)
    kept[gone[len(back) :]] = False
    src, dst = src[kept], dst[kept]
    weight = np.ones(len(src), np.int64) if weight is None else weight[kept]
    if not directed:
        other = src != dst
        src, dst, weight = (
            np.concatenate(pair) for pair in ((src, dst[other]), (dst, src[other]), (weight, weight[other]))
        )
    order = np.lexsort((dst, src))
    return Case(graph, src[order], dst[order], weight[order])


def schemes(case: Any, *, whole: bool = True) -> list[str]:
    """Return the schemes that give the plain result on ``case.graph``.

    On the CPU there is one loop for all of them, which plain Python need not run for each.
    """
    can_scan = whole and (not case.graph.device.is_cuda or case.graph.backend == "slabhash")
    last = ["scan"] if can_scan else []
    return (["auto", "vertex", "bucket"] if not PLAIN else [] if last else ["vertex"]) + last


def reduce_at(reduce: str, start: np.ndarray, at: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return ``start`` with ``values`` reduced into the positions ``at``."""
    out = start.copy()
    ufunc = {"sum": np.add, "min": np.minimum, "max": np.maximum, "or": np.bitwise_or}[reduce]
    ufunc.at(out, at, values.astype(out.dtype))
    return out


def neutral(reduce: str, dtype: np.dtype):
    """Return what a vertex without neighbours gets."""
    if reduce in ("sum", "or"):
        return dtype.type(0)
    if dtype.kind == "f":
        return dtype.type(np.inf if reduce == "min" else -np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if reduce == "min" else limits.min)
