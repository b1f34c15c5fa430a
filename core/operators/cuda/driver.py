"""Operators on CUDA: the functions that the public ones call (signatures: ``suricate.operators.call``)."""

from __future__ import annotations

from suricate.operators.cuda.intersect import intersect as intersections
from suricate.operators.cuda.loops import iterate as loops
from suricate.operators.cuda.loops.recording import by_host, compile_ahead, is_recording, recorded  # noqa: F401
from suricate.operators.cuda.maps import maps
from suricate.operators.cuda.prepared import (  # noqa: F401
    MapOfAll,
    Passes,
    map_all,
    prepare,
)
from suricate.operators.cuda.pull import converge as rounds
from suricate.operators.cuda.pull import pull
from suricate.operators.cuda.push import propagate as fixed_points
from suricate.operators.cuda.push import push

advance = recorded(push.advance)
propagate = recorded(fixed_points.propagate, fixed_points.program)
neighbor_reduce = recorded(pull.neighbor_reduce)
converge = recorded(rounds.converge, rounds.program)
vertex_map = recorded(maps.vertex_map)
edge_map = recorded(maps.edge_map)
intersect = recorded(intersections.intersect)
iterate = recorded(loops.iterate)
