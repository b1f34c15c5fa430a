"""Operators on the CPU: the functions that the public ones call (signatures: ``suricate.operators.call``).

The loops are instances of templates (see ``instances``). The results are as ``suricate.operators`` says for any order
of the vertices of a frontier: no loop relies on the order in which it visits them.
"""

from __future__ import annotations

from suricate.operators.cpu.intersect.intersection import intersect
from suricate.operators.cpu.maps.maps import edge_map, iterate, vertex_map
from suricate.operators.cpu.prepared import MapOfAll, Passes
from suricate.operators.cpu.pull.pull import converge, neighbor_reduce
from suricate.operators.cpu.push.push import advance, propagate

__all__ = [
    "MapOfAll", "Passes", "advance", "converge", "edge_map", "intersect", "iterate", "neighbor_reduce", "propagate",
    "vertex_map",
]  # fmt: skip
