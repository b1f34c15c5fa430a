"""Recording the vertices of each step as a layer, shared by the CPU templates of propagations."""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner


@inner
def append_layer(layers, ends, number, frontier, everything, count):
    """Append ``frontier[:count]`` (if ``everything``: ids below ``count``) as layer ``number``; return whether it fits.

    Layer ``i`` is ``layers[ends[i] : ends[i + 1]]``; ``layers`` is ``uint32[capacity]``. If the layer does not fit,
    nothing is written. If ``ends`` is empty, layers are not wanted: nothing is written, and True is returned.
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
