"""Layout of ``csr_baseline``: its arrays, and the constants that Python and C++ share.

The edges of ``u`` lie in slots ``offsets[u]`` to ``offsets[u + 1]`` of ``dst`` and ``weight``, ascending, without
repeats. These arrays may be longer than ``offsets[n]``. A second pair takes a rebuilt graph; it is kept only after
``reserve``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.array_manager import WEIGHT, Layout
from suricate.devices import Array

LAYOUT: Layout = {
    "offsets": {"offsets": np.int64},
    "edges": {"dst": np.uint32, "weight": WEIGHT},
    "spare": {"spare_dst": np.uint32, "spare_weight": WEIGHT},
}

CONSTANTS = {"ITEMS": 8}  #: edges per thread of a rebuild


class Graph(NamedTuple):
    """The arrays that kernels work on; ``weight`` holds bit patterns, and has length 0 if there are none."""

    offsets: Array
    dst: Array
    weight: Array


class Rebuild(NamedTuple):
    """What is reserved for a rebuild: the arrays of the new graph, and a bound of the edges of the old one."""

    target: Graph
    bound: int
