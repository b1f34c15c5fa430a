"""Columns of edges on graphs of several ranks, against a dictionary and the undivided graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.errors import CapacityError, DTypeError, ParameterError, RequirementError, ShapeError, UnknownNameError
from suricate.parallel import Comm, run
from suricate.placement import batches, changes, edge_columns

pytestmark = pytest.mark.plain
N = 30
KINDS = {"amount": "float64", "n": ("int32", -1), "by": (str, "?")}


def cut(comm: Comm, *columns: Any) -> tuple[Any, ...]:
    """The part of a batch that a rank passes, of a random size."""
    ends = np.random.default_rng(len(columns[0])).integers(0, len(columns[0]) + 1, comm.size - 1)
    bounds = [0, *np.sort(ends), len(columns[0])]
    return tuple(column[bounds[comm.rank] : bounds[comm.rank + 1]] for column in columns)


class Model:
    """A graph of several ranks and a dictionary from edges to their values."""

    def __init__(self, comm: Comm, *, device: str = "cpu", **options: Any) -> None:
        self.comm, self.values = comm, dict[tuple[int, int], tuple[Any, ...]]()
        self.directed = options.get("directed", True)
        self.graph = su.Graph(N, device=device, comm=comm, threads=1, edge_columns=KINDS, **options)

    def key(self, u: int, v: int) -> tuple[int, int]:
        return (u, v) if self.directed else (min(u, v), max(u, v))

    def insert(self, src: Any, dst: Any, **columns: Any) -> su.Delta:
        part = cut(self.comm, src, dst, *columns.values())
        delta = self.graph.insert_edges(*part[:2], dict(zip(columns, part[2:], strict=True)))
        missing = {"amount": np.nan, "n": -1, "by": "?"}
        for i, (u, v) in enumerate(zip(src, dst, strict=True)):
            row = tuple(columns[name][i] if name in columns else missing[name] for name in KINDS)
            self.values[self.key(int(u), int(v))] = row
        return delta

    def delete(self, src: Any, dst: Any) -> su.Delta:
        delta = self.graph.delete_edges(*cut(self.comm, src, dst))
        self.check_lists(delta.deleted)
        for u, v in zip(src, dst, strict=True):
            self.values.pop(self.key(int(u), int(v)), None)
        return delta

    def check_lists(self, edges: su.EdgeList) -> None:
        """Compare the values of rows that a delta lists, which may be of any rank."""
        columns = [self.graph.edge_columns.at_rows(name, edges.row).tolist() for name in KINDS]
        for u, v, *row in zip(edges.src.tolist(), edges.dst.tolist(), *columns, strict=True):
            assert repr(tuple(row)) == repr(self.plain(self.values[self.key(u, v)]))

    def plain(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return float(row[0]), int(row[1]), str(row[2])

    def check(self) -> None:
        self.graph.check()
        edges = self.graph.edges()
        assert sorted(zip(edges.src.tolist(), edges.dst.tolist(), strict=True)) == sorted(self.values)
        self.check_lists(edges)
        self.check_lists(edges)  # the rows of the last answer stay
        keys = sorted(self.values)
        for at, name in enumerate(KINDS):
            expected = [self.plain(self.values[key])[at] for key in keys]
            assert repr(self.graph.edge_columns[name].tolist()) == repr(expected)
        asked = np.array([*keys, (3, 4), (4, 3)]).T
        found = self.graph.edge_columns.at("by", *asked).tolist()
        assert found == [str(self.values.get(self.key(*key), ("", "", "?"))[2]) for key in asked.T.tolist()]
        self.check_arcs()

    def check_arcs(self) -> None:
        """Compare what the stores of this rank lead to: out-edges and in-edges of the vertices that it owns."""
        part = self.graph.partition
        assert part is not None
        for number, store in enumerate(part.stores):
            arcs = store.local.edges()
            assert part.owns(arcs.src).all()
            ends = (arcs.dst, arcs.src) if number else (arcs.src, arcs.dst)
            self.check_lists(su.EdgeList(*ends).in_rows(arcs.weight))


def follow_changes(comm: Comm, *, batches: int = 6, **options: Any) -> None:
    """Insert, replace and delete edges and vertices, and compare all values after each change."""
    model = Model(comm, **options)
    rng = np.random.default_rng(5)
    texts = np.array(["a", "bob", "", "é"], object)
    for number in range(batches):
        src, dst = rng.integers(0, N, (2, 60))
        columns = {"amount": rng.random(60), "by": texts[rng.integers(0, 4, 60)]}
        columns |= {"n": rng.integers(0, 99, 60)} if number % 2 else {}
        delta = model.insert(src, dst, **columns)
        model.check_lists(delta.inserted)
        model.check_lists(delta.replaced)
        model.check()
        model.delete(*rng.integers(0, N, (2, 90)))
        model.check()
    before = dict(model.values)
    gone = [int(v) for v in rng.choice(N, 4, replace=False)]
    delta = model.graph.delete_vertices(gone)
    model.check_lists(delta.deleted)
    listed = zip(delta.deleted.src.tolist(), delta.deleted.dst.tolist(), strict=True)
    assert {model.key(*key) for key in listed} == {key for key in before if set(key) & set(gone)}
    model.values = {key: row for key, row in before.items() if not set(key) & set(gone)}
    model.check()
    assert model.graph.insert_vertices(4, recycle=True).tolist() == sorted(gone)
    model.insert(np.array(gone), np.array([1, 2, 3, 4]), amount=np.arange(4.0))
    model.check()


@pytest.mark.parametrize(("ranks", "small"), [(2, 0), (3, 15), (3, edge_columns.SMALL)])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("backend", ["slabhash", "csr_baseline"])
def test_values_follow_all_changes(
    backend: str, directed: bool, ranks: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of small parts go along with a meeting, those of others by collectives of their own."""
    for module in (edge_columns, batches, changes):
        monkeypatch.setattr(module, "SMALL", small)
    run(lambda comm: follow_changes(comm, backend=backend, directed=directed, in_edges=directed), ranks)


def test_ranks_may_give_other_columns_of_a_small_batch_and_meet_four_times() -> None:
    """Once more than without columns, when they have the rows of a batch, and once when they have those of others."""

    def job(comm: Comm) -> tuple[list[tuple[Any, ...]], list[int]]:
        graph = su.Graph(N, device="cpu", comm=comm, threads=1, edge_columns=KINDS)
        gather, meetings, counts = comm.gather, list[str](), list[int]()
        comm.gather = lambda name, value: (meetings.append(name), gather(name, value))[1]  # type: ignore[method-assign]
        given: Any = [([20, 1], [2, 3], {"amount": [0.5, 1.5]}), ([4], [25], {"by": ["x"], "n": [7]}), (None, None)]
        for change in (lambda: graph.insert_edges(*given[comm.rank]), lambda: graph.delete_edges([1], [comm.rank + 2])):
            meetings.clear()
            change()
            counts.append(len(meetings))
        columns = [graph.edge_columns[name].tolist() for name in KINDS]
        ends = [each.tolist() for each in graph.edges()[:2]]
        return list(zip(*ends, *columns, strict=True)), counts

    assert repr(run(job, 3)) == repr([([(4, 25, float("nan"), 7, "x"), (20, 2, 0.5, -1, "?")], [4, 3])] * 3)


def values_of(result: Any) -> np.ndarray:
    return np.asarray(result[0] if isinstance(result, tuple) else result)


def far(u: Any, v: Any, row: Any, amount: Any, age: Any) -> Any:
    return amount[row] * (age[v] + 1)


@pytest.mark.parametrize("ranks", few([2, 3]))
@pytest.mark.parametrize("directed", [True, False])
def test_operators_and_algorithms_read_columns_as_on_one_graph(directed: bool, ranks: int) -> None:
    """Trackers with weight="amount" follow batches; functions read columns of vertices and edges by name, both ways."""

    def job(comm: Comm) -> None:
        options: dict[str, Any] = {"directed": directed, "in_edges": directed, "device": "cpu", "threads": 1}
        kinds = {"amount": "float64", "toll": "int32"}
        divided, single = (su.Graph(N, edge_columns=kinds, comm=one, **options) for one in (comm, None))
        for graph in (divided, single):
            graph.columns["age"] = np.arange(N)
        hub = 3
        params: list[tuple[str, dict[str, Any]]] = [
            ("sssp", {"source": hub, "weight": "amount"}), ("pagerank", {"weight": "amount", "weighted": True}),
            ("spmv", {"x": np.arange(N, dtype=float), "weight": "toll"}), ("bfs", {"source": hub}),
        ]  # fmt: skip
        trackers = [(divided.track(name, **given), single.track(name, **given)) for name, given in params]
        rng = np.random.default_rng(2)
        for number in range(5):
            src, dst = rng.integers(0, N, (2, 80))
            src[:20] = hub
            amount, toll = rng.integers(1, 50, 80) / 4, rng.integers(1, 9, 80)
            part = cut(comm, src, dst, amount, toll)
            divided.insert_edges(*part[:2], {"amount": part[2], "toll": part[3]})
            single.insert_edges(src, dst, {"amount": amount, "toll": toll})
            if number % 2:
                src, dst = rng.integers(0, N, (2, 300))
                for graph, (first, second) in ((divided, cut(comm, src, dst)), (single, (src, dst))):
                    graph.delete_edges(first, second)
                keys = single.edges()
                some = slice(number, None, 5)
                for graph in (divided, single):
                    own = slice(some.start + 5 * comm.rank, None, 5 * comm.size) if graph is divided else some
                    graph.edge_columns.put("amount", keys.src[own], keys.dst[own], 0.5)
            for one, other in trackers:
                np.testing.assert_allclose(
                    *(values_of(tracker.result) for tracker in (one, other)), atol=1e-5
                )  # ranks' tol
            for over in ("out", "in"):
                sums = [
                    su.neighbor_reduce(graph, None, far, args=("amount", "age"), reduce="sum", over=over)
                    for graph in (divided, single)
                ]
                np.testing.assert_allclose(*sums)
        divided.check()

    run(job, ranks)


@pytest.mark.parametrize("directed", [True, False])
def test_values_move_when_ranges_are_cut_again(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suricate.placement.placement.FEW", 20)
    monkeypatch.setattr("suricate.placement.ranges.SLICE", 16)

    def job(comm: Comm) -> tuple[int, ...]:
        model = Model(comm, directed=directed, in_edges=directed)
        bounds, rng, moved = model.graph.partition.ownership.bounds.tolist(), np.random.default_rng(3), 0
        model.graph.mark()
        for low in (20, 0, 22, 5, 25):  # sources of each batch are close
            delta = model.insert(rng.integers(low, low + 5, 70), rng.integers(0, N, 70), amount=np.arange(70.0) + low)
            model.check_lists(delta.inserted)
            model.check_lists(model.graph.updated())
            model.check()
            moved += bounds != model.graph.partition.ownership.bounds.tolist()
            bounds = model.graph.partition.ownership.bounds.tolist()
            model.delete(rng.integers(low, low + 5, 40), rng.integers(0, N, 40))
            model.check()
        return (moved,)

    assert run(job, 3)[0][0] > 1


@pytest.mark.parametrize("directed", [True, False])
def test_copies_and_snapshots_keep_the_values(directed: bool, tmp_path: Path) -> None:
    """A copy goes its own way; a snapshot of three ranks is read by two, one, and more than wrote it."""
    path = tmp_path / "graph.npz"

    def values(graph: su.Graph) -> list[Any]:
        columns = [repr(graph.edge_columns[name].tolist()) for name in graph.edge_columns]
        return [
            list(graph.edge_columns),
            columns,
            repr(graph.edge_columns.missing("n")),
            graph.deleted_vertices.tolist(),
        ]

    def save(comm: Comm) -> list[Any]:
        model = Model(comm, directed=directed, in_edges=directed)
        src, dst = np.random.default_rng(9).integers(0, N, (2, 80))
        model.insert(src, dst, amount=np.arange(80.0), n=np.arange(80), by=np.array(["x", "yy"] * 40, object))
        model.graph.delete_vertices([3])
        model.values = {key: row for key, row in model.values.items() if 3 not in key}
        before = values(model.graph)
        twin = model.graph.to("cpu")
        model.insert(src[:5] * 0, np.arange(4, 9), amount=np.full(5, -1.0))
        model.check()
        assert values(twin) == before
        assert twin.version == model.graph.version - 1
        twin.insert_edges(*([7], [8], {"n": 5}) if comm.rank == 0 else (None, None))
        twin.check()
        assert twin.edge_columns.at("n", [7], [8]).tolist() == [5]
        model.check()
        model.graph.save(path)
        return values(model.graph)

    def load(comm: Comm | None) -> list[Any]:
        graph = su.Graph.load(path, device="cpu", comm=comm)
        graph.check()
        return values(graph)

    saved = run(save, 3)[0]
    assert load(None) == saved
    assert run(load, 2) == [saved] * 2
    assert run(load, 4) == [saved] * 4
    su.Graph.load(path, device="cpu").save(path)  # of one process
    assert run(load, 2) == [saved] * 2


def test_bad_columns_on_one_rank_raise_on_all_and_change_nothing() -> None:
    def job(comm: Comm) -> None:
        graph = su.Graph(5, device="cpu", comm=comm, edge_columns={"amount": "float64", "by": str})
        graph.insert_edges(*([0], [1], {"amount": 2.0, "by": "a"}) if comm.rank else (None, None))
        good = [1], [2], {"amount": 1.0}
        for bad, error, message in [
            (([1], [2], {"price": 1}), UnknownNameError, "no column 'price'; they have: amount, by"),
            (([1], [2], {"amount": [1, 2]}), ShapeError, r"amount has shape \(2,\) for 1 edges"),
            (([1], [2], {"amount": "x"}), DTypeError, "amount"),
            (([1], [9], {"amount": 1}), su.errors.VertexRangeError, "9"),
        ]:
            with pytest.raises(error, match=message):
                graph.insert_edges(*(bad if comm.rank == 1 else good))
        for wrong in (([0, 1], [1, 2], 5), ([0], [1], "x"), ([0], [1, 2], 5.0)):
            with pytest.raises((ParameterError, DTypeError, ShapeError)):
                graph.edge_columns.put("amount", *(wrong if comm.rank == 0 else ([0], [1], 3.0)))
        assert graph.version == 1
        graph.check()
        assert [graph.edge_columns[name].tolist() for name in ("amount", "by")] == [[2.0], ["a"]]
        graph.edge_columns.put("amount", *([0], [1], 7) if comm.rank else ([], [], []))
        assert graph.edge_columns["amount"].tolist() == [7.0]
        with pytest.raises(ParameterError, match="edge_columns is"):
            su.Graph(5, device="cpu", comm=comm, edge_columns={"amount": "float64" if comm.rank else "float32"})
        with pytest.raises(RequirementError, match="cannot be pickled"):
            graph.__reduce__()

    run(job, 2)


def test_memory_that_fails_on_one_rank_fails_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the batch, rows of others' values after the stores have changed, and in-edges: nothing has changed."""

    def job(comm: Comm) -> None:
        model = Model(comm, in_edges=True)
        src, dst = np.random.default_rng(1).integers(0, N, (2, 60))
        model.insert(src, dst, amount=np.arange(60.0), n=np.arange(60))
        table, into = model.graph.edge_table, model.graph.partition.stores[1].local
        for owner, name, at in ((table, "_taken", 0), (table, "_taken", 1), (into, "insert", 0)):
            calls = iter(range(9))
            real = getattr(owner, name)

            def failing(*args: Any, real: Any = real, calls: Any = calls, at: int = at) -> Any:
                if comm.rank == 1 and next(calls) == at:
                    raise CapacityError("no memory here")
                return real(*args)

            monkeypatch.setattr(owner, name, failing)
            with pytest.raises(CapacityError, match="no memory here"):
                model.graph.insert_edges(*cut(comm, src, dst), {"amount": -1.0})
            setattr(owner, name, real)
            comm.barrier()
            model.check()
        model.insert(src[::-1], dst[::-1], amount=np.arange(60.0), by=np.array(["z"] * 60, object))
        model.check()

    run(job, 3)


def test_columns_of_vertices_are_the_same_on_all_ranks() -> None:
    def job(comm: Comm) -> None:
        graph = su.Graph(4, device="cpu", comm=comm)
        graph.columns["age"] = [1, 2, 3, 4]
        with pytest.raises(ParameterError, match=r"values is .* on rank 0 and .* on rank 1"):
            graph.columns["age"] = [1, 2, 3, 4 + comm.rank]
        with pytest.raises(ParameterError, match="vertices is"):
            graph.columns.put("age", [comm.rank], 7)
        with pytest.raises(ShapeError, match="age has shape"):
            graph.columns.put("age", [1], [5, 6] if comm.rank else [5])
        assert graph.columns["age"].tolist() == [1, 2, 3, 4]
        graph.columns.put("age", [2], 9)
        graph.delete_vertices([1])
        graph.insert_vertices(2)
        assert graph.columns["age"].tolist() == [1, 0, 9, 4, 0, 0]

    run(job, 2)


def test_columns_of_edges_come_with_names_parts_and_files(tmp_path: Path) -> None:
    """Parts of names, some of them empty or without a column; self-loops that drop; a file that all ranks read."""
    file = tmp_path / "edges.csv"
    file.write_text("src,dst,fee\n0,1,1.5\n1,2,2.5\n2,3,3.5\n")

    def job(comm: Comm) -> None:
        parts = [
            (["ann", "bob"], ["bob", "cleo"], {"amount": [4, 2], "by": ["a", "b"]}), (None, None, None),
            (["cleo"], ["dan"], {"amount": [1]}),
        ]  # fmt: skip
        graph = su.Graph.from_coo(*parts[comm.rank], comm=comm, device="cpu")
        graph.insert_edges(*((["zoe"], ["ann"], {"by": "q"}) if comm.rank == 1 else (None, None)))
        graph.edge_columns.put("amount", *((["bob"], ["cleo"], 7) if comm.rank == 2 else ([], [], [])))
        assert graph.edge_columns["amount"].tolist() == [4, 7, 1, 0]
        assert graph.edge_columns["by"].tolist() == ["a", "b", "", "q"]
        assert graph.edge_columns.at("by", ["bob", "eve"], ["cleo", "ann"]).tolist() == ["b", ""]
        assert graph.compute("sssp", source="ann", weight="amount").distance.tolist() == [0, 4, 11, 12, np.inf]
        with pytest.raises(ParameterError, match="edge 0 is not stored"):
            graph.edge_columns.put("amount", *((["bob"], ["ann"], 7) if comm.rank == 2 else ([], [], [])))
        loops = su.Graph(4, device="cpu", comm=comm, self_loops="drop", directed=False, edge_columns={"x": "int64"})
        loops.insert_edges([0, 1, 2], [0, 2, 2], {"x": [1, 2 + comm.rank, 3]})
        assert loops.edge_columns["x"].tolist() == [4]
        loops.insert_edges([comm.rank], [2], {"x": [comm.rank]})  # nothing is left of the last part
        assert loops.edge_columns["x"].tolist() == [0, 1]
        read = su.read(file, edge_columns=["fee"]).to_graph(comm=comm, device="cpu")
        assert read.edge_columns["fee"].tolist() == [1.5, 2.5, 3.5]
        for one in (graph, loops, read):
            one.check()

    run(job, 3)
