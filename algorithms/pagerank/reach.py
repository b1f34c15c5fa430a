"""How far the effect of a batch is likely to reach before it fades, for PageRank's choice of a method."""

from __future__ import annotations

import math

DECAY = 4  #: by about so much a step makes the norm of a change smaller, on graphs without long distances
LOCAL_SHARE = 64  #: dynamic methods are faster while they reach less than 1 / LOCAL_SHARE of the vertices,
FEW_ARCS, FEW_ARCS_SHARE = 8, 4  #: or, with fewer than FEW_ARCS arcs per vertex, less than 1 / FEW_ARCS_SHARE of them


def is_near(num_vertices: int, arcs: int, size: int, steps: int) -> bool:
    """Return whether a change of ``size`` arcs is likely to affect so few vertices that dynamic methods are faster.

    The graph has ``num_vertices`` vertices and ``arcs`` arcs; ``steps`` is the number of steps until the effect fades.
    """
    degree = max(arcs / num_vertices, 1.0)
    share = FEW_ARCS_SHARE if degree < FEW_ARCS else LOCAL_SHARE
    return 2 * size * degree ** min(steps + 1, 64) * share < num_vertices


def steps_until(bound: float, change: float) -> int:
    """Return after how many steps a change of the norm ``change`` is likely to be below ``bound``; at least 1.

    Each step is expected to divide the norm by ``DECAY``.
    """
    return 1 if change <= bound else max(1, math.ceil((math.log(change) - math.log(bound)) / math.log(DECAY)))
