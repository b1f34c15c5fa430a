"""What results say of live vertices: noted with each change, and read from the device when a result is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate.errors import VertexRangeError

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.graph import Graph


class NamedVertices:
    """Vertices that are a parameter, such as a source: whether they were live when :meth:`note` was last called.

    Args:
        label: name of the parameter in errors.
        vertices: their ids, one or an array on the host.
    """

    def __init__(self, label: str, vertices: int | np.ndarray) -> None:
        self.label, self.vertices = label, vertices
        self._live: Array = None  # bool, one per id; None: all are live
        self._ids: Array = None  # the ids on the device
        self._device: Device = None  # type: ignore[assignment]

    def note(self, graph: Graph) -> None:
        """Record on the device which of these vertices of ``graph`` are live, for :meth:`demand`. Does not wait."""
        self._live = None
        if not graph.most_deleted or (graph.reserved is not None and np.isin(self.vertices, graph.reserved).all()):
            return
        if self._device != graph.device:
            self._device = graph.device
            self._ids = graph.device.xp.asarray(np.atleast_1d(self.vertices).astype(np.int64))
        self._live = graph.live_arrays.mask[self._ids]

    def demand(self) -> None:
        """Raise ``VertexRangeError`` if a vertex was deleted at the last :meth:`note`; waits if one may have been."""
        if self._live is None:
            return
        live = self._device.to_numpy(self._live)
        if live.all():
            self._live = None
            return
        at = int(live.argmin())
        vertex = int(np.atleast_1d(self.vertices)[at])
        place = f"[{at}]" if np.ndim(self.vertices) else ""
        raise VertexRangeError(f"{self.label}{place} is {vertex}: this vertex is deleted")


class DeletedCount:
    """The number of deleted vertices when :meth:`note` was last called."""

    def __init__(self) -> None:
        self._live: Array = None  # uint32[1], a copy; None: all were live
        self._num_vertices, self._device = 0, None  # type: tuple[int, Device | None]

    def note(self, graph: Graph) -> None:
        """Record the number of deleted vertices of ``graph``, as an array on the device if there may be any.

        Does not wait.
        """
        self._num_vertices, self._device = graph.num_vertices, graph.device
        self._live = graph.live_arrays.count.copy() if graph.most_deleted else None

    def __int__(self) -> int:
        """Return the number of deleted vertices; waits for the device if there may be any."""
        if self._live is None or self._device is None:
            return 0
        return self._num_vertices - int(self._device.to_numpy(self._live)[0])


def deleted_among(live: np.ndarray | None) -> int:
    """Return the number of deleted vertices, given the mask of live ones; None: all are live."""
    return 0 if live is None else int(np.count_nonzero(~live))
