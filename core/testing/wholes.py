"""Changes that a store takes as a whole (``Store.apply``), and queries that nobody has checked (``Store.query``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from suricate.base.types import EdgeList
from suricate.graph.options import GraphOptions
from suricate.intake.batches import HostBatch
from suricate.intake.ingest import Ingest
from suricate.testing.model import ModelledStore
from suricate.testing.scale import weights_for

NUM_VERTICES = 60
SIZES = ((40, 0), (0, 300), (1, 1), (30, 50), (2000, 3000))  #: edges to delete and to insert


def whole_changes(model: ModelledStore) -> None:
    """Offer changes, valid and invalid, carry out some and drop others; the store has ``NUM_VERTICES`` vertices."""
    rng, n = np.random.default_rng(31), model.store.num_vertices
    ids = rng.integers(0, n, (2, 400)).astype(np.uint32)
    model.insert(*ids, weights_for(model, rng, 400))
    for sizes in SIZES:
        gone, new = (rng.integers(0, n, (2, size)).astype(np.uint32) for size in sizes)
        new[:, : sizes[0] // 2] = gone[:, : min(sizes[1], sizes[0] // 2)]  # deleted and inserted again
        removed = EdgeList(*gone) if sizes[0] else None
        added = EdgeList(*new, weights_for(model, rng, sizes[1])) if sizes[1] else None
        for batches, valid in _offers(model, removed, added):
            if removed is not None and added is not None:
                model.reserve(len(added.src))
            carry_out = model.store.apply(*batches)
            model.verify(rng)  # nothing has changed yet
            if carry_out is not None:
                carry_out()
                model.expect(*batches, *((removed, added) if valid else (None, None)))
            model.verify(rng)


def _offers(model: ModelledStore, removed: EdgeList | None, added: EdgeList | None) -> Iterator[tuple[Any, bool]]:
    """Yield a change in every form in which a graph offers it, and whether it is valid."""
    yield [None if part is None else HostBatch(part) for part in (removed, added)], True
    if not model.device.is_cuda:
        return
    store = model.store
    ingest = Ingest(model.device, GraphOptions(type(store), weight_dtype=store.weight_dtype))
    for valid in (False, True):
        given = []
        for part in (removed, added):
            columns = [] if part is None else [column if column is None else model.to_device(column) for column in part]
            if columns and not valid:
                columns[1] = columns[1].astype(np.int64)
                columns[1][-1:] = store.num_vertices
            given.append(columns or None)
        ingest.begin(store.num_vertices, 0)
        batches = ingest.batches(*given, (1, 2), paired=False)
        assert batches is not None
        yield batches, valid


def unchecked_queries(model: ModelledStore) -> None:
    """Look edges up that nobody has checked, in arrays on the host and on the device."""
    rng, store = np.random.default_rng(32), model.store
    ids = rng.integers(0, store.num_vertices, (2, 400)).astype(np.uint32)
    weight = weights_for(model, rng, 400)
    model.insert(*ids, weight)
    src, dst = (np.concatenate((part[::2], rng.integers(0, store.num_vertices, 100, np.uint32))) for part in ids)
    wanted, held = (None if part is None else model.device.to_numpy(part)
                    for part in store.find(model.to_device(src), model.to_device(dst)))  # fmt: skip
    queries: list[Any] = [EdgeList(src, dst)]
    if model.device.is_cuda:
        ingest = Ingest(model.device, GraphOptions(type(store), weight_dtype=store.weight_dtype))
        ingest.begin(store.num_vertices, 0)
        queries.append(ingest.query(model.to_device(src), model.to_device(dst)))
    for query in queries:
        answer = store.query(query)
        if answer is not None:
            on_host = isinstance(query, EdgeList)
            found, old = (part if part is None or on_host else model.device.to_numpy(part) for part in answer)
            assert np.array_equal(found, wanted), "query() differs from find()"
            assert old is None or np.array_equal(old[found], held[found]), "query() differs from find() in weights"
