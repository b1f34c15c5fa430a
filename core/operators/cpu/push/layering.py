"""Lists of the vertices of each step, shared by the CPU templates of propagations."""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner


@inner
def append_layer(layers, ends, number, frontier, everything, count):
    """Append the first ``count`` vertices of ``frontier`` as layer ``number``; return whether they fit.

    ``layers`` is ``uint32[capacity]``, and layer ``i`` is ``layers[ends[i] : ends[i + 1]]``; if ``ends`` is empty, no
    layers are kept. With ``everything`` the vertices are those below ``count``.
    """
    if len(ends) == 0:
        return True
    at = ends[number]
    if at + count > len(layers):
        return False
    for i in range(count):
        layers[at + i] = np.uint32(i) if everything else frontier[i]
    if count > 0:
        ends[number + 1] = at + count
    return True
