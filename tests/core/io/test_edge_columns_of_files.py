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
