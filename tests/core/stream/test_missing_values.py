"""Rows without a name or a usable time, in dicts and frames; dates of Python and pandas."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suricate as su
import suricate.stream as st
from suricate.errors import DTypeError, ParameterError

pytestmark = pytest.mark.interpreted
CPU = {"device": "cpu"}


def found(source: Any, **options: Any) -> tuple[int, list[tuple[Any, Any]]]:
    """Return how many events were skipped, and the edges of the last slide, by name or id."""
    job = st.Window(source, size="1d", slide="1d", graph=CPU, **options)
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


def test_dates_with_time_zones_are_converted() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    aware = [datetime.datetime(2026, 3, 1, 1, tzinfo=zone), datetime.datetime(2026, 3, 1, 3, tzinfo=zone)]
    kinds: list[Any] = [aware, [aware[0], datetime.datetime(2026, 3, 1, 1)]]
    pandas = pytest.importorskip("pandas")
    kinds += [pandas.Series(aware), pandas.Series(aware, dtype=object), list(pandas.Series(aware))]
    for times in kinds:
        job = st.Window({"time": times, "src": [0, 1], "dst": [1, 2]}, size="1h", slide="1h", graph=CPU)
        assert [str(w.end)[:16] for w in job] == ["2026-03-01T00:00", "2026-03-01T01:00", "2026-03-01T02:00"]
    days = [datetime.date(2026, 3, 1), datetime.date(2026, 3, 2)]
    job = st.Window({"time": days, "src": [0, 1], "dst": [1, 2]}, size="1d", slide="1d", graph=CPU)
    assert [str(w.end)[:10] for w in job] == ["2026-03-02", "2026-03-03"]


def test_missing_names_of_pandas_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DTypeError, match=r"names\[1\] is missing"):
        su.Names().intern(pandas.Series(["a", pandas.NA], dtype=object))
