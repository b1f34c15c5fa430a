"""Names that are divided among ranks, against one map of names; and names of events that wait."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from suricate.base.types import EMPTY
from suricate.errors import CommunicationError, DTypeError, RequirementError, VertexRangeError
from suricate.intake.name_table import NO_IDS
from suricate.intake.name_values import as_values
from suricate.intake.names import Names
from suricate.parallel import Comm, run
from suricate.stream.all_ranks import waiting_names
from suricate.stream.all_ranks.divided_names import DividedChange, DividedNames, joined_states
from suricate.stream.all_ranks.waiting_names import WaitingNames
from suricate.windows.events import Events

pytestmark = pytest.mark.plain
NONE = np.empty(0, np.int64)


def called(numbers: np.ndarray, kind: str) -> Any:
    if kind == "text":
        return [f"näme {number}" * (1 + number % 3) for number in numbers.tolist()]
    return numbers.astype(kind)


def slide(names: DividedNames | Names, used: np.ndarray, down: np.ndarray, kind: str, comm: Comm | None) -> list[Any]:
    """Name the events of a slide, of which each rank has those of its turn; keep it; return ids and freed ids."""
    if comm is None or not isinstance(names, DividedNames):
        ids = names.intern(called(used, kind))
        names.retain(ids)
        free = names.release(down)
        names.next_slide()
        return [ids.tolist(), free.tolist()]
    change = DividedChange(names, slides=True)
    own = np.arange(comm.rank, len(used), comm.size)
    _, first = np.unique(used[own], return_index=True)
    given = as_values(called(used[own][first], kind), kind)
    unknown = as_values(called(np.array([10**6]), kind), kind)
    found, nobody = names.asked(
        change, given, NONE[:0].repeat(0) if not len(own) else own[first] * 0, own[first], unknown
    )
    assert nobody.tolist() == [2**32 - 1]
    parts = comm.gather("ids", dict(zip(used[own][first].tolist(), found.tolist(), strict=True)))
    everyone = {name: id for part in parts for name, id in part.items()}
    ids = np.array([everyone[name] for name in used.tolist()], np.uint32)
    free = change.recount(ids, down, forgets=True)
    change.ready()
    change.keep()
    return [ids.tolist(), free.tolist()]


def rounds(kind: str, comm: Comm | None, seed: int, number: int = 14) -> list[Any]:
    rng = np.random.default_rng(seed)
    names: Any = Names(kind) if comm is None else DividedNames(comm, kind)
    live, found = list[np.ndarray](), list[Any]()
    for at in range(number):
        used = rng.integers(0, 60, 25) + 2 * at
        down = live.pop(0) if len(live) == 3 else NO_IDS
        said = slide(names, used, down, kind, comm)
        live.append(np.array(said[0], np.uint32))
        ids = names.ids
        counts, texts = names.counts(ids).tolist(), [*names[ids]]
        gone = dict(zip(*(part.tolist() for part in names.forgotten()), strict=True))
        some = called(np.arange(40, 90), kind)
        found.append([said, ids.tolist(), counts, texts, gone, names.find(some).tolist(), len(names), names.num_ids])
        found.append([names.version, names.since(ids).tolist(), [name in names for name in some[:3]]])
        names.check()
        if at == 8:  # the state of one map, read back in the other way
            state = names.state()
            if comm is None:
                names = Names.restore(state)
            else:
                other = DividedNames(comm)
                share = names.share_state()
                parts = comm.gather("states", share)
                other.load(parts[0], parts[comm.size - 1 - comm.rank :: comm.size])
                assert all(np.array_equal(part, state[name]) for name, part in Names.restore(state).state().items())
                names = other
    return found


@pytest.mark.parametrize("kind", ["text", "int64", "uint64"])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_divided_names_are_those_of_one_map(kind: str, ranks: int) -> None:
    expected = rounds(kind, None, ranks)
    assert run(lambda comm: rounds(kind, comm, ranks), ranks) == [expected] * ranks


def test_each_rank_has_a_share() -> None:
    def job(comm: Comm) -> tuple[int, int]:
        names = DividedNames(comm, "int64")
        slide(names, np.arange(20_000), NO_IDS, "int64", comm)
        return len(names.share), sum(names.memory_usage().values())

    parts = run(job, 4)
    whole = Names("int64")
    whole.intern(np.arange(20_000))
    assert sum(number for number, _ in parts) == 20_000
    assert max(number for number, _ in parts) < 5_500
    assert max(size for _, size in parts) < 0.5 * sum(whole.memory_usage().values())


def test_a_change_that_is_not_kept_leaves_nothing() -> None:
    def job(comm: Comm) -> list[Any]:
        names = DividedNames(comm, "text")
        slide(names, np.arange(5), NO_IDS, "text", comm)
        change = DividedChange(names, slides=True)
        given = as_values(called(np.arange(7, 9), "text"), "text")
        names.asked(change, given, np.zeros(2, np.int64), np.arange(2), given)
        before = [
            names.ids.tolist(),
            names.num_ids,
            names.version,
            names.find(called(np.arange(6, 9), "text")).tolist(),
        ]
        again = DividedChange(names, slides=True)
        ids, _ = names.asked(again, given, np.zeros(2, np.int64), np.arange(2), given)
        again.ready()
        again.keep()
        names.check()
        return [*before, ids.tolist(), [*names[[5, 6]]]]

    texts = called(np.arange(7, 9), "text")
    assert run(job, 3) == [[[0, 1, 2, 3, 4], 5, 1, [-1, -1, -1], [5, 6], texts]] * 3


def test_ranks_may_ask_for_different_names() -> None:
    def job(comm: Comm) -> list[Any]:
        names = DividedNames(comm, "text")
        slide(names, np.arange(30), NO_IDS, "text", comm)
        ids = np.arange(3 * comm.rank, 30, 7) if comm.rank else NONE
        return [[*names[ids]] == called(ids, "text"), names.find(called(ids, "text")).tolist() == ids.tolist()]

    assert run(job, 4) == [[True, True]] * 4


def test_what_slides_alone_may_do_is_refused_and_unknown_ids_too() -> None:
    def job(comm: Comm) -> None:
        names = DividedNames(comm, "int64")
        for call in (names.add, names.intern, names.forget, names.retain, names.withdraw):
            with pytest.raises(RequirementError, match="its slides alone change them"):
                call([1])
        with pytest.raises(VertexRangeError, match="ids\\[0\\] is 3, which has no name"):
            names[[3]]
        with pytest.raises(DTypeError):
            names.find(["ann"])

    run(job, 2)


def test_one_rank_that_reads_names_alone_is_named() -> None:
    def job(comm: Comm) -> None:
        names = DividedNames(comm, "int64")
        slide(names, np.arange(5), NO_IDS, "int64", comm)
        if comm.rank == 1:
            assert names[[2]].tolist() == [2]
        comm.barrier()

    with pytest.raises(CommunicationError, match="test_divided_names"):
        run(job, 2)


def test_states_of_shares_make_one_state() -> None:
    def job(comm: Comm) -> Any:
        names = DividedNames(comm, "text")
        slide(names, np.arange(30), NO_IDS, "text", comm)
        slide(names, np.arange(3), np.arange(3, 9, dtype=np.uint32), "text", comm)
        return joined_states(comm.gather("states", names.share_state()))

    first, second = run(job, 2)
    assert first.keys() == second.keys()
    restored = Names.restore(first)
    restored.check()
    assert [*restored[[0, 1, 2, 9]]] == called(np.array([0, 1, 2, 9]), "text")
    assert restored.intern("new") == 3


# -- names of events that wait -----------------------------------------------------------------------------------------


def events_of(waiting: WaitingNames, src: Any, dst: Any) -> Events:
    with waiting.chunk(len(src)):
        return Events(np.arange(len(src)), waiting.tokens(src), waiting.tokens(dst))


def test_names_that_wait_go_with_the_last_of_their_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_names, "MOST", 40)  # so that tokens begin again
    waiting, rng = WaitingNames(None), np.random.default_rng(5)
    alive: list[tuple[Events, np.ndarray, np.ndarray]] = []
    for _ in range(60):
        src, dst = rng.integers(0, 9, (2, rng.integers(0, 6)))
        alive.append((events_of(waiting, src, dst), src, dst))
        names, found = waiting.joined([events for events, *_ in alive])
        for each, (_, one, other) in zip(found, alive, strict=True):
            assert names.values_of(each.src).decoded().tolist() == one.tolist()
            assert names.values_of(each.dst).decoded().tolist() == other.tolist()
        of_each = [len(np.unique(np.concatenate(ends))) for _, *ends in alive]
        assert max(of_each) <= names.num_ids <= sum(of_each)  # once for each list
        if rng.integers(0, 2):
            waiting.close()
        if len(alive) == 3:
            events, *_ = alive.pop(0)
            half = events.number // 2
            waiting.drop(events.taken(slice(half)))
            waiting.drop(events.taken(slice(half, None)))
    for events, *_ in alive:
        waiting.drop(events)
    waiting.close()
    assert waiting.memory == 0
    assert waiting.kind == "int64"


def test_texts_that_wait() -> None:
    waiting = WaitingNames(None)
    one = events_of(waiting, ["ä", "", "ä"], ["b", "ä", "ccc" * 9])
    waiting.close()
    two = events_of(waiting, ["b"], ["d"])
    waiting.drop(one.taken(slice(2)))
    names, (first, second) = waiting.joined([one.taken(slice(2, None)), two])
    shown = [names.values_of(end).decoded().tolist() for each in (first, second) for end in (each.src, each.dst)]
    assert shown == [["ä"], ["ccc" * 9], ["b"], ["d"]]
    assert names.num_ids == 4
    before = waiting.memory
    with pytest.raises(DTypeError):
        events_of(waiting, ["e", "f", "g"], np.arange(3))
    assert waiting.memory == before


class Kept(NamedTuple):
    """A change of names, which was kept or not."""

    is_kept: bool


def asked(waiting: WaitingNames, numbers: list[int], named: np.ndarray, since: np.ndarray) -> tuple[Any, Any, Any]:
    """Let a slide have the names ``numbers``: return these names, their tokens, and their ids as far as remembered."""
    events = events_of(waiting, np.array(numbers), np.array(numbers))
    listed, _ = waiting.joined([events])
    ids = waiting.ids(listed.tokens, named, since)
    shown = listed.values_of(np.arange(listed.num_ids)).numbers
    waiting.drop(events)
    return shown.tolist(), listed.tokens, [None if id == EMPTY else int(id) for id in ids]


def test_ids_are_remembered_while_they_have_the_same_names() -> None:
    waiting, named, since = WaitingNames(None), np.ones(40, bool), np.zeros(40, np.int32)
    shown, tokens, ids = asked(waiting, [5, 6, 7], named, since)
    assert (shown, ids) == ([5, 6, 7], [None] * 3)
    waiting.tell(Kept(False), tokens, np.array([1, 2, 3], np.uint32))
    _, tokens, ids = asked(waiting, [7, 5, 8], named, since)
    assert ids == [None] * 3  # the change was undone
    waiting.tell(Kept(True), tokens, np.array([1, 2, 3], np.uint32))
    assert asked(waiting, [8, 9, 5, 7], named, since)[::2] == ([8, 9, 5, 7], [3, None, 2, 1])
    named[3], since[2] = False, 4  # 8 is forgotten, and 5, whose id another name has now
    assert asked(waiting, [8, 5, 7], named, since)[2] == [None, None, 1]
    waiting.close()
    assert asked(waiting, [7], named, since)[2] == [None]


@pytest.mark.parametrize("comes_again", [True, False])
def test_names_that_do_not_come_again_are_not_remembered(comes_again: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_names, "FEW", 10)
    waiting, most, total = WaitingNames("int64"), 0, 0
    named, since = np.ones(4000, bool), np.zeros(4000, np.int32)
    for at in range(60):
        old = [*range(0, 20, 2)] if comes_again else []
        numbers = [*old, *range(100 + 40 * at, 130 + 40 * at)]
        _, tokens, ids = asked(waiting, numbers, named, since)
        total += sum(id is not None for id in ids)
        assert ids == [id if number == id else None for id, number in zip(ids, numbers, strict=True)]
        waiting.tell(Kept(True), tokens, np.array(numbers, np.uint32))
        most = max(most, len(waiting._names) if waiting._open else 0)
    assert total >= 50 * len(old)
    assert most <= (8 if comes_again else 1) * len(numbers)
