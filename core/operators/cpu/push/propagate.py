"""CPU template of ``propagate``: in each step push along all edges of the frontier, then run ``then`` if there is one.

Without ``then`` an edge function may see values of the same step. The frontier of each step is appended to ``layers``
as ``layers[ends[i] : ends[i + 1]]``, unless ``ends`` is empty.
"""

from __future__ import annotations

from suricate.cpu.jit import kernel
from suricate.operators.cpu.bindings import has_then
from suricate.operators.cpu.measuring import MANY, edges_of
from suricate.operators.cpu.push.pushing import append_layer, push_list, second_phase_of


@kernel
def propagate(views, vertices, target, number, max_steps, share, queue, buffer, kept, *args):
    """Push until no vertex joins the frontier.

    Args:
        views: the data of the view and of a second one for both directions, and the number of vertices.
        vertices: the frontier, a ``Listed``.
        target: the array of values, changed in place; a stamp per vertex; ``step``. Vertices reached in step ``i`` get
            the stamp ``step + i``.
        number: the number of steps made before.
        max_steps: return after the step of this number.
        share: return before a step with more edges, which several threads will make; ``MANY``: no limit.
        queue, buffer: scratch, ``uint32[num_vertices]``; ``buffer`` may hold the frontier.
        kept: ``layers`` and ``ends``, see the module.
        args: the arguments of the edge function and of ``then``.

    Returns:
        The number of the last step, the number of vertices that pushed, and the size of the remaining frontier, -1 if
        ``layers`` was too short. That frontier is in ``queue`` after an odd number of steps of this call, in ``buffer``
        after an even number above 0.
    """
    g, h, num_vertices = views
    frontier, everything, count = vertices
    out, stamp, step = target
    layers, ends = kept
    touched = 0
    fits = append_layer(layers, ends, number, frontier, everything, count)
    while count > 0 and number < max_steps and fits:
        if share < MANY and edges_of(g, h, num_vertices, frontier, everything, count, share) > share:
            break
        number += 1
        touched += count
        queued = push_list(g, h, num_vertices, frontier, everything, count, out, stamp, step + number, queue, 0, *args)
        count = second_phase_of(queue, queued, number, *args) if has_then else queued
        frontier, queue, buffer = queue, buffer, queue
        everything = False
        fits = append_layer(layers, ends, number, frontier, everything, count)
    return number, touched, count if fits else -1
