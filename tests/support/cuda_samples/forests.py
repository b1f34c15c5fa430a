"""Some programs of the dependence forest over a view, to be compiled on a machine without a GPU."""

from __future__ import annotations

from cuda_samples.pushes import call_by_distance, call_by_hops
from suricate.base.types import StoreView
from suricate.cuda.program import Program
from suricate.kernels.walking import Walk
from suricate.operators.cuda.programs import DENSE_BLOCK
from suricate.repair.cuda import levels
from suricate.repair.cuda.repairs import Form, program


def programs(view: StoreView) -> list[Program]:
    """Return programs of dependence forests over ``view`` in several forms, to be compiled without a GPU."""
    walk, by_distance, by_hops = Walk(view), call_by_distance(view), call_by_hops(view)
    return [
        program(walk, by_hops, Form(from_scratch=False, has_back=False, ordered=False)),
        program(walk, by_distance, Form(from_scratch=False, has_back=True, ordered=True)),
        program(walk, by_distance, Form(from_scratch=False, has_back=True, ordered=False, uniform=True)),
        program(walk, by_distance, Form(from_scratch=True, has_back=True, ordered=False, uniform=True)),
        program(walk, by_hops, Form(from_scratch=True, has_back=True, ordered=True, threads=DENSE_BLOCK)),
        program(
            walk, by_hops, Form(from_scratch=True, has_back=True, ordered=False, uniform=True, threads=DENSE_BLOCK)
        ),
        levels.program(walk, by_distance),
        levels.program(walk, by_hops),
    ]
