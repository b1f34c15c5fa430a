"""The packed memory array: the conformance kit, and what only this backend promises."""

from __future__ import annotations

import numpy as np
import pytest

from suricate.backends.gpma import cpu, ledger, loops
from suricate.backends.gpma.layout import DENSE, EDGES, LEAF, MOVED, ROOT_LEAST, ROOT_MOST
from suricate.backends.gpma.store import GpmaStore
from suricate.base.devices import CPU, Device
from suricate.cpu import threads
from suricate.errors import CapacityError, CheckFailed, ParameterError
from suricate.testing import StoreConformance


class TestConformance(StoreConformance):
    backend = GpmaStore
    cuda_marks = (pytest.mark.gpu,)


class TestStrictConformance(StoreConformance):
    backend = GpmaStore
    options = {"deletion": "strict"}  # noqa: RUF012
    weight_dtypes = (None, "float64")
    cuda_marks = (pytest.mark.gpu, pytest.mark.slow)

    def cuda_programs(self, store):
        return ()  # those of TestConformance


def on(device: Device, *arrays: np.ndarray) -> tuple:
    return tuple(device.xp.asarray(array) for array in arrays)


def uniform(rng: np.random.Generator, num_vertices: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    src, dst = rng.integers(0, num_vertices, (2, count)).astype(np.uint32)
    return src, dst


def counter(store: GpmaStore, which: int) -> int:
    return int(store.device.to_numpy(store.pool["counters"])[which])


def built(device: Device, num_vertices: int, count: int, **options) -> GpmaStore:
    store = GpmaStore(num_vertices, device=device, **options)
    store.insert(*on(device, *uniform(np.random.default_rng(3), num_vertices, count)))
    return store


def test_uniform_batches_move_few_entries(device: Device) -> None:
    """At most 128 entries are moved per new edge, over batches of 1,000, growth of the array included."""
    n, rng = 5000, np.random.default_rng(4)
    store = built(device, n, 40_000)
    before, edges = counter(store, MOVED), store.num_edges
    for _ in range(60):
        store.insert(*on(device, *uniform(rng, n, 1000)))
    store.check()
    inserted = store.num_edges - edges
    assert inserted > 59_000
    assert counter(store, MOVED) - before <= 128 * inserted


@pytest.mark.parametrize("deletion", ["lazy", "strict"])
def test_the_array_moves_only_when_it_grows_or_shrinks(device: Device, deletion: str) -> None:
    n, rng = 3000, np.random.default_rng(5)
    store = built(device, n, 30_000, deletion=deletion)
    moves = []
    for step in range(60):
        array, leaves, held = store.pool["dst"], store.pool.leaves, store.num_edges
        batch = on(device, *uniform(rng, n, 1000))
        if step % 3 == 2:
            store.delete(*(part[:400] for part in store.edges()[:2]))
        else:
            store.insert(*batch)
        store.view()
        store.degrees()
        store.find(*batch)
        assert (store.pool["dst"] is array) == (store.pool.leaves == leaves)
        if store.pool["dst"] is not array:
            moves.append(store.pool.leaves - leaves)
            entries = n + (store.num_edges if moves[-1] > 0 else held)
            assert (entries * DENSE > ROOT_MOST * LEAF * leaves) == (moves[-1] > 0)
    assert any(move > 0 for move in moves)
    store.check()


def test_view_moves_nothing(device: Device) -> None:
    store = built(device, 1000, 9000)
    moved = counter(store, MOVED)
    view = store.view()
    assert view.data.dst is store.pool["dst"]
    assert counter(store, MOVED) == moved


def test_lazy_deletion_leaves_gaps_and_strict_deletion_shrinks(device: Device) -> None:
    for deletion in ("lazy", "strict"):
        store = built(device, 500, 20_000, deletion=deletion)
        moved, leaves = counter(store, MOVED), store.pool.leaves
        src, dst, _ = store.edges()
        keep = len(src) // 20
        store.delete(src[keep:], dst[keep:])
        store.check()
        assert store.num_edges == keep
        if deletion == "lazy":
            assert (counter(store, MOVED), store.pool.leaves) == (moved, leaves)
        else:
            store.delete(src[:1], dst[:1])  # on CUDA the host knows now
            assert store.pool.leaves < leaves // 4
            assert (store.num_edges + 500) * DENSE >= ROOT_LEAST * LEAF * store.pool.leaves


def test_strict_deletion_rebalances_around_holes(device: Device) -> None:
    """All edges of a stretch of vertices go: no leaf beside them keeps more than its share."""
    store = built(device, 1000, 40_000, deletion="strict")
    moved, leaves = counter(store, MOVED), store.pool.leaves
    store.delete_vertices(device.xp.arange(300, 500, dtype=np.uint32))
    store.check()
    assert store.pool.leaves == leaves
    assert counter(store, MOVED) > moved
    counts = device.to_numpy(store.pool["count"])
    assert int(counts.min()) > 0


def test_gaps_are_filled_again(device: Device) -> None:
    store = built(device, 1000, 30_000)
    src, dst, _ = store.edges()
    for part in (slice(0, None, 2), slice(1, None, 3)):
        moved, leaves = counter(store, MOVED), store.pool.leaves
        store.delete(src[part], dst[part])
        store.check()
        assert counter(store, MOVED) == moved
        store.insert(src[part], dst[part])
        store.check()
        assert store.pool.leaves == leaves
    assert store.num_edges == len(src)


@pytest.mark.parametrize("order", ["ascending", "descending", "one vertex"])
def test_insertions_in_one_place(device: Device, order: str) -> None:
    """Batches that all go to one end of the array, or between two edges, are right and do not fill it up."""
    n, store = 4000, GpmaStore(4000, device=device)
    keys = np.arange(24_000) if order != "descending" else np.arange(24_000)[::-1].copy()
    src = (keys // 8 if order != "one vertex" else np.full(24_000, 7) + keys // 4000).astype(np.uint32)
    dst = (keys % 8 * 100 if order != "one vertex" else keys % 4000).astype(np.uint32)
    for start in range(0, len(src), 600):
        store.insert(*on(device, src[start : start + 600], dst[start : start + 600]))
        store.check()
    assert store.num_edges == len(src)
    assert store.pool.leaves <= 2 * ledger.leaves_for(n + len(src))


def test_vertices_are_added_one_by_one(device: Device) -> None:
    store = built(device, 10, 50)
    edges = store.num_edges
    for n in range(11, 400):
        store.resize(n)
    store.check()
    assert store.pool.leaves <= 400 // 16 + ledger.leaves_for(400, 2)
    store.insert(*on(device, np.array([399 - 1, 3], np.uint32), np.array([0, 398], np.uint32)))
    store.check()
    assert store.num_edges == edges + 2
    store.resize(600)
    store.resize(399)
    store.check()
    store.resize(650)
    store.check()
    assert store.num_edges == edges + 2


def test_a_copy_takes_more_vertices(device: Device) -> None:
    store = GpmaStore(30, device=device)
    copy = built(device, 30, 100).copy_to(device)
    store.resize(33)
    copy.resize(33)
    copy.check()
    assert copy.num_edges > 0


def test_compact_makes_the_array_as_full_as_it_may_be(device: Device) -> None:
    store = built(device, 1000, 20_000, deletion="lazy")
    src, dst, _ = store.edges()
    store.delete(src[::2], dst[::2])
    store.compact()
    store.check()
    assert store.pool.leaves == ledger.leaves_for(1000 + store.num_edges)


def test_deletion_needs_no_memory(device: Device) -> None:
    for deletion in ("lazy", "strict"):
        store = built(device, 300, 9000, deletion=deletion)
        store.memory_limit = sum(allocated for _, allocated in store.memory().values())
        src, dst, _ = store.edges()
        store.delete(src[10:], dst[10:])
        store.check()
        assert store.num_edges == 10
        with pytest.raises(CapacityError):
            store.reserve(20_000)


def test_fresh_edges_move_along(device: Device) -> None:
    store = built(device, 800, 9000)
    store.mark()
    rng, wanted = np.random.default_rng(8), set()
    before = set(zip(*(device.to_numpy(part).tolist() for part in store.edges()[:2]), strict=True))
    for _ in range(8):
        src, dst = uniform(rng, 800, 1200)
        store.insert(*on(device, src, dst))
        wanted |= set(zip(src.tolist(), dst.tolist(), strict=True)) - before
        store.check()
    updated = store.updated()
    assert set(zip(*(device.to_numpy(part).tolist() for part in updated[:2]), strict=True)) == wanted
    assert len(updated.src) == len(wanted)


@pytest.mark.parametrize(
    ("damage", "invariant"),
    [
        (lambda a: a["guard"].__setitem__(5, a["guard"][5] + 1), "slots of the guards"),
        (lambda a: a["dst"].__setitem__(int(a["guard"][3]) + 1, 4000), "below num_vertices"),
        (
            lambda a: a["dst"].__setitem__(int(a["guard"][3]) + 1, a["dst"][int(a["guard"][3]) + 2]),
            "ascend by source and destination",
        ),
        (lambda a: a["owner"].__setitem__(7, a["owner"][7] + 1), "source of their first entry"),
        (lambda a: a["guards"].__setitem__(4, a["guards"][4] ^ 1), "know their guards"),
        (lambda a: a["count"].__setitem__(4, a["count"][4] - 1), "counts of the leaves"),
        (lambda a: a["head"].__setitem__(slice(None), 0xFFFFFFFF), "below the head"),
        (lambda a: a["head"].__setitem__(slice(None), 0), "beyond the head"),
        (lambda a: a["degree"].__setitem__(4, a["degree"][4] - 1), "degrees are exact"),
        (lambda a: a["counters"].__setitem__(EDGES, a["counters"][EDGES] - 1), "counter of edges"),
        (lambda a: a["fresh"].__setitem__(2, 0xFFFFFFFF), "only edges are fresh"),
    ],
)
def test_check_finds_damage(device: Device, damage, invariant: str) -> None:
    store = built(device, 100, 4000)
    store.mark()
    store.check()
    damage(store.pool)
    with pytest.raises(CheckFailed, match=invariant):
        store.check()


def test_options_are_checked() -> None:
    for bad in ("eager", None, True, 3):
        with pytest.raises(ParameterError, match="deletion must be 'lazy' or 'strict'"):
            GpmaStore(3, deletion=bad)
    assert GpmaStore(3, deletion="strict").copy_to(CPU).options() == {"deletion": "strict"}


# -- densities, and the segments that are rebalanced -------------------------------------------------------------------


def test_segments_may_be_the_emptier_the_larger_they_are() -> None:
    for height in (1, 5, 23):
        most = [loops.most_in(LEAF << level, level, height) / (LEAF << level) for level in range(height + 1)]
        least = [loops.least_in(LEAF << level, level, height) / (LEAF << level) for level in range(height + 1)]
        assert most[0] == 1
        assert most == sorted(most, reverse=True)
        assert least == sorted(least)
        assert most[-1] <= ROOT_MOST / DENSE < most[-1] + 1 / (LEAF << height)
        assert max(least) < min(most) / 2  # a rebalanced segment is far from either


def test_an_array_that_grows_or_shrinks_is_then_far_from_doing_so_again() -> None:
    for entries in (0, 1, 29, 1000, 10**6, 2**40):
        ample, enough = ledger.grown(entries)
        assert ledger.holds(enough, entries)
        assert enough == 1 or not ledger.holds(enough - 1, entries)
        assert ledger.holds(ample, entries + entries // 5)
        assert not ledger.too_empty(ample, entries)
        assert entries < 1000 or ledger.too_empty(3 * ample, entries)


def segment(leaf: int, level: int, leaves: int) -> range:
    begin = leaf >> level << level
    return range(begin, min(begin + (1 << level), leaves))


@pytest.mark.parametrize("inserts", [True, False])
def test_the_plan_takes_the_lowest_segments_that_fit(inserts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against every leaf's own climb; of segments within each other only the largest is there, of all parts."""
    monkeypatch.setattr(threads, "GRAIN", 1)
    rng = np.random.default_rng(9)
    for leaves in (1, 2, 3, 37, 64, 100):
        store = built(CPU, 10, 0)
        for _ in range(20):
            count = rng.integers(0, 33 if inserts else 8, leaves).astype(np.uint8)
            height = loops.height_of(leaves)
            free = int(loops.most_in(LEAF * leaves, height, height)) - int(count.sum())
            if inserts and free < 1:
                continue
            size = int(rng.integers(1, free + 1)) if inserts else 5
            places = np.sort(rng.integers(0, LEAF * min(leaves, int(rng.integers(1, leaves + 1))), size))
            added = np.bincount(places // LEAF, minlength=leaves) if inserts else np.zeros(leaves, np.int64)
            chosen = set()
            for leaf in set((places // LEAF).tolist()):
                for level in range(height + 1):
                    part = segment(leaf, level, leaves)
                    held, slots = int((count + added)[part.start : part.stop].sum()), LEAF * len(part)
                    low, high = loops.least_in(slots, level, height), loops.most_in(slots, level, height)
                    if level == height or (held <= high if inserts else held >= low):
                        break
                if inserts or level:
                    chosen.add((part.start, part.stop))
            largest = {a for a in chosen if not any(b != a and b[0] <= a[0] and a[1] <= b[1] for b in chosen)}
            empty = cpu.Plan(places, places, np.empty(size, np.uint32), np.empty(size, np.uint8))
            graph = store.pool.graph._replace(count=count, leaves=leaves)
            for number in (1, 3):
                with threads.Limited(number):
                    plan = cpu._planned(graph, empty, inserts=inserts)
                listed = [i for part in plan.parts for i in range(*part)]
                got = [segment(int(plan.begins[i]), int(plan.levels[i]), leaves) for i in listed]
                assert [(part.start, part.stop) for part in got] == sorted(largest)
