"""What some vertices of a graph reach, on the CPU by one thread, where it does not matter in how many steps.

The search continues from the vertex that was found last (depth first). Its vertices are near each other, and memory is
read nearly in order on grids and roads; a search by levels reads at all places of a long front in turn, which takes
five times as long there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suricate.kernels import loops_over, without_weights

if TYPE_CHECKING:
    from suricate.graph import Graph

TEMPLATE = Path(__file__).parent / "reach_cpu.py"


def reach_on_host(graph: Graph, start: np.ndarray, reached: np.ndarray, over: str) -> None:
    """Set ``reached`` to 1, in place, at all vertices reachable from ``start`` along edges in direction ``over``.

    Args:
        graph: a graph on the CPU.
        start: ids, ``uint32``, each at most once.
        reached: ``uint32[num_vertices]``: 1 for ``start``, 0 for others.
        over: ``"out"`` or ``"in"``.
    """
    view = graph.view(over)
    stack = graph.workspace.array("reach.stack", graph.num_vertices, np.uint32)
    stack[: len(start)] = start
    loops_over(view, TEMPLATE).reach(without_weights(view), stack, len(start), reached)
