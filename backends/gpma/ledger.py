"""The arithmetic of ``gpma``: how many leaves, of 32 slots each, the array needs, and when it is too empty."""

from __future__ import annotations

from suricate.backends.gpma.layout import DENSE, LEAF, ROOT_LEAST, ROOT_MOST
from suricate.store.array_manager import GROWTH


def holds(leaves: int, entries: int) -> bool:
    """Return whether an array of this number of leaves may hold this number of entries."""
    return entries * DENSE <= ROOT_MOST * LEAF * leaves


def is_behind(leaves: int, entries: int, unseen: int) -> bool:
    """Return whether the host should request exact counters, since it only knows a bound of the number of entries.

    It should if the ``unseen`` changes since the last ones are more than a quarter of the free space that an array of
    ``leaves`` leaves has beside ``entries`` entries, the bound.
    """
    return 4 * unseen * DENSE > ROOT_MOST * LEAF * leaves - entries * DENSE


def leaves_for(entries: int, growth: float = 1.0) -> int:
    """Return the fewest leaves that may hold ``growth`` times this number of entries; at least 1."""
    return max(1, -(-int(growth * entries) * DENSE // (ROOT_MOST * LEAF)))


def grown(entries: int) -> list[int]:
    """Return the numbers of leaves to try for an array that must grow: by the growth factor, and just enough."""
    return [leaves_for(entries, GROWTH), leaves_for(entries)]


def reserved(entries: int, leaves: int) -> list[int]:
    """Return the numbers of leaves to try for a reservation of ``entries``: with a margin, and just enough.

    The margin saves later batches from moving the whole array again.
    """
    least = leaves_for(entries)
    return [max(least, int(GROWTH * leaves)), least]


def too_empty(leaves: int, entries: int) -> bool:
    """Return whether strict deletion shrinks an array of this number of leaves with at most this number of entries."""
    return leaves > leaves_for(entries, GROWTH) and entries * DENSE < ROOT_LEAST * LEAF * leaves
