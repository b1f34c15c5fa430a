"""A store over rows that were made elsewhere: they are walked as they are, until the first change.

Most graphs that a computation makes for itself are read and dropped. Their rows need not go into the storage of a
backend, which takes longer than to make them. The first change inserts them into an empty store of the backend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suricate.base.devices import Array, Device, total
from suricate.base.types import Adjacency, EdgeList, StoreView
from suricate.store import fallbacks


class RowsStore:
    """A store with the edges of ``rows``, a view on ``device``; ``make`` returns, alone in a tuple, an empty store.

    What does not only read edges is passed on to a store that ``make`` returned, into which the rows are then inserted.
    """

    def __init__(self, rows: StoreView, device: Device, make: Callable[[], Any]) -> None:
        self._rows, self._make, self._store = rows, make, None
        self.num_vertices, self.device, self.weight_dtype = rows.num_vertices, device, rows.weight_dtype

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._filled(), name)

    def _filled(self) -> Any:
        """Return the store of the backend, which from the first call on has the edges."""
        if self._store is None:
            (store,) = self._make()
            edges = self.edges()
            store.reserve_for(edges.src)
            store.insert(*edges)
            self._store, self._rows = store, None  # type: ignore[assignment]
            for name in ("num_vertices", "weight_dtype"):  # from now on those of the store
                delattr(self, name)
        return self._store

    def apply(self, delete: Any, insert: Any) -> Any:
        """Change the edges: see ``Store.apply``."""
        return self._filled().apply(delete, insert)

    def resize(self, num_vertices: int) -> None:
        """Change the number of vertices: see ``Store.resize``."""
        self._filled().resize(num_vertices)

    def resizing(self, num_vertices: int) -> Callable[[], None]:
        """Prepare a change of the number of vertices: see ``Store.resizing``."""
        prepared: Callable[[], None] = self._filled().resizing(num_vertices)
        return prepared

    # -- reading -------------------------------------------------------------------------------------------------------

    def view(self) -> StoreView:
        """Return the rows, or the view of the store."""
        view: StoreView = self._rows if self._store is None else self._store.view()
        return view

    def edges(self) -> EdgeList:
        """Return a copy of all edges: see ``Store.edges``."""
        return fallbacks.edges_of(self._rows, self.device)[1] if self._store is None else self._store.edges()

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Look up edges: see ``Store.find``."""
        if self._store is None:
            return fallbacks.find(self._rows, self.device, src, dst)
        found: tuple[Array, Array | None] = self._store.find(src, dst)
        return found

    def degrees(self) -> Array:
        """Return the out-degrees: see ``Store.degrees``."""
        return fallbacks.degrees(self._rows, self.device) if self._store is None else self._store.degrees()

    @property
    def num_edges(self) -> int:
        """Exact number of edges: see ``Store.num_edges``."""
        return total(self.degrees()) if self._store is None else self._store.num_edges

    def num_loops(self) -> int:
        """Return the number of self-loops: see ``Store.num_loops``."""
        vertices = self.device.xp.arange(self.num_vertices, dtype="uint32")
        return total(self.find(vertices, vertices)[0]) if self._store is None else self._store.num_loops()

    def adjacency(self, vertices: Array) -> Adjacency:
        """Return the edges of some vertices: see ``Store.adjacency``."""
        if self._store is None:
            return fallbacks.adjacency(self._rows, self.device, vertices)
        found: Adjacency = self._store.adjacency(vertices)
        return found
