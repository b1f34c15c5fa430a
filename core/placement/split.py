"""Picking the edges of a batch that a rank owns, and reporting their statuses.

On CUDA one launch counts and one writes the edges of all stores of the rank, in the order of the batch. If each rank
has counted, in the part that it passed, the edges of every owner (:class:`PartCounts`), no host waits for the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.devices import module_of
from suricate.base.types import EdgeList
from suricate.cuda.launch import address
from suricate.cuda.pinned import Answer, PinnedCounters
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct
from suricate.intake.arrays import picked

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.placement.ownership import Ownership

BLOCKS = {
    "owners": "const unsigned short*",  # of blocks of new vertices, from that of ``base`` on; null: there are none
    "base": "uint32_t",  # the first vertex in a block
    "first": "uint32_t",  # the number of its block
    "bits": "uint32_t",  # of a vertex, behind the highest one, that tell its block
}
OWN = Struct("Own", {
    "src": "const uint32_t*",  # [n], of the whole batch
    "dst": "const uint32_t*",
    "weight": "const WEIGHT_T*",
    "counts": "uint32_t*",  # [2], 0 at first: edges that the rank holds by source, and by destination; [2][blocks]: of
                            # each part
    "at": "uint32_t*",  # places of those by source
    "out_src": "uint32_t*",
    "out_dst": "uint32_t*",
    "out_weight": "WEIGHT_T*",
    "in_src": "uint32_t*",  # those by destination, turned round
    "in_dst": "uint32_t*",
    "in_weight": "WEIGHT_T*",
    "n": "long long",
    "part": "long long",  # edges of a block
    "low": "uint32_t",  # the rank owns the vertices from here on,
    "size": "uint32_t",  # their number
    **BLOCKS,
    "rank": "uint32_t",
})  # fmt: skip
PARTS = Struct("Parts", {
    "src": "const uint32_t*",  # [n], what this rank passes
    "dst": "const uint32_t*",
    "bounds": "const uint32_t*",  # [ranks + 1], where the ranges of the owners begin and end
    "counts": "uint32_t*",  # [2][ranks], 0 before and behind: edges that each holds by source, and by destination
    "done": "uint32_t*",  # 0 before and behind
    "answers": "unsigned long long*",  # [2][ranks], of the host: the counts
    "answer": "unsigned long long*",  # of the host: gets the number of the call, unless that is 0
    "number": "unsigned long long",
    "n": "long long",
    "ranks": "uint32_t",
    **BLOCKS,
})  # fmt: skip
REPORT = Struct("Report", {
    "at": "const uint32_t*",  # [n]: places in the batch
    "status": "const uint8_t*",
    "src": "const uint32_t*",  # null: self-loops are not counted
    "dst": "const uint32_t*",
    "whole": "uint8_t*",  # statuses of the whole batch, or null
    "counts": "unsigned long long*",  # [2], added to: changed edges, self-loops among them
    "n": "long long",
    "wanted": "uint32_t",  # status of changed edges
})  # fmt: skip
THREADS, TILE, MAX_BLOCKS = 256, 1024, 2048
MOST = 1 << 32  #: edges of a batch whose places are words
WORD, ANSWER_WORD = 4, 8  #: bytes of a count on a device, and of one that has come
NO_PLACES = (0,) * 7  #: the fields of ``OWN`` that a count does not need: ``at``, and the columns for both stores


class OwnEdges(NamedTuple):
    """The edges of a batch that a rank holds in one store, and their places in it, None for a second store."""

    edges: EdgeList
    at: Array | None


@cache
def program(width: int, *, both: bool, blocks: bool = False) -> Program:
    """Return the kernels for weights of ``width`` bytes (0: no weights); ``both``: for two stores, not one.

    ``blocks``: for graphs with blocks of new vertices, besides ranges.
    """
    weight = "unsigned long long" if width == 8 else "uint32_t"
    macros: dict[str, int | str] = {
        "WEIGHT_T": weight,
        "WEIGHTED": int(width > 0),
        "BOTH": int(both),
        "BLOCKS": int(blocks),
    }
    text = "\n".join(struct.declaration for struct in (OWN, PARTS, REPORT))
    return Program(Path(__file__).with_name("split.cu"), text, tuple(macros.items()))


def programs() -> list[Program]:
    """Return all CUDA programs of this module, to be compiled in CI without a GPU."""
    every = product((0, 4, 8), (False, True), (False, True))
    return [program(width, both=both, blocks=blocks) for width, both, blocks in every]


class PartCounts:
    """Counts on CUDA how many edges of this rank's part of a batch each rank owns, by source and by destination.

    ``has_arrived()`` returns, without waiting, whether the counts have arrived on the host.
    """

    def __init__(self, device: Device, ranks: int) -> None:
        self._device, self._ranks = device, ranks
        self._counts = device.xp.zeros(2 * ranks + 1, np.uint32)
        self._answer = Answer(device, 4 * ranks)
        self.has_arrived = self._answer.has_arrived
        self._bounds: tuple[Any, Any] = None, None  # as they were given, and on the device

    def begin(self, parts: Sequence[EdgeList | None], ownership: Ownership) -> None:
        """Queue the counting of the edges that this rank passes: a deletion and an insertion (None: no edges).

        ``ownership``: who owns which vertices.
        """
        xp, ranks = self._device.xp, self._ranks
        if self._bounds[0] is not ownership.bounds:
            self._bounds = ownership.bounds, xp.asarray(ownership.bounds.astype(np.uint32))
        kernels = program(0, both=True, blocks=not ownership.is_ranges)
        given = [(half, part) for half, part in enumerate(parts) if part is not None and len(part.src)]
        call = self._answer.next() if given else 0
        if len(given) < len(parts):
            self._answer.array[1:] = 0
        counts, answer, each = address(self._counts), self._answer.address, 2 * ranks
        for half, part in given:
            size, number = len(part.src), call if half == given[-1][0] else 0
            arrays = address(part.src), address(part.dst), address(self._bounds[1]), counts, counts + WORD * each
            answers = answer + ANSWER_WORD * (1 + half * each)
            values = *arrays, answers, answer, number, size, ranks, *_blocks_of(xp, ownership)
            _launch(kernels, "count_parts", PARTS, min(-(-size // THREADS), MAX_BLOCKS), values)

    def of(self, half: int) -> list[int]:
        """Return ``2 * ranks`` counts: of edges whose source each rank owns, then of edges whose destination it owns.

        ``half``: 0: of the deletion given to :meth:`begin`, 1: of the insertion. The counts must have arrived.
        """
        found: list[int] = self._answer.array[1:].reshape(2, -1)[half].tolist()
        return found


class Picking:
    """Picks the edges of a batch that a rank holds, by ``ownership``.

    If they lie on a device the constructor queues a launch that counts them; it does not wait. ``both``: a second store
    holds edges by destination, with ends swapped. ``known``: how many the rank holds in each store; then nothing waits
    for the count.
    """

    def __init__(
        self, device: Device, edges: EdgeList, ownership: Ownership, *, both: bool,
        known: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        xp = module_of(edges.src)
        self._xp, self._edges, self._owned, self._both, self._known = xp, edges, ownership, both, known
        self._arriving: PinnedCounters | None = None
        size = len(edges.src)
        self._by_launches = xp is not np and size < MOST
        if not self._by_launches:
            return
        self._blocks = max(1, min(-(-size // TILE), MAX_BLOCKS))
        self._counts = xp.zeros(2 + 2 * self._blocks, np.uint32)
        width = 0 if edges.weight is None else edges.weight.dtype.itemsize
        self._kernels = program(width, both=both, blocks=not ownership.is_ranges)
        self._batch = address(edges.src), address(edges.dst), address(edges.weight), address(self._counts)
        owned = ownership.low, ownership.high - ownership.low, *_blocks_of(xp, ownership), ownership.rank
        self._sizes = size, -(-size // (self._blocks * TILE)) * TILE, *owned
        _launch(self._kernels, "count_own", OWN, self._blocks, (*self._batch, *NO_PLACES, *self._sizes))
        if known is None:
            self._arriving = PinnedCounters(device, 2, np.uint32)
            self._arriving.copy_from(self._counts[:2])

    def own(self, wait: Callable[[Callable[[], bool]], None]) -> list[OwnEdges]:
        """Return the edges for each store, where the batch is; on a device a launch writes them.

        ``wait`` is :meth:`Comm.wait`, by which this waits until they are counted.
        """
        if not self._by_launches:
            ends = self._edges[: 1 + self._both]
            return own_at(self._edges, [self._owned.owns(each).nonzero()[0] for each in ends])
        if self._arriving is not None:
            wait(self._arriving.has_arrived)
        empty, weight, own = self._xp.empty, self._edges.weight, list[OwnEdges]()
        counts = self._known if self._arriving is None else self._arriving.array.tolist()
        assert counts is not None
        for count in counts[: 1 + self._both]:
            weights = weight if weight is None else empty(count, weight.dtype)
            held = EdgeList(empty(count, np.uint32), empty(count, np.uint32), weights)
            own.append(OwnEdges(held, None if own else empty(count, np.uint32)))
        places = [address(own[0].at), *[address(column) for each in own for column in each.edges]]
        places += NO_PLACES[len(places) :]
        _launch(self._kernels, "write_own", OWN, self._blocks, (*self._batch, *places, *self._sizes))
        return own


def _blocks_of(xp: Any, ownership: Ownership) -> tuple[int, ...]:
    """Return the fields ``BLOCKS`` of a launch."""
    if ownership.is_ranges:
        return 0, 0, 0, 0
    return address(ownership.on(xp, "blocks")), ownership.base, ownership.first_of_blocks, ownership.bits


def own_at(
    edges: EdgeList, places: Sequence[Array], pick: Callable[[EdgeList, Array], EdgeList] = picked
) -> list[OwnEdges]:  # fmt: skip
    """Return the edges of a batch that a rank holds in each store, in which they have these ``places``.

    ``pick`` returns the edges at some places.
    """
    own = [OwnEdges(pick(edges, places[0]), places[0])]
    if len(places) > 1:
        own.append(OwnEdges(pick(EdgeList(edges.dst, edges.src, edges.weight), places[1]), places[1]))
    return own


def report(
    xp: Any, own: OwnEdges, status: Array, wanted: int, whole: Array | None, counts: Array, *, loops: bool
) -> None:
    """Write the statuses of this rank's edges to ``whole``, at their positions in the batch, and count the changes.

    ``counts``, ``uint64[2]``: the number of edges with the status ``wanted`` is added, and that of self-loops among
    them if ``loops``. ``whole`` None: only count.
    """
    edges, size = own.edges, len(status)
    if xp is np or (own.at is not None and own.at.dtype != np.uint32):
        if whole is not None:
            whole[own.at] = status
        changed = status == wanted
        counts[:1] += changed.sum(dtype=np.uint64)
        if loops:
            counts[1:] += (changed & (edges.src == edges.dst)).sum(dtype=np.uint64)
    elif size:
        arrays = own.at, status, edges.src if loops else None, edges.dst, whole, counts
        given = *map(address, arrays), size, wanted
        _launch(program(0, both=True), "report_own", REPORT, min(-(-size // THREADS), MAX_BLOCKS), given)


def _launch(kernels: Program, name: str, struct: Struct, blocks: int, given: Sequence[int]) -> None:
    """Launch ``blocks`` blocks of kernel ``name``; ``given``: values of the fields of ``struct``, its argument."""
    kernels.kernel(name)((blocks,), (THREADS,), (struct.packed(*given),))
