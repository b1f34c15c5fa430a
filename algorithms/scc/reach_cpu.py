"""What vertices reach: a template over a cursor."""

from __future__ import annotations

from suricate.base.types import TOMBSTONE
from suricate.cpu.jit import kernel
from suricate.cursors.bindings import begin, buckets, end, first, following, key


@kernel
def reach(g, stack, count, reached):
    """Set ``reached`` to 1 for all that the first ``count`` vertices of ``stack`` lead to, which have it already."""
    while count > 0:
        count -= 1
        u = stack[count]
        for k in range(buckets(g, u)):
            c = first(g, u, k)
            while c >= 0:
                for slot in range(begin(g, c), end(g, c)):
                    v = key(g, slot)
                    if v < TOMBSTONE and reached[v] == 0:
                        reached[v] = 1
                        stack[count] = v
                        count += 1
                c = following(g, c)
