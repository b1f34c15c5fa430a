"""Wedges listed on the CPU: rows of the rows of vertices."""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import kernel


@kernel
def list_wedges(us, offsets, middles, at, far_rows, places, into, marks, begin, end):
    """List the wedges of the vertices ``us[begin:end]``, from ``places[i]`` on, and write ``ends[i]``.

    Args:
        us, offsets, middles: the row of ``us[i]`` is ``middles[offsets[i] : offsets[i + 1]]``.
        at, far_rows: ``(far_offsets, far)``; the row of ``middles[j]`` is that at ``at[j]`` there.
        places: ``int64``, where the list of each vertex begins, with room for all its wedges and one more.
        into: ``(xs, vs, ends)``, written: the ends and the middles of wedges, ``uint32``, and where each list ends.
        marks: ``uint32[n]``, scratch of 0, by which neighbours are left out, or empty.
        begin, end: the range of vertices.
    """
    (far_offsets, far), (xs, vs, ends), skips = far_rows, into, len(marks) > 0
    for i in range(begin, end):
        u, mark, place = us[i], np.uint32(i + 1), np.uint64(places[i])
        if skips:
            for j in range(offsets[i], offsets[i + 1]):
                marks[np.uint64(middles[j])] = mark
            marks[np.uint64(u)] = mark
        for j in range(offsets[i], offsets[i + 1]):
            first, row = place, at[j]
            k, stop = np.uint64(far_offsets[row]), np.uint64(far_offsets[row + 1])
            if skips:
                while k < stop:
                    xs[place] = far[k]
                    place += np.uint64(marks[np.uint64(far[k])] != mark)
                    k += np.uint64(1)
            else:
                while k < stop:
                    xs[place] = far[k]
                    place += np.uint64(far[k] != u)
                    k += np.uint64(1)
            vs[first:place] = middles[j]
        ends[i] = place
