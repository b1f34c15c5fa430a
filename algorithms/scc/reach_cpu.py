"""The vertices that some vertices reach: a template over a cursor."""

from __future__ import annotations

from suricate.kernels import kernel, neighbors


@kernel
def reach(g, stack, count, reached):
    """Set ``reached`` to 1, in place, at all vertices of ``g`` that can be reached from the vertices ``stack[:count]``.

    ``reached`` (``uint32[n]``) is 1 at these ``count`` vertices already; ``stack`` (``uint32[n]``) is overwritten.
    """
    while count > 0:
        count -= 1
        u = stack[count]
        for v, _ in neighbors(g, u):
            if reached[v] == 0:
                reached[v] = 1
                stack[count] = v
                count += 1
