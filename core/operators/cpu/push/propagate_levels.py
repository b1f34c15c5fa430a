"""CPU template of ``propagate`` step by step: all offers of a step, then the second phase, then the next step.

The vertices of each step are appended to ``layers`` if that has any places: layer ``i`` ends at ``ends[i + 1]``.
"""

from __future__ import annotations

from suricate.cpu.jit import kernel
from suricate.operators.cpu.bindings import then
from suricate.operators.cpu.measuring import MANY, edges_of
from suricate.operators.cpu.push.layering import append_layer
from suricate.operators.cpu.push.pushing import push_list


@kernel
def propagate(
    g, h, num_vertices, frontier, everything, count, out, stamp, step, number, max_steps, share, queue, spare, layers,
    ends, *args,
):  # fmt: skip
    """Push until no vertex joins; return the number of the last step, of vertices that pushed, of those left.

    The parameters are those of ``propagate.py``. If a layer does not fit, the vertices left are -1.
    """
    touched = 0
    fits = append_layer(layers, ends, number, frontier, everything, count)
    while count > 0 and number < max_steps and fits:
        if share < MANY and edges_of(g, h, num_vertices, frontier, everything, count, share) > share:
            break
        number += 1
        touched += count
        queued = push_list(g, h, num_vertices, frontier, everything, count, out, stamp, step + number, queue, 0, *args)
        count = 0
        for i in range(queued):
            v = queue[i]
            if then(v, number, *args):
                queue[count] = v
                count += 1
        frontier, queue, spare = queue, spare, queue
        everything = False
        fits = append_layer(layers, ends, number, frontier, everything, count)
    return number, touched, count if fits else -1
