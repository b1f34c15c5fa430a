"""Arrays by row of which a store keeps some rows: ranges, contents, and the memory that they really take."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suricate.base.devices import CPU, Device
from suricate.cuda import mapped
from suricate.errors import DeviceError
from suricate.store import own_rows
from suricate.store.own_rows import ALL, Rows, joined, without

ON_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="addresses are reserved on Linux")
PAGE = 1 << 12


def ranges(*pairs: tuple[int, int]) -> np.ndarray:
    return np.array(pairs, np.int64).reshape(-1, 2)


def members(parts: np.ndarray) -> set[int]:
    return {at for begin, end in parts.tolist() for at in range(begin, end)}


@pytest.mark.parametrize("seed", range(30))
def test_ranges_are_those_of_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    begin, length = rng.integers(0, 30, (2, 5)), rng.integers(0, 6, (2, 5))
    pairs = zip(begin, begin + length, strict=True)
    one, other = (joined(np.stack(pair, axis=1)[rng.integers(0, 6) :]) for pair in pairs)
    for parts in (one, other):
        assert (parts[:, 0] < parts[:, 1]).all()
        assert (parts[1:, 0] > parts[:-1, 1]).all()  # in order, and none touches the next
    assert members(without(one, other)) == members(one) - members(other)
    both = joined(np.concatenate((one, other)))
    assert members(both) == members(one) | members(other)
    rows, found = Rows(CPU, one), np.zeros(30, np.uint8)
    assert rows.picked(np.arange(30)).tolist() == sorted(members(one) & {*range(30)})
    rows.put(np.ones(30, np.uint8), found)
    assert {*np.flatnonzero(found).tolist()} == members(one) & {*range(30)}
    assert {at for begin, end in rows.within(3, 20) for at in range(begin, end)} == members(one) & {*range(3, 20)}


def resident(array: np.ndarray) -> int:
    """Return the bytes of main memory behind ``array``, as the system has them."""
    begin, found, inside = array.ctypes.data, 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.split()
        if "-" in head[0] and not head[0].endswith(":"):
            low, high = (int(part, 16) for part in head[0].split("-"))
            inside = low < begin + array.nbytes and begin < high
        elif inside and head[0] == "Rss:":
            found += 1024 * int(head[1])
    return found


@ON_LINUX
def test_rows_that_are_not_kept_take_no_memory() -> None:
    n, step = 1 << 24, 1 << 22
    rows = Rows(CPU, ranges((0, step), (3 * step, n)))
    array = rows.zeros(n, np.uint32, 2)
    assert len(array) == 2 * n
    assert rows.bytes_of(n, 8) == array.nbytes // 2
    assert array.nbytes // 2 <= resident(array) < array.nbytes * 0.6
    array[2 * step - 1], array[-1] = 7, 9
    assert not array[2 * step : 6 * step].any()  # to read takes no memory
    assert resident(array) < array.nbytes * 0.6
    rows.keep(ranges((step // 2, step)), (array, 2))
    assert rows.bytes_of(n, 8) == array.nbytes // 8
    assert resident(array) < array.nbytes * 0.2
    assert array[2 * step - 1] == 7
    assert array[-1] == 0
    longer = rows.zeros(2 * n, np.uint32, 2)
    rows.copy(array, longer, 2)
    assert longer[2 * step - 1] == 7
    del array
    assert resident(longer) < longer.nbytes * 0.15


@ON_LINUX
def test_blocks_that_kept_rows_share_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the ends of ranges lie in blocks with others."""
    monkeypatch.setattr(own_rows, "BLOCK", PAGE)
    row, n = 8, 10 * PAGE
    rows = Rows(CPU, ranges((5, 7), (PAGE // row - 1, PAGE // row + 1), (n - 1, n)))
    array = rows.zeros(n, np.uint64)
    array[:] = np.arange(n)
    rows.keep(rows.kept, (array, 1))
    assert array[: 2 * PAGE // row].tolist() == [*range(2 * PAGE // row)]
    assert not array[2 * PAGE // row : -PAGE // row].any()
    assert array[-PAGE // row :].tolist() == [*range(n - PAGE // row, n)]
    assert rows.bytes_of(n, row) == 3 * PAGE


def test_small_arrays_and_those_with_all_rows_count_whole() -> None:
    rows = Rows(CPU, ranges((0, 1)))
    assert rows.bytes_of(1000, 8) == 8000
    assert (rows.zeros(1000, np.uint16) == 0).all()
    every = Rows(CPU, None)
    assert every.is_all
    assert every.kept is ALL
    assert every.bytes_of(1 << 20, 8) == 8 << 20
    assert every.within(0, 5) == [(0, 5)]


class Driver:
    """Memory of a device of ``most`` blocks, by the driver's functions; refuses what the driver would refuse."""

    def __init__(self, most: int) -> None:
        self.most, self.made, self.named, self.at, self.open = most, 0, dict[int, int](), dict[int, int](), set[int]()
        self.freed, self.reserved, self.free = list[int](), 0, mapped.LEFT + 9 * PAGE

    @property
    def blocks(self) -> int:
        """Blocks of memory that are taken: those with a name, or mapped."""
        return len({*self.named, *self.at.values()})

    def cuMemAddressReserve(self, place: Any, size: Any, *_: Any) -> int:  # noqa: N802
        self.reserved += 1
        place._obj.value = self.reserved << 30
        return 0

    def cuMemCreate(self, handle: Any, *_: Any) -> int:  # noqa: N802
        if self.blocks == self.most:
            return mapped.OUT_OF_MEMORY
        self.made += 1
        handle._obj.value = self.made
        self.named[self.made] = 1
        return 0

    def cuMemRelease(self, handle: Any) -> int:  # noqa: N802
        return 1 if self.named.pop(handle.value, None) is None else 0

    def cuMemMap(self, place: Any, size: Any, offset: Any, handle: Any, flags: Any) -> int:  # noqa: N802
        if place.value in self.at or handle.value not in self.named:
            return 1
        self.at[place.value] = handle.value
        return 0

    def cuMemUnmap(self, place: Any, size: Any) -> int:  # noqa: N802
        self.open.discard(place.value)
        return 1 if self.at.pop(place.value, None) is None else 0

    def cuMemSetAccess(self, place: Any, size: Any, access: Any, count: Any) -> int:  # noqa: N802
        self.open |= {at for at in self.at if place.value <= at < place.value + size.value}
        return 0

    def cuMemAddressFree(self, place: Any, size: Any) -> int:  # noqa: N802
        self.freed.append(size.value)
        return any(place.value <= at < place.value + size.value for at in self.at)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    found = Driver(5)
    monkeypatch.setattr(mapped, "driver", lambda: found)
    return found


def device(driver: Driver) -> Any:
    """A device whose memory is set to zero only where blocks are open."""

    def memset(at: int, *_: Any) -> None:
        assert at in driver.open

    runtime = SimpleNamespace(
        deviceSynchronize=lambda: None, memset=memset, memGetInfo=lambda: (driver.free, 9 * PAGE + 7)
    )
    pool = SimpleNamespace(free_all_blocks=lambda: None)
    xp = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime), get_default_memory_pool=lambda: pool)
    return SimpleNamespace(index=0, xp=xp, current=nullcontext, synchronize=lambda: None)


def test_blocks_of_a_device_get_memory_and_give_it_back(driver: Driver) -> None:
    mapping = mapped.Mapping(device(driver), 9 * PAGE - 5, PAGE, ranges())
    places = [mapping.address + at * PAGE for at in range(9)]
    assert driver.blocks == 1  # the zeros that all show
    assert driver.open == {*places}
    mapping.keep(ranges((0, PAGE), (4 * PAGE, 6 * PAGE)))
    assert driver.blocks == 4
    own = {at: driver.at[at] for at in (places[0], places[4], places[5])}
    assert len({*own.values()}) == 3
    assert {driver.at[at] for at in places if at not in own} == {driver.at[places[1]]}
    assert driver.open == {*places}
    mapping.keep(ranges((5 * PAGE, 7 * PAGE)))
    assert driver.blocks == 3
    assert driver.at[places[5]] == own[places[5]]  # it stays what it was
    assert driver.at[places[0]] == driver.at[places[1]]
    before = dict(driver.at)
    with pytest.raises(MemoryError):
        mapping.keep(ranges((0, 5 * PAGE)))
    assert driver.at == before
    assert driver.blocks == 3
    with pytest.raises(DeviceError, match="cuMemUnmap: error 1"):
        mapped._call("cuMemUnmap", 3, 0)
    with pytest.raises(MemoryError):
        mapped.Mapping(device(driver), 9 * PAGE, PAGE, ranges((0, 4 * PAGE)))
    assert driver.blocks == 3
    assert driver.freed.pop() == 9 * PAGE
    del mapping
    assert not driver.at
    assert driver.blocks == 0
    assert driver.freed == [9 * PAGE]


def test_addresses_of_a_device_get_memory_piece_by_piece(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "least_block", lambda _: PAGE)
    growing = mapped.Growing(device(driver))
    assert growing.size == 9 * PAGE
    for size, pieces in ((1, {0: PAGE}), (PAGE, {0: PAGE}), (3 * PAGE - 5, {0: PAGE, PAGE: 2 * PAGE})):
        growing.lengthen(size)
        assert growing.pieces == pieces
        assert {at - growing.address for at in driver.at} == {at - growing.address for at in driver.open} == {*pieces}
    assert mapped.GROWING[growing.address] is growing
    driver.most = 2
    with pytest.raises(MemoryError, match="cuMemCreate"):
        growing.lengthen(4 * PAGE)
    driver.most, driver.free = 5, mapped.LEFT + PAGE - 1
    with pytest.raises(MemoryError, match="the device has"):
        growing.lengthen(4 * PAGE)
    growing.lengthen(3 * PAGE)
    assert growing.pieces == pieces
    del growing
    assert not driver.at
    assert driver.blocks == 0
    assert driver.freed == [9 * PAGE]
    assert not mapped.GROWING


@pytest.mark.gpu
def test_rows_that_are_not_kept_take_no_memory_on_cuda() -> None:
    place = Device("cuda")
    xp, n, step = place.xp, 1 << 24, 1 << 22

    def taken() -> int:
        xp.get_default_memory_pool().free_all_blocks()
        free, total = xp.cuda.runtime.memGetInfo()
        return total - free

    if os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1") != "1":
        pytest.skip("other processes take memory of the device at the same time")
    if not own_rows.maps_blocks(place):
        pytest.skip("the driver maps no blocks")
    rows = Rows(place, ranges((0, step), (3 * step, n)))
    before = taken()
    array = rows.zeros(n, np.uint32, 2)
    assert rows.bytes_of(n, 8) == 64 << 20
    assert 64 << 20 <= taken() - before < 96 << 20
    array[2 * step - 1], array[-1] = 7, 9
    assert not array[2 * step : 6 * step].any()
    assert int(array.sum()) == 16
    rows.keep(ranges((step // 2, step)), (array, 2))
    assert taken() - before < 32 << 20
    assert int(array.sum()) == 7  # over mapped blocks of both kinds
    rows.keep(ranges((step // 2, n)), (array, 2))
    array[2 * step :] = 1
    assert int(array.sum()) == 7 + 2 * (n - step)
    longer = rows.zeros(2 * n, np.uint32, 2)
    rows.copy(array, longer, 2)
    assert int(longer.sum()) == 7 + 2 * (n - step)
    del array, longer
    assert taken() - before < 8 << 20
