"""The edges of a batch that a rank holds, on CUDA against NumPy: many blocks, weights of all widths, many ranks."""

from __future__ import annotations

import numpy as np
import pytest

from suricate.base.devices import resolve_device
from suricate.base.types import NEW, EdgeList
from suricate.graph import Graph
from suricate.parallel import Comm, SelfComm, run
from suricate.placement import batches, changes, split
from suricate.placement.ownership import Ownership

N = 1000


def of_blocks(rank: int, ranks: int) -> Ownership:
    """Ranges up to 90, and blocks of random owners."""
    bounds, draw = np.linspace(0, 90, ranks + 1).astype(np.int64), np.random.default_rng(ranks)
    owned = Ownership(rank, bounds).resized(N, draw.integers(1, 999, ranks).tolist())
    return Ownership(rank, bounds, draw.permutation(owned.blocks), N)


def drawn(size: int, dtype: str | None) -> EdgeList:
    rng = np.random.default_rng(size)
    src, dst = rng.integers(0, N, (2, size)).astype(np.uint32)
    dst[::7] = src[::7]
    return EdgeList(src, dst, None if dtype is None else rng.integers(0, 1 << 31, size).astype(dtype))


def picked(device: str, edges: EdgeList, owned: Ownership, *, both: bool) -> list[split.OwnEdges]:
    place = resolve_device(device)
    picking = split.Picking(place, edges.each(place.xp.asarray), owned, both=both)
    return picking.own(SelfComm().wait)


@pytest.mark.gpu
@pytest.mark.parametrize(("both", "dtype"), [(True, None), (False, "float32"), (True, "float64")])
def test_a_rank_has_its_edges_in_the_order_of_the_batch(
    both: bool, dtype: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of several tiles, of one, and of less; a rank without vertices; ids at both ends of a range; blocks."""
    monkeypatch.setattr(split, "MAX_BLOCKS", 3)
    ranges = [(9001, (250, 600)), (5, (0, N)), (2048, (999, N)), (1500, (7, 7)), (0, (3, 9))]
    cases = [(size, Ownership(1, np.array([0, low, high, N]))) for size, (low, high) in ranges]
    for size, owned in [*cases, (9001, of_blocks(1, 3)), (700, of_blocks(2, 3))]:
        edges = drawn(size, dtype)
        wanted = picked("cpu", edges, owned, both=both)
        found = picked("cuda", edges, owned, both=both)
        np.testing.assert_array_equal(found[0].at.get(), wanted[0].at)
        assert len(found) == len(wanted) == 1 + both
        for one, other in zip(found, wanted, strict=True):
            for column, right in zip(one.edges, other.edges, strict=True):
                assert (column is None) == (right is None)
                if right is not None:
                    np.testing.assert_array_equal(column.get(), right)


@pytest.mark.gpu
@pytest.mark.parametrize("ranks", [1, 3, 70])
def test_ranks_count_what_each_gets_of_their_parts(ranks: int) -> None:
    """Of a deletion and an insertion, one of which may not be there; again, in the same memory; ranges may be empty."""
    place = resolve_device("cuda")
    counted = split.PartCounts(place, ranks)
    for sizes, seed in (((1500, 9001), 1), ((0, 700), 2), ((33, None), 3)):
        bounds = np.sort(np.random.default_rng(seed).integers(0, N + 1, ranks + 1)) // 2 * 2
        bounds[0], bounds[-1] = 0, N
        parts = [None if size is None else drawn(size, None) for size in sizes]
        owned = of_blocks(0, ranks) if seed == 2 else Ownership(0, bounds)
        counted.begin([part and part.each(place.xp.asarray) for part in parts], owned)
        SelfComm().wait(counted.has_arrived)
        for half, part in enumerate(parts):
            ends = (np.empty(0, np.uint32),) * 2 if part is None else (part.src, part.dst)
            owners = [owned.owner(end) for end in ends]
            assert counted.of(half) == [n for owner in owners for n in np.bincount(owner, minlength=ranks).tolist()]


@pytest.mark.gpu
def test_what_became_of_edges_is_reported_at_their_places() -> None:
    xp, edges = resolve_device("cuda").xp, drawn(2500, None)
    status = np.random.default_rng(1).integers(0, 3, 2500).astype(np.uint8)
    answers = []
    for device, module in (("cpu", np), ("cuda", xp)):
        own = picked(device, edges, Ownership(1, np.array([0, 100, 700, N])), both=True)
        whole, counts = module.zeros(2500, np.uint8), module.zeros((2, 2), np.uint64)
        for k, one in enumerate(own):
            given = module.asarray(status[: len(one.edges.src)])
            split.report(module, one, given, NEW, None if k else whole, counts[k], loops=k == 0)
        answers.append((whole.tolist(), counts.tolist()))
    assert answers[0] == answers[1]
    assert answers[0][1][0][1] > 0
    assert answers[0][1][1][1] == 0


@pytest.mark.gpu
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("small", [0, changes.SMALL])
def test_a_batch_meets_the_other_ranks_a_few_times(
    small: int, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Whatever its size; of small ones the edges, and what became of them, go along with the two meetings."""
    monkeypatch.setattr(batches, "SMALL", small)

    def job(comm: Comm) -> int:
        graph = Graph(N, device="cuda", directed=directed, in_edges=directed, comm=comm)
        mine = [end[comm.rank :: 2].copy() for end in drawn(changes.SMALL, None).each(graph.device.xp.asarray)[:2]]
        graph.insert_edges(*mine)  # compiles, and reserves memory
        graph.delete_edges(*mine)
        gather, names = comm.gather, list[str]()
        comm.gather = lambda name, value: (names.append(name), gather(name, value))[1]  # type: ignore[method-assign]
        for change in (graph.insert_edges, graph.delete_edges):
            names.clear()
            assert change(*mine).num_replaced == 0
            edges, outcomes = 2 * ["allgatherv of uint32"], ["exchange of uint64", "allgatherv of uint64"]
            assert [name for name in names if name not in outcomes] == [
                "together",
                *([] if small else edges),
                "together",
            ]
            assert bool({*outcomes} & {*names}) == (not small)  # of slices that are merged
        graph.check()
        return graph.num_edges

    assert run(job, 2) == [0, 0]
