"""Launches by a kernel's address: what the driver is handed, byte for byte, and what kernels then read."""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from launches import array

from suricate.cuda import program as program_module
from suricate.cuda.compiler import LOCAL
from suricate.cuda.kernel import Kernel, PreparedKernel
from suricate.cuda.launch import StructKernel
from suricate.cuda.program import Launch, Program, noting

PAIR = np.dtype([("a", np.int64), ("b", np.uint8)], align=True)


class FakeDriver:
    """A driver that notes launches, with the bytes of every argument."""

    def __init__(self, *sizes: int) -> None:
        self.sizes, self.launches, self.device, self.current = sizes, [], 0, list[tuple[int, int]]()

    def launchKernel(self, address: int, *given: int) -> None:  # noqa: N802
        *shape, shared, stream, parameters, extra = given
        assert (shared, stream, extra) == (0, 77, 0)
        self._note(address, shape, parameters)

    def launchCooperativeKernel(self, address: int, *given: int) -> None:  # noqa: N802
        *shape, shared, stream, parameters = given
        assert (shared, stream) == (0, 77)
        self._note(-address, shape, parameters)

    def _note(self, address: int, shape: list[int], parameters: int) -> None:
        places = (ctypes.c_void_p * len(self.sizes)).from_address(parameters)
        assert all(place % 16 == 0 for place in places)
        parts = [ctypes.string_at(place, size) for place, size in zip(places, self.sizes, strict=True)]
        self.launches.append((address, tuple(shape), parts))


class FakeModule:
    """A module whose kernels have an address that depends on the device."""

    def __init__(self, driver: FakeDriver, address: int, *, cooperative: bool = False) -> None:
        self.driver, self.address, self.cooperative, self.lock = driver, address, cooperative, threading.RLock()
        self.finished, self.is_final, self.compilation = 0, True, SimpleNamespace(use=self.use)
        self.uses = 0

    def use(self) -> None:
        self.uses += 1

    def load(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(ptr=self.address + self.driver.device)

    def finish(self) -> None:
        self.finished += 1

    def kernel(self, name: str) -> Kernel:
        return Kernel(self, name)  # type: ignore[arg-type]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver(8, 1, 16, 4, 8)
    cuda = ModuleType("cupy.cuda")
    cuda.driver, cuda.get_current_stream = fake, lambda: SimpleNamespace(ptr=77)  # type: ignore[attr-defined]
    cuda.runtime = SimpleNamespace(  # type: ignore[attr-defined]
        getDevice=lambda: fake.device, free=lambda at: fake.current.append((threading.get_ident(), fake.device))
    )
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    return fake


def arguments(number: int) -> tuple[Any, ...]:
    pair = np.array((number, number + 1), PAIR)[()]
    return array(3, np.int32), np.uint8(number), pair, np.float32(number), np.uint64(0)


def test_a_launch_has_one_block_at_least(driver: FakeDriver) -> None:
    kernel = FakeModule(driver, 5).kernel("any")
    for _ in range(2):
        kernel((0,), (32,), arguments(1))
    assert [shape for _, shape, _ in driver.launches] == [(1, 1, 1, 32, 1, 1)] * 2


@pytest.mark.parametrize("cooperative", [False, True])
def test_the_driver_gets_the_bytes_of_every_argument(driver: FakeDriver, cooperative: bool) -> None:
    kernel = FakeModule(driver, 5, cooperative=cooperative).kernel("any")
    for number in (1, 7, 9):
        given = arguments(number)
        kernel((3, 2), (64,), given)
        address, shape, parts = driver.launches.pop()
        assert (address, shape) == (-5 if cooperative else 5, (3, 2, 1, 64, 1, 1))
        assert parts == [given[0].data.ptr.to_bytes(8, "little"), *(one.tobytes() for one in given[1:])]


def test_an_array_may_take_the_place_of_a_null_pointer(driver: FakeDriver) -> None:
    kernel, given = FakeModule(driver, 5).kernel("any"), arguments(1)
    other = array(2, np.int64)
    kernel((1,), (1,), given)
    kernel((1,), (1,), (*given[:4], other))
    assert driver.launches[1][2][4] == other.data.ptr.to_bytes(8, "little")


def test_the_context_is_made_current_once_per_thread_and_device(driver: FakeDriver) -> None:
    kernel = FakeModule(driver, 5).kernel("any")
    for _ in range(2):
        kernel((1,), (1,), arguments(1))
    other = threading.Thread(target=kernel, args=((1,), (1,), arguments(2)))
    other.start()
    other.join()
    driver.device = 1
    kernel((1,), (1,), arguments(3))
    assert len(driver.current) == len(set(driver.current)) == 3
    assert [address for address, _, _ in driver.launches] == [5, 5, 5, 6]


def test_launches_take_a_build_that_replaced_another(driver: FakeDriver) -> None:
    module = FakeModule(driver, 5)
    kernel = module.kernel("any")
    prepared = PreparedKernel(kernel, 1, 32, arguments(1))
    for _ in range(2):
        kernel((1,), (32,), arguments(1))
        prepared.launch()
        kernel.replace(0, SimpleNamespace(ptr=8))
    assert [address for address, _, _ in driver.launches] == [5, 5, 8, 8]


def test_launches_of_quick_builds_are_counted_until_the_final_one_is_there(driver: FakeDriver) -> None:
    module = FakeModule(driver, 5)
    module.is_final = False
    kernel, before = module.kernel("any"), LOCAL.quick_launches
    prepared = PreparedKernel(kernel, 1, 32, arguments(1))
    for level, address in enumerate((8, 9)):
        kernel((1,), (32,), arguments(1))
        prepared.launch()
        assert LOCAL.quick_launches - before == module.uses == 2 * (level + 1)
        module.is_final = address == 9
        kernel.replace(0, SimpleNamespace(ptr=address))
    kernel((1,), (32,), arguments(1))
    prepared.launch()
    assert (LOCAL.quick_launches - before, module.uses) == (4, 4)
    assert [address for address, _, _ in driver.launches] == [5, 5, 8, 8, 9, 9]


def test_numbers_of_python_have_64_bits_and_none_is_null(driver: FakeDriver) -> None:
    driver.sizes, kernel = (8, 8, 1, 8), FakeModule(driver, 5).kernel("any")
    for _ in range(2):
        kernel((1,), (1,), (3, 2.5, True, None))
    assert driver.launches[0][2] == [np.int64(3).tobytes(), np.float64(2.5).tobytes(), b"\1", bytes(8)]


@pytest.mark.parametrize("cooperative", [False, True])
def test_a_prepared_launch_finds_what_was_put_last(driver: FakeDriver, cooperative: bool) -> None:
    given = arguments(1)
    prepared = PreparedKernel(FakeModule(driver, 5, cooperative=cooperative).kernel("any"), 12, 256, given)
    prepared.launch()
    other = array(2, np.int64)
    prepared.put(0, other)
    prepared.put(3, np.float32(8))
    prepared.put_struct(2, struct.Struct("=qB7x"), (3, 4))
    prepared.launch()
    first, second = driver.launches
    assert first[:2] == second[:2] == (-5 if cooperative else 5, (12, 1, 1, 256, 1, 1))
    assert first[2] == [given[0].data.ptr.to_bytes(8, "little"), *(one.tobytes() for one in given[1:])]
    expected = [other.data.ptr.to_bytes(8, "little"), given[1].tobytes(), struct.pack("=qB7x", 3, 4)]
    assert second[2] == [*expected, np.float32(8).tobytes(), given[4].tobytes()]
    assert len(driver.current) == 1, "the first launch of a thread makes the context current"


def test_kernels_first_made_while_launches_are_noted_are_like_others(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.sizes = (4,)
    module = FakeModule(driver, 5)
    monkeypatch.setattr(program_module, "_module", lambda _: module)
    program, notes, given = Program(Path("none.cu")), list[Launch](), (np.float32(3),)
    with noting(notes):
        plain = program.kernel("plain")
        plain((1,), (32,), given)
        kept = StructKernel(program, "kept", 4), PreparedKernel(program.kernel("prepared"), 2, 32, given)
    kept[0].buffer[:] = given[0].tobytes()
    kept[0].launch(2, 32)
    kept[1].launch()
    assert driver.launches[1:] == [(5, (2, 1, 1, 32, 1, 1), [given[0].tobytes()])] * 2
    assert module.finished == 1, "the address that is kept is that of the final build"
    plain((1,), (32,), given)
    assert [(note.name, note.given) for note in notes] == [("plain", ((1,), (32,), given))]


@pytest.mark.gpu
def test_kernels_read_what_is_passed(tmp_path: Path) -> None:
    import cupy

    (tmp_path / "read.cu").write_text(
        "struct Pair { long long a; unsigned char b; };\n"
        'extern "C" __global__ void read(double* out, unsigned char x, Pair pair, float y, const int* nothing) {\n'
        "    out[0] = x; out[1] = pair.a; out[2] = pair.b; out[3] = y; out[4] = nothing ? nothing[0] : -1;\n"
        "}\n"
    )
    kernel, out = Program(tmp_path / "read.cu").kernel("read"), cupy.zeros(5)
    for number in (1, 2, 3):
        rest = arguments(number)[1:4]
        last: Any = cupy.full(1, 10 * number, np.int32) if number > 1 else np.uint64(0)
        kernel((1,), (1,), (out, *rest, last))
        assert out.tolist() == [number, number, number + 1, number, 10 * number if number > 1 else -1]
