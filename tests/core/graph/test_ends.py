"""The ends of edges are found under one list of names by everything that reads tables, and written as src and dst."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate import stream as st
from suricate.errors import FileFormatError, ParameterError, ShapeError
from suricate.intake.tables import ENDS

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.plain

SRC, DST = [0, 1, 2], [1, 2, 0]
CYCLE = {(0, 1), (1, 2), (2, 0)}


def edges_of(graph):
    edges = graph.edges()
    return set(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))


def from_file(tmp_path, table, suffix):
    path = tmp_path / f"edges{suffix}"
    if suffix == ".csv":
        pd.DataFrame(table).to_csv(path, index=False)
    else:
        parquet.write_table(pa.table(table), path)
    return path


def from_stream(source):
    job = st.Window(source, size=10, slide=3, graph={"device": "cpu", "num_vertices": 3})
    return edges_of([slide.graph for slide in job][-1])


READERS = {
    "arrow": lambda table, tmp_path: edges_of(su.Graph.from_arrow(pa.table(table), device="cpu")),
    "arrow of pandas": lambda table, tmp_path: edges_of(su.Graph.from_arrow(pd.DataFrame(table), device="cpu")),
    "pandas": lambda table, tmp_path: edges_of(su.Graph.from_pandas_edgelist(pd.DataFrame(table), device="cpu")),
    "csv": lambda table, tmp_path: edges_of(su.read(from_file(tmp_path, table, ".csv")).to_graph(device="cpu")),
    "parquet": lambda table, tmp_path: edges_of(su.read(from_file(tmp_path, table, ".parquet")).to_graph(device="cpu")),
    "chunk": lambda table, tmp_path: from_stream([table]),
    "source": lambda table, tmp_path: from_stream(st.source(pa.table(table))),
    "frame in a stream": lambda table, tmp_path: from_stream([pd.DataFrame(table)]),
    "scan of csv": lambda table, tmp_path: from_stream(st.scan(from_file(tmp_path, table, ".csv"))),
    "scan of parquet": lambda table, tmp_path: from_stream(st.scan(from_file(tmp_path, table, ".parquet"))),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_finds_the_ends_under_every_usual_name(reader, tmp_path):
    for src, dst in [*zip(ENDS["src"], ENDS["dst"], strict=False), ("From", "DEST"), ("src", "target")]:
        assert READERS[reader]({src: SRC, dst: DST}, tmp_path) == CYCLE, (src, dst)


@pytest.mark.parametrize("reader", READERS)
def test_src_and_dst_come_before_other_names(reader, tmp_path):
    table = {"u": DST, "src": SRC, "dst": DST, "to": SRC}
    assert READERS[reader](table, tmp_path) == CYCLE


@pytest.mark.parametrize("reader", READERS)
def test_two_candidates_for_an_end_are_an_error_that_names_both(reader, tmp_path):
    with pytest.raises((ParameterError, FileFormatError), match=r"'u' and 'From' could both be the column of src"):
        READERS[reader]({"u": SRC, "From": SRC, "dst": DST}, tmp_path)


@pytest.mark.parametrize("reader", READERS)
def test_a_table_without_an_end_says_so(reader, tmp_path):
    with pytest.raises((ShapeError, ParameterError, FileFormatError), match="dst"):
        READERS[reader]({"src": SRC, "payee": DST}, tmp_path)


def test_a_column_that_is_named_is_taken_whatever_others_are_called():
    table = {"u": DST, "From": DST, "payer": SRC, "target": DST}
    assert (
        edges_of(su.Graph.from_arrow(pa.table(table).drop_columns(["u", "From"]), src="payer", device="cpu")) == CYCLE
    )
    assert edges_of(su.Graph.from_pandas_edgelist(pd.DataFrame(table), "payer", device="cpu")) == CYCLE
    assert edges_of(su.Graph.from_pandas_edgelist(pd.DataFrame(table), src="payer", device="cpu")) == CYCLE


def test_polars_takes_the_names_of_columns_too():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"payer": SRC, "payee": DST})
    assert edges_of(su.Graph.from_polars(frame, src="payer", dst="payee", device="cpu")) == CYCLE
    assert su.Graph.from_arrow(pa.table({"src": SRC, "dst": DST}), device="cpu").to_polars().edges.columns[:2] == [
        "src", "dst",
    ]  # fmt: skip


def test_one_named_end_leaves_the_other_to_be_found(tmp_path):
    path = from_file(tmp_path, {"payer": SRC, "target": DST, "w": SRC}, ".csv")
    file = su.read(path, columns={"src": "payer"})
    assert (file.src.tolist(), file.dst.tolist(), file.weight) == (SRC, DST, None)


def test_outputs_say_src_and_dst_and_pandas_keeps_the_names_of_networkx():
    nx = pytest.importorskip("networkx")
    graph = su.Graph.from_coo(np.array(SRC), np.array(DST), device="cpu")
    assert graph.to_arrow().edges.column_names == ["src", "dst"]
    frame = graph.to_pandas_edgelist()
    assert [*frame.columns] == ["source", "target"]
    assert set(nx.from_pandas_edgelist(frame, create_using=nx.DiGraph).edges) == CYCLE
    back = nx.to_pandas_edgelist(nx.DiGraph(sorted(CYCLE)))
    assert edges_of(su.Graph.from_pandas_edgelist(back, device="cpu")) == CYCLE
    assert [*graph.to_pandas_edgelist(src="src", dst="dst").columns] == ["src", "dst"]


@pytest.mark.parametrize("call", [
    lambda g: su.Graph.from_arrow({"a": SRC, "b": DST}, source="a", target="b"),
    lambda g: su.Graph.from_polars({"a": SRC, "b": DST}, source="a", target="b"),
    lambda g: su.Graph.from_pandas_edgelist(pd.DataFrame({"a": SRC, "b": DST}), source="a", target="b"),
    lambda g: g.to_pandas_edgelist(source="a"),
])  # fmt: skip
def test_old_keywords_name_the_new_ones(call):
    with pytest.raises(ParameterError, match=r"\((source|target)=\.\.\.\) is written (src|dst)= now"):
        call(su.Graph(3, device="cpu"))
