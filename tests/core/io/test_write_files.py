"""Writers: what is written is read back the same, by every pair of writer and reader; a failure leaves the old file."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from suricate import io
from suricate.base.types import EdgeList
from suricate.errors import DTypeError, ParameterError, ShapeError, UnknownNameError, VertexRangeError, WeightError
from suricate.io import formatter, writing
from suricate.io.formats import TABLE_FORMATS


@pytest.fixture(autouse=True, params=["interpreted", "compiled"])
def writer(request, monkeypatch):
    """Both ways to format: that of small files and that of large ones."""
    if request.param == "compiled":
        monkeypatch.setattr(writing, "SMALL_ROWS", -1)


SUFFIXES = ["", ".gz", ".xz", ".bz2"]
EXTENSION = {"snap": ".txt", "temporal": ".txt"}


def edge_file(edges, *, weight=None, time=None, num_vertices=None, directed=True, labels=None):
    src, dst = np.array(edges, np.uint32).reshape(-1, 2).T
    count = int(max(src.max(), dst.max())) + 1 if len(src) else 0
    return io.EdgeFile(src, dst, weight, time, num_vertices or count, directed, labels, None, "snap")


def rows(file):
    columns = [part.tolist() for part in (file.src, file.dst, file.weight, file.time) if part is not None]
    return list(zip(*columns, strict=True))


edges_of = st.lists(st.tuples(st.integers(0, 2**32 - 3), st.integers(0, 300)), max_size=40)
weights_of = {
    None: st.none(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "float32": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
}


@pytest.mark.parametrize("dtype", weights_of)
@pytest.mark.parametrize("format", io.FORMATS)
@given(data=st.data())
def test_round_trip(tmp_path_factory, format, dtype, data):
    edges = data.draw(edges_of)
    if format == "gr" and dtype in ("float32", "float64"):
        dtype = "int32"
    size = {"min_size": len(edges), "max_size": len(edges)}
    weight = np.array(data.draw(st.lists(weights_of[dtype], **size)), dtype) if dtype else None
    time = None
    if format in ("temporal", "csv", *TABLE_FORMATS):
        time = np.array(data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), **size)), np.int64)
    written = edge_file(edges, weight=weight, time=time)
    suffix = "" if format in TABLE_FORMATS else data.draw(st.sampled_from(SUFFIXES))
    path = tmp_path_factory.mktemp("trip") / f"e{EXTENSION.get(format, f'.{format}')}{suffix}"
    assert io.write(written, path, format) == path
    read = io.read(path, weight_dtype=dtype)
    if format == "gr" and weight is None:
        assert read.weight.tolist() == [1] * len(edges)
        read = edge_file(np.stack((read.src, read.dst), 1), num_vertices=read.num_vertices)
    assert rows(read) == rows(written)
    assert read.num_vertices == written.num_vertices
    assert weight is None or not edges or (read.weight.dtype == np.dtype(dtype) and np.array_equal(read.weight, weight))


def test_isolated_vertices_and_direction_survive(tmp_path):
    written = edge_file([(0, 1), (2, 1)], num_vertices=9, directed=False)
    for name in ("e.txt", "e.mtx"):
        read = io.read(io.write(written, tmp_path / name))
        assert (read.num_vertices, read.directed) == (9, False)
    assert {tuple(sorted(edge)) for edge in rows(read)} == {(0, 1), (1, 2)}
    read = io.read(io.write(written, tmp_path / "e.gr"))
    assert (read.num_vertices, read.directed) == (9, True)
    assert sorted(rows(read)) == [(0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 1, 1)]


def test_self_loops_stay_single_in_gr(tmp_path):
    read = io.read(io.write(edge_file([(1, 1), (0, 1)], directed=False), tmp_path / "e.gr"))
    assert sorted(rows(read)) == [(0, 1, 1), (1, 0, 1), (1, 1, 1)]


def test_scipy_reads_our_matrix_market(tmp_path):
    path = io.write((np.array([0, 2, 2]), np.array([1, 0, 2]), np.array([0.5, -3, 1e-9])), tmp_path / "m.mtx")
    assert scipy.io.mmread(path).toarray().tolist() == [[0, 0.5, 0], [0, 0, 0], [-3, 0, 1e-9]]
    path = io.write(([0, 1], [1, 2]), tmp_path / "s.mtx", directed=False)
    assert scipy.io.mmread(path).toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_python_csv_reads_our_csv(tmp_path):
    path = io.write(edge_file([(3, 4)], weight=np.array([0.5]), time=np.array([7])), tmp_path / "e.csv.gz")
    with gzip.open(path, "rt") as stream:
        assert list(csv.DictReader(stream)) == [{"src": "3", "dst": "4", "weight": "0.5", "time": "7"}]
    assert (io.write(([1], [2]), tmp_path / "e.tsv")).read_text() == "src\tdst\n1\t2\n"


def test_labels_are_written_on_request(tmp_path):
    (tmp_path / "in.csv").write_text('src,dst\n"Doe, ""J""",bob\nbob,7 a\n')
    file = io.read(tmp_path / "in.csv", relabel=True)
    again = io.read(io.write(file, tmp_path / "out.csv", labels=True), relabel=True)
    assert again.labels.tolist() == ['Doe, "J"', "bob", "7 a"]
    assert rows(again) == rows(file)
    assert rows(io.read(io.write(file, tmp_path / "dense.csv"))) == rows(file)
    with pytest.raises(ValueError, match="a label with blanks"):
        io.write(file, tmp_path / "out.txt", labels=True)
    (tmp_path / "in.txt").write_text("18446744073709551615 5\n")
    file = io.read(tmp_path / "in.txt", relabel=True)
    assert "18446744073709551615 5\n" in io.write(file, tmp_path / "out.txt", labels=True).read_text()
    with pytest.raises(ValueError, match="relabel"):
        io.write(([1], [2]), tmp_path / "x.txt", labels=True)


def with_labels(*labels):
    return edge_file([(0, len(labels) - 1)], labels=np.array(labels, object))


def test_labels_that_a_format_cannot_hold(tmp_path):
    for label in ("a\nb", "a\rb", "a\0", ""):
        for name in ("out.csv", "out.txt"):
            with pytest.raises(ParameterError, match="Parquet and Arrow only"):
                io.write(with_labels(label, "b"), tmp_path / name, labels=True)
        path = io.write(with_labels(label, "b"), tmp_path / "out.parquet", labels=True)
        assert io.read(path, relabel=True).labels.tolist() == [label, "b"]
    path = io.write(with_labels(" a ", "b"), tmp_path / "out.csv", labels=True)
    assert io.read(path, relabel=True).labels.tolist() == [" a ", "b"]


def test_many_rows_pass_through_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_ROWS", 64)
    rng, seen = np.random.default_rng(0), []
    edges = EdgeList(rng.integers(0, 99, 1000, np.uint32), rng.integers(0, 99, 1000, np.uint32), rng.random(1000))
    path = io.write(edges, tmp_path / "e.txt", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (1000, 1000)
    assert rows(io.read(path)) == list(zip(*(part.tolist() for part in edges), strict=True))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.booleans())
def test_whole_numbers(values, small):
    lines = formatter.format_chunk(b"a ", b" ", [np.array(values), np.array([b"x"] * len(values))], small=small)
    assert lines.decode().splitlines() == [f"a {value} x" for value in values]


def test_equal_graphs_give_equal_files(tmp_path):
    first, second = (io.write(([0], [1]), tmp_path / name).read_bytes() for name in ("a.txt.gz", "b.txt.gz"))
    assert first == second


@pytest.mark.parametrize(
    ("edges", "name", "error"),
    [
        (([0, 1], [1]), "e.txt", ShapeError),
        (([0], [-1]), "e.txt", VertexRangeError),
        (([0.5], [1.0]), "e.txt", DTypeError),
        (([True], [False]), "e.txt", DTypeError),
        ((np.ma.array([0, 9], mask=[0, 1]), [1, 1]), "e.txt", DTypeError),
        (([0], [1], [[2]]), "e.txt", ShapeError),
        (([0], [1], [1j]), "e.txt", WeightError),
        (([0], [1], [2], [3]), "e.txt", ParameterError),
        (None, "e.txt", ParameterError),
        (([0], [2**32 - 2]), "e.txt", VertexRangeError),
        (([0], [1], [np.nan]), "e.txt", WeightError),
        (([0], [1], [0.5]), "e.gr", WeightError),
        (([0], [1], np.array([2**63], np.uint64)), "e.txt", WeightError),
        (([0], [1], ["x"]), "e.txt", WeightError),
    ],
)
def test_edges_that_cannot_be_written(tmp_path, edges, name, error):
    (tmp_path / name).write_text("old")
    with pytest.raises(error):
        io.write(edges, tmp_path / name)
    assert (tmp_path / name).read_text() == "old"


def test_format_errors(tmp_path):
    with pytest.raises(UnknownNameError, match="snap"):
        io.write(([0], [1]), tmp_path / "e", "json")
    with pytest.raises(ShapeError, match="times"):
        io.write(([0], [1]), tmp_path / "e", "temporal")
    with pytest.raises(VertexRangeError, match="num_vertices=5"):
        io.write(([0], [5]), tmp_path / "e", num_vertices=5)
    with pytest.raises(FileNotFoundError):
        io.write(([0], [1]), tmp_path / "no" / "e.txt")


@pytest.mark.parametrize("arguments", [{"num_vertices": np.nan}, {"num_vertices": "3"}, {"directed": "no"}])
def test_bad_arguments(tmp_path, arguments):
    with pytest.raises(ParameterError, match=next(iter(arguments))):
        io.write(([0], [1]), tmp_path / "e.txt", **arguments)


@pytest.mark.parametrize("name", ["e.txt", "e.txt.gz"])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, name):
    def interrupt(done, total):
        raise KeyboardInterrupt

    path = tmp_path / name
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        io.write(([0], [1]), path, progress=interrupt)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_graphs_are_written(tmp_path, device):
    from suricate import Graph

    graph = Graph(5, device=device, directed=False, weight_dtype="int32")
    graph.insert_edges([0, 3], [1, 2], [7, 8])
    read = io.read(io.write(graph, tmp_path / "g.mtx"))
    assert sorted((min(u, v), max(u, v), w) for u, v, w in rows(read)) == [(0, 1, 7), (2, 3, 8)]
    assert (read.num_vertices, read.directed) == (5, False)
