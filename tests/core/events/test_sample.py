"""``Events.sample`` against a plain Python sampler by the definition, and the properties that training relies on."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_log import starting_at
from turns import few

import suricate as su
from suricate.bench import inputs
from suricate.bench.logs import plain_sampling
from suricate.cpu import threads
from suricate.errors import (
    DTypeError,
    ParameterError,
    RequirementError,
    ShapeError,
    UnknownNameError,
    VertexRangeError,
)

BITS = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15
FIELDS = ("node", "row", "col", "event", "time", "batch")
N = 30


def filled(
    first: int = 0, *, seed: int = 1, count: int = 2000, gone: int = 20, **options: Any
) -> tuple[su.Events, list]:
    """Return a log of ``count`` events, many at equal times, and those (number, time, source, destination) kept."""
    rng, log = np.random.default_rng(seed), starting_at(first, N, device="cpu", **options)
    time = np.sort(rng.integers(0, count // 4, count))
    ends = (N * rng.random((2, count)) ** 2).astype(np.int64)
    for part in np.array_split(np.arange(count), 5):
        log.append(time[part], *ends[:, part])
    log.expire(gone)
    kept = zip(itertools.count(first), time.tolist(), *ends.tolist(), strict=False)
    return log, [event for event in kept if event[1] >= gone]


def step(x: int) -> int:
    """A step of SplitMix64, as su.mixed makes it: a hash of one number."""
    x = (x + STEP) & BITS
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & BITS
    x = (x ^ x >> 27) * 0x94D049BB133111EB & BITS
    return x ^ x >> 31


def drawn(bits: int, size: int, count: int, replace: bool) -> list[int]:
    """Draw ages of events, 0 the newest, oldest first: by Floyd's method unless ``replace``."""
    ages: list[int] = []
    for j in range(count):
        last = size - 1 if replace else size - count + j
        age = step((bits + j * STEP) & BITS) * (last + 1) >> 64
        ages.append(last if age in ages and not replace else age)
    return sorted(ages, reverse=True)


def expected(
    events: list, roots: Any, at: Any, fan: Any, *, over: str = "in", span: int | None = None, take: str = "uniform",
    through: bool = False, hops: str = "seed", replace: bool = False, seed: int = 0, ids: Any = None,
) -> list[tuple[list, list]]:  # fmt: skip
    """Return nodes and edges of each tree, by hop: vertices; and (number, time, places of neighbour and vertex)."""
    trees = []
    for b, (root, end) in enumerate(zip(roots, at, strict=True)):
        key = su.mixed(seed, *((root, end) if ids is None else (ids[b],))) & BITS
        nodes, edges, frontier = [root], [], [(0, end, None)]
        per_hop = [1], []
        for hop, most in enumerate(fan):
            begin, coming = len(edges), []
            for place, limit, by in frontier:
                v = nodes[place]
                past = [
                    (number, time, u if (over != "out" and w == v) else w)
                    for number, time, u, w in events
                    if v in {"in": (w,), "out": (u,), "both": (u, w)}[over]
                    and (time < limit or (through and time == limit))
                    and (span is None or time >= end - span)
                ]
                count = len(past) if most < 0 else (most if past else 0) if replace else min(most, len(past))
                if take == "recent" or (count == len(past) and not replace):
                    chosen = past[len(past) - count :]
                else:
                    way = hop << 32 | v if hops == "seed" else BITS if by is None else by
                    chosen = [past[-1 - age] for age in drawn(step(key ^ way), len(past), count, replace)]
                for number, time, other in chosen:
                    if hops == "back" or other not in nodes:
                        nodes.append(other)
                        coming.append((len(nodes) - 1, time if hops == "back" else end, number))
                    edges.append((number, time, len(nodes) - 1 if hops == "back" else nodes.index(other), place))
            frontier = coming
            per_hop[0].append(len(coming))
            per_hop[1].append(len(edges) - begin)
        trees.append((nodes, edges, per_hop))
    return trees


def trees_of(sample: su.Sample) -> list[tuple[list, list]]:
    """Take a sample apart: what :func:`expected` returns; and check the order and the counts of the whole."""
    batch, trees = np.asarray(sample.batch), []
    hop_of = np.repeat(np.arange(len(sample.nodes_per_hop)), sample.nodes_per_hop)
    assert len(hop_of) == len(batch)
    assert sum(sample.edges_per_hop) == len(sample.row)
    order = np.lexsort((batch, hop_of))
    assert np.array_equal(order, np.arange(len(batch)))
    edge_hop = np.repeat(np.arange(len(sample.edges_per_hop)), sample.edges_per_hop)
    assert np.array_equal(hop_of[sample.col], edge_hop)
    assert np.array_equal(np.lexsort((sample.event, sample.col)), np.arange(len(sample.col)))
    for b in range(sample.nodes_per_hop[0]):
        mine = np.flatnonzero(batch == b)
        place = {int(at): i for i, at in enumerate(mine)}
        found = np.flatnonzero(batch[sample.col] == b)
        edges = [
            (int(sample.event[e]), int(sample.time[e]), place[int(sample.row[e])], place[int(sample.col[e])])
            for e in found
        ]
        per_hop = (
            [int((hop_of[mine] == hop).sum()) for hop in range(len(sample.nodes_per_hop))],
            [int((edge_hop[found] == hop).sum()) for hop in range(len(sample.edges_per_hop))],
        )
        trees.append((sample.node[mine].tolist(), edges, per_hop))
    return trees


def same(left: su.Sample, right: su.Sample) -> bool:
    """Whether two samples are equal, entry by entry."""
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in FIELDS)


OPTIONS = [
    {}, {"take": "recent"}, {"hops": "back"}, {"hops": "back", "take": "recent"}, {"replace": True}, {"span": 60},
    {"hops": "back", "replace": True, "span": 90}, {"through": True}, {"hops": "back", "through": True, "span": 40},
    {"seed": -5}, {"ids": True},
]  # fmt: skip


@pytest.mark.parametrize("first", [0, (1 << 32) - 700])
@pytest.mark.parametrize("over", ["in", "out", "both"])
def test_trees_are_those_of_the_definition(over: str, first: int) -> None:
    log, events = filled(first, over=over, count=800)
    rng = np.random.default_rng(3)
    roots, at = rng.integers(0, N, 6), rng.integers(0, 199, 6)
    for options, fan in itertools.product(OPTIONS, ([3, 2], [7], [2, 2, 2], [-1, 1], [90, 1])):
        if options.get("replace") and -1 in fan:
            continue
        given = {**options, "ids": np.arange(6) * 3} if "ids" in options else options
        sample = log.sample(roots, fan, at=at, **given)
        assert trees_of(sample) == expected(events, roots.tolist(), at.tolist(), fan, over=over, **given)


def test_events_without_direction_lead_both_ways() -> None:
    log, events = filled(directed=False, count=400)
    sample = log.sample(range(N), [3, 2], at=90)
    assert trees_of(sample) == expected(events, range(N), [90] * N, [3, 2], over="both")


@pytest.mark.parametrize("over", ["in", "both"])
def test_removed_events_are_in_no_tree(over: str) -> None:
    """Middle events, all events of a vertex that returns, and the oldest ones."""
    log, events = filled(over=over, count=500, gone=5)
    gone = {number for number, _, u, v in events if number % 3 == 0 or 4 in (u, v)}
    log.remove(sorted(gone))
    numbers = log.append([log.closed] * 3, [4, 7, 4], [9, 4, 4])
    log.close_before(log.closed + 1)
    events += zip(numbers, [124] * 3, [4, 7, 4], [9, 4, 4], strict=True)
    events = [event for event in events if event[0] not in gone]
    for options in ({}, {"take": "recent"}, {"hops": "back"}):
        sample = log.sample([4, 9, 0, 1, 4], [5, 3], at=[125, 125, 90, 60, 124], **options)
        assert trees_of(sample) == expected(
            events, [4, 9, 0, 1, 4], [125, 125, 90, 60, 124], [5, 3], over=over, **options
        )


def test_the_last_events_are_those_of_a_stable_sort() -> None:
    """Most recent against NumPy: per vertex the last k of a stable sort by time."""
    log, events = filled(seed=8, gone=0)
    time, src, dst = np.array(events, np.int64).T[1:]
    order = np.argsort(time, kind="stable")
    for at in (0, 17, 250, 251, 499):
        sample = log.sample(range(N), [4], at=at, take="recent")
        for v in range(N):
            past = order[(dst[order] == v) & (time[order] < at)][-4:]
            found = sample.col == v
            assert np.array_equal(sample.event[found], past)
            assert np.array_equal(sample.node[sample.row[found]], src[past])


@pytest.mark.parametrize("hops", ["seed", "back"])
@pytest.mark.parametrize("take", ["uniform", "recent"])
def test_the_event_to_predict_is_never_in_its_own_tree(hops: str, take: str) -> None:
    """Roots are the ends of events, at their times, many of which are equal: 0 of 2,048 leak, and no later event."""
    log, events = filled(count=4096, over="both", gone=0)
    number, time, src, dst = np.array(events, np.int64)[np.random.default_rng(0).permutation(4096)[:1024]].T
    roots, at = np.concatenate((src, dst)), np.tile(time, 2)
    sample = log.sample(roots, [10, 5], at=at, span=300, take=take, hops=hops)
    ends = at[sample.batch[sample.col]]
    assert len(sample.event) > 20_000
    assert np.count_nonzero(sample.event == np.tile(number, 2)[sample.batch[sample.col]]) == 0
    assert np.all((sample.time < ends) & (sample.time >= ends - 300))
    if hops == "back":  # each event is before the one that led to its vertex
        led = np.full(len(sample.node), np.iinfo(np.int64).max)
        led[sample.row] = sample.time
        assert np.all(sample.time < led[sample.col])


def test_a_sample_as_of_a_time_is_final() -> None:
    """What comes later, and what leaves that was not eligible, changes nothing; each vertex has distinct events."""
    log, _ = filled()
    closed = log.closed
    roots = np.arange(N)
    before = [log.sample(roots, [9, 4], at=closed, span=200, **options) for options in OPTIONS[:5]]
    log.append(np.full(500, closed), *np.random.default_rng(5).integers(0, N, (2, 500)))
    log.append(np.arange(closed, closed + 3000), *np.random.default_rng(6).integers(0, N, (2, 3000)))
    log.expire(closed - 200)
    for options, old in zip(OPTIONS[:5], before, strict=True):
        assert same(log.sample(roots, [9, 4], at=closed, span=200, **options), old)
    pairs = before[0].col << 32 | before[0].event
    assert len(np.unique(pairs)) == len(pairs)


def test_a_tree_is_the_same_in_any_batch_order_and_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    log, _ = filled(count=6000)
    rng = np.random.default_rng(9)
    roots, at = rng.integers(0, N, 300), rng.integers(100, 1400, 300)
    for options in OPTIONS[:5]:
        whole = log.sample(roots, [6, 3, 2], at=at, **options)
        trees = trees_of(whole)
        order = rng.permutation(300)
        assert trees_of(log.sample(roots[order], [6, 3, 2], at=at[order], **options)) == [trees[i] for i in order]
        parts = [log.sample(roots[i : i + 7], [6, 3, 2], at=at[i : i + 7], **options) for i in range(0, 300, 7)]
        assert [tree for part in parts for tree in trees_of(part)] == trees
        monkeypatch.setattr(threads, "GRAIN", 1)
        monkeypatch.setattr(threads, "limit", lambda: 3)
        shared = threads.shared
        assert same(log.sample(roots, [6, 3, 2], at=at, **options), whole)
        assert threads.shared > shared
        monkeypatch.undo()


def chi_square(counts: np.ndarray, draws: int, size: int, count: int) -> float:
    """How many standard deviations the chi-square of uniform draws without replacement is off its mean."""
    mean = draws * count / size
    found = ((counts - mean) ** 2).sum() / mean * (size - 1) / (size - count)
    return float((found - (size - 1)) / np.sqrt(2 * (size - 1)))


@pytest.mark.parametrize(("size", "count"), [(11, 10), (12, 3), (50, 49), (64, 20), (65, 20), (300, 20), (557, 5)])
def test_draws_are_uniform(size: int, count: int) -> None:
    """Over ids, over seeds and over times: every event is drawn equally often, and so are pairs of events."""
    log = su.Events(2, device="cpu")
    log.append([0] * size + [1 << 40], [0] * (size + 1), [1] * size + [0])
    draws = 20_000
    by_id = log.sample(np.ones(draws, np.int64), [count], at=1, ids=np.arange(draws))
    by_time = log.sample(np.ones(draws, np.int64), [count], at=np.arange(1, draws + 1), seed=7)
    for sample in (by_id, by_time):
        events = sample.event.reshape(draws, count)
        assert abs(chi_square(np.bincount(events.ravel(), minlength=size), draws, size, count)) < 4
        if count < 21:
            pairs = np.zeros((size, size))
            for i, j in itertools.combinations(range(count), 2):
                np.add.at(pairs, (events[:, i], events[:, j]), 1)
            seen = pairs[np.triu_indices(size, 1)]
            mean = draws * count * (count - 1) / size / (size - 1)
            assert abs(seen.mean() - mean) < 1e-9 * mean
            if mean > 1:
                assert abs(((seen - mean) ** 2).mean() / mean - (1 if size > 20 else 0)) < (0.2 if size > 20 else 1.5)


def test_draws_with_replacement_are_uniform_and_independent() -> None:
    log = su.Events(2, device="cpu")
    log.append([0] * 9 + [5], [0] * 10, [1] * 9 + [0])
    sample = log.sample([1] * 30_000, [2], at=1, replace=True, ids=np.arange(30_000))
    pairs = np.zeros((9, 9))
    np.add.at(pairs, tuple(sample.event.reshape(-1, 2).T), 1)
    pairs = np.where(np.eye(9, dtype=bool), 2 * pairs, pairs + pairs.T)  # drawn in either order
    mean = 30_000 * 2 / 81
    assert abs(((pairs - mean) ** 2).mean() / mean / 1.1 - 1) < 0.5


def test_keys_have_all_that_a_draw_depends_on() -> None:
    log, _ = filled(count=8000)
    first = log.sample([3], [5, 3], at=1500)
    assert same(first, log.sample([3], [5, 3], at=1500))
    for other in ({"seed": 1}, {"ids": [3]}, {"at": 1499}):
        assert not np.array_equal(first.event, log.sample([3], [5, 3], **{"at": 1500, **other}).event)
    twice = log.sample([3, 3], [5, 3], at=1500)
    assert trees_of(twice) == trees_of(first) * 2
    apart = log.sample([3, 3], [5, 3], at=1500, ids=[1, 2])
    assert trees_of(apart)[0] != trees_of(apart)[1]


def test_times_on_and_about_events() -> None:
    log = su.Events(2, device="cpu")
    log.append([10, 10, 20, 20, 30], [0] * 5, [1] * 5)

    def events(at: int, **options: Any) -> list[int]:
        return log.sample([1], [9], at=at, **options).event.tolist()

    assert [events(at) for at in (10, 11, 20, 21, 30)] == [[], [0, 1], [0, 1], [0, 1, 2, 3], [0, 1, 2, 3]]
    assert [events(at, through=True) for at in (9, 10, 20, 29)] == [[], [0, 1], [0, 1, 2, 3], [0, 1, 2, 3]]
    assert [events(30, span=span) for span in (10, 19, 20)] == [[2, 3], [2, 3], [0, 1, 2, 3]]
    assert events(20, span=10, through=True) == [0, 1, 2, 3]
    assert log.sample([1], [9]).event.tolist() == [0, 1, 2, 3]  # before log.closed
    assert log.sample([1], [9], at=-(1 << 63), span=5).event.tolist() == []


def test_a_time_of_which_the_sample_could_change_is_refused() -> None:
    log = su.Events(2, device="cpu")
    assert log.sample([0, 1], [3]).nodes_per_hop == [2, 0]
    with pytest.raises(RequirementError, match="has no events yet"):
        log.sample([1], [9], at=0)
    log.append([10, 20], [0, 0], [1, 1])
    with pytest.raises(RequirementError, match="final before 20"):
        log.sample([1], [9], at=21)
    with pytest.raises(RequirementError, match="final before 20"):
        log.sample([1, 1], [9], at=[3, 21])
    with pytest.raises(RequirementError, match="before it"):
        log.sample([1], [9], at=20, through=True)
    assert len(log.sample([1], [9], at=19, through=True).event) == 1


def test_trees_whose_past_has_left_are_marked() -> None:
    log = su.Events(2, device="cpu")
    log.append([10, 20, 30, 40], [0] * 4, [1] * 4)
    assert log.sample([1], [9], at=15, span=1000).cut.tolist() == [False]
    log.expire(20)
    at = [15, 20, 30, 40]
    assert log.sample([1] * 4, [9], at=at).cut.tolist() == [True, False, False, False]
    assert log.sample([1] * 4, [9], at=at, span=10).cut.tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("error", "given"),
    [
        (ParameterError, {"fan": 3}),
        (ParameterError, {"fan": []}),
        (ParameterError, {"fan": [3, 0]}),
        (ParameterError, {"fan": [-2]}),
        (ParameterError, {"fan": [2.0]}),
        (ParameterError, {"at": 1.5}),
        (DTypeError, {"at": [1.5]}),
        (ShapeError, {"at": [1, 2]}),
        (ParameterError, {"at": np.array([1 << 63], np.uint64)}),
        (ParameterError, {"span": 0}),
        (ParameterError, {"span": 1.5}),
        (ParameterError, {"seed": 1 << 63}),
        (ParameterError, {"through": 1}),
        (UnknownNameError, {"take": "last"}),
        (UnknownNameError, {"hops": "forward"}),
        (RequirementError, {"replace": True, "take": "recent"}),
        (RequirementError, {"replace": True, "fan": [-1]}),
        (ShapeError, {"ids": [1, 2]}),
        (DTypeError, {"ids": [0.5]}),
        (VertexRangeError, {"vertices": [N]}),
        (VertexRangeError, {"vertices": [-1]}),
        (DTypeError, {"vertices": [0.5]}),
    ],
)
def test_bad_input_is_refused(error: type[Exception], given: dict) -> None:
    log, _ = filled(count=100)
    with pytest.raises(error):
        log.sample(**{"vertices": [1], "fan": [3], **given})


def test_names_and_columns_are_gathered_when_asked_for() -> None:
    log = su.Events(device="cpu", names=True, columns={"fee": "float32"})
    log.append([10, 20, 20], ["a", "b", "c"], ["b", "c", "b"], {"fee": [0.5, 1.5, 2.5]})
    log.close_before(30)
    sample = log.sample(["b", "c"], [5, 5])
    assert sample.names.tolist() == ["b", "c", "a", "c", "b", "a"]
    assert sample.column("fee").tolist() == [0.5, 2.5, 1.5, 1.5, 0.5, 2.5]
    assert "2 trees, 6 nodes, 6 edges" in repr(sample)
    with pytest.raises(UnknownNameError):
        log.sample(["d"], [1])
    plain, _ = filled(count=100)
    with pytest.raises(UnknownNameError):
        plain.sample(["a"], [1])
    with pytest.raises(RequirementError, match="no names"):
        _ = plain.sample([1], [1]).names


@pytest.mark.parametrize("name", few(["CollegeMsg", "sx-mathoverflow"]))
def test_trees_of_real_events_are_those_of_a_plain_loop(data_dir: Path, name: str) -> None:
    data = inputs.load(str(data_dir / "temporal" / f"{name}.txt.gz"))
    time, src, dst, size = data.time, data.src, data.dst, data.num_vertices
    log, rows = su.Events(size, device="cpu"), plain_sampling.rows_of(src, dst, size)
    log.append(time, src, dst)
    pick = np.random.default_rng(1).integers(0, len(time), 4096)
    roots, at = dst[pick].astype(np.uint32), time[pick]
    for take in ("uniform", "recent"):
        found = log.sample(roots, [10, 5], at=at, take=take)
        plain = plain_sampling.sampled(rows, time, roots, at, [10, 5], take)
        for field, array in zip(FIELDS, plain, strict=True):
            assert np.array_equal(getattr(found, field), array), field


def test_no_roots_are_no_trees() -> None:
    log, _ = filled(count=100)
    for options in OPTIONS[:3]:
        sample = log.sample([], [3, 2], **options)
        assert (len(sample.node), sample.nodes_per_hop, sample.edges_per_hop) == (0, [0, 0, 0], [0, 0])


def test_the_id_of_a_forgotten_name_is_refused(device):
    log = su.Events(0, device=device, names=True)
    log.append([1, 2, 3], ["a", "b", "c"], ["b", "c", "b"])
    log.close_before(9)
    log.expire(2)
    assert log.sample(["b"], [2]).event.tolist() == log.sample([1], [2]).event.tolist() == [2]
    with pytest.raises(UnknownNameError, match=r"id 0 has no name: .*keep=True"):
        log.sample([1, 0], [2])
