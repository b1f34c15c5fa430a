"""What the samplers of both devices take and return: trees to draw, how, and their nodes and edges."""

from __future__ import annotations

from typing import Any, NamedTuple


class Trees(NamedTuple):
    """A tree per root: of the events of a vertex those with ``low <= number - first < cut`` are eligible in it.

    Arrays on the device of the log, of one length.
    """

    root: Any  # uint32
    key: Any  # uint64: the hash from which all of its draws follow
    cut: Any  # uint32
    low: Any  # uint32


class Plan(NamedTuple):
    """How many events to draw per vertex in each hop (-1: all), and which; words as in ``Events.sample``."""

    fan: tuple[int, ...]
    recent: bool = False
    back: bool = False
    replace: bool = False
    through: bool = False


class Drawn(NamedTuple):
    """Nodes and edges of all trees, hop by hop, in each hop tree by tree: arrays that belong to the caller."""

    node: Any  # uint32
    row: Any  # int64, like all below: places of nodes
    col: Any
    event: Any
    time: Any
    batch: Any
    nodes_per_hop: list[int]
    edges_per_hop: list[int]
