"""Where events come from, what happens to bad and late ones, and the job around the window."""

from __future__ import annotations

import csv
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ring_check import check_ring
from window_of import window_of

import suricate as su
import suricate.stream as st
from suricate.errors import (
    CapacityError,
    DTypeError,
    FileFormatError,
    LateEventError,
    ParameterError,
    RequirementError,
    ShapeError,
    VertexRangeError,
    WeightError,
)

CPU = {"device": "cpu"}


def ends(job: st.Window) -> list:
    """The end and the number of edges of each slide."""
    return [(w.end, w.graph.num_edges) for w in job]


# -- windows of counts and steps, dates --------------------------------------------------------------------------------


def test_windows_of_counts_hold_the_last_events() -> None:
    chunks = [{"src": [0, 1], "dst": [1, 2]}, {"src": [2], "dst": [3]}, {"src": [3, 4], "dst": [4, 5]}]
    job = st.Window(chunks, size=3, slide=2, graph=CPU)
    assert [(w.start, w.end, w.events, w.graph.num_edges, w.partial) for w in job] == [
        (-1, 2, 2, 2, False), (1, 4, 2, 3, False), (3, 6, 1, 2, True),
    ]  # fmt: skip


def test_steps_end_where_the_source_says() -> None:
    chunks = [
        {"src": [0, 1], "dst": [1, 2]},
        st.MARK,
        st.MARK,
        {"src": [2], "dst": [3]},
        {"src": [0], "dst": [3]},
        st.MARK,
    ]
    assert ends(st.Window(chunks, slide="step", graph=CPU)) == [(1, 2), (3, 4)]
    assert ends(st.Window(chunks, size=1, slide="step", graph=CPU)) == [(1, 2), (2, 0), (3, 2)]
    with pytest.raises(RequirementError, match="slide='step'"):
        ends(st.Window(chunks, size=3, slide=1, graph=CPU))


def test_dates_end_at_dates() -> None:
    time = np.array(["2026-03-01T10:00", "2026-03-01T23:59", "2026-03-03T00:00"], "M8[m]")
    job = st.Window({"time": time, "src": [0, 1, 2], "dst": [1, 2, 3]}, size="2d", slide="1d", graph=CPU)
    assert [(str(w.end)[:10], w.graph.num_edges, w.partial) for w in job] == [
        ("2026-03-02", 2, False), ("2026-03-04", 1, True)
    ]  # fmt: skip


def test_seconds_need_a_unit() -> None:
    events = {"time": [0, 5000, 90_000], "src": [0, 1, 2], "dst": [1, 2, 3]}
    with pytest.raises(ParameterError, match="time_unit='s'"):
        ends(st.Window(events, size="7d", slide="1d", graph=CPU))
    days = ends(st.Window(st.source(events, time_unit="s"), size="1d", slide="1d", graph=CPU))
    assert [edges for _, edges in days] == [2, 1]
    with pytest.raises(ParameterError, match="has no unit"):
        ends(st.Window(st.source(events, time_unit="s"), size="10", slide="1", graph=CPU))


@pytest.mark.parametrize("empty", ["skip", "emit"])
def test_gaps(empty: str) -> None:
    events = {"time": [0, 10], "src": [0, 1], "dst": [1, 2]}
    shown = {"skip": [(2, 1), (4, 0), (12, 1)], "emit": [(2, 1), (4, 0), (6, 0), (8, 0), (10, 0), (12, 1)]}
    assert ends(st.Window(events, size="2", slide="2", empty=empty, graph=CPU)) == shown[empty]


def test_slides_can_stay_open_at_the_end() -> None:
    events = {"time": [0, 3, 5], "src": [0, 1, 2], "dst": [1, 2, 3]}
    assert ends(st.Window(events, slide="2", at_end="hold", graph=CPU)) == [(2, 1), (4, 2)]


def test_sums_of_floats_are_sums_of_slides() -> None:
    """(0.1 + 0.2) + (0.3 + 0.4) where the first two entered with one slide; nothing is subtracted afterwards."""
    events = {"time": [0, 1, 2, 3, 12], "src": [0] * 5, "dst": [1] * 5, "weight": [0.1, 0.2, 0.3, 0.4, 1e20]}
    job = st.Window(events, size="10", slide="2", combine="sum", graph=CPU)
    found = [float(w.graph.edges().weight[0]) for w in job if w.graph.num_edges]
    assert found == [0.1 + 0.2, (0.1 + 0.2) + (0.3 + 0.4), 0.3 + 0.4, 1e20]


def test_sums_of_whole_numbers_are_exact_or_an_error() -> None:
    events = {"src": [0, 0, 4], "dst": [1, 1, 5], "weight": [2**53 - 1, 1, 1]}
    job = st.Window(events, size=3, slide=1, combine="sum", graph=CPU)
    assert [int(w.graph.edges().weight[0]) for w in job] == [2**53 - 1, 2**53, 2**53]
    events["weight"] = [2**53 - 1, 2, 1]
    with pytest.raises(WeightError, match=r"edge \(0, 1\)"):
        ends(st.Window(events, size=3, slide=1, combine="sum", graph=CPU))
    events["weight"] = [2**63 - 1, 2**62, 1]
    with pytest.raises(WeightError, match=r"edge \(0, 1\)"):
        ends(st.Window(events, size=3, slide=3, combine="sum", graph=CPU))


def test_rings_grow_and_wrap() -> None:
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 60, (2, 30_000))
    sizes = rng.integers(1, 3000, 100)
    cuts = np.cumsum(sizes[np.cumsum(sizes) < 30_000])
    chunks = [{"src": a, "dst": b} for a, b in zip(np.split(src, cuts), np.split(dst, cuts), strict=True)]
    job = st.Window(chunks, size=7000, slide=500, combine="count", graph=CPU)
    for w in job:
        last = slice(max(w.end - 7000, 0), min(w.end, 30_000))
        pairs, count = np.unique(np.stack([src[last], dst[last]]), axis=1, return_counts=True)
        found = w.graph.edges()
        order = np.lexsort((found.dst, found.src))
        np.testing.assert_array_equal(np.stack([found.src[order], found.dst[order]]), pairs)
        np.testing.assert_array_equal(found.weight[order], count)
    check_ring(job.contents.ring)


# -- late, bad ---------------------------------------------------------------------------------------------------------


def test_late_events_are_counted_written_or_an_error(tmp_path: Path) -> None:
    events = {"time": [0, 5, 1, 6, 2], "src": [0, 1, 2, 3, 4], "dst": [1, 2, 3, 4, 5]}
    job = st.Window(events, slide="2", graph=CPU)
    assert ends(job) == [(2, 1), (6, 2), (8, 3)]
    assert job.late == 2
    assert [w.late for w in st.Window(events, slide="2", lateness="4", graph=CPU)] == [0, 0, 0, 0]
    list(st.Window(events, slide="2", late=tmp_path / "late.csv", graph=CPU))
    rows = [*csv.reader((tmp_path / "late.csv").read_text().splitlines())]
    assert [row[:3] for row in rows] == [["time", "src", "dst"], ["1", "2", "3"], ["2", "4", "5"]]
    with pytest.raises(LateEventError, match="2 -> 3 at 1"):
        list(st.Window(events, slide="2", late="raise", graph=CPU))


def test_events_far_ahead_do_not_move_the_watermark() -> None:
    events = {"time": [0, 1, 10**6, 2, 3], "src": [0, 1, 2, 3, 4], "dst": [1, 2, 3, 4, 5]}
    job = st.Window(st.source(events, on_error="skip"), slide="2", ahead="100", graph=CPU)
    assert ends(job) == [(2, 2), (4, 4)]
    assert job.skipped == 1
    with pytest.raises(ParameterError, match="ahead"):
        list(st.Window(events, slide="2", ahead="100", graph=CPU))


@pytest.mark.parametrize(
    ("column", "values", "error"),
    [
        ("src", [0, -1, 2], VertexRangeError), ("dst", [1, 2**40, 3], VertexRangeError),
        ("weight", [1.0, np.nan, 2], WeightError),
        ("time", [1.0, np.nan, 3.0], ParameterError), ("src", [0.5, 1, 2], DTypeError), ("src", [0, 1], ShapeError),
        ("kind", [1, 2, 1], ParameterError), ("kind", ["insert", "upsert", "delete"], ParameterError),
    ],
)  # fmt: skip
def test_bad_columns(column: str, values: list, error: type[Exception], tmp_path: Path) -> None:
    events = {"time": [1, 2, 3], "src": [0, 1, 2], "dst": [1, 2, 3], "weight": [1.0, 2, 3], column: values}
    with pytest.raises(error):
        list(st.Window(events, slide="1", graph=CPU))
    if error in (VertexRangeError, WeightError) or column == "time":
        job = st.Window(st.source(events, on_error=tmp_path / "bad.csv"), slide="1", graph=CPU)
        assert ends(job)[-1][1] == 2
        assert job.skipped == 1
        assert len((tmp_path / "bad.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "slide must be"), ({"slide": "1d", "size": "1h"}, "longer than"), ({"slide": 4, "size": 3}, "larger than"),
        ({"slide": "1d", "size": 5}, "counts events"), ({"slide": 1, "lateness": "1h"}, "windows of time"),
        ({"slide": "1x"}, "unknown unit"), ({"slide": "0"}, "longer than nothing"), ({"slide": True}, "slide"),
        ({"slide": "1", "combine": "mean"}, "combine"), ({"slide": "-1"}, "slide"), ({"slide": 0}, "slide"),
        ({"slide": "1", "late": "skip"}, "late must be"), ({"slide": "1", "graph": 3}, "graph must be"),
        ({"slide": "1", "columns": {"source": "a"}}, "'source' is neither one of time, src, .* nor an attribute"),
        ({"slide": "1", "columns": ["a"]}, "columns must be a dict"), ({"slide": "1", "order": "src"}, "order must be"),
        ({"slide": "1", "order": "time", "prefetch": 2}, "read as a whole"),
        ({"slide": "1", "prefetch": -1}, "prefetch"),
        ({"slide": "1", "on_error": "ignore"}, "on_error must be"),
        ({"slide": "1", "graph": {"weights": "float32"}}, "has an option 'weights'"),
        ({"slide": "1", "graph": {"threads": "all"}}, "threads"),
    ],
)  # fmt: skip
def test_wrong_options(options: dict, reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        window_of({"time": [1], "src": [0], "dst": [1]}, **options)


def test_wrong_parameters_of_trackers_and_times_that_are_texts() -> None:
    job = st.Window(iter([]), slide=1, size=1, graph=CPU)
    with pytest.raises(ParameterError, match=r"'damping' \(its parameters: alpha"):
        job.track("pagerank", damping=0.8)
    with pytest.raises(DTypeError, match="reads texts of ISO"):
        next(st.Window({"time": ["2026-03-01"], "src": [0], "dst": [1]}, slide="1d", graph=CPU))


# -- sources -----------------------------------------------------------------------------------------------------------


def test_chains_and_merges() -> None:
    a = {"time": [1, 4, 2], "src": [0, 1, 2], "dst": [1, 2, 3]}
    b = {"time": [1, 3], "src": [5, 6], "dst": [6, 7]}
    merged = [chunk for _, chunk in st.merge(a, b).read()]
    assert [t for chunk in merged for t in np.asarray(chunk["time"]).tolist()] == [1, 1, 3, 4, 2]
    assert [s for chunk in merged for s in np.asarray(chunk["src"]).tolist()] == [0, 5, 6, 1, 2]
    job = st.Window(st.chain(a, b), slide="2", graph=CPU)
    assert ends(job)[-1][1] == 2
    assert job.late == 3  # the watermark of the first goes on
    merge = st.merge([a, a], [b, b])
    whole = list(merge.read())
    for number, (position, _) in enumerate(whole):
        rest = [chunk for _, chunk in merge.read(position)]
        assert [c["time"].tolist() for c in rest] == [c["time"].tolist() for _, c in whole[number + 1 :]]


def test_functions_go_on_from_a_position() -> None:
    def rows(position: int | None):
        for at in range(position or 0, 3):
            yield at + 1, {"src": [at], "dst": [at + 1]}

    assert [position for position, _ in st.source(rows).read(2)] == [3]
    assert ends(st.Window(st.source(rows), size=2, slide=1, graph=CPU)) == [(1, 1), (2, 2), (3, 2)]


def test_times_are_sorted_on_demand() -> None:
    events = {"time": [5, 1, 3], "src": [0, 1, 2], "dst": [1, 2, 3]}
    job = st.Window(st.source(events, order="time"), slide="2", graph=CPU)
    assert ends(job) == [(2, 1), (4, 2), (6, 3)]
    assert job.late == 0


@pytest.mark.parametrize("form", ["txt", "csv", "txt.gz", "parquet", "arrow", "arrows"])
def test_scans(form: str, tmp_path: Path) -> None:
    src, dst, time = np.arange(50) % 7, np.arange(50) % 5 + 1, np.arange(50) * 60 + 10**9
    columns = {"src": src, "dst": dst, "time": time}
    for part in range(2):
        rows = slice(25 * part, 25 * part + 25)
        _write(tmp_path / f"part{part}.{form}", {name: column[rows] for name, column in columns.items()})
    expected = ends(st.Window(st.source(columns, time_unit="s"), size="20min", slide="5min", graph=CPU))
    source = st.scan(tmp_path, src=0, dst=1, time=2)
    assert ends(st.Window(source, size="20min", slide="5min", graph=CPU)) == expected
    assert (
        ends(
            st.Window(st.scan(str(tmp_path / f"*.{form}"), src=0, dst=1, time=2), size="20min", slide="5min", graph=CPU)
        )
        == expected
    )
    chunks = list(source.read())
    assert sum(len(chunk["src"]) for _, chunk in chunks) == 50
    assert len(chunks) > 1
    for number, (position, _) in enumerate(chunks, 1):
        rest = [np.asarray(chunk["src"]).tolist() for _, chunk in source.read(position)]
        assert rest == [np.asarray(chunk["src"]).tolist() for _, chunk in chunks[number:]]
    with pytest.raises(ParameterError, match="no file"):
        st.scan(tmp_path / "nothing")


def _write(path: Path, columns: dict[str, np.ndarray]) -> None:
    if "txt" in path.name or path.suffix == ".csv":
        import gzip

        separator = "," if path.suffix == ".csv" else " "
        text = "".join(separator.join(map(str, row)) + "\n" for row in zip(*columns.values(), strict=True))
        with gzip.open(path, "wt") if path.suffix == ".gz" else open(path, "w") as file:
            file.write(text)
        return
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    table = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
        return
    with (pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file)(path, table.schema) as writer:
        writer.write_table(table)


def test_scans_of_arrow_streams_by_another_name_and_of_damaged_tables(tmp_path: Path) -> None:
    """Scans open tables as ``su.read`` does."""
    columns = {"src": np.arange(3), "dst": np.arange(3) + 1}
    stream = tmp_path / "stream.arrow"
    _write(tmp_path / "a.arrows", columns)
    (tmp_path / "a.arrows").rename(stream)
    assert [np.asarray(chunk["dst"]).tolist() for _, chunk in st.scan(stream).read()] == [[1, 2, 3]]
    for form in ("parquet", "arrow"):
        path = tmp_path / f"whole.{form}"
        _write(path, columns)
        (tmp_path / f"cut.{form}").write_bytes(path.read_bytes()[:-30])
        with pytest.raises(FileFormatError, match=f"cut.{form}"):
            list(st.scan(tmp_path / f"cut.{form}").read())


def test_names_in_files(tmp_path: Path) -> None:
    """Texts stay in the bytes of their chunk, through sorting, merging and going on, quoted ones and no UTF-8, too."""
    first = tmp_path / "a.csv"
    first.write_bytes(b'src,dst,time\nann,"b ""o"" b",3\nx\xffy,ann,1\nann,cid,5\n')
    second = tmp_path / "b.csv"
    second.write_text("src,dst,time\ndan,ann,2\ncid,dan,4\n")
    pairs = [("x\udcffy", "ann"), ("dan", "ann"), ("ann", 'b "o" b'), ("cid", "dan"), ("ann", "cid")]

    def found(source: st.Source, **options) -> list[tuple]:
        job, seen = st.Window(source, size="1s", slide="1s", names=True, graph=CPU, **options), []
        for w in job:
            src, dst, _ = w.graph.edges()
            seen += zip(job.names[src].tolist(), job.names[dst].tolist(), strict=True)
        return seen

    scans = [st.scan(path, encoding="bytes") for path in (first, second)]
    assert found(st.source(st.chain(*scans), order="time")) == pairs
    assert found(st.merge(*scans), lateness="9s") == pairs
    behind = ("b.csv", None, len("src,dst,time\ndan,ann,2\n"), 0, 0)
    assert next(iter(scans[1].read(((), behind))))[1]["src"].spans.shape == (1,)
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("src,dst,time\n007,7,1\n")
    assert found(st.scan(numbers, texts=True)) == [("007", "7")]
    assert found(st.scan(numbers)) == [("007", "7")]
    for pairs in [(-4, 7), (5, -4), (2**63 - 1, 2**40)], [(2**64 - 1, 2**63), (0, 1)]:
        numbers.write_text("src,dst,time\n" + "".join(f"{u},{v},{at}\n" for at, (u, v) in enumerate(pairs)))
        assert found(st.scan(numbers)) == pairs
        with pytest.raises(VertexRangeError, match=f"src: {pairs[0][0]} is no id"):
            next(st.Window(st.scan(numbers), size=1, slide=1, graph=CPU))
    numbers.write_text(f"src,dst,time\n-4,3,1\n5,{2**63},1\n")
    with pytest.raises(FileFormatError, match=r"ids below 0 and ids from 2\*\*63"):
        found(st.scan(numbers))
    with pytest.raises(DTypeError, match="names=True"):
        next(st.Window(scans[0], size="1s", slide="1s", graph=CPU))


@pytest.mark.parametrize("named", [False, True])
def test_malformed_rows_of_files(named: bool, tmp_path: Path) -> None:
    """Counted or written, wherever they are, and however many; what is between them is read; positions count them."""
    rng = np.random.default_rng(3)
    good = [f"{'n' * named}{u},{'n' * named}{v},{at}" for at, (u, v) in enumerate(rng.integers(0, 9, (9000, 2)))]
    bad = ["1,2", "1,2,3,4", "1,2,x", ',,"', "1;2;3", "9,9,99999999999999999999"]
    lines = ["src,dst,time"]
    for line in good:
        lines += [line, *rng.choice(bad, int(rng.random() < 0.2))]
    lines.append("5,5")  # cut off
    (tmp_path / "events.csv").write_text("\n".join(lines))

    def job_of(on_error: str | Path, **options) -> st.Window:
        source = st.scan(tmp_path / "events.csv", on_error=on_error)
        return st.Window(source, size="600s", slide="600s", names=named or None, graph=CPU, **options)

    with pytest.raises(FileFormatError):
        list(job_of("raise"))
    job = job_of("skip")
    assert [w.events for w in job] == [600] * 15
    assert job.skipped == len(lines) - 1 - len(good)
    path, options = tmp_path / "bad.csv", {"checkpoint": tmp_path / "state", "checkpoint_every": 1}
    for number, _ in enumerate(job_of(path, **options)):
        if number == 7:
            break
    job = job_of(path, **options)
    assert [w.events for w in job] == [600] * 8
    assert job.skipped == len(lines) - 1 - len(good)
    written = path.read_text().splitlines()
    assert len(written) == 1 + job.skipped
    assert written[-1].endswith(': 5,5"') or written[-1].endswith(": 5,5")
    assert f"events.csv:{len(lines)}:" in written[-1]


def test_trackers_take_vertices_of_the_first_slide() -> None:
    events = {"time": [1, 2, 3], "src": ["ann", "bob", "ann"], "dst": ["bob", "cid", "dan"]}
    job = st.Window(events, size=None, slide="1", names=True, graph=CPU)
    search = job.track("bfs", source="ann")
    assert [max(search.result.level.tolist()) for _ in job] == [1, 2, 2]


# -- the job -----------------------------------------------------------------------------------------------------------


def test_trackers_follow_the_slides() -> None:
    rng = np.random.default_rng(2)
    src, dst = rng.integers(0, 30, (2, 400))
    job = st.Window({"src": src, "dst": dst}, size=60, slide=20, graph=CPU)
    ranks, parts, often = job.track("pagerank"), job.track("wcc"), job.track("wcc", every=3)
    with pytest.raises(RequirementError, match="first slide"):
        _ = parts.result
    with job:
        for number, w in enumerate(job, 1):
            fresh = su.Graph(w.graph.num_vertices, device="cpu", in_edges=True)
            fresh.insert_edges(*w.graph.edges()[:2])
            assert parts.result.num_components == fresh.compute("wcc").num_components
            assert abs(ranks.result - fresh.compute("pagerank")).sum() < 3e-4
            if number % 3 == 0:
                assert often.result.num_components == parts.result.num_components
    assert job.history["events"].tolist() == [20] * 20
    with pytest.raises(RequirementError, match="before the loop"):
        job.track("bfs", source=0)


def test_a_slide_that_does_not_fit_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    job = st.Window({"src": [0, 1, 2], "dst": [1, 2, 3]}, size=2, slide=1, graph=CPU)
    next(job)
    apply = su.Graph._update
    monkeypatch.setattr(su.Graph, "_update", lambda *_, **__: (_ for _ in ()).throw(CapacityError("full")))
    with pytest.raises(CapacityError):
        next(job)
    monkeypatch.setattr(su.Graph, "_update", apply)
    assert ends(job) == [(2, 2), (3, 2)]


def test_errors_end_the_job_for_good() -> None:
    job = st.Window([{"src": [0], "dst": [1]}, {"src": [-1], "dst": [1]}], size=1, slide=1, graph=CPU)
    next(job)
    for _ in range(2):
        with pytest.raises(VertexRangeError):
            next(job)


def test_a_signal_ends_the_loop_after_the_slide() -> None:
    job = st.Window({"src": [0, 1, 2], "dst": [1, 2, 3]}, size=1, slide=1, graph=CPU)
    before = signal.getsignal(signal.SIGTERM)
    seen = []
    with job:
        for w in job:
            seen.append(w.end)
            if w.end == 2:
                os.kill(os.getpid(), signal.SIGTERM)
    assert seen == [1, 2]
    assert job.stopped == "SIGTERM"
    assert signal.getsignal(signal.SIGTERM) is before


def test_sinks(tmp_path: Path) -> None:
    rows: list = []
    job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=1, slide=1, graph=CPU)
    sinks = [job.sink(tmp_path / name) for name in ("a.csv", "a.jsonl")] + [job.sink(lambda *row: rows.append(row))]
    with job:
        for w in job:
            for sink in sinks:
                sink.write({"edges": w.graph.num_edges, "vertex": [w.end]})
    assert (tmp_path / "a.csv").read_text().split() == ["end,edges,vertex", "1,1,1", "2,1,2"]
    assert (tmp_path / "a.jsonl").read_text().splitlines()[1] == '{"end": 2, "edges": 1, "vertex": 2}'
    assert [end for end, _ in rows] == [1, 2]
    (tmp_path / "full.csv").symlink_to("/dev/full")
    full = job.sink(tmp_path / "full.csv")
    for write in partial(full.write, {"edges": 1}), full.close:
        with pytest.raises(OSError, match=r"full\.csv"):
            write()
    with pytest.raises(ParameterError, match="a sink is"):
        job.sink("results.xyz")


@pytest.mark.parametrize("names", [True, None])
def test_chunks_without_rows_say_nothing(names: bool | None) -> None:
    """A consumer that found nothing hands over empty lists, which have no type."""
    some = {"time": [1, 2, 9], "src": [1, 2, 3], "dst": [2, 3, 1], "weight": [1, 2, 3]}
    empty: dict[str, list[int]] = {name: [] for name in some}
    options: dict[str, Any] = {"size": "5s", "slide": "1s", "names": names, "graph": {"device": "cpu"}}

    def slides(*parts: dict[str, list[int]]) -> list[tuple]:
        source = st.source(lambda position: enumerate(parts[position or 0 :], 1 + (position or 0)), time_unit="s")
        return [(w.end, w.events, w.graph.num_edges) for w in st.Window(source, combine="sum", **options)]

    assert slides(empty, some, empty, empty) == slides(some)
    assert slides(empty) == []


def test_what_a_source_takes_itself_is_refused() -> None:
    source = st.source(lambda position: iter([]))
    for options in ({"time_unit": "s"}, {"columns": {"src": "payer"}}, {"prefetch": 1}, {"on_error": "skip"}):
        with pytest.raises(ParameterError, match="to the source that this wraps"):
            st.source(source, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [6, "6"])
@pytest.mark.parametrize("dtype", ["uint32", "int64"])
def test_a_source_may_write_the_next_chunk_to_the_same_arrays(size: int | str, dtype: str) -> None:
    """A slide holds two chunks; whichever dtypes need no conversion."""
    src, dst, kind = np.zeros(3, dtype), np.arange(3).astype(dtype), np.ones(3, np.int8)
    time, weight = np.zeros(3, np.int64), np.zeros(3)

    def chunks() -> Iterator[dict[str, np.ndarray]]:
        for at in range(4):
            src[:], weight[:], kind[:] = at, at, 0 if at == 2 else 1
            time[:] = range(3 * at, 3 * at + 3)
            yield {"src": src, "dst": dst, "time": time, "weight": weight, "kind": kind}

    found = [
        sorted(zip(*(part.tolist() for part in w.graph.edges()), strict=True))
        for w in st.Window(chunks(), size=size, slide=size, graph={"device": "cpu"})
    ]
    assert found == [[(u, v, u) for u in pair for v in range(3)] for pair in ((0, 1), (2, 3))]
