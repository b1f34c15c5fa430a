"""Rows on demand: a rank requests the rows of other ranks that it needs from their owners, in slices.

Ranks may need different numbers of slices (``suricate.comm.rounds``). The key of an arc is ``src << 32 | dst``, uint64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.types import edge_keys
from suricate.comm.rounds import in_rounds
from suricate.intake.arrays import bits, on_host, sorted_distinct
from suricate.placement.ranges import arcs_within
from suricate.placement.store import places_of_rows
from suricate.store import fallbacks

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.base.types import Adjacency, StoreView
    from suricate.parallel.partition import Partition

SLICE = 1 << 20  #: arcs that a rank gets, or questions that it asks, at a time
HALF = np.uint64(32)
ID_BYTES = 4  #: a question is the key of an arc, the answer a byte
NO_LIMIT, NO_KEY = (1 << 32) - 1, (1 << 64) - 1


def at_a_time(part: Partition) -> int:
    """Return how many arcs this rank may receive at a time, given its memory limit."""
    return arcs_within(part.memory_limit, SLICE)


def slices(lengths: Array, most: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of slices of rows of these ``lengths``: each has at most ``most`` arcs, or is one row."""
    ends = np.cumsum(on_host(lengths), dtype=np.int64)
    begin = 0
    while begin < len(ends):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield begin, end
        begin = end


class Rows:
    """The rows of a divided graph, with their ``lengths``; ``view`` has those of the vertices that this rank owns."""

    def __init__(self, part: Partition, view: StoreView, lengths: Array) -> None:
        self.part, self.view, self.lengths = part, view, lengths

    def own(self, ids: Array) -> Adjacency:
        """Return the rows of ``ids``, vertices of this rank, concatenated."""
        return fallbacks.adjacency(self.view, self.part.local.device, ids)

    def fetch(self, ids: Array, begin: int, most: int, *, weights: bool = False) -> tuple[Array, Array | None]:
        """Return the destinations in rows that other ranks own, or in parts of them, concatenated; collective.

        Each rank passes its own ``ids``, ascending, each once. Of a row at most ``most`` arcs from ``begin`` on are
        returned; if that leaves some out, ``ids`` is one vertex. With ``weights`` (else None) those of the arcs.
        """
        comm, xp = self.part.comm, self.part.xp
        head = xp.asarray([begin, most], np.uint32)
        asked = [xp.concatenate((head, some)) if len(some) else some for some in self.part.by_owner(ids, ids)]
        asked = comm.exchange(asked)
        with comm.alike():
            found = [self._part(one) for one in asked]
        lengths = xp.minimum(self.lengths[ids].astype(np.int64) - begin, most)
        dst = self.part.in_order(ids, xp.concatenate(comm.exchange([ids for ids, _ in found])), lengths)
        dtype = self.view.weight_dtype
        if not weights or dtype is None:
            return dst, None
        held = [xp.empty(0, dtype) if weight is None else weight for _, weight in found]
        weight = xp.concatenate(comm.exchange([bits(weight) for weight in held])).view(dtype)
        return dst, self.part.in_order(ids, weight, lengths)

    def of_any(self, ids: Array) -> Array:
        """Return the destinations in the rows of ``ids``, ascending, each once, whoever owns them; collective."""
        mine, lengths = self.part.owns(ids), self.lengths[ids].astype(np.int64)
        starts = self.part.xp.cumsum(lengths) - lengths
        found = self.part.xp.empty(int(lengths.sum()), np.uint32)
        found[places_of_rows(starts[~mine], lengths[~mine])] = self.fetch(ids[~mine], 0, NO_LIMIT)[0]
        found[places_of_rows(starts[mine], lengths[mine])] = self.own(ids[mine])[1]
        return found

    def _part(self, asked: Array) -> tuple[Array, Array | None]:
        """Return the arcs that another rank requests by ``asked``: ``[begin, most, *vertices of this rank]``.

        They are the rows of these vertices; but of one row, if ``begin`` is not 0 or it has over ``most`` arcs, those
        from index ``begin`` on in ascending order, at most ``most``.
        """
        if not len(asked):
            return asked, None
        begin, most = asked[:2].tolist()
        _, dst, weight = self.own(asked[2:])
        if begin or len(dst) > most:  # of a row that comes in parts, each time in the same order
            order = self.part.xp.argsort(dst)[begin : begin + most]
            return dst[order], None if weight is None else bits(weight)[order].view(weight.dtype)
        return dst, weight


def held(part: Partition, keys: Array) -> Array:
    """Return which of the arcs ``keys`` (ascending) exist, ``bool[n]``; their owners answer; collective.

    If a row has fewer arcs than there are keys with its source, the owner sends the row, and this rank compares.
    """
    xp, rows, ids = part.xp, part.rows(), (keys >> HALF).astype(np.uint32)
    first = xp.flatnonzero(xp.concatenate((xp.ones(min(len(ids), 1), bool), ids[1:] != ids[:-1])))
    some, counts = ids[first], xp.diff(xp.concatenate((first, xp.asarray([len(ids)]))))
    lengths = rows.lengths[some].astype(np.int64)
    whole = (ID_BYTES * (1 + lengths) < (2 * ID_BYTES + 1) * counts) & ~part.owns(some)
    fetched = _keys_of_rows(rows, some[whole], lengths[whole])
    by_row = whole[xp.searchsorted(first, xp.arange(len(ids)), side="right") - 1]
    there = xp.empty(len(ids), bool)
    there[~by_row] = _answered(part, ids[~by_row], keys[~by_row])
    if by_row.any():
        at = xp.searchsorted(fetched, keys[by_row])
        there[by_row] = fetched[xp.minimum(at, len(fetched) - 1)] == keys[by_row]
    return there


def _keys_of_rows(rows: Rows, ids: Array, lengths: Array) -> Array:
    """Return the keys of all arcs in the rows of ``ids``, ascending, followed by ``NO_KEY``; collective."""
    xp = rows.part.xp
    dst, _ = rows.fetch(ids, 0, NO_LIMIT)
    src = ids[xp.searchsorted(xp.cumsum(lengths), xp.arange(len(dst)), side="right")]
    return xp.sort(xp.concatenate((edge_keys(src, dst), xp.asarray([NO_KEY], np.uint64))))


def _answered(part: Partition, ids: Array, keys: Array) -> Array:
    """Return which of the arcs ``keys`` exist, ``bool[n]``; the owners of their sources ``ids`` answer; collective."""
    asked, store = part.comm.exchange(part.by_owner(ids, keys)), part.local.store()
    with part.comm.alike():
        found = [store.find((one >> HALF).astype(np.uint32), one.astype(np.uint32))[0] for one in asked]
    answers = part.xp.concatenate(part.comm.exchange([one.astype(np.uint8) for one in found]))
    return part.in_order(ids, answers).astype(bool)


def known(part: Partition, questions: Iterable[Array]) -> tuple[Array, Array]:
    """Return the ends of the arcs that exist among ``questions``, arrays of ascending keys; collective."""
    xp = part.xp
    none = xp.empty(0, np.uint64)
    found = [none]

    def use(keys: Array, there: Array) -> None:
        found.append(keys[there])

    in_rounds(part.comm, questions, lambda keys: held(part, none if keys is None else keys), use)
    return ends_of_keys(sorted_distinct(xp.concatenate(found), xp) if len(found) > 2 else found[-1])


def ends_of_keys(keys: Array) -> tuple[Array, Array]:
    """Return the sources and destinations of arcs, given their keys."""
    return (keys >> HALF).astype(np.uint32), keys.astype(np.uint32)


def keys_of(src: Any, dst: Any, count: int, xp: Any) -> Array:
    """Return the distinct keys of the arcs ``src`` to ``dst``, ascending.

    Ends may be numbers or arrays; arcs with an end outside of ``[0, count)`` are left out.
    """
    src, dst = xp.broadcast_arrays(*(xp.atleast_1d(xp.asarray(end)).astype(np.int64) for end in (src, dst)))
    inside = (src >= 0) & (src < count) & (dst >= 0) & (dst < count)
    return sorted_distinct(edge_keys(src[inside].astype(np.uint32), dst[inside].astype(np.uint32)), xp)
