"""Parquet and Arrow files: what CSV can hold, with types; bad columns are named."""

from __future__ import annotations

import datetime
import gzip
import os
import subprocess
import sys
import threading
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from suricate import io
from suricate.errors import FileFormatError, ParameterError, SuricateError, UnknownNameError, WeightError
from suricate.io import table_reading


def rows(file):
    return list(zip(file.src.tolist(), file.dst.tolist(), strict=True))


EXTENSIONS = (".parquet", ".arrow", ".feather", ".ipc")


@pytest.fixture
def put(tmp_path):
    """A function that writes columns to a Parquet file and returns its path."""

    def write(columns, name="e.parquet"):
        pq.write_table(pa.table(columns), tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "payments.csv"
    path.write_text(
        "payer,payee,amount,ts\n"
        "bob,ann,1.5,2024-05-17T13:45:00.25Z\n"
        "ann,bob,2,2024-05-17T00:00Z\n"
        "bob,cid,3,1969-12-31T23:59:59Z\n"
    )
    return path


COLUMNS = {"src": "payer", "dst": "payee", "weight": "amount", "time": "ts"}


def content(file):
    parts = (file.src, file.dst, file.weight, file.time, file.labels)
    return [None if part is None else part.tolist() for part in parts]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_payments_survive_from_csv_and_back(csv_file, tmp_path, extension):
    first = io.read(csv_file, relabel=True, columns=COLUMNS)
    assert (first.time_unit, first.labels.tolist()) == ("us", ["bob", "ann", "cid"])
    table = io.write(first, tmp_path / f"p{extension}", labels=True)
    second = io.read(table, relabel=True)
    assert content(second) == content(first)
    assert (second.time_unit, second.directed, second.num_vertices) == ("us", True, 3)
    assert second.weight.dtype == first.weight.dtype
    again = io.read(io.write(second, tmp_path / "again.csv", labels=True), relabel=True)
    assert content(again) == content(first)
    assert "2024-05-17T13:45:00.250000Z" in (tmp_path / "again.csv").read_text()


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_isolated_vertices_and_direction_survive(tmp_path, extension):
    io.write(([0, 1], [1, 2]), tmp_path / f"g{extension}", num_vertices=9, directed=False)
    file = io.read(tmp_path / f"g{extension}")
    assert (file.num_vertices, file.directed, file.weight, file.time) == (9, False, None, None)
    assert file.src.dtype == file.dst.dtype == np.uint32


def test_others_read_what_is_written(tmp_path):
    io.write(([0, 1], [1, 2], np.array([1, 2], np.int32)), tmp_path / "g.parquet")
    assert pq.read_table(tmp_path / "g.parquet").to_pydict() == {"src": [0, 1], "dst": [1, 2], "weight": [1, 2]}
    io.write(([0, 1], [1, 2]), tmp_path / "g.feather")
    assert pyarrow.feather.read_table(tmp_path / "g.feather").to_pydict() == {"src": [0, 1], "dst": [1, 2]}


def test_stream_format_and_unknown_extension(tmp_path):
    table = pa.table({"u": [0], "v": [1]})
    with pa.ipc.new_stream(tmp_path / "e.arrow", table.schema) as writer:
        writer.write_table(table)
    assert io.read(tmp_path / "e.arrow").dst.tolist() == [1]
    pq.write_table(table, tmp_path / "e.2024")
    assert io.read(tmp_path / "e.2024").format == "parquet"
    pyarrow.feather.write_feather(table, tmp_path / "e")
    assert io.read(tmp_path / "e").format == "arrow"


@pytest.mark.parametrize(
    ("column", "expected", "unit"),
    [
        (pa.array([5, -6]), [5, -6], None),
        (pa.array([5, 6], pa.uint64()), [5, 6], None),
        (pa.array([5, 6], pa.timestamp("ms")), [5, 6], "ms"),
        (pa.array([5, 6], pa.timestamp("ns", "Europe/Rome")), [5, 6], "ns"),
        (pa.array([datetime.date(1970, 1, 2)] * 2), [86400, 86400], "s"),
        (pa.array(["1970-01-01T00:00:01Z", "1970-01-01 01:00:01+01:00"]), [10**6, 10**6], "us"),
    ],
    ids=str,
)
def test_times(put, column, expected, unit):
    file = io.read(put({"src": [0, 1], "dst": [1, 2], "t": column}))
    assert (file.time.tolist(), file.time.dtype, file.time_unit) == (expected, np.int64, unit)


@pytest.mark.parametrize(
    ("column", "dtype", "expected"),
    [
        (pa.array([1, -2]), None, np.int32),
        (pa.array([1, 2**32 - 1]), None, np.uint32),
        (pa.array([-1, 2**32]), None, np.float64),
        (pa.array([1.0, 2.5]), None, np.float64),
        (pa.array([1.0, 2.5], pa.float32()), None, np.float32),
        (pa.array([Decimal("1.25"), Decimal("3")]), None, np.float64),
        (pa.array([1, 2]), "float32", np.float32),
        (pa.array([7.0, 8.0]).dictionary_encode(), "int32", np.int32),
    ],
    ids=str,
)
def test_weights(put, column, dtype, expected):
    file = io.read(put({"src": [0, 1], "dst": [1, 2], "w": column}), weight_dtype=dtype)
    assert file.weight.dtype == expected
    assert file.weight.tolist() == [float(value.as_py()) for value in column]


def test_dictionaries_are_decoded(tmp_path):
    ids, weights = (pa.array(values).dictionary_encode() for values in ([1, 2, 1], [0.5, 2.5, 0.5]))
    times = pa.array([5, 6, 5], pa.timestamp("s")).dictionary_encode()
    table = pa.table({"src": ids, "dst": ids, "w": weights, "t": times})
    with pa.ipc.new_file(tmp_path / "e.arrow", table.schema) as writer:
        writer.write_table(table)
    file = io.read(tmp_path / "e.arrow")
    assert content(file)[:4] == [[1, 2, 1], [1, 2, 1], [0.5, 2.5, 0.5], [5, 6, 5]]
    assert file.time_unit == "s"
    table = table.set_column(1, "dst", pa.DictionaryArray.from_arrays([0, 1, 0], pa.array([7, None])))
    with pa.ipc.new_file(tmp_path / "e.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(FileFormatError, match=r"dst\[1\] is missing"):
        io.read(tmp_path / "e.arrow")


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64()], ids=str)
def test_ids_of_every_integer_type(put, kind):
    path = put({"src": pa.array([1, 2], kind), "dst": pa.array([2, 100], kind)})
    assert io.read(path).dst.tolist() == [2, 100]
    assert io.read(path, first_id=1).src.tolist() == [0, 1]
    assert io.read(path, relabel=True).labels.tolist() == [1, 2, 100]


def test_ids_are_mapped_in_the_order_of_appearance(put):
    file = io.read(
        put({"src": pa.array([2**63, 5, 7], pa.uint64()), "dst": pa.array([7, 2**63, 6], pa.uint64())}), relabel=True
    )
    assert content(file)[:2] == [[0, 2, 1], [1, 0, 3]]
    assert (file.labels.dtype, file.labels.tolist()) == (np.uint64, [2**63, 7, 5, 6])
    mixed = io.read(put({"src": ["7", "b"], "dst": [7, 8]}), relabel=True)
    assert content(mixed) == [[0, 1], [0, 2], None, None, ["7", "b", "8"]]
    texts = pa.array(["x", "y", "x"]).dictionary_encode()
    assert io.read(put({"src": texts, "dst": texts}), relabel=True).labels.tolist() == ["x", "y"]
    assert io.read(put({"src": [1], "dst": [2]}), relabel="text").labels.tolist() == ["1", "2"]
    assert len(io.read(put({"src": pa.array([], pa.string()), "dst": pa.array([], pa.string())}), relabel=True)) == 0


def test_columns_by_name_and_place(put):
    path = put({"a.b": [0], "x": ["y"], "c": [1], "SOURCE": [3], "Target": [4]})
    assert content(io.read(path))[:2] == [[3], [4]]
    assert content(io.read(path, columns={"src": "a.b", "dst": 2}))[:2] == [[0], [1]]
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "a", "b"])
    pq.write_table(twice, path)
    assert content(io.read(path, columns={"src": 1, "dst": 2}))[:2] == [[2], [3]]


BAD_COLUMNS = {
    "no destination": ({"src": [1]}, {}, "no column for dst"),
    "missing id": ({"src": [1, None], "dst": [1, 2]}, {}, "src[1] is missing"),
    "missing weight": ({"src": [1], "dst": [1], "w": pa.array([None], pa.float64())}, {}, "w[0] is missing"),
    "negative id": ({"src": [1, -7], "dst": [1, 2]}, {}, "src[1] is -7: ids are not negative"),
    "negative id, mapped": ({"src": [1, -7], "dst": [1, 2]}, {"relabel": True, "first_id": 1}, "src[1] is -7"),
    "negative and huge": (
        {"src": [-1], "dst": pa.array([2**63], pa.uint64())},
        {"relabel": True},
        "dst cannot be read as int64",
    ),
    "huge id": ({"src": [1, 2**40], "dst": [1, 2]}, {}, f"src[1] is {2**40}: ids go up to {2**32 - 3} (relabel maps"),
    "id beyond num_vertices": ({"src": [1], "dst": [9]}, {"num_vertices": 5}, "dst[0] is 9: ids go up to 4"),
    "more ids than vertices": ({"src": [1], "dst": [9]}, {"relabel": True, "num_vertices": 1}, "2 different ids"),
    "id below first_id": (
        {"src": [0], "dst": [9]},
        {"first_id": 1},
        "src[0] is 0: ids of this file are",
    ),
    "text id": ({"src": ["a"], "dst": ["b"]}, {}, "src has type string: ids are integers; relabel maps"),
    "float id": ({"src": [1.0], "dst": [1]}, {"relabel": True}, "src has type double"),
    "bool id": ({"src": [True], "dst": [1]}, {}, "src has type bool"),
    "nested id": ({"src": [[1]], "dst": [1]}, {"relabel": "text"}, "src cannot be read as large_string"),
    "text weight": ({"src": [1], "dst": [1], "w": ["1"]}, {}, "w has type string: weights are numbers"),
    "NaN weight": ({"src": [1], "dst": [1], "w": [float("nan")]}, {}, "w[0] is nan"),
    "weight out of range": ({"src": [1], "dst": [1], "w": [2**40]}, {"weight_dtype": "int32"}, f"w[0] is {2**40}"),
    "fraction": ({"src": [1], "dst": [1], "w": [0.5]}, {"weight_dtype": "int32"}, "w[0] is 0.5"),
    "float time": ({"src": [1], "dst": [1], "t": [0.5]}, {}, "t has type double: times are"),
    "huge time": ({"src": [1], "dst": [1], "t": pa.array([2**63], pa.uint64())}, {}, "t cannot be read as int64"),
    "bad time": ({"src": [1], "dst": [1], "t": ["soon"]}, {}, "t[0] is wrong: 'soon' is no time of ISO 8601"),
}


@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_bad_columns(put, case):
    columns, options, reason = BAD_COLUMNS[case]
    with pytest.raises(FileFormatError) as caught:
        io.read(put(columns), **options)
    assert reason in caught.value.reason
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b"src,dst\n", lambda b: b[: len(b) // 2], lambda b: b[8:]])
def test_damaged_files(tmp_path, extension, damage):
    path = io.write((np.arange(99), np.arange(99)), tmp_path / f"g{extension}")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FileFormatError) as caught:
        io.read(path)
    assert "\n" not in str(caught.value)


def test_random_damage_raises_format_errors(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("g.parquet", "g.arrow"):
        path = io.write((np.arange(50), np.arange(50), np.ones(50)), tmp_path / name)
        good = np.frombuffer(path.read_bytes(), np.uint8)
        for _ in range(200):
            bad = good.copy()
            bad[rng.integers(0, len(bad), 3)] = rng.integers(0, 256, 3)
            path.write_bytes(bad.tobytes())
            try:
                io.read(path)
            except SuricateError as error:
                assert "\n" not in str(error)  # noqa: PT017


def test_misuse(put, tmp_path):
    path = put({"src": [1], "dst": [2]})
    with pytest.raises(ParameterError, match="delimiter"):
        io.read(path, delimiter=",")
    with pytest.raises(UnknownNameError, match="has no column 'payer': there are src, dst"):
        io.read(path, columns={"src": "payer", "dst": "dst"})
    with pytest.raises(ParameterError, match="compressed"):
        io.write(([0], [1]), tmp_path / "e.parquet.gz")
    with pytest.raises(WeightError):
        io.write(([0], [1], [np.nan]), tmp_path / "e.parquet")
    bad = io.EdgeFile(np.array([0]), np.array([0]), None, None, 1, None, np.array(["\udcff"], object), path, "csv")
    with pytest.raises(ParameterError, match="UTF-8"):
        io.write(bad, tmp_path / "e.parquet", labels=True)
    assert io.read(path).dst.tolist() == [2]  # as it was


def test_without_pyarrow_the_extra_is_named(put):
    code = f"""
import sys
sys.modules["pyarrow"] = None
import suricate as su
for call in (lambda: su.read({str(put({"src": [1], "dst": [2]}))!r}), lambda: su.write(([0], [1]), "x.parquet")):
    try:
        call()
    except su.errors.MissingLibraryError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "this needs pyarrow: pip install 'suricate[arrow]'\n" * 2, done.stderr


def test_pipes_and_files_that_are_compressed_as_a_whole(put, tmp_path):
    packed = tmp_path / "e.parquet.gz"
    packed.write_bytes(gzip.compress(put({"src": [1, 5], "dst": [2, 6]}).read_bytes()))
    assert io.read(packed).dst.tolist() == [2, 6]
    with pytest.raises(FileFormatError):
        io.read("/dev/null", "parquet")
    stream = io.write(([3], [4]), tmp_path / "e.arrows")
    assert pa.ipc.open_stream(stream).read_all().to_pydict() == {"src": [3], "dst": [4]}
    assert rows(io.read(stream)) == rows(io.read(stream.rename(tmp_path / "no-extension"))) == [(3, 4)]
    os.mkfifo(tmp_path / "pipe")
    sender = threading.Thread(target=lambda: io.write(([7], [8]), tmp_path / "pipe", "arrow"), daemon=True)
    sender.start()
    assert rows(io.read(tmp_path / "pipe")) == [(7, 8)]


def test_negative_ids_are_mapped(put):
    file = io.read(put({"src": [-1, 2], "dst": pa.array([2, 7], pa.uint64())}), relabel=True)
    assert (file.labels.tolist(), file.labels.dtype) == ([-1, 2, 7], np.int64)
    assert rows(file) == [(0, 1), (1, 2)]


def test_parts_of_a_folder_and_of_a_pattern(tmp_path):
    folder = tmp_path / "edges.parquet"
    (folder / "day=2").mkdir(parents=True)
    io.write(([0], [1]), folder / "part-2.parquet", num_vertices=50)
    io.write((np.array([5]), np.array([2])), folder / "part-10.parquet")
    pq.write_table(pa.table({"src": pa.array([7], pa.int64()), "dst": [8]}), folder / "day=2" / "part-0.parquet")
    (folder / "_SUCCESS").touch()
    io.write(([9], [9]), folder / ".hidden.parquet")
    seen = []
    file = io.read(folder, progress=lambda done, total: seen.append((done, total)))
    assert rows(file) == [(7, 8), (0, 1), (5, 2)]  # a folder comes in its place, part-2 before part-10
    assert (file.num_vertices, file.format, len(file.sha256)) == (50, "parquet", 64)
    assert len(seen) == 3
    assert seen[-1][0] == seen[-1][1]
    assert rows(io.read(folder / "part-*.parquet", sort_by_time=False)) == [(0, 1), (5, 2)]
    pq.write_table(pa.table({"src": [1, -4], "dst": [8, 8]}), folder / "part-11.parquet")
    with pytest.raises(FileFormatError, match=r"part-11.parquet: src\[1\] is -4"):
        io.read(folder)
    pq.write_table(pa.table({"src": [1], "dst": [8], "w": [2]}), folder / "part-11.parquet")
    with pytest.raises(FileFormatError, match=r"part-11.parquet: it has columns for src, dst, weight, the first part"):
        io.read(folder)
    pq.write_table(pa.table({"src": ["x"], "dst": [8]}), folder / "part-11.parquet")
    with pytest.raises(FileFormatError, match=r"part-11.parquet: src has type string, in the first part int64"):
        io.read(folder / "part*", relabel=True)
    assert io.read(folder / "part*", relabel="text").labels.tolist() == ["0", "1", "5", "2", "x", "8"]
    pq.write_table(pa.table({"src": pa.array(["0"]).dictionary_encode(), "dst": ["x"]}), folder / "part-12.parquet")
    pq.write_table(pa.table({"src": ["x"], "dst": pa.array(["y"], pa.large_string())}), folder / "part-11.parquet")
    assert io.read(folder / "part-1[12]*", relabel=True).labels.tolist() == ["x", "y", "0"]
    with pytest.raises(FileNotFoundError, match="no file matches"):
        io.read(tmp_path / "*.parquet" / "x*")
    io.write(([9], [9]), tmp_path / "a.arrow")
    with pytest.raises(FileFormatError, match="only parts in Parquet"):
        io.read(tmp_path / "[ae]*.*")


def test_times_of_long_columns_are_those_of_short_ones(put, monkeypatch):
    texts = [
        f"20{k % 100:02}-{k % 12 + 1:02}-{k % 28 + 1:02}T{k % 24:02}:00:0{k % 10}.{k:05}+0{k % 10}" for k in range(90)
    ]
    path = put({"src": range(90), "dst": range(90), "t": pa.chunked_array([texts[:7], texts[7:]])})
    short = io.read(path).time
    monkeypatch.setattr(table_reading, "SMALL_COLUMN", 1)
    assert np.array_equal(io.read(path).time, short)
    with pytest.raises(FileFormatError, match=r"t\[1\] is wrong: 'soon' is no time"):
        io.read(put({"src": [1, 2, 3], "dst": [1, 2, 3], "t": ["2024-01-01", "soon", "2024-01-01"]}))
