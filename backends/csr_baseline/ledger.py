"""The arithmetic of ``csr_baseline``: how many edges there may be, and the bytes of a rebuild. Plain integers only."""

from __future__ import annotations

LOOSE_EDGES = 1 << 22  #: a bound of the number of edges is loose if it exceeds twice the known number by more than this


def edge_bound(known: int, unseen: int) -> int | None:
    """Return an upper bound of the number of edges: ``known``, plus the ``unseen`` insertions since it was known.

    None if the bound is loose: it exceeds twice ``known`` by more than ``LOOSE_EDGES``.
    """
    bound = known + unseen
    return bound if bound <= 2 * known + LOOSE_EDGES else None


def is_behind(known: int, unseen: int) -> bool:
    """Return whether to request the exact number of edges, long before the bound of :func:`edge_bound` is loose.

    ``unseen`` edges were inserted since the number was ``known``; 64 times as many must exceed ``known + LOOSE_EDGES``.
    """
    return 64 * unseen > known + LOOSE_EDGES


def rounded(edges: int) -> int:
    """Return an array length for ``edges`` edges, at most a sixteenth more.

    Graphs of about the same size then have arrays of equal length, which the allocator can reuse.
    """
    grain = 1 << max(0, edges.bit_length() - 5)
    return -(-edges // grain) * grain


def rebuild_bytes(num_vertices: int, edges: int, edge_bytes: int) -> int:
    """Return the bytes that old and new arrays take together while a graph is rebuilt.

    It has ``num_vertices`` vertices and ``edges`` edges, ``edge_bytes`` bytes each.
    """
    return 2 * (8 * (num_vertices + 1) + edges * edge_bytes)


def reserved_length(edges: int, more: int) -> int:
    """Return the length of arrays for the present ``edges``, a quarter of these as headroom, and ``more`` edges."""
    return edges + edges // 4 + more
