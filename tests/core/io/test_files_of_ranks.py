"""``su.read(comm=)``: the parts of all ranks, in order, are what one process reads; so are graphs made of them."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

import suricate as su
from suricate.base.errors import FileFormatError, ParameterError, SuricateError
from suricate.io import files
from suricate.parallel import run

SETTINGS = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
SCALARS = ("num_vertices", "directed", "format", "time_unit", "path")
ARRAYS = ("src", "dst", "weight", "time")


@pytest.fixture
def short(monkeypatch):
    """A function that makes chunks of files as short as ``size`` bytes, so that ranks read small files together."""

    def make(size):
        monkeypatch.setattr(files, "CHUNK", size)
        monkeypatch.setattr(files, "TAIL", 5)
        monkeypatch.setattr(files, "SMALL", -1)

    return make


def read_by(ranks, path, **options):
    """What ``su.read`` returns on each rank."""
    return run(lambda comm: su.read(path, comm=comm, **options), ranks)


def same(one, other):
    """Whether arrays, or None, are the same, dtypes included."""
    if one is None or other is None:
        return one is other
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def compare(single, parts):
    """Demand that ``parts`` are the file ``single``, cut."""
    for part in parts:
        assert [getattr(part, name) for name in SCALARS] == [getattr(single, name) for name in SCALARS]
        assert same(part.labels, single.labels)
        assert list(part.columns) == list(single.columns)
        assert (part.names is None) == (single.names is None)
    for name in ARRAYS:
        found = [getattr(part, name) for part in parts]
        whole = None if found[0] is None else np.concatenate(found)
        assert same(whole, getattr(single, name)), name
    for name, column in single.columns.items():
        assert same(np.concatenate([part.columns[name] for part in parts]), column), name


FIELDS = some.tuples(
    some.integers(-3, 10**6), some.integers(0, 30), some.sampled_from(["1", "2.5", "-3", "4000000000"]),
    some.sampled_from(["", "7", "0.5", "x y", "z" * 60, '"a,b"']),
)  # fmt: skip
LINE = some.one_of(FIELDS.map("{0[0]},{0[1]},{0[2]},{0[3]}".format), some.sampled_from(["", "  ", "1,1,1,1 "]))


@SETTINGS
@given(
    lines=some.lists(LINE, max_size=40), header=some.sampled_from(["src,dst,weight,fee", "# some\nsrc,dst,weight,fee"]),
    end=some.sampled_from(["\n", "\r\n"]), last=some.booleans(), mark=some.booleans(),
    relabel=some.sampled_from([True, "text"]), size=some.integers(16, 90), ranks=some.integers(1, 5),
)  # fmt: skip
@example(
    lines=["1,2,3,4"], header="src,dst,weight,fee", end="\n", last=False, mark=True, relabel=True, size=16, ranks=5
)
@example(
    lines=["1,2,3,4", "1,2,3,"], header="src,dst,weight,fee", end="\r\n", last=True, mark=True, relabel=True, size=16,
    ranks=2,
)  # fmt: skip
def test_csv(lines, header, end, last, mark, relabel, size, ranks, tmp_path, short):
    path, text = tmp_path / "graph.csv", end.join([*header.split("\n"), *lines]) + end * last
    path.write_bytes(b"\xef\xbb\xbf" * mark + text.encode())
    short(size)
    options = {"relabel": relabel, "edge_columns": ["fee"]}
    compare(su.read(path, **options), read_by(ranks, path, **options))


@SETTINGS
@given(
    lines=some.lists(some.sampled_from(["1 2 3", "4\t5 6.5", "# no", "", "7 8 9" + " " * 70]), max_size=40),
    wrong=some.dictionaries(some.integers(0, 39), some.sampled_from(["1 x 3", "1", "-1 2 3", "1 2 3 4 5"]), max_size=3),
    end=some.sampled_from(["\n", "\r\n"]), size=some.integers(16, 90), ranks=some.integers(1, 5),
)  # fmt: skip
def test_an_error_is_that_of_one_process_on_every_rank(lines, wrong, end, size, ranks, tmp_path, short):
    for at, line in wrong.items():
        lines[at:at] = [line] * (at < len(lines))
    path = tmp_path / "graph.txt"
    path.write_text(end.join(["# Nodes: 9", "1 2 3", *lines]), newline="")
    short(size)
    found = []

    def job(comm):
        try:
            return su.read(path, comm=comm)
        except FileFormatError as error:
            found.append((str(error), error.line))

    parts = run(job, ranks)
    if found:
        with pytest.raises(FileFormatError) as single:
            su.read(path)
        assert found == [(str(single.value), single.value.line)] * ranks
    else:
        compare(su.read(path), parts)


@pytest.mark.parametrize("name", ["graph.mtx", "graph.gr", "times.txt", "iso.txt", "graph.metis"])
def test_other_formats(name, tmp_path, short):
    """Counts in headers, and times of which one is finer than the others."""
    rng = np.random.default_rng(2)
    rows = rng.integers(1, 40, (60, 3)).tolist()
    moments = [f"2024-01-{day + 9}T10:00:00" for _, day, _ in rows if day < 20]
    moments[-1] += ".123456789"
    text = {
        "graph.mtx": "%%MatrixMarket matrix coordinate integer general\n40 40 60\n",
        "graph.gr": "c none\np sp 40 60\n",
        "graph.metis": "4 3\n2 3\n1\n1 4\n3\n",
    }.get(name, "")
    if name == "iso.txt":
        text += "".join(f"{k} {k + 1} {moment}\n" for k, moment in enumerate(moments))
    elif name == "times.txt":
        text += "".join(f"{a} {b} {10**9 + c}\n" for a, b, c in rows)
    elif name != "graph.metis":
        text += "".join(f"{'a ' * (name == 'graph.gr')}{a} {b} {c}\n" for a, b, c in rows)
    path = tmp_path / name
    path.write_text(text)
    short(64)
    for ranks in (2, 3, 5):
        compare(su.read(path), read_by(ranks, path))
    if "declares" not in text and name in ("graph.mtx", "graph.gr"):
        path.write_text(text.replace(" 60\n", " 61\n", 1))
        with pytest.raises(FileFormatError, match=r":2: the header declares 61 edges, the file has 60"):
            read_by(3, path)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "gb18030", "bytes"])
def test_encodings(encoding, tmp_path, short):
    path, codec = tmp_path / "graph.csv", "latin-1" if encoding == "bytes" else encoding
    path.write_bytes("src,dst\r\n".encode(codec) + "".join(f"né{k % 7},a{k}\r\n" for k in range(50)).encode(codec))
    if encoding == "utf-16":
        path.write_text("src,dst\n" + "".join(f"né{k % 7},a{k}\n" for k in range(50)), encoding=codec)
    short(64)
    options = {"relabel": True, "encoding": encoding}
    compare(su.read(path, **options), read_by(3, path, **options))


@pytest.mark.parametrize("kind", ["gz", "fifo", "small"])
def test_what_one_rank_reads_is_sent_on(kind, tmp_path, monkeypatch):
    text = "src,dst,time,fee\n" + "".join(f"n{k % 7},a{k},{90 - k},{'x' * (k == 50)}{k}\n" for k in range(61))
    path = tmp_path / f"graph.csv{'.gz' * (kind == 'gz')}"
    options = {"relabel": True, "edge_columns": ["fee"], "format": "csv"}
    with files.writing(path) as file:
        file.write(text.encode())
    single = su.read(path, **options)
    if kind == "fifo":
        path.unlink()
        os.mkfifo(path)
        threading.Thread(target=path.write_text, args=[text], daemon=True).start()
    parts = read_by(3, path, **options)
    compare(single, parts)
    assert [len(part) for part in parts] == [20, 20, 21]


# -- tables ------------------------------------------------------------------------------------------------------------


def table(rows, seed, ids="numbers"):
    """A table of pyarrow with ``rows`` rows."""
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, 50, (2, rows))
    columns = {"src": src.astype(np.int32 if seed % 2 else np.int64), "dst": dst}
    if ids == "texts":
        columns = {"src": [f"né{each}" for each in src], "dst": [f"né{each}" for each in dst]}
    moments = [f"2024-01-{10 + k % 20}T10:00:00{'.123456789' * (k == rows - 1)}" for k in range(rows)]
    further = {"weight": rng.integers(0, 9, rows), "time": moments, "shop": [f"s{k % 3}" for k in range(rows)]}
    given = {**columns, **further}
    return pa.table(
        {name: pa.array(part, pa.string()) if isinstance(part, list) else part for name, part in given.items()}
    )


def write_table(path, given, rows):
    """Write a table in groups of ``rows`` rows."""
    pa = pytest.importorskip("pyarrow")
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(given, path, row_group_size=rows)
        return
    with (pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file)(path, given.schema) as file:
        for batch in given.to_batches(max_chunksize=rows):
            file.write_batch(batch)


@pytest.mark.parametrize("ids", ["numbers", "texts"])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows"])
@pytest.mark.parametrize("parts", [1, 4])
def test_tables(parts, suffix, ids, tmp_path):
    for part in range(parts):
        write_table(tmp_path / f"p{part}{suffix}", table([50, 0, 9, 30][part], part, ids), 7)
    path = tmp_path if parts > 1 else tmp_path / f"p0{suffix}"
    options = {"relabel": ids == "texts", "edge_columns": ["shop"]}
    single = su.read(path, **options)
    for ranks in (2, 5):
        found = read_by(ranks, path, **options)
        compare(single, found)
        assert suffix == ".arrows" or sum(len(part) > 0 for part in found) == ranks
    ordered = {**options, "sort_by_time": True}
    compare(su.read(path, **ordered), read_by(3, path, **ordered))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_an_error_in_a_table_names_its_row(suffix, tmp_path):
    pa = pytest.importorskip("pyarrow")
    ids = pa.array([None if k == 33 else k for k in range(40)], pa.int64())
    path = tmp_path / f"graph{suffix}"
    write_table(path, pa.table({"src": ids, "dst": ids}), 7)
    with pytest.raises(FileFormatError) as single:
        su.read(path)
    with pytest.raises(FileFormatError) as several:
        read_by(3, path)
    assert str(several.value) == str(single.value) == f"{path}: src[33] is missing"


@pytest.mark.parametrize("low", [-1, 1])
def test_numbers_below_zero_on_one_rank(low, tmp_path):
    pa = pytest.importorskip("pyarrow")
    src, dst = pa.array([1, 2, 3, 4], pa.uint64()), pa.array([5, 6, 7, low], pa.int64())
    write_table(tmp_path / "graph.parquet", pa.table({"src": src, "dst": dst}), 1)
    single = su.read(tmp_path / "graph.parquet", relabel=True)
    assert single.labels.dtype == (np.int64 if low < 0 else np.uint64)
    compare(single, read_by(4, tmp_path / "graph.parquet", relabel=True))


# -- graphs ------------------------------------------------------------------------------------------------------------


def listed(graph):
    """The edges of a graph, with weights and columns, sorted."""
    src, dst, weight = graph.edges()[:3]
    weights = [None] * len(src) if weight is None else weight.tolist()
    ends = ([graph.names[int(v)] for v in ids] for ids in (src, dst)) if graph.names else (src.tolist(), dst.tolist())
    return sorted(zip(*ends, weights, strict=True), key=repr)


@pytest.mark.parametrize("combine", [None, "sum", "first", "count", "min"])
@pytest.mark.parametrize("name", ["graph.csv", "mirrored.mtx", "odd.mtx"])
def test_graphs(combine, name, tmp_path, short):
    """Rows of one edge lie on several ranks; a matrix is symmetric, or is not because of one entry."""
    rng = np.random.default_rng(4)
    rows = rng.integers(1, 9, (60, 3)).tolist()
    if name != "graph.csv":
        pairs = {(a, b): c for a, b, c in rows if a != b}
        rows = [(a, b, c) for (a, b), c in pairs.items() if a < b] + [(b, a, c) for (a, b), c in pairs.items() if a < b]
        rows += [(1, 2, 70)] * (name == "odd.mtx")
    head = (
        f"%%MatrixMarket matrix coordinate integer general\n9 9 {len(rows)}\n" if "mtx" in name else "src,dst,weight\n"
    )
    sign = " " if "mtx" in name else ","
    path = tmp_path / name
    path.write_text(head + "".join(sign.join(map(str, row)) + "\n" for row in rows))
    short(64)
    options = {"relabel": name == "graph.csv"}
    made = {"device": "cpu", "directed": False}
    single = su.read(path, **options).to_graph(combine=combine, **made)

    def job(comm):
        graph = su.read(path, comm=comm, **options).to_graph(combine=combine, **made)
        assert listed(graph) == listed(single)
        assert (graph.num_vertices, graph.weight_dtype) == (single.num_vertices, single.weight_dtype)
        if combine is None:
            assert graph.compute("wcc").num_components == single.compute("wcc").num_components

    run(job, 3)


def test_parts_are_written_by_rank_and_graphs_once(tmp_path, short, monkeypatch):
    path = tmp_path / "graph.csv"
    path.write_text("src,dst,weight\n" + "".join(f"{k % 9},{k * k % 7},{k}\n" for k in range(60)))
    short(64)
    opened = []
    real = files.writing
    monkeypatch.setattr(files, "writing", lambda given: opened.append(given.name) or real(given))

    def job(comm):
        file = su.read(path, comm=comm)
        su.write(file, tmp_path / f"part{comm.rank}.csv")
        su.write(file.to_graph(device="cpu"), tmp_path / "all.csv")

    run(job, 3)
    assert sorted(opened) == ["all.csv", "part0.csv", "part1.csv", "part2.csv"]
    single = su.read(path)
    parts = [su.read(tmp_path / f"part{rank}.csv") for rank in range(3)]
    for name in ("src", "dst", "weight"):
        assert np.concatenate([getattr(part, name) for part in parts]).tolist() == getattr(single, name).tolist()
    assert listed(su.read(tmp_path / "all.csv").to_graph(device="cpu")) == listed(single.to_graph(device="cpu"))


# -- what is read, and what is wrong -----------------------------------------------------------------------------------


def bytes_read():
    with open("/proc/self/io") as file:
        return int(next(file).split()[1])


@pytest.mark.parametrize("name", ["graph.csv", "graph.parquet", "graph.arrow"])
def test_ranks_read_the_input_once(name, tmp_path):
    pa = pytest.importorskip("pyarrow")
    rng, path = np.random.default_rng(5), tmp_path / name
    given = pa.table({end: rng.integers(0, 10**6, 300_000) for end in ("src", "dst")})
    if name == "graph.csv":
        pytest.importorskip("pyarrow.csv").write_csv(given, path)
    else:
        write_table(path, given, 20_000)
    read_by(2, path)  # imports and compiled code are files, too
    begin = bytes_read()
    assert sum(map(len, read_by(4, path))) == 300_000
    assert path.stat().st_size <= bytes_read() - begin <= 1.05 * path.stat().st_size


def test_errors_of_the_call(tmp_path, short):
    path = tmp_path / "graph.txt"
    path.write_text("1 2\n" * 40)
    with pytest.raises(ParameterError, match=r"comm must be a Comm, which connect\(\) or run\(\) gives"):
        su.read(path, comm="mpi")
    with pytest.raises(ParameterError, match=r"path is .* on rank 0 and .* on rank 1: pass the same"):
        run(lambda comm: su.read(path.with_name(("graph.txt", "other.txt")[comm.rank]), comm=comm))
    with pytest.raises(ParameterError, match=r"options is .*: pass the same on all ranks"):
        run(lambda comm: su.read(path, comm=comm, relabel=comm.rank == 1))
    with pytest.raises(FileNotFoundError, match=r"nowhere\.txt"):
        read_by(2, tmp_path / "nowhere.txt")
    with pytest.raises(ParameterError, match="read with another comm"):
        run(lambda comm: su.read(path, comm=comm).to_graph(device="cpu", comm=None))


@pytest.mark.parametrize("wrong", ["missing", "other"])
def test_a_file_that_one_rank_sees_otherwise(wrong, tmp_path, monkeypatch, short):
    path, other = tmp_path / "graph.txt", tmp_path / "other.txt"
    path.write_text("1 2\n" * 40)
    if wrong == "other":
        other.write_text("1 2\n" * 41)
    real = files.open_for_reading
    seen = lambda given: real(other if threading.current_thread().name == "rank 1" else given)  # noqa: E731
    monkeypatch.setattr(files, "open_for_reading", seen)
    short(64)
    found = []

    def job(comm):
        try:
            su.read(path, comm=comm)
        except (OSError, SuricateError) as error:
            found.append((type(error), "rank 1" in str(error) or "other.txt" in str(error)))

    run(job, 3)
    assert found == [(FileNotFoundError if wrong == "missing" else ParameterError, True)] * 3
