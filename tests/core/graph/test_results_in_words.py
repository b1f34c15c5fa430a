"""Results and their excerpts: equal dtypes and fields; ids are null in frames and files where there is no vertex."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

import suricate as su
from suricate import stream as st
from suricate.base.types import EMPTY
from suricate.cli import cli

pytestmark = pytest.mark.plain

#: fields of results by algorithm, with their dtypes; a bare array is called value
WORDS = {
    "bfs": {"level": "int32", "parent": "int64"},
    "sssp": {"distance": "int64", "parent": "int64"},
    "wcc": {"label": "uint32", "num_components": "int"},
    "scc": {"label": "uint32", "num_components": "int"},
    "kcore": {"core": "uint32", "degeneracy": "int"},
    "triangles": {"total": "int", "triangles": "int64", "clustering": "float64", "transitivity": "float"},
    "directed_triangles": {"triangles": "int64", "clustering": "float64"},
    "hits": {"hubs": "float64", "authorities": "float64"},
    "coloring": {"value": "uint32"},
    "label_propagation": {"value": "uint32"},
    "leiden": {"label": "uint32", "num_communities": "int", "quality": "float", "levels": "NoneType"},
    "pagerank": {"value": "float64"},
}


def dtypes_of(result):
    fields = result._asdict() if hasattr(result, "_asdict") else {"value": result}
    return {name: getattr(part, "dtype", np.dtype(type(part)) and type(part).__name__) for name, part in fields.items()}


@pytest.fixture
def graph():
    graph = su.Graph(4, device="cpu", directed=False)
    graph.insert_edges([0, 1], [1, 2])
    return graph


@pytest.mark.parametrize("name", WORDS)
def test_at_has_the_fields_and_dtypes_of_the_result(name, graph):
    if su.plugins.algorithm(name).requires.undirected is False:
        graph = su.Graph(4, device="cpu", in_edges=True)
        graph.insert_edges([0, 1], [1, 2])
    tracker = graph.track(name, **({"source": 0} if name in ("bfs", "sssp") else {}))
    assert {field: str(kind) for field, kind in dtypes_of(tracker.result).items()} == WORDS[name]
    assert dtypes_of(tracker.at([0, 3])) == dtypes_of(tracker.result)
    one, few = tracker.at(3), tracker.at([3])
    if hasattr(one, "_asdict"):
        assert all(part is None or type(part) in (int, float) for part in one)
        assert one._asdict() == {
            field: getattr(part, "tolist", lambda part=part: [part])()[0] for field, part in few._asdict().items()
        }
    else:
        assert [one] == few.tolist()


def test_none_of_the_ids_is_public_and_lazy(graph):
    assert su.EMPTY == EMPTY == np.iinfo(np.uint32).max
    walks = graph.compute("random_walks", length=2)
    assert walks.dtype == np.uint32
    assert (walks[3] == [3, su.EMPTY, su.EMPTY]).all()


def test_the_parent_of_an_unreached_vertex_is_null_in_frames(graph):
    tracker = graph.track("bfs", source=0)
    assert tracker.result.parent.tolist() == [0, 0, 1, -1]
    top = tracker.top(4, by="level", largest=False)
    assert [row[-1] for row in sorted(top, key=lambda row: row[1])] == [0, 0, 1, None]
    assert [*tracker.changed()][3][1:] == (-1, None, "new")
    assert "<td></td>" in top._repr_html_()


def test_frames_of_other_libraries_have_nulls(graph):
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    tracker = graph.track("sssp", source=0)
    frame = tracker.to_pandas()
    assert frame["parent"].dtype == pd.Int64Dtype()
    assert frame["parent"].isna().tolist() == [False, False, False, True]
    table = tracker.to_arrow()
    assert table["parent"].type == pa.int64()
    assert table["parent"].to_pylist() == [0, 0, 1, None]
    assert pa.table(tracker.top(4))["parent"].null_count == 1


class Nearest(su.Algorithm):
    """The smallest neighbour of each vertex, ``EMPTY`` where it has none."""

    name = "nearest"

    def compute(self, graph):
        self.found = np.array([1, 0, 1, EMPTY], np.uint32)

    @property
    def result(self):
        return self.found


def test_ids_of_any_algorithm_are_null_where_there_is_none(graph):
    tracker = graph.track(Nearest)
    assert tracker.result[3] == su.EMPTY
    assert [value for *_, value in tracker.top(4, largest=False)] == [0, 1, 1, None]
    pd = pytest.importorskip("pandas")
    assert tracker.to_pandas()["value"].dtype == pd.UInt32Dtype()


def outputs(tmp_path, tables):
    """Write each table, a function of the slide, to every kind of sink; return the rows of each by sink."""
    job = st.Window([{"src": [0, 1], "dst": [1, 2], "time": [0, 1]}], size=10, slide=10,
                    graph={"device": "cpu", "num_vertices": 4})  # fmt: skip
    tracker = job.track("bfs", source=0)
    sinks = {kind: job.sink(tmp_path / f"{tables.__name__}{kind}") for kind in (".csv", ".jsonl", "")}
    for slide in job:
        for sink in sinks.values():
            sink.write(tables(slide, tracker))
    for sink in sinks.values():
        sink.close()
    found = {}
    with open(tmp_path / f"{tables.__name__}.csv", encoding="utf-8") as file:
        found["csv"] = [row["parent"] for row in csv.DictReader(file)]
    lines = (tmp_path / f"{tables.__name__}.jsonl").read_text().splitlines()
    found["json"] = [json.loads(line)["parent"] for line in lines]
    parquet = pytest.importorskip("pyarrow.parquet")
    found["parquet"] = parquet.read_table(tmp_path / tables.__name__)["parent"].to_pylist()
    return found


def frame(slide, tracker):
    return tracker.top(4, by="level", largest=False)


def pandas(slide, tracker):
    pytest.importorskip("pandas")
    return tracker.to_pandas()


def arrow(slide, tracker):
    pytest.importorskip("pyarrow")
    return tracker.to_arrow()


def arrays(slide, tracker):
    parent = tracker.result.parent
    return {"vertex": np.arange(4), "parent": np.where(parent < 0, su.EMPTY, parent).astype(np.uint32)}


@pytest.mark.parametrize("tables", [frame, pandas, arrow, arrays])
def test_sinks_write_nulls(tables, tmp_path):
    found = outputs(tmp_path, tables)
    assert sorted(found["csv"]) == ["", "0", "0", "1"]
    assert found["json"].count(None) == 1
    assert sorted(part for part in found["json"] if part is not None) == [0, 0, 1]
    assert sorted(map(str, found["parquet"])) == ["0", "0", "1", "None"]


def test_the_command_line_writes_nulls(tmp_path):
    path, output = tmp_path / "edges.csv", tmp_path / "levels.csv"
    path.write_text("src,dst\n0,1\n3,0\n")
    call = ["run", "bfs", str(path), "--param", "source=0", "--device", "cpu"]
    assert CliRunner().invoke(cli, [*call, "--output", str(output)]).exit_code == 0
    assert output.read_text() == "vertex,level,parent\n0,0,0\n1,1,0\n2,,\n3,,\n"
    shown = CliRunner().invoke(cli, [*call, "--format", "json"])
    rows = {row["vertex"]: row["parent"] for row in json.loads(shown.stdout)["vertices"]}
    assert rows == {0: 0, 1: 0, 2: None, 3: None}
    shown = CliRunner().invoke(cli, [*call, "--format", "csv"])
    assert "2,,\n" in shown.stdout
    assert "None" not in CliRunner().invoke(cli, call).stdout
    arrays = tmp_path / "levels.npz"
    assert CliRunner().invoke(cli, [*call, "--output", str(arrays)]).exit_code == 0
    assert np.load(arrays)["parent"].tolist() == [0, 0, -1, -1]
