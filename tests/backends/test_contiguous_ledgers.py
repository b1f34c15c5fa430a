"""The arithmetic of the contiguous backends, on plain integers: no store, no arrays of edges."""

from __future__ import annotations

import numpy as np
import pytest

from suricate.backends.csr_baseline import ledger as csr
from suricate.backends.hornet_like import layout
from suricate.backends.hornet_like import ledger as hornet
from suricate.backends.hornet_like.layout import BLOCKS, CLASSES, COUNTERS, EDGES, FREE, GRAIN, GROW, NONE, SHRINK, USED
from suricate.backends.hornet_like.loops import class_of

NOTHING = np.zeros(2, np.int64)

# -- csr_baseline ------------------------------------------------------------------------------------------------------


def test_a_loose_bound_of_the_edges_is_none() -> None:
    assert csr.edge_bound(100, 0) == 100
    assert csr.edge_bound(0, csr.LOOSE_EDGES) == csr.LOOSE_EDGES
    assert csr.edge_bound(0, csr.LOOSE_EDGES + 1) is None
    assert csr.edge_bound(2**33, 2**33) == 2**34


def test_a_rebuild_holds_everything_twice() -> None:
    assert csr.rebuild_bytes(10, 100, 8) == 2 * (11 * 8 + 100 * 8)
    assert csr.rebuild_bytes(2**32 - 3, 2**33, 12) == 2 * (8 * (2**32 - 2) + 12 * 2**33)


def test_reserved_arrays_have_headroom() -> None:
    assert csr.reserved_length(400, 1000) == 1500


# -- hornet_like -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("degree", "klass"), [(1, 2), (4, 2), (5, 3), (8, 3), (9, 4), (2**31, 31), (2**32 - 3, 32)])
def test_size_classes(degree: int, klass: int) -> None:
    assert class_of(degree) == klass


def vertex(degree: int, klass: int) -> np.ndarray:
    """The counters of a graph of one vertex, as a device keeps them."""
    counters = np.zeros(COUNTERS, np.int64)
    counters[USED], counters[EDGES], counters[BLOCKS + klass] = 1 << klass, degree, 1
    counters[GROW:SHRINK] = hornet.pressure(np.array([degree]), np.array([klass], np.uint8), GROW)
    counters[SHRINK:] = hornet.pressure(np.array([degree]), np.array([klass], np.uint8), SHRINK)
    return counters


def test_a_full_block_needs_one_insertion_to_migrate() -> None:
    grow = vertex(8, 3)[GROW:SHRINK]
    assert hornet.most_carved(grow, 0) == 0
    assert hornet.most_carved(grow, 1) == 16
    assert hornet.most_carved(grow, 1000) == 16


def test_a_vertex_without_a_block_presses_nothing() -> None:
    for which in (GROW, SHRINK):
        assert not hornet.pressure(np.array([0]), np.array([NONE], np.uint8), which).any()


def test_the_worst_demand_of_a_batch() -> None:
    counters = vertex(8, 3)
    demand = hornet.worst_demand(counters, NOTHING, 1, 0, num_vertices=50)
    assert demand.slots == 8 + 16 + 2 + GRAIN  # what is used, the migration, and a block for a vertex that had none
    assert demand.blocks[3] == 1
    assert demand.blocks.sum() == 1
    later = hornet.worst_demand(counters, np.array([10, 0]), 1, 0, num_vertices=50)
    assert later.slots > demand.slots  # ten insertions that the counters have not seen


def test_the_exact_demand_takes_free_blocks_first() -> None:
    counters = vertex(8, 3)
    counters[FREE + 4], counters[BLOCKS + 4] = 1, 1
    need = np.zeros(CLASSES, np.int64)
    need[4] = 1
    assert hornet.exact_demand(counters, need, 1, 50).slots == 8
    need[4] = 3
    assert hornet.exact_demand(counters, need, 1, 50).slots == 8 + 2 * 16


def test_a_reservation_covers_any_batches_of_this_many_edges() -> None:
    counters = vertex(8, 3)
    demand = hornet.reserve_demand(counters, 100, 50)
    assert demand.slots >= hornet.worst_demand(counters, NOTHING, 100, 0, 50).slots
    assert (demand.blocks >= hornet.stack_bounds(counters, NOTHING, 100, 50)).all()


def test_parts_of_long_adjacencies() -> None:
    """Each adjacency of d edges has ceil(d / part) parts if it is long; the bound holds for any split of the edges."""
    long, part, move = (layout.CONSTANTS[name] for name in ("LONG_DEGREE", "SCAN_PART", "LONG_MOVE"))
    for degrees in ([long + 1], [long + 1] * 7, [10**6, long + 1, 5], [part + 1] * 3):
        listed = sum(-(-degree // part) for degree in degrees if degree > long)
        assert listed <= hornet.scan_parts(sum(degrees))
    for degrees in ([move + 1], [move + 1] * 5, [10**6, 3]):
        assert sum(-(-degree // move) for degree in degrees if degree > move) <= hornet.move_parts(sum(degrees))
