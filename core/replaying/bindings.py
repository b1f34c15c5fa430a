"""Placeholders for the functions that the template ``loop`` calls: ``suricate.replaying.event_loops`` replaces them.

Those of a store are defined by its backend: ``s`` is the data of one store, ``weights`` and ``before`` have an entry
per event, and ``i`` is the number of the event. ``step`` and ``record`` are defined by the algorithm, see
``suricate.plugins.step``.
"""

from __future__ import annotations

from suricate.cpu.jit import inner


@inner
def arc_weight(weights, i):
    """Return the weight of an event, 1 on an unweighted graph."""
    return 1


@inner
def has_space(s, u, v, both):
    """Return whether an edge from ``u`` to ``v`` can be inserted without more memory; ``both``: in both directions."""
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
    """Update ``state`` after one change of the edge from ``u`` to ``v``; return ``(work, changed)``.

    ``change`` is a code of ``suricate.plugins.step``: inserted, deleted, heavier or lighter; ``w`` is the weight.
    ``work`` is the number of arcs visited, negative if the algorithm refuses the event; ``changed``, if ``counts``, the
    number of vertices whose values changed.
    """
    return 0, 0


@inner
def record(graph, state, at, recorded, i):
    """Write the values in ``state`` at the vertices ``at`` to row ``i``, the event, of the arrays ``recorded``."""
