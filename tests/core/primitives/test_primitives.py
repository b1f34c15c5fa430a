"""The building blocks that backends share, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from suricate.base.devices import Device
from suricate.base.types import MAX_VERTICES, EdgeList
from suricate.primitives import copy_segments, power_class, sort_batch


@pytest.mark.parametrize("num_vertices", [1, 2, 1000, 1 << 20, (1 << 28) + 5, MAX_VERTICES])
@pytest.mark.parametrize("size", [1, 7, 3000])
def test_sort_batch_is_stable(device: Device, num_vertices: int, size: int) -> None:
    """Ids of every width: those that fit one sort word with the index, and those that do not."""
    rng = np.random.default_rng(size)
    ids = rng.integers(0, num_vertices, (2, 40), dtype=np.uint32)
    src, dst = ids[0][rng.integers(0, 40, size)], ids[1][rng.integers(0, 5, size)]
    keys, order = sort_batch(device, device.xp.asarray(src), device.xp.asarray(dst), num_vertices)
    wanted = np.lexsort((np.arange(size), dst, src))
    assert np.array_equal(device.to_numpy(order), wanted)
    assert np.array_equal(device.to_numpy(keys), (src.astype(np.uint64) << np.uint64(32) | dst)[wanted])


@pytest.mark.parametrize("weight_dtype", [None, "float32", "float64"])
def test_copy_segments(device: Device, weight_dtype: str | None) -> None:
    rng, xp = np.random.default_rng(3), device.xp
    lengths = rng.choice([0, 0, 1, 3, 50, 5000], 200)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    total = int(offsets[-1])
    begin = rng.integers(0, 1000, 200)
    old = rng.integers(0, 2**32, 6000, dtype=np.uint32)
    weights = (
        (None, None) if weight_dtype is None else (xp.asarray(old.astype(weight_dtype)), xp.zeros(total, weight_dtype))
    )
    new = EdgeList(xp.zeros(total, np.uint32), xp.zeros(total, np.uint32), weights[1])
    arrays = (xp.asarray(part.astype(np.int64)) for part in (offsets, begin, offsets[:-1]))
    copy_segments(device, *arrays, total + 100, EdgeList(new.src[:0], xp.asarray(old), weights[0]), new)
    wanted = np.concatenate([old[b : b + k] for b, k in zip(begin, lengths, strict=True)])
    assert np.array_equal(device.to_numpy(new.dst), wanted)
    assert np.array_equal(device.to_numpy(new.src), np.repeat(np.arange(200), lengths))
    if weight_dtype is not None:
        assert np.array_equal(device.to_numpy(new.weight), wanted.astype(weight_dtype))


def test_power_class() -> None:
    sizes = np.array([0, 1, 2, 3, 4, 5, 8, 9, 2**31, 2**31 + 1, 2**32], np.int64)
    assert power_class(sizes, np).tolist() == [0, 0, 1, 2, 2, 3, 3, 4, 31, 32, 32]
