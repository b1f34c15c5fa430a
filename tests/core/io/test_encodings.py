"""Texts of files are UTF-8 unless ``encoding`` says otherwise: an error at reading, not where they come out."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import suricate as su
import suricate.stream as st
from suricate.errors import FileFormatError, ParameterError
from suricate.io import files

CPU = {"device": "cpu"}
TEXT = "# José's edges\nsrc,dst,time,who\nJosé,b,1,ü\nb,Zoë,2,é\nZoë,José,3,\n"
PAIRS = [("José", "b"), ("b", "Zoë"), ("Zoë", "José")]
COLUMNS = {"src": 0, "dst": 1, "time": 2}


def names_read(path: Path, **options) -> list[tuple[str, str]]:
    file = su.read(path, relabel=True, columns=COLUMNS, **options)
    return [(file.labels[u], file.labels[v]) for u, v in zip(file.src, file.dst, strict=True)]


def job_over(path: Path, *, on_error: str = "raise", attributes=None, **options) -> st.Window:
    source = st.scan(path, **COLUMNS, on_error=on_error, columns=attributes and dict.fromkeys(attributes, 3), **options)
    return st.Window(source, size=None, slide="1h", names=True, attributes=attributes, graph=CPU)


def names_streamed(path: Path, **options) -> list[tuple[str, str]]:
    job = job_over(path, **options)
    (edges,) = [w.graph.edges() for w in job]
    found = zip(job.names[edges.src].tolist(), job.names[edges.dst].tolist(), strict=True)
    return sorted(found, key=PAIRS.index)


READERS = pytest.mark.parametrize("names_in", [names_read, names_streamed])


@pytest.mark.slow
@READERS
@pytest.mark.parametrize(
    "encoding", ["latin-1", "cp1252", "utf-16", "utf-16-be", "utf-8", "UTF8", "utf-8-sig", "cp037"]
)
def test_codecs_of_python(names_in, encoding, put, reader, monkeypatch):
    path = put(TEXT.replace("\n", "\r\n").encode(encoding), "e.csv")
    for chunk in (files.CHUNK, 16, 7):  # characters are cut, too
        monkeypatch.setattr(files, "CHUNK", chunk)
        assert names_in(path, encoding=encoding) == PAIRS


@READERS
def test_what_is_not_utf_8_is_an_error_with_its_line(names_in, put, reader, monkeypatch):
    path = put("# Jos\xe9\nsrc,dst,time,who\na,b,1,\nb,Zo\xeb,2,\nb,a,x,\n".encode("latin-1"), "e.csv")
    for chunk in (files.CHUNK, 16):
        monkeypatch.setattr(files, "CHUNK", chunk)
        with pytest.raises(FileFormatError, match=r"byte 0xeb is not UTF-8: encoding='latin-1'.*'bytes'") as caught:
            names_in(path)
        assert caught.value.line == 4
    with pytest.raises(FileFormatError, match=r"e\.csv:2: byte 0x81 is no text in cp1252"):
        names_in(put(b"u,v,t\na\x81,b,1\n", "e.csv"), encoding="cp1252")
    with pytest.raises(FileFormatError, match=r"e\.csv:2: no text in utf-16"):
        names_in(put("u,v,t\n\ud800,b,1\n".encode("utf-16", "surrogatepass"), "e.csv"), encoding="utf-16")


@READERS
def test_bytes_are_taken_unchanged(names_in, put, reader):
    path = put(b"u,v,t\na\xff,b,1\n\xe9\xff,a\xff,2\n", "e.csv")
    job = job_over(path, encoding="bytes")
    assert names_in is names_streamed or set(names_in(path, encoding="bytes")) == {
        ("a\udcff", "b"), ("\udce9\udcff", "a\udcff"),
    }  # fmt: skip
    assert [set(job.names[:]) for _ in job] == [{"a\udcff", "b", "\udce9\udcff"}]


def test_the_way_out_of_bytes(put, tmp_path):
    path = put(b"u,v,t\na\xff,b,1\nb,c,2\n", "e.csv")
    file = su.read(path, relabel=True, columns=COLUMNS, encoding="bytes")
    again = su.write(file, tmp_path / "again.csv", labels=True)
    assert b"a\xff,b" in again.read_bytes()
    with pytest.raises(ParameterError, match="UTF-8"):
        su.write(file, tmp_path / "again.parquet", labels=True)
    job = job_over(path, encoding="bytes")
    ranks, sink = job.track("pagerank"), job.sink(tmp_path / "ranks.csv")
    parts = job.sink(tmp_path / "parts")
    with job:
        for w in job:
            sink.write(ranks.top(3))
            to_polars = [w.graph.to_polars] if importlib.util.find_spec("polars") else []
            for way_out in (ranks.to_pandas, ranks.to_arrow, w.graph.to_arrow, w.graph.to_pandas_edgelist, *to_polars):
                with pytest.raises(ParameterError, match="is not UTF-8"):
                    way_out()
            with pytest.raises(ParameterError, match="is not UTF-8"):
                parts.write(ranks.top(3))
    assert b",a\xff," in (tmp_path / "ranks.csv").read_bytes()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_tables_refuse_texts_of_edges_that_are_no_utf8_and_keep_the_file(suffix, tmp_path):
    graph = su.Graph(2, device="cpu", edge_columns={"city": str})
    graph.insert_edges([0], [1], {"city": ["a"]})
    path = su.write(graph, tmp_path / f"graph{suffix}")
    graph.edge_columns.put("city", [0], [1], "\udcff")
    with pytest.raises(ParameterError, match="is not UTF-8"):
        su.write(graph, path)
    assert su.read(path, edge_columns=["city"]).columns["city"].tolist() == ["a"]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_malformed_texts_are_skipped_with_their_line(put, tmp_path):
    path = put(b"u,v,t\na,b,1\na\xff,b,2\nb,c,3\n\xff,c,4\n", "e.csv")
    job = job_over(path, on_error=tmp_path / "bad.csv")
    assert [(w.events, w.skipped) for w in job] == [(2, 2)]
    assert "e.csv:3: byte 0xff is not UTF-8" in (tmp_path / "bad.csv").read_text()


def test_numbers_need_no_encoding_and_attributes_do(put):
    path = put("# Jos\xe9\nu,v,t,x\n1,2,3,Jos\xe9\n".encode("latin-1"), "e.csv")
    assert su.read(path, columns=COLUMNS).src.tolist() == [1]
    with pytest.raises(FileFormatError, match=r"e\.csv:3: byte 0xe9"):
        su.read(path, columns=COLUMNS, edge_columns={"who": 3})
    assert su.read(path, columns=COLUMNS, edge_columns={"who": 3}, encoding="latin-1").columns["who"].tolist() == [
        "José"
    ]
    with pytest.raises(FileFormatError, match=r"e\.csv:3: byte 0xe9"):
        [*job_over(path, attributes={"who": "last"})]
    job = job_over(path, attributes={"who": "last"}, encoding="latin-1")
    assert [w.graph.edge_columns["who"].tolist() for w in job] == [["José"]]


def test_names_of_columns(put):
    path = put("Zahler;Empfänger\nä;ö\n".encode("cp1252"), "e.csv")
    file = su.read(path, columns={"src": "Zahler", "dst": "Empfänger"}, relabel=True, encoding="cp1252")
    assert file.labels.tolist() == ["ä", "ö"]


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "hex", "idna", 5, None, "utf-8\0", ""])
def test_what_is_no_encoding(encoding, put):
    path = put("1,2\n", "e.csv")
    for call in (su.read, st.scan):
        with pytest.raises(ParameterError, match="encoding must be"):
            call(path, encoding=encoding)


def test_only_text_has_an_encoding(tmp_path, put):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "e.parquet")
    with pytest.raises(ParameterError, match="encoding is for text files"):
        su.read(tmp_path / "e.parquet", encoding="latin-1")
    with pytest.raises(ParameterError, match="encoding is for text and CSV files"):
        [*st.scan(tmp_path / "e.parquet", encoding="latin-1").read()]
    with pytest.raises(FileFormatError, match="UTF-16"):
        su.read(put("1,2\n".encode("utf-16"), "e.csv"))
