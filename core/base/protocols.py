# ruff: noqa: D102 - a graph and a delta have the docstrings
"""What rooms that stand above ``graph`` ask of a graph and of a delta, as types."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from suricate.base.devices import Array, Device
from suricate.base.types import EdgeList


class GraphLike(Protocol):
    """A ``suricate.Graph``."""

    edge_table: Any
    partition: Any
    _columns: dict[str, Any]
    _updater: Any
    device: Device

    @property
    def num_vertices(self) -> int: ...
    @property
    def directed(self) -> bool: ...
    @property
    def deleted_vertices(self) -> Array: ...
    def exclusive(self) -> Any: ...
    def alike(self) -> AbstractContextManager[Any]: ...


class DeltaLike(Protocol):
    """A ``suricate.Delta``."""

    @property
    def deleted_vertices(self) -> Array: ...
    @property
    def inserted(self) -> EdgeList: ...
    @property
    def deleted(self) -> EdgeList: ...
    @property
    def replaced(self) -> EdgeList: ...
    @property
    def replaced_old(self) -> Array | None: ...
    def _read(self) -> DeltaLike: ...
