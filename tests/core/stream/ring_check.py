"""The invariants of the ring of a window, checked from its arrays."""

from __future__ import annotations

import numpy as np

from suricate.windows.ring import Ring, loops


def check_ring(ring: Ring) -> None:
    """Raise ``AssertionError`` unless lists, counts and the table agree."""
    kept, pairs, mask = ring._kept, ring._pairs, len(ring._kept.time) - 1
    found: dict[int, list[int]] = {}
    for number in range(ring._state[loops.FRONT], ring._state[loops.BACK]):
        if kept.alive[number & mask]:
            found.setdefault(int(kept.pair[number & mask]), []).append(number)
    for pair, events in found.items():
        row, walked = pairs.row[pair], []
        at = int(row[loops.HEAD])
        while at >= 0:
            walked.append(at)
            at = int(kept.after[at & mask])
        assert walked == events, f"the list of pair {pair}"
        assert row[loops.LIVE] == len(events)
        assert row[loops.TAIL] == events[-1]
        if ring._exact:
            assert row[loops.TOTAL] == sum(int(kept.weight[number & mask]) for number in events), f"sum of pair {pair}"
        with np.errstate(over="ignore"):
            at = loops.find_pair(pairs, np.uint64(row[loops.KEY]))
        assert pairs.table[at] & np.uint64(0xFFFFFFFF) == pair, f"pair {pair} is not found in the table"
    assert ring.num_pairs == len(found) == np.count_nonzero(pairs.table != loops.FREE)
