"""The arrays of a store: admitted, grown, copied and counted in one place."""

from __future__ import annotations

import numpy as np
import pytest

from suricate.base.devices import CPU, Device
from suricate.errors import CapacityError
from suricate.store.array_manager import WEIGHT, ArrayManager, Layout

LAYOUT: Layout = {"index": {"begin": np.int64}, "edges": {"dst": np.uint32, "weight": WEIGHT}}


def manager(device: Device = CPU, weight_dtype: str | None = "float64", limit: int | None = None) -> ArrayManager:
    dtype = None if weight_dtype is None else np.dtype(weight_dtype)
    return ArrayManager("mine", device, dtype, limit, LAYOUT)


@pytest.mark.parametrize(
    ("weight_dtype", "bits", "size"), [("float32", "u4", 8), ("float64", "u8", 12), (None, "u1", 4)]
)
def test_weights_are_bit_patterns(device: Device, weight_dtype: str | None, bits: str, size: int) -> None:
    arrays = manager(device, weight_dtype)
    arrays.resize("edges", 10)
    assert arrays["weight"].dtype == bits
    assert len(arrays["weight"]) == (0 if weight_dtype is None else 10)
    assert arrays.entry_bytes("edges") == size
    assert arrays.allocated == 10 * size
    assert arrays.memory({"edges": 7}) == {"index": (0, 0), "edges": (7 * size, 10 * size), "log": (0, 0)}


def test_growth_is_geometric_and_keeps_entries(device: Device) -> None:
    arrays = manager(device)
    arrays.resize("edges", 100, fill=7)
    arrays.grow("edges", 50)
    assert arrays.length("edges") == 100
    arrays.grow("edges", 101)
    assert arrays.length("edges") == 125
    assert device.to_numpy(arrays["dst"][:100]).tolist() == [7] * 100


def test_the_limit_covers_both_copies_while_growing() -> None:
    arrays = manager(limit=12 * 300)
    arrays.resize("edges", 100)
    arrays.grow("edges", 110)  # 125 would fit beside the 100 as well
    assert arrays.length("edges") == 125
    arrays.grow("edges", 170)  # exactly, since 1.25 times as many would still fit: 125 + 170 < 300
    assert arrays.length("edges") == 170
    with pytest.raises(CapacityError, match=r"mine needs 4092 bytes, memory_limit is 3600"):
        arrays.grow("edges", 171)
    assert arrays.length("edges") == 170


def test_too_little_memory_for_headroom_gives_the_exact_length() -> None:
    arrays = manager(limit=12 * 201)
    arrays.resize("edges", 100)
    arrays.grow("edges", 101)
    assert arrays.length("edges") == 101


def test_a_failed_allocation_names_the_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = manager()
    arrays.resize("edges", 10)

    def fail(*args, **kwargs):
        raise MemoryError("no more")

    monkeypatch.setattr(np, "empty", fail)
    with pytest.raises(CapacityError, match="mine: out of memory"):
        arrays.resize("edges", 20)
    assert arrays.length("edges") == 10


def test_copies(device: Device) -> None:
    arrays = manager()
    arrays.resize("index", 5, fill=3)
    arrays.resize("edges", 10, fill=1)
    copy = manager(device)
    copy.copy_from(arrays, {"edges": 4})
    assert device.to_numpy(copy["dst"]).tolist() == [1] * 4
    assert copy.length("index") == 5
    arrays["begin"][:] = 0
    assert device.to_numpy(copy["begin"]).tolist() == [3] * 5
    back = manager()
    back.copy_from(copy, {})
    assert back["begin"].tolist() == [3] * 5
    back["begin"][:] = 9  # an array of its own, that can be written to
    with pytest.raises(CapacityError):
        manager(device, limit=50).copy_from(arrays, {})


def test_memory_is_whole_groups_that_kernels_read_at_once() -> None:
    arrays, copy = (ArrayManager("mine", CPU, None, None, {"marks": {"mark": np.uint8}}) for _ in range(2))
    arrays.resize("marks", 5)
    copy.copy_from(arrays, {})
    for each in (arrays["mark"], copy["mark"]):
        assert len(each) == 5
        assert each.base.nbytes == 16
