"""``hornet_like`` on CUDA: launches of the kernels in ``hornet.cu``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import primitives
from suricate.backends.hornet_like import layout
from suricate.backends.hornet_like.layout import CLASSES, EDGES, FREE, GROW, USED
from suricate.cuda.program import Program
from suricate.devices import Array
from suricate.errors import CapacityError
from suricate.primitives import cuda as shared
from suricate.primitives.cuda import launch, weight_bits
from suricate.types import Outcome

if TYPE_CHECKING:
    from suricate.backends.hornet_like.store import HornetStore

HERE = Path(__file__).parent
LANES, LONG_DEGREE, LONG_MOVE = 8, 256, 4096  #: the same constants are in hornet.cu
WORKERS = 132 * 8 * 256  #: threads of the kernels that walk a list whose length only the device knows
MACROS = ("MIN_CLASS", "CLASSES", "NONE", "USED", "EDGES", "BLOCKS", "FREE", "GROW", "RATIOS")

GRAPH = np.dtype(
    [(name, np.uint64) for name in ("begin", "end", "klass", "dst", "weight", "counters", "stacks", "stack_begin")]
)
BATCH = np.dtype(
    [(name, np.uint64) for name in ("keys", "order", "found", "rank", "target", "ticket", "place", "guard")]
    + [("size", np.int64)]
)


@cache
def program(weight_dtype: np.dtype | None) -> Program:
    """Return the backend's kernels for weights of a dtype."""
    constants = tuple((name, int(getattr(layout, name))) for name in MACROS)
    return Program(
        HERE / "hornet.cu",
        defines=(("WEIGHT_BITS", weight_bits(weight_dtype)), *constants),
        include=(shared.HERE,),
    )


def programs(store: HornetStore) -> list[Program]:
    """Return all programs that ``store`` launches."""
    return [program(store.weight_dtype), shared.program(weight_bits(store.weight_dtype))]


def _pointer(array: Array | None) -> int:
    return 0 if array is None else array.data.ptr


def _graph(store: HornetStore) -> Any:
    parts = (
        store.begin, store.end, store.klass, store.dst, store.weight, store.counters, store.stacks, store.stack_begin
    )  # fmt: skip
    return np.array(tuple(map(_pointer, parts)), GRAPH)[()]


class _Batch:
    """A batch sorted and located in the graph: the arrays of ``struct Batch`` and the launches that need them."""

    def __init__(self, store: HornetStore, src: Array, dst: Array, guard: Array | None) -> None:
        xp, self.size, self.store = store.device.xp, len(src), store
        self.code = program(store.weight_dtype)
        keys, order = primitives.sort_batch(store.device, src, dst, store.num_vertices)
        m = self.size
        self.arrays: dict[str, Any] = {
            "keys": keys, "order": order, "found": xp.empty(m, np.int64), "rank": xp.empty(m, np.int32),
            "target": xp.empty(m, np.uint8), "ticket": xp.empty(m, np.uint32), "place": xp.empty(m, np.int64),
            "guard": guard,
        }  # fmt: skip
        self.struct = np.array((*map(_pointer, self.arrays.values()), m), BATCH)[()]
        # lengths of the two lists of parts, then per class: blocks needed, stack heights, taken, carved
        self.scratch = xp.zeros(2 + 4 * CLASSES, np.int64)
        self.need, self.tops, self.taken, self.carved = (
            self.scratch[2 + k * CLASSES : 2 + (k + 1) * CLASSES] for k in range(4)
        )
        # a vertex of d > limit edges has at most 2 * (d // limit) parts
        edges = int(store.mirror.values[EDGES] + store.mirror.unseen[0])
        scans = xp.empty(2 * (edges // LONG_DEGREE), np.uint64), self.scratch[:1]
        self.moves = xp.empty(2 * (edges // LONG_MOVE), np.uint64), self.scratch[1:2]
        self.each("locate_short", *scans, lanes=LANES)
        launch(self.code, "locate_long", WORKERS, _graph(store), self.struct, *scans)

    def each(self, kernel: str, *args: Any, lanes: int = 1) -> None:
        """Launch a kernel over the items, ``lanes`` threads each."""
        launch(self.code, kernel, lanes * self.size, _graph(self.store), self.struct, *args)

    def rank(self, stored: int) -> None:
        """Rank the items that change the graph: those that are stored (1) or are not (0)."""
        flags = self.store.device.xp.empty(self.size, np.int32)
        launch(self.code, "flag", self.size, self.struct, np.uint32(stored), flags)
        flags.cumsum(dtype=np.int32, out=self.arrays["rank"])

    def migrate(self, sign: int) -> None:
        """Carry the plan out: hand out blocks, move adjacencies, update the index."""
        sign_arg = np.int64(sign)
        launch(
            self.code, "grant", 1, _graph(self.store), self.struct, sign_arg,
            self.need, self.tops, self.taken, self.carved, block=32,
        )  # fmt: skip
        self.each("move_short", sign_arg, self.tops, self.taken, self.carved, *self.moves, lanes=LANES)
        launch(self.code, "move_long", WORKERS, _graph(self.store), self.struct, sign_arg, *self.moves)
        self.each("commit", sign_arg)


def _outcome(store: HornetStore, size: int) -> Outcome:
    xp = store.device.xp
    before = None if store.weight_dtype is None else xp.empty(size, store.weight_dtype)
    return Outcome(xp.empty(size, np.uint8), before)


def _reserve(store: HornetStore, batch: _Batch, inserted: int, deleted: int) -> None:
    """Make room for the planned batch: by the host's bounds or, where memory is short, by reading what is needed."""
    try:
        store.reserve_batch(inserted, deleted)
    except CapacityError:
        store.mirror.read(store.counters)
        known, need = store.mirror.values, batch.need.get()
        carved = np.maximum(0, need - known[FREE:GROW])
        store.ensure_pool(int(known[USED] + (carved << np.arange(CLASSES)).sum()))
        store.ensure_stacks(layout.stack_bounds(known, store.mirror.unseen, inserted + deleted, store.num_vertices))


def _queued(store: HornetStore, inserted: int, deleted: int) -> None:
    store.mirror.charge(inserted, deleted)
    store.mirror.post(store.counters)


def insert(store: HornetStore, src: Array, dst: Array, weight: Array | None, guard: Array | None) -> Outcome:
    """Insert a batch; waits for the device only when memory is short."""
    m = len(src)
    outcome = _outcome(store, m)
    if not m:
        return outcome
    store.mirror.poll()
    batch = _Batch(store, src, dst, guard)
    batch.rank(stored=0)
    batch.each("plan", np.int64(1), np.uint32(1), batch.need)
    _reserve(store, batch, m, 0)
    batch.migrate(1)
    batch.each("append", weight, *outcome)
    _queued(store, m, 0)
    return outcome


def delete(store: HornetStore, src: Array, dst: Array, guard: Array | None) -> Outcome:
    """Delete a batch; where there is no room to migrate down, blocks stay as large as they are."""
    xp, m = store.device.xp, len(src)
    outcome = _outcome(store, m)
    if not m:
        return outcome
    store.mirror.poll()
    batch = _Batch(store, src, dst, guard)
    batch.rank(stored=1)
    batch.each("plan", np.int64(-1), np.uint32(1), batch.need)
    pairs, sums, holes, survivors = (xp.empty(m, np.int64) for _ in range(4))  # all before anything changes
    if not store.room_to_shrink(lambda: _reserve(store, batch, 0, m)):
        store.ensure_all_blocks_fit_stacks()
        batch.need[:] = 0
        batch.each("plan", np.int64(-1), np.uint32(0), batch.need)
    batch.each("mark_deleted", *outcome)
    batch.each("pair_holes", pairs)
    pairs.cumsum(dtype=np.int64, out=sums)
    batch.each("list_holes", sums, holes, survivors)
    batch.each("fill_holes", sums, holes, survivors)
    batch.migrate(-1)
    _queued(store, 0, m)
    return outcome


def delete_vertices(store: HornetStore, vertices: Array) -> None:
    """Free the out-adjacency of ``vertices``."""
    count = len(vertices)
    if not count:
        return
    store.mirror.poll()
    try:
        store.ensure_stacks(layout.stack_bounds(store.mirror.values, store.mirror.unseen, count, store.num_vertices))
    except CapacityError:
        store.ensure_all_blocks_fit_stacks()
    launch(program(store.weight_dtype), "free_vertices", count, _graph(store), np.uint32(count), vertices)
    _queued(store, 0, count)


def find(store: HornetStore, src: Array, dst: Array) -> tuple[Array, Array | None]:
    """Look a batch up: sorted, so that a long adjacency is read once however many edges of it are asked for."""
    xp, m = store.device.xp, len(src)
    found = xp.empty(m, bool)
    weight = None if store.weight_dtype is None else xp.empty(m, store.weight_dtype)
    if m:
        store.mirror.poll()
        _Batch(store, src, dst, None).each("answer", found, weight)
    return found, weight
