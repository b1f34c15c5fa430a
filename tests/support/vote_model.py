"""What ``reduce="vote"`` and turns do, in plain Python: the model that operators are compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from math import isfinite
from typing import Any

EMPTY = 0xFFFFFFFF
Votes = Iterable[tuple[int, float]]


def totals_of(votes: Votes, labels: int) -> dict[int, Fraction]:
    """Return the exact total of each label that has a vote: no weight that is 0, and no label out of range."""
    totals: dict[int, Fraction] = defaultdict(Fraction)
    for label, weight in votes:
        if 0 <= label < labels and weight != 0 and isfinite(weight):
            totals[label] += Fraction(weight)
    return totals


def winners(votes: Votes, labels: int, score: Callable[[int, Any], float], keep: int | None, best: int) -> list[Any]:
    """Return up to ``best`` of ``(label, total)``, the best first; of equals ``keep``, then the smallest label."""
    totals = totals_of(votes, labels)
    points = {label: score(label, float(total)) for label, total in totals.items()}
    ranked = sorted((-points[label], label != keep, label) for label in totals if points[label] == points[label])
    return [(label, totals[label]) for _, _, label in ranked[:best]]


def winner(votes: Votes, labels: int, score: Callable[[int, Any], float], keep: int | None = None) -> tuple[int, Any]:
    """Return the winning label and its total, ``(EMPTY, 0)`` if nobody votes."""
    found = winners(votes, labels, score, keep, 1)
    return found[0] if found else (EMPTY, Fraction(0))


def cycles(
    active: Iterable[int],
    turn: Callable[[int, int], bool],
    sub_round: Callable[[list[int]], set[int]],
    max_steps: int,
) -> tuple[int, int, bool]:
    """Run ``sub_round`` for those whose turn it is; it returns who is active in the next cycle.

    Returns the numbers of sub-rounds and of vertices computed, and whether nobody was left.
    """
    now, steps, touched = sorted(active), 0, 0
    while now and steps < max_steps:
        waiting, later = now, set[int]()
        while waiting and steps < max_steps:
            mine = [v for v in waiting if turn(v, steps)]
            waiting = [v for v in waiting if not turn(v, steps)]
            later |= sub_round(mine)
            steps, touched = steps + 1, touched + len(mine)
        if waiting:
            return steps, touched, False
        now = sorted(later)
    return steps, touched, not now
