"""A step: how an algorithm updates its state edge by edge within a compiled loop on the CPU, for ``suricate.replay``.

:meth:`suricate.Algorithm.event_step` returns one. Its module, which ``suricate.kernels.loops_over`` makes from a
template, has two functions that are inlined (``suricate.kernels.inner``):

- ``step(graph, state, change, u, v, w, counts) -> (work, changed)``: bring the state up to date with one edge, which
  the stores have changed already; ``u`` and ``v`` are ``uint32``, an undirected edge comes once. ``change`` is
  ``INSERTED``, ``DELETED``, ``HEAVIER`` or ``LIGHTER`` (a stored edge got another weight); ``w`` is the weight of the
  edge, of a deleted one the one that it had, 1 without weights. ``work`` is the number of arcs visited, ``changed``, if
  ``counts``, the number of vertices whose values in the result differ from those before the event. ``work < 0`` refuses
  the event: the state must be unchanged, and the event becomes a call of the graph.
- ``record(graph, state, at, recorded, i)``: write the values at the vertices ``at`` (int64) to entry ``i`` of the
  arrays ``recorded``.

``graph`` is a :class:`Walked`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

INSERTED, DELETED, HEAVIER, LIGHTER = 1, 2, 3, 4  #: what happened to an edge


class Walked(NamedTuple):
    """A graph as a step walks it.

    Attributes:
        out: the data of the view of out-edges, as compiled functions take it.
        into: the data of the view of in-edges; of out-edges if the graph keeps no in-edges.
        has_in: whether in-edges can be walked.
        undirected: whether every edge is stored in both directions.
    """

    out: Any
    into: Any
    has_in: bool
    undirected: bool


class Step(NamedTuple):
    """How an algorithm updates its state edge by edge; valid until the graph or the algorithm changes in another way.

    Attributes:
        module: the module with ``step`` and ``record``.
        state: their argument of that name, a ``NamedTuple`` of arrays and numbers.
        recorded: ``recorded(events, vertices)`` returns a tuple of arrays that ``record`` writes to.
        answer: converts these arrays to the algorithm's result, in which the first dimension of arrays is the event.
        refusal: a text: why ``step`` refuses events.
        weighted: whether ``step`` reads weights. If not, one loop serves weights of all types: graphs are walked as if
            they had none, ``w`` is 1, and an edge that got another weight is ``LIGHTER``.

    Example:
        >>> su.Step("module", None, None, None).answer is None
        True
    """

    module: ModuleType
    state: Any
    recorded: Callable[[int, int], tuple[np.ndarray, ...]]
    answer: Callable[[tuple[np.ndarray, ...]], Any]
    refusal: str = "its step refused the event"
    weighted: bool = True
