"""Walks in time against the rule in plain Python, step by step, and their distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.algorithms.time import temporal_walks
from suricate.algorithms.time.walks import THRESHOLDS
from suricate.errors import ParameterError, RequirementError, UnknownNameError, VertexRangeError

BIAS = ["uniform", "linear", "exponential"]
EMPTY = int(su.EMPTY)


def drawn(seed: int, count: int = 120, n: int = 6, times: int = 40) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return np.sort(rng.integers(0, times, count)), *rng.integers(0, n, (2, count))


def log_of(columns: Any, n: int = 6, **options: Any) -> su.Events:
    log = su.Events(n, device="cpu", **{"over": "out", **options})
    log.append(*columns)
    return log


def rank(bits: int, c: int, bias: str) -> int:
    """The rank of the event drawn with 64 bits: the inverse of the distribution, in whole numbers."""
    if bias == "uniform":
        return bits * c >> 64
    if bias == "linear":
        x = bits * (c * (c + 1) // 2) >> 64
        return c - 1 - next(j for j in range(c) if (j + 1) * (j + 2) // 2 > x)
    table = [int(each) for each in THRESHOLDS]
    x = bits * table[min(c, len(table)) - 1] >> 64
    return next(i for i, bound in enumerate(table) if bound > x)


def model(
    columns: Any, start: int, turn: int, length: int, bias: str, seed: int, *, through: bool, directed: bool
) -> tuple[list[int], list[int]]:
    rows = list(enumerate(zip(*(part.tolist() for part in columns), strict=True)))
    key, at, now, last = su.mixed(seed, start, turn), start, None, None
    vertices, events = [start], []
    for step in range(length):
        near = [(i, t, v if u == at else u) for i, (t, u, v) in rows if at in ((u,) if directed else (u, v))]
        near = [row for row in near if now is None or row[1] > now or (through and row[1] == now)]
        if not [row for row in near if row[0] != last]:
            break
        for attempt in range(64):
            i, t, v = near[rank(su.mixed(key, step, attempt) % 2**64, len(near), bias)]
            if i != last:
                break
        at, now, last = v, t, i
        vertices.append(v)
        events.append(i)
    return vertices, events


@pytest.mark.parametrize("bias", BIAS)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("through", [True, False])
def test_every_step_is_that_of_the_model(bias: str, directed: bool, through: bool) -> None:
    for seed in range(6):
        columns = drawn(seed, times=(8, 40)[seed % 2])
        log, starts = log_of(columns, directed=directed), [0, 1, 2, 3, 4, 5, 2, 2, 0]
        found = temporal_walks(log, starts, 9, bias=bias, seed=seed - 3, through=through)
        for i, start in enumerate(starts):
            turn = starts[:i].count(start)
            vertices, events = model(columns, start, turn, 9, bias, seed - 3, through=through, directed=directed)
            assert found.vertex[i].tolist() == vertices + [EMPTY] * (10 - len(vertices))
            assert found.event[i].tolist() == events + [-1] * (9 - len(events))
            assert found.time[i, : len(events)].tolist() == columns[0][events].tolist()
    assert len(vertices) > 1


def test_walks_do_not_depend_on_batches() -> None:
    log = log_of(drawn(1, 3000, 50, 900), 50)
    starts = np.random.default_rng(2).permutation(50)
    whole = temporal_walks(log, starts, 6, seed=5)
    for at in range(0, 50, 7):
        part = temporal_walks(log, starts[at : at + 7], 6, seed=5)
        assert part.vertex.tolist() == whole.vertex[at : at + 7].tolist()
        assert part.event.tolist() == whole.event[at : at + 7].tolist()
    assert temporal_walks(log, starts, 6, seed=6).event.tolist() != whole.event.tolist()


def test_numbers_past_32_bits_and_events_that_left() -> None:
    columns = drawn(4, 100)
    log, first = su.Events(6, device="cpu", over="out"), 2**32 - 40
    log._record.first = log._record.next = first
    log.append(*columns)
    log.expire(int(columns[0][20]))
    kept = log._record.first - first
    plain = log_of(tuple(part[kept:] for part in columns))
    found, right = (temporal_walks(each, range(6), 8, through=True, bias="linear") for each in (log, plain))
    assert found.vertex.tolist() == right.vertex.tolist()
    assert found.event[found.event >= 0].tolist() == (right.event[right.event >= 0] + kept + first).tolist()


@pytest.mark.gpu
@pytest.mark.parametrize("bias", BIAS)
@pytest.mark.parametrize("through", [True, False])
def test_walks_on_cuda_are_those_of_the_cpu(bias: str, through: bool) -> None:
    """Bit for bit, also with hubs, removed events, and numbers past 32 bits."""
    for seed, options in enumerate(({}, {"directed": False}, {"directed": False}, {})):
        columns = list(drawn(seed, 900, 30, (60, 900)[seed % 2]))
        columns[1][:400] = 3
        starts, found = np.random.default_rng(seed).integers(0, 30, 300), []
        for device in ("cpu", "cuda"):
            log = su.Events(30, device=device, **{"over": "out", **options})
            log._record.first = log._record.next = seed * (2**31 - 200)
            log.remove(list(log.append(*columns))[5:800:7])
            walks = temporal_walks(log, starts, 7, bias=bias, seed=seed - 2, through=through)
            found.append([log.device.to_numpy(part) for part in walks])
            assert temporal_walks(log, [], 3).vertex.shape == (0, 4)
            assert log.device.to_numpy(temporal_walks(log, [1, 2], 0).vertex).tolist() == [[1], [2]]
        for one, other in zip(*found, strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)
        assert (found[0][1][:, 2] >= 0).any()


@pytest.mark.compiled
@pytest.mark.parametrize("bias", BIAS)
@pytest.mark.parametrize("c", [2, 7, 60])
def test_first_steps_have_the_weights_of_the_bias(bias: str, c: int) -> None:
    log, walks = log_of((np.arange(c), np.zeros(c, int), np.ones(c, int))), 40_000
    found = temporal_walks(log, np.zeros(walks, int), 1, bias=bias, seed=9).event[:, 0]
    weight = {"uniform": np.ones(c), "linear": c - np.arange(c), "exponential": np.exp(-np.arange(c))}[bias]
    right = walks * weight / weight.sum()
    counts = np.bincount(found, minlength=c)
    large = right >= 5
    groups = [*zip(counts[large], right[large], strict=True), (counts[~large].sum(), right[~large].sum())]
    chi = sum((one - other) ** 2 / other for one, other in groups if other > 0)
    free = len([1 for _, other in groups if other > 0]) - 1
    assert abs(chi - free) < 4 * math.sqrt(2 * max(free, 1))


def test_a_start_that_comes_often_has_other_walks() -> None:
    log = log_of(drawn(8, 2000, 6, 500))
    found = temporal_walks(log, [3] * 20, 5)
    assert len({tuple(row) for row in found.event.tolist()}) > 15
    assert temporal_walks(log, [], 5).vertex.shape == (0, 6)
    assert temporal_walks(log, [1, 2], 0).vertex.tolist() == [[1], [2]]


def test_what_is_refused() -> None:
    log = log_of(drawn(1))
    for over in ("in", "both"):
        with pytest.raises(RequirementError, match=rf"needs su\.Events\(\.\.\., over='out'\).*over='{over}'"):
            temporal_walks(log_of(drawn(1), over=over), [0], 2)
    with pytest.raises(UnknownNameError, match="bias='recent' is unknown"):
        temporal_walks(log, [0], 2, bias="recent")
    with pytest.raises(ParameterError, match="length"):
        temporal_walks(log, [0], -1)
    with pytest.raises(VertexRangeError):
        temporal_walks(log, [6], 2)


def test_vertices_of_walks_are_ids_and_too_many_steps_a_lack_of_memory() -> None:
    log = su.Events(3, device="cpu", over="out")
    log.append([1], [0], [1])
    assert su.temporal_walks(log, [0, 2], 2).vertex.dtype == np.uint32
    with pytest.raises(su.errors.CapacityError, match="walks"):
        su.temporal_walks(log, [0] * 1000, 2**31 - 1)


def test_messages_name_the_log_and_the_argument() -> None:
    log = su.Events(3, device="cpu", over="out", names=["a", "b", "c"])
    for asked, reason in (
        (lambda: su.temporal_walks(log, ["z"], 2), r"starts\[0\] is 'z': the log has no vertex of this name"),
        (lambda: su.earliest_arrival(log, "z"), r"source\[0\] is 'z': the log has no"),
        (lambda: su.latest_departure(su.Events(3, device="cpu"), "z"), "target has texts, but the log has no names"),
        (lambda: su.Events(3, columns=["fee"]), "^columns must be a dict"),
        (lambda: su.sample(log, ["a"], [2]), "takes a graph.*log.sample"),
        (lambda: log.sample(["a"], at=np.datetime64("2026-01-01")), r"datetime64\[D\].*log.closed"),
        (lambda: log.sample(["a"], at=5), "no events yet; say log.close_before"),
    ):
        with pytest.raises(su.errors.SuricateError, match=reason):
            asked()
