"""Names and times of text files are what the file says: however they are read; errors have the line."""

from __future__ import annotations

import datetime
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suricate as su
import suricate.stream as st
from suricate.errors import FileFormatError, SuricateError
from suricate.io import files

CPU = {"device": "cpu"}
NOT_CANONICAL = ["007", "+7", "7.0", "-0", "-07", "x", str(2**64)]


def write(folder: Path, rows: list[tuple[Any, ...]], extension: str) -> Path:
    path, sign = folder / f"e{extension}", "," if ".csv" in extension else " "
    lines = ["src,dst,time"] * (sign == ",") + [sign.join(map(str, row)) for row in rows]
    text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text) if extension.endswith(".gz") else text)
    return path


def names_read(path: Path, *, texts: bool = False) -> list[tuple[Any, Any]]:
    file = su.read(path, relabel="text" if texts else True)
    return [(file.labels[u], file.labels[v]) for u, v in zip(file.src, file.dst, strict=True)]


def names_streamed(path: Any, **options: Any) -> list[tuple[Any, Any]]:
    found, columns = [], {"src": 0, "dst": 1, "time": 2}
    source = st.scan(path, **columns, **options)
    job = st.Window(source, size=None, slide="100000s", names=True, graph=CPU)
    for w in job:
        src, dst, _ = w.graph.edges()
        found = [*zip(job.names[src].tolist(), job.names[dst].tolist(), strict=True)]
    return found


READERS = pytest.mark.parametrize("names_in", [names_read, names_streamed])


@READERS
@pytest.mark.parametrize("extension", [".csv", ".txt", ".csv.gz"])
def test_the_first_row_decides(names_in, extension, tmp_path, reader):
    rows = [(1, 2, 5), (-7, 12, 6), (0, 2**63 - 1, 7)]
    assert sorted(names_in(write(tmp_path, rows, extension))) == sorted((u, v) for u, v, _ in rows)
    for first in ("007", "-0", "x", str(2**64), "+7", "7.0"):
        rows = [(first, 12, 5), (7, "0012", 6), ("x", "007", 7)]
        found = [(str(u), str(v)) for u, v, _ in rows]
        assert sorted(names_in(write(tmp_path, rows, extension))) == sorted(found)


@READERS
@pytest.mark.parametrize("wrong", NOT_CANONICAL)
@pytest.mark.parametrize("form", ["{}", '"{}"', ' "{}"  '])
def test_a_later_row_that_is_no_canonical_integer(names_in, wrong, form, tmp_path, reader, monkeypatch):
    rows = [(1, 2, 5)] * 9 + [(3, form.format(wrong), 6), (4, 5, 7)]
    path = write(tmp_path, rows, ".csv")
    advice = "relabel='text'" if names_in is names_read else "texts=True"
    for chunk in (files.CHUNK, 8):
        monkeypatch.setattr(files, "CHUNK", chunk)
        with pytest.raises(FileFormatError, match=advice) as caught:
            names_in(path)
        assert caught.value.line == 11
    assert {("3", wrong), ("4", "5")} <= set(names_in(path, texts=True))


def test_a_blank_in_quotes_belongs_to_the_name(tmp_path):
    for names_in in (names_read, names_streamed):
        path = write(tmp_path, [(1, 2, 5), (3, '" 7"', 6)], ".csv")
        with pytest.raises(FileFormatError, match=r":3: .*' 7'"):
            names_in(path)
        assert ("3", " 7") in names_in(path, texts=True)
        path = write(tmp_path, [(" a b ", '" c "', 5), ("\ta b", '" c "', 6)], ".csv")
        assert set(names_in(path)) == {("a b", " c ")}  # around the field blanks are no part of it


def test_plain_ids_keep_their_zeros_as_numbers(tmp_path):
    path = write(tmp_path, [(1, 2, 5), ("007", "03", 6)], ".csv")
    assert su.read(path).src.tolist() == [1, 7]
    job = st.Window(st.scan(path), size=None, slide="10s", graph=CPU)
    assert [w.graph.edges().dst.tolist() for w in job] == [[2, 3]]


def test_all_files_and_sources_follow_the_first_row(tmp_path):
    for number, rows in enumerate([[("007", 1, 5)], [(7, 1, 6)]]):
        write(tmp_path, rows, ".csv").rename(tmp_path / f"{number}.csv")
    paths = [tmp_path / "0.csv", tmp_path / "1.csv"]
    assert sorted(names_streamed(paths)) == [("007", "1"), ("7", "1")]
    with pytest.raises(FileFormatError, match=r"0\.csv:2: .*'007'.*texts=True \(--texts\)"):
        names_streamed(paths[::-1])
    job = st.Window(st.chain(*map(st.scan, paths)), size=None, slide="10s", names=su.Names("text"), graph=CPU)
    assert [job.names[:].tolist() for w in job] == [["007", "1", "7"]]


def test_malformed_names_are_skipped_and_a_job_goes_on_with_its_kind_of_names(tmp_path):
    path = write(tmp_path, [(1, 2, 5), ("01", 2, 6), (3, 4, 20), ("x", 4, 21)], ".csv")
    options = {"size": None, "slide": "10s", "names": True, "graph": CPU, "checkpoint": tmp_path / "state"}
    for _ in st.Window(st.scan(path, on_error="skip"), **options):
        break
    job = st.Window(st.scan(path, on_error="skip"), **options)
    assert [(job.names[:].tolist(), w.skipped) for w in job][-1] == ([1, 2, 3, 4], 2)


def test_tables_and_arrays_are_what_they_say(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"src": [7, 8], "dst": ["007", " 7"], "time": ["2026-02-01T10:00:00.1234567Z", None]}
    parquet.write_table(pa.table(columns), tmp_path / "e.parquet")
    job = st.Window(st.scan(tmp_path / "e.parquet", on_error="skip"), size=None, slide="1s", names=True, graph=CPU)
    assert [(job.names[:].tolist(), w.skipped) for w in job] == [(["7", "007"], 1)]
    job = st.Window({"src": ["7", "007"], "dst": [" 7", "7 "]}, size=2, slide=2, names=True, graph=CPU)
    assert [job.names[:].tolist() for w in job] == [["7", " 7", "007", "7 "]]


# -- times -------------------------------------------------------------------------------------------------------------

ISO = {
    "2026-02-01T10:00:00.1234567Z": 123_456_700,  # .NET
    "2026-02-01T10:00:00.123456789Z": 123_456_789,  # Java, Go
    "2026-02-01T10:00:00.120Z": 120_000_000,
    "2026-02-01T10:00:00.000000001Z": 1,
    "2026-02-01T10:00Z": 0,  # Java without seconds
    "2026-02-01T11:00:00,5+01:00[Europe/Paris]": 500_000_000,  # Java
    "2026-02-01t10:00:00z": 0,  # RFC 3339
    "2026-02-01 10:00:00Z": 0,
    "20260201T100000Z": 0,
    "20260201T090000.25-0100": 250_000_000,
    "2026-02-01T11:00:00+01": 0,
}
START = int(datetime.datetime(2026, 2, 1, 10, tzinfo=datetime.UTC).timestamp()) * 10**9


def times_read(path: Path) -> list[int]:
    file = su.read(path)
    return np.asarray(file.time).view(f"M8[{file.time_unit}]").astype("M8[ns]").astype(np.int64).tolist()


def times_streamed(path: Path) -> list[int]:
    return np.concatenate([chunk["time"].astype("M8[ns]") for _, chunk in st.scan(path).read()]).astype(int).tolist()


TIMES = pytest.mark.parametrize("times_in", [times_read, times_streamed])


@TIMES
def test_times_as_other_languages_write_them(times_in, tmp_path, reader, monkeypatch):
    for chunk in (files.CHUNK, 40):  # the unit of later chunks may be another
        monkeypatch.setattr(files, "CHUNK", chunk)
        for texts in ([*ISO], [*ISO][::-1]):
            path = write(tmp_path, [(0, 1, f'"{text}"') for text in texts], ".csv")
            assert times_in(path) == [START + ISO[text] for text in texts]
    naive = {text.removesuffix("Z"): ns for text, ns in ISO.items() if text.endswith("Z")}
    path = write(tmp_path, [(0, 1, f'"{text}"') for text in naive], ".csv")
    assert times_in(path) == [START + ns for ns in naive.values()]


def test_the_unit_is_the_coarsest_that_holds_all(tmp_path):
    seven = "2026-02-01T10:00:00.1234560Z"
    assert su.read(write(tmp_path, [(0, 1, seven)], ".csv")).time_unit == "us"
    file = su.read(write(tmp_path, [(0, 1, seven), (0, 1, "2026-02-01T10:00:00.0000001Z")], ".csv"))
    assert (file.time_unit, file.time.tolist()) == ("ns", [START + 123_456_000, START + 100])
    assert su.read(su.write(file, tmp_path / "again.csv")).time.tolist() == file.time.tolist()
    far = "9999-12-31T00:00:00Z"
    assert su.read(write(tmp_path, [(0, 1, far)], ".csv")).time_unit == "us"
    for rows in ([far, "2026-02-01T10:00:00.0000001Z"], ["2026-02-01T10:00:00.0000001Z", far]):
        with pytest.raises(FileFormatError, match=r"time . is not in the years 1678 to 2261"):
            su.read(write(tmp_path, [(0, 1, text) for text in rows], ".csv"))


@TIMES
@pytest.mark.parametrize("extension", [".csv", ".parquet"])
def test_naive_and_zoned_times_do_not_mix(times_in, extension, tmp_path, reader):
    zoned = ["2026-02-01T10:00:00Z", "2026-02-01T10:00:00+00:00"]
    for texts in (
        [*zoned, "2026-02-01T10:00:00"], ["2026-02-01T10:00:00", "2026-02-01", zoned[1]], [*zoned, "2026-02-01"]
    ):  # fmt: skip
        path = write(tmp_path, [(0, 1, text) for text in texts], ".csv")
        if extension == ".parquet":
            pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
            path = tmp_path / "e.parquet"
            parquet.write_table(pa.table({"src": [0] * 3, "dst": [1] * 3, "time": texts}), path)
        with pytest.raises(FileFormatError, match=r"e.csv:4: .*zone|e.parquet: time\[2\] .*zone"):
            times_in(path)


def test_files_of_one_source_have_one_kind_of_times(tmp_path):
    for number, text in enumerate(["2026-02-01T10:00:00Z", "2026-02-01T10:00:00"]):
        write(tmp_path, [(0, 1, text)], ".csv").rename(tmp_path / f"{number}.csv")
    with pytest.raises(FileFormatError, match=r"1\.csv:2: .*zone"):
        times_streamed(tmp_path)


@pytest.mark.parametrize("wrong", ["2026-02-01T24:00:00", "2026-02-01T10:00:60", "2026-02-01T10", "2026-W05", "1e9"])
def test_what_is_no_time(wrong, tmp_path, reader):
    path = write(tmp_path, [(0, 1, "2026-02-01"), (0, 1, wrong)], ".csv")
    for times_in in (times_read, times_streamed):
        with pytest.raises(FileFormatError, match=r"e\.csv:3: .* is no time of ISO 8601"):
            times_in(path)


def test_fractions_may_begin_in_any_row(tmp_path, reader, monkeypatch):
    rows = [(0, 1, at if at < 20 else f"{at}.25") for at in range(40)] + [(0, 1, 10**17), (0, 1, 41)]
    path = write(tmp_path, rows, ".csv")
    right = [at * 10**9 + 250_000_000 * (at >= 20) for at in range(40)] + [41 * 10**9]
    for chunk in (files.CHUNK, 16):
        monkeypatch.setattr(files, "CHUNK", chunk)
        job = st.Window(st.scan(path, on_error="skip"), size=None, slide="1s", empty="emit", graph=CPU)
        assert [(w.events, w.skipped) for w in job][-1][1] == 1
        events = [
            (w.end, w.events) for w in st.Window(st.scan(path, on_error="skip"), size=None, slide="1s", graph=CPU)
        ]
        seconds, counts = np.unique(np.array(right) // 10**9 + 1, return_counts=True)
        assert [int(end.astype(np.int64)) // 10**9 for end, _ in events] == seconds.tolist()
        assert [number for _, number in events] == counts.tolist()
    with pytest.raises(SuricateError, match=r"out of (the )?range"):
        [*st.Window(st.scan(path), size=None, slide="1s", graph=CPU)]
