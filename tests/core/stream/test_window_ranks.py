"""Windows of several ranks against the rule by brute force: the first has the events, all have its slides."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE
from window_model import Event, model

import suricate.stream as st
from suricate.comm.messages import INLINE
from suricate.errors import CapacityError, CommunicationError, ParameterError, RequirementError
from suricate.parallel import Comm, run
from suricate.stream import ranks
from suricate.stream.checkpoint import Checkpoints
from suricate.stream.contents import Entering
from suricate.windows.events import nothing
from suricate.windows.ring import Ring, arrivals, device_ring

pytestmark = pytest.mark.plain
N, CHUNK = 9, 45
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def drawn(seed: int, *, kinds: bool, counted: bool) -> list[Event]:
    """Events, some of them late, deletions and sets among them from some chunk on, if ``kinds``."""
    rng = np.random.default_rng(seed)
    time = np.arange(200) if counted else np.arange(200) // 3 - 20 * (rng.integers(0, 9, 200) == 0)
    kind = np.where(np.arange(200) < 70, 1, rng.choice([1, 1, -1, 0], 200)) if kinds else np.ones(200, int)
    columns = time, *rng.integers(0, N, (2, 200)), np.ones(200, int), kind
    return [Event(*map(int, row)) for row in zip(*columns, strict=True)]


def chunks_of(events: list[Event], size: int = CHUNK) -> list[dict[str, np.ndarray]]:
    """Chunks with kinds where there are any; every third one is followed by an empty one."""
    chunks = []
    for at in range(0, len(events), size):
        part = events[at : at + size]
        chunk = {name: np.array([getattr(event, name) for event in part]) for name in ("time", "src", "dst", "kind")}
        chunks.append(chunk if (chunk["kind"] != 1).any() else {k: v for k, v in chunk.items() if k != "kind"})
        if at // size % 3 == 2:
            chunks.append({name: column[:0] for name, column in chunks[-1].items()})
    return chunks


def pairs_of(graph: Any) -> list[tuple[int, int]]:
    src, dst, _ = graph.edges()
    return sorted(zip(src.tolist(), dst.tolist(), strict=True))


def job(comm: Comm | None, source: Any, device: str, **options: Any) -> st.Window:
    graph = {"device": device, "num_vertices": N, **options.pop("graph", {})}
    return st.Window(source, graph=graph if comm is None else {**graph, "comm": comm}, **options)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [8, 60])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("kinds", [False, True])
def test_slides_are_those_of_the_rule_on_all_ranks(
    device: str, size: int, counted: bool, kinds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 45 events a chunk, a chunk closes several slides, or none."""
    monkeypatch.setattr(arrivals, "LEAST", 9)
    directed, slide = size == 8, 8 if size == 8 else 50
    events = drawn(size, kinds=kinds, counted=counted)
    expected = model(events, size=size, slide=slide, lateness=-1 if counted else 5, directed=directed)
    lengths = {"size": size, "slide": slide} if counted else {"size": str(size), "slide": str(slide), "lateness": "5"}

    def work(comm: Comm) -> list[Any]:
        source = chunks_of(events) if comm.rank == 0 else []
        window, found = job(comm, source, device, graph={"directed": directed}, **lengths), []
        for w in window:
            lists = [part.tolist() for change in (w.delta.inserted, w.delta.deleted) for part in change[:2]]
            counts = w.left, w.taken, w.unmatched, w.lag, w.partial, w.start, w.skipped
            found.append((w.end, pairs_of(w.graph), w.events, w.late, lists, counts))
            w.graph.check()
        ring = window.contents.ring
        kind = Ring if device == "cpu" or kinds else device_ring.DeviceRing
        assert isinstance(ring, kind)
        history = window.history
        assert history["edges"].tolist() == [len(edges) for _, edges, *_ in found]
        return [found, window.late]

    first, *others = run(work, 3 if directed else 2)
    assert [each[:3] for each in first[0]] == [(each.end, sorted(each.edges), each.events) for each in expected]
    assert len(expected) >= 2
    assert all(other == first for other in others)


@pytest.mark.parametrize("self_loops", ["allow", "drop"])
@pytest.mark.parametrize("device", DEVICES)
def test_weights_and_names_are_those_of_one_process(device: str, self_loops: str) -> None:
    events = drawn(4, kinds=True, counted=False)
    given = [chunk | {"weight": chunk["src"] / 8 + 1e-40} for chunk in chunks_of(events)]  # one is subnormal

    def slides(comm: Comm | None) -> list[Any]:
        options = {"weight_dtype": "float32", "directed": False, "self_loops": self_loops, "num_vertices": 0}
        window = job(comm, given, device, size="16", slide="8", names=True, graph=options)
        near, found = window.track("sssp", source=3), []
        for w in window:
            src, dst, weight = (part.tolist() for part in w.graph.edges())
            assert w.graph.names is not None
            names = [w.graph.names[int(v)] for v in w.graph.live_vertices.tolist()]
            found.append([sorted(zip(src, dst, weight, strict=True)), names, near.result.distance.tolist(), w.taken])
            w.graph.check()
        return [*found, window.history["edges"].tolist()]

    expected = slides(None)
    assert run(slides, 2) == [expected] * 2
    assert len(expected) > 5


@pytest.mark.gpu
@pytest.mark.parametrize("by_nccl", [False, True])
def test_a_slide_meets_the_other_ranks_a_few_times(by_nccl: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ahead of it, when it is due, with its events, when they are in and for memory of lists, and twice."""
    joined, parts, changed = (lambda comm: comm), ["together"] * 2 + ["allgatherv of uint8"], ["merge of uint64"]
    if by_nccl:
        import nccl_ranks

        nccl_ranks.gpus_of_threads(monkeypatch)
        joined, parts, changed = nccl_ranks.by_nccl, ["exchange of uint8 on devices"] + ["together"] * 2, []
    expected = ["together", "together", *parts, "together", "together", *changed]

    def work(host: Comm) -> None:
        names, gather = list[str](), host.gather
        host.gather = lambda name, value: (names.append(name), gather(name, value))[1]  # type: ignore[method-assign]
        window = job(joined(host), chunks_of(drawn(1, kinds=False, counted=True), 20), "cuda", size=60, slide=20)
        for w in window:
            if w.end in (100, 120):  # no empty chunk before it
                assert names == expected
            names.clear()

    run(work, 2)


def test_a_report_is_of_one_process() -> None:
    def work(comm: Comm) -> None:
        window = job(comm, chunks_of(drawn(1, kinds=False, counted=False)), "cpu", size="8", slide="8")
        with pytest.raises(RequirementError, match="several processes"):
            window.report()
        assert len([*window]) > 3

    run(work, 2)


def test_what_others_are_told_of_a_slide_fits_into_a_message() -> None:
    window = job(None, [], "cpu", size="1d", slide="1h")
    facts = 2**60, 2**60 - 2**46, 2**40, False, 2**45, 2**40, 2**40, "events", None
    flags = True, 1000, True, 2**40, 2**40, True, 2**32 - 3
    due = Entering(facts, (0.1, 0.2), 2**60, *flags, None, None, *[nothing(None)] * 2)
    message = pickle.dumps((None, (window.contents.told(due, 2**40), False)))
    assert len(message) <= INLINE


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("lacks", [0, 1])
def test_a_slide_for_which_a_rank_lacks_memory_is_the_same_again(
    device: str, lacks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the lists, and in the ring of the first rank."""
    calls, works, slides = [0, 0], ranks._memory_for, Ring.slide if device == "cpu" else device_ring.DeviceRing.slide
    failing = 3 if device == "cpu" else 2

    def memory_for(*given: Any, **named: Any) -> Any:
        if threading.current_thread().name == f"rank {lacks}":
            calls[0] += 1
            if calls[0] in (2, 3):
                raise MemoryError("no memory for lists")
        return works(*given, **named)

    def slide(*given: Any) -> Any:
        calls[1] += 1
        if calls[1] == failing:
            raise CapacityError("no memory for events")
        return slides(*given)

    monkeypatch.setattr(ranks, "_memory_for", memory_for)
    monkeypatch.setattr(Ring if device == "cpu" else device_ring.DeviceRing, "slide", slide)

    def work(comm: Comm) -> list[Any]:
        chunks = [{"src": np.arange(at, at + 5), "dst": np.arange(5)} for at in range(4)]
        window, found = job(comm, chunks, device, size=10, slide=5), list[Any]()
        while len(found) < 7:
            try:
                found.append((next(window).end, pairs_of(window.graph)))
            except CapacityError as error:
                found.append(str(error).rpartition(": ")[2])
        return found

    first, other = run(work, 2)
    assert first == other
    edges = [[(u, u - at) for u in range(at, at + 5)] for at in range(4)]
    slides_of = [(5 * at + 5, sorted([*edges[max(at - 1, 0)], *(edges[at] if at else [])])) for at in range(4)]
    told = [each for each in first if isinstance(each, str)]
    assert sorted(told) == ["no memory for events", "no memory for lists", "no memory for lists"]
    assert [each for each in first if not isinstance(each, str)] == slides_of


def test_a_lack_of_memory_in_the_midst_of_a_slide_ends_the_job_on_all_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unlike one that is noticed ahead of it, which is a ``CapacityError``."""
    calls, slides = [0], Ring.slide

    def slide(*given: Any) -> Any:
        calls[0] += 1
        if calls[0] == 3:  # in the second slide, on one of the ranks
            np.empty(1 << 62, np.uint8)
        return slides(*given)

    monkeypatch.setattr(Ring, "slide", slide)

    def work(comm: Comm) -> list[Any]:
        window, found = job(comm, chunks_of(drawn(3, kinds=False, counted=True)), "cpu", size=60, slide=20), list[Any]()
        for _ in range(4):
            try:
                found.append(next(window).end)
            except MemoryError as error:
                found.append(isinstance(error, CapacityError))
        return found

    assert run(work, 2) == [[20, False, False, False]] * 2


@pytest.mark.parametrize("device", DEVICES)
def test_a_job_goes_on_with_other_ranks_and_with_one(device: str, tmp_path: Path) -> None:
    chunks = chunks_of(drawn(2, kinds=False, counted=True), 20)

    def work(comm: Comm | None, place: str, folder: Path, most: int) -> list[Any]:
        given = chunks if comm is None or comm.rank == 0 else []
        source = st.source(lambda position: iter([*enumerate(given, 1)][position or 0 :]))
        window = job(comm, source, place, size=60, slide=15, checkpoint=folder, checkpoint_every=1)
        parts, found = window.track("wcc"), []
        for w in window:
            found.append((w.end, pairs_of(w.graph), parts.result.num_components, w.graph.num_vertices))
            if len(found) == most and (comm is None or comm.rank == comm.size - 1):
                window._stop.set()  # as a signal does
        return [*found, len(window.history["end"])]

    *whole, rows = work(None, "cpu", tmp_path / "whole", 99)
    found = []
    for number, place, most in ((1, device, 2), (3, device, 3), (2, "cpu", 2), (1, "cpu", 2), (2, device, 99)):
        if number == 1:
            *part, seen = work(None, place, tmp_path / "parts", most)
        else:
            (*part, seen), *others = run(
                lambda comm, at=(place, most): work(comm, at[0], tmp_path / "parts", at[1]), number
            )
            assert others == [[*part, seen]] * (number - 1)
        found += part
    assert found == whole
    assert seen == rows == len(whole)


def test_rows_that_were_skipped_before_a_checkpoint_count_once_on_all_ranks(tmp_path: Path) -> None:
    rows = [f"{second},{second % 5},7" if second % 4 else "a malformed row" for second in range(40)]
    (tmp_path / "events.csv").write_text("\n".join(["time,src,dst", *rows]))

    def skipped(comm: Comm, most: int) -> list[int]:
        source = st.scan(tmp_path / "events.csv", on_error="skip")
        window, found = job(comm, source, "cpu", size="8s", slide="4s", checkpoint=tmp_path / "state"), list[int]()
        for w in window:
            found.append(w.skipped)
            if len(found) == most:
                window._stop.set()
        return found

    parts = [run(lambda comm, most=most: skipped(comm, most), 2) for most in (3, 99)]
    assert [len(part[0]) for part in parts] == [3, 7]
    assert all(part[0] == part[1] for part in parts)
    assert parts[-1][-1][-1] == 10


def test_a_file_that_the_first_rank_cannot_go_on_with_is_an_error_on_all(tmp_path: Path) -> None:
    """A file of late events that is shorter than at the checkpoint."""
    chunks = chunks_of(drawn(8, kinds=False, counted=False))
    options = {"size": "8", "slide": "8", "checkpoint": tmp_path / "state", "late": tmp_path / "late.csv"}
    assert run(lambda comm: len([w.end for w in job(comm, chunks, "cpu", **options)]), 2)[0] > 5
    (tmp_path / "late.csv").write_text("")

    def refused(comm: Comm) -> None:
        with pytest.raises(ParameterError, match=r"late\.csv"):
            job(comm, chunks, "cpu", **options)

    run(refused, 2)


@pytest.mark.parametrize("device", DEVICES)
def test_slides_without_a_change_are_shown_on_all_ranks(device: str) -> None:
    chunk = {"time": [0, 1, 40, 41], "src": [0, 1, 0, 1], "dst": [1, 2, 1, 2]}

    def slides(comm: Comm | None) -> list[Any]:
        window = job(comm, chunk, device, size="50", slide="10", empty="emit")
        return [(w.end, w.events, w.left, w.delta.num_inserted, pairs_of(w.graph)) for w in window]

    assert run(slides, 2) == [slides(None)] * 2
    assert [each[1] for each in slides(None)] == [2, 0, 0, 0, 2]


def test_what_stops_one_rank_ends_all_though_no_slide_closes() -> None:
    windows, read = dict[int, st.Window](), [0]

    def work(comm: Comm) -> list[Any]:
        def chunks() -> Any:
            for read[0] in range(100):
                if read[0] == 7:
                    windows[1]._stop.set()  # as a signal does
                yield {"src": [0], "dst": [1]}

        windows[comm.rank] = job(comm, chunks(), "cpu", size=1000, slide=1000)
        comm.barrier()
        return [w.end for w in windows[comm.rank]]

    assert run(work, 2) == [[], []]
    assert read == [7]


def test_a_disk_that_is_full_is_an_error_on_all_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, save = [0], Checkpoints.save

    def fails_once(*given: Any) -> None:
        calls[0] += 1
        if calls[0] == 3:
            raise OSError("no space left")
        save(*given)

    monkeypatch.setattr(Checkpoints, "save", fails_once)

    def work(comm: Comm) -> list[Any]:
        window, found = job(comm, chunks_of(drawn(3, kinds=False, counted=True)), "cpu", size=60, slide=20,
                            checkpoint=tmp_path, checkpoint_every=1), list[Any]()  # fmt: skip
        while len(found) < 5:
            try:
                found.append(next(window).end)
            except OSError as error:
                found.append(str(error).rpartition(": ")[2])
        return found

    assert run(work, 2) == [[20, 40, "no space left", 60, 80]] * 2


def test_others_wait_for_as_long_as_the_first_rank_reads() -> None:
    def work(comm: Comm) -> list[bool]:
        busy = []

        def source() -> Any:
            for k in range(3):
                busy.append(comm.meeting.busy[0].reads_since < np.inf)
                yield {"time": [k], "src": [k], "dst": [k + 1]}

        for _ in job(comm, source(), "cpu", size="2", slide="1"):
            assert comm.meeting.busy[0].reads_since == np.inf
        return busy

    assert run(work, 2) == [[True] * 3, []]


def test_a_source_that_is_quiet_for_longer_than_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURICATE_SOURCE_TIMEOUT", "0.1")
    ended = threading.Event()

    def source() -> Any:
        yield {"time": [0], "src": [0], "dst": [1]}
        ended.wait(PATIENCE)

    def work(comm: Comm) -> None:
        try:
            for _ in job(comm, source(), "cpu", size="2", slide="1"):
                pass
        finally:
            ended.set()

    with pytest.raises(CommunicationError, match=r"rank 0 got nothing from its source within 0.1 s"):
        run(work, 2)


def test_what_is_asked_of_a_live_job_is_that_of_one_process(tmp_path: Path) -> None:
    """Alerts, trackers computed once in a while, frames of deltas, metrics, and going on; replay is refused."""
    rng = np.random.default_rng(1)
    ends = np.char.add("n", np.minimum(rng.geometric(0.15, (2, 300)), 30).astype(str))
    table = {
        "time": np.sort(rng.integers(0, 90, 300)),
        "src": ends[0],
        "dst": ends[1],
        "weight": np.arange(300) % 7 + 1,
    }

    def slides(comm: Comm | None, folder: Path, most: int = 99) -> list[Any]:
        options = {"checkpoint": folder / "state", "checkpoint_every": 1, "combine": "sum", "names": True}
        window = job(comm, table if comm is None or comm.rank == 0 else [], "cpu", size="20", slide="10",
                     graph={"num_vertices": 0}, **options)  # fmt: skip
        degree, groups, often = window.track("degree"), window.track("wcc"), window.track("degree", every=3)
        alerts = [window.alert(degree, above=3, sink=folder / "busy.csv"), window.alert(groups, merged=2),
                  window.alert(often, grew=1), window.alert("edges", grew=2, sink=folder / "heavy.csv")]  # fmt: skip
        port, found = window.serve(0), list[Any]()
        for w in window:
            delta = sorted(map(str, w.delta.to_arrow().to_pylist()))
            seen = sorted(map(str, often.top(4))) if window.slides >= 3 else None
            fired = [sorted(map(str, alert.fired)) for alert in alerts]
            found.append([w.end, delta, seen, sorted(map(str, degree.top(4))), fired, window.metrics()["edges"]])
            if comm is not None:
                with pytest.raises(RequirementError, match=r"replay: not for .* graphs of several"):
                    w.replay(degree, at="n1")
            if window.slides > most:
                break
        return [port, found]

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    _, expected = slides(None, tmp_path / "one")
    begun = run(lambda comm: slides(comm, tmp_path / "two", 4), 2)
    assert begun[0] == begun[1]
    assert begun[0][1] == expected[:5]
    for port, rest in run(lambda comm: slides(comm, tmp_path / "two"), 2):
        assert port > 0
        assert rest == expected[4:]
    for name in ("busy.csv", "heavy.csv"):
        assert (tmp_path / "two" / name).read_text() == (tmp_path / "one" / name).read_text()
        assert len((tmp_path / "one" / name).read_text().splitlines()) > 3
