"""Strongly connected components on the CPU by one depth-first search of one thread, along out-edges only.

Pearce, *A space-efficient algorithm for finding strongly connected components* (2016). On grids and roads it reads
memory nearly in order; a search by levels reads at all places of a long front in turn, which takes five times as long.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import kernel


@kernel
def search(begin, end, dst, label, path, at, stack, is_root):
    """Write the smallest vertex of the component of each vertex to ``label``.

    Args:
        begin: ``int64[n]``, where the row of each vertex begins in ``dst``.
        end: ``int64[n]``, where it ends.
        dst: ``uint32``, the out-neighbours, row by row.
        label: ``uint32[n]``, zeros. Meanwhile visited vertices have numbers from 1 on in the order of the search, or
            those of earlier vertices that they reach, finished ones the number of their component, from ``n`` down.
        path: scratch, ``uint32[n]``, the vertices from the start of the search to the present one.
        at: scratch, ``int64[n]``: the place of the next edge of each vertex in ``path``.
        stack: scratch, ``uint32[n]``: visited vertices whose component is not finished.
        is_root: scratch, ``uint8[n]``: whether no earlier vertex was reached from a visited one.
    """
    n, index, component, held = len(label), 1, len(label), 0
    for start in range(n):
        if label[start] != 0:
            continue
        depth, path[0], at[start] = 1, start, begin[start]
        label[start], is_root[start] = index, 1
        index += 1
        while depth > 0:
            v = np.uint64(path[depth - 1])
            low, own, i, stop = label[v], is_root[v], np.uint64(at[v]), np.uint64(end[v])
            deeper = False
            while i < stop and not deeper:
                w = np.uint64(dst[i])
                other = label[w]
                if other == 0:  # visited next; then this edge is looked at again
                    path[depth], at[w] = w, begin[w]
                    label[w], is_root[w] = index, 1
                    deeper = True
                else:
                    own = own & np.uint8(other >= low)
                    low = min(low, other)
                    i += np.uint64(1)
            label[v], is_root[v], at[v] = low, own, i
            if deeper:
                depth += 1
                index += 1
                continue
            depth -= 1
            if own == 0:
                stack[held] = v
                held += 1
                continue
            index -= 1
            while held > 0 and label[stack[held - 1]] >= low:
                held -= 1
                label[stack[held]] = component
                index -= 1
            label[v] = component
            component -= 1
    smallest = path  # of each component, by its number less 1; a component of which no member was seen has ``n``
    for c in range(component, n):
        smallest[c] = n
    for each in range(n):
        c = int(label[each]) - 1
        smallest[c] = min(smallest[c], each)
        label[each] = smallest[c]
