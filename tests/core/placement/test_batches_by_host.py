"""Small batches of a divided graph: all parts go along with one meeting, on both devices; meetings and calls of Python.

Parts of at most ``SMALL`` edges are small; tests set that to less, so that batches go both ways, and to 0 for none.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest
import queued_ranks

import suricate as su
from suricate.comm.threads import ThreadComm
from suricate.errors import CommunicationError, SelfLoopError, VertexRangeError
from suricate.parallel import Comm, run
from suricate.placement import batches, changes, results
from suricate.testing.costs import measure

N = 60
Edges = dict[tuple[int, int], float | None]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


class Model:
    """Edges in a dictionary: what a batch inserts, deletes and replaces, of duplicates the last one."""

    def __init__(self, *, directed: bool) -> None:
        self.directed, self.edges = directed, Edges()

    def _key(self, src: int, dst: int) -> tuple[int, int]:
        return (src, dst) if self.directed or src <= dst else (dst, src)

    def apply(self, deleted: np.ndarray, inserted: np.ndarray, weights: list[float | None]) -> tuple[Edges, ...]:
        """Return the edges deleted and inserted, with weights, and those replaced, with weights from before."""
        before = dict(self.edges)
        for src, dst in deleted.T.tolist():
            self.edges.pop(self._key(src, dst), None)
        for (src, dst), weight in zip(inserted.T.tolist(), weights, strict=True):
            self.edges[self._key(src, dst)] = weight
        gone = {edge: weight for edge, weight in before.items() if edge not in self.edges}
        new = {edge: weight for edge, weight in self.edges.items() if edge not in before}
        other = {edge: before[edge] for edge, weight in self.edges.items() if before.get(edge, weight) != weight}
        return gone, new, other


def dict_of(graph: su.Graph, edges: Any) -> Edges:
    host = graph.device.to_numpy
    weight = [None] * len(edges.src) if edges.weight is None else host(edges.weight).tolist()
    pairs = zip(host(edges.src).tolist(), host(edges.dst).tolist(), strict=True)
    found = {(min(pair), max(pair)) if not graph.directed else pair: w for pair, w in zip(pairs, weight, strict=True)}
    assert len(found) == len(weight)
    return found


def parts_of(rng: np.random.Generator, size: int, ranks: int) -> list[slice]:
    """Parts of random sizes, some empty: duplicates are in one part or in several."""
    ends = np.sort(rng.choice([0, size // 3, size // 2, size], ranks - 1))
    return [slice(*pair) for pair in zip([0, *ends], [*ends, size], strict=True)]


def follow_batches(comm: Comm, device: str, dtype: str | None, *, directed: bool) -> None:
    """Random batches against the model; parts are host arrays or, on CUDA, lie on either."""
    options: dict[str, Any] = {"weight_dtype": dtype, "directed": directed, "in_edges": directed}
    graph, model = su.Graph(N, device=device, threads=1, comm=comm, **options), Model(directed=directed)
    rng, array = np.random.default_rng(6), graph.device.xp.asarray
    for number in range(1, 15):
        size = int(rng.choice([3, 30, 90]))
        deleted, inserted = rng.integers(0, N, (2, 2, size))
        deleted = deleted if number % 3 else deleted[:, :0]
        inserted = inserted if number % 4 else inserted[:, :0]
        weights = rng.integers(1, 5, inserted.shape[1]).astype(dtype or np.int64)
        expected = model.apply(deleted, inserted, weights.tolist() if dtype else [None] * len(weights))
        gone, new = (parts_of(rng, ends.shape[1], comm.size)[comm.rank] for ends in (deleted, inserted))
        place = array if (number + comm.rank) % 2 else np.asarray
        mine = [place(ends) for ends in (*deleted[:, gone], *inserted[:, new])]
        insert = (*mine[2:], place(weights[new])) if dtype else (*mine[2:],)
        if not inserted.size:
            delta = graph.delete_edges(*mine[:2])
        elif not deleted.size:
            delta = graph.insert_edges(*insert)
        else:
            delta = graph.apply(su.Batch(insert, tuple(mine[:2])))
        assert dict_of(graph, delta.deleted).keys() == expected[0].keys()
        assert dict_of(graph, delta.inserted) == expected[1]
        assert dict_of(graph, delta.replaced).keys() == expected[2].keys()
        assert (delta.num_deleted, delta.num_inserted) == (len(expected[0]), len(expected[1]))
        assert dict_of(graph, graph.edges()) == model.edges
        assert graph.num_edges == len(model.edges)
        if directed:
            degrees = np.bincount([dst for _, dst in model.edges], minlength=N)
            np.testing.assert_array_equal(graph.device.to_numpy(graph.degrees("in")), degrees)
        assert graph.partition is not None
        assert graph.partition.held is not None
        assert graph.partition.held[comm.rank] == sum(store.local.num_edges for store in graph.partition.stores)
        graph.check()


@pytest.mark.plain
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", [None, "float32", "float64", "int32"])
def test_batches_of_any_size_do_what_the_model_does(
    dtype: str | None, directed: bool, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of batches of 30 some go one way and some the other; of those of 90 some ranks have small parts, and some not."""
    for number, most in enumerate((4096, 20, 0, 4096)):
        monkeypatch.setattr(batches, "SMALL", most)
        monkeypatch.setattr(changes, "SMALL", most)
        run(partial(follow_batches, device=device, dtype=dtype, directed=directed), number + 1)


def sent(comm: Comm, seed: int, size: int = 1 << 10) -> tuple[np.ndarray, np.ndarray]:
    """This rank's part of a batch of uniform pairs."""
    src, dst = np.random.default_rng(seed).integers(0, 1 << 16, (2, size)).astype(np.uint32)
    return src[comm.rank :: comm.size].copy(), dst[comm.rank :: comm.size].copy()


@pytest.mark.plain
@pytest.mark.parametrize("options", [{}, {"in_edges": True}, {"directed": False}, {"weight_dtype": "float32"}])
def test_ranks_meet_twice_for_a_small_batch(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times where edges go and come: before the first go, all ranks have memory for those that come."""
    counts: dict[int, list[int]] = {}
    for kind, start in ((ThreadComm, run), (queued_ranks.Queued, queued_ranks.run)):
        names: list[str] = []
        inner = "gather" if kind is ThreadComm else "_gathered"
        gather = getattr(kind, inner)

        def noted(self: Any, name: str, *given: Any, gather: Any = gather, names: list[str] = names) -> Any:
            if self.rank == 0:
                names.append(name)
            return gather(self, name, *given)

        monkeypatch.setattr(kind, inner, noted)

        def job(comm: Comm, names: list[str] = names) -> list[int]:
            graph = su.Graph(1 << 16, device="cpu", threads=1, comm=comm, **options)
            weight = (np.ones(1 << 9, np.float32),) if "weight_dtype" in options else ()
            found = []
            for change in (
                lambda: graph.insert_edges(*sent(comm, 1), *weight),
                lambda: graph.delete_edges(*sent(comm, 2)),
                lambda: graph.apply(su.Batch((*sent(comm, 3), *weight), sent(comm, 1))),
            ):
                before = len(names)
                change()
                found.append(len(names) - before)
            return found

        counts[len(counts)] = start(job, 2)[0]
    assert counts == {0: [2, 2, 3], 1: [2, 2, 3]}


@pytest.mark.compiled
@pytest.mark.parametrize(("device", "most"), [("cpu", 200), pytest.param("cuda", 235, marks=pytest.mark.gpu)])
def test_a_small_batch_makes_few_calls_of_python(device: str, most: int) -> None:
    """On each of two ranks, meetings included; one process makes 36 on the CPU, 140 where its storage grows."""

    def job(comm: Comm) -> int:
        graph = su.Graph(1 << 16, backend="slabhash", device=device, threads=1, comm=comm)
        for seed in range(4):
            graph.insert_edges(*sent(comm, seed))
        counts = []
        for seed in range(4, 12):
            given, calls = [graph.device.xp.asarray(ends) for ends in sent(comm, seed)], list[str]()

            def note(frame: FrameType, event: str, arg: Any, calls: list[str] = calls) -> None:
                if event == "call" and "emulated" not in frame.f_code.co_filename:
                    calls.append(frame.f_code.co_name)

            comm.barrier()
            before = sys.getprofile()
            sys.setprofile(note)
            try:
                graph.insert_edges(*given)
            finally:
                sys.setprofile(before)
            counts.append(len(calls))
        return min(counts)

    assert max(run(job, 2)) <= most


@pytest.mark.gpu
def test_a_small_batch_takes_two_launches_and_one_wait_and_copies_nothing() -> None:
    """Where the parts lie on the device: kernels check ids, and write them and the statuses to memory of the host.

    The store's kernel reads the edges there. The host polls for the answer of the first.
    """

    def job(comm: Comm) -> tuple[Counter[str], Counter[str]]:
        graph = su.Graph(1 << 16, backend="slabhash", device="cuda", comm=comm)
        for seed in range(6):
            graph.insert_edges(*sent(comm, seed))
        given = [graph.device.xp.asarray(ends) for ends in sent(comm, 6)]
        costs = measure(lambda: graph.insert_edges(*given), graph.device)
        return costs.kernels, costs.waits

    kernels, waits = run(job, 1)[0]
    assert kernels == {"launchKernel": 1, "launchCooperativeKernel": 1}
    assert waits == {"Stream.synchronize": 1}


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [None, "int32"])
def test_edges_that_kernels_read_stay_while_a_batch_goes_by_slices(
    dtype: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One rank lacks memory for the whole batch: the others undo theirs, and all begin again with the same edges."""
    monkeypatch.setattr(changes, "LEAST", 64)

    def job(comm: Comm) -> None:
        graph, model = su.Graph(N, device="cuda", comm=comm, weight_dtype=dtype), Model(directed=True)
        assert graph.partition is not None
        local, most = graph.partition.stores[0].local, 40 if comm.rank == 1 else 1 << 20
        insert = local.insert

        def limited(src: Any, *given: Any, **options: Any) -> Any:
            if len(src) > most:
                raise MemoryError("too many")
            return insert(src, *given, **options)

        monkeypatch.setattr(local, "insert", limited)
        rng = np.random.default_rng(8)
        for _ in range(3):
            ends, weights = rng.integers(0, N, (2, 500)), rng.integers(1, 5, 500)
            values = weights.tolist() if dtype else [None] * 500
            _, new, _ = model.apply(ends[:, :0], ends, values)  # type: ignore[arg-type]
            part = parts_of(rng, 500, comm.size)[comm.rank]
            mine = [graph.device.xp.asarray(ends[k][part]) for k in (0, 1)]
            delta = graph.insert_edges(*mine, *([weights[part]] if dtype else []))
            assert dict_of(graph, delta.inserted) == new
            assert dict_of(graph, graph.edges()) == model.edges
        graph.check()

    run(job, 3)


@pytest.mark.gpu
def test_edges_that_kernels_read_to_undo_a_batch_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next batch waits for these kernels before it writes its own edges there."""

    def job(comm: Comm) -> list[Counter[str]]:
        graph, waits = su.Graph(N, device="cuda", comm=comm), list[Counter[str]]()
        for number in range(3):
            with monkeypatch.context() as patch:
                if number == 1:  # after its kernels were waited for
                    patch.setattr(results.HostResults, "merge", refused)
                    with pytest.raises(CommunicationError):
                        graph.insert_edges([number, 7], [8, 9])
            costs = measure(partial(graph.insert_edges, [number], [number + 1]), graph.device)
            waits.append(costs.waits)
        assert sorted(dict_of(graph, graph.edges())) == [(0, 1), (1, 2), (2, 3)]
        return waits

    def refused(*_: Any) -> None:
        raise CommunicationError("lost")

    usual, undone, after = (waits["Stream.synchronize"] for waits in run(job, 1)[0])
    assert (undone, after) == (usual + 1, usual)


@pytest.mark.gpu
def test_an_invalid_edge_is_named_though_counting_a_large_part_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its part is not waited for before a kernel answers that the small one behind it is valid."""
    monkeypatch.setattr(batches, "SMALL", 2)

    def failing(*_: Any) -> None:
        raise MemoryError("too many")

    def job(comm: Comm) -> None:
        graph = su.Graph(N, device="cuda", comm=comm)
        array = graph.device.xp.asarray
        monkeypatch.setattr(graph.partition, "count_parts", failing)
        for _ in range(2):
            with pytest.raises(VertexRangeError, match=r"delete.src\[2\] is 60"):
                graph.apply(su.Batch((array([1]), array([2])), (array([1, 2, N]), array([2, 3, 4]))))
        assert (graph.num_edges, graph.version) == (0, 0)

    run(job, 1)


@pytest.mark.gpu
@pytest.mark.parametrize("checks", ["eager", "deferred"])
def test_an_invalid_edge_on_a_device_is_named_wherever_it_is(checks: Any) -> None:
    """In the deletion, in the insertion, or in both, of which the deletion counts; then nothing has changed."""

    def job(comm: Comm) -> None:
        graph = su.Graph(N, device="cuda", comm=comm, self_loops="error", checks=checks)
        array = graph.device.xp.asarray
        good, bad, loop = (array([1, 2]), array([2, 3])), (array([1, N]), array([2, 3])), (array([1, 2]), array([2, 2]))
        graph.insert_edges(*good)
        for _ in range(2):
            for insert, delete, text in (
                (good, bad, r"delete.src\[1\] is 60"),
                (bad, good, r"insert.src\[1\] is 60"),
                (loop, bad, r"delete.src\[1\] is 60"),
                (loop, good, r"insert.src\[1\] and insert.dst\[1\] are both 2"),
            ):
                given = (insert, delete) if comm.rank else (good, good)
                with pytest.raises((VertexRangeError, SelfLoopError), match=text):
                    graph.apply(su.Batch(*given))
        assert (graph.num_edges, graph.version) == (2, 1)
        assert graph.insert_edges(array([5]), array([6])).num_inserted == 1

    run(job, 2)


@pytest.mark.plain
def test_edges_of_a_graph_with_names_that_are_given_by_ids_are_validated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("validated again")

    def job(comm: Comm) -> tuple[int, int]:
        graph = su.Graph(0, device="cpu", threads=1, comm=comm, names=su.Names())
        graph.insert_edges(["a", "b"], ["b", "c"])
        comm.barrier()
        with monkeypatch.context() as patch:
            patch.setattr(graph._updater, "_few", refuse)
            patch.setattr(graph._updater, "_validated", refuse)
            delta = graph.apply(su.Batch(([2], [comm.rank]), ([comm.rank], [1])))
        return delta.num_deleted, delta.num_inserted

    assert run(job, 2) == [(1, 2)] * 2


@pytest.mark.parametrize("device", DEVICES)
def test_a_rank_that_ends_in_a_batch_leaves_the_others_as_they_were(device: str) -> None:
    """It has not told what became of its edges: the others undo theirs."""
    known: dict[int, Any] = {}

    def job(comm: Comm) -> None:
        graph = su.Graph(N, device=device, in_edges=True, comm=comm)
        ids = np.arange(N)[comm.rank :: comm.size]
        graph.insert_edges(ids, (ids + 1) % N)
        assert graph.partition is not None
        stores = [store.local for store in graph.partition.stores]
        if comm.rank == 1:

            def end(*_: Any) -> Any:
                raise SystemExit

            stores[1].insert = end  # type: ignore[method-assign]
        try:
            graph.apply(su.Batch((ids, ids), (ids, (ids + 1) % N)))
        except CommunicationError as error:
            known[comm.rank] = graph.version, [store.num_edges for store in stores], str(error)
            raise
        finally:
            known.setdefault(comm.rank, None)

    with pytest.raises((SystemExit, CommunicationError)):
        run(job, 3)
    for rank in (0, 2):
        version, held, text = known[rank]
        assert (version, held) == (1, [N // 3] * 2)
        assert "rank 1 has raised SystemExit" in text


def test_ranks_that_make_different_calls_learn_of_both_lines() -> None:
    def job(comm: Comm) -> None:
        graph = su.Graph(N, device="cpu", threads=1, comm=comm)
        if comm.rank:
            graph.delete_edges([1], [2])
        else:
            graph.insert_edges([1], [2])

    with pytest.raises(CommunicationError) as met:
        run(job, 2)
    first = job.__code__.co_firstlineno
    assert f"{__file__}:{first + 5}" in str(met.value)
    assert f"{__file__}:{first + 3}" in str(met.value)
