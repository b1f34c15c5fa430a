"""Events that come to a log on CUDA: device arrays of any integers, order, errors, waits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.base.devices import resolve_device
from suricate.errors import CapacityError, LateEventError, VertexRangeError
from suricate.events import number_from
from suricate.testing import measure

pytestmark = [pytest.mark.gpu, pytest.mark.plain]
DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.fixture
def log() -> su.Events:
    return su.Events(100, device="cuda")


def given(log: su.Events, *parts: Any, dtype: str = "int64") -> list[Any]:
    return [log.device.xp.asarray(np.array(part, dtype)) for part in parts]


def ends_of(log: su.Events) -> list[list[int]]:
    return [part.get().tolist() for part in log._record.ends(log._record.first, log._record.next)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_the_device(log: su.Events, dtype: str) -> None:
    rng = np.random.default_rng(1)
    src, dst, time = *rng.integers(0, 100, (2, 700)), np.sort(rng.integers(0, 90, 700))
    assert log.append(*given(log, time), *given(log, src, dst, dtype=dtype)) == range(700)
    assert ends_of(log) == [src.tolist(), dst.tolist()]
    log._index.check(log._record)
    for bad in (100, -1):
        for place in (0, 1):
            ids = np.array([[1, 5], [2, 4]])
            ids[place, 1] = bad
            if bad < 0 and dtype[0] == "u":
                continue
            with pytest.raises(VertexRangeError, match=rf"(src|dst)\[1\] is {bad},"):
                log.append(*given(log, [100, 100]), *given(log, *ids, dtype=dtype))
    assert log._record.next == 700


def test_ids_of_two_dtypes(log: su.Events) -> None:
    src, dst = given(log, [1, 2], dtype="uint8") + given(log, [3, 4], dtype="int32")
    log.append(*given(log, [5, 5]), src, dst)
    log.append([6], [7], [8])  # of the host
    log.append([7], *given(log, [9]), [10])  # of both
    assert ends_of(log) == [[1, 2, 7, 9], [3, 4, 8, 10]]


def test_times_are_put_in_order(log: su.Events) -> None:
    rng = np.random.default_rng(2)
    time, src = rng.integers(-5, 5, 3000), rng.integers(0, 100, 3000)
    log.append(*given(log, time, src, src))
    order = np.argsort(time, kind="stable")
    assert ends_of(log)[0] == src[order].tolist()
    assert log._record.time.get()[:3000].tolist() == time[order].tolist()
    with pytest.raises(LateEventError, match="time 3, before 4"):
        log.append(*given(log, [9, 3], [0, 0], [1, 1]))
    log.append(*given(log, [4], [0], [1]))
    assert len(log) == 3001


def test_appending_and_expiring_wait_once_each(log: su.Events) -> None:
    arrays = given(log, np.arange(50), np.arange(50), np.arange(50))
    log.append(*arrays)
    arrays[0] += 50
    costs = measure(lambda: log.append(*arrays), resolve_device("cuda"))
    assert not costs.waits  # it polls for an answer
    assert costs.kernels == {"launchKernel": 1}
    assert len(log._index.rows.number) >= 100
    costs = measure(lambda: log.expire(30), resolve_device("cuda"))
    assert not costs.waits
    assert costs.kernels == {"launchKernel": 1}  # the number of the time
    costs = measure(lambda: log._index.rows, resolve_device("cuda"))
    assert not costs.waits
    assert costs.kernels == {"launchKernel": 1}


def test_cuts_in_time(log: su.Events) -> None:
    log._record.first = log._record.next = (1 << 32) - 90
    time = np.sort(np.random.default_rng(3).integers(-60, 60, 1000))
    log.append(*given(log, time, time % 100, time % 100))
    assert log.expire(-40) == (time < -40).sum()
    for when in (-(1 << 63), -50, -40, -39, 0, 59, 60, (1 << 63) - 1):
        wanted = (1 << 32) - 90 + np.searchsorted(time, max(when, -40))
        assert number_from(log._record, when, log._taking) == wanted


def test_names_and_columns() -> None:
    log = su.Events(device="cuda", names=True, columns={"fee": "float32", "note": str})
    log.append([1, 2], ["a", "b"], ["b", "c"], {"fee": [0.5, 1.5], "note": ["x", "y"]})
    fees = given(log, [2.5], dtype="float32")[0]
    log.append([3], *given(log, [0], [2]), {"fee": fees})
    assert log.at("fee", [2, 0]).get().tolist() == [2.5, 0.5]
    assert log.at("note", [1, 2]).tolist() == ["y", ""]
    assert log.expire(2) == 1
    assert "a" in log.names
    assert log.expire(3) == 1
    assert "b" not in log.names
    log.check()


def test_a_memory_limit_holds() -> None:
    log = su.Events(10, device="cuda", memory_limit=100_000)
    log.append(*given(log, np.arange(1000), np.arange(1000) % 10, np.arange(1000) % 10))
    log.check()
    with pytest.raises(CapacityError, match="memory_limit is 100000"):
        log.append(*given(log, np.arange(1000, 9000), np.arange(8000) % 10, np.arange(8000) % 10))
    assert sum(log.memory_usage().values()) <= 100_000
    log.append(*given(log, [2000], [1], [2]))
    log.check()
    assert len(log) == 1001
