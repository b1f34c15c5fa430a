"""The names that the template ``loop`` takes from its surroundings: from modules of a step and of a store.

``suricate.replaying.loops`` puts those of an algorithm and a backend in their place.

``s`` is one store's data; ``weights`` and ``before`` have the weight of event ``i`` and get the one that it replaces or
deletes. The other parameters are those of ``suricate.plugins.step``.
"""

from __future__ import annotations

from suricate.cpu.jit import inner


@inner
def arc_weight(weights, i):
    """Return the weight of an event, 1 on an unweighted graph."""
    return 1


@inner
def has_space(s, u, v, both):
    """Return whether an edge from ``u`` to ``v`` can be inserted; with ``both``, also the arc back."""
    return False


@inner
def insert_edge(s, u, v, weights, before, i):
    """Insert the edge from ``u`` to ``v`` of event ``i`` with ``weights[i]``; return its status.

    ``before[i]`` gets the weight that is replaced.
    """
    return 0


@inner
def delete_edge(s, u, v, before, i):
    """Delete the edge from ``u`` to ``v`` of event ``i``; return its status. ``before[i]`` gets its weight."""
    return 0


@inner
def fetch(s, u, v):
    """Prefetch the memory where the store looks for an edge from ``u`` to ``v``."""


@inner
def fetch_far(s, u):
    """Prefetch the memory of the store ``s`` that leads to the edges of vertex ``u``."""


@inner
def step(graph, state, change, u, v, w, counts):
    """Bring ``state`` up to date with one change of the edge from ``u`` to ``v``; return ``(work, changed)``.

    ``suricate.plugins.step`` explains the parameters. The module of the algorithm replaces this function.
    """
    return 0, 0


@inner
def record(graph, state, at, recorded, i):
    """Write the values at the vertices ``at`` after event ``i`` to row ``i`` of the arrays ``recorded``.

    The module of the algorithm replaces it.
    """
