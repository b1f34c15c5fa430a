"""Operators over the events of a stretch of time, against loops over a list of them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from test_log import NUMBERS, OVER, starting_at

import suricate as su
from suricate import errors
from suricate.base.devices import Device

N = 9
STRETCHES = (None, None), (4, 9), (None, 7), (6, None), (8, 3), (40, 50)
KINDS = [*((over, True) for over in OVER), ("both", False)]
Event = tuple[int, int, int, int, float]


class Case:
    """A log with a hub, self-loops, equal times, and removed and expired events, and its live events as a list."""

    def __init__(self, device: Device, over: str, *, directed: bool = True, first: int = 0) -> None:
        self.xp, self.over = device.xp, over
        options = {"directed": directed} if not directed else {"over": over}
        self.log = starting_at(first, N, device=device, columns={"fee": "float64", "note": str}, **options)
        rng = np.random.default_rng(first % 11)
        time, src, dst = np.sort(rng.integers(0, 13, 90)), *rng.integers(0, N - 1, (2, 90))
        src[:20], dst[20:30] = 3, src[20:30]
        fee = rng.integers(0, 9, 90) / 2
        numbers = self.log.append(time, src, dst, {"fee": fee})
        self.log.expire(2)
        gone = [int(numbers[k]) for k in (40, 41, 77)]
        self.log.remove(gone)
        rows = zip(numbers, time.tolist(), src.tolist(), dst.tolist(), fee.tolist(), strict=True)
        self.events: list[Event] = [row for row in rows if row[1] >= 2 and row[0] not in gone]

    def arcs(self, start: int | None, end: int | None) -> list[Event]:
        """The arcs of a stretch, as operators see them: (number, time, u, v, fee), u the owner of the row."""
        inside = [e for e in self.events if (start is None or e[1] >= start) and (end is None or e[1] < end)]
        turned = [(n, t, v, u, fee) for n, t, u, v, fee in inside]
        if self.over != "both":
            return inside if self.over == "out" else turned
        return inside + [arc for arc in turned if arc[2] != arc[3]]

    def host(self, array: Any) -> list:
        return self.log.device.to_numpy(array).tolist()


@pytest.fixture(params=KINDS, ids=["in", "out", "both", "undirected"])
def case(request: pytest.FixtureRequest, device: Device) -> Case:
    over, directed = request.param
    return Case(device, over, directed=directed)


def test_pulls(case: Case) -> None:
    """The receiver owns the row; ``fn`` sees the event as it is stored, or the neighbour first."""
    for start, end in STRETCHES:
        arcs, view = case.arcs(start, end), case.log.between(start, end)
        newest, paid = [-1] * N, [0.0] * N
        for number, time, owner, other, fee in arcs:
            newest[owner] = max(newest[owner], number)
            paid[owner] += fee * time + 10 * other
        of_row = case.over == "out"  # u receives

        def last(u, v, event, time):
            return event

        def sum_out(u, v, event, fee, time):
            return fee[event] * time[event] + 10 * v

        def sum_in(u, v, event, fee, time):
            return fee[event] * time[event] + 10 * u

        found = su.neighbor_reduce(view, None, last, args=("time",), reduce="max", over=case.over)
        assert [max(number, -1) for number in case.host(found)] == newest
        total = su.neighbor_reduce(
            view, None, sum_out if of_row else sum_in, args=("fee", "time"), reduce="sum", over=case.over
        )
        assert case.host(total) == paid
        some = su.neighbor_reduce(view, [3, 0], last, args=("time",), reduce="max", over=case.over)
        assert [max(number, -1) for number in case.host(some)] == [newest[3], newest[0]]


@pytest.mark.parametrize("first", NUMBERS)
def test_pushes_and_edge_maps(first: int, case: Case) -> None:
    case = Case(case.log.device, case.over, directed=case.log.directed, first=first)
    for start, end in STRETCHES:
        arcs, view = case.arcs(start, end), case.log.between(start, end)
        got, fees = [0] * N, [0.0] * N
        for number, _, owner, other, fee in arcs:
            if owner in (1, 3):
                got[other] += number
            fees[other] += fee
        out = case.xp.zeros(N, np.int64)
        changed = su.advance(view, [1, 3], lambda u, v, event: event, out=out, reduce="sum", over=case.over)
        assert case.host(out) == got
        assert set(case.host(changed.vertices)) == {v for v in range(N) if got[v]}

        def pay(u, v, event, fee, into):
            su.atomic.add(into, v, fee[event])

        into = case.xp.zeros(N)
        su.edge_map(view, None, pay, args=("fee", into), over=case.over)
        assert case.host(into) == fees


def test_propagation_is_earliest_arrival(case: Case) -> None:
    """Label correcting over events equals one pass in order of time, where no two events of a path are at once."""
    case.log.expire(40)
    rng, now = np.random.default_rng(4), 50
    time, src, dst = now + np.arange(60), *rng.integers(0, N, (2, 60))
    case.log.append(time, src, dst)
    arrival = [99_999] * N
    arrival[2] = now
    for t, u, v in zip(time.tolist(), src.tolist(), dst.tolist(), strict=True):
        ways = [(u, v)] if case.over == "out" else [(v, u)] if case.over == "in" else [(u, v), (v, u)]
        offers = [(b, t + 1) for a, b in ways if arrival[a] <= t]
        for b, at in offers:
            arrival[b] = min(arrival[b], at)
    out = case.xp.full(N, 99_999, np.int64)
    out[2] = now

    def later(u, v, event, out, time):
        return time[event] + 1 if out[u] <= time[event] else 99_999

    view = case.log.between(now, None)
    su.propagate(view, [2], later, out=out, args=(out, "time"), reduce="min", over=case.over)
    assert case.host(out) == arrival


def test_pulls_in_rounds_walk_the_rows_that_there_are(case: Case) -> None:
    """Each vertex takes the lowest id from which events lead to it, whoever owns their rows."""
    arcs, least = case.arcs(4, 9), list(range(N))
    for _ in range(N):
        for _, _, owner, other, _ in arcs:
            least[owner] = min(least[owner], least[other])
    label, after = case.xp.arange(N), case.xp.empty(N, np.int64)
    view, of_row = case.log.between(4, 9), case.over == "out"
    fell = view.scalar("sum", np.int64)

    def offer_out(u, v, event, label, *_):
        return label[v]

    def offer_in(u, v, event, label, *_):
        return label[u]

    def keep(v, value, label, after, fell):
        after[v] = min(value, label[v])
        fell.add(label[v] - after[v])
        return 1

    su.converge(
        view, None, offer_out if of_row else offer_in, args=(label, after, fell), reduce="min", over=case.over,
        then=keep, wake=None, stop=su.Stop(until=fell), swap=[(label, after)],
    )  # fmt: skip
    assert case.host(label) == least


def test_ends_are_columns(case: Case) -> None:
    """Rows of events in both directions, told apart by ``"src"``, and counted by destination."""

    def leads(u, v, event, src, dst, into):
        if src[event] == u:
            su.atomic.add(into, dst[event], 1)

    into, right = case.xp.zeros(N, np.int64), [0] * N
    su.edge_map(case.log.between(4, 9), None, leads, args=("src", "dst", into), over=case.over)
    for _, time, src, dst, _ in case.events:
        right[dst] += 4 <= time < 9 and (case.over != "in" or src == dst)
    assert case.host(into) == right


def test_arcs_are_listed_with_numbers(case: Case) -> None:
    for start, end in STRETCHES:
        view, found = case.log.between(start, end), []
        for number, _, owner, other, _ in case.arcs(start, end):
            found.append((other, owner, number) if case.over == "in" else (owner, other, number))
        assert sorted(zip(*map(case.host, su.arcs(view)), strict=True)) == sorted(found)
        once = [arc for arc in found if case.over != "both" or arc[0] <= arc[1]]
        assert sorted(zip(*map(case.host, view.edges()), strict=True)) == sorted(once)


@pytest.mark.parametrize("over", ["in", "out"])
def test_a_direction_that_is_not_kept_is_named(over: str, device: Device) -> None:
    other, view = {"in": "out", "out": "in"}[over], Case(device, over).log.between()
    out = device.xp.zeros(N, np.int64)
    for way in (other, "both"):
        with pytest.raises(errors.RequirementError, match=f"over='{way}'"):
            su.advance(view, [1], lambda u, v, event: event, out=out, reduce="max", over=way)
        with pytest.raises(errors.RequirementError, match=f"over='{way}'"):
            su.neighbor_reduce(view, None, lambda u, v, event: event, reduce="max", over=way)
    assert not out.any()


def test_rows_of_both_ends_tell_no_direction(device: Device) -> None:
    view, out = Case(device, "both").log.between(), device.xp.zeros(N, np.int64)
    for way in ("in", "out"):
        with pytest.raises(errors.RequirementError, match="over='both'"):
            su.propagate(view, [1], lambda u, v, event: event, out=out, reduce="max", over=way)


def test_a_view_of_a_log_that_has_changed(device: Device) -> None:
    case = Case(device, "in")

    def last(view: Any) -> Any:
        return su.neighbor_reduce(
            view, None, lambda u, v, event, time: time[event], args=("time",), reduce="max", over="in"
        )

    for change in (
        lambda: case.log.append([20], [0], [1]), lambda: case.log.expire(3), lambda: case.log.remove([case.log.first]),
        case.log.insert_vertices,
    ):  # fmt: skip
        view, other = case.log.between(), copy.copy(case.log).between()
        before = case.host(last(view))
        change()
        with pytest.raises(errors.RequirementError, match="has changed"):
            last(view)
        assert case.host(last(other)) == before


def test_a_view_of_all_events_takes_no_memory(device: Device) -> None:
    log = su.Events(100, device=device)
    log.append([1, 2, 3], [0, 1, 2], [1, 2, 0])
    assert su.neighbor_reduce(log.between(), None, lambda u, v, event: 1, reduce="sum", over="in").sum() == 3
    log._limit = sum(log.memory_usage().values())
    for limits in ((), (1,), (1, 4)):
        assert log.between(*limits).arcs().weight.tolist() == [2, 0, 1]
    with pytest.raises(errors.CapacityError, match="memory_limit"):
        log.between(2)


def test_what_views_refuse(device: Device) -> None:
    case = Case(device, "in")
    view, out = case.log.between(), device.xp.zeros(N, np.int64)
    for call, error, rule in (
        (lambda: view.compute("bfs", source=0), errors.RequirementError, "algorithms take a graph"),
        (lambda: view.track("wcc"), errors.RequirementError, "algorithms take a graph"),
        (lambda: view.insert_edges([0], [1], [1]), errors.RequirementError, "cannot be changed"),
        (view.insert_vertices, errors.RequirementError, "cannot be changed"),
        (lambda: su.intersect(Case(device, "out").log.between()), errors.RequirementError, "repeat neighbours"),
        (lambda: su.contract(view, np.zeros(N, np.uint32)), errors.RequirementError, "repeat neighbours"),
        (lambda: su.wedges(view, None, lambda u, v, x: 1, best=1), errors.RequirementError, "repeat neighbours"),
        (lambda: su.sample(view, [0], [2]), errors.RequirementError, r"log\.sample draws events"),
        (lambda: case.log.between(1.5), errors.ParameterError, "start"),
        (lambda: case.log.between(end="now"), errors.ParameterError, "end"),
    ):  # fmt: skip
        with pytest.raises(error, match=rule):
            call()

    def stores(u, v, event, fee):
        su.atomic.add(fee, event, 1.0)

    pull = {"reduce": "max", "over": "in"}
    for fn, args, error, rule in (
        (lambda u, v, w: w, (), errors.EdgeFunctionError, "call parameter 3 event"),
        (lambda u, v, event, x: x[event], ("tips",), errors.UnknownNameError, "it has: time, src, dst, fee, note"),
        (lambda u, v, event, x: x[event], ("note",), errors.ParameterError, "has texts"),
        (su.EdgeFunction(cuda="1", numba=lambda u, v, w: 1, result="int64"), (), errors.EdgeFunctionError, "no events"),
    ):
        with pytest.raises(error, match=rule):
            su.neighbor_reduce(view, None, fn, args=args, **pull)
    with pytest.raises(errors.EdgeFunctionError, match="only reads"):
        su.edge_map(view, None, stores, args=("fee",), over="in")
    assert not out.any()


def test_degrees_count_events(device: Device) -> None:
    case = Case(device, "in")
    view, counts = case.log.between(4, 9), [0] * N
    for _, _, owner, _, _ in case.arcs(4, 9):
        counts[owner] += 1
    assert case.host(view.degrees("in")) == counts
