"""The launches that take and sort batches on CUDA, run on the CPU, against NumPy."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from emulated import GXX, EmulatedDevice, EmulatedStructKernel
from emulated_store import unchecked

from suricate.store import sorter

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GXX is None, reason="g++ is not installed")]

# One tile; some; buckets; digits. With 2^32 vertices words have more than 64 bits: tiles, buckets.
CASES = [(50, 3), (300, 1000), (1 << 20, 2500), (1 << 20, 5000), (5, 9000), (1 << 26, 9000), (1 << 32, 2500)]


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Buckets and digits are for smaller batches than on a GPU, and buckets and groups are smaller."""
    monkeypatch.setattr(sorter, "StructKernel", EmulatedStructKernel)
    monkeypatch.setattr(sorter, "MOST_SMALL", 3000)
    monkeypatch.setattr(sorter, "BUCKET", 128)
    monkeypatch.setattr(sorter, "MOST_BUCKETED", 6000)
    monkeypatch.setattr(sorter, "DIGIT_GROUP", 2)
    monkeypatch.setitem(sorter.CONSTANTS, "DIGIT_GROUP", 2)
    programs = sorter.sorting_program, sorter.taking_program
    for program in programs:
        program.cache_clear()
    yield
    for program in programs:
        program.cache_clear()


def skewed(rng: np.random.Generator, num_vertices: int, size: int) -> np.ndarray:
    """Return ids, many of them small."""
    return (num_vertices * rng.random(size) ** 4).astype(np.uint32)


def assert_sorted(keys: np.ndarray, order: np.ndarray, src: np.ndarray, dst: np.ndarray) -> None:
    wanted = np.lexsort((dst, src))
    assert np.array_equal(order, wanted)
    assert np.array_equal(keys, (src.astype(np.uint64) << np.uint64(32) | dst)[wanted])


def test_sorts() -> None:
    rng, device = np.random.default_rng(0), EmulatedDevice()
    sorts = sorter.Sorter(device)
    for num_vertices, size in [*CASES, (1 << 31, 5000)]:
        src, dst = skewed(rng, num_vertices, size), skewed(rng, num_vertices, size)
        assert_sorted(*sorts.sort(device.put(src), device.put(dst), num_vertices), src, dst)


@pytest.mark.parametrize("held", [1 << 12, 3 << 9])
def test_large_buckets(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    """Buckets of more words than usual, and of more than shared memory holds, which are sorted where they lie."""
    monkeypatch.setattr(sorter, "BUCKET", 1700)
    monkeypatch.setattr(sorter, "MOST_BUCKETED", 1 << 16)
    monkeypatch.setitem(sorter.CONSTANTS, "BUCKET_WORDS", held)
    rng, device = np.random.default_rng(2), EmulatedDevice()
    src, dst = skewed(rng, 1 << 20, 52_000), skewed(rng, 1 << 20, 52_000)
    assert_sorted(*sorter.Sorter(device).sort(device.put(src), device.put(dst), 1 << 20), src, dst)


def test_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both arcs of edges are copied and sorted; the host hears whether all are valid."""
    rng, device = np.random.default_rng(1), EmulatedDevice()
    monkeypatch.setitem(sys.modules, "cupy", device.xp)
    takes = sorter.Sorter(device)
    for num_vertices, arcs in CASES[:-1]:
        src, dst = (skewed(rng, num_vertices, arcs // 2) for _ in range(2))
        for valid in (True, False):
            given = src.astype(np.int64)
            given[-1] = src[-1] if valid else num_vertices
            batch, kept = unchecked("insert", given, dst, num_vertices, mirrored=True)
            copies = device.xp.empty((2, batch.size), np.uint32)
            addresses = copies.data.ptr, copies.data.ptr + 4 * batch.size, 0
            keys, order = takes.take(batch, addresses, num_vertices)
            assert int(kept[1][1]) == (1 << 1 | (not valid))
            if valid:
                both = np.append(src, dst), np.append(dst, src)
                assert sorted(zip(*np.asarray(copies), strict=True)) == sorted(zip(*both, strict=True))
                assert_sorted(keys, order, *np.asarray(copies))
