"""Bounds of ranges of vertices, which are found from sums by blocks, against sums over all vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from suricate.comm.threads import run
from suricate.placement.ranges import BLOCK, cut, first_bounds

LENGTHS = [0, 1, 2, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7]


def summed(weight: np.ndarray, size: int) -> tuple[list[int], int]:
    """Return the bounds of ranges, and the largest sum of one: each bound is at the nearest sum of the first ones."""
    total = np.concatenate(([0], np.cumsum(weight)))
    wanted = total[-1] * np.arange(1, size) / size
    after = np.searchsorted(total, wanted)
    before = np.maximum(after - 1, 0)
    nearest = np.where(wanted - total[before] <= total[after] - wanted, before, after)
    bounds = [0, *nearest.tolist(), len(weight)]
    return bounds, int(np.diff(total[bounds]).max())


def drawn(rng: np.random.Generator, length: int) -> list[np.ndarray]:
    """Return two arrays of weights: zeros, many, few, or one that is heavier than all others."""
    most, share = [(1, 1), (3, 0.5), (50, 1), (9, 0.001)][rng.integers(4)]
    weights = [(rng.integers(0, most, length) * (rng.random(length) < share)).astype(np.uint32) for _ in range(2)]
    if length and rng.random() < 0.3:
        weights[0][rng.integers(length)] = 1 << 31
    return weights


@pytest.mark.parametrize("length", LENGTHS)
def test_cuts_are_those_of_sums_over_all_vertices(length: int) -> None:
    rng = np.random.default_rng(length)
    for _ in range(40):
        weights, size = drawn(rng, length), int(rng.integers(1, 9))
        both = weights[0].astype(np.int64) + weights[1]
        bounds, heaviest = cut(weights, size)
        assert (bounds.tolist(), heaviest) == summed(both, size)
        if both.any():
            assert first_bounds(length, size, [weights[0], None, weights[1]]).tolist() == bounds.tolist()


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_cut_by_the_weights_of_all(ranks: int) -> None:
    rng = np.random.default_rng(ranks)
    weights = [rng.integers(0, 50, 3 * BLOCK + 7).astype(np.uint32) for _ in range(2)]
    owner = rng.integers(0, ranks, len(weights[0]))

    def job(comm: Any) -> tuple[list[int], int]:
        bounds, heaviest = cut([np.where(owner == comm.rank, one, 0) for one in weights], comm.size, comm)
        return bounds.tolist(), heaviest

    assert run(job, ranks) == [summed(weights[0].astype(np.int64) + weights[1], ranks)] * ranks
