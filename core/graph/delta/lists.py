"""The lists of changed edges of a delta, made from the halves of a batch and the statuses of their edges.

``xp``: NumPy or CuPy, the module of the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from suricate.base.devices import Array
from suricate.base.types import NEW, REMOVED, REPLACED, Change, EdgeList
from suricate.intake.arrays import bits, joined, picked


class Lists(NamedTuple):
    """The edges of a delta by kind; ``replaced`` has the new weights, ``replaced_old`` the old ones, in its order.

    ``replaced_old_row``: the rows that these edges had in the columns of edges, None without columns.
    """

    inserted: EdgeList
    deleted: EdgeList
    replaced: EdgeList
    replaced_old: Array | None
    replaced_old_row: Array | None = None


KINDS = Lists._fields[:4]


def moved(lists: Lists, move: Callable[[Array], Array]) -> Lists:
    """Return ``lists`` with ``move`` of each array, which brings it to another device."""
    inserted, deleted, replaced = (edges.each(move) for edges in (lists.inserted, lists.deleted, lists.replaced))
    return Lists(inserted, deleted, replaced, *(None if one is None else move(one) for one in lists[3:]))


def _once(xp: Any, change: Change) -> tuple[EdgeList, Array, Array | None]:
    """Return edges, statuses and old weights (or None) of a batch's deletions or insertions, with one entry per edge.

    For an undirected edge ``change`` has two arcs of equal status, one in each half of its arrays: the one in the first
    half is taken. A self-loop is there twice; if only one of its entries has a status that is not 0, that one is taken.
    """
    (src, dst, weight), (status, old), mirrored = change
    if not mirrored:
        return change.edges, status, old
    n = len(src) // 2
    second = (src[:n] == dst[:n]) & (status[n:] != 0)
    edges = EdgeList(src[:n], dst[:n], None if weight is None else weight[:n])
    if old is not None:
        old = xp.where(second, bits(old[n:]), bits(old[:n])).view(old.dtype)
    return edges, xp.where(second, status[n:], status[:n]), old


def removed_edges(xp: Any, change: Change) -> EdgeList:
    """Return the edges that a deletion has removed, with the weights that they had."""
    edges, status, old = _once(xp, change)
    return picked(edges._replace(weight=old), xp.flatnonzero(status == REMOVED))


def with_added(xp: Any, change: Change, lists: Lists) -> Lists:
    """Return ``lists`` with the edges that an insertion has added and replaced."""
    edges, status, old = _once(xp, change)
    lists = lists._replace(inserted=picked(edges, xp.flatnonzero(status == NEW)))
    if old is None:
        return lists
    at = xp.flatnonzero(status == REPLACED)
    return lists._replace(replaced=picked(edges, at), replaced_old=bits(old)[at].view(old.dtype))


def both_directions(xp: Any, edges: EdgeList) -> EdgeList:
    """Return the arcs of undirected edges that are listed once: self-loops once, other edges in both directions."""
    once = picked(edges, xp.flatnonzero(edges.src != edges.dst))
    return joined(xp, edges, EdgeList(once.dst, once.src, once.weight).in_rows(once.row))
