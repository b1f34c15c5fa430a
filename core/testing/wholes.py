"""Tests of ``Store.apply``, which deletes and inserts in one change, and of unvalidated batches in ``Store.query``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from suricate.base.types import EdgeList
from suricate.graph.options import GraphOptions
from suricate.intake.batches import HostBatch
from suricate.intake.ingest import Ingest
from suricate.testing.model import ModelledStore
from suricate.testing.scale import weights_for

NUM_VERTICES = 60
ONE_SIDED = ((40, 0), (0, 300))  #: edges to delete and to insert
TWO_SIDED = ((1, 1), (30, 50), (2000, 3000))


def whole_changes(model: ModelledStore, sizes: Iterable[tuple[int, int]], *, dropped: bool = False) -> None:
    """Prepare valid and invalid changes by ``Store.apply()``, and compare the store with its table after each.

    Args:
        model: the store, empty, of ``NUM_VERTICES`` vertices.
        sizes: ``(edges to delete, edges to insert)`` of each change.
        dropped: True: do not carry out the changes that ``apply()`` prepares.
    """
    rng, n = np.random.default_rng(31), model.store.num_vertices
    src, dst = rng.integers(0, n, (2, 400)).astype(np.uint32)
    model.insert(src, dst, weights_for(model, rng, 400))
    for to_delete, to_insert in sizes:
        gone, new = (rng.integers(0, n, (2, size)).astype(np.uint32) for size in (to_delete, to_insert))
        new[:, : to_delete // 2] = gone[:, : min(to_insert, to_delete // 2)]  # deleted and inserted again
        removed = EdgeList(gone[0], gone[1]) if to_delete else None
        added = EdgeList(new[0], new[1], weights_for(model, rng, to_insert)) if to_insert else None
        for batches, valid in _offers(model, removed, added):
            if removed is not None and added is not None:
                model.reserve(len(added.src))
            carry_out = model.store.apply(*batches)
            model.verify(rng)  # nothing has changed yet
            if carry_out is not None and not dropped:
                carry_out()
                model.expect(batches[0], removed if valid else None, deletion=True)
                model.expect(batches[1], added if valid else None)
            model.verify(rng)


def _offers(model: ModelledStore, removed: EdgeList | None, added: EdgeList | None) -> Iterator[tuple[Any, bool]]:
    """Yield ``(batches, valid)`` for each form in which a graph passes a change to ``Store.apply()``.

    ``batches`` is a list of two batches: of the edges ``removed`` and of the edges ``added``, None if there are none.
    They are host batches, and on CUDA also device batches: one with a bad id (``valid`` False), one without.
    """
    yield [None if part is None else HostBatch(part) for part in (removed, added)], True
    if not model.device.is_cuda:
        return
    store = model.store
    ingest = Ingest(model.device, GraphOptions(type(store), weight_dtype=store.weight_dtype))
    for valid in (False, True):
        delete, insert = (_given(model, part, valid=valid) for part in (removed, added))
        ingest.begin(store.num_vertices, 0)
        batches = ingest.batches(delete, insert, (1, 2), paired=False)
        assert batches is not None
        yield list(batches), valid


def _given(model: ModelledStore, edges: EdgeList | None, *, valid: bool) -> tuple[Any, Any, Any] | None:
    """Return ``edges`` as ``(src, dst, weight)`` on the device, None for None; unless ``valid``, with a bad ``dst``."""
    if edges is None:
        return None
    dst = edges.dst.astype(np.int64)
    if not valid:
        dst[-1] = model.store.num_vertices
    weight = None if edges.weight is None else model.to_device(edges.weight)
    return model.to_device(edges.src), model.to_device(dst), weight


def unchecked_queries(model: ModelledStore) -> None:
    """Compare ``query()`` of unvalidated batches, on the host and on the device, with ``find()``."""
    rng, store, to_numpy = np.random.default_rng(32), model.store, model.device.to_numpy
    src, dst = rng.integers(0, store.num_vertices, (2, 400)).astype(np.uint32)
    model.insert(src, dst, weights_for(model, rng, 400))
    others = rng.integers(0, store.num_vertices, (2, 100)).astype(np.uint32)
    src, dst = np.append(src[::2], others[0]), np.append(dst[::2], others[1])
    given = model.to_device(src), model.to_device(dst)
    queries: list[Any] = [EdgeList(src, dst)]
    if model.device.is_cuda:
        ingest = Ingest(model.device, GraphOptions(type(store), weight_dtype=store.weight_dtype))
        ingest.begin(store.num_vertices, 0)
        queries.append(ingest.query(*given))
    wanted, held = store.find(*given)
    for query in queries:
        answer = store.query(query)
        if answer is not None:
            found, weight = answer
            there = found if isinstance(query, EdgeList) else to_numpy(found)
            assert np.array_equal(there, to_numpy(wanted)), "query() differs from find()"
            if weight is not None and held is not None:
                old = weight if isinstance(query, EdgeList) else to_numpy(weight)
                assert np.array_equal(old[there], to_numpy(held)[there]), "query() differs from find() in weights"
