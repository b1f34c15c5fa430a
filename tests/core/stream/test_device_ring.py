"""Windows whose events are on a CUDA device: slides of the rule, growth, checkpoints, device arrays, lack of memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs
from window_model import Event, model
from window_of import window_of

import suricate as su
import suricate.stream as st
from suricate.base.devices import Device, resolve_device
from suricate.cuda import host_copies
from suricate.cuda.kernel import WordKernel
from suricate.errors import CapacityError, VertexRangeError
from suricate.intake.arrays import on_host
from suricate.stream import contents
from suricate.windows.ring import Ring, arrivals, device_ring

pytestmark = [pytest.mark.gpu, pytest.mark.plain]
EVENTS = hs.lists(
    hs.builds(Event, hs.integers(-9, 40), hs.integers(0, 5), hs.integers(0, 5), hs.just(1), hs.just(1)), max_size=60
)


def chunks_of(events: list[Event], cut: int, *, kinds: bool = False) -> list[dict[str, Any]]:
    parts = [events[:cut], events[cut:]]
    columns = [
        {name: np.array([getattr(event, name) for event in part], np.int64) for name in ("time", "src", "dst", "kind")}
        for part in parts
    ]
    return columns if kinds else [{name: each[name] for name in ("time", "src", "dst")} for each in columns]


def pinned(array: np.ndarray) -> np.ndarray:
    memory = resolve_device("cuda").xp.cuda.alloc_pinned_memory(array.nbytes)
    found = np.frombuffer(memory, array.dtype, len(array))
    found[:] = array
    return found


def pairs_of(graph: su.Graph) -> set[tuple[int, int]]:
    src, dst, _ = graph.edges()
    return set(zip(src.tolist(), dst.tolist(), strict=True))


def options(directed: bool, device: str = "cuda") -> dict[str, Any]:
    return {"device": device, "directed": directed, "num_vertices": 6}


@settings(max_examples=60)
@given(
    events=EVENTS, cut=hs.integers(0, 60), size=hs.one_of(hs.none(), hs.integers(1, 17)), slide=hs.integers(1, 7),
    lateness=hs.one_of(hs.just(0), hs.integers(0, 25)), directed=hs.booleans(), late_kinds=hs.booleans(),
)  # fmt: skip
def test_slides_are_those_of_the_rule(events, cut, size, slide, lateness, directed, late_kinds) -> None:
    slide = slide if size is None else min(slide, size)
    chunks = chunks_of(events, cut)
    if late_kinds:  # deletions from the second chunk on
        events = [
            *events[:cut],
            *(event._replace(kind=-1 if at % 3 == 0 else 1) for at, event in enumerate(events[cut:])),
        ]
        chunks = [chunks[0], chunks_of(events, cut, kinds=True)[1]]
    expected = model(events, size=size, slide=slide, lateness=lateness, directed=directed)
    job = st.Window(
        chunks, size=None if size is None else str(size), slide=str(slide), lateness=str(lateness),
        graph=options(directed),
    )  # fmt: skip
    found = []
    for w in job:
        found.append((w.end, pairs_of(w.graph), w.events))
        assert job.contents.ring is not None
        assert job.contents.ring.num_pairs == w.graph.num_edges
        assert late_kinds or isinstance(job.contents.ring, device_ring.DeviceRing)
    assert found == [(each.end, {*each.edges}, each.events) for each in expected]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("memory", ["device", "pinned", "host"])
@pytest.mark.parametrize("dtypes", [("int64", "int64"), ("uint32", "int64"), ("int32", "uint32")])
def test_counts_of_events_equal_those_on_the_host(
    directed: bool, memory: str, dtypes: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is made again and the ring grows many times; hubs and repeated pairs; ids on the device, too."""
    monkeypatch.setattr(device_ring, "LEAST", 4)
    monkeypatch.setattr(device_ring, "_FEW_BLOCKS", 1 if directed else 1 << 10)  # threads handle several events each
    monkeypatch.setattr(arrivals, "LEAST", 100 if memory == "host" else 2**17)  # the last chunk has fewer
    monkeypatch.setattr(arrivals, "LEAST_PINNED", 100)
    monkeypatch.setattr(host_copies, "PIECE", 256)
    rng = np.random.default_rng(3)
    src, dst = ((rng.integers(0, 90, 4000) * rng.integers(0, 2, 4000)).astype(dtype) for dtype in dtypes)
    xp, read = resolve_device("cuda").xp, list[int]()
    keep = arrivals.Arrivals._kept
    monkeypatch.setattr(arrivals.Arrivals, "_kept", lambda *args: (read.append(len(args[1])), keep(*args))[1])
    move = {"device": xp.asarray, "pinned": pinned, "host": np.asarray}[memory]

    def slides(device: str, move: Any) -> list[Any]:
        parts = ({"src": move(src[at : at + 333]), "dst": move(dst[at : at + 333])} for at in range(0, 4000, 333))
        job = st.Window(parts, size=1000, slide=150, graph={"device": device, "directed": directed})
        return [
            (w.end, pairs_of(w.graph), w.events, w.left, len(w.delta.inserted.src), len(w.delta.deleted.src))
            for w in job
        ]

    assert slides("cuda", move) == slides("cpu", np.asarray)
    if memory == "host" or dtypes[0] != dtypes[1]:
        assert not read
    else:
        assert read == [333] * 11 + [4] * (memory == "device")


@pytest.mark.parametrize("on_device", [True, False])
@pytest.mark.parametrize("slide", [1, 4])
@pytest.mark.parametrize(("dtype", "bad"), [("int64", -1), ("int32", -1), ("uint32", 2**32 - 1), ("uint64", 2**40)])
def test_ids_that_are_none_are_found_on_the_device(
    dtype: str, bad: int, on_device: bool, slide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positions count valid events only, and each chunk is asked about, whether it closes slides or not."""
    monkeypatch.setattr(arrivals, "LEAST", 2)
    xp = resolve_device("cuda").xp if on_device else np

    def chunks() -> Iterator[dict[str, Any]]:
        for first in ([0, 1, 2], [1, bad, 0], [bad, bad, bad]):
            yield {"src": xp.asarray(np.array(first, dtype)), "dst": xp.asarray(np.array([1, 2, 3], dtype))}

    skipping = st.Window(st.source(chunks(), on_error="skip"), size=4, slide=slide, graph={"device": "cuda"})
    found = {w.end: pairs_of(w.graph) for w in skipping}
    assert [*found] == [*range(slide, 6, slide)] + [8] * (slide == 4)
    assert found[4] == {(0, 1), (1, 2), (2, 3), (1, 1)}
    assert (slide == 4 and found[8] == {(0, 3)}) or found[5] == {(1, 2), (2, 3), (1, 1), (0, 3)}
    assert skipping.skipped == 4
    with pytest.raises(VertexRangeError, match=f"src: {bad} is no id of a vertex"):
        list(st.Window(chunks(), size=4, slide=slide, graph={"device": "cuda"}))


@pytest.mark.parametrize("mode", ["time", "count"])
def test_chunks_with_invalid_ids_make_the_slides_that_they_make_on_the_host(mode: str) -> None:
    """Invalid events are no reason to close a slide, late and invalid ones are counted once."""
    rng = np.random.default_rng(8)
    src, dst, time = rng.integers(0, 9, 300), rng.integers(0, 9, 300), np.arange(300) + rng.integers(-6, 6, 300)
    src[rng.random(300) < 0.1] = -1
    time[src < 0] += rng.integers(0, 60, np.count_nonzero(src < 0))  # they would make others late

    def slides(device: str, xp: Any) -> list[Any]:
        chunks = (
            {"time": time[at : at + 7], "src": xp.asarray(src[at : at + 7]), "dst": xp.asarray(dst[at : at + 7])}
            for at in range(0, 300, 7)
        )
        size, slide = ("30", "10") if mode == "time" else (30, 10)
        job = st.Window(
            st.source(chunks, on_error="skip"), size=size, slide=slide, graph={"device": device, "num_vertices": 9}
        )
        return [(w.end, pairs_of(w.graph), w.events, w.left, w.late, w.skipped) for w in job]

    found = slides("cpu", np)
    assert slides("cuda", resolve_device("cuda").xp) == found
    assert (found[-1][4] > 9) == (mode == "time")
    assert found[-1][5] > 9


def test_a_job_goes_on_from_a_checkpoint_of_either_device(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    chunks = [{"src": rng.integers(0, 40, 50), "dst": rng.integers(0, 40, 50)} for _ in range(12)]

    def work(device: str, folder: Path, most: int) -> list[Any]:
        source = st.source(lambda position: iter([*enumerate(chunks, 1)][position or 0 :]))
        job = st.Window(
            source,
            size=120,
            slide=30,
            checkpoint=folder,
            checkpoint_every=1,
            graph={"device": device, "num_vertices": 40},
        )
        parts, found = job.track("wcc"), []
        for w in job:
            found.append((w.end, pairs_of(w.graph), parts.result.num_components))
            if len(found) == most:
                job._stop.set()
        return found

    whole = work("cpu", tmp_path / "whole", 99)
    order = ("cuda", 5), ("cuda", 3), ("cpu", 4), ("cuda", 99)
    assert [each for device, most in order for each in work(device, tmp_path / "parts", most)] == whole


def test_the_saved_ring_is_that_of_the_host() -> None:
    device = resolve_device("cuda")
    ring = device_ring.DeviceRing(device, directed=False)
    ring._counters[:2] = ring._gained = ring._lost = 2**32 - 9  # soon beyond 32 bits
    host = Ring("last", None, directed=False)
    for at in range(5):
        time = np.arange(7, dtype=np.int64) + 7 * at
        events = device_ring.Events(time, *np.random.default_rng(at).integers(0, 4, (2, 7)).astype(np.uint32))
        changes = [each.slide(events, 7 * at - 10) for each in (ring, host)]
        for part in ("gone", "new"):
            ours, theirs = ({*zip(*map(on_host, getattr(change, part)), strict=True)} for change in changes)
            assert ours == theirs
        assert (changes[0].left, changes[0].top) == (changes[1].left, changes[1].top)
    saved = ring.save()
    again = Ring("last", None)
    again.load(saved)
    assert (len(again), again.num_pairs, again.oldest) == (len(ring), ring.num_pairs, ring.oldest)
    assert (len(host), host.num_pairs, host.oldest) == (len(ring), ring.num_pairs, ring.oldest)
    ours, theirs = ({*zip(*map(on_host, each.held().new), strict=True)} for each in (ring, host))
    assert ours == theirs


def test_a_slide_without_memory_is_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [{"src": np.arange(at, at + 5), "dst": np.arange(5)} for at in range(4)]
    job = st.Window(chunks, size=10, slide=5, graph={"device": "cuda"})
    first = next(job).end

    def fails(self: Any, more: int) -> None:
        raise MemoryError(f"no memory for {more} events")

    with monkeypatch.context() as patch:
        patch.setattr(device_ring.DeviceRing, "_reserve", fails)
        for _ in range(2):
            with pytest.raises(CapacityError, match="no memory for 5 events"):
                next(job)
    assert [first, *(w.end for w in job)] == [5, 10, 15, 20]
    assert pairs_of(job.graph) == {(u, u - at) for at in (2, 3) for u in range(at, at + 5)}


@pytest.mark.parametrize("lacking", [(arrivals._Buffer, "reserve"), (contents, "joined")])
def test_waiting_events_for_which_the_device_lacks_memory_are_not_lost(
    lacking: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids stay on the host at first; if what waits cannot be joined, the next call tries again."""
    monkeypatch.setattr(arrivals, "LEAST", 2)
    chunks = [{"src": np.arange(at, at + 3), "dst": np.arange(3)} for at in range(5)]
    job, calls = st.Window(chunks, size=10, slide=5, graph={"device": "cuda"}), [0]
    works = getattr(*lacking)

    def fails_twice(*args: Any) -> Any:
        calls[0] += 1
        if calls[0] in (2, 3):
            raise MemoryError("no memory for what waits")
        return works(*args)

    monkeypatch.setattr(*lacking, fails_twice)
    found, errors = [], 0
    while len(found) < 3:
        try:
            found.append((next(job).end, job.graph.num_edges))
        except CapacityError as error:
            errors += "no memory for what waits" in str(error)
    assert found == [(5, 5), (10, 10), (15, 10)]
    assert calls[0] > 3
    assert errors == (2 if lacking[1] == "joined" else 0)


def test_live_events_are_used_with_their_device_current(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several devices: memory, streams and launches are those of the current one."""
    inside = [0]

    @contextmanager
    def current(self: Device) -> Iterator[None]:
        inside[0] += 1
        yield
        inside[0] -= 1

    def demanding(works: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            assert inside[0]
            return works(*args, **options)

        return call

    monkeypatch.setattr(Device, "current", current)
    for module in (contents, device_ring):
        monkeypatch.setattr(module, "cuda_device_count", lambda: 2)
    monkeypatch.setattr(arrivals, "LEAST", 2)
    monkeypatch.setattr(contents, "joined", demanding(contents.joined))
    kernel = (WordKernel, "__init__"), (WordKernel, "__call__")
    for owner, name in ((arrivals.Arrivals, "__init__"), (arrivals._Buffer, "reserve"), *kernel):
        monkeypatch.setattr(owner, name, demanding(getattr(owner, name)))
    for module in (arrivals, device_ring):
        monkeypatch.setattr(module, "_launch", demanding(module._launch))
    chunks = [{"src": [at, 1, 2], "dst": [at] * 3} for at in range(5)]
    job = st.Window(chunks, size=8, slide=4, graph={"device": "cuda"})
    assert [w.graph.num_edges for w in job] == [4, 7, 7, 7]
    ring = job.contents.ring
    assert isinstance(ring, device_ring.DeviceRing)
    assert len(ring.held().new[0]) == len(ring.save()["row"]) == ring.num_pairs


@pytest.mark.parametrize("least", [2, 9])
def test_a_source_may_write_the_next_chunk_to_the_same_arrays_of_the_device(
    least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "LEAST", least)
    xp = resolve_device("cuda").xp
    src, dst = xp.zeros(3, np.uint32), xp.arange(3, dtype=np.uint32)

    def chunks() -> Iterator[dict[str, Any]]:
        for at in range(4):
            src.fill(at)
            yield {"src": src, "dst": dst}

    found = [pairs_of(w.graph) for w in st.Window(chunks(), size=12, slide=12, graph={"device": "cuda"})]
    assert found == [{(u, v) for u in range(4) for v in range(3)}]


def test_bad_ids_on_the_device_are_named() -> None:
    xp = resolve_device("cuda").xp
    events = {"src": xp.asarray([0, -3]), "dst": xp.asarray([1, 2])}
    job = st.Window(events, size=2, slide=1, graph={"device": "cuda"})
    with pytest.raises(VertexRangeError, match="src: -3 is no id of a vertex"):
        next(job)
    skipping = st.Window(
        st.source({"src": xp.asarray([0, -3]), "dst": xp.asarray([1, 2])}, on_error="skip"),
        size=2,
        slide=1,
        graph={"device": "cuda"},
    )
    assert [(w.end, pairs_of(w.graph)) for w in skipping] == [(1, {(0, 1)})]
    assert skipping.skipped == 1


def test_ids_on_the_device_may_be_names_sorted_or_merged() -> None:
    xp = resolve_device("cuda").xp
    time, src, dst = np.array([3, 1, 2]), np.array([7, 5, 9]), np.array([5, 7, 5])

    def found(device_of: Any, source: Any = lambda chunk: chunk, **options: Any) -> list[Any]:
        chunk = {"time": time, "src": device_of(src), "dst": device_of(dst)}
        job = window_of(source(chunk), size="2", slide="1", graph={"device": "cuda"}, **options)
        return [(w.end, w.graph.names and [*w.graph.names], sorted(pairs_of(w.graph))) for w in job]

    def merged(chunk: Any) -> Any:
        return st.merge(*({name: column[part] for name, column in chunk.items()} for part in ([1, 2], [0])))

    expected = found(np.asarray, order="time")
    assert len(expected) == 3
    assert found(xp.asarray, order="time") == expected
    assert found(xp.asarray, merged) == expected
    assert found(xp.asarray, order="time", names=True) == found(np.asarray, order="time", names=True)


def test_an_interrupt_waits_for_copies_that_read_arrays_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "LEAST", 2)
    taking, waits = arrivals.Arrivals(resolve_device("cuda")), list[int]()

    def interrupt(*_: Any) -> bool:
        raise KeyboardInterrupt

    ids, check = np.arange(9, dtype=np.uint32), taking._arriving
    monkeypatch.setattr(taking, "_arriving", interrupt)
    stream = taking._stream
    monkeypatch.setattr(type(stream), "synchronize", lambda self: waits.append(self.ptr))
    with pytest.raises(KeyboardInterrupt):
        taking.take(ids, ids)
    monkeypatch.undo()
    assert waits[-1] == stream.ptr
    monkeypatch.setattr(arrivals, "LEAST", 2)
    taking._arriving = check
    found = taking.take(ids, ids[::-1].copy())
    assert found is not None
    assert [on_host(column).tolist() for column in found] == [[*range(9)], [*range(8, -1, -1)]]
