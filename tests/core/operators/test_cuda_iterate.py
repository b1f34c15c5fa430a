"""Recorded launches: what ``iterate`` repeats on CUDA, without a GPU; and on CUDA, when it stops."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from launches import FakeArray, array
from operator_launches import FakeGraph, call_of, launched

import suricate as su
from suricate.cuda import program
from suricate.cuda.program import Program
from suricate.operators import binding
from suricate.operators.call import Start, Until
from suricate.operators.cuda import driver
from suricate.operators.cuda.loops import iterate, recording
from suricate.operators.cuda.loops.recording import PERIOD, Cleared
from suricate.state.frontier import Frontier

KERNEL = Program.kernel


def read(u, v, w, x, y, total):
    return x[u]


def keep(v, value, x, y, total):
    y[v] = value
    total.add(1)
    return True


def above(v, y):
    return y[v] > 3


class FakePinned:
    """Counters that say that four rounds were needed."""

    def __init__(self, *_: Any) -> None:
        self.words, self.address, self.busy = [9], 8, False


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    graph = FakeGraph(su.Graph(100, backend="csr_baseline", device="cpu"))
    graph.kernels = launched(monkeypatch)
    cuda = ModuleType("cupy.cuda")
    cuda.get_allocator = lambda: None
    cuda.using_allocator = contextmanager(lambda _: iter([None]))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setattr(iterate, "PinnedCounters", FakePinned)
    monkeypatch.setattr(FakeArray, "__cuda_array_interface__", {}, raising=False)
    return graph


def test_rounds_are_repeated_with_arrays_exchanged(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = array(100, np.float64), array(100, np.float64)
    total = su.Scalar._of("sum", "int64")
    seen: list[tuple[bool, int]] = []
    call = binding.bind_pull(fake._graph, read, (np.zeros(100), np.zeros(100), total), "sum", None, None, keep)
    call = call._replace(values=(x, y, total))
    check = binding.bind_map(fake._graph, above, (np.zeros(100),))
    check = check._replace(values=(y,))
    total._slots = total._slots.view(FakeArray)
    monkeypatch.setattr(total, "_packed", [SimpleNamespace(turn=turn) for turn in range(3)], raising=False)
    found: list[Frontier] = []

    def pull(graph: Any, call: Any, *rest: Any) -> Frontier:
        packed = recording.current()
        assert packed is None
        assert isinstance(call.function, recording.Guarded)
        seen.append((call.values[0] is x, call.values[2].slots().turn))
        frontier = Frontier._of(fake.device, array(3, np.uint32), array(1, np.uint32), num_vertices=100)
        found.append(frontier)
        return frontier

    reduce = recording.recorded(pull)
    taken: list[Frontier] = []

    def take(graph: Any, call: Any, start: Start) -> None:
        taken.append(start.frontiers[0])
        assert call.values[0] is (y if len(taken) % 2 else x)

    mapped = recording.recorded(take)

    def body() -> None:
        mapped(fake, check, Start((reduce(fake, call),)))

    stops = iter([False, False, False, False, True, True])
    monkeypatch.setattr(iterate._Loop, "_stopped", lambda self, rounds: next(stops))
    assert iterate.iterate(fake.device, body, Until(total, 0.0), 50, ((x, y),)) == 4
    assert [exchanged for exchanged, _ in seen] == [True, False, True, False, True]
    assert [turn for _, turn in seen] == [0, 1, 2, 0, 1]
    assert taken == found
    assert total.turn == 1  # after four rounds, not after the five that were launched
    assert fake.kernels == ["start_rounds", *["end_round"] * 5]  # after an even number the results are in place


def test_kernels_of_a_body_look_at_the_flag(fake: Any) -> None:
    call = call_of(fake, binding.bind_map(fake._graph, above, (np.zeros(100),)))
    record = recording.Recording(array(1, np.uint32), (), Cleared(array(64, np.uint64)))
    for _ in range(2):
        record.call(driver.vertex_map.__wrapped__, (fake, call, Start((Frontier._of_all(fake.device, 100),))))
    record.repeat(exchanged=False)
    assert fake.kernels == ["map_vertices"] * 4
    macros = recording.guarded(call.function).macros
    assert macros["PARAMS"].endswith("const unsigned int* stop_flag")
    assert macros["LOCALS"].startswith("if (*stop_flag) return;")
    assert recording.guarded(call.function) is recording.guarded(call.function)


def test_launches_are_repeated_as_the_calls_would_make_them(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, tuple[Any, ...]]] = []
    monkeypatch.setattr(Program, "kernel", KERNEL)
    monkeypatch.setattr(Program, "_kernels", property(lambda _: {}))
    module = SimpleNamespace(kernel=lambda name: lambda grid, block, given: made.append((name, given)))
    monkeypatch.setattr(program, "_module", lambda _: module)
    x, y = array(100, np.float64), array(100, np.float64)
    total = su.Scalar._of("sum", "int64")
    total._slots = total._slots.view(FakeArray)
    call = binding.bind_pull(fake._graph, read, (np.zeros(100), np.zeros(100), total), "sum", None, None, keep)
    call = call._replace(values=(x, y, total))
    check = binding.bind_map(fake._graph, above, (np.zeros(100),))._replace(values=(y,))
    cleared = Cleared(array(64, np.uint64))
    record = recording.Recording(array(1, np.uint32), ((x, y),), cleared)
    found = record.call(driver.neighbor_reduce.__wrapped__, (fake, call, None, None, "out", "auto"))
    record.call(driver.vertex_map.__wrapped__, (fake, check, Start((found,))))
    turned = [(scalar, before, scalar.turn - before) for scalar, before in record.scalars.values()]
    first, made[:] = list(made), []
    replay = record.replay(turned)
    assert replay is not None
    for number in range(1, 2 * PERIOD):
        replay.launch(number)
        again, made[:] = list(made), []
        record.repeat(exchanged=number % 2 == 1)
        called, made[:] = list(made), []
        assert [name for name, _ in again] == [name for name, _ in called] == [name for name, _ in first]
        for (_, one), (_, other), (_, before) in zip(again, called, first, strict=True):
            moved = (x, y, *total._packed)
            assert [where(part, moved) for part in one] == [where(part, moved) for part in other]
            kept = [(part, old) for part, old in zip(one, before, strict=True) if isinstance(part, FakeArray)]
            assert all(part is old or where(part, moved) is not None for part, old in kept)
    assert cleared.used == 2  # the queue that the pull fills, and that of the map
    record.call(
        driver.vertex_map.__wrapped__,
        (fake, check, Start((Frontier._of(fake.device, array(3, np.uint32), num_vertices=100, distinct=False),))),
    )
    assert record.replay(turned) is None


def where(part: Any, among: tuple[Any, ...]) -> int | None:
    return next((at for at, one in enumerate(among) if one is part), None)


# -- on a GPU ----------------------------------------------------------------------------------------------------------


def halve(v, x, after, left):
    after[v] = x[v] // 2
    left.add(1 if after[v] > 0 else 0)


def halved(v, x, left):
    x[v] = x[v] // 2
    left.add(x[v])


@pytest.mark.gpu
def test_a_loop_ends_on_the_device() -> None:
    import cupy

    graph = su.Graph(1000, device="cuda")
    for start in (1, 2, 3, 1000, 2**40):
        x = cupy.full(1000, start, np.int64)
        left = graph.scalar("sum", "int64")
        rounds = su.iterate(
            lambda x=x, left=left: su.vertex_map(graph, None, halved, args=(x, left)), until=left, max_steps=99
        )
        assert rounds == start.bit_length()
        assert not x.any()
        assert left.read() == 0


@pytest.mark.parametrize("start", [1, 2, 3, 4, 1000, 2**33])
def test_arrays_take_each_others_place(device: su.Device, start: int) -> None:
    graph = su.Graph(1000, device=str(device))
    x, after = device.xp.full(1000, start, np.int64), device.xp.zeros(1000, np.int64)
    left = graph.scalar("sum", "int64")

    def body() -> None:
        su.vertex_map(graph, None, halve, args=(x, after, left))

    rounds = su.iterate(body, until=left, max_steps=99, swap=[(x, after)])
    assert rounds == start.bit_length()
    assert not x.any()
    assert (after == 1).all()


def add_values(v, batch, found, left):
    found[v] = found[v] + batch.get(v, v + 1, 0)
    left.add(1 if v == 0 and found[v] < 50 else 0)


def test_an_edge_set_is_first_looked_up_in_a_body(device: su.Device) -> None:
    """In a new thread, whose kernels that fill tables are made in the body."""
    graph = su.Graph(10, device=str(device))
    found, left = device.xp.zeros(10, np.int64), graph.scalar("sum", "int64")
    batch = graph.edge_set([0, 3], [1, 4], np.array([10, 7]))

    def look_up() -> int:
        return su.iterate(
            lambda: su.vertex_map(graph, None, add_values, args=(batch, found, left)), until=left, max_steps=9
        )

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(look_up).result() == 5
    assert device.to_numpy(found).tolist() == [50, 0, 0, 35, 0, 0, 0, 0, 0, 0]


def count_visits(u, v, w, visits):
    su.atomic.add(visits, v, 1)


def next_round(v, rounds, left):
    rounds[v] += 1
    left.add(1 if rounds[v] < 5 else 0)


def test_hubs_are_split_in_every_round(device: su.Device) -> None:
    n = 6000
    graph = su.Graph(n, backend="csr_baseline", device=str(device))
    graph.insert_edges(np.zeros(n, np.int64), np.arange(n))
    visits, rounds, left = device.xp.zeros(n, np.int64), device.xp.zeros(1, np.int64), graph.scalar("sum", "int64")
    hub = graph.frontier([0])

    def body() -> None:
        su.edge_map(graph, hub, count_visits, args=(visits,))
        su.vertex_map(graph, hub, next_round, args=(rounds, left))

    assert su.iterate(body, until=left, max_steps=99) == 5
    assert (visits == 5).all()


def tally(v, total):
    total.add(5)


def test_operators_with_nothing_to_do_leave_the_neutral_total(device: su.Device) -> None:
    graph = su.Graph(10, device=str(device), in_edges=True)
    total = graph.scalar("sum", "int64")
    for _ in range(4):
        su.vertex_map(graph, None, tally, args=(total,))
        assert total.read() == 50
        su.vertex_map(graph, [], tally, args=(total,))
        assert total.read() == 0
        su.neighbor_reduce(graph, [], lambda u, v, w, total: 1, args=(total,), reduce="sum", over="in")
        assert total.read() == 0


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_the_last_round_is_in_the_first_array(device: su.Device, rounds: int) -> None:
    graph = su.Graph(10, device=str(device))
    x, after = device.xp.full(10, 64, np.int64), device.xp.zeros(10, np.int64)
    left = graph.scalar("sum", "int64")

    def body() -> None:
        su.vertex_map(graph, None, halve, args=(x, after, left))

    assert su.iterate(body, until=left, max_steps=rounds, swap=[(x, after)]) == rounds
    assert (x == 64 >> rounds).all()
    assert (after == 64 >> (rounds - 1)).all()


@pytest.mark.gpu
def test_max_steps_ends_a_loop() -> None:
    import cupy

    graph = su.Graph(10, device="cuda")
    x, left = cupy.full(10, 2**40, np.int64), graph.scalar("sum", "int64")
    body = lambda: su.vertex_map(graph, None, halved, args=(x, left))  # noqa: E731
    assert su.iterate(body, until=left, max_steps=7) == 7
    assert (x == 2**33).all()
    assert left.read() == 10 * 2**33
    assert su.iterate(body, until=(left, 10 * 2**20), max_steps=99) == 13


@pytest.mark.gpu
def test_what_a_body_must_not_do() -> None:
    import cupy

    graph = su.Graph(10, device="cuda")
    x, left = cupy.full(10, 8, np.int64), graph.scalar("sum", "int64")

    def reads() -> None:
        su.vertex_map(graph, None, halved, args=(x, left))
        left.read()

    def allocates() -> None:
        su.vertex_map(graph, None, halved, args=(x, left))
        cupy.zeros(10)

    with pytest.raises(su.errors.RequirementError, match="a value of the device is read in the body of iterate"):
        su.iterate(reads, until=left, max_steps=9)
    with pytest.raises(su.errors.RequirementError, match="the body of iterate makes an array"):
        su.iterate(allocates, until=left, max_steps=9)
    assert left.read() >= 0
