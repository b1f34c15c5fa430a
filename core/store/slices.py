"""Batches by slices: if memory does not suffice for a batch at once, it may suffice for one part after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import EdgeList, Outcome, edge_keys
from suricate.intake.arrays import bits

Places = Any  # an array of places, or the slice of all
FACTOR, SHIFTS = np.uint64(0x9E3779B97F4A7C15), (np.uint64(29), np.uint64(32))  # which mix the bits of both ends


def slices_of(edges: EdgeList, number: int, xp: Any) -> Iterator[Places]:
    """Divide edges into ``number`` slices; yield the positions of the edges of each. ``xp`` is NumPy or CuPy.

    Slices have about the same size, and equal edges are in the same one. Within a slice edges keep their order, so that
    the last duplicate still wins.
    """
    if number == 1:
        yield slice(None)
        return
    mixed: Array = edge_keys(edges.src, edges.dst) * FACTOR
    of_edge = ((mixed ^ (mixed >> SHIFTS[0])) >> SHIFTS[1]) % np.uint64(number)
    for each in range(number):
        yield xp.flatnonzero(of_edge == each)


def joined_outcomes(size: int, done: Sequence[tuple[Places, Outcome]], xp: Any) -> Outcome:
    """Return the outcome of a batch from ``done``: positions of edges and outcome per slice."""
    if len(done) == 1:
        return done[0][1]
    status, first = xp.zeros(size, np.uint8), done[0][1].weight
    weight = None if first is None else xp.zeros(size, first.dtype)
    for at, outcome in done:
        status[at] = outcome.status
        if weight is not None and outcome.weight is not None:
            bits(weight)[at] = bits(outcome.weight)
    return Outcome(status, weight)
