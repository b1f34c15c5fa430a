"""Operators on CUDA: the functions that the public ones call (signatures: ``suricate.operators.call``)."""

from __future__ import annotations

from suricate.operators.cuda.intersect import intersect
from suricate.operators.cuda.maps import edge_map, iterate, vertex_map
from suricate.operators.cuda.pull import converge, neighbor_reduce
from suricate.operators.cuda.push import advance, propagate

__all__ = [
    "advance", "converge", "edge_map", "intersect", "iterate", "neighbor_reduce", "propagate", "vertex_map",
]  # fmt: skip
