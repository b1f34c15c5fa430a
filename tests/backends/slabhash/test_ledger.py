"""The ledger without arrays: counters, worst cases, reservations, and what it does when slabs run short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from suricate.backends.slabhash import ledger as numbers
from suricate.backends.slabhash.layout import BUMP, DENIED, FREED, LISTED, NUM_COUNTERS, TAKEN, TOUCHED
from suricate.backends.slabhash.ledger import Arrived, Ledger

KEYS = 10
WARPS = 100


def counters(**given: int) -> list[int]:
    """The counters of a device."""
    places = {"bump": BUMP, "listed": LISTED, "taken": TAKEN, "freed": FREED, "denied": DENIED, "touched": TOUCHED}
    result = [0] * NUM_COUNTERS
    for name, value in given.items():
        result[places[name]] = value
    return result


def ledger(
    capacity: int = 10_000, *, vertices: int = 100, warps: int = WARPS, hashing: bool = True, **given: int
) -> Any:
    """A ledger of ``capacity`` slabs that has read these counters."""
    result = Ledger(KEYS, vertices, hashing=hashing, warps=warps)
    result.record(counters(**given), capacity)
    return result


class Script:
    """Does what a ledger asks for on numbers, as scripted, and notes what it was."""

    def __init__(self, books: Ledger, **answers: Callable[..., Any]) -> None:
        self.books, self.answers, self.taken = books, answers, []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def act(*args: Any, **named: Any) -> Any:
            self.taken.append(name)
            return self.answers.get(name, lambda *args, **named: None)(self.books, *args, **named)

        return act


def grows(books: Ledger, least: int, wanted: int, *, optional: bool) -> bool:
    """Grow the pool until ``wanted`` slabs are free."""
    books.grown(books.capacity + wanted - books.free)
    return True


def test_counters_are_understood() -> None:
    books = ledger(1000, bump=600, listed=50, taken=20, freed=70, denied=5, touched=9)
    assert (books.free, books.used, books.denied) == (1000 - 600 + 30, 600 - 30 - 70, 5)
    assert (books.space, books.listed, books.freed, books.touched) == (400, 30, 70, 9)
    assert ledger(1000, bump=600, listed=50, taken=80).free == 400  # more were asked for than the list had


def test_worst_case_is_a_slab_per_edge_or_per_chain() -> None:
    books = ledger(1000, bump=200, vertices=100)
    assert books.worst_case(7) == 7
    assert books.worst_case(100_000) == 200 + 100 + 10_000


def test_demands_are_met_or_none() -> None:
    books = ledger(10_000, bump=1000)
    demand = books.demand(500)
    assert demand.need == 500
    assert demand.need + demand.quota <= demand.least <= demand.ample <= books.free
    assert ledger(10_000, bump=1000, denied=1).demand(500) is None  # rehashing needs more than it had
    assert ledger(10_000, bump=9_900).demand(500) is None
    assert ledger(10_000, bump=1).demand(500) is None  # larger than all storage: to be sized for


def test_the_usual_demand_of_a_size_is_worked_out_once() -> None:
    books = ledger(100_000, bump=1000)
    usual = books.usual_demand(50)
    assert books.usual_demand(50) is usual
    books.reserve(usual)
    assert books.usual_demand(50) is usual
    for change in (lambda: books.grown(200_000), lambda: books.promise(1000), lambda: books.rebuilt(200_000, 5000, 1)):
        before = books.usual_demand(50)
        change()
        assert books.usual_demand(50) is not before


def test_reservations_are_taken_from_what_is_free_until_counters_arrive() -> None:
    books = ledger(100_000, bump=1000)
    first, second = (books.reserve(books.demand(50)) for _ in range(2))
    assert books.free == 99_000 - first.slabs - second.slabs
    assert (books.pending, books.behind) == (first.slabs + second.slabs, 2)
    books.take_over(Arrived(first.ticket, 98_990, 1010, 0))
    assert (books.free, books.pending, books.behind) == (98_990 - second.slabs, second.slabs, 0)
    books.take_over(Arrived(first.ticket, 5, 5, 5))  # nothing new
    books.take_over(None)
    assert books.free == 98_990 - second.slabs
    books.take_over(Arrived(second.ticket, 98_980, 1020, 3))
    assert (books.free, books.pending, books.denied) == (98_980, 0, 3)


def test_tickets_wrap_around() -> None:
    books = ledger(100_000, bump=1000)
    books._issued = books._seen = 2**32 - 3
    reservation = books.reserve(books.demand(50))
    assert reservation.ticket == reservation.slabs - 3
    assert books.pending == reservation.slabs
    books.take_over(Arrived(reservation.ticket, 90_000, 1, 0))
    assert (books.pending, books.free) == (0, 90_000)


def test_an_empty_demand_has_a_ticket_of_its_own() -> None:
    books = ledger(1000, bump=500, hashing=False)
    demand = numbers.Demand(5, 0, 0, 0, 0, 0)
    assert books.reserve(demand).ticket != books.reserve(demand).ticket


@pytest.mark.parametrize(("edges", "capacity", "in_advance", "ahead"), [
    (50, 10_000, 50 // KEYS + 1, 1),  # small for the pool: a slab per lane
    (500, 10_000, 0, 0),
    (numbers.CHUNK_FROM, 10**9, numbers.MAX_UNUSED_PER_WARP * WARPS, numbers.CHUNK),  # large: chunks for warps
])  # fmt: skip
def test_slabs_taken_in_advance(edges: int, capacity: int, in_advance: int, ahead: int) -> None:
    books = ledger(capacity, bump=10**5 if capacity > 10**6 else 1000)
    assert books.in_advance(edges) == in_advance
    demand = books.demand(edges)
    assert (demand.ample - demand.least, demand.ahead) == (in_advance, ahead)
    before = books.free
    reservation = books.reserve(demand)
    assert reservation.ahead == ahead
    assert before - books.free == reservation.slabs == demand.need + demand.quota + in_advance
    assert ledger(capacity, warps=0).in_advance(edges) == 0  # on the CPU


def test_nothing_is_taken_in_advance_unless_it_is_free() -> None:
    books = ledger(10_000, bump=1000)
    demand = books.demand(50)
    books.free = demand.ample - 1
    reservation = books.reserve(demand)
    assert (reservation.ahead, reservation.slabs) == (0, demand.need + demand.quota)


def test_promised_edges_are_kept_out_of_the_quota() -> None:
    free = ledger(10_000, bump=1000).free
    books = ledger(10_000, bump=1000)
    books.promise(5000)
    demand = books.demand(100)
    assert demand.least >= books.worst_case(5000)
    assert demand.quota <= free - books.worst_case(5000)
    books.queued(100)
    assert books.promised == 4900


def test_a_batch_larger_than_the_store_is_sized_for_first() -> None:
    books = ledger(64, bump=10)
    script = Script(books, size_for_batch=lambda books, batch, later: books.rebuilt(900, 100, 50) or 700)
    demand = books.provide(5000, None, script)
    assert script.taken == ["size_for_batch"]
    assert (demand.need, demand.sized) == (700, True)


def test_the_ladder_of_a_full_pool_on_the_cpu() -> None:
    """Nothing is listed and nothing is a hole: count, and grow by what is needed, at least a quarter."""
    books = ledger(1000, bump=990, warps=0)
    books.inserted = 5000
    script = Script(books, count_batch=lambda books, batch: 40, grow=grows)
    demand = books.provide(500, None, script)
    assert script.taken == ["read", "count_batch", "grow"]
    assert demand.need == 40
    assert books.capacity == 1000 + 40 + 250 + numbers.MIN_SLABS - 10


def test_the_ladder_of_a_full_pool_on_cuda() -> None:
    """A batch that any pool of this size can take does not have to be counted."""
    books = ledger(10_000, bump=9990)
    books.has_deleted = True
    script = Script(books, grow=grows)
    demand = books.provide(500, None, script)
    assert script.taken == ["read", "grow"]
    assert books.free >= demand.need + demand.quota
    assert not demand.sized


def test_a_growing_store_on_cuda_is_sized_ahead() -> None:
    books = ledger(10_000, bump=9990)

    def size(books: Ledger, batch: None, stored: int, unused: int, growth: float) -> bool:
        assert growth > 1
        books.rebuilt(10**6, 9000, 50_000)
        return True

    script = Script(books, count_edges=lambda books: 50_000, size_ahead=size)
    books.provide(5000, None, script)
    assert script.taken == ["read", "count_edges", "size_ahead"]


def test_freed_slabs_are_swept_before_the_pool_grows() -> None:
    books = ledger(10_000, bump=9990, freed=1300, warps=0)

    def sweep(books: Ledger, length: int) -> None:
        books.record(counters(bump=9990, listed=length), 10_000)

    script = Script(books, count_batch=lambda books, batch: 1200, sweep=sweep)
    assert books.provide(3000, None, script).need == 1200
    assert script.taken == ["read", "count_batch", "sweep"]


@pytest.mark.parametrize("freed", [2500, 9000])
def test_a_pool_with_many_holes_is_repacked(freed: int) -> None:
    books = ledger(10_000, bump=9990, freed=freed, warps=0)
    script = Script(
        books,
        count_batch=lambda books, batch: 3000,
        repack=lambda books, unused: books.rebuilt(9000, 990, 5000) or True,
    )
    books.provide(3000, None, script)
    assert script.taken == ["read", "count_batch", "repack", "count_batch"]


def test_denied_slabs_are_forgotten_once_they_are_there() -> None:
    books = ledger(10_000, bump=1000, denied=10)
    script = Script(books)
    demand = books.provide(100, None, script)
    assert script.taken == ["read", "forget_denied"]
    assert demand.quota >= 20
    assert books.denied == 0


def test_heads_do_not_come_from_the_free_list() -> None:
    """Rehashing lacks slabs, all free ones are listed: only growing helps, a sweep does not."""
    books = ledger(10_000, bump=9990, listed=6000, denied=100, freed=3)
    books.has_deleted = True
    script = Script(books, grow=grows, repack=lambda books, unused: False)
    books.provide(100, None, script)
    assert script.taken[-1] == "grow"
    assert "sweep" not in script.taken
    assert books.space >= 100


def test_within_a_batch_only_heads_come_from_the_end() -> None:
    """The slabs of the edges may be listed ones: nothing grows for them."""
    books = ledger(10_000, bump=9000, listed=3000, warps=0)
    script = Script(books)
    need, quota = books.provide_more(300, 2000, script)
    assert (need, quota) == (2000, books.allowance(300))
    assert script.taken == ["read"]


@pytest.mark.parametrize("fails", [False, True])
def test_within_a_batch_slabs_are_optional(fails: bool) -> None:
    books = ledger(1000, bump=990, warps=0, denied=40)
    answers: dict[str, Callable[..., Any]] = {} if fails else {"grow": grows}
    script = Script(books, **answers)
    need, quota = books.provide_more(300, 8, script)
    assert need == 8
    assert (quota < 0) == fails


def test_reserving_grows_once() -> None:
    books = ledger(1000, bump=990)
    script = Script(books, grow=grows)
    books.provide_for(5000, script)
    assert script.taken == ["read", "grow"]
    books.provide_for(5000, script)
    assert script.taken == ["read", "grow"]
    assert books.free >= books.worst_case(5000) + books.allowance(5000)


def test_without_hashing_nothing_is_rehashed() -> None:
    books = ledger(10_000, bump=1000, hashing=False)
    assert books.allowance(10**6) == 0
    assert not books.is_large(10**9)
    assert books.demand(50).quota == 0
