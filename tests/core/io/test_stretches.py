"""Sources that several ranks read, a stretch of a file each: all rows once, in the order of one process."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

import suricate.stream as st
from suricate.base.errors import FileFormatError
from suricate.io import files
from suricate.io.divided import stretches
from suricate.io.sources.chunk_columns import as_array
from suricate.io.sources.scan import divides
from suricate.io.sources.source import MARK

SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture
def short(monkeypatch):
    """A function that makes stretches of files as short as ``size`` bytes."""

    def make(size):
        monkeypatch.setattr(files, "CHUNK", size)
        monkeypatch.setattr(files, "TAIL", 5)
        monkeypatch.setattr(stretches, "HEAD", size)
        monkeypatch.setattr(stretches, "WHOLE", 0)

    return make


def rows_of(chunks):
    """The rows of chunks as tuples, with MARK as it is."""
    found = []
    for chunk in chunks:
        if chunk is MARK:
            found.append("mark")
        else:
            columns = {name: as_array(column).tolist() for name, column in chunk.items()}
            found += [tuple(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return found


def numbered(source, size):
    """What ranks of ``size`` read, by number; each number must be one of its rank, and end once."""
    found, ended = {}, []
    for rank in range(size):
        for number, chunk in source().by_rank(rank, size):
            assert number % size == rank
            assert number not in ended
            if chunk is None:
                ended.append(number)
            found.setdefault(number, []).extend([] if chunk is None else [chunk])
    assert sorted(ended) == sorted(found) == [*range(len(found))]
    return [chunk for number in sorted(found) for chunk in found[number]]


LINE = some.one_of(
    some.tuples(some.integers(0, 10**6), some.integers(0, 99), some.integers(0, 10**9)).map(
        "{0[0]},{0[1]},{0[2]}".format
    ),
    some.sampled_from(["", "7,7,7" + " " * 70, '"1",2,3', "  5,6,7"]),
)


@SETTINGS
@given(
    lines=some.lists(LINE, max_size=40), header=some.sampled_from(["", "src,dst,time", "# a comment\nsrc,dst,time"]),
    end=some.sampled_from(["\n", "\r\n"]), last=some.booleans(), mark=some.booleans(),
    size=some.integers(16, 90), ranks=some.integers(1, 5),
)  # fmt: skip
@example(lines=["1,2,3"], header="", end="\n", last=False, mark=True, size=16, ranks=5)
def test_the_rows_of_all_ranks_are_those_of_one_process(
    lines, header, end, last, mark, size, ranks, tmp_path, short
):  # fmt: skip
    text = end.join([*([header.replace("\n", end)] if header else []), *lines]) + end * last
    path = tmp_path / "events.csv"
    path.write_bytes(b"\xef\xbb\xbf" * mark + text.encode())
    expected = rows_of(chunk for _, chunk in st.scan(path).read())
    short(size)
    assert rows_of(numbered(lambda: st.scan(path), ranks)) == expected


def arrow_file(table, path):
    pa = pytest.importorskip("pyarrow")
    with pa.ipc.new_file(path, table.schema) as file:
        for batch in table.to_batches(max_chunksize=7):
            file.write_batch(batch)


def parquet_file(table, path):
    pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=7)


@pytest.mark.parametrize("ids", ["numbers", "texts"])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "feather-stream", "csv", "csv.gz", "latin-1", "utf-16", "events"])
def test_kinds_of_files_in_a_folder(kind, ids, tmp_path, short):
    pa = pytest.importorskip("pyarrow")
    rng, options = np.random.default_rng(5), {}
    for part in range(3):
        src, dst = rng.integers(0, 50, (2, 40))
        if ids == "texts" and kind != "events":
            src, dst = (np.array([f"né{each}" for each in ends], object) for ends in (src, dst))
        table = pa.table({"src": src, "dst": dst, "time": np.sort(rng.integers(0, 10**6, 40))})
        text = "src,dst,time\n" + "".join(f"{a},{b},{t}\n" for a, b, t in zip(*table.to_pydict().values(), strict=True))
        path = tmp_path / f"p{part}.{kind if '.' in kind or kind in ('parquet', 'arrow') else 'csv'}"
        if kind == "parquet":
            parquet_file(table, path)
        elif kind == "arrow":
            arrow_file(table, path)
        elif kind == "feather-stream":
            with pa.ipc.new_stream(path.with_suffix(".arrows"), table.schema) as file:
                file.write_table(table)
        elif kind == "csv.gz":
            with files.writing(path) as file:
                file.write(text.encode())
        elif kind == "events":
            options = {"format": "events"}
            steps = [
                f"# window {k}\n" + "".join(f"I {a} {b} {t}\n" for a, b, t in zip(src, dst, dst, strict=True))
                for k in (1, 2)
            ]
            path.with_suffix(".txt").write_text("".join(steps))
        else:
            options = {} if kind == "csv" else {"encoding": kind}
            path.write_text(text, encoding="utf-8" if kind == "csv" else kind)
    expected = rows_of(chunk for _, chunk in st.scan(tmp_path, **options).read())
    assert len(expected) > 100
    short(200)
    for ranks in (1, 3):
        assert rows_of(numbered(lambda: st.scan(tmp_path, **options), ranks)) == expected


def test_the_first_file_says_for_all_ranks_whether_ids_are_texts(tmp_path, short):
    for part, name in enumerate(["7", "a"]):
        (tmp_path / f"p{part}.csv").write_text("src,dst\n" + f"{name},8\n" * 30)
    short(32)
    for rank in range(3):
        with pytest.raises(FileFormatError, match=r"p1.csv:\d+: id 'a' is not a whole number"):
            [*st.scan(tmp_path).by_rank(rank, 3)]


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_malformed_lines_have_the_number_of_their_line(on_error, tmp_path, short):
    lines = [f"{at},{at + 1},{at}" for at in range(60)]
    lines[33], lines[41] = "33,x,33", "41,42,y"
    path = tmp_path / "events.csv"
    path.write_text("# made up\nsrc,dst,time\n" + "\n".join(lines))
    short(40)
    found = []
    for rank in range(3):
        source = st.scan(path, on_error=on_error)
        try:
            found += [row[0][1] for row in rows_of(chunk for _, chunk in source.by_rank(rank, 3) if chunk is not None)]
        except FileFormatError as error:
            found.append(str(error).partition(": ")[0])
        found += [row[-1].partition(": ")[0] for row in source.refusals[0].held]
    wrong = [each for each in found if isinstance(each, str)]
    assert sorted(wrong) == [f"{path}:36", f"{path}:44"]
    if on_error == "skip":
        assert sorted(each for each in found if each not in wrong) == sorted({*range(60)} - {33, 41})


def bytes_read():
    with open("/proc/self/io") as file:
        return int(next(file).split()[1])


@pytest.mark.parametrize("kind", ["csv", "parquet", "csv.gz"])
def test_ranks_read_the_input_once(kind, tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    rng, path = np.random.default_rng(5), tmp_path / f"events.{kind}"
    table = pa.table({end: rng.integers(0, 10**9, 200_000) for end in ("src", "dst")})
    if kind == "parquet":
        pa.parquet.write_table(table, path, row_group_size=20_000)
        monkeypatch.setattr(stretches, "WHOLE", 0)
    else:
        pytest.importorskip("pyarrow.csv").write_csv(table, path)
    if kind == "csv.gz":
        path.write_bytes(gzip.compress(path.read_bytes(), 1))
    [*st.scan(path).by_rank(0, 4)]  # imports and compiled code are files, too
    begin = bytes_read()
    rows = sum(len(chunk["src"]) for rank in range(4) for _, chunk in st.scan(path).by_rank(rank, 4) if chunk)
    read = bytes_read() - begin
    assert rows == 200_000
    assert path.stat().st_size <= read <= 1.05 * path.stat().st_size + (4 << 16) * (kind != "csv")


def test_what_is_not_divided_says_so(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3\n")
    assert divides(st.scan(tmp_path))
    assert not divides(st.files(tmp_path))
    assert not divides(st.source({"src": [1], "dst": [2]}))
