"""Samples of a log on CUDA are those of the CPU, bit for bit; what is refused, and how often they wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_sample import OPTIONS

import suricate as su
from suricate.base.devices import CPU, resolve_device
from suricate.errors import SuricateError
from suricate.events.sampling import cpu, cuda
from suricate.events.sampling.trees import Drawn, Plan, Trees
from suricate.testing import measure

pytestmark = [pytest.mark.gpu, pytest.mark.plain]
FEW, MANY = (60, 700), (3000, 9000)  #: vertices, events: rows of some tens, with hubs; of few


def logs_of(shape: tuple[int, int], over: str = "in", first: int = 0) -> list[su.Events]:
    """The same log on the CPU and on CUDA; many events have equal times, some have left, some vertices are hubs."""
    (vertices, events), rng = shape, np.random.default_rng(shape[0])
    time = np.sort(rng.integers(0, events // 3, events))
    src, dst = (vertices * rng.random((2, events)) ** 3).astype(np.int64)
    logs = []
    for device in (CPU, resolve_device("cuda")):
        log = su.Events(vertices, device=device, over=over)
        log._record.first = log._record.next = first
        log.append(time, src, dst)
        log.expire(events // 30)
        logs.append(log)
    return logs


def trees_of(log: su.Events, count: int, *, span: bool) -> Trees:
    """Roots, some of them twice, with cuts all over the log."""
    rng, live = np.random.default_rng(count), log._record.next - log._record.first
    cut = rng.integers(0, live + 1, count)
    low = np.maximum(cut - live // 3, 0) if span else np.zeros(count, np.int64)
    root, key = rng.integers(0, log.num_vertices, count), rng.integers(0, 1 << 63, count)
    given = root.astype(np.uint32), key.astype(np.uint64), cut.astype(np.uint32), low.astype(np.uint32)
    return Trees(*map(log.device.xp.asarray, given))


def sampled(log: su.Events, trees: Trees, plan: Plan) -> Drawn:
    drawn = cuda.Sampling(log._index.rows, log._record, plan, len(trees.root)).drawn(trees)
    assert drawn is not None
    return drawn


def assert_same(found: Drawn | su.Sample, wanted: Drawn | su.Sample) -> None:
    assert (found.nodes_per_hop, found.edges_per_hop) == (wanted.nodes_per_hop, wanted.edges_per_hop)
    for name in ("node", "row", "col", "event", "time", "batch"):
        got, each = getattr(found, name), getattr(wanted, name)
        assert got.dtype == each.dtype, name
        assert np.array_equal(got.get(), each), name


def assert_equal(log: su.Events, other: su.Events, count: int, plan: Plan, *, span: bool = False) -> Drawn:
    wanted = cpu.sample_trees(log._index.rows, log._record, trees_of(log, count, span=span), plan)
    found = sampled(other, trees_of(other, count, span=span), plan)
    assert_same(found, wanted)
    return wanted


PLANS = [
    Plan((10, 5)), Plan((3,), recent=True), Plan((4, 3, 2), back=True), Plan((4, 3, 2), back=True, through=True),
    Plan((70, 2), replace=True), Plan((-1, 2)), Plan((2, -1), back=True), Plan((2, 65), recent=True, back=True),
]  # fmt: skip


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("shape", [FEW, MANY])
def test_samples_equal_those_of_loops(shape: tuple[int, int], plan: Plan) -> None:
    logs = logs_of(shape, "both" if shape is FEW else "in", (1 << 32) - shape[1] // 2)
    for count, span in ((1, False), (150, False), (150, True), (0, False)):
        drawn = assert_equal(*logs, count, plan, span=span)
    assert drawn.edges_per_hop == [0] * len(plan.fan)


def test_bounds_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host waits in each hop; arrays grow."""
    monkeypatch.setattr(cuda, "MOST_AHEAD", 1000)
    logs = logs_of(MANY)
    for plan in (Plan((10, 5, 2)), Plan((5, 5), back=True)):
        assert_equal(*logs, 100, plan)


def test_waits_and_launches() -> None:
    """Small trees take one launch; others, and those without bounds, one per hop and part."""
    log = logs_of(FEW)[1]
    roots = log.device.xp.arange(20, dtype=np.uint32)
    small, launches = {"launchCooperativeKernel": 1}, {"start_trees": 1, "count_hop": 2, "draw_hop": 2}
    for fan, hops, kernels, waits in (
        ([10, 5], "seed", small, 0), ([3, 2, 2], "back", small, 0), ([90, 5], "seed", launches, 1),
        ([2, -1], "seed", launches, 3),
    ):  # fmt: skip
        log.sample(roots, fan, hops=hops)
        costs = measure(lambda: log.sample(roots, fan, hops=hops), log.device)  # noqa: B023
        assert costs.kernels == kernels
        assert sum(costs.waits.values()) == waits  # small trees are polled for


SMALL = [
    ([10, 5], {}), ([3], {"take": "recent"}), ([4, 3, 2], {"hops": "back"}), ([40, 8], {"replace": True}),
    ([3, 2, 2, 2], {"hops": "back", "through": True, "span": 60}), ([20, 20], {"span": 100}), ([70], {}),
]  # fmt: skip


@pytest.mark.parametrize(("fan", "options"), SMALL)
def test_small_trees_equal_those_of_loops(fan: list[int], options: dict[str, Any]) -> None:
    """Rows of hubs and of few events; blocks of one tree, and of more trees than warps."""
    for shape, over in ((FEW, "both"), (MANY, "in")):
        logs = logs_of(shape, over, (1 << 32) - shape[1] // 2)
        for count in (1, 150, 0) if shape is FEW else (300,):
            rng = np.random.default_rng(count)
            roots, at = rng.integers(0, shape[0], count), rng.integers(0, logs[0].closed, count)
            wanted, found = samples_of(logs, roots, fan, at=at, seed=3, **options)
            assert_same(found, wanted)
            assert np.array_equal(found.cut.get(), wanted.cut)


def samples_of(logs: list[su.Events], *given: Any, **options: Any) -> list[su.Sample]:
    """The sample of each log, whose arguments are on its device."""
    return [
        log.sample(*map(log.device.xp.asarray, given[:1]), *given[1:], **{
            name: log.device.xp.asarray(value) if isinstance(value, np.ndarray) else value
            for name, value in options.items()
        })
        for log in logs
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", ["int64", "uint32", "int16"])
@pytest.mark.parametrize("fan", [[4, 3], [4, -1]])
def test_samples_equal_those_of_the_cpu(dtype: str, fan: list[int]) -> None:
    """Roots, times and ids are started on the device as on the host."""
    logs, rng = logs_of(FEW, first=(1 << 32) - 300), np.random.default_rng(6)
    roots, at = rng.integers(0, 60, 90).astype(dtype), rng.integers(0, logs[0].closed, 90)
    for options in OPTIONS:
        given = {**options, "ids": at * 3} if "ids" in options else options
        for time in (at, at.astype(np.int32), 150, None):
            if (time is None and "through" in options) or ("replace" in options and -1 in fan):
                continue
            wanted, found = samples_of(logs, roots, fan, at=time, **given)
            assert_same(found, wanted)
            assert np.array_equal(found.cut.get(), wanted.cut), options


BAD = [
    ([60], {"at": 5}),
    ([0, -1], {"at": 5}),
    ([3], {"at": 1 << 40}),
    ([3], {"through": True}),
    ([3, 3], {"at": np.array([2, 1 << 40])}),
    ([3], {"ids": np.array([1, 2])}),
    ([3], {"at": 0.5}),
]


@pytest.mark.parametrize("vertices", [0, 60])
def test_bad_input_is_refused_as_on_the_cpu(vertices: int) -> None:
    logs = logs_of(FEW) if vertices else [su.Events(0, device=device) for device in ("cpu", "cuda")]
    for roots, options in BAD if vertices else BAD[:2]:
        errors = []
        for log in logs:
            with pytest.raises(SuricateError) as caught:
                samples_of([log], np.array(roots), [2], **options)
            errors.append((caught.type, str(caught.value)))
        assert errors[0] == errors[1]
    for sample in samples_of(logs, np.array([], np.int64), [2, 2]):
        assert (sample.nodes_per_hop, sample.edges_per_hop) == ([0, 0, 0], [0, 0])
