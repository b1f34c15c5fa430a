"""Snapshots of a graph of several ranks: a file of each, read by any number of ranks; what is there stays whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_parallel_graph import listed

import suricate as su
from suricate.errors import FileFormatError
from suricate.graph import snapshot
from suricate.parallel import Comm, run

pytestmark = pytest.mark.plain
N = 30


def saved(path: Path, ranks: int, seed: int = 1, **options: Any) -> Any:
    """Save a graph of several ranks with everything that a snapshot keeps; return what it holds."""

    def job(comm: Comm) -> Any:
        graph = su.Graph(N, device="cpu", comm=comm, weight_dtype="int32", threads=1, **options)
        src, dst = np.random.default_rng(seed).integers(0, N - 2, (2, 40))
        graph.insert_edges(src[comm.rank :: ranks], dst[comm.rank :: ranks], src[comm.rank :: ranks] + 1)
        graph.delete_vertices([3, N - 1])
        graph.columns["age"] = np.arange(N)
        graph.save(path)
        return held(graph)

    return run(job, ranks)[0]


def held(graph: su.Graph) -> Any:
    graph.check()
    columns = graph.columns["age"].tolist() if "age" in graph.columns else None
    return listed(graph.edges()), graph.deleted_vertices.tolist(), graph.version, columns, graph.directed


def loaded(path: Path, ranks: int) -> list[Any]:
    if ranks == 0:
        return [held(su.Graph.load(path, device="cpu"))]
    return run(lambda comm: held(su.Graph.load(path, device="cpu", comm=comm)), ranks)


@pytest.mark.parametrize("directed", [True, False])
def test_any_number_of_ranks_goes_on(directed: bool, tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    before = saved(path, 3, directed=directed)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "graph.npz",
        *(f"graph.npz.a{rank}" for rank in range(3)),
    ]
    assert sum(len(np.load(part)["src"]) for part in tmp_path.glob("graph.npz.a?")) == len(before[0])
    for ranks in (0, 1, 2, 3, 5):
        assert loaded(path, ranks) == [before] * max(ranks, 1)


def test_names_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"

    def job(comm: Comm) -> None:
        graph = su.Graph(0, device="cpu", comm=comm, names=su.Names())
        graph.insert_edges(["a", f"b{comm.rank}"], ["c", "a"])
        graph.save(path)

    run(job, 2)
    again = su.Graph.load(path, device="cpu")
    assert again.has_edges(["a", "b0", "b1", "c"], ["c", "a", "a", "a"]).tolist() == [True, True, True, False]


def test_a_file_of_one_process_is_divided(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    single = su.Graph(N, device="cpu", weight_dtype="int32")
    single.insert_edges(np.arange(9), np.arange(9) + 1, np.arange(9))
    single.save(path)
    assert loaded(path, 3) == [held(single)] * 3


def test_names_of_parts_alternate_and_old_ones_go(tmp_path: Path) -> None:
    path, link = tmp_path / "graph.npz", tmp_path / "link.npz"
    link.symlink_to(path)
    other = tmp_path / "graph.npz.b7.txt"
    other.touch()
    found = []
    for ranks, target in ((3, path), (2, link), (1, path), (2, path)):
        before = saved(target, ranks, seed=ranks)
        assert loaded(path, 0) == [before]
        found.append(sorted(file.name for file in tmp_path.glob("graph.npz.??")))
    assert found == [
        ["graph.npz.a0", "graph.npz.a1", "graph.npz.a2"], ["graph.npz.b0", "graph.npz.b1"],
        ["graph.npz.a0"], ["graph.npz.b0", "graph.npz.b1"],
    ]  # fmt: skip
    assert other.exists()


@pytest.mark.parametrize("fails", ["graph.npz", "graph.npz.b1"])
def test_what_was_saved_before_stays_if_one_rank_cannot_write(fails: str, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "graph.npz"
    before = saved(path, 2)
    replacing = snapshot.replacing

    def failing(target: Path) -> Any:
        if target.name == fails:
            raise OSError(28, "No space left on device", str(target))
        return replacing(target)

    monkeypatch.setattr(snapshot, "replacing", failing)
    with pytest.raises(OSError, match="No space left"):
        saved(path, 2, seed=2)
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError):
        saved(tmp_path / "nowhere" / "graph.npz", 2)
    assert loaded(path, 3) == [before] * 3


@pytest.mark.parametrize("harm", ["missing", "other", "truncated"])
@pytest.mark.parametrize("ranks", [0, 2])
def test_a_damaged_part_is_an_error_on_all_ranks(harm: str, ranks: int, tmp_path: Path) -> None:
    path, part = tmp_path / "graph.npz", tmp_path / "graph.npz.a1"
    saved(tmp_path / "other.npz", 2, seed=5)
    saved(path, 2)
    if harm == "missing":
        part.unlink()
    elif harm == "other":
        shutil.copy(tmp_path / "other.npz.a1", part)
    else:
        part.write_bytes(part.read_bytes()[:-40])

    def load(comm: Comm | None) -> None:
        text = {"missing": "graph.npz.a1 is missing", "other": "is of another snapshot", "truncated": "is damaged"}[
            harm
        ]
        with pytest.raises(FileFormatError, match=text):
            su.Graph.load(path, device="cpu", **({} if comm is None else {"comm": comm}))

    if ranks:
        run(load, ranks)
    else:
        load(None)
