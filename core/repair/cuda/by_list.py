"""Levels of small frontiers in a search by several ranks, on CUDA: two launches and an exchange each (``by_list.cuh``).

Every rank has the list of the whole frontier. It writes the offers of its own part of the list to its section of an
array. Ranks exchange the sections, and each applies the offers of all. Levels are numbered across all searches of a
graph; even and odd levels use two different arrays of sections.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.base.devices import Array, Device
from suricate.cuda.launch import raise_fault
from suricate.cuda.pinned import PinnedCounters
from suricate.cuda.structs import Struct, enum

LISTS = Struct(
    "Lists",
    {
        "state": "unsigned long long*", "status": "unsigned long long*", "sections": "uint8_t*", "others": "uint8_t*",
        "size": "unsigned long long", "capacity": "unsigned long long", "side": "uint32_t",
    },
)  # fmt: skip
STATE = {
    "IN_LIST": 0, "STOPPED": 1, "ARCS_IN": 2, "BROKEN": 3, "FIRST": 4, "RUNS": 6, "LED_OUT": 8, "LED_IN": 10,
}  # fmt: skip
STATE_SIZE = 12  #: of 64 bits
STATUS = {"PROGRESS": 0, "IN_FRONTIER": 1, "REACHED": 2, "ARCS_INTO": 3, "NOT_ABOVE": 4, "OUT_OF": 5}
WHY = {"TOO_MANY": 1, "NOTHING_LEFT": 2}  #: levels stop
WHY_BITS = 2
PATIENCE = 1024  #: polls after which the host looks whether the device has failed
HEAD, ALIGNMENT = 32, 16  #: bytes of a section before its offers
KERNELS = ("start_search", "list_frontier", "offer_listed", "take_listed", "spread_list")
DECLARATIONS = "\n".join((LISTS.declaration, enum("", {**STATE, **STATUS, **WHY, "WHY_BITS": WHY_BITS})))


def section_bytes(capacity: int, word: int) -> int:
    """Return the size in bytes of a section that holds up to ``capacity`` offers; a word has ``word`` bytes."""
    return HEAD + -(-capacity * (word + 4) // ALIGNMENT) * ALIGNMENT


class Counts(NamedTuple):
    """What is known, over all ranks, about the frontier that a level has reached, whose vertices have yet to push.

    Attributes:
        vertices: number of vertices in the frontier.
        in_arcs: number of arcs into the vertices that were reached since the ``Counts`` before.
        violated: whether the keys of an offer did not grow.
        out_arcs: for each rank the number of arcs from its own vertices in the frontier.
    """

    vertices: int  #: of the last level
    in_arcs: int  #: those that lead to what was reached
    violated: bool
    out_arcs: list[int]  #: of what each rank has in the last level


class Stopped(NamedTuple):
    """How levels by lists ended: how many pushed, how many vertices did, and the counts of the last one."""

    levels: int  #: that pushed
    pushed: int  #: vertices that did
    found: Counts


class Progress(PinnedCounters):
    """Pinned memory in which kernels report levels by lists to the host; one object per graph.

    The attribute ``number`` is the number of the last level whose launches were queued; the caller increases it. In
    the methods ``number`` is any level's number.
    """

    __slots__ = ("_polls", "number")
    MOST_RANKS = 1 << 14

    def __init__(self, device: Device) -> None:
        super().__init__(device, len(STATUS) + self.MOST_RANKS)
        self.number = 0  #: of the last level that was queued
        self._polls = 0

    def has_come(self, number: int) -> bool:
        """Return whether the device has reported level ``number``, after which the search may stop; does not wait."""
        if self.words[0] >> WHY_BITS >= number:
            return True
        self._polls += 1
        if self._polls % PATIENCE == 0:
            raise_fault(self._device)
        return False

    def stopped_at(self, number: int) -> bool:
        """Return whether the search by lists stopped at level ``number``, for which :meth:`has_come` has been true."""
        found: int = self.words[0]
        return found >> WHY_BITS == number and found & (1 << WHY_BITS) - 1 != 0

    def stopped(self, first: int, number: int, ranks: int) -> Stopped:
        """Return how the levels by lists ended, of which ``first`` was the first and ``number`` the last one."""
        why, frontier, reached, in_arcs, violated, *out_arcs = self.array[: STATUS["OUT_OF"] + ranks].tolist()
        levels, is_over = number - first, why & (1 << WHY_BITS) - 1 == WHY["NOTHING_LEFT"]
        if is_over:  # the frontier has pushed, to no avail
            return Stopped(levels + (frontier > 0), reached, Counts(0, in_arcs, violated != 0, [0] * ranks))
        return Stopped(levels, reached - frontier, Counts(frontier, in_arcs, violated != 0, out_arcs))


def packed_lists(
    state: Array, progress: Progress, sections: list[Array], size: int, capacity: int
) -> tuple[np.void, ...]:
    """Return the struct ``Lists`` twice, as an argument for kernels of even levels and of odd levels.

    Args:
        state: ``uint64[STATE_SIZE]``, counts on the device.
        progress: pinned memory for reports to the host.
        sections: the arrays of all ranks' offers, ``uint8[ranks * size]``, for even and for odd levels.
        size: bytes of a rank's section.
        capacity: offers that fit into a section.
    """
    data = [array.data.ptr for array in sections]
    fixed = state.data.ptr, progress.address
    return tuple(LISTS.packed(*fixed, data[side], data[side ^ 1], size, capacity, side) for side in range(2))
