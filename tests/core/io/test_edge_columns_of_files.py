"""Further columns of files: attributes of edges from CSV, text and tables, on to graphs and snapshots."""

import numpy as np
import pytest

import suricate as su
from suricate.errors import ParameterError

ROWS = [("ann", "bob", 2.5, 3, "web"), ("bob", "cleo", 1, 1, ""), ("ann", "cleo", 9, 2, "shop")]


def check(file, device="cpu", **options):
    assert file.columns["amount"].tolist() == [2.5, 1, 9]
    assert file.columns["by"].tolist() == ["web", "", "shop"]
    graph = file.to_graph(device=device, **options)
    assert graph.edge_columns.at("by", ["ann", "bob"], ["cleo", "cleo"]).tolist() == ["shop", ""]
    assert graph.compute("sssp", source="ann", weight="amount").distance.tolist() == [0, 2.5, 3.5]
    graph.check()
    return graph


def test_columns_of_csv(tmp_path):
    path = tmp_path / "pay.csv"
    lines = "\n".join(",".join(map(str, row)) for row in ROWS)
    path.write_text(f"src,dst,amount,time,by\n{lines}\n")
    given = {"columns": {"src": "src", "dst": "dst", "time": "time"}, "relabel": "text"}
    graph = check(su.read(path, edge_columns=["amount", "by"], **given))
    graph.save(tmp_path / "g.npz")
    other = su.Graph.load(tmp_path / "g.npz", device="cpu")
    assert other.compute("sssp", source="ann", weight="amount").distance.tolist() == [0, 2.5, 3.5]
    assert su.read(path, edge_columns={"n": 3}, **given).columns["n"].dtype == np.int64
    assert su.read(path, edge_columns=["amount"], sort_by_time=True, **given).columns["amount"].tolist() == [1, 9, 2.5]
    assert su.read(path, **given).columns == {}
    both = su.read(path, edge_columns=["amount", "by"], directed=False, **given)
    check(both, directed=False)
    assert both.to_graph(device="cpu", directed=True).edge_columns.at("by", ["cleo"], ["ann"]).tolist() == ["shop"]
    for wrong, text in [(["fee"], "has no column 'fee'; it has src, dst, amount"), ("fee", "must be a list of names"),
                        ({"fee": 9}, "has no column 9"), ([""], "is no name")]:  # fmt: skip
        with pytest.raises(ParameterError, match=text):
            su.read(path, edge_columns=wrong, **given)
    path.write_text("src,dst,amount,time,by\n")
    assert su.read(path, edge_columns=["by"], **given).columns["by"].tolist() == []


def test_columns_of_text(tmp_path):
    path = tmp_path / "pay.txt"
    path.write_text("# comment\n0 1 2.5 a\n1\t2  7 b\n")
    file = su.read(path, columns={"src": 0, "dst": 1}, edge_columns={"amount": 2, "by": 3})
    assert file.columns["amount"].tolist() == [2.5, 7]
    assert file.columns["by"].tolist() == ["a", "b"]
    path.write_text("3 3 0\n")
    with pytest.raises(ParameterError, match="has no further columns"):
        su.read(path, "metis", edge_columns={"fee": 0})


@pytest.mark.parametrize("form", ["parquet", "arrow", "folder"])
def test_columns_of_tables(tmp_path, form):
    arrow, feather, parquet = (pytest.importorskip(f"pyarrow{part}") for part in ("", ".feather", ".parquet"))
    src, dst, amount, time, by = zip(*ROWS, strict=True)
    by = [each or None for each in by]
    table = arrow.table({"src": src, "dst": dst, "amount": [*map(float, amount)], "time": time,
                         "by": arrow.array(by).dictionary_encode()})  # fmt: skip
    path = tmp_path / f"pay.{form}"
    if form == "parquet":
        parquet.write_table(table, path)
    elif form == "arrow":
        feather.write_feather(table, path, compression="uncompressed")
    else:
        path.mkdir()
        for at in range(3):
            parquet.write_table(table.slice(at, 1), path / f"part{at}.parquet")
    check(su.read(path, edge_columns=["amount", "by"], relabel=True))
    with pytest.raises(ParameterError, match="has no column 'fee'"):
        su.read(path, edge_columns=["fee"], relabel=True)


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet", "out.arrow"])
def test_columns_are_written(tmp_path, name):
    if name.endswith(("parquet", "arrow")):
        pytest.importorskip("pyarrow")
    columns = {"fee": "float64", "ok": "bool", "weight": ("int32", 1), "by, or for": str}
    graph = su.Graph(3, device="cpu", edge_columns=columns)
    given = {"fee": [0.1, np.nan, 7], "ok": [True, False, True], "weight": [5, -6, 7], "by, or for": ["a\tb", "", 'q"']}
    graph.insert_edges([0, 0, 2], [1, 2, 1], given)
    su.write(graph, tmp_path / name)
    file = su.read(tmp_path / name, edge_columns=["fee", "ok", "by, or for"])
    assert (file.src.tolist(), file.dst.tolist(), file.weight.tolist()) == ([0, 0, 2], [1, 2, 1], [5, -6, 7])
    assert np.array_equal(file.columns["fee"], given["fee"], equal_nan=True)
    assert file.columns["ok"].tolist() == given["ok"]
    assert file.columns["by, or for"].tolist() == given["by, or for"]
    su.write(file, tmp_path / f"again-{name}")
    assert (tmp_path / f"again-{name}").read_bytes() == (tmp_path / name).read_bytes()
    su.write(graph, tmp_path / "out.mtx")  # which has no other columns
    assert su.read(tmp_path / "out.mtx").weight.tolist() == [5, -6, 7]
    with pytest.raises(ParameterError, match="a column of edges is called 'time'"):
        su.write(su.read(tmp_path / name, edge_columns={"time": "fee"}), tmp_path / "no.csv")


def test_texts_with_breaks_fit_into_tables_only(tmp_path):
    graph = su.Graph(2, device="cpu", edge_columns={"by": str})
    graph.insert_edges([0], [1], {"by": ["a\nb"]})
    with pytest.raises(ParameterError, match="line break or zero byte"):
        su.write(graph, tmp_path / "out.csv")
