"""Rows without a name or a usable time, in dicts and frames; dates of Python and pandas."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from window_of import window_of

import suricate as su
import suricate.stream as st
from suricate.errors import DTypeError, ParameterError, ShapeError, WeightError

pytestmark = pytest.mark.plain
CPU = {"device": "cpu"}


def found(source: Any, **options: Any) -> tuple[int, list[tuple[Any, Any]]]:
    """Return how many events were skipped, and the edges of the last slide, by name or id."""
    job = window_of(source, size="1d", slide="1d", graph=CPU, **options)
    edges: list[tuple[Any, Any]] = []
    for w in job:
        src, dst, _ = w.graph.edges()
        ends = (src, dst) if job.names is None else (job.names[src], job.names[dst])
        edges = sorted(zip(*(part.tolist() for part in ends), strict=True))
    return job.skipped, edges


@pytest.mark.parametrize("missing", [None, float("nan"), "NA", "pandas", "arrow"])
def test_rows_without_a_name(missing: Any, tmp_path: Path) -> None:
    src: Any = ["ann", missing, "cleo"]
    if isinstance(missing, str):
        pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
        src = ["ann", pandas.NA, "cleo"] if missing == "NA" else ["ann", None, "cleo"]
        src = arrow.array(src) if missing == "arrow" else pandas.Series(src, dtype=object)
    events = {"time": [1, 2, 3], "src": src, "dst": ["bob", "bob", "dan"]}
    with pytest.raises(DTypeError, match=r"^src: names\[1\] is missing .* on_error='skip' leaves such events out"):
        found(events, names=True, time_unit="s")
    options = {"names": True, "time_unit": "s", "on_error": tmp_path / "bad.csv"}
    assert found(events, **options) == (1, [("ann", "bob"), ("cleo", "dan")])
    assert (tmp_path / "bad.csv").read_text().splitlines()[1].startswith("1970-01-01T00:00:02.000000000,,bob,")


@pytest.mark.parametrize("make", [list, np.array], ids=["list", "array"])
def test_names_that_utf_8_cannot_write(make: Any, tmp_path: Path) -> None:
    events = {"time": make([1, 2, 3]), "src": make(["ann", "b\ud800", "cleo"]), "dst": make(["bob", "bob", "dan"])}
    with pytest.raises(DTypeError, match=r"^src: names\[1\] is .*, which cannot be written as UTF-8; on_error='skip'"):
        found(events, names=True, time_unit="s")
    options = {"names": True, "time_unit": "s", "on_error": tmp_path / "bad.csv"}
    assert found(events, **options) == (1, [("ann", "bob"), ("cleo", "dan")])
    assert (tmp_path / "bad.csv").read_text().splitlines()[1].startswith("1970-01-01T00:00:02.000000000,,bob,")


@pytest.mark.parametrize("weights", [[1, 2, None], [0.5, 1.5, float("nan")]])
def test_what_is_deleted_needs_no_weight(weights: Any) -> None:
    events = {"time": [1, 2, 3], "src": [1, 2, 1], "dst": [2, 3, 2], "weight": weights, "kind": ["+", "+", "delete"]}
    assert found(st.source(events, time_unit="s")) == (0, [(2, 3)])
    with pytest.raises(WeightError, match="a value is missing"):
        found(st.source(events | {"kind": ["+", "delete", "+"]}, time_unit="s"))


def test_lists_are_not_made_texts() -> None:
    """As NumPy makes them of a list in which one value is a text."""
    events = {"time": [1, 2], "src": ["ann", 1], "dst": ["bob", "bob"]}
    with pytest.raises(DTypeError, match=r"names\[1\] is 1"):
        found(events, names=True, time_unit="s")
    events = {"time": [1, 2, 3], "src": ["a", "a\0", "b"], "dst": ["b", "b", "b"], "place": ["x", float("nan"), "y"]}
    options = {"names": True, "time_unit": "s", "on_error": "skip"}
    assert found(events, **options) == (0, [("a", "b"), ("a\0", "b"), ("b", "b")])
    assert found(events, attributes={"place": "last"}, **options) == (1, [("a", "b"), ("b", "b")])


def test_rows_without_a_number_as_name() -> None:
    events = {"time": [1, 2, 3], "src": [7, 8, 2**40], "dst": [None, 9, None]}
    assert found(events, names=True, time_unit="s", on_error="skip") == (2, [(8, 9)])
    nothing = {"time": [1], "src": [7], "dst": [None]}
    assert found(nothing, names=True, time_unit="s", on_error="skip")[1] == []


@pytest.mark.parametrize(
    ("unit", "times", "error"),
    [
        ("s", [1, 1_700_000_000_000, 3], r"1700000000000 is out of range, in 's': years 1824 to 2116; time_unit="),
        ("s", [1, -(10**10), 3], "-10000000000 is out of range"),
        ("ms", [1.0, 1e300, 3.0], r"1e\+300 is out of range"),
        (None, np.array(["1970-01-01", "9999-01-01", "1970-01-01"], "M8[s]"), "about 1824 to 2116"),
        (None, np.array(["1970-01-01", "NaT", "1970-01-01"], "M8[s]"), "missing"),
        (None, [datetime.datetime(1970, 1, 1), None, datetime.datetime(1970, 1, 1, 1)], "missing"),
    ],
)
def test_times_that_are_missing_or_out_of_range(unit: str | None, times: Any, error: str) -> None:
    events = {"time": times, "src": [0, 1, 2], "dst": [1, 2, 3]}
    with pytest.raises(ParameterError, match=rf"{error}.*on_error='skip' leaves such events out"):
        found(events, time_unit=unit)
    assert found(events, time_unit=unit, on_error="skip") == (1, [(0, 1), (2, 3)])


@pytest.mark.parametrize("times", [["2026-03-01", "2026-03-02"], np.array(["2026-03-01", "2026-03-02"], object)])
def test_times_that_are_texts_are_told_how_to_be_dates(times: Any) -> None:
    with pytest.raises(DTypeError, match=r"pandas\.to_datetime\(times\) reads texts"):
        found({"time": times, "src": [1, 2], "dst": [2, 3]})


def test_dates_beyond_nanoseconds_do_not_wrap() -> None:
    pandas = pytest.importorskip("pandas")
    near, far = pandas.Timestamp("2020-01-01 00:00:00.000000001"), pandas.Timestamp("3000-01-01")
    events = {"time": [near, far, near, pandas.NaT], "src": [0, 1, 2, 3], "dst": [1, 2, 3, 4]}
    job = st.Window(st.source(events, on_error="skip"), size="1d", slide="1d", graph=CPU)
    assert [(str(w.end)[:10], w.events) for w in job] == [("2020-01-02", 2)]
    assert job.skipped == 2
    with pytest.raises(ParameterError, match="out of the range of nanoseconds, about 1824 to 2116"):
        [*st.Window({key: part[:2] for key, part in events.items()}, size="1d", slide="1d", graph=CPU)]
    with pytest.raises(ParameterError, match="is out of range"):
        [*st.Window({"time": [1, 2**70], "src": [0, 1], "dst": [1, 2]}, size="5", slide="5", graph=CPU)]


@pytest.mark.parametrize(
    ("kinds", "valid"),
    [
        (["insert", None, "-", "x", "set"], [1, -1, 0]),
        ([1, None, -1, 7, 0], [1, -1, 0]),
        (np.array([1, np.nan, -1, 0.5, 0]), [1, -1, 0]),
        ([1, -128, -1, 2**40, 0], [1, -1, 0]),
    ],
)
def test_rows_of_no_kind(kinds: Any, valid: list[int], tmp_path: Path) -> None:
    events = {"src": [0, 5, 0, 6, 1], "dst": [1, 5, 1, 6, 2], "kind": kinds}
    with pytest.raises(ParameterError, match="kind must be"):
        [*st.Window(events, size=9, slide=9, graph=CPU)]
    bad = tmp_path / "bad.csv"
    job = st.Window(st.source(events, on_error=bad), size=9, slide=9, graph=CPU)
    (w,) = job
    assert (w.events, w.skipped, w.taken, w.unmatched) == (len(valid), 2, 1, 1)
    rows = [line.split(",") for line in bad.read_text().splitlines()[1:]]
    assert [(row[1], row[2], row[4]) for row in rows] == [("5", "5", ""), ("6", "6", "")]


def test_dates_with_time_zones_are_converted() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    aware = [datetime.datetime(2026, 3, 1, 1, tzinfo=zone), datetime.datetime(2026, 3, 1, 3, tzinfo=zone)]
    mixed = {"time": [aware[0], datetime.datetime(2026, 3, 1, 1)], "src": [0, 1], "dst": [1, 2]}
    with pytest.raises(ParameterError, match="some times have a zone, others have none"):
        found(mixed)
    kinds: list[Any] = [aware]
    pandas = pytest.importorskip("pandas")
    kinds += [pandas.Series(aware), pandas.Series(aware, dtype=object), list(pandas.Series(aware))]
    for times in kinds:
        job = st.Window({"time": times, "src": [0, 1], "dst": [1, 2]}, size="1h", slide="1h", graph=CPU)
        assert [str(w.end)[:16] for w in job] == ["2026-03-01T00:00", "2026-03-01T01:00", "2026-03-01T02:00"]
    days = [datetime.date(2026, 3, 1), datetime.date(2026, 3, 2)]
    job = st.Window({"time": days, "src": [0, 1], "dst": [1, 2]}, size="1d", slide="1d", graph=CPU)
    assert [str(w.end)[:10] for w in job] == ["2026-03-02", "2026-03-03"]


def test_times_of_pandas_with_a_zone_are_arrays_and_sorted_with_those_without() -> None:
    pandas = pytest.importorskip("pandas")
    aware = pandas.Series(["2026-03-01T03:00+02:00", None, "2026-03-01T01:30+02:00"], dtype="datetime64[s, UTC+02:00]")
    chunk = {"time": aware, "src": [0, 1, 2], "dst": [1, 2, 3]}
    for times in (aware, pandas.DatetimeIndex(aware)):
        ((_, columns),) = st.source({**chunk, "time": times}).read()
        assert columns["time"].dtype.kind == "M"
        assert columns["time"].astype("M8[m]").astype(str).tolist() == ["2026-03-01T01:00", "NaT", "2026-02-28T23:30"]
    naive = {"time": np.array(["2026-03-01T00:30"], "M8[s]"), "src": [5], "dst": [6]}
    ((_, columns),) = st.source([chunk, naive], order="time").read()
    assert columns["src"].tolist() == [2, 5, 0, 1]


def test_missing_names_of_pandas_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DTypeError, match=r"names\[1\] is missing"):
        su.Names().intern(pandas.Series(["a", pandas.NA], dtype=object))


COLUMNS = {
    "list": list,
    "arrow": lambda values: pytest.importorskip("pyarrow").array(values),
    "arrow chunks": lambda values: pytest.importorskip("pyarrow").chunked_array([values[:1], values[1:]]),
    "pandas, nullable": lambda values: pytest.importorskip("pandas").Series(values, dtype="Int64"),
    "polars": lambda values: pytest.importorskip("polars").Series(values),
}
LARGE = 2**53 + 1  #: a float cannot hold it


@pytest.mark.parametrize("kind", COLUMNS)
def test_nulls_among_integers_of_every_library(kind: str) -> None:
    column = COLUMNS[kind]
    events = {"time": [1, 2, 3], "src": column([7, None, 3]), "dst": column([1, 2, None])}
    with pytest.raises(su.errors.VertexRangeError, match=r"src: an id is missing.*on_error='skip'"):
        found(events, time_unit="s")
    assert found(events, time_unit="s", on_error="skip") == (2, [(7, 1)])
    events["src"] = column([LARGE, None, LARGE])
    with pytest.raises(DTypeError, match=r"src: names\[1\] is missing.*on_error='skip'"):
        found(events, names=True, time_unit="s")
    assert found(events, names=True, time_unit="s", on_error="skip") == (2, [(LARGE, 1)])
    events = {"time": column([LARGE, None]), "src": [0, 1], "dst": [1, 2]}
    with pytest.raises(ParameterError, match="time: a time is missing"):
        found(events, time_unit="ns")
    job = st.Window(st.source(events, time_unit="ns", on_error="skip"), size=None, slide="1ns", graph=CPU)
    assert [int(w.end.astype(np.int64)) for w in job] == [LARGE + 1]


@pytest.mark.parametrize("kind", COLUMNS)
def test_nulls_among_weights_and_attributes(kind: str) -> None:
    chunks = [
        {"src": [0, 1, 0], "dst": [1, 2, 1], "weight": COLUMNS[kind](values), "fee": COLUMNS[kind](values)}
        for values in ([5, 6, 7], [1, None, 2])
    ]
    graph = {**CPU, "edge_columns": {"fee": "int64"}}
    options: dict[str, Any] = {"size": 5, "slide": 5, "combine": "sum", "attributes": {"fee": "sum"}}
    with pytest.raises(su.errors.WeightError, match="a value is missing"):
        list(st.Window(chunks, graph=graph, **options))
    job = st.Window(st.source(chunks, on_error="skip"), graph=graph, **options)
    assert [w.graph.edge_columns["fee"].tolist() for w in job] == [[15, 6]]
    assert job.skipped == 1


def test_floats_in_place_of_integers_as_pandas_has_them() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"src": [0, None, 2, 1], "dst": [1, 2, 0, 2], "weight": [1, 2, None, 3]})
    for names in (None, True):
        chunks = [frame[:1], frame[1:]]  # of floats in both
        job = st.Window(st.source(chunks, on_error="skip"), size=2, slide=2, names=names, combine="sum", graph=CPU)
        assert [w.graph.num_edges for w in job] == [2]
        assert job.skipped == 2
    first = frame[:1].astype({"src": "int64", "weight": "int64"})
    job = st.Window(st.source([first, frame[1:]], on_error="skip"), size=2, slide=2, combine="sum", graph=CPU)
    assert [sorted(w.graph.edges().weight.tolist()) for w in job] == [[1.0, 3.0]]


def test_weights_may_be_decimals() -> None:
    arrow = pytest.importorskip("pyarrow")
    weights = [decimal.Decimal("1.10"), decimal.Decimal("2.25"), None]
    for column in (weights, arrow.array(weights, arrow.decimal128(12, 2))):
        events = {"src": [0, 1, 2], "dst": [1, 2, 3], "weight": column, "fee": column}
        with pytest.raises(su.errors.WeightError, match="a value is missing"):
            list(st.Window(events, size=3, slide=3, graph=CPU))
        job = st.Window(st.source(events, on_error="skip"), size=2, slide=2, attributes={"fee": "sum"}, graph=CPU)
        assert [w.graph.edge_columns["fee"].tolist() for w in job] == [[1.1, 2.25]]
        job = st.Window(st.source(events, on_error="skip"), size=2, slide=2, combine="max", graph=CPU)
        assert [w.graph.edges().weight.tolist() for w in job] == [[1.1, 2.25]]


@pytest.mark.parametrize(
    "event",
    [
        {"time": 5, "src": 7, "dst": 8},
        {"time": [5], "src": [7], "dst": [8]},
        {"time": np.int64(5), "src": np.uint8(7), "dst": np.array(8)},
        {"time": np.datetime64(5, "s"), "src": 7, "dst": 8},
        {"time": datetime.datetime.fromtimestamp(5, datetime.UTC), "src": 7, "dst": 8},
    ],
)
def test_a_chunk_may_be_one_event(event: dict[str, Any]) -> None:
    assert found([event, event], names=True, time_unit="s") == (0, [(7, 8)])
    with pytest.raises(su.errors.ShapeError, match="differ in length"):
        found({**event, "dst": [1, 2]}, names=True, time_unit="s")


@pytest.mark.parametrize("library", ["dict", "pandas", "pyarrow", "polars"])
def test_nulls_in_attributes_of_vertices(library: str) -> None:
    rows: dict[str, list[Any]] = {"id": ["ann", "bob", "cid"], "country": ["DE", None, "FR"], "age": [30, None, 50]}
    frame: Any = rows
    if library != "dict":
        module = pytest.importorskip(library)
        frame = module.table(rows) if library == "pyarrow" else module.DataFrame(rows)
    job = st.Window(
        {"src": ["ann", "bob", "dan"], "dst": ["bob", "cid", "ann"]}, size=3, slide=3, names=True, graph=CPU
    )
    job.vertices("country", frame, missing="?")
    job.vertices("age", frame, missing=-1)
    for w in job:
        named = dict(zip(job.names[:].tolist(), w.graph.columns["country"].tolist(), strict=True))
        assert named == {"ann": "DE", "bob": "?", "cid": "FR", "dan": "?"}
        ages = dict(zip(job.names[:].tolist(), w.graph.columns["age"].tolist(), strict=True))
        assert ages == {"ann": 30, "bob": -1, "cid": 50, "dan": -1}


def test_names_that_are_bytes_are_utf_8() -> None:
    events = {"time": [1, 2], "src": [b"Jos\xc3\xa9", b"b"], "dst": [b"b", b"c"]}
    assert found(events, names=True, time_unit="s") == (0, [("José", "b"), ("b", "c")])
    for src in ([b"Jos\xe9", b"b"], np.array([b"Jos\xe9", b"b"])):
        with pytest.raises(DTypeError, match=r"names\[0\] is b'Jos.*not UTF-8: decode it"):
            found({**events, "src": src}, names=True, time_unit="s")


def test_large_integers_in_lists_are_names_to_the_last_digit() -> None:
    """NumPy makes floats of a list that has integers below and beyond 2^63."""
    src = [2**63 + 1, 2**60 + 1, 7]
    edges = sorted(zip(src, reversed(src), strict=True))
    for options in ({}, {"on_error": "skip"}):
        job = {"names": True, "time_unit": "s", **options}
        assert found({"time": [1, 2, 3], "src": src, "dst": src[::-1]}, **job) == (0, edges)


@pytest.mark.parametrize("kind", ["list", "arrow", "pandas", "polars"])
def test_nulls_among_bools(kind: str) -> None:
    values: Any = [True, None, False]
    if kind != "list":
        library = pytest.importorskip("pyarrow" if kind == "arrow" else kind)
        values = (
            library.array(values)
            if kind == "arrow"
            else library.Series(values, dtype="boolean" if kind == "pandas" else None)
        )
    events = {"time": [1, 2, 3], "src": [0, 1, 2], "dst": [1, 2, 0], "paid": values}
    job = st.Window(st.source(events, on_error="skip"), size="9", slide="9", attributes={"paid": "last"}, graph=CPU)
    assert [(w.skipped, w.graph.edge_columns["paid"].tolist()) for w in job] == [(1, [1, 0])]


@pytest.mark.parametrize(
    ("column", "values", "error"),
    [
        ("src", [(1, 2), (1,), ()], ShapeError),
        ("weight", [[1], 2, 3], ShapeError),
        ("time", [[0], 1, 2], ShapeError),
        ("src", [True, 2, 3], DTypeError),
        ("weight", np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]), DTypeError),
    ],
)
def test_odd_columns_are_refused(column: str, values: Any, error: type[Exception]) -> None:
    events = {"time": [1, 2, 3], "src": [1, 2, 3], "dst": [2, 3, 1], column: values}
    with pytest.raises(error, match=column):
        list(st.Window(events, size="9", slide="9", graph=CPU))


def test_an_id_that_is_no_whole_number_makes_texts_of_all(tmp_path: Any) -> None:
    (tmp_path / "events.csv").write_text("time,src,dst\n5,1,2.5\n")
    with pytest.raises(DTypeError, match=r"^ids are texts, all of them if one in the first row is; names=True"):
        next(st.Window(st.scan(tmp_path / "events.csv"), size="1s", slide="1s", graph=CPU))
