"""Operators on CUDA: the functions that the public ones call (signatures: ``suricate.operators.call``)."""

from __future__ import annotations

from suricate.operators.cuda import converge as rounds
from suricate.operators.cuda import intersect as intersections
from suricate.operators.cuda import iterate as loops
from suricate.operators.cuda import maps, pull, push
from suricate.operators.cuda import propagate as fixed_points
from suricate.operators.cuda.forest import Repairs
from suricate.operators.cuda.prepared import prepare
from suricate.operators.cuda.recording import is_recording, recorded
from suricate.operators.cuda.repeated import MapOfAll, Passes, map_all

__all__ = [
    "MapOfAll", "Passes", "Repairs", "advance", "converge", "edge_map", "intersect", "is_recording",
    "iterate", "map_all", "neighbor_reduce", "prepare", "propagate", "vertex_map",
]  # fmt: skip

advance = recorded(push.advance)
propagate = recorded(fixed_points.propagate)
neighbor_reduce = recorded(pull.neighbor_reduce)
converge = recorded(rounds.converge)
vertex_map = recorded(maps.vertex_map)
edge_map = recorded(maps.edge_map)
intersect = recorded(intersections.intersect)
iterate = recorded(loops.iterate)
