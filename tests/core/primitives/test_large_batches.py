"""Batches large enough for the sort by buckets, and for several threads, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from suricate.base.devices import CPU
from suricate.base.types import MAX_VERTICES, NEW, REPLACED, UNCHANGED
from suricate.cpu import threads
from suricate.primitives import cpu, sort_batch, sorting
from suricate.primitives.located import ABSENT, DUPLICATE, PRESENT, LocatedBatch, Report


@pytest.fixture(params=[1, 2, 3], autouse=True)
def count(request, monkeypatch):
    monkeypatch.setattr(threads, "GRAIN", 1000)
    with threads.Limited(request.param):
        yield request.param


def skewed(rng, num_vertices, size):
    return (num_vertices * rng.random(size) ** 4).astype(np.uint32)


@pytest.mark.parametrize("num_vertices", [1, 2, 3, 1000, 1 << 17, 1 << 20, (1 << 26) + 5, MAX_VERTICES])
@pytest.mark.parametrize("size", [sorting.LARGE, 100_003])
def test_sort(num_vertices, size):
    rng = np.random.default_rng(size)
    src, dst = skewed(rng, num_vertices, size), rng.integers(0, min(num_vertices, 3000), size, dtype=np.uint32)
    keys, order = sort_batch(CPU, src, dst, num_vertices)
    wanted = np.lexsort((dst, src))
    assert np.array_equal(order, wanted)
    assert np.array_equal(keys, (src.astype(np.uint64) << np.uint64(32) | dst)[wanted])


def test_what_can_be_sorted_by_buckets():
    assert sorting.can_sort(1 << 15, 20)
    assert sorting.can_sort(1 << 26, 22)
    assert not sorting.can_sort(1 << 15, 32)
    assert not sorting.can_sort((1 << 15) - 1, 20)


def located(rng, size):
    kind = rng.choice([DUPLICATE, DUPLICATE, ABSENT, PRESENT], size).astype(np.uint8)
    kind[2000:4500] = DUPLICATE  # a run that is longer than a part
    kind[-1] = PRESENT
    slot = np.where(kind == DUPLICATE, 10**9, rng.permutation(size))
    order = rng.permutation(size).astype(np.uint32)
    return LocatedBatch(np.zeros(size, np.uint64), order, kind, slot, int((kind == ABSENT).sum()))


def test_answers():
    rng, size = np.random.default_rng(1), 10_000
    batch, weight = located(rng, size), rng.integers(0, 9, size).astype(np.uint32)
    found, result = np.zeros(size, bool), np.zeros(size, np.uint32)
    cpu.answer(batch, weight, found, result)
    at = size - 1
    for i in range(size - 1, -1, -1):
        at = i if batch.kind[i] != DUPLICATE else at
        there = batch.kind[at] == PRESENT
        assert found[batch.order[i]] == there
        assert result[batch.order[i]] == (weight[batch.slot[at]] if there else 0)


@pytest.mark.parametrize("usual", [ABSENT, DUPLICATE])
def test_report_of_an_insertion(usual):
    rng, size = np.random.default_rng(1), 10_000
    batch, held, given = located(rng, size), rng.integers(0, 2, size).astype(np.uint32), np.ones(size, np.uint32)
    if usual == ABSENT:
        batch.kind[batch.kind == DUPLICATE] = ABSENT
        batch.most = int((batch.kind == ABSENT).sum())
    weight, report = held.copy(), Report(np.zeros(size, np.uint8), np.zeros(size, np.uint32))
    cpu.report_insertion(batch, weight, given, report)
    for i in range(size):
        item, kind = batch.order[i], batch.kind[i]
        if kind == PRESENT:
            assert report.before[item] == held[batch.slot[i]]
            assert report.status[item] == (UNCHANGED if held[batch.slot[i]] else REPLACED)
            assert weight[batch.slot[i]] == 1
        else:
            assert report.status[item] == (NEW if kind == ABSENT else UNCHANGED)
