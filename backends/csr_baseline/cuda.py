"""``csr_baseline`` on CUDA: launches of the kernels in ``csr.cu``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from suricate import primitives
from suricate.cuda.program import Program
from suricate.devices import Array
from suricate.errors import CapacityError
from suricate.primitives import cuda as shared
from suricate.primitives.cuda import BLOCK, launch, weight_bits
from suricate.types import EdgeList, Outcome

if TYPE_CHECKING:
    from suricate.backends.csr_baseline.store import CsrStore

HERE = Path(__file__).parent
ITEMS = 8  #: edges per thread of a rebuild (the same constant is in csr.cu)


@cache
def program(weight_dtype: np.dtype | None) -> Program:
    """Return the backend's kernels for weights of a dtype."""
    return Program(
        HERE / "csr.cu", defines=(("WEIGHT_BITS", weight_bits(weight_dtype)),), include=(shared.HERE,)
    )  # fmt: skip


def programs(store: CsrStore) -> list[Program]:
    """Return all programs that ``store`` launches."""
    return [program(store.weight_dtype), shared.program(weight_bits(store.weight_dtype))]


class Located(NamedTuple):
    """A sorted batch against the graph; all arrays have one entry per batch edge (see ``csr.cu``)."""

    keys: Array
    order: Array
    slot: Array
    flag: Array
    rank: Array


def _locate(store: CsrStore, src: Array, dst: Array, guard: Array | None, stored: int) -> Located:
    xp, m = store.device.xp, len(src)
    keys, order = primitives.sort_batch(store.device, src, dst, store.num_vertices)
    slot, flag = xp.empty(m, np.int64), xp.empty(m, np.int32)
    launch(
        program(store.weight_dtype), "locate", m,
        np.uint32(m), keys, store.offsets, store.dst, guard, np.uint32(stored), slot, flag,
    )  # fmt: skip
    return Located(keys, order, slot, flag, flag.cumsum(dtype=np.int32))


def _outcome(store: CsrStore, size: int) -> Outcome:
    xp = store.device.xp
    before = None if store.weight_dtype is None else xp.empty(size, store.weight_dtype)
    return Outcome(xp.empty(size, np.uint8), before)


def _rebuild(store: CsrStore, batch: Located, bound: int, kernel: str, sign: int, edges: EdgeList) -> Array:
    """Queue the copy of the old edges to ``edges``; return the new offsets."""
    code = program(store.weight_dtype)
    n, m = np.int64(store.num_vertices), np.uint32(len(batch.keys))
    offsets = store.device.xp.empty(store.num_vertices + 1, np.int64)
    launch(
        code, "shift_offsets", len(offsets),
        n, m, batch.keys, batch.rank, store.offsets, np.int64(sign), offsets,
    )  # fmt: skip
    blocks = (bound + ITEMS * BLOCK - 1) // (ITEMS * BLOCK)
    launch(
        code, kernel, blocks * BLOCK,
        n, m, batch.slot, batch.rank, store.offsets, store.dst, store.weight, edges.dst, edges.weight,
    )  # fmt: skip
    return offsets


def insert(store: CsrStore, src: Array, dst: Array, weight: Array | None, guard: Array | None) -> Outcome:
    """Insert a batch; waits for the device only when the bound is loose or memory is short."""
    m = len(src)
    outcome = _outcome(store, m)
    if not m:
        return outcome
    bound = store.bound()
    batch = _locate(store, src, dst, guard, stored=0)
    most = m
    try:
        edges = store.target(bound + m)
    except CapacityError:  # the bound counts duplicates and edges that are there; now the exact size matters
        bound, most = store.num_edges, int(batch.rank[-1])
        edges = store.target(bound + most)
    offsets = _rebuild(store, batch, bound, "merge_old", 1, edges)
    launch(
        program(store.weight_dtype), "merge_batch", m,
        np.uint32(m), batch.keys, batch.order, batch.slot, batch.flag, batch.rank, guard, store.weight, weight,
        edges.dst, edges.weight, outcome.status, outcome.weight,
    )  # fmt: skip
    store.replace(offsets, edges)
    store.queued(most)
    return outcome


def delete(store: CsrStore, src: Array, dst: Array, guard: Array | None) -> Outcome:
    """Delete a batch; waits for the device only when the bound is loose."""
    m = len(src)
    outcome = _outcome(store, m)
    if not m:
        return outcome
    bound = store.bound()
    batch = _locate(store, src, dst, guard, stored=1)
    edges = store.target(bound)
    launch(
        program(store.weight_dtype), "report_deleted", m,
        np.uint32(m), batch.order, batch.slot, batch.flag, store.weight, outcome.status, outcome.weight,
    )  # fmt: skip
    offsets = _rebuild(store, batch, bound, "compact_old", -1, edges)
    store.replace(offsets, edges)
    store.queued(0)
    return outcome


def find(store: CsrStore, src: Array, dst: Array) -> tuple[Array, Array | None]:
    """Look a batch up."""
    xp, m = store.device.xp, len(src)
    found = xp.empty(m, bool)
    weight = None if store.weight_dtype is None else xp.empty(m, store.weight_dtype)
    launch(
        program(store.weight_dtype), "find_edges", m,
        np.uint32(m), src, dst, store.offsets, store.dst, store.weight, found, weight,
    )  # fmt: skip
    return found, weight
