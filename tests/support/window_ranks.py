"""Ranks of a window of payments, slid by the hour: processor time and error of updates beside computations.

The payments are those of ``examples/payments``: a week of them, of which 1.2 % come and go per slide.

    python tests/support/window_ranks.py [PAYMENTS_PER_DAY ACCOUNTS]
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import suricate as su
import suricate.stream as st

FIRST, LAST = 180, 240  #: of the slides that count: the window is full


def timed(function: Any, *args: Any) -> float:
    """Return the processor milliseconds of a call."""
    begin = time.process_time()
    function(*args)
    return 1e3 * (time.process_time() - begin)


def noted(spent: list[float], function: Any, *args: Any) -> None:
    """Append the processor milliseconds of a call to ``spent``."""
    spent.append(timed(function, *args))


def main(per_day: int = 5_000, accounts: int = 20_000) -> None:
    """Print medians of a slide."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "payments"))
    from payments import payments

    found = payments(12, per_day, accounts)[0].T
    columns = dict(zip(("time", "src", "dst", "weight"), (*found[:3], found[3].astype(np.float64)), strict=True))
    job = st.Window(
        st.source(columns, time_unit="s"), size="7d", slide="1h", lateness="2h", combine="sum", graph={"device": "cpu"}
    )
    ranks, spent, rows = job.track("pagerank"), [0.0], []
    for number, w in enumerate(job):
        algorithm: Any = ranks.algorithm
        if number == 0:
            algorithm.update = partial(noted, spent, algorithm.update)
        if not FIRST <= number < LAST:
            continue
        other, right = su.algorithm("pagerank").create({}), w.graph.compute("pagerank", tol=1e-12)
        computed = timed(other.compute, w.graph)
        errors = [np.abs(each - right).sum() for each in (ranks.result, other.result)]
        rows.append((spent[-1], computed, algorithm.iterations, other.iterations, *errors))
    kinds = ranks.updates
    names = (
        "update ms",
        "computation ms",
        "passes of an update",
        "of a computation",
        "error of an update",
        "of the other",
    )
    print(f"{w.graph.num_edges} edges, {kinds.updated} of {kinds.updated + kinds.computed} slides updated")
    print(", ".join(f"{name} {value:.3g}" for name, value in zip(names, np.median(rows, 0), strict=True)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
