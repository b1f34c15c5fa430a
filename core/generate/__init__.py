"""Graphs and batches from a seed: R-MAT, uniform random, grid, random geometric; update and query batches.

They are the same for the same arguments on every machine; ``seed`` is an int or a ``numpy.random.Generator``, whose
state then advances. With ``device="cuda"`` the arrays are made on the host and moved. Ids are uint32.

R-MAT follows Chakrabarti, Zhan and Faloutsos (2004) with the parameters of Graph500; :class:`RMATStream` draws it in
pieces, on the device. The streams of batches follow the protocols of the papers: sliding windows (GPMA), and the
temporal and random batches of DF-PageRank.
"""

from __future__ import annotations

from suricate.base.public import listing
from suricate.generate.edge_streams import GridStream, RMATStream, UniformStream
from suricate.generate.generators import (
    existing_edges,
    grid,
    mixed,
    random_geometric,
    rmat,
    sliding_window,
    temporal_batches,
    uniform,
    uniform_pairs,
)

__all__ = [
    "GridStream", "RMATStream", "UniformStream", "existing_edges", "grid", "mixed", "random_geometric", "rmat",
    "sliding_window", "temporal_batches", "uniform", "uniform_pairs",
]  # fmt: skip
__dir__ = listing(__all__)
