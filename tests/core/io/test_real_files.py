"""Every real graph against its known facts."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from suricate import io
from suricate.base.types import edge_keys

pytestmark = pytest.mark.usefixtures("data_dir")

FILES = (
    "static/USA-road-d.NY.gr.gz", "static/coAuthorsDBLP.mtx.gz", "static/delaunay_n17.mtx.gz",
    "static/ego-twitter.weighted.txt.xz", "static/facebook_combined.txt.gz", "static/luxembourg_osm.mtx.gz",
    "static/rgg_n_2_16_s0.mtx.gz", "static/rome99.gr.gz", "static/soc-Epinions1.txt.gz", "static/web-NotreDame.txt.gz",
    "static/wiki-Vote.txt.gz", "temporal/CollegeMsg.txt.gz", "temporal/email-Eu-core-temporal.txt.gz",
    "temporal/sx-mathoverflow.txt.gz",
)  # fmt: skip
LARGE = re.compile("DBLP|NotreDame|USA|delaunay|luxembourg|mathoverflow|twitter")  #: a second each to read
EACH = [pytest.param(name, marks=[pytest.mark.slow] if LARGE.search(name) else []) for name in FILES]
# windows of enron-dynamic: arcs that are there after each
ENRON_ARCS = (
    32190, 35488, 36060, 36239, 34686, 31549, 33789, 38155, 36531, 39229, 37362, 37811, 37811, 33492, 28255, 26066,
    25012, 23788, 26891,
)  # fmt: skip


@pytest.fixture(scope="module")
def facts(data_dir: Path) -> dict[str, dict[str, str]]:
    with open(data_dir / "FACTS.tsv", newline="") as stream:
        return {row["file"]: row for row in csv.DictReader(stream, delimiter="\t")}


def test_no_file_is_left_out(facts):
    assert set(FILES) == set(facts)


@pytest.mark.parametrize("name", EACH)
def test_facts(data_dir, facts, name):
    fact, file = facts[name], io.read(data_dir / name)
    one_based = file.format in ("mtx", "gr")
    ids = np.unique(np.concatenate((file.src, file.dst)))
    assert len(file) == int(fact["lines"])
    assert (ids[0] + one_based, ids[-1] + one_based) == (int(fact["idmin"]), int(fact["idmax"]))
    isolated = 4 if "rgg" in name else 0
    assert len(ids) + isolated == int(fact["V"])
    assert file.num_vertices == (int(fact["V"]) if one_based else int(fact["idmax"]) + 1)
    assert len(np.unique(edge_keys(file.src, file.dst))) == int(fact["E_directed_distinct"])
    assert len(np.unique(file.src[file.src == file.dst])) == int(fact["selfloops"])
    temporal = "temporal/" in name
    assert file.format == {"gr": "gr", "mtx": "mtx"}.get(name.split(".")[-2], "temporal" if temporal else "snap")
    assert (file.time is not None) == temporal
    assert (file.weight is not None) == (".gr" in name or "weighted" in name)
    assert (file.directed is False) == (".mtx" in name)
    assert file.sha256 == fact["sha256_uncompressed"]


@pytest.mark.parametrize("name", EACH)
def test_relabelled(data_dir, name):
    plain, file = io.read(data_dir / name), io.read(data_dir / name, relabel=True)
    assert file.num_vertices == len(file.labels) == len(np.unique(np.concatenate((plain.src, plain.dst))))
    shift = plain.format in ("mtx", "gr")
    assert np.array_equal(file.labels[file.src], plain.src.astype(np.int64) + shift)
    assert np.array_equal(file.labels[file.dst], plain.dst.astype(np.int64) + shift)


def test_order_of_time(data_dir):
    assert np.all(np.diff(io.read(data_dir / "temporal/CollegeMsg.txt.gz").time) >= 0)
    path = data_dir / "temporal/sx-mathoverflow.txt.gz"
    assert np.any(np.diff(io.read(path).time) < 0)
    assert np.all(np.diff(io.read(path, sort_by_time=True).time) >= 0)


def test_weights_of_ego_twitter(data_dir):
    weight = io.read(data_dir / "static/ego-twitter.weighted.txt.xz").weight
    assert (weight.dtype, weight.min(), weight.max()) == (np.int32, 1, 100)


def replay(arcs: set[int], step: io.EventStep) -> None:
    """Apply a step to a set of arcs, requiring that every event makes sense."""
    gone = set(edge_keys(step.deletions.src, step.deletions.dst).tolist())
    new = set(edge_keys(step.insertions.src, step.insertions.dst).tolist())
    assert gone <= arcs
    arcs -= gone
    assert not new & arcs
    arcs |= new


def test_enron_windows(data_dir):
    base = io.read(data_dir / "dynamic/enron-dynamic.base.txt.gz")
    stream = io.read_events(data_dir / "dynamic/enron-dynamic.updates.txt.gz")
    assert len(base) == 16095
    assert [step.label for step in stream] == [str(k) for k in range(1, 20)]
    assert sum(len(step.insertions.src) for step in stream) == 305823
    assert sum(len(step.deletions.src) for step in stream) == 295027
    assert max(stream.num_vertices, base.num_vertices) <= 87274
    arcs = set(edge_keys(base.src, base.dst).tolist())
    for step, count in zip(stream, ENRON_ARCS, strict=True):
        replay(arcs, step)
        assert len(arcs) == count
        assert step.time is not None


@pytest.mark.slow
def test_caida_snapshots(data_dir):
    stream = io.read_events(data_dir / "dynamic/as-caida.events.txt.xz")
    assert len(stream) == 122
    assert sum(len(step.insertions.src) for step in stream) == 628010
    assert sum(len(step.deletions.src) for step in stream) == 522288
    arcs: set[int] = set()
    for step in stream:
        replay(arcs, step)
        assert len(arcs) == step.num_edges
        keys = np.fromiter(arcs, np.uint64, len(arcs))
        assert len(np.unique(np.concatenate((keys >> np.uint64(32), keys & np.uint64(2**32 - 1))))) == step.num_vertices
        assert set(edge_keys(step.reweights.src, step.reweights.dst).tolist()) <= arcs
    assert (stream[0].num_vertices, stream[-1].num_vertices) == (16301, 26389)
    assert {step.label: step.num_vertices for step in stream}["20070917"] == 8020
