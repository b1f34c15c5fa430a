"""Readers: every format against a line-by-line parser in plain Python, every malformed file with its line number."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from suricate import io
from suricate.errors import (
    CapacityError,
    FileFormatError,
    MissingLibraryError,
    ParameterError,
    UnknownNameError,
    WeightError,
)
from suricate.io import files

try:
    import lz4.frame
    from backports import zstd
except ImportError:  # on an older installation: these two are not tested
    zstd = None

pytestmark = pytest.mark.usefixtures("reader")


def rows(file):
    columns = [part.tolist() for part in (file.src, file.dst, file.weight, file.time) if part is not None]
    return list(zip(*columns, strict=True))


def test_import_loads_no_numba():
    code = "import sys, suricate.io; from suricate import generate; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not {"numba", "cupy", "lzma", "scipy"} & set(loaded.split())


# -- formats -----------------------------------------------------------------------------------------------------------


def test_snap_text(put):
    text = "# Directed graph: x\r\n# Nodes: 9 Edges: 4\n\n0\t1\r\n  2 3  \n%comment\n 3   3\n0 1"
    file = io.read(put(text))
    assert (file.format, file.num_vertices, file.directed) == ("snap", 9, True)
    assert rows(file) == [(0, 1), (2, 3), (3, 3), (0, 1)]
    assert file.src.dtype == file.dst.dtype == np.uint32
    assert file.weight is file.time is file.labels is None
    assert len(file) == 4


def test_nodes_of_the_header_never_cut_ids_off(put):
    assert io.read(put("# Nodes: 2 Edges: 1\n0 7\n")).num_vertices == 8


def test_undirected_hint_and_override(put):
    path = put("# Undirected graph\n0 1\n")
    assert io.read(path).directed is False
    assert io.read(path, directed=True).directed is True
    assert io.read(put("0 1\n")).directed is None


@pytest.mark.parametrize(
    ("tokens", "dtype"),
    [
        (["1", "-2", "3"], np.int32),
        (["1", "2", "4294967295"], np.uint32),
        (["-1", "2", "4294967295"], np.float64),
        (["1", "2", "3.0"], np.float64),
        (["1", "2", "3e0"], np.float64),
        (["+.5", "5.", "-1e-3"], np.float64),
        (["0.1234567890123456789", "1.7976931348623157e308", "4.9e-324"], np.float64),
        (["123456789012345678901234567890", "1e23", "9007199254740993"], np.float64),
    ],
)
def test_weights(put, tokens, dtype):
    file = io.read(put("".join(f"{i} {i + 1} {token}\n" for i, token in enumerate(tokens))))
    assert file.weight.dtype == dtype
    assert file.weight.tolist() == [float(token) for token in tokens]


def test_weight_dtype_is_taken(put):
    path = put("0 1 3\n1 2 4\n")
    for dtype in (np.int32, np.uint32, np.float32, np.float64):
        assert io.read(path, weight_dtype=dtype).weight.dtype == dtype


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_decimals_are_rounded_correctly(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("weights") / "w.txt"
    forms = ["%r", "%.17g", "%.25e", "%.6f"]
    tokens = [forms[i % 4] % value for i, value in enumerate(values)]
    path.write_text("".join(f"0 1 {token}\n" for token in tokens))
    assert io.read(path, "snap", weight_dtype="float64").weight.tolist() == [float(token) for token in tokens]


def test_temporal_keeps_times_and_sorts_stably(put):
    path = put("0 1 300\n1 2 -5\n2 3 300\n3 4 100\n")
    assert rows(io.read(path, "temporal")) == [(0, 1, 300), (1, 2, -5), (2, 3, 300), (3, 4, 100)]
    file = io.read(path, "temporal", sort_by_time=True)
    assert rows(file) == [(1, 2, -5), (3, 4, 100), (0, 1, 300), (2, 3, 300)]
    assert file.time.dtype == np.int64
    assert rows(io.read(put("0 1 7 99\n1 2 8 12\n"), "temporal", sort_by_time=True)) == [(1, 2, 8, 12), (0, 1, 7, 99)]
    with pytest.raises(FileFormatError, match="no time"):
        io.read(put("0 1\n"), sort_by_time=True)


@pytest.mark.parametrize(
    ("text", "name", "format"),
    [
        ("1 2 1082040961\n3 4 1082155839\n", "a.txt", "temporal"),
        ("1 2 0\n3 4 17\n", "mail-temporal.txt", "temporal"),
        ("# src dst time\n1 2 0\n", "a.txt", "temporal"),
        ("# src dst weight\n1 2 1082040961\n", "a.txt", "snap"),
        ("1 2 30\n3 4 17\n", "a.txt", "snap"),
        ("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", "a.txt", "mtx"),
        ("c\nc x\np sp 2 1\na 1 2 5\n", "a.txt", "gr"),
        ("u,v\n1,2\n", "a.txt", "csv"),
        ("source target\n1 2\n", "a.txt", "csv"),
        ("1,2\n", "a.txt", "csv"),
        ("", "a.txt", "snap"),
    ],
)
def test_detection(put, text, name, format):
    assert io.read(put(text, name)).format == format


def test_matrix_market(put):
    head = "%%MatrixMarket matrix coordinate {} {}\n% comment\n\n 4 3 2\n"
    file = io.read(put(head.format("real", "general") + "4 1 1\n% inside\n1 3 2.5\n", "m.mtx"))
    assert rows(file) == [(3, 0, 1.0), (0, 2, 2.5)]
    assert (file.num_vertices, file.directed, file.weight.dtype) == (4, True, np.float64)
    file = io.read(put(head.format("real", "general") + "4 1 1\n1 3 2\n", "m.mtx"))
    assert file.weight.dtype == np.float64
    file = io.read(put(head.format("integer", "symmetric") + "4 1 -1\n1 3 2\n", "m.mtx"))
    assert rows(file) == [(3, 0, -1), (0, 2, 2)]
    assert (file.directed, file.weight.dtype) == (False, np.int32)
    assert rows(io.read(put(head.format("PATTERN", "General") + "4 1\n1 3\n", "m.mtx"))) == [(3, 0), (0, 2)]


def test_dimacs(put):
    file = io.read(put("c\nc hello\np sp 5 2\nc x\na 1 5 7\na 2 1 0\n", "g.gr"))
    assert rows(file) == [(0, 4, 7), (1, 0, 0)]
    assert (file.num_vertices, file.directed, file.weight.dtype) == (5, True, np.int32)


COMMENTS = {
    "Directed graph: x": True,
    "Undirected graph: ../data/com-dblp.ungraph.txt": False,
    "directed: no": False,
    "not directed": False,
    "un-directed, non-directed": False,
    "not undirected": True,
    "no self-loops, directed": True,
    "Directed graph, not undirected": None,
    "directed (converted from undirected)": None,
    "directed or not": None,
    "neither sorted nor directed": None,
    "bi-directed": None,
    "from http://x.org/undirected/a.html and undirected.txt": None,
    "redirected": None,
}


@pytest.mark.parametrize("comment", COMMENTS)
def test_direction_of_comments(put, comment):
    assert io.read(put(f"# {comment}\n0 1\n")).directed is COMMENTS[comment]


def test_konect(put):
    file = io.read(put("% sym unweighted\n% 2 5 5\n1 2\n2 3\n", "out.x"))
    assert (rows(file), file.directed, file.num_vertices) == ([(0, 1), (1, 2)], False, 5)
    file = io.read(put("% asym positive\n1 2 3 1082040961\n2 1 1 1082040962\n", "out.temporal-x"))
    assert (rows(file), file.directed) == ([(0, 1, 3, 1082040961), (1, 0, 1, 1082040962)], True)
    assert rows(io.read(put("% asym unweighted\n1 2 1 9\n"))) == [(0, 1, 9)]
    assert rows(io.read(put("% asym unweighted\n1 2\n"), first_id=0)) == [(1, 2)]
    bipartite = put("% bip unweighted\n% 2 3 2\n1 1\n3 2 \n")
    assert (rows(io.read(bipartite)), io.read(bipartite).num_vertices) == ([(0, 3), (2, 4)], 5)
    assert io.read(bipartite, relabel=True).labels.tolist() == [1, 4, 3, 5]
    with pytest.raises(FileFormatError, match=":4: id '3' is too large"):
        io.read(put("% bip unweighted\n% 2 3 2\n1 1\n1 3\n"))
    with pytest.raises(FileFormatError, match="needs its sizes"):
        io.read(put("% bip unweighted\n1 1\n"))


def test_unsigned_matrices_of_scipy(put):
    text = "%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 2\n1 2 3\n2 1 4294967295\n"
    file = io.read(put(text, "m.mtx"))
    assert (rows(file), file.weight.dtype) == ([(0, 1, 3), (1, 0, 4294967295)], np.uint32)


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["integer", "real", "pattern"])
def test_matrices_that_scipy_writes(tmp_path, field, symmetry):
    rng = np.random.default_rng(6)
    given = np.where(rng.random((40, 40)) < 0.2, rng.integers(-9, 10, (40, 40)), 0)
    given = given + given.T if symmetry == "symmetric" else given
    given = given / 8 if field == "real" else given
    scipy.io.mmwrite(tmp_path / "m.mtx", scipy.sparse.coo_array(given), field=field, symmetry=symmetry)
    file = io.read(tmp_path / "m.mtx")
    assert (file.num_vertices, file.directed) == (40, symmetry == "general")
    found = np.zeros((40, 40))
    for at in [(file.src, file.dst)] + [(file.dst, file.src)] * (not file.directed):
        found[at] = 1 if file.weight is None else file.weight
    assert (file.weight is None) == (field == "pattern")
    np.testing.assert_array_equal(found, given != 0 if field == "pattern" else given)


@pytest.mark.parametrize("chunk", [6, 1 << 20])
def test_metis(put, monkeypatch, chunk):
    monkeypatch.setattr(files, "CHUNK", chunk)
    file = io.read(put("% a\n5 4\n2 3\n1 3 2\r\n% b\n\t1 2\n\n\n", "m.graph"))
    assert rows(file) == [(0, 1), (0, 2), (1, 2), (1, 1)]
    assert (file.format, file.num_vertices, file.directed) == ("metis", 5, False)
    file = io.read(put("3 2 111 2\n9 8 7 2 40\n9 8 7 1 40 3 60\n9 8 7 2 60", "m.txt"), "metis")
    assert rows(file) == [(0, 1, 40), (1, 2, 60)]
    assert file.weight.dtype == np.int32
    with pytest.raises(FileFormatError, match="weight 3000000000 is more than"):
        io.read(put("2 1 1\n2 3000000000\n1 3000000000\n", "w.metis"), weight_dtype="int32")
    with pytest.raises(ParameterError, match="no relabel"):
        io.read(put("0 0\n", "n.graph"), relabel=True)
    assert len(io.read(put("0 0\n", "n.graph"))) == 0


def test_csv_header_defaults_and_choice(put):
    text = 'id,Source,target,note,Weight,timestamp\n9,0,1,"a, ""b""",2.5,77\n9,"1" , 2,,3.5,78\n'
    file = io.read(put(text, "e.csv"))
    assert rows(file) == [(0, 1, 2.5, 77), (1, 2, 3.5, 78)]
    file = io.read(put(text, "e.csv"), columns={"src": "id", "dst": 2})
    assert rows(file) == [(9, 1), (9, 2)]
    assert rows(io.read(put("a;to;from\n;1;2\n", "e.csv"))) == [(2, 1)]
    assert rows(io.read(put("u\tv\tx\n1\t2\t\n", "e.tsv"))) == [(1, 2)]
    assert rows(io.read(put("u|v\n1|2", "e.csv"), delimiter="|")) == [(1, 2)]
    assert rows(io.read(put("# note\n5,6,1,100\n7,8,2,200\n", "e.csv"))) == [(5, 6, 1, 100), (7, 8, 2, 200)]
    assert rows(io.read(put("\ufeffsrc,dst\n1,2\n", "e.csv"))) == [(1, 2)]


def test_columns_by_position_in_text(put):
    file = io.read(put("x 5 4 0.5\ny 6 5 1.5\n"), columns={"dst": 1, "src": 2, "weight": 3})
    assert rows(file) == [(4, 5, 0.5), (5, 6, 1.5)]


def test_unknown_names(put):
    path = put("src,dst\n1,2\n", "e.csv")
    with pytest.raises(UnknownNameError, match="snap"):
        io.read(path, "png")
    with pytest.raises(UnknownNameError, match="payer"):
        io.read(path, columns={"src": "payer", "dst": "dst"})
    with pytest.raises(UnknownNameError, match="role"):
        io.read(path, columns={"from": "src", "dst": "dst"})
    with pytest.raises(ValueError, match="fixes"):
        io.read(path, "gr", first_id=0)


def test_times_in_iso_8601(put):
    path = put("u,v,t\n1,2,2024-05-17T13:45:00.25Z\n2,3, 2024-05-17 15:45:00.25+02:00 \n3,4,20240517t0000Z\n", "e.csv")
    file = io.read(path)
    assert file.time.tolist() == [1_715_953_500_250_000] * 2 + [1_715_904_000_000_000]
    assert (file.time.dtype, file.time_unit) == (np.int64, "us")
    assert io.read(put("1,2,2024-05-17\n", "e.csv")).time.tolist() == [1_715_904_000_000_000]  # no header
    assert rows(io.read(put("1 2 1970-01-01T00:00:01Z\n"))) == [(1, 2, 10**6)]
    assert io.read(put("1 2 1082040961\n")).time_unit is None


def test_a_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(gzip.compress(b"0 1\n1 2\n")), daemon=True)
    writer.start()
    assert rows(io.read(tmp_path / "pipe")) == [(0, 1), (1, 2)]


def test_weight_dtype_without_weights(put):
    assert io.read(put("0 1\n" * 100), weight_dtype="int32").weight is None


def test_small_files_load_no_numba(put):
    path = put("payer,payee,amount\n" + '"Doe, J",bob,1.5\nbob,ann,2\n' * 500, "e.csv")
    code = f"""
import sys, suricate as su
file = su.read({str(path)!r}, relabel=True, columns=dict(src="payer", dst="payee", weight="amount"))
su.write(file, {str(path)!r}, labels=True)
assert len(file) == 1000 and "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_many_odd_lines_are_left_to_the_compiled_loop(put):
    text = "src,dst\n" + "".join(f'"a ""{i}""",b\n' for i in range(1000))
    file = io.read(put(text, "e.csv"), relabel=True)
    assert (len(file), len(file.labels), file.labels[0]) == (1000, 1001, 'a "0"')


def test_first_id_and_num_vertices(put):
    path = put("1 2\n2 3\n")
    file = io.read(path, first_id=1, num_vertices=10)
    assert rows(file) == [(0, 1), (1, 2)]
    assert file.num_vertices == 10
    with pytest.raises(FileFormatError, match=r":2: id '3' is too large"):
        io.read(path, num_vertices=3)
    with pytest.raises(FileFormatError, match=r":1: id '0' is below 1"):
        io.read(put("0 1\n"), first_id=1)


# -- relabelling -------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(*[st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1))] * 2)))
def test_relabel_numbers_in_order_of_appearance(tmp_path_factory, edges):
    path = tmp_path_factory.mktemp("ids") / "e.txt"
    path.write_text("".join(f"{u} {v}\n" for u, v in edges))
    file = io.read(path, relabel=True)
    order = list(dict.fromkeys(id for edge in edges for id in edge))
    assert file.labels.tolist() == order
    assert file.labels.dtype == (np.uint64 if max(order, default=0) >= 2**63 else np.int64)
    assert file.num_vertices == len(order)
    assert [(order[u], order[v]) for u, v in rows(file)] == edges


@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=',";|'), min_size=1)] * 2)
    )
)
def test_relabel_texts(tmp_path_factory, edges):
    path = tmp_path_factory.mktemp("ids") / "e.csv"
    path.write_text("src,dst\n" + "".join(f"{u},{v}\n" for u, v in edges), "utf-8")
    file = io.read(path, relabel="text")
    order = list(dict.fromkeys(id for edge in edges for id in edge))
    assert file.labels.tolist() == order
    assert [(order[u], order[v]) for u, v in rows(file)] == edges


def test_relabel_negative_numbers(put):
    file = io.read(put("-1 2\n2 -9223372036854775808\n0 9223372036854775807\n"), relabel=True)
    assert (file.labels.tolist(), file.labels.dtype) == ([-1, 2, -(2**63), 0, 2**63 - 1], np.int64)
    assert rows(io.read(put("7 -3 5\n-3 8 -5\n"), relabel=True)) == [(0, 1, 5), (1, 2, -5)]
    for text, reason in {
        "-1 2\n3 9223372036854775808\n": "ids below 0 and ids from 2",
        "1 -9223372036854775809\n": "too large",
        "1 -x\n": "'-x' is not the text of an integer",
    }.items():
        with pytest.raises(FileFormatError, match=reason):
            io.read(put("0 0\n" + text), relabel=True)
    with pytest.raises(FileFormatError, match=r"id '-1' is negative \(relabel maps"):
        io.read(put("-1 2\n"))


def test_relabel_many_ids_grows_the_tables(put):
    ids = np.random.default_rng(3).integers(0, 2**62, 60_000)
    file = io.read(put("".join(f"{u} {v}\n" for u, v in ids.reshape(-1, 2).tolist())), relabel=True)
    assert np.array_equal(file.labels[np.stack((file.src, file.dst), 1).ravel()], ids)
    names = [f"name-{'x' * (k % 40)}-{k}" for k in ids.tolist()]
    file = io.read(put("".join(f"{u} {v}\n" for u, v in zip(names[::2], names[1::2], strict=True))), relabel=True)
    assert file.labels[np.stack((file.src, file.dst), 1).ravel()].tolist() == names


def test_relabel_text_by_itself_and_quotes(put):
    file = io.read(put('from,to,w\n"Doe, ""J""",bob,1\nbob, ann b ,2\n', "e.csv"), relabel=True)
    assert file.labels.tolist() == ['Doe, "J"', "bob", "ann b"]
    assert rows(file) == [(0, 1, 1), (1, 2, 2)]
    assert io.read(put("7 8\n"), relabel="text").labels.tolist() == ["7", "8"]
    assert (
        io.read(put(b"a\xff b\n"), relabel=True, encoding="bytes").labels[0].encode("utf-8", "surrogateescape")
        == b"a\xff"
    )


def test_relabel_one_based_file_has_its_own_ids(put):
    file = io.read(put("p sp 9 2\na 9 4 1\na 4 2 1\n", "g.gr"), relabel=True)
    assert file.labels.tolist() == [9, 4, 2]
    assert (file.num_vertices, rows(file)) == (3, [(0, 1, 1), (1, 2, 1)])
    with pytest.raises(FileFormatError, match="3 different ids"):
        io.read(put("5 6\n6 7\n"), relabel=True, num_vertices=2)


# -- compression, chunks, progress -------------------------------------------------------------------------------------

COMPRESS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
if zstd is not None:
    COMPRESS |= {".zst": zstd.compress, ".lz4": lz4.frame.compress}


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("chunk", [7, 64, 1 << 20])
def test_chunks_do_not_show(put, monkeypatch, suffix, chunk):
    monkeypatch.setattr(files, "CHUNK", chunk)
    edges = [(k, k * k % 101, k / 8) for k in range(500)]
    text = "# c\n" + "".join(f"{u} {v} {w}\n" for u, v, w in edges)
    seen, callers = [], set()

    def progress(done, total):
        seen.append((done, total))
        callers.add(threading.get_ident())

    path = put(COMPRESS[suffix](text.encode()), f"e.txt{suffix}")
    assert rows(io.read(path, progress=progress)) == edges
    assert callers == {threading.get_ident()}  # whichever thread decompresses
    size = path.stat().st_size
    assert seen[-1] == (size, size)
    assert seen == sorted(seen)


def test_sha256_is_of_the_uncompressed_bytes(put):
    plain, packed = put("0 1\n"), put(gzip.compress(b"0 1\n"), "g.txt.gz")
    assert io.read(plain).sha256 == io.read(packed).sha256


def test_members_and_padding_of_gzip(put):
    assert rows(io.read(put(gzip.compress(b"0 1\n2") + gzip.compress(b" 3\n") + b"\0" * 99, "g.gz"))) == [
        (0, 1),
        (2, 3),
    ]


@pytest.mark.skipif(zstd is None, reason="needs backports.zstd and lz4")
def test_the_package_zstandard_will_do(put, monkeypatch):
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    text = "".join(f"{k} {k * 7919 % 1000}\n" for k in range(30000)).encode()
    packed = zstd.compress(text[:100_000]) + zstd.compress(text[100_000:])
    assert len(io.read(put(packed, "g.txt.zst"))) == 30000
    with pytest.raises(FileFormatError, match="ends too early"):
        io.read(put(packed[:-9], "g.txt.zst"))
    path = put("", "h.txt.zst")
    io.write(([0], [1]), path)
    assert rows(io.read(path)) == [(0, 1)]
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "lz4.frame", None)
    for name, content in {"g.zst": packed, "g.lz4": lz4.frame.compress(text)}.items():
        with pytest.raises(MissingLibraryError, match=r"files need the package .*: pip install 'suricate\["):
            io.read(put(content, name))


@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESS if suffix])
def test_truncated_or_damaged_compression(put, suffix):
    text = "".join(f"{k} {k * 7919 % 1000}\n" for k in range(3000)).encode()
    whole = COMPRESS[suffix](text)
    with pytest.raises(FileFormatError, match="ends too early") as caught:
        io.read(put(whole[: len(whole) * 2 // 3], f"g.txt{suffix}"))
    assert 1 <= caught.value.line <= 3000
    with pytest.raises(FileFormatError, match=r":1: .*not of that format"):
        io.read(put(text, f"g.txt{suffix}"))
    with pytest.raises(FileFormatError, match="damaged"):
        io.read(put(whole[:40] + bytes(40) + whole[80:], f"g.txt{suffix}"))


def test_truncated_gzip_names_the_line_where_the_data_ends(put, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 64)
    text = "".join(f"{k} {k * 7919 % 1000}\n" for k in range(3000)).encode()
    cut = gzip.compress(text)[:5000]
    import zlib

    arrived = zlib.decompressobj(wbits=31).decompress(cut)
    with pytest.raises(FileFormatError) as caught:
        io.read(put(cut, "g.txt.gz"))
    assert caught.value.line == arrived.count(b"\n") + 1


# -- graphs ------------------------------------------------------------------------------------------------------------


def test_to_graph(put, device):
    path = put("# Undirected graph\n0 1 2.5\n1 2 3.5\n0 1 4.5\n")
    file = io.read(path)
    graph = file.to_graph(device=device)
    assert (graph.num_vertices, graph.num_edges, graph.directed, graph.weight_dtype) == (3, 2, False, np.float64)
    src, dst, weight = (device.to_numpy(part).tolist() for part in graph.edges())
    assert sorted(zip(src, dst, weight, strict=True)) == [(0, 1, 4.5), (1, 2, 3.5)]
    bare = file.to_graph(device=device, weight_dtype=None, directed=True, num_vertices=9)
    assert (bare.num_vertices, bare.num_edges, bare.directed, bare.weight_dtype) == (9, 4, True, None)
    arcs = file.to_graph(device=device, directed=True)  # an edge is two arcs, of the same weight
    assert device.to_numpy(arcs.edge_weights([0, 1, 1, 2], [1, 0, 2, 1])).tolist() == [4.5, 4.5, 3.5, 3.5]
    assert io.read(path, directed=True).to_graph(device=device).num_edges == 2
    assert file.to_graph(device=device, weight_dtype="float32").weight_dtype == np.float32


def test_to_graph_refuses_weights_that_the_dtype_cannot_hold(put):
    file = io.read(put("0 1 0.5\n1 2 7\n"))
    with pytest.raises(WeightError, match=r"weight\[0\] is 0.5"):
        file.to_graph(weight_dtype="int32", device="cpu")
    with pytest.raises(WeightError, match="missing"):
        io.read(put("0 1\n")).to_graph(weight_dtype="int32", device="cpu")
    assert file.to_graph(weight_dtype=None, device="cpu").num_edges == 2


def test_a_huge_id_names_itself_and_the_way_out(put):
    with pytest.raises(CapacityError, match=r"id 4294967000 makes it 4294967001 .* relabel=True \(--relabel\)"):
        io.read(put("0 4294967000\n")).to_graph(device="cpu", memory_limit=1 << 20)
    with pytest.raises(FileFormatError, match=r"id '99999999999' is too large: ids go up to .*relabel maps"):
        io.read(put("0 99999999999\n"))


def test_a_file_is_shown_in_one_line(put):
    file = io.read(put("src,dst,weight,time\nann,bob,2,2024-05-17T13:45:00\n", "e.csv"), relabel=True)
    assert repr(file) == f"<EdgeFile {file.path}: 1 edges, 2 vertices, int32 weights, times in us, labels>"
    assert repr(io.read(put("0 1\n"))).endswith(": 1 edges, 2 vertices, unweighted>")
