"""State on the device that operators and algorithms share: frontiers, words, scalars, union-find, workspace, locks.

The classes are public for annotations and ``isinstance``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate.base.public import listing, on_use

if TYPE_CHECKING:
    from suricate.state.edges.edge_set import EdgeSet
    from suricate.state.frontier import Frontier
    from suricate.state.scalar import Scalar
    from suricate.state.union_find import UnionFind
    from suricate.state.words import Words

__all__ = ["EdgeSet", "Frontier", "Scalar", "UnionFind", "Words"]
__dir__ = listing(__all__)
if not TYPE_CHECKING:
    __getattr__ = on_use(
        __name__,
        {"EdgeSet": "suricate.state.edges.edge_set", "Frontier": "suricate.state.frontier",
         "Scalar": "suricate.state.scalar", "UnionFind": "suricate.state.union_find", "Words": "suricate.state.words"},
    )  # fmt: skip
