"""The graphs that are measured on."""

import gzip

import numpy as np
import pytest

from suricate.bench import constants, inputs
from suricate.errors import UnknownNameError


def test_collegemsg_comes_with_the_package_and_is_what_it_says():
    data = inputs.load(str(constants.COLLEGEMSG))
    with gzip.open(constants.COLLEGEMSG) as file:
        rows = np.loadtxt(file, dtype=np.int64)
    assert np.array_equal(rows[:, 0], data.src)
    assert np.array_equal(rows[:, 1], data.dst)
    assert data.temporal
    assert data.name == "CollegeMsg"
    assert data.num_vertices == 1900  # ids from 1 to 1899
    assert len(data.src) == 59835
    assert len(data.model) == 20296
    assert data.sha256 == "e00ba2415373dee52c00616065bcceaa4750e78de60d1855c76470600f10740f"
    assert "Leskovec" in (constants.COLLEGEMSG.parent / "README.md").read_text()


def test_a_file_is_put_in_the_order_of_time(tmp_path):
    (tmp_path / "events.txt").write_text("0 1 1082000030\n1 2 1082000010\n2 3 1082000020\n3 4 1082000010\n")
    data = inputs.load(str(tmp_path / "events.txt"))
    assert data.temporal
    assert data.src.tolist() == [1, 3, 2, 0]


@pytest.mark.parametrize(
    ("spec", "vertices", "edges"), [("rmat:6", 64, 1024), ("rmat:6:4", 64, 256), ("uniform:50:300", 50, 300)]
)
def test_generated(spec, vertices, edges):
    data, again = inputs.load(spec, seed=3), inputs.load(spec, seed=3)
    other = inputs.load(spec, seed=4)
    assert (data.num_vertices, data.temporal, data.name) == (vertices, False, spec)
    assert 0 < len(data.src) <= edges
    assert data.src.dtype == data.dst.dtype == np.uint32
    assert data.sha256 == again.sha256 != other.sha256
    assert np.array_equal(data.weight, again.weight)
    assert 0.5 <= data.weight.min() <= data.weight.max() < 1.5


def test_a_grid_is_searched_from_its_centre():
    data = inputs.load("grid:9x9")
    assert data.num_vertices == 81
    assert len(data.model) == 2 * (8 * 9 * 2)
    assert data.source == 40
    assert inputs.load("grid:10x4").source == inputs.load("grid:10:4").source == 2 * 10 + 5


def test_degrees_are_those_of_distinct_edges(tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n0 1\n0 2\n2 2\n3 1\n3 0\n")
    data = inputs.load(str(tmp_path / "edges.txt"))
    assert data.out_degrees.tolist() == [2, 0, 1, 2]
    assert data.in_degrees.tolist() == [1, 2, 2, 0]
    assert data.hub == data.source == 3  # of 0 and 3, both of degree 2


def test_real_graphs_are_found(tmp_path, monkeypatch):
    for name in ("static/roads.gr.gz", "temporal/mail.txt", "dynamic/stream.txt", "README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.setenv("SURICATE_DATA", str(tmp_path))
    assert [path.rpartition("/")[2] for path in inputs.real_graphs()] == ["roads.gr.gz", "mail.txt"]
    monkeypatch.setenv("SURICATE_DATA", str(tmp_path / "nowhere"))
    assert inputs.real_graphs() == []


@pytest.mark.parametrize("spec", ["rmat", "nowhere.txt", "torus:3x3", ""])
def test_an_unknown_graph(spec):
    with pytest.raises(UnknownNameError, match="rmat:SCALE"):
        inputs.load(spec)


@pytest.mark.parametrize(
    "spec", ["rmat:x", "grid:3", "uniform:5", "rmat:1:2:3", "grid:0x0", "grid:3x-1", "rmat:0", "uniform:0:0", "rmat:²"]
)
def test_malformed_numbers(spec):
    with pytest.raises(ValueError, match=r"is not (rmat|grid|uniform):\S+ with integers above 0"):
        inputs.parse(spec)


@pytest.mark.parametrize("spec", ["rmat:99", "grid:70000x70000", "uniform:5000000000:9", "uniform:3:10"])
def test_numbers_that_are_too_large(spec):
    with pytest.raises(ValueError, match=r"must be at most|are more than|are too many|have only"):
        inputs.load(spec)
