"""The CUDA kernels that trim, run on the CPU over the arrays of a store: everything else stays as it was."""

from __future__ import annotations

import numpy as np
import pytest
from emulated import GXX, EmulatedArray, launch
from slabhash_cases import F64, ids

from suricate.backends.slabhash.programs import BLOCK, VIEW, backend_programs
from suricate.backends.slabhash.store import SlabHashStore

pytestmark = pytest.mark.skipif(GXX is None, reason="g++ is not installed")


def trim(store: SlabHashStore, quota: int) -> None:
    """Trim all slabs."""
    code, end = backend_programs(store.geometry)["trim.cu"], store.ledger.capacity - store.ledger.space
    arrays = (part.view(EmulatedArray) if hasattr(part, "dtype") else part for part in store.slabs)
    view, per_bucket = VIEW.pack(type(store.slabs)(*arrays)), store.kernels._per_bucket
    part = np.int64(0), np.int64(end)
    launch(code, "trim_vertices", end, view, np.float64(per_bucket), np.uint32(quota), *part, block=BLOCK)
    launch(code, "trim_chains", end, view, *part, block=BLOCK)
    store.supply.read()
    store.check()


@pytest.mark.parametrize(("slab_bytes", "dtype"), [(32, None), (64, F64)], ids=str)
def test_edges_weights_and_marks_stay(slab_bytes: int, dtype: np.dtype | None) -> None:
    """Random updates with a heavy vertex, a mark now and then, and a trimmed range after each."""
    store = SlabHashStore(60, slab_bytes=slab_bytes, weight_dtype=dtype)
    rng = np.random.default_rng(6)
    held: dict[tuple[int, int], float] = {}
    fresh: set[tuple[int, int]] = set()
    freed = 0
    for step in range(60):
        src, dst = rng.integers(0, 200, (2, 150)) % 60
        src[rng.random(150) < 0.5] = 7
        if step % 20 < 10:
            weight = rng.random(150)
            store.insert(ids(store, src), ids(store, dst), None if dtype is None else weight)
            new = dict(zip(zip(src.tolist(), dst.tolist(), strict=True), weight.tolist(), strict=True))
            fresh |= new.keys() - held.keys()
            held.update(new)
        else:
            gone = [list(held)[i] for i in rng.permutation(len(held))[:150]]
            if gone:
                store.delete(*(ids(store, part) for part in np.array(gone).T))
            for edge in gone:
                del held[edge]
            fresh -= set(gone)
        used = store.memory()["slabs"][0]
        trim(store, quota=step % 3 * 10)
        freed += store.memory()["slabs"][0] < used
        edges = store.edges()
        pairs = list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
        assert len(pairs) == len(held)
        assert set(pairs) == held.keys()
        if edges.weight is not None:
            assert [held[pair] for pair in pairs] == edges.weight.tolist()
        if store.has_mark:
            updated = store.updated()
            assert set(zip(updated.src.tolist(), updated.dst.tolist(), strict=True)) == fresh
        if step % 17 == 16:
            store.mark()
            fresh = set()
    assert freed > 10
