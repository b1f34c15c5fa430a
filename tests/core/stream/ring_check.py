"""The invariants of the ring of a window, checked from its arrays."""

from __future__ import annotations

import numpy as np

from suricate.windows.ring import Ring, linked


def check_ring(ring: Ring) -> None:
    """Raise ``AssertionError`` unless lists, counts and the table agree."""
    kept, pairs, mask = ring._kept, ring._pairs, len(ring._kept.time) - 1
    found: dict[int, list[int]] = {}
    for number in range(ring._state[linked.FRONT], ring._state[linked.BACK]):
        if kept.alive[number & mask]:
            found.setdefault(int(kept.pair[number & mask]), []).append(number)
    for pair, events in found.items():
        row, walked = pairs.row[pair], []
        at = int(row[linked.HEAD])
        while at >= 0:
            walked.append(at)
            at = int(kept.after[at & mask])
        assert walked == events, f"the list of pair {pair}"
        assert row[linked.LIVE] == len(events)
        assert row[linked.TAIL] == events[-1]
        if ring._exact:
            assert row[linked.TOTAL] == sum(int(kept.weight[number & mask]) for number in events), f"sum of pair {pair}"
    check_table(pairs, set(found))


def check_table(pairs: linked.Pairs, live: set[int]) -> None:
    """Raise ``AssertionError`` unless the table has the pairs, each in the first line from its own on with a place."""
    lines = pairs.table.reshape(-1, linked.LINE)
    tags, numbers = lines[:, : linked.TAGS], lines[:, linked.TAGS :]
    used = tags != linked.FREE
    assert sorted(numbers[used].tolist()) == sorted(live)
    full = used.all(1)
    for line, place in np.argwhere(used).tolist():
        pair = int(numbers[line, place])
        with np.errstate(over="ignore"):
            tag = linked.tag_of(np.uint64(pairs.row[pair, linked.KEY]))
        assert tags[line, place] == tag, f"tag of pair {pair}"
        at = linked.line_of(pairs.table, tag)
        while at != line:
            assert full[at], f"pair {pair} is behind a line that has a free place"
            at = (at + 1) % len(lines)
